//! The keys of schemes and setups, except for the parameters of their parts.

use crate::scenario::keys::key_type::{Ends, KeyType};
use crate::scenario::keys::section::KeyDefault::{Described, Required, Value};
use crate::scenario::keys::section::{Key, NAMES, Section, TEXT, key};

const NAME: Key = key("name", KeyType::Name, Required, "Its name in scenarios.").with_example("\"reps-16\"");
const TITLE: Key = key("title", TEXT, Described("by the base"), "One line for people.")
    .with_example("\"Permutation on 128 hosts\"");

// The keys for the parts of a scheme. The keys of these tables are the parameters of the parts' kinds.
const TRANSPORT: Key =
    key("transport", KeyType::Table("[transport]"), Described("that of the base"), "The transport.");
const CC: Key = key("cc", KeyType::Table("[cc]"), Described("that of the base"), "The congestion control.");
const LB: Key = key("lb", KeyType::Table("[lb]"), Described("that of the base"), "The load balancer.");
const FABRIC: Key = key(
    "fabric",
    KeyType::Table("[fabric]"),
    Described("that of the base"),
    "What the switches do for a scheme.",
);

/// The parts of the league. Each of its scenarios runs the schemes of one part.
pub(in crate::scenario) const LEAGUE_PARTS: [&str; 3] = ["data-centre", "large-fabric", "two-data-centres"];

/// A part of the league.
pub(super) const LEAGUE_PART: KeyType = KeyType::Choice(&LEAGUE_PARTS);

pub(super) const SCHEME: Section = Section {
    name: "scheme",
    table: "[[scheme]]",
    kind: None,
    meaning: "A scheme: transport, congestion control, load balancer and what the switches do, or what is different in \
              another one.",
    keys: &[
        NAME,
        key("base", TEXT, Described("none: it is whole"), "The scheme in which something is different.")
            .with_example("\"reps\""),
        TITLE,
        key("source", TEXT, Described("that of the base"), "The source of its parameters.")
            .with_example("\"section 4.3\""),
        key("needs", TEXT, Described("that of the base"), "What it needs of a fabric that others do not."),
        key(
            "own",
            KeyType::List { name: "a list of names", of: Some(&TEXT), least: 0, most: None },
            Described("by the setup"),
            "Paths of parameters of the ground that are its own, as a resolved scenario has them.",
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
            "Hosts with another load balancer than the rest.",
        ),
    ],
};

// The keys for the parts of a setup. The keys of these tables are parameters for every kind, and tables for single
// kinds.
const OF_TRANSPORTS: Key =
    key("transport", KeyType::Table("[setup.transport]"), Described("that of the base"), "Of transports.");
const OF_CCS: Key =
    key("cc", KeyType::Table("[setup.cc]"), Described("that of the base"), "Of congestion controls.");
const OF_LBS: Key =
    key("lb", KeyType::Table("[setup.lb]"), Described("that of the base"), "Of load balancers.");
const OF_SWITCHES: Key =
    key("fabric", KeyType::Table("[setup.fabric]"), Described("that of the base"), "Of switches.");
const LOSSLESS: Key = key(
    "lossless",
    KeyType::Table("[setup.lossless]"),
    Described("that of the base"),
    "What is different for schemes whose switches pause.",
);
const TRIMMING: Key = key(
    "trimming",
    KeyType::Table("[setup.lossless]"),
    Described("that of the base"),
    "What is different for schemes whose switches trim.",
);
const BASE: Key = key("base", TEXT, Value("\"common\""), "The setup in which something is different.");

pub(super) const SETUP: Section = Section {
    name: "setup",
    table: "[setup]",
    kind: None,
    meaning: "The ground of all schemes: a setup in which something is different.",
    keys: &[
        BASE,
        key("name", TEXT, Described("by the base"), "Its name in results."),
        key(
            "resolved",
            KeyType::Bool,
            Value("false"),
            "Schemes say all themselves, as in a resolved scenario.",
        ),
        key("differs", TEXT, Described("nothing"), "What differs, as a resolved scenario has it."),
        OF_TRANSPORTS,
        OF_CCS,
        OF_LBS,
        OF_SWITCHES,
        LOSSLESS,
        TRIMMING,
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
        key("base", TEXT, Described("none"), "The setup in which something is different."),
        key("systems", NAMES, Described("none"), "The schemes whose paper's ground it is."),
        OF_TRANSPORTS,
        OF_CCS,
        OF_LBS,
        OF_SWITCHES,
        LOSSLESS,
        TRIMMING,
    ],
};

pub(super) const LAYER: Section = Section {
    name: "layer",
    table: "[setup.lossless]",
    kind: None,
    meaning: "What is different for schemes whose switches pause, or trim.",
    keys: &[OF_TRANSPORTS, OF_CCS, OF_LBS, OF_SWITCHES],
};
