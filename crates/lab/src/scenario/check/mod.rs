//! Checks of resolved scenarios on their fabrics, with one file per subject.

mod all_checks;
pub(in crate::scenario) mod built;
pub(in crate::scenario) mod curve_budget;
mod cut_off;
mod denied_paths;
mod domain_jobs;
mod failure_rates;
mod idle_nics;
pub(in crate::scenario) mod idle_nvlink;
pub(in crate::scenario) mod ignored_lines;
mod ignored_pauses;
pub(in crate::scenario) mod losses;
mod measures;
pub(in crate::scenario) mod no_effect;
mod nvlink_rates;
mod one_port;
mod other_meaning;
pub(in crate::scenario) mod packet_numbers;
pub(in crate::scenario) mod pfc;
pub(in crate::scenario) mod queue_checks;
pub(in crate::scenario) mod reach;
mod selector_hints;
pub(in crate::scenario) mod start_times;
pub(in crate::scenario) mod timeout_checks;
pub(in crate::scenario) mod timer_aliasing;
mod unhit_faults;
pub(in crate::scenario) mod unlike_hosts;
pub(in crate::scenario) mod windows;

use self::all_checks::Checks;
use self::pfc::round_up;
use self::selector_hints::{for_whole_cables, names_hosts, of_switches, selector_forms, switches_meant};
use crate::scenario::diagnostic::in_workload_file;
use crate::scenario::expand::resolved::{Scenario, Step};
use crate::scenario::keys;
use crate::scenario::read::table::{self, Table, fault, or_example};
use crate::scenario::resolve::fabric_values;
use anabranch_base::{Bytes, Diagnostic, Duration, Fix, Problem, Refused};
use anabranch_engine::{
    ClassTraffic, FaultKind, FaultSpec, FaultTargets, PfcError, PfcPlan, ProgramPlan, Scheme,
    check_headrooms, weights,
};
use anabranch_fabric::{Selector, SelectorError, Topology, TopologySpec};
use anabranch_proto::{PathFacts, ProgramConfig};
use anabranch_workload::{Fabric, Workload, WorkloadError, WorkloadSpec};
use built::{BuiltFabric, selector_stream};
use std::collections::BTreeSet;

/// The longest permitted RTT. Timeouts are multiples of the RTT, and the clock in picoseconds ends after 213 days.
const LONGEST_RTT: Duration = Duration(3_600 * 1_000_000_000_000);

/// The largest number of kinds of links. The engine can number 65,536, and faults may add some.
const MOST_KINDS: usize = 60_000;

/// The largest number of links of a cycle that an error text names.
const MOST_NAMED: usize = 8;

/// Parameters for which a lossless class needs a minimum value. If such a parameter is swept or searched, the error's
/// hint names the minimum as one of its values.
const AT_LEAST: [&str; 2] = ["fabric.pfc.buffer", "fabric.pfc.headroom"];

/// A part of a workload with at least this number of messages or incasts at one seed is assumed to have some at every
/// seed.
const SURELY_SOME: u32 = 100;

/// The findings about a valid scenario.
#[derive(Clone, Debug)]
pub struct Examined {
    /// Warnings about inputs that are valid but probably not intended.
    pub warnings: Vec<Diagnostic>,
    /// The facts about the longest path in the fabric of each point (one point without a sweep), for the packets of
    /// each scheme.
    pub facts: Vec<Vec<PathFacts>>,
}

impl Scenario {
    /// Builds the fabric and the workload of every point and checks the schemes, the faults, the measures and the
    /// limits against them. Returns warnings about inputs that are valid but probably not intended.
    ///
    /// # Errors
    /// The first part that cannot be built or found, or that does not fit the others, with its place.
    pub fn check(&self) -> Result<Vec<Diagnostic>, Diagnostic> {
        self.examine().map(|examined| examined.warnings)
    }

