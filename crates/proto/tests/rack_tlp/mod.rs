//! Tests of the sender of `rack-tlp`, call by call. The rules are those of RFC 8985, as the DCP paper interprets them
//! (sections 6.3 and 8). The receiver is that of `irn`.

mod probe;
mod recovery;

use crate::support::{ENDS, facts, us};
use anabranch_base::{Bytes, Duration, MessageId, Rate, Time};
use anabranch_proto::cc::{AckReport, AnyCc, CcConfig, CongestionControl, DcqcnConfig, LossReport};
use anabranch_proto::lb::AnyLb;
use anabranch_proto::transport::{OutOfPsns, RackTlpConfig, RackTlpSender, Sender as _, SenderCounters};
use anabranch_proto::{Packet, PathFacts, Repr, Size, Span};
use std::sync::{Arc, Mutex};

const HUGE: u64 = 1 << 40;

const FACTS: PathFacts = facts(1_000);

/// Packets of 1,000 B, of which 64 B are headers, an ACK per packet, a window of one BDP (100 packets), and a
/// reordering window of an RTT.
fn config() -> RackTlpConfig {
    RackTlpConfig {
        payload: Bytes(936),
        header: Bytes(64),
        ack: Bytes(64),
        ack_every: 1,
        window: Size::Bdp(1.0),
        reo_wnd: Span::Rtt(1.0),
        rto: Span::Time(Duration::from_us(300)),
        cnp_interval: Span::Time(Duration::from_us(50)),
    }
}

/// A sender, with the time at which it last sent each packet.
struct Sender {
    end: RackTlpSender,
    sent: Vec<Time>,
}

impl Sender {
    fn new(config: &RackTlpConfig, cc: AnyCc, packets: u64) -> Self {
        let mut end = RackTlpSender::new(config, &FACTS, ENDS, cc, AnyLb::ecmp(9));
        end.post(MessageId(1), packets * 936).unwrap();
        Sender { end, sent: Vec::new() }
    }

    fn with(packets: u64) -> Self {
        Sender::new(&config(), AnyCc::constant(HUGE), packets)
    }

    /// The PSNs that are sent now, and whether each requests an ACK.
    fn send(&mut self, now: Time) -> Vec<(u32, bool)> {
        std::iter::from_fn(|| self.one(now)).collect()
    }

    fn one(&mut self, now: Time) -> Option<(u32, bool)> {
        let packet = self.end.poll_transmit(now)?;
        let Repr::Data { psn, sent_at, ack_now, stamps: 0, .. } = packet.repr else { panic!("{packet:?}") };
        assert_eq!((packet.qp, packet.dst, packet.ev), (ENDS.qp, ENDS.dst, 9));
        assert_eq!((packet.marked, packet.tag, sent_at), (false, 0, now));
        self.sent.resize(self.sent.len().max(psn as usize + 1), now);
        self.sent[psn as usize] = now;
        Some((psn, ack_now))
    }

    fn burst(&mut self, now: Time) -> Vec<u32> {
        self.send(now).into_iter().map(|(psn, _)| psn).collect()
    }

    /// Sends these PSNs, one per microsecond, starting at microsecond `from`.
    fn stream(&mut self, from: u64, psns: std::ops::Range<u32>) {
        for (i, psn) in psns.enumerate() {
            assert_eq!(self.one(us(from + i as u64)).map(|(psn, _)| psn), Some(psn));
        }
    }

    fn hear(&mut self, now: Time, repr: Repr) {
        let packet = Packet::new(ENDS.qp, ENDS.src, repr).with_bytes(64).with_ev(9);
        self.end.handle_packet(now, &packet);
    }

    /// Passes the ACK of the last copy of `psn`, after whose arrival the ePSN is `cumulative`.
    fn ack(&mut self, now: Time, cumulative: u32, psn: u32) {
        let sent_at = self.sent[psn as usize];
        self.hear(now, Repr::ack(cumulative).with_received(psn, 1).with_sent_at(sent_at));
    }

    fn upon(&mut self, now: Time, cumulative: u32, psn: u32) -> Vec<u32> {
        self.ack(now, cumulative, psn);
        self.burst(now)
    }

    #[track_caller]
    fn ring(&mut self, now: Time) -> Vec<u32> {
        assert_eq!(self.end.next_timeout(), Some(now));
        self.end.handle_timeout(now);
        self.burst(now)
    }

    /// The numbers of retransmissions and timeouts.
    fn counted(&self) -> (u64, u64) {
        let SenderCounters { retransmissions, timeouts, nacks: 0, fetches: 0 } = self.end.counters() else {
            panic!("{:?}", self.end.counters());
        };
        (retransmissions, timeouts)
    }

