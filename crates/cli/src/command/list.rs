//! `anabranch list`.

use crate::args::{ListArgs, Listing};
use crate::failure::Failure;
use crate::figures;
use crate::output::{print, print_json};
use crate::source::input;
use anabranch_sim::scenario::{scheme, schemes};
use serde_json::{Value, json};

/// Values of `kind` in `[workload]` and what they mean.
const WORKLOADS: &[(&str, &str)] = &[
    ("permutation", "every host sends one message and receives one, never its own"),
    ("tornado", "host i sends to its twin in the other half of the fabric"),
    ("incast", "many hosts send to one"),
    ("poisson", "random arrivals at a load, sizes from a distribution or a file"),
    ("collective", "AllReduce, AllGather, ReduceScatter or AllToAll, by many jobs at once"),
    ("cm", "an htsim connection matrix, with triggers (file = \"x.cm\")"),
    ("ns3-flows", "an ns-3 flow file (file = \"flow.txt\")"),
];

/// Values of `kind` in `[topology]` and what they mean.
const TOPOLOGIES: &[(&str, &str)] = &[
    ("fat-tree", "2 or 3 tiers of any radix and oversubscription; also from a .topo file"),
    ("leaf-spine", "a fat tree of 2 tiers, by its numbers of leaves and spines"),
    ("single-switch", "all hosts on one switch"),
    ("dumbbell", "two switches joined by one cable"),
    ("graph", "any graph, from an ns-3 topology file"),
];

/// Prints what there is.
///
/// # Errors
/// When `--state` stands where there is no state, or standard output cannot be written.
pub fn list(args: &ListArgs) -> Result<(), Failure> {
    if args.state && args.what != Listing::Schemes {
        return Err(Failure::Input(
            "--state: only schemes have hardware state\n  help: write `anabranch list schemes --state`"
                .to_owned(),
        ));
    }
    match args.what {
        Listing::Schemes if args.state => state(args.json),
        Listing::Schemes => {
            let rows =
                schemes().into_iter().map(|listing| (listing.name.to_owned(), listing.title)).collect();
            show("schemes", rows, args.json)
        }
        Listing::Figures => {
            let rows = figures::all(None)?.iter().map(|figure| (figure.id.clone(), figure.title())).collect();
            show("figures", rows, args.json)
        }
        Listing::Workloads => show("workloads", owned(WORKLOADS), args.json),
        Listing::Topologies => show("topologies", owned(TOPOLOGIES), args.json),
    }
}

fn owned(rows: &[(&str, &str)]) -> Vec<(String, String)> {
    rows.iter().map(|(name, title)| ((*name).to_owned(), (*title).to_owned())).collect()
}

fn show(what: &str, rows: Vec<(String, String)>, as_json: bool) -> Result<(), Failure> {
    if as_json {
        let rows: Vec<Value> =
            rows.iter().map(|(name, title)| json!({ "name": name, "title": title })).collect();
        return print_json(&json!({ what: rows }));
    }
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    print(&rows.iter().map(|(name, title)| format!("{name:width$}  {title}\n")).collect::<String>())
}

/// The hardware state of each scheme's load balancer.
fn state(as_json: bool) -> Result<(), Failure> {
    let mut text = String::new();
    let mut rows = Vec::new();
    for listing in schemes() {
        let fields = scheme(listing.name).map_err(input)?.lb.state();
        let total: u64 = fields.iter().map(|field| u64::from(field.bits) * u64::from(field.count)).sum();
        text.push_str(&format!("{}: {total} bits of load balancer state a queue pair\n", listing.name));
        for field in &fields {
            let bits = u64::from(field.bits) * u64::from(field.count);
            let parts = if field.count == 1 {
                String::new()
            } else {
                format!("  ({} x {})", field.count, field.bits)
            };
            text.push_str(&format!("  {:5} bits  {}{parts}\n", bits, field.name));
        }
        rows.push(json!({ "name": listing.name, "lb_state_bits": total, "lb_state": fields }));
    }
    if as_json { print_json(&json!({ "schemes": rows })) } else { print(&text) }
}
