//! `anabranch check`.

use crate::args::CheckArgs;
use crate::cost::Cost;
use crate::failure::Failure;
use crate::output::{print, print_json};
use crate::source::input;
use crate::{question, source};
use anabranch_base::Bytes;
use anabranch_sim::baseline;
use anabranch_sim::scenario::{FaultSpec, Ground, GroundDifference, INPUTS, Overrides, RunPoint};
use anabranch_sim::topology::Topology;
use serde_json::json;

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
    let baselines = baseline::points(&prepared.points);
    // Runs without the faults are carried out too.
    let all: Vec<RunPoint> = prepared.points.iter().chain(&baselines).cloned().collect();
    let keep_losses = baselines.iter().any(|baseline| !baseline.faults.is_empty());
    let baselines = baselines.len();
    let cost = Cost::of(&all, Some(&built))?;
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
            "packet_hops": cost.packet_hops(),
            "thread_s": cost.thread_seconds(),
            "faults": faults.iter().map(Broken::json).collect::<Vec<_>>(),
            "warnings": prepared.item.warnings,
            "diagnostics": prepared.warnings,
            "files": scenario.files.keys().collect::<Vec<_>>(),
            "ground": prepared.ground,
            "resolved_toml": prepared.item.toml,
        }));
    }
    let without = match baselines {
        0 => String::new(),
        some if keep_losses => format!(", and {some} with the losses of the topology file alone"),
        some => format!(", and {some} without faults"),
    };
    let sweep = if scenario.sweep.is_empty() {
        ""
    } else {
        " (the fabric and workload below are those of the \
        first sweep point)"
    };
    print(&format!(
        "{}\n\n\
         runs       {} = {} x {} x {}{without}{sweep}\n\
         hosts      {}\n\
         switches   {}\n\
         links      {} (directed)\n\
         memory     {} fabric, {} routing\n\
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
        Bytes(topology.memory_bytes() as u64).about(),
        Bytes(built.routing.memory_bytes() as u64).about(),
        workload.messages.len(),
        workload.qps.len(),
        Bytes(bytes).about(),
        cost.line(),
        prepared.ground.setup,
        faults.iter().map(Broken::line).collect::<String>(),
        prepared.item.digest,
        ground(&prepared.ground),
        prepared.item.toml,
    ))
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
        legend.push_str("; + set by the setup for every lossless or trimming fabric");
    }
    if has(|row| &row.unused) {
        legend.push_str("; unused: nothing in the scheme takes notice of it");
    }
    let mut text = format!("The ground of the schemes differs in ({legend}):\n\n{}\n", ground.matrix());
    for (scheme, needs) in ground.schemes.iter().zip(&ground.needs).filter(|(_, needs)| !needs.is_empty()) {
        text.push_str(&format!("{scheme} needs {needs}\n"));
    }
    if let Some(sentence) = &ground.mismatch {
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
    /// The lines of the topology's file that say it; none where the scenario does.
    in_file: Option<String>,
}

fn broken<'a>(point: &'a RunPoint, topology: &Topology) -> Result<Vec<Broken<'a>>, Failure> {
    let inputs = format!("{INPUTS}/");
    let find = |(i, fault): (usize, &'a FaultSpec)| {
        let taken = fault.targets(i, topology, point.seed).map_err(input)?;
        let file = point.topology.file().map(|file| file.strip_prefix(&inputs).unwrap_or(file));
        Ok(Broken {
            number: i,
            fault,
            switches: taken.switches.iter().map(|&node| topology.node_name(node)).collect(),
            links: taken.links.iter().map(|&link| topology.link_name(link)).collect(),
            in_file: fault.error_rate(topology).zip(file).map(|(rate, file)| rate.place(file)),
        })
    };
    point.faults.iter().enumerate().map(find).collect()
}

/// Links of a fault that are named one by one.
const MOST_NAMED: usize = 8;

impl Broken<'_> {
    /// `fault.0    link-down cable:tor:0/up:0 at 50us for 200us: tor:0/up:0, spine:0/down:0`; behind what chance decides
    /// stands its probability, and behind what a file says its lines.
    fn line(&self) -> String {
        let FaultSpec { kind, at, duration } = self.fault;
        let lasts = duration.map_or_else(|| "to the end".to_owned(), |duration| format!("for {duration}"));
        let names = if self.switches.is_empty() { &self.links } else { &self.switches };
        let named = names[..names.len().min(MOST_NAMED)].join(", ");
        let rest = match names.len() > MOST_NAMED {
            true => format!(" ... ({} in all)", names.len()),
            false => String::new(),
        };
        let chance =
            kind.probability().map_or_else(String::new, |chance| format!(" with probability {chance}"));
        let place = self.in_file.as_ref().map_or_else(String::new, |place| format!("; {place}"));
        let number = format!("fault.{}", self.number);
        format!("{number:<11}{kind}{chance} at {at} {lasts}: {named}{rest}{place}\n")
    }

    fn json(&self) -> serde_json::Value {
        json!({
            "fault": self.number,
            "kind": self.fault.kind.word(),
            "on": self.fault.kind.names().0.to_string(),
            "probability": self.fault.kind.probability(),
            "in_file": self.in_file,
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
