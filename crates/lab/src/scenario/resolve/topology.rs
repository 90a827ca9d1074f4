//! `[topology]` as written, with its short forms.

use crate::scenario::keys;
use crate::scenario::read::table::{Table, example, fault};
use crate::scenario::resolve::cluster;
use crate::scenario::resolve::fabric_values::{LATENCY, oversubscription, rate, refused};
use crate::scenario::schema::files::Context;
use crate::scenario::schema::unknown_keys::only;
use anabranch_base::{Code, Diagnostic, Duration, Fix, Rate};
use anabranch_engine::FaultSpec;
use anabranch_fabric::{ClosKind, CrossDcSpec, TierSpec, TopologySpec};
use std::collections::BTreeSet;

/// Results number faults with 16 bits.
pub(in crate::scenario) const MOST_FAULTS: usize = u16::MAX as usize;

/// Names of fabrics in data sheets and papers, each with the kind that describes such a fabric here.
const OTHER_NAMES: [(&str, &str); 7] = [
    ("dcn+", "dcn-plus"),
    ("superpod", "rails"),
    ("dgx-superpod", "rails"),
    ("rail-optimized", "rails"),
    ("rail-optimised", "rails"),
    ("spectrum-x", "rails"),
    ("clos", "fat-tree"),
];

/// Names of fabrics that are a kind here with a certain key, or that may be one of several kinds.
const OTHER_FABRICS: [(&str, &str); 6] = [
    ("rail-only", RAIL_ONLY),
    ("rails-only", RAIL_ONLY),
    ("dual-tor", TWO_TORS),
    ("dual-plane", TWO_TORS),
    ("two-tors", TWO_TORS),
    ("two-planes", TWO_TORS),
];
const RAIL_ONLY: &str =
    "kind = \"rails\" and below it spine_group = \"rail\", whose spines join no rail with another";
const TWO_TORS: &str = "kind = \"hpn\" for ToRs in two planes, or kind = \"dcn-plus\" for two ToRs of one network; link is the \
                        rate of one of two ports";

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    FatTree,
    LeafSpine,
    SingleSwitch,
    Dumbbell,
    CrossDc,
    Clos(ClosKind),
    Dragonfly,
    Torus,
    FullMesh,
    Graph,
}

const KINDS: &[(&str, Kind)] = &[
    ("fat-tree", Kind::FatTree),
    ("leaf-spine", Kind::LeafSpine),
    ("single-switch", Kind::SingleSwitch),
    ("dumbbell", Kind::Dumbbell),
    ("cross-dc", Kind::CrossDc),
    ("rails", Kind::Clos(ClosKind::Rails)),
    ("multi-plane", Kind::Clos(ClosKind::MultiPlane)),
    ("hpn", Kind::Clos(ClosKind::Hpn)),
    ("dcn-plus", Kind::Clos(ClosKind::DcnPlus)),
    ("dragonfly", Kind::Dragonfly),
    ("torus", Kind::Torus),
    ("full-mesh", Kind::FullMesh),
    ("graph", Kind::Graph),
];

