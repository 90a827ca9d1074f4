//! Tests of the finished files as a user has them, unpacked in a separate folder.

use super::{COMPLETIONS, LIBRARY, Release, library_files, printed};
use crate::is_available;
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::Path;
use std::process::Command;

/// The arguments of the C example, which describe a small fabric.
const RING: [&str; 3] = [
    "schemes = [\"reps\"]\ntopology = { kind = \"single-switch\", hosts = 8, link = \"100Gbps\" }\n",
    "8",
    "3276800",
];

/// Unpacks the archive in a temporary folder, and tests the command, the completions, the manual and the C library.
pub fn archive(release: &Release, archive: &Path) -> Result<()> {
    let elsewhere = tempfile::tempdir()?;
    printed(Command::new("tar").arg("-xzf").arg(archive).arg("-C").arg(elsewhere.path()))?;
    let prefix = elsewhere.path().join(release.name());
    let version = printed(Command::new(prefix.join("bin/anabranch")).arg("--version"))?;
    ensure!(version.starts_with(&format!("anabranch {}", release.version)), "--version prints {version}");
    completions(&prefix)?;
    manual(&prefix)?;
    c_library(release, &prefix)?;
    println!("dist: {} works where it is unpacked", archive.display());
    Ok(())
}

fn completions(prefix: &Path) -> Result<()> {
    for (shell, path) in COMPLETIONS {
        if !is_available(shell) {
            println!("SKIPPED: completions of {shell}, which is not installed");
            continue;
        }
        let script = prefix.join(path);
        let line = match shell {
            "bash" => format!("source '{}' && complete -p anabranch", script.display()),
            _ => format!("{shell} -n '{}'", script.display()),
        };
        printed(Command::new(if shell == "bash" { "bash" } else { "sh" }).args(["-ec", &line]))?;
    }
    Ok(())
}

fn manual(prefix: &Path) -> Result<()> {
    let page = prefix.join("share/man/man1/anabranch.1");
    if is_available("man") {
        let text = printed(Command::new("man").arg(&page).env("MANPAGER", "cat"))?;
        ensure!(text.contains("reproduce"), "man shows {text}");
    } else {
        println!("SKIPPED: the manual page: there is no man");
    }
    Ok(())
}

/// Compiles the C example with the flags of pkg-config alone, and runs it with the shared and with the static library.
fn c_library(release: &Release, prefix: &Path) -> Result<()> {
    if !is_available("pkg-config") || !is_available("cc") {
        println!("SKIPPED: the C library: pkg-config or cc is not installed");
        return Ok(());
    }
    let library = prefix.join("lib");
    let flags = |wanted: &[&str]| {
        let mut ask = Command::new("pkg-config");
        ask.args(wanted).arg("anabranch").env("PKG_CONFIG_PATH", library.join("pkgconfig"));
        anyhow::Ok(printed(&mut ask)?.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    };
    let version = flags(&["--modversion"])?;
    ensure!(version == [release.version.as_str()], "pkg-config has version {version:?}");
    let shared = flags(&["--cflags", "--libs"])?;
    let [shared_library, static_library] = library_files();
    // If both libraries exist, the linker takes the shared one. The static one is therefore named by its path.
    let static_library = library.join(static_library).display().to_string();
    let by_name = format!("-l{LIBRARY}");
    let linked_statically = flags(&["--cflags", "--libs", "--static"])?
        .into_iter()
        .map(|flag| if flag == by_name { static_library.clone() } else { flag })
        .collect();
    let mut times = Vec::new();
    for (name, flags) in [("shared", shared), ("static", linked_statically)] {
        let program = prefix.join(name);
        let source = prefix.join("share/doc/anabranch/ring_all_reduce.c");
        printed(Command::new("cc").arg("-o").arg(&program).arg(source).args(&flags))?;
        if name == "static" {
            fs::remove_file(library.join(&shared_library)).context(shared_library.clone())?;
        }
        let mut run = Command::new(&program);
        for variable in ["LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"] {
            run.env(variable, &library);
        }
        times.push(printed(run.args(RING))?);
    }
    ensure!(times[0] == times[1] && times[0].trim().parse::<u64>().is_ok(), "the ring prints {times:?}");
    Ok(())
}

pub fn wheel(wheel: &Path) -> Result<()> {
    let elsewhere = tempfile::tempdir()?;
    printed(Command::new("python3").args(["-m", "venv"]).arg(elsewhere.path()))?;
    let python = elsewhere.path().join("bin/python");
    printed(Command::new(&python).args(["-m", "pip", "install", "--quiet", "--no-index"]).arg(wheel))?;
    printed(Command::new(&python).args(["-c", "import anabranch"]))?;
    println!("dist: {} installs and imports", wheel.display());
    Ok(())
}
