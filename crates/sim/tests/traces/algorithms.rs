//! Tests of the algorithms that scenarios choose for the collectives in traces.

use super::*;

fn all_reduce(bytes: u64) -> String {
    format!(
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8 ep: 1 pp: 1 all_gpus: 8\n1\n\
         layer -1 0 ALLREDUCE {bytes} 0 NONE 0 0 NONE 0 0\n"
    )
}

fn own(algorithm: &str, bytes: u64) -> u64 {
    collective(8, &format!("algorithm = \"{algorithm}\"\nbytes = \"{bytes}B\"\nchunk = \"1MB\""))
}

const KEYS: &str = "format = \"simai\"\nchunk = \"1MB\"\n";

#[test]
fn each_algorithm_takes_as_long_as_our_own() {
    for algorithm in ["ring", "halving-doubling", "recursive-doubling", "double-binary-tree"]
        .map(|n| format!("allreduce-{n}"))
    {
        let keys = format!("{KEYS}[[workload.algorithm]]\nalgorithm = \"{algorithm}\"");
        assert_eq!(cct(8, &keys, &all_reduce(400_000)), own(&algorithm, 400_000), "{algorithm}");
    }
}

#[test]
fn the_largest_size_that_is_not_above_decides() {
    let table = "[[workload.algorithm]]\nalgorithm = \"allreduce-double-binary-tree\"\nmin_bytes = \"1MB\"\n\
                 [[workload.algorithm]]\nalgorithm = \"allreduce-recursive-doubling\"\nmin_bytes = \"8KB\"\n\
                 [[workload.algorithm]]\nalgorithm = \"allgather-ring\"\nmin_bytes = \"2MB\"\n";
    for (bytes, algorithm) in [
        (7_999, "ring"),
        (8_000, "recursive-doubling"),
        (999_999, "recursive-doubling"),
        (1_000_000, "double-binary-tree"),
        (3_000_000, "double-binary-tree"),
    ] {
        let expected = own(&format!("allreduce-{algorithm}"), bytes);
        assert_eq!(cct(8, &format!("{KEYS}{table}"), &all_reduce(bytes)), expected, "{bytes}");
    }
}

#[test]
fn what_makes_no_sense_is_explained() {
    let table = |keys: &str| format!("{KEYS}[[workload.algorithm]]\n{keys}");
    for (keys, says) in [
        (table("algorithm = \"allreduce-rings\""), "write: algorithm = \"allreduce-ring\""),
        (table(""), "has no \"algorithm\""),
        (table("algorithm = \"alltoall\"\nmin_byte = \"1MB\""), "did you mean \"min_bytes\"?"),
        (
            table(
                "algorithm = \"allreduce-ring\"\n[[workload.algorithm]]\nalgorithm = \"allreduce-halving-doubling\"\n\
                 min_bytes = \"0B\"",
            ),
            "from 0B on, allreduce-ring already does every allreduce\n  write: another min_bytes, such as \"1MB\"",
        ),
        (
            "format = \"goal\"\n[[workload.algorithm]]\nalgorithm = \"alltoall\"".to_owned(),
            "algorithm is for format = \"simai\" or \"chakra\", not \"goal\"",
        ),
    ] {
        let error = simulated(8, &keys, &all_reduce(8), 1).map(|_| ()).unwrap_err();
        assert!(error.contains(says), "{error}\nexpected: {says}");
    }
}
