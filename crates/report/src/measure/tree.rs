//! The syntax tree of a measure.

use super::curve::Target;
use anabranch_results::Statistic;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    /// The byte offset in the text for errors about this node.
    pub at: usize,
    pub kind: NodeKind,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum NodeKind {
    Number(f64),
    Negate(Box<Node>),
    Abs(Box<Node>),
    Arithmetic(Operator, Box<Node>, Box<Node>),
    Compare(Box<Node>, Vec<(Comparison, Node)>),
    Max(Vec<Node>),
    Min(Vec<Node>),
    Over { how: Over, axis: Axis, body: Box<Node> },
    Pair(Box<Node>, Box<Node>),
    Call(Call),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Comparison {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Over {
    Max,
    Min,
    Mean,
    First,
    Last,
    Range,
}

/// The values over which an `over` iterates.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Axis {
    /// `seed` or a swept parameter.
    Parameter(String),
    Bins(Bins),
}

/// Bins of messages (or jobs) by length.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Bins {
    /// The largest length in bytes of each bin except the last, which has no upper limit.
    Edges(Vec<f64>),
    /// This number of bins. The numbers of messages in any two bins differ by at most one.
    Count(usize),
}

impl Bins {
    pub(super) fn count(&self) -> usize {
        match self {
            Bins::Edges(edges) => edges.len() + 1,
            Bins::Count(count) => *count,
        }
    }
}

/// A call: a function whose value is a number for each run of a scheme.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Call {
    pub function: Function,
    pub scheme: Word,
    pub filters: Vec<(Word, Word)>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Function {
    Field(&'static str),
    /// A number that a scheme or a model added to the results.
    Extra(Word),
    Series {
        statistic: Statistic,
        points: Points,
    },
    /// The time at which curves settle, or the time during which they are near a value.
    Curve {
        measure: CurveMeasure,
        points: Points,
        target: Target,
        /// The tolerance, as a fraction of the target.
        within: f64,
        smooth_us: Option<f64>,
    },
    /// A statistic over the messages or jobs with lengths in this range.
    PerMessage {
        quantity: Quantity,
        statistic: Statistic,
        /// If present, only the messages of this group are used.
        group: Option<Word>,
        min_bytes: f64,
        max_bytes: f64,
    },
}

/// The points of a series within a time interval.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Points {
    pub series: Word,
    /// If present, only the points of this entity and of the entities below it are used.
    pub entity: Option<String>,
    /// The start of the time interval. A point at exactly this time is not in the interval.
    pub from_us: f64,
    pub to_us: f64,
}

impl Points {
    pub(super) fn is_of(&self, entity: &str) -> bool {
        self.entity.as_ref().is_none_or(|known| covers(known, entity))
    }

    pub(super) fn is_at(&self, time_us: f64) -> bool {
        self.from_us < time_us && time_us <= self.to_us
    }
}

/// The result of a function of a whole curve, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CurveMeasure {
    Settles,
    Near,
}

/// A quantity that each message or job has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quantity {
    /// Flow completion time in microseconds.
    Fct,
    /// Flow completion time divided by the ideal one.
    Slowdown,
    /// Collective completion time of a job in microseconds.
    Cct,
    Retransmissions,
    /// The number of retransmitted data packets of a message divided by the number of packets of the message.
    RetransmittedShare,
    Timeouts,
}

/// A name or a value, without quotes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Word {
    pub at: usize,
    pub text: String,
    /// The value of the word if it is a number that was written without quotes.
    pub number: Option<f64>,
}

impl Node {
    fn below(&self) -> Vec<&Node> {
        match &self.kind {
            NodeKind::Number(_) | NodeKind::Call(_) => Vec::new(),
            NodeKind::Negate(inner) | NodeKind::Abs(inner) | NodeKind::Over { body: inner, .. } => {
                vec![inner]
            }
            NodeKind::Arithmetic(_, left, right) | NodeKind::Pair(left, right) => vec![left, right],
            NodeKind::Compare(first, rest) => {
                std::iter::once(&**first).chain(rest.iter().map(|(_, node)| node)).collect()
            }
            NodeKind::Max(nodes) | NodeKind::Min(nodes) => nodes.iter().collect(),
        }
    }

    pub(super) fn any(&self, is: &dyn Fn(&NodeKind) -> bool) -> bool {
        is(&self.kind) || self.below().into_iter().any(|node| node.any(is))
    }

    pub(super) fn collect_schemes<'a>(&'a self, names: &mut Vec<&'a str>) {
        if let NodeKind::Call(call) = &self.kind {
            names.push(&call.scheme.text);
        }
        self.below().into_iter().for_each(|node| node.collect_schemes(names));
    }
}

impl Comparison {
    pub(super) fn holds(self, left: f64, right: f64) -> bool {
        match self {
            Comparison::Less => left < right,
            Comparison::LessOrEqual => left <= right,
            Comparison::Greater => left > right,
            Comparison::GreaterOrEqual => left >= right,
            Comparison::Equal => left == right,
        }
    }

    pub(super) fn sign(self) -> &'static str {
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
    /// The messages in the bin with this number, counted from 0. Messages are given with their lengths.
    pub(super) fn in_bin<T>(&self, number: usize, mut messages: Vec<(u64, T)>) -> Vec<(u64, T)> {
        match self {
            Bins::Edges(edges) => {
                let above = number.checked_sub(1).map_or(-1.0, |before| edges[before]);
                let up_to = edges.get(number).copied().unwrap_or(f64::INFINITY);
                messages.retain(|(bytes, _)| above < *bytes as f64 && *bytes as f64 <= up_to);
                messages
            }
            Bins::Count(count) => {
                // The sort is stable, so messages of the same length keep the order of their rows.
                messages.sort_by_key(|(bytes, _)| *bytes);
                let edge = |number: usize| number * messages.len() / count;
                let (from, to) = (edge(number), edge(number + 1));
                messages.truncate(to);
                messages.split_off(from)
            }
        }
    }
}

impl Quantity {
    /// Whether the quantity is counted during the run, so that it is also known for a message that did not finish.
    pub(super) fn is_count(self) -> bool {
        matches!(self, Quantity::Retransmissions | Quantity::RetransmittedShare | Quantity::Timeouts)
    }

    pub(super) fn plural(self) -> &'static str {
        if self == Quantity::Cct { "jobs" } else { "messages" }
    }
}

/// Whether `known` is the entity `entity` or is below it. `tor:0/up` covers `tor:0/up:3` but not `tor:0/upper`.
pub(crate) fn covers(entity: &str, known: &str) -> bool {
    known.strip_prefix(entity).is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '/']))
}
