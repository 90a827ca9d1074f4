//! The choice of NCCL among algorithms and protocols, by the time that its model predicts.
//!
//! Constants are those of NCCL 2.30 (`src/graph/tuning.cc` and the files under `src/tuning`), for Hopper GPUs with NVLink and
//! Intel processors. The factors of trees with LL and LL128 are those of 2.8, the factor 5/6 of NVLS that of 2.25. The speeds of channels are those
//! of its search for rings on such servers. Times are in µs and bandwidths in GB/s, 1,000 bytes per µs.

use super::Algorithm;
use super::layout::Layout;

/// The protocol of NCCL by which a rank knows that data have arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Half of the bytes are flags.
    Ll,
    /// A line of 128 B has 8 B of flags.
    Ll128,
    /// Flags are apart from the data.
    Simple,
}

impl Protocol {
    /// Every protocol.
    pub const ALL: [Protocol; 3] = [Protocol::Ll, Protocol::Ll128, Protocol::Simple];

    /// The bytes that are sent for so many bytes of data.
    pub fn sent(self, bytes: u64) -> u64 {
        match self {
            Protocol::Ll => bytes.saturating_mul(2),
            Protocol::Ll128 => bytes.saturating_add(bytes.div_ceil(120).saturating_mul(8)),
            Protocol::Simple => bytes,
        }
    }
}

/// A cluster as NCCL's model sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cluster {
    /// The number of ranks.
    pub ranks: u32,
    /// The number of servers.
    pub nodes: u32,
    /// The bandwidth of all channels of a server together, over the network.
    pub network: f64,
    /// The bandwidth of a GPU's NVLink that counts.
    pub nvlink: f64,
    /// Whether the NVLink switch reduces.
    pub switch: bool,
}

/// The speeds that channels may have.
const SPEEDS: [f64; 17] =
    [48.0, 45.0, 42.0, 40.0, 30.0, 24.0, 22.0, 20.0, 17.5, 15.0, 12.0, 6.0, 3.0, 2.4, 1.2, 0.24, 0.12];
/// The channels that use a NIC.
const CHANNELS_PER_NIC: f64 = 2.0;
/// The share of NVLink's rate that counts: 20.6 of 25 GB/s a link.
const NVLINK_SHARE: f64 = 20.6 / 25.0;
/// The most bandwidth with LL: in one server, on two, and on more.
const LL_MOST: [f64; 3] = [141.0, 39.0, 20.4];
/// The bandwidth of trees beside that of rings.
const TREE_SHARE: f64 = 0.92;
/// The share of a tree's bandwidth for powers of two from 64 B on, with LL, LL128 and Simple.
const TREE_SHARES: [[f64; 24]; 3] = [
    [
        1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.7, 0.7, 0.7, 0.7, 0.6, 0.5, 0.4, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0,
        1.0, 1.0, 1.0, 1.0,
    ],
    [
        1.0, 1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.8, 0.8, 0.7, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.8, 0.9, 0.9, 0.9,
        0.9, 1.0, 1.0, 1.0,
    ],
    [
        0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.8, 0.7, 0.6, 0.6, 0.5, 0.5, 0.5, 0.5, 0.6, 0.7, 0.8, 0.7, 0.7,
        0.8, 0.9, 0.9, 0.9,
    ],
];

impl Cluster {
    /// The cluster of a layout.
    pub fn of(layout: &Layout) -> Self {
        let [nic, nvlink] = layout.rates().map(|rate| rate.0 as f64 / 8e9);
        let fits = |speed: &&f64| **speed * CHANNELS_PER_NIC <= nic;
        let speed = SPEEDS.iter().find(fits).copied().unwrap_or(nic / CHANNELS_PER_NIC);
        Cluster {
            ranks: layout.ranks(),
            nodes: layout.servers(),
            network: f64::from(layout.rails()) * CHANNELS_PER_NIC * speed,
            nvlink: nvlink * NVLINK_SHARE,
            switch: layout.has_switch(),
        }
    }

