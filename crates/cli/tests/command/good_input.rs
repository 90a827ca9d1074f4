//! Tests of the command on good input: digests, the cache, JSON, stored results.

use crate::common::{Ended, Place, SMALL, edited};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn run_json(place: &Place, args: &[&str]) -> Value {
    let args: Vec<&str> = ["run"].iter().chain(args).chain(&["--out", "out", "--json"]).copied().collect();
    place.run(&args).expect(0).json()
}

fn digests(document: &Value) -> Vec<String> {
    document["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["digest"].as_str().unwrap().to_owned())
        .collect()
}

fn folder(place: &Place, document: &Value) -> PathBuf {
    place.path().join(document["folder"].as_str().unwrap())
}

fn has_16_flows(table: &str, scheme: &str) -> bool {
    let cells = |line: &str| line.split_whitespace().take(2).map(str::to_owned).collect::<Vec<_>>();
    table.lines().any(|line| matches!(&cells(line)[..], [name, flows] if name == scheme && flows == "16"))
}

#[test]
fn a_run_prints_a_table_and_writes_a_folder() {
    let place = Place::new();
    place.write("s.toml", SMALL);
    let ended = place.run(&["run", "s.toml", "--out", "out"]).expect(0);
    for text in ["Small", "report: out/s-"] {
        assert!(ended.stdout.contains(text), "no {text:?} in:\n{}", ended.stdout);
    }
    for scheme in ["reps", "ops"] {
        assert!(has_16_flows(&ended.stdout, scheme), "{}", ended.stdout);
    }
    assert_eq!(ended.stderr, "");
    let [name] = &place.results()[..] else { panic!("{:?}", place.results()) };
    let mut files: Vec<String> = fs::read_dir(place.path().join("out").join(name))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    let expected = [
        "facts.json",
        "faults.parquet",
        "flows.parquet",
        "jobs.parquet",
        "made-by.json",
        "manifest.json",
        "parts.parquet",
        "report.html",
        "runs.parquet",
        "scenario.toml",
        "series.parquet",
    ];
    assert_eq!(files, expected);
}

#[test]
fn what_is_hardly_meant_is_warned_of_and_run() {
    let place = Place::new();
    let far = SMALL.replace("[workload]", "link_latency = \"20us\"\n[workload]")
        + "[setup]\nbase = \"reps-paper\"\n";
    place.write("s.toml", &far);
    for args in [&["check", "s.toml"][..], &["run", "s.toml", "--out", "out"]] {
        let ended = place.run(args).expect(0);
        let warned =
            "warning: s.toml:2:1: scheme \"reps\": transport.rto = \"70us\" is not above the round trip of ";
        assert!(ended.stderr.contains(warned), "{}", ended.stderr);
    }
}

#[test]
fn json_has_stable_names() {
    let place = Place::new();
    place.write("s.toml", SMALL);
    let document = run_json(&place, &["s.toml"]);
    let names = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let expected = "scenario digest folder verdict summary runs baselines failed never_ran warnings run_warnings ground diagnostics";
    assert_eq!(names(&document), expected.split_whitespace().collect::<Vec<_>>());
    let expected = "scheme seed sweep flows flows_finished fct_mean_us fct_p50_us fct_p99_us fct_max_us \
                    ideal_fct_max_us slowdown_mean slowdown_p50 slowdown_p95 slowdown_p99 completion_us jobs \
                    jobs_finished cct_mean_us cct_max_us ideal_cct_max_us algbw_gbytes_per_sec busbw_gbytes_per_sec time_to_recover_us \
                    queue_p99_bytes peak_queue_bytes peak_queue_link drops link_losses trims \
                    pause_frames pause_us ecn_marks retransmissions timeouts packet_hops sim_time_us wall_s extra faults digest";
    assert_eq!(names(&document["runs"][0]), expected.split_whitespace().collect::<Vec<_>>());
    assert_eq!(document["runs"][0]["flows"], 16);
    assert_eq!((&document["runs"][0]["jobs"], &document["runs"][0]["pause_frames"]), (&0.into(), &0.into()));
    assert_eq!(document["runs"][1]["scheme"], "ops");
}

/// The note that schemes are not on the same ground comes before the table and before the summary of the page. It is
/// also in the output of `check` and in JSON.
#[test]
fn where_schemes_do_not_stand_on_the_same_ground_it_is_said() {
    let place = Place::new();
    let mixed = SMALL.replace("[\"reps\", \"ops\"]", "[\"reps\", \"dcp\"]");
    place.write("same.toml", &mixed);
    place.write("other.toml", format!("{mixed}[set]\n\"dcp.transport.payload\" = \"2KB\"\n"));
    let said = "Not on the same ground: transport.payload is 4.10 KB (reps) and 2 KB (dcp).";

    let checked = place.run(&["check", "other.toml"]).expect(0).stdout;
    assert!(checked.contains("setup      common\n") && checked.contains(said), "{checked}");
    assert!(checked.contains("dcp needs trimming switches"), "{checked}");
    let row = |text: &str, start: &str| text.lines().find(|line| line.starts_with(start)).map(str::to_owned);
    assert!(row(&checked, "transport.payload").unwrap().contains("4.10 KB"), "{checked}");
    assert!(row(&checked, "fabric.control_queue").unwrap().ends_with("16 MB *"), "{checked}");

    let ran = place.run(&["run", "other.toml", "--out", "out"]).expect(0).stdout;
    let lines: Vec<&str> = ran.lines().collect();
    assert_eq!((lines[0], lines[2]), ("Small", said), "{ran}");
    let document = run_json(&place, &["other.toml"]);
    assert_eq!(document["ground"]["not_the_same"], said);
    assert_eq!(document["ground"]["setup"], "common");
    let page = place.path().join(document["folder"].as_str().unwrap()).join("report.html");
    let page = fs::read_to_string(page).unwrap();
    let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("no {text:?} on the page"));
    assert!(at("Not on the same ground") < at("Summary"));

    let same = run_json(&place, &["same.toml"]);
    assert_eq!(same["ground"]["not_the_same"], Value::Null);
    let checked = place.run(&["check", "same.toml"]).expect(0).stdout;
    assert!(checked.contains("fabric.control_queue") && !checked.contains("Not on the same"), "{checked}");
}

