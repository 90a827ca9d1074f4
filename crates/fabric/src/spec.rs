//! Specifications of fabrics, with every default explicit.

use crate::{ClosKind, ClosSpec, DragonflySpec, FullMeshSpec, TopologyBuilder, TorusSpec};
use anabranch_base::{Duration, Parameters, Rate, Refused, Registered, serde_but_registered};
use serde::{Deserialize, Serialize};

/// The fabric that carries the messages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum TopologySpec {
    /// A fat tree (Clos) of 2 or 3 tiers. A leaf-spine fabric is a fat tree of 2 tiers.
    FatTree {
        /// The number of hosts.
        hosts: u32,
        /// The tiers, from the ToRs to the top.
        tier: Vec<TierSpec>,
        /// The number of hosts in a pod (3 tiers), or in total (2 tiers).
        pod_hosts: u32,
    },
    /// Hosts on one switch.
    SingleSwitch {
        /// The number of hosts.
        hosts: u32,
        /// The rate of every link.
        link: Rate,
        /// The latency of every link.
        link_latency: Duration,
        /// The latency of the switch.
        switch_latency: Duration,
    },
    /// Two switches that are connected by one cable. The hosts are split evenly between them.
    Dumbbell {
        /// The number of hosts, which must be even.
        hosts: u32,
        /// The rate of the host links.
        link: Rate,
        /// The rate of the cable in the middle.
        trunk: Rate,
        /// The latency of the host links.
        link_latency: Duration,
        /// The latency of the cable in the middle.
        trunk_latency: Duration,
        /// The latency of the switches.
        switch_latency: Duration,
    },
    /// Data centres of ToRs and leaves, connected by external switches over long links.
    CrossDc(CrossDcSpec),
    /// A rail-optimised cluster, in which each leaf serves the NICs of one rail.
    Rails(ClosSpec),
    /// A Clos network in each plane, in which each leaf serves whole servers. By default a NIC has four ports, one
    /// in each plane.
    MultiPlane(ClosSpec),
    /// Alibaba's HPN: rails, by default in two planes.
    Hpn(ClosSpec),
    /// Alibaba's DCN+: by default two ToRs for each NIC, without rails and planes.
    DcnPlus(ClosSpec),
    /// A dragonfly: groups of routers. Every two groups are connected.
    Dragonfly(DragonflySpec),
    /// A torus of switches with one host each.
    Torus(TorusSpec),
    /// A full mesh: every two switches are connected.
    FullMesh(FullMeshSpec),
    /// Any graph, from a topology file of the ns-3 simulators, or a network file of ASTRA-sim.
    Graph {
        /// The file's name, as the scenario gives it.
        file: String,
        /// The latency of the switches, which the file does not contain.
        switch_latency: Duration,
    },
    /// A user-defined topology from a registry.
    #[serde(skip)]
    Registered(RegisteredTopology),
}

serde_but_registered!(TopologySpec);

/// A user-defined topology with its parameters.
pub type RegisteredTopology = Registered<TopologyFactory>;

/// A function that adds hosts, switches and links to a builder.
pub type TopologyFactory = dyn Fn(&mut TopologyBuilder, &Parameters) -> Result<(), Refused> + Send + Sync;

impl TopologySpec {
    /// The number of hosts; `None` if only a file or user-defined code determines it.
    pub fn hosts(&self) -> Option<u32> {
        match self {
            TopologySpec::FatTree { hosts, .. }
            | TopologySpec::SingleSwitch { hosts, .. }
            | TopologySpec::Dumbbell { hosts, .. } => Some(*hosts),
            TopologySpec::CrossDc(spec) => Some(spec.hosts()),
            TopologySpec::Rails(spec)
            | TopologySpec::MultiPlane(spec)
            | TopologySpec::Hpn(spec)
            | TopologySpec::DcnPlus(spec) => Some(spec.hosts()),
            TopologySpec::Dragonfly(spec) => Some(spec.hosts()),
            TopologySpec::Torus(spec) => Some(spec.hosts()),
            TopologySpec::FullMesh(spec) => Some(spec.hosts()),
            TopologySpec::Graph { .. } | TopologySpec::Registered(_) => None,
        }
    }

