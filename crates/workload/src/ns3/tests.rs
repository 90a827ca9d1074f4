//! Tests of the reader of flow files, and of its errors.

use super::*;
use anabranch_base::{HostId, Time};
use proptest::prelude::*;

const TWO_SECONDS: Duration = Duration(2_000_000_000_000);

/// A fabric that does not come from a topology file.
fn by_keys(hosts: u32) -> Fabric {
    Fabric { hosts, ..Fabric::default() }
}

/// The fabric of a topology file in which nodes 0 and 1 are switches, and nodes 2 to 5 hosts.
fn of_file() -> Fabric {
    let hosts = (0..4).map(|host| Some(HostId(host)));
    Fabric { hosts: 4, file_nodes: [None, None].into_iter().chain(hosts).collect(), ..Fabric::default() }
}

fn read(text: &str, format: Option<FlowFormat>, fabric: &Fabric) -> Result<Workload, String> {
    parse("f.txt", text, format, TWO_SECONDS, fabric).map_err(|error| error.to_string())
}

fn wrong(text: &str) -> String {
    read(text, None, &by_keys(16)).unwrap_err()
}

fn warned(text: &str) -> Vec<String> {
    warnings("f.txt", text, None).iter().map(ToString::to_string).collect()
}

/// The source, destination, bytes and start of each flow.
fn flows(workload: &Workload) -> Vec<(u32, u32, u64, Start)> {
    let of = |m: &crate::Message| {
        let qp = workload.qps[m.qp.index()];
        (qp.src.0, qp.dst.0, m.bytes, m.start)
    };
    workload.messages.iter().map(of).collect()
}

#[test]
fn both_forms_read_exactly() {
    let five = read("2 \n1 2 3 616 2.000000009\n15 0 3 86814 2.000000071\n", None, &by_keys(16)).unwrap();
    let six =
        read("2\n1 2 3 100 616 2.000000009\r\n15 0 3 100 86814 2.000000071", None, &by_keys(16)).unwrap();
    assert_eq!(five, six);
    let start = |ps| Start::At(Time(ps));
    assert_eq!(flows(&five), [(1, 2, 616, start(9_000)), (15, 0, 86_814, start(71_000))]);
}

#[test]
fn flows_of_ns3_rdma_have_packets_and_an_end() {
    let text = "2\n1 0 3 10000 2.0 9.5\n2 0 3 7 2.5 9\n\nFirst line: flow #\nsrc dst pg packet#\n";
    let read = read(text, None, &by_keys(16)).unwrap();
    let start = |ps| Start::At(Time(ps));
    assert_eq!(flows(&read), [(1, 0, 10_000_000, start(0)), (2, 0, 7_000, start(500_000_000_000))]);
    assert_eq!(
        warned(text),
        [
            "f.txt:2: f.txt has flows of ns3-rdma, which stop at their end time; here each sends all its packets, of 1000 B \
          (its default PACKET_PAYLOAD_SIZE): compare no flow that takes longer than to its end"
        ]
    );
}

/// An ambiguous flow. It has either port 10,000, two bytes and a start at 9 s, or 10,000 packets from 2 s to 9 s.
const EITHER: &str = "1\n1 0 3 10000 2 9";

#[test]
fn six_columns_that_fit_two_simulators_are_refused_until_the_key_says_whose_they_are() {
    assert_eq!(
        wrong(EITHER),
        "f.txt:2: the 6 columns are `src dst pg dport bytes start_s` (HPCC) or `source destination priority packets start_s \
         end_s` (ns3-rdma), and all of these numbers fit both; write: format = \"ns3-rdma\" or format = \"hpcc\" in [workload]"
    );
    let said = |format| flows(&read(EITHER, Some(format), &by_keys(16)).unwrap());
    assert_eq!(said(FlowFormat::Ns3Rdma), [(1, 0, 10_000_000, Start::At(Time(0)))]);
    assert_eq!(said(FlowFormat::Hpcc), [(1, 0, 2, Start::At(Time(7_000_000_000_000)))]);
    // One line that fits only one format determines the format of all lines.
    let decided = |more: &str| {
        read(&format!("2\n1 0 3 10000 2 9\n{more}"), None, &by_keys(16)).unwrap().messages[0].bytes
    };
    assert_eq!(decided("1 0 3 10000 2.5 9"), 10_000_000, "bytes are whole");
    assert_eq!(decided("1 0 3 100000 2 9"), 10_000_000, "ports have 16 bits");
    assert_eq!(decided("1 0 3 10000 5000 2"), 2, "an end is behind its start");
}

