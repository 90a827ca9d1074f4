//! Tests of DCP's figure 4, byte for byte.

use crate::support::{MAC, ROUTE};
use anabranch_proto::Msn;
use anabranch_proto::transport::dcp_reception::{Operation, Reth};
use anabranch_wire::dcp::{DataHeaders, HEADER_ONLY_BYTES, Tag, decode_data, encode_data, trim, turn_round};
use anabranch_wire::{Addresses, Entropy, Fault, Link, Position, RoceFrame, Route, WireError, icrc};
use proptest::prelude::*;

const LINK: Link = Link { route: ROUTE, ev: 0xe1e2, dscp: Tag::Data as u8, ecn: 0 };
const QPN: u32 = 0x0c_0d_0e;
const RETH: Reth = Reth { address: 0x0102_0304_0506_0708, key: 0x1112_1314, length: 0x2122_2324 };
const RETH_BYTES: [u8; 16] = [1, 2, 3, 4, 5, 6, 7, 8, 0x11, 0x12, 0x13, 0x14, 0x21, 0x22, 0x23, 0x24];

#[derive(Clone, Copy, Debug)]
struct Data {
    link: Link,
    qpn: u32,
    psn: u32,
    ack_request: bool,
    headers: DataHeaders,
}

impl Data {
    fn encode(&self, payload: &[u8]) -> Result<Vec<u8>, WireError> {
        let bth = self.headers.bth(42, self.qpn, self.psn, self.ack_request)?;
        let mut bytes = Vec::new();
        encode_data(self.link, Entropy::Port, bth, &self.headers, payload, &mut bytes)?;
        Ok(bytes)
    }
}

/// The middle packet of a Write, sent in round 0x85 = 0b1_0000101 of its message.
fn write() -> Data {
    let operation = Operation::Write(RETH);
    let headers = DataHeaders { msn: Msn::new(0x41_42_43, 0x85), position: Position::Middle, operation };
    Data { link: LINK, qpn: QPN, psn: 0x31_32_33, ack_request: true, headers }
}

fn ip_and_udp(tos: u8, ip_length: u8, checksum: [u8; 2], udp_length: u8) -> [u8; 28] {
    let [c0, c1] = checksum;
    [
        0x45, tos, 0, ip_length, 0, 0, 0x40, 0, 64, 17, c0, c1, 10, 0, 0, 1, 10, 0, 0, 2, // IP
        0xe1, 0xe2, 0x12, 0xb7, 0, udp_length, 0, 0, // UDP, port 4791
    ]
}

/// BTH and MSN of [`write`].
const WRITE_BTH: [u8; 15] =
    [0x07, 0, 0xff, 0xff, 0x01, 0x0c, 0x0d, 0x0e, 0x85, 0x31, 0x32, 0x33, 0x41, 0x42, 0x43];

fn with_icrc(parts: &[&[u8]]) -> Vec<u8> {
    let mut bytes = parts.concat();
    let crc = icrc(&bytes[14..]);
    bytes.extend(crc.to_le_bytes());
    bytes
}

fn write_bytes() -> Vec<u8> {
    // The frame has 81 bytes: 67 from the IP header on, and 47 from the UDP header on. The tag 0b10 is in bits 3 and 2
    // of the type of service.
    let ip = ip_and_udp(0b0000_1000, 67, [0x26, 0xa0], 47);
    with_icrc(&[&MAC, &ip, &WRITE_BTH, &RETH_BYTES, &[9, 8, 7, 6]])
}

fn read(bytes: &[u8]) -> Result<(Link, u32, u32, DataHeaders, Vec<u8>), WireError> {
    let frame = RoceFrame::decode(bytes, Entropy::Port)?;
    let (headers, extension, payload) = decode_data(&frame)?;
    assert!(extension.is_empty());
    Ok((frame.link, frame.bth.qpn, frame.bth.psn, headers, payload.to_vec()))
}

#[test]
fn a_packet_of_a_write_has_reth() {
    let data = write();
    assert_eq!(data.encode(&[9, 8, 7, 6]), Ok(write_bytes()));
    let expected = (LINK, QPN, data.psn, data.headers, vec![9, 8, 7, 6]);
    assert_eq!(read(&write_bytes()), Ok(expected));
}

