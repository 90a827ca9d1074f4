//! Workloads of SimAI, as AICB writes them: a header, the number of layers, and one line per layer.
//!
//! The header is `HYBRID_TRANSFORMER_FWD_IN_BCKWD` or `HYBRID_TRANSFORMER` and sizes of parallel groups, or `MICRO` alone. The two
//! first differ in checkpoints only (SimAI, `Workload.cc`, `iterate_hybrid_parallel_Transformer` and what is below it), which
//! are not simulated. A layer is `name dependency F_ns F_collective F_bytes I_ns I_collective I_bytes W_ns W_collective W_bytes
//! update_ns`, with computing and a collective forward (F), for the gradient of the input (I) and for that of the weights (W).
//!
//! The rules by which it becomes a job, which the format leaves to its simulator:
//! - One pass: all layers forward in their order; then backward in the reverse order, for each W, then I. A rank computes
//!   one thing at a time. It waits for collectives of F and I, and not for those of W, which are over when the job is.
//!   `update_ns` is not simulated and has to be given, as in the files; [`notes`] say so where it is more than 1 % of
//!   what is computed. `vpp` and `ga` (micro-batches) say nothing more: the file's layers have them already; nor does `mode`
//!   (1: inference), whose files have nothing to do backward.
//! - `MICRO`: the lines one after the other, each among all ranks, as AICB runs them on GPUs (`apply_workload` of its
//!   `workload_applyer.py`). SimAI itself issues the first line alone (`iterate_micro_benchmark`).
//! - Ranks are numbered with tensor parallelism innermost, then data parallelism, then pipeline stages. Groups: without a
//!   suffix the tensor group for F and I and the data group for W; `_EP` the expert groups, which are neighbours in data
//!   parallelism; `_DP_EP` the same place in all expert groups.
//! - A header without `all_gpus`, as older ones of AICB are, is for as many ranks as there are hosts: SimAI takes the GPUs of
//!   its topology (`Sys.cc`, `mock_nccl_comms_init`).
//! - `ALLREDUCE`, `ALLGATHER`, `REDUCESCATTER` and `BROADCAST` are rings unless said, `ALLTOALL` sends to all at once. A broadcast is
//!   from the first rank of its group, as in AICB (`_apply_broadcast`); SimAI takes it for none. A collective of one rank
//!   or of no bytes is none, and so is `NONE` of some.
//! - Of more layers than the header counts the first so many are read, as in SimAI.

use super::graph::{Collective, Graph, Node, Op};
use super::{CollectiveRules, MOST_RANKS};
use crate::collective::Algorithm;
use crate::text::{self, quote};
use crate::{MAX_MESSAGES, WorkloadError};
use anabranch_base::{Bytes, Duration, is_misspelt};

/// What of a file is simulated.
#[derive(Clone, Copy, Debug, Default)]
pub struct Share {
    /// Without what pipeline stages send each other.
    pub without_pipeline: bool,
    /// The first and the last of its layers that are, from 1.
    pub layers: Option<[u32; 2]>,
    /// The number of its ranks that are, from the first on; it is the number of all where the file says none.
    pub ranks: Option<u32>,
    /// The number of ranks whose hosts are named; it is the number of all where neither the file nor `ranks`
    /// says one.
    pub named: Option<u32>,
    /// The number of hosts that are free for it, and of its ranks where nothing says how many it has.
    pub free: u32,
}

impl Share {
    /// The ranks of a file that does not say how many it has.
    fn open(self) -> u32 {
        self.ranks.or(self.named).unwrap_or(self.free)
    }
}

/// Reads a file. Of what it has, `share` is taken.
///
/// # Errors
/// The line, what was expected there and what to write instead; a share that there is not.
pub fn parse(file: &str, text: &str, how: CollectiveRules<'_>, share: Share) -> Result<Graph, WorkloadError> {
    let Head { groups, count_line, count, lines } = Head::read(file, text, share)?;
    let mut layers = Vec::new();
    for &(number, content) in lines.iter().take(count as usize) {
        layers
            .push(Layer::read(content, number, how).map_err(|what| WorkloadError::line(file, number, what))?);
    }
    if layers.len() < count as usize {
        let there = layers.len();
        let are = if there == 1 { "is" } else { "are" };
        let what = format!("it counts {count} layers, and there {are} {there}; write {there}");
        return Err(WorkloadError::line(file, count_line, what));
    }
    let layers = match share.layers {
        None => &layers[..],
        Some([first, last]) => {
            let taken = first.checked_sub(1).and_then(|first| layers.get(first as usize..last as usize));
            taken.filter(|taken| !taken.is_empty()).ok_or_else(|| {
                let what = format!("{file} has layers 1 to {count}; write [1, {count}]");
                WorkloadError::key("layers", what)
            })?
        }
    };
    let groups = groups.shared(share)?;
    groups.check_size(file, layers, how.chunk)?;
    Ok(groups.graph(layers, how.chunk))
}

