//! Checks and tasks of the workspace: `cargo xtask TASK`.
#![forbid(unsafe_code)]

mod api;
#[cfg(feature = "book")]
mod book;
mod circles;
mod comments;
mod compiler;
mod dist;
mod edges;
mod files;
mod fuzz;
mod glossary;
mod instructions;
mod lengths;
mod names;
mod openings;
#[cfg(feature = "playground")]
mod playground;
mod purity;
mod recorded;
mod shares;
mod source;
mod style;

use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

const USAGE: &str = "\
usage: cargo xtask TASK

  lint             format, clippy, fuzz targets, architecture, documentation; with cargo-deny also licences
                   and advisories
  lint --record    write anew which faults of style are let pass (xtask/recorded.toml); with --force more than before
  architecture     which crate may depend on which, purity of the protocol cores, sizes of files and crates, and style
  style            circles between modules, lengths of functions and files, doc comments, words (xtask/glossary.toml)
  instructions     count the instructions per packet-hop of a release build (needs valgrind) against those stored in
                   xtask/instructions.toml; --record stores them anew
  reference        write the pages of docs/reference anew, from the declarations in the code
  playground [PROFILE]
                   build the simulator in a page: target/playground.html (with the feature playground: make playground;
                   with PROFILE playground-test, only to test it)
  book             build docs/ as a site: target/book (with the feature book: make book)
  api              the public interface of proto, sim and the C header against xtask/api; --record writes it anew
  dist [PROFILE]   build a release: target/dist (minutes; with PROFILE dev, only to try the packing: make dist)
  fuzz [SECONDS]   run every fuzz target for SECONDS each (60)";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let outcome = match args[..] {
        ["lint"] => lint(),
        ["lint", "--record"] => style::record(&root(), false),
        ["lint", "--record", "--force"] => style::record(&root(), true),
        ["architecture"] => architecture(),
        ["style"] => style::check(&root()),
        ["instructions"] => instructions::check(&root()),
        ["instructions", "--record"] => instructions::record(&root()),
        ["reference"] => reference(),
        #[cfg(feature = "playground")]
        ["playground", ref profile @ ..] if profile.len() < 2 => {
            let profile = profile.first().unwrap_or(&playground::PROFILE);
            playground::build(&root(), profile).map(|page| println!("{}", page.display()))
        }
        #[cfg(not(feature = "playground"))]
        ["playground", ..] => {
            return misused("write: cargo run --package xtask --features playground -- playground");
        }
        #[cfg(feature = "book")]
        ["book"] => book::build(&root()).map(|site| println!("{}", site.display())),
        #[cfg(not(feature = "book"))]
        ["book"] => return misused("write: cargo run --package xtask --features book -- book"),
        ["api"] => api::check(&root()),
        ["api", "--record"] => api::record(&root()),
        ["dist"] => dist::build(&root(), dist::PROFILE),
        ["dist", profile] => dist::build(&root(), profile),
        ["fuzz"] => fuzz::run(&root(), 60),
        ["fuzz", seconds] => match seconds.parse() {
            Ok(seconds) if seconds > 0 => fuzz::run(&root(), seconds),
            _ => return misused(&format!("{seconds:?} is not a number of seconds above 0")),
        },
        [] => return misused("name a task"),
        _ => return misused(&format!("there is no task {:?}", args.join(" "))),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn misused(what: &str) -> ExitCode {
    eprintln!("error: {what}\n\n{USAGE}");
    ExitCode::from(2)
}

fn lint() -> Result<()> {
    let root = root();
    step(cargo(&root).args(["fmt", "--all", "--check"]))?;
    step(cargo(&root).args(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
    architecture()?;
    // The Python package is a separate workspace, whose lock file is otherwise read only by a release.
    let mut python = cargo(&root);
    python.args(["tree", "--quiet", "--locked", "--manifest-path", "python/Cargo.toml", "--depth", "0"]);
    step(&mut python).context("python/Cargo.lock is stale")?;
    fuzz::check(cargo(&root), edges::read(&root)?.target_directory.as_std_path())?;
    step(
        cargo(&root)
            .args(["doc", "--workspace", "--no-deps", "--document-private-items"])
            .env("RUSTDOCFLAGS", "-D warnings"),
    )?;
    dependencies(&root)
}

/// Checks licences, sources and bans of dependencies with cargo-deny, and advisories if their database is present.
fn dependencies(root: &Path) -> Result<()> {
    if !is_available("cargo-deny") {
        println!(
            "SKIPPED: licences and advisories: there is no cargo-deny; write: cargo install --locked cargo-deny"
        );
        return Ok(());
    }
    step(cargo(root).args(["deny", "check", "bans", "licenses", "sources"]))?;
    // Without a database, cargo-deny fails offline, as if it had found an advisory. The folder of the database is
    // therefore checked first.
    if !has_advisories() {
        println!("SKIPPED: advisories: there is no database; write: cargo deny fetch db");
        return Ok(());
    }
    step(cargo(root).args(["deny", "--offline", "check", "advisories"]))
}

fn has_advisories() -> bool {
    let cargo_home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let cargo_home = cargo_home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let listed = cargo_home.and_then(|folder| std::fs::read_dir(folder.join("advisory-dbs")).ok());
    listed.is_some_and(|entries| entries.flatten().any(|entry| entry.path().is_dir()))
}

/// Writes the references of parameters, keys, columns and schemes. A test of the command compares them with the code.
fn reference() -> Result<()> {
    let root = root();
    for what in ["parameters", "keys", "columns", "schemes"] {
        let mut list = cargo(&root);
        list.args(["run", "--quiet", "--package", "anabranch-cli", "--", "list", what, "--markdown"]);
        let printed = list.stderr(Stdio::inherit()).output().context("cargo did not start")?;
        if !printed.status.success() {
            bail!("anabranch list {what} --markdown failed");
        }
        let page = root.join(format!("docs/reference/{what}.md"));
        std::fs::create_dir_all(page.parent().unwrap_or(&root))
            .and_then(|()| std::fs::write(&page, printed.stdout))
            .with_context(|| format!("{} cannot be written", page.display()))?;
    }
    Ok(())
}

fn architecture() -> Result<()> {
    let root = root();
    let metadata = edges::read(&root)?;
    edges::check(&metadata)?;
    style::check(&root)?;
    files::check(&root)?;
    shares::check(&root)?;
    api::check(&root)?;
    // The crate base is also checked alone, because the wasm module of another crate contains only those functions of
    // base that the other crate uses.
    for package in ["anabranch-base", "anabranch-proto", "anabranch-wire"] {
        purity::check(&root, metadata.target_directory.as_std_path(), package)?;
    }
    println!("architecture: crates, files and purity are as they should be");
    Ok(())
}

fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().expect("xtask is a folder of the workspace").to_owned()
}

/// A command of the cargo that started this program.
fn cargo(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    command
}

/// Prints a command, then runs it with its output to the terminal.
fn step(command: &mut Command) -> Result<()> {
    let line = shown(command);
    eprintln!("$ {line}");
    let status = command.status().with_context(|| format!("`{line}` did not start"))?;
    if !status.success() {
        bail!("`{line}` failed ({status})");
    }
    Ok(())
}

/// The folder below `target` into which cargo builds with `profile`.
fn folder_of(profile: &str) -> &str {
    if profile == "dev" { "debug" } else { profile }
}

fn is_available(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok()
}

/// A command as a user would type it.
fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
