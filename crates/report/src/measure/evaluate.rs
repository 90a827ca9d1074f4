//! Evaluation of a measure's tree on results.

use super::curve::Curve;
use super::parse::{
    Axis, Bins, Call, Comparison, Function, Node, NodeKind, Operator, Over, Quantity, Question, Word,
};
use super::{Fault, hint};
use crate::index::Index;
use anabranch_results as results;
use anabranch_results::{ClaimValue, FlowRow, ResultSet, RunRow, Spread, Statistic, Value};
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn evaluate(root: &Node, index: &Index<'_>) -> Result<ClaimValue, Fault> {
    Context::new(index).whole(root)
}

/// Evaluates a measure so that a comparison is true only if it is true for every seed.
pub(super) fn evaluate_by_spread(root: &Node, index: &Index<'_>) -> Result<(ClaimValue, Spread), Fault> {
    let mut context = Context { comparisons: Some(Vec::new()), ..Context::new(index) };
    let value = context.whole(root)?;
    let seeds = context.points(Parameter::Seed).len();
    Ok((value, Spread { seeds, comparisons: context.comparisons.unwrap_or_default() }))
}

struct Context<'a> {
    index: &'a Index<'a>,
    set: &'a ResultSet,
    /// The parameters that the enclosing `over`s have fixed.
    bound: Vec<(Parameter<'a>, Value)>,
    /// The bin of messages that one of them has fixed, by its number.
    bin: Option<(Bins, usize)>,
    /// The comparisons made so far, where they are made seed by seed.
    comparisons: Option<Vec<results::Comparison>>,
}

#[derive(Clone, Copy, PartialEq)]
enum Parameter<'a> {
    Seed,
    Swept(&'a str),
}

