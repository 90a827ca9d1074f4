//! Priority flow control: a lossless data class over a shared buffer.
//!
//! Bytes are accounted for each ingress port, in integers. A release never exceeds the charge, so that no counter
//! wraps.

use super::shared::{Shared, Threshold};
use crate::frame::UNCHARGED;
use crate::link::PAUSE_FRAME_BYTES;
use crate::network::off_by;
use crate::pause::PauseState;
use crate::spec::{PfcClass, PfcSpec};
use anabranch_base::{Bytes, Duration, LinkId, NodeId, Rate};
use anabranch_fabric::Topology;
use anabranch_proto::PathFacts;

/// The lossless class of a fabric before its first packet.
pub struct PfcPlan {
    /// The ingress headroom of each port, indexed by the number of the port's outgoing link.
    headrooms: Vec<u32>,
    /// The ingress threshold of each port, indexed by the number of the port's outgoing link.
    thresholds: Vec<Threshold>,
    /// For each switch, the bytes in the shared part of its buffer, and the number of its first outgoing link.
    switches: Vec<(u64, u32)>,
    resume: u32,
}

pub(super) struct SwitchPfc {
    ingress: Vec<Ingress>,
    shared: Shared,
    /// Queued bytes that are charged to no ingress port.
    uncharged: u64,
    resume: u32,
}

#[derive(Clone, Copy, Debug)]
struct Ingress {
    threshold: Threshold,
    /// The bytes of the port in the shared buffer.
    shared: u32,
    headroom_used: u32,
    headroom: u32,
    pause: PauseState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// The packet fits into the shared buffer.
    Fits,
    /// The packet fits into the headroom, and the sender must pause.
    Pause,
    /// The headroom has no room for the packet.
    Overflow,
}

/// An error of the PFC configuration, with a value that would be valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PfcError {
    /// A headroom is smaller than the number of bytes that can still arrive after the XOFF decision.
    #[error(
        "a headroom of {} is below what the link {link} can still deliver after XOFF, {} (without \
         fabric.pfc.headroom every port gets what its link needs)",
        .given.about(),
        .needed.about()
    )]
    Headroom {
        /// The link that needs the largest headroom.
        link: String,
        /// The configured headroom.
        given: Bytes,
        /// The smallest sufficient headroom.
        needed: Bytes,
    },
    /// The fabric has no switches of a configured class.
    #[error("this fabric has no switches of class {class:?}; it has {classes}")]
    Class {
        /// The configured class.
        class: String,
        /// The existing classes, with commas between them.
        classes: String,
        /// The last of the existing classes, which is at the top or the edge of the fabric.
        last: String,
    },
    /// The buffer of a switch leaves no byte to share beside its headrooms.
    #[error(
        "the headrooms of the ports of {switch} take {}, and its buffer of {} must be larger \
         (fabric.pfc.headroom_apart = true reserves them on top of the buffer)",
        .headrooms.about(),
        .buffer.about()
    )]
    Buffer {
        /// The switch that needs the largest buffer.
        switch: String,
        /// The configured buffer after scaling.
        buffer: Bytes,
        /// The sum of the switch's headrooms.
        headrooms: Bytes,
        /// A configured buffer that suffices, before scaling.
        needed: Bytes,
        /// Whether an entry of `fabric.pfc.at` gives the buffer.
        of_class: bool,
    },
}

impl PfcError {
    /// The path of the wrong parameter within the scheme.
    pub fn parameter(&self) -> &'static str {
        match self {
            PfcError::Headroom { .. } => "fabric.pfc.headroom",
            PfcError::Buffer { of_class: false, .. } => "fabric.pfc.buffer",
            PfcError::Class { .. } | PfcError::Buffer { .. } => "fabric.pfc.at",
        }
    }

    /// A headroom or buffer that suffices. None for an unknown class of switches.
    pub fn needed(&self) -> Option<Bytes> {
        match self {
            PfcError::Headroom { needed, .. } | PfcError::Buffer { needed, .. } => Some(*needed),
            PfcError::Class { .. } => None,
        }
    }
}

