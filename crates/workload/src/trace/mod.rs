//! Jobs from traces of other tools: the computation, sends and receives of ranks, and their order.
//!
//! Each format is read into a common [graph], which is translated to messages, gates and steps. A part of a trace that
//! cannot be simulated gives an error with its place. Some parts are left out, and [`TraceSpec::notes`] has notes on
//! them. Parts without effect, which the module of the format lists, have no notes.

mod astra_system;
mod chakra;
mod goal;
mod goal_binary;
mod graph;
mod lower;
mod msccl;
mod mscclpp;
mod simai;

use crate::collective::server::Ranks;
use crate::collective::{Algorithm, Placement, place_job};
use crate::{Fabric, MAX_MESSAGES, ServerSpec, Workload, WorkloadBuilder, WorkloadError};
use anabranch_base::{Bytes, Duration, Problem};
use astra_system::System;
use graph::{Graph, Naming};
use lower::Mapping;
use serde::{Deserialize, Serialize};

/// A job from a trace file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceSpec {
    /// The format of the file.
    pub format: Format,
    /// The file's name, as the scenario gives it.
    pub file: String,
    /// The places of the job's ranks.
    #[serde(flatten)]
    pub rank_hosts: RankHosts,
    /// The time at which the job begins.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub start: Duration,
    /// The event that ends a send. Nodes that depend on the send may then begin.
    pub ends: SendEnds,
    /// The bytes of each rank's buffer (`msccl`) or input buffer (`mscclpp`), since files of these formats have no
    /// sizes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Bytes>,
    /// The largest length of a message of a collective (`simai`, `chakra`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk: Option<Bytes>,
    /// Whether the traffic between pipeline stages is left out (`simai`). The file has sizes but no times for this
    /// traffic.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_pipeline: bool,
    /// The first and the last simulated layer of the file, counted from 1 (`simai`). By default, all layers are
    /// simulated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layers: Option<[u32; 2]>,
    /// The number of simulated ranks, which are the first ranks of the file (`simai`). By default, all ranks are
    /// simulated. If the file does not give its number of ranks, this key gives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<u32>,
    /// The order of the ranks (`simai`).
    #[serde(default, skip_serializing_if = "RankOrder::is_default")]
    pub rank_order: RankOrder,
    /// The file with the ranks of each group (`chakra`). The text of the trace includes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comm_groups: Option<String>,
    /// The system file of ASTRA-sim, which has the algorithms of collectives in each dimension (`chakra`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// The number of ranks in each dimension for `system`, where the dimension that varies fastest is first (`chakra`).
    /// By default, these are the dimensions of the fabric, or one dimension of all ranks if the fabric has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dims: Option<Vec<u32>>,
    /// The number of ranks that all execute the trace of rank 0, whose file is then the only one (`chakra`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicate: Option<u32>,
    /// Whether dependencies on nodes that do not exist count as complete (`chakra`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_missing: bool,
    /// Whether control dependencies are ignored (`chakra`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_control: bool,
    /// Whether a GPU's streams compute concurrently (`chakra`).
    #[serde(default, skip_serializing_if = "Streams::is_one")]
    pub streams: Streams,
    /// The servers, if several ranks share one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerSpec>,
    /// Algorithms of collectives instead of the default ones (`simai`, `chakra`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub algorithm: Vec<AlgorithmFrom>,
}

/// The places of a job's ranks, as a list or a rule. They are hosts, or GPUs if the ranks are the GPUs of the
/// topology's servers. A resolved scenario keeps a rule, and does not replace it by the places that follow from it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RankHosts {
    /// The scenario names the place of each rank.
    Named {
        /// The place of each rank, in the order of the ranks.
        rank_hosts: Vec<u32>,
    },
    /// Places that are not used by earlier jobs.
    Placed {
        /// The rule that assigns places.
        placement: Placement,
    },
}

impl TraceSpec {
    /// Whether the job's ranks are the GPUs of the topology's servers.
    fn is_on_gpus(&self) -> bool {
        matches!(self.server, Some(ServerSpec { ranks: None, .. }))
    }

