//! A complete resolved scenario, and the runs that it consists of.

use crate::scenario::read::source_map::{Origin, SearchRange};
use crate::scenario::read::table::fault;
use crate::scenario::resolve::simai_conf;
use anabranch_base::{Diagnostic, Fix};
use anabranch_engine::{ClassSpec, FaultSpec, Limits, MeasureSpec, ObserverSpec, RunPoint, Scheme};
use anabranch_fabric::TopologySpec;
use anabranch_results::Value;
use anabranch_workload::WorkloadSpec;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

const MOST_RUNS: usize = 100_000;

/// A scenario in which every default is explicit.
///
/// Scenarios with equal contents are equal, even if they were read from different places. With a sweep, `schemes`,
/// `topology`, `workload`, `classes` and `faults` are the values at its first point.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// The title, one line.
    pub title: String,
    /// The name of the schemes' setup. In a sweep over setups, the names of all setups, separated by commas.
    pub setup: String,
    /// The schemes that are compared.
    pub schemes: Vec<Scheme>,
    /// The seeds. Every scheme has a run for each seed at each point of the sweep.
    pub seeds: Vec<u64>,
    /// The specification of the fabric.
    pub topology: TopologySpec,
    /// The traffic between the hosts.
    pub workload: WorkloadSpec,
    /// The traffic classes. The first one is the class of the compared schemes and the workload. Empty if the scenario
    /// has no `[[class]]`.
    pub classes: Vec<ClassSpec>,
    /// The faults of links, switches and hosts.
    pub faults: Vec<FaultSpec>,
    /// The curves that are recorded.
    pub measures: Vec<MeasureSpec>,
    /// The user-defined observers.
    pub observers: Vec<ObserverSpec>,
    /// The swept parameters with their values.
    pub sweep: BTreeMap<String, Vec<toml::Value>>,
    /// The limits at which each run ends.
    pub limits: Limits,
    /// The contents of every file that the resolved form names. The keys are the names of the files in that form.
    pub files: BTreeMap<String, String>,
    /// The points of the sweep, each with its differences from the fields above; empty without a sweep.
    pub(in crate::scenario) variants: Vec<Variant>,
    pub(in crate::scenario) origin: Origin,
}

pub(in crate::scenario) struct Point {
    pub sweep: BTreeMap<String, Value>,
    pub setup: String,
    pub schemes: Vec<Scheme>,
    pub topology: TopologySpec,
    pub workload: WorkloadSpec,
    pub classes: Vec<ClassSpec>,
    pub faults: Vec<FaultSpec>,
}

impl Point {
    fn files(&self) -> impl Iterator<Item = &str> {
        let graph = match &self.topology {
            TopologySpec::Graph { file, .. } => Some(file.as_str()),
            _ => None,
        };
        let setup = simai_conf::files(&self.setup);
        let others = self.classes.iter().filter_map(|class| Some(&class.traffic.as_ref()?.workload));
        let workloads = std::iter::once(&self.workload).chain(others);
        graph.into_iter().chain(setup).chain(workloads.flat_map(anabranch_workload::files_needed))
    }
}

/// A point of a sweep, as its differences from the first point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(in crate::scenario) struct Variant {
    pub sweep: BTreeMap<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topology: Option<TopologySpec>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload: Option<WorkloadSpec>,
    #[serde(rename = "class", skip_serializing_if = "Option::is_none")]
    pub classes: Option<Vec<ClassSpec>>,
    #[serde(rename = "fault", skip_serializing_if = "Option::is_none")]
    pub faults: Option<Vec<FaultSpec>>,
    #[serde(rename = "scheme", skip_serializing_if = "Option::is_none")]
    pub schemes: Option<Vec<Scheme>>,
}

/// The resolved form. The order of the fields does not matter, because the form is written with its keys sorted.
#[derive(Serialize)]
struct Written<'a> {
    title: &'a str,
    seeds: &'a [u64],
    sweep: &'a BTreeMap<String, Vec<toml::Value>>,
    limits: &'a Limits,
    setup: WrittenSetup<'a>,
    topology: &'a TopologySpec,
    workload: &'a WorkloadSpec,
    class: &'a [ClassSpec],
    fault: &'a [FaultSpec],
    measure: &'a [MeasureSpec],
    observer: &'a [ObserverSpec],
    scheme: &'a [Scheme],
    point: &'a [Variant],
}

