//! Headers of Ultra Ethernet Transport's packet delivery sublayer (UE Specification 1.0, section 3.5.10, tables 3-31
//! to 3-39). They follow the UDP header, and are followed by the header that `next_header` names. With Ethernet (18
//! bytes, which include the FCS), IPv4 (20), UDP (8) and a standard request of the semantic sublayer (44), a data
//! packet has 102 bytes besides its payload, or 106 with CC state. An ACK_CC has 78 bytes, and a NACK or control
//! packet has 62.
//!
//! All headers begin with the prologue of two bytes: type (5 bits), next header or control type (4), flags (7). Numbers
//! are in network byte order.
//!
//! SPDCID and DPDCID identify the packet delivery context (PDC) at the source and at the destination.
//!
//! | Header | Bytes | Fields after the prologue |
//! |---|---|---|
//! | request | 12 | clear PSN offset (2, signed), PSN (4), SPDCID (2), DPDCID (2); with SYN, the DPDCID is replaced by the flag for a reserved PDC (1 bit), 3 reserved bits and the PSN offset (12 bits) |
//! | request with CC state | 16 | those of a request, CCC (1), credit target (3) |
//! | ACK | 12 | offset of the acknowledged PSN from CACK (2, signed) or the probe's number, CACK (4), SPDCID (2), DPDCID (2) |
//! | ACK_CC | 32 | those of an ACK, CC type and flags (4 bits each), MPR (1), SACK offset (2, signed), SACK bitmap (8), CC state (8) |
//! | NACK | 16 | code (1), vendor code (1), PSN (4), SPDCID (2), DPDCID (2), payload (4) |
//! | control packet | 16 | probe's number (2), PSN (4), SPDCID (2), DPDCID (2) as in a request, payload (4) |
//!
//! The CC state of NSCC consists of service time (2), restore (1 bit), pending penalty (7 bits), received bytes (3) and
//! out-of-order count (2). The CC state of RCCC consists of credit (3), reserved (3) and out-of-order count (2).

use crate::bytes::{Cursor, put_u24};
use crate::error::{Fault, WireError};

/// The UDP port of UET.
pub const UDP_PORT: u16 = 4793;

/// Size of a request without the state of the congestion control, in bytes.
pub const REQUEST_BYTES: usize = 12;
/// Size of the state of the congestion control in a request, in bytes.
pub const CREDIT_TARGET_BYTES: usize = 4;

mod kind {
    pub const RUD_REQUEST: u8 = 2;
    pub const ROD_REQUEST: u8 = 3;
    pub const ACK: u8 = 7;
    pub const ACK_CC: u8 = 8;
    pub const NACK: u8 = 10;
    pub const CONTROL: u8 = 11;
    pub const RUD_CC_REQUEST: u8 = 13;
    pub const ROD_CC_REQUEST: u8 = 14;
}

const MARKED: u8 = 1 << 5;
const RETRANSMITTED: u8 = 1 << 4;
/// A request or control packet with this flag requests an ACK. An ACK with it answers a probe. A NACK with it belongs
/// to RUDI.
const REQUEST: u8 = 1 << 3;
const SYN: u8 = 1 << 2;
/// Whether a control packet belongs to a ROD PDC (set) or to a RUD one.
const IS_ROD: u8 = 1 << 5;

/// A header of the packet delivery sublayer (PDS).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PdsHeader {
    /// A request, which carries data.
    Request(Request),
    /// An ACK, with the state of the congestion control (ACK_CC) or without it (ACK).
    Ack(Ack),
    /// A NACK.
    Nack(Nack),
    /// A control packet.
    Control(Control),
}

/// A request of a reliable delivery mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Whether packets are delivered in order (ROD). Otherwise they are delivered in any order (RUD).
    pub in_order: bool,
    /// The header that follows, with 4 bits. The value 3 is a standard request of the semantic sublayer (44 bytes).
    pub next_header: u8,
    /// Whether the packet is a retransmission.
    pub retransmitted: bool,
    /// Whether an ACK is requested (AR).
    pub ack_request: bool,
    /// The clear PSN, up to which the source has received responses, as an offset from the packet's PSN.
    pub clear_offset: i16,
    /// The PSN of the packet.
    pub psn: u32,
    /// The PDC at the source.
    pub source: u16,
    /// The PDC at the destination.
    pub destination: Destination,
    /// The state of the congestion control RCCC, if there is any.
    pub credit: Option<CreditTarget>,
}

