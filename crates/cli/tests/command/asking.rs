//! Tests of `find`, `compare` and `export`, and of sweeps of linked parameters.

use crate::common::{Place, SMALL, edited};
use std::fs;

const QUESTION: &str = "[find]\nparameter = \"*.fabric.queue\"\nsmallest = [\"10KB\", \"4MB\"]\n\
                        where = \"drops(scheme) == 0\"\nresolution = 0.1\n";

/// An incast, in which a small queue drops packets.
fn incast() -> String {
    let incast = "kind = \"incast\"\ntarget = 0\ndegree = 8\nbytes = \"100KB\"";
    let text = edited("kind = \"permutation\"\nbytes = \"100KB\"", incast);
    text.replace("seeds = [1]", "seeds = [1, 2]")
        + "[set]\n\"*.fabric.ecn_kmin\" = \"0.2queue\"\n\"*.fabric.ecn_kmax\" = \"0.8queue\"\n"
}

fn bytes(value: &serde_json::Value) -> f64 {
    let text = value.as_str().unwrap();
    let unit = text.find(|c: char| c.is_ascii_alphabetic()).unwrap();
    let scale = if text.ends_with("MB") { 1e6 } else { 1e3 };
    text[..unit].parse::<f64>().unwrap() * scale
}

#[test]
fn the_smallest_buffer_is_found_and_asked_again_without_a_run() {
    let place = Place::new();
    place.write("s.toml", incast() + QUESTION);
    let asked = place.run(&["find", "s.toml", "--out", "out", "--json"]).expect(0).json();
    assert_eq!((&asked["parameter"], &asked["wanted"]), (&"*.fabric.queue".into(), &"smallest".into()));
    let answers = asked["answers"].as_array().unwrap();
    let schemes: Vec<&str> = answers.iter().map(|answer| answer["scheme"].as_str().unwrap()).collect();
    assert_eq!(schemes, ["reps", "ops"]);
    for answer in answers {
        assert!(bytes(&answer["lowest"]) <= bytes(&answer["value"]), "{answer}");
        for seed in answer["seeds"].as_array().unwrap() {
            let (holds, fails) = (bytes(&seed["value"]), bytes(&seed["fails_at"]));
            assert!(fails < holds && holds < 1.15 * fails, "{seed}");
            assert_eq!(seed["contradictions"].as_array().unwrap().len(), 0, "{seed}");
        }
        // A run at the value that was found drops nothing. A run at the value that fails drops packets.
        let first = &answer["seeds"][0];
        for (value, dropped) in [(&first["value"], false), (&first["fails_at"], true)] {
            let set = format!("\"*.fabric.queue\" = {value}\n");
            place.write("alone.toml", incast() + &set);
            let seed = first["seed"].to_string();
            let scheme = answer["scheme"].as_str().unwrap();
            let alone =
                ["run", "alone.toml", "--scheme", scheme, "--seed", &seed, "--out", "alone", "--json"];
            let drops = place.run(&alone).json()["runs"][0]["drops"].as_u64().unwrap();
            assert_eq!(drops > 0, dropped, "{value} of {scheme}: {drops}");
        }
    }
    assert_eq!(asked["runs_simulated"], asked["runs"]);
    assert_eq!(place.results().len(), 1);
    let text = place.run(&["find", "s.toml", "--out", "out"]).expect(0).stdout;
    assert!(
        text.contains("smallest *.fabric.queue from 10KB to 4MB where drops(scheme) == 0, to 10 %"),
        "{text}"
    );
    assert!(text.contains("smallest in every seed") && text.contains("over seeds"), "{text}");
    let runs = asked["runs"].as_u64().unwrap();
    assert!(text.contains(&format!("{runs} runs, {runs} of them simulated before")), "{text}");
    // A search with other schemes has its own results.
    place.run(&["find", "s.toml", "--scheme", "reps", "--out", "out"]).expect(0);
    assert_eq!(place.results().len(), 2);
}

