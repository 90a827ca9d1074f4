//! Round trips of every key outside schemes.

use super::{all, broken, resolve};
use anabranch_engine::{Curve, Observer, Recorder};
use anabranch_fabric::Topology;
use anabranch_lab::scenario::{Key, KeyDefault, Registry, Section, sections};
use std::collections::BTreeSet;

const SCHEMES: &str = "schemes = [\"reps\"]\nseeds = [1]\n";
const FABRIC: &str = "[topology]\nkind = \"fat-tree\"\nhosts = 128\nlink = \"400Gbps\"\n";
const SERVERS: &str =
    "[topology]\nkind = \"rails\"\nservers = 16\nnics = 8\nlink = \"400Gbps\"\nnvlink = \"900Gbps\"\n";
const CROSS_DC: &str = "[topology]\nkind = \"cross-dc\"\ntors = 4\nleaves = 4\nhosts_per_tor = 8\nlink = \"400Gbps\"\nwan_latency = \"5us\"\n";
const TRAFFIC: &str = "[workload]\nkind = \"permutation\"\nbytes = \"8KB\"\n";
const POISSON: &str =
    "[workload]\nkind = \"poisson\"\nsizes = \"websearch\"\nload = 0.2\nduration = \"1us\"\n";
const INLINE_FABRIC: &str = "{ kind = \"fat-tree\", hosts = 128, link = \"400Gbps\" }";
const INLINE_TRAFFIC: &str = "{ kind = \"permutation\", bytes = \"8KB\" }";

const TOPO: &str = "Nodes 8\nTiers 2\nPodsize 8\nTier 0\nDownlink_speed_Gbps 400\nRadix_Down 4\nRadix_Up 4\n\
    Downlink_Latency_ns 1000\nSwitch_Latency_ns 0\nTier 1\nDownlink_speed_Gbps 400\nRadix_Down 2\n\
    Downlink_Latency_ns 1000\nSwitch_Latency_ns 0\n";
/// A graph whose error rates become faults in the resolved form.
const GRAPH: &str = "4 2 3\n2 3\n0 2 100Gbps 1000ns 0.01\n1 3 100Gbps 1000ns 0\n2 3 100Gbps 1000ns 0.5\n";
/// The name of a `.topo` file with slower links. The resolved form has the file's contents.
const SLOW: &str = "\"slow.topo\"";
/// A server as an NCCL file. The resolved form has the file's contents.
const NCCL: &str = "<system><cpu><pci><gpu dev=\"0\" sm=\"90\"><nvlink count=\"18\" tclass=\"0x068000\"/></gpu></pci>\
    <pci><nic><net dev=\"0\" speed=\"100000\"/></nic></pci></cpu></system>";
const HOSTS: &str = "3\n1\n0\n2\n";
const CHAKRA: &str = "chakra of 1 ranks\nrank 0\n";

/// A scenario for keys of a section: the text above the section's table, and further keys of that table.
struct Base {
    above: String,
    /// Further keys of the table with their values, which replace the examples of required keys.
    with: Vec<(&'static str, &'static str)>,
    /// The text of every file that the scenario reads, except for the file [`SLOW`]. If it is empty, there are no other
    /// files.
    file: &'static str,
}

