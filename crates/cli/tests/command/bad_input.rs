//! Tests of bad input on the command line: exit code 2, an error message with the place or a correction, and no file
//! written.

use crate::common::{Place, SMALL, edited};

struct Case {
    name: &'static str,
    files: Vec<(&'static str, Vec<u8>)>,
    args: Vec<&'static str>,
    says: &'static [&'static str],
}

fn scenario(name: &'static str, text: String, says: &'static [&'static str]) -> Case {
    Case { name, files: vec![("s.toml", text.into_bytes())], args: vec!["run", "s.toml"], says }
}

#[track_caller]
fn edit(name: &'static str, from: &str, to: &str, says: &'static [&'static str]) -> Case {
    scenario(name, edited(from, to), says)
}

fn more(name: &'static str, lines: &str, says: &'static [&'static str]) -> Case {
    scenario(name, format!("{SMALL}{lines}\n"), says)
}

fn with_file(
    name: &'static str,
    table: &str,
    keys: &str,
    file: (&'static str, &str),
    says: &'static [&'static str],
) -> Case {
    let at = SMALL.find(&format!("[{table}]")).unwrap();
    let after = SMALL[at..].find("\n\n").map_or(SMALL.len(), |end| at + end + 1);
    let text = format!("{}[{table}]\n{keys}\n{}", &SMALL[..at], &SMALL[after..]);
    Case {
        name,
        files: vec![("s.toml", text.into_bytes()), (file.0, file.1.as_bytes().to_vec())],
        args: vec!["run", "s.toml"],
        says,
    }
}

fn typed(name: &'static str, args: &[&'static str], says: &'static [&'static str]) -> Case {
    Case { name, files: vec![("s.toml", SMALL.into())], args: args.to_vec(), says }
}

fn figure(name: &'static str, args: &[&'static str], says: &'static [&'static str]) -> Case {
    let text = format!("id = \"trial/fig-1\"\n{SMALL}");
    let args = args.iter().copied().chain(["--figures-dir", "figures"]).collect();
    Case { name, files: vec![("figures/trial/fig-1.toml", text.into_bytes())], args, says }
}

