//! Section 3.3.1: the times and contents of SACKs.

use super::*;
use anabranch_proto::transport::{Receiver as _, StrackReceiver};

/// The receiver's state in a SACK: the ePSN, the base, the bitmap, and the out-of-order count.
type Said = (u32, u32, u64, u16);

fn receiver() -> StrackReceiver {
    StrackReceiver::new(&config(), ENDS)
}

fn data(psn: u32, ack_now: bool) -> Packet {
    let sent_at = at(psn.into());
    let repr = Repr::data(psn).with_message(MESSAGE, 5_000).with_sent_at(sent_at).with_ack_now(ack_now);
    Packet::new(ENDS.qp, ENDS.dst, repr).with_bytes(PACKET as u16).with_ev(psn as u16 + 1)
}

fn answers(receiver: &mut StrackReceiver, packet: &Packet) -> Vec<Packet> {
    receiver.handle_packet(Time::ZERO, packet);
    std::iter::from_fn(|| receiver.poll_transmit()).collect()
}

/// The SACKs that packets with these PSNs cause.
fn sacks(receiver: &mut StrackReceiver, psns: impl IntoIterator<Item = u32>) -> Vec<Said> {
    let mut said = Vec::new();
    for psn in psns {
        said.extend(answers(receiver, &data(psn, false)).iter().map(say));
    }
    said
}

fn say(packet: &Packet) -> Said {
    let Repr::Sack { expected, base, received, out_of_order, .. } = packet.repr else { panic!("{packet:?}") };
    (expected, base, received, out_of_order)
}

fn bytes_received(packet: &Packet) -> u32 {
    let Repr::Sack { bytes_received, .. } = packet.repr else { panic!("{packet:?}") };
    bytes_received
}

/// Condition 2: the receiver sends a SACK immediately if the packet has the ePSN.
#[test]
fn a_packet_with_the_epsn_is_answered_at_once() {
    let mut receiver = receiver();
    assert_eq!(sacks(&mut receiver, [0, 1, 2]), [(1, 1, 0, 0), (2, 2, 0, 0), (3, 3, 0, 0)]);
    assert_eq!(sacks(&mut receiver, [4, 5]), []);
    assert_eq!(sacks(&mut receiver, [3]), [(6, 6, 0, 0)], "over what came before it");
}

/// Condition 1: the receiver sends a SACK once enough bytes (here four packets) have arrived since the last SACK that
/// answered no probe.
#[test]
fn enough_bytes_are_answered() {
    let mut receiver = receiver();
    assert_eq!(sacks(&mut receiver, [1, 2, 3]), []);
    let answer = answers(&mut receiver, &data(4, false));
    let repr = Repr::sack(0)
        .with_received(0, bits(1..=4))
        .with_counts(4_000, 4, SackCause::new(false, false))
        .with_sent_at(at(4));
    let expected = Packet::new(ENDS.qp, ENDS.src, repr).with_bytes(ACK as u16).with_ev(5);
    assert_eq!(answer, [expected], "it echoes the packet that caused it");
    assert_eq!(sacks(&mut receiver, [5, 6, 7]), []);
    assert_eq!(sacks(&mut receiver, [0]), [(8, 8, 0, 0)]);
    assert_eq!(sacks(&mut receiver, [9, 10, 11]), [], "counted from that SACK on");
    assert_eq!(sacks(&mut receiver, [12]), [(8, 8, bits(1..=4), 4)]);
}

/// Condition 4: the receiver sends a SACK if the packet requests one. The SACK echoes the mark of the packet.
#[test]
fn a_request_is_answered() {
    let mut receiver = receiver();
    let mut packet = data(2, true);
    packet.marked = true;
    let answer = answers(&mut receiver, &packet);
    assert_eq!(answer.iter().map(say).collect::<Vec<_>>(), [(0, 0, bits([2]), 1)]);
    let Repr::Sack { cause, .. } = answer[0].repr else { panic!() };
    assert_eq!((cause.marked(), cause.probe(), answer[0].marked), (true, false, false));
}

