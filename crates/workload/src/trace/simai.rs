//! Workloads of SimAI, as text: a header with the sizes of parallel groups, the number of layers, and one line per
//! layer.
//!
//! A layer is `name dependency F_ns F_collective F_bytes I_ns I_collective I_bytes W_ns W_collective W_bytes update_ns`, with
//! computing and a collective forward (F), for the gradient of the input (I) and for that of the weights (W).
//!
//! The rules by which it becomes a job, which the format leaves to its simulator:
//! - One pass: all layers forward in their order; then backward in the reverse order, for each W, then I. A rank computes
//!   one thing at a time. It waits for collectives of F and I, and not for those of W, which are over when the job is.
//!   `update_ns` is not simulated and has to be given, as in the files; [`share_of`] says so where it is more than 1 % of
//!   what is computed. `vpp` and `ga` (micro-batches) say nothing more: the file's layers have them already.
//! - Ranks are numbered with tensor parallelism innermost, then data parallelism, then pipeline stages. Groups: without a
//!   suffix the tensor group for F and I and the data group for W; `_EP` the expert groups, which are neighbours in data
//!   parallelism; `_DP_EP` the same place in all expert groups.
//! - `ALLREDUCE`, `ALLGATHER` and `REDUCESCATTER` are rings unless said, `ALLTOALL` sends to all at once. A collective of one rank or of
//!   no bytes is none.

use super::graph::{Collective, Graph, Node, Op};
use super::{Collectives, MOST_RANKS};
use crate::collective::Algorithm;
use crate::text::{self, quote};
use crate::{MAX_MESSAGES, WorkloadError};
use anabranch_base::Duration;

/// What of a file is simulated.
#[derive(Clone, Copy, Debug, Default)]
pub struct Share {
    /// Without what pipeline stages send each other.
    pub without_pipeline: bool,
    /// The first and the last of its layers that are, from 1.
    pub layers: Option<[u32; 2]>,
    /// Of its ranks the first so many.
    pub ranks: Option<u32>,
}

/// Reads a file. Of what it has, `share` is taken.
///
/// # Errors
/// The line, what was expected there and what to write instead; a share that there is not.
pub fn parse(file: &str, text: &str, how: Collectives<'_>, share: Share) -> Result<Graph, WorkloadError> {
    let (groups, (line, count), lines) = head(file, text, share)?;
    let mut layers = Vec::new();
    for (number, content) in lines {
        layers
            .push(Layer::read(content, number, how).map_err(|what| WorkloadError::line(file, number, what))?);
    }
    if layers.len() != count as usize {
        let what =
            format!("it counts {count} layers, and there are {}; write {}", layers.len(), layers.len());
        return Err(WorkloadError::line(file, line, what));
    }
    let layers = match share.layers {
        None => &layers[..],
        Some([first, last]) => {
            let taken = first.checked_sub(1).and_then(|first| layers.get(first as usize..last as usize));
            taken.filter(|taken| !taken.is_empty()).ok_or_else(|| {
                let what = format!(
                    "{file} has layers 1 to {count}; write layers = [1, {count}], or two numbers within"
                );
                WorkloadError::key("layers", what)
            })?
        }
    };
    let groups = match share.ranks {
        None => groups,
        Some(ranks) => groups.first(ranks).map_err(|what| WorkloadError::key("ranks", what))?,
    };
    groups.check_size(file, layers, how.chunk)?;
    Ok(groups.graph(layers, how.chunk))
}

/// What a share leaves of a file, in words; none where it leaves all.
pub fn share_of(file: &str, text: &str, share: Share) -> Option<String> {
    let (groups, (_, count), lines) = head(file, text, share).ok()?;
    let all = groups.ranks();
    let ranks = share.ranks.unwrap_or(all);
    let [first, last] = share.layers.unwrap_or([1, count]);
    let part = (ranks < all || last + 1 - first < count).then(|| {
        format!(
            "a share of {file} is simulated: layers {first} to {last} of {count}, and the first {ranks} of {all} ranks"
        )
    });
    let nothing = Collectives { chunk: u64::MAX, instead: &[] };
    let layers = lines.filter_map(|(number, content)| Layer::read(content, number, nothing).ok());
    let (mut computes, mut updates) = (0_u128, 0_u128);
    for layer in layers {
        computes += [layer.forward, layer.input, layer.weights]
            .map(|part| u128::from(part.takes.0))
            .iter()
            .sum::<u128>();
        updates += u128::from(layer.update.0);
    }
    let update = (updates * 100 > computes).then(|| {
        let us = updates as f64 / 1e6;
        format!("the update of the weights at the end of {file}, {us:.1} us in all layers, is not simulated")
    });
    match (part, update) {
        (Some(part), Some(update)) => Some(format!("{part}; {update}")),
        (part, update) => part.or(update),
    }
}

