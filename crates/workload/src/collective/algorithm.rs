//! The algorithms of collectives, as steps in which ranks transfer data to each other.

use super::blocks::Blocks;
use super::layout::Layout;
use super::plan::{Action, Plan, Planner, Send, Transfer};
use super::{hierarchical, nccl, ring};
use serde::{Deserialize, Serialize};

/// The algorithm of a collective.
///
/// A buffer of B bytes is split into N blocks for N ranks. The blocks differ by at most one byte, and the longer ones
/// come first. If there are fewer bytes than ranks, the last blocks are empty and are not sent.
///
/// Rings and trees use the servers of a [`Layout`], in which each channel carries an equal part of every block. A
/// channel's ring visits the servers one after the other, and enters and leaves them on the channel's rail. A channel's
/// trees connect only one rank of a server, the one on the channel's rail, with other servers. The other algorithms use
/// the ranks in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Algorithm {
    /// AllReduce on a ring. N-1 steps reduce and N-1 steps distribute the result, one block per step. `bytes` is the
    /// buffer of each rank.
    AllreduceRing,
    /// AllReduce on two binary trees, each with half of the buffer. A node sends to its parent the sum of its own data
    /// and its children's data, and the root sends the result down. `bytes` is the buffer of each rank.
    ///
    /// The trees are those of NCCL: an inner node of one tree is a leaf of the other.
    AllreduceDoubleBinaryTree,
    /// Rabenseifner's AllReduce. Recursive halving reduces the data, and recursive doubling distributes the result.
    /// `bytes` is the buffer of each rank.
    ///
    /// If N is no power of two, the algorithm follows Thakur, Rabenseifner and Gropp (Optimization of Collective
    /// Communication Operations in MPICH, 2005). With N - r the next lower power of two, each even rank among the first
    /// 2r sends its buffer to its odd neighbour. The neighbour takes part for both and returns the result at the end.
    AllreduceHalvingDoubling,
    /// AllReduce as a butterfly: log2 N steps in which pairs exchange whole buffers. `bytes` is the buffer of each
    /// rank. If N is no power of two, it is treated as in `allreduce-halving-doubling`.
    AllreduceRecursiveDoubling,
    /// AllReduce in three phases. First, each server reduces, so that each of its ranks has the server's sum of one
    /// share of the buffer. Then the ranks of all servers with the same share, which are on one rail, run a ring
    /// AllReduce. Finally, each server distributes the result. Within a server, each rank sends to every other rank, or
    /// once to the NVLink switch if that reduces and multicasts (NVLS). `bytes` is the buffer of each rank.
    AllreduceHierarchical,
    /// AllReduce with the algorithm and protocol that NCCL chooses for the size ([`nccl`]). The algorithm is a ring, a
    /// double binary tree, or reduction by the servers' NVLink switches if they support it (NVLS and NVLSTree, which
    /// are [`AllreduceHierarchical`](Algorithm::AllreduceHierarchical) here). A protocol adds the bytes of its flags
    /// and has no other effect. `bytes` is the buffer of each rank.
    AllreduceNccl,
    /// AllGather on a ring in N-1 steps. `bytes` is the result, of which each rank has its own block at the start.
    AllgatherRing,
    /// ReduceScatter on a ring in N-1 steps. `bytes` is the input of each rank, and each rank ends with its own block
    /// of the sum.
    ReducescatterRing,
    /// Broadcast along the ring from the first rank to the last, in N-1 steps of all bytes. Each rank forwards a chunk
    /// when it has received it, as in NCCL. `bytes` is the buffer of the first rank.
    BroadcastRing,
    /// All-to-all. Each rank sends a block to every other rank, first to the next rank, then to the one after it, and
    /// so on. `bytes` is the input of a rank. It includes the block for the rank itself, which is not sent. A block is
    /// one message.
    Alltoall,
    /// Each rank sends `bytes` to the next one and receives the same amount from the previous one, as `sendrecv_perf`
    /// of nccl-tests does.
    Sendrecv,
}

