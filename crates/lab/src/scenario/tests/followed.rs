//! Hints that are followed as written: the scenario with the hint is accepted and means what the user meant.

use super::newcomers::{PERMUTATION, RING, SIZES, TESTS, correction, on_16, works};

const NVLINK: &str = "nvlink = \"3600Gbps\"";

/// A ring on GPUs, with further keys of `[topology]` and further lines below `[workload]`.
fn ring(topology: &str, rest: &str) -> String {
    on_16(&format!("{NVLINK}\n{topology}"), &format!("{RING}\nserver = {{}}\n{rest}"))
}

fn warnings(text: &str) -> Vec<String> {
    works(text).check().unwrap().iter().map(ToString::to_string).collect()
}

#[test]
fn hosts_of_faults_are_named_by_nics() {
    let fault = |rest: &str, hosts: &str| ring("", &format!("[[fault]]\n{rest}\nhosts = {hosts}"));
    for rest in ["kind = \"pause-storm\"", "kind = \"slow-receiver\"\nrate = \"100Gbps\""] {
        for (written, nic) in [
            ("gpu:3", "server:0/nic:3"),
            ("server:0/gpu:3", "server:0/nic:3"),
            ("gpu:9", "server:1/nic:1"),
            ("Host 7", "host:7"),
        ] {
            let hint = correction(&fault(rest, &format!("{written:?}")));
            assert_eq!(hint, format!("hosts = {nic:?}"), "{written}");
            works(&fault(rest, &format!("{nic:?}")));
        }
        let forms = correction(&fault(rest, "\"tor0/uplinks\""));
        assert!(forms.starts_with("hosts by a name of this topology: \"server:0\", "), "{forms}");
        assert_eq!(correction(&fault(rest, "\"\"")), "hosts = \"host:3\"");
        works(&fault(rest, "\"host:3\""));
        let links = fault(rest, "").replace("hosts = ", "links = \"server:0/nic:3\"");
        assert_eq!(correction(&links), "hosts = \"server:0/nic:3\" instead of links");
    }
}

#[test]
fn a_class_has_a_name_of_its_own() {
    let class = |name: &str| {
        let workload = "workload = { kind = \"incast\", bytes = \"8KB\" }";
        ring("", &format!("[[class]]\nname = {name:?}\nscheme = \"rocev2\"\n{workload}"))
    };
    for (written, instead) in [
        ("", "storage"),
        ("main/inter", "main-inter"),
        ("storage traffic", "storage-traffic"),
        ("a,b", "a-b"),
        ("inter", "inter-class"),
        ("mixed", "mixed-class"),
        ("background", "background-class"),
    ] {
        assert_eq!(correction(&class(written)), format!("name = {instead:?}"), "{written}");
        works(&class(instead));
    }
}

#[test]
fn numbers_that_fit_are_said_with_their_keys() {
    let lines = |topology: &str, servers: u32| {
        on_16(topology, PERMUTATION).replace("servers = 16", &format!("servers = {servers}"))
    };
    for (topology, servers, hint, right) in [
        (
            "nvlink_domain = 3",
            16,
            "nvlink_domain = 2 or 4, or servers = 15 or 18",
            [("nvlink_domain = 4", 16), ("nvlink_domain = 3", 15)],
        ),
        (
            "gpus = 4\nnics = 4\nnvlink_domain = 18",
            70,
            "nvlink_domain = 14 or 35, or servers = 54 or 72",
            [("gpus = 4\nnics = 4\nnvlink_domain = 14", 70), ("gpus = 4\nnics = 4\nnvlink_domain = 18", 72)],
        ),
        (
            "nvlink_domain = 72",
            16,
            "nvlink_domain = 9 for 72 GPUs, with servers = 9 or 18; or servers = 72 for 72 servers",
            [("nvlink_domain = 9", 9), ("nvlink_domain = 9", 18)],
        ),
        (
            "nvlink_domain = 72",
            45,
            "nvlink_domain = 9 for 72 GPUs; or servers = 72 for 72 servers",
            [("nvlink_domain = 9", 45), ("nvlink_domain = 72", 72)],
        ),
        (
            "spines = 3",
            16,
            "spines = 2 or 4, or uplinks = 18",
            [("spines = 4", 16), ("spines = 3\nuplinks = 18", 16)],
        ),
        (
            "segment = 4\npod = 3",
            16,
            "pod = 2 or 4",
            [("segment = 4\npod = 4", 16), ("segment = 4\npod = 2\ntiers = 3", 16)],
        ),
    ] {
        assert_eq!(correction(&lines(topology, servers)), hint, "{topology}");
        for (right, servers) in right {
            works(&lines(right, servers));
        }
    }
}

