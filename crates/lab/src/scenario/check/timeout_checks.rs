//! Warnings about timeouts and a time limit that do not exceed a packet's round trip, and about a time limit in which
//! the messages cannot all finish.

use crate::scenario::read::source_map::Origin;
use crate::scenario::read::table::fault;
use anabranch_base::{Diagnostic, Duration, HostId};
use anabranch_engine::{Ideal, Limits, Scheme};
use anabranch_proto::PathFacts;
use anabranch_workload::Workload;
use std::collections::BTreeMap;

/// The findings so far: the value of a parameter, and the longest round trip that this value does not exceed. The key
/// is the scheme, which is `None` for a limit, and the parameter.
#[derive(Default)]
pub(in crate::scenario) struct TooShort {
    found: BTreeMap<(Option<String>, &'static str), (String, LongRoundTrip)>,
    /// The shortest possible duration of a run, at the point of the sweep where this duration is largest.
    soonest: Duration,
}

/// A round trip that a timeout or a limit does not exceed.
struct LongRoundTrip {
    rtt: Duration,
    /// The queue pair with this round trip, the number of queue pairs whose round trip is too long, and the number of
    /// all queue pairs; none if the round trip is that of the fabric's longest path.
    of: Option<(HostId, HostId, usize, usize)>,
}

impl TooShort {
    /// Examines the timeouts of a scheme on a fabric with the closed-form times `ideal`, and the time limit of runs.
    pub(in crate::scenario) fn look<'a>(
        &mut self,
        scheme: &Scheme,
        limits: &Limits,
        facts: &PathFacts,
        workload: &Workload,
        ideal: impl Fn() -> Ideal<'a>,
    ) {
        for (parameter, timeout) in scheme.transport.timeouts() {
            if timeout.on(facts) <= facts.base_rtt
                && let Some(beyond) = LongRoundTrip::of(workload, &ideal(), timeout.on(facts))
            {
                self.note(Some(scheme.name.clone()), parameter, timeout.to_string(), beyond);
            }
        }
        if limits.max_time <= facts.base_rtt {
            let beyond = LongRoundTrip { rtt: facts.base_rtt, of: None };
            self.note(None, "max_time", limits.max_time.to_string(), beyond);
        }
    }

    pub(in crate::scenario) fn look_at_end(&mut self, soonest: Duration) {
        self.soonest = self.soonest.max(soonest);
    }

    fn note(
        &mut self,
        scheme: Option<String>,
        parameter: &'static str,
        value: String,
        beyond: LongRoundTrip,
    ) {
        let found = self
            .found
            .entry((scheme, parameter))
            .or_insert((value, LongRoundTrip { rtt: Duration::ZERO, of: None }));
        if beyond.rtt > found.1.rtt {
            found.1 = beyond;
        }
    }

    pub(in crate::scenario) fn warnings(self, limits: &Limits, origin: &Origin) -> Vec<Diagnostic> {
        let TooShort { found, soonest } = self;
        let is_said = found.contains_key(&(None, "max_time"));
        let unfinished = (soonest > limits.max_time && !is_said).then(|| {
            let message = format!(
                "limits.max_time = \"{}\" is below what the hosts' links take for the messages, {}: they cannot all finish",
                limits.max_time,
                soonest.rounded_up(3)
            );
            let help = format!("max_time = \"{}\" below [limits]", (soonest * 20).rounded_up(3).min(Limits::MAX_TIME));
            fault(&origin.file, origin.place("limits.max_time"), message, Some(help.into()))
        });
        let warning = |((scheme, parameter), (value, beyond)): (
            (Option<String>, &str),
            (String, LongRoundTrip),
        )| {
            let rtt = beyond.rtt.rounded_up(3);
            let (Some(scheme), Some((src, dst, few, all))) = (scheme, beyond.of) else {
                let message = format!(
                    "limits.{parameter} = \"{value}\" is not above the longest path's round trip of {rtt}: no message over that \
                     path can finish"
                );
                let help = format!("{parameter} = \"{}\" below [limits]", (beyond.rtt * 20).rounded_up(3));
                return fault(&origin.file, origin.place("limits.max_time"), message, Some(help.into()));
            };
            let early = if parameter == PROBE_AFTER {
                "the sender probes before an ACK"
            } else {
                "packets are sent again before their ACK"
            };
            let message = format!(
                "scheme {scheme:?}: {parameter} = \"{value}\" is not above the round trip of {rtt} from host {src} to host \
                 {dst}: there, and on {few} of {all} queue pairs in all, {early} can be back"
            );
            let (at, written) = origin.setting(&scheme, parameter, &[]);
            let long = if parameter == RTO_LOW { "1.5rtt" } else { "4rtt" };
            let help = match origin.is_swept(&scheme, parameter) {
                true => format!("longer ones, such as \"{long}\", in {}", origin.sweeps()),
                false => format!("{written} = \"{long}\" below [set]"),
            };
            fault(&origin.file, at, message, Some(help.into()))
        };
        found.into_iter().map(warning).chain(unfinished).collect()
    }
}

impl LongRoundTrip {
    /// The longest round trip of the queue pairs of `workload` whose round trip is at least `timeout`; none if there
    /// are no such queue pairs.
    fn of(workload: &Workload, ideal: &Ideal<'_>, timeout: Duration) -> Option<LongRoundTrip> {
        let rtts = workload.qps.iter().map(|qp| (ideal.path_facts_of(qp.src, qp.dst).base_rtt, qp));
        let too_long = rtts.filter(|(rtt, _)| timeout <= *rtt);
        let (few, longest) = too_long.fold((0, None), |(few, longest), (rtt, qp)| match longest {
            Some((other, _)) if other >= rtt => (few + 1, longest),
            _ => (few + 1, Some((rtt, qp))),
        });
        let (rtt, qp) = longest?;
        Some(LongRoundTrip { rtt, of: Some((qp.src, qp.dst, few, workload.qps.len())) })
    }
}

const RTO_LOW: &str = "transport.rto_low";
const PROBE_AFTER: &str = "transport.probe_after";
