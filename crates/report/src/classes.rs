//! Sentences about the traffic classes beside the compared one, for each scheme.

use crate::groups::{Group, groups};
use crate::labels::{count, duration};
use anabranch_results::{FlowRow, ResultSet, RunRow, Statistic};

/// A line for each class other than `main`: its slowdowns under each compared scheme, and its drops and pauses as
/// means over runs.
pub(crate) fn notes(set: &ResultSet) -> Vec<String> {
    let groups = groups(set);
    let classes = set.actual().iter().find_map(classes).unwrap_or_default();
    let line = |class: &String| {
        let schemes: Vec<String> = groups.iter().filter_map(|group| of_scheme(set, group, class)).collect();
        format!("Class {class}, beside each scheme: {}.", schemes.join("; "))
    };
    classes.iter().filter(|class| *class != "main").map(line).collect()
}

/// The classes of a run. None if it has only one.
fn classes(run: &RunRow) -> Option<Vec<String>> {
    let paused = run.extra.keys().filter_map(|name| name.strip_prefix("pause_us_")).map(str::to_owned);
    Some(paused.collect::<Vec<String>>()).filter(|classes| !classes.is_empty())
}

fn of_scheme(set: &ResultSet, group: &Group<'_>, class: &str) -> Option<String> {
    let runs = || group.indices.iter().map(|index| &set.runs[*index]);
    let of_class = |flow: &&FlowRow| group.indices.contains(&(flow.run as usize)) && flow.in_group(class);
    let slowdowns: Vec<f64> = set.flows.iter().filter(of_class).filter_map(FlowRow::slowdown).collect();
    let mean = |name: &str| {
        let values: Vec<f64> =
            runs().filter_map(|run| run.extra.get(&format!("{name}_{class}")).copied()).collect();
        Statistic::Mean.of(&values)
    };
    let of_flows = |statistic: Statistic| statistic.of(&slowdowns).map(|value| format!("{value:.2}"));
    let slowed = match (of_flows(Statistic::Mean), of_flows(Statistic::Percentile(99.0))) {
        (Some(mean), Some(p99)) => format!("slowdown {mean}, P99 {p99}, "),
        _ => String::new(),
    };
    Some(format!(
        "{} {slowed}{} drops, paused {}",
        group.scheme,
        count(mean("drops")?),
        duration(mean("pause_us")?)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::two_schemes;

    #[test]
    fn each_class_says_how_it_went_beside_each_scheme() {
        let mut set = two_schemes();
        assert!(notes(&set).is_empty());
        for (index, run) in set.runs.iter_mut().enumerate() {
            for (name, value) in [("drops", 2.0), ("ecn_marks", 0.0), ("pause_us", index as f64)] {
                run.extra.insert(format!("{name}_storage"), value);
                run.extra.insert(format!("{name}_main"), 0.0);
            }
        }
        set.runs.truncate(1);
        set.flows = [150, 250]
            .map(|fct| FlowRow {
                run: 0,
                fct_ps: Some(fct),
                ideal_fct_ps: 100,
                group: "storage".into(),
                ..FlowRow::default()
            })
            .to_vec();
        let scheme = &set.runs[0].scheme;
        let expected = format!(
            "Class storage, beside each scheme: {scheme} slowdown 2.00, P99 2.50, 2 drops, paused {}.",
            duration(0.0)
        );
        assert_eq!(notes(&set), [expected]);
    }
}