    /// Checks the scenario like [`Scenario::check`], and also returns the facts about the fabrics.
    ///
    /// # Errors
    /// See [`Scenario::check`].
    pub fn examine(&self) -> Result<Examined, Diagnostic> {
        let mut built: Option<BuiltFabric<'_>> = None;
        let mut laid: Option<(&TopologySpec, &WorkloadSpec, Workload)> = None;
        let mut checks = Checks::default();
        let mut facts_by_point = Vec::new();
        for step in self.steps() {
            let mut ground = match built.take() {
                Some(ground) if ground.spec == step.topology => ground,
                _ => {
                    checks.left_out.look_at_topology(step.topology, &self.files);
                    let sparse = step.topology.clos().and_then(|(kind, spec)| spec.sparse_spines(kind));
                    checks.sparse_spines =
                        checks.sparse_spines.take().or(sparse.map(|Problem { message, fix }| {
                            let fix = fix.map(|fix| self.in_place_of_ratios(fix));
                            fault(&self.origin.file, self.origin.place("topology"), message, fix)
                        }));
                    BuiltFabric::new(step.topology, self.build(step.topology)?)
                }
            };
            let workload = match laid.take() {
                Some((on, spec, workload)) if on == step.topology && spec == step.workload => workload,
                other => {
                    drop(other);
                    checks.left_out.look_at_workload(step.workload, &self.files);
                    self.build_workload(step.workload, &ground.topology)?
                }
            };
            reach::check(&workload, &ground, &self.origin)?;
            facts_by_point.push(step.schemes.iter().map(|scheme| ground.facts(scheme)).collect());
            for scheme in step.schemes {
                self.examine_scheme(
                    scheme,
                    (step.workload, step.faults),
                    &mut ground,
                    &workload,
                    &mut checks,
                )?;
            }
            self.examine_classes(&step, &mut ground, &mut checks)?;
            let ends = self.examine_point(&step, &mut ground, &workload, &mut checks)?;
            self.examine_observers(&ground.topology, &workload, ends)?;
            laid = Some((step.topology, step.workload, workload));
            built = Some(ground);
        }
        Ok(Examined { warnings: checks.warnings(self), facts: facts_by_point })
    }

    /// The fix with the ratios of the topology that its numbers of links replace.
    fn in_place_of_ratios(&self, fix: Fix) -> Fix {
        let text = fix.to_string();
        let table = self.origin.section("topology").map(|node| node.value());
        let is_written = |key: &&str| table.as_ref().is_some_and(|table| table.get(key).is_some());
        let ratios = ["oversubscription", "core_oversubscription"].into_iter().filter(is_written);
        let ratios = ratios.collect::<Vec<_>>().join(" and ");
        match ratios.is_empty() || !text.contains("uplinks = ") {
            true => fix,
            false => Fix::text(format!("{text}, without {ratios}")),
        }
    }

    fn first_seed(&self) -> u64 {
        self.seeds.first().copied().unwrap_or(1)
    }

    fn examine_scheme(
        &self,
        scheme: &Scheme,
        (spec, faults): (&WorkloadSpec, &[FaultSpec]),
        ground: &mut BuiltFabric<'_>,
        workload: &Workload,
        checks: &mut Checks,
    ) -> Result<(), Diagnostic> {
        let facts = ground.facts(scheme);
        if facts.base_rtt > LONGEST_RTT {
            let message = "the longest path's round trip takes more than an hour";
            let help = Fix::text("shorter latencies: 500us are 100 km");
            return Err(fault(&self.origin.file, self.origin.place("topology"), message, Some(help)));
        }
        packet_numbers::check(scheme, &facts, spec, workload, &self.origin)?;
        self.check_circles(scheme, ground, workload)?;
        self.check_lossless(scheme, &ground.topology, &facts)?;
        self.check_program(scheme, ground, &facts, self.first_seed())?;
        self.check_weights(scheme, &ground.topology, &facts)?;
        denied_paths::check(scheme, &ground.topology, &self.origin)?;
        checks.too_short.look(scheme, &self.limits, &facts, workload, || ground.ideal(&scheme.transport));
        checks.idle.look(self, scheme, &ground.topology, &facts);
        checks.short_windows.look(scheme, &facts, workload);
        checks.in_step.look(scheme, faults, &facts);
        checks.ignored_pauses.look(scheme, faults);
        checks.one_port.look(scheme, &ground.topology);
        Ok(())
    }

    fn examine_classes(
        &self,
        step: &Step<'_>,
        ground: &mut BuiltFabric<'_>,
        checks: &mut Checks,
    ) -> Result<(), Diagnostic> {
        let others = || step.classes.iter().filter_map(|class| class.traffic.as_ref());
        if others().next().is_some() && ground.topology.has_several_ports() {
            let message = "classes are for NICs with one port, and those of this topology have several";
            let help = Fix::text("ports = 1 below [topology], or no [[class]]");
            return Err(fault(&self.origin.file, self.origin.place("class.0"), message, Some(help)));
        }
        for ClassTraffic { scheme, workload: spec } in others() {
            let workload = self.build_workload(spec, &ground.topology)?;
            reach::check(&workload, ground, &self.origin)?;
            self.examine_scheme(scheme, (spec, step.faults), ground, &workload, checks)?;
        }
        Ok(())
    }