#[test]
fn all_switches_of_a_tier_are_named_by_a_share() {
    let fault = |switches: &str| {
        ring(
            "segment = 4",
            &format!(
                "[[fault]]\nkind = \"switch-down\"\nat = \"10us\"\nduration = \"20us\"\nswitches = {switches:?}"
            ),
        )
    };
    for (written, meant) in [("spine", "spine:100%"), ("spine:all", "spine:100%"), ("leaves", "tor:100%")] {
        assert_eq!(correction(&fault(written)), format!("switches = {meant:?}"));
        works(&fault(meant));
    }
}

#[test]
fn bytes_of_nvlink_are_those_of_a_data_sheet() {
    let rate = |rate: &str| ring("", "").replace(NVLINK, &format!("nvlink = {rate:?}"));
    for (written, meant) in
        [("450GB/s", "3600Gbps"), ("900GB/s", "3600Gbps"), ("150GB/s", "1200Gbps"), ("1.8TB/s", "7200Gbps")]
    {
        assert_eq!(correction(&rate(written)), format!("nvlink = {meant:?}"), "{written}");
        assert_eq!(warnings(&rate(meant)), [""; 0]);
    }
    let both = correction(&rate("225GB/s"));
    assert_eq!(
        both,
        "nvlink = \"900Gbps\" if these are the bytes of both directions, \"1800Gbps\" if of one"
    );
    for one in ["900Gbps", "1800Gbps"] {
        let [warning] = &warnings(&rate(one))[..] else { panic!("one warning") };
        assert!(warning.ends_with("or as it is, if these are bits in one direction"), "{warning}");
    }
}

#[test]
fn a_key_of_another_table_is_said_with_its_table() {
    let of_job =
        |line: &str| ring("", "").replace("server = {}", &format!("server = {{ nvls = false }}\n{line}"));
    for (text, line, rest) in [
        (ring("nvls = true", ""), "nvls = true", " below [workload]"),
        (ring("pxn = false", ""), "pxn = false", " below [workload]"),
        (ring("channels = 8", ""), "channels = 8", " below [workload]"),
    ] {
        assert_eq!(
            correction(&text),
            format!("{line} below [workload.server], or server = {{ {line} }}{rest}")
        );
        works(&ring("", "").replace("server = {}", &format!("server = {{ {line} }}")));
        works(&ring("", "").replace("server = {}", &format!("[workload.server]\n{line}")));
    }
    for name in ["channels", "nchannels", "num_channels"] {
        let hint = correction(&of_job(&format!("{name} = 16")));
        assert_eq!(
            hint,
            "channels = 16 below [workload.server], or server = { nvls = false, channels = 16 }"
        );
    }
    works(&ring("", "").replace("server = {}", "server = { nvls = false, channels = 16 }"));
    let measured = correction(&ring("max_time = \"1ms\"", ""));
    assert_eq!(measured, "max_time = \"1ms\" below [limits]");
    works(&ring("", "[limits]\nmax_time = \"1ms\""));
}

#[test]
fn a_key_that_is_there_already_is_not_what_was_meant() {
    let two = |rest: &str| ring(&format!("ports = 2\n{rest}"), "");
    let hint = correction(&two("port_rate = \"200Gbps\""));
    assert_eq!(hint, "link = \"200Gbps\" without port_rate: link is the rate of one port");
    works(&two("").replace("400Gbps", "200Gbps"));
    let equal = correction(&two("port_rate = \"400Gbps\""));
    assert_eq!(equal, "nothing in place of port_rate: link is the rate of one port");
    works(&two(""));
    for flag in ["iters", "warmup_iters", "datatype"] {
        let hint = correction(&ring("", &format!("{flag} = 20")));
        assert!(hint.starts_with("nothing: leave the line out"), "{hint}");
    }
    for written in ["all_reduce_perf", "all_reduce", "./build/all_reduce_perf", "AllReduce"] {
        let tests =
            on_16(NVLINK, &format!("{SIZES}\nserver = {{}}\nkind = \"nccl-tests\"\nop = {written:?}"));
        assert_eq!(correction(&tests), "operation = \"all_reduce\" in place of op");
        works(&tests.replace(&format!("op = {written:?}"), "operation = \"all_reduce\""));
    }
    let sum = on_16(NVLINK, &format!("{TESTS}\n{SIZES}\nserver = {{}}\nop = \"sum\""));
    assert!(correction(&sum).starts_with("nothing: leave the line out"), "{}", correction(&sum));
}

