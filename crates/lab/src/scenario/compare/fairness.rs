//! The comparison of the setups (the ground) on which the schemes of a scenario run: the parameters in which they
//! differ, and whether the schemes need these differences.

use crate::scenario::check::queue_checks::reacts_to_ecn;
use crate::scenario::expand::resolved::Scenario;
use crate::scenario::read::document::Item;
use crate::scenario::resolve::scheme::window::{Window, in_flight};
use crate::scenario::resolve::setup::{GROUND, Setup};
use anabranch_base::Bytes;
use anabranch_engine::{FabricSpec, Scheme};
use anabranch_proto::{Pace, PathFacts, Span, Threshold};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The setups (the ground) of the schemes in a scenario, as far as they differ between the schemes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ground {
    /// The scenario's setup.
    pub setup: String,
    /// The schemes, in the order of the scenario.
    pub schemes: Vec<String>,
    /// For each scheme, its requirements on any setup, in words, such as PFC or a window of one BDP; empty if it has
    /// none.
    pub needs: Vec<String>,
    /// The parameters in which the schemes differ.
    pub differences: Vec<GroundDifference>,
    /// A text about the parameters that differ although no scheme needs the difference; none if there are no such
    /// parameters.
    #[serde(rename = "not_the_same")]
    pub mismatch: Option<String>,
}

/// A parameter of the setup in which schemes differ.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroundDifference {
    /// The parameter as it is named in `[set]`: `transport.payload`.
    pub parameter: String,
    /// The value of each scheme on the fabric, in plain units; none for a scheme that does not have the parameter or
    /// ignores it. For a parameter of PFC that a scheme with PFC leaves out, the value is `no`.
    pub values: Vec<Option<String>>,
    /// For each scheme, whether the value follows from the scheme's needs.
    pub needed: Vec<bool>,
    /// For each scheme, whether two conditions hold: the scheme needs the value, and the setup's value of the parameter
    /// depends on whether switches pause, trim or drop.
    pub given: Vec<bool>,
    /// For each scheme, whether it ignores the parameter, such as an ECN threshold if nothing reacts to ECN.
    pub unused: Vec<bool>,
    /// Whether the values of two schemes differ although neither scheme needs its value. Always false for the buffer.
    pub unexplained: bool,
}

/// A parameter of a scheme that changes with a swept parameter.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DerivedChange {
    /// The name of the scheme.
    pub scheme: String,
    /// The parameter as it is named in `[set]`: `fabric.ecn_kmin`.
    pub parameter: String,
    /// The value on the fabric at the first point of the sweep, in plain units.
    pub from: String,
    /// The value at the last point.
    pub to: String,
}

/// The row for the action of overloaded switches.
const OVERLOAD: &str = "overload action";
/// The row for the memory of a switch that data may use. The memory follows from [`OVERLOAD`] and from the parameters
/// of queues and buffers. A difference in this row therefore never counts as unexplained.
const BUFFER: &str = "buffer";
/// The rows for the initial and the maximum window of a queue pair. Each is the smaller of the windows of the
/// congestion control and of the transport, whatever the parameters are called.
const IN_FLIGHT: [&str; 2] = ["initial window", "maximum window"];
/// The time after which switches route around a fault. It is compared too, although no setup sets it.
const ROUTING: &str = "fabric.routing_delay";
/// The relative difference up to which two values with one rule count as equal. For example, longer headers make a BDP
/// a little larger.
const LITTLE: f64 = 0.05;
/// The largest number of parameters that the sentence names. The matrix has all of them.
const MOST_NAMED: usize = 4;

