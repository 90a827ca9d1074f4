//! The schemes that come with the program, and changing a parameter of one.

use super::table::{fault, list, nearest};
use super::{ScenarioError, Scheme};
use anabranch_proto::cc::{CcConfig, DcqcnConfig};

/// A scheme that comes with the program: its name and its file, embedded.
const BUILT_IN: &[(&str, &str)] = &[
    ("reps", include_str!("../../../../schemes/reps.toml")),
    ("ops", include_str!("../../../../schemes/ops.toml")),
    ("ecmp", include_str!("../../../../schemes/ecmp.toml")),
    ("strack", include_str!("../../../../schemes/strack.toml")),
    ("strack-ops", include_str!("../../../../schemes/strack-ops.toml")),
    ("rocev2", include_str!("../../../../schemes/rocev2.toml")),
    ("rocev2-4qp", include_str!("../../../../schemes/rocev2-4qp.toml")),
];

/// A line of `anabranch list schemes`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemeListing {
    /// Its name in scenarios.
    pub name: &'static str,
    /// One line for people.
    pub title: String,
}

/// Every scheme that comes with the program.
pub fn schemes() -> Vec<SchemeListing> {
    BUILT_IN.iter().map(|(name, text)| SchemeListing { name, title: parse(text).title }).collect()
}

/// The scheme of that name.
///
/// # Errors
/// No such scheme; the error names the nearest one. Its file is empty: the caller knows where the name stood.
pub fn scheme(name: &str) -> Result<Scheme, ScenarioError> {
    built_in(name).ok_or_else(|| {
        let (message, help) = unknown(name, &[]);
        fault("", None, message, Some(help))
    })
}

/// The scheme of that name that comes with the program.
pub(super) fn built_in(name: &str) -> Option<Scheme> {
    BUILT_IN.iter().find(|(known, _)| *known == name).map(|(_, text)| parse(text))
}

/// The words of the error for an unknown scheme, in a scenario that also has schemes of its own.
pub(super) fn unknown(name: &str, own: &[&str]) -> (String, String) {
    let known: Vec<&str> = own.iter().copied().chain(BUILT_IN.iter().map(|(known, _)| *known)).collect();
    let help = match nearest(name, &known) {
        Some(near) => format!("{near:?}"),
        None => format!("one of {}", list(&known)),
    };
    (format!("unknown scheme {name:?}"), help)
}

/// An embedded file; a test reads them all.
fn parse(text: &str) -> Scheme {
    toml::from_str(text).expect("the embedded scheme files are tested")
}

/// A fault of a scheme: the parameter, what is wrong with it, what to write instead.
#[derive(Debug, PartialEq)]
pub(super) struct ParameterFault {
    /// Such as `lb.buffer`.
    pub path: String,
    pub message: String,
    /// A value, or words.
    pub instead: String,
}

impl ParameterFault {
    /// Whether `instead` is words and no value.
    pub(super) fn is_words(&self) -> bool {
        self.instead.starts_with("one of") || self.instead.starts_with("either")
    }
}

/// Sets the parameter at a dotted path, such as `lb.buffer`; a table replaces a whole part, such as `lb`.
pub(super) fn set(scheme: &Scheme, path: &str, value: &toml::Value) -> Result<Scheme, ParameterFault> {
    let mut whole = toml::Value::try_from(scheme).expect("a scheme is made of what TOML can say");
    if path == PRESET && matches!(scheme.cc, CcConfig::Dcqcn(_)) {
        return preset(scheme, value);
    }
    if matches!(path, "name" | "title" | "source") || path.is_empty() {
        return Err(no_such(scheme, path));
    }
    let (parents, leaf) = path.rsplit_once('.').unwrap_or(("", path));
    let mut table = whole.as_table_mut();
    for part in parents.split('.').filter(|part| !part.is_empty()) {
        table = table.and_then(|t| t.get_mut(part)).and_then(toml::Value::as_table_mut);
    }
    let Some(table) = table else { return Err(no_such(scheme, path)) };
    if let Some((_, other)) = INSTEAD_OF.iter().find(|(set, _)| *set == path) {
        table.remove(*other);
    }
    let before = table.insert(leaf.to_owned(), value.clone());
    whole.try_into().map_err(|e: toml::de::Error| {
        let problem = e.message().to_owned();
        if before.is_none() && problem.contains("unknown field") {
            return no_such(scheme, path);
        }
        let instead = match before {
            Some(before @ toml::Value::Table(_)) => format!("a table with the keys {}", keys(&before)),
            Some(before) => before.to_string(),
            None => "\"10ms\"".to_owned(),
        };
        ParameterFault { path: path.to_owned(), message: format!("{path}: {}", plain(&problem)), instead }
    })
}

