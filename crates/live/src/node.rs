//! A node of the engine whose packets are frames of bytes.

use crate::codec::Codec;
use crate::error::LiveError;
use crate::messages::Messages;
use crate::pattern;
use crate::stored::{Parts, Payloads};
use anabranch_base::{LinkId, MessageId, NodeId, QpId, Time};
use anabranch_proto::{Packet, Repr};
use anabranch_sim::topology::Topology;
use anabranch_sim::{DrivenNode, DrivenRun, FrameContent, Outgoing, Signal};
use anabranch_wire::WireError;
use std::ops::Range;

/// The place of a payload in a frame, its message, and its offset in the message.
pub type PayloadPlace = (Range<usize>, MessageId, u64);

/// A frame that a node has received.
pub struct Arrived {
    /// The time at which the node should have acted on the frame.
    pub acts: Time,
    /// The place of the payload. None if the frame is no data packet.
    pub payload: Option<PayloadPlace>,
}

/// A frame that a node sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The time at which the next node should act on the frame. Until then the frame is on the emulated link.
    pub acts: Time,
    /// The port through which the node sends the frame.
    pub port: u16,
    /// The bytes of the frame.
    pub bytes: Vec<u8>,
    /// The place of the payload. None if the frame is no data packet.
    pub payload: Option<PayloadPlace>,
}

/// A host or a switch that sends and receives frames.
pub struct LiveNode<'r> {
    run: &'r DrivenRun<'r>,
    topology: &'r Topology,
    node: DrivenNode<'r>,
    name: String,
    codec: Codec,
    /// At a switch, the payloads of the packets that have arrived.
    payloads: Payloads,
    /// At a host, the places of the payloads that it has sent.
    parts: Parts,
    messages: Messages,
    sent: Vec<Outgoing>,
    payload: Vec<u8>,
}

impl<'r> LiveNode<'r> {
    /// All nodes of a run before their first event, ordered by number.
    ///
    /// # Errors
    /// A node cannot be built, or the run has a part that only the simulator has.
    pub fn all(run: &'r DrivenRun<'r>, topology: &'r Topology) -> Result<Vec<LiveNode<'r>>, LiveError> {
        if let Some(what) = run.left_out() {
            return Err(LiveError::Unsupported(what.to_owned()));
        }
        let live = |node: DrivenNode<'r>| LiveNode {
            run,
            topology,
            name: topology.node_name(node.node()),
            node,
            codec: Codec::new(run),
            payloads: Payloads::default(),
            parts: Parts::default(),
            messages: Messages::default(),
            sent: Vec::new(),
            payload: Vec::new(),
        };
        Ok(run.nodes()?.into_iter().map(live).collect())
    }

    /// The number of the node.
    pub fn node(&self) -> NodeId {
        self.node.node()
    }