fn base(section: &Section) -> Option<Base> {
    let on = |above: &str| Base { above: format!("{SCHEMES}{above}"), with: Vec::new(), file: "" };
    Some(match (section.name, section.table) {
        ("scenario", "") => Base {
            above: String::new(),
            with: vec![("schemes", "[\"reps\"]"), ("topology", INLINE_FABRIC), ("workload", INLINE_TRAFFIC)],
            ..on("")
        },
        ("topo-file", _) => Base { file: TOPO, with: vec![("kind", "\"fat-tree\"")], ..on(TRAFFIC) },
        ("graph", _) => Base { file: GRAPH, ..on(TRAFFIC) },
        ("tier", _) => on(&format!("{TRAFFIC}{FABRIC}")),
        ("fat-tree" | "leaf-spine" | "single-switch" | "dumbbell" | "cross-dc", _) => on(TRAFFIC),
        ("rails" | "multi-plane" | "hpn" | "dcn-plus", _) => {
            Base { with: vec![("link", "\"400Gbps\"")], file: NCCL, ..on(TRAFFIC) }
        }
        ("dragonfly" | "torus" | "full-mesh", _) => on(TRAFFIC),
        ("cm" | "ns3-flows", _) => Base { file: "of a flow or two\n", ..on(FABRIC) },
        ("trace", _) => Base { file: HOSTS, ..on(FABRIC) },
        ("jobs", _) => {
            let job = ("job", "[{ format = \"goal\", file = \"two.goal\" }]");
            Base { file: HOSTS, with: vec![job], ..on(FABRIC) }
        }
        ("job", _) => Base { file: HOSTS, ..on(&format!("{FABRIC}[workload]\nkind = \"jobs\"\n")) },
        ("server", _) => {
            let job = "[workload]\nkind = \"trace\"\nformat = \"simai\"\nfile = \"job.txt\"\n";
            Base { file: HOSTS, ..on(&format!("{SERVERS}{job}")) }
        }
        ("nccl-tests", _) => Base { with: vec![("max_bytes", "\"4MiB\"")], ..on(FABRIC) },
        ("algorithm", _) => {
            let job = "[workload]\nkind = \"trace\"\nformat = \"simai\"\nfile = \"job.txt\"\n";
            Base { file: HOSTS, ..on(&format!("{FABRIC}{job}")) }
        }
        ("incasts", _) => on(&format!("{FABRIC}{POISSON}")),
        ("pipeline", _) => on(&format!("{CROSS_DC}{POISSON}")),
        ("message", _) => on(&format!("{FABRIC}[workload]\nkind = \"messages\"\n")),
        ("poisson", _) => Base { file: "0 0\n1000 1\n", ..on(FABRIC) },
        ("messages", _) => {
            Base { with: vec![("message", "[{ from = 2, to = 1, bytes = \"8KB\" }]")], ..on(FABRIC) }
        }
        ("measure", _) => Base { with: vec![("links", "\"tor:0/up\"")], ..on(&format!("{FABRIC}{TRAFFIC}")) },
        ("find", _) => {
            let smallest = ("smallest", "[\"16KB\", \"1MB\"]");
            Base { with: vec![smallest], ..on(&format!("{FABRIC}{TRAFFIC}")) }
        }
        ("class", _) => Base {
            with: vec![("scheme", "\"rocev2\""), ("workload", INLINE_TRAFFIC)],
            ..on(&format!("{FABRIC}{TRAFFIC}"))
        },
        ("limits", _) | (_, "[[fault]]") => on(&format!("{FABRIC}{TRAFFIC}")),
        (_, "[workload]") => on(FABRIC),
        _ => return None,
    })
}

type Beside = &'static [(&'static str, &'static str)];

/// A case of a key in its section's base: the values of the key, and the changes of the base that the key needs.
#[derive(Default)]
struct Case {
    /// Values in addition to the example. The example or one of these values differs from the default.
    others: &'static [&'static str],
    /// Keys that must be present with these values, which replace the values of the base.
    with: Beside,
    /// Keys that may not be present together with the key.
    without: &'static [&'static str],
    /// The text above the table, in place of the text of the base.
    above: Option<&'static str>,
    /// The text of every file except [`SLOW`], in place of the text of the base. If it is empty, the text of the base
    /// is used.
    file: &'static str,
}

fn others(others: &'static [&'static str]) -> Case {
    Case { others, ..Case::default() }
}

fn beside(others: &'static [&'static str], with: Beside) -> Case {
    Case { others, with, ..Case::default() }
}

fn case(section: &str, key: &str) -> Option<Case> {
    let of = [
        of_scenario,
        of_cluster,
        of_topology,
        of_workload,
        of_collective,
        of_server,
        of_job,
        of_fault,
        of_rest,
        of_any,
    ];
    of.into_iter().find_map(|of| of(section, key))
}

