//! The keys of `[[fault]]`.

use crate::scenario::schema::section::KeyDefault::{Described, Required, Value};
use crate::scenario::schema::section::{Key, RATE, Section, TIME_ABOVE, key};

const LINKS: &str = "names of links, or a list of them";
const PROBABILITY: &str = "a number, 0 to 1";
const LINKS_BROKEN: Key = key(
    "links",
    LINKS,
    Required,
    "What breaks: `tor:0/up:0`, `cable:tor:0/up:0`, `tor-uplinks:3%`, `host:3`, `all`.",
);
const BOTH: Key = key(
    "both_directions",
    "`true` or `false`",
    Described(
        "both of a link that is down or flaps; otherwise as each name says: a link its direction, a cable both",
    ),
    "Both directions of each cable, or the named one alone.",
);
const AT: Key = key(
    "at",
    "a time, or a list of them",
    Value("\"0us\""),
    "When it begins; each time, where there are several.",
);
const DURATION: Key =
    key("duration", TIME_ABOVE, Described("to the end of the run"), "How long it lasts, each time.");
const UNTIL: Key = key(
    "until",
    "a time after `at`",
    Described("to the end of the run"),
    "When it ends, instead of `duration`.",
);

pub(super) const LINK_DOWN: Section = Section {
    name: "link-down",
    table: "[[fault]]",
    kind: Some("link-down"),
    meaning: "Links carry nothing and lose what is on them.",
    keys: &[key("kind", "`link-down`", Required, "What happens."), AT, DURATION, UNTIL, LINKS_BROKEN, BOTH],
};

pub(super) const LINK_FLAP: Section = Section {
    name: "link-flap",
    table: "[[fault]]",
    kind: Some("link-flap"),
    meaning: "Links go down and come up again, period after period.",
    keys: &[
        key("kind", "`link-flap`", Required, "What happens."),
        AT,
        DURATION,
        UNTIL,
        LINKS_BROKEN,
        BOTH,
        key("period", "a time, 1 us or more", Required, "From one time that they go down to the next."),
        key("down_for", "a time above 0, below `period`", Required, "For how long they are down each time."),
    ],
};

pub(super) const SWITCH_DOWN: Section = Section {
    name: "switch-down",
    table: "[[fault]]",
    kind: Some("switch-down"),
    meaning: "Switches lose all that waits in them, and all their links are down.",
    keys: &[
        key("kind", "`switch-down`", Required, "What happens."),
        AT,
        DURATION,
        UNTIL,
        key(
            "switches",
            "names of switches, or a list of them",
            Required,
            "What breaks: `spine:0`, `tor:25%`.",
        ),
    ],
};

pub(super) const CHANGED_RATE: Section = Section {
    name: "rate",
    table: "[[fault]]",
    kind: Some("rate"),
    meaning: "Links run at another rate.",
    keys: &[
        key("kind", "`rate`", Required, "What happens."),
        AT,
        DURATION,
        UNTIL,
        LINKS_BROKEN,
        BOTH,
        key("rate", RATE, Required, "The rate meanwhile."),
    ],
};

pub(super) const PACKET_LOSS: Section = Section {
    name: "packet-loss",
    table: "[[fault]]",
    kind: Some("packet-loss"),
    meaning: "Links lose each packet with a probability.",
    keys: &[
        key("kind", "`packet-loss`", Required, "What happens."),
        AT,
        DURATION,
        UNTIL,
        LINKS_BROKEN,
        BOTH,
        key("probability", PROBABILITY, Required, "That a packet is lost."),
    ],
};

pub(super) const SWITCH_LOSS: Section = Section {
    name: "switch-loss",
    table: "[[fault]]",
    kind: Some("switch-loss"),
    meaning: "Switches drop each data packet, or trim it where they trim, with a probability.",
    keys: &[
        key("kind", "`switch-loss`", Required, "What happens."),
        AT,
        DURATION,
        UNTIL,
        LINKS_BROKEN,
        BOTH,
        key("probability", PROBABILITY, Required, "That a data packet is dropped or trimmed."),
    ],
};

pub(super) const BIT_ERRORS: Section = Section {
    name: "bit-errors",
    table: "[[fault]]",
    kind: Some("bit-errors"),
    meaning: "Each bit is wrong with a probability, and a packet with a wrong bit is lost.",
    keys: &[
        key("kind", "`bit-errors`", Required, "What happens."),
        AT,
        DURATION,
        UNTIL,
        LINKS_BROKEN,
        BOTH,
        key("probability", PROBABILITY, Required, "That a bit is wrong."),
    ],
};
