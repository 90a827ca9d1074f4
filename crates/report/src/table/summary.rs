//! The summary of results: one row per scheme and point of the sweep, with the notes on the rows.

use super::columns::{
    BACK_COLUMNS, BANDWIDTH_COLUMNS, COMPUTE_COLUMNS, Cells, Column, FRONT_COLUMNS, JOB_COLUMNS,
    LENGTH_COLUMNS, LOSS_COLUMNS, PAUSE_COLUMNS, QUEUE_COLUMNS, SITE_COLUMNS, ratio, recovered_after,
    recovery, slowdown_by_fault,
};
use crate::assumption_notes;
use crate::faults;
use crate::groups::{Group, groups, points};
use crate::labels::{TimeUnit, large};
use crate::ranking::{LEAST_SEEDS, Quantity, RankedScheme, Recovery, ranked_quantity, ranked_schemes};
use crate::timeout_notes;
use anabranch_results::{ResultSet, RunRow};
use std::collections::BTreeSet;

pub(crate) struct Head {
    /// The name of the column, with line breaks. The name of a column of times ends with `µs`.
    pub name: String,
    /// The unit of the times in the column, or `None` if the column has no times.
    unit: Option<TimeUnit>,
}

impl Head {
    /// The heading of a column without times.
    pub(crate) fn plain(name: &str) -> Head {
        Head { name: name.to_owned(), unit: None }
    }

    /// The text of the heading, with its line breaks and with the unit of the cells below it.
    pub(crate) fn shown(&self) -> String {
        match self.unit {
            Some(unit) => self.name.replace(TimeUnit::Micros.name(), unit.name()),
            None => self.name.clone(),
        }
    }

    /// The text of the heading with its line breaks, except that words that are broken over two lines are joined.
    pub(crate) fn whole_words(&self) -> String {
        self.shown().replace("-\n", "").trim().to_owned()
    }
}

pub(crate) struct Summary {
    /// The number of columns at the left that identify the row: scheme, swept values and seed. Their cells are aligned
    /// to the left.
    pub words: usize,
    pub head: Vec<Head>,
    pub rows: Vec<Vec<String>>,
    /// The indices of the rows that begin another point of the sweep, if points have several rows.
    pub point_starts: Vec<usize>,
    /// Sentences below the table about the seeds, and about messages and jobs that did not finish.
    pub basis: Vec<String>,
    /// Further sentences below the table: the meaning of columns, and settings that may determine the ranking.
    pub notes: Vec<String>,
}

impl Summary {
    /// Removes the column with this name, if there is one, and returns its name in one line.
    pub(crate) fn remove(&mut self, name: &str) -> Option<String> {
        let index = self.head.iter().position(|head| head.name == name)?;
        self.rows.iter_mut().for_each(|row| drop(row.remove(index)));
        Some(self.head.remove(index).whole_words().replace('\n', " "))
    }
}

/// The summary with one row per scheme and point of the sweep. A note replaces the columns of [`LOSS_COLUMNS`] that
/// contain only zeros.
pub(crate) fn summary(set: &ResultSet) -> Summary {
    summary_of(set, &by_point(groups(set)), false)
}

