//! The declarations of a scheme's parameters, by path.

use crate::scenario::diagnostic::ParameterFault;
use crate::scenario::schema::declared_table::{self, ParameterError};
use anabranch_base::{Declared, KindDeclaration, Parameter, ParameterValue, WrongValue};
use anabranch_engine::{FabricSpec, Scheme};
use anabranch_proto::{CcConfig, LbConfig, ProgramConfig, TransportConfig};
use std::collections::BTreeSet;

/// The declarations of all parameters that can be set in this scheme, except those of registered parts, which are in
/// the registry.
pub(in crate::scenario) fn of(scheme: &Scheme) -> Vec<Parameter> {
    let whole = toml::Value::try_from(scheme).expect("a scheme is made of what TOML can say");
    let is_there = |(part, parameter): &(&str, &Parameter)| is_there(scheme, &whole, part, parameter.name());
    let all = of_parts(scheme).filter(is_there);
    all.map(|(part, parameter)| match part {
        "" => parameter.clone(),
        _ => parameter.clone().in_table(part),
    })
    .collect()
}

/// The declarations of a scheme and of its parts, each with the table that contains it.
fn of_parts(scheme: &Scheme) -> impl Iterator<Item = (&'static str, &'static Parameter)> {
    let program: &[Parameter] = scheme.fabric.program.as_ref().map_or(&[], |program| program.declared());
    let mixed: &[Parameter] = scheme.mix.as_ref().map_or(&[], |mix| mix.lb.declared());
    let parts = [
        ("", Scheme::parameters()),
        ("transport", scheme.transport.declared()),
        ("cc", scheme.cc.declared()),
        ("lb", scheme.lb.declared()),
        ("fabric.program", program),
        ("mix.lb", mixed),
    ];
    parts.into_iter().flat_map(|(part, declared)| declared.iter().map(move |parameter| (part, parameter)))
}

pub(in crate::scenario) fn kinds_of(part: &str) -> Vec<KindDeclaration> {
    match part {
        "transport" => TransportConfig::kinds(),
        "cc" => CcConfig::kinds(),
        "lb" => LbConfig::kinds(),
        _ => ProgramConfig::kinds(),
    }
}

/// The declarations of the parameters of a scheme itself and of all built-in kinds of its parts, by path.
pub(in crate::scenario) fn of_all_kinds() -> Vec<Parameter> {
    let of_kinds = ["transport", "cc", "lb", "fabric.program"].into_iter().flat_map(|part| {
        let declared = kinds_of(part).into_iter().flat_map(|kind| kind.parameters.to_vec());
        declared.map(move |parameter| parameter.in_table(part))
    });
    Scheme::parameters().iter().cloned().chain(of_kinds).collect()
}

/// The keys of a table with declared parameters. A nested table is a single key.
pub(in crate::scenario) fn keys_of(declared: &[Parameter]) -> Vec<&str> {
    let keys = declared.iter().map(|parameter| parameter.name().split(['.', '[']).next().unwrap_or_default());
    keys.collect::<BTreeSet<&str>>().into_iter().collect()
}

/// Whether the scheme has the table that contains a parameter, or the table that contains the list of the parameter.
/// `fabric.program_at` also requires a program.
fn is_there(scheme: &Scheme, whole: &toml::Value, part: &str, name: &str) -> bool {
    let table = name.split("[]").next().unwrap_or_default();
    let parents = table.rsplit_once('.').map_or("", |(parents, _)| parents);
    let mut parents = part.split('.').chain(parents.split('.')).filter(|part| !part.is_empty());
    parents.try_fold(whole, |table, part| table.get(part)).is_some()
        && (name != "fabric.program_at" || scheme.fabric.program.is_some())
}

pub(in crate::scenario) fn check(
    scheme: &Scheme,
    path: &str,
    value: &toml::Value,
) -> Result<(), ParameterFault> {
    let is_meant = |(part, parameter): &(&str, &Parameter)| match part.is_empty() {
        true => parameter.name() == path,
        false => {
            let within = path.strip_prefix(part).and_then(|rest| rest.strip_prefix('.'));
            within == Some(parameter.name())
        }
    };
    let Some((part, parameter)) = of_parts(scheme).find(is_meant) else { return Ok(()) };
    let whole = toml::Value::try_from(scheme).expect("a scheme is made of what TOML can say");
    if !is_there(scheme, &whole, part, parameter.name()) {
        return Ok(());
    }
    declared_table::coerce(parameter, value).map(drop).map_err(|WrongValue { fault, problem, instead }| {
        let message = fault.sentence(path, &problem);
        match instead {
            _ if value.is_array() => ParameterFault::words(
                path,
                message,
                "several values of it below [sweep], or one of them here",
            ),
            // A lossless class has no queue of its own, so a threshold cannot be a share of it.
            Some(ParameterValue::Text(share))
                if share.ends_with("queue") && scheme.fabric.queue.is_none() =>
            {
                ParameterFault::value(path, message, format!("{:?}", share.replace("queue", "bdp")))
            }
            Some(_) if let Some(kilobytes) = in_kilobytes(path, value) => {
                ParameterFault::value(path, message, kilobytes)
            }
            Some(instead) => ParameterFault::value(path, message, instead.to_string()),
            None => ParameterFault::words(path, message, parameter.permitted()),
        }
    })
}

/// The value of a threshold of ECN that is a number without a unit. Such thresholds are in kilobytes elsewhere, and one
/// of fewer than 64,000 bytes is less than a few packets.
fn in_kilobytes(path: &str, value: &toml::Value) -> Option<String> {
    let is_threshold = ["ecn_kmin", "ecn_kmax"].contains(&path.rsplit('.').next()?);
    let number = value.as_integer().or_else(|| value.as_str()?.trim().parse().ok())?;
    (is_threshold && (1..64_000).contains(&number)).then(|| format!("\"{number}KB\""))
}

