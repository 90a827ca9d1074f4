//! Diagnostics of an input: errors and warnings with their place in the input and, if one is known, a fix.

use std::fmt;

/// A correction of a wrong input.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Fix {
    /// Another value in place of the wrong one.
    Value {
        /// The value. [`Fix::of_key`] adds the quotes that TOML requires.
        value: String,
    },
    /// A key and its value, in the format of the file to correct.
    Set {
        /// The key or the dotted path, with quotes where the file's format requires them.
        key: String,
        /// The value in the format of the file.
        value: String,
    },
    /// Another name, which the user probably meant.
    Rename {
        /// The text to write: the key, or the header of a table.
        written: String,
        /// The name that the user probably meant.
        name: String,
        /// The value to write with the new name, if the key of that name accepts the user's value.
        value: Option<String>,
    },
    /// Instructions in words, if no key or value can be proposed.
    Text {
        /// The words after "write: ".
        text: String,
    },
}

impl Fix {
    /// A fix that puts another value in the place of the wrong one.
    pub fn value(value: impl fmt::Display) -> Fix {
        Fix::Value { value: value.to_string() }
    }

    /// A fix that consists of the line `key = value`.
    pub fn set(key: impl fmt::Display, value: impl fmt::Display) -> Fix {
        Fix::Set { key: key.to_string(), value: value.to_string() }
    }

    /// A fix in words.
    pub fn text(text: impl fmt::Display) -> Fix {
        Fix::Text { text: text.to_string() }
    }

    /// The fix for a wrong value of `key` in a TOML file. A [`Fix::Value`] becomes a [`Fix::Set`] with this key. The
    /// value is put in quotes, except for a number, `true`, `false`, and text that begins with `"`, `[` or `{`. A
    /// [`Fix::Text`] that begins with a number, such as `2 or 4`, gets the key too.
    pub fn of_key(self, key: &str) -> Fix {
        match self {
            Fix::Value { value } => {
                let is_toml = is_toml_literal(&value) || value.starts_with(['"', '[', '{']);
                let value = if is_toml { value } else { toml_text(&value) };
                Fix::Set { key: key.to_owned(), value }
            }
            Fix::Text { text } if text.starts_with(|first: char| first.is_ascii_digit()) => {
                Fix::Text { text: format!("{key} = {text}") }
            }
            other => other,
        }
    }
}

/// Whether TOML reads the text as a truth value or a decimal number.
fn is_toml_literal(text: &str) -> bool {
    let are_digits =
        |text: &str| text.split('_').all(|part| part.bytes().all(|c| c.is_ascii_digit()) && !part.is_empty());
    let unsigned = |text: &'_ str| text.strip_prefix(['+', '-']).unwrap_or(text).to_owned();
    let number = unsigned(text);
    if ["true", "false"].contains(&text) || ["inf", "nan"].contains(&number.as_str()) {
        return true;
    }
    let (mantissa, exponent) = number.split_once(['e', 'E']).map_or((&*number, None), |(m, e)| (m, Some(e)));
    let (whole, fraction) = mantissa.split_once('.').map_or((mantissa, None), |(w, f)| (w, Some(f)));
    are_digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(are_digits)
        && exponent.is_none_or(|exponent| are_digits(&unsigned(exponent)))
}

pub(crate) fn toml_text(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted += "\\n",
            '\t' => quoted += "\\t",
            '\r' => quoted += "\\r",
            '\0'..='\u{1f}' | '\u{7f}' => quoted += &format!("\\u{:04X}", u32::from(c)),
            _ => quoted.push(c),
        }
    }
    quoted + "\""
}

impl From<String> for Fix {
    fn from(text: String) -> Fix {
        Fix::Text { text }
    }
}

impl From<&str> for Fix {
    fn from(text: &str) -> Fix {
        Fix::text(text)
    }
}

impl fmt::Display for Fix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fix::Value { value } => f.write_str(value),
            Fix::Set { key, value } => write!(f, "{key} = {value}"),
            Fix::Rename { written, name, value: Some(value) } => {
                write!(f, "{written} = {value} (did you mean {name:?}?)")
            }
            Fix::Rename { written, name, value: None } => write!(f, "{written} (did you mean {name:?}?)"),
            Fix::Text { text } => f.write_str(text),
        }
    }
}

