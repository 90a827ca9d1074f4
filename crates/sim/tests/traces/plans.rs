//! Execution plans of MSCCL++: closed forms of their CCTs, and error messages.

use super::*;

/// The time of a signal on the wire, in ps: 8 B of payload and 64 B of headers.
const S: u64 = 72 * 20;
/// The time of a read request on the wire, in ps.
const R: u64 = 80 * 20;

/// A GPU with one channel of the given kind to each of the GPUs `others`, and with an input and an output of `chunks`
/// chunks. Remote buffers 0 and 1 are the output and the scratch buffer of the first of `others`. Remote buffers 2 and
/// 3 belong to the second of `others`, and so on.
fn gpu(id: u32, kind: &str, chunks: u32, others: &[u32], blocks: &[&[String]]) -> String {
    let counted =
        |numbers: std::ops::Range<usize>| numbers.map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
    let remote = |rank: &u32| {
        ["o", "s"].map(|buffer| {
            format!("{{\"rank\": {rank}, \"type\": \"{buffer}\", \"access_channel_types\": [\"{kind}\"]}}")
        })
    };
    let remotes: Vec<String> = others.iter().flat_map(remote).collect();
    let blocks = blocks.iter().enumerate().map(|(number, ops)| {
        format!(
            "{{\"id\": {number}, \"ops\": [{}],\n\"channels\": [{{\"channel_type\": \"{kind}\", \"channel_ids\": [{}]}}], \
             \"remote_buffer_refs\": [{{\"access_channel_type\": \"{kind}\", \"remote_buffer_ids\": [{}]}}]}}",
            ops.join(",\n"),
            counted(0..others.len()),
            counted(0..remotes.len()),
        )
    });
    format!(
        "{{\"id\": {id}, \"input_chunks\": {chunks}, \"output_chunks\": {chunks}, \"scratch_chunks\": {}, \
         \"threadblocks\": [{}],\n\"channels\": [{{\"channel_type\": \"{kind}\", \"connected_to\": {others:?}}}], \
         \"remote_buffers\": [{}], \"semaphores\": [{{\"init_value\": 0}}]}}",
        2 * chunks,
        blocks.collect::<Vec<_>>().join(",\n"),
        remotes.join(", "),
    )
}

fn plan(gpus: &[String]) -> String {
    format!(
        "{{\"name\": \"x\", \"collective\": \"allreduce\", \"protocol\": \"Simple\", \"gpus\": [{}]}}",
        gpus.join(",\n")
    )
}

/// An operation that writes a local chunk to a remote buffer, or reads a remote chunk.
fn moves(name: &str, kind: &str, own: (&str, u32), remote: (u32, u32)) -> String {
    let own = format!("[{{\"type\": \"{}\", \"index\": {}, \"size\": 1}}]", own.0, own.1);
    let remote = format!("[{{\"buffer_id\": {}, \"index\": {}, \"size\": 1}}]", remote.0, remote.1);
    let (src, dst) = if name == "get" { (&remote, &own) } else { (&own, &remote) };
    format!(
        "{{\"name\": \"{name}\", \"src_buff\": {src}, \"dst_buff\": {dst}, \"channel_ids\": [0], \"channel_type\": \"{kind}\"}}"
    )
}

fn put() -> String {
    moves("put", "port", ("i", 0), (0, 0))
}

fn on_channel(name: &str) -> String {
    format!("{{\"name\": \"{name}\", \"channel_ids\": [0], \"channel_type\": \"port\"}}")
}

fn says(words: &str) -> String {
    format!("{{{words}}}")
}

fn keys(bytes: u64) -> String {
    format!("format = \"mscclpp\"\nbytes = \"{bytes}B\"")
}

/// The CCT of two GPUs that execute these operations with buffers of one packet, in ps.
fn pair(first: &[&[String]], second: &[&[String]]) -> u64 {
    let plan = plan(&[gpu(0, "port", 1, &[1], first), gpu(1, "port", 1, &[0], second)]);
    cct(2, &keys(PAYLOAD), &plan)
}

