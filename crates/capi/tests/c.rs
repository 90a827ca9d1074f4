//! Tests that compile, link and run programs in C and the adapter for ASTRA-sim. The collective completion times (CCTs)
//! of ring all-reduces in these programs are compared with the CCT of this simulator's own ring all-reduce.

use anabranch_sim::scenario::{NoFiles, Overrides, read};
use anabranch_sim::{Control, run};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The number of ranks, and the bytes of a block. The bandwidth-delay product over two links is about 50 KB (100 Gb/s,
/// 4 us there and back). A block of `FEW`, 410 KB, is larger, and a block of `MANY`, 16 KB, is smaller.
const FEW: (u32, u64) = (8, 100 * 4096);
const MANY: (u32, u64) = (64, 4 * 4096);

fn fabric(scheme: &str, ranks: u32) -> String {
    let kind = if ranks > 8 { "fat-tree" } else { "single-switch" };
    format!(
        "schemes = [\"{scheme}\"]\nseeds = [1]\ntopology = {{ kind = \"{kind}\", hosts = {ranks}, link = \"100Gbps\", link_latency = \"1us\" }}\n"
    )
}

fn library_folder() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_owned()
}

fn compiled(source: &Path, into: &Path) -> Option<PathBuf> {
    compiled_by("cc", &["-std=c99"], source, into)
}

/// A program that is compiled by `compiler` and linked with the library. `None` if there is no such compiler.
fn compiled_by(compiler: &str, options: &[&str], source: &Path, into: &Path) -> Option<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let library = library_folder();
    let program = into.join("program");
    let output = Command::new(compiler)
        .args(options)
        .args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-o"])
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
        eprintln!("SKIPPED: {} is not compiled: there is no {compiler}", source.display());
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(program)
}

fn compiled_ring(into: &Path) -> Option<PathBuf> {
    compiled(&Path::new(env!("CARGO_MANIFEST_DIR")).join("c/ring_all_reduce.c"), into)
}

/// The program in the first comment of the header, in which its lines are indented by four spaces.
fn example_of_the_header() -> String {
    let header = include_str!("../include/anabranch.h");
    let (comment, _) = header.split_once("*/").unwrap();
    let lines = comment.lines().filter_map(|line| line.strip_prefix(" *     "));
    lines.fold(String::new(), |text, line| text + line + "\n")
}

fn run_program(program: &Path, scenario: &str, ranks: u32, bytes: u64) -> Output {
    Command::new(program).args([scenario, &ranks.to_string(), &bytes.to_string()]).output().unwrap()
}

/// The CCT of this simulator's own ring all-reduce, in ps.
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
    let at = said.strip_prefix("1 MB after ").and_then(|said| said.strip_suffix(" ps\n0 packets dropped\n"));
    let at: u64 = at.and_then(|at| at.parse().ok()).unwrap_or_else(|| panic!("{said}"));
    // The serialisation of 1 MB at 400 Gb/s takes 20 us.
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
    let nowhere = "[[fault]]\nkind = \"link-down\"\nlinks = \"esw-uplinks\"\nat = \"1us\"\n";
    let (code, why) = said(&(fabric("reps", 8) + nowhere), 8);
    assert!(code == Some(2) && why.contains("esw-uplinks"), "{why}");
}

#[test]
fn the_rest_of_the_header_can_be_called_from_c() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("two.topo"), "3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n")
        .unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/calls.c");
    let Some(program) = compiled(&source, folder.path()) else { return };
    let output = Command::new(program).arg(folder.path()).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    // The first run stops when 128 KiB have arrived over NVLink, which is before the arrivals over the network:
    // 291,272 ps at 3.6 Tb/s plus a latency of 25,000 ps are 316,272 ps.
    let expected = [
        "4 ranks, 4 hosts of 400 Gb/s, warnings: \"\"",
        "316272 ps, 0 of 1 flows",
        "1 of 1 flows",
        "2 hosts of 100 Gb/s",
        "there is no counter",
    ];
    assert_eq!(printed.lines().collect::<Vec<_>>(), expected);
}