    /// The Clos network of servers that the specification describes; `None` for other topologies.
    pub fn clos(&self) -> Option<(ClosKind, &ClosSpec)> {
        match self {
            TopologySpec::Rails(spec) => Some((ClosKind::Rails, spec)),
            TopologySpec::MultiPlane(spec) => Some((ClosKind::MultiPlane, spec)),
            TopologySpec::Hpn(spec) => Some((ClosKind::Hpn, spec)),
            TopologySpec::DcnPlus(spec) => Some((ClosKind::DcnPlus, spec)),
            _ => None,
        }
    }

    /// The rate of the links; `None` if their rates differ, or if the specification does not contain them.
    pub fn link(&self) -> Option<Rate> {
        let rates = match self {
            TopologySpec::FatTree { tier, .. } => tier.iter().map(|tier| tier.link).collect(),
            TopologySpec::SingleSwitch { link, .. } => vec![*link],
            TopologySpec::Dumbbell { link, trunk, .. } => vec![*link, *trunk],
            TopologySpec::CrossDc(spec) => vec![spec.link, spec.esw_link, spec.wan_link],
            TopologySpec::Rails(spec)
            | TopologySpec::MultiPlane(spec)
            | TopologySpec::Hpn(spec)
            | TopologySpec::DcnPlus(spec) => {
                let mut rates = vec![spec.link, spec.uplink, spec.core_link];
                rates.truncate(spec.tiers as usize);
                rates
            }
            TopologySpec::Dragonfly(spec) => vec![spec.link, spec.global_link],
            TopologySpec::Torus(spec) => vec![spec.link, spec.host_link],
            TopologySpec::FullMesh(spec) => vec![spec.link, spec.host_link],
            TopologySpec::Graph { .. } | TopologySpec::Registered(_) => Vec::new(),
        };
        let first = *rates.first()?;
        rates.iter().all(|rate| *rate == first).then_some(first)
    }

    /// The file that the specification names, if it names one.
    pub fn file(&self) -> Option<&str> {
        match self {
            TopologySpec::Graph { file, .. } => Some(file),
            TopologySpec::FatTree { .. }
            | TopologySpec::SingleSwitch { .. }
            | TopologySpec::Dumbbell { .. }
            | TopologySpec::CrossDc(_)
            | TopologySpec::Rails(_)
            | TopologySpec::MultiPlane(_)
            | TopologySpec::Hpn(_)
            | TopologySpec::DcnPlus(_)
            | TopologySpec::Dragonfly(_)
            | TopologySpec::Torus(_)
            | TopologySpec::FullMesh(_)
            | TopologySpec::Registered(_) => None,
        }
    }
}

/// Equal data centres. In each, every ToR is connected to every leaf, and an external switch (ESW) is connected to
/// all leaves. The ESWs form a full mesh (Themis-longhaul, section VII-A and figure 1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CrossDcSpec {
    /// The number of data centres, at least 2.
    pub dcs: u32,
    /// The number of ToRs per data centre.
    pub tors: u32,
    /// The number of leaves per data centre.
    pub leaves: u32,
    /// The number of hosts per ToR.
    pub hosts_per_tor: u32,
    /// The rate of the links between hosts, ToRs and leaves.
    pub link: Rate,
    /// The latency of the links between hosts, ToRs and leaves.
    pub link_latency: Duration,
    /// The rate of the links between leaves and ESWs.
    pub esw_link: Rate,
    /// The latency of the links between leaves and ESWs.
    pub esw_link_latency: Duration,
    /// The rate of the long links between ESWs.
    pub wan_link: Rate,
    /// The latency of the long links; 500 us correspond to 100 km of fibre.
    pub wan_latency: Duration,
    /// The latency of the switches.
    pub switch_latency: Duration,
}

impl CrossDcSpec {
    /// The number of hosts in all data centres.
    pub fn hosts(&self) -> u32 {
        self.dcs.saturating_mul(self.tors).saturating_mul(self.hosts_per_tor)
    }
}

/// One tier of switches, in the terms of a `.topo` file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TierSpec {
    /// The rate of the links below the tier.
    pub link: Rate,
    /// The latency of the links below the tier.
    pub link_latency: Duration,
    /// The latency of the tier's switches.
    pub switch_latency: Duration,
    /// The number of ports down of each switch.
    pub radix_down: u32,
    /// The number of ports up of each switch (0 in the top tier).
    pub radix_up: u32,
    /// The number of parallel cables between a switch of this tier and one below it.
    pub bundle: u32,
}