/// Condition 3: the receiver sends a SACK for a probe, with the base that the probe requests.
#[test]
fn a_probe_is_answered_from_its_base() {
    let mut receiver = receiver();
    sacks(&mut receiver, [0, 1, 2, 4, 70]);
    let mut probe = |base| {
        let repr = Repr::probe(base).with_sent_at(at(99));
        let packet = Packet { repr, wire_bytes: HEADER as u16, ..data(40, false) };
        let answer = answers(&mut receiver, &packet);
        assert_eq!(answer.len(), 1);
        let Repr::Sack { cause, sent_at, .. } = answer[0].repr else { panic!() };
        assert_eq!((cause, sent_at, answer[0].ev), (SackCause::new(false, true), at(99), 41));
        say(&answer[0])
    };
    assert_eq!(probe(3), (3, 3, bits([1]), 2));
    assert_eq!(probe(1), (3, 1, bits([0, 1, 3]), 2), "below the ePSN all have arrived");
    assert_eq!(probe(60), (3, 60, bits([10]), 2));
    assert_eq!(probe(200), (3, 200, 0, 2));
    // The SACKs of probes do not count as reports, so that PSNs 4 and 70 still have to be reported. The segment of
    // PSN 4 follows in the next SACK, two packets later.
    assert_eq!(sacks(&mut receiver, [200]), []);
    assert_eq!(sacks(&mut receiver, [201]), [(3, 3, bits([1]), 4)]);
}

/// The bitmap is divided into segments of 64 PSNs from the ePSN on. A SACK carries the segment of the lowest PSN that
/// arrived since the last SACK that answered no probe.
#[test]
fn the_lowest_psn_since_the_last_sack_chooses_the_segment() {
    let mut receiver = receiver();
    assert_eq!(sacks(&mut receiver, [133, 131, 130, 132]), [(0, 128, bits(2..=5), 4)]);
    assert_eq!(sacks(&mut receiver, [134, 63, 200, 64]), [(0, 0, bits([63]), 8)]);
    assert_eq!(sacks(&mut receiver, [202, 135, 64 + 9, 201]), [(0, 64, bits([0, 9]), 12)]);
    // The ePSN advances, and the segments move with it.
    assert_eq!(sacks(&mut receiver, [0]), [(1, 1, bits([62, 63]), 0)]);
    assert_eq!(sacks(&mut receiver, [129, 300, 301, 302]), [(1, 129, bits(0..=6), 4)]);
    // A low PSN that arrived before the ePSN advanced selects the first segment.
    assert_eq!(sacks(&mut receiver, [2, 3]), []);
    assert_eq!(sacks(&mut receiver, [1]), [(4, 4, bits([59, 60]), 0)]);
}

/// The bytes of a duplicate count towards the next SACK of condition 1, but not among the received bytes that a SACK
/// reports.
#[test]
fn a_copy_is_dropped_without_an_answer_of_its_own() {
    let mut receiver = receiver();
    sacks(&mut receiver, [0]);
    assert_eq!(sacks(&mut receiver, [2, 0, 2]), []);
    let answer = answers(&mut receiver, &data(0, false));
    assert_eq!(say(&answer[0]), (1, 1, bits([1]), 1));
    assert_eq!(bytes_received(&answer[0]), 2_000);
    let answer = answers(&mut receiver, &data(0, true));
    assert_eq!((answer.len(), bytes_received(&answer[0])), (1, 2_000));
}

#[test]
fn the_counter_stops_at_12_bits_and_starts_anew_when_the_epsn_moves() {
    let mut receiver = receiver();
    let said = sacks(&mut receiver, 1..4_201);
    assert_eq!(said[1_022].3, 4_092);
    assert_eq!(said[1_023].3, 4_095);
    assert_eq!(said.last().unwrap().3, 4_095);
    sacks(&mut receiver, 4_300..4_304);
    assert_eq!(sacks(&mut receiver, [0]), [(4_201, 4_201, 0, 0)]);
    assert_eq!(sacks(&mut receiver, 4_304..4_308), [(4_201, 4_265, bits(35..=42), 4)]);
}

#[test]
fn messages_are_delivered_once_in_the_order_in_which_they_are_whole() {
    let mut receiver = receiver();
    let part = |psn, message, packets| {
        let (message, sent_at) = (MessageId(message), Time::ZERO);
        let repr = Repr::data(psn).with_message(message, packets).with_sent_at(sent_at);
        Packet { repr, ..data(psn, false) }
    };
    let arrivals = [part(3, 1, 2), part(0, 0, 2), part(4, 2, 1), part(2, 1, 2), part(2, 1, 2), part(4, 2, 1)];
    let mut whole = arrivals.map(|packet| receiver.handle_packet(Time::ZERO, &packet)).to_vec();
    whole.extend([part(1, 0, 2), part(0, 0, 2)].map(|packet| receiver.handle_packet(Time::ZERO, &packet)));
    let (zero, one, two) = (Some(MessageId(0)), Some(MessageId(1)), Some(MessageId(2)));
    assert_eq!(whole, [None, None, two, one, None, None, zero, None]);
}