/// The adapter for ASTRA-sim, built with a stand-in for ASTRA-sim itself. `None` if there is no C++ compiler.
fn compiled_astra_sim(into: &Path) -> Option<PathBuf> {
    compiled_astra_sim_with(&[], into)
}

fn compiled_astra_sim_with(more: &[&str], into: &Path) -> Option<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let stand_in = here.join("tests/astra-sim-stand-in");
    let options = ["-std=c++17", "-I", stand_in.to_str().unwrap()];
    compiled_by("c++", &[&options, more].concat(), &here.join("astra-sim/anabranch_network.cc"), into)
}

/// The exit code of the adapter, and the text that it prints, with its error output at the end.
fn astra_sim(program: &Path, scenario: &str, workload: &str, more: &[&str]) -> (Option<i32>, String) {
    let config = program.with_file_name("network.toml");
    std::fs::write(&config, scenario).unwrap();
    let output = Command::new(program)
        .arg(format!("--network-configuration={}", config.display()))
        .args(["--workload-configuration", workload])
        .args(["--system-configuration=system.json", "--remote-memory-configuration=memory.json"])
        .args(more)
        .output()
        .unwrap();
    let printed = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(printed).unwrap())
}

/// The time in ns at which the last of 8 ranks had finished.
fn finished(program: &Path, scenario: &str, workload: &str, more: &[&str]) -> u64 {
    let (code, printed) = astra_sim(program, scenario, workload, more);
    assert_eq!(code, Some(0), "{printed}");
    let at = printed.lines().last().and_then(|line| line.strip_prefix("anabranch: finished at "));
    let at: u64 =
        at.and_then(|at| at.strip_suffix(" ns")?.parse().ok()).unwrap_or_else(|| panic!("{printed}"));
    let ranks = printed.lines().filter(|line| line.starts_with("rank "));
    let times = ranks.map(|line| line.split(' ').nth(4).unwrap().parse::<u64>().unwrap());
    let times: Vec<u64> = times.collect();
    assert_eq!((times.len(), times.iter().max()), (8, Some(&at)), "{printed}");
    at
}

#[test]
fn a_ring_of_the_adapter_for_astra_sim_takes_as_long_as_our_own() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled_astra_sim(folder.path()) else { return };
    let (ranks, block) = FEW;
    let workload = |mode: &str| format!("{mode}:{}", block * u64::from(ranks));
    for scheme in ["reps", "rocev2", "dcp", "strack", "eqds"] {
        let scenario = fabric(scheme, ranks);
        let acknowledged = finished(&program, &scenario, &workload("acknowledged"), &[]);
        assert_eq!(acknowledged, own_ring(scheme, FEW) / 1000, "{scheme}");
        // The workload ends at the last arrival. The last ACK, which then still has to cross two links of 1 us, does
        // not matter.
        let received = finished(&program, &scenario, &workload("received"), &[]);
        assert!((2_000..3_000).contains(&(acknowledged - received)), "{scheme}: {received}, {acknowledged}");
        assert_eq!(finished(&program, &scenario, &workload("computing"), &[]), received + 1_000, "{scheme}");
        // A flag of one byte with the same tag follows each block. The receive of the flag is posted before the receive
        // of the block.
        assert!(finished(&program, &scenario, &workload("flags"), &[]) > received, "{scheme}");
    }
    // The adapter distinguishes lengths that differ by 2^32 bytes.
    let message = &["--queue-pairs=message"];
    assert!(finished(&program, &fabric("reps", ranks), &workload("large"), message) > 0);
}

