//! Warnings about faults, settings and depths of collectives that have no effect or an unintended one, and notes on how
//! files were read.

use crate::scenario::check::built::selector_stream;
use crate::scenario::expand::resolved::Scenario;
use crate::scenario::read::document::{Item, Place};
use crate::scenario::read::key_path::{self, ZIP};
use crate::scenario::read::source_map::Origin;
use crate::scenario::read::table::fault;
use crate::scenario::resolve::scheme::{builtin, setting};
use crate::scenario::resolve::simai_conf;
use anabranch_base::{Diagnostic, Duration, Fix, Rate, Span};
use anabranch_engine::{FaultKind, FaultSpec, FaultTargets, Limits, Scheme, Several};
use anabranch_fabric::{Selector, TierSpec, Topology, TopologySpec};
use anabranch_workload::{Workload, WorkloadSpec};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Default)]
pub(in crate::scenario) struct WithoutEffect {
    /// For each fault that sets a rate of links, the slowest and the fastest rate of these links without the fault, at
    /// the first point.
    rates: BTreeMap<usize, (Rate, Rate)>,
    /// For each fault that sets a rate of links, whether it slows a link at some point.
    slows: BTreeMap<usize, bool>,
    /// For each fault that sets a rate of links, the first of its selectors that names only one direction of a cable,
    /// if the fault does not slow the other direction.
    one_way: BTreeMap<usize, String>,
    /// For each fault, the times at which it begins, at each point.
    begins: BTreeMap<usize, BTreeSet<Vec<Duration>>>,
    /// The error rates in topology files with which every packet is lost, by number of the fault, file and line.
    losing_all: BTreeSet<(usize, String, usize)>,
    /// Whether some point has a fault.
    is_broken: bool,
    /// A depth of a collective that has no effect, and the largest number of chunks of a queue pair. This number does
    /// not exceed the depth.
    depth: Option<(u32, u32)>,
    /// Whether the depth limits a collective at some point.
    holds_back: bool,
    /// Notes on how files were read.
    notes: BTreeSet<String>,
    /// The shortest possible duration of the longest run with fixed start times, and the time at which that run has
    /// most likely ended.
    lasts: Option<(Duration, Duration)>,
    /// Whether some point of the sweep has start times that are not fixed.
    lasts_otherwise: bool,
}

/// A run on a fabric that is neither a fat tree nor a single switch has most likely ended after this multiple of its
/// shortest possible duration.
const MUCH_LATER: f64 = 10.0;
/// The multiple for a single switch and for a fat tree without oversubscription. In an oversubscribed fat tree, the
/// oversubscription of each tier multiplies it.
const LATER: f64 = 3.0;

impl WithoutEffect {
    pub(in crate::scenario) fn look_at_fault(
        &mut self,
        number: usize,
        fault: &FaultSpec,
        taken: &FaultTargets,
        (on, spec): (&Topology, &TopologySpec),
    ) {
        self.is_broken = true;
        if let (Some(rate), Some(file)) = (fault.error_rate(on).filter(|rate| rate.is(1.0)), spec.file()) {
            self.losing_all.insert((number, file.to_owned(), rate.lines[0]));
        }
        self.begins.entry(number).or_default().insert(fault.at.0.clone());
        let FaultKind::Rate { rate, links: Several(names), .. } = &fault.kind else { return };
        let is_direction = |name: &&String| !name.trim().starts_with("cable:") && name.contains(['/', '>']);
        let misses_reverse = |name: &&String| {
            let links = Selector::parse(name).and_then(|named| named.links(on, &mut selector_stream(1)));
            links.is_ok_and(|links| links.iter().any(|link| !taken.links.contains(&on.reverse(*link))))
        };
        if let Some(name) = names.iter().filter(is_direction).find(misses_reverse) {
            self.one_way.entry(number).or_insert_with(|| name.clone());
        }
        let rates = || taken.links.iter().map(|link| on.ports[link.index()].rate);
        let (Some(slowest), Some(fastest)) = (rates().min(), rates().max()) else { return };
        *self.slows.entry(number).or_default() |= *rate < fastest;
        self.rates.entry(number).or_insert((slowest, fastest));
    }

