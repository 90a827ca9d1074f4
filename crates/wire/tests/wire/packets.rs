//! Tests of round trips of packets in every format with a BTH except that of MRC.

use crate::support::ROUTE;
use anabranch_base::{Duration, HostId, MessageId, QpId, Time};
use anabranch_proto::transport::{Headers, PayloadRange};
use anabranch_proto::{CarriedEvs, EndpointOp, Msn, Packet, Repr, SackCause};
use anabranch_wire::{
    Addresses, Entropy, Format, Memory, Payload, Reference, RoceFrame, Route, WireError, decode, encode,
    frame_of_datagram, trim,
};
use proptest::prelude::*;

const ALL_HEADERS: [Headers; 6] =
    [Headers::InOrder, Headers::Direct, Headers::Extended, Headers::Irn, Headers::Strack, Headers::Dcp];
const NEAR: u32 = 1 << 23;

fn format() -> impl Strategy<Value = Format> {
    let ticks = [Duration::from_ns(1), Duration::from_ns(64), Duration::from_us(1)];
    let entropy = prop_oneof![Just(Entropy::Port), Just(Entropy::DynamicPort)];
    (prop::sample::select(&ALL_HEADERS[..]), entropy, prop::sample::select(ticks.to_vec()))
        .prop_map(|(headers, entropy, tick)| Format { headers, entropy, tick })
}

fn route() -> impl Strategy<Value = Route> {
    let v4 = any::<([u8; 4], [u8; 4])>().prop_map(|(from, to)| Addresses::V4 { from, to });
    let v6 = any::<([u8; 16], [u8; 16])>().prop_map(|(from, to)| Addresses::V6 { from, to });
    prop_oneof![v4, v6].prop_map(|ip| Route { ip, ..ROUTE })
}

/// The numbers from which packets are made. `psn` is within 2^23 of the reader's reference. Times are whole ticks that
/// are neither in the future nor too old for 32 bits.
#[derive(Clone, Copy, Debug)]
struct Numbers {
    reference: u32,
    psn: u32,
    base: u32,
    now: u64,
    ticks_ago: u64,
}

fn numbers() -> impl Strategy<Value = Numbers> {
    let reference = prop_oneof![0..1u32 << 25, any::<u32>()];
    (reference, any::<bool>(), 0..NEAR, 0..NEAR, any::<u32>(), 0u64..1 << 32).prop_map(
        |(reference, above, distance, ahead, now, ago)| {
            let psn =
                if above { reference.saturating_add(distance) } else { reference.saturating_sub(distance) };
            let now = u64::from(now) + (1 << 33);
            Numbers { reference, psn, base: psn.saturating_add(ahead), now, ticks_ago: ago }
        },
    )
}

fn msn() -> impl Strategy<Value = Msn> {
    (0..Msn::LIMIT, any::<u8>()).prop_map(|(number, retry)| Msn::new(number, retry))
}