/// The bytes that can arrive at the end of `link` after the switch there has decided to send XOFF, including the packet
/// that triggers the decision.
///
/// The transmission of the triggering packet ended at a time `e`. The pause takes effect
/// `latency + switch latency + (full packet + pause frame at the rate back) + latency` after `e`, because the pause
/// frame may wait for a full packet. Packets that begin in this time have at most the bytes that the link carries in it
/// plus one full packet. The triggering packet is added. If clocks are off by `ppm` parts per million, the switch's
/// clock may be slow and the sender's fast.
pub fn headroom_needed(topology: &Topology, link: LinkId, facts: &PathFacts, ppm: u32) -> Bytes {
    let port = &topology.ports[link.index()];
    let back = &topology.ports[topology.reverse(link).index()];
    let pipeline = topology.switch(port.peer).map_or(Duration::ZERO, |switch| switch.latency);
    let frame = back.rate.time_for(facts.packet.0) + back.rate.time_for(u64::from(PAUSE_FRAME_BYTES));
    let window = port.latency + pipeline + frame + off_by(frame, ppm) + back.latency;
    let window = window + off_by(window, ppm);
    Bytes(port.rate.bytes_in(window) + 1 + 2 * facts.packet.0)
}

/// Checks that every headroom holds the bytes that its link can still deliver after XOFF.
///
/// # Errors
/// The link that needs the largest headroom, if its headroom is too small.
pub fn check_headrooms(
    spec: &PfcSpec,
    topology: &Topology,
    facts: &PathFacts,
    ppm: u32,
) -> Result<(), PfcError> {
    let Some(given) = spec.headroom.map(|size| size.on(&facts.of_port())) else { return Ok(()) };
    let into_switches = (0..topology.ports.len() as u32)
        .map(LinkId)
        .filter(|l| topology.switch(topology.ports[l.index()].peer).is_some());
    let most = into_switches
        .map(|link| (headroom_needed(topology, link, facts, ppm), std::cmp::Reverse(link)))
        .max()
        .filter(|(needed, _)| given < *needed);
    most.map_or(Ok(()), |(needed, link)| {
        Err(PfcError::Headroom { link: topology.link_name(link.0), given, needed })
    })
}

impl PfcPlan {
    /// The empty buffers of all switches.
    ///
    /// # Errors
    /// A buffer leaves no byte to share beside its headrooms, or `spec` names a class of switches that the fabric
    /// does not have. Only [`check_headrooms`] refuses headrooms that are too small.
    pub fn new(spec: &PfcSpec, topology: &Topology, facts: &PathFacts, ppm: u32) -> Result<Self, PfcError> {
        let clip = |bytes: Bytes| u32::try_from(bytes.0).unwrap_or(u32::MAX);
        check_classes(spec, topology)?;
        let facts = &facts.of_port();
        let mut all_headrooms = vec![0; topology.ports.len()];
        let mut thresholds = Vec::with_capacity(topology.ports.len());
        thresholds.resize(topology.port_base[topology.hosts as usize] as usize, Threshold::Static(0));
        let mut switches = Vec::with_capacity(topology.switches.len());
        let mut worst: Option<PfcError> = None;
        for node in (topology.hosts..topology.nodes()).map(NodeId) {
            let (mut rate, mut headrooms) = (0u64, 0u64);
            let class = class_of(spec, topology, node);
            for link in topology.links_of(node).map(LinkId) {
                rate += topology.ports[link.index()].rate.0;
                thresholds.push(threshold(spec, class, topology.ports[link.index()].rate, facts));
                let headroom = match spec.headroom {
                    Some(size) => size.on(facts),
                    None => headroom_needed(topology, topology.reverse(link), facts, ppm),
                };
                all_headrooms[link.index()] = clip(headroom);
                headrooms = headrooms.saturating_add(headroom.0);
            }
            let scaled = |bytes: u64, by: u64, of: u64| {
                u64::try_from(u128::from(bytes) * u128::from(by) / u128::from(of.max(1))).unwrap_or(u64::MAX)
            };
            let (buffer, least) = match (class, spec.buffer_rate) {
                (Some(class), _) => (class.buffer.0, headrooms.saturating_add(1)),
                (None, None) => (spec.buffer.0, headrooms.saturating_add(1)),
                (None, Some(whole)) => (
                    scaled(spec.buffer.0, rate, whole.0),
                    scaled(headrooms.saturating_add(1), whole.0, rate).saturating_add(1),
                ),
            };
            let within = if spec.headroom_apart { 0 } else { headrooms };
            match buffer.checked_sub(within).filter(|&left| left > 0) {
                Some(size) => switches.push((size, topology.port_base[node.index()])),
                None if worst.as_ref().and_then(PfcError::needed).is_none_or(|most| most.0 < least) => {
                    worst = Some(PfcError::Buffer {
                        switch: topology.node_name(node),
                        buffer: Bytes(buffer),
                        headrooms: Bytes(headrooms),
                        needed: Bytes(least),
                        of_class: class.is_some(),
                    });
                }
                None => {}
            }
        }
        if let Some(worst) = worst {
            return Err(worst);
        }
        Ok(PfcPlan { headrooms: all_headrooms, thresholds, switches, resume: clip(spec.resume.on(facts)) })
    }

