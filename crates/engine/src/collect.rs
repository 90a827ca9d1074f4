//! The rows of the results, which are collected from an engine that has stopped or paused.

use crate::board::parts;
use crate::engine::Engine;
use crate::fault_spec::FaultSpec;
use crate::host::QpStats;
use crate::ideal::{Ideal, Ideals};
use crate::job_parts::{computing, parts_of_jobs};
use crate::network::Network;
use crate::node_totals::NodeTotals;
use crate::observer::Observer;
use crate::span::Span;
use crate::spec::RunPoint;
use anabranch_base::{HostId, MessageId, QpId, Time};
use anabranch_proto::transport::SenderCounter;
use anabranch_results::digest::run_digest;
use anabranch_results::{FaultRow, FlowRow, JobRow, PartRow, RunRow, RunWarning, SeriesRow, Statistic};
use anabranch_workload::collective::Algorithm;
use anabranch_workload::{Job, Step};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The results of a run. The field `wall_s` of `run` is 0 until a caller that has a clock sets it.
#[derive(Clone, Debug, PartialEq)]
pub struct RunResult {
    /// Totals, with the digest of the totals, flows and jobs.
    pub run: RunRow,
    /// One row per message that belongs to no job.
    pub flows: Vec<FlowRow>,
    /// One row per job, if the workload has jobs.
    pub jobs: Vec<JobRow>,
    /// The rows of the jobs that have steps. For each job, there is one row per rank, then one row per collective.
    pub parts: Vec<PartRow>,
    /// Points of the measured curves.
    pub series: Vec<SeriesRow>,
    /// The activities of hosts over time, if [`Control::spans`](crate::Control::spans) is set.
    pub spans: Vec<Span>,
}

impl RunResult {
    /// A result of these rows. The digest covers the totals, the flows and the jobs.
    pub fn new(run: RunRow, flows: Vec<FlowRow>, jobs: Vec<JobRow>, series: Vec<SeriesRow>) -> Self {
        RunResult { run, flows, jobs, parts: Vec::new(), series, spans: Vec::new() }.with_digest()
    }

    pub(crate) fn with_digest(mut self) -> Self {
        self.run.digest = run_digest(&self.run, &self.flows, &self.jobs);
        self
    }
}

const MAX_NAMED: usize = 10;

/// Descriptions of at most [`MAX_NAMED`] messages that are not acknowledged.
pub(crate) fn name_unfinished<O: Observer>(engine: &Engine<'_, O>) -> Vec<String> {
    engine
        .unfinished_messages()
        .take(MAX_NAMED)
        .map(|message| name_message(engine.network(), message))
        .collect()
}

fn name_message(network: &Network<'_>, (message, posted): (MessageId, Option<Time>)) -> String {
    let spec = network.message(message);
    let qp = network.ends_of(spec.qp);
    let state = match posted {
        Some(time) => format!("posted at {:.3} us", time.as_us()),
        None => "never started".to_owned(),
    };
    format!("flow {message} (host {} -> host {}, {} B, {state})", qp.src, qp.dst, spec.bytes)
}

/// The rows of a run. The messages of jobs count in the totals but have no rows, since there may be millions of them.
pub(crate) fn collect<O: Observer>(engine: &Engine<'_, O>, point: &RunPoint, ideal: &Ideal<'_>) -> RunResult {
    let network = engine.network();
    let clock = (engine.now(), engine.node_totals());
    let mut result = rows(network, (&clock.1, clock.0), point, ideal, Some(&engine.qp_stats()));
    result.run.faults = fault_rows(engine, point);
    result.run.warnings = faults_without_effect(&result.run, point);
    result.run.warnings.extend(jobs_within_servers(&network.workload.jobs));
    result.with_digest()
}

