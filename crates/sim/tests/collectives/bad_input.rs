//! Tests of the defaults and the errors of collectives in `[workload]`.

use anabranch_sim::scenario::{self, Diagnostic, Files, Overrides, Scenario, WorkloadSpec};
use anabranch_sim::workload::collective::{CollectiveSpec, Members, Placement};

struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _: &str) -> Result<String, String> {
        Err("no such file".to_owned())
    }
}

fn read(workload: &str) -> Result<Scenario, Diagnostic> {
    let text = format!(
        "schemes = [\"reps\"]\n[topology]\nkind = \"fat-tree\"\nhosts = 32\ntiers = 2\nlink = \"400Gbps\"\n\
         [workload]\nkind = \"collective\"\n{workload}"
    );
    scenario::read("test.toml", &text, &NoFiles, &Overrides::default())
}

fn spec(workload: &str) -> CollectiveSpec {
    match read(workload).unwrap_or_else(|e| panic!("{e}")).workload {
        WorkloadSpec::Collective(spec) => spec,
        other => panic!("{other:?}"),
    }
}

#[test]
fn defaults_are_explicit_and_the_resolved_form_reads_as_the_same() {
    let ring = spec("algorithm = \"allreduce-ring\"\nbytes = \"8MB\"");
    assert_eq!(ring.members, Members::Placed { ranks: 32, jobs: 1, placement: Placement::Blocks });
    assert_eq!((ring.chunk.map(|chunk| chunk.0), ring.connections), (Some(128_000), None));
    let to_all =
        spec("algorithm = \"alltoall\"\nbytes = \"8MB\"\nranks = 8\njobs = 4\nplacement = \"random\"");
    assert_eq!((to_all.chunk, to_all.connections), (None, Some(7)));
    for workload in [
        "algorithm = \"allreduce-ring\"\nbytes = \"8MB\"",
        "algorithm = \"alltoall\"\nbytes = \"8MB\"\nranks = 8\njobs = 4\nplacement = \"random\"\nconnections = 3",
        "algorithm = \"allgather-ring\"\nbytes = \"1MiB\"\ngroups = [[0, 5, 7], [3, 2]]\nchunk = \"64KiB\"",
    ] {
        let first = read(workload).unwrap();
        let text = first.to_toml();
        let again = scenario::read("resolved.toml", &text, &NoFiles, &Overrides::default());
        assert_eq!(again.unwrap_or_else(|e| panic!("{e}\n{text}")), first, "{text}");
    }
}

#[test]
fn wrong_collectives_are_refused_with_what_to_write() {
    let ring = "algorithm = \"allreduce-ring\"\nbytes = \"8MB\"\n";
    let to_all = "algorithm = \"alltoall\"\nbytes = \"8MB\"\n";
    for (workload, expected) in [
        ("bytes = \"8MB\"".to_owned(), vec!["has no \"algorithm\"", "allreduce-halving-doubling"]),
        (
            "algorithm = \"allreduce-rign\"\nbytes = \"8MB\"".to_owned(),
            vec!["algorithm = \"allreduce-ring\""],
        ),
        ("algorithm = \"allreduce-ring\"".to_owned(), vec!["has no \"bytes\""]),
        (format!("{ring}ranks = 1"), vec!["test.toml:11", "2 ranks at least, not 1", "ranks = 2"]),
        (format!("{ring}ranks = 33"), vec!["larger than the fabric of 32 hosts", "ranks = 32"]),
        (format!("{ring}ranks = 8\njobs = 5"), vec!["test.toml:12", "need 40 hosts", "jobs = 4"]),
        (format!("{ring}ranks = 8\nplacement = \"spred\""), vec!["placement = \"spread\""]),
        (format!("{ring}ranks = 20\nplacement = \"spread\""), vec!["test.toml:12", "different ToRs"]),
        (format!("{ring}groups = [[0, 1, 0]]"), vec!["host 0 twice"]),
        (format!("{ring}groups = [[0, 32]]"), vec!["host 32, which does not exist", "0 to 31"]),
        (format!("{ring}groups = [[0, 1]]\nranks = 2"), vec!["groups or ranks, not both"]),
        (format!("{ring}chunk = \"0B\""), vec!["chunk", "128KB"]),
        (format!("{ring}connections = 4"), vec!["only an all-to-all"]),
        (format!("{to_all}connections = 0"), vec!["test.toml:11", "connections = 1"]),
        (format!("{to_all}connections = 32"), vec!["connections = 31"]),
        (format!("{to_all}chunk = \"1KB\""), vec!["without chunk"]),
        (format!("{ring}chunk = \"4B\""), vec!["124000000 messages", "the most is 50000000"]),
        (format!("{ring}rank = 8"), vec!["ranks = 8"]),
    ] {
        let refused = read(&workload).and_then(|scenario| scenario.check());
        let text = refused.map(|_| panic!("accepted: {workload}")).unwrap_err().to_string();
        for part in expected {
            assert!(text.contains(part), "{part:?} is not in {text}\nfor {workload}");
        }
    }
}
