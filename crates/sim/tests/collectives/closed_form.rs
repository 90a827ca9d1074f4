//! The CCT of a ring AllReduce on an idle fabric, compared with its closed form.

use anabranch_sim::Control;
use anabranch_sim::scenario::{self, Files, Overrides};

struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _: &str) -> Result<String, String> {
        Err("no such file".to_owned())
    }
}

const PAYLOAD: u64 = 4086;
/// Durations in ps: a full packet at 400 Gb/s, an ACK at 400 Gb/s, and a microsecond.
const T: u64 = 4150 * 20;
const A: u64 = 64 * 20;
const US: u64 = 1_000_000;

/// The CCT, in ps, of one ring AllReduce among `ranks` (N) hosts on one switch, with blocks of `chunks` (k) chunks of
/// `packets` (P) full packets. T is the serialisation time of a full packet, and A that of an ACK. Links have the
/// latency `latency` (d), windows never fill, and each packet is acknowledged.
///
/// A rank sends M = 2 (N - 1) blocks of k chunks. Let S be the time to send a chunk. After the end of sending, it
/// takes L = T + 2 d (one more store-and-forward delay and two links) until the next rank has the chunk. That rank
/// forwards the chunk immediately if its link is free. Chunk c of block s therefore starts at
///
/// > t(s, c) = max(t(s-1, c) + S + L, end of the chunk before it).
///
/// All ranks do the same at the same time. A block therefore begins max(k S, S + L) after the previous block. If k S
/// is at least S + L, the ring is full. Otherwise, a block begins when the first chunk of the previous block has
/// arrived. The last block takes k S + L to arrive, and its ACK takes 2 (A + d) to return:
///
/// > CCT = (M - 1) max(k S, S + L) + k S + L + 2 (A + d)
///
/// ACKs have priority on the links that also carry data. A rank sends an ACK for each packet that it receives, and the
/// numbers of packets that it sends and receives are equal:
/// - In a full ring, an ACK precedes each packet, so S = P (T + A). About the first floor(L / (T + A)) packets are an
///   exception, because no packet has arrived yet that a rank could acknowledge.
/// - With one chunk per block and paths longer than a chunk, a rank sends its ACKs while its link is idle, except the
///   ACK for the last packet of a chunk. Then S = P T, and each block except the first is delayed by A.
fn ring_allreduce(ranks: u64, chunks: u64, packets: u64, latency: u64) -> u64 {
    let blocks = 2 * (ranks - 1);
    let way = T + 2 * latency;
    let back = 2 * (A + latency);
    let with_acks = packets * (T + A);
    if chunks * with_acks >= with_acks + way {
        let before_the_first_ack = way / (T + A) * A;
        return blocks * chunks * with_acks - before_the_first_ack + way + back;
    }
    assert!(chunks == 1 && packets * T < way, "ACKs and data would share the link for a part of each block");
    let (first, later) = (packets * T + way, packets * T + way + A);
    first + (blocks - 1) * later + back
}

