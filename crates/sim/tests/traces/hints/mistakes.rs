//! Mistakes in files of several formats, with their corrections.

use super::{FixPlace, Mistake, mistake};

const CM: &str = "Nodes 4\nConnections 3\nTriggers 1\n0->1 id 1 start 1 size 1000 send_done_trigger 1\n\
                  1->2 id 2 trigger 1 size 2000\n2->3 id 3 start 5 size 3000\ntrigger id 1 oneshot\n";
const MSG: &str = "Nodes 4\nConnections 2\n0->1 id 1 start 0 size 1000\n0->1 id 1 msg start 0 size 2000\n";
const BARRIER: &str = "Nodes 4\nConnections 3\nTriggers 1\n0->1 start 0 size 9 send_done_trigger 1\n\
                       1->2 start 0 size 9 send_done_trigger 1\n2->3 trigger 1 size 9\ntrigger id 1 barrier count 2\n";
const ONE: &str = "Nodes 16\nConnections 1\nFailures 0\n0->1 start 0 size 2000000\n";

pub(super) fn of_cm() -> Vec<Mistake> {
    use FixPlace::{Above, After, Below, Of};
    let three = "`Connections 3`";
    vec![
        mistake(CM, ("Connections 3", "Connections 4"), 2, three, ("Connections 3", Of("Connections 4"))),
        // htsim also treats a count that is too small as a mistake.
        mistake(CM, ("Connections 3", "Connections 2"), 2, three, ("Connections 3", Of("Connections 2"))),
        mistake(CM, ("Triggers 1", "Triggers 2"), 3, "`Triggers 1`", ("Triggers 1", Of("Triggers 2"))),
        mistake(
            ONE,
            ("Connections 1\n", ""),
            0,
            "`Connections 1` before the body",
            ("Connections 1", After("Nodes 16")),
        ),
        mistake(ONE, ("Nodes 16\n", ""), 3, "`Nodes 16` above it", ("Nodes 16", Above)),
        mistake(
            "Nodes 16\nConnections 1\n0->1 start 0 size 1000\n",
            ("Connections 1\n0->1 start 0 size 1000\n", ""),
            0,
            "`Connections 1` and below it a line such as `0->1 start 0 size 1000`",
            ("Connections 1\n0->1 start 0 size 1000", Below),
        ),
        mistake(
            ONE,
            ("Failures 0", "Failures 1"),
            3,
            "them as [[fault]] in the scenario, remove the `failure` lines and set `Failures 0`",
            ("Failures 0", Of("Failures 1")),
        ),
    ]
}

pub(super) fn of_connections() -> Vec<Mistake> {
    use FixPlace::{Behind, Of};
    vec![
        mistake(CM, ("size 1000", "size 1KB"), 4, "1000", ("1000", Of("1KB"))),
        mistake(CM, ("start 5", "start 5ps"), 6, "5", ("5", Of("5ps"))),
        mistake(ONE, ("size 2000000", "size 2MB"), 4, "2000000", ("2000000", Of("2MB"))),
        mistake(
            "Nodes 4\nConnections 1\n0->1 start 0 size 1\n",
            ("size 1", "size 0"),
            3,
            "`size 1`",
            ("size 1", Of("size 0")),
        ),
        mistake(
            ONE,
            (" size 2000000", ""),
            4,
            "`size 2000000` behind it, or other bytes",
            ("size 2000000", Behind),
        ),
        mistake(ONE, ("start 0 ", ""), 4, "`start 0` behind it, or `trigger N`", ("start 0", Behind)),
        mistake(ONE, ("start 0", "start 0 trigger 1"), 4, "", ("start 0", Of("start 0 trigger 1"))),
        mistake(ONE, ("start 0", "strat 0"), 4, "", ("start", Of("strat"))),
        mistake(ONE, ("start 0", "start 0 start 0"), 4, "", ("start 0", Of("start 0 start 0"))),
        mistake(
            MSG,
            ("id 1 msg", "msg"),
            4,
            "`id 1`, or another number of the connection that carries the message",
            ("id 1", Behind),
        ),
        mistake(
            MSG,
            ("1 msg", "1"),
            4,
            "another id, or `msg` for a further message on that connection",
            ("msg", Behind),
        ),
        mistake(
            CM,
            ("oneshot", "oneshot count 2"),
            7,
            "`oneshot` alone, or `barrier` in its place",
            ("oneshot", Of("oneshot count 2")),
        ),
        mistake(CM, ("oneshot", "onshot"), 7, "", ("oneshot", Of("onshot"))),
        mistake(BARRIER, ("count 2", "count 3"), 7, "`count 2`", ("count 2", Of("count 3"))),
        mistake(
            BARRIER,
            ("barrier count 2", "barrier"),
            7,
            "`barrier count 2`, or another number of activations",
            ("barrier count 2", Of("barrier")),
        ),
    ]
}

