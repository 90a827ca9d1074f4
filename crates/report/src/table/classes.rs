//! The table of traffic classes: a row for each class under each scheme.

use super::summary::{Head, Summary};
use crate::groups::{Group, groups};
use crate::labels::{count, duration};
use anabranch_results::{FlowRow, ResultSet, RunRow, Statistic};

/// The class of the compared schemes, whose times and slowdowns are those of the run itself.
const FIRST: &str = "main";
/// The title above the table.
pub(crate) const TITLE: &str = "Traffic classes";
/// The headings of the columns after the scheme, the swept values and the class.
const HEADS: [&str; 7] = [
    "mean\nFCT",
    "max\nFCT",
    "mean\nslowdown",
    "P99\nslowdown",
    "\ndrops",
    "ECN\nmarks",
    "paused\nport time",
];
const NOTE: &str =
    "A dash: the messages of a job have no slowdowns, and outside main no FCTs; jobs have their CCT above.";

/// The rows of the schemes in the order of their first runs, `main` first, with means over the seeds. `None` if the
/// results have one class only.
pub(crate) fn summary(set: &ResultSet) -> Option<Summary> {
    let classes = set.actual().iter().find_map(classes)?;
    let times: Vec<Times> = classes.iter().map(|class| Times::of(set, class)).collect();
    let groups = groups(set);
    let swept: Vec<&String> = groups.first().map_or_else(Vec::new, |group| group.sweep.keys().collect());
    let mut rows = Vec::new();
    for group in &groups {
        for (class, times) in classes.iter().zip(&times) {
            let mut row = vec![group.scheme.to_owned()];
            row.extend(
                swept.iter().map(|name| group.sweep.get(*name).map_or_else(dash, ToString::to_string)),
            );
            row.push(class.clone());
            row.extend(cells(set, group, class, times));
            rows.push(row);
        }
    }
    let words = std::iter::once("scheme").chain(swept.iter().map(|name| name.as_str())).chain(["class"]);
    let head: Vec<Head> = words.chain(HEADS).map(Head::plain).collect();
    let point_starts = (1..groups.len()).map(|group| group * classes.len()).collect();
    let lacks = rows.iter().flatten().any(|cell| *cell == dash());
    let basis = lacks.then(|| NOTE.to_owned()).into_iter().collect();
    Some(Summary { words: head.len() - HEADS.len(), head, rows, point_starts, basis, notes: Vec::new() })
}

/// The classes of a run, the first one first. None if it has only one.
fn classes(run: &RunRow) -> Option<Vec<String>> {
    let named = run.extra.keys().filter_map(|name| name.strip_prefix("pause_us_"));
    let others = named.filter(|class| *class != FIRST);
    let classes: Vec<String> = std::iter::once(FIRST).chain(others).map(str::to_owned).collect();
    (classes.len() > 1).then_some(classes)
}

/// The FCTs in µs and the slowdowns of the messages of a class, for each run.
struct Times(Vec<[Vec<f64>; 2]>);

impl Times {
    fn of(set: &ResultSet, class: &str) -> Times {
        let mut times = vec![[Vec::new(), Vec::new()]; set.runs.len()];
        for flow in set.flows.iter().filter(|flow| class != FIRST && flow.in_group(class)) {
            if let (Some(of_run), Some(fct), Some(slowdown)) =
                (times.get_mut(flow.run as usize), flow.fct_ps, FlowRow::slowdown(flow))
            {
                of_run[0].push(fct as f64 / 1e6);
                of_run[1].push(slowdown);
            }
        }
        Times(times)
    }

    /// The mean and the largest FCT, and the mean and the 99th percentile of the slowdown.
    fn statistics(&self, run: usize) -> [Option<f64>; 4] {
        let [fcts, slowdowns] = &self.0[run];
        [
            Statistic::Mean.of(fcts),
            fcts.iter().copied().reduce(f64::max),
            Statistic::Mean.of(slowdowns),
            Statistic::Percentile(99.0).of(slowdowns),
        ]
    }
}

fn cells(set: &ResultSet, group: &Group<'_>, class: &str, times: &Times) -> Vec<String> {
    let of_run = |&run: &usize| match class == FIRST {
        true => ["fct_mean_us", "fct_max_us", "slowdown_mean", "slowdown_p99"]
            .map(|name| set.runs[run].number(name).filter(|number| *number > 0.0)),
        false => times.statistics(run),
    };
    let each: Vec<[Option<f64>; 4]> = group.indices.iter().map(of_run).collect();
    let mean = |place: usize| {
        let values: Option<Vec<f64>> = each.iter().map(|run| run[place]).collect();
        Statistic::Mean.of(&values?)
    };
    let counted = |name: &str| group.estimate(&format!("{name}_{class}")).map(|estimate| estimate.mean);
    let ratio = |value: f64| format!("{value:.2}");
    [
        mean(0).map(duration),
        mean(1).map(duration),
        mean(2).map(ratio),
        mean(3).map(ratio),
        counted("drops").map(count),
        counted("ecn_marks").map(count),
        counted("pause_us").map(duration),
    ]
    .map(|cell| cell.unwrap_or_else(dash))
    .to_vec()
}

fn dash() -> String {
    "-".to_owned()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::samples::two_schemes;

    /// The results of [`two_schemes`] with a class `storage`, of which the first run has two messages.
    pub(crate) fn two_classes() -> ResultSet {
        let mut set = two_schemes();
        for (index, run) in set.runs.iter_mut().enumerate() {
            for (name, value) in [("drops", 2.0), ("ecn_marks", 7.0), ("pause_us", index as f64)] {
                run.extra.insert(format!("{name}_storage"), value);
                run.extra.insert(format!("{name}_main"), 0.0);
            }
        }
        set.runs.truncate(1);
        set.flows = [150, 250]
            .map(|fct| FlowRow {
                run: 0,
                fct_ps: Some(fct * 1_000_000),
                ideal_fct_ps: 100_000_000,
                group: "storage".into(),
                ..FlowRow::default()
            })
            .to_vec();
        set
    }

    #[test]
    fn each_class_has_a_row_under_each_scheme() {
        assert!(summary(&two_schemes()).is_none());
        let set = two_classes();
        let found = summary(&set).unwrap();
        let heads: Vec<&str> = found.head.iter().map(|head| head.name.as_str()).collect();
        assert_eq!(heads[..3], ["scheme", "workload.bytes", "class"]);
        let storage = ["200.0 µs", "250.0 µs", "2.00", "2.50", "2", "7", "0.00 µs"];
        assert_eq!(found.rows[1][2..], [&["storage"], &storage[..]].concat());
        assert_eq!(
            found.rows[0][2..5],
            ["main", &duration(set.runs[0].fct_mean_us), &duration(set.runs[0].fct_max_us)]
        );
        assert_eq!(found.rows.len(), 2);
    }

    #[test]
    fn a_class_of_jobs_has_counts_alone() {
        let mut set = two_classes();
        set.flows.clear();
        let found = summary(&set).unwrap();
        assert_eq!(found.rows[1][3..], ["-", "-", "-", "-", "2", "7", "0.00 µs"]);
    }
}
