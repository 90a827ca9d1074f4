//! Links: kinds of links with the same rate and latency, and the limits of their queues.

use crate::queue::FullQueue;
use crate::spec::FabricSpec;
use anabranch_base::{Bytes, Duration, LinkId, Rate, Time};
use anabranch_fabric::Topology;
use anabranch_proto::PathFacts;

/// The size of a pause frame on the wire (IEEE 802.1Qbb), the smallest Ethernet frame.
pub const PAUSE_FRAME_BYTES: u16 = 64;

/// The properties of links of one rate and latency.
#[derive(Clone, Debug)]
pub struct LinkKind {
    pub rate: Rate,
    /// The rate of the link without faults.
    pub usual_rate: Rate,
    /// The propagation delay plus the latency of the switch at the end of the link.
    pub delay: Duration,
    /// The propagation delay alone.
    pub latency: Duration,
    /// The ECN marking of a switch's queue in front of the link.
    pub marking: Marking,
    /// The most bytes of data in a switch's queue for the link. It is `u32::MAX` if the queue has no limit of its
    /// own, because the buffer is shared or PFC is used.
    pub data_limit: u32,
    /// The size classes for full packets and for ACKs.
    size_classes: [SizeClass; 2],
}

#[derive(Clone, Copy, Debug)]
pub struct SizeClass {
    bytes: u16,
    /// The time that a packet occupies the link.
    pub serialisation: Duration,
    /// The class of the delay after which the port becomes free.
    pub delay_class: DelayClass,
}

/// The delay after which a port becomes free, as the index of a FIFO queue of such events at a node. With exact
/// clocks, all events in one queue have the same delay, so they are due in the order in which they were pushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayClass(pub u8);

impl DelayClass {
    /// The largest number of classes. Any further delays are [`DelayClass::NONE`].
    pub const MAX: usize = 6;
    /// A delay without a FIFO queue of its own.
    pub const NONE: DelayClass = DelayClass(u8::MAX);
}

impl LinkKind {
    #[inline]
    pub fn class(&self, bytes: u16) -> SizeClass {
        if bytes == self.size_classes[0].bytes {
            self.size_classes[0]
        } else if bytes == self.size_classes[1].bytes {
            self.size_classes[1]
        } else {
            SizeClass {
                bytes,
                serialisation: self.rate.time_for(u64::from(bytes)),
                delay_class: DelayClass::NONE,
            }
        }
    }

    /// The times of a packet of `bytes` bytes whose transmission begins at `start`, on a healthy link and with an exact
    /// clock.
    #[inline]
    pub fn hop(&self, start: Time, bytes: u16) -> HopTimes {
        let SizeClass { serialisation, delay_class, .. } = self.class(bytes);
        let leaves = start + serialisation;
        HopTimes { leaves, acts: leaves + self.delay, delay_class }
    }
}

/// The times of a packet on a link, store and forward.
pub struct HopTimes {
    /// The time at which the packet's last bit leaves.
    pub leaves: Time,
    /// The time from which the next node may act on the packet.
    pub acts: Time,
    /// The class of the delay until `leaves`.
    pub delay_class: DelayClass,
}

/// The kinds of links of a fabric. A kind is created when it is first used.
pub struct LinkKindTable<'a> {
    pub kinds: Vec<LinkKind>,
    keys: Vec<([Rate; 2], Duration, Duration, bool)>,
    /// The delays for which nodes have a FIFO queue ([`DelayClass`]).
    delays: Vec<Duration>,
    sizes: [u16; 2],
    fabric: &'a FabricSpec,
    /// The facts about the path for a queue pair that uses a single port of its NIC. Sizes that `fabric` gives relative
    /// to the path, such as BDPs, follow from them.
    facts: PathFacts,
}

impl<'a> LinkKindTable<'a> {
    /// An empty table. `sizes` are the sizes of full packets and of ACKs.
    pub fn new(sizes: [u16; 2], fabric: &'a FabricSpec, facts: &PathFacts) -> Self {
        let facts = facts.of_port();
        LinkKindTable { kinds: Vec::new(), keys: Vec::new(), delays: Vec::new(), sizes, fabric, facts }
    }

    pub fn kind(&mut self, topology: &Topology, link: LinkId) -> u16 {
        self.kind_at_rate(topology, link, topology.ports[link.index()].rate)
    }

