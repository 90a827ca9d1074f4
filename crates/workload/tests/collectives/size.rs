//! Tests of the memory of the largest collectives.

use anabranch_base::{Bytes, Rate};
use anabranch_workload::collective::{Algorithm, CollectiveSpec, DEFAULT_CHUNK, Members, Placement};
use anabranch_workload::{self as workload, Fabric, WorkloadSpec};

fn jobs_of_32(algorithm: Algorithm, jobs: u32) -> (usize, usize) {
    let spec = CollectiveSpec {
        algorithm,
        bytes: Bytes(128_000_000),
        members: Members::Placed { ranks: 32, jobs, placement: Placement::Random },
        chunk: (algorithm != Algorithm::Alltoall).then_some(DEFAULT_CHUNK),
        connections: (algorithm == Algorithm::Alltoall).then_some(16),
        depth: None,
        clock: None,
        jitter: None,
        server: None,
    };
    let fabric = Fabric {
        hosts: 2048,
        host_rate: Rate(400_000_000_000),
        tor_of: (0..2048).map(|h| h / 32).collect(),
        dcs: 1,
        ..Fabric::default()
    };
    let built = workload::build(&WorkloadSpec::Collective(spec), &fabric, 1, &|_| None).unwrap();
    let (messages, bytes) = (built.messages.len(), built.memory_bytes());
    println!("{}: {jobs} jobs, {messages} messages, {bytes} B", algorithm.name());
    (messages, bytes)
}

#[test]
fn a_message_of_a_ring_takes_seventy_bytes() {
    let (messages, bytes) = jobs_of_32(Algorithm::AllreduceRing, 1);
    assert_eq!(messages, 32 * 62 * 32);
    assert!(bytes < 70 * messages, "{} B per message", bytes / messages);
}

#[test]
fn sixty_four_jobs_fit() {
    if std::env::var_os("ANABRANCH_LONG").is_none() {
        println!("skipped: ANABRANCH_LONG is not set");
        return;
    }
    for (_, algorithm) in Algorithm::ALL {
        let (messages, bytes) = jobs_of_32(algorithm, 64);
        assert!(bytes < 128 * messages && bytes < 2_000_000_000, "{} B per message", bytes / messages);
    }
}
