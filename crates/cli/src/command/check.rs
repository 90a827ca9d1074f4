//! `anabranch check`: a scenario resolved and validated, without simulating it.

use crate::args::CheckArgs;
use crate::cost::Cost;
use crate::failure::Failure;
use crate::output::{print, print_json};
use crate::source::{Prepared, input};
use crate::{fabric, question, source};
use anabranch_base::{Bytes, HostId};
use anabranch_sim::scenario::{
    FaultSpec, Ground, GroundDifference, INPUTS, MeasureSpec, Overrides, RunPoint,
};
use anabranch_sim::topology::Topology;
use anabranch_sim::{Built, baseline};
use serde_json::json;

/// Resolves and builds a scenario, and prints its size, cost and resolved text.
///
/// # Errors
/// Bad input, with its place if it has one, or a standard output that cannot be written.
pub fn check(args: &CheckArgs) -> Result<(), Failure> {
    let written = source::open(&args.scenario)?;
    let prepared = source::load(&written, &Overrides::default())?;
    question::check(&written, &Overrides::default())?;
    let Some(first) = prepared.points.first() else {
        return Err(Failure::Input(format!("{}: there is nothing to run", args.scenario.display())));
    };
    let built = anabranch_sim::build(first).map_err(input)?;
    let faults = listed_faults(first, &built.topology)?;
    let measures = listed_measures(first, &built)?;
    let baselines = baseline::points(&prepared.points);
    let all: Vec<RunPoint> = prepared.points.iter().chain(&baselines).cloned().collect();
    let cost = Cost::estimate(&all, Some(&built))?;
    let checked = Checked { prepared: &prepared, built: &built, faults, measures, baselines, cost };
    match args.json {
        true => print_json(&checked.json()),
        false => print(&checked.text()),
    }
}

/// A scenario that was resolved, with the fabric and workload of its first run.
struct Checked<'a> {
    prepared: &'a Prepared,
    built: &'a Built,
    faults: Vec<ListedFault<'a>>,
    measures: Vec<ListedMeasure<'a>>,
    /// Runs without the scenario's faults.
    baselines: Vec<RunPoint>,
    cost: Cost,
}

