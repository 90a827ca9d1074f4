//! The conversion of a packet of the protocol cores to bytes.

use crate::bth::{
    ACK, AVOIDANCE_BIT, Aeth, BTH_BYTES, Bth, NACK, Position, RETH_BYTES, SPRAYED_BIT, opcode, put_reth,
    u32_of,
};
use crate::bytes::put_u24;
use crate::dcp;
use crate::error::{Fault, WireError, no_room};
use crate::extension::{
    CONTROL, Extension, LAST_HOP, MARKED, MessagePart, OFFSET_IN_EXTENSION, RETRANSMITTED,
};
use crate::format::{
    CONTROL_CLASS, DATA_CLASS, Format, Payload, TRIMMED_CLASS, TRIMMED_LAST_HOP_CLASS, number_of,
};
use crate::frame::{FrameParts, Tail};
use crate::link::{CE, ECT0, Link, Route};
use crate::number::{LOW_24, ticks};
use crate::strack::SackFields;
use crate::{mrc, uet_ack, uet_packet};
use anabranch_base::Time;
use anabranch_proto::program::{PATH_AVOIDANCE_SIGNAL, SPRAYED};
use anabranch_proto::transport::Headers;
use anabranch_proto::transport::dcp_reception::{Operation, Reth};
use anabranch_proto::{CarriedEvs, EndpointOp, Msn, Packet, Repr};

/// Writes a packet without the FCS to `out`, which is cleared first. A data packet has a payload after all its
/// headers. The length of the frame follows from this payload and not from [`Packet::wire_bytes`].
///
/// # Errors
/// A number does not fit in its field, the headers of `format` have no field for a value, the transport with these
/// headers never sends such a packet, or the frame is longer than an IP packet may be.
pub fn encode(
    format: &Format,
    route: &Route,
    packet: &Packet,
    payload: &Payload<'_>,
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    let tail = encode_head(format, route, packet, payload, out)?;
    if let Repr::Data { .. } = packet.repr {
        out.extend_from_slice(payload.bytes);
    }
    out.extend_from_slice(tail.bytes());
    Ok(())
}

/// Writes the bytes of a packet before its payload to `out`, which is cleared first. Returns the bytes after the
/// payload. The payload therefore need not be copied behind the headers.
///
/// # Errors
/// See [`encode`].
pub fn encode_head(
    format: &Format,
    route: &Route,
    packet: &Packet,
    payload: &Payload<'_>,
    out: &mut Vec<u8>,
) -> Result<Tail, WireError> {
    let link = Link { route: *route, ev: packet.ev, dscp: dscp(format, packet), ecn: ecn(packet) };
    if let Headers::Uet { credit } = format.headers
        && uet_packet::defines(&packet.repr)
    {
        uet_packet::encode_head((format.entropy, credit), &link, packet, payload, out)?;
        return Ok(Tail::default());
    }
    if format.headers == Headers::Mrc && mrc::defines(&packet.repr) {
        return mrc::encode_head(format, link, packet, payload, out);
    }
    let (is_data, at) = (matches!(packet.repr, Repr::Data { .. }), route.ip.bth());
    check_kind(format.headers, &packet.repr, at)?;
    let is_dcp = format.headers == Headers::Dcp;
    let is_cut = match packet.repr {
        Repr::Trimmed { .. } => true,
        // In DCP the returned packet is the trimmed packet itself.
        Repr::HeaderOnly { .. } => is_dcp,
        _ => false,
    };
    let mut extension = extension(format, at, packet, payload)?;
    if is_cut && is_dcp {
        no_room("tag", at + BTH_BYTES, extension.tag)?;
        extension = Extension::default();
    }
    let parts = FrameParts {
        link,
        entropy: format.entropy,
        bth: bth(format, at, packet, payload)?,
        extension,
        payload: if is_data { payload.bytes } else { &[] },
        has_icrc: !is_cut,
    };
    parts.put_head(out, |out| put_headers(format, packet, payload, out))
}

/// Fails for an answer that the transport with these headers never sends. The bytes of such an answer would be read as
/// another answer.
fn check_kind(headers: Headers, repr: &Repr, at: usize) -> Result<(), WireError> {
    let field = match (headers, repr) {
        (Headers::Strack, Repr::Ack { .. }) => "ACK",
        // In IRN, the acknowledgement after a gap is the NACK.
        (Headers::Irn, Repr::Nack { .. }) => "NACK",
        _ => return Ok(()),
    };
    Err(WireError::new(field, at, Fault::NoSuchPacket))
}

