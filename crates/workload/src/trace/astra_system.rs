//! System files of ASTRA-sim, which define how collectives are divided over the dimensions of a network.
//!
//! A collective among all ranks is cut into about `preferred-dataset-splits` parts. They have equal sizes, except for a
//! shorter last part. Each part goes through the dimensions one after the other, beginning with the dimension that
//! varies fastest (`Sys::generate_collective`). Each collective within a dimension is a phase. With `localBWAware`, an
//! AllReduce is a ReduceScatter in each dimension except the last, an AllReduce in the last dimension, and AllGathers
//! in reverse order. With `baseline`, an AllReduce is divided into one AllReduce per dimension. An AllGather, a
//! ReduceScatter and an AllToAll are always divided into one collective of their kind per dimension. A Broadcast, and
//! a collective by `oneRing` or `oneDirect`, is among all ranks instead. At most `active-chunks-per-dimension` parts
//! are in one phase at a time. A collective of a group is cut into parts too, but has only one dimension, and its
//! algorithm does not come from the file.

#[cfg(test)]
mod tests;

use super::graph::{Collective, Graph, Node, Op};
use crate::WorkloadError;
use crate::collective::Algorithm;
use anabranch_base::{Duration, Fix, Problem};
use anabranch_fabric::{TopologyError, YamlDocument, YamlNode};
use std::collections::BTreeMap;

/// The rules that a system file defines for a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct System {
    /// The number of ranks of each dimension.
    pub dims: Vec<u32>,
    /// The algorithms of AllReduce, AllGather, ReduceScatter and AllToAll in each dimension.
    algorithms: [Vec<Implementation>; 4],
    /// The size of a part is the size of the collective divided by this number.
    splits: u32,
    /// The largest number of parts in the same phase at a time.
    active: u32,
    /// Whether an AllReduce is divided into ReduceScatters, an AllReduce in the last dimension, and AllGathers
    /// (`localBWAware`).
    is_bandwidth_aware: bool,
}

/// The algorithm of a collective in a dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Implementation {
    Ring,
    Direct,
    HalvingDoubling,
    DoubleBinaryTree,
    /// One ring of all ranks, whatever the dimensions are.
    OneRing,
    /// Each rank sends to all others, whatever the dimensions are.
    OneDirect,
}

impl Implementation {
    const ALL: [(&'static str, Implementation); 6] = [
        ("ring", Implementation::Ring),
        ("direct", Implementation::Direct),
        ("halvingDoubling", Implementation::HalvingDoubling),
        ("doubleBinaryTree", Implementation::DoubleBinaryTree),
        ("oneRing", Implementation::OneRing),
        ("oneDirect", Implementation::OneDirect),
    ];

    fn is_over_all(self) -> bool {
        matches!(self, Implementation::OneRing | Implementation::OneDirect)
    }
}

/// The names of the collectives with their keys in the file.
const KEYS: [(&str, &str); 4] = [
    ("allreduce", "all-reduce-implementation"),
    ("allgather", "all-gather-implementation"),
    ("reducescatter", "reduce-scatter-implementation"),
    ("alltoall", "all-to-all-implementation"),
];

/// The keys whose meaning is not simulated.
const LEFT_OUT: [&str; 8] = [
    "scheduling-policy",
    "endpoint-delay",
    "local-mem-bw",
    "roofline-enabled",
    "peak-perf",
    "track-local-mem",
    "intra-dimension-scheduling",
    "inter-dimension-scheduling",
];

fn of_file(error: TopologyError) -> WorkloadError {
    match error {
        TopologyError::File { file, line, problem } => WorkloadError::line(&file, line as u32, problem),
        other => WorkloadError::key("system", other.to_string()),
    }
}

/// The keys of a file whose meaning is not simulated, as a note for the user.
pub fn note(file: &str, text: &str) -> Option<String> {
    let document = YamlDocument::read(file, text).ok()?;
    let found: Vec<&str> = LEFT_OUT.into_iter().filter(|key| document.get(key).is_some()).collect();
    (!found.is_empty()).then(|| format!("of {file} is not simulated: {}", found.join(", ")))
}

impl System {
    /// Reads a system file for a network with the dimensions `dims`.
    pub fn read(file: &str, text: &str, dims: &[u32]) -> Result<System, WorkloadError> {
        let document = YamlDocument::read(file, text).map_err(of_file)?;
        let reader = Reader { file, document };
        reader.check_kind()?;
        let algorithm = |(_, key): (&str, &str)| reader.algorithms(key, dims);
        let [allreduce, allgather, reducescatter, alltoall] = KEYS.map(algorithm);
        let optimization = reader.document.get("collective-optimization");
        let is_bandwidth_aware = match optimization.as_ref().map(|node| node.text.as_str()) {
            None | Some("baseline") => false,
            Some("localBWAware") => true,
            Some(other) => {
                let line = optimization.as_ref().map_or(1, |node| node.line);
                let what = format!("{other:?} is no collective-optimization: baseline or localBWAware");
                return Err(reader.at(line, what));
            }
        };
        Ok(System {
            dims: dims.to_vec(),
            algorithms: [allreduce?, allgather?, reducescatter?, alltoall?],
            splits: reader.count("preferred-dataset-splits")?,
            active: reader.count("active-chunks-per-dimension")?,
            is_bandwidth_aware,
        })
    }

