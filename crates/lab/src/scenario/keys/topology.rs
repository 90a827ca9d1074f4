//! The keys of `[topology]`.

use crate::scenario::keys::key_type::{Ends, High, KeyType};
use crate::scenario::keys::section::KeyDefault::{Described, Required, Value};
use crate::scenario::keys::section::{COUNT, FILE, Key, RATE, Section, TIME, key, kind};

const HOSTS: KeyType = KeyType::Whole(Ends::from(2));
pub(super) const OVERSUBSCRIPTION: KeyType =
    KeyType::Either(&[KeyType::Number(Ends::from(1.0)), KeyType::Ratio]);
pub(super) const LINK: Key = key("link", RATE, Required, "Rate of the links.").with_example("\"400Gbps\"");
pub(super) const LINK_LATENCY: Key =
    key("link_latency", TIME, Value("\"500ns\""), "How long a bit takes over a link.");
pub(super) const SWITCH_LATENCY: Key = key(
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
        kind("fat-tree", "Which fabric it is."),
        key("hosts", HOSTS, Required, "Hosts of the fabric.").with_example("128"),
        key("tiers", KeyType::Whole(Ends::from(2).with_high(High::To(3))), Value("2"), "Tiers of switches."),
        LINK,
        LINK_LATENCY,
        SWITCH_LATENCY,
        key(
            "oversubscription",
            OVERSUBSCRIPTION,
            Value("1"),
            "What the hosts of a ToR can send over what leaves it upwards.",
        ),
        key("hosts_per_tor", COUNT, Described("by the numbers of hosts and tiers"), "Hosts below a ToR.")
            .with_example("8"),
        key(
            "pod_hosts",
            HOSTS,
            Described("by the numbers of hosts and tiers"),
            "Hosts of a pod, in three tiers.",
        )
        .with_example("128"),
        key(
            "tier",
            KeyType::Tables("[[topology.tier]]"),
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
        kind("leaf-spine", "Which fabric it is."),
        key("hosts", HOSTS, Required, "Hosts of the fabric.").with_example("128"),
        LINK,
        LINK_LATENCY,
        SWITCH_LATENCY,
        key(
            "oversubscription",
            OVERSUBSCRIPTION,
            Value("1"),
            "What the hosts of a leaf can send over what leaves it upwards.",
        ),
        key("hosts_per_tor", COUNT, Described("by the number of hosts"), "Hosts below a leaf.")
            .with_example("8"),
        key("pod_hosts", HOSTS, Described("all"), "Hosts of a pod.").with_example("128"),
        key(
            "tier",
            KeyType::Tables("[[topology.tier]]"),
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
        key(
            "kind",
            KeyType::Choice(&["fat-tree", "leaf-spine"]),
            Described("by the file"),
            "Which fabric it is.",
        ),
        key("file", FILE, Required, "The file.").with_example("\"leaf_spine.topo\""),
        key("link", RATE, Described("the file's"), "Rate of the links.").with_example("\"400Gbps\""),
        key("link_latency", TIME, Described("the file's"), "How long a bit takes over a link.")
            .with_example("\"500ns\""),
        key(
            "switch_latency",
            TIME,
            Described("the file's"),
            "How long a packet takes through a switch, beside waiting.",
        )
        .with_example("\"500ns\""),
        key(
            "tier",
            KeyType::Tables("[[topology.tier]]"),
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
        key("link", RATE, Described("that of the fabric"), "Rate of the links below.")
            .with_example("\"400Gbps\""),
        key("link_latency", TIME, Described("that of the fabric"), "How long a bit takes over a link below.")
            .with_example("\"500ns\""),
        key(
            "switch_latency",
            TIME,
            Described("that of the fabric"),
            "How long a packet takes through a switch of the tier.",
        )
        .with_example("\"500ns\""),
        key("radix_down", COUNT, Described("by the keys of the fabric"), "Ports downwards.")
            .with_example("8"),
        key(
            "radix_up",
            KeyType::Whole(Ends::from(0)),
            Described("by the keys of the fabric"),
            "Ports upwards.",
        )
        .with_example("8"),
        key("bundle", COUNT, Value("1"), "Links side by side to the same switch."),
    ],
};

pub(super) const SINGLE_SWITCH: Section = Section {
    name: "single-switch",
    table: "[topology]",
    kind: Some("single-switch"),
    meaning: "All hosts on one switch.",
    keys: &[
        kind("single-switch", "Which fabric it is."),
        key("hosts", HOSTS, Required, "Hosts of the fabric.").with_example("128"),
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
        kind("dumbbell", "Which fabric it is."),
        key("hosts", KeyType::Even(2), Required, "Hosts of the fabric.").with_example("128"),
        LINK,
        key("trunk", RATE, Described("`link`"), "Rate of the cable between the switches.")
            .with_example("\"400Gbps\""),
        LINK_LATENCY,
        key("trunk_latency", TIME, Described("`link_latency`"), "How long a bit takes over that cable.")
            .with_example("\"500ns\""),
        SWITCH_LATENCY,
    ],
};

pub(super) const CROSS_DC: Section = Section {
    name: "cross-dc",
    table: "[topology]",
    kind: Some("cross-dc"),
    meaning: "Data centres of ToRs and leaves, joined by external switches over long links.",
    keys: &[
        kind("cross-dc", "Which fabric it is."),
        key("dcs", HOSTS, Value("2"), "Data centres."),
        key("tors", COUNT, Required, "ToRs of a data centre.").with_example("4"),
        key("leaves", COUNT, Required, "Leaves of a data centre.").with_example("4"),
        key("hosts_per_tor", COUNT, Required, "Hosts below a ToR.").with_example("8"),
        LINK,
        LINK_LATENCY,
        key(
            "esw_link",
            RATE,
            Described("all that the hosts of a data centre can send, over its leaves"),
            "Rate of a leaf's link to the external switch.",
        )
        .with_example("\"400Gbps\""),
        key("esw_link_latency", TIME, Described("`link_latency`"), "How long a bit takes over it.")
            .with_example("\"5us\""),
        key(
            "wan_link",
            RATE,
            Described("all that the hosts of a data centre can send"),
            "Rate of a link between data centres.",
        )
        .with_example("\"1600Gbps\""),
        key("wan_latency", TIME, Required, "How long a bit takes over it: 5 us for a kilometre of fibre.")
            .with_example("\"500us\""),
        SWITCH_LATENCY,
    ],
};

pub(super) const GRAPH: Section = Section {
    name: "graph",
    table: "[topology]",
    kind: Some("graph"),
    meaning: "Any graph, from a topology file of the ns-3 RDMA simulators. A host with several links is a NIC with as many \
              ports; a host that is joined to another one gets a switch of its own.",
    keys: &[
        kind("graph", "Which fabric it is."),
        key("file", FILE, Required, "The file.").with_example("\"leaf_spine.topo\""),
        SWITCH_LATENCY,
    ],
};
