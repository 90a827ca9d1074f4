//! Digests of runs, texts and files. Two runs with equal digests have the same simulated results, except for the
//! numbers that the digest leaves out.

use crate::declared::{Column, ColumnType, Columns};
use crate::encoder::Encoder;
#[cfg(feature = "files")]
use crate::encoder::shorten;
use crate::{FlowRow, JobRow, RunRow, Value};

/// The digest of everything that was simulated in one run: its row, its flows and its jobs, in the given order.
///
/// The digest leaves out the wall-clock time, the digest itself, the series (observers must not change a digest), the
/// warnings, the rows of faults and parts, the mark of a baseline, and the run's index in its result set. It also
/// leaves out derived numbers (slowdowns, packets of a flow, ideal CCTs, bandwidths, the number of finished jobs,
/// comparisons with a baseline) and the columns about queues. The counters of each flow are left out, but the sums of
/// retransmissions and timeouts over the run are included. The groups of flows are included only if there are any, so
/// that results without groups keep the digest that they had before groups were introduced. The digest has 32
/// hexadecimal digits: the first 16 bytes of a BLAKE3 hash.
pub fn run_digest(run: &RunRow, flows: &[FlowRow], jobs: &[JobRow]) -> String {
    let mut hash = Encoder::default();
    hash.text("anabranch run 2");
    add_columns(&mut hash, run, |column| column.key);
    hash.number(run.sweep.len() as u64);
    for (name, value) in &run.sweep {
        hash.text(name);
        add_value(&mut hash, value);
    }
    add_columns(&mut hash, run, |column| !column.key && column.kind == ColumnType::U64);
    add_columns(&mut hash, run, |column| !column.key && column.kind != ColumnType::U64);
    hash.number(run.extra.len() as u64);
    for (name, value) in &run.extra {
        hash.text(name);
        hash.float(*value);
    }
    hash.number(flows.len() as u64);
    for flow in flows {
        add_columns(&mut hash, flow, |_| true);
    }
    hash.number(jobs.len() as u64);
    for job in jobs {
        add_columns(&mut hash, job, |_| true);
    }
    if flows.iter().any(|flow| !flow.group.is_empty()) {
        flows.iter().for_each(|flow| hash.text(&flow.group));
    }
    hash.finish()
}

/// The digest of a text, such as a resolved scenario. It has 32 hexadecimal digits.
pub fn text_digest(text: &str) -> String {
    let mut hash = Encoder::default();
    hash.text("anabranch text 1");
    hash.text(text);
    hash.finish()
}

#[cfg(feature = "files")]
pub(crate) fn bytes_digest(bytes: &[u8]) -> String {
    shorten(blake3::hash(bytes))
}

/// The digest of a file whose bytes arrive in pieces.
#[cfg(feature = "files")]
#[derive(Default)]
pub(crate) struct BytesDigest(blake3::Hasher);

#[cfg(feature = "files")]
impl BytesDigest {
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(crate) fn finish(&self) -> String {
        shorten(self.0.finalize())
    }
}

fn add_columns(hash: &mut Encoder, row: &impl Columns, part: fn(&Column) -> bool) {
    row.visit(&mut |column, cell| {
        if column.digest && part(column) {
            cell.add_to(hash);
        }
    });
}

