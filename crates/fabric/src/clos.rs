//! Clos networks of servers: rail-optimised clusters, Clos networks in several planes, Alibaba's HPN and DCN+.
//!
//! Servers are grouped into segments. The NICs of a segment are connected to its leaves (ToRs) by rail or by server.
//! In each plane, all leaves of a pod, or all leaves of a rail, share a group of spines. With three tiers, cores
//! connect the groups.

mod check;
mod defaults;
mod fitting;
mod sparse;
#[cfg(test)]
mod tests;

use super::assemble::{Cable, assemble};
use super::error::TopologyError;
use super::{NvLink, Servers, Switch, Topology};
use anabranch_base::{Duration, NodeId, Rate};
use check::check;
pub use defaults::ClosInput;
pub use fitting::clos_defaults;
use serde::{Deserialize, Serialize};

/// The rule by which NICs are distributed over leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClosKind {
    /// A leaf has the NICs of one rail. Each port of a NIC is in a plane of its own.
    Rails,
    /// A leaf has all NICs of its servers. Each port of a NIC is in a plane of its own.
    MultiPlane,
    /// Alibaba's HPN: rails, by default in two planes.
    Hpn,
    /// Alibaba's DCN+: a leaf has all NICs of its servers, and the ports of a NIC lead to different leaves of one
    /// network.
    DcnPlus,
}

impl ClosKind {
    /// The name in a scenario, such as `multi-plane`.
    pub fn name(self) -> &'static str {
        match self {
            ClosKind::Rails => "rails",
            ClosKind::MultiPlane => "multi-plane",
            ClosKind::Hpn => "hpn",
            ClosKind::DcnPlus => "dcn-plus",
        }
    }

    /// Whether a leaf has the NICs of one rail.
    pub fn has_rails(self) -> bool {
        matches!(self, ClosKind::Rails | ClosKind::Hpn)
    }

    /// Whether each port of a NIC is in a plane of its own.
    pub fn has_planes(self) -> bool {
        self != ClosKind::DcnPlus
    }
}

/// The set of leaves that share a group of spines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SpineGroup {
    /// All leaves of a pod in one plane.
    Pod,
    /// All leaves of a rail in one plane.
    Rail,
}

/// A Clos network of servers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClosSpec {
    /// The number of servers.
    pub servers: u32,
    /// The number of GPUs in a server.
    pub gpus: u32,
    /// The number of NICs in a server.
    pub nics: u32,
    /// The number of ports of a NIC.
    pub ports: u32,
    /// The NIC of each GPU of a server. By default GPU `g` uses NIC `g * nics / gpus`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gpu_nics: Vec<u32>,
    /// The number of servers in an NVLink domain.
    pub nvlink_domain: u32,
    /// The total rate of a GPU's NVLinks, per direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nvlink: Option<Rate>,
    /// The latency of NVLink from one GPU to another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nvlink_latency: Option<Duration>,
    /// The number of servers in a segment. The last segment may have fewer; its leaves then have free ports.
    pub segment: u32,
    /// The number of segments in a pod.
    pub pod: u32,
    /// The number of tiers of switches, 1 to 3.
    pub tiers: u32,
    /// The set of leaves that share a group of spines. `None` without rails: the leaves of a pod then share a group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spine_group: Option<SpineGroup>,
    /// The number of uplinks of a leaf.
    pub uplinks: u32,
    /// The number of spines in a group.
    pub spines: u32,
    /// The number of uplinks of a spine.
    pub core_uplinks: u32,
    /// The number of cores in a plane.
    pub cores: u32,
    /// The rate of a NIC's port.
    pub link: Rate,
    /// The rate of the links between leaves and spines.
    pub uplink: Rate,
    /// The rate of the links between spines and cores.
    pub core_link: Rate,
    /// The latency of every link.
    pub link_latency: Duration,
    /// The latency of the switches.
    pub switch_latency: Duration,
    /// The number of ports of the purchased switch model. No switch of the fabric may need more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub radix: Option<u32>,
}

