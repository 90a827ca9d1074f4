//! Links: what those of one rate and latency have in common.

use crate::queue::FullQueue;
use crate::spec::FabricSpec;
use anabranch_base::{Bytes, Duration, LinkId, Rate};
use anabranch_fabric::Topology;
use anabranch_proto::PathFacts;

/// A pause frame on the wire (IEEE 802.1Qbb): the smallest Ethernet frame.
pub const PAUSE_FRAME_BYTES: u16 = 64;

/// What links of one rate and latency have in common.
#[derive(Clone, Debug)]
pub struct LinkKind {
    /// Bits per second.
    pub rate: Rate,
    /// Propagation, and the latency of the switch that the link leads to.
    pub delay: Duration,
    /// Propagation alone.
    pub latency: Duration,
    /// When a switch's queue for it marks.
    pub marking: Marking,
    /// What packets of the two usual sizes (a full one, an ACK) have in common.
    size_classes: [SizeClass; 2],
}

/// Packets of one size on links of one rate.
#[derive(Clone, Copy, Debug)]
pub struct SizeClass {
    bytes: u16,
    /// The time that one occupies the link.
    pub serialisation: Duration,
    /// The FIFO queue of events for ports that free up after this time.
    pub delay_class: DelayClass,
}

/// Which of a node's FIFO queues of events (not of packets) an event of a port that frees up goes to: those in one queue
/// come after the same delay, so they come due in the order of pushing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayClass(pub u8);

impl DelayClass {
    /// Most lines. Delays beyond that are [`DelayClass::NONE`].
    pub const MAX: usize = 6;
    /// No line: any delay.
    pub const NONE: DelayClass = DelayClass(u8::MAX);
}

impl LinkKind {
    /// What a packet of `bytes` bytes has in common with others of its size.
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
}

/// The kinds of links of a fabric, made as they are met.
pub struct LinkKindTable<'a> {
    /// The kinds so far.
    pub kinds: Vec<LinkKind>,
    keys: Vec<(Rate, Duration, Duration)>,
    /// The delay of each link.
    delays: Vec<Duration>,
    sizes: [u16; 2],
    fabric: &'a FabricSpec,
    facts: &'a PathFacts,
}

impl<'a> LinkKindTable<'a> {
    /// No kinds yet; packets of the two `sizes` (a full one, an ACK) are the usual ones, and queues mark as `fabric`
    /// says.
    pub fn new(sizes: [u16; 2], fabric: &'a FabricSpec, facts: &'a PathFacts) -> Self {
        LinkKindTable { kinds: Vec::new(), keys: Vec::new(), delays: Vec::new(), sizes, fabric, facts }
    }

    /// The kind of `link`.
    pub fn kind(&mut self, topology: &Topology, link: LinkId) -> u16 {
        self.kind_at_rate(topology, link, topology.ports[link.index()].rate)
    }

    /// The kind of `link` when it runs at `rate`.
    pub fn kind_at_rate(&mut self, topology: &Topology, link: LinkId, rate: Rate) -> u16 {
        let port = &topology.ports[link.index()];
        let switch_latency = topology.switch(port.peer).map_or(Duration::ZERO, |switch| switch.latency);
        let key = (rate, port.latency, switch_latency);
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
            delay: port.latency + switch_latency,
            latency: port.latency,
            marking: marking(self.fabric, self.facts, rate),
            size_classes,
        });
        u16::try_from(self.keys.len() - 1).expect("a fabric has fewer than 65,536 kinds of links")
    }

    fn delay_class(&mut self, delay: Duration) -> DelayClass {
        if let Some(line) = self.delays.iter().position(|known| *known == delay) {
            return DelayClass(line as u8);
        }
        if self.delays.len() == DelayClass::MAX {
            return DelayClass::NONE;
        }
        self.delays.push(delay);
        DelayClass(self.delays.len() as u8 - 1)
    }
}

/// When the queues of a link of `rate` mark.
fn marking(fabric: &FabricSpec, facts: &PathFacts, rate: Rate) -> Marking {
    let step = fabric.ecn_from.iter().rev().find(|step| step.rate <= rate);
    let (kmin, kmax) = step.map_or((fabric.ecn_kmin, fabric.ecn_kmax), |step| (step.kmin, step.kmax));
    let queue = fabric.queue.map(|queue| queue.on(facts));
    Marking {
        kmin: clip(kmin.on(facts, queue)),
        kmax: clip(kmax.on(facts, queue)),
        pmax: (fabric.ecn_pmax * 4_294_967_296.0) as u64,
    }
}

/// Thresholds that no queue reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unmarked {
    /// Where in a scheme they are: `fabric.ecn_kmin` or `fabric.ecn_from`.
    pub parameter: &'static str,
    /// The lower one.
    pub kmin: Bytes,
    /// On links of this rate.
    pub rate: Rate,
}

/// The links of `topology` whose queues never mark, as their thresholds are not below what is left in a full queue when
/// a full packet leaves it; none where all do, and where no queue has a limit of its own.
pub fn unmarked(fabric: &FabricSpec, topology: &Topology, facts: &PathFacts) -> Option<Unmarked> {
    // A queue that is longer than the engine counts never fills.
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
        let kmin = marking(fabric, facts, rate).kmin;
        (kmin >= left).then(|| Unmarked { parameter, kmin: Bytes(u64::from(kmin)), rate })
    };
    rates.into_iter().find_map(of)
}

fn clip(bytes: Bytes) -> u32 {
    u32::try_from(bytes.0).unwrap_or(u32::MAX)
}

/// How much a port's queues hold, and what happens to the rest.
#[derive(Clone, Copy, Debug)]
pub struct QueueLimits {
    /// Bytes of data; no limit of its own where the buffer is shared.
    pub data: u32,
    /// Bytes of control.
    pub control: u32,
    /// Size of a trimmed packet; none where switches drop.
    pub trimmed_bytes: Option<u16>,
    /// Only trimmed packets are control packets.
    pub acks_with_data: bool,
    /// Which packet a full data queue gives up.
    pub full: FullQueue,
}

impl QueueLimits {
    /// The limits of a scheme on a fabric. `header` is what trimming leaves of a packet.
    pub fn new(fabric: &FabricSpec, facts: &PathFacts, header: Bytes) -> Self {
        let own = fabric.queue.filter(|_| fabric.shared_buffer.0 == 0);
        QueueLimits {
            data: own.map_or(u32::MAX, |queue| clip(queue.on(facts))),
            control: clip(fabric.control_queue.on(facts)),
            trimmed_bytes: fabric.trim.then_some(header.0 as u16),
            acks_with_data: fabric.acks_with_data,
            full: fabric.full_queue,
        }
    }
}

/// When a queue marks: not at or below `kmin`, always above `kmax`, with a linearly rising probability between (RED on the
/// instantaneous length that a packet leaves behind, without averaging).
#[derive(Clone, Copy, Debug)]
pub struct Marking {
    /// Bytes.
    pub kmin: u32,
    /// Bytes.
    pub kmax: u32,
    /// Marking probability just below `kmax`, in units of 2^-32.
    pub pmax: u64,
}

impl Marking {
    /// Whether a packet that leaves `queued` bytes behind is marked.
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