impl Checked<'_> {
    fn scheme_names(&self) -> Vec<&str> {
        self.prepared.scenario.schemes.iter().map(|scheme| scheme.name.as_str()).collect()
    }

    fn message_bytes(&self) -> u64 {
        self.built.workload.messages.iter().fold(0, |sum, message| sum.saturating_add(message.bytes))
    }

    fn json(&self) -> serde_json::Value {
        let Checked { prepared, built, .. } = self;
        let (topology, workload) = (&built.topology, &built.workload);
        json!({
            "scenario": prepared.scenario.title,
            "digest": prepared.item.digest,
            "runs": prepared.points.len(),
            "baselines": self.baselines.len(),
            "schemes": self.scheme_names(),
            "seeds": prepared.scenario.seeds,
            "hosts": topology.hosts,
            "switches": topology.switches.len(),
            "links": topology.links(),
            "fabric": fabric::json(topology),
            "topology_bytes": topology.memory_bytes(),
            "routing_bytes": built.routing.memory_bytes(),
            "queue_pairs": workload.qps.len(),
            "messages": workload.messages.len(),
            "message_bytes": self.message_bytes(),
            "packet_hops": self.cost.packet_hops(),
            "nvlink_transfers": self.cost.nvlink_transfers(),
            "thread_s": self.cost.thread_seconds(),
            "faults": self.faults.iter().map(ListedFault::json).collect::<Vec<_>>(),
            "measures": self.measures.iter().map(ListedMeasure::json).collect::<Vec<_>>(),
            "warnings": prepared.item.warnings,
            "diagnostics": prepared.warnings,
            "files": prepared.scenario.files.keys().collect::<Vec<_>>(),
            "ground": prepared.ground,
            "resolved_toml": prepared.item.toml,
        })
    }

    fn text(&self) -> String {
        let Checked { prepared, built, .. } = self;
        let (scenario, topology, workload) = (&prepared.scenario, &built.topology, &built.workload);
        let (schemes, seeds) = (scenario.schemes.len(), scenario.seeds.len());
        let sweep = match scenario.sweep.is_empty() {
            true => "",
            false => " (the fabric and workload below are those of the first sweep point)",
        };
        format!(
            "{}\n\n\
             runs       {} = {} x {} x {}{}{sweep}\n\
             hosts      {}\n\
             switches   {}\n\
             links      {} (directed)\n\
             {}\
             memory     {} fabric, {} routing\n\
             messages   {} on {} queue pairs, {} in all{}\n\
             cost       {}\n\
             setup      {}\n\
             {}{}digest     {}\n\n\
             {}\
             # The resolved scenario, every default explicit:\n\n{}",
            scenario.title,
            prepared.points.len(),
            counted(schemes, "scheme"),
            counted(prepared.points.len() / (schemes * seeds).max(1), "sweep point"),
            counted(seeds, "seed"),
            self.baselines_clause(),
            topology.hosts,
            topology.switches.len(),
            topology.links(),
            fabric::lines(topology),
            Bytes(topology.memory_bytes() as u64).about(),
            Bytes(built.routing.memory_bytes() as u64).about(),
            workload.messages.len(),
            workload.qps.len(),
            Bytes(self.message_bytes()).about(),
            below_tors_clause(built),
            self.cost.line(),
            prepared.ground.setup,
            self.faults.iter().map(ListedFault::line).collect::<String>(),
            self.measures.iter().map(ListedMeasure::line).collect::<String>(),
            prepared.item.digest,
            ground(&prepared.ground),
            prepared.item.toml,
        )
    }

    fn baselines_clause(&self) -> String {
        let keep_losses = self.baselines.iter().any(|baseline| !baseline.faults.is_empty());
        match self.baselines.len() {
            0 => String::new(),
            some if keep_losses => format!(", and {some} with the losses of the topology file alone"),
            some => format!(", and {some} without faults"),
        }
    }
}

/// The differences between the setups of the schemes.
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

/// A fault, with its targets in the run with the first seed.
struct ListedFault<'a> {
    number: usize,
    fault: &'a FaultSpec,
    switches: Vec<String>,
    links: Vec<String>,
    /// The lines of the topology's file that declare the fault, or `None` if the scenario declares it.
    in_file: Option<String>,
}

fn listed_faults<'a>(point: &'a RunPoint, topology: &Topology) -> Result<Vec<ListedFault<'a>>, Failure> {
    let inputs = format!("{INPUTS}/");
    let find = |(i, fault): (usize, &'a FaultSpec)| {
        let taken = fault.targets(i, topology, point.seed).map_err(input)?;
        let file = point.topology.file().map(|file| file.strip_prefix(&inputs).unwrap_or(file));
        Ok(ListedFault {
            number: i,
            fault,
            switches: taken.switches.iter().map(|&node| topology.node_name(node)).collect(),
            links: taken.links.iter().map(|&link| topology.link_name(link)).collect(),
            in_file: fault.error_rate(topology).zip(file).map(|(rate, file)| rate.place(file)),
        })
    };
    point.faults.iter().enumerate().map(find).collect()
}

/// The largest number of links or switches of a fault, or of curves of a measure, that are listed individually.
const MOST_NAMED: usize = 8;

/// The first of these names, and the number of all.
fn listed(names: &[String]) -> String {
    let named = names[..names.len().min(MOST_NAMED)].join(", ");
    match names.len() > MOST_NAMED {
        true => format!("{named} ... ({} in all)", names.len()),
        false => named,
    }
}

/// A measure, with the names of its curves in the run with the first seed.
struct ListedMeasure<'a> {
    number: usize,
    measure: &'a MeasureSpec,
    curves: Vec<String>,
}

