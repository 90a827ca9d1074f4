//! The packets of the transport `uet` with the headers of Ultra Ethernet: Ethernet, IP, UDP to port 4793, the packet
//! delivery sublayer ([`PdsHeader`]), and in data packets the semantic sublayer ([`WriteRequest`]).
//!
//! A packet delivery context (PDC) has a number at each of its ends. The number at the source is the low 16 bits of
//! the [`QpId`], and the number at the destination is the high 16 bits. Times, and the number of packets of a message,
//! are not on the wire.

use crate::bth::u32_of;
use crate::bytes::Cursor;
use crate::error::{Fault, WireError, no_room};
use crate::format::{Payload, TRIMMED_CLASS, TRIMMED_LAST_HOP_CLASS};
use crate::link::{self, CE, Entropy, FCS_BYTES, Link, SHORTEST, shorten};
use crate::number::{LOW_24, Reference};
use crate::received::Received;
use crate::uet::{
    Ack, AckCc, CcState, Control, CreditTarget, Destination, Nack, PdsHeader, RECEIVED_UNIT, Request,
    UDP_PORT,
};
use crate::uet_ses::WriteRequest;
use anabranch_base::{MessageId, QpId, Time};
use anabranch_proto::transport::dcp_reception::Reth;
use anabranch_proto::{Msn, Packet, Repr, SackCause};
use etherparse::UdpHeader;
use std::ops::Range;

/// The next header of a request: a standard request of the semantic sublayer.
const STANDARD_REQUEST: u8 = 3;
/// The next header of a packet that ends with its PDS header.
const NO_HEADER: u8 = 0;

const TRIMMED: u8 = 1;
const TRIMMED_LAST_HOP: u8 = 2;

const PROBE: u8 = 6;
const CREDIT: u8 = 7;
const CREDIT_REQUEST: u8 = 8;

/// The most bytes that a switch leaves of a trimmed packet, from the UDP header on.
const TRIMMED_BYTES: usize = 24;

/// The MPR in ACKs, in units of 128 PSNs: the default of UET 1.0.3.
const MPR: u8 = 8;

/// Whether Ultra Ethernet defines the packet. All other packets, such as messages between programs in switches, have
/// the headers of RoCEv2.
pub(crate) fn defines(repr: &Repr) -> bool {
    matches!(
        repr,
        Repr::Data { .. }
            | Repr::Trimmed { .. }
            | Repr::UetAck { .. }
            | Repr::Nack { .. }
            | Repr::Probe { .. }
            | Repr::Pull { .. }
            | Repr::Rts { .. }
    )
}

#[derive(Clone, Copy)]
struct Pdc {
    at_source: u16,
    at_destination: u16,
}

impl Pdc {
    fn of(qp: QpId) -> Pdc {
        Pdc { at_source: qp.0 as u16, at_destination: (qp.0 >> 16) as u16 }
    }

    fn qp(self) -> QpId {
        QpId(u32::from(self.at_destination) << 16 | u32::from(self.at_source))
    }

    /// The PDC of a header with these two numbers, if the header's sender is the PDC's source.
    fn forward(at_source: u16, destination: Destination, at: usize) -> Result<Pdc, WireError> {
        match destination {
            Destination::Open(at_destination) => Ok(Pdc { at_source, at_destination }),
            Destination::Syn { .. } => Err(WireError::value("PDS flags", at + 1, 1u8, "an open PDC")),
        }
    }
}

