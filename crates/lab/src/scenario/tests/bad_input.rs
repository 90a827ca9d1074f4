//! Bad scenarios with their error texts: the place, the problem, and what to write instead.

use crate::scenario::tests::bad_input_cases::CASES;
use crate::scenario::tests::bad_list_cases::LISTS;
use crate::scenario::tests::bad_sweep_cases::SWEEPS;
use crate::scenario::tests::{GOOD, folder, on};
use crate::scenario::*;

#[test]
fn every_fault_has_its_place_and_its_cure() {
    let mut wrong = String::new();
    for (from, to, expected) in CASES.iter().chain(LISTS).chain(SWEEPS) {
        assert!(GOOD.contains(from), "{from}");
        let text = GOOD.replacen(from, to, 1);
        let read = read("perm.toml", &on("reps-paper", &text), &folder(), &Overrides::default());
        let error = read.and_then(|scenario| scenario.check()).expect_err(&text).to_string();
        if error != *expected {
            wrong += &format!("{to}\n--- said\n{error}\n--- expected\n{expected}\n\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

fn said(text: &str, over: &Overrides) -> String {
    read("s.toml", text, &folder(), over).and_then(|s| s.check()).expect_err(text).to_string()
}

#[test]
fn the_command_line_is_checked_too() {
    let schemes = |names: &[&str]| Overrides {
        schemes: names.iter().map(|name| (*name).to_owned()).collect(),
        ..Overrides::default()
    };
    assert_eq!(
        said(GOOD, &schemes(&["rep"])),
        "s.toml: unknown scheme \"rep\" on the command line\n  write: --scheme reps"
    );
    assert_eq!(
        said(GOOD, &schemes(&["ops", "ops"])),
        "s.toml: scheme \"ops\" is given twice on the command line\n  write: --scheme ops once"
    );
    let seeds = |seeds: &[u64]| Overrides { seeds: seeds.to_vec(), ..Overrides::default() };
    assert_eq!(
        said(GOOD, &seeds(&[7, 7])),
        "s.toml: seed 7 is given twice on the command line\n  write: --seed 7 once"
    );
    assert_eq!(
        said(GOOD, &seeds(&[u64::MAX])),
        "s.toml: seed 18446744073709551615 on the command line is too large\n  write: --seed 0 to 9223372036854775807"
    );
}

/// Lines of [`GOOD`] and replacements that are not TOML, each with a part of the error text and with the hint.
#[test]
fn what_is_no_toml_is_answered_with_what_is() {
    for (from, to, part, help) in [
        ("hosts = 32", "hosts: 32", "", "hosts = 32"),
        ("hosts = 32", "hosts = 1,024", "", "hosts = 1024"),
        ("kind = \"fat-tree\"", "kind = fat-tree", "", "kind = \"fat-tree\""),
        ("hosts = 32", "hosts = 3%", "", "hosts = 0.03"),
        ("hosts = 32", "hosts = 32\nhosts = 64", "duplicate key \"hosts\", first in line 6", "it once"),
        ("hosts = 32", "tier = [\nhosts = 32", "the [ of line 6 is not closed", "a ] at its end"),
        ("seeds = [1, 2]", "seeds = [1, 2", "the [ of line 3 is not closed", "seeds = [1, 2]"),
    ] {
        assert!(GOOD.contains(from), "{from}");
        let said = said(&GOOD.replacen(from, to, 1), &Overrides::default());
        assert!(said.contains(part) && said.ends_with(&format!("\n  write: {help}")), "{said}");
    }
}

/// Values of a wrong form, each with the suggested value, which is valid, or with the list of valid values.
#[test]
fn a_value_is_offered_in_the_unit_and_the_words_of_its_parameter() {
    for (key, written, offered) in [
        ("*.fabric.nic_jitter", "100", "\"100ns\""),
        ("*.fabric.nic_jitter", "\"100\"", "\"100ns\""),
        ("*.fabric.timer_jitter", "10", "\"10us\""),
        ("*.transport.rto", "100", "\"100us\""),
        ("*.fabric.queue", "1.5", "\"1.5bdp\""),
        ("*.transport.payload", "4000", "\"4KB\""),
        ("*.transport.payload", "4000.0", "\"4KB\""),
        ("reps.lb.buffer", "16.0", "16"),
        ("reps.lb.buffer", "1.5", "2"),
        ("*.fabric.full_queue", "\"tail\"", "\"arriving\""),
        ("*.fabric.full_queue", "\"drop-tail\"", "\"arriving\""),
        ("*.fabric.full_queue", "\"taildrop\"", "\"arriving\""),
        ("*.fabric.full_queue", "\"youngest\"", "one of \"arriving\", \"coin\""),
    ] {
        let text = |value: &str| format!("{GOOD}[set]\n\"{key}\" = {value}\n");
        let said = said(&text(written), &Overrides::default());
        let (_, help) = said.split_once("\n  write: ").unwrap_or((&said, ""));
        if offered.starts_with("one of ") {
            assert!(help.ends_with(offered), "{said}");
            continue;
        }
        assert_eq!(help, format!("\"{key}\" = {offered}"), "{said}");
        let read = read("s.toml", &text(offered), &folder(), &Overrides::default()).and_then(|s| s.check());
        assert!(read.is_ok(), "{offered}: {read:?}");
    }
    for (key, written, offered) in [
        ("bytes", "1.5", "\"1.5MiB\""),
        ("bytes", "\"1.5\"", "\"1.5MiB\""),
        ("bytes", "1e6", "\"1000000B\""),
        ("bytes", "4096", "\"4096B\""),
        ("link", "0.5", "\"0.5Gbps\""),
        ("hosts", "32.0", "32"),
    ] {
        let line = |value: &str| format!("{key} = {value}");
        let good = GOOD.lines().find(|line| line.starts_with(&format!("{key} = "))).unwrap();
        let said = said(&GOOD.replacen(good, &line(written), 1), &Overrides::default());
        assert!(said.ends_with(&format!("\n  write: {}", line(offered))), "{said}");
        let text = GOOD.replacen(good, &line(offered), 1);
        let read = read("s.toml", &text, &folder(), &Overrides::default()).and_then(|s| s.check());
        assert!(read.is_ok(), "{offered}: {read:?}");
    }
}

/// Lines of `[set]` and of `[topology]` with an unknown name, each with the suggestion or its beginning.
const MISNAMED: &[(&str, &str, &str)] = &[
    ("set", r#""rocev2.transport.cnp_intervall" = "55us""#, r#""rocev2.transport.cnp_interval" = "55us""#),
    ("set", r#""rocev2.transport.cnp-interval" = "55us""#, r#""rocev2.transport.cnp_interval" = "55us""#),
    ("set", r#""rocev2.fabric.pfc.bufer" = "64MB""#, r#""rocev2.fabric.pfc.buffer" = "64MB""#),
    ("set", r#""rocev2.fabric.buffer_size" = "64MB""#, r#""rocev2.fabric.pfc.buffer" = "64MB""#),
    ("set", r#""reps.transport.timeout" = "90us""#, r#""reps.transport.rto" = "90us""#),
    // These names are similar to known names but have other meanings.
    (
        "set",
        r#""rocev2.transport.cnp_delay" = "55us""#,
        "\"rocev2.transport.cnp_interval\" (did you mean \"cnp_interval\"?)",
    ),
    ("set", r#""reps.cc.min_window" = "1bdp""#, "\"reps.cc.max_window\" (did you mean \"max_window\"?)"),
    ("set", r#""*.cc.min_window" = "1bdp""#, "\"*.cc.max_window\" (did you mean \"max_window\"?)"),
    ("set", r#""cnp_delay" = "55us""#, "\"*.transport.cnp_interval\" (did you mean \"cnp_interval\"?)"),
    // Most of these values are of another type or out of range.
    (
        "set",
        r#""rocev2.transport.cnp_intervall" = "55KB""#,
        "\"rocev2.transport.cnp_interval\" (did you mean \"cnp_interval\"?)",
    ),
    ("set", r#""reps.lb.bufer" = 77"#, "\"reps.lb.buffer\" (did you mean \"buffer\"?)"),
    ("topology", "lnk = \"400us\"", "link (did you mean \"link\"?)"),
    ("topology", "link_speed = \"1us\"", "link (did you mean \"link\"?)"),
    ("topology", "link_latncy = \"1us\"", "link_latency = \"1us\" (did you mean \"link_latency\"?)"),
    ("topology", "host_per_tor = \"8B\"", "hosts_per_tor (did you mean \"hosts_per_tor\"?)"),
    // No known name is similar.
    ("set", r#""rocev2.fabric.pfc.sentinel" = "400ms""#, "one of fabric.pfc.alpha, fabric.pfc."),
    ("set", r#""reps.fabric.pfc.sentinel" = "400ms""#, "one of fabric.pfc.buffer, fabric.pfc."),
    ("set", r#""reps.transport.zzz" = 1"#, "one of transport.ack, transport.ack_every, "),
    ("set", "zzz = 1", "its whole path, as in \"reps.lb.buffer\" = 16 or "),
];

#[test]
fn a_value_goes_over_to_the_nearest_name_only_where_it_is_meant_for_it() {
    let text = |table: &str, line: &str| {
        let scenario = "[workload]\nkind = \"permutation\"\nbytes = \"1MiB\"\n[topology]\nkind = \"fat-tree\"\n\
                        hosts = 32\nlink = \"400Gbps\"\n";
        let header = if table == "topology" { String::new() } else { format!("[{table}]\n") };
        let scenario = if line.starts_with("lnk") || line.starts_with("link_speed") {
            scenario.replace("link = ", "# ")
        } else {
            scenario.to_owned()
        };
        format!("schemes = [\"reps\", \"rocev2\"]\nseeds = [1]\n{scenario}{header}{line}\n")
    };
    let mut wrong = String::new();
    for (table, line, expected) in MISNAMED {
        let said = said(&text(table, line), &Overrides::default());
        let help = said.split_once("\n  write: ").map_or("", |(_, help)| help);
        let is_whole = expected.contains(" = ") && !expected.starts_with("its");
        if !(if is_whole { help == *expected } else { help.starts_with(expected) }) {
            wrong += &format!("{line}\n--- said\n{said}\n--- expected\n{expected}\n\n");
            continue;
        }
        if is_whole {
            let offered = expected.split(" (did you mean").next().unwrap();
            let followed = text(table, offered);
            let read = read("s.toml", &followed, &folder(), &Overrides::default()).and_then(|s| s.check());
            assert!(read.is_ok(), "{offered}: {read:?}");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// The numbers before `ps` in a text.
fn picoseconds(text: &str) -> Vec<u64> {
    let parts: Vec<&str> = text.split("ps").collect();
    let before = parts[..parts.len() - 1].iter().map(|before| {
        let digits = before.len() - before.trim_end_matches(|letter: char| letter.is_ascii_digit()).len();
        before[before.len() - digits..].parse().ok()
    });
    before.flatten().collect()
}

#[test]
fn no_message_has_a_time_in_many_picoseconds() {
    assert_eq!(picoseconds("106339040ps and 83ps, steps"), [106_339_040, 83]);
    assert!(picoseconds("65537 steps of 65536").is_empty());
    for (from, to, _) in CASES.iter().chain(LISTS).chain(SWEEPS) {
        let text = GOOD.replacen(from, to, 1);
        let read = read("perm.toml", &on("reps-paper", &text), &folder(), &Overrides::default());
        let error = read.and_then(|scenario| scenario.check()).expect_err(&text).to_string();
        assert!(picoseconds(&error).iter().all(|time| *time <= 10_000), "{error}");
    }
    // Warnings with computed times must not have many picoseconds either.
    let stalled = GOOD.replace("[workload]", "[limits]\nmax_time = \"1001ps\"\n[workload]");
    let examined = read("s.toml", &stalled, &folder(), &Overrides::default()).unwrap().examine().unwrap();
    let said: Vec<String> = examined.warnings.iter().map(ToString::to_string).collect();
    assert!(said.iter().any(|said| said.contains("max_time")), "{said:?}");
    assert!(said.iter().all(|said| picoseconds(said).iter().all(|time| *time <= 10_000)), "{said:?}");
}

#[test]
fn a_long_sweep_is_examined_at_once() {
    let error = |sizes: Vec<String>| {
        let text = format!("{GOOD}[sweep]\n\"workload.bytes\" = [{}]\n", sizes.join(", "));
        read("s.toml", &text, &folder(), &Overrides::default()).unwrap_err().message
    };
    let sizes = |count: u32| (1..=count).map(|size| format!("\"{size}KB\""));
    let twice = sizes(9_999).chain(["\"3000B\"".to_owned()]).collect();
    assert_eq!(error(twice), r#""workload.bytes" has one value twice, as "3KB" and as "3000B""#);
    assert_eq!(error(sizes(100_000).collect()), "the sweep has more than 10000 points");
}

#[test]
fn the_fix_of_an_odd_number_of_hosts_is_even() {
    let fix = |hosts: u32| {
        let dumbbell = format!("kind = \"dumbbell\"\nhosts = {hosts}");
        let text = GOOD.replace("kind = \"fat-tree\"\nhosts = 32", &dumbbell);
        read("s.toml", &text, &folder(), &Overrides::default()).unwrap_err().help()
    };
    assert_eq!(fix(5).as_deref(), Some("hosts = 6"));
    assert_eq!(fix(u32::MAX).as_deref(), Some("hosts = 4294967294"));
}

#[test]
fn a_fault_in_a_named_file_has_its_place_there() {
    let topology = "kind = \"fat-tree\"\nhosts = 32\nlink = \"400Gbps\"";
    let text = GOOD.replace(topology, "file = \"broken.topo\"");
    let error = read("s.toml", &text, &folder(), &Overrides::default()).unwrap_err();
    assert_eq!((error.span.file.as_str(), error.span.line), ("broken.topo", Some(3)), "{error}");
    assert!(error.to_string().to_lowercase().contains("podsize"), "{error}");
}

#[test]
fn a_figure_says_what_is_wrong_with_it() {
    let said = |text: &str| read_figure("f.toml", text, Scale::Quick, &folder()).expect_err(text).to_string();
    let head = "id = \"reps/fig-1\"\ntitle = \"t\"\n";
    assert_eq!(said("title = \"t\"\n"), "f.toml: the scenario has no \"id\"\n  write: id = \"reps/fig-2\"");
    assert_eq!(
        said(&format!("{head}[plt]\nkind = \"cdf\"\n")),
        "f.toml:3:2: unknown key \"plt\"\n  write: [plot] (did you mean \"plot\"?)"
    );
    assert_eq!(
        said(&format!("{head}[quick]\nseds = [1]\n")),
        "f.toml:4:1: unknown key \"seds\" in [quick]\n  write: seeds (did you mean \"seeds\"?)"
    );
    let claim = "[[claim]]\nsays = \"s\"\nsource = \"s\"\nmeasure = \"m\"\n";
    assert_eq!(
        said(&format!("{head}{claim}kind = \"range\"\npaper = [2, 1]\n")),
        "f.toml:8:1: a range has a smallest and a largest number above 0\n  write: paper = [1.1, 1.4]"
    );
    assert_eq!(
        said(&format!("{head}{claim}kind = \"ration\"\npaper = 2\n")),
        "f.toml:7:1: unknown kind \"ration\"\n  write: kind = \"ratio\""
    );
    assert_eq!(
        said(&format!("{head}{claim}kind = \"order\"\npaper = [\"reps\"]\n")),
        "f.toml:8:1: an order has two names or more, the smallest first\n  write: paper = [\"reps\", \"ops\"]"
    );
    assert_eq!(
        said(&format!("{head}{claim}kind = \"zero\"\nwhy = \"a\"\nfound = \"b\"\n")),
        "f.toml:9:1: why and found are two names for the same\n  write: why = \"...\", and no found"
    );
    assert_eq!(
        said(&format!(
            "{head}[model]\nkind = \"balls-into-bins\"\nports = [8]\nrounds = 0\nvariants = [\"ops\"]\n"
        )),
        "f.toml:6:1: rounds must be 1 or more, not 0\n  write: rounds = 1"
    );
}
