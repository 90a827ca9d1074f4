//! The Temporary Reaction Point, tested packet by packet.

use crate::themis_longhaul::throttling::PAPER;
use anabranch_base::{Bytes, Duration, HostId, MessageId, Purpose, QpId, Rate, Time, stream};
use anabranch_proto::program::themis_longhaul::{Growth, Recovery, Trp, TrpConfig};
use anabranch_proto::program::{Emitted, Held, Passage, ProgramFacts, Sites, Tors, Verdict};
use anabranch_proto::{Packet, PathFacts, Repr, Span};

/// A host of data centre 0. The switch belongs to data centre 1.
const SENDER: HostId = HostId(1);
/// A host of data centre 1.
pub const RECEIVER: HostId = HostId(4);
const NEIGHBOUR: HostId = HostId(5);
pub fn config() -> TrpConfig {
    TrpConfig {
        alpha: PAPER.alpha,
        beta: Span::Time(PAPER.beta),
        growth: Growth::Printed,
        recovery: Recovery::Rate,
        cache: true,
        cache_slots: 1_024,
        cache_fingerprint: false,
        cache_expiry: Span::Time(Duration::ZERO),
        cache_reset_own: false,
        store: true,
        store_entries: 1_024,
        install_delay: Span::Time(Duration::from_us(1_000)),
        rate: Rate::from_gbps(1_600),
        latency: Span::Time(Duration::from_ns(100)),
        ecn: false,
        ecn_kmin: Bytes(0),
        ecn_kmax: Bytes(0),
        ecn_pmax: 1.0,
        dummies: 0,
        dummy_bytes: Bytes(1_500),
    }
}

pub fn us(us: u64) -> Time {
    Time::ZERO + Duration::from_us(us)
}

pub fn ns(ns: u64) -> Time {
    Time::ZERO + Duration::from_ns(ns)
}

pub fn data(qp: u32, psn: u32) -> Packet {
    let repr = Repr::data(psn).with_message(MessageId(0), 1_000);
    Packet::new(QpId(qp), RECEIVER, repr).with_bytes(1_000)
}

pub fn cnp(qp: u32) -> Packet {
    Packet { dst: SENDER, wire_bytes: 60, repr: Repr::Cnp, ..data(qp, 0) }
}

pub fn psn(packet: &Packet) -> u32 {
    match packet.repr {
        Repr::Data { psn, .. } => psn,
        _ => panic!("no data: {packet:?}"),
    }
}

/// A packet that left the switch for its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    pub at: Time,
    pub qp: u32,
    pub psn: u32,
    pub marked: bool,
}

/// The switch between the two data centres, with its timer.
pub struct Switch {
    pub trp: Trp,
    pub left: Vec<Left>,
    /// Whether the timer precedes arrivals at the same time.
    pub timer_first: bool,
}

impl Switch {
    pub fn new(config: &TrpConfig) -> Self {
        let path = PathFacts {
            base_rtt: Duration::from_us(1_012),
            bdp: Bytes(12_650_000),
            packet: Bytes(1_048),
            line_rate: Rate::from_gbps(100),
            port_rate: Rate::from_gbps(100),
            queue: Bytes(1_000_000),
        };
        let sites = Sites { of_host: [0, 0, 0, 1, 1, 1].into(), own: 1 };
        let facts =
            ProgramFacts { path, ack: Bytes(60), paths: 1, path_map: None, sites, tors: Tors::default() };
        let trp = Trp::new(config, &facts, &mut stream(1, 2, Purpose::Program));
        Switch { trp, left: Vec::new(), timer_first: true }
    }

    /// Lets the timer expire as the engine does, for all expiries up to `now`.
    pub fn wait(&mut self, now: Time) {
        while let Some(due) = self.trp.next_timeout().filter(|due| *due <= now) {
            let mut out = Vec::new();
            self.trp.handle_timeout(due, &mut out);
            self.leave(due, None, &out);
            assert!(self.trp.next_timeout().is_none_or(|next| next > due), "time goes on");
        }
    }

