//! Tests of the facts that a reader must see at first sight to trust a comparison.

use crate::common::{Place, SMALL, edited};

/// A scenario with one message from ToR 0 to ToR 3. The message has one path under ECMP, and all paths under the other
/// schemes.
fn one_message() -> String {
    edited(
        "kind = \"permutation\"\nbytes = \"100KB\"",
        "kind = \"messages\"\n[[workload.message]]\nfrom = 0\nto = 15\nbytes = \"4MB\"",
    )
}

#[test]
fn a_scheme_that_the_fault_missed_does_not_lead() {
    let place = Place::new();
    // Under ECMP, the message crosses one of the ToR's four uplinks. The fault is on a different uplink in each
    // iteration, so it hits the message in only one of the four.
    let mut spared = 0;
    for uplink in 0..4 {
        let fault =
            format!("[[fault]]\nkind = \"packet-loss\"\nlinks = \"tor:0/up:{uplink}\"\nprobability = 0.2\n");
        let text = one_message().replace("[\"reps\", \"ops\"]", "[\"ops\", \"ecmp\"]");
        place.write("s.toml", text + &fault);
        let json = place.run(&["run", "s.toml", "--out", "out", "--json"]).expect(0).json();
        let data = |scheme: &str| {
            let runs = json["runs"].as_array().unwrap();
            let run = runs.iter().find(|run| run["scheme"] == scheme).unwrap();
            run["faults"][0]["data_packets"].as_u64().unwrap()
        };
        assert!(data("ops") > 0, "{json}");
        let text = place.run(&["run", "s.toml", "--out", "out"]).expect(0).stdout;
        let verdict = text.lines().nth(2).unwrap();
        let unranked = verdict.starts_with("ops alone was hit by the faults: ");
        assert_eq!(unranked, data("ecmp") == 0, "{text}");
        if unranked {
            spared += 1;
            let whole = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(
                whole.contains(
                    "Not ranked, as the faults hit no data of theirs and cost them nothing: ecmp ("
                ),
                "{text}"
            );
        }
    }
    assert!(spared > 0, "ECMP takes one uplink of several");
}

#[test]
fn the_table_says_how_slow_messages_without_a_timeout_are() {
    let place = Place::new();
    let down = "[[fault]]\nkind = \"packet-loss\"\nlinks = \"tor-uplinks:100%\"\nprobability = 0.03\n";
    place.write("s.toml", format!("{SMALL}{down}"));
    let ended = place.run(&["run", "s.toml", "--out", "out", "--json"]).expect(0).json();
    let text = place.run(&["report", ended["folder"].as_str().unwrap()]).expect(0).stdout;
    let whole = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let late = ended["runs"][0]["timeouts"].as_u64().unwrap();
    assert!(late > 0, "{ended}");
    let csv = place.run(&["export", ended["folder"].as_str().unwrap(), "--table", "flows"]).expect(0).stdout;
    let mut lines = csv.lines();
    let head: Vec<&str> = lines.next().unwrap().split(',').collect();
    let column = |name: &str| head.iter().position(|known| *known == name).unwrap();
    let (scheme, timeouts) = (column("scheme"), column("timeouts"));
    let reps: Vec<Vec<&str>> =
        lines.map(|line| line.split(',').collect()).filter(|row: &Vec<&str>| row[scheme] == "reps").collect();
    let with = reps.iter().filter(|row| row[timeouts] != "0").count();
    let said = format!("Messages that waited for a timeout: reps: {with} of {}, the slowest ", reps.len());
    assert!(whole.contains(&said), "{said}\n{text}");
    assert!(whole.contains(", of the others "), "{text}");
}