/// Writes the bytes before the payload to `out`, which is cleared first. Ultra Ethernet must [define](defines) the
/// packet. No bytes follow the payload.
pub(crate) fn encode_head(
    (entropy, credit): (Entropy, bool),
    link: &Link,
    packet: &Packet,
    payload: &Payload<'_>,
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    link::reserve(out, &link.route.ip);
    let at = out.len();
    no_room("tag", at, packet.tag)?;
    let pdc = Pdc::of(packet.qp);
    let target = |msn: Msn| {
        let target = msn.pull_target() & LOW_24;
        credit.then_some(CreditTarget { ccc: 0, target })
    };
    let header = match packet.repr {
        Repr::Data { psn, msn, retransmitted, ack_now, .. } => {
            PdsHeader::Request(request(pdc, psn, target(msn), (retransmitted, ack_now)))
        }
        Repr::Trimmed { psn, msn, .. } => PdsHeader::Request(request(pdc, psn, target(msn), (false, false))),
        Repr::Nack { psn, last_hop, marked, .. } => PdsHeader::Nack(nack(pdc, psn, last_hop, marked)),
        Repr::Probe { base, .. } => PdsHeader::Control(control(PROBE, pdc, base, 0)),
        Repr::Rts { target } => PdsHeader::Control(control(CREDIT_REQUEST, pdc, 0, target)),
        Repr::Pull { number } => PdsHeader::Control(control(CREDIT, pdc, 0, number)),
        _ => PdsHeader::Ack(ack(pdc, &packet.repr, at)?),
    };
    header.put(out)?;
    match packet.repr {
        Repr::Data { message, stamps, .. } => {
            no_room("timestamps of a program", at, stamps)?;
            write_request(message.0 as u16, payload, out.len())?.put(out)?;
        }
        // A trimmed packet keeps at most four bytes of the semantic sublayer's header. Their values are unknown here,
        // so they are written as 0.
        Repr::Trimmed { .. } => out.resize(at - UdpHeader::LEN + TRIMMED_BYTES, 0),
        _ => {}
    }
    let behind = if matches!(packet.repr, Repr::Data { .. }) { payload.bytes.len() } else { 0 };
    link::seal(out, link, entropy, (UDP_PORT, behind))?;
    if let Repr::Trimmed { data_bytes, .. } = packet.repr {
        let udp_at = at - UdpHeader::LEN;
        let untrimmed = usize::from(data_bytes).saturating_sub(udp_at + FCS_BYTES).max(TRIMMED_BYTES);
        out[udp_length(at)].copy_from_slice(&(untrimmed as u16).to_be_bytes());
    }
    Ok(())
}

/// The place of the UDP length, which trimming leaves unchanged. The PDS header begins at byte `at` of the frame.
fn udp_length(at: usize) -> Range<usize> {
    let from = at - UdpHeader::LEN + 4;
    from..from + 2
}

/// The size on the wire that a trimmed packet had.
fn untrimmed_bytes(bytes: &[u8], at: usize) -> u16 {
    let length = bytes[udp_length(at)].iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
    u16::try_from(at - UdpHeader::LEN + length + FCS_BYTES).unwrap_or(u16::MAX)
}

/// The semantic sublayer's header for this payload. The header begins at byte `at` of the frame.
fn write_request(message: u16, payload: &Payload<'_>, at: usize) -> Result<WriteRequest, WireError> {
    let range = &payload.range;
    Ok(WriteRequest {
        message,
        buffer_offset: payload.memory.address,
        memory_key: payload.memory.key.into(),
        offset: u32_of("message offset", at + 36, range.offset)?,
        payload_bytes: payload.bytes.len() as u16,
        message_bytes: u32_of("request length", at + 40, range.message_bytes)?,
        is_end: range.offset + u64::from(range.bytes) >= range.message_bytes,
    })
}

fn request(
    pdc: Pdc,
    psn: u32,
    credit: Option<CreditTarget>,
    (retransmitted, ack_request): (bool, bool),
) -> Request {
    Request {
        in_order: false,
        next_header: STANDARD_REQUEST,
        retransmitted,
        ack_request,
        clear_offset: 0,
        psn,
        source: pdc.at_source,
        destination: Destination::Open(pdc.at_destination),
        credit,
    }
}

fn nack(pdc: Pdc, psn: u32, last_hop: bool, marked: bool) -> Nack {
    Nack {
        next_header: NO_HEADER,
        marked,
        retransmitted: false,
        code: if last_hop { TRIMMED_LAST_HOP } else { TRIMMED },
        vendor_code: 0,
        psn,
        source: pdc.at_destination,
        destination: pdc.at_source,
        payload: 0,
    }
}

