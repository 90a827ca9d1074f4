//! Errors for settings of parameters that a scheme does not have. They suggest the parameters that the user probably
//! meant, with the written value if these parameters accept it.

use crate::scenario::diagnostic::{ParameterFault, ParameterFix};
use crate::scenario::resolve::scheme::embedded;
use crate::scenario::resolve::scheme::examples::{self, PFC_EXAMPLE};
use crate::scenario::schema::parameter_path::{self, PRESET, has, nearest_path, parameters, takes_values};
use anabranch_base::{Declared, Parameter};
use anabranch_engine::{PfcSpec, Scheme};

pub(in crate::scenario) fn no_such(scheme: &Scheme, path: &str) -> ParameterFault {
    let name = &scheme.name;
    if path.starts_with("fabric.pfc.") && scheme.fabric.pfc.is_none() {
        let message = format!(
            "scheme {name:?} has no PFC, so it has no {path:?} (schemes with PFC: {})",
            embedded::having("fabric.pfc", |_| true).join(", ")
        );
        let instead = ParameterFix::Setting("fabric.pfc".to_owned(), PFC_EXAMPLE.to_owned());
        return ParameterFault::new(path, message, instead);
    }
    if path.starts_with("mix.") && scheme.mix.is_none() {
        let message = format!("scheme {name:?} has no mix of balancers, so it has no {path:?}");
        let instead = ParameterFix::Setting("mix".to_owned(), examples::MIX_EXAMPLE.to_owned());
        return ParameterFault::new(path, message, instead);
    }
    if path.starts_with("fabric.program.") && scheme.fabric.program.is_none() {
        let message = format!("scheme {name:?} has no program in its switches, so it has no {path:?}");
        let instead = embedded::having("fabric.program", |_| true).join(", ");
        return ParameterFault::words(path, message, format!("that for a scheme with a program: {instead}"));
    }
    if path == PRESET {
        let message =
            format!("scheme {name:?} has no parameter {path:?}, which is a parameter set of DCQCN or NSCC");
        let of = |kind: &str| embedded::having("cc.kind", |own| own.as_str() == Some(kind)).join(", ");
        let instead = format!("that for a scheme with DCQCN: {}; or with NSCC: {}", of("dcqcn"), of("nscc"));
        return ParameterFault::words(path, message, instead);
    }
    if path == "pfc" {
        let message = format!("scheme {name:?} has no parameter {path:?}");
        return ParameterFault::new(path, message, ParameterFix::Parameter("fabric.pfc".to_owned()));
    }
    let known = parameters(scheme);
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let near = parameter_path::resolve_alias(path, scheme);
    let instead = match near.or_else(|| nearest_path(path, &known).map(str::to_owned)) {
        Some(near) => ParameterFix::Parameter(near),
        None => ParameterFix::Words(format!("one of {}", beside(path, &known).join(", "))),
    };
    let message = format!("scheme {name:?} has no parameter {path:?}");
    ParameterFault::new(path, message, instead)
}

/// The known parameters in the innermost table of `path` that has any, or all known parameters if no table has any.
fn beside<'a>(path: &str, known: &[&'a str]) -> Vec<&'a str> {
    let mut table = path;
    while let Some((above, _)) = table.rsplit_once('.') {
        let within = |known: &&str| known.strip_prefix(above).is_some_and(|rest| rest.starts_with('.'));
        let found: Vec<&str> = known.iter().copied().filter(within).collect();
        if !found.is_empty() {
            return found;
        }
        table = above;
    }
    known.to_vec()
}

/// The error, with a fix that suits the written value. A fix that is another parameter keeps the value if the value was
/// meant for that parameter and is valid there. Otherwise the fix has only the name.
pub(in crate::scenario) fn of_its_type(
    scheme: &Scheme,
    value: &toml::Value,
    fault: ParameterFault,
) -> ParameterFault {
    if let (Some(key), ParameterFix::Setting(part, example)) =
        (fault.path.strip_prefix("fabric.pfc."), &fault.instead)
        && part == "fabric.pfc"
    {
        let known: Vec<&str> = PfcSpec::declared().iter().map(Parameter::name).collect();
        if !known.iter().any(|known| known.split("[]").next() == Some(key)) {
            let its: Vec<String> = known.iter().map(|known| format!("{part}.{known}")).collect();
            return ParameterFault::words(
                &fault.path,
                fault.message,
                format!("one of {}, with PFC", its.join(", ")),
            );
        }
        // The written value is inserted into the table of the example.
        let begins = format!("{key} = ");
        let mut entries: Vec<String> =
            example.trim_matches(['{', '}', ' ']).split(", ").map(str::to_owned).collect();
        match entries.iter_mut().find(|entry| entry.starts_with(&begins)) {
            Some(entry) => *entry = format!("{begins}{value}"),
            None => entries.push(format!("{begins}{value}")),
        }
        let whole = entries.join(", ");
        let instead = ParameterFix::Setting(part.clone(), format!("{{ {whole} }}"));
        return ParameterFault { instead, ..fault };
    }
    let ParameterFix::Parameter(near) = &fault.instead else { return fault };
    let instead = match (near.starts_with("fabric.ecn_"), value.as_bool()) {
        // ECN is not switched on or off; instead, packets are marked with a probability.
        (true, Some(on)) => {
            ParameterFix::Setting("fabric.ecn_pmax".to_owned(), if on { "1.0" } else { "0.0" }.to_owned())
        }
        _ if parameter_path::is_another_name(&fault.path, near)
            && takes_values(scheme, near, std::slice::from_ref(value)) =>
        {
            return fault;
        }
        _ => ParameterFix::Name(near.clone()),
    };
    ParameterFault { instead, ..fault }
}

/// The error for a setting of all schemes (`*`) that none of them accepts.
pub(in crate::scenario) fn not_taken(scheme: &Scheme, path: &str, value: &toml::Value) -> ParameterFault {
    if !has(scheme, path) {
        return of_its_type(scheme, value, no_such(scheme, path));
    }
    let message = format!(
        "every scheme here pauses (fabric.pfc), so that {path} for all is for none; scheme {:?} has fabric.pfc.buffer",
        scheme.name
    );
    let instead =
        format!("\"*.fabric.pfc.buffer\" = \"32MB\", or \"{}.fabric.queue\" to let it drop", scheme.name);
    ParameterFault::words(path, message, instead)
}
