//! The schemes that come with the program, and changing a parameter of one.

use crate::scenario::read::document;
use crate::scenario::read::document::{Item, Node};
use crate::scenario::read::table::{Table, fault, list, nearest};
use crate::scenario::resolve::scheme::file::Draft;
use crate::scenario::resolve::scheme::misnamed::{no_such, of_its_type};
use crate::scenario::resolve::scheme::mix;
use crate::scenario::resolve::setup::{COMMON, Setup};
use crate::scenario::schema::kind_hints;
use crate::scenario::schema::parameter_path::parameters;
use crate::scenario::schema::parameters;
use crate::scenario::schema::plugins::Registry;
use crate::scenario::schema::plugins::Wrong;
use anabranch_base::Diagnostic;
use anabranch_engine::MixSpec;
use anabranch_engine::Scheme;
use anabranch_proto::cc::{CcConfig, DcqcnConfig};
use anabranch_proto::{LbConfig, ProgramConfig, Threshold, TransportConfig};
use std::sync::OnceLock;

/// A scheme that comes with the program: its name and its file, embedded.
pub(in crate::scenario) const BUILT_IN: &[(&str, &str)] = &[
    ("reps", include_str!("../../../../../../schemes/reps.toml")),
    ("ops", include_str!("../../../../../../schemes/ops.toml")),
    ("ecmp", include_str!("../../../../../../schemes/ecmp.toml")),
    ("plb", include_str!("../../../../../../schemes/plb.toml")),
    ("flowlet", include_str!("../../../../../../schemes/flowlet.toml")),
    ("bitmap", include_str!("../../../../../../schemes/bitmap.toml")),
    ("mprdma-lb", include_str!("../../../../../../schemes/mprdma-lb.toml")),
    ("mptcp", include_str!("../../../../../../schemes/mptcp.toml")),
    ("mptcp-one-window", include_str!("../../../../../../schemes/mptcp-one-window.toml")),
    ("adaptive-roce", include_str!("../../../../../../schemes/adaptive-roce.toml")),
    ("reps-carry", include_str!("../../../../../../schemes/reps-carry.toml")),
    ("reps-reuse", include_str!("../../../../../../schemes/reps-reuse.toml")),
    ("strack", include_str!("../../../../../../schemes/strack.toml")),
    ("strack-ops", include_str!("../../../../../../schemes/strack-ops.toml")),
    ("rocev2", include_str!("../../../../../../schemes/rocev2.toml")),
    ("rocev2-4qp", include_str!("../../../../../../schemes/rocev2-4qp.toml")),
    ("themis-spraying", include_str!("../../../../../../schemes/themis-spraying.toml")),
    ("sr-ar", include_str!("../../../../../../schemes/sr-ar.toml")),
    ("to-ar", include_str!("../../../../../../schemes/to-ar.toml")),
    ("sr-ecmp", include_str!("../../../../../../schemes/sr-ecmp.toml")),
    ("sr-spray", include_str!("../../../../../../schemes/sr-spray.toml")),
    ("conweave", include_str!("../../../../../../schemes/conweave.toml")),
    ("dcp", include_str!("../../../../../../schemes/dcp.toml")),
    ("dcp-dcqcn", include_str!("../../../../../../schemes/dcp-dcqcn.toml")),
    ("irn-ar", include_str!("../../../../../../schemes/irn-ar.toml")),
    ("irn-ar-dcqcn", include_str!("../../../../../../schemes/irn-ar-dcqcn.toml")),
    ("irn-ecmp", include_str!("../../../../../../schemes/irn-ecmp.toml")),
    ("irn-ecmp-dcqcn", include_str!("../../../../../../schemes/irn-ecmp-dcqcn.toml")),
    ("mp-rdma", include_str!("../../../../../../schemes/mp-rdma.toml")),
    ("pfc-ecmp", include_str!("../../../../../../schemes/pfc-ecmp.toml")),
    ("pfc-ecmp-dcqcn", include_str!("../../../../../../schemes/pfc-ecmp-dcqcn.toml")),
    ("hpcc", include_str!("../../../../../../schemes/hpcc.toml")),
    ("rack-tlp", include_str!("../../../../../../schemes/rack-tlp.toml")),
    ("dcqcn", include_str!("../../../../../../schemes/dcqcn.toml")),
    ("themis-longhaul", include_str!("../../../../../../schemes/themis-longhaul.toml")),
    ("pnp-only", include_str!("../../../../../../schemes/pnp-only.toml")),
    ("trp-only", include_str!("../../../../../../schemes/trp-only.toml")),
    ("annulus", include_str!("../../../../../../schemes/annulus.toml")),
    ("bicc", include_str!("../../../../../../schemes/bicc.toml")),
    ("eqds", include_str!("../../../../../../schemes/eqds.toml")),
    ("timeout", include_str!("../../../../../../schemes/timeout.toml")),
];

