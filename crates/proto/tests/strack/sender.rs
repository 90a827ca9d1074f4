//! Section 3.3.2: the bytes in flight, and the three ways to detect a loss.

use super::*;
use anabranch_proto::cc::{CongestionControl, LossReport};
use anabranch_proto::transport::{Sender as _, StrackSender};

fn sender(window: u64, packets: u64) -> StrackSender {
    sender_with(AnyCc::constant(window * PACKET), packets)
}

fn sender_with(cc: AnyCc, packets: u64) -> StrackSender {
    let mut sender = StrackSender::new(&config(), &FACTS, ENDS, cc, AnyLb::ecmp(9));
    sender.post(MESSAGE, packets * (PACKET - HEADER)).unwrap();
    sender
}

/// The PSNs that are sent now, and whether each requests an ACK.
fn requests(sender: &mut StrackSender, us: u64) -> Vec<(u32, bool)> {
    let mut sent = Vec::new();
    while let Some(packet) = sender.poll_transmit(at(us)) {
        let Repr::Data { psn, ack_now, .. } = packet.repr else { panic!("{packet:?}") };
        sent.push((psn, ack_now));
    }
    sent
}

fn send(sender: &mut StrackSender, us: u64) -> Vec<u32> {
    requests(sender, us).iter().map(|&(psn, _)| psn).collect()
}

/// Passes a SACK that arrives at `us`, a round trip of 12 us after its packet was sent.
fn sack(sender: &mut StrackSender, us: u64, expected: u32, received: u64, packets: u32, out_of_order: u16) {
    let sent_at = at(us.saturating_sub(12));
    answer(sender, us, sent_at, (expected, expected, received), packets, out_of_order, false);
}

fn answer(
    sender: &mut StrackSender,
    us: u64,
    sent_at: Time,
    (expected, base, received): (u32, u32, u64),
    packets: u32,
    out_of_order: u16,
    probe: bool,
) {
    let (bytes_received, cause) = (packets * PACKET as u32, SackCause::new(false, probe));
    let repr = Repr::sack(expected)
        .with_received(base, received)
        .with_counts(bytes_received, out_of_order, cause)
        .with_sent_at(sent_at);
    let packet = Packet::new(ENDS.qp, ENDS.src, repr).with_bytes(ACK as u16).with_ev(9);
    sender.handle_packet(at(us), &packet);
}

/// Lets the timer fire, which must be due at `us`. Returns the base of the probe that this causes, if there is one.
fn fire(sender: &mut StrackSender, us: u64) -> Option<u32> {
    assert_eq!(sender.next_timeout(), Some(at(us)));
    sender.handle_timeout(at(us));
    if sender.next_timeout() == Some(at(us)) {
        panic!("due again at once");
    }
    let packet = sender.poll_transmit(at(us))?;
    let Repr::Probe { base, sent_at, .. } = packet.repr else { panic!("{packet:?}") };
    assert_eq!((sent_at, u64::from(packet.wire_bytes), packet.ev, packet.dst), (at(us), HEADER, 9, ENDS.dst));
    Some(base)
}

/// Equation 1: the bytes in flight are the bytes sent minus the bytes that the receiver has reported.
#[test]
fn what_is_in_flight_was_sent_and_not_received() {
    let mut sender = sender(4, 100);
    assert_eq!(requests(&mut sender, 0), [(0, false), (1, false), (2, false), (3, true)]);
    assert_eq!(sender.in_flight(), 4_000);
    // The byte count decides, whatever the bitmap shows.
    sack(&mut sender, 12, 0, 0, 2, 2);
    assert_eq!(requests(&mut sender, 12), [(4, false), (5, true)]);
    sack(&mut sender, 13, 4, 0, 5, 0);
    assert_eq!(send(&mut sender, 13), [6, 7, 8]);
    // The SACK above overtook this one.
    sack(&mut sender, 14, 1, bits([1]), 3, 1);
    assert_eq!(sender.in_flight(), 4_000);
    assert_eq!(send(&mut sender, 14), []);
}

#[test]
fn a_window_below_a_packet_lets_one_through() {
    let mut sender = sender_with(AnyCc::constant(1), 3);
    assert_eq!(requests(&mut sender, 0), [(0, true)]);
    sack(&mut sender, 12, 1, 0, 1, 0);
    assert_eq!(requests(&mut sender, 12), [(1, true)]);
}