/// The number of layers that a file says, with its line.
type Count = (u32, u32);

/// The groups of a file, its number of layers, and the lines of these.
fn head<'a>(
    file: &str,
    text: &'a str,
    share: Share,
) -> Result<(Groups, Count, impl Iterator<Item = (u32, &'a str)>), WorkloadError> {
    let mut lines = text::lines(text);
    let Some((line, header)) = lines.next() else {
        return Err(WorkloadError::file(
            file,
            "it is empty; its first line begins with HYBRID_TRANSFORMER_FWD_IN_BCKWD",
        ));
    };
    let groups =
        Groups::read(header, share.without_pipeline).map_err(|what| WorkloadError::line(file, line, what))?;
    let Some((line, count)) = lines.next() else {
        return Err(WorkloadError::file(file, "its second line must be the number of layers"));
    };
    let count = text::whole_u32(count, "the number of layers")
        .map_err(|what| WorkloadError::line(file, line, what))?;
    Ok((groups, (line, count), lines))
}

/// Sizes of parallel groups; their product, without experts, is the number of ranks.
#[derive(Clone, Copy, Debug)]
struct Groups {
    tensor: u32,
    data: u32,
    expert: u32,
    stages: u32,
}

/// Who takes part in a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    Tensor,
    Data,
    Expert,
    DataOfExpert,
}

impl Groups {
    fn read(header: &str, without_pipeline: bool) -> Result<Self, String> {
        let mut words = header.split_whitespace();
        match words.next() {
            Some("HYBRID_TRANSFORMER_FWD_IN_BCKWD") => {}
            first => {
                return Err(format!(
                    "only HYBRID_TRANSFORMER_FWD_IN_BCKWD is simulated, not {}",
                    quote(first.unwrap_or_default())
                ));
            }
        }
        let (mut tensor, mut expert, mut stages, mut ranks, mut between) = (None, 1, 1, None, 0);
        let mut seen: Vec<&str> = Vec::new();
        while let Some(name) = words.next() {
            if seen.contains(&name) {
                return Err(format!("{} is there twice; write it once", quote(name)));
            }
            seen.push(name);
            let value = words.next().ok_or_else(|| format!("{} has no number behind it", quote(name)))?;
            let number = || text::whole_u32(value, name);
            match name.trim_end_matches(':') {
                "model_parallel_NPU_group" => tensor = Some(number()?),
                "ep" => expert = number()?,
                "pp" => stages = number()?,
                "all_gpus" => ranks = Some(number()?),
                "pp_comm" => between = text::whole(value, name, u64::MAX)?,
                "vpp" | "ga" => drop(number()?),
                "checkpoints" | "checkpoint_initiates" if number()? == 0 => {}
                "checkpoints" | "checkpoint_initiates" => {
                    return Err(format!("{name} above 0 is not simulated; write {name} 0"));
                }
                _ => return Err(format!("{} is no known key of the header", quote(name))),
            }
        }
        let tensor =
            tensor.ok_or("model_parallel_NPU_group is missing; write model_parallel_NPU_group: 8")?;
        let ranks = ranks.ok_or("all_gpus is missing; write all_gpus: 8")?;
        if [tensor, expert, stages, ranks].contains(&0) || ranks > MOST_RANKS {
            return Err(format!("sizes of groups are 1 or more, and there are at most {MOST_RANKS} ranks"));
        }
        let Some(model) = tensor.checked_mul(stages).filter(|model| ranks % model == 0) else {
            return Err(format!(
                "{ranks} ranks are no whole number of {stages} stages of {tensor} tensor ranks"
            ));
        };
        let data = ranks / model;
        if data % expert != 0 {
            return Err(format!(
                "{data} data-parallel ranks are no whole number of groups of {expert} experts"
            ));
        }
        if stages > 1 && between > 0 && !without_pipeline {
            return Err(format!(
                "{stages} pipeline stages send each other {between} B, and the file does not say when; write \
                 without_pipeline = true in [workload] to leave that out"
            ));
        }
        Ok(Groups { tensor, data, expert, stages })
    }