/// The rows of a run at the time `now`, without faults, warnings and digest. If `stats` has no statistics of connections, the
/// rows of flows lack them.
pub(crate) fn rows(
    network: &Network<'_>,
    (totals, now): (&NodeTotals, Time),
    point: &RunPoint,
    ideal: &Ideal<'_>,
    stats: Option<&[QpStats]>,
) -> RunResult {
    let workload = network.workload;
    let ideals = Ideals::new(network, ideal);
    let flows = flow_rows(network, stats, point, &ideals);
    let class_of = |job: &Job| match workload.messages.get(job.messages.start as usize) {
        Some(message) if !job.messages.is_empty() => network.class_of_connection(message.qp),
        _ => 0,
    };
    let ideal_ccts = ideals.ccts(workload, class_of);
    let jobs = workload.jobs.iter().zip(&ideal_ccts).enumerate().map(|(number, (job, ideal))| JobRow {
        ideal_cct_ps: ideal.0,
        ..job_row(network, number as u32, job)
    });
    let jobs: Vec<JobRow> = jobs.collect();
    let parts = parts_of_jobs(network, now, &jobs);
    let mut run = run_row(network, totals, point, &jobs);
    run.ideal_fct_max_us = us(ideal_fct_max(network, &ideals));
    run.ideal_cct_max_us = us(ideal_ccts.iter().map(|ideal| ideal.0).max().unwrap_or(0));
    // With several classes, the slowdowns are those of the class whose schemes are compared.
    let is_compared = |flow: &&FlowRow| network.class_of_connection(QpId(flow.qp)) == 0;
    if network.topology.has_sites() {
        let compared: Vec<&FlowRow> = flows.iter().filter(is_compared).collect();
        run.extra.extend(slowdowns_by_side(&compared));
    }
    if !workload.steps.is_empty() {
        run.extra.extend(computing(&parts));
    }
    run.set_slowdowns(flows.iter().filter(is_compared));
    RunResult { run, flows, jobs, parts, series: Vec::new(), spans: Vec::new() }
}

/// The row of a run, without the fields that [`rows`] and [`collect`] set.
pub(crate) fn run_row(
    network: &Network<'_>,
    totals: &NodeTotals,
    point: &RunPoint,
    jobs: &[JobRow],
) -> RunRow {
    let count = network.board.messages();
    let times = (0..count).map(|message| network.board.times(MessageId(message)));
    let fct = |[from, _, to]: [Option<Time>; 3]| Some((to? - from?).0);
    let finished = times.clone().filter_map(fct).count();
    // With several classes, the FCTs are those of the class whose schemes are compared, which comes first.
    let class_of = |message: u32| network.class_of_connection(network.message(MessageId(message)).qp);
    let compared = match network.classes.is_empty() {
        true => count,
        false => (0..count).find(|message| class_of(*message) > 0).unwrap_or(count),
    };
    let mut fcts: Vec<u64> = times.clone().take(compared as usize).filter_map(fct).collect();
    fcts.sort_unstable();
    // Nearest rank: the smallest FCT that at least `share` percent of the flows do not exceed.
    let percentile =
        |share: usize| fcts.get((fcts.len() * share).div_ceil(100).max(1) - 1).map_or(0.0, |&ps| us(ps));
    // An idle step may begin before the job of its host, so it does not count.
    let steps = (0..).zip(&network.workload.steps).filter(|(_, step)| step.processor != Step::IDLE);
    let begun = steps.filter_map(|(number, _)| network.board.step_times(number)[0]);
    let first_start = times.filter_map(|[posted, ..]| posted).chain(begun).min().unwrap_or(Time::ZERO);
    let last_end = network.board.last_end().max(first_start);
    let ccts: Vec<u64> = jobs.iter().filter_map(|job| job.cct_ps).collect();
    let busbw = |job: &&JobRow| job.busbw_gbytes_per_sec.unwrap_or(f64::INFINITY);
    let slowest = jobs.iter().min_by(|a, b| busbw(a).total_cmp(&busbw(b)));
    let (peak_queue, peak_link) = totals.peak().unzip();
    let peak_queue = u64::from(peak_queue.unwrap_or(0));
    let NodeTotals { counters, senders, .. } = totals;
    RunRow {
        scheme: point.scheme.name.clone(),
        seed: point.seed,
        sweep: point.sweep.clone(),
        flows: u64::from(count),
        flows_finished: finished as u64,
        fct_mean_us: mean_us(&fcts),
        fct_p50_us: percentile(50),
        fct_p99_us: percentile(99),
        fct_max_us: percentile(100),
        completion_us: us((last_end - first_start).0),
        jobs: jobs.len() as u64,
        jobs_finished: ccts.len() as u64,
        cct_mean_us: mean_us(&ccts),
        cct_max_us: us(ccts.iter().copied().max().unwrap_or(0)),
        algbw_gbytes_per_sec: slowest.and_then(|job| job.algbw_gbytes_per_sec),
        busbw_gbytes_per_sec: slowest.and_then(|job| job.busbw_gbytes_per_sec),
        // A percentile of the queues is rounded up by at most a sixteenth, so it may exceed the peak.
        queue_p99_bytes: totals.backlogs.percentile(99).unwrap_or(0).min(peak_queue),
        peak_queue_bytes: peak_queue,
        peak_queue_link: peak_link.map_or_else(String::new, |link| network.topology.link_name(link)),
        drops: counters.drops,
        link_losses: counters.link_losses,
        trims: counters.trims,
        ecn_marks: counters.ecn_marks,
        pause_frames: counters.pause_frames,
        pause_us: counters.pause_time.as_us(),
        retransmissions: senders.retransmissions,
        timeouts: senders.timeouts,
        packet_hops: counters.packet_hops,
        // A run continues for `Network::linger` after the end of its last message or step. This time does not count if
        // all messages have finished.
        sim_time_us: if finished < count as usize { totals.latest } else { last_end }.as_us(),
        extra: extra_counters(network, totals, point),
        ..RunRow::default()
    }
}