    /// The phases of a part of a collective among all ranks.
    fn phases(&self, usual: Algorithm, bytes: u64) -> Result<Vec<Phase>, Problem> {
        let Some(kind) = KEYS.iter().position(|(name, _)| *name == usual.collective()) else {
            return Ok(vec![Phase { algorithm: usual, dim: None, bytes }]);
        };
        let of_dims = &self.algorithms[kind];
        if of_dims.iter().any(|its| its.is_over_all()) {
            return step(KEYS[kind].0, of_dims[0], None, bytes);
        }
        let sizes: Vec<(usize, u64)> =
            self.dims.iter().map(|size| u64::from(*size)).enumerate().filter(|(_, size)| *size > 1).collect();
        let in_dim = |name: &str, dim: usize, bytes: u64| step(name, of_dims[dim], Some(dim), bytes);
        let mut phases = Vec::new();
        let mut now = bytes;
        match (KEYS[kind].0, sizes.split_last()) {
            ("allreduce", Some((&(last, _), others))) if self.is_bandwidth_aware => {
                let mut before = Vec::new();
                for &(dim, size) in others {
                    phases.extend(in_dim("reducescatter", dim, now)?);
                    before.push((dim, now));
                    now = now.div_ceil(size);
                }
                phases.extend(in_dim("allreduce", last, now)?);
                for (dim, bytes) in before.into_iter().rev() {
                    phases.extend(in_dim("allgather", dim, bytes)?);
                }
            }
            ("allgather", _) => {
                // `bytes` is the size of the result, and each dimension multiplies the data that a rank has.
                let mut results = Vec::new();
                for (dim, size) in sizes.into_iter().rev() {
                    results.push((dim, now));
                    now = now.div_ceil(size);
                }
                for (dim, bytes) in results.into_iter().rev() {
                    phases.extend(in_dim("allgather", dim, bytes)?);
                }
            }
            (name, _) => {
                for (dim, size) in sizes {
                    phases.extend(in_dim(name, dim, now)?);
                    now = if name == "reducescatter" { now.div_ceil(size) } else { now };
                }
            }
        }
        Ok(phases)
    }

    /// The groups of ranks whose coordinates are equal in all dimensions except `dim`. For `None`, one group of all
    /// ranks.
    fn groups(&self, dim: Option<usize>, ranks: u32) -> Vec<Vec<u32>> {
        let Some(dim) = dim else { return vec![(0..ranks).collect()] };
        let stride: u32 = self.dims[..dim].iter().product();
        let size = self.dims[dim];
        let firsts = (0..ranks).filter(|rank| (rank / stride).is_multiple_of(size));
        firsts.map(|first| (0..size).map(|place| first + place * stride).collect()).collect()
    }
}

/// A phase of a collective: a collective within the dimension `dim`, or among all ranks if it is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Phase {
    algorithm: Algorithm,
    dim: Option<usize>,
    bytes: u64,
}

/// The phases of the collective `name` in a dimension. A direct collective is an AllToAll of blocks, and a direct
/// AllReduce consists of two AllToAlls.
fn step(name: &str, by: Implementation, dim: Option<usize>, bytes: u64) -> Result<Vec<Phase>, Problem> {
    let of = |algorithm| Phase { algorithm, dim, bytes };
    let phases = match (name, by) {
        ("alltoall", _) => vec![of(Algorithm::Alltoall)],
        ("allreduce", Implementation::Direct | Implementation::OneDirect) => {
            vec![of(Algorithm::Alltoall), of(Algorithm::Alltoall)]
        }
        (_, Implementation::Direct | Implementation::OneDirect) => vec![of(Algorithm::Alltoall)],
        ("allreduce", Implementation::Ring | Implementation::OneRing) => vec![of(Algorithm::AllreduceRing)],
        ("allreduce", Implementation::HalvingDoubling) => vec![of(Algorithm::AllreduceHalvingDoubling)],
        ("allreduce", Implementation::DoubleBinaryTree) => vec![of(Algorithm::AllreduceDoubleBinaryTree)],
        ("allgather", Implementation::Ring | Implementation::OneRing) => vec![of(Algorithm::AllgatherRing)],
        ("reducescatter", Implementation::Ring | Implementation::OneRing) => {
            vec![of(Algorithm::ReducescatterRing)]
        }
        _ => {
            let named = Implementation::ALL.iter().find(|(_, its)| *its == by).map_or("", |(name, _)| name);
            return Err(Problem::with_text(
                format!("a {name} by {named}, which its dimensions take, is not simulated"),
                "ring or direct into the system file",
            ));
        }
    };
    Ok(phases)
}

