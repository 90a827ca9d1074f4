//! Jobs from traces of other tools: what ranks compute, send and receive, and in which order.
//!
//! Each format is read into one [graph], which becomes messages, gates and steps. Nothing in a trace is skipped in
//! silence: what cannot be simulated is an error that names its place.

mod chakra;
mod goal;
mod graph;
mod msccl;
mod simai;

use crate::collective::{Algorithm, Placement, placed};
use crate::{Fabric, Workload, WorkloadError};
use anabranch_base::{Bytes, HostId};
use graph::{Graph, Naming};
use serde::{Deserialize, Serialize};

/// A job from a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceSpec {
    /// What the file is.
    pub format: Format,
    /// The file's name, as the scenario gives it.
    pub file: String,
    /// Where its ranks are, a rank a host.
    pub placement: Placement,
    /// When a send is over, so that what follows it in the trace may begin.
    pub ends: SendEnds,
    /// For an algorithm without sizes (`msccl`): the bytes of each rank's buffer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Bytes>,
    /// For collectives that the trace names without saying how (`simai`, `chakra`): most bytes of a message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk: Option<Bytes>,
    /// For `simai`: leave out what pipeline stages send each other, of which the file has a size and no time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_pipeline: bool,
    /// For `chakra`: the file that says which ranks are in which group. The text of the trace has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comm_groups: Option<String>,
    /// For `simai` and `chakra`: how collectives are done, where not by rings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub algorithm: Vec<AlgorithmFrom>,
}

/// How a collective is done from a size on: the one that [`Algorithm::collective`] says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AlgorithmFrom {
    /// How.
    pub algorithm: Algorithm,
    /// The least size, as the trace gives it.
    pub from: Bytes,
}

/// Formats of traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// GOAL of LogGOPSim, as text.
    Goal,
    /// An algorithm of MSCCL, as XML.
    Msccl,
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

/// Whether it is such a text already.
pub fn is_text_of_ranks(text: &str) -> bool {
    chakra::is_text(text)
}

impl Format {
    /// Every format, by its name in scenarios.
    pub const ALL: [(&'static str, Format); 4] = [
        ("goal", Format::Goal),
        ("msccl", Format::Msccl),
        ("simai", Format::Simai),
        ("chakra", Format::Chakra),
    ];

    /// Its name in scenarios.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, format)| *format == self).map_or("", |(name, _)| name)
    }

    /// When its sends are over unless a scenario says otherwise: MSCCL's when the data is handed over, as in its
    /// interpreter, which goes on then; others when they are acknowledged.
    pub fn ends(self) -> SendEnds {
        match self {
            Format::Msccl => SendEnds::Posted,
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
            other.from.0 <= bytes && other.algorithm.collective() == usual.collective()
        };
        self.instead.iter().filter(its).max_by_key(|other| other.from).map_or(usual, |other| other.algorithm)
    }
}

/// The most ranks that a trace may have; more than the largest fabric has hosts.
const MOST_RANKS: u32 = 1 << 20;

/// The job of a trace with this text.
///
/// # Errors
/// What is wrong with the text, with its place; more ranks than hosts.
pub(super) fn build(
    spec: &TraceSpec,
    text: &str,
    fabric: &Fabric,
    seed: u64,
) -> Result<Workload, WorkloadError> {
    let file = spec.file.as_str();
    let chunk = spec.chunk.map_or(u64::MAX, |chunk| chunk.0);
    let how = Collectives { chunk, instead: &spec.algorithm };
    let (graph, place): (Graph, &'static str) = match spec.format {
        Format::Goal => (goal::parse(file, text)?, "line"),
        Format::Msccl => (msccl::parse(file, text, spec.bytes)?, "line"),
        Format::Simai => (simai::parse(file, text, how, spec.without_pipeline)?, "line"),
        Format::Chakra => (chakra::parse(file, text, how)?, "node"),
    };
    let ranks = graph.ranks.len() as u32;
    if ranks == 0 {
        return Err(WorkloadError::file(file, "it has no ranks; write a file of 2 or more"));
    }
    if ranks > fabric.hosts {
        let what = format!(
            "it has {ranks} ranks, and the fabric has {} hosts; write a fabric of {ranks} hosts or more",
            fabric.hosts
        );
        return Err(WorkloadError::file(file, what));
    }
    let hosts: Vec<HostId> = placed(spec.placement, ranks, fabric, seed)?.into_iter().map(HostId).collect();
    graph.lower(spec.format.name(), &hosts, spec.ends, Naming { file, place })
}
