//! Errors about files and keys from which no job can be built: the place, the expected form and the correction.

use super::*;

fn error(keys: &str, file: &str) -> String {
    simulated(4, keys, file, 1).map(|_| ()).unwrap_err()
}

#[test]
fn mistakes_in_goal_are_explained() {
    let of = |body: &str| format!("num_ranks 2\nrank 0 {{\n{body}\n}}\nrank 1 {{\n}}\n");
    for (file, says) in [
        (String::new(), "job: it is empty; its first line must be `num_ranks N`"),
        (
            "rank 0 {\n}".to_owned(),
            "job:1: nothing says how many ranks there are; write: `num_ranks 2` above it",
        ),
        ("num_ranks 0".to_owned(), "job:1: there are no ranks; write: `num_ranks 2`"),
        (
            "num_ranks 2\nrank 0 {\n}".to_owned(),
            "job:1: there are 2 ranks, and there is no `rank 1 {`; write: `num_ranks 1`",
        ),
        (
            "num_ranks 1\nrank 0 {\nl1: calc 5\n".to_owned(),
            "job: rank 0 does not end; write: a `}` behind it",
        ),
        ("num_ranks 1\nrank 3 {\n}".to_owned(), "job:2: there are ranks 0 to 0, and no rank 3"),
        (of("l1: send 8 to 1"), "job:3: a size ends in b, as in 8b, not `8`; write: 8b"),
        (
            of("l1: sned 8b to 1"),
            "job:3: expected `send 1b to 1`, `recv 1b from 0`, `calc 100` or `l2 requires l1`, not `sned`",
        ),
        (of("l1: send 8b to 1 nic 2"), "job:3: nic 2 is not simulated: a host has one NIC; write: nic 0"),
        (of("l1: calc 5\nl1: calc 6"), "job:4: the label `l1` is there already; write: another one"),
        (of("l1: calc 5\nl1 requires l2"), "job:4: there is no label `l2` in this rank"),
        (of("l1: calc 5\nl2: calc 6\nl2 irequires l1"), "job:5: irequires of a calc is not simulated"),
        (of("l1: send 8b to 5"), "job:3: rank 0: it sends to rank 5, and there are ranks 0 to 1"),
        (of("l1: send 8b to 0"), "job:3: rank 0: it sends to itself, which crosses no network; leave it out"),
        (
            of("l1: send 8b to 1 tag 3"),
            "job:3: rank 0: it sends to rank 1 with tag 3, which that never receives",
        ),
        (
            of("l1: recv 8b from 1"),
            "job:3: rank 0: it receives from rank 1 with tag 0, which that never sends (again)",
        ),
        (of("/* l1: calc 5\n"), "job:3: the comment that begins here does not end; write: */ behind it"),
        (of("send 1b to 1 tag 1 tag 2"), "job:3: tag is there twice; remove one of the two"),
        (of("l1: calc 5"), "job: nothing in it is sent; a workload needs a message"),
        (
            of("l1: calc 5\nl2: calc 6\nl1 requires l2\nl2 requires l1"),
            "job:3: rank 0: it never begins: it waits for line 4, that for it again; leave one of these out",
        ),
        (
            "num_ranks 9".to_owned() + &(0..9).map(|r| format!("\nrank {r} {{\n}}")).collect::<String>(),
            "job: it has 9 ranks, and the fabric has 4 hosts",
        ),
    ] {
        let error = error("format = \"goal\"", &file);
        assert!(error.contains(says), "{error}\nexpected: {says}");
    }
    let crossed = "num_ranks 2\nrank 0 {\nr: recv 1b from 1\ns: send 1b to 1\ns requires r\n}\n\
                   rank 1 {\nr: recv 1b from 0\ns: send 1b to 0\ns requires r\n}\n";
    let crossed = error("format = \"goal\"", crossed);
    let says = "job:3: rank 0: it never begins: it waits for line 9 of rank 1, that for line 8 of rank 1, that for line 4, \
                that for it again";
    assert!(crossed.contains(says), "{crossed}");
    let sizes = "num_ranks 2\nrank 0 {\ns: send 1b to 1\n}\nrank 1 {\nr: recv 2b from 0\n}\n";
    let says = "job:6: rank 1: it receives 2 bytes from rank 0 with tag 0, which sends 1";
    assert!(error("format = \"goal\"", sizes).contains(says));
}

