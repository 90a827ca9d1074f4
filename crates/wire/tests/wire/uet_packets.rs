//! Tests of packets with the headers of Ultra Ethernet: sizes, one packet by hand, and round trips.

use crate::support::{MAC, ROUTE};
use anabranch_base::{HostId, MessageId, QpId, Time};
use anabranch_proto::transport::{Headers, PayloadRange};
use anabranch_proto::{Msn, Packet, Repr, SackCause};
use anabranch_wire::{
    Addresses, FCS_BYTES, Format, Memory, Payload, Reference, Route, SES_BYTES, decode, encode, trim,
};
use proptest::prelude::*;

const FORMAT: Format = Format::new(Headers::Uet { credit: true });
const WITHOUT_CREDIT: Format = Format::new(Headers::Uet { credit: false });
const REFERENCE: Reference = Reference { dst: HostId(2), at_receiver: true, psn: 0, now: Time(0) };

fn frame_of(route: &Route, packet: &Packet, payload: &Payload<'_>) -> Vec<u8> {
    frame_in(&FORMAT, route, packet, payload)
}

fn frame_in(format: &Format, route: &Route, packet: &Packet, payload: &Payload<'_>) -> Vec<u8> {
    let mut frame = Vec::new();
    encode(format, route, packet, payload, &mut frame).unwrap();
    frame
}

/// The payload `bytes` at this offset of a message of `whole` bytes.
fn payload(offset: u32, bytes: &[u8], whole: u32, memory: Memory) -> Payload<'_> {
    let (offset, message_bytes) = (u64::from(offset), u64::from(whole));
    let range = PayloadRange {
        message: MessageId(0),
        offset,
        bytes: bytes.len() as u16,
        message_bytes,
        request_offset: offset,
        request_bytes: message_bytes,
    };
    Payload { range, memory, bytes }
}

fn packet(repr: Repr) -> Packet {
    Packet::new(QpId(0x0003_0405), HostId(2), repr).with_ev(0xe1e2)
}

/// UET 1.0.3: over IPv4, a data packet has 102 B more than its payload, or 106 B with a credit target. An ACK_CC has 78
/// B, and a NACK, a control packet and a trimmed packet have 62 B. Over IPv6, all have 20 B more.
#[test]
fn packets_have_the_sizes_of_the_specification() {
    let zeros = [0; 4_096];
    let data = payload(0, &zeros, 8_192, Memory::default());
    let v6 = Route { ip: Addresses::V6 { from: [1; 16], to: [2; 16] }, ..ROUTE };
    for (route, more) in [(ROUTE, 0), (v6, 20)] {
        let size_in = |format: &Format, repr: Repr, payload: &Payload<'_>| {
            frame_in(format, &route, &packet(repr), payload).len() + FCS_BYTES - more
        };
        let (size, none) = (|repr, payload| size_in(&FORMAT, repr, payload), Payload::default());
        for (format, headers) in [(&WITHOUT_CREDIT, 102), (&FORMAT, 106)] {
            assert_eq!(size_in(format, Repr::data(7), &data), 4_096 + headers);
            assert_eq!(format.overhead(&route.ip), headers + more);
        }
        assert_eq!(size(Repr::uet_ack(7), &none), 78);
        for repr in [
            Repr::nack(7),
            Repr::probe(7).in_control_class(),
            Repr::Pull { number: 7 },
            Repr::Rts { target: 7 },
            Repr::trimmed(7),
            Repr::trimmed(7).with_msn(Msn::of_pull_target(9)),
        ] {
            assert_eq!(size(repr, &none), 62, "{repr:?}");
            assert_eq!(size_in(&WITHOUT_CREDIT, repr, &none), 62, "{repr:?}");
        }
    }
}

