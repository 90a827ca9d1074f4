//! Servers whose GPUs are connected by NVLink, compared with closed forms. The servers have rails, and messages reach
//! another rail over NVLink (PXN).

use super::clusters::{AT_400G, ONE_RAIL_A_LEAF, acknowledged, scenario};
use super::support::*;
use anabranch_sim::{Control, RunResult};

const NVLINK: &str = "server = { link = \"3.6Tbps\", link_latency = \"25ns\" }";
const LATENCY: u64 = 25_000;

/// The serialisation time over NVLink, in ps.
fn nvlink(bytes: u64) -> u64 {
    (bytes * 8 * 10).div_ceil(36)
}

/// Runs one message of `bytes` bytes from GPU 0 to GPU `to`, among eight GPUs.
fn send(to: u32, bytes: u64, server: &str) -> RunResult {
    let ranks = (0..8).map(|rank| match rank {
        0 => format!("rank 0 {{\ns: send {bytes}b to {to}\n}}\n"),
        rank if rank == to => format!("rank {to} {{\nr: recv {bytes}b from 0\n}}\n"),
        rank => format!("rank {rank} {{\n}}\n"),
    });
    let goal = format!("num_ranks 8\n{}", ranks.collect::<String>());
    let workload = format!("[workload]\nkind = \"trace\"\nformat = \"goal\"\nfile = \"job\"\n{server}\n");
    finish_one(&scenario("\"ecmp\"", ONE_RAIL_A_LEAF, &workload), &[("job", &goal)])
}

/// The number of packet-hops if each packet and its ACK cross `links` links.
fn packet_hops(packets: u64, links: u64) -> u64 {
    2 * packets * links
}

#[test]
fn data_for_another_rail_go_over_nvlink_first() {
    const BYTES: u64 = 128 << 10;
    let over = send(5, BYTES, NVLINK);
    let expected = nvlink(BYTES) + LATENCY + acknowledged(32, 2, AT_400G);
    // Over NVLink, 131,072 B take 291.27 ns, plus a latency of 25 ns. 33 packet times of 83.48 ns and two link
    // latencies follow, so the last byte arrives at 4,071.11 ns. Its ACK then crosses two links.
    assert_eq!((expected - 2 * (64 * AT_400G + 500_000)) / 10, 407_111);
    let cct = over.jobs[0].cct_ps.unwrap();
    assert!(cct.abs_diff(expected) <= 1, "{cct} {expected}");
    assert_eq!(over.jobs[0].ideal_cct_ps, cct);
    // No packet passes a spine, so each one crosses only two links.
    assert_eq!(over.run.packet_hops, packet_hops(32, 2));

    let off = NVLINK.replace("25ns\"", "25ns\", pxn = false");
    let off = send(5, BYTES, &off);
    assert_eq!(off.jobs[0].cct_ps, Some(acknowledged(32, 4, AT_400G)));
    assert_eq!(off.run.packet_hops, packet_hops(32, 4));
}

#[test]
fn rails_decide_how_many_switches_a_message_passes() {
    let off = NVLINK.replace("25ns\"", "25ns\", pxn = false");
    for server in [NVLINK, &off] {
        let same = send(4, 1 << 20, server);
        assert_eq!(same.jobs[0].cct_ps, Some(22_454_360 + 1_002_560), "{server}");
    }
    let other = send(5, 1 << 20, &off);
    assert_eq!(other.jobs[0].cct_ps, Some(23_621_320 + 4 * (64 * AT_400G + 500_000)));
    let within = send(3, 1 << 20, NVLINK);
    assert_eq!((within.run.packet_hops, within.run.flows), (0, 0));
    assert!(within.jobs[0].cct_ps.unwrap().abs_diff(nvlink(1 << 20) + LATENCY) <= 1);
}

