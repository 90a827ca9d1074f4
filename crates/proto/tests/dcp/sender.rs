use super::*;
use anabranch_proto::cc::{AckReport, CcConfig, CongestionControl, DcqcnConfig, LossReport};
use anabranch_proto::lb::LoadBalancer;
use anabranch_proto::transport::SenderCounters;
use std::sync::{Arc, Mutex};

#[test]
fn messages_are_cut_and_acknowledged_by_their_msn() {
    let mut sender = sender(config());
    sender.post(MessageId(20), 3_000).unwrap();
    sender.post(MessageId(10), 0).unwrap();
    sender.post(MessageId(30), 1_001).unwrap();
    let sent: Vec<_> = std::iter::from_fn(|| sender.poll_transmit(us(1)))
        .map(|packet| match packet.repr {
            Repr::Data { psn, message, message_packets, ack_now, msn, .. } => {
                (psn, message.0, message_packets, packet.wire_bytes, ack_now, msn.number())
            }
            other => panic!("{other:?}"),
        })
        .collect();
    let expected = [
        (0, 20, 3, 1_057, true, 0),
        (1, 20, 3, 1_057, true, 0),
        (2, 20, 3, 1_057, true, 0),
        (3, 10, 1, 57, true, 1),
        (4, 30, 2, 1_057, true, 2),
        (5, 30, 2, 58, true, 2),
    ];
    assert_eq!(sent, expected);
    answer(&mut sender, us(2), ack(0));
    assert_eq!(acknowledged(&mut sender), []);
    answer(&mut sender, us(2), ack(2));
    assert_eq!(acknowledged(&mut sender), [20, 10]);
    answer(&mut sender, us(2), ack(1));
    answer(&mut sender, us(2), ack(9));
    assert_eq!(acknowledged(&mut sender), [30]);
    assert_eq!(sender.next_timeout(), None);
    assert_eq!(sender.counters(), SenderCounters::default());
}

/// Section 4.5: the counter has 14 bits. A message with more packets than the counter can count is split, and only its
/// last request has a CQE.
#[test]
fn a_message_beyond_the_counter_goes_in_parts() {
    let mut sender = sender(config());
    sender.post(MessageId(5), 2 * 16_383 * PAYLOAD + 1).unwrap();
    let mut parts: Vec<(u32, u32, bool, u32)> = Vec::new();
    while let Some(packet) = sender.poll_transmit(us(0)) {
        let Repr::Data { message_packets, ack_now, msn, message: MessageId(5), .. } = packet.repr else {
            panic!("{packet:?}");
        };
        match parts.last_mut() {
            Some(last) if last.0 == msn.number() => last.3 += 1,
            _ => parts.push((msn.number(), message_packets, ack_now, 1)),
        }
    }
    assert_eq!(parts, [(0, 16_383, false, 16_383), (1, 16_383, false, 16_383), (2, 1, true, 1)]);
    answer(&mut sender, us(1), ack(2));
    assert_eq!(acknowledged(&mut sender), []);
    answer(&mut sender, us(1), ack(3));
    assert_eq!(acknowledged(&mut sender), [5]);
    // A message of 16,383 packets, the most that the counter can count, is a single request. Its MSN is 3.
    sender.post(MessageId(6), 16_383 * PAYLOAD).unwrap();
    assert_eq!(send(&mut sender, us(2)).into_iter().map(|(_, msn, _)| msn).max(), Some(3));
}

/// Section 4.3: a header-only packet causes the retransmission of its own data packet only. The retransmission is sent
/// ahead of new data.
#[test]
fn a_header_brings_its_packet_and_no_other() {
    let mut sender = narrowed(config(), 6 * PACKET);
    post(&mut sender, [4, 4]);
    assert_eq!(psns(&mut sender, us(0)), range(0..6));
    answer(&mut sender, us(1), header_only(2, 0, 0));
    answer(&mut sender, us(1), header_only(5, 1, 0));
    // Both packets are out of flight until they are retransmitted, but this makes no room for others.
    assert_eq!(send(&mut sender, us(1)), [(2, 0, 0), (5, 1, 0)]);
    answer(&mut sender, us(2), header_only(2, 0, 0));
    answer(&mut sender, us(2), ack(1));
    assert_eq!(psns(&mut sender, us(2)), [6, 7], "complete, after all");
    assert_eq!(sender.counters().retransmissions, 2);
    // A header-only packet has no effect if no packet with its PSN, MSN and retry number was sent.
    let mut sender = super::sender(config());
    post(&mut sender, [4]);
    assert!(sender.poll_transmit(us(3)).is_some());
    for (psn, number, retry) in [(1, 0, 0), (0, 1, 0), (0, 9, 0), (0, 0, 1)] {
        answer(&mut sender, us(3), header_only(psn, number, retry));
    }
    assert_eq!(psns(&mut sender, us(3)), [1, 2, 3]);
    assert_eq!(sender.counters(), SenderCounters::default());
}

