//! Collectives: jobs whose ranks exchange chunks that depend on each other.
//!
//! An [`Algorithm`] makes a [`Plan`] for a number of ranks. Each job maps the plan to its hosts. For each ordered
//! pair of ranks that communicate over the network, there is one queue pair per channel. The reduction within a rank
//! takes no time.

mod algorithm;
mod blocks;
mod double_tree;
mod hierarchical;
mod in_servers;
mod layout;
pub mod nccl;
mod place;
mod plan;
mod planning;
mod ring;
pub(crate) mod server;

pub use algorithm::{Algorithm, Operation};
pub use in_servers::nics_of_channels;
pub use layout::Layout;
pub use plan::{Action, Plan, Send};
pub use server::ServerSpec;

/// Chooses the hosts of job `number`, in the order of its ranks, and removes them from `free`.
pub(super) fn place_job(
    placement: Placement,
    ranks: u32,
    (free, number): (&mut Vec<u32>, u64),
    fabric: &Fabric,
    seed: u64,
) -> Result<Vec<u32>, WorkloadError> {
    let hosts = place::place_among(placement, (ranks, 1), (free.clone(), number), fabric, seed)?;
    let hosts = hosts.into_iter().next().unwrap_or_default();
    let taken: BTreeSet<u32> = hosts.iter().copied().collect();
    free.retain(|host| !taken.contains(host));
    Ok(hosts)
}

use super::{Done, Fabric, Job, MAX_MESSAGES, Opens, Start, Workload, WorkloadBuilder, WorkloadError};
use anabranch_base::{Bytes, Duration, GateId, HostId, MessageId, Problem, Purpose, QpId, Time, stream};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The default length of a collective's chunks in a scenario.
pub const DEFAULT_CHUNK: Bytes = Bytes(128_000);

/// Jobs that each run one collective.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectiveSpec {
    /// The algorithm of the collective.
    pub algorithm: Algorithm,
    /// The size of the collective in bytes. The variants of [`Algorithm`] define which bytes count.
    pub bytes: Bytes,
    /// The hosts or GPUs that take part.
    #[serde(flatten)]
    pub members: Members,
    /// The largest length of a message. It does not apply to an all-to-all, which sends whole blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk: Option<Bytes>,
    /// The largest number of blocks of an all-to-all that a rank has in flight. A block is in flight until it is
    /// completely acknowledged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<u32>,
    /// The largest number of chunks that a rank has in flight to another rank. It does not apply to an all-to-all. A
    /// chunk waits until the rank has the data of the chunk. It also waits until the chunk to the same rank that is
    /// `depth` positions earlier in the order of the algorithm is complete as `clock` defines. Without a depth, a rank
    /// sends a chunk as soon as it has the chunk's data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// The event that completes a chunk. It applies only with `depth`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<Clock>,
    /// The latest start of a rank of an all-to-all. Each rank begins at a random time from 0 to this value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Duration>,
    /// The servers, if ranks of the same server reach each other over NVLink.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerSpec>,
}

/// The event that completes a chunk, for the limit of [`CollectiveSpec::depth`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Clock {
    /// The sender has received the chunk's acknowledgement.
    Ack,
    /// The receiver has the whole chunk. The sender knows this immediately, as if the receiver requested the next chunk
    /// without any delay.
    Delivered,
}

