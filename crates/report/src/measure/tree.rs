//! The tree of a measure.

use super::curve::Target;
use anabranch_results::Statistic;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    /// The byte of the text at which an error about this node points.
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
    /// The messages by their lengths.
    Bins(Bins),
}

/// Bins of messages (or jobs) by length.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Bins {
    /// The largest length in bytes of each bin but the last, which has no end.
    Edges(Vec<f64>),
    /// This many bins with equally many messages, as nearly as whole numbers allow.
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

/// A number of each run of a scheme.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Call {
    pub function: Function,
    pub scheme: Word,
    pub filters: Vec<(Word, Word)>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Function {
    /// A field of the runs file.
    Field(&'static str),
    /// A number that a scheme or model added.
    Extra(Word),
    /// A statistic over the points of a series.
    Series { statistic: Statistic, points: Points },
    /// The time at which curves settle, or for which they are near a value.
    Curve {
        measure: CurveMeasure,
        points: Points,
        target: Target,
        /// The band, as a share of the target.
        within: f64,
        smooth_us: Option<f64>,
    },
    /// A statistic over the messages or jobs of these lengths.
    PerMessage {
        quantity: Quantity,
        statistic: Statistic,
        /// Only the messages of this part of the workload.
        group: Option<Word>,
        min_bytes: f64,
        max_bytes: f64,
    },
}

/// Points of a series, in a window of time.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Points {
    pub series: Word,
    /// This entity and those below it; all without one.
    pub entity: Option<String>,
    /// The start of the window, which does not include it.
    pub from_us: f64,
    pub to_us: f64,
}

impl Points {
    /// Whether these points include those of this entity.
    pub(super) fn is_of(&self, entity: &str) -> bool {
        self.entity.as_ref().is_none_or(|known| covers(known, entity))
    }

    /// Whether the time is in the window.
    pub(super) fn is_at(&self, time_us: f64) -> bool {
        self.from_us < time_us && time_us <= self.to_us
    }
}

/// The number that a function of a whole curve gives, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CurveMeasure {
    /// The time from which on it is near a value.
    Settles,
    /// The time for which it is near a value.
    Near,
}

/// The number of each message or job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quantity {
    /// Flow completion time in microseconds.
    Fct,
    /// Flow completion time over the ideal one.
    Slowdown,
    /// Collective completion time of a job in microseconds.
    Cct,
    /// Data packets of a message sent again.
    Retransmissions,
    /// Data packets of a message sent again over the packets of the message.
    RetransmittedShare,
    /// Timeouts of a message.
    Timeouts,
}

/// A name or value as written.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Word {
    pub at: usize,
    pub text: String,
    /// Its value when it is a number without quotes.
    pub number: Option<f64>,
}

impl Node {
    /// The nodes right below.
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

    /// Whether this node or one below it satisfies `is`.
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
    /// The messages, given with their lengths, that are in the bin with this number, from 0.
    pub(super) fn in_bin<T>(&self, number: usize, mut messages: Vec<(u64, T)>) -> Vec<(u64, T)> {
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

impl Quantity {
    /// Whether it is counted while it happens, so that it is known for a message that did not finish too.
    pub(super) fn is_count(self) -> bool {
        matches!(self, Quantity::Retransmissions | Quantity::RetransmittedShare | Quantity::Timeouts)
    }

    /// The things that have this quantity, in the plural.
    pub(super) fn plural(self) -> &'static str {
        if self == Quantity::Cct { "jobs" } else { "messages" }
    }
}

/// Whether `entity` is `known` or contains it: `tor:0/up` covers `tor:0/up:3` but not `tor:0/upper`.
pub(crate) fn covers(entity: &str, known: &str) -> bool {
    known.strip_prefix(entity).is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '/']))
}
