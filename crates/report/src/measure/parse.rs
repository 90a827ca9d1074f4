//! A recursive-descent parser of measures.

use super::curve::Target;
use super::{Fault, hint, nearest};
use anabranch_results::{RunRow, Statistic};

/// Bounds the tree, and with it the stack that evaluating it takes.
const MAX_NODES: usize = 512;
/// Bounds the parser's own stack.
const MAX_DEPTH: usize = 64;

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

/// With more bins, each would have hardly a message.
const MOST_BINS: usize = 100;

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
    Extra(Word),
    Series {
        statistic: Statistic,
        series: Word,
        entity: Option<String>,
        from_us: f64,
        to_us: f64,
    },
    /// The time at which curves settle, or for which they are near a value.
    Curve {
        question: Question,
        series: Word,
        entity: Option<String>,
        from_us: f64,
        to_us: f64,
        target: Target,
        /// The band, as a share of the target.
        within: f64,
        smooth_us: Option<f64>,
    },
    /// A statistic over the messages or jobs of these lengths.
    Each {
        quantity: Quantity,
        statistic: Statistic,
        /// Only the messages of this part of the workload.
        group: Option<Word>,
        min_bytes: f64,
        max_bytes: f64,
    },
}

/// The number that a function of a whole curve gives, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Question {
    Settles,
    Near,
}

const QUESTIONS: [(&str, Question); 2] =
    [("time_to_settle", Question::Settles), ("time_near", Question::Near)];

/// The arguments of a function of a whole curve beside the scheme and the series.
const CURVE_ARGUMENTS: [&str; 6] = ["value", "within", "smooth_us", "entity", "from_us", "to_us"];

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

const QUANTITIES: [(&str, Quantity); 6] = [
    ("fct", Quantity::Fct),
    ("slowdown", Quantity::Slowdown),
    ("cct", Quantity::Cct),
    ("retransmissions", Quantity::Retransmissions),
    ("retransmitted_share", Quantity::RetransmittedShare),
    ("timeouts", Quantity::Timeouts),
];

/// The argument of a function over messages after the scheme.
const STATISTICS: &str = "mean, min, max, sum, share (of those above 0) or a percentile such as p99";

/// A name or value as written.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Word {
    pub at: usize,
    pub text: String,
    /// Its value when it is a number without quotes.
    pub number: Option<f64>,
}

const SERIES_FUNCTIONS: [(&str, Statistic); 6] = [
    ("series_max", Statistic::Max),
    ("series_min", Statistic::Min),
    ("series_mean", Statistic::Mean),
    ("series_sum", Statistic::Sum),
    ("series_first", Statistic::First),
    ("series_last", Statistic::Last),
];

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

