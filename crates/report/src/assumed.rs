//! What an answer rests on and no column shows: timeouts, when faults come, and schemes whose difference did not act.

use anabranch_results::{ResultSet, RunRow};
use std::collections::BTreeMap;

/// Notes on it, from the resolved scenario.
pub(crate) fn notes(set: &ResultSet) -> Vec<String> {
    let schemes = schemes(&set.scenario_toml);
    let mut notes = Vec::new();
    notes.extend(timeouts(set, &schemes));
    notes.extend(moments(set));
    notes.extend(alike(set));
    notes
}

/// A scheme of the resolved scenario.
#[derive(Default)]
struct Of<'a> {
    name: &'a str,
    /// How long its timeout is, as the scenario has worked it out.
    rto: Option<&'a str>,
}

fn schemes(toml: &str) -> Vec<Of<'_>> {
    let mut found: Vec<Of<'_>> = Vec::new();
    let mut within = false;
    for line in toml.lines() {
        if line.starts_with('[') {
            within = line.starts_with("[scheme.") || line == "[[scheme]]";
            if line == "[[scheme]]" {
                found.push(Of::default());
            }
            continue;
        }
        let Some(scheme) = found.last_mut().filter(|_| within) else { continue };
        if let Some(name) = line.strip_prefix("name = ") {
            scheme.name = name.trim_matches('"');
        } else if let Some(rto) = line.strip_prefix("rto = ") {
            let worked_out = rto.split_once("# = ").map(|(_, value)| value);
            scheme.rto = Some(worked_out.unwrap_or(rto.trim_matches('"')));
        }
    }
    found
}

/// The timeouts, where schemes wait for different ones or a timer ran out. Of a sweep that may move them nothing is said.
fn timeouts(set: &ResultSet, schemes: &[Of<'_>]) -> Option<String> {
    let moves = |key: &String| {
        key.contains("fabric.") || key.contains("rto") || key.contains("topology.") || key == "setup"
    };
    if set.actual().iter().any(|run| run.sweep.keys().any(moves)) {
        return None;
    }
    let mut by_rto: Vec<(&str, Vec<&str>)> = Vec::new();
    for scheme in schemes {
        let rto = scheme.rto?;
        match by_rto.iter_mut().find(|(known, _)| *known == rto) {
            Some((_, names)) => names.push(scheme.name),
            None => by_rto.push((rto, vec![scheme.name])),
        }
    }
    let ran_out = set.actual().iter().any(|run| run.timeouts > 0);
    let told: Vec<String> = match &by_rto[..] {
        [] => return None,
        [(rto, _)] if ran_out => vec![(*rto).to_owned()],
        [_] => return None,
        several => several.iter().map(|(rto, names)| format!("{rto} ({})", names.join(", "))).collect(),
    };
    Some(format!("Timeouts (transport.rto, which follows the buffers unless set): {}.", told.join("; ")))
}

/// That no interval holds what the moments of the faults do.
fn moments(set: &ResultSet) -> Option<String> {
    let scenario: toml::Table = toml::from_str(&set.scenario_toml).ok()?;
    let faults = scenario.get("fault").and_then(toml::Value::as_array);
    // What holds from the start to the end has none.
    let has_moment = |fault: &toml::Value| {
        let at_start = fault.get("at").and_then(toml::Value::as_str) == Some("0ps");
        !at_start || fault.get("duration").is_some() || fault.get("period").is_some()
    };
    let has_moments = faults.is_some_and(|faults| faults.iter().any(has_moment));
    let seeds = set.actual().iter().any(|run| run.seed != set.actual()[0].seed);
    let swept = set
        .actual()
        .iter()
        .any(|run| run.sweep.keys().any(|key| key.starts_with("fault.") && key.ends_with(".at")));
    (has_moments && seeds && !swept).then(|| {
        "The faults come at the same moments at every seed: what their moment does is in no interval (sweep fault.0.at)."
            .to_owned()
    })
}

/// Which schemes did the same in every run: what makes them different never acted.
fn alike(set: &ResultSet) -> Option<String> {
    let did = |run: &RunRow| {
        let times = [run.fct_mean_us, run.fct_max_us, run.cct_mean_us, run.cct_max_us, run.completion_us];
        let counts = [run.packet_hops, run.drops, run.ecn_marks, run.retransmissions, run.timeouts];
        let point = run.sweep.iter().map(|(name, value)| format!("{name} = {value}"));
        (point.collect::<Vec<_>>(), run.seed, times.map(f64::to_bits), counts)
    };
    let mut by_scheme: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for run in set.actual().iter().filter(|run| run.packet_hops > 0) {
        by_scheme.entry(&run.scheme).or_default().push(did(run));
    }
    let mut by_runs: Vec<(Vec<_>, Vec<&str>)> = Vec::new();
    for scheme in crate::groups::schemes(set) {
        let Some(runs) = by_scheme.remove(scheme) else { continue };
        match by_runs.iter_mut().find(|(known, _)| *known == runs) {
            Some((_, names)) => names.push(scheme),
            None => by_runs.push((runs, vec![scheme])),
        }
    }
    let alike = by_runs.iter().filter(|(_, names)| names.len() > 1).map(|(_, names)| names.join(", "));
    let alike: Vec<String> = alike.collect();
    (!alike.is_empty()).then(|| {
        format!(
            "The same in every run, so that what makes them different never acted here: {}.",
            alike.join("; ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::standing::tests::set;

    const TOML: &str = "[[fault]]\nkind = \"link-flap\"\nat = \"5us\"\n\n[[scheme]]\nname = \"a\"\n[scheme.transport]\n\
                        rto = \"2rtt+5queue\" # = 115 us\n\n[[scheme]]\nname = \"b\"\n[scheme.transport]\n\
                        rto = \"4ms\"\n\n[setup]\nname = \"common\"\n";

    #[test]
    fn timeouts_and_moments_are_told() {
        let mut found = set(&[("a", &[1.0, 2.0]), ("b", &[1.0, 2.0])]);
        found.scenario_toml = TOML.to_owned();
        let told = notes(&found);
        assert_eq!(
            told[0],
            "Timeouts (transport.rto, which follows the buffers unless set): 115 us (a); 4ms (b)."
        );
        assert!(told[1].contains("the same moments at every seed"), "{told:?}");
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
        found.scenario_toml =
            TOML.replace("\"4ms\"", "\"2rtt+5queue\" # = 115 us").replace("[[fault]]", "[fault]");
        assert_eq!(notes(&found), Vec::<String>::new());
        found.runs[0].timeouts = 1;
        assert_eq!(
            notes(&found),
            ["Timeouts (transport.rto, which follows the buffers unless set): 115 us."]
        );
        for run in &mut found.runs {
            run.sweep.insert("*.fabric.queue".into(), anabranch_results::Value::Text("1MB".into()));
        }
        assert_eq!(notes(&found), Vec::<String>::new());
    }
}
