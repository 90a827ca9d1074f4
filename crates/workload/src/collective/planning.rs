//! The plans of algorithms: the steps in which ranks transfer data to each other.

use super::algorithm::Algorithm;
use super::blocks::Blocks;
use super::double_tree::depths;
use super::layout::Layout;
use super::plan::{Action, Plan, Planner, Send, Transfer};
use super::{hierarchical, nccl, ring};

impl Algorithm {
    /// The plan for `ranks` ranks (at least 1) without servers. See [`Algorithm::plan_in`].
    pub fn plan(self, ranks: u32, bytes: u64, chunk: u64, connections: u32) -> Plan {
        self.plan_in(&Layout::flat(ranks), bytes, chunk, connections)
    }

    /// The plan for the ranks of `layout` (at least 1), in chunks of at most `chunk` bytes (at least 1). An all-to-all
    /// sends whole blocks, and each rank has at most `connections` of them in flight.
    ///
    /// # Panics
    /// The plan has 2^32 messages or more. See [`Algorithm::messages_in`].
    pub fn plan_in(self, layout: &Layout, bytes: u64, chunk: u64, connections: u32) -> Plan {
        assert!(
            self.messages_in(layout, bytes, chunk) <= u64::from(u32::MAX),
            "a plan has fewer than 2^32 messages"
        );
        if self == Algorithm::AllreduceNccl {
            let (algorithm, protocol) = nccl::Cluster::of(layout).choose_allreduce(bytes);
            return algorithm.plan_in(layout, protocol.sent(bytes), chunk, connections);
        }
        let ranks = layout.ranks();
        let mut planner = Planner::new(ranks, chunk);
        match self {
            Algorithm::AllreduceRing => {
                ring::reduce_scatter(&mut planner, layout, bytes);
                ring::all_gather(&mut planner, layout, bytes);
            }
            Algorithm::AllgatherRing => ring::all_gather(&mut planner, layout, bytes),
            Algorithm::ReducescatterRing => ring::reduce_scatter(&mut planner, layout, bytes),
            Algorithm::BroadcastRing => ring::broadcast(&mut planner, layout, bytes),
            Algorithm::AllreduceDoubleBinaryTree => double_binary_tree(&mut planner, layout, bytes),
            Algorithm::AllreduceHierarchical => hierarchical::plan(&mut planner, layout, bytes, chunk),
            Algorithm::AllreduceHalvingDoubling => folded(&mut planner, ranks, bytes, halving_doubling),
            Algorithm::AllreduceRecursiveDoubling => folded(&mut planner, ranks, bytes, recursive_doubling),
            Algorithm::AllreduceNccl => unreachable!("NCCL chooses another algorithm"),
            Algorithm::Alltoall => return alltoall(Blocks::of(bytes, ranks), connections),
            Algorithm::Sendrecv => planner.step((0..ranks).map(|src| Transfer {
                src,
                dst: (src + 1) % ranks,
                range: (0, bytes),
                action: Action::Copy,
                channel: 0,
            })),
        }
        match layout.channels() {
            1 => planner.finish(),
            _ => planner.finish_side_by_side(),
        }
    }

    /// The ranks that send to each other in the rings or trees of all channels, sender first. `None` for an algorithm
    /// without rings and trees.
    pub(super) fn edges(self, layout: &Layout) -> Option<Vec<[u32; 2]>> {
        let mut edges = Vec::new();
        for channel in 0..layout.channels() {
            match self {
                Algorithm::AllreduceDoubleBinaryTree => {
                    for (child, parent) in (0..).zip(layout.trees(channel).into_iter().flatten()) {
                        let child = child % layout.ranks();
                        edges
                            .extend(parent.into_iter().flat_map(|parent| [[child, parent], [parent, child]]));
                    }
                }
                Algorithm::AllreduceRing
                | Algorithm::AllgatherRing
                | Algorithm::ReducescatterRing
                | Algorithm::BroadcastRing => {
                    let ring = layout.ring(channel);
                    let ends_at_root = self == Algorithm::BroadcastRing;
                    let after = ring.iter().cycle().skip(1);
                    let pairs = ring.iter().zip(after).map(|(src, dst)| [*src, *dst]);
                    edges.extend(pairs.filter(|[_, dst]| !(ends_at_root && *dst == 0)));
                }
                _ => return None,
            }
        }
        Some(edges)
    }

    /// The number of messages of [`Algorithm::plan`].
    pub fn messages(self, ranks: u32, bytes: u64, chunk: u64) -> u64 {
        self.messages_in(&Layout::flat(ranks), bytes, chunk)
    }

