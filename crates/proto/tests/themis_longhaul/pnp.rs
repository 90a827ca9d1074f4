//! The Proactive Notification Point: section IV, figures 6, 16 and 17.

use anabranch_base::{Bytes, Duration, HostId, MessageId, Purpose, QpId, Rate, Time, stream};
use anabranch_proto::program::themis_longhaul::{MonitorVerdict, Pnp, PnpConfig, Segment, TcpFlags};
use anabranch_proto::program::{Emitted, Held, Passage, ProgramFacts, QpNotice, Sites, Tors};
use anabranch_proto::{Packet, PathFacts, Repr, Span};
use proptest::prelude::*;

const ACK: u16 = 60;
const INTERVAL: Duration = Duration::from_us(4);
/// Hosts 0 to 3 are in the switch's data centre, and hosts 4 to 7 in the other one.
const SENDER: HostId = HostId(1);
const RECEIVER: HostId = HostId(6);
const QP: QpId = QpId(5);

/// With these parameters, the first message is posted 3000 us after the INIT, and the entry exists 1010 us after the
/// INIT.
pub fn config() -> PnpConfig {
    PnpConfig {
        cnp_interval: Span::Time(INTERVAL),
        clear_marks: true,
        monitor: true,
        expire: true,
        setup: Span::Time(Duration::from_us(3000)),
        daemon_delay: Span::Time(Duration::from_us(10)),
        install_delay: Span::Time(Duration::from_us(1000)),
        both_ends: false,
        entries: 1024,
    }
}

pub fn path() -> PathFacts {
    let (base_rtt, line_rate) = (Duration::from_us(1012), Rate::from_gbps(100));
    PathFacts {
        base_rtt,
        bdp: Bytes(12_650_000),
        packet: Bytes(1048),
        line_rate,
        port_rate: line_rate,
        queue: Bytes(1_000_000),
    }
}

/// Figure 6: a marked data packet causes a CNP to its sender, and goes on without the mark.
#[test]
fn a_marked_packet_becomes_a_cnp_and_goes_on_unmarked() {
    let mut esw = Esw::new(&config());
    esw.open(us(0), QP, SENDER, RECEIVER);
    let mut packet = marked(QP, 3);
    let out = esw.egress(us(0), SENDER, &mut packet);
    assert_eq!(packet, Packet { marked: false, ..marked(QP, 3) }, "all else is as it was");
    let cnp = Packet::cnp(QP, SENDER).with_bytes(ACK).with_ev(packet.ev);
    assert_eq!(out, [Emitted { packet: cnp, held: Held::Never }]);
    let counters = ["marks_cleared", "pnp_cnps", "marks_within_interval", "marks_without_entry"];
    assert_eq!(counters.map(|name| esw.counter(name)), [1, 1, 0, 0]);
}

/// Section VII-D: the first packet finds its entry if the setup takes at least as long as the daemon's report and the
/// installation together.
#[test]
fn the_entry_is_there_before_the_first_packet() {
    let us = |us| Span::Time(Duration::from_us(us));
    for (setup, delays, is_early) in
        [(1010, (10, 1000), true), (1009, (10, 1000), false), (10, (10, 0), true)]
    {
        let delays = (us(delays.0), us(delays.1));
        let config =
            PnpConfig { setup: us(setup), daemon_delay: delays.0, install_delay: delays.1, ..config() };
        let mut esw = Esw::new(&config);
        esw.open(Time(777), QP, SENDER, RECEIVER);
        assert_eq!(esw.mark(Time(777), QP), if is_early { CLEARED_AND_CNP } else { LEFT }, "{config:?}");
    }
}

/// The first message is posted at 50 us, and the setup starts 300 us earlier, at -250 us. The daemon's report takes 10
/// us, and the installation of the entry 1,000 us. A timer therefore makes the entry at 760 us, and packets that pass
/// earlier have no entry.
#[test]
fn an_entry_that_is_late_comes_by_a_timer() {
    let mut esw = Esw::new(&PnpConfig { setup: Span::Time(Duration::from_us(300)), ..config() });
    assert_eq!(esw.pnp.next_timeout(), None);
    esw.open(us(50), QP, SENDER, RECEIVER);
    assert_eq!((esw.pnp.next_timeout(), esw.pnp.table_entries()), (Some(us(760)), 0));
    assert_eq!(esw.mark(us(759), QP), LEFT);
    assert_eq!(esw.counter("marks_without_entry"), 1);
    esw.pnp.handle_timeout(us(759));
    assert_eq!(esw.pnp.table_entries(), 0);
    esw.pnp.handle_timeout(us(760));
    assert_eq!((esw.pnp.next_timeout(), esw.pnp.table_entries()), (None, 1));
    assert_eq!(esw.mark(us(760), QP), CLEARED_AND_CNP);
}

