//! Ranks that share a server, and the simulation of only some layers and ranks of a SimAI file.

use super::formats::{BOOL, INT64, file, node};
use super::*;

/// A server link of 400 Gb/s and 3 us, on which 100,000 B take 2 us.
const SERVER: &str = "[workload.server]\nranks = 2\nlink = \"400Gbps\"\nlink_latency = \"3us\"\n";
const GOAL: &str = "format = \"goal\"\n";
const US: u64 = 1_000 * NS;

fn four(statements: [&str; 4]) -> String {
    let ranks = statements.iter().enumerate().map(|(rank, text)| format!("rank {rank} {{\n{text}\n}}\n"));
    format!("num_ranks 4\n{}", ranks.collect::<String>())
}

/// A message within the server of ranks 0 and 1, and then a message to the next server.
#[test]
fn what_stays_in_a_server_takes_latency_and_bytes_over_rate() {
    let file = four([
        "s: send 1000000b to 1",
        "r: recv 1000000b from 0\ns: send 4086b to 2\ns requires r",
        "r: recv 4086b from 1",
        "",
    ]);
    assert_eq!(cct(4, &format!("{GOAL}{SERVER}"), &file), (20 + 3) * US + THERE + BACK);
    let result = simulated(4, &format!("{GOAL}{SERVER}"), &file, 1).unwrap();
    // One message crosses the network, and no rank computes.
    assert_eq!((result.run.flows, result.jobs[0].bytes), (1, 4086));
    assert_eq!(result.run.extra["compute_max_us"], 0.0);
}

#[test]
fn a_sender_sends_one_after_the_other_and_each_rank_by_itself() {
    let file = four([
        "a: send 100000b to 1 tag 1\nb: send 200000b to 1 tag 2\nr: recv 100000b from 1",
        "a: recv 100000b from 0 tag 1\nb: recv 200000b from 0 tag 2\ns: send 100000b to 0\nt: send 4086b to 2\n\
         t requires a\nt requires b",
        "r: recv 4086b from 1",
        "",
    ]);
    assert_eq!(cct(4, &format!("{GOAL}{SERVER}"), &file), (2 + 4 + 3) * US + THERE + BACK);
}

/// Two ranks of a server that send to the same rank share the rate of its NVLink. Ranks that send to different ranks
/// have the full rate each.
#[test]
fn senders_to_one_rank_share_the_rate_at_which_it_receives() {
    let three = SERVER.replace("ranks = 2", "ranks = 4");
    let receive = |from: u32| format!("r{from}: recv 100000b from {from}\n");
    let both = format!("{}{}", receive(0), receive(1));
    let file = four(["s: send 100000b to 2", "s: send 100000b to 2", &both, ""]);
    assert_eq!(cct(4, &format!("{GOAL}{three}"), &file), (2 + 2 + 3) * US);
    // The second transfer only waits until the receiver's NVLink is free.
    let file = four([
        "s: send 100000b to 2",
        "s: send 50000b to 2",
        "r: recv 100000b from 0\nt: recv 50000b from 1",
        "",
    ]);
    assert_eq!(cct(4, &format!("{GOAL}{three}"), &file), (1 + 2 + 3) * US);
    let apart = four(["s: send 100000b to 2", "s: send 100000b to 3", &receive(0), &receive(1)]);
    assert_eq!(cct(4, &format!("{GOAL}{three}"), &apart), (2 + 3) * US);
    // A rank sends at its full rate while it receives.
    let ring = four([
        "s: send 100000b to 1\nr: recv 100000b from 1",
        "s: send 100000b to 0\nr: recv 100000b from 0",
        "",
        "",
    ]);
    assert_eq!(cct(4, &format!("{GOAL}{three}"), &ring), (2 + 3) * US);
}

/// The receiver's NVLink is busy from the arrival of the first byte on. A transfer that arrives later only waits until
/// the NVLink is free.
#[test]
fn a_transfer_that_finds_the_receiver_free_is_not_delayed() {
    let three = SERVER.replace("ranks = 2", "ranks = 4");
    // Rank 1 sends when all bytes of rank 0 have left but have not arrived yet.
    let file = four([
        "s: send 100000b to 2",
        "c: calc 2000\ns: send 100000b to 2\ns requires c",
        "r: recv 100000b from 0\nt: recv 100000b from 1",
        "",
    ]);
    assert_eq!(cct(4, &format!("{GOAL}{three}"), &file), (2 + 2 + 3) * US);
    let later = file.replace("calc 2000", "calc 2500");
    assert_eq!(cct(4, &format!("{GOAL}{three}"), &later), 2_500 * NS + (2 + 3) * US);
    let sooner = file.replace("calc 2000", "calc 1500");
    assert_eq!(cct(4, &format!("{GOAL}{three}"), &sooner), (2 + 2 + 3) * US);
}