/// GPUs that share a NIC send to another GPU of their server over NVLink, and to other servers through their NIC.
#[test]
fn gpus_may_share_a_nic() {
    let shared = "kind = \"rails\"\nservers = 2\nnics = 2\ngpus = 4\nspines = 2\nuplinks = 2\nlink = \"400Gbps\"\ntiers = 2\nsegment = 2";
    let goal = |to: u32| {
        let rank = |rank: u32| match rank {
            0 | 1 => format!("s: send 131072b to {to} tag {rank}\n"),
            rank if rank == to => "a: recv 131072b from 0 tag 0\nb: recv 131072b from 1 tag 1\n".to_owned(),
            _ => String::new(),
        };
        let ranks = (0..8).map(|number| format!("rank {number} {{\n{}}}\n", rank(number)));
        format!("num_ranks 8\n{}", ranks.collect::<String>())
    };
    let workload = format!("[workload]\nkind = \"trace\"\nformat = \"goal\"\nfile = \"job\"\n{NVLINK}\n");
    let run = |to: u32| finish_one(&scenario("\"ecmp\"", shared, &workload), &[("job", &goal(to))]);
    // The two transfers share the rate at which the receiver receives.
    let within = run(3);
    let expected = 2 * nvlink(131_072) + LATENCY;
    assert!(within.jobs[0].cct_ps.unwrap().abs_diff(expected) <= 2, "{:?}", within.jobs[0]);
    // GPUs 0 and 1 use NIC 0, and GPU 4 uses NIC 2, which is on the same rail. NIC 0 sends the 64 packets one after the
    // other.
    let across = run(4);
    assert_eq!(across.jobs[0].cct_ps, Some(acknowledged(64, 2, AT_400G)));
    assert_eq!(across.run.packet_hops, packet_hops(64, 2));
}

/// GPUs 0 and 1 use NIC 0. GPU 0 computes for 30 us, and GPU 1 for 10 us.
#[test]
fn gpus_that_share_a_nic_compute_each_for_itself() {
    let shared = "kind = \"rails\"\nservers = 2\nnics = 2\ngpus = 4\nspines = 2\nuplinks = 2\nlink = \"400Gbps\"\ntiers = 2\nsegment = 2";
    let ns = [30_000, 10_000, 0, 0, 0, 0, 0, 0];
    let rank = |(rank, ns)| {
        let sent = match rank {
            6 => "b: send 4096b to 7 tag 0\n",
            7 => "b: recv 4096b from 6 tag 0\n",
            _ => "",
        };
        format!("rank {rank} {{\na: calc {ns}\n{sent}}}\n")
    };
    let ranks = (0..8).zip(ns).map(rank);
    let goal = format!("num_ranks 8\n{}", ranks.collect::<String>());
    let workload = format!("[workload]\nkind = \"trace\"\nformat = \"goal\"\nfile = \"job\"\n{NVLINK}\n");
    let result = finish_one(&scenario("\"ecmp\"", shared, &workload), &[("job", &goal)]);
    let computed: Vec<u64> = result.parts.iter().map(|part| part.compute_ps).collect();
    assert_eq!(computed, ns.map(|ns| ns * 1_000));
}

fn collective(keys: &str) -> RunResult {
    let workload = format!("[workload]\nkind = \"collective\"\n{keys}\n");
    finish_one(&scenario("\"ecmp\"", ONE_RAIL_A_LEAF, &workload), &[])
}

#[test]
fn a_ring_in_one_server_sends_no_packet() {
    const B: u64 = 1 << 20;
    let keys =
        format!("algorithm = \"allreduce-ring\"\nbytes = \"{B}B\"\nchunk = \"1MiB\"\nranks = 4\n{NVLINK}");
    let result = collective(&keys);
    let expected = 6 * (nvlink(B / 4) + LATENCY);
    let cct = result.jobs[0].cct_ps.unwrap();
    assert!(cct.abs_diff(expected) <= 6, "{cct} {expected}");
    assert_eq!((result.run.packet_hops, result.run.flows), (0, 0));
}

/// With two servers of four GPUs, the NICs of each server together send 2 * 7/8 of the bytes, along the rails.
#[test]
fn a_ring_over_two_servers_leaves_each_once_per_rail() {
    const B: u64 = 1 << 20;
    let packets = 2 * (2 * 7 * B / 8) / 4_096;
    for (channels, pxn) in [(1, true), (4, true), (4, false)] {
        let server = NVLINK.replace("25ns\"", &format!("25ns\", channels = {channels}, pxn = {pxn}"));
        let keys = format!("algorithm = \"allreduce-ring\"\nbytes = \"{B}B\"\nchunk = \"128KiB\"\n{server}");
        let result = collective(&keys);
        assert_eq!(result.run.packet_hops, packet_hops(packets, 2), "{channels} {pxn}");
        assert!(result.jobs[0].cct_ps.unwrap() >= result.jobs[0].ideal_cct_ps);
    }
}

