//! `anabranch list schemes --state`, and schemes with programs in `anabranch check`.

use crate::common::{Place, SMALL, edited};

/// Tables 3 and 4 of the Themis-spraying paper, and equation 5 with the values of its Table 2: about 9.7 MB there.
#[test]
fn state_of_programs_is_listed() {
    let place = Place::new();
    let text = place.run(&["list", "schemes", "--state"]).expect(0).stdout;
    for line in [
        "reps: 193 bits of load balancer state a queue pair",
        "  in a switch: 9416 bits (1177 B) of program state a queue pair",
        "  at the source ToR (Themis-S): 516 B",
        "   4096 bits  S: path_adaptive_count  (128 x 32)",
        "  at the destination ToR (Themis-D): 661 B",
        "   1024 bits  D: bitmap_array  (1024 x 1)",
        "  in a ToR of 16 NICs with 512 queue pairs each: 9642240 B (9.64 MB)",
    ] {
        assert!(text.lines().any(|printed| printed == line), "no {line:?} in:\n{text}");
    }
    let document = place.run(&["list", "schemes", "--state", "--json"]).expect(0).json();
    let rows = document["schemes"].as_array().unwrap();
    let row = |name: &str| rows.iter().find(|row| row["name"] == name).unwrap();
    let themis = &row("themis-spraying")["program"];
    assert_eq!((&themis["state_bits"], &themis["state_bytes"]), (&9416.into(), &1177.into()));
    assert_eq!((&themis["source_tor_bytes"], &themis["destination_tor_bytes"]), (&516.into(), &661.into()));
    let tor = serde_json::json!({ "nics": 16, "queue_pairs_per_nic": 512, "bytes": 9_642_240 });
    assert_eq!(themis["tor"], tor);
    let conweave = &row("conweave")["program"];
    assert!(conweave["state_bits"].as_u64().unwrap() > 0 && conweave["tor"].is_null(), "{conweave}");
    assert!(row("reps")["program"].is_null() && row("reps")["lb_state_bits"] == 193);
}

/// DCP, section 4.5: two bytes a message, of eight messages. Table 3's 32 B are more than the text accounts for.
#[test]
fn state_of_dcp_is_listed() {
    let place = Place::new();
    let text = place.run(&["list", "schemes", "--state"]).expect(0).stdout;
    let dcp = "dcp: 16 bits of load balancer state a queue pair\n     16 bits  entropy value\n  \
               in the NIC: 192 bits (24 B) of transport state a queue pair\n  \
               of these for messages: 8 x 2 B, 16 B\n    \
               112 bits  packet counter  (8 x 14)\n      8 bits  mcf  (8 x 1)\n      8 bits  Cf  (8 x 1)\n     \
               24 bits  eMSN\n      8 bits  rRetryNo\n     24 bits  unaMSN\n      8 bits  sRetryNo\n";
    assert!(text.contains(dcp), "no {dcp} in:\n{text}");
    let document = place.run(&["list", "schemes", "--state", "--json"]).expect(0).json();
    let rows = document["schemes"].as_array().unwrap();
    let row = |name: &str| rows.iter().find(|row| row["name"] == name).unwrap();
    let dcp = &row("dcp")["transport"];
    assert_eq!((&dcp["state_bits"], &dcp["state_bytes"]), (&192.into(), &24.into()));
    assert_eq!((&dcp["message_bytes"], &dcp["messages_bytes"]), (&2.into(), &16.into()));
    assert_eq!(dcp["tracked_messages"], 8);
    assert_eq!(&row("dcp-dcqcn")["transport"], dcp);
    assert!(row("irn-ar")["transport"].is_null());
}

#[test]
fn check_prints_programs_and_refuses_those_that_do_not_fit() {
    let place = Place::new();
    let schemes = "[\"themis-spraying\", \"conweave\"]";
    place.write("s.toml", edited("[\"reps\", \"ops\"]", schemes));
    let ended = place.run(&["check", "s.toml"]).expect(0);
    for line in
        ["routing = \"ecmp-linear\"", "kind = \"themis-spraying\"", "kind = \"conweave\"", "lazy_drop = true"]
    {
        assert!(ended.stdout.lines().any(|printed| printed == line), "no {line:?} in:\n{}", ended.stdout);
    }
    let text = edited("[\"reps\", \"ops\"]", schemes);
    place.write("s.toml", format!("{text}\n[set]\n\"themis-spraying.fabric.program_at\" = \"core:100%\"\n"));
    let ended = place.run(&["check", "s.toml"]).expect(2);
    assert!(
        ended.stderr.contains("s.toml:16:1: scheme \"themis-spraying\": fabric.program_at: "),
        "{}",
        ended.stderr
    );
    assert!(ended.stderr.contains("= \"tor:100%\""), "{}", ended.stderr);
}

