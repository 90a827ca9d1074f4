//! The keys of jobs from traces, of `[workload.server]` and of `[[workload.algorithm]]`.

use crate::scenario::keys::key_type::{Ends, High, KeyType, words};
use crate::scenario::keys::section::KeyDefault::{Described, Required, Value};
use crate::scenario::keys::section::{COUNT, FILE, Key, RATE, SIZE, Section, TIME, joined, key, kind};
use anabranch_workload::collective::{Algorithm, Placement};
use anabranch_workload::{Format, RankOrder, SendEnds, Streams};

pub(super) const SECTIONS: &[Section] = &[TRACE, JOBS, JOB, SERVER, ALGORITHM];

pub(super) const ALGORITHMS: KeyType = KeyType::Choice(&words(Algorithm::ALL));
pub(super) const PLACEMENTS: KeyType = KeyType::Choice(&words(Placement::ALL));
const HOST_LIST: KeyType =
    KeyType::List { name: "numbers of hosts", of: Some(&KeyType::Host), least: 1, most: None };
/// NCCL has 64 channels at most.
const CHANNELS: KeyType = KeyType::Whole(Ends::from(1).with_high(High::To(64)));
const FIRST_AND_LAST: KeyType =
    KeyType::List { name: "two numbers, from 1", of: Some(&COUNT), least: 2, most: Some(2) };

const FORMAT: Key = key("format", KeyType::Choice(&words(Format::ALL)), Required, "The format of the file.")
    .with_example("\"goal\"");
const JOB_FILE: Key = key(
    "file",
    FILE,
    Required,
    "The name of the file. For `chakra`, the name `x` stands for `x.0.et`, `x.1.et` and so on.",
)
.with_example("\"job.goal\"");
const PLACEMENT: Key = key(
    "placement",
    PLACEMENTS,
    Value("\"blocks\""),
    "Where the ranks are, a rank a host: in host order, or at random.",
)
.with_example("\"random\"");
const HOSTS: Key = key(
    "rank_hosts",
    KeyType::Either(&[HOST_LIST, KeyType::File("a file with one per line")]),
    Described("as `placement` says"),
    "The host of each rank, in the order of the ranks.",
)
.with_example("[0, 8, 1, 9]");
const ENDS: Key = key(
    "ends",
    KeyType::Choice(&words(SendEnds::ALL)),
    Described("`acknowledged`; of `msccl` and `mscclpp`, `posted`"),
    "The event that ends a send, after which its successors may begin.",
)
.with_example("\"posted\"");
const BYTES: Key = key(
    "bytes",
    SIZE,
    Described("required for these formats"),
    "For `msccl` and `mscclpp`: size of the buffer, or of the input buffer, of each rank.",
)
.with_example("\"8MiB\"");
const CHUNK: Key = key(
    "chunk",
    SIZE,
    Described("128KB, where it may be"),
    "For `simai` and `chakra`: largest length of a message.",
)
.with_example("\"128KB\"");
const WITHOUT_PIPELINE: Key = key(
    "without_pipeline",
    KeyType::Bool,
    Value("false"),
    "For `simai`: whether the messages between pipeline stages are left out. The file does not give their times.",
)
.with_example("true");
const LAYERS: Key = key(
    "layers",
    FIRST_AND_LAST,
    Described("all"),
    "For `simai`: the first and the last layer of the file that are simulated.",
)
.with_example("[1, 8]");
const RANKS: Key = key("ranks", COUNT, Described("all"), "For `simai`: number of ranks that are simulated, the first ones of the file: those of whole pipeline stages, or of one stage with fewer data-parallel ranks. By default, the number of ranks that the file gives, or else all hosts.").with_example("32");
const RANK_ORDER: Key = key(
    "rank_order",
    KeyType::Choice(&words(RankOrder::ALL)),
    Value("\"tp-dp-pp\""),
    "For `simai`: the order of the parallel groups, from neighbouring ranks to the largest stride. SimAI itself uses `tp-pp-dp`.",
)
.with_example("\"tp-pp-dp\"");
const COMM_GROUPS: Key = key(
    "comm_groups",
    FILE,
    Described("collectives of all ranks alone"),
    "For `chakra`: the file with the groups of ranks, in ASTRA-sim's format.",
)
.with_example("\"comm_group.json\"");
const SYSTEM: Key = key(
    "system",
    FILE,
    Described("rings of all ranks"),
    "For `chakra`: ASTRA-sim's system file. It determines how collectives of all ranks are divided over the dimensions of the network.",
)
.with_example("\"system.json\"");
const DIMS: Key = key(
    "dims",
    KeyType::Either(&[
        KeyType::List { name: "a list of numbers", of: Some(&COUNT), least: 1, most: None },
        KeyType::File("a file of ASTRA-sim's logical dimensions"),
    ]),
    Described("those of the topology, if it is a network of ASTRA-sim; otherwise one"),
    "For `chakra`: number of ranks of each dimension for `system`. The dimension that varies fastest comes first.",
)
.with_example("[8, 2]");
const REPLICATE: Key = key(
    "replicate",
    KeyType::Whole(Ends::from(2)),
    Described("each rank has a file"),
    "For `chakra`: number of ranks that all execute the file of rank 0, if the trace has only that file.",
)
.with_example("8");
const WITHOUT_MISSING: Key = key(
    "without_missing",
    KeyType::Bool,
    Value("false"),
    "For `chakra`: whether a node that is missing in the trace counts as finished for the nodes that depend on it.",
)
.with_example("true");
const WITHOUT_CONTROL: Key = key(
    "without_control",
    KeyType::Bool,
    Value("false"),
    "For `chakra`: whether nodes wait only for their data dependencies, as in Chakra's first feeder, and not for their control dependencies.",
)
.with_example("true");
const STREAMS: Key = key(
    "streams",
    KeyType::Choice(&words(Streams::ALL)),
    Value("\"one\""),
    "For `chakra`: whether a GPU computes one node at a time, as in ASTRA-sim, or one node per stream (`tid`).",
)
.with_example("\"each\"");
pub(super) const JOB_SERVER: Key = key(
    "server",
    KeyType::Table("[workload.server]"),
    Described("every message crosses the network"),
    "`[workload.server]`: ranks of one server reach each other over NVLink.",
);
const JOB_ALGORITHM: Key = key(
    "algorithm",
    KeyType::Tables("[[workload.algorithm]]"),
    Described("rings"),
    "`[[workload.algorithm]]`, of `simai` and `chakra`: how collectives of a size are done.",
);

