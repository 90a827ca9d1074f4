//! Tests of packets with the headers of MRC: sizes, one packet by hand, round trips and errors.

use crate::support::ROUTE;
use anabranch_base::{HostId, MessageId, QpId, Time};
use anabranch_proto::transport::{Headers, PayloadRange};
use anabranch_proto::{EndpointOp, Packet, Repr, SackCause};
use anabranch_wire::{
    Addresses, FCS_BYTES, FIRST_QPN, Format, ICRC_BYTES, Memory, Payload, Reference, Route, TRIMMED_CLASS,
    decode, encode, trim,
};
use proptest::prelude::*;

const FORMAT: Format = Format::new(Headers::Mrc);
const MEMORY: Memory = Memory { address: 0x0102_0304_0506_0700, key: 0x1112_1314 };
/// A time in whole ticks of 64 ns.
const SENT: Time = Time(64_000 * 0x2122_2324);
const REFERENCE: Reference =
    Reference { dst: HostId(2), at_receiver: true, psn: 0, now: Time(SENT.0 + 64_000_000) };

fn frame_on(route: &Route, repr: Repr, payload: &Payload<'_>) -> Vec<u8> {
    let mut frame = Vec::new();
    let packet = Packet::new(QpId(0x03_0405 - FIRST_QPN), HostId(2), repr).with_ev(0xe1e2);
    encode(&FORMAT, route, &packet, payload, &mut frame).unwrap();
    frame
}

fn payload(offset: u64, bytes: &[u8]) -> Payload<'_> {
    let range =
        PayloadRange { offset, bytes: bytes.len() as u16, message_bytes: 8_192, ..PayloadRange::default() };
    Payload { range, memory: MEMORY, bytes }
}

fn endpoint(op: EndpointOp, value: u16, [is_response, marked, to_receiver]: [bool; 3]) -> Repr {
    Repr::Endpoint { op, value, is_response, marked, to_receiver }
}

/// MRC (OCP 1.0), over IPv6 without SRv6: a data packet with a timestamp has 106 B more than its payload. A SACK and an
/// endpoint response have 118 B, a NACK has 102 B, and a probe and an endpoint request have 98 B. A trimmed packet is
/// as long as a NACK.
#[test]
fn packets_have_the_sizes_of_mrc() {
    let v6 = Route { ip: Addresses::V6 { from: [1; 16], to: [2; 16] }, ..ROUTE };
    let size = |repr, payload: &Payload<'_>| frame_on(&v6, repr, payload).len() + FCS_BYTES;
    assert_eq!(size(Repr::data(7), &payload(0, &[0; 4_096])), 4_096 + 106);
    assert_eq!(FORMAT.overhead(&v6.ip), 106);
    let none = Payload::default();
    let response = |is_response| endpoint(EndpointOp::PathProbe, 7, [is_response, false, false]);
    for (repr, bytes) in [
        (Repr::uet_ack(7), 118),
        (response(true), 118),
        (Repr::nack(7), 102),
        (Repr::trimmed(7), 102),
        (Repr::probe(7), 98),
        (response(false), 98),
    ] {
        assert_eq!(size(repr, &none), bytes, "{repr:?}");
    }
}

/// A retransmission of the bytes from offset 0x40 of message 0x616263. Tools that know RoCEv2 read the packet as a
/// Write Only with a RETH.
#[test]
fn a_data_packet_is_a_write_with_the_headers_of_mrc_behind_its_reth() {
    let repr =
        Repr::data(0x0131_3233).with_message(MessageId(0x61_6263), 1).with_sent_at(SENT).with_ack_now(true);
    let frame = frame_on(&ROUTE, repr.with_retransmitted(true), &payload(0x40, &[9, 8, 7, 6]));
    let behind_udp = [
        // Opcode 0x0a, no padding, P_Key, queue pair, AckReq and PSN.
        &[0x0a, 0, 0xff, 0xff, 0, 0x03, 0x04, 0x05, 0x80, 0x31, 0x32, 0x33][..],
        &[1, 2, 3, 4, 5, 6, 7, 0x40, 0x11, 0x12, 0x13, 0x14, 0, 0, 0, 4],
        &[1, 0x61, 0x62, 0x63, 0x21, 0x22, 0x23, 0x24],
        &[9, 8, 7, 6],
    ]
    .concat();
    assert_eq!(frame[42..frame.len() - ICRC_BYTES], behind_udp);
}