/// A random packet of a kind that has a form in these headers.
///
/// `sent_at` is less than 2^32 ticks ago. `recently` is less than 2^16 ticks ago, for the 16-bit timestamp.
fn repr(
    headers: Headers,
    Numbers { psn, base, .. }: Numbers,
    [sent_at, recently]: [Time; 2],
) -> BoxedStrategy<Repr> {
    let data = (any::<(u32, u32, bool, u32)>(), msn()).prop_map(move |((id, packets, now, stamps), msn)| {
        let repr = Repr::data(psn).with_message(MessageId(id), packets).with_stamps(stamps);
        repr.with_sent_at(sent_at).with_ack_now(now).with_msn(msn)
    });
    let trimmed = msn().prop_map(move |msn| Repr::trimmed(psn).with_sent_at(sent_at).with_msn(msn));
    let returned = msn().prop_map(move |msn| Repr::header_only(psn).with_msn(msn));
    let ack = any::<(u64, bool, u64)>().prop_map(move |(received, marked, carried)| {
        let carried = CarriedEvs::new(carried >> 16);
        let ack = Repr::ack(psn).with_received(base, received).with_mark(marked).with_sent_at(sent_at);
        ack.with_carried(carried)
    });
    let ack = ack.prop_map(move |ack| match (headers, ack) {
        // In an ACK of DCP, `cumulative` is an eMSN of 24 bits, and there is no bitmap.
        (Headers::Dcp, Repr::Ack { marked, .. }) => {
            Repr::ack(psn & 0xff_ffff).with_mark(marked).with_sent_at(sent_at)
        }
        (Headers::Irn, ack) => ack.with_received(base, 1),
        (_, ack) => ack,
    });
    let sack =
        any::<(u64, u32, u16, bool, bool)>().prop_map(move |(received, bytes, late, marked, probe)| {
            let sack = Repr::sack(psn).with_received(base, received).with_sent_at(recently);
            sack.with_counts(bytes, late & 0xfff, SackCause::new(marked, probe))
        });
    let custom = any::<([u8; Repr::CUSTOM_BYTES], bool, bool)>()
        .prop_map(|(content, to_receiver, with_data)| Repr::Custom { content, to_receiver, with_data });
    let others = prop_oneof![
        // IRN's NACK is a `Repr::Ack` with the PSN of the packet that caused it.
        Just(if headers == Headers::Irn { Repr::Cnp } else { Repr::nack(psn).with_sent_at(sent_at) }),
        Just(Repr::Cnp),
        Just(Repr::probe(psn).with_sent_at(sent_at)),
        any::<u32>().prop_map(|number| Repr::Pull { number }),
        any::<u32>().prop_map(|target| Repr::Rts { target }),
        any::<(u16, [bool; 4])>().prop_map(|(value, [is_status, is_response, marked, to_receiver])| {
            let op = if is_status { EndpointOp::PortStatus } else { EndpointOp::PathProbe };
            Repr::Endpoint { op, value, is_response, marked, to_receiver }
        }),
        any::<u64>().prop_map(|word| Repr::Program { word }),
        custom,
    ];
    let of_uet = any::<(u64, u32, u16, u16, i16, [bool; 3])>().prop_map(
        move |(received, bytes_received, out_of_order, base_offset, psn_offset, [a, b, c])| {
            match bytes_received % 4 {
                0 => Repr::trimmed(psn).with_sent_at(sent_at).with_last_hop(a).with_data_bytes(out_of_order),
                1 => Repr::nack(psn).with_sent_at(sent_at).with_last_hop(a).with_mark(b),
                2 => Repr::Probe { base: psn, sent_at, is_control: a },
                _ => Repr::UetAck {
                    cumulative: psn,
                    base_offset,
                    psn_offset,
                    received,
                    bytes_received,
                    out_of_order,
                    cause: SackCause::new(a, b).with_retransmitted(c),
                    sent_at,
                },
            }
        },
    );
    let again = any::<bool>();
    match headers {
        Headers::Extended => {
            let data = (data, again).prop_map(|(data, again)| data.with_retransmitted(again));
            prop_oneof![data, trimmed, returned, ack, sack, others, of_uet].boxed()
        }
        Headers::Strack => prop_oneof![data, trimmed, returned, sack, others].boxed(),
        _ => prop_oneof![data, trimmed, returned, ack, sack, others].boxed(),
    }
}

#[derive(Clone, Debug)]
struct Case {
    format: Format,
    route: Route,
    reference: Reference,
    packet: Packet,
    range: PayloadRange,
    memory: Memory,
    bytes: Vec<u8>,
}

