//! Facts from the text of a resolved scenario, for the tests of this crate.

use anabranch_base::Duration;
use anabranch_results::{
    FaultFacts, Overflow, PathChoice, PointFacts, ResultSet, ScenarioFacts, SchemeFacts, WorkloadFacts,
};
use toml::{Table, Value as Toml};

/// Two schemes at three points of a sweep over the queue. The timeout of `a` depends on the queue, so the second and
/// the third point list their own schemes. `b` has a fixed timeout.
pub(crate) const SWEPT: &str = "[[point]]\n[point.sweep]\n\"*.fabric.queue\" = \"100KB\"\n\n\
    [[point]]\n[[point.scheme]]\nname = \"a\"\n[point.scheme.transport]\nrto = \"2rtt+5queue\" # = 95.4 us\n\
    [[point.scheme]]\nname = \"b\"\n[point.scheme.transport]\nrto = \"4ms\"\n[point.sweep]\n\"*.fabric.queue\" = \"400KB\"\n\n\
    [[point]]\n[[point.scheme]]\nname = \"a\"\n[point.scheme.transport]\nrto = \"2rtt+5queue\" # = 335 us\n\
    [[point.scheme]]\nname = \"b\"\n[point.scheme.transport]\nrto = \"4ms\"\n[point.sweep]\n\"*.fabric.queue\" = \"1600KB\"\n\n\
    [[scheme]]\nname = \"a\"\n[scheme.transport]\nrto = \"2rtt+5queue\" # = 35.6 us\n\
    [[scheme]]\nname = \"b\"\n[scheme.transport]\nrto = \"4ms\"\n[sweep]\n\
    \"*.fabric.queue\" = [\"100KB\", \"400KB\", \"1600KB\"]\n[topology]\nhosts = 64\n[workload]\nalgorithm = \"alltoall\"\n";

/// Sets the resolved scenario of a result set to `text`, with the facts that follow from it.
pub(crate) fn set_scenario(set: &mut ResultSet, text: impl Into<String>) {
    set.scenario_toml = text.into();
    set.facts = facts_of(&set.scenario_toml);
}

fn facts_of(text: &str) -> ScenarioFacts {
    let scenario: Table = toml::from_str(text).unwrap();
    let timeouts = Timeouts::of(text);
    let written: Vec<&Table> = tables(scenario.get("point")).collect();
    let own: Vec<bool> = written.iter().map(|point| point.contains_key("scheme")).collect();
    let point = |place: usize| {
        let here = written.get(place).copied();
        let of = |key: &str| here.and_then(|here| here.get(key)).or_else(|| scenario.get(key));
        let word = |key: &str| of("workload")?.get(key)?.as_str().map(str::to_owned);
        let number = |value: Option<&Toml>| value.and_then(Toml::as_integer).map(|number| number as u32);
        PointFacts {
            sweep: here.and_then(|here| here.get("sweep").cloned()?.try_into().ok()).unwrap_or_default(),
            workload: WorkloadFacts {
                kind: word("kind").unwrap_or_default(),
                algorithm: word("algorithm"),
                placement: word("placement"),
                connections: number(of("workload").and_then(|workload| workload.get("connections"))),
                nvlink: of("workload").is_some_and(|workload| workload.get("server").is_some()),
                channels: number(of("workload").and_then(|workload| workload.get("server")?.get("channels"))),
            },
            hosts: number(of("topology").and_then(|topology| topology.get("hosts"))),
            hosts_per_tor: number(
                of("topology").and_then(|topology| topology.get("tier")?.get(0)?.get("radix_down")),
            ),
            faults: tables(of("fault")).map(fault).collect(),
            schemes: tables(of("scheme"))
                .enumerate()
                .map(|(number, of)| scheme(of, timeouts.at(&own, place, number)))
                .collect(),
        }
    };
    let differs = scenario.get("setup").and_then(|setup| setup.get("differs")?.as_str());
    let points = (0..written.len().max(1)).map(point).collect();
    ScenarioFacts { ground_differs: differs.map(str::to_owned), points, ..ScenarioFacts::default() }
}

fn tables(value: Option<&Toml>) -> impl Iterator<Item = &Table> {
    value.and_then(Toml::as_array).into_iter().flatten().filter_map(Toml::as_table)
}

