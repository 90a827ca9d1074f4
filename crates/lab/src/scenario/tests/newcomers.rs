//! Words of NCCL, of nccl-tests and of data sheets in scenarios: each error names what the user meant, and the
//! correction, followed, works.

use crate::scenario::tests::{Folder, folder, scenario};
use crate::scenario::*;
use anabranch_base::Rate;

pub(super) const PERMUTATION: &str = "kind = \"permutation\"\nbytes = \"1MB\"";
pub(super) const RING: &str = "kind = \"collective\"\nalgorithm = \"allreduce-ring\"\nbytes = \"1MB\"";
pub(super) const TESTS: &str = "kind = \"nccl-tests\"\noperation = \"all_reduce\"";
pub(super) const SIZES: &str = "min_bytes = \"1MiB\"\nmax_bytes = \"2MiB\"";

/// A scenario on 16 servers. `topology` has further keys of `[topology]`.
pub(super) fn on_16(topology: &str, workload: &str) -> String {
    format!(
        "schemes = [\"reps\"]\nseeds = [1]\n[topology]\nkind = \"rails\"\nservers = 16\nlink = \"400Gbps\"\n{topology}\n\
         [workload]\n{workload}\n"
    )
}

#[track_caller]
pub(super) fn correction(text: &str) -> String {
    let found = read("s.toml", text, &folder(), &Overrides::default()).and_then(|scenario| scenario.check());
    let error = found.expect_err(text).to_string();
    error.split_once("\n  write: ").unwrap_or_else(|| panic!("no help: {error}")).1.to_owned()
}

#[track_caller]
pub(super) fn works(text: &str) -> Scenario {
    let scenario = scenario(text);
    scenario.check().unwrap_or_else(|error| panic!("{error}"));
    scenario
}

fn clos_of(scenario: &Scenario) -> anabranch_fabric::ClosSpec {
    scenario.topology.clos().unwrap().1.clone()
}

#[test]
fn planes_keep_the_rate_of_the_nics_that_were_meant() {
    let hint = "ports = 2 with link = \"200Gbps\", the rate of one port, for NICs of 400Gbps; ports = 2 alone for NICs of 800Gbps";
    for planes in ["planes = 2", "num_planes = 2", "dual_plane = true"] {
        assert_eq!(correction(&on_16(planes, PERMUTATION)), hint);
    }
    let halved = on_16("ports = 2", PERMUTATION).replace("400Gbps", "200Gbps");
    assert_eq!(clos_of(&works(&halved)).link, Rate::from_gbps(200));
    works(&on_16("ports = 2", PERMUTATION));
    let dcn = on_16("planes = 2", PERMUTATION).replace("rails", "dcn-plus");
    assert!(correction(&dcn).starts_with("kind = \"multi-plane\" with ports = 2"), "{}", correction(&dcn));
    works(&on_16("ports = 2", PERMUTATION).replace("rails", "multi-plane"));
}

#[test]
fn generations_of_infiniband_have_their_rates() {
    for (name, rate) in [
        ("EDR", "100Gbps"),
        ("HDR100", "100Gbps"),
        ("HDR", "200Gbps"),
        ("NDR200", "200Gbps"),
        ("ndr", "400Gbps"),
        ("IB NDR", "400Gbps"),
        ("4xHDR", "200Gbps"),
        ("XDR", "800Gbps"),
    ] {
        for kind in ["rails", "fat-tree"] {
            let nodes = if kind == "rails" { "servers" } else { "hosts" };
            let text = on_16("", PERMUTATION).replace("rails", kind).replace("servers", nodes);
            let hint = format!("link = \"{rate}\"");
            assert_eq!(correction(&text.replace("400Gbps", name)), hint, "{name}");
            works(&text.replace("link = \"400Gbps\"", &hint));
        }
    }
    for two in ["2x200Gbps", "2 x 200G", "2xHDR", "2*200"] {
        let text = on_16("", PERMUTATION).replace("400Gbps", two);
        assert_eq!(correction(&text), "link = \"200Gbps\" and ports = 2, the ports of a NIC", "{two}");
        let with_ports = on_16("ports = 2", PERMUTATION).replace("400Gbps", two);
        assert_eq!(correction(&with_ports), "link = \"200Gbps\"", "{two}");
    }
    assert_eq!(clos_of(&works(&on_16("ports = 2", PERMUTATION).replace("400Gbps", "200Gbps"))).ports, 2);
    let tree = "schemes = [\"reps\"]\n[topology]\nkind = \"fat-tree\"\nhosts = 16\nlink = \"2x200Gbps\"\n[workload]\n";
    assert!(
        correction(&format!("{tree}{PERMUTATION}\n"))
            .starts_with("link = \"400Gbps\", since a host has one link")
    );
    assert_eq!(correction(&on_16("uplink = \"2x400Gbps\"", PERMUTATION)), "uplink = \"400Gbps\"");
}