    /// The predicted time of an AllReduce in µs. `None` for what NCCL does not do: NVLS with other protocols than Simple, over
    /// several servers, or without a switch that reduces.
    pub fn allreduce_us(&self, algorithm: Algorithm, protocol: Protocol, bytes: u64) -> Option<f64> {
        let data = bytes as f64 / 1e3;
        let (latency, bandwidth) = match algorithm {
            Algorithm::AllreduceRing => self.ring(protocol),
            Algorithm::AllreduceDoubleBinaryTree => self.tree(protocol, bytes),
            Algorithm::AllreduceHierarchical
                if protocol == Protocol::Simple && self.switch && self.nodes == 1 =>
            {
                (25.0, self.nvlink * 0.85 * 5.0 / 6.0)
            }
            _ => return None,
        };
        Some(latency + data / bandwidth)
    }

    fn bus(&self) -> f64 {
        if self.nodes > 1 { self.network } else { self.nvlink }
    }

    fn ll_most(&self) -> f64 {
        LL_MOST[(self.nodes as usize).clamp(1, 3) - 1]
    }

    /// The latency and the bandwidth of rings.
    fn ring(&self, protocol: Protocol) -> (f64, f64) {
        let (steps, between) = (2 * (self.ranks - 1), 2 * (self.nodes - 1));
        let (base, nvlink, network, overhead) = match protocol {
            Protocol::Ll => (6.6, 0.6, 2.7, 1.0),
            Protocol::Ll128 => (14.0, 1.9, 4.0, 1.0),
            Protocol::Simple => (8.4, 3.4, 14.0, 3.0_f64),
        };
        let latency = base + f64::from(steps - between) * overhead.max(nvlink) + f64::from(between) * network;
        // The plateau of rings over several servers.
        let plateau = if protocol == Protocol::Simple && self.nodes > 1 { 1.4 } else { 1.0 };
        let bus = match protocol {
            Protocol::Ll => self.ll_most().min(self.bus() / 2.0),
            Protocol::Ll128 => self.bus() * 0.92,
            Protocol::Simple => self.bus(),
        };
        (latency * plateau, bus * f64::from(self.ranks) / f64::from(steps))
    }

    /// The latency and the bandwidth of trees.
    fn tree(&self, protocol: Protocol, bytes: u64) -> (f64, f64) {
        let (base, nvlink, network) = match protocol {
            Protocol::Ll => (6.8, 0.6, 5.0),
            Protocol::Ll128 => (14.0, 1.25, 8.5),
            Protocol::Simple => (8.4, 4.0, 14.0),
        };
        let within = f64::from(self.ranks / self.nodes - 1) * nvlink;
        let latency = base + 2.0 * (within + f64::from(self.nodes.ilog2()) * network);
        let bus = self.bus() * TREE_SHARE;
        let (shares, bus) = match protocol {
            Protocol::Ll => (&TREE_SHARES[0], self.ll_most().min(bus / 3.8)),
            Protocol::Ll128 => {
                (&TREE_SHARES[1], bus * if self.nodes == 1 { 7.0 / 9.0 } else { 120.0 / 128.0 })
            }
            Protocol::Simple => (&TREE_SHARES[2], bus),
        };
        let share = (bytes >> 6).checked_ilog2().and_then(|power| shares.get(power as usize)).unwrap_or(&1.0);
        (latency, bus * share / 2.0)
    }