#[test]
fn flows_name_nodes_of_the_topology_file() {
    let (start, fabric) = (Start::At(Time(0)), of_file());
    let text = "2\n2 3 3 100 12500000 2\n5 4 3 100 1000 2\n";
    assert_eq!(flows(&read(text, None, &fabric).unwrap()), [(0, 1, 12_500_000, start), (3, 2, 1_000, start)]);
    let wrong = |flow: &str| read(&format!("1\n{flow}\n"), None, &fabric).unwrap_err();
    assert_eq!(
        wrong("0 3 3 100 1000 2"),
        "f.txt:2: the source 0 is a switch of the topology file; its hosts are nodes 2 to 5"
    );
    assert_eq!(
        wrong("2 1 3 1 2"),
        "f.txt:2: the destination 1 is a switch of the topology file; its hosts are nodes 2 to 5"
    );
    assert_eq!(
        wrong("2 6 3 1 2"),
        "f.txt:2: the destination 6 is no node of the topology file; its hosts are nodes 2 to 5"
    );
}

#[test]
fn of_more_flows_than_are_counted_the_first_are_read() {
    let text = "1\n1 2 3 616 2\n2 1 3 616 2\n\nsrc dst pg bytes start\n3 1 3 616 2\n";
    assert_eq!(read(text, None, &by_keys(16)).unwrap().messages.len(), 1);
    assert_eq!(
        warned(text),
        [
            "f.txt:1: left out of f.txt, as its simulator does: 2 flows behind the 1 that its first line counts"
        ]
    );
    let prose = "1\n1 2 3 616 2\n\nsrc dst pg bytes start";
    assert_eq!(read(prose, None, &by_keys(16)).unwrap().messages.len(), 1);
    assert_eq!(warned(prose), [""; 0]);
}

const GOOD: &str = "2\n1 2 3 100 500000 2\n2 1 3 100 1000 2.0005\n\nsrc dst pg dport bytes start\n";

/// Mistakes in [`GOOD`]: a text in it, the text that replaces it, and the error, which ends with the proposal.
const MISTAKES: &[(&str, &str, &str)] = &[
    ("2\n1", "3\n1", "f.txt:1: it counts 3 flows, but has 2; write: 2"),
    ("2\n1", "0\n1", "f.txt:1: it counts no flows, and a workload needs at least one; write: 2"),
    (
        "2\n1",
        "two flows\n1",
        "f.txt:1: the first line is the number of flows; it must be a whole number, not `two flows`; write: 2",
    ),
    (
        "2\n1",
        "1",
        "f.txt:1: the first line is the number of flows; it must be a whole number, not `1 2 3 100 500000 2`; write: 2 above \
         it",
    ),
    (
        "2 1 3",
        "2 1 8",
        "f.txt:3: the priority group is too large: `8`; the most is 7; write: 2 1 3 100 1000 2.0005",
    ),
    (
        "2 1 3 100",
        "2 1 3 65536",
        "f.txt:3: the destination port is too large: `65536`; the most is 65535; write: 2 1 3 100 1000 2.0005",
    ),
    (
        "1000",
        "1KB",
        "f.txt:3: the flow's size in bytes must be a whole number, not `1KB`; write: 2 1 3 100 1000 2.0005",
    ),
    (
        "1000",
        "1e3",
        "f.txt:3: the flow's size in bytes must be a whole number, not `1e3`; write: 2 1 3 100 1000 2.0005",
    ),
    (
        "2.0005",
        "2000.5ms",
        "f.txt:3: the start in seconds must be a number such as 0 or 1.5, not `2000.5ms`; write: 2 1 3 100 1000 2.0005",
    ),
];

#[test]
fn a_hint_followed_gives_what_was_meant() {
    let meant = read(GOOD, None, &by_keys(16)).unwrap();
    for (from, to, expected) in MISTAKES {
        let text = GOOD.replacen(from, to, 1);
        assert_ne!(text, GOOD, "{from}");
        let error = wrong(&text);
        assert_eq!(error, *expected);
        let line: usize = error.split(':').nth(1).unwrap().parse().unwrap();
        let (_, instead) = error.rsplit_once("; write: ").unwrap();
        let mut lines: Vec<&str> = text.lines().collect();
        match instead.strip_suffix(" above it") {
            Some(above) => lines.insert(line - 1, above),
            None => lines[line - 1] = instead,
        }
        let read = read(&lines.join("\n"), None, &by_keys(16));
        assert_eq!(read.as_ref(), Ok(&meant), "{error}");
    }
}

