//! The invariant CRC of RoCEv2 (InfiniBand Architecture, Annex A17, section A17.3.3; volume 1, section 7.8.1). It is
//! the CRC-32 of Ethernet over the packet from the IP header to the byte before the CRC. Fields that routers and
//! switches may change are masked: they count as ones.
//!
//! Eight bytes of ones come first, in place of InfiniBand's local header. In IPv4, the type of service, the time to
//! live and the checksum are masked. In IPv6, the traffic class, the flow label and the hop limit are masked. The UDP
//! checksum and byte 4 of the BTH, with FECN and BECN, are masked too. The CRC is at the end of the packet, with its
//! lowest byte first.

use crate::bth::BTH_BYTES;
use etherparse::{Ipv4Header, Ipv6Header, UdpHeader};

/// Size of the CRC in bytes.
pub const ICRC_BYTES: usize = 4;

const MOST_MASKED: usize = Ipv6Header::LEN + UdpHeader::LEN + BTH_BYTES;

/// The CRC of a packet. `from_ip` has the packet's bytes from the IP header to the byte before the CRC. The IP header
/// is an IPv4 header without options or an IPv6 header. A UDP header and a BTH follow it.
pub fn icrc(from_ip: &[u8]) -> u32 {
    icrc_of_parts(from_ip, [&[], &[]])
}

/// The CRC of a packet whose bytes are in three places. The first place has the headers up to and including the BTH.
pub(crate) fn icrc_of_parts(from_ip: &[u8], rest: [&[u8]; 2]) -> u32 {
    let is_v6 = from_ip.first().is_some_and(|first| first >> 4 == 6);
    let ip = if is_v6 { Ipv6Header::LEN } else { Ipv4Header::MIN_LEN };
    let length = (ip + UdpHeader::LEN + BTH_BYTES).min(from_ip.len());
    let mut masked = [0; MOST_MASKED];
    let masked = &mut masked[..length];
    masked.copy_from_slice(&from_ip[..length]);
    let of_v6 = [(0, 0x0f), (1, 0xff), (2, 0xff), (3, 0xff), (7, 0xff)];
    let of_v4 = [(1, 0xff), (8, 0xff), (10, 0xff), (11, 0xff)];
    let of_ip = if is_v6 { &of_v6[..] } else { &of_v4[..] };
    let behind_ip = [(ip + 6, 0xff), (ip + 7, 0xff), (ip + UdpHeader::LEN + 4, 0xff)];
    for &(at, bits) in of_ip.iter().chain(&behind_ip) {
        if let Some(byte) = masked.get_mut(at) {
            *byte |= bits;
        }
    }
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&[0xff; 8]);
    hasher.update(masked);
    hasher.update(&from_ip[length..]);
    rest.iter().for_each(|part| hasher.update(part));
    hasher.finalize()
}
