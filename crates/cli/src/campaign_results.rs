//! The runs of a campaign as one set of results.

use crate::failure::Failure;
use crate::source::{self, input};
use anabranch_results::{Dataset, ResultSet};
use anabranch_sim::scenario::{Overrides, read};
use std::path::Path;

const PLAN: &str = "plan.toml";

pub fn is_campaign(folder: &Path) -> bool {
    folder.join(PLAN).is_file() && !folder.join("runs.parquet").exists()
}

/// The results in a folder: the results of a scenario, or all runs that a campaign has finished so far.
///
/// # Errors
/// The folder holds neither complete results nor a campaign with a finished run, or the campaign's plan or one of its
/// runs cannot be read.
pub fn open(folder: &Path) -> Result<ResultSet, Failure> {
    if !is_campaign(folder) {
        return ResultSet::open(folder).map_err(input);
    }
    let plan = folder.join(PLAN);
    let written = source::open(&plan)?;
    let scenario = read(&written.shown, &written.text, &written.folder, &Overrides::default())?;
    let all = scenario.points()?.len();
    let examined = scenario.examine()?;
    let mut whole = ResultSet {
        title: scenario.title.clone(),
        scenario_toml: written.text.clone(),
        facts: scenario.facts(&examined.facts),
        ..ResultSet::default()
    };
    let dataset = Dataset::at(folder);
    for number in (0..all).filter(|number| dataset.has(*number)) {
        add(&mut whole, ResultSet::open(&dataset.task(number)).map_err(input)?);
    }
    let there = whole.runs.len();
    if there == 0 {
        return Err(Failure::Input(format!(
            "{}: a campaign of which no run is there yet\n  help: write: anabranch campaign {} --out {}",
            folder.display(),
            plan.display(),
            folder.display()
        )));
    }
    if there < all {
        whole.warnings.push(format!(
            "{there} of the campaign's {all} runs are here: means are over the seeds that are, which may be others for other \
             schemes"
        ));
    }
    Ok(whole)
}

fn add(whole: &mut ResultSet, mut part: ResultSet) {
    let before = whole.runs.len() as u32;
    part.flows.iter_mut().for_each(|flow| flow.run += before);
    part.jobs.iter_mut().for_each(|job| job.run += before);
    part.parts.iter_mut().for_each(|part| part.run += before);
    part.series.iter_mut().for_each(|row| row.run += before);
    part.filed.iter_mut().for_each(|filed| filed.run += before);
    whole.runs.append(&mut part.runs);
    whole.flows.append(&mut part.flows);
    whole.jobs.append(&mut part.jobs);
    whole.parts.append(&mut part.parts);
    whole.series.append(&mut part.series);
    whole.filed.append(&mut part.filed);
    for warning in part.warnings {
        if !whole.warnings.contains(&warning) {
            whole.warnings.push(warning);
        }
    }
}
