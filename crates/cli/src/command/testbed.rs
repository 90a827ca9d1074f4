//! `anabranch testbed`: a scenario on real packets, beside its simulation.

use crate::args::TestbedArgs;
use crate::failure::Failure;
use crate::made_by::MadeBy;
use crate::output::{note, print, print_json, width};
use crate::real_packets::{Options, check_run, comparison, documents, run_all};
use crate::source::Prepared;
use crate::store::{Item, Pending, Store};
use crate::{interrupt, record, source};
use anabranch_results::ResultSet;
use anabranch_sim::scenario::{Overrides, RunPoint};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Runs a scenario on real packets and in the simulator. Prints and stores both results with their differences. With
/// `--check` or without a scenario, it only prints what a testbed needs and whether this machine has it.
///
/// # Errors
/// Bad input, a machine without what a testbed needs, output that cannot be written, a run that failed, Ctrl-C.
pub fn testbed(args: &TestbedArgs) -> Result<(), Failure> {
    let Some(path) = args.scenario.as_ref().filter(|_| !args.check) else { return check(args) };
    interrupt::catch_once()?;
    let removed = anabranch_live::remove_left_behind();
    if removed > 0 {
        note(&format!("removed {removed} network namespaces of a testbed that was killed"));
    }
    let over = Overrides {
        schemes: args.schemes.clone(),
        seeds: args.seeds.clone(),
        // A run on real packets takes long, so the default is one seed.
        usual_seeds: vec![1],
    };
    let written = source::open(path)?;
    let prepared = source::load(&written, &over)?;
    let placed =
        |point: &RunPoint| check_run(point).map_err(|failure| written.placed(failure, &point.scheme.name));
    prepared.points.iter().try_for_each(placed)?;
    let item = Item { name: format!("{}-live", prepared.item.name), ..prepared.item.clone() };
    // A folder that cannot be written is refused before the runs, which take long.
    let pending = Store::at(&args.folder).begin(&item)?;
    if let Some(folder) = &args.record {
        record::begin(folder, &prepared)?;
    }
    let TestbedArgs { dilation, sockets, limit, .. } = *args;
    let options = Options { dilation, sockets, limit, record: args.record.clone() };
    let mut finished = run_all(&prepared.points, &options);
    let folder = store(&prepared, &mut finished.set, pending)?;
    let page = folder.map(|folder| folder.join("report.html"));
    if args.json {
        print_json(&json!({
            "title": prepared.scenario.title,
            "runs": documents(&finished.set),
            "failed": finished.failed,
            "report": page,
        }))?;
    } else if let Some(page) = page {
        print(&format!("{}\nreport: {}\n", tables(&finished.set), page.display()))?;
    }
    finished.verdict(prepared.points.len())
}

/// Stores the finished runs and their page. Returns the folder, or `None` if no run finished. If writing fails, the tables
/// are printed, so that the results are not lost.
fn store(prepared: &Prepared, set: &mut ResultSet, pending: Pending) -> Result<Option<PathBuf>, Failure> {
    set.title.clone_from(&prepared.scenario.title);
    set.scenario_toml.clone_from(&prepared.item.toml);
    set.facts = prepared.item.facts.clone();
    set.warnings.clone_from(&prepared.item.warnings);
    if set.runs.is_empty() {
        return Ok(None);
    }
    let html = anabranch_report::html(set, &MadeBy::this().provenance());
    let written = pending.finish(set, &html, set.missing.is_empty());
    written.map(Some).inspect_err(|_| note(&tables(set)))
}

fn tables(set: &ResultSet) -> String {
    let mut simulated = ResultSet { live: Vec::new(), ..set.clone() };
    simulated.runs = set.live.iter().map(|live| live.simulated.clone()).collect();
    let [live, simulated] =
        [set, &simulated].map(|set| anabranch_report::table(set, width()).trim_end().to_owned());
    format!(
        "{}\n\nLIVE\n\n{live}\n\nSIMULATED: the same runs\n\n{simulated}\n\nDIFFERENCES: live beside simulated\n\n{}",
        set.title,
        comparison(set)
    )
}

fn check(args: &TestbedArgs) -> Result<(), Failure> {
    let needs = anabranch_live::check();
    let missing = needs.iter().filter(|need| need.problem.is_some()).count();
    if args.json {
        let list = needs.iter().map(|need| json!({ "need": need.what, "problem": need.problem }));
        print_json(&json!({ "needs": list.collect::<Vec<Value>>(), "missing": missing }))?;
    } else {
        for need in &needs {
            let state = need.problem.as_deref().unwrap_or("there");
            print(&format!("{}: {state}\n", need.what))?;
        }
    }
    match missing {
        0 => Ok(()),
        _ => Err(Failure::Run(format!("{missing} of {} needs of a testbed are missing", needs.len()))),
    }
}
