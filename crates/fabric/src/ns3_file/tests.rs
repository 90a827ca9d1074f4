use super::*;
use anabranch_base::{HostId, Rate};
use proptest::prelude::*;

/// Two ToRs (0 and 6) and a spine (3) with a self-link; hosts 1, 2, 4 and 5; two cables from 6 to 3.
const GOOD: &str = "7 3 8\n0 6 3\n1 0 100Gbps 1000ns 0\n2 0 100Gbps 0.001ms 0.25\n\n5 6 25Gbps 2us 0\n\
    4 6 100Gbps 1000ns 0\n3 0 400Gbps 1us 0\n6 3 400Gbps 1us 0\n6 3 200Gbps 1us 0\n3 3 1600Gbps 100ns 0\n\
    First line: node count, switch count, link count\nsrc dst rate delay error\n";

fn read(text: &str) -> Result<Topology, String> {
    parse_ns3("g.txt", text, Duration::from_ns(500)).map_err(|e| e.to_string())
}

#[test]
fn nodes_are_renumbered_and_keep_their_numbers() {
    let t = read(GOOD).unwrap();
    assert_eq!((t.hosts, t.nodes(), t.links()), (4, 7, 16));
    assert_eq!(t.host_file_ids, [1, 2, 4, 5]);
    let switches: Vec<_> = t.switches.iter().map(|s| (s.tier, s.index, s.file_id)).collect();
    assert_eq!(switches, [(1, 0, Some(0)), (1, 1, Some(6)), (2, 0, Some(3))]);
    assert_eq!((t.host_by_file_id(4), t.host_by_file_id(3)), (Some(HostId(2)), None));
    assert_eq!(t.switches[0].latency, Duration::from_ns(500));
    let peers = |n| t.links_of(NodeId(n)).map(|l| t.ports[l as usize].peer.0).collect::<Vec<_>>();
    assert_eq!((peers(4), peers(5), peers(6)), (vec![0, 1, 6], vec![2, 3, 6, 6], vec![4, 5, 5, 6, 6]));
    assert_eq!((t.down_ports(NodeId(5)), t.down_ports(NodeId(6))), (2, 3));
    let lossy = t.ports[t.link(NodeId(4), 1).index()];
    assert_eq!((lossy.loss, lossy.latency), (0.25, Duration::from_us(1)));
    assert_eq!(t.ports[1].loss, 0.25);
    let rates: Vec<_> = t.error_rates.iter().map(|rate| (rate.probability, &rate.lines[..])).collect();
    assert_eq!(rates, [(0.25, &[4][..])]);
    let own = t.link(NodeId(6), 3);
    assert_eq!(t.reverse(own), t.link(NodeId(6), 4));
    assert_eq!(t.reverse(t.link(NodeId(5), 3)), t.link(NodeId(6), 2));
}

#[test]
fn tiers_follow_the_distance_to_the_nearest_tor() {
    let t = read(
        "6 4 5\n2 3 4 5\n0 2 1Gbps 1ns 0\n1 5 1Gbps 1ns 0\n\
         2 3 1Gbps 1ns 0\n3 4 1Gbps 1ns 0\n4 5 1Gbps 1ns 0\n",
    );
    let tiers: Vec<u8> = t.unwrap().switches.iter().map(|s| s.tier).collect();
    assert_eq!(tiers, [1, 1, 2, 2]);
    let chain = |switches: u32| {
        let ids: Vec<String> = (2..switches + 2).map(|s| s.to_string()).collect();
        let mut text = format!(
            "{} {switches} {}\n{}\n0 2 1Gbps 1ns 0\n1 2 1Gbps 1ns 0\n",
            switches + 2,
            switches + 1,
            ids.join(" ")
        );
        for s in 2..switches + 1 {
            text += &format!("{s} {} 1Gbps 1ns 0\n", s + 1);
        }
        read(&text)
    };
    assert_eq!(chain(255).unwrap().top_tier(), 255);
    assert!(chain(256).unwrap_err().contains("switch 257 is more than 254 links away"));
}

