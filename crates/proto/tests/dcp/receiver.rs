//! The counters and answers of the receiver (section 4.5).

use super::*;
use anabranch_proto::transport::{DcpReceiver, Receiver as _};

pub struct Receiver(DcpReceiver);

impl Receiver {
    pub fn new(config: DcpConfig) -> Self {
        Receiver(DcpReceiver::new(&config, &FACTS, ENDS))
    }

    /// Passes a packet at time 0. Returns the answers to it, and the messages that it completes.
    pub fn take(&mut self, packet: &Packet) -> (Vec<Repr>, Vec<u32>) {
        self.take_at(us(0), packet)
    }

    fn take_at(&mut self, now: Time, packet: &Packet) -> (Vec<Repr>, Vec<u32>) {
        let first = self.0.handle_packet(now, packet);
        let answers: Vec<Packet> = std::iter::from_fn(|| self.0.poll_transmit()).collect();
        for answer in &answers {
            assert_eq!((answer.qp, answer.dst, answer.ev), (ENDS.qp, ENDS.src, packet.ev));
            let size = if matches!(answer.repr, Repr::HeaderOnly { .. }) { HEADER } else { ACK };
            assert_eq!((answer.wire_bytes, answer.marked, answer.tag), (size, false, 0));
        }
        let others = std::iter::from_fn(|| self.0.poll_delivered());
        let delivered = ids(first.into_iter().chain(others));
        (answers.iter().map(|answer| answer.repr).collect(), delivered)
    }
}

/// A packet of a request that has a CQE.
pub fn data(psn: u32, message: u32, message_packets: u32, number: u32, retry: u8) -> Packet {
    let repr = Repr::data(psn)
        .with_message(MessageId(message), message_packets)
        .with_ack_now(true)
        .with_msn(Msn::new(number, retry));
    Packet::new(ENDS.qp, ENDS.dst, repr).with_bytes(1_057).with_ev(9).with_tag(5)
}

fn unsignalled(packet: Packet) -> Packet {
    Packet { repr: packet.repr.with_ack_now(false), ..packet }
}

/// Figure 6c: the packets of three messages arrive in any order. A message is complete when the number of packets that
/// arrived equals the length of the message in packets. CQEs and ACKs wait for the eMSN.
#[test]
fn messages_complete_out_of_order_and_are_delivered_in_order() {
    let mut receiver = Receiver::new(config());
    let packet = |psn: u32| match psn {
        0..3 => data(psn, 20, 3, 0, 0),
        3..5 => data(psn, 10, 2, 1, 0),
        _ => data(psn, 30, 1, 2, 0),
    };
    for psn in [5, 1, 4, 2, 3] {
        assert_eq!(receiver.take(&packet(psn)), (vec![], vec![]), "PSN {psn}");
    }
    assert_eq!(receiver.take(&packet(0)), (vec![ack(3)], vec![20, 10, 30]));
    assert_eq!(receiver.take(&data(6, 40, 1, 3, 0)), (vec![ack(4)], vec![40]));
}

#[test]
fn whatever_the_order_counting_suffices() {
    let (message, packets) = ([0, 0, 1, 2, 2, 2, 3], [2, 2, 1, 3, 3, 3, 1]);
    for mut code in 0..5_040 {
        let mut left: Vec<usize> = (0..7).collect();
        let (mut receiver, mut came, mut expected) = (Receiver::new(config()), [0; 4], 0);
        while !left.is_empty() {
            let psn = left.remove(code % left.len());
            code /= left.len() + 1;
            came[message[psn]] += 1;
            let before = expected;
            while expected < 4 && came[expected] == [2, 1, 3, 1][expected] {
                expected += 1;
            }
            let packet = data(psn as u32, 100 + message[psn] as u32, packets[psn], message[psn] as u32, 0);
            let answers = if expected > before { vec![ack(expected as u32)] } else { vec![] };
            let delivered: Vec<u32> = (before..expected).map(|number| 100 + number as u32).collect();
            assert_eq!(receiver.take(&packet), (answers, delivered));
        }
    }
}

