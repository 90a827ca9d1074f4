//! Tests of `anabranch reproduce --unsaid`.

use crate::common::{Place, SMALL};
use std::fs;

/// A figure under the setup of the REPS paper. The buffer of one scheme has three values, and the payload of all
/// schemes has two.
const UNSAID: &str = r#"
[[claim]]
says = "REPS is faster than OPS"
source = "nowhere"
kind = "at-least"
paper = 1.0
measure = "fct_max(ops) / fct_max(reps)"

[[claim]]
says = "REPS drops nothing"
source = "nowhere"
kind = "zero"
measure = "drops(reps)"

[[unsaid]]
what = "buffer"
because = "the text has no number"
set = { "reps.lb.buffer" = [8, 4, 16] }

[[unsaid]]
what = "payload"
because = "the text has no MTU"
set = { "*.transport.payload" = ["4086B", "1000B"] }

[setup]
base = "reps-paper"
"#;

fn place() -> Place {
    let place = Place::new();
    place.write("figures/trial/fig-1.toml", format!("id = \"trial/fig-1\"\n{SMALL}{UNSAID}"));
    place.write("figures/trial/fig-2.toml", format!("id = \"trial/fig-2\"\n{SMALL}"));
    place
}

const ARGS: [&str; 8] =
    ["reproduce", "trial", "--unsaid", "--figures-dir", "figures", "--out", "out", "--json"];

#[test]
fn claims_are_held_against_all_combinations_and_a_second_call_simulates_nothing() {
    let place = place();
    let first = place.run(&ARGS).expect(0);
    assert!(first.stderr.contains("trial/fig-2: left out"), "{}", first.stderr);
    assert!(
        first.stderr.contains("trial/fig-1: 6 set-ups, all combinations; 8 runs, 0 of them kept"),
        "REPS runs under 6, OPS under 2: {}",
        first.stderr
    );
    assert!(first.stderr.contains("6 runs left, about "), "{}", first.stderr);
    let document = first.json();
    let [figure] = &document["unsaid"].as_array().unwrap()[..] else { panic!("{document}") };
    assert_eq!(
        (&figure["runs"], &figure["simulated"], &figure["together"]),
        (&8.into(), &8.into(), &true.into())
    );
    let setups = figure["setups"].as_array().unwrap();
    let names: Vec<&str> = setups.iter().map(|setup| setup["setup"].as_str().unwrap()).collect();
    let expected = [
        "the figure's own",
        "buffer: 4",
        "buffer: 16",
        "payload: 1000B",
        "buffer: 4; payload: 1000B",
        "buffer: 16; payload: 1000B",
    ];
    assert_eq!(names, expected);
    for (place, claim) in figure["claims"].as_array().unwrap().iter().enumerate() {
        let of_setup = |setup: &serde_json::Value| setup["claims"][place]["measured"].as_f64().unwrap();
        let low = setups.iter().map(of_setup).fold(f64::INFINITY, f64::min);
        let high = setups.iter().map(of_setup).fold(f64::NEG_INFINITY, f64::max);
        assert_eq!(claim["span"], serde_json::json!([low, high]));
        assert_eq!(claim["measured"].as_f64().unwrap(), of_setup(&setups[0]));
        let holds = setups.iter().filter(|setup| setup["claims"][place]["outcome"] == "holds").count();
        assert_eq!(claim["holds"], holds);
    }
    let most = setups.iter().map(|setup| setup["holds"].as_u64().unwrap()).max();
    assert_eq!(figure["best"]["holds"].as_u64(), most);

    let again = place.run(&ARGS).expect(0);
    assert!(again.stderr.contains("8 runs, 8 of them kept"), "{}", again.stderr);
    let mut same = again.json();
    assert_eq!(same["unsaid"][0]["simulated"], 0);
    same["unsaid"][0]["simulated"] = 8.into();
    assert_eq!(same, document);

    // A run without `--unsaid` measures the same values under the same setup.
    let plain: Vec<&str> = ARGS.into_iter().filter(|arg| *arg != "--unsaid").collect();
    let plain = place.run(&plain).expect(0).json();
    let measured = |claims: &serde_json::Value| claims[0]["measured"].clone();
    assert_eq!(measured(&plain["claims"]), measured(&figure["claims"]));
}

#[test]
fn the_page_and_the_table_show_what_was_varied() {
    let place = place();
    let args: Vec<&str> = ARGS.into_iter().filter(|arg| *arg != "--json").collect();
    let ended = place.run(&args).expect(0);
    for words in [
        "buffer: 8 | 4 | 16",
        "each alone and all together: 6 set-ups at the quick",
        "of 6",
        "8 simulated now",
    ] {
        assert!(ended.stdout.contains(words), "no {words:?} in:\n{}", ended.stdout);
    }
    let [folder] = &place.results()[..] else { panic!("{:?}", place.results()) };
    assert!(folder.starts_with("trial-fig-1-quick-unsaid-"), "{folder}");
    let page = fs::read_to_string(place.path().join("out").join(folder).join("report.html")).unwrap();
    assert!(page.contains("<h2>What the paper leaves unsaid</h2>"));
    assert!(page.contains("payload: 1000B"));
    let report = place.run(&["report", &format!("out/{folder}")]).expect(0);
    let again = fs::read_to_string(place.path().join("out").join(folder).join("report.html")).unwrap();
    assert_eq!(again, page, "{}", report.stdout);
}

