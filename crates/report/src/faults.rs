//! Sentences about the packets that each fault affected, for each scheme.

use crate::groups::{Group, at_points, groups, named, points};
use crate::labels::{count, duration};
use crate::points::by_finding;
use anabranch_results::{FaultRow, PointFacts, ResultSet, RunRow};
use std::collections::BTreeSet;

/// The largest number of faults with notes of their own, and the largest number of lines in these notes.
const MOST: u32 = 8;

/// A line for each of the first [`MOST`] faults about the number of packets that it affected in a run of each scheme,
/// and a note on routing. If there are few faults and few points of the sweep, each point has its own line.
pub(crate) fn notes(set: &ResultSet, resolved: &[PointFacts]) -> Vec<String> {
    let groups = groups(set);
    let count = set.runs.iter().flat_map(|run| &run.faults).map(|row| row.fault + 1).max().unwrap_or(0);
    let points = points(&groups);
    let of_point = |point: &_| groups.iter().filter(|group| group.sweep == *point).collect();
    let by_point: Vec<(String, Vec<&Group<'_>>)> = match points.len() {
        0 | 1 => vec![(String::new(), groups.iter().collect())],
        few if few * count.min(MOST) as usize <= MOST as usize => {
            points.iter().map(|point| (format!(" at {}", named(point)), of_point(point))).collect()
        }
        many => vec![(format!(" over {many} sweep points"), groups.iter().collect())],
    };
    let faults = (0..count.min(MOST)).flat_map(|fault| by_point.iter().map(move |point| (fault, point)));
    let mut notes: Vec<String> = faults.filter_map(|(fault, (at, groups))| note(groups, fault, at)).collect();
    if count > MOST {
        notes.push(format!("fault.{MOST} to fault.{}: faults.parquet.", count - 1));
    }
    notes.extend(routing(set, resolved));
    notes
}

/// A note on the time at which routing withdraws failed links, or none if no link goes down or the results have no
/// facts about schemes. This time largely determines the cost of a fault. Without `fabric.routing_delay`, routing
/// never reacts, except that adaptive routing immediately avoids a switch's own failed ports.
fn routing(set: &ResultSet, points: &[PointFacts]) -> Option<String> {
    let goes_down = |row: &FaultRow| ["link-down", "switch-down", "link-flap"].contains(&&*row.kind);
    if !set.runs.iter().flat_map(|run| &run.faults).any(goes_down) {
        return None;
    }
    let found = by_finding(points, withdrawn);
    let when = match &found[..] {
        [(when, _)] => when.clone(),
        several => {
            let each = several.iter().take(MOST_DELAYS);
            let each = each.map(|(when, names)| format!("{}: {when}", at_points(names, points.len())));
            let more = several.len().saturating_sub(MOST_DELAYS);
            let more = if more > 0 { format!(" | and in {more} more ways") } else { String::new() };
            each.collect::<Vec<String>>().join(" | ") + &more
        }
    };
    let has_schemes = points.iter().any(|point| !point.schemes.is_empty());
    has_schemes.then(|| {
        format!(
            "Routing withdraws a failed link: {when} (fabric.routing_delay). The delay may decide the ranking."
        )
    })
}

/// The largest number of routing delays that the note lists with their sweep points.
const MOST_DELAYS: usize = 4;

/// The time at which routing withdraws a failed link at a point of the sweep: `after 20us (reps); never (ops)`.
fn withdrawn(point: &PointFacts) -> String {
    let mut by_delay: Vec<(String, Vec<&str>)> = Vec::new();
    for scheme in &point.schemes {
        let delay = match (&scheme.routing_delay, scheme.adaptive_routing) {
            (Some(delay), _) => format!("after {delay}"),
            (None, true) => "at once at a switch's own ports, else never".to_owned(),
            (None, false) => "never".to_owned(),
        };
        match by_delay.iter_mut().find(|(known, _)| *known == delay) {
            Some((_, names)) => names.push(&scheme.name),
            None => by_delay.push((delay, vec![&scheme.name])),
        }
    }
    match &by_delay[..] {
        [(delay, _)] => delay.clone(),
        many => {
            let of = many.iter().map(|(delay, names)| format!("{delay} ({})", names.join(", ")));
            of.collect::<Vec<String>>().join("; ")
        }
    }
}