fn of_scenario(section: &str, key: &str) -> Option<Case> {
    let ("scenario", key) = (section, key) else { return None };
    Some(others(match key {
        "title" => &["\"Another\""],
        "schemes" => &["[\"dcp\"]"],
        "seeds" => &["[7]"],
        "setup" => &["\"reps-paper\"", "{ base = \"common\", fabric = { queue = \"2MB\" } }"],
        "topology" => &["{ kind = \"single-switch\", hosts = 128, link = \"100Gbps\" }"],
        "workload" => &["{ kind = \"incast\", bytes = \"8KB\" }"],
        "scheme" => &["[{ name = \"mine\", base = \"reps\", set = { \"lb.buffer\" = 16 } }]"],
        "class" => &[
            "[{ name = \"main\", weight = 3 }, { name = \"storage\", scheme = \"rocev2\", workload = { kind = \"incast\", bytes = \"8KB\" } }]",
        ],
        "fault" => &["[{ kind = \"link-down\", links = \"tor:0/up:0\" }]"],
        "measure" => &["[{ series = \"queue-depth\", links = \"tor:0/up\" }]"],
        "observer" => &["[{ kind = \"nothing\" }]"],
        "set" => &["{ \"reps.lb.buffer\" = 16, \"*.fabric.queue\" = \"2MB\" }"],
        "sweep" => &[
            "{ \"workload.bytes\" = [\"8KB\", \"16KB\"], \"reps.lb.buffer\" = [4, 16] }",
            "{ zip = [{ \"topology.hosts\" = [64, 128], \"workload.bytes\" = [\"8KB\", \"16KB\"] }] }",
        ],
        "limits" => &["{ stall = \"1ms\" }"],
        "find" => &[
            "{ parameter = \"workload.bytes\", smallest = [\"16KB\", \"1MB\"], where = \"drops(scheme) == 0\" }",
        ],
        "point" => return Some(Case { with: SWEPT, ..others(POINTS) }),
        _ => return None,
    }))
}

const POINTS: &[&str] = &[
    "[{ sweep = { \"workload.bytes\" = \"8KB\" } }, { sweep = { \"workload.bytes\" = \"16KB\" }, \
    workload = { kind = \"permutation\", bytes = \"16KB\" }, fault = [{ kind = \"link-down\", links = \"tor:0/up:0\" }] }]",
];
const SWEPT: Beside = &[("sweep", "{ \"workload.bytes\" = [\"8KB\", \"16KB\"] }")];

/// Pods of 2 segments with 2 servers each, whose spines have uplinks.
const PODS: Beside = &[("segment", "2"), ("pod", "2"), ("core_oversubscription", "1")];
const PODS_WITH_LINKS: Beside = &[("segment", "2"), ("pod", "2")];

/// Traffic for rails that are not connected to each other.
const WITHIN_A_RAIL: &str =
    "[workload]\nkind = \"messages\"\n[[workload.message]]\nfrom = 0\nto = 8\nbytes = \"8KB\"\n";

fn of_cluster(section: &str, key: &str) -> Option<Case> {
    if !matches!(section, "rails" | "multi-plane" | "hpn" | "dcn-plus" | "dragonfly" | "torus" | "full-mesh")
    {
        return None;
    }
    Some(others(match (section, key) {
        (_, "pod") => return Some(beside(&["4"], PODS)),
        (_, "core_oversubscription") => return Some(Case { with: PODS_WITH_LINKS, ..others(&["1"]) }),
        (_, "core_uplinks") => return Some(Case { with: PODS_WITH_LINKS, ..others(&["2"]) }),
        (_, "cores") => return Some(beside(&["8"], PODS)),
        (_, "core_link") => return Some(beside(&["\"200Gbps\""], PODS)),
        (_, "servers") => &["32"],
        (_, "server") => return Some(beside(&["\"other.xml\""], &[("ports", "2")])),
        (_, "gpu_nics") => &["[0, 1, 2, 3, 4, 5, 6, 6]"],
        (_, "nvlink") => &["\"900Gbps\""],
        (_, "nvlink_latency") => return Some(beside(&["\"1us\""], &[("nvlink", "\"900Gbps\"")])),
        (_, "nics" | "gpus" | "nvlink_domain") => &["4"],
        (_, "ports") => &["3"],
        (_, "segment") => &["2"],
        (_, "tiers") => return Some(Case { above: Some(WITHIN_A_RAIL), ..others(&["1"]) }),
        (_, "spine_group") => return Some(Case { above: Some(WITHIN_A_RAIL), ..others(&["\"rail\""]) }),
        (_, "oversubscription") => &["4"],
        (_, "uplinks" | "spines") => &["8"],
        (_, "radix") => &["512"],
        ("torus", "dims") => &["[2, 8]"],
        ("full-mesh", "tors") => &["4"],
        ("full-mesh", "hosts_per_tor") => &["2"],
        ("dragonfly", "hosts_per_router" | "routers" | "global_links") => &["1"],
        ("dragonfly", "router_groups") => &["3"],
        (_, "link" | "uplink" | "global_link" | "host_link") => &["\"200Gbps\""],
        (_, "link_latency" | "switch_latency" | "global_link_latency" | "host_link_latency") => &["\"3us\""],
        _ => return None,
    }))
}

