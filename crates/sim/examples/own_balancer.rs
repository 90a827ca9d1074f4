//! A custom load balancer, compared with REPS: `cargo run --release --example own_balancer`.
//!
//! The load balancer keeps a path until `patience` ACKs of the path have ECN marks or a timeout expires. It then draws
//! another path at random.

use anabranch_sim::proto::lb::LoadBalancer;
use anabranch_sim::scenario::{NoFiles, Overrides, read_with};
use anabranch_sim::{Control, Duration, Parameter, Registry, Session, Stream, Time, run};
use std::error::Error;
use std::fmt::Write;

/// A load balancer that uses one path at a time.
struct Sticky {
    ev: u16,
    /// The number of marks after which the load balancer leaves a path.
    patience: u32,
    marks: u32,
    random: Stream,
}

impl Sticky {
    fn move_on(&mut self) {
        self.ev = self.random.next_u32() as u16;
        self.marks = 0;
    }
}

impl LoadBalancer for Sticky {
    fn next_ev(&mut self, _now: Time, _window: u64) -> u16 {
        self.ev
    }

    fn handle_ack(&mut self, _now: Time, ev: u16, marked: bool, _rtt: Duration) {
        // Marks of earlier paths do not count.
        self.marks += u32::from(marked && ev == self.ev);
        if self.marks >= self.patience {
            self.move_on();
        }
    }

    fn handle_timeout(&mut self, _now: Time, _ev: Option<u16>) {
        self.move_on();
    }
}

/// The scenario selects the load balancer by its kind, like a built-in one.
const SCENARIO: &str = r#"
schemes = ["reps", "ops", "ecmp"]

[topology]
kind = "fat-tree"
hosts = 32
hosts_per_tor = 8
link = "100Gbps"

[workload]
kind = "permutation"
bytes = "1MB"

[[scheme]]
name = "sticky"
base = "reps"
set = { lb = { kind = "sticky", patience = 4 } }
"#;

/// Runs all schemes. The number of threads changes only the run time.
pub fn compare(threads: usize) -> Result<String, Box<dyn Error>> {
    let patience = Parameter::new("patience", 8u32, "marked ACKs before a path is left")
        .must("be above 0", |patience: &u32| *patience > 0);
    let registry = Registry::new().load_balancer("sticky", [patience], |_, parameters, mut random| {
        let ev = random.next_u32() as u16;
        Box::new(Sticky { ev, patience: parameters.get("patience"), marks: 0, random })
    });
    let scenario = read_with(&registry, "own_balancer.toml", SCENARIO, &NoFiles, &Overrides::default())?;
    let mut session = Session::of(scenario)?;
    while let Some(index) = session.next() {
        let control = Control { threads, ..session.control(index) };
        let end = run(&session.points()[index], &control);
        // A panic of the balancer is an error of the run too.
        if let Err(error) = &end {
            eprintln!("{}: {error}", session.name(index));
        }
        session.ended(index, end);
    }
    let results = session.results();
    if !results.missing.is_empty() {
        return Err(format!("{} runs failed", results.missing.len()).into());
    }
    let mut table =
        format!("{:8}  {:>12}  {:>11}  {:>6}\n", "scheme", "mean FCT, us", "max FCT, us", "drops");
    for row in &results.runs {
        let (mean, max) = (row.fct_mean_us, row.fct_max_us);
        writeln!(table, "{:8}  {mean:12.1}  {max:11.1}  {:6}", row.scheme, row.drops)?;
    }
    Ok(table)
}

fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", compare(2)?);
    Ok(())
}