#[test]
fn the_last_packet_asks_for_an_ack() {
    let mut sender = sender(100, 3);
    assert_eq!(requests(&mut sender, 0), [(0, false), (1, false), (2, true)]);
    sack(&mut sender, 12, 3, 0, 3, 0);
    assert_eq!(sender.poll_acknowledged(), Some(MESSAGE));
    assert_eq!((sender.poll_acknowledged(), sender.in_flight(), sender.next_timeout()), (None, 0, None));
}

/// The threshold is a window of packets. A recovery lasts until every PSN is acknowledged up to the highest PSN that
/// was known to have arrived when the recovery began.
#[test]
fn more_packets_out_of_order_than_a_window_mean_loss() {
    let mut sender = sender(10, 100);
    assert_eq!(send(&mut sender, 0).len(), 10);
    // PSNs 0, 3 and 12 are lost.
    sack(&mut sender, 12, 0, bits([1, 2, 4, 5, 6, 7, 8, 9]), 8, 8);
    assert_eq!(send(&mut sender, 12), [10, 11, 12, 13, 14, 15, 16, 17]);
    let early = bits([1, 2, 4, 5, 6, 7, 8, 9, 10, 11]);
    sack(&mut sender, 20, 0, early, 10, 10);
    assert_eq!(send(&mut sender, 20), [18, 19]);
    assert!(!sender.is_recovering(), "10 are not more than the window");
    sack(&mut sender, 21, 0, early | bits([13]), 11, 11);
    assert!(sender.is_recovering());
    // PSNs 0, 3 and 12 are missing below 13, and no longer count as in flight. PSNs 14 to 19 are above 13 and are in
    // flight.
    assert_eq!(sender.in_flight(), 6_000);
    assert_eq!(send(&mut sender, 21), [0, 3, 12, 20]);
    assert_eq!(sender.counters().retransmissions, 3);
    // The count is above the threshold during the recovery too, but no PSN below 13 is declared lost again.
    sack(&mut sender, 30, 0, early | bits(13..=19), 17, 17);
    assert_eq!(send(&mut sender, 30), (21..27).collect::<Vec<_>>());
    // PSNs 3 and 12 arrive, but PSN 0 is still missing.
    sack(&mut sender, 33, 0, early | bits([3, 12]) | bits(13..=20), 20, 20);
    assert_eq!(send(&mut sender, 33), [27, 28, 29]);
    assert!(sender.is_recovering());
    sack(&mut sender, 34, 21, 0, 21, 0);
    assert!(!sender.is_recovering());
    assert_eq!((send(&mut sender, 34), sender.in_flight()), (vec![30], 10_000));
    assert_eq!(sender.counters().retransmissions, 3);
}

/// The threshold is at least min_threshold, 5 packets, although the window has only 2.
#[test]
fn a_small_window_waits_for_five_packets() {
    let mut sender = sender(2, 100);
    send(&mut sender, 0);
    for n in 1..=5 {
        sack(&mut sender, 12 + u64::from(n), 0, bits(1..=n), n, n as u16);
        assert_eq!(send(&mut sender, 12 + u64::from(n)), [n + 1]);
    }
    sack(&mut sender, 18, 0, bits(1..=6), 6, 6);
    assert_eq!(send(&mut sender, 18), [0, 7]);
}

/// The out-of-order counter of a SACK with an older ePSN is ignored. A saturated counter exceeds any threshold.
#[test]
fn counters_of_overtaken_sacks_mean_nothing() {
    let mut sender = sender(10, 100);
    send(&mut sender, 0);
    sack(&mut sender, 12, 3, bits([1]), 4, 1);
    sack(&mut sender, 13, 2, bits([2]), 3, 4_000);
    assert!(!sender.is_recovering());
    sack(&mut sender, 14, 3, bits([1]), 4, 11);
    assert!(sender.is_recovering());
    let mut sender = self::sender(10_000, 20_000);
    send(&mut sender, 0);
    sack(&mut sender, 12, 0, bits([1]), 4_094, 4_094);
    assert!(!sender.is_recovering());
    sack(&mut sender, 13, 0, bits([2]), 4_200, 4_095);
    assert!(sender.is_recovering());
}

#[test]
fn lost_packets_wait_for_the_window() {
    let mut sender = sender(8, 100);
    send(&mut sender, 0);
    sack(&mut sender, 12, 0, bits([7]), 1, 9);
    // PSNs 0 to 6 are lost, and nothing is in flight.
    assert_eq!(sender.in_flight(), 0);
    assert_eq!(requests(&mut sender, 12).last(), Some(&(8, true)));
    assert_eq!((sender.in_flight(), sender.counters().retransmissions), (8_000, 7));
}

