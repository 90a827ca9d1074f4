//! Real time, for progress and wall times only.

use std::time::Instant;

/// This instant of real time.
#[expect(
    clippy::disallowed_methods,
    reason = "only the command measures real time, and no result depends on it"
)]
pub fn now() -> Instant {
    Instant::now()
}