impl ClosSpec {
    /// The NVLink of a GPU, if the specification gives it.
    pub fn nvlink_of_gpu(&self) -> Option<NvLink> {
        let latency = self.nvlink_latency.unwrap_or(NvLink::LATENCY);
        self.nvlink.map(|rate| NvLink { rate, latency })
    }

    /// The number of segments.
    pub fn segments(&self) -> u32 {
        self.servers.div_ceil(self.segment)
    }

    /// The number of NICs of all servers together.
    pub fn hosts(&self) -> u32 {
        self.servers.saturating_mul(self.nics)
    }

    /// The set of leaves that share a group of spines. Without rails, it is [`SpineGroup::Pod`].
    pub fn spine_group(&self) -> SpineGroup {
        self.spine_group.unwrap_or(SpineGroup::Pod)
    }
}

pub(super) fn build(kind: ClosKind, spec: &ClosSpec) -> Result<Topology, TopologyError> {
    check(kind, spec)?;
    let shape = Shape::new(kind, spec);
    let hosts = spec.hosts();
    let [leaves, spines, cores] = shape.switches();
    let first_spine = hosts + leaves;
    let first_core = first_spine + spines;
    let mut cables = Vec::with_capacity(shape.cables(spec) as usize);
    let mut join = |below: u32, above: u32, rate: Rate| {
        let ends = [NodeId(below), NodeId(above)];
        cables.push(Cable { ends, rate, latency: spec.link_latency, loss: 0.0 });
    };
    for host in 0..hosts {
        for port in 0..spec.ports {
            join(host, hosts + shape.leaf(kind, spec, host, port), spec.link);
        }
    }
    for leaf in 0..leaves {
        for spine in shape.spines_of(spec, leaf) {
            for _ in 0..spec.uplinks / spec.spines {
                join(hosts + leaf, first_spine + spine, spec.uplink);
            }
        }
    }
    if let Some(striping) = Striping::of(spec.core_uplinks, spec.cores, spec.spines) {
        for spine in 0..spines {
            let plane = spine / shape.spines;
            for core in striping.uppers(spine % spec.spines, spec.cores) {
                for _ in 0..striping.bundle {
                    join(first_spine + spine, first_core + plane * spec.cores + core, spec.core_link);
                }
            }
        }
    }
    let tiers = [(1, leaves), (2, spines), (3, cores)];
    let switches = tiers.into_iter().flat_map(|(tier, count)| {
        (0..count).map(move |index| Switch { tier, index, latency: spec.switch_latency, file_id: None })
    });
    let mut topology = assemble(hosts, switches.collect(), &cables, Vec::new());
    if shape.planes > 1 {
        // The switches of each tier are ordered by plane, and each plane has equally many of them.
        let planes = u64::from(shape.planes);
        let plane = |count: u32, i: u32| (u64::from(i) * planes / u64::from(count)) as u16;
        topology.planes = [leaves, spines, cores]
            .into_iter()
            .flat_map(|count| (0..count).map(move |i| plane(count, i)))
            .collect();
    }
    topology.servers = Some(servers(spec));
    Ok(topology)
}

fn servers(spec: &ClosSpec) -> Servers {
    let mut servers = Servers::uniform(spec.servers, spec.gpus, spec.nics, spec.nvlink_domain);
    if !spec.gpu_nics.is_empty() {
        servers = servers.with_gpu_nics(&spec.gpu_nics);
    }
    servers.nvlink = spec.nvlink_of_gpu();
    servers
}

struct Shape {
    planes: u32,
    /// The number of leaves in one segment and plane.
    segment_leaves: u32,
    /// The number of leaves in one plane.
    leaves: u32,
    /// The number of NICs on a leaf of a full segment.
    down: u32,
    /// The number of groups of spines in one plane.
    groups: u32,
    /// The number of spines in one plane.
    spines: u32,
    /// The number of cores in one plane.
    cores: u32,
}

