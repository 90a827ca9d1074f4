//! Notes on the delay by timeouts, and on collectives whose messages compete with each other (AllToAll) or put little
//! load on the fabric (rings).

use crate::groups::{Group, at_points, groups, named};
use crate::labels::duration;
use anabranch_results::{FlowRow, PointFacts, ResultSet};

/// The largest number of groups (a scheme at a point of the sweep) that a note lists.
const MOST: usize = 6;

/// A comparison of a group's messages with a timeout and its messages without one.
struct TimeoutDelays {
    /// The number of messages that finished and whose timeouts are known.
    messages: usize,
    /// The number of `messages` that had a timeout.
    with: usize,
    /// The FCT in microseconds of the slowest message with a timeout: the mean over the runs that have such a message.
    slowest_with_us: f64,
    /// The FCT in microseconds of the slowest message without a timeout, also as a mean over runs. It is `None` if
    /// all of the counted messages had a timeout.
    slowest_without_us: Option<f64>,
}

/// A note on the number of messages that a rank of an AllToAll sends at the same time. Each message has its own
/// congestion window, so this number determines how far the job is an incast. There is no note for other jobs, or if
/// the number is 1. There is none for ranks with NVLink either, because their blocks go by fewer queue pairs. If the
/// number is swept, there is no note, because a column shows the number.
pub(crate) fn alltoall_concurrency(set: &ResultSet, points: &[PointFacts]) -> Option<String> {
    if set.actual().iter().any(|run| run.sweep.contains_key("workload.connections")) {
        return None;
    }
    let open = |point: &PointFacts| {
        let open = i64::from(point.workload.connections?);
        let is_to_all = point.workload.algorithm.as_deref() == Some("alltoall");
        (is_to_all && open > 1 && !point.workload.nvlink).then_some(open)
    };
    let (open, at) = number_at_points(points, open)?;
    Some(format!(
        "{at} rank of the AllToAll sends to {open} others at once (workload.connections), each with a window of its own; with \
         fewer, another scheme may lead."
    ))
}

/// A note that a ring whose ranks are in host order puts little load on a fabric. Only one host of each ToR sends to
/// another ToR, so neither oversubscription nor hashing matters. There is no note for other jobs or placements, nor for
/// several channels, each of which sends from a host of its own. There is also no note if each host has its own ToR, or
/// if all hosts share one ToR.
pub(crate) fn ring_in_host_order(points: &[PointFacts]) -> Option<String> {
    let of_tor = |point: &PointFacts| {
        let algorithm = point.workload.algorithm.as_deref();
        let is_ring = algorithm.is_some_and(|algorithm| algorithm.ends_with("-ring"));
        let (hosts, of_tor) = (point.hosts?, point.hosts_per_tor?);
        let is_in_order = point.workload.placement.as_deref() == Some("blocks");
        let is_one = point.workload.channels.is_none_or(|channels| channels == 1);
        (is_ring && is_in_order && is_one && of_tor > 1 && hosts > of_tor).then_some(i64::from(of_tor))
    };
    let (of_tor, at) = number_at_points(points, of_tor)?;
    let begin = match at.strip_suffix("each") {
        Some(at) => format!("{at}the"),
        None => "The".to_owned(),
    };
    Some(format!(
        "{begin} ranks of the ring are in host order (workload.placement): one of the {of_tor} hosts of a ToR sends out of it, \
         whatever the oversubscription. `placement = \"random\"` asks more of the fabric."
    ))
}

/// The range of the number over the points of the sweep that have the number: `8` or `8 to 16`. The second text begins
/// a sentence about these points: `Each`, or `At 1 of 2 sweep points (x = 1): each`. The result is none if no point has
/// the number.
fn number_at_points(
    points: &[PointFacts],
    of: impl Fn(&PointFacts) -> Option<i64>,
) -> Option<(String, String)> {
    let found: Vec<(i64, String)> =
        points.iter().filter_map(|point| Some((of(point)?, named(&point.sweep)))).collect();
    let numbers = || found.iter().map(|(number, _)| *number);
    let (least, most) = (numbers().min()?, numbers().max()?);
    let number = if least == most { least.to_string() } else { format!("{least} to {most}") };
    let names: Vec<String> = found.into_iter().map(|(_, name)| name).collect();
    let begin = match names.len() == points.len() {
        true => "Each".to_owned(),
        false => format!("A{}: each", &at_points(&names, points.len())[1..]),
    };
    Some((number, begin))
}

