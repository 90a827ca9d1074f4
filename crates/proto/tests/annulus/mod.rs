//! Annulus as Themis-longhaul simulates it: CNPs from the sender's ToR (section VII-A).

use anabranch_base::{Bytes, Duration, HostId, MessageId, Purpose, QpId, Rate, Time, stream};
use anabranch_proto::program::{
    Annulus, AnnulusConfig, Emitted, Held, Passage, Program, ProgramConfig, ProgramFacts, Sites, Tors,
    Verdict,
};
use anabranch_proto::{Packet, PathFacts, Repr, Span};

/// `SENDER` and `NEAR` are hosts of the same data centre. `FAR` is a host of another data centre.
const SENDER: HostId = HostId(0);
const NEAR: HostId = HostId(1);
const FAR: HostId = HostId(2);
const QP: QpId = QpId(7);

const CONFIG: AnnulusConfig =
    AnnulusConfig { cnp_interval: Span::Time(Duration::from_us(5)), clear_marks: true, inter_only: false };

fn facts() -> ProgramFacts {
    let (base_rtt, line_rate) = (Duration::from_us(1_012), Rate::from_gbps(100));
    let path = PathFacts {
        base_rtt,
        bdp: Bytes(12_650_000),
        packet: Bytes(1_048),
        line_rate,
        port_rate: line_rate,
        queue: Bytes(1_000_000),
    };
    let sites = Sites { of_host: [0, 0, 1].into(), own: 0 };
    ProgramFacts { path, ack: Bytes(60), paths: 4, path_map: None, sites, tors: Tors::default() }
}

fn annulus(config: &AnnulusConfig) -> Annulus {
    Annulus::new(config, &facts())
}

fn marked(qp: QpId, dst: HostId) -> Packet {
    let repr = Repr::data(3).with_message(MessageId(0), 10);
    Packet::new(qp, dst, repr).with_bytes(1_048).with_ev(9).with_mark(true)
}

fn leaving(ns: u64) -> Passage {
    let now = Time::ZERO + Duration::from_ns(ns);
    Passage { now, src: SENDER, port: 0, from_host: true, to_host: false, ports: 4, queued: 500_000 }
}

fn cnp(qp: QpId) -> Emitted {
    let packet = Packet::cnp(qp, SENDER).with_bytes(60);
    Emitted { packet, held: Held::Never }
}

fn send(annulus: &mut Annulus, packet: &mut Packet, at: &Passage) -> Vec<Emitted> {
    let mut out = Vec::new();
    annulus.egress(packet, at, &mut out);
    out
}

fn counts(annulus: &Annulus) -> Vec<(&'static str, u64)> {
    annulus.counters().iter().map(|counter| (counter.name, counter.value)).collect()
}

#[test]
fn a_mark_becomes_a_cnp_at_once() {
    for clear_marks in [true, false] {
        let mut annulus = annulus(&AnnulusConfig { clear_marks, ..CONFIG });
        let mut packet = marked(QP, FAR);
        assert_eq!(send(&mut annulus, &mut packet, &leaving(0)), [cnp(QP)]);
        assert_eq!(packet, Packet { marked: !clear_marks, ..marked(QP, FAR) });
    }
}

#[test]
fn one_cnp_an_interval_for_each_queue_pair() {
    let mut annulus = annulus(&CONFIG);
    let (mut sent, other) = (Vec::new(), QpId(2));
    for ns in [0, 3_000, 4_999, 5_000, 9_999, 10_001, 15_000, 15_001] {
        let mut packet = marked(QP, FAR);
        if send(&mut annulus, &mut packet, &leaving(ns)) == [cnp(QP)] {
            sent.push(ns);
        }
        assert!(!packet.marked);
        if ns == 3_000 {
            assert_eq!(send(&mut annulus, &mut marked(other, FAR), &leaving(ns)), [cnp(other)]);
        }
    }
    assert_eq!(sent, [0, 5_000, 10_001, 15_001]);
    assert_eq!(send(&mut annulus, &mut marked(other, FAR), &leaving(7_999)), []);
    assert_eq!(counts(&annulus), [("marks_seen", 10), ("cnps_sent", 5), ("marks_within_interval", 5)]);
}

