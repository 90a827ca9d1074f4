//! The reasons why a run has no complete result.

use crate::collect::RunResult;
use crate::spec::Limits;
use crate::switch::{PfcError, ProgramError, WeightError};
use anabranch_base::{OutOfRange, Refused, Time};
use anabranch_fabric::{SelectorError, TopologyError};
use anabranch_results::{LongerLimits, RunFailure, StallReason};
use anabranch_workload::WorkloadError;

/// The reason why a run has no complete result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The run was cancelled.
    #[error("stopped")]
    Cancelled,
    /// Messages or steps are unfinished, and either the time since the last new delivery exceeds
    /// [`Limits::patience`], or no event is left.
    #[error("{}", RunFailure::Stalled {
        at_us: at.as_us(),
        reason: reason.clone(),
        unfinished: *unfinished,
        flows: flows.clone(),
        help: help.clone(),
        limits: limits.clone(),
    })]
    Stalled {
        /// The simulated time at which the run ended.
        at: Time,
        /// The condition that ended the run.
        reason: StallReason,
        /// Some of the unfinished flows, by name.
        flows: Vec<String>,
        /// The number of unfinished flows.
        unfinished: u64,
        /// Lines that help the user.
        help: Vec<String>,
        /// Limits under which the flows may finish without any other change of the scenario.
        limits: Option<LongerLimits>,
        /// The results until then.
        partial: Box<RunResult>,
    },
    /// Paused links wait for each other in a cycle (PFC deadlock).
    #[error(
        "{}",
        RunFailure::Deadlock { at_us: at.as_us(), cycle: cycle.clone(), unfinished: *unfinished }
    )]
    Deadlock {
        /// Simulated time at which the deadlock was found.
        at: Time,
        /// The links, by name.
        cycle: Vec<String>,
        /// The number of unfinished flows.
        unfinished: u64,
        /// The results until then.
        partial: Box<RunResult>,
    },
    /// A lossless class had no room for a packet.
    #[error("{}", RunFailure::LosslessDrop { at_us: at.as_us(), message: what.clone() })]
    LosslessDrop {
        /// The simulated time at which the run ended.
        at: Time,
        /// The text for the user: the link and its buffer, with a remedy.
        what: String,
    },
    /// A lossless class cannot be built on this fabric.
    #[error("{}: {error}", .error.parameter())]
    Pfc {
        /// The error of the parameters.
        #[from]
        error: PfcError,
    },
    /// On this fabric, no WRR weight of the control queues prevents the loss of trimmed packets.
    #[error("fabric.wrr: {error}")]
    Weight {
        /// The error of the fabric.
        #[from]
        error: WeightError,
    },
    /// The program of a switch does not work on this fabric.
    #[error("{}: {error}", .error.remedy().0)]
    Program {
        /// The error of the program or its parameters.
        #[from]
        error: ProgramError,
    },
    /// A limit of the scenario was reached.
    #[error("{}", RunFailure::Limit {
        limit: (*limit).to_owned(),
        at_us: at.as_us(),
        unfinished: *unfinished,
        is_largest: is_largest(limit, *at),
    })]
    Limit {
        /// The key of the limit.
        limit: &'static str,
        /// The simulated time at which the run ended.
        at: Time,
        /// The number of unfinished flows.
        unfinished: u64,
        /// The results until then.
        partial: Box<RunResult>,
    },
    /// The curves would have more points than the run may have.
    #[error("{what}")]
    TooManyPoints {
        /// The text for the user: the time by which the curves had used up the points, with a remedy.
        what: String,
    },
    /// A registered part, an observer or an injector panicked.
    #[error("{}", RunFailure::Panicked { scheme: scheme.clone(), part: part.clone(), message: what.clone() })]
    Panicked {
        /// The scheme that ran.
        scheme: String,
        /// The part that panicked, with its name if it has one: `load balancer "sticky"`.
        part: String,
        /// The message of the panic. The panic hook has already printed where it happened.
        what: String,
    },
    /// A check found a broken invariant: a defect of Anabranch, or of a registered part.
    #[error(
        "an invariant is broken, which is a defect of anabranch or of what is registered with it: {what}"
    )]
    Invariant {
        /// The invariant, with its numbers.
        what: String,
    },
    /// A queue pair needs more packets than there are PSNs or, with the transport `dcp`, too many requests.
    #[error(
        "queue pair {qp} would need more than 2^32 packets, or with the transport dcp 2^24 requests; use smaller messages or a larger payload"
    )]
    OutOfPsns {
        /// The number of the queue pair.
        qp: u32,
    },
    /// A parameter of the scheme is out of its range.
    #[error("scheme {scheme:?}: {error}")]
    Parameter {
        /// The scheme's name.
        scheme: String,
        /// The parameter, with a remedy.
        error: OutOfRange,
    },
    /// An observer of the scenario refuses its parameters on this fabric.
    #[error("observer {observer:?}: {error}")]
    Observer {
        /// The observer's name.
        observer: String,
        /// The parameter and the reason.
        error: Refused,
    },
    /// The fabric cannot be built.
    #[error(transparent)]
    Topology(#[from] TopologyError),
    /// The workload cannot be made.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// A selector has no known form, or names nothing on this fabric or in this workload.
    #[error(transparent)]
    Selector(#[from] SelectorError),
}

/// Whether a limit that was reached at `at` cannot be raised.
fn is_largest(limit: &str, at: Time) -> bool {
    limit == "max_time" && at >= Time::ZERO + Limits::MAX_TIME
}

impl RunError {
    /// The cause of the failure as a value, and the results until the failure if the error has them.
    pub fn into_failure(self) -> (RunFailure, Option<Box<RunResult>>) {
        match self {
            RunError::Stalled { at, reason, flows, unfinished, help, limits, partial } => {
                let at_us = at.as_us();
                (RunFailure::Stalled { at_us, reason, unfinished, flows, help, limits }, Some(partial))
            }
            RunError::Deadlock { at, cycle, unfinished, partial } => {
                (RunFailure::Deadlock { at_us: at.as_us(), cycle, unfinished }, Some(partial))
            }
            RunError::Limit { limit, at, unfinished, partial } => {
                let is_largest = is_largest(limit, at);
                let (limit, at_us) = (limit.to_owned(), at.as_us());
                (RunFailure::Limit { limit, at_us, unfinished, is_largest }, Some(partial))
            }
            RunError::LosslessDrop { at, what } => {
                (RunFailure::LosslessDrop { at_us: at.as_us(), message: what }, None)
            }
            RunError::Panicked { scheme, part, what } => {
                (RunFailure::Panicked { scheme, part, message: what }, None)
            }
            other => (RunFailure::Other { message: other.to_string() }, None),
        }
    }
}
