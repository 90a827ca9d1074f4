use super::*;
use crate::{
    ClaimKind, ClaimResult, ClaimRow, ClaimValue, Comparison, FabricFacts, FaultFacts, FaultRow, Figure,
    LiveRun, LongerLimits, MissingRun, Outcome, PlaneFacts, PlotKind, PlotSpec, PointFacts, RunFailure,
    ScenarioFacts, SchemeFacts, Sensitivity, SensitivityEntry, SetupRow, Spread, StallReason, Value,
};
use std::collections::BTreeMap;
use tempfile::tempdir;

fn small_set() -> ResultSet {
    ResultSet {
        answer: None,
        live: Vec::new(),
        title: "Two messages".into(),
        scenario_toml: "title = \"Two messages\"\n".into(),
        facts: ScenarioFacts {
            ground_differs: Some("reps has its own queue.".into()),
            points: vec![PointFacts {
                schemes: vec![SchemeFacts { rto: Some("70 us".into()), ..SchemeFacts::default() }],
                faults: vec![FaultFacts { starts_us: vec![0.1], ..FaultFacts::default() }],
                ..PointFacts::default()
            }],
            fabric: FabricFacts { hosts: 2, planes: vec![PlaneFacts::default()], ..FabricFacts::default() },
        },
        runs: vec![RunRow {
            scheme: "reps".into(),
            seed: 3,
            sweep: BTreeMap::from([("workload.bytes".into(), Value::Text("8MiB".into()))]),
            flows: 2,
            fct_max_us: 1.5,
            time_to_recover_us: Some(2.5),
            queue_p99_bytes: 11,
            peak_queue_bytes: 12,
            peak_queue_link: "tor:0/up:3".into(),
            baseline: true,
            extra: BTreeMap::from([("rounds".into(), 2.0), ("worst".into(), f64::INFINITY)]),
            digest: "d".into(),
            ..RunRow::default()
        }],
        flows: vec![FlowRow {
            run: 0,
            flow: 1,
            qp: 2,
            src: 3,
            dst: 4,
            bytes: u64::MAX,
            start_ps: Some(0),
            delivery_ps: None,
            fct_ps: None,
            ideal_fct_ps: 9,
            group: "incast".into(),
            packets: 3,
            retransmissions: Some(7),
            ..FlowRow::default()
        }],
        jobs: vec![JobRow {
            run: 0,
            job: 7,
            algorithm: "halving-doubling".into(),
            ranks: 32,
            bytes: 128_000_000,
            start_ps: 5,
            ideal_cct_ps: 6,
            cct_ps: None,
            ..JobRow::default()
        }],
        parts: vec![
            PartRow {
                run: 0,
                job: 7,
                part: "rank".into(),
                number: 3,
                host: Some(9),
                algorithm: String::new(),
                place: None,
                ranks: 1,
                bytes: 0,
                start_ps: Some(5),
                end_ps: None,
                compute_ps: 6,
                exposed_ps: 7,
            },
            PartRow {
                run: 0,
                job: 7,
                part: "collective".into(),
                number: 0,
                host: None,
                algorithm: "halving-doubling".into(),
                place: Some(12),
                ranks: 32,
                bytes: 128_000_000,
                start_ps: None,
                end_ps: Some(8),
                compute_ps: 0,
                exposed_ps: 9,
            },
        ],
        series: vec![SeriesRow {
            run: 0,
            series: "queue_depth_bytes".into(),
            entity: "tor:0/up:3".into(),
            time_ps: 20_000_000,
            value: 4096.0,
        }],
        filed: Vec::new(),
        missing: vec![MissingRun {
            scheme: "ops".into(),
            seed: 4,
            sweep: BTreeMap::from([("workload.bytes".into(), Value::Integer(8))]),
            baseline: true,
            cause: Some(RunFailure::Stalled {
                at_us: 1.5,
                reason: StallReason::NoDelivery { stall: "1ms".into() },
                unfinished: 2,
                flows: vec!["flow 0".into()],
                help: vec!["a longer stall".into()],
                limits: Some(LongerLimits { stall: "9ms".into(), max_time: None }),
            }),
        }],
        warnings: Vec::new(),
        figure: Some(figure()),
    }
}

