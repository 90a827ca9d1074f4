//! Tests of messages, of small windows, and of packets that a sender ignores.

use super::*;
use anabranch_proto::cc::AnyCc;
use anabranch_proto::transport::SenderCounters;

fn acknowledged(sender: &mut MpRdmaSender) -> Vec<u32> {
    ids(std::iter::from_fn(|| sender.poll_acknowledged()))
}

/// Three messages: one of 3 packets, one of no bytes, and one of 2 packets, of which the last carries a single byte.
#[test]
fn messages_are_cut_and_acknowledged_whole() {
    let mut sender = sender(100.0);
    sender.post(MessageId(10), 3 * 936).unwrap();
    sender.post(MessageId(11), 0).unwrap();
    sender.post(MessageId(12), 937).unwrap();
    let sent: Vec<_> = std::iter::from_fn(|| sender.poll_transmit(us(1)))
        .map(|packet| match packet.repr {
            Repr::Data { psn, message, message_packets, .. } => {
                (psn, message.0, message_packets, packet.wire_bytes)
            }
            other => panic!("{other:?}"),
        })
        .collect();
    let of_three = [(0, 10, 3, 1_000), (1, 10, 3, 1_000), (2, 10, 3, 1_000)];
    assert_eq!(sent[..3], of_three);
    assert_eq!(sent[3..], [(3, 11, 1, 64), (4, 12, 2, 1_000), (5, 12, 2, 65)]);
    answer(&mut sender, us(8), 7, ack(2, 2));
    assert_eq!(acknowledged(&mut sender), []);
    answer(&mut sender, us(8), 7, ack(4, 2));
    assert_eq!(acknowledged(&mut sender), [], "an ACK out of order completes nothing");
    answer(&mut sender, us(8), 7, ack(1, 3));
    assert_eq!(acknowledged(&mut sender), [10]);
    answer(&mut sender, us(8), 7, ack(3, 5));
    assert_eq!(acknowledged(&mut sender), [11]);
    answer(&mut sender, us(8), 7, nack(6, us(1)));
    assert_eq!(acknowledged(&mut sender), [12], "a NACK acknowledges what it does not ask for");
    assert_eq!(sender.next_timeout(), None);
    sender.post(MessageId(13), 936).unwrap();
    assert_eq!(burst(&mut sender, us(9)), [6]);
    answer(&mut sender, us(17), 7, ack(6, 7));
    assert_eq!(acknowledged(&mut sender), [13]);
    assert_eq!(sender.counters(), SenderCounters { nacks: 1, ..SenderCounters::default() });
}

#[test]
fn an_ack_beyond_what_was_sent_is_cut() {
    for beyond in [ack(9, 100), nack(100, us(1))] {
        let mut sender = sender(100.0);
        post(&mut sender, 2);
        assert_eq!(burst(&mut sender, us(0)), [0, 1]);
        post(&mut sender, 3);
        answer(&mut sender, us(8), 7, beyond);
        assert_eq!(acknowledged(&mut sender), [1]);
        assert_eq!(burst(&mut sender, us(9)), [2, 3, 4]);
        assert!(sender.next_timeout().is_some());
    }
}

#[test]
fn a_queue_pair_has_as_many_packets_as_there_are_psns() {
    let mut sender = sender(4.0);
    sender.post(MessageId(1), (u64::from(u32::MAX) - 1) * 936).unwrap();
    assert!(sender.post(MessageId(2), 937).is_err());
    sender.post(MessageId(3), 936).unwrap();
    assert!(sender.post(MessageId(4), 0).is_err());
}

/// A window smaller than a packet counts as one packet, so that the queue pair never stops.
#[test]
fn one_packet_may_always_be_in_flight() {
    let mut sender = MpRdmaSender::new(&config(), &FACTS, ENDS, AnyCc::constant(1), paths(0.0));
    post(&mut sender, 3);
    assert_eq!(burst(&mut sender, us(0)), [0]);
    answer(&mut sender, us(8), 7, ack(0, 1));
    assert_eq!(burst(&mut sender, us(8)), [1]);
}

#[test]
fn a_part_of_a_packet_is_no_room() {
    let mut sender = MpRdmaSender::new(&config(), &FACTS, ENDS, AnyCc::constant(3_999), paths(0.0));
    post(&mut sender, 9);
    assert_eq!(burst(&mut sender, us(0)), psns(0..3));
}

#[test]
fn a_sender_hears_no_cnp() {
    let mut sender = sender(4.0);
    post(&mut sender, 9);
    burst(&mut sender, us(0));
    answer(&mut sender, us(8), 7, Repr::Cnp);
    assert_eq!(burst(&mut sender, us(8)), []);
    assert!(!sender.paces());
}
