//! The receiver of `irn`.

use super::*;
use anabranch_proto::Packet;
use anabranch_proto::transport::{IrnReceiver, Receiver as _};

struct Receiver(IrnReceiver);

impl Receiver {
    fn new(ack_every: u32, cnp_us: u64) -> Self {
        Receiver(IrnReceiver::new(Bytes(64), ack_every, Duration::from_us(cnp_us), ENDS))
    }

    /// Passes a packet. Returns the answers to it, and the messages that it completes.
    fn take(&mut self, now: Time, packet: &Packet) -> (Vec<Repr>, Vec<u32>) {
        let first = self.0.handle_packet(now, packet);
        let answers: Vec<Packet> = std::iter::from_fn(|| self.0.poll_transmit()).collect();
        for answer in &answers {
            assert_eq!((answer.qp, answer.dst, answer.ev), (ENDS.qp, ENDS.src, packet.ev));
            assert_eq!((answer.wire_bytes, answer.marked, answer.tag), (ACK, false, 0));
        }
        let others = std::iter::from_fn(|| first.and_then(|_| self.0.poll_delivered()));
        let delivered = ids(first.into_iter().chain(others));
        assert_eq!(self.0.poll_delivered(), None);
        (answers.iter().map(|answer| answer.repr).collect(), delivered)
    }

    fn answers(&mut self, packet: &Packet) -> Vec<Repr> {
        self.take(us(0), packet).0
    }

    fn delivered(&mut self, packet: &Packet) -> Vec<u32> {
        self.take(us(0), packet).1
    }
}

fn data(psn: u32) -> Packet {
    of(psn, 7, 1_000)
}

fn of(psn: u32, message: u32, message_packets: u32) -> Packet {
    let message = MessageId(message);
    let repr = Repr::data(psn).with_message(message, message_packets);
    Packet::new(ENDS.qp, ENDS.dst, repr).with_bytes(1_000).with_ev(9).with_tag(5)
}

fn asking(packet: Packet) -> Packet {
    Packet { repr: packet.repr.with_ack_now(true), ..packet }
}

fn marked(psn: u32) -> Packet {
    Packet { marked: true, ..data(psn) }
}

/// DCP, section 2.2: each out-of-order packet causes a SACK, which carries the ePSN and the PSN of the packet.
#[test]
fn every_packet_out_of_order_has_its_sack() {
    let mut receiver = Receiver::new(1, 50);
    assert_eq!(receiver.answers(&data(0)), [ack(1, 0)]);
    for psn in [2, 3, 70, 5] {
        assert_eq!(receiver.answers(&data(psn)), [ack(1, psn)]);
    }
    assert_eq!(receiver.answers(&data(3)), [ack(1, 3)]);
    assert_eq!(receiver.answers(&data(1)), [ack(4, 1)]);
    assert_eq!(receiver.answers(&data(4)), [ack(6, 4)]);
    assert_eq!(receiver.answers(&data(2)), [ack(6, 2)]);
    for psn in 6..69 {
        assert_eq!(receiver.answers(&data(psn)), [ack(psn + 1, psn)]);
    }
    assert_eq!(receiver.answers(&data(69)), [ack(71, 69)]);
}

#[test]
fn packets_in_order_share_an_ack() {
    let mut receiver = Receiver::new(4, 50);
    assert_eq!(receiver.answers(&data(0)), []);
    assert_eq!(receiver.answers(&data(1)), []);
    assert_eq!(receiver.answers(&data(2)), []);
    assert_eq!(receiver.answers(&data(3)), [ack(4, 3)]);
    // A packet that fills a gap, or part of one, is acknowledged immediately.
    assert_eq!(receiver.answers(&data(5)), [ack(4, 5)]);
    assert_eq!(receiver.answers(&data(6)), [ack(4, 6)]);
    assert_eq!(receiver.answers(&data(4)), [ack(7, 4)]);
    assert_eq!(receiver.answers(&data(7)), []);
    assert_eq!(receiver.answers(&data(12)), [ack(8, 12)]);
    assert_eq!(receiver.answers(&data(9)), [ack(8, 9)]);
    assert_eq!(receiver.answers(&data(8)), [ack(10, 8)]);
    assert_eq!(receiver.answers(&data(10)), [ack(11, 10)]);
    assert_eq!(receiver.answers(&data(11)), [ack(13, 11)]);
    // The requested ACK of packet 14 also covers packet 13, so that the next ACK follows four packets later.
    assert_eq!(receiver.answers(&data(13)), []);
    assert_eq!(receiver.answers(&asking(data(14))), [ack(15, 14)]);
    for psn in 15..18 {
        assert_eq!(receiver.answers(&data(psn)), []);
    }
    assert_eq!(receiver.answers(&data(18)), [ack(19, 18)]);
    // A duplicate is acknowledged immediately.
    assert_eq!(receiver.answers(&data(19)), []);
    assert_eq!(receiver.answers(&data(19)), [ack(20, 19)]);
}