/// A CNP is sent if the time since the last CNP, not since the last mark, "exceeds the cnp_interval".
#[test]
fn cnps_are_further_apart_than_the_interval() {
    let mut esw = Esw::new(&config());
    esw.open(us(0), QP, SENDER, RECEIVER);
    let ps = |us: u64, ps: u64| Time(us * 1_000_000 + ps);
    for (at, cnp) in [
        (us(100), true),
        (us(100), false),
        (us(103), false),
        (us(104), false),
        (ps(104, 1), true),
        (us(107), false),
        (ps(108, 1), false),
        (us(110), true),
        (us(113), false),
        (us(116), true),
    ] {
        assert_eq!(esw.mark(at, QP), if cnp { CLEARED_AND_CNP } else { CLEARED }, "{at}");
    }
    let counters = ["marks_cleared", "pnp_cnps", "marks_within_interval"];
    assert_eq!(counters.map(|name| esw.counter(name)), [10, 4, 6]);
}

/// A setting of figure 16: an interval of 0 between CNPs.
#[test]
fn without_an_interval_every_mark_has_a_cnp() {
    assert_eq!("0us".parse(), Ok(Span::Time(Duration::ZERO)), "as scenarios write it");
    let mut esw = Esw::new(&PnpConfig { cnp_interval: Span::Time(Duration::ZERO), ..config() });
    esw.open(us(0), QP, SENDER, RECEIVER);
    for at in [us(1), us(1), Time(1_000_001), us(2)] {
        assert_eq!(esw.mark(at, QP), CLEARED_AND_CNP);
    }
    assert_eq!((esw.counter("pnp_cnps"), esw.counter("marks_within_interval")), (4, 0));
}

/// A setting of figure 16: marks are not cleared. The interval between CNPs still applies.
#[test]
fn without_clearing_the_mark_goes_on_beside_the_cnp() {
    let mut esw = Esw::new(&PnpConfig { clear_marks: false, ..config() });
    esw.open(us(0), QP, SENDER, RECEIVER);
    assert_eq!(esw.mark(us(1), QP), (true, 1));
    assert_eq!(esw.mark(us(2), QP), LEFT);
    let counters = ["marks_cleared", "pnp_cnps", "marks_within_interval", "marks_without_entry"];
    assert_eq!(counters.map(|name| esw.counter(name)), [0, 1, 1, 0]);
}

#[test]
fn flows_have_intervals_of_their_own() {
    let mut esw = Esw::new(&config());
    for qp in [5, 6, 7] {
        esw.open(us(0), QpId(qp), SENDER, RECEIVER);
        assert_eq!(esw.mark(us(1), QpId(qp)), CLEARED_AND_CNP, "{qp}");
    }
    assert_eq!(esw.mark(us(6), QpId(6)), CLEARED_AND_CNP);
    assert_eq!(esw.mark(us(7), QpId(6)), CLEARED);
    assert_eq!(esw.mark(us(7), QpId(5)), CLEARED_AND_CNP);
}

/// All match fields must match, and only marked data packets cause CNPs.
#[test]
fn all_else_is_left_alone() {
    let mut esw = Esw::new(&config());
    esw.open(us(0), QP, SENDER, RECEIVER);
    let ack = Repr::ack(1).with_mark(true);
    let others = [
        (SENDER, Packet { marked: false, ..marked(QP, 0) }),
        (SENDER, Packet { repr: ack, ..marked(QP, 0) }),
        (SENDER, Packet { repr: Repr::Cnp, ..marked(QP, 0) }),
        (SENDER, marked(QpId(6), 0)),
        (SENDER, marked(QpId(4), 0)),
        (SENDER, Packet { dst: HostId(7), ..marked(QP, 0) }),
        (HostId(2), marked(QP, 0)),
        // Data from the other data centre, and data within this one.
        (RECEIVER, Packet { dst: SENDER, ..marked(QP, 0) }),
        (RECEIVER, Packet { dst: SENDER, ..marked(QpId(9), 0) }),
        (SENDER, Packet { dst: HostId(2), ..marked(QpId(8), 0) }),
    ];
    for (src, packet) in others {
        let mut passed = packet;
        assert_eq!(esw.egress(us(1), src, &mut passed), [], "{packet:?}");
        assert_eq!(passed, packet);
    }
    let counters = ["marks_cleared", "pnp_cnps", "marks_within_interval"];
    assert_eq!(counters.map(|name| esw.counter(name)), [0; 3]);
    assert_eq!(esw.counter("marks_without_entry"), 4, "of flows that leave this data centre");
}

