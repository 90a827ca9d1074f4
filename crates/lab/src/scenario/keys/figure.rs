//! The keys of a figure's file that a scenario does not have.

use crate::scenario::keys::key_type::{Ends, High, KeyType};
use crate::scenario::keys::scheme::LEAGUE_PART;
use crate::scenario::keys::section::KeyDefault::{Described, Required, Value};
use crate::scenario::keys::section::{COUNT, NAMES, RATE, SIZE, Section, TEXT, TIME_ABOVE, key, kind};
use anabranch_results::{ClaimKind, PlotKind};

/// The kinds of plots.
pub(in crate::scenario) const PLOT_KINDS: [(&str, PlotKind); 7] = [
    ("series", PlotKind::Series),
    ("points", PlotKind::Points),
    ("cdf", PlotKind::Cdf),
    ("bar", PlotKind::Bar),
    ("line", PlotKind::Line),
    ("slowdown-by-size", PlotKind::SlowdownBySize),
    ("flows", PlotKind::Flows),
];

/// The kinds of claims.
pub(in crate::scenario) const CLAIM_KINDS: [(&str, ClaimKind); 7] = [
    ("ratio", ClaimKind::Ratio),
    ("at-least", ClaimKind::AtLeast),
    ("at-most", ClaimKind::AtMost),
    ("value", ClaimKind::Value),
    ("range", ClaimKind::Range),
    ("zero", ClaimKind::Zero),
    ("order", ClaimKind::Order),
];

const KIND_OF_PLOT: KeyType = KeyType::Choice(&super::key_type::words(PLOT_KINDS));
const KIND_OF_CLAIM: KeyType = KeyType::Choice(&super::key_type::words(CLAIM_KINDS));
const NUMBER: KeyType = KeyType::Number(Ends::ANY);
const COUNTS: KeyType =
    KeyType::List { name: "numbers of 1 or more", of: Some(&COUNT), least: 1, most: None };
const WHOLE: KeyType = KeyType::Whole(Ends::from(0));

pub(super) const LEAGUE_SCHEMES: Section = Section {
    name: "schemes",
    table: "[schemes]",
    kind: None,
    meaning: "The schemes of a scenario of the league.",
    keys: &[
        key("league", LEAGUE_PART, Required, "The part of the league whose schemes run."),
        key("first", NAMES, Described("none"), "Schemes that stand before the others."),
    ],
};

pub(super) const FIGURE: Section = Section {
    name: "figure",
    table: "",
    kind: None,
    meaning: "Above all tables of a figure, beside the keys of a scenario.",
    keys: &[
        key("id", TEXT, Required, "Its name in commands: the paper, a slash, and its own.")
            .with_example("\"reps/fig-2\""),
        key(
            "paper",
            KeyType::Either(&[TEXT, KeyType::Table("[paper]")]),
            Described("the part of `id` before the slash"),
            "The paper's name; or `[paper]`, what is different at the sizes of the paper.",
        )
        .with_example("\"reps\""),
        key("figure", TEXT, Described("the part of `id` behind the slash"), "The paper's own name for it.")
            .with_example("\"Figure 2\""),
        key(
            "assumptions",
            KeyType::List { name: "sentences", of: Some(&TEXT), least: 0, most: None },
            Described("none"),
            "What the file assumes because the paper does not specify it.",
        ),
        key("unsaid", KeyType::Tables("[[unsaid]]"), Described("none"), "What the paper leaves open."),
        key(
            "plot",
            KeyType::Either(&[KeyType::Table("[plot]"), KeyType::Tables("[plot]")]),
            Described("none"),
            "How it is drawn: `[plot]`, or several `[[plot]]`.",
        ),
        key(
            "explain",
            KeyType::Table("[explain]"),
            Described("none"),
            "What the page of the league compares.",
        ),
        key("claim", KeyType::Tables("[[claim]]"), Described("none"), "What the paper says about it."),
        key("model", KeyType::Table("[model]"), Described("a scenario instead"), "A model without packets."),
        key(
            "quick",
            KeyType::Table("[quick]"),
            Described("nothing"),
            "What is different at the quick scale.",
        ),
    ],
};

