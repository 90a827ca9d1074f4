//! `anabranch league` runs a fixed set of scenarios, the league, and ranks the schemes of each scenario.

use super::list::state_bits;
use super::simulate;
use crate::args::{LeagueArgs, ScaleArg};
use crate::cost::{Cost, TimeLeft};
use crate::failure::{Failure, did_you_mean, reason};
use crate::figures::{self, FigureFile};
use crate::output::{note, print, print_json};
use crate::{interrupt, sizes, source, whole_file};
use anabranch_proto::PathFacts;
use anabranch_report::LeagueEntry;
use anabranch_results::Explanation;
use anabranch_sim::baseline;
use anabranch_sim::scenario::{Figure, Scale, Scenario, Scheme, setups};
use serde_json::json;
use std::fs;

/// Runs the chosen scenarios of the league, and writes the page that ranks the schemes. A scheme that does not finish
/// a scenario has no value there, and a failed run is no error.
///
/// # Errors
/// Bad input, output that cannot be written, or Ctrl-C.
pub fn league(args: &LeagueArgs) -> Result<(), Failure> {
    let scale = match args.scale {
        ScaleArg::Quick => Scale::Quick,
        ScaleArg::Paper => Scale::Paper,
    };
    let files = choose(&args.scenarios)?;
    // All scenarios are read before the first one runs, so that an error is reported immediately.
    let scenarios: Vec<LeagueScenario<'_>> = files
        .iter()
        .map(|file| LeagueScenario::read(file, scale, &args.seeds))
        .collect::<Result<_, Failure>>()?;
    interrupt::catch()?;
    let mut left = TimeLeft::new(&scenarios, LeagueScenario::cost, args.output.threads)?;
    let mut contests = Vec::new();
    for (place, LeagueScenario { name, explanation, on_common: scenario, on_own }) in
        scenarios.iter().enumerate()
    {
        note(&left.begin(&format!("league/{name}"), place));
        let stored = format!("league-{name}-{}", figures::scale_name(scale));
        let prepared = source::prepare(stored, scenario.clone())?;
        let done = simulate::scenario(&prepared, true, &args.output)?;
        if done.interrupted {
            return done.verdict();
        }
        let page = done.folder.as_ref().and_then(|folder| folder.file_name());
        let page = page.map(|folder| format!("{}/report.html", folder.to_string_lossy()));
        let sizes = sizes::describe(&prepared.points);
        let mut contest = LeagueEntry::of(name, &done.results, sizes, page, explanation.as_ref());
        let mut stored = done.stored;
        for (setup, scenario) in on_own {
            let own = format!("league-{name}-{}-{setup}", figures::scale_name(scale));
            let prepared = source::prepare(own, scenario.clone())?;
            let done = simulate::scenario(&prepared, true, &args.output)?;
            if done.interrupted {
                return done.verdict();
            }
            contest.add_own_ground(setup, &done.results);
            stored &= done.stored;
        }
        left.end(place, stored);
        contests.push(contest);
    }
    let seeds = scenarios.iter().map(|asked| asked.on_common.seeds.len()).max().unwrap_or(0);
    let heading = format!(
        "{} scale, setup common except where a paper's is named, {}; anabranch {}",
        figures::scale_name(scale),
        if seeds == 1 { "one seed: no intervals and no ranks".to_owned() } else { format!("{seeds} seeds") },
        env!("ANABRANCH_VERSION"),
    );
    let path = args.output.folder.join(format!("league-{}.html", figures::scale_name(scale)));
    let html = anabranch_report::league(&heading, &contests, &state_bits()?);
    fs::create_dir_all(&args.output.folder).and_then(|()| whole_file::put(&path, html)).map_err(|error| {
        Failure::Input(format!("{}: the page cannot be written: {}", path.display(), reason(&error)))
    })?;
    if args.output.json {
        let contests: Vec<_> = contests.iter().map(LeagueEntry::json).collect();
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

struct LeagueScenario<'f> {
    name: &'f str,
    /// The measure against which the page plots the time of each scheme.
    explanation: Option<Explanation>,
    /// All schemes of the scenario, under the common setup.
    on_common: Scenario,
    /// The scenario under setups of papers, each with the setup's name and with the paper's schemes only.
    on_own: Vec<(&'static str, Scenario)>,
}

impl<'f> LeagueScenario<'f> {
    fn read(file: &'f FigureFile, scale: Scale, seeds: &[u64]) -> Result<LeagueScenario<'f>, Failure> {
        let figure = file.read(scale)?;
        let explanation = figure.explain.clone();
        let on_common = scenario(file, figure, seeds)?;
        let mut on_own = Vec::new();
        for setup in setups() {
            let asked = |scheme: &String| on_common.schemes.iter().any(|known| known.name == *scheme);
            if setup.systems.iter().any(asked) {
                let mut own = scenario(file, file.read_on(scale, setup.name)?, seeds)?;
                own.schemes.retain(|scheme| setup.systems.contains(&scheme.name));
                // A paper's settings do not apply to a fabric whose round trip is at least as long as the paper's
                // RTO.
                let facts = own.examine()?.facts;
                let fits = |(scheme, facts): (&Scheme, &PathFacts)| {
                    scheme.transport.rto().on(facts) > facts.base_rtt
                };
                if own.schemes.iter().zip(&facts[0]).all(fits) {
                    on_own.push((setup.name, own));
                }
            }
        }
        Ok(LeagueScenario { name: file.name(), explanation, on_common, on_own })
    }

    fn cost(&self) -> Result<Cost, Failure> {
        let grounds = self.on_own.iter().map(|(_, scenario)| scenario).chain([&self.on_common]);
        let mut points = Vec::new();
        for scenario in grounds {
            let with_faults = scenario.points()?;
            points.extend(baseline::points(&with_faults));
            points.extend(with_faults);
        }
        Cost::estimate(&points, None)
    }
}

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

fn scenario(file: &FigureFile, figure: Figure, seeds: &[u64]) -> Result<Scenario, Failure> {
    let mut scenario =
        figure.scenario.ok_or_else(|| Failure::Input(format!("{}: it has no scenario", file.id)))?;
    scenario.title = figure.title;
    if !seeds.is_empty() {
        scenario.seeds = seeds.to_vec();
    }
    Ok(scenario)
}