/// A wait ends when the signal arrives. The signal is sent after the data of the put, so the data has arrived as well.
#[test]
fn a_wait_takes_a_signal_and_what_was_put_before_it() {
    let there = [put(), on_channel("signal")];
    let answers = [on_channel("wait"), put(), on_channel("signal")];
    let once = THERE + S + BACK;
    assert_eq!(pair(&[&there], &[&[on_channel("wait")]]), once);
    let and_back = [put(), on_channel("signal"), on_channel("wait")];
    // The ACK of the signal is sent before the answer.
    assert_eq!(pair(&[&and_back], &[&answers]), 2 * (THERE + S) + A + BACK);
    // The time is the same if put and signal are one operation (`pws`), and if another thread block executes the put
    // before the signal.
    assert_eq!(pair(&[&[moves("pws", "port", ("i", 0), (0, 0))]], &[&[on_channel("wait")]]), once);
    let release = says("\"name\": \"sem_release\", \"semaphore_ids\": [0]");
    let acquire = says("\"name\": \"sem_acquire\", \"semaphore_ids\": [0]");
    let blocks: [&[String]; 2] = [&[put(), release], &[acquire, on_channel("signal")]];
    assert_eq!(pair(&[blocks[0], blocks[1]], &[&[on_channel("wait")]]), once);
}

/// A signal on another channel overtakes the data of a put. A wait then waits for both, unless the signal is relaxed.
#[test]
fn a_relaxed_signal_says_nothing_of_what_was_put() {
    let cct_with = |signal: &str, wait: &str| {
        let put = || put().replace("\"channel_ids\": [0]", "\"channel_ids\": [1]");
        let first: [&[String]; 1] = [&[put(), on_channel(signal)]];
        let second: [&[String]; 1] = [&[on_channel(wait), put()]];
        let plan = plan(&[gpu(0, "port", 1, &[1, 1], &first), gpu(1, "port", 1, &[0, 0], &second)]);
        cct(2, &keys(10 * PAYLOAD), &plan)
    };
    let (told, relaxed) = (cct_with("signal", "wait"), cct_with("rlxsignal", "rlxwait"));
    // The second put follows the first. The signal is between packets of the first put, and the ACK of the first put's
    // last packet precedes the second put.
    assert_eq!(told, 2 * (9 * T + THERE) + S + A + BACK);
    assert!(told - relaxed > 7 * T, "{told} and {relaxed}");
}

#[test]
fn a_flush_waits_for_acks_and_a_put_does_not() {
    assert_eq!(pair(&[&[put(), put()]], &[&[]]), T + THERE + BACK);
    assert_eq!(pair(&[&[put(), on_channel("flush"), put()]], &[&[]]), 2 * (THERE + BACK));
    // The signal follows the put and precedes the flush.
    let flushes = moves("pwsf", "port", ("i", 0), (0, 0));
    assert_eq!(pair(&[&[flushes, put()]], &[&[on_channel("wait")]]), S + 2 * (THERE + BACK));
}

#[test]
fn a_read_is_asked_for() {
    let get = moves("get", "port", ("i", 0), (0, 0));
    // The ACK of the request is sent before the data.
    let read = 2 * (R + D) + A + THERE;
    assert_eq!(pair(&[&[get]], &[&[]]), read + BACK);
    // The data is read and reduced, and is written back after the ACK of the read data.
    let both =
        "[{\"type\": \"i\", \"index\": 0, \"size\": 1}, {\"buffer_id\": 0, \"index\": 0, \"size\": 1}]";
    let words =
        format!("\"name\": \"rres\", \"src_buff\": {both}, \"dst_buff\": {both}, \"channel_type\": \"port\"");
    assert_eq!(pair(&[&[says(&words)]], &[&[]]), read + A + THERE + BACK);
}

/// Thread blocks at a barrier continue when the last of them has arrived.
#[test]
fn thread_blocks_meet() {
    let barrier = says("\"name\": \"barrier\", \"barrier_id\": 0, \"num_threadblocks\": 2");
    let first: [&[String]; 2] = [&[barrier.clone(), put()], &[on_channel("wait"), barrier]];
    assert_eq!(pair(&first, &[&[on_channel("signal")]]), 2 * (S + D) + A + THERE + BACK);
}

/// A ring AllReduce with packets that contain flags, and without signals. The flags are as long as the data, so the
/// ring takes as long as the built-in ring with twice the bytes.
#[test]
fn a_ring_of_packets_takes_as_long_as_our_own_of_twice_the_bytes() {
    for (ranks, bytes) in [(2_u32, 20_430), (4, 81_720), (8, 400_000)] {
        let ring = |rank: u32| {
            let steps = 2 * (ranks - 1);
            let ops: Vec<String> = (0..steps)
                .map(|step| match step {
                    0 => moves("ppkt", "memory", ("i", rank), (1, 0)),
                    _ if step < ranks => moves("respkt", "memory", ("s", step - 1), (1, step)),
                    _ => moves("rppkt", "memory", ("s", step - 1), (1, step)),
                })
                .chain([format!(
                    "{{\"name\": \"upkt\", \"src_buff\": [{{\"type\": \"s\", \"index\": {}, \"size\": 1}}], \"dst_buff\": \
                     [{{\"type\": \"o\", \"index\": 0, \"size\": 1}}]}}",
                    steps - 1
                )])
                .collect();
            gpu(rank, "memory", ranks, &[(rank + 1) % ranks, (rank + ranks - 1) % ranks], &[&ops])
        };
        let plan = plan(&(0..ranks).map(ring).collect::<Vec<_>>());
        let twice = 2 * bytes;
        let own = collective(
            ranks,
            &format!("algorithm = \"allreduce-ring\"\nbytes = \"{twice}B\"\nchunk = \"1GB\""),
        );
        assert_eq!(cct(ranks, &keys(bytes), &plan), own, "{ranks} ranks, {bytes} B");
    }
}

