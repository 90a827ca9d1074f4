//! A custom workload: `cargo run --release --example own_workload`.
//!
//! The workload is a parameter server. In each round, every worker pushes its gradients to the server. When the last
//! push has arrived, the server sends the new parameters back to all workers. A worker begins the next round when it
//! has received its parameters.

use anabranch_sim::base::HostId;
use anabranch_sim::scenario::{NoFiles, Overrides, read_with};
use anabranch_sim::workload::{Done, Opens, Start, WorkloadBuilder};
use anabranch_sim::{Bytes, Control, Parameter, Registry, Session, Time, run};
use std::error::Error;
use std::fmt::Write;

/// Fills `workload` with `rounds` rounds between the server and the workers. The server is host 0, and the workers are
/// the hosts 1 to `workers`.
fn parameter_server(workload: &mut WorkloadBuilder, workers: u32, rounds: u32, bytes: u64) {
    let server = HostId(0);
    let mut pairs = Vec::new();
    for worker in (1..=workers).map(HostId) {
        pairs.push([workload.add_qp(worker, server), workload.add_qp(server, worker)]);
    }
    // The messages with the parameters of the previous round, one for each worker.
    let mut before = Vec::new();
    for round in 0..rounds {
        let start = if round == 0 { Start::At(Time::ZERO) } else { Start::ByGate };
        let pushes: Vec<_> = pairs.iter().map(|[up, _]| workload.add_message(*up, bytes, start)).collect();
        for (push, parameters) in pushes.iter().zip(before) {
            let next_round = workload.add_gate(Opens::After(1), &[*push]);
            workload.activate(parameters, Done::Delivered, next_round);
        }
        before = pairs.iter().map(|[_, down]| workload.add_message(*down, bytes, Start::ByGate)).collect();
        let all_pushed = workload.add_gate(Opens::After(workers), &before);
        for push in pushes {
            workload.activate(push, Done::Delivered, all_pushed);
        }
    }
}

/// The scenario selects the workload by its kind, like a built-in one.
const SCENARIO: &str = r#"
schemes = ["reps", "dcp"]

[topology]
kind = "fat-tree"
hosts = 32
hosts_per_tor = 8
link = "100Gbps"

[workload]
kind = "parameter-server"
bytes = "500KB"

[sweep]
"workload.rounds" = [1, 4]
"#;

/// Runs all schemes. The number of threads changes only the run time.
pub fn compare(threads: usize) -> Result<String, Box<dyn Error>> {
    let parameters = [
        Parameter::new("rounds", 1u32, "pushes of each worker, one after the other").within(1u32..=1_000),
        Parameter::required::<Bytes>("bytes", "gradients of a worker, and its parameters"),
    ];
    let registry =
        Registry::new().workload("parameter-server", parameters, |workload, fabric, parameters, _| {
            let (rounds, bytes) = (parameters.get("rounds"), parameters.get::<Bytes>("bytes").0);
            parameter_server(workload, fabric.hosts - 1, rounds, bytes);
            Ok(())
        });
    let scenario = read_with(&registry, "own_workload.toml", SCENARIO, &NoFiles, &Overrides::default())?;
    let mut session = Session::of(scenario)?;
    while let Some(index) = session.next() {
        let control = Control { threads, ..session.control(index) };
        session.ended(index, run(&session.points()[index], &control));
    }
    let results = session.results();
    if let Some(missing) = results.missing.first() {
        return Err(format!("{}: {:?}", missing.describe(), missing.cause).into());
    }
    let mut table = format!("{:8}  {:>6}  {:>8}  {:>14}\n", "scheme", "rounds", "messages", "completion, us");
    for row in &results.runs {
        let rounds = &row.sweep["workload.rounds"];
        writeln!(table, "{:8}  {rounds:>6}  {:8}  {:14.1}", row.scheme, row.flows, row.completion_us)?;
    }
    Ok(table)
}

fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", compare(2)?);
    Ok(())
}