/// An error in a value, a line or a file, found by code that does not know the place of the error in the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The error, without a full stop.
    pub message: String,
    /// The fix, if one is known.
    pub fix: Option<Fix>,
}

impl Problem {
    /// A problem whose fix is another value.
    pub fn with_value(message: impl Into<String>, value: impl fmt::Display) -> Problem {
        Problem { message: message.into(), fix: Some(Fix::value(value)) }
    }

    /// A problem whose fix is an instruction in words.
    pub fn with_text(message: impl Into<String>, text: impl fmt::Display) -> Problem {
        Problem { message: message.into(), fix: Some(Fix::text(text)) }
    }

    /// This problem with `prefix` before its message. The fix is unchanged.
    pub fn prefixed(self, prefix: impl fmt::Display) -> Problem {
        Problem { message: format!("{prefix}{}", self.message), ..self }
    }
}

impl From<String> for Problem {
    fn from(message: String) -> Problem {
        Problem { message, fix: None }
    }
}

impl From<&str> for Problem {
    fn from(message: &str) -> Problem {
        Problem::from(message.to_owned())
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.fix {
            Some(fix) => write!(f, "; write: {fix}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Problem {}

/// The severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// The input cannot be run.
    Error,
    /// The input is valid, but probably not intended.
    Warning,
}

/// The place of a diagnostic: a file and, if known, the line and the column.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Span {
    /// The file, as the user named it.
    pub file: String,
    /// The line in the file, from 1; none if there is no such line, as for a missing table or a command-line flag.
    pub line: Option<usize>,
    /// The column in characters, from 1.
    pub column: Option<usize>,
}

/// The category of a diagnostic, by which programs distinguish diagnostics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Code {
    /// A value that its key does not accept, alone or in combination with other values.
    InvalidValue,
    /// A key that does not exist in its table.
    UnknownKey,
    /// A missing key that its table requires.
    MissingKey,
    /// An unknown name of a kind, a scheme or a setup, or another word that its key does not accept.
    UnknownName,
    /// Text that does not have the required format.
    Syntax,
    /// A file that the scenario names and whose contents are wrong.
    ImportedFile,
    /// A scenario that is valid, but probably not intended.
    Doubtful,
}

/// An error or a warning about an input, for people and programs.
///
/// It prints as `perm.toml:7:1: unknown key "lnk" in [topology]` and, if there is a fix, on the next line the text to
/// write instead. Its debug form is the same, because a `main` that returns errors prints the debug form.
#[derive(Clone, PartialEq, Eq, serde::Serialize)]
pub struct Diagnostic {
    /// Whether this is an error or a warning.
    pub severity: Severity,
    /// The category, by which programs distinguish diagnostics.
    pub code: Code,
    /// The place in the input to which the message refers.
    #[serde(flatten)]
    pub span: Span,
    /// The message, without a full stop.
    pub message: String,
    /// The fix, if one is known.
    pub fix: Option<Fix>,
}

impl Diagnostic {
    /// An error with its place and category.
    pub fn error(span: Span, code: Code, message: impl Into<String>, fix: Option<Fix>) -> Diagnostic {
        Diagnostic { severity: Severity::Error, code, span, message: message.into(), fix }
    }

    /// A warning with its place. The category is [`Code::Doubtful`].
    pub fn warning(span: Span, message: impl Into<String>, fix: Option<Fix>) -> Diagnostic {
        let (severity, code) = (Severity::Warning, Code::Doubtful);
        Diagnostic { severity, code, span, message: message.into(), fix }
    }

    /// An error at `line` of a file that a scenario names. If the fix is a value, it is in the format of that file and
    /// gets no key of the scenario.
    pub fn in_file(file: impl Into<String>, line: Option<usize>, problem: Problem) -> Diagnostic {
        let span = Span { file: file.into(), line, column: None };
        Diagnostic::error(span, Code::ImportedFile, problem.message, problem.fix)
    }

