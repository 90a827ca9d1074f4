//! `anabranch run`: simulates a scenario and compares its schemes.

use super::astra;
use super::simulate::scenario;
use crate::args::RunArgs;
use crate::failure::Failure;
use crate::output::{print, print_json, width};
use crate::{interrupt, json, question, source};
use anabranch_sim::scenario::Overrides;
use serde_json::json;

/// Simulates a scenario, or with `--astra` every example in a folder, and prints and stores the results.
///
/// # Errors
/// Bad input, output that cannot be written, a run that failed, Ctrl-C.
pub fn run(args: &RunArgs) -> Result<(), Failure> {
    interrupt::catch()?;
    let over = Overrides { schemes: args.schemes.clone(), seeds: args.seeds.clone(), ..Overrides::default() };
    let path = match (&args.astra, &args.scenario) {
        (Some(folder), _) => return astra::run(folder, args),
        (None, Some(scenario)) => scenario,
        (None, None) => {
            return Err(Failure::Input(
                "there is no scenario\n  help: name a scenario's TOML file".to_owned(),
            ));
        }
    };
    let written = source::open(path)?;
    let prepared = source::load(&written, &over)?;
    question::check(&written, &over)?;
    let done = scenario(&prepared, !args.no_baseline, &args.output)?;
    if args.output.json {
        let mut document = json::run(&prepared.item.digest, &done);
        document["ground"] = json!(prepared.ground);
        document["diagnostics"] = json!(prepared.warnings);
        print_json(&document)?;
    } else if let Some(folder) = &done.folder {
        let more = format!("anabranch report {}", folder.display());
        let mut table = anabranch_report::brief(&done.results, width(), &more);
        if args.per_seed {
            table = format!("{}\n\n{}", table.trim_end(), anabranch_report::per_seed(&done.results, width()));
        }
        let page = folder.join("report.html");
        print(&format!("{}\n\n{}\n\nreport: {}\n", done.results.title, table.trim_end(), page.display()))?;
    }
    done.verdict()
}