impl<'a> Context<'a> {
    fn new(index: &'a Index<'a>) -> Context<'a> {
        Context { index, set: index.set, bound: Vec::new(), bin: None, comparisons: None }
    }

    /// The measure's value, which may be a pair.
    fn whole(&mut self, root: &Node) -> Result<ClaimValue, Fault> {
        let value = match &root.kind {
            NodeKind::Pair(low, high) => ClaimValue::Range([self.value(low)?, self.value(high)?]),
            NodeKind::Over { how: Over::Range, axis, body } => {
                let values = self.over(root.at, axis, body)?;
                let low = values.iter().copied().fold(f64::INFINITY, f64::min);
                ClaimValue::Range([low, values.iter().copied().fold(f64::NEG_INFINITY, f64::max)])
            }
            _ => ClaimValue::Number(self.value(root)?),
        };
        let finite = match value {
            ClaimValue::Number(number) => number.is_finite(),
            ClaimValue::Range(ends) => ends.iter().all(|end| end.is_finite()),
        };
        if finite { Ok(value) } else { Fault::new(root.at, "the result is not a finite number") }
    }

    fn value(&mut self, node: &Node) -> Result<f64, Fault> {
        match &node.kind {
            NodeKind::Number(number) => Ok(*number),
            NodeKind::Negate(inner) => Ok(-self.value(inner)?),
            NodeKind::Abs(inner) => Ok(self.value(inner)?.abs()),
            NodeKind::Arithmetic(operator, left, right) => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                match operator {
                    Operator::Add => Ok(left + right),
                    Operator::Subtract => Ok(left - right),
                    Operator::Multiply => Ok(left * right),
                    Operator::Divide if right == 0.0 => Fault::new(
                        node.at,
                        format!("division of {left} by zero: what stands right of `/` is 0"),
                    ),
                    Operator::Divide => Ok(left / right),
                }
            }
            NodeKind::Compare(first, rest) => {
                let holds = match self.comparisons.take() {
                    None => self.compare(first, rest)?,
                    Some(made) => {
                        let comparisons = self.compare_by_seed(first, rest)?;
                        let holds = comparisons.iter().all(|comparison| comparison.separate);
                        self.comparisons = Some([made, comparisons].concat());
                        holds
                    }
                };
                Ok(f64::from(u8::from(holds)))
            }
            NodeKind::Max(nodes) => self.fold(nodes, f64::max),
            NodeKind::Min(nodes) => self.fold(nodes, f64::min),
            NodeKind::Over { how, axis, body } => {
                let statistic = match how {
                    Over::Max => Statistic::Max,
                    Over::Min => Statistic::Min,
                    Over::Mean => Statistic::Mean,
                    Over::First => Statistic::First,
                    Over::Last => Statistic::Last,
                    Over::Range => {
                        return Fault::new(
                            node.at,
                            "`range over` gives two numbers: it can only be the whole measure",
                        );
                    }
                };
                let values = self.over(node.at, axis, body)?;
                statistic.of(&values).map_or_else(|| Fault::new(node.at, "there are no runs"), Ok)
            }
            NodeKind::Pair(..) => Fault::new(node.at, "`[a, b]` can only be the whole measure"),
            NodeKind::Call(call) => self.call(node.at, call),
        }
    }

    fn fold(&mut self, nodes: &[Node], pick: fn(f64, f64) -> f64) -> Result<f64, Fault> {
        let values = nodes.iter().map(|node| self.value(node)).collect::<Result<Vec<f64>, Fault>>()?;
        Ok(values.into_iter().reduce(pick).unwrap_or(f64::NAN))
    }

    fn compare(&mut self, first: &Node, rest: &[(Comparison, Node)]) -> Result<bool, Fault> {
        let mut left = self.value(first)?;
        let mut holds = true;
        for (comparison, next) in rest {
            let right = self.value(next)?;
            holds &= comparison.holds(left, right);
            left = right;
        }
        Ok(holds)
    }

    /// The range of each side over the seeds, and whether it is apart from the next one.
    fn compare_by_seed(
        &mut self,
        first: &Node,
        rest: &[(Comparison, Node)],
    ) -> Result<Vec<results::Comparison>, Fault> {
        let mut left = self.over_seeds(first)?;
        let mut comparisons = Vec::with_capacity(rest.len());
        for (comparison, next) in rest {
            let right = self.over_seeds(next)?;
            // If both ends compare with both ends, all seeds compare with all seeds.
            let separate = left.iter().all(|&a| right.iter().all(|&b| comparison.holds(a, b)));
            comparisons.push(results::Comparison {
                left,
                sign: comparison.sign().to_owned(),
                right,
                separate,
            });
            left = right;
        }
        Ok(comparisons)
    }

    /// The lowest and the highest value over the seeds. A side that names seeds itself has one value.
    fn over_seeds(&mut self, node: &Node) -> Result<[f64; 2], Fault> {
        let speaks = node.any(&|kind| match kind {
            NodeKind::Over { axis: Axis::Parameter(name), .. } => name == "seed",
            NodeKind::Call(call) => call.filters.iter().any(|(name, _)| name.text == "seed"),
            _ => false,
        });
        if speaks || self.bound.iter().any(|(parameter, _)| *parameter == Parameter::Seed) {
            let value = self.value(node)?;
            return Ok([value, value]);
        }
        let values = self.at_each(Parameter::Seed, node)?;
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        Ok([low, values.iter().copied().fold(f64::NEG_INFINITY, f64::max)])
    }

    /// The body's value at each value of the axis, in the order of the runs or of the bins.
    fn over(&mut self, at: usize, axis: &Axis, body: &Node) -> Result<Vec<f64>, Fault> {
        match axis {
            Axis::Parameter(name) => {
                let found = self.parameter(at, name)?;
                if self.bound.iter().any(|(bound, _)| *bound == found) {
                    return Fault::new(at, format!("`{name}` is already fixed by an `over` around this one"));
                }
                self.at_each(found, body)
            }
            Axis::Bins(bins) => {
                if self.bin.is_some() {
                    return Fault::new(at, "`bins` are already fixed by an `over` around this one");
                }
                let mut values = Vec::with_capacity(bins.count());
                for number in 0..bins.count() {
                    self.bin = Some((bins.clone(), number));
                    let value = self.value(body);
                    self.bin = None;
                    values.push(value?);
                }
                Ok(values)
            }
        }
    }

    fn at_each(&mut self, parameter: Parameter<'a>, body: &Node) -> Result<Vec<f64>, Fault> {
        let mut values = Vec::new();
        for point in self.points(parameter) {
            self.bound.push((parameter, point));
            let value = self.value(body);
            self.bound.pop();
            values.push(value?);
        }
        Ok(values)
    }

    /// The values of a parameter, in the order of the runs.
    fn points(&self, parameter: Parameter<'_>) -> Vec<Value> {
        let mut points: Vec<Value> = Vec::new();
        for run in self.set.actual() {
            if let Some(value) = value_of(run, parameter).filter(|value| !points.contains(value)) {
                points.push(value);
            }
        }
        points
    }

    /// A parameter by its whole name or by its last parts.
    fn parameter(&self, at: usize, written: &str) -> Result<Parameter<'a>, Fault> {
        if written == "seed" {
            return Ok(Parameter::Seed);
        }
        let known: BTreeSet<&str> =
            self.set.actual().iter().flat_map(|run| run.sweep.keys().map(String::as_str)).collect();
        if let Some(name) = known.get(written) {
            return Ok(Parameter::Swept(name));
        }
        let ending = |name: &&str| name.strip_suffix(written).is_some_and(|front| front.ends_with('.'));
        let matches: Vec<&str> = known.iter().copied().filter(ending).collect();
        match matches[..] {
            [only] => Ok(Parameter::Swept(only)),
            [] => {
                let hint = hint(written, known.into_iter().chain(["seed"]));
                Fault::new(at, format!("no swept parameter `{written}`{hint}"))
            }
            _ => Fault::new(at, format!("`{written}` may be {}; write one whole", matches.join(" or "))),
        }
    }

    fn call(&self, at: usize, call: &Call) -> Result<f64, Fault> {
        let runs = self.select(at, call)?;
        let mut values = Vec::with_capacity(runs.len());
        for run in runs {
            values.push(self.of_run(at, &call.function, run)?);
        }
        Statistic::Mean.of(&values).map_or_else(|| Fault::new(at, "there are no runs"), Ok)
    }

    /// The indices of a call's runs: one point of the sweep, one or all seeds.
    fn select(&self, at: usize, call: &Call) -> Result<Vec<usize>, Fault> {
        let scheme = &call.scheme;
        let mut chosen: Vec<usize> = Vec::new();
        chosen.extend((0..self.set.actual().len()).filter(|&run| self.set.runs[run].scheme == scheme.text));
        if chosen.is_empty() {
            let known: BTreeSet<&str> = self.set.actual().iter().map(|run| run.scheme.as_str()).collect();
            return Fault::new(
                scheme.at,
                format!("no runs of a scheme `{}`{}", scheme.text, hint(&scheme.text, known)),
            );
        }
        // A run without the parameter does not depend on it.
        for (parameter, value) in &self.bound {
            chosen
                .retain(|&run| value_of(&self.set.runs[run], *parameter).is_none_or(|found| found == *value));
        }
        for (name, wanted) in &call.filters {
            let parameter = self.parameter(name.at, &name.text)?;
            let there: Vec<String> = chosen
                .iter()
                .filter_map(|&run| value_of(&self.set.runs[run], parameter))
                .map(|value| value.to_string())
                .collect();
            chosen.retain(|&run| {
                value_of(&self.set.runs[run], parameter).is_none_or(|found| matches(wanted, &found))
            });
            if chosen.is_empty() {
                let there: BTreeSet<&str> = there.iter().map(String::as_str).collect();
                let hint = hint(&wanted.text, there);
                return Fault::new(wanted.at, format!("no run with {}={}{hint}", name.text, wanted.text));
            }
        }
        let Some(&first) = chosen.first() else {
            return Fault::new(at, format!("no run of `{}` at this point of the sweep", scheme.text));
        };
        let point = &self.set.runs[first].sweep;
        let other = chosen.iter().map(|&run| &self.set.runs[run].sweep).find(|sweep| *sweep != point);
        if let Some(other) = other {
            let open: Vec<&str> = other
                .iter()
                .filter(|(name, value)| point.get(*name) != Some(value))
                .map(|(name, _)| name.as_str())
                .collect();
            let name = open.first().copied().unwrap_or("the parameter");
            let message = format!(
                "{name} has several values here; write `max over {name}: ...` around it or `{name}=...` in it"
            );
            return Fault::new(at, message);
        }
        Ok(chosen)
    }

    fn of_run(&self, at: usize, function: &Function, index: usize) -> Result<f64, Fault> {
        let run = &self.set.runs[index];
        match function {
            Function::Field(field) => {
                let of_slowdown = field.starts_with("slowdown_");
                let needs_flows = of_slowdown || field.starts_with("fct_") || *field == "completion_us";
                if of_slowdown && self.index.flows(index).is_empty() {
                    return unrecorded(at, run, Quantity::Slowdown);
                }
                if needs_flows && run.flows_finished < run.flows {
                    return unfinished(at, run, run.flows - run.flows_finished, run.flows, "messages");
                }
                if field.starts_with("cct_") {
                    let jobs = self.index.jobs(index);
                    if jobs.is_empty() {
                        return unrecorded(at, run, Quantity::Cct);
                    }
                    let missing = jobs.iter().filter(|job| job.cct_ps.is_none()).count();
                    if missing > 0 {
                        return unfinished(at, run, missing as u64, jobs.len() as u64, "jobs");
                    }
                }
                run.number(field).map_or_else(
                    || Fault::new(at, format!("the runs of `{}` sent nothing for `{field}`", run.scheme)),
                    Ok,
                )
            }
            Function::Extra(name) => run.extra.get(&name.text).copied().map_or_else(
                || {
                    let hint = hint(&name.text, run.extra.keys().map(String::as_str));
                    Fault::new(
                        name.at,
                        format!("the runs of `{}` have no extra number `{}`{hint}", run.scheme, name.text),
                    )
                },
                Ok,
            ),
            Function::Series { statistic, series, entity, from_us, to_us } => {
                let curves = self.index.series(index, &series.text);
                let points: Vec<f64> = curves
                    .iter()
                    .filter(|curve| entity.as_ref().is_none_or(|entity| covers(entity, &curve.entity)))
                    .flat_map(|curve| &curve.points)
                    .filter(|(time_ps, _)| {
                        let time_us = *time_ps as f64 / 1e6;
                        *from_us < time_us && time_us <= *to_us
                    })
                    .map(|(_, value)| *value)
                    .collect();
                statistic.of(&points).map_or_else(|| self.no_points(series, index, entity.as_deref()), Ok)
            }
            Function::Curve { question, series, entity, from_us, to_us, target, within, smooth_us } => {
                let curves = self.curves(index, series, entity.as_deref(), *from_us, *to_us);
                let mut answers = Vec::with_capacity(curves.len());
                for (name, curve) in curves {
                    let curve = smooth_us.map_or(curve.clone(), |width_us| curve.smoothed(width_us));
                    let Some(target) = curve.target(*target) else { continue };
                    let band = within * target.abs();
                    answers.push(match question {
                        Question::Near => curve.near_us(target, band),
                        Question::Settles => match curve.settles_us(target, band) {
                            Some(time_us) => time_us,
                            None => return unsettled(at, run, &series.text, &name, target, *within),
                        },
                    });
                }
                // All have settled when the last one has.
                let of_several =
                    if *question == Question::Settles { Statistic::Max } else { Statistic::Mean };
                of_several.of(&answers).map_or_else(|| self.no_points(series, index, entity.as_deref()), Ok)
            }
            Function::Each { quantity, statistic, group, min_bytes, max_bytes } => {
                let lengths = *min_bytes..=*max_bytes;
                let mut found = self.each(index, *quantity, group.as_ref())?;
                if found.is_empty() {
                    return unrecorded(at, run, *quantity);
                }
                found.retain(|(bytes, _)| lengths.contains(&(*bytes as f64)));
                if let Some((bins, number)) = &self.bin {
                    found = bins.take(*number, found);
                }
                let wanted: Vec<Option<f64>> = found.into_iter().map(|(_, value)| value).collect();
                let finished: Vec<f64> = wanted.iter().copied().flatten().collect();
                if finished.len() < wanted.len() {
                    let missing = wanted.len() - finished.len();
                    if quantity.is_count() {
                        return untold(at, run, missing, wanted.len());
                    }
                    return unfinished(at, run, missing as u64, wanted.len() as u64, plural(*quantity));
                }
                statistic.of(&finished).map_or_else(
                    || {
                        let what = plural(*quantity);
                        let bin = self.bin.as_ref().map_or(String::new(), |(bins, number)| {
                            format!(" in bin {} of {}", number + 1, bins.count())
                        });
                        Fault::new(at, format!("`{}` has no {what} of these lengths{bin}", run.scheme))
                    },
                    Ok,
                )
            }
        }
    }

    /// The length and value of each of a run's messages or jobs; no value where it is not known.
    fn each(
        &self,
        run: usize,
        quantity: Quantity,
        group: Option<&Word>,
    ) -> Result<Vec<(u64, Option<f64>)>, Fault> {
        let us = |ps: u64| ps as f64 / 1e6;
        if quantity == Quantity::Cct {
            return Ok(self.index.jobs(run).iter().map(|job| (job.bytes, job.cct_ps.map(us))).collect());
        }
        let flows = self.index.flows(run);
        let value = |flow: &FlowRow| match quantity {
            Quantity::Fct | Quantity::Cct => flow.fct_ps.map(us),
            Quantity::Slowdown => flow.slowdown(),
            Quantity::Retransmissions => flow.retransmissions.map(f64::from),
            Quantity::RetransmittedShare => flow.retransmitted_share(),
            Quantity::Timeouts => flow.timeouts.map(f64::from),
        };
        let wanted = |flow: &&&FlowRow| group.is_none_or(|group| flow.in_group(&group.text));
        let found: Vec<_> = flows.iter().filter(wanted).map(|flow| (flow.bytes, value(flow))).collect();
        match group.filter(|_| found.is_empty() && !flows.is_empty()) {
            None => Ok(found),
            Some(group) => {
                let names = flows.iter().flat_map(|flow| flow.group.split('/').chain([&*flow.group]));
                let known: BTreeSet<&str> = names.filter(|name| !name.is_empty()).collect();
                let hint = hint(&group.text, known);
                let scheme = &self.set.runs[run].scheme;
                Fault::new(
                    group.at,
                    format!("no messages of `{scheme}` are in a group `{}`{hint}", group.text),
                )
            }
        }
    }

    /// The curves of a run's series by entity, in an interval of time.
    fn curves(
        &self,
        run: usize,
        series: &Word,
        entity: Option<&str>,
        from_us: f64,
        to_us: f64,
    ) -> BTreeMap<String, Curve> {
        let mut curves: BTreeMap<String, Curve> = BTreeMap::new();
        for stretch in self.index.series(run, &series.text).iter() {
            if !entity.is_none_or(|entity| covers(entity, &stretch.entity)) {
                continue;
            }
            let points = stretch.points.iter().map(|(time_ps, value)| (*time_ps as f64 / 1e6, *value));
            let curve = curves
                .entry(stretch.entity.to_string())
                .or_insert_with(|| Curve { start_us: from_us.max(0.0), points: Vec::new() });
            curve.points.extend(points.filter(|(time_us, _)| from_us < *time_us && *time_us <= to_us));
        }
        curves
    }

    fn no_points(&self, series: &Word, run: usize, entity: Option<&str>) -> Result<f64, Fault> {
        let scheme = &self.set.runs[run].scheme;
        let curves = self.index.series(run, &series.text);
        if let Some(problem) = self.index.problem() {
            return Fault::new(series.at, problem);
        }
        if curves.is_empty() {
            let hint = hint(&series.text, self.index.series_names(run));
            return Fault::new(
                series.at,
                format!("the runs of `{scheme}` have no series `{}`{hint}", series.text),
            );
        }
        let entities: BTreeSet<&str> = curves.iter().map(|curve| &*curve.entity).collect();
        match entity {
            Some(entity) if !entities.iter().any(|known| covers(entity, known)) => {
                let hint = hint(entity, entities.into_iter().take(20));
                Fault::new(
                    series.at,
                    format!("`{}` of `{scheme}` has no entity `{entity}`{hint}", series.text),
                )
            }
            _ => {
                Fault::new(series.at, format!("`{}` of `{scheme}` has no points in this window", series.text))
            }
        }
    }
}