/// A line of `anabranch list schemes`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemeListing {
    /// Its name in scenarios.
    pub name: &'static str,
    /// One line for people.
    pub title: String,
    /// What it cannot stand without on anybody's ground; empty: nothing.
    pub needs: String,
}

/// Every scheme that comes with the program.
pub fn schemes() -> Vec<SchemeListing> {
    let listing = |(name, _): &(&'static str, &str)| {
        built_in(name).map(|draft| SchemeListing {
            name,
            title: draft.title.clone(),
            needs: draft.needs.clone(),
        })
    };
    BUILT_IN.iter().filter_map(listing).collect()
}

/// The scheme of that name on common ground.
///
/// # Errors
/// No such scheme; the error names the nearest one. Its file is empty: the caller knows where the name stood.
pub fn scheme(name: &str) -> Result<Scheme, Diagnostic> {
    scheme_on(name, COMMON)
}

/// The scheme of that name on the ground of a setup.
///
/// # Errors
/// No such scheme, or no such setup; the error names the nearest one, and its file is empty.
pub fn scheme_on(name: &str, setup: &str) -> Result<Scheme, Diagnostic> {
    let draft = built_in(name).ok_or_else(|| {
        let (message, help) = unknown(name, &[]);
        fault("", None, message, Some(help.into()))
    })?;
    let root = document::parse("", &format!("setup = {setup:?}"))?;
    let root = Node { at: None, item: Item::Table(root) };
    let registry = Registry::new();
    let setup = Setup::read(&Table::open("", "", &root)?, &registry)?;
    draft.on(&setup, &registry, "", None)
}

/// The scheme of that name that comes with the program, as written; each is read once.
pub(in crate::scenario) fn built_in(name: &str) -> Option<&'static Draft> {
    static DRAFTS: [OnceLock<Draft>; BUILT_IN.len()] = [const { OnceLock::new() }; BUILT_IN.len()];
    let place = BUILT_IN.iter().position(|(known, _)| *known == name)?;
    Some(DRAFTS[place].get_or_init(|| Draft::embedded(name, BUILT_IN[place].1)))
}

/// All that come with the program, on common ground.
pub(in crate::scenario) fn all_built_in() -> impl Iterator<Item = Scheme> {
    BUILT_IN.iter().filter_map(|(name, _)| scheme(name).ok())
}

/// The names of all schemes that come with the program; where no data centres are `joined`, without those that need some.
pub(in crate::scenario) fn names(joined: bool) -> Vec<&'static str> {
    let fits = |(name, _): &(&'static str, &str)| {
        let at = scheme(name).ok().and_then(|scheme| scheme.fabric.program_at).unwrap_or_default();
        (joined || !at.starts_with("esw")).then_some(*name)
    };
    BUILT_IN.iter().filter_map(fits).collect()
}

/// The words of the error for an unknown scheme, in a scenario that also has schemes of its own.
pub(in crate::scenario) fn unknown(name: &str, own: &[&str]) -> (String, String) {
    let known: Vec<&str> = own.iter().copied().chain(BUILT_IN.iter().map(|(known, _)| *known)).collect();
    let family: Vec<&str> =
        known.iter().copied().filter(|known| known.starts_with(&format!("{name}-"))).collect();
    let help = match (family.as_slice(), nearest(name, &known)) {
        ([_, _, ..], _) => format!("one of {}", list(&family)),
        (_, Some(near)) => format!("{near:?}"),
        (_, None) => format!("one of {}", list(&known)),
    };
    (format!("unknown scheme {name:?}"), help)
}

/// A fault of a scheme: the parameter, what is wrong with it, what to write instead.
#[derive(Debug, PartialEq)]
pub(in crate::scenario) struct ParameterFault {
    /// Such as `lb.buffer`.
    pub path: String,
    pub message: String,
    pub instead: Instead,
}

/// What to write instead of a faulty parameter.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::scenario) enum Instead {
    /// Another value of it, as TOML.
    Value(String),
    /// Another parameter with the same value.
    Parameter(String),
    /// Another parameter, without the value, which may not be meant for it.
    Name(String),
    /// Another parameter with this value, as TOML.
    Setting(String, String),
    /// Something that takes words.
    Words(String),
}

