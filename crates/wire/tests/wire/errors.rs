//! Tests that errors name the field, its offset and the problem.

use crate::support::ROUTE;
use anabranch_base::{HostId, QpId, Time};
use anabranch_proto::transport::{Headers, PayloadRange};
use anabranch_proto::{Packet, Repr};
use anabranch_wire::{
    Bth, Entropy, Format, Payload, Reference, WireError, decode, encode, encode_roce, opcode,
};

const REFERENCE: Reference = Reference { dst: HostId(2), at_receiver: true, psn: 0, now: Time::ZERO };

fn encoded(headers: Headers, packet: Packet, payload: &Payload<'_>) -> Result<Vec<u8>, WireError> {
    let mut bytes = Vec::new();
    encode(&Format::new(headers), &ROUTE, &packet, payload, &mut bytes)?;
    Ok(bytes)
}

fn error(headers: Headers, bytes: &[u8]) -> String {
    decode(&Format::new(headers), &REFERENCE, bytes).unwrap_err().to_string()
}

#[test]
fn an_ack_of_dcp_has_no_room_for_a_bitmap() {
    for (base, received) in [(0, 6), (7, 6), (9, 0), (9, 6)] {
        let packet = Packet {
            repr: Repr::ack(7).with_received(base, received),
            ..Packet::nack(QpId(1), HostId(2), 3)
        };
        let error = encoded(Headers::Dcp, packet, &Payload::default()).unwrap_err();
        assert_eq!(error.field, "bitmap", "{base} {received}");
    }
    let packet = Packet { repr: Repr::ack(7), ..Packet::nack(QpId(1), HostId(2), 3) };
    encoded(Headers::Dcp, packet, &Payload::default()).unwrap();
}

fn nack() -> Vec<u8> {
    encoded(Headers::Extended, Packet::nack(QpId(1), HostId(2), 3), &Payload::default()).unwrap()
}

#[test]
fn headers_before_the_bth() {
    let with = |changes: &[(usize, u8)]| {
        let mut bytes = nack();
        changes.iter().for_each(|&(at, byte)| bytes[at] = byte);
        error(Headers::Extended, &bytes)
    };
    assert_eq!(error(Headers::Extended, &[]), "Ethernet header (byte 0): 0 bytes are left, and it needs 14");
    assert_eq!(
        error(Headers::Extended, &nack()[..20]),
        "IPv4 header (byte 14): 6 bytes are left, and it needs 20"
    );
    assert_eq!(
        error(Headers::Extended, &nack()[..60]),
        "IP packet (byte 14): 46 bytes are left, and it needs 56"
    );
    assert_eq!(
        with(&[(12, 0x88), (13, 0x08)]),
        "EtherType (byte 12): 0x8808, where 0x0800 (IPv4) or 0x86dd (IPv6) is expected"
    );
    assert_eq!(
        with(&[(14, 0x46)]),
        "IPv4 version and header length (byte 14): 0x46, where 0x45 (IPv4 without options) is expected"
    );
    assert_eq!(with(&[(20, 0x20)]), "IPv4 fragment (byte 20): 0x2000, where a whole packet is expected");
    assert_eq!(with(&[(23, 6)]), "IPv4 protocol (byte 23): 0x6, where 17 (UDP) is expected");
    let checksum = with(&[(26, 11)]);
    assert!(checksum.starts_with("IPv4 checksum (byte 24): 0x"), "{checksum}");
    assert_eq!(
        with(&[(37, 0xb8)]),
        "UDP destination port (byte 36): 0x12b8, where 4791 (RoCEv2) is expected"
    );
    assert_eq!(
        with(&[(35, 1)]),
        "UDP source port (byte 34): 0xc001, where a port from 0xc000 on with the low bits of the IP identification or \
         flow label is expected"
    );
    assert_eq!(with(&[(43, 1)]), "BTH version (byte 43): 0x01, whose bits 0x0f are reserved and must be 0");
    let crc = with(&[(60, 9)]);
    assert!(crc.starts_with("ICRC (byte 66): 0x"), "{crc}");
}

fn behind_bth(bth: Bth, headers: &[u8]) -> Vec<u8> {
    let link = anabranch_wire::Link { route: ROUTE, ev: 0, dscp: 0, ecn: 0 };
    let mut bytes = Vec::new();
    encode_roce(link, Entropy::DynamicPort, bth, headers, &[], &mut bytes).unwrap();
    bytes
}