#[test]
fn a_peer_that_talks_nonsense() {
    let mut sender = narrowed(config(), 3 * PACKET);
    post(&mut sender, [2, 2]);
    assert_eq!(psns(&mut sender, us(0)), [0, 1, 2]);
    answer(&mut sender, us(1), ack(2));
    assert_eq!(acknowledged(&mut sender), [10], "what was not sent in full is not whole");
    assert_eq!(psns(&mut sender, us(1)), [3]);
    for _ in 0..3 {
        answer(&mut sender, us(2), header_only(2, 1, 0));
    }
    assert_eq!(psns(&mut sender, us(2)), [2, 2, 2]);
    answer(&mut sender, us(3), Repr::nack(0));
    answer(&mut sender, us(3), ack(u32::MAX));
    assert_eq!(acknowledged(&mut sender), [11]);
}

/// The receiver tracks 8 messages, whatever the window is.
#[test]
fn no_message_beyond_those_that_are_tracked() {
    let mut sender = sender(config());
    post(&mut sender, [2; 12]);
    assert_eq!(psns(&mut sender, us(0)), range(0..16));
    answer(&mut sender, us(1), ack(3));
    assert_eq!(psns(&mut sender, us(1)), range(16..22));
}

/// There is one ACK per request. Messages are therefore split into short requests. The window has room for about as
/// many of them as the receiver tracks.
#[test]
fn a_message_goes_as_requests_from_an_eighth_of_the_window_on() {
    let mut sender = windowed(config(), 18 * PACKET);
    post(&mut sender, [18, 2]);
    // The requests have 18 / 8 = 2 packets, and 8 of them are tracked.
    let sent = send(&mut sender, us(0));
    assert_eq!(sent.iter().map(|(psn, ..)| *psn).collect::<Vec<_>>(), range(0..16));
    assert_eq!(sent.iter().map(|(_, msn, _)| *msn).max(), Some(7));
    answer(&mut sender, us(1), ack(1));
    assert_eq!(psns(&mut sender, us(1)), [16, 17]);
    assert_eq!(acknowledged(&mut sender), [], "one request of nine");
    answer(&mut sender, us(2), ack(9));
    assert_eq!(acknowledged(&mut sender), [10]);
    assert_eq!(psns(&mut sender, us(2)), [18, 19]);
    // A message that fits into the window is split as well. Without the split, packets that have arrived would count as
    // in flight until the whole message is acknowledged.
    let mut sender = windowed(config(), 18 * PACKET);
    post(&mut sender, [10]);
    assert_eq!(send(&mut sender, us(0)).iter().map(|(_, msn, _)| *msn).max(), Some(4));
    // The share is an eighth of the window, here 20 packets. A message of less than two shares is not split. A message
    // of three and a half shares is split into three requests.
    for (packets, requests) in [(39, vec![39]), (70, vec![24, 24, 22])] {
        let mut sender = windowed(config(), 160 * PACKET);
        post(&mut sender, [packets]);
        let sent = send(&mut sender, us(0));
        let of = |number| sent.iter().filter(|(_, msn, _)| *msn == number).count();
        assert_eq!((0..requests.len() as u32).map(of).collect::<Vec<_>>(), requests);
    }
    // An eighth of a window of 80 packets is 10 packets. A message of 10 packets is a single request. In a window of 5
    // packets, a share is one packet.
    let mut sender = windowed(config(), 80 * PACKET);
    post(&mut sender, [10]);
    assert_eq!(send(&mut sender, us(0)).iter().map(|(_, msn, _)| *msn).max(), Some(0));
    let mut sender = windowed(config(), 5 * PACKET);
    post(&mut sender, [2, 4]);
    assert_eq!(psns(&mut sender, us(0)), range(0..5));
}

/// The bytes in flight do not exceed the window, or one packet if the window is smaller than a packet.
#[test]
fn a_window_bounds_what_is_in_flight() {
    for window in [1, PACKET, 3 * PACKET, 7 * PACKET + 1, 40 * PACKET, 200 * PACKET] {
        let mut sender = windowed(config(), window);
        post(&mut sender, [500]);
        let (mut sent, mut most, mut acked) = (0_u64, 0, 0);
        for time in 0.. {
            let requests = send(&mut sender, us(time));
            sent += requests.len() as u64;
            let Some((_, last, _)) = requests.last() else { break };
            most = most.max(requests.len() as u64 * PACKET);
            acked = last + 1;
            answer(&mut sender, us(time), ack(acked));
        }
        assert_eq!((sent, acknowledged(&mut sender)), (500, vec![10]), "{window}");
        assert!(most <= window.max(PACKET), "{most} B within {window} B");
        assert!(2 * most > window.min(400 * PACKET), "{most} B of {window} B");
        assert!(acked > 0);
    }
}