/// Notes on the delay by timeouts, which compare the slowest messages with a timeout to the slowest without one. There
/// are no notes if no timer expired. The results do not contain the time that a message or a job waited for a timeout,
/// because other packets are sent while a timer runs.
pub(crate) fn notes(set: &ResultSet) -> Vec<String> {
    let groups = groups(set);
    let is_late = |group: &&Group<'_>| group.total(|run| run.timeouts) > 0;
    let late: Vec<&Group<'_>> = groups.iter().filter(is_late).collect();
    if late.is_empty() {
        return Vec::new();
    }
    let found: Vec<(&Group<'_>, TimeoutDelays)> =
        late.iter().filter_map(|group| Some((*group, timeout_delays(set, group)?))).collect();
    let texts = found.iter().take(MOST).map(|(group, delays)| {
        let at: Vec<String> = group.sweep.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        let at = if at.is_empty() { String::new() } else { format!(" ({})", at.join(", ")) };
        format!("{}{at}: {}", group.scheme, delays.in_words())
    });
    let texts: Vec<String> = texts.collect();
    let mut notes = Vec::new();
    if !texts.is_empty() {
        let more = if found.len() > MOST { "; the others in flows.parquet" } else { "" };
        let of_seeds = match found.iter().any(|(group, _)| group.indices.len() > 1) {
            true => " (counts summed over the seeds, each seed's slowest averaged)",
            false => "",
        };
        notes.push(format!("Messages that waited for a timeout{of_seeds}: {}{more}.", texts.join("; ")));
    }
    if late.iter().any(|group| group.runs().any(|run| run.jobs > 0)) {
        notes.push("How much of a CCT is waiting for timeouts is not recorded.".to_owned());
    }
    notes
}

impl TimeoutDelays {
    /// The comparison as text: `1 of 16, the slowest 180.9 µs, of the others 112.0 µs`.
    fn in_words(&self) -> String {
        let TimeoutDelays { messages, with, slowest_with_us, slowest_without_us } = self;
        let others = slowest_without_us
            .map_or_else(String::new, |slowest| format!(", of the others {}", duration(slowest)));
        format!("{with} of {messages}, the slowest {}{others}", duration(*slowest_with_us))
    }
}

/// The delays of messages with a timeout in a group. The result is none if no finished message is known to have had a
/// timeout. If messages share a queue pair, its timeouts cannot be attributed to one message.
fn timeout_delays(set: &ResultSet, group: &Group<'_>) -> Option<TimeoutDelays> {
    let flows_of = |index: usize| {
        let first = set.flows.partition_point(|flow| (flow.run as usize) < index);
        set.flows[first..].iter().take_while(move |flow| flow.run as usize == index)
    };
    let finished = |index: usize| {
        flows_of(index).filter_map(|flow| Some((flow, flow.fct_ps? as f64 / 1e6, flow.timeouts? > 0)))
    };
    let slowest = |index: usize, late: bool| -> Option<f64> {
        let of = finished(index).filter(|(_, _, is_late)| *is_late == late);
        of.map(|(_, fct_us, _): (&FlowRow, f64, bool)| fct_us).reduce(f64::max)
    };
    let mean = |late: bool| {
        let each: Vec<f64> = group.indices.iter().filter_map(|&index| slowest(index, late)).collect();
        (!each.is_empty()).then(|| each.iter().sum::<f64>() / each.len() as f64)
    };
    let all = || group.indices.iter().flat_map(|&index| finished(index));
    Some(TimeoutDelays {
        messages: all().count(),
        with: all().filter(|(_, _, is_late)| *is_late).count(),
        slowest_with_us: mean(true)?,
        slowest_without_us: mean(false),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{collectives, two_schemes};
    use crate::scenario_text::set_scenario;

    fn ring_in_host_order(set: &ResultSet) -> Option<String> {
        super::ring_in_host_order(&set.facts.points)
    }

    fn alltoall_concurrency(set: &ResultSet) -> Option<String> {
        super::alltoall_concurrency(set, &set.facts.points)
    }

    fn flow(run: u32, fct_us: u64, timeouts: Option<u32>) -> FlowRow {
        FlowRow {
            run,
            flow: 0,
            qp: 0,
            src: 0,
            dst: 1,
            bytes: 1_000,
            start_ps: Some(0),
            delivery_ps: Some(1),
            fct_ps: Some(fct_us * 1_000_000),
            ideal_fct_ps: 1,
            group: "".into(),
            packets: 1,
            retransmissions: timeouts,
            timeouts,
            ..FlowRow::default()
        }
    }

    /// By hand, for the runs of reps at 8 MiB with seeds 1 and 2: the slowest messages with a timeout take 90 and 110
    /// us (mean 100). The slowest without a timeout take 40 and 60 us (mean 50). ops has no timeouts, and at 16 MiB the
    /// timeouts cannot be attributed to messages.
    #[test]
    fn the_slowest_with_and_without_a_timeout_stand_beside_each_other() {
        let mut set = two_schemes();
        assert!(notes(&set).is_empty(), "no timer ran out");
        set.runs.iter_mut().filter(|run| run.scheme == "reps").for_each(|run| run.timeouts = 5);
        set.flows = vec![
            flow(0, 40, Some(0)),
            flow(0, 90, Some(2)),
            flow(0, 70, Some(1)),
            flow(1, 110, Some(1)),
            flow(1, 60, Some(0)),
            flow(2, 500, None),
        ];
        assert_eq!(
            notes(&set),
            [
                "Messages that waited for a timeout (counts summed over the seeds, each seed's slowest averaged): reps (workload.bytes = \
              8MiB): 3 of 5, the slowest 100.0 µs, of the others 50.00 µs."
            ]
        );
        set.flows.retain(|flow| flow.timeouts != Some(0));
        assert!(notes(&set)[0].ends_with("3 of 3, the slowest 100.0 µs."), "{:?}", notes(&set));
    }

    #[test]
    fn of_collectives_it_is_said_that_it_is_not_known() {
        let mut set = collectives();
        set.runs[1].timeouts = 3;
        assert_eq!(notes(&set), ["How much of a CCT is waiting for timeouts is not recorded."]);
    }

    #[test]
    fn a_ring_in_host_order_says_what_it_asks_of_the_fabric() {
        let mut set = collectives();
        let scenario = |rest: &str, of_tor: u32| {
            format!("[workload]\n{rest}[topology]\nhosts = 32\n[[topology.tier]]\nradix_down = {of_tor}\n")
        };
        let ring = "algorithm = \"allreduce-ring\"\nplacement = \"blocks\"\n";
        set_scenario(&mut set, scenario(ring, 8));
        let texts = ring_in_host_order(&set).unwrap();
        assert!(texts.contains("one of the 8 hosts of a ToR") && texts.contains("\"random\""), "{texts}");
        let channels = |number: u32| format!("{ring}[workload.server]\nchannels = {number}\n");
        set_scenario(&mut set, scenario(&channels(1), 8));
        assert!(ring_in_host_order(&set).is_some());
        for (rest, of_tor) in [
            (&*channels(8), 8),
            (ring, 1),
            (ring, 32),
            ("algorithm = \"alltoall\"\nplacement = \"blocks\"\n", 8),
            ("algorithm = \"allreduce-ring\"\nplacement = \"random\"\n", 8),
        ] {
            set_scenario(&mut set, scenario(rest, of_tor));
            assert_eq!(ring_in_host_order(&set), None, "{rest}, {of_tor} hosts");
        }
    }

    #[test]
    fn an_all_to_all_says_how_many_messages_are_open_at_once() {
        let mut set = collectives();
        let workload =
            |rest: &str| format!("seeds = [1]\n[workload]\nkind = \"collective\"\n{rest}[scheme]\n");
        set_scenario(&mut set, workload("algorithm = \"alltoall\"\nconnections = 127\n"));
        assert!(alltoall_concurrency(&set).unwrap().contains("sends to 127 others at once"));
        set_scenario(&mut set, workload("algorithm = \"alltoall\"\nconnections = 1\n"));
        assert_eq!(alltoall_concurrency(&set), None);
        set_scenario(&mut set, workload("algorithm = \"allreduce-ring\"\nchunk = \"128KB\"\n"));
        assert_eq!(alltoall_concurrency(&set), None);
        set_scenario(&mut set, workload("algorithm = \"alltoall\"\nconnections = 127\n"));
        let nvlink = "[workload.server]\nlink = \"3600Gbps\"\n";
        set_scenario(&mut set, workload(&format!("algorithm = \"alltoall\"\nconnections = 127\n{nvlink}")));
        assert_eq!(alltoall_concurrency(&set), None, "the blocks for a server share a queue pair");
        set_scenario(&mut set, workload("algorithm = \"alltoall\"\nconnections = 127\n"));
        set.runs[0].sweep.insert("workload.connections".into(), anabranch_results::Value::Number(127.0));
        assert_eq!(alltoall_concurrency(&set), None, "the table has a column of it");
        set.runs[0].sweep.clear();
        let swept = "[[point]]\n[point.sweep]\n\"workload.algorithm\" = \"allreduce-ring\"\n\
                     [[point]]\n[point.workload]\nalgorithm = \"alltoall\"\nconnections = 31\n\
                     [point.sweep]\n\"workload.algorithm\" = \"alltoall\"\n";
        set_scenario(
            &mut set,
            format!("{}{swept}", workload("algorithm = \"allreduce-ring\"\nchunk = \"128KB\"\n")),
        );
        assert!(
            alltoall_concurrency(&set).unwrap().starts_with(
                "At 1 of 2 sweep points (workload.algorithm = alltoall): each rank of the AllToAll sends to 31 others at once"
            ),
            "{:?}",
            alltoall_concurrency(&set)
        );
        // If the points have different numbers of connections, the note gives the range.
        let swept = swept.replace("allreduce-ring", "alltoall");
        set_scenario(
            &mut set,
            format!("{}{swept}", workload("algorithm = \"alltoall\"\nconnections = 15\n")),
        );
        assert!(
            alltoall_concurrency(&set)
                .unwrap()
                .starts_with("Each rank of the AllToAll sends to 15 to 31 others at once"),
            "{:?}",
            alltoall_concurrency(&set)
        );
    }

    #[test]
    fn a_ring_in_host_order_says_so_at_the_points_of_a_sweep_that_have_it() {
        let mut set = collectives();
        let base = "[workload]\nalgorithm = \"allreduce-ring\"\nplacement = \"random\"\n[topology]\nhosts = 32\n\
                    [[topology.tier]]\nradix_down = 8\n[[point]]\n[point.sweep]\n\"workload.placement\" = \"random\"\n";
        let blocks = "[[point]]\n[point.workload]\nalgorithm = \"allreduce-ring\"\nplacement = \"blocks\"\n\
                      [point.sweep]\n\"workload.placement\" = \"blocks\"\n";
        set_scenario(&mut set, base.to_owned());
        assert_eq!(ring_in_host_order(&set), None);
        set_scenario(&mut set, format!("{base}{blocks}"));
        assert!(
            ring_in_host_order(&set).unwrap().starts_with(
                "At 1 of 2 sweep points (workload.placement = blocks): the ranks of the ring are in host order \
                 (workload.placement): one of the 8 hosts of a ToR"
            ),
            "{:?}",
            ring_in_host_order(&set)
        );
    }
}
