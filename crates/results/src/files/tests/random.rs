//! Tests that write and read random result sets.

use super::*;
use proptest::prelude::*;

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Integer),
        finite().prop_map(Value::Number),
        any::<String>().prop_map(Value::Text),
    ]
}

fn finite() -> impl Strategy<Value = f64> {
    proptest::num::f64::NORMAL | proptest::num::f64::SUBNORMAL | proptest::num::f64::ZERO
}

prop_compose! {
    fn run_row()(
        scheme in any::<String>(),
        counts in any::<[u64; 7]>(),
        times in proptest::array::uniform7(finite()),
        sweep in proptest::collection::btree_map(any::<String>(), value(), 0..4),
        extra in proptest::collection::btree_map(any::<String>(), finite(), 0..4),
    ) -> RunRow {
        RunRow {
            scheme,
            seed: counts[0],
            sweep,
            flows: counts[1],
            flows_finished: counts[2],
            drops: counts[3],
            packet_hops: counts[4],
            fct_mean_us: times[0],
            fct_max_us: times[1],
            slowdown_p99: times[1],
            completion_us: times[2],
            wall_s: times[3],
            jobs: counts[5],
            pause_frames: counts[6],
            cct_mean_us: times[4],
            cct_max_us: times[5],
            pause_us: times[6],
            extra,
            ..RunRow::default()
        }
    }
}

prop_compose! {
    fn flow_row()(
        ids in any::<[u32; 4]>(),
        bytes: u64,
        times in any::<[Option<u64>; 3]>(),
        ideal: u64,
        group: String,
        counts in any::<[Option<u32>; 4]>(),
    ) -> FlowRow {
        FlowRow {
            run: 0,
            flow: ids[0],
            qp: ids[1],
            src: ids[2],
            dst: ids[3],
            bytes,
            start_ps: times[0],
            delivery_ps: times[1],
            fct_ps: times[2],
            ideal_fct_ps: ideal,
            group: group.into(),
            packets: ideal,
            retransmissions: counts[0],
            timeouts: counts[1],
            path_changes: counts[2],
            lost: counts[3],
        }
    }
}

prop_compose! {
    fn job_row()(
        ids in any::<[u32; 2]>(),
        algorithm: String,
        numbers in any::<[u64; 2]>(),
        cct_ps: Option<u64>,
    ) -> JobRow {
        let ([job, ranks], [bytes, start_ps]) = (ids, numbers);
        JobRow { run: 0, job, algorithm, ranks, bytes, start_ps, ideal_cct_ps: bytes / 2, cct_ps, ..JobRow::default() }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_set_comes_back(
        title: String,
        scenario_toml: String,
        runs in proptest::collection::vec(run_row(), 1..4),
        flows in proptest::collection::vec(flow_row(), 0..20),
        jobs in proptest::collection::vec(job_row(), 0..20),
        points in proptest::collection::vec((any::<String>(), any::<String>(), any::<u64>(), finite()), 0..20),
    ) {
        let series = points
            .into_iter()
            .map(|(series, entity, time_ps, value)| SeriesRow { run: 0, series, entity, time_ps, value })
            .collect();
        let set = ResultSet { title, scenario_toml, runs, flows, jobs, series, ..ResultSet::default() };
        let dir = tempdir().unwrap();
        set.write(dir.path()).unwrap();
        prop_assert_eq!(ResultSet::read(dir.path()).unwrap(), set);
    }

    /// If some curves are in memory and others in files, the same rows are written as if all were in memory.
    #[test]
    fn filed_curves_are_those_that_were_held(
        points in proptest::collection::vec((0u32..5, 0u8..3, 0u8..3, any::<u64>(), finite()), 0..200),
        is_filed in any::<[bool; 5]>(),
    ) {
        let mut series: Vec<SeriesRow> = points
            .into_iter()
            .map(|(run, name, entity, time_ps, value)| SeriesRow {
                run, series: format!("s{name}"), entity: format!("e{entity}"), time_ps, value,
            })
            .collect();
        series.sort_by_key(|row| row.run);
        let runs = vec![RunRow::default(); 5];
        let whole = ResultSet { runs, series, ..ResultSet::default() };
        let [first, second, spool] = [(); 3].map(|()| tempdir().unwrap());
        whole.write(first.path()).unwrap();
        let mut mixed = ResultSet { series: Vec::new(), ..whole.clone() };
        for rows in whole.series.chunk_by(|a, b| a.run == b.run) {
            let run = rows[0].run;
            if is_filed[run as usize] {
                let alone: Vec<SeriesRow> = rows.iter().map(|row| SeriesRow { run: 0, ..row.clone() }).collect();
                let filed = FiledCurves::write(&spool.path().join(run.to_string()), &alone).unwrap();
                mixed.filed.push(FiledCurves { run, ..filed });
            } else {
                mixed.series.extend_from_slice(rows);
            }
        }
        mixed.write(second.path()).unwrap();
        prop_assert_eq!(&ResultSet::read(second.path()).unwrap(), &whole);
        let opened = ResultSet::open(second.path()).unwrap();
        for name in ["s0", "s1", "s2"] {
            let read: Vec<(u32, String, u64, f64)> = opened.filed.iter().flat_map(|filed| {
                let curves = filed.points(name).unwrap();
                let rows = |curve: crate::CurvePoints| {
                    let entity = curve.entity.to_string();
                    curve.points.into_iter().map(move |(time, value)| (filed.run, entity.clone(), time, value))
                };
                curves.into_iter().flat_map(rows).collect::<Vec<_>>()
            }).collect();
            let held: Vec<(u32, String, u64, f64)> = whole.series.iter().filter(|row| row.series == name)
                .map(|row| (row.run, row.entity.clone(), row.time_ps, row.value)).collect();
            prop_assert_eq!(read, held);
        }
    }
}
