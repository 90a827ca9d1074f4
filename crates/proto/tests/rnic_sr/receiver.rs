//! Tests of the receiver of `rnic-sr`.

use super::*;
use anabranch_proto::Packet;
use anabranch_proto::transport::{Receiver as _, RnicSrReceiver};

struct Receiver(RnicSrReceiver);

impl Receiver {
    fn new(config: RnicSrConfig) -> Self {
        Receiver(RnicSrReceiver::new(&config, &FACTS, ENDS))
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

/// Section 2.3, first and second point: out-of-order packets are placed, and the ePSN advances to the smallest PSN that
/// has not arrived.
#[test]
fn the_epsn_advances_over_what_came_out_of_order() {
    let mut receiver = Receiver::new(config());
    for psn in [1, 2, 4, 5, 511] {
        receiver.answers(&data(psn));
    }
    assert_eq!(receiver.answers(&asking(data(0))), [ack(3)]);
    assert_eq!(receiver.answers(&asking(data(3))), [ack(6)]);
    for psn in 6..510 {
        receiver.answers(&data(psn));
    }
    assert_eq!(receiver.answers(&asking(data(510))), [ack(512)]);
}

/// Section 2.3, third point: there is one NACK for each ePSN. The next NACK is caused by a packet that arrives beyond
/// the next ePSN. Packets that arrived before the ePSN advanced cause none.
#[test]
fn one_nack_for_each_epsn() {
    let mut receiver = Receiver::new(config());
    assert_eq!(receiver.answers(&data(0)), []);
    assert_eq!(receiver.answers(&data(2)), [nack(1)]);
    for psn in [3, 5, 6, 9] {
        assert_eq!(receiver.answers(&data(psn)), [], "PSN 1 was asked for");
    }
    // PSN 1 arrived in order, so PSN 4 is missing now, and 5, 6 and 9 are beyond it. The ACK covers PSNs 0 to 3.
    assert_eq!(receiver.answers(&data(1)), [ack(4)]);
    assert_eq!(receiver.answers(&data(10)), [nack(4)]);
    assert_eq!(receiver.answers(&data(11)), []);
    assert_eq!(receiver.answers(&data(4)), []);
    assert_eq!(receiver.answers(&data(7)), [ack(8)]);
    assert_eq!(receiver.answers(&data(12)), [nack(8)]);
}

/// A duplicate is an out-of-order packet too, as long as the ePSN is below it.
#[test]
fn a_copy_beyond_a_gap_asks_and_is_acknowledged() {
    let mut receiver = Receiver::new(config());
    assert_eq!(receiver.answers(&data(1)), [nack(0)]);
    assert_eq!(receiver.answers(&data(3)), []);
    assert_eq!(receiver.answers(&data(1)), [ack(0)]);
    assert_eq!(receiver.answers(&data(0)), []);
    assert_eq!(receiver.answers(&data(3)), [ack(2), nack(2)]);
    assert_eq!(receiver.answers(&data(3)), [ack(2)]);
    assert_eq!(receiver.answers(&data(0)), [ack(2)]);
}

#[test]
fn answers_carry_the_epsn_and_the_time_of_their_cause() {
    let mut receiver = Receiver::new(config());
    let sent = |psn, sent_at| {
        let repr = Repr::data(psn)
            .with_message(MessageId(7), 1_000)
            .with_sent_at(sent_at)
            .with_ack_now(true)
            .with_stamps(6);
        Packet { repr, ev: 100 + psn as u16, ..data(psn) }
    };
    let ack = |cumulative, sent_at| Repr::ack(cumulative).with_sent_at(sent_at);
    assert_eq!(receiver.answers(&sent(0, us(30))), [ack(1, us(30))]);
    let nack = Repr::nack(1).with_sent_at(us(50));
    assert_eq!(receiver.answers(&sent(9, us(50))), [ack(1, us(50)), nack]);
}

#[test]
fn an_ack_for_every_fourth_step_of_the_epsn() {
    let mut receiver = Receiver::new(config());
    let answers: Vec<Vec<Repr>> = (0..8).map(|psn| receiver.answers(&data(psn))).collect();
    assert_eq!(answers.concat(), [ack(4), ack(8)]);
    // Only steps of the ePSN count towards the next ACK: neither an out-of-order packet nor the NACK for it does.
    assert_eq!(receiver.answers(&data(8)), []);
    assert_eq!(receiver.answers(&data(10)), [nack(9)]);
    assert_eq!(receiver.answers(&data(12)), []);
    assert_eq!(receiver.answers(&data(9)), [], "three steps, to 11");
    assert_eq!(receiver.answers(&data(11)), [ack(13)]);
    // The ACK for a duplicate restarts the count, so that the next ACK follows four packets later.
    assert_eq!(receiver.answers(&data(13)), []);
    assert_eq!(receiver.answers(&data(13)), [ack(14)]);
    for psn in 14..17 {
        assert_eq!(receiver.answers(&data(psn)), []);
    }
    assert_eq!(receiver.answers(&data(17)), [ack(18)]);
}

/// The sender waits for the ACK of the last packet that it sent. This ACK is due when the ePSN passes the packet, even
/// if another packet advances the ePSN.
#[test]
fn who_asks_out_of_order_is_answered_twice() {
    let mut receiver = Receiver::new(RnicSrConfig { ack_every: 100, ..config() });
    assert_eq!(receiver.answers(&data(0)), []);
    assert_eq!(receiver.answers(&asking(data(4))), [ack(1), nack(1)]);
    assert_eq!(receiver.answers(&asking(data(3))), [ack(1)], "the highest one counts");
    assert_eq!(receiver.answers(&data(1)), []);
    assert_eq!(receiver.answers(&data(2)), [ack(5)]);
    assert_eq!(receiver.answers(&data(5)), []);
    assert_eq!(receiver.answers(&asking(data(6))), [ack(7)]);
    assert_eq!(receiver.answers(&data(7)), []);
}

/// Section 7: completions are in order. One packet may complete several messages.
#[test]
fn messages_are_delivered_in_order() {
    let mut receiver = Receiver::new(config());
    let packet = |psn: u32| match psn {
        0..3 => of(psn, 20, 3),
        3 => of(psn, 10, 1),
        4..6 => of(psn, 30, 2),
        _ => of(psn, 5, 2),
    };
    for psn in [4, 3, 0, 7, 2, 5] {
        assert_eq!(receiver.delivered(&packet(psn)), [], "PSN {psn}");
    }
    assert_eq!(receiver.take(us(0), &packet(1)), (vec![ack(6)], vec![20, 10, 30]));
    assert_eq!(receiver.delivered(&packet(5)), [], "a copy");
    assert_eq!(receiver.take(us(0), &packet(6)), (vec![ack(8)], vec![5]));
    // If packets arrive in order, each message is delivered by its last packet, which is acknowledged immediately.
    assert_eq!(receiver.take(us(0), &of(8, 40, 2)), (vec![], vec![]));
    assert_eq!(receiver.take(us(0), &of(9, 40, 2)), (vec![ack(10)], vec![40]));
    assert_eq!(receiver.take(us(0), &of(10, 41, 1)), (vec![ack(11)], vec![41]));
}

/// All 120 orders of five packets.
#[test]
fn whatever_the_order_messages_are_delivered_when_the_epsn_passes_them() {
    let (message, packets, last) = ([1, 1, 2, 3, 3], [2, 2, 1, 2, 2], [1, 2, 4]);
    for mut code in 0..5 * 4 * 3 * 2 {
        let mut left: Vec<usize> = (0..5).collect();
        let (mut receiver, mut came, mut delivered) = (Receiver::new(config()), [false; 5], Vec::new());
        while !left.is_empty() {
            let psn = left.remove(code % left.len());
            code /= left.len() + 1;
            came[psn] = true;
            delivered.extend(receiver.delivered(&of(psn as u32, message[psn], packets[psn])));
            let passed = came.iter().take_while(|&&came| came).count();
            let expected: Vec<u32> = (1..=3).filter(|&id| last[id as usize - 1] < passed).collect();
            assert_eq!(delivered, expected, "with {came:?}");
        }
    }
}

#[test]
fn one_cnp_in_an_interval_whatever_else_the_packet_causes() {
    let mut receiver = Receiver::new(config());
    let mut answers = |at, packet: &Packet| receiver.take(us(at), packet).0;
    let marked_ack = |cumulative| Repr::ack(cumulative).with_mark(true);
    assert_eq!(answers(10, &marked(0)), [Repr::Cnp]);
    assert_eq!(answers(59, &marked(1)), []);
    assert_eq!(answers(60, &marked(3)), [nack(2), Repr::Cnp]);
    assert_eq!(answers(109, &marked(0)), [marked_ack(2)]);
    assert_eq!(answers(110, &marked(0)), [marked_ack(2), Repr::Cnp]);
}

#[test]
fn without_cnps_a_mark_comes_back_in_an_ack() {
    let no_cnps = RnicSrConfig { cnp_interval: Span::Time(Duration::ZERO), ..config() };
    let mut receiver = Receiver::new(no_cnps);
    let marked_ack = |cumulative| Repr::ack(cumulative).with_mark(true);
    assert_eq!(receiver.answers(&data(0)), []);
    assert_eq!(receiver.answers(&marked(1)), [marked_ack(2)]);
    assert_eq!(receiver.answers(&marked(3)), [marked_ack(2), nack(2)]);
    assert_eq!(receiver.answers(&marked(4)), [marked_ack(2)]);
}

/// Commodity NICs do not know trimmed packets.
#[test]
fn a_trimmed_packet_is_thrown_away() {
    let mut receiver = Receiver::new(config());
    for psn in [0, 1] {
        let trimmed = Packet { repr: Repr::trimmed(psn).with_sent_at(us(1)), marked: true, ..data(psn) };
        assert_eq!(receiver.take(us(0), &trimmed), (vec![], vec![]));
    }
    assert_eq!(receiver.answers(&asking(data(0))), [ack(1)]);
}
