//! Tests of `anabranch bench`. Its cases are too large for a build without optimisation, so only the smallest one runs.

use crate::common::Place;

#[test]
fn bench_measures_a_case_in_a_process_of_its_own() {
    let place = Place::new();
    let document = place.run(&["bench", "perm128", "--scheme", "ops", "--json"]).expect(0).json();
    let [row] = &document["cases"].as_array().unwrap()[..] else { panic!("{document}") };
    assert_eq!((row["case"].as_str(), row["scheme"].as_str()), (Some("perm128"), Some("ops")));
    // 128 flows of at least 4,106 packets each (16 MiB in payloads of 4,086 B) cross 2 or 4 links, and the same
    // number of ACKs returns.
    let hops = row["packet_hops"].as_u64().unwrap();
    assert!((128 * 4_106 * 2 * 2..=128 * 4_106 * 4 * 2 + 1_000_000).contains(&hops), "{hops}");
    let (seconds, speed) = (row["wall_s"].as_f64().unwrap(), row["packet_hops_per_s"].as_f64().unwrap());
    assert!((speed * seconds / hops as f64 - 1.0).abs() < 1e-6, "{row}");
    if cfg!(target_os = "linux") {
        assert!(row["peak_rss_bytes"].as_u64().unwrap() > 1_000_000, "{row}");
    }
}
