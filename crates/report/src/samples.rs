//! Made-up results for the tests of this crate.

use anabranch_results::{
    ClaimKind, ClaimResult, ClaimRow, ClaimValue, Figure, FlowRow, JobRow, Outcome, ResultSet, RunRow,
    Sensitivity, SensitivityEntry, SeriesRow, SetupRow, Value,
};
use std::collections::BTreeMap;

/// `reps` and `ops` at 8 and 16 MiB, with seeds 1 and 2. The largest FCT, as the mean of the seeds, is 100 and 200 us
/// for `reps`, and 120 and 400 us for `ops`. It is 5 us less with seed 1, and 5 us more with seed 2.
pub(crate) fn two_schemes() -> ResultSet {
    let mut set = ResultSet {
        title: "Two <schemes>".into(),
        scenario_toml: "title = \"Two <schemes>\"\n".into(),
        ..ResultSet::default()
    };
    for (scheme, maxima, drops) in [("reps", [100.0, 200.0], 0), ("ops", [120.0, 400.0], 30)] {
        for (bytes, max) in ["8MiB", "16MiB"].into_iter().zip(maxima) {
            for seed in [1, 2] {
                let max = max + if seed == 1 { -5.0 } else { 5.0 };
                add_run(&mut set, scheme, bytes, seed, max, drops);
            }
        }
    }
    set
}

/// A collective workload, for which jobs and pauses are recorded but no messages. `strack` has jobs of 100, 110 and 120
/// us, and `rocev2` has jobs of 300, 310 and 320 us.
pub(crate) fn collectives() -> ResultSet {
    let mut set = ResultSet { title: "Collectives".into(), ..ResultSet::default() };
    for (run, (scheme, first_us, pause_frames)) in
        [("strack", 100, 0), ("rocev2", 300, 4_321)].iter().enumerate()
    {
        set.runs.push(RunRow {
            scheme: (*scheme).into(),
            seed: 1,
            flows: 1_000_000,
            flows_finished: 1_000_000,
            fct_mean_us: 10.0,
            fct_p50_us: 9.0,
            fct_p99_us: 20.0,
            fct_max_us: 25.0,
            ideal_fct_max_us: 5.0,
            completion_us: f64::from(first_us + 20),
            jobs: 3,
            jobs_finished: 3,
            cct_mean_us: f64::from(first_us + 10),
            cct_max_us: f64::from(first_us + 20),
            pause_frames: *pause_frames,
            pause_us: *pause_frames as f64 * 12.5,
            packet_hops: 98_765_432,
            wall_s: 9.5,
            ..RunRow::default()
        });
        set.jobs.extend((0..3).map(|job: u32| JobRow {
            run: run as u32,
            job,
            algorithm: "ring".into(),
            ranks: 32,
            bytes: 1_000_000 * u64::from(job + 1),
            start_ps: 0,
            ideal_cct_ps: 0,
            cct_ps: Some(u64::from(*first_us as u32 + 10 * job) * 1_000_000),
            ..JobRow::default()
        }));
    }
    set
}

/// A figure at the given scale, without plots and claims.
pub(crate) fn figure(scale: &str) -> Figure {
    Figure {
        id: "reps/fig02".into(),
        title: "</script><b>".into(),
        paper: "REPS".into(),
        figure: "Figure 2".into(),
        scale: scale.into(),
        sizes: "128 hosts < 1024".into(),
        assumptions: vec!["a < b".into()],
        plots: Vec::new(),
        claims: Vec::new(),
        unsaid: None,
    }
}

