//! Self-contained scenarios: every default is explicit, and every file that the resolved form needs is stored beside
//! it.

use crate::scenario::expand::resolved::Scenario;
use crate::scenario::expand::scenario::read_with;
use crate::scenario::input::{Files, Overrides};
use crate::scenario::resolve::scheme::catalog::Registry;
use crate::scenario::resolve::simai_conf::BETWEEN;
use anabranch_base::Diagnostic;
use std::collections::BTreeMap;
use std::path::Path;

/// The folder, beside a stored scenario, that contains the files which the scenario needs.
pub const INPUTS: &str = "inputs";

struct Known<'a>(BTreeMap<String, &'a str>);

impl Files for Known<'_> {
    fn read(&self, name: &str) -> Result<String, String> {
        self.0.get(name).map(|text| (*text).to_owned()).ok_or_else(|| "no such file".to_owned())
    }
}

impl Scenario {
    /// This scenario in its resolved form, with its files renamed to `inputs/...`. Reading the stored scenario from its
    /// folder gives an equal scenario, so both have the same digest. `registry` is the registry with which this
    /// scenario was read.
    ///
    /// # Errors
    /// The resolved form cannot be read back, which is an error in this program.
    pub fn self_contained(&self, registry: &Registry) -> Result<Scenario, Diagnostic> {
        let names = input_names(self.files.keys());
        let mut document: toml::Table = toml::from_str(&self.to_toml()).expect("resolved scenarios are TOML");
        for (_, value) in document.iter_mut() {
            rename_files(value, &names);
        }
        if let Some(toml::Value::String(setup)) =
            document.get_mut("setup").and_then(|all| all.get_mut("name"))
        {
            let renamed = setup.split(BETWEEN).map(|name| names.get(name).map_or(name, String::as_str));
            *setup = renamed.collect::<Vec<&str>>().join(BETWEEN);
        }
        let known = self.files.iter().map(|(name, text)| (names[name].clone(), text.as_str())).collect();
        let text = toml::to_string(&document).expect("tables can be written");
        read_with(registry, "scenario.toml", &text, &Known(known), &Overrides::default())
    }
}

/// A name below `inputs/` for each file. The names are distinct even if files in different folders have the same
/// name.
fn input_names<'a>(names: impl Iterator<Item = &'a String>) -> BTreeMap<String, String> {
    let mut taken: Vec<String> = Vec::new();
    let mut renamed = BTreeMap::new();
    for name in names {
        let base = Path::new(name).file_name().map_or("input".into(), |base| base.to_string_lossy());
        let distinct = (1..)
            .map(|i| if i == 1 { format!("{INPUTS}/{base}") } else { format!("{INPUTS}/{i}-{base}") })
            .find(|candidate| !taken.contains(candidate))
            .expect("numbers do not run out");
        taken.push(distinct.clone());
        renamed.insert(name.clone(), distinct);
    }
    renamed
}

/// The keys that name files which the resolved form needs. The name of a setup may be a file, too.
const FILE_KEYS: [&str; 3] = ["file", "sizes", "system"];

fn rename_files(value: &mut toml::Value, names: &BTreeMap<String, String>) {
    match value {
        toml::Value::Table(table) => {
            for (key, value) in table.iter_mut() {
                match value {
                    toml::Value::String(text) if FILE_KEYS.contains(&key.as_str()) => {
                        if let Some(name) = names.get(text) {
                            text.clone_from(name);
                        }
                    }
                    _ => rename_files(value, names),
                }
            }
        }
        toml::Value::Array(values) => values.iter_mut().for_each(|value| rename_files(value, names)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Conf;

    impl Files for Conf {
        fn read(&self, _: &str) -> Result<String, String> {
            Ok("PACKET_PAYLOAD_SIZE 9000\nCC_MODE 1\nKMAX_MAP 1 400000000000 3200\nKMIN_MAP 1 400000000000 800\nPMAX_MAP 1 400000000000 0.2\n\
                BUFFER_SIZE 32\n"
                .to_owned())
        }
    }

    #[test]
    fn the_file_of_a_setup_is_stored_and_named() {
        let text = "schemes = [\"dcqcn\"]\nseeds = [1]\nsetup = \"in/SimAI.conf\"\n[topology]\nkind = \"single-switch\"\n\
                    hosts = 2\nlink = \"400Gbps\"\n[workload]\nkind = \"permutation\"\nbytes = \"1MB\"\n";
        let registry = Registry::new();
        let scenario = read_with(&registry, "s.toml", text, &Conf, &Overrides::default()).unwrap();
        let alone = scenario.self_contained(&registry).unwrap();
        assert_eq!(alone.files.keys().collect::<Vec<_>>(), ["inputs/SimAI.conf"]);
        assert!(alone.to_toml().contains("name = \"inputs/SimAI.conf\""), "{}", alone.to_toml());
    }

    #[test]
    fn the_files_of_several_setups_are_stored_and_named() {
        let text = "schemes = [\"dcqcn\"]\nseeds = [1]\n[sweep]\nsetup = [\"a.conf\", \"in/b.conf\", \"common\"]\n\
                    [topology]\nkind = \"single-switch\"\nhosts = 2\nlink = \"400Gbps\"\n[workload]\n\
                    kind = \"permutation\"\nbytes = \"1MB\"\n";
        let registry = Registry::new();
        let scenario = read_with(&registry, "s.toml", text, &Conf, &Overrides::default()).unwrap();
        let files = ["a.conf", "in/b.conf"].map(str::to_owned);
        assert!(scenario.files.keys().eq(&files), "{:?}", scenario.files.keys());
        let again =
            read_with(&registry, "r.toml", &scenario.to_toml(), &Conf, &Overrides::default()).unwrap();
        assert_eq!(again, scenario);
        assert_eq!(again.canonical(), scenario.canonical());
        let alone = scenario.self_contained(&registry).unwrap();
        assert!(alone.files.keys().eq(&["inputs/a.conf", "inputs/b.conf"]), "{:?}", alone.files.keys());
        assert_eq!(alone.setup, "inputs/a.conf, inputs/b.conf, common");
    }

    #[test]
    fn files_of_one_name_stay_apart_and_keep_their_names() {
        let names = ["a/x.cm", "b/x.cm", "y.txt"].map(str::to_owned);
        let renamed = input_names(names.iter());
        assert_eq!(renamed["a/x.cm"], "inputs/x.cm");
        assert_eq!(renamed["b/x.cm"], "inputs/2-x.cm");
        let again = input_names(renamed.values());
        assert!(again.iter().all(|(name, renamed)| name == renamed), "{again:?}");
    }
}