/// In the hierarchical allreduce, a ring over the two servers reduces a quarter of the bytes along each rail, so each
/// NIC sends 2 * 1/2 of that quarter.
#[test]
fn a_hierarchical_allreduce_and_an_all_to_all_keep_to_the_rails() {
    const B: u64 = 1 << 20;
    let run = |algorithm: &str, server: &str| {
        collective(&format!("algorithm = \"{algorithm}\"\nbytes = \"{B}B\"\n{server}"))
    };
    let nvls = NVLINK.replace("25ns\"", "25ns\", nvls = true");
    for server in [NVLINK, &nvls] {
        let keys = format!("{server}\nchunk = \"128KiB\"");
        let result = run("allreduce-hierarchical", &keys);
        assert_eq!(result.run.packet_hops, packet_hops(8 * (B / 4) / 4_096, 2), "{server}");
    }
    // In each channel, one GPU of each server exchanges the channel's bytes with the other server. One direction goes
    // up the tree, and the other direction goes down.
    let tree = run("allreduce-double-binary-tree", &format!("{NVLINK}\nchunk = \"128KiB\""));
    assert_eq!(tree.run.packet_hops, packet_hops(2 * B / 4_096, 2));
    // Each GPU sends four blocks of an eighth to the other server.
    let to_all = run("alltoall", NVLINK);
    assert_eq!(to_all.run.packet_hops, packet_hops(8 * 4 * (B / 8) / 4_096, 2));
    let off = run("alltoall", &NVLINK.replace("25ns\"", "25ns\", pxn = false"));
    // Three of the four blocks that a GPU sends to the other server are for GPUs on other rails.
    let blocks = 8 * (B / 8) / 4_096;
    assert_eq!(off.run.packet_hops, packet_hops(blocks, 2) + 3 * packet_hops(blocks, 4));
    let few = collective(&format!(
        "algorithm = \"alltoall\"\nbytes = \"{B}B\"\nconnections = 2\njitter = \"1us\"\n{NVLINK}"
    ));
    assert_eq!(few.run.packet_hops, to_all.run.packet_hops);
    assert!(few.jobs[0].cct_ps > to_all.jobs[0].cct_ps);
}

/// With `depth`, a transfer waits until an earlier transfer has been acknowledged. With `clock = "delivered"`, it
/// waits until the earlier transfer has arrived. Both rules hold over NVLink and over the network.
#[test]
fn a_depth_counts_transfers_of_every_kind() {
    let run = |more: &str| {
        let keys =
            format!("algorithm = \"allreduce-ring\"\nbytes = \"1MiB\"\nchunk = \"16KiB\"\n{more}\n{NVLINK}");
        collective(&keys).jobs[0].cct_ps.unwrap()
    };
    let free = run("");
    for clock in ["ack", "delivered"] {
        assert!(run(&format!("depth = 1\nclock = \"{clock}\"")) > free, "{clock}");
    }
}

/// The channels of a broadcast share the NVLink of the root, so that all rails are busy at the same time.
#[test]
fn the_channels_of_a_broadcast_run_side_by_side() {
    const B: u64 = 16 << 20;
    let four = ONE_RAIL_A_LEAF.replace("servers = 2", "servers = 4").replace("segment = 2", "segment = 4");
    let keys = format!("algorithm = \"broadcast-ring\"\nbytes = \"{B}B\"\nchunk = \"64KiB\"\n{NVLINK}");
    let workload = format!("[workload]\nkind = \"collective\"\n{keys}\n");
    let job = finish_one(&scenario("\"ecmp\"", &four, &workload), &[]).jobs.remove(0);
    // Each NIC carries a quarter of the bytes at 400 Gb/s, which takes this time in ps.
    let bytes = (B / 4 * 8 * 10 / 4) as f64;
    let took = job.cct_ps.unwrap() as f64 / bytes;
    assert!((1.0..1.3).contains(&took), "{took}");
}

