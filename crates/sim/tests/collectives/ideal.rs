//! Tests that the ideal CCT is a lower bound of every run, and close to the limit of the links.

use anabranch_sim::scenario::{self, NoFiles, Overrides};
use anabranch_sim::workload::collective::Algorithm;
use anabranch_sim::{Control, run};

/// Fabrics of 16 hosts.
const FABRICS: [&str; 7] = [
    "kind = \"single-switch\"\nhosts = 16\nlink = \"100Gbps\"",
    "kind = \"fat-tree\"\nhosts = 16\nhosts_per_tor = 4\ntiers = 2\nlink = \"100Gbps\"",
    "kind = \"fat-tree\"\nhosts = 16\nhosts_per_tor = 4\ntiers = 2\nlink = \"100Gbps\"\noversubscription = 4",
    "kind = \"fat-tree\"\nhosts = 16\ntiers = 3\nlink = \"100Gbps\"",
    "kind = \"dumbbell\"\nhosts = 16\nlink = \"100Gbps\"\ntrunk = \"150Gbps\"",
    "kind = \"cross-dc\"\ntors = 2\nleaves = 2\nhosts_per_tor = 4\nlink = \"100Gbps\"\nwan_latency = \"20us\"",
    DUAL_TOR,
];

/// Two servers of eight NICs. The two ports of a NIC lead to two ToRs.
const DUAL_TOR: &str =
    "kind = \"dcn-plus\"\nservers = 2\nnics = 8\nsegment = 1\nspines = 2\nuplinks = 2\nlink = \"100Gbps\"";

/// The CCT and the ideal CCT of each job, in picoseconds.
fn ccts(fabric: &str, workload: &str, scheme: &str) -> Vec<[f64; 2]> {
    ccts_with(fabric, workload, scheme, "")
}

/// Like [`ccts`], with further lines below `[set]`.
fn ccts_with(fabric: &str, workload: &str, scheme: &str, set: &str) -> Vec<[f64; 2]> {
    let text = format!(
        "schemes = [\"{scheme}\"]\n[topology]\n{fabric}\n[workload]\nkind = \"collective\"\n{workload}\n[set]\n\
         \"{scheme}.transport.rto\" = \"4rtt\"\n{set}"
    );
    let read = scenario::read("ideal.toml", &text, &NoFiles, &Overrides::default());
    let scenario = read.unwrap_or_else(|e| panic!("{e}\n{text}"));
    let point = scenario.points().unwrap().remove(0);
    let result = run(&point, &Control::default()).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let most = result.jobs.iter().map(|job| job.ideal_cct_ps).max().unwrap();
    assert_eq!(result.run.ideal_cct_max_us, most as f64 / 1e6);
    result.jobs.iter().map(|job| [job.cct_ps.unwrap() as f64, job.ideal_cct_ps as f64]).collect()
}

#[test]
fn no_job_is_faster_than_its_ideal() {
    let mut schemes = ["reps", "rocev2-4qp", "dcp"].into_iter().cycle();
    for fabric in FABRICS {
        for (name, algorithm) in Algorithm::ALL {
            let servers = match algorithm.needs_servers() {
                true => "server = { ranks = 2, link = \"3.6Tbps\", link_latency = \"500ns\", channels = 2 }",
                false => "",
            };
            for (bytes, members) in [
                ("1MB", "ranks = 16"),
                ("40KB", "ranks = 7\njobs = 2\nplacement = \"random\""),
                ("300KB", "groups = [[0, 15, 5], [3, 0, 9, 12]]"),
            ] {
                // Each scheme runs each algorithm on each fabric except `cross-dc`.
                let scheme = schemes.next().unwrap();
                let scheme = match fabric.contains("cross-dc") {
                    // The headroom of the other schemes is too small for the long links.
                    true => "reps",
                    false => scheme,
                };
                let workload = format!("algorithm = \"{name}\"\nbytes = \"{bytes}\"\n{members}\n{servers}");
                let ccts = ccts(fabric, &workload, scheme);
                assert!(
                    ccts.iter().all(|[cct, ideal]| cct >= ideal),
                    "{fabric}\n{workload}, {scheme}: {ccts:?}"
                );
            }
        }
    }
}

#[test]
fn packets_that_leave_by_every_port_have_the_rate_of_all_ports() {
    let two_planes = "kind = \"rails\"\nservers = 8\nnics = 2\nports = 2\nlink = \"200Gbps\"";
    // A step of the ring is one message.
    let ring = "algorithm = \"allreduce-ring\"\nbytes = \"16MB\"\nchunk = \"16MB\"";
    let of = |set: &str| ccts_with(two_planes, ring, "rocev2", set)[0];
    let [pinned, one_port] = of("");
    let [cct, ideal] = of("\"rocev2.fabric.port_choice\" = \"packet\"");
    assert!(cct >= ideal && ideal < 0.6 * one_port, "{cct} {ideal}, one port {one_port}");
    assert!(pinned >= one_port);
    for qps in [2, 4] {
        let [cct, ideal] =
            of(&format!("\"rocev2.qps\" = {qps}\n\"rocev2.fabric.port_choice\" = \"queue-pair\""));
        assert!(cct >= ideal, "{qps} queue pairs: {cct} {ideal}");
    }
}

#[test]
fn the_ideal_is_near_where_nothing_is_in_the_way() {
    let ring = "algorithm = \"allreduce-ring\"\nbytes = \"4MB\"";
    // Each link carries one stream.
    let [free, ideal] = ccts(FABRICS[0], ring, "ecmp")[0];
    assert!(free < 1.02 * ideal, "{free} {ideal}");
    // Each of the 4 hosts of a ToR sends 250 KB to each of the 12 hosts of other ToRs, over uplinks of 100 Gb/s in
    // total. Without headers, this takes 960 us. The NICs alone would need 300 us for the 15 messages of each host.
    let to_all = "algorithm = \"alltoall\"\nbytes = \"4MB\"";
    let [_, narrow] = ccts(FABRICS[2], to_all, "reps")[0];
    assert!((960e6..1.05 * 960e6).contains(&narrow), "{narrow}");
}

/// A ring over two servers sends 2 * 15/16 of the bytes out of each server, over four uplinks in all.
#[test]
fn the_uplinks_of_two_tors_limit_a_server() {
    const BYTES: f64 = 4e6;
    let nvlink = "server = { link = \"3.6Tbps\", link_latency = \"500ns\" }";
    let workload = format!("algorithm = \"allreduce-ring\"\nbytes = \"4MB\"\n{nvlink}");
    let [[cct, ideal]] = ccts(DUAL_TOR, &workload, "reps")[..] else { panic!("one job") };
    let uplinks = 2.0 * 15.0 / 16.0 * BYTES * 8.0 / 400e9 * 1e12;
    assert!((1.0..1.2).contains(&(ideal / uplinks)), "{ideal} {uplinks}");
    assert!((1.0..1.5).contains(&(cct / ideal)), "{cct} {ideal}");
}
