//! The progress of runs. On a terminal, each run has a bar with its simulated time, packet-hops per second and
//! remaining time. Elsewhere, one line is printed per minute.

use crate::clock;
use crate::output::note;
use anabranch_report::large;
use anabranch_sim::Control;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, stderr};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const EVERY: Duration = Duration::from_secs(60);

pub struct Progress {
    /// The bars, or `None` if none are shown, for example because standard error is not a terminal.
    bars: Option<MultiProgress>,
    all: ProgressBar,
    runs: usize,
    begun: Instant,
    /// The time of the last line, if there are no bars.
    last_line: Mutex<Instant>,
    running: Mutex<Vec<Running>>,
    /// The wall-clock times of the runs that have ended, in seconds.
    finished: Mutex<Vec<f64>>,
    /// The number of runs whose results were cached.
    kept: AtomicUsize,
    /// The largest number of runs that were in progress at the same time.
    at_once: AtomicUsize,
}

/// The wall-clock time of a run in seconds: the time so far, and the estimated total.
struct Expected {
    so_far: f64,
    all: Option<f64>,
}

struct Running {
    index: usize,
    name: String,
    bar: ProgressBar,
    since: Instant,
}

const STEPS: u64 = 1000;

impl Progress {
    pub fn new(runs: usize) -> Progress {
        let bars =
            stderr().is_terminal().then(|| MultiProgress::with_draw_target(ProgressDrawTarget::stderr()));
        Progress::with(bars, runs)
    }

    pub fn none() -> Progress {
        Progress::with(None, 1)
    }

    fn with(bars: Option<MultiProgress>, runs: usize) -> Progress {
        let all = match &bars {
            Some(bars) if runs > 1 => bars.add(ProgressBar::new(runs as u64)),
            _ => ProgressBar::hidden(),
        };
        all.set_style(style("{pos}/{len} runs, {elapsed} so far{msg}"));
        all.tick();
        let now = clock::now();
        Progress {
            bars,
            all,
            runs,
            begun: now,
            last_line: Mutex::new(now),
            running: Mutex::default(),
            finished: Mutex::default(),
            kept: AtomicUsize::new(0),
            at_once: AtomicUsize::new(1),
        }
    }

    pub fn begin(&self, index: usize, name: &str) {
        let bar = match &self.bars {
            Some(bars) => bars.add(ProgressBar::new(STEPS)),
            None => ProgressBar::hidden(),
        };
        bar.set_style(style("{prefix:24!} [{bar:24}] {msg}"));
        bar.set_prefix(name.to_owned());
        let mut running = locked(&self.running);
        running.push(Running { index, name: name.to_owned(), bar, since: clock::now() });
        self.at_once.fetch_max(running.len(), Ordering::Relaxed);
    }

    pub fn count_cached(&self) {
        self.kept.fetch_add(1, Ordering::Relaxed);
        self.all.inc(1);
    }

    pub fn end(&self, index: usize) {
        locked(&self.running).retain(|run| {
            if run.index == index {
                run.bar.finish_and_clear();
                locked(&self.finished).push(run.since.elapsed().as_secs_f64());
            }
            run.index != index
        });
        self.all.inc(1);
    }

    /// Draws the bars, or writes a line when one is due.
    pub fn draw(&self, controls: &[Control]) {
        let running = locked(&self.running);
        let mut last_line = locked(&self.last_line);
        let tells = self.bars.is_none() && last_line.elapsed() >= EVERY;
        if self.bars.is_none() && !tells {
            // The runs are requested to count delivered packets in time for the next line.
            return if last_line.elapsed() + REQUEST_LEAD >= EVERY {
                ask(&running, controls)
            };
        }
        let mut expected = Vec::new();
        let mut lines = Vec::new();
        for run in running.iter() {
            let control = &controls[run.index];
            let seconds = run.since.elapsed().as_secs_f64();
            let share = share_done(control);
            let all = (share > 0.01).then(|| seconds / share);
            expected.push(Expected { so_far: seconds, all });
            let left = all.map_or(String::new(), |all| format!(", {} left", time(all - seconds)));
            let says = state(control, seconds) + &left;
            run.bar.set_position((share * STEPS as f64) as u64);
            run.bar.set_message(says.clone());
            lines.push(format!("{}: {:.0} %, {says}", run.name, 100.0 * share));
        }
        ask(&running, controls);
        let left = match self.runs {
            1 => None,
            _ => self.left(&expected),
        }
        .map_or(String::new(), |left| format!(", about {} left", time(left)));
        self.all.set_message(left.clone());
        if tells {
            *last_line = clock::now();
            let done = locked(&self.finished).len() + self.kept.load(Ordering::Relaxed);
            let so_far = time(self.begun.elapsed().as_secs_f64());
            note(&format!("{done} of {} runs, {so_far} so far{left}; {}", self.runs, lines.join("; ")));
        }
    }

    /// The time in seconds until all runs have ended, assuming that future runs are like the finished runs and the
    /// runs in progress. None if no run is in progress or no run's time is known. The time is never less than the
    /// remaining time of a run in progress.
    fn left(&self, running: &[Expected]) -> Option<f64> {
        let finished = locked(&self.finished);
        let known: Vec<f64> =
            finished.iter().copied().chain(running.iter().filter_map(|run| run.all)).collect();
        if known.is_empty() || running.is_empty() {
            return None;
        }
        let each = known.iter().sum::<f64>() / known.len() as f64;
        let rests: Vec<f64> =
            running.iter().map(|run| (run.all.unwrap_or(each) - run.so_far).max(0.0)).collect();
        let known = finished.len() + self.kept.load(Ordering::Relaxed);
        let to_begin = self.runs.saturating_sub(known + running.len());
        let at_once = self.at_once.load(Ordering::Relaxed).clamp(running.len(), running.len() + to_begin);
        let shared = (rests.iter().sum::<f64>() + each * to_begin as f64) / at_once as f64;
        Some(rests.into_iter().fold(shared, f64::max))
    }

