//! The resolved form with comments: in the compared schemes, each quantity that refers to the fabric has a comment with
//! its value.

use anabranch_engine::Scheme;
use anabranch_proto::{CcConfig, PathFacts};
use std::collections::BTreeSet;

/// The scheme to which the parameters in a line of the resolved form belong.
#[derive(Clone, Copy)]
enum Owner {
    /// No compared scheme, so the line gets no comment.
    Nobody,
    /// The scheme with this number, at all points of the sweep that have no schemes of their own.
    Everywhere(usize),
    /// A scheme at one point of the sweep: the number of the point, then the number of the scheme.
    At(usize, usize),
}

/// The largest number of points for which a comment lists one value per point.
const MOST_POINTS: usize = 64;

/// `toml`, the resolved form of a scenario, with comments. In the compared schemes, each parameter in units of `bdp`,
/// `packets`, `rtt`, `queue` or `line` gets a comment with its value: `queue = "1bdp" # = 1.25 MB`. The scenario that
/// the text describes is the same with these comments.
///
/// In a scenario with faults, each compared scheme without `routing_delay` has a comment that routing never reacts to
/// the faults. With adaptive routing, the comment makes an exception for a switch's own links.
///
/// `own` states for each point of the sweep whether the point has schemes of its own. If a parameter has different
/// values at the points, the comment lists all of them.
pub(in crate::scenario) fn annotated(
    toml: &str,
    facts: &[Vec<PathFacts>],
    own: &[bool],
    schemes: &[Scheme],
) -> String {
    let mut text = String::with_capacity(toml.len());
    let (mut owner, mut of_path, mut of_port, mut has_windows) = (Owner::Nobody, false, false, false);
    let (mut next_scheme, mut next_point, mut in_points) = (0, 0, false);
    let has_faults = toml.lines().any(|line| line == "[[fault]]");
    let mut rest = toml.lines();
    while let Some(line) = rest.next() {
        if line.starts_with('[') {
            match (line, owner) {
                ("[[scheme]]", _) => {
                    // All points, with their own schemes, come before the schemes of the scenario, so the numbers of
                    // schemes start again at 0.
                    let number = if in_points { 0 } else { next_scheme };
                    (owner, next_scheme, in_points) = (Owner::Everywhere(number), number + 1, false);
                }
                ("[[point]]", _) => {
                    (owner, next_point, next_scheme) = (Owner::Nobody, next_point + 1, 0);
                    in_points = true;
                }
                ("[[point.scheme]]", _) => {
                    owner = Owner::At(next_point - 1, next_scheme);
                    next_scheme += 1;
                }
                _ if line.starts_with("[scheme.") || line.starts_with("[[scheme.") => {}
                _ if line.starts_with("[point.scheme.") || line.starts_with("[[point.scheme.") => {}
                _ => owner = Owner::Nobody,
            }
            of_path = line.ends_with(".cc]");
            of_port = line.contains(".fabric");
            has_windows = of_path || line.ends_with(".transport]");
        }
        text.push_str(line);
        let seen: Vec<&PathFacts> = match owner {
            Owner::Nobody => Vec::new(),
            Owner::At(point, scheme) => facts.get(point).and_then(|of| of.get(scheme)).into_iter().collect(),
            Owner::Everywhere(scheme) => {
                let without = |point: &usize| !own.get(*point).copied().unwrap_or(false);
                (0..facts.len()).filter(without).filter_map(|point| facts[point].get(scheme)).collect()
            }
        };
        let scheme = match owner {
            Owner::Everywhere(scheme) | Owner::At(_, scheme) => schemes.get(scheme),
            Owner::Nobody => None,
        };
        // A congestion control that wants its own path uses the facts about the path of its queue pair, which is at
        // most as long as the longest path.
        let at_most = of_path && scheme.is_some_and(|scheme| scheme.cc.wants_own_path());
        if let Some(value) = quoted(line) {
            let keeps = of_path && scheme.is_some_and(|scheme| matches!(scheme.cc, CcConfig::Nscc(_)));
            let units = in_units(&seen, value, has_windows && is_window(line) && !keeps, of_port);
            if !units.is_empty() {
                text.push_str(if at_most { " # at most " } else { " # = " });
                text.push_str(&units.join(", "));
            }
        }
        text.push('\n');
        if has_faults && ["[scheme.fabric]", "[point.scheme.fabric]"].contains(&line) {
            text.push_str(&routing_comment(&rest));
        }
    }
    text
}

