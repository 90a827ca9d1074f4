//! A custom observer: `cargo run --release --example own_observer`.
//!
//! The observer records the drops of each link. The row of a run has only the total. The scenario names the observer,
//! so its curves are part of the results. An observer that the scenario does not name can be passed to `run_observed`.

use anabranch_sim::base::LinkId;
use anabranch_sim::scenario::{NoFiles, Overrides, read_with};
use anabranch_sim::topology::Topology;
use anabranch_sim::{Control, Curve, Observer, Parameter, Recorder, Registry, Time, run};
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write;

/// The times of packet drops on each link.
struct Drops {
    by_link: BTreeMap<LinkId, Vec<Time>>,
    /// A link has a curve only if it has at least this number of drops.
    least: usize,
}

impl Observer for Drops {
    fn fork(&self) -> Self {
        Drops { by_link: BTreeMap::new(), least: self.least }
    }

    /// Takes over the drops that the observer of another node has recorded. A link has drops at two nodes if a slow
    /// receiver at its end also drops packets.
    fn join(&mut self, other: Self) {
        for (link, drops) in other.by_link {
            let all = self.by_link.entry(link).or_default();
            all.extend(drops);
            all.sort_unstable();
        }
    }

    fn dropped(&mut self, link: LinkId, now: Time) {
        self.by_link.entry(link).or_default().push(now);
    }

    /// The number of recorded points. The engine ends a run whose observers record too many.
    fn recorded(&self) -> u64 {
        self.by_link.values().map(|drops| drops.len() as u64).sum()
    }
}

impl Recorder for Drops {
    /// Returns a curve of the running number of drops for each link with at least `least` drops.
    fn curves(self, topology: &Topology, _end: Time) -> Vec<Curve> {
        let curves = self.by_link.into_iter().filter(|(_, drops)| drops.len() >= self.least);
        let curve = |(link, drops): (LinkId, Vec<Time>)| Curve {
            series: "drops".to_owned(),
            entity: topology.link_name(link),
            points: drops.into_iter().zip(1..).map(|(time, count)| (time, f64::from(count))).collect(),
        };
        curves.map(curve).collect()
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

[[observer]]
kind = "drops-by-link"
least = 1
"#;

/// Runs the scenario. The number of threads changes only the run time.
pub fn compare(threads: usize) -> Result<String, Box<dyn Error>> {
    let least = Parameter::new("least", 10u32, "links with fewer drops are left out");
    let registry = Registry::new().observer("drops-by-link", [least], |_, _, parameters| {
        Ok(Drops { by_link: BTreeMap::new(), least: parameters.get::<u32>("least") as usize })
    });
    let scenario = read_with(&registry, "own_observer.toml", SCENARIO, &NoFiles, &Overrides::default())?;
    scenario.check()?;
    let mut table = format!("{:12}  {:>6}  {:>9}\n", "link", "drops", "first, us");
    for point in scenario.points()? {
        let result = run(&point, &Control { threads, ..Control::default() })?;
        // The points of a curve are consecutive rows.
        for curve in result.series.chunk_by(|one, next| one.entity == next.entity) {
            let (link, drops, first) = (&curve[0].entity, curve.len(), Time(curve[0].time_ps));
            writeln!(table, "{link:12}  {drops:6}  {:9.1}", first.as_us())?;
        }
        writeln!(table, "{:12}  {:6}", "all", result.run.drops)?;
    }
    Ok(table)
}

fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", compare(2)?);
    Ok(())
}
