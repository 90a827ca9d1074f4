//! Go-back-N recovery after a NACK or a timeout.

use super::*;
use anabranch_proto::transport::{MpRdmaReceiver, Receiver as _, Sender as _};

/// A sender with a constant window of `window` packets, which it filled at 1 us.
fn busy(window: u32) -> MpRdmaSender {
    let cc = anabranch_proto::cc::AnyCc::constant(u64::from(window) * 1_000);
    let mut sender = MpRdmaSender::new(&config(), &FACTS, ENDS, cc, paths(0.0));
    post(&mut sender, 1_000);
    assert_eq!(burst(&mut sender, us(1)), psns(0..window));
    sender
}

/// PSN 0 is lost. PSNs 1 to 63 are kept and acknowledged, and PSN 64 has no slot. Its NACK is the first answer that
/// causes PSN 0 to be retransmitted.
#[test]
fn a_bitmap_that_overflows_makes_the_sender_go_back() {
    let mut sender = busy(10);
    let mut receiver = MpRdmaReceiver::new(&config(), ENDS);
    let mut wire: Vec<Packet> = Vec::new();
    let mut answers = Vec::new();
    for psn in 1..10 {
        answer(&mut sender, us(9), 7, ack(psn, 0));
        wire.extend(std::iter::from_fn(|| sender.poll_transmit(us(9))));
        let _ = receiver.handle_packet(us(5), &data_like(psn));
        let _ = receiver.poll_transmit();
    }
    // Each answer clocks out one packet, so that the lost packet keeps its place in the window.
    for _ in 10..64 {
        let packet = wire.remove(0);
        receiver.handle_packet(us(9), &packet);
        let ack = receiver.poll_transmit().expect("an answer");
        assert!(matches!(ack.repr, Repr::Ack { cumulative: 0, .. }));
        sender.handle_packet(us(9), &ack);
        wire.extend(std::iter::from_fn(|| sender.poll_transmit(us(9))));
    }
    assert_eq!(sender.counters().retransmissions, 0);
    for packet in wire.drain(..) {
        receiver.handle_packet(us(17), &packet);
        answers.push(receiver.poll_transmit().expect("an answer"));
    }
    assert!(answers.iter().all(|answer| matches!(answer.repr, Repr::Nack { psn: 0, .. })));
    // The nine packets without a slot, PSNs 64 to 72, were sent before the first NACK arrived. Only the first NACK
    // makes the sender go back, and each of the nine NACKs clocks out a packet.
    let mut again = Vec::new();
    for (slot, answer) in answers.iter().enumerate() {
        sender.handle_packet(us(25), answer);
        again.extend(std::iter::from_fn(|| sender.poll_transmit(us(25))));
        assert_eq!(again.len(), slot + 1);
    }
    let first = again[0];
    assert!(matches!(first.repr, Repr::Data { psn: 0, .. }));
    assert_eq!((sender.counters().nacks, sender.counters().retransmissions), (9, 9));
    // The ePSN waited for PSN 0 and is now 64, so that PSN 64 is sent next.
    receiver.handle_packet(us(29), &first);
    let ack = receiver.poll_transmit().expect("an answer");
    assert!(matches!(ack.repr, Repr::Ack { cumulative: 64, .. }));
    sender.handle_packet(us(33), &ack);
    let next: Vec<u32> = burst(&mut sender, us(33));
    assert_eq!(next[0], 64);
}

fn data_like(psn: u32) -> Packet {
    let repr = Repr::data(psn).with_message(MessageId(1), 1_000).with_sent_at(us(1)).with_ack_now(true);
    Packet::new(ENDS.qp, ENDS.dst, repr).with_bytes(1_000).with_ev(7)
}

/// Everything from the ePSN on is retransmitted in order, and new packets follow. Two packets that were sent before the
/// NACK arrived count as in flight until they are answered.
#[test]
fn what_follows_is_sent_again_and_then_what_is_new() {
    let mut sender = busy(4);
    answer(&mut sender, us(9), 7, nack(1, us(1)));
    assert_eq!(burst(&mut sender, us(9)), [1, 2]);
    answer(&mut sender, us(10), 7, ack_of(2, 1, us(1)));
    assert_eq!(burst(&mut sender, us(10)), [3]);
    answer(&mut sender, us(10), 7, nack(1, us(1)));
    assert_eq!(burst(&mut sender, us(10)), [4]);
    answer(&mut sender, us(10), 7, ack_of(2, 1, us(1)));
    assert_eq!(burst(&mut sender, us(10)), [], "a third answer for two");
    answer(&mut sender, us(17), 7, ack_of(2, 1, us(9)));
    assert_eq!(burst(&mut sender, us(17)), [5]);
    assert_eq!(sender.counters().retransmissions, 3);
}

