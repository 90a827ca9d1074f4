//! Warnings about NICs that carry nothing: the numbers that they name, and the hints, which are followed.

use super::newcomers::{on_16, works};

const NVLINK: &str = "nvlink = \"3600Gbps\"";

#[track_caller]
fn warnings(text: &str) -> Vec<String> {
    works(text).check().unwrap().iter().map(ToString::to_string).collect()
}

fn on(topology: &str, workload: &str) -> String {
    format!(
        "schemes = [\"reps\"]\nseeds = [1]\n[topology]\nkind = \"rails\"\n{topology}\n[workload]\n{workload}\n"
    )
}

fn collective(algorithm: &str, server: &str) -> String {
    format!("kind = \"collective\"\nalgorithm = {algorithm:?}\nbytes = \"8MB\"\nserver = {server}")
}

/// Four servers of eight or of four GPUs.
fn gpus(lines: &str) -> String {
    on(&format!("servers = 4\nnvlink = \"2966.4Gbps\"\n{lines}"), &collective("allreduce-ring", "{}"))
}

#[test]
fn nics_that_no_gpu_has_are_named_with_machines_that_use_them() {
    for (of_each, nics, link, idle, one, ports) in [
        (8, 32, "100Gbps", 24, "400Gbps", 4),
        (8, 16, "200Gbps", 8, "400Gbps", 2),
        (4, 8, "400Gbps", 4, "800Gbps", 2),
    ] {
        let written = format!("gpus = {of_each}\nnics = {nics}\nlink = \"{link}\"");
        let [warning] = &warnings(&gpus(&written))[..] else { panic!("one warning: {written}") };
        let said = format!(
            "{idle} of the {nics} NICs of a server carry nothing: each GPU sends and receives by one NIC, and these are no GPU's"
        );
        assert!(warning.contains(&said), "{warning}");
        let help = format!(
            "\n  write: nics = {of_each} with link = \"{one}\", a NIC for each GPU at the rate of all that it has; or nics = \
             {of_each} with ports = {ports}, the ports in planes of their own"
        );
        assert!(warning.ends_with(&help), "{warning}");
        let summed = format!("gpus = {of_each}\nnics = {of_each}\nlink = \"{one}\"");
        assert_eq!(warnings(&gpus(&summed)), [""; 0]);
        let planes = format!("gpus = {of_each}\nnics = {of_each}\nports = {ports}\nlink = \"{link}\"");
        assert_eq!(warnings(&gpus(&planes)), [""; 0]);
    }
    let [warning] = &warnings(&gpus("gpus = 6\nnics = 8\nlink = \"100Gbps\""))[..] else {
        panic!("one warning")
    };
    assert!(
        warning.ends_with("write: nics = 6, one for each GPU, at the rate of all that it has"),
        "{warning}"
    );
    let to_all = on(
        "servers = 4\nnics = 16\ngpus = 8\nlink = \"200Gbps\"\nnvlink = \"3.6Tbps\"",
        &collective("alltoall", "{}"),
    );
    assert!(warnings(&to_all).concat().contains("8 of the 16 NICs of a server carry nothing"));
    let shared = gpus("gpus = 8\nnics = 4\nlink = \"400Gbps\"");
    assert_eq!(warnings(&shared), [""; 0]);
}

#[test]
fn nics_that_no_channel_uses_are_named() {
    let ring = |server: &str| {
        on("servers = 2\nlink = \"400Gbps\"\nnvlink = \"3600Gbps\"", &collective("allreduce-ring", server))
    };
    let [warning] = &warnings(&ring("{ channels = 3 }"))[..] else { panic!("one warning") };
    assert_eq!(
        warning,
        "s.toml:12:12: channels = 3 leaves 10 of the 16 NICs of the job's GPUs without a packet: each channel enters and \
         leaves a server by one NIC\n  write: channels = 8, one for each NIC, or no channels"
    );
    for server in ["{}", "{ channels = 8 }", "{ channels = 16 }"] {
        assert_eq!(warnings(&ring(server)), [""; 0], "{server}");
    }
    let some = ring("{ channels = 3 }") + "ranks = 12\n";
    assert!(warnings(&some).concat().contains("of the 12 NICs of the job's GPUs"), "{:?}", warnings(&some));
    let tree = ring("{ channels = 3 }").replace("-ring", "-double-binary-tree");
    assert!(warnings(&tree).concat().contains("leaves 10 of the 16 NICs"), "{:?}", warnings(&tree));
}