#[test]
fn a_group_shares_a_chunk() {
    let share = |which: u32| {
        put().replace(
            "\"channel_ids\"",
            &format!("\"tbg_info\": {{\"tb_id\": {which}, \"tbg_size\": 2}}, \"channel_ids\""),
        )
    };
    let sent = |blocks: &[&[String]]| {
        let plan = plan(&[gpu(0, "port", 1, &[1], blocks), gpu(1, "port", 1, &[0], &[])]);
        simulated(2, &keys(2 * PAYLOAD - 1), &plan, 1).unwrap().jobs[0].bytes
    };
    assert_eq!(sent(&[&[put()]]), 2 * PAYLOAD - 1);
    assert_eq!((sent(&[&[share(0)]]), sent(&[&[share(1)]])), (PAYLOAD, PAYLOAD - 1));
}

#[test]
fn mistakes_in_plans_are_explained() {
    let of = |op: String| plan(&[gpu(0, "port", 1, &[1], &[&[op]]), gpu(1, "port", 1, &[0], &[])]);
    let lone = gpu(0, "port", 1, &[1], &[]);
    for (file, says) in [
        ("{".to_owned(), "job:1: it is no plan of MSCCL++: EOF"),
        ("{\"gpus\": []}".to_owned(), "job: it has no GPUs"),
        (
            "{\"gpus\": [{\"id\": 0,\n\"inputChunks\": 1}]}".to_owned(),
            "job:2: it is a plan of an older MSCCL++",
        ),
        (plan(&[lone.clone(), lone.clone()]), "job: GPU 0 is here for the second time"),
        (plan(&[lone.replace("\"id\": 0", "\"id\": 7")]), "job: there are 1 GPUs, 0 to 0, and no GPU 7"),
        (of(on_channel("sing")), "GPU 0, thread block 0, operation 0 (`sing`): operations are nop, copy"),
        (of(on_channel("glres")), "it needs a switch that stores and reduces, which is not simulated"),
        (of(on_channel("pipeline")), "a loop over parts of a chunk is not simulated"),
        (of(on_channel("wait")), "job: GPU 0 waits 1 times on a channel from GPU 1, which signals 0 times"),
        (of(on_channel("signal").replace("[0]", "[3]")), "its thread block has no channel 3 of that kind"),
        (of(moves("put", "port", ("i", 0), (7, 0))), "its thread block refers to no remote buffer 7"),
        (of(moves("put", "port", ("i", 0), (0, 4))), "chunks 4 to 4 of GPU 1, whose buffer has 1"),
        (of(put().replace("\"size\": 1", "\"size\": 9")), "chunks 0 to 8 of GPU 1"),
        (of(format!("{{{}}}", "\"name\": \"barrier\"")), "it has no barrier_id"),
        (
            of("{\"name\": \"barrier\", \"barrier_id\": 2, \"num_threadblocks\": 3}".to_owned()),
            "job: GPU 0: 1 thread blocks come to barrier 2 for time 1 and 3 meet there",
        ),
        (
            of("{\"name\": \"sem_acquire\", \"semaphore_ids\": [0]}".to_owned()),
            "job: GPU 0: semaphore 0 is acquired 1 times and released 0",
        ),
        (of("{\"name\": \"nop\"}".to_owned()), "nothing in it is sent"),
        (
            of(put()).replace("\"name\": \"x\"", "\"max_message_size\": 1024"),
            "workload.bytes: the plan job is for 0 to 1024 bytes, not 4086",
        ),
    ] {
        let error = simulated(2, &keys(PAYLOAD), &file, 1).map(drop).unwrap_err();
        assert!(error.contains(says), "{error}\nexpected: {says}");
    }
    let both_wait =
        |rank: u32| gpu(rank, "port", 1, &[1 - rank], &[&[on_channel("wait"), put(), on_channel("signal")]]);
    let error = simulated(2, &keys(PAYLOAD), &plan(&[both_wait(0), both_wait(1)]), 1).map(drop).unwrap_err();
    assert!(error.contains("job: rank 0, operation 1: it never begins"), "{error}");
}