#[test]
fn a_range_without_the_answer_says_which_to_try() {
    let place = Place::new();
    let ask = |range: &str| {
        place.write("s.toml", incast() + &QUESTION.replace("smallest = [\"10KB\", \"4MB\"]", range));
        place.run(&["find", "s.toml", "--scheme", "reps", "--seed", "1", "--out", "out"]).expect(0).stdout
    };
    let text = ask("smallest = [\"2MB\", \"4MB\"]");
    let said =
        "reps with seed 1: it holds at both ends (\"2MB\" and \"4MB\"); try smallest = [\"0.2MB\", \"2MB\"]";
    assert!(text.contains(said), "{text}");
    let text = ask("smallest = [\"10KB\", \"20KB\"]");
    let said = "it holds at neither end (\"10KB\" and \"20KB\"), nor between them at \"10.9KB\", ";
    assert!(text.contains(said), "{text}");
    assert!(text.contains("; try smallest = [\"20KB\", \"200KB\"]"), "{text}");
    assert!(
        text.contains(". At \"10KB\" drops(scheme) is ") && text.contains(". At \"20KB\" drops"),
        "{text}"
    );
    let text = ask("largest = [\"10KB\", \"4MB\"]");
    let said = "it holds at \"4MB\" and not at \"10KB\"; ask for the smallest instead";
    assert!(text.contains(said), "{text}");
}

#[test]
fn what_holds_at_neither_end_is_looked_for_between_them() {
    let place = Place::new();
    // The condition is true for 6 to 54 drops, so a very short queue and a very long queue both fail it.
    let ask = |range: &str, args: &[&str]| {
        let question = QUESTION.replace("drops(scheme) == 0", "abs(drops(scheme) - 30) < 25");
        place.write("s.toml", incast() + &question.replace("smallest = [\"10KB\", \"4MB\"]", range));
        let all = [&["find", "s.toml", "--scheme", "ops", "--seed", "1", "--out", "out"][..], args].concat();
        place.run(&all).expect(0)
    };
    let seed = |json: serde_json::Value| json["answers"][0]["seeds"][0].clone();
    let smallest = seed(ask("smallest = [\"10KB\", \"4MB\"]", &["--json"]).json());
    assert_eq!(smallest["outcome"], "found", "{smallest}");
    let text = ask("smallest = [\"10KB\", \"4MB\"]", &[]).stdout;
    let (said, other) = text.split_once(", but between them; ").unwrap_or_else(|| panic!("{text}"));
    assert!(said.ends_with(", so that it holds at neither end (\"10KB\" and \"4MB\")"), "{text}");
    // The range that the message proposes leads to the largest queue.
    let (range, _) = other.split_once(" asks for").unwrap();
    let largest = seed(ask(range, &["--json"]).json());
    assert_eq!(largest["outcome"], "found", "{range}: {largest}");
    assert!(bytes(&smallest["value"]) <= bytes(&largest["value"]), "{smallest}\n{largest}");
    let inside = smallest["value"].as_str().unwrap();
    let list =
        seed(ask(&format!("smallest = [\"10KB\", \"{inside}\", \"2MB\", \"4MB\"]"), &["--json"]).json());
    assert_eq!((&list["outcome"], &list["value"]), (&"found".into(), &inside.into()), "{list}");
}

fn paused(schemes: &str, set: &str, question: &str) -> String {
    let text = edited("[\"reps\", \"ops\"]", schemes);
    format!("{text}[set]\n{set}\n[find]\n{question}\nwhere = \"fct_max(scheme) < 1000\"\nresolution = 0.9\n")
}

#[test]
fn a_buffer_below_the_headroom_is_answered_with_a_range() {
    let place = Place::new();
    let ask = |range: &str| {
        let set = "\"rocev2.fabric.pfc.headroom_apart\" = false";
        let question = format!("parameter = \"rocev2.fabric.pfc.buffer\"\n{range}");
        let text = paused("[\"rocev2\"]", set, &question);
        let line = 1 + text.lines().position(|line| line == range).unwrap();
        place.write("s.toml", text);
        (place.run(&["find", "s.toml", "--out", "out"]), line)
    };
    for (range, others) in [
        ("smallest = [\"64KB\", \"64MB\"]", "\"64MB\"]"),
        ("smallest = [\"64KB\", \"128KB\"]", "KB\"]"),
        ("smallest = [\"64KB\", \"128KB\", \"32MB\", \"64MB\"]", "\"32MB\", \"64MB\"]"),
    ] {
        let (refused, line) = ask(range);
        let refused = refused.expect(2).stderr;
        let at = range.find("\"64KB").unwrap() + 1;
        assert!(refused.contains(&format!("s.toml:{line}:{at}: scheme \"rocev2\": ")), "{refused}");
        let offered =
            refused.lines().find_map(|line| line.trim().strip_prefix("write: ")?.strip_suffix(" in [find]"));
        let offered = offered.unwrap_or_else(|| panic!("no range:\n{refused}"));
        assert!(offered.starts_with("smallest = [\"") && offered.ends_with(others), "{offered}");
        // No range below the answer is proposed, because smaller values are refused. For a list of values, the text
        // does not give this reason.
        let text = ask(offered).0.expect(0).stdout;
        let is_range = offered.matches(',').count() == 1;
        assert_eq!(
            text.contains("; a smaller value, such as ") && text.contains("is refused: "),
            is_range,
            "{text}"
        );
        assert!(!text.contains("; try "), "{text}");
    }
}