/// Returns the topology and its number of hosts.
pub(in crate::scenario) fn read(cx: &Context, table: &Table) -> Result<(TopologySpec, u32), Diagnostic> {
    if let Some(spec) = cx.plugins.topology_of(table)? {
        let hosts = anabranch_fabric::build(&spec, None).map_err(|e| refused(table, e))?.hosts;
        return Ok((spec, hosts));
    }
    let kind = match (table.node("kind"), table.get::<String>("file")?) {
        (None, Some(file))
            if file.ends_with(".topo") && !begins_with_number(&cx.file(table, "file", &file)?) =>
        {
            return from_topo_file(cx, table, &file);
        }
        (None, Some(_)) => Kind::Graph,
        _ => {
            let written = table.get::<String>("kind").ok().flatten();
            let plain = written.as_deref().map(|kind| kind.to_lowercase().replace(['_', ' '], "-"));
            if let Some((_, kind)) = OTHER_NAMES.iter().find(|(name, _)| plain.as_deref() == Some(name)) {
                let message = format!("the kind of such a fabric is {kind:?} here");
                return Err(table.wrong("kind", message, Fix::set("kind", format!("{kind:?}"))));
            }
            if let Some((name, help)) = OTHER_FABRICS.iter().find(|(name, _)| plain.as_deref() == Some(name))
            {
                let message = format!("unknown kind {name:?}");
                let error = table.wrong("kind", message, Fix::text(help));
                return Err(Diagnostic { code: Code::UnknownName, ..error });
            }
            let complete = |error| cx.plugins.with_topologies(written.as_deref(), error);
            table.word("kind", KINDS).map_err(complete)?
        }
    };
    match kind {
        Kind::FatTree | Kind::LeafSpine if table.node("file").is_some() => {
            only(table, &keys::of("topo-file"))?;
            let file: String = table.need("file")?;
            from_topo_file(cx, table, &file)
        }
        Kind::FatTree => fat_tree(table, None),
        Kind::LeafSpine => fat_tree(table, Some(2)),
        Kind::SingleSwitch => single_switch(table),
        Kind::Dumbbell => dumbbell(table),
        Kind::CrossDc => cross_dc(table),
        Kind::Clos(kind) => cluster::clos(cx, table, kind),
        Kind::Dragonfly => cluster::dragonfly(table),
        Kind::Torus => cluster::torus(table),
        Kind::FullMesh => cluster::full_mesh(table),
        Kind::Graph => graph(cx, table),
    }
}

/// Whether the first word of a file is a number. This is so in the topologies of SimAI, whose file names may end in
/// `.topo` like those of htsim.
fn begins_with_number(text: &str) -> bool {
    text.split_whitespace().next().is_some_and(|word| word.parse::<u32>().is_ok())
}

fn from_topo_file(cx: &Context, table: &Table, file: &str) -> Result<(TopologySpec, u32), Diagnostic> {
    only(table, &keys::of("topo-file"))?;
    let text = cx.file(table, "file", file)?;
    let mut spec = anabranch_fabric::parse_topo(file, &text).map_err(|e| refused(table, e))?;
    let hosts = match &mut spec {
        TopologySpec::FatTree { hosts, tier, .. } => {
            let (link, latency, switch) =
                (rate(table, "link")?, table.get("link_latency")?, table.get("switch_latency")?);
            for tier in tier.iter_mut() {
                tier.link = link.unwrap_or(tier.link);
                tier.link_latency = latency.unwrap_or(tier.link_latency);
                tier.switch_latency = switch.unwrap_or(tier.switch_latency);
            }
            override_tiers(table, tier)?;
            *hosts
        }
        // A `.topo` file describes a fat tree.
        _ => return Err(table.wrong("file", format!("{file} is a graph"), Fix::set("kind", "\"graph\""))),
    };
    Ok((spec, hosts))
}

fn no_servers(table: &Table) -> Result<(), Diagnostic> {
    let Some(servers) = table.node("servers").filter(|_| table.node("hosts").is_none()) else {
        return Ok(());
    };
    let message = "the hosts of a fat tree are NICs, which are in no servers";
    let help = format!(
        "kind = \"rails\", whose servers have 8 GPUs and 8 NICs each, or hosts = {} without servers",
        servers.value()
    );
    Err(table.wrong("servers", message, help))
}

