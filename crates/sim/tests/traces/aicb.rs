//! SimAI workloads in the forms that AICB writes: micro tests, models in the first and in the current version of AICB,
//! and inference.

use super::*;

const KEYS: &str = "format = \"simai\"\nchunk = \"1MB\"";

/// The completion time in picoseconds of a built-in collective among `ranks` ranks, alone in the network.
fn alone(ranks: u32, algorithm: &str, bytes: u64) -> u64 {
    let chunk = if algorithm == "alltoall" { "" } else { "\nchunk = \"1MB\"" };
    collective(ranks, &format!("algorithm = \"{algorithm}\"\nbytes = \"{bytes}B\"{chunk}"))
}

/// The warnings of `check` about a file that is read with these keys.
fn notes(hosts: u32, keys: &str, file: &str) -> Vec<String> {
    let text = scenario(hosts, &format!("kind = \"trace\"\nfile = \"job\"\n{KEYS}\n{keys}"), "reps");
    let folder = Folder([("job".to_owned(), file.as_bytes().to_vec())].into());
    let scenario = scenario::read("test.toml", &text, &folder, &Overrides::default()).unwrap();
    scenario.check().unwrap().into_iter().map(|warning| warning.message).collect()
}

#[test]
fn micro_tests_are_collectives_of_all_ranks_one_after_the_other() {
    // Each line has three computations of one nanosecond.
    let file = "MICRO\n4\n\
                micro_test\t-1\t1\tNONE\t0\t1\tNONE\t0\t1\tALLREDUCE\t40860\t1\n\
                micro_test\t-1\t1\tNONE\t0\t1\tNONE\t0\t1\tALLGATHER\t81720\t1\n\
                micro_test\t-1\t1\tNONE\t0\t1\tNONE\t0\t1\tREDUCESCATTER\t81720\t1\n\
                micro_test\t-1\t1\tNONE\t0\t1\tNONE\t0\t1\tALLTOALL\t40860\t1\n";
    let of = |ranks| {
        let all = [
            ("allreduce-ring", 40_860),
            ("allgather-ring", 81_720),
            ("reducescatter-ring", 81_720),
            ("alltoall", 40_860),
        ];
        all.map(|(algorithm, bytes)| alone(ranks, algorithm, bytes)).iter().sum::<u64>() + 4 * 3 * NS
    };
    assert_eq!(cct(4, KEYS, file), of(4));
    assert_eq!(cct(4, &format!("{KEYS}\nranks = 2"), file), of(2));
    assert_eq!(cct(4, &format!("{KEYS}\nrank_hosts = [3, 1]"), file), of(2));
    let said = notes(4, "", file);
    assert!(
        said.contains(
            &"job begins with MICRO: it is simulated on 4 ranks, all hosts that are free".to_owned()
        ),
        "{said:?}"
    );
    assert!(!notes(4, "ranks = 2", file).iter().any(|note| note.contains("MICRO")));
}

#[test]
fn a_broadcast_is_from_the_first_rank_of_its_tensor_group() {
    for (tensor, suffix) in [(4, ""), (2, ""), (2, "_EP"), (2, "_DP_EP")] {
        let file = format!(
            "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: {tensor} ep: {} all_gpus: {}\n1\n\
             norm\t-1\t0\tBROADCAST{suffix}\t81720\t0\tNONE\t0\t0\tNONE\t0\t0\n",
            if suffix == "_EP" { 2 } else { 1 },
            if suffix.is_empty() { 4 } else { 2 * tensor },
        );
        let ranks = if suffix.is_empty() { tensor } else { 2 };
        assert_eq!(cct(4, KEYS, &file), alone(ranks, "broadcast-ring", 81_720), "{tensor}{suffix}");
    }
    // The first rank receives nothing. For this rank, the collective ends with the acknowledgement of its message.
    let file = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 all_gpus: 2\n1\n\
                norm -1 0 BROADCAST 4086 0 NONE 0 0 NONE 0 0\n";
    assert_eq!(cct(2, KEYS, file), THERE + BACK);
    let result = simulated(2, KEYS, file, 1).unwrap();
    assert_eq!((result.run.flows, result.jobs[0].bytes), (1, 4086));
}

