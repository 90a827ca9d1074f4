//! Tests of mistakes in scenarios of clusters. Each mistake gets one error, and the proposed correction works.

use crate::common::Place;

const CLUSTER: &str = r#"schemes = ["reps"]
seeds = [1]

[topology]
kind = "rails"
servers = 4
nics = 4
link = "400Gbps"
nvlink = "3.6Tbps"

[workload]
kind = "collective"
algorithm = "allreduce-hierarchical"
bytes = "1MB"
server = { pxn = true }
"#;

/// Checks `wrong` and returns the error without its place, and the correction.
#[track_caller]
fn refused(wrong: &str) -> (String, String) {
    let place = Place::new();
    place.write("s.toml", wrong);
    let said = place.run(&["check", "s.toml"]).expect(2).stderr;
    let (error, help) = said.trim().split_once("\n  write: ").unwrap_or_else(|| panic!("no help:\n{said}"));
    assert!(!help.contains('\n'), "one error:\n{said}");
    (error.splitn(5, ':').last().unwrap().trim().to_owned(), help.to_owned())
}

#[track_caller]
fn works(right: &str) {
    let place = Place::new();
    place.write("s.toml", right);
    place.run(&["run", "s.toml", "--out", "out"]).expect(0);
}

#[test]
fn values_in_another_form_are_answered_with_that_form() {
    for (right, wrong, expected) in [
        ("pxn = true", "pxn = 0", "pxn = false"),
        ("pxn = true", "pxn = 1", "pxn = true"),
        ("pxn = true", "nvls = \"on\"", "nvls = true"),
        ("nvlink = \"3.6Tbps\"", "nvlink = 900", "nvlink = \"3600Gbps\""),
        ("nvlink = \"3.6Tbps\"", "nvlink = \"900GB/s\"", "nvlink = \"3600Gbps\""),
    ] {
        let (error, help) = refused(&CLUSTER.replace(right, wrong));
        assert_eq!(help, expected, "{error}");
        works(&CLUSTER.replace(right, expected));
    }
}

#[test]
fn sizes_of_nccl_tests_without_a_unit_are_bytes() {
    let tests = |least: &str| {
        let kind = "kind = \"nccl-tests\"\noperation = \"all_reduce\"\nmax_bytes = \"1KiB\"\nfactor = 16";
        let job = "kind = \"collective\"\nalgorithm = \"allreduce-hierarchical\"\nbytes = \"1MB\"";
        CLUSTER.replace(job, &format!("{kind}\nmin_bytes = {least}"))
    };
    let (error, help) = refused(&tests("8"));
    assert_eq!(error, "min_bytes: 8 has no unit; in nccl-tests it is a number of bytes");
    assert_eq!(help, "min_bytes = \"8B\"");
    let place = Place::new();
    place.write("s.toml", tests("\"8B\""));
    let told = place.run(&["run", "s.toml", "--out", "out"]).expect(0).stdout;
    assert!(told.contains("GPU kernels, their launch latencies and the flags"), "{told}");
    let folder = place.path().join("out").join(&place.results()[0]);
    let page = std::fs::read_to_string(folder.join("report.html")).unwrap();
    assert!(page.contains("<h2>Bandwidths</h2>") && page.contains("GPU kernels, their launch"), "the page");
}

