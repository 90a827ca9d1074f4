//! Tests of the sender of `rnic-sr`.

use super::*;
use anabranch_proto::cc::{AckReport, AnyCc, CcConfig, CongestionControl, DcqcnConfig, LossReport};
use anabranch_proto::lb::AnyLb;
use anabranch_proto::transport::{RnicSrSender, Sender as _, SenderCounters};
use anabranch_proto::{Packet, Repr};

const HUGE: u64 = 1 << 40;

fn sender(config: RnicSrConfig) -> RnicSrSender {
    RnicSrSender::new(&config, &FACTS, ENDS, AnyCc::constant(HUGE), AnyLb::ecmp(9))
}

fn paced(config: RnicSrConfig) -> RnicSrSender {
    let cc = CcConfig::Dcqcn(DcqcnConfig::paper()).build(&FACTS);
    RnicSrSender::new(&config, &FACTS, ENDS, cc, AnyLb::ecmp(9))
}

fn burst(sender: &mut RnicSrSender, now: Time) -> Vec<u32> {
    send(sender, now).into_iter().map(|(psn, _)| psn).collect()
}

/// The PSNs that are sent now, and whether each requests an ACK.
fn send(sender: &mut RnicSrSender, now: Time) -> Vec<(u32, bool)> {
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

/// Checks the PSNs that are sent now. The last one must request an ACK, and no other may.
#[track_caller]
fn asks_at_the_end(sent: Vec<(u32, bool)>, psns: impl IntoIterator<Item = u32>) {
    let psns: Vec<u32> = psns.into_iter().collect();
    let last = *psns.last().unwrap();
    assert_eq!(sent, psns.into_iter().map(|psn| (psn, psn == last)).collect::<Vec<_>>());
}

fn answer(sender: &mut RnicSrSender, now: Time, repr: Repr) {
    let packet = Packet::new(ENDS.qp, ENDS.src, repr).with_bytes(ACK).with_ev(9);
    sender.handle_packet(now, &packet);
}

fn acknowledged(sender: &mut RnicSrSender) -> Vec<u32> {
    ids(std::iter::from_fn(|| sender.poll_acknowledged()))
}

fn psns(range: std::ops::Range<u32>) -> Vec<u32> {
    range.collect()
}

/// Posts three messages: one of 3 packets, one of no bytes, and one of 2 packets. The last packet carries a single
/// byte.
fn post_three(sender: &mut RnicSrSender) {
    sender.post(MessageId(10), 3 * 936).unwrap();
    sender.post(MessageId(11), 0).unwrap();
    sender.post(MessageId(12), 937).unwrap();
}

fn post(sender: &mut RnicSrSender, packets: u64) {
    sender.post(MessageId(1), packets * 936).unwrap();
}

#[test]
fn messages_are_cut_and_acknowledged_whole() {
    let mut sender = sender(config());
    post_three(&mut sender);
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
    answer(&mut sender, us(2), ack(2));
    assert_eq!(acknowledged(&mut sender), []);
    answer(&mut sender, us(3), ack(4));
    assert_eq!(acknowledged(&mut sender), [10, 11]);
    // An ACK beyond the last packet sent acknowledges only the packets that were sent.
    answer(&mut sender, us(4), ack(60));
    assert_eq!(acknowledged(&mut sender), [12]);
    assert_eq!(sender.next_timeout(), None);
    assert_eq!(sender.counters(), SenderCounters::default());
}

/// Footnote 5: the window is 512 PSNs from the lowest unacknowledged one on, even if the congestion control allows
/// more.
#[test]
fn the_window_bounds_the_distance_of_psns() {
    let mut sender = sender(config());
    post(&mut sender, 2_000);
    asks_at_the_end(send(&mut sender, us(0)), 0..512);
    answer(&mut sender, us(1), ack(3));
    asks_at_the_end(send(&mut sender, us(1)), 512..515);
    // A retransmission for a NACK takes no room, but the missing packet keeps the window from advancing.
    answer(&mut sender, us(2), nack(4));
    assert_eq!(burst(&mut sender, us(2)), [4, 514, 515]);
    answer(&mut sender, us(3), nack(4));
    asks_at_the_end(send(&mut sender, us(3)), [4, 515]);
}

#[test]
fn the_congestion_controls_window_holds_too() {
    let cc = AnyCc::constant(2_500);
    let mut sender = RnicSrSender::new(&config(), &FACTS, ENDS, cc, AnyLb::ecmp(9));
    post_three(&mut sender);
    // The window is 2,500 B. 2,000 B in flight are below it, so a third packet is sent.
    asks_at_the_end(send(&mut sender, us(0)), [0, 1, 2]);
    // After this ACK, 2,000 B are in flight. With the next packet, which has 64 B, 2,064 B are in flight. Both numbers
    // are below 2,500 B, so two packets are sent.
    answer(&mut sender, us(1), ack(1));
    assert_eq!(send(&mut sender, us(1)), [(3, false), (4, true)]);
    // 3,064 B stay in flight, since retransmissions do not count again.
    answer(&mut sender, us(2), nack(1));
    asks_at_the_end(send(&mut sender, us(2)), [1, 4]);
    // After this ACK 2,064 B are in flight, so one more packet is sent.
    answer(&mut sender, us(2), ack(2));
    assert_eq!(send(&mut sender, us(2)), [(5, true)]);
    answer(&mut sender, us(3), ack(6));
    assert_eq!(acknowledged(&mut sender), [10, 11, 12]);
    // A window smaller than a packet admits one packet at a time.
    let mut sender = RnicSrSender::new(&config(), &FACTS, ENDS, AnyCc::constant(1), AnyLb::ecmp(9));
    post_three(&mut sender);
    assert_eq!(send(&mut sender, us(0)), [(0, true)]);
}

/// Section 2.3, last point: the sender sends the packet of the ePSN and the packet that was sent last, and then new
/// data.
#[test]
fn a_nack_is_answered_with_two_packets() {
    let mut sender = sender(config());
    post(&mut sender, 12);
    assert_eq!((0..10).filter_map(|_| sender.poll_transmit(us(0))).count(), 10);
    answer(&mut sender, us(1), nack(4));
    assert_eq!(burst(&mut sender, us(1)), [4, 9, 10, 11]);
    assert_eq!(sender.counters(), SenderCounters { retransmissions: 2, timeouts: 0, nacks: 1, fetches: 0 });
    // The NACK acknowledged PSNs 0 to 3.
    assert_eq!(sender.next_timeout(), Some(us(4_001)));
    // Only the last packet is missing, which is also the one that was sent last.
    answer(&mut sender, us(2), nack(11));
    assert_eq!(send(&mut sender, us(2)), [(11, true)]);
    assert_eq!(sender.counters(), SenderCounters { retransmissions: 3, timeouts: 0, nacks: 2, fetches: 0 });
    answer(&mut sender, us(3), ack(12));
    assert_eq!(acknowledged(&mut sender), [1]);
}

#[test]
fn a_nack_acknowledges_what_is_below_its_epsn() {
    let mut sender = sender(config());
    post_three(&mut sender);
    assert_eq!(burst(&mut sender, us(0)), psns(0..6));
    answer(&mut sender, us(1), nack(4));
    assert_eq!(acknowledged(&mut sender), [10, 11]);
    let sizes: Vec<u16> = std::iter::from_fn(|| sender.poll_transmit(us(1))).map(|p| p.wire_bytes).collect();
    assert_eq!(sizes, [1_000, 65]);
}

#[test]
fn a_nack_from_before_an_acknowledgement_is_old() {
    let mut sender = sender(config());
    post(&mut sender, 10);
    assert_eq!(burst(&mut sender, us(0)), psns(0..10));
    answer(&mut sender, us(1), ack(5));
    answer(&mut sender, us(2), nack(4));
    assert_eq!(burst(&mut sender, us(2)), []);
    // A NACK for a packet that was never sent causes no retransmission, but acknowledges the packets below it.
    answer(&mut sender, us(3), nack(10));
    assert_eq!(burst(&mut sender, us(3)), []);
    assert_eq!(acknowledged(&mut sender), [1]);
    assert_eq!(sender.counters(), SenderCounters { retransmissions: 0, timeouts: 0, nacks: 2, fetches: 0 });
}

#[test]
fn a_nack_that_comes_again_is_obeyed_again() {
    let mut sender = sender(config());
    post(&mut sender, 10);
    assert_eq!(burst(&mut sender, us(0)), psns(0..10));
    answer(&mut sender, us(1), nack(4));
    // A packet that is already waiting for retransmission is not queued twice.
    answer(&mut sender, us(1), nack(4));
    assert_eq!(burst(&mut sender, us(1)), [4, 9]);
    answer(&mut sender, us(2), nack(4));
    assert_eq!(burst(&mut sender, us(2)), [4, 9]);
    answer(&mut sender, us(3), nack(4));
    assert!(sender.poll_transmit(us(3)).is_some());
    answer(&mut sender, us(3), nack(4));
    assert_eq!(burst(&mut sender, us(3)), [4, 9]);
    assert_eq!(sender.counters().retransmissions, 7);
}

#[test]
fn what_is_acknowledged_meanwhile_is_not_repeated() {
    for (cumulative, again) in [(4, vec![4, 9]), (5, vec![9]), (9, vec![9]), (10, vec![])] {
        let mut sender = sender(config());
        post(&mut sender, 10);
        assert_eq!(burst(&mut sender, us(0)), psns(0..10));
        answer(&mut sender, us(1), nack(4));
        answer(&mut sender, us(2), ack(cumulative));
        assert_eq!(burst(&mut sender, us(2)), again, "ACK for {cumulative}");
    }
    // A later NACK replaces an earlier one.
    let mut sender = sender(config());
    post(&mut sender, 10);
    assert_eq!(burst(&mut sender, us(0)), psns(0..10));
    answer(&mut sender, us(1), nack(4));
    answer(&mut sender, us(1), nack(6));
    assert_eq!(burst(&mut sender, us(1)), [6, 9]);
}

/// Section 2.2: only the timeout repairs losses. A NACK does not even count as an acknowledgement.
#[test]
fn a_nic_that_hears_no_nacks_takes_no_notice_of_them() {
    let mut sender = paced(RnicSrConfig { hears_nacks: false, ..config() });
    post_three(&mut sender);
    for n in 0..6 {
        assert!(sender.poll_transmit(us(n)).is_some());
    }
    let due = sender.next_timeout();
    answer(&mut sender, us(10), nack(4));
    assert_eq!(acknowledged(&mut sender), []);
    assert_eq!(sender.next_timeout(), due);
    assert_eq!(burst(&mut sender, us(11)), []);
    sender.handle_timeout(us(4_000));
    assert_eq!(burst(&mut sender, us(4_000)), [0]);
    assert_eq!(burst(&mut sender, Time(us(4_000).0 + 80_000)), [1], "at line rate");
    assert_eq!(sender.counters(), SenderCounters { retransmissions: 2, timeouts: 1, nacks: 0, fetches: 0 });
}

/// Section 2.3, issue 1: 1,000 B take 80 ns at 100 Gb/s, and 160 ns at half the rate. Retransmissions are paced as
/// well.
#[test]
fn a_nack_halves_the_rate() {
    let mut sender = paced(config());
    assert!(sender.paces());
    post(&mut sender, 100);
    assert_eq!(burst(&mut sender, Time(0)), [0]);
    assert_eq!(burst(&mut sender, Time(79_999)), []);
    assert_eq!(sender.next_timeout(), Some(Time(80_000)));
    assert_eq!(burst(&mut sender, Time(80_000)), [1]);
    answer(&mut sender, Time(90_000), nack(0));
    assert_eq!(burst(&mut sender, Time(239_999)), []);
    assert_eq!(sender.next_timeout(), Some(Time(240_000)));
    assert_eq!(burst(&mut sender, Time(240_000)), [0]);
    assert_eq!(burst(&mut sender, Time(399_999)), []);
    assert_eq!(burst(&mut sender, Time(400_000)), [1]);
    assert_eq!(burst(&mut sender, Time(560_000)), [2]);
    // A further NACK does not cut the rate again, and an outdated NACK has no effect.
    answer(&mut sender, Time(570_000), nack(1));
    answer(&mut sender, Time(570_000), nack(0));
    assert_eq!(burst(&mut sender, Time(719_999)), []);
    assert_eq!(burst(&mut sender, Time(720_000)), [1]);
}

/// By default, a NACK counts as a loss for a user-defined congestion control. Outdated NACKs are not reported to it,
/// nor are NACKs that the timeout has already answered.
#[test]
fn a_nack_is_a_loss_to_others() {
    struct Losses(std::sync::Arc<std::sync::atomic::AtomicU64>);
    impl CongestionControl for Losses {
        fn window(&self) -> u64 {
            HUGE
        }
        fn handle_ack(&mut self, _: &AckReport) {}
        fn handle_loss(&mut self, _: &LossReport) {
            self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
    }
    let losses = std::sync::Arc::default();
    let cc = AnyCc::Custom(Box::new(Losses(std::sync::Arc::clone(&losses))));
    let mut sender = RnicSrSender::new(&config(), &FACTS, ENDS, cc, AnyLb::ecmp(9));
    post(&mut sender, 10);
    assert_eq!(burst(&mut sender, us(0)), psns(0..10));
    let heard = |sender: &mut RnicSrSender, psn| {
        answer(sender, us(1), nack(psn));
        losses.load(std::sync::atomic::Ordering::Relaxed)
    };
    assert_eq!(heard(&mut sender, 4), 1);
    assert_eq!(heard(&mut sender, 4), 2);
    assert_eq!(heard(&mut sender, 3), 2);
    sender.handle_timeout(us(4_001));
    assert_eq!(heard(&mut sender, 4), 3, "the timeout's alone");
}

/// Section 2.3, issue 2: after each retransmission for a NACK, nothing is sent for 10 us.
#[test]
fn a_retransmission_blocks_the_path() {
    let block = Span::Time(Duration::from_us(10));
    let mut sender = sender(RnicSrConfig { retransmission_block: block, ..config() });
    assert!(sender.paces(), "it is to be asked again");
    post(&mut sender, 100);
    assert_eq!((0..10).filter_map(|_| sender.poll_transmit(us(0))).count(), 10);
    answer(&mut sender, us(1), nack(4));
    assert_eq!(burst(&mut sender, us(1)), [4]);
    assert_eq!(sender.next_timeout(), Some(us(11)));
    assert_eq!(burst(&mut sender, Time(us(11).0 - 1)), []);
    assert_eq!(burst(&mut sender, us(11)), [9]);
    assert_eq!(sender.next_timeout(), Some(us(21)));
    assert_eq!(burst(&mut sender, Time(us(21).0 - 1)), []);
    sender.handle_timeout(us(21));
    assert_eq!(sender.next_timeout(), Some(us(4_001)), "the RTO");
    assert_eq!(burst(&mut sender, us(21)), psns(10..100));
    // The retransmission of 99 blocks the path, but no other packet is to be sent. The next timeout is therefore the
    // RTO and not the end of the block.
    answer(&mut sender, us(22), nack(99));
    assert_eq!(burst(&mut sender, us(22)), [99]);
    assert_eq!(sender.next_timeout(), Some(us(4_022)));
}

/// Retransmissions after a timeout do not block the path, but a block in progress delays them.
#[test]
fn a_timeouts_packets_do_not_block() {
    let block = Span::Time(Duration::from_us(5_000));
    let mut sender = sender(RnicSrConfig { retransmission_block: block, ..config() });
    post(&mut sender, 10);
    assert_eq!(burst(&mut sender, us(0)), psns(0..10));
    answer(&mut sender, us(1), nack(4));
    assert_eq!(burst(&mut sender, us(1)), [4]);
    sender.handle_timeout(us(4_001));
    assert_eq!(burst(&mut sender, us(4_001)), []);
    assert_eq!(sender.next_timeout(), Some(us(5_001)));
    sender.handle_timeout(us(5_001));
    // The timeout cancelled the retransmission of PSN 9 that waited, so that PSN 9 is sent once, in order.
    asks_at_the_end(send(&mut sender, us(5_001)), 4..10);
    assert_eq!(sender.counters(), SenderCounters { retransmissions: 7, timeouts: 1, nacks: 1, fetches: 0 });
}

#[test]
fn the_rto_runs_from_the_last_new_acknowledgement() {
    let mut sender = sender(config());
    assert_eq!(sender.next_timeout(), None);
    assert!(!sender.paces());
    post_three(&mut sender);
    assert_eq!(burst(&mut sender, us(100)), psns(0..6));
    assert_eq!(sender.next_timeout(), Some(us(4_100)));
    answer(&mut sender, us(200), ack(3));
    assert_eq!(sender.next_timeout(), Some(us(4_200)));
    answer(&mut sender, us(300), ack(3));
    answer(&mut sender, us(300), nack(3));
    assert_eq!(burst(&mut sender, us(300)), [3, 5]);
    assert_eq!(sender.next_timeout(), Some(us(4_200)), "that was nothing new");
    sender.handle_timeout(us(4_199));
    assert_eq!(sender.counters().timeouts, 0);
    sender.handle_timeout(us(4_200));
    assert_eq!(sender.counters().timeouts, 1);
    assert_eq!(sender.next_timeout(), None);
    asks_at_the_end(send(&mut sender, us(4_300)), 3..6);
    assert_eq!(sender.next_timeout(), Some(us(8_300)));
    assert_eq!(sender.counters().retransmissions, 5);
}

/// After a timeout, everything that is unacknowledged is retransmitted in order. A NACK for a packet that has not yet
/// been retransmitted causes no further retransmission. A NACK for a packet that has been retransmitted causes a
/// retransmission of that packet and of the last packet that has been retransmitted.
#[test]
fn a_nack_after_a_timeout() {
    let mut sender = sender(config());
    post(&mut sender, 10);
    assert_eq!(burst(&mut sender, us(0)), psns(0..10));
    sender.handle_timeout(us(4_000));
    answer(&mut sender, us(4_000), nack(0));
    for psn in 0..4 {
        let again = sender.poll_transmit(us(4_000)).map(|packet| packet.repr);
        assert!(matches!(again, Some(Repr::Data { psn: sent, .. }) if sent == psn), "{again:?}");
    }
    answer(&mut sender, us(4_001), nack(1));
    assert_eq!(burst(&mut sender, us(4_001)), [1, 3, 4, 5, 6, 7, 8, 9]);
    // The copies that waited when the timer expired are sent only once.
    answer(&mut sender, us(4_002), nack(8));
    sender.handle_timeout(us(8_002));
    assert_eq!(burst(&mut sender, us(8_002)), [8, 9]);
}

#[test]
fn an_ack_after_a_timeout_saves_what_it_names() {
    let mut sender = sender(config());
    post(&mut sender, 10);
    assert_eq!(burst(&mut sender, us(0)), psns(0..10));
    sender.handle_timeout(us(4_000));
    assert!(sender.poll_transmit(us(4_000)).is_some());
    answer(&mut sender, us(4_001), ack(7));
    assert_eq!(burst(&mut sender, us(4_001)), psns(7..10));
    assert_eq!(sender.counters(), SenderCounters { retransmissions: 4, timeouts: 1, nacks: 0, fetches: 0 });
}

#[test]
fn a_marked_ack_is_a_cnp_only_when_there_are_none() {
    let no_cnps = RnicSrConfig { cnp_interval: Span::Time(Duration::ZERO), ..config() };
    for (config, gap) in [(config(), 80_000), (no_cnps, 160_000)] {
        let mut sender = paced(config);
        post(&mut sender, 100);
        assert_eq!(burst(&mut sender, us(1)), [0]);
        let marked = Repr::ack(1).with_mark(true).with_sent_at(us(1));
        answer(&mut sender, us(1), marked);
        assert_eq!(burst(&mut sender, Time(1_000_000 + gap - 1)), []);
        assert_eq!(burst(&mut sender, Time(1_000_000 + gap)), [1]);
    }
    let mut sender = paced(self::config());
    post(&mut sender, 100);
    assert_eq!(burst(&mut sender, us(1)), [0]);
    answer(&mut sender, us(1), Repr::Cnp);
    assert_eq!(burst(&mut sender, Time(1_159_999)), []);
    assert_eq!(burst(&mut sender, Time(1_160_000)), [1]);
}

/// Four packets take half an RTO at 2 * 4 * 8,000 b / 4 ms = 16 Mb/s. Below this rate, each packet requests an ACK, so
/// that a receiver that waits for four packets does not let the RTO expire.
#[test]
fn a_slow_sender_asks_for_every_ack() {
    for (mbps, asks) in [(16, false), (15, true)] {
        let min_rate = anabranch_proto::Pace::Rate(Rate(mbps * 1_000_000));
        let cc = CcConfig::Dcqcn(DcqcnConfig { min_rate, ..DcqcnConfig::paper() }).build(&FACTS);
        let mut sender = RnicSrSender::new(&config(), &FACTS, ENDS, cc, AnyLb::ecmp(9));
        post(&mut sender, 100);
        (0..100).for_each(|_| answer(&mut sender, us(1), Repr::Cnp));
        assert_eq!(send(&mut sender, us(1)), [(0, asks)], "{mbps} Mb/s");
    }
}

#[test]
fn a_queue_pair_has_two_to_the_32_psns() {
    let mut sender = sender(config());
    sender.post(MessageId(1), (u64::from(u32::MAX) - 1) * 936).unwrap();
    assert!(sender.post(MessageId(2), 2 * 936).is_err());
    sender.post(MessageId(3), 936).unwrap();
}
