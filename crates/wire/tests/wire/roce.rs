//! Tests of RoCEv2 frames of other implementations, and of the simulator's packets in RoCEv2 headers, byte for byte.

use crate::support::{MAC, ROUTE};
use anabranch_base::{HostId, MessageId, QpId, Time};
use anabranch_proto::transport::{Headers, PayloadRange};
use anabranch_proto::{Packet, Repr};
use anabranch_wire::{
    Addresses, Bth, Entropy, Fault, Format, Memory, Payload, Reference, RoceFrame, Route, WireError, decode,
    encode, encode_roce, icrc,
};

/// The IP packet, without ICRC, of a CNP from a ConnectX-4 Lx. The capture is in the tests of scapy's RoCE layer.
fn cnp_of_a_connectx() -> Vec<u8> {
    let ip_and_udp = [
        0x45, 0xc2, 0x00, 0x3c, 0x71, 0x8c, 0x40, 0x00, 0x40, 0x11, 0x91, 0x61, 10, 0, 17, 1, 10, 0, 18,
        1, // IP
        0, 0, 0x12, 0xb7, 0, 0x28, 0, 0, // UDP
        0x81, 0, 0xff, 0xff, 0x40, 0, 1, 0x18, 0, 0, 0, 0, // BTH
    ];
    [&ip_and_udp[..], &[0; 16]].concat()
}

const ITS_ICRC: [u8; 4] = [0x82, 0xfd, 0x00, 0x2a];

#[test]
fn the_icrc_is_that_of_hardware() {
    let packet = cnp_of_a_connectx();
    assert_eq!(icrc(&packet).to_le_bytes(), ITS_ICRC);
    // The whole frame is read, both as it was captured and after two further hops with an ECN mark.
    for (tos, hops, checksum) in [(0xc2, 0x40, [0x91, 0x61]), (0xc3, 0x3e, [0x93, 0x60])] {
        let mut frame = [&MAC[..], &packet, &ITS_ICRC].concat();
        (frame[15], frame[22]) = (tos, hops);
        frame[24..26].copy_from_slice(&checksum);
        let read = RoceFrame::decode(&frame, Entropy::Port).unwrap();
        assert_eq!(read.bth, Bth { becn: true, ..Bth::new(0x81, 0x118, 0) });
        assert_eq!(read.content(), Ok(&[0; 16][..]));
        let reference = Reference { dst: HostId(4), at_receiver: false, psn: 9, now: Time::ZERO };
        let format = Format { entropy: Entropy::Port, ..Format::new(Headers::InOrder) };
        let received = decode(&format, &reference, &frame).unwrap();
        let marked = tos == 0xc3;
        assert_eq!(received.packet, Packet::cnp(QpId(24), HostId(4)).with_bytes(78).with_mark(marked));
    }
}

/// A Send of an unreliable connection with two bytes of padding, from the tests of scapy's RoCE layer.
#[test]
fn the_icrc_covers_payload_and_padding() {
    let packet = [
        &[0x45, 1, 0, 64, 0x04, 0x78, 0x40, 0, 64, 17, 0xb4, 0xd5, 192, 168, 0, 7, 192, 168, 0, 7][..],
        &[0xc0, 0, 0x12, 0xb7, 0, 44, 0xac, 0xa2],
        &[0x24, 0x60, 0xff, 0xff, 0, 0, 0, 211, 0, 0xcf, 0x17, 0x10],
        b"F0\x81\x8b\xe2\x895\xd9\x0e\x9a\x95PT\x01\xbe\x88^P\x00\x00",
    ]
    .concat();
    assert_eq!(icrc(&packet).to_le_bytes(), [0x78, 0xf3, 0x53, 0xf3]);
    let frame = [&MAC[..], &packet, &[0x78, 0xf3, 0x53, 0xf3]].concat();
    let read = RoceFrame::decode(&frame, Entropy::Port).unwrap();
    assert_eq!((read.link.ev, read.bth.pad, read.bth.migrated), (0xc000, 2, true));
    assert_eq!(read.content().unwrap().len(), 18);
    for at in 54..frame.len() {
        let mut frame = frame.clone();
        frame[at] ^= 0x20;
        let error = RoceFrame::decode(&frame, Entropy::Port).unwrap().content().unwrap_err();
        assert_eq!((error.field, error.at), ("ICRC", 74), "byte {at}: {error}");
    }
}

const QP: QpId = QpId(0x0a0b0c - 256);

