//! `cargo xtask dist`: builds and packs the files of a release, and tests them as unpacked from the archive.
//!
//! The results in `target/dist` are an archive (the command with completions and manual, and the C library), a Python
//! wheel, and checksums. The archive has the folders of an installation prefix, so that its contents can be
//! copied to `/usr/local`.

mod check;
mod training;

use crate::{cargo, compiler, folder_of, step};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The profile of releases, in `Cargo.toml` and `python/Cargo.toml`.
pub const PROFILE: &str = "dist";

/// The file, below an installation prefix, in which each shell looks for the completions.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/anabranch"),
    ("zsh", "share/zsh/site-functions/_anabranch"),
    ("fish", "share/fish/vendor_completions.d/anabranch.fish"),
];

/// The files of the repository that the archive contains, with their paths in the archive.
const COPIED: [(&str, &str); 6] = [
    ("LICENSE", "LICENSE"),
    ("README.md", "README.md"),
    ("CHANGELOG.md", "CHANGELOG.md"),
    ("crates/capi/include/anabranch.h", "include/anabranch.h"),
    ("crates/capi/c/ring_all_reduce.c", "share/doc/anabranch/ring_all_reduce.c"),
    ("crates/capi/astra-sim/anabranch_network.cc", "share/doc/anabranch/anabranch_network.cc"),
];

/// The name of the C library, without the prefix `lib` and the file extension.
const LIBRARY: &str = "anabranch_capi";

/// The state of a release while it is built.
struct Release<'a> {
    root: &'a Path,
    profile: &'a str,
    version: String,
    /// The target triple of this machine. All files are built for this target.
    target: String,
    /// Cargo's target directory.
    cargo_target: PathBuf,
    /// The folder of the finished files.
    output: PathBuf,
    /// The profile from the training runs, if there have been any.
    trained: Option<PathBuf>,
}

/// Builds every file of a release and tests the files. A `profile` other than [`PROFILE`] tests the packing in less
/// time.
pub fn build(root: &Path, profile: &str) -> Result<()> {
    let metadata = crate::edges::read(root)?;
    let command = metadata.workspace_packages().into_iter().find(|package| package.name == "anabranch-cli");
    let mut release = Release {
        root,
        profile,
        version: command.context("there is no anabranch-cli")?.version.to_string(),
        target: compiler::host()?,
        cargo_target: match profile {
            PROFILE => metadata.target_directory.join("dist-build").into(),
            // Another profile only tests the packing, so it reuses the build scripts and macros of the usual target
            // directory.
            _ => metadata.target_directory.clone().into(),
        },
        output: metadata.target_directory.join("dist").into(),
        trained: None,
    };
    let _ = fs::remove_dir_all(&release.output);
    fs::create_dir_all(&release.output).with_context(|| release.output.display().to_string())?;
    if profile == PROFILE {
        release.trained = training::profile(&release)?;
    }
    let archive = release.archive()?;
    check::archive(&release, &archive)?;
    if let Some(wheel) = release.wheel()? {
        check::wheel(&wheel)?;
    }
    release.checksums()?;
    println!("dist: {}", release.output.display());
    Ok(())
}

