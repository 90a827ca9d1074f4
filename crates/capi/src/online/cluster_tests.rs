//! Tests of ranks on servers, queue pairs, files, warnings and counters.

use super::*;
use crate::counters::counter;
use anabranch_sim::scenario::{NoFiles, Overrides, read};
use anabranch_sim::{Control, run};

/// A scenario with two servers of two NICs each, on a network of two tiers.
fn rails(more: &str) -> String {
    format!(
        "schemes = [\"reps\"]\ntopology = {{ kind = \"rails\", servers = 2, nics = 2, link = \"400Gbps\", segment = 2, uplinks = 2{more} }}\n"
    )
}

const NVLINK: &str = ", nvlink = \"3600Gbps\", nvlink_latency = \"25ns\"";

/// The serialisation time of 128 KiB at 3.6 Tb/s, in ps.
const SERIALIZATION: u64 = 291_272;
const BYTES: u64 = 128 << 10;

fn open(text: &str) -> Online<&'static str> {
    Online::new(text, None).unwrap_or_else(|e| panic!("{e}"))
}

fn callbacks(online: &mut Online<&'static str>) -> Vec<(u64, &'static str)> {
    let mut heard = Vec::new();
    while let Some(callback) = online.advance().unwrap() {
        heard.push((online.now().0, callback));
    }
    heard
}

/// The delivery time of a message that is alone in the network, from a run with this simulator's own workload.
fn alone(text: &str, from: u32, to: u32, bytes: u64) -> u64 {
    let text = format!(
        "{text}seeds = [1]\nworkload = {{ kind = \"messages\", message = [{{ from = {from}, to = {to}, bytes = \"{bytes}B\" }}] }}\n"
    );
    let scenario = read("s.toml", &text, &NoFiles, &Overrides::default()).unwrap_or_else(|e| panic!("{e}"));
    run(&scenario.points().unwrap()[0], &Control::default()).unwrap().flows[0].delivery_ps.unwrap()
}

#[test]
fn gpus_of_a_domain_use_nvlink_one_message_after_the_other() {
    let text = rails(NVLINK);
    let mut online = open(&text);
    assert_eq!((online.ranks(), online.hosts()), (4, 4));
    assert_eq!((online.host_rate(3), online.host_rate(4)), (Some(Rate::from_gbps(400)), None));
    online.send(0, 1, BYTES, 0, Some("sent")).unwrap();
    online.receive(0, 1, BYTES, 0, "first").unwrap();
    online.send(0, 1, BYTES, 1, None).unwrap();
    online.receive(0, 1, BYTES, 1, "second").unwrap();
    online.send(2, 1, BYTES, 2, None).unwrap();
    online.receive(2, 1, BYTES, 2, "network").unwrap();
    let network = alone(&text, 2, 1, BYTES);
    let expected = [
        (SERIALIZATION, "sent"),
        (SERIALIZATION + 25_000, "first"),
        (2 * SERIALIZATION + 25_000, "second"),
        (network, "network"),
    ];
    assert_eq!(callbacks(&mut online), expected);
    let now = online.now().0;
    online.send(1, 0, BYTES, 0, None).unwrap();
    online.receive(1, 0, BYTES, 0, "back").unwrap();
    assert_eq!(callbacks(&mut online), [(now + SERIALIZATION + 25_000, "back")]);
}

#[test]
fn nvlink_is_busy_at_both_ends_and_a_domain_may_span_servers() {
    let mut online = open(&rails(&format!("{NVLINK}, nvlink_domain = 2")));
    online.send(0, 1, BYTES, 0, None).unwrap();
    online.receive(0, 1, BYTES, 0, "first").unwrap();
    online.send(3, 1, BYTES, 0, None).unwrap();
    online.receive(3, 1, BYTES, 0, "second").unwrap();
    online.send(2, 3, BYTES, 0, None).unwrap();
    online.receive(2, 3, BYTES, 0, "other ends").unwrap();
    let one = SERIALIZATION + 25_000;
    assert_eq!(
        callbacks(&mut online),
        [(one, "first"), (one, "other ends"), (one + SERIALIZATION, "second")]
    );
}

#[test]
fn gpus_without_nvlink_use_their_nics() {
    let text = rails("");
    let mut online = open(&text);
    online.send(0, 1, BYTES, 0, None).unwrap();
    online.receive(0, 1, BYTES, 0, "network").unwrap();
    assert_eq!(callbacks(&mut online), [(alone(&text, 0, 1, BYTES), "network")]);
    // Two GPUs of a server share each NIC. GPUs 2 and 3 have NIC 1, and GPUs 4 and 5 have NIC 0 of the other server.
    let mut online = open(&rails(", gpus = 4"));
    assert_eq!((online.ranks(), online.hosts()), (8, 4));
    let why = online.send(2, 3, BYTES, 0, None).unwrap_err().to_string();
    assert_eq!(
        why,
        "send from 2 to 3: both use the NIC of host 1, and no NVLink joins them; write: nvlink = \"3600Gbps\" in [topology], or as many NICs as GPUs"
    );
    open(&rails(", gpus = 4, nvlink = \"3600Gbps\"")).send(2, 3, BYTES, 0, None).unwrap();
    let why = online.send(2, 8, BYTES, 0, None).unwrap_err().to_string();
    assert_eq!(why, "send from 2 to 8: the fabric has the GPUs 0 to 7");
    online.send(3, 5, BYTES, 0, None).unwrap();
    online.receive(3, 5, BYTES, 0, "network").unwrap();
    assert_eq!(callbacks(&mut online), [(alone(&rails(""), 1, 2, BYTES), "network")]);
    online.receive(3, 5, BYTES, 0, "never").unwrap();
    let why = online.advance().unwrap_err().to_string();
    assert!(why.contains("GPU 5 waits for a message of GPU 3 with tag 0"), "{why}");
}

