//! The algorithms of collectives, and the operations that they carry out.

use serde::{Deserialize, Serialize};

/// The algorithm of a collective among N ranks.
///
/// The blocks into which a buffer is split differ by at most one byte, and the longer ones come first. Empty blocks
/// are not sent.
///
/// Rings and trees use the servers of a [`Layout`](super::Layout), and divide the data equally among its channels. A
/// channel's ring visits the servers one after the other. The first rank of a server in the ring is on the channel's
/// rail, if the server has a rank there. If the ring visits the server in reverse, this holds for the last rank. In a
/// channel's trees, only one rank of a server is connected to other servers. This rank too is on the channel's rail if
/// possible. The hierarchical AllReduce uses the servers and their rails. The other algorithms use the ranks in their
/// order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Algorithm {
    /// AllReduce on a ring. N-1 steps reduce and N-1 steps distribute the result, one block per step. `bytes` is the
    /// buffer of each rank.
    AllreduceRing,
    /// AllReduce on two binary trees, each with half of the buffer. A node sends to its parent the sum of its own data
    /// and its children's data, and the root sends the result down. `bytes` is the buffer of each rank.
    ///
    /// The trees are those of NCCL. Without servers, if N is even, an inner node of one tree is a leaf of the other
    /// tree. If N is odd, exactly one rank is an inner node of both trees.
    AllreduceDoubleBinaryTree,
    /// Rabenseifner's AllReduce. Recursive halving reduces the data, and recursive doubling distributes the result.
    /// `bytes` is the buffer of each rank.
    ///
    /// If N is no power of two, the algorithm follows Thakur, Rabenseifner and Gropp (Optimization of Collective
    /// Communication Operations in MPICH, 2005). If N - r is the next lower power of two, each even rank among the
    /// first 2r sends its buffer to its odd neighbour. The neighbour takes part for both and returns the result at the end.
    AllreduceHalvingDoubling,
    /// AllReduce as a butterfly: log2 N steps in which pairs exchange whole buffers. `bytes` is the buffer of each
    /// rank. If N is no power of two, some ranks take part for their neighbours, as in `allreduce-halving-doubling`.
    AllreduceRecursiveDoubling,
    /// AllReduce in three phases. First, each server reduces. Its first ranks then each have the server's sum of one
    /// share of the buffer. There are as many shares as the smallest server has ranks. Second, for each share, the
    /// ranks that have it, one in each server, run a ring AllReduce. They are on one rail if the servers are alike.
    /// Third, each server distributes the result. Within a server, ranks send to each other directly, or once to the
    /// NVLink switch if the switch reduces and multicasts (NVLS). `bytes` is the buffer of each rank.
    AllreduceHierarchical,
    /// AllReduce with the algorithm and protocol that NCCL chooses for the size ([`nccl`](super::nccl)). The
    /// algorithm is a ring, a double binary tree, or reduction by the servers' NVLink switches if they support it
    /// (NVLS and NVLSTree, which are [`AllreduceHierarchical`](Algorithm::AllreduceHierarchical) here). The protocol
    /// affects the messages only by the bytes of its flags. `bytes` is the buffer of each rank.
    AllreduceNccl,
    /// AllGather on a ring in N-1 steps. `bytes` is the result, of which each rank has its own block at the start.
    AllgatherRing,
    /// ReduceScatter on a ring in N-1 steps. `bytes` is the input of each rank, and each rank ends with its own block
    /// of the sum.
    ReducescatterRing,
    /// Broadcast along the ring, from the first rank on, in N-1 steps that each send all bytes. Each rank forwards a
    /// chunk when it has received the chunk, as in NCCL. `bytes` is the buffer of the first rank.
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
    /// Every rank ends with its own block of the sum of all buffers.
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

    /// The default algorithm of the operation. For an AllReduce, it depends on whether the servers of the ranks are
    /// known.
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

    /// Whether the algorithm needs to know the servers of the ranks, and the rates of NICs and NVLinks.
    pub fn needs_servers(self) -> bool {
        self == Algorithm::AllreduceNccl
    }

    /// Whether the data is divided among the channels of a [`Layout`](super::Layout).
    pub fn has_channels(self) -> bool {
        use Algorithm::{AllgatherRing, AllreduceDoubleBinaryTree, AllreduceNccl, AllreduceRing};
        use Algorithm::{BroadcastRing, ReducescatterRing};
        matches!(
            self,
            AllreduceRing
                | AllgatherRing
                | ReducescatterRing
                | BroadcastRing
                | AllreduceDoubleBinaryTree
                | AllreduceNccl
        )
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
}