/// The counters that only some schemes and fabrics have.
fn extra_counters(network: &Network<'_>, totals: &NodeTotals, point: &RunPoint) -> BTreeMap<String, f64> {
    let (scheme, senders) = (&point.scheme, &totals.senders);
    let programs = totals.programs.iter();
    let mut extra: BTreeMap<String, f64> =
        programs.map(|(name, count)| (name.clone(), *count as f64)).collect();
    for counter in scheme.transport.counters() {
        match counter {
            SenderCounter::Nacks => {
                extra.insert("nacks".to_owned(), senders.nacks as f64);
                extra.insert("nacks_of_a_qp_max".to_owned(), senders.most_nacks as f64);
            }
            SenderCounter::Fetches => {
                extra.insert("fetches".to_owned(), senders.fetches as f64);
            }
        }
    }
    if !point.classes.is_empty() {
        for (class, counts) in point.classes.iter().zip(totals.by_class()) {
            extra.insert(format!("drops_{}", class.name), counts.drops as f64);
            extra.insert(format!("ecn_marks_{}", class.name), counts.marks as f64);
            extra.insert(format!("pause_us_{}", class.name), counts.pause_time.as_us());
        }
    }
    if scheme.fabric.pfc.as_ref().is_some_and(|pfc| pfc.watchdog.is_some()) {
        extra.insert("watchdog_storms".to_owned(), totals.watchdog_storms as f64);
        extra.insert("watchdog_drops".to_owned(), totals.watchdog_drops as f64);
    }
    if scheme.fabric.trim {
        extra.insert("header_drops".to_owned(), totals.counters.header_drops as f64);
    }
    if network.topology.has_sites() {
        let marks = totals.marks_by_class.iter();
        extra.extend(marks.map(|(class, marks)| (format!("ecn_marks_{class}"), *marks as f64)));
    }
    extra
}

fn us(ps: u64) -> f64 {
    ps as f64 / 1e6
}

fn fault_rows<O: Observer>(engine: &Engine<'_, O>, point: &RunPoint) -> Vec<FaultRow> {
    let mut hits = engine.fault_hits();
    let row = |(fault, spec): (u16, &FaultSpec)| {
        let hits = *hits.of(fault);
        FaultRow {
            fault: u32::from(fault),
            kind: spec.kind.word().to_owned(),
            on: spec.kind.names().0.to_string(),
            // A fault with random failures may never begin in a run. The time limit of the run is then stored as the
            // start of the fault.
            at_us: engine.fault_begin(fault).map_or(point.limits.max_time.as_us(), |at| at.as_us()),
            packets_lost: hits.lost,
            packets_refused: hits.dropped,
            packets_slowed: hits.slowed,
            data_packets: hits.data,
        }
    };
    (0..u16::MAX).zip(&point.faults).map(row).collect()
}

fn faults_without_effect(run: &RunRow, point: &RunPoint) -> Vec<RunWarning> {
    let warning = |(row, spec): (&FaultRow, &FaultSpec)| {
        let late: Vec<String> =
            spec.at.0.iter().filter(|at| at.as_us() >= run.sim_time_us).map(ToString::to_string).collect();
        let (fault, on) = (row.fault, spec.kind.to_string());
        match (row.packets(), row.data_packets) {
            _ if spec.kind.is_nothing() => None,
            (0, _) if row.at_us >= run.sim_time_us => Some(RunWarning::FaultAfterEnd { fault, on }),
            (0, _) => Some(RunWarning::FaultWithoutPackets { fault, on }),
            (packets, 0) => Some(RunWarning::FaultWithoutData { fault, on, packets }),
            _ if !late.is_empty() => Some(RunWarning::FaultTimesAfterEnd { fault, on, times: late }),
            _ => None,
        }
    };
    run.faults.iter().zip(&point.faults).filter_map(warning).collect()
}