/// The flag Cf of the request: a request that is not the last of its message has no CQE, but it has an ACK.
#[test]
fn a_request_without_a_cqe_is_acknowledged_all_the_same() {
    let mut receiver = Receiver::new(config());
    assert_eq!(receiver.take(&unsignalled(data(0, 7, 1, 0, 0))), (vec![ack(1)], vec![]));
    assert_eq!(receiver.take(&data(2, 7, 1, 2, 0)), (vec![], vec![]));
    assert_eq!(receiver.take(&unsignalled(data(1, 7, 1, 1, 0))), (vec![ack(3)], vec![7]));
}

/// The receiver tracks messages in a ring of eight entries. Each entry is used several times here.
#[test]
fn eight_messages_are_tracked() {
    let mut receiver = Receiver::new(config());
    for base in [0, 8, 16] {
        for number in base + 1..base + 8 {
            assert_eq!(receiver.take(&data(number, number, 1, number, 0)), (vec![], vec![]));
        }
        // The ninth request would take the place of the first.
        assert_eq!(receiver.take(&data(base + 8, 99, 1, base + 8, 0)), (vec![], vec![]));
        let all: Vec<u32> = (base..base + 8).collect();
        assert_eq!(receiver.take(&data(base, base, 1, base, 0)), (vec![ack(base + 8)], all));
    }
}

/// Section 4.1, step 2: a trimmed packet is returned immediately, with its own entropy value, and the receiver keeps no
/// state for it.
#[test]
fn a_trimmed_packet_goes_back() {
    let mut receiver = Receiver::new(config());
    for (psn, number, retry) in [(0, 0, 0), (1, 0, 200), (77, 5, 0), (9_999, 100, 0)] {
        let msn = Msn::new(number, retry);
        let trimmed = Packet {
            repr: Repr::trimmed(psn).with_msn(msn).with_sent_at(us(1)),
            marked: true,
            ev: 1_000 + psn as u16,
            ..data(psn, 7, 2, number, retry)
        };
        assert_eq!(receiver.take(&trimmed), (vec![header_only(psn, number, retry)], vec![]));
    }
    assert_eq!(receiver.take(&data(1, 7, 2, 0, 0)), (vec![], vec![]));
    assert_eq!(receiver.take(&data(0, 7, 2, 0, 0)), (vec![ack(1)], vec![7]));
}

/// If sRetryNo is greater than rRetryNo, the counter restarts. If sRetryNo is smaller, the packet belongs to an
/// abandoned round.
#[test]
fn a_new_round_counts_from_zero() {
    let mut receiver = Receiver::new(config());
    let mut nothing = |psn, retry| assert_eq!(receiver.take(&data(psn, 7, 3, 0, retry)), (vec![], vec![]));
    nothing(0, 0);
    nothing(1, 0);
    nothing(1, 1);
    nothing(2, 0);
    nothing(0, 1);
    nothing(2, 3);
    nothing(2, 1);
    nothing(1, 3);
    nothing(0, 2);
    assert_eq!(receiver.take(&data(0, 7, 3, 0, 3)), (vec![ack(1)], vec![7]));
    // The rRetryNo of each message starts with 0. Packets that were counted before the eMSN reached their message stay
    // counted.
    assert_eq!(receiver.take(&data(3, 8, 2, 1, 0)), (vec![], vec![]));
    assert_eq!(receiver.take(&data(6, 9, 2, 2, 0)), (vec![], vec![]));
    assert_eq!(receiver.take(&data(4, 8, 2, 1, 0)), (vec![ack(2)], vec![8]));
    assert_eq!(receiver.take(&data(5, 9, 2, 2, 0)), (vec![ack(3)], vec![9]));
}

/// An old round may complete the message if no packet of the new round arrived before.
#[test]
fn an_old_round_may_complete_first() {
    let mut receiver = Receiver::new(config());
    assert_eq!(receiver.take(&data(0, 7, 2, 0, 0)), (vec![], vec![]));
    assert_eq!(receiver.take(&data(1, 7, 2, 0, 0)), (vec![ack(1)], vec![7]));
    // When the packets of the new round arrive, the message is already complete.
    assert_eq!(receiver.take(&data(0, 7, 2, 0, 1)), (vec![ack(1)], vec![]));
    assert_eq!(receiver.take(&data(2, 8, 1, 1, 0)), (vec![ack(2)], vec![8]));
    assert_eq!(receiver.take(&data(1, 7, 2, 0, 1)), (vec![ack(2)], vec![]));
}

