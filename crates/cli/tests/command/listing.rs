//! Tests of the commands that print references (`list`, `docs`, `schema`, `man` and others), and of schemes with
//! programs in `anabranch check`.

use crate::common::{Place, SMALL, edited};

/// Tables 3 and 4 of the Themis-spraying paper, and equation 5 with the values of its Table 2. The paper states about
/// 9.7 MB for equation 5, and the exact value is 2 x 128 B + 16 x 512 x 1,177 B = 9.64 MB.
#[test]
fn state_of_programs_is_listed() {
    let place = Place::new();
    let text = place.run(&["list", "schemes", "--state"]).expect(0).stdout;
    for line in [
        "reps: 193 bits of load balancer state per queue pair",
        "  in the NIC: 450 bits (57 B) of congestion control state per queue pair",
        "  in a switch: 9416 bits (1177 B) of program state per queue pair",
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

/// DCP, section 4.5: two bytes per message, for eight messages. The 32 B of Table 3 are more than the text explains.
#[test]
fn state_of_dcp_is_listed() {
    let place = Place::new();
    let text = place.run(&["list", "schemes", "--state"]).expect(0).stdout;
    let dcp = "dcp: 16 bits of load balancer state per queue pair\n     16 bits  entropy value\n  \
               in the NIC: 192 bits (24 B) of transport state per queue pair with 128 packets in flight\n  \
               of these for messages: 8 x 2 B, 16 B\n    \
               112 bits  packet counter  (8 x 14)\n      8 bits  mcf  (8 x 1)\n      8 bits  Cf  (8 x 1)\n     \
               24 bits  eMSN\n      8 bits  rRetryNo\n     24 bits  unaMSN\n      8 bits  sRetryNo\n";
    assert!(text.contains(dcp), "no {dcp} in:\n{text}");
    let document = place.run(&["list", "schemes", "--state", "--json"]).expect(0).json();
    let rows = document["schemes"].as_array().unwrap();
    let row = |name: &str| rows.iter().find(|row| row["name"] == name).unwrap();
    let dcp = &row("dcp")["transport"];
    assert_eq!((&dcp["state_bits"], &dcp["state_bytes"]), (&192.into(), &24.into()));
    assert_eq!(dcp["messages"], serde_json::json!({ "tracked": 8, "bytes": 2, "all_bytes": 16 }));
    assert_eq!(&row("dcp-dcqcn")["transport"], dcp);
    // IRN has five bitmaps of 128 packets. REPS has two bitmaps and a time of 32 bits for each packet. MP-RDMA has
    // two bits for each of L = 64 packets, and three PSNs of 24 bits. Go-back-N needs no such state.
    let bits = |name: &str| row(name)["transport"]["state_bits"].as_u64().unwrap();
    assert_eq!((bits("irn-ar"), bits("reps"), bits("mp-rdma"), bits("rocev2")), (640, 128 * 34, 200, 0));
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

#[test]
fn the_references_are_fresh() {
    for what in ["parameters", "keys", "columns", "schemes"] {
        let printed = Place::new().run(&["list", what, "--markdown"]).expect(0).stdout;
        let page = format!("{}/../../docs/reference/{what}.md", env!("CARGO_MANIFEST_DIR"));
        let page = std::fs::read_to_string(page).unwrap_or_default();
        assert!(page == printed, "docs/reference/{what}.md is stale: `cargo xtask reference` renews it");
    }
}

#[test]
fn lists_without_a_page_have_no_markdown() {
    let place = Place::new();
    for list in [&["examples", "incast"][..], &["examples"], &["faults"], &["schemes", "--state"]] {
        let said = place.run(&[&["list"], list, &["--markdown"]].concat()).expect(2).stderr;
        assert!(said.contains("--markdown: only parameters, keys, columns and schemes"), "{list:?}: {said}");
        let advice = said.split('`').nth(1).unwrap().strip_prefix("anabranch ").unwrap();
        place.run(&advice.split(' ').collect::<Vec<_>>()).expect(0);
    }
}

#[test]
fn columns_of_results_are_listed() {
    let place = Place::new();
    let text = place.run(&["list", "columns"]).expect(0).stdout;
    assert!(
        text.contains("runs.parquet\n") && text.contains("99th percentile of the flow completion"),
        "{text}"
    );
    let all = place.run(&["list", "columns", "--json"]).expect(0).json();
    let of =
        |name: &str| all["columns"].as_array().unwrap().iter().find(|row| row["column"] == name).cloned();
    let row = of("fct_p99_us").unwrap();
    assert_eq!(
        (&row["table"], &row["unit"], &row["in_digest"]),
        (&"runs.parquet".into(), &"us".into(), &true.into())
    );
    assert_eq!(of("wall_s").unwrap()["in_digest"], false);
    assert_eq!(of("cct_ps").unwrap()["nullable"], true);
}

#[test]
fn schemas_are_printed() {
    let place = Place::new();
    let of = |args: &[&str]| place.run(args).expect(0).json();
    for (file, key) in
        [("scenario", "topology"), ("scheme", "lb"), ("setup", "lossless"), ("figure", "claim")]
    {
        let schema = of(&["schema", file]);
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema", "{file}");
        assert!(schema["properties"][key].is_object(), "{file}");
        assert_eq!(schema["additionalProperties"]["$ref"], "#/$defs/unknown-key", "{file}");
    }
    assert_eq!(of(&["schema"]), of(&["schema", "scenario"]));
    let refused = place.run(&["schema", "scenarios"]).expect(2).stderr;
    assert!(refused.contains("a similar value exists: 'scenario'"), "{refused}");
}

#[test]
fn keys_of_a_scenario_are_listed_and_explained() {
    let place = Place::new();
    let text = place.run(&["list", "keys", "collective"]).expect(0).stdout;
    assert!(text.contains("connections") && text.contains("all others, for an AllToAll"), "{text}");
    let all = place.run(&["list", "keys", "--json"]).expect(0).json();
    let all = all["keys"].as_array().unwrap().clone();
    for kind in ["fat-tree", "poisson", "link-flap", "cross-dc"] {
        assert!(all.iter().any(|key| key["kind"] == kind), "{kind}");
    }
    let text = place.run(&["docs", "workload.load"]).expect(0).stdout;
    assert!(text.contains("load ([workload], kind = \"poisson\")") && text.contains("0.6"), "{text}");
    let text = place.run(&["docs", "fault.0.links"]).expect(0).stdout;
    assert!(text.contains("links ([[fault]], kind = \"link-down\")"), "{text}");
    for (wanted, meant) in [
        ("workload.conections", "workload.connections"),
        ("workload.size", "workload.bytes"),
        ("size", "bytes"),
        ("topology.bandwidth", "topology.link"),
        ("topology.host", "topology.hosts"),
        ("fabric.nic_jiter", "fabric.nic_jitter"),
    ] {
        let refused = place.run(&["docs", wanted]).expect(2).stderr;
        assert!(refused.contains(&format!("called {wanted:?}; did you mean {meant:?}?")), "{refused}");
        assert!(!place.run(&["docs", meant]).expect(0).stdout.is_empty(), "{meant}");
    }
    for table in ["poisson", "fat-tree", "link-flap"] {
        let listed = place.run(&["list", "keys", table]).expect(0).stdout;
        assert_eq!(place.run(&["docs", table]).expect(0).stdout, listed, "{table}");
    }
    let text = place.run(&["docs", "workload.incast"]).expect(0).stdout;
    assert!(
        text.contains("  keys     degree, bytes, load; `anabranch docs incasts` explains them\n"),
        "{text}"
    );
    let text = place.run(&["docs", "fault"]).expect(0).stdout;
    assert!(text.contains("  keys     by kind (link-down, link-flap, "), "{text}");
    let text = place.run(&["docs", "link-down"]).expect(0).stdout;
    assert!(text.lines().any(|line| line.starts_with("  duration ") && line.len() < 100), "{text}");
    let refused = place.run(&["list", "keys", "workloads"]).expect(2).stderr;
    assert!(refused.contains("no table of a scenario and no kind is called \"workloads\""), "{refused}");
}

#[test]
fn parameters_are_listed_by_part_and_by_kind() {
    let place = Place::new();
    let text = place.run(&["list", "parameters", "reps"]).expect(0).stdout;
    let buffer = text.lines().find(|line| line.trim_start().starts_with("buffer ")).expect(&text);
    for words in ["count", "1 to 32", "required", "8", "REPS, Table 1", "REPS_BUFFER_SIZE"] {
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
    // `strack` is a kind of several components.
    let strack = place.run(&["list", "parameters", "strack"]).expect(0).stdout;
    assert!(["transport", "cc", "lb"].iter().all(|part| strack.contains(&format!("{part} = \"strack\": "))));

    // A scheme is neither a component nor a kind, although some schemes have the name of a kind.
    let error = place.run(&["list", "parameters", "rocev2"]).expect(2).stderr;
    assert!(
        error.contains("\"rocev2\" is a scheme")
            && error.contains("transport = \"go-back-n\", cc = \"dcqcn\" and lb = \"ecmp\"")
            && error.contains("write `anabranch list parameters go-back-n`, "),
        "{error}"
    );
    for kind in ["go-back-n", "dcqcn", "ecmp", "fabric"] {
        assert!(error.contains(&format!("`anabranch list parameters {kind}`")), "{error}");
        place.run(&["list", "parameters", kind]).expect(0);
    }
    let reps = place.run(&["list", "parameters", "reps"]).expect(0).stdout;
    assert!(
        reps.starts_with("lb = \"reps\": ")
            && reps.contains("\"reps\" is a scheme too, transport = \"sack\""),
        "{reps}"
    );
    assert!(
        reps.contains("`anabranch list parameters dctcp`") && !reps.contains("parameters reps`"),
        "{reps}"
    );
    let no_scheme = place.run(&["list", "parameters", "plb"]).expect(0).stdout;
    assert_eq!(
        no_scheme.contains(" is a scheme"),
        place.run(&["list", "schemes"]).expect(0).stdout.contains("\nplb ")
    );

    let error = place.run(&["list", "parameters", "resp"]).expect(2).stderr;
    assert!(error.contains("\"resp\"; did you mean \"reps\"?"), "{error}");
    let error = place.run(&["list", "schemes", "lb"]).expect(2).stderr;
    assert!(error.contains("write `anabranch list parameters lb`"), "{error}");
}

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

#[test]
fn a_parameter_is_explained_by_its_path_or_its_last_word() {
    let place = Place::new();
    let text = place.run(&["docs", "fabric.queue"]).expect(0).stdout;
    assert!(
        text.starts_with("fabric.queue: ")
            && text.contains("\n  unit     ")
            && text.contains("\n  range    "),
        "{text}"
    );
    assert!(text.contains("\n  source   "), "{text}");
    assert_eq!(place.run(&["docs", "*.fabric.queue"]).expect(0).stdout, text);
    let json = place.run(&["docs", "buffer", "--json"]).expect(0).json();
    let paths: Vec<&str> =
        json["parameters"].as_array().unwrap().iter().map(|row| row["path"].as_str().unwrap()).collect();
    assert!(paths.contains(&"lb.buffer") && paths.contains(&"fabric.pfc.buffer"), "{paths:?}");
    let all = place.run(&["list", "parameters", "--json"]).expect(0).json();
    assert!(
        json["parameters"]
            .as_array()
            .unwrap()
            .iter()
            .all(|row| all["parameters"].as_array().unwrap().contains(row))
    );
    for (table, first) in [
        ("fabric.pfc", "fabric.pfc.buffer: "),
        ("rocev2.fabric.pfc", "fabric.pfc.buffer: "),
        ("pfc.at", "fabric.pfc.at[].switches: "),
        ("fabric.ecn_from", "fabric.ecn_from[].rate: "),
        ("fabric.wrr", "fabric.wrr.radix: "),
    ] {
        let text = place.run(&["docs", table]).expect(0).stdout;
        assert!(text.starts_with(first), "{table}: {text}");
    }
    let text = place.run(&["docs", "fabric.program"]).expect(0).stdout;
    assert!(text.contains("fabric.program.lazy_drop"), "{text}");
    let refused = place.run(&["docs", "fabric.qeue"]).expect(2).stderr;
    assert!(refused.contains("fabric.queue"), "{refused}");
    for kind in ["reps", "sack", "themis-longhaul"] {
        let listed = place.run(&["list", "parameters", kind]).expect(0).stdout;
        assert_eq!(place.run(&["docs", kind]).expect(0).stdout, listed, "{kind}");
    }
    for (wanted, answer) in [
        ("rocev2", "\"rocev2\" is a scheme, "),
        (
            "queue-depth",
            "\"queue-depth\" is a series of [[measure]], and neither a parameter nor a key\n  help: `anabranch list series`",
        ),
        ("common", "\"common\" is a setup, "),
    ] {
        let refused = place.run(&["docs", wanted]).expect(2).stderr;
        assert!(refused.contains(answer), "{refused}");
    }
    let refused = place.run(&["list"]).expect(2).stderr;
    assert!(refused.contains("tip: <WHAT> is one of schemes, setups, figures, "), "{refused}");
}

#[test]
fn terms_of_table_and_verdict_are_explained() {
    let place = Place::new();
    let text = place.run(&["list", "terms"]).expect(0).stdout;
    for term in ["goodput", "CCT", "P50, P95, P99", "ideal", "not to be placed", "±", "no data hit, unhit"] {
        assert!(text.lines().any(|line| line.starts_with(term)), "{term}:\n{text}");
    }
    assert!(place.run(&["list", "terms", "--json"]).expect(0).json()["terms"].as_array().unwrap().len() > 10);
}

#[test]
fn shells_and_man_are_served_and_the_version_has_its_commit() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish"] {
        let text = place.run(&["completions", shell]).expect(0).stdout;
        assert!(text.contains("reproduce") && text.contains("per-seed"), "{shell}:\n{text}");
    }
    let refused = place.run(&["completions", "basch"]).expect(2).stderr;
    assert!(refused.contains("bash"), "{refused}");
    let page = place.run(&["man"]).expect(0).stdout;
    assert!(page.contains(".TH anabranch 1") && page.contains("\\-\\-per\\-seed"), "{page}");
    assert!(page.contains("live\\-send") && page.contains("\\-\\-message"), "{page}");
    assert!(!page.contains("bench-case") && !page.contains("bench\\-case"), "{page}");
    let version = place.run(&["--version"]).expect(0).stdout;
    let of_package = format!("anabranch {}", env!("CARGO_PKG_VERSION"));
    let commit = version.trim().strip_prefix(&of_package).unwrap_or_else(|| panic!("{version}"));
    let is_commit = |text: &str| text.len() >= 12 && text.chars().all(|c| c.is_ascii_hexdigit());
    let named = commit.strip_prefix(" (").and_then(|rest| rest.strip_suffix(')'));
    assert!(commit.is_empty() || named.is_some_and(is_commit), "{version}");
}