/// Mistakes in [`GOOD`]: a text in it, the text that replaces it, and the error.
const MISTAKES: &[(&str, &str, &str)] = &[
    ("7 3 8", "7 3", "g.txt:1: this line has 2 columns; it must have 3: nodes switches links (HPCC), 4: "),
    ("7 3 8", "7 x 8", "g.txt:1: \"x\" is not the number of switches"),
    ("7 3 8", "7 9 8", "g.txt:1: 9 switches among 7 nodes are not possible"),
    ("7 3 8", "7 6 8", "g.txt:1: 7 nodes less 6 switches leave 1 hosts"),
    ("7 3 8", "20 3 8", "g.txt:1: 8 links are too few to join 20 nodes; at least 19"),
    ("7 3 8", "7 3 4294967295", "g.txt:1: 4294967295 links are too many"),
    ("7 3 8", "7 3 9", "g.txt:1: line 1 counts 9 links, but the file has 8"),
    ("7 3 8", "7 2 8", "g.txt:1: the count of switches in line 1 is 2, but line 2 gives 3"),
    ("0 6 3\n", "0 6\n", "g.txt:2: the count of switches in line 1 is 3, but line 2 gives 2"),
    ("0 6 3\n", "0 6 6\n", "g.txt:2: switch 6 is given twice"),
    ("0 6 3\n", "0 6 7\n", "g.txt:2: there is no node 7: line 1 counts 7, numbered 0 to 6"),
    ("0 6 3\n", "0 six 3\n", "g.txt:2: this line must give the numbers of the 3 switches"),
    ("0 6 3\n", "", "g.txt:2: this line must give the numbers of the 3 switches"),
    (
        "0 6 3\n",
        "1 2 4\n",
        "g.txt:2: this line must give the numbers of the switches, and has not 0, which has several links",
    ),
    ("0 6 3\n", "0 1 3\n", "g.txt:2: this line must give the numbers of the switches, and has not 6"),
    ("25Gbps", "25gbps", "g.txt:6: \"25gbps\" is no rate such as 100Gbps"),
    ("25Gbps", "25", "g.txt:6: the rate 25 has no unit, and ns-3 reads it as bits a second"),
    ("2us", "2", "g.txt:6: the latency 2 has no unit, and ns-3 reads it as seconds"),
    ("1000ns", "1000", "g.txt:3: the latency 1000 has no unit"),
    ("2us", "0.000002", "g.txt:6: the latency 0.000002 has no unit"),
    ("2us", "2usec", "g.txt:6: \"2usec\" is no latency such as 1000ns"),
    ("0.25", "25", "g.txt:4: the error rate \"25\" is no probability"),
    ("0.25", "25%", "g.txt:4: the error rate \"25%\" is no probability"),
    ("0.25", "-0.25", "g.txt:4: the error rate \"-0.25\" is no probability"),
    ("2us 0", "2us", "g.txt:6: this line has no error rate (node node rate latency error-rate)"),
];

/// Mistakes in [`GOOD`] as in [`MISTAKES`], but with an error that proposes no replacement.
const WITHOUT_HINT: &[(&str, &str, &str)] = &[
    ("1 0 100", "1 9 100", "g.txt:3: there is no node 9: line 1 counts 7, numbered 0 to 6"),
    ("3 3 1600", "x 3 1600", "g.txt:11: \"x\" is not a node's number, a whole number from 0"),
    ("1 0 100", "6 0 100", "g.txt:1: host 1 has no link"),
    ("2us 0", "", "g.txt:6: this line has 3 columns; it must have 5: node node rate latency error-rate"),
    ("3 0 400", "6 6 400", "g.txt:1: the graph is not connected: host 1 cannot reach host 4"),
];

/// The line, the problem and the proposed text of an error.
fn told(error: &str) -> (usize, &str, Option<&str>) {
    let line = error.split(':').nth(1).unwrap().parse().unwrap();
    let (problem, instead) = error.rsplit_once("; write: ").map_or((error, None), |(a, b)| (a, Some(b)));
    (line, problem, instead)
}

/// The text with one line replaced, or with another line inserted above it.
fn followed(text: &str, line: usize, instead: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    match instead.strip_suffix(" above it") {
        Some(above) => lines.insert(line - 1, above),
        None => lines[line - 1] = instead,
    }
    lines.join("\n") + "\n"
}