impl Clock {
    /// All clocks with their names in scenarios.
    pub const ALL: [(&'static str, Clock); 2] = [("ack", Clock::Ack), ("delivered", Clock::Delivered)];

    fn done(self) -> Done {
        match self {
            Clock::Ack => Done::Acknowledged,
            Clock::Delivered => Done::Delivered,
        }
    }
}

/// The hosts that take part in the jobs, or the GPUs if the ranks are the GPUs of the topology's servers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Members {
    /// Explicit hosts or GPUs, each of which may belong to several jobs.
    Groups {
        /// The hosts or GPUs of each job, in the order of its ranks.
        groups: Vec<Vec<u32>>,
    },
    /// Jobs of equal size on disjoint hosts or GPUs.
    Placed {
        /// Number of ranks of a job.
        ranks: u32,
        /// Number of jobs.
        jobs: u32,
        /// The rule that assigns the hosts or GPUs.
        placement: Placement,
    },
}

/// The rule that assigns hosts to jobs, or GPUs if the ranks are the GPUs of the topology's servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// Random hosts or GPUs, in a random order that depends on the seed.
    Random,
    /// The free hosts or GPUs in ascending order. Job 0 gets the first ones.
    Blocks,
    /// A different ToR for each rank of a job. The job uses the ToRs with the most free hosts or GPUs, and the lowest
    /// free host or GPU of each of these ToRs.
    Spread,
    /// Hosts or GPUs, server by server. Each job begins at the first host or GPU of a server that no other job uses.
    Servers,
    /// Hosts or GPUs, rail by rail: first those of the first rail, server by server, then those of the next rail.
    Rails,
    /// As [`Placement::Blocks`], but a job that fits in an NVLink domain is within one: the first with enough free hosts
    /// or GPUs. A larger job begins at the first host or GPU of a domain that no other job uses.
    NvlinkDomains,
}

impl Placement {
    /// All placements with their names in scenarios.
    pub const ALL: [(&'static str, Placement); 6] = [
        ("random", Placement::Random),
        ("blocks", Placement::Blocks),
        ("spread", Placement::Spread),
        ("servers", Placement::Servers),
        ("rails", Placement::Rails),
        ("nvlink-domains", Placement::NvlinkDomains),
    ];
}

impl CollectiveSpec {
    /// Checks the specification for a fabric of `hosts` hosts. If the ranks are GPUs of the topology's servers, `hosts`
    /// is the number of GPUs. Conditions of the placement on ToRs or servers are not checked here.
    ///
    /// # Errors
    /// [`WorkloadError::Key`] for the first key whose value is not possible, with a correction.
    pub fn check(&self, hosts: u32) -> Result<(), WorkloadError> {
        let places = match self.server {
            Some(ServerSpec { ranks: None, .. }) => "GPUs",
            _ => "hosts",
        };
        if self.bytes.0 == 0 {
            return Err(WorkloadError::key(
                "bytes",
                Problem::with_value("a collective of no bytes sends nothing", "\"8MB\""),
            ));
        }
        match &self.members {
            Members::Groups { groups } => check_groups(groups, (hosts, places))?,
            Members::Placed { ranks, jobs, .. } => check_placed((*ranks, *jobs), (hosts, places))?,
        }
        self.check_server()?;
        self.check_chunk()?;
        self.check_connections()?;
        self.check_depth()?;
        self.check_jitter()?;
        self.check_messages()
    }

    /// The hosts of each job in the order of its ranks, or the GPUs if the ranks are those of the topology's servers.
    ///
    /// # Errors
    /// As [`CollectiveSpec::check`], and a placement that the fabric does not permit.
    pub fn places(&self, fabric: &Fabric, seed: u64) -> Result<Vec<Vec<u32>>, WorkloadError> {
        let of_gpus = of_gpus(self, fabric)?;
        self.places_on(of_gpus.as_ref().unwrap_or(fabric), seed)
    }

    fn places_on(&self, fabric: &Fabric, seed: u64) -> Result<Vec<Vec<u32>>, WorkloadError> {
        self.check(fabric.hosts)?;
        match &self.members {
            Members::Groups { groups } => Ok(groups.clone()),
            Members::Placed { ranks, jobs, placement } => {
                place::place_all(*placement, *ranks, *jobs, fabric, seed)
            }
        }
    }

    fn check_server(&self) -> Result<(), WorkloadError> {
        match self.server.and_then(|server| server.channels) {
            None if self.algorithm.needs_servers() => {
                Err(WorkloadError::key("server", without_servers(self.algorithm)))
            }
            _ => Ok(()),
        }
    }