    pub fn clear(&self) {
        self.all.finish_and_clear();
        if let Some(bars) = &self.bars {
            let _ = bars.clear();
        }
    }
}

/// The runs are requested to count delivered packets this long before a line is due.
const REQUEST_LEAD: Duration = Duration::from_secs(1);

fn ask(running: &[Running], controls: &[Control]) {
    running.iter().for_each(|run| controls[run.index].count_packets.store(true, Ordering::Relaxed));
}

/// The number of data packets that take about as long to simulate as a step. On one thread, a step takes 3.3 us and a
/// packet takes 1 us.
const PACKETS_OF_A_STEP: u64 = 3;

/// The fraction of a run that is done, by the delivered data and the ended steps (such as transfers over NVLink). The
/// fraction of the messages would say less, because most messages tend to end at the end of the run.
fn share_done(control: &Control) -> f64 {
    let done = |packets: &AtomicU64, steps: &AtomicU64| {
        packets.load(Ordering::Relaxed) + PACKETS_OF_A_STEP * steps.load(Ordering::Relaxed)
    };
    let total = done(&control.packets_total, &control.steps_total).max(1);
    (done(&control.packets_delivered, &control.steps_finished) as f64 / total as f64).min(1.0)
}

fn state(control: &Control, seconds: f64) -> String {
    let number = |of: &AtomicU64| of.load(Ordering::Relaxed) as f64;
    let steps = match (number(&control.packets_total), number(&control.steps_total)) {
        (0.0, 0.0) => return "its fabric and its messages are being built".to_owned(),
        (_, 0.0) => String::new(),
        (_, all) => format!(", {} of {} steps", large(number(&control.steps_finished)), large(all)),
    };
    let simulated = number(&control.sim_time_ps) / 1e6;
    let (events, speed) =
        (large(number(&control.events)), number(&control.packet_hops) / seconds.max(1e-3) / 1e6);
    format!("{simulated:.1} us simulated, {events} events{steps}, {speed:.1} M packet-hops/s")
}

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the templates are fixed and right").progress_chars("=> ")
}

/// A duration as text: `12 s`, `3 min 20 s`, `5 h 07 min`.
pub fn time(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match whole {
        0..60 => format!("{whole} s"),
        60..3600 => format!("{} min {:02} s", whole / 60, whole % 60),
        _ => format!("{} h {:02} min", whole / 3600, whole % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_left_follows_from_the_runs_that_finished_and_that_run() {
        let at = |so_far, all| Expected { so_far, all };
        let progress = Progress::with(None, 6);
        (0..2).for_each(|index| progress.begin(index, "a"));
        assert_eq!(progress.left(&[at(5.0, None), at(5.0, None)]), None, "nothing to tell by");
        assert_eq!(
            progress.left(&[at(5.0, Some(10.0))]),
            Some(27.5),
            "its own rest and five like it, two at once"
        );
        locked(&progress.finished).extend([8.0, 12.0]);
        // Two runs in progress have 5 s left each. Two other runs have not begun and take 10 s each, the mean of 8, 12
        // and 10 s. With two runs at a time, the 30 s in all take 15 s.
        assert_eq!(progress.left(&[at(5.0, Some(10.0)), at(5.0, None)]), Some(15.0));
        assert_eq!(progress.left(&[]), None);
        // Three of the last four runs were cached.
        (0..3).for_each(|_| progress.count_cached());
        assert_eq!(progress.left(&[at(4.0, Some(10.0))]), Some(6.0));
        // Two small runs have ended and four large ones are in progress, so the estimate follows the large ones.
        let large = [(); 4].map(|()| at(20.0, Some(1000.0)));
        assert_eq!(progress.left(&large), Some(980.0));
    }

    #[test]
    fn times_are_as_exact_as_they_are_long() {
        assert_eq!(
            [59.6, 200.0, 3599.4, 18_450.0].map(time),
            ["1 min 00 s", "3 min 20 s", "59 min 59 s", "5 h 07 min"]
        );
    }

    #[test]
    fn a_run_is_as_far_as_its_data() {
        let control = Control::default();
        assert_eq!(share_done(&control), 0.0);
        control.packets_total.store(200, Ordering::Relaxed);
        control.packets_delivered.store(50, Ordering::Relaxed);
        assert_eq!(share_done(&control), 0.25);
        assert_eq!(state(&control, 1.0), "0.0 us simulated, 0 events, 0.0 M packet-hops/s");
    }

    #[test]
    fn a_run_over_nvlink_is_as_far_as_its_steps() {
        let control = Control::default();
        assert_eq!(state(&control, 1.0), "its fabric and its messages are being built");
        control.steps_total.store(4_000_000, Ordering::Relaxed);
        control.steps_finished.store(1_000_000, Ordering::Relaxed);
        control.events.store(2_500_000, Ordering::Relaxed);
        assert_eq!(share_done(&control), 0.25);
        assert_eq!(
            state(&control, 1.0),
            "0.0 us simulated, 2.50 M events, 1.00 M of 4.00 M steps, 0.0 M packet-hops/s"
        );
    }
}