/// Sorts groups by point of the sweep, in the order of their first runs, so that schemes that are ranked against each
/// other are adjacent.
fn by_point(mut groups: Vec<Group<'_>>) -> Vec<Group<'_>> {
    let points = points(&groups);
    groups.sort_by_key(|group| points.iter().position(|point| *point == group.sweep));
    groups
}

/// The common unit of all columns of times, which suits the largest mean. The result is `None` if the smallest mean
/// above 0 is below 100 µs, because this mean might lose digits in the common unit.
fn shared_unit(groups: &[Group<'_>]) -> Option<TimeUnit> {
    let means: Vec<f64> =
        FRONT_COLUMNS.iter().chain(&JOB_COLUMNS).flat_map(|(_, cells)| cells.means(groups)).collect();
    let least = means.iter().copied().filter(|mean| *mean > 0.0).fold(f64::INFINITY, f64::min);
    (least >= 100.0).then(|| TimeUnit::of(means.into_iter().fold(0.0, f64::max)))
}

/// The summary of these groups. With `per_seed`, each group is a single run and a column shows its seed.
pub(super) fn summary_of(set: &ResultSet, groups: &[Group<'_>], per_seed: bool) -> Summary {
    let ranked_schemes = ranked_schemes(set, groups);
    let mut builder = Builder::new(groups);
    builder.add_swept();
    if per_seed {
        builder.add("seed", None, &|group| group.runs().map(|run| run.seed.to_string()).collect());
    }
    let words = builder.head.len();
    let has_sites = builder.add_times(set);
    builder.add_buffers(set);
    let zero = builder.add_losses();
    let seeds = |group: &Group<'_>| group.indices.len();
    let all_alike = groups.iter().all(|group| seeds(group) == seeds(&groups[0]));
    if !all_alike {
        builder.add("\nseeds", None, &|group| seeds(group).to_string());
    }
    builder.insert_faults(ranked_quantity(set), words, &ranked_schemes);
    if !per_seed && set.figure.is_none() && set.answer.is_none() {
        builder.insert_ranks(words, &ranked_schemes);
    }
    let most = groups.iter().map(seeds).max().unwrap_or(0);
    let mut notes: Vec<String> = (most > 1).then(|| counts_and_ranks(most)).into_iter().collect();
    notes.extend(fault_notes(set, &ranked_schemes));
    if has_sites {
        notes.push(
            "Intra: flows within a data centre; inter: between two. Slowdowns are means without a P."
                .to_owned(),
        );
    }
    if !zero.is_empty() && !groups.is_empty() {
        notes.push(format!("0 in every run: {}.", zero.join(", ")));
    }
    let points = &set.facts.points;
    notes.extend(assumption_notes::notes(set, points));
    notes.extend(timeout_notes::alltoall_concurrency(set, points));
    notes.extend(timeout_notes::ring_in_host_order(points));
    notes.extend(timeout_notes::notes(set));
    notes.extend(faults::notes(set, points));
    let is_start = |place: &usize| groups[*place].sweep != groups[*place - 1].sweep;
    let mut point_starts: Vec<usize> = (1..groups.len()).filter(is_start).collect();
    if per_seed || point_starts.len() + 1 >= groups.len() {
        point_starts.clear();
    }
    let basis = basis(groups, all_alike);
    Summary { words, head: builder.head, rows: builder.rows, point_starts, basis, notes }
}

/// A summary to which columns are added one after the other.
struct Builder<'a> {
    groups: &'a [Group<'a>],
    shared: Option<TimeUnit>,
    head: Vec<Head>,
    rows: Vec<Vec<String>>,
}

impl<'a> Builder<'a> {
    fn new(groups: &'a [Group<'a>]) -> Builder<'a> {
        let head = vec![Head { name: "scheme".to_owned(), unit: None }];
        let rows = groups.iter().map(|group| vec![group.scheme.to_owned()]).collect();
        Builder { groups, shared: shared_unit(groups), head, rows }
    }

    fn add(&mut self, name: &str, unit: Option<TimeUnit>, cell: &dyn Fn(&Group<'_>) -> String) {
        self.head.push(Head { name: name.to_owned(), unit });
        for (row, group) in self.rows.iter_mut().zip(self.groups) {
            row.push(cell(group));
        }
    }

    fn add_column(&mut self, (name, cells): Column) {
        let unit = cells.unit(self.groups, self.shared);
        self.add(name, unit, &|group| cells.cell(group, unit));
    }

    fn add_columns(&mut self, columns: impl IntoIterator<Item = Column>) {
        columns.into_iter().for_each(|column| self.add_column(column));
    }

    fn add_swept(&mut self) {
        let swept: BTreeSet<&str> =
            self.groups.iter().flat_map(|group| group.sweep.keys().map(String::as_str)).collect();
        for name in &swept {
            self.add(short_name(name, &swept), None, &|group| {
                group.sweep.get(*name).map_or_else(|| "-".to_owned(), ToString::to_string)
            });
        }
    }

    /// Adds columns of completion times and slowdowns. Returns whether some of them are slowdowns within and between
    /// data centres.
    fn add_times(&mut self, set: &ResultSet) -> bool {
        self.add_columns(FRONT_COLUMNS);
        if set.flows.iter().any(|flow| flow.bytes != set.flows[0].bytes) {
            self.add_columns(LENGTH_COLUMNS);
        }
        let has = |field: &str| set.runs.iter().any(|run| run.number(field).is_some());
        for (name, field) in SITE_COLUMNS.into_iter().filter(|(_, field)| has(field)) {
            self.add(name, None, &|group| ratio(group, field));
        }
        if set.runs.iter().any(|run| run.jobs > 0) {
            self.add_columns(JOB_COLUMNS);
            self.add_job_parts(set);
        }
        SITE_COLUMNS.iter().any(|(_, field)| has(field))
    }

    /// Adds columns of computing times, or of bandwidths if no rank computes.
    fn add_job_parts(&mut self, set: &ResultSet) {
        let has = |field: &str| set.runs.iter().any(|run| run.number(field).is_some());
        let [(_, computes), _] = COMPUTE_COLUMNS;
        let is_idle = |run: &RunRow| run.number(computes) == Some(0.0);
        if has(computes) && set.runs.iter().all(is_idle) {
            for (name, field) in BANDWIDTH_COLUMNS.into_iter().filter(|(_, field)| has(field)) {
                self.add(name, None, &|group| ratio(group, field));
            }
            return;
        }
        let computing = COMPUTE_COLUMNS.into_iter().filter(|(_, field)| has(field));
        self.add_columns(computing.map(|(name, field)| (name, Cells::Time(field))));
    }

    fn add_buffers(&mut self, set: &ResultSet) {
        if set.actual().iter().any(|run| run.peak_queue_bytes > 0) {
            self.add_columns(QUEUE_COLUMNS);
        }
        if set.runs.iter().any(|run| run.pause_frames > 0 || run.pause_us > 0.0) {
            self.add_columns(PAUSE_COLUMNS);
        }
    }

    /// Adds columns of losses, marks and retransmissions, and of the cost of the simulation. Returns the names of the
    /// columns that are left out because they contain only zeros.
    fn add_losses(&mut self) -> Vec<&'static str> {
        let mut zero = Vec::new();
        for (name, called, number) in LOSS_COLUMNS {
            if self.groups.iter().all(|group| group.total(number) == 0) {
                zero.push(called);
            } else {
                self.add(name, None, &|group| large(group.mean(|run| number(run) as f64)));
            }
        }
        for (name, cells) in BACK_COLUMNS {
            self.add(name, None, &|group| cells.cell(group, None));
        }
        zero
    }

    /// Inserts the columns for recovery and for the slowdown by faults after the ranked quantity, if runs have them.
    fn insert_faults(&mut self, quantity: Quantity, words: usize, ranked_schemes: &[RankedScheme]) {
        let index = behind_ranked(&self.head, words, quantity);
        if ranked_schemes.iter().any(|standing| standing.recovery != Recovery::Unknown) {
            let longest = ranked_schemes.iter().filter_map(recovered_after).fold(0.0, f64::max);
            let unit = self.shared.unwrap_or_else(|| TimeUnit::of(longest));
            let cells = |standing: &RankedScheme| recovery(standing, unit);
            self.insert(index, "recovers\nafter µs", Some(unit), ranked_schemes, &cells);
        }
        if ranked_schemes.iter().any(|standing| standing.slowdown_by_fault.is_some()) {
            self.insert(index, "slowdown\nby fault", None, ranked_schemes, &slowdown_by_fault);
        }
    }

    /// Inserts the column of ranks, if several schemes have a rank.
    fn insert_ranks(&mut self, words: usize, ranked_schemes: &[RankedScheme]) {
        let ranked = self.groups.iter().zip(ranked_schemes).filter(|(_, standing)| standing.rank.is_some());
        if ranked.map(|(group, _)| group.scheme).collect::<BTreeSet<_>>().len() > 1 {
            self.insert(words, "\nrank", None, ranked_schemes, &RankedScheme::rank_shown);
        }
    }

    fn insert(
        &mut self,
        index: usize,
        name: &str,
        unit: Option<TimeUnit>,
        ranked_schemes: &[RankedScheme],
        cell: &dyn Fn(&RankedScheme) -> String,
    ) {
        self.head.insert(index, Head { name: name.to_owned(), unit });
        let rows = self.rows.iter_mut().zip(ranked_schemes);
        rows.for_each(|(row, standing)| row.insert(index, cell(standing)));
    }
}

