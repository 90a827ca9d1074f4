//! The settings that the schemes of a result set share.

use anabranch_results::ResultSet;

/// A sentence where the settings of the schemes differ by more than they need; none otherwise.
pub fn fairness_note(set: &ResultSet) -> Option<String> {
    set.facts.ground_differs.clone()
}
