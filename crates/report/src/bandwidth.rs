//! The bandwidths of a collective at several sizes, as nccl-tests prints them.

use crate::groups::{groups, named};
use anabranch_results::{JobRow, ResultSet};
use std::fmt::Write as _;

const SIZE: &str = "workload.bytes";

pub(crate) const CAVEAT: [&str; 2] = [
    "GPU kernels, their launch latencies and the flags that they wait for are not",
    "simulated: on GPUs, small sizes take much longer than here.",
];

/// A row of the table: the size of the collective in bytes, and the means over the seeds of the time in µs and of the
/// two bandwidths in GB/s.
pub(crate) struct Line {
    pub bytes: u64,
    pub means: [f64; 3],
    /// The algorithm and the protocol that NCCL's model chose, if it chose.
    pub chosen: Option<String>,
}

/// The rows of a scheme at a point of the other swept parameters, in the order of their sizes.
pub(crate) struct Table {
    pub name: String,
    pub ranks: u32,
    pub lines: Vec<Line>,
}

impl Table {
    /// A note where the bus bandwidth falls from one size to the next because NCCL's model chose another algorithm.
    pub(crate) fn note(&self) -> Option<String> {
        let algorithm = |line: &Line| line.chosen.as_ref()?.split(", ").next().map(str::to_owned);
        self.lines.windows(2).find_map(|pair| {
            let [Line { bytes: before, means: [.., high], .. }, Line { bytes, means: [.., low], .. }] = pair
            else {
                return None;
            };
            let (one, other) = (algorithm(&pair[0])?, algorithm(&pair[1])?);
            (low < high && one != other).then(|| {
                format!(
                    "busbw falls from {before} to {bytes} B since NCCL's model chose {other} there; \
                     algorithm = \"{one}\" has that one at every size."
                )
            })
        })
    }

    pub(crate) fn chooses(&self) -> bool {
        self.lines.iter().any(|line| line.chosen.is_some())
    }
}

/// A table of sizes, times and bandwidths for each scheme and each point of the other swept parameters. Each row
/// describes the slowest jobs of its runs. The result is empty unless the sizes of a collective are swept.
pub(crate) fn tables(set: &ResultSet) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    for group in groups(set).iter().filter(|group| group.sweep.contains_key(SIZE)) {
        let slowest: Vec<&JobRow> = group.indices.iter().filter_map(|run| slowest_job(set, *run)).collect();
        // If a seed did not finish a size, that size has no mean and is left out.
        let Some(first) = slowest.first().filter(|_| slowest.len() == group.indices.len()) else { continue };
        let mut others = group.sweep.clone();
        others.remove(SIZE);
        let point = if others.is_empty() { String::new() } else { format!(", {}", named(&others)) };
        let name = format!("{}{point}", group.scheme);
        let mean =
            |of: fn(&JobRow) -> f64| slowest.iter().map(|job| of(job)).sum::<f64>() / slowest.len() as f64;
        let means = [
            mean(|job| job.cct_ps.unwrap_or(0) as f64 / 1e6),
            mean(|job| job.algbw_gbytes_per_sec.unwrap_or(0.0)),
            mean(|job| job.busbw_gbytes_per_sec.unwrap_or(0.0)),
        ];
        let chosen = first.algorithm.split_once(": ").map(|(_, chosen)| chosen.to_owned());
        let line = Line { bytes: first.bytes, means, chosen };
        match tables.iter_mut().find(|table| table.name == name) {
            Some(table) => table.lines.push(line),
            None => tables.push(Table { name, ranks: first.ranks, lines: vec![line] }),
        }
    }
    tables.iter_mut().for_each(|table| table.lines.sort_by_key(|line| line.bytes));
    tables
}

pub(crate) const TITLES: [&str; 4] = ["size (B)", "time (us)", "algbw (GB/s)", "busbw (GB/s)"];
pub(crate) const CHOSEN: &str = "chosen by NCCL's model";

