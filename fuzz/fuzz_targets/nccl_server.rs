//! Topology files of NCCL: in an accepted server, the NIC of each GPU exists.
#![no_main]

use anabranch_fabric::parse_nccl;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(server) = parse_nccl("fuzz.xml", text) else { return };
    assert_eq!(server.gpu_nics.len(), server.gpus as usize);
    assert!(server.gpu_nics.iter().all(|nic| *nic < server.nics));
});