#[test]
fn what_faults_did_and_warnings_come_back() {
    let fault = |fault, at_us| FaultRow {
        fault,
        kind: "link-down".into(),
        on: "tor:0/up:0".into(),
        at_us,
        packets_lost: u64::MAX,
        packets_refused: 2,
        packets_slowed: 0,
        data_packets: 3,
    };
    let mut set = small_set();
    let after_end = RunWarning::FaultAfterEnd { fault: 0, on: "é".into() };
    let within = RunWarning::JobWithinServers { job: 1, algorithm: "all-reduce-ring".into(), ranks: 8 };
    let with = |faults, warnings: &[&RunWarning]| RunRow {
        faults,
        warnings: warnings.iter().map(|&warning| warning.clone()).collect(),
        ..small_set().runs.remove(0)
    };
    set.runs = vec![
        with(vec![], &[&after_end, &within]),
        with(vec![fault(1, 0.5), fault(2, 7.0)], &[]),
        with(vec![fault(1, 3.0)], &[&within]),
    ];
    set.warnings = vec!["a queue below a packet".into()];
    let dir = tempdir().unwrap();
    set.write(dir.path()).unwrap();
    assert_eq!(ResultSet::read(dir.path()).unwrap(), set);
}

fn figure() -> Figure {
    let claim = |result| ClaimRow {
        says: "REPS is faster".into(),
        source: "section 4".into(),
        kind: ClaimKind::Range,
        paper: ClaimValue::Range([1.2, 1.3]),
        order: vec![],
        measure: "range over seed: fct_max(ops) / fct_max(reps)".into(),
        result,
        spread: Some(Spread {
            seeds: 2,
            comparisons: vec![Comparison {
                left: [1.0, 2.0],
                sign: "<".into(),
                right: [3.0, 3.0],
                separate: true,
            }],
        }),
        why: Some("a reason".into()),
    };
    Figure {
        id: "reps/fig02".into(),
        title: "Queues".into(),
        paper: "REPS".into(),
        figure: "Figure 2".into(),
        scale: "quick".into(),
        sizes: "128 hosts".into(),
        assumptions: vec!["one seed".into()],
        plots: vec![PlotSpec {
            per: vec!["scheme".into()],
            log_x: true,
            ..PlotSpec::new(PlotKind::SlowdownBySize, "Slowdown", "p99")
        }],
        claims: vec![
            claim(ClaimResult::Evaluated {
                measured: ClaimValue::Range([1.1, 1.2]),
                outcome: Outcome::DirectionOnly,
            }),
            claim(ClaimResult::Failed { error: "2 flows did not finish".into() }),
        ],
        unsaid: Some(Sensitivity {
            entries: vec![SensitivityEntry {
                what: "payload".into(),
                because: "the text gives none".into(),
                parameters: vec!["*.transport.payload".into()],
                values: vec!["4096B".into(), "1000B".into()],
                settings: vec![vec!["4096B".into()], vec!["1000B".into()]],
                varied: true,
            }],
            together: true,
            most_runs_together: 256,
            setups: vec![SetupRow {
                choice: vec![0],
                claims: vec![ClaimResult::Failed { error: "e".into() }],
                failed_runs: 1,
            }],
        }),
    }
}

