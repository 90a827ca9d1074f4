//! Tests of `run --astra`, which runs the examples of a folder of ASTRA-sim.

use crate::common::Place;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

/// A folder with a network of four NPUs, a system configuration, and no workload.
fn place() -> Place {
    let place = Place::new();
    std::fs::create_dir_all(place.path().join("a/network")).unwrap();
    let network = "topology: [ Ring ]\nnpus_count: [ 4 ]\nbandwidth: [ 50.0 ]\nlatency: [ 500.0 ]\n";
    place.write("a/network/Ring_4.yml", network);
    place.write("a/Ring.json", "{\"all-reduce-implementation\": [\"ring\"]}\n");
    place
}

#[test]
fn an_example_that_cannot_run_has_its_reason() {
    let place = place();
    std::fs::create_dir_all(place.path().join("a/workload")).unwrap();
    for rank in 0..2 {
        place.write(&format!("a/workload/two.{rank}.et"), "");
    }
    let ended = place.run(&["run", "--astra", "a"]).expect(0);
    let line = ended.stdout.lines().find(|line| line.starts_with("Ring_4 ")).unwrap();
    assert!(line.contains("Ring") && line.ends_with("the folder has no workload of 4 NPUs"), "{line}");
    let nowhere = place.run(&["run", "--astra", "nowhere"]).expect(2);
    assert!(nowhere.stderr.contains("help: name a folder of ASTRA-sim"), "{}", nowhere.stderr);
    let within = place.run(&["run", "--astra", "a/network"]).expect(2);
    assert!(within.stderr.contains("there is no workload of ASTRA-sim in this folder\n  help: --astra "));
    assert!(within.stderr.contains("/a, which has networks and workloads"), "{}", within.stderr);
    let unknown = place.run(&["run", "--astra", "a", "--scheme", "hpccc"]).expect(2);
    assert!(unknown.stdout.is_empty(), "{}", unknown.stdout);
    assert_eq!(unknown.stderr.matches("hpccc").count(), 1, "{}", unknown.stderr);
    assert!(unknown.stderr.contains("write: --scheme hpcc"), "{}", unknown.stderr);
}

#[test]
fn a_folder_without_workloads_is_refused() {
    let ended = place().run(&["run", "--astra", "a"]).expect(2);
    assert!(ended.stderr.contains("help: name a folder such as ASTRA-sim's examples"), "{}", ended.stderr);
}

#[test]
fn an_interrupted_folder_keeps_what_ended() {
    let Some(peers) = std::env::var_os("ANABRANCH_PEERS") else {
        println!("skipped: ANABRANCH_PEERS is not set");
        return;
    };
    let folder = Path::new(&peers).join("data/clusters/astra-sim");
    let place = Place::new();
    let mut command = place.command(&["run", "--out", "out", "--astra", folder.to_str().unwrap()]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut rows = BufReader::new(child.stdout.take().unwrap()).lines();
    let first: Vec<String> = rows.by_ref().take(2).map(Result::unwrap).collect();
    assert!(first[0].starts_with("network ") && first[1].contains("reps "), "{first:?}");
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let more = rows.count();
    let ended = child.wait_with_output().unwrap();
    let text = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(130), "{text}");
    let says =
        format!("interrupted after {} of 36 examples; the results of those that ended are in out", more + 1);
    assert!(text.contains(&says), "{text}");
    assert!(!place.results().is_empty());
}

#[test]
fn the_examples_of_astra_sim_run_or_are_refused_for_their_reason() {
    let Some(peers) = std::env::var_os("ANABRANCH_PEERS") else {
        println!("skipped: ANABRANCH_PEERS is not set");
        return;
    };
    let folder = Path::new(&peers).join("data/clusters/astra-sim");
    let ended = Place::new().run(&["run", "--json", "--astra", folder.to_str().unwrap()]).expect(0);
    let document = ended.json();
    let examples = document.as_array().unwrap();
    let refused: Vec<&str> = examples.iter().filter_map(|example| example["reason"].as_str()).collect();
    let reasons = [
        "\"tbd\" is no bandwidth",
        "no workload of 32 NPUs",
        "no workload of 32 NPUs",
        "takes a collective from files of Chakra",
    ];
    assert_eq!((examples.len(), refused.len()), (36, reasons.len()), "{refused:?}");
    let is_for = |(refused, reason): (&&str, &str)| refused.contains(reason);
    assert!(refused.iter().zip(reasons).all(is_for), "{refused:?}");
    let runs =
        examples.iter().filter(|example| example["cct_us"]["reps"].as_f64().is_some_and(|cct| cct > 0.0));
    assert_eq!(runs.count(), examples.len() - reasons.len());
}