/// NVL72 racks, as domains of 18 servers of four GPUs and four NICs. The jobs are on the first and a server of the
/// second.
#[test]
fn channels_are_counted_over_domains_of_several_servers() {
    let gpus = [(0..76).collect::<Vec<u32>>()];
    let racks = |algorithm: &str, server: &str| {
        let topology =
            "servers = 36\nnics = 4\ngpus = 4\nlink = \"400Gbps\"\nnvlink = \"7200Gbps\"\nnvlink_domain = 18";
        on(topology, &format!("{}\nchunk = \"8MB\"\ngroups = {gpus:?}", collective(algorithm, server)))
    };
    for (channels, leaves) in [(1, 73), (8, 60), (32, 36)] {
        let found = warnings(&racks("allgather-ring", &format!("{{ channels = {channels} }}")));
        let [warning] = &found[..] else { panic!("{found:?}") };
        let said = format!(
            "channels = {channels} leaves {leaves} of the 76 NICs of the job's GPUs without a packet"
        );
        assert!(warning.contains(&said), "{warning}");
        assert!(warning.contains("each channel enters and leaves an NVLink domain by one NIC"), "{warning}");
        let help = "write: channels = 64, the most, which leaves 4 of them: a domain has 72 NICs";
        assert!(warning.ends_with(help), "{warning}");
    }
    let found = warnings(&racks("allgather-ring", "{ channels = 64 }"));
    let [warning] = &found[..] else { panic!("{found:?}") };
    assert!(warning.contains("channels = 64 leaves 4 of the 76 NICs"), "{warning}");
    let found = warnings(&racks("allreduce-ring", "{}"));
    let [warning] = &found[..] else { panic!("{found:?}") };
    assert!(warning.contains("the 64 channels, the most, leave 4 of the 76 NICs"), "{warning}");
    let help = "write: algorithm = \"allreduce-hierarchical\", in which each GPU sends by its NIC; more than 64 channels \
                are not possible, and a domain has 72 NICs";
    assert!(warning.ends_with(help), "{warning}");
    let rails = racks("allgather-ring", "{}")
        .replace(&format!("groups = {gpus:?}"), "ranks = 38\nplacement = \"rails\"");
    assert_eq!(warnings(&rails), [""; 0], "the other NICs are of GPUs without a rank");
}

#[test]
fn channels_of_a_collective_that_has_none_divide_nothing() {
    let job = |algorithm: &str, server: &str| on_16(NVLINK, &collective(algorithm, server));
    for algorithm in ["alltoall", "sendrecv", "allreduce-halving-doubling", "allreduce-hierarchical"] {
        let found = warnings(&job(algorithm, "{ channels = 1 }"));
        let [warning] = &found[..] else { panic!("{algorithm}: {found:?}") };
        let said =
            format!("channels = 1 divides nothing: rings and trees have channels, and {algorithm} has none");
        assert!(warning.contains(&said), "{warning}");
        assert!(warning.ends_with("write: [workload.server] without channels"), "{warning}");
        assert_eq!(warnings(&job(algorithm, "{}")), [""; 0]);
    }
    let swept = job("alltoall", "{ channels = 8 }")
        + "[sweep]\n\"workload.algorithm\" = [\"alltoall\", \"allgather-ring\"]\n";
    assert_eq!(warnings(&swept), [""; 0]);
}

#[test]
fn a_last_server_that_is_not_full_is_named() {
    let tree = "schemes = [\"reps\"]\nseeds = [1]\n[topology]\nkind = \"fat-tree\"\nlink = \"400Gbps\"\nhosts = 64\n[workload]\n";
    let job = |rest: &str| {
        format!("{tree}{}\n{rest}", collective("allreduce-ring", "{ ranks = 6, link = \"3600Gbps\" }"))
    };
    let [warning] = &warnings(&job(""))[..] else { panic!("one warning") };
    assert_eq!(
        warning,
        "s.toml:11:12: the 64 ranks of the job are 10 servers of 6 and one of 4\n  write: ranks = 8, which divides 64; or ranks = 60 \
         below [workload], for full servers only"
    );
    assert_eq!(warnings(&job("").replace("ranks = 6", "ranks = 8")), [""; 0]);
    assert_eq!(warnings(&job("ranks = 60")), [""; 0]);
    let group = warnings(&job("groups = [[0, 1, 2, 3, 4, 5, 6]]")).concat();
    assert!(
        group.ends_with("one server of 6 and one of 1\n  write: groups of 6 ranks, for full servers only"),
        "{group}"
    );
}
