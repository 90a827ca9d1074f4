use super::*;
use anabranch_proto::Packet;
use anabranch_proto::cc::{AckReport, AnyCc, CcConfig, CongestionControl, DcqcnConfig, LossReport};
use anabranch_proto::lb::AnyLb;
use anabranch_proto::transport::{IrnSender, OutOfPsns, Sender as _, SenderCounters};
use std::sync::{Arc, Mutex};

const HUGE: u64 = 1 << 40;

fn sender(config: IrnConfig) -> IrnSender {
    IrnSender::new(&config, &FACTS, ENDS, AnyCc::constant(HUGE), AnyLb::ecmp(9))
}

fn with(packets: u64) -> IrnSender {
    posted(config(), packets)
}

fn posted(config: IrnConfig, packets: u64) -> IrnSender {
    let mut sender = sender(config);
    sender.post(MessageId(1), packets * 936).unwrap();
    sender
}

fn burst(sender: &mut IrnSender, now: Time) -> Vec<u32> {
    send(sender, now).into_iter().map(|(psn, _)| psn).collect()
}

/// The PSNs that are sent now, and whether each requests an ACK.
fn send(sender: &mut IrnSender, now: Time) -> Vec<(u32, bool)> {
    std::iter::from_fn(|| sender.poll_transmit(now))
        .map(|packet| match packet.repr {
            Repr::Data { psn, sent_at, ack_now, stamps: 0, .. } => {
                assert_eq!((packet.qp, packet.dst, packet.ev), (ENDS.qp, ENDS.dst, 9));
                assert_eq!((packet.marked, packet.tag, sent_at), (false, 0, now));
                (psn, ack_now)
            }
            other => panic!("{other:?}"),
        })
        .collect()
}

fn answer(sender: &mut IrnSender, now: Time, repr: Repr) {
    let packet = Packet::new(ENDS.qp, ENDS.src, repr).with_bytes(ACK).with_ev(9);
    sender.handle_packet(now, &packet);
}

fn upon(sender: &mut IrnSender, now: Time, repr: Repr) -> Vec<u32> {
    answer(sender, now, repr);
    burst(sender, now)
}

#[track_caller]
fn time_out(sender: &mut IrnSender, now: Time) -> Vec<u32> {
    assert_eq!(sender.next_timeout(), Some(now));
    sender.handle_timeout(now);
    burst(sender, now)
}

fn acknowledged(sender: &mut IrnSender) -> Vec<u32> {
    ids(std::iter::from_fn(|| sender.poll_acknowledged()))
}

fn psns(range: std::ops::Range<u32>) -> Vec<u32> {
    range.collect()
}

fn counted(sender: &IrnSender) -> (u64, u64) {
    let SenderCounters { retransmissions, timeouts, nacks: 0, fetches: 0 } = sender.counters() else {
        panic!("{:?}", sender.counters());
    };
    (retransmissions, timeouts)
}

#[test]
fn messages_are_cut_and_acknowledged_whole_and_in_order() {
    let mut sender = sender(config());
    sender.post(MessageId(10), 3 * 936).unwrap();
    sender.post(MessageId(11), 0).unwrap();
    sender.post(MessageId(12), 937).unwrap();
    let sent: Vec<_> = std::iter::from_fn(|| sender.poll_transmit(us(1)))
        .map(|packet| match packet.repr {
            Repr::Data { psn, message, message_packets, ack_now, .. } => {
                (psn, message.0, message_packets, packet.wire_bytes, ack_now)
            }
            other => panic!("{other:?}"),
        })
        .collect();
    let expected = [
        (0, 10, 3, 1_000, false),
        (1, 10, 3, 1_000, false),
        (2, 10, 3, 1_000, false),
        (3, 11, 1, 64, false),
        (4, 12, 2, 1_000, false),
        (5, 12, 2, 65, true),
    ];
    assert_eq!(sent, expected);
    answer(&mut sender, us(2), ack(2, 1));
    assert_eq!(acknowledged(&mut sender), []);
    // All of the second message has arrived, but not all packets before it.
    answer(&mut sender, us(3), ack(2, 3));
    assert_eq!(acknowledged(&mut sender), []);
    answer(&mut sender, us(3), ack(4, 2));
    assert_eq!(acknowledged(&mut sender), [10, 11]);
    // An ACK beyond the last packet sent acknowledges only the packets that were sent.
    answer(&mut sender, us(4), ack(60, 59));
    assert_eq!(acknowledged(&mut sender), [12]);
    assert_eq!(sender.next_timeout(), None);
    assert!(!sender.paces());
}

