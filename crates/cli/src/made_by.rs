//! A record of the program that generated results.

use crate::{clock, whole_file};
use anabranch_report::Provenance;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::Path;

/// The file that names the program which generated the results in the same folder.
pub const MADE_BY: &str = "made-by.json";

/// The program that generated results. Another build may simulate differently, so its results are not reused.
#[derive(Debug, Serialize, Deserialize)]
pub struct MadeBy {
    version: String,
    build: String,
    #[serde(default)]
    command: Option<String>,
    /// The date in UTC.
    #[serde(default)]
    date: Option<String>,
}

impl MadeBy {
    /// The program that generated the results in `folder`, if it is recorded there.
    pub fn read(folder: &Path) -> Option<MadeBy> {
        serde_json::from_slice(&fs::read(folder.join(MADE_BY)).ok()?).ok()
    }

    /// Records in `folder` the program that generated its results.
    ///
    /// # Errors
    /// The folder is not writable.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        whole_file::put(&folder.join(MADE_BY), serde_json::to_vec_pretty(self)?)
    }

    /// The running program. It is identified by the length and the modification time of its file, because reading the
    /// content would take long.
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

    pub fn is_this(&self) -> bool {
        let this = MadeBy::this();
        (&self.version, &self.build) == (&this.version, &this.build)
    }

    pub fn provenance(&self) -> Provenance {
        Provenance {
            program: format!("anabranch {}", self.version),
            command: self.command.clone(),
            date: self.date.clone(),
        }
    }
}

/// The command line, with quotes for a shell.
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
