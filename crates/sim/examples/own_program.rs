//! A custom program in switches: `cargo run --release --example own_program`.
//!
//! Each ToR sends the data packets of a queue pair over its uplinks in rotation, with `every` packets over each
//! uplink. The program ignores the entropy values of the hosts.

use anabranch_sim::proto::program::{Emitted, Passage, Program, ProgramCounter, Total, Verdict};
use anabranch_sim::proto::{Packet, Repr};
use anabranch_sim::scenario::{NoFiles, Overrides, read_with};
use anabranch_sim::{Control, Parameter, Registry, Stream, run};
use std::error::Error;
use std::fmt::Write;

/// The registers of one switch.
struct RoundRobin {
    every: u32,
    /// The number of packets that each queue pair has sent, counted from a random start.
    sent: Vec<Option<u32>>,
    spread: u64,
    random: Stream,
}

impl Program for RoundRobin {
    fn ingress(&mut self, packet: &mut Packet, at: &Passage, _: &mut Vec<Emitted>) -> Verdict {
        let leaves = at.from_host && !at.to_host && matches!(packet.repr, Repr::Data { .. });
        if !leaves || at.ports == 0 {
            return Verdict::Forward;
        }
        let qp = packet.qp.index();
        if self.sent.len() <= qp {
            self.sent.resize(qp + 1, None);
        }
        let sent = self.sent[qp].get_or_insert_with(|| self.random.below(u32::from(at.ports) * self.every));
        *sent = sent.wrapping_add(1);
        self.spread += 1;
        Verdict::Port((*sent / self.every % u32::from(at.ports)) as u16)
    }

    /// The counters that are added to the `extra` of a run.
    fn counters(&self) -> Vec<ProgramCounter> {
        vec![ProgramCounter { name: "spread", value: self.spread, total: Total::Sum }]
    }
}

const SCENARIO: &str = r#"
schemes = ["ecmp"]
setup = "reps-paper"

[topology]
kind = "fat-tree"
hosts = 32
hosts_per_tor = 8
link = "100Gbps"

[workload]
kind = "permutation"
bytes = "1MB"

[[scheme]]
name = "in-turn"
base = "ecmp"
set = { "fabric.program" = { kind = "round-robin" } }

[[scheme]]
name = "by-eights"
base = "ecmp"
set = { "fabric.program" = { kind = "round-robin", every = 8 }, "fabric.program_at" = "tor:100%" }
"#;

/// Runs all schemes. The number of threads changes only the run time.
pub fn compare(threads: usize) -> Result<String, Box<dyn Error>> {
    let every =
        Parameter::new("every", 1u32, "packets by an uplink").must("be above 0", |every: &u32| *every > 0);
    let registry = Registry::new().program("round-robin", [every], |_, parameters, random| {
        Box::new(RoundRobin { every: parameters.get("every"), sent: Vec::new(), spread: 0, random })
    });
    let scenario = read_with(&registry, "own_program.toml", SCENARIO, &NoFiles, &Overrides::default())?;
    scenario.check()?;
    let mut table = format!("{:9}  {:>11}  {:>6}  {:>6}\n", "scheme", "max FCT, us", "drops", "spread");
    for point in scenario.points()? {
        let row = run(&point, &Control { threads, ..Control::default() })?.run;
        let spread = row.extra.get("spread").copied().unwrap_or(0.0);
        writeln!(table, "{:9}  {:11.1}  {:6}  {spread:6}", row.scheme, row.fct_max_us, row.drops)?;
    }
    Ok(table)
}

fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", compare(2)?);
    Ok(())
}
