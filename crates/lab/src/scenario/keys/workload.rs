//! The keys of `[workload]`, except for jobs from traces.

use crate::scenario::keys::jobs::{ALGORITHMS, JOB_SERVER, PLACEMENTS};
use crate::scenario::keys::key_type::{Ends, High, KeyType, words};
use crate::scenario::keys::section::KeyDefault::{Described, Required, Value};
use crate::scenario::keys::section::{COUNT, FILE, Key, SHARE, SIZE, Section, TIME, TIME_ABOVE, key, kind};
use anabranch_workload::collective::{Clock, Operation};
use anabranch_workload::{FlowFormat, MOST_LOAD, SizeDistribution};

pub(super) const SECTIONS: &[Section] = &[
    PERMUTATION,
    TORNADO,
    INCAST,
    POISSON,
    INCASTS,
    PIPELINE,
    COLLECTIVE,
    NCCL_TESTS,
    MESSAGES,
    MESSAGE,
    CM,
    NS3_FLOWS,
];

const HOST_LIST: KeyType =
    KeyType::List { name: "a list of hosts", of: Some(&KeyType::Host), least: 1, most: None };
const GROUPS: KeyType = KeyType::List { name: "lists of hosts", of: Some(&HOST_LIST), least: 1, most: None };

const BYTES: Key = key("bytes", SIZE, Required, "Length of each message.").with_example("\"8MiB\"");

const PERMUTATION: Section = Section {
    name: "permutation",
    table: "[workload]",
    kind: Some("permutation"),
    meaning: "Every host sends one message and receives one from another host.",
    keys: &[
        kind("permutation", "The kind of the workload."),
        BYTES,
        key(
            "hosts",
            KeyType::Whole(Ends::from(2).with_high(High::Hosts)),
            Described("all"),
            "Number of hosts that take part: hosts 0 to hosts - 1.",
        )
        .with_example("128"),
        key("cross_tor", KeyType::Bool, Value("false"), "Whether every host sends to a host of another ToR."),
    ],
};

const TORNADO: Section = Section {
    name: "tornado",
    table: "[workload]",
    kind: Some("tornado"),
    meaning: "Host i sends to its twin in the other half of the fabric.",
    keys: &[
        kind("tornado", "The kind of the workload."),
        BYTES,
        key(
            "senders",
            KeyType::Whole(Ends::from(1).with_high(High::Hosts)),
            Described("all"),
            "Number of hosts that send: hosts 0 to senders - 1.",
        )
        .with_example("128"),
    ],
};

const INCAST: Section = Section {
    name: "incast",
    table: "[workload]",
    kind: Some("incast"),
    meaning: "Many hosts send to one host.",
    keys: &[
        kind("incast", "The kind of the workload."),
        BYTES,
        key(
            "degree",
            KeyType::Whole(Ends::from(1).with_high(High::HostsButOne)),
            Described("all but one"),
            "Number of hosts that send.",
        )
        .with_example("8"),
        key("target", KeyType::Host, Value("0"), "The host that receives."),
    ],
};

const POISSON: Section = Section {
    name: "poisson",
    table: "[workload]",
    kind: Some("poisson"),
    meaning: "Messages arrive at random, from and to random hosts.",
    keys: &[
        kind("poisson", "The kind of the workload."),
        key("sizes", KeyType::Either(&[KeyType::Choice(SizeDistribution::NAMES), KeyType::File("a file's name")]), Required, "The distribution of lengths.").with_example("\"websearch\""),
        key("load", KeyType::Number(Ends::ABOVE_ZERO.with_high(High::To(MOST_LOAD))), Required, "Offered load: bytes that arrive per host over its line rate; over that of the slowest host of the fabric, where \
             hosts differ.").with_example("0.6"),
        key("hosts", KeyType::Whole(Ends::from(2).with_high(High::Hosts)), Described("all"), "Number of hosts that take part: hosts 0 to hosts - 1.").with_example("128"),
        key("duration", TIME_ABOVE, Required, "Duration for which messages arrive. The run continues until all of them have finished.").with_example("\"200us\""),
        key("inter", KeyType::Either(&[SHARE, KeyType::Word("uniform")]), Described("`uniform`"), "Share of the messages whose receiver is in another data centre. By default, all other hosts are equally likely.").with_example("0.2"),
        key("incast", KeyType::Table("[workload.incast]"), Described("none"), "Incasts in addition to these messages."),
        key("pipeline", KeyType::Table("[workload.pipeline]"), Described("none"), "A pipeline in addition to these messages."),
    ],
};