impl Case {
    fn payload(&self) -> Payload<'_> {
        Payload { range: self.range, memory: self.memory, bytes: &self.bytes }
    }

    fn encode(&self) -> Vec<u8> {
        let mut frame = Vec::new();
        encode(&self.format, &self.route, &self.packet, &self.payload(), &mut frame).unwrap();
        frame
    }

    fn is_plain(&self) -> bool {
        matches!(self.format.headers, Headers::InOrder | Headers::Direct)
    }

    /// The packet as a reader restores it: without the fields for which its headers have no room.
    fn restored(&self, wire_bytes: u16) -> Packet {
        let repr = match self.packet.repr {
            Repr::Data { psn, ack_now, stamps, msn, .. } if self.is_plain() => {
                Repr::data(psn).with_ack_now(ack_now).with_stamps(stamps).with_msn(msn)
            }
            Repr::Trimmed { psn, msn, .. } if self.is_plain() || self.format.headers == Headers::Dcp => {
                Repr::trimmed(psn).with_msn(msn)
            }
            repr @ (Repr::Ack { .. } | Repr::Nack { .. }) if self.is_plain() => repr.with_sent_at(Time::ZERO),
            repr => repr,
        };
        Packet { repr, wire_bytes, ..self.packet }
    }
}

fn case() -> impl Strategy<Value = Case> {
    (format(), numbers()).prop_flat_map(|(format, numbers)| {
        let ago = numbers.ticks_ago;
        let now = Time(numbers.now * format.tick.0 + format.tick.0 / 2);
        let times = [ago, ago & 0xffff].map(|ago| Time((numbers.now - ago) * format.tick.0));
        let tag = prop_oneof![Just(0u16), 0u16..4, any::<u16>()];
        let places = (any::<(u32, u32, u64, u32)>(), prop::collection::vec(any::<u8>(), 0..70));
        let parts = (any::<(u16, bool)>(), tag, 0u32..(1 << 24) - 256, any::<u32>());
        (repr(format.headers, numbers, times), route(), parts, places).prop_map(
            move |(repr, route, ((ev, marked), tag, qp, dst), ((offset, beyond, address, key), bytes))| {
                let is_dcp = format.headers == Headers::Dcp;
                let cut = matches!(repr, Repr::Trimmed { .. } | Repr::HeaderOnly { .. });
                let tag = if is_dcp && cut { tag & 3 } else { tag };
                let reference = Reference {
                    dst: HostId(dst),
                    at_receiver: !matches!(repr, Repr::HeaderOnly { .. }),
                    psn: numbers.reference,
                    now,
                };
                let message_bytes = u64::from(offset) + bytes.len() as u64 + u64::from(beyond);
                let message_bytes = message_bytes.min(u32::MAX.into());
                let range = PayloadRange {
                    message: MessageId(0),
                    offset: offset.into(),
                    bytes: bytes.len() as u16,
                    message_bytes,
                    request_offset: offset.into(),
                    request_bytes: message_bytes,
                };
                let packet =
                    Packet::new(QpId(qp), HostId(dst), repr).with_ev(ev).with_mark(marked).with_tag(tag);
                let memory = Memory { address, key };
                Case { format, route, reference, packet, range, memory, bytes }
            },
        )
    })
}

