//! Tests with inputs of public reports, from the folder that the environment variable ANABRANCH_PEERS names.

use super::common::Place;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Scenarios that refer to a file with a mistake, each with the place of the mistake and the correction, which may be
/// empty. The scenario `f-more` of the same folder is not among them, because it only causes a warning.
const HINTS: &[(&str, &str, &str)] = &[
    ("c-count", "c-count.cm:2: ", "`Connections 1`"),
    ("c-nodes", "c-nodes.cm:1: ", ""),
    ("c-size", "c-size.cm:3: ", "1000"),
    ("c-start", "c-start.cm:3: ", "1000000"),
    ("count", "count.txt:1: ", "3 1 2"),
    ("f-count", "f-count.txt:1: ", "1"),
    ("f-size", "f-size.txt:2: ", "0 1 3 100 1000 2"),
    ("f-start", "f-start.txt:2: ", "0 1 3 100 1000 2"),
    ("g-norecv", "g-norecv.goal:3: ", "`recv 1000b from 0 tag 1` into rank 1"),
    ("g-ranks", "g-ranks.goal:1: ", "`num_ranks 2`"),
    ("g-size", "g-size.goal:6: ", "1000b"),
    ("g-unit", "g-unit.goal:3: ", "1000b"),
    ("latency", "latency.txt:3: ", "0 2 100Gbps 1000ns 0"),
    ("loss", "loss.txt:3: ", "0 2 100Gbps 0.001ms 0"),
    ("node", "node.txt:2: ", "2"),
    ("rate", "rate.txt:3: ", "0 2 100Gbps 1us 0"),
    ("s-cols", "s-cols.txt:3: ", "0 behind it"),
    ("s-count", "s-count.txt:2: ", "1"),
    ("s-op", "s-op.txt:3: ", ""),
    ("s-time", "s-time.txt:3: ", "1000"),
    ("switches", "switches.txt:2: ", "2"),
    ("t-radix", "t-radix.topo:11: ", "Radix_Down 4"),
    ("t-speed", "t-speed.topo:5: ", "Downlink_speed_Gbps 400"),
];

fn cases() -> Option<PathBuf> {
    let folder = std::env::var_os("ANABRANCH_PEERS").map(PathBuf::from);
    if folder.is_none() {
        println!("skipped: ANABRANCH_PEERS is not set");
    }
    folder.map(|folder| folder.join("cases"))
}

fn scenarios(folder: &Path) -> BTreeSet<String> {
    let files =
        std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    files.filter_map(|file| file.strip_suffix(".toml").map(str::to_owned)).collect()
}

fn path(folder: &Path, scenario: &str) -> String {
    folder.join(format!("{scenario}.toml")).to_str().unwrap().to_owned()
}

#[test]
fn a_mistake_in_an_imported_file_is_answered_in_its_own_format() {
    let Some(folder) = cases().map(|cases| cases.join("27-hints")) else { return };
    let place = Place::new();
    let mut expected: BTreeSet<String> = HINTS.iter().map(|(name, ..)| (*name).to_owned()).collect();
    expected.insert("f-more".to_owned());
    assert_eq!(scenarios(&folder), expected);
    for (name, at, write) in HINTS {
        let refused = place.run(&["check", &path(&folder, name)]).expect(2).stderr;
        assert!(refused.starts_with("error: ") && refused.contains(at), "{name}: {refused}");
        let fix = refused.lines().find_map(|line| line.strip_prefix("  write: ")).unwrap_or_default();
        assert_eq!(fix, *write, "{name}: {refused}");
    }
    let more = place.run(&["check", &path(&folder, "f-more")]).expect(0).stderr;
    assert!(more.contains("1 flow behind the 1 that its first line counts"), "{more}");
}

/// Eight hosts form a ring, and neighbouring ranks are on neighbouring hosts. Each host sends 2 x 7 = 14 blocks of
/// 1 MB. A block takes 80 us at 100 Gb/s, so all blocks take 1,120 us.
#[test]
fn hosts_that_are_joined_without_a_switch_run() {
    let Some(folder) = cases().map(|cases| cases.join("02-dgx1-no-switch")) else { return };
    let place = Place::new();
    let expected = ["direct", "hint1", "hint8", "ring8", "two-nics", "workaround"].map(str::to_owned);
    assert_eq!(scenarios(&folder), expected.into());
    for name in ["direct", "hint1", "two-nics", "workaround"] {
        place.run(&["check", &path(&folder, name)]).expect(0);
    }
    let no_hosts = place.run(&["check", &path(&folder, "hint8")]).expect(2).stderr;
    assert!(no_hosts.contains("hint8.txt:1: 8 nodes less 8 switches leave 0 hosts"), "{no_hosts}");
    let ring = place.run(&["run", &path(&folder, "ring8"), "--out", "ring", "--json"]).expect(0).json();
    let cct = ring["runs"][0]["cct_max_us"].as_f64().unwrap();
    assert!((1_120.0..1.06 * 1_120.0).contains(&cct), "{cct}");
}

/// Eight GPUs in two servers on one leaf send messages of 1 MB. Each GPU has its own NIC, and a message takes at least
/// 20 us at 400 Gb/s.
#[test]
fn a_topology_of_simai_runs() {
    let Some(folder) = cases().map(|cases| cases.join("24-simai-topology")) else { return };
    let place = Place::new();
    let topology = place.run(&["run", &path(&folder, "topo"), "--out", "topo", "--json"]).expect(0).json();
    assert_eq!(topology["runs"][0]["flows_finished"], 8);
    let fct = topology["runs"][0]["fct_max_us"].as_f64().unwrap();
    assert!((20.0..24.0).contains(&fct), "{fct}");
}

/// A window of whole packets keeps the path of a single message busy at any rate. HPCC reaches its target of 95 %, so
/// its message takes about 1 / 0.95 = 1.05 times the ideal time.
#[test]
fn one_message_takes_no_longer_than_its_path_needs() {
    let Some(folder) = cases().map(|cases| cases.join("25-window-floor")) else { return };
    let place = Place::new();
    assert_eq!(scenarios(&folder), ["r10", "r40", "r100", "r400"].map(str::to_owned).into());
    for rate in ["r10", "r40", "r100", "r400"] {
        let runs = place.run(&["run", &path(&folder, rate), "--out", rate, "--json"]).expect(0).json();
        let runs = runs["runs"].as_array().unwrap().clone();
        assert_eq!(runs.len(), 10);
        for run in runs {
            let slowdown = run["fct_max_us"].as_f64().unwrap() / run["ideal_fct_max_us"].as_f64().unwrap();
            let most = if run["scheme"] == "hpcc" { 1.07 } else { 1.02 };
            assert!((1.0..most).contains(&slowdown), "{rate}: {} {slowdown}", run["scheme"]);
        }
    }
}

#[test]
fn every_folder_has_its_tests() {
    let Some(folder) = cases() else { return };
    let folders = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let numbers: BTreeSet<String> = folders
        .filter(|entry| entry.file_type().unwrap().is_dir())
        .map(|entry| entry.file_name().to_str().unwrap()[..2].to_owned())
        .collect();
    assert_eq!(numbers, ["02", "03", "23", "24", "25", "27", "31", "33", "36"].map(str::to_owned).into());
}