const INCASTS: Section = Section {
    name: "incasts",
    table: "[workload.incast]",
    kind: None,
    meaning: "Incasts in addition to messages that arrive at random.",
    keys: &[
        key(
            "degree",
            KeyType::Whole(Ends::from(1).with_high(High::HostsButOne)),
            Required,
            "Number of hosts that send at the same time.",
        )
        .with_example("8"),
        key("bytes", SIZE, Required, "Length of each message.").with_example("\"8MiB\""),
        key(
            "load",
            KeyType::Number(Ends::ABOVE_ZERO),
            Required,
            "Offered load of this part, in addition to the background's.",
        )
        .with_example("0.6"),
    ],
};

const PIPELINE: Section = Section {
    name: "pipeline",
    table: "[workload.pipeline]",
    kind: None,
    meaning: "Messages from each host to that of the same place in the next data centre.",
    keys: &[
        key("bytes", SIZE, Required, "Length of each message.").with_example("\"8MiB\""),
        key(
            "load",
            KeyType::Number(Ends::ABOVE_ZERO),
            Required,
            "Offered load of this part, in addition to the background's.",
        )
        .with_example("0.6"),
        key(
            "persistent",
            KeyType::Bool,
            Value("false"),
            "Whether a stage sends all its messages on one queue pair. Otherwise each message has its own queue pair.",
        )
        .with_example("true"),
    ],
};

const COLLECTIVE: Section = Section {
    name: "collective",
    table: "[workload]",
    kind: Some("collective"),
    meaning: "AllReduce, AllGather, ReduceScatter or AllToAll, by many jobs at the same time.",
    keys: &[
        kind("collective", "The kind of the workload."),
        key("algorithm", ALGORITHMS, Required, "The algorithm of the collective.").with_example("\"allreduce-ring\""),
        key(
            "bytes",
            SIZE,
            Required,
            "Size of each rank's buffer. For an AllToAll, it is the total that a rank sends to all others.",
        )
        .with_example("\"8MiB\""),
        key("ranks", KeyType::Whole(Ends::from(2)), Described("all hosts"), "Number of ranks of a job.")
            .with_example("32"),
        key("jobs", COUNT, Value("1"), "Number of jobs at the same time."),
        key(
            "placement",
            PLACEMENTS,
            Value("\"blocks\""),
            "Where the ranks are: in host order, at random, each under another ToR, from a whole server on, rail by rail, or \
             within an NVLink domain.",
        )
        .with_example("\"random\""),
        key("groups", GROUPS, Described("by `ranks` and `jobs`"), "The hosts of each job, one by one.")
            .with_example("[[0, 1, 2, 3]]"),
        key(
            "chunk",
            SIZE,
            Described("128KB, and none for an AllToAll"),
            "Length of the chunks in which a block is sent.",
        )
        .with_example("\"128KB\""),
        key(
            "connections",
            COUNT,
            Described("all others, for an AllToAll"),
            "Largest number of ranks to which a rank sends at the same time.",
        )
        .with_example("16"),
        key(
            "depth",
            COUNT,
            Described("no limit"),
            "Largest number of outstanding chunks from a rank to another rank.",
        )
        .with_example("1"),
        key(
            "clock",
            KeyType::Choice(&words(Clock::ALL)),
            Described("`ack`, with a depth"),
            "The event that ends a chunk: its ACK, or its arrival.",
        )
        .with_example("\"ack\""),
        key(
            "jitter",
            TIME,
            Value("\"0us\""),
            "For an `alltoall`: each rank begins at a random time between 0 and this time.",
        )
        .with_example("\"500us\""),
        JOB_SERVER,
    ],
};

