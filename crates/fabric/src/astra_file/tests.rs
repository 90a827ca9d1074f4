use super::*;
use crate::{Routing, TopologySpec, build};
use anabranch_base::HostId;
use proptest::prelude::*;

const GRID: &str = "# a comment\ntopology: [ Switch, Ring ]\nnpus_count: [ 8, 4 ]\nbandwidth: [ 400, 50.0 ] # GB/s\n\
                    latency: [ 936.25, 1000 ]\n";

fn topology(text: &str) -> Topology {
    let spec = TopologySpec::Graph { file: "n.yml".into(), switch_latency: Duration::ZERO };
    build(&spec, Some(text)).unwrap()
}

/// The number of links and the latency of the path between two hosts, without the links between hosts and their own
/// switches.
fn path(t: &Topology, from: u32, to: u32) -> (usize, Duration) {
    let path = t.ideal_path(&Routing::new(t, &|_| true), HostId(from), HostId(to));
    let latency = path.iter().fold(Duration::ZERO, |sum, link| sum + t.ports[link.index()].latency);
    (path.len() - 2, latency)
}

#[test]
fn a_gigabyte_has_2_to_the_30_bytes_and_a_switch_two_links() {
    let network = parse_astra("n.yml", GRID).unwrap();
    let [switch, ring] = network.dims[..] else { panic!() };
    assert_eq!((ring.link, ring.latency), (Rate(429_496_729_600), Duration::from_ns(1000)));
    assert_eq!((switch.link, switch.latency), (Rate(8 * 429_496_729_600), Duration(936_250)));
    let t = topology("topology: [ Switch ]\nnpus_count: [ 8 ]\nbandwidth: [ 400.0 ]\nlatency: [ 936.25 ]\n");
    assert_eq!((t.hosts, t.switches.len(), t.links()), (8, 1, 16));
    let both = t.ideal_path(&Routing::new(&t, &|_| true), HostId(0), HostId(7));
    let latency = both.iter().fold(Duration::ZERO, |sum, link| sum + t.ports[link.index()].latency);
    assert_eq!((both.len(), latency), (2, Duration(2 * 936_250)));
}

#[test]
fn dimension_0_varies_fastest() {
    let network = parse_astra("n.yml", GRID).unwrap();
    assert_eq!(network.npus(), 32);
    for rank in 0..32 {
        assert_eq!(network.place(rank), [rank % 8, rank / 8]);
    }
    let t = topology(GRID);
    // A switch for each NPU, four switches of 8 NPUs, and eight rings of 4.
    assert_eq!((t.hosts, t.switches.len(), t.links()), (32, 32 + 4, 2 * (32 + 32 + 32)));
    assert_eq!(t.host_rate(HostId(0)), Rate(429_496_729_600 * (8 + 2)));
    assert_eq!(path(&t, 0, 7), (2, Duration(2 * 936_250)));
    assert_eq!(path(&t, 0, 8), (1, Duration::from_ns(1000)));
    assert_eq!(path(&t, 0, 24), (1, Duration::from_ns(1000)), "the ring is closed");
    assert_eq!(path(&t, 0, 16), (2, Duration::from_ns(2000)));
}

#[test]
fn rings_of_two_have_one_link_and_all_pairs_of_a_full_mesh_one() {
    let t = topology(
        "topology: [ Ring, FullyConnected ]\nnpus_count: [ 2, 4 ]\nbandwidth: [ 1, 1 ]\nlatency: [ 1, 1 ]\n",
    );
    assert_eq!((t.hosts, t.switches.len(), t.links()), (8, 8, 2 * (8 + 4 + 2 * 6)));
    assert_eq!(path(&t, 0, 6), (1, Duration::from_ns(1)));
    assert_eq!(path(&t, 0, 7), (2, Duration::from_ns(2)));
}

#[test]
fn json_is_read_likewise() {
    let json = "{\n  \"topology\": [\"Switch\", \"Ring\"],\n  \"npus_count\": [8, 4],\n  \"bandwidth\": [400, 50.0],\n  \
                \"latency\": [936.25, 1000]\n}\n";
    assert_eq!(parse_astra("n.json", json), parse_astra("n.yml", GRID));
}

#[test]
fn mistakes_are_answered_with_their_line() {
    for (from, to, expected) in [
        ("50.0", "tbd", "n.yml:4: \"tbd\" is no bandwidth, a number of GB/s from 0"),
        ("1000 ]", "-1 ]", "n.yml:5: \"-1\" is no latency, a number of ns from 0"),
        ("400,", "0,", "n.yml:4: a link with the bandwidth 0 GB/s carries nothing or too much"),
        (
            "Switch,",
            "switch,",
            "n.yml:2: \"switch\" is no topology of ASTRA-sim: Ring, FullyConnected or Switch; write: Switch",
        ),
        (
            "Switch,",
            "Torus,",
            "n.yml:2: \"Torus\" is no topology of ASTRA-sim: Ring, FullyConnected or Switch",
        ),
        (
            "[ 8, 4 ]",
            "[ 8 ]",
            "n.yml:3: npus_count has 1 entries, and topology has 2: one for each dimension",
        ),
        ("[ 8, 4 ]", "[ 8, 0 ]", "n.yml:3: \"0\" is no number of NPUs, a whole number from 1"),
        ("[ 8, 4 ]", "[ 1, 1 ]", "n.yml:3: 1 NPUs are not simulated: 2 to 131072"),
        (
            "[ 8, 4 ]",
            "8",
            "n.yml:3: npus_count must be a list with an entry per dimension; write: npus_count: [ 8 ]",
        ),
        (
            "latency:",
            "delay:",
            "n.yml:1: latency is missing, a list with an entry per dimension; write: latency: [ 500.0 ]",
        ),
    ] {
        let error = parse_astra("n.yml", &GRID.replacen(from, to, 1)).unwrap_err();
        assert_eq!(error.to_string(), expected, "{to}");
    }
    assert!(
        parse_astra("n.yml", "topology: [ Ring").unwrap_err().to_string().contains("neither YAML nor JSON")
    );
    assert!(parse_astra("n.yml", "").unwrap_err().to_string().starts_with("n.yml:1: the file is empty"));
    let logical = parse_astra("l.json", "{\n\"logical-dims\": [\"8\",\"2\"]\n}").unwrap_err().to_string();
    assert_eq!(parse_logical_dims("l.json", r#"{"logical-dims": ["8","2"]}"#), Ok(vec![8, 2]));
    assert!(logical.starts_with("l.json:2: these are the logical dimensions of collectives"), "{logical}");
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "\\PC*") {
        let _ = parse_astra("n.yml", &text);
    }
}
