//! Tests of checks before a run: numbers that are too large for the engine, such as the packets of a queue pair, and
//! workloads without a message for one of the seeds.

use crate::scenario::tests::{folder, on};
use crate::scenario::*;

const FABRIC: &str = r#"schemes = ["SCHEME"]
seeds = [1, 2, 3, 4, 5, 6, 7, 8]
[topology]
kind = "single-switch"
hosts = 4
link = "100Gbps"
[workload]
"#;

/// The error for the keys of `[workload]`, which begin in line 8.
fn said(scheme: &str, workload: &str) -> String {
    let text = format!("{FABRIC}{workload}\n").replace("SCHEME", scheme);
    let scenario = read("s.toml", &on("reps-paper", &text), &folder(), &Overrides::default()).unwrap();
    scenario.check().expect_err(&text).to_string()
}

fn is_fine(scheme: &str, workload: &str) {
    let text = format!("{FABRIC}{workload}\n").replace("SCHEME", scheme);
    read("s.toml", &on("reps-paper", &text), &folder(), &Overrides::default()).unwrap().check().unwrap();
}

#[test]
fn a_queue_pair_has_numbers_for_so_many_packets() {
    assert_eq!(
        said("reps", "kind = \"permutation\"\nbytes = \"20TB\""),
        r#"s.toml:9:1: scheme "reps": 20TB from host 0 to host 2 make 4894762605 packets on a queue pair, at 4086B per packet, and it has numbers for 4294901758
  write: bytes = "17548GB" or less, or "reps.qps" = 2 below [set], or a larger "reps.transport.payload""#
    );
    is_fine("reps", "kind = \"permutation\"\nbytes = \"17548GB\"");
    is_fine("reps", "kind = \"permutation\"\nbytes = \"20TB\"\n[set]\n\"reps.qps\" = 2");
    is_fine(
        "reps",
        "kind = \"permutation\"\nbytes = \"20TB\"\n[set]\n\"reps.transport.payload\" = \"8192B\"",
    );
}

#[test]
fn every_kind_of_workload_is_blamed_where_its_length_is_written() {
    let place = |workload: &str| {
        let said = said("go-back-n-small", workload);
        said.split(" scheme ").next().unwrap().to_owned()
    };
    let named = "\n[[scheme]]\nname = \"go-back-n-small\"\nbase = \"rocev2\"\n[set]\n\"go-back-n-small.transport.payload\" = \"1B\"";
    let at = |workload: &str| place(&format!("{workload}{named}"));
    assert_eq!(at("kind = \"tornado\"\nbytes = \"5GB\""), "s.toml:9:1:");
    assert_eq!(at("kind = \"incast\"\ndegree = 2\nbytes = \"5GB\""), "s.toml:10:1:");
    assert_eq!(
        at("kind = \"collective\"\nalgorithm = \"alltoall\"\nranks = 4\nbytes = \"20GB\""),
        "s.toml:11:1:"
    );
    let listed = "kind = \"messages\"\n[[workload.message]]\nfrom = 0\nto = 1\nbytes = \"1B\"\n\
                  [[workload.message]]\nfrom = 0\nto = 1\nbytes = \"5GB\"";
    assert_eq!(at(listed), "s.toml:16:1:");
}

/// Pulls of Ultra Ethernet are numbered in units of 256 B with 32 bits, of which half are left for retransmissions.
#[test]
fn a_queue_pair_under_credit_has_numbers_for_so_many_bytes() {
    let workload = "kind = \"permutation\"\nbytes = \"2TB\"";
    is_fine("uet-nscc", workload);
    for scheme in ["uet-rccc", "uet-both"] {
        let expected = format!(
            "s.toml:9:1: scheme {scheme:?}: 2TB from host 0 to host 2 make 2031326480704 bytes on a queue pair, at 4086B per \
             packet, and it has numbers for 549755813632 bytes of credit, and as many of retransmissions\n  write: \
             bytes = \"541GB\" or less, or \"{scheme}.qps\" = 2 below [set]"
        );
        assert_eq!(said(scheme, workload), expected);
        is_fine(scheme, "kind = \"permutation\"\nbytes = \"541GB\"");
        is_fine(scheme, &format!("{workload}\n[set]\n\"{scheme}.qps\" = 4"));
    }
}

/// DCP's request numbers have 24 bits, and a short counter divides a message into many requests.
#[test]
fn a_queue_pair_has_numbers_for_so_many_requests() {
    let said = said(
        "dcp",
        "kind = \"permutation\"\nbytes = \"1TB\"\n[set]\n\"dcp.transport.counter_bits\" = 1\n\"dcp.transport.tracked_messages\" = 8",
    );
    assert!(said.starts_with("s.toml:9:1: scheme \"dcp\": 1TB from host 0 to host 2 make "), "{said}");
    assert!(
        said.contains(" requests on a queue pair, ") && said.contains("has numbers for 16777216\n"),
        "{said}"
    );
}

#[test]
fn every_seed_must_have_messages() {
    let workload = "kind = \"poisson\"\nsizes = \"websearch\"\nload = 0.5\nduration = \"100us\"";
    let said = said("reps", workload);
    assert!(said.starts_with("s.toml:11:1: duration: no message starts in 100us: "), "{said}");
    is_fine("reps", &workload.replace("100us", "5ms"));
}