    /// The graph that the trace's text describes, and the word for the place of a node. `free` is the number of free
    /// places.
    fn read(&self, text: &str, free: u32) -> Result<(Graph, &'static str), WorkloadError> {
        let file = self.file.as_str();
        if let Some(format) = Format::recognize(text).filter(|format| *format != self.format) {
            let (found, declared) = (format.name(), self.format.name());
            let what = Problem::with_value(
                format!("{file} begins as files of {found} do, not of {declared}"),
                found,
            );
            return Err(WorkloadError::key("format", what));
        }
        let rules =
            CollectiveRules { chunk: self.chunk.map_or(u64::MAX, |chunk| chunk.0), instead: &self.algorithm };
        Ok(match self.format {
            Format::Goal => (goal::parse(file, text)?, "line"),
            Format::Msccl => (msccl::parse(file, text, self.bytes)?, "line"),
            Format::Mscclpp => (mscclpp::parse(file, text, self.bytes)?, "operation"),
            Format::Simai => (simai::parse(file, text, rules, self.share(free))?, "line"),
            Format::Chakra => {
                let options = chakra::Options {
                    replicate: self.replicate,
                    streams: self.streams == Streams::Each,
                    without_missing: self.without_missing,
                    without_control: self.without_control,
                };
                (chakra::parse(file, text, rules, options)?, "node")
            }
        })
    }

    /// The names of the job's trace file and of its system file, if it has one.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        [Some(self.file.as_str()), self.system.as_deref()].into_iter().flatten()
    }

    fn share(&self, free: u32) -> simai::Share {
        let named = match &self.rank_hosts {
            RankHosts::Named { rank_hosts } => Some(rank_hosts.len() as u32),
            RankHosts::Placed { .. } => None,
        };
        simai::Share {
            without_pipeline: self.without_pipeline,
            layers: self.layers,
            ranks: self.ranks,
            order: self.rank_order,
            named,
            free,
        }
    }

    /// Divides the collectives of a graph over the dimensions of the network. Does nothing without the file `system`.
    fn divide<'a>(
        &self,
        graph: &mut Graph,
        text_of: &dyn Fn(&str) -> Result<&'a str, WorkloadError>,
        fabric: &Fabric,
    ) -> Result<(), WorkloadError> {
        let Some(system) = &self.system else { return Ok(()) };
        let ranks = [graph.ranks.len() as u32];
        let dims = match (&self.dims, &fabric.dims[..]) {
            (Some(dims), _) => dims,
            (None, []) => &ranks[..],
            (None, dims) => dims,
        };
        let system = System::read(system, text_of(system)?, dims)?;
        graph.divide(&system).map_err(|what| WorkloadError::file(&self.file, what))
    }

    /// A note on the keys of the file `system` that are not simulated, if there are any. `text` is the text of the
    /// file.
    pub fn notes_of_system(&self, text: &str) -> Option<String> {
        astra_system::note(self.system.as_deref()?, text)
    }

    /// Notes on the simulation of the job's file. They name the parts that are left out, and the assumptions about
    /// parts that the file leaves open. `text` is the text of the file, and `ranks` is the number of simulated ranks.
    pub fn notes(&self, text: &str, ranks: u32) -> Vec<String> {
        match self.format {
            Format::Simai => simai::notes(&self.file, text, self.share(ranks)),
            Format::Chakra => self.notes_of_chakra(text),
            Format::Goal | Format::Msccl | Format::Mscclpp => Vec::new(),
        }
    }

    fn notes_of_chakra(&self, text: &str) -> Vec<String> {
        let file = &self.file;
        let one =
            self.replicate.map(|ranks| format!("the trace of rank 0 of {file} stands for all {ranks} ranks"));
        let waiting = match self.without_missing {
            true => chakra::waiting_for_missing(text, self.without_control),
            false => 0,
        };
        let missing = (waiting > 0).then(|| {
            format!("{waiting} nodes of {file} wait for nodes that are not there, which count as over")
        });
        let by_control = if self.without_control { chakra::waiting_by_control(text) } else { 0 };
        let control = (by_control > 0)
            .then(|| format!("{by_control} nodes of {file} do not wait for what they depend on by control"));
        let empty = chakra::without_bytes(text);
        let empty = (empty > 0).then(|| {
            format!("{empty} nodes of {file} are collectives of no bytes, which end at once and synchronise no ranks")
        });
        [one, missing, control, empty].into_iter().flatten().collect()
    }
}

