//! The keys of `[workload]`, except for jobs.

use crate::scenario::schema::section::KeyDefault::{Described, Required, Value};
use crate::scenario::schema::section::{
    COUNT, FILE, FLOW_FORMATS, Key, SIZE, Section, TIME, TIME_ABOVE, key,
};
use anabranch_workload::SizeDistribution;

const BYTES: Key = key("bytes", SIZE, Required, "Length of each message.");

pub(super) const PERMUTATION: Section = Section {
    name: "permutation",
    table: "[workload]",
    kind: Some("permutation"),
    meaning: "Every host sends one message and receives one, never its own.",
    keys: &[
        key("kind", "`permutation`", Required, "Which workload it is."),
        BYTES,
        key("hosts", "a number, 2 to all", Described("all"), "Hosts that take part, the first ones."),
        key("cross_tor", "`true` or `false`", Value("false"), "Nobody sends within its own ToR."),
    ],
};

pub(super) const TORNADO: Section = Section {
    name: "tornado",
    table: "[workload]",
    kind: Some("tornado"),
    meaning: "Host i sends to its twin in the other half of the fabric.",
    keys: &[
        key("kind", "`tornado`", Required, "Which workload it is."),
        BYTES,
        key("senders", "a number, 1 to all", Described("all"), "Hosts that send, the first ones."),
    ],
};

pub(super) const INCAST: Section = Section {
    name: "incast",
    table: "[workload]",
    kind: Some("incast"),
    meaning: "Many hosts send to one.",
    keys: &[
        key("kind", "`incast`", Required, "Which workload it is."),
        BYTES,
        key("degree", "a number, 1 to all but one", Described("all but one"), "Hosts that send."),
        key("target", "a host's number", Value("0"), "The host that receives."),
    ],
};

pub(super) const POISSON: Section = Section {
    name: "poisson",
    table: "[workload]",
    kind: Some("poisson"),
    meaning: "Messages arrive at random, from and to random hosts.",
    keys: &[
        key("kind", "`poisson`", Required, "Which workload it is."),
        key("sizes", SizeDistribution::CHOICES, Required, "The distribution of lengths."),
        key(
            "load",
            "a number above 0, at most 1.5",
            Required,
            "Offered load: bytes that arrive per host over its line rate; over that of the slowest host of the fabric, where \
             hosts differ.",
        ),
        key("hosts", "a number, 2 to all", Described("all"), "Hosts that take part, the first ones."),
        key("duration", TIME_ABOVE, Required, "For how long messages arrive; all are run to their end."),
        key(
            "inter",
            "a number, 0 to 1, or `uniform`",
            Described("`uniform`"),
            "Share of the messages to hosts of other data centres; all other hosts alike unless said.",
        ),
        key("incast", "a table", Described("none"), "Incasts beside it."),
        key("pipeline", "a table", Described("none"), "A pipeline beside it."),
    ],
};

pub(super) const INCASTS: Section = Section {
    name: "incasts",
    table: "[workload.incast]",
    kind: None,
    meaning: "Incasts beside messages that arrive at random.",
    keys: &[
        key("degree", "a number, 1 to all but one", Required, "Hosts that send at once."),
        key("bytes", SIZE, Required, "Length of each message."),
        key(
            "load",
            "a number above 0",
            Required,
            "Offered load of this part, in addition to the background's.",
        ),
    ],
};

pub(super) const PIPELINE: Section = Section {
    name: "pipeline",
    table: "[workload.pipeline]",
    kind: None,
    meaning: "Messages from each host to that of the same place in the next data centre.",
    keys: &[
        key("bytes", SIZE, Required, "Length of each message."),
        key(
            "load",
            "a number above 0",
            Required,
            "Offered load of this part, in addition to the background's.",
        ),
        key(
            "persistent",
            "`true` or `false`",
            Value("false"),
            "A stage sends all its messages on one queue pair, which stays open, instead of each on its own.",
        ),
    ],
};

pub(super) const COLLECTIVE: Section = Section {
    name: "collective",
    table: "[workload]",
    kind: Some("collective"),
    meaning: "AllReduce, AllGather, ReduceScatter or AllToAll, by many jobs at once.",
    keys: &[
        key("kind", "`collective`", Required, "Which workload it is."),
        key("algorithm", "`allreduce-ring`, `alltoall` and others", Required, "How it is done."),
        key(
            "bytes",
            SIZE,
            Required,
            "The size that each rank has (of an AllToAll, what it sends to all others).",
        ),
        key("ranks", "a number, 2 or more", Described("all hosts"), "Ranks of a job."),
        key("jobs", COUNT, Value("1"), "Jobs at once."),
        key(
            "placement",
            "`blocks`, `random` and others",
            Value("\"blocks\""),
            "Where the ranks are: in host order, or at random.",
        ),
        key(
            "groups",
            "lists of hosts",
            Described("by `ranks` and `jobs`"),
            "The hosts of each job, one by one.",
        ),
        key(
            "chunk",
            SIZE,
            Described("128KB, and none for an AllToAll"),
            "A block goes in chunks of so much, which follow each other.",
        ),
        key(
            "connections",
            COUNT,
            Described("all others, for an AllToAll"),
            "Destinations to which a rank sends at the same time.",
        ),
        key(
            "depth",
            COUNT,
            Described("no limit"),
            "Most chunks that a rank has outstanding to any other rank.",
        ),
        key(
            "clock",
            "`ack` or `delivered`",
            Described("`ack`, with a depth"),
            "What ends a chunk: its ACK, or its arrival.",
        ),
        key(
            "jitter",
            "a time",
            Value("\"0us\""),
            "Of an `alltoall`: each rank begins at a time drawn from 0 to this.",
        ),
    ],
};

pub(super) const MESSAGES: Section = Section {
    name: "messages",
    table: "[workload]",
    kind: Some("messages"),
    meaning: "The messages of a list.",
    keys: &[
        key("kind", "`messages`", Required, "Which workload it is."),
        key("message", "tables", Required, "`[[workload.message]]`, one for each."),
    ],
};

pub(super) const MESSAGE: Section = Section {
    name: "message",
    table: "[[workload.message]]",
    kind: None,
    meaning: "A message.",
    keys: &[
        key("from", "a host's number", Required, "The host that sends."),
        key("to", "a host's number", Required, "The host that receives."),
        key("bytes", SIZE, Required, "Its length."),
        key("start", TIME, Value("\"0us\""), "When it is posted."),
    ],
};

pub(super) const CM: Section = Section {
    name: "cm",
    table: "[workload]",
    kind: Some("cm"),
    meaning: "A connection matrix of htsim, with triggers.",
    keys: &[
        key("kind", "`cm`", Described("by the file's name"), "Which workload it is."),
        key("file", FILE, Required, "The file."),
        key("start_unit", TIME_ABOVE, Value("\"1ps\""), "The unit of its start times."),
    ],
};

pub(super) const NS3_FLOWS: Section = Section {
    name: "ns3-flows",
    table: "[workload]",
    kind: Some("ns3-flows"),
    meaning: "A flow file of the ns-3 RDMA simulators; it names nodes of the topology file, or hosts where there is none.",
    keys: &[
        key("kind", "`ns3-flows`", Required, "Which workload it is."),
        key("file", FILE, Required, "The file."),
        key("origin", TIME, Value("\"2s\""), "The time in the file that is 0 here."),
        key(
            "format",
            FLOW_FORMATS,
            Described("by the numbers of its columns"),
            "Whose columns its flows have, where the file does not tell.",
        ),
    ],
};
