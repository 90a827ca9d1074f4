//! The schemes that come with the program, and changing a parameter of one.

use super::table::{fault, list, nearest};
use super::{ScenarioError, Scheme};
use anabranch_base::Duration;
use anabranch_proto::{CcConfig, LbConfig, Size, Span, TransportConfig};

/// A scheme that comes with the program: its name and its file, embedded.
const BUILT_IN: &[(&str, &str)] = &[
    ("reps", include_str!("../../../../schemes/reps.toml")),
    ("ops", include_str!("../../../../schemes/ops.toml")),
    ("ecmp", include_str!("../../../../schemes/ecmp.toml")),
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

/// Sets the parameter at a dotted path, such as `lb.buffer`; a table replaces a whole part, such as `lb`.
pub(super) fn set(scheme: &Scheme, path: &str, value: &toml::Value) -> Result<Scheme, ParameterFault> {
    let mut whole = toml::Value::try_from(scheme).expect("a scheme is made of what TOML can say");
    if matches!(path, "name" | "title" | "source") || path.is_empty() {
        return Err(no_such(scheme, path));
    }
    let (parents, leaf) = path.rsplit_once('.').unwrap_or(("", path));
    let mut table = whole.as_table_mut();
    for part in parents.split('.').filter(|part| !part.is_empty()) {
        table = table.and_then(|t| t.get_mut(part)).and_then(toml::Value::as_table_mut);
    }
    let Some(table) = table else { return Err(no_such(scheme, path)) };
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
    matches!(path, "transport" | "cc" | "lb" | "fabric")
        || parameters(scheme).iter().any(|known| known == path)
}

/// Every parameter of a scheme, also those that are left out when they say "never".
pub(super) fn parameters(scheme: &Scheme) -> Vec<String> {
    let whole = toml::Value::try_from(scheme).expect("a scheme is made of what TOML can say");
    let mut paths = vec!["fabric.routing_delay".to_owned()];
    for (part, value) in whole.as_table().into_iter().flatten() {
        for (key, _) in value.as_table().into_iter().flatten() {
            paths.push(format!("{part}.{key}"));
        }
    }
    paths.sort();
    paths.dedup();
    paths
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

/// Checks the numbers of a scheme.
pub(super) fn validate(scheme: &Scheme) -> Result<(), ParameterFault> {
    transport(&scheme.transport)?;
    match &scheme.cc {
        CcConfig::Dctcp(cc) => {
            size("cc.initial_window", cc.initial_window, "\"1.5bdp\"")?;
            size("cc.max_window", cc.max_window, "\"1.5bdp\"")?;
            number("cc.decrease", cc.decrease, 0.0, 1.0, "0.25")?;
            number("cc.loss_decrease", cc.loss_decrease, 0.0, f64::MAX, "1.0")?;
        }
        CcConfig::Constant { window } => size("cc.window", *window, "\"1bdp\"")?,
    }
    match &scheme.lb {
        LbConfig::Ecmp {} => {}
        LbConfig::Ops { evs } => whole("lb.evs", u64::from(*evs), 1, 65_536)?,
        LbConfig::Reps(reps) => {
            whole("lb.evs", u64::from(reps.evs), 1, 65_536)?;
            whole("lb.buffer", u64::from(reps.buffer), 1, 32)?;
            whole("lb.explore_packets", u64::from(reps.explore_packets), 0, 255)?;
            span("lb.freezing_timeout", reps.freezing_timeout, "\"10ms\"")?;
            number("lb.failure_rtt", reps.failure_rtt, 0.0, f64::MAX, "1.65")?;
        }
    }
    let fabric = &scheme.fabric;
    size("fabric.queue", fabric.queue, "\"1bdp\"")?;
    size("fabric.control_queue", fabric.control_queue, "\"1bdp\"")?;
    number("fabric.ecn_kmin_percent", fabric.ecn_kmin_percent, 0.0, 100.0, "20.0")?;
    number("fabric.ecn_kmax_percent", fabric.ecn_kmax_percent, 0.0, 100.0, "80.0")?;
    if fabric.ecn_kmin_percent > fabric.ecn_kmax_percent {
        let (kmin, kmax) = (fabric.ecn_kmin_percent, fabric.ecn_kmax_percent);
        return Err(ParameterFault {
            path: "fabric.ecn_kmin_percent".to_owned(),
            message: format!("fabric.ecn_kmin_percent ({kmin}) is above fabric.ecn_kmax_percent ({kmax})"),
            instead: format!("{kmax}"),
        });
    }
    Ok(())
}

fn transport(transport: &TransportConfig) -> Result<(), ParameterFault> {
    match transport {
        TransportConfig::Sack(sack) => {
            whole("transport.payload", sack.payload.0, 1, 65_535)?;
            // A packet's size on the wire must fit 16 bits.
            whole("transport.header", sack.header.0, 1, 65_535 - sack.payload.0.min(65_534))?;
            whole("transport.ack", sack.ack.0, 1, 65_535)?;
            whole("transport.ack_every", u64::from(sack.ack_every), 1, 65_535)?;
            span("transport.rto", sack.rto, "\"70us\"")
        }
    }
}

fn whole(path: &str, value: u64, least: u64, most: u64) -> Result<(), ParameterFault> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    let size = matches!(path, "transport.payload" | "transport.header" | "transport.ack");
    let instead = value.clamp(least, most);
    Err(ParameterFault {
        path: path.to_owned(),
        message: format!("{path} must be {least} to {most}{}, not {value}", if size { " bytes" } else { "" }),
        instead: if size { format!("\"{instead}B\"") } else { instead.to_string() },
    })
}

fn number(path: &str, value: f64, least: f64, most: f64, example: &str) -> Result<(), ParameterFault> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    let range = if most == f64::MAX { format!("{least} or more") } else { format!("{least} to {most}") };
    let message = format!("{path} must be {range}, not {value}");
    Err(ParameterFault { path: path.to_owned(), message, instead: example.to_owned() })
}

fn size(path: &str, size: Size, example: &str) -> Result<(), ParameterFault> {
    let above = match size {
        Size::Bytes(bytes) => bytes.0 > 0,
        Size::Packets(n) | Size::Bdp(n) => n > 0.0,
    };
    above_zero(path, above, example)
}

fn span(path: &str, span: Span, example: &str) -> Result<(), ParameterFault> {
    let above = match span {
        Span::Time(time) => time > Duration::ZERO,
        Span::Rtt(n) => n > 0.0,
    };
    above_zero(path, above, example)
}

fn above_zero(path: &str, above: bool, example: &str) -> Result<(), ParameterFault> {
    if above {
        return Ok(());
    }
    let message = format!("{path} must be above 0");
    Err(ParameterFault { path: path.to_owned(), message, instead: example.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn parameters_are_named_in_full() {
        let ops = parameters(&scheme("ops").unwrap());
        assert!(ops.contains(&"lb.evs".to_owned()) && ops.contains(&"fabric.routing_delay".to_owned()));
        assert!(!ops.contains(&"lb.buffer".to_owned()));
    }
}
