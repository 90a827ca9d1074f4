//! Tests of faults on the command line: the links and switches of a fault, the packets that it affects, and the
//! explanation of a result.

use crate::common::{Place, SMALL};

#[test]
fn the_table_keeps_what_explains_a_loss_and_follows_the_width_of_the_terminal() {
    let place = Place::new();
    let collective = SMALL.replace(
        "kind = \"permutation\"\nbytes = \"100KB\"",
        "kind = \"collective\"\nalgorithm = \"allreduce-ring\"\nbytes = \"1MB\"",
    );
    let lossy = "[[fault]]\nkind = \"packet-loss\"\nlinks = \"tor:0/up\"\nprobability = 0.1\n";
    place.write("s.toml", format!("{collective}{lossy}"));
    let document = place.run(&["run", "s.toml", "--out", "out", "--json"]).expect(0).json();
    let folder = document["folder"].as_str().unwrap();
    let (run, report) = (["run", "s.toml", "--out", "out"], ["report", folder]);
    let of_report = |columns, spares| (&report[..], columns, Some(spares));
    let (run_wide, run_narrow) = ((&run[..], None, None), (&run[..], Some("70"), None));
    let reports = [of_report(None, true), of_report(Some("70"), true), of_report(Some("300"), false)];
    for (args, columns, spares) in reports.into_iter().chain([run_wide, run_narrow]) {
        let mut command = place.command(args);
        if let Some(columns) = columns {
            command.env("COLUMNS", columns);
        }
        let text = String::from_utf8(command.output().unwrap().stdout).unwrap();
        let below = text.lines().position(|line| line.starts_with('─')).unwrap_or_else(|| panic!("{text}"));
        let head: Vec<&str> = text.lines().skip(below - 2).take(2).collect();
        let shows = |name: [&str; 2]| name.iter().zip(&head).all(|(part, line)| line.contains(part));
        assert!(shows(["link", "losses"]) && shows(["time-", "outs"]), "{columns:?}: {text}");
        if let Some(spares) = spares {
            assert_eq!(text.contains("Left out here"), spares, "{columns:?}: {text}");
        } else {
            let whole = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(whole.contains(&format!("or by `anabranch report {folder}`: ")), "{text}");
        }
        let width = columns.map_or(120, |columns| columns.parse().unwrap());
        assert!(head.iter().all(|line| line.chars().count() <= width), "{columns:?}: {text}");
    }
}

fn checked(faults: &str) -> Vec<String> {
    let place = Place::new();
    place.write("s.toml", format!("{SMALL}{faults}"));
    let text = place.run(&["check", "s.toml"]).expect(0).stdout;
    text.lines().filter(|line| line.starts_with("fault.")).map(str::to_owned).collect()
}

#[test]
fn check_says_which_links_a_fault_takes() {
    let takes = |kind: &str, links: &str| {
        let lines = checked(&format!("[[fault]]\nkind = {kind}\nlinks = {links}\nat = \"5us\"\n"));
        lines[0].rsplit_once(": ").unwrap().1.to_owned()
    };
    let rate = "\"rate\"\nrate = \"100Gbps\"";
    assert_eq!(takes(rate, "\"tor:0/up:0\""), "tor:0/up:0");
    assert_eq!(takes(rate, "\"cable:tor:0/up:0\""), "tor:0/up:0, spine:0/down:0");
    assert_eq!(
        takes(rate, "[\"tor:0/up:0\", \"cable:tor:1/up:1\"]"),
        "tor:0/up:0, tor:1/up:1, spine:1/down:1"
    );
    assert_eq!(takes(rate, "\"host:0\""), "host:0, tor:0/down:0");
    assert_eq!(takes(rate, "\"host:0\"\nboth_directions = false"), "host:0");
    assert_eq!(takes(rate, "\"tor:0/up:0\"\nboth_directions = true"), "tor:0/up:0, spine:0/down:0");
    // A `link-down` fault affects both directions by default.
    assert_eq!(takes("\"link-down\"", "\"tor:0/up:0\""), "tor:0/up:0, spine:0/down:0");
    assert_eq!(takes("\"link-down\"", "\"tor:0/up:0\"\nboth_directions = false"), "tor:0/up:0");
    assert_eq!(takes("\"link-down\"", "\"all\"").matches(',').count(), 7, "no more than eight are named");

    let lines = checked(
        "[[fault]]\nkind = \"link-flap\"\nlinks = \"tor:0/up:0\"\nat = \"5us\"\nuntil = \"1ms\"\n\
         period = \"20us\"\ndown_for = \"4us\"\n\
         [[fault]]\nkind = \"switch-down\"\nswitches = [\"spine:0\", \"spine:1\"]\nat = [\"1us\", \"9us\"]\nduration = \"2us\"\n",
    );
    assert_eq!(lines[0], "fault.0    link-flap tor:0/up:0 at 5us for 995us: tor:0/up:0, spine:0/down:0");
    assert_eq!(lines[1], "fault.1    switch-down spine:0, spine:1 at 1us, 9us for 2us: spine:0, spine:1");

    let place = Place::new();
    place.write("s.toml", format!("{SMALL}[[fault]]\nkind = {rate}\nlinks = \"cable:tor:0/up:0\"\n"));
    let json = place.run(&["check", "s.toml", "--json"]).expect(0).json();
    assert_eq!(json["faults"][0]["links"], serde_json::json!(["tor:0/up:0", "spine:0/down:0"]));
}

