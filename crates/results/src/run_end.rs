//! Warnings of runs and causes of failed runs, as values that can be printed.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A warning about the results of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum RunWarning {
    /// The run ended before the fault began.
    FaultAfterEnd {
        /// The number of the fault, counted from 0, as in `fault.0`.
        fault: u32,
        /// The kind of the fault, and its links, switches or hosts.
        on: String,
    },
    /// The fault did not lose, refuse or slow any packet.
    FaultWithoutPackets {
        /// The number of the fault, counted from 0, as in `fault.0`.
        fault: u32,
        /// The kind of the fault, and its links, switches or hosts.
        on: String,
    },
    /// The fault affected packets, but no data packets.
    FaultWithoutData {
        /// The number of the fault, counted from 0, as in `fault.0`.
        fault: u32,
        /// The kind of the fault, and its links, switches or hosts.
        on: String,
        /// The number of packets that the fault affected.
        packets: u64,
    },
    /// The run ended before the last times of the fault.
    FaultTimesAfterEnd {
        /// The number of the fault, counted from 0, as in `fault.0`.
        fault: u32,
        /// The kind of the fault, and its links, switches or hosts.
        on: String,
        /// The fault's times that lie after the end of the run, with their units.
        times: Vec<String>,
    },
    /// The job sent no data over the network.
    JobWithinServers {
        /// The number of the job, counted from 0.
        job: u32,
        /// The job's algorithm.
        algorithm: String,
        /// The number of the job's ranks.
        ranks: u64,
    },
    /// No point of the measure's curves is above 0.
    EmptyMeasure {
        /// The number of the measure, counted from 0, as in `measure.0`.
        measure: u64,
        /// The name of the series in scenarios.
        series: String,
        /// The links, switches or queue pairs, as the scenario writes them.
        on: Option<String>,
        /// The reason why the measure has no point above 0.
        reason: EmptyReason,
    },
}

/// The reason why a measure has no point above 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EmptyReason {
    /// The scheme has no PFC.
    NoPfc,
    /// The scheme has no program in its switches.
    NoProgram,
    /// No measured value is above 0.
    AllZero,
}

impl RunWarning {
    /// The number of the fault that the warning is about. `None` if it is about a job or a measure.
    pub fn fault(&self) -> Option<u32> {
        match self {
            RunWarning::FaultAfterEnd { fault, .. }
            | RunWarning::FaultWithoutPackets { fault, .. }
            | RunWarning::FaultWithoutData { fault, .. }
            | RunWarning::FaultTimesAfterEnd { fault, .. } => Some(*fault),
            RunWarning::JobWithinServers { .. } | RunWarning::EmptyMeasure { .. } => None,
        }
    }

    /// The number of packets that the warning states, which may differ between runs. It is 0 if the warning states no
    /// number of packets.
    fn packets(&self) -> u64 {
        if let RunWarning::FaultWithoutData { packets, .. } = self { *packets } else { 0 }
    }

    fn is_like(&self, other: &RunWarning) -> bool {
        let without_packets = |warning: &RunWarning| {
            let mut warning = warning.clone();
            if let RunWarning::FaultWithoutData { packets, .. } = &mut warning {
                *packets = 0;
            }
            warning
        };
        without_packets(self) == without_packets(other)
    }