/// The PDC at the destination, or the request to open one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// The identifier of an open PDC.
    Open(u16),
    /// SYN: the source does not know the destination's identifier yet.
    Syn {
        /// Whether the destination must use a reserved PDC.
        reserved_pdc: bool,
        /// The offset of the PSN from the first PSN of the PDC, with 12 bits.
        psn_offset: u16,
    },
}

/// The CC state of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreditTarget {
    /// The congestion control context.
    pub ccc: u8,
    /// The cumulative demand in units of 256 B, with 24 bits.
    pub target: u32,
}

/// The header of an ACK, with or without the state of the congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// The header that follows, with 4 bits.
    pub next_header: u8,
    /// Whether the acknowledged packet was ECN-marked.
    pub marked: bool,
    /// Whether the acknowledged packet was a retransmission.
    pub retransmitted: bool,
    /// Whether the ACK answers a probe, so that `offset` is the probe's number.
    pub probe: bool,
    /// A request to the source to clear or close the PDC, with 2 bits.
    pub request: u8,
    /// The offset of the acknowledged packet's PSN from `cumulative`, or the number of the probe.
    pub offset: i16,
    /// The CACK: every PSN up to it was received.
    pub cumulative: u32,
    /// The PDC at the source of the ACK.
    pub source: u16,
    /// The PDC at the destination of the ACK.
    pub destination: u16,
    /// The fields that only an ACK_CC has.
    pub congestion: Option<AckCc>,
}

/// The fields of an ACK_CC after those of an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckCc {
    /// Flags of the congestion control, with 4 bits.
    pub flags: u8,
    /// The number of PSNs that the destination accepts, in units of 128.
    pub mpr: u8,
    /// The offset of bit 0 of the bitmap from CACK.
    pub sack_offset: i16,
    /// The bitmap of received PSNs.
    pub bitmap: u64,
    /// The state of the congestion control.
    pub state: CcState,
}

/// The unit of received bytes, in bytes.
pub(crate) const RECEIVED_UNIT: u32 = 256;

/// The state of the destination's congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CcState {
    /// The state of NSCC.
    Nscc {
        /// The time that the packet waited in the destination, in units of 128 ns.
        service_time: u16,
        /// Whether the source must restore its congestion window.
        restore: bool,
        /// The penalty of the receiver, with 7 bits.
        penalty: u8,
        /// The received bytes in units of 256 B, with 24 bits.
        received: u32,
        /// The number of packets received since CACK last advanced.
        out_of_order: u16,
    },
    /// The state of RCCC.
    Credit {
        /// The cumulative credit in units of 256 B, with 24 bits.
        credit: u32,
        /// The number of packets received since CACK last advanced.
        out_of_order: u16,
    },
}

/// The header of a NACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nack {
    /// The header that follows, with 4 bits.
    pub next_header: u8,
    /// Whether the packet that caused the NACK was ECN-marked.
    pub marked: bool,
    /// Whether the packet that caused the NACK was a retransmission.
    pub retransmitted: bool,
    /// The reason: 1 for trimmed, 2 for trimmed on the last hop, 0x0b for outside of the PSN window, and others (table
    /// 3-58).
    pub code: u8,
    /// The manufacturer's own code.
    pub vendor_code: u8,
    /// The PSN of the packet that caused the NACK.
    pub psn: u32,
    /// The PDC at the source of the NACK.
    pub source: u16,
    /// The PDC at the destination of the NACK.
    pub destination: u16,
    /// A value whose meaning depends on the code.
    pub payload: u32,
}

/// The header of a control packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control {
    /// The type, with 4 bits: 1 for an ACK request, 6 for a probe, 7 for credit, 8 for a credit request, and others
    /// (table 3-38).
    pub kind: u8,
    /// Whether the packet belongs to a PDC with delivery in order (ROD).
    pub in_order: bool,
    /// Whether the packet is a retransmission.
    pub retransmitted: bool,
    /// Whether an ACK is requested (AR).
    pub ack_request: bool,
    /// The number of the probe, if the packet is one.
    pub probe: u16,
    /// The PSN of the packet.
    pub psn: u32,
    /// The PDC at the source.
    pub source: u16,
    /// The PDC at the destination.
    pub destination: Destination,
    /// A value whose meaning depends on the type. In a credit packet it is the credit.
    pub payload: u32,
}