/// A figure at the quick scale with two claims under four setups. The first claim is a ratio, 1.25 in the paper and
/// 1.1, 1.2 and 1.3 under the first three setups. It could not be evaluated under the fourth. The second claim is an
/// order, which is true under the first and the third setup.
pub(crate) fn varied() -> Figure {
    let claim = |says: &str, kind, paper, result| ClaimRow {
        says: says.into(),
        source: "section 4".into(),
        kind,
        paper: ClaimValue::Number(paper),
        order: if kind == ClaimKind::Order { vec!["reps".into(), "ops".into()] } else { vec![] },
        measure: "m".into(),
        result,
        spread: None,
        why: None,
    };
    let result = |number, outcome| ClaimResult::Evaluated { measured: ClaimValue::Number(number), outcome };
    let truth = |holds| match holds {
        true => result(1.0, Outcome::Holds),
        false => result(0.0, Outcome::Differs),
    };
    let setup = |choice: [usize; 2], claims: [ClaimResult; 2]| SetupRow {
        choice: choice.into(),
        claims: claims.into(),
        failed_runs: 0,
    };
    let setups = vec![
        setup([0, 0], [result(1.1, Outcome::DirectionOnly), truth(true)]),
        setup([1, 0], [result(1.2, Outcome::Holds), truth(false)]),
        setup([0, 1], [result(1.3, Outcome::Holds), truth(true)]),
        setup([1, 1], [ClaimResult::Failed { error: "2 flows did not finish".into() }, truth(false)]),
    ];
    let entry = |what: &str, values: [&str; 2]| SensitivityEntry {
        what: what.into(),
        because: format!("the text has no {what} & <so>"),
        parameters: vec![format!("*.{what}")],
        values: values.map(str::to_owned).into(),
        settings: values.map(|value| vec![value.to_owned()]).into(),
        varied: true,
    };
    let [ratio, order] = setups[0].claims.clone().try_into().expect("two claims");
    Figure {
        claims: vec![
            claim("REPS is 1.25 times as fast as OPS", ClaimKind::Ratio, 1.25, ratio),
            claim("REPS is faster than OPS", ClaimKind::Order, 1.0, order),
        ],
        unsaid: Some(Sensitivity {
            entries: vec![entry("payload", ["4096B", "1000B"]), entry("queue", ["1MB", "2MB"])],
            together: true,
            most_runs_together: 256,
            setups,
        }),
        ..figure("quick")
    }
}

fn add_run(set: &mut ResultSet, scheme: &str, bytes: &str, seed: u64, max: f64, drops: u64) {
    let run = set.runs.len() as u32;
    set.runs.push(RunRow {
        scheme: scheme.into(),
        seed,
        sweep: BTreeMap::from([("workload.bytes".into(), Value::Text(bytes.into()))]),
        flows: 2,
        flows_finished: 2,
        fct_mean_us: max - 10.0,
        fct_p50_us: max - 20.0,
        fct_p99_us: max,
        fct_max_us: max,
        ideal_fct_max_us: 50.0,
        completion_us: max,
        drops,
        retransmissions: drops,
        packet_hops: 1_234_567,
        sim_time_us: max,
        wall_s: 0.5,
        extra: BTreeMap::from([("mean_max_queue".into(), 7.0)]),
        ..RunRow::default()
    });
    for (flow, fct_us) in [(0, max - 20.0), (1, max)] {
        set.flows.push(FlowRow {
            run,
            flow,
            qp: flow,
            src: flow,
            dst: 1 - flow,
            bytes: 1000 * (1 + u64::from(flow)),
            start_ps: Some(0),
            delivery_ps: Some(((fct_us - 1.0) * 1e6) as u64),
            fct_ps: Some((fct_us * 1e6) as u64),
            ideal_fct_ps: 50_000_000,
            group: "".into(),
            packets: 1 + u64::from(flow),
            retransmissions: Some(0),
            timeouts: Some(0),
            ..FlowRow::default()
        });
    }
    let flows = set.flows.iter().filter(|flow| flow.run == run);
    set.runs[run as usize].set_slowdowns(flows);
    for (entity, base) in [("tor:0/up:0", 100.0), ("tor:0/up:1", 200.0), ("tor:1/up:0", 900.0)] {
        for step in 1..=4_u32 {
            set.series.push(SeriesRow {
                run,
                series: "queue_depth_bytes".into(),
                entity: entity.into(),
                time_ps: u64::from(step) * 10_000_000,
                value: base + f64::from(step),
            });
        }
    }
}
