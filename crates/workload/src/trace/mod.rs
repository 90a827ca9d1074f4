//! Jobs from traces of other tools: what ranks compute, send and receive, and in which order.
//!
//! Each format is read into one [graph], which becomes messages, gates and steps. Nothing in a trace is skipped in
//! silence: what cannot be simulated is an error that names its place.

mod chakra;
mod goal;
mod goal_binary;
mod graph;
mod lower;
mod msccl;
mod mscclpp;
mod simai;

use crate::collective::{Algorithm, Placement, place_job};
use crate::{Fabric, MAX_MESSAGES, Workload, WorkloadBuilder, WorkloadError};
use anabranch_base::{Bytes, Duration, HostId, Rate};
use graph::{Graph, Naming};
use lower::Ways;
use serde::{Deserialize, Serialize};

/// A job from a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceSpec {
    /// What the file is.
    pub format: Format,
    /// The file's name, as the scenario gives it.
    pub file: String,
    /// Where its ranks are, a rank a host.
    #[serde(flatten)]
    pub rank_hosts: RankHosts,
    /// When it begins.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub start: Duration,
    /// When a send is over, so that what follows it in the trace may begin.
    pub ends: SendEnds,
    /// For algorithms without sizes (`msccl`, `mscclpp`): the bytes of each rank's buffer, or input buffer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Bytes>,
    /// For collectives that the trace names without saying how (`simai`, `chakra`): most bytes of a message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk: Option<Bytes>,
    /// For `simai`: leave out what pipeline stages send each other, of which the file has a size and no time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_pipeline: bool,
    /// For `simai`: the first and the last of the file's layers that are simulated, from 1; all unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layers: Option<[u32; 2]>,
    /// For `simai`: of the file's ranks the first so many are simulated, or, where it does not say how many it has, that many;
    /// all unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<u32>,
    /// For `chakra`: the file that says which ranks are in which group. The text of the trace has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comm_groups: Option<String>,
    /// For `chakra`: the file of rank 0 is the only one, and so many ranks do what it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicate: Option<u32>,
    /// For `chakra`: nodes that others wait for and that are not there count as over.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_missing: bool,
    /// For `chakra`: nodes do not wait for those that they depend on by control.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_control: bool,
    /// For `chakra`: what of a GPU's streams computes at a time.
    #[serde(default, skip_serializing_if = "Streams::is_one")]
    pub streams: Streams,
    /// Ranks that share a server; none unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerSpec>,
    /// For `simai` and `chakra`: how collectives are done, where not by rings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub algorithm: Vec<AlgorithmFrom>,
}

/// Where the ranks of a job are: a scenario says it in one of these ways, and its resolved form in the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RankHosts {
    /// On named hosts.
    Named {
        /// The host of each rank, in the order of the ranks.
        rank_hosts: Vec<u32>,
    },
    /// On hosts of the fabric; among several jobs on those that earlier ones leave.
    Placed {
        /// Which ones.
        placement: Placement,
    },
}

/// Servers of some ranks each, which follow each other. What ranks of one send each other does not cross the network: it
/// takes the sender's link within the server for as long as the bytes take at its rate, one after the other, and is there
/// after the link's latency. The sender knows at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerSpec {
    /// Ranks of each.
    pub ranks: u32,
    /// Rate of each rank's link.
    pub link: Rate,
    /// From the end of sending to the arrival.
    pub link_latency: Duration,
}

impl ServerSpec {
    /// Whether two ranks are in one.
    fn joins(&self, one: u32, other: u32) -> bool {
        one / self.ranks.max(1) == other / self.ranks.max(1)
    }
}