impl Scenario {
    /// The comparison of the schemes' setups. The differences are those at the first point of the sweep. The text of
    /// [`mismatch`](Ground::mismatch) also names each point at which further parameters differ for the first time.
    /// `facts` are the facts that [`Scenario::examine`] returns.
    pub fn ground(&self, facts: &[Vec<PathFacts>]) -> Ground {
        let points = self.schemes_by_point();
        let mut grounds = points.iter().zip(facts).map(|((sweep, schemes), facts)| {
            let setup = sweep.get("setup").map_or(self.setup.clone(), ToString::to_string);
            (sweep, Ground::of(&setup, &self.base(&setup), schemes, facts))
        });
        let Some((_, mut ground)) = grounds.next() else {
            return Ground::of(&self.setup, &self.base(&self.setup), &self.schemes, &[]);
        };
        let mut named: BTreeSet<String> = ground.unexplained().map(str::to_owned).collect();
        let mut sentences: Vec<String> = ground.mismatch.take().into_iter().collect();
        for (sweep, other) in grounds {
            if other.unexplained().all(|parameter| named.contains(parameter)) {
                continue;
            }
            named.extend(other.unexplained().map(str::to_owned));
            let at: Vec<String> = sweep.iter().map(|(name, value)| format!("{name} = {value}")).collect();
            let sentence = other.mismatch.as_deref().unwrap_or_default();
            sentences.push(format!("At {}: {sentence}", at.join(", ")));
        }
        ground.mismatch = (!sentences.is_empty()).then(|| sentences.join(" "));
        ground.setup.clone_from(&self.setup);
        ground
    }

    /// The built-in setup from which `setup` derives. A resolved scenario does not contain the base of a user-defined
    /// setup. In that case, the result is `common`, from which all setups derive.
    fn base(&self, setup: &str) -> Setup {
        let named = |name: &str| Setup::named(name.split(',').next().unwrap_or_default());
        let written = || match &self.origin.section("setup")?.item {
            Item::Table(fields) => named(fields.get("base")?.value().as_str()?),
            _ => None,
        };
        named(setup).or_else(written).unwrap_or_else(Setup::common)
    }

    /// The parameters of schemes that differ between the first and the last point of the sweep without being swept
    /// themselves, because they depend on a swept parameter. `facts` are the facts that [`Scenario::examine`] returns.
    pub fn moved(&self, facts: &[Vec<PathFacts>]) -> Vec<DerivedChange> {
        let values = |(schemes, facts): (&[Scheme], &Vec<PathFacts>)| -> Vec<(String, Values)> {
            let each = schemes.iter().zip(facts);
            each.map(|(scheme, facts)| (scheme.name.clone(), Values::of(scheme, facts))).collect()
        };
        let points = self.schemes_by_point();
        let ends = [points.first().zip(facts.first()), points.last().zip(facts.last())];
        let [Some(((_, first), of_first)), Some(((_, last), of_last))] = ends else { return Vec::new() };
        let (first, last) = (values((*first, of_first)), values((*last, of_last)));
        let mut moved = Vec::new();
        for (scheme, before) in first {
            let Some((_, after)) = last.iter().find(|(name, _)| *name == scheme) else { continue };
            let is_swept = |path: &str| {
                let names = [format!("*.{path}"), format!("{scheme}.{path}")];
                names.iter().any(|name| self.sweep.contains_key(name))
            };
            let found = before.by_path.iter().filter_map(|(path, from)| {
                let to = after.by_path.get(path).filter(|to| !to.is(from) && to.shown != from.shown)?;
                let (from, to) = (from.shown.clone(), to.shown.clone());
                let parameter = path.clone();
                // Rows that represent several parameters have names without a dot.
                (path.contains('.') && !is_swept(path)).then(|| DerivedChange {
                    scheme: scheme.clone(),
                    parameter,
                    from,
                    to,
                })
            });
            moved.extend(found);
        }
        moved
    }
}

impl Ground {
    fn of(setup: &str, base: &Setup, schemes: &[Scheme], facts: &[PathFacts]) -> Ground {
        let values: Vec<Values> =
            schemes.iter().zip(facts).map(|(scheme, facts)| Values::of(scheme, facts)).collect();
        // Windows are compared in the rows of [`IN_FLIGHT`], whatever their parameters are called.
        let ground = GROUND.iter().map(String::as_str);
        let ground =
            ground.filter(|parameter| !(parameter.starts_with("cc.") && parameter.ends_with("window")));
        let parameters = [OVERLOAD, BUFFER, ROUTING].into_iter().chain(IN_FLIGHT).chain(ground);
        let of_layers = base.of_layers();
        let differences: Vec<GroundDifference> =
            parameters.filter_map(|parameter| difference(parameter, &values, &of_layers)).collect();
        let schemes: Vec<String> = schemes.iter().map(|scheme| scheme.name.clone()).collect();
        let mismatch = sentence(&schemes, &differences);
        Ground {
            setup: setup.to_owned(),
            schemes,
            needs: values.into_iter().map(|of| of.needs).collect(),
            differences,
            mismatch,
        }
    }