#[test]
fn jobs_of_a_collective_have_completion_times() {
    let place = Place::new();
    let jobs = "kind = \"collective\"\nalgorithm = \"allreduce-ring\"\nranks = 4\njobs = 2";
    place.write("s.toml", edited("kind = \"permutation\"", jobs));
    let document = run_json(&place, &["s.toml"]);
    for run in document["runs"].as_array().unwrap() {
        let (mean, max) = (run["cct_mean_us"].as_f64().unwrap(), run["cct_max_us"].as_f64().unwrap());
        assert_eq!(run["jobs"], 2);
        assert!(0.0 < mean && mean <= max && max <= run["sim_time_us"].as_f64().unwrap(), "{run}");
    }
    let folder = document["folder"].as_str().unwrap();
    let ended = place.run(&["report", folder]).expect(0);
    for text in ["jobs", "CCT"] {
        assert!(ended.stdout.contains(text), "no {text:?} in:\n{}", ended.stdout);
    }
    let page = fs::read_to_string(place.path().join(folder).join("report.html")).unwrap();
    assert!(page.contains("Distribution of collective completion times"));
}

#[test]
fn the_same_scenario_gives_the_same_digest_and_is_not_simulated_twice() {
    let place = Place::new();
    place.write("s.toml", SMALL);
    let first = run_json(&place, &["s.toml"]);
    let again = place.run(&["run", "s.toml", "--out", "out", "--json"]).expect(0);
    assert!(again.stderr.contains("simulated before"), "{}", again.stderr);
    // The stored wall-clock times show that nothing was simulated.
    assert_eq!(again.json(), first);
    let fresh = place.run(&["run", "s.toml", "--out", "out", "--json", "--fresh"]).expect(0);
    assert!(!fresh.stderr.contains("simulated before"), "{}", fresh.stderr);
    assert_eq!(digests(&fresh.json()), digests(&first));
    assert_eq!(place.results().len(), 1, "{:?}", place.results());
}