#[test]
fn a_set_comes_back_with_its_figure_and_special_numbers() {
    let dir = tempdir().unwrap();
    let mut set = ResultSet {
        live: vec![LiveRun {
            dilation: 100_000,
            lateness_packet_times: 0.5,
            latest_frame_us: 1e4,
            needed_dilation: None,
            messages_checked: 2,
            bytes_checked: 9,
            simulated: RunRow { scheme: "reps".into(), seed: 3, fct_max_us: 1.25, ..RunRow::default() },
        }],
        ..small_set()
    };
    set.write(dir.path()).unwrap();
    assert_eq!(ResultSet::read(dir.path()).unwrap(), set);
    set.live.push(set.live[0].clone());
    set.write(dir.path()).unwrap();
    let error = ResultSet::read(dir.path()).unwrap_err().to_string();
    assert!(error.contains("live.json") && error.contains("2 rows for 1 runs"), "{error}");
}

#[test]
fn an_empty_set_comes_back() {
    let dir = tempdir().unwrap();
    ResultSet::default().write(dir.path()).unwrap();
    assert_eq!(ResultSet::read(dir.path()).unwrap(), ResultSet::default());
}

#[test]
fn rows_of_several_batches_come_back_in_order() {
    let flow = small_set().flows.remove(0);
    let set = ResultSet {
        flows: (0..2 * ROWS_A_BATCH as u32 + 5)
            .map(|number| FlowRow { flow: number, ..flow.clone() })
            .collect(),
        ..small_set()
    };
    let dir = tempdir().unwrap();
    set.write(dir.path()).unwrap();
    assert_eq!(ResultSet::read(dir.path()).unwrap(), set);
}

fn replace_runs(dir: &Path, runs: &[RunRow]) {
    let mut manifest = read_manifest(dir).unwrap();
    let batch = runs::encode(runs, &RunKeys::of(runs).unwrap()).unwrap();
    let entry = write_batches(dir, RUNS, &batch.schema(), std::iter::once(Ok(batch.clone()))).unwrap();
    let index = manifest.files.iter().position(|file| file.name == RUNS).unwrap();
    manifest.files[index] = entry;
    write_file(dir, MANIFEST, &to_json(dir, MANIFEST, &manifest).unwrap()).unwrap();
}

/// The name and the type of each column of a file, with `?` if the column may contain nulls.
fn columns_of(dir: &Path, name: &str) -> String {
    let file = File::open(dir.join(name)).unwrap();
    let schema = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().schema().clone();
    let column = |field: &arrow_schema::Field| {
        format!("{} {}{}", field.name(), field.data_type(), if field.is_nullable() { "?" } else { "" })
    };
    schema.fields().iter().map(|field| column(field)).collect::<Vec<_>>().join(", ")
}

/// Two runs of a sweep. The second has parameters and numbers that the first lacks.
fn swept_set() -> ResultSet {
    let first = RunRow {
        sweep: BTreeMap::from([
            ("fault.0.at".into(), Value::Text("5us".into())),
            ("workload.bytes".into(), Value::Text("8MiB".into())),
            ("workload.load".into(), Value::Integer(1)),
            ("workload.ranks".into(), Value::Integer(16)),
        ]),
        ..small_set().runs.remove(0)
    };
    let second = RunRow {
        scheme: "ops".into(),
        seed: 4,
        sweep: BTreeMap::from([
            ("*.fabric.trim".into(), Value::Bool(true)),
            ("workload.bytes".into(), Value::Integer(5)),
            ("workload.load".into(), Value::Number(1.0)),
            ("workload.ranks".into(), Value::Integer(32)),
        ]),
        extra: BTreeMap::from([("header_drops".into(), 7.0), ("Seed".into(), 1.0)]),
        ..first.clone()
    };
    let set = small_set();
    let flow = |run| FlowRow { run, ..set.flows[0].clone() };
    let job = |run| JobRow { run, ..set.jobs[0].clone() };
    let point = |run| SeriesRow { run, ..set.series[0].clone() };
    ResultSet {
        runs: vec![first, second],
        flows: vec![flow(0), flow(1), flow(1)],
        jobs: vec![job(0), job(1)],
        series: vec![point(0), point(1)],
        ..small_set()
    }
}