#[test]
fn a_hint_followed_gives_what_was_meant() {
    let meant = format!("{:?}", read(GOOD).unwrap());
    for (from, to, expected) in MISTAKES {
        let text = GOOD.replacen(from, to, 1);
        assert_ne!(text, GOOD, "{from}");
        let error = read(&text).unwrap_err();
        assert!(error.starts_with(expected), "{to:?}: {error}");
        let (line, _, instead) = told(&error);
        let fixed = followed(&text, line, instead.unwrap_or_else(|| panic!("no hint: {error}")));
        let read = read(&fixed).unwrap_or_else(|further| panic!("{error}\nfollowed: {further}"));
        assert_eq!(format!("{read:?}"), meant, "{error}");
    }
    for (from, to, expected) in WITHOUT_HINT {
        let error = read(&GOOD.replacen(from, to, 1)).unwrap_err();
        assert!(error.starts_with(expected), "{to:?}: {error}");
        assert_eq!(told(&error).2, None, "{error}");
    }
}

#[test]
fn a_hint_that_is_an_example_can_be_read() {
    for (from, to, expected) in [
        ("25Gbps", "0Gbps", "g.txt:6: a link with rate 0Gbps carries nothing; write: 5 6 100Gbps 2us 0"),
        (
            "0.25",
            "NaN",
            "g.txt:4: the error rate \"NaN\" is no probability, a number from 0 to 1; write: 2 0 100Gbps 0.001ms 0",
        ),
    ] {
        let text = GOOD.replacen(from, to, 1);
        let error = read(&text).unwrap_err();
        assert_eq!(error, expected);
        let (line, _, instead) = told(&error);
        assert!(read(&followed(&text, line, instead.unwrap())).is_ok(), "{error}");
    }
}

#[test]
fn files_without_their_lines_are_refused() {
    assert_eq!(read("\n").unwrap_err(), "g.txt:1: the file is empty; line 1 is \"nodes switches links\"");
    assert!(read("7 3 8\n").unwrap_err().contains("the 3 switches' numbers"));
    let cut = &GOOD[..GOOD.find("3 3 1600").unwrap()];
    assert_eq!(read(cut).unwrap_err(), "g.txt:1: line 1 counts 8 links, but the file has 7; write: 7 3 7");
    let lost = "4 2 3\n2 3\n0 2 1Gbps 1ns 0\n1 2 1Gbps 1ns 0\n3 3 1Gbps 1ns 0\n";
    assert!(read(lost).unwrap_err().contains("switch 3 has no path to any host"));
}

#[test]
fn a_flow_file_is_no_topology_file() {
    for flow in ["0 1 3 100 5000 2.0", "0 1 3 5000 2", "0 1 3 10 2.0 9.5"] {
        assert_eq!(
            read(&format!("2\n{flow}\n{flow}\n")).unwrap_err(),
            "g.txt:1: g.txt is a flow file (a count, then a flow a line), and no topology file; it belongs below [workload], \
             with kind = \"ns3-flows\""
        );
    }
}

#[test]
fn of_more_links_than_are_counted_the_first_are_read() {
    let seven = GOOD.replacen("7 3 8", "7 3 7", 1);
    assert_eq!(read(&seven).unwrap().links(), 14);
    assert_eq!((unread_cables("g.txt", &seven), unread_cables("g.txt", GOOD)), (Some((1, 7, 1)), None));
    let spec = crate::TopologySpec::Graph { file: "g.txt".into(), switch_latency: Duration::ZERO };
    assert_eq!(
        crate::warnings(&spec, Some(&seven)).unwrap().to_string(),
        "g.txt:1: left out of g.txt, as its simulator does: 1 link behind the 7 that its first line counts"
    );
}

#[test]
fn dialects_are_told_by_their_columns() {
    let hpcc = read("3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n").unwrap();
    let meant = format!("{hpcc:?}");
    for (whose, text) in [
        (
            "ns3-rdma",
            "3 1 2\n2\n0 2 100Gbps 0.001ms\n1 2 100Gbps 0.001ms\n\nFirst line: total node #, link #\n",
        ),
        (
            "ns3-rdma, prose that begins with numbers",
            "3 1 2\n2\n0 2 100Gbps 1us\n1 2 100Gbps 1us\n0 1 notes about these nodes\n",
        ),
        ("ns3-datacenter", "3 1 1 2\n2 \n0 2 100000000000.0 1us 0\n1 2 100000000000.0 1us 0\n"),
        (
            "Reverie",
            "3 1 1 2 100000000000 100000000000\n2 \n0 2 100000000000 1us 0\n1 2 100000000000 1us 0\n",
        ),
        ("SimAI without NVSwitches", "3 1 0 1 2 H100\n2 \n0 2 100Gbps 0.001ms 0\n1 2 100Gbps 0.001ms 0\n"),
    ] {
        assert_eq!(format!("{:?}", read(text).unwrap_or_else(|e| panic!("{whose}: {e}"))), meant, "{whose}");
    }
    for (text, expected) in [
        ("3 1 2 2\n2\n0 2 1Gbps 1us 0\n1 2 1Gbps 1us\n", "g.txt:4: this line has no error rate"),
        (
            "9 1 1 2\n2\n0 2 1Gbps 1us 0\n1 2 1Gbps 1us 0\n",
            "g.txt:1: 2 links are too few to join 9 nodes; at least 8 are needed; write: 3 1 1 2",
        ),
        (
            "3 1 0 1 9 H100\n2\n0 2 1Gbps 1us 0\n1 2 1Gbps 1us 0\n",
            "g.txt:1: line 1 counts 9 links, but the file has 2; write: 3 1 0 1 2 H100",
        ),
        ("3 1 x 1 2 H100\n2\n", "g.txt:1: \"x\" is not the number of nvswitches"),
    ] {
        let error = read(text).unwrap_err();
        assert!(error.starts_with(expected), "{error}");
    }
}