#[test]
fn a_queue_pair_carries_two_to_the_32_packets() {
    let mut sender = sender(config());
    assert_eq!(sender.post(MessageId(1), u64::from(u32::MAX) * 936), Ok(()));
    assert_eq!(sender.post(MessageId(2), 1), Err(OutOfPsns));
}

/// IRN, section 3.2: a BDP of packets may be sent, counted from the cumulative acknowledgement.
#[test]
fn the_bdp_cap_bounds_the_distance_of_psns() {
    let mut sender = with(1_000);
    let mut expected: Vec<_> = (0..100).map(|psn| (psn, psn == 99)).collect();
    assert_eq!(send(&mut sender, us(0)), expected);
    assert_eq!(upon(&mut sender, us(8), ack(3, 2)), [100, 101, 102]);
    // A SACKed packet makes no room, and a retransmission takes none.
    expected = vec![(3, true)];
    answer(&mut sender, us(9), ack(3, 4));
    assert_eq!(send(&mut sender, us(9)), expected);
    assert_eq!(upon(&mut sender, us(9), ack(3, 5)), []);
    assert_eq!(upon(&mut sender, us(9), ack(6, 3)), [103, 104, 105]);
}

/// The distance of PSNs stays below the cap, which need not be a whole number of packets.
#[test]
fn a_cap_between_two_packets_admits_the_larger_number() {
    for (window, packets) in [(1, 1), (1_000, 1), (1_001, 2), (2_000, 2), (2_999, 3)] {
        let mut sender = posted(IrnConfig { window: Size::Bytes(Bytes(window)), ..config() }, 9);
        assert_eq!(burst(&mut sender, us(0)), psns(0..packets), "{window} B");
    }
}

#[test]
fn the_congestion_controls_window_holds_too() {
    let mut sender = IrnSender::new(&config(), &FACTS, ENDS, AnyCc::constant(2_500), AnyLb::ecmp(9));
    sender.post(MessageId(1), 3 * 936).unwrap();
    sender.post(MessageId(2), 0).unwrap();
    sender.post(MessageId(3), 937).unwrap();
    // The window is 2,500 B. 2,000 B in flight are below it, so a third packet is sent.
    assert_eq!(send(&mut sender, us(0)), [(0, false), (1, false), (2, true)]);
    // After this ACK, 2,000 B are in flight. With the next packet, which has 64 B, 2,064 B are in flight. Both numbers
    // are below 2,500 B, so two packets are sent.
    answer(&mut sender, us(1), ack(1, 0));
    assert_eq!(send(&mut sender, us(1)), [(3, false), (4, true)]);
    // After this ACK 2,064 B are in flight, so one more packet is sent.
    answer(&mut sender, us(2), ack(2, 1));
    assert_eq!(send(&mut sender, us(2)), [(5, true)]);
    // A window smaller than a packet admits one packet at a time, and a retransmission in addition.
    let mut sender = IrnSender::new(&config(), &FACTS, ENDS, AnyCc::constant(1), AnyLb::ecmp(9));
    sender.post(MessageId(1), 3 * 936).unwrap();
    assert_eq!(send(&mut sender, us(0)), [(0, true)]);
    sender.handle_timeout(us(100));
    assert_eq!(send(&mut sender, us(100)), [(0, true)]);
}

/// DCP, section 2.2: the SACK of a packet means that the missing packets below it are lost. Each lost packet is
/// retransmitted once, before any new packet. The lowest PSN comes first.
#[test]
fn a_lost_packet_is_sent_again_once() {
    let mut sender = with(50);
    for _ in 0..10 {
        sender.poll_transmit(us(0));
    }
    assert_eq!(acknowledged(&mut sender), []);
    answer(&mut sender, us(8), ack(4, 3));
    answer(&mut sender, us(8), ack(4, 5));
    assert_eq!(sender.poll_transmit(us(8)).map(psn_of), Some(4));
    assert_eq!(counted(&sender), (1, 0));
    // Four more SACKs report the same loss again.
    for psn in 6..10 {
        answer(&mut sender, us(8), ack(4, psn));
    }
    assert_eq!(sender.poll_transmit(us(9)).map(psn_of), Some(10));
    answer(&mut sender, us(16), ack(10, 4));
    assert_eq!(burst(&mut sender, us(16)), psns(11..50));
    assert_eq!(upon(&mut sender, us(20), ack(50, 49)), []);
    assert_eq!(acknowledged(&mut sender), [1]);
    assert_eq!(counted(&sender), (1, 0));
}

