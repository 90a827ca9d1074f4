//! The packets of a transfer as UDP datagrams, in batches.
//!
//! A datagram has the bytes of a frame of `anabranch-wire` from the BTH to the ICRC, and a trailer:
//!
//! | Bytes from the end | Field |
//! |---|---|
//! | 6-3 | number of the transfer at the receiver |
//! | 2-1 | entropy value |
//!
//! The ICRC covers IP addresses, but a NAT may change the true addresses. The ICRC is therefore computed for the
//! addresses of the simulated hosts 0 and 1. The entropy value selects one of the sender's UDP ports. There may be
//! fewer ports than entropy values.

use crate::codec::psn_of;
use crate::error::LiveError;
use anabranch_base::{Duration, HostId, Purpose, QpId, Stream, Time, stream};
use anabranch_proto::transport::{Headers, PayloadRange};
use anabranch_proto::{Packet, Repr};
use anabranch_wire::{
    CE, DATA_CLASS, Entropy, Fault, Format, Link, Memory, Payload, Reference, Route, WireError, decode,
    encode_head, frame_of_datagram,
};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::{RcvBuf, RcvBufForce, SndBuf, SndBufForce};
use quinn_udp::{EcnCodepoint, RecvMeta, Transmit, UdpSocketState};
use std::io::{self, ErrorKind, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::ops::Range;
use std::os::fd::AsFd;

const TRAILER_BYTES: usize = 6;
/// The room before a received datagram for the headers of its frame: Ethernet, IPv4 and UDP.
const HEADER_ROOM: usize = 14 + 20 + 8;
/// The most bytes before and after a payload: IPv6, UDP, BTH, RETH, the longest extension of data, ICRC, and trailer.
pub const MOST_OVERHEAD: usize = 40 + 8 + 12 + 16 + 32 + 4 + TRAILER_BYTES;
/// The most bytes of a batch that the kernel splits into datagrams.
const MOST_BATCH: usize = 60_000;
/// The size of a buffer for received datagrams that the kernel has joined.
const RECEIVE_BYTES: usize = 1 << 16;
const RECEIVE_BUFFERS: usize = 8;
/// The size of a receive buffer with the room for the headers of the first datagram.
const BUFFER_BYTES: usize = HEADER_ROOM + RECEIVE_BYTES;
/// The size of a socket's send buffer, and of its receive buffer, in bytes.
const SOCKET_BYTES: usize = 16 << 20;
/// The longest wait for room in the kernel, in milliseconds. Packets for which there is still no room are lost, as on a
/// full link.
const LONGEST_WAIT_MS: u16 = 20;

/// Converts the packets of one transfer at one peer.
pub struct Codec {
    format: Format,
    /// The number of the transfer at the receiver.
    pub transfer: u32,
    /// The latest PSN of each queue pair, from which 24-bit PSNs are restored.
    psns: Vec<u32>,
    /// All bytes before the payload of the last encoded packet, including the headers of Ethernet, IPv4 and UDP.
    head: Vec<u8>,
    /// The bytes after the payload of the last encoded packet.
    end: Vec<u8>,
}

/// For a data packet, `payload` has the range of the payload in the frame, and the offset of the payload in the
/// message.
pub struct Read {
    pub packet: Packet,
    pub payload: Option<(Range<usize>, u64)>,
}

impl Codec {
    pub fn new(transfer: u32, qps: u32) -> Codec {
        // With ticks of 64 ns, times of 32 bits wrap after 4.6 minutes.
        let format =
            Format { entropy: Entropy::Port, tick: Duration::from_ns(64), ..Format::new(Headers::Extended) };
        Codec { format, transfer, psns: vec![0; qps as usize], head: Vec::new(), end: Vec::new() }
    }

    /// The datagram of a packet, in three parts: the bytes before the payload, the payload, and the bytes after the
    /// payload. Only a data packet has a payload.
    pub fn encode<'p>(
        &'p mut self,
        packet: &Packet,
        payload: (PayloadRange, &'p [u8]),
    ) -> Result<[&'p [u8]; 3], WireError> {
        let from = HostId(u32::from(packet.dst == HostId(0)));
        let route = Route::between(from, packet.dst);
        let mut content = Payload::default();
        if let Repr::Data { message, .. } = packet.repr {
            let (range, bytes) = payload;
            content.range = PayloadRange { request_offset: range.offset, message, ..range };
            content.memory = Memory { address: u64::from(message.0) << 32, key: packet.qp.0 };
            content.bytes = bytes;
        }
        let tail = encode_head(&self.format, &route, packet, &content, &mut self.head)?;
        self.note(packet);
        self.end.clear();
        self.end.extend_from_slice(tail.bytes());
        self.end.extend_from_slice(&self.transfer.to_be_bytes());
        self.end.extend_from_slice(&packet.ev.to_be_bytes());
        Ok([&self.head[HEADER_ROOM..], content.bytes, &self.end])
    }

    /// Reads a datagram that arrives at host `dst`. The datagram is in `frame`, after [`HEADER_ROOM`] bytes that are
    /// overwritten.
    pub fn decode(
        &mut self,
        (now, dst): (Time, HostId),
        is_marked: bool,
        frame: &mut [u8],
    ) -> Result<Read, WireError> {
        let end = frame.len().saturating_sub(TRAILER_BYTES).max(HEADER_ROOM).min(frame.len());
        let (frame, trailer) = frame.split_at_mut(end);
        let ev =
            trailer.get(4..).map_or(0, |ev| ev.iter().fold(0, |number, byte| number << 8 | u16::from(*byte)));
        let route = Route::between(HostId(u32::from(dst == HostId(0))), dst);
        let link = Link { route, ev, dscp: DATA_CLASS, ecn: if is_marked { CE } else { 0 } };
        frame_of_datagram(&link, self.format.entropy, frame)?;
        // The number of a queue pair is in bytes 5 to 7 of the BTH.
        let number = frame
            .get(HEADER_ROOM + 5..HEADER_ROOM + 8)
            .map_or(0, |qpn| qpn.iter().fold(0, |number, byte| number << 8 | u32::from(*byte)));
        let qp = number.saturating_sub(anabranch_wire::FIRST_QPN) as usize;
        let reference =
            Reference { dst, at_receiver: true, psn: self.psns.get(qp).copied().unwrap_or(0), now };
        let received = decode(&self.format, &reference, frame)?;
        let (packet, at) = (received.packet, received.payload_at);
        let place = at..at + received.payload.len();
        if packet.qp.index() >= self.psns.len() {
            let fault = Fault::Value { found: packet.qp.0.into(), expected: "a queue pair of the transfer" };
            return Err(WireError { field: "queue pair number", at: 5, fault });
        }
        let payload = received.offset.map(|offset| (place, u64::from(offset)));
        self.note(&packet);
        Ok(Read { packet, payload })
    }

    fn note(&mut self, packet: &Packet) {
        let QpId(qp) = packet.qp;
        if let (Some(psn), Some(known)) = (psn_of(packet), self.psns.get_mut(qp as usize)) {
            *known = psn;
        }
    }
}

/// The number of the transfer to which a datagram belongs, from the datagram's trailer. In `frame`, [`HEADER_ROOM`] bytes
/// precede the datagram.
pub fn transfer_of(frame: &[u8]) -> Option<u32> {
    let at = frame.len().checked_sub(TRAILER_BYTES).filter(|at| *at >= HEADER_ROOM)?;
    Some(frame[at..at + 4].iter().fold(0, |number, byte| number << 8 | u32::from(*byte)))
}

pub struct Socket {
    pub udp: UdpSocket,
    state: UdpSocketState,
}

impl Socket {
    pub fn bind(address: SocketAddr) -> io::Result<Socket> {
        let udp = UdpSocket::bind(address)?;
        let state = UdpSocketState::new((&udp).into())?;
        // Only root may exceed the limits of the system.
        if setsockopt(&udp, RcvBufForce, &SOCKET_BYTES).is_err() {
            setsockopt(&udp, RcvBuf, &SOCKET_BYTES)?;
        }
        if setsockopt(&udp, SndBufForce, &SOCKET_BYTES).is_err() {
            setsockopt(&udp, SndBuf, &SOCKET_BYTES)?;
        }
        Ok(Socket { udp, state })
    }

    /// Receives a batch of datagrams without waiting, and calls `each` for each datagram. The first argument of `each`
    /// tells whether the datagram has a congestion mark. The second argument consists of [`HEADER_ROOM`] bytes and the
    /// datagram. Returns false if no datagram had arrived.
    pub fn receive(
        &self,
        buffer: &mut ReceiveBuffer,
        mut each: impl FnMut(bool, &mut [u8]) -> Result<(), LiveError>,
    ) -> Result<bool, LiveError> {
        let mut meta = [RecvMeta::default(); RECEIVE_BUFFERS];
        let mut parts =
            buffer.bytes.chunks_mut(BUFFER_BYTES).map(|bytes| IoSliceMut::new(&mut bytes[HEADER_ROOM..]));
        let mut slices: [IoSliceMut<'_>; RECEIVE_BUFFERS] =
            std::array::from_fn(|_| parts.next().unwrap_or(IoSliceMut::new(&mut [])));
        let count = match self.state.recv((&self.udp).into(), &mut slices, &mut meta) {
            Ok(count) => count,
            // This is an ICMP message about an earlier packet. The control connection reports a peer that is gone.
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => 0,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => 0,
            Err(error) => return Err(super::system("packets cannot be received")(error)),
        };
        for (meta, bytes) in meta.iter().zip(buffer.bytes.chunks_mut(BUFFER_BYTES)).take(count) {
            let is_marked = meta.ecn == Some(EcnCodepoint::Ce);
            for from in (0..meta.len).step_by(meta.stride.max(1)) {
                let end = meta.len.min(from + meta.stride);
                // The headers overwrite the end of the previous datagram, which has already been read.
                each(is_marked, &mut bytes[from..HEADER_ROOM + end])?;
            }
        }
        Ok(count > 0)
    }
}

pub struct ReceiveBuffer {
    bytes: Vec<u8>,
}

impl ReceiveBuffer {
    pub fn new() -> ReceiveBuffer {
        ReceiveBuffer { bytes: vec![0; BUFFER_BYTES * RECEIVE_BUFFERS] }
    }
}

/// The artificial losses at one peer.
pub struct Losses {
    share: f64,
    random: Stream,
    pub count: u64,
}

impl Losses {
    pub fn new(share: f64, seed: u64) -> Losses {
        Losses { share, random: stream(seed, 0, Purpose::LinkLoss), count: 0 }
    }

    /// Whether the next packet is lost.
    fn next(&mut self) -> bool {
        let is_lost = self.share > 0.0 && f64::from(self.random.next_u32()) < self.share * 4_294_967_296.0;
        self.count += u64::from(is_lost);
        is_lost
    }
}

/// The datagrams that wait to be sent from one socket to one address. They go to the kernel in one call.
pub struct Batch {
    to: SocketAddr,
    /// The ECN codepoint with which packets leave. Switches may mark only data packets.
    ecn: Option<EcnCodepoint>,
    bytes: Vec<u8>,
    /// The size of each datagram except the last, which may be shorter.
    size: usize,
    count: usize,
}

impl Batch {
    pub fn new(to: SocketAddr, is_data: bool) -> Batch {
        let ecn = is_data.then_some(EcnCodepoint::Ect0);
        Batch { to, ecn, bytes: Vec::with_capacity(MOST_BATCH), size: 0, count: 0 }
    }

    /// Adds a datagram that consists of `parts`. If `losses` selects the datagram, it is dropped instead.
    pub fn push(&mut self, parts: &[&[u8]], socket: &Socket, losses: &mut Losses) -> Result<(), LiveError> {
        if losses.next() {
            return Ok(());
        }
        let ends_early = self.count > 0 && self.bytes.len() < self.count * self.size;
        let length = parts.iter().map(|part| part.len()).sum();
        let most = socket.state.max_gso_segments();
        if ends_early || self.count >= most || self.bytes.len() + length > MOST_BATCH || length > self.size {
            self.flush(socket)?;
        }
        if self.count == 0 {
            self.size = length;
        }
        parts.iter().for_each(|part| self.bytes.extend_from_slice(part));
        self.count += 1;
        Ok(())
    }

    pub fn flush(&mut self, socket: &Socket) -> Result<(), LiveError> {
        if self.count == 0 {
            return Ok(());
        }
        let transmit = Transmit {
            destination: self.to,
            ecn: self.ecn,
            contents: &self.bytes,
            segment_size: (self.count > 1).then_some(self.size),
            src_ip: None,
        };
        for is_last in [false, true] {
            match socket.state.try_send((&socket.udp).into(), &transmit) {
                Err(error) if error.kind() == ErrorKind::WouldBlock && !is_last => {
                    let mut fds = [PollFd::new(socket.udp.as_fd(), PollFlags::POLLOUT)];
                    // Sending is tried again even if the wait was interrupted.
                    let _ = poll(&mut fds, PollTimeout::from(LONGEST_WAIT_MS));
                }
                Err(error) if error.raw_os_error() == Some(libc::EMSGSIZE) => {
                    return Err(LiveError::Unsupported(format!(
                        "a packet of {} bytes is longer than the path to {} carries\n  help: --payload with a smaller \
                         number of bytes",
                        self.size, self.to
                    )));
                }
                // If there is no room, or if nobody listens, the packets are lost. Transports send them again.
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::ConnectionRefused)
                        || error.raw_os_error() == Some(libc::ENOBUFS) =>
                {
                    break;
                }
                Err(error) => {
                    return Err(super::system(&format!("packets cannot be sent to {}", self.to))(error));
                }
                Ok(()) => break,
            }
        }
        self.bytes.clear();
        self.count = 0;
        Ok(())
    }
}
