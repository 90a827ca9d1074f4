//! Handling of Ctrl-C: the first one requests the runs to stop, the second one ends the process.

use crate::failure::Failure;
use std::sync::atomic::{AtomicBool, Ordering};

static ASKED_TO_STOP: AtomicBool = AtomicBool::new(false);

/// Installs a handler, so that Ctrl-C no longer ends the process immediately.
///
/// # Errors
/// The operating system refuses the handler.
pub fn catch() -> Result<(), Failure> {
    ctrlc::set_handler(|| {
        if ASKED_TO_STOP.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
    })
    .map_err(|error| Failure::Run(format!("Ctrl-C cannot be caught: {error}")))
}

/// Whether Ctrl-C was pressed.
pub fn asked_to_stop() -> bool {
    ASKED_TO_STOP.load(Ordering::SeqCst)
}