/// The operation that an algorithm implements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Every rank ends with the sum of all buffers.
    AllReduce,
    /// Every rank ends with the blocks of all ranks.
    AllGather,
    /// Every rank ends with the sum over all ranks for its own block.
    ReduceScatter,
    /// Every rank ends with the buffer of the first rank.
    Broadcast,
    /// Every rank ends with one block of each rank.
    AllToAll,
    /// Every rank ends with the buffer of the previous rank.
    SendRecv,
}

impl Operation {
    /// All operations with their names in nccl-tests.
    pub const ALL: [(&'static str, Operation); 6] = [
        ("all_reduce", Operation::AllReduce),
        ("all_gather", Operation::AllGather),
        ("reduce_scatter", Operation::ReduceScatter),
        ("broadcast", Operation::Broadcast),
        ("alltoall", Operation::AllToAll),
        ("sendrecv", Operation::SendRecv),
    ];

    /// The name of the operation in nccl-tests.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, operation)| *operation == self).map_or("", |(name, _)| name)
    }

    /// The default algorithm of the operation, which depends on whether the servers of the ranks are known.
    pub fn usual_algorithm(self, knows_servers: bool) -> Algorithm {
        match self {
            Operation::AllReduce if knows_servers => Algorithm::AllreduceNccl,
            Operation::AllReduce => Algorithm::AllreduceRing,
            Operation::AllGather => Algorithm::AllgatherRing,
            Operation::ReduceScatter => Algorithm::ReducescatterRing,
            Operation::Broadcast => Algorithm::BroadcastRing,
            Operation::AllToAll => Algorithm::Alltoall,
            Operation::SendRecv => Algorithm::Sendrecv,
        }
    }
}

impl Algorithm {
    /// All algorithms with their names in scenarios.
    pub const ALL: [(&'static str, Algorithm); 11] = [
        ("allreduce-ring", Algorithm::AllreduceRing),
        ("allreduce-double-binary-tree", Algorithm::AllreduceDoubleBinaryTree),
        ("allreduce-halving-doubling", Algorithm::AllreduceHalvingDoubling),
        ("allreduce-recursive-doubling", Algorithm::AllreduceRecursiveDoubling),
        ("allreduce-hierarchical", Algorithm::AllreduceHierarchical),
        ("allreduce-nccl", Algorithm::AllreduceNccl),
        ("allgather-ring", Algorithm::AllgatherRing),
        ("reducescatter-ring", Algorithm::ReducescatterRing),
        ("broadcast-ring", Algorithm::BroadcastRing),
        ("alltoall", Algorithm::Alltoall),
        ("sendrecv", Algorithm::Sendrecv),
    ];

    /// The name of the algorithm in scenarios.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, algorithm)| *algorithm == self).map_or("", |(name, _)| name)
    }