/// Notes on how a file is read, in words: the parts of it that are left out, and those that it leaves open.
pub fn notes(file: &str, text: &str, share: Share) -> Vec<String> {
    let Ok(Head { groups, count, lines, .. }) = Head::read(file, text, share) else { return Vec::new() };
    let mut notes = Vec::new();
    let all = groups.ranks();
    let ranks = groups.shared(share).map_or(all, Groups::ranks);
    if !groups.is_said && share.ranks.or(share.named).is_none() {
        let open = if groups.is_micro { "begins with MICRO" } else { "does not say all_gpus" };
        notes.push(format!("{file} {open}: it is simulated on {ranks} ranks, all hosts that are free"));
    }
    let [first, last] = share.layers.unwrap_or([1, count]);
    if ranks < all || last + 1 - first < count {
        notes.push(format!(
            "a share of {file} is simulated: layers {first} to {last} of {count}, and the first {ranks} of {all} ranks"
        ));
    }
    let between = groups.shared(share).map_or(0, |groups| groups.between);
    if between > 0 {
        let bytes = Bytes(between).about();
        notes.push(format!("what the pipeline stages of {file} send each other, {bytes}, is left out"));
    }
    let left_out = lines.len().saturating_sub(count as usize);
    if left_out > 0 {
        notes.push(format!(
            "{file} counts {count} layers and has {}: the last {left_out} are left out",
            lines.len()
        ));
    }
    let nothing = CollectiveRules { chunk: u64::MAX, instead: &[] };
    let layers = lines.iter().take(count as usize);
    let layers = layers.filter_map(|&(number, content)| Layer::read(content, number, nothing).ok());
    let (mut computes, mut updates) = (0_u128, 0_u128);
    for layer in layers {
        computes += layer.parts().map(|part| u128::from(part.takes.0)).iter().sum::<u128>();
        updates += u128::from(layer.update.0);
    }
    if updates * 100 > computes {
        let in_all = Duration(u64::try_from(updates).unwrap_or(u64::MAX)).about();
        notes.push(format!(
            "the update of the weights at the end of {file}, {in_all} in all layers, is not simulated"
        ));
    }
    notes
}

/// The lines above the layers of a file, as read, and the lines of the layers.
struct Head<'a> {
    groups: Groups,
    /// The line with the number of layers.
    count_line: u32,
    count: u32,
    lines: Vec<(u32, &'a str)>,
}

impl<'a> Head<'a> {
    fn read(file: &str, text: &'a str, share: Share) -> Result<Self, WorkloadError> {
        let mut lines = text::lines(text);
        let Some((line, header)) = lines.next() else {
            return Err(WorkloadError::file(
                file,
                "it is empty; its first line begins with HYBRID_TRANSFORMER_FWD_IN_BCKWD, or is MICRO",
            ));
        };
        let groups = Groups::read(header, share).map_err(|what| WorkloadError::line(file, line, what))?;
        let Some((count_line, count)) = lines.next() else {
            return Err(WorkloadError::file(file, "its second line must be the number of layers"));
        };
        let lines: Vec<(u32, &str)> = lines.collect();
        let count = text::whole_u32(count, "the number of layers").map_err(|what| {
            let what = match count.split_whitespace().count() {
                1 => format!("{what}; write {}", lines.len()),
                _ => format!("expected the number of layers; write {} above this line", lines.len() + 1),
            };
            WorkloadError::line(file, count_line, what)
        })?;
        Ok(Head { groups, count_line, count, lines })
    }
}

/// Sizes of parallel groups; their product, without experts, is the number of ranks.
#[derive(Clone, Copy, Debug)]
struct Groups {
    tensor: u32,
    data: u32,
    expert: u32,
    stages: u32,
    /// The bytes that pipeline stages send each other, which are not simulated.
    between: u64,
    /// The file says how many ranks there are.
    is_said: bool,
    /// Its lines follow each other, and none goes backward.
    is_micro: bool,
}

/// Who takes part in a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    Tensor,
    Data,
    Expert,
    DataOfExpert,
}

