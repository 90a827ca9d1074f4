//! The top-level keys, and those of `[[class]]`, `[[measure]]`, `[limits]`, `[find]` and `[[point]]`.

use crate::scenario::keys::key_type::{Ends, High, KeyType};
use crate::scenario::keys::section::KeyDefault::{Described, Required, Value};
use crate::scenario::keys::section::{
    COUNT, Key, LINK_NAMES, SWITCH_NAMES, Section, TEXT, TIME, TIME_ABOVE, key,
};
use crate::scenario::keys::series::SERIES_NAMES;
use anabranch_engine::{ClassSpec, Limits};

const SEED: KeyType = KeyType::Whole(Ends::from(0));
const SEEDS: KeyType = KeyType::Set { name: "a list of numbers", of: &SEED };
const SCHEMES: KeyType = KeyType::Set { name: "a list of names", of: &TEXT };
const VALUES: KeyType =
    KeyType::List { name: "two ends, or a list of values", of: None, least: 2, most: None };

const EVERY: Key = key(
    "every",
    TIME_ABOVE,
    Value("\"20us\""),
    "Interval of a point of the curve. Series of ACKs have a point for each ACK instead.",
);

pub(super) const SCENARIO: Section = Section {
    name: "scenario",
    table: "",
    kind: None,
    meaning: "Above all tables.",
    keys: &[
        key("title", TEXT, Described("the file's name"), "A title of one line.")
            .with_example("\"Permutation on 128 hosts\""),
        key(
            "schemes",
            SCHEMES,
            Described("those of `[[scheme]]`"),
            "The schemes that run (`anabranch list schemes`).",
        )
        .with_example("[\"reps\", \"ops\", \"ecmp\"]"),
        key(
            "seeds",
            SEEDS,
            Described("1, 2 and 3 by the command"),
            "The seeds of the random numbers. Each scheme has one run per seed.",
        )
        .with_example("[1, 2, 3]"),
        key(
            "setup",
            KeyType::Either(&[
                KeyType::Text("a setup's name, or SimAI's `.conf`"),
                KeyType::Table("[setup]"),
            ]),
            Value("\"common\""),
            "The setup of all schemes (`anabranch list setups`), or a file of SimAI with the packet sizes, ECN marking and buffers.",
        ),
        key("topology", KeyType::Table("[topology]"), Required, "The fabric."),
        key("workload", KeyType::Table("[workload]"), Required, "The traffic that the hosts send."),
        key(
            "scheme",
            KeyType::Tables("[[scheme]]"),
            Described("none"),
            "User-defined schemes, or schemes with other parameters.",
        ),
        key(
            "class",
            KeyType::Tables("[[class]]"),
            Described("one class for everything"),
            "Traffic classes: what else is in the fabric, each with a scheme and queues of its own.",
        ),
        key("fault", KeyType::Tables("[[fault]]"), Described("none"), "Faults of links, switches and hosts."),
        key("measure", KeyType::Tables("[[measure]]"), Described("none"), "Curves to record."),
        key(
            "observer",
            KeyType::Tables("[[observer]]"),
            Described("none"),
            "Observers that a user's program has registered.",
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
            "Lists of values, by the paths of the parameters. Each combination of values has its runs. The parameters of a `[[sweep.zip]]` change together.",
        ),
        key(
            "limits",
            KeyType::Table("[limits]"),
            Described("those of `[limits]`"),
            "The limits at which a run is ended.",
        ),
        key(
            "find",
            KeyType::Table("[find]"),
            Described("nothing"),
            "The search that `anabranch find` carries out.",
        ),
        key(
            "point",
            KeyType::Tables("[[point]]"),
            Described("none"),
            "The points of the sweep, as a resolved scenario lists them.",
        ),
    ],
};

pub(super) const CLASS: Section = Section {
    name: "class",
    table: "[[class]]",
    kind: None,
    meaning: "A traffic class beside that of `schemes` and `[workload]`, which is the class `main`.",
    keys: &[
        key("name", KeyType::Name, Required, "Its name in results; `main` gives the first class its share.")
            .with_example("\"storage\""),
        key(
            "scheme",
            KeyType::Either(&[KeyType::Text("a scheme's name"), KeyType::Table("[[scheme]]")]),
            Described("required, except for `main`"),
            "What carries its messages; its `[fabric]` is that of the class's queues, marks, buffers and pauses.",
        )
        .with_example("\"rocev2\""),
        key(
            "workload",
            KeyType::Table("[workload]"),
            Described("required, except for `main`"),
            "What its hosts send, with the keys of `[workload]`.",
        ),
        key(
            "priority",
            KeyType::Whole(Ends::from(0).with_high(High::To(7))),
            Value("0"),
            "Classes of a higher priority are always served first.",
        ),
        key(
            "weight",
            KeyType::Whole(Ends::from(1).with_high(High::To(ClassSpec::MOST_WEIGHT as u64))),
            Value("1"),
            "Its share among the classes of its priority (deficit weighted round robin, in bytes).",
        ),
    ],
};