    fn acknowledged(&mut self) -> Vec<u32> {
        std::iter::from_fn(|| self.end.poll_acknowledged()).map(|message| message.0).collect()
    }
}

fn psns(range: std::ops::Range<u32>) -> Vec<u32> {
    range.collect()
}

struct Told(Arc<Mutex<Vec<String>>>);

impl Told {
    fn boxed() -> (AnyCc, Arc<Mutex<Vec<String>>>) {
        let log = Arc::new(Mutex::new(Vec::new()));
        (AnyCc::Custom(Box::new(Told(log.clone()))), log)
    }
}

impl CongestionControl for Told {
    fn window(&self) -> u64 {
        HUGE
    }
    fn handle_cnp(&mut self, _now: Time) {
        self.0.lock().unwrap().push("cnp".to_owned());
    }
    fn handle_ack(&mut self, acked: &AckReport) {
        let AckReport { packets, bytes, marked, rtt, probe: false, .. } = *acked else { panic!("{acked:?}") };
        self.0.lock().unwrap().push(format!("{packets} of {bytes} B, {marked}, {rtt}"));
    }
    fn handle_loss(&mut self, _now: &LossReport) {
        self.0.lock().unwrap().push("loss".to_owned());
    }
}

#[test]
fn messages_are_cut_and_acknowledged_whole_and_in_order() {
    let mut sender = Sender::with(3);
    sender.end.post(MessageId(2), 0).unwrap();
    sender.end.post(MessageId(3), 937).unwrap();
    let sent: Vec<_> = std::iter::from_fn(|| sender.end.poll_transmit(us(1)))
        .map(|packet| match packet.repr {
            Repr::Data { psn, message, message_packets, ack_now, .. } => {
                (psn, message.0, message_packets, packet.wire_bytes, ack_now)
            }
            other => panic!("{other:?}"),
        })
        .collect();
    let expected = [
        (0, 1, 3, 1_000, false),
        (1, 1, 3, 1_000, false),
        (2, 1, 3, 1_000, false),
        (3, 2, 1, 64, false),
        (4, 3, 2, 1_000, false),
        (5, 3, 2, 65, true),
    ];
    assert_eq!(sent, expected);
    sender.sent = vec![us(1); 60];
    sender.ack(us(9), 2, 1);
    // All of the second message has arrived, but not all packets before it.
    sender.ack(us(9), 2, 3);
    assert_eq!(sender.acknowledged(), []);
    sender.ack(us(9), 4, 2);
    assert_eq!(sender.acknowledged(), [1, 2]);
    // An ACK beyond the last packet sent acknowledges only the packets that were sent.
    sender.ack(us(9), 60, 59);
    assert_eq!(sender.acknowledged(), [3]);
    assert_eq!(sender.end.next_timeout(), None);
    assert!(!sender.end.paces());
    assert_eq!(sender.end.post(MessageId(4), u64::from(u32::MAX) * 936), Err(OutOfPsns));
}

/// SACKed and lost packets are not in flight, as in TCP.
#[test]
fn the_window_bounds_what_is_in_flight() {
    let mut sender = Sender::with(1_000);
    let expected: Vec<_> = (0..100).map(|psn| (psn, psn == 99)).collect();
    assert_eq!(sender.send(us(0)), expected);
    assert_eq!(sender.upon(us(8), 3, 2), [100, 101, 102]);
    assert_eq!(sender.upon(us(8), 3, 4), [103]);
    assert_eq!(sender.upon(us(8), 3, 4), []);
    assert_eq!(sender.upon(us(8), 3, 6), [104]);
    // PSNs 3 and 5 are lost, and their retransmissions use the room that they left.
    assert_eq!(sender.ring(us(16)), [3, 5]);
    // The first copies of PSNs 3 and 5 arrive after all.
    let late = |cumulative, psn| Repr::ack(cumulative).with_received(psn, 1);
    sender.hear(us(17), late(5, 3));
    assert_eq!(sender.burst(us(17)), [105]);
    sender.hear(us(17), late(7, 5));
    assert_eq!(sender.burst(us(17)), [106]);
}

#[test]
fn the_congestion_controls_window_holds_too() {
    let mut sender = Sender::new(&config(), AnyCc::constant(2_500), 9);
    assert_eq!(sender.send(us(0)), [(0, false), (1, true)]);
    assert_eq!(sender.upon(us(8), 1, 0), [2]);
    // A window smaller than a packet admits one packet at a time.
    let mut sender = Sender::new(&config(), AnyCc::constant(1), 9);
    assert_eq!(sender.send(us(0)), [(0, true)]);
    assert_eq!(sender.upon(us(8), 1, 0), [1]);
    let small = RackTlpConfig { window: Size::Bytes(Bytes(2_000)), ..config() };
    let mut sender = Sender::new(&small, AnyCc::constant(HUGE), 9);
    assert_eq!(sender.send(us(0)), [(0, false), (1, true)]);
}