#[test]
fn rows_have_the_keys_of_their_run_and_runs_have_no_json() {
    let dir = tempdir().unwrap();
    swept_set().write(dir.path()).unwrap();
    assert_eq!(ResultSet::read(dir.path()).unwrap(), swept_set());
    let keys = "run UInt32, scheme Utf8, seed UInt64, *.fabric.trim Boolean?, fault.0.at Utf8?, \
                workload.bytes Utf8?, workload.load Float64?, workload.ranks Int64?, ";
    let runs = columns_of(dir.path(), RUNS);
    assert!(runs.starts_with(keys), "{runs}");
    let extra = "digest Utf8, extra.Seed Float64?, header_drops Float64?, rounds Float64?, worst Float64?";
    assert!(runs.ends_with(extra) && !runs.contains("json"), "{runs}");
    let own = [
        (
            FLOWS,
            "flow UInt32, qp UInt32, src UInt32, dst UInt32, bytes UInt64, start_ps UInt64?, delivery_ps UInt64?, fct_ps UInt64?, ideal_fct_ps UInt64, group Utf8, packets UInt64, retransmissions UInt32?, timeouts UInt32?, path_changes UInt32?, lost UInt32?",
        ),
        (
            JOBS,
            "job UInt32, algorithm Utf8, ranks UInt32, bytes UInt64, start_ps UInt64, ideal_cct_ps UInt64, cct_ps UInt64?, algbw_gbytes_per_sec Float64?, busbw_gbytes_per_sec Float64?",
        ),
        (SERIES, "baseline Boolean, series Utf8, entity Utf8, time_ps UInt64, value Float64"),
    ];
    for (name, own) in own {
        assert_eq!(columns_of(dir.path(), name), format!("{keys}{own}"));
    }
}

#[test]
fn a_table_is_written_as_csv() {
    let dir = tempdir().unwrap();
    let mut set = swept_set();
    set.runs[0].scheme = "with, comma".into();
    set.write(dir.path()).unwrap();
    let csv = |table| {
        let mut text = Vec::new();
        crate::write_csv(dir.path(), table, &mut text).unwrap();
        String::from_utf8(text).unwrap()
    };
    let keys = "run,scheme,seed,*.fabric.trim,fault.0.at,workload.bytes,workload.load,workload.ranks";
    assert_eq!(
        csv(crate::Table::Jobs),
        format!(
            "{keys},job,algorithm,ranks,bytes,start_ps,ideal_cct_ps,cct_ps,algbw_gbytes_per_sec,busbw_gbytes_per_sec\n\
             0,\"with, comma\",3,,5us,8MiB,1,16,7,halving-doubling,32,128000000,5,6,,,\n\
             1,ops,4,true,,5,1,32,7,halving-doubling,32,128000000,5,6,,,\n"
        )
    );
    for (table, rows) in [(crate::Table::Runs, 2), (crate::Table::Flows, 3), (crate::Table::Series, 2)] {
        let text = csv(table);
        assert!(text.starts_with(keys) && text.lines().count() == rows + 1, "{text}");
    }
    fs::write(dir.path().join(JOBS), "changed").unwrap();
    let error = crate::write_csv(dir.path(), crate::Table::Jobs, &mut Vec::new()).unwrap_err().to_string();
    assert!(error.contains("jobs.parquet: damaged"), "{error}");
}

#[test]
fn what_repeats_costs_next_to_nothing() {
    let flow = small_set().flows.remove(0);
    let rows = |count: u32| -> Vec<FlowRow> {
        (0..count).map(|number| FlowRow { flow: number, dst: number % 1024, ..flow.clone() }).collect()
    };
    let dir = tempdir().unwrap();
    let set = ResultSet { flows: rows(100_000), ..small_set() };
    set.write(dir.path()).unwrap();
    let file = File::open(dir.path().join(FLOWS)).unwrap();
    let reader = parquet::file::reader::SerializedFileReader::new(file).unwrap();
    use parquet::file::reader::FileReader;
    let group = reader.metadata().row_group(0);
    let bytes = |wanted: &str| -> i64 {
        let of = group.columns().iter().filter(|column| column.column_path().string() == wanted);
        of.map(|column| column.compressed_size()).sum()
    };
    let keys = bytes("scheme") + bytes("seed") + bytes("workload.bytes");
    assert!(bytes("scheme") > 0 && bytes("workload.bytes") > 0);
    assert!(keys < bytes("dst") / 20, "{keys} B of keys beside {} B of receivers", bytes("dst"));
}

