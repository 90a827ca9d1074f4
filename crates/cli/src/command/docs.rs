//! `anabranch docs`: the reference entry of a parameter.

use super::parameters::{self, Entry};
use crate::args::DocsArgs;
use crate::failure::{Failure, did_you_mean};
use crate::output::{print, print_json};
use serde_json::json;

/// Prints what a parameter may be, for each part and kind that has it.
///
/// # Errors
/// No parameter of that name, with the nearest; or standard output cannot be written.
pub fn docs(args: &DocsArgs) -> Result<(), Failure> {
    let all = parameters::entries();
    let found: Vec<&Entry> = all.iter().filter(|entry| entry.is(&args.key)).collect();
    if found.is_empty() {
        let mut names: Vec<&str> = all.iter().flat_map(|entry| [entry.path.as_str(), entry.name()]).collect();
        names.sort_unstable();
        names.dedup();
        let near = did_you_mean(&args.key, names);
        return Err(Failure::Input(format!(
            "no parameter of a scheme is called {:?}{near}\n  help: `anabranch list parameters` has all",
            args.key
        )));
    }
    if args.json {
        return print_json(
            &json!({ "parameters": found.iter().map(|entry| entry.json()).collect::<Vec<_>>() }),
        );
    }
    print(&found.iter().map(|entry| entry.text()).collect::<Vec<String>>().join("\n"))
}