const TOPO: &str = "Nodes 16\nTiers 2\nPodsize 16\nTier 0\nDownlink_speed_Gbps 400\nRadix_Down 4\nRadix_Up 2\n\
                    Oversubscribed 2\nDownlink_Latency_ns 500\nBundle 1\nTier 1\nDownlink_speed_Gbps 100\nRadix_Down 4\n\
                    Radix_Up 0\nBundle 1\nDownlink_Latency_ns 1.5\n";
const DEEP: &str = "Nodes 16\nTiers 3\nPodsize 8\nTier 0\nDownlink_speed_Gbps 400\nRadix_Down 4\nRadix_Up 4\n\
                    Downlink_Latency_ns 500\nTier 1\nDownlink_speed_Gbps 400\nRadix_Down 4\nRadix_Up 4\nBundle 2\n\
                    Downlink_Latency_ns 500\nTier 2\nDownlink_speed_Gbps 400\nRadix_Down 2\nDownlink_Latency_ns 500\n";

pub(super) fn of_topo() -> Vec<Mistake> {
    use FixPlace::Of;
    vec![
        mistake(
            TOPO,
            ("Radix_Down 4\nRadix_Up 0", "Radix_Down 8\nRadix_Up 0"),
            13,
            "Radix_Down 4",
            ("Radix_Down 4", Of("Radix_Down 8")),
        ),
        mistake(
            TOPO,
            ("Gbps 400", "Gbps 400Gbps"),
            5,
            "Downlink_speed_Gbps 400",
            ("Downlink_speed_Gbps 400", Of("Downlink_speed_Gbps 400Gbps")),
        ),
        mistake(
            TOPO,
            ("Gbps 100", "Gbps 0.1Tbps"),
            12,
            "Downlink_speed_Gbps 100",
            ("Downlink_speed_Gbps 100", Of("Downlink_speed_Gbps 0.1Tbps")),
        ),
        mistake(
            TOPO,
            ("ns 1.5", "ns 0.0015us"),
            16,
            "Downlink_Latency_ns 1.5",
            ("Downlink_Latency_ns 1.5", Of("Downlink_Latency_ns 0.0015us")),
        ),
        mistake(
            TOPO,
            ("Gbps 100", "Gbps 0"),
            12,
            "Downlink_speed_Gbps 100, or another one",
            ("Downlink_speed_Gbps 100", Of("Downlink_speed_Gbps 0")),
        ),
    ]
}

