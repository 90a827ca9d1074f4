//! Tests of files of the ns-3 simulators: files that are read, files that are rejected, and the fixes for mistakes,
//! which have the format of the file.

use crate::scenario::tests::{Disk, Folder};
use crate::scenario::*;
use std::path::PathBuf;

/// Two hosts (nodes 0 and 2) and a switch (node 1).
const PAIR: &str = "3 1 2\n1\n0 1 100Gbps 1us 0\n2 1 100Gbps 1us 0\n";

/// The warnings or the error of a scenario with this topology and these flows. Without flows, every host sends.
fn told(topology: &str, flows: Option<&str>, keys: &str) -> Result<Vec<Diagnostic>, Diagnostic> {
    let files = [("t.txt", Some(topology)), ("f.txt", flows)];
    let files = files.into_iter().filter_map(|(name, text)| Some((name.to_owned(), text?.to_owned())));
    let workload = match flows {
        Some(_) => "kind = \"ns3-flows\"\nfile = \"f.txt\"",
        None => "kind = \"permutation\"\nbytes = \"1KB\"",
    };
    let text = format!(
        "schemes = [\"rocev2\"]\nseeds = [1]\n[topology]\nkind = \"graph\"\nfile = \"t.txt\"\n[workload]\n{workload}\n{keys}\n"
    );
    read("s.toml", &text, &Folder(files.collect()), &Overrides::default())?.check()
}

/// A test case for a row of the table in the documentation: the simulator, a topology and flows in its formats, and
/// the beginning of the error if they are rejected.
type Row = (&'static str, &'static str, Option<&'static str>, Option<&'static str>);

const DIALECTS: &[Row] = &[
    ("HPCC", PAIR, Some("1\n0 2 3 100 1000 2\n"), None),
    ("ConWeave", PAIR, Some("1\n2 0 3 1000 2.000000009\n"), None),
    ("ASTRA-sim", PAIR, None, None),
    ("ASTRA-sim", "3 0 3\n\n0 1 100Gbps 1us 0\n1 2 100Gbps 1us 0\n2 0 100Gbps 1us 0\n", None, None),
    (
        "ns3-rdma",
        "3 1 2\n1\n0 1 100Gbps 0.001ms\n2 1 100Gbps 0.001ms\n\nFirst line: total node #, switch node #, link #\n",
        Some("1\n0 2 3 10000 2.0 9.5\n\nFirst line: flow #\nsrc dst pg packet#\n"),
        None,
    ),
    (
        "ns3-rdma, TIMELY",
        PAIR,
        Some("1\n0 2 3 10000 2.0 9.5 10\n"),
        Some("f.txt:2: 7 columns are those of ns3-rdma with an initial rate"),
    ),
    (
        "ns3-datacenter",
        "3 1 1 2\n1 \n0 1 100000000000.0 1us 0\n2 1 100000000000.0 1us 0\n",
        Some("1\n0 2 3 10000 1000000 2.001\n"),
        None,
    ),
    (
        "ns3-datacenter, Reverie",
        "3 1 1 2 100000000000 100000000000\n1 \n0 1 100000000000 1us 0\n2 1 100000000000 1us 0\n",
        None,
        None,
    ),
    ("SimAI", "3 1 0 1 2 H100\n1 \n0 1 100Gbps 0.001ms 0\n2 1 100Gbps 0.001ms 0\n", None, None),
    (
        "SimAI",
        "4 2 1 1 4 H100\n2 3 \n0 2 900Gbps 1us 0\n1 2 900Gbps 1us 0\n0 3 100Gbps 1us 0\n1 3 100Gbps 1us 0\n",
        None,
        None,
    ),
];

#[test]
fn dialects_are_read_or_refused_as_the_documentation_has_it() {
    let docs = include_str!("../../../../../docs/scenario.md");
    let (_, table) = docs.split_once("| Simulator | First line of a topology |").unwrap();
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let documented: Vec<(&str, &str)> = rows
        .map(|line| line.trim_matches(['|', ' ']))
        .map(|line| (line.split('|').next().unwrap().trim(), line.rsplit('|').next().unwrap().trim()))
        .collect();
    let mut tried: Vec<(&str, String)> = Vec::new();
    for (simulator, topology, flows, refused) in DIALECTS {
        match (told(topology, *flows, ""), refused) {
            (Ok(_), None) => {}
            (Err(error), Some(refused)) => {
                assert!(error.to_string().starts_with(refused), "{simulator}: {error}");
                assert!(error.help().is_some(), "{simulator}: no way out: {error}");
            }
            (Ok(_), Some(_)) => panic!("{simulator} is read"),
            (Err(error), None) => panic!("{simulator}: {error}"),
        }
        let outcome = if refused.is_some() { "refused" } else { "read" };
        match tried.last_mut().filter(|(last, _)| last == simulator) {
            Some((_, outcomes)) => *outcomes += outcome,
            None => tried.push((simulator, outcome.to_owned())),
        }
    }
    assert_eq!(documented.len(), tried.len(), "{documented:?}");
    for ((simulator, says), (tried, outcomes)) in documented.into_iter().zip(tried) {
        assert_eq!(simulator, tried);
        for outcome in ["read", "refused"] {
            assert_eq!(says.contains(outcome), outcomes.contains(outcome), "{simulator}: {says}");
        }
    }
}

