//! htsim connection matrices for a fabric of 16 hosts.
#![no_main]

use anabranch_base::{Duration, Rate};
use anabranch_workload::{Fabric, WorkloadSpec, build};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let fabric = Fabric {
        hosts: 16,
        host_rate: Rate::from_gbps(400),
        tor_of: (0..16).map(|h| h / 4).collect(),
        dcs: 1,
        dims: Vec::new(),
        servers: None,
        of_gpus: false,
        file_nodes: Vec::new(),
    };
    let spec = WorkloadSpec::Cm { file: "fuzz.cm".to_owned(), start_unit: Duration(1) };
    let _ = build(&spec, &fabric, 1, &|_| Some(text));
});