/// Whether a change of this byte may remain undetected: a byte of an Ethernet address or of a field that the ICRC
/// masks.
fn is_unprotected(case: &Case, at: usize) -> bool {
    let bth = case.route.ip.bth();
    let masked = match case.route.ip {
        // The ICRC covers the length and the identification, and the IP checksum detects its own change.
        Addresses::V4 { .. } => matches!(at, 15 | 22),
        Addresses::V6 { .. } => matches!(at, 14..=17 | 21),
    };
    at < 12 || masked || matches!(at + 2, udp if udp == bth || udp == bth + 1) || at == bth + 4
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 1024, ..ProptestConfig::default() })]

    #[test]
    fn every_packet_survives_its_bytes(case in case()) {
        let frame = case.encode();
        let read = decode(&case.format, &case.reference, &frame).unwrap_or_else(|error| panic!("{error}: {case:?}"));
        let is_data = matches!(case.packet.repr, Repr::Data { .. });
        prop_assert_eq!(read.packet, case.restored(read.packet.wire_bytes));
        prop_assert_eq!(read.route, case.route);
        prop_assert_eq!(read.payload, if is_data { &case.bytes[..] } else { &[] });
        prop_assert_eq!(&frame[read.payload_at..read.payload_at + read.payload.len()], read.payload);
        let knows_place = is_data && !case.is_plain();
        prop_assert_eq!(read.offset, knows_place.then_some(case.range.offset as u32));
        if is_data && !matches!(case.format.headers, Headers::InOrder | Headers::Dcp) {
            let reth = read.reth.expect("each packet has one");
            let address = case.memory.address.wrapping_add(case.range.offset);
            prop_assert_eq!((reth.address, reth.key, reth.length), (address, case.memory.key, case.bytes.len() as u32));
        }
        // The padding of a short frame is not read.
        let padded = [&frame[..], &[0; 9]].concat();
        prop_assert_eq!(decode(&case.format, &case.reference, &padded), Ok(read));
    }

    #[test]
    fn a_datagram_becomes_the_frame_again(case in case()) {
        let frame = case.encode();
        let link = RoceFrame::decode(&frame, case.format.entropy).unwrap().link;
        let mut again = frame.clone();
        again[..case.route.ip.bth()].fill(0xa5);
        frame_of_datagram(&link, case.format.entropy, &mut again).unwrap();
        prop_assert_eq!(again, frame);
    }

    #[test]
    fn a_trimmed_packet_says_what_it_was(case in case()) {
        let mut frame = case.encode();
        let whole = frame.clone();
        let trimmed = trim(&case.format, &mut frame);
        if !matches!(case.packet.repr, Repr::Data { .. }) {
            prop_assert!(trimmed.is_err() && frame == whole);
            return Ok(());
        }
        prop_assert_eq!(trimmed, Ok(()));
        prop_assert!(frame.len() + case.bytes.len() < whole.len());
        let read = decode(&case.format, &case.reference, &frame).unwrap_or_else(|error| panic!("{error}: {case:?}"));
        let Packet { repr, .. } = case.packet.cut(0, false).expect("data");
        let cut = Case { packet: Packet { repr, ..case.packet }, ..case.clone() };
        // In DCP, the headers up to the MSN remain, without an extension header.
        let tag = if case.format.headers == Headers::Dcp && case.packet.tag > 3 { 0 } else { case.packet.tag };
        prop_assert_eq!(read.packet, cut.restored(read.packet.wire_bytes).with_tag(tag));
        prop_assert!(read.payload.is_empty());
    }

    #[test]
    fn a_changed_byte_is_noticed(case in case(), at: prop::sample::Index, bit in 0u8..8) {
        let mut frame = case.encode();
        let at = at.index(frame.len());
        frame[at] ^= 1 << bit;
        let has_icrc = match case.packet.repr {
            Repr::Trimmed { .. } => false,
            Repr::HeaderOnly { .. } => case.format.headers != Headers::Dcp,
            _ => true,
        };
        let read = decode(&case.format, &case.reference, &frame);
        if has_icrc && !is_unprotected(&case, at) {
            prop_assert!(read.is_err(), "byte {} of {:?}", at, case);
        }
    }

    #[test]
    fn no_bytes_panic(
        format in format(),
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        psn: u32,
        now: u64,
        at_receiver: bool,
    ) {
        let reference = Reference { dst: HostId(0), at_receiver, psn, now: Time(now) };
        let _ = decode(&format, &reference, &bytes);
        let _ = trim(&format, &mut bytes.clone());
    }

    #[test]
    fn part_of_a_packet_is_an_error_with_its_place(case in case(), end: prop::sample::Index) {
        let frame = case.encode();
        let end = end.index(frame.len());
        let error: WireError = decode(&case.format, &case.reference, &frame[..end]).unwrap_err();
        prop_assert!(error.at <= end, "{}", error);
    }
}
