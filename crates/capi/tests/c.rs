//! The example in C: compiled, linked and run, and held against our own ring.

use anabranch_sim::scenario::{NoFiles, Overrides, read};
use anabranch_sim::{Control, run};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const RANKS: u32 = 8;
const BYTES: u64 = 8 * 100 * 4096;

/// Eight hosts on one switch. A block is less than a window.
fn fabric(scheme: &str) -> String {
    format!(
        "schemes = [\"{scheme}\"]\nseeds = [1]\ntopology = {{ kind = \"single-switch\", hosts = {RANKS}, link = \"100Gbps\", link_latency = \"1us\" }}\n"
    )
}

/// Where cargo puts the library that it builds for this test: beside it.
fn built() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_owned()
}

/// The program, compiled by the C compiler and linked with the library; none without a C compiler.
fn compiled(into: &Path) -> Option<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let library = built();
    let program = into.join("ring_all_reduce");
    let output = Command::new("cc")
        .args(["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-o"])
        .arg(&program)
        .arg(here.join("c/ring_all_reduce.c"))
        .arg("-I")
        .arg(here.join("include"))
        .arg("-L")
        .arg(&library)
        .arg(format!("-Wl,-rpath,{}", library.display()))
        .arg("-lanabranch_capi")
        .output();
    let Ok(output) = output else {
        eprintln!("SKIPPED: the example in C is not compiled: there is no cc");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(program)
}

fn ran(program: &Path, scenario: &str, ranks: u32) -> Output {
    Command::new(program).args([scenario, &ranks.to_string(), &BYTES.to_string()]).output().unwrap()
}

/// The CCT of our own ring, in ps.
fn own_ring(scheme: &str) -> u64 {
    let text = fabric(scheme)
        + &format!(
            "workload = {{ kind = \"collective\", algorithm = \"allreduce-ring\", bytes = \"{BYTES}B\", chunk = \"{}B\" }}\n",
            BYTES / u64::from(RANKS)
        );
    let scenario = read("s.toml", &text, &NoFiles, &Overrides::default()).unwrap_or_else(|e| panic!("{e}"));
    let result = run(&scenario.points().unwrap()[0], &Control::default()).unwrap();
    result.jobs[0].cct_ps.unwrap()
}

#[test]
fn a_ring_in_c_takes_as_long_as_our_own() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled(folder.path()) else { return };
    for scheme in ["reps", "rocev2", "dcp", "strack", "eqds"] {
        let output = ran(&program, &fabric(scheme), RANKS);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let cct: u64 = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
        assert_eq!(cct, own_ring(scheme), "{scheme}");
    }
}

#[test]
fn what_is_wrong_reaches_c() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled(folder.path()) else { return };
    let said = |scenario: &str, ranks| {
        let output = ran(&program, scenario, ranks);
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, why) = said(&fabric("resp"), RANKS);
    assert!(code == Some(2) && why.contains("reps"), "{why}");
    let (code, why) = said(&fabric("reps"), 9);
    assert!(code == Some(1) && why.contains("the fabric has the hosts 0 to 7"), "{why}");
}