impl ParameterFault {
    /// A fault that another value cures.
    pub(in crate::scenario) fn value(
        path: &str,
        message: String,
        instead: impl Into<String>,
    ) -> ParameterFault {
        ParameterFault { path: path.to_owned(), message, instead: Instead::Value(instead.into()) }
    }

    /// A fault whose cure takes words.
    pub(in crate::scenario) fn words(
        path: &str,
        message: String,
        instead: impl Into<String>,
    ) -> ParameterFault {
        ParameterFault { path: path.to_owned(), message, instead: Instead::Words(instead.into()) }
    }
}

/// Sets the parameter at a dotted path, such as `lb.buffer`; a table replaces a whole part, such as `lb`.
pub(in crate::scenario) fn set(
    registry: &Registry,
    scheme: &Scheme,
    path: &str,
    value: &toml::Value,
) -> Result<Scheme, ParameterFault> {
    let mut whole = toml::Value::try_from(scheme).expect("a scheme is made of what TOML can say");
    if path == PRESET && matches!(scheme.cc, CcConfig::Dcqcn(_)) {
        return preset(scheme, value);
    }
    if let ("fabric.pfc", Some(on)) = (path, value.as_bool()) {
        return Err(pfc_switch(scheme, on));
    }
    if matches!(path, "name" | "title" | "source") || path.is_empty() {
        return Err(of_its_type(registry, scheme, value, no_such(scheme, path)));
    }
    let (parents, leaf) = path.rsplit_once('.').unwrap_or(("", path));
    let mut table = whole.as_table_mut();
    for part in parents.split('.').filter(|part| !part.is_empty()) {
        table = table.and_then(|t| t.get_mut(part)).and_then(toml::Value::as_table_mut);
    }
    let Some(table) = table else { return Err(of_its_type(registry, scheme, value, no_such(scheme, path))) };
    parameters::check(scheme, path, value)?;
    for (_, other) in INSTEAD_OF.iter().filter(|(set, _)| *set == path) {
        table.remove(*other);
    }
    let before = table.insert(leaf.to_owned(), value.clone());
    let registered = Chosen::take(registry, &mut whole).map_err(|misread| {
        let (part, wrong) = *misread;
        if let Some(fault) =
            path.ends_with(".kind").then(|| kind_hints::half_a_part(registry, scheme, path, value)).flatten()
        {
            return fault;
        }
        let at_key = wrong.key.as_ref().is_some_and(|key| format!("{part}.{key}") == path);
        let message = wrong.of(part);
        let whole = parameters::completed(value, &wrong.cure).filter(|_| path == part);
        match (wrong.value, whole) {
            (Some(whole), _) if part == "mix" => ParameterFault::value(part, message, whole),
            (Some(instead), _) if at_key => ParameterFault::value(path, message, instead),
            (None, _) if at_key => kind_hints::half_a_part(registry, scheme, path, value)
                .unwrap_or_else(|| of_its_type(registry, scheme, value, no_such(scheme, path))),
            (_, Some(whole)) => ParameterFault::value(part, message, whole),
            _ => ParameterFault::words(part, message, wrong.help.to_string()),
        }
    })?;
    let read = whole.try_into().map(|scheme| registered.put(scheme));
    read.map_err(|e: toml::de::Error| {
        if let Some(fault) = kind_hints::half_a_part(registry, scheme, path, value) {
            return fault;
        }
        let problem = registry.complete(path.strip_suffix(".kind").unwrap_or(path), e.message());
        if before.is_none() && !value.is_table() && problem.contains("unknown field") {
            return of_its_type(registry, scheme, value, no_such(scheme, path));
        }
        if let Some((problem, instead)) = problem.lines().next().and_then(|line| line.rsplit_once("; write "))
        {
            let message = format!("{path}{}", said(problem, value));
            return ParameterFault::value(path, message, format!("{instead:?}"));
        }
        let near = match problem.starts_with("unknown variant") {
            true => kind_hints::nearest_part(registry, path, value),
            false => None,
        };
        let instead = near.unwrap_or_else(|| match before {
            Some(toml::Value::Table(_)) | None => example(path).to_owned(),
            Some(before) => before.to_string(),
        });
        ParameterFault::value(path, format!("{path}{}", said(&problem, value)), instead)
    })
}