/// Parameters that take the place of another one: either threshold of the other; a buffer that is given anew is
/// that of every switch unless `buffer_rate`, which is set after it, says otherwise.
const INSTEAD_OF: [(&str, &str); 3] = [
    ("fabric.pfc.alpha", "threshold"),
    ("fabric.pfc.threshold", "alpha"),
    ("fabric.pfc.buffer", "buffer_rate"),
];

/// Stands for all parameters of DCQCN: a named set of them.
pub(super) const PRESET: &str = "cc.preset";

fn preset(scheme: &Scheme, value: &toml::Value) -> Result<Scheme, ParameterFault> {
    let config = value.as_str().and_then(DcqcnConfig::preset).ok_or_else(|| ParameterFault {
        path: PRESET.to_owned(),
        message: format!("{PRESET}: {value} is no parameter set of DCQCN"),
        instead: format!("one of {}", list(&DcqcnConfig::PRESETS)),
    })?;
    Ok(Scheme { cc: CcConfig::Dcqcn(config), ..scheme.clone() })
}

/// The fault of a path that leads to no parameter.
pub(super) fn no_such(scheme: &Scheme, path: &str) -> ParameterFault {
    let known = parameters(scheme);
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let near = nearest_path(path, &known).map(str::to_owned);
    ParameterFault {
        path: path.to_owned(),
        message: format!("scheme {:?} has no parameter {path:?}", scheme.name),
        instead: near.unwrap_or_else(|| format!("one of {}", known.join(", "))),
    }
}

/// Whether a path leads to a parameter or to a whole part.
pub(super) fn has(scheme: &Scheme, path: &str) -> bool {
    matches!(path, "transport" | "cc" | "lb" | "fabric" | "fabric.pfc")
        || parameters(scheme).iter().any(|known| known == path)
}

/// Every parameter of a scheme, also those that are left out when they say "never".
pub(super) fn parameters(scheme: &Scheme) -> Vec<String> {
    let whole = toml::Value::try_from(scheme).expect("a scheme is made of what TOML can say");
    let mut paths = vec!["qps".to_owned(), "fabric.routing_delay".to_owned()];
    if matches!(scheme.cc, CcConfig::Dcqcn(_)) {
        paths.push(PRESET.to_owned());
    }
    if scheme.fabric.pfc.is_some() {
        let left_out = ["alpha", "threshold", "buffer_rate", "headroom"];
        paths.extend(left_out.map(|key| format!("fabric.pfc.{key}")));
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

/// The known path that is most like `path`: by its whole, then by its last part.
fn nearest_path<'a>(path: &str, known: &[&'a str]) -> Option<&'a str> {
    let last = |path: &str| path.rsplit('.').next().unwrap_or_default().to_owned();
    let lasts: Vec<String> = known.iter().map(|known| last(known)).collect();
    let lasts: Vec<&str> = lasts.iter().map(String::as_str).collect();
    let by_last =
        nearest(&last(path), &lasts).and_then(|near| known.iter().find(|known| last(known) == near));
    by_last.copied().or_else(|| nearest(path, known))
}

fn keys(table: &toml::Value) -> String {
    table.as_table().map(|t| t.keys().cloned().collect::<Vec<_>>().join(", ")).unwrap_or_default()
}

