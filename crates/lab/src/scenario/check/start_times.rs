//! A check for messages that would start at or after the end of simulated time.

use crate::scenario::read::source_map::Origin;
use crate::scenario::read::table::fault;
use anabranch_base::{Diagnostic, Time};
use anabranch_engine::Limits;
use anabranch_workload::{Start, Workload, WorkloadSpec};

/// Rejects a workload with a message that would start at or after the end of the longest run that limits can permit.
pub(in crate::scenario) fn check(
    spec: &WorkloadSpec,
    workload: &Workload,
    origin: &Origin,
) -> Result<(), Diagnostic> {
    let ends = Time::ZERO + Limits::MAX_TIME;
    let late = workload.messages.iter().enumerate().find_map(|(number, message)| match message.start {
        Start::At(start) if start >= ends => Some((number, start.since(Time::ZERO))),
        _ => None,
    });
    let Some((number, start)) = late else { return Ok(()) };
    let message =
        format!("message {number} starts at {start}, and simulated time ends at {}", Limits::MAX_TIME);
    let (place, help) = match spec {
        WorkloadSpec::Messages { .. } => {
            (format!("workload.message.{number}.start"), "start = \"280s\" or earlier".to_owned())
        }
        _ => ("workload".to_owned(), "messages that start earlier".to_owned()),
    };
    Err(fault(&origin.file, origin.place(&place), message, Some(help.into())))
}