fn psn_of(packet: Packet) -> u32 {
    match packet.repr {
        Repr::Data { psn, .. } => psn,
        other => panic!("{other:?}"),
    }
}

#[test]
fn only_what_has_a_sacked_packet_above_it_is_lost() {
    let mut sender = with(10);
    assert_eq!(burst(&mut sender, us(0)), psns(0..10));
    // PSNs 2, 4 and 7 are lost, PSN 6 overtakes PSN 5, and PSN 9 overtakes PSN 8.
    assert_eq!(upon(&mut sender, us(8), ack(2, 1)), []);
    assert_eq!(upon(&mut sender, us(8), ack(2, 3)), [2]);
    assert_eq!(upon(&mut sender, us(8), ack(2, 6)), [4, 5]);
    assert_eq!(upon(&mut sender, us(8), ack(2, 5)), []);
    assert_eq!(upon(&mut sender, us(8), ack(2, 9)), [7, 8]);
    assert_eq!(upon(&mut sender, us(8), ack(2, 8)), []);
    assert_eq!(upon(&mut sender, us(16), ack(4, 2)), []);
    assert_eq!(upon(&mut sender, us(16), ack(7, 4)), []);
    assert_eq!(upon(&mut sender, us(16), ack(10, 7)), []);
    assert_eq!(counted(&sender), (5, 0));
    assert_eq!(sender.next_timeout(), None);
    // The SACK of a higher PSN arrives before the SACK of a lower one.
    let mut sender = with(10);
    assert_eq!(burst(&mut sender, us(0)), psns(0..10));
    answer(&mut sender, us(8), ack(0, 6));
    answer(&mut sender, us(8), ack(0, 2));
    assert_eq!(burst(&mut sender, us(8)), [0, 1, 3, 4, 5]);
}

#[test]
fn runs_of_sacked_packets_are_passed_over() {
    let mut sender = with(1_000);
    assert_eq!(burst(&mut sender, us(0)), psns(0..100));
    for psn in (1..99).filter(|psn| psn % 40 != 0) {
        answer(&mut sender, us(8), ack(0, psn));
    }
    assert_eq!(burst(&mut sender, us(8)), [0, 40, 80]);
    assert_eq!(time_out(&mut sender, us(320)), [0, 40, 80]);
    assert_eq!(counted(&sender), (6, 1));
}

/// DCP, section 2.2, issue 1: reordering by one packet costs a retransmission.
#[test]
fn a_packet_that_is_overtaken_is_sent_again_for_nothing() {
    let mut sender = with(10);
    assert_eq!(burst(&mut sender, us(0)), psns(0..10));
    assert_eq!(upon(&mut sender, us(8), ack(0, 1)), [0]);
    assert_eq!(upon(&mut sender, us(8), ack(2, 0)), []);
    assert_eq!(counted(&sender), (1, 0));
}

/// DCP, section 2.2, issue 2: the lost tail of a flow leaves no gap. The low timeout applies with few packets in
/// flight, and the high timeout with more.
#[test]
fn a_lost_tail_waits_for_a_timeout() {
    let mut few = with(3);
    assert_eq!(burst(&mut few, us(5)), psns(0..3));
    assert_eq!(time_out(&mut few, us(105)), [0]);
    assert_eq!(counted(&few), (1, 1));
    // The next timeout takes as long as the first.
    assert_eq!(time_out(&mut few, us(205)), [0]);
    assert_eq!(upon(&mut few, us(213), ack(1, 0)), []);
    assert_eq!(time_out(&mut few, us(313)), [1]);
    let mut more = with(4);
    assert_eq!(burst(&mut more, us(5)), psns(0..4));
    assert_eq!(time_out(&mut more, us(325)), [0]);
    // With three packets in flight the low timeout applies, from the last acknowledgement on.
    answer(&mut more, us(333), ack(1, 0));
    assert_eq!(more.next_timeout(), Some(us(433)));
}

