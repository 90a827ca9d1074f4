//! `anabranch check`.

use crate::args::CheckArgs;
use crate::failure::Failure;
use crate::output::{print, print_json};
use crate::source;
use crate::source::input;
use anabranch_base::Bytes;
use anabranch_sim::scenario::{Ground, Overrides};
use serde_json::json;

/// Resolves and builds a scenario, and prints what it comes to.
///
/// # Errors
/// Bad input, with its place.
pub fn check(args: &CheckArgs) -> Result<(), Failure> {
    let prepared = source::load(&args.scenario, &Overrides::default())?;
    let scenario = &prepared.scenario;
    let Some(first) = prepared.points.first() else {
        return Err(Failure::Input(format!("{}: there is nothing to run", args.scenario.display())));
    };
    let built = anabranch_sim::build(first).map_err(input)?;
    let (topology, workload) = (&built.topology, &built.workload);
    let bytes = workload.messages.iter().fold(0_u64, |sum, message| sum.saturating_add(message.bytes));
    let schemes: Vec<&str> = scenario.schemes.iter().map(|scheme| scheme.name.as_str()).collect();
    if args.json {
        return print_json(&json!({
            "scenario": scenario.title,
            "digest": prepared.item.digest,
            "runs": prepared.points.len(),
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
            "files": scenario.files.keys().collect::<Vec<_>>(),
            "ground": prepared.ground,
            "resolved_toml": prepared.item.toml,
        }));
    }
    let sweep = if scenario.sweep.is_empty() { "" } else { " (fabric and workload below: of the first)" };
    print(&format!(
        "{}\n\n\
         runs       {} = {} x {} x {}{sweep}\n\
         hosts      {}\n\
         switches   {}\n\
         links      {} (directed)\n\
         memory     {:.1} MB fabric, {:.1} MB routing\n\
         messages   {} on {} queue pairs, {} in all\n\
         setup      {}\n\
         digest     {}\n\n\
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
        prepared.ground.setup,
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
    let mut text =
        format!("The ground of the schemes differs in (* needed by the scheme):\n\n{}\n", ground.matrix());
    for (scheme, needs) in ground.schemes.iter().zip(&ground.needs).filter(|(_, needs)| !needs.is_empty()) {
        text.push_str(&format!("{scheme} needs {needs}\n"));
    }
    if let Some(sentence) = &ground.not_the_same {
        text.push_str(&format!("{sentence}\n"));
    }
    text + "\n"
}

/// `1 seed`, `2 seeds`.
pub fn counted(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}
