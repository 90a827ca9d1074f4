//! Stumbles of a first scenario: values that are valid, but mean something else, get a warning, and those that are not
//! get a hint that works.

use crate::scenario::tests::newcomers::{PERMUTATION, RING, SIZES, TESTS, correction, on_16, works};
use crate::scenario::tests::{Folder, folder};
use crate::scenario::*;

const NVLINK: &str = "nvlink = \"2966.4Gbps\"";

#[track_caller]
fn warnings(text: &str) -> Vec<String> {
    works(text).check().unwrap().iter().map(ToString::to_string).collect()
}

#[track_caller]
fn warning(text: &str) -> String {
    let warnings = warnings(text);
    let [warning] = &warnings[..] else { panic!("one warning of {text}: {warnings:?}") };
    warning.clone()
}

fn refused(text: &str, files: &Folder) -> String {
    read("s.toml", text, files, &Overrides::default()).map(drop).unwrap_err().to_string()
}

#[test]
fn servers_of_a_job_are_those_of_the_topology() {
    let job = |topology: &str, server: &str| on_16(topology, &format!("{RING}\nserver = {server}"));
    for key in ["gpus", "ngpus", "gpus_per_node"] {
        assert_eq!(correction(&job(NVLINK, &format!("{{ {key} = 8 }}"))), "server = {}");
    }
    assert_eq!(correction(&job(NVLINK, "{ ranks = 8 }")), "server = {}");
    assert_eq!(warnings(&job(NVLINK, "{}")), [""; 0]);
    assert_eq!(correction(&job(NVLINK, "{ gpus = 8, pxn = false }")), "server = { pxn = false }");
    let four = "server = {}, and gpus = 4 and nics = 4 below [topology]";
    assert_eq!(correction(&job(NVLINK, "{ gpus = 4 }")), four);
    assert_eq!(warnings(&job(&format!("{NVLINK}\ngpus = 4\nnics = 4"), "{}")), [""; 0]);
    let with_link = "server = { link = \"3600Gbps\" }";
    for without in ["{ gpus = 8 }", "{ ranks = 8 }"] {
        assert_eq!(correction(&job("", without)), with_link);
    }
    assert_eq!(warnings(&job("", "{ link = \"3600Gbps\" }")), [""; 0]);
    let both = "nvlink = \"3600Gbps\" below [topology], or link = \"3600Gbps\" in [workload.server] (18 NVLinks of an H100, one \
                direction)";
    assert_eq!(correction(&job("", "{}")), both);

    let own = warning(&job(NVLINK, "{ ranks = 8, link = \"3600Gbps\" }"));
    assert_eq!(
        own,
        "s.toml:12:12: ranks = 8 makes servers of 8 consecutive NICs each, beside the topology's own servers, of which \
         collectives know nothing: they have one channel, without rails and PXN\n  write: server = {}: the ranks are then the \
         GPUs of the topology's servers"
    );
    let channels = warning(&job("", "{ ranks = 8, link = \"3600Gbps\", channels = 4 }"));
    assert!(
        channels.contains("own servers\n  write: server = { link = \"3600Gbps\", channels = 4 }: "),
        "{channels}"
    );
    let link = warning(&job(NVLINK, "{ link = \"3600Gbps\" }"));
    assert!(
        link.ends_with(
            "link = \"3600Gbps\" is the NVLink of this job, in place of the topology's 2.9664Tbps\n  write: no link here, and \
             nvlink = \"3600Gbps\" below [topology] if that is its rate"
        ),
        "{link}"
    );
    let swept = format!("{}[sweep]\n\"workload.server.link\" = [\"1Tbps\", \"2Tbps\"]\n", job(NVLINK, "{}"));
    assert_eq!(warnings(&swept), [""; 0]);
}

