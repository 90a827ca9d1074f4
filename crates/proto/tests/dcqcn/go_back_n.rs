//! Sender and receiver of `go-back-n` with DCQCN, tested call by call.

use super::*;
use anabranch_proto::transport::Receiver as _;
use anabranch_proto::transport::Sender as _;

const ACK: u16 = 64;

/// Packets of 1,000 B, of which 64 B are headers, and an ACK for every 4 packets.
fn config() -> GoBackNConfig {
    GoBackNConfig {
        payload: Bytes(936),
        header: Bytes(64),
        ack: Bytes(64),
        ack_every: 4,
        nack_interval: Span::Time(Duration::from_us(500)),
        cnp_interval: Span::Time(Duration::from_us(50)),
        trailing_cnp: false,
        rto: Span::Time(Duration::from_us(4_000)),
    }
}

mod receiving {
    use super::*;

    struct Receiver(GoBackNReceiver);

    impl Receiver {
        fn new(config: GoBackNConfig) -> Self {
            Receiver(GoBackNReceiver::new(&config, &facts(100), ENDS))
        }

        /// Passes a packet of a message of 10 packets. Returns the answers to it, and whether it completed the message.
        fn take(&mut self, now: Time, packet: &Packet) -> (Vec<Repr>, bool) {
            let whole = self.0.handle_packet(now, packet);
            assert!(whole.is_none_or(|message| message == MessageId(7)));
            let answers: Vec<Packet> = std::iter::from_fn(|| self.0.poll_transmit()).collect();
            for answer in &answers {
                assert_eq!((answer.qp, answer.dst, answer.ev), (ENDS.qp, ENDS.src, packet.ev));
                assert_eq!((answer.wire_bytes, answer.marked), (ACK, false));
            }
            (answers.iter().map(|answer| answer.repr).collect(), whole.is_some())
        }

        fn answers(&mut self, now: Time, packet: &Packet) -> Vec<Repr> {
            self.take(now, packet).0
        }
    }

    fn data(psn: u32) -> Packet {
        let repr = Repr::data(psn).with_message(MessageId(7), 10).with_sent_at(us(psn.into()));
        Packet::new(ENDS.qp, ENDS.dst, repr).with_bytes(1_000).with_ev(9)
    }

    fn marked(psn: u32) -> Packet {
        Packet { marked: true, ..data(psn) }
    }

    fn ack(cumulative: u32, marked: bool, cause: u64) -> Repr {
        Repr::ack(cumulative).with_mark(marked).with_sent_at(us(cause))
    }

    fn nack(psn: u32, cause: u64) -> Repr {
        Repr::nack(psn).with_sent_at(us(cause))
    }

    #[test]
    fn an_ack_for_every_fourth_packet_and_for_the_last() {
        let mut receiver = Receiver::new(config());
        let took: Vec<_> = (0..10).map(|psn| receiver.take(us(psn.into()), &data(psn))).collect();
        let acked: Vec<_> = took.iter().flat_map(|(answers, _)| answers.clone()).collect();
        assert_eq!(acked, [ack(4, false, 3), ack(8, false, 7), ack(10, false, 9)]);
        let whole: Vec<bool> = took.iter().map(|&(_, whole)| whole).collect();
        assert_eq!(whole, [false, false, false, false, false, false, false, false, false, true]);
    }

    #[test]
    fn an_ack_at_once_when_asked_and_for_a_duplicate() {
        let mut receiver = Receiver::new(config());
        let first = Packet { repr: data(0).repr.with_ack_now(true), ..data(0) };
        assert_eq!(receiver.answers(us(0), &first), [ack(1, false, 0)]);
        assert_eq!(receiver.answers(us(1), &data(1)), []);
        assert_eq!(receiver.take(us(2), &data(0)), (vec![ack(2, false, 0)], false));
        // That ACK covers PSN 1, so the next ACK follows four packets later.
        for psn in 2..5 {
            assert_eq!(receiver.answers(us(3), &data(psn)), []);
        }
        assert_eq!(receiver.answers(us(4), &data(5)), [ack(6, false, 5)]);
    }