#[test]
fn mistakes_without_a_likely_line_are_explained() {
    for (text, expected) in [
        ("", "f.txt: it is empty; the first line must be the number of flows"),
        ("2\nno flows\n", "f.txt:1: it counts 2 flows, but has none"),
        ("0\n", "f.txt:1: it counts no flows, and a workload needs at least one"),
        (
            "1\n1 2 616 2",
            "f.txt:2: expected `src dst pg dport bytes start_s` (HPCC), `source destination priority packets start_s \
             end_s` (ns3-rdma), `src dst pg bytes start_s` (ConWeave), but there are 4 columns",
        ),
        (
            "2\n1 2 3 616 2\n1 2 3 100 616 2",
            "f.txt:3: 6 columns are those of `src dst pg dport bytes start_s` (HPCC) or `source destination priority packets \
             start_s end_s` (ns3-rdma), but other flows have 5, as `src dst pg bytes start_s` (ConWeave) has; set format in \
             [workload] to the one that is meant",
        ),
        ("1\nx 2 3 616 2", "f.txt:2: the source must be a whole number, not `x`"),
        ("1\n1 16 3 616 2", "f.txt:2: the destination 16 is not a host; the fabric has hosts 0 to 15"),
        ("1\n3 3 3 616 2", "f.txt:2: the flow goes from 3 to itself; a destination must be another host"),
        ("1\n1 2 3 616 -2", "f.txt:2: the start in seconds must not be negative, but it is `-2`"),
        ("1\n1 2 3 50000 2.5 2.0", "f.txt:2: the flow ends at 2.0 s, and starts at 2.5 s"),
    ] {
        assert_eq!(wrong(text), expected);
    }
}

const DIALECTS: [(FlowFormat, &str); 3] = [
    (FlowFormat::Hpcc, "2\n1 2 3 100 500000 2\n2 1 3 100 1000 2.0005\n"),
    (FlowFormat::Conweave, "2\n1 2 3 500000 2\n2 1 3 1000 2.0005\n"),
    (FlowFormat::Ns3Rdma, "2\n1 2 3 500 2.0 9\n2 1 3 1 2.0005 9.5\n"),
];

#[test]
fn a_wrong_format_is_answered_with_the_one_that_the_flows_look_like() {
    for (is, text) in DIALECTS {
        assert!(read(text, None, &by_keys(16)).is_ok(), "{text}");
        for (name, said) in FlowFormat::ALL {
            let read_as = read(text, Some(said), &by_keys(16));
            if said == is {
                assert!(read_as.is_ok(), "{name}");
                continue;
            }
            let (right, _) = FlowFormat::ALL.into_iter().find(|(_, format)| *format == is).unwrap();
            let expected =
                format!("; the flows look like {}; write: format = \"{right}\" in [workload]", is.names());
            let error = read_as.unwrap_err();
            assert!(error.starts_with("f.txt:2: ") && error.ends_with(&expected), "{name}: {error}");
            assert_eq!(error.matches("; write: ").count(), 1, "{error}");
        }
    }
}

