//! Progress of runs on a terminal: one bar a run with simulated time, packet-hops a second and time left.

use crate::clock;
use anabranch_sim::Control;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, stderr};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// The bars of one command; nothing at all when standard error is no terminal.
pub struct Progress {
    bars: Option<MultiProgress>,
    all: ProgressBar,
    running: Mutex<Vec<Running>>,
    /// Packet-hops and number of the runs that finished: runs of one scenario are of one size.
    finished_hops: AtomicU64,
    finished_runs: AtomicU64,
}

struct Running {
    index: usize,
    bar: ProgressBar,
    since: Instant,
}

const STEPS: u64 = 1000;

impl Progress {
    /// For `runs` runs.
    pub fn new(runs: usize) -> Progress {
        let bars =
            stderr().is_terminal().then(|| MultiProgress::with_draw_target(ProgressDrawTarget::stderr()));
        let all = match &bars {
            Some(bars) if runs > 1 => bars.add(ProgressBar::new(runs as u64)),
            _ => ProgressBar::hidden(),
        };
        all.set_style(style("{pos}/{len} runs, {elapsed} so far"));
        all.tick();
        Progress {
            bars,
            all,
            running: Mutex::default(),
            finished_hops: AtomicU64::new(0),
            finished_runs: AtomicU64::new(0),
        }
    }

    /// Nothing is shown.
    pub fn none() -> Progress {
        Progress {
            bars: None,
            all: ProgressBar::hidden(),
            running: Mutex::default(),
            finished_hops: AtomicU64::new(0),
            finished_runs: AtomicU64::new(0),
        }
    }

    /// The run `index` begins.
    pub fn begin(&self, index: usize, name: &str) {
        let Some(bars) = &self.bars else { return };
        let bar = bars.add(ProgressBar::new(STEPS));
        bar.set_style(style("{prefix:24!} [{bar:24}] {msg}"));
        bar.set_prefix(name.to_owned());
        self.locked().push(Running { index, bar, since: clock::now() });
    }

    /// The run `index` is over.
    pub fn end(&self, index: usize, control: &Control) {
        self.finished_hops.fetch_add(control.packet_hops.load(Ordering::Relaxed), Ordering::Relaxed);
        self.finished_runs.fetch_add(1, Ordering::Relaxed);
        self.locked().retain(|run| {
            if run.index == index {
                run.bar.finish_and_clear();
            }
            run.index != index
        });
        self.all.inc(1);
    }

    /// Draws what the runs say of themselves now.
    pub fn draw(&self, controls: &[Control]) {
        for run in self.locked().iter() {
            let control = &controls[run.index];
            let hops = control.packet_hops.load(Ordering::Relaxed);
            let seconds = run.since.elapsed().as_secs_f64();
            let share = self.share_done(control, hops);
            let left = if share > 0.01 {
                format!(", {} left", time(seconds * (1.0 - share) / share))
            } else {
                "".into()
            };
            let simulated = control.sim_time_ps.load(Ordering::Relaxed) as f64 / 1e6;
            let speed = hops as f64 / seconds.max(1e-3) / 1e6;
            run.bar.set_position((share * STEPS as f64) as u64);
            run.bar.set_message(format!("{simulated:.1} us simulated, {speed:.1} M packet-hops/s{left}"));
        }
    }

    /// Removes the bars.
    pub fn clear(&self) {
        self.all.finish_and_clear();
        if let Some(bars) = &self.bars {
            let _ = bars.clear();
        }
    }

    /// How far a run is, from the runs before it when there are any: flows tend to finish all at the end.
    fn share_done(&self, control: &Control, hops: u64) -> f64 {
        let flows = control.flows_total.load(Ordering::Relaxed).max(1);
        let by_flows = control.flows_finished.load(Ordering::Relaxed) as f64 / flows as f64;
        let (hops_before, runs_before) =
            (self.finished_hops.load(Ordering::Relaxed), self.finished_runs.load(Ordering::Relaxed));
        if hops_before == 0 {
            return by_flows.min(1.0);
        }
        (hops as f64 * runs_before as f64 / hops_before as f64)
            .clamp(by_flows, 0.99_f64.max(by_flows))
            .min(1.0)
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, Vec<Running>> {
        self.running.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the templates are fixed and right").progress_chars("=> ")
}

/// `12 s`, `3 min 20 s`.
pub fn time(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    if whole < 60 { format!("{whole} s") } else { format!("{} min {:02} s", whole / 60, whole % 60) }
}
