//! Flowlet switching (LetFlow, NSDI 2017, section 3.1), at the source ToR.
//!
//! A pause in a queue pair's packets longer than the gap starts a new flowlet, which takes a port drawn at random.

use super::{Emitted, Passage, Program, ProgramCounter, Total, Verdict};
use crate::lb::StateField;
use crate::{Packet, Repr};
use anabranch_base::{Duration, Stream, Time};

/// The flowlets of one switch.
pub struct Flowlet {
    gap: Duration,
    /// By queue pair: when its last packet passed, and the port of its flowlet; none before its first packet.
    flowlets: Vec<Option<(Time, u16)>>,
    random: Stream,
    count: u64,
}

impl Flowlet {
    /// No flowlet yet.
    pub fn new(gap: Duration, random: Stream) -> Self {
        Flowlet { gap, flowlets: Vec::new(), random, count: 0 }
    }

    pub(super) fn state() -> Vec<StateField> {
        vec![StateField::new("port", 16, 1), StateField::new("last packet", 32, 1)]
    }
}

impl Program for Flowlet {
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