/// An NVSwitch that reduces (NVLS) also distributes the sum. A GPU therefore sends its bytes once, plus an eighth of
/// its bytes. In a ring, a GPU sends 2 * 7/8 of its bytes.
#[test]
fn a_switch_that_reduces_passes_the_rate_of_a_ring() {
    const B: u64 = 64 << 20;
    let two = "kind = \"rails\"\nservers = 2\nnics = 8\nlink = \"400Gbps\"";
    let run = |algorithm: &str, server: &str| {
        let workload = format!(
            "[workload]\nkind = \"collective\"\nalgorithm = \"{algorithm}\"\nbytes = \"{B}B\"\nranks = 8\n{server}\n"
        );
        finish_one(&scenario("\"ecmp\"", two, &workload), &[]).jobs[0].cct_ps.unwrap() as f64
    };
    let nvls = NVLINK.replace("25ns\"", "25ns\", nvls = true");
    let bytes = nvlink(B) as f64;
    let switched = run("allreduce-hierarchical", &nvls) / bytes;
    assert!((1.125..1.4).contains(&switched), "{switched}");
    for (algorithm, server) in [("allreduce-hierarchical", NVLINK), ("allreduce-ring", NVLINK)] {
        let took = run(algorithm, server) / bytes;
        assert!((1.75..1.8).contains(&took), "{algorithm}: {took}");
    }
}

#[test]
fn threads_do_not_matter_to_servers() {
    for algorithm in ["allreduce-ring", "allreduce-double-binary-tree", "allreduce-hierarchical", "alltoall"]
    {
        let server = NVLINK.replace("25ns\"", "25ns\", nvls = true");
        let chunk = if algorithm == "alltoall" { "" } else { "chunk = \"32KiB\"\ndepth = 2\n" };
        let workload = format!(
            "[workload]\nkind = \"collective\"\nalgorithm = \"{algorithm}\"\nbytes = \"1MiB\"\nplacement = \"random\"\n{chunk}{server}\n"
        );
        let text = scenario("\"reps\", \"rocev2\"", ONE_RAIL_A_LEAF, &workload).replace(UNBOUNDED, "");
        for point in points(&text, &[]) {
            let digests = [1, 2, 3, 8].map(|threads| {
                let control = Control { threads, ..Default::default() };
                anabranch_sim::run(&point, &control).unwrap().run.digest
            });
            assert!(digests.iter().all(|digest| *digest == digests[0]), "{algorithm}, {}", point.scheme.name);
        }
    }
}

#[test]
fn servers_of_the_topology_are_resolved() {
    let text = |server: &str| {
        let workload = format!(
            "[workload]\nkind = \"collective\"\nalgorithm = \"allreduce-ring\"\nbytes = \"1MiB\"\n{server}\n"
        );
        scenario("\"ecmp\"", ONE_RAIL_A_LEAF, &workload)
    };
    let resolved = read(&text(NVLINK), &[]).to_toml();
    for key in ["pxn = true", "channels = 4", "ranks = 8"] {
        assert!(resolved.contains(key), "{key} in {resolved}");
    }
    let run = |text: &str| finish_one(text, &[]).run.digest;
    assert_eq!(run(&resolved), run(&text(NVLINK)));
}