/// When its workload has ended, the adapter does not wait for acknowledgements that are lost.
#[test]
fn the_adapter_for_astra_sim_ends_with_its_workload() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled_astra_sim_with(&["-DOLDER_LOGGING"], folder.path()) else { return };
    let scenario = fabric("rocev2", 8);
    let received = finished(&program, &scenario, "received:3276800", &[]);
    let down =
        format!("[[fault]]\nkind = \"link-down\"\nlinks = \"host-links\"\nat = \"{}ns\"\n", received + 500);
    let scenario = scenario + &down;
    assert_eq!(finished(&program, &scenario, "received:3276800", &[]), received);
    let (code, printed) = astra_sim(&program, &scenario, "acknowledged:3276800", &[]);
    assert!(code == Some(1) && printed.contains("anabranch: ") && printed.contains("flow"), "{printed}");
}

#[test]
fn the_adapter_for_astra_sim_takes_its_options() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled_astra_sim(folder.path()) else { return };
    let scenario = fabric("rocev2", 8);
    let time = |more: &[&str]| finished(&program, &scenario, "received:3276800", more);
    let whole = time(&[]);
    assert_eq!(time(&["--logical-dims", "4,2", "--queue-pairs=tag"]), whole);
    // Without congestion, a message on its own queue pair is as fast as a message on a shared queue pair.
    assert_eq!(time(&["--queue-pairs=message", "--comm-scale=1"]), whole);
    let (_, printed) = astra_sim(&program, &scenario, "received:3276800", &[]);
    // 100 Gb/s are 11.642 GB/s if a GB has 2^30 B.
    assert!(printed.contains(", 11.642 GB/s\n"), "{printed}");
    let (_, printed) = astra_sim(&program, &scenario, "received:3276800", &["--dimension-bandwidths=900,50"]);
    assert!(printed.contains(", 900.000 GB/s\n"), "{printed}");
    for (more, why) in [
        (vec!["--queue-pairs=none"], "write pair, tag or message"),
        (vec!["--logical-dims=4,4"], "more NPUs than the 8 ranks of the fabric"),
        (vec!["--logical-dims=4,x"], "\"x\" is no number above 0"),
        (vec!["--num-queues-per-dim=1.5"], "--num-queues-per-dim takes a whole number"),
        (vec!["--logical-dim=4"], "unknown option --logical-dim"),
        (vec!["--logical-dims"], "--logical-dims has no value"),
        (vec!["--network-configuration=nowhere.toml"], "nowhere.toml cannot be read"),
        (vec!["--system-configuration="], "--system-configuration=FILE is missing"),
    ] {
        let (code, printed) = astra_sim(&program, &scenario, "received:3276800", &more);
        assert!(code == Some(1) && printed.contains(why), "{more:?}: {printed}");
    }
    let (code, printed) = astra_sim(&program, &fabric("resp", 8), "received:3276800", &[]);
    assert!(
        code == Some(1) && printed.contains("network.toml: ") && printed.contains("\"reps\""),
        "{printed}"
    );
    let (code, printed) = astra_sim(&program, &scenario, "unfinished:3276800", &[]);
    assert!(code == Some(1) && printed.contains("8 of 8 ranks have not finished"), "{printed}");
}

#[test]
fn the_adapter_for_astra_sim_knows_servers_and_warnings() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled_astra_sim(folder.path()) else { return };
    let rails = |more: &str| {
        format!(
            "schemes = [\"reps\"]\ntopology = {{ kind = \"rails\", servers = 2, nics = 4, link = \"400Gbps\"{more} }}\n"
        )
    };
    let network = finished(&program, &rails(""), "received:33554432", &["--logical-dims=4,2"]);
    let nvlink =
        finished(&program, &rails(", nvlink = \"3600Gbps\""), "received:33554432", &["--logical-dims=4,2"]);
    // With and without NVLink, two blocks cross between the servers in each step, one in each direction. NVLink makes
    // the other links of the ring faster.
    assert!(nvlink < network && nvlink > network / 4, "{nvlink}, {network}");
    let measure = "[[measure]]\nlinks = \"host-links\"\nseries = \"queue-depth\"\n";
    let (code, printed) = astra_sim(&program, &(rails("") + measure), "received:33554432", &[]);
    assert!(code == Some(0) && printed.contains("[[measure]] has no effect"), "{printed}");
}
