//! The build script of the command. It makes cargo rebuild the command if a figure changes, because figures are part
//! of the binary. It also gives the command the commit from which the binary is built.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=../../figures");
    println!("cargo::rerun-if-changed=build.rs");
    let version = env!("CARGO_PKG_VERSION");
    let version = commit().map_or_else(|| version.to_owned(), |commit| format!("{version} ({commit})"));
    println!("cargo::rustc-env=ANABRANCH_VERSION={version}");
}

/// The commit of the checkout that contains these sources. None if they are not in a checkout of this project, or if
/// git is missing.
fn commit() -> Option<String> {
    let git = |args: &[&str]| {
        let output = Command::new("git").args(args).current_dir(env!("CARGO_MANIFEST_DIR")).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    // If the sources were unpacked inside a checkout of another project, the commits of that project do not apply to
    // them.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().ok()?;
    if Path::new(&git(&["rev-parse", "--show-toplevel"])?).canonicalize().ok()? != root {
        return None;
    }
    // Every commit and every switch of the branch adds a line to this log, so a change of the log triggers a rebuild.
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
    println!("cargo::rerun-if-changed={}", root.join("crates/cli").join(log).display());
    git(&["rev-parse", "--short=12", "HEAD"]).filter(|commit| !commit.is_empty())
}