impl PdsHeader {
    /// Appends the header to `out`.
    ///
    /// # Errors
    /// A number does not fit in its field.
    pub fn put(&self, out: &mut Vec<u8>) -> Result<(), WireError> {
        match self {
            PdsHeader::Request(request) => request.put(out),
            PdsHeader::Ack(ack) => ack.put(out),
            PdsHeader::Nack(nack) => nack.put(out),
            PdsHeader::Control(control) => control.put(out),
        }
    }

    /// Reads the header at the offset `at` of a frame. Returns the header and the offset of the byte after the header.
    ///
    /// # Errors
    /// The bytes are no header of this sublayer, or are too few.
    pub fn read(bytes: &[u8], at: usize) -> Result<(PdsHeader, usize), WireError> {
        let mut cursor = Cursor::new(bytes, at);
        let prologue = cursor.u16("PDS prologue")?;
        let (kind, next, flags) =
            ((prologue >> 11) as u8, (prologue >> 7) as u8 & 0xf, prologue as u8 & 0x7f);
        let header = match kind {
            kind::RUD_REQUEST | kind::ROD_REQUEST | kind::RUD_CC_REQUEST | kind::ROD_CC_REQUEST => {
                PdsHeader::Request(Request::read(&mut cursor, at, (kind, next, flags))?)
            }
            kind::ACK | kind::ACK_CC => PdsHeader::Ack(Ack::read(&mut cursor, at, (kind, next, flags))?),
            kind::NACK => PdsHeader::Nack(Nack::read(&mut cursor, at, (next, flags))?),
            kind::CONTROL => PdsHeader::Control(Control::read(&mut cursor, at, (next, flags))?),
            _ => {
                let expected =
                    "a request (2, 3, 13, 14), an ACK (7, 8), a NACK (10) or a control packet (11)";
                return Err(WireError::value("PDS type", at, kind, expected));
            }
        };
        Ok((header, cursor.at()))
    }
}

fn bit(set: bool, bit: u8) -> u8 {
    if set { bit } else { 0 }
}

fn no_flags(at: usize, flags: u8, reserved: u8) -> Result<(), WireError> {
    let fault = Fault::Reserved { found: flags, reserved };
    if flags & reserved == 0 { Ok(()) } else { Err(WireError::new("PDS flags", at + 1, fault)) }
}

fn put_prologue(out: &mut Vec<u8>, kind: u8, next: u8, flags: u8) -> Result<(), WireError> {
    fits("PDS next header or control type", out.len(), next.into(), 4)?;
    out.extend((u16::from(kind) << 11 | u16::from(next) << 7 | u16::from(flags)).to_be_bytes());
    Ok(())
}

fn fits(field: &'static str, at: usize, value: u64, bits: u8) -> Result<(), WireError> {
    if value >> bits == 0 { Ok(()) } else { Err(WireError::new(field, at, Fault::TooLarge { value, bits })) }
}

impl Destination {
    fn flag(self) -> u8 {
        bit(matches!(self, Destination::Syn { .. }), SYN)
    }

    fn put(self, out: &mut Vec<u8>) -> Result<(), WireError> {
        let bits = match self {
            Destination::Open(pdc) => pdc,
            Destination::Syn { reserved_pdc, psn_offset } => {
                fits("PSN offset", out.len(), psn_offset.into(), 12)?;
                u16::from(reserved_pdc) << 15 | psn_offset
            }
        };
        out.extend(bits.to_be_bytes());
        Ok(())
    }

    fn read(cursor: &mut Cursor<'_>, flags: u8) -> Result<Destination, WireError> {
        if flags & SYN == 0 {
            return Ok(Destination::Open(cursor.u16("DPDCID")?));
        }
        let high = cursor.with_reserved("PSN offset", 0x70)?;
        let low = cursor.u8("PSN offset")?;
        let psn_offset = u16::from_be_bytes([high & 0x0f, low]);
        Ok(Destination::Syn { reserved_pdc: high & 0x80 != 0, psn_offset })
    }
}