/// Each correction, as lines of `[topology]`, has the number of segments or of pods that was written.
#[test]
fn numbers_of_units_pods_and_leaves_become_sizes() {
    for (written, hint, lines, segments) in [
        ("segments = 2", "segment = 8, the servers of each of 2 segments", "segment = 8", 2),
        ("segments = 3", "segment = 6, the servers of a segment; the last of 3 has 4", "segment = 6", 3),
        (
            "segments = 5",
            "segment = 4 and servers = 20 for 5 segments; 16 servers do not divide into them",
            "segment = 4",
            4,
        ),
        ("scalable_units = 4", "segment = 4, the servers of each of 4 segments", "segment = 4", 4),
        ("su = 2", "segment = 8 for 2 units of 8 servers, or segment = 2 for 8 units of 2", "segment = 8", 2),
        ("su = 4", "segment = 4, the servers of each of 4 units", "segment = 4", 4),
        ("servers_per_su = 8", "segment = 8 (did you mean \"segment\"?)", "segment = 8", 2),
        (
            "leaves = 16",
            "segment = 8 for 16 leaves: a segment has 8 leaves, one for each NIC of a server",
            "segment = 8",
            2,
        ),
        (
            "leaves = 8",
            "segment = 16 for 8 leaves: a segment has 8 leaves, one for each NIC of a server",
            "segment = 16",
            1,
        ),
        (
            "leaves = 7",
            "segment, the servers of a segment: a segment has 8 leaves, one for each NIC of a server",
            "",
            1,
        ),
        (
            "pods = 2",
            "segment = 8 and pod = 1, the segments of each of 2 pods of 8 servers",
            "segment = 8\npod = 1",
            2,
        ),
        ("segment = 4\npods = 2", "pod = 2, the segments of each of 2 pods", "segment = 4\npod = 2", 4),
        ("pods = 1", "nothing: leave the line out, for one pod of all segments", "", 1),
    ] {
        assert_eq!(correction(&on_16(written, PERMUTATION)), hint, "{written}");
        let spec = clos_of(&works(&on_16(lines, PERMUTATION)));
        assert_eq!(spec.segments(), segments, "{written}");
        if let Some(pods) = written.split("pods = ").nth(1) {
            assert_eq!((spec.segments() / spec.pod).to_string(), pods, "{written}");
        }
    }
    let planes = on_16("leaves = 8", PERMUTATION).replace("rails", "multi-plane");
    assert_eq!(
        correction(&planes),
        "segment = 8 for 8 leaves: a segment has 4 leaves, one for each port of a NIC"
    );
    works(&planes.replace("leaves = 8", "segment = 8"));
    let warnings = works(&on_16("segment = 5", PERMUTATION)).check().unwrap();
    let [warning] = &warnings[..] else { panic!("{warnings:?}") };
    assert!(warning.to_string().contains("the last of 4 segments has 1 server"), "{warning}");
    let mended = works(&on_16("segment = 4", PERMUTATION)).check().unwrap();
    assert!(mended.is_empty(), "{mended:?}");
}

