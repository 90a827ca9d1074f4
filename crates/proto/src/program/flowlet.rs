//! Flowlet switching (LetFlow, NSDI 2017, section 3.1), at the source ToR.
//!
//! If the idle time between two packets of a queue pair exceeds the gap, the second packet starts a new flowlet, which
//! takes a random port.

use super::AnyProgram;
use super::interface::{
    EgressPorts, Emitted, Passage, Program, ProgramCounter, ProgramFacts, ProgramProperties, Total, Verdict,
};
use crate::{Packet, Repr, Span, StateField};
use anabranch_base::{AboveZero, Duration, Stream, Time, parameters};
use serde::{Deserialize, Serialize};

parameters! {
    /// Parameters of flowlet switching.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct FlowletConfig {
        /// Idle time between two packets of a queue pair above which the second packet starts a new flowlet. The path
        /// of a new flowlet is random.
        #[param(AboveZero; example = "100us"; source = "LetFlow (NSDI 2017), section 3.1")]
        pub gap: Span,
    }
}

/// The flowlets of one switch.
pub struct Flowlet {
    gap: Duration,
    /// The time of each queue pair's last packet, and the port of its flowlet. None before the first packet.
    flowlets: Vec<Option<(Time, u16)>>,
    random: Stream,
    count: u64,
}

impl Flowlet {
    /// The program before the first packet.
    pub fn new(gap: Duration, random: Stream) -> Self {
        Flowlet { gap, flowlets: Vec::new(), random, count: 0 }
    }

    pub(super) fn state() -> Vec<StateField> {
        vec![StateField::new("port", 16, 1), StateField::new("last packet", 32, 1)]
    }
}

impl ProgramProperties for FlowletConfig {
    fn build(&self, facts: &ProgramFacts, random: Stream) -> AnyProgram {
        AnyProgram::Flowlet(Flowlet::new(self.gap.on(&facts.path), random))
    }

    fn state(&self) -> Vec<StateField> {
        Flowlet::state()
    }

    fn chooses_paths(&self) -> bool {
        true
    }
}

impl Program for Flowlet {
    fn egress_ports(&self) -> EgressPorts {
        EgressPorts::None
    }

    fn ingress(&mut self, packet: &mut Packet, at: &Passage, _: &mut Vec<Emitted>) -> Verdict {
        if !at.from_host || at.to_host || at.ports == 0 || !matches!(packet.repr, Repr::Data { .. }) {
            return Verdict::Forward;
        }
        let qp = packet.qp.index();
        if self.flowlets.len() <= qp {
            self.flowlets.resize(qp + 1, None);
        }
        let port = match self.flowlets[qp] {
            Some((last, port)) if at.now.since(last) <= self.gap => port,
            _ => {
                self.count += 1;
                self.random.below(u32::from(at.ports)) as u16
            }
        };
        self.flowlets[qp] = Some((at.now, port));
        Verdict::Port(port)
    }

    fn counters(&self) -> Vec<ProgramCounter> {
        vec![ProgramCounter { name: "flowlets", value: self.count, total: Total::Sum }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_base::{HostId, Purpose, QpId, stream};

    const GAP: Duration = Duration::from_us(100);

    fn flowlet() -> Flowlet {
        Flowlet::new(GAP, stream(1, 0, Purpose::Model))
    }

    fn data(qp: u32) -> Packet {
        Packet::data(QpId(qp), HostId(9), 0).with_bytes(1_048)
    }

    fn leaving(now: Time) -> Passage {
        Passage { now, src: HostId(0), port: 0, from_host: true, to_host: false, ports: 8, queued: 0 }
    }

    fn send(flowlet: &mut Flowlet, qp: u32, now: Time) -> u16 {
        let mut out = Vec::new();
        match flowlet.ingress(&mut data(qp), &leaving(now), &mut out) {
            Verdict::Port(port) if port < 8 => port,
            verdict => panic!("{verdict:?}"),
        }
    }

    fn flowlets(flowlet: &Flowlet) -> u64 {
        flowlet.counters()[0].value
    }

    #[test]
    fn packets_no_further_apart_than_the_gap_stay_together() {
        let mut flowlet = flowlet();
        let port = send(&mut flowlet, 0, Time::ZERO);
        // The gap counts from the previous packet, not from the flowlet's first packet.
        for i in 1..20 {
            assert_eq!(send(&mut flowlet, 0, Time::ZERO + GAP * i), port);
        }
        assert_eq!(flowlets(&flowlet), 1);
    }

    #[test]
    fn a_longer_gap_draws_any_port() {
        let mut flowlet = flowlet();
        let mut taken = [0; 8];
        let mut now = Time::ZERO;
        for _ in 0..800 {
            taken[usize::from(send(&mut flowlet, 0, now))] += 1;
            now = now + GAP + Duration(1);
        }
        assert!(taken.iter().all(|&count| (60..140).contains(&count)), "{taken:?}");
        assert_eq!(flowlets(&flowlet), 800);
    }

    #[test]
    fn queue_pairs_have_flowlets_of_their_own() {
        let mut flowlet = flowlet();
        let port = send(&mut flowlet, 3, Time::ZERO);
        for at in 1..10 {
            send(&mut flowlet, at as u32 % 3, Time::ZERO + GAP * at);
            assert_eq!(send(&mut flowlet, 3, Time::ZERO + GAP * at), port);
        }
    }

    #[test]
    fn all_else_is_left_to_routing() {
        let mut flowlet = flowlet();
        let ack = Packet { repr: Repr::Cnp, ..data(0) };
        let out_of = leaving(Time::ZERO);
        let others = [
            (ack, out_of),
            (data(0), Passage { from_host: false, ..out_of }),
            (data(0), Passage { to_host: true, ports: 1, ..out_of }),
            (data(0), Passage { ports: 0, ..out_of }),
        ];
        for (mut packet, at) in others {
            assert_eq!(flowlet.ingress(&mut packet, &at, &mut Vec::new()), Verdict::Forward);
        }
        assert_eq!(flowlets(&flowlet), 0);
    }
}
