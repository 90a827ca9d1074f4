//! Scenarios on clusters of servers and on directly connected switches: the defaults, the rejected inputs, and the
//! suggested fixes, which are valid.

use crate::scenario::tests::{Folder, assert_round_trip, folder, scenario};
use crate::scenario::*;
use anabranch_base::{Duration, Rate};

const PERMUTATION: &str = "[workload]\nkind = \"permutation\"\nbytes = \"1MB\"\n";

fn on(topology: &str) -> String {
    format!("schemes = [\"reps\"]\nseeds = [1]\n[topology]\n{topology}\n{PERMUTATION}")
}

fn refused(text: &str) -> String {
    let found = read("s.toml", text, &folder(), &Overrides::default()).and_then(|scenario| scenario.check());
    found.expect_err(text).to_string()
}

#[test]
fn every_kind_reads_back_from_its_resolved_form() {
    for topology in [
        "kind = \"rails\"\nservers = 16\nlink = \"400Gbps\"",
        "kind = \"rails\"\nservers = 128\nlink = \"400Gbps\"\nradix = 64\ntiers = 3\ncore_oversubscription = \"2:1\"",
        "kind = \"rails\"\nservers = 4\nnics = 1\nlink = \"400Gbps\"\ntiers = 1",
        "kind = \"multi-plane\"\nservers = 8\nlink = \"100Gbps\"\nports = 2\noversubscription = 2",
        "kind = \"hpn\"\nservers = 8\nnics = 2\nsegment = 4\nlink = \"200Gbps\"",
        "kind = \"dcn-plus\"\nservers = 8\nnics = 2\nsegment = 2\nlink = \"200Gbps\"\nnvlink_domain = 2\ngpus = 4",
        "kind = \"dragonfly\"\nhosts_per_router = 2\nrouters = 4\nglobal_links = 2\nlink = \"400Gbps\"",
        "kind = \"torus\"\ndims = [4, 4]\nlink = \"400Gbps\"",
        "kind = \"full-mesh\"\ntors = 4\nhosts_per_tor = 2\nlink = \"400Gbps\"\nradix = 5",
    ] {
        assert_round_trip(&scenario(&on(topology)));
    }
}