    /// The text of the warning, with `packets` as the number of packets, which may be a range.
    fn with_packets(&self, packets: &str) -> String {
        match self {
            RunWarning::FaultAfterEnd { fault, on } => {
                format!("fault.{fault} ({on}) begins after the end of the run")
            }
            RunWarning::FaultWithoutPackets { fault, on } => {
                format!("fault.{fault} ({on}) met no packet: it lost, refused or slowed none")
            }
            RunWarning::FaultWithoutData { fault, on, .. } => format!(
                "fault.{fault} ({on}) met no data: the {packets} packets that it hit are ACKs and the like"
            ),
            RunWarning::FaultTimesAfterEnd { fault, on, times } => {
                format!("fault.{fault} ({on}) does not come at {}: the run is over before", times.join(", "))
            }
            RunWarning::JobWithinServers { job, algorithm, ranks } => format!(
                "job {job} ({algorithm}, {ranks} ranks): all that its ranks send stays inside their servers, and nothing \
                 crosses the network: it takes as long under every scheme"
            ),
            RunWarning::EmptyMeasure { measure, series, on, reason } => {
                let on = on.as_ref().map_or(String::new(), |on| format!(" on {on:?}"));
                let why = match reason {
                    EmptyReason::NoPfc => "the scheme has no PFC",
                    EmptyReason::NoProgram => "the scheme has no program in switches",
                    EmptyReason::AllZero => "it has no point above 0",
                };
                format!("measure.{measure} ({series}{on}) saw nothing: {why}")
            }
        }
    }
}

impl fmt::Display for RunWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.with_packets(&self.packets().to_string()))
    }
}

/// A warning with the schemes whose runs have it. Warnings that differ only in the number of packets are treated as
/// one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SharedWarning {
    /// The warning of the first run that has it.
    pub warning: RunWarning,
    /// The smallest and the largest number of packets that the runs' warnings state.
    pub packets: [u64; 2],
    /// The schemes whose runs have the warning.
    pub schemes: Vec<WarnedScheme>,
    /// Further jobs with the same warning, of the same algorithm, ranks, schemes and numbers of runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub more_jobs: Vec<u32>,
}

/// A scheme with a warning.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WarnedScheme {
    /// The scheme.
    pub scheme: String,
    /// The number of the scheme's runs that have the warning.
    pub runs: usize,
    /// The number of the scheme's runs.
    pub of_runs: usize,
}

impl SharedWarning {
    pub(crate) fn new(warning: &RunWarning) -> SharedWarning {
        let packets = [warning.packets(); 2];
        SharedWarning { warning: warning.clone(), packets, schemes: Vec::new(), more_jobs: Vec::new() }
    }

    /// Adds the job of another warning, if the two differ in nothing else.
    pub(crate) fn add_job(&mut self, other: &SharedWarning) -> bool {
        use RunWarning::JobWithinServers as Job;
        match (&self.warning, &other.warning) {
            (Job { algorithm, ranks, .. }, Job { job, algorithm: of_other, ranks: others })
                if (algorithm, ranks) == (of_other, others) && self.schemes == other.schemes =>
            {
                self.more_jobs.push(*job);
                true
            }
            _ => false,
        }
    }

    /// Adds the warning of a run of `scheme`, which has `of_runs` runs. Returns false, and adds nothing, if the two
    /// warnings differ in more than the number of packets.
    pub(crate) fn add(&mut self, warning: &RunWarning, scheme: &str, of_runs: usize) -> bool {
        if !self.warning.is_like(warning) {
            return false;
        }
        let [least, most] = self.packets;
        self.packets = [least.min(warning.packets()), most.max(warning.packets())];
        match self.schemes.iter_mut().find(|known| known.scheme == scheme) {
            Some(known) => known.runs += 1,
            None => self.schemes.push(WarnedScheme { scheme: scheme.to_owned(), runs: 1, of_runs }),
        }
        true
    }
}

impl fmt::Display for SharedWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let schemes =
            self.schemes.iter().map(|WarnedScheme { scheme, runs, of_runs }| match runs == of_runs {
                true => scheme.clone(),
                false => format!("{scheme} (in {runs} of {of_runs} runs)"),
            });
        let packets = match self.packets {
            [least, most] if least == most => least.to_string(),
            [least, most] => format!("{least} to {most}"),
        };
        let schemes = schemes.collect::<Vec<_>>().join(", ");
        match (&self.warning, &self.more_jobs[..]) {
            (RunWarning::JobWithinServers { job, algorithm, ranks }, [.., last]) => {
                let count = 1 + self.more_jobs.len();
                write!(
                    f,
                    "{schemes}: {count} jobs from {job} to {last} ({algorithm}, {ranks} ranks each): all that their ranks send \
                     stays inside their servers, and nothing crosses the network: they take as long under every scheme"
                )
            }
            _ => write!(f, "{schemes}: {}", self.warning.with_packets(&packets)),
        }
    }
}