/// The scheme with its thresholds as sizes, where they are shares of its queue: a lossless class has no such queue.
pub(in crate::scenario) fn without_shares(scheme: &Scheme) -> Scheme {
    let mut scheme = scheme.clone();
    let Some(queue) = scheme.fabric.queue else { return scheme };
    let fabric = &mut scheme.fabric;
    let steps = fabric.ecn_from.iter_mut().flat_map(|step| [&mut step.kmin, &mut step.kmax]);
    for threshold in steps.chain([&mut fabric.ecn_kmin, &mut fabric.ecn_kmax]) {
        if let Threshold::Queue(share) = *threshold {
            *threshold = Threshold::Size(queue.times(share));
        }
    }
    scheme
}

/// The parts of a scheme that are registered, and what has such a part in it.
#[derive(Default)]
struct Chosen {
    transport: Option<TransportConfig>,
    cc: Option<CcConfig>,
    lb: Option<LbConfig>,
    program: Option<ProgramConfig>,
    mix: Option<MixSpec>,
}

impl Chosen {
    /// Takes them out of a scheme, in which parts of ours then stand in for them.
    fn take(registry: &Registry, whole: &mut toml::Value) -> Result<Chosen, Box<(&'static str, Wrong)>> {
        let mut chosen = Chosen::default();
        let stand_in = |part: &str| -> toml::Value {
            let table: toml::Table =
                toml::from_str(&format!("part = {}", example(part))).expect("it is tested");
            table["part"].clone()
        };
        let Some(parts) = whole.as_table_mut() else { return Ok(chosen) };
        if let Some(value) = parts.get_mut("transport") {
            chosen.transport =
                registry.transport_of(value).map_err(|wrong| Box::new(("transport", wrong)))?;
            chosen.transport.is_some().then(|| *value = stand_in("transport"));
        }
        if let Some(value) = parts.get_mut("cc") {
            chosen.cc = registry.cc(value).map_err(|wrong| Box::new(("cc", wrong)))?;
            chosen.cc.is_some().then(|| *value = stand_in("cc"));
        }
        if let Some(value) = parts.get_mut("lb") {
            chosen.lb = registry.lb(value).map_err(|wrong| Box::new(("lb", wrong)))?;
            chosen.lb.is_some().then(|| *value = stand_in("lb"));
        }
        if let Some(fabric) = parts.get_mut("fabric").and_then(toml::Value::as_table_mut)
            && let Some(value) = fabric.get("program")
        {
            chosen.program =
                registry.program_of(value).map_err(|wrong| Box::new(("fabric.program", wrong)))?;
            chosen.program.is_some().then(|| fabric.remove("program"));
        }
        if let Some(value) = parts.remove("mix") {
            chosen.mix = Some(mix::read(registry, &value).map_err(|wrong| Box::new(("mix", wrong)))?);
        }
        Ok(chosen)
    }

    /// Puts them back.
    fn put(self, mut scheme: Scheme) -> Scheme {
        scheme.transport = self.transport.unwrap_or(scheme.transport);
        scheme.cc = self.cc.unwrap_or(scheme.cc);
        scheme.lb = self.lb.unwrap_or(scheme.lb);
        scheme.fabric.program = self.program.or(scheme.fabric.program);
        scheme.mix = self.mix;
        scheme
    }
}

/// Parameters that take the place of another one: either threshold of the other; a buffer that is given anew is
/// that of every switch unless `buffer_rate`, which is set after it, says otherwise; a lossless class of a queue
/// that drops, and the other way round; a weight that is computed of one that is given.
pub(in crate::scenario) const INSTEAD_OF: [(&str, &str); 8] = [
    ("fabric.pfc", "queue"),
    ("fabric.pfc", "full_queue"),
    ("fabric.pfc.alpha", "threshold"),
    ("fabric.pfc.threshold", "alpha"),
    ("fabric.pfc.buffer", "buffer_rate"),
    ("fabric.queue", "pfc"),
    ("fabric.wrr.radix", "weight"),
    ("fabric.wrr.weight", "radix"),
];

/// A lossless class, for those that have none.
pub(in crate::scenario) const PFC_EXAMPLE: &str =
    "{ buffer = \"256MB\", alpha = 0.125, resume = \"2packets\" }";

const TRANSPORT_EXAMPLE: &str = "{ kind = \"sack\", payload = \"4096B\", header = \"64B\", ack = \"64B\", ack_every = 1, rto = \"70us\" }";

