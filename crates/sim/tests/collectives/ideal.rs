//! The ideal CCT is a bound that no run is below, and not far below what the links allow.

use anabranch_sim::scenario::{self, NoFiles, Overrides};
use anabranch_sim::workload::collective::Algorithm;
use anabranch_sim::{Control, run};

/// Fabrics of 16 hosts, most of them oversubscribed or of links that differ.
const FABRICS: [&str; 6] = [
    "kind = \"single-switch\"\nhosts = 16\nlink = \"100Gbps\"",
    "kind = \"fat-tree\"\nhosts = 16\nhosts_per_tor = 4\ntiers = 2\nlink = \"100Gbps\"",
    "kind = \"fat-tree\"\nhosts = 16\nhosts_per_tor = 4\ntiers = 2\nlink = \"100Gbps\"\noversubscription = 4",
    "kind = \"fat-tree\"\nhosts = 16\ntiers = 3\nlink = \"100Gbps\"",
    "kind = \"dumbbell\"\nhosts = 16\nlink = \"100Gbps\"\ntrunk = \"150Gbps\"",
    "kind = \"cross-dc\"\ntors = 2\nleaves = 2\nhosts_per_tor = 4\nlink = \"100Gbps\"\nwan_latency = \"20us\"",
];

/// For each job its CCT over the ideal one.
fn over_ideal(fabric: &str, workload: &str, scheme: &str) -> Vec<f64> {
    let text = format!(
        "schemes = [\"{scheme}\"]\n[topology]\n{fabric}\n[workload]\nkind = \"collective\"\n{workload}\n[set]\n\
         \"{scheme}.transport.rto\" = \"4rtt\""
    );
    let read = scenario::read("ideal.toml", &text, &NoFiles, &Overrides::default());
    let scenario = read.unwrap_or_else(|e| panic!("{e}\n{text}"));
    let point = scenario.points().unwrap().remove(0);
    let result = run(&point, &Control::default()).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let most = result.jobs.iter().map(|job| job.ideal_cct_ps).max().unwrap();
    assert_eq!(result.run.ideal_cct_max_us, most as f64 / 1e6);
    result.jobs.iter().map(|job| job.cct_ps.unwrap() as f64 / job.ideal_cct_ps as f64).collect()
}

#[test]
fn no_job_is_faster_than_its_ideal() {
    let mut schemes = ["reps", "rocev2-4qp", "dcp"].into_iter().cycle();
    for fabric in FABRICS {
        for (name, _) in Algorithm::ALL {
            for (bytes, members) in [
                ("1MB", "ranks = 16"),
                ("40KB", "ranks = 7\njobs = 2\nplacement = \"random\""),
                ("300KB", "groups = [[0, 15, 5], [3, 0, 9, 12]]"),
            ] {
                // Each scheme meets each algorithm on some fabric, and each fabric.
                let scheme = schemes.next().unwrap();
                let scheme = match fabric.contains("cross-dc") {
                    // The headrooms of the others do not hold what the long lines have on their way.
                    true => "reps",
                    false => scheme,
                };
                let workload = format!("algorithm = \"{name}\"\nbytes = \"{bytes}\"\n{members}");
                let ratios = over_ideal(fabric, &workload, scheme);
                assert!(
                    ratios.iter().all(|ratio| *ratio >= 1.0),
                    "{fabric}\n{workload}, {scheme}: {ratios:?}"
                );
            }
        }
    }
}

#[test]
fn the_ideal_is_near_where_nothing_is_in_the_way() {
    let ring = "algorithm = \"allreduce-ring\"\nbytes = \"4MB\"";
    // Each link carries one stream.
    let free = over_ideal(FABRICS[0], ring, "ecmp")[0];
    assert!(free < 1.02, "{free}");
    // All that a ToR's hosts send to others passes uplinks of a quarter of their rate: the NICs' bound alone is 4 times less.
    let to_all = "algorithm = \"alltoall\"\nbytes = \"4MB\"";
    let narrow = over_ideal(FABRICS[2], to_all, "reps")[0];
    assert!(narrow < 1.35, "{narrow}");
}
