//! A reader of successive fields, and a writer of 24-bit numbers. All numbers are in network byte order.

use crate::error::{Fault, WireError};

/// The smallest number that does not fit in 24 bits.
pub const LIMIT_24: u32 = 1 << 24;

/// A position in a frame, from which fields are read.
#[derive(Clone, Copy)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    /// A cursor whose first field begins at byte `at` of a frame.
    pub fn new(bytes: &'a [u8], at: usize) -> Self {
        Cursor { bytes, at }
    }

    pub fn at(&self) -> usize {
        self.at
    }

    pub fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or(&[])
    }

    pub fn take<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], WireError> {
        let rest = self.rest();
        let taken = rest.first_chunk::<N>();
        let short = Fault::Short { have: rest.len(), need: N };
        let taken = *taken.ok_or(WireError::new(field, self.at, short))?;
        self.at += N;
        Ok(taken)
    }

    pub fn u8(&mut self, field: &'static str) -> Result<u8, WireError> {
        self.take(field).map(|[byte]| byte)
    }

    pub fn u16(&mut self, field: &'static str) -> Result<u16, WireError> {
        self.take(field).map(u16::from_be_bytes)
    }

    pub fn u24(&mut self, field: &'static str) -> Result<u32, WireError> {
        self.take(field).map(|[a, b, c]| u32::from_be_bytes([0, a, b, c]))
    }

    pub fn u32(&mut self, field: &'static str) -> Result<u32, WireError> {
        self.take(field).map(u32::from_be_bytes)
    }

    pub fn u64(&mut self, field: &'static str) -> Result<u64, WireError> {
        self.take(field).map(u64::from_be_bytes)
    }

    /// Reads a byte whose bits in `reserved` must be 0.
    pub fn with_reserved(&mut self, field: &'static str, reserved: u8) -> Result<u8, WireError> {
        let at = self.at;
        let found = self.u8(field)?;
        if found & reserved == 0 {
            Ok(found)
        } else {
            Err(WireError::new(field, at, Fault::Reserved { found, reserved }))
        }
    }

    /// Reads bytes that must be 0.
    pub fn zeros(&mut self, field: &'static str, count: usize) -> Result<(), WireError> {
        (0..count).try_for_each(|_| self.with_reserved(field, 0xff).map(drop))
    }

    /// Fails if any byte is left. The error names `field`.
    pub fn end(&self, field: &'static str) -> Result<(), WireError> {
        match self.rest().len() {
            0 => Ok(()),
            extra => Err(WireError::new(field, self.at, Fault::Long { extra })),
        }
    }
}

pub fn u24_bytes(field: &'static str, at: usize, value: u32) -> Result<[u8; 3], WireError> {
    let [high, a, b, c] = value.to_be_bytes();
    match high {
        0 => Ok([a, b, c]),
        _ => Err(WireError::new(field, at, Fault::TooLarge { value: value.into(), bits: 24 })),
    }
}

pub fn put_u24(out: &mut Vec<u8>, field: &'static str, value: u32) -> Result<(), WireError> {
    let bytes = u24_bytes(field, out.len(), value)?;
    out.extend(bytes);
    Ok(())
}
