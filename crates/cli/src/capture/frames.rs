//! The bytes of a packet: Ethernet, IPv4, UDP and RoCEv2. Fields for which the simulator has no value are constants,
//! listed in `docs/traces.md`.

use super::{FrameContent, Sent, Wire};
use anabranch_base::{HostId, LinkId, QpId};
use anabranch_proto::transport::dcp_reception::Operation;
use anabranch_proto::wire::{dcp, strack};
use anabranch_proto::{Packet, Repr};
use etherparse::{EtherType, Ethernet2Header, IpDscp, IpEcn, IpNumber, Ipv4Header, UdpHeader};

/// A frame as a capture has it.
pub struct Frame {
    /// Its headers and all bytes behind them, except a payload, which is zeros.
    pub bytes: Vec<u8>,
    /// Its length on the wire, without the check sequence.
    pub length: u32,
}

const ETHERNET: usize = Ethernet2Header::LEN;
const IPV4: usize = Ipv4Header::MIN_LEN;
const UDP: usize = UdpHeader::LEN;
const ICRC: usize = 4;
/// The check sequence, which the simulator's sizes count and captures leave out.
const FCS: u16 = 4;
/// The least that Ethernet sends, without the check sequence.
const SHORTEST: usize = 60;

/// The least of the numbers of queue pairs: 0 and 1 are those of management.
const FIRST_QPN: u32 = 256;
const LOW_24: u32 = (1 << 24) - 1;

/// DSCP of packets in the class of data, as RoCE usually has it.
const DATA_CLASS: u8 = 26;
/// DSCP of packets that overtake data.
const CONTROL_CLASS: u8 = 48;
/// The priority that pause frames name.
const PAUSED_PRIORITY: u8 = 3;

/// Opcodes of the BTH.
mod opcode {
    pub const WRITE_FIRST: u8 = 0x06;
    pub const WRITE_MIDDLE: u8 = 0x07;
    pub const WRITE_LAST: u8 = 0x08;
    pub const WRITE_ONLY: u8 = 0x0a;
    pub const ACKNOWLEDGE: u8 = 0x11;
    pub const CNP: u8 = 0x81;
    /// Opcodes from here on are the manufacturer's own.
    pub const PULL: u8 = 0xc0;
    pub const RTS: u8 = 0xc1;
    pub const PROGRAM: u8 = 0xc2;
    pub const CUSTOM: u8 = 0xc3;
}

/// AETH: an ACK that gives no credits.
const ACK: u8 = 0x1f;
/// AETH: a NACK for a gap in the PSNs.
const NACK: u8 = 0x60;

/// The fields of the BTH and the headers behind it.
struct Roce {
    opcode: u8,
    psn: u32,
    /// AckReq.
    asks: bool,
    /// BECN.
    becn: bool,
    /// Headers behind the BTH.
    more: Vec<u8>,
    /// Whether a payload follows.
    payload: bool,
}

impl Roce {
    fn new(opcode: u8, psn: u32, more: Vec<u8>) -> Self {
        Roce { opcode, psn, asks: false, becn: false, more, payload: false }
    }

    fn bth(&self, qpn: u32) -> [u8; 12] {
        let [_, q0, q1, q2] = qpn.to_be_bytes();
        let [_, p0, p1, p2] = self.psn.to_be_bytes();
        let (asks, becn) = (u8::from(self.asks) << 7, u8::from(self.becn) << 6);
        // The default partition.
        [self.opcode, 0, 0xff, 0xff, becn, q0, q1, q2, asks, p0, p1, p2]
    }
}