    pub fn finish(&mut self) {
        self.wait(Time(u64::MAX - 1));
        assert_eq!((self.trp.next_timeout(), self.trp.held_bytes()), (None, 0));
    }

    pub fn arrive(&mut self, now: Time, packet: Packet, src: HostId) -> Verdict {
        self.wait(if self.timer_first { now } else { Time(now.0.saturating_sub(1)) });
        let at = Passage { now, src, port: 6, from_host: false, to_host: false, ports: 1, queued: 0 };
        let mut out = Vec::new();
        let verdict = self.trp.ingress(&packet, &at, &mut out);
        let forwarded = (verdict == Verdict::Forward).then_some(packet);
        assert!(matches!(verdict, Verdict::Forward | Verdict::HoldOutside), "{verdict:?}");
        self.leave(now, forwarded.filter(|packet| matches!(packet.repr, Repr::Data { .. })), &out);
        verdict
    }

    pub fn cnp(&mut self, now: Time, qp: u32) {
        assert_eq!(self.arrive(now, cnp(qp), RECEIVER), Verdict::Forward);
    }

    pub fn data(&mut self, now: Time, qp: u32, psn: u32) -> Verdict {
        self.arrive(now, data(qp, psn), SENDER)
    }

    /// Records the packets that leave. A forwarded packet leaves before the packets that the program emitted.
    fn leave(&mut self, at: Time, forwarded: Option<Packet>, out: &[Emitted]) {
        assert!(out.iter().all(|emitted| emitted.held == Held::OutsideBuffer));
        let packets = forwarded.into_iter().chain(out.iter().map(|emitted| emitted.packet));
        self.left.extend(packets.map(|packet| Left {
            at,
            qp: packet.qp.0,
            psn: psn(&packet),
            marked: packet.marked,
        }));
    }

    pub fn psns(&self) -> Vec<u32> {
        self.left.iter().map(|left| left.psn).collect()
    }

    pub fn count(&self, name: &str) -> u64 {
        let counters = self.trp.counters();
        counters.iter().find(|counter| counter.name == name).unwrap_or_else(|| panic!("no {name}")).value
    }
}

#[test]
fn a_throttled_packet_comes_out_after_its_loops() {
    let mut switch = Switch::new(&config());
    assert_eq!(switch.data(us(0), 0, 0), Verdict::Forward);
    for _ in 0..8 {
        switch.cnp(us(1), 0);
    }
    assert_eq!(switch.data(us(2), 0, 1), Verdict::HoldOutside);
    assert_eq!(switch.trp.held_bytes(), 1_000);
    assert_eq!(switch.data(us(2), 1, 0), Verdict::Forward, "others pass");
    switch.finish();
    // The packet makes three passes of 105 ns.
    let third = Left { at: us(2) + Duration(3 * 105_000), qp: 0, psn: 1, marked: false };
    assert_eq!(switch.left[2], third);
    let counts = ["cnps_seen", "redirected", "loops", "max_loop_num", "max_recirculating_bytes"];
    assert_eq!(counts.map(|name| switch.count(name)), [8, 1, 3, 3, 1_000]);
    assert_eq!(switch.count("wrong_flow_redirects"), 0);
}

/// The port marks a packet by the bytes that the port still holds when the packet leaves it.
#[test]
fn the_recirculation_port_marks_above_its_thresholds() {
    for (ecn, kmin, kmax, marked) in [
        (false, 0, 0, [false; 3]),
        // Two packets are behind the first one, and one is behind the second.
        (true, 500, 500, [true, true, false]),
        (true, 1_500, 1_500, [true, false, false]),
        (true, 2_000, 2_000, [false; 3]),
    ] {
        let (ecn_kmin, ecn_kmax) = (Bytes(kmin), Bytes(kmax));
        let mut switch = Switch::new(&TrpConfig { ecn, ecn_kmin, ecn_kmax, ..config() });
        for _ in 0..6 {
            switch.cnp(us(1), 0);
        }
        for psn in 0..3 {
            switch.data(us(2), 0, psn);
        }
        switch.finish();
        assert_eq!(switch.psns(), [0, 1, 2]);
        assert_eq!(switch.count("loops"), 3, "one pass each");
        assert_eq!(switch.left.iter().map(|left| left.marked).collect::<Vec<_>>(), marked);
        assert_eq!(switch.count("loop_marks"), marked.iter().filter(|is| **is).count() as u64);
    }
}

