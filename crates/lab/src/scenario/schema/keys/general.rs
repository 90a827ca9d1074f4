//! The keys above all tables, and those of `[[measure]]`, `[limits]` and `[find]`.

use crate::scenario::schema::section::KeyDefault::{Described, Required, Value};
use crate::scenario::schema::section::{COUNT, Key, Section, TIME, TIME_ABOVE, key};

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
        key("title", "text", Described("the file's name"), "One line for people."),
        key(
            "schemes",
            "a list of names",
            Described("those of `[[scheme]]`"),
            "Which schemes run (`anabranch list schemes`).",
        ),
        key("seeds", "a list of numbers", Described("1, 2 and 3 by the command"), "A run for each."),
        key(
            "setup",
            "a setup's name, or a table",
            Value("\"common\""),
            "The ground of all schemes (`anabranch list setups`).",
        ),
        key("topology", "a table", Required, "The fabric."),
        key("workload", "a table", Required, "What the hosts send."),
        key("scheme", "tables", Described("none"), "Schemes of your own, or with other parameters."),
        key("fault", "tables", Described("none"), "What breaks."),
        key("measure", "tables", Described("none"), "Curves to record."),
        key("observer", "tables", Described("none"), "Observers that a program of yours has registered."),
        key(
            "set",
            "a table",
            Described("nothing"),
            "Parameters of schemes by their paths: `\"reps.lb.buffer\" = 16`, `\"*.fabric.queue\" = \"2MB\"`.",
        ),
        key(
            "sweep",
            "a table",
            Described("nothing"),
            "Lists of values by their paths: a run for each combination; `[[sweep.zip]]` moves several together.",
        ),
        key("limits", "a table", Described("those of `[limits]`"), "When a run that does not end is ended."),
        key("find", "a table", Described("nothing"), "A question for `anabranch find`."),
        key(
            "point",
            "tables",
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
        key(
            "series",
            "`link-utilisation` and others (`anabranch list series`)",
            Required,
            "What is measured.",
        ),
        EVERY,
        key("links", "names of links", Required, "Of which links: `tor:0/up`, `tor-uplinks`, `all`."),
        key("switches", "names of switches", Required, "Of which switches: `tor:0`."),
        key("qps", "`all`, or numbers such as `0-7`", Required, "Of which queue pairs."),
        key("above", TIME, Described("none"), "Of `queue-delay`: packets that waited longer are counted."),
    ],
};

pub(super) const LIMITS: Section = Section {
    name: "limits",
    table: "[limits]",
    kind: None,
    meaning: "When a run that does not end is ended.",
    keys: &[
        key("max_time", "a time above 0, at most 281 s", Value("\"1s\""), "Simulated time."),
        key(
            "stall",
            TIME_ABOVE,
            Value("\"10ms\""),
            "For so long nothing new is delivered, beside a timeout and a round trip.",
        ),
        key("max_events", COUNT, Value("20000000000"), "Events."),
        key("max_packets", COUNT, Value("16000000"), "Packets in the fabric at once."),
    ],
};

pub(super) const FIND: Section = Section {
    name: "find",
    table: "[find]",
    kind: None,
    meaning: "A question for `anabranch find`: the smallest or largest value for which something holds.",
    keys: &[
        key("parameter", "a path, as in `[sweep]`", Required, "What is looked for."),
        key(
            "smallest",
            "two ends, or a list of values",
            Described("`largest` instead"),
            "What holds for a value holds for larger ones.",
        ),
        key(
            "largest",
            "two ends, or a list of values",
            Described("`smallest` instead"),
            "What holds for a value holds for smaller ones.",
        ),
        key(
            "where",
            "a comparison of measures",
            Required,
            "What has to hold at every seed: `drops(scheme) == 0`.",
        ),
        key(
            "resolution",
            "a number above 0, below 1",
            Value("0.02"),
            "How near the two ends are in the end, relatively.",
        ),
    ],
};
