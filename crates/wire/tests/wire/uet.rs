//! Tests of UET's packet delivery sublayer: sizes, the bytes of some headers by hand, and round trips.

use anabranch_wire::uet::{
    Ack, AckCc, CcState, Control, CreditTarget, Destination, Nack, PdsHeader, Request,
};
use proptest::prelude::*;

const REQUEST: Request = Request {
    in_order: false,
    next_header: 3,
    retransmitted: true,
    ack_request: true,
    clear_offset: -2,
    psn: 0x1122_3344,
    source: 0x5566,
    destination: Destination::Open(0x7788),
    credit: None,
};

const ACK: Ack = Ack {
    next_header: 4,
    marked: true,
    retransmitted: true,
    probe: false,
    request: 1,
    offset: 0x2121,
    cumulative: 0x2468_ace0,
    source: 0x3456,
    destination: 0x789a,
    congestion: None,
};

fn bytes_of(header: PdsHeader) -> Vec<u8> {
    let mut bytes = Vec::new();
    header.put(&mut bytes).unwrap();
    bytes
}

#[test]
fn the_bytes_of_a_request() {
    // The packet has type 2, next header 3, and the flags retransmitted and AR: 00010 0011 0011000.
    let open = [0x11, 0x98, 0xff, 0xfe, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88];
    assert_eq!(bytes_of(PdsHeader::Request(REQUEST)), open);
    let destination = Destination::Syn { reserved_pdc: true, psn_offset: 0x123 };
    let credit = Some(CreditTarget { ccc: 9, target: 0x0a_0b_0c });
    let syn = Request { in_order: true, destination, credit, ..REQUEST };
    // The packet has type 14, with SYN: 01110 0011 0011100.
    let expected =
        [0x71, 0x9c, 0xff, 0xfe, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x81, 0x23, 9, 0x0a, 0x0b, 0x0c];
    assert_eq!(bytes_of(PdsHeader::Request(syn)), expected);
}

#[test]
fn the_bytes_of_an_ack() {
    // The packet has type 7, next header 4, the flags marked and retransmitted, and request 1: 00111 0100 0110010.
    let short = [0x3a, 0x32, 0x21, 0x21, 0x24, 0x68, 0xac, 0xe0, 0x34, 0x56, 0x78, 0x9a];
    assert_eq!(bytes_of(PdsHeader::Ack(ACK)), short);
    let state = CcState::Nscc {
        service_time: 0x99aa,
        restore: true,
        penalty: 0x7f,
        received: 0x88_77_66,
        out_of_order: 0x8765,
    };
    let bitmap = 0x1234_5678_9abc_def0;
    let congestion = Some(AckCc { flags: 0xf, mpr: 0x87, sack_offset: 0x6789, bitmap, state });
    let bytes = bytes_of(PdsHeader::Ack(Ack { congestion, ..ACK }));
    assert_eq!(bytes[0], 0x42, "type 8");
    let expected = [
        0x0f, 0x87, 0x67, 0x89, 0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0, // CC flags, MPR, SACK
        0x99, 0xaa, 0xff, 0x88, 0x77, 0x66, 0x87, 0x65, // NSCC
    ];
    assert_eq!(bytes[12..], expected);
}

#[test]
fn what_is_no_header() {
    let fails = |bytes: &[u8]| PdsHeader::read(bytes, 0).unwrap_err().to_string();
    assert_eq!(fails(&[0x38]), "PDS prologue (byte 0): 1 bytes are left, and it needs 2");
    assert_eq!(
        fails(&[0x08, 0]),
        "PDS type (byte 0): 0x1, where a request (2, 3, 13, 14), an ACK (7, 8), a NACK (10) or a control packet (11) is \
         expected"
    );
    assert_eq!(fails(&[0x10, 0x40]), "PDS flags (byte 1): 0x40, whose bits 0xe3 are reserved and must be 0");
    assert_eq!(fails(&[0x10, 0, 0, 0, 0]), "PSN (byte 4): 1 bytes are left, and it needs 4");
    let large = Request { credit: Some(CreditTarget { ccc: 0, target: 1 << 24 }), ..REQUEST };
    let error = PdsHeader::Request(large).put(&mut Vec::new()).unwrap_err();
    assert_eq!(error.to_string(), "credit target (byte 13): 16777216 does not fit 24 bits");
}

