//! The keys of a figure's file that a scenario does not have.

use crate::scenario::keys::key_type::{Ends, High, KeyType};
use crate::scenario::keys::scheme::LEAGUE_PART;
use crate::scenario::keys::section::KeyDefault::{Described, Required, Value};
use crate::scenario::keys::section::{COUNT, NAMES, RATE, SIZE, Section, TEXT, TIME_ABOVE, key, kind};
use anabranch_results::{ClaimKind, PlotKind};

pub(in crate::scenario) const PLOT_KINDS: [(&str, PlotKind); 7] = [
    ("series", PlotKind::Series),
    ("points", PlotKind::Points),
    ("cdf", PlotKind::Cdf),
    ("bar", PlotKind::Bar),
    ("line", PlotKind::Line),
    ("slowdown-by-size", PlotKind::SlowdownBySize),
    ("flows", PlotKind::Flows),
];

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
        key("first", NAMES, Described("none"), "Schemes that come before the others."),
    ],
};

pub(super) const FIGURE: Section = Section {
    name: "figure",
    table: "",
    kind: None,
    meaning: "The top-level keys of a figure, in addition to those of a scenario.",
    keys: &[
        key("id", TEXT, Required, "The figure's name in commands: the paper, a slash, and the figure.")
            .with_example("\"reps/fig-2\""),
        key(
            "paper",
            KeyType::Either(&[TEXT, KeyType::Table("[paper]")]),
            Described("the part of `id` before the slash"),
            "The paper's name; or a table `[paper]` with the differences at the sizes of the paper.",
        )
        .with_example("\"reps\""),
        key(
            "figure",
            TEXT,
            Described("the part of `id` behind the slash"),
            "The name that the paper gives to the figure.",
        )
        .with_example("\"Figure 2\""),
        key(
            "assumptions",
            KeyType::List { name: "sentences", of: Some(&TEXT), least: 0, most: None },
            Described("none"),
            "Assumptions that the file makes because the paper does not specify them.",
        ),
        key(
            "unsaid",
            KeyType::Tables("[[unsaid]]"),
            Described("none"),
            "Parameters that the paper does not specify.",
        ),
        key(
            "plot",
            KeyType::Either(&[KeyType::Table("[plot]"), KeyType::Tables("[plot]")]),
            Described("none"),
            "The plots of the figure: `[plot]`, or several `[[plot]]`.",
        ),
        key(
            "explain",
            KeyType::Table("[explain]"),
            Described("none"),
            "The measure against which the league's page plots the times.",
        ),
        key(
            "claim",
            KeyType::Tables("[[claim]]"),
            Described("none"),
            "The claims of the paper about the figure.",
        ),
        key("model", KeyType::Table("[model]"), Described("a scenario instead"), "A model without packets."),
        key("quick", KeyType::Table("[quick]"), Described("nothing"), "Differences at the quick scale."),
    ],
};

pub(super) const PLOT: Section = Section {
    name: "plot",
    table: "[plot]",
    kind: None,
    meaning: "A picture of a figure.",
    keys: &[
        key("kind", KIND_OF_PLOT, Required, "The kind of the plot."),
        key("title", TEXT, Described("that of the figure"), "Title of the plot.")
            .with_example("\"Permutation on 128 hosts\""),
        key("x", TEXT, Described("by the kind"), "The swept parameter on the x axis.")
            .with_example("\"workload.bytes\""),
        key(
            "y",
            TEXT,
            Described("required, except for a `cdf`: `fct_us`"),
            "The number of a run or curve on the y axis.",
        )
        .with_example("\"fct_max_us\""),
        key("per", NAMES, Described("nothing"), "The properties that distinguish the curves.")
            .with_example("[\"scheme\"]"),
        key("entity", TEXT, Described("all"), "The entities whose curves the plot shows."),
        key("schemes", NAMES, Described("all"), "The schemes that the plot shows.")
            .with_example("[\"reps\", \"ops\", \"ecmp\"]"),
        key("log_x", KeyType::Bool, Value("false"), "Whether the axis is logarithmic."),
        key("log_y", KeyType::Bool, Value("false"), "Whether the axis is logarithmic."),
        key("group", TEXT, Described("all"), "The part of the workload that the plot shows.")
            .with_example("\"incast\""),
        key(
            "min_bytes",
            KeyType::Size(Ends::ANY),
            Described("all"),
            "Length of the shortest messages that the plot shows.",
        )
        .with_example("\"200KB\""),
        key(
            "max_bytes",
            KeyType::Size(Ends::ANY),
            Described("all"),
            "Length of the longest messages that the plot shows.",
        )
        .with_example("\"200KB\""),
    ],
};

