//! ConWeave's two ToRs, tested packet by packet and over random paths.

use crate::support::{facts, us};
use anabranch_base::{Bytes, Duration, HostId, MessageId, Purpose, QpId, Time, stream};
use anabranch_proto::program::{
    Conweave, ConweaveConfig, Emitted, Held, Passage, Program, ProgramConfig, ProgramFacts, Sites, Tors,
    Verdict,
};
use anabranch_proto::{Packet, Repr, Span};
use std::sync::Arc;

mod destination;
mod fabric;
mod source;

const SENDER: HostId = HostId(3);
const RECEIVER: HostId = HostId(70);
/// A second receiver, at a ToR with a shorter round trip (`ROUND_TRIPS_US`).
const NEAR_RECEIVER: HostId = HostId(71);
/// The round trips from the ToR of `SENDER` to the ToRs of `SENDER`, `RECEIVER` and `NEAR_RECEIVER`.
const ROUND_TRIPS_US: [u64; 3] = [0, 8, 4];
/// The round trip to the ToR of `RECEIVER` plus `reply_extra` of `config`.
const DEADLINE_US: u64 = 12;
/// The unit of stamps, 8,192 ps.
const STAMP: Duration = Duration(8_192);

fn config() -> ConweaveConfig {
    let us = |us| Span::Time(Duration::from_us(us));
    ConweaveConfig {
        reply_extra: us(4),
        path_pause: us(16),
        flush_extra: us(16),
        default_wait: us(200),
        expiry: us(300),
    }
}

fn program(config: &ConweaveConfig, entity: u64) -> Conweave {
    let facts = ProgramFacts {
        path: facts(1_048),
        ack: Bytes(60),
        paths: 4,
        path_map: None,
        sites: Sites::default(),
        tors: Tors {
            of_host: (0..=NEAR_RECEIVER.0).map(|host| host.saturating_sub(RECEIVER.0 - 1)).collect(),
            round_trips: ROUND_TRIPS_US.into_iter().map(Duration::from_us).collect::<Arc<[_]>>(),
        },
    };
    Conweave::new(config, &facts, stream(1, entity, Purpose::Model))
}

fn data(qp: u32, psn: u32) -> Packet {
    let repr = Repr::data(psn).with_message(MessageId(0), 1_000);
    Packet::new(QpId(qp), RECEIVER, repr).with_bytes(1_048)
}

fn psn(packet: &Packet) -> u32 {
    match packet.repr {
        Repr::Data { psn, .. } => psn,
        _ => panic!("no data: {packet:?}"),
    }
}

fn passage(now: Time, src: HostId, from_host: bool, to_host: bool, ports: u16) -> Passage {
    Passage { now, src, port: 9, from_host, to_host, ports, queued: 0 }
}

fn counter(program: &Conweave, name: &str) -> u64 {
    let counters = program.counters();
    counters.iter().find(|counter| counter.name == name).unwrap_or_else(|| panic!("no {name}")).value
}

/// Whether the tag has the INIT bit: the packet is the first of its epoch and requests a reply.
fn is_init(packet: &Packet) -> bool {
    packet.tag >> 9 & 1 != 0
}
fn is_tail(packet: &Packet) -> bool {
    packet.tag >> 8 & 1 != 0
}
fn is_rerouted(packet: &Packet) -> bool {
    packet.tag >> 10 & 1 != 0
}

/// The output of a destination ToR: the PSNs sent to the host, in order, and the packets to the source ToR.
#[derive(Debug, Default, PartialEq)]
struct Out {
    delivered: Vec<u32>,
    control: Vec<Packet>,
}

/// Sorts the output of a destination ToR. The packet `forwarded` precedes the packets that the program emitted.
fn sort(forwarded: Option<Packet>, out: Vec<Emitted>) -> Out {
    let mut sorted = Out::default();
    for packet in forwarded.into_iter().chain(out.iter().map(|emitted| emitted.packet)) {
        match packet.repr {
            Repr::Data { stamps, .. } => {
                assert_eq!((packet.tag, stamps), (0, 0), "a host sees nothing of it");
                sorted.delivered.push(psn(&packet));
            }
            _ => {
                assert_eq!((packet.dst, packet.wire_bytes), (SENDER, 60));
                sorted.control.push(packet);
            }
        }
    }
    for emitted in &out {
        let is_data = matches!(emitted.packet.repr, Repr::Data { .. });
        let held = if is_data { Held::InBuffer(9) } else { Held::Never };
        assert_eq!(emitted.held, held, "held packets name the port by which they came");
    }
    sorted
}

/// A source and a destination ToR. The tests carry the packets between them.
struct Pair {
    source: Conweave,
    destination: Conweave,
    ports: u16,
}

