//! `anabranch run`.

use super::simulate::Job;
use crate::args::RunArgs;
use crate::execute::execute;
use crate::failure::Failure;
use crate::output::{print, print_json, width};
use crate::{interrupt, json, source};
use anabranch_sim::scenario::Overrides;
use serde_json::json;

/// Simulates a scenario, prints its table and writes its results.
///
/// # Errors
/// Bad input, a folder that cannot be written, a run that failed, Ctrl-C.
pub fn run(args: &RunArgs) -> Result<(), Failure> {
    interrupt::catch()?;
    let over = Overrides { schemes: args.schemes.clone(), seeds: args.seeds.clone() };
    let prepared = source::load(&args.scenario, &over)?;
    let job = Job {
        item: &prepared.item,
        title: &prepared.scenario.title,
        runs: prepared.points.len(),
        simulate: &|kept, spool| execute(&prepared.points, args.output.threads, kept, spool),
        figure: &|_| Ok(None),
    };
    let done = job.perform(&args.output)?;
    if args.output.json {
        let mut document = json::run(&prepared.item.digest, &done);
        document["ground"] = json!(prepared.ground);
        print_json(&document)?;
    } else if let Some(folder) = &done.folder {
        let table = anabranch_report::table(&done.results, width());
        let page = folder.join("report.html");
        print(&format!("{}\n\n{}\n\nreport: {}\n", done.results.title, table.trim_end(), page.display()))?;
    }
    done.verdict()
}
