//! The components of a fabric as text and as JSON: servers, planes, tiers, cables, bisection.

use anabranch_base::{HostId, Rate};
use anabranch_sim::topology::{TierSummary, Topology};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::ops::RangeInclusive;

pub fn lines(topology: &Topology) -> String {
    let (summary, mut text) = (topology.summary(), String::new());
    if let Some(servers) = &topology.servers {
        let (count, rails) = (servers.count(), servers.rails());
        let of_each = servers.gpus().checked_div(count).unwrap_or(0);
        let _ = writeln!(
            text,
            "servers    {count} of {of_each} GPUs and {rails} NICs, a rail for each NIC of a server"
        );
        if let Some(nvlink) = servers.nvlink {
            let (rate, latency) = (nvlink.rate.about(), nvlink.latency);
            let of_first = (0..count).filter(|server| servers.domain_of(*server) == 0).count() as u32;
            let domain = match of_first {
                0 | 1 => String::new(),
                _ => format!(", in domains of {of_first} servers, which are {} GPUs", of_first * of_each),
            };
            let _ = writeln!(
                text,
                "nvlink     {rate} of a GPU in each direction, {latency} from GPU to GPU{domain}"
            );
        }
    }
    let planes = topology.plane_count();
    if *summary.host_ports.end() > 1 {
        let network = match planes {
            1 => "in one network".to_owned(),
            _ => format!("each in one of {planes} planes"),
        };
        let rates = (0..topology.hosts).map(|host| {
            let links = topology.links_of(HostId(host).into());
            Rate(links.map(|link| topology.ports[link as usize].rate.0).sum())
        });
        let rate = rates.max().unwrap_or_default().about();
        let _ =
            writeln!(text, "ports      {} of a host, {network}, {rate} in all", between(&summary.host_ports));
    }
    for tier in &summary.tiers {
        let of_plane = match planes {
            1 => String::new(),
            _ => format!(" ({} a plane)", tier.switches / u32::from(planes)),
        };
        let _ = writeln!(
            text,
            "{:<10} {}{of_plane} {}",
            tier.word,
            counted(tier.switches, "switch"),
            ports(tier)
        );
    }
    let between_switches: u32 = summary.tiers.iter().map(|tier| tier.up_cables + tier.level_cables).sum();
    let _ =
        writeln!(text, "cables     {} to hosts, {between_switches} between switches", summary.host_cables);
    if let Some(rate) = summary.bisection {
        let _ = writeln!(text, "bisection  {} from half of the hosts to the others", rate.about());
    } else {
        text.push_str("bisection  not given: switches of one tier have links among them and to others\n");
    }
    text
}

/// The ports of a tier's switches as text: `with ports: 32 down, 32 up of 400 Gbps; oversubscription 1:1`.
fn ports(tier: &TierSummary) -> String {
    let most = |counts: &RangeInclusive<u16>| *counts.end();
    let parts = [(&tier.down, "down"), (&tier.level, "to its own tier"), (&tier.up, "up")];
    let rate = tier.up_rate.map_or_else(String::new, |rate| format!(" of {}", rate.about()));
    let ways: Vec<String> = parts
        .into_iter()
        .filter(|(counts, _)| most(counts) > 0)
        .map(|(counts, way)| {
            format!("{} {way}{}", between(counts), if way == "up" { rate.as_str() } else { "" })
        })
        .collect();
    let ratio = tier.oversubscription.map(|ratio| {
        let rounded = (ratio * 100.0).round() / 100.0;
        format!("; oversubscription {rounded}:1")
    });
    format!("with ports: {}{}", ways.join(", "), ratio.unwrap_or_default())
}

fn between(counts: &RangeInclusive<u16>) -> String {
    match counts.start() == counts.end() {
        true => counts.end().to_string(),
        false => format!("{} to {}", counts.start(), counts.end()),
    }
}

fn counted(count: u32, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}es") }
}

pub fn json(topology: &Topology) -> Value {
    let summary = topology.summary();
    let tiers: Vec<Value> = summary
        .tiers
        .iter()
        .map(|tier| {
            json!({
                "name": tier.word,
                "switches": tier.switches,
                "ports_down": tier.down.end(),
                "ports_up": tier.up.end(),
                "ports_in_tier": tier.level.end(),
                "cables_up": tier.up_cables,
                "cables_in_tier": tier.level_cables,
                "oversubscription": tier.oversubscription,
            })
        })
        .collect();
    json!({
        "servers": topology.servers.as_ref().map(|servers| servers.count()),
        "gpus": topology.servers.as_ref().map(|servers| servers.gpus()),
        "rails": topology.servers.as_ref().map(|servers| servers.rails()),
        "planes": topology.plane_count(),
        "host_ports": summary.host_ports.end(),
        "host_cables": summary.host_cables,
        "tiers": tiers,
        "bisection_bps": summary.bisection.map(|rate| rate.0),
    })
}
