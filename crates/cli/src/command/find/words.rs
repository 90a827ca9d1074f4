//! The texts for a search and its answer.

use crate::question::Condition;
use crate::source::Folder;
use anabranch_sim::scenario::{Answer, Extremum, Find, Search};

/// Formats a number with at most three decimals and without trailing zeros. A larger number has fewer decimals.
pub(super) fn significant(number: f64) -> String {
    let whole = format!("{:.0}", number.abs().trunc()).len();
    let text = format!("{number:.places$}", places = 4_usize.saturating_sub(whole));
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// A clause about a value that was found although the condition holds at neither end of the range.
pub(super) fn holds_between_ends(find: &Find, value: &toml::Value) -> String {
    let [first, last] = find.ends();
    let (key, range) = match find.wanted {
        Extremum::Smallest => ("largest", [value, &last]),
        Extremum::Largest => ("smallest", [&first, value]),
    };
    let other = match find.is_list() {
        true => String::new(),
        false => format!("; {key} = [{}, {}] asks for the other limit", range[0], range[1]),
    };
    format!(", so that it holds at neither end ({first} and {last}), but between them{other}")
}

/// The question as text:
/// `smallest *.fabric.queue from 16KB to 8MB where drops(scheme) == 0, to 2 % at each of these seeds`.
pub(super) fn question(find: &Find) -> String {
    let [first, last] = find.ends().map(|end| plain(&end));
    let near = if find.is_list() {
        String::new()
    } else {
        format!(", to {} % at each of these seeds", find.resolution * 100.0)
    };
    format!("{} {} from {first} to {last} where {}{near}", find.key(), find.parameter, find.holds)
}

pub(super) fn plain(value: &toml::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A clause that says why a search has no answer and, if possible, where an answer may be.
pub(super) fn unanswered(
    find: &Find,
    holds: &Condition,
    answer: &Answer,
    search: &Search,
    folder: &Folder,
) -> String {
    let [first, last] = find.ends();
    let smallest = find.wanted == Extremum::Smallest;
    let try_instead = |beyond_last: bool| match range_beyond(find, holds, beyond_last, folder) {
        Some(Ok([low, high])) => format!(
            "; try {} = [{low}, {high}], and where that changes nothing, {} does not decide it",
            find.key(),
            find.parameter
        ),
        Some(Err(why)) => format!("; {why}"),
        None => format!("; add values {} the list", if beyond_last { "behind" } else { "before" }),
    };
    match answer {
        Answer::Everywhere => format!("it holds at both ends ({first} and {last}){}", try_instead(!smallest)),
        Answer::Nowhere => {
            let mut inside: Vec<(f64, toml::Value)> =
                search.tried().skip(2).map(|(place, value, _)| (place, value)).collect();
            inside.sort_by(|(a, _), (b, _)| a.total_cmp(b));
            let inside: Vec<String> = inside.into_iter().map(|(_, value)| value.to_string()).collect();
            let inside = match inside.is_empty() {
                true => String::new(),
                false => format!(", nor between them at {}", inside.join(", ")),
            };
            format!("it holds at neither end ({first} and {last}){inside}{}", try_instead(smallest))
        }
        Answer::Backwards => {
            let (holds, not) = if smallest { (&first, &last) } else { (&last, &first) };
            let other = if smallest { "largest" } else { "smallest" };
            format!("it holds at {holds} and not at {not}; ask for the {other} instead")
        }
        Answer::Bracket { .. } => String::new(),
    }
}

/// The widest permitted range beyond the last or the first end, or as an `Err` the reason why there is none. The result
/// is `None` for a list of values, and below a range that begins at 0.
fn range_beyond(
    find: &Find,
    holds: &Condition,
    last: bool,
    folder: &Folder,
) -> Option<Result<[toml::Value; 2], String>> {
    let mut refused = None;
    // The opposite end stays the same if the condition measures a value there.
    let [lowest, highest] = find.ends();
    let stays = |mut range: [toml::Value; 2]| {
        if holds.ends().any(|largest| largest != last) {
            range[usize::from(!last)] = if last { lowest.clone() } else { highest.clone() };
        }
        range
    };
    for range in find.wider(last).into_iter().map(stays) {
        match find.scenario(&range, folder).and_then(|scenario| scenario.check()) {
            Ok(_) => return Some(Ok(range)),
            Err(error) => refused = Some((range, error.message)),
        }
    }
    let ([low, high], message) = refused?;
    Some(Err(match last {
        true => format!("a larger value, such as {high}, is refused: {message}"),
        false => format!("a smaller value, such as {low}, is refused: {message}"),
    }))
}