/// The keys that a header may have behind its first word.
const HEADER_KEYS: [&str; 11] = [
    "model_parallel_NPU_group:",
    "ep:",
    "pp:",
    "vpp:",
    "ga:",
    "all_gpus:",
    "checkpoints:",
    "checkpoint_initiates:",
    "pp_comm:",
    "mode:",
    "expert_parallel_npu_group:",
];

/// The values of a header.
struct Header {
    tensor: Option<u32>,
    expert: u32,
    stages: u32,
    ranks: Option<u32>,
    /// Bytes that pipeline stages send each other.
    between: u64,
}

impl Header {
    fn read<'a>(mut words: impl Iterator<Item = &'a str>) -> Result<Self, String> {
        let mut header = Header { tensor: None, expert: 1, stages: 1, ranks: None, between: 0 };
        let mut seen: Vec<&str> = Vec::new();
        while let Some(name) = words.next() {
            if seen.contains(&name) {
                return Err(format!("{} is there twice; remove one of the two", quote(name)));
            }
            seen.push(name);
            let known =
                HEADER_KEYS.iter().find(|key| key.trim_end_matches(':') == name.trim_end_matches(':'));
            let Some(key) = known else {
                let near = text::suggest(name, &HEADER_KEYS);
                return Err(format!("{} is no known key of the header; {near}", quote(name)));
            };
            let missing = || format!("{} has no number behind it; write {key} 1", quote(name));
            let value = words.next().ok_or_else(missing)?;
            let size = || match text::whole_u32(value, key)? {
                0 => Err(format!("`{key} 0`: a size is 1 or more; write {key} 1")),
                size => Ok(size),
            };
            match key.trim_end_matches(':') {
                "model_parallel_NPU_group" => header.tensor = Some(size()?),
                "ep" | "expert_parallel_npu_group" => header.expert = size()?,
                "pp" => header.stages = size()?,
                "all_gpus" => header.ranks = Some(size()?),
                // AICB divides it, and Python then writes a point: 8388608.0. SimAI reads up to that.
                "pp_comm" => {
                    let whole = value.split_once('.').map_or(value, |(whole, _)| whole);
                    header.between = text::whole(whole, key, u64::MAX)?;
                }
                "checkpoints" | "checkpoint_initiates" => {
                    let layers = text::whole_u32(value, key)?;
                    if layers > 0 {
                        let named: Vec<&str> = words.take(layers as usize).collect();
                        return Err(format!(
                            "checkpoints are not simulated: {}; write {key} 0",
                            quote(&format!("{name} {value} {}", named.join(" ")))
                        ));
                    }
                }
                _ => drop(text::whole_u32(value, key)?),
            }
        }
        Ok(header)
    }
}

impl Groups {
    fn read(header: &str, share: Share) -> Result<Self, String> {
        let mut words = header.split_whitespace();
        let open = share.open();
        match words.next() {
            Some("HYBRID_TRANSFORMER_FWD_IN_BCKWD" | "HYBRID_TRANSFORMER") => {}
            Some("MICRO") => {
                return match words.next() {
                    None => Ok(Groups {
                        tensor: 1,
                        data: open,
                        expert: 1,
                        stages: 1,
                        between: 0,
                        is_said: false,
                        is_micro: true,
                    }),
                    Some(word) => Err(format!("MICRO stands alone in its line, without {}", quote(word))),
                };
            }
            first => {
                return Err(format!(
                    "workloads that begin with HYBRID_TRANSFORMER_FWD_IN_BCKWD, HYBRID_TRANSFORMER or MICRO are simulated, \
                     not {}, whose groups follow from the dimensions of ASTRA-sim's network",
                    quote(first.unwrap_or_default())
                ));
            }
        }
        let Header { tensor, expert, stages, ranks, between } = Header::read(words)?;
        let tensor = tensor.ok_or(
            "model_parallel_NPU_group is missing; write model_parallel_NPU_group: 8 behind the first word",
        )?;
        let (is_said, ranks) = (ranks.is_some(), ranks.unwrap_or(open));
        if ranks > MOST_RANKS {
            return Err(format!(
                "there are at most {MOST_RANKS} ranks, not {ranks}; write all_gpus: {MOST_RANKS}"
            ));
        }
        let model = u64::from(tensor) * u64::from(stages);
        if !u64::from(ranks).is_multiple_of(model) || ranks == 0 {
            let near = (u64::from(ranks) / model).max(1) * model;
            return Err(match is_said {
                true => format!(
                    "{ranks} ranks are no whole number of {stages} stages of {tensor} tensor ranks; write all_gpus: {near}"
                ),
                false => format!(
                    "all_gpus is missing, and {ranks} ranks are no whole number of {stages} stages of {tensor} tensor ranks; \
                     write all_gpus: {near} behind the rest of the line"
                ),
            });
        }
        let data = (u64::from(ranks) / model) as u32;
        if !data.is_multiple_of(expert) {
            let near = (1..=expert.min(data)).rev().find(|size| data.is_multiple_of(*size)).unwrap_or(1);
            return Err(format!(
                "{data} data-parallel ranks are no whole number of groups of {expert} experts; write ep: {near}"
            ));
        }
        if stages > 1 && between > 0 && !share.without_pipeline {
            return Err(format!(
                "{stages} pipeline stages send each other {}, and the file does not say when; write \
                 without_pipeline = true in [workload] to leave that out",
                Bytes(between).about()
            ));
        }
        let between = if stages > 1 { between } else { 0 };
        Ok(Groups { tensor, data, expert, stages, between, is_said, is_micro: false })
    }

