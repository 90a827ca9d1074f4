//! The links and switches of hosts, servers, rails and planes.

use super::lookup::{check_plane, out_of_range};
use crate::{Servers, Topology};
use anabranch_base::{HostId, LinkId, NodeId, Problem};

pub(super) fn host_links(topology: &Topology, host: u32, port: Option<u32>) -> Result<Vec<LinkId>, Problem> {
    if host >= topology.hosts {
        return Err(out_of_range("host", host, topology.hosts));
    }
    links_of_nic(topology, HostId(host), port, &format!("host:{host}/port"))
}

pub(super) fn server_links(
    topology: &Topology,
    server: u32,
    nic: Option<u32>,
    port: Option<u32>,
) -> Result<Vec<LinkId>, Problem> {
    let nics = servers(topology)?;
    if server >= nics.count() {
        return Err(out_of_range("server", server, nics.count()));
    }
    let nics = nics.nics_of(server);
    let Some(nic) = nic else {
        let mut links: Vec<LinkId> =
            nics.iter().flat_map(|nic| topology.links_of((*nic).into())).map(LinkId).collect();
        links.sort_unstable();
        return Ok(links);
    };
    match nics.get(nic as usize) {
        Some(&host) => links_of_nic(topology, host, port, &format!("server:{server}/nic:{nic}/port")),
        None => Err(out_of_range(&format!("server:{server}/nic"), nic, nics.len() as u32)),
    }
}

fn links_of_nic(
    topology: &Topology,
    host: HostId,
    port: Option<u32>,
    word: &str,
) -> Result<Vec<LinkId>, Problem> {
    let links = topology.links_of(host.into());
    match port {
        None => Ok(links.map(LinkId).collect()),
        Some(port) if port < links.len() as u32 => Ok(vec![LinkId(links.start + port)]),
        Some(port) => Err(out_of_range(word, port, links.len() as u32)),
    }
}

pub(super) fn rail_links(topology: &Topology, rail: u32) -> Result<Vec<LinkId>, Problem> {
    check_rail(topology, rail)?;
    let hosts = (0..topology.hosts).map(HostId);
    let of_rail = hosts.filter(|host| topology.rail_of(*host).map(u32::from) == Some(rail));
    Ok(of_rail.flat_map(|host| topology.links_of(host.into())).map(LinkId).collect())
}

pub(super) fn rail_tors(topology: &Topology, rail: u32) -> Result<Vec<NodeId>, Problem> {
    check_rail(topology, rail)?;
    let tors = (topology.hosts..topology.hosts + topology.tors()).map(NodeId);
    let of_rail: Vec<NodeId> =
        tors.filter(|tor| topology.rail_of_tor(*tor).map(u32::from) == Some(rail)).collect();
    match of_rail.is_empty() {
        true => Err("no ToR has only NICs of one rail".into()),
        false => Ok(of_rail),
    }
}

pub(super) fn nic_links(topology: &Topology, plane: Option<u32>) -> Result<Vec<LinkId>, Problem> {
    let links = (0..topology.port_base[topology.hosts as usize]).map(LinkId);
    let Some(plane) = plane else { return Ok(links.collect()) };
    check_plane(topology, plane)?;
    let leads_there = |link: &LinkId| in_plane(topology, topology.ports[link.index()].peer, plane);
    Ok(links.filter(leads_there).collect())
}

pub(super) fn plane_links(topology: &Topology, plane: u32) -> Result<Vec<LinkId>, Problem> {
    check_plane(topology, plane)?;
    let is_there = |link: &LinkId| {
        let ends = [topology.source(*link), topology.ports[link.index()].peer];
        ends.into_iter().any(|node| in_plane(topology, node, plane))
    };
    Ok((0..topology.links()).map(LinkId).filter(is_there).collect())
}

fn in_plane(topology: &Topology, node: NodeId, plane: u32) -> bool {
    topology.plane_of(node).map(u32::from) == Some(plane)
}

pub(crate) fn servers(topology: &Topology) -> Result<&Servers, Problem> {
    topology.servers.as_ref().ok_or_else(|| "this topology has no servers".into())
}

fn check_rail(topology: &Topology, rail: u32) -> Result<(), Problem> {
    match u32::from(servers(topology)?.rails()) {
        rails if rail < rails => Ok(()),
        rails => Err(out_of_range("rail", rail, rails)),
    }
}
