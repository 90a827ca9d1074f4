//! `anabranch testbed`: a scenario on real packets, beside its simulation.

use crate::args::TestbedArgs;
use crate::failure::Failure;
use crate::output::{note, print, print_json, width};
use crate::real_packets::{Finished, Options, Pair, check_run, differences, document, run_all, validity};
use crate::source::Prepared;
use crate::{interrupt, record, source};
use anabranch_results::{ResultSet, RunRow};
use anabranch_sim::scenario::{Overrides, RunPoint};
use anabranch_sim::{RunResult, add};
use serde_json::{Value, json};

/// Runs a scenario on real packets and in the simulator, and prints both results with their differences. With
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
    if let Some(folder) = &args.record {
        record::begin(folder, &prepared)?;
    }
    let TestbedArgs { dilation, sockets, limit, .. } = *args;
    let options = Options { dilation, sockets, limit, record: args.record.clone() };
    let finished = run_all(&prepared.points, &options);
    if args.json {
        print_json(&json!({
            "title": prepared.scenario.title,
            "runs": finished.pairs.iter().map(document).collect::<Vec<Value>>(),
            "failed": finished.failed,
        }))?;
    } else if !finished.pairs.is_empty() {
        print(&tables(&prepared, &finished))?;
    }
    finished.verdict(prepared.points.len())
}

fn tables(prepared: &Prepared, finished: &Finished) -> String {
    let set = |title: &str, rows: &dyn Fn(&Pair) -> RunRow| {
        let mut set = ResultSet {
            title: title.to_owned(),
            scenario_toml: prepared.item.toml.clone(),
            facts: prepared.item.facts.clone(),
            ..ResultSet::default()
        };
        for pair in &finished.pairs {
            add(&mut set, RunResult::new(rows(pair), Vec::new(), Vec::new(), Vec::new()));
        }
        format!("{title}\n\n{}", anabranch_report::table(&set, width()).trim_end())
    };
    let live = set("LIVE: real packets, all times divided by the dilation", &|pair| pair.live.row.clone());
    let simulated = set("SIMULATED: the same runs", &|pair| pair.simulated.clone());
    format!(
        "{}\n\n{live}\n\n{simulated}\n\nDIFFERENCES: live beside simulated\n\n{}\n{}",
        prepared.scenario.title,
        differences(&finished.pairs),
        validity(&finished.pairs)
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