#[test]
fn rails_without_spines_are_refused_message_by_message() {
    let text = "schemes = [\"reps\"]\ntopology = { kind = \"rails\", servers = 4, nics = 2, link = \"400Gbps\", tiers = 1 }\n";
    let mut online = open(text);
    let why = online.send(0, 3, BYTES, 0, None).unwrap_err().to_string();
    assert!(why.contains("send from 0 to 3: no links lead from host 0 to host 3; write: tiers = 2"), "{why}");
    open(&text.replace("tiers = 1", "tiers = 2")).send(0, 3, BYTES, 0, None).unwrap();
    online.send(0, 4, BYTES, 0, Some("sent")).unwrap();
    assert_eq!(callbacks(&mut online).len(), 1);
}

#[test]
fn fabrics_with_planes_and_several_ports_can_be_opened() {
    for topology in [
        "kind = \"multi-plane\", servers = 4, nics = 2, ports = 4, link = \"100Gbps\"",
        "kind = \"hpn\", servers = 4, nics = 2, link = \"200Gbps\"",
        "kind = \"dcn-plus\", servers = 4, nics = 2, link = \"200Gbps\"",
    ] {
        let text = format!("schemes = [\"reps\"]\ntopology = {{ {topology} }}\n");
        let mut online = open(&text);
        assert_eq!(online.host_rate(0), Some(Rate::from_gbps(400)), "{topology}");
        online.send(0, 7, BYTES, 0, None).unwrap();
        online.receive(0, 7, BYTES, 0, "received").unwrap();
        assert_eq!(callbacks(&mut online), [(alone(&text, 0, 7, BYTES), "received")], "{topology}");
    }
}

/// Messages on separate queue pairs end together. On a shared queue pair they end one after the other.
#[test]
fn queue_pairs_are_common_numbered_or_of_one_message() {
    let text =
        "schemes = [\"rocev2\"]\ntopology = { kind = \"single-switch\", hosts = 4, link = \"400Gbps\" }\n";
    let first = |queue_pairs: [QueuePair; 2]| {
        let mut online = open(text);
        for (tag, queue_pair) in (0..).zip(queue_pairs) {
            online.send_on(queue_pair, (0, 1), 4 << 20, tag, None).unwrap();
            online.receive(0, 1, 4 << 20, tag, "").unwrap();
        }
        let ends = callbacks(&mut online);
        ends[0].0 as f64 / ends[1].0 as f64
    };
    assert!(first([QueuePair::Shared(3); 2]) < 0.6);
    assert!(first([QueuePair::Shared(3), QueuePair::Shared(4)]) > 0.9);
    assert!(first([QueuePair::Own; 2]) > 0.9);
}

#[test]
fn files_are_those_of_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    // The file has two hosts and a switch, in the format of HPCC.
    std::fs::write(folder.path().join("two.topo"), "3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n")
        .unwrap();
    let text = "schemes = [\"reps\"]\ntopology = { kind = \"graph\", file = \"two.topo\" }\n";
    let of = |folder: Option<PathBuf>| Online::<()>::new(text, folder);
    assert_eq!(of(Some(folder.path().to_owned())).unwrap_or_else(|e| panic!("{e}")).hosts(), 2);
    let why = of(None).err().unwrap().to_string();
    assert!(why.contains("two.topo") && why.contains("anabranch_new_in"), "{why}");
    let why = of(Some(folder.path().join("other"))).err().unwrap().to_string();
    assert!(why.contains("two.topo") && why.contains("No such file"), "{why}");
}

#[test]
fn warnings_and_counters_can_be_read() {
    assert_eq!(open(&rails("")).warnings(), [""; 0]);
    let text = rails("") + "[[measure]]\nlinks = \"host-links\"\nseries = \"queue-depth\"\n";
    let online = open(&text);
    let [warning] = online.warnings() else { panic!("{:?}", online.warnings()) };
    assert!(warning.contains("[[measure]] has no effect"), "{warning}");

    let mut online = open(&rails(NVLINK));
    let count = |online: &Online<_>, name| counter(online.totals().as_ref(), name);
    assert_eq!(count(&online, "flows"), Ok(0.0));
    online.send(0, 2, 10 * 4096, 0, Some("sent")).unwrap();
    online.send(0, 1, 10 * 4096, 0, Some("by NVLink")).unwrap();
    assert_eq!(callbacks(&mut online).len(), 2);
    for (name, value) in [("flows", 1.0), ("flows_finished", 1.0), ("packet_hops", 40.0), ("drops", 0.0)] {
        assert_eq!(count(&online, name), Ok(value), "{name}");
    }
    let why = count(&online, "dropped").unwrap_err().to_string();
    assert!(
        why.starts_with("there is no counter \"dropped\"; write: one of flows, flows_finished,"),
        "{why}"
    );
}

#[test]
fn a_run_that_failed_keeps_its_counters() {
    let text = "schemes = [\"reps\"]\ntopology = { kind = \"single-switch\", hosts = 4, link = \"400Gbps\" }\nfault = [{ kind = \"link-down\", links = \"host-links\", at = \"1us\" }]\n";
    let mut online = open(text);
    online.send(0, 1, 1 << 20, 0, None).unwrap();
    let why = online.advance().unwrap_err();
    assert_eq!(online.advance().unwrap_err(), why);
    let totals = online.totals();
    assert_eq!(counter(totals.as_ref(), "flows_finished"), Ok(0.0));
    assert!(counter(totals.as_ref(), "link_losses").unwrap() > 0.0);
}
