//! `anabranch check`.

use crate::args::CheckArgs;
use crate::failure::Failure;
use crate::output::{print, print_json};
use crate::progress::time;
use crate::source::input;
use crate::{question, source};
use anabranch_base::Bytes;
use anabranch_report::large;
use anabranch_sim::scenario::{FaultSpec, Ground, GroundDifference, Overrides, RunPoint};
use anabranch_sim::topology::Topology;
use anabranch_sim::{Built, baseline};
use serde_json::json;
use std::collections::BTreeMap;

/// Resolves and builds a scenario, and prints what it comes to.
///
/// # Errors
/// Bad input, with its place.
pub fn check(args: &CheckArgs) -> Result<(), Failure> {
    let written = source::written(&args.scenario)?;
    let prepared = source::load(&written, &Overrides::default())?;
    question::check(&written, &Overrides::default())?;
    let scenario = &prepared.scenario;
    let Some(first) = prepared.points.first() else {
        return Err(Failure::Input(format!("{}: there is nothing to run", args.scenario.display())));
    };
    let built = anabranch_sim::build(first).map_err(input)?;
    let (topology, workload) = (&built.topology, &built.workload);
    let bytes = workload.messages.iter().fold(0_u64, |sum, message| sum.saturating_add(message.bytes));
    let faults = broken(first, topology)?;
    let schemes: Vec<&str> = scenario.schemes.iter().map(|scheme| scheme.name.as_str()).collect();
    let baselines = baseline::points(&prepared.points).len();
    let cost = Cost::of(&prepared.points, &built)?;
    if args.json {
        return print_json(&json!({
            "scenario": scenario.title,
            "digest": prepared.item.digest,
            "runs": prepared.points.len(),
            "baselines": baselines,
            "schemes": schemes,
            "seeds": scenario.seeds,
            "hosts": topology.hosts,
            "switches": topology.switches.len(),
            "links": topology.links(),
            "topology_bytes": topology.memory_bytes(),
            "routing_bytes": built.routing.memory_bytes(),
            "queue_pairs": workload.qps.len(),
            "messages": workload.messages.len(),
            "message_bytes": bytes,
            "packet_hops": cost.packet_hops,
            "thread_s": cost.seconds(),
            "faults": faults.iter().map(Broken::json).collect::<Vec<_>>(),
            "warnings": prepared.item.warnings,
            "files": scenario.files.keys().collect::<Vec<_>>(),
            "ground": prepared.ground,
            "resolved_toml": prepared.item.toml,
        }));
    }
    let without = match baselines {
        0 => String::new(),
        some => format!(", and {some} without faults"),
    };
    let sweep = if scenario.sweep.is_empty() { "" } else { " (fabric and workload below: of the first)" };
    print(&format!(
        "{}\n\n\
         runs       {} = {} x {} x {}{without}{sweep}\n\
         hosts      {}\n\
         switches   {}\n\
         links      {} (directed)\n\
         memory     {:.1} MB fabric, {:.1} MB routing\n\
         messages   {} on {} queue pairs, {} in all\n\
         cost       {}\n\
         setup      {}\n\
         {}digest     {}\n\n\
         {}\
         # The resolved scenario, every default explicit:\n\n{}",
        scenario.title,
        prepared.points.len(),
        counted(schemes.len(), "scheme"),
        counted(prepared.points.len() / (schemes.len() * scenario.seeds.len()).max(1), "sweep point"),
        counted(scenario.seeds.len(), "seed"),
        topology.hosts,
        topology.switches.len(),
        topology.links(),
        topology.memory_bytes() as f64 / 1e6,
        built.routing.memory_bytes() as f64 / 1e6,
        workload.messages.len(),
        workload.qps.len(),
        Bytes(bytes),
        cost.line(),
        prepared.ground.setup,
        faults.iter().map(Broken::line).collect::<String>(),
        prepared.item.digest,
        ground(&prepared.ground),
        prepared.item.toml,
    ))
}

/// What all runs come to, without those that are for comparison.
struct Cost {
    packet_hops: f64,
}

impl Cost {
    /// What a thread carries out in a second on a usual machine.
    const PACKET_HOPS_A_SECOND: f64 = 10e6;
    /// More points of a sweep than this are not built: those left are like the others in the mean.
    const MOST_BUILT: usize = 32;