fn of_topology(section: &str, key: &str) -> Option<Case> {
    Some(others(match (section, key) {
        ("dumbbell" | "single-switch" | "fat-tree" | "leaf-spine", "hosts") => &["16"],
        ("fat-tree", "tiers") => &["3"],
        ("fat-tree" | "leaf-spine", "oversubscription") => &["4", "\"2:1\""],
        ("fat-tree" | "leaf-spine", "hosts_per_tor" | "pod_hosts") => &["16"],
        ("fat-tree" | "leaf-spine" | "topo-file", "tier") => &["[{ link = \"100Gbps\" }]"],
        ("topo-file", "file") => &[SLOW],
        ("tier", "radix_down" | "radix_up") => &["4"],
        ("tier", "bundle") => &["2"],
        ("cross-dc", "dcs") => &["3"],
        ("cross-dc", "tors" | "leaves" | "hosts_per_tor") => &["2"],
        (_, "link" | "esw_link" | "trunk" | "wan_link") => &["\"100Gbps\""],
        (_, "link_latency" | "esw_link_latency" | "trunk_latency" | "switch_latency" | "wan_latency") => {
            &["\"3us\""]
        }
        _ => return None,
    }))
}

fn of_workload(section: &str, key: &str) -> Option<Case> {
    let across = |values| Case { above: Some(CROSS_DC), ..others(values) };
    Some(match (section, key) {
        ("poisson", "inter") => across(&["0.5", "\"uniform\""]),
        ("poisson", "pipeline") => {
            across(&["{ bytes = \"8KB\", load = 0.1 }", "{ bytes = \"8KB\", load = 0.1, persistent = true }"])
        }
        _ => others(match (section, key) {
            ("permutation" | "poisson", "hosts") => &["16"],
            ("permutation", "cross_tor") => &["true"],
            ("tornado", "senders") => &["8"],
            ("incast" | "incasts", "degree") => &["4"],
            ("incast", "target") => &["3"],
            ("poisson", "sizes") => &["\"sizes.cdf\""],
            ("poisson" | "incasts" | "pipeline", "load") => &["0.1"],
            ("poisson", "incast") => &["{ degree = 2, bytes = \"8KB\", load = 0.1 }"],
            ("pipeline", "persistent") => &["false"],
            ("messages", "message") => &["[{ from = 0, to = 1, bytes = \"8KB\" }]"],
            ("message", "from") => &["2"],
            ("message", "to") => &["3"],
            ("message" | "job", "start") => &["\"3us\""],
            ("cm", "start_unit") => &["\"1us\""],
            ("ns3-flows", "origin") => &["\"0s\""],
            ("ns3-flows", "format") => &["\"conweave\"", "\"ns3-rdma\""],
            _ => return None,
        }),
    })
}

fn of_collective(section: &str, key: &str) -> Option<Case> {
    if section == "nccl-tests" {
        return of_nccl_tests(key);
    }
    let ("collective", key) = (section, key) else { return None };
    Some(match key {
        "algorithm" => others(&["\"allgather-ring\"", "\"alltoall\""]),
        "ranks" => others(&["16"]),
        "jobs" => beside(&["2"], &[("ranks", "16")]),
        "groups" => others(&["[[0, 8], [1, 9]]"]),
        "chunk" => others(&["\"64KB\""]),
        "connections" => beside(&["4"], &[("algorithm", "\"alltoall\"")]),
        "depth" => others(&["4"]),
        "clock" => beside(&["\"delivered\""], &[("depth", "2")]),
        "jitter" => beside(&["\"10us\""], &[("algorithm", "\"alltoall\"")]),
        "server" => others(&["{ ranks = 4, link = \"3600Gbps\", link_latency = \"1us\" }"]),
        _ => return None,
    })
}

fn of_nccl_tests(key: &str) -> Option<Case> {
    Some(match key {
        "operation" => others(&["\"alltoall\"", "\"sendrecv\""]),
        "algorithm" => others(&["\"allreduce-halving-doubling\""]),
        "min_bytes" => others(&["\"2MiB\""]),
        "max_bytes" => others(&["\"8MiB\""]),
        "factor" => others(&["3"]),
        "step_bytes" => others(&["\"1MiB\""]),
        "ranks" => others(&["8"]),
        "chunk" => others(&["\"64KB\""]),
        "server" => others(&["{ ranks = 4, link = \"3600Gbps\", link_latency = \"1us\", channels = 4 }"]),
        _ => return None,
    })
}