#[test]
fn an_answer_says_what_else_moved() {
    let place = Place::new();
    let question = "[find]\nparameter = \"*.fabric.queue\"\nsmallest = [\"20KB\", \"4MB\"]\n\
                    where = \"drops(scheme) == 0\"\nresolution = 0.5\n";
    place.write("s.toml", format!("{SMALL}{question}"));
    let json = place.run(&["find", "s.toml", "--out", "out", "--json"]).expect(0).json();
    let moved = json["moved"].as_array().unwrap();
    let of = |parameter: &str| {
        let found = moved.iter().find(|row| row["scheme"] == "reps" && row["parameter"] == parameter);
        found.unwrap_or_else(|| panic!("{parameter} is not in {moved:?}"))
    };
    // The lower threshold is a fifth of the queue, which ranges from 20 KB to 4 MB.
    assert_eq!(
        (&of("fabric.ecn_kmin")["from"], &of("fabric.ecn_kmin")["to"]),
        (&"4 KB".into(), &"800 KB".into())
    );
    assert!(of("transport.rto")["to"].as_str().unwrap().ends_with("us"), "{moved:?}");
    assert!(moved.iter().all(|row| row["parameter"] != "fabric.queue"), "{moved:?}");
    let text = place.run(&["find", "s.toml", "--out", "out"]).expect(0).stdout;
    assert!(text.contains("these follow *.fabric.queue and move with it: reps, ops: "), "{text}");
    // The note proposes lines for `[set]` that fix both thresholds.
    let (_, held) = text.split_once("write below [set] what they are at ").unwrap();
    let (at, lines) = held.lines().next().unwrap().split_once(": ").unwrap();
    let lines = lines.trim_end_matches('.').replace(" and ", "\n");
    // The thresholds are a fifth and four fifths of the queue that was found.
    assert_eq!(at, json["answers"][0]["value"].as_str().unwrap(), "{text}");
    let queue: f64 = at.trim_end_matches("KB").parse().unwrap();
    for (parameter, share) in [("fabric.ecn_kmin", 0.2), ("fabric.ecn_kmax", 0.8)] {
        let (_, value) = lines.split_once(&format!("\"*.{parameter}\" = \"")).unwrap();
        let value: f64 = value.split_once("KB\"").unwrap().0.parse().unwrap();
        assert!((value / (share * queue) - 1.0).abs() < 0.01, "{at}: {lines}");
    }
    place.write("s.toml", format!("{SMALL}[set]\n{lines}\n{question}"));
    let json = place.run(&["find", "s.toml", "--out", "out", "--json"]).expect(0).json();
    let moved = json["moved"].as_array().unwrap();
    assert!(
        moved.iter().all(|row| !row["parameter"].as_str().unwrap().starts_with("fabric.ecn_k")),
        "{moved:?}"
    );
    // If no parameter changes with the searched one, there is no note.
    let load = question
        .replace("*.fabric.queue", "workload.bytes")
        .replace("smallest", "largest")
        .replace("[\"20KB\", \"4MB\"]", "[\"20KB\", \"80KB\"]");
    place.write("s.toml", format!("{SMALL}{load}"));
    assert_eq!(
        place.run(&["find", "s.toml", "--out", "out", "--json"]).expect(0).json()["moved"],
        serde_json::json!([])
    );
}

#[test]
fn runs_without_faults_are_told_apart_in_the_table_of_curves() {
    let place = Place::new();
    let down = "[[fault]]\nkind = \"link-down\"\nlinks = \"tor:0/up:0\"\nduration = \"5us\"\n";
    place.write("s.toml", format!("{SMALL}{down}"));
    let json = place.run(&["run", "s.toml", "--out", "out", "--json"]).expect(0).json();
    let csv = place.run(&["export", json["folder"].as_str().unwrap(), "--table", "series"]).expect(0).stdout;
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("run,scheme,seed,baseline,series,entity,time_ps,value"));
    let with = |truth: &str| csv.lines().filter(|line| line.split(',').nth(3) == Some(truth)).count();
    assert!(with("true") > 0 && with("false") > 0, "{csv}");
    // The first two runs have the fault. The other runs are their baselines.
    let is_baseline = |line: &str| line.split(',').next().unwrap().parse::<u32>().unwrap() >= 2;
    assert!(lines.all(|line| (line.split(',').nth(3) == Some("true")) == is_baseline(line)), "{csv}");
}