#[test]
fn headers_behind_the_bth() {
    let with = |opcode: u8, headers: &[u8]| {
        error(Headers::Extended, &behind_bth(Bth { reserved: 8, ..Bth::new(opcode, 300, 1) }, headers))
    };
    assert_eq!(
        with(0x0c, &[]),
        "BTH opcode (byte 42): 0xc, where a Write, an ACK, a CNP, or 0xc0 to 0xc7 is expected"
    );
    assert_eq!(
        with(opcode::ACKNOWLEDGE, &[0x61, 0, 0, 0]),
        "AETH syndrome (byte 54): 0x61, where 0x1f (ACK) or 0x60 (NACK, PSN sequence error) is expected"
    );
    assert_eq!(with(opcode::ACKNOWLEDGE, &[0x1f, 0]), "AETH MSN (byte 55): 1 bytes are left, and it needs 3");
    assert_eq!(with(opcode::WRITE_ONLY, &[0; 12]), "RETH length (byte 66): 0 bytes are left, and it needs 4");
    assert_eq!(
        with(opcode::PULL, &[0, 0, 0, 1]),
        "extension header (byte 58): 0 bytes are left, and it needs 1"
    );
    assert_eq!(
        with(opcode::PULL, &[0, 0, 0, 1, 9]),
        "extension header (byte 58): 0x9, where 0xa1 is expected"
    );
    assert_eq!(
        with(opcode::PULL, &[0, 0, 0, 1, 0xa1, 0x80]),
        "fields of the extension header (byte 59): 0x80, whose bits 0x80 are reserved and must be 0"
    );
    assert_eq!(
        with(opcode::PULL, &[0, 0, 0, 1, 0xa1, 0, 0, 0, 7, 7]),
        "payload (byte 62): 2 bytes follow it, and the packet ends with it"
    );
    assert_eq!(
        error(Headers::Extended, &behind_bth(Bth::new(opcode::PULL, 255, 1), &[0; 4])),
        "queue pair number (byte 47): 0xff, where a number from 256 on is expected"
    );
    let strack = [&[0x1f, 0, 0, 0, 0, 9][..], &[0; 22]].concat();
    assert_eq!(
        error(Headers::Strack, &behind_bth(Bth::new(opcode::ACKNOWLEDGE, 300, 1), &strack)),
        "echo_entropy (byte 58): 0x9, where the entropy value of the packet is expected"
    );
    assert_eq!(
        error(Headers::Irn, &behind_bth(Bth::new(opcode::ACKNOWLEDGE, 300, 1), &[0x60, 0, 0, 0, 0, 0, 0, 1])),
        "AETH syndrome (byte 54): 0x60, where 0x1f (ACK) up to the ePSN, 0x60 (NACK) beyond it is expected"
    );
}

#[test]
fn packets_without_bytes() {
    let to = |repr| Packet::new(QpId(1), HostId(2), repr);
    let fails =
        |headers, packet, payload: &Payload<'_>| encoded(headers, packet, payload).unwrap_err().to_string();
    let nothing = Payload::default();
    let far = Packet::nack(QpId((1 << 24) - 256), HostId(2), 3);
    assert_eq!(
        fails(Headers::Direct, far, &nothing),
        "queue pair number (byte 47): 16777216 does not fit 24 bits"
    );
    let late = to(Repr::ack(3).with_received(5, 0b11));
    assert_eq!(fails(Headers::Irn, late, &nothing), "bitmap (byte 54): 0x3 has no room in these headers");
    assert_eq!(fails(Headers::Dcp, late, &nothing), "bitmap (byte 54): 0x5 has no room in these headers");
    assert_eq!(
        fails(Headers::Dcp, to(Repr::ack(1 << 24)), &nothing),
        "AETH MSN (byte 55): 16777216 does not fit 24 bits"
    );
    for (headers, repr, name) in
        [(Headers::Strack, Repr::ack(1), "ACK"), (Headers::Irn, Repr::nack(1), "NACK")]
    {
        assert_eq!(fails(headers, to(repr), &nothing), format!("{name} (byte 42): these headers have none"));
    }
    let tagged = to(Repr::header_only(1)).with_tag(1 << 15);
    assert_eq!(fails(Headers::Dcp, tagged, &nothing), "tag (byte 54): 0x8000 has no room in these headers");
    let range = PayloadRange { offset: 1 << 32, message_bytes: 1 << 33, ..PayloadRange::default() };
    let beyond = Payload { range, ..Payload::default() };
    assert_eq!(
        fails(Headers::Extended, to(Repr::data(1)), &beyond),
        "offset (byte 86): 4294967296 does not fit 32 bits"
    );
    let range = PayloadRange { request_offset: 1 << 32, ..range };
    let beyond = Payload { range, ..Payload::default() };
    assert_eq!(
        fails(Headers::Dcp, to(Repr::data(1)), &beyond),
        "offset (byte 84): 4294967296 does not fit 32 bits"
    );
}
