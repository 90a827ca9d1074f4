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

#[test]
fn groups_within_a_domain_get_groups_of_several() {
    let groups =
        |groups: &str, server: &str| on_16(NVLINK, &format!("{RING}\nserver = {server}\ngroups = {groups}"));
    for (server, help, right) in [
        ("{}", "groups of GPUs of several domains, such as groups = [[0, 8]]", "[[0, 8]]"),
        (
            "{ ranks = 4, link = \"3600Gbps\" }",
            "groups of more ranks than the 4 of a server",
            "[[0, 1, 2, 3, 8, 9, 10, 11]]",
        ),
    ] {
        let said = format!("write: {help}");
        let found = warnings(&groups("[[0, 1, 2], [2, 3]]", server));
        assert!(found.iter().any(|warning| warning.ends_with(&said)), "{found:?}");
        let found = warnings(&groups(right, server));
        assert!(found.iter().all(|warning| !warning.contains("no packet is sent")), "{found:?}");
    }
}

#[test]
fn switches_of_nvlink_that_reduce_are_for_an_allreduce() {
    for (operation, help) in [
        ("alltoall", "write: [workload.server] without nvls, which only an AllReduce uses"),
        ("sendrecv", "write: [workload.server] without nvls, which only an AllReduce uses"),
        ("broadcast", "write: [workload.server] without nvls, which only an AllReduce uses"),
        (
            "all_reduce\"\nalgorithm = \"allreduce-ring",
            "write: algorithm = \"allreduce-hierarchical\", or [workload.server] without nvls",
        ),
    ] {
        let tests = |operation: &str, server: &str| {
            on_16(
                NVLINK,
                &format!("kind = \"nccl-tests\"\noperation = \"{operation}\"\n{SIZES}\nserver = {server}"),
            )
        };
        let [warning] = &warnings(&tests(operation, "{ nvls = true }"))[..] else { panic!("one warning") };
        assert!(warning.ends_with(help), "{warning}");
        assert_eq!(warnings(&tests(operation, "{}")), [""; 0]);
    }
    let hierarchical = ring("", "").replace("-ring", "-hierarchical").replace("{}", "{ nvls = true }");
    assert_eq!(warnings(&hierarchical), [""; 0]);
}

#[test]
fn collectives_beside_each_other_are_no_jobs() {
    for line in
        ["algorithm = \"alltoall\"\nbytes = \"8MB\"", "kind = \"collective\"", "operation = \"all_reduce\""]
    {
        let hint =
            correction(&on_16(NVLINK, &format!("kind = \"jobs\"\n[[workload.job]]\n{line}\nserver = {{}}")));
        assert!(hint.starts_with("kind = \"collective\" below [workload] for one collective"), "{hint}");
        assert!(hint.contains("beside it [[class]] with name, scheme and [class.workload]"), "{hint}");
    }
    works(&ring("", "jobs = 2\nranks = 64"));
    let other = "[[class]]\nname = \"other\"\nscheme = \"reps\"\n[class.workload]\nkind = \"collective\"\nalgorithm = \"alltoall\"\n\
                 bytes = \"1MB\"\nserver = {}\ngroups = [[64, 72, 80]]";
    works(&ring("", &format!("groups = [[0, 8, 16, 24]]\n{other}")));
    let without_file = correction(&on_16(NVLINK, "kind = \"jobs\"\n[[workload.job]]\nformat = \"goal\""));
    assert_eq!(without_file, "file = \"job.goal\"");
}

#[test]
fn buffers_of_lossless_switches_and_pfc_have_the_values_that_were_meant() {
    let set = |schemes: &str, lines: &str| {
        on_16("", PERMUTATION).replace("\"reps\"", schemes) + &format!("[set]\n{lines}\n")
    };
    let buffer = "\"rocev2.fabric.pfc.buffer\" = \"16MB\"";
    assert_eq!(correction(&set("\"rocev2\"", "\"rocev2.fabric.shared_buffer\" = \"16MB\"")), buffer);
    let pfc = works(&set("\"rocev2\"", buffer)).schemes[0].fabric.pfc.clone().unwrap();
    assert_eq!(pfc.buffer, anabranch_base::Bytes(16_000_000));
    let swept = on_16("", PERMUTATION).replace("reps", "rocev2");
    let swept = |path: &str| format!("{swept}[sweep]\n\"rocev2.fabric.{path}\" = [\"16MB\", \"32MB\"]\n");
    assert_eq!(correction(&swept("shared_buffer")), "\"rocev2.fabric.pfc.buffer\" = [\"16MB\", \"32MB\"]");
    works(&swept("pfc.buffer"));
    for path in ["fabric.pfc", "pfc"] {
        let on = correction(&set("\"reps\"", &format!("\"reps.{path}\" = true")));
        assert_eq!(on, "\"reps.fabric.pfc\" = {}");
        let none = correction(&set("\"reps\"", &format!("\"reps.{path}\" = false")));
        assert_eq!(none, "nothing: scheme \"reps\" has no PFC");
        let off = correction(&set("\"rocev2\"", &format!("\"rocev2.{path}\" = false")));
        assert_eq!(off, "\"rocev2.fabric.queue\" = \"1bdp\"");
        works(&set("\"rocev2\"", &off));
    }
    assert_eq!(correction(&set("\"reps\"", "\"reps.pfc\" = {}")), "\"reps.fabric.pfc\" = {}");
    let own = works(&set("\"reps\", \"rocev2\"", "\"reps.fabric.pfc\" = {}"));
    let [reps, rocev2] = &own.schemes[..] else { panic!("two schemes") };
    assert_eq!(reps.fabric.pfc.as_ref().unwrap().buffer, rocev2.fabric.pfc.as_ref().unwrap().buffer);
    let trimming = correction(&set("\"uet-nscc\"", "\"uet-nscc.fabric.pfc\" = true"));
    let lines = "\"uet-nscc.fabric.pfc\" = {} and \"uet-nscc.fabric.trim\" = false";
    assert_eq!(trimming, format!("{lines}, each on a line of its own"));
    works(&set("\"uet-nscc\"", &lines.replace(" and ", "\n")));
}

#[test]
fn marks_keep_a_range_between_their_thresholds() {
    let lines = "[set]\n\"reps.fabric.queue\" = \"1MB\"\n\"reps.fabric.ecn_kmin\" = \"800KB\"\n\"reps.fabric.ecn_kmax\" = ";
    let set = |kmax: &str| on_16("", PERMUTATION) + &format!("{lines}\"{kmax}\"\n");
    let [warning] = &warnings(&set("3200KB"))[..] else { panic!("one warning") };
    assert!(warning.ends_with("write: \"reps.fabric.ecn_kmax\" = \"1MB\" below [set]"), "{warning}");
    assert_eq!(warnings(&set("1MB")), [""; 0]);
}

#[test]
fn failures_at_a_rate_are_of_links_that_are_down() {
    let fault = |lines: &str| {
        ring("segment = 4", &format!("[[fault]]\nlinks = \"nic-links\"\nper_hour = 4e6\n{lines}"))
    };
    for (lines, hint) in [
        ("duration = \"50us\"", "kind = \"link-down\""),
        ("down_for = \"50us\"", "kind = \"link-down\", with duration = \"50us\" in place of down_for"),
        ("", "kind = \"link-down\", and duration = \"50us\" for how long each failure lasts"),
    ] {
        assert_eq!(correction(&fault(&format!("kind = \"link-flap\"\n{lines}"))), hint);
    }
    works(&fault("kind = \"link-down\"\nduration = \"50us\""));
}