impl Shape {
    /// The shape of `spec`, whose numbers must be divisible as the checks require. Numbers that are too large
    /// saturate.
    fn new(kind: ClosKind, spec: &ClosSpec) -> Shape {
        let segments = spec.segments();
        let planes = if kind.has_planes() { spec.ports } else { 1 };
        let (segment_leaves, down) = match kind.has_rails() {
            true => (spec.nics, spec.segment),
            false => (spec.ports / planes, spec.segment.saturating_mul(spec.nics)),
        };
        let groups = match spec.spine_group() {
            SpineGroup::Pod => segments / spec.pod,
            SpineGroup::Rail => spec.nics,
        };
        Shape {
            planes,
            segment_leaves,
            leaves: segments.saturating_mul(segment_leaves),
            down,
            groups,
            spines: groups.saturating_mul(spec.spines),
            cores: spec.cores,
        }
    }

    /// The numbers of leaves, spines and cores, each over all planes.
    fn switches(&self) -> [u32; 3] {
        [self.leaves, self.spines, self.cores].map(|count| count.saturating_mul(self.planes))
    }

    fn group_leaves(&self) -> u32 {
        self.leaves / self.groups
    }

    fn cables(&self, spec: &ClosSpec) -> u64 {
        let [leaves, spines, _] = self.switches().map(u64::from);
        u64::from(spec.hosts()) * u64::from(spec.ports)
            + leaves * u64::from(spec.uplinks)
            + spines * u64::from(spec.core_uplinks)
    }

    fn leaf(&self, kind: ClosKind, spec: &ClosSpec, host: u32, port: u32) -> u32 {
        let (server, rail) = (host / spec.nics, host % spec.nics);
        let plane = if kind.has_planes() { port } else { 0 };
        let in_segment = match (kind.has_rails(), kind.has_planes()) {
            (true, _) => rail,
            (false, true) => 0,
            (false, false) => port,
        };
        plane * self.leaves + server / spec.segment * self.segment_leaves + in_segment
    }

    fn spines_of(&self, spec: &ClosSpec, leaf: u32) -> std::ops::Range<u32> {
        let (plane, leaf) = (leaf / self.leaves, leaf % self.leaves);
        let group = match spec.spine_group() {
            SpineGroup::Pod => leaf / self.segment_leaves / spec.pod,
            SpineGroup::Rail => leaf % self.segment_leaves,
        };
        let first = plane * self.spines + group * spec.spines;
        first..first + spec.spines
    }
}

/// The distribution of a spine's uplinks over the cores. The cores of a plane are assigned to stripes in rotation, and
/// so are the spines of a group. A spine is connected to the cores of its own stripe.
struct Striping {
    stripes: u32,
    /// The number of links from a spine to each of its cores.
    bundle: u32,
}

impl Striping {
    /// The stripes of `cores` cores, for groups of `spines` spines with `uplinks` uplinks each. `None` without cores or
    /// uplinks, and if the uplinks do not spread evenly over the cores.
    fn of(uplinks: u32, cores: u32, spines: u32) -> Option<Striping> {
        if uplinks == 0 || cores == 0 {
            None
        } else if uplinks.is_multiple_of(cores) {
            Some(Striping { stripes: 1, bundle: uplinks / cores })
        } else if cores.is_multiple_of(uplinks) && spines.is_multiple_of(cores / uplinks) {
            Some(Striping { stripes: cores / uplinks, bundle: 1 })
        } else {
            None
        }
    }

    /// The cores to which a spine is connected, given the spine's position in its group.
    fn uppers(&self, position: u32, cores: u32) -> impl Iterator<Item = u32> + use<> {
        (position % self.stripes..cores).step_by(self.stripes as usize)
    }
}
