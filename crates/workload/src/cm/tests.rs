use super::*;
use anabranch_base::Time;
use proptest::prelude::*;

const PS: Duration = Duration(1);

fn read(text: &str) -> Workload {
    parse("m.cm", text, PS, 16).unwrap()
}

fn wrong(text: &str) -> String {
    parse("m.cm", text, PS, 16).unwrap_err().to_string()
}

/// The error for one malformed line, which is line 3, after a valid header.
fn wrong_line(line: &str) -> String {
    wrong(&format!("Nodes 16\nConnections 1\n{line}\n"))
}

const WHOLE: &str = "\
# a comment
Nodes 16
Connections\t6
Triggers 3

0->1 id 1 start 0 size 1000 send_done_trigger 1   # the first
 1 -> 2 id 2 trigger 1 size 2000 recv_done_trigger 2 prio 3
2->3\tid 3 trigger 1 size 3000 send_done_trigger 2 recv_done_trigger 3\r
3->4 trigger 2 size 4000 send_done_trigger 3 addon
4->5 id 5 msg trigger 3 size 5000

4->5 id 5 msg trigger 3 size 6000
trigger id 1 oneshot
trigger id 2 barrier count 2
trigger id 3 multishot
";

#[test]
fn a_whole_file_becomes_messages_and_gates() {
    let w = read(WHOLE);
    let qps: Vec<(u32, u32)> = w.qps.iter().map(|qp| (qp.src.0, qp.dst.0)).collect();
    assert_eq!(qps, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]);
    let messages: Vec<(u64, u32, Start)> = w.messages.iter().map(|m| (m.bytes, m.qp.0, m.start)).collect();
    assert_eq!(
        messages,
        [
            (1000, 0, Start::At(Time::ZERO)),
            (2000, 1, Start::ByGate),
            (3000, 2, Start::ByGate),
            (4000, 3, Start::ByGate),
            (5000, 4, Start::ByGate),
            (6000, 4, Start::ByGate),
        ]
    );
    let gates: Vec<(Opens, Vec<u32>)> = w
        .gates
        .iter()
        .map(|g| {
            let starts = &w.gate_starts[g.starts_from as usize..][..g.starts_len as usize];
            (g.opens, starts.iter().map(|m| m.0).collect())
        })
        .collect();
    assert_eq!(gates, [(Opens::After(1), vec![1, 2]), (Opens::After(2), vec![3]), (Opens::Each, vec![4, 5])]);
    let activations: Vec<Vec<(Done, u32)>> = w
        .messages
        .iter()
        .map(|m| {
            let owned = &w.activations[m.activations_from as usize..][..m.activations_len as usize];
            owned.iter().map(|a| (a.on, a.gate.0)).collect()
        })
        .collect();
    assert_eq!(
        activations,
        [
            vec![(Done::Acknowledged, 0)],
            vec![(Done::Delivered, 1)],
            vec![(Done::Acknowledged, 1), (Done::Delivered, 2)],
            vec![(Done::Acknowledged, 2)],
            vec![],
            vec![],
        ]
    );
}

#[test]
fn starts_count_in_the_given_unit() {
    let text = "Nodes 2\nConnections 1\n0->1 start 1.5 size 10\n";
    let start = |unit| parse("m", text, unit, 2).unwrap().messages[0].start;
    assert_eq!(start(Duration::from_us(1)), Start::At(Time(1_500_000)));
    assert_eq!(start(PS), Start::At(Time(1)));
}

#[test]
fn sizes_and_starts_beyond_32_bits_are_kept() {
    let w = read("Nodes 2\nConnections 1\n0->1 start 123456789012 size 8589934592\n");
    assert_eq!((w.messages[0].bytes, w.messages[0].start), (1 << 33, Start::At(Time(123_456_789_012))));
}