#[test]
fn measures_are_listed_with_their_curves() {
    let place = Place::new();
    let measures = "[[measure]]\nseries = \"link-utilisation\"\nlinks = \"tor:0/up\"\nevery = \"1us\"\n\
                    [[measure]]\nseries = \"link-utilisation\"\nlinks = \"tor-uplinks\"\nby = \"plane\"\nevery = \"1us\"\n\
                    [[measure]]\nseries = \"flow-throughput\"\nqps = \"0-9\"\nevery = \"1us\"\n";
    let topology =
        "[topology]\nkind = \"rails\"\nservers = 4\nnics = 2\nports = 2\nsegment = 2\nlink = \"100Gbps\"\n";
    let text = format!(
        "schemes = [\"reps\"]\nseeds = [1]\n{topology}[workload]\nkind = \"alltoall\"\nbytes = \"8KB\"\n{measures}"
    );
    let text = text.replace("kind = \"alltoall\"", "kind = \"collective\"\nalgorithm = \"alltoall\"");
    place.write("s.toml", text);
    let said = place.run(&["check", "s.toml"]).expect(0).stdout;
    let lines: Vec<&str> = said.lines().filter(|line| line.starts_with("measure.")).collect();
    assert_eq!(
        lines,
        [
            "measure.0  link-utilisation of tor:0/up: plane:0/tor:0/up:0, plane:0/tor:0/up:1",
            "measure.1  link-utilisation of tor-uplinks: plane:0 of tor-uplinks, plane:1 of tor-uplinks",
            "measure.2  flow-throughput of queue pairs 0-9: flow:0, flow:1, flow:2, flow:3, flow:4, flow:5, flow:6, flow:7 ... (10 in all)",
        ]
    );
    let json = place.run(&["check", "s.toml", "--json"]).expect(0).json();
    assert_eq!(json["measures"][1]["curves"][0], serde_json::json!("plane:0 of tor-uplinks"));
    assert!(!said.contains("no packet crosses"), "{said}");
}

#[test]
fn check_says_where_no_packet_crosses_a_spine() {
    let place = Place::new();
    let text = |segment: u32| {
        format!(
            "schemes = [\"reps\"]\nseeds = [1]\n[topology]\nkind = \"rails\"\nservers = 4\nsegment = {segment}\nlink = \
             \"400Gbps\"\nnvlink = \"3600Gbps\"\n[workload]\nkind = \"collective\"\nalgorithm = \"allreduce-ring\"\nbytes = \
             \"8MB\"\nserver = {{}}\n"
        )
    };
    place.write("s.toml", text(4));
    let said = place.run(&["check", "s.toml"]).expect(0).stdout;
    let line = said.lines().find(|line| line.starts_with("messages")).unwrap();
    assert!(line.ends_with("; each stays below one tor, so that no packet crosses a spine"), "{line}");
    place.write("s.toml", text(2));
    assert!(!place.run(&["check", "s.toml"]).expect(0).stdout.contains("no packet crosses"));
}

#[test]
fn faults_that_cannot_be_are_refused_with_what_to_write() {
    let cases = [
        ("\"link-down\"\nlinks = []", "links is empty and selects nothing"),
        (
            "\"rate\"\nrate = \"1Gbps\"\nlinks = \"cable:tor:0/up:0\"\nboth_directions = false",
            "write: links = \"tor:0/up:0\"",
        ),
        ("\"link-down\"\nlinks = \"all\"\nat = \"5us\"\nuntil = \"5us\"", "write: until = \"205us\""),
        ("\"link-down\"\nlinks = \"all\"\nuntil = \"5us\"\nduration = \"1us\"", "both say when"),
        ("\"link-down\"\nlinks = \"all\"\nat = [\"1us\", \"2us\"]", "write: duration = \"200us\""),
        ("\"link-down\"\nlinks = \"all\"\nat = [\"1us\", \"2us\"]\nuntil = \"3us\"", "at has several"),
        ("\"link-down\"\nswitches = \"tor:0\"", "write: kind = \"switch-down\" with switches = \"tor:0\""),
        ("\"link-down\"\nlinks = \"cable:tor:99/up:0\"", "write: links = \"cable:tor:3/up:0\""),
        ("\"link-flap\"\nlinks = \"all\"\nperiod = \"1ns\"\ndown_for = \"500ps\"", "write: period = \"1us\""),
    ];
    for (fault, says) in cases {
        let place = Place::new();
        place.write("s.toml", format!("{SMALL}[[fault]]\nkind = {fault}\n"));
        let refused = place.run(&["check", "s.toml"]).expect(2).stderr;
        assert!(refused.contains(says), "{fault}:\n{refused}");
    }
}

