//! The keys of jobs from traces.

use crate::scenario::schema::section::KeyDefault::{Described, Required, Value};
use crate::scenario::schema::section::{FILE, Key, RATE, SIZE, Section, TIME, key};

// What a job says, alone or among others.
const FORMAT: Key =
    key("format", "`goal`, `msccl`, `mscclpp`, `simai` or `chakra`", Required, "What the file is.");
const JOB_FILE: Key =
    key("file", FILE, Required, "The file; of `chakra`, `x` for `x.0.et`, `x.1.et` and so on.");
const PLACEMENT: Key = key(
    "placement",
    "`blocks`, `random` and others",
    Value("\"blocks\""),
    "Where the ranks are, a rank a host: in host order, or at random.",
);
const HOSTS: Key = key(
    "rank_hosts",
    "numbers of hosts, or a file with one per line",
    Described("as `placement` says"),
    "The host of each rank, in the order of the ranks.",
);
const ENDS: Key = key(
    "ends",
    "`acknowledged` or `posted`",
    Described("`acknowledged`; of `msccl` and `mscclpp`, `posted`"),
    "When a send is over, so that what follows it may begin.",
);
const BYTES: Key = key(
    "bytes",
    SIZE,
    Described("must be said for these"),
    "Of `msccl` and `mscclpp`: the buffer, or input buffer, of each rank.",
);
const CHUNK: Key = key(
    "chunk",
    SIZE,
    Described("128KB, where it may be"),
    "Of `simai` and `chakra`: most bytes of a message.",
);
const WITHOUT_PIPELINE: Key = key(
    "without_pipeline",
    "`true` or `false`",
    Value("false"),
    "Of `simai`: leave out what pipeline stages send each other, of which the file has no time.",
);
const LAYERS: Key = key(
    "layers",
    "two numbers, from 1",
    Described("all"),
    "Of `simai`: the first and the last of the file's layers that are simulated.",
);
const RANKS: Key = key(
    "ranks",
    "a number, 1 or more",
    Described("all"),
    "Of `simai`: of the file's ranks the first so many are simulated: whole pipeline stages, or one with fewer \
             data-parallel ranks. Where the file does not say how many it has, that; otherwise all hosts.",
);
const COMM_GROUPS: Key = key(
    "comm_groups",
    FILE,
    Described("collectives of all ranks alone"),
    "Of `chakra`: the file of groups of ranks, as ASTRA-sim reads it.",
);
const REPLICATE: Key = key(
    "replicate",
    "a number, 2 or more",
    Described("each rank has a file"),
    "Of `chakra`: the trace has the file of rank 0 alone, and so many ranks do what it does.",
);
const WITHOUT_MISSING: Key = key(
    "without_missing",
    "`true` or `false`",
    Value("false"),
    "Of `chakra`: nodes that others wait for and that are not in the trace count as over.",
);
const WITHOUT_CONTROL: Key = key(
    "without_control",
    "`true` or `false`",
    Value("false"),
    "Of `chakra`: nodes wait for those that they depend on by data alone, as Chakra's first feeder has it.",
);
const STREAMS: Key = key(
    "streams",
    "`one` or `each`",
    Value("\"one\""),
    "Of `chakra`: a GPU computes one node at a time, as in ASTRA-sim, or one per stream (`tid`).",
);
const JOB_SERVER: Key = key(
    "server",
    "a table",
    Described("every message crosses the network"),
    "`[workload.server]`: ranks of one server have another way to each other, as NVLink.",
);
const JOB_ALGORITHM: Key = key(
    "algorithm",
    "tables",
    Described("rings"),
    "`[[workload.algorithm]]`, of `simai` and `chakra`: how collectives of a size are done.",
);

/// `[workload]` with `kind = "trace"`.
pub(super) const TRACE: Section = Section {
    name: "trace",
    table: "[workload]",
    kind: Some("trace"),
    meaning: "A job from a file of another tool: what each rank computes, sends and receives, and in which order.",
    keys: &[
        key("kind", "`trace`", Required, "Which workload it is."),
        FORMAT,
        JOB_FILE,
        PLACEMENT,
        HOSTS,
        ENDS,
        BYTES,
        CHUNK,
        WITHOUT_PIPELINE,
        LAYERS,
        RANKS,
        COMM_GROUPS,
        REPLICATE,
        WITHOUT_MISSING,
        WITHOUT_CONTROL,
        STREAMS,
        JOB_SERVER,
        JOB_ALGORITHM,
    ],
};

/// `[workload]` with `kind = "jobs"`.
pub(super) const JOBS: Section = Section {
    name: "jobs",
    table: "[workload]",
    kind: Some("jobs"),
    meaning: "Several jobs from files of other tools, each on hosts of its own.",
    keys: &[
        key("kind", "`jobs`", Required, "Which workload it is."),
        key("job", "tables", Required, "`[[workload.job]]`, one for each."),
    ],
};

/// `[[workload.job]]`.
pub(super) const JOB: Section = Section {
    name: "job",
    table: "[[workload.job]]",
    kind: None,
    meaning: "A job, with the keys of `kind = \"trace\"`. Jobs take hosts in their order, of those that earlier ones leave.",
    keys: &[
        FORMAT,
        JOB_FILE,
        PLACEMENT,
        HOSTS,
        ENDS,
        BYTES,
        CHUNK,
        WITHOUT_PIPELINE,
        LAYERS,
        RANKS,
        COMM_GROUPS,
        REPLICATE,
        WITHOUT_MISSING,
        WITHOUT_CONTROL,
        STREAMS,
        JOB_SERVER,
        JOB_ALGORITHM,
        key("start", TIME, Value("\"0us\""), "When it begins."),
    ],
};

/// `[workload.server]`.
pub(super) const SERVER: Section = Section {
    name: "server",
    table: "[workload.server]",
    kind: None,
    meaning: "Servers of some ranks each, in the order of the ranks. What ranks of one send each other is no packet of the \
              network: it takes the sender's link within the server, one after the other, and then its latency.",
    keys: &[
        key("ranks", "a number, 2 or more", Required, "Ranks of each server."),
        key("link", RATE, Required, "Rate of each rank's link within its server."),
        key("link_latency", TIME, Required, "From the end of sending to the arrival."),
    ],
};

/// `[[workload.algorithm]]`.
pub(super) const ALGORITHM: Section = Section {
    name: "algorithm",
    table: "[[workload.algorithm]]",
    kind: None,
    meaning: "How the collectives of a trace are done, from a size on. Of several for one collective, the largest `min_bytes` \
              that is not above its size counts.",
    keys: &[
        key(
            "algorithm",
            "`allreduce-ring`, `allreduce-halving-doubling` and others",
            Required,
            "The algorithm, which also says of which collective.",
        ),
        key(
            "min_bytes",
            "a size",
            Value("\"0B\""),
            "The size of a collective, as its trace gives it, from which on it counts.",
        ),
    ],
};