const NCCL_TESTS: Section = Section {
    name: "nccl-tests",
    table: "[workload]",
    kind: Some("nccl-tests"),
    meaning: "A collective at several sizes, as nccl-tests measures it. It is a sweep over `workload.bytes`.",
    keys: &[
        kind("nccl-tests", "The kind of the workload."),
        key(
            "operation",
            KeyType::Choice(&words(Operation::ALL)),
            Required,
            "The program of nccl-tests: `all_reduce` stands for `all_reduce_perf`.",
        )
        .with_example("\"all_reduce\""),
        key(
            "algorithm",
            ALGORITHMS,
            Described("NCCL's choice for an AllReduce among known servers, otherwise a ring"),
            "The algorithm of the collective, as with `NCCL_ALGO`.",
        )
        .with_example("\"allreduce-ring\""),
        key("min_bytes", SIZE, Required, "The first size (`-b`).").with_example("\"1MiB\""),
        key("max_bytes", SIZE, Required, "The upper limit of the sizes (`-e`).").with_example("\"64MiB\""),
        key(
            "factor",
            KeyType::Whole(Ends::from(2)),
            Described("2, without `step_bytes`"),
            "The factor from one size to the next (`-f`).",
        )
        .with_example("4"),
        key("step_bytes", SIZE, Described("none"), "The difference between one size and the next (`-i`).")
            .with_example("\"16MiB\""),
        key("ranks", KeyType::Whole(Ends::from(2)), Described("all hosts"), "Number of ranks.")
            .with_example("16"),
        key("placement", PLACEMENTS, Value("\"blocks\""), "The placement of the ranks, as for a collective.")
            .with_example("\"random\""),
        key(
            "chunk",
            SIZE,
            Described("128KB, and none for an AllToAll"),
            "Length of the chunks in which a block is sent.",
        )
        .with_example("\"128KB\""),
        JOB_SERVER,
    ],
};

const MESSAGES: Section = Section {
    name: "messages",
    table: "[workload]",
    kind: Some("messages"),
    meaning: "The messages of a list.",
    keys: &[
        kind("messages", "The kind of the workload."),
        key(
            "message",
            KeyType::Tables("[[workload.message]]"),
            Required,
            "`[[workload.message]]`, one for each.",
        ),
    ],
};

const MESSAGE: Section = Section {
    name: "message",
    table: "[[workload.message]]",
    kind: None,
    meaning: "A message.",
    keys: &[
        key("from", KeyType::Host, Required, "The host that sends.").with_example("0"),
        key("to", KeyType::Host, Required, "The host that receives.").with_example("1"),
        key("bytes", SIZE, Required, "Length of the message.").with_example("\"8MiB\""),
        key("start", TIME, Value("\"0us\""), "Time at which the message is posted.")
            .with_example("\"100us\""),
    ],
};

const CM: Section = Section {
    name: "cm",
    table: "[workload]",
    kind: Some("cm"),
    meaning: "A connection matrix of htsim, with triggers.",
    keys: &[
        key("kind", KeyType::Word("cm"), Described("by the file's name"), "The kind of the workload."),
        key("file", FILE, Required, "The file.").with_example("\"connections.cm\""),
        key("start_unit", TIME_ABOVE, Value("\"1ps\""), "The unit of the start times in the file."),
    ],
};

const NS3_FLOWS: Section = Section {
    name: "ns3-flows",
    table: "[workload]",
    kind: Some("ns3-flows"),
    meaning: "A flow file of the ns-3 RDMA simulators. It names nodes of the topology file, or hosts if the topology is not a file.",
    keys: &[
        kind("ns3-flows", "The kind of the workload."),
        key("file", FILE, Required, "The file.").with_example("\"flows.txt\""),
        key("origin", TIME, Value("\"2s\""), "The time in the file that is time 0 of the run."),
        key(
            "format",
            KeyType::Choice(&words(FlowFormat::ALL)),
            Described("by the numbers of its columns"),
            "The simulator that defines the columns, if the number of columns does not determine it.",
        )
        .with_example("\"hpcc\""),
    ],
};