const FABRIC_EXAMPLE: &str = "{ queue = \"1bdp\", control_queue = \"1bdp\", ecn_kmin = \"0.2bdp\", ecn_kmax = \"0.8bdp\", ecn_pmax = 1.0, trim = false }";

/// A value of a part, or of a parameter that may be left out.
fn example(path: &str) -> &'static str {
    match path {
        "transport" => TRANSPORT_EXAMPLE,
        "cc" => "{ kind = \"constant\", window = \"1bdp\" }",
        "lb" => "{ kind = \"ops\", evs = 65536 }",
        "fabric.pfc" => PFC_EXAMPLE,
        "mix" => mix::EXAMPLE,
        "fabric.program" => "{ kind = \"flowlet\", gap = \"100us\" }",
        "fabric.program_at" => "\"tor:100%\"",
        "fabric.wrr" => "{ radix = 16 }",
        "fabric.wrr.radix" => "16",
        "fabric.wrr.weight" => "2.0",
        "fabric.pfc.alpha" => "0.125",
        "fabric.pfc.alpha_from" => "[{ rate = \"400Gbps\", alpha = 0.5 }]",
        "fabric.pfc.at" => "[{ switches = \"esw\", buffer = \"128MB\" }]",
        "fabric.pfc.buffer_rate" => "\"51.2Tbps\"",
        "fabric.pfc.headroom" => "\"120KB\"",
        "fabric.queue" | "fabric.pfc.threshold" => "\"1bdp\"",
        "fabric.routing_delay" => "\"10ms\"",
        "fabric.ecn_from" => "[{ rate = \"400Gbps\", kmin = \"800KB\", kmax = \"6400KB\" }]",
        _ => FABRIC_EXAMPLE,
    }
}

/// What a deserialiser says about a value, for people, to stand behind the parameter's name.
pub(in crate::scenario) fn said(problem: &str, value: &toml::Value) -> String {
    let relative = |text: &str| {
        let number =
            ["bdp", "packets", "queue", "rtt", "line"].iter().find_map(|unit| text.trim().strip_suffix(unit));
        number.and_then(|number| number.trim().parse::<f64>().ok())
    };
    match value.as_str().and_then(relative) {
        Some(number) if number <= 0.0 => " must be above 0".to_owned(),
        _ => format!(": {}", plain(problem)),
    }
}

/// Stands for all parameters of DCQCN: a named set of them.
pub(in crate::scenario) const PRESET: &str = "cc.preset";

fn preset(scheme: &Scheme, value: &toml::Value) -> Result<Scheme, ParameterFault> {
    let config = value.as_str().and_then(DcqcnConfig::preset).ok_or_else(|| {
        let message = format!("{PRESET}: {value} is no parameter set of DCQCN");
        match value.as_str().and_then(|name| nearest(name, &DcqcnConfig::PRESETS)) {
            Some(near) => ParameterFault::value(PRESET, message, format!("{near:?}")),
            None => ParameterFault::words(PRESET, message, format!("one of {}", list(&DcqcnConfig::PRESETS))),
        }
    })?;
    Ok(Scheme { cc: CcConfig::Dcqcn(config), ..scheme.clone() })
}

/// The fault of a lossless class that is switched on or off: it is a table, and without it there is a queue.
fn pfc_switch(scheme: &Scheme, on: bool) -> ParameterFault {
    let path = "fabric.pfc";
    let name = &scheme.name;
    let message =
        format!("{path} is a table, with the buffer and the thresholds of a lossless class, not {on}");
    match (on, scheme.fabric.pfc.is_some()) {
        (true, false) => ParameterFault::value(path, message, PFC_EXAMPLE),
        (true, true) => {
            ParameterFault::words(path, message, format!("nothing: scheme {name:?} has PFC as it is"))
        }
        (false, true) => ParameterFault::words(path, message, format!("\"{name}.fabric.queue\" = \"1bdp\"")),
        (false, false) => {
            ParameterFault::words(path, message, format!("nothing: scheme {name:?} has no PFC"))
        }
    }
}

/// Whether a path leads to a parameter or to a whole part.
pub(in crate::scenario) fn has(scheme: &Scheme, path: &str) -> bool {
    matches!(
        path,
        "transport" | "cc" | "lb" | "mix" | "fabric" | "fabric.pfc" | "fabric.program" | "fabric.wrr"
    ) || parameters(scheme).iter().any(|known| known == path)
}

