//! Tests of every scheme with the setup `common` and five workloads, with and without faults: all messages arrive.

mod alone;

use anabranch_sim::scenario::{self, NoFiles, Overrides, schemes};
use anabranch_sim::{Control, RunResult};

const ONE_SITE: &str =
    "kind = \"leaf-spine\"\nhosts = 16\nhosts_per_tor = 4\nlink = \"100Gbps\"\nlink_latency = \"1us\"\n";
/// Two data centres of 8 hosts, 10 km apart.
const TWO_SITES: &str = "kind = \"cross-dc\"\ndcs = 2\ntors = 2\nleaves = 2\nhosts_per_tor = 4\nlink = \"100Gbps\"\n\
                         link_latency = \"1us\"\nwan_latency = \"50us\"\n";

const WORKLOADS: [(&str, &str); 5] = [
    ("permutation", "kind = \"permutation\"\nbytes = \"256KB\"\n"),
    ("incast", "kind = \"incast\"\nbytes = \"128KB\"\ndegree = 12\n"),
    ("AllReduce", "kind = \"collective\"\nalgorithm = \"allreduce-ring\"\nbytes = \"256KB\"\n"),
    ("AllToAll", "kind = \"collective\"\nalgorithm = \"alltoall\"\nbytes = \"512KB\"\n"),
    ("WebSearch", "kind = \"poisson\"\nsizes = \"websearch\"\nload = 0.3\nduration = \"100us\"\n"),
];

const FAULTS: &str = "[[fault]]\nkind = \"packet-loss\"\nlinks = \"tor:0/up:0\"\nprobability = 0.01\n\
                      [[fault]]\nkind = \"link-down\"\nlinks = \"tor:1/up:1\"\nat = \"20us\"\nduration = \"50us\"\n";

fn needs_sites(scheme: &str) -> bool {
    let scheme = scenario::scheme(scheme).unwrap();
    scheme.fabric.program_at.is_some_and(|at| at.starts_with("esw"))
}

fn run(scheme: &str, workload: &str, rest: &str) -> RunResult {
    let fabric = if needs_sites(scheme) { TWO_SITES } else { ONE_SITE };
    let text = format!("schemes = [{scheme:?}]\n[topology]\n{fabric}[workload]\n{workload}{rest}");
    let scenario = scenario::read("ground.toml", &text, &NoFiles, &Overrides::default());
    let scenario = scenario.unwrap_or_else(|e| panic!("{e}\n{text}"));
    let mut warnings = scenario.check().unwrap_or_else(|e| panic!("{e}\n{text}"));
    // The messages are short, so few packets are expected to be lost. The warning about that is left out.
    warnings.retain(|warning| !warning.message.contains("is expected to hit"));
    assert_eq!(warnings, [], "{scheme}");
    let point = scenario.points().unwrap().remove(0);
    anabranch_sim::run(&point, &Control::default()).unwrap_or_else(|e| panic!("{scheme}: {e}\n{text}"))
}

#[test]
fn every_scheme_finishes_on_common_ground() {
    for listing in schemes() {
        for (name, workload) in WORKLOADS {
            for (faults, words) in [("", "without a fault"), (FAULTS, "with faults")] {
                let run = run(listing.name, workload, faults).run;
                assert!(run.flows > 0);
                assert_eq!(run.flows_finished, run.flows, "{} over {name} {words}", listing.name);
                println!("{:18} {name:12} {words:16} {:10.1} us", listing.name, run.completion_us);
            }
        }
    }
}
