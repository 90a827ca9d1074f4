//! The protocol state machines (`anabranch-proto`) of a transfer: its senders and receivers.
//!
//! Their parameters and the facts about the path come from a scenario with two hosts at one switch. Apart from the
//! payload, the parameters of a scheme are those of a simulation on the setup `common`.

use super::TransferParameters;
use crate::error::LiveError;
use anabranch_base::{HostId, QpId};
use anabranch_proto::PathFacts;
use anabranch_proto::transport::{AnyReceiver, AnySender, Ends, PullPacer};
use anabranch_sim::scenario::{NoFiles, Overrides, read};
use anabranch_sim::{DrivenRun, build};

const MOST_QPS: u32 = 256;
/// The largest message in bytes.
pub const LARGEST_MESSAGE: u32 = 64 << 20;

/// Both ends of all queue pairs of a transfer. A sender of files uses `senders`, and a receiver uses `receivers`.
pub struct Endpoints {
    pub senders: Vec<AnySender>,
    pub receivers: Vec<AnyReceiver>,
    /// The pacer of pulls, if receivers grant credit.
    pub pulls: Option<PullPacer>,
    pub facts: PathFacts,
}

/// The ends of a queue pair. The sender is host 0, and the receiver is host 1.
fn ends(qp: u32) -> Ends {
    Ends { qp: QpId(qp), src: HostId(0), dst: HostId(1) }
}

impl Endpoints {
    pub fn new(parameters: &TransferParameters) -> Result<Endpoints, LiveError> {
        let TransferParameters { qps, message_bytes, .. } = *parameters;
        if !(1..=MOST_QPS).contains(&qps) || !(1..=LARGEST_MESSAGE).contains(&message_bytes) {
            return Err(LiveError::Unsupported(format!(
                "{qps} queue pairs and messages of {message_bytes} bytes: there must be 1 to {MOST_QPS} queue pairs, and messages \
                 have 1 to {LARGEST_MESSAGE} bytes"
            )));
        }
        let refused = |error: &dyn std::fmt::Display| LiveError::Unsupported(error.to_string());
        let text = scenario(parameters)?;
        let over = Overrides { schemes: vec![parameters.scheme.clone()], ..Overrides::default() };
        let scenario = read("anabranch live", &text, &NoFiles, &over).map_err(|error| refused(&error))?;
        let points = scenario.points().map_err(|error| refused(&error))?;
        let mut point = points.into_iter().next().ok_or_else(|| refused(&"the scheme gives no run"))?;
        // A program may be for switches that only other fabrics have.
        (point.scheme.fabric.program, point.scheme.fabric.program_at) = (None, None);
        let built = build(&point)?;
        let run = DrivenRun::new(&point, &built)?;
        if let Some(what) = run.left_out() {
            return Err(LiveError::Unsupported(what.to_owned()));
        }
        Ok(Endpoints {
            senders: (0..qps).map(|qp| run.sender(ends(qp))).collect(),
            receivers: (0..qps).map(|qp| run.receiver(ends(qp))).collect(),
            pulls: run.pull_pacer(),
            facts: *run.facts(),
        })
    }
}

fn scenario(parameters: &TransferParameters) -> Result<String, LiveError> {
    let TransferParameters { rate, rtt, payload, seed, .. } = parameters;
    let rtt_ps: anabranch_base::Duration = rtt.parse().map_err(|error| {
        LiveError::Unsupported(format!(
            "the round trip time {rtt:?}: {error}\n  help: write \"500us\", for example"
        ))
    })?;
    // A round trip passes two links in each direction, so a link has a quarter of the round trip time.
    let latency_ns = rtt_ps.0 / 4000;
    Ok(format!(
        "schemes = [\"reps\"]\nseeds = [{seed}]\nworkload = {{ kind = \"permutation\", bytes = \"1MiB\" }}\n\
         topology = {{ kind = \"fat-tree\", hosts = 2, hosts_per_tor = 2, link = {rate:?}, link_latency = \"{latency_ns}ns\", \
         switch_latency = \"0us\" }}\n[set]\n\"*.transport.payload\" = \"{payload}B\"\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_sim::scenario::schemes;

    fn parameters(scheme: &str) -> TransferParameters {
        TransferParameters {
            scheme: scheme.to_owned(),
            rate: "10Gbps".to_owned(),
            rtt: "400us".to_owned(),
            payload: 4096,
            qps: 3,
            message_bytes: 1 << 20,
            seed: 1,
        }
    }

    #[test]
    fn the_facts_are_those_of_the_parameters() {
        let endpoints = Endpoints::new(&parameters("eqds")).unwrap();
        let rtt_us = endpoints.facts.base_rtt.0 / 1_000_000;
        assert!((400..420).contains(&rtt_us), "{rtt_us} us");
        assert_eq!((endpoints.senders.len(), endpoints.receivers.len()), (3, 3));
        assert!(endpoints.pulls.is_some());
    }

    #[test]
    fn every_scheme_without_telemetry_has_endpoints() {
        let mut refused = schemes();
        assert!(refused.iter().any(|scheme| scheme.name == "themis-longhaul"));
        refused.retain(|scheme| Endpoints::new(&parameters(scheme.name)).is_err());
        assert_eq!(refused.iter().map(|scheme| scheme.name).collect::<Vec<_>>(), ["hpcc"]);
    }

    #[test]
    fn bad_parameters_are_refused() {
        let message =
            |parameters| Endpoints::new(&parameters).err().map(|error| error.to_string()).unwrap_or_default();
        let of = |scheme| parameters(scheme);
        for (bad, part) in [
            (of("rep"), "reps"),
            (of("hpcc"), "telemetry"),
            (TransferParameters { qps: 0, ..of("reps") }, "1 to 256"),
            (TransferParameters { rtt: "soon".to_owned(), ..of("reps") }, "500us"),
            (TransferParameters { rate: "fast".to_owned(), ..of("reps") }, "fast"),
        ] {
            let text = message(bad);
            assert!(text.contains(part), "{text}");
        }
    }
}