    /// `first` is what the first of them builds.
    fn of(points: &[RunPoint], first: &Built) -> Result<Cost, Failure> {
        // Runs at one point of a sweep have the same fabric, and about the same messages.
        let mut swept: Vec<Vec<&RunPoint>> = Vec::new();
        for point in points {
            match swept.iter_mut().find(|there| there[0].sweep == point.sweep) {
                Some(there) => there.push(point),
                None => swept.push(vec![point]),
            }
        }
        let (mut packet_hops, mut runs) = (0.0, 0);
        for (place, runs_there) in swept.iter().take(Self::MOST_BUILT).enumerate() {
            let another = match place {
                0 => None,
                _ => Some(anabranch_sim::build(runs_there[0]).map_err(input)?),
            };
            let built = another.as_ref().unwrap_or(first);
            let mut by_payload: BTreeMap<u64, u64> = BTreeMap::new();
            for point in runs_there {
                let payload = point.scheme.transport.framing().payload.0;
                packet_hops +=
                    *by_payload.entry(payload).or_insert_with(|| built.packet_hops(payload)) as f64;
            }
            runs += runs_there.len();
        }
        Ok(Cost { packet_hops: packet_hops * points.len() as f64 / runs.max(1) as f64 })
    }

    fn seconds(&self) -> f64 {
        self.packet_hops / Self::PACKET_HOPS_A_SECOND
    }

    fn line(&self) -> String {
        format!(
            "about {} packet-hops if nothing is lost: {} of one thread at 10 M a second",
            large(self.packet_hops),
            time(self.seconds())
        )
    }
}

/// In what the ground of the schemes differs.
fn ground(ground: &Ground) -> String {
    if ground.differences.is_empty() {
        return String::new();
    }
    let has =
        |of: fn(&GroundDifference) -> &[bool]| ground.differences.iter().any(|row| of(row).contains(&true));
    let mut legend = "* needed by the scheme".to_owned();
    if has(|row| &row.given) {
        legend.push_str(
            "; + what the setup gives to every fabric that pauses or trims, as the scheme needs one",
        );
    }
    if has(|row| &row.unused) {
        legend.push_str("; unused: nothing in the scheme takes notice of it");
    }
    let mut text = format!("The ground of the schemes differs in ({legend}):\n\n{}\n", ground.matrix());
    for (scheme, needs) in ground.schemes.iter().zip(&ground.needs).filter(|(_, needs)| !needs.is_empty()) {
        text.push_str(&format!("{scheme} needs {needs}\n"));
    }
    if let Some(sentence) = &ground.not_the_same {
        text.push_str(&format!("{sentence}\n"));
    }
    text + "\n"
}

/// A fault, with what it takes at the first seed.
struct Broken<'a> {
    number: usize,
    fault: &'a FaultSpec,
    switches: Vec<String>,
    links: Vec<String>,
}

fn broken<'a>(point: &'a RunPoint, topology: &Topology) -> Result<Vec<Broken<'a>>, Failure> {
    let find = |(i, fault): (usize, &'a FaultSpec)| {
        let taken = fault.takes(i, topology, point.seed).map_err(input)?;
        Ok(Broken {
            number: i,
            fault,
            switches: taken.switches.iter().map(|&node| topology.node_name(node)).collect(),
            links: taken.links.iter().map(|&link| topology.link_name(link)).collect(),
        })
    };
    point.faults.iter().enumerate().map(find).collect()
}

/// Links of a fault that are named one by one.
const MOST_NAMED: usize = 8;

impl Broken<'_> {
    /// `fault.0    link-down cable:tor:0/up:0 at 50us for 200us: tor:0/up:0, spine:0/down:0`
    fn line(&self) -> String {
        let FaultSpec { kind, at, duration } = self.fault;
        let lasts = duration.map_or_else(|| "to the end".to_owned(), |duration| format!("for {duration}"));
        let names = if self.switches.is_empty() { &self.links } else { &self.switches };
        let named = names[..names.len().min(MOST_NAMED)].join(", ");
        let rest = match names.len() > MOST_NAMED {
            true => format!(" ... ({} in all)", names.len()),
            false => String::new(),
        };
        format!("{:<11}{kind} at {at} {lasts}: {named}{rest}\n", format!("fault.{}", self.number))
    }

    fn json(&self) -> serde_json::Value {
        json!({
            "fault": self.number,
            "kind": self.fault.kind.word(),
            "on": self.fault.kind.names().0.to_string(),
            "at_us": self.fault.at.0.iter().map(|at| at.as_us()).collect::<Vec<_>>(),
            "duration_us": self.fault.duration.map(|duration| duration.as_us()),
            "switches": self.switches,
            "links": self.links,
        })
    }
}

/// `1 seed`, `2 seeds`.
pub fn counted(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}