fn fault_notes(set: &ResultSet, ranked_schemes: &[RankedScheme]) -> Vec<String> {
    let mut notes = Vec::new();
    if ranked_schemes.iter().any(|standing| standing.slowdown_by_fault.is_some()) {
        let kept = match set.baselines().iter().any(|baseline| !baseline.faults.is_empty()) {
            true => ", which has the losses of the topology file as well",
            false => "",
        };
        notes.push(format!("Slowdown by fault: over the same run without faults{kept}, seed by seed."));
    }
    if ranked_schemes.iter().any(|standing| standing.recovery != Recovery::Unknown) {
        notes.push(RECOVERY.to_owned());
    }
    if ranked_schemes.iter().any(|standing| standing.is_untouched) {
        notes.push(
            "unhit: no rank, as the faults hit none of its data at any seed and cost it nothing.".to_owned(),
        );
    }
    notes
}

const RECOVERY: &str = "Recovers after: from the start of the first fault until the goodput of all hosts together is back at \
    95 % of what the run without faults had when as many bytes had arrived, and stays there on average until 95 % of the data \
    are there (over a twentieth of that run's time): a few flows that stay slow show in the slowdown, and hardly here; `no \
    dip`: it never fell below; `tail only`: it did when all but the last data had arrived; `run ended`: it was done \
    first, with the fault still there (`ended in 1/3`: at one of three seeds), which is no worse than a later recovery; `not by \
    end`: it ended with the fault over, or was cut off.";