    fn check_chunk(&self) -> Result<(), WorkloadError> {
        match (self.algorithm, self.chunk) {
            (Algorithm::Alltoall, Some(_)) => Err(WorkloadError::key(
                "chunk",
                without("chunk", "an all-to-all sends the block for each rank as one message"),
            )),
            (_, Some(Bytes(0))) => Err(WorkloadError::key(
                "chunk",
                Problem::with_value("a chunk must have at least 1B", "\"128KB\""),
            )),
            _ => Ok(()),
        }
    }

    fn check_connections(&self) -> Result<(), WorkloadError> {
        let Some(connections) = self.connections else { return Ok(()) };
        if self.algorithm != Algorithm::Alltoall {
            let message = format!(
                "only an all-to-all opens connections one after the other, not {}",
                self.algorithm.name()
            );
            return Err(WorkloadError::key("connections", without("connections", message)));
        }
        let most = self.members.largest() - 1;
        if connections == 0 || connections > most {
            let what = Problem::with_value(
                format!("a rank sends to {most} others, so {connections} of them cannot be open"),
                connections.clamp(1, most),
            );
            return Err(WorkloadError::key("connections", what));
        }
        Ok(())
    }

    fn check_depth(&self) -> Result<(), WorkloadError> {
        match (self.algorithm, self.depth, self.clock) {
            (Algorithm::Alltoall, Some(_), _) => Err(WorkloadError::key(
                "depth",
                without(
                    "depth",
                    "an all-to-all has no chunks, and connections says how many blocks are open",
                ),
            )),
            (_, Some(0), _) => Err(WorkloadError::key(
                "depth",
                Problem::with_value("a rank must have a chunk open to send anything", "1"),
            )),
            (_, None, Some(_)) => Err(WorkloadError::key(
                "clock",
                without("clock", "without depth a rank sends whatever it has, and nothing waits for a clock"),
            )),
            _ => Ok(()),
        }
    }

    /// Checks that only an all-to-all has jitter. In most other algorithms, a rank could forward received data before
    /// it begins.
    fn check_jitter(&self) -> Result<(), WorkloadError> {
        if self.jitter.is_none() || self.algorithm == Algorithm::Alltoall {
            return Ok(());
        }
        let message = format!(
            "only the ranks of an all-to-all begin at random, not those of {}",
            self.algorithm.name()
        );
        Err(WorkloadError::key("jitter", without("jitter", message)))
    }

    fn check_messages(&self) -> Result<(), WorkloadError> {
        // With servers, the number depends on their layout, which is known only when jobs are placed.
        if self.server.is_some() {
            return Ok(());
        }
        let of = |ranks: u32| self.algorithm.messages(ranks, self.bytes.0, self.chunk_bytes());
        let messages = match &self.members {
            Members::Groups { groups } => {
                groups.iter().map(|group| of(group.len() as u32)).fold(0, u64::saturating_add)
            }
            Members::Placed { ranks, jobs, .. } => of(*ranks).saturating_mul(u64::from(*jobs)),
        };
        if messages <= u64::from(MAX_MESSAGES) {
            return Ok(());
        }
        let count = match messages {
            u64::MAX => "more than 2^64".to_owned(),
            counted => counted.to_string(),
        };
        let (key, instead) = match self.algorithm {
            Algorithm::Alltoall => ("ranks", "fewer ranks or jobs"),
            _ => ("chunk", "a larger chunk, or fewer ranks or jobs"),
        };
        let key = match (key, &self.members) {
            ("ranks", Members::Groups { .. }) => "groups",
            _ => key,
        };
        let what = Problem::with_text(
            format!("{count} messages would be sent, and the most is {MAX_MESSAGES}"),
            instead,
        );
        Err(WorkloadError::key(key, what))
    }

    /// The largest length of a message in bytes. The blocks of an all-to-all have no limit.
    fn chunk_bytes(&self) -> u64 {
        self.chunk.map_or(u64::MAX, |chunk| chunk.0)
    }

