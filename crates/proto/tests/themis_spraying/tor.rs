//! A ToR that the tests drive packet by packet.

use anabranch_base::{Bytes, Duration, HostId, MessageId, Purpose, QpId, Rate, Time, stream};
use anabranch_proto::program::{
    Emitted, Held, Passage, Program, ProgramFacts, Sites, ThemisSpraying, ThemisSprayingConfig, Tors, Verdict,
};
use anabranch_proto::{Packet, PathFacts, Repr};
use std::sync::Arc;

pub const QP: QpId = QpId(7);
pub const SENDER: HostId = HostId(1);
pub const RECEIVER: HostId = HostId(2);
pub const ACK: u16 = 64;
/// The bit of a NACK's tag that makes it a Path Avoidance Signal.
pub const SIGNAL: u16 = 1;

pub const PAPER: ThemisSprayingConfig = ThemisSprayingConfig {
    paths: 128,
    window: 512,
    confirmation: true,
    lazy_drop: true,
    reroute: true,
    failure_handling: true,
    ooo_threshold: 448,
    avoidance_window: 2_000_000,
};

pub fn facts(paths: u32) -> ProgramFacts {
    let path = PathFacts {
        base_rtt: Duration::from_us(8),
        bdp: Bytes(200_000),
        packet: Bytes(1064),
        line_rate: Rate::from_gbps(200),
        port_rate: Rate::from_gbps(200),
        queue: Bytes(1_000_000),
    };
    ProgramFacts {
        path,
        ack: Bytes(u64::from(ACK)),
        paths,
        path_map: None,
        sites: Sites::default(),
        tors: Tors::default(),
    }
}

/// The program of a switch, with the calls that the engine makes.
pub struct Tor {
    pub program: ThemisSpraying,
    paths: u32,
}

impl Tor {
    pub fn new(config: &ThemisSprayingConfig, paths: u32) -> Self {
        Tor::with(config, &facts(paths), 1)
    }

    pub fn with_path_map(config: &ThemisSprayingConfig, path_map: &[u16]) -> Self {
        let facts = ProgramFacts { path_map: Some(Arc::from(path_map)), ..facts(path_map.len() as u32) };
        Tor::with(config, &facts, 1)
    }

    pub fn with(config: &ThemisSprayingConfig, facts: &ProgramFacts, entity: u64) -> Self {
        let random = stream(5, entity, Purpose::LoadBalancer);
        Tor { program: ThemisSpraying::new(config, facts, random), paths: facts.paths }
    }

    /// Lets a packet arrive. `from_host` and `to_host` tell whether the packet comes from a host of the switch, and
    /// whether it goes to a host of the switch.
    pub fn ingress(&mut self, packet: &mut Packet, from_host: bool, to_host: bool) -> Verdict {
        let mut out = Vec::new();
        let at = self.passage(from_host, to_host);
        let verdict = self.program.ingress(packet, &at, &mut out);
        assert_eq!(out, [], "nothing is sent at ingress");
        verdict
    }

    /// Lets a packet leave for a host or for another switch, and returns the packets that the program sends.
    pub fn egress(&mut self, packet: &mut Packet, to_host: bool) -> Vec<Emitted> {
        let mut out = Vec::new();
        let at = self.passage(false, to_host);
        self.program.egress(packet, &at, &mut out);
        out
    }

    /// Lets a sprayed data packet pass to a host. Returns the PSNs of the NACKs that the packet triggers, and whether
    /// each NACK is a Path Avoidance Signal.
    pub fn deliver(&mut self, psn: u32) -> Vec<(u32, bool)> {
        let mut packet = sprayed(QP, psn);
        assert_eq!(self.ingress(&mut packet, false, true), Verdict::Forward);
        let out = self.egress(&mut packet, true);
        assert_eq!(packet.tag, 0, "the NIC sees none of it");
        let nack = |emitted: &Emitted| match *emitted {
            Emitted { packet: Packet { qp: QP, dst: SENDER, tag, repr, .. }, held: Held::Never } => {
                match repr {
                    Repr::Nack { psn, .. } => (psn, tag & SIGNAL != 0),
                    _ => panic!("{emitted:?} is no NACK"),
                }
            }
            _ => panic!("{emitted:?} goes elsewhere"),
        };
        out.iter().map(nack).collect()
    }

    pub fn deliver_all(&mut self, psns: &[u32]) {
        for &psn in psns {
            assert_eq!(self.deliver(psn), [], "PSN {psn}");
        }
    }

    /// Lets the local NIC send a NACK for `psn`.
    pub fn nack(&mut self, psn: u32) -> Verdict {
        self.ingress(&mut nack(QP, psn), true, false)
    }

    /// Lets the local NIC acknowledge everything below `cumulative`.
    pub fn ack(&mut self, cumulative: u32) {
        assert_eq!(self.ingress(&mut ack(QP, cumulative), true, false), Verdict::Forward);
    }

    /// Sends a data packet of a local host to another ToR, and returns its port.
    pub fn spray(&mut self, psn: u32) -> u16 {
        match self.ingress(&mut data(QP, psn), true, false) {
            Verdict::Port(port) if u32::from(port) < self.paths => port,
            verdict => panic!("{verdict:?}"),
        }
    }

    /// Lets a NACK for a local host arrive.
    pub fn hear_nack(&mut self, psn: u32, tag: u16) {
        let mut nack = Packet { tag, ..nack(QP, psn) };
        assert_eq!(self.ingress(&mut nack, false, true), Verdict::Forward);
        assert_eq!(nack.tag, 0, "the NIC sees none of it");
    }

    pub fn counter(&self, name: &str) -> u64 {
        counter(&self.program, name)
    }

    fn passage(&self, from_host: bool, to_host: bool) -> Passage {
        let ports = if to_host { 1 } else { self.paths as u16 };
        Passage { now: Time::ZERO, src: SENDER, port: 0, from_host, to_host, ports, queued: 0 }
    }
}

pub fn counter(program: &ThemisSpraying, name: &str) -> u64 {
    let counters = program.counters();
    counters.iter().find(|counter| counter.name == name).unwrap_or_else(|| panic!("no {name}")).value
}

/// A data packet as its host sends it.
pub fn data(qp: QpId, psn: u32) -> Packet {
    let repr = Repr::data(psn).with_message(MessageId(0), 10_000);
    Packet::new(qp, RECEIVER, repr).with_bytes(1064).with_ev(0x1234)
}

/// A data packet that has passed its sender's ToR.
pub fn sprayed(qp: QpId, psn: u32) -> Packet {
    let mut packet = data(qp, psn);
    Tor::new(&PAPER, 2).ingress(&mut packet, true, false);
    packet
}

pub fn nack(qp: QpId, psn: u32) -> Packet {
    control(qp, Repr::nack(psn).with_sent_at(Time(99)))
}

pub fn ack(qp: QpId, cumulative: u32) -> Packet {
    control(qp, Repr::ack(cumulative))
}

fn control(qp: QpId, repr: Repr) -> Packet {
    Packet::new(qp, SENDER, repr).with_bytes(ACK).with_ev(0x55).with_mark(true)
}
