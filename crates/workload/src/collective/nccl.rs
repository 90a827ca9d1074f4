//! The choice of an algorithm and a protocol in NCCL, by the time that NCCL's model predicts.
//!
//! Formulas and constants are those of NCCL 2.28 to 2.30 for Hopper GPUs with NVLink and Intel processors. They are
//! in `src/graph/tuning.cc` (from 2.30 on also in `src/tuning/ring.cc`, `tree.cc` and `nvls.cc`), and
//! `src/graph/search.cc` has the channel speeds. Times are in µs, and bandwidths in GB/s, which are 1,000 bytes per
//! µs.

use super::Algorithm;
use super::layout::Layout;

/// The protocol of NCCL, by which a rank detects that data has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// LL: half of the bytes are flags.
    Ll,
    /// LL128: a line of 128 B includes 8 B of flags.
    Ll128,
    /// Simple: flags are separate from the data.
    Simple,
}

impl Protocol {
    /// All protocols.
    pub const ALL: [Protocol; 3] = [Protocol::Ll, Protocol::Ll128, Protocol::Simple];

    /// The protocol's name in NCCL.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Ll => "LL",
            Protocol::Ll128 => "LL128",
            Protocol::Simple => "Simple",
        }
    }

    /// The number of bytes that are sent for `bytes` bytes of data.
    pub fn sent(self, bytes: u64) -> u64 {
        match self {
            Protocol::Ll => bytes.saturating_mul(2),
            Protocol::Ll128 => bytes.saturating_add(bytes.div_ceil(120).saturating_mul(8)),
            Protocol::Simple => bytes,
        }
    }
}

/// A cluster as NCCL's model describes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cluster {
    /// The number of ranks.
    pub ranks: u32,
    /// The number of servers.
    pub nodes: u32,
    /// The channels of rings and trees.
    pub channels: Channels,
    /// The channels of NVLS. In each server, every channel is led by a different GPU. None if the NVLink switch cannot
    /// reduce, or if there would be fewer than two channels.
    pub switched: Option<Channels>,
}

/// A number of channels with equal bandwidth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Channels {
    /// The number of channels.
    pub count: f64,
    /// The bandwidth of each channel in GB/s.
    pub speed: f64,
}

impl Channels {
    fn bandwidth(self) -> f64 {
        self.count * self.speed
    }
}

/// The possible speeds of channels over the network in GB/s (`sm90SpeedArrayInter`).
const NETWORK_SPEEDS: [f64; 17] =
    [48.0, 45.0, 42.0, 40.0, 30.0, 24.0, 22.0, 20.0, 17.5, 15.0, 12.0, 6.0, 3.0, 2.4, 1.2, 0.24, 0.12];
/// The possible speeds of channels within a server in GB/s (`sm90SpeedArrayIntra`).
const NVLINK_SPEEDS: [f64; 11] = [60.0, 50.0, 40.0, 30.0, 24.0, 20.0, 15.0, 12.0, 11.0, 6.0, 3.0];
/// The number of channels that use the same NIC.
const CHANNELS_PER_NIC: f64 = 2.0;
/// The largest bandwidth in GB/s with LL in one server, on two servers, and on more (`llMaxBws`).
const LL_MOST: [f64; 3] = [141.0, 39.0, 20.4];
/// The largest bandwidth in GB/s of a channel with LL128, for rings and for trees (`perChMaxRingLL128Bws`,
/// `perChMaxTreeLL128Bws`). Each has a value for one server, two servers, and more.
const LL128_MOST: [[f64; 3]; 2] = [[36.7; 3], [36.7, 36.7, 29.0]];
/// The largest bandwidth in GB/s of a tree channel in one server, on two servers, and on more (`perChMaxTreeBws`).
const TREE_MOST: [f64; 3] = [38.7, 41.4, 36.0];
/// The largest bandwidth in GB/s of an NVLS channel with trees between servers (`perChMaxNVLSTreeBws`), for one
/// server, two servers, and more.
const SWITCHED_MOST: [f64; 3] = [0.0, 57.7, 45.5];
/// The share of the channels' speed that NVLS reaches (`nvlsEfficiency`).
const SWITCHED_SHARE: f64 = 0.85;
/// The bandwidth of trees as a share of that of rings.
const TREE_SHARE: f64 = 0.92;
/// The correction of a tree's bandwidth (`treeCorrectionFactor`), for the protocols LL, LL128 and Simple. Each protocol
/// has one factor for each power of two from 64 B to 256 MiB.
const TREE_SHARES: [[f64; 23]; 3] = [
    [
        1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.7, 0.7, 0.7, 0.7, 0.6, 0.5, 0.4, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0,
        1.0, 1.0, 1.0,
    ],
    [
        1.0, 1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.8, 0.8, 0.7, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.8, 0.9, 0.9, 0.9,
        0.9, 1.0, 1.0,
    ],
    [
        0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.8, 0.7, 0.6, 0.6, 0.5, 0.5, 0.5, 0.5, 0.6, 0.7, 0.8, 0.7, 0.7,
        0.8, 0.9, 0.9,
    ],
];

