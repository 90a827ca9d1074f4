//! A RoCEv2 frame of any kind, also of somebody else's: the headers up to the BTH, what follows it, and the ICRC.

use crate::bth::{BTH_BYTES, Bth, EXTENSION_BIT};
use crate::bytes::Cursor;
use crate::error::{Fault, WireError};
use crate::extension::Extension;
use crate::icrc::{ICRC_BYTES, icrc};
use crate::link::{self, ETHERNET_BYTES, Entropy, Link};

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
    /// The bytes are no packet of RoCEv2. The ICRC is not read: [`content`](Self::content) does.
    pub fn decode(bytes: &'a [u8], entropy: Entropy) -> Result<RoceFrame<'a>, WireError> {
        let (link, range) = link::read(bytes, entropy)?;
        let bytes = &bytes[..range.end];
        let bth = Bth::read(&mut Cursor::new(bytes, range.start))?;
        Ok(RoceFrame { link, bth, bytes })
    }

    /// Offset of the first byte behind the BTH.
    pub fn behind_bth(&self) -> usize {
        self.link.route.ip.bth() + BTH_BYTES
    }

    /// The bytes behind the BTH without padding and ICRC, which is checked.
    ///
    /// # Errors
    /// The ICRC is wrong, or there are too few bytes for it.
    pub fn content(&self) -> Result<&'a [u8], WireError> {
        let cursor = self.fields()?;
        Ok(cursor.rest())
    }

    /// The bytes behind the BTH of a packet that has no ICRC, as one whose payload was cut off.
    pub fn content_without_icrc(&self) -> &'a [u8] {
        self.trimmed_fields().rest()
    }

    /// The position behind the BTH, of a packet with an ICRC. The frame ends before padding and ICRC.
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

    /// The position behind the BTH, of a packet without ICRC.
    pub(crate) fn trimmed_fields(&self) -> Cursor<'a> {
        Cursor::new(self.bytes, self.behind_bth())
    }

    /// Reads the extension header, if the BTH announces one.
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

/// The parts of a frame before they are bytes.
pub(crate) struct FrameParts<'a> {
    pub link: Link,
    pub entropy: Entropy,
    /// Padding and the bit of the extension header are set when the bytes are written.
    pub bth: Bth,
    pub extension: Extension,
    pub payload: &'a [u8],
    pub has_icrc: bool,
}

impl FrameParts<'_> {
    /// Writes the frame to `out`, which is emptied first. `put_headers` writes what stands between the BTH and the extension
    /// header.
    pub fn put(
        &self,
        out: &mut Vec<u8>,
        put_headers: impl FnOnce(&mut Vec<u8>) -> Result<(), WireError>,
    ) -> Result<(), WireError> {
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
        out.extend_from_slice(payload);
        out.resize(out.len() + usize::from(bth.pad), 0);
        link::seal(out, link, *entropy, *has_icrc)
    }
}

/// Makes a frame of a datagram that came through a UDP socket: of the bytes from the BTH on, ICRC included. With
/// [`Entropy::Port`] the headers are those that sockets write for packets that may not be fragmented. In the other
/// direction, the datagram is what stands in a frame from [`Addresses::bth`](crate::Addresses::bth) on.
///
/// # Errors
/// The frame is longer than an IP packet may be.
pub fn frame_of_datagram(
    link: &Link,
    entropy: Entropy,
    datagram: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    link::reserve(out, &link.route.ip);
    out.extend_from_slice(datagram);
    link::seal(out, link, entropy, false)
}

/// Writes a RoCEv2 frame to `out`, which is emptied first: `headers` behind the BTH, the payload filled up to a multiple of
/// four bytes, and the ICRC.
///
/// # Errors
/// A number does not fit its field, or the frame is longer than an IP packet may be.
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