    /// The collective that the algorithm implements: `allreduce`, `allgather`, `reducescatter`, `broadcast`, `alltoall`
    /// or `sendrecv`.
    pub fn collective(self) -> &'static str {
        self.name().split('-').next().unwrap_or_default()
    }

    /// The operation that the algorithm implements.
    pub fn operation(self) -> Operation {
        match self {
            Algorithm::AllreduceRing
            | Algorithm::AllreduceDoubleBinaryTree
            | Algorithm::AllreduceHalvingDoubling
            | Algorithm::AllreduceRecursiveDoubling
            | Algorithm::AllreduceHierarchical
            | Algorithm::AllreduceNccl => Operation::AllReduce,
            Algorithm::AllgatherRing => Operation::AllGather,
            Algorithm::ReducescatterRing => Operation::ReduceScatter,
            Algorithm::BroadcastRing => Operation::Broadcast,
            Algorithm::Alltoall => Operation::AllToAll,
            Algorithm::Sendrecv => Operation::SendRecv,
        }
    }

    /// Whether the algorithm needs to know the servers of the ranks, and the rates.
    pub fn needs_servers(self) -> bool {
        self == Algorithm::AllreduceNccl
    }

    /// The bus bandwidth of nccl-tests divided by the algorithm bandwidth, among `ranks` ranks. This factor is defined
    /// so that the bus bandwidth of a collective is limited by the rate of the links, whatever the number of ranks.
    pub fn bus_factor(self, ranks: u32) -> f64 {
        let n = f64::from(ranks.max(1));
        match self.operation() {
            Operation::AllReduce => 2.0 * (n - 1.0) / n,
            Operation::Broadcast | Operation::SendRecv => 1.0,
            Operation::AllGather | Operation::ReduceScatter | Operation::AllToAll => (n - 1.0) / n,
        }
    }

    /// The plan for `ranks` ranks (at least 1) without servers. See [`Algorithm::plan_in`].
    pub fn plan(self, ranks: u32, bytes: u64, chunk: u64, connections: u32) -> Plan {
        self.plan_in(&Layout::flat(ranks), bytes, chunk, connections)
    }

    /// The plan for the ranks of `layout` (at least 1), in chunks of at most `chunk` bytes (at least 1). An all-to-all
    /// sends whole blocks, and each rank has at most `connections` of them in flight.
    ///
    /// # Panics
    /// There are more than 2^32 messages or dependencies. See [`Algorithm::messages_in`].
    pub fn plan_in(self, layout: &Layout, bytes: u64, chunk: u64, connections: u32) -> Plan {
        assert!(
            self.messages_in(layout, bytes, chunk) <= u64::from(u32::MAX),
            "a plan has 2^32 messages at most"
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
            })),
        }
        planner.finish()
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
    for channel in 0..layout.channels() {
        let halves = Blocks::within(of_channels.range(channel, 1), 2);
        for (tree, parents) in (0..).zip(layout.trees(channel)) {
            reduce_and_distribute(planner, &parents, halves.range(tree, 1));
        }
    }
}

/// Reduces a range of bytes up a tree, and distributes the result down the tree.
fn reduce_and_distribute(planner: &mut Planner, parents: &[Option<u32>], range: (u64, u64)) {
    let depths = depths(parents);
    let deepest = depths.iter().copied().max().unwrap_or(0);
    // The edges (child, parent) whose child has the depth `depth`.
    let level = |depth: u32| {
        let at = move |&(_, &of): &(usize, &u32)| of == depth;
        let edge = |(child, _): (usize, &u32)| parents[child].map(|parent| (child as u32, parent));
        depths.iter().enumerate().filter(at).filter_map(edge).collect::<Vec<_>>()
    };
    for depth in (1..=deepest).rev() {
        let up = level(depth);
        planner.step(up.iter().map(|&(child, parent)| Transfer {
            src: child,
            dst: parent,
            range,
            action: Action::Reduce,
        }));
    }
    for depth in 1..=deepest {
        let down = level(depth);
        planner.step(down.iter().map(|&(child, parent)| Transfer {
            src: parent,
            dst: child,
            range,
            action: Action::Copy,
        }));
    }
}

/// The parent of each rank in the two trees. `None` for a root.
///
/// The first tree is NCCL's binary tree over the bits of the rank, with odd ranks as leaves. For even N, the second
/// tree is the mirror image of the first, which exchanges odd and even ranks. For odd N, it is the first tree rotated
/// by one rank.
pub(super) fn double_tree(ranks: u32) -> [Vec<Option<u32>>; 2] {
    let position_of = |rank: u32| match ranks % 2 {
        0 => ranks - 1 - rank,
        _ => (rank + ranks - 1) % ranks,
    };
    let rank_at = |position: u32| match ranks % 2 {
        0 => ranks - 1 - position,
        _ => (position + 1) % ranks,
    };
    [
        (0..ranks).map(|rank| tree_parent(rank, ranks)).collect(),
        (0..ranks).map(|rank| tree_parent(position_of(rank), ranks).map(rank_at)).collect(),
    ]
}

/// The parent of a rank in the first tree. It is the rank with its lowest set bit cleared and the next higher bit set.
/// If there is no such rank, the lowest set bit is only cleared.
fn tree_parent(rank: u32, ranks: u32) -> Option<u32> {
    if rank == 0 {
        return None;
    }
    let bit = 1 << rank.trailing_zeros();
    let cleared = rank ^ bit;
    let above = u64::from(cleared) | (u64::from(bit) << 1);
    Some(if above < u64::from(ranks) { above as u32 } else { cleared })
}