fn fat_tree(table: &Table, fixed_tiers: Option<u32>) -> Result<(TopologySpec, u32), Diagnostic> {
    if let (Some(tiers), Some(node)) = (fixed_tiers, table.node("tiers")) {
        let help = match node.value().as_integer() == Some(i64::from(tiers)) {
            true => "nothing: leave the line out".to_owned(),
            false => "kind = \"fat-tree\", which has tiers".to_owned(),
        };
        return Err(table.wrong("tiers", format!("a leaf-spine has {tiers} tiers, always"), help));
    }
    no_servers(table)?;
    only(table, &keys::of(if fixed_tiers.is_none() { "fat-tree" } else { "leaf-spine" }))?;
    let hosts = hosts(table)?;
    let written = table.tables("tier", "topology.tier")?;
    let whole = written.len() >= 2
        && written.iter().all(|tier| keys::of("tier").iter().all(|key| tier.node(key).is_some()));
    let tiers: u32 = match (fixed_tiers, table.get("tiers")?) {
        (Some(tiers), _) | (None, Some(tiers)) => tiers,
        (None, None) if whole => written.len() as u32,
        (None, None) => 2,
    };
    let link_latency = table.get("link_latency")?.unwrap_or(LATENCY);
    let switch_latency = table.get("switch_latency")?.unwrap_or(LATENCY);
    let link = rate(table, "link")?;
    let all_linked = written.len() as u32 == tiers && written.iter().all(|tier| tier.node("link").is_some());
    if link.is_none() && !all_linked {
        return Err(table.missing("link"));
    }
    // Without `link`, each tier has a rate of its own, which replaces this default.
    let link = link.unwrap_or_default();
    let oversubscription = oversubscription(table, "oversubscription")?;
    let hosts_per_tor = table.get("hosts_per_tor")?;
    let whole = whole && written.len() as u32 == tiers;
    let (mut tier, pod_hosts) = if whole {
        let none = TierSpec { link, link_latency, switch_latency, radix_down: 0, radix_up: 0, bundle: 1 };
        (vec![none; written.len()], hosts)
    } else {
        anabranch_fabric::fat_tree_defaults(
            hosts,
            tiers,
            oversubscription,
            hosts_per_tor,
            link,
            link_latency,
            switch_latency,
        )
        .map_err(|e| refused(table, e))?
    };
    override_tiers(table, &mut tier)?;
    let pod_hosts = table.get("pod_hosts")?.unwrap_or(pod_hosts);
    Ok((TopologySpec::FatTree { hosts, tier, pod_hosts }, hosts))
}

/// Applies the `[[topology.tier]]` tables to the tiers, from the ToRs up.
fn override_tiers(table: &Table, tiers: &mut [TierSpec]) -> Result<(), Diagnostic> {
    let written = table.tables("tier", "topology.tier")?;
    if written.len() > tiers.len() {
        let message = format!("{} tiers are given, but this fat tree has {}", written.len(), tiers.len());
        return Err(table.wrong(
            "tier",
            message,
            format!("tiers = {}, or fewer [[topology.tier]]", written.len()),
        ));
    }
    for (written, tier) in written.iter().zip(tiers) {
        only(written, &keys::of("tier"))?;
        tier.link = rate(written, "link")?.unwrap_or(tier.link);
        tier.link_latency = written.get("link_latency")?.unwrap_or(tier.link_latency);
        tier.switch_latency = written.get("switch_latency")?.unwrap_or(tier.switch_latency);
        tier.radix_down = written.get("radix_down")?.unwrap_or(tier.radix_down);
        tier.radix_up = written.get("radix_up")?.unwrap_or(tier.radix_up);
        tier.bundle = written.get("bundle")?.unwrap_or(tier.bundle);
    }
    Ok(())
}

fn single_switch(table: &Table) -> Result<(TopologySpec, u32), Diagnostic> {
    only(table, &keys::of("single-switch"))?;
    let hosts = hosts(table)?;
    let spec = TopologySpec::SingleSwitch {
        hosts,
        link: rate(table, "link")?.ok_or_else(|| table.missing("link"))?,
        link_latency: table.get("link_latency")?.unwrap_or(LATENCY),
        switch_latency: table.get("switch_latency")?.unwrap_or(LATENCY),
    };
    Ok((spec, hosts))
}

fn dumbbell(table: &Table) -> Result<(TopologySpec, u32), Diagnostic> {
    only(table, &keys::of("dumbbell"))?;
    let hosts = hosts(table)?;
    if hosts % 2 == 1 {
        let message = format!("a dumbbell splits its hosts evenly; {hosts} is odd");
        let even = hosts.checked_add(1).unwrap_or(hosts - 1);
        return Err(table.wrong("hosts", message, Fix::set("hosts", even)));
    }
    let link = rate(table, "link")?.ok_or_else(|| table.missing("link"))?;
    let link_latency = table.get("link_latency")?.unwrap_or(LATENCY);
    let spec = TopologySpec::Dumbbell {
        hosts,
        link,
        trunk: rate(table, "trunk")?.unwrap_or(link),
        link_latency,
        trunk_latency: table.get("trunk_latency")?.unwrap_or(link_latency),
        switch_latency: table.get("switch_latency")?.unwrap_or(LATENCY),
    };
    Ok((spec, hosts))
}

