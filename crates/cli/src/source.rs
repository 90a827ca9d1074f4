//! Reads scenario files and the files to which they refer, and makes scenarios self-contained.

use crate::examples::EXAMPLES;
use crate::failure::{Failure, reason};
use crate::output::{note, with_notice};
use crate::store::Item;
use anabranch_proto::PathFacts;
use anabranch_results::digest::text_digest;
use anabranch_sim::scenario::{Diagnostic, Files, Ground, Overrides, Registry, RunPoint, Scenario, read};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The largest size of an input file in bytes.
const LARGEST_FILE: u64 = 1 << 30;
/// A self-contained scenario: all defaults are explicit, and all files to which it refers are below `inputs/`.
pub struct Prepared {
    pub scenario: Scenario,
    pub points: Vec<RunPoint>,
    pub item: Item,
    /// The differences between the setups of the scenario's schemes.
    pub ground: Ground,
    /// The path facts that transports use: for each point of the sweep, one entry per scheme.
    pub facts: Vec<Vec<PathFacts>>,
    /// Warnings about inputs of the scenario that are valid but probably not intended.
    pub warnings: Vec<Diagnostic>,
}

/// Reads a scenario, and from its folder the files to which it refers.
///
/// # Errors
/// [`Failure::Diagnosed`] with the place of the first error, and the error of [`self_contained`].
pub fn load(written: &ScenarioText, over: &Overrides) -> Result<Prepared, Failure> {
    with_notice(RESOLVING, || {
        let mut over = over.clone();
        if over.usual_seeds.is_empty() {
            over.usual_seeds = Overrides::USUAL_SEEDS.into();
        }
        let scenario = read(&written.shown, &written.text, &written.folder, &over)?;
        let name = written.name.clone();
        prepare(name, written.titled(scenario))
    })
}

pub struct ScenarioText {
    pub text: String,
    /// The folder of the files to which the scenario refers.
    pub folder: Folder,
    /// The name of the scenario's results.
    pub name: String,
    /// The scenario's name in messages.
    pub shown: String,
    /// The name of the scenario's file, if it has one.
    file_name: Option<String>,
}

/// Reads the text at `path`, where `-` means standard input.
///
/// # Errors
/// [`Failure::Input`] if it cannot be read.
pub fn open(path: &Path) -> Result<ScenarioText, Failure> {
    if path == Path::new("-") {
        return Ok(ScenarioText {
            text: read_standard_input()?,
            folder: Folder(PathBuf::new()),
            name: "scenario".to_owned(),
            shown: "<standard input>".to_owned(),
            file_name: None,
        });
    }
    let text = read_text(path).map_err(|why| {
        let help = instead_of(path);
        Failure::Input(format!("{}: cannot be read: {why}\n  help: {help}", path.display()))
    })?;
    Ok(ScenarioText {
        text,
        folder: Folder(path.parent().unwrap_or(Path::new("")).to_owned()),
        name: folder_name(path),
        shown: path.display().to_string(),
        file_name: path.file_name().map(|name| name.to_string_lossy().into_owned()),
    })
}

fn instead_of(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let of_paper = path.parent().is_some_and(|paper| paper.components().count() == 1);
    match EXAMPLES.iter().find(|(name, _)| *name == stem) {
        _ if path.is_dir() => {
            format!("name the scenario in it, such as {}", path.join("scenario.toml").display())
        }
        Some((name, _)) => {
            format!("`anabranch list examples {name} > {name}.toml` writes the example of that name")
        }
        None if of_paper && path.extension().is_none() => {
            format!("name a scenario's TOML file; a figure runs by `anabranch reproduce {}`", path.display())
        }
        None => "name a scenario's TOML file; `anabranch list examples` has some to begin with".to_owned(),
    }
}

impl ScenarioText {
    /// A scenario whose files are below `folder`.
    pub fn in_folder(name: &str, text: String, folder: &Path) -> ScenarioText {
        let folder = Folder(folder.to_owned());
        ScenarioText { text, folder, name: name.to_owned(), shown: name.to_owned(), file_name: None }
    }

    /// The failure of a run of `scheme`, with the place of the word that causes it: a key of the topology that the hint
    /// sets, or the scheme. Without such a word, the failure itself.
    pub fn placed(&self, failure: Failure, scheme: &str) -> Failure {
        let Failure::Input(text) = failure else { return failure };
        let word = if text.contains("in [topology]") { "hosts".to_owned() } else { format!("{scheme:?}") };
        let lines = self.text.lines().enumerate();
        let mut found = lines.filter_map(|(line, written)| {
            let column = written.find(&word).filter(|column| !written[..*column].contains('#'))?;
            Some((line + 1, written[..column].chars().count() + 1))
        });
        match found.next() {
            Some((line, column)) => Failure::Input(format!("{}:{line}:{column}: {text}", self.shown)),
            None => Failure::Input(text),
        }
    }

    /// The scenario `scenario`, which was read from this text. If it has no title, the file's name without the folder
    /// becomes its title.
    pub fn titled(&self, mut scenario: Scenario) -> Scenario {
        if scenario.title == self.shown
            && let Some(name) = &self.file_name
        {
            scenario.title.clone_from(name);
        }
        scenario
    }
}

