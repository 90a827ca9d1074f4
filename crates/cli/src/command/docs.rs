//! `anabranch docs`: the reference entry of a parameter, or of a key of a scenario.

use super::keys;
use super::parameters::{self, Entry, Form};
use crate::args::DocsArgs;
use crate::failure::{Failure, did_you_mean};
use crate::output::{print, print_json};
use anabranch_sim::scenario::{SeriesKind, setups};
use serde_json::json;

/// Prints the entry of each key of a scenario and of each parameter of a scheme that the given name matches. The name
/// of a table such as `fabric.pfc`, or of a kind such as `poisson` or `reps`, matches all entries in it.
///
/// # Errors
/// The name is not known, or standard output cannot be written.
pub fn docs(args: &DocsArgs) -> Result<(), Failure> {
    let all = parameters::entries();
    let mut found: Vec<&Entry> = all.iter().filter(|entry| entry.is(&args.key)).collect();
    let of_scenario = keys::entries(&args.key);
    if found.is_empty() && of_scenario.is_empty() {
        found = all.iter().filter(|entry| entry.is_within(&args.key)).collect();
    }
    let form = if args.json { Form::Json } else { Form::Text };
    if found.is_empty() && of_scenario.is_empty() {
        if keys::is_section(&args.key) {
            return keys::list(Some(&args.key), form);
        }
        if parameters::is_kind_or_scheme(&args.key) {
            return parameters::list(Some(&args.key), form);
        }
        if let Some((meaning, listing)) = listed_elsewhere(&args.key) {
            return Err(Failure::Input(format!(
                "{:?} is {meaning}, and neither a parameter nor a key\n  help: `anabranch list {listing}` says what it is",
                args.key
            )));
        }
        let mut names: Vec<&str> = all.iter().flat_map(|entry| [entry.path.as_str(), entry.name()]).collect();
        names.extend(keys::names());
        names.sort_unstable();
        names.dedup();
        let last = args.key.rsplit('.').next().unwrap_or_default();
        // A name without a dot is compared with other names, and a path with other paths.
        let alike = names.iter().copied().filter(|name| name.contains('.') == args.key.contains('.'));
        let near = match (keys::meant(&args.key), did_you_mean(&args.key, alike)) {
            (Some(key), _) => format!("; did you mean {key:?}?"),
            (None, none) if none.is_empty() => did_you_mean(last, names),
            (None, near) => near,
        };
        return Err(Failure::Input(format!(
            "no parameter of a scheme and no key of a scenario is called {:?}{near}\n  help: `anabranch list parameters` and \
             `anabranch list keys` have all",
            args.key
        )));
    }
    if args.json {
        return print_json(&json!({
            "parameters": found.iter().map(|entry| entry.json()).collect::<Vec<_>>(),
            "keys": of_scenario.iter().map(|(section, key)| keys::row(section, key)).collect::<Vec<_>>(),
        }));
    }
    let mut texts: Vec<String> = found.iter().map(|entry| entry.text()).collect();
    texts.extend(of_scenario.iter().map(|(section, key)| keys::entry(section, key)));
    print(&texts.join("\n"))
}

/// If `name` is a series or a setup: a description, and the argument with which `anabranch list` lists it.
fn listed_elsewhere(name: &str) -> Option<(&'static str, &'static str)> {
    if SeriesKind::ALL.iter().any(|kind| kind.name == name) {
        return Some(("a series of [[measure]]", "series"));
    }
    setups().iter().any(|setup| setup.name == name).then_some(("a setup", "setups"))
}