/// The receiver's switch is notified of the queue pair too, but does nothing, since its CNP would be too late.
#[test]
fn the_switch_at_the_other_end_does_nothing() {
    let mut esw = Esw::new(&config());
    esw.open(us(0), QP, RECEIVER, SENDER);
    let mut packet = Packet { dst: SENDER, ..marked(QP, 0) };
    assert_eq!(esw.egress(us(1), RECEIVER, &mut packet), []);
    assert!(packet.marked);
    esw.close(us(2), QP, RECEIVER, SENDER);
    assert_eq!((esw.pnp.next_timeout(), esw.pnp.table_entries()), (None, 0));
    let counters = ["marks_without_entry", "daemon_packets_ignored", "inter_dc_pairs", "tcp_cookies"];
    assert_eq!(counters.map(|name| esw.counter(name)), [0; 4]);
}

#[test]
fn a_destroyed_queue_pair_leaves_nothing_behind() {
    let mut esw = Esw::new(&config());
    esw.open(us(0), QP, SENDER, RECEIVER);
    assert_eq!(esw.mark(us(5), QP), CLEARED_AND_CNP);
    esw.close(us(10), QP, SENDER, RECEIVER);
    assert_eq!(esw.pnp.next_timeout(), Some(us(1020)));
    assert_eq!(esw.mark(us(1018), QP), CLEARED_AND_CNP, "a straggler before that");
    esw.pnp.handle_timeout(us(1020));
    assert_eq!((esw.pnp.next_timeout(), esw.pnp.table_entries()), (None, 0));
    assert_eq!(esw.mark(us(1021), QP), LEFT);
    esw.open(us(1021), QP, SENDER, RECEIVER);
    assert_eq!(esw.mark(us(1021), QP), CLEARED_AND_CNP, "the register was reset");
}

/// A refused queue pair gets no entry later. A new queue pair gets an entry once the entry of another queue pair is
/// deleted.
#[test]
fn a_full_table_refuses() {
    let mut esw = Esw::new(&PnpConfig { entries: 2, ..config() });
    for qp in 0..3 {
        esw.open(us(0), QpId(qp), SENDER, RECEIVER);
    }
    assert_eq!([0, 1, 2].map(|qp| esw.mark(us(1), QpId(qp))), [CLEARED_AND_CNP, CLEARED_AND_CNP, LEFT]);
    esw.close(us(10), QpId(0), SENDER, RECEIVER);
    esw.pnp.handle_timeout(us(1020));
    assert_eq!(esw.mark(us(1020), QpId(2)), LEFT);
    esw.open(us(1020), QpId(3), SENDER, RECEIVER);
    assert_eq!(esw.mark(us(1020), QpId(3)), CLEARED_AND_CNP);
    assert_eq!((esw.counter("qp_entries_max"), esw.counter("qp_entries_refused")), (2, 1));
}

/// Figure 17: ten queue pairs, half of them within the data centre, are opened and later destroyed.
#[test]
fn the_monitor_and_the_expiry_save_entries() {
    for (monitor, expire, most, left) in
        [(true, true, 5, 0), (true, false, 5, 5), (false, true, 10, 0), (false, false, 10, 10)]
    {
        let mut esw = Esw::new(&PnpConfig { monitor, expire, ..config() });
        let ends = |qp| (SENDER, if qp % 2 == 0 { RECEIVER } else { HostId(2) });
        for qp in 0..10 {
            esw.open(us(0), QpId(qp), ends(qp).0, ends(qp).1);
        }
        for qp in 0..10 {
            esw.close(us(500), QpId(qp), ends(qp).0, ends(qp).1);
        }
        esw.pnp.handle_timeout(us(9000));
        assert_eq!(
            (esw.counter("qp_entries_max"), esw.pnp.table_entries()),
            (most, left),
            "{monitor} {expire}"
        );
        let ignored = if monitor { 5 } else { 0 };
        assert_eq!(esw.counter("daemon_packets_ignored"), ignored);
        // There is one pair of hosts in different data centres. The handshake of each of its queue pairs needs its
        // own cookie, and leaves no register in use.
        let seen = ["handshakes_seen", "tcp_cookies", "inter_dc_pairs", "tcp_registers"];
        let expected = if monitor { [5, 5, 1, 0] } else { [0; 4] };
        assert_eq!(seen.map(|name| esw.counter(name)), expected);
    }
}