fn of_server(section: &str, key: &str) -> Option<Case> {
    let ("server", key) = (section, key) else { return None };
    Some(match key {
        "ranks" => beside(&["4"], &[("link", "\"900Gbps\""), ("link_latency", "\"1us\"")]),
        "pxn" => others(&["false"]),
        "channels" => others(&["2"]),
        "nvls" => others(&["true"]),
        _ => return None,
    })
}

const WITH_SYSTEM: Beside = &[("format", "\"chakra\""), ("system", "\"system.json\"")];
const SIMAI: Beside = &[("format", "\"simai\"")];

fn of_job(section: &str, key: &str) -> Option<Case> {
    let of_chakra = |values| Case { file: CHAKRA, ..beside(values, &[("format", "\"chakra\"")]) };
    Some(match (section, key) {
        ("jobs", "job") => others(&[
            "[{ format = \"goal\", file = \"one.goal\" }, { format = \"goal\", file = \"two.goal\", rank_hosts = [3, 1] }]",
        ]),
        ("server", "ranks") => others(&["4"]),
        ("algorithm", "algorithm") => others(&["\"alltoall\"", "\"allreduce-halving-doubling\""]),
        ("algorithm", "min_bytes") => others(&["\"1MB\""]),
        ("trace" | "job", key) => match key {
            "format" => others(&["\"simai\""]),
            "rank_hosts" => others(&["[3, 1]", "\"hosts.txt\""]),
            "ends" => others(&["\"acknowledged\""]),
            "bytes" => beside(&["\"4MB\""], &[("format", "\"msccl\"")]),
            "chunk" => beside(&["\"64KB\""], SIMAI),
            "without_pipeline" => beside(&["false"], SIMAI),
            "layers" => beside(&["[1, 2]"], SIMAI),
            "ranks" => beside(&["8"], SIMAI),
            "rank_order" => beside(&["\"tp-dp-pp\""], SIMAI),
            "algorithm" => beside(&["[{ algorithm = \"allreduce-ring\", min_bytes = \"1MB\" }]"], SIMAI),
            "comm_groups" => of_chakra(&["\"other.json\""]),
            "system" => of_chakra(&["\"other.json\""]),
            "dims" => Case { with: WITH_SYSTEM, ..of_chakra(&["[4, 2]"]) },
            "replicate" => of_chakra(&["4"]),
            "streams" => of_chakra(&["\"one\""]),
            "without_missing" | "without_control" => of_chakra(&["false"]),
            "server" => others(&["{ ranks = 4, link = \"3600Gbps\", link_latency = \"1us\" }"]),
            _ => return None,
        },
        _ => return None,
    })
}

fn of_fault(section: &str, key: &str) -> Option<Case> {
    if ![
        "link-down",
        "link-flap",
        "switch-down",
        "rate",
        "packet-loss",
        "switch-loss",
        "bit-errors",
        "slow-receiver",
        "pause-storm",
    ]
    .contains(&section)
    {
        return None;
    }
    Some(match (section, key) {
        (_, "at") => beside(&["[\"1us\", \"50us\"]"], &[("duration", "\"7us\"")]),
        (_, "until") => others(&["\"2ms\""]),
        (_, "links") => others(&["[\"tor:0/up:0\", \"cable:tor:1/up\"]"]),
        (_, "both_directions") => beside(&["false"], &[("links", "\"tor:0/up:0\"")]),
        (_, "per_hour") => beside(&["36000.0"], &[("duration", "\"50us\"")]),
        ("link-flap", "period") => others(&["\"100us\""]),
        ("link-flap", "down_for") => others(&["\"10us\""]),
        ("switch-down", "switches") => others(&["[\"spine:0\", \"tor:25%\"]"]),
        ("rate", "rate") => others(&["\"100Gbps\""]),
        ("slow-receiver", "rate") => others(&["\"1Gbps\""]),
        (_, "hosts") => others(&["[\"host:1\", \"host-links:2\"]"]),
        (_, "buffer") => others(&["\"64KB\""]),
        (_, "probability") => others(&["0.5"]),
        _ => return None,
    })
}