/// Warnings about jobs that send nothing over the network, because all their traffic stays inside servers.
fn jobs_within_servers(jobs: &[Job]) -> impl Iterator<Item = RunWarning> {
    let within = jobs.iter().enumerate().filter(|(_, job)| job.messages.is_empty());
    within.map(|(number, job)| RunWarning::JobWithinServers {
        job: number as u32,
        algorithm: job.algorithm.to_string(),
        ranks: job.hosts.len() as u64,
    })
}

/// The mean and p99 slowdown of flows within data centres and of flows between them, if such flows finished.
fn slowdowns_by_side(flows: &[&FlowRow]) -> impl Iterator<Item = (String, f64)> {
    ["intra", "inter"].into_iter().flat_map(move |side| {
        let of_side = flows.iter().filter(|flow| flow.in_group(side));
        let slowdowns: Vec<f64> = of_side.filter_map(|flow| flow.slowdown()).collect();
        let number = |name: &str, statistic: Statistic| {
            Some((format!("{side}_slowdown_{name}"), statistic.of(&slowdowns)?))
        };
        [number("mean", Statistic::Mean), number("p99", Statistic::Percentile(99.0))].into_iter().flatten()
    })
}

fn mean_us(ps: &[u64]) -> f64 {
    let total: u128 = ps.iter().map(|&ps| u128::from(ps)).sum();
    if ps.is_empty() { 0.0 } else { total as f64 / ps.len() as f64 / 1e6 }
}

fn flow_rows(
    network: &Network<'_>,
    stats: Option<&[QpStats]>,
    point: &RunPoint,
    ideals: &Ideals<'_>,
) -> Vec<FlowRow> {
    let workload = network.workload;
    let count = network.board.messages();
    let mut of_jobs = vec![false; count as usize];
    for job in &workload.jobs {
        of_jobs[job.messages.start as usize..job.messages.end as usize].fill(true);
    }
    if !of_jobs.contains(&false) {
        return Vec::new();
    }
    let mut messages_of = vec![0_u32; network.connections() as usize];
    for message in (0..count).map(MessageId) {
        messages_of[network.message(message).qp.index()] += 1;
    }
    let mut groups = workload.groups.iter().peekable();
    let row = |number: u32| {
        while groups.peek().is_some_and(|group| group.messages.end <= number) {
            groups.next();
        }
        let group = groups.peek().filter(|group| group.messages.contains(&number));
        let mut row = flow_row(network, ideals, MessageId(number));
        let class = network.class_of_connection(QpId(row.qp));
        let part = group.map_or("", |group| group.name);
        let (src, dst) = (HostId(row.src), HostId(row.dst));
        let topology = network.topology;
        let side = topology.has_sites().then(|| if topology.crosses(src, dst) { "inter" } else { "intra" });
        let mixed = point.scheme.mix.as_ref().map(|mix| if mix.covers(src) { "mixed" } else { "main" });
        row.group = group_of(part, side, mixed.filter(|_| class == 0));
        if let Some(class) = point.classes.get(usize::from(class)) {
            let words = [class.name.as_str(), &row.group];
            let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
            row.group = FlowRow::group_named(&words.join("/"));
        }
        row.packets = packets(row.bytes, ideals.of(class).payload(), point.scheme.qps);
        // If a connection has several messages, its counters cannot be divided among them.
        if let Some(stats) = stats.filter(|_| messages_of[row.qp as usize] == 1) {
            let QpStats { retransmissions, timeouts, path_changes, lost } = stats[row.qp as usize];
            (row.retransmissions, row.timeouts) = (Some(retransmissions), Some(timeouts));
            (row.path_changes, row.lost) = (Some(path_changes), Some(lost));
        }
        row
    };
    (0..count).filter(|number| !of_jobs[*number as usize]).map(row).collect()
}

/// The group of a flow within its traffic class: up to three words with `/` between them. `part` is the part of the
/// workload, and is empty if the workload has no parts. `side` is `intra` or `inter` if there are several data
/// centres. `mixed` is `mixed` or `main`, depending on the load balancer of the source, if there are several load
/// balancers.
fn group_of(
    part: &'static str,
    side: Option<&'static str>,
    mixed: Option<&'static str>,
) -> Cow<'static, str> {
    let words = [Some(part).filter(|part| !part.is_empty()), side, mixed];
    let mut words = words.into_iter().flatten();
    match (words.next(), words.next(), words.next()) {
        (None, ..) => "".into(),
        (Some(one), None, _) => one.into(),
        (Some(one), Some(two), None) => FlowRow::group_named(&format!("{one}/{two}")),
        (Some(one), Some(two), Some(three)) => FlowRow::group_named(&format!("{one}/{two}/{three}")),
    }
}

