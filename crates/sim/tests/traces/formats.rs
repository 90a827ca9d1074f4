//! Each format, and what it comes to.

use super::*;
use std::fmt::Write;

const GOAL: &str = "format = \"goal\"";

/// A packet there, a microsecond of computing, a packet back, and its ACK.
#[test]
fn a_reply_is_computed_before_it_is_sent() {
    let file = "num_ranks 2\n\
                rank 0 {\nask: send 4086b to 1 tag 7\nanswer: recv 4086b from 1 tag 8\n}\n\
                rank 1 { // the server\nl1: recv 4086b from 0 tag 7\nl2: calc 1000\nl3: send 4086b to 0 tag 8\n\
                l2 requires l1\nl3 requires l2\n}\n";
    assert_eq!(cct(2, GOAL, file), THERE + 1_000 * NS + THERE + BACK);
    let result = simulated(2, GOAL, file, 1).unwrap();
    let us = |ps: u64| ps as f64 / 1e6;
    assert_eq!(result.run.extra["compute_max_us"], 1.0);
    assert_eq!(result.run.extra["exposed_max_us"], us(2 * THERE + BACK + 1_000 * NS));
    assert_eq!(
        (result.jobs[0].algorithm.as_str(), result.jobs[0].bytes, result.jobs[0].ranks),
        ("goal", 8172, 2)
    );
}

#[test]
fn what_follows_a_send_waits_for_its_ack_unless_a_send_is_over_at_once() {
    let file = "num_ranks 2\nrank 0 {\na: send 4086b to 1\nb: send 4086b to 1\nb requires a\n}\n\
                rank 1 {\na: recv 4086b from 0\nb: recv 4086b from 0\n}\n";
    assert_eq!(cct(2, GOAL, file), 2 * (THERE + BACK));
    // One packet behind the other.
    assert_eq!(cct(2, "format = \"goal\"\nends = \"posted\"", file), T + THERE + BACK);
    // It only has to begin.
    assert_eq!(cct(2, GOAL, &file.replace("b requires a", "b irequires a")), T + THERE + BACK);
}

#[test]
fn computations_of_one_processor_follow_each_other() {
    let file = |cpu: u32| {
        format!(
            "num_ranks 2\nrank 0 {{\na: calc 3000\nb: calc 2000 cpu {cpu}\ns: send 1b to 1\ns requires a\ns requires b\n}}\n\
             rank 1 {{\nr: recv 1b from 0\n}}\n"
        )
    };
    let message = 2 * (65 * 20 + D) + BACK;
    assert_eq!(cct(2, GOAL, &file(0)), 5_000 * NS + message);
    assert_eq!(cct(2, GOAL, &file(1)), 3_000 * NS + message);
}

/// A receive that begins late is over late, although the message has been there for long.
#[test]
fn a_receive_is_over_when_it_has_begun_and_the_message_is_there() {
    let file = "num_ranks 2\nrank 0 {\ns: send 1b to 1 tag 1\nr: recv 1b from 1 tag 2\n}\n\
                rank 1 {\nc: calc 50000\nr: recv 1b from 0 tag 1\ns: send 1b to 0 tag 2\nr requires c\ns requires r\n}\n";
    assert_eq!(cct(2, GOAL, file), 50_000 * NS + 2 * (65 * 20 + D) + BACK);
}

/// Messages of one tag are received in the order in which they were sent, in the order of the file.
#[test]
fn messages_of_one_tag_match_in_their_order() {
    let file = "num_ranks 2\nrank 0 {\na: send 4086b to 1\nb: send 8172b to 1\n}\n\
                rank 1 {\na: recv 4086b from 0\nb: recv 8172b from 0\n}\n";
    assert_eq!(cct(2, GOAL, file), 2 * T + THERE + BACK);
}

/// A ring AllReduce as MSCCL has it: a thread block a GPU, which sends, receives and reduces, and sends that on.
fn ring(ranks: u32) -> String {
    let mut text = format!(
        "<algo name=\"ring\" nchannels=\"1\" nchunksperloop=\"{ranks}\" ngpus=\"{ranks}\" coll=\"allreduce\">\n"
    );
    for rank in 0..ranks {
        let (next, before) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
        writeln!(text, "<gpu id=\"{rank}\">\n<tb id=\"0\" send=\"{next}\" recv=\"{before}\" chan=\"0\">")
            .unwrap();
        for step in 0..2 * (ranks - 1) {
            // Block r - s is sent in step s, and the one before it received.
            let sent = (rank + 2 * ranks - step % ranks) % ranks;
            let received = (sent + ranks - 1) % ranks;
            let kind = if step < ranks - 1 { "rrc" } else { "r" };
            let mut line = |number: u32, kind: &str, offset: u32| {
                writeln!(
                    text,
                    "<step s=\"{number}\" type=\"{kind}\" srcbuf=\"i\" srcoff=\"{offset}\" dstbuf=\"i\" dstoff=\"{offset}\" \
                     cnt=\"1\" depid=\"-1\" deps=\"-1\" hasdep=\"0\"/>"
                )
                .unwrap();
            };
            line(2 * step, "s", sent);
            line(2 * step + 1, kind, received);
        }
        text.push_str("</tb>\n</gpu>\n");
    }
    text + "</algo>\n"
}