#[test]
fn a_smaller_matrix_fits_a_larger_fabric_only() {
    let text = "Nodes 32\nConnections 1\n0->31 start 0 size 10\n";
    assert!(parse("m.cm", text, PS, 64).is_ok());
    assert_eq!(
        wrong(text),
        "m.cm:1: the file is for 32 nodes, but the fabric has 16 hosts; take a fabric of at least 32 hosts"
    );
}

#[test]
fn wrong_counts_are_explained() {
    assert_eq!(
        wrong("Nodes 16\nConnections 3\n0->1 start 0 size 1\n"),
        "m.cm:2: `Connections 3`, but the file has 1 connection line; write: `Connections 1`"
    );
    // htsim stops with an error too: "Mismatch in connection count, specified: 1 actual 2".
    assert_eq!(
        wrong("Nodes 16\nConnections 1\n0->1 start 0 size 1\n1->2 start 0 size 1\n"),
        "m.cm:2: `Connections 1`, but the file has 2 connection lines; write: `Connections 2`"
    );
    assert_eq!(
        wrong("Nodes 16\nConnections 1\nTriggers 1\n0->1 start 0 size 1\n"),
        "m.cm:3: `Triggers 1`, but the file has 0 trigger lines; write: `Triggers 0`"
    );
    assert_eq!(
        wrong("Nodes 16\n0->1 start 0 size 1\n"),
        "m.cm: it has 1 connection line but no `Connections` line; write: `Connections 1` before the body"
    );
    assert_eq!(
        wrong("Connections 1\n0->1 start 0 size 1\n"),
        "m.cm:2: a connection before the number of nodes; write: `Nodes 16` above it"
    );
    assert_eq!(wrong(""), "m.cm: it has no `Nodes` line; write: `Nodes 16` first, for as many hosts");
    assert_eq!(wrong("Nodes 16\nNodes 16\n"), "m.cm:2: a second `Nodes` line; the first is line 1");
    assert_eq!(wrong("Nodes\n"), "m.cm:1: expected `Nodes N`, such as `Nodes 16`");
    assert_eq!(
        wrong("Nodes 16\nConnections 1\n0->1 start 0 size 1\nTriggers 0\n"),
        "m.cm:4: `Triggers` must stand before the first connection or trigger"
    );
    assert_eq!(
        wrong("Nodes 16\nConnections 0\n"),
        "m.cm: it has no connections; write: `Connections 1` and below it a line such as `0->1 start 0 size 1000`"
    );
    assert_eq!(
        wrong("Nodes 99999999999\n"),
        "m.cm:1: the number after `Nodes` is too large: `99999999999`; the most is 4294967295"
    );
}