/// The tables as text, with the caveat below them. Empty if there are no tables.
pub(crate) fn bandwidth_tables(set: &ResultSet) -> String {
    let tables = tables(set);
    let mut text = String::new();
    for table in &tables {
        let _ = writeln!(text, "\n{}, {} ranks:", table.name, table.ranks);
        let [bytes, time, algbw, busbw] = TITLES;
        let chosen = if table.chooses() { format!("  {CHOSEN}") } else { String::new() };
        let _ = writeln!(text, "{bytes:>14} {time:>14} {algbw:>14} {busbw:>14}{chosen}");
        for Line { bytes, means: [time, algbw, busbw], chosen } in &table.lines {
            let chosen = chosen.as_ref().map_or(String::new(), |chosen| format!("  {chosen}"));
            let _ = writeln!(text, "{bytes:>14} {time:>14.2} {algbw:>14.2} {busbw:>14.2}{chosen}");
        }
    }
    tables.iter().filter_map(Table::note).for_each(|note| text.push_str(&format!("{note}\n")));
    if !tables.is_empty() {
        let _ = writeln!(text, "{}", CAVEAT.join("\n"));
    }
    text
}

/// The job of a run with the smallest bus bandwidth. None unless all jobs of the run are collectives and have finished.
fn slowest_job(set: &ResultSet, run: usize) -> Option<&JobRow> {
    let mut jobs = set.jobs.iter().filter(|job| job.run as usize == run).peekable();
    jobs.peek()?;
    let jobs: Option<Vec<(f64, &JobRow)>> = jobs.map(|job| Some((job.busbw_gbytes_per_sec?, job))).collect();
    jobs?.into_iter().min_by(|(one, _), (other, _)| one.total_cmp(other)).map(|(_, job)| job)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use anabranch_results::{RunRow, Value};
    use std::collections::BTreeMap;

    /// Runs at two sizes, the larger one first.
    pub(crate) fn sizes(seeds: u64) -> ResultSet {
        let mut set = ResultSet::default();
        for (bytes, text) in [(16_777_216_u64, "16MiB"), (1_048_576, "1MiB")] {
            for seed in 1..=seeds {
                let sweep = BTreeMap::from([(SIZE.to_owned(), Value::Text(text.to_owned()))]);
                let run = set.runs.len() as u32;
                set.runs.push(RunRow { scheme: "reps".to_owned(), seed, sweep, ..RunRow::default() });
                let algbw = bytes as f64 / 1e6 * seed as f64;
                set.jobs.push(JobRow {
                    run,
                    ranks: 16,
                    bytes,
                    cct_ps: Some(1_000_000_000 / seed),
                    algbw_gbytes_per_sec: Some(algbw),
                    busbw_gbytes_per_sec: Some(algbw * 1.875),
                    ..JobRow::default()
                });
            }
        }
        set
    }

    #[test]
    fn sizes_are_in_order_and_seeds_are_averaged() {
        let text = bandwidth_tables(&sizes(2));
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let lines: Vec<Vec<String>> = text.trim().lines().map(words).collect();
        assert_eq!(lines[0], ["reps,", "16", "ranks:"]);
        assert_eq!(lines[lines.len() - 4], ["1048576", "750.00", "1.57", "2.95"]);
        assert_eq!(lines[lines.len() - 3], ["16777216", "750.00", "25.17", "47.19"]);
        assert!(text.ends_with("simulated: on GPUs, small sizes take much longer than here.\n"), "{text}");
    }

    #[test]
    fn the_choice_of_nccl_stands_beside_its_size() {
        let mut set = sizes(1);
        assert!(!bandwidth_tables(&set).contains("chosen"));
        set.jobs[1].algorithm = "allreduce-nccl: allreduce-ring, LL".to_owned();
        let text = bandwidth_tables(&set);
        assert!(text.contains("busbw (GB/s)  chosen by NCCL's model\n"), "{text}");
        let of_size = text.lines().find(|line| line.contains(" 1048576 ")).unwrap();
        assert!(of_size.ends_with("  allreduce-ring, LL"), "{text}");
        set.jobs[0].algorithm = "allreduce-nccl: allreduce-double-binary-tree, Simple".to_owned();
        assert!(!bandwidth_tables(&set).contains("falls"));
        set.jobs[0].busbw_gbytes_per_sec = Some(1.0);
        let note = "\nbusbw falls from 1048576 to 16777216 B since NCCL's model chose allreduce-double-binary-tree there; \
                    algorithm = \"allreduce-ring\" has that one at every size.\nGPU kernels";
        let text = bandwidth_tables(&set);
        assert!(text.contains(note), "{text}");
    }

    #[test]
    fn sizes_that_did_not_finish_or_are_not_swept_have_no_line() {
        let mut set = sizes(1);
        set.jobs[1].busbw_gbytes_per_sec = None;
        assert!(!bandwidth_tables(&set).contains("1048576"));
        set.runs.iter_mut().for_each(|run| run.sweep.clear());
        assert_eq!(bandwidth_tables(&set), "");
    }
}