#[test]
fn words_for_parts_of_clusters_are_answered_with_their_keys() {
    for (written, hint) in [
        ("cable_length = \"50m\"", "link_latency = \"250ns\", the delay of the cable at 5 ns a metre"),
        ("cable_length = 3", "link_latency = \"15ns\", the delay of the cable at 5 ns a metre"),
    ] {
        assert_eq!(correction(&ring(written, "")), hint);
        works(&ring(hint.split(", ").next().unwrap(), ""));
    }
    for (written, begin) in [
        ("nvswitch = true", "nvlink, the rate of a GPU's NVLinks to its switch"),
        ("sharp = true", "nothing: leave the line out; switches of the network that reduce"),
        ("racks = 4", "segment, the servers that share leaves, or nvlink_domain"),
    ] {
        let hint = correction(&ring(written, ""));
        assert!(hint.starts_with(begin), "{written}: {hint}");
    }
    works(&ring("segment = 4\nnvlink_domain = 4", ""));
    let inside =
        on_16("[topology.server]\nnvlink = \"3.6Tbps\"\ngpus = 8", &format!("{RING}\nserver = {{}}"));
    let hint = correction(&inside);
    assert_eq!(hint, "gpus = 8, nvlink = \"3.6Tbps\" below [topology] itself, without a table server");
    works(&on_16("gpus = 8\nnvlink = \"3.6Tbps\"", &format!("{RING}\nserver = {{}}")));
}

#[test]
fn fabrics_of_papers_are_answered_with_kinds_and_keys() {
    let of_kind = |kind: &str, rest: &str| ring(rest, "").replace("rails", kind);
    let hint = correction(&of_kind("rail-only", "segment = 4"));
    assert_eq!(
        hint,
        "kind = \"rails\" and below it spine_group = \"rail\", whose spines join no rail with another"
    );
    works(&of_kind("rails", "segment = 4\nspine_group = \"rail\""));
    works(&of_kind("rails", "spine_group = \"rail\""));
    for name in ["dual-tor", "dual_tor", "dual-plane"] {
        let hint = correction(&of_kind(name, "segment = 4"));
        assert!(hint.starts_with("kind = \"hpn\" for ToRs in two planes, or kind = \"dcn-plus\""), "{hint}");
    }
    for kind in ["hpn", "dcn-plus"] {
        works(&of_kind(kind, "segment = 4"));
    }
}

#[test]
fn more_links_up_than_down_are_a_number_of_uplinks() {
    for ratio in ["0.5", "\"1:2\""] {
        let hint = correction(&ring(&format!("segment = 4\noversubscription = {ratio}"), ""));
        assert_eq!(
            hint,
            "uplinks = 8 in its place, the links up of a leaf; at an oversubscription of 1 it has 4"
        );
        let spec = works(&ring("segment = 4\nuplinks = 8", "")).topology.clos().unwrap().1.clone();
        assert_eq!((spec.segment, spec.uplinks), (4, 8));
    }
    let three = "segment = 4\npod = 2\ntiers = 3";
    let hint = correction(&ring(&format!("{three}\ncore_oversubscription = 0.5"), ""));
    assert_eq!(
        hint,
        "core_uplinks = 32 in its place, the links up of a spine; at an oversubscription of 1 it has 16"
    );
    works(&ring(&format!("{three}\ncore_uplinks = 32"), ""));
    let tree =
        on_16("oversubscription = 0.5", PERMUTATION).replace("rails", "fat-tree").replace("servers", "hosts");
    assert!(
        correction(&tree).starts_with("oversubscription = 2 for fewer links up than down"),
        "{}",
        correction(&tree)
    );
    works(&tree.replace("0.5", "2"));
}
