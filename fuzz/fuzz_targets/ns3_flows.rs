//! ns-3 flow files for a fabric of 16 hosts, without a topology file and with one that numbers switches between hosts.
#![no_main]

use anabranch_base::{Duration, HostId, Rate};
use anabranch_workload::{Fabric, FlowFormat, WorkloadSpec, build, warnings};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let mut fabric = Fabric {
        hosts: 16,
        host_rate: Rate::from_gbps(100),
        tor_of: (0..16).map(|h| h / 4).collect(),
        dcs: 1,
        dims: Vec::new(),
        servers: None,
        of_gpus: false,
        file_nodes: Vec::new(),
    };
    let origin = Duration::from_us(2_000_000);
    for format in [None, Some(FlowFormat::Hpcc), Some(FlowFormat::Conweave), Some(FlowFormat::Ns3Rdma)] {
        let spec = WorkloadSpec::Ns3Flows { file: "fuzz.txt".to_owned(), origin, format };
        fabric.file_nodes = Vec::new();
        let _ = build(&spec, &fabric, 1, &|_| Some(text));
        fabric.file_nodes = (0..32).map(|node| (node % 2 == 0).then_some(HostId(node / 2))).collect();
        let _ = build(&spec, &fabric, 1, &|_| Some(text));
        let _ = warnings(&spec, &|_| Some(text));
    }
});
