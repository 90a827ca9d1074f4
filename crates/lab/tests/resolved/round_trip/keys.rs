//! Every key outside schemes.

use super::{all, broken, resolve};
use anabranch_engine::{Curve, Observer, Recorder};
use anabranch_fabric::Topology;
use anabranch_lab::scenario::{Key, Registry, Section, Unless, sections};
use std::collections::BTreeSet;

const SCHEMES: &str = "schemes = [\"reps\"]\nseeds = [1]\n";
const FABRIC: &str = "[topology]\nkind = \"fat-tree\"\nhosts = 128\nlink = \"400Gbps\"\n";
const CROSS_DC: &str = "[topology]\nkind = \"cross-dc\"\ntors = 4\nleaves = 4\nhosts_per_tor = 8\nlink = \"400Gbps\"\nwan_latency = \"5us\"\n";
const TRAFFIC: &str = "[workload]\nkind = \"permutation\"\nbytes = \"8KB\"\n";
const POISSON: &str = "[workload]\nkind = \"poisson\"\nsizes = \"websearch\"\nload = 0.2\nduration = \"1us\"\n";
const INLINE_FABRIC: &str = "{ kind = \"fat-tree\", hosts = 128, link = \"400Gbps\" }";
const INLINE_TRAFFIC: &str = "{ kind = \"permutation\", bytes = \"8KB\" }";

const TOPO: &str = "Nodes 8\nTiers 2\nPodsize 8\nTier 0\nDownlink_speed_Gbps 400\nRadix_Down 4\nRadix_Up 4\n\
    Downlink_Latency_ns 1000\nSwitch_Latency_ns 0\nTier 1\nDownlink_speed_Gbps 400\nRadix_Down 2\n\
    Downlink_Latency_ns 1000\nSwitch_Latency_ns 0\n";
/// Its error rates are faults, which stand in the resolved form.
const GRAPH: &str = "4 2 3\n2 3\n0 2 100Gbps 1000ns 0.01\n1 3 100Gbps 1000ns 0\n2 3 100Gbps 1000ns 0.5\n";
const HOSTS: &str = "3\n1\n0\n2\n";
const CHAKRA: &str = "chakra of 1 ranks\nrank 0\n";

/// A scenario for keys of a section: what stands above its table, and which of its keys are there besides.
struct Base {
    above: String,
    /// Keys with their values; in place of the example, where the key is needed.
    with: Vec<(&'static str, &'static str)>,
    /// What stands behind the table.
    below: &'static str,
    /// What each file holds.
    file: &'static str,
}

/// The base of a section; none for one that is not known here.
fn base(section: &Section) -> Option<Base> {
    let on = |above: &str| Base { above: format!("{SCHEMES}{above}"), with: Vec::new(), below: "", file: "" };
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
        ("cm" | "ns3-flows", _) => Base { file: "of a flow or two\n", ..on(FABRIC) },
        ("trace" | "jobs", _) => Base { file: HOSTS, ..on(FABRIC) },
        ("job", _) => Base { file: HOSTS, ..on(&format!("{FABRIC}[workload]\nkind = \"jobs\"\n")) },
        ("server" | "algorithm", _) => {
            let job = "[workload]\nkind = \"trace\"\nformat = \"simai\"\nfile = \"job.txt\"\n";
            Base { file: HOSTS, ..on(&format!("{FABRIC}{job}")) }
        }
        ("incasts", _) => on(&format!("{FABRIC}{POISSON}")),
        ("pipeline", _) => on(&format!("{CROSS_DC}{POISSON}")),
        ("message", _) => on(&format!("{FABRIC}[workload]\nkind = \"messages\"\n")),
        ("poisson", _) => Base { file: "0 0\n1000 1\n", ..on(FABRIC) },
        ("permutation" | "tornado" | "incast" | "collective" | "messages", _) => on(FABRIC),
        ("measure", _) => Base { with: vec![("links", "\"tor:0/up\"")], ..on(&format!("{FABRIC}{TRAFFIC}")) },
        ("limits" | "find", _) | (_, "[[fault]]") => on(&format!("{FABRIC}{TRAFFIC}")),
        _ => return None,
    })
}

/// How a key comes to stand in its section's base.
#[derive(Default)]
struct Case {
    /// Values beside the example, one at least of which is not what the key is unless said.
    others: &'static [&'static str],
    /// What must stand beside it, in place of what the base has.
    with: &'static [(&'static str, &'static str)],
    /// What may not stand beside it.
    without: &'static [&'static str],
    /// What stands behind the table, in place of what the base has.
    below: &'static str,
    /// What stands above the table, in place of the base's.
    above: Option<&'static str>,
    /// What each file holds, in place of the base's.
    file: &'static str,
}

