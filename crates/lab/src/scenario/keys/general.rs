//! The top-level keys, and those of `[[measure]]`, `[limits]` and `[find]`.

use crate::scenario::keys::key_type::{Ends, High, KeyType};
use crate::scenario::keys::section::KeyDefault::{Described, Required, Value};
use crate::scenario::keys::section::{
    COUNT, Key, LINK_NAMES, SWITCH_NAMES, Section, TEXT, TIME, TIME_ABOVE, key,
};
use crate::scenario::keys::series::SERIES_NAMES;
use anabranch_engine::Limits;

const SEED: KeyType = KeyType::Whole(Ends::from(0));
const SEEDS: KeyType = KeyType::Set { name: "a list of numbers", of: &SEED };
const SCHEMES: KeyType = KeyType::Set { name: "a list of names", of: &TEXT };
const VALUES: KeyType =
    KeyType::List { name: "two ends, or a list of values", of: None, least: 2, most: None };

const EVERY: Key = key(
    "every",
    TIME_ABOVE,
    Value("\"20us\""),
    "A point of the curve stands for so long; series of ACKs have one for each instead.",
);

pub(super) const SCENARIO: Section = Section {
    name: "scenario",
    table: "",
    kind: None,
    meaning: "Above all tables.",
    keys: &[
        key("title", TEXT, Described("the file's name"), "One line for people.")
            .with_example("\"Permutation on 128 hosts\""),
        key(
            "schemes",
            SCHEMES,
            Described("those of `[[scheme]]`"),
            "Which schemes run (`anabranch list schemes`).",
        )
        .with_example("[\"reps\", \"ops\", \"ecmp\"]"),
        key("seeds", SEEDS, Described("1, 2 and 3 by the command"), "A run for each.")
            .with_example("[1, 2, 3]"),
        key(
            "setup",
            KeyType::Either(&[
                KeyType::Text("a setup's name, or SimAI's `.conf`"),
                KeyType::Table("[setup]"),
            ]),
            Value("\"common\""),
            "The ground of all schemes (`anabranch list setups`), or the packets, marks and buffers of a file of SimAI.",
        ),
        key("topology", KeyType::Table("[topology]"), Required, "The fabric."),
        key("workload", KeyType::Table("[workload]"), Required, "What the hosts send."),
        key(
            "scheme",
            KeyType::Tables("[[scheme]]"),
            Described("none"),
            "Schemes of your own, or with other parameters.",
        ),
        key("fault", KeyType::Tables("[[fault]]"), Described("none"), "What breaks."),
        key("measure", KeyType::Tables("[[measure]]"), Described("none"), "Curves to record."),
        key(
            "observer",
            KeyType::Tables("[[observer]]"),
            Described("none"),
            "Observers that a program of yours has registered.",
        ),
        key(
            "set",
            KeyType::Table("[set]"),
            Described("nothing"),
            "Parameters of schemes by their paths: `\"reps.lb.buffer\" = 16`, `\"*.fabric.queue\" = \"2MB\"`.",
        ),
        key(
            "sweep",
            KeyType::Table("[sweep]"),
            Described("nothing"),
            "Lists of values by their paths: a run for each combination; `[[sweep.zip]]` moves several together.",
        ),
        key(
            "limits",
            KeyType::Table("[limits]"),
            Described("those of `[limits]`"),
            "When a run that does not end is ended.",
        ),
        key("find", KeyType::Table("[find]"), Described("nothing"), "A question for `anabranch find`."),
        key(
            "point",
            KeyType::Tables("[[point]]"),
            Described("none"),
            "Points of a sweep one by one, as a resolved scenario has them.",
        ),
    ],
};

pub(super) const MEASURE: Section = Section {
    name: "measure",
    table: "[[measure]]",
    kind: None,
    meaning: "A curve that is recorded; each series is of links, of switches or of queue pairs.",
    keys: &[
        key("series", KeyType::Choice(SERIES_NAMES), Required, "What is measured (`anabranch list series`).")
            .with_example("\"link-utilisation\""),
        EVERY,
        key("links", LINK_NAMES, Required, "Of which links: `tor:0/up`, `tor-uplinks`, `all`.")
            .with_example("\"tor-uplinks:3%\""),
        key("switches", SWITCH_NAMES, Required, "Of which switches: `tor:0`.").with_example("\"tor:0\""),
        key("qps", KeyType::Selector("`all`, or numbers such as `0-7`"), Required, "Of which queue pairs.")
            .with_example("\"0-7\""),
        key("above", TIME, Described("none"), "Of `queue-delay`: packets that waited longer are counted.")
            .with_example("\"8us\""),
    ],
};

pub(super) const LIMITS: Section = Section {
    name: "limits",
    table: "[limits]",
    kind: None,
    meaning: "When a run that does not end is ended.",
    keys: &[
        key(
            "max_time",
            KeyType::Time(Ends::ABOVE_ZERO.with_high(High::To(Limits::MAX_TIME))),
            Value("\"1s\""),
            "Simulated time.",
        ),
        key(
            "stall",
            TIME_ABOVE,
            Value("\"10ms\""),
            "For so long nothing new is delivered, beside a timeout and a round trip.",
        ),
        key("max_events", COUNT, Value("20000000000"), "Events."),
        key("max_packets", COUNT, Value("16000000"), "Packets in the fabric at the same time."),
    ],
};

pub(super) const FIND: Section = Section {
    name: "find",
    table: "[find]",
    kind: None,
    meaning: "A question for `anabranch find`: the smallest or largest value for which something holds.",
    keys: &[
        key("parameter", KeyType::Text("a path, as in `[sweep]`"), Required, "What is looked for.")
            .with_example("\"*.fabric.queue\""),
        key(
            "smallest",
            VALUES,
            Described("`largest` instead"),
            "What holds for a value holds for larger ones.",
        )
        .with_example("[\"16KB\", \"1MB\"]"),
        key(
            "largest",
            VALUES,
            Described("`smallest` instead"),
            "What holds for a value holds for smaller ones.",
        )
        .with_example("[\"16KB\", \"1MB\"]"),
        key(
            "where",
            KeyType::Text("a comparison of measures"),
            Required,
            "What has to hold at every seed: `drops(scheme) == 0`.",
        )
        .with_example("\"drops(scheme) == 0\""),
        key(
            "resolution",
            KeyType::Number(Ends::ABOVE_ZERO.with_high(High::Below(1.0))),
            Value("0.02"),
            "How near the two ends are in the end, relatively.",
        ),
    ],
};

pub(super) const POINT: Section = Section {
    name: "point",
    table: "[[point]]",
    kind: None,
    meaning: "A point of a sweep, as a resolved scenario has it.",
    keys: &[
        key(
            "sweep",
            KeyType::Table("[point.sweep]"),
            Described("none"),
            "The values of the swept parameters.",
        ),
        key("scheme", KeyType::Tables("[[scheme]]"), Described("as above"), "Its schemes."),
        key("topology", KeyType::Table("[topology]"), Described("as above"), "Its fabric."),
        key("workload", KeyType::Table("[workload]"), Described("as above"), "Its traffic."),
        key("fault", KeyType::Tables("[[fault]]"), Described("as above"), "Its faults."),
    ],
};