/// The setup in the resolved form. Its values are not written, because the schemes contain them all.
#[derive(Serialize)]
struct WrittenSetup<'a> {
    name: &'a str,
    resolved: bool,
    /// A sentence for readers. It is ignored when the scenario is read.
    #[serde(skip_serializing_if = "Option::is_none")]
    differs: Option<String>,
}

impl Scenario {
    /// `points` must not be empty.
    #[expect(clippy::too_many_arguments, reason = "one for each part of a scenario, from one caller")]
    pub(in crate::scenario) fn new(
        title: String,
        seeds: Vec<u64>,
        measures: Vec<MeasureSpec>,
        observers: Vec<ObserverSpec>,
        sweep: BTreeMap<String, Vec<toml::Value>>,
        limits: Limits,
        points: Vec<Point>,
        files: BTreeMap<String, String>,
        origin: Origin,
    ) -> Scenario {
        let named: BTreeSet<&str> = points.iter().flat_map(Point::files).collect();
        // A `.topo` file is no longer needed, because its tiers are written out in the resolved form.
        let files = files.into_iter().filter(|(name, _)| named.contains(name.as_str())).collect();
        let swept = points.iter().any(|point| !point.sweep.is_empty());
        let mut setups: Vec<&str> = Vec::new();
        for point in &points {
            if !setups.contains(&point.setup.as_str()) {
                setups.push(&point.setup);
            }
        }
        let setup = setups.join(simai_conf::BETWEEN);
        let mut points = points.into_iter();
        let first = points.next().expect("a scenario has a point");
        let variants = std::iter::once(Variant::of_first(&first))
            .chain(points.map(|point| Variant::of(point, &first)))
            .filter(|_| swept)
            .collect();
        Scenario {
            title,
            setup,
            schemes: first.schemes,
            seeds,
            topology: first.topology,
            workload: first.workload,
            classes: first.classes,
            faults: first.faults,
            measures,
            observers,
            sweep,
            limits,
            files,
            variants,
            origin,
        }
    }

    /// This scenario, with `paths` marked as parameters that the figure varies.
    pub(in crate::scenario) fn varying(self, paths: Vec<String>) -> Scenario {
        Scenario { origin: self.origin.varying(paths), ..self }
    }

    /// This scenario, with the sweep marked as the range of a `[find]`.
    pub(in crate::scenario) fn asking(self, asked: SearchRange) -> Scenario {
        Scenario { origin: self.origin.asking(asked), ..self }
    }

    /// The resolved form. Reading it gives an equal scenario.
    pub fn to_toml(&self) -> String {
        self.to_toml_saying(None)
    }

    /// The resolved form with the sentence about the differences between the schemes' setups.
    pub(in crate::scenario) fn to_toml_saying(&self, differs: Option<String>) -> String {
        let written = Written {
            title: &self.title,
            seeds: &self.seeds,
            sweep: &self.sweep,
            limits: &self.limits,
            setup: WrittenSetup { name: &self.setup, resolved: true, differs },
            topology: &self.topology,
            workload: &self.workload,
            class: &self.classes,
            fault: &self.faults,
            measure: &self.measures,
            observer: &self.observers,
            scheme: &self.schemes,
            point: &self.variants,
        };
        // Empty lists and tables are removed. An empty list of tables would be written as `fault = []`.
        let mut document = toml::Table::try_from(&written).expect("a scenario is made of what TOML can say");
        document.retain(|_, value| match value {
            toml::Value::Array(values) => !values.is_empty(),
            toml::Value::Table(table) => !table.is_empty(),
            _ => true,
        });
        toml::to_string(&document).expect("a scenario is made of what TOML can say")
    }

    /// [`Scenario::to_toml`] and the contents of the files, which together determine the results.
    pub fn canonical(&self) -> String {
        let mut text = self.to_toml();
        for (name, content) in &self.files {
            let _ = writeln!(text, "# file {name:?}, {} bytes\n{content}", content.len());
        }
        text
    }

    /// The runs: schemes x points of the sweep x seeds. The seed changes fastest.
    ///
    /// # Errors
    /// The scenario has more runs than are permitted.
    pub fn points(&self) -> Result<Vec<RunPoint>, Diagnostic> {
        let steps = self.steps();
        let runs = self.runs();
        if runs > MOST_RUNS {
            let message = format!("the scenario has {runs} runs; the most is {MOST_RUNS}");
            let help = Some("fewer seeds, or a smaller sweep".to_owned());
            return Err(fault(&self.origin.file, self.origin.place("seeds"), message, help.map(Fix::from)));
        }
        let files = Arc::new(self.files.clone());
        let mut points = Vec::with_capacity(runs);
        for scheme in 0..self.schemes.len() {
            for step in &steps {
                for &seed in &self.seeds {
                    points.push(RunPoint {
                        scheme: step.schemes[scheme].clone(),
                        seed,
                        sweep: step.sweep.clone(),
                        topology: step.topology.clone(),
                        workload: step.workload.clone(),
                        classes: step.classes.to_vec(),
                        faults: step.faults.to_vec(),
                        measures: self.measures.clone(),
                        observers: self.observers.clone(),
                        limits: self.limits.clone(),
                        most_points: share_of_points(runs),
                        files: files.clone(),
                    });
                }
            }
        }
        Ok(points)
    }

