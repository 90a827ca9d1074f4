//! Priority flow control: a lossless data class over a shared buffer.
//!
//! Accounting is per ingress port. Everything is in integers, and what is released can never exceed what was
//! taken, so that no threshold wraps.

use crate::engine::{Engine, Failure, PAUSE_FRAME_BYTES};
use crate::observer::Observer;
use crate::spec::PfcSpec;
use anabranch_base::{Bytes, Duration, LinkId, NodeId, Time};
use anabranch_fabric::Topology;
use anabranch_proto::PathFacts;

/// In the place of the link by which a queued packet came: no ingress port counts it, as it waits in memory of the
/// switch's program.
pub(crate) const APART: u32 = u32::MAX;

/// The lossless class of a fabric.
pub struct Pfc {
    /// By link: what came in by the port that it leaves.
    ingress: Vec<Ingress>,
    /// By switch.
    shared: Vec<Shared>,
    /// Bytes in queues that no ingress port counts.
    apart: u64,
    threshold: Threshold,
    resume: u32,
    /// By link: since when its data class is paused; never: it is not.
    paused_since: Vec<Time>,
    /// Pause frames (XOFF) sent.
    pub pause_frames: u64,
    /// Time for which links' data classes were paused, over all links, without the pauses that still last.
    pause_time: Duration,
}

/// The state of an ingress port.
#[derive(Clone, Copy, Debug)]
struct Ingress {
    /// Bytes held in the shared buffer.
    shared: u32,
    /// Bytes held in the headroom.
    headroom_used: u32,
    headroom: u32,
    /// The sender is to pause.
    stopped: bool,
    /// What the last pause frame said.
    told: bool,
}

/// The shared part of a switch's buffer.
#[derive(Clone, Copy, Debug)]
struct Shared {
    size: u64,
    used: u64,
}

/// When an ingress port's share is used up (XOFF).
#[derive(Clone, Copy, Debug)]
enum Threshold {
    /// This many 2^-16ths of what is left of the shared buffer.
    Dynamic(u64),
    /// Bytes.
    Static(u64),
}

/// What becomes of a packet at the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Admission {
    Fits,
    /// It fits into the headroom: the sender must pause.
    Pause,
    /// Not even the headroom has room.
    Overflow,
}

/// A lossless fabric that cannot be: what is wrong and what would do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PfcError {
    /// A headroom does not cover what is on its way when a pause goes out.
    #[error(
        "a headroom of {given} does not cover the round trip of {link}, which needs {needed} (without headroom every port gets what its link needs)"
    )]
    Headroom {
        /// The link that needs most.
        link: String,
        /// As configured.
        given: Bytes,
        /// The least.
        needed: Bytes,
    },
    /// A switch's buffer does not even hold its headrooms.
    #[error(
        "{switch} has a buffer of {buffer}, and the headrooms of its ports alone take {headrooms} (fabric.pfc.headroom_apart = true puts them beside it)"
    )]
    Buffer {
        /// The switch that lacks most.
        switch: String,
        /// As configured, scaled.
        buffer: Bytes,
        /// The sum of its headrooms.
        headrooms: Bytes,
        /// What to configure at the least.
        needed: Bytes,
    },
}

impl PfcError {
    /// The parameter of the scheme that is wrong, as a path.
    pub fn parameter(&self) -> &'static str {
        match self {
            PfcError::Headroom { .. } => "fabric.pfc.headroom",
            PfcError::Buffer { .. } => "fabric.pfc.buffer",
        }
    }

    /// The least value that would do.
    pub fn needed(&self) -> Bytes {
        match self {
            PfcError::Headroom { needed, .. } | PfcError::Buffer { needed, .. } => *needed,
        }
    }
}

/// What can still arrive at the end of `link` once its switch has decided to pause it, with the packet that made
/// it decide: a full packet may be in the pause frame's way, the frame takes its time, the sender may just have
/// begun a full packet, and all that is on the wire or within the switch's latency comes too.
///
/// The packets that begin after the deciding one, which ended its transmission at `e`, do so from `e` until the
/// frame acts, `latency + switch latency + (full packet + frame at the rate back) + latency` later. That is at
/// most as many bytes as the link carries meanwhile and one full packet more; and there is the deciding one.
pub fn headroom_needed(topology: &Topology, link: LinkId, facts: &PathFacts) -> Bytes {
    let port = &topology.ports[link.index()];
    let back = &topology.ports[topology.reverse(link).index()];
    let pipeline = topology.switch(port.peer).map_or(Duration::ZERO, |switch| switch.latency);
    let frame = back.rate.time_for(facts.packet.0) + back.rate.time_for(u64::from(PAUSE_FRAME_BYTES));
    let window = port.latency + pipeline + frame + back.latency;
    Bytes(port.rate.bytes_in(window) + 1 + 2 * facts.packet.0)
}

