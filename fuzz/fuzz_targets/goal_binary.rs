//! A GOAL file in binary form, behind the cookie with which it begins, and the job of its text.
#![no_main]

use anabranch_base::{Duration, Rate};
use anabranch_workload::collective::Placement;
use anabranch_workload::{Fabric, Format, TraceSpec, WorkloadSpec, build, text_of_binary_goal};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let file = [&4223_u64.to_le_bytes()[..], bytes].concat();
    let Some(Ok(text)) = text_of_binary_goal("fuzz", &file) else { return };
    let fabric = Fabric {
        hosts: 16,
        host_rate: Rate::from_gbps(400),
        tor_of: (0..16).map(|h| h / 4).collect(),
        dcs: 1,
    };
    let spec = TraceSpec {
        format: Format::Goal,
        file: "fuzz".to_owned(),
        placement: Placement::Blocks,
        start: Duration::ZERO,
        ends: Format::Goal.ends(),
        bytes: None,
        chunk: None,
        without_pipeline: false,
        layers: None,
        ranks: None,
        comm_groups: None,
        server: None,
        algorithm: Vec::new(),
    };
    let _ = build(&WorkloadSpec::Trace(spec), &fabric, 1, &|_| Some(text.as_str()));
});
