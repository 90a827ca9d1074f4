//! Which program made results.

use crate::clock;
use anabranch_report::Provenance;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::Path;

/// Says which program made the results beside it.
pub const MADE_BY: &str = "made-by.json";

/// The program that made results. Another build may simulate differently, so its results are not taken as ours.
#[derive(Debug, Serialize, Deserialize)]
pub struct MadeBy {
    version: String,
    build: String,
    /// What was typed.
    #[serde(default)]
    command: Option<String>,
    /// The day, as UTC has it.
    #[serde(default)]
    date: Option<String>,
}

impl MadeBy {
    /// What made the results in `folder`, if that says so.
    pub fn of(folder: &Path) -> Option<MadeBy> {
        serde_json::from_slice(&fs::read(folder.join(MADE_BY)).ok()?).ok()
    }

    /// Says in `folder` what made its results.
    ///
    /// # Errors
    /// When the folder cannot be written to.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        fs::write(folder.join(MADE_BY), serde_json::to_vec_pretty(self)?)
    }

    /// The running program. Its length and age stand for its content, which takes long to read.
    pub fn this() -> MadeBy {
        let about = std::env::current_exe().and_then(fs::metadata);
        let build = about.map_or_else(
            |_| "unknown".to_owned(),
            |about| {
                let changed =
                    about.modified().ok().and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
                format!("{}-{}", about.len(), changed.unwrap_or_default().as_nanos())
            },
        );
        MadeBy {
            version: env!("ANABRANCH_VERSION").to_owned(),
            build,
            command: Some(command()),
            date: Some(clock::today()),
        }
    }

    /// Whether the running program made it.
    pub fn is_this(&self) -> bool {
        let this = MadeBy::this();
        (&self.version, &self.build) == (&this.version, &this.build)
    }

    /// What a page says of it.
    pub fn provenance(&self) -> Provenance {
        Provenance {
            program: format!("anabranch {}", self.version),
            command: self.command.clone(),
            date: self.date.clone(),
        }
    }
}

/// What was typed, as a shell would take it again.
fn command() -> String {
    let typed = std::env::args_os().skip(1).map(|word| {
        let word = word.to_string_lossy().into_owned();
        let plain = |letter: char| letter.is_alphanumeric() || "-_./=:,+@%".contains(letter);
        match !word.is_empty() && word.chars().all(plain) {
            true => word,
            false => format!("'{}'", word.replace('\'', "'\\''")),
        }
    });
    std::iter::once("anabranch".to_owned()).chain(typed).collect::<Vec<_>>().join(" ")
}
