//! `anabranch export`: a table of results as CSV.

use crate::args::{ExportArgs, FormatArg, TableArg};
use crate::failure::{ANOTHER_FILE, Failure, unwritable};
use crate::source::input;
use anabranch_results::{ResultsError, Table, write_csv};
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;

/// Writes a table of stored results.
///
/// # Errors
/// When the folder holds no whole results, or the file cannot be written.
pub fn export(args: &ExportArgs) -> Result<(), Failure> {
    let FormatArg::Csv = args.format;
    let table = match args.table {
        TableArg::Runs => Table::Runs,
        TableArg::Flows => Table::Flows,
        TableArg::Jobs => Table::Jobs,
        TableArg::Parts => Table::Parts,
        TableArg::Series => Table::Series,
        TableArg::Faults => Table::Faults,
    };
    let refused = |error: &io::Error| match error.kind() {
        ErrorKind::BrokenPipe => Failure::NobodyReads,
        _ => unwritable(&args.file, error, ANOTHER_FILE),
    };
    let mut out: Box<dyn Write> = if args.file == Path::new("-") {
        Box::new(io::stdout().lock())
    } else {
        Box::new(BufWriter::new(File::create(&args.file).map_err(|error| refused(&error))?))
    };
    match write_csv(&args.folder, table, &mut out)
        .and_then(|()| out.flush().map_err(|source| ResultsError::Write { path: args.file.clone(), source }))
    {
        Err(ResultsError::Write { source, .. }) => Err(refused(&source)),
        other => other.map_err(input),
    }
}