impl Comparison {
    fn holds(self, left: f64, right: f64) -> bool {
        match self {
            Comparison::Less => left < right,
            Comparison::LessOrEqual => left <= right,
            Comparison::Greater => left > right,
            Comparison::GreaterOrEqual => left >= right,
            Comparison::Equal => left == right,
        }
    }

    fn sign(self) -> &'static str {
        match self {
            Comparison::Less => "<",
            Comparison::LessOrEqual => "<=",
            Comparison::Greater => ">",
            Comparison::GreaterOrEqual => ">=",
            Comparison::Equal => "==",
        }
    }
}

impl Bins {
    /// The messages, given with their lengths, that are in the bin with this number, from 0.
    fn take<T>(&self, number: usize, mut messages: Vec<(u64, T)>) -> Vec<(u64, T)> {
        match self {
            Bins::Edges(edges) => {
                let above = number.checked_sub(1).map_or(0.0, |before| edges[before]);
                let up_to = edges.get(number).copied().unwrap_or(f64::INFINITY);
                messages.retain(|(bytes, _)| above < *bytes as f64 && *bytes as f64 <= up_to);
                messages
            }
            Bins::Count(count) => {
                // Messages of one length are sorted by their number, so that every scheme has the same order.
                messages.sort_by_key(|(bytes, _)| *bytes);
                let edge = |number: usize| number * messages.len() / count;
                let (from, to) = (edge(number), edge(number + 1));
                messages.truncate(to);
                messages.split_off(from)
            }
        }
    }
}