#[test]
fn only_schemes_that_have_the_parameter_are_asked() {
    let place = Place::new();
    let ask = |schemes: &str, question: &str| {
        place.write("s.toml", paused(schemes, "", question));
        let text = place.run(&["find", "s.toml", "--out", "out"]).expect(0).stdout;
        let json = place.run(&["find", "s.toml", "--out", "out", "--json"]).expect(0).json();
        let answers = json["answers"].as_array().unwrap().iter();
        (text, answers.map(|answer| answer["scheme"].as_str().unwrap().to_owned()).collect::<Vec<_>>(), json)
    };
    for parameter in ["reps.fabric.queue", "*.fabric.queue"] {
        let question = format!("parameter = \"{parameter}\"\nsmallest = [\"64KB\", \"4MB\"]");
        let (text, asked, json) = ask("[\"reps\", \"rocev2\"]", &question);
        assert_eq!(asked, ["reps"]);
        assert_eq!(json["not_asked"], serde_json::json!(["rocev2"]));
        assert!(
            text.contains(&format!("Not asked, as {parameter} changes nothing of it: rocev2.")),
            "{text}"
        );
        assert_eq!(json["headroom_on_top"], serde_json::json!([]));
    }
    // In addition to its buffer, a switch has memory for the headroom.
    let question = "parameter = \"rocev2.fabric.pfc.buffer\"\nsmallest = [\"1MB\", \"4MB\"]";
    let (text, asked, json) = ask("[\"rocev2\"]", question);
    assert_eq!(asked, ["rocev2"]);
    let said = "The headroom of each switch comes on top of rocev2.fabric.pfc.buffer (fabric.pfc.headroom_apart = true), at most ";
    assert!(text.contains(said), "{text}");
    let bytes = json["headroom_on_top"][0]["bytes_per_switch"].as_u64().unwrap();
    place.write(
        "within.toml",
        paused(
            "[\"rocev2\"]",
            "\"rocev2.fabric.pfc.headroom_apart\" = false\n\"rocev2.fabric.pfc.buffer\" = \"1KB\"",
            "parameter = \"workload.bytes\"\nsmallest = [\"50KB\", \"100KB\"]",
        ),
    );
    // If the headroom is part of the buffer, the buffer must hold the headroom and at least one more byte.
    let refused = place.run(&["check", "within.toml"]).expect(2).stderr;
    let (_, needed) = refused.rsplit_once("= \"").unwrap();
    let needed = needed.trim().trim_end_matches('"').trim_end_matches("KB").parse::<u64>().unwrap() * 1000;
    assert!((bytes + 1..=bytes + 1001).contains(&needed), "{bytes} {needed}");
}

#[test]
fn a_run_at_the_end_of_the_range_is_what_others_are_held_against() {
    let place = Place::new();
    let question =
        QUESTION.replace("drops(scheme) == 0", "fct_max(scheme) <= 1.05 * at_largest(fct_max(scheme))");
    place.write("s.toml", incast() + &question);
    let ask = ["find", "s.toml", "--scheme", "ops", "--seed", "1", "--out", "out", "--json"];
    let asked = place.run(&ask).expect(0).json();
    let seed = &asked["answers"][0]["seeds"][0];
    let time = |value: &str| {
        place.write("alone.toml", incast() + &format!("\"*.fabric.queue\" = \"{value}\"\n"));
        let alone = ["run", "alone.toml", "--scheme", "ops", "--seed", "1", "--out", "alone", "--json"];
        place.run(&alone).expect(0).json()["runs"][0]["fct_max_us"].as_f64().unwrap()
    };
    let largest = time("4MB");
    match seed["outcome"].as_str().unwrap() {
        "found" => {
            assert!(time(seed["value"].as_str().unwrap()) <= 1.05 * largest, "{seed}");
            assert!(time(seed["fails_at"].as_str().unwrap()) > 1.05 * largest, "{seed}");
        }
        other => {
            assert_eq!(other, "holds at both ends");
            assert!(time("10KB") <= 1.05 * largest, "{seed}");
        }
    }
    // The run at the end of the range is also one of the tries, so no value is simulated twice.
    assert_eq!(seed["tried"].as_array().unwrap().len() as u64, asked["runs_simulated"].as_u64().unwrap());
}