/// A lost packet that waits for its retransmission is not sent again if a SACK reports its arrival first.
#[test]
fn a_loss_that_was_none_leaks_nothing() {
    let mut sender = sender(10, 100);
    send(&mut sender, 0);
    sack(&mut sender, 12, 0, bits([9]), 1, 11);
    assert_eq!(sender.in_flight(), 0);
    // PSNs 0 to 4 were retransmitted before a SACK reported that they had arrived, and PSNs 5 to 7 were not.
    for psn in 0..5 {
        let packet = sender.poll_transmit(at(12)).unwrap();
        assert!(matches!(packet.repr, Repr::Data { psn: sent, .. } if sent == psn));
    }
    sack(&mut sender, 13, 8, bits([1]), 9, 1);
    assert_eq!(sender.in_flight(), 0, "8 waits to be sent again; the rest has arrived");
    assert_eq!(send(&mut sender, 13), [8, 10, 11, 12, 13, 14, 15, 16, 17, 18], "no more than a window");
    sack(&mut sender, 25, 19, 0, 19, 0);
    assert_eq!((sender.in_flight(), sender.counters().retransmissions), (0, 6));
}

#[test]
fn a_probe_goes_out_when_no_sack_comes() {
    let mut sender = sender(4, 100);
    assert_eq!(sender.next_timeout(), None);
    send(&mut sender, 100);
    assert_eq!(fire(&mut sender, 136), Some(0));
    assert_eq!(fire(&mut sender, 172), Some(0), "that probe was lost too");
    // Any SACK restarts the probe timer, and the ePSN becomes the base of the probe.
    sack(&mut sender, 180, 2, 0, 2, 0);
    assert_eq!(fire(&mut sender, 216), Some(2), "ahead of the data that the window admits");
}

#[test]
fn a_probe_that_waits_for_the_wire_is_called_off_by_a_sack() {
    let mut sender = sender(4, 100);
    send(&mut sender, 0);
    sender.handle_timeout(at(36));
    sack(&mut sender, 37, 4, 0, 4, 0);
    assert_eq!(send(&mut sender, 37), [4, 5, 6, 7]);
}

/// Algorithm 1, lines 10-12, with `probe_takes_all`: packets that were sent before the probe and are missing in its
/// fast answer are lost, including the tail.
#[test]
fn a_fast_answer_to_a_probe_tells_of_losses() {
    let mut sender = sender(4, 5);
    send(&mut sender, 0);
    assert_eq!(fire(&mut sender, 36), Some(0));
    answer(&mut sender, 59, at(36), (0, 0, bits([1])), 1, 1, true);
    assert!(sender.is_recovering());
    assert_eq!(send(&mut sender, 59), [0, 2, 3, 4]);
    assert_eq!(sender.counters().retransmissions, 3);
}

/// By the words of section 3.3.2, the answer to a probe reveals only losses below the highest received PSN. The lost
/// tail waits for the timeout.
#[test]
fn by_the_letter_a_probe_tells_nothing_of_the_tail() {
    let config = StrackConfig { probe_takes_all: false, ..config() };
    let mut sender = StrackSender::new(&config, &FACTS, ENDS, AnyCc::constant(4 * PACKET), AnyLb::ecmp(9));
    sender.post(MESSAGE, 4 * (PACKET - HEADER)).unwrap();
    send(&mut sender, 0);
    assert_eq!(fire(&mut sender, 36), Some(0));
    answer(&mut sender, 59, at(36), (0, 0, bits([1])), 1, 1, true);
    assert_eq!(send(&mut sender, 59), [0]);
    sack(&mut sender, 71, 2, 0, 2, 0);
    assert!(!sender.is_recovering());
    assert_eq!(send(&mut sender, 71), []);
}

#[test]
fn other_answers_to_probes_tell_nothing() {
    let probed = || {
        let mut sender = sender(4, 100);
        send(&mut sender, 0);
        assert_eq!(fire(&mut sender, 36), Some(0));
        sender
    };
    let mut slow = probed();
    answer(&mut slow, 60, at(36), (0, 0, bits([1])), 1, 1, true);
    assert_eq!(send(&mut slow, 60), [4], "24 us are not below two base RTTs");

    let mut not_alone = probed();
    sack(&mut not_alone, 40, 0, bits([1]), 1, 1);
    answer(&mut not_alone, 50, at(36), (0, 0, bits([1])), 1, 1, true);
    assert_eq!(send(&mut not_alone, 50), [4], "another SACK came since");

    let mut old = probed();
    assert_eq!(fire(&mut old, 72), Some(0));
    answer(&mut old, 73, at(36), (0, 0, bits([1])), 1, 1, true);
    assert_eq!(send(&mut old, 73), [4], "not the last probe");
}