fn plural(quantity: Quantity) -> &'static str {
    if quantity == Quantity::Cct { "jobs" } else { "messages" }
}

impl Quantity {
    /// Whether it is counted while it happens, so that it is known for a message that did not finish too.
    fn is_count(self) -> bool {
        matches!(self, Quantity::Retransmissions | Quantity::RetransmittedShare | Quantity::Timeouts)
    }
}

/// The error for runs whose messages or jobs have no rows.
fn unrecorded(at: usize, run: &RunRow, quantity: Quantity) -> Result<f64, Fault> {
    let scheme = &run.scheme;
    Fault::new(
        at,
        match quantity {
            Quantity::Cct => format!("the runs of `{scheme}` have no jobs: only a collective workload has"),
            _ if run.flows > 0 => format!(
                "the runs of `{scheme}` do not record their {} messages one by one, as there are so many; \
                 use a number of the whole run, such as fct_max({scheme}), or cct({scheme}, max)",
                run.flows
            ),
            _ => format!("the runs of `{scheme}` have no messages"),
        },
    )
}

fn unfinished(at: usize, run: &RunRow, missing: u64, all: u64, what: &str) -> Result<f64, Fault> {
    let (scheme, seed) = (&run.scheme, run.seed);
    Fault::new(
        at,
        format!("{missing} of {all} {what} of `{scheme}`, seed {seed}, did not finish, so this is not known"),
    )
}

