//! Standard output. A closed pipe or a full disk is reported as a failure and does not cause a panic.

use crate::failure::{Failure, reason};
use std::io::{self, ErrorKind, Write};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Writes `text` to standard output.
///
/// # Errors
/// [`Failure::NobodyReads`] if the reader is gone. [`Failure::Input`] if the text cannot be written.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => Failure::NobodyReads,
        _ => Failure::Input(format!("standard output: cannot be written: {}", reason(&error))),
    })
}

/// Writes `value` to standard output as one indented JSON document.
///
/// # Errors
/// The errors of [`print()`].
pub fn print_json(value: &serde_json::Value) -> Result<(), Failure> {
    print(&format!("{value:#}\n"))
}

/// The number of characters in a line: the value of the environment variable COLUMNS, else the terminal's width, else
/// [`USUAL_WIDTH`](anabranch_report::USUAL_WIDTH).
pub fn width() -> usize {
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.trim().parse().ok());
    let terminal = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    columns.filter(|columns| *columns > 0).or_else(terminal).unwrap_or(anabranch_report::USUAL_WIDTH)
}

/// Writes a line to standard error.
pub fn note(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Rows of cells in aligned columns. The first column is left-aligned and the others are right-aligned.
pub fn aligned(rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().enumerate().map(|(column, cell)| match column {
            0 => format!("{cell:<width$}", width = width(0)),
            _ => format!("{cell:>width$}", width = width(column)),
        });
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

const PATIENCE: Duration = Duration::from_secs(2);

/// Calls `work`, and prints `what` if the call takes longer than [`PATIENCE`].
pub fn with_notice<T>(what: &str, work: impl FnOnce() -> T) -> T {
    std::thread::scope(|scope| {
        let (working, done) = channel::<()>();
        scope.spawn(move || {
            if done.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                note(what);
            }
        });
        let outcome = work();
        drop(working);
        outcome
    })
}
