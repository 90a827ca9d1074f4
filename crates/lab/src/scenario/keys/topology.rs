//! The keys of `[topology]`, except for clusters of servers and directly connected switches.

use crate::scenario::keys::key_type::{Ends, High, KeyType};
use crate::scenario::keys::section::KeyDefault::{Described, Required, Value};
use crate::scenario::keys::section::{COUNT, FILE, Key, RATE, Section, TIME, key, kind};

const HOSTS: KeyType = KeyType::Whole(Ends::from(2));
pub(super) const OVERSUBSCRIPTION: KeyType =
    KeyType::Either(&[KeyType::Number(Ends::from(1.0)), KeyType::Ratio]);
pub(super) const LINK: Key = key("link", RATE, Required, "Rate of the links.").with_example("\"400Gbps\"");
pub(super) const LINK_LATENCY: Key =
    key("link_latency", TIME, Value("\"500ns\""), "Propagation delay of a link.");
pub(super) const SWITCH_LATENCY: Key =
    key("switch_latency", TIME, Value("\"500ns\""), "Latency of a switch, without queueing.");

pub(super) const FAT_TREE: Section = Section {
    name: "fat-tree",
    table: "[topology]",
    kind: Some("fat-tree"),
    meaning: "Two or three tiers of any radix and oversubscription.",
    keys: &[
        kind("fat-tree", "The kind of the fabric."),
        key("hosts", HOSTS, Required, "Number of hosts of the fabric.").with_example("128"),
        key(
            "tiers",
            KeyType::Whole(Ends::from(2).with_high(High::To(3))),
            Value("2"),
            "Number of tiers of switches.",
        ),
        LINK,
        LINK_LATENCY,
        SWITCH_LATENCY,
        key(
            "oversubscription",
            OVERSUBSCRIPTION,
            Value("1"),
            "Total rate of the hosts of a ToR, divided by the total rate of its uplinks.",
        ),
        key(
            "hosts_per_tor",
            COUNT,
            Described("by the numbers of hosts and tiers"),
            "Number of hosts below a ToR.",
        )
        .with_example("8"),
        key(
            "pod_hosts",
            HOSTS,
            Described("by the numbers of hosts and tiers"),
            "Number of hosts of a pod, in a fabric of three tiers.",
        )
        .with_example("128"),
        key(
            "tier",
            KeyType::Tables("[[topology.tier]]"),
            Described("by the keys above"),
            "`[[topology.tier]]`: the differences of each tier, from the ToRs up.",
        ),
    ],
};

pub(super) const LEAF_SPINE: Section = Section {
    name: "leaf-spine",
    table: "[topology]",
    kind: Some("leaf-spine"),
    meaning: "A fat tree of two tiers.",
    keys: &[
        kind("leaf-spine", "The kind of the fabric."),
        key("hosts", HOSTS, Required, "Number of hosts of the fabric.").with_example("128"),
        LINK,
        LINK_LATENCY,
        SWITCH_LATENCY,
        key(
            "oversubscription",
            OVERSUBSCRIPTION,
            Value("1"),
            "Total rate of the hosts of a leaf, divided by the total rate of its uplinks.",
        ),
        key("hosts_per_tor", COUNT, Described("by the number of hosts"), "Number of hosts below a leaf.")
            .with_example("8"),
        key("pod_hosts", HOSTS, Described("all"), "Number of hosts of a pod.").with_example("128"),
        key(
            "tier",
            KeyType::Tables("[[topology.tier]]"),
            Described("by the keys above"),
            "`[[topology.tier]]`: the differences of each tier, from the leaves up.",
        ),
    ],
};