/// Packets that are sent after the probe cannot be declared lost by its answer: new packets have higher PSNs, and a
/// retransmission invalidates the probe.
#[test]
fn a_probe_says_nothing_of_what_was_sent_after_it() {
    let mut sender = sender(4, 3);
    send(&mut sender, 0);
    assert_eq!(fire(&mut sender, 36), Some(0));
    sender.post(MessageId(4), 1).unwrap();
    assert_eq!(send(&mut sender, 37), [3]);
    answer(&mut sender, 50, at(36), (3, 0, 0b111), 3, 0, true);
    assert_eq!((send(&mut sender, 50), sender.is_recovering()), (vec![], false));

    let mut sender = self::sender(4, 4);
    send(&mut sender, 0);
    // The timer is handled late, when both a probe and the timeout are due. The probe is sent first, then the packets
    // that timed out.
    sender.handle_timeout(at(250));
    assert!(matches!(sender.poll_transmit(at(250)).unwrap().repr, Repr::Probe { .. }));
    assert_eq!(send(&mut sender, 250), [0, 1, 2, 3]);
    answer(&mut sender, 262, at(250), (0, 0, 0), 0, 0, true);
    assert_eq!((send(&mut sender, 262), sender.counters().retransmissions), (vec![], 4));
}

/// The RTO counts from the last increase of the ePSN, which is at 20 us here. SACKs without a higher ePSN do not
/// restart the timer.
#[test]
fn everything_is_lost_when_the_epsn_stands_still_for_an_rto() {
    let mut sender = sender(4, 100);
    send(&mut sender, 0);
    sack(&mut sender, 20, 1, 0, 1, 0);
    assert_eq!(send(&mut sender, 20), [4]);
    for us in (50..270).step_by(30) {
        sack(&mut sender, us, 1, bits([2]), 2, 1);
        send(&mut sender, us);
        assert_eq!(sender.counters().timeouts, 0);
    }
    // PSNs 1, 2, 4 and 5 are unacknowledged, and the last SACK arrived at 260 us.
    assert_eq!(fire_data(&mut sender, 270), [1, 2, 4, 5]);
    assert_eq!((sender.counters().timeouts, sender.counters().retransmissions), (1, 4));
    assert!(sender.is_recovering());
    assert_eq!(fire(&mut sender, 296), Some(1), "no SACK since 260 us");
    sack(&mut sender, 300, 6, 0, 6, 0);
    assert!(!sender.is_recovering());
}

fn fire_data(sender: &mut StrackSender, us: u64) -> Vec<u32> {
    assert_eq!(sender.next_timeout(), Some(at(us)));
    sender.handle_timeout(at(us));
    send(sender, us)
}

#[test]
fn idle_time_does_not_count() {
    let mut sender = sender(4, 2);
    send(&mut sender, 0);
    sack(&mut sender, 12, 2, 0, 2, 0);
    assert_eq!(sender.next_timeout(), None);
    sender.post(MessageId(4), 1).unwrap();
    assert_eq!(send(&mut sender, 1_000), [2]);
    assert_eq!(sender.next_timeout(), Some(at(1_036)));
}

/// A congestion control whose rate is a packet in 8 us, and doubles at 20 us.
struct Paced;

impl CongestionControl for Paced {
    fn window(&self) -> u64 {
        100 * PACKET
    }
    fn rate(&mut self, now: Time) -> Option<Rate> {
        Some(Rate::from_gbps(if now < at(20) { 1 } else { 2 }))
    }
    fn next_increase(&self) -> Option<Time> {
        Some(at(20))
    }
    fn handle_ack(&mut self, _acked: &AckReport) {}
    fn handle_loss(&mut self, _now: &LossReport) {}
}

#[test]
fn a_rate_keeps_packets_apart() {
    let mut sender = sender_with(AnyCc::Custom(Box::new(Paced)), 10);
    assert!(sender.paces());
    for (us, psn) in [(0, 0), (8, 1), (16, 2)] {
        assert_eq!(send(&mut sender, us), [psn]);
    }
    assert_eq!(sender.next_timeout(), Some(at(20)), "24 us, but the rate rises before");
    sender.handle_timeout(at(20));
    assert_eq!(send(&mut sender, 20), [3]);
}