#[test]
fn parts_of_servers_and_switches_are_answered_with_keys() {
    for (written, hint) in [
        ("hcas = 4", "nics = 4 (did you mean \"nics\"?)"),
        ("nics_per_node = 4", "nics = 4 (did you mean \"nics\"?)"),
        ("gpus_per_server = 16", "gpus = 16 (did you mean \"gpus\"?)"),
        ("num_spines = 4", "spines = 4 (did you mean \"spines\"?)"),
        ("ports_per_switch = 64", "radix = 64 (did you mean \"radix\"?)"),
        ("switch = \"QM9700\"", "radix = 64"),
        ("switch = \"QM8700\"", "radix = 40"),
        ("switch = \"Quantum-2 QM9700-NS2F\"", "radix = 64"),
        ("radix = \"QM9700\"", "radix = 64"),
    ] {
        assert_eq!(correction(&on_16(written, PERMUTATION)), hint, "{written}");
        works(&on_16(hint.split(" (").next().unwrap(), PERMUTATION));
    }
    let split = "radix = 128, with each of 64 ports of 800Gbps split into 2; radix = 64 without splitting";
    assert_eq!(correction(&on_16("switch = \"SN5600\"", PERMUTATION)), split);
    works(&on_16("radix = 128", PERMUTATION));
    let other = correction(&on_16("switch = \"7060X6\"", PERMUTATION));
    assert_eq!(other, "radix, the number of ports of a switch, such as radix = 64");
    let gpus = correction(&on_16("num_gpus = 64", PERMUTATION));
    assert_eq!(gpus, "servers = 8, of 8 GPUs each");
    assert!(correction(&on_16("nvl = 72", PERMUTATION)).starts_with("nvlink_domain, the number of servers"));
}

/// Where a file describes the servers, `hosts` is divided by its number of NICs.
#[test]
fn hosts_are_divided_by_the_nics_of_the_server_file() {
    let gpu = |bus: u32| {
        format!(
            "<pci busid=\"0000:{bus:02x}:00.0\" class=\"0x060400\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\">\
             <pci busid=\"0000:{:02x}:00.0\" class=\"0x030200\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\">\
             <gpu dev=\"{bus}\" sm=\"90\" rank=\"{bus}\" gdr=\"1\"/></pci>\
             <pci busid=\"0000:{:02x}:00.0\" class=\"0x020700\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\">\
             <nic><net name=\"mlx5_{bus}\" dev=\"{bus}\" speed=\"400000\" port=\"1\" guid=\"0x{bus}\" maxconn=\"131072\" gdr=\"1\"/>\
             </nic></pci></pci>",
            bus + 16,
            bus + 32
        )
    };
    let parts: String = (0..4).map(gpu).collect();
    let file = format!("<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\">{parts}</cpu></system>");
    let files = Folder([("x.xml".to_owned(), file)].into());
    let text = |count: &str| {
        format!(
            "schemes = [\"reps\"]\nseeds = [1]\n[topology]\nkind = \"rails\"\nserver = \"x.xml\"\n{count}\n[workload]\n{PERMUTATION}\n"
        )
    };
    let found = read("s.toml", &text("hosts = 16"), &files, &Overrides::default());
    let error = found.map(drop).unwrap_err().to_string();
    assert!(error.ends_with("write: servers = 4 instead of hosts, of 4 NICs each"), "{error}");
    let scenario = read("s.toml", &text("servers = 4"), &files, &Overrides::default()).unwrap();
    assert_eq!(clos_of(&scenario).hosts(), 16);
}

#[test]
fn algorithms_of_nccl_and_mpi_are_answered_with_those_of_here_or_none() {
    let nvlink = "nvlink = \"3.6Tbps\"";
    let of = |name: &str| on_16(nvlink, &format!("{}\nserver = {{}}", RING.replace("allreduce-ring", name)));
    let in_tests =
        |name: &str| on_16(nvlink, &format!("{TESTS}\n{SIZES}\nalgorithm = \"{name}\"\nserver = {{}}"));
    for (name, meant) in [
        ("allreduce-tree", "allreduce-double-binary-tree"),
        ("AllReduce_Tree", "allreduce-double-binary-tree"),
        ("allreduce-rabenseifner", "allreduce-halving-doubling"),
    ] {
        for text in [of(name), in_tests(name)] {
            assert_eq!(correction(&text), format!("algorithm = {meant:?}"), "{name}");
            works(&text.replace(name, meant));
        }
    }
    for name in ["allreduce-nvls", "allreduce-nvlstree"] {
        let hint = "algorithm = \"allreduce-hierarchical\", and nvls = true below [workload.server]";
        assert_eq!(correction(&of(name)), hint);
        assert_eq!(correction(&in_tests(name)), hint);
        works(&of("allreduce-hierarchical").replace("server = {}", "server = { nvls = true }"));
    }
    assert_eq!(correction(&of("bcast")), "algorithm = \"broadcast-ring\"");
    assert_eq!(correction(&of("PAT")), "algorithm = \"allgather-ring\"");
    let incast = "kind = \"incast\", in which many hosts send to one";
    for text in [of("gather"), in_tests("gather"), on_16("", "kind = \"gather_perf\"\nbytes = \"1MB\"")] {
        assert_eq!(correction(&text), incast);
    }
    assert_eq!(
        correction(&on_16("", &format!("kind = \"nccl-tests\"\noperation = \"gather\"\n{SIZES}"))),
        incast
    );
    works(&on_16("", "kind = \"incast\"\nbytes = \"1MB\""));
    assert!(correction(&in_tests("CollNet")).contains("reduces in NVLink switches"));
    works(&in_tests("allreduce-ring"));
}