/// Between the thresholds, the share of marked packets rises with the bytes in the port.
#[test]
fn between_the_thresholds_marks_are_drawn() {
    let config =
        TrpConfig { ecn: true, ecn_kmin: Bytes(0), ecn_kmax: Bytes(2_000_000), ecn_pmax: 0.5, ..config() };
    let mut switch = Switch::new(&config);
    for _ in 0..6 {
        switch.cnp(us(1), 0);
    }
    for psn in 0..2_000 {
        switch.data(us(2), 0, psn);
    }
    switch.finish();
    let marks = |of: &[Left]| of.iter().filter(|left| left.marked).count();
    // The probability falls from 0.5 to 0 over 2,000 packets, so that it averages 3/8 and 1/8 in the two halves.
    let (first, second) = switch.left.split_at(1_000);
    assert!((325..=425).contains(&marks(first)) && (80..=170).contains(&marks(second)));
}

/// Only CNPs that leave the data centre count, and only data that enters it loops.
#[test]
fn what_does_not_cross_into_the_data_centre_passes_untouched() {
    let mut switch = Switch::new(&config());
    let foreign = HostId(2);
    let to = |dst, packet: Packet| Packet { dst, ..packet };
    switch.arrive(us(1), to(NEIGHBOUR, cnp(0)), RECEIVER);
    switch.arrive(us(1), to(RECEIVER, cnp(0)), SENDER);
    switch.arrive(us(1), to(foreign, cnp(0)), SENDER);
    assert_eq!((switch.count("cnps_seen"), switch.trp.next_timeout()), (0, None));
    assert_eq!(switch.data(us(2), 0, 0), Verdict::Forward);

    switch.cnp(us(3), 0);
    assert_eq!(switch.arrive(us(4), data(0, 0), NEIGHBOUR), Verdict::Forward);
    assert_eq!(switch.arrive(us(4), to(SENDER, data(0, 0)), RECEIVER), Verdict::Forward);
    assert_eq!(switch.arrive(us(4), to(foreign, data(0, 0)), SENDER), Verdict::Forward);
    for repr in [Repr::nack(1), Repr::probe(0)] {
        assert_eq!(switch.arrive(us(4), Packet { repr, ..data(0, 0) }, SENDER), Verdict::Forward);
    }
    assert_eq!(switch.count("redirected"), 0);
    assert_eq!(switch.data(us(4), 0, 1), Verdict::HoldOutside);
}

/// Figure 21: packets 1 to 3 loop and are to be released. Packets 4 to 6 arrive while 2 and 3 are still in the port.
fn figure_21(recovery: Recovery) -> Switch {
    let mut switch = Switch::new(&TrpConfig { recovery, ..config() });
    for _ in 0..8 {
        switch.cnp(us(0), 0);
    }
    switch.data(us(1), 0, 0);
    let joined = ns(499_950);
    for packet in 1..=3 {
        assert_eq!(switch.data(joined, 0, packet), Verdict::HoldOutside, "three loops for each");
    }
    // Packet 1 returns from its loop after 105 ns, which is 55 ns after `beta` has expired. Packet 2 returns 5 ns after
    // packet 1, and packet 3 another 5 ns later.
    for packet in 4..=6 {
        switch.data(ns(499_950 + 105 + 1), 0, packet);
    }
    switch.finish();
    switch
}

#[test]
fn figure_21_with_rate_recovery() {
    let switch = figure_21(Recovery::Rate);
    assert_eq!(switch.psns(), [0, 1, 2, 3, 4, 5, 6]);
    // Packet 0 makes three loops, and packets 1 to 6 make one each. Packets 1 to 3 are released when they return, two
    // loops early.
    assert_eq!((switch.count("loops"), switch.count("recoveries")), (3 + 6, 1));
    assert_eq!(switch.left[6].at, ns(499_950 + 105 + 1 + 3 * 5 + 100), "and the delay is one loop");
}