    fn unexplained(&self) -> impl Iterator<Item = &str> {
        let unexplained = self.differences.iter().filter(|difference| difference.unexplained);
        unexplained.map(|difference| difference.parameter.as_str())
    }

    /// The differences as a table, with a row for each parameter and a column for each scheme. A star marks a value
    /// that a scheme needs. A plus marks a needed value of a parameter whose value in the setup depends on whether
    /// switches pause, trim or drop.
    pub fn matrix(&self) -> String {
        let cell = |difference: &GroundDifference, place: usize| match &difference.values[place] {
            Some(value) if difference.given[place] => format!("{value} +"),
            Some(value) if difference.needed[place] => format!("{value} *"),
            Some(value) => value.clone(),
            None if difference.unused[place] => "unused".to_owned(),
            None => "-".to_owned(),
        };
        let head = std::iter::once(String::new()).chain(self.schemes.iter().cloned()).collect();
        let rows = self.differences.iter().map(|difference| {
            let cells = (0..self.schemes.len()).map(|place| cell(difference, place));
            std::iter::once(difference.parameter.clone()).chain(cells).collect()
        });
        let rows: Vec<Vec<String>> = std::iter::once(head).chain(rows).collect();
        let width = |column: usize| {
            rows.iter().map(|row: &Vec<String>| row[column].chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..=self.schemes.len()).map(width).collect();
        let line = |row: &Vec<String>| {
            let cells: Vec<String> =
                row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
            format!("{}\n", cells.join("  ").trim_end())
        };
        rows.iter().map(line).collect()
    }
}

#[derive(Clone, Debug, PartialEq)]
struct Known {
    /// The value for display, in plain units.
    shown: String,
    /// The value as the scenario writes it. It may be a rule that depends on the fabric, such as `1bdp`.
    written: String,
    /// For a quantity, its value on the fabric in bytes, picoseconds or bits per second.
    amount: Option<u64>,
}

impl Known {
    fn plain(text: &str) -> Known {
        Known { shown: text.to_owned(), written: text.to_owned(), amount: None }
    }

    fn is(&self, other: &Known) -> bool {
        match (self.amount, other.amount) {
            (Some(amount), Some(its)) => amount == its,
            _ => self.written == other.written,
        }
    }

    /// Whether this value and `other` may be shown as one value. This is so if they are equal, or if they have the
    /// same rule and the same displayed digits. For example, another packet length may change a BDP too little to be
    /// visible in three digits.
    fn looks_like(&self, other: &Known) -> bool {
        self.is(other) || (self.written == other.written && self.shown == other.shown)
    }