fn of_rest(section: &str, key: &str) -> Option<Case> {
    let measured = |values, with| Case { without: &["links"], ..beside(values, with) };
    Some(match (section, key) {
        ("measure", "series") => others(&["\"queue-depth\"", "\"drops\"", "\"pause-victims\""]),
        ("measure", "every") => others(&["\"7us\""]),
        ("measure", "links") => others(&["\"tor-uplinks\""]),
        ("measure", "by") => beside(&["\"plane\""], &[("links", "\"nic-links\"")]),
        ("measure", "switches") => measured(&["\"tor:1\""], &[("series", "\"program-buffer\"")]),
        ("measure", "qps") => measured(&["\"all\""], &[("series", "\"sender-rtt\"")]),
        ("measure", "above") => beside(&["\"3us\""], &[("series", "\"queue-delay\"")]),
        ("class", "name") => others(&["\"probes\""]),
        ("class", "scheme") => others(&["\"strack\""]),
        ("class", "workload") => others(&[INLINE_TRAFFIC, "{ kind = \"incast\", bytes = \"8KB\" }"]),
        ("class", "priority") => others(&["7"]),
        ("class", "weight") => others(&["15"]),
        ("limits", "max_time") => others(&["\"2s\""]),
        ("limits", "stall") => others(&["\"1ms\""]),
        ("limits", "max_events" | "max_packets") => others(&["1000"]),
        ("find", "parameter") => others(&["\"workload.bytes\""]),
        ("find", "smallest") => others(&["[\"32KB\", \"64KB\", \"1MB\"]"]),
        ("find", "largest") => Case { without: &["smallest"], ..others(&["[\"32KB\", \"2MB\"]"]) },
        ("find", "where") => others(&["\"fct_max_us(scheme) < 100\""]),
        ("find", "resolution") => others(&["0.1"]),
        _ => return None,
    })
}

/// Keys for which the same values are valid in every table.
fn of_any(_: &str, key: &str) -> Option<Case> {
    Some(others(match key {
        "file" => &["\"other.txt\""],
        "bytes" => &["\"64KB\""],
        "duration" => &["\"7us\""],
        "placement" => &["\"blocks\""],
        _ => return None,
    }))
}

/// Whether the resolved form lacks this key. Such keys of `[find]` do not change the runs.
fn is_of_question_alone(section: &str, key: &str) -> bool {
    section == "find" && matches!(key, "where" | "resolution")
}

/// The text of a scenario in which the key has this value. Without a value, the scenario has the key only if the key is
/// required.
fn text(section: &Section, base: &Base, case: &Case, key: &Key, value: Option<&str>) -> String {
    let mut table: Vec<(&str, String)> = Vec::new();
    let mut set = |name: &'static str, value: &str| match table.iter_mut().find(|(known, _)| *known == name) {
        Some((_, known)) => *known = value.to_owned(),
        None => table.push((name, value.to_owned())),
    };
    for needed in section.keys.iter().filter(|key| key.default == KeyDefault::Required) {
        // A measure has exactly one of `links`, `switches` and `qps`. The base sets `links`.
        let is_of_another = section.name == "measure" && ["switches", "qps"].contains(&needed.name);
        if !needed.is_table() && !is_of_another {
            set(needed.name, usual(section.name, needed));
        }
    }
    if let Some(kind) = section.kind {
        set("kind", &format!("{kind:?}"));
    }
    base.with.iter().chain(case.with).for_each(|(name, value)| set(name, value));
    table.retain(|(name, _)| !case.without.contains(name));
    table.retain(|(name, _)| *name != key.name || (value.is_none() && key.default == KeyDefault::Required));
    table.extend(value.map(|value| (key.name, value.to_owned())));
    let lines: String = table.iter().map(|(name, value)| format!("{name} = {value}\n")).collect();
    let above = case.above.map_or_else(|| base.above.clone(), |above| format!("{SCHEMES}{above}"));
    format!("{above}{}\n{lines}", section.table)
}

/// The value of a required key, unless the base or the case sets another.
fn usual(section: &str, key: &Key) -> &'static str {
    match (section, key.name) {
        ("link-flap", "period") => "\"200us\"",
        ("collective", "bytes") => "\"1MB\"",
        ("incasts" | "pipeline", "load") => "0.3",
        _ => key.example(),
    }
}

fn registry() -> Registry {
    Registry::new().observer("nothing", [], |_, _, _| Ok(Nothing))
}

struct Nothing;

impl Observer for Nothing {
    fn fork(&self) -> Self {
        Nothing
    }
    fn join(&mut self, _: Self) {}
}

