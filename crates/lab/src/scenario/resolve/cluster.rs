//! `[topology]` for clusters of servers and for directly connected switches.

use crate::scenario::keys;
use crate::scenario::read::table::Table;
use crate::scenario::resolve::fabric_values::{LATENCY, nvlink_rate, oversubscription, rate, ratio, refused};
use crate::scenario::schema::cluster_words;
use crate::scenario::schema::files::Context;
use crate::scenario::schema::unknown_keys::only;
use anabranch_base::{Diagnostic, Duration, Fix, Rate};
use anabranch_fabric::{
    ClosInput, ClosKind, DragonflySpec, FullMeshSpec, NcclServer, SpineGroup, TopologySpec, TorusSpec,
    clos_defaults,
};

const SPINE_GROUPS: &[(&str, SpineGroup)] = &[("pod", SpineGroup::Pod), ("rail", SpineGroup::Rail)];

/// The topology with its number of hosts.
type Read = Result<(TopologySpec, u32), Diagnostic>;

pub(super) fn clos(cx: &Context, table: &Table, kind: ClosKind) -> Read {
    counts_servers(cx, table, kind)?;
    only(table, &keys::of(kind.name()))?;
    let server = server(cx, table, kind)?;
    let of_file = server.as_ref();
    let link = rate(table, "link")?.or(of_file.map(|server| server.link));
    // If the scenario changes the numbers of GPUs or NICs, the file's assignment of GPUs to NICs no longer applies.
    let changed = ["gpus", "nics"].iter().any(|key| table.node(key).is_some());
    let of_gpus = of_file.filter(|_| !changed).map(|server| server.gpu_nics.clone());
    let input = ClosInput {
        servers: table.need("servers")?,
        gpus: table.get("gpus")?.or(of_file.map(|server| server.gpus)),
        nics: table.get("nics")?.or(of_file.map(|server| server.nics)),
        ports: table.get("ports")?.or(of_file.map(|server| server.ports)),
        gpu_nics: table.get("gpu_nics")?.or(of_gpus).unwrap_or_default(),
        nvlink: nvlink_rate(table, "nvlink")?.or(of_file.and_then(|server| server.nvlink)),
        nvlink_latency: table.get("nvlink_latency")?,
        nvlink_domain: table.get("nvlink_domain")?,
        segment: table.get("segment")?,
        pod: table.get("pod")?,
        tiers: table.get("tiers")?,
        spine_group: table
            .node("spine_group")
            .map(|_| table.word("spine_group", SPINE_GROUPS))
            .transpose()?,
        oversubscription: None,
        uplinks: table.get("uplinks")?,
        spines: table.get("spines")?,
        core_oversubscription: None,
        core_uplinks: table.get("core_uplinks")?,
        cores: table.get("cores")?,
        link: link.ok_or_else(|| table.missing("link"))?,
        uplink: rate(table, "uplink")?,
        core_link: rate(table, "core_link")?,
        link_latency: table.get("link_latency")?.unwrap_or(LATENCY),
        switch_latency: table.get("switch_latency")?.unwrap_or(LATENCY),
        radix: match cluster_words::radix_by_name(table) {
            Some((message, fix)) => return Err(table.wrong("radix", message, fix)),
            None => table.get("radix")?,
        },
    };
    let ratio = |key: &str| {
        let error = |error| more_uplinks((table, key), kind, &input).unwrap_or(error);
        table.node(key).map(|_| oversubscription(table, key).map_err(error)).transpose()
    };
    let (of_leaves, of_spines) = (ratio("oversubscription")?, ratio("core_oversubscription")?);
    let input = ClosInput { oversubscription: of_leaves, core_oversubscription: of_spines, ..input };
    let spec = clos_defaults(kind, &input).map_err(|e| refused(table, e))?;
    let hosts = spec.hosts();
    let spec = match kind {
        ClosKind::Rails => TopologySpec::Rails(spec),
        ClosKind::MultiPlane => TopologySpec::MultiPlane(spec),
        ClosKind::Hpn => TopologySpec::Hpn(spec),
        ClosKind::DcnPlus => TopologySpec::DcnPlus(spec),
    };
    Ok((spec, hosts))
}

/// The error for an oversubscription below 1, with the number of uplinks that it means.
fn more_uplinks((table, key): (&Table, &str), kind: ClosKind, input: &ClosInput) -> Option<Diagnostic> {
    let ratio = ratio(table, key).ok().filter(|ratio| *ratio > 0.0 && *ratio < 1.0)?;
    let even = clos_defaults(kind, input).ok()?;
    let (uplinks, links, switch) = match key {
        "oversubscription" => ("uplinks", even.uplinks, "leaf"),
        _ => ("core_uplinks", even.core_uplinks, "spine"),
    };
    let more = (f64::from(links) / ratio).round() as u32;
    let with_more = match key {
        "oversubscription" => ClosInput { uplinks: Some(more), ..input.clone() },
        _ => ClosInput { core_uplinks: Some(more), ..input.clone() },
    };
    clos_defaults(kind, &with_more).ok().filter(|_| links > 0)?;
    let message = format!("{key} must be 1 or more, not {ratio}");
    let help = format!(
        "{uplinks} = {more} in its place, the links up of a {switch}; at an oversubscription of 1 it has {links}"
    );
    Some(table.wrong(key, message, help))
}

