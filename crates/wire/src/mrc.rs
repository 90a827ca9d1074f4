//! The packets of the transport `mrc` (MRC, OCP 1.0) in RoCEv2 frames. The sizes and the order of MRC's headers and
//! most of their fields are known from digests of the specification. The opcodes and the positions of the fields are
//! this crate's own. The RETH comes first, so that tools that know RoCEv2 read a data packet as a Write.
//!
//! | Packet | Opcode | After the BTH |
//! |---|---|---|
//! | data, trimmed | 0x0a | RETH (16), METH: flags (1), message (3), TSETH: time in ticks (4) |
//! | SACK | 0xc6 | SETH (28): flags (1), MPR in 128 PSNs (1), offset of the acknowledged PSN from CACK (2, signed), entropy value (4), 0 (1), CACK (3), offset of the bitmap from CACK (2, signed), 0 (2), bitmap (8), 0 (4); NSCC's state (8), in which the low 16 bits of the echoed time stand for the service time |
//! | endpoint request | 0xc7 | operation (1): 0 for the status of ports, 1 for a probe of a path; flags (1), 0 (2), entropy value or mask of ports (4), 0 (8) |
//! | endpoint response | 0xc7 | the fields of an endpoint request, then 0 (20) |
//! | NACK | 0xc8 | reason (1): 1 trimmed, 2 trimmed at the last hop; flags (1), 0 (2), entropy value (4), 0 (1), PSN (3), echoed time (4), 0 (4) |
//! | reliability probe | 0xc9 | flags (1), 0 (3), time (4), 0 (8) |
//!
//! The entropy value in SACKs and NACKs is 0. A receiver of `mrc` does not name the entropy value, because senders
//! find it by the PSN.

use crate::bth::{Bth, RETH_BYTES, opcode, put_reth, read_reth, u32_of};
use crate::bytes::{Cursor, put_u24};
use crate::error::{Fault, WireError, no_room};
use crate::extension::Extension;
use crate::format::{Format, Payload, TRIMMED_LAST_HOP_CLASS, number_of};
use crate::frame::{FrameParts, Tail};
use crate::link::Link;
use crate::number::{LOW_24, Reference, latest_time, nearest_psn, ticks};
use crate::uet::{CcState, RECEIVED_UNIT};
use anabranch_base::{Duration, MessageId, Time};
use anabranch_proto::transport::dcp_reception::Reth;
use anabranch_proto::{EndpointOp, Packet, Repr, SackCause};

/// The flag of a data packet that is a retransmission (METH).
const RETRANSMITTED: u8 = 1;

/// The flag of a SACK that makes the sender skip the entropy value once.
const SKIP_ONCE: u8 = 1 << 6;
const PROBE: u8 = 1 << 5;
const OF_RETRANSMISSION: u8 = 1 << 4;

const TRIMMED: u8 = 1;
const TRIMMED_LAST_HOP: u8 = 2;
const MARKED: u8 = 1;

/// The flag of a probe with the priority of an ACK.
const CONTROL: u8 = 1;

const TO_RECEIVER: u8 = 2;
const RESPONSE: u8 = 4;
/// The bytes by which an endpoint response is longer than a request.
const RESPONSE_BYTES: usize = 20;

const PORT_STATUS: u8 = 0;
const PATH_PROBE: u8 = 1;

/// The MPR in SACKs, in units of 128 PSNs: 4,096, the most that MRC permits.
const MPR: u8 = 32;

pub(crate) fn defines(repr: &Repr) -> bool {
    matches!(
        repr,
        Repr::Data { .. }
            | Repr::Trimmed { .. }
            | Repr::UetAck { .. }
            | Repr::Nack { .. }
            | Repr::Probe { .. }
            | Repr::Endpoint { .. }
    )
}

pub(crate) fn has_opcode(opcode: u8) -> bool {
    use opcode::{ENDPOINT, MRC_NACK, MRC_PROBE, UET_ACK, WRITE_ONLY};
    matches!(opcode, WRITE_ONLY | UET_ACK | ENDPOINT | MRC_NACK | MRC_PROBE)
}