const RING: &str = "4 0 4\n\n0 1 100Gbps 2us 0\n1 2 100Gbps 2us 0\n2 3 100Gbps 2us 0\n3 0 100Gbps 2us 0\n";
const TWO_NICS: &str = "6 2 7\n4 5\n0 4 100Gbps 1us 0\n0 5 100Gbps 1us 0\n1 4 100Gbps 1us 0\n2 4 100Gbps 1us 0\n\
    2 5 50Gbps 1us 0\n3 5 100Gbps 1us 0\n4 5 100Gbps 1us 0\n";
const NVLINK: &str = "7 2 1 2 8 H100\n4 5 6\n0 4 900Gbps 1us 0\n1 4 900Gbps 1us 0\n0 5 200Gbps 1us 0\n1 6 200Gbps 1us 0\n\
    2 4 900Gbps 1us 0\n3 4 900Gbps 1us 0\n2 5 200Gbps 1us 0\n3 6 200Gbps 1us 0\n";

#[test]
fn hosts_with_several_links_to_switches_have_several_ports() {
    let t = read(TWO_NICS).unwrap();
    assert_eq!((t.hosts, t.switches.len(), t.links()), (4, 2, 14));
    let ports = |host: u32| -> Vec<(u32, Rate)> {
        let links = t.links_of(NodeId(host)).map(|link| &t.ports[link as usize]);
        links.map(|port| (port.peer.0, port.rate)).collect()
    };
    let [slow, fast] = [50, 100].map(Rate::from_gbps);
    assert_eq!(
        [0, 1, 2, 3].map(ports),
        [vec![(4, fast), (5, fast)], vec![(4, fast)], vec![(4, fast), (5, slow)], vec![(5, fast)]]
    );
    assert_eq!(t.host_rate(HostId(2)), Rate::from_gbps(150));
    assert!(t.planes.is_empty() && t.servers.is_none(), "the switches are joined");
    let names: Vec<String> =
        t.links_of(NodeId(2)).map(|link| t.link_name(anabranch_base::LinkId(link))).collect();
    assert_eq!(names, ["host:2/port:0", "host:2/port:1"]);
    // The ports are in the order of the lines.
    let turned = TWO_NICS.replacen("0 4 100Gbps 1us 0\n0 5", "0 5 100Gbps 1us 0\n0 4", 1);
    assert_eq!(read(&turned).unwrap().tor_of(HostId(0), 0), NodeId(5));
}

