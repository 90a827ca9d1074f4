//! Figure 4, byte for byte.

use anabranch_proto::Msn;
use anabranch_proto::transport::dcp_reception::{Operation, Reth};
use anabranch_proto::wire::dcp::{
    ACK_BYTES, Data, Frame, HEADER_ONLY_BYTES, Position, Route, WireError, decode, trim, turn_round,
};
use proptest::prelude::*;

const ROUTE: Route = Route {
    to_mac: [0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5],
    from_mac: [0xb0, 0xb1, 0xb2, 0xb3, 0xb4, 0xb5],
    from: [10, 0, 0, 1],
    to: [10, 0, 0, 2],
    ev: 0xe1e2,
    qpn: 0x0c_0d_0e,
};

const MAC: [u8; 14] = [0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xb0, 0xb1, 0xb2, 0xb3, 0xb4, 0xb5, 0x08, 0x00];

const RETH: Reth = Reth { address: 0x0102_0304_0506_0708, key: 0x1112_1314, length: 0x2122_2324 };

const RETH_BYTES: [u8; 16] = [1, 2, 3, 4, 5, 6, 7, 8, 0x11, 0x12, 0x13, 0x14, 0x21, 0x22, 0x23, 0x24];

/// The middle packet of a Write, in the round 0x85 = 0b1_0000101 of its message.
fn write() -> Data {
    Data {
        route: ROUTE,
        psn: 0x31_32_33,
        msn: Msn::new(0x41_42_43, 0x85),
        ack_request: true,
        position: Position::Middle,
        operation: Operation::Write(RETH),
    }
}

/// IP with this type of service, length and checksum, and UDP with that length.
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

fn write_bytes() -> Vec<u8> {
    // 76 bytes in all, of which 62 are IP's and 42 UDP's; the tag 10 is in bits 3 and 2 of the type of service.
    let ip = ip_and_udp(0b0000_1000, 62, [0x26, 0xa5], 42);
    [&MAC[..], &ip, &WRITE_BTH, &RETH_BYTES, &[9, 8, 7]].concat()
}

#[test]
fn a_packet_of_a_write_has_reth() {
    let frame = Frame::Data(write(), &[9, 8, 7]);
    let bytes = frame.encode().unwrap();
    assert_eq!(bytes, write_bytes());
    assert_eq!(decode(&bytes), Ok(frame));
}

#[test]
fn the_last_packet_of_a_write_with_immediate_has_ssn_too() {
    let operation = Operation::WriteWithImmediate { reth: RETH, ssn: 0x51_52_53, immediate: 0x6162_6364 };
    let data = Data { position: Position::Last, operation, ack_request: false, ..write() };
    let frame = Frame::Data(data, &[9, 8]);
    let ip = ip_and_udp(0b0000_1000, 68, [0x26, 0x9f], 48);
    let mut bth = WRITE_BTH;
    (bth[0], bth[8]) = (0x09, 0x05);
    let ssn_and_immediate = [0x51, 0x52, 0x53, 0x61, 0x62, 0x63, 0x64];
    let expected = [&MAC[..], &ip, &bth, &RETH_BYTES, &ssn_and_immediate, &[9, 8]].concat();
    assert_eq!(frame.encode().unwrap(), expected);
    assert_eq!(decode(&expected), Ok(frame));
    let early = Frame::Data(Data { position: Position::Middle, ..data }, &[]);
    assert_eq!(early.encode(), Err(WireError::EarlyImmediate));
}

#[test]
fn a_packet_of_a_send_has_ssn() {
    let operation = Operation::Send { ssn: 0x51_52_53, offset: 0x7172_7374, length: 0x8182_8384 };
    let data = Data { position: Position::First, operation, msn: Msn::new(1, 0), ..write() };
    let frame = Frame::Data(data, &[9]);
    let ip = ip_and_udp(0b0000_1000, 55, [0x26, 0xac], 35);
    let bth = [0x00, 0, 0xff, 0xff, 0, 0x0c, 0x0d, 0x0e, 0x80, 0x31, 0x32, 0x33, 0, 0, 1];
    let send = [0x51, 0x52, 0x53, 0x71, 0x72, 0x73, 0x74, 0x81, 0x82, 0x83, 0x84];
    let expected = [&MAC[..], &ip, &bth, &send, &[9]].concat();
    assert_eq!(frame.encode().unwrap(), expected);
    assert_eq!(decode(&expected), Ok(frame));
}