#[test]
fn a_nack_sends_by_the_path_on_which_it_came() {
    let mut sender = busy(4);
    answer(&mut sender, us(9), 7, nack(0, us(1)));
    assert_eq!(send(&mut sender, us(9)), [(0, 7)]);
    answer(&mut sender, us(9), 9_999, nack(0, us(1)));
    assert_eq!(send(&mut sender, us(9)), [(1, 9_999)]);
}

/// The NACK echoes the time at which its packet was sent, which decides whether the sender goes back.
#[test]
fn only_a_packet_that_left_since_makes_the_sender_go_back_again() {
    let mut sender = busy(4);
    answer(&mut sender, us(9), 7, nack(0, us(1)));
    assert_eq!(burst(&mut sender, us(9)), [0]);
    answer(&mut sender, us(10), 7, nack(0, Time(us(9).0 - 1)));
    assert_eq!(burst(&mut sender, us(10)), [1]);
    answer(&mut sender, us(17), 7, nack(0, us(9)));
    assert_eq!(burst(&mut sender, us(17)), [0]);
    answer(&mut sender, us(18), 7, nack(0, us(10)));
    assert_eq!(burst(&mut sender, us(18)), [1]);
}

/// An acknowledgement overtook the NACK. The acknowledgement does not cover the refused packet, and nothing but the
/// NACK requests its retransmission.
#[test]
fn a_nack_for_less_than_is_acknowledged_is_obeyed_as_well() {
    let mut sender = busy(4);
    answer(&mut sender, us(9), 7, ack(1, 2));
    assert_eq!(burst(&mut sender, us(9)), [4, 5]);
    answer(&mut sender, us(9), 7, nack(1, us(1)));
    assert_eq!(burst(&mut sender, us(9)), [2]);
    answer(&mut sender, us(17), 7, ack_of(2, 6, us(9)));
    answer(&mut sender, us(17), 7, nack(3, us(9)));
    assert_eq!(burst(&mut sender, us(17)), psns(6..10), "there is nothing to go back to");
}

#[test]
fn what_is_acknowledged_meanwhile_is_left_out() {
    let mut sender = busy(6);
    answer(&mut sender, us(9), 7, nack(0, us(1)));
    assert_eq!(burst(&mut sender, us(9)), [0]);
    answer(&mut sender, us(17), 7, ack_of(0, 4, us(9)));
    assert_eq!(burst(&mut sender, us(17)), [4]);
    answer(&mut sender, us(17), 7, ack_of(4, 6, us(17)));
    assert_eq!(burst(&mut sender, us(17))[0], 6);
    assert_eq!(sender.counters().retransmissions, 2);
}

/// PSN 0 is far below the highest acknowledged PSN, and is retransmitted at 9 us. An ACK for the copy of 9 us is not
/// late. An ACK for an earlier copy is late, and its path gets no packet.
#[test]
fn a_packet_that_was_sent_again_is_not_late() {
    for (sent_at, goes) in [(us(9), true), (Time(us(9).0 - 1), false)] {
        let mut sender = busy(60);
        answer(&mut sender, us(9), 7, ack(50, 0));
        answer(&mut sender, us(9), 7, nack(0, us(1)));
        burst(&mut sender, us(9));
        let repr = Repr::ack(1).with_received(0, 1).with_sent_at(sent_at);
        answer(&mut sender, us(17), 7, repr);
        let paths: Vec<u16> = send(&mut sender, us(17)).into_iter().map(|(_, path)| path).collect();
        // The window never changes, so the ACK always makes room for a packet. The packet takes path 7 unless the ACK
        // was late.
        assert!(!paths.is_empty(), "sent at {sent_at}");
        assert_eq!(paths == [7], goes, "sent at {sent_at}: {paths:?}");
        assert_eq!(paths.contains(&7), goes, "sent at {sent_at}");
    }
}

/// A packet that was first sent after the sender went back counts as late if its PSN is more than delta (32) below the
/// highest acknowledged PSN.
#[test]
fn a_new_packet_may_be_late_after_the_sender_went_back() {
    let mut sender = busy(60);
    answer(&mut sender, us(9), 7, nack(0, us(1)));
    burst(&mut sender, us(9));
    let repr = |psn| Repr::ack(60).with_received(psn, 1).with_sent_at(us(20));
    for (psn, goes) in [(100, true), (60, false), (68, true), (67, false)] {
        answer(&mut sender, us(30), 7, repr(psn));
        let sent = send(&mut sender, us(30));
        assert_eq!(sent[0].1 == 7, goes, "{psn}");
    }
}

