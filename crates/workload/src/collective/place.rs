//! The placement of jobs on hosts.

use super::super::{Fabric, WorkloadError};
use super::Placement;
use anabranch_base::{Problem, Purpose, stream};

/// The hosts of each of `jobs` jobs, by rank. The caller has checked that there are enough hosts.
pub(super) fn place_all(
    placement: Placement,
    ranks: u32,
    jobs: u32,
    fabric: &Fabric,
    seed: u64,
) -> Result<Vec<Vec<u32>>, WorkloadError> {
    place_among(placement, (ranks, jobs), ((0..fabric.hosts).collect(), 0), fabric, seed)
}

/// The hosts of each of `jobs` jobs, by rank, among free hosts in ascending order. `number` selects the random stream, as
/// there may be several placements.
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
    }
    Ok(hosts.chunks_exact(ranks as usize).take(jobs as usize).map(<[u32]>::to_vec).collect())
}

/// [`Placement::Spread`]. Taking hosts of the ToRs with the most free ones leaves as many ToRs as possible to later jobs.
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
        // The sort is stable, so the first ToR comes first among equals.
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
