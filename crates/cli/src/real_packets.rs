//! Runs on real packets, each beside its simulation.

use crate::execute::{describe, guarded, pass_on_interrupts};
use crate::failure::Failure;
use crate::output::{aligned, note};
use crate::{clock, interrupt, record};
use anabranch_base::{NodeId, Time};
use anabranch_live::{Links, LiveError, Settings, Work};
use anabranch_report::{live_checks, live_differences};
use anabranch_results::{FlowRow, LiveRun, MissingRun, ResultSet, RunFailure, RunRow};
use anabranch_sim::scenario::RunPoint;
use anabranch_sim::{Built, Control, RunError, RunResult, add};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;

pub struct Options {
    /// The seconds of real time for one second of simulated time. `None` selects a number at which even a busy machine
    /// keeps up.
    pub dilation: Option<u32>,
    /// Whether pairs of sockets take the place of network namespaces and veth pairs.
    pub sockets: bool,
    /// The longest real time of a run in seconds. `None` means five times the expected time plus 10 s.
    pub limit: Option<u64>,
    pub record: Option<PathBuf>,
}

pub struct Finished {
    /// The finished runs, each with its simulation, and the runs that are missing.
    pub set: ResultSet,
    pub failed: Vec<String>,
    /// The failure after which no more runs were started.
    ended: Option<Failure>,
}

impl Finished {
    /// Returns the failure of the command, if it failed. The finished runs are printed separately.
    ///
    /// # Errors
    /// A run failed, or the command was ended early.
    pub fn verdict(self, runs: usize) -> Result<(), Failure> {
        match self.ended {
            Some(Failure::Interrupted(why)) if !self.set.runs.is_empty() => {
                Err(Failure::Interrupted(format!(
                    "{why}; {} of {runs} runs had finished, and their results are printed",
                    self.set.runs.len()
                )))
            }
            Some(failure) => Err(failure),
            None if self.failed.is_empty() => Ok(()),
            None => Err(Failure::Run(format!("{} of {runs} runs failed", self.failed.len()))),
        }
    }
}

/// Runs the points one after the other. If one of several runs fails, its failure is reported immediately and the next
/// run begins. Bad input and Ctrl-C end the sequence.
pub fn run_all(points: &[RunPoint], options: &Options) -> Finished {
    let mut finished = Finished { set: ResultSet::default(), failed: Vec::new(), ended: None };
    for (number, point) in points.iter().enumerate() {
        let ran = match &options.record {
            None => run_both(point, options, None),
            Some(folder) => record::begin_run(folder, number, point).and_then(|folder| {
                let pair = run_both(point, options, Some(&folder))?;
                record::end_run(&folder, point)?;
                Ok(pair)
            }),
        };
        match ran {
            Ok((result, live)) => {
                add(&mut finished.set, result);
                finished.set.live.push(live);
            }
            Err(Failure::Run(why)) if points.len() > 1 => {
                note(&format!("error: {why}"));
                finished.set.missing.push(missing(point, Some(&why)));
                finished.failed.push(why);
            }
            Err(failure) => {
                finished.set.missing.extend(points[number..].iter().map(|point| missing(point, None)));
                finished.ended = Some(failure);
                break;
            }
        }
    }
    finished
}

fn missing(point: &RunPoint, why: Option<&String>) -> MissingRun {
    MissingRun {
        scheme: point.scheme.name.clone(),
        seed: point.seed,
        sweep: point.sweep.clone(),
        baseline: false,
        cause: why.map(|message| RunFailure::Other { message: message.clone() }),
    }
}

/// Returns an error for a point that cannot run on a testbed.
pub fn check_run(point: &RunPoint) -> Result<(), Failure> {
    let named = describe(&point.scheme.name, point.seed, &point.sweep);
    let built = anabranch_sim::build(point).map_err(|error| Failure::Run(format!("{named}: {error}")))?;
    anabranch_live::check_run(point, &built).map_err(|error| Failure::Input(format!("{named}: {error}")))
}

