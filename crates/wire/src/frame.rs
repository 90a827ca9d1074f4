//! A RoCEv2 frame of any kind and any implementation: the headers up to the BTH, the bytes after it, and the ICRC.

use crate::bth::{BTH_BYTES, Bth, EXTENSION_BIT};
use crate::bytes::Cursor;
use crate::error::{Fault, WireError};
use crate::extension::Extension;
use crate::icrc::{ICRC_BYTES, icrc, icrc_of_parts};
use crate::link::{self, ETHERNET_BYTES, Entropy, Link, UDP_PORT};

/// A frame of RoCEv2.
#[derive(Clone, Copy, Debug)]
pub struct RoceFrame<'a> {
    /// The headers before the BTH.
    pub link: Link,
    /// The BTH.
    pub bth: Bth,
    /// The frame up to the end of the IP packet.
    bytes: &'a [u8],
}

impl<'a> RoceFrame<'a> {
    /// Reads the headers up to the BTH.
    ///
    /// # Errors
    /// The bytes are no packet of RoCEv2. The ICRC is not checked here, but in [`content`](Self::content).
    pub fn decode(bytes: &'a [u8], entropy: Entropy) -> Result<RoceFrame<'a>, WireError> {
        let (link, range) = link::read(bytes, entropy)?;
        let bytes = &bytes[..range.end];
        let bth = Bth::read(&mut Cursor::new(bytes, range.start))?;
        Ok(RoceFrame { link, bth, bytes })
    }

    /// The offset of the first byte after the BTH.
    pub fn behind_bth(&self) -> usize {
        self.link.route.ip.bth() + BTH_BYTES
    }

    /// The bytes after the BTH without padding and ICRC. The ICRC is checked.
    ///
    /// # Errors
    /// The ICRC is wrong, or there are too few bytes for it.
    pub fn content(&self) -> Result<&'a [u8], WireError> {
        let cursor = self.fields()?;
        Ok(cursor.rest())
    }

    /// The bytes after the BTH of a packet without an ICRC, such as a trimmed packet.
    pub fn content_without_icrc(&self) -> &'a [u8] {
        self.trimmed_fields().rest()
    }

    /// A cursor after the BTH of a packet with an ICRC. Its bytes end before the padding and the ICRC.
    pub(crate) fn fields(&self) -> Result<Cursor<'a>, WireError> {
        let (begin, pad) = (self.behind_bth(), usize::from(self.bth.pad));
        let have = self.bytes.len() - begin;
        let need = ICRC_BYTES + pad;
        let end = self.bytes.len() - ICRC_BYTES.min(have);
        if have < need {
            return Err(WireError::new("padding and ICRC", begin, Fault::Short { have, need }));
        }
        let (covered, crc) = self.bytes.split_at(end);
        let computed = icrc(&covered[ETHERNET_BYTES..]);
        let found = crc.iter().rev().fold(0, |number, &byte| number << 8 | u32::from(byte));
        if found != computed {
            return Err(WireError::new("ICRC", end, Fault::Checksum { found, computed }));
        }
        Ok(Cursor::new(&covered[..end - pad], begin))
    }

    pub(crate) fn trimmed_fields(&self) -> Cursor<'a> {
        Cursor::new(self.bytes, self.behind_bth())
    }

    pub(crate) fn extension(&self, cursor: &mut Cursor<'a>) -> Result<Extension, WireError> {
        match self.bth.reserved & EXTENSION_BIT {
            0 => Ok(Extension::default()),
            _ => Extension::read(cursor),
        }
    }

    /// The length of the frame up to the end of the IP packet, in bytes.
    pub fn length(&self) -> usize {
        self.bytes.len()
    }
}

pub(crate) struct FrameParts<'a> {
    pub link: Link,
    pub entropy: Entropy,
    /// The BTH. Its padding count and its extension bit are set when the bytes are written.
    pub bth: Bth,
    pub extension: Extension,
    pub payload: &'a [u8],
    pub has_icrc: bool,
}

/// The bytes of a frame after its payload: the padding and the ICRC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tail {
    bytes: [u8; 3 + ICRC_BYTES],
    length: usize,
}

impl Tail {
    /// The padding and the ICRC as bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    fn of(head: &[u8], payload: &[u8], pad: usize, has_icrc: bool) -> Tail {
        let mut tail = Tail { length: pad, ..Tail::default() };
        if has_icrc {
            let crc = icrc_of_parts(&head[ETHERNET_BYTES..], [payload, tail.bytes()]);
            tail.length += ICRC_BYTES;
            tail.bytes[pad..tail.length].copy_from_slice(&crc.to_le_bytes());
        }
        tail
    }
}

impl FrameParts<'_> {
    /// Writes the frame to `out`, which is cleared first. `put_headers` writes the headers between the BTH and the
    /// extension header.
    pub fn put(
        &self,
        out: &mut Vec<u8>,
        put_headers: impl FnOnce(&mut Vec<u8>) -> Result<(), WireError>,
    ) -> Result<(), WireError> {
        let tail = self.put_head(out, put_headers)?;
        out.extend_from_slice(self.payload);
        out.extend_from_slice(tail.bytes());
        Ok(())
    }

    /// Writes only the bytes before the payload, as [`put`](Self::put) does, and returns the bytes after it.
    pub fn put_head(
        &self,
        out: &mut Vec<u8>,
        put_headers: impl FnOnce(&mut Vec<u8>) -> Result<(), WireError>,
    ) -> Result<Tail, WireError> {
        let FrameParts { link, entropy, extension, payload, has_icrc, .. } = self;
        let mut bth = self.bth;
        link::reserve(out, &link.route.ip);
        bth.pad = (payload.len().wrapping_neg() & 0b11) as u8;
        if !extension.is_empty() {
            bth.reserved |= EXTENSION_BIT;
        }
        bth.put(out)?;
        put_headers(out)?;
        if !extension.is_empty() {
            extension.put(out)?;
        }
        let pad = usize::from(bth.pad);
        let behind = payload.len() + pad + if *has_icrc { ICRC_BYTES } else { 0 };
        link::seal(out, link, *entropy, (UDP_PORT, behind))?;
        Ok(Tail::of(out, payload, pad, *has_icrc))
    }
}

/// Makes a frame from a datagram of a UDP socket. The datagram begins with the BTH and includes the ICRC. `frame` has
/// the datagram from [`Addresses::bth`](crate::Addresses::bth) on, and room for the headers before it. With
/// [`Entropy::Port`], the headers are those that sockets write for packets that must not be fragmented.
///
/// # Errors
/// The frame is longer than an IP packet may be.
pub fn frame_of_datagram(link: &Link, entropy: Entropy, frame: &mut [u8]) -> Result<(), WireError> {
    link::seal(frame, link, entropy, (UDP_PORT, 0))
}

/// Writes a RoCEv2 frame to `out`, which is cleared first. `headers` follow the BTH, the payload is padded to a
/// multiple of four bytes, and the ICRC ends the frame.
///
/// # Errors
/// A number does not fit in its field, or the frame is longer than an IP packet may be.
pub fn encode_roce(
    link: Link,
    entropy: Entropy,
    bth: Bth,
    headers: &[u8],
    payload: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    let extension = Extension::default();
    let parts = FrameParts { link, entropy, bth, extension, payload, has_icrc: true };
    parts.put(out, |out| {
        out.extend_from_slice(headers);
        Ok(())
    })
}