#[test]
fn a_header_without_all_gpus_is_for_as_many_ranks_as_there_are_hosts() {
    let file = "HYBRID_TRANSFORMER_FWD_IN_BCKWD\tmodel_parallel_NPU_group: 2 checkpoints: 0 checkpoint_initiates: 0\n1\n\
                grad_norm\t-1\t0\tNONE\t0\t0\tNONE\t0\t0\tALLREDUCE\t81720\t0\n";
    for (keys, data) in [("", 4), ("\nranks = 4", 2), ("\nrank_hosts = [0, 3, 5, 7]", 2)] {
        assert_eq!(cct(8, &format!("{KEYS}{keys}"), file), alone(data, "allreduce-ring", 81_720), "{keys}");
    }
    let said = "job does not say all_gpus: it is simulated on 8 ranks, all hosts that are free";
    assert_eq!(notes(8, "", file), [said]);
    for keys in ["ranks = 4", "rank_hosts = [0, 3, 5, 7]"] {
        assert_eq!(notes(8, keys, file), [""; 0]);
    }
    // If there are several jobs, a job without `ranks` has one rank on each host that earlier jobs left free.
    let text = scenario(
        8,
        "kind = \"jobs\"\n[[workload.job]]\nformat = \"simai\"\nfile = \"job\"\nchunk = \"1MB\"\nranks = 4\n\
         [[workload.job]]\nformat = \"simai\"\nfile = \"job\"\nchunk = \"1MB\"\n",
        "reps",
    );
    let both = run(&text, file, 1).unwrap();
    assert_eq!(both.jobs.iter().map(|job| job.ranks).collect::<Vec<_>>(), [4, 4]);
}

/// One layer with an AllReduce of the weights, under each form of the header.
#[test]
fn headers_of_all_versions_are_read() {
    let layer = "1\nl\t-1\t10\tNONE\t0\t10\tNONE\t0\t10\tALLREDUCE\t81720\t0\n";
    let plain = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 all_gpus: 8";
    let expected = cct(8, KEYS, &format!("{plain}\n{layer}"));
    for header in [
        "HYBRID_TRANSFORMER model_parallel_NPU_group: 2 all_gpus: 8",
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 1 vpp: 8 ga: 1 all_gpus: 8 checkpoints: 0 \
         checkpoint_initiates: 0 pp_comm: 0",
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 1 all_gpus: 8 mode: 1 vpp: 1 ga: 1 \
         checkpoints: 0 checkpoint_initiates: 0 pp_comm: 0",
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD\tmodel_parallel_NPU_group: 2                         \
         expert_parallel_npu_group: 1 pp: 1                         ga: 3 all_gpus: 8 checkpoints: 0 checkpoint_initiates: 0",
    ] {
        assert_eq!(cct(8, KEYS, &format!("{header}\n{layer}")), expected, "{header}");
    }
    // Python's division writes a decimal point, and SimAI reads the number only up to this point.
    let staged = format!("{plain} pp: 2 pp_comm: 8388608.0");
    let error = simulated(8, KEYS, &format!("{staged}\n{layer}"), 1).map(|_| ()).unwrap_err();
    assert!(error.contains("2 pipeline stages send each other 8.39 MB"), "{error}");
    let halved = cct(8, &format!("{KEYS}\nwithout_pipeline = true"), &format!("{staged}\n{layer}"));
    assert_eq!(halved, alone(2, "allreduce-ring", 81_720) + 20 * NS);
}

/// A collective of 0 bytes, `NONE` with some bytes, and a collective in a group of one rank do not count as
/// collectives. A collective of 0 bytes once made SimAI hang (SimAI's issue 264).
#[test]
fn collectives_of_nothing_are_none() {
    let of = |layers: &str, count: u32| {
        let header = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 4 ep: 1 all_gpus: 4";
        cct(4, KEYS, &format!("{header}\n{count}\n{layers}"))
    };
    let layer = "l -1 10 ALLREDUCE 81720 10 NONE 0 10 NONE 0 0\n";
    let expected = of(layer, 1);
    for other in [
        "l -1 10 ALLREDUCE 81720 10 NONE 16777216 10 NONE 0 0\n",
        "l -1 10 ALLREDUCE 81720 10 ALLTOALL_EP 0 10 ALLGATHER_DP_EP 0 0\n",
        "l -1 10 ALLREDUCE 81720 10 BROADCAST 0 10 ALLREDUCE 99999 0\n",
    ] {
        assert_eq!(of(other, 1), expected, "{other}");
    }
}

