//! The keys of schemes and setups, except for the parameters of their parts.

use crate::scenario::keys::key_type::{Ends, KeyType};
use crate::scenario::keys::section::KeyDefault::{Described, Required, Value};
use crate::scenario::keys::section::{Key, NAMES, Section, TEXT, key};

const NAME: Key = key("name", KeyType::Name, Required, "Its name in scenarios.").with_example("\"reps-16\"");
const TITLE: Key = key("title", TEXT, Described("by the base"), "A title of one line.")
    .with_example("\"Permutation on 128 hosts\"");

// The parts of a scheme. The keys of their tables are the parameters of their kinds.
const TRANSPORT: Key =
    key("transport", KeyType::Table("[transport]"), Described("that of the base"), "The transport.");
const CC: Key = key("cc", KeyType::Table("[cc]"), Described("that of the base"), "The congestion control.");
const LB: Key = key("lb", KeyType::Table("[lb]"), Described("that of the base"), "The load balancer.");
const FABRIC: Key = key(
    "fabric",
    KeyType::Table("[fabric]"),
    Described("that of the base"),
    "The behaviour of the switches.",
);

/// The parts of the league. Each scenario of the league runs the schemes of one part.
pub(in crate::scenario) const LEAGUE_PARTS: [&str; 3] = ["data-centre", "large-fabric", "two-data-centres"];

pub(super) const LEAGUE_PART: KeyType = KeyType::Choice(&LEAGUE_PARTS);

pub(super) const SCHEME: Section = Section {
    name: "scheme",
    table: "[[scheme]]",
    kind: None,
    meaning: "A scheme: transport, congestion control, load balancer and the behaviour of the switches; or its differences from another scheme.",
    keys: &[
        NAME,
        key("base", TEXT, Described("none: it is whole"), "The scheme from which this scheme differs.")
            .with_example("\"reps\""),
        TITLE,
        key("source", TEXT, Described("that of the base"), "The source of its parameters.")
            .with_example("\"section 4.3\""),
        key(
            "needs",
            TEXT,
            Described("that of the base"),
            "The features of the fabric that this scheme needs and others do not.",
        ),
        key(
            "own",
            KeyType::List { name: "a list of names", of: Some(&TEXT), least: 0, most: None },
            Described("by the setup"),
            "Paths of the setup parameters that the scheme itself sets, as a resolved scenario lists them.",
        ),
        key(
            "order",
            KeyType::Whole(Ends::ANY),
            Described("the last"),
            "The place of a built-in scheme in lists.",
        ),
        key(
            "league",
            KeyType::List {
                name: "a list of parts of the league",
                of: Some(&LEAGUE_PART),
                least: 0,
                most: None,
            },
            Value("[\"data-centre\", \"large-fabric\"]"),
            "The parts of the league in which a built-in scheme takes part.",
        ),
        key(
            "set",
            KeyType::Table("[scheme.set]"),
            Described("nothing"),
            "Parameters by their paths: `\"lb.buffer\" = 16`.",
        ),
        TRANSPORT,
        CC,
        LB,
        FABRIC,
        key(
            "mix",
            KeyType::Table("[mix]"),
            Described("none"),
            "Hosts whose load balancer differs from that of the others.",
        ),
    ],
};

// The tables of a setup. `transport`, `cc` and `lb` have parameters for every kind, and tables for single kinds.
const OF_TRANSPORTS: Key = key(
    "transport",
    KeyType::Table("[setup.transport]"),
    Described("that of the base"),
    "Parameters of transports.",
);
const OF_CCS: Key = key(
    "cc",
    KeyType::Table("[setup.cc]"),
    Described("that of the base"),
    "Parameters of congestion controls.",
);
const OF_LBS: Key =
    key("lb", KeyType::Table("[setup.lb]"), Described("that of the base"), "Parameters of load balancers.");
const OF_SWITCHES: Key =
    key("fabric", KeyType::Table("[setup.fabric]"), Described("that of the base"), "Parameters of switches.");
const LOSSLESS: Key = key(
    "lossless",
    KeyType::Table("[setup.lossless]"),
    Described("that of the base"),
    "Differences for schemes whose switches pause.",
);
const TRIMMING: Key = key(
    "trimming",
    KeyType::Table("[setup.lossless]"),
    Described("that of the base"),
    "Differences for schemes whose switches trim.",
);
const DROPPING: Key = key(
    "dropping",
    KeyType::Table("[setup.lossless]"),
    Described("that of the base"),
    "Differences for schemes whose switches drop packets.",
);
const BASE: Key = key("base", TEXT, Value("\"common\""), "The setup from which this setup differs.");

pub(super) const SETUP: Section = Section {
    name: "setup",
    table: "[setup]",
    kind: None,
    meaning: "The setup of all schemes, as its differences from another setup.",
    keys: &[
        BASE,
        key("name", TEXT, Described("by the base"), "Its name in results."),
        key(
            "resolved",
            KeyType::Bool,
            Value("false"),
            "Whether the schemes contain all values themselves, as in a resolved scenario.",
        ),
        key(
            "differs",
            TEXT,
            Described("nothing"),
            "A sentence on the differences between the schemes' setups, as a resolved scenario contains it.",
        ),
        OF_TRANSPORTS,
        OF_CCS,
        OF_LBS,
        OF_SWITCHES,
        LOSSLESS,
        TRIMMING,
        DROPPING,
    ],
};

pub(super) const SETUP_FILE: Section = Section {
    name: "setup-file",
    table: "",
    kind: None,
    meaning: "A setup in a file of its own.",
    keys: &[
        NAME,
        TITLE,
        key("base", TEXT, Described("none"), "The setup from which this setup differs."),
        key("systems", NAMES, Described("none"), "The schemes whose papers use this setup."),
        OF_TRANSPORTS,
        OF_CCS,
        OF_LBS,
        OF_SWITCHES,
        LOSSLESS,
        TRIMMING,
        DROPPING,
    ],
};

pub(super) const LAYER: Section = Section {
    name: "layer",
    table: "[setup.lossless]",
    kind: None,
    meaning: "Differences for schemes whose switches pause, or trim.",
    keys: &[OF_TRANSPORTS, OF_CCS, OF_LBS, OF_SWITCHES],
};
