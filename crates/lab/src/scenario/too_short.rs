//! Times of a scenario that are shorter than a packet's way and back.

use super::origin::Origin;
use super::table::fault;
use super::{Limits, ScenarioError, Scheme};
use anabranch_base::Duration;
use anabranch_proto::{PathFacts, TransportConfig};
use std::collections::BTreeMap;

/// What was found so far: by the scheme (none: a limit) and the parameter, its value and the longest round trip.
#[derive(Default)]
pub(super) struct TooShort(BTreeMap<(Option<String>, &'static str), (String, Duration)>);

impl TooShort {
    /// Looks at the timeouts of a scheme on a fabric, and at the time that a run has.
    pub(super) fn look(&mut self, scheme: &Scheme, limits: &Limits, facts: &PathFacts) {
        let rto_low = match &scheme.transport {
            TransportConfig::Irn(irn) => Some((RTO_LOW, irn.rto_low)),
            _ => None,
        };
        for (parameter, timeout) in [("transport.rto", scheme.transport.rto())].into_iter().chain(rto_low) {
            if timeout.on(facts) <= facts.base_rtt {
                self.note(Some(scheme.name.clone()), parameter, timeout.to_string(), facts.base_rtt);
            }
        }
        if limits.max_time <= facts.base_rtt {
            self.note(None, "max_time", limits.max_time.to_string(), facts.base_rtt);
        }
    }

    fn note(&mut self, scheme: Option<String>, parameter: &'static str, value: String, rtt: Duration) {
        let (_, longest) = self.0.entry((scheme, parameter)).or_insert((value, rtt));
        *longest = rtt.max(*longest);
    }

    /// What was found, with its place and what to write instead.
    pub(super) fn warnings(self, origin: &Origin) -> Vec<ScenarioError> {
        let warning = |((scheme, parameter), (value, rtt)): ((Option<String>, &str), (String, Duration))| {
            let path = format!("the longest path's round trip of {}", rtt.rounded_up(3));
            let Some(scheme) = scheme else {
                let message = format!(
                    "limits.{parameter} = \"{value}\" is not above {path}: no message over that path can finish"
                );
                let help = format!("{parameter} = \"{}\" below [limits]", (rtt * 20).rounded_up(3));
                return fault(&origin.file, origin.place("limits.max_time"), message, Some(help));
            };
            let message = format!(
                "scheme {scheme:?}: {parameter} = \"{value}\" is not above {path}: what takes that path is sent \
                 again before its ACK can be back"
            );
            let (at, written) = origin.setting(&scheme, parameter, &[]);
            let long = if parameter == RTO_LOW { "1.5rtt" } else { "4rtt" };
            let help = match origin.is_swept(&scheme, parameter) {
                true => format!("longer ones, such as \"{long}\", in [sweep]"),
                false => format!("{written} = \"{long}\" below [set]"),
            };
            fault(&origin.file, at, message, Some(help))
        };
        self.0.into_iter().map(warning).collect()
    }
}

const RTO_LOW: &str = "transport.rto_low";