fn fault(written: &Table) -> FaultFacts {
    let micros = |value: &Toml| Some(value.as_str()?.parse::<Duration>().ok()?.as_us());
    let time = |key: &str| written.get(key).and_then(micros);
    let names = |key: &str| match written.get(key) {
        Some(Toml::Array(names)) => names.iter().filter_map(Toml::as_str).map(str::to_owned).collect(),
        Some(name) => name.as_str().map(str::to_owned).into_iter().collect(),
        None => Vec::new(),
    };
    let starts_us: Vec<f64> = match written.get("at") {
        Some(Toml::Array(times)) => times.iter().filter_map(micros).collect(),
        Some(at) => micros(at).into_iter().collect(),
        // The start of a fault without `at` is made up, and is after the start of the run.
        None => vec![10.0],
    };
    FaultFacts {
        kind: written.get("kind").and_then(Toml::as_str).unwrap_or_default().to_owned(),
        links: names("links"),
        switches: names("switches"),
        probability: written.get("probability").and_then(Toml::as_float),
        duration_us: time("duration").or_else(|| Some(time("until")? - starts_us.first()?)),
        starts_us,
        period_us: time("period"),
        down_for_us: time("down_for"),
        per_hour: written.get("per_hour").and_then(Toml::as_float),
    }
}

fn scheme(written: &Table, rto: Option<String>) -> SchemeFacts {
    let at =
        |path: &[&str]| path.iter().skip(1).try_fold(written.get(path[0])?, |value, key| value.get(*key));
    let word = |path: &[&str]| at(path).and_then(Toml::as_str).unwrap_or_default();
    let is_trimming = at(&["fabric", "trim"]).and_then(Toml::as_bool) == Some(true);
    SchemeFacts {
        name: word(&["name"]).to_owned(),
        rto,
        path_choice: match (word(&["fabric", "routing"]), word(&["lb", "kind"])) {
            _ if at(&["fabric", "program"]).is_some() => PathChoice::Switches,
            ("adaptive" | "spray", _) => PathChoice::Switches,
            (_, "ecmp" | "") => PathChoice::Hash,
            _ => PathChoice::Host,
        },
        overflow: match (at(&["fabric", "pfc"]).is_some(), is_trimming) {
            (true, _) => Overflow::Pauses,
            (false, true) => Overflow::Trims,
            (false, false) => Overflow::Drops,
        },
        routing_delay: at(&["fabric", "routing_delay"]).and_then(Toml::as_str).map(str::to_owned),
        adaptive_routing: word(&["fabric", "routing"]) == "adaptive",
    }
}

/// The timeouts of the schemes, in the order in which the text lists the schemes. They are read line by line, because
/// only the comment after `2rtt+5queue` contains the value.
#[derive(Default)]
struct Timeouts<'a> {
    everywhere: Vec<Option<&'a str>>,
    /// One entry per point: the timeouts of the point's own schemes, or nothing if the point has no schemes of its own.
    of_points: Vec<Vec<Option<&'a str>>>,
}

impl<'a> Timeouts<'a> {
    fn of(text: &'a str) -> Self {
        let mut found = Timeouts::default();
        let (mut in_point, mut within) = (false, false);
        for line in text.lines() {
            if line.starts_with('[') {
                within = line == "[scheme.transport]" || line == "[point.scheme.transport]";
                match line {
                    "[[point]]" => found.of_points.push(Vec::new()),
                    "[[scheme]]" => (in_point, _) = (false, found.everywhere.push(None)),
                    "[[point.scheme]]" => {
                        in_point = true;
                        if let Some(here) = found.of_points.last_mut() {
                            here.push(None);
                        }
                    }
                    _ => {}
                }
                continue;
            }
            let rto = line.strip_prefix("rto = ").filter(|_| within);
            let Some(rto) = rto.map(|rto| rto.split_once("# = ").map_or(rto.trim_matches('"'), |(_, is)| is))
            else {
                continue;
            };
            let here = if in_point { found.of_points.last_mut() } else { Some(&mut found.everywhere) };
            if let Some(last) = here.and_then(|here| here.last_mut()) {
                *last = Some(rto);
            }
        }
        found
    }

    /// The timeout of a scheme at a point. `own` states which points have their own schemes. For the points without,
    /// the comment after the timeout has one value per such point, in their order, or one value for all of them.
    fn at(&self, own: &[bool], place: usize, scheme: usize) -> Option<String> {
        if own.get(place).copied().unwrap_or(false) {
            return self.of_points.get(place)?.get(scheme)?.map(str::to_owned);
        }
        let line = (*self.everywhere.get(scheme)?)?;
        let values: Vec<&str> = line.split(", ").collect();
        let without = own.iter().filter(|own| !**own).count();
        let number = own[..place.min(own.len())].iter().filter(|own| !**own).count();
        Some(if values.len() == without { values[number] } else { line }.to_owned())
    }
}
