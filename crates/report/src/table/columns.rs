//! The columns of the summary and the text of their cells.

use crate::groups::Group;
use crate::labels::{TimeUnit, bytes, half_width, large, micros};
use crate::ranking::{Quantity, RankedScheme, Recovery};
use anabranch_results::{Estimate, RunRow};

pub(super) type Column = (&'static str, Cells);

/// The cells of a column, one per row of the table.
#[derive(Clone, Copy)]
pub(super) enum Cells {
    /// Text that a function computes from the runs.
    Words(fn(&Group<'_>) -> String),
    /// The mean over seeds of the field with this name, a time in µs. All cells of a column are shown in one unit.
    Time(&'static str),
    /// A time like [`Cells::Time`], with its confidence interval.
    TimeWithInterval(&'static str),
}

pub(super) const FRONT_COLUMNS: [Column; 7] = [
    (
        "\nflows",
        Cells::Words(|group| {
            finished_of(group.total(|run| run.flows_finished), group.total(|run| run.flows))
        }),
    ),
    ("mean\nFCT µs", Cells::TimeWithInterval("fct_mean_us")),
    ("P50\nµs", Cells::Time("fct_p50_us")),
    ("P99\nµs", Cells::TimeWithInterval("fct_p99_us")),
    ("max\nµs", Cells::TimeWithInterval("fct_max_us")),
    ("ideal\nmax µs", Cells::Time("ideal_fct_max_us")),
    ("all\ndone µs", Cells::Time("completion_us")),
];

/// Columns for runs whose messages have several lengths.
pub(super) const LENGTH_COLUMNS: [Column; 3] = [
    ("slow-\ndown P50", Cells::Words(|group| ratio(group, "slowdown_p50"))),
    ("slow-\ndown P95", Cells::Words(|group| ratio(group, "slowdown_p95"))),
    ("slow-\ndown P99", Cells::Words(|group| ratio_with_interval(group, "slowdown_p99"))),
];

/// Columns for runs with several data centres: the slowdowns of flows within a data centre and between two. Each entry
/// is a heading and the name of a number of a run.
pub(super) const SITE_COLUMNS: [(&str, &str); 4] = [
    ("slowdown\nintra", "intra_slowdown_mean"),
    ("slowdown\ninter", "inter_slowdown_mean"),
    ("P99 slow-\ndown intra", "intra_slowdown_p99"),
    ("P99 slow-\ndown inter", "inter_slowdown_p99"),
];

/// Columns for runs with jobs: the number of jobs and the collective completion times.
pub(super) const JOB_COLUMNS: [Column; 4] = [
    (
        "\njobs",
        Cells::Words(|group| finished_of(group.total(|run| run.jobs_finished), group.total(|run| run.jobs))),
    ),
    ("mean\nCCT µs", Cells::TimeWithInterval("cct_mean_us")),
    ("max\nCCT µs", Cells::TimeWithInterval("cct_max_us")),
    ("ideal\nCCT µs", Cells::Time("ideal_cct_max_us")),
];

/// Columns for jobs that compute. Each entry is a heading and the name of a number of a run.
pub(super) const COMPUTE_COLUMNS: [(&str, &str); 2] =
    [("com-\nputes µs", "compute_max_us"), ("\nexposed µs", "exposed_max_us")];

/// Columns for collectives whose ranks compute nothing. Each entry is a heading and the name of a number of a run.
pub(super) const BANDWIDTH_COLUMNS: [(&str, &str); 2] =
    [("algbw\nGB/s", "algbw_gbytes_per_sec"), ("busbw\nGB/s", "busbw_gbytes_per_sec")];

pub(super) const PAUSE_COLUMNS: [Column; 2] = [
    ("pause\nframes", Cells::Words(|group| large(group.mean(|run| run.pause_frames as f64)))),
    ("paused\nport-µs", Cells::Words(|group| large(group.mean(|run| run.pause_us.round())))),
];

/// Columns for the queues of switches: the 99th percentile of the queue that packets found, and the peak with its
/// place.
pub(super) const QUEUE_COLUMNS: [Column; 3] = [
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

/// The columns that are left out on narrow terminals, in the order of removal. The column of the ranked quantity is in
/// the list, but it always stays. Columns that explain a result (losses, trims, drops, timeouts) are not in the list.
pub(super) const OPTIONAL_COLUMNS: [&str; 26] = [
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
    "algbw\nGB/s",
    "ideal\nCCT µs",
    "\nresent",
    "\nflows",
];

/// The number of columns at the start of [`OPTIONAL_COLUMNS`] that the page hides by default, because they explain
/// little for any ranked quantity. One of them is [`WALL`], which the page does not have at all.
const HIDDEN: usize = 8;
/// Further columns that the page hides if schemes are ranked by the CCT of the slowest job: the FCTs of chunks, which
/// say little about that CCT, and the mean CCT.
const HIDDEN_BESIDE_CCT: [&str; 4] = ["mean\nFCT µs", "max\nµs", "ideal\nmax µs", "mean\nCCT µs"];

/// Whether the page shows a column only on demand.
pub(crate) fn is_hidden(head: &str, ranked_by: Quantity) -> bool {
    let beside = ranked_by.field == "cct_max_us" && HIDDEN_BESIDE_CCT.contains(&head);
    beside || OPTIONAL_COLUMNS[..HIDDEN].contains(&head)
}

/// The wall-clock time, the only column that differs if the same scenario is run again. The page leaves it out so that
/// equal results have equal pages. `runs.parquet` has it.
pub(crate) const WALL: &str = "wall\ns";

pub(super) type Count = fn(&RunRow) -> u64;

/// Losses, marks and retransmissions: the column's heading, its name in a sentence, and the count.
pub(super) const LOSS_COLUMNS: [(&str, &str, Count); 6] = [
    ("\ndrops", "drops", |run| run.drops),
    ("link\nlosses", "link losses", |run| run.link_losses),
    ("\ntrims", "trims", |run| run.trims),
    ("ECN\nmarks", "ECN marks", |run| run.ecn_marks),
    ("\nresent", "resent", |run| run.retransmissions),
    ("time-\nouts", "timeouts", |run| run.timeouts),
];

pub(super) const BACK_COLUMNS: [Column; 2] = [
    ("packet\nhops", Cells::Words(|group| large(group.mean(|run| run.packet_hops as f64)))),
    (WALL, Cells::Words(|group| format!("{:.2}", group.mean(|run| run.wall_s)))),
];

/// The number of all items, or `done/all` if some did not finish.
fn finished_of(done: u64, all: u64) -> String {
    match done == all {
        true if all < 1_000_000 => all.to_string(),
        true => large(all as f64),
        false => format!("{done}/{all}"),
    }
}

impl Cells {
    /// The means of a column of times, in µs. The result is empty for other columns.
    pub(super) fn means(self, groups: &[Group<'_>]) -> Vec<f64> {
        let (Cells::Time(name) | Cells::TimeWithInterval(name)) = self else { return Vec::new() };
        groups.iter().filter_map(|group| group.estimate(name)).map(|estimate| estimate.mean).collect()
    }

    /// The unit of a column of times: the unit that all columns share, if there is one, or else the column's own.
    pub(super) fn unit(self, groups: &[Group<'_>], shared: Option<TimeUnit>) -> Option<TimeUnit> {
        if let Cells::Words(_) = self {
            return None;
        }
        shared.or_else(|| Some(TimeUnit::of(self.means(groups).into_iter().fold(0.0, f64::max))))
    }

    /// The text of a cell. A missing time is shown as a dash, so that a failed scheme does not look fast.
    pub(super) fn cell(self, group: &Group<'_>, unit: Option<TimeUnit>) -> String {
        let (name, has_interval) = match self {
            Cells::Words(words) => return words(group),
            Cells::Time(name) => (name, false),
            Cells::TimeWithInterval(name) => (name, true),
        };
        let Some(estimate) = group.estimate(name) else { return "-".to_owned() };
        let unit = unit.unwrap_or(TimeUnit::Micros);
        let mean = micros(unit.convert(estimate.mean));
        match estimate.half_width.filter(|_| has_interval) {
            Some(half) => format!("{mean} ±{}", half_width(unit.convert(half))),
            None => mean,
        }
    }
}

pub(super) fn ratio(group: &Group<'_>, name: &str) -> String {
    group.estimate(name).map_or_else(|| "-".to_owned(), |estimate| format!("{:.2}", estimate.mean))
}

fn ratio_with_interval(group: &Group<'_>, name: &str) -> String {
    group
        .estimate(name)
        .map_or_else(|| "-".to_owned(), |estimate| with_interval(format!("{:.2}", estimate.mean), &estimate))
}

/// A mean with its interval, `1,234 ±12`, or the mean alone with one seed.
fn with_interval(mean: String, estimate: &Estimate) -> String {
    match estimate.half_width {
        Some(half) => format!("{mean} ±{}", half_width(half)),
        None => mean,
    }
}

pub(super) fn slowdown_by_fault(standing: &RankedScheme) -> String {
    standing
        .slowdown_by_fault
        .map_or_else(|| "-".to_owned(), |estimate| with_interval(format!("{:.2}", estimate.mean), &estimate))
}

/// The mean time until goodput recovered, in µs. None if there is no such time, for example because goodput never fell
/// or did not recover.
pub(super) fn recovered_after(standing: &RankedScheme) -> Option<f64> {
    match standing.recovery {
        Recovery::After { time, .. } => Some(time.mean),
        _ => None,
    }
}

pub(super) fn recovery(standing: &RankedScheme, unit: TimeUnit) -> String {
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