#[test]
fn mistakes_in_files_are_answered_in_the_format_of_the_file() {
    for (topology, flows, expected) in [
        (
            "3 1 3\n1\n0 1 100Gbps 1us 0\n2 1 100Gbps 1us 0\n",
            None,
            "t.txt:1: line 1 counts 3 links, but the file has 2\n  write: 3 1 2",
        ),
        (
            "3 1 2\n3\n0 1 100Gbps 1us 0\n2 1 100Gbps 1us 0\n",
            None,
            "t.txt:2: there is no node 3: line 1 counts 3, numbered 0 to 2\n  write: 1",
        ),
        (
            "3 1 2\n1\n0 1 100 1us 0\n2 1 100Gbps 1us 0\n",
            None,
            "t.txt:3: the rate 100 has no unit, and ns-3 reads it as bits a second\n  write: 0 1 100Gbps 1us 0",
        ),
        (
            "3 1 2\n1\n0 1 100Gbps 1000 0\n2 1 100Gbps 1us 0\n",
            None,
            "t.txt:3: the latency 1000 has no unit, and ns-3 reads it as seconds\n  write: 0 1 100Gbps 1000ns 0",
        ),
        (PAIR, Some("2\n0 2 3 100 1000 2\n"), "f.txt:1: it counts 2 flows, but has 1\n  write: 1"),
        (
            PAIR,
            Some("1\n0 2 3 100 1KB 2\n"),
            "f.txt:2: the flow's size in bytes must be a whole number, not `1KB`\n  write: 0 2 3 100 1000 2",
        ),
        (
            PAIR,
            Some("1\n0 2 3 100 1000 2s\n"),
            "f.txt:2: the start in seconds must be a number such as 0 or 1.5, not `2s`\n  write: 0 2 3 100 1000 2",
        ),
        (
            PAIR,
            Some("1\n0 1 3 100 1000 2\n"),
            "f.txt:2: the destination 1 is a switch of the topology file; its hosts are nodes 0, 2",
        ),
    ] {
        assert_eq!(told(topology, flows, "").unwrap_err().to_string(), expected);
    }
}

#[test]
fn hints_that_are_keys_work() {
    let early = Some("1\n0 2 3 100 1000 0.001\n");
    let error = told(PAIR, early, "").unwrap_err();
    assert_eq!(error.help().as_deref(), Some("origin = \"1ms\" in [workload]"));
    told(PAIR, early, "origin = \"1ms\"").unwrap();

    let either = Some("1\n0 2 3 10000 2 9\n");
    let error = told(PAIR, either, "").unwrap_err();
    assert_eq!(error.help().as_deref(), Some("format = \"ns3-rdma\" or format = \"hpcc\" in [workload]"));
    assert!(error.message.contains("(HPCC)") && error.message.contains("(ns3-rdma)"), "{error}");
    for (format, warnings) in [("ns3-rdma", 1), ("hpcc", 0)] {
        let max_time = "[limits]\nmax_time = \"20s\"";
        let warned = told(PAIR, either, &format!("format = {format:?}\n{max_time}")).unwrap();
        let of_file = warned.iter().filter(|warning| warning.span.file == "f.txt").count();
        assert_eq!(of_file, warnings, "{format}: {warned:?}");
    }
}

#[test]
fn what_is_left_out_of_a_file_is_a_warning() {
    let topology = "3 1 2\n1\n0 1 100Gbps 1us 0\n2 1 100Gbps 1us 0\n1 1 100Gbps 1us 0\n";
    let warned =
        told(topology, Some("1\n0 2 3 100 1000 2\n2 0 3 100 1000 2\n0 2 3 100 1000 2\n"), "").unwrap();
    let warned: Vec<String> = warned.iter().map(ToString::to_string).collect();
    assert_eq!(
        warned,
        [
            "t.txt:1: left out of t.txt, as its simulator does: 1 link behind the 2 that its first line counts",
            "f.txt:1: left out of f.txt, as its simulator does: 2 flows behind the 1 that its first line counts",
        ]
    );
    assert_eq!(told(PAIR, Some("1\n0 2 3 100 1000 2\n"), "").unwrap(), []);
}

fn peers() -> Option<PathBuf> {
    let peers = std::env::var_os("ANABRANCH_PEERS").map(PathBuf::from);
    if peers.is_none() {
        println!("skipped: ANABRANCH_PEERS is not set");
    }
    peers
}