fn simulated(scheme: &str, ranks: u64, chunks: u64, packets: u64, latency_us: u64, keys: &str) -> u64 {
    let chunk = packets * PAYLOAD;
    let bytes = ranks * chunks * chunk;
    let text = format!(
        "schemes = [\"{scheme}\"]\nsetup = \"reps-paper\"\n[topology]\nkind = \"single-switch\"\nhosts = {ranks}\nlink = \"400Gbps\"\n\
         link_latency = \"{latency_us}us\"\nswitch_latency = \"0ns\"\n\
         [workload]\nkind = \"collective\"\nalgorithm = \"allreduce-ring\"\nbytes = \"{bytes}B\"\nchunk = \"{chunk}B\"\n{keys}\n\
         [set]\n\"{scheme}.cc\" = {{ kind = \"constant\", window = \"60000packets\" }}\n\
         \"{scheme}.transport.rto\" = \"9ms\"\n\"{scheme}.fabric.queue\" = \"60000packets\"\n\
         \"{scheme}.fabric.control_queue\" = \"60000packets\"\n"
    );
    let scenario =
        scenario::read("test.toml", &text, &NoFiles, &Overrides::default()).unwrap_or_else(|e| panic!("{e}"));
    let point = scenario.points().unwrap().remove(0);
    let result = anabranch_sim::run(&point, &Control::default()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((result.run.drops, result.run.retransmissions), (0, 0));
    assert_eq!(result.jobs.len(), 1);
    result.jobs[0].cct_ps.unwrap()
}

#[test]
fn one_ring_allreduce_ends_when_arithmetic_says() {
    let mut wrong = Vec::new();
    for (ranks, chunks, packets, latency_us) in [
        // The path of a chunk determines the CCT.
        (2, 1, 1, 1),
        (4, 1, 10, 1),
        (8, 1, 20, 2),
        (16, 1, 5, 1),
        // The ring is full, so the sending times determine the CCT.
        (2, 8, 32, 1),
        (4, 4, 32, 1),
        (8, 8, 10, 1),
        (16, 6, 32, 1),
    ] {
        let expected = ring_allreduce(ranks, chunks, packets, latency_us * US);
        for scheme in ["reps", "ecmp"] {
            let cct = simulated(scheme, ranks, chunks, packets, latency_us, "");
            println!(
                "{scheme}, {ranks} ranks, {chunks} x {packets} packets: {cct} ps, expected {expected} ps"
            );
            if cct.abs_diff(expected) > T {
                wrong.push((scheme, ranks, chunks, packets, cct, expected));
            }
        }
    }
    assert!(wrong.is_empty(), "more than a packet time of {T} ps off: {wrong:?}");
}

/// Each chunk has one packet, and a rank may have only one chunk in flight. With the clock `ack`, each chunk waits for
/// the ACK of the previous chunk. This takes a round trip of 2 (T + d) + 2 (A + d). With the clock `delivered`, each
/// chunk waits for the arrival of the previous chunk. This takes 2 (T + d), and an ACK may precede the chunk on either
/// link.
#[test]
fn one_chunk_at_a_time_takes_a_round_trip_each() {
    for (ranks, chunks, latency_us) in [(2, 1, 1), (4, 3, 1), (8, 2, 2)] {
        let all = 2 * (ranks - 1) * chunks;
        let way = 2 * (T + latency_us * US);
        let back = 2 * (A + latency_us * US);
        let cct = |clock| {
            simulated("reps", ranks, chunks, 1, latency_us, &format!("depth = 1\nclock = \"{clock}\""))
        };
        assert_eq!(cct("ack"), all * (way + back), "{ranks} ranks, {chunks} chunks");
        let delivered = cct("delivered");
        assert!(
            (all * way + back..=all * (way + 2 * A) + back).contains(&delivered),
            "{ranks} ranks, {chunks} chunks: {delivered}"
        );
    }
}

#[test]
fn bandwidths_are_those_of_nccl_tests() {
    for (algorithm, factor) in [
        ("allreduce-ring", 2.0 * 3.0 / 4.0),
        ("allgather-ring", 3.0 / 4.0),
        ("reducescatter-ring", 3.0 / 4.0),
        ("alltoall", 3.0 / 4.0),
        ("broadcast-ring", 1.0),
    ] {
        let text = format!(
            "schemes = [\"reps\"]\n[topology]\nkind = \"single-switch\"\nhosts = 4\nlink = \"400Gbps\"\n\
             [workload]\nkind = \"collective\"\nalgorithm = \"{algorithm}\"\nbytes = \"4MB\"\n"
        );
        let scenario = anabranch_sim::scenario::read("t.toml", &text, &NoFiles, &Default::default()).unwrap();
        let result = anabranch_sim::run(&scenario.points().unwrap()[0], &Default::default()).unwrap();
        let job = &result.jobs[0];
        let algbw = 4e6 * 1e3 / job.cct_ps.unwrap() as f64;
        let close = |number: Option<f64>, expected: f64| (number.unwrap() / expected - 1.0).abs() < 1e-12;
        assert!(close(job.algbw_gbytes_per_sec, algbw), "{algorithm}: {job:?}");
        assert!(close(job.busbw_gbytes_per_sec, algbw * factor), "{algorithm}: {job:?}");
        assert_eq!(result.run.busbw_gbytes_per_sec, job.busbw_gbytes_per_sec);
        // No rank sends faster than its link of 50 GB/s.
        assert!(job.busbw_gbytes_per_sec.unwrap() < 50.0, "{job:?}");
    }
}