pub(super) const MEASURE: Section = Section {
    name: "measure",
    table: "[[measure]]",
    kind: None,
    meaning: "A curve that is recorded; each series is of links, of switches or of queue pairs.",
    keys: &[
        key(
            "series",
            KeyType::Choice(SERIES_NAMES),
            Required,
            "The series that is measured (`anabranch list series`).",
        )
        .with_example("\"link-utilisation\""),
        EVERY,
        key(
            "links",
            LINK_NAMES,
            Required,
            "The links that are measured: `tor:0/up`, `tor-uplinks`, `all`. Names of cables are their upward direction, so that `host:5` is what the host sends; `cable:host:5` is both directions.",
        )
        .with_example("\"tor-uplinks:3%\""),
        key(
            "by",
            KeyType::Choice(&["plane", "rail"]),
            Described("none"),
            "Of series of links: a curve for each plane or rail instead of one for each link. It is the sum over the links, or the largest for `queue-delay`.",
        )
        .with_example("\"plane\""),
        key("switches", SWITCH_NAMES, Required, "The switches that are measured: `tor:0`.")
            .with_example("\"tor:0\""),
        key(
            "qps",
            KeyType::Selector("`all`, or numbers such as `0-7`"),
            Required,
            "The queue pairs that are measured.",
        )
        .with_example("\"0-7\""),
        key(
            "above",
            TIME,
            Described("none"),
            "For `queue-delay`: packets that waited longer than this time are counted.",
        )
        .with_example("\"8us\""),
    ],
};

pub(super) const LIMITS: Section = Section {
    name: "limits",
    table: "[limits]",
    kind: None,
    meaning: "The limits at which a run is ended.",
    keys: &[
        key(
            "max_time",
            KeyType::Time(Ends::ABOVE_ZERO.with_high(High::To(Limits::MAX_TIME))),
            Value("\"1s\""),
            "Limit on the simulated time.",
        ),
        key(
            "stall",
            TIME_ABOVE,
            Value("\"10ms\""),
            "Longest time without newly delivered data, in addition to a timeout and a round trip.",
        ),
        key("max_events", COUNT, Value("20000000000"), "Limit on the number of events."),
        key(
            "max_packets",
            COUNT,
            Value("16000000"),
            "Limit on the number of packets in the fabric at the same time.",
        ),
    ],
};

pub(super) const FIND: Section = Section {
    name: "find",
    table: "[find]",
    kind: None,
    meaning: "The search of `anabranch find`: the smallest or largest value for which a condition holds.",
    keys: &[
        key("parameter", KeyType::Text("a path, as in `[sweep]`"), Required, "The parameter whose value is searched.")
            .with_example("\"*.fabric.queue\""),
        key(
            "smallest",
            VALUES,
            Described("`largest` instead"),
            "Values for a search of the smallest one. The condition is expected to hold for all values above the answer.",
        )
        .with_example("[\"16KB\", \"1MB\"]"),
        key(
            "largest",
            VALUES,
            Described("`smallest` instead"),
            "Values for a search of the largest one. The condition is expected to hold for all values below the answer.",
        )
        .with_example("[\"16KB\", \"1MB\"]"),
        key(
            "where",
            KeyType::Text("a comparison of measures"),
            Required,
            "The condition, which must hold at every seed: `drops(scheme) == 0`.",
        )
        .with_example("\"drops(scheme) == 0\""),
        key(
            "resolution",
            KeyType::Number(Ends::ABOVE_ZERO.with_high(High::Below(1.0))),
            Value("0.02"),
            "Relative distance between the last two values at which the search ends.",
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
        key("class", KeyType::Tables("[[class]]"), Described("as above"), "Its traffic classes."),
        key("fault", KeyType::Tables("[[fault]]"), Described("as above"), "Its faults."),
    ],
};