pub(super) fn parse(text: &str) -> Result<Node, Fault> {
    let mut parser = Parser { text, at: 0, nodes: 0, depth: 0 };
    let root = parser.expression()?;
    parser.skip_space();
    match parser.rest().chars().next() {
        None => Ok(root),
        Some(other) => Fault::new(parser.at, format!("expected an operator or the end, found `{other}`")),
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    nodes: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    /// A comparison, or a single sum.
    fn expression(&mut self) -> Result<Node, Fault> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Fault::new(self.at, format!("more than {MAX_DEPTH} levels deep; write it flatter"));
        }
        let first = self.sum()?;
        let at = self.at;
        let mut rest = Vec::new();
        while let Some(comparison) = self.comparison()? {
            rest.push((comparison, self.sum()?));
        }
        self.depth -= 1;
        if rest.is_empty() { Ok(first) } else { self.node(at, NodeKind::Compare(Box::new(first), rest)) }
    }

    fn comparison(&mut self) -> Result<Option<Comparison>, Fault> {
        for (sign, comparison) in [
            ("<=", Comparison::LessOrEqual),
            (">=", Comparison::GreaterOrEqual),
            ("==", Comparison::Equal),
            ("<", Comparison::Less),
            (">", Comparison::Greater),
        ] {
            if self.take(sign) {
                return Ok(Some(comparison));
            }
        }
        if self.peek() == Some('=') {
            return Fault::new(self.at, "expected `==` for a comparison, found `=`");
        }
        Ok(None)
    }

    fn sum(&mut self) -> Result<Node, Fault> {
        let mut left = self.product()?;
        loop {
            let operator = match self.peek() {
                Some('+') => Operator::Add,
                Some('-') => Operator::Subtract,
                _ => return Ok(left),
            };
            let at = self.at;
            self.at += 1;
            let right = self.product()?;
            left = self.node(at, NodeKind::Arithmetic(operator, Box::new(left), Box::new(right)))?;
        }
    }

    fn product(&mut self) -> Result<Node, Fault> {
        let mut left = self.atom()?;
        loop {
            let operator = match self.peek() {
                Some('*') => Operator::Multiply,
                Some('/') => Operator::Divide,
                _ => return Ok(left),
            };
            let at = self.at;
            self.at += 1;
            let right = self.atom()?;
            left = self.node(at, NodeKind::Arithmetic(operator, Box::new(left), Box::new(right)))?;
        }
    }

    fn atom(&mut self) -> Result<Node, Fault> {
        let first = self.peek();
        let at = self.at;
        match first {
            Some('-') => {
                let mut signs = 0;
                while self.take("-") {
                    signs += 1;
                }
                let inner = self.atom()?;
                if signs % 2 == 0 { Ok(inner) } else { self.node(at, NodeKind::Negate(Box::new(inner))) }
            }
            Some('(') => {
                self.at += 1;
                let inner = self.expression()?;
                self.expect(")")?;
                Ok(inner)
            }
            Some('[') => {
                self.at += 1;
                let low = self.expression()?;
                self.expect(",")?;
                let high = self.expression()?;
                self.expect("]")?;
                self.node(at, NodeKind::Pair(Box::new(low), Box::new(high)))
            }
            Some(digit) if digit.is_ascii_digit() || digit == '.' => self.number(),
            Some(letter) if letter.is_ascii_alphabetic() || letter == '_' => self.name(),
            Some(other) => Fault::new(at, format!("expected a number, a function or `(`, found `{other}`")),
            None => Fault::new(at, "expected a number, a function or `(`, found the end"),
        }
    }

    fn number(&mut self) -> Result<Node, Fault> {
        let at = self.at;
        let digits = |parser: &Parser<'_>, from: usize| {
            parser.text[from..].bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count()
        };
        let mut end = at + digits(self, at);
        if let Some(exponent) = self.text[end..].strip_prefix(['e', 'E']) {
            let sign = usize::from(exponent.starts_with(['+', '-']));
            let length = exponent[sign..].bytes().take_while(u8::is_ascii_digit).count();
            if length > 0 {
                end += 1 + sign + length;
            }
        }
        let written = &self.text[at..end];
        match written.parse::<f64>() {
            Ok(number) if number.is_finite() => {
                self.at = end;
                self.node(at, NodeKind::Number(number))
            }
            _ => Fault::new(at, format!("`{written}` is not a number")),
        }
    }

    /// A call, or `max over parameter:`.
    fn name(&mut self) -> Result<Node, Fault> {
        let at = self.at;
        let length =
            self.rest().bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
        let name = &self.text[at..at + length];
        self.at += length;
        if self.peek() == Some('(') {
            self.at += 1;
            return match name {
                "max" | "min" | "abs" => self.built_in(at, name),
                _ => self.call(at, name),
            };
        }
        if self.rest().strip_prefix("over").is_some_and(|rest| rest.starts_with(char::is_whitespace)) {
            return self.over(at, name);
        }
        Fault::new(self.at, format!("expected `(` after `{name}`, or `{name} over PARAMETER:`"))
    }

    fn over(&mut self, at: usize, name: &str) -> Result<Node, Fault> {
        let how = match name {
            "max" => Over::Max,
            "min" => Over::Min,
            "mean" => Over::Mean,
            "first" => Over::First,
            "last" => Over::Last,
            "range" => Over::Range,
            _ => {
                let known = ["max", "min", "mean", "first", "last", "range"];
                return Fault::new(at, format!("unknown `{name} over`{}", hint(name, known)));
            }
        };
        self.at += "over".len();
        let parameter = self.word("`seed`, a swept parameter or `bins(...)`", |c| c != ':')?;
        let axis = match self.take("(") {
            true => Axis::Bins(self.bins(&parameter)?),
            false => Axis::Parameter(parameter.text),
        };
        self.expect(":")?;
        let body = Box::new(self.expression()?);
        let by_message =
            |kind: &NodeKind| matches!(kind, NodeKind::Call(Call { function: Function::Each { .. }, .. }));
        if matches!(axis, Axis::Bins(_)) && !body.any(&by_message) {
            let message = "nothing behind this `:` is about messages one by one, as slowdown(reps, p95) is, so that all \
                           bins would be alike";
            return Fault::new(parameter.at, message);
        }
        self.node(parameter.at, NodeKind::Over { how, axis, body })
    }

    /// The arguments of `bins(10000, 1000000)` or `bins(count=20)`, behind the `(`.
    fn bins(&mut self, name: &Word) -> Result<Bins, Fault> {
        if name.text != "bins" {
            let message = format!(
                "only `bins` takes arguments here, not `{}`{}",
                name.text,
                hint(&name.text, ["bins"])
            );
            return Fault::new(name.at, message);
        }
        let mut edges: Vec<f64> = Vec::new();
        loop {
            let word = self.word("a length in bytes, or `count=`", |_| true)?;
            if edges.is_empty() && word.text == "count" {
                self.expect("=")?;
                let count = self.word("how many bins", |_| true)?;
                self.expect(")")?;
                return match count.text.parse() {
                    Ok(number) if (2..=MOST_BINS).contains(&number) => Ok(Bins::Count(number)),
                    _ => Fault::new(
                        count.at,
                        format!("expected 2 to {MOST_BINS} bins, found `{}`", count.text),
                    ),
                };
            }
            match word.number {
                Some(edge) if edge > edges.last().copied().unwrap_or(0.0) => edges.push(edge),
                Some(_) => {
                    return Fault::new(
                        word.at,
                        "expected lengths above 0, each larger than the one before it",
                    );
                }
                None => {
                    let message = format!(
                        "expected a length in bytes without a unit, or `count=20`, found `{}`",
                        word.text
                    );
                    return Fault::new(word.at, message);
                }
            }
            if edges.len() >= MOST_BINS {
                return Fault::new(word.at, format!("more than {MOST_BINS} bins"));
            }
            if !self.take(",") {
                self.expect(")")?;
                return Ok(Bins::Edges(edges));
            }
        }
    }

    fn built_in(&mut self, at: usize, name: &str) -> Result<Node, Fault> {
        let mut arguments = vec![self.expression()?];
        while self.take(",") {
            arguments.push(self.expression()?);
        }
        self.expect(")")?;
        let kind = match name {
            "max" => NodeKind::Max(arguments),
            "min" => NodeKind::Min(arguments),
            _ => match <[Node; 1]>::try_from(arguments) {
                Ok([only]) => NodeKind::Abs(Box::new(only)),
                Err(_) => return Fault::new(at, "`abs` takes one argument"),
            },
        };
        self.node(at, kind)
    }

    fn call(&mut self, at: usize, name: &str) -> Result<Node, Fault> {
        let scheme = self.word("a scheme", |_| true)?;
        let mut arguments = Arguments::default();
        while self.take(",") {
            let word = self.word("an argument", |_| true)?;
            if self.take("=") {
                arguments.named.push((word, self.word("a value", |_| true)?));
            } else if arguments.named.is_empty() {
                arguments.positional.push(word);
            } else {
                return Fault::new(
                    word.at,
                    format!("expected `name=value` after the first one, found `{}`", word.text),
                );
            }
        }
        self.expect(")")?;
        let function = function(at, name, &mut arguments)?;
        if let Some(extra) = arguments.positional.first() {
            return Fault::new(extra.at, format!("`{name}` does not take the argument `{}`", extra.text));
        }
        self.node(at, NodeKind::Call(Call { function, scheme, filters: arguments.named }))
    }

    /// A name or value inside a call: quoted, or any run of letters, digits and `_.:/%+-`.
    fn word(&mut self, expected: &str, allowed: fn(char) -> bool) -> Result<Word, Fault> {
        let first = self.peek();
        let at = self.at;
        if let Some(quote @ ('"' | '\'')) = first {
            let inner = &self.rest()[1..];
            let Some(length) = inner.find(quote) else {
                return Fault::new(at, format!("this {quote} is never closed"));
            };
            self.at += length + 2;
            return Ok(Word { at, text: inner[..length].to_owned(), number: None });
        }
        let length: usize = self
            .rest()
            .chars()
            .take_while(|&c| (c.is_alphanumeric() || "_.:/%+-".contains(c)) && allowed(c))
            .map(char::len_utf8)
            .sum();
        if length == 0 {
            let found = first.map_or("the end".to_owned(), |c| format!("`{c}`"));
            return Fault::new(at, format!("expected {expected}, found {found}"));
        }
        let text = self.text[at..at + length].to_owned();
        self.at += length;
        let numeric = text.contains(|c: char| c.is_ascii_digit());
        let number = text.parse().ok().filter(|number: &f64| numeric && number.is_finite());
        Ok(Word { at, text, number })
    }

    fn node(&mut self, at: usize, kind: NodeKind) -> Result<Node, Fault> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Fault::new(at, format!("more than {MAX_NODES} terms"));
        }
        Ok(Node { at, kind })
    }

    fn expect(&mut self, sign: &str) -> Result<(), Fault> {
        if self.take(sign) {
            return Ok(());
        }
        let found = self.peek().map_or("the end".to_owned(), |c| format!("`{c}`"));
        Fault::new(self.at, format!("expected `{sign}`, found {found}"))
    }

    fn take(&mut self, sign: &str) -> bool {
        self.skip_space();
        let found = self.rest().starts_with(sign);
        if found {
            self.at += sign.len();
        }
        found
    }

    fn peek(&mut self) -> Option<char> {
        self.skip_space();
        self.rest().chars().next()
    }

    fn skip_space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }
}