    fn begin(&self, job: u64, rank: u64, seed: u64) -> Time {
        let Some(jitter) = self.jitter else { return Time::ZERO };
        let drawn = stream(seed, job << 32 | rank, Purpose::WorkloadArrivals).unit();
        Time((drawn * jitter.0 as f64) as u64)
    }

    /// The algorithm and the protocol that the model of NCCL chooses for a job. None if the scenario names the
    /// algorithm itself.
    fn chosen(&self, layout: &Layout) -> Option<(Algorithm, nccl::Protocol)> {
        let chooses = self.algorithm == Algorithm::AllreduceNccl;
        chooses.then(|| nccl::Cluster::of(layout).choose_allreduce(self.bytes.0))
    }

    fn plan(&self, layout: &Layout) -> Plan {
        let connections = self.connections.unwrap_or(layout.ranks() - 1);
        let plan = self.algorithm.plan_in(layout, self.bytes.0, self.chunk_bytes(), connections);
        let clock = self.clock.unwrap_or(Clock::Ack);
        Plan { per_pair: self.depth.map(|depth| (depth, clock.done())), ..plan }
    }
}

impl Members {
    /// The number of ranks of the largest job.
    pub fn largest(&self) -> u32 {
        match self {
            Members::Groups { groups } => groups.iter().map(Vec::len).max().unwrap_or(0) as u32,
            Members::Placed { ranks, .. } => *ranks,
        }
    }
}

/// The problem that an algorithm needs servers, which are not given.
pub fn without_servers(algorithm: Algorithm) -> Problem {
    Problem::with_text(
        format!(
            "{} goes by the servers of ranks and their channels, of which nothing is said",
            algorithm.name()
        ),
        "server = { link = \"3.6Tbps\", channels = 8 } into [workload], and ranks = 8 into that \
         where [topology] has no servers",
    )
}

fn without(key: &str, message: impl Into<String>) -> Problem {
    Problem::with_text(message, format_args!("[workload] without {key}"))
}

const TOO_FEW: &str = "a collective is among 2 ranks at least";

fn check_placed((ranks, jobs): (u32, u32), (hosts, places): (u32, &str)) -> Result<(), WorkloadError> {
    if ranks < 2 {
        return Err(WorkloadError::key("ranks", Problem::with_value(format!("{TOO_FEW}, not {ranks}"), "2")));
    }
    if ranks > hosts {
        let what = Problem::with_value(
            format!("a job of {ranks} ranks is larger than the fabric of {hosts} {places}"),
            hosts,
        );
        return Err(WorkloadError::key("ranks", what));
    }
    if jobs == 0 {
        return Err(WorkloadError::key("jobs", Problem::with_value("there must be a job", "1")));
    }
    if u64::from(ranks) * u64::from(jobs) > u64::from(hosts) {
        let what = Problem::with_value(
            format!(
                "{jobs} jobs of {ranks} ranks need {} {places}, and the fabric has {hosts}",
                u64::from(ranks) * u64::from(jobs)
            ),
            hosts / ranks,
        );
        return Err(WorkloadError::key("jobs", what));
    }
    Ok(())
}

fn check_groups(groups: &[Vec<u32>], (hosts, places): (u32, &str)) -> Result<(), WorkloadError> {
    let place = places.trim_end_matches('s');
    let invalid = |what: Problem| Err(WorkloadError::key("groups", what));
    if groups.is_empty() {
        return invalid(Problem::with_value("there must be a group", "[[0, 1]]"));
    }
    for (number, group) in groups.iter().enumerate() {
        if group.len() < 2 {
            return invalid(Problem::with_text(
                format!("{TOO_FEW}, and group {number} has {}", group.len()),
                format_args!("at least 2 {places}"),
            ));
        }
        if let Some(outside) = group.iter().find(|&&host| host >= hosts) {
            return invalid(Problem::with_text(
                format!("group {number} has {place} {outside}, which does not exist"),
                format_args!("{places} of 0 to {}", hosts.saturating_sub(1)),
            ));
        }
        let mut sorted = group.clone();
        sorted.sort_unstable();
        if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return invalid(Problem::with_text(
                format!("group {number} has {place} {} twice", twice[0]),
                format_args!("each {place} once"),
            ));
        }
    }
    Ok(())
}

