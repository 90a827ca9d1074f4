//! The fields that STrack adds to an ACK (STrack, figure 7): six words of four bytes.
//!
//! | Bytes | Field |
//! |---|---|
//! | 0-1 | `echo_entropy` |
//! | 2-3 | `echo_timestamp` |
//! | 4-7 | `recv_bytes` |
//! | 8-10 | Expected PSN |
//! | 11 | OOO, bits 0-7 |
//! | 12 | OOO, bits 8-11, in the upper half; reserved in the lower half |
//! | 13-15 | SACK base PSN |
//! | 16-19 | SACK bitmap, bits 0-31 |
//! | 20-23 | SACK bitmap, bits 32-63 |
//!
//! The paper specifies the fields, their order and their widths. Choices made here:
//! - Numbers are in network byte order, and bit 0 of a field is its lowest one: bit 0 of the bitmap, for the base
//!   PSN, is the lowest bit of bytes 16-19.
//! - The two lowest of the four reserved bits are the ECN echo (1) and "answers a probe" (2). The text has both
//!   (section 3, Algorithm 1; section 3.3.2), the figure neither. The other two stay 0.
//! - The timestamp counts [`TICK`]s. Its 16 bits wrap after 4.19 ms. The time below a tick is lost (under 1 % of a
//!   target delay of 8 us), and an RTT of 4.19 ms or more reads as a shorter one.
//! - PSNs are read as the value nearest to the reader's reference, within 2^23 of it.

use crate::packet::{Repr, SackCause};
use anabranch_base::{Duration, Time};

pub use crate::packet::MAX_OUT_OF_ORDER;

/// Size of the fields in bytes.
pub const SACK_BYTES: usize = 24;

/// Unit of the timestamp on the wire.
pub const TICK: Duration = Duration::from_ns(64);

const MARKED: u8 = 1;
const PROBE: u8 = 2;
const RESERVED: u8 = 0b1100;

/// An error of decoding or encoding a SACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// Too few or too many bytes.
    #[error("the fields of a SACK are {SACK_BYTES} bytes, not {0}")]
    Length(usize),
    /// Reserved bits are not 0.
    #[error("byte 12 of a SACK is {0:#04x}; its bits 2 and 3 are reserved and must be 0")]
    Reserved(u8),
    /// A counter does not fit its field.
    #[error("an out-of-order count of {0} does not fit 12 bits; saturate it at {MAX_OUT_OF_ORDER}")]
    OutOfOrder(u16),
    /// A packet of another type.
    #[error("only a SACK has the fields of STrack, figure 7")]
    NotASack,
}

/// The reader's reference, from which truncated fields are reconstructed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// A PSN near the expected one: the last ePSN that the sender received.
    pub psn: u32,
    /// The arrival of the SACK.
    pub now: Time,
}

/// Encodes a SACK that echoes `ev`.
///
/// # Errors
/// `repr` is no SACK, or its counter exceeds 12 bits.
pub fn encode(repr: &Repr, ev: u16) -> Result<[u8; SACK_BYTES], WireError> {
    let &Repr::Sack { expected, base, received, bytes_received, out_of_order, cause, sent_at } = repr else {
        return Err(WireError::NotASack);
    };
    if out_of_order > MAX_OUT_OF_ORDER {
        return Err(WireError::OutOfOrder(out_of_order));
    }
    let ticks = (sent_at.0 / TICK.0) as u16;
    let [ooo_high, ooo_low] = out_of_order.to_be_bytes();
    let flags = if cause.marked() { MARKED } else { 0 } | if cause.probe() { PROBE } else { 0 };
    let mut bytes = [0; SACK_BYTES];
    bytes[0..2].copy_from_slice(&ev.to_be_bytes());
    bytes[2..4].copy_from_slice(&ticks.to_be_bytes());
    bytes[4..8].copy_from_slice(&bytes_received.to_be_bytes());
    bytes[8..11].copy_from_slice(&expected.to_be_bytes()[1..]);
    bytes[11] = ooo_low;
    bytes[12] = ooo_high << 4 | flags;
    bytes[13..16].copy_from_slice(&base.to_be_bytes()[1..]);
    bytes[16..20].copy_from_slice(&(received as u32).to_be_bytes());
    bytes[20..24].copy_from_slice(&((received >> 32) as u32).to_be_bytes());
    Ok(bytes)
}

/// Decodes a SACK and the entropy value that it echoes.
///
/// # Errors
/// The length is wrong, or a reserved bit is set.
pub fn decode(bytes: &[u8], reference: Reference) -> Result<(Repr, u16), WireError> {
    let bytes: &[u8; SACK_BYTES] = bytes.try_into().map_err(|_| WireError::Length(bytes.len()))?;
    let [e0, e1, t0, t1, r0, r1, r2, r3, x0, x1, x2, ooo, mixed, b0, b1, b2, bitmap @ ..] = *bytes;
    if mixed & RESERVED != 0 {
        return Err(WireError::Reserved(mixed));
    }
    let expected = nearest_psn(u32::from_be_bytes([0, x0, x1, x2]), reference.psn);
    let base = nearest_psn(u32::from_be_bytes([0, b0, b1, b2]), expected);
    // Bits 0-31, the lower half, come first on the wire.
    let received = u64::from_be_bytes(bitmap).rotate_left(32);
    let bytes_received = u32::from_be_bytes([r0, r1, r2, r3]);
    let out_of_order = u16::from_be_bytes([mixed >> 4, ooo]);
    let cause = SackCause::new(mixed & MARKED != 0, mixed & PROBE != 0);
    let repr = Repr::sack(expected)
        .with_received(base, received)
        .with_counts(bytes_received, out_of_order, cause)
        .with_sent_at(latest_time(u16::from_be_bytes([t0, t1]), reference.now));
    Ok((repr, u16::from_be_bytes([e0, e1])))
}

/// The PSN with these low 24 bits that is nearest to `reference`.
fn nearest_psn(low: u32, reference: u32) -> u32 {
    const ROUND: i64 = 1 << 24;
    let same_round = i64::from(reference) / ROUND * ROUND + i64::from(low);
    let candidates = [same_round - ROUND, same_round, same_round + ROUND];
    let within = candidates.into_iter().filter_map(|psn| u32::try_from(psn).ok());
    within.min_by_key(|&psn| psn.abs_diff(reference)).unwrap_or(low)
}

/// The latest time not after `now` with this timestamp.
fn latest_time(ticks: u16, now: Time) -> Time {
    let now_ticks = now.0 / TICK.0;
    let ago = (now_ticks as u16).wrapping_sub(ticks);
    Time(now_ticks.saturating_sub(u64::from(ago)) * TICK.0)
}