#[test]
fn what_where_means_is_said_at_its_place() {
    let place = Place::new();
    for (asked, instead) in [
        ("fct_max(scheme) < 20us", "fct_max(scheme) < 20"),
        ("fct_max < 20us", "fct_max(scheme) < 20"),
        ("drops(reps) == 0", "drops(scheme) == 0"),
        ("p99_slowdown(scheme) < 3", "slowdown_p99(scheme) < 3"),
    ] {
        let text = incast() + &QUESTION.replace("drops(scheme) == 0", asked);
        let line = 1 + text.lines().position(|line| line.starts_with("where")).unwrap();
        place.write("s.toml", text);
        let said = place.run(&["check", "s.toml"]).expect(2).stderr;
        assert!(said.contains(&format!("s.toml:{line}:1: [find] where: ")), "{said}");
        assert!(said.contains(&format!("write: where = \"{instead}\"")), "{said}");
    }
}

#[test]
fn a_question_that_is_none_is_refused() {
    let place = Place::new();
    for (question, expected) in [
        (String::new(), "the scenario has no [find]"),
        (
            QUESTION.replace("drops(scheme) == 0", "drops(reps) == 0"),
            "which is called `scheme` there, not reps",
        ),
        (QUESTION.replace("drops(scheme) == 0", "1 < 2"), "asks for nothing of a scheme"),
        (QUESTION.replace("drops(scheme) == 0", "drosp(scheme) == 0"), "drosp"),
        (QUESTION.replace("drops(scheme) == 0", "fct_max(scheme)"), "neither true nor false"),
        (QUESTION.replace("*.fabric.queue", "*.fabric.qeue"), "\"*.fabric.queue\""),
        (QUESTION.replace("\"10KB\"", "\"10us\""), "no two quantities of one kind"),
    ] {
        place.write("s.toml", incast() + &question);
        let ended = place.run(&["find", "s.toml", "--out", "out"]).expect(2);
        assert!(ended.stderr.contains(expected), "{question}: {}", ended.stderr);
    }
    place.write("s.toml", incast() + QUESTION);
    place.run(&["check", "s.toml"]).expect(0);
}

#[test]
fn linked_parameters_are_swept_together() {
    let place = Place::new();
    place.write(
        "s.toml",
        SMALL.to_owned()
            + "[sweep]\n\"*.fabric.queue\" = [\"100KB\", \"1MB\"]\n[[sweep.zip]]\n\"topology.hosts\" = [8, 16]\n\"workload.bytes\" = [\"50KB\", \"100KB\"]\n",
    );
    let runs = place.run(&["run", "s.toml", "--scheme", "reps", "--out", "out", "--json"]).expect(0).json();
    let points: Vec<String> =
        runs["runs"].as_array().unwrap().iter().map(|run| run["sweep"].to_string()).collect();
    assert_eq!(points.len(), 4, "{points:?}");
    assert!(points[1].contains("\"topology.hosts\":16,\"workload.bytes\":\"100KB\""), "{points:?}");
    let folder = runs["folder"].as_str().unwrap();
    let again = place.run(&["run", &format!("{folder}/scenario.toml"), "--out", "out", "--json"]).expect(0);
    assert_eq!(again.json()["digest"], runs["digest"]);
}