#[test]
fn a_network_of_astra_sim_has_no_servers() {
    let network =
        "topology: [ Ring, Switch ]\nnpus_count: [ 8, 4 ]\nbandwidth: [ 450, 50 ]\nlatency: [ 50, 1000 ]\n";
    let files = Folder([("net.yml".to_owned(), network.to_owned())].into());
    let text = |server: &str| {
        format!(
            "schemes = [\"reps\"]\nseeds = [1]\n[topology]\nfile = \"net.yml\"\n[workload]\n{RING}\n{server}\n"
        )
    };
    let error = refused(&text("server = {}"), &files);
    assert_eq!(
        error,
        "s.toml:9:1: [workload.server] has no \"ranks\", the ranks of a server, and the topology has no servers\n  write: no \
         server: the links of the first dimension, of 8, are simulated as they are; or server = { ranks = 8, link = \"3865Gbps\" \
         } for NVLink in their place"
    );
    for server in ["", "server = { ranks = 8, link = \"3865Gbps\" }"] {
        let scenario = read("s.toml", &text(server), &files, &Overrides::default()).unwrap();
        assert!(scenario.check().unwrap().is_empty(), "{server}");
    }
    let tree = text("server = {}")
        .replace("file = \"net.yml\"", "kind = \"single-switch\"\nhosts = 16\nlink = \"400Gbps\"");
    assert!(refused(&tree, &folder()).ends_with("write: ranks = 8"));
}

#[test]
fn many_gpus_of_a_server_are_warned_of() {
    let text = |gpus: u32| on_16(&format!("gpus = {gpus}"), PERMUTATION);
    let all = warning(&text(128));
    assert!(
        all.ends_with(
            "gpus = 128 is the number of each server: 16 servers with 8 NICs have 2048 GPUs in all\n  write: gpus = 8 for 128 \
             GPUs in all; or as it is, if a server has 128"
        ),
        "{all}"
    );
    assert!(warning(&text(24)).ends_with("write: the GPUs of one server, such as gpus = 8"));
    assert_eq!(warnings(&text(16)), [""; 0]);
}

#[test]
fn a_size_that_no_test_has_is_warned_of() {
    let tests = |sizes: &str| on_16(NVLINK, &format!("{TESTS}\n{sizes}\nserver = {{}}"));
    for (sizes, message, hint) in [
        (
            "min_bytes = \"512KiB\"\nmax_bytes = \"2MB\"",
            "the last size is 1MiB, since the next one is 2MiB and above max_bytes, 2MB",
            "max_bytes = \"2MiB\"",
        ),
        (
            "min_bytes = \"1MB\"\nmax_bytes = \"2500KB\"\nstep_bytes = \"1MB\"",
            "the last size is 2MB, since the next one is 3MB and above max_bytes, 2500KB",
            "max_bytes = \"3MB\"",
        ),
        (
            "min_bytes = \"1MB\"\nmax_bytes = \"1100KB\"",
            "the last size is 1MB, since the next one is 2MB and above max_bytes, 1100KB",
            "max_bytes = \"1MB\"",
        ),
    ] {
        let warning = warning(&tests(sizes));
        assert!(warning.ends_with(&format!("{message}\n  write: {hint}")), "{warning}");
        let written = sizes.lines().nth(1).unwrap();
        assert_eq!(warnings(&tests(&sizes.replace(written, hint))), [""; 0]);
    }
    assert_eq!(warnings(&tests(SIZES)), [""; 0]);
}

#[test]
fn a_domain_of_nvlink_counts_servers() {
    let domain = |topology: &str| on_16(topology, PERMUTATION).replace("servers = 16", "servers = 144");
    let all = warning(&domain("nvlink_domain = 72"));
    assert!(
        all.ends_with(
            "nvlink_domain = 72 counts servers: NVLink connects 576 GPUs of 72 servers\n  write: nvlink_domain = 9 for 72 GPUs; or \
             as it is, if 576 are connected"
        ),
        "{all}"
    );
    let of_four = warning(&domain("nvlink_domain = 72\ngpus = 4\nnics = 4"));
    assert!(of_four.contains("write: nvlink_domain = 18 for 72 GPUs; "), "{of_four}");
    for right in ["nvlink_domain = 9", "nvlink_domain = 18\ngpus = 4\nnics = 4"] {
        assert_eq!(warnings(&domain(right)), [""; 0]);
    }
}