pub(super) const TOPO_FILE: Section = Section {
    name: "topo-file",
    table: "[topology]",
    kind: None,
    meaning: "A fat tree from a `.topo` file of htsim. The keys of this table replace the values of the file.",
    keys: &[
        key(
            "kind",
            KeyType::Choice(&["fat-tree", "leaf-spine"]),
            Described("by the file"),
            "The kind of the fabric.",
        ),
        key("file", FILE, Required, "The file.").with_example("\"leaf_spine.topo\""),
        key("link", RATE, Described("the file's"), "Rate of the links.").with_example("\"400Gbps\""),
        key("link_latency", TIME, Described("the file's"), "Propagation delay of a link.")
            .with_example("\"500ns\""),
        key("switch_latency", TIME, Described("the file's"), "Latency of a switch, without queueing.")
            .with_example("\"500ns\""),
        key(
            "tier",
            KeyType::Tables("[[topology.tier]]"),
            Described("the file's"),
            "`[[topology.tier]]`: the differences of each tier, from the ToRs up.",
        ),
    ],
};

pub(super) const TIER: Section = Section {
    name: "tier",
    table: "[[topology.tier]]",
    kind: None,
    meaning: "A tier of a fat tree, as its differences from the other keys.",
    keys: &[
        key("link", RATE, Described("that of the fabric"), "Rate of the links below this tier.")
            .with_example("\"400Gbps\""),
        key(
            "link_latency",
            TIME,
            Described("that of the fabric"),
            "Propagation delay of a link below this tier.",
        )
        .with_example("\"500ns\""),
        key(
            "switch_latency",
            TIME,
            Described("that of the fabric"),
            "Latency of a switch of this tier, without queueing.",
        )
        .with_example("\"500ns\""),
        key(
            "radix_down",
            COUNT,
            Described("by the keys of the fabric"),
            "Number of downward ports of a switch.",
        )
        .with_example("8"),
        key(
            "radix_up",
            KeyType::Whole(Ends::from(0)),
            Described("by the keys of the fabric"),
            "Number of upward ports of a switch.",
        )
        .with_example("8"),
        key("bundle", COUNT, Value("1"), "Number of parallel links to the same switch."),
    ],
};

pub(super) const SINGLE_SWITCH: Section = Section {
    name: "single-switch",
    table: "[topology]",
    kind: Some("single-switch"),
    meaning: "All hosts on one switch.",
    keys: &[
        kind("single-switch", "The kind of the fabric."),
        key("hosts", HOSTS, Required, "Number of hosts of the fabric.").with_example("128"),
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
        kind("dumbbell", "The kind of the fabric."),
        key("hosts", KeyType::Even(2), Required, "Number of hosts of the fabric.").with_example("128"),
        LINK,
        key("trunk", RATE, Described("`link`"), "Rate of the cable between the switches.")
            .with_example("\"400Gbps\""),
        LINK_LATENCY,
        key(
            "trunk_latency",
            TIME,
            Described("`link_latency`"),
            "Propagation delay of the cable between the switches.",
        )
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
        kind("cross-dc", "The kind of the fabric."),
        key("dcs", HOSTS, Value("2"), "Number of data centres."),
        key("tors", COUNT, Required, "Number of ToRs of a data centre.").with_example("4"),
        key("leaves", COUNT, Required, "Number of leaves of a data centre.").with_example("4"),
        key("hosts_per_tor", COUNT, Required, "Number of hosts below a ToR.").with_example("8"),
        LINK,
        LINK_LATENCY,
        key(
            "esw_link",
            RATE,
            Described("all that the hosts of a data centre can send, over its leaves"),
            "Rate of a leaf's link to the external switch.",
        )
        .with_example("\"400Gbps\""),
        key("esw_link_latency", TIME, Described("`link_latency`"), "Propagation delay of that link.")
            .with_example("\"5us\""),
        key(
            "wan_link",
            RATE,
            Described("all that the hosts of a data centre can send"),
            "Rate of a link between data centres.",
        )
        .with_example("\"1600Gbps\""),
        key("wan_latency", TIME, Required, "Propagation delay of that link: 5 us per kilometre of fibre.")
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
        kind("graph", "The kind of the fabric."),
        key("file", FILE, Required, "The file.").with_example("\"topology.txt\""),
        SWITCH_LATENCY,
    ],
};
