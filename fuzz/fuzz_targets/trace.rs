//! Jobs from traces. The first letter selects the format, and the rest is the file. Files of Chakra are binary, so the
//! rest is the text into which they are converted. A capital letter selects two such jobs with servers, fewer layers
//! and ranks, other algorithms, replicated ranks and ignored dependencies.
#![no_main]

use anabranch_base::{Bytes, Duration, Rate};
use anabranch_workload::collective::{Algorithm, Placement};
use anabranch_workload::{
    AlgorithmFrom, Fabric, Format, RankHosts, SendEnds, ServerSpec, Streams, TraceSpec, WorkloadSpec, build,
};
use libfuzzer_sys::fuzz_target;

const SPEC: &str = "format = 'goal'\nfile = 'fuzz'\nplacement = 'blocks'\nends = 'acknowledged'";

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
        dims: Vec::new(),
        servers: None,
        of_gpus: false,
        file_nodes: Vec::new(),
    };
    let spec: TraceSpec = toml::from_str(SPEC).expect("a trace's table");
    let spec = TraceSpec {
        format,
        ends: format.ends(),
        bytes: Some(Bytes(4096)),
        // With small chunks there could be millions of messages, which are permitted but need too much memory here.
        chunk: Some(Bytes(1 << 40)),
        without_pipeline: true,
        ..spec
    };
    if first.is_some_and(|letter| letter.is_ascii_uppercase()) {
        let algorithm = |algorithm, min_bytes| AlgorithmFrom { algorithm, min_bytes: Bytes(min_bytes) };
        let server = ServerSpec {
            ranks: Some(2),
            link: Rate::from_gbps(3600),
            link_latency: Duration::from_us(1),
            pxn: None,
            channels: None,
            nvls: false,
        };
        let spec = TraceSpec {
            rank_hosts: RankHosts::Placed { placement: Placement::Random },
            start: Duration::from_us(3),
            ends: SendEnds::Posted,
            layers: Some([1, 2]),
            ranks: Some(4),
            replicate: Some(3),
            without_missing: true,
            without_control: true,
            streams: Streams::Each,
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