fn collective(more: &str) -> String {
    let workload = "kind = \"collective\"\nalgorithm = \"allreduce-ring\"\nbytes = \"4MB\"";
    SMALL.replace("kind = \"permutation\"\nbytes = \"100KB\"", workload) + more
}

#[test]
fn each_fault_says_how_many_packets_of_each_scheme_it_hit() {
    let place = Place::new();
    let faults = "[[fault]]\nkind = \"link-flap\"\nlinks = \"tor:0/up:0\"\nperiod = \"20us\"\ndown_for = \"4us\"\n\
                  [[fault]]\nkind = \"rate\"\nlinks = [\"tor:1/up:0\", \"tor:1/up:1\"]\nboth_directions = false\nrate = \"100Gbps\"\nat = [\"5us\", \"30us\"]\n\
                  duration = \"10us\"\n\
                  [[fault]]\nkind = \"switch-loss\"\nlinks = \"spine:1/down\"\nprobability = 0.05\n\
                  [set]\n\"*.fabric.routing_delay\" = \"1us\"\n";
    place.write("s.toml", collective(faults));
    let ended = place.run(&["run", "s.toml", "--out", "out", "--json"]).expect(0);
    let json = ended.json();
    for run in json["runs"].as_array().unwrap() {
        let of = |fault: usize, what: &str| run["faults"][fault][what].as_u64().unwrap();
        assert!(of(0, "packets_lost") > 0 && of(0, "packets_slowed") == 0, "{run}");
        assert!(of(1, "packets_slowed") > 0 && of(1, "packets_lost") == 0, "{run}");
        assert!(of(2, "packets_refused") > 0, "{run}");
        assert_eq!(of(0, "packets_lost"), run["link_losses"].as_u64().unwrap(), "nothing else loses: {run}");
        let refused = run["drops"].as_u64().unwrap() + run["trims"].as_u64().unwrap();
        assert!(of(2, "packets_refused") <= refused, "{run}");
        assert_eq!(run["faults"][0]["kind"], "link-flap");
        assert_eq!(run["faults"][1]["on"], "tor:1/up:0, tor:1/up:1");
    }
    assert_eq!(json["warnings"], serde_json::json!([]));
    let again = place.run(&["report", json["folder"].as_str().unwrap()]).expect(0).stdout;
    let lost = json["runs"][0]["faults"][0]["packets_lost"].as_u64().unwrap();
    let line =
        again.lines().find(|line| line.starts_with("fault.0 (link-flap tor:0/up:0 from 0.00 µs)")).unwrap();
    assert!(line.contains(&format!("reps {lost} lost")), "{again}");
    let folder = place.path().join(json["folder"].as_str().unwrap());
    let page = std::fs::read_to_string(folder.join("report.html")).unwrap();
    assert!(page.contains("fault.0 (link-flap tor:0/up:0"), "the page says it too");
    let one = place.run(&["run", "s.toml", "--out", "one", "--json", "--threads", "1"]).expect(0).json();
    assert_eq!(one["runs"][0]["digest"], json["runs"][0]["digest"]);
}

#[test]
fn a_flap_until_the_end_of_a_lossless_run_is_run() {
    let place = Place::new();
    let flap = "[[fault]]\nkind = \"link-flap\"\nlinks = \"tor:0/up:0\"\nat = \"10us\"\nperiod = \"50us\"\ndown_for = \"5us\"\n\
                [set]\n\"*.fabric.routing_delay\" = \"2us\"\n";
    let text = collective(flap).replace("[\"reps\", \"ops\"]", "[\"rocev2\"]");
    place.write("s.toml", text);
    let json = place.run(&["run", "s.toml", "--out", "out", "--json"]).expect(0).json();
    assert_eq!(json["runs"][0]["jobs_finished"], 1);
    assert!(json["runs"][0]["faults"][0]["packets_lost"].as_u64().unwrap() > 0, "{}", json["runs"][0]);
}