/// A value in units on each of the fabrics. `rounds` is true for a window that is rounded up to whole packets, and
/// `of_port` for a size in switches, which refers to the rate of a port.
fn in_units(seen: &[&PathFacts], value: &str, rounds: bool, of_port: bool) -> Vec<String> {
    let on = |facts: &&PathFacts| {
        let facts = if of_port { facts.of_port() } else { **facts };
        if rounds { facts.window_in_units(value) } else { facts.in_units(value) }
    };
    without_repeats(seen.iter().filter_map(on).collect())
}

/// The comment for a fabric without `routing_delay`; empty for a fabric that has it. `rest` begins with the lines of
/// the fabric.
fn routing_comment(rest: &std::str::Lines<'_>) -> String {
    let its = || rest.clone().take_while(|line| !line.starts_with('['));
    if its().any(|line| line.starts_with("routing_delay = ")) {
        return String::new();
    }
    let except = match its().any(|line| line == "routing = \"adaptive\"") {
        true => ", except for links of a switch's own that are down",
        false => "",
    };
    format!("# without routing_delay, routing never follows a fault{except}\n")
}

/// The value of each point in order, or a single value if all are equal. If there are many points, each distinct
/// value is listed once.
fn without_repeats(mut units: Vec<String>) -> Vec<String> {
    if units.len() > MOST_POINTS || units.iter().all(|unit| *unit == units[0]) {
        let mut known = BTreeSet::new();
        units.retain(|unit| known.insert(unit.clone()));
    }
    units
}

/// The text value that a line sets: `1bdp` for `queue = "1bdp"`.
fn quoted(line: &str) -> Option<&str> {
    line.split_once(" = \"")?.1.strip_suffix('"')
}

fn is_window(line: &str) -> bool {
    line.split_once(" = ").is_some_and(|(key, _)| key == "window" || key.ends_with("_window"))
}

#[cfg(test)]
mod tests {
    use crate::scenario::expand::resolved::Scenario;
    use crate::scenario::expand::scenario::read;
    use crate::scenario::input::{NoFiles, Overrides};

    fn scenario(more: &str) -> Scenario {
        let text = format!(
            "schemes = [\"reps\", \"rocev2\"]\n\
             topology = {{ kind = \"fat-tree\", hosts = 16, hosts_per_tor = 4, link = \"100Gbps\", link_latency = \"1us\" }}\n\
             workload = {{ kind = \"permutation\", bytes = \"100KB\" }}\n{more}"
        );
        read("s.toml", &text, &NoFiles, &Overrides::default()).unwrap()
    }

    fn annotated(scenario: &Scenario) -> String {
        scenario.to_annotated_toml(&scenario.examine().unwrap().facts)
    }

    #[test]
    fn what_refers_to_the_fabric_has_its_value_beside_it_and_says_the_same() {
        let scenario =
            scenario("[set]\n\"reps.fabric.queue\" = \"2bdp\"\n\"reps.transport.rto\" = \"5rtt\"\n");
        let facts = scenario.examine().unwrap().facts;
        let (bdp, rtt) = (facts[0][0].bdp, facts[0][0].base_rtt);
        let text = annotated(&scenario);
        let queue = format!("queue = \"2bdp\" # = {}\n", anabranch_base::Bytes(2 * bdp.0).about());
        let rto = format!("rto = \"5rtt\" # = {}\n", (rtt * 5).about());
        assert!(text.contains(&queue) && text.contains(&rto), "{queue}{rto} in:\n{text}");
        assert_eq!(read("s.toml", &text, &NoFiles, &Overrides::default()).unwrap(), scenario);
        assert!(text.lines().any(|line| line == "bytes = \"100KB\""), "{text}");
    }

