//! Warnings about NICs that carry nothing, since they belong to no GPU or no channel of a collective uses them, and
//! about channels of a collective that has none.

use crate::scenario::expand::resolved::Step;
use crate::scenario::read::source_map::Origin;
use crate::scenario::read::table::fault;
use anabranch_base::{Diagnostic, HostId, Rate};
use anabranch_fabric::{ClosKind, ClosSpec, Servers, Topology, TopologySpec};
use anabranch_workload::collective::{Algorithm, CollectiveSpec, Operation, nics_of_channels};
use anabranch_workload::{Fabric, Job, ServerSpec, Workload, WorkloadSpec};
use std::collections::BTreeSet;

/// NCCL's largest number of channels, which is also that of a scenario.
const MOST_CHANNELS: u32 = 64;

/// The largest number of ports of a NIC that a scenario may have.
const MOST_PORTS: u32 = 16;

/// The first finding of each kind.
#[derive(Default)]
pub(in crate::scenario) struct IdleNics {
    without_channel: Option<WithoutChannel>,
    /// The message and the hint about NICs that belong to no GPU.
    without_gpu: Option<(String, String)>,
    /// The number of channels of a collective whose algorithm has none.
    undivided: Option<(u32, Algorithm)>,
    /// Whether some point of the sweep has a collective with channels.
    divides: bool,
}

/// A collective whose channels do not use all NICs of its GPUs.
struct WithoutChannel {
    channels: u32,
    idle: usize,
    all: usize,
    /// The number of NICs of an NVLink domain.
    of_domain: u32,
    /// Whether an NVLink domain has several servers.
    is_wide: bool,
    operation: Operation,
    /// A number of channels that uses all of the NICs, if there is one.
    enough: Option<u32>,
    /// Whether the default number of channels uses all of the NICs.
    default_suffices: bool,
    /// The number of NICs that the largest number of channels leaves idle.
    idle_at_most: usize,
}

impl IdleNics {
    pub(in crate::scenario) fn look(
        &mut self,
        step: &Step<'_>,
        workload: &Workload,
        on: &Topology,
        seed: u64,
    ) {
        if let WorkloadSpec::Collective(job) = step.workload {
            self.look_at_algorithm(job);
            if self.without_channel.is_none() {
                self.without_channel = WithoutChannel::of(job, workload, on, seed);
            }
        }
        // Other classes may use the NICs that no GPU has.
        if self.without_gpu.is_none() && step.classes.iter().all(|class| class.traffic.is_none()) {
            self.without_gpu = without_gpu(step, workload, on);
        }
    }

    fn look_at_algorithm(&mut self, job: &CollectiveSpec) {
        let Some(ServerSpec { ranks, channels: Some(channels), .. }) = job.server else { return };
        // With `ranks`, a collective knows its servers only if it has channels.
        let knows_by_channels = ranks.is_some() && job.algorithm == Algorithm::AllreduceHierarchical;
        if job.algorithm.has_channels() || knows_by_channels {
            self.divides = true;
        } else {
            self.undivided = self.undivided.or(Some((channels, job.algorithm)));
        }
    }

    pub(in crate::scenario) fn warnings(self, origin: &Origin) -> Vec<Diagnostic> {
        let path = "workload.server.channels";
        let is_written = origin.is_written(path);
        let of_channels = self.without_channel.map(|found| {
            let message = found.message(is_written);
            fault(&origin.file, origin.place(path), message, Some(found.help(is_written).into()))
        });
        let of_gpus = self.without_gpu.map(|(message, help)| {
            fault(&origin.file, origin.place("topology.nics"), message, Some(help.into()))
        });
        let undivided =
            self.undivided.filter(|_| is_written && !self.divides).map(|(channels, algorithm)| {
                let message = format!(
                    "channels = {channels} divides nothing: rings and trees have channels, and {} has none",
                    algorithm.name()
                );
                let help = "[workload.server] without channels".to_owned();
                fault(&origin.file, origin.place(path), message, Some(help.into()))
            });
        of_channels.into_iter().chain(of_gpus).chain(undivided).collect()
    }
}

impl WithoutChannel {
    fn of(job: &CollectiveSpec, workload: &Workload, on: &Topology, seed: u64) -> Option<WithoutChannel> {
        let server = job.server.filter(|server| server.ranks.is_none() && job.algorithm.has_channels())?;
        let servers = on.servers.as_ref()?;
        let (channels, of_domain) = (server.channels?, servers.nics_of_domain());
        if channels >= of_domain {
            return None;
        }
        let all = nics_with_packets_to_send(workload, servers);
        let used: BTreeSet<HostId> = workload.qps.iter().flat_map(|qp| [qp.src, qp.dst]).collect();
        let idle = all.difference(&used).count();
        if idle == 0 {
            return None;
        }
        let fabric = Fabric::of(on);
        let idle_with = |channels: u32| {
            let used = nics_of_channels(job, channels, &fabric, seed).unwrap_or_default();
            all.difference(&used).count()
        };
        let rails: BTreeSet<u16> = all.iter().filter_map(|nic| servers.rail_of(*nic)).collect();
        let mut whole = (1..=MOST_CHANNELS).filter(|number| number.is_multiple_of(rails.len() as u32));
        let enough = whole.find(|number| *number > channels && idle_with(*number) == 0);
        Some(WithoutChannel {
            channels,
            idle,
            all: all.len(),
            of_domain,
            is_wide: (1..servers.count())
                .any(|server| servers.domain_of(server) == servers.domain_of(server - 1)),
            operation: job.algorithm.operation(),
            enough,
            default_suffices: enough.is_some() && idle_with(of_domain.clamp(1, MOST_CHANNELS)) == 0,
            idle_at_most: if enough.is_some() { 0 } else { idle_with(MOST_CHANNELS) },
        })
    }