fn run_both(
    point: &RunPoint,
    options: &Options,
    record: Option<&Path>,
) -> Result<(RunResult, LiveRun), Failure> {
    let named = describe(&point.scheme.name, point.seed, &point.sweep);
    let failed = |what: &dyn std::fmt::Display| Failure::Run(format!("{named}: {what}"));
    let built = anabranch_sim::build(point).map_err(|error| failed(&error))?;
    let controls = [Control { threads: 1, ..Control::default() }];
    let begin = clock::now();
    let ran = pass_on_interrupts(&controls, || guarded(|| anabranch_sim::run(point, &controls[0])));
    let mut simulated = match ran.map_err(|panic| failed(&panic))? {
        Ok(result) => result,
        Err(RunError::Cancelled) => return Err(Failure::Interrupted(format!("{named}: interrupted"))),
        Err(error) => return Err(failed(&error)),
    };
    simulated.run.wall_s = begin.elapsed().as_secs_f64();
    let work = work(point, &built, &simulated);
    let dilation = options.dilation.unwrap_or_else(|| work.fitting_dilation());
    work.check(dilation).map_err(|error| Failure::Input(format!("{named}: {error}")))?;
    let expected = work.real_seconds(dilation);
    note(&format!("{named}: dilation {dilation}, about {expected:.1} s"));
    let settings = Settings {
        dilation,
        links: if options.sockets { Links::SocketPairs } else { Links::Namespaces },
        limit: options.limit.map_or(Duration::from_secs_f64(expected * 5.0 + 10.0), Duration::from_secs),
        record,
        interrupted: &interrupt::asked_to_stop,
    };
    let begin = clock::now();
    let live = anabranch_live::live(point, &built, &settings).map_err(|error| match error {
        LiveError::Interrupted => {
            Failure::Interrupted(format!("{named}: interrupted; nothing is left behind"))
        }
        LiveError::Unsupported(what) => Failure::Input(format!("{named}: {what}")),
        error => failed(&error),
    })?;
    if live.kernel_drops > 0 {
        let drops = live.kernel_drops;
        return Err(failed(&format!(
            "the kernel dropped {drops} frames, so that the links of this run were not those of the scenario\n  \
             help: --dilation {}",
            dilation.saturating_mul(4)
        )));
    }
    let more = LiveRun {
        dilation,
        lateness_packet_times: live.lateness(),
        latest_frame_us: live.frames.max_ns as f64 / 1e3,
        needed_dilation: live.needed_dilation(),
        messages_checked: live.checked,
        bytes_checked: live.checked_bytes,
        simulated: simulated.run,
    };
    let mut result = live.result;
    result.run.wall_s = begin.elapsed().as_secs_f64();
    Ok((result, more))
}

fn work(point: &RunPoint, built: &Built, simulated: &RunResult) -> Work {
    let first = built.topology.link(NodeId(0), 0);
    let bytes = point.scheme.transport.framing().payload.0 + point.scheme.transport.framing().header.0;
    let run = &simulated.run;
    let lasts = Time((run.sim_time_us * 1e6) as u64);
    Work {
        packet_hops: run.packet_hops,
        lasts,
        busy: busy(&simulated.flows).map_or(lasts, |busy| busy.min(lasts)),
        packet: Time(built.topology.ports[first.index()].rate.time_for(bytes).0),
    }
}

/// The time in which all bytes would be acknowledged at the pace of the first half of them. It is shorter than the run if
/// some messages wait for timeouts. None if the messages have no rows.
fn busy(flows: &[FlowRow]) -> Option<Time> {
    let end = |flow: &FlowRow| Some((flow.start_ps? + flow.fct_ps?, flow.bytes));
    let mut ends: Vec<(u64, u64)> = flows.iter().filter_map(end).collect();
    ends.sort_unstable();
    let first = flows.iter().filter_map(|flow| flow.start_ps).min()?;
    let half = flows.iter().map(|flow| flow.bytes).sum::<u64>() / 2;
    let mut bytes = 0;
    let (time, _) = ends.into_iter().find(|(_, more)| {
        bytes += more;
        bytes >= half
    })?;
    Some(Time((time - first) * 2))
}

/// The comparison of the runs with their simulations as text, and sentences about bytes and lateness.
pub fn comparison(set: &ResultSet) -> String {
    format!("{}\n{}\n", aligned(&live_differences(set)), live_checks(set).join("\n"))
}

pub fn documents(set: &ResultSet) -> Vec<Value> {
    set.runs.iter().zip(&set.live).map(|(row, live)| document(row, live)).collect()
}

fn document(run: &RunRow, live: &LiveRun) -> Value {
    let row = |row: &RunRow| {
        json!({
            "fct_mean_us": row.fct_mean_us, "fct_max_us": row.fct_max_us, "cct_mean_us": row.cct_mean_us,
            "flows": row.flows, "flows_finished": row.flows_finished, "drops": row.drops,
            "link_losses": row.link_losses, "trims": row.trims, "ecn_marks": row.ecn_marks,
            "retransmissions": row.retransmissions, "timeouts": row.timeouts, "packet_hops": row.packet_hops,
            "pause_frames": row.pause_frames, "peak_queue_bytes": row.peak_queue_bytes, "extra": row.extra,
        })
    };
    json!({
        "scheme": run.scheme, "seed": run.seed, "sweep": run.sweep, "dilation": live.dilation,
        "live": row(run), "simulated": row(&live.simulated), "messages_checked": live.messages_checked,
        "bytes_checked": live.bytes_checked, "lateness_packet_times": live.lateness_packet_times,
        "latest_frame_us": live.latest_frame_us, "valid": live.needed_dilation.is_none(),
        "needed_dilation": live.needed_dilation,
    })
}