/// The lowest packet stays unacknowledged, but the number of PSNs that the sender must remember is bounded.
#[test]
fn the_span_of_psns_is_bounded() {
    let mut sender = Sender::with(100_000);
    assert_eq!(sender.burst(us(0)), psns(0..100));
    let mut next = 1;
    while next < 1 << 16 {
        sender.ack(us(1), 0, next);
        sender.burst(us(1));
        next += 1;
    }
    assert_eq!(sender.sent.len(), 1 << 16);
}

#[test]
fn at_a_low_rate_every_packet_asks_for_an_ack() {
    for (mbps, asks) in [(853, true), (854, false)] {
        let cc = CcConfig::Dcqcn(DcqcnConfig::paper());
        // An ACK must not be delayed by more than half of the RTO of 300 us. 16 packets of 8,000 bits in 150 us need
        // 853.3 Mb/s.
        let rate = Rate(mbps * 1_000_000);
        let facts = PathFacts { line_rate: rate, port_rate: rate, ..FACTS };
        let config = RackTlpConfig { ack_every: 16, ..config() };
        let mut end = RackTlpSender::new(&config, &facts, ENDS, cc.build(&facts), AnyLb::ecmp(9));
        end.post(MessageId(1), 9 * 936).unwrap();
        let mut sender = Sender { end, sent: Vec::new() };
        assert_eq!(sender.one(us(0)), Some((0, asks)), "{mbps} Mb/s");
    }
}

#[test]
fn a_paced_sender_keeps_packets_apart_copies_too() {
    let cc = CcConfig::Dcqcn(DcqcnConfig::paper()).build(&FACTS);
    let mut sender = Sender::new(&config(), cc, 9);
    assert!(sender.end.paces());
    let ns = |ns| Time::ZERO + Duration::from_ns(ns);
    // The sender starts at the line rate of 100 Gb/s, at which 1,000 B take 80 ns.
    assert_eq!(sender.burst(us(0)), [0]);
    assert_eq!(sender.burst(ns(79)), []);
    assert_eq!(sender.ring(ns(80)), [1]);
    assert_eq!(sender.ring(ns(160)), [2]);
    sender.ack(us(9), 0, 2);
    // PSN 0 is lost 16.84 us after it was sent: the RTT of PSN 2 (8.84 us) plus the reordering window (8 us).
    sender.end.handle_timeout(us(18));
    assert_eq!(sender.burst(us(18)), [0]);
    assert_eq!(sender.burst(us(18) + Duration::from_ns(79)), []);
    assert_eq!(sender.burst(us(18) + Duration::from_ns(80)), [1]);
    // Pacing also delays a probe: it is due at the RTO of 50 ns and leaves at 80 ns.
    let cc = CcConfig::Dcqcn(DcqcnConfig::paper()).build(&FACTS);
    let config = RackTlpConfig { rto: Span::Time(Duration::from_ns(50)), ..config() };
    let mut sender = Sender::new(&config, cc, 1);
    assert_eq!(sender.burst(us(0)), [0]);
    assert_eq!(sender.ring(ns(50)), []);
    assert_eq!(sender.ring(ns(80)), [0]);
}

#[test]
fn the_congestion_control_hears_of_acks_marks_and_one_loss_a_recovery() {
    let (cc, log) = Told::boxed();
    let config = RackTlpConfig { cnp_interval: Span::Time(Duration::ZERO), ..config() };
    let mut sender = Sender::new(&config, cc, 7);
    let told = || std::mem::take(&mut *log.lock().unwrap());
    assert_eq!(sender.burst(us(0)), psns(0..7));
    sender.ack(us(8), 2, 1);
    assert_eq!(told(), ["2 of 2000 B, false, 8us"]);
    sender.ack(us(9), 2, 4);
    assert_eq!(told(), ["1 of 1000 B, false, 9us"]);
    assert_eq!(sender.ring(us(17)), [2, 3]);
    assert_eq!(told(), ["loss"]);
    sender.ack(us(25), 2, 4);
    assert_eq!(told(), [""; 0]);
    sender.hear(us(25), Repr::ack(5).with_received(2, 1).with_mark(true).with_sent_at(us(17)));
    assert_eq!(told(), ["2 of 2000 B, true, 8us", "cnp"]);
    sender.hear(us(25), Repr::Cnp);
    assert_eq!(told(), ["cnp"]);
}