#[test]
fn wrong_connections_are_explained() {
    let cases = [
        ("0->16 start 0 size 1", "the destination 16 is no node; `Nodes 16` has nodes 0 to 15"),
        ("4->4 start 0 size 1", "the connection goes from node 4 to itself; write: another destination"),
        (
            "-1->4 start 0 size 1",
            "the source of a connection `SRC->DST` must not be negative, but it is `-1`",
        ),
        (
            "0-> start 0 size 1",
            "the destination of a connection `SRC->DST` must be a whole number, not `start`",
        ),
        ("0->1 start 0 trigger 1 size 1", "both `start` and `trigger`; remove one of the two"),
        ("0->1 size 1", "neither `start` nor `trigger`; write: `start 0` behind it, or `trigger N`"),
        ("0->1 start 0", "no `size`; write: `size 2000000` behind it, or other bytes"),
        ("0->1 start 0 size 0", "the size must be at least 1 byte, but it is 0; write: `size 1`"),
        ("0->1 start 0 size -5", "the size, in bytes, must not be negative, but it is `-5`"),
        ("0->1 start 0 size 2MB", "the size, in bytes, must be a whole number, not `2MB`; write: 2000000"),
        ("0->1 start 0 size", "`size` needs a number of bytes after it"),
        (
            "0->1 start 0 size 99999999999999999999",
            "the size, in bytes, is too large: `99999999999999999999`; the most is 9223372036854775807",
        ),
        ("0->1 start -3 size 1", "the start must not be negative, but it is `-3`"),
        ("0->1 start 0 size 1 size 2", "`size` twice in one line; remove one of the two"),
        ("0->1 start 0 sise 1", "`sise` is no option of a connection; did you mean `size`?"),
        ("0->1 id start 0 size 1", "the number after `id` must be a whole number, not `start`"),
        (
            "0->1 msg start 0 size 1",
            "`msg` without an `id`; write: `id 1`, or another number of the connection that carries the message",
        ),
        (
            "0->1 start 0 size 1 send_done_trigger 7",
            "trigger 7 is not declared; add a line `trigger id 7 oneshot` and count it in `Triggers`",
        ),
        ("Conections 1", "`Conections` is unknown; did you mean `Connections`?"),
        (
            "failure switch_type TOR switch_id 0 link_id 1",
            "failures in a connection matrix are not read; write: them as [[fault]] in the scenario, remove the \
             `failure` lines and set `Failures 0`",
        ),
        ("trigger id 1 onshot", "`onshot` is no kind of trigger; did you mean `oneshot`?"),
        (
            "trigger id 1 barrier",
            "a barrier needs its count; write: `barrier count 2`, or another number of activations",
        ),
        ("trigger id 1 barrier count 0", "the barrier's count must be at least 1"),
        (
            "trigger id 1 oneshot count 2",
            "a oneshot has no count; write: `oneshot` alone, or `barrier` in its place",
        ),
        (
            "trigger 1 oneshot",
            "expected `trigger id N oneshot`, `trigger id N multishot` or `trigger id N barrier count K`",
        ),
    ];
    for (line, expected) in cases {
        assert_eq!(wrong_line(line), format!("m.cm:3: {expected}"), "{line}");
    }
}

#[test]
fn failures_may_be_counted_as_none() {
    assert_eq!(read("Nodes 2\nConnections 1\nFailures 0\n0->1 start 0 size 1").messages.len(), 1);
    assert!(
        wrong("Nodes 2\nFailures 1\n").starts_with("m.cm:2: failures in a connection matrix are not read")
    );
}

#[test]
fn shared_ids_are_explained() {
    let two = |second: &str| wrong(&format!("Nodes 16\nConnections 2\n0->1 id 4 start 0 size 1\n{second}\n"));
    assert_eq!(
        two("0->1 id 4 start 0 size 1"),
        "m.cm:4: id 4 is used in line 3 already; write: another id, or `msg` for a further message on that connection"
    );
    assert_eq!(
        two("1->0 id 4 msg start 0 size 1"),
        "m.cm:4: messages with id 4 go 0->1 (line 3), but this one goes 1->0; write: another id"
    );
}

#[test]
fn wrong_triggers_are_explained() {
    let with = |connections: &[&str], triggers: &[&str]| {
        wrong(&format!(
            "Nodes 16\nConnections {}\nTriggers {}\n{}\n{}\n",
            connections.len(),
            triggers.len(),
            connections.join("\n"),
            triggers.join("\n")
        ))
    };
    let fires = "0->1 start 0 size 1 send_done_trigger 1";
    let waits = "1->2 trigger 1 size 1";
    assert_eq!(
        with(&[fires, waits], &["trigger id 1 oneshot", "trigger id 1 oneshot"]),
        "m.cm:7: trigger 1 is declared twice, first in line 6; remove one of the two and count the rest in `Triggers`"
    );
    assert_eq!(
        with(&["0->1 start 0 size 1", waits], &["trigger id 1 oneshot"]),
        "m.cm:6: nothing fires trigger 1; add `send_done_trigger 1` or `recv_done_trigger 1` to a connection"
    );
    assert_eq!(
        with(&[fires], &["trigger id 1 oneshot"]),
        "m.cm:5: trigger 1 starts nothing; add `trigger 1` to a connection in place of `start`"
    );
    assert_eq!(
        with(&[fires, waits], &["trigger id 1 barrier count 3"]),
        "m.cm:6: trigger 1 waits for 3 activations, but only 1 can happen; write: `count 1`"
    );
    assert_eq!(
        with(&[fires, waits, waits], &["trigger id 1 multishot"]),
        "m.cm:7: multishot trigger 1 starts 2 connections one at a time, but only 1 activations can happen"
    );
    assert_eq!(
        with(
            &["1->2 trigger 1 size 1 send_done_trigger 2", "2->3 trigger 2 size 1 send_done_trigger 1"],
            &["trigger id 1 oneshot", "trigger id 2 oneshot"]
        ),
        "m.cm:4: this connection never starts (nor does 1 other): trigger 1 waits, directly or through others, for \
         connections that wait for it; give one of them a `start`, and take out triggers that then start nothing"
    );
}