/// The page in the repository is what the command prints.
#[test]
fn the_reference_of_parameters_is_fresh() {
    let printed = Place::new().run(&["list", "parameters", "--markdown"]).expect(0).stdout;
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/parameters.md");
    let page = std::fs::read_to_string(page).unwrap_or_default();
    assert!(page == printed, "docs/reference/parameters.md is stale: `cargo xtask reference` renews it");
}

#[test]
fn parameters_are_listed_by_part_and_by_kind() {
    let place = Place::new();
    let text = place.run(&["list", "parameters", "reps"]).expect(0).stdout;
    let buffer = text.lines().find(|line| line.trim_start().starts_with("buffer ")).expect(&text);
    for words in ["count", "1 to 32", "needed", "8", "REPS, Table 1", "REPS_BUFFER_SIZE"] {
        assert!(buffer.contains(words), "no {words:?} in {buffer}");
    }
    let all = place.run(&["list", "parameters", "--json"]).expect(0).json();
    let all = all["parameters"].as_array().unwrap();
    let of_lb = place.run(&["list", "parameters", "lb", "--json"]).expect(0).json();
    let of_lb = of_lb["parameters"].as_array().unwrap();
    assert!(of_lb.len() > 8 && all.len() > of_lb.len());
    let buffer = of_lb.iter().find(|row| row["path"] == "lb.buffer").unwrap();
    assert_eq!((&buffer["least"], &buffer["most"], &buffer["kind"]), (&1.into(), &32.into(), &"reps".into()));
    let routing = all.iter().find(|row| row["path"] == "fabric.routing").unwrap();
    assert_eq!((&routing["default"], &routing["choices"][1]), (&"ecmp".into(), &"ecmp-linear".into()));
    // Kinds of one name in several parts.
    let strack = place.run(&["list", "parameters", "strack"]).expect(0).stdout;
    assert!(["transport", "cc", "lb"].iter().all(|part| strack.contains(&format!("{part} = \"strack\": "))));

    let error = place.run(&["list", "parameters", "resp"]).expect(2).stderr;
    assert!(error.contains("\"resp\"; did you mean \"reps\"?"), "{error}");
    let error = place.run(&["list", "schemes", "lb"]).expect(2).stderr;
    assert!(error.contains("write `anabranch list parameters lb`"), "{error}");
}

/// What is listed of a closed list is what a wrong word is answered with.
#[test]
fn faults_and_series_are_listed_in_whole() {
    let place = Place::new();
    for (what, table, key) in [("faults", "fault", "kind"), ("series", "measure", "series")] {
        let listed = place.run(&["list", what, "--json"]).expect(0).json();
        let mut listed: Vec<&str> =
            listed[what].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
        place.write("s.toml", format!("{SMALL}[[{table}]]\n{key} = \"xyz\"\n"));
        let refused = place.run(&["check", "s.toml"]).expect(2).stderr;
        let known = refused.split("one of ").nth(1).unwrap_or_else(|| panic!("{refused}"));
        let mut known: Vec<&str> = known.trim().split(", ").map(|word| word.trim_matches('"')).collect();
        listed.sort_unstable();
        known.sort_unstable();
        assert_eq!(listed, known);
        let text = place.run(&["list", what]).expect(0).stdout;
        assert_eq!(text.lines().count(), known.len());
    }
}

#[test]
fn examples_are_listed_and_printed() {
    let place = Place::new();
    let listed = place.run(&["list", "examples", "--json"]).expect(0).json();
    let mut names: Vec<String> = listed["examples"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            assert!(!row["title"].as_str().unwrap().is_empty(), "{row}");
            format!("{}.toml", row["name"].as_str().unwrap())
        })
        .collect();
    names.sort_unstable();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let files =
        std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut files: Vec<String> = files.filter(|name| name.ends_with(".toml")).collect();
    files.sort_unstable();
    assert_eq!(names, files);
    let printed = place.run(&["list", "examples", "incast"]).expect(0).stdout;
    assert_eq!(printed, std::fs::read_to_string(format!("{folder}/incast.toml")).unwrap());
    let refused = place.run(&["list", "examples", "inkast"]).expect(2).stderr;
    assert!(refused.contains("there is no example \"inkast\"\n  help: one of "), "{refused}");
}
