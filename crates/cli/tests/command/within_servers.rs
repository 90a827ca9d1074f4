//! Tests of a job whose traffic stays within servers, as with tensor parallelism over the ranks of a server. The
//! command reports that nothing crosses the network. Its tables, documents and pages stay consistent.

use crate::common::Place;

/// A folder with a trace `tpN.txt` for each number N in `tensor`: a training step of 8 ranks with collectives among
/// groups of N ranks.
fn place(tensor: &[u32]) -> Place {
    let place = Place::new();
    for tensor in tensor {
        place.write(
            &format!("tp{tensor}.txt"),
            format!(
                "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: {tensor} all_gpus: 8\n1\n\
                 l -1 5000 ALLREDUCE 400000 5000 NONE 0 5000 NONE 0 0\n"
            ),
        );
    }
    place
}

const SCENARIO: &str = "schemes = [\"reps\", \"rocev2\"]\nseeds = [1, 2]\n[topology]\nkind = \"single-switch\"\nhosts = 8\n\
                        link = \"400Gbps\"\n[workload]\nkind = \"trace\"\nformat = \"simai\"\nfile = \"tp4.txt\"\n\
                        server = { ranks = 4, link = \"3.2Tbps\", link_latency = \"1us\" }\n";
const SAYS: &str = "job 0 (simai, 8 ranks): all that its ranks send stays inside their servers, and nothing crosses the network";
/// The CCT: three computing phases of 5 us, and 2 x (4 - 1) = 6 steps of a ring of 4 ranks. In each step, a block of
/// 100,000 B takes 0.25 us at 3.2 Tb/s plus a latency of 1 us.
const CCT_US: f64 = 15.0 + 6.0 * 1.25;

#[test]
fn it_runs_and_the_command_says_that_nothing_crosses_the_network() {
    let place = place(&[4]);
    place.write("s.toml", SCENARIO);
    place.run(&["check", "s.toml"]).expect(0);
    let ended = place.run(&["run", "s.toml", "--out", "out"]).expect(0);
    assert!(ended.stderr.contains(SAYS), "{}", ended.stderr);
    assert!(ended.stdout.contains("22.50"), "{}", ended.stdout);
    assert!(!ended.stdout.contains("NaN") && !ended.stdout.contains("inf"), "{}", ended.stdout);
    let page = std::fs::read_dir(place.path().join("out")).unwrap().next().unwrap().unwrap().path();
    assert!(std::fs::read_to_string(page.join("report.html")).unwrap().contains(SAYS));
    let document = place.run(&["run", "s.toml", "--out", "json", "--json"]).expect(0).json();
    for summary in document["summary"].as_array().unwrap() {
        let mean = |number: &str| summary["numbers"][number]["mean"].as_f64().unwrap();
        assert_eq!([mean("cct_max_us"), mean("flows"), mean("packet_hops")], [CCT_US, 0.0, 0.0], "{summary}");
        assert!(mean("ideal_cct_max_us") > 0.0 && mean("ideal_cct_max_us") <= CCT_US, "{summary}");
    }
    let warnings = document["warnings"].as_array().unwrap();
    assert!(warnings.iter().any(|warning| warning.as_str().unwrap().contains(SAYS)), "{warnings:?}");
}

#[test]
fn a_sweep_over_tensor_parallelism_passes_the_size_of_a_server() {
    let place = place(&[2, 4, 8]);
    for (name, sweep, within) in [
        ("files.toml", "\"workload.file\" = [\"tp2.txt\", \"tp4.txt\", \"tp8.txt\"]", 2),
        ("servers.toml", "\"workload.server.ranks\" = [2, 4]", 1),
    ] {
        place.write(name, format!("{SCENARIO}[sweep]\n{sweep}\n"));
        let document = place.run(&["run", name, "--out", "out", "--json"]).expect(0).json();
        let points = document["summary"].as_array().unwrap();
        let flows = |point: &serde_json::Value| point["numbers"]["flows"]["mean"].as_f64().unwrap();
        let silent = points.iter().filter(|point| flows(point) == 0.0);
        assert_eq!(silent.count(), 2 * within, "{document}");
        assert!(points.iter().all(|point| point["numbers"]["cct_max_us"]["mean"].as_f64().unwrap() > 0.0));
        assert!(document["warnings"].to_string().contains(SAYS), "{document}");
    }
}