#[test]
fn many_combinations_are_not_run() {
    let place = Place::new();
    // There are 5 x 5 x 5 x 5 = 625 combinations, more than the 512 runs that are permitted. One setting is therefore
    // changed at a time, in 1 + 4 x 4 = 17 setups.
    let more: String = [
        "\"reps.lb.buffer\" = [8, 1, 2, 3, 4]",
        "\"reps.lb.explore_packets\" = [132, 1, 2, 3, 4]",
        "\"*.lb.evs\" = [65536, 16, 32, 64, 128]",
        "\"reps.transport.rto\" = [\"2rtt+5queue\", \"80us\", \"90us\", \"100us\", \"110us\"]",
    ]
    .map(|set| format!("\n[[unsaid]]\nwhat = \"w\"\nbecause = \"x\"\nset = {{ {set} }}\n"))
    .concat();
    place.write("figures/trial/fig-1.toml", format!("id = \"trial/fig-1\"\n{SMALL}{more}"));
    let ended = place.run(&ARGS).expect(0);
    let figure = &ended.json()["unsaid"][0];
    assert_eq!(figure["together"], false);
    assert_eq!(figure["setups"].as_array().unwrap().len(), 17);
    assert!(ended.stderr.contains("one thing changed at a time"), "{}", ended.stderr);
}

#[test]
fn a_set_up_whose_runs_fail_is_told_and_its_failure_kept() {
    let place = Place::new();
    let measure = "[[measure]]\nseries = \"pauses\"\nlinks = \"tor:0/up\"\n";
    let more =
        "[[unsaid]]\nwhat = \"loss\"\nbecause = \"x\"\nset = { \"limits.max_time\" = [\"1s\", \"2us\"] }\n";
    let claim = &UNSAID[..UNSAID.find("[[unsaid]]").unwrap()];
    place.write("figures/trial/fig-1.toml", format!("id = \"trial/fig-1\"\n{SMALL}{measure}{claim}{more}"));
    for simulated in [4, 0] {
        let ended = place.run(&ARGS).expect(1);
        let figure = &ended.json()["unsaid"][0];
        assert_eq!(figure["simulated"], simulated);
        assert_eq!(figure["setups"][1]["failed_runs"], 2);
        assert!(figure["setups"][1]["claims"][0]["error"].is_string(), "{figure}");
        assert_eq!(figure["setups"][0]["failed_runs"], 0);
        let causes: Vec<_> =
            figure["failed"].as_array().unwrap().iter().map(|run| &run["cause"]["kind"]).collect();
        assert_eq!(causes, ["limit", "limit"], "{figure}");
        // No scheme pauses under the figure's default setup. No run finishes under the other setup, which therefore
        // has no warnings.
        let warned = |setup: usize| figure["setups"][setup]["run_warnings"].as_array().unwrap();
        assert_eq!(warned(0)[0]["warning"]["kind"], "empty-measure", "{figure}");
        assert!(warned(1).is_empty(), "{figure}");
        assert!(ended.stderr.contains("loss: 2us: "), "{}", ended.stderr);
        assert!(ended.stderr.ends_with("error: 2 runs failed\n"), "{}", ended.stderr);
    }
}

#[test]
fn figures_that_vary_nothing_are_refused_with_those_that_do() {
    let place = place();
    let ended = place
        .run(&["reproduce", "trial/fig-2", "--unsaid", "--figures-dir", "figures", "--out", "out"])
        .expect(2);
    assert!(ended.stderr.contains("help: those that have it are trial/fig-1"), "{}", ended.stderr);
    assert!(place.results().is_empty());
    // The quick scale sets the varied key itself, so that nothing is varied.
    let fixed = "[[claim]]\nsays = \"REPS drops nothing\"\nsource = \"nowhere\"\nkind = \"zero\"\nmeasure = \"drops(reps)\"\n\
                 [[unsaid]]\nwhat = \"length\"\nbecause = \"the text has no number\"\nset = { \"workload.bytes\" = [\"100KB\", \"200KB\"] }\n\
                 [quick.workload]\nbytes = \"10KB\"\n";
    place.write("figures/trial/fig-3.toml", format!("id = \"trial/fig-3\"\n{SMALL}{fixed}"));
    let ended = place
        .run(&["reproduce", "trial/fig-3", "--unsaid", "--figures-dir", "figures", "--out", "out"])
        .expect(2);
    assert!(ended.stderr.ends_with("help: those that have it are trial/fig-1\n"), "{}", ended.stderr);
}

#[test]
fn a_wrong_value_is_refused_where_it_stands() {
    let place = Place::new();
    let wrong = UNSAID.replace("[8, 4, 16]", "[8, 0]");
    place.write("figures/trial/fig-1.toml", format!("id = \"trial/fig-1\"\n{SMALL}{wrong}"));
    let ended = place.run(&ARGS).expect(2);
    assert!(ended.stderr.contains("figures/trial/fig-1.toml:32:"), "{}", ended.stderr);
    assert!(place.results().is_empty());
}
