//! Tests that DuckDB and Polars can query the result files without a join and without JSON.

use anabranch_results::{FlowRow, JobRow, ResultSet, RunRow, SeriesRow, Value};
use std::collections::BTreeMap;
use std::process::Command;

fn results() -> ResultSet {
    let run = |scheme: &str, seed, load| RunRow {
        scheme: scheme.into(),
        seed,
        sweep: BTreeMap::from([("workload.load".into(), Value::Number(load))]),
        ..RunRow::default()
    };
    let flow = |run, number, fct_ps| FlowRow {
        run,
        flow: number,
        qp: 0,
        src: 0,
        dst: 1,
        bytes: 4096,
        start_ps: Some(0),
        delivery_ps: None,
        fct_ps,
        ideal_fct_ps: 5,
        group: "".into(),
        packets: 1,
        retransmissions: None,
        timeouts: None,
        path_changes: None,
        lost: None,
    };
    let job = |run| JobRow {
        run,
        job: 0,
        algorithm: "alltoall".into(),
        ranks: 2,
        bytes: 8,
        start_ps: 0,
        ideal_cct_ps: 0,
        cct_ps: Some(9),
        ..JobRow::default()
    };
    let point = |run, value| SeriesRow { run, series: "s".into(), entity: "e".into(), time_ps: 0, value };
    let mut runs = vec![run("reps", 1, 0.3), run("ops", 2, 0.8)];
    runs[1].extra.insert("header_drops".into(), 7.0);
    ResultSet {
        runs,
        flows: vec![flow(0, 0, Some(10)), flow(0, 1, Some(20)), flow(1, 0, Some(30)), flow(1, 1, None)],
        jobs: vec![job(0), job(1)],
        series: vec![point(0, 0.5), point(1, 1.5)],
        ..ResultSet::default()
    }
}

/// Runs queries with a query engine that is a Python module. `ANABRANCH_PYTHON` names the interpreter. Without this
/// variable, it is `python3`.
fn queried_by(engine: &str) {
    let python = std::env::var("ANABRANCH_PYTHON").unwrap_or("python3".to_owned());
    let has = Command::new(&python).args(["-c", &format!("import {engine}")]).output();
    if !has.is_ok_and(|tried| tried.status.success()) {
        println!("skipped: {python} has no module {engine}; ANABRANCH_PYTHON may name one that has");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    results().write(folder.path()).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/queries.py");
    let asked = Command::new(&python).args([script, engine]).arg(folder.path()).output().unwrap();
    let said = String::from_utf8_lossy(&asked.stdout);
    assert_eq!(said.trim(), "as expected", "{}", String::from_utf8_lossy(&asked.stderr));
}

#[test]
fn duckdb_needs_no_join_and_no_json() {
    queried_by("duckdb");
}

#[test]
fn polars_needs_no_join_and_no_json() {
    queried_by("polars");
}
