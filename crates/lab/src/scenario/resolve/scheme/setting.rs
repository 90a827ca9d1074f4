//! Settings of parameters of schemes.

use crate::scenario::diagnostic::{ParameterFault, ParameterFix};
use crate::scenario::read::table::{list, nearest};
use crate::scenario::resolve::scheme::examples::example;
use crate::scenario::resolve::scheme::misnamed::{no_such, of_its_type};
use crate::scenario::resolve::scheme::mix;
use crate::scenario::schema::declared_table::{self, ParameterError};
use crate::scenario::schema::parameter_path::{INSTEAD_OF, PRESET, has};
use crate::scenario::schema::plugins::Plugins;
use crate::scenario::schema::{kind_hints, parameters};
use anabranch_base::Declared;
use anabranch_engine::{FabricSpec, MixSpec, Scheme};
use anabranch_proto::{CcConfig, LbConfig, ProgramConfig, Threshold, TransportConfig};

/// Sets the parameter at a dotted path, such as `lb.buffer`. A table replaces a whole part, such as `lb`.
pub(in crate::scenario) fn set(
    plugins: &Plugins,
    scheme: &Scheme,
    path: &str,
    value: &toml::Value,
) -> Result<Scheme, ParameterFault> {
    let mut whole = toml::Value::try_from(scheme).expect("a scheme is made of what TOML can say");
    if path == PRESET && !scheme.cc.presets().is_empty() {
        return preset(scheme, value);
    }
    if let ("fabric.pfc" | "pfc", Some(on)) = (path, value.as_bool()) {
        return Err(pfc_switch(scheme, path, on));
    }
    if matches!(path, "name" | "title" | "source") || path.is_empty() {
        return Err(of_its_type(scheme, value, no_such(scheme, path)));
    }
    let (parents, leaf) = path.rsplit_once('.').unwrap_or(("", path));
    let mut table = whole.as_table_mut();
    for part in parents.split('.').filter(|part| !part.is_empty()) {
        table = table.and_then(|t| t.get_mut(part)).and_then(toml::Value::as_table_mut);
    }
    let Some(table) = table else { return Err(of_its_type(scheme, value, no_such(scheme, path))) };
    // Parts that have kinds, and `mix`, check their own keys.
    let of_kind = ["transport.", "cc.", "lb.", "mix.", "fabric.program"];
    if !of_kind.iter().any(|part| path.starts_with(part)) && !has(scheme, path) {
        return Err(kind_hints::incomplete_part(plugins, scheme, path, value)
            .unwrap_or_else(|| of_its_type(scheme, value, no_such(scheme, path))));
    }
    parameters::check(scheme, path, value)?;
    check_whole_of_fabric(path, value)?;
    for (_, other) in INSTEAD_OF.iter().filter(|(set, _)| *set == path) {
        table.remove(*other);
    }
    let before = table.insert(leaf.to_owned(), value.clone());
    let registered = Chosen::take(plugins, &mut whole).map_err(|refused| {
        let (part, wrong) = *refused;
        if let Some(fault) = path
            .ends_with(".kind")
            .then(|| kind_hints::incomplete_part(plugins, scheme, path, value))
            .flatten()
        {
            return fault;
        }
        let at_key = wrong.key.as_ref().is_some_and(|key| format!("{part}.{key}") == path);
        let message = wrong.of(part);
        let whole = parameters::completed(value, &wrong.cure).filter(|_| path == part);
        match (wrong.value, whole) {
            (Some(whole), _) if part == "mix" => ParameterFault::value(part, message, whole),
            (Some(instead), _) if at_key => ParameterFault::value(path, message, instead),
            (None, _) if at_key => kind_hints::incomplete_part(plugins, scheme, path, value)
                .unwrap_or_else(|| of_its_type(scheme, value, no_such(scheme, path))),
            (_, Some(whole)) => ParameterFault::value(part, message, whole),
            _ => ParameterFault::words(part, message, wrong.help.to_string()),
        }
    })?;
    let read = whole.try_into().map(|scheme| registered.put(scheme));
    read.map_err(|error| unreadable(plugins, scheme, (path, value), before.as_ref(), &error))
}