    /// Whether this value and `other` count as equal in the comparison: they have the same displayed value, or the
    /// same rule and a difference of at most [`LITTLE`].
    fn stands_with(&self, other: &Known) -> bool {
        let little = || {
            let (Some(amount), Some(its)) = (self.amount, other.amount) else { return false };
            (amount.abs_diff(its) as f64) <= LITTLE * amount.min(its) as f64
        };
        self.is(other) || self.shown == other.shown || (self.written == other.written && little())
    }
}

struct Values {
    by_path: BTreeMap<String, Known>,
    own: Vec<String>,
    needs: String,
    cc: String,
    pauses: bool,
    reacts_to_ecn: bool,
    /// For each window of [`IN_FLIGHT`], whether the scheme's needs explain it.
    window_needed: [bool; 2],
}

impl Values {
    fn of(scheme: &Scheme, facts: &PathFacts) -> Values {
        let whole = toml::Table::try_from(scheme).expect("a scheme is made of what TOML can say");
        let cc = whole["cc"].get("kind").and_then(toml::Value::as_str).unwrap_or_default().to_owned();
        let mut by_path = BTreeMap::new();
        for part in ["transport", "cc", "fabric"] {
            let facts = if part == "fabric" { facts.of_port() } else { *facts };
            flatten(part, &whole[part], &mut |path, text| {
                by_path.insert(path, known(&text, &facts));
            });
        }
        let pauses = scheme.fabric.pfc.is_some();
        let overload = match (pauses, scheme.fabric.trim) {
            (true, _) => "PFC",
            (_, true) => "trim",
            _ => "drop",
        };
        by_path.insert(OVERLOAD.to_owned(), Known::plain(overload));
        by_path.insert(BUFFER.to_owned(), Known::plain(&buffer(&scheme.fabric, facts)));
        // Parameters that the scheme leaves out have these defaults.
        let mut unless_said = |path: &str, is: &str| {
            by_path.entry(path.to_owned()).or_insert_with(|| Known::plain(is));
        };
        unless_said("fabric.ecn_from", "[]");
        unless_said("fabric.acks_with_data", "false");
        unless_said("fabric.arrival_order", "port");
        unless_said("fabric.clock_ppm", "0");
        for time in ["nic_jitter", "timer_tick", "timer_jitter"] {
            unless_said(&format!("fabric.{time}"), "0us");
        }
        if !pauses {
            unless_said("fabric.shared_buffer", "0B");
            unless_said("fabric.full_queue", "arriving");
        }
        by_path.entry(ROUTING.to_owned()).or_insert_with(|| Known::plain("never"));
        let windows = in_flight(scheme, facts);
        let window_needed = windows.each_ref().map(|window| {
            let of_rates = scheme.cc.has_only_rate() && window.is_none(facts);
            scheme.own.contains(&window.of)
                || (!scheme.needs.is_empty() && (of_rates || window.of.is_empty()))
        });
        for (name, window) in IN_FLIGHT.into_iter().zip(windows) {
            let is_none = window.is_none(facts);
            let Window { bytes, written, .. } = window;
            let shown = if is_none { "none".to_owned() } else { Bytes(bytes).about() };
            let known = Known { shown, written, amount: Some(bytes) };
            by_path.insert(name.to_owned(), known);
        }
        let (own, needs) = (scheme.own.clone(), scheme.needs.clone());
        Values { by_path, own, needs, cc, pauses, reacts_to_ecn: reacts_to_ecn(scheme), window_needed }
    }

    fn get(&self, parameter: &str) -> Option<Known> {
        let unsaid = || {
            let none = self.pauses && parameter.starts_with("fabric.pfc.");
            none.then(|| Known::plain("no"))
        };
        let known = self.by_path.get(parameter).cloned().or_else(unsaid);
        known.filter(|_| !self.ignores(parameter))
    }

    fn ignores(&self, parameter: &str) -> bool {
        parameter.starts_with("fabric.ecn_") && !self.reacts_to_ecn
    }