impl Request {
    fn put(&self, out: &mut Vec<u8>) -> Result<(), WireError> {
        let kind = match (self.in_order, self.credit.is_some()) {
            (false, false) => kind::RUD_REQUEST,
            (true, false) => kind::ROD_REQUEST,
            (false, true) => kind::RUD_CC_REQUEST,
            (true, true) => kind::ROD_CC_REQUEST,
        };
        let flags =
            bit(self.retransmitted, RETRANSMITTED) | bit(self.ack_request, REQUEST) | self.destination.flag();
        put_prologue(out, kind, self.next_header, flags)?;
        out.extend(self.clear_offset.to_be_bytes());
        out.extend(self.psn.to_be_bytes());
        out.extend(self.source.to_be_bytes());
        self.destination.put(out)?;
        if let Some(CreditTarget { ccc, target }) = self.credit {
            out.push(ccc);
            put_u24(out, "credit target", target)?;
        }
        Ok(())
    }

    fn read(
        cursor: &mut Cursor<'_>,
        at: usize,
        (kind, next_header, flags): (u8, u8, u8),
    ) -> Result<Request, WireError> {
        no_flags(at, flags, !(RETRANSMITTED | REQUEST | SYN))?;
        let has_credit = matches!(kind, kind::RUD_CC_REQUEST | kind::ROD_CC_REQUEST);
        Ok(Request {
            in_order: matches!(kind, kind::ROD_REQUEST | kind::ROD_CC_REQUEST),
            next_header,
            retransmitted: flags & RETRANSMITTED != 0,
            ack_request: flags & REQUEST != 0,
            clear_offset: cursor.u16("clear PSN offset")? as i16,
            psn: cursor.u32("PSN")?,
            source: cursor.u16("SPDCID")?,
            destination: Destination::read(cursor, flags)?,
            credit: match has_credit {
                true => Some(CreditTarget { ccc: cursor.u8("CCC")?, target: cursor.u24("credit target")? }),
                false => None,
            },
        })
    }
}

impl Ack {
    fn put(&self, out: &mut Vec<u8>) -> Result<(), WireError> {
        let kind = if self.congestion.is_some() { kind::ACK_CC } else { kind::ACK };
        fits("ACK request", out.len() + 1, self.request.into(), 2)?;
        let flags =
            bit(self.marked, MARKED) | bit(self.retransmitted, RETRANSMITTED) | bit(self.probe, REQUEST);
        put_prologue(out, kind, self.next_header, flags | self.request << 1)?;
        out.extend(self.offset.to_be_bytes());
        out.extend(self.cumulative.to_be_bytes());
        out.extend(self.source.to_be_bytes());
        out.extend(self.destination.to_be_bytes());
        self.congestion.map_or(Ok(()), |congestion| congestion.put(out))
    }

    fn read(
        cursor: &mut Cursor<'_>,
        at: usize,
        (kind, next_header, flags): (u8, u8, u8),
    ) -> Result<Ack, WireError> {
        no_flags(at, flags, !(MARKED | RETRANSMITTED | REQUEST | 0b110))?;
        Ok(Ack {
            next_header,
            marked: flags & MARKED != 0,
            retransmitted: flags & RETRANSMITTED != 0,
            probe: flags & REQUEST != 0,
            request: flags >> 1 & 0b11,
            offset: cursor.u16("ACK PSN offset")? as i16,
            cumulative: cursor.u32("CACK")?,
            source: cursor.u16("SPDCID")?,
            destination: cursor.u16("DPDCID")?,
            congestion: if kind == kind::ACK_CC { Some(AckCc::read(cursor)?) } else { None },
        })
    }
}

const NSCC: u8 = 0;
const CREDIT: u8 = 1;

impl AckCc {
    fn put(&self, out: &mut Vec<u8>) -> Result<(), WireError> {
        fits("CC flags", out.len(), self.flags.into(), 4)?;
        let kind = match self.state {
            CcState::Nscc { .. } => NSCC,
            CcState::Credit { .. } => CREDIT,
        };
        out.extend([kind << 4 | self.flags, self.mpr]);
        out.extend(self.sack_offset.to_be_bytes());
        out.extend(self.bitmap.to_be_bytes());
        self.state.put(out)
    }