#[test]
fn hosts_joined_to_hosts_have_switches_of_their_own() {
    let t = read(RING).unwrap();
    assert_eq!((t.hosts, t.switches.len(), t.links()), (4, 4, 2 * (4 + 4)));
    assert_eq!((t.host_file_ids.as_slice(), t.file_nodes()), (&[0, 1, 2, 3][..], 4));
    for (host, switch) in (0..4).map(HostId).zip(&t.switches) {
        assert_eq!((t.host_ports(host), t.tor_of(host, 0)), (1, NodeId(4 + host.0)));
        assert_eq!((switch.tier, switch.file_id, switch.latency), (1, None, Duration::ZERO));
        let port = &t.ports[t.link(host.into(), 0).index()];
        assert_eq!((port.rate, port.latency), (Rate::from_gbps(200), Duration::ZERO), "both links together");
    }
    assert_eq!(crate::shortest_paths::between(&t, HostId(0), HostId(1)), Some((3, 1)));
    assert_eq!(crate::shortest_paths::between(&t, HostId(0), HostId(2)), Some((4, 2)));
    // In a graph with switches, the switches of the file keep their numbers and their latency.
    let mixed = "4 1 4\n3\n0 1 100Gbps 2us 0\n1 3 50Gbps 1us 0\n2 3 100Gbps 1us 0\n0 3 100Gbps 1us 0\n";
    let t = read(mixed).unwrap();
    let switches: Vec<_> = t.switches.iter().map(|s| (s.file_id, s.latency)).collect();
    assert_eq!(switches, [(Some(3), Duration::from_ns(500)), (None, Duration::ZERO), (None, Duration::ZERO)]);
    let rates = [0, 1, 2].map(|host| t.host_rate(HostId(host)));
    assert_eq!(rates, [200, 150, 100].map(Rate::from_gbps));
}

#[test]
fn the_mesh_of_a_dgx_1_is_read_without_switches() {
    let mesh = "8 0 16\n\n0 1 200Gbps 0.002ms 0\n0 2 200Gbps 0.002ms 0\n0 3 400Gbps 0.002ms 0\n0 4 400Gbps 0.002ms 0\n\
        1 2 400Gbps 0.002ms 0\n1 3 200Gbps 0.002ms 0\n1 5 400Gbps 0.002ms 0\n2 3 400Gbps 0.002ms 0\n\
        2 6 200Gbps 0.002ms 0\n3 7 200Gbps 0.002ms 0\n4 5 200Gbps 0.002ms 0\n4 6 200Gbps 0.002ms 0\n\
        4 7 400Gbps 0.002ms 0\n5 6 400Gbps 0.002ms 0\n5 7 200Gbps 0.002ms 0\n6 7 400Gbps 0.002ms 0\n";
    let t = read(mesh).unwrap();
    assert_eq!((t.hosts, t.switches.len(), t.links()), (8, 8, 2 * (8 + 16)));
    assert_eq!(t.host_rate(HostId(0)), Rate::from_gbps(1200), "six NVLinks");
    assert_eq!(crate::shortest_paths::between(&t, HostId(0), HostId(7)), Some((4, 2)));
}

/// Two servers of two GPUs each, with one NVSwitch (4 or 5) per server and the ToRs 6 and 7.
const SERVERS: &str = "8 2 2 2 8 H100\n4 5 6 7\n0 4 2880Gbps 25ns 0\n1 4 2880Gbps 25ns 0\n2 5 2880Gbps 25ns 0\n\
    3 5 2880Gbps 25ns 0\n0 6 200Gbps 1us 0\n1 7 200Gbps 1us 0\n2 6 200Gbps 1us 0\n3 7 200Gbps 1us 0\n";

#[test]
fn nvswitches_of_simai_are_the_nvlink_of_servers() {
    let t = read(SERVERS).unwrap();
    assert_eq!((t.hosts, t.switches.len(), t.links()), (4, 2, 2 * 4));
    assert_eq!(t.switches.iter().map(|switch| switch.file_id).collect::<Vec<_>>(), [Some(6), Some(7)]);
    assert_eq!((t.file_nodes(), t.host_by_file_id(3), t.host_by_file_id(4)), (8, Some(HostId(3)), None));
    let servers = t.servers.as_ref().unwrap();
    let nvlink = crate::NvLink { rate: Rate::from_gbps(2880), latency: Duration::from_ns(50) };
    assert_eq!((servers.count(), servers.gpus(), servers.nvlink), (2, 4, Some(nvlink)));
    assert_eq!([0, 1].map(|server| servers.domain_of(server)), [0, 1]);
    assert_eq!(t.link_name(t.link(NodeId(3), 0)), "server:1/nic:1");
    // An NVSwitch may join several servers, as in a rack of 72 GPUs, and a server may have several NVSwitches.
    let all = read(NVLINK).unwrap().servers.unwrap();
    assert_eq!((all.count(), all.nvlink.unwrap().rate), (2, Rate::from_gbps(900)));
    assert_eq!([0, 1].map(|server| all.domain_of(server)), [0, 0]);
    let twice = SERVERS.replacen("8 2 2 2 8", "8 2 2 2 12", 1)
        + "0 5 20Gbps 1ns 0\n1 5 20Gbps 1ns 0\n\
        2 4 20Gbps 1ns 0\n3 4 20Gbps 1ns 0\n";
    let servers = read(&twice).unwrap().servers.unwrap();
    assert_eq!(servers.nvlink, Some(crate::NvLink { rate: Rate::from_gbps(2900), ..nvlink }));
    assert_eq!(servers.domain_of(1), 0);
    // Without NVSwitches, servers have no NVLink.
    let none = read(
        "6 2 0 2 5 H20\n4 5\n0 4 1Gbps 1us 0\n1 5 1Gbps 1us 0\n2 4 1Gbps 1us 0\n3 5 1Gbps 1us 0\n\
        4 5 1Gbps 1us 0\n",
    )
    .unwrap();
    let servers = none.servers.unwrap();
    assert_eq!((servers.count(), servers.nvlink, servers.domain_of(1)), (2, None, 1));
}

