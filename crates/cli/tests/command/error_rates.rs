//! Tests of the error rates of topology files, which are treated like faults of a scenario.

use crate::common::{Ended, Place};
use serde_json::{Value, json};
use std::path::PathBuf;

/// A topology of four hosts on a switch. All links have the error rate `rate`.
fn star(rate: &str) -> String {
    let links: String = (0..4).map(|host| format!("4 {host} 400Gbps 500ns {rate}\n")).collect();
    format!("5 1 4\n4\n{links}")
}

fn scenario(more: &str) -> String {
    format!(
        "schemes = [\"reps\", \"irn-ecmp\", \"dcp\"]\nseeds = [1]\n{more}[topology]\nkind = \"graph\"\nfile = \"star.txt\"\n\
         [workload]\nkind = \"collective\"\nalgorithm = \"allreduce-ring\"\nbytes = \"4MB\"\n"
    )
}

fn place(rate: &str, more: &str) -> Place {
    let place = Place::new();
    place.write("star.txt", star(rate));
    place.write("s.toml", scenario(more));
    place
}

/// The runs of a document, without the names of their faults and without their wall-clock times.
fn runs(document: &Value) -> Vec<Value> {
    let plain = |run: &Value| {
        let mut run = run.clone();
        run["wall_s"] = Value::Null;
        run["faults"].as_array_mut().unwrap().iter_mut().for_each(|fault| fault["on"] = Value::Null);
        run
    };
    document["runs"].as_array().unwrap().iter().map(plain).collect()
}