#[test]
fn measures_name_one_direction_and_one_name() {
    let measured =
        |links: &str| format!("{CLUSTER}[[measure]]\nseries = \"link-utilisation\"\nlinks = {links}\n");
    let (error, help) = refused(&measured("[\"rail:0\", \"rail:1\"]"));
    assert_eq!(error, "links: a measure has one name, not a list");
    assert_eq!(help, "links = \"rail:0\", and another [[measure]] for each other name");
    let curves = |scenario: &str| {
        let place = Place::new();
        place.write("s.toml", scenario);
        place.run(&["run", "s.toml", "--out", "out"]).expect(0);
        let folder = format!("out/{}", place.results()[0]);
        let rows = place.run(&["export", &folder, "--table", "series"]).expect(0).stdout;
        let names = rows.lines().skip(1).map(|row| row.split(',').nth(5).unwrap().to_owned());
        names.collect::<std::collections::BTreeSet<_>>()
    };
    let of = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let two =
        measured("\"server:0/nic:0\"") + "[[measure]]\nseries = \"link-utilisation\"\nlinks = \"rail:1\"\n";
    let rail = ["server:0/nic:1", "server:1/nic:1", "server:2/nic:1", "server:3/nic:1"];
    assert_eq!(curves(&two), of(&[&["server:0/nic:0"], &rail[..]].concat()));
    assert_eq!(curves(&measured("\"cable:host:0\"")), of(&["server:0/nic:0", "tor:0/down:0"]));
}

#[test]
fn parts_that_are_not_of_the_network_are_said_to_be_none() {
    let fault = |links: &str| {
        format!("{CLUSTER}[[fault]]\nkind = \"link-down\"\nduration = \"5us\"\nlinks = \"{links}\"\n")
    };
    for (name, says, nearest) in [
        ("gpu:3", "a GPU is named by its NIC", "server:0/nic:3"),
        ("gpu:9", "a GPU is named by its NIC", "server:2/nic:1"),
        ("server:1/gpu:2", "a GPU is named by its NIC", "server:1/nic:2"),
    ] {
        let (error, help) = refused(&fault(name));
        assert!(error.contains(says), "{name}: {error}");
        assert_eq!(help, format!("links = \"{nearest}\""), "{name}: {error}");
        works(&fault(nearest));
    }
    let (error, help) = refused(&fault("leaf:0"));
    assert!(error.contains("this names a switch"), "{error}");
    assert!(
        help.starts_with("kind = \"switch-down\" with switches = \"tor:0\" instead of links; or "),
        "{help}"
    );
    works(&fault("tor:0").replace("link-down", "switch-down").replace("links", "switches"));
    let (error, help) = refused(&fault("nvlink:0"));
    assert!(error.contains("NVLink and its switches are no part of the network"), "{error}");
    assert!(help.starts_with("links by a name of this topology: \"server:0\", "), "{help}");
    let (error, help) = refused(&fault("su:0"));
    assert!(error.contains("no selector names the parts of a su together"), "{error}");
    assert!(help.contains("[\"server:0\", \"server:1\"]"), "{help}");
    works(
        &fault("server:0\", \"server:1")
            .replace("links = \"server:0\", \"server:1\"", "links = [\"server:0\", \"server:1\"]"),
    );
    let down = fault("rail:3").replace("link-down", "switch-down").replace("links", "switches");
    works(&down);
}

#[test]
fn a_graph_has_no_planes_to_name() {
    let place = Place::new();
    place.write("g.txt", "4 2 3\n2 3\n0 2 100Gbps 1us 0\n1 3 100Gbps 1us 0\n2 3 100Gbps 1us 0\n");
    let scenario = |links: &str| {
        format!(
            "schemes = [\"reps\"]\nseeds = [1]\n[topology]\nkind = \"graph\"\nfile = \"g.txt\"\n[workload]\nkind = \"permutation\"\n\
             bytes = \"1MB\"\n[[fault]]\nkind = \"link-down\"\nduration = \"5us\"\nlinks = \"{links}\"\n"
        )
    };
    place.write("s.toml", scenario("plane:1"));
    let said = place.run(&["check", "s.toml"]).expect(2).stderr;
    assert!(said.contains("the file of this topology does not say which switches are a plane"), "{said}");
    assert!(said.contains("write: links = \"tor-uplinks\""), "{said}");
    place.write("s.toml", scenario("tor-uplinks"));
    place.run(&["run", "s.toml", "--out", "out"]).expect(0);
}
