//! Handling of Ctrl-C, SIGTERM and SIGHUP. The first signal requests the runs to stop. The second signal ends the
//! process, unless the command has to clean up.

use crate::failure::Failure;
use std::sync::atomic::{AtomicBool, Ordering};

static ASKED_TO_STOP: AtomicBool = AtomicBool::new(false);

/// Installs a handler with which the second signal ends the process immediately.
///
/// # Errors
/// The operating system refuses the handler.
pub fn catch() -> Result<(), Failure> {
    install(|| std::process::exit(130))
}

/// Installs a handler for a command that has to remove what it has made. Signals after the first have no effect,
/// because they must not cut the clean-up short.
///
/// # Errors
/// The operating system refuses the handler.
pub fn catch_once() -> Result<(), Failure> {
    install(|| {})
}

fn install(second: fn()) -> Result<(), Failure> {
    ctrlc::set_handler(move || {
        if ASKED_TO_STOP.swap(true, Ordering::SeqCst) {
            second();
        }
    })
    .map_err(|error| Failure::Run(format!("Ctrl-C cannot be caught: {error}")))
}

pub fn asked_to_stop() -> bool {
    ASKED_TO_STOP.load(Ordering::SeqCst)
}