#[derive(Default)]
struct Arguments {
    positional: Vec<Word>,
    named: Vec<(Word, Word)>,
}

impl Arguments {
    fn named(&mut self, name: &str) -> Option<Word> {
        let index = self.named.iter().position(|(key, _)| key.text == name)?;
        Some(self.named.remove(index).1)
    }

    /// Whether they belong to a function over messages.
    fn about_messages(&self) -> bool {
        let asks = |(key, _): &(Word, Word)| ["group", "min_bytes", "max_bytes"].contains(&key.text.as_str());
        !self.positional.is_empty() || self.named.iter().any(asks)
    }

    fn number(&mut self, name: &str, default: f64) -> Result<f64, Fault> {
        match self.named(name) {
            None => Ok(default),
            Some(Word { number: Some(number), .. }) => Ok(number),
            Some(Word { at, text, .. }) => {
                Fault::new(at, format!("expected a number without a unit for `{name}`, found `{text}`"))
            }
        }
    }

    fn next(&mut self, at: usize, expected: &str) -> Result<Word, Fault> {
        if self.positional.is_empty() {
            return Fault::new(at, format!("expected {expected} after the scheme"));
        }
        Ok(self.positional.remove(0))
    }
}

fn function(at: usize, name: &str, arguments: &mut Arguments) -> Result<Function, Fault> {
    if let Some((_, statistic)) = SERIES_FUNCTIONS.iter().find(|(known, _)| *known == name) {
        return Ok(Function::Series {
            statistic: *statistic,
            series: arguments.next(at, "a series, such as queue_depth_bytes,")?,
            entity: arguments.named("entity").map(|word| word.text),
            from_us: arguments.number("from_us", f64::NEG_INFINITY)?,
            to_us: arguments.number("to_us", f64::INFINITY)?,
        });
    }
    if let Some((_, question)) = QUESTIONS.iter().find(|(known, _)| *known == name) {
        return curve(*question, name, at, arguments);
    }
    // A name of both kinds is a number of the whole run, unless the arguments are about messages.
    let whole = RunRow::FIELDS.contains(&name) && !arguments.about_messages();
    let quantity = QUANTITIES.iter().find(|(known, _)| *known == name && !whole);
    if let Some((_, quantity)) = quantity {
        let word = arguments.next(at, STATISTICS)?;
        let Some(statistic) = Statistic::parse(&word.text) else {
            return Fault::new(word.at, format!("expected {STATISTICS}, found `{}`", word.text));
        };
        let group = match quantity {
            Quantity::Cct => None,
            _ => arguments.named("group"),
        };
        return Ok(Function::Each {
            quantity: *quantity,
            statistic,
            group,
            min_bytes: arguments.number("min_bytes", 0.0)?,
            max_bytes: arguments.number("max_bytes", f64::INFINITY)?,
        });
    }
    match name {
        "extra" => Ok(Function::Extra(arguments.next(at, "the number's name")?)),
        _ => match RunRow::FIELDS.into_iter().find(|field| *field == name || without_unit(field) == name) {
            Some(field) => Ok(Function::Field(field)),
            None => {
                let known = RunRow::FIELDS.iter().map(|field| without_unit(field));
                let known = known.chain(SERIES_FUNCTIONS.iter().map(|(name, _)| *name));
                let known = known.chain(QUANTITIES.iter().map(|(name, _)| *name));
                let known = known.chain(QUESTIONS.iter().map(|(name, _)| *name));
                let known = known.chain(["extra", "max", "min", "abs"]);
                let known: Vec<&str> = known.collect();
                let instead = nearest(name, &known).map(|near| (at..at + name.len(), near.to_owned()));
                let message = format!("unknown field or function `{name}`{}", hint(name, known));
                Err(Fault { at, message, instead })
            }
        },
    }
}

