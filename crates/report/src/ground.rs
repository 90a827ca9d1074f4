//! The settings that the schemes of a result set share.

use anabranch_results::ResultSet;

/// A sentence where the settings of the schemes differ by more than they need, as the resolved scenario has it; none
/// otherwise.
pub fn ground(set: &ResultSet) -> Option<String> {
    let scenario: toml::Table = toml::from_str(&set.scenario_toml).ok()?;
    Some(scenario.get("setup")?.get("differs")?.as_str()?.to_owned())
}