#[test]
fn servers_of_simai_that_contradict_their_header_are_refused() {
    for (from, to, expected) in [
        ("8 2 2", "8 3 2", "g.txt:1: 4 GPUs are no whole number of servers of 3 GPUs; write: 8 2 2 2 8 H100"),
        ("8 2 2", "8 0 2", "g.txt:1: 4 GPUs are no whole number of servers of 0 GPUs; write: 8 1 2 2 8 H100"),
        ("8 2 2", "8 x 2", "g.txt:1: \"x\" is not the number of gpus_per_server, a whole number from 0"),
        (
            "0 6 200",
            "4 6 200",
            "g.txt:7: NVSwitch 4 is joined to switch 6; an NVSwitch is joined to GPUs alone",
        ),
        (
            "2 5 2880Gbps 25ns 0",
            "2 5 2880Gbps 25ns 0.1",
            "g.txt:5: the NVLink of GPU 2 has the error rate 0.1; NVLinks are simulated without packets, so that it must be \
             0",
        ),
        (
            "3 5 2880Gbps",
            "3 5 2Tbps",
            "g.txt:6: the NVLinks of GPU 3 carry 2Tbps after 25ns, and those of GPU 0 2880Gbps after 25ns; all GPUs must \
             have equal ones",
        ),
        (
            "3 5 2880Gbps",
            "3 6 2880Gbps",
            "g.txt:1: GPU 3 has no link to an NVSwitch, and servers have NVSwitches",
        ),
        ("8 2 2", "8 4 2", "g.txt:1: GPUs 0 and 2 are in one server of 4 GPUs, and no NVSwitch joins them"),
    ] {
        let error = read(&SERVERS.replacen(from, to, 1)).unwrap_err();
        assert_eq!(error, expected);
    }
    let unused = SERVERS.replacen("8 2 2 2 8", "9 2 3 2 8", 1).replacen("4 5 6 7", "4 5 8 6 7", 1);
    let error = read(&unused).unwrap_err();
    assert_eq!(error, "g.txt:1: NVSwitch 8 has no link to any GPU; add a link, or remove it");
}

#[test]
fn hosts_that_are_no_nics_are_refused() {
    let to_itself = read("3 1 3\n2\n0 2 1Gbps 1us 0\n1 2 1Gbps 1us 0\n0 0 1Gbps 1us 0\n").unwrap_err();
    assert_eq!(to_itself, "g.txt:5: host 0 is joined to itself");
    let many = format!("3 1 18\n2\n1 2 1Gbps 1us 0\n{}", "0 2 1Gbps 1us 0\n".repeat(17));
    assert_eq!(
        read(&many).unwrap_err(),
        "g.txt:1: host 0 has 17 links, and a NIC has at most 16 ports; a node with more is a switch"
    );
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "\\PC*") {
        let _ = read(&text);
    }

    #[test]
    fn no_numbers_make_it_panic(
        header in prop::array::uniform3(0u32..12),
        switches in prop::collection::vec(0u32..12, 0..6),
        links in prop::collection::vec((0u32..10, 0u32..10, 0u32..3), 0..12),
    ) {
        let switches: Vec<String> = switches.iter().map(u32::to_string).collect();
        let [n, _, _] = header;
        let mut text = format!("{n} {} {}\n{}\n", switches.len(), links.len(), switches.join(" "));
        for (a, b, rate) in links {
            text += &format!("{a} {b} {rate}Gbps 1ns 0\n");
        }
        if let Ok(t) = read(&text) {
            prop_assert!(t.is_connected());
        }
    }
}