    pub fn kind_at_rate(&mut self, topology: &Topology, link: LinkId, rate: Rate) -> u16 {
        let port = &topology.ports[link.index()];
        let switch_latency = topology.switch(port.peer).map_or(Duration::ZERO, |switch| switch.latency);
        let FabricSpec { last_hop_queue, last_hop_ecn, .. } = *self.fabric;
        let is_special = (last_hop_queue.is_some() || !last_hop_ecn) && topology.switch(port.peer).is_none();
        let rates = [rate, port.rate];
        let key = (rates, port.latency, switch_latency, is_special);
        if let Some(index) = self.keys.iter().position(|known| *known == key) {
            return index as u16;
        }
        self.keys.push(key);
        let size_classes = self.sizes.map(|bytes| {
            let serialisation = rate.time_for(u64::from(bytes));
            SizeClass { bytes, serialisation, delay_class: self.delay_class(serialisation) }
        });
        self.kinds.push(LinkKind {
            rate,
            usual_rate: port.rate,
            delay: port.latency + switch_latency,
            latency: port.latency,
            marking: if is_special && !last_hop_ecn {
                Marking::NEVER
            } else {
                marking(self.fabric, &self.facts, rates)
            },
            data_limit: data_limit(self.fabric, &self.facts, is_special, rates),
            size_classes,
        });
        u16::try_from(self.keys.len() - 1).expect("a fabric has fewer than 65,536 kinds of links")
    }

    fn delay_class(&mut self, delay: Duration) -> DelayClass {
        if let Some(class) = self.delays.iter().position(|known| *known == delay) {
            return DelayClass(class as u8);
        }
        if self.delays.len() == DelayClass::MAX {
            return DelayClass::NONE;
        }
        self.delays.push(delay);
        DelayClass(self.delays.len() as u8 - 1)
    }
}

/// The ECN marking and the most bytes of data of a traffic class's queues, for each of `kinds`. The settings of the
/// class are `fabric`.
pub fn queues_of_class(kinds: &[LinkKind], fabric: &FabricSpec, facts: &PathFacts) -> Vec<(Marking, u32)> {
    let facts = facts.of_port();
    let of = |kind: &LinkKind| {
        let rates = [kind.rate, kind.usual_rate];
        (marking(fabric, &facts, rates), data_limit(fabric, &facts, false, rates))
    };
    kinds.iter().map(of).collect()
}

/// The most bytes of data in a queue. `last_hop` tells whether the limit for links to hosts (`last_hop_queue`) applies
/// if there is one. The rates of the link are those with and without faults.
fn data_limit(fabric: &FabricSpec, facts: &PathFacts, last_hop: bool, rates: [Rate; 2]) -> u32 {
    let own = fabric.queue.filter(|_| fabric.shared_buffer.0 == 0);
    own.map_or(u32::MAX, |queue| {
        let queue = fabric.last_hop_queue.filter(|_| last_hop).unwrap_or(queue);
        let usual = queue.on(facts);
        let least = usual.min(facts.packet);
        clip(at_rate(fabric, usual, rates).max(least))
    })
}

/// The ECN marking of queues in front of a link with these rates, with and without faults.
fn marking(fabric: &FabricSpec, facts: &PathFacts, rates: [Rate; 2]) -> Marking {
    let [now, usual] = rates;
    let rate = if fabric.queues_follow_rate { usual } else { now };
    let step = fabric.ecn_from.iter().rev().find(|step| step.rate <= rate);
    let (kmin, kmax) = step.map_or((fabric.ecn_kmin, fabric.ecn_kmax), |step| (step.kmin, step.kmax));
    let queue = fabric.queue.map(|queue| queue.on(facts));
    Marking {
        kmin: clip(at_rate(fabric, kmin.on(facts, queue), rates)),
        kmax: clip(at_rate(fabric, kmax.on(facts, queue), rates)),
        pmax: (fabric.ecn_pmax * 4_294_967_296.0) as u64,
    }
}

