//! `anabranch replay`: the nodes of a recorded testbed run, with the same inputs again.

use crate::execute::{describe, guarded};
use crate::failure::Failure;
use crate::output::print;
use crate::record::{self, RecordedRun};
use anabranch_live::Replayed;
use std::path::Path;

/// Replays all runs of a record.
///
/// # Errors
/// The folder is not a record that this version can replay, the fabric of a run cannot be built, a node sends other
/// bytes or signals than in the record, a run is unfinished or missing, or standard output cannot be written.
pub fn replay(folder: &Path) -> Result<(), Failure> {
    let (prepared, runs) = record::open(folder)?;
    let is_missing = |number: &usize| runs.iter().all(|run| run.number != *number);
    let missing: Vec<usize> = (0..prepared.points.len()).filter(is_missing).collect();
    let mut cut_off = Vec::new();
    for RecordedRun { number, folder, unfinished } in runs {
        let point = &prepared.points[number];
        let named = describe(&point.scheme.name, point.seed, &point.sweep);
        let failed = |what: &dyn std::fmt::Display| Failure::Run(format!("{named}: {what}"));
        let built = anabranch_sim::build(point).map_err(|error| failed(&error))?;
        let replayed = guarded(|| anabranch_live::replay(point, &built, &folder, unfinished))
            .map_err(|panic| failed(&panic))?;
        let Replayed { processes, inputs, outputs } = replayed.map_err(|error| failed(&error))?;
        print(&format!(
            "{named}: {processes} processes got {inputs} inputs again, and all {outputs} outputs are those of the record\n"
        ))?;
        if unfinished {
            cut_off.push(named);
        }
    }
    let absent = missing.into_iter().map(|number| {
        let point = &prepared.points[number];
        format!("{} ({})", record::run_name(number), describe(&point.scheme.name, point.seed, &point.sweep))
    });
    let absent: Vec<String> = absent.collect();
    let mut problems = Vec::new();
    if !cut_off.is_empty() {
        problems.push(format!(
            "the record of {} is cut off, because the run was ended early; what it has was replayed and agrees",
            cut_off.join(" and of ")
        ));
    }
    if !absent.is_empty() {
        problems.push(format!(
            "the record has no {}, which its scenario has: the testbed was ended before, or the folder was removed",
            absent.join(" and no ")
        ));
    }
    match problems.is_empty() {
        true => Ok(()),
        false => Err(Failure::Run(format!(
            "{}\n  help: record the run again with `anabranch testbed ... --record DIR`, and a larger --limit if the limit ended it",
            problems.join("; ")
        ))),
    }
}