    fn read(cursor: &mut Cursor<'_>) -> Result<AckCc, WireError> {
        let at = cursor.at();
        let first = cursor.u8("CC type")?;
        let (mpr, sack_offset) = (cursor.u8("MPR")?, cursor.u16("SACK PSN offset")? as i16);
        let bitmap = cursor.u64("SACK bitmap")?;
        let state = match first >> 4 {
            NSCC => CcState::read_nscc(cursor)?,
            CREDIT => {
                let credit = cursor.u24("credit")?;
                cursor.zeros("CC state", 3)?;
                CcState::Credit { credit, out_of_order: cursor.u16("out-of-order count")? }
            }
            other => return Err(WireError::value("CC type", at, other, "0 (NSCC) or 1 (credit)")),
        };
        Ok(AckCc { flags: first & 0xf, mpr, sack_offset, bitmap, state })
    }
}

impl CcState {
    pub(crate) fn put(&self, out: &mut Vec<u8>) -> Result<(), WireError> {
        match *self {
            CcState::Nscc { service_time, restore, penalty, received, out_of_order } => {
                fits("pending penalty", out.len() + 2, penalty.into(), 7)?;
                out.extend(service_time.to_be_bytes());
                out.push(bit(restore, 0x80) | penalty);
                put_u24(out, "received bytes", received)?;
                out.extend(out_of_order.to_be_bytes());
            }
            CcState::Credit { credit, out_of_order } => {
                put_u24(out, "credit", credit)?;
                out.extend([0; 3]);
                out.extend(out_of_order.to_be_bytes());
            }
        }
        Ok(())
    }

    pub(crate) fn read_nscc(cursor: &mut Cursor<'_>) -> Result<CcState, WireError> {
        let service_time = cursor.u16("service time")?;
        let mixed = cursor.u8("pending penalty")?;
        Ok(CcState::Nscc {
            service_time,
            restore: mixed & 0x80 != 0,
            penalty: mixed & 0x7f,
            received: cursor.u24("received bytes")?,
            out_of_order: cursor.u16("out-of-order count")?,
        })
    }
}

impl Nack {
    fn put(&self, out: &mut Vec<u8>) -> Result<(), WireError> {
        let flags = bit(self.marked, MARKED) | bit(self.retransmitted, RETRANSMITTED);
        put_prologue(out, kind::NACK, self.next_header, flags)?;
        out.extend([self.code, self.vendor_code]);
        out.extend(self.psn.to_be_bytes());
        out.extend(self.source.to_be_bytes());
        out.extend(self.destination.to_be_bytes());
        out.extend(self.payload.to_be_bytes());
        Ok(())
    }

    fn read(cursor: &mut Cursor<'_>, at: usize, (next_header, flags): (u8, u8)) -> Result<Nack, WireError> {
        // The RUDI flag is refused, since a packet with this flag has no PDC, and the PSN field has another meaning.
        no_flags(at, flags, !(MARKED | RETRANSMITTED))?;
        Ok(Nack {
            next_header,
            marked: flags & MARKED != 0,
            retransmitted: flags & RETRANSMITTED != 0,
            code: cursor.u8("NACK code")?,
            vendor_code: cursor.u8("vendor code")?,
            psn: cursor.u32("NACK PSN")?,
            source: cursor.u16("SPDCID")?,
            destination: cursor.u16("DPDCID")?,
            payload: cursor.u32("payload")?,
        })
    }
}

impl Control {
    fn put(&self, out: &mut Vec<u8>) -> Result<(), WireError> {
        let flags = bit(self.in_order, IS_ROD)
            | bit(self.retransmitted, RETRANSMITTED)
            | bit(self.ack_request, REQUEST)
            | self.destination.flag();
        put_prologue(out, kind::CONTROL, self.kind, flags)?;
        out.extend(self.probe.to_be_bytes());
        out.extend(self.psn.to_be_bytes());
        out.extend(self.source.to_be_bytes());
        self.destination.put(out)?;
        out.extend(self.payload.to_be_bytes());
        Ok(())
    }

    fn read(cursor: &mut Cursor<'_>, at: usize, (kind, flags): (u8, u8)) -> Result<Control, WireError> {
        no_flags(at, flags, !(IS_ROD | RETRANSMITTED | REQUEST | SYN))?;
        Ok(Control {
            kind,
            in_order: flags & IS_ROD != 0,
            retransmitted: flags & RETRANSMITTED != 0,
            ack_request: flags & REQUEST != 0,
            probe: cursor.u16("probe's number")?,
            psn: cursor.u32("PSN")?,
            source: cursor.u16("SPDCID")?,
            destination: Destination::read(cursor, flags)?,
            payload: cursor.u32("payload")?,
        })
    }
}