    /// Turns the diagnostic into a warning.
    pub fn as_warning(self) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, code: Code::Doubtful, ..self }
    }

    /// This diagnostic with `fix` in place of its own fix.
    pub fn with_fix(self, fix: Fix) -> Diagnostic {
        Diagnostic { fix: Some(fix), ..self }
    }

    /// The text to write instead, if there is a fix.
    pub fn help(&self) -> Option<String> {
        self.fix.as_ref().map(Fix::to_string)
    }

    /// The message and the fix in one line, without the place, for readers who have only the results and not the
    /// input files.
    pub fn in_a_line(&self) -> String {
        let fix = self.fix.clone();
        Problem { message: self.message.clone(), fix }.to_string()
    }
}

impl std::error::Error for Diagnostic {}

impl fmt::Debug for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.span.file)?;
        for place in [self.span.line, self.span.column].into_iter().flatten() {
            write!(f, ":{place}")?;
        }
        write!(f, ": {}", self.message)?;
        match &self.fix {
            Some(fix) => write!(f, "\n  write: {fix}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_for_an_imported_file_is_no_key_of_the_scenario() {
        for value in ["3", "100Gbps", "1000us", "0 2 100Gbps 1us 0", "\"x\"", "[1, 2]"] {
            let problem = Problem::with_value("it is wrong", value);
            let error = Diagnostic::in_file("t.txt", Some(3), problem);
            assert_eq!(error.to_string(), format!("t.txt:3: it is wrong\n  write: {value}"));
        }
        let whole = Diagnostic::in_file("t.txt", None, "it is empty".into());
        assert_eq!(whole.to_string(), "t.txt: it is empty");
    }

    #[test]
    fn a_main_that_returns_it_shows_the_fault_and_the_fix() {
        let span = Span { file: "s.toml".into(), line: Some(7), column: Some(1) };
        let fix = Fix::set("link", "\"400Gbps\"");
        let error = Diagnostic::error(span, Code::UnknownKey, "unknown key \"lnk\"", Some(fix));
        let shown: Box<dyn std::error::Error> = error.clone().into();
        assert_eq!(format!("{shown:?}"), error.to_string());
        assert_eq!(format!("{error:?}"), "s.toml:7:1: unknown key \"lnk\"\n  write: link = \"400Gbps\"");
        assert_eq!(error.in_a_line(), "unknown key \"lnk\"; write: link = \"400Gbps\"");
    }

    #[test]
    fn a_value_gets_its_key_and_quotes_where_it_needs_them() {
        for (value, written) in [("5", "5"), ("5us", "\"5us\""), ("\"a\"", "\"a\""), ("[1, 2]", "[1, 2]")] {
            assert_eq!(Fix::value(value).of_key("key").to_string(), format!("key = {written}"));
        }
        let bare = ["true", "false", "-5", "+1_000", "0.25", "1e-3", "2.5E+7", "inf", "-nan"];
        let quoted = ["5.", ".5", "NaN", "infinity", "1e", "1.e3", "-", "truer", "007", "1__0"];
        for (values, quote) in [(&bare[..], ""), (&quoted[..], "\"")] {
            for value in values {
                let written = format!("key = {quote}{value}{quote}");
                assert_eq!(Fix::value(value).of_key("key").to_string(), written);
            }
        }
        assert_eq!(Fix::value("a\u{1b}\"b").of_key("key").to_string(), r#"key = "a\u001B\"b""#);
        assert_eq!(Fix::text("another file").of_key("key").to_string(), "another file");
        assert_eq!(Fix::text("2 or 4, or a = 3").of_key("key").to_string(), "key = 2 or 4, or a = 3");
    }

    #[test]
    fn a_name_that_may_be_meant_is_said_with_doubt() {
        let fix = |value: Option<&str>| Fix::Rename {
            written: "[topology.tier]".into(),
            name: "tier".into(),
            value: value.map(str::to_owned),
        };
        assert_eq!(fix(None).to_string(), "[topology.tier] (did you mean \"tier\"?)");
        assert_eq!(fix(Some("3")).to_string(), "[topology.tier] = 3 (did you mean \"tier\"?)");
    }
}
