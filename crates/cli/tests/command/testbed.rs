//! Tests of `testbed` and `replay`. A test with network namespaces needs privileges. Without these, the test is skipped
//! with a message.

use crate::common::{Ended, Place};
use std::fs;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

const SCENARIO: &str = r#"schemes = ["reps", "dcp"]
seeds = [1]
topology = { kind = "fat-tree", hosts = 4, hosts_per_tor = 2, link = "100Gbps" }
workload = { kind = "permutation", bytes = "256KiB" }
"#;

/// The tests run their testbeds one after the other, because they look for namespaces and processes that are left
/// behind.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Locks the testbeds for a test with network namespaces. Without the privileges for them, the result is `None` and
/// the reason is printed.
fn privileged(place: &Place) -> Option<MutexGuard<'static, ()>> {
    let lock = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let check = place.run(&["testbed", "--check"]);
    if check.code == Some(0) {
        return Some(lock);
    }
    eprintln!("SKIPPED: no network namespaces here:\n{}{}", check.stdout, check.stderr);
    None
}

fn namespaces() -> Vec<String> {
    let entries = fs::read_dir("/run/netns").into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("anabranch-")).collect()
}

/// The namespaces of processes that have ended. Other namespaces belong to testbeds that are still running.
fn left_behind() -> Vec<String> {
    let mut names = namespaces();
    names.retain(|name| !is_running(name.split('-').nth(1).unwrap().parse().unwrap()));
    names
}

fn namespaces_of(child: &Child) -> Vec<String> {
    let prefix = format!("anabranch-{}-", child.id());
    namespaces().into_iter().filter(|name| name.starts_with(&prefix)).collect()
}

fn children_of(pid: u32) -> Vec<u32> {
    let list = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    list.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

fn is_running(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.trim_start().starts_with('Z'))
}

#[expect(clippy::disallowed_methods, reason = "processes are waited for in real time")]
fn now() -> Instant {
    Instant::now()
}

fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let begin = now();
    while !holds() {
        assert!(begin.elapsed() < Duration::from_secs(20), "waited for long: {what}");
        sleep(Duration::from_millis(20));
    }
}

fn begin_long(place: &Place) -> Child {
    place.write("s.toml", SCENARIO);
    let mut command = place.command(&["testbed", "s.toml", "--scheme", "reps", "--dilation", "2000000"]);
    command.process_group(0);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("the processes of the testbed", || children_of(child.id()).len() == 5);
    // The processes are now started, and the run begins within 200 ms.
    sleep(Duration::from_millis(200));
    child
}

fn signal(pid: u32, name: &str) {
    assert!(Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status().unwrap().success());
}

fn end(mut child: Child) -> Ended {
    let (mut stdout, mut stderr) = (String::new(), String::new());
    child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    Ended { code: child.wait().unwrap().code(), stdout, stderr }
}

#[test]
fn real_packets_between_namespaces_beside_the_simulation() {
    let place = Place::new();
    let Some(_lock) = privileged(&place) else { return };
    place.write("s.toml", SCENARIO);
    let ended = place.run(&["testbed", "s.toml", "--record", "record", "--json"]).expect(0);
    let document = ended.json();
    for run in document["runs"].as_array().unwrap() {
        assert_eq!(
            (&run["messages_checked"], &run["live"]["flows_finished"]),
            (&4.into(), &4.into()),
            "{run}"
        );
        let fct = |which: &str| run[which]["fct_mean_us"].as_f64().unwrap();
        let is_near = (0.8..1.25).contains(&(fct("live") / fct("simulated")));
        // On a machine that lets processes wait too long, the command reports the run as not valid. The times of such
        // a run may differ from those of the simulation.
        assert!(is_near || run["valid"] == false, "{run}");
        assert_eq!(run["live"]["drops"], run["simulated"]["drops"], "{run}");
    }
    assert_eq!(left_behind(), Vec::<String>::new(), "left behind after success");
    let replayed = place.run(&["replay", "record"]).expect(0).stdout;
    assert_eq!(replayed.matches("are those of the record").count(), 2, "{replayed}");
    // The replay must find the change in the record of a sent frame.
    let path = place.path().join("record/run-0001/process-1.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("\"tail\":\"", "\"tail\":\"0", 1)).unwrap();
    let failed = place.run(&["replay", "record"]).expect(1).stderr;
    assert!(failed.contains("process-1.jsonl:"), "{failed}");
}

#[test]
fn nothing_is_left_after_a_failure() {
    let place = Place::new();
    let Some(_lock) = privileged(&place) else { return };
    place.write("s.toml", SCENARIO);
    let ended = place
        .run(&["testbed", "s.toml", "--scheme", "reps", "--dilation", "2000000", "--limit", "1"])
        .expect(1);
    assert!(ended.stderr.contains("ended within the limit of 1 s; --limit"), "{}", ended.stderr);
    assert_eq!(left_behind(), Vec::<String>::new());
}