/// Whether a setting for all schemes is meant for this one: a queue of a port for all is not for one that pauses, which
/// would drop with it, and that is another scheme.
pub(in crate::scenario) fn takes(scheme: &Scheme, path: &str) -> bool {
    has(scheme, path) && !(OF_QUEUES_THAT_DROP.contains(&path) && scheme.fabric.pfc.is_some())
}

/// What a fabric that pauses has no use for, though it is a fabric's.
pub(in crate::scenario) const OF_QUEUES_THAT_DROP: [&str; 4] =
    ["fabric.queue", "fabric.shared_buffer", "fabric.shared_alpha", "fabric.full_queue"];

/// The words of a deserialiser for people.
pub(in crate::scenario) fn plain(problem: &str) -> String {
    let line = problem.lines().next().unwrap_or_default();
    for kind in ["expected struct ", "expected internally tagged enum "] {
        if let Some((before, _)) = line.split_once(kind) {
            return format!("{before}expected a table");
        }
    }
    [
        (" u32", " a whole number of 0 or more"),
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
    use super::*;
    use crate::scenario::resolve::scheme::limits::validate;
    use anabranch_base::Duration;
    use anabranch_proto::lb::OpsConfig;

    fn set(scheme: &Scheme, path: &str, value: &toml::Value) -> Result<Scheme, ParameterFault> {
        super::set(&Registry::new(), scheme, path, value)
    }

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
        assert_eq!(set(&reps, "lb", &other).unwrap().lb, LbConfig::Ops(OpsConfig { evs: 32 }));
    }

    /// The hint, followed, works.
    #[test]
    fn alpha_by_packets_wants_a_cut_at_every_cnp() {
        let text = |value: &str| toml::Value::String(value.into());
        let rocev2 = set(&scheme("rocev2").unwrap(), "cc.preset", &text("conweave")).unwrap();
        let by_packets = set(&rocev2, "cc.alpha_decay", &text("packets")).unwrap();
        let wrong = validate(&by_packets).unwrap_err();
        assert_eq!(wrong.path, "cc.decrease_interval");
        assert_eq!(
            wrong.message,
            "cc.alpha_decay = \"packets\" needs a cut at every CNP, and cc.decrease_interval is 4us"
        );
        assert_eq!(wrong.instead, Instead::Value("\"0us\"".to_owned()));
        assert_eq!(validate(&set(&by_packets, "cc.decrease_interval", &text("0us")).unwrap()), Ok(()));
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
        assert_eq!(
            wrong.instead,
            Instead::Words("one of \"paper\", \"hpcc\", \"conweave\", \"htsim\"".to_owned())
        );
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
    fn a_queue_takes_the_place_of_a_lossless_class_and_the_other_way_round() {
        let rocev2 = scheme("rocev2").unwrap();
        let lossy = set(&rocev2, "fabric.queue", &"5bdp".into()).unwrap();
        assert!(lossy.fabric.pfc.is_none() && lossy.fabric.queue.is_some());
        assert_eq!(validate(&lossy), Ok(()));
        let pfc = toml::from_str(&format!("pfc = {PFC_EXAMPLE}")).unwrap();
        let toml::Value::Table(pfc) = pfc else { panic!("{pfc}") };
        let conweave = scheme_on("conweave", "themis-spraying-paper").unwrap();
        let conweave = set(&conweave, "fabric.pfc", &pfc["pfc"]).unwrap();
        assert!(conweave.fabric.pfc.is_some() && conweave.fabric.queue.is_none());
        assert_eq!(validate(&conweave), Ok(()));
    }

    /// Values that are advised for parts and for what may be left out.
    #[test]
    fn examples_can_be_set() {
        let (themis, rocev2) = (scheme("themis-spraying").unwrap(), scheme("rocev2").unwrap());
        let themis_paths =
            ["transport", "cc", "lb", "fabric", "fabric.pfc", "fabric.program", "fabric.program_at"];
        let rocev2_paths = [
            "fabric.pfc.alpha",
            "fabric.pfc.buffer_rate",
            "fabric.pfc.headroom",
            "fabric.queue",
            "fabric.wrr",
            "fabric.pfc.threshold",
            "fabric.routing_delay",
        ];
        for (scheme, path) in themis_paths
            .map(|path| (&themis, path))
            .into_iter()
            .chain(rocev2_paths.map(|path| (&rocev2, path)))
        {
            let value: toml::Table = toml::from_str(&format!("value = {}", example(path))).unwrap();
            set(scheme, path, &value["value"]).unwrap_or_else(|fault| panic!("{path}: {fault:?}"));
        }
    }
}