/// Writes the bytes before the payload of a packet that MRC defines ([`defines`]) to `out`, which is cleared first.
/// Returns the bytes after the payload.
pub(crate) fn encode_head(
    format: &Format,
    link: Link,
    packet: &Packet,
    payload: &Payload<'_>,
    out: &mut Vec<u8>,
) -> Result<Tail, WireError> {
    let at = link.route.ip.bth();
    no_room("tag", at, packet.tag)?;
    let number = number_of(packet.qp, at + 5)?;
    let header = |opcode, psn: u32| Bth::new(opcode, number, psn & LOW_24);
    let bth = match packet.repr {
        Repr::Data { psn, ack_now, .. } => Bth { ack_request: ack_now, ..header(opcode::WRITE_ONLY, psn) },
        Repr::Trimmed { psn, .. } => header(opcode::WRITE_ONLY, psn),
        Repr::UetAck { .. } => header(opcode::UET_ACK, 0),
        Repr::Nack { .. } => header(opcode::MRC_NACK, 0),
        // A reliability probe has no PSN. The PSN field has the probe's `base`.
        Repr::Probe { base, .. } => Bth { ack_request: true, ..header(opcode::MRC_PROBE, base) },
        _ => header(opcode::ENDPOINT, 0),
    };
    let is_data = matches!(packet.repr, Repr::Data { .. });
    let parts = FrameParts {
        link,
        entropy: format.entropy,
        bth,
        extension: Extension::default(),
        payload: if is_data { payload.bytes } else { &[] },
        has_icrc: !matches!(packet.repr, Repr::Trimmed { .. }),
    };
    parts.put_head(out, |out| put_headers(format.tick, &packet.repr, payload, out))
}

fn flag(is_set: bool, flag: u8) -> u8 {
    if is_set { flag } else { 0 }
}

fn put_headers(
    tick: Duration,
    repr: &Repr,
    payload: &Payload<'_>,
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    let low = |time: Time| (ticks(time, tick) as u32).to_be_bytes();
    match *repr {
        Repr::Data { message, retransmitted, sent_at, stamps, .. } => {
            no_room("timestamps of a program", out.len(), stamps)?;
            let range = &payload.range;
            u32_of("offset", out.len(), range.offset)?;
            let address = payload.memory.address.wrapping_add(range.offset);
            put_reth(out, &Reth { address, key: payload.memory.key, length: range.bytes.into() });
            out.push(flag(retransmitted, RETRANSMITTED));
            put_u24(out, "message", message.0)?;
            out.extend(low(sent_at));
        }
        // A `Repr::Trimmed` has no values for the RETH and the METH.
        Repr::Trimmed { sent_at, .. } => {
            out.extend([0; RETH_BYTES + 4]);
            out.extend(low(sent_at));
        }
        Repr::UetAck { .. } => put_sack(tick, repr, out)?,
        Repr::Nack { psn, last_hop, marked, sent_at } => {
            out.extend([if last_hop { TRIMMED_LAST_HOP } else { TRIMMED }, flag(marked, MARKED), 0, 0]);
            out.extend([0; 5]);
            put_u24(out, "PSN", psn & LOW_24)?;
            out.extend(low(sent_at));
            out.extend([0; 4]);
        }
        Repr::Probe { sent_at, is_control, .. } => {
            out.extend([flag(is_control, CONTROL), 0, 0, 0]);
            out.extend(low(sent_at));
            out.extend([0; 8]);
        }
        Repr::Endpoint { op, value, is_response, marked, to_receiver } => {
            let flags = flag(marked, MARKED) | flag(to_receiver, TO_RECEIVER) | flag(is_response, RESPONSE);
            let op = if op == EndpointOp::PortStatus { PORT_STATUS } else { PATH_PROBE };
            out.extend([op, flags, 0, 0]);
            out.extend(u32::from(value).to_be_bytes());
            out.resize(out.len() + 8 + if is_response { RESPONSE_BYTES } else { 0 }, 0);
        }
        _ => {}
    }
    Ok(())
}