#[test]
fn an_error_rate_is_treated_as_the_same_loss_in_a_fault() {
    let of_file = place("0.001", "");
    let as_fault = place("0", "");
    let fault = "[[fault]]\nkind = \"packet-loss\"\nlinks = \"all\"\nprobability = 0.001\n";
    as_fault.write("s.toml", scenario("") + fault);
    let run = |place: &Place| place.run(&["run", "s.toml", "--out", "out", "--json"]).expect(0).json();
    let (one, other) = (run(&of_file), run(&as_fault));
    assert_eq!(runs(&one), runs(&other));
    for run in one["runs"].as_array().unwrap() {
        let fault = &run["faults"][0];
        assert_eq!((&fault["kind"], &fault["on"]), (&json!("packet-loss"), &json!("error-rate:0.001")));
        assert!(
            fault["packets_lost"].as_u64() > Some(0) && fault["packets_lost"] == run["link_losses"],
            "{run}"
        );
    }
    // The tables of the two scenarios are the same, apart from the name of the fault.
    let table = |place: &Place, document: &Value| {
        let folder = document["folder"].as_str().unwrap();
        let text = place.run(&["report", folder]).expect(0).stdout;
        text.replace("error-rate:0.001", "all")
            .lines()
            .filter(|line| !line.contains("s.toml"))
            .collect::<Vec<_>>()
            .join("\n")
    };
    let (of_file, as_fault) = (table(&of_file, &one), table(&as_fault, &other));
    assert!(of_file.contains("fault.0 (packet-loss all from 0"), "{of_file}");
    assert!(of_file.contains("Slowdown by fault: over the same run without faults"), "{of_file}");
    let below = |text: &str| {
        text.lines().skip(1).filter(|line| !line.contains("out/")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(below(&of_file), below(&as_fault));
}

#[test]
fn check_says_which_links_lose_how_much_and_which_lines_say_so() {
    let place = place("0.001", "");
    let mut lines: Vec<String> = star("0.001").lines().map(str::to_owned).collect();
    lines[3] = lines[3].replace("0.001", "0.25");
    lines[5] = lines[5].replace("0.001", "0");
    place.write("star.txt", lines.join("\n") + "\n");
    let text = place.run(&["check", "s.toml"]).expect(0).stdout;
    let faults: Vec<&str> = text.lines().filter(|line| line.starts_with("fault.")).collect();
    assert_eq!(
        faults,
        [
            "fault.0    packet-loss error-rate:0.001 with probability 0.001 at 0ps to the end: host:0, host:2, tor:0/down:0, \
             tor:0/down:2; lines 3, 5 of star.txt",
            "fault.1    packet-loss error-rate:0.25 with probability 0.25 at 0ps to the end: host:1, tor:0/down:1; line 4 of \
             star.txt",
        ]
    );
    assert!(text.contains("3 = 3 schemes x 1 sweep point x 1 seed, and 3 without faults"), "{text}");
    let json = place.run(&["check", "s.toml", "--json"]).expect(0).json();
    assert_eq!(json["faults"][1]["probability"], json!(0.25));
    assert_eq!(json["faults"][1]["links"], json!(["host:1", "tor:0/down:1"]));
    assert_eq!(json["faults"][1]["in_file"], json!("line 4 of star.txt"));
    place.write("star.txt", star("0"));
    let text = place.run(&["check", "s.toml"]).expect(0).stdout;
    assert!(!text.contains("\nfault.") && !text.contains("without faults"), "{text}");
}

/// A fault of the scenario that selects its links by the file's error rate replaces this rate, so that the loss can
/// be swept. The resolved scenario contains the loss once.
#[test]
fn a_fault_that_names_the_error_rate_takes_its_place() {
    let place = place("0.001", "");
    let fault =
        "[[fault]]\nkind = \"packet-loss\"\nlinks = \"error-rate:0.001\"\nprobability = 0.02\nat = \"5us\"\n";
    place.write("s.toml", scenario("") + fault);
    let json = place.run(&["check", "s.toml", "--json"]).expect(0).json();
    assert_eq!(json["faults"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&json["faults"][0]["probability"], &json["faults"][0]["in_file"]),
        (&json!(0.02), &Value::Null)
    );
    place.write("s.toml", scenario("") + &fault.replace("rate:0.001", "rate:1e-3"));
    let json = place.run(&["check", "s.toml", "--json"]).expect(0).json();
    assert_eq!(json["faults"].as_array().unwrap().len(), 1, "the same rate, written otherwise");
    let other = fault.replace("error-rate:0.001", "host:0");
    place.write("s.toml", scenario("") + &other);
    let json = place.run(&["check", "s.toml", "--json"]).expect(0).json();
    assert_eq!(json["faults"].as_array().unwrap().len(), 2, "another fault leaves the file's alone");
    assert_eq!(json["faults"][1]["on"], json!("error-rate:0.001"));
}

/// The slowdown by a fault is due to the fault alone, because the losses of the file occur with and without the fault.
#[test]
fn beside_another_fault_the_losses_of_the_file_stay_in_the_baseline() {
    let place = place("0.001", "");
    let fault = "[[fault]]\nkind = \"link-down\"\nlinks = \"host:3\"\nat = \"1s\"\nduration = \"1us\"\n";
    place.write("s.toml", scenario("") + fault);
    let text = place.run(&["check", "s.toml"]).expect(0).stdout;
    assert!(text.contains(", and 3 with the losses of the topology file alone"), "{text}");
    let document = place.run(&["run", "s.toml", "--out", "out", "--json"]).expect(0).json();
    let [runs, baselines] = ["runs", "baselines"].map(|name| document[name].as_array().unwrap().clone());
    for (run, baseline) in runs.iter().zip(&baselines) {
        assert_eq!(baseline["faults"].as_array().unwrap().len(), 1);
        assert_eq!(baseline["faults"][0]["on"], "error-rate:0.001");
        assert!(baseline["link_losses"].as_u64() > Some(0), "{baseline}");
        // The fault begins after the end of the run, so it has no cost.
        assert_eq!(run["cct_max_us"], baseline["cct_max_us"]);
        assert_eq!(run["link_losses"], baseline["link_losses"]);
    }
    let summary = document["summary"].as_array().unwrap();
    for row in summary {
        assert_eq!(row["slowdown_by_fault"]["mean"], json!(1.0), "{row}");
        assert_eq!(row["seeds_unhit"], json!(1), "the losses of the file are no hit of the fault: {row}");
    }
    let table = place.run(&["report", document["folder"].as_str().unwrap()]).expect(0).stdout;
    let note = "Slowdown by fault: over the same run without faults, which has the losses of the topology file as well, seed by seed.";
    assert!(table.replace('\n', " ").contains(note), "{table}");
}

#[test]
fn a_stored_scenario_loses_as_much() {
    let place = place("0.01", "");
    let run = |file: &str| place.run(&["run", file, "--out", "out", "--json"]).expect(0).json();
    let first = run("s.toml");
    let folder = first["folder"].as_str().unwrap().to_owned();
    let again = run(&format!("{folder}/scenario.toml"));
    assert_eq!(first["digest"], again["digest"]);
    assert_eq!(runs(&first), runs(&again));
    assert_eq!(again["runs"][0]["faults"].as_array().unwrap().len(), 1);
}

#[test]
fn swept_files_have_their_own_losses() {
    let place = place("0.01", "");
    place.write("none.txt", star("0"));
    for (files, lossy) in [("\"star.txt\", \"none.txt\"", 0), ("\"none.txt\", \"star.txt\"", 1)] {
        let sweep = format!("sweep = {{ \"topology.file\" = [{files}] }}\n");
        place.write("s.toml", scenario(&sweep).replace("\"reps\", \"irn-ecmp\", ", ""));
        let document = place.run(&["run", "s.toml", "--out", "out", "--json"]).expect(0).json();
        for (index, run) in document["runs"].as_array().unwrap().iter().enumerate() {
            let lost = run["link_losses"].as_u64().unwrap() > 0;
            let faults = run["faults"].as_array().unwrap().len();
            assert_eq!((lost, faults), (index == lossy, usize::from(index == lossy)), "{files}: {run}");
        }
    }
}

#[test]
fn losing_every_packet_is_warned_of_at_the_line_of_the_file() {
    let place = place("1", "");
    let warned = place.run(&["check", "s.toml"]).expect(0).stderr;
    let expected = "warning: star.txt:3: error rate 1 (fault.0): the links that have it lose every packet that they carry";
    assert!(warned.contains(expected) && warned.contains("0.01 for one packet in a hundred"), "{warned}");
    let ended = place.run(&["run", "s.toml", "--out", "out"]).expect(1).stderr;
    let expected = "every packet on \"error-rate:1\" (lines 3 to 6 of star.txt) is lost from the start for good; take an error \
                    rate below 1 there";
    // Each run reports how it ended. The advice is printed once.
    assert_eq!((ended.matches(": stalled at ").count(), ended.matches(expected).count()), (3, 1), "{ended}");
    place.write("star.txt", star("0.00000001"));
    let warned = place.run(&["check", "s.toml"]).expect(0).stderr;
    assert!(
        warned
            .contains("warning: star.txt:3: fault.0 (packet-loss error-rate:0.00000001) is expected to hit"),
        "{warned}"
    );
    assert!(warned.contains("an error rate of "), "{warned}");
}

/// The values of `stall` that hints propose, in microseconds.
fn proposed(stderr: &str) -> Vec<f64> {
    let texts = stderr.split("stall = \"").skip(1).filter_map(|rest| rest.split('"').next());
    let us = |text: &str| {
        let unit = text.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
        let number: f64 = text.trim_end_matches(char::is_alphabetic).parse().unwrap();
        number * [("us", 1.0), ("ms", 1e3), ("s", 1e6)].iter().find(|(known, _)| *known == unit).unwrap().1
    };
    texts.map(us).collect()
}

#[track_caller]
fn names_it(stderr: &str, rate: &str, file: &str, stall_us: f64) {
    assert!(
        stderr.contains(&format!("packet-loss = {rate} on \"error-rate:{rate}\" (lines 3 to ")),
        "{stderr}"
    );
    assert!(stderr.contains(&format!(" of {file})")) && !stderr.contains("no fault holds"), "{stderr}");
    let proposed = proposed(stderr);
    assert!(!proposed.is_empty() && proposed.iter().all(|stall| *stall > stall_us), "{stderr}");
    assert!(!stderr.contains("000000ps") && !stderr.contains("339040ps"), "{stderr}");
}

#[test]
fn a_stalled_run_names_the_error_rate_and_a_stall_that_is_longer() {
    for (stall, stall_us) in [("", 1e4), ("limits = { stall = \"500us\" }\n", 500.0)] {
        let place = place("0.3", stall);
        let ended = place.run(&["run", "s.toml", "--out", "out"]).expect(1).stderr;
        names_it(&ended, "0.3", "star.txt", stall_us);
    }
}

/// A file without an expected outcome makes the test fail.
#[test]
fn collected_files_with_error_rates_are_answered() {
    let Some(folder) = std::env::var_os("ANABRANCH_PEERS").map(PathBuf::from) else {
        println!("skipped: ANABRANCH_PEERS is not set");
        return;
    };
    let place = Place::new();
    let folder = folder.join("cases/03-error-rate");
    let mut seen = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let (file, stem) = (path.to_str().unwrap(), path.file_stem().unwrap().to_str().unwrap());
        let run = |code: i32| -> Ended { place.run(&["run", file, "--out", "out", "--json"]).expect(code) };
        match stem {
            "zero" => {
                let document = run(0).json();
                assert!(document["runs"].as_array().unwrap().iter().all(|run| run["faults"] == json!([])));
            }
            "1e-3" => {
                let document = run(0).json();
                for run in document["runs"].as_array().unwrap() {
                    assert!(run["faults"][0]["packets_lost"].as_u64() > Some(0), "{run}");
                    assert_eq!(run["faults"][0]["on"], "error-rate:0.001");
                }
                let folder = document["folder"].as_str().unwrap();
                let table = place.run(&["report", folder]).expect(0).stdout;
                assert!(
                    table.contains("Slowdown by fault")
                        && table.contains("fault.0 (packet-loss error-rate:0.001"),
                    "{table}"
                );
            }
            "0.1" => names_it(&run(1).stderr, "0.1", "topo-0.1.txt", 1e4),
            "0.1-hint" => names_it(&run(1).stderr, "0.1", "topo-0.1.txt", 2_200.0),
            // Random losses determine whether the run finishes. If it does not, the hint proposes a longer stall limit.
            "0.1-longer" => {
                let ended = place.run(&["run", file, "--out", "out", "--json"]);
                if ended.code != Some(0) {
                    names_it(&ended.expect(1).stderr, "0.1", "topo-0.1.txt", 2e5);
                }
            }
            "one" => {
                let ended = run(1).stderr;
                assert!(ended.contains("topo-one.txt:3: error rate 1 (fault.0)"), "{ended}");
                let lost =
                    "every packet on \"error-rate:1\" (lines 3 to 10 of topo-one.txt) is lost from the start";
                let counts = (ended.matches(": stalled at ").count(), ended.matches(lost).count());
                assert_eq!(counts, (4, 1), "{ended}");
            }
            "bad1" => {
                let ended = run(2).stderr;
                assert!(
                    ended.contains("topo-bad1.txt:3: the error rate \"1.5\" is no probability"),
                    "{ended}"
                );
            }
            // The topology of this scenario is not among the files.
            "one-message" => {
                let ended = run(2).stderr;
                assert!(ended.contains("cannot read \"topo-1e-2.txt\": no such file"), "{ended}");
            }
            other => panic!("{other}.toml has no answer here"),
        }
        seen += 1;
    }
    assert!(seen > 0, "{} has no scenario", folder.display());
}
