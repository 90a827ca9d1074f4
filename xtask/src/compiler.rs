//! Facts about the Rust compiler of this workspace.

use anyhow::{Context, Result, bail};
use std::process::Command;

/// The compiler's version, and the target triple for which it builds.
pub fn version() -> Result<String> {
    Ok(format!("rustc {}, {}", verbose("release:")?, host()?))
}

/// The target triple of this machine.
pub fn host() -> Result<String> {
    verbose("host:")
}

/// The major version of the compiler's LLVM.
pub fn llvm() -> Result<String> {
    Ok(verbose("LLVM version:")?.split('.').next().unwrap_or_default().to_owned())
}

/// The folder of the toolchain.
pub fn sysroot() -> Result<String> {
    Ok(output_of(&["--print", "sysroot"])?.trim().to_owned())
}

/// The rest of the line of `rustc -vV` that begins with `start`.
fn verbose(start: &str) -> Result<String> {
    let text = output_of(&["-vV"])?;
    let line = text.lines().find_map(|line| line.strip_prefix(start));
    Ok(line.with_context(|| format!("rustc -vV has no {start:?}"))?.trim().to_owned())
}

fn output_of(args: &[&str]) -> Result<String> {
    let output = Command::new("rustc").args(args).output().context("rustc did not start")?;
    if !output.status.success() {
        bail!("rustc {} failed", args.join(" "));
    }
    Ok(String::from_utf8(output.stdout)?)
}