impl TraceSpec {
    /// The graph of its text, and the word for the places of its nodes; `free` hosts are there for it.
    fn read(&self, text: &str, free: u32) -> Result<(Graph, &'static str), WorkloadError> {
        let file = self.file.as_str();
        if let Some(format) = Format::begins(text).filter(|format| *format != self.format) {
            let (is, said) = (format.name(), self.format.name());
            let what = format!("{file} begins as files of {is} do, not of {said}; write {is}");
            return Err(WorkloadError::key("format", what));
        }
        let how =
            Collectives { chunk: self.chunk.map_or(u64::MAX, |chunk| chunk.0), instead: &self.algorithm };
        Ok(match self.format {
            Format::Goal => (goal::parse(file, text)?, "line"),
            Format::Msccl => (msccl::parse(file, text, self.bytes)?, "line"),
            Format::Mscclpp => (mscclpp::parse(file, text, self.bytes)?, "operation"),
            Format::Simai => (simai::parse(file, text, how, self.share(free))?, "line"),
            Format::Chakra => {
                let read = chakra::How {
                    replicate: self.replicate,
                    streams: self.streams == Streams::Each,
                    without_missing: self.without_missing,
                    without_control: self.without_control,
                };
                (chakra::parse(file, text, how, read)?, "node")
            }
        })
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
            named,
            free,
        }
    }

    /// Notes on how its file is read, in words: the parts that are left out, and those that it leaves open.
    /// `text` is the file's, and `ranks` the number of ranks that it came to.
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
        [one, missing, control].into_iter().flatten().collect()
    }
}

/// What of a GPU computes at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Streams {
    /// One node, as in ASTRA-sim.
    #[default]
    One,
    /// One node of each stream.
    Each,
}

impl Streams {
    /// Both, by their names in scenarios.
    pub const ALL: [(&'static str, Streams); 2] = [("one", Streams::One), ("each", Streams::Each)];

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's")]
    fn is_one(&self) -> bool {
        *self == Streams::One
    }
}

/// How a collective is done from a size on: the one that [`Algorithm::collective`] says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AlgorithmFrom {
    /// How.
    pub algorithm: Algorithm,
    /// The least size, as the trace gives it.
    pub min_bytes: Bytes,
}

fn is_zero(start: &Duration) -> bool {
    *start == Duration::ZERO
}

/// Formats of traces.
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
    /// Execution traces of Chakra, a file a rank.
    Chakra,
}

/// The text that stands for the files of all ranks and for that of their groups, each with its name in errors.
///
/// # Errors
/// What is wrong with a file, with its place.
pub fn text_of_ranks(
    files: &[(String, Vec<u8>)],
    groups: Option<(&str, &str)>,
) -> Result<String, WorkloadError> {
    chakra::to_text(files, groups)
}

/// The text that stands for a GOAL file in binary form, which goes by `name` in errors; none where it has none.
///
/// # Errors
/// What is wrong with the file.
pub fn text_of_binary_goal(name: &str, bytes: &[u8]) -> Option<Result<String, WorkloadError>> {
    goal_binary::is_binary(bytes).then(|| goal_binary::to_text(name, bytes))
}

/// Whether it is such a text already.
pub fn is_text_of_ranks(text: &str) -> bool {
    chakra::is_text(text)
}

impl Format {
    /// Every format, by its name in scenarios.
    pub const ALL: [(&'static str, Format); 5] = [
        ("goal", Format::Goal),
        ("msccl", Format::Msccl),
        ("mscclpp", Format::Mscclpp),
        ("simai", Format::Simai),
        ("chakra", Format::Chakra),
    ];

    /// The format of which a text plainly is, by how it begins; none where that says nothing.
    fn begins(text: &str) -> Option<Format> {
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

    /// Its name in scenarios.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, format)| *format == self).map_or("", |(name, _)| name)
    }

    /// When its sends are over unless a scenario says otherwise: MSCCL's and MSCCL++'s when the data is handed over, as in
    /// their interpreters, which go on then; others when they are acknowledged.
    pub fn ends(self) -> SendEnds {
        match self {
            Format::Msccl | Format::Mscclpp => SendEnds::Posted,
            Format::Goal | Format::Simai | Format::Chakra => SendEnds::Acknowledged,
        }
    }
}

/// When a send is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SendEnds {
    /// When it is handed to the NIC.
    Posted,
    /// When the sender has its acknowledgement.
    Acknowledged,
}

impl SendEnds {
    /// Both, by their names in scenarios.
    pub const ALL: [(&'static str, SendEnds); 2] =
        [("posted", SendEnds::Posted), ("acknowledged", SendEnds::Acknowledged)];
}

/// How the collectives of a trace are done that it names without saying how.
#[derive(Clone, Copy)]
struct Collectives<'a> {
    /// Most bytes of a message.
    chunk: u64,
    /// In place of rings.
    instead: &'a [AlgorithmFrom],
}

impl Collectives<'_> {
    /// What does a collective of `bytes` bytes that `usual` does unless said.
    fn algorithm(&self, usual: Algorithm, bytes: u64) -> Algorithm {
        let its = |other: &&AlgorithmFrom| {
            other.min_bytes.0 <= bytes && other.algorithm.collective() == usual.collective()
        };
        self.instead
            .iter()
            .filter(its)
            .max_by_key(|other| other.min_bytes)
            .map_or(usual, |other| other.algorithm)
    }
}