#[test]
fn figure_21_without_it() {
    let switch = figure_21(Recovery::Direct);
    assert_eq!(switch.psns(), [0, 1, 4, 5, 6, 2, 3], "4 to 6 overtake 2 and 3");
    let switch = figure_21(Recovery::None);
    assert_eq!(switch.psns(), [0, 1, 2, 3, 4, 5, 6]);
    assert_eq!(switch.count("loops"), 7 * 3, "in order, and as slow as before");
}

/// Packet 2 enters the port while packet 1 is on the link, so that they return alternately. Packet 2 is the first to
/// return after beta. If each packet were released at its first return after beta, packet 2 would leave first.
#[test]
fn rate_recovery_keeps_the_order_of_packets_and_not_that_of_the_port() {
    let mut switch = Switch::new(&config());
    for _ in 0..8 {
        switch.cnp(us(0), 0);
    }
    switch.data(us(1), 0, 0);
    switch.data(ns(499_850), 0, 1);
    switch.data(ns(499_940), 0, 2);
    // Packet 1 returns at 499,955 ns, before beta has expired, and at 500,060 ns. Packet 2 returns at 500,045 and
    // 500,150 ns.
    switch.finish();
    let left: Vec<_> = switch.left.iter().map(|left| (left.psn, left.at)).collect();
    assert_eq!(left[1..], [(1, ns(500_060)), (2, ns(500_150))]);
}

/// Packet 1 was lost on the long link. The packets after it loop as often as they would without recovery, and no more.
#[test]
fn a_lost_packet_does_not_keep_those_behind_it() {
    let mut switch = Switch::new(&config());
    for _ in 0..8 {
        switch.cnp(us(0), 0);
    }
    switch.data(us(1), 0, 0);
    for psn in [2, 3] {
        assert_eq!(switch.data(ns(501_000), 0, psn), Verdict::HoldOutside);
    }
    switch.finish();
    let left: Vec<_> = switch.left.iter().map(|left| (left.psn, left.at)).collect();
    assert_eq!(left[1..], [(2, ns(501_000 + 3 * 105)), (3, ns(501_000 + 3 * 105 + 5))]);
}

/// Go-back-N retransmits packet 1. The retransmission arrives after packet 0 was released. It is forwarded immediately
/// and returns the flow to normal. The packets that still loop return in the order 1, 3, 2, and packet 3 must not leave
/// before packet 2. If the flow's registers are in the store, they show that packet 2 follows packet 1. Without the
/// store, the flow's slot of the cache is free by then, so that each packet makes all its loops.
#[test]
fn what_was_sent_again_opens_no_gap() {
    for (store, psns) in [(true, [0, 1, 2, 1, 3]), (false, [0, 1, 1, 2, 3])] {
        let install_delay = Span::Time(Duration::from_us(100));
        let mut switch = Switch::new(&TrpConfig { store, install_delay, ..config() });
        for _ in 0..8 {
            switch.cnp(us(0), 0);
        }
        switch.data(us(1), 0, 0);
        for psn in 1..=3 {
            assert_eq!(switch.data(ns(499_718 + 90 * u64::from(psn)), 0, psn), Verdict::HoldOutside);
        }
        // Packet 2 returns at 500,003 ns, as the first one after beta has expired.
        assert_eq!(switch.data(ns(500_008), 0, 1), Verdict::Forward);
        switch.finish();
        assert_eq!(switch.psns(), psns);
    }
}

