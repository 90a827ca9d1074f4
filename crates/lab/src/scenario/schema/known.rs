//! Which parameters the parts of a scheme have: their types' own answer, asked by way of a key that is none.

use crate::scenario::schema::plugins::Plugins;
use anabranch_engine::{FabricSpec, PfcSpec, WrrSpec};
use anabranch_proto::{CcConfig, LbConfig, TransportConfig};
use serde::de::DeserializeOwned;
use serde::de::value::MapDeserializer;
use std::fmt;

/// A part of `fabric`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::scenario) enum Part {
    /// What can be a matter of the ground: all but the switches' program.
    Ground,
    /// `fabric.pfc`.
    Pfc,
    /// `fabric.wrr`.
    Wrr,
}

/// The kinds of a part (`transport`, `cc` or `lb`): ours and registered ones.
pub(in crate::scenario) fn kinds(part: &str, plugins: &Plugins) -> Vec<String> {
    let ours = asked(part, "");
    ours.iter().copied().chain(plugins.kinds(part)).map(str::to_owned).collect()
}

/// The parameters of a kind of a part, without `kind`.
pub(in crate::scenario) fn keys(part: &str, kind: &str, plugins: &Plugins) -> Vec<String> {
    match plugins.parameters(part, kind) {
        Some(registered) => registered,
        None => asked(part, kind).iter().map(|key| (*key).to_owned()).collect(),
    }
}

/// The parameters of the fabric, or of a part of it.
pub(in crate::scenario) fn fabric(part: Part) -> Vec<&'static str> {
    let keys = match part {
        Part::Ground => refused::<FabricSpec>(""),
        Part::Pfc => refused::<PfcSpec>(""),
        Part::Wrr => refused::<WrrSpec>(""),
    };
    keys.iter().copied().filter(|key| !key.starts_with("program")).collect()
}

/// The keys of a kind of ours, or without one the kinds.
fn asked(part: &str, kind: &str) -> &'static [&'static str] {
    match part {
        "transport" => refused::<TransportConfig>(kind),
        "cc" => refused::<CcConfig>(kind),
        _ => refused::<LbConfig>(kind),
    }
}

/// What a type says it knows, given a kind and a key that are none of it.
fn refused<T: DeserializeOwned>(kind: &str) -> &'static [&'static str] {
    // Without a kind, a type of kinds lists them; a plain one has no such field either, and lists its fields.
    let written = [("kind", if kind.is_empty() { "?" } else { kind }), ("?", "")];
    match T::deserialize(MapDeserializer::<_, Refused>::new(written.into_iter())) {
        Err(Refused(known)) => known,
        Ok(_) => &[],
    }
}

/// The names that a type would have taken.
#[derive(Debug)]
struct Refused(&'static [&'static str]);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected one of {:?}", self.0)
    }
}

impl std::error::Error for Refused {}

impl serde::de::Error for Refused {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Refused(&[])
    }
    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
        Refused(expected)
    }
    fn unknown_field(_: &str, expected: &'static [&'static str]) -> Self {
        Refused(expected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_tell_their_parameters() {
        let plugins = Plugins::default();
        assert!(kinds("transport", &plugins).contains(&"go-back-n".to_owned()));
        assert!(kinds("lb", &plugins).contains(&"reps".to_owned()));
        for part in ["transport", "cc", "lb"] {
            for kind in kinds(part, &plugins) {
                let keys = keys(part, &kind, &plugins);
                assert!(kind == "ecmp" || !keys.is_empty(), "{part} {kind}");
                assert!(!keys.contains(&"kind".to_owned()));
            }
        }
        assert_eq!(keys("cc", "constant", &plugins), ["window"]);
        assert!(keys("transport", "irn", &plugins).contains(&"rto_low".to_owned()));
        assert!(fabric(Part::Ground).contains(&"ecn_kmin") && !fabric(Part::Ground).contains(&"program"));
        assert!(fabric(Part::Pfc).contains(&"alpha") && fabric(Part::Wrr).contains(&"radix"));
    }
}