/// An operation that waits for a send begins when the message has arrived. With `ends = "posted"`, it begins when the
/// message has been handed over.
#[test]
fn a_send_within_a_server_ends_as_others_do() {
    let file = four([
        "a: send 100000b to 1\nb: send 4086b to 2\nb requires a",
        "r: recv 100000b from 0",
        "r: recv 4086b from 0",
        "",
    ]);
    assert_eq!(cct(4, &format!("{GOAL}{SERVER}"), &file), (2 + 3) * US + THERE + BACK);
    // The message over the network is acknowledged before the message within the server arrives, so the message within
    // the server determines the completion time.
    let posted = THERE + BACK;
    assert!(posted < 6 * US);
    let slow = SERVER.replace("3us", "30us");
    assert_eq!(cct(4, &format!("{GOAL}ends = \"posted\"\n{slow}"), &file), (2 + 30) * US);
}

fn simai(tensor: u32, ranks: u32, layers: &[&str]) -> String {
    let lines: String = layers.iter().map(|layer| format!("layer -1 {layer} 1\n")).collect();
    format!(
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: {tensor} ep: 1 pp: 1 all_gpus: {ranks}\n{}\n{lines}",
        layers.len()
    )
}

/// A ring of n ranks takes 2 (n - 1) times the sum of a block's time and the latency.
#[test]
fn a_collective_within_servers_is_its_closed_form() {
    for ranks in [2, 4, 8] {
        let file = simai(ranks, 2 * ranks, &["0 ALLREDUCE 800000 0 NONE 0 0 ALLREDUCE 400000"]);
        let server =
            format!("[workload.server]\nranks = {ranks}\nlink = \"3.2Tbps\"\nlink_latency = \"1us\"\n");
        let keys = format!("format = \"simai\"\nchunk = \"1MB\"\n{server}");
        // The transmission of a byte takes 2.5 ps.
        let block = 800_000 / u64::from(ranks) * 5 / 2;
        let within = 2 * u64::from(ranks - 1) * (block + US);
        // Afterwards, pairs of ranks in the two servers reduce at the same time.
        let across = collective(2, "algorithm = \"allreduce-ring\"\nbytes = \"400000B\"\nchunk = \"1MB\"");
        assert_eq!(cct(2 * ranks, &keys, &file), within + across, "{ranks}");
    }
}

#[test]
fn a_ring_over_servers_is_the_same_on_any_number_of_threads() {
    let file = simai(8, 8, &["1000 ALLREDUCE 3000000 5000 ALLTOALL 100000 1000 NONE 0"]);
    let keys = "format = \"simai\"\nchunk = \"64KB\"\nplacement = \"random\"\n[workload.server]\nranks = 4\n\
                link = \"1.6Tbps\"\nlink_latency = \"200ns\"\n";
    let [one, two, three, eight] = [1, 2, 3, 8].map(|threads| simulated(16, keys, &file, threads).unwrap());
    for other in [&two, &three, &eight] {
        assert_eq!((&one.run.digest, one.jobs[0].cct_ps), (&other.run.digest, other.jobs[0].cct_ps));
    }
    let plain = keys.split("[workload.server]").next().unwrap();
    assert!(one.jobs[0].cct_ps < simulated(16, plain, &file, 1).unwrap().jobs[0].cct_ps);
}

#[test]
fn servers_that_make_no_sense_are_explained() {
    let file = four(["s: send 8b to 1", "r: recv 8b from 0", "", ""]);
    let with = |server: &str| format!("{GOAL}[workload.server]\n{server}");
    for (keys, says) in [
        (with("ranks = 1\nlink = \"1Tbps\"\nlink_latency = \"1us\""), "ranks must be"),
        (with("ranks = 2\nlink = \"0bps\"\nlink_latency = \"1us\""), "link must be above 0"),
        (with("ranks = 2\nlink_latency = \"1us\""), "[workload.server] has no \"link\""),
        (with("ranks = 2\nlnik = \"1Tbps\""), "did you mean \"link\"?"),
        (with("link = \"1Tbps\"\nlink_latency = \"1us\""), "[workload.server] has no \"ranks\""),
        (with("ranks = 2\nlink = \"1Tbps\"\nlink_latency = \"1us\"\nchannels = 65"), "channels"),
    ] {
        let error = simulated(4, &keys, &file, 1).map(|_| ()).unwrap_err();
        assert!(error.contains(says), "{error}\nexpected: {says}");
    }
}