/// A queue pair within the data centre has no entry, even if its hosts have connections to other data centres.
#[test]
fn pairs_of_hosts_are_what_is_known() {
    let mut esw = Esw::new(&config());
    esw.open(us(0), QpId(0), SENDER, RECEIVER);
    esw.open(us(0), QpId(1), SENDER, HostId(2));
    esw.open(us(0), QpId(2), HostId(2), SENDER);
    assert_eq!((esw.pnp.table_entries(), esw.counter("daemon_packets_ignored")), (1, 2));
}

#[test]
fn a_flood_reaches_neither_table_nor_control_plane() {
    let mut esw = Esw::new(&config());
    esw.open(us(0), QP, SENDER, RECEIVER);
    let state =
        ["inter_dc_pairs", "handshakes_seen", "tcp_registers", "qp_entries_max", "daemon_packets_ignored"];
    let before = state.map(|name| esw.counter(name));
    let mut random = stream(4, 0, Purpose::Model);
    for _ in 0..1_000_000 {
        let syn = segment(HostId(random.below(4)), RECEIVER, random.next_u32() as u16, TcpFlags::Syn);
        let verdict = esw.pnp.handle_segment(us(1), &Segment { seq: random.next_u32(), ..syn }, &esw.sites);
        assert!(matches!(verdict, MonitorVerdict::Reply(Segment { flags: TcpFlags::SynAck, .. })));
    }
    assert_eq!(state.map(|name| esw.counter(name)), before);
    assert_eq!((esw.pnp.table_entries(), esw.pnp.next_timeout()), (1, None));
    assert_eq!(esw.counter("tcp_cookies"), 1_000_001);
}

/// Segments from another data centre pass, since the client's own switch has checked the cookie. Without the monitor,
/// all segments pass.
#[test]
fn segments_from_outside_pass() {
    let mut esw = Esw::new(&config());
    let outside = segment(RECEIVER, SENDER, 1, TcpFlags::Syn);
    assert_eq!(esw.pnp.handle_segment(us(1), &outside, &esw.sites), MonitorVerdict::Forward);
    let mut off = Esw::new(&PnpConfig { monitor: false, ..config() });
    let inside = segment(SENDER, RECEIVER, 1, TcpFlags::Syn);
    assert_eq!(off.pnp.handle_segment(us(1), &inside, &off.sites), MonitorVerdict::Forward);
    assert!(matches!(esw.pnp.handle_segment(us(1), &inside, &esw.sites), MonitorVerdict::Reply(_)));
}

#[test]
fn state_is_what_the_text_names() {
    let fields = Pnp::state();
    assert_eq!(fields.iter().map(|field| field.bits * field.count).sum::<u32>(), 32 + 32 + 24 + 24 + 32);
}

proptest! {
    /// Each mark of a known flow is cleared if `clear_marks` is set. The mark causes a CNP unless the flow had a CNP
    /// within the interval before the mark. With an interval of 0, each mark causes a CNP.
    #[test]
    fn marks_are_answered_once_an_interval(
        interval in 0u64..8,
        clear_marks: bool,
        marks in prop::collection::vec((0u64..5, 0u32..4, any::<bool>()), 0..200),
    ) {
        let cnp_interval = Span::Time(Duration::from_us(interval));
        let mut esw = Esw::new(&PnpConfig { cnp_interval, clear_marks, ..config() });
        // Queue pair 3 has no entry.
        for qp in 0..3 {
            esw.open(us(0), QpId(qp), SENDER, RECEIVER);
        }
        let mut now = 0;
        let mut cnps: Vec<(u32, u64)> = Vec::new();
        for (gap, qp, is_marked) in marks {
            now += gap;
            let mut packet = Packet { marked: is_marked, ..marked(QpId(qp), 0) };
            let out = esw.egress(us(now), SENDER, &mut packet);
            let is_ours = is_marked && qp < 3;
            let is_recent = |&(of, at): &(u32, u64)| of == qp && interval > 0 && now - at <= interval;
            let is_due = is_ours && !cnps.iter().any(is_recent);
            prop_assert_eq!(out.len(), usize::from(is_due), "at {} us", now);
            prop_assert_eq!(packet.marked, is_marked && !(is_ours && clear_marks));
            if is_due {
                cnps.push((qp, now));
            }
        }
        prop_assert_eq!(esw.counter("pnp_cnps"), cnps.len() as u64);
    }
}

