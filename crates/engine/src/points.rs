//! What is said of a run whose curves filled the room that they had.

use crate::spec::MeasureSpec;
use anabranch_base::Duration;

/// Of a run that may have `share` points, and had `room` for so long a time alone.
pub fn too_many(measures: &[MeasureSpec], share: u64, room: Duration, max_time: Duration) -> String {
    let shortest =
        measures.iter().filter(|m| m.every > Duration::ZERO && m.above.is_none()).map(|m| m.every).min();
    let every = shortest.unwrap_or_default();
    let times = |factor: f64| Duration((every.0 as f64 * factor) as u64).rounded_up(2);
    let whole = (max_time.0 as f64 / room.0.max(1) as f64).max(1.0);
    let advice = match whole > 10.0 {
        true => format!(
            "every = \"{}\" in place of \"{every}\" has room for ten times as long, every = \"{}\" for all of \
             limits.max_time",
            times(10.0),
            times(whole)
        ),
        false => format!(
            "every = \"{}\" in place of \"{every}\" has room for all of limits.max_time",
            times(whole)
        ),
    };
    format!(
        "the curves of [[measure]] came to {share} points within {:.3} us, which is all that this run may have; {advice}; \
         or watch less, or have fewer runs",
        room.as_us()
    )
}
