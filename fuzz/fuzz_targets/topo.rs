//! htsim fat-tree files; small fabrics are built too.
#![no_main]

use anabranch_fabric::{TopologySpec, build, parse_topo};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(spec) = parse_topo("fuzz.topo", text) else { return };
    let TopologySpec::FatTree { hosts, .. } = spec else { panic!("a .topo file is a fat tree") };
    if hosts <= 256
        && let Ok(topology) = build(&spec, None)
    {
        assert_eq!(topology.hosts, hosts);
    }
});