    /// The name of the node, such as `host:0`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The node of the engine.
    pub fn driven(&self) -> &DrivenNode<'r> {
        &self.node
    }

    /// Number of messages that arrived at this host with the bytes that were sent.
    pub fn checked_messages(&self) -> u64 {
        self.messages.checked()[0]
    }

    /// Total length in bytes of the messages that [`checked_messages`](Self::checked_messages) counts.
    pub fn checked_bytes(&self) -> u64 {
        self.messages.checked()[1]
    }

    /// Handles a frame that arrives at `port`.
    ///
    /// # Errors
    /// The frame cannot be read, a message was damaged, or an invariant is broken.
    pub fn receive(&mut self, time: Time, port: u16, bytes: &[u8]) -> Result<Arrived, LiveError> {
        let time = time.max(self.node.now());
        let read = self.codec.read(time, bytes).map_err(|error| self.unreadable(error))?;
        let mut payload = None;
        if let (FrameContent::Packet(packet), Some((place, offset))) = (&read.content, read.payload)
            && let Repr::Data { psn, message, .. } = packet.repr
        {
            self.take_payload((packet.qp, psn), (message, offset), &bytes[place.clone()])?;
            payload = Some((place, message, offset.into()));
        }
        self.node.arrive(time, port, &read.content).map_err(LiveError::Broken)?;
        if let (FrameContent::Packet(packet), true) = (&read.content, self.is_host()) {
            self.messages.check(self.run, self.connection(packet.qp), &self.name)?;
        }
        Ok(Arrived { acts: read.acts, payload })
    }

    fn take_payload(
        &mut self,
        (qp, psn): (QpId, u32),
        (message, offset): (MessageId, u32),
        payload: &[u8],
    ) -> Result<(), LiveError> {
        if self.is_host() {
            return self.messages.place(self.run, (self.connection(qp), message), offset, payload);
        }
        self.payloads.store((qp, psn), offset, payload);
        Ok(())
    }

    /// Handles the node's events up to `time`, inclusive.
    pub fn run_until(&mut self, time: Time) -> Result<(), LiveError> {
        self.node.run_until(time).map_err(LiveError::Broken)
    }

    /// Handles the node's events before `time`, and its fault tasks up to `time`, inclusive.
    pub fn run_tasks(&mut self, time: Time) -> Result<(), LiveError> {
        self.node.run_tasks(time).map_err(LiveError::Broken)
    }

    /// Handles a signal, if it concerns this node.
    ///
    /// # Errors
    /// An invariant is broken.
    pub fn handle(&mut self, signal: &Signal) -> Result<(), LiveError> {
        self.node.handle(signal).map_err(LiveError::Broken)
    }

    /// Removes and returns the signals for other nodes.
    pub fn take_signals(&mut self) -> impl Iterator<Item = Signal> + '_ {
        self.node.take_signals()
    }

    /// Removes the frames that the node has sent, and passes them to `each`.
    ///
    /// # Errors
    /// A packet has no form as bytes, or its payload is missing.
    pub fn take_frames(&mut self, mut each: impl FnMut(Frame)) -> Result<(), LiveError> {
        let mut sent = std::mem::take(&mut self.sent);
        sent.extend(self.node.take_frames());
        for outgoing in sent.drain(..) {
            each(self.frame(&outgoing)?);
        }
        self.sent = sent;
        Ok(())
    }

    fn frame(&mut self, outgoing: &Outgoing) -> Result<Frame, LiveError> {
        let (mut ends, mut part) = (Default::default(), None);
        if let FrameContent::Packet(packet) = &outgoing.content {
            ends = self.run.ends(packet.qp);
            if let Repr::Data { psn, message, .. } = packet.repr {
                let offset = self.find_payload(packet, psn)?;
                part = Some((message, offset));
            }
        }
        let (content, mut bytes) = ((&outgoing.content, outgoing.acts), Vec::new());
        let payload = (part.map_or(0, |(_, offset)| offset), &self.payload[..]);
        let place = self.codec.write(ends, content, payload, &mut bytes);
        let place = place.map_err(|error| self.unreadable(error))?;
        let payload = part.zip(place).map(|((message, offset), place)| (place, message, offset));
        Ok(Frame { acts: outgoing.acts, port: self.port_of(outgoing.link), bytes, payload })
    }

    /// Copies the payload of a departing data packet into `self.payload`. Returns the offset of the payload in the
    /// message.
    fn find_payload(&mut self, packet: &Packet, psn: u32) -> Result<u64, LiveError> {
        let missing = || LiveError::Broken(format!("{}: the payload of {packet:?} is gone", self.name));
        self.payload.clear();
        if !self.is_host() {
            let stored = self.payloads.of((packet.qp, psn)).ok_or_else(missing)?;
            self.payload.extend_from_slice(&stored.bytes);
            return Ok(stored.offset.into());
        }
        let key = (packet.qp, psn);
        let (message, offset, bytes) = match self.node.payload_range(packet.qp, psn) {
            Some(range) => {
                let offset = self.part_offset(packet.qp, range.message) + range.offset;
                let part = (range.message, offset, range.bytes);
                self.parts.remember(key, part);
                part
            }
            // The message was acknowledged between the event that sent this copy and the departure of the copy.
            None => self.parts.of(key).ok_or_else(missing)?,
        };
        self.payload.resize(bytes.into(), 0);
        pattern::fill(message, offset, &mut self.payload);
        Ok(offset)
    }

    /// The offset of this queue pair's part in the message; 0 if messages are not split among queue pairs.
    fn part_offset(&self, qp: QpId, message: MessageId) -> u64 {
        let split = u64::from(self.run.split());
        let bytes = self.run.message_bytes(message);
        let (parts, part) = (bytes.clamp(1, split), u64::from(qp.0) % split);
        part * (bytes / parts) + part.min(bytes % parts)
    }

    fn connection(&self, qp: QpId) -> QpId {
        QpId(qp.0 / self.run.split())
    }

    fn is_host(&self) -> bool {
        self.node().0 < self.topology.hosts
    }

    fn port_of(&self, link: LinkId) -> u16 {
        (link.0 - self.topology.links_of(self.node()).start) as u16
    }

    fn unreadable(&self, error: WireError) -> LiveError {
        LiveError::Frame { node: self.name.clone(), error }
    }
}
