//! A run is the same on any number of threads. The tests cover every built-in scheme, and interactions between nodes
//! and between synchronisation windows.

use super::support::*;
use anabranch_sim::scenario::{RunPoint, schemes};
use anabranch_sim::{Control, RunError, RunResult};
use std::collections::BTreeSet;

/// Two data centres of eight hosts each. They are so far apart that packets between them arrive hundreds of
/// synchronisation windows later.
const CROSS_DC: &str = r#"
[topology]
kind = "cross-dc"
dcs = 2
tors = 2
leaves = 2
hosts_per_tor = 4
link = "100Gbps"
link_latency = "1us"
wan_latency = "300us"
"#;

/// Every kind of fault of links and switches. All except the bit errors are temporary.
const FAULTS: &str = r#"
[[fault]]
kind = "link-down"
links = "tor:0/up:1"
at = "4us"
duration = "25us"
[[fault]]
kind = "switch-down"
switches = "spine:1"
at = "20us"
duration = "9us"
[[fault]]
kind = "link-flap"
links = ["tor:2/up:0", "tor:2/up:1"]
period = "9us"
down_for = "1us"
at = "2us"
until = "40us"
[[fault]]
kind = "rate"
links = "cable:tor:1/up:0"
rate = "25Gbps"
at = "3us"
duration = "40us"
[[fault]]
kind = "packet-loss"
links = "tor-uplinks:30%"
probability = 0.02
duration = "100us"
[[fault]]
kind = "switch-loss"
links = "tor:2/up"
probability = 0.02
duration = "100us"
[[fault]]
kind = "bit-errors"
links = "host:3"
probability = 1e-6
"#;

/// Curves of every kind of series.
pub fn measures() -> String {
    let of_links = [
        "link-utilisation",
        "queue-depth",
        "queue-delay",
        "arrival-rate",
        "drops",
        "pauses",
        "pause-time",
        "pause-victims",
    ];
    let of_links = of_links
        .map(|series| format!("[[measure]]\nseries = \"{series}\"\nevery = \"3us\"\nlinks = \"all\"\n"));
    let of_switches = ["program-buffer", "table-entries"].map(|series| {
        format!("[[measure]]\nseries = \"{series}\"\nevery = \"7us\"\nswitches = \"tor:100%\"\n")
    });
    let of_flows = "[[measure]]\nseries = \"flow-throughput\"\nevery = \"5us\"\nqps = \"all\"\n";
    let of_acks = ["sender-rtt", "sender-ecn"]
        .map(|series| format!("[[measure]]\nseries = \"{series}\"\nqps = \"all\"\n"));
    [of_links.concat(), of_switches.concat(), of_flows.to_owned(), of_acks.concat()].concat()
}

/// The outcome of a run: its results, which are partial if it failed, and the text of its error.
pub struct Came {
    pub result: Option<RunResult>,
    pub error: Option<String>,
}

pub fn came_of(point: &RunPoint, threads: usize) -> Came {
    came_under(point, &Control { threads, ..Control::default() })
}

fn came_under(point: &RunPoint, control: &Control) -> Came {
    match anabranch_sim::run(point, control) {
        Ok(result) => Came { result: Some(result), error: None },
        Err(error) => {
            let error_text = Some(error.to_string());
            let result = match error {
                RunError::Stalled { partial, .. }
                | RunError::Deadlock { partial, .. }
                | RunError::Limit { partial, .. } => Some(*partial),
                _ => None,
            };
            Came { result, error: error_text }
        }
    }
}

impl Came {
    pub fn assert_is(&self, other: &Came, what: &str) {
        assert_eq!(self.error, other.error, "{what}");
        let (Some(one), Some(other)) = (&self.result, &other.result) else {
            return assert!(self.result.is_none() && other.result.is_none(), "{what}");
        };
        assert_eq!(one.run, other.run, "{what}");
        let differs = one.flows.iter().zip(&other.flows).find(|(one, other)| one != other);
        assert_eq!((differs, one.flows.len()), (None, other.flows.len()), "{what}");
        assert_eq!(one.jobs, other.jobs, "{what}");
        let differs = one.series.iter().zip(&other.series).find(|(one, other)| one != other);
        assert_eq!((differs, one.series.len()), (None, other.series.len()), "{what}");
        assert_eq!(one.run.digest, other.run.digest, "{what}");
    }
}

/// Totals over all runs of a comparison, by which tests check that losses, pauses and other events occurred.
#[derive(Debug, Default)]
struct Seen {
    runs: usize,
    points: usize,
    link_losses: u64,
    drops: u64,
    trims: u64,
    pauses: u64,
    timeouts: u64,
    curves: BTreeSet<String>,
}