/// The ECN field: ECT(0) for packets that switches may mark, CE for packets that they have marked, and no ECN for the
/// rest.
fn ecn(packet: &Packet) -> u8 {
    match (packet.marked, packet.is_control()) {
        (true, _) => CE,
        (false, false) => ECT0,
        (false, true) => 0,
    }
}

fn dscp(format: &Format, packet: &Packet) -> u8 {
    if format.headers == Headers::Dcp {
        return match packet.repr {
            Repr::Data { .. } => dcp::Tag::Data as u8,
            Repr::Trimmed { .. } | Repr::HeaderOnly { .. } => dcp::Tag::HeaderOnly as u8,
            Repr::Ack { .. } => dcp::Tag::Ack as u8,
            // The two lowest bits of this DSCP are DCP's tag for packets of other protocols.
            _ => CONTROL_CLASS,
        };
    }
    match packet.repr {
        Repr::Trimmed { last_hop: true, .. }
            if matches!(format.headers, Headers::Uet { .. } | Headers::Mrc) =>
        {
            TRIMMED_LAST_HOP_CLASS
        }
        Repr::Trimmed { .. } => TRIMMED_CLASS,
        _ if packet.is_control() => CONTROL_CLASS,
        _ => DATA_CLASS,
    }
}

/// The BTH without the padding count and the extension bit, which [`FrameParts::put_head`] sets. `at` is the
/// offset that the BTH will have in the frame.
fn bth(format: &Format, at: usize, packet: &Packet, payload: &Payload<'_>) -> Result<Bth, WireError> {
    let number = number_of(packet.qp, at + 5)?;
    let header = |opcode, psn: u32| Bth::new(opcode, number, psn & LOW_24);
    let is_dcp = format.headers == Headers::Dcp;
    let mut bth = match packet.repr {
        Repr::Data { psn, msn, ack_now, .. } if is_dcp => {
            dcp_headers(msn, payload, at)?.bth(at, number, psn & LOW_24, ack_now)?
        }
        Repr::Trimmed { psn, msn, .. } | Repr::HeaderOnly { psn, msn } if is_dcp => {
            dcp::header_only_bth(number, psn & LOW_24, msn)
        }
        Repr::Ack { marked, .. } if is_dcp => Bth { becn: marked, ..header(opcode::ACKNOWLEDGE, 0) },
        Repr::Data { psn, ack_now, .. } => {
            Bth { ack_request: ack_now, ..header(write_opcode(format, payload), psn) }
        }
        Repr::Trimmed { psn, .. } => header(opcode::WRITE_MIDDLE, psn),
        Repr::HeaderOnly { psn, .. } => header(opcode::RETURNED, psn),
        Repr::Ack { cumulative, marked, .. } => {
            Bth { becn: marked, ..header(opcode::ACKNOWLEDGE, cumulative.wrapping_sub(1)) }
        }
        Repr::Nack { psn, .. } => header(opcode::ACKNOWLEDGE, psn),
        Repr::Cnp => Bth { becn: true, ..header(opcode::CNP, 0) },
        Repr::Sack { expected, .. } => {
            let is_ack = format.headers == Headers::Strack;
            let opcode = if is_ack { opcode::ACKNOWLEDGE } else { opcode::SACK };
            header(opcode, expected.wrapping_sub(1))
        }
        Repr::UetAck { cumulative, .. } => header(opcode::UET_ACK, cumulative.wrapping_sub(1)),
        // A probe is a Write of no bytes, which is answered immediately.
        Repr::Probe { base, .. } => Bth { ack_request: true, ..header(opcode::WRITE_ONLY, base) },
        Repr::Pull { .. } => header(opcode::PULL, 0),
        Repr::Rts { .. } => header(opcode::RTS, 0),
        Repr::Endpoint { .. } => header(opcode::ENDPOINT, 0),
        Repr::Program { .. } => header(opcode::PROGRAM, 0),
        Repr::Custom { .. } => header(opcode::CUSTOM, 0),
    };
    if in_bth(packet.tag) {
        let bit = |tag: u16, bit: u8| if packet.tag & tag != 0 { bit } else { 0 };
        bth.reserved |= bit(SPRAYED, SPRAYED_BIT) | bit(PATH_AVOIDANCE_SIGNAL, AVOIDANCE_BIT);
    }
    Ok(bth)
}

