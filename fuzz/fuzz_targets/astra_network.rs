//! Networks of ASTRA-sim: in an accepted one, each NPU is a host, and all hosts reach each other.
#![no_main]

use anabranch_base::Duration;
use anabranch_fabric::{TopologySpec, build, parse_astra};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(network) = parse_astra("fuzz.yml", text) else { return };
    // Larger networks take long to build.
    if network.npus() > 1 << 10 {
        return;
    }
    let spec = TopologySpec::Graph { file: "fuzz.yml".to_owned(), switch_latency: Duration::ZERO };
    if let Ok(topology) = build(&spec, Some(text)) {
        assert_eq!(topology.hosts, network.npus());
        assert!(topology.is_connected());
    }
});