pub(super) fn of_shapes() -> Vec<Mistake> {
    use FixPlace::{Line, Nowhere, Of};
    vec![
        mistake(TOPO, ("Podsize 16", "Podsize 8"), 3, "Podsize 16", ("Podsize 16", Of("Podsize 8"))),
        mistake(DEEP, ("Podsize 8", "Podsize 10"), 3, "Podsize 8 or 16", ("Podsize 8", Of("Podsize 10"))),
        mistake(
            TOPO.replace("Oversubscribed 2\n", "").leak(),
            ("Radix_Down 4\nRadix_Up 2", "Radix_Down 5\nRadix_Up 2"),
            6,
            "Radix_Down 4 or 8",
            ("Radix_Down 4", Of("Radix_Down 5")),
        ),
        mistake(TOPO, ("Radix_Up 0", "Radix_Up 2"), 14, "Radix_Up 0", ("Radix_Up 0", Of("Radix_Up 2"))),
        mistake(
            DEEP,
            ("Radix_Up 4\nDownlink_Latency", "Radix_Up 5\nDownlink_Latency"),
            7,
            "Radix_Up 4 or 6",
            ("Radix_Up 4", Of("Radix_Up 5")),
        ),
        mistake(TOPO, ("Bundle 1\nTier", "Bundle 2\nTier"), 10, "Bundle 1", ("Bundle 1", Of("Bundle 2"))),
        mistake(
            TOPO,
            ("Bundle 1\nDownlink_Latency", "Bundle 0\nDownlink_Latency"),
            15,
            "Bundle 1 or more",
            ("Bundle 1", Of("Bundle 0")),
        ),
        mistake(
            TOPO,
            ("Radix_Up 2", "Radix_Up 4"),
            8,
            "Radix_Up 2, or another Oversubscribed",
            ("Radix_Up 2", Line("Radix_Up 4")),
        ),
        mistake(TOPO, ("Radix_Up 2", "Radix_Upp 2"), 7, "", ("Radix_Up", Of("Radix_Upp"))),
        mistake(TOPO, ("Podsize 16", "Podsize 16\nPodsize 16"), 4, "", ("", Nowhere)),
    ]
}

const HYBRID: &str = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 2 pp: 1 all_gpus: 8 checkpoints: 0 \
                      checkpoint_initiates: 0\n2\na -1 1000 ALLREDUCE 4000 7 ALLTOALL_EP 0 9 NONE 0 1\n\
                      b -1 5 NONE 0 0 NONE 0 0 BROADCAST 6000 1\n";

pub(super) fn of_simai() -> Vec<Mistake> {
    use FixPlace::{Above, Behind, Of, Scenario};
    let with = |header: &str| -> &'static str {
        let header = format!("HYBRID_TRANSFORMER_FWD_IN_BCKWD {header}");
        format!("{header}\n1\na -1 1000 ALLREDUCE 4000 7 NONE 0 9 NONE 0 1\n").leak()
    };
    let staged = with("model_parallel_NPU_group: 2 pp: 2 all_gpus: 8 pp_comm: 3000");
    vec![
        mistake(HYBRID, ("\n2\n", "\n3\n"), 2, "2", ("2", Of("3"))),
        mistake(HYBRID, ("\n2\n", "\ntwo\n"), 2, "2", ("2", Of("two"))),
        mistake(HYBRID, ("\n2\n", "\n"), 2, "2 above this line", ("2", Above)),
        mistake(HYBRID, ("1000", "1us"), 3, "1000", ("1000", Of("1us"))),
        mistake(HYBRID, ("4000", "4KB"), 3, "4000", ("4000", Of("4KB"))),
        mistake(HYBRID, ("ALLREDUCE", "ALLREDUC"), 3, "", ("ALLREDUCE", Of("ALLREDUC"))),
        mistake(HYBRID, ("BROADCAST", "broadcast"), 4, "", ("BROADCAST", Of("broadcast"))),
        mistake(HYBRID, ("ALLTOALL_EP", "ALLTOAL_EP"), 3, "", ("ALLTOALL", Of("ALLTOAL"))),
        mistake(HYBRID, ("a -1", "a 4"), 3, "-1", ("-1", Of("4"))),
        mistake(HYBRID, ("6000 1", "6000"), 4, "0 behind it", ("0", Behind)),
        mistake(
            with("model_parallel_NPU_group: 8 all_gpus: 8"),
            ("model_parallel_NPU_group: 8 ", ""),
            1,
            "model_parallel_NPU_group: 8 behind the first word",
            ("model_parallel_NPU_group: 8", Behind),
        ),
        mistake(
            with("model_parallel_NPU_group: 3 all_gpus: 15"),
            (" all_gpus: 15", ""),
            1,
            "all_gpus: 15 behind the rest of the line",
            ("all_gpus: 15", Behind),
        ),
        mistake(
            with("model_parallel_NPU_group: 2 all_gpus: 8 ep: 1"),
            ("ep: 1", "ep:"),
            1,
            "ep: 1",
            ("ep: 1", Of("ep:")),
        ),
        mistake(HYBRID, ("all_gpus: 8", "all_gpus: 9"), 1, "all_gpus: 8", ("all_gpus: 8", Of("all_gpus: 9"))),
        mistake(HYBRID, ("ep: 2", "ep: 3"), 1, "ep: 2", ("ep: 2", Of("ep: 3"))),
        mistake(HYBRID, ("pp: 1", "pp: 0"), 1, "pp: 1", ("pp: 1", Of("pp: 0"))),
        mistake(HYBRID, ("ep: 2", "epp: 2"), 1, "", ("ep:", Of("epp:"))),
        mistake(HYBRID, ("ep: 2", "ep: 2 ep: 2"), 1, "", ("ep:", Of("ep: 2 ep:"))),
        mistake(
            HYBRID,
            ("checkpoints: 0", "checkpoints: 2 3 5"),
            1,
            "checkpoints: 0",
            ("checkpoints: 0", Of("checkpoints: 2 3 5")),
        ),
        mistake(
            staged,
            ("", ""),
            1,
            "without_pipeline = true in [workload] to leave that out",
            ("without_pipeline = true", Scenario),
        ),
    ]
}