    #[test]
    fn one_nack_for_each_expected_psn_and_again_after_the_interval() {
        let mut receiver = Receiver::new(config());
        assert_eq!(receiver.answers(us(0), &data(0)), []);
        assert_eq!(receiver.answers(us(1), &data(2)), [nack(1, 2)]);
        assert_eq!(receiver.answers(us(2), &data(3)), []);
        assert_eq!(receiver.answers(us(500), &data(4)), []);
        assert_eq!(receiver.answers(us(501), &data(5)), [nack(1, 5)]);
        // PSNs 2 and higher were discarded. Once PSN 1 has arrived, PSN 2 is missing.
        assert_eq!(receiver.answers(us(502), &data(1)), []);
        assert_eq!(receiver.answers(us(503), &data(3)), [nack(2, 3)]);
        assert_eq!(receiver.answers(us(504), &data(4)), []);
    }

    #[test]
    fn a_trimmed_packet_is_a_gap() {
        let mut receiver = Receiver::new(config());
        let trimmed = |psn| Packet { repr: Repr::trimmed(psn).with_sent_at(us(1)), ..data(psn) };
        assert_eq!(receiver.answers(us(0), &trimmed(0)), [nack(0, 1)]);
        assert_eq!(receiver.answers(us(1), &data(1)), []);
        assert_eq!(receiver.answers(us(2), &data(0)), []);
        assert_eq!(receiver.answers(us(3), &trimmed(0)), [ack(1, false, 1)]);
    }

    #[test]
    fn one_cnp_in_an_interval_whatever_else_the_packet_causes() {
        let mut receiver = Receiver::new(config());
        assert_eq!(receiver.answers(us(10), &marked(0)), [Repr::Cnp]);
        assert_eq!(receiver.answers(us(59), &marked(1)), []);
        assert_eq!(receiver.answers(us(60), &marked(3)), [nack(2, 3), Repr::Cnp]);
        assert_eq!(receiver.answers(us(109), &marked(0)), [ack(2, true, 0)]);
        assert_eq!(receiver.answers(us(110), &marked(0)), [ack(2, true, 0), Repr::Cnp]);
    }

    /// The CNP interval ends at 60 us, 50 us after the first CNP. With `trailing_cnp`, the mark at 30 us causes one
    /// CNP. The first packet that arrives at 60 us or later triggers this CNP.
    #[test]
    fn a_trailing_cnp_tells_of_a_mark_within_the_interval() {
        for trailing_cnp in [false, true] {
            let mut receiver = Receiver::new(GoBackNConfig { trailing_cnp, ..config() });
            assert_eq!(receiver.answers(us(10), &marked(0)), [Repr::Cnp]);
            assert_eq!(receiver.answers(us(30), &marked(1)), []);
            assert_eq!(receiver.answers(us(59), &data(2)), []);
            let cnp: &[Repr] = if trailing_cnp { &[Repr::Cnp] } else { &[] };
            assert_eq!(receiver.answers(us(60), &data(3)), [&[ack(4, false, 3)], cnp].concat());
            assert_eq!(receiver.answers(us(200), &data(4)), []);
        }
    }

    #[test]
    fn without_cnps_a_mark_comes_back_in_an_ack() {
        let no_cnps = GoBackNConfig { cnp_interval: Span::Time(Duration::ZERO), ..config() };
        let mut receiver = Receiver::new(no_cnps);
        assert_eq!(receiver.answers(us(0), &data(0)), []);
        assert_eq!(receiver.answers(us(1), &marked(1)), [ack(2, true, 1)]);
        assert_eq!(receiver.answers(us(2), &marked(2)), [ack(3, true, 2)]);
        // The mark of a discarded packet is not echoed.
        assert_eq!(receiver.answers(us(3), &marked(4)), [nack(3, 4)]);
        assert_eq!(receiver.answers(us(4), &marked(5)), []);
    }
}