fn cm(name: &'static str, text: &str, says: &'static [&'static str]) -> Case {
    with_file(name, "workload", "kind = \"cm\"\nfile = \"x.cm\"\nstart_unit = \"1ps\"", ("x.cm", text), says)
}

fn topo(name: &'static str, text: &str, says: &'static [&'static str]) -> Case {
    with_file(name, "topology", "file = \"x.topo\"", ("x.topo", text), says)
}

fn graph(name: &'static str, text: &str, says: &'static [&'static str]) -> Case {
    with_file(name, "topology", "kind = \"graph\"\nfile = \"g.txt\"", ("g.txt", text), says)
}

fn ns3_flows(name: &'static str, text: &str, says: &'static [&'static str]) -> Case {
    with_file(name, "workload", "kind = \"ns3-flows\"\nfile = \"f.txt\"", ("f.txt", text), says)
}

const TOPO: &str = "Nodes 16\nTiers 2\nPodsize 16\n\nTier 0\nDownlink_speed_Gbps 400\nRadix_Down 4\nRadix_Up 4\n\
     Downlink_Latency_ns 1000\nSwitch_Latency_ns 0\n\nTier 1\nDownlink_speed_Gbps 400\nRadix_Down 4\n\
     Downlink_Latency_ns 1000\nSwitch_Latency_ns 0\n";

fn scenario_keys() -> Vec<Case> {
    vec![
        edit("unknown key", "link =", "lnk =", &["s.toml:9:1", "\"lnk\"", "link"]),
        edit("unknown table", "[workload]", "[workloads]", &["s.toml:11", "workloads", "workload"]),
        edit(
            "missing table",
            "[workload]\nkind = \"permutation\"\nbytes = \"100KB\"\n",
            "",
            &["s.toml", "workload"],
        ),
        edit("missing key", "bytes = \"100KB\"", "", &["s.toml:11", "bytes"]),
        edit("not TOML", "hosts = 16", "hosts = = 16", &["s.toml:7"]),
        edit("a key twice", "tiers = 2", "tiers = 2\ntiers = 3", &["s.toml:9", "duplicate key"]),
        edit("text for a number", "hosts = 16", "hosts = \"many\"", &["s.toml:7", "hosts"]),
        edit("unknown topology", "fat-tree", "fat-treee", &["s.toml:6", "fat-treee", "fat-tree"]),
        edit("unknown workload", "permutation", "permuation", &["s.toml:12", "permuation", "permutation"]),
        edit("unknown scheme", "\"ops\"", "\"opps\"", &["s.toml:2", "opps", "ops"]),
        edit("no schemes", "[\"reps\", \"ops\"]", "[]", &["s.toml:2", "schemes"]),
        edit("a scheme twice", "\"ops\"", "\"reps\"", &["s.toml:2", "reps"]),
        edit("a negative seed", "seeds = [1]", "seeds = [-1]", &["s.toml:3", "-1"]),
        edit("no seeds", "seeds = [1]", "seeds = []", &["s.toml:3", "seeds"]),
    ]
}

fn quantities() -> Vec<Case> {
    vec![
        edit(
            "too long for PSNs",
            "\"100KB\"",
            "\"20TB\"",
            &["s.toml:13", "20TB", "packets", "bytes = \"17591GB\""],
        ),
        edit("wrong unit of a rate", "400Gbps", "400GBps", &["s.toml:9", "400GBps", "400Gbps"]),
        edit("no unit", "\"400Gbps\"", "400", &["s.toml:9", "in quotes", "400Gbps"]),
        edit("wrong unit of a size", "100KB", "100KBits", &["s.toml:13", "100KBits", "KiB"]),
        edit("negative size", "100KB", "-100KB", &["s.toml:13", "negative"]),
        edit("zero size", "100KB", "0B", &["s.toml:13", "bytes"]),
        edit("size out of range", "100KB", "99999999TiB", &["s.toml:13", "too large"]),
        edit("rate 0", "400Gbps", "0Gbps", &["s.toml:9", "link"]),
        edit("no hosts", "hosts = 16", "hosts = 0", &["s.toml:7", "hosts"]),
        edit("negative hosts", "hosts = 16", "hosts = -16", &["s.toml:7", "hosts"]),
        edit("too many hosts", "hosts = 16", "hosts = 4000000000", &["s.toml:7", "hosts"]),
        edit("hosts that fit no tree", "hosts = 16", "hosts = 17", &["s.toml:7", "17"]),
        edit("five tiers", "tiers = 2", "tiers = 5", &["s.toml:8", "tiers"]),
        edit(
            "finer than a picosecond",
            "tiers = 2",
            "tiers = 2\nlink_latency = \"0.5ps\"",
            &["s.toml:9", "0.5ps"],
        ),
    ]
}

fn workloads_and_faults() -> Vec<Case> {
    let incast = "kind = \"incast\"\nbytes = \"1KB\"\ndegree = 4";
    let swap = |with: &str| edited("kind = \"permutation\"\nbytes = \"100KB\"", with);
    vec![
        scenario(
            "incast target out of range",
            swap(&format!("{incast}\ntarget = 16")),
            &["s.toml:15", "16", "15"],
        ),
        scenario(
            "incast of too many",
            swap("kind = \"incast\"\nbytes = \"1KB\"\ndegree = 16"),
            &["s.toml:14", "degree"],
        ),
        scenario(
            "load 0",
            swap("kind = \"poisson\"\nsizes = \"websearch\"\nload = 0.0\nduration = \"1ms\""),
            &["s.toml:14", "load"],
        ),
        scenario(
            "unknown distribution",
            swap("kind = \"poisson\"\nsizes = \"websaerch\"\nload = 0.5\nduration = \"1ms\""),
            &["s.toml:13", "websaerch", "websearch"],
        ),
        more(
            "fault on no link",
            "[[fault]]\nkind = \"link-down\"\nlinks = \"tor:99/up\"\nat = \"1us\"",
            &["s.toml:16", "tor:99", "3"],
        ),
        more(
            "fault on nonsense",
            "[[fault]]\nkind = \"link-down\"\nlinks = \"uplinks of 3\"\nat = \"1us\"",
            &["s.toml:16", "tor:0/up"],
        ),
        more(
            "unknown fault",
            "[[fault]]\nkind = \"link-dwon\"\nlinks = \"all\"\nat = \"1us\"",
            &["s.toml:15", "link-dwon", "link-down"],
        ),
        more(
            "fault without links",
            "[[fault]]
kind = \"link-down\"
at = \"1us\"",
            &["s.toml:14", "links"],
        ),
        more(
            "fault rate 0",
            "[[fault]]\nkind = \"rate\"\nrate = \"0bps\"\nlinks = \"all\"\nat = \"1us\"",
            &["s.toml:16", "rate"],
        ),
        more(
            "loss above 1",
            "[[fault]]\nkind = \"packet-loss\"\nprobability = 1.5\nlinks = \"all\"\nat = \"1us\"",
            &["s.toml:16", "probability", "1.5"],
        ),
        more(
            "measure of no link",
            "[[measure]]\nseries = \"queue-depth\"\nevery = \"1us\"\nlinks = \"spine:9/down\"",
            &["s.toml:17", "spine:9"],
        ),
        more(
            "measure every nothing",
            "[[measure]]\nseries = \"queue-depth\"\nevery = \"0us\"\nlinks = \"all\"",
            &["s.toml:16", "every"],
        ),
        more("unknown parameter", "[set]\n\"reps.lb.bufer\" = 16", &["s.toml:15", "bufer", "buffer"]),
        more("parameter out of range", "[set]\n\"reps.lb.buffer\" = 0", &["s.toml:15", "buffer"]),
        more(
            "sweep of nothing known",
            "[sweep]\n\"topology.hostss\" = [16, 32]",
            &["s.toml:15", "hostss", "hosts"],
        ),
        more(
            "sweep value that cannot be",
            "[sweep]\n\"workload.bytes\" = [\"1KB\", \"1KBB\"]",
            &["s.toml:15", "1KBB"],
        ),
    ]
}

fn files() -> Vec<Case> {
    vec![
        cm(
            "cm: fewer connections than it says",
            "Nodes 16\nConnections 2\n0->1 start 0 size 1000\n",
            &["x.cm", "2", "1"],
        ),
        cm("cm: host out of range", "Nodes 16\nConnections 1\n0->16 start 0 size 1000\n", &["x.cm:3", "16"]),
        cm(
            "cm: more nodes than hosts",
            "Nodes 64\nConnections 1\n0->1 start 0 size 1000\n",
            &["x.cm:1", "64", "16"],
        ),
        cm(
            "cm: a trigger nothing fires",
            "Nodes 16\nConnections 1\nTriggers 1\n0->1 id 1 trigger 1 size 1000\ntrigger id 1 oneshot\n",
            &["x.cm:", "trigger"],
        ),
        cm("cm: size 0", "Nodes 16\nConnections 1\n0->1 start 0 size 0\n", &["x.cm:3", "size"]),
        cm("cm: a host to itself", "Nodes 16\nConnections 1\n3->3 start 0 size 1000\n", &["x.cm:3"]),
        cm("cm: empty", "", &["x.cm"]),
        cm("cm: garbage", "\u{1}\u{2} what\n", &["x.cm:1"]),
        topo(
            "topo: radixes that do not add up",
            &TOPO.replace("Radix_Down 4\nRadix_Up 4", "Radix_Down 5\nRadix_Up 4"),
            &["x.topo:"],
        ),
        topo(
            "topo: unknown key",
            &TOPO.replace("Radix_Up", "Radix_Upp"),
            &["x.topo:8", "Radix_Upp", "Radix_Up"],
        ),
        topo("topo: rate 0", &TOPO.replace("Gbps 400", "Gbps 0"), &["x.topo:6"]),
        topo("topo: without its tiers", "Nodes 16\nTiers 2\nPodsize 16\n", &["x.topo"]),
        graph(
            "graph: not connected",
            "7 4 6\n3 4 5 6\n0 3 100Gbps 1us 0\n1 3 100Gbps 1us 0\n3 4 100Gbps 1us 0\n4 5 100Gbps 1us 0\n3 5 100Gbps 1us 0\n2 6 100Gbps 1us 0\n",
            &["g.txt", "host 2"],
        ),
        graph(
            "graph: a node out of range",
            "4 2 3\n2 3\n0 2 100Gbps 1000ns 0\n1 3 100Gbps 1000ns 0\n2 9 100Gbps 1000ns 0\n",
            &["g.txt:5", "9"],
        ),
        graph(
            "graph: fewer links than it says",
            "4 2 3\n2 3\n0 2 100Gbps 1000ns 0\n1 3 100Gbps 1000ns 0\n",
            &["g.txt", "3"],
        ),
        ns3_flows("flows: fewer than it says", "2\n0 1 3 1000 2.0\n", &["f.txt", "2", "1"]),
        ns3_flows("flows: host out of range", "1\n0 99 3 1000 2.0\n", &["f.txt:2", "99"]),
        with_file(
            "a file that is not there",
            "workload",
            "kind = \"cm\"\nfile = \"y.cm\"",
            ("x.cm", ""),
            &["s.toml:13", "y.cm", "no such file"],
        ),
        with_file(
            "a folder as a file",
            "workload",
            "kind = \"cm\"\nfile = \"folder\"",
            ("folder/x.cm", ""),
            &["s.toml:13", "folder, not a file"],
        ),
        with_file(
            "a path through a file",
            "workload",
            "kind = \"cm\"\nfile = \"x.cm/y.cm\"",
            ("x.cm", ""),
            &["s.toml:13", "part of this path is a file"],
        ),
        Case {
            name: "a file that is no text",
            files: vec![("s.toml", [SMALL.as_bytes(), b"# \xff\xfe\n"].concat())],
            args: vec!["run", "s.toml"],
            says: &["s.toml", "not UTF-8", "line 14"],
        },
    ]
}

fn command_line() -> Vec<Case> {
    vec![
        typed("no scenario", &["run", "missing.toml"], &["missing.toml", "no such file", "help:"]),
        typed("a folder as the scenario", &["run", "."], &["folder, not a file"]),
        typed("a scenario below a file", &["run", "s.toml/x.toml"], &["part of this path is a file"]),
        typed("unknown command", &["runn", "s.toml"], &["runn", "'run'"]),
        typed("unknown flag", &["run", "s.toml", "--sheme", "reps"], &["--sheme", "--scheme"]),
        typed("unknown scheme by flag", &["run", "s.toml", "--scheme", "resp"], &["resp", "reps"]),
        typed("seed that is none", &["run", "s.toml", "--seed", "x"], &["--seed", "x"]),
        typed(
            "no threads",
            &["run", "s.toml", "--threads", "0"],
            &["--threads", "from 1 to 1024, such as 1"],
        ),
        figure(
            "unknown paper",
            &["reproduce", "trail"],
            &["unknown paper", "trail", "did you mean \"trial\"?"],
        ),
        figure(
            "unknown figure",
            &["reproduce", "trial/fig-9"],
            &["unknown figure", "trial/fig-9", "did you mean", "trial/fig-1"],
        ),
        figure("one known, one not", &["reproduce", "trial", "reps/fig-999"], &["unknown paper \"reps\""]),
        typed("unknown built-in paper", &["reproduce", "no-such-paper"], &["unknown paper", "no-such-paper"]),
        typed("unknown scale", &["reproduce", "--scale", "papr"], &["papr", "paper"]),
        typed(
            "figures from nowhere",
            &["reproduce", "--figures-dir", "nowhere"],
            &["nowhere", "no such file"],
        ),
        typed("unknown list", &["list", "scheme"], &["scheme", "schemes"]),
        typed("state of figures", &["list", "figures", "--state"], &["--state", "list schemes --state"]),
        typed("unknown bench case", &["bench", "perm100"], &["perm100", "perm128"]),
        typed("unknown bench scheme", &["bench", "--scheme", "resp"], &["resp", "reps"]),
        typed("report of nothing", &["report", "nowhere"], &["nowhere", "does not exist"]),
        typed("report of a file", &["report", "s.toml"], &["s.toml", "it is a file"]),
        typed("report of a folder without results", &["report", "."], &["not a folder of results"]),
        Case {
            name: "check finds what run finds",
            files: vec![("s.toml", edited("400Gbps", "0Gbps").into_bytes())],
            args: vec!["check", "s.toml"],
            says: &["s.toml:9", "link"],
        },
    ]
}

#[test]
fn bad_input_is_explained_and_leaves_nothing_behind() {
    let cases: Vec<Case> = [scenario_keys(), quantities(), workloads_and_faults(), files(), command_line()]
        .into_iter()
        .flatten()
        .collect();
    assert!(cases.len() >= 40, "{} cases", cases.len());
    let faults: Vec<String> = cases.iter().filter_map(|case| try_case(case).err()).collect();
    assert!(faults.is_empty(), "{} of {}:\n\n{}", faults.len(), cases.len(), faults.join("\n\n"));
}

fn try_case(case: &Case) -> Result<(), String> {
    let place = Place::new();
    for (name, content) in &case.files {
        place.write(name, content);
    }
    let mut args = case.args.clone();
    if matches!(args[0], "run" | "reproduce") {
        args.extend(["--out", "out"]);
    }
    let ended = place.run(&args);
    let mut wrong = Vec::new();
    if case.args == ["run", "s.toml"] {
        let checked = place.run(&["check", "s.toml"]);
        if (checked.code, &checked.stderr) != (ended.code, &ended.stderr) {
            wrong.push(format!(
                "check says otherwise, with exit code {:?}:\n{}",
                checked.code, checked.stderr
            ));
        }
    }
    if ended.code != Some(2) {
        wrong.push(format!("exit code {:?}", ended.code));
    }
    wrong.extend(
        case.says.iter().filter(|text| !ended.stderr.contains(**text)).map(|text| format!("no {text:?}")),
    );
    if ended.stderr.contains("panicked") || ended.stderr.contains("internal error") {
        wrong.push("a panic".to_owned());
    }
    if !ended.stderr.starts_with("error: ") {
        wrong.push("the message does not start with \"error: \"".to_owned());
    }
    if !ended.stdout.is_empty() || place.path().join("out").exists() {
        wrong.push("something was written".to_owned());
    }
    let name = case.name;
    if wrong.is_empty() { Ok(()) } else { Err(format!("{name}: {}\n{}", wrong.join(", "), ended.stderr)) }
}