fn others(others: &'static [&'static str]) -> Case {
    Case { others, ..Case::default() }
}

/// Another fabric in whose two tiers links lead to 2 switches of 8 and 16 hosts.
const HALVED: Case = Case {
    others: &["8"],
    with: &[],
    without: &[],
    below: "[[topology.tier]]\nradix_down = 16\n",
    above: None,
    file: "",
};

/// How the key of a section is set; none for one that is not known here.
#[expect(clippy::too_many_lines, reason = "a line for each key")]
fn case(section: &str, key: &str) -> Option<Case> {
    let of_collective = |others, with| Case { others, with, ..Case::default() };
    let of_format = |others, with| Case { others, with, ..Case::default() };
    Some(match (section, key) {
        ("scenario", "title") => others(&["\"Another\""]),
        ("scenario", "schemes") => others(&["[\"dcp\"]"]),
        ("scenario", "seeds") => others(&["[7]"]),
        ("scenario", "setup") => others(&["\"reps-paper\"", "{ base = \"common\", \"fabric.queue\" = \"2MB\" }"]),
        ("scenario", "topology") => others(&["{ kind = \"single-switch\", hosts = 128, link = \"100Gbps\" }"]),
        ("scenario", "workload") => others(&["{ kind = \"incast\", bytes = \"8KB\" }"]),
        ("scenario", "scheme") => others(&["[{ name = \"mine\", base = \"reps\", set = { \"lb.buffer\" = 16 } }]"]),
        ("scenario", "fault") => others(&["[{ kind = \"link-down\", links = \"tor:0/up:0\" }]"]),
        ("scenario", "measure") => others(&["[{ series = \"queue-depth\", links = \"tor:0/up\" }]"]),
        ("scenario", "observer") => others(&["[{ kind = \"nothing\" }]"]),
        ("scenario", "set") => others(&["{ \"reps.lb.buffer\" = 16, \"*.fabric.queue\" = \"2MB\" }"]),
        ("scenario", "sweep") => others(&[
            "{ \"workload.bytes\" = [\"8KB\", \"16KB\"], \"reps.lb.buffer\" = [4, 16] }",
            "{ zip = [{ \"topology.hosts\" = [64, 128], \"workload.bytes\" = [\"8KB\", \"16KB\"] }] }",
        ]),
        ("scenario", "limits") => others(&["{ stall = \"1ms\" }"]),
        ("scenario", "find") => others(&[
            "{ parameter = \"workload.bytes\", smallest = [\"16KB\", \"1MB\"], where = \"drops(scheme) == 0\" }",
        ]),
        ("scenario", "point") => Case {
            others: &["[{ sweep = { \"workload.bytes\" = \"8KB\" } }, { sweep = { \"workload.bytes\" = \"16KB\" }, workload = { kind = \"permutation\", bytes = \"16KB\" }, fault = [{ kind = \"link-down\", links = \"tor:0/up:0\" }] }]"],
            with: &[("sweep", "{ \"workload.bytes\" = [\"8KB\", \"16KB\"] }")],
            ..Case::default()
        },
        ("dumbbell" | "single-switch" | "fat-tree" | "leaf-spine", "hosts") => others(&["16"]),
        ("fat-tree", "tiers") => others(&["3"]),
        ("fat-tree" | "leaf-spine", "oversubscription") => others(&["4", "\"2:1\""]),
        ("fat-tree" | "leaf-spine", "hosts_per_tor") => others(&["16"]),
        ("leaf-spine", "pod_hosts") => HALVED,
        ("fat-tree", "pod_hosts") => HALVED,
        ("fat-tree" | "leaf-spine" | "topo-file", "tier") => others(&["[{ link = \"100Gbps\" }]"]),
        ("tier", "radix_down") => Case { below: "[[topology.tier]]\nradix_down = 16\n", ..others(&["8"]) },
        ("tier", "radix_up") => others(&["4"]),
        ("tier", "bundle") => others(&["2"]),
        (_, "link" | "esw_link" | "trunk" | "wan_link") => others(&["\"100Gbps\""]),
        (_, "link_latency" | "esw_link_latency" | "trunk_latency" | "switch_latency" | "wan_latency") => {
            others(&["\"3us\""])
        }
        ("cross-dc", "dcs") => others(&["3"]),
        ("cross-dc", "tors" | "leaves" | "hosts_per_tor") => others(&["2"]),
        ("permutation" | "poisson", "hosts") => others(&["16"]),
        ("permutation", "cross_tor") => others(&["true"]),
        ("tornado", "senders") => others(&["8"]),
        ("incast" | "incasts", "degree") => others(&["4"]),
        ("incast", "target") => others(&["3"]),
        ("poisson", "sizes") => others(&["\"sizes.cdf\""]),
        ("poisson" | "incasts" | "pipeline", "load") => others(&["0.1"]),
        ("poisson" | _, "duration") => others(&["\"7us\""]),
        ("poisson", "inter") => Case { above: Some(CROSS_DC), ..others(&["0.5", "\"uniform\""]) },
        ("poisson", "incast") => others(&["{ degree = 2, bytes = \"8KB\", load = 0.1 }"]),
        ("poisson", "pipeline") => Case {
            above: Some(CROSS_DC),
            ..others(&["{ bytes = \"8KB\", load = 0.1 }", "{ bytes = \"8KB\", load = 0.1, persistent = true }"])
        },
        ("pipeline", "persistent") => others(&["false"]),
        ("collective", "algorithm") => others(&["\"allgather-ring\"", "\"alltoall\""]),
        ("collective", "ranks") => others(&["16"]),
        ("collective", "jobs") => of_collective(&["2"], &[("ranks", "16")]),
        (_, "placement") => others(&["\"blocks\""]),
        ("collective", "groups") => others(&["[[0, 8], [1, 9]]"]),
        (_, "chunk") if section == "collective" => others(&["\"64KB\""]),
        ("collective", "connections") => of_collective(&["4"], &[("algorithm", "\"alltoall\"")]),
        ("collective", "depth") => others(&["4"]),
        ("collective", "clock") => of_collective(&["\"delivered\""], &[("depth", "2")]),
        ("collective", "jitter") => of_collective(&["\"10us\""], &[("algorithm", "\"alltoall\"")]),
        ("messages", "message") => others(&["[{ from = 0, to = 1, bytes = \"8KB\" }]"]),
        ("message", "from") => others(&["2"]),
        ("message", "to") => others(&["3"]),
        ("message" | "job", "start") => others(&["\"3us\""]),
        ("cm", "start_unit") => others(&["\"1us\""]),
        ("ns3-flows", "origin") => others(&["\"0s\""]),
        ("jobs", "job") => others(&["[{ format = \"goal\", file = \"one.goal\" }, { format = \"goal\", file = \"two.goal\", rank_hosts = [3, 1] }]"]),
        ("trace" | "job", "format") => others(&["\"simai\""]),
        ("trace" | "job", "rank_hosts") => others(&["[3, 1]", "\"hosts.txt\""]),
        ("trace" | "job", "ends") => others(&["\"acknowledged\""]),
        ("trace" | "job", "bytes") => of_format(&["\"4MB\""], &[("format", "\"msccl\"")]),
        ("trace" | "job", "chunk") => of_format(&["\"64KB\""], &[("format", "\"simai\"")]),
        ("trace" | "job", "without_pipeline") => of_format(&["false"], &[("format", "\"simai\"")]),
        ("trace" | "job", "layers") => of_format(&["[1, 2]"], &[("format", "\"simai\"")]),
        ("trace" | "job", "ranks") => of_format(&["8"], &[("format", "\"simai\"")]),
        ("trace" | "job", "algorithm") => {
            of_format(&["[{ algorithm = \"allreduce-ring\", min_bytes = \"1MB\" }]"], &[("format", "\"simai\"")])
        }
        ("trace" | "job", "comm_groups" | "replicate" | "without_missing" | "without_control" | "streams") => Case {
            file: CHAKRA,
            ..of_format(
                match key {
                    "comm_groups" => &["\"other.json\""],
                    "replicate" => &["4"],
                    "streams" => &["\"one\""],
                    _ => &["false"],
                },
                &[("format", "\"chakra\"")],
            )
        },
        ("trace" | "job", "server") => others(&["{ ranks = 4, link = \"3600Gbps\", link_latency = \"1us\" }"]),
        ("server", "ranks") => others(&["4"]),
        ("algorithm", "algorithm") => others(&["\"alltoall\"", "\"allreduce-halving-doubling\""]),
        ("algorithm", "min_bytes") => others(&["\"1MB\""]),
        (_, "at") => Case { with: &[("duration", "\"7us\"")], ..others(&["[\"1us\", \"50us\"]"]) },
        (_, "until") => others(&["\"2ms\""]),
        (_, "links") if section != "measure" => others(&["[\"tor:0/up:0\", \"cable:tor:1/up\"]"]),
        (_, "both_directions") => Case { with: &[("links", "\"tor:0/up:0\"")], ..others(&["false"]) },
        ("link-flap", "period") => others(&["\"100us\""]),
        ("link-flap", "down_for") => others(&["\"10us\""]),
        ("switch-down", "switches") => others(&["[\"spine:0\", \"tor:25%\"]"]),
        ("rate", "rate") => others(&["\"100Gbps\""]),
        (_, "probability") => others(&["0.5"]),
        ("measure", "series") => others(&["\"queue-depth\"", "\"drops\"", "\"pause-victims\""]),
        ("measure", "every") => others(&["\"7us\""]),
        ("measure", "links") => others(&["\"tor-uplinks\""]),
        ("measure", "switches") => Case {
            with: &[("series", "\"set-aside\"")],
            without: &["links"],
            ..others(&["\"tor:1\""])
        },
        ("measure", "qps") => Case {
            with: &[("series", "\"sender-rtt\"")],
            without: &["links"],
            ..others(&["\"all\""])
        },
        ("measure", "above") => Case { with: &[("series", "\"queue-delay\"")], ..others(&["\"3us\""]) },
        ("limits", "max_time") => others(&["\"2s\""]),
        ("limits", "stall") => others(&["\"1ms\""]),
        ("limits", "max_events" | "max_packets") => others(&["1000"]),
        ("find", "parameter") => others(&["\"workload.bytes\""]),
        ("find", "smallest") => others(&["[\"32KB\", \"64KB\", \"1MB\"]"]),
        ("find", "largest") => Case { without: &["smallest"], ..others(&["[\"32KB\", \"2MB\"]"]) },
        ("find", "where") => others(&["\"fct_max_us(scheme) < 100\""]),
        ("find", "resolution") => others(&["0.1"]),
        (_, "file") => others(&["\"other.txt\""]),
        (_, "bytes") => others(&["\"64KB\""]),
        _ => return None,
    })
}

