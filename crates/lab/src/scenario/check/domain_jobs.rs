//! Jobs and NVLink domains: hints for jobs that send no packet because each is in one domain, and warnings about jobs
//! that fit in a domain but are in two.

use crate::scenario::read::source_map::Origin;
use crate::scenario::read::table::fault;
use anabranch_base::{Diagnostic, Fix};
use anabranch_fabric::{Servers, Topology};
use anabranch_workload::collective::{CollectiveSpec, Members, Placement};
use anabranch_workload::{Fabric, ServerSpec, WorkloadSpec};
use std::collections::{BTreeMap, BTreeSet};

/// A seed for placements. A random placement may differ with the seed, and no hint depends on it.
const SEED: u64 = 1;

/// A collective whose ranks are GPUs of the topology's servers.
struct OnGpus<'a> {
    spec: &'a CollectiveSpec,
    servers: &'a Servers,
    fabric: Fabric,
}

impl<'a> OnGpus<'a> {
    fn of(spec: &'a WorkloadSpec, on: &'a Topology) -> Option<OnGpus<'a>> {
        let WorkloadSpec::Collective(spec) = spec else { return None };
        let Some(ServerSpec { ranks: None, .. }) = spec.server else { return None };
        Some(OnGpus { spec, servers: on.servers.as_ref()?, fabric: Fabric::of(on) })
    }

    /// The number of GPUs of the largest domain.
    fn domain(&self) -> u32 {
        let mut gpus: BTreeMap<u32, u32> = BTreeMap::new();
        for server in 0..self.servers.count() {
            *gpus.entry(self.servers.domain_of(server)).or_default() +=
                self.servers.gpus_of(server).len() as u32;
        }
        gpus.into_values().max().unwrap_or(0)
    }

    /// The number of domains of each job. `None` if the jobs cannot be placed.
    fn domains(&self, ranks: u32, jobs: u32, placement: Placement) -> Option<Vec<usize>> {
        let members = Members::Placed { ranks, jobs, placement };
        let groups = CollectiveSpec { members, ..self.spec.clone() }.places(&self.fabric, SEED).ok()?;
        let domain = |gpu: &u32| self.servers.domain_of(self.servers.server_of_gpu(*gpu));
        Some(groups.iter().map(|group| group.iter().map(domain).collect::<BTreeSet<_>>().len()).collect())
    }

    fn is_across(&self, ranks: u32, jobs: u32, placement: Placement) -> bool {
        self.domains(ranks, jobs, placement).is_some_and(|jobs| jobs.iter().all(|domains| *domains > 1))
    }
}

/// Changes with which the jobs of `spec` send packets. `None` for groups and for a single job in host order.
pub(super) fn with_packets(spec: &WorkloadSpec, on: &Topology) -> Option<String> {
    let found = OnGpus::of(spec, on)?;
    let Members::Placed { ranks, jobs, placement } = found.spec.members else { return None };
    if jobs == 1 && placement == Placement::Blocks {
        return None;
    }
    let (two, all) = (2 * found.domain(), found.servers.gpus());
    let most = (all / two.max(1)).min(jobs);
    let of_jobs = if most == jobs { String::new() } else { format!(" with jobs = {most}") };
    let without = if placement == Placement::Blocks { "" } else { " and without placement" };
    let larger = [(placement, ""), (Placement::Blocks, without)]
        .into_iter()
        .find(|(placement, _)| most > 0 && two < all && found.is_across(two, most, *placement))
        .map(|(_, without)| format!("ranks = {two}{of_jobs}{without}, the GPUs of two domains for each job"));
    let by_rail = found.is_across(ranks, jobs, Placement::Rails);
    let by_rail = by_rail.then(|| "placement = \"rails\", for jobs across domains".to_owned());
    let keys =
        if placement == Placement::Blocks { "no ranks and no jobs" } else { "no ranks, jobs and placement" };
    let one =
        found.is_across(all, 1, Placement::Blocks).then(|| format!("{keys}, for one job of all {all} GPUs"));
    let on_purpose = placement == Placement::NvlinkDomains;
    let as_it_is = on_purpose.then(|| "as it is, if jobs within their domains are meant".to_owned());
    let hints: Vec<String> = [larger, by_rail, one, as_it_is].into_iter().flatten().collect();
    (!hints.is_empty()).then(|| hints.join("; or "))
}

/// The first finding of jobs that fit in an NVLink domain and are in two.
#[derive(Default)]
pub(in crate::scenario) struct SplitJobs(Option<(String, String)>);

impl SplitJobs {
    pub(in crate::scenario) fn look(&mut self, spec: &WorkloadSpec, on: &Topology) {
        if self.0.is_none() {
            self.0 = split(spec, on);
        }
    }

    pub(in crate::scenario) fn warnings(self, origin: &Origin) -> Vec<Diagnostic> {
        let warning = |(message, help): (String, String)| {
            fault(&origin.file, origin.place("workload.jobs"), message, Some(Fix::text(help)))
        };
        self.0.map(warning).into_iter().collect()
    }
}

/// The message and the hint. Random places, those by rail and those below different ToRs are across domains on purpose.
fn split(spec: &WorkloadSpec, on: &Topology) -> Option<(String, String)> {
    let found = OnGpus::of(spec, on)?;
    let Members::Placed { ranks, jobs, placement } = found.spec.members else { return None };
    let domain = found.domain();
    if jobs < 2 || ranks > domain || ![Placement::Blocks, Placement::Servers].contains(&placement) {
        return None;
    }
    let of_each = found.domains(ranks, jobs, placement)?;
    let split: Vec<usize> = (0..of_each.len()).filter(|job| of_each[*job] > 1).collect();
    let which = match split[..] {
        [] => return None,
        [job] => format!("job {job} of {ranks} ranks is"),
        [first, .., last] => format!("{} jobs of {ranks} ranks, from {first} to {last}, are", split.len()),
    };
    let message = format!(
        "{which} split over several NVLink domains, although {ranks} GPUs fit in one of {domain}: the parts send to each \
         other over the network"
    );
    let fits = |jobs: &u32| found.domains(ranks, *jobs, Placement::NvlinkDomains).is_some();
    let most = (1..=jobs).rev().find(fits)?;
    let with_jobs = if most == jobs { String::new() } else { format!(" with jobs = {most}") };
    let help = format!(
        "placement = \"nvlink-domains\"{with_jobs}, so that such jobs send nothing over the network; or as it is, if that is \
         meant"
    );
    Some((message, help))
}
