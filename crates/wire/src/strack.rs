//! The fields that STrack adds to an ACK (STrack, figure 7). They are six words of four bytes, after the AETH.
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
//! The paper specifies the fields, their order and their widths. This module makes these choices:
//! - Numbers are in network byte order, and bit 0 of a field is its lowest bit. Bit 0 of the bitmap, which is the bit
//!   of the base PSN, is the lowest bit of bytes 16-19.
//! - The two lowest of the four reserved bits are the ECN echo (1) and "answers a probe" (2). The paper's text has both
//!   (section 3, Algorithm 1; section 3.3.2), but its figure has neither. The other two bits stay 0.
//! - The timestamp counts ticks, whose length is a parameter. With the usual tick ([`TICK`]), its 16 bits wrap after
//!   4.19 ms. The remainder below a tick is lost (less than 1 % of a target delay of 8 us), and an RTT of 4.19 ms or
//!   more is read as a shorter one. A driver in software may have longer round trips, and then uses longer ticks.
//! - The expected PSN is read as the value nearest to the reader's reference, and the base PSN as the value nearest
//!   to the expected PSN.

use crate::bytes::{Cursor, put_u24};
use crate::error::{Fault, WireError};
use crate::number::{LOW_24, Reference, latest_time, nearest_psn, ticks};
use anabranch_base::{Duration, Time};
use anabranch_proto::{Repr, SackCause};

pub use anabranch_proto::MAX_OUT_OF_ORDER;

/// The size of the fields in bytes.
pub const SACK_BYTES: usize = 24;

/// The usual unit of timestamps on the wire.
pub const TICK: Duration = Duration::from_ns(64);

const MARKED: u8 = 1;
const PROBE: u8 = 2;
const RESERVED: u8 = 0b1100;

/// The fields of figure 7.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SackFields {
    /// The ePSN: all packets before it have arrived.
    pub expected: u32,
    /// The PSN of bit 0 of `received`.
    pub base: u32,
    /// The bitmap of received PSNs.
    pub received: u64,
    /// The number of received bytes, modulo 2^32.
    pub bytes_received: u32,
    /// The out-of-order counter, with 12 bits.
    pub out_of_order: u16,
    /// The properties of the packet that caused the SACK.
    pub cause: SackCause,
    /// The time at which the packet that caused the SACK left the sender.
    pub sent_at: Time,
}

impl SackFields {
    /// The fields of a [`Repr::Sack`]. None for other packets.
    pub fn of(repr: &Repr) -> Option<SackFields> {
        let &Repr::Sack { expected, base, received, bytes_received, out_of_order, cause, sent_at } = repr
        else {
            return None;
        };
        Some(SackFields { expected, base, received, bytes_received, out_of_order, cause, sent_at })
    }

    /// The packet with these fields.
    pub fn repr(&self) -> Repr {
        Repr::sack(self.expected)
            .with_received(self.base, self.received)
            .with_counts(self.bytes_received, self.out_of_order, self.cause)
            .with_sent_at(self.sent_at)
    }

    /// Appends the fields, with `ev` as the echoed entropy value.
    ///
    /// # Errors
    /// The out-of-order counter exceeds 12 bits.
    pub fn put(&self, ev: u16, tick: Duration, out: &mut Vec<u8>) -> Result<(), WireError> {
        let begin = out.len();
        let too_large = Fault::TooLarge { value: self.out_of_order.into(), bits: 12 };
        if self.out_of_order > MAX_OUT_OF_ORDER {
            return Err(WireError::new("OOO", begin + 11, too_large));
        }
        let [ooo_high, ooo_low] = self.out_of_order.to_be_bytes();
        let flag = |set: bool, flag: u8| if set { flag } else { 0 };
        let flags = flag(self.cause.marked(), MARKED) | flag(self.cause.probe(), PROBE);
        out.extend(ev.to_be_bytes());
        out.extend((ticks(self.sent_at, tick) as u16).to_be_bytes());
        out.extend(self.bytes_received.to_be_bytes());
        put_u24(out, "Expected PSN", self.expected & LOW_24)?;
        out.extend([ooo_low, ooo_high << 4 | flags]);
        put_u24(out, "SACK base PSN", self.base & LOW_24)?;
        out.extend(self.received.rotate_left(32).to_be_bytes());
        Ok(())
    }

    /// Reads the fields at the offset `at` of a frame, and the entropy value that they echo.
    ///
    /// # Errors
    /// There are too few bytes, or a reserved bit is set.
    pub fn read(
        bytes: &[u8],
        at: usize,
        reference: &Reference,
        tick: Duration,
    ) -> Result<(SackFields, u16), WireError> {
        read(&mut Cursor::new(bytes, at), reference, tick)
    }
}

pub(crate) fn read(
    cursor: &mut Cursor<'_>,
    reference: &Reference,
    tick: Duration,
) -> Result<(SackFields, u16), WireError> {
    let ev = cursor.u16("echo_entropy")?;
    let stamp = cursor.u16("echo_timestamp")?;
    let bytes_received = cursor.u32("recv_bytes")?;
    let expected = nearest_psn(cursor.u24("Expected PSN")?, reference.psn);
    let ooo_low = cursor.u8("OOO")?;
    let mixed = cursor.with_reserved("OOO and flags", RESERVED)?;
    let base = nearest_psn(cursor.u24("SACK base PSN")?, expected);
    let received = cursor.u64("SACK bitmap")?.rotate_left(32);
    let fields = SackFields {
        expected,
        base,
        received,
        bytes_received,
        out_of_order: u16::from_be_bytes([mixed >> 4, ooo_low]),
        cause: SackCause::new(mixed & MARKED != 0, mixed & PROBE != 0),
        sent_at: latest_time(stamp.into(), 16, reference.now, tick),
    };
    Ok((fields, ev))
}