/// That every headroom covers its link's round trip.
///
/// # Errors
/// The link for which it lacks most.
pub fn check_headrooms(spec: &PfcSpec, topology: &Topology, facts: &PathFacts) -> Result<(), PfcError> {
    let Some(given) = spec.headroom.map(|size| size.on(facts)) else { return Ok(()) };
    let into_switches = (0..topology.ports.len() as u32)
        .map(LinkId)
        .filter(|l| topology.switch(topology.ports[l.index()].peer).is_some());
    let most = into_switches
        .map(|link| (headroom_needed(topology, link, facts), std::cmp::Reverse(link)))
        .max()
        .filter(|(needed, _)| given < *needed);
    most.map_or(Ok(()), |(needed, link)| {
        Err(PfcError::Headroom { link: topology.link_name(link.0), given, needed })
    })
}

impl Pfc {
    /// Empty buffers.
    ///
    /// # Errors
    /// A buffer smaller than its headrooms. Whether a headroom is large enough is for [`check_headrooms`] to say:
    /// a run with a smaller one shows what is lost.
    pub fn new(spec: &PfcSpec, topology: &Topology, facts: &PathFacts) -> Result<Self, PfcError> {
        let clip = |bytes: Bytes| u32::try_from(bytes.0).unwrap_or(u32::MAX);
        let links = topology.ports.len();
        let mut ingress =
            vec![Ingress { shared: 0, headroom_used: 0, headroom: 0, stopped: false, told: false }; links];
        let mut shared = Vec::with_capacity(topology.switches.len());
        let mut worst: Option<PfcError> = None;
        for node in (topology.hosts..topology.nodes()).map(NodeId) {
            let (mut rate, mut headrooms) = (0u64, 0u64);
            for link in topology.links_of(node).map(LinkId) {
                rate += topology.ports[link.index()].rate.0;
                let headroom = match spec.headroom {
                    Some(size) => size.on(facts),
                    None => headroom_needed(topology, topology.reverse(link), facts),
                };
                ingress[link.index()].headroom = clip(headroom);
                headrooms = headrooms.saturating_add(headroom.0);
            }
            let scaled = |bytes: u64, by: u64, of: u64| {
                u64::try_from(u128::from(bytes) * u128::from(by) / u128::from(of.max(1))).unwrap_or(u64::MAX)
            };
            let (buffer, least) = match spec.buffer_rate {
                None => (spec.buffer.0, headrooms.saturating_add(1)),
                Some(whole) => (
                    scaled(spec.buffer.0, rate, whole.0),
                    scaled(headrooms.saturating_add(1), whole.0, rate).saturating_add(1),
                ),
            };
            let within = if spec.headroom_apart { 0 } else { headrooms };
            match buffer.checked_sub(within).filter(|&left| left > 0) {
                Some(size) => shared.push(Shared { size, used: 0 }),
                None if worst.as_ref().is_none_or(|worst| worst.needed().0 < least) => {
                    worst = Some(PfcError::Buffer {
                        switch: topology.node_name(node),
                        buffer: Bytes(buffer),
                        headrooms: Bytes(headrooms),
                        needed: Bytes(least),
                    });
                }
                None => {}
            }
        }
        if let Some(worst) = worst {
            return Err(worst);
        }
        let threshold = match (spec.threshold, spec.alpha) {
            (Some(size), _) => Threshold::Static(size.on(facts).0),
            (None, alpha) => Threshold::Dynamic((alpha.unwrap_or(1.0) * 65_536.0) as u64),
        };
        Ok(Pfc {
            ingress,
            shared,
            apart: 0,
            threshold,
            resume: clip(spec.resume.on(facts)),
            paused_since: vec![Time::NEVER; links],
            pause_frames: 0,
            pause_time: Duration::ZERO,
        })
    }

    #[inline]
    fn threshold(&self, shared: &Shared) -> u64 {
        match self.threshold {
            Threshold::Static(bytes) => bytes,
            Threshold::Dynamic(alpha) => {
                ((u128::from(shared.size - shared.used) * u128::from(alpha)) >> 16) as u64
            }
        }
    }

