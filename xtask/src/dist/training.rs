//! Training runs for profile-guided optimisation of a release. They tell the compiler how often each branch of the
//! packet path is taken.

use super::Release;
use crate::instructions::CASES;
use crate::{compiler, step};
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The number of bytes of a message in those training runs that are cases of `anabranch bench`.
const BYTES: &str = "1048576";
/// The training scenarios: faults, incast and a collective.
const EXAMPLES: [&str; 3] = ["link-failure", "incast", "allreduce"];

/// Builds an instrumented command, runs it, and returns the merged profile. `None` if no llvm-profdata can read the
/// profiles of this compiler.
pub fn profile(release: &Release) -> Result<Option<PathBuf>> {
    let llvm = compiler::llvm()?;
    let Some(profdata) = profdata(&llvm)? else {
        println!(
            "SKIPPED: profile-guided optimisation: there is no llvm-profdata of LLVM {llvm}; \
             write: rustup component add llvm-tools"
        );
        return Ok(None);
    };
    let folder = release.cargo_target.join("training");
    let merged = folder.join("merged.profdata");
    let command = release.command(Some(format!("-Cprofile-generate={}", folder.display())))?;
    // Cargo does not rebuild crates when the contents of the PGO profile change. A merged profile newer than the
    // instrumented command is therefore reused.
    if fs::exists(&merged)? && fs::metadata(&merged)?.modified()? > fs::metadata(&command)?.modified()? {
        return Ok(Some(merged));
    }
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    for (case, hosts, scheme) in CASES {
        step(Command::new(&command).args(["bench-case", case, scheme, "1", hosts, BYTES]))?;
    }
    for example in EXAMPLES {
        let mut run = Command::new(&command);
        run.arg("run").arg(release.root.join(format!("examples/{example}.toml")));
        step(run.args(["--seed", "1", "--out"]).arg(folder.join(example)))?;
    }
    let raw = fs::read_dir(&folder)?.filter_map(|entry| Some(entry.ok()?.path()));
    let raw = raw.filter(|path| path.extension().is_some_and(|ending| ending == "profraw"));
    step(Command::new(profdata).args(["merge", "-o"]).arg(&merged).args(raw))?;
    Ok(Some(merged))
}

/// The llvm-profdata of the toolchain (rustup's component llvm-tools), or the system's llvm-profdata of the same
/// major version.
fn profdata(llvm: &str) -> Result<Option<PathBuf>> {
    let of_toolchain = Path::new(&compiler::sysroot()?)
        .join("lib/rustlib")
        .join(compiler::host()?)
        .join("bin/llvm-profdata");
    let of_system = [format!("llvm-profdata-{llvm}"), "llvm-profdata".to_owned()].map(PathBuf::from);
    let reads = |program: &PathBuf| {
        let output = Command::new(program).arg("--version").output();
        output.is_ok_and(|output| is_of(&String::from_utf8_lossy(&output.stdout), llvm))
    };
    Ok(std::iter::once(of_toolchain).chain(of_system).find(reads))
}

/// Whether `answer`, the output of `--version`, has this major version of LLVM.
fn is_of(answer: &str, llvm: &str) -> bool {
    answer.split_once("LLVM version ").is_some_and(|(_, version)| version.split('.').next() == Some(llvm))
}

#[cfg(test)]
mod tests {
    use super::is_of;

    #[test]
    fn profiles_are_merged_by_a_tool_of_the_compilers_version_alone() {
        let debian = "Debian LLVM version 22.1.8\n  Optimized build.\n";
        assert!(is_of(debian, "22"));
        assert!(!is_of(debian, "2"));
        assert!(!is_of(debian, "21"));
        assert!(!is_of("llvm-profdata: Unknown command!\n", "22"));
    }
}
