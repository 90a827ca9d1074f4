//! The keys of `[[fault]]`.

use crate::scenario::keys::key_type::{Ends, High, KeyType, Low};
use crate::scenario::keys::section::KeyDefault::{Described, Required, Value};
use crate::scenario::keys::section::{
    HOST_NAMES, Key, LINK_NAMES, RATE, SHARE, SIZE, SWITCH_NAMES, Section, TIME, TIME_ABOVE, joined, key,
    kind,
};
use anabranch_base::{Bytes, Duration};

pub(super) const SECTIONS: &[Section] = &[
    LINK_DOWN,
    LINK_FLAP,
    SWITCH_DOWN,
    CHANGED_RATE,
    PACKET_LOSS,
    SWITCH_LOSS,
    BIT_ERRORS,
    SLOW_RECEIVER,
    PAUSE_STORM,
];

/// The shortest period of a flapping link. Real ports take milliseconds to come up. Moreover, each change of state
/// ends a synchronisation window of the engine early, which slows the run down.
pub(in crate::scenario) const SHORTEST_PERIOD: Duration = Duration::from_us(1);
const LINKS_BROKEN: Key = key(
    "links",
    KeyType::OneOrMore(&LINK_NAMES),
    Required,
    "The links of the fault: `tor:0/up:0`, `cable:tor:0/up:0`, `tor-uplinks:3%`, `host:3`, `all`.",
)
.with_example("\"tor-uplinks:3%\"");
const BOTH: Key = key(
    "both_directions",
    KeyType::Bool,
    Described(
        "both of a link that is down or flaps; otherwise as each name says: a link its direction, a cable both",
    ),
    "Whether the fault is in both directions of each cable, or only in the named one.",
);
const AT: Key = key(
    "at",
    KeyType::OneOrMore(&TIME),
    Value("\"0us\""),
    "When the fault begins: one time, or several times.",
)
.with_example("\"100us\"");
const DURATION: Key =
    key("duration", TIME_ABOVE, Described("to the end of the run"), "How long the fault lasts, each time.")
        .with_example("\"200us\"");
const UNTIL: Key = key(
    "until",
    KeyType::Time(Ends { low: Low::AfterKey("at"), high: High::Any }),
    Described("to the end of the run"),
    "The time at which the fault ends, instead of `duration`.",
)
.with_example("\"1ms\"");

const PER_HOUR: Key = key(
    "per_hour",
    KeyType::Number(Ends::ABOVE_ZERO.with_high(High::To(MOST_PER_HOUR))),
    Described("once at each `at`"),
    "How often each cable or switch by itself fails in an hour of simulated time, on average: at random times from `at` on, \
     each time for `duration`.",
)
.with_example("3600000.0");

/// The largest permitted number of failures per hour of a cable or switch: one per microsecond.
pub(in crate::scenario) const MOST_PER_HOUR: f64 = 3.6e9;

/// The keys of link faults of the kind `of`: the keys of all link faults, followed by `own`.
const fn of_links<const N: usize>(of: &'static str, own: &[Key]) -> [Key; N] {
    joined(&[&[kind(of, "The kind of the fault."), AT, DURATION, UNTIL, LINKS_BROKEN, BOTH], own])
}

const LINK_DOWN: Section = Section {
    name: "link-down",
    table: "[[fault]]",
    kind: Some("link-down"),
    meaning: "Links carry nothing, and the packets on them are lost.",
    keys: &of_links::<7>("link-down", &[PER_HOUR]),
};

const LINK_FLAP: Section = Section {
    name: "link-flap",
    table: "[[fault]]",
    kind: Some("link-flap"),
    meaning: "Links go down and come up again periodically.",
    keys: &of_links::<9>(
        "link-flap",
        &[
            PER_HOUR,
            key(
                "period",
                KeyType::Time(Ends::from(SHORTEST_PERIOD)),
                Required,
                "Time from one failure to the next.",
            )
            .with_example("\"200us\""),
            key(
                "down_for",
                KeyType::Time(Ends::ABOVE_ZERO.with_high(High::BelowKey("period"))),
                Required,
                "Duration of each failure.",
            )
            .with_example("\"50us\""),
        ],
    ),
};