#[test]
fn schemes_by_the_names_of_products_and_standards() {
    let named = |name: &str| on_16("", PERMUTATION).replace("\"reps\"", &format!("{name:?}"));
    for (name, scheme) in [
        ("uec", "uet-nscc"),
        ("Ultra-Ethernet", "uet-nscc"),
        ("nscc", "uet-nscc"),
        ("rccc", "uet-rccc"),
        ("spray", "ops"),
        ("packet-spraying", "ops"),
        ("Random_Spraying", "ops"),
        ("AR", "adaptive-roce"),
        ("MRC", "mrc"),
        ("letflow", "flowlet"),
    ] {
        assert_eq!(correction(&named(name)), format!("{scheme:?}"), "{name}");
        works(&named(scheme));
    }
    for name in ["IB", "ib", "infiniband", "Quantum-2"] {
        assert!(correction(&named(name)).contains("\"adaptive-roce\" for adaptive routing"), "{name}");
    }
    assert!(correction(&named("SRD")).starts_with("\"ops\" or \"uet-nscc\""));
    assert!(correction(&named("UET")).starts_with("one of \"uet-nscc\", "));
    for name in ["tcp", "timely", "swift", "conga"] {
        assert!(correction(&named(name)).starts_with("one of \"reps\", "), "{name}");
    }
}

#[test]
fn thresholds_of_switches_are_found_where_they_are() {
    let set = |scheme: &str, line: &str| {
        format!("{}[set]\n{line}\n", on_16("", PERMUTATION).replace("\"reps\"", scheme))
    };
    for (scheme, written, meant) in [
        ("\"rocev2\"", "\"rocev2.fabric.kmin\" = \"100KB\"", "\"rocev2.fabric.ecn_kmin\" = \"100KB\""),
        ("\"rocev2\"", "\"rocev2.cc.Kmin\" = \"100KB\"", "\"rocev2.fabric.ecn_kmin\" = \"100KB\""),
        ("\"rocev2\"", "\"rocev2.fabric.pmax\" = 0.2", "\"rocev2.fabric.ecn_pmax\" = 0.2"),
        ("\"rocev2\"", "\"*.fabric.k_max\" = \"4MB\"", "\"*.fabric.ecn_kmax\" = \"4MB\""),
        ("\"rocev2\"", "\"*.fabric.buffer\" = \"64MB\"", "\"*.fabric.pfc.buffer\" = \"64MB\""),
        ("\"reps\"", "\"*.fabric.buffer\" = \"4MB\"", "\"*.fabric.queue\" = \"4MB\""),
        ("\"reps\", \"rocev2\"", "\"*.fabric.buffer\" = \"4MB\"", "\"*.fabric.queue\" = \"4MB\""),
        ("\"rocev2\"", "\"rocev2.fabric.xoff\" = \"1MB\"", "\"rocev2.fabric.pfc.threshold\" = \"1MB\""),
    ] {
        assert_eq!(correction(&set(scheme, written)), meant);
        works(&set(scheme, meant));
    }
}