fn of_case(peers: &std::path::Path, case: &str) -> Option<String> {
    let path = peers.join("cases").join(case);
    let text = std::fs::read_to_string(&path).unwrap();
    let disk = Disk(path.parent().unwrap().to_path_buf());
    let checked = read("s.toml", &text, &disk, &Overrides::default()).and_then(|scenario| scenario.check());
    checked.err().map(|error| error.to_string())
}

#[test]
fn reported_files_are_read_or_answered_in_their_format() {
    let Some(peers) = peers() else { return };
    for case in [
        "02-dgx1-no-switch/workaround.toml",
        "02-dgx1-no-switch/direct.toml",
        "02-dgx1-no-switch/ring8.toml",
        "02-dgx1-no-switch/two-nics.toml",
        "23-flow-numbering/same-switch.toml",
        "23-flow-numbering/hosts-first.toml",
        "24-simai-topology/topo.toml",
    ] {
        assert_eq!(of_case(&peers, case), None, "{case}");
    }
    for (case, says) in [
        (
            "23-flow-numbering/from-switch.toml",
            "flow-switch.txt:2: the source 0 is a switch of the topology file",
        ),
        (
            "36-old-flow-format/old.toml",
            "flow.txt:2: the 6 columns are `src dst pg dport bytes start_s` (HPCC) or `source",
        ),
        ("27-hints/node.toml", "node.txt:2: there is no node 3"),
        ("27-hints/count.toml", "count.txt:1: line 1 counts 3 links, but the file has 2\n  write: 3 1 2"),
        ("27-hints/latency.toml", "latency.txt:3: the latency 1000 has no unit"),
        ("27-hints/loss.toml", "loss.txt:3: this line has no error rate"),
        ("27-hints/rate.toml", "rate.txt:3: the rate 100 has no unit"),
        (
            "27-hints/switches.toml",
            "switches.txt:2: the count of switches in line 1 is 1, but line 2 gives 2",
        ),
        ("27-hints/f-count.toml", "f-count.txt:1: it counts 2 flows, but has 1\n  write: 1"),
        ("27-hints/f-size.toml", "f-size.txt:2: the flow's size in bytes must be a whole number"),
        ("27-hints/f-start.toml", "f-start.txt:2: the start in seconds must be a number"),
    ] {
        let said = of_case(&peers, case).unwrap_or_else(|| panic!("{case} is read"));
        assert!(said.starts_with(says), "{case}: {said}");
        assert!(!said.contains("file = "), "{case}: {said}");
    }
    // The simulators read only as many flows as the first line of the file says, so further flows are not an error.
    assert_eq!(of_case(&peers, "27-hints/f-more.toml"), None);
}

/// A fabric with `rates` hosts at four switches in a row. The cable of each host has an error rate of its own.
fn lossy(rates: u32) -> String {
    let (hosts, per_switch) = (rates, rates.div_ceil(4));
    let mut text = format!("{} 4 {}\n", hosts + 4, hosts + 3);
    text += &(hosts..hosts + 4).map(|switch| format!("{switch} ")).collect::<String>();
    for host in 0..hosts {
        text +=
            &format!("\n{host} {} 100Gbps 1us {:.7}", hosts + host / per_switch, f64::from(host + 1) * 1e-7);
    }
    text + &(hosts..hosts + 3)
        .map(|switch| format!("\n{switch} {} 1Tbps 1us 0", switch + 1))
        .collect::<String>()
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the test bounds the time that reading takes; no result depends on it"
)]
fn as_many_error_rates_as_links_take_seconds() {
    const RATES: u32 = 8_000;
    let started = std::time::Instant::now();
    let files = Folder([("t.txt".to_owned(), lossy(RATES))].into());
    let text = "schemes = [\"rocev2\"]\nseeds = [1]\n[topology]\nkind = \"graph\"\nfile = \"t.txt\"\n[workload]\n\
                kind = \"permutation\"\nbytes = \"1KB\"\n";
    let scenario = read("s.toml", text, &files, &Overrides::default()).unwrap();
    assert_eq!(scenario.points().unwrap()[0].faults.len(), RATES as usize);
    let rare = |scenario: &Scenario| {
        let warnings = scenario.check().unwrap();
        warnings.iter().filter(|warning| warning.message.contains("is expected to hit")).count()
    };
    assert_eq!(rare(&scenario), RATES as usize);
    // In the resolved form, a fault replaces each error rate of the file.
    let again = read("s.toml", &scenario.to_toml(), &files, &Overrides::default()).unwrap();
    assert_eq!(again.points().unwrap()[0].faults.len(), RATES as usize);
    // If all links were searched for each rate, this would take minutes.
    let lasted = started.elapsed();
    assert!(lasted < std::time::Duration::from_secs(30), "{lasted:?}");
}

#[test]
fn more_error_rates_than_there_are_numbers_of_faults_are_refused() {
    let error = told(&lossy(65_536), None, "").unwrap_err();
    assert_eq!(
        error.to_string(),
        "t.txt:65538:1: 0.0065536 is another error rate, and each is a fault, of which a run has 65535 at most\n  write: \
         fewer different error rates, such as rounded ones"
    );
}
