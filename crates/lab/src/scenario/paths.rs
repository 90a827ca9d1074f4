//! The parameters of schemes by their paths: which there are, and which is meant.

use super::table::nearest;
use super::{Scheme, declarations, schemes};
use anabranch_proto::CcConfig;
use std::collections::BTreeSet;

/// The parts of a scheme that have parameters.
const PARTS: [&str; 5] = ["fabric", "transport", "cc", "lb", "mix"];

/// Whether a part of schemes is called so.
pub(super) fn is_part(word: &str) -> bool {
    PARTS.contains(&word)
}

/// The path of the parameter that is called `key`, or nearly so, in some scheme that comes with the program.
pub(super) fn path_of(key: &str) -> Option<String> {
    let all: BTreeSet<String> = schemes::all_built_in().flat_map(|scheme| parameters(&scheme)).collect();
    // Of several the one that is nearest to the root, what switches do first.
    let rank = |path: &&String| {
        let part = PARTS.iter().position(|part| path.split('.').next() == Some(part));
        (path.matches('.').count(), part.unwrap_or(PARTS.len()))
    };
    let called = |path: &&String| path.rsplit('.').next() == Some(key);
    if let Some(path) = all.iter().filter(called).min_by_key(rank) {
        return Some(path.clone());
    }
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    nearest_path(key, &all).map(str::to_owned)
}

/// What stands for the buffer of a port elsewhere; here a queue has a length, and switches that pause share a buffer.
const BUFFERS: [&str; 5] = ["buffer", "buffers", "buffer_size", "queue_size", "queue_length"];

/// The path of the parameter of a scheme that is meant by one in the same part: that itself, what it is called here, or the
/// nearest.
pub(super) fn meant(path: &str, scheme: &Scheme) -> Option<String> {
    let (part, last) = path.split_once('.')?;
    let known = parameters(scheme);
    if known.iter().any(|known| known == path) {
        return Some(path.to_owned());
    }
    if part == "fabric" && BUFFERS.contains(&last) {
        let buffer = if scheme.fabric.pfc.is_some() { "fabric.pfc.buffer" } else { "fabric.queue" };
        return Some(buffer.to_owned());
    }
    let same_part = known.iter().map(String::as_str).filter(|known| known.split('.').next() == Some(part));
    nearest_path(path, &same_part.collect::<Vec<_>>()).map(str::to_owned)
}

/// Every parameter of a scheme, also those that are left out when they say "never".
pub(super) fn parameters(scheme: &Scheme) -> Vec<String> {
    let whole = toml::Value::try_from(scheme).expect("a scheme is made of what TOML can say");
    let of_lists = |name: &str| name.split("[]").next().unwrap_or_default().to_owned();
    let mut paths: Vec<String> =
        declarations::of(scheme).iter().map(|parameter| of_lists(parameter.name())).collect();
    if matches!(scheme.cc, CcConfig::Dcqcn(_)) {
        paths.push(schemes::PRESET.to_owned());
    }
    for (part, value) in whole.as_table().into_iter().flatten() {
        collect(part, value, &mut paths);
    }
    paths.sort();
    paths.dedup();
    paths
}

/// Adds the paths of all values in the table `value`, which stands at `at`.
fn collect(at: &str, value: &toml::Value, paths: &mut Vec<String>) {
    for (key, value) in value.as_table().into_iter().flatten() {
        let path = format!("{at}.{key}");
        match value {
            toml::Value::Table(_) => collect(&path, value, paths),
            _ => paths.push(path),
        }
    }
}

/// What others call parameters.
const OTHER_NAMES: [(&str, &str); 3] = [("mtu", "payload"), ("timeout", "rto"), ("buffer_size", "queue")];

/// The known path that is most like `path`: one that ends with it, or of those with the most likely last part the
/// likeliest whole.
pub(super) fn nearest_path<'a>(path: &str, known: &[&'a str]) -> Option<&'a str> {
    if let Some(whole) = known.iter().find(|known| known.ends_with(&format!(".{path}"))) {
        return Some(whole);
    }
    let last = |path: &str| {
        let last = path.rsplit('.').next().unwrap_or_default();
        OTHER_NAMES.iter().find(|(other, _)| *other == last).map_or(last, |(_, name)| name).to_owned()
    };
    let lasts: Vec<String> = known.iter().map(|known| last(known)).collect();
    let lasts: Vec<&str> = lasts.iter().map(String::as_str).collect();
    let Some(near) = nearest(&last(path), &lasts) else { return nearest(path, known) };
    let same_last: Vec<&str> = known.iter().copied().filter(|known| last(known) == near).collect();
    nearest(path, &same_last).or(same_last.first().copied())
}

#[cfg(test)]
mod tests {
    use super::super::scheme;
    use super::*;

    #[test]
    fn parameters_are_named_in_full() {
        let ops = parameters(&scheme("ops").unwrap());
        assert!(ops.contains(&"lb.evs".to_owned()) && ops.contains(&"fabric.routing_delay".to_owned()));
        assert!(!ops.contains(&"lb.buffer".to_owned()));
    }

    #[test]
    fn of_parameters_with_one_last_part_the_likeliest_path_is_named() {
        let known = parameters(&scheme("themis-longhaul").unwrap());
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        let nearest = |path| nearest_path(path, &known);
        assert_eq!(nearest("fabric.program.trp.alfa"), Some("fabric.program.trp.alpha"));
        assert_eq!(nearest("fabric.pfc.alfa"), Some("fabric.pfc.alpha"));
        assert_eq!(nearest("trp.alpha"), Some("fabric.program.trp.alpha"));
    }

    #[test]
    fn a_parameter_is_found_by_its_last_word() {
        assert_eq!(path_of("queue").as_deref(), Some("fabric.queue"));
        assert_eq!(path_of("rto").as_deref(), Some("transport.rto"));
        assert_eq!(path_of("ecn_kmn").as_deref(), Some("fabric.ecn_kmin"));
        assert_eq!(path_of("hosts"), None);
    }
}