    /// Returns the earliest possible end of the runs of the point.
    fn examine_point(
        &self,
        step: &Step<'_>,
        ground: &mut BuiltFabric<'_>,
        workload: &Workload,
        checks: &mut Checks,
    ) -> Result<Duration, Diagnostic> {
        let on = (&ground.topology, step.topology);
        let mut targets_of = Vec::with_capacity(step.faults.len());
        for (i, fault) in step.faults.iter().enumerate() {
            let targets = self.find_fault(i, fault, &ground.topology, self.first_seed())?;
            failure_rates::check((i, fault), &targets, &ground.topology, self.limits.max_time, &self.origin)?;
            checks.without.look_at_fault(i, fault, &targets, on);
            targets_of.push((fault, targets));
        }
        let payload = step.schemes.iter().map(|scheme| scheme.transport.framing().payload.0).min();
        checks.rare.look(&targets_of, workload, on, &ground.routing, payload.unwrap_or(u64::MAX));
        checks.unlike.look(step.workload, &ground.topology);
        let has_key = step.topology.clos().is_some();
        checks.idle_nvlink.look(step.workload, workload, &ground.topology, has_key);
        checks.idle_nics.look(step, workload, &ground.topology, self.first_seed());
        checks.nvlink_rates.look(step.topology, step.workload);
        checks.split_jobs.look(step.workload, &ground.topology);
        checks.other_meaning.look(step.topology, (step.workload, workload), &ground.topology);
        checks.without.look_at_workload(step.workload, workload, step.schemes, &self.files);
        let soonest = curve_budget::soonest_end(workload, &ground.topology);
        checks.too_short.look_at_end(soonest);
        let ends = soonest.min(self.limits.max_time);
        checks.cut_off.look(&targets_of, workload, (&ground.topology, &ground.routing), ends, step.schemes);
        let others = || self.other_workloads(step.workload, &ground.topology);
        checks.unhit.look(step, &targets_of, workload, (&ground.topology, &ground.routing), others);
        for (i, (fault, targets)) in targets_of.iter().enumerate() {
            let times = [ends, self.limits.max_time];
            let rare = failure_rates::rare((i, fault), targets, &ground.topology, times, &self.origin);
            rare.map(|warning| checks.rare_failures.entry(i).or_insert(warning));
        }
        if !step.faults.is_empty() {
            let rtt = step.schemes.first().map(|scheme| ground.facts(scheme).base_rtt);
            checks.without.look_at_end(step.workload, step.topology, ends + rtt.unwrap_or_default());
        }
        Ok(ends)
    }

    /// Checks that the links of a lossless scheme do not wait for each other in a cycle, which would be a deadlock.
    fn check_circles(
        &self,
        scheme: &Scheme,
        ground: &mut BuiltFabric<'_>,
        workload: &Workload,
    ) -> Result<(), Diagnostic> {
        if scheme.fabric.pfc.is_none() {
            return Ok(());
        }
        let Some(circle) = ground.circle(workload) else { return Ok(()) };
        let named = circle.iter().take(MOST_NAMED).map(|link| ground.topology.link_name(*link));
        let more = if circle.len() > MOST_NAMED { " and others" } else { "" };
        let message = format!(
            "scheme {:?} is lossless (PFC), and on the routes of this workload links wait for each other in a circle once \
             their buffers are full, which is a deadlock: {}{more}",
            scheme.name,
            named.collect::<Vec<_>>().join(", ")
        );
        let help = format!(
            "schemes without {:?}, such as \"reps\", which may drop packets; or a topology whose routes have no circle, such \
             as kind = \"rails\"",
            scheme.name
        );
        Err(fault(&self.origin.file, self.origin.place("topology"), message, Some(help.into())))
    }

