//! The keys of `[topology]`.

use crate::scenario::schema::section::KeyDefault::{Described, Required, Value};
use crate::scenario::schema::section::{COUNT, FILE, Key, RATE, Section, TIME, key};

const HOSTS: &str = "a number, 2 or more";
const LINK: Key = key("link", RATE, Required, "Rate of the links.");
const LINK_LATENCY: Key = key("link_latency", TIME, Value("\"500ns\""), "How long a bit takes over a link.");
const SWITCH_LATENCY: Key = key(
    "switch_latency",
    TIME,
    Value("\"500ns\""),
    "How long a packet takes through a switch, beside waiting.",
);

pub(super) const FAT_TREE: Section = Section {
    name: "fat-tree",
    table: "[topology]",
    kind: Some("fat-tree"),
    meaning: "Two or three tiers of any radix and oversubscription.",
    keys: &[
        key("kind", "`fat-tree`", Required, "Which fabric it is."),
        key("hosts", HOSTS, Required, "Hosts of the fabric."),
        key("tiers", "2 or 3", Value("2"), "Tiers of switches."),
        LINK,
        LINK_LATENCY,
        SWITCH_LATENCY,
        key(
            "oversubscription",
            "a number, 1 or more, or `\"2:1\"`",
            Value("1"),
            "What the hosts of a ToR can send over what leaves it upwards.",
        ),
        key("hosts_per_tor", COUNT, Described("by the numbers of hosts and tiers"), "Hosts below a ToR."),
        key(
            "pod_hosts",
            HOSTS,
            Described("by the numbers of hosts and tiers"),
            "Hosts of a pod, in three tiers.",
        ),
        key(
            "tier",
            "tables",
            Described("by the keys above"),
            "`[[topology.tier]]`, from the ToRs up: what is different in a tier.",
        ),
    ],
};

pub(super) const LEAF_SPINE: Section = Section {
    name: "leaf-spine",
    table: "[topology]",
    kind: Some("leaf-spine"),
    meaning: "A fat tree of two tiers.",
    keys: &[
        key("kind", "`leaf-spine`", Required, "Which fabric it is."),
        key("hosts", HOSTS, Required, "Hosts of the fabric."),
        LINK,
        LINK_LATENCY,
        SWITCH_LATENCY,
        key(
            "oversubscription",
            "a number, 1 or more, or `\"2:1\"`",
            Value("1"),
            "What the hosts of a leaf can send over what leaves it upwards.",
        ),
        key("hosts_per_tor", COUNT, Described("by the number of hosts"), "Hosts below a leaf."),
        key("pod_hosts", HOSTS, Described("all"), "Hosts of a pod."),
        key(
            "tier",
            "tables",
            Described("by the keys above"),
            "`[[topology.tier]]`, from the leaves up: what is different in a tier.",
        ),
    ],
};

pub(super) const TOPO_FILE: Section = Section {
    name: "topo-file",
    table: "[topology]",
    kind: None,
    meaning: "A fat tree from a `.topo` file of htsim; what is said beside it goes before.",
    keys: &[
        key("kind", "`fat-tree` or `leaf-spine`", Described("by the file"), "Which fabric it is."),
        key("file", FILE, Required, "The file."),
        key("link", RATE, Described("the file's"), "Rate of the links."),
        key("link_latency", TIME, Described("the file's"), "How long a bit takes over a link."),
        key(
            "switch_latency",
            TIME,
            Described("the file's"),
            "How long a packet takes through a switch, beside waiting.",
        ),
        key(
            "tier",
            "tables",
            Described("the file's"),
            "`[[topology.tier]]`, from the ToRs up: what is different in a tier.",
        ),
    ],
};

pub(super) const TIER: Section = Section {
    name: "tier",
    table: "[[topology.tier]]",
    kind: None,
    meaning: "What is different in a tier of a fat tree.",
    keys: &[
        key("link", RATE, Described("that of the fabric"), "Rate of the links below."),
        key("link_latency", TIME, Described("that of the fabric"), "How long a bit takes over a link below."),
        key(
            "switch_latency",
            TIME,
            Described("that of the fabric"),
            "How long a packet takes through a switch of the tier.",
        ),
        key("radix_down", COUNT, Described("by the keys of the fabric"), "Ports downwards."),
        key("radix_up", COUNT, Described("by the keys of the fabric"), "Ports upwards."),
        key("bundle", COUNT, Value("1"), "Links side by side to the same switch."),
    ],
};

pub(super) const SINGLE_SWITCH: Section = Section {
    name: "single-switch",
    table: "[topology]",
    kind: Some("single-switch"),
    meaning: "All hosts on one switch.",
    keys: &[
        key("kind", "`single-switch`", Required, "Which fabric it is."),
        key("hosts", HOSTS, Required, "Hosts of the fabric."),
        LINK,
        LINK_LATENCY,
        SWITCH_LATENCY,
    ],
};

pub(super) const DUMBBELL: Section = Section {
    name: "dumbbell",
    table: "[topology]",
    kind: Some("dumbbell"),
    meaning: "Two switches joined by one cable, half of the hosts on each.",
    keys: &[
        key("kind", "`dumbbell`", Required, "Which fabric it is."),
        key("hosts", "an even number, 2 or more", Required, "Hosts of the fabric."),
        LINK,
        key("trunk", RATE, Described("`link`"), "Rate of the cable between the switches."),
        LINK_LATENCY,
        key("trunk_latency", TIME, Described("`link_latency`"), "How long a bit takes over that cable."),
        SWITCH_LATENCY,
    ],
};

pub(super) const CROSS_DC: Section = Section {
    name: "cross-dc",
    table: "[topology]",
    kind: Some("cross-dc"),
    meaning: "Data centres of ToRs and leaves, joined by external switches over long links.",
    keys: &[
        key("kind", "`cross-dc`", Required, "Which fabric it is."),
        key("dcs", HOSTS, Value("2"), "Data centres."),
        key("tors", COUNT, Required, "ToRs of a data centre."),
        key("leaves", COUNT, Required, "Leaves of a data centre."),
        key("hosts_per_tor", COUNT, Required, "Hosts below a ToR."),
        LINK,
        LINK_LATENCY,
        key(
            "esw_link",
            RATE,
            Described("all that the hosts of a data centre can send, over its leaves"),
            "Rate of a leaf's link to the external switch.",
        ),
        key("esw_link_latency", TIME, Described("`link_latency`"), "How long a bit takes over it."),
        key(
            "wan_link",
            RATE,
            Described("all that the hosts of a data centre can send"),
            "Rate of a link between data centres.",
        ),
        key("wan_latency", TIME, Required, "How long a bit takes over it: 5 us for a kilometre of fibre."),
        SWITCH_LATENCY,
    ],
};

pub(super) const GRAPH: Section = Section {
    name: "graph",
    table: "[topology]",
    kind: Some("graph"),
    meaning: "Any graph, from a topology file of the ns-3 RDMA simulators.",
    keys: &[
        key("kind", "`graph`", Required, "Which fabric it is."),
        key("file", FILE, Required, "The file."),
        SWITCH_LATENCY,
    ],
};