#[test]
fn the_last_packet_of_a_write_with_immediate_has_ssn_too() {
    let operation = Operation::WriteWithImmediate { reth: RETH, ssn: 0x51_52_53, immediate: 0x6162_6364 };
    let headers = DataHeaders { position: Position::Last, operation, ..write().headers };
    let data = Data { headers, ack_request: false, ..write() };
    let ip = ip_and_udp(0b0000_1000, 74, [0x26, 0x99], 54);
    let mut bth = WRITE_BTH;
    (bth[0], bth[8]) = (0x09, 0x05);
    let ssn_and_immediate = [0x51, 0x52, 0x53, 0x61, 0x62, 0x63, 0x64];
    let expected = with_icrc(&[&MAC, &ip, &bth, &RETH_BYTES, &ssn_and_immediate, &[9, 8, 7, 6]]);
    assert_eq!(data.encode(&[9, 8, 7, 6]).unwrap(), expected);
    assert_eq!(read(&expected).unwrap().3, headers);
    let early = DataHeaders { position: Position::Middle, ..headers };
    let error = early.bth(42, QPN, 1, false).unwrap_err();
    assert_eq!((error.field, error.at), ("immediate", 42));
}

#[test]
fn a_packet_of_a_send_has_ssn() {
    let operation = Operation::Send { ssn: 0x51_52_53, offset: 0x7172_7374, length: 0x8182_8384 };
    let headers = DataHeaders { msn: Msn::new(1, 0), position: Position::First, operation };
    // The payload has one byte, and three bytes of padding follow it.
    let ip = ip_and_udp(0b0000_1000, 62, [0x26, 0xa5], 42);
    let bth = [0x00, 0x30, 0xff, 0xff, 0, 0x0c, 0x0d, 0x0e, 0x80, 0x31, 0x32, 0x33, 0, 0, 1];
    let send = [0x51, 0x52, 0x53, 0x71, 0x72, 0x73, 0x74, 0x81, 0x82, 0x83, 0x84];
    let expected = with_icrc(&[&MAC, &ip, &bth, &send, &[9, 0, 0, 0]]);
    assert_eq!(Data { headers, ..write() }.encode(&[9]).unwrap(), expected);
    let (_, _, _, found, payload) = read(&expected).unwrap();
    assert_eq!((found, payload), (headers, vec![9]));
}

/// DCP, footnote 6: 14 + 20 + 8 + 12 + 3 = 57 bytes remain. Of these, only the tag, the IP length and the IP checksum
/// change (section 5).
#[test]
fn trimming_leaves_57_bytes() {
    assert_eq!(HEADER_ONLY_BYTES, 57);
    let mut left = write_bytes();
    trim(&mut left).unwrap();
    let ip = ip_and_udp(0b0000_1100, 43, [0x26, 0xb4], 47);
    assert_eq!(left, [&MAC[..], &ip, &WRITE_BTH].concat());
    let before = left.clone();
    let error = trim(&mut left).unwrap_err();
    assert_eq!((error.field, left), ("DSCP or opcode", before), "nothing is left to trim");
    // Trimming does not change an ECN mark in the IP header.
    let mut marked = write_bytes();
    marked[15] |= 0b11;
    marked[25] -= 3;
    trim(&mut marked).unwrap();
    assert_eq!((marked.len(), marked[15]), (57, 0b0000_1111));
}

/// DCP, section 4.1, step 2: the receiver returns a header-only packet with source and destination swapped.
#[test]
fn turning_round_swaps_source_and_destination() {
    let mut left = write_bytes();
    trim(&mut left).unwrap();
    turn_round(&mut left, 0xd1_d2_d3).unwrap();
    let expected = [
        0xb0, 0xb1, 0xb2, 0xb3, 0xb4, 0xb5, 0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0x08, 0x00, // MAC
        0x45, 0x0c, 0, 43, 0, 0, 0x40, 0, 64, 17, 0x26, 0xb4, 10, 0, 0, 2, 10, 0, 0, 1, // IP
        0xe1, 0xe2, 0x12, 0xb7, 0, 47, 0, 0, // UDP
        0x07, 0, 0xff, 0xff, 0x01, 0xd1, 0xd2, 0xd3, 0x85, 0x31, 0x32, 0x33, // BTH
        0x41, 0x42, 0x43, // MSN
    ];
    assert_eq!(left, expected);
    let before = left.clone();
    let fault = Fault::TooLarge { value: 1 << 24, bits: 24 };
    let too_large = WireError { field: "queue pair number", at: 47, fault };
    assert_eq!(turn_round(&mut left, 1 << 24), Err(too_large));
    assert_eq!(left, before);
    left[15] = 0x08;
    assert!(turn_round(&mut left, 1).is_err());
}