    fn check_lossless(&self, scheme: &Scheme, on: &Topology, facts: &PathFacts) -> Result<(), Diagnostic> {
        let Some(pfc) = &scheme.fabric.pfc else { return Ok(()) };
        let refused = |parameter: &str, blamed: &[&str], problem: String, instead: String| {
            let message = format!("scheme {:?}: {parameter}: {problem}", scheme.name);
            let (at, written) = self.origin.setting(&scheme.name, parameter, blamed);
            // A long link needs a large headroom. That is no reason for larger buffers at all switches.
            let help = match on.has_sites() && parameter == "fabric.pfc.buffer" && !pfc.headroom_apart {
                true => Fix::set(format!("\"{}.fabric.pfc.headroom_apart\"", scheme.name), true),
                false => AT_LEAST
                    .contains(&parameter)
                    .then(|| self.origin.beginning_with(&scheme.name, parameter, &instead))
                    .flatten()
                    .map_or_else(|| Fix::set(written, instead), Fix::from),
            };
            fault(&self.origin.file, at, message, Some(help))
        };
        let checked = check_headrooms(pfc, on, facts, scheme.fabric.clock_ppm)
            .and_then(|()| PfcPlan::new(pfc, on, facts, scheme.fabric.clock_ppm).map(drop));
        checked.map_err(|error| {
            let size = |size| format!("\"{}\"", round_up(size));
            let instead = match (&error, error.needed()) {
                (PfcError::Class { last, .. }, _) => {
                    format!("[{{ switches = \"{last}\", buffer = \"128MB\" }}]")
                }
                (PfcError::Buffer { switch, of_class: true, .. }, Some(needed)) => {
                    let class = switch.split(':').next().unwrap_or_default();
                    format!("[{{ switches = \"{class}\", buffer = {} }}]", size(needed))
                }
                (_, needed) => size(needed.unwrap_or(Bytes(1))),
            };
            refused(error.parameter(), &[], error.to_string(), instead)
        })?;
        match pfc::thresholds(pfc, on, facts) {
            Some(wrong) => Err(refused(wrong.parameter, wrong.blamed, wrong.problem, wrong.instead)),
            None => Ok(()),
        }
    }

    /// The schemes whose headroom is in addition to the buffer, each with the largest headroom of any switch, at the
    /// first point of the sweep. `facts` are those of [`Scenario::examine`].
    ///
    /// # Errors
    /// A fabric that cannot be built.
    pub fn headroom_apart(&self, facts: &[Vec<PathFacts>]) -> Result<Vec<(&str, Bytes)>, Diagnostic> {
        let topology = self.build(&self.topology)?;
        let all = self.schemes.iter().zip(facts.first().into_iter().flatten());
        let apart = all.filter_map(|(scheme, facts)| {
            let pfc = scheme.fabric.pfc.as_ref().filter(|pfc| pfc.headroom_apart)?;
            let plan = PfcPlan::new(pfc, &topology, facts, scheme.fabric.clock_ppm).ok()?;
            Some((scheme.name.as_str(), plan.most_headroom(&topology)))
        });
        Ok(apart.collect())
    }

    fn check_program(
        &self,
        scheme: &Scheme,
        on: &BuiltFabric<'_>,
        facts: &PathFacts,
        seed: u64,
    ) -> Result<(), Diagnostic> {
        if scheme.fabric.program.is_none() {
            return Ok(());
        }
        ProgramPlan::new(scheme, &on.topology, &on.routing, facts, seed).map(drop).map_err(|error| {
            let (parameter, mut instead) = error.remedy();
            let of_edges = scheme.fabric.program.as_ref().is_some_and(ProgramConfig::is_between_sites);
            if parameter == "fabric.program_at" && of_edges && on.topology.has_sites() {
                instead = Some("\"esw:100%\"".to_owned());
            }
            let (at, written) = self.origin.setting(&scheme.name, parameter, &[]);
            let message = format!("scheme {:?}: {parameter}: {}", scheme.name, error.problem());
            if parameter == "fabric.program_at" && of_edges && !on.topology.has_sites() {
                let message = format!("{message}; its program belongs between data centres");
                let help =
                    format!("kind = \"cross-dc\" below [topology], or schemes without {:?}", scheme.name);
                return fault(&self.origin.file, at, message, Some(help.into()));
            }
            let help = instead.map_or_else(
                || Fix::text("numbers of hosts and uplinks that are powers of two"),
                |instead| Fix::set(written, instead),
            );
            fault(&self.origin.file, at, message, Some(help))
        })
    }

