//! The placement of jobs on hosts.

use super::super::{Fabric, WorkloadError};
use super::Placement;
use anabranch_base::{HostId, Problem, Purpose, stream};
use anabranch_fabric::Servers;
use std::collections::BTreeMap;

/// The hosts of each of `jobs` jobs, in the order of their ranks. The caller has checked that there are enough hosts.
pub(super) fn place_all(
    placement: Placement,
    ranks: u32,
    jobs: u32,
    fabric: &Fabric,
    seed: u64,
) -> Result<Vec<Vec<u32>>, WorkloadError> {
    place_among(placement, (ranks, jobs), ((0..fabric.hosts).collect(), 0), fabric, seed)
}

/// The hosts of each of `jobs` jobs, in the order of their ranks. They are chosen among `hosts`, which has the free
/// hosts in ascending order. `number` selects the random stream, since a workload may have several placements.
pub(super) fn place_among(
    placement: Placement,
    (ranks, jobs): (u32, u32),
    (mut hosts, number): (Vec<u32>, u64),
    fabric: &Fabric,
    seed: u64,
) -> Result<Vec<Vec<u32>>, WorkloadError> {
    match placement {
        Placement::Blocks => {}
        Placement::Random => stream(seed, number, Purpose::WorkloadPairs).shuffle(&mut hosts),
        Placement::Spread => return spread(ranks, jobs, &hosts, fabric),
        Placement::Servers => return on_servers((ranks, jobs), &hosts, fabric),
        Placement::NvlinkDomains => return in_domains((ranks, jobs), &hosts, fabric),
        Placement::Rails => {
            let servers = servers_of(placement, fabric)?;
            hosts.sort_by_key(|&host| place_in(servers, fabric, host).map(|(server, rail)| (rail, server)));
        }
    }
    Ok(hosts.chunks_exact(ranks as usize).take(jobs as usize).map(<[u32]>::to_vec).collect())
}

fn servers_of(placement: Placement, fabric: &Fabric) -> Result<&Servers, WorkloadError> {
    fabric.servers.as_ref().ok_or_else(|| {
        let name = Placement::ALL.iter().find(|(_, other)| *other == placement).map_or("", |(name, _)| name);
        let what = Problem::with_value(
            format!("{name:?} places ranks by the servers of the topology, which has none"),
            "\"blocks\"",
        );
        WorkloadError::key("placement", what)
    })
}

/// The server and the rail of a place of the fabric, which is a host or a GPU. None for a host that is in no server.
fn place_in(servers: &Servers, fabric: &Fabric, place: u32) -> Option<(u32, u16)> {
    let host = if fabric.of_gpus { servers.nic_of_gpu(place) } else { HostId(place) };
    let server = if fabric.of_gpus { servers.server_of_gpu(place) } else { servers.server_of(host)? };
    Some((server, servers.rail_of(host)?))
}

/// The number of places of a server: its NICs, or its GPUs.
fn size_of(servers: &Servers, fabric: &Fabric, server: u32) -> usize {
    if fabric.of_gpus { servers.gpus_of(server).len() } else { servers.nics_of(server).len() }
}

fn on_servers(
    (ranks, jobs): (u32, u32),
    free: &[u32],
    fabric: &Fabric,
) -> Result<Vec<Vec<u32>>, WorkloadError> {
    let servers = servers_of(Placement::Servers, fabric)?;
    let server_of = |place: u32| place_in(servers, fabric, place).map(|(server, _)| server);
    // The hosts or GPUs of servers without other jobs, server by server.
    let whole = free
        .chunk_by(|one, next| server_of(*one) == server_of(*next))
        .filter(|places| {
            server_of(places[0]).is_some_and(|server| places.len() == size_of(servers, fabric, server))
        })
        .collect();
    on_whole(whole, (ranks, jobs), "server")
}