#[test]
fn a_low_timeout_above_the_high_one_is_that() {
    let mut sender = posted(IrnConfig { rto_low: Span::Time(Duration::from_us(321)), ..config() }, 1);
    assert_eq!(burst(&mut sender, us(0)), [0]);
    assert_eq!(time_out(&mut sender, us(320)), [0]);
}

/// When the timer for the low timeout expires, more packets are in flight, so that the high timeout applies and nothing
/// is retransmitted.
#[test]
fn a_timer_that_rings_early_does_nothing() {
    let mut sender = sender(config());
    sender.post(MessageId(1), 936).unwrap();
    assert_eq!(burst(&mut sender, us(0)), [0]);
    assert_eq!(sender.next_timeout(), Some(us(100)));
    sender.post(MessageId(2), 9 * 936).unwrap();
    assert_eq!(burst(&mut sender, us(50)), psns(1..10));
    sender.handle_timeout(us(100));
    assert_eq!(burst(&mut sender, us(100)), []);
    assert_eq!(time_out(&mut sender, us(320)), [0]);
}

#[test]
fn a_timeout_may_take_all_that_is_in_flight_for_lost() {
    let mut sender = posted(IrnConfig { timeout_takes_all: true, ..config() }, 200);
    assert_eq!(burst(&mut sender, us(0)), psns(0..100));
    assert_eq!(upon(&mut sender, us(8), ack(2, 1)), [100, 101]);
    assert_eq!(upon(&mut sender, us(8), ack(2, 4)), [2, 3]);
    let all: Vec<u32> = psns(2..102).into_iter().filter(|&psn| psn != 4).collect();
    // The last acknowledgement arrived at 8 us.
    assert_eq!(time_out(&mut sender, us(328)), all);
    assert_eq!(counted(&sender), (101, 1));
    // The timeout does not count packets 102 to 105 as lost, since they are sent after it. A SACK of packet 103 makes
    // only packet 102 lost.
    answer(&mut sender, us(329), ack(6, 2));
    assert_eq!(burst(&mut sender, us(329)), psns(102..106));
    assert_eq!(upon(&mut sender, us(330), ack(6, 103)), [102]);
}

/// With `sack_takes_all`, the first SACK of a recovery causes the retransmission of all packets that are in flight and
/// not SACKed, even if no higher packet is SACKed. Later SACKs of the recovery cause no retransmissions. Simulators
/// derived from ConWeave's do this.
#[test]
fn a_sack_may_take_all_that_is_in_flight_for_lost() {
    let mut sender = posted(IrnConfig { sack_takes_all: true, ..config() }, 100);
    assert_eq!(burst(&mut sender, us(0)), psns(0..100));
    let all: Vec<u32> = psns(2..100).into_iter().filter(|&psn| psn != 4).collect();
    assert_eq!(upon(&mut sender, us(8), ack(2, 4)), all);
    assert_eq!(upon(&mut sender, us(9), ack(2, 50)), []);
    assert_eq!(counted(&sender), (97, 0));
}

/// DCP, section 2.2, issue 2: a recovery is entered only once, so that a lost retransmission waits for the timeout.
#[test]
fn a_retransmission_that_is_lost_waits_for_the_high_timeout() {
    let mut sender = with(500);
    assert_eq!(burst(&mut sender, us(0)), psns(0..100));
    answer(&mut sender, us(8), ack(1, 0));
    assert_eq!(burst(&mut sender, us(8)), [100]);
    assert_eq!(upon(&mut sender, us(9), ack(1, 2)), [1]);
    // The other packets arrive, and packet 1 is lost once more.
    for psn in 3..101 {
        assert_eq!(upon(&mut sender, us(20), ack(1, psn)), [], "{psn}");
    }
    assert_eq!(sender.next_timeout(), Some(us(328)));
    assert_eq!(upon(&mut sender, us(327), ack(1, 50)), []);
    assert_eq!(time_out(&mut sender, us(328)), [1]);
    assert_eq!(counted(&sender), (2, 1));
    assert_eq!(upon(&mut sender, us(336), ack(101, 1)), psns(101..201));
}

#[test]
fn what_is_first_sent_in_recovery_and_lost_is_sent_again_too() {
    let mut sender = with(500);
    assert_eq!(burst(&mut sender, us(0)), psns(0..100));
    assert_eq!(upon(&mut sender, us(8), ack(0, 1)), [0]);
    assert_eq!(upon(&mut sender, us(16), ack(10, 0)), psns(100..110));
    // Packets 10 and 101 are lost, and so are the SACKs of 12 to 100. The recovery PSN is 99.
    assert_eq!(upon(&mut sender, us(16), ack(10, 11)), [10]);
    assert_eq!(upon(&mut sender, us(24), ack(10, 102)), (12..102).collect::<Vec<_>>());
    assert_eq!(upon(&mut sender, us(24), ack(10, 103)), []);
}