    fn check_weights(&self, scheme: &Scheme, on: &Topology, facts: &PathFacts) -> Result<(), Diagnostic> {
        if scheme.fabric.wrr.is_none() {
            return Ok(());
        }
        let header = scheme.transport.trimmed_bytes();
        weights(&scheme.fabric, on, facts, header).map(drop).map_err(|error| {
            let message = format!("scheme {:?}: fabric.wrr: {error}", scheme.name);
            let (at, written) = self.origin.setting(&scheme.name, "fabric.wrr", &["fabric.wrr.radix"]);
            let help = format!("{written} = {}, or a weight by hand: {{ weight = 2.0 }}", error.instead());
            fault(&self.origin.file, at, message, Some(help.into()))
        })
    }

    fn build(&self, spec: &TopologySpec) -> Result<Topology, Diagnostic> {
        let text = match spec {
            TopologySpec::Graph { file, .. } => self.files.get(file).map(String::as_str),
            _ => None,
        };
        let origin = &self.origin;
        let built = anabranch_fabric::build(spec, text).map_err(|e| match &origin.section("topology") {
            Some(node) => match Table::open(&origin.file, "[topology]", node) {
                Ok(table) => fabric_values::refused(&table, e),
                Err(error) => error,
            },
            None => fault(&origin.file, None, e.to_string(), None),
        })?;
        self.check_kinds(&built)?;
        match built.unreachable_host() {
            None => Ok(built),
            Some(host) => {
                let message = format!("host {host} cannot be reached from host 0");
                Err(fault(&origin.file, origin.place("topology"), message, None))
            }
        }
    }

    fn check_kinds(&self, built: &Topology) -> Result<(), Diagnostic> {
        let switch_latency = |node| built.switch(node).map_or(Duration::ZERO, |switch| switch.latency);
        let kinds: BTreeSet<(u64, Duration, Duration)> =
            built.ports.iter().map(|port| (port.rate.0, port.latency, switch_latency(port.peer))).collect();
        if kinds.len() <= MOST_KINDS {
            return Ok(());
        }
        let problem =
            format!("its links have {} different rates and latencies; the most is {MOST_KINDS}", kinds.len());
        let help = Some("rates and latencies that more of the links share".to_owned());
        Err(fault(&self.origin.file, self.origin.place("topology"), problem, help.map(Fix::from)))
    }

    /// Builds the workload of the first seed, and those of the other seeds if they may be empty, which is an error.
    fn build_workload(&self, spec: &WorkloadSpec, on: &Topology) -> Result<Workload, Diagnostic> {
        let text = |name: &str| self.files.get(name).map(String::as_str);
        let fabric = Fabric::of(on);
        let build = |seed| {
            anabranch_workload::build(spec, &fabric, seed, &text).map_err(|e| self.workload_refused(e))
        };
        let (first, others) = self.seeds.split_first().map_or((1, &[][..]), |(first, rest)| (*first, rest));
        let workload = build(first)?;
        start_times::check(spec, &workload, &self.origin)?;
        if may_be_empty(spec, &workload) {
            others.iter().try_for_each(|&seed| build(seed).map(drop))?;
        }
        Ok(workload)
    }

    /// The workloads of all seeds but the first one, with their seeds.
    fn other_workloads(&self, spec: &WorkloadSpec, on: &Topology) -> Vec<(u64, Workload)> {
        let fabric = Fabric::of(on);
        let text = |name: &str| self.files.get(name).map(String::as_str);
        let build = |seed: &u64| Some((*seed, anabranch_workload::build(spec, &fabric, *seed, &text).ok()?));
        self.seeds.iter().skip(1).filter_map(build).collect()
    }

