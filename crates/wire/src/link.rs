//! The headers before the BTH: Ethernet, IPv4 or IPv6, and UDP to port 4791 (RoCEv2) or 4793 (UET). [`Entropy`] names
//! the field that carries the entropy value.

use crate::error::{Fault, WireError};
use anabranch_base::HostId;
use etherparse::{
    EtherType, Ethernet2Header, IpDscp, IpEcn, IpNumber, Ipv4Header, Ipv6FlowLabel, Ipv6Header, UdpHeader,
};
use std::ops::Range;

/// The UDP port of RoCEv2.
pub const UDP_PORT: u16 = 4791;

/// Size of an Ethernet header in bytes.
pub const ETHERNET_BYTES: usize = Ethernet2Header::LEN;
/// Size of the frame check sequence in bytes. Frames do not include it here, but the simulator's packet sizes do.
pub const FCS_BYTES: usize = 4;
/// The length of the shortest frame without its FCS, in bytes.
pub const SHORTEST: usize = 60;

/// The ECN field of a packet that may be marked.
pub const ECT0: u8 = 0b10;
/// The ECN field of a marked packet (congestion experienced).
pub const CE: u8 = 0b11;

const HOPS: u8 = 64;

/// The addresses of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// MAC address of the next hop.
    pub to_mac: [u8; 6],
    /// MAC address of the sender.
    pub from_mac: [u8; 6],
    /// The IP addresses of the two hosts.
    pub ip: Addresses,
}

impl Route {
    /// The route from one host to another, with the IPv4 and MAC addresses that follow from their numbers.
    pub fn between(from: HostId, to: HostId) -> Route {
        let ip = Addresses::V4 { from: address(from), to: address(to) };
        Route { to_mac: mac(to), from_mac: mac(from), ip }
    }
}

/// The IPv4 address of a host: `10.0.0.1` for host 0, and so on.
fn address(host: HostId) -> [u8; 4] {
    let [_, a, b, c] = (host.0 + 1).to_be_bytes();
    [10, a, b, c]
}

/// The MAC address of a host, which is locally administered.
fn mac(host: HostId) -> [u8; 6] {
    let [a, b, c, d] = host.0.to_be_bytes();
    [0x02, 0, a, b, c, d]
}

/// The IP addresses of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addresses {
    /// IPv4.
    V4 {
        /// The address of the sender.
        from: [u8; 4],
        /// The address of the receiver.
        to: [u8; 4],
    },
    /// IPv6.
    V6 {
        /// The address of the sender.
        from: [u8; 16],
        /// The address of the receiver.
        to: [u8; 16],
    },
}

impl Addresses {
    /// Size of the IP header in bytes.
    pub const fn header_bytes(&self) -> usize {
        match self {
            Addresses::V4 { .. } => Ipv4Header::MIN_LEN,
            Addresses::V6 { .. } => Ipv6Header::LEN,
        }
    }

    /// The host to which a packet with an address of [`Route::between`] goes. None for other addresses.
    pub fn to_host(&self) -> Option<HostId> {
        match *self {
            Addresses::V4 { to: [10, a, b, c], .. } => {
                u32::from_be_bytes([0, a, b, c]).checked_sub(1).map(HostId)
            }
            Addresses::V4 { .. } | Addresses::V6 { .. } => None,
        }
    }

    /// Offset of the BTH in the frame.
    pub const fn bth(&self) -> usize {
        ETHERNET_BYTES + self.header_bytes() + UdpHeader::LEN
    }
}

/// The field that carries the entropy value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entropy {
    /// The UDP source port has all 16 bits of the entropy value.
    Port,
    /// The UDP source port has the low 14 bits of the entropy value, and is at least 49152. No other protocol claims
    /// these ports, and NICs use them too. The IPv4 identification or the IPv6 flow label has all 16 bits.
    DynamicPort,
}

/// The first port of [`Entropy::DynamicPort`].
const DYNAMIC: u16 = 0xc000;

/// The headers before the BTH.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The MAC and IP addresses of the packet.
    pub route: Route,
    /// The entropy value.
    pub ev: u16,
    /// The DSCP, with 6 bits.
    pub dscp: u8,
    /// The ECN field, with 2 bits.
    pub ecn: u8,
}

/// Clears `out` and reserves the bytes of the headers before a BTH. [`seal`] writes these headers.
pub(crate) fn reserve(out: &mut Vec<u8>, ip: &Addresses) {
    out.clear();
    out.resize(ip.bth(), 0);
}

