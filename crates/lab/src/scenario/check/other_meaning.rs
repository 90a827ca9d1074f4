//! Warnings about valid values that most likely mean something else than their author thinks: servers of a job beside
//! those of the topology or with a last one that is not full, GPUs of a server that are those of all, and a largest size
//! that no test of a sweep has.

use crate::scenario::expand::nccl_sweep;
use crate::scenario::expand::resolved::Scenario;
use crate::scenario::read::source_map::Origin;
use crate::scenario::read::table::fault;
use crate::scenario::resolve::fabric_values::NVLINK_OF_DATA_SHEETS;
use anabranch_base::{Diagnostic, Fix, Rate};
use anabranch_fabric::{Topology, TopologySpec};
use anabranch_workload::collective::{CollectiveSpec, Members};
use anabranch_workload::{Job, ServerSpec, Workload, WorkloadSpec};
use std::collections::BTreeMap;

/// The largest number of GPUs of a server that share NICs, in servers that are built.
const MOST_GPUS: u32 = 16;

/// The GPUs of the largest NVLink domain that is built, that of NVL72.
const MOST_OF_DOMAIN: u32 = 72;

/// The first finding about each key, by its path: the message and the fix.
#[derive(Default)]
pub(in crate::scenario) struct OtherMeaning(BTreeMap<String, (String, Fix)>);

impl OtherMeaning {
    pub(in crate::scenario) fn look(
        &mut self,
        spec: &TopologySpec,
        (workload, built): (&WorkloadSpec, &Workload),
        on: &Topology,
    ) {
        if let Some((_, clos)) = spec.clos()
            && clos.gpus > MOST_GPUS.max(clos.nics)
        {
            let (servers, gpus, nics) = (clos.servers, clos.gpus, clos.nics);
            let message = format!(
                "gpus = {gpus} is the number of each server: {servers} servers with {nics} NICs have {} GPUs in all",
                u64::from(gpus) * u64::from(servers)
            );
            let help = match gpus.checked_div(servers) {
                Some(of_each) if of_each > 1 && gpus.is_multiple_of(servers) => {
                    format!("gpus = {of_each} for {gpus} GPUs in all; or as it is, if a server has {gpus}")
                }
                _ => format!("the GPUs of one server, such as gpus = {nics}"),
            };
            self.add("topology.gpus".to_owned(), message, help.into());
        }
        self.look_at_domain(spec);
        self.look_at_last_servers(workload, &built.jobs);
        match workload {
            WorkloadSpec::Collective(job) => self.look_at_server("workload", job.server, on),
            WorkloadSpec::Trace(job) => self.look_at_server("workload", job.server, on),
            WorkloadSpec::Jobs { job } => {
                let each = job.iter().enumerate();
                each.for_each(|(number, job)| {
                    self.look_at_server(&format!("workload.job.{number}"), job.server, on);
                });
            }
            _ => {}
        }
    }

    /// A domain of more GPUs than any that is built most likely has their number in place of that of the servers.
    fn look_at_domain(&mut self, spec: &TopologySpec) {
        let Some((_, clos)) = spec.clos() else { return };
        let (domain, gpus) = (clos.nvlink_domain, clos.gpus.max(1));
        let all = domain.saturating_mul(gpus);
        if domain > 1 && all > MOST_OF_DOMAIN {
            let message = format!(
                "nvlink_domain = {domain} counts servers: NVLink connects {all} GPUs of {domain} servers"
            );
            let help = match domain.is_multiple_of(gpus) {
                true => format!(
                    "nvlink_domain = {} for {domain} GPUs; or as it is, if {all} are connected",
                    domain / gpus
                ),
                false => format!(
                    "the servers of a domain, such as nvlink_domain = {}",
                    (MOST_OF_DOMAIN / gpus).max(1)
                ),
            };
            self.add("topology.nvlink_domain".to_owned(), message, help.into());
        }
    }

