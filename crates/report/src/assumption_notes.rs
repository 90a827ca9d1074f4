//! Notes on assumptions behind an answer that no column shows: the timeouts, the start times of faults, and schemes
//! that behaved alike.

use crate::groups::{Group, at_each_point, at_points, groups, named};
use crate::points::by_finding;
use anabranch_base::Duration;
use anabranch_results::{FaultFacts, PointFacts, ResultSet, RunRow};

/// The largest number of sets of timeouts that a note lists with their sweep points. It also limits the groups of
/// schemes that a note lists as alike at some points only.
const MOST: usize = 4;

/// The notes on a result set. `points` has the facts about its scenario at each point of the sweep.
pub(crate) fn notes(set: &ResultSet, points: &[PointFacts]) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(timeouts(set, points));
    notes.extend(start_times(set, points));
    notes.extend(identical_schemes(set));
    notes
}

/// Timeouts, and for each timeout the schemes that have it.
type Timeouts<'a> = Vec<(String, Vec<&'a str>)>;

fn timeouts_at(point: &PointFacts) -> Timeouts<'_> {
    let mut by_rto: Timeouts<'_> = Vec::new();
    for scheme in &point.schemes {
        let Some(rto) = &scheme.rto else { continue };
        match by_rto.iter_mut().find(|(known, _)| known == rto) {
            Some((_, names)) => names.push(&scheme.name),
            None => by_rto.push((rto.clone(), vec![&scheme.name])),
        }
    }
    by_rto
}

/// Timeouts as text: `95.4 us (reps, ecmp); 6.42 ms (rocev2)`, or the timeout alone if all schemes have it.
fn in_words(by_rto: &Timeouts<'_>) -> String {
    match &by_rto[..] {
        [(rto, _)] => rto.clone(),
        several => {
            let each = several.iter().map(|(rto, names)| format!("{rto} ({})", names.join(", ")));
            each.collect::<Vec<String>>().join("; ")
        }
    }
}

/// A note on the timeouts, if the schemes have different timeouts or a timer expired. A sweep over buffers or round
/// trips may also change the timeouts, so that two things change between its points.
fn timeouts(set: &ResultSet, points: &[PointFacts]) -> Option<String> {
    let found = by_finding(points, timeouts_at);
    let ran_out = set.actual().iter().any(|run| run.timeouts > 0);
    let differ = found.iter().any(|(by_rto, _)| by_rto.len() > 1);
    if !(ran_out || differ) || found.iter().all(|(by_rto, _)| by_rto.is_empty()) {
        return None;
    }
    let head = "Timeouts (transport.rto, which follows the buffers unless set)";
    if let [(by_rto, _)] = &found[..] {
        return Some(format!("{head}: {}.", in_words(by_rto)));
    }
    let texts = match found.len() <= MOST {
        true => {
            let at = |names: &Vec<String>| match &names[..] {
                [name] => format!("at {name}"),
                _ => at_points(names, points.len()),
            };
            let each = found.iter().map(|(by_rto, names)| format!("{}: {}", at(names), in_words(by_rto)));
            each.collect::<Vec<String>>().join(" | ")
        }
        false => timeout_ranges(points),
    };
    let is_swept = set.actual().iter().any(|run| run.sweep.keys().any(|key| key.ends_with(".rto")));
    let held = match is_swept {
        true => "",
        false => {
            " What is swept acts through the timeouts too: `\"*.transport.rto\" = ...` in [set] with one time for all points \
             holds them."
        }
    };
    Some(format!("{head} change over the sweep, {texts}.{held}"))
}

/// A timeout as a duration, its text in the results, and the name of the sweep point at which it applies.
type SchemeTimeout<'a> = (Duration, &'a str, String);