/// A control packet. Credit goes from the destination to the source, and the other kinds go in the opposite direction.
fn control(kind: u8, pdc: Pdc, psn: u32, payload: u32) -> Control {
    let (source, destination) = match kind {
        CREDIT => (pdc.at_destination, pdc.at_source),
        _ => (pdc.at_source, pdc.at_destination),
    };
    Control {
        kind,
        in_order: false,
        retransmitted: false,
        ack_request: kind == PROBE,
        probe: 0,
        psn,
        source,
        destination: Destination::Open(destination),
        payload,
    }
}

/// The ACK_CC of a [`Repr::UetAck`]. CACK is the PSN below `cumulative`.
fn ack(pdc: Pdc, repr: &Repr, at: usize) -> Result<Ack, WireError> {
    let &Repr::UetAck {
        cumulative,
        base_offset,
        psn_offset,
        received,
        bytes_received,
        out_of_order,
        cause,
        ..
    } = repr
    else {
        return Err(WireError::new("ACK", at, Fault::NoSuchPacket));
    };
    let too_large = |field, at, value: u64| WireError::new(field, at, Fault::TooLarge { value, bits: 15 });
    let sack_offset = i16::try_from(u32::from(base_offset) + 1)
        .map_err(|_| too_large("SACK PSN offset", at + 14, u64::from(base_offset) + 1))?;
    let offset = psn_offset.checked_add(1).ok_or(too_large("ACK PSN offset", at + 2, 1 << 15))?;
    Ok(Ack {
        next_header: NO_HEADER,
        marked: cause.marked(),
        retransmitted: cause.retransmitted(),
        probe: cause.probe(),
        request: 0,
        // In the answer to a probe the field is the number of the probe.
        offset: if cause.probe() { 0 } else { offset },
        cumulative: cumulative.wrapping_sub(1),
        source: pdc.at_destination,
        destination: pdc.at_source,
        congestion: Some(AckCc {
            flags: 0,
            mpr: MPR,
            sack_offset,
            bitmap: received,
            state: CcState::Nscc {
                service_time: 0,
                restore: false,
                penalty: 0,
                received: bytes_received / RECEIVED_UNIT,
                out_of_order,
            },
        }),
    })
}

/// Reads a packet from its link header and the range of the bytes after the UDP header.
pub(crate) fn decode<'a>(
    bytes: &'a [u8],
    (link, range): (Link, Range<usize>),
    reference: &Reference,
) -> Result<Received<'a>, WireError> {
    let bytes = &bytes[..range.end];
    let (header, end) = PdsHeader::read(bytes, range.start)?;
    let mut cursor = Cursor::new(bytes, end);
    let (mut offset, mut reth) = (None, None);
    let (pdc, repr) = match header {
        PdsHeader::Request(request) => {
            let pdc = Pdc::forward(request.source, request.destination, range.start)?;
            let msn = request.credit.map_or(Msn::NONE, |credit| Msn::of_pull_target(credit.target));
            if matches!(link.dscp, TRIMMED_CLASS | TRIMMED_LAST_HOP_CLASS) {
                let last_hop = link.dscp == TRIMMED_LAST_HOP_CLASS;
                cursor = Cursor::new(bytes, range.end);
                let trimmed = Repr::trimmed(request.psn).with_data_bytes(untrimmed_bytes(bytes, range.start));
                (pdc, trimmed.with_msn(msn).with_last_hop(last_hop))
            } else {
                let write = WriteRequest::read(&mut cursor)?;
                offset = Some(write.offset);
                let (address, key) = (write.buffer_offset, write.memory_key as u32);
                reth = Some(Reth { address, key, length: write.message_bytes });
                let data = Repr::data(request.psn).with_message(MessageId(write.message.into()), 1);
                (
                    pdc,
                    data.with_msn(msn)
                        .with_retransmitted(request.retransmitted)
                        .with_ack_now(request.ack_request),
                )
            }
        }
        PdsHeader::Ack(ack) => {
            let pdc = Pdc { at_source: ack.destination, at_destination: ack.source };
            (pdc, ack_repr(&ack, range.start)?)
        }
        PdsHeader::Nack(nack) => {
            let pdc = Pdc { at_source: nack.destination, at_destination: nack.source };
            let last_hop = match nack.code {
                TRIMMED => false,
                TRIMMED_LAST_HOP => true,
                code => return Err(WireError::value("NACK code", range.start + 2, code, "1 or 2 (trimmed)")),
            };
            (pdc, Repr::nack(nack.psn).with_last_hop(last_hop).with_mark(nack.marked))
        }
        PdsHeader::Control(control) => control_repr(&control, range.start)?,
    };
    if !matches!(repr, Repr::Data { .. }) {
        cursor.end("payload")?;
    }
    let wire_bytes = u16::try_from(range.end.max(SHORTEST) + FCS_BYTES).unwrap_or(u16::MAX);
    let packet = Packet {
        qp: pdc.qp(),
        dst: reference.dst,
        wire_bytes,
        ev: link.ev,
        marked: link.ecn == CE,
        tag: 0,
        repr,
    };
    let (payload, payload_at) = (cursor.rest(), cursor.at());
    Ok(Received { packet, route: link.route, payload, payload_at, offset, reth })
}