/// The words of a deserialiser for people.
pub(super) fn plain(problem: &str) -> String {
    let line = problem.lines().next().unwrap_or_default();
    [
        (" u32", " a whole number"),
        (" f64", " a number"),
        (" a string", " text in quotes"),
        (" a boolean", " true or false"),
    ]
    .iter()
    .find_map(|(from, to)| line.strip_suffix(from).map(|rest| format!("{rest}{to}")))
    .unwrap_or_else(|| line.to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::scheme_limits::validate;
    use super::*;
    use anabranch_base::Duration;
    use anabranch_proto::LbConfig;

    #[test]
    fn the_embedded_schemes_are_sound() {
        for listing in schemes() {
            let scheme = scheme(listing.name).unwrap();
            assert_eq!(scheme.name, listing.name);
            assert_eq!(validate(&scheme), Ok(()), "{}", scheme.name);
            assert!(!listing.title.is_empty() && !scheme.source.is_empty());
        }
    }

    #[test]
    fn a_parameter_is_set_by_its_path() {
        let reps = scheme("reps").unwrap();
        let changed = set(&reps, "lb.buffer", &toml::Value::Integer(16)).unwrap();
        let LbConfig::Reps(lb) = &changed.lb else { panic!("{changed:?}") };
        assert_eq!(lb.buffer, 16);
        let delayed = set(&reps, "fabric.routing_delay", &toml::Value::String("10ms".into())).unwrap();
        assert_eq!(delayed.fabric.routing_delay, Some(Duration::from_us(10_000)));
        let other: toml::Value = toml::from_str("kind = \"ops\"\nevs = 32").unwrap();
        assert_eq!(set(&reps, "lb", &other).unwrap().lb, LbConfig::Ops { evs: 32 });
    }

    #[test]
    fn a_preset_replaces_all_parameters_of_dcqcn() {
        let rocev2 = scheme("rocev2").unwrap();
        for name in DcqcnConfig::PRESETS {
            let changed = set(&rocev2, "cc.preset", &toml::Value::String(name.into())).unwrap();
            assert_eq!(changed.cc, CcConfig::Dcqcn(DcqcnConfig::preset(name).unwrap()));
            assert_eq!(validate(&changed), Ok(()), "{name}");
        }
        let wrong = set(&rocev2, "cc.preset", &toml::Value::String("mlx".into())).unwrap_err();
        assert_eq!(wrong.instead, "one of \"paper\", \"hpcc\", \"conweave\"");
        assert!(set(&scheme("reps").unwrap(), "cc.preset", &toml::Value::String("paper".into())).is_err());
    }

    #[test]
    fn a_threshold_takes_the_place_of_the_other_and_a_buffer_that_of_its_scale() {
        let set_to = |scheme: &Scheme, path, value: toml::Value| set(scheme, path, &value).unwrap();
        let rocev2 = scheme("rocev2").unwrap();
        let fixed = set_to(&rocev2, "fabric.pfc.threshold", "1bdp".into());
        assert_eq!(validate(&fixed), Ok(()));
        let dynamic = set_to(&fixed, "fabric.pfc.alpha", 0.125.into());
        assert_eq!(dynamic, rocev2);
        let small = set_to(&rocev2, "fabric.pfc.buffer", "9MB".into());
        assert_eq!(small.fabric.pfc.as_ref().unwrap().buffer_rate, None);
        let scaled = set_to(&small, "fabric.pfc.buffer_rate", "2.4Tbps".into());
        assert!(scaled.fabric.pfc.unwrap().buffer_rate.is_some());
    }

    #[test]
    fn parameters_are_named_in_full() {
        let ops = parameters(&scheme("ops").unwrap());
        assert!(ops.contains(&"lb.evs".to_owned()) && ops.contains(&"fabric.routing_delay".to_owned()));
        assert!(!ops.contains(&"lb.buffer".to_owned()));
    }
}