#[test]
fn words_of_data_sheets_are_answered_with_those_of_a_scenario() {
    let servers = "servers = 4\nlink = \"400Gbps\"";
    for (topology, wrong, right) in [
        ("superpod", "kind = \"superpod\"", "kind = \"rails\""),
        ("rail-optimized", "kind = \"Rail-Optimized\"", "kind = \"rails\""),
        ("leaf-spine", "kind = \"leaf-spine\"", "kind = \"rails\""),
    ] {
        let text = on(&format!("{wrong}\n{servers}"));
        let error = refused(&text);
        assert!(error.contains(&format!("write: {right}")), "{topology}: {error}");
        scenario(&text.replace(wrong, right));
    }
    let hosts = on("kind = \"rails\"\nhosts = 256\nlink = \"400Gbps\"");
    assert!(refused(&hosts).ends_with("write: servers = 32 instead of hosts, of 8 NICs each"));
    scenario(&hosts.replace("hosts = 256", "servers = 32"));
    let nvlink = format!("kind = \"rails\"\n{servers}\nnvlink = \"3600Gbps\"");
    let ring = "kind = \"collective\"\nalgorithm = \"allreduce-ring\"\nbytes = \"16MB\"";
    let job = |rest: &str| {
        format!("schemes = [\"reps\"]\nseeds = [1]\n[topology]\n{nvlink}\n[workload]\n{ring}\n{rest}\n")
    };
    for (wrong, hint, right) in [
        ("server = true", "server = {}", "server = {}"),
        ("[server]\nchannels = 4", "[workload.server]", "[workload.server]\nchannels = 4"),
        (
            "server = {}\n[sweep]\n\"topology.server\" = [4, 8]",
            "topology.servers",
            "server = {}\n[sweep]\n\"topology.servers\" = [4, 8]",
        ),
        (
            "server = {}\n[[fault]]\nkind = \"switch-down\"\nswitches = \"server:0\"",
            "kind = \"link-down\" with links = \"server:0\" instead of switches",
            "server = {}\n[[fault]]\nkind = \"link-down\"\nlinks = \"server:0\"",
        ),
        (
            "server = {}\n[[fault]]\nkind = \"switch-down\"\nswitches = \"plane:1\"",
            "ports = 2 below [topology], for two planes",
            "server = {}\n[topology]\nports = 2\n[[fault]]\nkind = \"switch-down\"\nswitches = \"plane:1\"",
        ),
    ] {
        let error = refused(&job(wrong));
        assert!(error.contains(hint), "{error}");
        scenario(&match right.contains("[topology]\nports = 2\n") {
            true => job(&right.replace("[topology]\nports = 2\n", ""))
                .replace("servers = 4\n", "servers = 4\nports = 2\n"),
            false => job(right),
        });
    }
    let algorithm = |name: &str| job("server = {}").replace("allreduce-ring", name);
    for (wrong, right) in [("Ring", "allreduce-ring"), ("Tree", "allreduce-double-binary-tree")] {
        let error = refused(&algorithm(wrong));
        assert!(error.ends_with(&format!("write: algorithm = {right:?}")), "{error}");
        scenario(&algorithm(right));
    }
    for name in ["NVLS", "NVLSTree", "nvls-tree", "nvls_tree"] {
        let error = refused(&algorithm(name));
        let hint = "write: algorithm = \"allreduce-hierarchical\", and nvls = true below [workload.server]";
        assert!(error.ends_with(hint), "{error}");
        let error = refused(&algorithm(name).replace("server = {}", "server = { nvls = true }"));
        assert!(error.ends_with("write: algorithm = \"allreduce-hierarchical\""), "{error}");
    }
    assert!(refused(&algorithm("allreduce-sharp")).contains("(SHARP, CollNet) are not simulated"));
    let sharp = algorithm("allreduce-hierarchical").replace("server = {}", "server = { nvls = true }");
    scenario(&sharp);
    for (wrong, hint) in [("infiniband", "adaptive-roce"), ("spectrum-x", "adaptive-roce")] {
        let error = refused(&job("server = {}").replace("\"reps\"", &format!("{wrong:?}")));
        assert!(error.contains(hint), "{error}");
        scenario(&job("server = {}").replace("\"reps\"", &format!("{hint:?}")));
    }
}

#[test]
fn hosts_have_the_links_of_their_switch_together() {
    let rates = |topology: &str| match scenario(&on(topology)).topology {
        TopologySpec::Torus(spec) => (spec.host_link, spec.host_link_latency),
        TopologySpec::FullMesh(spec) => (spec.host_link, spec.host_link_latency),
        other => panic!("{other:?}"),
    };
    let of = |gbps: u64, ns: u64| (Rate::from_gbps(gbps), Duration::from_ns(ns));
    assert_eq!(rates("kind = \"torus\"\ndims = [4, 4]\nlink = \"100Gbps\""), of(400, 0));
    assert_eq!(rates("kind = \"torus\"\ndims = [2, 4]\nlink = \"100Gbps\""), of(300, 0));
    assert_eq!(rates("kind = \"full-mesh\"\ntors = 8\nlink = \"100Gbps\""), of(700, 0));
    let shared = "kind = \"full-mesh\"\ntors = 9\nhosts_per_tor = 4\nlink = \"100Gbps\"";
    assert_eq!(rates(shared), of(200, 500));
}

