//! The keys of jobs from traces.

use super::section::Unless::{Is, Needed, Told};
use super::section::{FILE, SIZE, Section, key};

/// `[workload]` with `kind = "trace"`.
pub(super) const TRACE: Section = Section {
    name: "trace",
    table: "[workload]",
    kind: Some("trace"),
    meaning: "A job from a file of another tool: what each rank computes, sends and receives, and in which order.",
    keys: &[
        key("kind", "`trace`", Needed, "Which workload it is."),
        key("format", "`goal`, `msccl`, `simai` or `chakra`", Needed, "What the file is."),
        key("file", FILE, Needed, "The file; of `chakra`, `x` for `x.0.et`, `x.1.et` and so on."),
        key(
            "placement",
            "`blocks`, `random` and others",
            Is("\"blocks\""),
            "Where the ranks are, a rank a host: in host order, or at random.",
        ),
        key(
            "ends",
            "`acknowledged` or `posted`",
            Told("`acknowledged`; of `msccl`, `posted`"),
            "When a send is over, so that what follows it may begin.",
        ),
        key("bytes", SIZE, Told("must be said for `msccl`"), "Of `msccl`: the buffer of each rank."),
        key(
            "chunk",
            SIZE,
            Told("128KB, where it may be"),
            "Of `simai` and `chakra`: most bytes of a message.",
        ),
        key(
            "without_pipeline",
            "`true` or `false`",
            Is("false"),
            "Of `simai`: leave out what pipeline stages send each other, of which the file has no time.",
        ),
        key(
            "comm_groups",
            FILE,
            Told("collectives of all ranks alone"),
            "Of `chakra`: the file of groups of ranks, as ASTRA-sim reads it.",
        ),
        key(
            "algorithm",
            "tables",
            Told("rings"),
            "`[[workload.algorithm]]`, of `simai` and `chakra`: how collectives of a size are done.",
        ),
    ],
};

/// `[[workload.algorithm]]`.
pub(super) const ALGORITHM: Section = Section {
    name: "algorithm",
    table: "[[workload.algorithm]]",
    kind: None,
    meaning: "How the collectives of a trace are done, from a size on. Of several for one collective, the largest `from` \
              that is not above its size counts.",
    keys: &[
        key(
            "algorithm",
            "`allreduce-ring`, `allreduce-halving-doubling` and others",
            Needed,
            "The algorithm, which also says of which collective.",
        ),
        key(
            "from",
            "a size",
            Is("\"0B\""),
            "The size of a collective, as its trace gives it, from which on it counts.",
        ),
    ],
};
