//! Suggestions for texts that name a part of a cluster in a form that selectors do not have.

use super::Selector;
use super::cluster::rail_tors;
use crate::{Servers, Topology};
use anabranch_base::{HostId, Purpose, stream};

/// Words that users write for a server if the name of one of its NICs follows.
const SERVER: [&str; 5] = ["server", "node", "host", "dgx", "hgx"];
/// Words that users write for a NIC of a server.
const NIC: [&str; 5] = ["nic", "hca", "rnic", "rail", "mlx"];
/// Words that users write for all NICs.
const NICS: [&str; 6] = ["nics", "all-nics", "nic-links", "host-links", "nic-ports", "ports"];

/// The selector for a text that names a GPU, a NIC, one of its ports, a ToR of a rail, or the links of a rail or of a
/// plane: `server:0/gpu:3`, `gpu:3`, `server:0/hca:3/port:1`, `hca:3`, `rail:3/tor:0` or `plane:1/nics`. `text` has a
/// colon between each word and its number.
pub(super) fn part_of_cluster(text: &str, topology: &Topology, links: bool) -> Option<String> {
    let servers = topology.servers.as_ref().filter(|servers| servers.count() > 0)?;
    if let Some(rail) = NICS.iter().find_map(|nics| text.strip_prefix(nics)?.strip_prefix(":rail:")) {
        let rail: u16 = rail.parse().ok()?;
        return Some(format!("rail:{rail}")).filter(|_| links && rail < servers.rails());
    }
    if let Some(nics) = text.strip_prefix("plane:").and_then(|plane| plane.split_once('/')).filter(|_| links)
        && NICS.contains(&nics.1)
    {
        return existing(format!("nic-links:plane:{}", nics.0), topology);
    }
    if NICS.contains(&text) {
        return Some("nic-links".to_owned()).filter(|_| links);
    }
    let parts: Vec<(&str, u32)> = text
        .split('/')
        .map(|part| part.rsplit_once(':').and_then(|(word, number)| Some((word, number.parse().ok()?))))
        .collect::<Option<_>>()?;
    match parts[..] {
        [("rail", rail), ("tor" | "leaf", tor)] => {
            let tor = topology.node_name(*rail_tors(topology, rail).ok()?.get(tor as usize)?);
            Some(if links { format!("{tor}/up") } else { tor })
        }
        [("rail", rail), ("plane", plane)] | [("plane", plane), ("rail", rail)] => {
            let tors = rail_tors(topology, rail).ok()?;
            let names = tors.iter().map(|tor| topology.node_name(*tor));
            let in_plane = names.filter(|name| name.starts_with(&format!("plane:{plane}/")));
            let [ref tor] = in_plane.collect::<Vec<_>>()[..] else { return None };
            Some(if links { format!("{tor}/down") } else { tor.clone() })
        }
        _ if !links => None,
        [("plane", plane), ref nic @ ..] => of_port(nic_named(nic, servers)?, Some(plane), topology),
        [ref nic @ .., ("port" | "plane", port)] => of_port(nic_named(nic, servers)?, Some(port), topology),
        ref nic => of_port(nic_named(nic, servers)?, None, topology),
    }
}

/// The NIC that these words and numbers name. A number that is too large means the last server, NIC or GPU, except in
/// the form `server:0/gpu:3`.
fn nic_named(parts: &[(&str, u32)], servers: &Servers) -> Option<HostId> {
    let within = |server: u32, number: u32| {
        let nics = servers.nics_of(server.min(servers.count() - 1));
        nics.get((number as usize).min(nics.len().checked_sub(1)?)).copied()
    };
    match *parts {
        [("gpu" | "rank", gpu)] => Some(servers.nic_of_gpu(gpu.min(servers.gpus().checked_sub(1)?))),
        // The number after `nic` counts through all servers. Device names, such as `hca:3`, are those of one server.
        [("nic", nic)] if nic < servers.hosts() => Some(HostId(nic)),
        [(nic, number)] if nic != "rail" && NIC.contains(&nic) => within(0, number),
        [(server, number), ("gpu", gpu)] if SERVER.contains(&server) && number < servers.count() => {
            Some(servers.nic_of_gpu(servers.gpus_of(number).nth(gpu as usize)?))
        }
        [(server, number), (nic, rail)] if SERVER.contains(&server) && NIC.contains(&nic) => {
            within(number, rail)
        }
        [("rail", rail), (server, number)] if SERVER.contains(&server) => within(number, rail),
        _ => None,
    }
}

/// The name of a NIC, or of its port number `port` if that is given. A number that is too large means the last port.
fn of_port(nic: HostId, port: Option<u32>, topology: &Topology) -> Option<String> {
    let name = topology.node_name(nic.into());
    let last = u32::from(topology.host_ports(nic)).checked_sub(1)?;
    Some(match port {
        Some(port) => format!("{name}/port:{}", port.min(last)),
        None => name,
    })
}

/// The text, if it is a selector of links of the topology.
fn existing(text: String, topology: &Topology) -> Option<String> {
    let mut random = stream(1, 0, Purpose::FaultSelection);
    let selector = Selector::parse(&text).ok()?;
    selector.links(topology, &mut random).is_ok().then_some(text)
}

impl Selector {
    /// Examples of selectors that name something in `topology`: links if `links` is true, otherwise switches.
    pub fn examples(topology: &Topology, links: bool) -> Vec<String> {
        let mut random = stream(1, 0, Purpose::FaultSelection);
        let mut exists = |text: &&str| match Selector::parse(text) {
            Ok(selector) if links => selector.links(topology, &mut random).is_ok(),
            Ok(selector) => selector.switches(topology, &mut random).is_ok(),
            Err(_) => false,
        };
        let nodes = match (links, topology.servers.is_some()) {
            (true, true) => {
                &["server:0", "server:0/nic:0", "server:0/nic:0/port:0", "rail:0", "nic-links"][..]
            }
            (true, false) => &["host:0", "host-links:3%"],
            (false, _) => &["rail:0"],
        };
        let switches = match (links, topology.planes.is_empty()) {
            (true, true) => &["tor:0/up", "spine:0/down:0", "tor-uplinks:3%", "esw-uplinks"][..],
            (true, false) => &["nic-links:plane:0", "plane:0/tor:0/up", "plane:0/tor-uplinks:3%"],
            (false, true) => &["tor:0", "spine:0", "core:0", "esw:0", "switch:0", "tor:5%"],
            (false, false) => &["plane:0", "plane:0/tor:0", "plane:0/spine:0"],
        };
        nodes.iter().chain(switches).copied().filter(|text| exists(text)).map(str::to_owned).collect()
    }
}
