//! The packets on chosen links, as a pcapng file.
//!
//! A recorder ([`Capture`]) keeps the packets during the run. After the run, [`frames`] encodes them as bytes with the
//! crate `anabranch-wire`, and [`mod@file`] writes them to the file.

mod file;
mod frames;
#[cfg(test)]
mod tests;

use anabranch_base::{LinkId, MessageId, QpId, Time};
use anabranch_proto::transport::Headers;
use anabranch_proto::{Packet, Repr};

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
    pub link: LinkId,
    pub content: FrameContent,
}

#[derive(Clone, Copy, Debug)]
pub enum FrameContent {
    /// A packet, with its header fields as they were on this link.
    Packet(Packet),
    /// A PFC pause frame: XOFF if `stop` is set, else XON.
    Pause { stop: bool },
}

/// Records the frames on chosen links, up to a given number.
///
/// The run ends soon after that number is exceeded ([`Capture::is_full`]): between two synchronisation windows of the
/// engine, at the same time for all nodes. The first frames by (time, link) are kept. The capture is therefore
/// independent of the number of threads.
pub struct Capture<'c> {
    links: Arc<Links>,
    most: u64,
    /// The number of frames so far, over all nodes.
    count: &'c AtomicU64,
    cancel: &'c AtomicBool,
    sent: Vec<Sent>,
    firsts: Firsts,
}

/// Both lists are indexed by link.
struct Links {
    of_host: Vec<bool>,
    wanted: Vec<bool>,
}

impl<'c> Capture<'c> {
    /// Records frames on the links `wanted` of a run. The first frame after `most` frames sets `cancel`, which ends the
    /// run.
    pub fn new(
        point: &RunPoint,
        topology: &Topology,
        wanted: &[LinkId],
        most: u64,
        (count, cancel): (&'c AtomicU64, &'c AtomicBool),
    ) -> Self {
        let mut links =
            Links { of_host: vec![false; topology.ports.len()], wanted: vec![false; topology.ports.len()] };
        wanted.iter().for_each(|link| links.wanted[link.index()] = true);
        let host_links = topology.port_base[topology.hosts as usize] as usize;
        links.of_host[..host_links].fill(true);
        let firsts = Firsts::new(point.scheme.transport.headers() == Headers::Dcp);
        Capture { links: Arc::new(links), most, count, cancel, sent: Vec::new(), firsts }
    }

    /// Whether the run was ended because more frames were sent than requested.
    pub fn is_full(&self) -> bool {
        self.count.load(Ordering::Relaxed) > self.most
    }

    /// The frames in the order of time, and the first PSN of each message, which the encoding of the frames needs.
    pub fn into_sent(mut self) -> (Vec<Sent>, Firsts) {
        // A link sends one frame at a time, so time and link identify a frame.
        self.sent.sort_by_key(|sent| (sent.at, sent.link));
        self.sent.truncate(usize::try_from(self.most).unwrap_or(usize::MAX));
        (self.sent, self.firsts)
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
        let firsts = Firsts::new(self.firsts.is_dcp);
        Capture { links: links.clone(), most: *most, count, cancel, sent: Vec::new(), firsts }
    }

    fn join(&mut self, mut other: Self) {
        self.sent.append(&mut other.sent);
        self.firsts.by_message.append(&mut other.firsts.by_message);
        self.firsts.by_request.append(&mut other.firsts.by_request);
    }

    fn sent(&mut self, link: LinkId, from: Time, _until: Time, packet: &Packet) {
        if self.links.of_host[link.index()] {
            self.firsts.record(packet);
        }
        self.record(from, link, FrameContent::Packet(*packet));
    }

    fn sent_pause(&mut self, link: LinkId, from: Time, _until: Time, stop: bool) {
        self.record(from, link, FrameContent::Pause { stop });
    }
}

/// The first PSN of each message, and of each request of DCP.
pub struct Firsts {
    by_message: BTreeMap<(QpId, MessageId), u32>,
    /// Indexed by queue pair and number of the request.
    by_request: BTreeMap<(QpId, u32), u32>,
    is_dcp: bool,
}

impl Firsts {
    fn new(is_dcp: bool) -> Self {
        Firsts { by_message: BTreeMap::new(), by_request: BTreeMap::new(), is_dcp }
    }

    fn record(&mut self, packet: &Packet) {
        let Repr::Data { psn, msn, message, .. } = packet.repr else { return };
        let of_message = self.by_message.entry((packet.qp, message)).or_insert(psn);
        *of_message = psn.min(*of_message);
        if self.is_dcp {
            let of_request = self.by_request.entry((packet.qp, msn.number())).or_insert(psn);
            *of_request = psn.min(*of_request);
        }
    }

    /// The position of a data packet in its message and its position in its request, both in packets from 0. Without
    /// requests, the two positions are equal.
    fn places(&self, packet: &Packet) -> [u32; 2] {
        let Repr::Data { psn, msn, message, .. } = packet.repr else { return [0; 2] };
        let place = |first: Option<&u32>| first.map_or(0, |first| psn - first);
        let in_message = place(self.by_message.get(&(packet.qp, message)));
        let in_request = place(self.by_request.get(&(packet.qp, msn.number())));
        [in_message, if self.is_dcp { in_request } else { in_message }]
    }
}

/// The context needed to encode a run's packets as bytes.
pub struct Wire<'r> {
    point: &'r RunPoint,
    built: &'r Built,
    firsts: Firsts,
}

impl<'r> Wire<'r> {
    pub fn new(point: &'r RunPoint, built: &'r Built, firsts: Firsts) -> Self {
        Wire { point, built, firsts }
    }
}