    /// The number of messages of [`Algorithm::plan_in`], including transfers over NVLink.
    pub fn messages_in(self, layout: &Layout, bytes: u64, chunk: u64) -> u64 {
        if self == Algorithm::AllreduceNccl {
            let (algorithm, protocol) = nccl::Cluster::of(layout).choose_allreduce(bytes);
            return algorithm.messages_in(layout, protocol.sent(bytes), chunk);
        }
        let ranks = layout.ranks();
        let n = u64::from(ranks);
        let of_blocks = |bytes: u64, count: u32| Blocks::of(bytes, count).chunks(chunk);
        // Each channel carries a part of each block.
        let of_parts = |count: u32, parts: u32| {
            let sizes = Blocks::of(bytes, count).sizes();
            let each = sizes.map(|(size, blocks)| of_blocks(size, parts).saturating_mul(blocks));
            each[0].saturating_add(each[1])
        };
        let around = of_parts(ranks, layout.channels()).saturating_mul(n - 1);
        let fold = Fold::of(ranks);
        let whole = of_blocks(bytes, 1);
        let folding = (2 * u64::from(fold.extra)).saturating_mul(whole);
        match self {
            Algorithm::AllreduceRing => around.saturating_mul(2),
            Algorithm::AllgatherRing | Algorithm::ReducescatterRing => around,
            Algorithm::BroadcastRing => of_blocks(bytes, layout.channels()).saturating_mul(n - 1),
            Algorithm::AllreduceDoubleBinaryTree => {
                of_parts(layout.channels(), 2).saturating_mul(2 * (n - 1))
            }
            Algorithm::AllreduceHierarchical => hierarchical::messages(layout, bytes, chunk),
            Algorithm::AllreduceRecursiveDoubling => whole
                .saturating_mul(u64::from(fold.participants) * u64::from(fold.participants.ilog2()))
                .saturating_add(folding),
            Algorithm::AllreduceHalvingDoubling => {
                let blocks = Blocks::of(bytes, fold.participants);
                let step = |step: u32| {
                    let width = fold.participants >> (step + 1);
                    let parts = (0..fold.participants / width).map(|part| blocks.range(part * width, width));
                    let chunks = |(from, to): (u64, u64)| (to - from).div_ceil(chunk);
                    parts.map(chunks).fold(0, u64::saturating_add).saturating_mul(u64::from(width))
                };
                let halving = (0..fold.participants.ilog2()).map(step).fold(0, u64::saturating_add);
                halving.saturating_mul(2).saturating_add(folding)
            }
            Algorithm::AllreduceNccl => unreachable!("NCCL chooses another algorithm"),
            Algorithm::Alltoall => bytes.min(n).saturating_mul(n - 1),
            Algorithm::Sendrecv => whole.saturating_mul(n),
        }
    }
}

fn double_binary_tree(planner: &mut Planner, layout: &Layout, bytes: u64) {
    let of_channels = Blocks::of(bytes, layout.channels());
    let in_channel = |channel: u32| {
        let halves = Blocks::within(of_channels.range(channel, 1), 2);
        let trees = (0..).zip(layout.trees(channel));
        trees.map(move |(tree, parents)| tree_steps(&parents, halves.range(tree, 1), channel))
    };
    let mut trees: Vec<Vec<Vec<Transfer>>> = (0..layout.channels()).flat_map(in_channel).collect();
    if layout.channels() == 1 {
        return trees.into_iter().flatten().for_each(|step| planner.step(step));
    }
    let longest = trees.iter().map(Vec::len).max().unwrap_or(0);
    for number in 0..longest {
        planner.step(trees.iter_mut().filter_map(|steps| steps.get_mut(number)).flat_map(std::mem::take));
    }
}

/// The steps that reduce a range of bytes up a tree, and distribute the result down the tree.
fn tree_steps(parents: &[Option<u32>], range: (u64, u64), channel: u32) -> Vec<Vec<Transfer>> {
    let depths = depths(parents);
    let deepest = depths.iter().copied().max().unwrap_or(0);
    // The edges (child, parent) whose child has the depth `depth`.
    let level = |depth: u32| {
        let at = move |&(_, &of): &(usize, &u32)| of == depth;
        let edge = |(child, _): (usize, &u32)| parents[child].map(|parent| (child as u32, parent));
        depths.iter().enumerate().filter(at).filter_map(edge)
    };
    let up = |(child, parent)| Transfer { src: child, dst: parent, range, action: Action::Reduce, channel };
    let down = |(child, parent)| Transfer { src: parent, dst: child, range, action: Action::Copy, channel };
    let ups = (1..=deepest).rev().map(|depth| level(depth).map(up).collect());
    let downs = (1..=deepest).map(|depth| level(depth).map(down).collect());
    ups.chain(downs).collect()
}

/// The reduction of a number of ranks to a power of two.
#[derive(Clone, Copy)]
struct Fold {
    /// The highest power of two that is at most the number of ranks.
    participants: u32,
    /// The number of ranks beyond `participants`. Each of the first `extra` even ranks is represented by the odd rank
    /// that follows it.
    extra: u32,
}