    /// The algorithm and the protocol with the least predicted time for an AllReduce.
    pub fn choose_allreduce(&self, bytes: u64) -> (Algorithm, Protocol) {
        let algorithms = [
            Algorithm::AllreduceRing,
            Algorithm::AllreduceDoubleBinaryTree,
            Algorithm::AllreduceHierarchical,
        ];
        let all =
            algorithms.iter().flat_map(|algorithm| Protocol::ALL.map(|protocol| (*algorithm, protocol)));
        let timed = all.filter_map(|(algorithm, protocol)| {
            Some((self.allreduce_us(algorithm, protocol, bytes)?, algorithm, protocol))
        });
        let least = timed.min_by(|(one, ..), (other, ..)| one.total_cmp(other));
        least.map_or((Algorithm::AllreduceRing, Protocol::Simple), |(_, algorithm, protocol)| {
            (algorithm, protocol)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_base::Rate;

    /// Two servers of eight H100, 16 channels of 24 GB/s.
    fn two_servers() -> Cluster {
        let places = (0..16).map(|rank| (rank / 8, rank % 8));
        let rates = [Rate::from_gbps(400), Rate::from_gbps(3_600)];
        let cluster = Cluster::of(&Layout::of(places, 16, false, false).with_rates(rates));
        assert_eq!((cluster.ranks, cluster.nodes, cluster.network), (16, 2, 384.0));
        assert!((cluster.nvlink - 370.8).abs() < 1e-9);
        cluster
    }

    fn close(time: Option<f64>, expected: f64) {
        let time = time.unwrap();
        assert!((time - expected).abs() < 0.005, "{time} instead of {expected}");
    }

    #[test]
    fn the_times_of_rings_are_those_of_the_model() {
        let ring = |protocol, bytes| two_servers().allreduce_us(Algorithm::AllreduceRing, protocol, bytes);
        // 8.4 + 28 * 3.4 + 2 * 14 = 131.6, by 1.4; 384 * 16/30 = 204.8 GB/s.
        close(ring(Protocol::Simple, 1 << 30), 5_427.12);
        let busbw = (1_u64 << 30) as f64 / 1e3 / ring(Protocol::Simple, 1 << 30).unwrap()
            * Algorithm::AllreduceRing.bus_factor(16);
        close(Some(busbw), 370.96);
        close(ring(Protocol::Ll, 1 << 16), 43.15);
        close(ring(Protocol::Simple, 1 << 16), 184.56);
        // 14 + 28 * 1.9 + 2 * 4; 384 * 0.92 * 16/30.
        close(ring(Protocol::Ll128, 1 << 16), 75.2 + 65.536 / 188.416);
    }

    #[test]
    fn the_times_of_trees_are_those_of_the_model() {
        let tree = |protocol, bytes| {
            two_servers().allreduce_us(Algorithm::AllreduceDoubleBinaryTree, protocol, bytes)
        };
        // 6.8 + 2 (7 * 0.6 + 5); 64 KiB is the eleventh power of two from 64 B: 0.6 of min(39, 353.28 / 3.8) / 2.
        close(tree(Protocol::Ll, 1 << 16), 6.8 + 2.0 * (7.0 * 0.6 + 5.0) + 65.536 / (39.0 * 0.6 / 2.0));
        close(tree(Protocol::Simple, 1 << 30), 8.4 + 2.0 * (28.0 + 14.0) + 1_073_741.824 / (353.28 / 2.0));
    }

    #[test]
    fn small_sizes_take_ll_and_large_ones_simple() {
        let cluster = two_servers();
        assert_eq!(cluster.choose_allreduce(1 << 16).1, Protocol::Ll);
        assert_eq!(cluster.choose_allreduce(1 << 30), (Algorithm::AllreduceRing, Protocol::Simple));
        let one = Cluster { ranks: 8, nodes: 1, switch: true, ..cluster };
        assert_eq!(one.choose_allreduce(1 << 30), (Algorithm::AllreduceHierarchical, Protocol::Simple));
        assert_eq!(one.allreduce_us(Algorithm::AllreduceHierarchical, Protocol::Ll, 8), None);
    }

    #[test]
    fn protocols_send_their_flags() {
        assert_eq!(Protocol::ALL.map(|protocol| protocol.sent(240)), [480, 256, 240]);
    }
}