/// Writes the SETH and the state of congestion control of a [`Repr::UetAck`]. CACK is the PSN below `cumulative`.
fn put_sack(tick: Duration, repr: &Repr, out: &mut Vec<u8>) -> Result<(), WireError> {
    let &Repr::UetAck {
        cumulative,
        base_offset,
        psn_offset,
        received,
        bytes_received,
        out_of_order,
        cause,
        sent_at,
    } = repr
    else {
        return Err(WireError::new("SACK", out.len(), Fault::NoSuchPacket));
    };
    let too_large = |field, at, value: u64| WireError::new(field, at, Fault::TooLarge { value, bits: 15 });
    let offset = psn_offset.checked_add(1).ok_or(too_large("ACK PSN offset", out.len() + 2, 1 << 15))?;
    let base = u32::from(base_offset) + 1;
    let base = i16::try_from(base).map_err(|_| too_large("SACK PSN offset", out.len() + 12, base.into()))?;
    let flags = flag(cause.marked(), SKIP_ONCE)
        | flag(cause.probe(), PROBE)
        | flag(cause.retransmitted(), OF_RETRANSMISSION);
    out.extend([flags, MPR]);
    out.extend(offset.to_be_bytes());
    out.extend([0; 5]);
    put_u24(out, "CACK", cumulative.wrapping_sub(1) & LOW_24)?;
    out.extend(base.to_be_bytes());
    out.extend([0; 2]);
    out.extend(received.to_be_bytes());
    out.extend([0; 4]);
    let state = CcState::Nscc {
        service_time: ticks(sent_at, tick) as u16,
        restore: false,
        penalty: 0,
        received: bytes_received / RECEIVED_UNIT,
        out_of_order,
    };
    state.put(out)
}

/// A reader of packets, with the facts that are not in the bytes after the BTH.
pub(crate) struct Reader<'a> {
    pub format: &'a Format,
    pub reference: &'a Reference,
    pub bth: &'a Bth,
    pub dscp: u8,
    pub is_cut: bool,
}

