//! Jobs from traces in several formats. Their completion times are compared with closed forms.

use super::*;
use std::fmt::Write;

const GOAL: &str = "format = \"goal\"";

/// The job takes the time of a packet to the other rank, a microsecond of computing, a packet back, and the ACK of the
/// packet back.
#[test]
fn a_reply_is_computed_before_it_is_sent() {
    let file = "num_ranks 2\n\
                rank 0 {\nask: send 4086b to 1 tag 7\nanswer: recv 4086b from 1 tag 8\n}\n\
                rank 1 { // the server\nl1: recv 4086b from 0 tag 7\nl2: calc 1000\nl3: send 4086b to 0 tag 8\n\
                l2 requires l1\nl3 requires l2\n}\n";
    assert_eq!(cct(2, GOAL, file), THERE + 1_000 * NS + THERE + BACK);
    let result = simulated(2, GOAL, file, 1).unwrap();
    assert_eq!(Some(result.jobs[0].ideal_cct_ps), result.jobs[0].cct_ps, "the chain alone decides it");
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
    // The second packet is sent immediately after the first one.
    assert_eq!(cct(2, "format = \"goal\"\nends = \"posted\"", file), T + THERE + BACK);
    // The second operation waits only for the start of the first.
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

/// A receive that begins late also ends late, although the message arrived long before.
#[test]
fn a_receive_is_over_when_it_has_begun_and_the_message_is_there() {
    let file = "num_ranks 2\nrank 0 {\ns: send 1b to 1 tag 1\nr: recv 1b from 1 tag 2\n}\n\
                rank 1 {\nc: calc 50000\nr: recv 1b from 0 tag 1\ns: send 1b to 0 tag 2\nr requires c\ns requires r\n}\n";
    assert_eq!(cct(2, GOAL, file), 50_000 * NS + 2 * (65 * 20 + D) + BACK);
}

#[test]
fn messages_of_one_tag_match_in_their_order() {
    let file = "num_ranks 2\nrank 0 {\na: send 4086b to 1\nb: send 8172b to 1\n}\n\
                rank 1 {\na: recv 4086b from 0\nb: recv 8172b from 0\n}\n";
    assert_eq!(cct(2, GOAL, file), 2 * T + THERE + BACK);
}

/// A ring AllReduce in MSCCL. Each GPU has one thread block, which sends, receives and reduces data, and forwards the
/// result.
fn ring(ranks: u32) -> String {
    let mut text = format!(
        "<algo name=\"ring\" nchannels=\"1\" nchunksperloop=\"{ranks}\" ngpus=\"{ranks}\" coll=\"allreduce\">\n"
    );
    for rank in 0..ranks {
        let (next, before) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
        writeln!(text, "<gpu id=\"{rank}\">\n<tb id=\"0\" send=\"{next}\" recv=\"{before}\" chan=\"0\">")
            .unwrap();
        for step in 0..2 * (ranks - 1) {
            // In step s, rank r sends block r - s and receives the block before it.
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

#[test]
fn weight_gradients_are_reduced_beside_what_follows() {
    let file = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 2 pp: 1 vpp: 4 ga: 1 all_gpus: 8 \
                checkpoints: 0 checkpoint_initiates: 0\n1\n\
                layer -1 1000 ALLTOALL_EP 40860 1000000 NONE 0 1000 ALLREDUCE 400000 1\n";
    let among = collective(4, "algorithm = \"allreduce-ring\"\nbytes = \"400000B\"\nchunk = \"1MB\"");
    let experts = collective(2, "algorithm = \"alltoall\"\nbytes = \"40860B\"");
    assert!(among < 1_000_000 * NS);
    // The collective runs during a millisecond of computing, so it adds no time.
    assert_eq!(cct(8, SIMAI, file), experts + (1_000 + 1_000 + 1_000_000) * NS);
}

#[derive(Clone, Default)]
pub(super) struct Proto(Vec<u8>);

impl Proto {
    fn varint(mut self, mut number: u64) -> Self {
        while number >= 128 {
            self.0.push(number as u8 | 128);
            number >>= 7;
        }
        self.0.push(number as u8);
        self
    }

    pub(super) fn number(self, field: u64, number: u64) -> Self {
        self.varint(field << 3).varint(number)
    }

    pub(super) fn bytes(self, field: u64, bytes: &[u8]) -> Self {
        let mut longer = self.varint(field << 3 | 2).varint(bytes.len() as u64);
        longer.0.extend(bytes);
        longer
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Adds an attribute to a node, with its value in field number `field`.
    pub(super) fn attribute(self, name: &str, field: u64, value: u64) -> Self {
        let attribute = Proto::default().bytes(1, name.as_bytes()).number(field, value);
        self.bytes(10, &attribute.0)
    }
}

pub(super) fn node(id: u64, kind: u64, after: &[u64]) -> Proto {
    let node = Proto::default().number(1, id).bytes(2, b"a node").number(3, kind);
    after.iter().fold(node, |node, before| node.number(5, *before))
}

/// The file of a rank: its metadata and its nodes, each preceded by its length.
pub(super) fn file(nodes: &[Proto]) -> Vec<u8> {
    let about = Proto::default().bytes(1, b"0.0.4");
    let all = std::iter::once(&about).chain(nodes);
    all.fold(Proto::default(), |mut file, message| {
        file = file.varint(message.0.len() as u64);
        file.0.extend(&message.0);
        file
    })
    .0
}

pub(super) const INT64: u64 = 9;
pub(super) const UINT64: u64 = 13;
pub(super) const BOOL: u64 = 27;

/// Both ranks compute and then carry out an AllReduce. Rank 0 then sends a message, and rank 1 computes after the
/// message has arrived. Sizes are stored as int64 or as uint64.
#[test]
fn nodes_of_chakra_follow_their_dependencies() {
    for number in [INT64, UINT64] {
        let compute =
            |id, us, after: &[u64]| node(id, 4, after).number(7, us).attribute("is_cpu_op", BOOL, 0);
        let reduce = |id, after: &[u64]| {
            let node = node(id, 7, after).attribute("is_cpu_op", BOOL, 0);
            node.attribute("comm_type", number, 0).attribute("comm_size", number, 40_860)
        };
        let send = |id, to, after: &[u64]| {
            let node = node(id, 5, after).attribute("comm_dst", 7, to);
            node.attribute("comm_size", number, PAYLOAD).attribute("comm_tag", 11, 3)
        };
        let receive = |id, from, after: &[u64]| {
            let node = node(id, 6, after).attribute("comm_src", 7, from);
            node.attribute("comm_size", number, PAYLOAD).attribute("comm_tag", 11, 3)
        };
        let files = [
            file(&[compute(5, 30, &[]), reduce(7, &[5]), send(8, 1, &[7])]),
            file(&[compute(9, 30, &[]), reduce(0, &[9]), receive(1, 0, &[0]), compute(2, 10, &[1])]),
        ];
        let own = collective(2, "algorithm = \"allreduce-ring\"\nbytes = \"40860B\"\nchunk = \"128KB\"");
        let result = of_ranks("", &files).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(result.jobs[0].cct_ps, Some(30_000 * NS + own + THERE + 10_000 * NS));
    }
}

/// Rank 0 computes for 30 us and rank 1 for 10 us, and then both take part in an AllReduce.
#[test]
fn each_rank_and_collective_has_a_row_of_what_is_exposed() {
    let rank = |us| {
        let reduce = node(7, 7, &[5]).attribute("is_cpu_op", BOOL, 0);
        let reduce = reduce.attribute("comm_type", INT64, 0).attribute("comm_size", INT64, 40_860);
        file(&[node(5, 4, &[]).number(7, us).attribute("is_cpu_op", BOOL, 0), reduce])
    };
    let result = of_ranks("", &[rank(30), rank(10)]).unwrap_or_else(|error| panic!("{error}"));
    let cct = result.jobs[0].cct_ps.unwrap();
    let us = 1_000 * NS;
    let [first, second, reduce] = &result.parts[..] else { panic!("{:?}", result.parts) };
    for (number, part, computes) in [(0, first, 30 * us), (1, second, 10 * us)] {
        assert_eq!((part.part.as_str(), part.number, part.ranks), ("rank", number, 1));
        assert_eq!((part.start_ps, part.end_ps), (Some(0), Some(cct)));
        assert_eq!((part.compute_ps, part.exposed_ps), (computes, cct - computes));
    }
    assert_eq!((reduce.part.as_str(), reduce.algorithm.as_str()), ("collective", "allreduce-ring"));
    assert_eq!((reduce.place, reduce.bytes, reduce.ranks), (Some(7), 40_860, 2));
    assert_eq!((reduce.start_ps, reduce.end_ps), (Some(10 * us), Some(cct)));
    // Rank 1 waits for rank 0's first block, and computes nothing while it waits.
    assert!(reduce.compute_ps == 0 && (20 * us..=cct - 10 * us).contains(&reduce.exposed_ps), "{reduce:?}");
    let exposed = result.run.extra["exposed_max_us"];
    assert!((exposed - second.exposed_ps as f64 / 1e6).abs() < 1e-9, "{exposed}");
}

#[test]
fn what_chakra_has_and_is_not_simulated_is_named() {
    let coll = |kind| node(4, 7, &[]).attribute("is_cpu_op", BOOL, 0).attribute("comm_type", INT64, kind);
    for (nodes, says) in [
        (vec![node(3, 2, &[])], "job.0.et: node 3 (`a node`): loads and stores of memory are not simulated"),
        (vec![node(3, 9, &[])], "node 3 (`a node`): its type 9 is unknown"),
        (vec![coll(3).attribute("comm_size", INT64, 9)], "node 4 (`a node`): comm_type 3 is not simulated"),
        (vec![coll(0)], "node 4 (`a node`): it has no comm_size"),
        (vec![node(1, 5, &[])], "node 1 (`a node`): it has no comm_dst"),
        (vec![node(1, 4, &[9])], "job: rank 0, node 1: it waits for node 9, which is not there"),
        (vec![node(1, 4, &[]), node(1, 4, &[])], "job.0.et: node 1 (`a node`) is there for the second time"),
        (
            vec![coll(0).attribute("comm_size", INT64, 9)],
            "job: rank 0, node 4: it is collective 0 of its rank, and rank 1 has no more than 0",
        ),
        (vec![], "job: nothing in it is sent"),
    ] {
        let error = of_ranks("", &[file(&nodes), file(&[])]).map(|_| ()).unwrap_err();
        assert!(error.contains(says), "{error}\nexpected: {says}");
    }
    let one = file(&[coll(0).attribute("comm_size", INT64, 40_860)]);
    for (keys, files, says) in [
        ("", vec![one.clone(), Vec::new()], "job.1.et: it is empty; write: the trace of its rank"),
        (
            "",
            vec![one.clone()],
            "there is the trace of rank 0 alone; write: those of the others too, or replicate = 8",
        ),
        ("replicate = 4", vec![one.clone(), one.clone()], "there are the traces of 2 ranks"),
        ("replicate = 1", vec![one.clone()], "replicate must be 2 to"),
        (
            "replicate = 2",
            vec![file(&[node(1, 5, &[]).attribute("comm_dst", 7, 1).attribute("comm_size", INT64, 9)])],
            "node 1: it sends to or receives from one rank",
        ),
        ("streams = \"two\"", vec![one.clone(), one.clone()], "streams"),
        (
            "rank_hosts = [0, 5]",
            vec![one.clone(), one.clone()],
            "rank 1 is on host 5, which the fabric does not have",
        ),
        (
            "rank_hosts = [0, 0]",
            vec![one.clone(), one.clone()],
            "rank 1 is on host 0, which another rank or an earlier job has",
        ),
        ("rank_hosts = [0]", vec![one.clone(), one.clone()], "1 hosts are named, and the trace has 2 ranks"),
        (
            "rank_hosts = [0, 1]\nplacement = \"random\"",
            vec![one.clone(), one.clone()],
            "hosts or placement, not both",
        ),
        ("rank_hosts = \"none\"", vec![one.clone(), one.clone()], "cannot read \"none\""),
    ] {
        let error = of_ranks(keys, &files).map(|_| ()).unwrap_err();
        let error = error.replace("\n  write: ", "; write: ");
        assert!(error.contains(says), "{error}\nexpected: {says}");
    }
    let gap = vec![("job.2.et".to_owned(), one.clone())];
    let error = of_ranks_beside("", std::slice::from_ref(&one), gap).map(|_| ()).unwrap_err();
    assert!(error.contains("\"job.1.et\" is missing, and \"job.2.et\" is there"), "{error}");
    let cut = &file(&[node(1, 4, &[])])[..12];
    let error = of_ranks("", &[cut.to_vec()]).map(|_| ()).unwrap_err();
    assert!(error.contains("job.0.et: message 1 is no Chakra node"), "{error}");
    let error = of_ranks("", &[]).map(|_| ()).unwrap_err();
    assert!(error.contains("cannot read \"job.0.et\", the file of rank 0"), "{error}");
}

/// `runtime` is the duration in microseconds, and `comm_size` is the number of bytes that a rank has before the
/// collective.
#[test]
fn ranks_of_chakra_are_replicated_placed_and_have_streams() {
    let coll = |id, kind, after: &[u64]| {
        let node = node(id, 7, after).attribute("is_cpu_op", BOOL, 0);
        node.attribute("comm_type", INT64, kind).attribute("comm_size", INT64, 40_860)
    };
    let cct = |keys: &str, files: &[Vec<u8>]| of_ranks(keys, files).unwrap().jobs[0].cct_ps.unwrap();
    let ring = |kind: &str, bytes: u64| {
        collective(4, &format!("algorithm = \"{kind}-ring\"\nbytes = \"{bytes}B\"\nchunk = \"128KB\""))
    };
    // The collective types are AllReduce, AllGather, Broadcast and ReduceScatter.
    for (kind, name, bytes) in [
        (0, "allreduce", 40_860),
        (2, "allgather", 4 * 40_860),
        (5, "broadcast", 40_860),
        (7, "reducescatter", 40_860),
    ] {
        let one = file(&[coll(1, kind, &[])]);
        let expected = ring(name, bytes);
        assert_eq!(cct("", &[one.clone(), one.clone(), one.clone(), one.clone()]), expected, "{name}");
        for keys in ["rank_hosts = [3, 1, 0, 2]", "rank_hosts = \"ranks.txt\""] {
            let others =
                vec![("ranks.txt".to_owned(), b"# Hosts\n3\n1\n  # The last two\n0\n\n2\n".to_vec())];
            let files = [one.clone(), one.clone(), one.clone(), one.clone()];
            let placed = of_ranks_beside(keys, &files, others).unwrap();
            assert_eq!(placed.jobs[0].cct_ps, Some(expected), "{name}, {keys}");
        }
    }
    let compute = |id, stream| {
        node(id, 4, &[])
            .attribute("runtime", INT64, 30)
            .attribute("is_cpu_op", BOOL, 0)
            .attribute("tid", INT64, stream)
    };
    let both = file(&[compute(1, 7), compute(2, 20), coll(3, 0, &[1, 2])]);
    for (keys, us) in [("", 60), ("streams = \"each\"", 30)] {
        let files = vec![both.clone(); 4];
        assert_eq!(cct(keys, &files), us * 1_000 * NS + ring("allreduce", 40_860), "{keys}");
        let waits = compute(1, 7).number(5, 99);
        let error = of_ranks(keys, &[file(&[waits.clone(), coll(3, 0, &[1])]), both.clone()])
            .map(|_| ())
            .unwrap_err();
        assert!(error.contains("it waits for node 99, which is not there"), "{error}");
        let without = file(&[waits, compute(2, 20), coll(3, 0, &[1, 2])]);
        let files = [without, both.clone(), both.clone(), both.clone()];
        let expected = us * 1_000 * NS + ring("allreduce", 40_860);
        assert_eq!(cct(&format!("without_missing = true\n{keys}"), &files), expected, "{keys}");
        // The fabric of `of_ranks` has one host for each file, and at least 2.
        let two = collective(2, "algorithm = \"allreduce-ring\"\nbytes = \"40860B\"\nchunk = \"128KB\"");
        let replicated = cct(&format!("replicate = 2\n{keys}"), std::slice::from_ref(&both));
        assert_eq!(replicated, us * 1_000 * NS + two, "{keys}");
    }
}

#[test]
fn a_job_is_the_same_on_any_number_of_threads() {
    let keys = "format = \"msccl\"\nbytes = \"1MB\"\nplacement = \"random\"";
    let [one, two, three] = [1, 2, 3].map(|threads| simulated(16, keys, &ring(8), threads).unwrap());
    assert_eq!((&one.run.digest, &one.run.digest), (&two.run.digest, &three.run.digest));
}

/// Sample files from the projects that define the formats, if they are available.
#[test]
fn published_files_run_to_their_end() {
    let Some(folder) = std::env::var_os("ANABRANCH_PEERS").map(std::path::PathBuf::from) else {
        println!("skipped: ANABRANCH_PEERS is not set");
        return;
    };
    let file = |name: &str| std::fs::read_to_string(folder.join("data/jobs").join(name)).unwrap();
    // The job is a binomial tree of depth 5, so the last leaf is five messages away. Each rank sends to up to five
    // ranks at the same time.
    let tree = simulated(32, GOAL, &file("goal/binary_tree_32.goal"), 1).unwrap();
    let hop = 2 * (65 * 20 + D);
    let cct = tree.jobs[0].cct_ps.unwrap();
    assert!((5 * hop + BACK..=5 * (hop + 5 * 65 * 20) + BACK).contains(&cct), "{cct}");
    assert_eq!(tree.run.flows, 31);
    let ring = file("msccl/custom_allreduce.xml");
    // With LL128, a block of 125,000 or 125,001 B has 1,042 flags of 8 B.
    let bytes = 1_000_003 + 8 * 1_042 * 8;
    let own =
        collective(8, &format!("algorithm = \"allreduce-ring\"\nbytes = \"{bytes}B\"\nchunk = \"1GB\""));
    assert_eq!(super::cct(8, "format = \"msccl\"\nbytes = \"1000003B\"", &ring), own);
    let own = |bytes: u32| {
        collective(8, &format!("algorithm = \"allreduce-ring\"\nbytes = \"{bytes}B\"\nchunk = \"1MB\""))
    };
    let micro = super::cct(8, SIMAI, &file("simai/microAllReduce.txt"));
    assert_eq!(micro, 1_112_004 * NS + own(16_777_216) + own(67_108_864));
    let ranks = |name: &str, count: u32| -> Vec<Vec<u8>> {
        let file = |rank| std::fs::read(folder.join(format!("data/jobs/chakra/{name}.{rank}.et"))).unwrap();
        (0..count).map(file).collect()
    };
    let chakra = |keys: &str, files: &[Vec<u8>]| of_ranks(keys, files).unwrap().jobs[0].cct_ps;
    let own =
        |ranks, keys: &str| Some(collective(ranks, &format!("{keys}\nbytes = \"1MiB\"\nchunk = \"1MB\"")));
    // Each rank has 1 MiB before the collective and 4 MiB after it.
    let gather = ranks("all_gather_4/all_gather", 4);
    let expected = collective(4, "algorithm = \"allgather-ring\"\nbytes = \"4MiB\"\nchunk = \"1MB\"");
    assert_eq!(chakra("chunk = \"1MB\"", &gather), Some(expected));
    let ring = own(8, "algorithm = \"allreduce-ring\"");
    assert_eq!(chakra("chunk = \"1MB\"", &ranks("all_reduce_8/all_reduce", 8)), ring);
    // A rank computes for 7 us after each of 7 reductions. During this time it sends an ACK. Without the computing, a
    // block would wait for this ACK.
    let posted = chakra("ends = \"posted\"", &ranks("custom_ring_allreduce_8/custom_allreduce", 8));
    assert_eq!(posted, ring.map(|ring| ring + 7 * (7_000 * NS - A)));
    // This is the trace of rank 0 in a run under PyTorch, with broadcasts and AllReduces.
    let traced = std::process::Command::new("tar")
        .arg("xzOf")
        .arg(folder.join("data/jobs/chakra/feeder_tests_trace.tar.gz"))
        .arg("tests/data/chakra.0.et")
        .output()
        .unwrap();
    let job = vec![("traced.0.et".to_owned(), traced.stdout)];
    let keys =
        "kind = \"trace\"\nformat = \"chakra\"\nfile = \"traced\"\nreplicate = 8\nwithout_missing = true";
    let folder = Folder(job.into_iter().collect());
    let error = run_in(&folder, &scenario(8, keys, "reps"), 1).unwrap_err();
    let says = "node 3317: it never begins: it waits for node 3318, that for it again; leave one of these out, or write \
                without_control = true";
    assert!(error.contains(says), "{error}");
    let by_data = scenario(8, &format!("{keys}\nwithout_control = true"), "reps");
    let traced = run_in(&folder, &by_data, 1).unwrap_or_else(|error| panic!("{error}"));
    assert!(traced.run.flows > 0 && traced.jobs[0].cct_ps.is_some());
    let large = simulated(16, "format = \"simai\"", &file("simai/workload_analytical.txt"), 1).unwrap_err();
    assert!(large.contains("without_pipeline = true"), "{large}");
}

/// The examples in `examples/jobs`. A step of the GPT has about 190 million packets, so its workload is built but not
/// run.
#[test]
fn examples_are_jobs() {
    let read = |name: &str| {
        let path = format!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../examples/jobs/{}"), name);
        std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
    };
    let text = |name: &str| String::from_utf8(read(name)).unwrap();
    let folder = Folder(
        ["pipeline.goal", "gpt-13b.txt"].into_iter().map(|name| (name.to_owned(), read(name))).collect(),
    );
    let pipeline = run_in(&folder, &text("pipeline.toml"), 1).unwrap_or_else(|error| panic!("{error}"));
    // A micro-batch takes one computation in each of four stages. The last of three micro-batches is two computations
    // behind the first one. This gives 6 computations of 40 us.
    let cct = pipeline.jobs[0].cct_ps.unwrap();
    assert!(cct > (3 + 3) * 40_000 * NS && pipeline.run.extra["compute_max_us"] == 120.0, "{cct}");
    let gpt = scenario::read("gpt-13b.toml", &text("gpt-13b.toml"), &folder, &Overrides::default());
    let gpt = gpt.unwrap_or_else(|error| panic!("{error}"));
    let built = gpt.points().unwrap().remove(0);
    let workload = anabranch_sim::build(&built).unwrap_or_else(|error| panic!("{error}")).workload;
    assert_eq!(workload.jobs[0].hosts.len(), 128);
    // 40 layers and the embedding are reduced one by one, in 8 rings of 16 ranks. Each time, a rank sends 30 blocks
    // of 5 chunks.
    assert_eq!(workload.messages.len(), 8 * 16 * 30 * (40 * 5 + 5));
}