/// A function of a whole curve. Other arguments of the call are filters, which are looked up among the swept
/// parameters; a word near one of ours is taken for a misspelling.
fn curve(question: Question, name: &str, at: usize, arguments: &mut Arguments) -> Result<Function, Fault> {
    let series = arguments.next(at, "a series, such as queue_depth_bytes,")?;
    let target = match (arguments.named("value"), question) {
        (None, Question::Settles) => Target::Last,
        (None, Question::Near) => {
            return Fault::new(at, format!("`{name}` needs `value=`: a number, `max` or `last`"));
        }
        (Some(Word { number: Some(number), .. }), _) => Target::Number(number),
        (Some(word), _) => match &*word.text {
            "max" => Target::Max,
            "last" => Target::Last,
            other => {
                let hint = hint(other, ["max", "last"]);
                return Fault::new(
                    word.at,
                    format!("expected a number, `max` or `last` for `value`, found `{other}`{hint}"),
                );
            }
        },
    };
    let mut positive = |key: &str, default: f64| {
        let at = arguments.named.iter().find(|(name, _)| name.text == key).map_or(at, |(_, word)| word.at);
        match arguments.number(key, default)? {
            number if number > 0.0 => Ok(number),
            number => Fault::new(at, format!("expected a number above 0 for `{key}`, found {number}")),
        }
    };
    let within = positive("within", NEAR)?;
    let smooth_us = Some(positive("smooth_us", f64::INFINITY)?).filter(|width| width.is_finite());
    let function = Function::Curve {
        question,
        series,
        entity: arguments.named("entity").map(|word| word.text),
        from_us: arguments.number("from_us", f64::NEG_INFINITY)?,
        to_us: arguments.number("to_us", f64::INFINITY)?,
        target,
        within,
        smooth_us,
    };
    for (key, _) in &arguments.named {
        let near = CURVE_ARGUMENTS.iter().find(|known| strsim::damerau_levenshtein(&key.text, known) <= 2);
        if let Some(known) = near {
            return Fault::new(
                key.at,
                format!("`{name}` has no argument `{}`; did you mean `{known}`?", key.text),
            );
        }
    }
    Ok(function)
}

/// The default of `within`, as a share of the value.
const NEAR: f64 = 0.1;

fn without_unit(field: &str) -> &str {
    field.strip_suffix("_us").or(field.strip_suffix("_s")).unwrap_or(field)
}