/// Runs a scenario with every scheme on 1, 2, 3 and 8 threads. In these runs, ports of a switch that share nothing are
/// processed separately. The results are compared with a run in which all events of each switch are processed in their
/// full order. `settings` gives the settings for the name of a scheme.
fn compare(text: &str, files: &Named<'_>, settings: impl Fn(&str) -> String) -> Seen {
    let mut seen = Seen::default();
    for scheme in schemes() {
        let name = scheme.name;
        let text = format!("schemes = [\"{name}\"]\nsetup = \"{}\"\n{text}\n{}", paper(name), settings(name));
        let scenario = read(&text, files);
        scenario.check().unwrap_or_else(|e| panic!("{e}\n{text}"));
        for point in scenario.points().unwrap() {
            let alone = came_under(&point, &Control { merge_ports: true, ..Control::default() });
            assert_eq!(alone.error, None, "{name}\n{text}");
            for threads in [1, 2, 3, 8] {
                came_of(&point, threads).assert_is(&alone, &format!("{name}, {threads} threads\n{text}"));
            }
            let result = alone.result.unwrap();
            seen.runs += 1;
            seen.points += result.series.len();
            seen.link_losses += result.run.link_losses;
            seen.drops += result.run.drops;
            seen.trims += result.run.trims;
            seen.pauses += result.run.pause_frames;
            seen.timeouts += result.run.timeouts;
            let moved = result.series.iter().filter(|row| row.value != 0.0);
            seen.curves.extend(moved.map(|row| row.series.clone()));
        }
    }
    println!("{seen:?}");
    seen
}

/// Settings with short timeouts, so that runs with losses end early.
pub fn short_timeouts(name: &str) -> String {
    let low = match name.starts_with("irn") {
        true => format!("\"{name}.transport.rto_low\" = \"60us\"\n"),
        false => String::new(),
    };
    format!("\"{name}.transport.rto\" = \"120us\"\n{low}")
}

/// Settings that run programs for the edges of data centres at every ToR, because a fabric with one data centre has no
/// such edges.
pub fn program_at_tors(name: &str) -> String {
    match name {
        "themis-longhaul" | "pnp-only" | "trp-only" | "bicc" => {
            format!("\"{name}.fabric.program_at\" = \"tor:100%\"\n")
        }
        _ => String::new(),
    }
}

/// Settings with less buffer than the incast or permutation needs, so that schemes pause, drop or trim.
pub fn tight(name: &str) -> String {
    let scheme = anabranch_sim::scenario::scheme_on(name, paper(name)).unwrap();
    match scheme.fabric.pfc {
        Some(_) => format!(
            "\"{name}.fabric.pfc\" = {{ buffer = \"60KB\", headroom_apart = true, alpha = 0.5, resume = \"1packets\" }}\n"
        ),
        None => format!("\"{name}.fabric.queue\" = \"40KB\"\n"),
    }
}

#[test]
fn faults_of_every_kind() {
    let workload = "[workload]\nkind = \"permutation\"\nbytes = \"60KB\"\n";
    let text = format!("{LEAF_SPINE}{workload}{FAULTS}{}", measures());
    let settings = |name: &str| {
        // Routing reacts to faults under the schemes whose names have an even length.
        let delay = if name.len().is_multiple_of(2) {
            format!("\"{name}.fabric.routing_delay\" = \"5us\"\n")
        } else {
            String::new()
        };
        format!("[set]\n{delay}{}{}{}", program_at_tors(name), tight(name), short_timeouts(name))
    };
    let seen = compare(&text, &[], settings);
    assert!(seen.link_losses > 500 && seen.timeouts > 50 && seen.drops > 50, "{seen:?}");
}

#[test]
fn an_incast_that_pauses_or_drops() {
    let narrow = LEAF_SPINE.replace("switch_latency", "oversubscription = 2\nswitch_latency");
    let text = format!("{narrow}[workload]\nfile = \"incast.cm\"\n{}", measures());
    // Host 6 is on the same ToR as the target and has a free link, but packets to host 6 wait behind the others.
    let flows = (0..16).filter(|src| src / 4 != 1).flat_map(|src| [(src, 5, 25_000), (src, 6, 3_000)]);
    let lines: String =
        flows.map(|(src, dst, bytes)| format!("{src}->{dst} start 0 size {bytes}\n")).collect();
    let files = [("incast.cm", &*format!("Nodes 16\nConnections 24\n{lines}"))];
    let settings =
        |name: &str| format!("[set]\n{}{}{}", program_at_tors(name), tight(name), short_timeouts(name));
    let seen = compare(&text, &files, settings);
    assert!(seen.pauses > 100 && seen.drops > 100 && seen.trims > 100, "{seen:?}");
    for curve in ["pauses", "pause_victims", "pause_time_us", "queue_delay_us", "sender_ecn", "drops"] {
        assert!(seen.curves.contains(curve), "no {curve} in {:?}", seen.curves);
    }
}