/// The cause of a failed run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum RunFailure {
    /// The run did not finish, and nothing new was delivered for too long or no event is left.
    Stalled {
        /// The simulated time at which the run ended, in microseconds.
        at_us: f64,
        /// The condition that ended the run.
        reason: StallReason,
        /// The number of unfinished flows.
        unfinished: u64,
        /// Some of the unfinished flows, by name.
        flows: Vec<String>,
        /// Lines of advice for the user.
        help: Vec<String>,
        /// Limits under which the flows may finish in the same scenario, or `None` if no permitted limits help.
        #[serde(default)]
        limits: Option<LongerLimits>,
    },
    /// The run has a cycle of paused links, each of which waits for the next (a PFC deadlock).
    Deadlock {
        /// The simulated time at which the deadlock was found, in microseconds.
        at_us: f64,
        /// The links, by name.
        cycle: Vec<String>,
        /// The number of unfinished flows.
        unfinished: u64,
    },
    /// A limit of the scenario was reached.
    Limit {
        /// The key of the limit.
        limit: String,
        /// The simulated time at which the run ended, in microseconds.
        at_us: f64,
        /// The number of unfinished flows.
        unfinished: u64,
        /// Whether the limit is `max_time` with the largest value that a scenario may set.
        is_largest: bool,
    },
    /// The buffer of a lossless class had no room for a packet.
    LosslessDrop {
        /// The simulated time at which the run ended, in microseconds.
        at_us: f64,
        /// The link and its buffer, with a remedy.
        message: String,
    },
    /// A registered component, an observer or an injector panicked.
    Panicked {
        /// The scheme whose run failed.
        scheme: String,
        /// The component, with its name if it has one.
        part: String,
        /// The message of the panic.
        message: String,
    },
    /// Another error, for example because a fabric cannot be built.
    Other {
        /// The error's message.
        message: String,
    },
}

/// Longer limits, for a run that stalled under the limits of its scenario.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LongerLimits {
    /// The value of `limits.stall`, with its unit.
    pub stall: String,
    /// The value of `limits.max_time`, with its unit, if the scenario's value is too short.
    pub max_time: Option<String>,
}

/// The condition that ended a stalled run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum StallReason {
    /// Nothing new was delivered for longer than the stall limit permits.
    NoDelivery {
        /// The value of `limits.stall`, with its unit.
        stall: String,
    },
    /// No event is left to simulate.
    NothingLeft,
}

impl fmt::Display for StallReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StallReason::NoDelivery { stall } => {
                write!(f, "nothing new was delivered for {stall}, a timeout and a round trip")
            }
            StallReason::NothingLeft => f.write_str("nothing is left that could happen"),
        }
    }
}

impl RunFailure {
    /// Whether both causes are alike. Two stalls are alike if their reasons are of the same kind, and two limits if
    /// they have the same key. Two deadlocks or two drops of a lossless class are always alike. Other causes must be
    /// equal.
    pub fn is_like(&self, other: &RunFailure) -> bool {
        use RunFailure as Cause;
        match (self, other) {
            (Cause::Stalled { reason, .. }, Cause::Stalled { reason: other, .. }) => {
                std::mem::discriminant(reason) == std::mem::discriminant(other)
            }
            (Cause::Limit { limit, .. }, Cause::Limit { limit: other, .. }) => limit == other,
            (Cause::Deadlock { .. }, Cause::Deadlock { .. })
            | (Cause::LosslessDrop { .. }, Cause::LosslessDrop { .. }) => true,
            _ => self == other,
        }
    }

