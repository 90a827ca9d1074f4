//! Tables for a terminal.

use crate::assumption_notes;
use crate::faults;
use crate::ground::ground;
use crate::groups::{Group, each_run, groups, points};
use crate::labels::{TimeUnit, bytes, half_width, large, micros};
use crate::ranking::{LEAST_SEEDS, Quantity, Recovery, Standing, ranked_quantity, standings};
use crate::resolved;
use crate::timeout_notes;
use crate::verdict::verdict;
use anabranch_results::{Estimate, ResultSet, RunRow};
use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle, presets};
use std::collections::BTreeSet;

/// The width of a line, in characters, for a terminal that does not state its own.
pub const USUAL_WIDTH: usize = 120;

/// A column of the summary: its head and its cells.
type Column = (&'static str, Cells);

/// The cells of a column, one per scheme and point.
#[derive(Clone, Copy)]
enum Cells {
    /// Text that is computed from the runs.
    Words(fn(&Group<'_>) -> String),
    /// A time in µs of this name, as the mean over seeds. All cells of a column have one unit.
    Time(&'static str),
    /// A time likewise, with its interval.
    SureTime(&'static str),
}

const FRONT: [Column; 7] = [
    (
        "\nflows",
        Cells::Words(|group| {
            finished_of(group.total(|run| run.flows_finished), group.total(|run| run.flows))
        }),
    ),
    ("mean\nFCT µs", Cells::SureTime("fct_mean_us")),
    ("P50\nµs", Cells::Time("fct_p50_us")),
    ("P99\nµs", Cells::SureTime("fct_p99_us")),
    ("max\nµs", Cells::SureTime("fct_max_us")),
    ("ideal\nmax µs", Cells::Time("ideal_fct_max_us")),
    ("all\ndone µs", Cells::Time("completion_us")),
];

/// Columns for runs whose messages have several lengths.
const OF_LENGTHS: [Column; 3] = [
    ("slow-\ndown P50", Cells::Words(|group| ratio(group, "slowdown_p50"))),
    ("slow-\ndown P95", Cells::Words(|group| ratio(group, "slowdown_p95"))),
    ("slow-\ndown P99", Cells::Words(|group| sure_ratio(group, "slowdown_p99"))),
];

/// Columns for runs on several data centres: the slowdowns of flows within one and between two, with their numbers.
const OF_SIDES: [(&str, &str); 4] = [
    ("slowdown\nintra", "intra_slowdown_mean"),
    ("slowdown\ninter", "inter_slowdown_mean"),
    ("P99 slow-\ndown intra", "intra_slowdown_p99"),
    ("P99 slow-\ndown inter", "inter_slowdown_p99"),
];

/// Columns for runs with jobs: collective completion times.
const OF_JOBS: [Column; 4] = [
    (
        "\njobs",
        Cells::Words(|group| finished_of(group.total(|run| run.jobs_finished), group.total(|run| run.jobs))),
    ),
    ("mean\nCCT µs", Cells::SureTime("cct_mean_us")),
    ("max\nCCT µs", Cells::SureTime("cct_max_us")),
    ("ideal\nCCT µs", Cells::Time("ideal_cct_max_us")),
];

/// Columns for jobs that compute, with their numbers.
const OF_COMPUTING: [(&str, &str); 2] =
    [("com-\nputes µs", "compute_max_us"), ("\nexposed µs", "exposed_max_us")];

/// Columns for runs with pauses.
const OF_PAUSES: [Column; 2] = [
    ("pause\nframes", Cells::Words(|group| large(group.mean(|run| run.pause_frames as f64)))),
    ("paused\nport-µs", Cells::Words(|group| large(group.mean(|run| run.pause_us.round())))),
];

/// The queues of switches: the 99th percentile that packets found, and the peak with its place.
const OF_QUEUES: [Column; 3] = [
    ("P99\nqueue", Cells::Words(|group| bytes(group.mean(|run| run.queue_p99_bytes as f64)))),
    (
        "peak\nqueue",
        Cells::Words(|group| bytes(group.runs().map(|run| run.peak_queue_bytes).max().unwrap_or(0) as f64)),
    ),
    (
        "peak\nqueue at",
        Cells::Words(|group| {
            group.runs().max_by_key(|run| run.peak_queue_bytes).map_or_else(String::new, |run| {
                if run.peak_queue_link.is_empty() { "-".to_owned() } else { run.peak_queue_link.clone() }
            })
        }),
    ),
];

/// The columns that are left out on narrow terminals, the first to go first. Columns that explain a result (losses,
/// trims, drops, timeouts) and the ranked quantity stay, however narrow the terminal is.
const SPARE: [&str; 25] = [
    "P50\nµs",
    "all\ndone µs",
    "peak\nqueue at",
    WALL,
    "packet\nhops",
    "slow-\ndown P50",
    "slow-\ndown P95",
    "P99\nµs",
    "ideal\nmax µs",
    "mean\nFCT µs",
    "mean\nCCT µs",
    "P99 slow-\ndown intra",
    "P99 slow-\ndown inter",
    "slowdown\nintra",
    "slowdown\ninter",
    "paused\nport-µs",
    "max\nµs",
    "slow-\ndown P99",
    "P99\nqueue",
    "peak\nqueue",
    "ECN\nmarks",
    "pause\nframes",
    "ideal\nCCT µs",
    "\nresent",
    "\nflows",
];

/// The number of columns of [`SPARE`] that the page hides by default: they explain little, whatever schemes are ranked
/// by.
const HIDDEN: usize = 8;
/// Further columns that it hides where schemes are ranked by the CCT: the time of a chunk says little about its job's.
const HIDDEN_BESIDE_CCT: [&str; 4] = ["mean\nFCT µs", "max\nµs", "ideal\nmax µs", "mean\nCCT µs"];

/// Whether the page shows a column only on demand.
pub(crate) fn is_hidden(head: &str, ranked_by: Quantity) -> bool {
    let beside = ranked_by.field == "cct_max_us" && HIDDEN_BESIDE_CCT.contains(&head);
    beside || SPARE[..HIDDEN].contains(&head)
}

/// Wall-clock time, the one column that differs between runs of the same scenario. The page leaves it out, so that
/// equal results have equal pages; `runs.parquet` has it.
pub(crate) const WALL: &str = "wall\ns";

/// A count of a run.
type Count = fn(&RunRow) -> u64;

/// Losses, marks and retransmissions: head of the column, name in a sentence, and the count.
const TROUBLE: [(&str, &str, Count); 6] = [
    ("\ndrops", "drops", |run| run.drops),
    ("link\nlosses", "link losses", |run| run.link_losses),
    ("\ntrims", "trims", |run| run.trims),
    ("ECN\nmarks", "ECN marks", |run| run.ecn_marks),
    ("\nresent", "resent", |run| run.retransmissions),
    ("time-\nouts", "timeouts", |run| run.timeouts),
];

const BACK: [Column; 2] = [
    ("packet\nhops", Cells::Words(|group| large(group.mean(|run| run.packet_hops as f64)))),
    (WALL, Cells::Words(|group| format!("{:.2}", group.mean(|run| run.wall_s)))),
];

/// The number of all, or `done/all` when not all finished.
fn finished_of(done: u64, all: u64) -> String {
    match done == all {
        true if all < 1_000_000 => all.to_string(),
        true => large(all as f64),
        false => format!("{done}/{all}"),
    }
}

impl Cells {
    /// The means of a column of times, in µs; empty for other columns.
    fn means(self, groups: &[Group<'_>]) -> Vec<f64> {
        let (Cells::Time(name) | Cells::SureTime(name)) = self else { return Vec::new() };
        groups.iter().filter_map(|group| group.estimate(name)).map(|estimate| estimate.mean).collect()
    }

    /// The unit of a column of times: that of all columns, if they can share one.
    fn unit(self, groups: &[Group<'_>], shared: Option<TimeUnit>) -> Option<TimeUnit> {
        if let Cells::Words(_) = self {
            return None;
        }
        shared.or_else(|| Some(TimeUnit::of(self.means(groups).into_iter().fold(0.0, f64::max))))
    }

    /// The text of a cell: a dash where there is no time, so that a failed scheme does not look fast.
    fn cell(self, group: &Group<'_>, unit: Option<TimeUnit>) -> String {
        let (name, is_sure) = match self {
            Cells::Words(words) => return words(group),
            Cells::Time(name) => (name, false),
            Cells::SureTime(name) => (name, true),
        };
        let Some(estimate) = group.estimate(name) else { return "-".to_owned() };
        let unit = unit.unwrap_or(TimeUnit::Micros);
        let mean = micros(unit.convert(estimate.mean));
        match estimate.half_width.filter(|_| is_sure) {
            Some(half) => format!("{mean} ±{}", half_width(unit.convert(half))),
            None => mean,
        }
    }
}

/// A mean ratio; a dash where there is none.
fn ratio(group: &Group<'_>, name: &str) -> String {
    group.estimate(name).map_or_else(|| "-".to_owned(), |estimate| format!("{:.2}", estimate.mean))
}

fn sure_ratio(group: &Group<'_>, name: &str) -> String {
    group
        .estimate(name)
        .map_or_else(|| "-".to_owned(), |estimate| with_interval(format!("{:.2}", estimate.mean), &estimate))
}

/// `1,234 ±12`; the mean alone with one seed.
fn with_interval(mean: String, estimate: &Estimate) -> String {
    match estimate.half_width {
        Some(half) => format!("{mean} ±{}", half_width(half)),
        None => mean,
    }
}

/// The ratio of the ranked quantity to the baseline's.
fn slowdown_by_fault(standing: &Standing) -> String {
    standing
        .slowdown_by_fault
        .map_or_else(|| "-".to_owned(), |estimate| with_interval(format!("{:.2}", estimate.mean), &estimate))
}

/// The mean time until goodput recovered, in µs; none where it did not.
fn recovered_after(standing: &Standing) -> Option<f64> {
    match standing.recovery {
        Recovery::After { time, .. } => Some(time.mean),
        _ => None,
    }
}

fn recovery(standing: &Standing, unit: TimeUnit) -> String {
    let shown = |us: f64| micros(unit.convert(us));
    let is_slower = standing.slowdown_by_fault.is_some_and(|slowdown| slowdown.mean > 1.05);
    match standing.recovery {
        Recovery::Unknown => "-".to_owned(),
        Recovery::NoDip if is_slower => "tail only".to_owned(),
        Recovery::NoDip => "no dip".to_owned(),
        Recovery::After { time, no_dip_at: 0, .. } => shown(time.mean),
        Recovery::After { time, no_dip_at, of } => {
            format!("{} (no dip in {no_dip_at}/{of})", shown(time.mean))
        }
        Recovery::NotBefore { the_end_at, of, is_held } => match (the_end_at == of, is_held) {
            (true, true) => "run ended".to_owned(),
            (true, false) => "not by end".to_owned(),
            (false, true) => format!("ended in {the_end_at}/{of}"),
            (false, false) => format!("not in {the_end_at}/{of}"),
        },
    }
}

/// A column's head.
pub(crate) struct Head {
    /// The key of the column, in lines; that of a time ends with `µs`.
    pub name: String,
    /// The unit of its times.
    unit: Option<TimeUnit>,
}

impl Head {
    /// The text of the head, in lines, with the unit of the cells below.
    pub(crate) fn shown(&self) -> String {
        match self.unit {
            Some(unit) => self.name.replace(TimeUnit::Micros.name(), unit.name()),
            None => self.name.clone(),
        }
    }

    /// The text of the head without the hyphens of words that are broken over lines.
    pub(crate) fn whole_words(&self) -> String {
        self.shown().replace("-\n", "").trim().to_owned()
    }
}

/// The summary as text: one row per scheme and point of the sweep.
pub(crate) struct Summary {
    /// The number of columns of words at the left; the others are numbers.
    pub words: usize,
    pub head: Vec<Head>,
    pub rows: Vec<Vec<String>>,
    /// The rows with which another point of the sweep begins, where points have several.
    pub begins: Vec<usize>,
    /// Sentences below the table that a reader needs.
    pub notes: Vec<String>,
}

impl Summary {
    /// Removes a column, if there is one of this name, and returns its name in one line.
    pub(crate) fn remove(&mut self, name: &str) -> Option<String> {
        let index = self.head.iter().position(|head| head.name == name)?;
        self.rows.iter_mut().for_each(|row| drop(row.remove(index)));
        Some(self.head.remove(index).whole_words().replace('\n', " "))
    }
}

/// The summary of all runs. A column that has only zeros is a note instead.
pub(crate) fn summary(set: &ResultSet) -> Summary {
    summary_of(set, &by_point(groups(set)), false)
}

/// Sorts groups by points of the sweep, in the order of their first runs, so that ranks which belong together are
/// adjacent.
fn by_point(mut groups: Vec<Group<'_>>) -> Vec<Group<'_>> {
    let points = points(&groups);
    groups.sort_by_key(|group| points.iter().position(|point| *point == group.sweep));
    groups
}

/// The unit that all columns of times share; none where some would lose their digits in it.
fn shared_unit(groups: &[Group<'_>]) -> Option<TimeUnit> {
    let means: Vec<f64> = FRONT.iter().chain(&OF_JOBS).flat_map(|(_, cells)| cells.means(groups)).collect();
    let least = means.iter().copied().filter(|mean| *mean > 0.0).fold(f64::INFINITY, f64::min);
    (least >= 100.0).then(|| TimeUnit::of(means.into_iter().fold(0.0, f64::max)))
}

fn summary_of(set: &ResultSet, groups: &[Group<'_>], per_seed: bool) -> Summary {
    let standings = standings(set, groups);
    let swept: BTreeSet<&str> =
        groups.iter().flat_map(|group| group.sweep.keys().map(String::as_str)).collect();
    let shared = shared_unit(groups);
    let mut head = vec![Head { name: "scheme".to_owned(), unit: None }];
    let mut rows: Vec<Vec<String>> = groups.iter().map(|group| vec![group.scheme.to_owned()]).collect();
    let mut add_with = |name: &str, unit: Option<TimeUnit>, cell: &dyn Fn(&Group<'_>) -> String| {
        head.push(Head { name: name.to_owned(), unit });
        for (row, group) in rows.iter_mut().zip(groups) {
            row.push(cell(group));
        }
    };
    for name in &swept {
        add_with(short(name, &swept), None, &|group| {
            group.sweep.get(*name).map_or_else(|| "-".to_owned(), ToString::to_string)
        });
    }
    if per_seed {
        add_with("seed", None, &|group| group.runs().map(|run| run.seed.to_string()).collect());
    }
    let mut add = |(name, cells): Column| {
        let unit = cells.unit(groups, shared);
        add_with(name, unit, &|group| cells.cell(group, unit));
    };
    FRONT.into_iter().for_each(&mut add);
    if set.flows.iter().any(|flow| flow.bytes != set.flows[0].bytes) {
        OF_LENGTHS.into_iter().for_each(&mut add);
    }
    let has = |field: &str| set.runs.iter().any(|run| run.number(field).is_some());
    let several_sides = OF_SIDES.iter().any(|(_, field)| has(field));
    for (name, field) in OF_SIDES.into_iter().filter(|(_, field)| has(field)) {
        add_with(name, None, &|group| ratio(group, field));
    }
    let mut add = |(name, cells): Column| {
        let unit = cells.unit(groups, shared);
        add_with(name, unit, &|group| cells.cell(group, unit));
    };
    if set.runs.iter().any(|run| run.jobs > 0) {
        OF_JOBS.into_iter().for_each(&mut add);
        let computing = OF_COMPUTING.into_iter().filter(|(_, field)| has(field));
        computing.for_each(|(name, field)| add((name, Cells::Time(field))));
    }
    if set.actual().iter().any(|run| run.peak_queue_bytes > 0) {
        OF_QUEUES.into_iter().for_each(&mut add);
    }
    if set.runs.iter().any(|run| run.pause_frames > 0 || run.pause_us > 0.0) {
        OF_PAUSES.into_iter().for_each(&mut add);
    }
    let mut zero = Vec::new();
    for (name, called, number) in TROUBLE {
        if groups.iter().all(|group| group.total(number) == 0) {
            zero.push(called);
        } else {
            add_with(name, None, &|group| large(group.mean(|run| number(run) as f64)));
        }
    }
    for (name, cells) in BACK {
        add_with(name, None, &|group| cells.cell(group, None));
    }
    let seeds = |group: &Group<'_>| group.indices.len();
    let all_alike = groups.iter().all(|group| seeds(group) == seeds(&groups[0]));
    if !all_alike {
        add_with("\nseeds", None, &|group| seeds(group).to_string());
    }
    let words = 1 + swept.len() + usize::from(per_seed);
    let mut insert = |name: &str, unit: Option<TimeUnit>, cells: &dyn Fn(&Standing) -> String| {
        let index = place_of_standing(&head, words, ranked_quantity(set));
        head.insert(index, Head { name: name.to_owned(), unit });
        rows.iter_mut().zip(&standings).for_each(|(row, standing)| row.insert(index, cells(standing)));
    };
    if standings.iter().any(|standing| standing.recovery != Recovery::Unknown) {
        let longest = standings.iter().filter_map(recovered_after).fold(0.0, f64::max);
        let unit = shared.unwrap_or_else(|| TimeUnit::of(longest));
        insert("recovers\nafter µs", Some(unit), &|standing| recovery(standing, unit));
    }
    if standings.iter().any(|standing| standing.slowdown_by_fault.is_some()) {
        insert("slowdown\nby fault", None, &slowdown_by_fault);
    }
    let ranked_schemes = groups.iter().zip(&standings).filter(|(_, standing)| standing.rank.is_some());
    let compared = ranked_schemes.map(|(group, _)| group.scheme).collect::<BTreeSet<_>>().len() > 1;
    if compared && !per_seed && set.figure.is_none() && set.answer.is_none() {
        head.insert(words, Head { name: "\nrank".to_owned(), unit: None });
        for (row, standing) in rows.iter_mut().zip(&standings) {
            row.insert(words, standing.rank_shown());
        }
    }
    let mut notes = notes(groups, all_alike);
    if standings.iter().any(|standing| standing.slowdown_by_fault.is_some()) {
        let kept = match set.baselines().iter().any(|baseline| !baseline.faults.is_empty()) {
            true => ", which has the losses of the topology file as well",
            false => "",
        };
        notes.push(format!("Slowdown by fault: over the same run without faults{kept}, seed by seed."));
    }
    if standings.iter().any(|standing| standing.recovery != Recovery::Unknown) {
        notes.push(RECOVERY.to_owned());
    }
    if standings.iter().any(|standing| standing.is_untouched) {
        notes.push(
            "unhit: no rank, as the faults hit none of its data at any seed and cost it nothing.".to_owned(),
        );
    }
    if several_sides {
        notes.push(
            "Intra: flows within a data centre; inter: between two. Slowdowns are means without a P."
                .to_owned(),
        );
    }
    if !zero.is_empty() && !groups.is_empty() {
        notes.push(format!("0 in every run: {}.", zero.join(", ")));
    }
    let scenario: toml::Table = toml::from_str(&set.scenario_toml).unwrap_or_default();
    let resolved = resolved::points(&scenario, &set.scenario_toml);
    notes.extend(assumption_notes::notes(set, &resolved));
    notes.extend(timeout_notes::at_once(set, &resolved));
    notes.extend(timeout_notes::in_order(&resolved));
    notes.extend(timeout_notes::notes(set));
    notes.extend(faults::notes(set, &resolved));
    let another = |place: &usize| groups[*place].sweep != groups[*place - 1].sweep;
    let mut begins: Vec<usize> = (1..groups.len()).filter(another).collect();
    if per_seed || begins.len() + 1 >= groups.len() {
        begins.clear();
    }
    Summary { words, head, rows, begins, notes }
}

/// The explanation of the column of recoveries.
const RECOVERY: &str = "Recovers after: from the start of the first fault until the goodput of all hosts together is back at \
    95 % of what the run without faults had when as many bytes had arrived, and stays there on average until 95 % of the data \
    are there (over a twentieth of that run's time): a few flows that stay slow show in the slowdown, and hardly here; `no \
    dip`: it never fell below; `tail only`: it did when all but the last data had arrived; `run ended`: it was done \
    first, with the fault still there (`ended in 1/3`: at one of three seeds), which is no worse than a later recovery; `not by \
    end`: it ended with the fault over, or was cut off.";

/// The place behind the columns of the ranked quantity and of its ideal.
fn place_of_standing(head: &[Head], words: usize, quantity: Quantity) -> usize {
    let after = match quantity.field {
        "cct_max_us" => "ideal\nCCT µs",
        "slowdown_p99" => "slow-\ndown P99",
        _ => "ideal\nmax µs",
    };
    head.iter().position(|head| head.name == after).map_or(words, |index| index + 1)
}

/// The last part of a parameter's name, where it is unambiguous.
fn short<'a>(name: &'a str, all: &BTreeSet<&str>) -> &'a str {
    let last = |name: &'a str| name.rsplit('.').next().unwrap_or(name);
    let alike = all.iter().filter(|other| other.rsplit('.').next() == Some(last(name))).count();
    if alike == 1 { last(name) } else { name }
}

/// The verdict, and one row per scheme and sweep point, with notes below; above all where the settings of the schemes
/// differ. Columns beyond a width of `width` characters are named in a note instead.
pub fn table(set: &ResultSet, width: usize) -> String {
    let mut text = ground(set).map_or_else(String::new, |sentence| format!("{sentence}\n\n"));
    let sentences = verdict(set);
    for sentence in &sentences {
        text.push_str(&wrap(sentence, width));
        text.push('\n');
    }
    if !sentences.is_empty() {
        text.push('\n');
    }
    text + &fitted(summary(set), ranked_quantity(set), width)
}

/// One row per run, with its seed.
pub fn per_seed(set: &ResultSet, width: usize) -> String {
    fitted(summary_of(set, &each_run(set), true), ranked_quantity(set), width)
}

fn fitted(mut summary: Summary, quantity: Quantity, width: usize) -> String {
    let mut spared = Vec::new();
    let keep = match quantity.field {
        "cct_max_us" => "max\nCCT µs",
        "slowdown_p99" => "slow-\ndown P99",
        _ => "max\nµs",
    };
    let mut spare = SPARE.into_iter().filter(|head| *head != keep);
    loop {
        let text = drawn(&summary);
        let fits = text.lines().all(|line| line.chars().count() <= width);
        let Some(head) = (if fits { None } else { spare.next() }) else {
            break finished(text, summary, &spared, width);
        };
        if let Some(name) = summary.remove(head) {
            spared.push(name);
        }
    }
}

/// The text of a table with its notes.
fn finished(mut text: String, summary: Summary, spared: &[String], width: usize) -> String {
    let mut notes = summary.notes;
    let wall = WALL.replace('\n', " ");
    let (in_file, on_page): (Vec<&str>, Vec<&str>) =
        spared.iter().map(String::as_str).partition(|name| *name == wall);
    for (names, index) in [(on_page, "on the page"), (in_file, "in runs.parquet")] {
        if !names.is_empty() {
            notes.push(format!("Left out here, {index}: {}.", names.join(", ")));
        }
    }
    for note in notes {
        text.push_str(&wrap(&note, width));
        text.push('\n');
    }
    text
}

fn drawn(summary: &Summary) -> String {
    let style = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));
    let mut table = plain_table(style);
    table.set_header(summary.head.iter().map(Head::shown));
    for (place, row) in summary.rows.iter().enumerate() {
        if summary.begins.contains(&place) {
            table.add_row(vec![""; row.len()]);
        }
        table.add_row(row);
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 1));
        if index < summary.words {
            continue;
        }
        column.set_cell_alignment(CellAlignment::Right);
    }
    lines(&table)
}

fn notes(groups: &[Group<'_>], all_alike: bool) -> Vec<String> {
    let mut notes = Vec::new();
    let most = groups.iter().map(|group| group.indices.len()).max().unwrap_or(0);
    if most > 1 {
        let seeds = if all_alike { format!("{most} seeds") } else { "the seeds".to_owned() };
        notes.push(format!(
            "Means over {seeds} of the runs' own numbers, ± the half-width of the 95 % confidence interval \
             (Student's t over seeds); `flows` is \
             the sum, the peak queue the largest.{}",
            if most >= LEAST_SEEDS { " Ranks: by the differences seed by seed (paired t)." } else { "" }
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

/// A table of words, with a line below each row.
pub(crate) fn columns(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut table = plain_table(presets::UTF8_HORIZONTAL_ONLY);
    table.set_header(head);
    table.add_rows(rows);
    lines(&table)
}

fn plain_table(style: TableStyle) -> Table {
    let mut table = Table::new();
    table.load_style(style);
    table.set_content_arrangement(ContentArrangement::Disabled);
    table
}

fn lines(table: &Table) -> String {
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

pub(crate) fn wrap(text: &str, width: usize) -> String {
    let mut wrapped = String::new();
    let mut length = 0;
    for word in text.split_whitespace() {
        let size = word.chars().count();
        if length > 0 {
            let fits = length + 1 + size <= width;
            wrapped.push(if fits { ' ' } else { '\n' });
            length = if fits { length + 1 } else { 0 };
        }
        wrapped.push_str(word);
        length += size;
    }
    wrapped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{collectives, two_schemes};

    #[test]
    fn the_table_of_a_sweep_over_two_seeds() {
        insta::assert_snapshot!(table(&two_schemes(), USUAL_WIDTH));
    }

    #[test]
    fn unfinished_flows_are_named_and_a_column_without_a_sweep_is_left_out() {
        let mut set = two_schemes();
        set.runs.truncate(1);
        set.runs[0].flows_finished = 1;
        set.runs[0].sweep.clear();
        insta::assert_snapshot!(table(&set, USUAL_WIDTH));
    }

    #[test]
    fn a_busy_run_fits_a_terminal() {
        let mut set = two_schemes();
        for run in &mut set.runs {
            (run.flows, run.flows_finished) = (8192, 8192);
            for time in [&mut run.fct_mean_us, &mut run.fct_p50_us, &mut run.fct_p99_us, &mut run.fct_max_us]
            {
                *time = 12_345.6;
            }
            (run.ideal_fct_max_us, run.completion_us) = (12_345.6, 12_345.6);
            (run.drops, run.ecn_marks) = (123_456, 123_456_789);
            (run.retransmissions, run.timeouts, run.packet_hops) = (1_234_567, 12_345, 1_234_567_890);
        }
        let text = table(&set, USUAL_WIDTH);
        assert!(text.lines().all(|line| line.chars().count() <= USUAL_WIDTH), "{text}");
        assert!(text.contains("0 in every run: link losses, trims."), "{text}");
    }

    #[test]
    fn jobs_and_pauses_have_columns_where_there_are_any() {
        insta::assert_snapshot!(table(&collectives(), USUAL_WIDTH));
        let text = table(&two_schemes(), USUAL_WIDTH);
        assert!(!text.contains("CCT") && !text.contains("paus"), "{text}");
    }

    #[test]
    fn data_centres_have_columns_of_their_sides() {
        let mut set = two_schemes();
        for run in &mut set.runs {
            run.extra.extend([("intra_slowdown_mean".into(), 2.5), ("intra_slowdown_p99".into(), 9.0)]);
        }
        let text = table(&set, USUAL_WIDTH);
        assert!(text.contains("intra") && text.contains("2.50") && text.contains("9.00"), "{text}");
        assert!(text.contains("Intra: flows within a data centre; inter: between two."), "{text}");
        let head = heads(&set);
        assert!(!head.contains("inter"), "no such flow, no such column: {head}");
        assert!(!heads(&two_schemes()).contains("intra"));
    }

    fn heads(set: &ResultSet) -> String {
        summary(set).head.iter().map(Head::shown).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_column_with_a_time_of_ten_thousand_microseconds_is_in_ms() {
        let mut set = two_schemes();
        set.runs.iter_mut().for_each(|run| (run.fct_mean_us, run.fct_max_us) = (9_000.0, 9_000.0));
        set.runs[0].fct_max_us = 40_000.0;
        let text = table(&set, 200);
        assert!(text.contains("FCT µs") && text.contains("9,000"), "{text}");
        let (heads, row) = (heads(&set), summary(&set).rows.remove(0).join(" "));
        assert!(heads.contains("max\nms") && heads.contains("FCT µs"), "{heads}");
        assert!(!row.contains("40,000"), "{row}");
        // Where no time is too short for it, all have one unit.
        for run in &mut set.runs {
            (run.fct_p50_us, run.fct_p99_us) = (9_000.0, 9_000.0);
            (run.ideal_fct_max_us, run.completion_us) = (9_000.0, 40_000.0);
        }
        let heads = self::heads(&set);
        assert!(!heads.contains("µs") && heads.matches("ms").count() >= 5, "{heads}");
    }

    /// The last line of a table's head.
    fn last_of_head(text: &str) -> &str {
        text.lines().take_while(|line| !line.starts_with('─')).last().unwrap_or_default()
    }

    #[test]
    fn columns_that_do_not_fit_a_terminal_are_named_below() {
        let mut set = collectives();
        for run in &mut set.runs {
            run.sweep.insert("topology.oversubscription".into(), anabranch_results::Value::Integer(4));
            (run.drops, run.link_losses, run.ecn_marks) = (123_456, 123_456, 123_456_789);
            (run.retransmissions, run.timeouts) = (123_456, 123_456);
            (run.pause_frames, run.pause_us) = (123_456, 123_456_789.0);
            for time in [&mut run.fct_mean_us, &mut run.fct_p50_us, &mut run.fct_p99_us, &mut run.fct_max_us]
            {
                *time = 123_456.7;
            }
        }
        let text = table(&set, USUAL_WIDTH);
        assert!(text.lines().all(|line| line.chars().count() <= USUAL_WIDTH), "{text}");
        let note = text.lines().find(|line| line.starts_with("Left out here, on the page: P50 ms, "));
        assert!(note.is_some(), "{text}");
        assert!(!note.is_some_and(|note| note.contains("losses") || note.contains("outs")), "{text}");
        let explaining = ["drops", "losses", "outs", "resent", "frames"];
        assert!(explaining.iter().all(|head| last_of_head(&text).contains(head)), "{text}");
        assert_eq!(summary(&set).head.len(), 22, "the page has them all");
    }

    #[test]
    fn a_wide_terminal_has_all_columns_and_a_narrow_one_those_that_explain() {
        let mut set = collectives();
        set.runs.iter_mut().for_each(|run| (run.link_losses, run.timeouts) = (17, 5));
        let wide = table(&set, 200);
        assert!(!wide.contains("Left out"), "{wide}");
        let narrow = table(&set, 64);
        assert!(narrow.lines().all(|line| line.chars().count() <= 64), "{narrow}");
        let head = last_of_head(&narrow);
        assert!(["losses", "outs", "flows", "CCT"].iter().all(|name| head.contains(name)), "{narrow}");
    }

    #[test]
    fn a_run_that_failed_does_not_look_fast() {
        let mut set = collectives();
        let failed = &mut set.runs[1];
        (failed.flows_finished, failed.jobs_finished) = (2_042, 0);
        (failed.completion_us, failed.cct_mean_us, failed.cct_max_us) = (174.1, 0.0, 0.0);
        let row = |set: &ResultSet| summary(set).rows.pop().unwrap();
        let cells = "rocev2 2042/1000000 10.00 9.00 20.00 25.00 5.00 - 0/3 - -";
        assert_eq!(row(&set)[..11].join(" "), cells);
        let text = table(&set, USUAL_WIDTH);
        assert!(
            text.contains("Jobs that did not finish: 3 of 6. A scheme that lacks one has no CCT."),
            "{text}"
        );
        // Two jobs of three give no CCT either: the slowest is missing.
        (set.runs[1].jobs_finished, set.runs[1].cct_max_us) = (2, 310.0);
        assert_eq!(row(&set)[8..11].join(" "), "2/3 - -");
        set.runs[1].flows_finished = 0;
        assert_eq!(row(&set)[2..6].join(" "), "- - - -");
        // One seed without a CCT is enough.
        set.runs.push(RunRow { seed: 2, ..set.runs[1].clone() });
        (set.runs[1].flows_finished, set.runs[1].jobs_finished) = (1_000_000, 3);
        assert_eq!(row(&set)[1..11].join(" "), "1000000/2000000 - - - - 5.00 - 5/6 - -");
    }

    #[test]
    fn parameters_that_end_alike_keep_their_whole_names() {
        let all = BTreeSet::from(["reps.lb.buffer", "ops.lb.buffer", "workload.bytes"]);
        assert_eq!(short("reps.lb.buffer", &all), "reps.lb.buffer");
        assert_eq!(short("workload.bytes", &all), "bytes");
    }
}