#[test]
fn what_is_no_packet_of_dcp() {
    let good = write_bytes();
    let fails = |bytes: &[u8]| read(bytes).map_err(|error| (error.field, error.at)).unwrap_err();
    let with = |changes: &[(usize, u8)]| {
        let mut bytes = good.clone();
        changes.iter().for_each(|&(at, byte)| bytes[at] = byte);
        let crc = icrc(&bytes[14..77]);
        bytes[77..].copy_from_slice(&crc.to_le_bytes());
        fails(&bytes)
    };
    assert_eq!(with(&[(42, 0x11)]), ("DSCP or opcode", 42), "an ACK");
    assert_eq!(with(&[(42, 0x03)]), ("DSCP or opcode", 42), "Send with immediate");
    // The packet has another tag and a matching IP checksum.
    for (tos, checksum) in [(0, 0xa8), (4, 0xa4), (12, 0x9c)] {
        assert_eq!(with(&[(15, tos), (25, checksum)]), ("DSCP or opcode", 42));
    }
    // The packet ends within the RETH.
    let mut short = [&good[..70], &[0; 4]].concat();
    (short[17], short[25]) = (60, 0xa7);
    let crc = icrc(&short[14..70]);
    short[70..].copy_from_slice(&crc.to_le_bytes());
    assert_eq!(fails(&short), ("RETH length", 69));
}

fn links() -> impl Strategy<Value = Link> {
    let v4 = any::<([u8; 4], [u8; 4])>().prop_map(|(from, to)| Addresses::V4 { from, to });
    let v6 = any::<([u8; 16], [u8; 16])>().prop_map(|(from, to)| Addresses::V6 { from, to });
    (any::<([u8; 6], [u8; 6], u16)>(), prop_oneof![v4, v6], 0u8..4).prop_map(
        |((to_mac, from_mac, ev), ip, ecn)| Link {
            route: Route { to_mac, from_mac, ip },
            ev,
            dscp: Tag::Data as u8,
            ecn,
        },
    )
}

fn data() -> impl Strategy<Value = Data> {
    let reth = any::<(u64, u32, u32)>().prop_map(|(address, key, length)| Reth { address, key, length });
    let ends = prop_oneof![Just(Position::Last), Just(Position::Only)];
    let all = prop_oneof![
        Just(Position::First),
        Just(Position::Middle),
        Just(Position::Last),
        Just(Position::Only)
    ];
    let writes = (reth.clone(), all.clone()).prop_map(|(reth, position)| (Operation::Write(reth), position));
    let immediates =
        (reth, 0u32..1 << 24, any::<u32>(), ends).prop_map(|(reth, ssn, immediate, position)| {
            (Operation::WriteWithImmediate { reth, ssn, immediate }, position)
        });
    let sends = (0u32..1 << 24, any::<(u32, u32)>(), all)
        .prop_map(|(ssn, (offset, length), position)| (Operation::Send { ssn, offset, length }, position));
    let msn = (0..Msn::LIMIT, any::<u8>()).prop_map(|(number, retry)| Msn::new(number, retry));
    let numbers = (0u32..1 << 24, 0u32..1 << 24, any::<bool>());
    (links(), numbers, msn, prop_oneof![writes, immediates, sends]).prop_map(
        |(link, (qpn, psn, ack_request), msn, (operation, position))| Data {
            link,
            qpn,
            psn,
            ack_request,
            headers: DataHeaders { msn, position, operation },
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_data_packet_survives_its_bytes(
        data in data(),
        payload in prop::collection::vec(any::<u8>(), 0..100),
        back in 0u32..1 << 24,
    ) {
        let mut bytes = data.encode(&payload).unwrap();
        prop_assert_eq!(read(&bytes), Ok((data.link, data.qpn, data.psn, data.headers, payload)));
        trim(&mut bytes).unwrap();
        prop_assert_eq!(bytes.len(), data.link.route.ip.bth() + 12 + 3);
        let left = RoceFrame::decode(&bytes, Entropy::Port).unwrap();
        let [_, a, b, c] = data.headers.msn.number().to_be_bytes();
        prop_assert_eq!(left.content_without_icrc(), [a, b, c]);
        prop_assert_eq!((left.link, left.bth.psn), (Link { dscp: Tag::HeaderOnly as u8, ..data.link }, data.psn));
        let there = left.link.route;
        turn_round(&mut bytes, back).unwrap();
        let left = RoceFrame::decode(&bytes, Entropy::Port).unwrap();
        let ip = match there.ip {
            Addresses::V4 { from, to } => Addresses::V4 { from: to, to: from },
            Addresses::V6 { from, to } => Addresses::V6 { from: to, to: from },
        };
        prop_assert_eq!(left.link.route, Route { to_mac: there.from_mac, from_mac: there.to_mac, ip });
        prop_assert_eq!((left.bth.qpn, left.bth.psn), (back, data.psn));
    }
}