pub(super) const PLOT: Section = Section {
    name: "plot",
    table: "[plot]",
    kind: None,
    meaning: "A picture of a figure.",
    keys: &[
        key("kind", KIND_OF_PLOT, Required, "How it is drawn."),
        key("title", TEXT, Described("that of the figure"), "Its title.")
            .with_example("\"Permutation on 128 hosts\""),
        key("x", TEXT, Described("by the kind"), "A swept parameter.").with_example("\"workload.bytes\""),
        key(
            "y",
            TEXT,
            Described("must be said, except for a `cdf`: `fct_us`"),
            "A number of a run or curve.",
        )
        .with_example("\"fct_max_us\""),
        key("per", NAMES, Described("nothing"), "What tells its curves apart.").with_example("[\"scheme\"]"),
        key("entity", TEXT, Described("all"), "The curves that it shows."),
        key("schemes", NAMES, Described("all"), "The schemes that it shows.")
            .with_example("[\"reps\", \"ops\", \"ecmp\"]"),
        key("log_x", KeyType::Bool, Value("false"), "Whether the axis is logarithmic."),
        key("log_y", KeyType::Bool, Value("false"), "Whether the axis is logarithmic."),
        key("group", TEXT, Described("all"), "The part of the workload that it shows.")
            .with_example("\"incast\""),
        key("min_bytes", KeyType::Size(Ends::ANY), Described("all"), "The shortest message that it shows.")
            .with_example("\"200KB\""),
        key("max_bytes", KeyType::Size(Ends::ANY), Described("all"), "The longest message that it shows.")
            .with_example("\"200KB\""),
    ],
};

pub(super) const CLAIM: Section = Section {
    name: "claim",
    table: "[[claim]]",
    kind: None,
    meaning: "What a paper says about a figure.",
    keys: &[
        key("says", TEXT, Required, "The claim.").with_example("\"REPS finishes before OPS\""),
        key("source", TEXT, Required, "Where the paper says it.").with_example("\"section 4.3\""),
        key(
            "paper",
            KeyType::Either(&[
                NUMBER,
                KeyType::List { name: "two numbers", of: Some(&NUMBER), least: 2, most: Some(2) },
                KeyType::List { name: "a list of names", of: Some(&TEXT), least: 2, most: None },
            ]),
            Described("0 of a `zero`"),
            "The number, the range or the order that the paper has.",
        )
        .with_example("1.25"),
        key("measure", TEXT, Required, "What is compared with it.")
            .with_example("\"fct_max(ops) / fct_max(reps)\""),
        key("kind", KIND_OF_CLAIM, Required, "How it is compared."),
        key("why", TEXT, Described("nothing"), "Why the results here are others."),
        key("found", TEXT, Described("nothing"), "Another name of `why`.")
            .with_example("\"the paper's simulator trims\""),
    ],
};

pub(super) const EXPLAIN: Section = Section {
    name: "explain",
    table: "[explain]",
    kind: None,
    meaning: "The limit with which the page of the league compares the time of each scheme.",
    keys: &[
        key("measure", TEXT, Required, "A number of a run.").with_example("\"fct_max(ops) / fct_max(reps)\""),
        key("called", TEXT, Described("as the measure"), "Its name on the page."),
        key("says", TEXT, Required, "What it explains.").with_example("\"REPS finishes before OPS\""),
    ],
};

pub(super) const UNSAID: Section = Section {
    name: "unsaid",
    table: "[[unsaid]]",
    kind: None,
    meaning: "What a paper leaves open, with the values that its text permits.",
    keys: &[
        key("what", TEXT, Required, "What it is.").with_example("\"the MTU\""),
        key("because", TEXT, Required, "Why the text permits these values.")
            .with_example("\"the text gives no MTU; the simulator it builds on has 1000 B\""),
        key(
            "set",
            KeyType::Table("[sweep]"),
            Required,
            "Lists of values by their paths, the figure's own first.",
        ),
    ],
};

const MODEL: &str = "Which model it is.";