    /// The largest total headroom of a switch.
    pub fn most_headroom(&self, topology: &Topology) -> Bytes {
        let of_port = |link: u32| u64::from(self.headrooms[link as usize]);
        let of_switch = |node: u32| topology.links_of(NodeId(node)).map(of_port).sum();
        Bytes((topology.hosts..topology.nodes()).map(of_switch).max().unwrap_or(0))
    }

    pub(super) fn switch(&self, index: u32, ports: usize) -> SwitchPfc {
        let (size, first) = self.switches[index as usize];
        let ingress = |(headroom, threshold): (&u32, &Threshold)| Ingress {
            threshold: *threshold,
            shared: 0,
            headroom_used: 0,
            headroom: *headroom,
            pause: PauseState::default(),
        };
        SwitchPfc {
            ingress: self.headrooms[first as usize..][..ports]
                .iter()
                .zip(&self.thresholds[first as usize..])
                .map(ingress)
                .collect(),
            shared: Shared { size, used: 0 },
            uncharged: 0,
            resume: self.resume,
        }
    }
}

fn check_classes(spec: &PfcSpec, topology: &Topology) -> Result<(), PfcError> {
    let classes: Vec<String> = (1..=topology.top_tier()).map(|tier| topology.tier_word(tier)).collect();
    let unknown = spec.at.iter().find(|entry| !classes.contains(&entry.switches));
    unknown.map_or(Ok(()), |entry| {
        let last = classes.last().cloned().unwrap_or_default();
        Err(PfcError::Class { class: entry.switches.clone(), classes: classes.join(", "), last })
    })
}

fn class_of<'s>(spec: &'s PfcSpec, topology: &Topology, node: NodeId) -> Option<&'s PfcClass> {
    let class = topology.tier_word(topology.switch(node)?.tier);
    spec.at.iter().rfind(|entry| entry.switches == class)
}

fn threshold(spec: &PfcSpec, class: Option<&PfcClass>, rate: Rate, facts: &PathFacts) -> Threshold {
    let of_class = class.and_then(|class| class.alpha);
    let by_rate = || spec.alpha_from.iter().rfind(|step| step.rate <= rate).map(|step| step.alpha);
    match (of_class, spec.threshold) {
        (None, Some(size)) => Threshold::Static(size.on(facts).0),
        (alpha, _) => {
            let alpha = alpha.or_else(by_rate).or(spec.alpha).unwrap_or(1.0);
            Threshold::dynamic(alpha)
        }
    }
}

impl SwitchPfc {
    /// Whether no upstream sender is paused, and none would be paused if all arriving data waited at the same time.
    /// `arriving` has the bytes of that data for each ingress port.
    pub(super) fn is_calm(&self, arriving: &[u64]) -> bool {
        let used = self.shared.used + arriving.iter().sum::<u64>();
        let fullest = Shared { used: used.min(self.shared.size), ..self.shared };
        let is_calm = |(ingress, arriving): (&Ingress, &u64)| {
            let held = u64::from(ingress.shared) + arriving;
            ingress.pause == PauseState::default()
                && (*arriving == 0 || held <= fullest.threshold(ingress.threshold))
        };
        used <= self.shared.size && self.ingress.iter().zip(arriving).all(is_calm)
    }

    #[inline]
    pub(super) fn admit(&mut self, from: u16, bytes: u16) -> Admission {
        let ingress = &mut self.ingress[usize::from(from)];
        if self.shared.admit(ingress.threshold, ingress.shared, bytes) {
            ingress.shared += u32::from(bytes);
            return Admission::Fits;
        }
        if u64::from(ingress.headroom_used) + u64::from(bytes) > u64::from(ingress.headroom) {
            return Admission::Overflow;
        }
        ingress.headroom_used += u32::from(bytes);
        Admission::Pause
    }

    /// Releases `bytes` bytes that arrived at port `from`. Returns whether XON may be sent.
    #[inline]
    pub(super) fn release(&mut self, from: u16, bytes: u16) -> bool {
        if from == UNCHARGED {
            self.uncharged -= u64::from(bytes);
            return false;
        }
        let ingress = &mut self.ingress[usize::from(from)];
        // The bytes in the headroom are released first, so that the headroom is free again as early as possible.
        let of_headroom = ingress.headroom_used.min(u32::from(bytes));
        ingress.headroom_used -= of_headroom;
        let of_shared = u32::from(bytes) - of_headroom;
        ingress.shared -= of_shared;
        self.shared.used -= u64::from(of_shared);
        let ingress = *ingress;
        if !ingress.pause.stopped || ingress.headroom_used > 0 {
            return false;
        }
        let held = u64::from(ingress.shared);
        // An empty ingress port always sends XON, however little of the shared buffer is left. Otherwise its sender
        // could stay paused for ever.
        held == 0 || held + u64::from(self.resume) <= self.shared.threshold(ingress.threshold)
    }