    fn message(&self, is_written: bool) -> String {
        let WithoutChannel { channels, idle, all, .. } = self;
        let channels = match is_written {
            true => format!("channels = {channels} leaves"),
            false => format!("the {channels} channels, the most, leave"),
        };
        let unit = if self.is_wide { "an NVLink domain" } else { "a server" };
        format!(
            "{channels} {idle} of the {all} NICs of the job's GPUs without a packet: each channel enters and leaves {unit} by \
             one NIC"
        )
    }

    fn help(&self, is_written: bool) -> String {
        let or_default = if is_written && self.default_suffices { ", or no channels" } else { "" };
        let (most, of_domain) = (MOST_CHANNELS, self.of_domain);
        match self.enough {
            Some(enough) if enough == of_domain => {
                format!("channels = {enough}, one for each NIC{or_default}")
            }
            Some(enough) => format!("channels = {enough}, which use all of them{or_default}"),
            None if self.channels < most => {
                format!(
                    "channels = {most}, the most, which leaves {} of them: a domain has {of_domain} NICs",
                    self.idle_at_most
                )
            }
            None => {
                let instead = match self.operation {
                    Operation::AllReduce => {
                        "algorithm = \"allreduce-hierarchical\", in which each GPU sends by its NIC"
                    }
                    _ => "a smaller nvlink_domain below [topology]",
                };
                format!(
                    "{instead}; more than {most} channels are not possible, and a domain has {of_domain} NICs"
                )
            }
        }
    }
}

/// The NICs of the ranks of jobs that are in several NVLink domains.
fn nics_with_packets_to_send(workload: &Workload, servers: &Servers) -> BTreeSet<HostId> {
    let domain = |nic: &HostId| servers.server_of(*nic).map(|server| servers.domain_of(server));
    let in_several = |job: &&Job| job.hosts.iter().any(|nic| domain(nic) != domain(&job.hosts[0]));
    workload.jobs.iter().filter(in_several).flat_map(|job| job.hosts.iter().copied()).collect()
}

/// The jobs whose ranks are GPUs of the topology's servers.
fn jobs_of_gpus<'a>(spec: &WorkloadSpec, workload: &'a Workload) -> Vec<&'a Job> {
    let is_of_gpus = |server: Option<ServerSpec>| server.is_some_and(|server| server.ranks.is_none());
    let all = |server| workload.jobs.iter().filter(move |_| is_of_gpus(server)).collect();
    match spec {
        WorkloadSpec::Collective(job) => all(job.server),
        WorkloadSpec::Trace(job) => all(job.server),
        WorkloadSpec::Jobs { job } => {
            let each = workload.jobs.iter().zip(job);
            each.filter(|(_, spec)| is_of_gpus(spec.server)).map(|(job, _)| job).collect()
        }
        _ => Vec::new(),
    }
}

/// The message and the hint about NICs of the jobs' servers that belong to no GPU.
fn without_gpu(step: &Step<'_>, workload: &Workload, on: &Topology) -> Option<(String, String)> {
    let servers = on.servers.as_ref()?;
    let jobs = jobs_of_gpus(step.workload, workload);
    let hosts = jobs.iter().flat_map(|job| &job.hosts);
    let of_jobs: BTreeSet<u32> = hosts.filter_map(|nic| servers.server_of(*nic)).collect();
    let (mut all, mut of_gpus) = (0, BTreeSet::new());
    for server in of_jobs {
        all += servers.nics_of(server).len();
        of_gpus.extend(servers.gpus_of(server).map(|gpu| servers.nic_of_gpu(gpu)));
    }
    let idle = all.saturating_sub(of_gpus.len());
    if idle == 0 {
        return None;
    }
    let clos = step.topology.clos().map(|(_, spec)| spec);
    let which = match clos {
        Some(spec) => {
            let of_each = of_gpus.len() * spec.nics as usize / all;
            format!("{} of the {} NICs of a server", spec.nics as usize - of_each, spec.nics)
        }
        None => format!("{idle} of the {all} NICs of the job's servers"),
    };
    let message =
        format!("{which} carry nothing: each GPU sends and receives by one NIC, and these are no GPU's");
    Some((message, help_for_gpus(step.topology)))
}

fn help_for_gpus(topology: &TopologySpec) -> String {
    let Some((kind, spec)) = topology.clos().filter(|(_, spec)| spec.gpu_nics.is_empty()) else {
        return "one NIC for each GPU, of the rate of all that it has".to_owned();
    };
    let ClosSpec { gpus, nics, ports, link, .. } = spec;
    let Some(summed) = summed_rate(*link, *nics, *gpus) else {
        return format!("nics = {gpus}, one for each GPU, at the rate of all that it has");
    };
    let one =
        format!("nics = {gpus} with link = \"{summed}\", a NIC for each GPU at the rate of all that it has");
    let ports = ports.saturating_mul(nics / gpus);
    let has_ports = matches!(kind, ClosKind::Rails | ClosKind::MultiPlane) && ports <= MOST_PORTS;
    match nics.is_multiple_of(*gpus) && has_ports {
        true => format!("{one}; or nics = {gpus} with ports = {ports}, the ports in planes of their own"),
        false => one,
    }
}

/// The rate of the NICs of a GPU together, if it is a multiple of 1 Mb/s.
fn summed_rate(link: Rate, nics: u32, gpus: u32) -> Option<Rate> {
    const MBPS: u64 = 1_000_000;
    let all = link.0.checked_mul(u64::from(nics))?;
    all.is_multiple_of(MBPS * u64::from(gpus)).then(|| Rate(all / u64::from(gpus)))
}