/// The error for a curve that does not stay near a value.
fn unsettled(
    at: usize,
    run: &RunRow,
    series: &str,
    entity: &str,
    target: f64,
    within: f64,
) -> Result<f64, Fault> {
    let (scheme, seed, percent) = (&run.scheme, run.seed, within * 100.0);
    Fault::new(
        at,
        format!(
            "`{series}` of `{scheme}`, seed {seed}, at {entity} has not settled: its last point is not within {percent} % \
             of {target}; `smooth_us=` takes means over stretches of time"
        ),
    )
}

/// The error for messages whose retransmissions are not known.
fn untold(at: usize, run: &RunRow, missing: usize, all: usize) -> Result<f64, Fault> {
    let (scheme, seed) = (&run.scheme, run.seed);
    Fault::new(
        at,
        format!(
            "of {missing} of {all} messages of `{scheme}`, seed {seed}, this is not known, as they share their queue \
             pairs with others or an earlier build recorded them"
        ),
    )
}

fn value_of(run: &RunRow, parameter: Parameter<'_>) -> Option<Value> {
    match parameter {
        Parameter::Seed => Some(Value::Text(run.seed.to_string())),
        Parameter::Swept(name) => run.sweep.get(name).cloned(),
    }
}

/// Whether a value equals the word, as text or as a number.
fn matches(wanted: &Word, found: &Value) -> bool {
    let text = found.to_string();
    text == wanted.text || (wanted.number.is_some() && text.parse().ok() == wanted.number)
}

/// Whether `entity` is `known` or contains it: `tor:0/up` covers `tor:0/up:3` but not `tor:0/upper`.
pub(crate) fn covers(entity: &str, known: &str) -> bool {
    known.strip_prefix(entity).is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '/']))
}
