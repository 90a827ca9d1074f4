//! The packets of a run do not change when they are encoded as bytes and decoded again. Each payload has the position
//! in its message that the sender states.

use crate::pair::schedule::{PAYLOAD, Post, message_id};
use anabranch_base::{Duration, HostId, Time};
use anabranch_proto::transport::{Headers, PayloadRange};
use anabranch_proto::{Packet, Repr};
use anabranch_wire::strack::TICK;
use anabranch_wire::{Addresses, Format, Memory, Payload, Reference, Route, decode, encode};
use proptest::prelude::*;

const ROUTE: Route = Route {
    to_mac: [2, 0, 0, 0, 0, 2],
    from_mac: [2, 0, 0, 0, 0, 1],
    ip: Addresses::V4 { from: [10, 0, 0, 1], to: [10, 0, 0, 2] },
};

/// The bytes of the payload. They are few, but enough to notice a mix-up.
const SHOWN: [u8; 6] = *b"shown.";

/// Checks that the packet that arrives at `arrival` equals the packet decoded from its bytes, apart from the size on
/// the wire. Times are rounded down to a tick.
pub fn check_packet(
    headers: Headers,
    packet: &Packet,
    range: Option<PayloadRange>,
    arrival: Time,
) -> Result<(), TestCaseError> {
    // Without the extension header, NICs keep times and messages as state of their own. The check therefore adds the
    // extension header.
    let headers =
        if matches!(headers, Headers::InOrder | Headers::Direct) { Headers::Extended } else { headers };
    let tick = if headers == Headers::Strack { TICK } else { Duration::from_ns(1) };
    let format = Format { tick, ..Format::new(headers) };
    let range = range.unwrap_or_default();
    let payload = Payload { range, memory: Memory::default(), bytes: &SHOWN };
    let mut bytes = Vec::new();
    let failed = |why: anabranch_wire::WireError| TestCaseError::fail(format!("{why}: {packet:?}"));
    encode(&format, &ROUTE, packet, &payload, &mut bytes).map_err(failed)?;
    let (at_receiver, dst) = (packet.is_for_receiver(), packet.dst);
    let reference =
        Reference { dst, at_receiver, psn: number(&packet.repr).saturating_sub(500), now: arrival };
    let read = decode(&format, &reference, &bytes).map_err(failed)?;
    let repr = with_ticks(packet.repr, headers, tick);
    prop_assert_eq!(read.packet, Packet { repr, wire_bytes: read.packet.wire_bytes, ..*packet });
    if matches!(packet.repr, Repr::Data { .. }) {
        prop_assert_eq!((read.payload, read.offset), (&SHOWN[..], Some(range.offset as u32)));
    }
    prop_assert_eq!((read.route, HostId(dst.0)), (ROUTE, read.packet.dst));
    Ok(())
}

fn number(repr: &Repr) -> u32 {
    match *repr {
        Repr::Data { psn, .. }
        | Repr::Trimmed { psn, .. }
        | Repr::HeaderOnly { psn, .. }
        | Repr::Nack { psn, .. } => psn,
        Repr::Ack { cumulative, .. } | Repr::UetAck { cumulative, .. } => cumulative,
        Repr::Sack { expected, .. } => expected,
        Repr::Probe { base, .. } => base,
        _ => 0,
    }
}

fn with_ticks(mut repr: Repr, headers: Headers, tick: Duration) -> Repr {
    if let Repr::Trimmed { data_bytes, .. } = &mut repr
        && !matches!(headers, Headers::Extended | Headers::Uet { .. })
    {
        *data_bytes = 0;
    }
    match &mut repr {
        // Trimmed packets of DCP carry no time.
        Repr::Trimmed { sent_at, .. } if headers == Headers::Dcp => *sent_at = Time::ZERO,
        Repr::Data { sent_at, .. }
        | Repr::Trimmed { sent_at, .. }
        | Repr::Ack { sent_at, .. }
        | Repr::Nack { sent_at, .. }
        | Repr::Sack { sent_at, .. }
        | Repr::UetAck { sent_at, .. }
        | Repr::Probe { sent_at, .. } => *sent_at = Time(sent_at.0 / tick.0 * tick.0),
        _ => {}
    }
    repr
}

/// Checks that the payload of a data packet is the part of its message that follows from its position among the
/// message's packets.
pub fn check_range(
    messages: &[Post],
    packet: &Packet,
    range: Option<PayloadRange>,
) -> Result<(), TestCaseError> {
    let Repr::Data { psn, message, message_packets, .. } = packet.repr else { return Ok(()) };
    let Some(range) = range else { return Err(TestCaseError::fail("the sender does not know its payload")) };
    let index = (0..messages.len()).find(|&index| message_id(index) == message).expect("it was posted");
    // PSNs are assigned to messages in the order of posting.
    let is_before = |(other, post): &(usize, &Post)| (post.at, *other) < (messages[index].at, index);
    let first: u32 = messages.iter().enumerate().filter(is_before).map(|(_, post)| post.packets).sum();
    let (offset, bytes) = (u64::from(psn - first) * PAYLOAD, messages[index].bytes());
    let expected = PayloadRange {
        message,
        offset,
        bytes: PAYLOAD.min(bytes - offset) as u16,
        message_bytes: bytes,
        ..range
    };
    prop_assert_eq!(range, expected);
    // A request begins at the start of a packet, and only the last request of a message may end with a shorter packet.
    let is_last = range.offset - range.request_offset + range.request_bytes == bytes;
    prop_assert!(range.request_offset % PAYLOAD == 0 && range.request_offset <= range.offset);
    prop_assert_eq!(range.request_bytes.div_ceil(PAYLOAD).max(1), u64::from(message_packets));
    prop_assert!(is_last || range.request_bytes % PAYLOAD == 0);
    Ok(())
}