/// The channels within a server whose GPUs have the NVLink bandwidth `nvlink` in GB/s. NCCL's search considers the
/// highest speed that fits and all speeds down to half of that speed. The search takes the speed with the largest
/// total bandwidth. If the channels are fast, each is then split into two channels of half the speed.
fn channels_in_server(nvlink: f64) -> Channels {
    let of = |speed: f64| Channels { count: libm::floor(nvlink / speed).max(1.0), speed };
    let first = NVLINK_SPEEDS.into_iter().find(|speed| *speed <= nvlink).unwrap_or(nvlink);
    let tried = NVLINK_SPEEDS.into_iter().filter(|speed| (first / 2.0..=first).contains(speed)).map(of);
    let most = tried.fold(of(first), |best, other| match other.bandwidth() > best.bandwidth() {
        true => other,
        false => best,
    });
    let is_fast = most.speed >= 50.0 || (most.speed >= 25.0 && most.count <= 4.0);
    match is_fast {
        true => Channels { count: most.count * 2.0, speed: most.speed / 2.0 },
        false => most,
    }
}

impl Cluster {
    /// The cluster of a layout. The layout's rate of NVLink must be the rate that NCCL assumes. NCCL assumes 20.6 GB/s
    /// for each Hopper link of 25 GB/s.
    pub fn of(layout: &Layout) -> Self {
        let [nic, nvlink] = layout.rates().map(|rate| rate.0 as f64 / 8e9);
        let (ranks, nodes) = (layout.ranks(), layout.servers());
        let over_network =
            |most: f64| NETWORK_SPEEDS.into_iter().find(|speed| *speed <= most).unwrap_or(most);
        let channels = match nodes {
            1 => channels_in_server(nvlink),
            _ => Channels {
                count: f64::from(layout.rails()) * CHANNELS_PER_NIC,
                speed: over_network(nic / CHANNELS_PER_NIC),
            },
        };
        // A channel uses twice its speed at the GPU that leads it, and once its speed at each other GPU.
        let gpus = f64::from(ranks / nodes);
        let most = nvlink / (gpus + 1.0);
        let switched = match nodes {
            1 => Channels {
                count: gpus,
                speed: NVLINK_SPEEDS.into_iter().find(|speed| *speed <= most).unwrap_or(most),
            },
            _ => Channels { count: gpus.min(f64::from(layout.rails())), speed: over_network(most.min(nic)) },
        };
        let has_switch = layout.has_switch() && switched.count >= 2.0;
        Cluster { ranks, nodes, channels, switched: has_switch.then_some(switched) }
    }