fn of_gpus(spec: &CollectiveSpec, fabric: &Fabric) -> Result<Option<Fabric>, WorkloadError> {
    match spec.server {
        Some(ServerSpec { ranks: None, .. }) => fabric.of_gpus().map(Some),
        _ => Ok(None),
    }
}

/// Builds the workload of `spec`. The seed determines random placement and jitter.
pub(super) fn build(spec: &CollectiveSpec, fabric: &Fabric, seed: u64) -> Result<Workload, WorkloadError> {
    let of_gpus = of_gpus(spec, fabric)?;
    let fabric = of_gpus.as_ref().unwrap_or(fabric);
    let groups = spec.places_on(fabric, seed)?;
    if spec.server.is_some() {
        return in_servers::build(spec, groups, fabric, seed);
    }
    // Jobs of equal size share a plan.
    let mut plans: BTreeMap<usize, Plan> = BTreeMap::new();
    for group in &groups {
        plans.entry(group.len()).or_insert_with(|| spec.plan(&Layout::flat(group.len() as u32)));
    }
    let sum = |of: fn(&Plan) -> usize| groups.iter().map(|group| of(&plans[&group.len()])).sum();
    let mut builder =
        WorkloadBuilder::with_room(sum(|plan| plan.sends.len()), sum(Plan::gates), sum(Plan::activations));
    for (job, group) in (0_u64..).zip(groups) {
        let hosts = group.iter().copied().map(HostId).collect();
        let begins: Vec<Time> = (0..group.len() as u64).map(|rank| spec.begin(job, rank, seed)).collect();
        plans[&group.len()].add_job(&mut builder, spec, hosts, &begins);
    }
    builder.build()
}

impl Plan {
    /// The approximate number of gates of a job of this plan, for the reservation of memory.
    fn gates(&self) -> usize {
        match self.per_rank {
            None if self.per_pair.is_some() => self.sends.len(),
            None => self.sends.iter().filter(|send| send.waits_len > 0).count(),
            Some(_) => self.ranks as usize,
        }
    }

    /// The approximate number of activations in a job of this plan, for the reservation of memory.
    fn activations(&self) -> usize {
        match self.per_rank {
            None if self.per_pair.is_some() => self.waits.len() + self.sends.len(),
            None => self.waits.len(),
            Some(_) => self.sends.len(),
        }
    }

    fn add_job(
        &self,
        builder: &mut WorkloadBuilder,
        spec: &CollectiveSpec,
        hosts: Vec<HostId>,
        begins: &[Time],
    ) {
        let mut qps: BTreeMap<(u32, u32), QpId> = BTreeMap::new();
        let first = builder.messages();
        // For each rank, the number of its next sends that start when the rank begins.
        let mut at_once = vec![self.per_rank.unwrap_or(0); self.ranks as usize];
        let mut queued: Vec<Vec<MessageId>> = vec![Vec::new(); self.ranks as usize];
        let mut pace = self.per_pair.map(|(depth, on)| (Pace::new(depth), on));
        for (number, send) in (0..).zip(&self.sends) {
            let qp = *qps
                .entry((send.src, send.dst))
                .or_insert_with(|| builder.add_qp(hosts[send.src as usize], hosts[send.dst as usize]));
            let src = send.src as usize;
            let earlier = pace.as_mut().map_or(Vec::new(), |(pace, _)| pace.before(self, number));
            let waits = match self.per_rank {
                None => send.waits_len as usize + earlier.len() > 0,
                Some(_) => at_once[src] == 0,
            };
            at_once[src] = at_once[src].saturating_sub(1);
            let start = if waits { Start::ByGate } else { Start::At(begins[src]) };
            let message = builder.add_message(qp, send.bytes, start);
            if waits && self.per_rank.is_some() {
                queued[src].push(message);
            } else if waits {
                let gate = builder.add_gate(Opens::After(send.waits_len + earlier.len() as u32), &[message]);
                for wait in self.waits_of(send) {
                    builder.activate(MessageId(first + wait), Done::Delivered, gate);
                }
                if let Some((_, on)) = pace {
                    earlier.iter().for_each(|wait| builder.activate(MessageId(first + wait), on, gate));
                }
            }
        }
        if self.per_rank.is_some() {
            self.open_one_by_one(builder, first, &queued);
        }
        let messages = first..builder.messages();
        let (algorithm, bytes) = (spec.algorithm.name(), spec.bytes.0);
        builder.add_job(Job {
            algorithm,
            chosen: None,
            bytes,
            hosts,
            messages,
            steps: 0..0,
            rank_steps: Vec::new(),
            collectives: Vec::new(),
        });
    }