#[test]
fn nothing_is_left_after_ctrl_c() {
    let place = Place::new();
    let Some(_lock) = privileged(&place) else { return };
    let child = begin_long(&place);
    let processes = children_of(child.id());
    assert_eq!(namespaces_of(&child).len(), 4 + 4, "4 hosts, 2 ToRs and 2 spines");
    signal(child.id(), "INT");
    let ended = end(child).expect(130);
    assert!(ended.stderr.contains("interrupted; nothing is left behind"), "{}", ended.stderr);
    assert_eq!(left_behind(), Vec::<String>::new());
    assert!(!processes.into_iter().any(is_running));
}

/// More signals reach the process group while the first one is handled, as if Ctrl-C were pressed again.
#[test]
fn nothing_is_left_after_several_signals() {
    let place = Place::new();
    let Some(_lock) = privileged(&place) else { return };
    let mut child = begin_long(&place);
    let group = format!("-{}", child.id());
    let mut signals = ["TERM", "INT"].into_iter().cycle();
    while child.try_wait().unwrap().is_none() {
        let name = format!("-{}", signals.next().unwrap());
        // The group may end at any moment.
        let _ = Command::new("kill").args([&name, "--", &group]).stderr(Stdio::null()).status().unwrap();
        sleep(Duration::from_millis(10));
    }
    let ended = end(child).expect(130);
    assert!(ended.stderr.contains("interrupted; nothing is left behind"), "{}", ended.stderr);
    assert_eq!(left_behind(), Vec::<String>::new());
}

