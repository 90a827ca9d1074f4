//! The bytes of a simulated packet. Fields for which the simulator has no value are constants, which `docs/wire.md`
//! lists.

use super::{FrameContent, Sent, Wire};
use anabranch_base::QpId;
use anabranch_proto::transport::{Headers, PayloadRange};
use anabranch_proto::{Packet, Repr};
use anabranch_wire::{
    FCS_BYTES, FIRST_QPN, Format, Memory, PauseFrame, Payload, Route, SHORTEST, WireError, encode,
};

const PAUSED_PRIORITY: u8 = 3;

/// The number of different queue pair numbers on the wire. If a run has more queue pairs, numbers are reused.
const QPNS: u32 = (1 << 24) - FIRST_QPN;

/// The bytes of payloads, whose content the simulator does not have.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

impl Wire<'_> {
    /// Writes the bytes of a frame to `out`, which is cleared first. The frame check sequence is left out.
    ///
    /// # Errors
    /// A number in a packet does not fit in its field.
    pub fn frame(&self, sent: &Sent, out: &mut Vec<u8>) -> Result<(), WireError> {
        match &sent.content {
            FrameContent::Pause { stop } => {
                let [a, b, c, d] = sent.link.0.to_be_bytes();
                let quanta = if *stop { u16::MAX } else { 0 };
                PauseFrame::of_priority([0x06, 0, a, b, c, d], PAUSED_PRIORITY, quanta).encode(out);
                Ok(())
            }
            FrameContent::Packet(packet) => self.packet(packet, out),
        }
    }

    /// Writes the bytes of a packet. The frame has its length in the simulator without the frame check sequence. It is
    /// longer if the headers do not fit into this length, or if the shortest Ethernet frame is longer.
    fn packet(&self, packet: &Packet, out: &mut Vec<u8>) -> Result<(), WireError> {
        let format = Format::new(self.point.scheme.transport.headers());
        let route = self.route(packet);
        let packet = Packet { qp: QpId(packet.qp.0 % QPNS), ..*packet };
        let simulated = usize::from(packet.wire_bytes).saturating_sub(FCS_BYTES);
        let memory = Memory { address: self.address(&packet), key: packet.qp.0 };
        let mut payload = Payload { range: self.range(&packet), memory, bytes: &[] };
        encode(&format, &route, &packet, &payload, out)?;
        if matches!(packet.repr, Repr::Data { .. }) {
            // A payload of RoCEv2 is padded to whole words of four bytes, so it is rounded down to whole words here.
            // Zeros then fill up the frame.
            let whole = if matches!(format.headers, Headers::Uet { .. }) { !0 } else { !0b11 };
            payload.bytes = &ZEROS[..simulated.saturating_sub(out.len()) & whole];
            encode(&format, &route, &packet, &payload, out)?;
        }
        out.resize(out.len().max(simulated).max(SHORTEST), 0);
        Ok(())
    }

    fn route(&self, packet: &Packet) -> Route {
        let ends = self.built.workload.qps[(packet.qp.0 / self.point.scheme.qps) as usize];
        let from = if ends.dst == packet.dst { ends.src } else { ends.dst };
        Route::between(from, packet.dst)
    }

    /// The address of a message. Its upper half is the number of the message, and its lower half is 0, so that the
    /// offset can be added.
    fn address(&self, packet: &Packet) -> u64 {
        match packet.repr {
            Repr::Data { message, .. } => u64::from(message.0) << 32,
            _ => 0,
        }
    }

    /// The part of a message that a data packet carries. A message may be split into pieces, over several queue pairs
    /// or into requests of DCP. The exact length of a piece is then known only at the last packet of the piece. The
    /// length in the other packets is that of a whole number of full packets.
    fn range(&self, packet: &Packet) -> PayloadRange {
        let Repr::Data { message, message_packets, .. } = packet.repr else { return PayloadRange::default() };
        let framing = self.point.scheme.transport.framing();
        let places = self.firsts.places(packet);
        let [in_message, in_request] = places.map(|place| u64::from(place) * framing.payload.0);
        let bytes = packet.wire_bytes.saturating_sub(framing.header.0 as u16);
        let whole = match places[1] + 1 == message_packets {
            true => in_request + u64::from(bytes),
            false => u64::from(message_packets) * framing.payload.0,
        };
        let message_bytes = match self.built.workload.messages.get(message.index()) {
            Some(posted) if self.point.scheme.qps == 1 => posted.bytes,
            _ => whole,
        };
        let request_bytes = if self.firsts.is_dcp { whole } else { message_bytes };
        // A RETH has 32 bits for the length. The offset is the lower half of the address, so it has 32 bits as well.
        let low = |number: u64| number & u64::from(u32::MAX);
        PayloadRange {
            message,
            offset: low(in_message),
            bytes,
            message_bytes: message_bytes.min(u32::MAX.into()),
            request_offset: low(in_request),
            request_bytes: request_bytes.min(u32::MAX.into()),
        }
    }
}