#[test]
fn mistakes_in_msccl_are_explained() {
    let of = |step: &str| {
        format!(
            "<algo ngpus=\"2\" nchunksperloop=\"2\">\n<gpu id=\"0\">\n<tb id=\"0\" send=\"1\" recv=\"-1\" chan=\"0\">\n{step}\n\
             </tb>\n</gpu>\n<gpu id=\"1\"/>\n</algo>"
        )
    };
    let step = |kind: &str, deps: &str| {
        of(&format!(
            "<step s=\"0\" type=\"{kind}\" srcoff=\"0\" dstoff=\"0\" cnt=\"1\" depid=\"{deps}\" deps=\"{deps}\"/>"
        ))
    };
    for (file, says) in [
        ("<algo".to_owned(), "job:1: it is no XML"),
        ("<graph/>".to_owned(), "job:1: expected <algo>, not <graph>"),
        ("<algo/>".to_owned(), "job:1: <algo> has no ngpus"),
        (of("<step s=\"0\"/>"), "job:4: <step> has no type; write: type=\"nop\""),
        (step("x", "-1"), "job:4: type is one of s, r, rcs, rrc, rrs, rrcs, cpy, re and nop, not `x`"),
        (step("r", "-1"), "job:4: a step of type r needs a block with recv, which is -1"),
        (step("s", "5"), "job:4: it waits for step 5 of block 5, which is not there"),
        (of(""), "job: nothing in it is sent"),
        (of("words"), "job:3: text where elements are expected: `words`"),
        (
            step("s", "-1").replace("<gpu id=\"1\"/>", ""),
            "job:1: ngpus says 2 GPUs, and GPU 1 is not there; write: ngpus=\"1\"",
        ),
        (
            step("s", "-1").replace("ngpus", "proto=\"X\" ngpus"),
            "job:1: proto is Simple, LL or LL128, not `X`",
        ),
        (
            step("s", "-1").replace("deps=\"-1\"", "deps=\"0\""),
            "job:4: depid and deps name a block and its step together",
        ),
        (
            step("s", "-1")
                .replace("<gpu id=\"0\"", "<gpu id=\"0\" i_chunks=\"1\"")
                .replace("srcoff=\"0\"", "srcbuf=\"i\" srcoff=\"1\""),
            "job:4: chunks 1 to 1 of i, which has 1 (i_chunks); write: srcoff=\"0\"",
        ),
        (
            of(
                "<step s=\"1\" type=\"nop\" depid=\"-1\" deps=\"-1\"/>\n<step s=\"0\" type=\"nop\" depid=\"-1\" deps=\"-1\"/>",
            ),
            "job:5: step 0 of block 0 stands behind step 1; write: them in their order",
        ),
        (step("s", "-1"), "job:4: rank 0: it sends to rank 1 with tag 0, which that never receives"),
    ] {
        let error = error("format = \"msccl\"\nbytes = \"8KB\"", &file);
        assert!(error.contains(says), "{error}\nexpected: {says}");
    }
}

#[test]
fn a_file_of_another_format_is_named() {
    let goal = "num_ranks 2\nrank 0 {\nsend 1b to 1\n}\nrank 1 {\nrecv 1b from 0\n}\n";
    for (read_as, file, is) in [
        ("msccl\"\nbytes = \"8KB", goal, "goal"),
        ("simai", goal, "goal"),
        ("goal", "<algo ngpus=\"2\"/>", "msccl"),
        ("goal", "{ \"name\": \"x\" }", "mscclpp"),
        ("goal", "HYBRID_TRANSFORMER_FWD_IN_BCKWD ep: 1\n", "simai"),
        ("goal", "MICRO\n1\n", "simai"),
    ] {
        let error = error(&format!("format = \"{read_as}\""), file);
        assert!(error.ends_with(&format!("; write: {is}")), "{error}");
    }
}