/// A job without network traffic takes the same time under every scheme, and causes a warning.
#[test]
fn a_job_within_servers_runs_and_says_that_the_network_has_nothing_of_it() {
    let goal = four(["s: send 100000b to 1\nc: calc 500\nc requires s", "r: recv 100000b from 0", "", ""]);
    let reduce = || {
        let reduce = node(1, 7, &[]).attribute("is_cpu_op", BOOL, 0).attribute("comm_type", INT64, 0);
        file(&[reduce.attribute("comm_size", INT64, 100_000)])
    };
    let tensor = simai(4, 4, &["700 ALLREDUCE 400000 0 NONE 0 0 NONE 0"]);
    let wide = SERVER.replace("ranks = 2", "ranks = 4");
    // A block of 100,000 B takes 2 us plus the latency of 3 us.
    for (what, cct_ps, result) in [
        ("goal", (2 + 3) * US + 500 * NS, simulated(4, &format!("{GOAL}{SERVER}"), &goal, 1)),
        (
            "simai",
            700 * NS + 6 * (2 + 3) * US,
            simulated(4, &format!("format = \"simai\"\nchunk = \"1MB\"\n{wide}"), &tensor, 1),
        ),
        ("chakra", 2 * (1 + 3) * US, of_ranks(SERVER, &[reduce(), reduce()])),
    ] {
        let result = result.unwrap_or_else(|error| panic!("{what}: {error}"));
        let [job] = &result.jobs[..] else { panic!("{what}: {:?}", result.jobs) };
        assert_eq!((job.cct_ps, job.bytes), (Some(cct_ps), 0), "{what}");
        assert!(job.ideal_cct_ps > 0 && job.ideal_cct_ps <= cct_ps, "{what}: {job:?}");
        let run = &result.run;
        assert_eq!((run.flows, run.flows_finished, run.jobs, run.jobs_finished), (0, 0, 1, 1), "{what}");
        assert_eq!((run.cct_max_us, run.completion_us), (cct_ps as f64 / 1e6, cct_ps as f64 / 1e6), "{what}");
        assert_eq!((run.packet_hops, run.fct_max_us, run.slowdown_mean), (0, 0.0, 0.0), "{what}");
        let [warning] = &run.warnings[..] else { panic!("{what}: {:?}", run.warnings) };
        let warning = warning.to_string();
        assert!(
            warning.starts_with("job 0 (") && warning.contains("nothing crosses the network"),
            "{warning}"
        );
        assert!(result.parts.iter().any(|part| part.part == "rank"), "{what}");
    }
    // A second job takes as long as if it were alone, and only the first job has a warning.
    let job = |more: &str| format!("[[workload.job]]\nformat = \"goal\"\nfile = \"job\"\n{more}");
    let within = job(&SERVER.replace("[workload.server]", "[workload.job.server]"));
    let both = run(&scenario(8, &format!("kind = \"jobs\"\n{within}{}", job("")), "reps"), &goal, 1).unwrap();
    let alone = simulated(4, GOAL, &goal, 1).unwrap();
    assert_eq!(both.jobs[1].cct_ps, alone.jobs[0].cct_ps);
    assert_eq!((both.run.flows, both.run.warnings.len()), (1, 1), "{:?}", both.run.warnings);
    let [one, three] =
        [1, 3].map(|threads| simulated(4, &format!("{GOAL}{SERVER}"), &goal, threads).unwrap());
    assert_eq!(one.run.digest, three.run.digest);
}

/// A file with two pipeline stages. Each stage has four tensor groups of two ranks, and each expert group joins two
/// tensor groups.
fn staged() -> String {
    let text = simai(
        2,
        16,
        &[
            "1000 ALLREDUCE 40860 0 NONE 0 0 ALLREDUCE 400000",
            "2000 ALLTOALL_EP 40860 0 NONE 0 0 NONE 0",
            "4000 NONE 0 0 NONE 0 0 ALLREDUCE_DP_EP 81720",
        ],
    );
    text.replace("ep: 1 pp: 1", "ep: 2 pp: 2 pp_comm 1000")
}

