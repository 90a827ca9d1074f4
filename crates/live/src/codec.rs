//! The bytes of frames between nodes: a frame of `anabranch-wire`, and a trailer.
//!
//! The trailer is at the end, where a short Ethernet frame has padding, so that other readers ignore it. It contains
//! the size of the packet on the emulated link, and the time at which the next node should act:
//!
//! | Bytes from the end | Field |
//! |---|---|
//! | 12-11 | 0xab47 |
//! | 10-9 | size of the packet on the emulated link in bytes; 0 in a pause frame |
//! | 8-1 | time in ps at which the next node should act on the frame |

use anabranch_base::{Duration, HostId, QpId, Time};
use anabranch_proto::transport::{Headers, PayloadRange};
use anabranch_proto::{Packet, Repr};
use anabranch_sim::{DrivenRun, FrameContent};
use anabranch_wire::{
    FIRST_QPN, Fault, Format, Memory, PauseFrame, Payload, Reference, RoceFrame, Route, SHORTEST, WireError,
    decode, encode,
};
use std::ops::Range;

const MAGIC: u16 = 0xab47;
pub const TRAILER_BYTES: usize = 12;
const PAUSED_PRIORITY: u8 = 3;

/// Converts the frames of one node.
pub struct Codec {
    format: Format,
    /// The latest PSN of each queue pair at this node, with which the 24-bit PSN of a frame is extended to 32 bits.
    psns: Vec<u32>,
}

pub struct Read {
    pub content: FrameContent,
    /// The time at which the node should act on the frame.
    pub acts: Time,
    /// The place of the payload in the frame, and the offset of the payload in the message. None if the frame is no
    /// data packet.
    pub payload: Option<(Range<usize>, u32)>,
}

impl Codec {
    pub fn new(run: &DrivenRun<'_>) -> Self {
        // With extended headers, every packet has all fields, so NICs need no state for the fields that standard
        // headers leave out. Times have 32 bits. With ticks of a picosecond they wrap after 4.3 ms, and with longer
        // ticks after more than five base round trips.
        let tick = Duration((run.base_rtt().0 >> 29).max(1));
        Codec { format: Format { tick, ..Format::new(Headers::Extended) }, psns: Vec::new() }
    }

    /// Writes a frame to `out`. Returns the place of the payload in the frame, or None if the frame is no data packet.
    pub fn write(
        &mut self,
        ends: [HostId; 2],
        (content, acts): (&FrameContent, Time),
        (message_offset, payload): (u64, &[u8]),
        out: &mut Vec<u8>,
    ) -> Result<Option<Range<usize>>, WireError> {
        let (mut size, mut place) = (0, None);
        match content {
            FrameContent::Pause { stop } => {
                let quanta = if *stop { u16::MAX } else { 0 };
                PauseFrame::of_priority([0x06, 0, 0, 0, 0, 0], PAUSED_PRIORITY, quanta).encode(out);
            }
            FrameContent::Packet(packet) => {
                size = packet.wire_bytes;
                let from = if packet.dst == ends[1] { ends[0] } else { ends[1] };
                let route = Route::between(from, packet.dst);
                let mut content = Payload::default();
                if let Repr::Data { message, .. } = packet.repr {
                    let (offset, bytes) = (message_offset, payload.len() as u16);
                    content.range =
                        PayloadRange { message, offset, bytes, request_offset: offset, ..Default::default() };
                    content.memory = Memory { address: u64::from(message.0) << 32, key: packet.qp.0 };
                    content.bytes = payload;
                }
                encode(&self.format, &route, packet, &content, out)?;
                if let Repr::Data { .. } = packet.repr {
                    // The payload is followed by padding to a multiple of 4 bytes, and by the ICRC.
                    let end = out.len() - 4 - payload.len().wrapping_neg() % 4;
                    place = Some(end - payload.len()..end);
                }
                self.note(packet);
            }
        }
        out.resize(out.len().max(SHORTEST), 0);
        out.extend(MAGIC.to_be_bytes());
        out.extend(size.to_be_bytes());
        out.extend(acts.0.to_be_bytes());
        Ok(place)
    }

    /// Reads a frame that arrives at `now`.
    pub fn read(&mut self, now: Time, bytes: &[u8]) -> Result<Read, WireError> {
        let at = bytes.len().saturating_sub(TRAILER_BYTES);
        let (frame, trailer) = bytes.split_at(at);
        let field = |from: usize, to: usize| trailer[from..to].iter().fold(0, |n, b| n << 8 | u64::from(*b));
        if trailer.len() < TRAILER_BYTES || field(0, 2) != u64::from(MAGIC) {
            let fault = Fault::Value { found: 0, expected: "0xab47, from a node of the same version" };
            return Err(WireError { field: "trailer", at, fault });
        }
        let acts = Time(field(4, 12));
        if is_pause(frame) {
            let pause = PauseFrame::decode(frame)?;
            let stop = pause.quanta[usize::from(PAUSED_PRIORITY)].is_some_and(|quanta| quanta > 0);
            return Ok(Read { content: FrameContent::Pause { stop }, acts, payload: None });
        }
        let header = RoceFrame::decode(frame, self.format.entropy)?;
        let qp = header.bth.qpn.saturating_sub(FIRST_QPN);
        let reference = Reference {
            dst: header.link.route.ip.to_host().unwrap_or(HostId(u32::MAX)),
            at_receiver: true,
            psn: self.psns.get(qp as usize).copied().unwrap_or(0),
            now,
        };
        let received = decode(&self.format, &reference, frame)?;
        let packet = Packet { wire_bytes: field(2, 4) as u16, ..received.packet };
        self.note(&packet);
        let payload = received
            .offset
            .map(|offset| (received.payload_at..received.payload_at + received.payload.len(), offset));
        Ok(Read { content: FrameContent::Packet(packet), acts, payload })
    }

    fn note(&mut self, packet: &Packet) {
        let Some(psn) = psn_of(packet) else { return };
        let QpId(qp) = packet.qp;
        if self.psns.len() <= qp as usize {
            self.psns.resize(qp as usize + 1, 0);
        }
        self.psns[qp as usize] = psn;
    }
}

/// The PSN of a packet from which the PSNs of later packets of the queue pair can be restored, if it has one.
pub fn psn_of(packet: &Packet) -> Option<u32> {
    match packet.repr {
        Repr::Data { psn, .. } | Repr::Trimmed { psn, .. } => Some(psn),
        Repr::Ack { cumulative, .. } | Repr::UetAck { cumulative, .. } => Some(cumulative),
        Repr::Sack { expected, .. } => Some(expected),
        _ => None,
    }
}

/// Whether the EtherType of a frame is MAC control.
pub fn is_pause(frame: &[u8]) -> bool {
    frame.get(12..14) == Some(&[0x88, 0x08])
}