/// Losses, reordering and a cut link affect the transfer of 4 MiB, or of the example's 1 GiB if the environment
/// variable `ANABRANCH_LONG` is set. Without privileges, pairs of sockets connect the nodes.
#[test]
fn every_transport_carries_all_bytes_under_losses_and_a_cut_link() {
    let place = Place::new();
    let lock = privileged(&place);
    let example = place.run(&["list", "examples", "gigabyte"]).expect(0).stdout;
    let (text, bytes) = match std::env::var_os("ANABRANCH_LONG") {
        Some(_) => (example, 256_u64 << 20),
        None => {
            let (at, duration) = (("at = \"2ms\"", "at = \"30us\""), ("= \"5ms\"", "= \"100us\""));
            let small = [("256MiB", "1MiB"), at, duration].iter().fold(example, |text, (from, to)| {
                assert_eq!(text.matches(from).count(), 1, "{from}");
                text.replace(from, to)
            });
            (small, 1 << 20)
        }
    };
    place.write("s.toml", text);
    let mut args = vec!["testbed", "s.toml", "--dilation", "1000", "--limit", "600", "--json"];
    if lock.is_none() {
        args.push("--sockets");
    }
    let ended = place.run(&args).expect(0);
    let document = ended.json();
    let runs = document["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 11, "{document}");
    for run in runs {
        assert_eq!(run["bytes_checked"], 4 * bytes, "{run}");
        assert!(run["live"]["link_losses"].as_u64().unwrap() > 0, "{run}");
    }
}

#[test]
fn finished_runs_are_printed_whatever_becomes_of_the_others() {
    let place = Place::new();
    let _lock = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let sweep = "[sweep]\n\"workload.bytes\" = [\"16KiB\", \"64MiB\"]\n";
    place.write("s.toml", format!("{SCENARIO}{sweep}"));
    let args = ["testbed", "s.toml", "--scheme", "reps", "--sockets", "--dilation", "20000", "--limit", "3"];
    let ended = place.run(&args).expect(1);
    assert!(
        ended.stdout.contains("On real packets, 20000 times slower")
            && ended.stdout.contains("all 4 messages"),
        "{}",
        ended.stdout
    );
    let (_, page) = ended.stdout.rsplit_once("report: ").expect("a page");
    let folder = page.trim_end().strip_suffix("/report.html").unwrap();
    assert!(folder.contains("-live-") && folder.ends_with("-partial"), "{folder}");
    let html = fs::read_to_string(place.path().join(page.trim_end())).unwrap();
    for part in ["<span class=\"chip\">real packets</span>", "Beside the simulation", "mean FCT", "64MiB"] {
        assert!(html.contains(part), "{part}");
    }
    let again = place.run(&["report", folder]).expect(0).stdout;
    assert!(again.contains("On real packets, 20000 times slower"), "{again}");
    assert!(ended.stderr.contains("ended within the limit of 3 s; --limit"), "{}", ended.stderr);
    assert!(ended.stderr.contains("error: 1 of 2 runs failed"), "{}", ended.stderr);
    let long = [&args[..8], &["60", "--json", "--record", "record"]].concat();
    let child = place.command(&long).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("the second run", || place.path().join("record/run-0001/process-4.jsonl").exists());
    sleep(Duration::from_millis(200));
    signal(child.id(), "INT");
    let ended = end(child).expect(130);
    let document = ended.json();
    assert_eq!(document["runs"].as_array().unwrap().len(), 1, "{document}");
    assert_eq!(document["runs"][0]["bytes_checked"], 4 * 16384, "{document}");
    assert!(ended.stderr.contains("1 of 2 runs had finished"), "{}", ended.stderr);
    // The files of the run that Ctrl-C ended may be cut off at any byte.
    let replayed = place.run(&["replay", "record"]).expect(1);
    assert_eq!(replayed.stdout.matches("are those of the record").count(), 2, "{}", replayed.stdout);
    assert!(replayed.stderr.contains("is cut off, because the run was ended early"), "{}", replayed.stderr);
    assert_eq!(
        replayed.stderr.lines().filter(|line| line.starts_with("error:")).count(),
        1,
        "{}",
        replayed.stderr
    );
}

#[test]
fn the_next_start_removes_what_a_killed_testbed_left() {
    let place = Place::new();
    let Some(_lock) = privileged(&place) else { return };
    let mut child = begin_long(&place);
    let processes = children_of(child.id());
    signal(child.id(), "KILL");
    child.wait().unwrap();
    assert_eq!(namespaces_of(&child).len(), 8, "nobody could remove them");
    wait_until("the processes die with their parent", || !processes.iter().any(|pid| is_running(*pid)));
    let ended = place.run(&["testbed", "s.toml", "--scheme", "reps"]).expect(0);
    assert!(
        ended.stderr.contains("removed 8 network namespaces of a testbed that was killed"),
        "{}",
        ended.stderr
    );
    assert_eq!(left_behind(), Vec::<String>::new());
}

#[test]
fn a_killed_host_is_an_error_within_seconds() {
    let place = Place::new();
    let Some(_lock) = privileged(&place) else { return };
    let child = begin_long(&place);
    let host = children_of(child.id())[1];
    let begin = now();
    signal(host, "KILL");
    let ended = end(child).expect(1);
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    let text = format!("the process of host:1 (pid {host}) was killed by SIGKILL");
    assert!(ended.stderr.contains(&text), "{}", ended.stderr);
    assert_eq!(left_behind(), Vec::<String>::new());
}

#[test]
fn a_record_that_was_changed_is_reported_with_what_differs_or_is_missing() {
    let place = Place::new();
    let _lock = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    place.write("s.toml", SCENARIO);
    place.run(&["testbed", "s.toml", "--sockets", "--dilation", "20000", "--record", "record"]).expect(0);
    let scenario = place.path().join("record/scenario.toml");
    let text = fs::read_to_string(&scenario).unwrap();
    assert_eq!(text.matches("256KiB").count(), 1, "{text}");
    fs::write(&scenario, text.replace("256KiB", "2MiB")).unwrap();
    let failed = place.run(&["replay", "record"]).expect(1).stderr;
    let shown = |name: &str| failed.lines().find_map(|line| line.trim().strip_prefix(name)).unwrap();
    assert_ne!(shown("recorded: "), shown("replayed: "), "{failed}");
    fs::write(&scenario, text).unwrap();
    let process = place.path().join("record/run-0001/process-1.jsonl");
    fs::rename(&process, place.path().join("aside")).unwrap();
    let failed = place.run(&["replay", "record"]).expect(1).stderr;
    assert!(
        failed.contains("process-1.jsonl: cannot be read: no such file or folder\n  help: record"),
        "{failed}"
    );
    fs::remove_dir_all(place.path().join("record/run-0001")).unwrap();
    let ended = place.run(&["replay", "record"]).expect(1);
    assert!(ended.stdout.contains("reps, seed 1: 5 processes"), "{}", ended.stdout);
    assert!(ended.stderr.contains("the record has no run-0001 (dcp, seed 1)"), "{}", ended.stderr);
}

#[test]
fn what_a_testbed_cannot_do_is_said_with_a_way_out() {
    let place = Place::new();
    place.write("s.toml", SCENARIO);
    let fast = place.run(&["testbed", "s.toml", "--dilation", "10", "--sockets"]).expect(2).stderr;
    let hint = fast.split("--dilation ").nth(1).unwrap().split(' ').next().unwrap().to_owned();
    assert!(fast.contains("at a dilation of 10 the run sends"), "{fast}");
    place.run(&["testbed", "s.toml", "--dilation", &hint, "--sockets", "--scheme", "dcp"]).expect(0);
    place.write(
        "large.toml",
        SCENARIO.replace("hosts = 4, hosts_per_tor = 2", "hosts = 64, hosts_per_tor = 8"),
    );
    let large = place.run(&["testbed", "large.toml", "--sockets"]).expect(2).stderr;
    assert!(large.starts_with("error: large.toml:3:33: reps, seed 1: the fabric has 64 hosts"), "{large}");
    assert!(large.contains("64 hosts") && large.contains("`hosts = 8` in [topology]"), "{large}");
    place.write("hpcc.toml", SCENARIO.replace("\"dcp\"", "\"hpcc\""));
    place.write("file", "no folder");
    let no_folder = ["testbed", "s.toml", "--dilation", "100000000", "--sockets", "--out", "file"];
    let refused = place.run(&no_folder).expect(2).stderr;
    assert!(
        refused.contains("results cannot be written there") && !refused.contains("dilation"),
        "{refused}"
    );
    let hpcc = place.run(&["testbed", "hpcc.toml", "--sockets"]).expect(2).stderr;
    assert!(hpcc.starts_with("error: hpcc.toml:1:20: hpcc, seed 1: the congestion control reads"), "{hpcc}");
    let hpcc = place.run(&["testbed", "s.toml", "--scheme", "dcp,hpcc", "--sockets"]).expect(2).stderr;
    assert!(hpcc.contains("telemetry of switches (INT)"), "{hpcc}");
    assert!(!hpcc.contains("dilation"), "nothing has run before: {hpcc}");
    let none = place.run(&["replay", "nowhere"]).expect(2).stderr;
    assert!(none.contains("is no record") && none.contains("testbed SCENARIO --record DIR"), "{none}");
    place.run(&["testbed"]).expect(2);
    for (option, value, part) in [
        ("--dilation", "1e5", "a whole number from 1 to 100000000, such as 100000\n"),
        ("--dilation", "10us", "a whole number from 1 to 100000000, such as 100000\n"),
        ("--limit", "10s", "a whole number of seconds from 1 to 86400, such as 10\n"),
        ("--hosts", "8", "in place of '--hosts' write 'hosts below [topology] in the scenario'"),
    ] {
        let refused = place.run(&["testbed", "s.toml", option, value]).expect(2).stderr;
        assert!(refused.contains(part), "{refused}");
    }
    place.write("key.toml", format!("dilation = 100000\n{SCENARIO}"));
    let refused = place.run(&["testbed", "key.toml"]).expect(2).stderr;
    assert!(
        refused.contains("leave the line out; it is an option: anabranch testbed SCENARIO --dilation 100000"),
        "{refused}"
    );
}

/// HPCC cannot run on real packets.
#[test]
fn a_figure_on_real_packets_beside_its_simulation() {
    let place = Place::new();
    let _lock = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let figure = SCENARIO.replace("\"dcp\"", "\"hpcc\"").replace("[1]", "[7, 8]");
    let head = "id = \"trial/fig-1\"\ntitle = \"A trial\"\nfigure = \"Figure 1\"\nassumptions = []\n";
    let measure = "kind = \"ratio\"\npaper = 1.0\nmeasure = \"fct_max(reps) / fct_max(hpcc)\"\n";
    let claim = format!("[[claim]]\nsays = \"as fast\"\nsource = \"nowhere\"\n{measure}");
    place.write("figures/trial/fig-1.toml", format!("{head}{figure}{claim}"));
    let base =
        ["reproduce", "trial/fig-1", "--figures-dir", "figures", "--out", "out", "--live", "--sockets"];
    let args = [&base[..], &["--dilation", "20000"]].concat();
    let text = place.run(&args).expect(0).stdout;
    for part in [
        "LIVE: real packets beside the simulation",
        "reps, seed 7",
        "all 4 messages (1048576 bytes)",
        "Not on real packets: hpcc, seed 7: the congestion control reads telemetry",
    ] {
        assert!(text.contains(part), "no {part:?} in:\n{text}");
    }
    assert!(!text.contains("reps, seed 8"), "only the first seed is run on real packets:\n{text}");
    let document = place.run(&[&args[..], &["--json"]].concat()).expect(0).json();
    let live = &document["figures"][0]["live"];
    assert_eq!(
        (&live["runs"][0]["bytes_checked"], live["failed"].as_array().map(Vec::len)),
        (&1_048_576.into(), Some(0)),
        "{live}"
    );
    place.run(&["reproduce", "trial", "--figures-dir", "figures", "--sockets"]).expect(2);
}
