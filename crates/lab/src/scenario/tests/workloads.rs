//! Tests of incasts beside background traffic, of their errors, and of the files that the runs of a scenario share.

use crate::scenario::tests::{Folder, GOOD, folder, scenario};
use crate::scenario::*;
use anabranch_base::{Bytes, Duration};

/// The first 10 lines of a scenario with background traffic on 32 hosts.
const HEAD: &str = r#"schemes = ["reps"]
[topology]
kind = "fat-tree"
hosts = 32
link = "400Gbps"
[workload]
kind = "poisson"
sizes = "websearch"
load = 0.5
duration = "1ms"
"#;

/// Texts that follow [`HEAD`], from line 11 on, each with the whole error text.
const CASES: &[(&str, &str)] = &[
    (
        r#"incast = { degree = 32, bytes = "64KB", load = 0.1 }"#,
        r#"s.toml:11:12: degree must be 1 to 31, not 32
  write: degree = 31"#,
    ),
    (
        r#"incast = 0.1"#,
        r#"s.toml:11:1: [workload.incast] must be a table, not 0.1
  write: [workload.incast] and below it its keys, such as degree = 8"#,
    ),
    (
        "hosts = 16\n[workload.incast]\ndegree = 16\nbytes = \"64KB\"\nload = 0.1",
        r#"s.toml:13:1: degree must be 1 to 15, not 16
  write: degree = 15"#,
    ),
    (
        "[workload.incast]\ndegree = 16\nbytes = \"0B\"\nload = 0.1",
        r#"s.toml:13:1: bytes must be above 0
  write: bytes = "8MiB""#,
    ),
    (
        "[workload.incast]\ndegree = 16\nbytes = \"64KB\"\nload = 10",
        r#"s.toml:14:1: load of incasts must be above 0 and, with the 0.5 of the background, at most 1.5 of the hosts' line rate, not 10
  write: load = 0.1"#,
    ),
    (
        "[workload.incast]\ndegree = 16\nbytes = \"64KB\"\nload = 0",
        r#"s.toml:14:1: load of incasts must be above 0 and, with the 0.5 of the background, at most 1.5 of the hosts' line rate, not 0
  write: load = 0.05"#,
    ),
    (
        "[workload.incast]\ndegree = 16\nload = 0.1",
        r#"s.toml:11:11: [workload.incast] has no "bytes"
  write: bytes = "8MiB""#,
    ),
    (
        "[workload.incast]\ndegrees = 16",
        r#"s.toml:12:1: unknown key "degrees" in [workload.incast]
  write: degree = 16 (did you mean "degree"?)"#,
    ),
    (
        "[workload.incast]\ndegree = 16\nbytes = \"1GB\"\nload = 0.001",
        r#"s.toml:10:1: duration: no incast starts in 1ms: one starts every 10000000.0 us on average
  write: a longer duration"#,
    ),
];

fn read_text(text: &str) -> Result<Scenario, Diagnostic> {
    read("s.toml", text, &folder(), &Overrides::default())
}

#[test]
fn every_fault_of_incasts_has_its_place_and_its_cure() {
    let mut wrong = String::new();
    for (lines, expected) in CASES {
        let text = format!("{HEAD}{lines}\n");
        let error = read_text(&text).and_then(|scenario| scenario.check()).expect_err(&text).to_string();
        if error != *expected {
            wrong += &format!("{lines}\n--- said\n{error}\n--- expected\n{expected}\n\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    let text = HEAD.replace("0.5", "1.5") + "incast = { degree = 8, bytes = \"64KB\", load = 0.1 }";
    let error = read_text(&text).unwrap_err().to_string();
    assert!(error.ends_with("write: load = 0.05, and a smaller load of [workload]"), "{error}");
}

#[test]
fn incasts_are_read_and_swept() {
    let text = format!(
        "{HEAD}incast = {{ degree = 8, bytes = \"64KB\", load = 0.1 }}\n[sweep]\n\
         \"workload.incast.load\" = [0.05, 0.2]\n"
    );
    let loads: Vec<f64> = read_text(&text)
        .unwrap()
        .points()
        .unwrap()
        .into_iter()
        .map(|point| {
            let WorkloadSpec::Poisson { incast: Some(incast), duration, .. } = point.workload else {
                panic!()
            };
            let IncastsSpec { degree, bytes, load } = incast;
            assert_eq!((degree, bytes, duration), (8, Bytes(64_000), Duration::from_us(1_000)));
            load
        })
        .collect();
    assert_eq!(loads, [0.05, 0.2]);
    let alone = read_text(HEAD).unwrap();
    assert!(matches!(alone.workload, WorkloadSpec::Poisson { incast: None, .. }));
    assert!(!alone.canonical().contains("incast"), "a scenario without incasts keeps its digest");
}

#[test]
fn runs_share_the_files_that_they_need() {
    let text = GOOD
        .replace("hosts = 32", "hosts = 8")
        .replace("kind = \"permutation\"\nbytes = \"1MiB\"", "kind = \"cm\"\nfile = \"two.cm\"");
    let points = scenario(&text).points().unwrap();
    assert!(points.len() > 1 && points[0].files.contains_key("two.cm"));
    assert!(points.iter().all(|point| std::sync::Arc::ptr_eq(&point.files, &points[0].files)));
}

#[test]
fn a_file_of_hosts_without_a_host_is_refused() {
    let goal =
        "num_ranks 2\nrank 0 {\nl1: send 1000b to 1 tag 1\n}\nrank 1 {\nl1: recv 1000b from 0 tag 1\n}\n";
    let files = [("two.goal", goal), ("hosts.txt", "# none\n\n")];
    let files = Folder(files.map(|(name, text)| (name.to_owned(), text.to_owned())).into());
    let text = "schemes = [\"reps\"]\n[topology]\nkind = \"single-switch\"\nhosts = 4\nlink = \"100Gbps\"\n[workload]\n\
                kind = \"trace\"\nformat = \"goal\"\nfile = \"two.goal\"\nrank_hosts = \"hosts.txt\"\n";
    let error = read("s.toml", text, &files, &Overrides::default()).unwrap_err().to_string();
    assert!(error.starts_with("s.toml:10:1: hosts.txt names no host\n  write: one host per line"), "{error}");
}