    /// With 50 Gb/s and 10 ns, a BDP is not a whole number of packets.
    #[test]
    fn a_window_has_the_whole_packets_that_may_be_in_flight_beside_it() {
        let text = "schemes = [\"reps\", \"irn-ecmp\", \"eqds\"]\n\
            topology = { kind = \"fat-tree\", hosts = 16, hosts_per_tor = 4, link = \"50Gbps\", link_latency = \"10ns\" }\n\
            workload = { kind = \"permutation\", bytes = \"100KB\" }\n";
        let scenario = read("s.toml", text, &NoFiles, &Overrides::default()).unwrap();
        let text = annotated(&scenario);
        let facts = scenario.examine().unwrap().facts;
        for (scheme, key) in [(0, "initial_window"), (1, "window"), (2, "pull_window")] {
            let facts = &facts[0][scheme];
            let whole = anabranch_base::Bytes(facts.bdp.0.next_multiple_of(facts.packet.0)).about();
            assert_ne!(whole, facts.bdp.about(), "{key}");
            assert!(text.contains(&format!("\n{key} = \"1bdp\" # = {whole}\n")), "{key}: {whole}\n{text}");
        }
    }

    #[test]
    fn of_many_points_each_value_stands_once() {
        let latencies: Vec<&str> = (0..66).map(|point| ["\"1us\"", "\"2us\""][point % 2]).collect();
        let bytes: Vec<String> = (0..66).map(|point| format!("\"{}KB\"", 1 + point)).collect();
        let zip = format!(
            "[set]\n\"reps.fabric.queue\" = \"2bdp\"\n[[sweep.zip]]\n\"topology.link_latency\" = [{}]\n\"workload.bytes\" = \
             [{}]\n",
            latencies.join(", "),
            bytes.join(", ")
        );
        let text = annotated(&scenario(&zip));
        let line = text.lines().find(|line| line.starts_with("queue = \"2bdp\"")).unwrap();
        assert_eq!(line.matches(" KB").count(), 2, "{line}");
    }

    #[test]
    fn when_routing_follows_faults_is_said_where_nothing_sets_it() {
        let never = "# without routing_delay, routing never follows a fault\n";
        assert!(!annotated(&scenario("")).contains(never));
        let fault = "[[fault]]\nkind = \"link-down\"\nlinks = \"tor:0/up:0\"\nat = \"1us\"\n";
        assert_eq!(annotated(&scenario(fault)).matches(never).count(), 2);
        let one = scenario(&format!("{fault}[set]\n\"reps.fabric.routing_delay\" = \"1ms\"\n"));
        let text = annotated(&one);
        assert_eq!(text.matches(never).count(), 1, "{text}");
        assert!(
            text.contains("Not on the same ground: fabric.routing_delay is 1 ms (reps) and never (rocev2)"),
            "{text}"
        );
        assert_eq!(read("s.toml", &text, &NoFiles, &Overrides::default()).unwrap(), one);
    }

    #[test]
    fn points_of_a_sweep_have_their_own_values() {
        let set = "[set]\n\"reps.fabric.queue\" = \"2bdp\"\n[sweep]\n";
        let by_fabric =
            annotated(&scenario(&format!("{set}\"topology.link_latency\" = [\"1us\", \"2us\"]\n")));
        let line = by_fabric.lines().find(|line| line.starts_with("queue = \"2bdp\"")).unwrap();
        assert_eq!(line.matches(" KB").count(), 2, "one of each fabric: {line}");
        let of_schemes =
            annotated(&scenario(&format!("{set}\"reps.fabric.queue\" = [\"1bdp\", \"3packets\"]\n")));
        assert!(of_schemes.contains("queue = \"3packets\" # = 12."), "{of_schemes}");
        assert!(of_schemes.contains("queue = \"1bdp\" # = "), "those of the first point too:\n{of_schemes}");
        // Two of the three points have equal values, but the comment still has an entry for each point.
        let zip = "[[sweep.zip]]\n\"topology.link_latency\" = [\"1us\", \"1us\", \"2us\"]\n\
                   \"workload.bytes\" = [\"1KB\", \"2KB\", \"1KB\"]\n";
        let in_order = annotated(&scenario(&set.replace("[sweep]\n", zip)));
        let line = in_order.lines().find(|line| line.starts_with("queue = \"2bdp\"")).unwrap();
        assert_eq!(line.matches(" KB").count(), 3, "{line}");
    }
}
