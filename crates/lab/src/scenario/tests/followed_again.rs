//! Hints that gave another error, or a worse scenario, when they were followed as written.

use super::newcomers::{PERMUTATION, RING, SIZES, correction, on_16, works};
use crate::scenario::tests::scenario;
use anabranch_workload::WorkloadSpec;

const NVLINK: &str = "nvlink = \"3600Gbps\"";

fn warnings(text: &str) -> Vec<String> {
    works(text).check().unwrap().iter().map(ToString::to_string).collect()
}

/// An AllToAll on the GPUs of 8 servers.
fn jobs(topology: &str, lines: &str) -> String {
    let job = format!("{}\nserver = {{}}\n{lines}", RING.replace("allreduce-ring", "alltoall"));
    on_16(&format!("{NVLINK}\n{topology}"), &job).replace("servers = 16", "servers = 8")
}

#[test]
fn jobs_within_a_domain_get_sizes_that_fit() {
    for (lines, hint, followed) in [
        (
            "ranks = 8\njobs = 8",
            "ranks = 16 with jobs = 4, the GPUs of two domains for each job; or placement = \"rails\", for jobs across \
             domains; or no ranks and no jobs, for one job of all 64 GPUs",
            &["ranks = 16\njobs = 4", "ranks = 8\njobs = 8\nplacement = \"rails\"", ""][..],
        ),
        (
            "ranks = 8\njobs = 8\nplacement = \"spread\"",
            "ranks = 16 with jobs = 4 and without placement, the GPUs of two domains for each job; or placement = \"rails\", \
             for jobs across domains; or no ranks, jobs and placement, for one job of all 64 GPUs",
            &["ranks = 16\njobs = 4", "ranks = 8\njobs = 8\nplacement = \"rails\"", ""],
        ),
        (
            "ranks = 8\njobs = 2",
            "ranks = 16, the GPUs of two domains for each job; or placement = \"rails\", for jobs across domains; or no \
             ranks and no jobs, for one job of all 64 GPUs",
            &["ranks = 16\njobs = 2", "ranks = 8\njobs = 2\nplacement = \"rails\""],
        ),
    ] {
        let [warning] = &warnings(&jobs("", lines))[..] else { panic!("one warning") };
        assert!(
            warning.ends_with(&format!(
                "no packet is sent, and every scheme takes the same time\n  write: {hint}"
            )),
            "{warning}"
        );
        for followed in followed {
            assert_eq!(warnings(&jobs("", followed)), [""; 0], "{followed}");
        }
    }
}

/// Two racks of 9 servers with 8 GPUs each.
#[test]
fn jobs_that_fit_in_a_domain_are_in_one() {
    let racks = |lines: &str| jobs("nvlink_domain = 9", lines).replace("servers = 8", "servers = 18");
    for placement in ["", "\nplacement = \"servers\""] {
        let [warning] = &warnings(&racks(&format!("ranks = 64\njobs = 2{placement}")))[..] else {
            panic!("one warning")
        };
        assert!(
            warning.ends_with(
                "job 1 of 64 ranks is split over several NVLink domains, although 64 GPUs fit in one of 72: the parts send to \
                 each other over the network\n  write: placement = \"nvlink-domains\", so that such jobs send nothing over the \
                 network; or as it is, if that is meant"
            ),
            "{warning}"
        );
    }
    let text = racks("ranks = 64\njobs = 2\nplacement = \"nvlink-domains\"");
    let found = warnings(&text);
    let [within] = &found[..] else { panic!("{found:?}") };
    assert!(
        within.ends_with(
            "write: placement = \"rails\", for jobs across domains; or no ranks, jobs and placement, for one job of all 144 GPUs; \
             or as it is, if jobs within their domains are meant"
        ),
        "{within}"
    );
    let WorkloadSpec::Collective(job) = scenario(&text).points().unwrap().remove(0).workload else {
        panic!("{text}")
    };
    assert_eq!(serde_json::to_value(&job).unwrap()["placement"], "nvlink-domains");
    let [warning] = &warnings(&racks("ranks = 40\njobs = 3"))[..] else { panic!("one warning") };
    assert!(warning.contains("placement = \"nvlink-domains\" with jobs = 2, so that"), "{warning}");
    for lines in
        ["ranks = 72\njobs = 2", "ranks = 36\njobs = 4", "ranks = 64\njobs = 2\nplacement = \"rails\""]
    {
        let found = warnings(&racks(lines));
        assert!(found.iter().all(|warning| !warning.contains("is split over")), "{found:?}");
    }
}

