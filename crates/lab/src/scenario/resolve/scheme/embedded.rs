//! The embedded files of the built-in schemes.

use crate::scenario::read::document::{self, Fields};
use std::sync::OnceLock;

/// The built-in schemes, each with its name and its file, in the order in which they are listed. `build.rs` generates
/// this list.
pub(in crate::scenario) const BUILT_IN: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/schemes.rs"));

/// The parts of the scheme with this name, from its file and from the files of its bases.
fn parts(name: &str) -> Fields {
    let (_, text) = BUILT_IN.iter().find(|(known, _)| *known == name).expect(TESTED);
    let own = document::parse(name, text).expect(TESTED);
    let base = own.get("base").map(|base| base.value());
    let mut parts = base.as_ref().and_then(toml::Value::as_str).map_or_else(Fields::new, parts);
    document::merge(&mut parts, &own);
    parts
}

/// The names of the built-in schemes that have a value at the dotted path `path` for which `is` returns true.
pub(in crate::scenario) fn having(path: &str, is: impl Fn(&toml::Value) -> bool) -> Vec<&'static str> {
    static PARTS: OnceLock<Vec<toml::Value>> = OnceLock::new();
    let whole = |fields: Fields| {
        toml::Value::Table(fields.iter().map(|(key, node)| (key.clone(), node.value())).collect())
    };
    let all = PARTS.get_or_init(|| BUILT_IN.iter().map(|(name, _)| whole(parts(name))).collect());
    let at =
        |whole: &toml::Value| path.split('.').try_fold(whole, |value, key| value.get(key)).is_some_and(&is);
    BUILT_IN.iter().zip(all).filter(|(_, whole)| at(whole)).map(|((name, _), _)| *name).collect()
}

const TESTED: &str = "the embedded scheme files are tested";