/// Writes the headers up to and including UDP over the first bytes of `out`. `behind` is the number of bytes that will
/// follow after `out`.
pub(crate) fn seal(
    out: &mut [u8],
    link: &Link,
    entropy: Entropy,
    (destination_port, behind): (u16, usize),
) -> Result<(), WireError> {
    let Link { route, ev, dscp, ecn } = *link;
    let udp_at = ETHERNET_BYTES + route.ip.header_bytes();
    let length_field = if matches!(route.ip, Addresses::V4 { .. }) { 2 } else { 4 };
    let length = |at: usize| {
        let bytes = out.len() + behind - at;
        let too_large = Fault::TooLarge { value: bytes as u64, bits: 16 };
        u16::try_from(bytes)
            .map_err(|_| WireError::new("IP length", ETHERNET_BYTES + length_field, too_large))
    };
    let (identification, source_port) = match entropy {
        Entropy::Port => (0, ev),
        Entropy::DynamicPort => (ev, DYNAMIC | ev),
    };
    let udp = UdpHeader { source_port, destination_port, length: length(udp_at)?, checksum: 0 };
    let dscp_field = IpDscp::try_new(dscp & 0x3f).unwrap_or_default();
    let ecn_field = IpEcn::try_new(ecn & 0b11).unwrap_or_default();
    let ether_type = match route.ip {
        Addresses::V4 { from, to } => {
            let mut ip = Ipv4Header {
                dscp: dscp_field,
                ecn: ecn_field,
                total_len: length(ETHERNET_BYTES)?,
                identification,
                dont_fragment: true,
                time_to_live: HOPS,
                protocol: IpNumber::UDP,
                source: from,
                destination: to,
                ..Ipv4Header::default()
            };
            ip.header_checksum = ip.calc_header_checksum();
            out[ETHERNET_BYTES..udp_at].copy_from_slice(&ip.to_bytes());
            EtherType::IPV4
        }
        Addresses::V6 { from, to } => {
            let ip = Ipv6Header {
                traffic_class: (dscp & 0x3f) << 2 | ecn & 0b11,
                flow_label: Ipv6FlowLabel::try_new(identification.into()).unwrap_or_default(),
                payload_length: length(udp_at)?,
                next_header: IpNumber::UDP,
                hop_limit: HOPS,
                source: from,
                destination: to,
            };
            out[ETHERNET_BYTES..udp_at].copy_from_slice(&ip.to_bytes());
            EtherType::IPV6
        }
    };
    let ether = Ethernet2Header { source: route.from_mac, destination: route.to_mac, ether_type };
    out[..ETHERNET_BYTES].copy_from_slice(&ether.to_bytes());
    out[udp_at..udp_at + UdpHeader::LEN].copy_from_slice(&udp.to_bytes());
    Ok(())
}

/// Reads the headers before the BTH. Returns them with the range of the bytes after the UDP header. The range ends with
/// the IP packet, since any later bytes pad a short frame. The UDP length is not read, because trimming does not change
/// it.
pub(crate) fn read(bytes: &[u8], entropy: Entropy) -> Result<(Link, Range<usize>), WireError> {
    let (link, range, port) = read_any(bytes, entropy)?;
    if port != UDP_PORT {
        let at = range.start - UdpHeader::LEN + 2;
        return Err(WireError::value("UDP destination port", at, port, "4791 (RoCEv2)"));
    }
    Ok((link, range))
}

/// Reads the headers up to and including UDP, as [`read`] does, for any destination port. The port is returned too.
pub(crate) fn read_any(bytes: &[u8], entropy: Entropy) -> Result<(Link, Range<usize>, u16), WireError> {
    let short = |field, at: usize, need| {
        WireError::new(field, at, Fault::Short { have: bytes.len().saturating_sub(at), need })
    };
    let (ether, _) =
        Ethernet2Header::from_slice(bytes).map_err(|_| short("Ethernet header", 0, ETHERNET_BYTES))?;
    let parts = match ether.ether_type {
        EtherType::IPV4 => read_v4(bytes)?,
        EtherType::IPV6 => read_v6(bytes)?,
        other => return Err(WireError::value("EtherType", 12, other.0, "0x0800 (IPv4) or 0x86dd (IPv6)")),
    };
    let udp_at = ETHERNET_BYTES + parts.ip.header_bytes();
    if parts.end > bytes.len() {
        return Err(short("IP packet", ETHERNET_BYTES, parts.end - ETHERNET_BYTES));
    }
    let (udp, _) = UdpHeader::from_slice(&bytes[udp_at.min(parts.end)..parts.end])
        .map_err(|_| short("UDP header", udp_at, UdpHeader::LEN))?;
    let ev = match entropy {
        Entropy::DynamicPort if DYNAMIC | parts.identification == udp.source_port => parts.identification,
        Entropy::DynamicPort => {
            let expected = "a port from 0xc000 on with the low bits of the IP identification or flow label";
            return Err(WireError::value("UDP source port", udp_at, udp.source_port, expected));
        }
        Entropy::Port => udp.source_port,
    };
    let route = Route { to_mac: ether.destination, from_mac: ether.source, ip: parts.ip };
    let link = Link { route, ev, dscp: parts.traffic_class >> 2, ecn: parts.traffic_class & 0b11 };
    Ok((link, udp_at + UdpHeader::LEN..parts.end, udp.destination_port))
}