impl Wire<'_> {
    /// The bytes of a frame.
    pub fn frame(&self, sent: &Sent) -> Frame {
        match &sent.content {
            FrameContent::Pause { stop } => pause(sent.link, *stop),
            FrameContent::Packet(packet) => match packet.repr {
                _ if self.is_dcp => self.of_dcp(packet),
                _ => self.of_roce(packet, &self.roce(packet)),
            },
        }
    }

    /// The host that sent a packet.
    fn source(&self, packet: &Packet) -> HostId {
        let ends = self.built.workload.qps[(packet.qp.0 / self.point.scheme.qps) as usize];
        if ends.dst == packet.dst { ends.src } else { ends.dst }
    }

    fn of_roce(&self, packet: &Packet, roce: &Roce) -> Frame {
        let simulated = usize::from(packet.wire_bytes.saturating_sub(FCS));
        let own = ETHERNET + IPV4 + UDP + 12 + roce.more.len() + ICRC;
        let of_ip = if roce.payload { simulated.max(own) } else { own } - ETHERNET;
        let mut bytes = Vec::with_capacity(own.max(SHORTEST));
        let [from, to] = [self.source(packet), packet.dst];
        let ether = Ethernet2Header { source: mac(from), destination: mac(to), ether_type: EtherType::IPV4 };
        bytes.extend(ether.to_bytes());
        let mut ip = Ipv4Header {
            dscp: dscp(if packet.is_control() { CONTROL_CLASS } else { DATA_CLASS }),
            ecn: ecn(packet),
            total_len: of_ip as u16,
            identification: packet.ev,
            dont_fragment: true,
            time_to_live: 64,
            protocol: IpNumber::UDP,
            source: address(from),
            destination: address(to),
            ..Ipv4Header::default()
        };
        ip.header_checksum = ip.calc_header_checksum();
        bytes.extend(ip.to_bytes());
        let udp = UdpHeader {
            source_port: source_port(packet.ev),
            destination_port: dcp::UDP_PORT,
            length: (of_ip - IPV4) as u16,
            checksum: 0,
        };
        bytes.extend(udp.to_bytes());
        bytes.extend(roce.bth(qpn(packet.qp)));
        bytes.extend(&roce.more);
        if roce.payload {
            return Frame { bytes, length: (of_ip + ETHERNET) as u32 };
        }
        bytes.extend([0; ICRC]);
        padded(bytes, simulated)
    }

    /// The RoCEv2 headers of a packet.
    fn roce(&self, packet: &Packet) -> Roce {
        match packet.repr {
            Repr::Data { .. } => self.data(packet),
            Repr::Trimmed { psn, .. } | Repr::HeaderOnly { psn, .. } => {
                Roce::new(opcode::WRITE_MIDDLE, psn, Vec::new())
            }
            Repr::Ack { cumulative, base, received, .. } => {
                let mut more = aeth(ACK);
                if received != 0 {
                    more.extend(base.to_be_bytes());
                    more.extend(received.to_be_bytes());
                }
                Roce::new(opcode::ACKNOWLEDGE, cumulative.wrapping_sub(1), more)
            }
            // The bitmap alone: the format of Ultra Ethernet's own headers is not written here.
            Repr::UetAck { cumulative, base_offset, received, .. } => {
                let base = cumulative + u32::from(base_offset);
                return self
                    .roce(&Packet { repr: Repr::ack(cumulative).with_received(base, received), ..*packet });
            }
            Repr::Nack { psn, .. } => Roce::new(opcode::ACKNOWLEDGE, psn, aeth(NACK)),
            Repr::Cnp => Roce { becn: true, ..Roce::new(opcode::CNP, 0, vec![0; 16]) },
            Repr::Sack { expected, .. } => {
                let mut more = aeth(ACK);
                let fields = strack::encode(&packet.repr, packet.ev);
                more.extend(fields.expect("its counter saturates at 12 bits"));
                Roce::new(opcode::ACKNOWLEDGE, expected.wrapping_sub(1), more)
            }
            // A Write of no bytes, which is answered at once.
            Repr::Probe { base, .. } => {
                Roce { asks: true, ..Roce::new(opcode::WRITE_ONLY, base, reth(0, packet.qp, 0)) }
            }
            Repr::Pull { number } => Roce::new(opcode::PULL, 0, number.to_be_bytes().into()),
            Repr::Rts { target } => Roce::new(opcode::RTS, 0, target.to_be_bytes().into()),
            Repr::Program { word } => Roce::new(opcode::PROGRAM, 0, word.to_be_bytes().into()),
            Repr::Custom { content, .. } => Roce::new(opcode::CUSTOM, 0, content.into()),
        }
    }

    fn data(&self, packet: &Packet) -> Roce {
        let Repr::Data { psn, message, message_packets, ack_now, .. } = packet.repr else {
            return Roce::new(opcode::WRITE_MIDDLE, 0, Vec::new());
        };
        let framing = self.point.scheme.transport.framing();
        let payload = u32::from(packet.wire_bytes) - (framing.header.0 as u32).min(packet.wire_bytes.into());
        let place = self.firsts.place(packet);
        let begin = u64::from(message.0) << 32;
        // Where packets may come in any order each is a Write of its own, with its address.
        let (opcode, more) = match self.point.scheme.transport.is_in_order() {
            true if message_packets > 1 => match place {
                0 => (opcode::WRITE_FIRST, reth(begin, packet.qp, self.length(packet))),
                last if last + 1 == message_packets => (opcode::WRITE_LAST, Vec::new()),
                _ => (opcode::WRITE_MIDDLE, Vec::new()),
            },
            _ => {
                let at = begin + u64::from(place) * framing.payload.0;
                (opcode::WRITE_ONLY, reth(at, packet.qp, payload))
            }
        };
        Roce { asks: ack_now, payload: true, ..Roce::new(opcode, psn, more) }
    }

    /// Bytes of the message of a data packet; for a split message and for DCP's requests, in whole packets.
    fn length(&self, packet: &Packet) -> u32 {
        let Repr::Data { message, message_packets, .. } = packet.repr else { return 0 };
        let bytes = match self.built.workload.messages.get(message.index()) {
            Some(its) if self.point.scheme.qps == 1 && !self.is_dcp => its.bytes,
            _ => u64::from(message_packets) * self.point.scheme.transport.framing().payload.0,
        };
        u32::try_from(bytes).unwrap_or(u32::MAX)
    }

    /// A packet of DCP, in DCP's own format where it defines one.
    fn of_dcp(&self, packet: &Packet) -> Frame {
        let [from, to] = [self.source(packet), packet.dst];
        let route = dcp::Route {
            to_mac: mac(to),
            from_mac: mac(from),
            from: address(from),
            to: address(to),
            ev: source_port(packet.ev),
            qpn: qpn(packet.qp),
        };
        let simulated = usize::from(packet.wire_bytes.saturating_sub(FCS));
        let encoded = |frame: &dcp::Frame<'_>| {
            let mut bytes = frame.encode().expect("numbers have 24 bits, lengths 16");
            if let Ok((mut ip, _)) = Ipv4Header::from_slice(&bytes[ETHERNET..]) {
                (ip.ecn, ip.identification) = (ecn(packet), packet.ev);
                ip.header_checksum = ip.calc_header_checksum();
                bytes[ETHERNET..ETHERNET + IPV4].copy_from_slice(&ip.to_bytes());
            }
            bytes
        };
        match packet.repr {
            Repr::Data { psn, msn, ack_now, message_packets, .. } => {
                let place = self.firsts.place(packet);
                let position = match place {
                    _ if message_packets == 1 => dcp::Position::Only,
                    0 => dcp::Position::First,
                    last if last + 1 == message_packets => dcp::Position::Last,
                    _ => dcp::Position::Middle,
                };
                let payload = self.point.scheme.transport.framing().payload.0;
                let operation = Operation::Send {
                    ssn: msn.number(),
                    offset: (u64::from(place) * payload) as u32,
                    length: self.length(packet),
                };
                let psn = psn & LOW_24;
                let data = dcp::Data { route, psn, msn, ack_request: ack_now, position, operation };
                let nothing = vec![0; simulated.saturating_sub(DCP_HEADERS)];
                let mut bytes = encoded(&dcp::Frame::Data(data, &nothing));
                let length = bytes.len() as u32;
                bytes.truncate(DCP_HEADERS);
                Frame { bytes, length }
            }
            Repr::Trimmed { psn, msn, .. } | Repr::HeaderOnly { psn, msn } => {
                padded(encoded(&dcp::Frame::HeaderOnly { route, psn: psn & LOW_24, msn }), simulated)
            }
            Repr::Ack { cumulative, .. } => {
                padded(encoded(&dcp::Frame::Ack { route, expected: cumulative & LOW_24 }), simulated)
            }
            _ => self.of_roce(packet, &self.roce(packet)),
        }
    }
}