impl Release<'_> {
    /// The name of the archive without its file extension, which is also the name of the only folder in it.
    fn name(&self) -> String {
        format!("anabranch-{}-{}", self.version, self.target)
    }

    /// A cargo command that builds for the release and passes `flag` to the compiler. Without `flag`, it passes the
    /// option for the trained profile, if there is one.
    fn cargo(&self, command: &str, flag: Option<String>) -> Command {
        let mut cargo = cargo(self.root);
        cargo.args([
            command,
            "--locked",
            "--profile",
            self.profile,
            "--target",
            &self.target,
            "--target-dir",
        ]);
        cargo.arg(&self.cargo_target);
        // With `--target`, cargo applies the flags only to code for that target, not to build scripts and macros.
        let trained = self.trained.as_ref().map(|path| format!("-Cprofile-use={}", path.display()));
        if let Some(flag) = flag.or(trained) {
            // The encoded variable permits spaces in paths.
            cargo.env("CARGO_ENCODED_RUSTFLAGS", flag);
        }
        cargo
    }

    /// The folder where cargo puts the files that it builds.
    fn built(&self) -> PathBuf {
        self.cargo_target.join(&self.target).join(folder_of(self.profile))
    }

    fn command(&self, flag: Option<String>) -> Result<PathBuf> {
        step(self.cargo("build", flag).args(["--package", "anabranch-cli"]))?;
        Ok(self.built().join("anabranch"))
    }

    /// Builds the command and the C library, and packs them.
    fn archive(&self) -> Result<PathBuf> {
        let folder = self.output.join(self.name());
        let place = |path: &str| {
            let to = folder.join(path);
            fs::create_dir_all(to.parent().unwrap_or(&folder)).with_context(|| to.display().to_string())?;
            anyhow::Ok(to)
        };
        let copy = |from: &Path, to: &str| {
            fs::copy(from, place(to)?).map(drop).with_context(|| from.display().to_string())
        };
        let command = self.command(None)?;
        copy(&command, "bin/anabranch")?;
        for (shell, to) in COMPLETIONS {
            fs::write(place(to)?, printed(Command::new(&command).args(["completions", shell]))?)?;
        }
        fs::write(place("share/man/man1/anabranch.1")?, printed(Command::new(&command).arg("man"))?)?;
        let system_libraries = self.library()?;
        for file in library_files() {
            copy(&self.built().join(&file), &format!("lib/{file}"))?;
        }
        fs::write(place("lib/pkgconfig/anabranch.pc")?, pkg_config(&self.version, &system_libraries))?;
        for (from, to) in COPIED {
            copy(&self.root.join(from), to)?;
        }
        let archive = self.output.join(format!("{}.tar.gz", self.name()));
        step(Command::new("tar").arg("-czf").arg(&archive).arg("-C").arg(&self.output).arg(self.name()))?;
        fs::remove_dir_all(&folder)?;
        Ok(archive)
    }

    /// Builds the C library, shared and static. Returns the system libraries that the static one needs.
    fn library(&self) -> Result<String> {
        let mut build = self.cargo("rustc", None);
        build.args(["--package", "anabranch-capi", "--lib"]);
        // With these crate types cargo leaves out the manifest's rlib, which cannot be optimised at link time.
        build.args(["--crate-type", "cdylib", "--crate-type", "staticlib"]);
        let name = if cfg!(target_os = "macos") {
            format!("-Clink-arg=-Wl,-install_name,@rpath/lib{LIBRARY}.dylib")
        } else {
            format!("-Clink-arg=-Wl,-soname,lib{LIBRARY}.so")
        };
        build.args(["--", &name, "--print", "native-static-libs"]);
        eprintln!("$ {}", crate::shown(&build));
        let output = build.stdout(Stdio::inherit()).output().context("cargo did not start")?;
        let messages = String::from_utf8_lossy(&output.stderr);
        eprint!("{messages}");
        if !output.status.success() {
            bail!("the C library does not build");
        }
        let libraries = messages.lines().find_map(|line| line.strip_prefix("note: native-static-libs: "));
        Ok(libraries.context("the compiler named no native-static-libs")?.to_owned())
    }

    /// Builds the Python package. `None` if maturin is not installed.
    fn wheel(&self) -> Result<Option<PathBuf>> {
        let mut build = Command::new("maturin");
        if !crate::is_available("maturin") {
            println!("SKIPPED: the Python wheel: there is no maturin (make dist installs it)");
            return Ok(None);
        }
        build.args(["build", "--locked", "--manifest-path", "python/Cargo.toml", "--profile", self.profile]);
        build.arg("--target-dir").arg(&self.cargo_target).arg("--out").arg(&self.output);
        step(build.current_dir(self.root))?;
        let wheel = self.files()?.into_iter().find(|file| file.extension().is_some_and(|end| end == "whl"));
        wheel.context("maturin left no wheel").map(Some)
    }

    fn files(&self) -> Result<Vec<PathBuf>> {
        let listed: Result<Vec<_>, _> = fs::read_dir(&self.output)?.collect();
        let mut files: Vec<PathBuf> = listed?.into_iter().map(|entry| entry.path()).collect();
        files.sort();
        Ok(files)
    }

    /// Writes the SHA-256 sums of the files in the format of `sha256sum --check`.
    fn checksums(&self) -> Result<()> {
        let mut sum = Command::new("sha256sum");
        if !crate::is_available("sha256sum") {
            sum = Command::new("shasum");
            sum.args(["-a", "256"]);
        }
        let files = self.files()?;
        sum.args(files.iter().filter_map(|file| file.file_name())).current_dir(&self.output);
        fs::write(self.output.join("SHA256SUMS"), printed(&mut sum)?).context("SHA256SUMS cannot be written")
    }
}

/// The standard output of a command that succeeds.
fn printed(command: &mut Command) -> Result<String> {
    let line = crate::shown(command);
    let output = command.output().with_context(|| format!("`{line}` did not start"))?;
    if !output.status.success() {
        bail!("`{line}` failed ({}): {}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// The file names of the C library: the shared one, then the static one.
fn library_files() -> [String; 2] {
    [std::env::consts::DLL_SUFFIX, ".a"].map(|ending| format!("lib{LIBRARY}{ending}"))
}

/// The text of the C library's file for pkg-config. Its paths are relative to the file, so that the archive can be
/// unpacked anywhere.
fn pkg_config(version: &str, system_libraries: &str) -> String {
    format!(
        "\
prefix=${{pcfiledir}}/../..
libdir=${{prefix}}/lib
includedir=${{prefix}}/include

Name: anabranch
Description: A packet-level simulator of RDMA fabrics, as the network of a simulator of training
Version: {version}
Cflags: -I${{includedir}}
Libs: -L${{libdir}} -l{LIBRARY}
Libs.private: {system_libraries}
"
    )
}
