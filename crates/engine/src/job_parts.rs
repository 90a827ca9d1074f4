//! Rows for the ranks and collectives of jobs with steps: computing time and exposed communication time.

use crate::network::Network;
use anabranch_base::{Duration, GateId, HostId, Time};
use anabranch_results::{JobRow, PartRow};
use anabranch_workload::{Job, Opens};

/// The intervals in which a rank computes, in order of time and without overlaps.
#[derive(Default)]
struct ComputeIntervals(Vec<[Time; 2]>);

impl ComputeIntervals {
    fn of(mut spans: Vec<[Time; 2]>) -> Self {
        spans.sort_unstable();
        let mut merged: Vec<[Time; 2]> = Vec::with_capacity(spans.len());
        for [begun, over] in spans {
            match merged.last_mut() {
                Some(last) if begun <= last[1] => last[1] = last[1].max(over),
                _ => merged.push([begun, over]),
            }
        }
        ComputeIntervals(merged)
    }

    fn within(&self, from: Time, to: Time) -> Duration {
        let first = self.0.partition_point(|span| span[1] <= from);
        let during = self.0[first..].iter().take_while(|span| span[0] < to);
        during.fold(Duration::ZERO, |sum, [begun, over]| sum + (*over).min(to).since((*begun).max(from)))
    }
}

/// The rows of all ranks and of all collectives of the jobs that have steps, at the time `now`.
pub(crate) fn parts_of_jobs(network: &Network<'_>, now: Time, rows: &[JobRow]) -> Vec<PartRow> {
    let jobs = network.workload.jobs.iter().zip(rows).filter(|(job, _)| !job.steps.is_empty());
    let mut parts = Vec::new();
    for (job, row) in jobs {
        let busy = busy(network, now, job);
        parts.extend(
            (0..).zip(&job.hosts).zip(&busy).map(|((rank, host), busy)| of_rank(now, row, rank, *host, busy)),
        );
        parts.extend((0..).zip(&job.collectives).map(|(number, its)| {
            let times =
                |[begins, over]: [GateId; 2]| [step_times(network, begins)[0], step_times(network, over)[1]];
            let members = its.members.iter().map(|(rank, steps)| (&busy[*rank as usize], times(*steps)));
            let start = members.clone().filter_map(|(_, [begun, _])| begun).min();
            let end = members
                .clone()
                .map(|(_, [_, over])| over)
                .try_fold(Time::ZERO, |end, over| Some(end.max(over?)));
            let spent = members.filter_map(|(busy, [begun, over])| {
                let (begun, over) = (begun?, over.unwrap_or(now));
                let computes = busy.within(begun, over);
                Some([computes, Duration(over.since(begun).0 - computes.0)])
            });
            PartRow {
                run: 0,
                job: row.job,
                part: "collective".to_owned(),
                number,
                host: None,
                algorithm: its.algorithm.to_owned(),
                place: Some(its.place),
                ranks: its.members.len() as u32,
                bytes: its.bytes,
                start_ps: start.map(|start| start.0),
                end_ps: end.map(|end| end.0),
                compute_ps: spent.clone().map(|[computes, _]| computes.0).min().unwrap_or(0),
                exposed_ps: spent.map(|[_, exposed]| exposed.0).max().unwrap_or(0),
            }
        }));
    }
    parts
}

fn of_rank(now: Time, row: &JobRow, rank: u32, host: HostId, busy: &ComputeIntervals) -> PartRow {
    let (start, lasted) = (Time(row.start_ps), row.cct_ps);
    let end = Time(row.start_ps + lasted.unwrap_or_else(|| now.0.saturating_sub(row.start_ps)));
    let computes = busy.within(start, end);
    PartRow {
        run: 0,
        job: row.job,
        part: "rank".to_owned(),
        number: rank,
        host: Some(host.0),
        algorithm: String::new(),
        place: None,
        ranks: 1,
        bytes: 0,
        start_ps: Some(start.0),
        end_ps: lasted.map(|_| end.0),
        compute_ps: computes.0,
        exposed_ps: end.since(start).0 - computes.0,
    }
}

/// The start and end of the step that belongs to a gate, as far as they are known.
fn step_times(network: &Network<'_>, gate: GateId) -> [Option<Time>; 2] {
    match network.workload.gates[gate.index()].opens {
        Opens::Step(number) => network.board.step_times(number),
        _ => [None; 2],
    }
}

/// The intervals in which each rank of a job has computed. Simultaneous steps count once, and a step that has not ended
/// counts until now.
fn busy(network: &Network<'_>, now: Time, job: &Job) -> Vec<ComputeIntervals> {
    let mut spans: Vec<Vec<[Time; 2]>> = vec![Vec::new(); job.hosts.len()];
    for (position, number) in (0..).zip(job.steps.clone()) {
        let step = &network.workload.steps[number as usize];
        if step.computes()
            && step.takes > Duration::ZERO
            && let [Some(begun), over] = network.board.step_times(number)
            && let Some(rank) = job.rank_steps.partition_point(|first| *first <= position).checked_sub(1)
        {
            spans[rank].push([begun, over.unwrap_or(now)]);
        }
    }
    spans.into_iter().map(ComputeIntervals::of).collect()
}

/// The largest computing time and the largest exposed communication time of a rank, over the ranks of all jobs. The
/// exposed communication time of a rank is the part of its job's time in which the rank does not compute.
pub(crate) fn computing(parts: &[PartRow]) -> [(String, f64); 2] {
    let most = |of: fn(&PartRow) -> u64| {
        let ranks = parts.iter().filter(|part| part.part == "rank");
        ranks.map(of).max().unwrap_or(0) as f64 / 1e6
    };
    [
        ("compute_max_us".to_owned(), most(|part| part.compute_ps)),
        ("exposed_max_us".to_owned(), most(|part| part.exposed_ps)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_overlaps_counts_once_and_what_is_outside_does_not() {
        let spans = [[30, 40], [0, 10], [5, 20], [20, 22], [50, 60]];
        let busy = ComputeIntervals::of(spans.map(|span| span.map(Time)).to_vec());
        let within = |from, to| busy.within(Time(from), Time(to)).0;
        assert_eq!(within(0, 100), 22 + 10 + 10);
        assert_eq!([within(22, 30), within(15, 35), within(39, 51), within(60, 70)], [0, 7 + 5, 1 + 1, 0]);
        assert_eq!(ComputeIntervals::default().within(Time(0), Time(9)).0, 0);
    }
}
