//! Hosts that balance otherwise than the rest (`mix` of a scheme).

use super::kinds;
use super::registry::{self, Registry, Wrong};
use super::schemes;
use anabranch_base::Declared;
use anabranch_engine::MixSpec;
use anabranch_proto::LbConfig;

/// A value of it, for those who have none.
pub(super) const EXAMPLE: &str = "{ every = 10, lb = { kind = \"ecmp\" } }";

/// Reads the table, whose balancer may be registered.
pub(super) fn read(registry: &Registry, value: &toml::Value) -> Result<MixSpec, Wrong> {
    let wrong = |key: Option<&str>, message: String, help: String| {
        Err(Wrong { key: key.map(str::to_owned), message, help, value: None, cure: Vec::new() })
    };
    let Some(values) = value.as_table() else {
        let message = format!("expected a table that says which hosts balance otherwise, not {value}");
        return wrong(None, message, format!("mix = {EXAMPLE}"));
    };
    let mut values = values.clone();
    let Some(lb) = values.remove("lb") else {
        let message = "\"mix\" has no \"lb\", the load balancer of the hosts that balance otherwise".to_owned();
        return wrong(None, message, "lb = { kind = \"ecmp\" } beside every".to_owned());
    };
    let every = registry::read("mix", &MixSpec::declared(), &values)?.get("every");
    let registered = registry.lb(&lb).map_err(|wrong| Wrong {
        key: wrong.key.map(|key| format!("lb.{key}")),
        message: format!("lb: {}", wrong.message),
        value: None,
        ..wrong
    })?;
    if let Some(lb) = registered {
        return Ok(MixSpec { every, lb });
    }
    match lb.clone().try_into::<LbConfig>() {
        Ok(lb) => Ok(MixSpec { every, lb }),
        Err(error) => match kinds::misread(registry, "mix.lb", &lb) {
            Some((message, instead)) => {
                wrong(Some("lb"), message, instead.map_or_else(|words| words, |value| format!("lb = {value}")))
            }
            None => {
                let problem = registry.complete("lb", error.message());
                let help = "lb = { kind = ..., and its parameters }, as a scheme has it".to_owned();
                wrong(Some("lb"), format!("lb: {}", schemes::plain(&problem)), help)
            }
        },
    }
}