    fn needs(&self, parameter: &str) -> bool {
        let own = |path: &str| self.own.iter().any(|own| own == path);
        match parameter {
            OVERLOAD => own("fabric.pfc") || own("fabric.trim"),
            BUFFER => own("fabric.pfc"),
            _ => match IN_FLIGHT.iter().position(|name| *name == parameter) {
                Some(place) => self.window_needed[place],
                None => own(parameter),
            },
        }
    }
}

/// The buffer of a switch in words: `32 MB per switch, shared, headroom apart`, or `1 MB per egress port`.
fn buffer(fabric: &FabricSpec, facts: &PathFacts) -> String {
    match (&fabric.pfc, fabric.queue) {
        (Some(pfc), _) => {
            let headroom = if pfc.headroom_apart { "apart" } else { "within" };
            let of =
                pfc.buffer_rate.map_or("switch".to_owned(), |rate| format!("switch of {}", rate.about()));
            format!("{} per {of}, shared, headroom {headroom}", pfc.buffer.about())
        }
        (None, _) if fabric.shared_buffer.0 > 0 => {
            format!("{} per switch, shared", fabric.shared_buffer.about())
        }
        (None, queue) => {
            let queue = queue.map_or_else(String::new, |queue| queue.on(&facts.of_port()).about());
            format!("{queue} per egress port")
        }
    }
}

fn flatten(at: &str, value: &toml::Value, found: &mut impl FnMut(String, String)) {
    match value {
        toml::Value::Table(fields) => {
            for (key, value) in fields {
                flatten(&format!("{at}.{key}"), value, found);
            }
        }
        toml::Value::String(text) => found(at.to_owned(), text.clone()),
        other => found(at.to_owned(), other.to_string()),
    }
}

/// A parameter's value on the fabric of `facts`. A size, a time or a rate is also given as a number, even if it is
/// relative (`2bdp`, `5rtt`).
fn known(text: &str, facts: &PathFacts) -> Known {
    let size = || {
        let size = text.parse::<Threshold>().ok()?.on(facts, Some(facts.queue));
        Some((size.about(), size.0))
    };
    let span = || {
        let span = text.parse::<Span>().ok()?.on(facts);
        Some((span.about(), span.0))
    };
    let pace = || {
        let pace = text.parse::<Pace>().ok()?.on(facts);
        Some((pace.about(), pace.0))
    };
    let (shown, amount) = match size().or_else(span).or_else(pace) {
        Some((shown, amount)) => (shown, Some(amount)),
        None => (text.to_owned(), None),
    };
    Known { shown, written: text.to_owned(), amount }
}

fn difference(parameter: &str, schemes: &[Values], of_layers: &BTreeSet<String>) -> Option<GroundDifference> {
    let values: Vec<Option<Known>> = schemes.iter().map(|scheme| scheme.get(parameter)).collect();
    let needed: Vec<bool> = schemes.iter().map(|scheme| scheme.needs(parameter)).collect();
    // Parameters of different congestion controls have different meanings, so only their windows are compared, in the
    // rows of [`IN_FLIGHT`].
    let alike = |one: &Values, other: &Values| !parameter.starts_with("cc.") || one.cc == other.cc;
    let any = |differ: fn(&Known, &Known) -> bool, may: fn(bool) -> bool| {
        let known = || {
            let known = schemes.iter().zip(&values).zip(&needed).filter(move |(_, needed)| may(**needed));
            known.filter_map(|((scheme, value), _)| Some((scheme, value.as_ref()?)))
        };
        known().any(|(one, value)| known().any(|(other, its)| alike(one, other) && differ(value, its)))
    };
    if !any(|value, its| !value.looks_like(its), |_| true) {
        return None;
    }
    let is_ground = GROUND.contains(parameter)
        || [OVERLOAD, ROUTING].contains(&parameter)
        || IN_FLIGHT.contains(&parameter);
    let unexplained = is_ground && any(|value, its| !value.stands_with(its), |needed| !needed);
    let given = needed.iter().map(|needed| *needed && of_layers.contains(parameter)).collect();
    let unused = schemes.iter().map(|scheme| scheme.ignores(parameter)).collect();
    let values = values.into_iter().map(|value| value.map(|value| value.shown)).collect();
    Some(GroundDifference { parameter: parameter.to_owned(), values, needed, given, unused, unexplained })
}

/// The sentence about unexplained differences: `Not on the same ground: transport.payload is 4.1 KB (reps) and 1 KB
/// (dcp).`
fn sentence(schemes: &[String], differences: &[GroundDifference]) -> Option<String> {
    let unexplained: Vec<&GroundDifference> =
        differences.iter().filter(|difference| difference.unexplained).collect();
    let named = unexplained.iter().take(MOST_NAMED).map(|difference| {
        let mut by_value: Vec<(&str, Vec<&str>)> = Vec::new();
        for ((scheme, value), needed) in schemes.iter().zip(&difference.values).zip(&difference.needed) {
            let Some(value) = value.as_deref().filter(|_| !needed) else { continue };
            match by_value.iter_mut().find(|(known, _)| *known == value) {
                Some((_, names)) => names.push(scheme),
                None => by_value.push((value, vec![scheme])),
            }
        }
        let values: Vec<String> =
            by_value.iter().map(|(value, names)| format!("{value} ({})", names.join(", "))).collect();
        format!("{} is {}", difference.parameter, values.join(" and "))
    });
    let named: Vec<String> = named.collect();
    let more = match unexplained.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!("; and {more} more, which anabranch check shows"),
    };
    (!named.is_empty()).then(|| format!("Not on the same ground: {}{more}.", named.join("; ")))
}
