//! The keys of scenarios, schemes, setups and figures, except for the parameters of components. Each key of a table
//! is declared once, with the values that it may have and its default. The lists, the reference and the JSON Schema
//! are generated from these declarations.

mod cluster;
pub(in crate::scenario) mod fault;
pub(in crate::scenario) mod figure;
mod general;
mod jobs;
pub(in crate::scenario) mod key_type;
mod scheme;
pub(in crate::scenario) mod section;
pub(in crate::scenario) mod series;
mod topology;
mod workload;

use crate::scenario::keys::key_type::{KeyType, Low};
use crate::scenario::keys::section::{Section, joined};
pub(in crate::scenario) use scheme::LEAGUE_PARTS;

/// The tables of a scenario with their keys, except for schemes, setups and points, in the order of the reference.
pub fn sections() -> &'static [Section] {
    SECTIONS
}

/// All sections, beginning with [`sections`].
pub(in crate::scenario) fn all() -> impl Iterator<Item = &'static Section> {
    SECTIONS.iter().chain(OTHERS).chain(&figure::MODELS)
}

/// The section `name`. An unknown name is an error in the program.
pub(in crate::scenario) fn section(name: &str) -> &'static Section {
    all().find(|section| section.name == name).unwrap_or_else(|| panic!("no section {name:?}"))
}

pub(in crate::scenario) fn of(name: &str) -> Vec<&'static str> {
    section(name).keys.iter().map(|key| key.name).collect()
}

/// The kinds of `table`, such as `[topology]`.
pub(in crate::scenario) fn kinds(table: &str) -> impl Iterator<Item = &'static str> {
    all().filter(move |section| section.table == table).filter_map(|section| section.kind)
}

/// Sections by the ending of a file's name, for tables that name a file but no kind.
pub(in crate::scenario) const BY_FILE: [(&str, &str); 3] =
    [("topo-file", ".topo"), ("graph", ""), ("cm", ".cm")];

pub(in crate::scenario) fn example(name: &str) -> &'static str {
    known_example(name).unwrap_or("...")
}

pub(in crate::scenario) fn known_example(name: &str) -> Option<&'static str> {
    first_example(all(), name)
}

/// An example of the value of a key in a table of any kind, such as `[[fault]]`, or else of a key with this name
/// elsewhere.
pub(in crate::scenario) fn known_example_in(table: &str, name: &str) -> Option<&'static str> {
    first_example(all().filter(|section| section.table == table), name).or_else(|| known_example(name))
}

/// An example of the value of a key in a table of this kind, or else of a key with this name elsewhere.
pub(in crate::scenario) fn example_in(table: &str, kind: Option<&str>, name: &str) -> &'static str {
    let here =
        all().filter(|section| section.table == table && (section.kind.is_none() || section.kind == kind));
    first_example(here, name).unwrap_or_else(|| example(name))
}

/// Whether the key of a table of this kind is a size, time or rate that must not be 0.
pub(in crate::scenario) fn is_above_zero(table: &str, kind: Option<&str>, name: &str) -> bool {
    let mut here = all()
        .filter(|section| section.table == table && (section.kind.is_none() || section.kind == kind))
        .flat_map(|section| section.keys);
    here.find(|key| key.name == name).is_some_and(|key| match key.is {
        KeyType::Size(ends) => !matches!(ends.low, Low::Any),
        KeyType::Time(ends) => !matches!(ends.low, Low::Any),
        KeyType::Rate(ends) => !matches!(ends.low, Low::Any),
        _ => false,
    })
}