#[test]
fn without_an_interval_each_mark_is_answered() {
    let mut annulus = annulus(&AnnulusConfig { cnp_interval: Span::Time(Duration::ZERO), ..CONFIG });
    for _ in 0..3 {
        assert_eq!(send(&mut annulus, &mut marked(QP, FAR), &leaving(8)), [cnp(QP)]);
    }
}

/// Half the base RTT of 1,012 us is 506 us.
#[test]
fn the_interval_may_be_relative() {
    let mut annulus = annulus(&AnnulusConfig { cnp_interval: Span::Rtt(0.5), ..CONFIG });
    let sent =
        |annulus: &mut Annulus, us: u64| send(annulus, &mut marked(QP, FAR), &leaving(us * 1_000)).len();
    assert_eq!([0, 505, 506].map(|us| sent(&mut annulus, us)), [1, 0, 1]);
}

#[test]
fn only_marked_data_of_the_own_hosts_counts() {
    let mut annulus = annulus(&CONFIG);
    let ack = Repr::ack(4).with_mark(true);
    let probe = Repr::probe(0);
    let data = marked(QP, FAR);
    let others = [
        (Packet { marked: false, ..data }, leaving(0)),
        (Packet { repr: ack, ..data }, leaving(0)),
        (Packet { repr: Repr::Cnp, ..data }, leaving(0)),
        (Packet { repr: probe, ..data }, leaving(0)),
        // Annulus ignores packets that come from other switches.
        (data, Passage { from_host: false, to_host: true, ..leaving(0) }),
        (data, Passage { from_host: false, ..leaving(0) }),
    ];
    for (packet, at) in others {
        let mut seen = packet;
        assert_eq!(send(&mut annulus, &mut seen, &at), []);
        assert_eq!(seen, packet);
        assert_eq!(annulus.ingress(&mut seen, &at, &mut Vec::new()), Verdict::Forward);
        assert_eq!(seen, packet);
    }
    assert_eq!(counts(&annulus), [("marks_seen", 0), ("cnps_sent", 0), ("marks_within_interval", 0)]);
    // A marked packet to another host of the same ToR causes a CNP too: the congestion is as near to the sender as it
    // can be.
    let local = Passage { to_host: true, ports: 1, ..leaving(0) };
    assert_eq!(send(&mut annulus, &mut marked(QP, NEAR), &local), [cnp(QP)]);
}

#[test]
fn inter_only_leaves_alone_what_stays_in_its_data_centre() {
    for inter_only in [false, true] {
        let mut annulus = annulus(&AnnulusConfig { inter_only, ..CONFIG });
        let (mut near, mut far) = (marked(QpId(0), NEAR), marked(QpId(1), FAR));
        assert_eq!(send(&mut annulus, &mut near, &leaving(0)).is_empty(), inter_only);
        assert_eq!(near.marked, inter_only, "its receiver is to hear of it");
        assert_eq!(send(&mut annulus, &mut far, &leaving(0)), [cnp(QpId(1))]);
        assert!(!far.marked);
    }
}

#[test]
fn it_is_a_program_like_the_others() {
    let config = ProgramConfig::Annulus(CONFIG);
    assert_eq!(config.path_entries(), None);
    let bits: u32 = config.state().iter().map(|field| field.bits * field.count).sum();
    assert_eq!(bits, 32);
    let mut program = config.build(&facts(), stream(1, 0, Purpose::Program));
    let mut out = Vec::new();
    program.egress(&mut marked(QP, FAR), &leaving(0), &mut out);
    assert_eq!((out, program.next_timeout()), (vec![cnp(QP)], None));
}
