//! A recursive-descent parser of measures.

use super::error::{ErrorAt, hint};
use super::functions::{Arguments, function};
use super::tree::{Axis, Bins, Call, Comparison, Function, Node, NodeKind, Operator, Over, Word};
use anabranch_base::Problem;

/// The largest number of nodes of a tree. The limit also bounds the stack that the evaluation of the tree needs.
const MAX_NODES: usize = 512;
/// The largest depth of nested expressions. The limit also bounds the stack that the parser needs.
const MAX_DEPTH: usize = 64;
const MOST_BINS: usize = 100;

pub(super) fn parse(text: &str) -> Result<Node, ErrorAt> {
    let mut parser = Parser { text, at: 0, nodes: 0, depth: 0 };
    let root = parser.expression()?;
    parser.skip_space();
    match parser.rest().chars().next() {
        None => Ok(root),
        Some(other) => ErrorAt::new(parser.at, format!("expected an operator or the end, found `{other}`")),
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    nodes: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    /// Parses a comparison or a sum.
    fn expression(&mut self) -> Result<Node, ErrorAt> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let message = format!("more than {MAX_DEPTH} levels deep");
            return ErrorAt::new(self.at, Problem::with_text(message, "a flatter expression").to_string());
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

    fn comparison(&mut self) -> Result<Option<Comparison>, ErrorAt> {
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
            return ErrorAt::new(self.at, "expected `==` for a comparison, found `=`");
        }
        Ok(None)
    }

    fn sum(&mut self) -> Result<Node, ErrorAt> {
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

    fn product(&mut self) -> Result<Node, ErrorAt> {
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

    fn atom(&mut self) -> Result<Node, ErrorAt> {
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
            Some(other) => ErrorAt::new(at, format!("expected a number, a function or `(`, found `{other}`")),
            None => ErrorAt::new(at, "expected a number, a function or `(`, found the end"),
        }
    }

    fn number(&mut self) -> Result<Node, ErrorAt> {
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
            _ => ErrorAt::new(at, format!("`{written}` is not a number")),
        }
    }

    /// Parses a call, or an expression such as `max over parameter:`.
    fn name(&mut self) -> Result<Node, ErrorAt> {
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
        ErrorAt::new(self.at, format!("expected `(` after `{name}`, or `{name} over PARAMETER:`"))
    }

    fn over(&mut self, at: usize, name: &str) -> Result<Node, ErrorAt> {
        let how = match name {
            "max" => Over::Max,
            "min" => Over::Min,
            "mean" => Over::Mean,
            "first" => Over::First,
            "last" => Over::Last,
            "range" => Over::Range,
            _ => {
                let known = ["max", "min", "mean", "first", "last", "range"];
                return ErrorAt::new(at, format!("unknown `{name} over`{}", hint(name, known)));
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
        let by_message = |kind: &NodeKind| {
            matches!(kind, NodeKind::Call(Call { function: Function::PerMessage { .. }, .. }))
        };
        if matches!(axis, Axis::Bins(_)) && !body.any(&by_message) {
            let message = "nothing behind this `:` is about messages one by one, as slowdown(reps, p95) is, so that all \
                           bins would be alike";
            return ErrorAt::new(parameter.at, message);
        }
        self.node(parameter.at, NodeKind::Over { how, axis, body })
    }

    /// Parses the arguments of `bins(10000, 1000000)` or `bins(count=20)`, after the `(`.
    fn bins(&mut self, name: &Word) -> Result<Bins, ErrorAt> {
        if name.text != "bins" {
            let message = format!(
                "only `bins` takes arguments here, not `{}`{}",
                name.text,
                hint(&name.text, ["bins"])
            );
            return ErrorAt::new(name.at, message);
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
                    _ => ErrorAt::new(
                        count.at,
                        format!("expected 2 to {MOST_BINS} bins, found `{}`", count.text),
                    ),
                };
            }
            match word.number {
                Some(edge) if edge > edges.last().copied().unwrap_or(0.0) => edges.push(edge),
                Some(_) => {
                    return ErrorAt::new(
                        word.at,
                        "expected lengths above 0, each larger than the one before it",
                    );
                }
                None => {
                    let message = format!(
                        "expected a length in bytes without a unit, or `count=20`, found `{}`",
                        word.text
                    );
                    return ErrorAt::new(word.at, message);
                }
            }
            if edges.len() >= MOST_BINS {
                return ErrorAt::new(word.at, format!("more than {MOST_BINS} bins"));
            }
            if !self.take(",") {
                self.expect(")")?;
                return Ok(Bins::Edges(edges));
            }
        }
    }

    fn built_in(&mut self, at: usize, name: &str) -> Result<Node, ErrorAt> {
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
                Err(_) => return ErrorAt::new(at, "`abs` takes one argument"),
            },
        };
        self.node(at, kind)
    }

    fn call(&mut self, at: usize, name: &str) -> Result<Node, ErrorAt> {
        let scheme = self.word("a scheme", |_| true)?;
        let mut arguments = Arguments::default();
        while self.take(",") {
            let word = self.word("an argument", |_| true)?;
            if self.take("=") {
                arguments.named.push((word, self.word("a value", |_| true)?));
            } else if arguments.named.is_empty() {
                arguments.positional.push(word);
            } else {
                return ErrorAt::new(
                    word.at,
                    format!("expected `name=value` after the first one, found `{}`", word.text),
                );
            }
        }
        self.expect(")")?;
        let function = function(at, name, &mut arguments)?;
        if let Some(extra) = arguments.positional.first() {
            return ErrorAt::new(extra.at, format!("`{name}` does not take the argument `{}`", extra.text));
        }
        self.node(at, NodeKind::Call(Call { function, scheme, filters: arguments.named }))
    }

    /// Parses a name or a value: text in quotes, or a sequence of `allowed` letters, digits and `_.:/%+-`.
    fn word(&mut self, expected: &str, allowed: fn(char) -> bool) -> Result<Word, ErrorAt> {
        let first = self.peek();
        let at = self.at;
        if let Some(quote @ ('"' | '\'')) = first {
            let inner = &self.rest()[1..];
            let Some(length) = inner.find(quote) else {
                return ErrorAt::new(at, format!("this {quote} is never closed"));
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
            return ErrorAt::new(at, format!("expected {expected}, found {found}"));
        }
        let text = self.text[at..at + length].to_owned();
        self.at += length;
        let numeric = text.contains(|c: char| c.is_ascii_digit());
        let number = text.parse().ok().filter(|number: &f64| numeric && number.is_finite());
        Ok(Word { at, text, number })
    }

    fn node(&mut self, at: usize, kind: NodeKind) -> Result<Node, ErrorAt> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return ErrorAt::new(at, format!("more than {MAX_NODES} terms"));
        }
        Ok(Node { at, kind })
    }

    fn expect(&mut self, sign: &str) -> Result<(), ErrorAt> {
        if self.take(sign) {
            return Ok(());
        }
        let found = self.peek().map_or("the end".to_owned(), |c| format!("`{c}`"));
        ErrorAt::new(self.at, format!("expected `{sign}`, found {found}"))
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