fn listed_measures<'a>(point: &'a RunPoint, built: &Built) -> Result<Vec<ListedMeasure<'a>>, Failure> {
    let find = |(number, measure): (usize, &'a MeasureSpec)| {
        let curves = point.curve_names(number, &built.topology, built.workload.qps.len()).map_err(input)?;
        Ok(ListedMeasure { number, measure, curves })
    };
    point.measures.iter().enumerate().map(find).collect()
}

impl ListedMeasure<'_> {
    /// The line of a measure: `measure.0  queue-depth of tor:0/up: tor:0/up:0, tor:0/up:1`.
    fn line(&self) -> String {
        let MeasureSpec { series, links, switches, qps, .. } = self.measure;
        let on = [links.as_ref(), switches.as_ref()].into_iter().flatten().next();
        let on = match (on, qps) {
            (Some(on), _) => on.clone(),
            (None, Some(qps)) => format!("queue pairs {qps}"),
            (None, None) => String::new(),
        };
        let number = format!("measure.{}", self.number);
        format!("{number:<11}{} of {on}: {}\n", series.name(), listed(&self.curves))
    }

    fn json(&self) -> serde_json::Value {
        json!({"measure": self.number, "series": self.measure.series.name(), "curves": self.curves})
    }
}

/// A clause for messages that all stay below a ToR, although the fabric has further tiers. Empty for others.
fn below_tors_clause(built: &Built) -> String {
    let (topology, routing) = (&built.topology, &built.routing);
    let summary = topology.summary();
    let [tor, above, ..] = &summary.tiers[..] else { return String::new() };
    let is_below = |src: HostId, dst: HostId| {
        (0..topology.host_ports(src)).all(|from| {
            let nearest = routing.best_ports(topology, (src, from), dst, u16::MAX);
            let mut to = (0..topology.host_ports(dst)).filter(|to| nearest >> to & 1 == 1);
            to.all(|to| routing.tor_index(src, from) == routing.tor_index(dst, to))
        })
    };
    let qps = &built.workload.qps;
    match !qps.is_empty() && qps.iter().all(|qp| is_below(qp.src, qp.dst)) {
        true => format!("; each stays below one {}, so that no packet crosses a {}", tor.word, above.word),
        false => String::new(),
    }
}

impl ListedFault<'_> {
    /// The line of a fault: `fault.0    link-down cable:tor:0/up:0 at 50us for 200us: tor:0/up:0, spine:0/down:0`.
    fn line(&self) -> String {
        let FaultSpec { kind, at, duration, per_hour } = self.fault;
        let lasts = duration.map_or_else(|| "to the end".to_owned(), |duration| format!("for {duration}"));
        let rate = per_hour.map_or_else(String::new, |rate| {
            let each = if self.switches.is_empty() { "cable" } else { "switch" };
            format!(" {rate} times an hour and {each}, from {at} on, each")
        });
        let names = if self.switches.is_empty() { &self.links } else { &self.switches };
        let named = listed(names);
        let chance =
            kind.probability().map_or_else(String::new, |chance| format!(" with probability {chance}"));
        let place = self.in_file.as_ref().map_or_else(String::new, |place| format!("; {place}"));
        let number = format!("fault.{}", self.number);
        let from = if per_hour.is_some() { rate } else { format!(" at {at}") };
        format!("{number:<11}{kind}{chance}{from} {lasts}: {named}{place}\n")
    }

    fn json(&self) -> serde_json::Value {
        json!({
            "fault": self.number,
            "kind": self.fault.kind.word(),
            "on": self.fault.kind.names().0.to_string(),
            "probability": self.fault.kind.probability(),
            "in_file": self.in_file,
            "at_us": self.fault.at.0.iter().map(|at| at.as_us()).collect::<Vec<_>>(),
            "per_hour": self.fault.per_hour,
            "duration_us": self.fault.duration.map(|duration| duration.as_us()),
            "switches": self.switches,
            "links": self.links,
        })
    }
}

/// A number with its noun: `1 seed`, `2 seeds`.
pub fn counted(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}
