//! Every input that a scenario may contain is preserved in its resolved form: reading that form gives the same
//! scenario, with the same digest and the same text. The tests go through the declarations of the program, so that a
//! new key or parameter without a scenario in these tests makes them fail.

mod keys;
mod parameters;

use anabranch_lab::scenario::{Diagnostic, Files, Overrides, Registry, Scenario, find_in, read_with};
use anabranch_results::digest::text_digest;
use std::collections::BTreeMap;

/// Files by name. Every other file has the text `otherwise`. If `otherwise` is empty, no other file exists.
struct Folder {
    files: BTreeMap<String, String>,
    otherwise: &'static str,
}

impl Files for Folder {
    fn read(&self, name: &str) -> Result<String, String> {
        match self.files.get(name) {
            Some(text) => Ok(text.clone()),
            None if self.otherwise.is_empty() => Err("no such file".to_owned()),
            None => Ok(self.otherwise.to_owned()),
        }
    }
}

fn all(otherwise: &'static str) -> Folder {
    Folder { files: BTreeMap::new(), otherwise }
}

fn resolve(text: &str, files: &Folder, registry: &Registry) -> Result<Scenario, Diagnostic> {
    // A `[find]` is resolved as a sweep over the two ends of its values.
    match find_in("s.toml", text, &Overrides::default())? {
        Some(find) => find.scenario(&find.ends(), files),
        None => read_with(registry, "s.toml", text, files, &Overrides::default()),
    }
}

/// The problem if a scenario changes when it is written out and read again. None if the scenario does not change.
fn broken(scenario: &Scenario, registry: &Registry) -> Option<String> {
    let alone = match scenario.self_contained(registry) {
        Ok(alone) => alone,
        Err(error) => return Some(format!("does not stand alone: {error}")),
    };
    for written in [scenario, &alone] {
        let (text, files) = (written.to_toml(), Folder { files: written.files.clone(), otherwise: "" });
        let again = match read_with(registry, "resolved.toml", &text, &files, &Overrides::default()) {
            Ok(again) => again,
            Err(error) => return Some(format!("cannot be read back: {error}\n{text}")),
        };
        let digest = |scenario: &Scenario| text_digest(&scenario.canonical());
        if again != *written || again.to_toml() != text || digest(&again) != digest(written) {
            return Some(format!("comes back as\n{}\nand was\n{text}", again.to_toml()));
        }
    }
    None
}
