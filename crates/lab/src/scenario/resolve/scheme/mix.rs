//! Hosts whose load balancer differs from that of the other hosts (`mix` of a scheme).

use crate::scenario::resolve::scheme::examples::MIX_EXAMPLE;
use crate::scenario::schema::declared_table::{self, ParameterError};
use crate::scenario::schema::plugins::Plugins;
use crate::scenario::schema::{kind_hints, parameters};
use anabranch_base::{Declared, Fix};
use anabranch_engine::MixSpec;
use anabranch_proto::LbConfig;

/// An error proposes a whole table `mix` to write instead.
pub(in crate::scenario) fn read(plugins: &Plugins, value: &toml::Value) -> Result<MixSpec, ParameterError> {
    let Some(table) = value.as_table() else {
        return Err(instead(None, format!("every and mix.lb are to be said, not {value}"), MIX_EXAMPLE));
    };
    let mut rest = table.clone();
    let Some(lb) = rest.remove("lb") else {
        return Err(instead(None, "lb is missing, the balancer of those hosts".to_owned(), MIX_EXAMPLE));
    };
    let with = |every: Option<String>, lb: &str| {
        format!("{{ every = {}, lb = {lb} }}", every.unwrap_or_else(|| "10".to_owned()))
    };
    let as_written = || rest.get("every").map(toml::Value::to_string);
    if let Some(key) = rest.keys().find(|key| *key != "every") {
        let message = format!("{key} is nothing that a mix has: its hosts differ in their balancer alone");
        return Err(instead(Some(key), message, &with(as_written(), &lb.to_string())));
    }
    let every = declared_table::read("mix", MixSpec::declared(), &rest).map_err(|wrong| {
        let right = wrong.cure.first().map(|(_, every)| every.to_string());
        let message = match wrong.key {
            Some(_) => wrong.message,
            None => "every is missing: hosts 0, n, 2n and so on have another load balancer".to_owned(),
        };
        instead(wrong.key.as_deref(), message, &with(right, &lb.to_string()))
    })?;
    let lb = lb_of(plugins, &lb).map_err(|(message, lb)| match lb {
        Some(lb) => instead(Some("lb"), message, &with(as_written(), &lb)),
        None => instead(Some("lb"), message, MIX_EXAMPLE),
    })?;
    Ok(MixSpec { every: every.get("every"), lb })
}

fn instead(key: Option<&str>, message: String, whole: &str) -> ParameterError {
    let help = Fix::set("mix", whole);
    ParameterError {
        key: key.map(str::to_owned),
        message,
        help,
        value: Some(whole.to_owned()),
        cure: Vec::new(),
    }
}

/// The error is a message and, if there is one, a balancer to write instead.
fn lb_of(plugins: &Plugins, value: &toml::Value) -> Result<LbConfig, (String, Option<String>)> {
    let near = |value: &toml::Value| {
        let (message, instead) = kind_hints::malformed_part(plugins, "lb", value)?;
        Some((message, instead.ok()))
    };
    let registered = plugins.lb(value).map_err(|wrong| {
        let between = if wrong.value.is_some() { "." } else { ": " };
        (format!("lb{between}{}", wrong.message), parameters::completed(value, &wrong.cure))
    })?;
    if let Some(lb) = registered {
        return Ok(lb);
    }
    value.clone().try_into().map_err(|error: toml::de::Error| {
        let unknown = |kind| Some((kind, kind_hints::unknown_kind(plugins, "lb", kind)?));
        match (near(value), value.get("kind").and_then(unknown)) {
            (Some(wrong), _) => wrong,
            (None, Some((kind, message))) => (message, near(kind).and_then(|(_, lb)| lb)),
            (None, None) if !value.is_table() => (format!("lb must be a table, not {value}"), None),
            (None, None) => (format!("lb: {}", error.message()), None),
        }
    })
}