    /// The groups of the first `ranks` ranks: of whole pipeline stages, or of one with fewer data-parallel ranks.
    fn first(self, ranks: u32) -> Result<Self, String> {
        let (least, stage) = (self.tensor * self.expert, self.tensor * self.data);
        if ranks > 0 && ranks <= stage && ranks.is_multiple_of(least) {
            return Ok(Groups { data: ranks / self.tensor, stages: 1, ..self });
        }
        if ranks > stage && ranks <= self.ranks() && ranks.is_multiple_of(stage) {
            return Ok(Groups { stages: ranks / stage, ..self });
        }
        let of_stages = match self.stages {
            1 => String::new(),
            stages => format!(", or of {stage}, a pipeline stage, up to {}", stages * stage),
        };
        Err(format!(
            "{ranks} ranks are no share of its groups; write a multiple of {least} up to {stage}{of_stages}"
        ))
    }

    fn ranks(self) -> u32 {
        self.tensor * self.data * self.stages
    }

    fn size(self, group: Group) -> u32 {
        match group {
            Group::Tensor => self.tensor,
            Group::Data => self.data,
            Group::Expert => self.expert,
            Group::DataOfExpert => self.data / self.expert,
        }
    }

    /// All groups of a kind, each in the order of its ranks.
    fn members(self, group: Group) -> Vec<Vec<u32>> {
        let (tensor, data, expert) = (self.tensor, self.data, self.expert);
        let rank = |stage: u32, place: u32, shard: u32| (stage * data + place) * tensor + shard;
        let mut all = Vec::new();
        for stage in 0..self.stages {
            match group {
                Group::Tensor => all.extend(
                    (0..data)
                        .map(|place| (0..tensor).map(|shard| rank(stage, place, shard)).collect::<Vec<_>>()),
                ),
                Group::Data => all.extend(
                    (0..tensor)
                        .map(|shard| (0..data).map(|place| rank(stage, place, shard)).collect::<Vec<_>>()),
                ),
                Group::Expert => {
                    for first in (0..data).step_by(expert as usize) {
                        all.extend((0..tensor).map(|shard| {
                            (first..first + expert).map(|place| rank(stage, place, shard)).collect::<Vec<_>>()
                        }));
                    }
                }
                Group::DataOfExpert => {
                    for first in 0..expert {
                        all.extend((0..tensor).map(|shard| {
                            (first..data)
                                .step_by(expert as usize)
                                .map(|place| rank(stage, place, shard))
                                .collect::<Vec<_>>()
                        }));
                    }
                }
            }
        }
        all
    }

    fn check_size(self, file: &str, layers: &[Layer], chunk: u64) -> Result<(), WorkloadError> {
        let mut messages = 0_u64;
        for part in layers.iter().flat_map(|layer| [&layer.forward, &layer.input, &layer.weights]) {
            let Some((algorithm, group, bytes)) = part.collective else { continue };
            let ranks = self.size(group);
            if ranks > 1 {
                let of_group = algorithm.messages(ranks, bytes, chunk);
                messages = messages.saturating_add(of_group.saturating_mul(u64::from(self.ranks() / ranks)));
            }
        }
        if messages <= u64::from(MAX_MESSAGES) {
            return Ok(());
        }
        let bytes_each = 200.0;
        let what = format!(
            "its {} layers on {} ranks come to {messages} messages, some {:.0} GB, and the most is {MAX_MESSAGES}; write a \
             larger chunk, or a share of it by layers and ranks",
            layers.len(),
            self.ranks(),
            messages as f64 * bytes_each / 1e9
        );
        Err(WorkloadError::file(file, what))
    }

