//! The slowest messages or jobs of each scheme, with their losses, timeouts and retransmissions.

use super::markup::escape;
use crate::groups::schemes;
use crate::index::Index;
use crate::labels::{bytes, large, micros, significant};
use anabranch_results::{FlowRow, JobRow, RunRow};
use std::cmp::Reverse;

const MOST: usize = 10;
const MOST_SCHEMES: usize = 40;
const OF_MESSAGES: [&str; 12] = [
    "message",
    "run",
    "from host",
    "to host",
    "length",
    "posted at µs",
    "FCT µs",
    "slowdown",
    "lost",
    "resent",
    "timeouts",
    "path changes",
];
const OF_JOBS: [&str; 8] =
    ["job", "run", "ranks", "CCT µs", "over ideal", "the run's losses on links", "its drops", "its timeouts"];

/// The tables of the slowest jobs and messages of each of the first [`MOST_SCHEMES`] schemes, collapsed at first. The
/// section is empty if the results have no rows of jobs or messages.
pub(super) fn section(index: &Index<'_>) -> String {
    let of_schemes = schemes(index.set).into_iter().take(MOST_SCHEMES).map(|scheme| of_scheme(index, scheme));
    let tables: String = of_schemes.collect();
    if tables.is_empty() {
        return tables;
    }
    format!(
        "<section id=\"slowest\"><h2>The slowest of each scheme</h2><p class=\"note\">Of all seeds and points of a sweep; \
         what did not finish comes first. A dash: not counted for each message, as several share a queue pair. Lost are \
         data packets that were dropped, trimmed, or lost on links. A path changes where a packet has another entropy \
         value than the one before; what switches choose beside that is not counted.</p>{tables}</section>\n"
    )
}

fn of_scheme(index: &Index<'_>, scheme: &str) -> String {
    let runs = || index.set.actual().iter().enumerate().filter(|(_, run)| run.scheme == scheme);
    let jobs = runs().flat_map(|(number, run)| index.jobs(number).iter().map(move |job| (run, *job)));
    let flows = runs().flat_map(|(number, run)| index.flows(number).iter().map(move |flow| (run, *flow)));
    let jobs = slowest(jobs, |job: &JobRow| job.cct_ps).into_iter().map(|(run, job)| job_cells(run, job));
    let flows =
        slowest(flows, |flow: &FlowRow| flow.fct_ps).into_iter().map(|(run, flow)| flow_cells(run, flow));
    table(scheme, "jobs", &OF_JOBS, &jobs.collect::<Vec<_>>())
        + &table(scheme, "messages", &OF_MESSAGES, &flows.collect::<Vec<_>>())
}

/// The slowest rows, by decreasing time. Rows without a time come first. Memory never holds more than twice the number
/// of rows that are shown.
fn slowest<'a, Row>(
    rows: impl Iterator<Item = (&'a RunRow, &'a Row)>,
    time: impl Fn(&Row) -> Option<u64>,
) -> Vec<(&'a RunRow, &'a Row)> {
    let mut found: Vec<(&RunRow, &Row)> = Vec::new();
    let cut = |found: &mut Vec<(&'a RunRow, &'a Row)>| {
        found.sort_by_key(|(_, row)| (time(row).is_some(), Reverse(time(row))));
        found.truncate(MOST);
    };
    for row in rows {
        found.push(row);
        if found.len() >= 2 * MOST {
            cut(&mut found);
        }
    }
    cut(&mut found);
    found
}

fn run_name(run: &RunRow) -> String {
    let points = run.sweep.iter().map(|(name, value)| format!(", {name} = {value}"));
    format!("seed {}{}", run.seed, points.collect::<String>())
}

fn time(ps: Option<u64>) -> String {
    ps.map_or_else(|| "never".to_owned(), |ps| micros(ps as f64 / 1e6))
}

fn flow_cells(run: &RunRow, flow: &FlowRow) -> Vec<String> {
    let count = |count: Option<u32>| count.map_or_else(|| "-".to_owned(), |count| count.to_string());
    let group = if flow.group.is_empty() { String::new() } else { format!(" ({})", flow.group) };
    vec![
        format!("{}{group}", flow.flow),
        run_name(run),
        flow.src.to_string(),
        flow.dst.to_string(),
        bytes(flow.bytes as f64),
        time(flow.start_ps),
        time(flow.fct_ps),
        flow.slowdown().map_or_else(|| "-".to_owned(), significant),
        count(flow.lost),
        count(flow.retransmissions),
        count(flow.timeouts),
        count(flow.path_changes),
    ]
}

fn job_cells(run: &RunRow, job: &JobRow) -> Vec<String> {
    let over_ideal =
        job.cct_ps.filter(|_| job.ideal_cct_ps > 0).map(|cct| cct as f64 / job.ideal_cct_ps as f64);
    vec![
        format!("{} ({})", job.job, job.algorithm),
        run_name(run),
        job.ranks.to_string(),
        time(job.cct_ps),
        over_ideal.map_or_else(|| "-".to_owned(), significant),
        large(run.link_losses as f64),
        large(run.drops as f64),
        large(run.timeouts as f64),
    ]
}

fn table(scheme: &str, things: &str, head: &[&str], rows: &[Vec<String>]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let head: String = head.iter().map(|cell| format!("<th scope=\"col\">{cell}</th>")).collect();
    let row = |cells: &Vec<String>| {
        let cells = cells.iter().enumerate().map(|(position, cell)| match position {
            0 => format!("<th scope=\"row\">{}</th>", escape(cell)),
            _ => format!("<td>{}</td>", escape(cell)),
        });
        format!("<tr>{}</tr>", cells.collect::<String>())
    };
    let rows: String = rows.iter().map(row).collect();
    let scheme = escape(scheme);
    format!(
        "<details data-scheme=\"{scheme}\"><summary>{scheme}: slowest {things}</summary><div class=\"scroll\" tabindex=\"0\" \
         role=\"region\" aria-label=\"Slowest {things} of {scheme}\"><table class=\"numbers\"><thead><tr>{head}</tr></thead>\
         <tbody>{rows}</tbody></table></div></details>"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{collectives, two_schemes};

    #[test]
    fn the_slowest_come_first_and_before_them_what_did_not_finish() {
        let mut set = two_schemes();
        let flow = set.flows[0].clone();
        set.flows = (0..100)
            .map(|number| FlowRow {
                flow: number,
                fct_ps: Some(u64::from(number * 37 % 100) * 1_000_000),
                ..flow.clone()
            })
            .collect();
        set.flows[42].fct_ps = None;
        (set.flows[27].retransmissions, set.flows[27].timeouts) = (Some(5), Some(2));
        set.flows[27].lost = Some(4);
        set.flows[27].path_changes = Some(31);
        let html = section(&Index::new(&set));
        let rows: Vec<&str> = html.split("<tr><th scope=\"row\">").skip(1).collect();
        assert_eq!(rows.len(), MOST);
        assert!(rows[0].starts_with("42</th>") && rows[0].contains("<td>never</td>"), "{}", rows[0]);
        assert!(rows[1].starts_with("27</th>") && rows[1].contains("<td>99.00</td>"), "{}", rows[1]);
        assert!(rows[1].contains("<td>4</td><td>5</td><td>2</td><td>31</td>"), "{}", rows[1]);
    }

    #[test]
    fn of_collectives_it_is_the_jobs() {
        let html = section(&Index::new(&collectives()));
        assert!(html.contains("rocev2: slowest jobs") && !html.contains("messages</summary>"), "{html}");
        assert!(section(&Index::new(&anabranch_results::ResultSet::default())).is_empty());
    }
}
