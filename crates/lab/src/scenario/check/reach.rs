//! Checks that links lead from the senders of a workload to its receivers. Different planes or rails may have no
//! links to each other.

use super::built::BuiltFabric;
use crate::scenario::read::source_map::Origin;
use crate::scenario::read::table::fault;
use anabranch_base::{Diagnostic, Fix, HostId};
use anabranch_fabric::{SpineGroup, Topology};
use anabranch_workload::Workload;
use std::collections::BTreeSet;

/// Checks that the two hosts of every connection have ports in a common network.
pub(in crate::scenario) fn check(
    workload: &Workload,
    on: &BuiltFabric<'_>,
    origin: &Origin,
) -> Result<(), Diagnostic> {
    let topology = &on.topology;
    // A fabric without servers and without hosts of several ports is always connected.
    if topology.servers.is_none() && !topology.has_several_ports() {
        return Ok(());
    }
    let networks = topology.networks();
    if networks.iter().all(|network| *network == 0) {
        return Ok(());
    }
    let of_host: Vec<BTreeSet<u32>> =
        (0..topology.hosts).map(|host| networks_of(topology, &networks, HostId(host))).collect();
    let apart = workload.qps.iter().find(|qp| of_host[qp.src.index()].is_disjoint(&of_host[qp.dst.index()]));
    let Some(qp) = apart else { return Ok(()) };
    let [src, dst] = [qp.src, qp.dst].map(|host| topology.node_name(host.into()));
    let help = match on.spec.clos() {
        Some((_, spec)) if spec.tiers == 1 => Fix::set("tiers", 2),
        Some((_, spec)) if spec.spine_group() == SpineGroup::Rail => Fix::set("spine_group", "\"pod\""),
        _ => Fix::text("messages between hosts that have a port in the same network"),
    };
    let message = format!(
        "messages go from {src} (host {}) to {dst} (host {}), and no links lead there: the two have no network in common",
        qp.src, qp.dst
    );
    Err(fault(&origin.file, origin.place("topology"), message, Some(help)))
}

fn networks_of(topology: &Topology, networks: &[u32], host: HostId) -> BTreeSet<u32> {
    let tor = |port| (topology.tor_of(host, port).0 - topology.hosts) as usize;
    (0..topology.host_ports(host)).map(|port| networks[tor(port)]).collect()
}