    pub(super) fn pause(&mut self, port: u16) -> &mut PauseState {
        &mut self.ingress[usize::from(port)].pause
    }

    /// The headroom of a port, and the bytes of the port in the shared buffer.
    pub(super) fn of_port(&self, port: u16) -> (u32, u32) {
        let ingress = self.ingress[usize::from(port)];
        (ingress.headroom, ingress.shared)
    }

    pub(super) fn held(&self) -> u64 {
        let counted = self.ingress.iter().map(|port| u64::from(port.shared) + u64::from(port.headroom_used));
        self.uncharged + counted.sum::<u64>()
    }

    pub(super) fn add_uncharged(&mut self, bytes: u16) {
        self.uncharged += u64::from(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::AlphaStep;
    use anabranch_fabric::{CrossDcSpec, TopologySpec, build};
    use anabranch_proto::Size;

    fn pfc(threshold: Threshold, size: u64) -> SwitchPfc {
        let port =
            Ingress { threshold, shared: 0, headroom_used: 0, headroom: 3_000, pause: PauseState::default() };
        SwitchPfc { ingress: vec![port; 3], shared: Shared { size, used: 0 }, uncharged: 0, resume: 1_000 }
    }

    /// The XOFF threshold is 5,000 B: five packets of 1,000 B fit, and the sixth causes XOFF and goes into the
    /// headroom, which holds three packets. The headroom drains first, and XON is sent at 4,000 B, which is `resume`
    /// (1,000 B) below the threshold.
    #[test]
    fn a_static_threshold_step_by_step() {
        let mut pfc = pfc(Threshold::Static(5_000), 100_000);
        let link = 1;
        let take = |pfc: &mut SwitchPfc| pfc.admit(link, 1_000);
        assert!((0..5).all(|_| take(&mut pfc) == Admission::Fits));
        assert!((0..3).all(|_| take(&mut pfc) == Admission::Pause));
        assert_eq!(take(&mut pfc), Admission::Overflow);
        pfc.ingress[1].pause.stopped = true;
        assert_eq!((pfc.held(), pfc.shared.used), (8_000, 5_000));
        let goes_on: Vec<bool> = (0..8).map(|_| pfc.release(link, 1_000)).collect();
        // After three releases the headroom is empty, but the port still holds 5,000 B, which is above 4,000 B.
        assert_eq!(goes_on, [false, false, false, true, true, true, true, true]);
        assert_eq!((pfc.held(), pfc.shared.used), (0, 0));
    }

    /// With an alpha of 1/2 and a buffer of 9,000 B, a packet fits if its port then holds at most half of the bytes
    /// that were free before. All other packets go into the headroom. At the first port, 1,000 <= 4,500, 2,000 <= 4,000
    /// and 3,000 <= 3,500 fit, and 4,000 > 3,000 does not. At the second port, 1,000 <= 3,000 and 2,000 <= 2,500 fit,
    /// and 3,000 > 2,000 does not.
    #[test]
    fn a_dynamic_threshold_follows_what_is_left() {
        let mut pfc = pfc(Threshold::Dynamic(32_768), 9_000);
        let fits = |pfc: &mut SwitchPfc, link| pfc.admit(link, 1_000) == Admission::Fits;
        assert_eq!([0; 4].map(|_| fits(&mut pfc, 1)), [true, true, true, false]);
        assert_eq!([0; 3].map(|_| fits(&mut pfc, 2)), [true, true, false]);
        // The first port holds 3,000 B of the shared buffer and 1,000 B of headroom. The first release empties the
        // headroom. After the second release the port holds 2,000 B. Its threshold is then 2,500 B, and XON requires
        // at most 1,500 B, which is `resume` (1,000 B) less.
        pfc.ingress[1].pause.stopped = true;
        assert!(!pfc.release(1, 1_000));
        assert!(!pfc.release(1, 1_000));
    }

    /// On links of 400 Gb/s and 500 ns, 50,000 B are in flight during both latencies. The pause frame has 64 B and
    /// waits for a packet of 4,174 B, and the sender has begun another packet: 58,412 B arrive after the decision. The
    /// packet that causes the decision is in the headroom, too, and a byte is added for rounding.
    #[test]
    fn a_headroom_by_hand() {
        let rate = Rate::from_gbps(400);
        let spec = TopologySpec::Dumbbell {
            hosts: 2,
            link: rate,
            trunk: rate,
            link_latency: Duration::from_ns(500),
            trunk_latency: Duration::from_ns(500),
            switch_latency: Duration::ZERO,
        };
        let topology = build(&spec, None).unwrap();
        let facts = PathFacts {
            base_rtt: Duration::from_us(3),
            bdp: Bytes(150_000),
            packet: Bytes(4_174),
            line_rate: rate,
            port_rate: rate,
            queue: Bytes(1_000_000),
        };
        let after_decision = 2 * 25_000 + 64 + 2 * 4_174;
        assert_eq!(after_decision, 58_412);
        assert_eq!(headroom_needed(&topology, LinkId(0), &facts, 0), Bytes(after_decision + 4_174 + 1));
    }

    /// Hosts and ToRs have 100 Gb/s, edge switches 400 Gb/s, and a long link 1.6 Tb/s. The value of alpha depends on
    /// the rate and on the class of switch.
    #[test]
    fn thresholds_follow_the_rate_of_the_port_and_the_class_of_the_switch() {
        let us = Duration::from_us(1);
        let spec = TopologySpec::CrossDc(CrossDcSpec {
            dcs: 2,
            tors: 1,
            leaves: 1,
            hosts_per_tor: 2,
            link: Rate::from_gbps(100),
            link_latency: us,
            esw_link: Rate::from_gbps(400),
            esw_link_latency: us,
            wan_link: Rate::from_gbps(1600),
            wan_latency: us * 500,
            switch_latency: us,
        });
        let topology = build(&spec, None).unwrap();
        let facts = PathFacts {
            base_rtt: Duration::from_us(8),
            bdp: Bytes(100_000),
            packet: Bytes(1_048),
            line_rate: Rate::from_gbps(100),
            port_rate: Rate::from_gbps(100),
            queue: Bytes(1_000_000),
        };
        let step = |gbps, alpha| AlphaStep { rate: Rate::from_gbps(gbps), alpha };
        let spec = PfcSpec {
            buffer: Bytes(16_000_000),
            headroom_apart: true,
            buffer_rate: None,
            alpha: Some(0.125),
            alpha_from: vec![step(200, 0.25), step(400, 0.5)],
            at: Vec::new(),
            threshold: None,
            resume: Size::Packets(2.0),
            headroom: None,
            watchdog: None,
            watchdog_poll: Duration::from_us(200_000),
            watchdog_detection: Duration::from_us(200_000),
            watchdog_restoration: Duration::from_us(200_000),
        };
        let thresholds = |spec: &PfcSpec, name: &str| -> Vec<u64> {
            let mut switches = (topology.hosts..topology.nodes()).map(NodeId);
            let node = switches.find(|node| topology.node_name(*node) == name).unwrap();
            let ports = topology.links_of(node).len();
            let pfc =
                PfcPlan::new(spec, &topology, &facts, 0).unwrap().switch(node.0 - topology.hosts, ports);
            let mut all: Vec<u64> =
                pfc.ingress.iter().map(|port| pfc.shared.threshold(port.threshold)).collect();
            all.sort_unstable();
            all
        };
        assert_eq!(thresholds(&spec, "tor:0"), [2_000_000; 3]);
        assert_eq!(thresholds(&spec, "leaf:0"), [2_000_000, 8_000_000]);
        assert_eq!(thresholds(&spec, "esw:0"), [8_000_000, 8_000_000]);
        let class = |alpha| PfcClass { switches: "esw".to_owned(), buffer: Bytes(128_000_000), alpha };
        let deep = PfcSpec { at: vec![class(None)], ..spec.clone() };
        assert_eq!(thresholds(&deep, "leaf:0"), [2_000_000, 8_000_000]);
        assert_eq!(thresholds(&deep, "esw:1"), [64_000_000, 64_000_000]);
        let shared = PfcSpec { at: vec![class(Some(0.125))], ..spec.clone() };
        assert_eq!(thresholds(&shared, "esw:0"), [16_000_000, 16_000_000]);
        let nowhere = PfcClass { switches: "spine".to_owned(), ..class(None) };
        let error = PfcPlan::new(&PfcSpec { at: vec![nowhere], ..spec }, &topology, &facts, 0).err().unwrap();
        assert_eq!(
            error.to_string(),
            "this fabric has no switches of class \"spine\"; it has tor, leaf, esw"
        );
    }
}
