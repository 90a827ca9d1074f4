//! The keys of `[topology]` for clusters of servers, and for directly connected switches.

use crate::scenario::keys::key_type::{Ends, High, KeyType};
use crate::scenario::keys::section::KeyDefault::{self, Described, Required, Value};
use crate::scenario::keys::section::{COUNT, FILE, Key, RATE, Section, TIME, key, kind};
use crate::scenario::keys::topology::{LINK, LINK_LATENCY, OVERSUBSCRIPTION, SWITCH_LATENCY};

const LINKS_UP: KeyType = KeyType::Whole(Ends::from(0));
const PORTS: KeyType = KeyType::Whole(Ends::from(1).with_high(High::To(16)));
const RING: KeyType = KeyType::Whole(Ends::from(2));
const RADIX: Key = key(
    "radix",
    COUNT,
    Described("any number of ports"),
    "Number of ports of the available switches. A fabric that needs more is an error. Of the numbers that are not given, segments are as few as fit the leaves, and equal if they can be; spines and cores are as few as their ports permit.",
)
.with_example("64");

const SERVERS: Key = key("servers", COUNT, Required, "Number of servers of the cluster.").with_example("16");
const NICS: Key =
    key("nics", COUNT, Value("8"), "Number of NICs of a server. Each NIC belongs to a separate rail.");
const GPUS: Key = key("gpus", COUNT, Described("`nics`"), "Number of GPUs of a server.").with_example("8");
const NVLINK_DOMAIN: Key = key(
    "nvlink_domain",
    COUNT,
    Value("1"),
    "Number of neighbouring servers whose GPUs are connected by NVLink.",
);
const SERVER: Key = key(
    "server",
    FILE,
    Described("the keys beside it"),
    "A server's topology from NCCL (`NCCL_TOPO_DUMP_FILE`): its GPUs, NICs, ports, rates and NVLink. The keys of this table replace its values.",
)
.with_example("\"h100.xml\"");
const GPU_NICS: Key = key(
    "gpu_nics",
    KeyType::List { name: "a list of numbers", of: Some(&LINKS_UP), least: 1, most: None },
    Described("GPU g of a server has NIC g x `nics` / `gpus`"),
    "The NIC of each GPU of a server.",
)
.with_example("[7, 6, 5, 4, 3, 2, 1, 0]");
const NVLINK: Key =
    key("nvlink", RATE, Described("none"), "Total rate of the NVLinks of a GPU, per direction.")
        .with_example("\"3600Gbps\"");
const NVLINK_LATENCY: Key = key(
    "nvlink_latency",
    TIME,
    Described("50ns"),
    "Latency of NVLink between two GPUs. It applies if `nvlink` gives the rate.",
)
.with_example("\"50ns\"");
const PORT_LINK: Key = key("link", RATE, Described("required without `server`"), "Rate of a NIC's port.")
    .with_example("\"400Gbps\"");
const TIERS: Key = key(
    "tiers",
    KeyType::Whole(Ends::from(1).with_high(High::To(3))),
    Described("2, or 3 with several pods"),
    "Number of tiers of switches: leaves, spines and cores.",
)
.with_example("2");
const SPINE_GROUP: Key = key(
    "spine_group",
    KeyType::Choice(&["pod", "rail"]),
    Described("`\"pod\"`; `\"rail\"` with kind = \"rails\" and three tiers"),
    "The leaves that share their spines: those of a pod, or those of one rail.",
)
.with_example("\"pod\"");
const CORE_LINK: Key =
    key("core_link", RATE, Described("`uplink`"), "Rate of the links between spines and cores.")
        .with_example("\"800Gbps\"");
const UPLINKS: Key = key(
    "uplinks",
    LINKS_UP,
    Described("by `oversubscription`"),
    "Number of uplinks of a leaf, instead of `oversubscription`.",
)
.with_example("4");
const SPINES: Key = key(
    "spines",
    LINKS_UP,
    Described("one for each uplink of a leaf; with `radix` as few as will do"),
    "Number of spines of a pod in each plane; of a rail of the pod with `spine_group = \"rail\"`.",
)
.with_example("4");
const CORE_UPLINKS: Key = key(
    "core_uplinks",
    LINKS_UP,
    Described("by `core_oversubscription`"),
    "Number of uplinks of a spine, instead of `core_oversubscription`.",
)
.with_example("4");
const CORES: Key = key(
    "cores",
    LINKS_UP,
    Described("one for each uplink of a group's spines; with `radix` as few as will do"),
    "Number of cores of each plane.",
)
.with_example("16");

