//! Warnings of `check` about windows that are too small to fill a path, or for which ACKs come too late. Following the
//! suggestion removes the warning.

use crate::scenario::tests::folder;
use crate::scenario::*;

/// The warnings about a message of `bytes` through one switch with links of 100 Gb/s. The path holds a little more
/// than 14 packets, which are rounded up to 15.
fn warnings(scheme: &str, bytes: &str, set: &str) -> Vec<Diagnostic> {
    let text = format!(
        "schemes = [{scheme:?}]\n[topology]\nkind = \"single-switch\"\nhosts = 2\nlink = \"100Gbps\"\nlink_latency = \"1us\"\n\
         switch_latency = \"0ns\"\n[workload]\nkind = \"messages\"\n[[workload.message]]\nfrom = 0\nto = 1\nbytes = {bytes:?}\n\
         [set]\n{set}\n"
    );
    let scenario =
        read("s.toml", &text, &folder(), &Overrides::default()).unwrap_or_else(|e| panic!("{e}\n{text}"));
    scenario.check().unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// The scheme, its settings, and the text of the warning after the name of the scheme.
const CASES: [(&str, &str, &str); 7] = [
    (
        "sr-ecmp",
        "\"sr-ecmp.transport.window_packets\" = 6",
        "transport.window_packets = 6 is a window of 6 packet(s), and the longest path holds 15: \
         alone on it, a queue pair comes to 43 % of its line rate",
    ),
    (
        "pfc-ecmp",
        "\"pfc-ecmp.cc.window\" = \"20KB\"",
        "cc.window = \"20KB\" is a window of 5 packet(s), and the longest path holds 15: \
         alone on it, a queue pair comes to 36 % of its line rate",
    ),
    (
        "irn-ecmp",
        "\"*.transport.window\" = \"0.5bdp\"",
        "transport.window = \"0.5bdp\" is a window of 8 packet(s), and the longest path holds 15: \
         alone on it, a queue pair comes to 57 % of its line rate",
    ),
    (
        "reps",
        "\"reps.cc.max_window\" = \"10packets\"\n\"reps.cc.initial_window\" = \"10packets\"",
        "cc.max_window = \"10packets\" is a window of 10 packet(s), and the longest path holds 15: \
         alone on it, a queue pair comes to 71 % of its line rate",
    ),
    (
        "dcp",
        "\"dcp.cc.window\" = \"0.5bdp\"",
        "cc.window = \"0.5bdp\" is a window of 8 packet(s), and the longest path holds 15: \
         alone on it, a queue pair comes to 57 % of its line rate",
    ),
    (
        "reps-carry",
        "\"reps-carry.transport.ack_every\" = 16",
        "transport.ack_every: ACKs for every 16 packets come late for a window of 22: \
         alone on it, a queue pair can fall to 76 % of its line rate",
    ),
    (
        "uet-nscc",
        "\"uet-nscc.transport.sack_bytes\" = \"64KiB\"",
        "transport.sack_bytes: ACKs for every 16 packets come late for a window of 20: \
         alone on it, a queue pair can fall to 69 % of its line rate",
    ),
];

#[test]
fn a_window_that_leaves_its_path_idle_is_told_and_what_is_to_be_written_is_enough() {
    for (scheme, set, said) in CASES {
        let told = warnings(scheme, "5MB", set);
        let messages: Vec<&str> = told.iter().map(|told| &*told.message).collect();
        assert_eq!(messages, [format!("scheme {scheme:?}: {said}")], "{set}");
        let help = told[0].help().unwrap();
        let (instead, of) = help.split_once(" below ").unwrap();
        assert_eq!(of, "[set]", "{help}");
        let key = instead.split_once(" = ").unwrap().0;
        let others: Vec<&str> = set.lines().filter(|line| !line.starts_with(key)).collect();
        let followed = format!("{instead}\n{}", others.join("\n"));
        assert_eq!(warnings(scheme, "5MB", &followed), [], "{followed}");
        // Messages that fit into the window do not wait for it.
        assert_eq!(warnings(scheme, "20KB", set), [], "{set}");
    }
}

#[test]
fn a_window_that_is_swept_with_another_parameter_is_found_in_the_sweep() {
    let zip = "[[sweep.zip]]\n\"*.transport.window\" = [\"0.5bdp\", \"1bdp\"]\n\"topology.hosts\" = [2, 3]";
    let [warning] = &warnings("irn-ecmp", "5MB", zip)[..] else { panic!("one warning") };
    let fix = warning.fix.as_ref().unwrap().to_string();
    assert!(fix.starts_with("others, such as ") && fix.ends_with(" in [sweep]"), "{fix}");
    assert_eq!(warning.span.line, Some(16), "{warning}");
}

#[test]
fn the_share_is_that_of_all_queue_pairs_of_a_connection() {
    let set = "\"irn-ecmp.qps\" = 2\n\"irn-ecmp.transport.window\" = \"0.2bdp\"";
    let [warning] = &warnings("irn-ecmp", "5MB", set)[..] else { panic!("one warning") };
    let text = &warning.message;
    assert!(text.contains("alone on it, the 2 queue pairs of a connection come to "), "{text}");
}