/// The order of the kinds of parallelism by which ranks are numbered. Groups of the first kind consist of neighbouring
/// ranks. Groups of the last kind have the largest distance between their ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RankOrder {
    /// Tensor parallelism first, then data parallelism, then pipeline stages.
    #[default]
    TpDpPp,
    /// Tensor parallelism first, then pipeline stages, then data parallelism, as in SimAI.
    TpPpDp,
}

impl RankOrder {
    /// All orders with their names in scenarios.
    pub const ALL: [(&'static str, RankOrder); 2] =
        [("tp-dp-pp", RankOrder::TpDpPp), ("tp-pp-dp", RankOrder::TpPpDp)];

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_default(&self) -> bool {
        *self == RankOrder::TpDpPp
    }
}

/// Whether the streams of a GPU compute concurrently.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Streams {
    /// One node of the GPU computes at a time, as in ASTRA-sim.
    #[default]
    One,
    /// One node of each stream computes at a time.
    Each,
}

impl Streams {
    /// All values with their names in scenarios.
    pub const ALL: [(&'static str, Streams); 2] = [("one", Streams::One), ("each", Streams::Each)];

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_one(&self) -> bool {
        *self == Streams::One
    }
}

/// The algorithm of a collective ([`Algorithm::collective`]) from a given size on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AlgorithmFrom {
    /// The algorithm of collectives of at least `min_bytes`.
    pub algorithm: Algorithm,
    /// The smallest size for which the algorithm is used. The size is the one that the trace gives.
    pub min_bytes: Bytes,
}

fn is_zero(start: &Duration) -> bool {
    *start == Duration::ZERO
}

/// The format of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// GOAL of LogGOPSim, as text or in binary form.
    Goal,
    /// An algorithm of MSCCL, as XML.
    Msccl,
    /// A plan of MSCCL++, as JSON.
    Mscclpp,
    /// A workload of SimAI, as text.
    Simai,
    /// Execution traces of Chakra, one file per rank.
    Chakra,
}

/// The text that represents the Chakra files of all ranks and the file of their groups. Errors name the file.
///
/// # Errors
/// A file is malformed, or a node cannot be simulated.
pub fn text_of_ranks(
    files: &[(String, Vec<u8>)],
    groups: Option<(&str, &str)>,
) -> Result<String, WorkloadError> {
    chakra::to_text(files, groups)
}

/// The text that represents a binary GOAL file. `name` is the file's name in errors. `None` for any other file.
///
/// # Errors
/// The file is malformed, or a simulation of LogGOPSim has used it up.
pub fn text_of_binary_goal(name: &str, bytes: &[u8]) -> Option<Result<String, WorkloadError>> {
    goal_binary::is_binary(bytes).then(|| goal_binary::to_text(name, bytes))
}

/// Whether `text` is an output of [`text_of_ranks`].
pub fn is_text_of_ranks(text: &str) -> bool {
    chakra::is_text(text)
}

impl Format {
    /// All formats with their names in scenarios.
    pub const ALL: [(&'static str, Format); 5] = [
        ("goal", Format::Goal),
        ("msccl", Format::Msccl),
        ("mscclpp", Format::Mscclpp),
        ("simai", Format::Simai),
        ("chakra", Format::Chakra),
    ];

    /// The format of a text, if its first characters determine it.
    fn recognize(text: &str) -> Option<Format> {
        let text = text.trim_start();
        match text {
            _ if chakra::is_text(text) => Some(Format::Chakra),
            _ if text.starts_with("num_ranks") => Some(Format::Goal),
            _ if text.starts_with('<') => Some(Format::Msccl),
            _ if text.starts_with('{') => Some(Format::Mscclpp),
            _ if text.starts_with("HYBRID_TRANSFORMER") || text.starts_with("MICRO") => Some(Format::Simai),
            _ => None,
        }
    }

    /// The name of the format in scenarios.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, format)| *format == self).map_or("", |(name, _)| name)
    }

