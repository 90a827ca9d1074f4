//! Workloads of SimAI as AICB writes them: a header, the number of layers, and one line per layer.
//!
//! The header is `HYBRID_TRANSFORMER_FWD_IN_BCKWD` or `HYBRID_TRANSFORMER` with sizes of parallel groups, or only
//! `MICRO`. The first two differ only in checkpoints (SimAI, `Workload.cc`, `iterate_hybrid_parallel_Transformer` and
//! the functions after it), which are not simulated. A layer is `name dependency F_ns F_collective F_bytes I_ns
//! I_collective I_bytes W_ns W_collective W_bytes update_ns`. It has a computation and a collective for each of the
//! forward pass (F), the input gradient (I) and the weight gradient (W).
//!
//! The format leaves its execution to the simulator. This reader uses these rules:
//! - There is one pass: forward through all layers in their order, then backward in reverse order, with W before I in
//!   each layer. A rank executes one computation at a time. It waits for the collectives of F and I. Only the end of
//!   the job waits for the collectives of W. `update_ns` must be present, but is not simulated.
//!   [`notes`] mentions it if its sum over the layers is more than 1 % of the computation. `vpp` and `ga`
//!   (micro-batches) have no effect, because the file's layers already include them. `mode` has no effect either,
//!   because files with the mode 1 (inference) have no backward pass.
//! - `MICRO`: the lines are executed one after the other, each among all ranks, as AICB does on GPUs (`apply_workload`
//!   of its `workload_applyer.py`). SimAI itself issues only the first line (`iterate_micro_benchmark`).
//! - Ranks are numbered with tensor parallelism innermost, then data parallelism, then pipeline stages. In the order
//!   of SimAI, data parallelism is last ([`RankOrder`]). A collective without a suffix is in the tensor group for F
//!   and I, and in the data group for W. A collective with `_EP` is in the expert groups, which join neighbouring
//!   tensor groups. A collective with `_DP_EP` joins the ranks at equal positions of the expert groups of a stage. In
//!   SimAI's order, if there are several stages and an expert group joins several tensor groups, expert groups extend
//!   over stages and the groups of `_DP_EP` overlap (`MockNcclGroup.cc`). Collectives with `_DP_EP` are then refused.
//! - If the header has no `all_gpus`, as in older files of AICB, and the scenario gives neither the number of ranks
//!   nor their hosts, there is one rank for each free host or GPU. SimAI likewise uses all GPUs of its topology
//!   (`Sys.cc`, `mock_nccl_comms_init`).
//! - `ALLREDUCE`, `ALLGATHER`, `REDUCESCATTER` and `BROADCAST` are rings by default, and `ALLTOALL` sends to all
//!   ranks immediately. A broadcast comes from the first rank of its group, as in AICB (`_apply_broadcast`), while
//!   SimAI ignores it. A collective of one rank or of no bytes is ignored, and so is `NONE` with bytes.
//! - Layers beyond the count are not read, as in SimAI.

mod groups;
mod layer;

use super::graph::{Collective, Graph, Node, Op};
use super::{CollectiveRules, RankOrder};
use crate::collective::Algorithm;
use crate::text;
use crate::{MAX_MESSAGES, WorkloadError};
use anabranch_base::{Bytes, Duration, Problem};
use groups::{Group, GroupError, Groups};
use layer::{Layer, Part};

/// The part of a file that is simulated. [`TraceSpec`](super::TraceSpec) describes the first four fields.
#[derive(Clone, Copy, Debug, Default)]
pub struct Share {
    pub without_pipeline: bool,
    pub layers: Option<[u32; 2]>,
    pub ranks: Option<u32>,
    pub order: RankOrder,
    /// The number of ranks whose hosts the scenario names. It is used as the number of ranks if neither the file nor
    /// `ranks` gives one.
    pub named: Option<u32>,
    /// The number of free hosts or GPUs. It is used as the number of ranks if nothing else gives one.
    pub free: u32,
}

impl Share {
    /// The number of ranks if the file does not give it.
    fn default_ranks(self) -> u32 {
        self.ranks.or(self.named).unwrap_or(self.free)
    }
}