/// Whether all bits of the tag are bits that the BTH carries. These are the bits that Themis uses for packet spraying.
fn in_bth(tag: u16) -> bool {
    tag & !(SPRAYED | PATH_AVOIDANCE_SIGNAL) == 0
}

fn write_opcode(format: &Format, payload: &Payload<'_>) -> u8 {
    match format.headers {
        Headers::InOrder => match position(payload) {
            Position::First => opcode::WRITE_FIRST,
            Position::Middle => opcode::WRITE_MIDDLE,
            Position::Last => opcode::WRITE_LAST,
            Position::Only => opcode::WRITE_ONLY,
        },
        _ => opcode::WRITE_ONLY,
    }
}

/// The position of a packet in its message, or in its request with DCP.
fn position(payload: &Payload<'_>) -> Position {
    let range = &payload.range;
    Position::of(range.request_offset, range.bytes.into(), range.request_bytes)
}

/// DCP's headers of a data packet. `at` is the offset of its BTH in the frame.
fn dcp_headers(msn: Msn, payload: &Payload<'_>, at: usize) -> Result<dcp::DataHeaders, WireError> {
    let (range, at) = (&payload.range, at + BTH_BYTES + 6);
    let operation = Operation::Send {
        ssn: msn.number(),
        offset: u32_of("offset", at, range.request_offset)?,
        length: u32_of("length", at + 4, range.request_bytes)?,
    };
    Ok(dcp::DataHeaders { msn, position: position(payload), operation })
}

fn put_headers(
    format: &Format,
    packet: &Packet,
    payload: &Payload<'_>,
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    let is_dcp = format.headers == Headers::Dcp;
    let ack = Aeth { syndrome: ACK, msn: 0 };
    match packet.repr {
        Repr::Data { msn, .. } if is_dcp => dcp_headers(msn, payload, out.len() - BTH_BYTES)?.put(out)?,
        Repr::Trimmed { msn, .. } | Repr::HeaderOnly { msn, .. } if is_dcp => {
            put_u24(out, "MSN", msn.number())?;
        }
        Repr::Ack { cumulative, base, received, .. } if is_dcp => {
            let begins_elsewhere = base != 0 && base != cumulative;
            no_room("bitmap", out.len(), if begins_elsewhere { u64::from(base) } else { received })?;
            Aeth { syndrome: 0, msn: cumulative }.put(out)?;
        }
        Repr::Data { .. } => put_write(format, payload, out)?,
        Repr::Trimmed { .. } | Repr::HeaderOnly { .. } => {}
        Repr::Ack { cumulative, base, received, .. } if format.headers == Headers::Irn => {
            no_room("bitmap", out.len(), if received == 1 { 0 } else { received })?;
            // IRN (SIGCOMM 2018, section 3.1): after a gap, the acknowledgement is a NACK.
            let syndrome = if base < cumulative { ACK } else { NACK };
            Aeth { syndrome, msn: 0 }.put(out)?;
            out.push(0);
            put_u24(out, "PSN of the cause", base & LOW_24)?;
        }
        Repr::Ack { .. } => ack.put(out)?,
        Repr::Nack { .. } => Aeth { syndrome: NACK, msn: 0 }.put(out)?,
        Repr::Cnp => out.extend([0; CNP_BYTES]),
        Repr::Sack { .. } => {
            if format.headers == Headers::Strack {
                ack.put(out)?;
            }
            let fields = SackFields::of(&packet.repr);
            fields.map_or(Ok(()), |fields| fields.put(packet.ev, format.tick, out))?;
        }
        Repr::UetAck { .. } => uet_ack::put(&packet.repr, out),
        Repr::Probe { .. } => put_reth(out, &Reth { address: 0, key: packet.qp.0, length: 0 }),
        Repr::Pull { number } => out.extend(number.to_be_bytes()),
        Repr::Rts { target } => out.extend(target.to_be_bytes()),
        Repr::Endpoint { op, value, is_response, marked, to_receiver } => {
            let is_status = op == EndpointOp::PortStatus;
            let flags = [is_status, is_response, marked, to_receiver];
            let flags = (0..).zip(flags).fold(0, |flags, (bit, is_set)| flags | u8::from(is_set) << bit);
            out.extend(value.to_be_bytes());
            out.extend([flags, 0]);
        }
        Repr::Program { word } => out.extend(word.to_be_bytes()),
        Repr::Custom { content, to_receiver, with_data } => {
            out.extend(content);
            out.extend([u8::from(to_receiver) | u8::from(with_data) << 1, 0, 0, 0]);
        }
    }
    Ok(())
}