/// The second packet of message 5, with 4 bytes. A full packet carries 1,000 bytes.
fn data() -> (Packet, Payload<'static>) {
    let repr = Repr::data(0x0112_2334).with_message(MessageId(5), 2).with_ack_now(true);
    let range = PayloadRange {
        message: MessageId(5),
        offset: 1_000,
        bytes: 4,
        message_bytes: 1_004,
        request_offset: 1_000,
        request_bytes: 1_004,
    };
    let memory = Memory { address: 0x0102_0304_0506_0000, key: 0x1112_1314 };
    let packet = Packet::new(QP, HostId(2), repr).with_ev(0x1234);
    (packet, Payload { range, memory, bytes: &[1, 2, 3, 4] })
}

fn bytes_of(format: &Format, route: &Route, (packet, payload): (Packet, Payload<'_>)) -> Vec<u8> {
    let mut bytes = vec![7; 3];
    encode(format, route, &packet, &payload, &mut bytes).unwrap();
    bytes
}

const RETH: [u8; 16] = [1, 2, 3, 4, 5, 6, 0x03, 0xe8, 0x11, 0x12, 0x13, 0x14, 0, 0, 0, 4]; // 0x3e8 is 1,000.

#[test]
fn a_packet_placed_in_any_order_has_its_address() {
    let bytes = bytes_of(&Format::new(Headers::Direct), &ROUTE, data());
    let expected = [
        &MAC[..],
        // The IP header has DSCP 26, ECT(0), a length of 64 bytes and the identification 0x1234.
        &[0x45, 0x6a, 0, 64, 0x12, 0x34, 0x40, 0, 64, 17, 0x14, 0x0d, 10, 0, 0, 1, 10, 0, 0, 2],
        &[0xd2, 0x34, 0x12, 0xb7, 0, 44, 0, 0],
        &[0x0a, 0, 0xff, 0xff, 0, 0x0a, 0x0b, 0x0c, 0x80, 0x12, 0x23, 0x34],
        &RETH,
        &[1, 2, 3, 4],
    ]
    .concat();
    let (covered, crc) = bytes.split_at(bytes.len() - 4);
    assert_eq!(covered, expected);
    assert_eq!(crc, icrc(&covered[14..]).to_le_bytes());
}

#[test]
fn packets_in_order_have_the_address_in_the_first() {
    let format = Format::new(Headers::InOrder);
    let (packet, payload) = data();
    let with = |offset: u64, bytes: u16, message_bytes: u64| {
        let mut range = payload.range;
        (range.offset, range.bytes, range.message_bytes) = (offset, bytes, message_bytes);
        (range.request_offset, range.request_bytes) = (offset, message_bytes);
        let all = bytes_of(&format, &ROUTE, (packet, Payload { range, ..payload }));
        (all[42], all[54..all.len() - 8].to_vec())
    };
    let reth = |length: [u8; 4]| [&[1, 2, 3, 4, 5, 6, 0, 0, 0x11, 0x12, 0x13, 0x14][..], &length].concat();
    assert_eq!(with(0, 1_000, 2_004), (0x06, reth([0, 0, 0x07, 0xd4])));
    assert_eq!(with(1_000, 1_000, 2_004), (0x07, vec![]));
    assert_eq!(with(2_000, 4, 2_004), (0x08, vec![]));
    assert_eq!(with(0, 4, 4), (0x0a, reth([0, 0, 0, 4])));
}

#[test]
fn the_extension_header_stands_behind_the_reth() {
    let format = Format::new(Headers::Extended);
    let (packet, payload) = data();
    let sent_at = Time(64_000 * 0x0102_0304);
    let packet = Packet { repr: packet.repr.with_sent_at(sent_at).with_stamps(0x5152_5354), ..packet };
    let bytes = bytes_of(&format, &ROUTE, (packet.with_tag(0x8142), payload));
    assert_eq!(bytes[46], 0x08, "it is announced in the BTH");
    assert_eq!(bytes[54..70], RETH);
    let extension = [
        0xa1, 0b10_0011, 0x81, 0x42, // Fields present: times of programs, message, time; then the tag
        1, 2, 3, 4, // the time in ticks
        0, 0, 0, 5, 0, 0, 0, 2, 0, 0, 0x03, 0xe8, // message 5 of 2 packets, from its byte 1,000 on
        0x51, 0x52, 0x53, 0x54,
    ];
    assert_eq!(bytes[70..94], extension);
    assert_eq!(bytes[94..98], [1, 2, 3, 4]);
}

/// Themis's bits are in the byte of the BTH that switches may change, so they do not change the ICRC.
#[test]
fn bits_of_themis_do_not_change_the_icrc() {
    let format = Format::new(Headers::Direct);
    let nack = |tag| (Packet::nack(QP, HostId(1), 7).with_tag(tag), Payload::default());
    let [plain, signal] = [0, 1].map(|tag| bytes_of(&format, &ROUTE, nack(tag)));
    let differing: Vec<usize> = (0..plain.len()).filter(|&at| plain[at] != signal[at]).collect();
    assert_eq!((differing, signal[46]), (vec![46], 0b100));
    let sprayed = |tag| bytes_of(&format, &ROUTE, (data().0.with_tag(tag), data().1));
    assert_eq!((sprayed(0)[46], sprayed(2)[46]), (0, 0b010));
}

#[test]
fn ipv6_has_the_entropy_value_in_its_flow_label() {
    let [from, to] = [1, 2].map(|last| std::array::from_fn(|at| if at == 15 { last } else { 0xfd }));
    let route = Route { ip: Addresses::V6 { from, to }, ..ROUTE };
    let bytes = bytes_of(&Format::new(Headers::Direct), &route, data());
    assert_eq!(bytes[12..22], [0x86, 0xdd, 0x66, 0xa0, 0x12, 0x34, 0, 44, 17, 64]);
    assert_eq!((&bytes[22..38], &bytes[38..54]), (&from[..], &to[..]));
    assert_eq!(bytes[54..62], [0xd2, 0x34, 0x12, 0xb7, 0, 44, 0, 0]);
    // The ICRC masks the flow label, the traffic class and the hop limit.
    let mut changed = bytes.clone();
    (changed[15], changed[16], changed[17], changed[21]) = (0xb9, 0xff, 0xff, 1);
    let read = |bytes: &[u8]| RoceFrame::decode(bytes, Entropy::Port).unwrap().content().map(drop);
    assert_eq!((read(&bytes), read(&changed)), (Ok(()), Ok(())));
}

#[test]
fn a_payload_is_filled_up_to_four_bytes() {
    for (payload, pad) in [(&b""[..], 0), (b"1", 3), (b"12", 2), (b"123", 1), (b"1234", 0)] {
        let link = anabranch_wire::Link { route: ROUTE, ev: 1, dscp: 26, ecn: 2 };
        let mut bytes = Vec::new();
        encode_roce(link, Entropy::Port, Bth::new(4, 9, 8), &[], payload, &mut bytes).unwrap();
        let read = RoceFrame::decode(&bytes, Entropy::Port).unwrap();
        assert_eq!((read.link, read.bth.pad, read.content()), (link, pad, Ok(payload)));
        assert_eq!(bytes.len(), 14 + 20 + 8 + 12 + payload.len() + usize::from(pad) + 4);
    }
}

#[test]
fn a_frame_is_no_longer_than_an_ip_packet() {
    let link = anabranch_wire::Link { route: ROUTE, ev: 1, dscp: 26, ecn: 2 };
    let most = 65_535 - 20 - 8 - 12 - 4;
    let mut bytes = Vec::new();
    let mut put = |length: usize| {
        encode_roce(link, Entropy::Port, Bth::new(4, 9, 8), &[], &vec![0; length], &mut bytes)
    };
    assert_eq!(put(most / 4 * 4), Ok(()));
    let fault = Fault::TooLarge { value: 65_536, bits: 16 };
    assert_eq!(put(most + 1), Err(WireError { field: "IP length", at: 16, fault }));
}

#[test]
fn the_overhead_is_what_a_frame_is_longer_than_its_payload() {
    let [from, to] = [[3; 16], [4; 16]];
    for headers in
        [Headers::InOrder, Headers::Direct, Headers::Extended, Headers::Irn, Headers::Strack, Headers::Dcp]
    {
        for ip in [ROUTE.ip, Addresses::V6 { from, to }] {
            let format = Format::new(headers);
            let bytes = bytes_of(&format, &Route { ip, ..ROUTE }, data());
            assert_eq!(bytes.len() + 4, format.overhead(&ip) + 4, "{headers:?}");
        }
    }
    assert_eq!(Format::new(Headers::Direct).overhead(&ROUTE.ip), 78);
    assert_eq!(Format::new(Headers::Extended).overhead(&ROUTE.ip), 98);
}