/// Reads the part `share` of a file.
pub fn parse(
    file: &str,
    text: &str,
    rules: CollectiveRules<'_>,
    share: Share,
) -> Result<Graph, WorkloadError> {
    let Head { groups, count_line, count, lines } = Head::read(file, text, share)?;
    let mut layers = Vec::new();
    for &(number, content) in lines.iter().take(count as usize) {
        layers.push(
            Layer::read(content, number, rules).map_err(|what| WorkloadError::line(file, number, what))?,
        );
    }
    if layers.len() < count as usize {
        let there = layers.len();
        let are = if there == 1 { "is" } else { "are" };
        let what = Problem::with_value(format!("it counts {count} layers, and there {are} {there}"), there);
        return Err(WorkloadError::line(file, count_line, what));
    }
    let layers = match share.layers {
        None => &layers[..],
        Some([first, last]) => {
            let taken = first.checked_sub(1).and_then(|first| layers.get(first as usize..last as usize));
            taken.filter(|taken| !taken.is_empty()).ok_or_else(|| {
                let what = Problem::with_value(
                    format!("{file} has layers 1 to {count}"),
                    format_args!("[1, {count}]"),
                );
                WorkloadError::key("layers", what)
            })?
        }
    };
    let groups = groups.shared(share)?;
    groups.check_overlap(file, layers)?;
    groups.check_size(file, layers, rules.chunk)?;
    Ok(groups.graph(layers, rules.chunk))
}

/// Notes on the simulation of a file. They name the parts that are left out, and the assumptions about parts that the
/// file leaves open.
pub fn notes(file: &str, text: &str, share: Share) -> Vec<String> {
    let Ok(Head { groups, count, lines, .. }) = Head::read(file, text, share) else { return Vec::new() };
    let mut notes = Vec::new();
    let all = groups.ranks();
    let ranks = groups.shared(share).map_or(all, Groups::ranks);
    if !groups.is_declared && share.ranks.or(share.named).is_none() {
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

/// The content of the lines before the layers of a file, and the lines of the layers.
struct Head<'a> {
    groups: Groups,
    /// The number of the line that has the number of layers.
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
        let groups = Groups::read(header, share).map_err(|error| match error {
            GroupError::Header(what) => WorkloadError::line(file, line, what),
            GroupError::Ranks(what) => WorkloadError::key("ranks", what),
        })?;
        let Some((count_line, count)) = lines.next() else {
            return Err(WorkloadError::file(file, "its second line must be the number of layers"));
        };
        let lines: Vec<(u32, &str)> = lines.collect();
        let count = text::whole_u32(count, "the number of layers").map_err(|what| {
            let what = match count.split_whitespace().count() {
                1 => Problem::with_value(what, lines.len()),
                _ => Problem::with_text(
                    "expected the number of layers",
                    format_args!("{} above this line", lines.len() + 1),
                ),
            };
            WorkloadError::line(file, count_line, what)
        })?;
        Ok(Head { groups, count_line, count, lines })
    }
}

impl Groups {
    /// Refuses collectives of groups that share ranks.
    fn check_overlap(self, file: &str, layers: &[Layer]) -> Result<(), WorkloadError> {
        let overlaps = |part: &Part| {
            self.collective(part).is_some_and(|(_, group, _)| self.overlap(group) && self.size(group) > 1)
        };
        let Some(layer) = layers.iter().find(|layer| layer.parts().into_iter().any(overlaps)) else {
            return Ok(());
        };
        let what = Problem::with_text(
            format!(
                "in SimAI's order of ranks its groups of _DP_EP overlap, with {} stages and groups of {} experts",
                self.stages, self.expert
            ),
            "rank_order = \"tp-dp-pp\" in [workload]",
        );
        Err(WorkloadError::line(file, layer.line, what))
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
        let what = Problem::with_text(
            format!(
                "its {} layers on {} ranks come to {messages} messages, some {}, and the most is {MAX_MESSAGES}",
                layers.len(),
                self.ranks(),
                Bytes(messages.saturating_mul(BYTES_EACH)).about()
            ),
            "a larger chunk, or a share of it by layers and ranks",
        );
        Err(WorkloadError::file(file, what))
    }

    /// The collective of a part of a layer. In a `MICRO` file its group is the data group, which has all ranks.
    fn collective(self, part: &Part) -> Option<(Algorithm, Group, u64)> {
        let all = |(algorithm, _, bytes)| (algorithm, Group::Data, bytes);
        if self.is_micro { part.collective.map(all) } else { part.collective }
    }

    /// The parts of layers in their order of execution. The flag of each part tells whether ranks wait for its
    /// collective.
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
        // The node of each rank that must end before the rank's next node begins.
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