const RESOLVING: &str = "resolving the scenario: building its fabrics, their routes and what they carry";

/// Checks a scenario, prints warnings on standard error, and makes the scenario self-contained.
///
/// # Errors
/// [`Failure::Diagnosed`] if the scenario is not valid, for example if a fabric or a workload cannot be built or if
/// there are too many runs, and the error of [`self_contained`].
pub fn prepare(name: String, scenario: Scenario) -> Result<Prepared, Failure> {
    let examined = scenario.examine()?;
    examined.warnings.iter().for_each(|warning| note(&format!("warning: {warning}")));
    let ground = scenario.ground(&examined.facts);
    let scenario = self_contained(&scenario)?;
    let points = scenario.points()?;
    let item = Item {
        name,
        digest: text_digest(&scenario.canonical()),
        toml: scenario.to_annotated_toml(&examined.facts),
        facts: scenario.facts(&examined.facts),
        files: scenario.files.clone(),
        warnings: examined.warnings.iter().map(Diagnostic::in_a_line).collect(),
    };
    Ok(Prepared { scenario, points, item, ground, facts: examined.facts, warnings: examined.warnings })
}

/// The self-contained form of a scenario.
///
/// # Errors
/// [`Failure::Run`] if the resolved scenario cannot be parsed again.
pub fn self_contained(scenario: &Scenario) -> Result<Scenario, Failure> {
    scenario.self_contained(&Registry::new()).map_err(|error| {
        Failure::Run(format!("internal error: the resolved scenario cannot be read back: {error}"))
    })
}

/// Converts an error about input to a failure.
pub fn input(error: impl std::fmt::Display) -> Failure {
    Failure::Input(error.to_string())
}

pub struct Folder(pub PathBuf);

impl Files for Folder {
    fn read(&self, name: &str) -> Result<String, String> {
        read_text(&self.0.join(name))
    }

    fn read_bytes(&self, name: &str) -> Result<Vec<u8>, String> {
        read_file(&self.0.join(name))
    }
}

fn read_text(path: &Path) -> Result<String, String> {
    text_of(read_file(path)?)
}

fn read_file(path: &Path) -> Result<Vec<u8>, String> {
    let file = std::fs::File::open(path).map_err(|error| reason(&error))?;
    let about = file.metadata().map_err(|error| reason(&error))?;
    if about.is_dir() {
        return Err(reason(&io::ErrorKind::IsADirectory.into()));
    }
    bounded(file)
}

fn read_standard_input() -> Result<String, Failure> {
    bounded(io::stdin().lock())
        .and_then(text_of)
        .map_err(|why| Failure::Input(format!("standard input: cannot be read: {why}")))
}

fn bounded(from: impl Read) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    from.take(LARGEST_FILE + 1).read_to_end(&mut bytes).map_err(|error| reason(&error))?;
    if bytes.len() as u64 > LARGEST_FILE {
        return Err("it is larger than 1 GiB".to_owned());
    }
    Ok(bytes)
}

fn text_of(bytes: Vec<u8>) -> Result<String, String> {
    String::from_utf8(bytes).map_err(|error| {
        let line =
            1 + error.as_bytes()[..error.utf8_error().valid_up_to()].iter().filter(|b| **b == b'\n').count();
        format!("it is not UTF-8 text (line {line})")
    })
}

/// The file's name without its extension, in characters that need no quotes in any shell or file system. All stored
/// scenarios have the file name `scenario.toml`, so their names are the names of their folders without the digests.
fn folder_name(path: &Path) -> String {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let absolute = std::path::absolute(path).unwrap_or_default();
    let parent = absolute.parent().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    let stored = parent.as_deref().and_then(|parent| parent.rsplit_once('-')).filter(|(_, digest)| {
        stem == "scenario" && digest.len() == 16 && digest.bytes().all(|b| b.is_ascii_hexdigit())
    });
    let name = stored.map_or(stem, |(name, _)| name.to_owned());
    let plain: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '.' || c == '_' { c } else { '-' })
        .take(60)
        .collect();
    let trimmed = plain.trim_matches(['-', '.']);
    if trimmed.is_empty() { "scenario".to_owned() } else { trimmed.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binary_file_that_cannot_be_read_has_a_reason_in_words() {
        let files = Folder(PathBuf::from("/"));
        assert_eq!(files.read_bytes("").unwrap_err(), "it is a folder, not a file");
        assert_eq!(files.read_bytes("no-such-file").unwrap_err(), "no such file or folder");
    }

    #[test]
    fn folder_names_are_plain() {
        assert_eq!(folder_name(Path::new("examples/perm 1024.toml")), "perm-1024");
        assert_eq!(folder_name(Path::new("../..toml")), "scenario");
        assert_eq!(folder_name(Path::new("results/perm-1024-0123456789abcdef/scenario.toml")), "perm-1024");
        assert_eq!(folder_name(Path::new("perm-1024/scenario.toml")), "scenario");
    }
}