    fn find_fault(
        &self,
        i: usize,
        fault: &FaultSpec,
        on: &Topology,
        seed: u64,
    ) -> Result<FaultTargets, Diagnostic> {
        let key = fault.kind.key();
        fault.targets(i, on, seed).map_err(|e| {
            let selector = e.selector.clone();
            let names_links = || {
                Selector::parse(&selector).is_ok_and(|of| of.links(on, &mut selector_stream(seed)).is_ok())
            };
            if key == "switches" && names_links() {
                let message = format!(
                    "{selector:?}: this names links, which a fault of kind \"switch-down\" does not take"
                );
                let help = format!("kind = \"link-down\" with links = {selector:?} instead of switches");
                return table::fault(
                    &self.origin.file,
                    self.origin.place(&format!("fault.{i}.{key}")),
                    message,
                    Some(help.into()),
                );
            }
            let switches = matches!(fault.kind, FaultKind::LinkDown { .. }).then(|| switches_meant(&e, on));
            let error = for_whole_cables(self.not_found(&format!("fault.{i}.{key}"), e, on), &selector);
            // If there are several names, only the wrong one is replaced.
            let names = &fault.kind.names().0.0;
            let near = match &error.fix {
                Some(Fix::Set { key: set, value }) if set == key && names.contains(&selector) => {
                    value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).map(str::to_owned)
                }
                _ => None,
            };
            match near.filter(|_| names.len() > 1) {
                Some(near) => {
                    let all: Vec<&str> = names
                        .iter()
                        .map(|name| if *name == selector { near.as_str() } else { name.as_str() })
                        .collect();
                    error.with_fix(Fix::set(key, format!("{all:?}")))
                }
                None => of_switches(error, switches.flatten().as_deref()),
            }
        })
    }

    fn not_found(&self, path: &str, error: SelectorError, on: &Topology) -> Diagnostic {
        let key = path.rsplit('.').next().unwrap_or_default();
        let Problem { message, fix } = error.problem;
        let help = fix.map(|fix| fix.of_key(key));
        let of_sites = match key {
            "links" if on.has_sites() => Some(Fix::set("links", "\"esw-uplinks\"")),
            "switches" if on.has_sites() => Some(Fix::set("switches", "\"esw:0\"")),
            _ => None,
        };
        let of_links = ["links", "hosts"].contains(&key);
        let suits = |name: &String| key != "hosts" || names_hosts(name, on);
        let meant = Selector::suggest(&error.selector, on, of_links).filter(|_| key != "qps").filter(suits);
        let help = help.or(meant.map(|meant| Fix::set(key, format!("{meant:?}")))).or(of_sites);
        let table = format!("[[{}]]", path.split('.').next().unwrap_or_default());
        let example = || keys::known_example_in(&table, key).map(|example| Fix::set(key, example));
        let help = help.or_else(|| selector_forms(on, key)).or_else(example);
        fault(&self.origin.file, self.origin.place(path), format!("{:?}: {message}", error.selector), help)
    }

    fn workload_refused(&self, error: WorkloadError) -> Diagnostic {
        match in_workload_file(error) {
            Ok(in_file) => in_file,
            Err(WorkloadError::Key { key, what: Problem { message, fix } }) => {
                let help = fix.map(|fix| fix.of_key(key));
                let at = self.origin.place(&format!("workload.{key}"));
                fault(&self.origin.file, at, format!("{key}: {message}"), or_example(help, key))
            }
            Err(WorkloadError::Job { job, key, what }) => {
                let Problem { message, fix } = what;
                let at = self.origin.place(&format!("workload.job.{job}.{key}"));
                if key == "file" {
                    // The fix is about the contents of the file, not about the file's name.
                    return fault(&self.origin.file, at, message, fix);
                }
                let help = fix.map(|fix| fix.of_key(key));
                fault(&self.origin.file, at, format!("{key}: {message}"), or_example(help, key))
            }
            Err(WorkloadError::Parameter(refused)) => self.refused("workload", refused),
            Err(other) => fault(&self.origin.file, self.origin.place("workload"), other.to_string(), None),
        }
    }

    /// The error of a user-defined component about a parameter in the table at `path`.
    fn refused(&self, path: &str, Refused { parameter, problem }: Refused) -> Diagnostic {
        let Problem { message, fix } = problem;
        let help = fix.map(|fix| fix.of_key(&parameter));
        let at = self.origin.place(&format!("{path}.{parameter}"));
        fault(&self.origin.file, at, format!("{parameter}: {message}"), help)
    }
}

/// Whether a part of the workload may have no message with another seed, which would be an error.
fn may_be_empty(spec: &WorkloadSpec, workload: &Workload) -> bool {
    let WorkloadSpec::Poisson { incast, .. } = spec else { return false };
    let degree = incast.as_ref().map_or(1, |incast| incast.degree);
    let few = |name: &str, messages: u32| match name {
        "incast" => messages / degree.max(1) < SURELY_SOME,
        _ => messages < SURELY_SOME,
    };
    match workload.groups.is_empty() {
        true => few("", workload.messages.len() as u32),
        false => workload.groups.iter().any(|group| few(group.name, group.messages.len() as u32)),
    }
}