impl Pair {
    fn new(config: &ConweaveConfig, ports: u16) -> Self {
        Pair { source: program(config, 1), destination: program(config, 2), ports }
    }

    fn send_on(&mut self, qp: u32, now: Time, psn: u32) -> (Packet, u16) {
        let (mut packet, mut out) = (data(qp, psn), Vec::new());
        let at = passage(now, SENDER, true, false, self.ports);
        let verdict = self.source.ingress(&mut packet, &at, &mut out);
        assert!(out.is_empty());
        let Verdict::Port(port) = verdict else { panic!("{verdict:?}") };
        assert!(port < self.ports);
        (packet, port)
    }

    fn send(&mut self, now: Time, psn: u32) -> (Packet, u16) {
        self.send_on(0, now, psn)
    }

    fn arrive(&mut self, now: Time, packet: &Packet) -> Out {
        let (mut packet, mut out) = (*packet, Vec::new());
        let at = passage(now, SENDER, false, true, 1);
        match self.destination.ingress(&mut packet, &at, &mut out) {
            Verdict::Forward => sort(Some(packet), out),
            Verdict::Hold => sort(None, out),
            verdict => panic!("{verdict:?}"),
        }
    }

    fn hear(&mut self, now: Time, control: &[Packet]) {
        for packet in control {
            let (mut packet, mut out) = (*packet, Vec::new());
            let at = passage(now, RECEIVER, false, true, 1);
            assert_eq!(self.source.ingress(&mut packet, &at, &mut out), Verdict::Drop);
            assert!(out.is_empty());
        }
    }

    fn time_out(&mut self, now: Time) -> Out {
        let mut out = Vec::new();
        self.destination.handle_timeout(now, &mut out);
        sort(None, out)
    }

    /// Causes a reroute: PSN 0 at time 0 is the INIT, and PSN 1 at 13 us is the TAIL. Returns the old port, the new
    /// port, the INIT and the TAIL.
    fn reroute(&mut self) -> (u16, u16, Packet, Packet) {
        let (init, old) = self.send(us(0), 0);
        let (tail, by) = self.send(us(DEADLINE_US + 1), 1);
        assert!(is_init(&init) && is_tail(&tail) && by == old);
        let (probe, new) = self.send(us(DEADLINE_US + 1), 1_000);
        assert!(is_rerouted(&probe));
        (old, new, init, tail)
    }

    fn sent(&self, name: &str) -> u64 {
        counter(&self.source, name)
    }

    fn received(&self, name: &str) -> u64 {
        counter(&self.destination, name)
    }
}

#[test]
fn everything_else_passes_untouched() {
    let mut program = program(&config(), 1);
    let mut check = |packet: Packet, at: Passage| {
        let (mut seen, mut out) = (packet, Vec::new());
        assert_eq!(program.ingress(&mut seen, &at, &mut out), Verdict::Forward);
        assert_eq!((seen, out), (packet, Vec::new()));
    };
    let (local, in_transit) =
        (passage(us(0), SENDER, true, true, 1), passage(us(0), SENDER, false, false, 4));
    let no_way = passage(us(0), SENDER, true, false, 0);
    let (out_of, into) = (passage(us(0), SENDER, true, false, 4), passage(us(0), SENDER, false, true, 1));
    for at in [local, in_transit, no_way, into] {
        check(data(0, 0), at);
    }
    let tagged = Packet { tag: 1 << 15, ..data(0, 0) };
    check(tagged, in_transit);
    for repr in [Repr::Cnp, Repr::nack(1), Repr::Program { word: 7 }] {
        for at in [local, in_transit, out_of, into] {
            check(Packet { repr, ..data(0, 0) }, at);
        }
    }
    // A control packet between other ToRs passes unchanged.
    let own = {
        let mut pair = Pair::new(&config(), 4);
        let (init, _) = pair.send(us(0), 0);
        pair.arrive(us(1), &init).control[0]
    };
    check(own, in_transit);
}

#[test]
fn more_ports_than_a_tag_can_name_are_left_out() {
    let mut pair = Pair::new(&config(), 384);
    let ports: Vec<u16> = (0..4_000).map(|qp| pair.send_on(qp, us(0), 0).1).collect();
    assert!(ports.iter().all(|&port| port < 256));
    let low = ports.iter().filter(|&&port| port < 128).count();
    assert!((1_800..2_200).contains(&low), "each is as likely: {low}");
}

#[test]
fn its_state_is_told_in_bits() {
    let fields = ProgramConfig::Conweave(config()).state();
    let bits = |part: &str| -> u32 {
        fields.iter().filter(|field| field.name.starts_with(part)).map(|field| field.bits * field.count).sum()
    };
    assert_eq!((bits("source"), bits("destination")), (78, 110));
}