/// DCP, section 2.2: recovery ends when the ePSN is above the highest PSN that was in flight at its beginning. Only
/// then may a SACK cause the second retransmission of a packet.
#[test]
fn recovery_ends_past_the_recovery_psn() {
    // The recovery PSN is 9. Packets 10 to 14 are first sent during the recovery, and the SACK of packet 11 causes
    // the retransmission of packets 9 and 10.
    for (cumulative, again) in [(9, vec![]), (10, vec![10])] {
        let mut sender = with(10);
        assert_eq!(burst(&mut sender, us(0)), psns(0..10));
        assert_eq!(upon(&mut sender, us(8), ack(0, 1)), [0]);
        sender.post(MessageId(2), 5 * 936).unwrap();
        assert_eq!(burst(&mut sender, us(8)), psns(10..15));
        assert_eq!(upon(&mut sender, us(9), ack(9, 11)), [9, 10]);
        // If the recovery is over, the next SACK begins a new one.
        answer(&mut sender, us(10), ack(cumulative, 8));
        let sent = upon(&mut sender, us(10), ack(cumulative, 12));
        assert_eq!(sent, again, "the ePSN is {cumulative}");
    }
}

/// A SACK has no effect if the acknowledgement of its packet overtook it, or if its packet was never sent.
#[test]
fn an_old_sack_puts_nobody_into_recovery() {
    let mut sender = with(10);
    assert_eq!(burst(&mut sender, us(0)), psns(0..10));
    assert_eq!(upon(&mut sender, us(8), ack(5, 4)), []);
    assert_eq!(upon(&mut sender, us(8), ack(2, 3)), []);
    assert_eq!(upon(&mut sender, us(8), ack(2, 10)), []);
    // A SACK that contradicts an earlier ACK has no effect either: packet 5 had not arrived when the ePSN was 5.
    assert_eq!(upon(&mut sender, us(8), ack(2, 5)), []);
    assert_eq!(time_out(&mut sender, us(328)), [5]);
    // A SACK for a packet above the ePSN has an effect, however old its own ePSN is.
    let mut sender = with(10);
    assert_eq!(burst(&mut sender, us(0)), psns(0..10));
    assert_eq!(upon(&mut sender, us(8), ack(5, 4)), []);
    assert_eq!(upon(&mut sender, us(8), ack(2, 7)), [5, 6]);
}

/// PSNs that the ePSN passes are removed from the bitmap, so that later PSNs with the same bit do not count as SACKed.
#[test]
fn the_bitmap_slides() {
    let mut sender = with(100_000);
    assert_eq!(burst(&mut sender, us(0)), psns(0..100));
    let mut lowest = 0;
    for _ in 0..200 {
        answer(&mut sender, us(8), ack(lowest, lowest + 2));
        answer(&mut sender, us(8), ack(lowest, lowest + 3));
        assert_eq!(burst(&mut sender, us(8)), [lowest, lowest + 1]);
        lowest += 100;
        answer(&mut sender, us(8), ack(lowest, lowest - 1));
        assert_eq!(burst(&mut sender, us(8)), psns(lowest..lowest + 100));
    }
}

#[test]
fn at_a_low_rate_every_packet_asks_for_an_ack() {
    // An ACK must not be delayed by more than half of RTO_low, here 50 us. 16 packets of 8,000 bits in 50 us need 2.56
    // Gb/s.
    for (mbps, asks) in [(2_559, true), (2_561, false)] {
        let cc = AnyCc::Custom(Box::new(Told { mbps, ..Told::default() }));
        let config = IrnConfig { ack_every: 16, ..config() };
        let mut sender = IrnSender::new(&config, &FACTS, ENDS, cc, AnyLb::ecmp(9));
        sender.post(MessageId(1), 9 * 936).unwrap();
        assert_eq!(send(&mut sender, us(0)), [(0, asks)], "{mbps} Mb/s");
    }
}

