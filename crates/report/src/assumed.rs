//! What an answer rests on and no column shows: timeouts, and when faults come.

use anabranch_results::ResultSet;

/// Notes on it, from the resolved scenario.
pub(crate) fn notes(set: &ResultSet) -> Vec<String> {
    let schemes = schemes(&set.scenario_toml);
    let mut notes = Vec::new();
    notes.extend(timeouts(set, &schemes));
    notes.extend(moments(set));
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
    let has_faults = set.scenario_toml.lines().any(|line| line == "[[fault]]");
    let seeds = set.actual().iter().any(|run| run.seed != set.actual()[0].seed);
    let swept = set
        .actual()
        .iter()
        .any(|run| run.sweep.keys().any(|key| key.starts_with("fault.") && key.ends_with(".at")));
    (has_faults && seeds && !swept).then(|| {
        "The faults come at the same moments at every seed: what their moment does is in no interval (sweep fault.0.at)."
            .to_owned()
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