/// The last packet of a Write of 0x50 bytes, with RCCC's credit target.
#[test]
fn a_data_packet_has_the_headers_of_both_sublayers() {
    let memory = Memory { address: 0x0102_0304_0506_0708, key: 0x1112_1314 };
    let repr = Repr::data(0x3132_3334).with_message(MessageId(0x6162), 2).with_ack_now(true);
    let packet = packet(repr.with_msn(Msn::of_pull_target(0x71_72_73)));
    let frame = frame_of(&ROUTE, &packet, &payload(0x4d, &[9, 8, 7], 0x50, memory));
    let expected = [
        &MAC[..],
        // IP: DSCP 26 and ECT(0), 91 bytes. UDP from the entropy value to 4793.
        &[0x45, 0x6a, 0, 91, 0, 0, 0x40, 0, 64, 17, 0x26, 0x26, 10, 0, 0, 1, 10, 0, 0, 2],
        &[0xe1, 0xe2, 0x12, 0xb9, 0, 71, 0, 0],
        // A RUD request with CC state (type 13), before a standard request (3), AR.
        &[0x69, 0x88, 0, 0, 0x31, 0x32, 0x33, 0x34, 0x04, 0x05, 0x00, 0x03, 0, 0x71, 0x72, 0x73],
        // A Write, end of message.
        &[1, 2, 0x61, 0x62, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0],
        &[0, 0, 0, 0, 0x11, 0x12, 0x13, 0x14, 0, 0, 0, 3, 0, 0, 0, 0x4d, 0, 0, 0, 0x50],
        &[9, 8, 7],
    ]
    .concat();
    assert_eq!(SES_BYTES, 44);
    assert_eq!(frame, expected);
}

fn repr() -> impl Strategy<Value = Repr> {
    let cause = any::<[bool; 3]>().prop_map(|[a, b, c]| SackCause::new(a, b).with_retransmitted(c));
    let data = any::<(u32, u16, bool, bool, u32)>().prop_map(|(psn, message, now, again, target)| {
        let data = Repr::data(psn).with_message(MessageId(message.into()), 1).with_ack_now(now);
        data.with_retransmitted(again).with_msn(Msn::of_pull_target(target & 0xff_ffff))
    });
    let ack = (any::<(u32, u64, u32, u16)>(), 0u16..0x7fff, -0x7fff..0x7fffi16, cause).prop_map(
        |((cumulative, received, bytes, out_of_order), base_offset, psn_offset, cause)| Repr::UetAck {
            cumulative,
            base_offset,
            psn_offset: if cause.probe() { -1 } else { psn_offset },
            received,
            bytes_received: bytes & !0xff,
            out_of_order,
            cause,
            sent_at: Time::ZERO,
        },
    );
    prop_oneof![
        data,
        ack,
        any::<(u32, bool, bool)>()
            .prop_map(|(psn, last, marked)| Repr::nack(psn).with_last_hop(last).with_mark(marked)),
        // Over IPv6 the shortest trimmed packet has 82 B.
        (any::<(u32, bool, u32)>(), 82..=u16::MAX).prop_map(|((psn, last, target), data_bytes)| {
            let trimmed = Repr::trimmed(psn).with_last_hop(last).with_data_bytes(data_bytes);
            trimmed.with_msn(Msn::of_pull_target(target & 0xff_ffff))
        }),
        any::<u32>().prop_map(|base| Repr::probe(base).in_control_class()),
        any::<u32>().prop_map(|number| Repr::Pull { number }),
        any::<u32>().prop_map(|target| Repr::Rts { target }),
        // Programs in switches have packets of their own, with a BTH.
        any::<u64>().prop_map(|word| Repr::Program { word }),
    ]
}