/// The error for a value that the deserialiser rejects. `before` is the old value.
fn unreadable(
    plugins: &Plugins,
    scheme: &Scheme,
    (path, value): (&str, &toml::Value),
    before: Option<&toml::Value>,
    error: &toml::de::Error,
) -> ParameterFault {
    if let Some(fault) = kind_hints::incomplete_part(plugins, scheme, path, value) {
        return fault;
    }
    let instead = || match before {
        Some(toml::Value::Table(_)) | None => example(path).to_owned(),
        Some(before) => before.to_string(),
    };
    let (part, kind) = match path.strip_suffix(".kind") {
        Some(part) => (part, Some(value)),
        None => (path, value.get("kind")),
    };
    if let Some(message) = kind.and_then(|kind| kind_hints::unknown_kind(plugins, part, kind)) {
        let near = kind_hints::nearest_part(plugins, path, value);
        return ParameterFault::value(path, message, near.unwrap_or_else(instead));
    }
    let message = match value.is_table() || !matches!(path, "transport" | "cc" | "lb" | "fabric.program") {
        true => format!("{path}: {}", error.message()),
        false => format!("{path} must be a table, not {value}"),
    };
    ParameterFault::value(path, message, instead())
}

/// Checks a setting of the whole fabric, or of a table or list in it, but not of its program.
fn check_whole_of_fabric(path: &str, value: &toml::Value) -> Result<(), ParameterFault> {
    let declared = FabricSpec::declared();
    let name = path.strip_prefix("fabric.").unwrap_or_default();
    let has = |after: &str| declared.iter().any(|its| its.name().starts_with(&format!("{name}{after}")));
    let is_list = has("[].");
    if path != "fabric" && (name.is_empty() || !is_list && !has(".")) {
        return Ok(());
    }
    let (form, fits) = match is_list {
        true => ("a list of tables", value.is_array()),
        false => ("a table", value.is_table()),
    };
    if !fits {
        return Err(ParameterFault::value(
            path,
            format!("{path} must be {form}, not {value}"),
            example(path),
        ));
    }
    let (part, checked) = match value.as_table() {
        None => ("fabric", declared_table::check_list(declared, name, value)),
        Some(_) if name.is_empty() => (path, parameters::check_fabric(value).map(drop)),
        Some(table) => {
            (path, declared_table::read(path, &declared_table::within(declared, name), table).map(drop))
        }
    };
    checked.map_err(|wrong| {
        let message = wrong.of(part);
        let whole = if is_list { wrong.value } else { parameters::completed(value, &wrong.cure) };
        match whole {
            Some(whole) => ParameterFault::value(path, message, whole),
            None => ParameterFault::words(path, message, wrong.help.to_string()),
        }
    })
}

/// The scheme with its thresholds as sizes. In a lossless class, a queue has no capacity of its own, so a threshold
/// cannot be a share of it.
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

/// The registered parts of a scheme, and its `mix`, whose balancer may be registered.
#[derive(Default)]
struct Chosen {
    transport: Option<TransportConfig>,
    cc: Option<CcConfig>,
    lb: Option<LbConfig>,
    program: Option<ProgramConfig>,
    mix: Option<MixSpec>,
}

impl Chosen {
    /// Removes the registered parts and the `mix` from a scheme. A scheme must have a transport, a congestion control
    /// and a load balancer, so a built-in one replaces a registered one.
    fn take(
        plugins: &Plugins,
        whole: &mut toml::Value,
    ) -> Result<Chosen, Box<(&'static str, ParameterError)>> {
        let mut chosen = Chosen::default();
        let stand_in = |part: &str| -> toml::Value {
            let table: toml::Table =
                toml::from_str(&format!("part = {}", example(part))).expect("it is tested");
            table["part"].clone()
        };
        let Some(parts) = whole.as_table_mut() else { return Ok(chosen) };
        if let Some(value) = parts.get_mut("transport") {
            chosen.transport = plugins.transport_of(value).map_err(|wrong| Box::new(("transport", wrong)))?;
            chosen.transport.is_some().then(|| *value = stand_in("transport"));
        }
        if let Some(value) = parts.get_mut("cc") {
            chosen.cc = plugins.cc(value).map_err(|wrong| Box::new(("cc", wrong)))?;
            chosen.cc.is_some().then(|| *value = stand_in("cc"));
        }
        if let Some(value) = parts.get_mut("lb") {
            chosen.lb = plugins.lb(value).map_err(|wrong| Box::new(("lb", wrong)))?;
            chosen.lb.is_some().then(|| *value = stand_in("lb"));
        }
        if let Some(fabric) = parts.get_mut("fabric").and_then(toml::Value::as_table_mut)
            && let Some(value) = fabric.get("program")
        {
            chosen.program =
                plugins.program_of(value).map_err(|wrong| Box::new(("fabric.program", wrong)))?;
            chosen.program.is_some().then(|| fabric.remove("program"));
        }
        if let Some(value) = parts.remove("mix") {
            chosen.mix = Some(mix::read(plugins, &value).map_err(|wrong| Box::new(("mix", wrong)))?);
        }
        Ok(chosen)
    }