/// Chains of messages over all four ToRs. The delivery or the acknowledgement of a message starts messages at other
/// hosts. Some messages wait for several others. Several messages share a queue pair.
const CHAINS: &str = "\
Nodes 16
Connections 16
Triggers 6
0->4 id 1 start 0 size 20000 recv_done_trigger 1
4->8 id 2 trigger 1 size 9000 send_done_trigger 2
8->12 id 3 trigger 2 size 15000 recv_done_trigger 3
1->5 id 4 start 1000000 size 30000 send_done_trigger 3
12->0 id 5 trigger 3 size 7000 recv_done_trigger 4
9->13 id 6 start 0 size 100 recv_done_trigger 4
2->6 id 7 start 2000000 size 5000 send_done_trigger 4
6->10 id 8 trigger 4 size 11000 recv_done_trigger 5
14->3 id 9 trigger 4 size 12000 recv_done_trigger 5
3->15 id 10 trigger 4 size 1 send_done_trigger 5
11->7 id 11 trigger 5 size 18000
7->11 id 12 start 0 size 40000
7->11 id 12 start 500000 size 3000 msg
7->11 id 12 trigger 6 size 25000 msg
0->4 id 1 start 0 size 60000 msg recv_done_trigger 6
5->1 id 13 start 3000000 size 8000
trigger id 1 oneshot
trigger id 2 oneshot
trigger id 3 barrier count 2
trigger id 4 multishot
trigger id 5 barrier count 3
trigger id 6 oneshot
";

#[test]
fn chains_of_triggers_over_hosts_and_split_queue_pairs() {
    let text = format!("{LEAF_SPINE}[workload]\nfile = \"chains.cm\"\n{}", measures());
    let settings = |name: &str| format!("[set]\n\"{name}.qps\" = 3\n{}", program_at_tors(name));
    compare(&text, &[("chains.cm", CHAINS)], settings);
    compare(&text, &[("chains.cm", CHAINS)], |name| {
        format!("[set]\n{}{}", program_at_tors(name), tight(name))
    });
}

#[test]
fn collectives() {
    for (algorithm, bytes) in
        [("allreduce-ring", "64KB"), ("allreduce-double-binary-tree", "48KB"), ("alltoall", "96KB")]
    {
        let workload = format!(
            "[workload]\nkind = \"collective\"\nalgorithm = \"{algorithm}\"\nbytes = \"{bytes}\"\nranks = 8\njobs = 2\nplacement = \"random\"\n"
        );
        let chunk = if algorithm == "alltoall" { "connections = 3\n" } else { "chunk = \"6KB\"\n" };
        let utilisation =
            "[[measure]]\nseries = \"link-utilisation\"\nevery = \"2us\"\nlinks = \"tor-uplinks\"\n";
        compare(&format!("{LEAF_SPINE}{workload}{chunk}{utilisation}"), &[], |name| {
            format!("[set]\n{}", program_at_tors(name))
        });
    }
}

#[test]
fn data_centres_far_apart() {
    let workload = "[workload]\nkind = \"messages\"\n".to_owned()
        + &[(0, 8, 0), (1, 9, 1), (2, 9, 0), (3, 9, 2), (9, 2, 0), (12, 4, 150), (5, 1, 3), (10, 9, 0)]
            .map(|(from, to, start)| {
                format!("[[workload.message]]\nfrom = {from}\nto = {to}\nbytes = \"80KB\"\nstart = \"{start}us\"\n")
            })
            .concat();
    let faults = "[[fault]]\nkind = \"packet-loss\"\nlinks = \"esw:0/up:0\"\nprobability = 0.01\nduration = \"200us\"\n\
                  [[fault]]\nkind = \"link-down\"\nlinks = \"esw:1/up:0\"\nat = \"500us\"\nduration = \"20us\"\n";
    let measures = measures().replace("3us", "50us").replace("7us", "50us").replace("5us", "50us");
    let esw = measures.replace("tor:100%", "esw:100%");
    let text = format!("{CROSS_DC}{workload}{faults}{esw}[limits]\nstall = \"100ms\"\n");
    let settings = |name: &str| {
        let scheme = anabranch_sim::scenario::scheme_on(name, paper(name)).unwrap();
        let apart = match scheme.fabric.pfc {
            Some(pfc) if !pfc.headroom_apart => format!("\"{name}.fabric.pfc.headroom_apart\" = true\n"),
            _ => String::new(),
        };
        // The timeout must exceed the round trip, but the default is meant for a single data centre.
        let rto = if scheme.transport.rto().to_string().ends_with("us") {
            format!("\"{name}.transport.rto\" = \"2ms\"\n")
        } else {
            String::new()
        };
        format!("[set]\n{apart}{rto}")
    };
    let seen = compare(&text, &[], settings);
    assert!(seen.link_losses > 30, "{seen:?}");
}

#[test]
fn a_run_of_few_bytes_has_one_thread() {
    let threads = |bytes: &str| {
        let text = format!(
            "schemes = [\"reps\"]\nseeds = [1]\n[topology]\nkind = \"fat-tree\"\nhosts = 256\ntiers = 2\nlink = \"400Gbps\"\n\
             [workload]\nkind = \"permutation\"\nbytes = \"{bytes}\"\n"
        );
        anabranch_sim::threads_of(&points(&text, &[])[0], 4, 1)
    };
    assert_eq!([threads("64KiB"), threads("255KiB"), threads("256KiB"), threads("8MiB")], [1, 1, 4, 4]);
    let class = "1KiB\"\n[[class]]\nname = \"storage\"\nscheme = \"ecmp\"\nworkload = { kind = \"permutation\", bytes = \"8MiB\" }\n\
                 # \"";
    assert_eq!(threads(class), 4, "the bytes of all classes count");
}