impl Recorder for Nothing {
    fn curves(self, _: &Topology, _: anabranch_base::Time) -> Vec<Curve> {
        Vec::new()
    }
}

/// The path of a table in `[sweep]`. None if the keys of the table cannot be swept.
fn path(section: &Section) -> Option<String> {
    let path = section.table.trim_matches(['[', ']']);
    let of_list = section.table.starts_with("[[");
    let can_be = ["topology", "workload", "class", "fault"].iter().any(|part| path.starts_with(part));
    can_be.then(|| if of_list { format!("{path}.0") } else { path.to_owned() })
}

/// Adds a sweep over a key of the last table of `text`. The swept values replace the key's value in that table.
fn swept(text: &str, path: &str, key: &str, values: &[&str]) -> String {
    format!("sweep = {{ \"{path}.{key}\" = [{}] }}\n{text}", values.join(", "))
}

/// Keys whose values in this test cannot be swept.
const NOT_SWEPT: [&str; 0] = [];

#[test]
fn every_key_survives_a_round_trip() {
    let registry = registry();
    let (mut wrong, mut bases) = (Vec::new(), BTreeSet::new());
    let (mut keys, mut scenarios, mut sweeps) = (0, 0, 0);
    let mut not_swept = Vec::new();
    for section in sections() {
        let Some(base) = base(section) else {
            wrong.push(format!("{}: no scenario here has this table", section.name));
            continue;
        };
        bases.insert(section.name);
        for key in section.keys {
            // The base of a section already has the section's `kind`, so this key needs no case.
            let of_kind = key.name == "kind";
            let Some(case) = case(section.name, key.name).or_else(|| of_kind.then(Case::default)) else {
                wrong.push(format!("{}.{}: no scenario here has this key", section.name, key.name));
                continue;
            };
            let mut file = all(if case.file.is_empty() { base.file } else { case.file });
            file.files.insert(SLOW.trim_matches('"').to_owned(), TOPO.replace("400", "200"));
            let kind = section.kind.map_or_else(|| "\"fat-tree\"".to_owned(), |kind| format!("{kind:?}"));
            let example = match (of_kind, key.is_table()) {
                (true, _) => Some(kind.as_str()),
                (_, true) => None,
                _ => Some(key.example()),
            };
            let mut resolved = BTreeSet::new();
            let without = text(section, &base, &case, key, None);
            resolved.extend(resolve(&without, &file, &registry).ok().map(|scenario| scenario.to_toml()));
            for value in example.into_iter().chain(case.others.iter().copied()) {
                let text = text(section, &base, &case, key, Some(value));
                match resolve(&text, &file, &registry) {
                    Err(error) => {
                        wrong.push(format!("{}.{} = {value}: {error}\n{text}", section.name, key.name));
                    }
                    Ok(scenario) => {
                        let fault = broken(&scenario, &registry);
                        wrong.extend(
                            fault.map(|fault| format!("{}.{} = {value} {fault}", section.name, key.name)),
                        );
                        resolved.insert(scenario.to_toml());
                        scenarios += 1;
                    }
                }
            }
            let values: Vec<&str> = example.into_iter().chain(case.others.iter().copied()).collect();
            if let Some(path) = path(section).filter(|_| !of_kind && values.len() > 1) {
                let text =
                    swept(&text(section, &base, &case, key, Some(values[0])), &path, key.name, &values);
                match resolve(&text, &file, &registry) {
                    Ok(scenario) => {
                        let fault = broken(&scenario, &registry);
                        wrong.extend(
                            fault.map(|fault| format!("{}.{} swept {fault}", section.name, key.name)),
                        );
                        sweeps += 1;
                    }
                    Err(_) => not_swept.push(format!("{}.{}", section.name, key.name)),
                }
            }
            if resolved.len() < 2 && !of_kind && !is_of_question_alone(section.name, key.name) {
                wrong.push(format!("{}.{}: all values here resolve to one scenario", section.name, key.name));
            }
            keys += 1;
        }
    }
    assert!(wrong.is_empty(), "{} of {keys} keys:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(keys, sections().iter().map(|section| section.keys.len()).sum::<usize>());
    assert_eq!(not_swept, NOT_SWEPT);
    assert!(sweeps > 100, "{sweeps} sweeps");
    println!("{keys} keys of {} tables, {scenarios} scenarios, {sweeps} sweeps", bases.len());
}