/// The index after the columns of the ranked quantity and of its ideal, or `words` if there are no such columns.
fn behind_ranked(head: &[Head], words: usize, quantity: Quantity) -> usize {
    let after = match quantity.field {
        "cct_max_us" => "ideal\nCCT µs",
        "slowdown_p99" => "slow-\ndown P99",
        _ => "ideal\nmax µs",
    };
    head.iter().position(|head| head.name == after).map_or(words, |index| index + 1)
}

/// The last component of a parameter's name, if it is unambiguous, or else the whole name.
pub(super) fn short_name<'a>(name: &'a str, all: &BTreeSet<&str>) -> &'a str {
    let last = |name: &'a str| name.rsplit('.').next().unwrap_or(name);
    let alike = all.iter().filter(|other| other.rsplit('.').next() == Some(last(name))).count();
    if alike == 1 { last(name) } else { name }
}

fn counts_and_ranks(seeds: usize) -> String {
    let ranks = if seeds >= LEAST_SEEDS { " Ranks: by the differences seed by seed (paired t)." } else { "" };
    format!("`flows` is the sum over seeds, the peak queue the largest.{ranks}")
}

fn basis(groups: &[Group<'_>], all_alike: bool) -> Vec<String> {
    let mut notes = Vec::new();
    let most = groups.iter().map(|group| group.indices.len()).max().unwrap_or(0);
    if most > 1 {
        let seeds = if all_alike { format!("{most} seeds") } else { "the seeds".to_owned() };
        notes.push(format!(
            "Means over {seeds} of the runs' own numbers, ± the half-width of the 95 % confidence interval \
             (Student's t over seeds)."
        ));
    } else if most == 1 {
        notes.push("One seed: no confidence intervals, no ranks.".to_owned());
    }
    let missing: u64 =
        groups.iter().map(|group| group.total(|run| run.flows.saturating_sub(run.flows_finished))).sum();
    if missing > 0 {
        notes.push(format!(
            "Flows that did not finish: {missing}. FCT columns are about those that did, the ideal about all."
        ));
    }
    let of_jobs = |count: fn(&RunRow) -> u64| groups.iter().map(|group| group.total(count)).sum::<u64>();
    let missing = of_jobs(|run| run.jobs.saturating_sub(run.jobs_finished));
    if missing > 0 {
        let all = of_jobs(|run| run.jobs);
        notes.push(format!(
            "Jobs that did not finish: {missing} of {all}. A scheme that lacks one has no CCT."
        ));
    }
    notes
}
