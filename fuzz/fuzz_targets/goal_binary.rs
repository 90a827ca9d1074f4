//! Conversion of a binary GOAL file to text, and the workload that is built from the text. The fuzz input is the part
//! of the file after the cookie (the magic number), which the target adds.
#![no_main]

use anabranch_base::Rate;
use anabranch_workload::{Fabric, TraceSpec, WorkloadSpec, build, text_of_binary_goal};
use libfuzzer_sys::fuzz_target;

const SPEC: &str = "format = 'goal'\nfile = 'fuzz'\nplacement = 'blocks'\nends = 'acknowledged'";

fuzz_target!(|bytes: &[u8]| {
    let file = [&4223_u64.to_le_bytes()[..], bytes].concat();
    let Some(Ok(text)) = text_of_binary_goal("fuzz", &file) else { return };
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
    let spec: TraceSpec = toml::from_str(SPEC).expect("a trace's table");
    let _ = build(&WorkloadSpec::Trace(spec), &fabric, 1, &|_| Some(text.as_str()));
});