fn repr() -> impl Strategy<Value = Repr> {
    let psn = 0..1u32 << 23;
    let time = (0..1u64 << 14).prop_map(|ago| Time(SENT.0 + 64_000_000 - 64_000 * ago));
    let cause = any::<[bool; 3]>().prop_map(|[a, b, c]| SackCause::new(a, b).with_retransmitted(c));
    let data = (psn.clone(), 0..1u32 << 24, any::<[bool; 2]>(), time.clone()).prop_map(
        |(psn, message, [now, again], sent_at)| {
            let data = Repr::data(psn).with_message(MessageId(message), 1).with_sent_at(sent_at);
            data.with_ack_now(now).with_retransmitted(again)
        },
    );
    let ack = (any::<(u64, u32, u16)>(), psn.clone(), 0u16..0x7fff, -0x7fff..0x7fffi16, cause, time.clone());
    let ack = ack.prop_map(
        |((received, bytes, out_of_order), cumulative, base_offset, psn_offset, cause, sent_at)| {
            Repr::UetAck {
                cumulative,
                base_offset,
                psn_offset,
                received,
                bytes_received: bytes & !0xff,
                out_of_order,
                cause,
                sent_at,
            }
        },
    );
    let short =
        (psn, any::<[bool; 2]>(), time, 0..3u8).prop_map(|(psn, [one, two], sent_at, kind)| match kind {
            0 => Repr::trimmed(psn).with_last_hop(one).with_sent_at(sent_at),
            1 => Repr::nack(psn).with_last_hop(one).with_mark(two).with_sent_at(sent_at),
            _ => Repr::Probe { base: psn, sent_at, is_control: one },
        });
    let op = prop_oneof![Just(EndpointOp::PathProbe), Just(EndpointOp::PortStatus)];
    let endpoints =
        (op, any::<(u16, [bool; 3])>()).prop_map(|(op, (value, flags))| endpoint(op, value, flags));
    prop_oneof![data, ack, short, endpoints]
}

proptest! {
    #[test]
    fn every_packet_is_read_back(repr in repr(), bytes in prop::collection::vec(any::<u8>(), 0..9)) {
        let is_data = matches!(repr, Repr::Data { .. });
        let given = if is_data { payload(0x40, &bytes) } else { Payload::default() };
        let frame = frame_on(&ROUTE, repr, &given);
        let read = decode(&FORMAT, &REFERENCE, &frame).unwrap();
        prop_assert_eq!(read.packet.repr, repr);
        prop_assert_eq!((read.packet.qp, read.packet.ev), (QpId(0x03_0405 - FIRST_QPN), 0xe1e2 | 0xc000));
        prop_assert_eq!(read.payload, given.bytes);
        if is_data {
            let reth = read.reth.unwrap();
            prop_assert_eq!((reth.address, reth.length as usize), (MEMORY.address + 0x40, bytes.len()));
            let mut cut = frame;
            trim(&FORMAT, &mut cut).unwrap();
            let Repr::Data { psn, sent_at, .. } = repr else { unreachable!() };
            let trimmed = decode(&FORMAT, &REFERENCE, &cut).unwrap();
            prop_assert_eq!(trimmed.packet.repr, Repr::trimmed(psn).with_sent_at(sent_at));
            prop_assert_eq!(cut[15] >> 2, TRIMMED_CLASS);
        }
    }
}

#[test]
fn what_has_no_place_or_no_meaning_is_an_error() {
    let fails = |repr: Repr| {
        let packet = Packet::new(QpId(1), HostId(2), repr);
        encode(&FORMAT, &ROUTE, &packet, &Payload::default(), &mut Vec::new()).unwrap_err().to_string()
    };
    assert_eq!(
        fails(Repr::data(1).with_message(MessageId(1 << 24), 1)),
        "message (byte 71): 16777216 does not fit 24 bits"
    );
    assert_eq!(
        fails(Repr::data(1).with_stamps(3)),
        "timestamps of a program (byte 54): 0x3 has no room in these headers"
    );
    // The ICRC is computed again, so that only the changed byte is wrong.
    let changed = |repr: Repr, at: usize, value: u8| {
        let mut frame = frame_on(&ROUTE, repr, &Payload::default());
        frame[at] = value;
        let end = frame.len() - ICRC_BYTES;
        let crc = anabranch_wire::icrc(&frame[14..end]).to_le_bytes();
        frame[end..].copy_from_slice(&crc);
        decode(&FORMAT, &REFERENCE, &frame).unwrap_err().to_string()
    };
    assert_eq!(
        changed(Repr::nack(7), 54, 9),
        "NACK reason (byte 54): 0x9, where 1 or 2 (trimmed) is expected"
    );
    assert_eq!(
        changed(Repr::uet_ack(7), 58, 9),
        "entropy value (byte 58): 0x09, whose bits 0xff are reserved and must be 0"
    );
    let probe = endpoint(EndpointOp::PathProbe, 7, [false; 3]);
    assert_eq!(changed(probe, 54, 2), "operation (byte 54): 0x2, where 0 (ports) or 1 (path) is expected");
    assert_eq!(changed(probe, 59, 1), "entropy value or ports (byte 58): 65543 does not fit 16 bits");
}