    /// The groups of the ranks that are simulated.
    fn shared(self, share: Share) -> Result<Self, WorkloadError> {
        match share.ranks.filter(|_| self.is_said) {
            None => Ok(self),
            Some(ranks) => self.first(ranks).map_err(|what| WorkloadError::key("ranks", what)),
        }
    }

    /// The groups of the first `ranks` ranks: of whole pipeline stages, or of one with fewer data-parallel ranks.
    fn first(self, ranks: u32) -> Result<Self, String> {
        let (least, stage) = (self.tensor * self.expert, self.tensor * self.data);
        if ranks > 0 && ranks <= stage && ranks.is_multiple_of(least) {
            return Ok(Groups { data: ranks / self.tensor, stages: 1, between: 0, ..self });
        }
        if ranks > stage && ranks <= self.ranks() && ranks.is_multiple_of(stage) {
            return Ok(Groups { stages: ranks / stage, ..self });
        }
        let of_stages = match self.stages {
            1 => String::new(),
            stages => format!(", or in multiples of {stage}, a pipeline stage, up to {}", stages * stage),
        };
        let near =
            if ranks > stage { ranks.min(self.ranks()) / stage * stage } else { ranks / least * least };
        Err(format!(
            "{ranks} ranks are no share of its groups, which come in multiples of {least} up to {stage}{of_stages}; write {}",
            near.max(least)
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
        for part in layers.iter().flat_map(Layer::parts) {
            let Some((algorithm, group, bytes)) = self.collective(part) else { continue };
            let ranks = self.size(group);
            if ranks > 1 {
                let of_group = algorithm.messages(ranks, bytes, chunk);
                messages = messages.saturating_add(of_group.saturating_mul(u64::from(self.ranks() / ranks)));
            }
        }
        if messages <= u64::from(MAX_MESSAGES) {
            return Ok(());
        }
        const BYTES_EACH: u64 = 200;
        let what = format!(
            "its {} layers on {} ranks come to {messages} messages, some {}, and the most is {MAX_MESSAGES}; write a \
             larger chunk, or a share of it by layers and ranks",
            layers.len(),
            self.ranks(),
            Bytes(messages.saturating_mul(BYTES_EACH)).about()
        );
        Err(WorkloadError::file(file, what))
    }

    /// The collective that ranks take part in for a part of a layer.
    fn collective(self, part: &Part) -> Option<(Algorithm, Group, u64)> {
        let all = |(algorithm, _, bytes)| (algorithm, Group::Data, bytes);
        if self.is_micro { part.collective.map(all) } else { part.collective }
    }

    /// The parts of layers in the order of the ranks, each with whether they wait for its collective.
    fn order(self, layers: &[Layer]) -> Vec<(&Layer, &Part, bool)> {
        if self.is_micro {
            return layers.iter().flat_map(|layer| layer.parts().map(|part| (layer, part, true))).collect();
        }
        let forward = layers.iter().map(|layer| (layer, &layer.forward, true));
        let backward = layers
            .iter()
            .rev()
            .flat_map(|layer| [(layer, &layer.weights, false), (layer, &layer.input, true)]);
        forward.chain(backward).collect()
    }

    fn graph(self, layers: &[Layer], chunk: u64) -> Graph {
        let ranks = self.ranks();
        let mut graph = Graph { ranks: (0..ranks).map(|_| Vec::new()).collect(), collectives: Vec::new() };
        // By rank, the node that is to be over before the next one.
        let mut last: Vec<Option<u32>> = vec![None; ranks as usize];
        for (layer, part, waits) in self.order(layers) {
            if part.takes > Duration::ZERO {
                for rank in 0..ranks {
                    let op = Op::Compute { takes: part.takes, processor: Some(0) };
                    last[rank as usize] = Some(push(&mut graph, rank, op, layer.line, last[rank as usize]));
                }
            }
            let Some((algorithm, group, bytes)) = self.collective(part) else { continue };
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

/// The columns of a layer, for errors.
const COLUMNS: &str = "12 columns: a name and -1; time, collective and bytes of the forward, of the input gradient and of the weight \
                       gradient; the time of the update";

impl Layer {
    fn read(content: &str, line: u32, how: CollectiveRules<'_>) -> Result<Self, String> {
        let words: Vec<&str> = content.split_whitespace().collect();
        let [_, dependency, parts @ .., update] = &words[..] else {
            return Err(format!("a layer has {COLUMNS}; there are {}", words.len()));
        };
        let is_name = |word: &str| word.starts_with(|c: char| c.is_ascii_alphabetic());
        if parts.len() == 8 && [parts[1], parts[4], parts[7]].into_iter().all(is_name) {
            return Err(format!("a layer has {COLUMNS}; the last one is missing; write 0 behind it"));
        }
        if parts.len() != 9 {
            return Err(format!("a layer has {COLUMNS}; there are {}", words.len()));
        }
        if *dependency != "-1" {
            return Err(format!(
                "a dependency on another layer is not simulated, which {} would be; write -1",
                quote(dependency)
            ));
        }
        let update = nanoseconds(update, "update")?;
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

    fn parts(&self) -> [&Part; 3] {
        [&self.forward, &self.input, &self.weights]
    }
}

fn nanoseconds(word: &str, of: &str) -> Result<Duration, String> {
    let ns = text::whole(word, format!("the time of the {of}, in nanoseconds,"), u64::MAX / 1_000_000);
    ns.map(Duration::from_ns).map_err(|what| what + &text::without_unit(word, Duration::from_ns(1)))
}

/// CollectiveRules by their names, with what does them unless said.
const COLLECTIVES: [(&str, Option<Algorithm>); 6] = [
    ("NONE", None),
    ("ALLREDUCE", Some(Algorithm::AllreduceRing)),
    ("ALLGATHER", Some(Algorithm::AllgatherRing)),
    ("REDUCESCATTER", Some(Algorithm::ReducescatterRing)),
    ("ALLTOALL", Some(Algorithm::Alltoall)),
    ("BROADCAST", Some(Algorithm::BroadcastRing)),
];

/// The end of an error about an unknown collective. A `REDUCE` is another one than an `ALLREDUCE`, and no slip.
fn near(kind: &str) -> String {
    let names = COLLECTIVES.map(|(name, _)| name);
    match names.iter().find(|name| is_misspelt(kind, name)) {
        Some(name) => format!("did you mean `{name}`?"),
        None => format!("expected one of: {}", names.join(", ")),
    }
}

impl Part {
    fn read(words: &[&str], name: &str, plain: Group, how: CollectiveRules<'_>) -> Result<Self, String> {
        let takes = nanoseconds(words[0], name)?;
        let bytes = text::whole_bytes(words[2], format!("the bytes of the {name}"), u64::MAX)?;
        let (kind, suffix, group) = match words[1].strip_suffix("_DP_EP") {
            Some(kind) => (kind, "_DP_EP", Group::DataOfExpert),
            None => match words[1].strip_suffix("_EP") {
                Some(kind) => (kind, "_EP", Group::Expert),
                None => (words[1], "", plain),
            },
        };
        let Some((_, usual)) = COLLECTIVES.iter().find(|(known, _)| *known == kind) else {
            let of_other_group = COLLECTIVES
                .iter()
                .any(|(known, _)| kind.strip_prefix(known).is_some_and(|rest| rest.starts_with('_')));
            return Err(match of_other_group {
                true => {
                    format!("{} is of no known group: the suffixes are _EP, _DP_EP and none", quote(words[1]))
                }
                false => {
                    let near = near(kind);
                    let behind =
                        if suffix.is_empty() { String::new() } else { format!(" with {suffix} behind it") };
                    format!("{} is no known collective{behind}; {near}", quote(kind))
                }
            });
        };
        let collective = usual.filter(|_| bytes > 0).map(|usual| (how.algorithm(usual, bytes), group, bytes));
        Ok(Part { takes, collective })
    }
}