    pub(in crate::scenario) fn look_at_workload(
        &mut self,
        spec: &WorkloadSpec,
        workload: &Workload,
        schemes: &[Scheme],
        files: &BTreeMap<String, String>,
    ) {
        let setups = files.iter().filter(|(name, _)| name.ends_with(".conf"));
        self.notes.extend(setups.flat_map(|(name, text)| simai_conf::notes(name, text, schemes)));
        let traces = match spec {
            WorkloadSpec::Trace(trace) => std::slice::from_ref(trace),
            WorkloadSpec::Jobs { job } => job,
            _ => &[],
        };
        for (trace, job) in traces.iter().zip(&workload.jobs) {
            let system = trace.system.as_ref().and_then(|system| files.get(system));
            self.notes.extend(system.and_then(|text| trace.notes_of_system(text)));
            let Some(text) = files.get(&trace.file) else { continue };
            self.notes.extend(trace.notes(text, job.hosts.len() as u32));
        }
        let WorkloadSpec::Collective(collective) = spec else { return };
        let Some(depth) = collective.depth else { return };
        let mut chunks = vec![0_u32; workload.qps.len()];
        workload.messages.iter().for_each(|message| chunks[message.qp.index()] += 1);
        match chunks.into_iter().max() {
            Some(most) if most <= depth => drop(self.depth.get_or_insert((depth, most))),
            _ => self.holds_back = true,
        }
    }

    pub(in crate::scenario) fn look_at_end(
        &mut self,
        spec: &WorkloadSpec,
        on: &TopologySpec,
        soonest: Duration,
    ) {
        let over = Duration((soonest.0 as f64 * later(on)) as u64);
        match spec.has_fixed_starts() {
            true => self.lasts = self.lasts.max(Some((soonest, over))),
            false => self.lasts_otherwise = true,
        }
    }

    pub(in crate::scenario) fn warnings(self, scenario: &Scenario, origin: &Origin) -> Vec<Diagnostic> {
        let lasts = self.lasts.filter(|_| !self.lasts_otherwise);
        let late = scenario.faults.iter().enumerate().filter_map(|(number, fault)| {
            // If the start is swept, the warning about the earliest start that is too late also covers the later ones.
            let begins = self.begins.get(&number)?;
            let late = |at: &Vec<Duration>| {
                late_fault(number, fault, (at, begins.len() > 1), &scenario.limits, lasts, origin)
            };
            begins.iter().find_map(late)
        });
        let mut warnings: Vec<Diagnostic> = late.collect();
        warnings.extend(scenario.faults.iter().enumerate().filter_map(|(number, fault)| {
            let swept = scenario.sweep.contains_key(&format!("fault.{number}.probability"));
            idle_loss(number, fault, origin).filter(|_| !swept && origin.has_fault(number))
        }));
        let of_files = self.losing_all.into_iter().filter(|(number, ..)| !origin.has_fault(*number));
        warnings.extend(of_files.map(|(number, file, line)| {
            let message = format!(
                "error rate 1 (fault.{number}): the links that have it lose every packet that they carry"
            );
            let help = "0.01 for one packet in a hundred, or 0 for none".to_owned();
            let span = Span { file, line: Some(line), column: None };
            Diagnostic::warning(span, message, Some(help.into()))
        }));
        warnings.extend(scenario.faults.iter().enumerate().filter_map(|(number, fault)| {
            let rates = self.rates.get(&number).filter(|_| self.slows.get(&number) == Some(&false));
            idle_rate(number, fault, *rates?, origin)
        }));
        warnings.extend(scenario.faults.iter().enumerate().filter_map(|(number, fault)| {
            let varied = origin.is_varied(&format!("fault.{number}.both_directions"));
            one_way(number, fault, self.one_way.get(&number)?, origin).filter(|_| !varied)
        }));
        // If a figure varies the depth, the value without effect is the baseline for the other values, so there is no
        // warning.
        let is_varied = origin.is_varied("workload.depth");
        if let (Some((depth, most)), false) = (self.depth, self.holds_back || is_varied) {
            let message = format!(
                "depth = {depth} holds nothing back: no rank has more than {most} chunks for another one, in all"
            );
            let help = Some(
                "a smaller depth or chunk where it should; the results are the same without it".to_owned(),
            );
            warnings.push(fault(&origin.file, origin.place("workload.depth"), message, help.map(Fix::from)));
        }
        warnings.extend(named(origin, "set").into_iter().filter_map(|set| {
            (set.path == "fabric.routing_delay" && !self.is_broken).then(|| {
                let message = format!("\"{}.{}\" has no effect: nothing fails here", set.scheme, set.path);
                let help = "a [[fault]] of kind \"link-down\", or this without it".to_owned();
                fault(&origin.file, set.at, message, Some(help.into()))
            })
        }));
        let of_trace = |note| fault(&origin.file, origin.place("workload.file"), note, None);
        warnings.extend(self.notes.into_iter().map(of_trace));
        warnings.extend(overridden(origin));
        warnings.extend(not_for_all(&scenario.schemes, origin));
        warnings.extend(pauses_no_more(&scenario.schemes, origin));
        warnings
    }
}

