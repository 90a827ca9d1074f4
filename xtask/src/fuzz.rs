//! Checks the fuzz targets of `fuzz/` and runs them one after the other.

use crate::step;
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::Command;

/// Runs every target for `seconds` seconds. Fails if a target finds a crash, a hang or excessive memory use.
///
/// New inputs go to `fuzz/found`, which git ignores. If that folder does not exist, the corpus of earlier runs is
/// unpacked into it (`fuzz/corpus.tar.xz`, packed because it consists of thousands of small files). `fuzz/corpus`
/// holds the seeds.
pub fn run(root: &Path, seconds: u32) -> Result<()> {
    let folder = root.join("fuzz/fuzz_targets");
    let listed =
        std::fs::read_dir(&folder).with_context(|| format!("{} cannot be read", folder.display()))?;
    let mut targets: Vec<String> = listed
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.strip_suffix(".rs").map(str::to_owned))
        .collect();
    targets.sort();
    if targets.is_empty() {
        bail!("{} holds no target", folder.display());
    }
    step(&mut cargo_fuzz(root, &["build"])).context(
        "fuzzing needs `rustup toolchain install nightly` and `cargo +nightly install cargo-fuzz`, and targets that compile",
    )?;
    if !root.join("fuzz/found").exists() {
        std::fs::create_dir(root.join("fuzz/found")).context("fuzz/found cannot be made")?;
        let mut unpack = Command::new("tar");
        step(unpack.args(["xJf", "fuzz/corpus.tar.xz", "-C", "fuzz/found"]).current_dir(root))?;
    }
    let mut failed = Vec::new();
    for target in &targets {
        let found = format!("fuzz/found/{target}");
        std::fs::create_dir_all(root.join(&found)).with_context(|| format!("{found} cannot be made"))?;
        let limit = format!("-max_total_time={seconds}");
        let seeds = format!("fuzz/corpus/{target}");
        // Not every target has seeds.
        let seeds = root.join(&seeds).exists().then_some(seeds);
        let mut args = vec!["run", target, &found];
        args.extend(seeds.as_deref());
        let mut command = cargo_fuzz(root, &args);
        command.args(["--", &limit, "-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1"]);
        if let Err(error) = step(&mut command) {
            eprintln!("{error:#}");
            failed.push(target.as_str());
        }
    }
    if !failed.is_empty() {
        bail!("fuzzing failed for {}; the inputs are under fuzz/artifacts", failed.join(", "));
    }
    println!("fuzz: {} targets ran {seconds} s each without a crash or a hang", targets.len());
    Ok(())
}

/// Checks that the targets compile. They form a separate workspace, which the other checks do not compile.
pub fn check(mut cargo: Command, target: &Path) -> Result<()> {
    cargo.args(["check", "--locked", "--manifest-path", "fuzz/Cargo.toml", "--target-dir"]).arg(target);
    // libFuzzer is written in C++ and takes long to compile. Only linking needs the library, so the path of a library
    // that does not exist takes its place.
    step(cargo.env("CUSTOM_LIBFUZZER_PATH", "none/libnone.a")).context("the fuzz targets do not compile")
}

/// A cargo-fuzz command with the nightly toolchain, which the sanitizers need.
fn cargo_fuzz(root: &Path, args: &[&str]) -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", "nightly", "cargo", "fuzz"]).args(args).current_dir(root);
    // These variables of the pinned toolchain are removed, because they would make nightly's cargo use the pinned
    // toolchain.
    for variable in ["CARGO", "RUSTC", "RUSTDOC", "RUSTUP_TOOLCHAIN"] {
        command.env_remove(variable);
    }
    command
}
