//! `anabranch league`.

use super::list::balancer_and_program_bits;
use super::simulate;
use crate::args::{LeagueArgs, ScaleArg};
use crate::failure::{Failure, did_you_mean, reason};
use crate::figures::{self, FigureFile};
use crate::output::{note, print, print_json};
use crate::{clock, interrupt, progress, sizes, source};
use anabranch_report::Contest;
use anabranch_sim::scenario::{Scale, Scenario};
use serde_json::json;
use std::fs;

/// Runs every scheme in every scenario of the league, and writes the page that ranks them.
///
/// # Errors
/// An unknown scenario, a folder that cannot be written, Ctrl-C. A run that failed is part of the result: a scheme that
/// does not get through a scenario has no number there.
pub fn league(args: &LeagueArgs) -> Result<(), Failure> {
    let scale = match args.scale {
        ScaleArg::Quick => Scale::Quick,
        ScaleArg::Paper => Scale::Paper,
    };
    let files = choose(&args.scenarios)?;
    // All are read before the first one runs, so that a fault shows at once.
    let scenarios: Vec<(&str, Scenario)> = files
        .iter()
        .map(|file| Ok((file.name(), read(file, scale, &args.seeds)?)))
        .collect::<Result<_, Failure>>()?;
    interrupt::catch()?;
    let begun = clock::now();
    let mut contests = Vec::new();
    for (place, (name, scenario)) in scenarios.iter().enumerate() {
        let seconds = begun.elapsed().as_secs_f64();
        note(&format!(
            "league/{name}, {} of {}, {} so far",
            place + 1,
            scenarios.len(),
            progress::time(seconds)
        ));
        let stored = format!("league-{name}-{}", figures::scale_name(scale));
        let prepared = source::prepare(stored, scenario.clone())?;
        let done = simulate::scenario(&prepared, true, &args.output)?;
        if done.interrupted {
            return done.verdict();
        }
        let page = done.folder.as_ref().and_then(|folder| folder.file_name());
        let page = page.map(|folder| format!("{}/report.html", folder.to_string_lossy()));
        contests.push(Contest::of(name, &done.results, sizes::of(&prepared.points), page));
    }
    let seeds = scenarios.iter().map(|(_, scenario)| scenario.seeds.len()).max().unwrap_or(0);
    let heading = format!(
        "{} scale, setup common, {}; anabranch {}",
        figures::scale_name(scale),
        if seeds == 1 { "one seed: no intervals and no ranks".to_owned() } else { format!("{seeds} seeds") },
        env!("ANABRANCH_VERSION"),
    );
    let path = args.output.folder.join(format!("league-{}.html", figures::scale_name(scale)));
    let html = anabranch_report::league(&heading, &contests, &balancer_and_program_bits()?);
    fs::create_dir_all(&args.output.folder).and_then(|()| fs::write(&path, html)).map_err(|error| {
        Failure::Input(format!("{}: the page cannot be written: {}", path.display(), reason(&error)))
    })?;
    if args.output.json {
        let contests: Vec<_> = contests.iter().map(Contest::json).collect();
        return print_json(
            &json!({ "scale": figures::scale_name(scale), "scenarios": contests, "page": path }),
        );
    }
    let mut text = String::new();
    for contest in &contests {
        text.push_str(&format!("{}: {}\n", contest.name, contest.answer()));
    }
    print(&format!("{text}\npage: {}\n", path.display()))
}

/// The scenarios of these names, all of them where there are none.
fn choose(wanted: &[String]) -> Result<Vec<FigureFile>, Failure> {
    let mut all = figures::league();
    for name in wanted {
        if !all.iter().any(|file| file.name() == name) {
            let names: Vec<&str> = all.iter().map(FigureFile::name).collect();
            let near = did_you_mean(name, names.iter().copied());
            return Err(Failure::Input(format!(
                "the league has no scenario {name:?}{near}\n  help: one of {}",
                names.join(", ")
            )));
        }
    }
    all.retain(|file| wanted.is_empty() || wanted.iter().any(|name| name == file.name()));
    Ok(all)
}

fn read(file: &FigureFile, scale: Scale, seeds: &[u64]) -> Result<Scenario, Failure> {
    let figure = file.read(scale)?;
    let mut scenario =
        figure.scenario.ok_or_else(|| Failure::Input(format!("{}: it has no scenario", file.id)))?;
    scenario.title = figure.title;
    if !seeds.is_empty() {
        scenario.seeds = seeds.to_vec();
    }
    Ok(scenario)
}