/// The present value of a queue length that is `usual` without faults. The rates of the link are those with and without
/// faults.
fn at_rate(fabric: &FabricSpec, usual: Bytes, [rate, usual_rate]: [Rate; 2]) -> Bytes {
    if !fabric.queues_follow_rate || rate == usual_rate {
        return usual;
    }
    let scaled = u128::from(usual.0) * u128::from(rate.0) / u128::from(usual_rate.0.max(1));
    Bytes(u64::try_from(scaled).unwrap_or(u64::MAX))
}

/// ECN thresholds that no queue can reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unmarked {
    /// The name of the scheme's parameter: `fabric.ecn_kmin` or `fabric.ecn_from`.
    pub parameter: &'static str,
    /// The queue length up to which no packet is marked (Kmin).
    pub kmin: Bytes,
    /// The rate of the links.
    pub rate: Rate,
}

/// The slowest of the links whose queues, at a switch, never mark packets. Settings of the last hop are ignored. A
/// queue never marks if the bytes in a full queue, without one full packet, do not exceed the lower threshold. None if
/// all queues can mark, if they have no limit, or if the limit does not fit in 32 bits.
pub fn unmarked(fabric: &FabricSpec, topology: &Topology, facts: &PathFacts) -> Option<Unmarked> {
    // A queue whose limit does not fit in 32 bits never fills.
    let holds = fabric.longest_queue(facts)?.0;
    let left = u32::try_from(holds).ok()?.saturating_sub(clip(facts.packet));
    let from_switches =
        (0..topology.links()).map(LinkId).filter(|&link| topology.switch(topology.source(link)).is_some());
    let mut rates: Vec<Rate> = from_switches.map(|link| topology.ports[link.index()].rate).collect();
    rates.sort_unstable();
    rates.dedup();
    let of = |rate: Rate| {
        let by_step = fabric.ecn_from.iter().any(|step| step.rate <= rate);
        let parameter = if by_step { "fabric.ecn_from" } else { "fabric.ecn_kmin" };
        let kmin = marking(fabric, &facts.of_port(), [rate, rate]).kmin;
        (kmin >= left).then(|| Unmarked { parameter, kmin: Bytes(u64::from(kmin)), rate })
    };
    rates.into_iter().find_map(of)
}

fn clip(bytes: Bytes) -> u32 {
    u32::try_from(bytes.0).unwrap_or(u32::MAX)
}

#[derive(Clone, Copy, Debug)]
pub struct QueueLimits {
    /// The most bytes in a control queue.
    pub control: u32,
    /// The size of a trimmed packet. None if switches drop packets.
    pub trimmed_bytes: Option<u16>,
    /// Whether only trimmed packets use the control queue.
    pub acks_with_data: bool,
    /// The packet that a full data queue drops or trims.
    pub full: FullQueue,
}

impl QueueLimits {
    /// The limits of a scheme on a fabric. `trimmed` is the size of a trimmed packet.
    pub fn new(fabric: &FabricSpec, facts: &PathFacts, trimmed: Bytes) -> Self {
        QueueLimits {
            control: clip(fabric.control_queue.on(&facts.of_port())),
            trimmed_bytes: fabric.trim.then_some(trimmed.0 as u16),
            acks_with_data: fabric.acks_with_data,
            full: fabric.full_queue,
        }
    }
}

/// ECN marking (RED on the instantaneous queue length, without averaging). The queue length is taken when a packet
/// leaves, without that packet. Up to `kmin` no packet is marked, and above `kmax` each packet is marked. Between the
/// two thresholds, the probability rises linearly from 0 to `pmax`.
#[derive(Clone, Copy, Debug)]
pub struct Marking {
    /// The lower threshold in bytes.
    pub kmin: u32,
    /// The upper threshold in bytes.
    pub kmax: u32,
    /// The marking probability at `kmax`, in units of 2^-32.
    pub pmax: u64,
}

impl Marking {
    const NEVER: Marking = Marking { kmin: u32::MAX, kmax: u32::MAX, pmax: 0 };

    /// Whether a packet that leaves `queued` bytes behind is ECN-marked.
    #[inline]
    pub fn marks(&self, queued: u32, random: impl FnOnce() -> u32) -> bool {
        if queued <= self.kmin {
            return false;
        }
        if queued > self.kmax {
            return true;
        }
        u64::from(random()) * u64::from(self.kmax - self.kmin) < u64::from(queued - self.kmin) * self.pmax
    }
}
