//! An observer of one's own: `cargo run --release --example own_observer`.
//!
//! It counts the drops of each link, which results have only in all.

use anabranch_sim::base::LinkId;
use anabranch_sim::scenario::{NoFiles, Overrides, read};
use anabranch_sim::{Control, Observer, Time, build, run_observed};
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write;

/// By link: how many packets were dropped, and when the first one was.
#[derive(Default)]
struct Drops(BTreeMap<LinkId, (u64, Time)>);

impl Observer for Drops {
    /// Each thread has one.
    fn fork(&self) -> Self {
        Drops::default()
    }

    /// At the end they are put together. What happens at a link, one of them has seen.
    fn join(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    fn dropped(&mut self, link: LinkId, now: Time) {
        self.0.entry(link).or_insert((0, now)).0 += 1;
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
oversubscription = 4

[workload]
kind = "permutation"
bytes = "1MB"
"#;

/// Runs it on so many threads, which change nothing but the time that it takes.
pub fn compare(threads: usize) -> Result<String, Box<dyn Error>> {
    let scenario = read("own_observer.toml", SCENARIO, &NoFiles, &Overrides::default())?;
    let mut table = format!("{:12}  {:>6}  {:>9}\n", "link", "drops", "first, us");
    for point in scenario.points()? {
        let mut drops = Drops::default();
        let result = run_observed(&point, &Control { threads, ..Control::default() }, &mut drops)?;
        let fabric = build(&point)?.topology;
        for (link, (count, first)) in &drops.0 {
            writeln!(table, "{:12}  {count:6}  {:9.1}", fabric.link_name(*link), first.as_us())?;
        }
        writeln!(table, "{:12}  {:6}", "all", result.run.drops)?;
    }
    Ok(table)
}

fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", compare(2)?);
    Ok(())
}