#[test]
fn a_folder_that_holds_no_results_is_refused_with_advice() {
    let dir = tempdir().unwrap();
    let message = |path: &Path| ResultSet::read(path).unwrap_err().to_string();
    assert!(message(dir.path()).contains("no manifest.json"));
    assert!(message(&dir.path().join("nowhere")).contains("does not exist"));
    let file = dir.path().join("file");
    fs::write(&file, "x").unwrap();
    assert!(message(&file).contains("it is a file"));
    assert!(message(&file).contains("anabranch run"));
}

#[test]
fn a_missing_file_and_another_format_are_named() {
    let dir = tempdir().unwrap();
    small_set().write(dir.path()).unwrap();
    fs::remove_file(dir.path().join(FLOWS)).unwrap();
    let error = ResultSet::read(dir.path()).unwrap_err();
    assert!(matches!(error, ResultsError::Read { .. }), "{error}");
    assert!(error.to_string().contains("flows.parquet"), "{error}");
    fs::write(dir.path().join(MANIFEST), "{\"format\": 4}").unwrap();
    let error = ResultSet::read(dir.path()).unwrap_err();
    assert!(matches!(error, ResultsError::Format { found: 4, .. }), "{error}");
    let again = format!("anabranch run {}", dir.path().join(SCENARIO).display());
    assert!(error.to_string().contains(&again), "{error}");
}

/// A change of columns requires a new format number: an older program must refuse the new folders, and this program
/// must refuse the older ones.
#[test]
fn each_format_has_its_columns() {
    let lines = Table::ALL.into_iter().flat_map(|table| {
        let line = move |column: &crate::Column| {
            let nullable = if column.nullable { "?" } else { "" };
            format!("{} {} {}{nullable}\n", table.file(), column.name, column.kind.name())
        };
        table.columns().into_iter().map(line)
    });
    let columns: String = lines.collect();
    let path = format!("{}/src/files/format-{FORMAT}.txt", env!("CARGO_MANIFEST_DIR"));
    let recorded = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        columns == recorded,
        "the columns are not those of {path}: give FORMAT in files.rs the next number, and its file this text:\n{columns}"
    );
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let dir = tempdir().unwrap();
    let error = small_set().write(&dir.path().join("nowhere")).unwrap_err();
    assert!(error.to_string().contains("nowhere/scenario.toml: cannot be written"), "{error}");
}

/// On Linux, any write to /dev/full fails with "no space left".
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_named_and_leaves_no_whole_folder() {
    let dir = tempdir().unwrap();
    std::os::unix::fs::symlink("/dev/full", dir.path().join(FLOWS)).unwrap();
    let error = small_set().write(dir.path()).unwrap_err().to_string();
    assert!(error.contains("flows.parquet") && error.contains("No space left"), "{error}");
    assert!(matches!(ResultSet::read(dir.path()), Err(ResultsError::NotResults { .. })));
}

#[test]
fn a_run_index_out_of_range_is_neither_written_nor_read() {
    for (file, spoil) in [
        (FLOWS, (|set| set.flows[0].run = 1) as fn(&mut ResultSet)),
        (JOBS, |set| set.jobs[0].run = 1),
        (SERIES, |set| set.series[0].run = 1),
    ] {
        let dir = tempdir().unwrap();
        let mut set = small_set();
        spoil(&mut set);
        let error = set.write(dir.path()).unwrap_err().to_string();
        assert!(error.contains(file) && error.contains("run 1, but there are 1 runs"), "{error}");
        set.runs.push(set.runs[0].clone());
        set.write(dir.path()).unwrap();
        replace_runs(dir.path(), &set.runs[..1]);
        for error in [ResultSet::read(dir.path()).unwrap_err(), ResultSet::open(dir.path()).unwrap_err()] {
            let error = error.to_string();
            assert!(error.contains("row 0 belongs to run 1, but there are 1 runs"), "{error}");
            assert!(error.contains(file), "{error}");
        }
    }
}