/// The keys of a Clos network of servers. The kinds differ in the meaning of `ports` and in their defaults.
const fn clos(
    name: &'static str,
    ports: (&'static str, &'static str),
    segment: &'static str,
    pod: &'static str,
    oversubscriptions: [&'static str; 2],
    uplink: &'static str,
) -> [Key; 26] {
    [
        kind(name, "The kind of the fabric."),
        SERVERS,
        SERVER,
        NICS,
        GPUS,
        GPU_NICS,
        key("ports", PORTS, Value(ports.0), ports.1),
        NVLINK_DOMAIN,
        NVLINK,
        NVLINK_LATENCY,
        key(
            "segment",
            COUNT,
            Described(segment),
            "Number of servers of a segment, which share their leaves. The last segment may have fewer.",
        )
        .with_example("8"),
        key("pod", COUNT, Described(pod), "Number of segments of a pod, which share their spines.")
            .with_example("1"),
        TIERS,
        PORT_LINK,
        key("uplink", RATE, Described(uplink), "Rate of the links between leaves and spines.")
            .with_example("\"800Gbps\""),
        CORE_LINK,
        LINK_LATENCY,
        SWITCH_LATENCY,
        key(
            "oversubscription",
            OVERSUBSCRIPTION,
            Described(oversubscriptions[0]),
            "Total rate of the NICs of a leaf, divided by the total rate of its uplinks.",
        )
        .with_example("2"),
        UPLINKS,
        SPINES,
        key(
            "core_oversubscription",
            OVERSUBSCRIPTION,
            Described(oversubscriptions[1]),
            "Total rate of the links below a spine, divided by the total rate of its uplinks.",
        )
        .with_example("2"),
        CORE_UPLINKS,
        CORES,
        RADIX,
        SPINE_GROUP,
    ]
}

/// The keys without the last one, `spine_group`, which only rail networks have.
const fn without_rails(keys: &'static [Key]) -> &'static [Key] {
    match keys.split_last() {
        Some((_, others)) => others,
        None => keys,
    }
}

const BY_RADIX: &str = "so many that leaves have up to 32 NICs, or by `radix`";

pub(super) const RAILS: Section = Section {
    name: "rails",
    table: "[topology]",
    kind: Some("rails"),
    meaning: "A rail-optimised cluster: a leaf has the NICs of one rail of a segment.",
    keys: &clos(
        "rails",
        ("1", "Number of ports of a NIC. Each port is in a separate plane."),
        BY_RADIX,
        "all",
        ["1", "1"],
        "`link`",
    ),
};

pub(super) const MULTI_PLANE: Section = Section {
    name: "multi-plane",
    table: "[topology]",
    kind: Some("multi-plane"),
    meaning: "A Clos network in each plane: NICs of several ports, and leaves with all NICs of their servers.",
    keys: without_rails(&clos(
        "multi-plane",
        ("4", "Number of ports of a NIC. Each port is in a separate plane."),
        BY_RADIX,
        "all; with three tiers so many that a pod has as many leaves as a leaf has NICs",
        ["1", "1"],
        "`link`",
    )),
};

pub(super) const HPN: Section = Section {
    name: "hpn",
    table: "[topology]",
    kind: Some("hpn"),
    meaning: "Alibaba's HPN: rails in two planes, with two ToRs for each NIC.",
    keys: &clos(
        "hpn",
        ("2", "Number of ports of a NIC. Each port is in a separate plane."),
        "up to 128, or by `radix`",
        "up to 15",
        ["1; 60 uplinks with a segment of 128", "15"],
        "twice `link`",
    ),
};

pub(super) const DCN_PLUS: Section = Section {
    name: "dcn-plus",
    table: "[topology]",
    kind: Some("dcn-plus"),
    meaning: "Alibaba's DCN+: two ToRs for each NIC in one network, without rails and planes.",
    keys: without_rails(&clos(
        "dcn-plus",
        ("2", "Number of ports of a NIC. Each port leads to a different ToR."),
        "up to 16, or by `radix`",
        "up to 4",
        ["1", "1"],
        "`link`",
    )),
};

pub(super) const DRAGONFLY: Section = Section {
    name: "dragonfly",
    table: "[topology]",
    kind: Some("dragonfly"),
    meaning: "Groups of routers in a full mesh, each group joined to every other.",
    keys: &[
        kind("dragonfly", "The kind of the fabric."),
        key("hosts_per_router", COUNT, Required, "Number of hosts of a router (p).").with_example("2"),
        key("routers", COUNT, Required, "Number of routers of a group (a).").with_example("4"),
        key("global_links", COUNT, Required, "Number of links of a router to other groups (h).")
            .with_example("2"),
        key(
            "router_groups",
            RING,
            Described("`routers` x `global_links` + 1"),
            "Number of groups of routers (g).",
        )
        .with_example("5"),
        LINK,
        LINK_LATENCY,
        key("global_link", RATE, Described("`link`"), "Rate of the links between groups.")
            .with_example("\"400Gbps\""),
        key("global_link_latency", TIME, Described("`link_latency`"), "Propagation delay of such a link.")
            .with_example("\"2500ns\""),
        SWITCH_LATENCY,
        RADIX,
    ],
};

const fn host_link(default: KeyDefault) -> Key {
    key("host_link", RATE, default, "Rate of the link between a host and its switch.")
        .with_example("\"1600Gbps\"")
}

const fn host_link_latency(default: KeyDefault) -> Key {
    key("host_link_latency", TIME, default, "Propagation delay of that link.").with_example("\"0ns\"")
}

pub(super) const TORUS: Section = Section {
    name: "torus",
    table: "[topology]",
    kind: Some("torus"),
    meaning: "A grid of switches with one host each, closed to a ring in every dimension.",
    keys: &[
        kind("torus", "The kind of the fabric."),
        key(
            "dims",
            KeyType::List { name: "a list of numbers", of: Some(&RING), least: 1, most: Some(8) },
            Required,
            "Switches of each dimension; a dimension of 2 has one link.",
        )
        .with_example("[4, 4]"),
        LINK,
        LINK_LATENCY,
        host_link(Described("that of the links of its switch together")),
        host_link_latency(Value("\"0ns\"")),
        SWITCH_LATENCY,
        RADIX,
    ],
};

pub(super) const FULL_MESH: Section = Section {
    name: "full-mesh",
    table: "[topology]",
    kind: Some("full-mesh"),
    meaning: "Switches, each of which has a link to every other one.",
    keys: &[
        kind("full-mesh", "The kind of the fabric."),
        key("tors", RING, Required, "Number of switches.").with_example("8"),
        key("hosts_per_tor", COUNT, Value("1"), "Number of hosts of a switch."),
        LINK,
        LINK_LATENCY,
        host_link(Described("a host's share of the links of its switch together")),
        host_link_latency(Described("0; `link_latency` with several hosts on a switch")),
        SWITCH_LATENCY,
        RADIX,
    ],
};