fn later(on: &TopologySpec) -> f64 {
    match on {
        TopologySpec::SingleSwitch { .. } => LATER,
        TopologySpec::FatTree { tier, .. } => {
            let up = |pair: &[TierSpec]| f64::from(pair[0].radix_up) * pair[1].link.0 as f64;
            let down = |pair: &[TierSpec]| f64::from(pair[0].radix_down) * pair[0].link.0 as f64;
            LATER * tier.windows(2).map(|pair| (down(pair) / up(pair)).max(1.0)).product::<f64>()
        }
        _ => MUCH_LATER,
    }
}

fn idle_loss(number: usize, idle: &FaultSpec, origin: &Origin) -> Option<Diagnostic> {
    let probability = idle.kind.probability()?;
    // A fault with probability 0 on the links of a topology file's error rate serves to switch off that rate.
    let is_of_file = idle.kind.names().0.to_string().starts_with("error-rate:");
    let (what, instead) = match probability {
        0.0 if is_of_file => return None,
        0.0 => ("nothing", "probability = 0.001, or nothing of this fault"),
        1.0 => (
            "every packet that it meets",
            "probability = 0.01 for one in a hundred, or kind = \"link-down\" without it",
        ),
        _ => return None,
    };
    let message = format!("probability = {probability}: this fault loses {what}");
    let place = origin.place(&format!("fault.{number}.probability"));
    Some(fault(&origin.file, place, message, Some(instead.to_owned().into())))
}

/// The warning about a fault that slows one direction of a cable and leaves `both_directions` unset, which may be an
/// oversight. Adaptive routing notices a slow uplink but not the slow opposite direction, so the ranking of the
/// schemes may depend on this choice.
fn one_way(number: usize, slow: &FaultSpec, name: &str, origin: &Origin) -> Option<Diagnostic> {
    let FaultKind::Rate { both_directions: None, .. } = &slow.kind else { return None };
    let message =
        format!("fault.{number} slows {name:?} in this direction only; the ranking may depend on that");
    let help = Some("both_directions = true for the cable, or false to say that one is meant".to_owned());
    Some(fault(&origin.file, origin.place(&format!("fault.{number}.links")), message, help.map(Fix::from)))
}