const GOAL: &str = "num_ranks 3\nrank 0 {\na: send 1000b to 1 tag 1\nc: calc 1000\n}\nrank 1 {\nb: recv 1000b from 0 tag 1\n}\n\
                    rank 2 {\n}\n";
const PAST: &str =
    "num_ranks 3\nrank 0 {\na: send 9b to 2 nic 0\n}\nrank 1 { }\nrank 2 {\nb: recv 9b from 0\n}\n";

pub(super) fn of_goal() -> Vec<Mistake> {
    use FixPlace::{Above, After, AllOf, Behind, End, Of};
    let two = "num_ranks 2\n/* a comment */\nrank 0 {\na: send 1b to 1\nc: calc 5\na requires c\n}\nrank 1 {\nb: recv 1b from 0\n}\n";
    vec![
        mistake(GOAL, ("num_ranks 3", "num_ranks 4"), 1, "`num_ranks 3`", ("num_ranks 3", Of("num_ranks 4"))),
        mistake(
            PAST,
            ("rank 1 { }\n", ""),
            1,
            "`rank 1 { }` behind the others, where it does nothing",
            ("rank 1 { }", End),
        ),
        mistake(two, ("num_ranks 2", "num_ranks 0"), 1, "`num_ranks 2`", ("num_ranks 2", Of("num_ranks 0"))),
        mistake(
            two,
            ("num_ranks 2\n", ""),
            2,
            "`num_ranks 2` above it, or another number",
            ("num_ranks 2", Above),
        ),
        mistake(GOAL, ("send 1000b", "send 1000"), 3, "1000b", ("1000b", Of("1000"))),
        mistake(GOAL, ("send 1000b", "send 1KB"), 3, "1000b", ("1000b", Of("1KB"))),
        mistake(GOAL, ("calc 1000", "calc 1us"), 4, "1000", ("1000", Of("1us"))),
        mistake(GOAL, ("recv 1000b", "recv 999b"), 7, "1000b", ("1000b", Of("999b"))),
        mistake(
            GOAL,
            ("b: recv 1000b from 0 tag 1\n", ""),
            3,
            "`recv 1000b from 0 tag 1` into rank 1",
            ("recv 1000b from 0 tag 1", After("rank 1 {")),
        ),
        mistake(
            GOAL,
            ("a: send 1000b to 1 tag 1\n", ""),
            6,
            "`send 1000b to 1 tag 1` into rank 0",
            ("send 1000b to 1 tag 1", After("rank 0 {")),
        ),
        mistake(
            "num_ranks 2\nrank 0 {\nsend 1b to 1\n}\nrank 1 {\nrecv 1b from 0\n}\n",
            ("send 1b to 1\n}\nrank 1 {\nrecv 1b", "send 0b to 1\n}\nrank 1 {\nrecv 0b"),
            3,
            "1b here and where it is received",
            ("1b", AllOf("0b")),
        ),
        mistake(PAST, ("nic 0", "nic 2"), 3, "nic 0", ("nic 0", Of("nic 2"))),
        mistake(PAST, ("from 0\n}\n", "from 0\n"), 0, "a `}` behind it", ("}", End)),
        mistake(two, ("comment */", "comment"), 2, "*/ behind it", ("*/", Behind)),
        mistake(
            two,
            ("a requires c", "a irequires c"),
            6,
            "requires in its place, or the label of what `c` itself requires",
            ("requires", Of("irequires")),
        ),
        mistake(GOAL, ("tag 1", "tag 1 tag 1"), 3, "", ("tag 1", Of("tag 1 tag 1"))),
    ]
}