/// NVLink may be described in the topology, in SimAI's topology file, or in the workload. The workload takes
/// precedence.
#[test]
fn nvlink_of_the_topology_is_the_default() {
    let workload = |server: &str| {
        format!(
            "[workload]\nkind = \"collective\"\nalgorithm = \"allreduce-ring\"\nbytes = \"1MiB\"\nserver = {server}\n"
        )
    };
    let run = |topology: &str, server: &str, files: &[(&str, &str)]| {
        finish_one(&scenario("\"ecmp\"", topology, &workload(server)), files)
    };
    let digest = |topology: &str, server: &str| run(topology, server, &[]).run.digest;
    let of_topology = format!("{ONE_RAIL_A_LEAF}\nnvlink = \"3.6Tbps\"\nnvlink_latency = \"25ns\"");
    let written = "{ link = \"3.6Tbps\", link_latency = \"25ns\" }";
    assert_eq!(digest(&of_topology, "{}"), digest(ONE_RAIL_A_LEAF, written));
    let slower = "{ link = \"900Gbps\" }";
    assert_eq!(digest(&of_topology, slower), digest(ONE_RAIL_A_LEAF, &written.replace("3.6Tbps", "900Gbps")));
    // Two servers of two GPUs, each with an NVSwitch, under one switch.
    let simai = "7 2 2 1 8 H100\n4 5 6\n0 4 2880Gbps 0.000025ms 0\n1 4 2880Gbps 0.000025ms 0\n\
                 2 5 2880Gbps 0.000025ms 0\n3 5 2880Gbps 0.000025ms 0\n0 6 400Gbps 0.0005ms 0\n\
                 1 6 400Gbps 0.0005ms 0\n2 6 400Gbps 0.0005ms 0\n3 6 400Gbps 0.0005ms 0\n";
    let graph = "schemes = [\"ecmp\"]\nseeds = [1]\n[topology]\nkind = \"graph\"\nfile = \"simai.topo\"\nswitch_latency = \"0ns\"\n";
    let result = |server: &str| finish_one(&format!("{graph}{}", workload(server)), &[("simai.topo", simai)]);
    let told = result("{ link = \"2880Gbps\", link_latency = \"50ns\" }");
    assert_eq!(result("{}").run.digest, told.run.digest);
    assert_eq!(told.jobs[0].ranks, 4);
}

/// The workload `nccl-tests` is a sweep over sizes. Each point of the sweep is a collective of one size.
#[test]
fn nccl_tests_are_collectives_of_each_size() {
    let of = |keys: &str| {
        let workload = format!("[workload]\nkind = \"nccl-tests\"\n{keys}\n{NVLINK}");
        scenario("\"ecmp\"", ONE_RAIL_A_LEAF, &workload)
    };
    let results = finish_all(
        &of(
            "operation = \"all_reduce\"\nmin_bytes = \"64KiB\"\nmax_bytes = \"1MiB\"\nfactor = 4\nchunk = \"128KiB\"",
        ),
        &[],
    );
    let sizes: Vec<u64> = results.iter().map(|result| result.jobs[0].bytes).collect();
    assert_eq!(sizes, [64 << 10, 256 << 10, 1 << 20]);
    for result in &results {
        let alone = collective(&format!(
            "algorithm = \"allreduce-nccl\"\nbytes = \"{}B\"\nchunk = \"128KiB\"\n{NVLINK}",
            result.jobs[0].bytes
        ));
        assert_eq!(result.jobs, alone.jobs);
        let busbw = result.run.busbw_gbytes_per_sec.unwrap();
        let expected = result.jobs[0].bytes as f64 * 1e3 / result.jobs[0].cct_ps.unwrap() as f64 * 14.0 / 8.0;
        assert!((busbw - expected).abs() < 1e-9 * expected, "{busbw} {expected}");
    }
    // Each GPU sends to the next one. Three of four messages stay within the server, and the fourth reaches the rail
    // of its receiver over NVLink (PXN).
    let sent = finish_all(
        &of(
            "operation = \"sendrecv\"\nmin_bytes = \"128KiB\"\nmax_bytes = \"256KiB\"\nstep_bytes = \"128KiB\"\nchunk = \"1MiB\"",
        ),
        &[],
    );
    let alone = send(4, 128 << 10, NVLINK);
    assert_eq!(alone.run.packet_hops, packet_hops(32, 2));
    let hops: Vec<u64> = sent.iter().map(|result| result.run.packet_hops).collect();
    assert_eq!(hops, [2 * packet_hops(32, 2), 2 * packet_hops(64, 2)]);
    let algbw = |result: &RunResult| (result.run.algbw_gbytes_per_sec, result.run.busbw_gbytes_per_sec);
    assert!(sent.iter().map(algbw).all(|(algbw, busbw)| algbw.is_some() && algbw == busbw));
    let text = of("operation = \"alltoall\"\nmin_bytes = \"64KiB\"\nmax_bytes = \"128KiB\"");
    let resolved = read(&text, &[]).to_toml();
    assert!(resolved.contains("\"workload.bytes\" = [\"64KiB\", \"128KiB\"]"), "{resolved}");
    let digests =
        |text: &str| finish_all(text, &[]).into_iter().map(|result| result.run.digest).collect::<Vec<_>>();
    assert_eq!(digests(&resolved), digests(&text));
}