#[test]
fn an_ack_has_emsn() {
    let frame = Frame::Ack { route: ROUTE, expected: 0x91_92_93 };
    let ip = ip_and_udp(0b0000_0100, 44, [0x26, 0xbb], 24);
    let bth = [0x11, 0, 0xff, 0xff, 0, 0x0c, 0x0d, 0x0e, 0, 0, 0, 0];
    let expected = [&MAC[..], &ip, &bth, &[0, 0x91, 0x92, 0x93]].concat();
    assert_eq!(expected.len(), ACK_BYTES);
    assert_eq!(frame.encode().unwrap(), expected);
    assert_eq!(decode(&expected), Ok(frame));
}

/// Footnote 6: 14 + 20 + 8 + 12 + 3 = 57 bytes. The tag and the IP length change, and nothing else (section 5).
#[test]
fn trimming_leaves_57_bytes() {
    assert_eq!(HEADER_ONLY_BYTES, 57);
    let left = trim(&write_bytes()).unwrap();
    let ip = ip_and_udp(0b0000_1100, 43, [0x26, 0xb4], 42);
    let expected = [&MAC[..], &ip, &WRITE_BTH].concat();
    assert_eq!(left[..], expected);
    let frame = Frame::HeaderOnly { route: ROUTE, psn: 0x31_32_33, msn: Msn::new(0x41_42_43, 0x85) };
    assert_eq!(decode(&left), Ok(frame));
    assert_eq!(trim(&left), Err(WireError::Tag { tag: 0b11, opcode: 7 }), "nothing is left to trim");
    // A congestion mark stays.
    let mut marked = write_bytes();
    marked[15] |= 0b11;
    marked[25] -= 3;
    assert_eq!(trim(&marked).unwrap()[15], 0b0000_1111);
}

/// Section 4.1, step 2.
#[test]
fn turning_round_swaps_source_and_destination() {
    let mut left = trim(&write_bytes()).unwrap();
    turn_round(&mut left, 0xd1_d2_d3).unwrap();
    let expected = [
        0xb0, 0xb1, 0xb2, 0xb3, 0xb4, 0xb5, 0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0x08, 0x00, // MAC
        0x45, 0x0c, 0, 43, 0, 0, 0x40, 0, 64, 17, 0x26, 0xb4, 10, 0, 0, 2, 10, 0, 0, 1, // IP
        0xe1, 0xe2, 0x12, 0xb7, 0, 42, 0, 0, // UDP
        0x07, 0, 0xff, 0xff, 0x01, 0xd1, 0xd2, 0xd3, 0x85, 0x31, 0x32, 0x33, // BTH
        0x41, 0x42, 0x43, // MSN
    ];
    assert_eq!(left, expected);
    let before = left;
    let too_large = WireError::TooLarge { field: "queue pair number", value: 1 << 24 };
    assert_eq!(turn_round(&mut left, 1 << 24), Err(too_large));
    assert_eq!(left, before);
    left[15] = 0x08;
    assert!(turn_round(&mut left, 1).is_err());
}

#[test]
fn what_is_no_packet_of_dcp() {
    let good = write_bytes();
    let with = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        decode(&bytes).map(drop).unwrap_err()
    };
    assert_eq!(decode(&good[..56]), Err(WireError::Length { have: 56, need: 57 }));
    assert_eq!(decode(&good[..75]), Err(WireError::Length { have: 75, need: 76 }));
    assert_eq!(with(13, 6), WireError::NotRoce { at: 12, found: 0x0806 });
    assert_eq!(with(14, 0x46), WireError::NotRoce { at: 14, found: 0x4608 });
    assert_eq!(with(20, 0x20), WireError::NotRoce { at: 20, found: 0x2000 });
    assert_eq!(with(23, 6), WireError::NotRoce { at: 22, found: 0x4006 });
    assert_eq!(with(37, 0xb8), WireError::NotRoce { at: 36, found: 0x12b8 });
    assert_eq!(with(26, 11), WireError::Checksum);
    assert_eq!(with(42, 0x11), WireError::Tag { tag: 0b10, opcode: 0x11 });
    assert_eq!(with(42, 0x03), WireError::Tag { tag: 0b10, opcode: 0x03 }, "Send with immediate");
    assert_eq!(with(43, 1), WireError::Reserved { at: 43, found: 1 });
    for bit in 1..8 {
        assert_eq!(with(46, 1 << bit), WireError::Reserved { at: 46, found: 1 << bit });
    }
    // Other tags, with a checksum that goes with them.
    for (tos, checksum, tag) in [(0, 0xad, 0b00), (4, 0xa9, 0b01)] {
        let mut bytes = good.clone();
        (bytes[15], bytes[25]) = (tos, checksum);
        assert_eq!(decode(&bytes), Err(WireError::Tag { tag, opcode: 7 }));
        assert_eq!(trim(&bytes), Err(WireError::Tag { tag, opcode: 7 }));
    }
    // A header-only packet is 57 bytes, and no more; data has its RETH.
    let mut bytes = good.clone();
    (bytes[15], bytes[25]) = (0x0c, 0xa1);
    assert_eq!(decode(&bytes), Err(WireError::Length { have: 76, need: 57 }));
    let mut left = trim(&good).unwrap();
    (left[15], left[25]) = (0x08, 0xb8);
    assert_eq!(decode(&left), Err(WireError::Length { have: 57, need: 73 }));
    let ack = Frame::Ack { route: ROUTE, expected: 1 }.encode().unwrap();
    let mut nack = ack.clone();
    nack[54] = 0x60;
    assert_eq!(decode(&nack), Err(WireError::Reserved { at: 54, found: 0x60 }));
}