pub(super) const MODELS: [Section; 5] = [
    Section {
        name: "balls-into-bins",
        table: "[model]",
        kind: Some("balls-into-bins"),
        meaning: "Batches of balls that are thrown into bins: the queues of a switch.",
        keys: &[
            kind("balls-into-bins", MODEL),
            key("ports", COUNTS, Required, "Numbers of bins.").with_example("[8, 16]"),
            key("rounds", COUNT, Required, "Batches.").with_example("1000"),
            key(
                "load",
                KeyType::Number(Ends::ABOVE_ZERO.with_high(High::To(1.0))),
                Value("1.0"),
                "Balls of a batch over bins.",
            )
            .with_example("0.6"),
            key("variants", NAMES, Required, "How they are thrown.").with_example("[\"ops\", \"recycled\"]"),
            key("threshold", WHOLE, Value("5"), "Balls in a bin from which on a ball is marked."),
            key("colors_per_port", COUNT, Value("1"), "Colours for each bin."),
            key(
                "recycle_every",
                COUNTS,
                Described("every ball"),
                "Of so many balls one is thrown as before.",
            ),
        ],
    },
    Section {
        name: "load-imbalance",
        table: "[model]",
        kind: Some("load-imbalance"),
        meaning: "Entropy values that a hash spreads over uplinks.",
        keys: &[
            kind("load-imbalance", MODEL),
            key(
                "uplinks",
                KeyType::Whole(Ends::from(2).with_high(High::To(65_536))),
                Required,
                "Uplinks of the switch.",
            ),
            key("flows", COUNTS, Required, "Numbers of flows."),
            key("evs", COUNTS, Required, "Numbers of entropy values of each flow."),
        ],
    },
    Section {
        name: "state-bits",
        table: "[model]",
        kind: Some("state-bits"),
        meaning: "The hardware state of each scheme.",
        keys: &[kind("state-bits", MODEL)],
    },
    Section {
        name: "packet-tracking",
        table: "[model]",
        kind: Some("packet-tracking"),
        meaning: "Memory and packet rate of structures that track packets out of order.",
        keys: &[
            kind("packet-tracking", MODEL),
            key("link", RATE, Required, "Rate of the link.").with_example("\"400Gbps\""),
            key("rtt", TIME_ABOVE, Required, "Round trip.").with_example("\"10us\""),
            key("packet", SIZE, Required, "Bytes of a packet.").with_example("\"1000B\""),
            key("chunk_bits", COUNT, Required, "Packets that a chunk tracks.").with_example("128"),
            key("bitmaps", COUNT, Required, "Bitmaps of a queue pair.").with_example("5"),
            key("queue_pairs", COUNT, Required, "Queue pairs.").with_example("10000"),
            key("clock_mhz", KeyType::Number(Ends::ABOVE_ZERO), Required, "Clock of the NIC.")
                .with_example("300"),
            key("access_cycles", COUNT, Required, "Cycles of an access to memory.").with_example("2"),
            key("check_cycles", COUNT, Required, "Cycles of a check.").with_example("1"),
            key("next_cycles", COUNT, Required, "Cycles to the next chunk.").with_example("1"),
            key(
                "degrees",
                KeyType::List { name: "numbers", of: Some(&WHOLE), least: 1, most: None },
                Required,
                "Degrees of reordering, in packets.",
            )
            .with_example("[0, 128, 256]"),
        ],
    },
    Section {
        name: "lossless-reach",
        table: "[model]",
        kind: Some("lossless-reach"),
        meaning: "The longest link that the buffer of a chip can keep lossless.",
        keys: &[
            kind("lossless-reach", MODEL),
            key("km_delay", TIME_ABOVE, Required, "Latency of a kilometre.").with_example("\"5us\""),
            key("queues", COUNTS, Required, "Numbers of lossless queues of a port.").with_example("[1, 8]"),
            key("chips", KeyType::Tables("[[model.chips]]"), Required, "The chips.")
                .with_example("[{ name = \"tofino\", ports = 32, link = \"100Gbps\", buffer = \"20MB\" }]"),
        ],
    },
];

pub(super) const CHIP: Section = Section {
    name: "chip",
    table: "[[model.chips]]",
    kind: None,
    meaning: "A switch chip.",
    keys: &[
        key("name", TEXT, Required, "Its name.").with_example("\"reps-16\""),
        key("ports", COUNT, Required, "Its ports.").with_example("[8, 16]"),
        key("link", RATE, Required, "Rate of a port.").with_example("\"400Gbps\""),
        key("buffer", SIZE, Required, "Its buffer.").with_example("\"64MB\""),
    ],
};
