//! The fields of an ACK that a receiver of the transport `uet` sends to its sender, in a format of this crate. The
//! headers that Ultra Ethernet defines are in [`uet`](crate::uet).
//!
//! | Bytes | Field |
//! |---|---|
//! | 0-1 | PSN of bit 0 of the bitmap, minus the cumulative PSN |
//! | 2-3 | PSN of the packet that caused the ACK, minus the cumulative PSN, signed |
//! | 4-11 | bitmap of received PSNs |
//! | 12-15 | received bytes, modulo 2^32 |
//! | 16-17 | out-of-order count |
//! | 18 | the packet that caused the ACK: marked (bit 0), a probe (1), a retransmission (2) |
//! | 19 | 0 |

use crate::bytes::Cursor;
use crate::error::WireError;
use anabranch_base::Time;
use anabranch_proto::{Repr, SackCause};

const MARKED: u8 = 1 << 0;
const PROBE: u8 = 1 << 1;
const RETRANSMITTED: u8 = 1 << 2;

/// Appends the fields of a [`Repr::UetAck`]. Appends nothing for another packet.
pub(crate) fn put(repr: &Repr, out: &mut Vec<u8>) {
    let &Repr::UetAck { base_offset, psn_offset, received, bytes_received, out_of_order, cause, .. } = repr
    else {
        return;
    };
    let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
    out.extend(base_offset.to_be_bytes());
    out.extend(psn_offset.to_be_bytes());
    out.extend(received.to_be_bytes());
    out.extend(bytes_received.to_be_bytes());
    out.extend(out_of_order.to_be_bytes());
    let flags = flag(cause.marked(), MARKED)
        | flag(cause.probe(), PROBE)
        | flag(cause.retransmitted(), RETRANSMITTED);
    out.extend([flags, 0]);
}

pub(crate) fn read(cursor: &mut Cursor<'_>, cumulative: u32) -> Result<Repr, WireError> {
    let base_offset = cursor.u16("base PSN")?;
    let psn_offset = cursor.u16("PSN of the cause")? as i16;
    let received = cursor.u64("bitmap")?;
    let bytes_received = cursor.u32("received bytes")?;
    let out_of_order = cursor.u16("out-of-order count")?;
    let flags = cursor.with_reserved("cause", !(MARKED | PROBE | RETRANSMITTED))?;
    cursor.zeros("cause", 1)?;
    let cause = SackCause::new(flags & MARKED != 0, flags & PROBE != 0)
        .with_retransmitted(flags & RETRANSMITTED != 0);
    let sent_at = Time::ZERO;
    Ok(Repr::UetAck {
        cumulative,
        base_offset,
        psn_offset,
        received,
        bytes_received,
        out_of_order,
        cause,
        sent_at,
    })
}
