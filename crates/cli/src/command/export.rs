//! `anabranch export`: a table of results as CSV.

use crate::args::{ExportArgs, FormatArg, TableArg};
use crate::campaign_results::is_campaign;
use crate::failure::{Failure, reason};
use crate::one_run;
use crate::source::input;
use anabranch_results::{Dataset, ResultsError, Table, write_csv};
use std::io::{self, ErrorKind, Write};
use std::path::Path;

/// Writes a table of stored results.
///
/// # Errors
/// The folder is that of a campaign or holds no complete results, or the output cannot be written.
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
    if is_campaign(&args.folder) {
        let dataset = Dataset::at(&args.folder);
        let first = dataset.task(dataset.first().unwrap_or_default());
        let (folder, first, file) = (args.folder.display(), first.display(), table.file());
        return Err(Failure::Input(format!(
            "{folder}: a campaign, whose runs have a folder each\n  help: name one of them, such as {first}; for all at once, \
             SQL: SELECT * FROM read_parquet('{folder}/task=*/{file}', hive_partitioning = true, union_by_name = true)"
        )));
    }
    let mut wrong = None;
    let mut fill = |out: &mut dyn Write| match write_csv(&args.folder, table, out) {
        Ok(()) => out.flush(),
        Err(ResultsError::Write { source, .. }) => Err(source),
        Err(other) => {
            wrong = Some(other);
            Err(io::Error::other("the table cannot be read"))
        }
    };
    let ended = if args.file == Path::new("-") {
        fill(&mut io::stdout().lock()).map_err(|error| match error.kind() {
            ErrorKind::BrokenPipe => Failure::NobodyReads,
            _ => Failure::Input(format!("standard output: {}", reason(&error))),
        })
    } else {
        one_run::write(&args.file, &mut fill)
    };
    match wrong {
        Some(wrong) => Err(input(wrong)),
        None => ended,
    }
}