#[test]
fn curves_that_were_changed_are_not_opened() {
    let dir = tempdir().unwrap();
    small_set().write(dir.path()).unwrap();
    let path = dir.path().join(SERIES);
    let mut bytes = fs::read(&path).unwrap();
    bytes[20] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let error = ResultSet::open(dir.path()).unwrap_err().to_string();
    assert!(error.contains("series.parquet: damaged: its content is not what was written"), "{error}");
    bytes.pop();
    fs::write(&path, &bytes).unwrap();
    let error = ResultSet::open(dir.path()).unwrap_err().to_string();
    assert!(error.contains("bytes, but "), "{error}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_under_the_curves_is_told_as_it_is() {
    let dir = tempdir().unwrap();
    std::os::unix::fs::symlink("/dev/full", dir.path().join(SERIES)).unwrap();
    let error = small_set().write(dir.path()).unwrap_err();
    assert!(matches!(error, ResultsError::Write { .. }), "{error:?}");
    assert!(error.to_string().contains("No space left"), "{error}");
}

#[test]
fn a_parquet_file_with_other_columns_is_refused() {
    let path = Path::new("flows.parquet");
    let file =
        |batch: RecordBatch| encode_parquet(&batch.schema(), std::iter::once(Ok(batch.clone()))).unwrap();
    let bytes = file(SeriesRow::encode(&small_set().series).unwrap());
    let error = decode_parquet::<FlowRow>(path, bytes).unwrap_err().to_string();
    assert!(error.contains("no column `flow`"), "{error}");
    let error = decode_parquet::<FlowRow>(path, b"run,flow\n0,1\n".to_vec()).unwrap_err().to_string();
    assert!(error.contains("not a Parquet file"), "{error}");
}

#[test]
fn a_swept_infinity_is_refused() {
    let dir = tempdir().unwrap();
    let mut set = small_set();
    set.runs[0].sweep.insert("load".into(), Value::Number(f64::INFINITY));
    let error = set.write(dir.path()).unwrap_err().to_string();
    assert!(error.contains("runs.parquet") && error.contains("`load`"), "{error}");
}

/// A file that is truncated, or in which a bit is flipped, is an error. Only a flipped bit in the manifest may leave
/// the rows unchanged instead, because the manifest also holds the title and white space.
#[test]
fn damage_is_an_error_and_never_a_panic() {
    let dir = tempdir().unwrap();
    small_set().write(dir.path()).unwrap();
    for name in [SCENARIO, RUNS, FLOWS, JOBS, PARTS, SERIES, FIGURE, MANIFEST] {
        let path = dir.path().join(name);
        let whole = fs::read(&path).unwrap();
        let step = (whole.len() / 60).max(1);
        for index in (0..whole.len()).step_by(step) {
            fs::write(&path, &whole[..index]).unwrap();
            let cut = ResultSet::read(dir.path());
            assert!(cut.is_err(), "{name} cut to {index} bytes was read");
            let mut flipped = whole.clone();
            flipped[index] ^= 0x20;
            fs::write(&path, &flipped).unwrap();
            match ResultSet::read(dir.path()) {
                Err(error) => assert!(error.to_string().contains(&*dir.path().to_string_lossy()), "{error}"),
                Ok(set) => {
                    assert_eq!(name, MANIFEST, "byte {index} of {name} flipped unnoticed");
                    assert_eq!(ResultSet { title: small_set().title, ..set }, small_set());
                }
            }
        }
        fs::write(&path, &whole).unwrap();
    }
}

mod random;
