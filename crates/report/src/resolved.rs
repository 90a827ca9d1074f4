//! The points of the sweep in a resolved scenario.

use crate::groups::named;
use anabranch_results::Value;
use std::collections::BTreeMap;
use toml::Table;

/// A point of the sweep; without a sweep there is one, whose name is empty.
pub(crate) struct Point<'a> {
    /// The swept keys with their values at this point, in words.
    pub name: String,
    pub workload: Option<&'a Table>,
    pub topology: Option<&'a Table>,
    /// For each fault, whether it starts or ends during the run; false for one that is active from the start to the
    /// end.
    pub has_start_or_end: Vec<bool>,
    pub schemes: Vec<Scheme<'a>>,
}

/// A scheme at a point.
pub(crate) struct Scheme<'a> {
    pub name: &'a str,
    pub fabric: Option<&'a Table>,
    /// The retransmission timeout at this point: as computed in the resolved scenario, or as set.
    pub rto: Option<String>,
}

impl Point<'_> {
    /// The text value of a key in `[workload]`.
    pub(crate) fn workload_word(&self, key: &str) -> Option<&str> {
        self.workload?.get(key)?.as_str()
    }
}

/// The points of the resolved scenario `text`, which is also `scenario`.
pub(crate) fn points<'a>(scenario: &'a Table, text: &'a str) -> Vec<Point<'a>> {
    let timeouts = Timeouts::of(text);
    let written: Vec<&Table> = tables(scenario, "point").collect();
    let own: Vec<bool> = written.iter().map(|point| point.contains_key("scheme")).collect();
    let places = 0..written.len().max(1);
    let point = |place: usize| {
        let here = written.get(place).copied();
        let of = |key: &str| here.and_then(|here| here.get(key)).or_else(|| scenario.get(key));
        let sweep: BTreeMap<String, Value> =
            here.and_then(|here| here.get("sweep").cloned()?.try_into().ok()).unwrap_or_default();
        let schemes = of("scheme").and_then(toml::Value::as_array).into_iter().flatten();
        let schemes = schemes.filter_map(toml::Value::as_table).enumerate();
        Point {
            name: named(&sweep),
            workload: of("workload").and_then(toml::Value::as_table),
            topology: of("topology").and_then(toml::Value::as_table),
            has_start_or_end: of("fault")
                .and_then(toml::Value::as_array)
                .into_iter()
                .flatten()
                .map(has_start_or_end)
                .collect(),
            schemes: schemes
                .filter_map(|(number, scheme)| {
                    let name = scheme.get("name")?.as_str()?;
                    let fabric = scheme.get("fabric").and_then(toml::Value::as_table);
                    Some(Scheme { name, fabric, rto: timeouts.at(&own, place, number) })
                })
                .collect(),
        }
    };
    places.map(point).collect()
}

fn has_start_or_end(fault: &toml::Value) -> bool {
    let at_start = fault.get("at").and_then(toml::Value::as_str) == Some("0ps");
    !at_start || fault.get("duration").is_some() || fault.get("period").is_some()
}

fn tables<'a>(scenario: &'a Table, key: &str) -> impl Iterator<Item = &'a Table> {
    let values = scenario.get(key).and_then(toml::Value::as_array).into_iter().flatten();
    values.filter_map(toml::Value::as_table)
}

/// The timeouts by the number of the scheme, read line by line, since a comment behind `2rtt+5queue` has its value.
#[derive(Default)]
struct Timeouts<'a> {
    everywhere: Vec<Option<&'a str>>,
    /// The timeouts of each point that has schemes of its own; empty for the others.
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

    /// The timeout of a scheme at a point. `own` tells which points have schemes of their own. For the other points,
    /// the comment of the scheme has one value per point, in their order, or one value for all.
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

/// Findings with the points at which they hold, each finding once, in the order of its first point.
pub(crate) fn by_finding<'a, T: PartialEq>(
    points: &[Point<'a>],
    of: impl Fn(&Point<'a>) -> T,
) -> Vec<(T, Vec<String>)> {
    let mut found: Vec<(T, Vec<String>)> = Vec::new();
    for point in points {
        let here = of(point);
        match found.iter_mut().find(|(known, _)| *known == here) {
            Some((_, names)) => names.push(point.name.clone()),
            None => found.push((here, vec![point.name.clone()])),
        }
    }
    found
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Two schemes at three points: `b` has a fixed timeout, and at the second and third point the queues differ.
    pub(crate) const SWEPT: &str = "[[point]]\n[point.sweep]\n\"*.fabric.queue\" = \"100KB\"\n\n\
        [[point]]\n[[point.scheme]]\nname = \"a\"\n[point.scheme.transport]\nrto = \"2rtt+5queue\" # = 95.4 us\n\
        [[point.scheme]]\nname = \"b\"\n[point.scheme.transport]\nrto = \"4ms\"\n[point.sweep]\n\"*.fabric.queue\" = \"400KB\"\n\n\
        [[point]]\n[[point.scheme]]\nname = \"a\"\n[point.scheme.transport]\nrto = \"2rtt+5queue\" # = 335 us\n\
        [[point.scheme]]\nname = \"b\"\n[point.scheme.transport]\nrto = \"4ms\"\n[point.sweep]\n\"*.fabric.queue\" = \"1600KB\"\n\n\
        [[scheme]]\nname = \"a\"\n[scheme.transport]\nrto = \"2rtt+5queue\" # = 35.6 us\n\
        [[scheme]]\nname = \"b\"\n[scheme.transport]\nrto = \"4ms\"\n[sweep]\n\
        \"*.fabric.queue\" = [\"100KB\", \"400KB\", \"1600KB\"]\n[topology]\nhosts = 64\n[workload]\nalgorithm = \"alltoall\"\n";

    fn timeouts(text: &str) -> Vec<(String, Vec<String>)> {
        let scenario = toml::from_str(text).unwrap();
        let rtos = |point: &Point<'_>| point.schemes.iter().filter_map(|scheme| scheme.rto.clone()).collect();
        points(&scenario, text).iter().map(|point| (point.name.clone(), rtos(point))).collect()
    }

    #[test]
    fn each_point_has_its_own_timeouts() {
        let at = |queue: &str, rto: &str| {
            (format!("*.fabric.queue = {queue}"), vec![rto.to_owned(), "4ms".to_owned()])
        };
        assert_eq!(timeouts(SWEPT), [at("100KB", "35.6 us"), at("400KB", "95.4 us"), at("1600KB", "335 us")]);
    }

    #[test]
    fn one_line_has_the_values_of_all_points_without_schemes_of_their_own() {
        let text = |comment: &str| {
            format!(
                "[[point]]\n[point.sweep]\n\"topology.hosts\" = 16\n[[point]]\n[point.sweep]\n\"topology.hosts\" = 32\n\
                 [[scheme]]\nname = \"a\"\n[scheme.transport]\nrto = \"5rtt\"{comment}\n"
            )
        };
        let rtos = |comment: &str| -> Vec<String> {
            timeouts(&text(comment)).into_iter().flat_map(|(_, rtos)| rtos).collect()
        };
        assert_eq!(rtos(" # = 10 us, 12 us"), ["10 us", "12 us"]);
        assert_eq!(rtos(" # = 10 us"), ["10 us", "10 us"]);
        assert_eq!(rtos(""), ["5rtt", "5rtt"]);
        let without = "[[scheme]]\nname = \"a\"\n[scheme.transport]\nrto = \"5rtt\" # = 10 us\n";
        assert_eq!(timeouts(without), [(String::new(), vec!["10 us".to_owned()])]);
    }
}