#[test]
fn wrong_servers_are_explained() {
    struct NoFiles;
    impl anabranch_sim::scenario::Files for NoFiles {
        fn read(&self, _: &str) -> Result<String, String> {
            Ok("num_ranks 2\nrank 0 {\ns: send 8b to 1\n}\nrank 1 {\nr: recv 8b from 0\n}\n".to_owned())
        }
    }
    let refused = |workload: &str| {
        let text = scenario("\"ecmp\"", ONE_RAIL_A_LEAF, &format!("[workload]\n{workload}\n"));
        let read = anabranch_sim::scenario::read("t.toml", &text, &NoFiles, &Default::default());
        let attempt = read.map(|scenario| attempt(&scenario.points().unwrap()[0]));
        match attempt {
            Err(error) => error.to_string(),
            Ok(ran) => ran.map(|_| ()).expect_err(workload).to_string(),
        }
    };
    let collective = "kind = \"collective\"\nbytes = \"1MiB\"\nalgorithm = \"allreduce-ring\"\n";
    let nccl = "kind = \"nccl-tests\"\noperation = \"all_reduce\"\nmin_bytes = \"1MiB\"\n";
    let job = "[[workload.job]]\nformat = \"goal\"\nfile = \"a.goal\"\n";
    for (workload, says) in [
        (format!("{collective}groups = [[0, 8]]\n{NVLINK}"), "GPU 8, which does not exist"),
        (format!("{collective}ranks = 9\n{NVLINK}"), "larger than the fabric of 8 GPUs"),
        (collective.replace("ring", "nccl"), "goes by the servers of ranks"),
        (
            format!(
                "{}server = {{ ranks = 4, link = \"1Tbps\", link_latency = \"1us\" }}",
                collective.replace("ring", "nccl")
            ),
            "channels = 8",
        ),
        (format!("kind = \"jobs\"\n{job}{NVLINK}\n{job}"), "other jobs are on the GPUs"),
        (format!("{collective}server = {{ link_latency = \"25ns\" }}"), "link = "),
        (format!("{nccl}max_bytes = \"1KiB\""), "max_bytes = \"1MiB\""),
        (format!("{nccl}max_bytes = \"2MiB\"\nalgorithm = \"alltoall\""), "algorithm = \"allreduce-ring\""),
        (format!("{nccl}max_bytes = \"2MiB\"\nfactor = 2\nstep_bytes = \"1MiB\""), "factor or step_bytes"),
        (format!("{nccl}max_bytes = \"2MiB\"\nstep_bytes = \"1KiB\""), "more than 1000 sizes"),
        (format!("{nccl}max_bytes = \"2MiB\"\nbytes = \"1KiB\""), "unknown key \"bytes\""),
    ] {
        let error = refused(&workload);
        assert!(error.contains(says), "{error}\nexpected: {says}");
    }
}

/// The choice that NCCL would make is simulated. For a small size this is a tree with the protocol LL, which sends
/// twice the bytes. For a larger size it is a ring with LL128, which sends 16 bytes for every 15.
#[test]
fn the_choice_of_nccl_is_simulated() {
    let run = |algorithm: &str, bytes: u64| {
        collective(&format!(
            "algorithm = \"{algorithm}\"\nbytes = \"{bytes}B\"\nchunk = \"128KiB\"\n{NVLINK}"
        ))
    };
    for (bytes, algorithm, sent) in [
        (64 << 10, "allreduce-double-binary-tree", 128 << 10),
        (8 << 20, "allreduce-ring", (8_u64 << 20) + (8_u64 << 20).div_ceil(120) * 8),
    ] {
        let (expected, chosen) = (run(algorithm, sent), run("allreduce-nccl", bytes));
        assert_eq!((chosen.jobs[0].cct_ps, chosen.jobs[0].bytes), (expected.jobs[0].cct_ps, bytes));
        assert_eq!(chosen.run.packet_hops, expected.run.packet_hops);
    }
}