#[test]
fn one_cnp_in_an_interval_or_one_for_each_mark() {
    let marked = |psn| Packet { marked: true, ..data(psn, 7, 4, 0, 0) };
    let said = |interval, times: [u64; 4]| {
        let cnp_interval = Span::Time(Duration::from_us(interval));
        let mut receiver = Receiver::new(DcpConfig { cnp_interval, ..config() });
        let takes = (0..).zip(times).map(|(psn, at)| receiver.take_at(us(at), &marked(psn)).0);
        takes.collect::<Vec<_>>()
    };
    let marked_ack = Repr::ack(1).with_mark(true);
    let cnp = || vec![Repr::Cnp];
    assert_eq!(said(50, [10, 59, 60, 109]), [cnp(), vec![], cnp(), vec![marked_ack]]);
    assert_eq!(said(0, [1, 1, 1, 1]), [cnp(), cnp(), cnp(), vec![marked_ack, Repr::Cnp]]);
    let mut receiver = Receiver::new(config());
    let mut last = data(0, 7, 1, 0, 0);
    if let Repr::Data { sent_at, .. } = &mut last.repr {
        *sent_at = us(30);
    }
    let echoed = Repr::ack(1).with_sent_at(us(30));
    assert_eq!(receiver.take_at(us(40), &last), (vec![echoed], vec![7]));
}

/// Section 4.2 does not specify whether a trimmed packet is a congestion signal for DCQCN, as a marked packet is.
#[test]
fn a_trimmed_packet_causes_a_cnp_where_it_is_taken_for_a_mark() {
    let trimmed = |psn| Packet { repr: Repr::trimmed(psn).with_msn(Msn::new(0, 0)), ..data(psn, 7, 4, 0, 0) };
    let marked = Packet { marked: true, ..data(3, 7, 4, 0, 0) };
    for trims_as_marks in [false, true] {
        let mut receiver = Receiver::new(DcpConfig { trims_as_marks, ..config() });
        let mut said = |at, packet: &Packet| receiver.take_at(us(at), packet).0;
        let with_cnp = |psn| vec![header_only(psn, 0, 0), Repr::Cnp];
        let alone = |psn| vec![header_only(psn, 0, 0)];
        assert_eq!(said(10, &trimmed(0)), if trims_as_marks { with_cnp(0) } else { alone(0) });
        assert_eq!(said(59, &trimmed(1)), alone(1), "within the interval");
        assert_eq!(said(60, &trimmed(2)), if trims_as_marks { with_cnp(2) } else { alone(2) });
        let answers = if trims_as_marks { vec![] } else { vec![Repr::Cnp] };
        assert_eq!(said(61, &marked), answers, "one interval for both");
    }
}

/// In a new round of a message, only packets in excess of the message's largest earlier count are new. The number of
/// new packets is thus bounded, even if the rounds never end.
#[test]
fn packets_of_a_later_round_are_not_new() {
    let mut receiver = Receiver::new(config());
    let mut fresh_after = |packet: Packet| {
        receiver.take(&packet);
        receiver.0.fresh_packets()
    };
    assert_eq!([0, 1, 2].map(|psn| fresh_after(data(psn, 20, 4, 0, 0))), [1, 2, 3]);
    assert_eq!(fresh_after(data(4, 21, 2, 1, 0)), 4);
    for retry in 1..=200 {
        assert_eq!([3, 0].map(|psn| fresh_after(data(psn, 20, 4, 0, retry))), [4, 4], "round {retry}");
    }
    assert_eq!(fresh_after(data(1, 20, 4, 0, 150)), 4, "of a round that was given up");
    assert_eq!([1, 2].map(|psn| fresh_after(data(psn, 20, 4, 0, 200))), [4, 5]);
    assert_eq!(fresh_after(data(3, 20, 4, 0, 201)), 5, "complete before");
    assert_eq!(fresh_after(data(5, 21, 2, 1, 0)), 6);
}
