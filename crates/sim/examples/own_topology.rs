//! Custom topologies, a ring and groups of switches: `cargo run --release --example own_topology`.

use anabranch_sim::scenario::{NoFiles, Overrides, read_with};
use anabranch_sim::topology::TopologyBuilder;
use anabranch_sim::{Control, Duration, Parameter, Parameters, Problem, Rate, Refused, Registry, build, run};
use std::error::Error;
use std::fmt::Write;

/// A ring of switches, with hosts on each switch.
fn ring(graph: &mut TopologyBuilder, parameters: &Parameters) -> Result<(), Refused> {
    let switches: u32 = parameters.get("switches");
    let (link, latency): (Rate, Duration) = (parameters.get("link"), parameters.get("latency"));
    let ring: Vec<_> = (0..switches).map(|_| graph.switch(1, latency)).collect();
    for (index, &switch) in ring.iter().enumerate() {
        for _ in 0..parameters.get::<u32>("hosts") {
            graph.host(switch, link, latency);
        }
        graph.link(switch, ring[(index + 1) % ring.len()], link, latency);
    }
    Ok(())
}

/// Groups of switches: a full mesh within each group, and a long cable between each pair of groups.
fn meshes(graph: &mut TopologyBuilder, parameters: &Parameters) -> Result<(), Refused> {
    let (groups, switches): (usize, usize) = (parameters.get::<u32>("groups") as usize, 4);
    let (link, latency): (Rate, Duration) = (parameters.get("link"), parameters.get("latency"));
    if !(groups - 1).is_multiple_of(switches) {
        let message =
            format!("{groups} groups do not share their long cables evenly among {switches} switches");
        return Err(Refused::new("groups", Problem::with_value(message, switches + 1)));
    }
    let all: Vec<_> = (0..groups * switches).map(|_| graph.switch(1, latency)).collect();
    for &switch in &all {
        for _ in 0..parameters.get::<u32>("hosts") {
            graph.host(switch, link, latency);
        }
    }
    for group in 0..groups {
        let own = &all[group * switches..][..switches];
        for (index, &switch) in own.iter().enumerate() {
            own[index + 1..].iter().for_each(|&other| graph.link(switch, other, link, latency));
        }
        // The switch of group `from` that has the cable to group `to`.
        let gate =
            |from: usize, to: usize| all[from * switches + (to + groups - from - 1) % groups % switches];
        for other in group + 1..groups {
            graph.link(gate(group, other), gate(other, group), link, parameters.get("long"));
        }
    }
    Ok(())
}

/// A scenario for both topologies, with a cable that fails. Links are named as in built-in topologies.
const SCENARIO: &str = r#"
schemes = ["reps"]

[topology]
hosts = 2

[workload]
kind = "permutation"
bytes = "256KB"

[[fault]]
kind = "link-down"
links = "tor:0/up:0"
at = "20us"
duration = "100us"

[set]
"*.fabric.routing_delay" = "10us"

[sweep]
"topology.kind" = ["ring", "meshes"]
"#;

/// Runs both topologies. The number of threads changes only the run time.
pub fn compare(threads: usize) -> Result<String, Box<dyn Error>> {
    let common = || {
        let above_zero = |hosts: &u32| *hosts > 0;
        vec![
            Parameter::new("hosts", 4u32, "of a switch").must("be above 0", above_zero),
            Parameter::new("link", Rate::from_gbps(100), "rate of every link"),
            Parameter::new("latency", Duration::from_ns(500), "of links and switches"),
        ]
    };
    let switches = Parameter::new("switches", 20u32, "on the ring").must("be at least 3", |n: &u32| *n >= 3);
    let groups = Parameter::new("groups", 5u32, "of four switches").must("be at least 2", |n: &u32| *n >= 2);
    let long = Parameter::new("long", Duration::from_us(1), "latency of cables between groups");
    let registry = Registry::new().topology("ring", [common(), vec![switches]].concat(), ring).topology(
        "meshes",
        [common(), vec![groups, long]].concat(),
        meshes,
    );
    let scenario = read_with(&registry, "own_topology.toml", SCENARIO, &NoFiles, &Overrides::default())?;
    scenario.check()?;
    let mut table = format!("{:9}  {:>5}  {:>6}  {:>11}\n", "topology", "hosts", "cables", "max FCT, us");
    for point in scenario.points()? {
        let fabric = build(&point)?.topology;
        let row = run(&point, &Control { threads, ..Control::default() })?.run;
        let (name, hosts, cables) =
            (point.sweep["topology.kind"].to_string(), fabric.hosts, fabric.links() / 2);
        writeln!(table, "{name:9}  {hosts:5}  {cables:6}  {:11.1}", row.fct_max_us)?;
    }
    Ok(table)
}

fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", compare(2)?);
    Ok(())
}
