//! Jobs from traces: the first letter says the format, Chakra's in the text that stands for its files.
#![no_main]

use anabranch_base::{Bytes, Rate};
use anabranch_workload::collective::Placement;
use anabranch_workload::{Fabric, Format, TraceSpec, WorkloadSpec, build};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let mut letters = text.chars();
    let format = match letters.next() {
        Some('g') => Format::Goal,
        Some('m') => Format::Msccl,
        Some('s') => Format::Simai,
        _ => Format::Chakra,
    };
    let fabric = Fabric {
        hosts: 16,
        host_rate: Rate::from_gbps(400),
        tor_of: (0..16).map(|h| h / 4).collect(),
        dcs: 1,
    };
    let spec = TraceSpec {
        format,
        file: "fuzz".to_owned(),
        placement: Placement::Blocks,
        ends: format.ends(),
        bytes: Some(Bytes(4096)),
        chunk: Some(Bytes(1 << 20)),
        without_pipeline: true,
        comm_groups: None,
        algorithm: Vec::new(),
    };
    let _ = build(&WorkloadSpec::Trace(spec), &fabric, 1, Some(letters.as_str()));
});