/// The element of GPU `number`, which has one thread block with one step of the given type.
fn gpu(number: u32, [send, recv]: [&str; 2], step: &str) -> String {
    format!(
        "<gpu id=\"{number}\" i_chunks=\"2\">\n<tb id=\"0\" send=\"{send}\" recv=\"{recv}\" chan=\"0\">\n\
         <step s=\"0\" type=\"{step}\" srcbuf=\"i\" srcoff=\"1\" dstbuf=\"i\" dstoff=\"1\" cnt=\"1\" depid=\"-1\" deps=\"-1\"/>\n\
         </tb>\n</gpu>\n"
    )
}

pub(super) fn of_msccl() -> Vec<Mistake> {
    use FixPlace::{Below, Of, Tag};
    let (sends, receives) = (gpu(0, ["1", "-1"], "s"), gpu(1, ["-1", "0"], "r"));
    let pair: &'static str =
        format!("<algo ngpus=\"2\" nchunksperloop=\"1\">\n{sends}{receives}</algo>\n").leak();
    let idle: &'static str = format!(
        "<algo ngpus=\"4\" nchunksperloop=\"1\">\n<gpu id=\"0\"/>\n{}{}{}</algo>\n",
        gpu(1, ["2", "-1"], "s"),
        gpu(2, ["-1", "1"], "r"),
        gpu(3, ["-1", "-1"], "nop"),
    )
    .leak();
    let lacks = |file: &'static str, attribute: &'static str, line: usize| {
        let with: &'static str = format!(" {attribute}").leak();
        mistake(file, (with, ""), line, attribute, (attribute, Tag))
    };
    vec![
        lacks(pair, "ngpus=\"2\"", 1),
        lacks(pair, "nchunksperloop=\"1\"", 1),
        lacks(pair, "recv=\"-1\"", 3),
        lacks(pair, "chan=\"0\"", 3),
        lacks(pair, "s=\"0\"", 4),
        lacks(pair, "cnt=\"1\"", 4),
        lacks(pair, "depid=\"-1\"", 4),
        lacks(idle, "type=\"nop\"", 15),
        mistake(pair, ("ngpus=\"2\"", "ngpus=\"3\""), 1, "ngpus=\"2\"", ("ngpus=\"2\"", Of("ngpus=\"3\""))),
        mistake(
            idle,
            ("<gpu id=\"0\"/>\n", ""),
            1,
            "<gpu id=\"0\"/>, where it does nothing",
            ("<gpu id=\"0\"/>", Below),
        ),
        mistake(pair, ("cnt=\"1\"", "cnt=\"3\""), 4, "cnt=\"1\"", ("cnt=\"1\"", Of("cnt=\"3\""))),
        mistake(
            pair,
            ("srcoff=\"1\"", "srcoff=\"2\""),
            4,
            "srcoff=\"1\"",
            ("srcoff=\"1\"", Of("srcoff=\"2\"")),
        ),
    ]
}