#[test]
fn the_matrix_tells_needs_from_what_the_setup_gives_and_from_what_nobody_heeds() {
    let place = Place::new();
    let checked = |schemes: &str| {
        place.write("s.toml", edited("[\"reps\", \"ops\"]", schemes));
        place.run(&["check", "s.toml"]).expect(0).stdout
    };
    let text = checked("[\"reps\", \"rocev2\"]");
    let row = |text: &str, parameter: &str| {
        let line = text.lines().find(|line| line.starts_with(&format!("{parameter} ")));
        line.unwrap_or_else(|| panic!("no {parameter} in:\n{text}")).to_owned()
    };
    // The RTO of a lossless class follows from the rule of the setup, and not from the scheme.
    assert!(row(&text, "transport.rto").ends_with(" ms +"), "{text}");
    assert!(row(&text, "overload action").ends_with("PFC *"), "{text}");
    assert!(text.contains("+ set by the setup for every lossless or trimming fabric"), "{text}");
    assert!(
        row(&text, "buffer").contains(
            "1 MB per egress port  32 MB per switch, shared, headroom apart \
        *"
        ),
        "{text}"
    );
    assert!(row(&text, "maximum window").ends_with("none *"), "{text}");
    // HPCC does not react to ECN, and the other schemes have the same thresholds, so there is no difference to show.
    let three = edited("[\"reps\", \"ops\"]", "[\"reps\", \"hpcc\", \"rocev2\"]");
    place.write("s.toml", &three);
    let text = place.run(&["check", "s.toml"]).expect(0).stdout;
    assert!(!text.contains("\nfabric.ecn_kmin "), "{text}");
    place.write("s.toml", format!("{three}[set]\n\"reps.fabric.ecn_kmin\" = \"100KB\"\n"));
    let text = place.run(&["check", "s.toml"]).expect(0).stdout;
    let cells: Vec<String> = row(&text, "fabric.ecn_kmin")
        .split("  ")
        .filter(|cell| !cell.is_empty())
        .map(|cell| cell.trim().to_owned())
        .collect();
    assert_eq!(cells, ["fabric.ecn_kmin", "100 KB", "unused", "200 KB +"], "{text}");
    assert!(text.contains("; unused: nothing in the scheme takes notice of it"), "{text}");
}

#[test]
fn grounds_are_swept_by_their_names() {
    let place = Place::new();
    place.write("s.toml", format!("{SMALL}[sweep]\nsetup = [\"common\", \"reps-paper\"]\n"));
    let json = place.run(&["run", "s.toml", "--out", "out", "--json"]).expect(0).json();
    let grounds: Vec<&str> =
        json["runs"].as_array().unwrap().iter().map(|run| run["sweep"]["setup"].as_str().unwrap()).collect();
    assert_eq!(grounds, ["common", "reps-paper", "common", "reps-paper"]);
    let text = place.run(&["check", "s.toml"]).expect(0).stdout;
    assert!(text.contains("setup      common, reps-paper\n"), "{text}");
    let folder = place.path().join(json["folder"].as_str().unwrap());
    let stored = folder.join("scenario.toml");
    let again = place.run(&["run", stored.to_str().unwrap(), "--out", "out", "--json"]).expect(0).json();
    assert_eq!(again["digest"], json["digest"]);
    place.write("s.toml", format!("{SMALL}[sweep]\nsetup = [\"common\", \"reps-papre\"]\n"));
    let refused = place.run(&["check", "s.toml"]).expect(2).stderr;
    assert!(refused.contains("s.toml:15:20: ") && refused.contains("reps-paper"), "{refused}");
}

#[test]
fn warnings_that_differ_in_packets_alone_are_one() {
    let place = Place::new();
    // The target of an incast sends only ACKs. ECMP puts different ACKs on the uplink in each seed.
    let down = "[[fault]]\nkind = \"link-down\"\nlinks = \"tor:0/up:0\"\nboth_directions = false\nat = \"2us\"\n\
                duration = \"20us\"\n";
    let incast = edited("kind = \"permutation\"", "kind = \"incast\"\ntarget = 0\ndegree = 8");
    let text = incast
        .replace("[\"reps\", \"ops\"]", "[\"ecmp\"]")
        .replace("seeds = [1]", "seeds = [1, 2, 3, 4, 5, 6, 7, 8]");
    place.write("s.toml", text + down);
    let json = place.run(&["run", "s.toml", "--out", "out", "--json"]).expect(0).json();
    let of_acks: std::collections::BTreeSet<u64> = json["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| &run["faults"][0])
        .filter(|fault| fault["data_packets"] == 0 && fault["packets_lost"] != 0)
        .map(|fault| fault["packets_lost"].as_u64().unwrap())
        .collect();
    assert!(of_acks.len() > 1, "the seeds differ: {json}");
    let range =
        format!("met no data: the {} to {} packets", of_acks.first().unwrap(), of_acks.last().unwrap());
    let said: Vec<&str> = json["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|text| text.as_str())
        .filter(|text| text.contains("met no data"))
        .collect();
    assert!(matches!(said[..], [one] if one.contains(&range)), "{range}: {said:?}");
}

#[test]
fn a_depth_that_a_figure_varies_is_no_news() {
    let place = Place::new();
    let ended = place.run(&["reproduce", "strack/figure-21", "--out", "out"]).expect(0);
    assert!(!ended.stderr.contains("holds nothing back"), "{}", ended.stderr);
}