/// Keys of a question that are no matter of the scenario's runs: the resolved form has none of them.
fn is_of_question_alone(section: &str, key: &str) -> bool {
    section == "find" && matches!(key, "where" | "resolution")
}

/// The text of a scenario that has the key with this value; without one, the base without the key.
fn text(section: &Section, base: &Base, case: &Case, key: &Key, value: Option<&str>) -> String {
    let mut table: Vec<(&str, String)> = Vec::new();
    let mut set = |name: &'static str, value: &str| match table.iter_mut().find(|(known, _)| *known == name) {
        Some((_, known)) => *known = value.to_owned(),
        None => table.push((name, value.to_owned())),
    };
    for needed in section.keys.iter().filter(|key| key.unless_said == Unless::Needed) {
        match (needed.name, section.kind) {
            ("kind", Some(kind)) => set("kind", &format!("{kind:?}")),
            ("switches" | "qps", _) if section.name == "measure" => {}
            _ if needed.is_table() => {}
            _ => set(needed.name, usual(section.name, needed)),
        }
    }
    if section.name == "find" {
        set("smallest", "[\"16KB\", \"1MB\"]");
    }
    if let (Some(kind), false) = (section.kind, table_has_kind(section)) {
        set("kind", &format!("{kind:?}"));
    }
    base.with.iter().chain(case.with).for_each(|(name, value)| set(name, value));
    table.retain(|(name, _)| !case.without.contains(name));
    table.retain(|(name, _)| *name != key.name || (value.is_none() && key.unless_said == Unless::Needed));
    table.extend(value.map(|value| (key.name, value.to_owned())));
    let lines: String = table.iter().map(|(name, value)| format!("{name} = {value}\n")).collect();
    let below = if case.below.is_empty() { base.below } else { case.below };
    let above = case.above.map_or_else(|| base.above.clone(), |above| format!("{SCHEMES}{above}"));
    format!("{above}{}\n{lines}{below}", section.table)
}