/// The number of reserved bytes after the BTH of a CNP.
pub(crate) const CNP_BYTES: usize = 16;

/// Writes the RETH of a Write, in its first packet or in every packet.
fn put_write(format: &Format, payload: &Payload<'_>, out: &mut Vec<u8>) -> Result<(), WireError> {
    let range = &payload.range;
    let length = match (format.headers, position(payload)) {
        (Headers::InOrder, Position::Middle | Position::Last) => return Ok(()),
        (Headers::InOrder, _) => u32_of("RETH length", out.len() + 12, range.message_bytes)?,
        _ => range.bytes.into(),
    };
    let address = payload.memory.address.wrapping_add(range.offset);
    put_reth(out, &Reth { address, key: payload.memory.key, length });
    Ok(())
}

/// The extension header, with the fields for which the standard headers have no room. `at` is the offset of the
/// packet's BTH in the frame.
fn extension(
    format: &Format,
    at: usize,
    packet: &Packet,
    payload: &Payload<'_>,
) -> Result<Extension, WireError> {
    let is_plain = format.is_plain();
    let time = |time: Time| (!is_plain).then(|| ticks(time, format.tick) as u32);
    let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
    let number = |msn: Msn| (msn != Msn::NONE && format.headers != Headers::Dcp).then_some(msn);
    let mut extension = Extension::default();
    if !in_bth(packet.tag) {
        extension.tag = packet.tag;
    }
    match packet.repr {
        Repr::Data { message, message_packets, sent_at, stamps, msn, retransmitted, .. } => {
            extension.flags = flag(retransmitted, RETRANSMITTED);
            extension.time = time(sent_at);
            if !is_plain {
                let headers = if format.headers == Headers::Dcp { dcp::SEND_BYTES } else { RETH_BYTES };
                let at = at + BTH_BYTES + headers + OFFSET_IN_EXTENSION;
                let offset = u32_of("offset", at, payload.range.offset)?;
                extension.message =
                    Some(MessagePart { message: message.0, packets: message_packets, offset });
            }
            extension.number = number(msn);
            extension.stamps = (stamps != 0).then_some(stamps);
        }
        Repr::Trimmed { msn, sent_at, last_hop, data_bytes, .. } => {
            extension.flags = flag(last_hop, LAST_HOP);
            if format.headers == Headers::Extended {
                extension.data_bytes = data_bytes;
            }
            (extension.time, extension.number) = (time(sent_at), number(msn));
        }
        Repr::HeaderOnly { msn, .. } => extension.number = number(msn),
        Repr::Ack { cumulative, base, received, carried, sent_at, .. } => {
            extension.time = time(sent_at);
            let has_bitmap = received != 0 || base != cumulative;
            if has_bitmap && !matches!(format.headers, Headers::Dcp | Headers::Irn) {
                extension.bitmap = Some((base & LOW_24, received));
            }
            extension.carried = (carried != CarriedEvs::NONE).then_some(carried);
        }
        Repr::Nack { sent_at, last_hop, marked, .. } => {
            extension.flags = flag(last_hop, LAST_HOP) | flag(marked, MARKED);
            extension.time = time(sent_at);
        }
        Repr::UetAck { sent_at, .. } => extension.time = time(sent_at),
        // The timestamp of STrack's figure 7 has 16 bits only. With an extension header there is room for all 32.
        Repr::Sack { sent_at, .. } if format.headers == Headers::Extended => extension.time = time(sent_at),
        // On the wire, probes and data packets without payload are Writes of no bytes. Only the extension header of a
        // probe has a time without a message.
        Repr::Probe { sent_at, is_control, .. } => {
            extension.flags = flag(is_control, CONTROL);
            extension.time = Some(ticks(sent_at, format.tick) as u32);
        }
        Repr::Cnp
        | Repr::Sack { .. }
        | Repr::Pull { .. }
        | Repr::Rts { .. }
        | Repr::Endpoint { .. }
        | Repr::Program { .. }
        | Repr::Custom { .. } => {}
    }
    Ok(extension)
}