/// Headers of a data packet of DCP, which is a Send.
const DCP_HEADERS: usize = dcp::HEADER_ONLY_BYTES + 11;

/// A frame that has no payload, with a trailer of zeros where Ethernet or the simulator wants it longer.
fn padded(mut bytes: Vec<u8>, simulated: usize) -> Frame {
    bytes.resize(bytes.len().max(simulated).max(SHORTEST), 0);
    Frame { length: bytes.len() as u32, bytes }
}

/// A pause frame of IEEE 802.1Qbb for one priority: a pause of the longest time, or the end of a pause.
fn pause(link: LinkId, stop: bool) -> Frame {
    let [a, b, c, d] = link.0.to_be_bytes();
    let mut bytes = vec![0x01, 0x80, 0xc2, 0x00, 0x00, 0x01, 0x06, 0x00, a, b, c, d];
    bytes.extend(0x8808u16.to_be_bytes());
    bytes.extend(0x0101u16.to_be_bytes());
    bytes.extend((1u16 << PAUSED_PRIORITY).to_be_bytes());
    for priority in 0..8 {
        let quanta: u16 = if stop && priority == PAUSED_PRIORITY { u16::MAX } else { 0 };
        bytes.extend(quanta.to_be_bytes());
    }
    padded(bytes, 0)
}