    /// Takes `bytes` in that came by the port of `from` at switch number `switch`.
    #[inline]
    fn admit(&mut self, from: LinkId, switch: usize, bytes: u16) -> Admission {
        let shared = self.shared[switch];
        let threshold = self.threshold(&shared);
        let ingress = &mut self.ingress[from.index()];
        let held = u64::from(ingress.shared) + u64::from(bytes);
        if held <= threshold && shared.used + u64::from(bytes) <= shared.size {
            ingress.shared += u32::from(bytes);
            self.shared[switch].used += u64::from(bytes);
            return Admission::Fits;
        }
        if u64::from(ingress.headroom_used) + u64::from(bytes) > u64::from(ingress.headroom) {
            return Admission::Overflow;
        }
        ingress.headroom_used += u32::from(bytes);
        Admission::Pause
    }

    /// Gives `bytes` back; answers whether the sender may go on.
    #[inline]
    fn release(&mut self, from: LinkId, switch: usize, bytes: u16) -> bool {
        let ingress = &mut self.ingress[from.index()];
        // Headroom first, so that it is free again as early as can be.
        let of_headroom = ingress.headroom_used.min(u32::from(bytes));
        ingress.headroom_used -= of_headroom;
        let of_shared = u32::from(bytes) - of_headroom;
        ingress.shared -= of_shared;
        self.shared[switch].used -= u64::from(of_shared);
        if !ingress.stopped || ingress.headroom_used > 0 {
            return false;
        }
        let held = u64::from(ingress.shared);
        // A port that holds nothing may always send, however little of the buffer is left.
        held == 0 || held + u64::from(self.resume) <= self.threshold(&self.shared[switch])
    }

    /// Bytes that all switches hold.
    pub fn held(&self) -> u64 {
        let counted = self.ingress.iter().map(|port| u64::from(port.shared) + u64::from(port.headroom_used));
        self.apart + counted.sum::<u64>()
    }

    /// A data packet that no ingress port counts waits in a queue from now on.
    pub(crate) fn take_apart(&mut self, bytes: u16) {
        self.apart += u64::from(bytes);
    }

    /// Time for which data classes were paused until `now`, over all links.
    pub fn pause_time(&self, now: Time) -> Duration {
        let lasting = self.paused_since.iter().filter(|since| **since <= now);
        lasting.fold(self.pause_time, |sum, &since| sum + now.since(since))
    }
}

