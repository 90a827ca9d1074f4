//! Data centres of ToRs and leaves, connected by external switches (ESWs) over long links (Themis-longhaul, sections
//! II-C and VII-A, figure 1).

use super::assemble::{Cable, MAX_LINKS, MAX_PORTS, MAX_ROUTES, assemble, check_rate};
use super::error::TopologyError;
use super::{Switch, Topology};
use crate::CrossDcSpec;
use anabranch_base::{Duration, NodeId, Problem, Rate};

/// The tier of ESWs; ToRs have tier 1 and leaves tier 2.
const ESW_TIER: u8 = 3;

/// Checks that a fabric can be built from the numbers of `spec`.
///
/// # Errors
/// The first number that is out of range or too large in combination with the others, and what to write instead.
pub fn check_cross_dc(spec: &CrossDcSpec) -> Result<(), TopologyError> {
    type Count = fn(&mut CrossDcSpec) -> &mut u32;
    let counts: [(&str, &str, u32, Count); 4] = [
        ("dcs", "the data centres", 2, |spec| &mut spec.dcs),
        ("tors", "the ToRs of a data centre", 1, |spec| &mut spec.tors),
        ("leaves", "the leaves of a data centre", 1, |spec| &mut spec.leaves),
        ("hosts_per_tor", "the hosts of a ToR", 1, |spec| &mut spec.hosts_per_tor),
    ];
    let most = MAX_PORTS as u32;
    for (key, what, least, count) in counts {
        let mut other = spec.clone();
        let value = *count(&mut other);
        if (least..=most).contains(&value) {
            continue;
        }
        // A binary search finds the nearest value that is possible with the other numbers.
        let (mut nearest, mut beyond) = (least, if value < least { least + 1 } else { most + 1 });
        while beyond - nearest > 1 {
            let middle = nearest + (beyond - nearest) / 2;
            *count(&mut other) = middle;
            *(if check_limits(&other).is_ok() { &mut nearest } else { &mut beyond }) = middle;
        }
        let problem = Problem::with_value(
            format!("{what} can number {least} to {most}, so {value} are not possible"),
            nearest,
        );
        return Err(TopologyError::shape(key, problem));
    }
    check_rate("link", spec.link)?;
    check_rate("esw_link", spec.esw_link)?;
    check_rate("wan_link", spec.wan_link)?;
    check_limits(spec)
}

fn check_limits(spec: &CrossDcSpec) -> Result<(), TopologyError> {
    let [dcs, tors, leaves, hosts] = [spec.dcs, spec.tors, spec.leaves, spec.hosts_per_tor].map(u64::from);
    for (key, switch, ports, fewer) in [
        ("hosts_per_tor", "ToR", hosts + leaves, "hosts_per_tor or leaves"),
        ("tors", "leaf", tors + 1, "tors"),
        ("leaves", "ESW", leaves + dcs - 1, "leaves or dcs"),
    ] {
        if ports > MAX_PORTS {
            let problem = Problem::with_text(
                format!("each {switch} would have {ports} ports, and the most is {MAX_PORTS}"),
                format_args!("fewer {fewer}"),
            );
            return Err(TopologyError::shape(key, problem));
        }
    }
    let links = 2 * (dcs * (tors * hosts + tors * leaves + leaves) + dcs * (dcs - 1) / 2);
    if links > MAX_LINKS {
        let problem = Problem::with_text(
            format!("{links} links are more than the {MAX_LINKS} that can be simulated"),
            "fewer tors or dcs",
        );
        return Err(TopologyError::shape("tors", problem));
    }
    let routes = dcs * tors * dcs * (tors + leaves + 1);
    if routes > MAX_ROUTES {
        let problem = Problem::with_text(
            format!(
                "{} switches times {} ToRs are too many routes, the most is {MAX_ROUTES}",
                dcs * (tors + leaves + 1),
                dcs * tors
            ),
            "fewer tors or dcs",
        );
        return Err(TopologyError::shape("tors", problem));
    }
    Ok(())
}

/// Hosts, ToRs and leaves are numbered in the order of their data centres; ESW `d` belongs to data centre `d`.
pub(super) fn build(spec: &CrossDcSpec) -> Result<Topology, TopologyError> {
    check_cross_dc(spec)?;
    let CrossDcSpec { dcs, tors, leaves, hosts_per_tor, .. } = *spec;
    let hosts = spec.hosts();
    let (first_tor, first_leaf) = (hosts, hosts + dcs * tors);
    let first_esw = first_leaf + dcs * leaves;
    let mut cables = Vec::new();
    let mut join = |below: u32, above: u32, rate: Rate, latency: Duration| {
        cables.push(Cable { ends: [NodeId(below), NodeId(above)], rate, latency, loss: 0.0 });
    };
    for host in 0..hosts {
        join(host, first_tor + host / hosts_per_tor, spec.link, spec.link_latency);
    }
    for dc in 0..dcs {
        let leaves_here = first_leaf + dc * leaves..first_leaf + (dc + 1) * leaves;
        for tor in first_tor + dc * tors..first_tor + (dc + 1) * tors {
            leaves_here.clone().for_each(|leaf| join(tor, leaf, spec.link, spec.link_latency));
        }
        for leaf in leaves_here {
            join(leaf, first_esw + dc, spec.esw_link, spec.esw_link_latency);
        }
        for other in dc + 1..dcs {
            join(first_esw + dc, first_esw + other, spec.wan_link, spec.wan_latency);
        }
    }
    let tiers = [(1, dcs * tors), (2, dcs * leaves), (ESW_TIER, dcs)];
    let switches = tiers.into_iter().flat_map(|(tier, count)| {
        (0..count).map(move |index| Switch { tier, index, latency: spec.switch_latency, file_id: None })
    });
    let mut topology = assemble(hosts, switches.collect(), &cables, Vec::new());
    // The hosts and the switches of each tier are ordered by data centre, and each data centre has equally many of
    // them.
    topology.site = [hosts, dcs * tors, dcs * leaves, dcs]
        .into_iter()
        .flat_map(|count| (0..count).map(move |i| (i / (count / dcs)) as u16))
        .collect();
    Ok(topology)
}

#[cfg(test)]
mod tests;