/// Packets 3 and 2 request an ACK and arrive before packets 0 and 1. Both cause SACKs. Packets 0 and 1 fill the gap
/// and are acknowledged immediately, because a sender that has no more data waits until the ePSN passes its last
/// packet. Packet 4 is in order again and causes no ACK, since `ack_every` is 100.
#[test]
fn who_asked_out_of_order_is_answered_when_the_epsn_passes() {
    let mut receiver = Receiver::new(100, 50);
    assert_eq!(receiver.answers(&asking(data(3))), [ack(0, 3)]);
    assert_eq!(receiver.answers(&asking(data(2))), [ack(0, 2)]);
    assert_eq!(receiver.answers(&data(0)), [ack(1, 0)]);
    assert_eq!(receiver.answers(&data(1)), [ack(4, 1)]);
    assert_eq!(receiver.answers(&data(4)), []);
}

#[test]
fn messages_are_delivered_once_and_in_order() {
    let mut receiver = Receiver::new(100, 50);
    assert_eq!(receiver.delivered(&of(3, 21, 1)), []);
    assert_eq!(receiver.delivered(&of(5, 22, 2)), []);
    assert_eq!(receiver.delivered(&of(4, 22, 2)), []);
    assert_eq!(receiver.delivered(&of(0, 20, 3)), []);
    assert_eq!(receiver.delivered(&of(2, 20, 3)), []);
    assert_eq!(receiver.delivered(&of(2, 20, 3)), []);
    assert_eq!(receiver.take(us(0), &of(1, 20, 3)), (vec![ack(6, 1)], vec![20, 21, 22]));
    assert_eq!(receiver.take(us(0), &of(1, 20, 3)), (vec![ack(6, 1)], vec![]));
    // The last packet of a message is acknowledged immediately.
    assert_eq!(receiver.take(us(0), &of(6, 23, 1)), (vec![ack(7, 6)], vec![23]));
}

#[test]
fn marks_bring_cnps_no_closer_than_their_interval() {
    let mut receiver = Receiver::new(100, 50);
    assert_eq!(receiver.take(us(10), &marked(0)).0, [Repr::Cnp]);
    assert_eq!(receiver.take(us(59), &marked(1)).0, []);
    assert_eq!(receiver.take(us(60), &marked(2)).0, [Repr::Cnp]);
    let with_mark = Repr::ack(3).with_received(4, 1).with_mark(true);
    assert_eq!(receiver.take(us(110), &marked(4)).0, [with_mark, Repr::Cnp]);
}

#[test]
fn without_cnps_a_marked_packet_is_acknowledged_at_once() {
    let mut receiver = Receiver::new(100, 0);
    assert_eq!(receiver.answers(&data(0)), []);
    let with_mark = Repr::ack(2).with_received(1, 1).with_mark(true);
    assert_eq!(receiver.answers(&marked(1)), [with_mark]);
}

#[test]
fn trimmed_packets_are_thrown_away() {
    let mut receiver = Receiver::new(1, 0);
    let repr = Repr::trimmed(0);
    assert_eq!(receiver.take(us(0), &Packet { repr, ..marked(0) }), (vec![], vec![]));
    assert_eq!(receiver.answers(&data(0)), [ack(1, 0)]);
}