    /// The predicted time in µs of an AllReduce by rings, double binary trees, or NVLS (`AllreduceHierarchical`).
    /// `None` for all other algorithms, and for NVLS if the protocol is not Simple or if there are no NVLS channels.
    pub fn allreduce_us(&self, algorithm: Algorithm, protocol: Protocol, bytes: u64) -> Option<f64> {
        let data = bytes as f64 / 1e3;
        let (latency, bandwidth) = match (algorithm, self.switched) {
            (Algorithm::AllreduceRing, _) => self.ring(protocol, bytes),
            (Algorithm::AllreduceDoubleBinaryTree, _) => self.tree(protocol, bytes),
            (Algorithm::AllreduceHierarchical, Some(channels)) if protocol == Protocol::Simple => {
                self.by_switch(channels)
            }
            _ => return None,
        };
        Some(latency + data / bandwidth)
    }

    /// The index into the constants that depend on the number of servers.
    fn by_nodes(&self) -> usize {
        (self.nodes as usize).clamp(1, 3) - 1
    }

    /// The number of steps of a ring, and the number of those steps that cross between servers.
    fn steps(&self) -> (u32, u32) {
        (2 * (self.ranks - 1), 2 * (self.nodes - 1))
    }

    /// The latency in µs and the bandwidth in GB/s of rings.
    fn ring(&self, protocol: Protocol, bytes: u64) -> (f64, f64) {
        let (steps, between) = self.steps();
        // The overhead of posting to a NIC is 1 µs, or three times that with Simple.
        let (base, nvlink, network, overhead) = match protocol {
            Protocol::Ll => (6.6, 0.6, 2.7, 1.0),
            Protocol::Ll128 => (14.0, 1.9, 4.0, 1.0),
            Protocol::Simple => (8.4, 3.4, 14.0, 3.0_f64),
        };
        let overhead = if self.nodes > 1 { overhead } else { 0.0 };
        // With one rank per server, the network latencies are those of trees.
        let network = if self.ranks == self.nodes { tree_latencies(protocol).2 } else { network };
        let latency = base + f64::from(steps - between) * overhead.max(nvlink) + f64::from(between) * network;
        // NCCL models a plateau in the bandwidth of rings over several servers as a factor on the latency.
        let share = bytes as f64 / (self.channels.count * f64::from(self.ranks));
        let is_plateau = protocol == Protocol::Simple && self.nodes > 1 && share >= 64.0;
        let bus = self.channels.bandwidth();
        let bus = match protocol {
            Protocol::Ll => LL_MOST[self.by_nodes()].min(bus / 2.0),
            Protocol::Ll128 => (bus * 0.92).min(self.channels.count * LL128_MOST[0][self.by_nodes()]),
            Protocol::Simple => bus,
        };
        (latency * if is_plateau { 1.4 } else { 1.0 }, bus * f64::from(self.ranks) / f64::from(steps))
    }

    /// The latency in µs and the bandwidth in GB/s of trees.
    fn tree(&self, protocol: Protocol, bytes: u64) -> (f64, f64) {
        let (base, nvlink, network) = tree_latencies(protocol);
        let within = f64::from(self.ranks / self.nodes - 1) * nvlink;
        let latency = base + 2.0 * (within + f64::from(self.nodes.ilog2()) * network);
        let most = |of_channel: f64| self.channels.count * of_channel;
        let bus = (self.channels.bandwidth() * TREE_SHARE).min(most(TREE_MOST[self.by_nodes()]));
        let (shares, bus) = match protocol {
            Protocol::Ll => (&TREE_SHARES[0], LL_MOST[self.by_nodes()].min(bus / 3.8)),
            Protocol::Ll128 => {
                let of_bus = if self.nodes == 1 { 7.0 / 9.0 } else { 120.0 / 128.0 };
                (&TREE_SHARES[1], (bus * of_bus).min(most(LL128_MOST[1][self.by_nodes()])))
            }
            Protocol::Simple => (&TREE_SHARES[2], bus),
        };
        let share = (bytes >> 6).checked_ilog2().and_then(|power| shares.get(power as usize)).unwrap_or(&1.0);
        (latency, bus * share / 2.0)
    }

