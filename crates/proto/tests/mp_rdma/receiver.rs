//! The receiver of `mp-rdma`.

use super::*;
use anabranch_proto::transport::{MpRdmaReceiver, Receiver as _};

fn receiver(bitmap: u32) -> MpRdmaReceiver {
    MpRdmaReceiver::new(&MpRdmaConfig { bitmap, ..config() }, ENDS)
}

/// A packet of a message of `message_packets` packets, on path 7, sent at 5 us.
fn data(psn: u32, message: u32, message_packets: u32) -> Packet {
    let repr = Repr::data(psn)
        .with_message(MessageId(message), message_packets)
        .with_sent_at(us(5))
        .with_ack_now(true);
    Packet::new(ENDS.qp, ENDS.dst, repr).with_bytes(1_000).with_ev(7)
}

fn answer_to(receiver: &mut MpRdmaReceiver, packet: &Packet) -> Repr {
    assert_eq!(receiver.handle_packet(us(9), packet), None);
    let answer = receiver.poll_transmit().expect("each packet is answered");
    assert_eq!(receiver.poll_transmit(), None);
    assert_eq!((answer.qp, answer.dst, answer.wire_bytes), (ENDS.qp, ENDS.src, ACK));
    assert_eq!((answer.ev, answer.marked, answer.tag), (packet.ev, false, 0));
    answer.repr
}

fn long(psn: u32) -> Packet {
    data(psn, 1, 1_000)
}

fn acked(psn: u32, cumulative: u32) -> Repr {
    Repr::ack(cumulative).with_received(psn, 1).with_sent_at(us(5))
}

#[test]
fn every_packet_has_an_ack_of_its_own() {
    let mut receiver = receiver(64);
    assert_eq!(answer_to(&mut receiver, &long(0)), acked(0, 1));
    assert_eq!(answer_to(&mut receiver, &long(3)), acked(3, 1));
    assert_eq!(answer_to(&mut receiver, &long(1)), acked(1, 2));
    assert_eq!(answer_to(&mut receiver, &long(2)), acked(2, 4));
    let marked = Packet { marked: true, ev: 12, ..long(4) };
    let repr = Repr::ack(5).with_received(4, 1).with_mark(true).with_sent_at(us(5));
    assert_eq!(answer_to(&mut receiver, &marked), repr);
}

#[test]
fn duplicates_are_acknowledged_and_change_nothing() {
    let mut receiver = receiver(64);
    for (psn, cumulative) in [(0, 1), (0, 1), (2, 1), (2, 1), (1, 3), (2, 3), (1, 3), (3, 4)] {
        assert_eq!(answer_to(&mut receiver, &long(psn)), acked(psn, cumulative));
    }
}

/// With a bitmap of 64 slots, the ePSN and the next 63 PSNs have a slot. A packet with a higher PSN is dropped, and its
/// NACK requests the ePSN.
#[test]
fn what_lies_beyond_the_bitmap_is_refused() {
    let mut receiver = receiver(64);
    assert_eq!(answer_to(&mut receiver, &long(0)), acked(0, 1));
    assert_eq!(answer_to(&mut receiver, &long(64)), acked(64, 1));
    assert_eq!(answer_to(&mut receiver, &long(65)), nack(1, us(5)));
    assert_eq!(answer_to(&mut receiver, &long(65)), nack(1, us(5)));
    assert_eq!(answer_to(&mut receiver, &long(1_000)), nack(1, us(5)));
    // The bitmap moves with the ePSN. Refused packets were not kept.
    assert_eq!(answer_to(&mut receiver, &long(1)), acked(1, 2));
    assert_eq!(answer_to(&mut receiver, &long(65)), acked(65, 2));
    assert_eq!(answer_to(&mut receiver, &long(66)), nack(2, us(5)));
    for psn in 2..63 {
        assert_eq!(answer_to(&mut receiver, &long(psn)), acked(psn, psn + 1));
    }
    assert_eq!(answer_to(&mut receiver, &long(63)), acked(63, 66));
}

#[test]
fn a_bitmap_of_one_slot_takes_packets_in_order_alone() {
    let mut receiver = receiver(1);
    assert_eq!(answer_to(&mut receiver, &long(1)), nack(0, us(5)));
    assert_eq!(answer_to(&mut receiver, &long(0)), acked(0, 1));
    assert_eq!(answer_to(&mut receiver, &long(1)), acked(1, 2));
}

/// The messages have 2, 1 and 3 packets. One packet may complete several messages.
#[test]
fn messages_are_delivered_in_order() {
    let mut receiver = receiver(64);
    let packets =
        [data(0, 10, 2), data(1, 10, 2), data(2, 11, 1), data(3, 12, 3), data(4, 12, 3), data(5, 12, 3)];
    let mut deliver = |psn: usize| {
        let first = receiver.handle_packet(us(9), &packets[psn]);
        let others: Vec<_> = std::iter::from_fn(|| receiver.poll_delivered()).collect();
        assert!(receiver.poll_transmit().is_some());
        ids(first.into_iter().chain(others))
    };
    assert_eq!(deliver(2), []);
    assert_eq!(deliver(1), []);
    assert_eq!(deliver(3), []);
    assert_eq!(deliver(0), [10, 11]);
    assert_eq!(deliver(5), []);
    assert_eq!(deliver(2), []);
    assert_eq!(deliver(4), [12]);
}

#[test]
fn a_trimmed_packet_is_thrown_away() {
    let mut receiver = receiver(64);
    let repr = Repr::trimmed(0).with_sent_at(us(5));
    assert_eq!(receiver.handle_packet(us(9), &Packet { repr, ..long(0) }), None);
    assert_eq!(receiver.poll_transmit(), None);
}