#[test]
fn a_share_of_layers_and_ranks_is_simulated_and_said() {
    let ring = |ranks, bytes| {
        collective(ranks, &format!("algorithm = \"allreduce-ring\"\nbytes = \"{bytes}B\"\nchunk = \"1MB\""))
    };
    let keys = "format = \"simai\"\nchunk = \"1MB\"\nwithout_pipeline = true\n";
    let of = |share: &str| cct(16, &format!("{keys}{share}"), &staged());
    let (tensor, experts) = (ring(2, 40_860), collective(2, "algorithm = \"alltoall\"\nbytes = \"40860B\""));
    assert_eq!(of("layers = [1, 1]\nranks = 4"), 1_000 * NS + tensor + ring(2, 400_000));
    assert_eq!(of("layers = [1, 1]\nranks = 8"), 1_000 * NS + tensor + ring(4, 400_000));
    assert_eq!(of("layers = [2, 2]\nranks = 4"), 2_000 * NS + experts);
    // A single group of experts has no other group with which it could reduce.
    assert_eq!(of("layers = [2, 3]\nranks = 4"), 6_000 * NS + experts);
    assert_eq!(of("layers = [3, 3]\nranks = 8"), 4_000 * NS + ring(2, 81_720));
    assert_eq!(of("ranks = 16"), of(""));
    let warnings = |share: &str| {
        let text = scenario(16, &format!("kind = \"trace\"\nfile = \"job\"\n{keys}{share}"), "reps");
        let folder = Folder([("job".to_owned(), staged().into_bytes())].into());
        let scenario = scenario::read("test.toml", &text, &folder, &Overrides::default()).unwrap();
        let said: Vec<String> = scenario.check().unwrap().iter().map(ToString::to_string).collect();
        said.join("\n")
    };
    let said = warnings("layers = [2, 3]\nranks = 8");
    let expected = "a share of job is simulated: layers 2 to 3 of 3, and the first 8 of 16 ranks";
    assert!(said.contains(expected), "{said}");
    assert!(!warnings("layers = [1, 3]\nranks = 16").contains("share"));
}

#[test]
fn shares_that_there_are_not_are_explained() {
    let keys = "format = \"simai\"\nwithout_pipeline = true\n";
    for (share, says) in [
        ("layers = [0, 1]", "layers are the first and the last one, from 1\n  write: layers = [1, 8]"),
        ("layers = [2]", "layers are the first and the last one, from 1"),
        ("layers = [2, 4]", "job has layers 1 to 3; write: [1, 3]"),
        (
            "ranks = 6",
            "6 ranks are no share of its groups, which come in multiples of 4 up to 8, or in multiples of 8, a pipeline stage, up to 16; write: 4",
        ),
        ("ranks = 24", "24 ranks are no share of its groups"),
        ("ranks = 0", "0 ranks are no share of its groups"),
    ] {
        let error = simulated(16, &format!("{keys}{share}"), &staged(), 1).map(|_| ()).unwrap_err();
        assert!(error.contains(says.split("\n").next().unwrap()), "{error}\nexpected: {says}");
    }
    let error = simulated(4, "format = \"goal\"\nlayers = [1, 2]", "", 1).map(|_| ()).unwrap_err();
    assert!(error.contains("layers is for format = \"simai\", not \"goal\""), "{error}");
}

#[test]
fn groups_that_overlap_in_the_order_of_simai_run_in_the_other_order() {
    let ordered = |order: &str| {
        let keys = format!("format = \"simai\"\nwithout_pipeline = true\nrank_order = \"{order}\"");
        simulated(16, &keys, &staged(), 1).map(|result| result.jobs[0].ranks)
    };
    let error = ordered("tp-pp-dp").unwrap_err();
    assert!(error.ends_with("write: rank_order = \"tp-dp-pp\" in [workload]"), "{error}");
    assert_eq!(ordered("tp-dp-pp"), Ok(16));
}

/// The file does not state its number of ranks, so the number in the scenario applies. A number that does not fit must
/// also be corrected in the scenario.
#[test]
fn ranks_that_do_not_fill_the_groups_are_answered_with_some_that_do() {
    let text = staged();
    let text = text.replace("all_gpus: 16", "");
    assert!(!text.contains("all_gpus"), "{text}");
    let attempt = |ranks: u32| {
        let keys = format!("format = \"simai\"\nwithout_pipeline = true\nranks = {ranks}");
        simulated(16, &keys, &text, 1).map(|result| result.jobs[0].ranks)
    };
    for ranks in [2, 7, 9] {
        let error = attempt(ranks).unwrap_err();
        assert!(error.starts_with("workload.ranks: ") && error.ends_with("; write: 8"), "{error}");
    }
    assert_eq!(attempt(8), Ok(8));
}