/// A table, completed and corrected by `cure`, as TOML.
pub(in crate::scenario) fn completed(
    table: &toml::Value,
    cure: &[(String, ParameterValue)],
) -> Option<String> {
    declared_table::cured(table.as_table()?, cure).map(|table| toml::Value::Table(table).to_string())
}

/// Checks the table of a whole fabric, except for its program, whose parameters depend on its kind.
pub(in crate::scenario) fn check_fabric(values: &toml::Value) -> Result<Option<()>, ParameterError> {
    let Some(values) = values.as_table() else { return Ok(None) };
    let mut values = values.clone();
    values.remove("program");
    declared_table::read("fabric", FabricSpec::declared(), &values).map(|_| None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_base::KindDeclaration;
    use anabranch_engine::{AlphaStep, EcnStep, MixSpec, PfcClass, PfcSpec, WrrSpec};
    use anabranch_proto::program::themis_longhaul::{PnpConfig, TrpConfig};
    use anabranch_proto::{CcConfig, LbConfig, ProgramConfig, TransportConfig};
    use serde::de::DeserializeOwned;
    use std::collections::BTreeSet;
    use std::fmt;

    /// The fields that a deserialiser accepts. Its error for an unknown field lists all of them.
    fn fields<T: DeserializeOwned + fmt::Debug>(text: &str) -> BTreeSet<String> {
        let error = toml::from_str::<T>(text).unwrap_err();
        let (_, listed) = error.message().split_once("expected").unwrap_or_default();
        listed.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    }

    /// The declared fields. A table or a list is one field.
    fn declared_fields(declared: &[Parameter]) -> BTreeSet<String> {
        let first = |name: &str| name.split(['.', '[']).next().unwrap_or_default().to_owned();
        declared.iter().map(|parameter| first(parameter.name())).collect()
    }

    fn of_kinds<T: DeserializeOwned + fmt::Debug>(kinds: &[KindDeclaration]) -> usize {
        for KindDeclaration { name, meaning, parameters } in kinds {
            let known = fields::<T>(&format!("kind = {name:?}\n\"?\" = 1"));
            assert_eq!(declared_fields(parameters), known, "{name}");
            assert!(!meaning.is_empty(), "{name}");
        }
        kinds.iter().map(|kind| kind.parameters.len()).sum()
    }

    #[test]
    fn every_field_is_declared_and_every_declaration_is_a_field() {
        let of_kinds = of_kinds::<TransportConfig>(&TransportConfig::kinds())
            + of_kinds::<CcConfig>(&CcConfig::kinds())
            + of_kinds::<LbConfig>(&LbConfig::kinds())
            + of_kinds::<ProgramConfig>(&ProgramConfig::kinds());
        assert!(of_kinds > 100, "{of_kinds}");
        fn of_table<T: DeserializeOwned + Declared + fmt::Debug>(parts: &[&str]) {
            let mut declared = declared_fields(T::declared());
            declared.extend(parts.iter().map(|part| (*part).to_owned()));
            assert_eq!(declared, fields::<T>("\"?\" = 1"));
        }
        of_table::<PnpConfig>(&[]);
        of_table::<TrpConfig>(&[]);
        of_table::<PfcSpec>(&[]);
        of_table::<WrrSpec>(&[]);
        of_table::<EcnStep>(&[]);
        of_table::<AlphaStep>(&[]);
        of_table::<PfcClass>(&[]);
        of_table::<FabricSpec>(&["program"]);
        of_table::<MixSpec>(&["lb"]);
        of_table::<Scheme>(&["name", "title", "source", "needs", "own", "transport", "cc", "lb"]);
    }

    #[test]
    fn every_parameter_has_a_source_an_example_and_a_meaning() {
        for part in crate::scenario::Registry::new().parts() {
            for parameter in part.kinds.iter().flat_map(|kind| &kind.parameters) {
                let its = format!("{}.{}", part.part, parameter.name());
                assert!(!parameter.source().is_empty(), "{its}");
                assert!(parameter.example().is_some(), "{its}");
                assert!(parameter.meaning().ends_with('.'), "{its}: {}", parameter.meaning());
            }
        }
    }

    #[test]
    fn what_is_declared_to_be_unless_said_is_so() {
        fn of<T: DeserializeOwned + Declared>(needed: &str) {
            let stated = toml::from_str::<T>(needed).unwrap_or_else(|e| panic!("{needed}: {e}")).values();
            let declared = T::declared();
            assert!(declared.iter().any(|parameter| parameter.default().is_some()));
            for parameter in declared {
                // Parameters of absent tables have no values.
                if parameter.is_required() || parameter.name().contains('.') {
                    continue;
                }
                let found = stated.iter().find(|(name, _)| name == parameter.name()).map(|(_, value)| value);
                assert_eq!(found, parameter.default(), "{parameter:?}");
            }
        }
        of::<FabricSpec>(
            "control_queue = \"1bdp\"\necn_kmin = \"1bdp\"\necn_kmax = \"1bdp\"\necn_pmax = 1.0\ntrim = false",
        );
        of::<PfcSpec>("buffer = \"256MB\"\nresume = \"2packets\"");
    }

    #[test]
    fn a_table_that_lacks_something_is_completed() {
        let table: toml::Table = toml::from_str("kind = \"flowlet\"").unwrap();
        let missing = [("gap".to_owned(), ParameterValue::from("100us"))];
        let whole = completed(&toml::Value::Table(table), &missing).unwrap();
        let read: toml::Table = toml::from_str(&format!("part = {whole}")).unwrap();
        assert_eq!(read["part"]["gap"].as_str(), Some("100us"));
    }
}
