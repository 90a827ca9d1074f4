//! The conversion of bytes to a packet of the protocol cores.

use crate::bth::{ACK, AVOIDANCE_BIT, Aeth, NACK, SPRAYED_BIT, opcode, read_reth};
use crate::bytes::Cursor;
use crate::dcp;
use crate::encode::CNP_BYTES;
use crate::error::{Fault, WireError};
use crate::extension::{CONTROL, Extension, LAST_HOP, MARKED, RETRANSMITTED};
use crate::format::{FIRST_QPN, Format, TRIMMED_CLASS, TRIMMED_LAST_HOP_CLASS};
use crate::frame::RoceFrame;
use crate::link::{self, CE, FCS_BYTES, Link, SHORTEST, shorten};
use crate::number::{LOW_24, Reference, latest_time, nearest_psn};
use crate::received::Received;
use crate::{mrc, strack, uet, uet_ack, uet_packet};
use anabranch_base::{HostId, MessageId, QpId, Time};
use anabranch_proto::program::{PATH_AVOIDANCE_SIGNAL, SPRAYED};
use anabranch_proto::transport::Headers;
use anabranch_proto::transport::dcp_reception::{Operation, Reth};
use anabranch_proto::{CarriedEvs, EndpointOp, Msn, Packet, Repr};
use std::ops::Range;

/// Reads a packet. Bytes after the IP packet pad a short frame and are not read.
///
/// # Errors
/// The bytes are no packet in this format, the ICRC is wrong, or reserved bits are set.
pub fn decode<'a>(
    format: &Format,
    reference: &Reference,
    bytes: &'a [u8],
) -> Result<Received<'a>, WireError> {
    if let Some(parts) = uet_parts(format, bytes)? {
        return uet_packet::decode(bytes, parts, reference);
    }
    let frame = RoceFrame::decode(bytes, format.entropy)?;
    let reader = Reader { format, reference, frame };
    let mut cursor = if reader.is_cut() { frame.trimmed_fields() } else { frame.fields()? };
    let mut body = Body { repr: Repr::Cnp, extension: Extension::default(), reth: None, offset: None };
    match format.headers {
        Headers::Dcp if dcp::Tag::of_dscp(frame.link.dscp) != dcp::Tag::Other => {
            reader.read_dcp(&mut cursor, &mut body)?;
        }
        Headers::Mrc if mrc::has_opcode(frame.bth.opcode) => {
            let (bth, dscp, is_cut) = (&frame.bth, frame.link.dscp, reader.is_cut());
            (body.repr, body.reth) =
                mrc::Reader { format, reference, bth, dscp, is_cut }.read(&mut cursor)?;
        }
        _ => reader.read(&mut cursor, &mut body)?,
    }
    if !matches!(body.repr, Repr::Data { .. }) {
        cursor.end("payload")?;
    }
    let reserved = frame.bth.reserved;
    let bit = |bit: u8, tag: u16| if reserved & bit != 0 { tag } else { 0 };
    let packet = Packet {
        qp: QpId(reader.qp()?),
        dst: reference.dst,
        wire_bytes: reader.wire_bytes(),
        ev: frame.link.ev,
        marked: frame.link.ecn == CE,
        tag: body.extension.tag | bit(SPRAYED_BIT, SPRAYED) | bit(AVOIDANCE_BIT, PATH_AVOIDANCE_SIGNAL),
        repr: body.repr,
    };
    Ok(Received {
        packet,
        route: frame.link.route,
        payload: cursor.rest(),
        payload_at: cursor.at(),
        offset: body.offset,
        reth: body.reth,
    })
}

/// The link header and the range of the bytes after UDP's header, if the packet has the headers of Ultra Ethernet.
fn uet_parts(format: &Format, bytes: &[u8]) -> Result<Option<(Link, Range<usize>)>, WireError> {
    if !matches!(format.headers, Headers::Uet { .. }) {
        return Ok(None);
    }
    let (link, range, port) = link::read_any(bytes, format.entropy)?;
    Ok((port == uet::UDP_PORT).then_some((link, range)))
}

