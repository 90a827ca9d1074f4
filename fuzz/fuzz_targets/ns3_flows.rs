//! ns-3 flow files for a fabric of 16 hosts.
#![no_main]

use anabranch_base::{Duration, Rate};
use anabranch_workload::{Fabric, WorkloadSpec, build};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let fabric = Fabric {
        hosts: 16,
        host_rate: Rate::from_gbps(100),
        tor_of: (0..16).map(|h| h / 4).collect(),
        dcs: 1,
    };
    let origin = Duration::from_us(2_000_000);
    let spec = WorkloadSpec::Ns3Flows { file: "fuzz.txt".to_owned(), origin };
    let _ = build(&spec, &fabric, 1, &|_| Some(text));
});