/// The warning about a fault that begins when every run has ended or has most likely ended, or that begins for the
/// last time when every run has ended.
fn late_fault(
    number: usize,
    late: &FaultSpec,
    (at, is_swept): (&[Duration], bool),
    limits: &Limits,
    lasts: Option<(Duration, Duration)>,
    origin: &Origin,
) -> Option<Diagnostic> {
    let max_time = limits.max_time;
    let (first, last) = (at.iter().min()?, at.iter().max()?);
    let place = || origin.place(&format!("fault.{number}.at"));
    let instead = |at: Duration| match is_swept {
        true => format!("earlier times, such as \"{at}\", in {}", origin.sweeps()),
        false => format!("at = \"{at}\""),
    };
    if let Some((lasts, _)) = lasts.filter(|(_, over)| first > over && *first < max_time) {
        let message = format!(
            "fault.{number} ({}) begins at {first}, and a run that loses nothing takes little more than {}: most likely it is over \
             by then",
            late.kind,
            lasts.rounded_up(2)
        );
        let help = format!("{}, or longer messages", instead(Duration(lasts.0 / 2).rounded_up(2)));
        return Some(fault(&origin.file, place(), message, Some(help.into())));
    }
    let (at, begins) = match (*first >= max_time, *last >= max_time) {
        (true, _) => (first, "begins"),
        (false, true) => (last, "begins for the last time"),
        (false, false) => return None,
    };
    let message = format!(
        "fault.{number} ({}) {begins} at {at}, when every run is over (max_time = \"{max_time}\")",
        late.kind
    );
    let help = match first == last {
        true => {
            let within =
                lasts.map_or(Duration(max_time.0 / 2), |(lasts, _)| Duration(lasts.0 / 2).rounded_up(2));
            format!("{}, or a longer max_time below [limits]", instead(within))
        }
        false => "earlier times, or a longer max_time below [limits]".to_owned(),
    };
    Some(fault(&origin.file, place(), message, Some(help.into())))
}

fn idle_rate(
    number: usize,
    idle: &FaultSpec,
    (slowest, fastest): (Rate, Rate),
    origin: &Origin,
) -> Option<Diagnostic> {
    let FaultKind::Rate { rate, .. } = idle.kind else { return None };
    let what =
        if rate == slowest && rate == fastest { "leaves them as they are" } else { "slows none of them" };
    let message =
        format!("fault.{number} ({}): rate = \"{rate}\" {what}: the links have {fastest}", idle.kind);
    let help = Fix::set("rate", format!("\"{}\"", Rate(slowest.0 / 2)));
    Some(fault(&origin.file, origin.place(&format!("fault.{number}.rate")), message, Some(help)))
}

struct Named {
    /// The first word of the path: a scheme, `*`, or a table such as `topology`.
    scheme: String,
    path: String,
    at: Place,
}

fn named(origin: &Origin, section: &str) -> Vec<Named> {
    let mut found = Vec::new();
    let is_value = |node: &crate::scenario::read::document::Node| match section {
        "set" => key_path::whole_value(node),
        _ => matches!(node.item, Item::Array(_)),
    };
    if let Some(Item::Table(fields)) = origin.section(section).map(|node| &node.item) {
        key_path::leaves("", fields, &is_value, &mut found);
        // Parameters that change together are in a table one level deeper.
        for node in found.iter().filter(|(key, _)| key == ZIP).map(|(_, node)| *node).collect::<Vec<_>>() {
            let Item::Array(groups) = &node.item else { continue };
            for group in groups {
                if let Item::Table(fields) = &group.item {
                    key_path::leaves("", fields, &is_value, &mut found);
                }
            }
        }
    }
    let split = |(key, node): (String, &crate::scenario::read::document::Node)| {
        let (scheme, path) = key.split_once('.')?;
        Some(Named { scheme: scheme.to_owned(), path: path.to_owned(), at: node.at })
    };
    found.into_iter().filter_map(split).collect()
}

fn overridden(origin: &Origin) -> Vec<Diagnostic> {
    let swept = named(origin, "sweep");
    let lost = |set: &Named| {
        let covers = |over: &&Named| {
            let same_path = set.path == over.path
                || set.path.strip_prefix(&over.path).is_some_and(|below| below.starts_with('.'));
            same_path && (over.scheme == "*" || over.scheme == set.scheme)
        };
        let over = swept.iter().find(covers)?;
        let message = format!(
            "\"{}.{}\" below [set] has no effect: \"{}.{}\" overrides it in {}",
            set.scheme,
            set.path,
            over.scheme,
            over.path,
            origin.sweeps()
        );
        Some(fault(&origin.file, set.at, message, Some("it in one of the two places".to_owned().into())))
    };
    named(origin, "set").iter().filter_map(lost).collect()
}