fn add_value(hash: &mut Encoder, value: &Value) {
    match value {
        Value::Bool(value) => {
            hash.number(0);
            hash.number(u64::from(*value));
        }
        Value::Integer(value) => {
            hash.number(1);
            hash.number(value.cast_unsigned());
        }
        Value::Number(value) => {
            hash.number(2);
            hash.float(*value);
        }
        Value::Text(value) => {
            hash.number(3);
            hash.text(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    fn run() -> RunRow {
        RunRow {
            scheme: "reps".into(),
            seed: 1,
            sweep: BTreeMap::from([("topology.oversubscription".into(), Value::Integer(4))]),
            flows: 2,
            fct_max_us: 12.5,
            extra: BTreeMap::from([("rounds".into(), 3.0)]),
            ..RunRow::default()
        }
    }

    fn flow(number: u32) -> FlowRow {
        FlowRow {
            run: 0,
            flow: number,
            qp: 0,
            src: 1,
            dst: 2,
            bytes: 4096,
            start_ps: Some(0),
            delivery_ps: Some(7),
            fct_ps: None,
            ideal_fct_ps: 5,
            group: "".into(),
            packets: 1,
            retransmissions: Some(0),
            ..FlowRow::default()
        }
    }

    fn job(number: u32) -> JobRow {
        JobRow {
            run: 0,
            job: number,
            algorithm: "ring".into(),
            ranks: 4,
            bytes: 1 << 20,
            start_ps: 3,
            ideal_cct_ps: 4,
            cct_ps: Some(9),
            ..JobRow::default()
        }
    }

    #[test]
    fn what_follows_from_the_rest_and_place_in_the_set_do_not_count() {
        let base = run_digest(&run(), &[flow(0), flow(1)], &[job(0)]);
        let slower = RunRow {
            wall_s: 9.0,
            digest: "x".into(),
            slowdown_p95: 3.0,
            baseline: true,
            ideal_cct_max_us: 1.0,
            time_to_recover_us: Some(1.0),
            queue_p99_bytes: 1,
            peak_queue_bytes: 1,
            peak_queue_link: "x".into(),
            ..run()
        };
        let moved = FlowRow { run: 5, packets: 9, retransmissions: None, timeouts: Some(2), ..flow(0) };
        assert_eq!(
            base,
            run_digest(
                &slower,
                &[moved, flow(1)],
                &[JobRow { run: 5, ideal_cct_ps: 1, busbw_gbytes_per_sec: Some(1.0), ..job(0) }]
            )
        );
    }

    #[test]
    fn whatever_is_simulated_counts() {
        let base = run_digest(&run(), &[flow(0)], &[]);
        let others = [
            run_digest(&RunRow { scheme: "ops".into(), ..run() }, &[flow(0)], &[]),
            run_digest(&RunRow { seed: 2, ..run() }, &[flow(0)], &[]),
            run_digest(&RunRow { timeouts: 1, ..run() }, &[flow(0)], &[]),
            run_digest(&RunRow { fct_max_us: 12.6, ..run() }, &[flow(0)], &[]),
            run_digest(&RunRow { sweep: BTreeMap::new(), ..run() }, &[flow(0)], &[]),
            run_digest(&RunRow { extra: BTreeMap::new(), ..run() }, &[flow(0)], &[]),
            run_digest(&run(), &[], &[]),
            run_digest(&run(), &[FlowRow { fct_ps: Some(0), ..flow(0) }], &[]),
            run_digest(&run(), &[FlowRow { start_ps: None, ..flow(0) }], &[]),
            run_digest(&run(), &[FlowRow { group: "incast".into(), ..flow(0) }], &[]),
            run_digest(&run(), &[FlowRow { group: "background".into(), ..flow(0) }], &[]),
            run_digest(&RunRow { jobs: 1, ..run() }, &[flow(0)], &[]),
            run_digest(&RunRow { cct_max_us: 1.0, ..run() }, &[flow(0)], &[]),
            run_digest(&RunRow { pause_frames: 1, ..run() }, &[flow(0)], &[]),
            run_digest(&RunRow { pause_us: 1.0, ..run() }, &[flow(0)], &[]),
            run_digest(&run(), &[flow(0)], &[job(0)]),
            run_digest(&run(), &[flow(0)], &[job(1)]),
            run_digest(&run(), &[flow(0)], &[JobRow { algorithm: "butterfly".into(), ..job(0) }]),
            run_digest(&run(), &[flow(0)], &[JobRow { ranks: 5, ..job(0) }]),
            run_digest(&run(), &[flow(0)], &[JobRow { bytes: 5, ..job(0) }]),
            run_digest(&run(), &[flow(0)], &[JobRow { start_ps: 5, ..job(0) }]),
            run_digest(&run(), &[flow(0)], &[JobRow { cct_ps: None, ..job(0) }]),
        ];
        let different: BTreeSet<&String> = others.iter().chain([&base]).collect();
        assert_eq!(different.len(), others.len() + 1);
    }

    /// Digests are stored with results, so their definition must not change.
    #[test]
    fn the_definition_is_stable() {
        assert_eq!(text_digest("a scenario"), "50519770bf36c66bba3145c4ba60cc70");
        assert_eq!(run_digest(&run(), &[flow(0)], &[job(0)]), "dbba1657c5e1095cdc431abae583747d");
    }
}