#[test]
fn impossible_numbers_are_refused_at_their_key() {
    for (topology, expected) in [
        (
            "kind = \"rails\"\nservers = 128\nsegment = 64\nradix = 64\nlink = \"400Gbps\"",
            "s.toml:7:1: a leaf would have 64 ports down and 64 up, and a switch has 64\n  write: segment = 32, or radix = \
             128",
        ),
        (
            "kind = \"hpn\"\nservers = 16\nspine_group = \"rack\"\nlink = \"400Gbps\"",
            "s.toml:6:1: unknown spine_group \"rack\"\n  write: spine_group = one of \"pod\", \"rail\"",
        ),
        (
            "kind = \"torus\"\ndims = [4, 1]\nlink = \"400Gbps\"",
            "s.toml:5:1: a dimension has 2 or more switches, not 1\n  write: dims = [4, 2]",
        ),
        (
            "kind = \"dragonfly\"\nhosts_per_router = 2\nrouters = 4\nglobal_links = 2\nrouter_groups = 8\nlink = \"400Gbps\"",
            "s.toml:8:1: the 8 global links of a group do not spread evenly over 7 other groups\n  write: router_groups = 5 or 9",
        ),
        (
            "kind = \"multi-plane\"\nservers = 16\nplanes = 2\nlink = \"400Gbps\"",
            "s.toml:6:1: unknown key \"planes\"",
        ),
    ] {
        let error = refused(&on(topology));
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn rails_without_common_spines_carry_messages_within_a_rail_alone() {
    let apart =
        "kind = \"rails\"\nservers = 4\nnics = 4\nsegment = 2\nspine_group = \"rail\"\nlink = \"400Gbps\"";
    let error = refused(&on(apart));
    assert!(error.contains("no links lead there: the two have no network in common"), "{error}");
    assert!(error.ends_with("write: spine_group = \"pod\""), "{error}");
    scenario(&on(&apart.replace("\"rail\"", "\"pod\"")));
    let message =
        "[workload]\nkind = \"messages\"\n[[workload.message]]\nfrom = 1\nto = 9\nbytes = \"1MB\"\n";
    scenario(&format!("schemes = [\"reps\"]\n[topology]\n{apart}\n{message}"));
    let alone = "kind = \"rails\"\nservers = 4\nnics = 2\ntiers = 1\nlink = \"400Gbps\"";
    assert!(refused(&on(alone)).ends_with("write: tiers = 2"));
    scenario(&on(&alone.replace("tiers = 1", "tiers = 2")));
}

#[test]
fn lossless_schemes_are_refused_where_links_wait_in_a_circle() {
    let lossless = |topology: &str| on(topology).replace("\"reps\"", "\"reps\", \"rocev2\"");
    for topology in [
        "kind = \"torus\"\ndims = [4, 4]\nlink = \"400Gbps\"",
        "kind = \"dragonfly\"\nhosts_per_router = 2\nrouters = 4\nglobal_links = 2\nlink = \"400Gbps\"",
    ] {
        let error = refused(&lossless(topology));
        let begins =
            "s.toml:3:2: scheme \"rocev2\" is lossless (PFC), and on the routes of this workload links wait";
        assert!(error.starts_with(begins) && error.contains(": tor:"), "{error}");
        assert!(error.contains("write: schemes without \"rocev2\", such as \"reps\""), "{error}");
        scenario(&on(topology));
    }
    for topology in [
        "kind = \"full-mesh\"\ntors = 4\nlink = \"400Gbps\"",
        "kind = \"rails\"\nservers = 16\nlink = \"400Gbps\"",
        "kind = \"hpn\"\nservers = 16\nlink = \"200Gbps\"",
    ] {
        scenario(&lossless(topology));
    }
    // If each host in the ring sends only to its neighbour, links do not wait for each other in a circle.
    let ring = "4 0 4\n\n0 1 100Gbps 2us 0\n1 2 100Gbps 2us 0\n2 3 100Gbps 2us 0\n3 0 100Gbps 2us 0\n";
    let files = Folder([("ring.txt".to_owned(), ring.to_owned())].into());
    let check = |workload: &str| {
        let text = format!(
            "schemes = [\"rocev2\"]\nseeds = [1]\n[topology]\nfile = \"ring.txt\"\n[workload]\nkind = \"collective\"\n\
             algorithm = \"{workload}\"\nbytes = \"1MB\"\n"
        );
        read("s.toml", &text, &files, &Overrides::default()).and_then(|scenario| scenario.check())
    };
    assert!(check("allreduce-ring").is_ok());
    assert!(check("alltoall").unwrap_err().to_string().contains("in a circle"));
}

#[test]
fn faults_and_measures_name_the_parts_of_a_cluster() {
    let hpn = on("kind = \"hpn\"\nservers = 8\nnics = 2\nsegment = 4\nlink = \"200Gbps\"");
    let fault = |kind: &str, key: &str, name: &str| {
        format!("{hpn}[[fault]]\nkind = \"{kind}\"\n{key} = \"{name}\"\nat = \"1us\"\n")
    };
    for name in
        ["server:0/nic:1/port:1", "server:3", "nic-links:plane:1", "plane:1/tor:0/up", "plane:1", "rail:1"]
    {
        scenario(&fault("link-down", "links", name));
        let measured = format!(
            "{hpn}[[measure]]\nseries = \"link-utilisation\"\nlinks = \"{name}\"\nevery = \"10us\"\n"
        );
        scenario(&measured);
    }
    for name in ["plane:1/tor:0", "plane:1", "rail:0", "plane:0/spine:50%"] {
        scenario(&fault("switch-down", "switches", name));
    }
    for (kind, key, name, near) in [
        ("link-down", "links", "server:8/nic:1", "server:7/nic:1"),
        ("link-down", "links", "nic-links:plane:2", "nic-links:plane:1"),
        ("switch-down", "switches", "plane:1/tor:4", "plane:1/tor:3"),
    ] {
        let text = fault(kind, key, name);
        let error = refused(&text);
        assert!(error.ends_with(&format!("write: {key} = \"{near}\"")), "{error}");
        scenario(&text.replace(name, near));
    }
}

#[test]
fn links_are_measured_by_plane_and_by_rail() {
    let hpn = on("kind = \"hpn\"\nservers = 8\nnics = 2\nsegment = 4\nlink = \"200Gbps\"");
    let measured = |series: &str, rest: &str| {
        format!("{hpn}[[measure]]\nseries = \"{series}\"\nlinks = \"nic-links\"\n{rest}\n")
    };
    for by in ["plane", "rail"] {
        let text = measured("link-utilisation", &format!("by = \"{by}\""));
        let point = scenario(&text).points().unwrap().remove(0);
        let result = anabranch_engine::run(&point, &Default::default()).unwrap();
        let names: std::collections::BTreeSet<&str> =
            result.series.iter().map(|row| row.entity.as_str()).collect();
        let two = [0, 1].map(|number| format!("{by}:{number} of nic-links"));
        assert_eq!(names, two.iter().map(String::as_str).collect());
    }
    for (by, lacks) in [("plane", "planes"), ("rail", "servers")] {
        let tree = on("kind = \"fat-tree\"\nhosts = 16\nlink = \"400Gbps\"");
        let measure = "[[measure]]\nseries = \"drops\"\nlinks = \"tor-uplinks\"";
        let error = refused(&format!("{tree}{measure}\nby = \"{by}\"\n"));
        let end = format!("this topology has no {lacks}\n  write: links = \"tor-uplinks\" without by");
        assert!(error.ends_with(&end), "{error}");
        scenario(&format!("{tree}{measure}\n"));
    }
    // The curve of a link is recorded once, so all measures of a series need the interval of the measure with `by`.
    let second = "[[measure]]\nseries = \"drops\"\nlinks = \"all\"\nevery = \"5us\"";
    let text = format!("{}{second}\n", measured("drops", "by = \"rail\""));
    let error = refused(&text);
    let end =
        "measure.0 combines curves of \"drops\" that have a point every 20us\n  write: every = \"20us\"";
    assert!(error.ends_with(end), "{error}");
    scenario(&text.replace("5us", "20us"));
    let quiet = second.replace("every = \"5us\"", "above = \"5us\"").replace("drops", "queue-delay");
    let error = refused(&format!("{}{quiet}\n", measured("queue-delay", "by = \"rail\"")));
    assert!(error.ends_with("leave out no points\n  write: by in one of them, above in none"), "{error}");
}

/// A scenario with two servers whose GPUs run `workload`. `topology` has further keys of `[topology]`.
fn of_gpus(topology: &str, workload: &str) -> String {
    format!(
        "schemes = [\"reps\"]\nseeds = [1]\n[topology]\nkind = \"rails\"\nservers = 2\nlink = \"400Gbps\"\n{topology}\n[workload]\n{workload}\n"
    )
}

#[test]
fn names_and_units_of_nvidia_are_refused_with_those_of_here() {
    let ring = "kind = \"collective\"\nalgorithm = \"allreduce-ring\"\nbytes = \"1MB\"\nserver = {}";
    let tests =
        |rest: &str| format!("kind = \"nccl-tests\"\noperation = \"all_reduce\"\n{rest}\nserver = {{}}");
    let nvlink = "nvlink = \"3.6Tbps\"";
    for (topology, workload, written, fixed) in [
        ("nvlink = \"900GB/s\"", ring.to_owned(), "nvlink = \"900GB/s\"", "nvlink = \"3600Gbps\""),
        ("nvlink = \"1.8TB/s\"", ring.to_owned(), "nvlink = \"1.8TB/s\"", "nvlink = \"7200Gbps\""),
        (
            nvlink,
            tests("min_bytes = \"8K\"\nmax_bytes = \"1MiB\""),
            "min_bytes = \"8K\"",
            "min_bytes = \"8KiB\"",
        ),
        (
            nvlink,
            tests("min_bytes = \"1MiB\"\nmax_bytes = \"64M\""),
            "max_bytes = \"64M\"",
            "max_bytes = \"64MiB\"",
        ),
        (
            nvlink,
            tests("algorithm = \"Tree\"\nmin_bytes = \"1MiB\"\nmax_bytes = \"2MiB\""),
            "algorithm = \"Tree\"",
            "algorithm = \"allreduce-double-binary-tree\"",
        ),
    ] {
        let text = of_gpus(topology, &workload);
        let error = refused(&text);
        assert!(error.ends_with(&format!("\n  write: {fixed}")), "{error}");
        scenario(&text.replace(written, fixed)).check().unwrap();
    }
    let error = refused(&of_gpus("", ring));
    assert!(
        error.contains("write: nvlink = \"3600Gbps\" below [topology], or link = \"3600Gbps\" in"),
        "{error}"
    );
    let with_link = ring.replace("{}", "{ link = \"3600Gbps\" }");
    let digest = |text: &str| scenario(text).points().unwrap().remove(0).workload;
    assert_eq!(digest(&of_gpus("", &with_link)), digest(&of_gpus("nvlink = \"3600Gbps\"", ring)));
    let error = refused(&of_gpus(nvlink, ring).replace("\"reps\"", "\"uet\""));
    assert!(error.contains("write: one of \"uet-nscc\", \"uet-nscc-bitmap\""), "{error}");
    for (other, key) in [
        (
            "planes = 2",
            "ports = 2 with link = \"200Gbps\", the rate of one port, for NICs of 400Gbps; ports = 2 alone for NICs of 800Gbps",
        ),
        ("rails = 4", "nics = 4 (did you mean \"nics\"?)"),
    ] {
        let error = refused(&of_gpus(other, ring));
        assert!(error.ends_with(&format!("\n  write: {key}")), "{error}");
    }
}

#[test]
fn a_key_that_follows_from_another_is_to_be_left_out() {
    let permutation = "kind = \"permutation\"\nbytes = \"1MB\"";
    for (keys, unknown, given) in [
        ("ports = 2\nplanes = 4", "planes", "ports (line 7)"),
        ("nics = 8\nrails = 8", "rails", "nics (line 7)"),
        ("segment = 8\nsu = 8", "su", "segment (line 7)"),
    ] {
        let text = of_gpus(keys, permutation);
        let end = format!("write: nothing in place of {unknown}: it follows from {given}");
        let error = refused(&text);
        assert!(error.ends_with(&end), "{error}");
        let without: String =
            text.lines().filter(|line| !line.starts_with(unknown)).map(|l| format!("{l}\n")).collect();
        scenario(&without);
    }
    let error = refused(&of_gpus("", &format!("{permutation}\nhosts = 8\nhost = 9")));
    assert!(error.ends_with("write: nothing in place of host: it follows from hosts (line 11)"), "{error}");
}

#[test]
fn words_of_nccl_and_of_data_sheets_are_answered_in_words_of_here() {
    let tests = |rest: &str| format!("kind = \"nccl-tests\"\noperation = \"all_reduce\"\n{rest}");
    for (topology, workload, hint) in [
        ("su = 8", "kind = \"permutation\"".to_owned(), "write: segment = 8 (did you mean \"segment\"?)"),
        (
            "leaf_radix = 64",
            "kind = \"permutation\"".to_owned(),
            "write: radix = 64 (did you mean \"radix\"?)",
        ),
        ("sus = 4", "kind = \"permutation\"".to_owned(), "their number times segment, the servers of a unit"),
        (
            "switch_ports = 64",
            "kind = \"permutation\"".to_owned(),
            "write: radix = 64 (did you mean \"radix\"?)",
        ),
        ("", tests("NCCL_ALGO = \"Ring\""), "and \"allreduce-hierarchical\""),
        (
            "",
            tests("bytes = \"16MiB\""),
            "write: min_bytes and max_bytes; for one size both are the same, such as \"16MiB\"",
        ),
        ("", tests("min_bytes = 8\nmax_bytes = \"1MiB\""), "write: min_bytes = \"8B\""),
        ("", tests("min_bytes = \"8\"\nmax_bytes = \"1MiB\""), "write: min_bytes = \"8B\""),
        ("", tests("min_bytes = \"8B\"\nmax_bytes = 134217728"), "write: max_bytes = \"128MiB\""),
        (
            "",
            tests("algorithm = \"nvls-tree\"\nmin_bytes = \"1MiB\"\nmax_bytes = \"1MiB\""),
            "write: algorithm = \"allreduce-hierarchical\", and nvls = true below [workload.server]",
        ),
        ("", tests("protocol = \"LL128\""), "which chooses the protocol as NCCL does; it cannot be set"),
        ("", tests("NCCL_PROTO = \"LL128\""), "which chooses the protocol as NCCL does; it cannot be set"),
        (
            "",
            "kind = \"all_reduce_perf\"\nbytes = \"1MB\"".to_owned(),
            "write: kind = \"nccl-tests\" and below it operation = \"all_reduce\"",
        ),
    ] {
        let error = refused(&of_gpus(topology, &workload));
        assert!(error.ends_with(hint), "{error}");
    }
}

#[test]
fn a_rate_of_nvlink_with_the_number_of_a_data_sheet_is_warned_of() {
    let warnings = |topology: &str, server: &str| -> Vec<String> {
        let ring = format!(
            "kind = \"collective\"\nalgorithm = \"allreduce-ring\"\nbytes = \"1MB\"\nserver = {{{server}}}"
        );
        scenario(&of_gpus(topology, &ring)).check().unwrap().iter().map(ToString::to_string).collect()
    };
    assert_eq!(
        warnings("nvlink = \"900Gbps\"", ""),
        [
            "s.toml:7:1: NVLink of 900Gbps has the number of a data sheet, which counts bytes in both directions; this \
             key has the bits in one direction\n  write: nvlink = \"3600Gbps\"; or as it is, if these are bits in one direction"
        ]
    );
    let [of_server] = &warnings("nvlink = \"3600Gbps\"", "link = \"1800Gbps\"")[..] else {
        panic!("one warning")
    };
    assert!(
        of_server.ends_with("link = \"7200Gbps\"; or as it is, if these are bits in one direction"),
        "{of_server}"
    );
    assert_eq!(warnings("nvlink = \"3600Gbps\"", ""), [""; 0]);
}

#[test]
fn faults_on_parts_by_other_names_are_answered_with_selectors() {
    let fault = |key: &str, name: &str| {
        let kind = if key == "links" { "link-down" } else { "switch-down" };
        let permutation = "kind = \"permutation\"\nbytes = \"1MB\"";
        let fault = format!("[[fault]]\nkind = \"{kind}\"\n{key} = \"{name}\"\nat = \"1us\"");
        of_gpus("segment = 1", &format!("{permutation}\n{fault}"))
    };
    for (key, name, meant) in [
        ("links", "gpu:3", "server:0/nic:3"),
        ("links", "GPU11", "server:1/nic:3"),
        ("links", "rank:99", "server:1/nic:7"),
        ("links", "mlx5_0", "server:0/nic:0"),
        ("links", "nic:8", "server:1/nic:0"),
        ("links", "t0:1", "cable:tor:1/up"),
        ("links", "t1:0/down:1", "spine:0/down:1"),
        ("switches", "T1-0", "spine:0"),
        ("links", "gpu:9/port:3", "server:1/nic:1/port:0"),
        ("links", "mlx5_2/port:0", "server:0/nic:2/port:0"),
        ("links", "leaf:0/up", "tor:0/up"),
        ("switches", "leaf:0", "tor:0"),
    ] {
        let text = fault(key, name);
        let error = refused(&text);
        assert!(error.ends_with(&format!("write: {key} = \"{meant}\"")), "{name}: {error}");
        scenario(&text.replace(name, meant)).check().unwrap();
    }
    for name in ["su:0", "segment:1", "pod:0"] {
        let error = refused(&fault("links", name));
        assert!(error.contains("no selector names the parts of a"), "{error}");
        assert!(error.contains("[\"server:0\", \"server:1\"]"), "{error}");
    }
}

/// Each server has 8 NICs. There are at most 64 channels, as in NCCL.
#[test]
fn a_domain_has_a_channel_for_each_nic() {
    let ring = "kind = \"collective\"\nalgorithm = \"allreduce-ring\"\nbytes = \"1MB\"\nserver = {}";
    for (domain, channels) in [(1, 8), (2, 16), (12, 64)] {
        let topology = format!("nvlink = \"3.6Tbps\"\nnvlink_domain = {domain}");
        let text = of_gpus(&topology, ring).replace("servers = 2", "servers = 12");
        let WorkloadSpec::Collective(job) = scenario(&text).points().unwrap().remove(0).workload else {
            panic!("{text}")
        };
        assert_eq!(job.server.unwrap().channels, Some(channels));
    }
}

#[test]
fn selectors_of_other_tools_are_answered_with_the_part_that_is_meant() {
    let faulty = |links: &str| {
        let topology = "kind = \"rails\"\nservers = 8\nnics = 4\nports = 2\nlink = \"200Gbps\"";
        format!(
            "{}[[fault]]\nkind = \"link-down\"\nduration = \"50us\"\n{links}\nat = \"10us\"\n",
            on(topology)
        )
    };
    for (wrong, right) in [
        ("server:3/hca:2/port:1", "server:3/nic:2/port:1"),
        ("server:3/nic:2/plane:1", "server:3/nic:2/port:1"),
        ("server:3/rail:2", "server:3/nic:2"),
        ("nic:26", "server:6/nic:2"),
        ("nics", "nic-links"),
        ("plane:0/nics", "nic-links:plane:0"),
    ] {
        let error = refused(&faulty(&format!("links = {wrong:?}")));
        assert!(error.ends_with(&format!("write: links = {right:?}")), "{error}");
        scenario(&faulty(&format!("links = {right:?}")));
    }
    for unknown in ["swp1", "nvlink", "plane:0/server:1"] {
        let error = refused(&faulty(&format!("links = {unknown:?}")));
        assert!(error.contains("write: links by a name of this topology: \"server:0\", "), "{error}");
    }
    let error = refused(&faulty("links = \"server:0-1\""));
    assert!(error.ends_with("write: a list in [[fault]]: [\"server:0\", \"server:1\"]"), "{error}");
    scenario(&faulty("links = [\"server:0\", \"server:1\"]"));
}

#[test]
fn faults_of_parts_are_answered_with_the_links_of_that_part() {
    for (wrong, kind, key, selector) in [
        ("kind = \"nic-down\"\nserver = 1\nnic = 2", "link-down", "links", "server:1/nic:2"),
        ("kind = \"nic-down\"\nnic = \"server:1/nic:2\"", "link-down", "links", "server:1/nic:2"),
        (
            "kind = \"port-down\"\nserver = 1\nnic = 2\nport = 0",
            "link-down",
            "links",
            "server:1/nic:2/port:0",
        ),
        ("kind = \"plane-down\"\nplane = 1", "link-down", "links", "plane:1"),
        ("kind = \"server-down\"", "link-down", "links", "server:0"),
        ("kind = \"leaf-down\"\nleaf = \"plane:1/tor:0\"", "switch-down", "switches", "plane:1/tor:0"),
    ] {
        let topology = "kind = \"rails\"\nservers = 8\nnics = 4\nports = 2\nlink = \"200Gbps\"";
        let faulty = |fault: &str| format!("{}[[fault]]\n{fault}\nat = \"10us\"\n", on(topology));
        let error = refused(&faulty(wrong));
        assert!(error.ends_with(&format!("write: kind = {kind:?} with {key} = {selector:?}")), "{error}");
        scenario(&faulty(&format!("kind = {kind:?}\n{key} = {selector:?}\nduration = \"50us\"")));
    }
}