mod sending {
    use super::*;

    const HUGE: u64 = 1 << 40;

    fn sender(cc: AnyCc) -> GoBackNSender {
        sender_with(config(), cc)
    }

    fn sender_with(config: GoBackNConfig, cc: AnyCc) -> GoBackNSender {
        GoBackNSender::new(&config, &facts(100), ENDS, cc, AnyLb::ecmp(9))
    }

    fn dcqcn(config: DcqcnConfig) -> AnyCc {
        CcConfig::Dcqcn(config).build(&facts(100))
    }

    /// The PSNs that are sent now, in order, and the PSNs that request an ACK.
    fn burst(sender: &mut GoBackNSender, now: Time) -> (Vec<u32>, Vec<u32>) {
        let (mut psns, mut asking) = (Vec::new(), Vec::new());
        while let Some(packet) = sender.poll_transmit(now) {
            let Repr::Data { psn, sent_at, ack_now, .. } = packet.repr else { panic!("{packet:?}") };
            assert_eq!((packet.qp, packet.dst, packet.ev, sent_at), (ENDS.qp, ENDS.dst, 9, now));
            psns.push(psn);
            asking.extend(ack_now.then_some(psn));
        }
        (psns, asking)
    }

    fn answer(sender: &mut GoBackNSender, now: Time, repr: Repr) {
        let packet = Packet::new(ENDS.qp, ENDS.src, repr).with_bytes(ACK).with_ev(9);
        sender.handle_packet(now, &packet);
    }

    fn ack(cumulative: u32) -> Repr {
        Repr::ack(cumulative)
    }

    fn nack(psn: u32) -> Repr {
        Repr::nack(psn)
    }

    fn acknowledged(sender: &mut GoBackNSender) -> Vec<u32> {
        std::iter::from_fn(|| sender.poll_acknowledged()).map(|message| message.0).collect()
    }

    fn psns(range: std::ops::Range<u32>) -> Vec<u32> {
        range.collect()
    }

    /// Posts three messages: one of 3 packets, one of no bytes, and one of 2 packets. The last packet carries a single
    /// byte.
    fn post_three(sender: &mut GoBackNSender) {
        sender.post(MessageId(10), 3 * 936).unwrap();
        sender.post(MessageId(11), 0).unwrap();
        sender.post(MessageId(12), 937).unwrap();
    }

    #[test]
    fn messages_are_cut_and_acknowledged_whole() {
        let mut sender = sender(AnyCc::constant(HUGE));
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
        answer(&mut sender, us(4), ack(6));
        assert_eq!(acknowledged(&mut sender), [12]);
        assert_eq!(sender.next_timeout(), None);
    }

    #[test]
    fn the_window_bounds_what_is_in_flight_and_its_last_packet_asks() {
        let mut sender = sender(AnyCc::constant(2_500));
        post_three(&mut sender);
        // The window is 2,500 B. 2,000 B in flight are below it, so a third packet is sent.
        assert_eq!(burst(&mut sender, us(0)), (psns(0..3), vec![2]));
        // After this ACK, 2,000 B are in flight. With the next packet, which has 64 B, 2,064 B are in flight. Both
        // numbers are below 2,500 B, so two packets are sent.
        answer(&mut sender, us(1), ack(1));
        assert_eq!(burst(&mut sender, us(1)), (psns(3..5), vec![4]));
        // After this ACK 2,064 B are in flight, so one more packet is sent.
        answer(&mut sender, us(2), ack(2));
        assert_eq!(burst(&mut sender, us(2)), (psns(5..6), vec![5]));
        answer(&mut sender, us(3), ack(6));
        assert_eq!(acknowledged(&mut sender), [10, 11, 12]);
        // A window smaller than a packet admits one packet at a time.
        let mut sender = super::sending::sender(AnyCc::constant(1));
        post_three(&mut sender);
        assert_eq!(burst(&mut sender, us(0)), (psns(0..1), vec![0]));
    }