/// The faults of a run that its baseline does not have. The losses of the topology file are in the baseline too, unless
/// the run has no other faults.
pub(crate) fn faults_beyond_baseline<'a>(
    run: &'a RunRow,
    baseline: Option<&'a RunRow>,
) -> impl Iterator<Item = &'a FaultRow> {
    let kept = baseline.map_or(&[][..], |baseline| &baseline.faults[..]);
    let kept: BTreeSet<(&str, &str)> = kept.iter().map(|fault| (&*fault.kind, &*fault.on)).collect();
    run.faults.iter().filter(move |fault| !kept.contains(&(&*fault.kind, &*fault.on)))
}

/// Whether a fault that `run` has and its `baseline` lacks was active when the run ended. This is false if the faults
/// differ between points of the sweep.
pub(crate) fn is_active_at_end(set: &ResultSet, run: &RunRow, baseline: Option<&RunRow>) -> bool {
    faults_beyond_baseline(run, baseline).any(|fault| {
        let Some(facts) = set.facts.fault(fault.fault) else { return false };
        let mut starts = facts.starts_us.iter().filter(|from| **from < run.sim_time_us);
        starts.any(|from| facts.end_us(*from).is_none_or(|end| end >= run.sim_time_us))
    })
}

fn note(groups: &[&Group<'_>], fault: u32, at_point: &str) -> Option<String> {
    let mut by_scheme: Vec<(&str, Vec<&FaultRow>)> = Vec::new();
    for group in groups {
        let rows = group.runs().flat_map(|run| &run.faults).filter(|row| row.fault == fault);
        match by_scheme.iter_mut().find(|(scheme, _)| *scheme == group.scheme) {
            Some((_, known)) => known.extend(rows),
            None => by_scheme.push((group.scheme, rows.collect())),
        }
    }
    let rows = || by_scheme.iter().flat_map(|(_, rows)| rows);
    let first = rows().next()?;
    // A start time that the sweep changes differs by point, and is left out.
    let at = match rows().all(|row| row.at_us == first.at_us) {
        true => format!(" from {}", duration(first.at_us)),
        false => String::new(),
    };
    let on = match rows().all(|row| row.on == first.on) {
        true => format!(" {}", first.on),
        false => String::new(),
    };
    let hits: Vec<String> =
        by_scheme.iter().map(|(scheme, rows)| format!("{scheme} {}", hit(rows))).collect();
    Some(format!("fault.{fault} ({}{on}{at}), packets of a run{at_point}: {}.", first.kind, hits.join("; ")))
}

/// The packets that a fault affected, as a range over runs: `132 lost`, `12 to 14 refused`, `none`.
fn hit(rows: &[&FaultRow]) -> String {
    type Packets = fn(&FaultRow) -> u64;
    let kinds: [(&str, Packets); 3] = [
        ("lost", |row| row.packets_lost),
        ("refused", |row| row.packets_refused),
        ("slowed", |row| row.packets_slowed),
    ];
    let counts = kinds.into_iter().filter_map(|(word, number)| {
        let most = rows.iter().map(|row| number(row)).max().filter(|most| *most > 0)?;
        let least = rows.iter().map(|row| number(row)).min().filter(|least| *least < most);
        let least = least.map_or_else(String::new, |least| format!("{} to ", count(least as f64)));
        Some(format!("{least}{} {word}", count(most as f64)))
    });
    let counts: Vec<String> = counts.collect();
    if counts.is_empty() { "none".to_owned() } else { counts.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::two_schemes;
    use crate::scenario_text::set_scenario;
    use anabranch_results::FaultFacts;

    fn notes(set: &ResultSet) -> Vec<String> {
        super::notes(set, &set.facts.points)
    }

    fn row(fault: u32, at_us: f64, lost: u64, slowed: u64) -> FaultRow {
        FaultRow {
            fault,
            kind: "link-down".into(),
            on: "tor:0/up:0".into(),
            at_us,
            packets_lost: lost,
            packets_slowed: slowed,
            ..FaultRow::default()
        }
    }

    #[test]
    fn a_fault_after_the_end_of_a_run_is_not_active_at_its_end() {
        let mut set = two_schemes();
        let facts = |from: f64, duration: Option<f64>| FaultFacts {
            starts_us: vec![from],
            duration_us: duration,
            ..FaultFacts::default()
        };
        let mut is_active = |facts: FaultFacts| {
            set.facts.points = vec![PointFacts { faults: vec![facts], ..PointFacts::default() }];
            let run = RunRow { faults: vec![row(0, 0.0, 0, 0)], sim_time_us: 100.0, ..RunRow::default() };
            is_active_at_end(&set, &run, None)
        };
        assert!(is_active(facts(50.0, None)) && is_active(facts(50.0, Some(60.0))));
        assert!(!is_active(facts(50.0, Some(10.0))));
        assert!(!is_active(facts(150.0, None)) && !is_active(facts(150.0, Some(10.0))));
    }

    #[test]
    fn each_fault_says_what_it_did_to_each_scheme() {
        let mut set = two_schemes();
        assert!(notes(&set).is_empty());
        for (index, run) in set.runs.iter_mut().enumerate() {
            let reps = run.scheme == "reps";
            run.faults = vec![row(0, 100.0, if reps { 1_132 } else { 90 + index as u64 }, 0)];
        }
        let text = "fault.0 (link-down tor:0/up:0 from 100.0 µs), packets of a run";
        let expected = [
            format!("{text} at workload.bytes = 8MiB: reps 1,132 lost; ops 94 to 95 lost."),
            format!("{text} at workload.bytes = 16MiB: reps 1,132 lost; ops 96 to 97 lost."),
        ];
        assert_eq!(notes(&set), expected);
        set.runs.iter_mut().for_each(|run| run.sweep.clear());
        assert_eq!(notes(&set), [format!("{text}: reps 1,132 lost; ops 94 to 97 lost.")]);
    }

    #[test]
    fn when_routing_follows_is_never_unsaid() {
        let mut set = two_schemes();
        let scheme =
            |name: &str, more: &str| format!("[[scheme]]\nname = \"{name}\"\n[scheme.fabric]\n{more}");
        let delay = "routing_delay = \"20us\"\n";
        for (of_reps, of_ops, expected) in
            [("", "", "never"), (delay, delay, "after 20us"), (delay, "", "after 20us (reps); never (ops)")]
        {
            set_scenario(&mut set, scheme("reps", of_reps) + &scheme("ops", of_ops));
            set.runs[0].faults = vec![row(0, 100.0, 1, 0)];
            let expected = format!("Routing withdraws a failed link: {expected} (fabric.routing_delay).");
            assert!(notes(&set).last().is_some_and(|text| text.starts_with(&expected)), "{:?}", notes(&set));
            set.runs[0].faults[0].kind = "packet-loss".into();
            assert_eq!(notes(&set).len(), 1, "nothing goes down");
        }
        let point = |more: &str, value: &str| {
            let of_point = scheme("reps", more).replace("scheme", "point.scheme");
            format!("[[point]]\n{of_point}[point.sweep]\ndelay = \"{value}\"\n")
        };
        set_scenario(&mut set, point("", "no") + &point(delay, "20us"));
        set.runs[0].faults = vec![row(0, 100.0, 1, 0)];
        let expected = "Routing withdraws a failed link: at 1 of 2 sweep points (delay = no): never | at 1 of 2 sweep points \
                        (delay = 20us): after 20us (fabric.routing_delay).";
        assert!(notes(&set).last().is_some_and(|text| text.starts_with(expected)), "{:?}", notes(&set));
    }

    #[test]
    fn what_is_swept_is_not_named_and_many_faults_are_cut_short() {
        let mut set = two_schemes();
        for (index, run) in set.runs.iter_mut().enumerate() {
            run.faults = (0..10).map(|fault| row(fault, index as f64, 0, u64::from(fault == 0))).collect();
        }
        let notes = notes(&set);
        assert_eq!(notes.len(), 9);
        assert_eq!(
            notes[0],
            "fault.0 (link-down tor:0/up:0), packets of a run over 2 sweep points: reps 1 slowed; ops 1 slowed."
        );
        assert!(notes[1].ends_with("reps none; ops none."), "{}", notes[1]);
        assert_eq!(notes[8], "fault.8 to fault.9: faults.parquet.");
    }
}
