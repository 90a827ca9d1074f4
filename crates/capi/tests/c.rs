//! Tests that compile, link and run the programs in C, and compare their ring with this simulator's own.

use anabranch_sim::scenario::{NoFiles, Overrides, read};
use anabranch_sim::{Control, run};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The ranks, and the bytes of a block. With few ranks a block is smaller than a window.
const FEW: (u32, u64) = (8, 100 * 4096);
const MANY: (u32, u64) = (64, 4 * 4096);

/// A scenario with few hosts on one switch, or many on two tiers.
fn fabric(scheme: &str, ranks: u32) -> String {
    let kind = if ranks > 8 { "fat-tree" } else { "single-switch" };
    format!(
        "schemes = [\"{scheme}\"]\nseeds = [1]\ntopology = {{ kind = \"{kind}\", hosts = {ranks}, link = \"100Gbps\", link_latency = \"1us\" }}\n"
    )
}

/// The folder with the library that cargo builds for this test.
fn library_folder() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_owned()
}

/// A program in C, compiled and linked with the library; `None` without a C compiler.
fn compiled(source: &Path, into: &Path) -> Option<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let library = library_folder();
    let program = into.join("program");
    let output = Command::new("cc")
        .args(["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-o"])
        .arg(&program)
        .arg(source)
        .arg("-I")
        .arg(here.join("include"))
        .arg("-L")
        .arg(&library)
        .arg(format!("-Wl,-rpath,{}", library.display()))
        .arg("-lanabranch_capi")
        .output();
    let Ok(output) = output else {
        eprintln!("SKIPPED: {} is not compiled: there is no cc", source.display());
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(program)
}

fn compiled_ring(into: &Path) -> Option<PathBuf> {
    compiled(&Path::new(env!("CARGO_MANIFEST_DIR")).join("c/ring_all_reduce.c"), into)
}

/// The program in the header's first comment, whose lines are indented by four spaces.
fn example_of_the_header() -> String {
    let header = include_str!("../include/anabranch.h");
    let (comment, _) = header.split_once("*/").unwrap();
    let lines = comment.lines().filter_map(|line| line.strip_prefix(" *     "));
    lines.fold(String::new(), |text, line| text + line + "\n")
}

fn run_program(program: &Path, scenario: &str, ranks: u32, bytes: u64) -> Output {
    Command::new(program).args([scenario, &ranks.to_string(), &bytes.to_string()]).output().unwrap()
}

/// The CCT of this simulator's own ring, in ps.
fn own_ring(scheme: &str, (ranks, block): (u32, u64)) -> u64 {
    let text = fabric(scheme, ranks)
        + &format!(
            "workload = {{ kind = \"collective\", algorithm = \"allreduce-ring\", bytes = \"{}B\", chunk = \"{block}B\" }}\n",
            block * u64::from(ranks)
        );
    let scenario = read("s.toml", &text, &NoFiles, &Overrides::default()).unwrap_or_else(|e| panic!("{e}"));
    let result = run(&scenario.points().unwrap()[0], &Control::default()).unwrap();
    result.jobs[0].cct_ps.unwrap()
}

#[test]
fn a_ring_in_c_takes_as_long_as_our_own() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled_ring(folder.path()) else { return };
    for (ranks, block) in [FEW, MANY] {
        for scheme in ["reps", "rocev2", "dcp", "strack", "eqds"] {
            let output = run_program(&program, &fabric(scheme, ranks), ranks, block * u64::from(ranks));
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let cct: u64 = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
            assert_eq!(cct, own_ring(scheme, (ranks, block)), "{scheme}, {ranks} ranks");
        }
    }
}

#[test]
fn the_example_in_the_header_runs() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("example.c");
    std::fs::write(&source, example_of_the_header()).unwrap();
    let Some(program) = compiled(&source, folder.path()) else { return };
    let output = Command::new(program).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8(output.stdout).unwrap();
    let at = said.strip_prefix("1 MB after ").and_then(|said| said.strip_suffix(" ps\n"));
    let at: u64 = at.and_then(|at| at.parse().ok()).unwrap_or_else(|| panic!("{said}"));
    // More than the serialization of its bytes at 400 Gb/s.
    assert!(at > 20_000_000, "{said}");
}

#[test]
fn header_and_library_have_the_version_of_the_package() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("version.c");
    let text = r#"
        #include "anabranch.h"
        #include <stdio.h>
        int main(void) {
            printf("%s %s %d.%d.%d", anabranch_version(), ANABRANCH_VERSION, ANABRANCH_VERSION_MAJOR,
                   ANABRANCH_VERSION_MINOR, ANABRANCH_VERSION_PATCH);
            return 0;
        }
    "#;
    std::fs::write(&source, text).unwrap();
    let Some(program) = compiled(&source, folder.path()) else { return };
    let printed = String::from_utf8(Command::new(program).output().unwrap().stdout).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(printed, format!("{version} {version} {version}"));
}

#[test]
fn what_is_wrong_reaches_c() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled_ring(folder.path()) else { return };
    let said = |scenario: &str, ranks| {
        let output = run_program(&program, scenario, ranks, 3_000_000);
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, why) = said(&fabric("resp", 8), 8);
    assert!(code == Some(2) && why.contains("reps"), "{why}");
    let (code, why) = said(&fabric("reps", 8), 9);
    assert!(code == Some(1) && why.contains("the fabric has the hosts 0 to 7"), "{why}");
    // An error that only the engine finds is reported before the first call.
    let nowhere = "[[fault]]\nkind = \"link-down\"\nlinks = \"esw-uplinks\"\nat = \"1us\"\n";
    let (code, why) = said(&(fabric("reps", 8) + nowhere), 8);
    assert!(code == Some(2) && why.contains("esw-uplinks"), "{why}");
}