#[test]
fn mistakes_in_simai_are_explained() {
    let head = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 1 all_gpus: 4\n";
    for (file, says) in [
        (String::new(), "job: it is empty"),
        (
            "DATA\n1\n".to_owned(),
            "job:1: workloads that begin with HYBRID_TRANSFORMER_FWD_IN_BCKWD, HYBRID_TRANSFORMER or MICRO are simulated, not `DATA`",
        ),
        (
            head.replace("ep: 1", "ep: 3"),
            "job:1: 2 data-parallel ranks are no whole number of groups of 3 experts",
        ),
        (
            head.replace("all_gpus: 4", "all_gpus: 5"),
            "job:1: 5 ranks are no whole number of 1 stages of 2 tensor ranks",
        ),
        (head.replace("ep: 1", "ep: 1 ep: 1"), "job:1: `ep:` is there twice; remove one of the two"),
        (
            head.to_owned() + "2\nl -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n",
            "job:2: it counts 2 layers, and there is 1; write: 1",
        ),
        (
            head.to_owned() + "1\nl -1 1 NONE 0 1 NONE 0 1 NONE 0\n",
            "the time of the update; the last one is missing; write: 0 behind it",
        ),
        (
            head.to_owned() + "1\nl 4 1 NONE 0 1 NONE 0 1 NONE 0 1\n",
            "job:3: a dependency on another layer is not simulated",
        ),
        (
            head.to_owned() + "1\nl -1 1 REDUCE 9 1 NONE 0 1 NONE 0 1\n",
            "job:3: `REDUCE` is no known collective; expected one of: NONE, ALLREDUCE",
        ),
        (head.to_owned() + "1\nl -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n", "job: nothing in it is sent"),
        (head.replace("pp: 1", "pp: 2") + "1\nl -1 1 ALLREDUCE 9 1 NONE 0 1 NONE 0 1\n", ""),
    ] {
        match simulated(4, "format = \"simai\"", &file, 1) {
            Err(error) => assert!(!says.is_empty() && error.contains(says), "{error}\nexpected: {says}"),
            Ok(_) => assert!(says.is_empty(), "expected: {says}"),
        }
    }
    let huge = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 1 all_gpus: 4096\n1\n\
                l -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 9000000000 1\n";
    let says = "its 1 layers on 4096 ranks come to";
    assert!(error("format = \"simai\"", huge).contains(says));
}

#[test]
fn keys_that_do_not_fit_are_explained() {
    let goal = "num_ranks 2\nrank 0 {\ns: send 1b to 1\n}\nrank 1 {\nr: recv 1b from 0\n}\n";
    for (keys, says) in [
        (
            "",
            "[workload] has no \"format\"\n  write: format = one of \"goal\", \"msccl\", \"mscclpp\", \"simai\", \"chakra\"",
        ),
        ("format = \"gaol\"", "write: format = \"goal\""),
        (
            "format = \"goal\"\nbytes = \"1MB\"",
            "bytes is for format = \"msccl\" or \"mscclpp\", not \"goal\"\n  write: [workload] without bytes",
        ),
        ("format = \"goal\"\nchunk = \"1MB\"", "chunk is for format = \"simai\" or \"chakra\", not \"goal\""),
        ("format = \"goal\"\nends = \"never\"", "ends = one of \"posted\", \"acknowledged\""),
        ("format = \"msccl\"", "bytes"),
        ("format = \"simai\"\nchunk = \"0B\"", "a chunk must have at least 1B"),
    ] {
        let error = error(keys, goal);
        assert!(error.contains(says), "{error}\nexpected: {says}");
    }
}
