//! The packets on chosen links, as a pcapng file.
//!
//! A recorder ([`Capture`]) stores packets during a run. Afterwards, [`frames`] encodes them as bytes and [`mod@file`]
//! writes the file.

mod file;
mod frames;
#[cfg(test)]
mod tests;

use anabranch_base::{LinkId, NodeId, QpId, Time};
use anabranch_proto::{Packet, Repr};
use anabranch_sim::proto::TransportConfig;
use anabranch_sim::scenario::RunPoint;
use anabranch_sim::topology::Topology;
use anabranch_sim::{Built, Observer};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

pub use file::{Snapped, pcapng};

/// A frame that was sent on a link.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// The time at which the first bit was sent.
    pub at: Time,
    /// The link.
    pub link: LinkId,
    /// The packet or pause frame.
    pub content: FrameContent,
}

/// The content of a frame.
#[derive(Clone, Copy, Debug)]
pub enum FrameContent {
    /// A packet, with its header fields as they were on this link.
    Packet(Packet),
    /// A PFC pause frame: XOFF if `stop` is set, else XON.
    Pause {
        /// Whether the frame stops the data class.
        stop: bool,
    },
}

/// Records the frames on chosen links, up to a given number.
///
/// The run ends soon after that number is reached ([`Capture::is_full`]). It ends between two synchronisation windows
/// of the engine, at the same time for all nodes, and the first frames by (time, link) are kept. The capture is
/// therefore independent of the number of threads.
pub struct Capture<'c> {
    links: Arc<Links>,
    most: u64,
    /// The number of frames so far, over all nodes.
    count: &'c AtomicU64,
    /// The flag that requests the end of the run.
    cancel: &'c AtomicBool,
    sent: Vec<Sent>,
    /// The lowest PSN that the host has sent, by queue pair and message (for DCP, by queue pair and request).
    first: BTreeMap<(QpId, u32), u32>,
}

/// Properties of each link that the recorder needs.
struct Links {
    of_host: Vec<bool>,
    wanted: Vec<bool>,
    is_dcp: bool,
}

impl<'c> Capture<'c> {
    /// Records at most `most` frames on the links `wanted` of a run. Once there are more, it sets `cancel`, which ends
    /// the run.
    pub fn new(
        point: &RunPoint,
        topology: &Topology,
        wanted: &[LinkId],
        most: u64,
        (count, cancel): (&'c AtomicU64, &'c AtomicBool),
    ) -> Self {
        let mut links = Links {
            of_host: vec![false; topology.ports.len()],
            wanted: vec![false; topology.ports.len()],
            is_dcp: is_dcp(point),
        };
        wanted.iter().for_each(|link| links.wanted[link.index()] = true);
        (0..topology.hosts).for_each(|host| links.of_host[topology.link(NodeId(host), 0).index()] = true);
        let (sent, first) = (Vec::new(), BTreeMap::new());
        Capture { links: Arc::new(links), most, count, cancel, sent, first }
    }

    /// Whether the run was ended because more frames were sent than requested.
    pub fn is_full(&self) -> bool {
        self.count.load(Ordering::Relaxed) > self.most
    }

    /// The frames in the order of time, and the first PSN of each message, which their description needs.
    pub fn into_sent(mut self) -> (Vec<Sent>, Firsts) {
        // A link sends one frame at a time, so time and link identify a frame.
        self.sent.sort_by_key(|sent| (sent.at, sent.link));
        self.sent.truncate(usize::try_from(self.most).unwrap_or(usize::MAX));
        (self.sent, Firsts { by_message: self.first, is_dcp: self.links.is_dcp })
    }

    fn record(&mut self, at: Time, link: LinkId, content: FrameContent) {
        if self.links.wanted[link.index()] {
            self.sent.push(Sent { at, link, content });
            if self.count.fetch_add(1, Ordering::Relaxed) == self.most {
                self.cancel.store(true, Ordering::Relaxed);
            }
        }
    }
}

impl Observer for Capture<'_> {
    fn fork(&self) -> Self {
        let Capture { links, most, count, cancel, .. } = self;
        let (sent, first) = (Vec::new(), BTreeMap::new());
        Capture { links: links.clone(), most: *most, count, cancel, sent, first }
    }

    fn join(&mut self, mut other: Self) {
        self.sent.append(&mut other.sent);
        self.first.append(&mut other.first);
    }

    fn sent(&mut self, link: LinkId, from: Time, _until: Time, packet: &Packet) {
        if self.links.of_host[link.index()]
            && let Some((number, psn)) = numbered(packet, self.links.is_dcp)
        {
            let first = self.first.entry((packet.qp, number)).or_insert(psn);
            *first = psn.min(*first);
        }
        self.record(from, link, FrameContent::Packet(*packet));
    }

    fn sent_pause(&mut self, link: LinkId, from: Time, _until: Time, stop: bool) {
        self.record(from, link, FrameContent::Pause { stop });
    }
}

/// The PSN at which each message begins.
pub struct Firsts {
    by_message: BTreeMap<(QpId, u32), u32>,
    is_dcp: bool,
}

impl Firsts {
    /// The index of a data packet within its message (for DCP, within its request), counted from 0.
    fn place(&self, packet: &Packet) -> u32 {
        let first = numbered(packet, self.is_dcp)
            .and_then(|(number, psn)| Some(psn - self.by_message.get(&(packet.qp, number))?));
        first.unwrap_or(0)
    }
}

/// The number of the message, or of the DCP request, to which a data packet belongs, and the packet's PSN.
fn numbered(packet: &Packet, is_dcp: bool) -> Option<(u32, u32)> {
    match packet.repr {
        Repr::Data { psn, msn, .. } if is_dcp => Some((msn.number(), psn)),
        Repr::Data { psn, message, .. } => Some((message.0, psn)),
        _ => None,
    }
}

fn is_dcp(point: &RunPoint) -> bool {
    matches!(point.scheme.transport, TransportConfig::Dcp(_))
}

/// The context needed to encode a run's packets as bytes.
pub struct Wire<'r> {
    point: &'r RunPoint,
    built: &'r Built,
    firsts: Firsts,
    is_dcp: bool,
}

impl<'r> Wire<'r> {
    /// The context of a run. `firsts` holds the first PSN of each message.
    pub fn new(point: &'r RunPoint, built: &'r Built, firsts: Firsts) -> Self {
        Wire { point, built, firsts, is_dcp: is_dcp(point) }
    }
}