fn cross_dc(table: &Table) -> Result<(TopologySpec, u32), Diagnostic> {
    only(table, &keys::of("cross-dc"))?;
    let (tors, leaves): (u32, u32) = (table.need("tors")?, table.need("leaves")?);
    let hosts_per_tor: u32 = table.need("hosts_per_tor")?;
    let link = rate(table, "link")?.ok_or_else(|| table.missing("link"))?;
    let link_latency = table.get("link_latency")?.unwrap_or(LATENCY);
    // The default rates follow the paper on Themis-longhaul. The links from a data centre's leaves to its ESW have
    // together the rate at which its hosts can send. Each WAN link has this rate too.
    let of_dc = Rate(link.0.saturating_mul(u64::from(tors)).saturating_mul(u64::from(hosts_per_tor)));
    let of_leaf = Rate(of_dc.0.div_ceil(u64::from(leaves.max(1))));
    let spec = CrossDcSpec {
        dcs: table.get("dcs")?.unwrap_or(2),
        tors,
        leaves,
        hosts_per_tor,
        link,
        link_latency,
        esw_link: rate(table, "esw_link")?.unwrap_or(of_leaf),
        esw_link_latency: table.get("esw_link_latency")?.unwrap_or(link_latency),
        wan_link: rate(table, "wan_link")?.unwrap_or(of_dc),
        wan_latency: table.need("wan_latency")?,
        switch_latency: table.get("switch_latency")?.unwrap_or(LATENCY),
    };
    anabranch_fabric::check_cross_dc(&spec).map_err(|e| refused(table, e))?;
    let hosts = spec.hosts();
    Ok((TopologySpec::CrossDc(spec), hosts))
}

fn graph(cx: &Context, table: &Table) -> Result<(TopologySpec, u32), Diagnostic> {
    only(table, &keys::of("graph"))?;
    let file: String = table.need("file")?;
    let text = cx.file(table, "file", &file)?;
    // The latencies in ASTRA-sim's files are those of whole links, so its switches have none.
    let usual = if anabranch_fabric::is_astra_network(&file) { Duration::ZERO } else { LATENCY };
    let switch_latency = table.get("switch_latency")?.unwrap_or(usual);
    let spec = TopologySpec::Graph { file, switch_latency };
    let built = anabranch_fabric::build(&spec, Some(&text)).map_err(|e| refused(table, e))?;
    Ok((spec, built.hosts))
}

/// The faults for the error rates in the topology's file, except for rates that a fault in `written` replaces. In the
/// resolved form, the written faults replace all error rates.
pub(in crate::scenario) fn losses(
    cx: &Context,
    table: &Table,
    spec: &TopologySpec,
    written: &[FaultSpec],
) -> Result<Vec<FaultSpec>, Diagnostic> {
    let Some(file) = spec.file() else { return Ok(Vec::new()) };
    let text = cx.file(table, "file", file)?;
    let rates = anabranch_fabric::build(spec, Some(&text)).map_err(|e| refused(table, e))?.error_rates;
    let replaced = written.iter().flat_map(FaultSpec::replaced_error_rates).map(f64::to_bits);
    let replaced: BTreeSet<u64> = replaced.collect();
    let mut losses = Vec::new();
    for rate in rates.iter().filter(|rate| !replaced.contains(&rate.probability.to_bits())) {
        if written.len() + losses.len() == MOST_FAULTS {
            let message = format!(
                "{} is another error rate, and each is a fault, of which a run has {MOST_FAULTS} at most",
                rate.probability
            );
            let help = Some(Fix::text("fewer different error rates, such as rounded ones"));
            return Err(fault(file, rate.lines.first().map(|line| (*line, 1)), message, help));
        }
        losses.push(FaultSpec::of_error_rate(rate));
    }
    Ok(losses)
}

fn hosts(table: &Table) -> Result<u32, Diagnostic> {
    let hosts: u32 = table.need("hosts")?;
    if hosts < 2 {
        let message = format!("hosts must be 2 or more, not {hosts}");
        return Err(table.wrong("hosts", message, Fix::set("hosts", example("hosts"))));
    }
    Ok(hosts)
}