/// Section 4.3, challenge 2: congestion control governs retransmissions too, which wait in the RetransQ.
#[test]
fn the_rate_holds_for_copies() {
    let cc = CcConfig::Dcqcn(DcqcnConfig::paper()).build(&FACTS);
    let mut sender = DcpSender::new(&config(), &FACTS, ENDS, cc, AnyLb::ecmp(9));
    assert!(sender.paces() && !super::sender(config()).paces());
    post(&mut sender, [100]);
    // The time in picoseconds that 1,057 B take at 100 Gb/s.
    let gap = 84_560;
    for psn in 0..4 {
        assert_eq!(psns(&mut sender, Time(gap * u64::from(psn))), [psn]);
    }
    for psn in 0..4 {
        answer(&mut sender, Time(gap * 4 - 1), header_only(psn, 0, 0));
    }
    answer(&mut sender, Time(gap * 4 - 1), Repr::Cnp);
    assert_eq!(psns(&mut sender, Time(gap * 4)), []);
    assert_eq!(sender.next_timeout(), Some(Time(gap * 5)), "half the rate");
    for i in 0..4 {
        assert_eq!(psns(&mut sender, Time(gap * (5 + 2 * i) - 1)), []);
        sender.handle_timeout(Time(gap * (5 + 2 * i)));
        assert_eq!(psns(&mut sender, Time(gap * (5 + 2 * i))), [i as u32]);
    }
    assert_eq!(psns(&mut sender, Time(gap * 13 - 1)), []);
    assert_eq!(psns(&mut sender, Time(gap * 13)), [4]);
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn push(&self, what: String) {
        self.0.lock().unwrap().push(what);
    }
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl CongestionControl for Log {
    fn window(&self) -> u64 {
        HUGE
    }
    fn handle_cnp(&mut self, _: Time) {
        self.push("cnp".into());
    }
    fn handle_ack(&mut self, acked: &AckReport) {
        let AckReport { packets, bytes, marked, rtt, .. } = acked;
        self.push(format!("ack {packets} {bytes} {marked} {}", rtt.0 / 1_000_000));
    }
    fn handle_loss(&mut self, _: &LossReport) {
        self.push("loss".into());
    }
}

impl LoadBalancer for Log {
    fn next_ev(&mut self, _: Time, _: u64) -> u16 {
        9
    }
    fn handle_ack(&mut self, _: Time, ev: u16, marked: bool, rtt: Duration) {
        self.push(format!("path {ev} {marked} {}", rtt.0 / 1_000_000));
    }
    fn handle_timeout(&mut self, _: Time, _: Option<u16>) {
        self.push("path timeout".into());
    }
    fn handle_trim(&mut self, _: Time, ev: u16) {
        self.push(format!("path trim {ev}"));
    }
}

/// Section 4.3: retransmission and congestion control are decoupled, so that a trimmed packet is not reported as a loss
/// to the congestion control. A timeout is reported.
#[test]
fn what_congestion_control_and_the_balancer_hear() {
    let (log, paths) = (Log::default(), Log::default());
    let (cc, lb) = (AnyCc::Custom(Box::new(log.clone())), AnyLb::Custom(Box::new(paths.clone())));
    let mut sender = DcpSender::new(&config(), &FACTS, ENDS, cc, lb);
    sender.post(MessageId(1), 2_500).unwrap();
    post(&mut sender, [1]);
    assert_eq!(psns(&mut sender, us(0)), range(0..4));
    answer(&mut sender, us(1), header_only(1, 0, 0));
    assert_eq!((log.take(), paths.take()), (vec![], vec!["path trim 9".to_string()]));
    let marked = |cumulative| Repr::ack(cumulative).with_received(0, 0).with_mark(true).with_sent_at(us(2));
    answer(&mut sender, us(7), marked(1));
    assert_eq!(log.take(), [format!("ack 3 {} true 5", 2_500 + 3 * 57)], "marks have CNPs of their own");
    assert_eq!(paths.take(), ["path 9 true 5"]);
    answer(&mut sender, us(8), marked(1));
    assert_eq!((log.take(), paths.take()), (vec![], vec!["path 9 true 6".to_string()]));
    answer(&mut sender, us(8), Repr::Cnp);
    assert_eq!(log.take(), ["cnp"]);
    sender.handle_timeout(us(4_007));
    assert_eq!((log.take(), paths.take()), (vec!["loss".to_string()], vec!["path timeout".to_string()]));
}

#[test]
fn a_queue_pair_has_so_many_psns_and_msns() {
    let mut sender = super::sender(DcpConfig { counter_bits: 31, ..config() });
    sender.post(MessageId(1), (u64::from(u32::MAX) - 1) * PAYLOAD).unwrap();
    assert!(sender.post(MessageId(2), 2 * PAYLOAD).is_err());
    sender.post(MessageId(3), PAYLOAD).unwrap();
    // Each request has at most three packets, and a queue pair has at most 2^24 requests.
    let mut sender = super::sender(DcpConfig { counter_bits: 2, ..config() });
    sender.post(MessageId(1), (u64::from(Msn::LIMIT) - 2) * 3 * PAYLOAD).unwrap();
    assert!(sender.post(MessageId(2), 7 * PAYLOAD).is_err());
    sender.post(MessageId(3), 6 * PAYLOAD).unwrap();
    assert!(sender.post(MessageId(4), 0).is_err());
}
