//! Errors of measures, with suggestions for misspelt names.

use std::ops::Range;

/// A measure that cannot be read or evaluated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("measure `{measure}`, column {column}: {message}")]
pub struct MeasureError {
    /// The measure as it was written.
    pub measure: String,
    /// The position of the error, counted in characters from 1.
    pub column: usize,
    /// A description of the error.
    pub message: String,
    /// The byte range of an unknown name, and the most similar known name.
    pub instead: Option<(Range<usize>, String)>,
}

/// An error at a byte offset in the text.
#[derive(Debug)]
pub(super) struct ErrorAt {
    pub at: usize,
    pub message: String,
    pub instead: Option<(Range<usize>, String)>,
}

impl ErrorAt {
    pub fn new<T>(at: usize, message: impl Into<String>) -> Result<T, ErrorAt> {
        Err(ErrorAt { at, message: message.into(), instead: None })
    }

    pub fn within(self, text: &str) -> MeasureError {
        let column = text.char_indices().take_while(|(position, _)| *position < self.at).count() + 1;
        MeasureError { measure: text.to_owned(), column, message: self.message, instead: self.instead }
    }
}

/// The hint `; did you mean X?` with the most similar name among `known`, or a list of `known` if none is similar
/// enough.
pub(super) fn hint<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    match nearest(written, &known) {
        Some(name) => format!("; did you mean `{name}`?"),
        None if known.is_empty() => "; there are none".to_owned(),
        None => format!("; known: {}", known.join(", ")),
    }
}

/// The known name that is most similar to `written`, if one is similar enough.
pub(super) fn nearest<'a>(written: &str, known: &[&'a str]) -> Option<&'a str> {
    let words = |name: &str| {
        let mut words: Vec<String> = name.split('_').map(str::to_owned).collect();
        words.sort_unstable();
        words
    };
    let of_written = words(written);
    let near = known.iter().map(|name| {
        // A name with the same words in another order is preferred to any name with similar letters.
        let other_words = words(name) != of_written;
        // Among equally similar names, one with the same first letter is preferred.
        let starts_otherwise = name.chars().next() != written.chars().next();
        (other_words, strsim::damerau_levenshtein(written, name), starts_otherwise, *name)
    });
    let is_near = |(other_words, distance, ..): &(bool, usize, bool, &str)| {
        !other_words || *distance <= 1 + written.chars().count() / 3
    };
    near.min().filter(is_near).map(|(.., name)| name)
}