    /// Makes the acknowledgement of each send start the next queued send of the same rank.
    fn open_one_by_one(&self, builder: &mut WorkloadBuilder, first: u32, queued: &[Vec<MessageId>]) {
        let gates: Vec<Option<GateId>> = queued
            .iter()
            .map(|messages| (!messages.is_empty()).then(|| builder.add_gate(Opens::Each, messages)))
            .collect();
        for (message, send) in (first..).map(MessageId).zip(&self.sends) {
            if let Some(gate) = gates[send.src as usize] {
                builder.activate(message, Done::Acknowledged, gate);
            }
        }
    }
}

/// The additional dependencies of sends in a plan that limits the number of sends in flight per pair of ranks.
struct Pace {
    depth: usize,
    /// The sends that [`Pace::before`] has processed, by sending rank and receiving rank.
    of_pair: BTreeMap<(u32, u32), Vec<u32>>,
    /// The sends that [`Pace::before`] has processed, by sending rank and step.
    of_step: BTreeMap<(u32, u32), Vec<u32>>,
    /// For each send, the earlier send of the same pair of ranks that must be complete before the send may start.
    room: Vec<Option<u32>>,
}

impl Pace {
    fn new(depth: u32) -> Self {
        Pace { depth: depth as usize, of_pair: BTreeMap::new(), of_step: BTreeMap::new(), room: Vec::new() }
    }

    /// The earlier sends that must be complete before send `number`, the next one of the plan, may start. One of them
    /// is the send `depth` positions earlier among the sends of the same pair of ranks.
    ///
    /// The others are needed in exchanges. In one step of an exchange, a rank sends some bytes and receives data for
    /// these bytes. The rank must not reduce the received data into these bytes before it has sent them. A later send
    /// that waits for the received data therefore also waits for every send that must be complete before the rank may
    /// send these bytes.
    fn before(&mut self, plan: &Plan, number: u32) -> Vec<u32> {
        let send = &plan.sends[number as usize];
        let same_pair = self.of_pair.entry((send.src, send.dst)).or_default();
        let room = same_pair.len().checked_sub(self.depth).map(|position| same_pair[position]);
        same_pair.push(number);
        self.room.push(room);
        self.of_step.entry((send.src, send.step)).or_default().push(number);
        let mut before: Vec<u32> = room.into_iter().collect();
        for received in plan.waits_of(send).iter().map(|&wait| &plan.sends[wait as usize]) {
            let own = self.of_step.get(&(send.src, received.step)).into_iter().flatten();
            let own = own.map(|&own| (own, &plan.sends[own as usize]));
            let own = own.filter(|(_, own)| {
                own.from < received.from + received.bytes && received.from < own.from + own.bytes
            });
            before.extend(own.filter_map(|(own, _)| self.room[own as usize]));
        }
        before.sort_unstable();
        before.dedup();
        before
    }
}

#[cfg(test)]
mod tests;