/// The first two packets are further apart than a pass, so that the second packet of the recovering flow finds no
/// other packet in the port.
#[test]
fn a_recovering_flow_is_back_to_normal_when_nothing_is_before_it() {
    let mut switch = Switch::new(&config());
    switch.cnp(us(0), 0);
    assert_eq!(switch.data(us(501), 0, 0), Verdict::HoldOutside);
    assert_eq!(switch.data(us(502), 0, 1), Verdict::Forward);
    assert_eq!(switch.data(us(502), 0, 2), Verdict::Forward);
    // While another packet of the flow is in the port, each packet makes one loop.
    let mut switch = Switch::new(&config());
    switch.cnp(us(0), 0);
    for psn in 0..10 {
        assert_eq!(switch.data(us(501) + Duration(psn * 50_000), 0, psn as u32), Verdict::HoldOutside);
    }
    assert_eq!(switch.data(us(502), 0, 10), Verdict::Forward);
    switch.finish();
    assert!(switch.psns().is_sorted());
    assert_eq!(switch.count("loops"), 10);
}

/// A packet that needs no loop arrives at the time at which its predecessor returns, before the timer has released the
/// predecessor.
#[test]
fn what_comes_back_at_that_moment_goes_first() {
    let mut switch = Switch::new(&config());
    switch.timer_first = false;
    switch.cnp(us(0), 0);
    switch.data(us(501), 0, 0);
    let back = us(501) + Duration(105_000);
    assert_eq!(switch.data(back, 0, 1), Verdict::HoldOutside);
    assert_eq!(switch.psns(), [0, 1]);
    assert_eq!((switch.left[1].at, switch.count("redirected")), (back, 1));
    assert_eq!((switch.trp.held_bytes(), switch.trp.next_timeout()), (0, Some(us(1_000))));
}

/// Each packet makes at least as many loops as the one before it, and therefore leaves after it.
#[test]
fn packets_leave_in_order_while_loops_grow() {
    let mut switch = Switch::new(&config());
    for psn in 0..200 {
        let now = us(1) + Duration(u64::from(psn) * 60_000);
        switch.cnp(now, 0);
        switch.data(now, 0, psn);
    }
    switch.finish();
    assert_eq!(switch.psns(), (0..200).collect::<Vec<_>>());
    assert_eq!(switch.count("max_loop_num"), 195);
}

#[test]
fn what_the_port_cannot_carry_piles_up() {
    let mut switch = Switch::new(&config());
    for _ in 0..15 {
        switch.cnp(us(0), 0);
    }
    // 400 Gb/s with 10 loops make 4 Tb/s for a port of 1.6 Tb/s.
    for psn in 0..1_000 {
        switch.data(us(1) + Duration(u64::from(psn) * 20_000), 0, psn);
    }
    assert_eq!(switch.count("max_loop_num"), 10);
    let bytes = switch.trp.held_bytes();
    assert_eq!(bytes, (1_000 - switch.left.len() as u64) * 1_000);
    // At most 160 Gb/s leave the switch, which is 40 % of the 400 Gb/s that arrive.
    assert!((600_000..1_000_000).contains(&bytes), "{bytes}");
    switch.finish();
    assert!(switch.count("max_recirculating_bytes") >= bytes);
    // There are 10,000 passes of 5 ns.
    let end = switch.left.last().expect("they left").at;
    let busy = end.since(us(1) + Duration(100_000)).0;
    assert!((10_000 * 5_000..10_000 * 5_000 + 1_100_000).contains(&busy), "{busy}");
    assert!(switch.psns().is_sorted());
}

#[test]
fn dummies_make_a_loop_longer() {
    let mut switch = Switch::new(&TrpConfig { dummies: 80, dummy_bytes: Bytes(1_000), ..config() });
    for _ in 0..9 {
        switch.cnp(us(1), 0);
    }
    switch.data(us(2), 0, 0);
    switch.finish();
    let took = switch.left[0].at.since(us(2)).0;
    // There are four passes. Each takes a revolution of 81 packets of 5 ns, but the first one excludes the dummies on
    // the link.
    assert!((3 * 405_000 + 305_000..4 * 405_000 + 100_000).contains(&took), "{took}");
}

#[test]
fn its_state_is_told_in_bits() {
    let bits: u32 = Trp::state(&config()).iter().map(|field| field.bits * field.count).sum();
    assert_eq!(bits, 2 + 8 + 16 + 16 + 32 + 24 + 32);
}
