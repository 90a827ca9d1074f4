//! Differences between the settings of the schemes of a result set.

use anabranch_results::ResultSet;

/// A sentence that the settings of the schemes differ more than necessary, if they do.
pub fn fairness_note(set: &ResultSet) -> Option<String> {
    set.facts.ground_differs.clone()
}