impl Fold {
    fn of(ranks: u32) -> Self {
        let participants = 1 << ranks.ilog2();
        Fold { participants, extra: ranks - participants }
    }

    /// The rank that is participant number `number`.
    fn rank(self, number: u32) -> u32 {
        if number < self.extra { 2 * number + 1 } else { number + self.extra }
    }
}

fn folded(planner: &mut Planner, ranks: u32, bytes: u64, inner: fn(&mut Planner, Fold, u64)) {
    let fold = Fold::of(ranks);
    let range = (0, bytes);
    if fold.extra == 0 {
        return inner(planner, fold, bytes);
    }
    let even = |pair: u32| 2 * pair;
    planner.step((0..fold.extra).map(|pair| Transfer {
        src: even(pair),
        dst: even(pair) + 1,
        range,
        action: Action::Reduce,
        channel: 0,
    }));
    inner(planner, fold, bytes);
    planner.step((0..fold.extra).map(|pair| Transfer {
        src: even(pair) + 1,
        dst: even(pair),
        range,
        action: Action::Copy,
        channel: 0,
    }));
}

/// Adds exchanges with partners at a distance of half the number of participants, then of a quarter, and so on. In
/// these exchanges, a rank sends the half of its blocks that the partner keeps. Exchanges at the same distances in
/// reverse order follow, in which a rank sends all blocks that it has.
fn halving_doubling(planner: &mut Planner, fold: Fold, bytes: u64) {
    let n = fold.participants;
    let blocks = Blocks::of(bytes, n);
    let mut exchange = |distance: u32, kept_by_partner: bool, action: Action| {
        planner.step((0..n).map(|number| {
            let partner = number ^ distance;
            let first = if kept_by_partner { partner } else { number } & !(distance - 1);
            let range = blocks.range(first, distance);
            Transfer { src: fold.rank(number), dst: fold.rank(partner), range, action, channel: 0 }
        }));
    };
    let distances = (0..n.ilog2()).map(|bit| 1 << bit);
    for distance in distances.clone().rev() {
        exchange(distance, true, Action::Reduce);
    }
    for distance in distances {
        exchange(distance, false, Action::Copy);
    }
}

fn recursive_doubling(planner: &mut Planner, fold: Fold, bytes: u64) {
    for bit in 0..fold.participants.ilog2() {
        planner.step((0..fold.participants).map(|number| Transfer {
            src: fold.rank(number),
            dst: fold.rank(number ^ (1 << bit)),
            range: (0, bytes),
            action: Action::Reduce,
            channel: 0,
        }));
    }
}

/// An all-to-all. In round k, each rank sends to the k-th rank after it, which is an order without incasts (STrack,
/// section 4.3).
fn alltoall(blocks: Blocks, connections: u32) -> Plan {
    let n = blocks.count();
    let mut plan = Plan { ranks: n, per_rank: Some(connections), ..Plan::default() };
    for round in 1..n {
        for src in 0..n {
            let dst = ((u64::from(src) + u64::from(round)) % u64::from(n)) as u32;
            let (from, to) = blocks.range(dst, 1);
            if from < to {
                let bytes = to - from;
                let action = Action::Copy;
                plan.sends.push(Send {
                    src,
                    dst,
                    from,
                    bytes,
                    action,
                    channel: 0,
                    switch: false,
                    step: round - 1,
                    waits_from: 0,
                    waits_len: 0,
                });
            }
        }
    }
    plan
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_messages_is_known_beforehand() {
        for (name, algorithm) in Algorithm::ALL {
            for ranks in 2..=20 {
                for (bytes, chunk) in [(1, 1), (7, 2), (1000, 13), (1 << 20, 64_000)] {
                    let plan = algorithm.plan(ranks, bytes, chunk, 1);
                    let expected = algorithm.messages(ranks, bytes, chunk);
                    assert_eq!(
                        plan.sends.len() as u64,
                        expected,
                        "{name}, {ranks} ranks, {bytes} B / {chunk} B"
                    );
                }
            }
            assert!(algorithm.messages(1 << 17, u64::MAX, 1) > u64::from(u32::MAX), "{name}");
        }
    }

    #[test]
    fn a_ring_chunk_waits_for_one_and_a_tree_chunk_for_its_children() {
        let ring = Algorithm::AllreduceRing.plan(4, 4000, 100, 0);
        assert!(ring.sends.iter().all(|send| send.waits_len == u32::from(send.step > 0)));
        let tree = Algorithm::AllreduceDoubleBinaryTree.plan(8, 4000, 100, 0);
        assert!(tree.sends.iter().all(|send| send.waits_len <= 2));
    }
}