#[test]
fn damaged_results_are_simulated_again() {
    let place = Place::new();
    place.write("s.toml", SMALL);
    let first = run_json(&place, &["s.toml"]);
    let runs = folder(&place, &first).join("runs.parquet");
    fs::write(&runs, "nonsense").unwrap();
    let again = run_json(&place, &["s.toml"]);
    assert_eq!(digests(&again), digests(&first));
    assert!(fs::metadata(&runs).unwrap().len() > 100);
}

#[test]
fn threads_do_not_change_anything() {
    let place = Place::new();
    place.write("s.toml", edited("seeds = [1]", "seeds = [5, 3, 4]"));
    let one = run_json(&place, &["s.toml", "--threads", "1", "--fresh"]);
    let two = run_json(&place, &["s.toml", "--threads", "2", "--fresh"]);
    assert_eq!(digests(&one), digests(&two));
    let order: Vec<_> =
        one["runs"].as_array().unwrap().iter().map(|run| run["seed"].as_u64().unwrap()).collect();
    assert_eq!(order, [5, 3, 4, 5, 3, 4]);
}

#[test]
fn seeds_and_schemes_of_the_command_line_replace_the_files() {
    let place = Place::new();
    place.write("s.toml", SMALL);
    let document = run_json(&place, &["s.toml", "--scheme", "ecmp", "--seed", "7", "--seed", "8"]);
    let runs: Vec<(&str, u64)> = document["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| (run["scheme"].as_str().unwrap(), run["seed"].as_u64().unwrap()))
        .collect();
    assert_eq!(runs, [("ecmp", 7), ("ecmp", 8)]);
    assert_ne!(digests(&document)[0], digests(&document)[1]);
}

/// A scenario with a sweep over two files, which have the same name but are in different folders.
fn with_files(place: &Place) {
    place.write("work/a/x.cm", "Nodes 4\nConnections 2\n0->1 start 0 size 50000\n2->3 start 0 size 60000\n");
    place.write("work/b/x.cm", "Nodes 4\nConnections 1\n3->0 start 0 size 70000\n");
    place.write("work/g.txt", "6 2 5\n4 5\n0 4 100Gbps 1000ns 0\n1 4 100Gbps 1000ns 0\n2 5 100Gbps 1000ns 0\n3 5 100Gbps 1000ns 0\n4 5 100Gbps 1000ns 0\n");
    place.write(
        "work/s.toml",
        "title = \"Files\"\nschemes = [\"reps\"]\nseeds = [1]\n[topology]\nkind = \"graph\"\nfile = \"g.txt\"\n\
         [workload]\nkind = \"cm\"\nfile = \"a/x.cm\"\nstart_unit = \"1ps\"\n\
         [sweep]\n\"workload.file\" = [\"a/x.cm\", \"b/x.cm\"]\n",
    );
}

#[test]
fn a_stored_scenario_runs_by_itself_with_the_same_digest() {
    let place = Place::new();
    with_files(&place);
    let first = run_json(&place, &["work/s.toml"]);
    assert_eq!(first["runs"][0]["flows"], 2);
    assert_eq!(first["runs"][1]["flows"], 1);
    let moved = place.path().join("elsewhere");
    fs::rename(folder(&place, &first), &moved).unwrap();
    fs::remove_dir_all(place.path().join("work")).unwrap();
    let again = run_json(&place, &["elsewhere/scenario.toml"]);
    assert_eq!(again["digest"], first["digest"]);
    assert_eq!(digests(&again), digests(&first));
}

#[test]
fn a_stored_scenario_takes_its_own_results_from_the_store() {
    let place = Place::new();
    with_files(&place);
    let first = run_json(&place, &["work/s.toml"]);
    let stored = format!("{}/scenario.toml", first["folder"].as_str().unwrap());
    assert_eq!(run_json(&place, &[&stored]), first);
}

#[test]
fn standard_input_is_a_scenario_too() {
    let place = Place::new();
    let path = place.write("s.toml", SMALL);
    let mut command = place.command(&["run", "-", "--out", "out", "--json"]);
    let piped = Ended::from(command.stdin(fs::File::open(path).unwrap()).output().unwrap()).expect(0).json();
    assert_eq!(digests(&piped), digests(&run_json(&place, &["s.toml"])));
}

#[test]
fn check_prints_the_fabric_and_a_resolved_form_that_runs() {
    let place = Place::new();
    place.write("s.toml", SMALL);
    let ended = place.run(&["check", "s.toml"]).expect(0);
    for text in [
        "hosts      16",
        "switches",
        " KB fabric, ",
        "messages   16",
        "buffer = 8",
        "max_window = \"1.5bdp\" # = ",
    ] {
        assert!(ended.stdout.contains(text), "no {text:?} in:\n{}", ended.stdout);
    }
    let document = place.run(&["check", "s.toml", "--json"]).expect(0).json();
    assert_eq!(document["links"], 64);
    assert_eq!(document["message_bytes"], 1_600_000);
    place.write("resolved.toml", document["resolved_toml"].as_str().unwrap());
    assert_eq!(place.run(&["check", "resolved.toml", "--json"]).expect(0).json(), document);
    assert!(place.results().is_empty());
    // The estimate of the packet-hops is close to their number in the run.
    let ran = place.run(&["run", "s.toml", "--json"]).expect(0).json();
    let hops = ran["runs"].as_array().unwrap().iter().map(|run| run["packet_hops"].as_f64().unwrap());
    let (told, were) = (document["packet_hops"].as_f64().unwrap(), hops.sum::<f64>());
    assert!((0.9..=1.02).contains(&(told / were)), "{told} told, {were} in the run");
}

#[test]
fn report_redraws_what_is_stored() {
    let place = Place::new();
    place.write("s.toml", SMALL);
    let first = run_json(&place, &["s.toml"]);
    let page = folder(&place, &first).join("report.html");
    let drawn = fs::read(&page).unwrap();
    fs::remove_file(&page).unwrap();
    let ended = place.run(&["report", first["folder"].as_str().unwrap()]).expect(0);
    assert!(ended.stdout.contains("report.html"), "{}", ended.stdout);
    assert!(has_16_flows(&ended.stdout, "reps"), "{}", ended.stdout);
    assert_eq!(fs::read(&page).unwrap(), drawn);
}

#[test]
fn lists_name_what_there_is() {
    let place = Place::new();
    for (what, name) in [
        ("schemes", "reps"),
        ("setups", "common"),
        ("workloads", "collective"),
        ("topologies", "fat-tree"),
        ("figures", ""),
    ] {
        let document = place.run(&["list", what, "--json"]).expect(0).json();
        let names: Vec<&str> =
            document[what].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
        assert!(name.is_empty() || names.contains(&name), "{what}: {names:?}");
    }
    let state = place.run(&["list", "schemes", "--state"]).expect(0);
    assert!(state.stdout.contains("reps: 193 bits"), "{}", state.stdout);
}

/// `check` may report missing keys of a listed kind, but not the kind.
#[test]
fn listed_kinds_are_kinds() {
    let place = Place::new();
    for (what, table) in [("workloads", "permutation"), ("topologies", "fat-tree")] {
        let document = place.run(&["list", what, "--json"]).expect(0).json();
        for row in document[what].as_array().unwrap() {
            let kind = row["name"].as_str().unwrap();
            place.write("s.toml", edited(table, kind));
            let ended = place.run(&["check", "s.toml"]);
            assert!(!ended.stderr.contains(&format!("\"{kind}\"")), "{kind}: {}", ended.stderr);
        }
        // Conversely, the error about an unknown kind names exactly the listed kinds.
        place.write("s.toml", edited(table, "xyz"));
        let refused = place.run(&["check", "s.toml"]).expect(2).stderr;
        let known = refused.split("one of ").nth(1).unwrap_or_else(|| panic!("{refused}"));
        let known: Vec<&str> = known.trim().split(", ").map(|word| word.trim_matches('"')).collect();
        let rows = document[what].as_array().unwrap();
        let listed: Vec<&str> = rows.iter().map(|row| row["name"].as_str().unwrap()).collect();
        assert_eq!(listed, known);
    }
}

const FIGURE: &str = r#"id = "trial/fig-1"
title = "A trial"
figure = "Figure 1"
assumptions = ["16 hosts are enough"]
schemes = ["reps", "ecmp"]
seeds = [1]

[topology]
kind = "fat-tree"
hosts = 16
tiers = 2
link = "400Gbps"

[workload]
kind = "permutation"
bytes = "100KB"

[quick.workload]
bytes = "50KB"

[[claim]]
says = "REPS is no slower than ECMP"
source = "nowhere"
kind = "ratio"
paper = 100.0
measure = "fct_max(ecmp) / fct_max(reps)"
"#;

#[test]
fn a_figure_is_reproduced_with_its_claims() {
    let place = Place::new();
    place.write("figures/trial/fig-1.toml", FIGURE);
    let base = ["reproduce", "trial/fig-1", "--figures-dir", "figures", "--out", "out"];
    let args = |more: &[&'static str]| base.iter().chain(more).copied().collect::<Vec<_>>();
    let ended = place.run(&args(&[])).expect(0);
    for text in [
        "trial/fig-1",
        "REPS is no slower than ECMP",
        "1 claim shown. The quick",
        "report: out/trial-fig-1-quick-",
    ] {
        assert!(ended.stdout.contains(text), "no {text:?} in:\n{}", ended.stdout);
    }
    let document = place.run(&args(&["--json"])).expect(0).json();
    let claim = &document["claims"][0];
    assert_eq!(claim["figure"], "trial/fig-1");
    assert_eq!(claim["paper"], 100.0);
    assert_eq!((&claim["scale"], &claim["judged"]), (&"quick".into(), &false.into()));
    assert!(claim["measured"].as_f64().unwrap() > 0.5, "{claim}");
    assert!(["direction-only", "differs"].contains(&claim["outcome"].as_str().unwrap()), "{claim}");
    let large = place.run(&args(&["--json", "--scale", "paper"])).expect(0).json();
    assert_eq!(large["claims"][0]["scale"], "paper");
    assert_eq!(large["claims"][0]["judged"], true);
    assert_ne!(large["figures"][0]["digest"], document["figures"][0]["digest"]);
}

#[test]
fn changed_claims_are_judged_on_the_stored_runs() {
    let place = Place::new();
    place.write("figures/trial/fig-1.toml", FIGURE);
    let args = ["reproduce", "trial", "--figures-dir", "figures", "--out", "out", "--json"];
    place.run(&args).expect(0);
    let wrong = FIGURE.replace("fct_max(reps)", "fct_max(resp)");
    place.write("figures/trial/fig-1.toml", FIGURE.replace("100.0", "200.0"));
    let again = place.run(&args).expect(0);
    assert!(again.stderr.contains("simulated before"), "{}", again.stderr);
    assert_eq!(again.json()["claims"][0]["paper"], 200.0);
    place.write("figures/trial/fig-1.toml", wrong);
    let explained = place.run(&args).expect(0).json();
    assert!(explained["claims"][0]["error"].as_str().unwrap().contains("reps"), "{explained}");
}

#[test]
fn a_figure_whose_runs_fail_is_named_and_the_others_still_run() {
    let place = Place::new();
    let fault = "[[fault]]\nkind = \"link-down\"\nlinks = \"all\"\nat = \"1us\"\n";
    place.write("figures/trial/fig-1.toml", FIGURE.replace("[[claim]]", &format!("{fault}\n[[claim]]")));
    place.write("figures/trial/fig-2.toml", FIGURE.replace("fig-1", "fig-2"));
    let ended = place
        .run(&["reproduce", "--figures-dir", "figures", "--out", "out", "--json", "--scale", "paper"])
        .expect(1);
    assert!(ended.stderr.contains("error: runs failed in trial/fig-1\n"), "{}", ended.stderr);
    let claims = &ended.json()["claims"];
    assert!(claims[0]["error"].is_string() && claims[0]["outcome"].is_null(), "{claims}");
    assert!(claims[1]["error"].is_null() && claims[1]["outcome"].is_string(), "{claims}");
}

/// Copies the project's figures except the league, with only the first seed at the quick scale.
fn with_one_seed(place: &Place, figures: &Path) {
    let folders = fs::read_dir(figures).unwrap().map(|entry| entry.unwrap().path());
    for folder in folders.filter(|folder| folder.is_dir() && !folder.ends_with("league")) {
        for file in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let name = file.strip_prefix(figures.parent().unwrap()).unwrap().to_str().unwrap();
            let text = fs::read_to_string(&file).unwrap();
            if !name.ends_with(".toml") {
                place.write(name, text);
                continue;
            }
            let mut figure: toml::Table = text.parse().unwrap();
            let seeds = figure.get("quick").and_then(|quick| quick.get("seeds")).or(figure.get("seeds"));
            if let Some(first) = seeds.and_then(|seeds| seeds.get(0)).cloned() {
                let quick = figure.entry("quick").or_insert_with(|| toml::Table::new().into());
                quick.as_table_mut().unwrap().insert("seeds".to_owned(), vec![first].into());
            }
            place.write(name, figure.to_string());
        }
    }
}

/// Outcomes at the quick scale say nothing about the paper, but the mechanisms must be visible. For example, REPS
/// avoids a slow uplink, and Table 1 of its paper agrees with the state that the code keeps.
#[test]
fn every_figure_runs_at_quick_scale_and_every_claim_is_judged() {
    let place = Place::new();
    with_one_seed(
        &place,
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("../../figures").canonicalize().unwrap(),
    );
    let document = place
        .run(&[
            "reproduce",
            "--all",
            "--figures-dir",
            "figures",
            "--scale",
            "quick",
            "--out",
            "out",
            "--json",
        ])
        .expect(0)
        .json();
    let claims = document["claims"].as_array().unwrap();
    let figures: BTreeSet<&str> = claims.iter().map(|claim| claim["figure"].as_str().unwrap()).collect();
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../figures/catalogue.toml"))
        .unwrap();
    let catalogue: toml::Table = text.parse().unwrap();
    let rows = catalogue["row"].as_array().unwrap();
    let ids = rows.iter().filter_map(|row| row.get("figures")?.as_array()).flatten();
    assert_eq!(figures, ids.map(|id| id.as_str().unwrap()).collect());
    let index = fs::read_to_string(place.path().join(document["index"].as_str().unwrap())).unwrap();
    assert_eq!(index.matches("class=\"says\"").count(), claims.len(), "the index has every claim");
    assert!(index.contains("hardware resources cannot be simulated") && !index.contains("not run this time"));
    for claim in claims {
        println!("{}: {} [{}]", claim["figure"], claim["says"], claim["outcome"]);
        let outcome = claim["outcome"].as_str().unwrap_or_default();
        assert!(["holds", "direction-only", "differs"].contains(&outcome), "{claim}");
    }
    let holds = |figure: &str, paper: f64| {
        let claim = claims.iter().find(|claim| claim["figure"] == figure && claim["paper"] == paper);
        assert_eq!(claim.expect("the claim is there")["outcome"], "holds", "{figure}, {paper}");
    };
    holds("reps/figure-4", 1.752);
    holds("reps/table-1", 193.0);
    holds("themis-spraying/table-3", 661.0);
    holds("dcp/table-1", 2.62);
    holds("dcp/table-3", 320.0);
}