impl Reader<'_> {
    fn psn(&self, low: u32) -> u32 {
        nearest_psn(low, self.reference.psn)
    }

    fn time(&self, low: u32, bits: u32) -> Time {
        latest_time(low, bits, self.reference.now, self.format.tick)
    }

    /// Reads the headers of a packet for whose opcode [`has_opcode`] is true. Returns also the RETH of a data packet.
    pub(crate) fn read(&self, cursor: &mut Cursor<'_>) -> Result<(Repr, Option<Reth>), WireError> {
        match self.bth.opcode {
            opcode::WRITE_ONLY => self.read_write(cursor),
            opcode::UET_ACK => Ok((self.read_sack(cursor)?, None)),
            opcode::MRC_NACK => Ok((self.read_nack(cursor)?, None)),
            opcode::MRC_PROBE => {
                let flags = cursor.with_reserved("flags of a probe", !CONTROL)?;
                cursor.zeros("probe", 3)?;
                let sent_at = self.time(cursor.u32("time")?, 32);
                cursor.zeros("probe", 8)?;
                let base = self.psn(self.bth.psn);
                Ok((Repr::Probe { base, sent_at, is_control: flags & CONTROL != 0 }, None))
            }
            _ => Ok((read_endpoint(cursor)?, None)),
        }
    }

    fn read_write(&self, cursor: &mut Cursor<'_>) -> Result<(Repr, Option<Reth>), WireError> {
        let reth = read_reth(cursor)?;
        let flags = cursor.with_reserved("METH", !RETRANSMITTED)?;
        let message = cursor.u24("message")?;
        let sent_at = self.time(cursor.u32("time")?, 32);
        let psn = self.psn(self.bth.psn);
        if self.is_cut {
            let last_hop = self.dscp == TRIMMED_LAST_HOP_CLASS;
            return Ok((Repr::trimmed(psn).with_sent_at(sent_at).with_last_hop(last_hop), None));
        }
        let data = Repr::data(psn).with_message(MessageId(message), 1).with_sent_at(sent_at);
        let data = data.with_ack_now(self.bth.ack_request).with_retransmitted(flags & RETRANSMITTED != 0);
        Ok((data, Some(reth)))
    }

    fn read_sack(&self, cursor: &mut Cursor<'_>) -> Result<Repr, WireError> {
        let at = cursor.at();
        let flags = cursor.with_reserved("SETH", !(SKIP_ONCE | PROBE | OF_RETRANSMISSION))?;
        cursor.u8("MPR")?;
        let offset = cursor.u16("ACK PSN offset")? as i16;
        cursor.zeros("entropy value", 5)?;
        let cumulative = self.psn(cursor.u24("CACK")?.wrapping_add(1) & LOW_24);
        let base = cursor.u16("SACK PSN offset")? as i16;
        cursor.zeros("SETH", 2)?;
        let received = cursor.u64("SACK bitmap")?;
        cursor.zeros("SETH", 4)?;
        let CcState::Nscc { service_time, received: units, out_of_order, .. } = CcState::read_nscc(cursor)?
        else {
            return Err(WireError::new("CC state", at + 28, Fault::NoSuchPacket));
        };
        let above = "an offset above CACK";
        let base_offset = u16::try_from(i32::from(base) - 1)
            .map_err(|_| WireError::value("SACK PSN offset", at + 12, base as u16, above))?;
        let psn_offset = offset.checked_sub(1).ok_or(WireError::value(
            "ACK PSN offset",
            at + 2,
            offset as u16,
            "an offset above -2^15",
        ))?;
        Ok(Repr::UetAck {
            cumulative,
            base_offset,
            psn_offset,
            received,
            bytes_received: units * RECEIVED_UNIT,
            out_of_order,
            cause: SackCause::new(flags & SKIP_ONCE != 0, flags & PROBE != 0)
                .with_retransmitted(flags & OF_RETRANSMISSION != 0),
            sent_at: self.time(service_time.into(), 16),
        })
    }

    fn read_nack(&self, cursor: &mut Cursor<'_>) -> Result<Repr, WireError> {
        let at = cursor.at();
        let last_hop = match cursor.u8("NACK reason")? {
            TRIMMED => false,
            TRIMMED_LAST_HOP => true,
            reason => return Err(WireError::value("NACK reason", at, reason, "1 or 2 (trimmed)")),
        };
        let flags = cursor.with_reserved("flags of a NACK", !MARKED)?;
        cursor.zeros("NACK", 2)?;
        cursor.zeros("entropy value", 5)?;
        let psn = self.psn(cursor.u24("PSN")?);
        let sent_at = self.time(cursor.u32("time")?, 32);
        cursor.zeros("NACK", 4)?;
        let nack = Repr::nack(psn).with_sent_at(sent_at);
        Ok(nack.with_last_hop(last_hop).with_mark(flags & MARKED != 0))
    }
}

fn read_endpoint(cursor: &mut Cursor<'_>) -> Result<Repr, WireError> {
    let at = cursor.at();
    let op = match cursor.u8("operation")? {
        PORT_STATUS => EndpointOp::PortStatus,
        PATH_PROBE => EndpointOp::PathProbe,
        other => return Err(WireError::value("operation", at, other, "0 (ports) or 1 (path)")),
    };
    let flags = cursor.with_reserved("flags of an endpoint packet", !(MARKED | TO_RECEIVER | RESPONSE))?;
    cursor.zeros("endpoint packet", 2)?;
    let number = cursor.u32("entropy value or ports")?;
    let too_large = Fault::TooLarge { value: number.into(), bits: 16 };
    let value =
        u16::try_from(number).map_err(|_| WireError::new("entropy value or ports", at + 4, too_large))?;
    let has = |flag: u8| flags & flag != 0;
    cursor.zeros("endpoint packet", 8 + if has(RESPONSE) { RESPONSE_BYTES } else { 0 })?;
    let (is_response, marked, to_receiver) = (has(RESPONSE), has(MARKED), has(TO_RECEIVER));
    Ok(Repr::Endpoint { op, value, is_response, marked, to_receiver })
}