    /// The default end of a send. In MSCCL and MSCCL++, it is the posting of the data, since their interpreters then
    /// continue. In the other formats, it is the acknowledgement.
    pub fn ends(self) -> SendEnds {
        match self {
            Format::Msccl | Format::Mscclpp => SendEnds::Posted,
            Format::Goal | Format::Simai | Format::Chakra => SendEnds::Acknowledged,
        }
    }
}

/// The event that ends a send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SendEnds {
    /// The message is posted to the NIC.
    Posted,
    /// The sender has the acknowledgement of the message.
    Acknowledged,
}

impl SendEnds {
    /// All values with their names in scenarios.
    pub const ALL: [(&'static str, SendEnds); 2] =
        [("posted", SendEnds::Posted), ("acknowledged", SendEnds::Acknowledged)];
}

/// The chunk length and the algorithms of collectives, for traces that give none.
#[derive(Clone, Copy)]
struct CollectiveRules<'a> {
    /// The largest length of a message in bytes.
    chunk: u64,
    /// The algorithms that replace the default ones.
    instead: &'a [AlgorithmFrom],
}

impl CollectiveRules<'_> {
    /// The algorithm of a collective of `bytes` bytes. The default is `usual`.
    fn algorithm(&self, usual: Algorithm, bytes: u64) -> Algorithm {
        let applies = |other: &&AlgorithmFrom| {
            other.min_bytes.0 <= bytes && other.algorithm.collective() == usual.collective()
        };
        self.instead
            .iter()
            .filter(applies)
            .max_by_key(|other| other.min_bytes)
            .map_or(usual, |other| other.algorithm)
    }
}

/// The bytes of each rank's buffer, from the key `bytes`, which formats without sizes require.
fn buffer(bytes: Option<Bytes>, of: &str, which: &str) -> Result<u64, WorkloadError> {
    bytes.map(|bytes| bytes.0).filter(|bytes| *bytes > 0).ok_or_else(|| {
        let what = format!("{of} has no sizes: write the bytes of each rank's {which}, such as \"8MB\"");
        WorkloadError::key("bytes", what)
    })
}

/// The largest number of ranks of a trace.
const MOST_RANKS: u32 = 1 << 20;

/// Removes the hosts or GPUs that a scenario names for `ranks` ranks from the free ones.
fn take_named_hosts(
    hosts: &[u32],
    ranks: u32,
    free: &mut Vec<u32>,
    (fabric, place): (&Fabric, &str),
) -> Result<Vec<u32>, WorkloadError> {
    if hosts.len() != ranks as usize {
        let what = Problem::with_text(
            format!("{} {place}s are named, and the trace has {ranks} ranks", hosts.len()),
            "one for each",
        );
        return Err(WorkloadError::key("rank_hosts", what));
    }
    for (rank, host) in hosts.iter().enumerate() {
        if *host >= fabric.hosts {
            let what = Problem::with_text(
                format!("rank {rank} is on {place} {host}, which the fabric does not have"),
                format_args!("0 to {}", fabric.hosts - 1),
            );
            return Err(WorkloadError::key("rank_hosts", what));
        }
        match free.iter().position(|free| free == host) {
            Some(at) => drop(free.remove(at)),
            None => {
                let what = Problem::with_text(
                    format!("rank {rank} is on {place} {host}, which another rank or an earlier job has"),
                    format_args!("a {place} that is free"),
                );
                return Err(WorkloadError::key("rank_hosts", what));
            }
        }
    }
    Ok(hosts.to_vec())
}

/// The workload of one job. `text_of` returns the text of a file by its name.
pub(super) fn single<'a>(
    spec: &TraceSpec,
    text_of: &dyn Fn(&str) -> Result<&'a str, WorkloadError>,
    fabric: &Fabric,
    seed: u64,
) -> Result<Workload, WorkloadError> {
    let of_gpus = if spec.is_on_gpus() { Some(fabric.of_gpus()?) } else { None };
    let mut jobs = Jobs::new(of_gpus.as_ref().unwrap_or(fabric), seed);
    jobs.add(0, spec, text_of)?;
    jobs.builder.build()
}