/// Trims a data packet to its headers, as a switch does. The payload and the ICRC are cut off. The DSCP becomes that
/// of a trimmed packet ([`TRIMMED_CLASS`]), or gets DCP's tag. The UDP length does not change. A packet of Ultra
/// Ethernet is cut to at most 24 bytes from the UDP header on.
///
/// # Errors
/// The bytes are no data packet in this format. With headers other than those of DCP and Ultra Ethernet, a wrong ICRC
/// is an error too. The bytes are then not changed.
pub fn trim(format: &Format, bytes: &mut Vec<u8>) -> Result<(), WireError> {
    if format.headers == Headers::Dcp {
        return dcp::trim(bytes);
    }
    if let Some((link, range)) = uet_parts(format, bytes)? {
        return uet_packet::trim(bytes, &link, range);
    }
    let reference = Reference { dst: HostId(0), at_receiver: true, psn: 0, now: Time::ZERO };
    let received = decode(format, &reference, bytes)?;
    if !matches!(received.packet.repr, Repr::Data { .. }) {
        let frame = RoceFrame::decode(bytes, format.entropy)?;
        let at = frame.link.route.ip.bth();
        return Err(WireError::value("BTH opcode", at, frame.bth.opcode, "that of a data packet"));
    }
    let (end, ip) = (received.payload_at, received.route.ip);
    bytes.truncate(end);
    bytes[ip.bth() + 1] &= !0x30;
    shorten(bytes, &ip, TRIMMED_CLASS);
    Ok(())
}

struct Body {
    repr: Repr,
    extension: Extension,
    reth: Option<Reth>,
    offset: Option<u32>,
}

struct Reader<'a, 'r> {
    format: &'r Format,
    reference: &'r Reference,
    frame: RoceFrame<'a>,
}