#[test]
fn a_paced_sender_keeps_packets_apart_copies_too() {
    let cc = CcConfig::Dcqcn(DcqcnConfig::paper()).build(&FACTS);
    let mut sender = IrnSender::new(&config(), &FACTS, ENDS, cc, AnyLb::ecmp(9));
    assert!(sender.paces());
    sender.post(MessageId(1), 9 * 936).unwrap();
    let ns = |ns| Time::ZERO + Duration::from_ns(ns);
    let at = |sender: &mut IrnSender, time| sender.poll_transmit(ns(time)).map(psn_of);
    // The sender starts at the line rate of 100 Gb/s, at which 1,000 B take 80 ns.
    assert_eq!(at(&mut sender, 0), Some(0));
    assert_eq!(at(&mut sender, 79), None);
    assert_eq!(sender.next_timeout(), Some(ns(80)));
    sender.handle_timeout(ns(80));
    assert_eq!(at(&mut sender, 80), Some(1));
    answer(&mut sender, ns(90), ack(0, 1));
    assert_eq!(at(&mut sender, 100), None);
    sender.handle_timeout(ns(160));
    assert_eq!(at(&mut sender, 160), Some(0));
    assert_eq!(at(&mut sender, 170), None);
    assert_eq!(at(&mut sender, 240), Some(2));
}

#[derive(Default)]
struct Told {
    mbps: u64,
    log: Arc<Mutex<Vec<String>>>,
}

impl CongestionControl for Told {
    fn window(&self) -> u64 {
        HUGE
    }
    fn rate(&mut self, _now: Time) -> Option<Rate> {
        (self.mbps > 0).then_some(Rate(self.mbps * 1_000_000))
    }
    fn handle_cnp(&mut self, _now: Time) {
        self.log.lock().unwrap().push("cnp".to_owned());
    }
    fn handle_ack(&mut self, acked: &AckReport) {
        let AckReport { packets, bytes, marked, rtt, probe: false, .. } = *acked else { panic!("{acked:?}") };
        self.log.lock().unwrap().push(format!("{packets} of {bytes} B, {marked}, {rtt}"));
    }
    fn handle_loss(&mut self, _now: &LossReport) {
        self.log.lock().unwrap().push("loss".to_owned());
    }
}

#[test]
fn the_congestion_control_hears_of_acks_marks_and_one_loss_a_recovery() {
    let log = Arc::new(Mutex::new(Vec::new()));
    let config = IrnConfig { cnp_interval: Span::Time(Duration::ZERO), ..config() };
    let cc = AnyCc::Custom(Box::new(Told { mbps: 0, log: log.clone() }));
    let mut sender = IrnSender::new(&config, &FACTS, ENDS, cc, AnyLb::ecmp(9));
    sender.post(MessageId(1), 5 * 936 + 1).unwrap();
    assert_eq!(burst(&mut sender, us(0)), psns(0..6));
    let said = |sender: &mut IrnSender, now, repr| {
        answer(sender, now, repr);
        std::mem::take(&mut *log.lock().unwrap())
    };
    let marked = |cumulative, psn, sent_at| {
        Repr::ack(cumulative).with_received(psn, 1).with_mark(true).with_sent_at(sent_at)
    };
    assert_eq!(said(&mut sender, us(8), ack(2, 1)), ["2 of 2000 B, false, 8us"]);
    assert_eq!(said(&mut sender, us(9), ack(2, 3)), ["loss"]);
    assert_eq!(said(&mut sender, us(9), ack(2, 4)), [""; 0]);
    assert_eq!(said(&mut sender, us(10), marked(6, 2, us(9))), ["4 of 3065 B, true, 1us", "cnp"]);
    assert_eq!(said(&mut sender, us(10), Repr::Cnp), ["cnp"]);
    // If receivers send CNPs, a marked ACK does not take the place of a CNP.
    let cc = AnyCc::Custom(Box::new(Told { mbps: 0, log: log.clone() }));
    let mut sender = IrnSender::new(&super::config(), &FACTS, ENDS, cc, AnyLb::ecmp(9));
    sender.post(MessageId(1), 9 * 936).unwrap();
    assert_eq!(burst(&mut sender, us(0)), psns(0..9));
    assert_eq!(said(&mut sender, us(8), marked(1, 0, us(0))), ["1 of 1000 B, true, 8us"]);
    sender.handle_timeout(us(328));
    assert_eq!(std::mem::take(&mut *log.lock().unwrap()), ["loss"]);
}