#[test]
fn the_ring_of_msccl_takes_as_long_as_our_own() {
    for (ranks, bytes) in [(2, 40_860), (4, 163_440), (8, 1_000_003)] {
        let own = collective(
            ranks,
            &format!("algorithm = \"allreduce-ring\"\nbytes = \"{bytes}B\"\nchunk = \"1GB\""),
        );
        let theirs = cct(ranks, &format!("format = \"msccl\"\nbytes = \"{bytes}B\""), &ring(ranks));
        assert_eq!(theirs, own, "{ranks} ranks, {bytes} B");
    }
}

const SIMAI: &str = "format = \"simai\"\nchunk = \"1MB\"";

/// Two layers forward and backward: what is computed and each collective follow each other.
#[test]
fn layers_compute_and_reduce_one_after_the_other() {
    let file = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 4 ep: 1 pp: 1 vpp: 4 ga: 1 all_gpus: 4 \
                checkpoints: 0 checkpoint_initiates: 0\n2\n\
                one -1 5000 ALLREDUCE 400000 1 NONE 0 20 NONE 0 1\n\
                two -1 7000 ALLGATHER 800000 300 ALLTOALL 40000 4 NONE 0 1\n";
    let own = |algorithm: &str, bytes: u64, chunk: &str| {
        collective(4, &format!("algorithm = \"{algorithm}\"\nbytes = \"{bytes}B\"\n{chunk}"))
    };
    let chunk = "chunk = \"1MB\"";
    let computing = (5_000 + 7_000 + 4 + 300 + 20 + 1) * NS;
    let sums = own("allreduce-ring", 400_000, chunk)
        + own("allgather-ring", 800_000, chunk)
        + own("alltoall", 40_000, "");
    assert_eq!(cct(4, SIMAI, file), computing + sums);
}

/// The gradient of the weights is reduced among the data-parallel ranks, while the backward pass goes on.
#[test]
fn weight_gradients_are_reduced_beside_what_follows() {
    let file = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 2 pp: 1 vpp: 4 ga: 1 all_gpus: 8 \
                checkpoints: 0 checkpoint_initiates: 0\n1\n\
                layer -1 1000 ALLTOALL_EP 40860 1000000 NONE 0 1000 ALLREDUCE 400000 1\n";
    let among = collective(4, "algorithm = \"allreduce-ring\"\nbytes = \"400000B\"\nchunk = \"1MB\"");
    let experts = collective(2, "algorithm = \"alltoall\"\nbytes = \"40860B\"");
    assert!(among < 1_000_000 * NS);
    // Hidden behind a millisecond of computing.
    assert_eq!(cct(8, SIMAI, file), experts + (1_000 + 1_000 + 1_000_000) * NS);
}

#[test]
fn a_job_is_the_same_on_any_number_of_threads() {
    let keys = "format = \"msccl\"\nbytes = \"1MB\"\nplacement = \"random\"";
    let [one, two, three] = [1, 2, 3].map(|threads| simulated(16, keys, &ring(8), threads).unwrap());
    assert_eq!((&one.run.digest, &one.run.digest), (&two.run.digest, &three.run.digest));
}

/// Samples of the formats' own projects, where they are.
#[test]
fn published_files_run_to_their_end() {
    let Some(folder) = std::env::var_os("ANABRANCH_PEERS").map(std::path::PathBuf::from) else {
        println!("skipped: ANABRANCH_PEERS is not set");
        return;
    };
    let file = |name: &str| std::fs::read_to_string(folder.join("data/jobs").join(name)).unwrap();
    // A binomial tree of depth 5: the last leaf is five messages away. Each rank sends to up to five at once.
    let tree = simulated(32, GOAL, &file("goal/binary_tree_32.goal"), 1).unwrap();
    let hop = 2 * (65 * 20 + D);
    let cct = tree.jobs[0].cct_ps.unwrap();
    assert!((5 * hop + BACK..=5 * (hop + 5 * 65 * 20) + BACK).contains(&cct), "{cct}");
    assert_eq!(tree.run.flows, 31);
    let ring = file("msccl/custom_allreduce.xml");
    let own = collective(8, "algorithm = \"allreduce-ring\"\nbytes = \"1000003B\"\nchunk = \"1GB\"");
    assert_eq!(super::cct(8, "format = \"msccl\"\nbytes = \"1000003B\"", &ring), own);
    let own = |bytes: u32| {
        collective(8, &format!("algorithm = \"allreduce-ring\"\nbytes = \"{bytes}B\"\nchunk = \"1MB\""))
    };
    let micro = super::cct(8, SIMAI, &file("simai/microAllReduce.txt"));
    assert_eq!(micro, 1_112_004 * NS + own(16_777_216) + own(67_108_864));
    let large = simulated(16, "format = \"simai\"", &file("simai/workload_analytical.txt"), 1).unwrap_err();
    assert!(large.contains("without_pipeline = true"), "{large}");
}
