//! Tests of `rank_hosts`, which lists the host of each rank of a job.

use crate::common::Place;
use serde_json::Value;
use std::path::PathBuf;

const GOAL: &str = "num_ranks 2\nrank 0 {\na: send 100000b to 1\n}\nrank 1 {\nb: recv 100000b from 0\n}\n";

const FABRIC: &str = "schemes = [\"reps\"]\nseeds = [1]\n[topology]\nkind = \"fat-tree\"\nhosts = 16\ntiers = 2\nlink = \"400Gbps\"\n";

fn place(workload: &str) -> Place {
    let place = Place::new();
    place.write("two.goal", GOAL);
    place.write("hosts.txt", "# rank 0 first\n9\n\n1\n");
    place.write("s.toml", format!("{FABRIC}[workload]\n{workload}"));
    place
}

fn run(place: &Place, file: &str) -> Value {
    place.run(&["run", file, "--out", "out", "--json"]).expect(0).json()
}

#[test]
fn ranks_are_on_the_hosts_that_are_named_and_the_stored_scenario_says_so() {
    let job = "format = \"goal\"\nfile = \"two.goal\"\n";
    let named = run(&place(&format!("kind = \"trace\"\n{job}")), "s.toml");
    for rank_hosts in ["[9, 1]", "\"hosts.txt\""] {
        for workload in [
            format!("kind = \"trace\"\n{job}rank_hosts = {rank_hosts}\n"),
            format!(
                "kind = \"jobs\"\n[[workload.job]]\n{job}rank_hosts = {rank_hosts}\n[[workload.job]]\n{job}"
            ),
        ] {
            let place = place(&workload);
            let first = run(&place, "s.toml");
            let folder = first["folder"].as_str().unwrap();
            let stored = std::fs::read_to_string(place.path().join(folder).join("scenario.toml")).unwrap();
            assert!(
                stored.contains("rank_hosts = [\n    9,\n    1,\n]")
                    || stored.contains("rank_hosts = [9, 1]"),
                "{stored}"
            );
            let again = run(&place, &format!("{folder}/scenario.toml"));
            assert_eq!(first["digest"], again["digest"], "{workload}");
            assert_eq!(first["runs"][0]["digest"], again["runs"][0]["digest"], "{workload}");
            // Hosts 0 and 1 share a switch, but hosts 9 and 1 do not.
            assert!(
                first["runs"][0]["fct_max_us"].as_f64() > named["runs"][0]["fct_max_us"].as_f64(),
                "{workload}"
            );
        }
    }
    let both = place(&format!("kind = \"trace\"\n{job}rank_hosts = [9, 1]\nplacement = \"blocks\"\n"));
    let refused = both.run(&["run", "s.toml", "--out", "out"]).expect(2).stderr;
    assert!(refused.contains("rank_hosts says where the ranks are, and so does placement"), "{refused}");
    assert!(refused.contains("write: rank_hosts or placement, not both"), "{refused}");
}

/// A file without an expected outcome makes the test fail.
#[test]
fn collected_files_with_rank_hosts_run() {
    let Some(folder) = std::env::var_os("ANABRANCH_PEERS").map(PathBuf::from) else {
        println!("skipped: ANABRANCH_PEERS is not set");
        return;
    };
    let place = Place::new();
    let mut seen = 0;
    for entry in std::fs::read_dir(folder.join("cases/33-rank-hosts")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let (file, stem) = (path.to_str().unwrap(), path.file_stem().unwrap().to_str().unwrap());
        match stem {
            "both" => {
                let refused = place.run(&["check", file]).expect(2).stderr;
                assert!(refused.contains("write: rank_hosts or placement, not both"), "{refused}");
            }
            "list" | "file" | "plain" | "random" | "jobs" | "jobs-file" | "workaround" => {
                place.run(&["check", file]).expect(0);
                let document = run(&place, file);
                assert_eq!(document["runs"][0]["flows"], document["runs"][0]["flows_finished"], "{stem}");
            }
            other => panic!("{other}.toml has no answer here"),
        }
        seen += 1;
    }
    assert_eq!(seen, 8);
}