/// The keys of a job, whether it is the only job or one of several.
const OF_JOB: [Key; 20] = [
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
    RANK_ORDER,
    COMM_GROUPS,
    SYSTEM,
    DIMS,
    REPLICATE,
    WITHOUT_MISSING,
    WITHOUT_CONTROL,
    STREAMS,
    JOB_SERVER,
    JOB_ALGORITHM,
];

const TRACE: Section = Section {
    name: "trace",
    table: "[workload]",
    kind: Some("trace"),
    meaning: "A job from a file of another tool: what each rank computes, sends and receives, and in which order.",
    keys: &joined::<_, { OF_JOB.len() + 1 }>(&[&[kind("trace", "The kind of the workload.")], &OF_JOB]),
};

const JOBS: Section = Section {
    name: "jobs",
    table: "[workload]",
    kind: Some("jobs"),
    meaning: "Several jobs from files of other tools, each on hosts of its own.",
    keys: &[
        kind("jobs", "The kind of the workload."),
        key("job", KeyType::Tables("[[workload.job]]"), Required, "`[[workload.job]]`, one for each."),
    ],
};

const JOB: Section = Section {
    name: "job",
    table: "[[workload.job]]",
    kind: None,
    meaning: "A job, with the keys of `kind = \"trace\"`. Jobs take hosts in their order, of those that earlier ones leave.",
    keys: &joined::<_, { OF_JOB.len() + 1 }>(&[
        &OF_JOB,
        &[key("start", TIME, Value("\"0us\""), "When it begins.").with_example("\"100us\"")],
    ]),
};

const SERVER: Section = Section {
    name: "server",
    table: "[workload.server]",
    kind: None,
    meaning: "NVLink within servers: those of the topology, whose GPUs are then the ranks, or servers of some ranks each. \
              Transfers over NVLink are no packets of the network: they take the pipe of the sending GPU and that of the \
              receiving one, one after the other, and then the latency.",
    keys: &[
        key(
            "ranks",
            KeyType::Whole(Ends::from(2)),
            Described("the GPUs of the topology's servers"),
            "Number of ranks of each server, in the order of the ranks. Each rank is on a separate host.",
        )
        .with_example("32"),
        key("link", RATE, Described("`nvlink` of the topology; required with `ranks`"), "Rate of each GPU's NVLink, per direction.")
            .with_example("\"400Gbps\""),
        key(
            "link_latency",
            TIME,
            Described("`nvlink_latency` of the topology; 50 ns if it has none, and with `ranks`"),
            "From the end of sending to the arrival.",
        )
        .with_example("\"50ns\""),
        key(
            "pxn",
            KeyType::Bool,
            Described("true; with `ranks`, false"),
            "Whether data for a NIC of another rail is first sent over NVLink to the GPU of the same server whose NIC has that rail.",
        ),
        key(
            "channels",
            CHANNELS,
            Described("one for each NIC of an NVLink domain, at most 64; with `ranks`, collectives know nothing of servers"),
            "Number of rings or trees of a collective. Each of them leaves servers on a separate rail.",
        )
        .with_example("8"),
        key(
            "nvls",
            KeyType::Bool,
            Value("false"),
            "Whether the NVLink switch reduces and multicasts in an `allreduce-hierarchical`, so that each GPU sends its data only once.",
        ),
    ],
};

const ALGORITHM: Section = Section {
    name: "algorithm",
    table: "[[workload.algorithm]]",
    kind: None,
    meaning: "How the collectives of a trace are done, from a size on. Of several for one collective, the largest `min_bytes` \
              that is not above its size counts.",
    keys: &[
        key("algorithm", ALGORITHMS, Required, "The algorithm, which also determines the collective.")
            .with_example("\"allreduce-ring\""),
        key(
            "min_bytes",
            KeyType::Size(Ends::ANY),
            Value("\"0B\""),
            "The size of a collective, as in the trace, from which on the algorithm is used.",
        )
        .with_example("\"200KB\""),
    ],
};