/// Warnings about settings for all schemes that some schemes do not accept.
fn not_for_all(running: &[Scheme], origin: &Origin) -> Vec<Diagnostic> {
    let partly = |set: &Named| {
        let (takers, others): (Vec<&Scheme>, Vec<&Scheme>) =
            running.iter().partition(|scheme| setting::accepts(scheme, &set.path));
        // In values that a figure varies, `*` means every scheme that has the parameter, so that the figures of one
        // paper can share these values.
        let is_varied = origin.is_varied(&format!("*.{}", set.path));
        if set.scheme != "*" || takers.is_empty() || others.is_empty() || is_varied {
            return None;
        }
        let names = |schemes: &[&Scheme]| {
            schemes.iter().map(|scheme| scheme.name.as_str()).collect::<Vec<_>>().join(", ")
        };
        let why = match (setting::OF_QUEUES_THAT_DROP.contains(&set.path.as_str()), others.len()) {
            (true, 1) => "which pauses instead of dropping (fabric.pfc)",
            (true, _) => "which pause instead of dropping (fabric.pfc)",
            (false, 1) => "which has no such parameter",
            (false, _) => "which have no such parameter",
        };
        let message = format!("\"*.{}\" is not for {}, {why}", set.path, names(&others));
        let instead = takers.iter().map(|scheme| format!("\"{}.{}\"", scheme.name, set.path));
        let instead = instead.collect::<Vec<_>>().join(" and ");
        Some(fault(
            &origin.file,
            set.at,
            message,
            Some(format!("{instead}, where that is what is meant").into()),
        ))
    };
    let all = named(origin, "set").into_iter().chain(named(origin, "sweep"));
    all.collect::<Vec<_>>().iter().filter_map(partly).collect()
}

/// Warnings about settings of `fabric.queue` for built-in schemes that need PFC. With such a queue, PFC is off and
/// switches drop packets. A scheme that the scenario itself defines may have such a queue on purpose.
fn pauses_no_more(running: &[Scheme], origin: &Origin) -> Vec<Diagnostic> {
    let all: Vec<Named> = named(origin, "set").into_iter().chain(named(origin, "sweep")).collect();
    let is_own = |name: &str| {
        let Some(Item::Array(schemes)) = origin.section("scheme").map(|node| &node.item) else {
            return false;
        };
        let mut names = schemes.iter().filter_map(|scheme| match &scheme.item {
            Item::Table(fields) => fields.get("name"),
            _ => None,
        });
        names.any(|known| matches!(&known.item, Item::Leaf(toml::Value::String(known)) if known == name))
    };
    let drops = |set: &Named| {
        let scheme = running.iter().find(|scheme| scheme.name == set.scheme && set.path == "fabric.queue")?;
        let is_lossless = builtin::scheme(&scheme.name).is_ok_and(|ours| ours.fabric.pfc.is_some());
        let has_both =
            all.iter().any(|other| other.scheme == set.scheme && other.path.starts_with("fabric.pfc"));
        if !is_lossless || has_both || is_own(&scheme.name) {
            return None;
        }
        let name = &scheme.name;
        // The text on the needs of a lossless scheme begins with a clause about PFC.
        let need = scheme.needs.split(';').next().unwrap_or_default();
        let message =
            format!("\"{name}.fabric.queue\" turns PFC off: switches drop then, and {name} needs {need}");
        let help = format!(
            "\"{name}.fabric.pfc.buffer\" instead of it, unless switches that drop are what is meant"
        );
        Some(fault(&origin.file, set.at, message, Some(help.into())))
    };
    all.iter().filter_map(drops).collect()
}