/// The range of each scheme's timeout over the sweep. Schemes with the same range are listed together.
fn timeout_ranges(points: &[PointFacts]) -> String {
    let mut of_scheme: Vec<(&str, Vec<SchemeTimeout<'_>>)> = Vec::new();
    for point in points {
        for scheme in &point.schemes {
            let Some(rto) = scheme.rto.as_deref() else { continue };
            let Ok(time) = rto.parse::<Duration>() else { continue };
            match of_scheme.iter_mut().find(|(name, _)| *name == scheme.name) {
                Some((_, times)) => times.push((time, rto, named(&point.sweep))),
                None => of_scheme.push((&scheme.name, vec![(time, rto, named(&point.sweep))])),
            }
        }
    }
    let mut texts: Vec<(String, Vec<&str>)> = Vec::new();
    for (name, times) in of_scheme {
        let least = times.iter().min_by_key(|(time, ..)| *time);
        let most = times.iter().rev().max_by_key(|(time, ..)| *time);
        let (Some((first, low, here)), Some((last, high, there))) = (least, most) else { continue };
        let range = match first == last {
            true => (*low).to_owned(),
            false => format!("from {low} (at {here}) to {high} (at {there})"),
        };
        match texts.iter_mut().find(|(known, _)| *known == range) {
            Some((_, names)) => names.push(name),
            None => texts.push((range, vec![name])),
        }
    }
    let each = texts.iter().map(|(range, names)| format!("{}: {range}", names.join(", ")));
    each.collect::<Vec<String>>().join("; ")
}

/// A note that the start times of faults are the same in all seeds, so that no confidence interval contains their
/// effect. It covers the faults that start, end or flap during the run, and whose start time is not swept.
fn start_times(set: &ResultSet, points: &[PointFacts]) -> Option<String> {
    let seeds = set.actual().iter().any(|run| run.seed != set.actual()[0].seed);
    let all = points.iter().map(|point| point.faults.len()).max().unwrap_or(0);
    let is_swept = |fault: usize| {
        let key = format!("fault.{fault}.at");
        set.actual().iter().any(|run| run.sweep.contains_key(&key))
    };
    let has_start_or_end =
        |fault: usize| points.iter().any(|point| point.faults.get(fault).is_some_and(FaultFacts::has_moment));
    let still: Vec<usize> = (0..all).filter(|&fault| has_start_or_end(fault) && !is_swept(fault)).collect();
    let first = still.first().filter(|_| seeds)?;
    let (subject, its) = match &still[..] {
        _ if still.len() == all => ("The faults come at the same moments".to_owned(), "their"),
        [one] => (format!("fault.{one} comes at the same moment"), "its"),
        some => {
            let names: Vec<String> = some.iter().map(|fault| format!("fault.{fault}")).collect();
            (format!("{} come at the same moments", names.join(", ")), "their")
        }
    };
    Some(format!(
        "{subject} at every seed: what {its} moment does is in no interval (sweep fault.{first}.at)."
    ))
}

/// A note on the schemes that behaved alike in every run, or in every run of some sweep points. In these runs, the
/// difference between the schemes had no effect.
fn identical_schemes(set: &ResultSet) -> Option<String> {
    let groups = groups(set);
    let at_points_of = at_each_point(&groups);
    let everywhere = identical_among(&groups.iter().collect::<Vec<_>>());
    let mut at_some: Vec<(Vec<&str>, Vec<String>)> = Vec::new();
    for here in at_points_of.iter().filter(|_| at_points_of.len() > 1) {
        let here: Vec<&Group<'_>> = here.iter().map(|&index| &groups[index]).collect();
        let is_listed =
            |names: &Vec<&str>| everywhere.iter().any(|known| names.iter().all(|name| known.contains(name)));
        for names in identical_among(&here).into_iter().filter(|names| !is_listed(names)) {
            match at_some.iter_mut().find(|(known, _)| *known == names) {
                Some((_, at)) => at.push(named(here[0].sweep)),
                None => at_some.push((names, vec![named(here[0].sweep)])),
            }
        }
    }
    let mut texts: Vec<String> = Vec::new();
    if !everywhere.is_empty() {
        let names: Vec<String> = everywhere.iter().map(|names| names.join(", ")).collect();
        texts.push(format!(
            "in every run, so that what makes them different never acted here: {}",
            names.join("; ")
        ));
    }
    texts.extend(at_some.iter().take(MOST).map(|(names, at)| {
        let at = at_points(at, at_points_of.len());
        format!("{at}, so that what makes them different did not act there: {}", names.join(", "))
    }));
    let more = at_some.len().saturating_sub(MOST);
    texts.extend((more > 0).then(|| format!("and {more} more groups of schemes at some points")));
    (!texts.is_empty()).then(|| format!("The same {}.", texts.join(" | ")))
}

fn identical_among<'a>(groups: &[&Group<'a>]) -> Vec<Vec<&'a str>> {
    let did = |run: &RunRow| {
        let times = [run.fct_mean_us, run.fct_max_us, run.cct_mean_us, run.cct_max_us, run.completion_us];
        let numbers = [run.packet_hops, run.drops, run.ecn_marks, run.retransmissions, run.timeouts];
        (named(&run.sweep), run.seed, times.map(f64::to_bits), numbers)
    };
    let mut by_scheme: Vec<(&str, Vec<_>)> = Vec::new();
    for group in groups {
        let runs = group.runs().filter(|run| run.packet_hops > 0).map(did);
        match by_scheme.iter_mut().find(|(known, _)| *known == group.scheme) {
            Some((_, known)) => known.extend(runs),
            None => by_scheme.push((group.scheme, runs.collect())),
        }
    }
    let mut by_runs: Vec<(Vec<_>, Vec<&str>)> = Vec::new();
    for (scheme, runs) in by_scheme.into_iter().filter(|(_, runs)| !runs.is_empty()) {
        match by_runs.iter_mut().find(|(known, _)| *known == runs) {
            Some((_, names)) => names.push(scheme),
            None => by_runs.push((runs, vec![scheme])),
        }
    }
    by_runs.into_iter().map(|(_, names)| names).filter(|names| names.len() > 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranking::tests::set;
    use crate::scenario_text::SWEPT;
    use crate::scenario_text::set_scenario;
    use anabranch_results::Value;

    fn notes(set: &ResultSet) -> Vec<String> {
        super::notes(set, &set.facts.points)
    }

    fn swept(key: &str, values: &[&str]) -> ResultSet {
        let mut whole = ResultSet::default();
        for value in values {
            let mut here = set(&[("a", &[1.0, 2.0]), ("b", &[3.0, 4.0])]);
            for run in &mut here.runs {
                run.sweep.insert(key.to_owned(), Value::Text((*value).to_owned()));
            }
            whole.runs.extend(here.runs);
        }
        whole
    }

    const TOML: &str = "[[fault]]\nkind = \"link-flap\"\nat = \"5us\"\n\n[[scheme]]\nname = \"a\"\n[scheme.transport]\n\
                        rto = \"2rtt+5queue\" # = 115 us\n\n[[scheme]]\nname = \"b\"\n[scheme.transport]\n\
                        rto = \"4ms\"\n\n[setup]\nname = \"common\"\n";

    #[test]
    fn timeouts_and_moments_are_told() {
        let mut found = set(&[("a", &[1.0, 2.0]), ("b", &[1.0, 2.0])]);
        set_scenario(&mut found, TOML.to_owned());
        let texts = notes(&found);
        assert_eq!(
            texts[0],
            "Timeouts (transport.rto, which follows the buffers unless set): 115 us (a); 4ms (b)."
        );
        assert!(texts[1].contains("the same moments at every seed"), "{texts:?}");
    }

    #[test]
    fn schemes_whose_difference_never_acted_are_named() {
        let mut found = set(&[("a", &[1.0, 2.0]), ("b", &[1.0, 2.0]), ("c", &[1.0, 2.5])]);
        assert_eq!(notes(&found), Vec::<String>::new(), "nothing was sent");
        found.runs.iter_mut().for_each(|run| run.packet_hops = 7);
        assert_eq!(
            notes(&found),
            ["The same in every run, so that what makes them different never acted here: a, b."]
        );
        found.runs[0].ecn_marks = 1;
        assert_eq!(notes(&found), Vec::<String>::new());
    }

    #[test]
    fn what_does_not_bear_on_the_answer_is_not_told() {
        let mut found = set(&[("a", &[1.0]), ("b", &[1.0])]);
        set_scenario(
            &mut found,
            TOML.replace("\"4ms\"", "\"2rtt+5queue\" # = 115 us").replace("[[fault]]", "[other]"),
        );
        assert_eq!(notes(&found), Vec::<String>::new());
        found.runs[0].timeouts = 1;
        assert_eq!(
            notes(&found),
            ["Timeouts (transport.rto, which follows the buffers unless set): 115 us."]
        );
    }

    #[test]
    fn a_sweep_that_moves_timeouts_says_so() {
        let mut found = swept("*.fabric.queue", &["100KB", "400KB", "1600KB"]);
        set_scenario(&mut found, SWEPT.to_owned());
        let held = "What is swept acts through the timeouts too: `\"*.transport.rto\" = ...` in [set] with one time for all \
                    points holds them.";
        assert_eq!(
            notes(&found),
            [format!(
                "Timeouts (transport.rto, which follows the buffers unless set) change over the sweep, at *.fabric.queue = \
                 100KB: 35.6 us (a); 4ms (b) | at *.fabric.queue = 400KB: 95.4 us (a); 4ms (b) | at *.fabric.queue = \
                 1600KB: 335 us (a); 4ms (b). {held}"
            )]
        );
        // A sweep that does not change the timeouts has the same note as a single run.
        set_scenario(&mut found, SWEPT.replace("95.4 us", "35.6 us").replace("335 us", "35.6 us"));
        let texts = notes(&found);
        assert_eq!(
            texts,
            ["Timeouts (transport.rto, which follows the buffers unless set): 35.6 us (a); 4ms (b)."]
        );
        // If all schemes have the same timeout at each point, the note appears only if a timer expired.
        set_scenario(&mut found, SWEPT.replace("name = \"b\"", "").replace("rto = \"4ms\"", ""));
        assert_eq!(notes(&found), Vec::<String>::new());
        found.runs[0].timeouts = 1;
        assert!(notes(&found)[0].contains("at *.fabric.queue = 400KB: 95.4 us | "), "{:?}", notes(&found));
    }

    #[test]
    fn of_many_points_it_is_told_how_far_timeouts_go() {
        let queues = ["1KB", "2KB", "3KB", "4KB", "5KB", "6KB"];
        let mut found = swept("*.fabric.queue", &queues);
        let point = |(number, queue): (usize, &&str)| {
            format!(
                "[[point]]\n[[point.scheme]]\nname = \"a\"\n[point.scheme.transport]\nrto = \"2rtt+5queue\" # = {} us\n\
                 [[point.scheme]]\nname = \"b\"\n[point.scheme.transport]\nrto = \"4ms\"\n\
                 [point.sweep]\n\"*.fabric.queue\" = \"{queue}\"\n",
                number + 7
            )
        };
        set_scenario(&mut found, queues.iter().enumerate().map(point).collect::<String>());
        let texts = notes(&found).remove(0);
        let range = "change over the sweep, a: from 7 us (at *.fabric.queue = 1KB) to 12 us (at *.fabric.queue = 6KB); b: 4ms.";
        assert!(texts.contains(range), "{texts}");
        found
            .runs
            .iter_mut()
            .for_each(|run| drop(run.sweep.insert("a.transport.rto".into(), Value::Integer(1))));
        assert!(!notes(&found)[0].contains("holds them"), "{:?}", notes(&found));
    }

    #[test]
    fn moments_that_are_swept_are_in_the_table() {
        let mut found = swept("fault.0.at", &["1us", "2us"]);
        set_scenario(&mut found, TOML.replace("rto = ", "rate = "));
        assert_eq!(notes(&found), Vec::<String>::new());
        let text = format!("{}[[fault]]\nkind = \"link-down\"\n", found.scenario_toml);
        set_scenario(&mut found, text);
        assert_eq!(
            notes(&found),
            [
                "fault.1 comes at the same moment at every seed: what its moment does is in no interval (sweep fault.1.at)."
            ]
        );
        let mut found = swept("fault.0.kind", &["link-down", "link-flap"]);
        set_scenario(
            &mut found,
            "[[point]]\n[[point.fault]]\nkind = \"link-down\"\n[point.sweep]\nx = 1\n".to_owned(),
        );
        assert!(notes(&found)[0].starts_with("The faults come at the same moments"), "{:?}", notes(&found));
    }

    #[test]
    fn schemes_that_are_alike_at_some_points_are_named_with_them() {
        let mut found = swept("x", &["1", "2", "3"]);
        found.runs.iter_mut().for_each(|run| run.packet_hops = 7);
        found.runs.iter_mut().for_each(|run| run.fct_max_us = if run.scheme == "a" { 1.0 } else { 2.0 });
        assert_eq!(notes(&found), Vec::<String>::new());
        found
            .runs
            .iter_mut()
            .filter(|run| run.sweep["x"] != Value::Text("3".into()))
            .for_each(|run| run.fct_max_us = 1.0);
        assert_eq!(
            notes(&found),
            [
                "The same at 2 of 3 sweep points (x = 1; x = 2), so that what makes them different did not act there: a, b."
            ]
        );
        found.runs.iter_mut().for_each(|run| run.fct_max_us = 1.0);
        assert_eq!(
            notes(&found),
            ["The same in every run, so that what makes them different never acted here: a, b."]
        );
    }
}