/// Rejects a number of hosts in place of a number of servers.
fn counts_servers(cx: &Context, table: &Table, kind: ClosKind) -> Result<(), Diagnostic> {
    let Some(node) = table.node("hosts").filter(|_| table.node("servers").is_none()) else { return Ok(()) };
    let of_file = || Ok(server(cx, table, kind)?.map_or(8, |server| server.nics));
    let nics: u32 = table.get("nics")?.map_or_else(of_file, Ok)?.max(1);
    let message = "the hosts of a cluster are the NICs of its servers, and follow from their number";
    let help = match node.value().as_integer() {
        Some(hosts) if hosts > 0 && hosts % i64::from(nics) == 0 => {
            format!("servers = {} instead of hosts, of {nics} NICs each", hosts / i64::from(nics))
        }
        _ => "servers instead of hosts, such as servers = 16".to_owned(),
    };
    Err(table.wrong("hosts", message, help))
}

/// The hint for a table with the keys of a server.
fn of_table(table: &Table, keys: &toml::Table, kind: ClosKind) -> Fix {
    let known = keys::of(kind.name());
    let own = keys.iter().filter(|(key, _)| known.contains(&key.as_str()) && table.node(key).is_none());
    let lines: Vec<String> = own.map(|(key, value)| format!("{key} = {value}")).collect();
    match lines.is_empty() {
        true => Fix::text("[topology] without server; the workload's table is [workload.server]"),
        false => Fix::text(format!("{} below [topology] itself, without a table server", lines.join(", "))),
    }
}

/// Reads the server from an NCCL file, if the scenario names one.
fn server(cx: &Context, table: &Table, kind: ClosKind) -> Result<Option<NcclServer>, Diagnostic> {
    if let Some(number) = table.node("server").and_then(|node| node.value().as_integer()) {
        let message = "server is the file that describes a server, and servers is their number";
        return Err(table.wrong("server", message, Fix::set("servers", number)));
    }
    if let Some(toml::Value::Table(keys)) = table.node("server").map(|node| node.value()) {
        let message =
            "server: the file that describes a server, not a table; its numbers are keys of [topology]";
        return Err(table.wrong("server", message, of_table(table, &keys, kind)));
    }
    let Some(file) = table.get::<String>("server")? else { return Ok(None) };
    let text = cx.file(table, "server", &file)?;
    anabranch_fabric::parse_nccl(&file, &text).map(Some).map_err(|error| refused(table, error))
}

pub(super) fn dragonfly(table: &Table) -> Read {
    only(table, &keys::of("dragonfly"))?;
    let (link, link_latency) = (link(table)?, table.get("link_latency")?.unwrap_or(LATENCY));
    let (routers, global_links) = (table.need("routers")?, table.need("global_links")?);
    let spec = DragonflySpec {
        hosts_per_router: table.need("hosts_per_router")?,
        routers,
        global_links,
        router_groups: table
            .get("router_groups")?
            .unwrap_or_else(|| DragonflySpec::most_groups(routers, global_links)),
        link,
        link_latency,
        global_link: rate(table, "global_link")?.unwrap_or(link),
        global_link_latency: table.get("global_link_latency")?.unwrap_or(link_latency),
        switch_latency: table.get("switch_latency")?.unwrap_or(LATENCY),
        radix: table.get("radix")?,
    };
    spec.check().map_err(|e| refused(table, e))?;
    let hosts = spec.hosts();
    Ok((TopologySpec::Dragonfly(spec), hosts))
}

pub(super) fn torus(table: &Table) -> Read {
    only(table, &keys::of("torus"))?;
    let (dims, link): (Vec<u32>, Rate) = (table.need("dims")?, link(table)?);
    let of_switch = TorusSpec::links_of_switch(&dims);
    let spec = TorusSpec {
        link,
        link_latency: table.get("link_latency")?.unwrap_or(LATENCY),
        host_link: rate(table, "host_link")?.unwrap_or(times(link, of_switch, 1)),
        host_link_latency: table.get("host_link_latency")?.unwrap_or(Duration::ZERO),
        switch_latency: table.get("switch_latency")?.unwrap_or(LATENCY),
        radix: table.get("radix")?,
        dims,
    };
    spec.check().map_err(|e| refused(table, e))?;
    let hosts = spec.hosts();
    Ok((TopologySpec::Torus(spec), hosts))
}

pub(super) fn full_mesh(table: &Table) -> Read {
    only(table, &keys::of("full-mesh"))?;
    let (tors, link): (u32, Rate) = (table.need("tors")?, link(table)?);
    let hosts_per_tor: u32 = table.get("hosts_per_tor")?.unwrap_or(1);
    let link_latency = table.get("link_latency")?.unwrap_or(LATENCY);
    // A switch with a single host is a part of that host, so the link between them has no latency.
    let to_host = if hosts_per_tor > 1 { link_latency } else { Duration::ZERO };
    let spec = FullMeshSpec {
        tors,
        hosts_per_tor,
        link,
        link_latency,
        host_link: rate(table, "host_link")?.unwrap_or(times(link, tors.saturating_sub(1), hosts_per_tor)),
        host_link_latency: table.get("host_link_latency")?.unwrap_or(to_host),
        switch_latency: table.get("switch_latency")?.unwrap_or(LATENCY),
        radix: table.get("radix")?,
    };
    spec.check().map_err(|e| refused(table, e))?;
    let hosts = spec.hosts();
    Ok((TopologySpec::FullMesh(spec), hosts))
}

fn link(table: &Table) -> Result<Rate, Diagnostic> {
    rate(table, "link")?.ok_or_else(|| table.missing("link"))
}

/// The total rate of `links` links, divided among `hosts` hosts.
fn times(link: Rate, links: u32, hosts: u32) -> Rate {
    Rate(link.0.saturating_mul(u64::from(links)) / u64::from(hosts.max(1)))
}