fn aeth(syndrome: u8) -> Vec<u8> {
    vec![syndrome, 0, 0, 0]
}

fn reth(address: u64, key: QpId, length: u32) -> Vec<u8> {
    let mut bytes = address.to_be_bytes().to_vec();
    bytes.extend(key.0.to_be_bytes());
    bytes.extend(length.to_be_bytes());
    bytes
}

/// ECT(0) for packets that switches may mark, CE for those they marked, and no ECN for the rest.
fn ecn(packet: &Packet) -> IpEcn {
    match (packet.marked, packet.is_control()) {
        (true, _) => IpEcn::THREE,
        (false, false) => IpEcn::TWO,
        (false, true) => IpEcn::ZERO,
    }
}

/// The UDP source port, which carries the entropy in RoCEv2: 14 bits from 49152 on, which no other protocol claims. All
/// 16 bits stand in the IP identification.
fn source_port(ev: u16) -> u16 {
    0xc000 | ev
}

fn dscp(class: u8) -> IpDscp {
    IpDscp::try_new(class).expect("it has 6 bits")
}

/// `10.0.0.1` for host 0, and so on.
fn address(host: HostId) -> [u8; 4] {
    let [_, a, b, c] = (host.0 + 1).to_be_bytes();
    [10, a, b, c]
}

/// A locally administered address.
fn mac(host: HostId) -> [u8; 6] {
    let [a, b, c, d] = host.0.to_be_bytes();
    [0x02, 0, a, b, c, d]
}

fn qpn(qp: QpId) -> u32 {
    (qp.0 % (LOW_24 - FIRST_QPN)) + FIRST_QPN
}