    pub(in crate::scenario) fn runs(&self) -> usize {
        let steps = self.variants.len().max(1);
        self.schemes.len().saturating_mul(steps).saturating_mul(self.seeds.len())
    }

    /// The schemes for which the sweep changes nothing: their own parameters and the rest of the scenario are equal at
    /// all points. Empty if this is true of all schemes.
    pub fn unaffected_schemes(&self) -> Vec<&str> {
        let steps = self.steps();
        let first = &steps[0];
        let all_the_same = |step: &Step<'_>| {
            step.topology == first.topology
                && step.workload == first.workload
                && step.classes == first.classes
                && step.faults == first.faults
        };
        let is_untouched =
            |place: &usize| steps.iter().all(|step| step.schemes[*place] == first.schemes[*place]);
        let found: Vec<usize> = match steps.iter().all(all_the_same) {
            true => (0..self.schemes.len()).filter(is_untouched).collect(),
            false => Vec::new(),
        };
        let some = found.iter().filter(|_| found.len() < self.schemes.len());
        some.map(|place| self.schemes[*place].name.as_str()).collect()
    }

    pub(in crate::scenario) fn schemes_by_point(&self) -> Vec<(BTreeMap<String, Value>, &[Scheme])> {
        self.steps().into_iter().map(|step| (step.sweep, step.schemes)).collect()
    }

    /// The points of the sweep with all their fields; a single point without a sweep.
    pub(in crate::scenario) fn steps(&self) -> Vec<Step<'_>> {
        let base = Step {
            sweep: BTreeMap::new(),
            schemes: &self.schemes,
            topology: &self.topology,
            workload: &self.workload,
            classes: &self.classes,
            faults: &self.faults,
        };
        if self.variants.is_empty() {
            return vec![base];
        }
        self.variants
            .iter()
            .map(|variant| Step {
                sweep: variant.sweep.clone(),
                schemes: variant.schemes.as_deref().unwrap_or(base.schemes),
                topology: variant.topology.as_ref().unwrap_or(base.topology),
                workload: variant.workload.as_ref().unwrap_or(base.workload),
                classes: variant.classes.as_deref().unwrap_or(base.classes),
                faults: variant.faults.as_deref().unwrap_or(base.faults),
            })
            .collect()
    }
}

pub(in crate::scenario) struct Step<'a> {
    pub sweep: BTreeMap<String, Value>,
    pub schemes: &'a [Scheme],
    pub topology: &'a TopologySpec,
    pub workload: &'a WorkloadSpec,
    pub classes: &'a [ClassSpec],
    pub faults: &'a [FaultSpec],
}

/// The largest number of points in the curves of all runs together. So many points take some gigabytes on disk.
pub(in crate::scenario) const MOST_POINTS: u64 = 50_000_000;
/// The largest number of points in the curves of one run. So many points take about three gigabytes of memory.
pub(in crate::scenario) const MOST_POINTS_A_RUN: u64 = 20_000_000;

/// The number of points that each of `runs` runs may have. All runs have the same share, so that the end of a run does
/// not depend on the points of other runs.
pub(in crate::scenario) fn share_of_points(runs: usize) -> u64 {
    (MOST_POINTS / runs.max(1) as u64).min(MOST_POINTS_A_RUN)
}

impl Variant {
    fn of_first(first: &Point) -> Variant {
        let sweep = first.sweep.clone();
        Variant { sweep, topology: None, workload: None, classes: None, faults: None, schemes: None }
    }

    fn of(point: Point, first: &Point) -> Variant {
        Variant {
            sweep: point.sweep,
            topology: (point.topology != first.topology).then_some(point.topology),
            workload: (point.workload != first.workload).then_some(point.workload),
            classes: (point.classes != first.classes).then_some(point.classes),
            faults: (point.faults != first.faults).then_some(point.faults),
            schemes: (point.schemes != first.schemes).then_some(point.schemes),
        }
    }
}