/// What a format without sizes is told of each rank's buffer.
fn buffer(bytes: Option<Bytes>, of: &str, which: &str) -> Result<u64, WorkloadError> {
    bytes.map(|bytes| bytes.0).filter(|bytes| *bytes > 0).ok_or_else(|| {
        let what = format!("{of} has no sizes: write the bytes of each rank's {which}, such as \"8MB\"");
        WorkloadError::key("bytes", what)
    })
}

/// The most ranks that a trace may have; more than the largest fabric has hosts.
const MOST_RANKS: u32 = 1 << 20;

/// The hosts that a scenario names for `ranks` ranks, taken from those that are free.
fn named(hosts: &[u32], ranks: u32, free: &mut Vec<u32>, fabric: &Fabric) -> Result<Vec<u32>, WorkloadError> {
    if hosts.len() != ranks as usize {
        let what =
            format!("{} hosts are named, and the trace has {ranks} ranks; write one for each", hosts.len());
        return Err(WorkloadError::key("rank_hosts", what));
    }
    for (rank, host) in hosts.iter().enumerate() {
        if *host >= fabric.hosts {
            let what = format!(
                "rank {rank} is on host {host}, which the fabric does not have; write 0 to {}",
                fabric.hosts - 1
            );
            return Err(WorkloadError::key("rank_hosts", what));
        }
        match free.iter().position(|free| free == host) {
            Some(at) => drop(free.remove(at)),
            None => {
                let what = format!(
                    "rank {rank} is on host {host}, which another rank or an earlier job has; write a host that is free"
                );
                return Err(WorkloadError::key("rank_hosts", what));
            }
        }
    }
    Ok(hosts.to_vec())
}

/// The jobs of traces, one after the other on hosts that are free; `text_of` has the texts of their files.
///
/// # Errors
/// What is wrong with a text, with its place; more ranks than hosts.
pub(super) fn build<'a>(
    jobs: &[TraceSpec],
    text_of: &dyn Fn(&str) -> Result<&'a str, WorkloadError>,
    fabric: &Fabric,
    seed: u64,
) -> Result<Workload, WorkloadError> {
    let mut builder = WorkloadBuilder::new();
    let mut free: Vec<u32> = (0..fabric.hosts).collect();
    for (number, spec) in (0..).zip(jobs) {
        let file = spec.file.as_str();
        let text = text_of(file)?;
        let (graph, place) = spec.read(text, free.len() as u32)?;
        let ranks = graph.ranks.len() as u32;
        if ranks == 0 {
            return Err(WorkloadError::file(file, "it has no ranks; write a file of 2 or more"));
        }
        if ranks as usize > free.len() {
            let beside = match fabric.hosts as usize - free.len() {
                0 => String::new(),
                taken => format!(", of which other jobs have {taken}"),
            };
            let what = format!(
                "it has {ranks} ranks, and the fabric has {} hosts{beside}; write a fabric of {} hosts or more",
                fabric.hosts,
                ranks as usize + fabric.hosts as usize - free.len()
            );
            return Err(WorkloadError::file(file, what));
        }
        let hosts = match &spec.rank_hosts {
            RankHosts::Named { rank_hosts } => named(rank_hosts, ranks, &mut free, fabric)?,
            RankHosts::Placed { placement } => place_job(*placement, ranks, (&mut free, number), fabric, seed)?,
        };
        let hosts: Vec<HostId> = hosts.into_iter().map(HostId).collect();
        let ways = Ways { hosts: &hosts, ends: spec.ends, server: spec.server, start: spec.start };
        let control =
            spec.format == Format::Chakra && !spec.without_control && chakra::waiting_by_control(text) > 0;
        let naming = Naming { file, place, control, format: spec.format };
        graph.lower(&mut builder, spec.format.name(), ways, naming)?;
        if builder.messages() > MAX_MESSAGES {
            let what = format!(
                "with it the jobs come to {} messages, and the most is {MAX_MESSAGES}",
                builder.messages()
            );
            return Err(WorkloadError::file(file, what));
        }
    }
    builder.build()
}
