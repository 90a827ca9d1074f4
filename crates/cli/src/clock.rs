//! Real time, on which no result depends.

use chrono::{DateTime, Utc};
use std::time::{Instant, SystemTime};

#[expect(
    clippy::disallowed_methods,
    reason = "only the command measures real time, and no result depends on it"
)]
pub fn now() -> Instant {
    Instant::now()
}

/// The current date in UTC, such as `2026-11-23`.
#[expect(clippy::disallowed_methods, reason = "a page says when it was made; results carry no dates")]
pub fn today() -> String {
    DateTime::<Utc>::from(SystemTime::now()).format("%Y-%m-%d").to_string()
}