#[test]
fn better_numbers_of_links_stand_in_place_of_ratios() {
    let of = |lines: &str| {
        on_16(&format!("radix = 64\n{lines}"), PERMUTATION).replace("servers = 16", "servers = 31")
    };
    let [warning] = &warnings(&of("oversubscription = 1"))[..] else { panic!("one warning") };
    assert!(
        warning.ends_with("write: uplinks = 32 and spines = 4 below [topology], without oversubscription"),
        "{warning}"
    );
    assert_eq!(warnings(&of("uplinks = 32\nspines = 4")), [""; 0]);
}

#[test]
fn a_switch_among_links_is_a_switch_that_is_down() {
    let fault = |kind: &str, names: &str| {
        on_16("segment = 4", &format!("{PERMUTATION}\n[[fault]]\nkind = {kind:?}\nat = \"1us\"\n{names}"))
    };
    for (name, switch, links) in [
        ("leaf:3", "tor:3", "cable:tor:3/up"),
        ("tor:3", "tor:3", "cable:tor:3/up"),
        ("spine:100%", "spine:100%", "tor-uplinks:100%"),
    ] {
        let hint = correction(&fault("link-down", &format!("links = {name:?}")));
        assert_eq!(
            hint,
            format!(
                "kind = \"switch-down\" with switches = {switch:?} instead of links; or links = {links:?} for links alone"
            )
        );
        works(&fault("switch-down", &format!("switches = {switch:?}")));
        works(&fault("link-down", &format!("links = {links:?}")));
    }
    let lost = correction(&fault("packet-loss", "probability = 0.01\nlinks = \"tor:3\""));
    assert_eq!(lost, "links = \"cable:tor:3/up\"");
}

#[test]
fn a_gpu_that_dies_takes_the_links_of_its_nic() {
    let fault = |lines: &str| on_16("", &format!("{PERMUTATION}\n[[fault]]\nat = \"1us\"\n{lines}"));
    for (kind, name) in
        [("gpu-down", "server:0"), ("server-down", "server:1"), ("nic-fail", "server:0/nic:3")]
    {
        let hint = correction(&fault(&format!("kind = {kind:?}\nswitches = {name:?}")));
        assert_eq!(hint, format!("kind = \"link-down\" with links = {name:?} instead of switches"));
        works(&fault(&format!("kind = \"link-down\"\nlinks = {name:?}")));
    }
    assert_eq!(
        correction(&fault("kind = \"gpu-down\"\nswitches = \"GPU 3\"")),
        "kind = \"link-down\" with the links of the gpu, such as links = \"server:0/nic:0\", instead of switches"
    );
}

#[test]
fn lists_of_tables_have_two_brackets() {
    let text = on_16("", &format!("{PERMUTATION}\n[faults]\nkind = \"link-down\"\nlinks = \"host:3\""));
    assert_eq!(correction(&text), "[[fault]] (did you mean \"fault\"?)");
    works(&text.replace("[faults]", "[[fault]]"));
    let text = on_16("", &format!("{PERMUTATION}\n[limit]\nmax_time = \"1ms\""));
    assert_eq!(correction(&text), "[limits] (did you mean \"limits\"?)");
}

#[test]
fn an_algorithm_is_one_of_its_operation() {
    let tests = |operation: &str, algorithm: &str| {
        let keys = format!("operation = {operation:?}\nalgorithm = {algorithm:?}\nserver = {{}}");
        on_16(NVLINK, &format!("kind = \"nccl-tests\"\n{SIZES}\n{keys}"))
    };
    for (operation, written, meant) in [
        ("all_gather", "tree", "allgather-ring"),
        ("reduce_scatter", "tree", "reducescatter-ring"),
        ("all_gather", "allgather-rings", "allgather-ring"),
        ("all_reduce", "allreduce-rings", "allreduce-ring"),
        ("alltoall", "pairwise", "alltoall"),
    ] {
        assert_eq!(correction(&tests(operation, written)), format!("algorithm = {meant:?}"), "{written}");
        works(&tests(operation, meant));
    }
}

#[test]
fn half_of_a_data_sheet_in_bits_is_asked_about() {
    let of = |rate: &str| on_16(&format!("nvlink = {rate:?}"), &format!("{RING}\nserver = {{}}"));
    let [warning] = &warnings(&of("450Gbps"))[..] else { panic!("one warning") };
    assert!(
        warning.ends_with(
            "NVLink of 450Gbps has the number of an H100's bytes in one direction; this key has the bits\n  write: nvlink = \
             \"3600Gbps\"; or as it is, if these are bits in one direction"
        ),
        "{warning}"
    );
    assert_eq!(warnings(&of("3600Gbps")), [""; 0]);
}