fn destination() -> impl Strategy<Value = Destination> {
    let syn = (any::<bool>(), 0u16..1 << 12)
        .prop_map(|(reserved_pdc, psn_offset)| Destination::Syn { reserved_pdc, psn_offset });
    prop_oneof![any::<u16>().prop_map(Destination::Open), syn]
}

fn state() -> impl Strategy<Value = CcState> {
    let nscc = (any::<(u16, bool, u16)>(), 0u8..1 << 7, 0u32..1 << 24).prop_map(
        |((service_time, restore, out_of_order), penalty, received)| CcState::Nscc {
            service_time,
            restore,
            penalty,
            received,
            out_of_order,
        },
    );
    let credit = (0u32..1 << 24, any::<u16>())
        .prop_map(|(credit, out_of_order)| CcState::Credit { credit, out_of_order });
    prop_oneof![nscc, credit]
}

fn header() -> impl Strategy<Value = (PdsHeader, usize)> {
    let credit = prop::option::of((any::<u8>(), 0u32..1 << 24))
        .prop_map(|credit| credit.map(|(ccc, target)| CreditTarget { ccc, target }));
    let request = (any::<(bool, bool, bool, i16, u32, u16)>(), 0u8..16, destination(), credit).prop_map(
        |(
            (in_order, retransmitted, ack_request, clear_offset, psn, source),
            next_header,
            destination,
            credit,
        )| {
            let numbers = Request { in_order, next_header, retransmitted, ack_request, ..REQUEST };
            let request = Request { clear_offset, psn, source, destination, credit, ..numbers };
            (PdsHeader::Request(request), if credit.is_some() { 16 } else { 12 })
        },
    );
    let congestion = prop::option::of((0u8..16, any::<(u8, i16, u64)>(), state())).prop_map(|cc| {
        cc.map(|(flags, (mpr, sack_offset, bitmap), state)| AckCc { flags, mpr, sack_offset, bitmap, state })
    });
    let ack = (any::<(bool, bool, bool, i16, u32, u16, u16)>(), 0u8..16, 0u8..4, congestion).prop_map(
        |(
            (marked, retransmitted, probe, offset, cumulative, source, destination),
            next_header,
            request,
            congestion,
        )| {
            let flags = Ack { next_header, marked, retransmitted, probe, request, ..ACK };
            let ack = Ack { offset, cumulative, source, destination, congestion, ..flags };
            (PdsHeader::Ack(ack), if congestion.is_some() { 32 } else { 12 })
        },
    );
    let nack = (any::<(bool, bool, u8, u8, u32, u16, u16, u32)>(), 0u8..16).prop_map(
        |((marked, retransmitted, code, vendor_code, psn, source, destination, payload), next_header)| {
            let nack = Nack {
                next_header,
                marked,
                retransmitted,
                code,
                vendor_code,
                psn,
                source,
                destination,
                payload,
            };
            (PdsHeader::Nack(nack), 16)
        },
    );
    let control = (any::<(bool, bool, bool, u16, u32, u16, u32)>(), 0u8..16, destination()).prop_map(
        |((in_order, retransmitted, ack_request, probe, psn, source, payload), kind, destination)| {
            let control = Control {
                kind,
                in_order,
                retransmitted,
                ack_request,
                probe,
                psn,
                source,
                destination,
                payload,
            };
            (PdsHeader::Control(control), 16)
        },
    );
    prop_oneof![request, ack, nack, control]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_header_survives_its_bytes((header, size) in header(), behind: [u8; 3]) {
        let mut bytes = bytes_of(header);
        prop_assert_eq!(bytes.len(), size);
        bytes.extend(behind);
        prop_assert_eq!(PdsHeader::read(&bytes, 0), Ok((header, size)));
        for end in 0..size {
            let error = PdsHeader::read(&bytes[..end], 0).unwrap_err();
            prop_assert!(error.at <= end, "{}", error);
        }
    }

    #[test]
    fn bytes_that_are_read_are_written_again(bytes in prop::collection::vec(any::<u8>(), 0..40), at in 0usize..8) {
        if let Ok((header, end)) = PdsHeader::read(&bytes, at) {
            prop_assert_eq!(&bytes_of(header)[..], &bytes[at..end]);
        }
    }
}