    fn graph(self, layers: &[Layer], chunk: u64) -> Graph {
        let ranks = self.ranks();
        let mut graph = Graph { ranks: (0..ranks).map(|_| Vec::new()).collect(), collectives: Vec::new() };
        // By rank, the node that is to be over before the next one.
        let mut last: Vec<Option<u32>> = vec![None; ranks as usize];
        let forward = layers.iter().map(|layer| (layer, &layer.forward, true));
        let backward = layers
            .iter()
            .rev()
            .flat_map(|layer| [(layer, &layer.weights, false), (layer, &layer.input, true)]);
        for (layer, part, waits) in forward.chain(backward) {
            if part.takes > Duration::ZERO {
                for rank in 0..ranks {
                    let op = Op::Compute { takes: part.takes, processor: Some(0) };
                    last[rank as usize] = Some(push(&mut graph, rank, op, layer.line, last[rank as usize]));
                }
            }
            let Some((algorithm, group, bytes)) = part.collective else { continue };
            if self.size(group) < 2 {
                continue;
            }
            for members in self.members(group) {
                let number = graph.collectives.len() as u32;
                let mut joined = Vec::with_capacity(members.len());
                for rank in members {
                    let node =
                        push(&mut graph, rank, Op::Collective(number), layer.line, last[rank as usize]);
                    if waits {
                        last[rank as usize] = Some(node);
                    }
                    joined.push((rank, node));
                }
                let channel = group as u32;
                graph.collectives.push(Collective { algorithm, bytes, chunk, channel, members: joined });
            }
        }
        graph
    }
}

fn push(graph: &mut Graph, rank: u32, op: Op, line: u32, after: Option<u32>) -> u32 {
    let nodes = &mut graph.ranks[rank as usize];
    nodes.push(Node { op, place: line.into(), after: after.into_iter().collect(), with: Vec::new() });
    nodes.len() as u32 - 1
}

/// A line of the file.
#[derive(Debug)]
struct Layer {
    line: u32,
    forward: Part,
    input: Part,
    weights: Part,
    /// Of the weights, at the end.
    update: Duration,
}

/// Computing, and then a collective.
#[derive(Debug)]
struct Part {
    takes: Duration,
    collective: Option<(Algorithm, Group, u64)>,
}

impl Layer {
    fn read(content: &str, line: u32, how: Collectives<'_>) -> Result<Self, String> {
        let words: Vec<&str> = content.split_whitespace().collect();
        let [_, dependency, parts @ .., update] = &words[..] else {
            return Err("expected a layer's 12 columns".to_owned());
        };
        if parts.len() != 9 {
            return Err(format!("expected a layer's 12 columns, and there are {}", words.len()));
        }
        if *dependency != "-1" {
            return Err(format!(
                "a dependency on another layer is not simulated: write -1, not {}",
                quote(dependency)
            ));
        }
        let update = Duration::from_ns(text::whole(update, "the time of the update", u64::MAX / 1_000_000)?);
        let part =
            |number: usize, name: &str, plain: Group| Part::read(&parts[3 * number..][..3], name, plain, how);
        Ok(Layer {
            line,
            forward: part(0, "forward", Group::Tensor)?,
            input: part(1, "input gradient", Group::Tensor)?,
            weights: part(2, "weight gradient", Group::Data)?,
            update,
        })
    }
}

impl Part {
    fn read(words: &[&str], name: &str, plain: Group, how: Collectives<'_>) -> Result<Self, String> {
        let ns = text::whole(words[0], format!("the time of the {name}"), u64::MAX / 1_000_000)?;
        let bytes = text::whole(words[2], format!("the bytes of the {name}"), u64::MAX)?;
        let (algorithm, group) = match words[1].strip_suffix("_DP_EP") {
            Some(kind) => (kind, Group::DataOfExpert),
            None => match words[1].strip_suffix("_EP") {
                Some(kind) => (kind, Group::Expert),
                None => (words[1], plain),
            },
        };
        let algorithm = match algorithm {
            "NONE" if bytes > 0 => {
                return Err(format!("the {name} has NONE of {bytes} B; write the collective, or 0 B"));
            }
            "NONE" => None,
            "ALLREDUCE" => Some(Algorithm::AllreduceRing),
            "ALLGATHER" => Some(Algorithm::AllgatherRing),
            "REDUCESCATTER" => Some(Algorithm::ReducescatterRing),
            "ALLTOALL" => Some(Algorithm::Alltoall),
            _ => {
                return Err(format!(
                    "{} is not simulated: NONE, ALLREDUCE, ALLGATHER, REDUCESCATTER and ALLTOALL are, with _EP or _DP_EP \
                     behind them or nothing",
                    quote(words[1])
                ));
            }
        };
        let collective =
            algorithm.filter(|_| bytes > 0).map(|usual| (how.algorithm(usual, bytes), group, bytes));
        Ok(Part { takes: Duration::from_ns(ns), collective })
    }
}