#[test]
fn the_start_unit_must_not_be_zero() {
    let error = parse("m", WHOLE, Duration::ZERO, 16).unwrap_err().to_string();
    assert_eq!(error, "workload.start_unit: a unit of time cannot be 0; write: \"1ps\" or \"1us\"");
}

#[test]
fn published_matrices_read() {
    let Some(peers) = std::env::var_os("ANABRANCH_PEERS") else {
        println!("skipped: ANABRANCH_PEERS is not set");
        return;
    };
    let folder = std::path::Path::new(&peers).join("data/htsim");
    let mut read = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "cm") {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let text = std::fs::read_to_string(&path).unwrap();
            let w = parse(&name, &text, PS, 8192).unwrap_or_else(|e| panic!("{e}"));
            read.push((name, w.qps.len(), w.messages.len(), w.gates.len()));
        }
    }
    read.sort();
    let expected = [
        ("alltoall_serial_16n.cm", 240, 240, 224),
        ("bidir.cm", 2, 2, 0),
        ("incast.cm", 15, 15, 0),
        ("one.cm", 1, 1, 0),
        ("perm_1024n_1024c_0u_2000000b.cm", 1024, 1024, 0),
        ("perm_128n_16MiB.cm", 128, 128, 0),
        ("perm_16n_16c_2MB.cm", 16, 16, 0),
        ("perm_8192n_8192c_2MB.cm", 8192, 8192, 0),
        ("test_cr_1f10m1p.cm", 1, 10, 0),
    ];
    assert_eq!(read, expected.map(|(name, qps, messages, gates)| (name.to_owned(), qps, messages, gates)));
}

proptest! {
    #[test]
    fn no_text_panics(text in "(.|\n){0,200}", words in prop::collection::vec(prop::sample::select(WORDS), 0..60)) {
        let _ = parse("m", &text, PS, 16);
        let _ = parse("m", &words.join(" "), PS, 16);
        let _ = parse("m", &format!("Nodes 16\nConnections 1\n{}", words.concat()), PS, 16);
    }

    #[test]
    fn no_mutation_of_a_good_file_panics(
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0..4usize, any::<char>()), 1..8)
    ) {
        let mut text: Vec<char> = WHOLE.chars().collect();
        for (at, what, new) in edits {
            let at = at.index(text.len());
            match what {
                0 => text[at] = new,
                1 => text.insert(at, new),
                2 => { text.truncate(at.max(1)); }
                _ if text.len() > 1 => { text.remove(at); }
                _ => (),
            }
        }
        let text: String = text.into_iter().collect();
        if let Ok(w) = parse("m", &text, PS, 16) {
            prop_assert_eq!(w.validate(), Ok(()));
        }
    }
}

const WORDS: &[&str] = &[
    "Nodes",
    "Connections",
    "Triggers",
    "Failures",
    "trigger",
    "id",
    "start",
    "size",
    "0->1",
    "->",
    "\n",
    "0",
    "1",
    "18446744073709551616",
    "-1",
    "oneshot",
    "barrier",
    "count",
    "multishot",
    "msg",
    "#",
    "send_done_trigger",
    "1e9",
];