fn ack_repr(ack: &Ack, at: usize) -> Result<Repr, WireError> {
    let Some(AckCc { sack_offset, bitmap, state, .. }) = ack.congestion else {
        return Err(WireError::value("PDS type", at, 7u8, "8 (ACK_CC)"));
    };
    let CcState::Nscc { received, out_of_order, .. } = state else {
        return Err(WireError::value("CC type", at + 12, 1u8, "0 (NSCC)"));
    };
    let above = "an offset above CACK";
    let base_offset = u16::try_from(i32::from(sack_offset) - 1)
        .map_err(|_| WireError::value("SACK PSN offset", at + 14, sack_offset as u16, above))?;
    let psn_offset = ack.offset.checked_sub(1).ok_or(WireError::value(
        "ACK PSN offset",
        at + 2,
        ack.offset as u16,
        "an offset above -2^15",
    ))?;
    Ok(Repr::UetAck {
        cumulative: ack.cumulative.wrapping_add(1),
        base_offset,
        psn_offset,
        received: bitmap,
        bytes_received: received * RECEIVED_UNIT,
        out_of_order,
        cause: SackCause::new(ack.marked, ack.probe).with_retransmitted(ack.retransmitted),
        sent_at: Time::ZERO,
    })
}

fn control_repr(control: &Control, at: usize) -> Result<(Pdc, Repr), WireError> {
    let sent = Pdc::forward(control.source, control.destination, at)?;
    match control.kind {
        PROBE => Ok((sent, Repr::probe(control.psn).in_control_class())),
        CREDIT_REQUEST => Ok((sent, Repr::Rts { target: control.payload })),
        CREDIT => {
            let pdc = Pdc { at_source: sent.at_destination, at_destination: sent.at_source };
            Ok((pdc, Repr::Pull { number: control.payload }))
        }
        kind => {
            Err(WireError::value("control type", at, kind, "6 (probe), 7 (credit) or 8 (credit request)"))
        }
    }
}

/// Trims a data packet as a switch does: at most 24 bytes from the UDP header on are left, and the DSCP becomes that
/// of a trimmed packet.
///
/// # Errors
/// The bytes are no data packet of Ultra Ethernet, or the packet is trimmed already. The bytes are then not changed.
pub(crate) fn trim(bytes: &mut Vec<u8>, link: &Link, range: Range<usize>) -> Result<(), WireError> {
    let (header, _) = PdsHeader::read(&bytes[..range.end], range.start)?;
    let is_cut = matches!(link.dscp, TRIMMED_CLASS | TRIMMED_LAST_HOP_CLASS);
    if is_cut || !matches!(header, PdsHeader::Request(_)) {
        let expected = "a request that is not trimmed yet";
        return Err(WireError::value("PDS type", range.start, bytes[range.start] >> 3, expected));
    }
    let end = range.start - UdpHeader::LEN + TRIMMED_BYTES;
    bytes.truncate(end.min(range.end));
    shorten(bytes, &link.route.ip, TRIMMED_CLASS);
    Ok(())
}
