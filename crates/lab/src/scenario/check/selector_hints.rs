//! Hints about selectors that name nothing, with names that a topology has.

use super::built::selector_stream;
use anabranch_base::{Diagnostic, Fix};
use anabranch_fabric::{Selector, Topology};

/// Whether a selector names only uplinks of hosts.
pub(super) fn names_hosts(name: &str, on: &Topology) -> bool {
    let links = Selector::parse(name).and_then(|selector| selector.links(on, &mut selector_stream(1)));
    links.is_ok_and(|links| links.iter().all(|link| on.switch(on.source(*link)).is_none()))
}

/// Examples of selectors that name hosts, links or switches of `on`. The hint about an unreadable selector shows several
/// examples, because a single one could be mistaken for the correction.
pub(super) fn selector_forms(on: &Topology, key: &str) -> Option<Fix> {
    let of_hosts = key == "hosts";
    let links = match key {
        "links" | "hosts" => true,
        "switches" => false,
        _ => return None,
    };
    let names = Selector::examples(on, links).into_iter().filter(|name| !of_hosts || names_hosts(name, on));
    let examples = names.map(|text| format!("{text:?}")).collect::<Vec<_>>();
    Some(Fix::text(format!("{key} by a name of this topology: {}", examples.join(", "))))
}

/// Adds `cable:` to the links that the fix of `error` proposes, so that they mean both directions. If the wrong
/// `selector` itself has a direction, the fix does not change.
pub(super) fn for_whole_cables(mut error: Diagnostic, selector: &str) -> Diagnostic {
    let has_side = |text: &str| ["/up", "/down", "->"].iter().any(|side| text.contains(side));
    // In a form that selectors do not have, another separator may precede the side: `ToR[0].up[0]`.
    let selector = selector.to_lowercase().replace(['.', ':', '-', ' '], "/").replace("/>", "->");
    if let Some(Fix::Set { key, value }) = &mut error.fix
        && key == "links"
        && has_side(value)
        && !has_side(&selector)
        && !value.contains("cable:")
    {
        *value = value.replacen('"', "\"cable:", 1);
    }
    error
}