#[test]
fn a_timeout_sends_everything_again() {
    let mut sender = busy(4);
    assert_eq!(sender.next_timeout(), Some(us(101)));
    sender.handle_timeout(Time(us(101).0 - 1));
    assert_eq!(burst(&mut sender, us(100)), []);
    sender.handle_timeout(us(101));
    assert_eq!(sender.next_timeout(), None, "until something is sent");
    assert_eq!(burst(&mut sender, us(103)), psns(0..4));
    assert_eq!(sender.next_timeout(), Some(us(203)));
    let counters = sender.counters();
    assert_eq!((counters.timeouts, counters.retransmissions), (1, 4));
}

#[test]
fn a_timeout_takes_a_packet_off_the_window() {
    let mut sender = sender(4.0);
    post(&mut sender, 100);
    send(&mut sender, us(0));
    sender.handle_timeout(us(100));
    assert_eq!(burst(&mut sender, us(100)), psns(0..3));
}

#[test]
fn a_timeout_forgets_the_paths_that_waited() {
    let mut sender = busy(4);
    answer(&mut sender, us(9), 9_999, ack(1, 0));
    sender.handle_timeout(us(101));
    let sent = send(&mut sender, us(101));
    assert_eq!(sent.len(), 4);
    assert!(sent.iter().all(|&(_, path)| path != 9_999));
    // The packet that the next ACK clocks out takes the path of that ACK.
    answer(&mut sender, us(109), 9_999, ack(0, 1));
    assert_eq!(send(&mut sender, us(109)), [(4, 9_999)]);
}

/// A new acknowledgement restarts the timer. An ACK of an out-of-order packet, or of a duplicate, is not new.
#[test]
fn only_new_acknowledgements_put_the_timeout_off() {
    let mut sender = busy(4);
    answer(&mut sender, us(50), 7, ack(2, 0));
    assert_eq!(burst(&mut sender, us(50)), [4]);
    assert_eq!(sender.next_timeout(), Some(us(101)));
    answer(&mut sender, us(60), 7, ack(0, 1));
    assert_eq!(sender.next_timeout(), Some(us(160)));
    answer(&mut sender, us(70), 7, ack(0, 1));
    assert_eq!(sender.next_timeout(), Some(us(160)));
}

/// After the sender went back, no PSN counts as sent. But earlier packets may have been lost and still occupy the
/// window, so the timer runs.
#[test]
fn a_sender_that_went_back_and_has_not_sent_yet_has_a_timeout() {
    let mut sender = busy(2);
    answer(&mut sender, us(9), 7, nack(0, us(1)));
    assert_eq!(sender.next_timeout(), Some(us(101)));
    answer(&mut sender, us(9), 7, ack_of(1, 0, us(1)));
    assert_eq!(sender.next_timeout(), None);
    assert_eq!(burst(&mut sender, us(10)), [0, 1]);
    assert_eq!(sender.next_timeout(), Some(us(110)));
}

#[test]
fn a_lost_packet_holds_no_place_after_recovery() {
    let mut sender = busy(4);
    // PSN 0 is lost, PSNs 1 to 3 are acknowledged, and PSNs 4 to 6 follow. The receiver is taken to have six slots, so
    // that it refuses PSN 6.
    for psn in 1..4 {
        answer(&mut sender, us(9), 7, ack(psn, 0));
    }
    assert_eq!(burst(&mut sender, us(9)), [4, 5, 6]);
    answer(&mut sender, us(17), 7, ack(4, 0));
    answer(&mut sender, us(17), 7, ack(5, 0));
    answer(&mut sender, us(17), 7, nack(0, us(9)));
    assert_eq!(burst(&mut sender, us(17)), [0, 1, 2], "the lost one holds the fourth place");
    answer(&mut sender, us(25), 7, ack_of(0, 6, us(17)));
    assert_eq!(burst(&mut sender, us(25)), [6, 7, 8]);
    answer(&mut sender, us(25), 7, ack_of(1, 6, us(17)));
    answer(&mut sender, us(25), 7, ack_of(2, 6, us(17)));
    assert_eq!(burst(&mut sender, us(25)), [], "which the last one acknowledged already");
    answer(&mut sender, us(33), 7, ack_of(6, 7, us(25)));
    assert_eq!(burst(&mut sender, us(33)), [9, 10], "four in flight: 7 to 10");
}