#[test]
fn as_many_layers_are_read_as_are_counted() {
    let header = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 all_gpus: 2";
    let layers = [
        "l -1 10 ALLREDUCE 81720 0 NONE 0 0 NONE 0 0\n",
        "l -1 5 NONE 0 0 NONE 0 0 NONE 0 0\n",
        "of no columns\n",
    ];
    let two = format!("{header}\n2\n{}{}", layers[0], layers[1]);
    let counted = format!("{header}\n2\n{}", layers.concat());
    assert_eq!(cct(2, KEYS, &counted), cct(2, KEYS, &two));
    assert_eq!(notes(2, "", &two), [""; 0]);
    assert_eq!(notes(2, "", &counted), ["job counts 2 layers and has 3: the last 1 are left out"]);
}

/// Every available file of SimAI and AICB is read, or is refused for the given reason.
#[test]
fn published_files_are_read_or_refused_for_their_own_reason() {
    let Some(folder) = std::env::var_os("ANABRANCH_PEERS").map(std::path::PathBuf::from) else {
        println!("skipped: ANABRANCH_PEERS is not set");
        return;
    };
    let mut known: BTreeMap<&str, (u32, &str, Result<(), &str>)> = [
        ("microAllReduce.txt", (8, "", Ok(()))),
        (
            "workload_analytical.txt",
            (16, "", Err("12 pipeline stages send each other 50.3 MB, and the file does not say when")),
        ),
        ("workload_G13B-M1-C01_GPT13B_megatron_tp8_pp1_mbs1_A100.txt", (16, "", Ok(()))),
        ("workload_G175B-M1-C03_GPT175B_megatron_tp8_pp1_mbs1_A100.txt", (16, "", Ok(()))),
        ("workload_L65B_D1_C08_Llama65B_deepspeed_zero3_A100.txt", (8, "", Ok(()))),
        ("workload_all_gather.txt", (8, "", Ok(()))),
        ("workload_all_reduce.txt", (8, "", Ok(()))),
        ("workload_all_to_all.txt", (8, "", Ok(()))),
        ("workload_muti_all_reduce.txt", (16, "", Ok(()))),
    ]
    .into();
    let mut seen = 0;
    for inside in ["data/jobs/simai", "data/clusters/simai"] {
        let mut paths: Vec<_> =
            std::fs::read_dir(folder.join(inside)).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.retain(|path| {
            let text = std::fs::read_to_string(path).unwrap_or_default();
            text.starts_with("HYBRID") || text.starts_with("MICRO")
        });
        for path in paths {
            let name = path.file_name().unwrap().to_str().unwrap();
            let (hosts, keys, expected) =
                known.remove(name).unwrap_or_else(|| panic!("{name}: say what comes of it"));
            let text =
                format!("kind = \"trace\"\nfile = \"job\"\nformat = \"simai\"\nchunk = \"64MB\"\n{keys}");
            let folder = Folder([("job".to_owned(), std::fs::read(&path).unwrap())].into());
            let text = scenario(hosts, &text, "reps");
            let read = scenario::read("test.toml", &text, &folder, &Overrides::default());
            let read = read.and_then(|scenario| scenario.points());
            let built = read
                .map_err(|error| error.to_string())
                .and_then(|points| anabranch_sim::build(&points[0]).map_err(|error| error.to_string()));
            match (built, expected) {
                (Ok(built), Ok(())) => assert!(!built.workload.messages.is_empty(), "{name}"),
                (Err(error), Err(says)) => assert!(error.contains(says), "{name}: {error}"),
                (built, expected) => panic!("{name}: {:?}, not {expected:?}", built.map(|_| ())),
            }
            seen += 1;
        }
    }
    assert_eq!(known.keys().collect::<Vec<_>>(), [&""; 0], "of {seen}");
}
