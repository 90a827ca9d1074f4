//! Runs on real packets, each beside its simulation.

use crate::execute::{describe, guarded, pass_on_interrupts};
use crate::failure::Failure;
use crate::output::{aligned, note};
use crate::{clock, interrupt, record};
use anabranch_base::{NodeId, Time};
use anabranch_live::{LATE_ONE_IN, Links, LiveError, LiveOutcome, Settings, Work};
use anabranch_results::RunRow;
use anabranch_sim::scenario::RunPoint;
use anabranch_sim::{Built, Control, RunError};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;

pub struct Pair {
    pub live: LiveOutcome,
    pub simulated: RunRow,
}

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
    pub pairs: Vec<Pair>,
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
            Some(Failure::Interrupted(why)) if !self.pairs.is_empty() => Err(Failure::Interrupted(format!(
                "{why}; {} of {runs} runs had finished, and their results are printed",
                self.pairs.len()
            ))),
            Some(failure) => Err(failure),
            None if self.failed.is_empty() => Ok(()),
            None => Err(Failure::Run(format!("{} of {runs} runs failed", self.failed.len()))),
        }
    }
}

/// Runs the points one after the other. If one of several runs fails, its failure is reported immediately and the next
/// run begins. Bad input and Ctrl-C end the sequence.
pub fn run_all(points: &[RunPoint], options: &Options) -> Finished {
    let mut finished = Finished { pairs: Vec::new(), failed: Vec::new(), ended: None };
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
            Ok(pair) => finished.pairs.push(pair),
            Err(Failure::Run(why)) if points.len() > 1 => {
                note(&format!("error: {why}"));
                finished.failed.push(why);
            }
            Err(failure) => {
                finished.ended = Some(failure);
                break;
            }
        }
    }
    finished
}

/// Returns an error for a point that cannot run on a testbed.
pub fn check_run(point: &RunPoint) -> Result<(), Failure> {
    let named = describe(&point.scheme.name, point.seed, &point.sweep);
    let built = anabranch_sim::build(point).map_err(|error| Failure::Run(format!("{named}: {error}")))?;
    anabranch_live::check_run(point, &built).map_err(|error| Failure::Input(format!("{named}: {error}")))
}