/// The number of data packets of a message that is split among the queue pairs of its connection.
pub(crate) fn packets(bytes: u64, payload: u64, split: u32) -> u64 {
    let parts = u64::from(parts(bytes, split));
    let (each, longer) = (bytes / parts, bytes % parts);
    longer * each.saturating_add(1).div_ceil(payload) + (parts - longer) * each.div_ceil(payload)
}

fn flow_row(network: &Network<'_>, ideals: &Ideals<'_>, number: MessageId) -> FlowRow {
    let message = network.message(number);
    let ideal = ideals.of(network.class_of_connection(message.qp));
    let ends = network.ends_of(message.qp);
    let [posted, delivered, acknowledged] = network.board.times(number);
    let since_posted = |time: Option<Time>| Some((time? - posted?).0);
    FlowRow {
        run: 0,
        flow: number.0,
        qp: message.qp.0,
        src: ends.src.0,
        dst: ends.dst.0,
        bytes: message.bytes,
        start_ps: posted.map(|time| time.0),
        delivery_ps: since_posted(delivered),
        fct_ps: since_posted(acknowledged),
        ideal_fct_ps: ideal.fct(ends.src, ends.dst, message.bytes).0,
        group: "".into(),
        packets: 0,
        retransmissions: None,
        timeouts: None,
        path_changes: None,
        lost: None,
    }
}

/// The algorithm of a job. If NCCL's model chose it, a colon and the chosen algorithm and protocol follow.
fn named(job: &Job) -> String {
    match job.chosen {
        Some((chosen, protocol)) => format!("{}: {}, {}", job.algorithm, chosen.name(), protocol.name()),
        None => job.algorithm.to_owned(),
    }
}

fn job_row(network: &Network<'_>, number: u32, job: &Job) -> JobRow {
    let board = &network.board;
    let messages = job.messages.clone().map(|message| board.times(MessageId(message)));
    let times = messages.map(|[posted, _, acknowledged]| [posted, acknowledged]);
    // An idle step may begin before the job of its host, so its start is not the start of the job.
    let steps = &network.workload.steps;
    let times = times.chain(job.steps.clone().map(|step| {
        let [begun, over] = board.step_times(step);
        [begun.filter(|_| steps[step as usize].processor != Step::IDLE), over]
    }));
    let start = times.clone().filter_map(|[posted, _]| posted).min().unwrap_or(Time::ZERO);
    // The job has no end if one of its messages or steps has not ended.
    let end = times.map(|[_, end]| end).try_fold(start, |end, time| Some(end.max(time?)));
    let cct_ps = end.map(|end| (end - start).0);
    let algorithm = Algorithm::ALL.iter().find(|(name, _)| *name == job.algorithm);
    // A byte per picosecond is 1000 GB/s.
    let algbw = algorithm.and(cct_ps).filter(|cct| *cct > 0).map(|cct| job.bytes as f64 * 1e3 / cct as f64);
    let factor = algorithm.map_or(0.0, |(_, algorithm)| algorithm.bus_factor(job.hosts.len() as u32));
    JobRow {
        run: 0,
        job: number,
        algorithm: named(job),
        ranks: job.hosts.len() as u32,
        bytes: job.bytes,
        start_ps: start.0,
        ideal_cct_ps: 0,
        cct_ps,
        algbw_gbytes_per_sec: algbw,
        busbw_gbytes_per_sec: algbw.map(|algbw| algbw * factor),
    }
}

/// The largest of the ideal FCTs of each connection's longest message. With several classes, only the connections of
/// the first class count, as for the FCTs.
fn ideal_fct_max(network: &Network<'_>, ideals: &Ideals<'_>) -> u64 {
    let mut longest = vec![0; network.connections() as usize];
    for message in (0..network.board.messages()).map(|number| network.message(MessageId(number))) {
        let longest = &mut longest[message.qp.index()];
        *longest = message.bytes.max(*longest);
    }
    let alone = |(connection, &bytes): (u32, &u64)| {
        let ends = network.ends_of(QpId(connection));
        ideals.of(0).fct(ends.src, ends.dst, bytes).0
    };
    let is_compared =
        |&(connection, bytes): &(u32, &u64)| *bytes > 0 && network.class_of_connection(QpId(connection)) == 0;
    (0..).zip(&longest).filter(is_compared).map(alone).max().unwrap_or(0)
}