impl<O: Observer> Engine<'_, O> {
    /// Takes a data packet of `bytes` bytes into the lossless buffer of the switch that it came to by the port
    /// of `from`; false when there is no room, which fails the run.
    // Apart from its callers, which stay small for the fabrics without it.
    #[inline(never)]
    pub(crate) fn take_in(&mut self, node: NodeId, from: LinkId, bytes: u16) -> bool {
        let Some(pfc) = &mut self.pfc else { return true };
        let switch = (node.0 - self.host_count) as usize;
        match pfc.admit(from, switch, bytes) {
            Admission::Fits => true,
            Admission::Pause => {
                if !pfc.ingress[from.index()].stopped {
                    self.tell(from, true);
                }
                true
            }
            Admission::Overflow => {
                let ingress = pfc.ingress[from.index()];
                let link = self.topology.link_name(self.topology.reverse(from));
                self.fail(Failure::LosslessDrop(format!(
                    "a packet of {bytes} B from {link} found its headroom of {} B full ({} B of shared buffer)",
                    ingress.headroom, ingress.shared
                )));
                false
            }
        }
    }

    /// A data packet left the lossless buffer.
    #[inline(never)]
    pub(crate) fn give_back(&mut self, node: NodeId, from: u32, bytes: u16) {
        let Some(pfc) = &mut self.pfc else { return };
        if from == APART {
            pfc.apart -= u64::from(bytes);
            return;
        }
        let from = LinkId(from);
        if pfc.release(from, (node.0 - self.host_count) as usize, bytes) {
            self.tell(from, false);
        }
    }

    /// Has a pause frame sent on `link`, at once or as soon as the packet on the wire is over.
    fn tell(&mut self, link: LinkId, stop: bool) {
        let Some(pfc) = &mut self.pfc else { return };
        let ingress = &mut pfc.ingress[link.index()];
        ingress.stopped = stop;
        let port = &mut self.ports[link.index()];
        // A frame that waits says what holds when it goes out; when that is what the other end knows, none does.
        port.speaks = ingress.told != stop;
        if port.speaks {
            if port.is_free(self.now) {
                self.speak(link);
            } else {
                self.wake(link);
            }
        }
    }

    /// Sends the pause frame that waits at `link`, which is free. It is lost where the link goes down; random
    /// losses spare it, since one that is lost would not be said again.
    pub(crate) fn speak(&mut self, link: LinkId) {
        let Some(pfc) = &mut self.pfc else { return };
        let ingress = &mut pfc.ingress[link.index()];
        ingress.told = ingress.stopped;
        pfc.pause_frames += u64::from(ingress.stopped);
        let stop = ingress.stopped;
        let port = &mut self.ports[link.index()];
        if port.impaired {
            port.kind = self.faults.kind_at(link, self.now);
        }
        let acts_at = port.transmit_pause(&self.kinds[port.kind as usize], &mut self.scheduler, self.now);
        let peer = port.peer;
        if !port.impaired || !self.faults.is_cut(link, self.now, acts_at) {
            self.schedule_pause(peer, self.topology.reverse(link), stop, acts_at);
        }
    }

    /// A pause frame for `link` came in.
    pub(crate) fn handle_pause(&mut self, node: NodeId, link: LinkId, stop: bool) {
        if !stop {
            return self.go_on(node, link);
        }
        let Some(pfc) = &mut self.pfc else { return };
        if !self.ports[link.index()].paused {
            pfc.paused_since[link.index()] = self.now;
            self.ports[link.index()].paused = true;
            self.observer.paused(link, self.now, true);
            self.count_victims(link);
        }
    }

    /// `link` went down or is up again. While it is down nothing holds back what waits for it, which is lost as on
    /// any link that is down; once it is up, its two ends agree again on whether it is paused: no frame that was
    /// lost meanwhile may hold it for ever, and nothing may come that the headroom has no room for.
    pub(crate) fn settle_pause(&mut self, link: LinkId) {
        let back = self.topology.reverse(link);
        let up = self.faults.is_up(link, self.now) && self.faults.is_up(back, self.now);
        let Some(pfc) = &mut self.pfc else { return };
        let ingress = &mut pfc.ingress[back.index()];
        ingress.told = ingress.stopped && up;
        let (stop, node) = (ingress.told, self.topology.source(link));
        self.ports[back.index()].speaks = false;
        self.handle_pause(node, link, stop);
    }

    /// Takes the pause off `link`; false when there is none.
    pub(crate) fn unpause(&mut self, link: LinkId) -> bool {
        if !self.ports[link.index()].paused {
            return false;
        }
        if let Some(pfc) = &mut self.pfc {
            let since = std::mem::replace(&mut pfc.paused_since[link.index()], Time::NEVER);
            pfc.pause_time = pfc.pause_time + self.now.since(since);
        }
        self.ports[link.index()].paused = false;
        self.observer.paused(link, self.now, false);
        true
    }

    fn go_on(&mut self, node: NodeId, link: LinkId) {
        if !self.unpause(link) {
            return;
        }
        if node.0 < self.host_count {
            self.kick(node);
        } else if self.ports[link.index()].has_work() {
            if self.ports[link.index()].is_free(self.now) {
                self.serve_port(link);
            } else {
                self.wake(link);
            }
        }
    }

    /// Queue pairs that wait behind the pause of `link` though the way on from the pausing switch is free.
    fn count_victims(&mut self, link: LinkId) {
        if !self.observer.wants_victims(link) {
            return;
        }
        let port = &self.ports[link.index()];
        if port.peer.0 < self.host_count {
            return;
        }
        let mut held: Vec<u32> = port
            .data
            .iter(&self.pool)
            .filter(|(packet, _)| {
                self.route(port.peer, packet).is_some_and(|next| {
                    let next = &self.ports[next.index()];
                    next.data.is_empty() && !next.paused
                })
            })
            .map(|(packet, _)| packet.qp.0)
            .collect();
        held.sort_unstable();
        held.dedup();
        self.observer.held_up(link, self.now, held.len() as u32);
    }

    /// A cycle of paused links each of which waits for the next, by name: a deadlock. None when there is none.
    pub(crate) fn pause_cycle(&self) -> Option<Vec<String>> {
        self.pfc.as_ref()?;
        // 0: not seen; 1: on the way; 2: leads to no cycle.
        let mut seen = vec![0u8; self.ports.len()];
        let paused =
            (0..self.ports.len()).filter(|&l| self.ports[l].paused && !self.ports[l].data.is_empty());
        for start in paused {
            let mut way: Vec<(usize, Vec<usize>)> = Vec::new();
            if seen[start] == 0 {
                seen[start] = 1;
                way.push((start, self.waits_for(start)));
            }
            while let Some((link, next)) = way.last_mut() {
                match next.pop() {
                    None => {
                        seen[*link] = 2;
                        way.pop();
                    }
                    Some(next) if seen[next] == 1 => {
                        let from = way.iter().position(|(link, _)| *link == next).unwrap_or(0);
                        let names =
                            way[from..].iter().map(|(link, _)| self.topology.link_name(LinkId(*link as u32)));
                        return Some(names.collect());
                    }
                    Some(next) if seen[next] == 0 => {
                        seen[next] = 1;
                        way.push((next, self.waits_for(next)));
                    }
                    Some(_) => {}
                }
            }
        }
        None
    }

    /// The paused links that hold, at the switch that `link` leads to, packets which came by it.
    fn waits_for(&self, link: usize) -> Vec<usize> {
        let peer = self.ports[link].peer;
        if peer.0 < self.host_count {
            return Vec::new();
        }
        let from = self.topology.reverse(LinkId(link as u32)).0;
        let mut links: Vec<usize> = self
            .topology
            .links_of(peer)
            .map(|next| next as usize)
            .filter(|&next| {
                let next = &self.ports[next];
                next.paused && next.data.iter(&self.pool).any(|(_, its)| its == from)
            })
            .collect();
        links.reverse();
        links
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pfc(threshold: Threshold, size: u64) -> Pfc {
        let port = Ingress { shared: 0, headroom_used: 0, headroom: 3_000, stopped: false, told: false };
        Pfc {
            ingress: vec![port; 3],
            shared: vec![Shared { size, used: 0 }],
            apart: 0,
            threshold,
            resume: 1_000,
            paused_since: Vec::new(),
            pause_frames: 0,
            pause_time: Duration::ZERO,
        }
    }

    /// XOFF at 5,000 B: five packets of 1,000 B fit, the sixth goes to the headroom, which holds three. Headroom
    /// drains first; XON at 4,000 B.
    #[test]
    fn a_static_threshold_step_by_step() {
        let mut pfc = pfc(Threshold::Static(5_000), 100_000);
        let link = LinkId(1);
        let take = |pfc: &mut Pfc| pfc.admit(link, 0, 1_000);
        assert!((0..5).all(|_| take(&mut pfc) == Admission::Fits));
        assert!((0..3).all(|_| take(&mut pfc) == Admission::Pause));
        assert_eq!(take(&mut pfc), Admission::Overflow);
        pfc.ingress[1].stopped = true;
        assert_eq!((pfc.held(), pfc.shared[0].used), (8_000, 5_000));
        let goes_on: Vec<bool> = (0..8).map(|_| pfc.release(link, 0, 1_000)).collect();
        // After three the headroom is empty, but 5,000 B are above 4,000 B.
        assert_eq!(goes_on, [false, false, false, true, true, true, true, true]);
        assert_eq!((pfc.held(), pfc.shared[0].used), (0, 0));
    }

    /// Alpha 1/2 of 9,000 B: a port that is alone may hold x <= (9,000 - x)/2 before each packet: 0 <= 4,500,
    /// 1,000+1,000 <= 4,000, 3,000 <= 3,500, 4,000 > 3,000. A second port then finds (9,000 - 3,000)/2 = 3,000:
    /// 1,000 fits, 2,000 <= 2,500 fits, 3,000 > 2,000 does not.
    #[test]
    fn a_dynamic_threshold_follows_what_is_left() {
        let mut pfc = pfc(Threshold::Dynamic(32_768), 9_000);
        let fits = |pfc: &mut Pfc, link| pfc.admit(LinkId(link), 0, 1_000) == Admission::Fits;
        assert_eq!([0; 4].map(|_| fits(&mut pfc, 1)), [true, true, true, false]);
        assert_eq!([0; 3].map(|_| fits(&mut pfc, 2)), [true, true, false]);
        // The first holds 3,000 B and its threshold is 2,000 B by now; once it is empty it may go on even if the
        // threshold is below `resume`.
        pfc.ingress[1].stopped = true;
        assert!(!pfc.release(LinkId(1), 0, 1_000));
        assert!(!pfc.release(LinkId(1), 0, 1_000));
    }
}