#[test]
fn a_switch_that_is_down_is_named_by_switches() {
    let fault = |kind: &str, line: &str| {
        let fault = format!("[[fault]]\nkind = \"{kind}\"\n{line}\nat = \"1us\"\nduration = \"20us\"\n");
        format!("{}{fault}", on_16("ports = 2", PERMUTATION).replace("400Gbps", "200Gbps"))
    };
    for name in ["plane:0/tor:1", "tor:3", "plane:1"] {
        let hint = correction(&fault("switch-down", &format!("links = {name:?}")));
        assert_eq!(hint, format!("switches = {name:?} instead of links"));
        works(&fault("switch-down", &format!("switches = {name:?}")));
    }
    let uplinks = correction(&fault("switch-down", "links = \"plane:0/tor:1/up\""));
    assert!(uplinks.starts_with("kind = \"link-down\" with links = \"plane:0/tor:1/up\""), "{uplinks}");
    for name in ["rail:2/plane:1", "plane:1/rail:2"] {
        assert_eq!(
            correction(&fault("switch-down", &format!("switches = {name:?}"))),
            "switches = \"plane:1/tor:2\""
        );
        let links = "links = \"cable:plane:1/tor:2/down\"";
        assert_eq!(correction(&fault("link-down", &format!("links = {name:?}"))), links);
        works(&fault("link-down", links));
    }
    let text = fault("link-down", "links = \"node:3/hca:2/port:1\"");
    let error = works_not(&text);
    assert!(error.ends_with("no form of selector\n  write: links = \"server:3/nic:2/port:1\""), "{error}");
    let by_type =
        fault("link-down", "links = \"plane:0\"").replace("kind = \"link-down\"", "type = \"link-down\"");
    assert_eq!(correction(&by_type), "kind = \"link-down\" in place of type");
}

#[track_caller]
fn works_not(text: &str) -> String {
    let found = read("s.toml", text, &folder(), &Overrides::default()).and_then(|scenario| scenario.check());
    found.unwrap_err().to_string()
}

#[test]
fn queue_pairs_packets_and_schemes_are_set_below_set() {
    let job = |rest: &str| on_16(NVLINK, &format!("{RING}\nserver = {{}}\n{rest}")).replace("reps", "rocev2");
    let qps = "\"*.qps\" = 4 below [set], over which each message is split";
    assert_eq!(correction(&job("qps = 4")), qps);
    let set = "[set]\n\"*.qps\" = 4";
    works(&job(set));
    assert_eq!(correction(&job("[set]\nNCCL_IB_QPS_PER_CONNECTION = 4")), "\"*.qps\" = 4");
    let mtu = "\"*.transport.payload\" = \"4096B\" below [set], the bytes of a packet without headers";
    assert_eq!(correction(&on_16("mtu = 4096", PERMUTATION)), mtu);
    assert_eq!(correction(&on_16("mtu = \"4096B\"", PERMUTATION)), mtu);
    works(&job("[set]\n\"*.transport.payload\" = \"4096B\""));
    assert_eq!(correction(&job("[rocev2]\nqps = 4")), "\"rocev2.qps\" = 4 below [set]");
    works(&job("[set]\n\"rocev2.qps\" = 4"));
    let kilobytes = "\"rocev2.fabric.ecn_kmin\" = \"400KB\"";
    assert_eq!(correction(&job("[set]\n\"rocev2.fabric.ecn_kmin\" = 400")), kilobytes);
    works(&job(&format!("[set]\n{kilobytes}")));
    let none = format!("faults = \"none\"\n{}", job(""));
    assert!(correction(&none).starts_with("nothing: leave the line out"), "{}", correction(&none));
}