    /// The cause as a sentence, without the flows and the help.
    pub fn summary(&self) -> String {
        match self {
            RunFailure::Stalled { at_us, reason, unfinished, .. } => {
                format!("stalled at {at_us:.3} us: {reason}, and {unfinished} flows are unfinished")
            }
            RunFailure::Deadlock { at_us, cycle, unfinished } => format!(
                "deadlock at {at_us:.3} us: these links are paused, each waiting for the next and the last for the first: \
                 {}; {unfinished} flows are unfinished",
                cycle.join(" -> ")
            ),
            RunFailure::Limit { limit, at_us, unfinished, is_largest } => format!(
                "reached limits.{limit} at {at_us:.3} us with {unfinished} flows unfinished; {}",
                match is_largest {
                    true => "simulated time ends there: let messages start earlier",
                    false => "raise it in [limits] if that is too early",
                }
            ),
            RunFailure::LosslessDrop { at_us, message } => {
                format!("a lossless class lost a packet at {at_us:.3} us: {message}")
            }
            RunFailure::Panicked { scheme, part, message } => {
                format!("the {part} of scheme {scheme:?} panicked: {message}")
            }
            RunFailure::Other { message } => message.clone(),
        }
    }

    /// The names of some unfinished flows of a stalled run, with `...` if there are more. `None` if the run did not
    /// stall.
    pub fn flows(&self) -> Option<String> {
        let RunFailure::Stalled { flows, unfinished, .. } = self else { return None };
        let more = if *unfinished > flows.len() as u64 { "; ..." } else { "" };
        Some(format!("{}{more}", flows.join("; ")))
    }

    /// Lines of advice for the user. Only a stalled run can have them.
    pub fn help(&self) -> &[String] {
        if let RunFailure::Stalled { help, .. } = self { help } else { &[] }
    }
}

/// Prints the summary, then the flows, and the lines of help below.
impl fmt::Display for RunFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.summary())?;
        if let Some(flows) = self.flows() {
            write!(f, ": {flows}")?;
        }
        self.help().iter().try_for_each(|line| write!(f, "\n  help: {line}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stalled(at_us: f64, reason: StallReason, help: &[&str]) -> RunFailure {
        let help = help.iter().map(|&line| line.to_owned()).collect();
        RunFailure::Stalled {
            at_us,
            reason,
            unfinished: 2,
            flows: vec!["flow 3 (8 B)".to_owned()],
            help,
            limits: None,
        }
    }

    #[test]
    fn causes_that_differ_in_numbers_are_alike() {
        let wait = |stall: &str| StallReason::NoDelivery { stall: stall.to_owned() };
        let one = stalled(1.5, wait("1ms"), &["a longer stall"]);
        assert!(one.is_like(&stalled(7.0, wait("2ms"), &[])));
        assert!(!one.is_like(&stalled(1.5, StallReason::NothingLeft, &["a longer stall"])));
        let limit = |limit: &str, at_us| RunFailure::Limit {
            limit: limit.to_owned(),
            at_us,
            unfinished: 1,
            is_largest: false,
        };
        assert!(limit("max_time", 1.0).is_like(&limit("max_time", 2.0)));
        assert!(!limit("max_time", 1.0).is_like(&limit("max_events", 1.0)));
        let other = |message: &str| RunFailure::Other { message: message.to_owned() };
        assert!(!other("file 1 is empty").is_like(&other("file 2 is empty")));
    }

    #[test]
    fn a_cause_is_printed_with_its_flows_and_its_help() {
        let wait = StallReason::NoDelivery { stall: "1ms".to_owned() };
        assert_eq!(
            stalled(1.5, wait, &["a longer stall"]).to_string(),
            "stalled at 1.500 us: nothing new was delivered for 1ms, a timeout and a round trip, and 2 flows are unfinished: \
             flow 3 (8 B); ...\n  help: a longer stall"
        );
    }
}