struct IpParts {
    ip: Addresses,
    traffic_class: u8,
    identification: u16,
    /// The end of the IP packet in the frame.
    end: usize,
}

fn read_v4(bytes: &[u8]) -> Result<IpParts, WireError> {
    let rest = &bytes[ETHERNET_BYTES..];
    let (have, need) = (rest.len(), Ipv4Header::MIN_LEN);
    if have < need {
        return Err(WireError::new("IPv4 header", ETHERNET_BYTES, Fault::Short { have, need }));
    }
    if rest[0] != 0x45 {
        let expected = "0x45 (IPv4 without options)";
        return Err(WireError::value("IPv4 version and header length", ETHERNET_BYTES, rest[0], expected));
    }
    let (ip, _) = Ipv4Header::from_slice(rest)
        .map_err(|_| WireError::value("IPv4 header", ETHERNET_BYTES, rest[0], "a header of IPv4"))?;
    let fragment = u16::from_be_bytes([rest[6], rest[7]]);
    if ip.is_fragmenting_payload() {
        return Err(WireError::value("IPv4 fragment", ETHERNET_BYTES + 6, fragment, "a whole packet"));
    }
    if ip.protocol != IpNumber::UDP {
        return Err(WireError::value("IPv4 protocol", ETHERNET_BYTES + 9, ip.protocol.0, "17 (UDP)"));
    }
    let computed = ip.calc_header_checksum();
    if computed != ip.header_checksum {
        let fault = Fault::Checksum { found: ip.header_checksum.into(), computed: computed.into() };
        return Err(WireError::new("IPv4 checksum", ETHERNET_BYTES + 10, fault));
    }
    let end = ETHERNET_BYTES + usize::from(ip.total_len);
    Ok(IpParts {
        ip: Addresses::V4 { from: ip.source, to: ip.destination },
        traffic_class: rest[1],
        identification: ip.identification,
        end,
    })
}

fn read_v6(bytes: &[u8]) -> Result<IpParts, WireError> {
    let rest = &bytes[ETHERNET_BYTES..];
    let (have, need) = (rest.len(), Ipv6Header::LEN);
    if have < need {
        return Err(WireError::new("IPv6 header", ETHERNET_BYTES, Fault::Short { have, need }));
    }
    let (ip, _) = Ipv6Header::from_slice(rest)
        .map_err(|_| WireError::value("IPv6 version", ETHERNET_BYTES, rest[0] >> 4, "6"))?;
    if ip.next_header != IpNumber::UDP {
        return Err(WireError::value("IPv6 next header", ETHERNET_BYTES + 6, ip.next_header.0, "17 (UDP)"));
    }
    Ok(IpParts {
        ip: Addresses::V6 { from: ip.source, to: ip.destination },
        traffic_class: ip.traffic_class,
        identification: ip.flow_label.value() as u16,
        end: ETHERNET_BYTES + need + usize::from(ip.payload_length),
    })
}

/// Sets the DSCP of the IP packet, as a switch does after trimming. Also sets the IP length so that the packet ends
/// with the frame. The headers must have been read before.
pub(crate) fn shorten(bytes: &mut [u8], ip: &Addresses, dscp: u8) {
    let length = bytes.len() - ETHERNET_BYTES;
    let rest = &mut bytes[ETHERNET_BYTES..];
    match ip {
        Addresses::V4 { .. } => {
            rest[1] = dscp << 2 | rest[1] & 0b11;
            rest[2..4].copy_from_slice(&(length as u16).to_be_bytes());
            if let Ok((header, _)) = Ipv4Header::from_slice(rest) {
                rest[10..12].copy_from_slice(&header.calc_header_checksum().to_be_bytes());
            }
        }
        Addresses::V6 { .. } => {
            let class = dscp << 2 | (rest[1] >> 4) & 0b11;
            rest[0] = rest[0] & 0xf0 | class >> 4;
            rest[1] = rest[1] & 0x0f | class << 4;
            rest[4..6].copy_from_slice(&((length - Ipv6Header::LEN) as u16).to_be_bytes());
        }
    }
}