#[test]
fn words_of_other_tools_are_answered_with_kinds_formats_and_algorithms() {
    let kind = |name: &str| correction(&on_16("", &format!("kind = {name:?}\nfile = \"x.txt\"")));
    assert!(
        kind("moe").starts_with("kind = \"collective\" and below it algorithm = \"alltoall\", with groups")
    );
    assert_eq!(kind("simai"), "kind = \"trace\" and below it format = \"simai\"");
    assert_eq!(kind("ASTRA-sim"), "kind = \"trace\" and below it format = \"chakra\"");
    let aicb = on_16("", "kind = \"trace\"\nformat = \"aicb\"\nfile = \"x.txt\"");
    assert_eq!(correction(&aicb), "format = \"simai\"");
    let algorithm = |line: &str| {
        on_16(NVLINK, &format!("{RING}\nserver = {{}}").replace("algorithm = \"allreduce-ring\"", line))
    };
    for name in ["dispatch", "alltoallv", "all-to-all-v", "combine"] {
        let hint = correction(&algorithm(&format!("algorithm = {name:?}")));
        assert!(hint.starts_with("algorithm = \"alltoall\", whose blocks are equal"), "{name}: {hint}");
    }
    for (written, meant) in
        [("ring", "allreduce-ring"), ("Tree", "allreduce-double-binary-tree"), ("alltoall", "alltoall")]
    {
        let hint = correction(&algorithm(&format!("algo = {written:?}")));
        assert_eq!(hint, format!("algorithm = {meant:?} in place of algo"));
        works(&algorithm(&format!("algorithm = {meant:?}")));
    }
    let dcn = on_16("", PERMUTATION).replace("rails", "DCN+");
    assert_eq!(correction(&dcn), "kind = \"dcn-plus\"");
    let two = "ports = 2 with link = \"200Gbps\", the rate of one port, for NICs of 400Gbps; ports = 2 alone for NICs of 800Gbps";
    assert_eq!(correction(&on_16("dual_tor = true", PERMUTATION)), two);
    let hpn = correction(&on_16("dual_tor = true", PERMUTATION).replace("rails", "hpn"));
    assert!(hpn.starts_with("nothing: leave the line out"), "{hpn}");
}

#[test]
fn sizes_of_nccl_tests_are_answered_with_both_units() {
    let both = "bytes = \"16MiB\", which 16M is in nccl-tests, or bytes = \"16MB\"";
    for key in ["bytes", "size"] {
        assert_eq!(
            correction(&on_16("", &RING.replace("bytes = \"1MB\"", &format!("{key} = \"16M\"")))),
            both
        );
    }
    let tests = |lines: &str| on_16(NVLINK, &format!("{TESTS}\n{lines}\nserver = {{}}"));
    let begin = correction(&tests("begin = \"8\"\nmax_bytes = \"1MiB\""));
    assert_eq!(begin, "min_bytes = \"8B\" (did you mean \"min_bytes\"?)");
    let end = correction(&tests("min_bytes = \"8B\"\nend = \"128M\""));
    assert_eq!(end, "max_bytes = \"128MiB\" (did you mean \"max_bytes\"?)");
    let kind =
        "kind = \"nccl-tests\"\ncommand = \"./build/all_reduce_perf -b 8 -e 8M -f 2 -g 8\"\nserver = {}";
    let command = correction(&on_16(NVLINK, kind));
    let lines = "operation = \"all_reduce\", min_bytes = \"8B\", max_bytes = \"8MiB\", factor = 2";
    assert_eq!(command, format!("{lines}, each on a line of its own"));
    works(&on_16(NVLINK, &format!("kind = \"nccl-tests\"\n{}\nserver = {{}}", lines.replace(", ", "\n"))));
}