#[test]
fn flows_that_do_not_agree_are_refused_at_the_one_that_differs() {
    // A flow whose fifth column is no whole number fits only ns3-rdma.
    for (odd, most, lines) in [
        (2, 3, ["1 2 3 100 1.5 2", "2 1 3 100 1000 2", "3 1 3 100 1000 2"]),
        (3, 2, ["2 1 3 100 1000 2", "1 2 3 100 1.5 2", "3 1 3 100 1000 2"]),
        (4, 2, ["1 2 3 100 1.5 2", "2 1 3 100 1.5 2", "3 1 3 100 1000 2"]),
    ] {
        let error = wrong(&format!("3\n{}", lines.join("\n")));
        let place = format!("f.txt:{odd}: the 6 columns fit ");
        assert!(error.starts_with(&place), "{error}");
        assert!(error.contains(&format!(" alone, and those of line {most} `s")), "{error}");
        assert!(["(HPCC)", "(ns3-rdma)"].iter().all(|whose| error.contains(whose)), "{error}");
        let hint = "; write: format = \"ns3-rdma\" or format = \"hpcc\" in [workload]";
        assert!(error.ends_with(hint), "{error}");
    }
    let said = read("2\n1 2 3 100 1.5 2\n2 1 3 100 1000 2", Some(FlowFormat::Hpcc), &by_keys(16));
    assert!(said.unwrap_err().starts_with("f.txt:2: the flow's size in bytes must be a whole number"));
    // If flows have different numbers of columns, the less frequent number is wrong, wherever it occurs.
    let error = wrong("3\n1 2 3 1000 2\n2 1 3 100 1000 2\n3 1 3 100 1000 2");
    assert!(
        error.starts_with("f.txt:2: 5 columns are those of `src dst pg bytes start_s` (ConWeave), "),
        "{error}"
    );
    let error = wrong("3\n1 2 3 1000 2\n2 1 3 1000 2\n3 1 3 100 1000 2");
    assert!(
        error.starts_with("f.txt:4: 6 columns are those of `src dst pg dport bytes start_s` (HPCC) or "),
        "{error}"
    );
}

#[test]
fn a_topology_file_is_no_flow_file() {
    for topology in [
        "3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n",
        "3 1 1 2\n2\n0 2 100000000000.0 1us 0\n1 2 100000000000.0 1us 0\n",
    ] {
        assert_eq!(
            wrong(topology),
            "f.txt:1: f.txt is a topology file (`nodes switches links`, then a cable a line), and no flow file; it belongs \
             below [topology], with kind = \"graph\""
        );
    }
}

#[test]
fn prose_behind_the_flows_is_not_counted_as_flows() {
    let prose = "1 comment: first\n2. the columns are\n3 src, 4 dst and 5 bytes\n2.5 3 4\n1 2 3 4 five 6\n";
    let text = format!("1\n1 2 3 616 2\n{prose}");
    assert_eq!(read(&text, None, &by_keys(16)).unwrap().messages.len(), 1);
    assert_eq!(warned(&text), [""; 0]);
    for flow in ["2 1 3 616 2.5", "2 1 3 100 616 2.5", "2 1 3 10 2.5 9", "2 1 3 10 2.0 2.5 40"] {
        let said = "f.txt:1: left out of f.txt, as its simulator does: 1 flow behind the 1 that its first line counts";
        assert_eq!(warned(&format!("{text}{flow}\n")), [said], "{flow}");
    }
}

#[test]
fn hints_that_are_examples_can_be_read() {
    for (text, expected, followed) in [
        (
            "1\n1 2 3 0 2",
            "f.txt:2: the flow's size in bytes is 0, and the least is 1; write: 1 2 3 1 2",
            "1\n1 2 3 1 2",
        ),
        (
            "1\n1 2 3 10 2.0 2.5 40",
            "f.txt:2: 7 columns are those of ns3-rdma with an initial rate in Gb/s behind the end (TIMELY), which is not \
             simulated; write: 1 2 3 10 2.0 2.5",
            "1\n1 2 3 10 2.0 2.5",
        ),
    ] {
        assert_eq!(wrong(text), expected);
        assert!(read(followed, None, &by_keys(16)).is_ok(), "{expected}");
    }
}

#[test]
fn starts_before_the_origin_say_what_the_origin_is() {
    let text = "2\n1 2 3 616 1.9\n1 2 3 616 0.001\n";
    assert_eq!(
        wrong(text),
        "f.txt:2: the flow starts at 1.9 s, before the origin 2s; write: origin = \"1ms\" in [workload]"
    );
    let read = parse("f.txt", text, None, Duration::from_us(1_000), &by_keys(16)).unwrap();
    assert_eq!(read.messages[1].start, Start::At(Time(0)));
}

proptest! {
    #[test]
    fn no_text_panics(text in "[0-9. \\-\ne]{0,120}", any in ".{0,60}") {
        for fabric in [by_keys(4), of_file()] {
            let _ = parse("x", &text, None, Duration::ZERO, &fabric);
            let _ = parse("x", &any, Some(FlowFormat::Ns3Rdma), Duration::ZERO, &fabric);
            let _ = warnings("x", &text, None);
        }
    }
}