    /// A job whose ranks do not divide into servers has a last one with fewer.
    fn look_at_last_servers(&mut self, workload: &WorkloadSpec, jobs: &[Job]) {
        let each: Vec<(String, Option<ServerSpec>)> = match workload {
            WorkloadSpec::Collective(job) => vec![("workload".to_owned(), job.server); jobs.len()],
            WorkloadSpec::Trace(job) => vec![("workload".to_owned(), job.server); jobs.len()],
            WorkloadSpec::Jobs { job } => (0..)
                .zip(job)
                .map(|(number, job): (u32, _)| (format!("workload.job.{number}"), job.server))
                .collect(),
            _ => return,
        };
        for (job, (path, server)) in jobs.iter().zip(each) {
            let all = job.hosts.len() as u32;
            let Some(ranks) = server.and_then(|server| server.ranks) else { continue };
            if all <= ranks || all.is_multiple_of(ranks) {
                continue;
            }
            let (whole, rest) = (all / ranks, all % ranks);
            let servers = if whole == 1 { "one server" } else { &format!("{whole} servers") };
            let message = format!("the {all} ranks of the job are {servers} of {ranks} and one of {rest}");
            let divisor =
                nearest_divisor(all, ranks).map(|near| format!("ranks = {near}, which divides {all}"));
            let full = match workload {
                WorkloadSpec::Collective(CollectiveSpec { members: Members::Placed { .. }, .. }) => {
                    Some(format!("ranks = {} below [workload], for full servers only", all - rest))
                }
                WorkloadSpec::Collective(_) => {
                    Some(format!("groups of {} ranks, for full servers only", all - rest))
                }
                _ => None,
            };
            let help: Vec<String> = divisor.into_iter().chain(full).collect();
            let help =
                if help.is_empty() { format!("a job of {} ranks", all - rest) } else { help.join("; or ") };
            self.add(format!("{path}.server.ranks"), message, help.into());
        }
    }

    fn look_at_server(&mut self, job: &str, server: Option<ServerSpec>, on: &Topology) {
        let (Some(server), Some(servers)) = (server, &on.servers) else { return };
        let nvlink = servers.nvlink.map(|nvlink| nvlink.rate);
        if let Some(ranks) = server.ranks {
            let knows_servers = server.channels.is_some() || server.pxn.is_some();
            let what = match knows_servers {
                true => "",
                false => ", of which collectives know nothing: they have one channel, without rails and PXN",
            };
            let message = format!(
                "ranks = {ranks} makes servers of {ranks} consecutive NICs each, beside the topology's own servers{what}"
            );
            let link = nvlink.is_none().then(|| format!("link = \"{}\"", server.link));
            let keys = [
                link,
                server.pxn.map(|pxn| format!("pxn = {pxn}")),
                server.channels.map(|channels| format!("channels = {channels}")),
                server.nvls.then(|| "nvls = true".to_owned()),
            ];
            let keys: Vec<String> = keys.into_iter().flatten().collect();
            let keys = if keys.is_empty() { String::new() } else { format!(" {} ", keys.join(", ")) };
            let help = format!("server = {{{keys}}}: the ranks are then the GPUs of the topology's servers");
            self.add(format!("{job}.server.ranks"), message, help.into());
            return;
        }
        let is_of_data_sheet = |rate| NVLINK_OF_DATA_SHEETS.iter().any(|of| rate == Rate::from_gbps(*of));
        if let Some(of_topology) =
            nvlink.filter(|rate| *rate != server.link && !is_of_data_sheet(server.link))
        {
            let message = format!(
                "link = \"{}\" is the NVLink of this job, in place of the topology's {of_topology}",
                server.link
            );
            let help = format!(
                "no link here, and nvlink = \"{}\" below [topology] if that is its rate",
                server.link
            );
            self.add(format!("{job}.server.link"), message, help.into());
        }
    }

    fn add(&mut self, path: String, message: String, fix: Fix) {
        self.0.entry(path).or_insert((message, fix));
    }

    pub(in crate::scenario) fn warnings(self, scenario: &Scenario, origin: &Origin) -> Vec<Diagnostic> {
        let is_changed = |path: &str| origin.is_varied(path) || scenario.sweep.contains_key(path);
        let found = self.0.into_iter().filter(|(path, _)| !is_changed(path));
        let warnings =
            found.map(|(path, (message, fix))| fault(&origin.file, origin.place(&path), message, Some(fix)));
        warnings.chain(nccl_sweep::left_out(origin)).collect()
    }
}

/// The divisor of `all` that is nearest to `number`, from 2 on and below `all`; the larger one of two.
fn nearest_divisor(all: u32, number: u32) -> Option<u32> {
    let divisors = (2..=all / 2).filter(|divisor| all.is_multiple_of(*divisor));
    divisors.min_by_key(|divisor| (divisor.abs_diff(number), std::cmp::Reverse(*divisor)))
}