fn first_example(mut sections: impl Iterator<Item = &'static Section>, name: &str) -> Option<&'static str> {
    let of_section = |section: &Section| section.keys.iter().find(|key| key.name == name)?.known_example();
    sections.find_map(of_section).filter(|_| name != "kind")
}

/// The kinds of `table` that have `key`, for the error that rejects this key. `own` is the kind that the rejected table
/// sets. If this kind also has the key, the rejected table names a file, and the key is not allowed beside a file.
pub(in crate::scenario) fn kinds_with(table: &str, key: &str, own: Option<&str>) -> Vec<String> {
    let has_it =
        |section: &&Section| section.table == table && section.keys.iter().any(|its| its.name == key);
    let named = |section: &Section| match section.kind {
        Some(kind) if Some(kind) == own => format!("{kind} without a file"),
        Some(kind) => kind.to_owned(),
        None => "fat-tree and leaf-spine of a .topo file".to_owned(),
    };
    SECTIONS.iter().filter(has_it).map(named).collect()
}

pub(in crate::scenario) fn has_table(header: &str) -> bool {
    all().any(|section| section.table == header)
}

pub(in crate::scenario) fn tables_with(key: &str) -> Vec<&'static str> {
    let has_it = |section: &&Section| section.keys.iter().any(|its| its.name == key);
    let mut tables: Vec<&str> = SECTIONS.iter().filter(has_it).map(|section| section.table).collect();
    tables.retain(|table| !table.is_empty());
    tables.sort_unstable();
    tables.dedup();
    tables
}

/// Whether `key` is in a table that has no kinds, so that it is valid in every such table.
pub(in crate::scenario) fn is_of_every(table: &str, key: &str) -> bool {
    let has_it = |section: &&Section| section.keys.iter().any(|its| its.name == key);
    SECTIONS.iter().filter(has_it).any(|section| section.table == table && section.kind.is_none())
}

const SECTIONS: &[Section] = &joined::<_, { 2 + TOPOLOGIES.len() + OF_TRAFFIC + 3 }>(&[
    &[general::SCENARIO],
    TOPOLOGIES,
    workload::SECTIONS,
    jobs::SECTIONS,
    &[general::CLASS],
    fault::SECTIONS,
    &[general::MEASURE, general::LIMITS, general::FIND],
]);

const OF_TRAFFIC: usize = workload::SECTIONS.len() + jobs::SECTIONS.len() + fault::SECTIONS.len();

const TOPOLOGIES: &[Section] = &[
    topology::FAT_TREE,
    topology::LEAF_SPINE,
    topology::TOPO_FILE,
    topology::TIER,
    topology::SINGLE_SWITCH,
    topology::DUMBBELL,
    topology::CROSS_DC,
    cluster::RAILS,
    cluster::MULTI_PLANE,
    cluster::HPN,
    cluster::DCN_PLUS,
    cluster::DRAGONFLY,
    cluster::TORUS,
    cluster::FULL_MESH,
    topology::GRAPH,
];