    /// The latency in µs and the bandwidth in GB/s of NVLS, either in one server or with trees between servers
    /// (NVLSTree). NCCL also limits the channels of a server by their speed between servers. A single server has no
    /// such speed, so this limit is not applied to it. With the limit, rings would be predicted to be faster from 51
    /// MB on, while NCCL is observed to use NVLS for all large sizes (nccl-tests, issue 309).
    fn by_switch(&self, channels: Channels) -> (f64, f64) {
        let (steps, _) = self.steps();
        let within = 2.0 * SWITCHED_SHARE * channels.speed * (channels.count - 1.0) / channels.count;
        let (latency, of_channel) = match self.nodes {
            1 => (25.0, within),
            nodes => {
                let between = if nodes == 2 { 2.0 * channels.speed } else { channels.speed };
                let latency = 25.0 + 2.0 * f64::from(nodes.ilog2()) * 20.9;
                (latency, within.min(between).min(SWITCHED_MOST[self.by_nodes()]))
            }
        };
        (latency, channels.count * of_channel * f64::from(self.ranks) / f64::from(steps))
    }

    /// The algorithm and the protocol with the shortest predicted time for an AllReduce.
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

/// The latencies of trees in µs: the base latency, a hop over NVLink, and a hop over the network.
fn tree_latencies(protocol: Protocol) -> (f64, f64, f64) {
    match protocol {
        Protocol::Ll => (6.8, 0.6, 5.0),
        Protocol::Ll128 => (14.0, 1.25, 8.5),
        Protocol::Simple => (8.4, 4.0, 14.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_base::Rate;

    /// The NVLink rate of an H100 that NCCL assumes: 18 links of 20.6 GB/s.
    const NVLINK: Rate = Rate(2_966_400_000_000);

    /// A cluster of servers, each with eight H100 and one 400G NIC per GPU.
    fn servers(count: u32, switch: bool) -> Cluster {
        let places = (0..8 * count).map(|rank| (rank / 8, rank % 8));
        let rates = [Rate::from_gbps(400), NVLINK];
        Cluster::of(&Layout::of(places, 16, false, switch).with_rates(rates))
    }

    fn close(time: Option<f64>, expected: f64) {
        let time = time.unwrap();
        assert!((time - expected).abs() < 0.005, "{time} instead of {expected}");
    }

    fn busbw(ranks: u32, bytes: u64, time: Option<f64>) -> Option<f64> {
        Some(bytes as f64 / 1e3 / time? * Algorithm::AllreduceRing.bus_factor(ranks))
    }

    #[test]
    fn channels_are_those_of_the_search() {
        let two = servers(2, true);
        assert_eq!((two.ranks, two.nodes), (16, 2));
        assert_eq!(two.channels, Channels { count: 16.0, speed: 24.0 });
        // Each GPU leads one of the 8 channels and carries the other 7. The channel that it leads uses twice its speed
        // there. The speed is thus the highest speed in NCCL's table below 370.8 / 9 = 41.2 GB/s.
        assert_eq!(two.switched, Some(Channels { count: 8.0, speed: 40.0 }));
        let one = servers(1, true);
        // Six channels of 60 GB/s fit into 370.8 GB/s, and each is split into two channels of half the speed.
        assert_eq!(one.channels, Channels { count: 12.0, speed: 30.0 });
        assert_eq!(one.switched, two.switched);
        assert_eq!(servers(1, false).switched, None);
    }

    #[test]
    fn the_times_of_rings_are_those_of_the_model() {
        let ring =
            |protocol, bytes| servers(2, false).allreduce_us(Algorithm::AllreduceRing, protocol, bytes);
        // The latency is 8.4 + 28 * 3.4 + 2 * 14 = 131.6 us, times 1.4. The bandwidth is 384 * 16/30 = 204.8 GB/s.
        close(ring(Protocol::Simple, 1 << 30), 5_427.12);
        close(busbw(16, 1 << 30, ring(Protocol::Simple, 1 << 30)), 370.96);
        close(ring(Protocol::Ll, 1 << 16), 43.15);
        close(ring(Protocol::Simple, 1 << 16), 184.56);
        // If a rank's share on a channel is below 64 B, the factor 1.4 does not apply.
        close(ring(Protocol::Simple, 1 << 13), 131.6 + 8.192 / 204.8);
        // The latency is 14 + 28 * 1.9 + 2 * 4 = 75.2 us, and the bandwidth is 384 * 0.92 * 16/30 = 188.4 GB/s.
        close(ring(Protocol::Ll128, 1 << 16), 75.2 + 65.536 / 188.416);
        // With one GPU per server, every hop has the latency of a tree hop.
        let lone = Layout::of((0..4).map(|rank| (rank, 0)), 2, false, false)
            .with_rates([Rate::from_gbps(400), NVLINK]);
        let time = Cluster::of(&lone).allreduce_us(Algorithm::AllreduceRing, Protocol::Ll, 1 << 16);
        close(time, 6.6 + 6.0 * 5.0 + 65.536 / (20.4 * 4.0 / 6.0));
    }

    #[test]
    fn the_times_of_trees_are_those_of_the_model() {
        let tree = |protocol, bytes| {
            servers(2, false).allreduce_us(Algorithm::AllreduceDoubleBinaryTree, protocol, bytes)
        };
        // The latency is 6.8 + 2 (7 * 0.6 + 5) us. The bandwidth in GB/s is 0.6 * min(39, 353.28 / 3.8) / 2. The
        // factor 0.6 is the eleventh in the table of corrections, which begins at 64 B.
        close(tree(Protocol::Ll, 1 << 16), 6.8 + 2.0 * (7.0 * 0.6 + 5.0) + 65.536 / (39.0 * 0.6 / 2.0));
        close(tree(Protocol::Simple, 1 << 30), 8.4 + 2.0 * (28.0 + 14.0) + 1_073_741.824 / (353.28 / 2.0));
    }

    /// The choices agree with those that NCCL logs for H100 servers. In one server these are rings with LL up to 1 MB
    /// and NVLS above (nccl-tests, issue 309). On two servers they are NVLSTree for large sizes, and rings if the
    /// switch does not reduce.
    #[test]
    fn small_sizes_take_ll_and_large_ones_nvls() {
        let nvls = (Algorithm::AllreduceHierarchical, Protocol::Simple);
        let one = servers(1, true);
        assert_eq!(one.choose_allreduce(1 << 20), (Algorithm::AllreduceRing, Protocol::Ll));
        assert_eq!([2 << 20, 1 << 30, 16 << 30].map(|bytes| one.choose_allreduce(bytes)), [nvls; 3]);
        assert_eq!(one.allreduce_us(Algorithm::AllreduceHierarchical, Protocol::Ll, 8), None);
        // Each of 8 channels gives 2 * 0.85 * 40 * 7/8 = 59.5 GB/s. Together these are 476 GB/s, which a real server
        // was observed to reach.
        close(busbw(8, 1 << 40, one.allreduce_us(nvls.0, nvls.1, 1 << 40)), 476.0);
        let two = servers(2, false);
        assert_eq!(two.choose_allreduce(1 << 16), (Algorithm::AllreduceDoubleBinaryTree, Protocol::Ll));
        assert_eq!(two.choose_allreduce(1 << 30), (Algorithm::AllreduceRing, Protocol::Simple));
        let two = servers(2, true);
        assert_eq!(two.choose_allreduce(1 << 30), nvls);
        // The latency is 25 + 2 * 20.9 us, and the bandwidth in GB/s is 8 * min(59.5, 80, 57.7) * 16/30.
        close(two.allreduce_us(nvls.0, nvls.1, 1 << 30), 66.8 + 1_073_741.824 / (461.6 * 16.0 / 30.0));
        // On four servers, the bandwidth of NVLSTree (320 GB/s) is below that of rings (384 GB/s).
        assert_eq!(servers(4, true).choose_allreduce(1 << 30), (Algorithm::AllreduceRing, Protocol::Simple));
    }

    #[test]
    fn protocols_send_their_flags() {
        assert_eq!(Protocol::ALL.map(|protocol| protocol.sent(240)), [480, 256, 240]);
    }
}