struct Reader<'a> {
    file: &'a str,
    document: YamlDocument<'a>,
}

impl Reader<'_> {
    fn at(&self, line: usize, what: impl Into<Problem>) -> WorkloadError {
        WorkloadError::line(self.file, line as u32, what)
    }

    /// Refuses other files of ASTRA-sim, and collectives that are defined by files.
    fn check_kind(&self) -> Result<(), WorkloadError> {
        if let Some(memory) = self.document.get("memory-type") {
            let fix = "the file of its system in its place, with all-reduce-implementation";
            let what = Problem::with_text("this file describes a remote memory, which is not simulated", fix);
            return Err(self.at(memory.line, what));
        }
        if let Some(custom) = self.document.keys().find(|key| key.text.ends_with("-custom")) {
            let what = Problem::with_text(
                format!(
                    "{} takes a collective from files of Chakra of its own, which are not read",
                    custom.text
                ),
                "all-reduce-implementation: [\"ring\"]",
            );
            return Err(self.at(custom.line, what));
        }
        let first = self.document.keys().next();
        match first.filter(|key| key.text.parse::<u32>().is_ok()) {
            Some(group) => {
                let what = Problem::with_text(
                    "this file has groups of ranks, and no system",
                    "comm_groups in [workload] in place of system",
                );
                Err(self.at(group.line, what))
            }
            None => Ok(()),
        }
    }

    /// The number at a key, which must be at least 1. Without the key it is 1.
    fn count(&self, key: &str) -> Result<u32, WorkloadError> {
        let Some(node) = self.document.get(key) else { return Ok(1) };
        node.text
            .parse()
            .ok()
            .filter(|count| *count > 0)
            .ok_or_else(|| self.at(node.line, format!("{key} is a whole number from 1, not {:?}", node.text)))
    }

    /// The algorithms at a key: one for each dimension, or one for all dimensions together. Without the key they are
    /// rings.
    fn algorithms(&self, key: &str, dims: &[u32]) -> Result<Vec<Implementation>, WorkloadError> {
        let Some(node) = self.document.get(key) else { return Ok(vec![Implementation::Ring; dims.len()]) };
        let names = self.document.list(key, "[\"ring\"]").map_err(of_file)?;
        let found: Vec<Implementation> =
            names.iter().map(|name| self.algorithm(name)).collect::<Result<_, _>>()?;
        if found.len() != dims.len() && !(found.len() == 1 && found[0].is_over_all()) {
            let what = format!(
                "{key} has {} entries, and the network has {} dimensions: {dims:?}",
                found.len(),
                dims.len()
            );
            return Err(self.at(node.line, what));
        }
        let over_all = found.iter().filter(|its| its.is_over_all()).count();
        if over_all != 0 && over_all != found.len() {
            let what = "oneRing and oneDirect are over all dimensions, and another dimension has another one";
            return Err(self.at(node.line, what));
        }
        Ok(found)
    }

    fn algorithm(&self, name: &YamlNode) -> Result<Implementation, WorkloadError> {
        let known = Implementation::ALL.iter().find(|(known, _)| *known == name.text);
        known.map(|(_, its)| *its).ok_or_else(|| {
            let without = name.text.trim_end_matches(|digit: char| digit.is_ascii_digit());
            let message = match without {
                "direct" | "oneDirect" if without != name.text => {
                    format!("{:?} limits the transfers under way, which is not simulated", name.text)
                }
                _ => format!(
                    "{:?} is no algorithm of ASTRA-sim: ring, direct, halvingDoubling, doubleBinaryTree, oneRing or oneDirect",
                    name.text
                ),
            };
            let near = Implementation::ALL.iter().find(|(known, _)| known.eq_ignore_ascii_case(without));
            self.at(name.line, Problem { message, fix: near.map(|(known, _)| Fix::value(known)) })
        })
    }
}