const OTHERS: &[Section] = &[
    scheme::SCHEME,
    scheme::SETUP,
    scheme::SETUP_FILE,
    scheme::LAYER,
    general::POINT,
    figure::FIGURE,
    figure::LEAGUE_SCHEMES,
    figure::PLOT,
    figure::CLAIM,
    figure::EXPLAIN,
    figure::UNSAID,
    figure::CHIP,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::expand::resolved::Scenario;
    use crate::scenario::expand::scenario::read;
    use crate::scenario::input::Overrides;
    use crate::scenario::keys::key_type::{Ends, High, KeyType, Low};
    use crate::scenario::keys::section::Key;
    use crate::scenario::keys::section::KeyDefault::{Required, Value};
    use crate::scenario::tests::folder;
    use anabranch_base::Duration;
    use std::collections::BTreeSet;

    const FABRIC: &str = "[topology]\nkind = \"fat-tree\"\nhosts = 16\nlink = \"400Gbps\"\n";
    const TRAFFIC: &str = "[workload]\nkind = \"permutation\"\nbytes = \"8KB\"\n";

    /// The smallest scenario that a section permits. The table of the section is the last one.
    fn least(section: &Section) -> Option<String> {
        let all = "schemes = [\"reps\"]\nseeds = [1]\n";
        // In a cluster, the rate of the ports may be in a file that describes its servers.
        let has_server = section.keys.iter().any(|key| key.name == "server");
        let own = |key: &Key| {
            let needed = key.default == Required || (has_server && key.name == "link");
            needed.then(|| format!("{} = {}\n", key.name, value(section, key)))
        };
        let table: String = section.keys.iter().filter_map(own).collect();
        let table = format!("{}\n{table}", section.table);
        Some(match (section.name, section.table) {
            ("scenario", _) | ("measure", _) | ("class", _) => return None,
            ("topo-file" | "graph", _) | ("cm" | "ns3-flows" | "trace" | "jobs" | "messages", _) => {
                return None;
            }
            (_, "[topology]") => format!("{all}{TRAFFIC}{table}"),
            ("tier", _) => format!("{all}{TRAFFIC}{FABRIC}{table}"),
            (_, "[workload]") => format!("{all}{FABRIC}{table}"),
            ("job" | "server" | "algorithm", _) => return None,
            ("message", _) => format!("{all}{FABRIC}[workload]\nkind = \"messages\"\n{table}"),
            ("incasts" | "pipeline", _) => {
                let poisson =
                    "[workload]\nkind = \"poisson\"\nsizes = \"websearch\"\nload = 0.2\nduration = \"1us\"\n";
                format!("{all}{FABRIC}{poisson}{table}")
            }
            _ => format!("{all}{FABRIC}{TRAFFIC}{table}"),
        })
    }

    fn value(section: &Section, key: &Key) -> String {
        match (section.name, key.name) {
            (_, "kind") => format!("{:?}", section.kind.unwrap_or_default()),
            ("cross-dc", "tors" | "leaves" | "hosts_per_tor") | ("incasts", "degree") | (_, "to") => {
                "2".to_owned()
            }
            ("collective", "bytes") => "\"1MB\"".to_owned(),
            ("link-flap", "period") => "\"200us\"".to_owned(),
            ("find", "smallest") => "[\"16KB\", \"1MB\"]".to_owned(),
            _ => key.example().to_owned(),
        }
    }

    fn resolved(text: &str) -> String {
        let scenario = read("s.toml", text, &folder(), &Overrides::default());
        scenario.unwrap_or_else(|error| panic!("{error}\n{text}")).to_toml()
    }

    #[test]
    fn names_are_told_apart_and_every_key_has_an_example() {
        let names: BTreeSet<&str> = SECTIONS.iter().map(|section| section.name).collect();
        assert_eq!(names.len(), SECTIONS.len());
        let mut without = Vec::new();
        for section in SECTIONS {
            let keys: BTreeSet<&str> = section.keys.iter().map(|key| key.name).collect();
            assert_eq!(keys.len(), section.keys.len(), "{}", section.name);
            let named = section.keys.iter().filter(|key| key.name != "kind" && !key.is_table());
            without.extend(named.filter(|key| key.example() == "...").map(|key| (section.name, key.name)));
        }
        assert!(without.is_empty(), "without an example: {without:?}");
    }

    /// Writing a key with its declared default changes nothing.
    #[test]
    fn what_is_declared_to_be_unless_said_is_so() {
        let mut looked_at = 0;
        for section in SECTIONS {
            let Some(least) = least(section) else { continue };
            let base = resolved(&least);
            for key in section.keys {
                if let Value(value) = key.default {
                    assert_eq!(
                        resolved(&format!("{least}{} = {value}\n", key.name)),
                        base,
                        "{}: {}",
                        section.name,
                        key.name
                    );
                    looked_at += 1;
                }
            }
        }
        assert!(looked_at > 25, "{looked_at}");
        assert_eq!(
            Scenario::clone(
                &read("s.toml", &least(&SECTIONS[1]).unwrap(), &folder(), &Overrides::default()).unwrap()
            )
            .setup,
            "common"
        );
    }

    /// Values that a type does not permit, as TOML.
    fn outside(is: &KeyType) -> Vec<String> {
        let ends = |low: Option<f64>, high: Option<f64>| -> Vec<String> {
            low.into_iter()
                .map(|low| low - 1.0)
                .chain(high.map(|high| high + 1.0))
                .map(|n| n.to_string())
                .collect()
        };
        let zero = |is_above: bool, zero: &str| if is_above { vec![format!("{zero:?}")] } else { Vec::new() };
        let mut values: Vec<String> = match is {
            KeyType::Whole(Ends { low, high }) => {
                let low = if let Low::From(low) = low { Some(*low as f64) } else { None };
                let high = if let High::To(high) = high { Some(*high as f64) } else { None };
                [ends(low, high), vec!["1.5".to_owned(), "\"8\"".to_owned()]].concat()
            }
            KeyType::Number(Ends { low, high }) => {
                let low = match low {
                    Low::From(low) => Some(*low),
                    Low::AboveZero => Some(1.0),
                    Low::Any | Low::AfterKey(_) => None,
                };
                let high = if let High::To(high) | High::Below(high) = high { Some(*high) } else { None };
                [ends(low, high), vec!["\"x\"".to_owned()]].concat()
            }
            KeyType::Even(least) => vec![(least + 1).to_string(), (least - 1).to_string()],
            KeyType::Host => vec!["-1".to_owned()],
            KeyType::Size(ends) => zero(ends.low == Low::AboveZero, "0B"),
            KeyType::Rate(ends) => zero(ends.low == Low::AboveZero, "0Gbps"),
            KeyType::Time(ends) => {
                let above = |end: Duration| format!("\"{}ps\"", end.0 + 1);
                let beyond = if let High::To(high) = ends.high { Some(above(high)) } else { None };
                zero(ends.low != Low::Any, "0us").into_iter().chain(beyond).collect()
            }
            KeyType::Word(_) | KeyType::Choice(_) => vec!["\"xyz\"".to_owned()],
            KeyType::Selector(_) => vec!["\" \"".to_owned()],
            KeyType::OneOrMore(of) => [outside(of), vec!["[]".to_owned()]].concat(),
            _ => Vec::new(),
        };
        if matches!(is, KeyType::Size(_) | KeyType::Time(_) | KeyType::Rate(_)) {
            values.push("\"7\"".to_owned());
        }
        if !matches!(is, KeyType::Either(_) | KeyType::Table(_) | KeyType::Tables(_)) {
            values.push("{ x = 1 }".to_owned());
        }
        values
    }

    #[test]
    fn values_outside_of_the_declared_range_are_refused() {
        let (mut accepted, mut looked_at) = (Vec::new(), 0);
        for section in SECTIONS {
            let Some(least) = least(section) else { continue };
            for key in section.keys {
                let written = format!("{} = ", key.name);
                let without: String = match least.rsplit_once(section.table) {
                    Some((above, table)) => {
                        let others = table.lines().filter(|line| !line.starts_with(&written));
                        format!("{above}{}{}\n", section.table, others.collect::<Vec<_>>().join("\n"))
                    }
                    None => least.clone(),
                };
                for value in outside(&key.is) {
                    let text = format!("{without}{written}{value}\n");
                    let found = read("s.toml", &text, &folder(), &Overrides::default());
                    let question = crate::scenario::find_in("s.toml", &text, &Overrides::default());
                    if found.is_ok_and(|scenario| scenario.check().is_ok()) && question.is_ok() {
                        accepted.push(format!("{}.{} = {value}", section.name, key.name));
                    }
                    looked_at += 1;
                }
            }
        }
        assert!(accepted.is_empty() && looked_at > 200, "{looked_at}: {accepted:?}");
    }

    #[test]
    fn examples_are_accepted() {
        for section in SECTIONS {
            let Some(least) = least(section) else { continue };
            for key in section.keys.iter().filter(|key| key.default != Required && !key.is_table()) {
                let alone = matches!(
                    (section.name, key.name),
                    ("find", _)
                        | ("collective", "ranks" | "groups" | "connections" | "clock" | "jobs" | "jitter")
                        | ("poisson", "inter")
                        | (_, "until" | "hosts_per_tor" | "pod_hosts" | "tiers" | "both_directions")
                        | (_, "core_oversubscription" | "core_uplinks" | "cores" | "core_link")
                        | ("permutation" | "poisson" | "tornado", "hosts" | "senders")
                        | ("incast", "degree")
                        | ("tier", "radix_down" | "radix_up")
                        | (_, "server" | "nvlink_latency")
                        | ("rails" | "multi-plane" | "hpn" | "dcn-plus", "link")
                );
                // Some examples fit only one fabric.
                if !alone {
                    resolved(&format!("{least}{} = {}\n", key.name, value(section, key)));
                }
            }
        }
    }
}
