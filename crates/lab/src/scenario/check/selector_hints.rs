//! Hints about selectors that name nothing, with names that a topology has.

use super::built::selector_stream;
use anabranch_base::{Diagnostic, Fix};
use anabranch_fabric::{Selector, SelectorError, Topology};

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

/// The name of the switches that are written in place of links; none if the error is another one.
pub(super) fn switches_meant(error: &SelectorError, on: &Topology) -> Option<String> {
    Selector::parse(&error.selector).ok().filter(Selector::names_only_switches)?;
    let named = Selector::suggest(&error.selector, on, false).unwrap_or_else(|| error.selector.clone());
    let found = |name: &str| Selector::parse(name)?.switches(on, &mut selector_stream(1)).map(drop);
    match found(&named) {
        Ok(()) => Some(named),
        Err(error) => {
            let near = error.problem.fix?.to_string().trim_matches('"').to_owned();
            found(&near).is_ok().then_some(near)
        }
    }
}

/// The error for a link that is down, with the hint that the switches themselves are, where `switches` were written.
pub(super) fn of_switches(error: Diagnostic, switches: Option<&str>) -> Diagnostic {
    let Some(switches) = switches else { return error };
    let links = error.fix.as_ref().map_or_else(String::new, |fix| format!("; or {fix} for links alone"));
    let help = format!("kind = \"switch-down\" with switches = {switches:?} instead of links{links}");
    error.with_fix(Fix::text(help))
}