fn case() -> impl Strategy<Value = (Packet, Route, u32, u32, Memory, Vec<u8>)> {
    let v4 = any::<([u8; 4], [u8; 4])>().prop_map(|(from, to)| Addresses::V4 { from, to });
    let v6 = any::<([u8; 16], [u8; 16])>().prop_map(|(from, to)| Addresses::V6 { from, to });
    let route = prop_oneof![v4, v6].prop_map(|ip| Route { ip, ..ROUTE });
    let places = (0u32..1 << 31, 0u32..1 << 20, any::<(u64, u32)>());
    let bytes = prop::collection::vec(any::<u8>(), 1..70);
    (repr(), any::<(u32, u16, bool)>(), route, places, bytes).prop_map(
        |(repr, (qp, ev, marked), route, (offset, beyond, (address, key)), bytes)| {
            let qp = if matches!(repr, Repr::Program { .. }) { qp & 0xff_0000 } else { qp };
            let packet = Packet::new(QpId(qp), HostId(2), repr).with_ev(ev).with_mark(marked);
            let whole = offset + bytes.len() as u32 + beyond;
            (packet, route, offset, whole, Memory { address, key }, bytes)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 1024, ..ProptestConfig::default() })]

    #[test]
    fn every_packet_survives_its_bytes((packet, route, offset, whole, memory, bytes) in case()) {
        let frame = frame_of(&route, &packet, &payload(offset, &bytes, whole, memory));
        let read = decode(&FORMAT, &REFERENCE, &frame).unwrap_or_else(|error| panic!("{error}: {packet:?}"));
        let is_data = matches!(packet.repr, Repr::Data { .. });
        prop_assert_eq!(read.packet, Packet { wire_bytes: read.packet.wire_bytes, ..packet });
        prop_assert_eq!(usize::from(read.packet.wire_bytes), frame.len().max(60) + FCS_BYTES);
        prop_assert_eq!(read.route, route);
        prop_assert_eq!(read.payload, if is_data { &bytes[..] } else { &[] });
        prop_assert_eq!(read.offset, is_data.then_some(offset));
        if is_data {
            let reth = read.reth.expect("each packet has the place of its message");
            prop_assert_eq!((reth.address, reth.key, reth.length), (memory.address, memory.key, whole));
        }
        // The padding of a short frame is not read.
        let padded = [&frame[..], &[0; 9]].concat();
        prop_assert_eq!(decode(&FORMAT, &REFERENCE, &padded), Ok(read));
    }

    #[test]
    fn a_trimmed_packet_has_24_bytes_from_udp_on((packet, route, offset, whole, memory, bytes) in case()) {
        let mut frame = frame_of(&route, &packet, &payload(offset, &bytes, whole, memory));
        let before = frame.clone();
        let trimmed = trim(&FORMAT, &mut frame);
        let Repr::Data { psn, msn, .. } = packet.repr else {
            prop_assert!(trimmed.is_err() && frame == before);
            return Ok(());
        };
        prop_assert_eq!(trimmed, Ok(()));
        prop_assert_eq!(frame.len(), route.ip.bth() - 8 + 24);
        let read = decode(&FORMAT, &REFERENCE, &frame).unwrap();
        let data_bytes = (before.len() + FCS_BYTES) as u16;
        prop_assert_eq!(read.packet.repr, Repr::trimmed(psn).with_msn(msn).with_data_bytes(data_bytes));
        prop_assert!(trim(&FORMAT, &mut frame).is_err(), "nothing is left to trim");
    }

    #[test]
    fn part_of_a_packet_is_an_error_with_its_place(
        (packet, route, offset, whole, memory, bytes) in case(),
        end: prop::sample::Index,
    ) {
        let frame = frame_of(&route, &packet, &payload(offset, &bytes, whole, memory));
        let end = end.index(frame.len());
        let error = decode(&FORMAT, &REFERENCE, &frame[..end]).unwrap_err();
        prop_assert!(error.at <= end, "{}", error);
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..120), from in any::<prop::sample::Index>()) {
        let mut frame = frame_of(&ROUTE, &packet(Repr::uet_ack(7)), &Payload::default());
        let from = from.index(frame.len() - 42) + 42;
        frame.truncate(from);
        frame.extend(bytes);
        let _ = decode(&FORMAT, &REFERENCE, &frame);
        let _ = trim(&FORMAT, &mut frame);
    }
}
