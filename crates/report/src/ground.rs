//! What the schemes of a result set stood on.

use anabranch_results::ResultSet;

/// One sentence where the ground of the schemes differs by more than they need; none where it does not. The resolved
/// scenario has it.
pub fn ground(set: &ResultSet) -> Option<String> {
    let scenario: toml::Table = toml::from_str(&set.scenario_toml).ok()?;
    Some(scenario.get("setup")?.get("differs")?.as_str()?.to_owned())
}