/// The marks of a flow that enters the data centre cause CNPs only at its sender's switch, unless both switches send
/// CNPs.
#[test]
fn the_receivers_switch_answers_only_where_both_ends_do() {
    for both_ends in [false, true] {
        let mut esw = Esw::new(&PnpConfig { both_ends, ..config() });
        esw.open(us(0), QP, RECEIVER, SENDER);
        let mut packet = Packet { dst: SENDER, ..marked(QP, 3) };
        let out = esw.egress(us(1), RECEIVER, &mut packet);
        let cnp = Packet::cnp(QP, RECEIVER).with_bytes(ACK).with_ev(packet.ev);
        let answer = both_ends.then_some(Emitted { packet: cnp, held: Held::Never });
        assert_eq!((out, packet.marked), (answer.into_iter().collect(), !both_ends));
        assert_eq!(esw.counter("marks_without_entry"), 0, "it is none of the switch's own");
        esw.close(us(2), QP, RECEIVER, SENDER);
        esw.pnp.handle_timeout(us(5_000));
        let mut late = Packet { dst: SENDER, ..marked(QP, 4) };
        assert_eq!(esw.egress(us(5_001), RECEIVER, &mut late), []);
    }
}

/// The result for a marked packet: whether its mark is still set, and the number of CNPs sent.
const CLEARED_AND_CNP: (bool, usize) = (false, 1);
const CLEARED: (bool, usize) = (false, 0);
const LEFT: (bool, usize) = (true, 0);

struct Esw {
    pnp: Pnp,
    sites: Sites,
}

impl Esw {
    fn new(config: &PnpConfig) -> Self {
        let sites = Sites { of_host: [0, 0, 0, 0, 1, 1, 1, 1].into(), own: 0 };
        let facts = ProgramFacts {
            path: path(),
            ack: Bytes(u64::from(ACK)),
            paths: 1,
            path_map: None,
            sites: sites.clone(),
            tors: Tors::default(),
        };
        Esw { pnp: Pnp::new(config, &facts, &mut stream(1, 0, Purpose::Program)), sites }
    }

    fn open(&mut self, now: Time, qp: QpId, src: HostId, dst: HostId) {
        self.pnp.open(&QpNotice { now, qp, src, dst, opens: true }, &self.sites);
    }

    fn close(&mut self, now: Time, qp: QpId, src: HostId, dst: HostId) {
        self.pnp.close(&QpNotice { now, qp, src, dst, opens: false }, &self.sites);
    }

    fn egress(&mut self, now: Time, src: HostId, packet: &mut Packet) -> Vec<Emitted> {
        let at = Passage { now, src, port: 0, from_host: false, to_host: false, ports: 1, queued: 0 };
        let mut out = Vec::new();
        self.pnp.egress(packet, &at, &self.sites, &mut out);
        out
    }

    fn mark(&mut self, now: Time, qp: QpId) -> (bool, usize) {
        let mut packet = marked(qp, 0);
        let out = self.egress(now, SENDER, &mut packet);
        (packet.marked, out.len())
    }

    fn counter(&self, name: &str) -> u64 {
        let counters = self.pnp.counters();
        counters.iter().find(|counter| counter.name == name).unwrap_or_else(|| panic!("no {name}")).value
    }
}

fn us(us: u64) -> Time {
    Time(us * 1_000_000)
}

fn marked(qp: QpId, psn: u32) -> Packet {
    let repr = Repr::data(psn).with_message(MessageId(0), 1_000);
    Packet::new(qp, RECEIVER, repr).with_bytes(1_048).with_ev(0x1234).with_mark(true)
}

fn segment(src: HostId, dst: HostId, src_port: u16, flags: TcpFlags) -> Segment {
    Segment { src, dst, src_port, dst_port: 18_515, flags, seq: 1, ack: 0 }
}