/// Jobs that each begin on one of the units `whole`, which have no other jobs.
fn on_whole(
    mut whole: Vec<&[u32]>,
    (ranks, jobs): (u32, u32),
    unit: &str,
) -> Result<Vec<Vec<u32>>, WorkloadError> {
    let mut groups: Vec<Vec<u32>> = Vec::with_capacity(jobs as usize);
    for job in 0..jobs {
        let mut group: Vec<u32> = Vec::with_capacity(ranks as usize);
        while group.len() < ranks as usize {
            if whole.is_empty() {
                let what = Problem::with_text(
                    format!("only {job} jobs of {ranks} ranks fit where each begins on a {unit} of its own"),
                    "fewer jobs or ranks, or placement = \"blocks\"",
                );
                return Err(WorkloadError::key("placement", what));
            }
            group.extend(whole.remove(0));
        }
        group.truncate(ranks as usize);
        groups.push(group);
    }
    Ok(groups)
}

fn in_domains(
    (ranks, jobs): (u32, u32),
    free: &[u32],
    fabric: &Fabric,
) -> Result<Vec<Vec<u32>>, WorkloadError> {
    let servers = servers_of(Placement::NvlinkDomains, fabric)?;
    let domain_of =
        |place: u32| place_in(servers, fabric, place).map(|(server, _)| servers.domain_of(server));
    let mut sizes: BTreeMap<u32, usize> = BTreeMap::new();
    for server in 0..servers.count() {
        *sizes.entry(servers.domain_of(server)).or_default() += size_of(servers, fabric, server);
    }
    let mut by_domain: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for place in free {
        if let Some(domain) = domain_of(*place) {
            by_domain.entry(domain).or_default().push(*place);
        }
    }
    if sizes.values().all(|size| *size < ranks as usize) {
        by_domain.retain(|domain, places| sizes.get(domain) == Some(&places.len()));
        return on_whole(by_domain.values().map(Vec::as_slice).collect(), (ranks, jobs), "domain");
    }
    let groups =
        by_domain.values().flat_map(|places| places.chunks_exact(ranks as usize)).map(<[u32]>::to_vec);
    let groups: Vec<Vec<u32>> = groups.take(jobs as usize).collect();
    if groups.len() == jobs as usize {
        return Ok(groups);
    }
    let found = groups.len();
    let what = Problem::with_text(
        format!("only {found} jobs of {ranks} ranks fit where none is in two NVLink domains"),
        "fewer jobs or ranks, or placement = \"blocks\"",
    );
    Err(WorkloadError::key("placement", what))
}

/// Takes hosts from the ToRs with the most free hosts, which leaves as many ToRs as possible to later jobs.
fn spread(ranks: u32, jobs: u32, hosts: &[u32], fabric: &Fabric) -> Result<Vec<Vec<u32>>, WorkloadError> {
    let mut by_tor: Vec<(u32, u32)> =
        hosts.iter().map(|&host| (fabric.tor_of[host as usize], host)).collect();
    by_tor.sort_unstable();
    let mut tors: Vec<&[(u32, u32)]> = by_tor.chunk_by(|a, b| a.0 == b.0).collect();
    let count = tors.len();
    if ranks as usize > count {
        let what = Problem::with_text(
            format!("{ranks} ranks cannot be under different ToRs: the fabric has {count}"),
            format_args!("at most {count} ranks, or placement = \"random\""),
        );
        return Err(WorkloadError::key("placement", what));
    }
    let mut groups = Vec::with_capacity(jobs as usize);
    for job in 0..jobs {
        // The sort is stable, so that ToRs with equally many free hosts keep their order.
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by_key(|&tor| std::cmp::Reverse(tors[tor].len()));
        order.truncate(ranks as usize);
        order.sort_unstable();
        let mut group = Vec::with_capacity(ranks as usize);
        for tor in order {
            let Some((&(_, host), others)) = tors[tor].split_first() else {
                let what = Problem::with_text(
                    format!("only {job} jobs of {ranks} ranks fit with each rank under a different ToR"),
                    format_args!("at most {job} jobs, or placement = \"random\""),
                );
                return Err(WorkloadError::key("placement", what));
            };
            group.push(host);
            tors[tor] = others;
        }
        groups.push(group);
    }
    Ok(groups)
}