fn depths(parents: &[Option<u32>]) -> Vec<u32> {
    let depth = |rank: usize| std::iter::successors(parents[rank], |&above| parents[above as usize]).count();
    (0..parents.len()).map(|rank| depth(rank) as u32).collect()
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
    }));
    inner(planner, fold, bytes);
    planner.step((0..fold.extra).map(|pair| Transfer {
        src: even(pair) + 1,
        dst: even(pair),
        range,
        action: Action::Copy,
    }));
}

/// Adds exchanges with partners at half the number of ranks, then at a quarter, and so on. In each of them, a rank
/// sends that half of its blocks which the partner keeps. Exchanges at these distances in reverse order follow, in
/// which a rank sends all blocks that it has.
fn halving_doubling(planner: &mut Planner, fold: Fold, bytes: u64) {
    let n = fold.participants;
    let blocks = Blocks::of(bytes, n);
    let mut exchange = |distance: u32, kept_by_partner: bool, action: Action| {
        planner.step((0..n).map(|number| {
            let partner = number ^ distance;
            let first = if kept_by_partner { partner } else { number } & !(distance - 1);
            let range = blocks.range(first, distance);
            Transfer { src: fold.rank(number), dst: fold.rank(partner), range, action }
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
        }));
    }
}

/// An all-to-all. In round k, rank r sends to r + k, which is an order without incasts (STrack, section 4.3).
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
    fn both_trees_are_binary_and_an_inner_node_of_one_is_a_leaf_of_the_other() {
        for ranks in 2..=130 {
            let trees = double_tree(ranks);
            let children = |tree: &[Option<u32>], of: u32| tree.iter().filter(|p| **p == Some(of)).count();
            for tree in &trees {
                assert_eq!(tree.iter().filter(|parent| parent.is_none()).count(), 1, "{ranks} ranks, roots");
                assert!((0..ranks).all(|rank| children(tree, rank) <= 2), "{ranks} ranks");
                let deepest = depths(tree).into_iter().max().unwrap();
                assert!(deepest <= ranks.ilog2() + 1, "{ranks} ranks, depth {deepest}");
            }
            // With an odd number of ranks, one rank is an inner node of both trees.
            let leaf = |tree: &[Option<u32>], rank: u32| children(tree, rank) == 0;
            let neither = (0..ranks).filter(|&rank| !leaf(&trees[0], rank) && !leaf(&trees[1], rank)).count();
            let both = (0..ranks).filter(|&rank| leaf(&trees[0], rank) && leaf(&trees[1], rank)).count();
            assert_eq!((both, neither), (0, (ranks % 2) as usize), "{ranks} ranks");
        }
    }

    #[test]
    fn the_trees_of_eight_and_seven() {
        let parents = |tree: &[Option<u32>]| tree.iter().map(|p| p.map_or(-1, i64::from)).collect::<Vec<_>>();
        let [first, second] = double_tree(8);
        assert_eq!(parents(&first), [-1, 2, 4, 2, 0, 6, 4, 6]);
        assert_eq!(parents(&second), [1, 3, 1, 7, 5, 3, 5, -1]);
        let [first, second] = double_tree(7);
        assert_eq!(parents(&first), [-1, 2, 4, 2, 0, 6, 4]);
        assert_eq!(parents(&second), [5, -1, 3, 5, 3, 1, 0]);
    }

    #[test]
    fn a_ring_chunk_waits_for_one_and_a_tree_chunk_for_its_children() {
        let ring = Algorithm::AllreduceRing.plan(4, 4000, 100, 0);
        assert!(ring.sends.iter().all(|send| send.waits_len == u32::from(send.step > 0)));
        let tree = Algorithm::AllreduceDoubleBinaryTree.plan(8, 4000, 100, 0);
        assert!(tree.sends.iter().all(|send| send.waits_len <= 2));
    }
}