impl<'a> Reader<'a, '_> {
    /// Whether a switch has cut off the payload and the ICRC.
    fn is_cut(&self) -> bool {
        let dscp = self.frame.link.dscp;
        match self.format.headers {
            Headers::Dcp => dcp::Tag::of_dscp(dscp) == dcp::Tag::HeaderOnly,
            Headers::Mrc => matches!(dscp, TRIMMED_CLASS | TRIMMED_LAST_HOP_CLASS),
            _ => dscp == TRIMMED_CLASS,
        }
    }

    /// The size of the packet as the simulator counts it. It includes the FCS but not the padding of the payload, and
    /// is at least the size of the shortest frame.
    fn wire_bytes(&self) -> u16 {
        let pad = if self.is_cut() { 0 } else { usize::from(self.frame.bth.pad) };
        let bytes = (self.frame.length() - pad).max(SHORTEST) + FCS_BYTES;
        u16::try_from(bytes).unwrap_or(u16::MAX)
    }

    fn qp(&self) -> Result<u32, WireError> {
        let found = self.frame.bth.qpn;
        let at = self.frame.link.route.ip.bth() + 5;
        let reserved = WireError::value("queue pair number", at, found, "a number from 256 on");
        found.checked_sub(FIRST_QPN).ok_or(reserved)
    }

    fn psn(&self) -> u32 {
        nearest_psn(self.frame.bth.psn, self.reference.psn)
    }

    fn cumulative(&self) -> u32 {
        nearest_psn(self.frame.bth.psn.wrapping_add(1) & LOW_24, self.reference.psn)
    }

    fn time(&self, extension: &Extension) -> Time {
        let time = |low| latest_time(low, 32, self.reference.now, self.format.tick);
        extension.time.map_or(Time::ZERO, time)
    }

    /// Reads the fields after the BTH of a packet whose headers neither DCP nor MRC defines.
    fn read(&self, cursor: &mut Cursor<'a>, body: &mut Body) -> Result<(), WireError> {
        let bth = &self.frame.bth;
        match bth.opcode {
            opcode::WRITE_FIRST | opcode::WRITE_MIDDLE | opcode::WRITE_LAST | opcode::WRITE_ONLY => {
                if matches!(bth.opcode, opcode::WRITE_FIRST | opcode::WRITE_ONLY) {
                    body.reth = Some(read_reth(cursor)?);
                }
                body.extension = self.frame.extension(cursor)?;
                self.read_write(body);
            }
            opcode::ACKNOWLEDGE => self.read_ack(cursor, body)?,
            opcode::CNP => {
                cursor.zeros("reserved bytes of a CNP", CNP_BYTES)?;
                body.extension = self.frame.extension(cursor)?;
            }
            other => {
                body.repr = match other {
                    opcode::PULL => Repr::Pull { number: cursor.u32("pull")? },
                    opcode::RTS => Repr::Rts { target: cursor.u32("demand")? },
                    opcode::ENDPOINT => read_endpoint(cursor)?,
                    opcode::PROGRAM => Repr::Program { word: cursor.u64("message of a program")? },
                    opcode::CUSTOM => {
                        let content = cursor.take("content")?;
                        let flags = cursor.with_reserved("direction and class", 0b1111_1100)?;
                        cursor.zeros("direction and class", 3)?;
                        Repr::Custom { content, to_receiver: flags & 1 != 0, with_data: flags & 2 != 0 }
                    }
                    opcode::RETURNED => Repr::header_only(self.psn()),
                    opcode::SACK => self.sack(cursor)?,
                    opcode::UET_ACK => uet_ack::read(cursor, self.cumulative())?,
                    _ => {
                        let at = self.frame.link.route.ip.bth();
                        let expected = "a Write, an ACK, a CNP, or 0xc0 to 0xc7";
                        return Err(WireError::value("BTH opcode", at, other, expected));
                    }
                };
                body.extension = self.frame.extension(cursor)?;
                let has_time = body.extension.time.is_some();
                if matches!(body.repr, Repr::UetAck { .. })
                    || has_time && matches!(body.repr, Repr::Sack { .. })
                {
                    body.repr = body.repr.with_sent_at(self.time(&body.extension));
                }
                if let (Repr::HeaderOnly { .. }, Some(msn)) = (body.repr, body.extension.number) {
                    body.repr = body.repr.with_msn(msn);
                }
            }
        }
        Ok(())
    }

    /// Sets `body.repr` for a packet of a Write, or for any data packet of DCP. The packet is data, a trimmed packet or
    /// a probe.
    fn read_write(&self, body: &mut Body) {
        let (extension, bth) = (&body.extension, &self.frame.bth);
        let sent_at = self.time(extension);
        let msn = extension.number.unwrap_or(Msn::NONE);
        let has = |flag: u8| extension.flags & flag != 0;
        let is_empty = body.reth.is_some_and(|reth| reth.length == 0);
        body.repr = match extension.message {
            _ if self.is_cut() => {
                let trimmed = Repr::trimmed(self.psn()).with_msn(msn).with_data_bytes(extension.data_bytes);
                trimmed.with_sent_at(sent_at).with_last_hop(has(LAST_HOP))
            }
            None if is_empty && extension.time.is_some() => {
                Repr::Probe { base: self.psn(), sent_at, is_control: has(CONTROL) }
            }
            message => {
                let id = message.map_or(MessageId(0), |part| MessageId(part.message));
                body.offset = message.map(|part| part.offset);
                Repr::data(self.psn())
                    .with_message(id, message.map_or(1, |part| part.packets))
                    .with_sent_at(sent_at)
                    .with_ack_now(bth.ack_request)
                    .with_retransmitted(has(RETRANSMITTED))
                    .with_stamps(extension.stamps.unwrap_or(0))
                    .with_msn(msn)
            }
        };
    }

    fn read_ack(&self, cursor: &mut Cursor<'a>, body: &mut Body) -> Result<(), WireError> {
        let at = cursor.at();
        let aeth = Aeth::read(cursor)?;
        let is_nack = match aeth.syndrome {
            ACK => false,
            NACK => true,
            other => {
                let expected = "0x1f (ACK) or 0x60 (NACK, PSN sequence error)";
                return Err(WireError::value("AETH syndrome", at, other, expected));
            }
        };
        match self.format.headers {
            Headers::Irn => {
                cursor.zeros("PSN of the cause", 1)?;
                let low = cursor.u24("PSN of the cause")?;
                body.extension = self.frame.extension(cursor)?;
                let cumulative = self.cumulative();
                let base = nearest_psn(low, cumulative);
                if (base >= cumulative) != is_nack {
                    let expected = "0x1f (ACK) up to the ePSN, 0x60 (NACK) beyond it";
                    return Err(WireError::value("AETH syndrome", at, aeth.syndrome, expected));
                }
                body.repr = self.ack(&body.extension, cumulative).with_received(base, 1);
            }
            Headers::Strack if !is_nack => {
                body.repr = self.sack(cursor)?;
                body.extension = self.frame.extension(cursor)?;
            }
            _ => {
                body.extension = self.frame.extension(cursor)?;
                body.repr = if is_nack {
                    let has = |flag: u8| body.extension.flags & flag != 0;
                    let nack = Repr::nack(self.psn()).with_sent_at(self.time(&body.extension));
                    nack.with_last_hop(has(LAST_HOP)).with_mark(has(MARKED))
                } else {
                    self.ack(&body.extension, self.cumulative())
                };
            }
        }
        Ok(())
    }

    fn sack(&self, cursor: &mut Cursor<'a>) -> Result<Repr, WireError> {
        let at = cursor.at();
        let (fields, ev) = strack::read(cursor, self.reference, self.format.tick)?;
        if ev == self.frame.link.ev {
            return Ok(fields.repr());
        }
        Err(WireError::value("echo_entropy", at, ev, "the entropy value of the packet"))
    }

    fn ack(&self, extension: &Extension, cumulative: u32) -> Repr {
        let (base, received) =
            extension.bitmap.map_or((cumulative, 0), |(low, bits)| (nearest_psn(low, cumulative), bits));
        Repr::ack(cumulative)
            .with_received(base, received)
            .with_mark(self.frame.bth.becn)
            .with_carried(extension.carried.unwrap_or(CarriedEvs::NONE))
            .with_sent_at(self.time(extension))
    }

    fn read_dcp(&self, cursor: &mut Cursor<'a>, body: &mut Body) -> Result<(), WireError> {
        let (frame, bth) = (&self.frame, &self.frame.bth);
        match (dcp::Tag::of_dscp(frame.link.dscp), bth.opcode) {
            (dcp::Tag::Ack, opcode::ACKNOWLEDGE) => {
                let at = cursor.at();
                let Aeth { syndrome, msn } = Aeth::read(cursor)?;
                if syndrome != 0 {
                    let fault = Fault::Reserved { found: syndrome, reserved: 0xff };
                    return Err(WireError::new("AETH syndrome", at, fault));
                }
                body.extension = frame.extension(cursor)?;
                body.repr = self.ack(&body.extension, msn);
            }
            (dcp::Tag::HeaderOnly, opcode) if dcp::is_data(opcode) => {
                let msn = dcp::msn(bth, cursor)?;
                // A packet that the sender reads is on its way back.
                let is_back = !self.reference.at_receiver;
                let repr = if is_back { Repr::header_only(self.psn()) } else { Repr::trimmed(self.psn()) };
                body.repr = repr.with_msn(msn);
            }
            (dcp::Tag::Data, opcode) if dcp::is_data(opcode) => {
                let headers = dcp::DataHeaders::read(frame, cursor)?;
                body.extension = frame.extension(cursor)?;
                self.read_write(body);
                body.repr = body.repr.with_msn(headers.msn);
                match headers.operation {
                    Operation::Write(reth) | Operation::WriteWithImmediate { reth, .. } => {
                        body.reth = Some(reth)
                    }
                    Operation::Send { offset, .. } => body.offset = body.offset.or(Some(offset)),
                }
            }
            _ => return Err(dcp::wrong_tag(frame)),
        }
        Ok(())
    }
}

fn read_endpoint(cursor: &mut Cursor<'_>) -> Result<Repr, WireError> {
    let value = cursor.u16("entropy value or ports")?;
    let flags = cursor.with_reserved("flags of an endpoint packet", 0b1111_0000)?;
    cursor.zeros("flags of an endpoint packet", 1)?;
    let has = |bit: u8| flags >> bit & 1 != 0;
    let op = if has(0) { EndpointOp::PortStatus } else { EndpointOp::PathProbe };
    Ok(Repr::Endpoint { op, value, is_response: has(1), marked: has(2), to_receiver: has(3) })
}
