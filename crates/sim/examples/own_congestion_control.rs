//! A custom congestion control, compared with DCTCP: `cargo run --release --example own_congestion_control`.
//!
//! The window depends on the round-trip time, as in Swift (SIGCOMM 2020). While the queueing delay is at most a
//! target, the window grows by a packet per round trip. If the delay is above the target, the window shrinks in
//! proportion to the excess, at most once per round trip. ECN marks are ignored.

use anabranch_sim::proto::cc::{AckReport, CongestionControl, LossReport};
use anabranch_sim::proto::{PathFacts, Size, Span};
use anabranch_sim::scenario::{NoFiles, Overrides, read_with};
use anabranch_sim::{Control, Duration, Parameter, Parameters, Registry, Session, Time, run};
use std::error::Error;
use std::fmt::Write;

/// A window in bytes that depends on the round-trip time.
struct DelayTarget {
    window: f64,
    most: f64,
    packet: f64,
    /// The longest round-trip time for which the window does not shrink.
    target: Duration,
    last_decrease: Time,
}

impl DelayTarget {
    fn new(parameters: &Parameters, facts: &PathFacts) -> Self {
        let window = |name| parameters.get::<Size>(name).window_on(facts).0 as f64;
        DelayTarget {
            window: window("initial_window"),
            most: window("max_window"),
            packet: facts.packet.0 as f64,
            target: facts.base_rtt + parameters.get::<Span>("target").on(facts),
            last_decrease: Time::ZERO,
        }
    }
}

impl CongestionControl for DelayTarget {
    fn window(&self) -> u64 {
        self.window as u64
    }

    fn paces(&self) -> bool {
        false
    }

    fn handle_ack(&mut self, acked: &AckReport) {
        if acked.rtt <= self.target {
            let packets = f64::from(acked.packets);
            self.window += packets * self.packet * self.packet / self.window;
        } else if acked.now.since(self.last_decrease) >= acked.rtt {
            let excess = (acked.rtt.0 - self.target.0) as f64 / acked.rtt.0 as f64;
            self.window *= 1.0 - (0.8 * excess).min(0.5);
            self.last_decrease = acked.now;
        }
        self.window = self.window.clamp(self.packet, self.most);
    }

    fn handle_loss(&mut self, _lost: &LossReport) {
        self.window = (self.window - self.packet).max(self.packet);
    }
}

/// The scenario selects the congestion control by its kind, like a built-in one.
const SCENARIO: &str = r#"
schemes = ["reps"]

[topology]
kind = "fat-tree"
hosts = 32
hosts_per_tor = 8
link = "100Gbps"

[workload]
kind = "incast"
degree = 8
bytes = "4MB"

[[scheme]]
name = "delay-target"
base = "reps"
set = { cc = { kind = "delay-target", target = "0.5rtt" } }
"#;

/// Runs all schemes. The number of threads changes only the run time.
pub fn compare(threads: usize) -> Result<String, Box<dyn Error>> {
    let parameters = [
        Parameter::required::<Span>("target", "time that packets may wait"),
        Parameter::new("initial_window", Size::Packets(4.0), "window at the start"),
        Parameter::new("max_window", Size::Bdp(1.5), "largest window"),
    ];
    let registry = Registry::new().congestion_control("delay-target", parameters, |facts, parameters, _| {
        Box::new(DelayTarget::new(parameters, facts))
    });
    let name = "own_congestion_control.toml";
    let scenario = read_with(&registry, name, SCENARIO, &NoFiles, &Overrides::default())?;
    let mut session = Session::of(scenario)?;
    while let Some(index) = session.next() {
        let control = Control { threads, ..session.control(index) };
        session.ended(index, run(&session.points()[index], &control));
    }
    let results = session.results();
    if let Some(missing) = results.missing.first() {
        return Err(format!("{}: {:?}", missing.describe(), missing.cause).into());
    }
    let mut table =
        format!("{:14}  {:>11}  {:>13}  {:>6}\n", "scheme", "max FCT, us", "99 % queue, B", "drops");
    for row in &results.runs {
        let (max, queue) = (row.fct_max_us, row.queue_p99_bytes);
        writeln!(table, "{:14}  {max:11.1}  {queue:13}  {:6}", row.scheme, row.drops)?;
    }
    Ok(table)
}

fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", compare(2)?);
    Ok(())
}
