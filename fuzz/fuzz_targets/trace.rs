//! Jobs from traces: the first letter says the format, Chakra's in the text that stands for its files. A capital one is two such
//! jobs, in servers, with a share and with other algorithms.
#![no_main]

use anabranch_base::{Bytes, Duration, Rate};
use anabranch_workload::collective::{Algorithm, Placement};
use anabranch_workload::{
    AlgorithmFrom, Fabric, Format, SendEnds, ServerSpec, TraceSpec, WorkloadSpec, build,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let mut letters = text.chars();
    let first = letters.next();
    let format = match first.map(|letter| letter.to_ascii_lowercase()) {
        Some('g') => Format::Goal,
        Some('m') => Format::Msccl,
        Some('p') => Format::Mscclpp,
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
        start: Duration::ZERO,
        ends: format.ends(),
        bytes: Some(Bytes(4096)),
        // Large, as millions of chunks are allowed and take more memory than a fuzzer has.
        chunk: Some(Bytes(1 << 40)),
        without_pipeline: true,
        layers: None,
        ranks: None,
        comm_groups: None,
        server: None,
        algorithm: Vec::new(),
    };
    if first.is_some_and(|letter| letter.is_ascii_uppercase()) {
        let algorithm = |algorithm, min_bytes| AlgorithmFrom { algorithm, min_bytes: Bytes(min_bytes) };
        let server = ServerSpec { ranks: 2, link: Rate::from_gbps(3600), link_latency: Duration::from_us(1) };
        let spec = TraceSpec {
            placement: Placement::Random,
            start: Duration::from_us(3),
            ends: SendEnds::Posted,
            layers: Some([1, 2]),
            ranks: Some(4),
            server: Some(server),
            algorithm: vec![
                algorithm(Algorithm::AllreduceDoubleBinaryTree, 0),
                algorithm(Algorithm::AllreduceHalvingDoubling, 1000),
            ],
            ..spec
        };
        let jobs = WorkloadSpec::Jobs { job: vec![spec.clone(), spec] };
        let _ = build(&jobs, &fabric, 1, &|_| Some(letters.as_str()));
        return;
    }
    let _ = build(&WorkloadSpec::Trace(spec), &fabric, 1, &|_| Some(letters.as_str()));
});