/// Whether `kind` is declared in the section.
fn table_has_kind(section: &Section) -> bool {
    !section.keys.iter().any(|key| key.name == "kind")
}

/// What a needed key of a base is.
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

/// An observer of nothing.
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

#[test]
fn every_key_survives_a_round_trip() {
    let registry = registry();
    let (mut wrong, mut bases) = (Vec::new(), BTreeSet::new());
    let (mut keys, mut scenarios) = (0, 0);
    for section in sections() {
        let Some(base) = base(section) else {
            wrong.push(format!("{}: no scenario here has this table", section.name));
            continue;
        };
        bases.insert(section.name);
        for key in section.keys {
            // It is what the base has.
            let of_kind = key.name == "kind";
            let Some(case) = case(section.name, key.name).or_else(|| of_kind.then(Case::default)) else {
                wrong.push(format!("{}.{}: no scenario here has this key", section.name, key.name));
                continue;
            };
            let file = all(if case.file.is_empty() { base.file } else { case.file });
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
                        wrong.extend(fault.map(|fault| {
                            format!("{}.{} = {value} {fault}", section.name, key.name)
                        }));
                        resolved.insert(scenario.to_toml());
                        scenarios += 1;
                    }
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
    println!("{keys} keys of {} tables, {scenarios} scenarios", bases.len());
}