fn run_both(point: &RunPoint, options: &Options, record: Option<&Path>) -> Result<Pair, Failure> {
    let named = describe(&point.scheme.name, point.seed, &point.sweep);
    let failed = |what: &dyn std::fmt::Display| Failure::Run(format!("{named}: {what}"));
    let built = anabranch_sim::build(point).map_err(|error| failed(&error))?;
    let controls = [Control { threads: 1, ..Control::default() }];
    let begin = clock::now();
    let ran = pass_on_interrupts(&controls, || guarded(|| anabranch_sim::run(point, &controls[0])));
    let simulated = match ran.map_err(|panic| failed(&panic))? {
        Ok(result) => RunRow { wall_s: begin.elapsed().as_secs_f64(), ..result.run },
        Err(RunError::Cancelled) => return Err(Failure::Interrupted(format!("{named}: interrupted"))),
        Err(error) => return Err(failed(&error)),
    };
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
    let mut live = anabranch_live::live(point, &built, &settings).map_err(|error| match error {
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
    live.row.wall_s = begin.elapsed().as_secs_f64();
    // Ideal times depend only on the scenario, so the simulated run and the run on real packets have the same ones.
    (live.row.ideal_fct_max_us, live.row.ideal_cct_max_us) =
        (simulated.ideal_fct_max_us, simulated.ideal_cct_max_us);
    Ok(Pair { live, simulated })
}

fn work(point: &RunPoint, built: &Built, simulated: &RunRow) -> Work {
    let first = built.topology.link(NodeId(0), 0);
    let bytes = point.scheme.transport.framing().payload.0 + point.scheme.transport.framing().header.0;
    Work {
        packet_hops: simulated.packet_hops,
        lasts: Time((simulated.sim_time_us * 1e6) as u64),
        packet: Time(built.topology.ports[first.index()].rate.time_for(bytes).0),
    }
}

/// A column of the table of differences: its name, its number, and whether the number is a time, whose difference is
/// shown in percent.
type Column = (&'static str, fn(&RunRow) -> f64, bool);

const COLUMNS: [Column; 8] = [
    ("mean FCT", |row| row.fct_mean_us, true),
    ("max FCT", |row| row.fct_max_us, true),
    ("CCT", |row| row.cct_mean_us, true),
    ("drops", |row| row.drops as f64, false),
    ("lost on links", |row| row.link_losses as f64, false),
    ("trims", |row| row.trims as f64, false),
    ("marks", |row| row.ecn_marks as f64, false),
    ("retransmissions", |row| row.retransmissions as f64, false),
];

/// A table of both runs of each pair. Quantities that are 0 in all runs are left out, except the lateness.
pub fn differences(pairs: &[Pair]) -> String {
    let shown: Vec<&Column> = COLUMNS
        .iter()
        .filter(|(_, of, _)| pairs.iter().any(|pair| of(&pair.live.row) + of(&pair.simulated) > 0.0))
        .collect();
    let mut head = vec!["scheme, seed".to_owned()];
    head.extend(shown.iter().map(|(name, ..)| (*name).to_owned()));
    head.push("late (packets)".to_owned());
    let mut rows = vec![head];
    for pair in pairs {
        let (live, simulated) = (&pair.live.row, &pair.simulated);
        let mut row = vec![describe(&live.scheme, live.seed, &live.sweep)];
        row.extend(shown.iter().map(|(_, of, is_time)| {
            let (live, simulated) = (of(live), of(simulated));
            match is_time {
                true => format!("{live:.2} / {simulated:.2} us ({:+.1} %)", (live / simulated - 1.0) * 100.0),
                false => format!("{live:.0} / {simulated:.0}"),
            }
        }));
        row.push(format!("{:.2}", pair.live.lateness()));
        rows.push(row);
    }
    aligned(&rows)
}

/// Sentences about the lateness of the runs, and about the bytes that arrived.
pub fn validity(pairs: &[Pair]) -> String {
    let share = 100 - 100 / LATE_ONE_IN;
    let checked: u64 = pairs.iter().map(|pair| pair.live.checked).sum();
    let bytes: u64 = pairs.iter().map(|pair| pair.live.checked_bytes).sum();
    let worst = pairs.iter().map(|pair| pair.live.lateness()).fold(0.0, f64::max);
    let longest = pairs.iter().map(|pair| pair.live.frames.max_ns).max().unwrap_or(0);
    let mut text = format!(
        "Bytes: all {checked} messages ({bytes} bytes) arrived with the bytes that were sent.\nTimes: {share} % of all actions \
         came at most {worst:.2} packet times too late, the latest frame {:.1} ms of real time.\n",
        longest as f64 / 1e6
    );
    for pair in pairs {
        if let Some(dilation) = pair.live.needed_dilation() {
            let named = describe(&pair.simulated.scheme, pair.simulated.seed, &pair.simulated.sweep);
            let seconds = pair.live.row.wall_s * f64::from(dilation) / f64::from(pair.live.dilation.max(1));
            text.push_str(&format!(
                "INVALID: {named}: nodes acted too late by more than a packet time, so that its times are not those of the \
                 scenario; --dilation {dilation} would do (about {seconds:.0} s), or a machine with less other work\n"
            ));
        }
    }
    text
}

pub fn document(pair: &Pair) -> Value {
    let row = |row: &RunRow| {
        json!({
            "fct_mean_us": row.fct_mean_us, "fct_max_us": row.fct_max_us, "cct_mean_us": row.cct_mean_us,
            "flows": row.flows, "flows_finished": row.flows_finished, "drops": row.drops,
            "link_losses": row.link_losses, "trims": row.trims, "ecn_marks": row.ecn_marks,
            "retransmissions": row.retransmissions, "timeouts": row.timeouts, "packet_hops": row.packet_hops,
            "pause_frames": row.pause_frames, "peak_queue_bytes": row.peak_queue_bytes, "extra": row.extra,
        })
    };
    let live = &pair.live;
    json!({
        "scheme": live.row.scheme, "seed": live.row.seed, "sweep": live.row.sweep, "dilation": live.dilation,
        "live": row(&live.row), "simulated": row(&pair.simulated), "messages_checked": live.checked,
        "bytes_checked": live.checked_bytes,
        "lateness_packet_times": live.lateness(), "latest_frame_us": live.frames.max_ns as f64 / 1e3,
        "valid": live.needed_dilation().is_none(), "needed_dilation": live.needed_dilation(),
    })
}
