//! Notes on parameters that change with the parameter of a search, on headroom, and on schemes that the parameter does
//! not affect.

use super::answers::SchemeAnswer;
use super::words::plain;
use crate::source::Folder;
use anabranch_base::Bytes;
use anabranch_sim::scenario::{DerivedChange, Find};

/// The two thresholds of ECN marking.
const THRESHOLDS: [&str; 2] = ["fabric.ecn_kmin", "fabric.ecn_kmax"];

/// A note on the parameters that change with the searched one. `held` is the result of [`overrides_to_hold`].
pub(super) fn followers_note(
    find: &Find,
    moved: &[DerivedChange],
    held: Option<(toml::Value, Vec<String>)>,
) -> Option<String> {
    let mut by_change: Vec<(String, Vec<&str>)> = Vec::new();
    let schemes = moved.chunk_by(|one, next| one.scheme == next.scheme);
    for of_scheme in schemes {
        let each =
            of_scheme.iter().map(|moved| format!("{} {} to {}", moved.parameter, moved.from, moved.to));
        let changes = each.collect::<Vec<String>>().join(", ");
        match by_change.iter_mut().find(|(known, _)| *known == changes) {
            Some((_, names)) => names.push(of_scheme[0].scheme.as_str()),
            None => by_change.push((changes, vec![of_scheme[0].scheme.as_str()])),
        }
    }
    let changes = by_change.iter().map(|(changes, names)| format!("{}: {changes}", names.join(", ")));
    let changes = changes.collect::<Vec<String>>().join("; ");
    if moved.is_empty() {
        return None;
    }
    let hold = match held {
        Some((at, held)) => {
            format!(
                "To hold some still, write below [set] what they are at {}: {}",
                plain(&at),
                held.join(" and ")
            )
        }
        // Without an answer, there are no values at which these parameters could be held.
        None => "A parameter that is set below [set] does not move".to_owned(),
    };
    Some(format!("Over the whole range these follow {} and move with it: {changes}. {hold}.", find.parameter))
}

/// The answer of the first scheme in `moved`, and lines for `[set]`. The lines hold the ECN thresholds of this scheme
/// in `moved`, or its first parameter if no threshold is in `moved`, at the values that belong to the answer. The
/// result is none if `moved` is empty, if the scheme has no answer, or if the values cannot be computed.
pub(super) fn overrides_to_hold(
    find: &Find,
    moved: &[DerivedChange],
    answers: &[SchemeAnswer],
    folder: &Folder,
) -> Option<(toml::Value, Vec<String>)> {
    let scheme = &moved.first()?.scheme;
    let of_it = answers.iter().find(|answer| answer.scheme == scheme);
    let (at, _) = of_it?.in_every_seed(find)?;
    let of_scheme: Vec<&DerivedChange> = moved.iter().filter(|moved| moved.scheme == *scheme).collect();
    // If one ECN threshold were held and the other moved, marking would change its form. Both are therefore held
    // together.
    let both: Vec<&DerivedChange> =
        of_scheme.iter().copied().filter(|moved| THRESHOLDS.contains(&&*moved.parameter)).collect();
    let chosen = if both.is_empty() { &of_scheme[..1] } else { &both[..] };
    let [first, _] = find.ends();
    let until = || {
        let scenario = find.scenario(&[first.clone(), at.clone()], folder).ok()?;
        Some(scenario.moved(&scenario.examine().ok()?.facts))
    };
    let until = if at == first { Vec::new() } else { until()? };
    let named = find.parameter.split('.').next().filter(|name| name == scheme).unwrap_or("*");
    let held = chosen.iter().map(|moved| {
        let known = until.iter().find(|row| row.scheme == *scheme && row.parameter == moved.parameter);
        let value = known.map_or(&moved.from, |row| &row.to);
        format!("\"{named}.{}\" = \"{}\"", moved.parameter, value.replace(' ', ""))
    });
    Some((at, held.collect()))
}

pub(super) fn headroom_note(find: &Find, headroom: &[(&str, Bytes)]) -> Option<String> {
    let each = headroom.iter().map(|(scheme, bytes)| format!("{} ({scheme})", bytes.about()));
    let each: Vec<String> = each.collect();
    (!each.is_empty()).then(|| {
        format!(
            "The headroom of each switch comes on top of {} (fabric.pfc.headroom_apart = true), at most {}.",
            find.parameter,
            each.join(", ")
        )
    })
}

pub(super) fn not_asked_note(find: &Find, not_asked: &[&str]) -> Option<String> {
    (!not_asked.is_empty())
        .then(|| format!("Not asked, as {} changes nothing of it: {}.", find.parameter, not_asked.join(", ")))
}