#[test]
fn what_does_not_fit() {
    let large = 1 << 24;
    let too_large = |field| Err(WireError::TooLarge { field, value: large as usize });
    let data = |data| Frame::Data(data, &[]).encode();
    assert_eq!(data(Data { psn: large, ..write() }), too_large("PSN"));
    assert_eq!(
        data(Data { route: Route { qpn: large, ..ROUTE }, ..write() }),
        too_large("queue pair number")
    );
    let send = Operation::Send { ssn: large, offset: 0, length: 0 };
    assert_eq!(data(Data { operation: send, ..write() }), too_large("SSN"));
    assert_eq!(Frame::Ack { route: ROUTE, expected: large }.encode(), too_large("eMSN"));
    let payload = vec![0; 65_536 - 59];
    assert_eq!(
        Frame::Data(write(), &payload).encode(),
        Err(WireError::TooLarge { field: "length", value: 65_536 + 14 })
    );
    assert!(Frame::Data(write(), &payload[1..]).encode().is_ok());
}

fn route() -> impl Strategy<Value = Route> {
    (any::<([u8; 6], [u8; 6], [u8; 4], [u8; 4], u16)>(), 0u32..1 << 24)
        .prop_map(|((to_mac, from_mac, from, to, ev), qpn)| Route { to_mac, from_mac, from, to, ev, qpn })
}

fn msn() -> impl Strategy<Value = Msn> {
    (0..Msn::LIMIT, any::<u8>()).prop_map(|(number, retry)| Msn::new(number, retry))
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
    (route(), 0u32..1 << 24, msn(), any::<bool>(), prop_oneof![writes, immediates, sends]).prop_map(
        |(route, psn, msn, ack_request, (operation, position))| Data {
            route,
            psn,
            msn,
            ack_request,
            position,
            operation,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_packet_survives_its_bytes(
        data in data(),
        payload in prop::collection::vec(any::<u8>(), 0..100),
        expected in 0u32..1 << 24,
        back in 0u32..1 << 24,
    ) {
        let Data { route, psn, msn, .. } = data;
        for frame in [
            Frame::Data(data, &payload),
            Frame::HeaderOnly { route, psn, msn },
            Frame::Ack { route, expected },
        ] {
            let bytes = frame.encode().unwrap();
            prop_assert_eq!(decode(&bytes), Ok(frame));
        }
        // What is trimmed still says which packet it was, there and back.
        let mut left = trim(&Frame::Data(data, &payload).encode().unwrap()).unwrap();
        prop_assert_eq!(decode(&left), Ok(Frame::HeaderOnly { route, psn, msn }));
        turn_round(&mut left, back).unwrap();
        let Route { to_mac, from_mac, from, to, ev, .. } = route;
        let route = Route { to_mac: from_mac, from_mac: to_mac, from: to, to: from, ev, qpn: back };
        prop_assert_eq!(decode(&left), Ok(Frame::HeaderOnly { route, psn, msn }));
    }

    #[test]
    fn bytes_that_decode_encode_to_themselves(
        data in data(),
        at in 0usize..57,
        byte in any::<u8>(),
    ) {
        let mut bytes = Frame::Data(data, &[1, 2]).encode().unwrap();
        bytes[at] = byte;
        if let Ok(frame) = decode(&bytes) {
            let again = frame.encode().unwrap();
            // A mark, the bytes of IP that nobody looks at, and those of UDP are not in a frame.
            let kept = |at: &usize| !matches!(at, 15..=25 | 38..=41 | 44..=45);
            for at in (0..bytes.len()).filter(kept) {
                prop_assert_eq!(again[at], bytes[at], "byte {}", at);
            }
        }
    }
}
