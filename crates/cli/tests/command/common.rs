//! Runs the command as a user would, in a separate folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// A scenario that runs in a short time. Tests change single lines of it, and expected messages contain its line
/// numbers.
pub const SMALL: &str = r#"title = "Small"
schemes = ["reps", "ops"]
seeds = [1]

[topology]
kind = "fat-tree"
hosts = 16
tiers = 2
link = "400Gbps"

[workload]
kind = "permutation"
bytes = "100KB"
"#;

pub struct Place(TempDir);

pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Place {
    pub fn new() -> Place {
        Place(tempfile::tempdir().unwrap())
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_anabranch"));
        command.args(args).current_dir(self.path()).stdin(Stdio::null()).env_remove("COLUMNS");
        command
    }

    pub fn run(&self, args: &[&str]) -> Ended {
        Ended::from(self.command(args).output().unwrap())
    }

    /// The names in `out`, including hidden ones, but without run caches (`.kept-`). The list is empty if there is no
    /// such folder.
    pub fn results(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path().join("out")) else { return Vec::new() };
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.retain(|name| !name.starts_with(".kept-"));
        names.sort();
        names
    }
}

impl From<Output> for Ended {
    fn from(output: Output) -> Ended {
        Ended {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Ended {
    /// Asserts the exit code, and that the output shows no panic.
    #[track_caller]
    pub fn expect(self, code: i32) -> Ended {
        let Ended { stdout, stderr, .. } = &self;
        assert_eq!(self.code, Some(code), "stdout:\n{stdout}\nstderr:\n{stderr}");
        assert!(!stderr.contains("panicked"), "{stderr}");
        self
    }

    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error} in:\n{}", self.stdout))
    }
}

/// [`SMALL`] with `from`, which must occur in it, replaced by `to`.
#[track_caller]
pub fn edited(from: &str, to: &str) -> String {
    assert!(SMALL.contains(from), "the scenario has no {from:?}");
    SMALL.replace(from, to)
}