    #[test]
    fn a_nack_acknowledges_and_goes_back() {
        let mut sender = sender(AnyCc::constant(HUGE));
        post_three(&mut sender);
        assert_eq!(burst(&mut sender, us(0)).0, psns(0..6));
        answer(&mut sender, us(1), nack(4));
        assert_eq!(acknowledged(&mut sender), [10, 11]);
        assert_eq!(sender.next_timeout(), None, "nothing is in flight");
        assert_eq!(burst(&mut sender, us(1)), (psns(4..6), vec![5]));
        assert_eq!(sender.counters().retransmissions, 2);
        // An older NACK has no effect.
        answer(&mut sender, us(2), nack(2));
        assert_eq!(burst(&mut sender, us(2)).0, []);
        assert_eq!((sender.counters().retransmissions, sender.counters().timeouts), (2, 0));
        answer(&mut sender, us(3), ack(6));
        assert_eq!(acknowledged(&mut sender), [12]);
    }

    #[test]
    fn an_ack_from_before_going_back_saves_what_it_names() {
        let mut sender = sender(AnyCc::constant(HUGE));
        post_three(&mut sender);
        assert_eq!(burst(&mut sender, us(0)).0, psns(0..6));
        answer(&mut sender, us(1), nack(1));
        let again = sender.poll_transmit(us(1)).map(|packet| packet.repr);
        assert!(matches!(again, Some(Repr::Data { psn: 1, .. })));
        answer(&mut sender, us(2), ack(5));
        assert_eq!(acknowledged(&mut sender), [10, 11]);
        assert_eq!(burst(&mut sender, us(2)).0, [5]);
        // An ACK beyond the last packet sent acknowledges only the packets that were sent.
        answer(&mut sender, us(3), ack(60));
        assert_eq!(acknowledged(&mut sender), [12]);
        assert_eq!(sender.counters().retransmissions, 2);
    }

    #[test]
    fn the_rto_runs_from_the_last_new_acknowledgement() {
        let mut sender = sender(AnyCc::constant(HUGE));
        assert_eq!(sender.next_timeout(), None);
        post_three(&mut sender);
        assert_eq!(burst(&mut sender, us(100)).0, psns(0..6));
        assert_eq!(sender.next_timeout(), Some(us(4_100)));
        answer(&mut sender, us(200), ack(4));
        assert_eq!(sender.next_timeout(), Some(us(4_200)));
        answer(&mut sender, us(300), ack(4));
        assert_eq!(sender.next_timeout(), Some(us(4_200)), "that was nothing new");
        sender.handle_timeout(us(4_199));
        assert_eq!(sender.counters().timeouts, 0);
        sender.handle_timeout(us(4_200));
        assert_eq!(sender.counters().timeouts, 1);
        assert_eq!(sender.next_timeout(), None);
        assert_eq!(burst(&mut sender, us(4_300)).0, psns(4..6));
        assert_eq!(sender.next_timeout(), Some(us(8_300)));
        assert_eq!(sender.counters().retransmissions, 2);
    }

    #[test]
    fn a_queue_pair_has_two_to_the_32_psns() {
        let mut sender = sender(AnyCc::constant(HUGE));
        sender.post(MessageId(1), (u64::from(u32::MAX) - 1) * 936).unwrap();
        assert!(sender.post(MessageId(2), 2 * 936).is_err());
        sender.post(MessageId(3), 936).unwrap();
    }