#[test]
fn two_folders_are_compared_seed_by_seed() {
    let place = Place::new();
    let three = SMALL.replace("seeds = [1]", "seeds = [1, 2, 3]");
    place.write("a.toml", &three);
    place.write("b.toml", three.replace("link = \"400Gbps\"", "link = \"200Gbps\""));
    place.write("c.toml", three.replace("[\"reps\", \"ops\"]", "[\"ecmp\"]"));
    let folder = |name: &str| {
        let ended = place.run(&["run", name, "--out", "out", "--json"]).expect(0).json();
        ended["folder"].as_str().unwrap().to_owned()
    };
    let (a, b, c) = (folder("a.toml"), folder("b.toml"), folder("c.toml"));
    let text = place.run(&["compare", &a, &b]).expect(0).stdout;
    for part in [
        "B over A: ",
        "What differs between the scenarios",
        "400Gbps",
        "B/A",
        "fct_max_us",
        "by seed",
        "compare.html",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let page = fs::read_to_string(place.path().join("compare.html")).unwrap();
    assert!(page.contains("Side by side") && page.contains("fct_p99_us") && !page.contains("http"), "{page}");
    let json = place.run(&["compare", &a, &b, "--json"]).expect(0).json();
    let is_it = |row: &&serde_json::Value| row["scheme"] == "ops" && row["quantity"] == "fct_max_us";
    let row = json["rows"].as_array().unwrap().iter().find(is_it).unwrap();
    assert_eq!(row["seeds"].as_array().unwrap().len(), 3);
    // At half the rate, the messages take longer, but less than twice as long, because the latencies stay the same.
    let ratio = &row["ratios"][0];
    let numbers =
        [&ratio["over_seeds"][0], &ratio["ratio"], &ratio["over_seeds"][1]].map(|n| n.as_f64().unwrap());
    assert!(1.1 < numbers[0] && numbers[2] < 2.0 && numbers.is_sorted(), "{row}");
    let refused = place.run(&["compare", &a, &c]).expect(2).stderr;
    assert!(refused.contains("no scheme in common") && refused.contains(": ecmp"), "{refused}");
    let refused = place.run(&["compare", &a, "nowhere"]).expect(2).stderr;
    assert!(refused.contains("nowhere: not a folder of results"), "{refused}");
}

#[test]
fn tables_are_exported_as_csv() {
    let place = Place::new();
    place.write("s.toml", SMALL.to_owned() + "[sweep]\n\"workload.bytes\" = [\"50KB\", \"100KB\"]\n");
    let run = place.run(&["run", "s.toml", "--out", "out", "--json"]).expect(0).json();
    let folder = run["folder"].as_str().unwrap();
    let runs = place.run(&["export", folder]).expect(0).stdout;
    let head: Vec<&str> = runs.lines().next().unwrap().split(',').collect();
    assert_eq!(head[..4], ["run", "scheme", "seed", "workload.bytes"]);
    assert_eq!(runs.lines().count(), 1 + 4);
    assert!(runs.lines().nth(1).unwrap().starts_with("0,reps,1,50KB,16,16,"), "{runs}");
    place.run(&["export", folder, "--table", "flows", "--out", "flows.csv"]).expect(0);
    let flows = fs::read_to_string(place.path().join("flows.csv")).unwrap();
    assert_eq!(flows.lines().count(), 1 + 4 * 16);
    assert!(flows.lines().last().unwrap().starts_with("3,ops,1,100KB,15,"), "{flows}");
    let refused = place.run(&["export", folder, "--out", "no/such.csv"]).expect(2).stderr;
    assert!(
        refused.contains("no/such.csv: cannot be written: no such file or folder\n  help: "),
        "{refused}"
    );
    // An existing file stays unchanged if nothing can be exported.
    place.run(&["export", "nowhere", "--out", "flows.csv"]).expect(2);
    let refused = place.run(&["export", "s.toml"]).expect(2).stderr;
    assert!(refused.contains("s.toml: not a folder of results: it is a file. Name a folder"), "{refused}");
    assert_eq!(fs::read_to_string(place.path().join("flows.csv")).unwrap(), flows);
}

#[test]
fn a_question_is_checked_wherever_it_stands() {
    let place = Place::new();
    place.write("s.toml", incast() + QUESTION);
    for command in ["check", "run"] {
        let args = [command, "s.toml", "--json"];
        let ended = place.run(&args).expect(0);
        let says = "s.toml: the search in [find] is run by `anabranch find s.toml`, not here";
        assert!(ended.stderr.contains(says), "{}", ended.stderr);
    }
    for (from, to, says) in [
        ("drops(scheme)", "drops(reps)", "which is called `scheme` there"),
        ("*.fabric.queue", "*.fabric.quue", "has no parameter \"fabric.quue\""),
        ("\"10KB\", \"4MB\"", "\"10KB\", \"-4MB\"", "are no two quantities of one kind"),
    ] {
        place.write("s.toml", incast() + &QUESTION.replace(from, to));
        for command in ["check", "run"] {
            let refused = place.run(&[command, "s.toml"]).expect(2).stderr;
            assert!(refused.contains(says), "{refused}");
        }
    }
}

/// The value that the most demanding seed needs is the answer only if the condition holds at this value for every seed.
/// A seed for which the condition holds at both ends of the range needs no particular value.
#[test]
fn what_is_the_answer_of_every_seed_was_tried_with_every_seed() {
    let place = Place::new();
    let ask = |parameter: &str, range: &str, holds: &str, set: &str| {
        let text = format!(
            "schemes = [{:?}]\n[topology]\nkind = \"fat-tree\"\nhosts = 64\ntiers = 2\nlink = \"400Gbps\"\n\
             oversubscription = 2\n[workload]\nkind = \"poisson\"\nsizes = \"websearch\"\nload = 0.5\n\
             duration = \"200us\"\n[find]\nparameter = {parameter:?}\n{range}\nwhere = \"{holds}\"\nresolution = 0.1\n{set}",
            parameter.split('.').next().unwrap()
        );
        place.write("s.toml", text);
        let asked = place.run(&["find", "s.toml", "--out", "out", "--json"]).expect(0).json();
        let answer = asked["answers"][0].clone();
        (answer, place.run(&["find", "s.toml", "--out", "out"]).expect(0).stdout)
    };
    let near_four = "abs(slowdown(scheme, p99) - 4) < 0.5";
    let (answer, text) = ask("reps.fabric.queue", "smallest = [\"16KB\", \"4MB\"]", near_four, "");
    assert!(answer["value"].is_null() && answer["seeds"].as_array().unwrap().len() == 3, "{answer}");
    assert!(answer["seeds"].as_array().unwrap().iter().all(|seed| seed["outcome"] == "found"), "{answer}");
    assert!(text.contains("no value was found that is the answer of every seed: "), "{text}");
    assert!(text.contains(" does not hold with seed "), "{text}");
    let within = "[set]\n\"rocev2.fabric.pfc.headroom_apart\" = false\n";
    let range = "largest = [\"1170KB\", \"32MB\"]";
    let (answer, text) = ask("rocev2.fabric.pfc.buffer", range, "slowdown(scheme, p99) < 10", within);
    let outcomes: Vec<&serde_json::Value> =
        answer["seeds"].as_array().unwrap().iter().map(|seed| &seed["outcome"]).collect();
    assert!(
        outcomes.contains(&&"found".into()) && outcomes.contains(&&"holds at both ends".into()),
        "{answer}"
    );
    assert!(text.contains(" to 32MB or more") && answer["value"].is_string(), "{text}");
}

#[test]
fn an_answer_stands_on_its_page_and_has_three_seeds() {
    let place = Place::new();
    let text = (incast() + QUESTION).replace("seeds = [1, 2]\n", "").replace("0.1", "0.5");
    place.write("s.toml", text);
    let asked = place.run(&["find", "s.toml", "--scheme", "ops", "--out", "out", "--json"]).expect(0).json();
    assert_eq!(asked["answers"][0]["seeds"].as_array().unwrap().len(), 3);
    let folder = asked["folder"].as_str().unwrap();
    let page = fs::read_to_string(place.path().join(folder).join("report.html")).unwrap();
    let question =
        "smallest *.fabric.queue from 10KB to 4MB where drops(scheme) == 0, to 50 % at each of these seeds";
    let value = asked["answers"][0]["value"].as_str().unwrap();
    assert!(page.contains(&format!("<p>{question}</p>")) && page.contains(&format!("<td>{value}</td>")));
    assert!(page.contains("*.fabric.queue (KB)"), "numbers on the axis");
    let printed = place.run(&["report", folder]).expect(0).stdout;
    assert!(printed.contains(question) && printed.contains(value), "{printed}");
}

#[test]
fn what_faults_did_is_exported() {
    let place = Place::new();
    let fault = "[[fault]]\nkind = \"link-down\"\nlinks = \"tor-uplinks:50%\"\nduration = \"9us\"\n";
    for (text, rows) in [(format!("{SMALL}{fault}"), 2), (SMALL.to_owned(), 0)] {
        place.write("s.toml", text);
        let run = place.run(&["run", "s.toml", "--out", "out", "--json"]).expect(0).json();
        let folder = run["folder"].as_str().unwrap();
        let csv = place.run(&["export", folder, "--table", "faults"]).expect(0).stdout;
        let mut lines = csv.lines();
        assert!(lines.next().unwrap().starts_with("run,"), "{csv}");
        assert_eq!(lines.filter(|line| line.contains("link-down,tor-uplinks:50%")).count(), rows, "{csv}");
    }
}