    fn put(self, mut scheme: Scheme) -> Scheme {
        scheme.transport = self.transport.unwrap_or(scheme.transport);
        scheme.cc = self.cc.unwrap_or(scheme.cc);
        scheme.lb = self.lb.unwrap_or(scheme.lb);
        scheme.fabric.program = self.program.or(scheme.fabric.program);
        scheme.mix = self.mix;
        scheme
    }
}

fn preset(scheme: &Scheme, value: &toml::Value) -> Result<Scheme, ParameterFault> {
    let named = value.as_str().and_then(|name| scheme.cc.preset(name));
    let cc = named.ok_or_else(|| {
        let presets = scheme.cc.presets();
        let kind = scheme.cc.kind().unwrap_or_default().to_uppercase();
        let message = format!("{PRESET}: {value} is no parameter set of {kind}");
        match value.as_str().and_then(|name| nearest(name, presets)) {
            Some(near) => ParameterFault::value(PRESET, message, format!("{near:?}")),
            None => ParameterFault::words(PRESET, message, format!("one of {}", list(presets))),
        }
    })?;
    Ok(Scheme { cc, ..scheme.clone() })
}

/// The error for a truth value at `path` in place of the table `fabric.pfc`. An empty table has the values of the setup.
fn pfc_switch(scheme: &Scheme, path: &str, on: bool) -> ParameterFault {
    let name = &scheme.name;
    let message =
        format!("fabric.pfc is a table, with the buffer and the thresholds of a lossless class, not {on}");
    match (on, scheme.fabric.pfc.is_some()) {
        (true, false) if scheme.fabric.trim => ParameterFault::words(
            path,
            message,
            format!(
                "\"{name}.fabric.pfc\" = {{}} and \"{name}.fabric.trim\" = false, each on a line of its own"
            ),
        ),
        (true, false) => {
            let instead = ParameterFix::Setting("fabric.pfc".to_owned(), "{}".to_owned());
            ParameterFault::new(path, message, instead)
        }
        (true, true) => {
            ParameterFault::words(path, message, format!("nothing: scheme {name:?} has PFC as it is"))
        }
        (false, true) => ParameterFault::words(path, message, format!("\"{name}.fabric.queue\" = \"1bdp\"")),
        (false, false) => {
            ParameterFault::words(path, message, format!("nothing: scheme {name:?} has no PFC"))
        }
    }
}

/// Whether a setting for all schemes applies to this scheme. Parameters of queues that drop do not apply to a scheme
/// with PFC, because its switches would then drop packets.
pub(in crate::scenario) fn accepts(scheme: &Scheme, path: &str) -> bool {
    has(scheme, path) && !(OF_QUEUES_THAT_DROP.contains(&path) && scheme.fabric.pfc.is_some())
}

pub(in crate::scenario) const OF_QUEUES_THAT_DROP: [&str; 4] =
    ["fabric.queue", "fabric.shared_buffer", "fabric.shared_alpha", "fabric.full_queue"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::resolve::scheme::builtin::{scheme, scheme_on, schemes};
    use crate::scenario::resolve::scheme::examples::PFC_EXAMPLE;
    use crate::scenario::resolve::scheme::limits::validate;
    use anabranch_base::Duration;
    use anabranch_proto::cc::DcqcnConfig;
    use anabranch_proto::lb::OpsConfig;

    fn set(scheme: &Scheme, path: &str, value: &toml::Value) -> Result<Scheme, ParameterFault> {
        super::set(&Plugins::default(), scheme, path, value)
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
        assert_eq!(wrong.instead, ParameterFix::Value("\"0us\"".to_owned()));
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
            ParameterFix::Words("one of \"paper\", \"hpcc\", \"conweave\", \"htsim\"".to_owned())
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
