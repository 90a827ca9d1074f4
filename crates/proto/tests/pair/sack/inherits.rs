//! Connections that start with the state that the previous connection between the same two hosts left.

use crate::pair::schedule::{ACK, ENDS, HEADER, PAYLOAD, message_id};
use anabranch_base::{Bytes, Duration, Purpose, Rate, Time, stream};
use anabranch_proto::cc::{CcConfig, DctcpConfig};
use anabranch_proto::lb::{AfterFreezing, Environment, FreezingEnds, LbConfig, RepsConfig, ReuseOrder};
use anabranch_proto::transport::{AnySender, Inherits, SackConfig, TransportConfig};
use anabranch_proto::{Packet, PathFacts, Repr, Size, Span};

const PACKET: u64 = PAYLOAD + HEADER;

/// A new connection with one message of 40 packets.
fn connection(inherits: Inherits, number: u64) -> AnySender {
    let facts = PathFacts {
        base_rtt: Duration::from_us(8),
        bdp: Bytes(100 * PACKET),
        packet: Bytes(PACKET),
        line_rate: Rate::from_gbps(400),
        port_rate: Rate::from_gbps(400),
        queue: Bytes(1 << 30),
    };
    let window = Size::Bytes(Bytes(20 * PACKET));
    let cc = DctcpConfig { initial_window: window, max_window: window, decrease: 1.0, loss_decrease: 1.0 };
    let reps = RepsConfig {
        evs: 65_536,
        buffer: 8,
        freezing: true,
        freezing_timeout: Span::Time(Duration::from_us(1_000)),
        explore_packets: 0,
        failure_rtt: 1.65,
        reuse: 1,
        reuse_order: ReuseOrder::InARow,
        after_freezing: AfterFreezing::Keep,
        freezing_ends: FreezingEnds::Ack,
        freeze_at: None,
    };
    let transport = TransportConfig::Sack(SackConfig {
        payload: Bytes(PAYLOAD),
        header: Bytes(HEADER),
        ack: Bytes(ACK),
        ack_every: 1,
        carry_evs: false,
        rto: Span::Time(Duration::from_us(100)),
        inherits,
    });
    let environment = Environment { facts, rto: Duration::from_us(100), trimming: false };
    let lb = LbConfig::Reps(reps).build(&environment, stream(1, number, Purpose::LoadBalancer));
    let mut sender = transport.build_sender(ENDS, &facts, CcConfig::Dctcp(cc).build(&facts), lb);
    sender.post(message_id(0), 40 * PAYLOAD).unwrap();
    sender
}

fn first_flight(sender: &mut AnySender) -> Vec<Packet> {
    std::iter::from_fn(|| sender.poll_transmit(Time::ZERO)).collect()
}

/// A connection whose first twelve packets were acknowledged, the first three without a mark and the other nine with a
/// mark. This leaves it three entropies and a window of about 11 packets.
fn finished(inherits: Inherits) -> (AnySender, Vec<u16>) {
    let mut sender = connection(inherits, 1);
    let sent = first_flight(&mut sender);
    assert_eq!(sent.len(), 20);
    for (slot, packet) in sent.iter().take(12).enumerate() {
        let Repr::Data { psn, .. } = packet.repr else { panic!("{packet:?}") };
        let repr = Repr::Ack {
            cumulative: psn + 1,
            base: psn + 1,
            received: 0,
            marked: slot >= 3,
            carried: Default::default(),
            sent_at: Time::ZERO,
        };
        let ack = Packet::new(ENDS.qp, ENDS.src, repr).with_ev(packet.ev);
        sender.handle_packet(Time::ZERO + Duration::from_us(8), &ack);
    }
    (sender, sent[..3].iter().map(|packet| packet.ev).collect())
}

fn evs(packets: &[Packet]) -> Vec<u16> {
    packets.iter().map(|packet| packet.ev).collect()
}

#[test]
fn nothing_is_left_unless_the_scheme_says_so() {
    let (before, _) = finished(Inherits::Nothing);
    assert!(before.cached_state().is_none());
    assert_eq!(first_flight(&mut connection(Inherits::Nothing, 2)).len(), 20);
}

#[test]
fn the_window_alone_leaves_paths_to_be_explored() {
    let (before, _) = finished(Inherits::Window);
    let mut next = connection(Inherits::Window, 2);
    next.inherit(&before.cached_state().unwrap());
    let sent = first_flight(&mut next);
    // The window has at most 20 packets, less one for each of nine marks.
    assert_eq!(sent.len(), 11);
    assert_eq!(evs(&sent), evs(&first_flight(&mut connection(Inherits::Window, 2))[..11]));
}

#[test]
fn entropies_come_first_and_in_their_order_and_then_new_ones() {
    let (before, left) = finished(Inherits::WindowAndEntropies);
    let mut next = connection(Inherits::WindowAndEntropies, 2);
    next.inherit(&before.cached_state().unwrap());
    let sent = evs(&first_flight(&mut next));
    assert_eq!((sent.len(), &sent[..3]), (11, &left[..]));
    let afresh = evs(&first_flight(&mut connection(Inherits::WindowAndEntropies, 2)));
    assert_eq!(sent[3..], afresh[..8], "it draws from its own stream");
}