pub(super) const CLAIM: Section = Section {
    name: "claim",
    table: "[[claim]]",
    kind: None,
    meaning: "A claim of a paper about a figure.",
    keys: &[
        key("says", TEXT, Required, "The claim in words.").with_example("\"REPS finishes before OPS\""),
        key("source", TEXT, Required, "The place in the paper.").with_example("\"section 4.3\""),
        key(
            "paper",
            KeyType::Either(&[
                NUMBER,
                KeyType::List { name: "two numbers", of: Some(&NUMBER), least: 2, most: Some(2) },
                KeyType::List { name: "a list of names", of: Some(&TEXT), least: 2, most: None },
            ]),
            Described("0 of a `zero`"),
            "The number, range or order that the paper reports.",
        )
        .with_example("1.25"),
        key("measure", TEXT, Required, "The measure that is compared with the paper's value.")
            .with_example("\"fct_max(ops) / fct_max(reps)\""),
        key("kind", KIND_OF_CLAIM, Required, "The kind of the comparison."),
        key("why", TEXT, Described("nothing"), "The reason why the results differ from the paper's."),
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
        key("measure", TEXT, Required, "A numeric result of a run.")
            .with_example("\"fct_max(ops) / fct_max(reps)\""),
        key("called", TEXT, Described("as the measure"), "The name of the measure on the page."),
        key("says", TEXT, Required, "A sentence on the relation that the measure explains.")
            .with_example("\"REPS finishes before OPS\""),
    ],
};

pub(super) const UNSAID: Section = Section {
    name: "unsaid",
    table: "[[unsaid]]",
    kind: None,
    meaning: "A parameter that a paper does not specify, with the values that its text permits.",
    keys: &[
        key("what", TEXT, Required, "The name of the parameter in words.").with_example("\"the MTU\""),
        key("because", TEXT, Required, "The reason why the text permits these values.")
            .with_example("\"the text gives no MTU; the simulator it builds on has 1000 B\""),
        key(
            "set",
            KeyType::Table("[sweep]"),
            Required,
            "Lists of values by the paths of the parameters. The figure's own value comes first.",
        ),
    ],
};

const MODEL: &str = "The kind of the model.";

pub(super) const MODELS: [Section; 5] = [
    Section {
        name: "balls-into-bins",
        table: "[model]",
        kind: Some("balls-into-bins"),
        meaning: "Balls that are thrown into bins, as a model of the queues of a switch.",
        keys: &[
            kind("balls-into-bins", MODEL),
            key("ports", COUNTS, Required, "Numbers of bins.").with_example("[8, 16]"),
            key("rounds", COUNT, Required, "Number of rounds.").with_example("1000"),
            key(
                "load",
                KeyType::Number(Ends::ABOVE_ZERO.with_high(High::To(1.0))),
                Value("1.0"),
                "Mean number of balls thrown per round, divided by the number of bins.",
            )
            .with_example("0.6"),
            key("variants", NAMES, Required, "The rules by which balls choose their bins.")
                .with_example("[\"ops\", \"recycled\"]"),
            key(
                "threshold",
                WHOLE,
                Value("5"),
                "Queue length above which the colour of a leaving ball forgets its bin.",
            ),
            key("colors_per_port", COUNT, Value("1"), "Number of colours per bin."),
            key("recycle_every", COUNTS, Described("every ball"), "Values of r: one in r balls is recycled."),
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
                "Number of uplinks of the switch.",
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
            key("rtt", TIME_ABOVE, Required, "Round-trip time.").with_example("\"10us\""),
            key("packet", SIZE, Required, "Bytes of a packet.").with_example("\"1000B\""),
            key("chunk_bits", COUNT, Required, "Number of packets that a chunk tracks.").with_example("128"),
            key("bitmaps", COUNT, Required, "Number of bitmaps of a queue pair.").with_example("5"),
            key("queue_pairs", COUNT, Required, "Number of queue pairs.").with_example("10000"),
            key("clock_mhz", KeyType::Number(Ends::ABOVE_ZERO), Required, "Clock rate of the NIC in MHz.")
                .with_example("300"),
            key("access_cycles", COUNT, Required, "Number of cycles of a memory access.").with_example("2"),
            key("check_cycles", COUNT, Required, "Number of cycles to check whether a packet is in a chunk.")
                .with_example("1"),
            key("next_cycles", COUNT, Required, "Number of cycles to follow the link to the next chunk.")
                .with_example("1"),
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
            key("km_delay", TIME_ABOVE, Required, "Propagation delay per kilometre.").with_example("\"5us\""),
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
        key("ports", COUNT, Required, "Number of ports of the chip.").with_example("[8, 16]"),
        key("link", RATE, Required, "Rate of a port.").with_example("\"400Gbps\""),
        key("buffer", SIZE, Required, "Total buffer of the chip.").with_example("\"64MB\""),
    ],
};
