//! Evaluation of a measure's syntax tree on results.

use super::error::{ErrorAt, hint};
use super::run_value::RunValues;
use super::tree::{Axis, Bins, Call, Comparison, Node, NodeKind, Operator, Over, Word};
use crate::index::Index;
use anabranch_base::Problem;
use anabranch_results as results;
use anabranch_results::{ClaimValue, ResultSet, RunRow, Spread, Statistic, Value};
use std::collections::BTreeSet;

pub(super) fn evaluate(root: &Node, index: &Index<'_>) -> Result<ClaimValue, ErrorAt> {
    Context::new(index).whole(root)
}

/// A comparison is true only if it is true for every pair of a seed on its left and a seed on its right.
pub(super) fn evaluate_by_spread(root: &Node, index: &Index<'_>) -> Result<(ClaimValue, Spread), ErrorAt> {
    let mut context = Context { comparisons: Some(Vec::new()), ..Context::new(index) };
    let value = context.whole(root)?;
    let seeds = context.points(Parameter::Seed).len();
    Ok((value, Spread { seeds, comparisons: context.comparisons.unwrap_or_default() }))
}

struct Context<'a> {
    index: &'a Index<'a>,
    set: &'a ResultSet,
    /// The parameters that an enclosing `over` or a comparison seed by seed has fixed, with their values.
    bound: Vec<(Parameter<'a>, Value)>,
    /// The bins of an enclosing `over` expression, and the number of the current bin.
    bin: Option<(Bins, usize)>,
    /// The comparisons that have been made, if comparisons are made seed by seed.
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

    fn whole(&mut self, root: &Node) -> Result<ClaimValue, ErrorAt> {
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
        if finite { Ok(value) } else { ErrorAt::new(root.at, "the result is not a finite number") }
    }

    fn value(&mut self, node: &Node) -> Result<f64, ErrorAt> {
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
                    Operator::Divide if right == 0.0 => ErrorAt::new(
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
                        return ErrorAt::new(
                            node.at,
                            "`range over` gives two numbers: it can only be the whole measure",
                        );
                    }
                };
                let values = self.over(node.at, axis, body)?;
                statistic.of(&values).map_or_else(|| ErrorAt::new(node.at, "there are no runs"), Ok)
            }
            NodeKind::Pair(..) => ErrorAt::new(node.at, "`[a, b]` can only be the whole measure"),
            NodeKind::Call(call) => self.call(node.at, call),
        }
    }

    fn fold(&mut self, nodes: &[Node], pick: fn(f64, f64) -> f64) -> Result<f64, ErrorAt> {
        let values = nodes.iter().map(|node| self.value(node)).collect::<Result<Vec<f64>, ErrorAt>>()?;
        Ok(values.into_iter().reduce(pick).unwrap_or(f64::NAN))
    }

    fn compare(&mut self, first: &Node, rest: &[(Comparison, Node)]) -> Result<bool, ErrorAt> {
        let mut left = self.value(first)?;
        let mut holds = true;
        for (comparison, next) in rest {
            let right = self.value(next)?;
            holds &= comparison.holds(left, right);
            left = right;
        }
        Ok(holds)
    }

    /// Compares each side with the next side for all seeds. Records the range of each side, and whether the two ranges
    /// are separate.
    fn compare_by_seed(
        &mut self,
        first: &Node,
        rest: &[(Comparison, Node)],
    ) -> Result<Vec<results::Comparison>, ErrorAt> {
        let mut left = self.over_seeds(first)?;
        let mut comparisons = Vec::with_capacity(rest.len());
        for (comparison, next) in rest {
            let right = self.over_seeds(next)?;
            // If the comparison holds for all ends of the two ranges, it holds for all pairs of seeds.
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

    /// The lowest and the highest value over the seeds. An expression that names seeds itself or is inside an `over
    /// seed` has a single value.
    fn over_seeds(&mut self, node: &Node) -> Result<[f64; 2], ErrorAt> {
        let names_seeds = node.any(&|kind| match kind {
            NodeKind::Over { axis: Axis::Parameter(name), .. } => name == "seed",
            NodeKind::Call(call) => call.filters.iter().any(|(name, _)| name.text == "seed"),
            _ => false,
        });
        if names_seeds || self.bound.iter().any(|(parameter, _)| *parameter == Parameter::Seed) {
            let value = self.value(node)?;
            return Ok([value, value]);
        }
        let values = self.at_each(Parameter::Seed, node)?;
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        Ok([low, values.iter().copied().fold(f64::NEG_INFINITY, f64::max)])
    }

    /// The value of `body` at each value of the axis, in the order of the runs or of the bins.
    fn over(&mut self, at: usize, axis: &Axis, body: &Node) -> Result<Vec<f64>, ErrorAt> {
        match axis {
            Axis::Parameter(name) => {
                let found = self.parameter(at, name)?;
                if self.bound.iter().any(|(bound, _)| *bound == found) {
                    return ErrorAt::new(
                        at,
                        format!("`{name}` is already fixed by an `over` around this one"),
                    );
                }
                self.at_each(found, body)
            }
            Axis::Bins(bins) => {
                if self.bin.is_some() {
                    return ErrorAt::new(at, "`bins` are already fixed by an `over` around this one");
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

    fn at_each(&mut self, parameter: Parameter<'a>, body: &Node) -> Result<Vec<f64>, ErrorAt> {
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

    /// The parameter with this full name, or the one whose full name ends with these components.
    fn parameter(&self, at: usize, written: &str) -> Result<Parameter<'a>, ErrorAt> {
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
                ErrorAt::new(at, format!("no swept parameter `{written}`{hint}"))
            }
            _ => {
                let message = format!("`{written}` may be {}", matches.join(" or "));
                ErrorAt::new(at, Problem::with_text(message, "one of them in full").to_string())
            }
        }
    }

    fn call(&self, at: usize, call: &Call) -> Result<f64, ErrorAt> {
        let runs = self.select(at, call)?;
        let of_run = RunValues { index: self.index, bin: self.bin.as_ref() };
        let mut values = Vec::with_capacity(runs.len());
        for run in runs {
            values.push(of_run.value(at, &call.function, run)?);
        }
        Statistic::Mean.of(&values).map_or_else(|| ErrorAt::new(at, "there are no runs"), Ok)
    }

    /// The indices of the runs that a call refers to: at one point of the sweep, with one seed or all seeds.
    fn select(&self, at: usize, call: &Call) -> Result<Vec<usize>, ErrorAt> {
        let scheme = &call.scheme;
        let mut chosen: Vec<usize> = Vec::new();
        chosen.extend((0..self.set.actual().len()).filter(|&run| self.set.runs[run].scheme == scheme.text));
        if chosen.is_empty() {
            let known: BTreeSet<&str> = self.set.actual().iter().map(|run| run.scheme.as_str()).collect();
            return ErrorAt::new(
                scheme.at,
                format!("no runs of a scheme `{}`{}", scheme.text, hint(&scheme.text, known)),
            );
        }
        // A run without the parameter does not depend on it and is kept.
        for (parameter, value) in &self.bound {
            chosen
                .retain(|&run| value_of(&self.set.runs[run], *parameter).is_none_or(|found| found == *value));
        }
        for (name, expected) in &call.filters {
            let parameter = self.parameter(name.at, &name.text)?;
            let there: Vec<String> = chosen
                .iter()
                .filter_map(|&run| value_of(&self.set.runs[run], parameter))
                .map(|value| value.to_string())
                .collect();
            chosen.retain(|&run| {
                value_of(&self.set.runs[run], parameter).is_none_or(|found| matches(expected, &found))
            });
            if chosen.is_empty() {
                let there: BTreeSet<&str> = there.iter().map(String::as_str).collect();
                let hint = hint(&expected.text, there);
                return ErrorAt::new(
                    expected.at,
                    format!("no run with {}={}{hint}", name.text, expected.text),
                );
            }
        }
        let Some(&first) = chosen.first() else {
            return ErrorAt::new(at, format!("no run of `{}` at this point of the sweep", scheme.text));
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
            let problem = Problem::with_text(
                format!("{name} has several values here"),
                format_args!("`max over {name}: ...` around it or `{name}=...` in it"),
            );
            return ErrorAt::new(at, problem.to_string());
        }
        Ok(chosen)
    }
}

fn value_of(run: &RunRow, parameter: Parameter<'_>) -> Option<Value> {
    match parameter {
        Parameter::Seed => Some(Value::Text(run.seed.to_string())),
        Parameter::Swept(name) => run.sweep.get(name).cloned(),
    }
}

/// Whether a value equals the word, compared as text or as a number.
fn matches(expected: &Word, found: &Value) -> bool {
    let text = found.to_string();
    text == expected.text || (expected.number.is_some() && text.parse().ok() == expected.number)
}