impl Graph {
    /// Divides the collectives over the dimensions of a network.
    pub fn divide(&mut self, system: &System) -> Result<(), Problem> {
        let ranks = self.ranks.len() as u32;
        let of_network: u64 = system.dims.iter().map(|size| u64::from(*size)).product();
        if of_network != u64::from(ranks) {
            let message = format!(
                "it has {ranks} ranks, and the dimensions {:?} of the network have {of_network} in all",
                system.dims
            );
            return Err(Problem::with_text(message, "a network and a trace of equally many"));
        }
        let whole = std::mem::take(&mut self.collectives);
        for collective in whole {
            self.divide_one(collective, system)?;
        }
        Ok(())
    }

    fn divide_one(&mut self, collective: Collective, system: &System) -> Result<(), Problem> {
        let ranks = self.ranks.len() as u32;
        let is_of_all = collective.members.iter().map(|(rank, _)| *rank).eq(0..ranks);
        let sizes = parts(collective.bytes, system.splits);
        if sizes.is_empty() || (!is_of_all && sizes.len() == 1) {
            let number = self.collectives.len() as u32;
            for &(rank, node) in &collective.members {
                self.ranks[rank as usize][node as usize].op = Op::Collective(number);
            }
            self.collectives.push(collective);
            return Ok(());
        }
        let whole: NodeOfRank = collective.members.iter().copied().collect();
        // For each part, the nodes with which each of its phases ends.
        let mut ended: Vec<Vec<NodeOfRank>> = Vec::new();
        for bytes in sizes {
            let phases = match is_of_all {
                true => system.phases(collective.algorithm, bytes)?,
                false => vec![Phase { algorithm: collective.algorithm, dim: None, bytes }],
            };
            let mut of_part: Vec<NodeOfRank> = Vec::new();
            for (number, phase) in phases.iter().enumerate() {
                let ahead = ended.len().checked_sub(system.active as usize).map(|part| &ended[part][number]);
                let groups = match is_of_all {
                    true => system.groups(phase.dim, ranks),
                    false => vec![collective.members.iter().map(|(rank, _)| *rank).collect()],
                };
                let nodes = self.add_phase((&collective, &whole), *phase, &groups, [of_part.last(), ahead]);
                of_part.push(nodes);
            }
            ended.push(of_part);
        }
        // The node of the whole collective ends when the last phases of all parts have ended.
        for (rank, node) in whole {
            let last = ended.iter().filter_map(|of_part| Some(of_part.last()?[&rank])).collect();
            let node = &mut self.ranks[rank as usize][node as usize];
            node.op = Op::Compute { takes: Duration::ZERO, processor: None };
            (node.after, node.with) = (last, Vec::new());
        }
        Ok(())
    }

    /// Adds a phase of a part of a collective, among each of `groups`. A rank enters the first phase when it would
    /// enter the whole collective, and each later phase after the previous one. It also waits for the nodes `ahead`:
    /// the same phase of the part that is `active` parts earlier.
    fn add_phase(
        &mut self,
        (collective, whole): (&Collective, &NodeOfRank),
        phase: Phase,
        groups: &[Vec<u32>],
        [before, ahead]: [Option<&NodeOfRank>; 2],
    ) -> NodeOfRank {
        let mut nodes = NodeOfRank::new();
        for group in groups {
            let index = self.collectives.len() as u32;
            let mut members = Vec::with_capacity(group.len());
            for &rank in group {
                let of_rank = &mut self.ranks[rank as usize];
                let entered = &of_rank[whole[&rank] as usize];
                let (mut after, with) = match before {
                    Some(before) => (vec![before[&rank]], Vec::new()),
                    None => (entered.after.clone(), entered.with.clone()),
                };
                after.extend(ahead.map(|ahead| ahead[&rank]));
                let node = Node { op: Op::Collective(index), place: entered.place, after, with };
                let number = of_rank.len() as u32;
                of_rank.push(node);
                nodes.insert(rank, number);
                members.push((rank, number));
            }
            self.collectives.push(Collective {
                algorithm: phase.algorithm,
                bytes: phase.bytes,
                chunk: collective.chunk,
                channel: collective.channel,
                members,
            });
        }
        nodes
    }
}

/// For each rank, one of its nodes.
type NodeOfRank = BTreeMap<u32, u32>;

/// The sizes of the parts of `bytes` bytes: equal parts of `bytes / splits` bytes (at least 1), and a shorter one for
/// the remainder.
fn parts(bytes: u64, splits: u32) -> Vec<u64> {
    let size = (bytes / u64::from(splits)).max(1);
    (0..bytes.div_ceil(size)).map(|part| size.min(bytes - part * size)).collect()
}