#[test]
fn variables_of_nccl_are_answered_with_keys_or_nothing() {
    let job = |rest: &str| on_16("nvlink = \"3.6Tbps\"", &format!("{RING}\n{rest}"));
    let tests = |rest: &str| on_16("nvlink = \"3.6Tbps\"", &format!("{TESTS}\n{SIZES}\n{rest}"));
    for (variable, hint) in [
        ("NCCL_MIN_NCHANNELS = 4", "channels = 4"),
        ("NCCL_MAX_NCHANNELS = \"4\"", "channels = 4"),
        ("NCCL_PXN_DISABLE = 1", "pxn = false"),
        ("NCCL_NVLS_ENABLE = 0", "nvls = false"),
    ] {
        let below = format!("{hint} below [workload.server], or server = {{ {hint} }}");
        assert_eq!(correction(&job(&format!("{variable}\nserver = {{}}"))), below);
        assert_eq!(correction(&tests(&format!("{variable}\nserver = {{}}"))), below);
        assert_eq!(correction(&job(&format!("[workload.server]\n{variable}"))), hint);
        works(&job(&format!("[workload.server]\n{hint}")));
        works(&job(&format!("server = {{ {hint} }}")));
    }
    let chunk = "NCCL_P2P_NET_CHUNKSIZE = 131072";
    assert_eq!(correction(&job(chunk)), "chunk = \"128KiB\"");
    assert_eq!(
        correction(&job(&format!("[workload.server]\n{chunk}"))),
        "chunk = \"128KiB\" below [workload]"
    );
    works(&job("chunk = \"128KiB\""));
    let buffer = correction(&tests("NCCL_BUFFSIZE = 4194304"));
    assert_eq!(buffer, "chunk = \"1MiB\", the messages of a ring: a quarter of the buffer");
    let qps = correction(&tests("NCCL_IB_QPS_PER_CONNECTION = 4"));
    assert_eq!(qps, "\"*.qps\" = 4 below [set], over which each message is split");
    let with_set = format!("{}[set]\n\"*.qps\" = 4\n", job("server = {}"));
    works(&with_set);
    works(&with_set.replace("\"reps\"", "\"rocev2\", \"uet-nscc\""));
    let file = correction(&job("NCCL_TOPO_FILE = \"h100.xml\""));
    assert!(file.starts_with("server = \"h100.xml\" below [topology], where NCCL_TOPO_DUMP_FILE"), "{file}");
    for variable in ["NCCL_ALGO = \"Ring\"", "NCCL_PROTO = \"LL\""] {
        for text in [job(variable), tests(variable), job(&format!("[workload.server]\n{variable}"))] {
            assert!(correction(&text).starts_with("algorithm"), "{text}");
        }
    }
    for variable in ["NCCL_CROSS_NIC = 1", "NCCL_NTHREADS = 512", "NCCL_DEBUG = \"INFO\""] {
        for text in [job(variable), tests(variable), job(&format!("[workload.server]\n{variable}"))] {
            assert!(correction(&text).starts_with("nothing: leave the line out; "), "{text}");
        }
    }
}

#[test]
fn flags_of_nccl_tests_are_answered_with_keys_or_nothing() {
    let tests = |rest: &str| on_16("nvlink = \"3.6Tbps\"", &format!("{TESTS}\n{rest}\nserver = {{}}"));
    let [least, most] = ["min_bytes = \"1MiB\"", "max_bytes = \"2MiB\""];
    for (flag, beside, key) in [
        ("minbytes = \"1M\"", most, "min_bytes = \"1MiB\""),
        ("\"-b\" = 8", most, "min_bytes = \"8B\""),
        ("b = \"1MiB\"", most, "min_bytes = \"1MiB\""),
        ("\"--maxbytes\" = \"2M\"", least, "max_bytes = \"2MiB\""),
        ("e = 2097152", least, "max_bytes = \"2MiB\""),
        ("\"-f\" = 2", SIZES, "factor = 2"),
        ("stepfactor = 2", SIZES, "factor = 2"),
        ("\"-i\" = \"1M\"", SIZES, "step_bytes = \"1MiB\""),
    ] {
        let name = key.split(' ').next().unwrap();
        let hint = format!("{key} (did you mean \"{name}\"?)");
        assert_eq!(correction(&tests(&format!("{beside}\n{flag}"))), hint, "{flag}");
        works(&tests(&format!("{beside}\n{key}")));
    }
    for flag in ["ngpus = 8", "\"-g\" = 8"] {
        let hint = correction(&tests(&format!("{SIZES}\n{flag}")));
        assert!(
            hint.starts_with("ranks = 8, if these are the GPUs of all processes: -g times -t times"),
            "{hint}"
        );
    }
    let one = correction(&tests(&format!("{SIZES}\n\"-g\" = 1")));
    assert!(one.starts_with("ranks, the GPUs of all processes"), "{one}");
    let given = correction(&tests(&format!("{SIZES}\n\"-b\" = 8")));
    assert_eq!(given, "nothing in place of -b: it follows from min_bytes");
    for flag in ["iters = 20", "\"-w\" = 5", "datatype = \"float\"", "\"-c\" = 0", "root = 0"] {
        let hint = correction(&tests(&format!("{SIZES}\n{flag}")));
        assert!(hint.starts_with("nothing: leave the line out; "), "{flag}: {hint}");
    }
}