    /// 1,000 B take 80 ns at 100 Gb/s, 160 ns at 50 Gb/s, and 106,666.67 ps at 75 Gb/s, which is rounded up to 106,667
    /// ps.
    #[test]
    fn packets_keep_the_distance_that_the_rate_says() {
        let ps = Time;
        let mut sender = sender(dcqcn(DcqcnConfig::paper()));
        assert!(sender.paces());
        sender.post(MessageId(1), 100 * 936).unwrap();
        assert_eq!(burst(&mut sender, ps(0)).0, [0]);
        assert_eq!(sender.next_timeout(), Some(ps(80_000)));
        assert_eq!(burst(&mut sender, ps(79_999)).0, []);
        assert_eq!(burst(&mut sender, ps(80_000)).0, [1]);
        // A cut of the rate also affects the packet that waits.
        assert_eq!(burst(&mut sender, ps(80_001)).0, []);
        answer(&mut sender, ps(100_000), Repr::Cnp);
        assert_eq!(burst(&mut sender, ps(160_000)).0, []);
        assert_eq!(sender.next_timeout(), Some(ps(240_000)));
        assert_eq!(burst(&mut sender, ps(239_999)).0, []);
        assert_eq!(burst(&mut sender, ps(240_000)).0, [2]);
        // The rate rises to (100 + 50)/2 Gb/s at 55.1 us, so that the waiting packet is tried again then.
        assert_eq!(burst(&mut sender, ps(55_050_000)).0, [3]);
        assert_eq!(burst(&mut sender, ps(55_060_000)).0, []);
        assert_eq!(sender.next_timeout(), Some(ps(55_100_000)));
        sender.handle_timeout(ps(55_100_000));
        assert_eq!(burst(&mut sender, ps(55_100_000)).0, []);
        assert_eq!(sender.next_timeout(), Some(ps(55_156_667)));
        assert_eq!(burst(&mut sender, ps(55_156_666)).0, []);
        assert_eq!(burst(&mut sender, ps(55_156_667)).0, [4]);
        assert_eq!(sender.counters(), Default::default());
    }

    /// A timeout for a paced packet is not repeated, even if the packet was not sent.
    #[test]
    fn a_packet_that_may_go_sets_no_timer() {
        let mut sender = sender(dcqcn(DcqcnConfig::paper()));
        sender.post(MessageId(1), 100 * 936).unwrap();
        assert_eq!(burst(&mut sender, us(0)).0, [0]);
        sender.handle_timeout(Time(80_000));
        assert_eq!(sender.next_timeout(), Some(us(4_000)), "the RTO");
    }

    #[test]
    fn a_marked_ack_is_a_cnp_only_when_there_are_none() {
        let no_cnps = GoBackNConfig { cnp_interval: Span::Time(Duration::ZERO), ..config() };
        for (config, gap) in [(config(), 80_000), (no_cnps, 160_000)] {
            let mut sender = sender_with(config, dcqcn(DcqcnConfig::paper()));
            sender.post(MessageId(1), 100 * 936).unwrap();
            assert_eq!(burst(&mut sender, us(1)).0, [0]);
            let marked = Repr::ack(1).with_mark(true).with_sent_at(us(1));
            answer(&mut sender, us(1), marked);
            assert_eq!(burst(&mut sender, Time(1_000_000 + gap - 1)).0, []);
            assert_eq!(burst(&mut sender, Time(1_000_000 + gap)).0, [1]);
        }
    }

    /// Four packets take half an RTO at 2 * 4 * 8,000 b / 4 ms = 16 Mb/s. Below this rate, each packet requests an ACK,
    /// so that a receiver that waits for four packets does not let the RTO expire.
    #[test]
    fn a_slow_sender_asks_for_every_ack() {
        for (mbps, asks) in [(16, false), (15, true)] {
            let slow = DcqcnConfig { min_rate: Pace::Rate(Rate(mbps * 1_000_000)), ..DcqcnConfig::paper() };
            let mut sender = sender(dcqcn(slow));
            sender.post(MessageId(1), 100 * 936).unwrap();
            (0..100).for_each(|_| answer(&mut sender, us(1), Repr::Cnp));
            let (sent, asking) = burst(&mut sender, us(1));
            assert_eq!((sent.len(), asking.len()), (1, usize::from(asks)), "{mbps} Mb/s");
        }
    }
}