/// The workload of several jobs, each on hosts or GPUs that are still free.
pub(super) fn several<'a>(
    specs: &[TraceSpec],
    text_of: &dyn Fn(&str) -> Result<&'a str, WorkloadError>,
    fabric: &Fabric,
    seed: u64,
) -> Result<Workload, WorkloadError> {
    let on_gpus = specs.iter().any(TraceSpec::is_on_gpus);
    let of_gpus = if on_gpus { Some(fabric.of_gpus()?) } else { None };
    if let Some(number) = specs.iter().position(|spec| spec.is_on_gpus() != on_gpus) {
        let what = Problem::with_text(
            "other jobs are on the GPUs of the topology's servers, and hosts are not numbered as those are",
            "server = { link = \"3.6Tbps\" } without ranks into each job",
        );
        return Err(WorkloadError::key("server", what).in_job(number as u32));
    }
    let mut jobs = Jobs::new(of_gpus.as_ref().unwrap_or(fabric), seed);
    for (number, spec) in (0..).zip(specs) {
        jobs.add(number, spec, text_of).map_err(|error| error.in_job(number))?;
    }
    jobs.builder.build()
}

/// A workload under construction, and the hosts or GPUs that no job uses yet.
struct Jobs<'a> {
    builder: WorkloadBuilder,
    free: Vec<u32>,
    fabric: &'a Fabric,
    seed: u64,
}

impl<'a> Jobs<'a> {
    fn new(fabric: &'a Fabric, seed: u64) -> Self {
        Jobs { builder: WorkloadBuilder::new(), free: (0..fabric.hosts).collect(), fabric, seed }
    }

    fn add<'b>(
        &mut self,
        number: u32,
        spec: &TraceSpec,
        text_of: &dyn Fn(&str) -> Result<&'b str, WorkloadError>,
    ) -> Result<(), WorkloadError> {
        let (fabric, file) = (self.fabric, spec.file.as_str());
        let text = text_of(file)?;
        let (mut graph, place) = spec.read(text, self.free.len() as u32)?;
        spec.divide(&mut graph, text_of, fabric)?;
        let place_of_rank = if spec.is_on_gpus() { "GPU" } else { "host" };
        let ranks = graph.ranks.len() as u32;
        if ranks == 0 {
            return Err(WorkloadError::file(
                file,
                Problem::with_text("it has no ranks", "a file of 2 or more"),
            ));
        }
        if ranks as usize > self.free.len() {
            let beside = match fabric.hosts as usize - self.free.len() {
                0 => String::new(),
                taken => format!(", of which other jobs have {taken}"),
            };
            let what = Problem::with_text(
                format!("it has {ranks} ranks, and the fabric has {} {place_of_rank}s{beside}", fabric.hosts),
                format_args!(
                    "a fabric of {} {place_of_rank}s or more",
                    ranks as usize + fabric.hosts as usize - self.free.len()
                ),
            );
            return Err(WorkloadError::file(file, what));
        }
        let hosts = match &spec.rank_hosts {
            RankHosts::Named { rank_hosts } => {
                take_named_hosts(rank_hosts, ranks, &mut self.free, (fabric, place_of_rank))?
            }
            RankHosts::Placed { placement } => {
                place_job(*placement, ranks, (&mut self.free, number.into()), fabric, self.seed)?
            }
        };
        let ranks = Ranks::new(&hosts, spec.server, fabric)?;
        let mapping = Mapping { ends: spec.ends, start: spec.start };
        let control =
            spec.format == Format::Chakra && !spec.without_control && chakra::waiting_by_control(text) > 0;
        let naming = Naming { file, place, control, format: spec.format };
        let builder = &mut self.builder;
        graph.lower(builder, ranks, mapping, naming)?;
        if builder.messages() > MAX_MESSAGES {
            let what = format!(
                "with it the jobs come to {} messages, and the most is {MAX_MESSAGES}",
                builder.messages()
            );
            return Err(WorkloadError::file(file, what));
        }
        Ok(())
    }
}