const SWITCH_DOWN: Section = Section {
    name: "switch-down",
    table: "[[fault]]",
    kind: Some("switch-down"),
    meaning: "Switches lose all packets in their queues, and all their links are down.",
    keys: &[
        kind("switch-down", "The kind of the fault."),
        AT,
        DURATION,
        UNTIL,
        PER_HOUR,
        key(
            "switches",
            KeyType::OneOrMore(&SWITCH_NAMES),
            Required,
            "The switches of the fault: `spine:0`, `tor:25%`.",
        )
        .with_example("\"tor:0\""),
    ],
};

const CHANGED_RATE: Section = Section {
    name: "rate",
    table: "[[fault]]",
    kind: Some("rate"),
    meaning: "Links have another rate.",
    keys: &of_links::<7>(
        "rate",
        &[key("rate", RATE, Required, "The rate of the links during the fault.").with_example("\"200Gbps\"")],
    ),
};

const PACKET_LOSS: Section = Section {
    name: "packet-loss",
    table: "[[fault]]",
    kind: Some("packet-loss"),
    meaning: "Links lose each packet with a probability.",
    keys: &of_links::<7>(
        "packet-loss",
        &[key("probability", SHARE, Required, "Probability with which a packet is lost.")
            .with_example("0.01")],
    ),
};

const SWITCH_LOSS: Section = Section {
    name: "switch-loss",
    table: "[[fault]]",
    kind: Some("switch-loss"),
    meaning: "Switches drop each data packet with a probability, or trim it if they support trimming.",
    keys: &of_links::<7>(
        "switch-loss",
        &[key("probability", SHARE, Required, "Probability with which a data packet is dropped or trimmed.")
            .with_example("0.01")],
    ),
};

const BIT_ERRORS: Section = Section {
    name: "bit-errors",
    table: "[[fault]]",
    kind: Some("bit-errors"),
    meaning: "Each bit is wrong with a probability, and a packet with a wrong bit is lost.",
    keys: &of_links::<7>(
        "bit-errors",
        &[key("probability", SHARE, Required, "Probability with which a bit is wrong.").with_example("0.01")],
    ),
};

/// The keys of host faults of the kind `of`: the keys of all host faults, followed by `own`.
const fn of_hosts<const N: usize>(of: &'static str, own: &[Key]) -> [Key; N] {
    joined(&[&[kind(of, "What happens."), AT, DURATION, UNTIL, HOSTS], own])
}

const HOSTS: Key = key(
    "hosts",
    KeyType::OneOrMore(&HOST_NAMES),
    Required,
    "Which hosts: `host:3`, `server:0/nic:3`, `rail:1`, `host-links:2` for two at random.",
)
.with_example("\"host:3\"");

/// The buffer of a slow receiver if the scenario names none.
pub(in crate::scenario) const RECEIVE_BUFFER: Bytes = Bytes(256_000);

const SLOW_RECEIVER: Section = Section {
    name: "slow-receiver",
    table: "[[fault]]",
    kind: Some("slow-receiver"),
    meaning: "Hosts take data at a rate only; their NICs pause the links in a lossless class, and drop data in a lossy one.",
    keys: &of_hosts::<7>(
        "slow-receiver",
        &[
            key(
                "rate",
                RATE,
                Required,
                "The rate at which each host takes data, over all its ports together.",
            )
            .with_example("\"100Gbps\""),
            key(
                "buffer",
                SIZE,
                Value("\"256KB\""),
                "What the NIC keeps before it pauses its links, or drops data. It resumes them when two full packets fit again.",
            ),
        ],
    ),
};

const PAUSE_STORM: Section = Section {
    name: "pause-storm",
    table: "[[fault]]",
    kind: Some("pause-storm"),
    meaning: "Hosts pause their links without interruption, for 65,535 quanta each time (802.1Qbb); lossy classes ignore it.",
    keys: &of_hosts::<5>("pause-storm", &[]),
};
