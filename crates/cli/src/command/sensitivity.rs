//! `anabranch reproduce --unsaid`: a figure's claims under other values of what its paper does not specify.

use crate::args::{MOST_RUNS_TOGETHER, ReproduceArgs};
use crate::execute::{Outcome, describe, execute};
use crate::failure::Failure;
use crate::figures::{self, FigureFile};
use crate::made_by::MadeBy;
use crate::output::{note, print, print_json, with_notice};
use crate::progress::time;
use crate::run_cache::RunCache;
use crate::sensitivity::{VariedFigure, papers};
use crate::source;
use crate::spool::Spool;
use crate::store::{Item, Store};
use crate::{interrupt, json, sizes};
use anabranch_report::GalleryEntry;
use anabranch_results::digest::text_digest;
use anabranch_results::{
    self as results, ClaimRow, ResultSet, RunFailure, RunRow, Sensitivity, SensitivityEntry, SetupRow,
};
use anabranch_sim::scenario::{Figure, RunPoint, Scale};
use std::collections::{BTreeMap, BTreeSet};

/// The number of runs that are carried out before the remaining time is estimated again.
const RUNS_AT_ONCE: usize = 16;

/// Runs figures under the setups that the text of their papers permits, and prints the outcomes of their claims. The
/// setups are all combinations of the varied settings, unless the combinations or their distinct runs are more than
/// [`MOST_RUNS_TOGETHER`]. In this case, each setup has at most one changed setting.
///
/// # Errors
/// An unknown figure, no figure with varied settings, a setup that cannot be resolved, output that cannot be
/// written, a run that failed, Ctrl-C.
pub fn vary(args: &ReproduceArgs, scale: Scale) -> Result<(), Failure> {
    let all = figures::all(args.figures_dir.as_deref())?;
    let with_unsaid: Vec<FigureFile> = all.iter().filter(|file| file.has_unsaid()).cloned().collect();
    let chosen = figures::choose(all, args.selection())?;
    let plans = with_notice("resolving every set-up", || plans(&chosen, scale))?;
    if plans.is_empty() {
        let varied = |file: &&FigureFile| file.read(scale).is_ok_and(|figure| varies(&figure));
        let names: Vec<&str> = with_unsaid.iter().filter(varied).map(|file| file.id.as_str()).collect();
        let help = match names.is_empty() {
            true => "there is no figure with [[unsaid]] here".to_owned(),
            false => format!("those that have it are {}", names.join(", ")),
        };
        return Err(Failure::Input(format!("--unsaid: nothing is varied in these figures\n  help: {help}")));
    }
    interrupt::catch()?;
    let mut varied: Vec<VariedFigure> = Vec::new();
    let mut interrupted = None;
    for plan in &plans {
        match plan.perform(args, scale) {
            Ok(done) => {
                if !args.output.json {
                    print(&text(&done))?;
                }
                varied.push(done);
            }
            Err(Failure::Interrupted(why)) => {
                interrupted = Some(why);
                break;
            }
            Err(other) => return Err(other),
        }
    }
    if varied.len() > 1 {
        let exhibits: Vec<GalleryEntry> = varied.iter().map(exhibit).collect();
        let index = figures::write_index(&exhibits, scale, &args.output.folder)?;
        note(&format!("index: {}", index.display()));
    }
    let papers = papers(&varied);
    if args.output.json {
        print_json(&json::unsaid(&varied, &papers, figures::scale_name(scale)))?;
    } else {
        for paper in papers.iter().filter(|paper| paper.figures > 1) {
            print(&format!("{}\n", paper.sentence()))?;
        }
    }
    let failed: usize = varied.iter().map(|done| done.failed.len()).sum();
    match interrupted {
        Some(why) => Err(Failure::Interrupted(why)),
        None if failed > 0 => Err(Failure::Run(format!("{failed} runs failed"))),
        None => Ok(()),
    }
}

fn exhibit(done: &VariedFigure) -> GalleryEntry {
    let folder = done.folder.file_name().map(|name| format!("{}/report.html", name.to_string_lossy()));
    GalleryEntry { figure: done.figure.clone(), page: folder }
}

struct Plan<'a> {
    file: &'a FigureFile,
    figure: Figure,
    /// The item under which the results are stored.
    item: Item,
    /// The distinct runs of all setups, with the names under which the run cache stores them.
    runs: Vec<(String, RunPoint)>,
    /// The setups: the figure's default, those with one changed setting, and the others, in this order.
    setups: Vec<SetupRuns>,
    together: bool,
}

struct SetupRuns {
    choice: Vec<usize>,
    /// The indices of the setup's runs in [`Plan::runs`], in the order of the scenario.
    runs: Vec<usize>,
}

fn varies(figure: &Figure) -> bool {
    figure.unsaid.iter().any(|entry| entry.varied)
}

fn plans(chosen: &[FigureFile], scale: Scale) -> Result<Vec<Plan<'_>>, Failure> {
    let mut plans = Vec::new();
    for file in chosen {
        let figure = file.read(scale)?;
        if varies(&figure) {
            plans.push(Plan::new(file, figure, scale)?);
        } else {
            note(&format!(
                "{}: left out, as nothing that its paper leaves unsaid is varied at this scale",
                file.id
            ));
        }
    }
    Ok(plans)
}

impl Plan<'_> {
    fn new(file: &FigureFile, figure: Figure, scale: Scale) -> Result<Plan<'_>, Failure> {
        let name = format!("{}-{}-unsaid", figure.id.replace('/', "-"), figures::scale_name(scale));
        let values: Vec<usize> =
            figure.unsaid.iter().map(|entry| if entry.varied { entry.values() } else { 1 }).collect();
        let mut warned = BTreeSet::new();
        let mut runs = Runs::default();
        let mut setups = Vec::new();
        for choice in one_at_a_time(&values) {
            let scenario = file.read_under(scale, &choice)?;
            for warning in scenario.check()? {
                // Several setups may cause the same warning, which is printed once.
                if warned.insert(warning.in_a_line()) {
                    note(&format!("warning: {warning}"));
                }
            }
            setups.push(SetupRuns { runs: runs.places(scenario.points()?), choice });
        }
        let together = combinations(&values, MOST_RUNS_TOGETHER);
        let mut all = None;
        if let Some(together) = together {
            let (mut runs, mut more) = (runs.clone(), Vec::new());
            for choice in together.into_iter().filter(|choice| changes(choice) > 1) {
                let scenario = file.read_under(scale, &choice)?;
                more.push(SetupRuns { runs: runs.places(scenario.points()?), choice });
            }
            all = (runs.each.len() <= MOST_RUNS_TOGETHER).then_some((runs, more));
        }
        let is_all = all.is_some();
        if let Some((with_all, more)) = all {
            runs = with_all;
            setups.extend(more);
        }
        let Some(scenario) = &figure.scenario else {
            return Err(Failure::Run(format!(
                "internal error: figure {} has no scenario to vary",
                figure.id
            )));
        };
        let own = source::self_contained(scenario)?;
        let varied: Vec<String> = figure.unsaid.iter().map(|entry| format!("{entry:?}")).collect();
        let item = Item {
            name,
            digest: text_digest(&format!("{}\n{}", own.canonical(), varied.join("\n"))),
            toml: own.to_toml(),
            facts: own.facts(&own.examine()?.facts),
            files: own.files.clone(),
            warnings: Vec::new(),
        };
        Ok(Plan { file, figure, item, runs: runs.each, setups, together: is_all })
    }

    fn perform(&self, args: &ReproduceArgs, scale: Scale) -> Result<VariedFigure, Failure> {
        let store = Store::at(&args.output.folder);
        let pending = store.begin(&self.item)?;
        let names = self.runs.iter().map(|(name, _)| name.clone()).collect();
        let kept = store.named_run_cache(&self.item, args.output.fresh, names);
        let simulated = self.simulate(args, &kept, &pending.spool())?;

        let mut setups = Vec::with_capacity(self.setups.len());
        let mut run_warnings = Vec::with_capacity(self.setups.len());
        let mut own: Option<(ResultSet, Vec<ClaimRow>)> = None;
        for setup in &self.setups {
            let ran: Vec<_> =
                setup.runs.iter().filter_map(|&run| kept.read(run, &self.runs[run].1)).collect();
            let failed_runs = setup.runs.len() - ran.len();
            let set = Outcome::finished(ran).into_results(self.figure.title.clone(), &self.item);
            let claims = figures::judge(&self.figure, scale, &set)?.claims;
            let results = claims.iter().map(|claim| claim.result.clone()).collect();
            run_warnings.push(set.run_warnings());
            setups.push(SetupRow { choice: setup.choice.clone(), claims: results, failed_runs });
            own.get_or_insert((set, claims));
        }
        let Some((mut set, _)) = own else {
            return Err(Failure::Run(format!("internal error: {} has no set-up", self.figure.id)));
        };
        let entries = self.figure.unsaid.iter().map(|entry| SensitivityEntry {
            what: entry.what.clone(),
            because: entry.because.clone(),
            parameters: entry.set.keys().cloned().collect(),
            values: (0..entry.values()).map(|place| entry.value(place)).collect(),
            settings: (0..entry.values()).map(|place| entry.settings(place)).collect(),
            varied: entry.varied,
        });
        let unsaid = Sensitivity {
            entries: entries.collect(),
            together: self.together,
            most_runs_together: MOST_RUNS_TOGETHER,
            setups,
        };
        let own_points: Vec<RunPoint> =
            self.setups[0].runs.iter().map(|&run| self.runs[run].1.clone()).collect();
        set.figure = Some(results::Figure {
            sizes: sizes::describe(&own_points),
            unsaid: Some(unsaid),
            ..figures::judge(&self.figure, scale, &set)?
        });
        let failed: Vec<(String, RunFailure)> =
            (0..self.runs.len()).filter_map(|run| Some((self.name_of(run), kept.failure(run)?))).collect();
        for (run, cause) in &failed {
            note(&format!("error: run {run}: {cause}"));
        }
        let folder = pending.finish(
            &set,
            &anabranch_report::html(&set, &MadeBy::this().provenance()),
            failed.is_empty(),
        )?;
        Ok(VariedFigure {
            figure: set.figure.expect("it was just put there"),
            folder,
            digest: self.item.digest.clone(),
            runs: self.runs.len(),
            simulated,
            wall_s: (0..self.runs.len()).filter_map(|run| kept.row(run)).map(|row| row.wall_s).sum(),
            failed,
            run_warnings,
        })
    }

    /// Simulates all runs that are not stored, and returns their number.
    fn simulate(&self, args: &ReproduceArgs, kept: &RunCache, spool: &Spool) -> Result<usize, Failure> {
        let missing: Vec<usize> = (0..self.runs.len()).filter(|&run| !kept.has(run)).collect();
        note(&format!(
            "{}: {} set-ups, {}; {} runs, {} of them kept from before",
            self.file.id,
            self.setups.len(),
            if self.together { "all combinations" } else { "one thing changed at a time" },
            self.runs.len(),
            self.runs.len() - missing.len(),
        ));
        // The runs of the default setup have the lowest indices. They are simulated first, because the time of the
        // others is estimated from them.
        let own = missing.partition_point(|run| self.setups[0].runs.contains(run));
        let mut ends = vec![own];
        while let Some(&last) = ends.last().filter(|last| **last < missing.len()) {
            ends.push((last + RUNS_AT_ONCE).min(missing.len()));
        }
        let mut done = 0;
        for end in ends {
            let batch = &missing[done..end];
            let points: Vec<RunPoint> = batch.iter().map(|&run| self.runs[run].1.clone()).collect();
            if !batch.is_empty() {
                let outcome = execute(&points, args.output.threads, &kept.subset(batch), spool)?;
                for (index, cause) in &outcome.failed {
                    kept.keep_failure(batch[*index], cause);
                }
                if outcome.interrupted {
                    let there = (0..self.runs.len()).filter(|&run| kept.has(run)).count();
                    return Err(Failure::Interrupted(format!(
                        "{}: interrupted with {there} of {} runs done, which are kept: the same command goes on from there",
                        self.file.id,
                        self.runs.len()
                    )));
                }
            }
            done = end;
            if done < missing.len() {
                note(&self.estimate(kept, &missing[done..], args.output.threads));
            }
        }
        Ok(missing.len())
    }

    /// The estimated time of the remaining runs. A run is assumed to take as long as the run with the same scheme, seed
    /// and point of the sweep under the figure's default setup. If that run is not stored, the mean time of the stored
    /// runs under the default setup is used.
    fn estimate(&self, kept: &RunCache, left: &[usize], threads: Option<u16>) -> String {
        let own = self.setups[0].runs.iter().filter_map(|&run| kept.row(run));
        let own: Vec<RunRow> = own.collect();
        let mean = own.iter().map(|row| row.wall_s).sum::<f64>() / own.len().max(1) as f64;
        let takes = |run: &usize| {
            let point = &self.runs[*run].1;
            let alike = own.iter().find(|row| {
                row.scheme == point.scheme.name && row.seed == point.seed && row.sweep == point.sweep
            });
            alike.map_or(mean, |row| row.wall_s)
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let at_a_time = threads.map_or(cores, usize::from).min(left.len()).max(1);
        let seconds = left.iter().map(takes).sum::<f64>() / at_a_time as f64;
        format!(
            "{}: {} runs left, about {} ({mean:.1} s for a run of the figure's own set-up)",
            self.file.id,
            left.len(),
            time(seconds)
        )
    }

    /// The name of a run, with the settings that the first setup with this run changes.
    fn name_of(&self, run: usize) -> String {
        let point = &self.runs[run].1;
        let name = describe(&point.scheme.name, point.seed, &point.sweep);
        let Some(setup) = self.setups.iter().find(|setup| setup.runs.contains(&run)) else { return name };
        let changed = self.figure.unsaid.iter().zip(&setup.choice).filter(|(_, place)| **place > 0);
        changed.fold(name, |name, (entry, &place)| format!("{name}, {}: {}", entry.what, entry.value(place)))
    }
}

/// The distinct runs of several setups, with their names and their indices by name.
#[derive(Clone, Default)]
struct Runs {
    each: Vec<(String, RunPoint)>,
    places: BTreeMap<String, usize>,
}

impl Runs {
    /// Adds the runs that are new, and returns the indices of all `points`.
    fn places(&mut self, points: Vec<RunPoint>) -> Vec<usize> {
        let mut place = |point: RunPoint| {
            // The debug text of a point contains everything that determines the run's results.
            let name = text_digest(&format!("{point:?}"));
            *self.places.entry(name.clone()).or_insert_with(|| {
                self.each.push((name, point));
                self.each.len() - 1
            })
        };
        points.into_iter().map(&mut place).collect()
    }
}

fn one_at_a_time(values: &[usize]) -> Vec<Vec<usize>> {
    let own = vec![0; values.len()];
    let mut choices = vec![own.clone()];
    for (entry, &count) in values.iter().enumerate() {
        for place in 1..count {
            let mut choice = own.clone();
            choice[entry] = place;
            choices.push(choice);
        }
    }
    choices
}

/// All combinations, in which the last setting changes fastest, or none if there are more than `most`.
fn combinations(values: &[usize], most: usize) -> Option<Vec<Vec<usize>>> {
    let count = values.iter().try_fold(1_usize, |count, values| count.checked_mul(*values))?;
    if count > most {
        return None;
    }
    let mut choices = vec![Vec::new()];
    for &count in values {
        choices = choices
            .into_iter()
            .flat_map(|choice| (0..count).map(move |place| [&choice[..], &[place]].concat()))
            .collect();
    }
    Some(choices)
}

fn changes(choice: &[usize]) -> usize {
    choice.iter().filter(|place| **place > 0).count()
}

fn text(done: &VariedFigure) -> String {
    let each = done.wall_s / done.runs.max(1) as f64;
    format!(
        "{}\n{} runs, {} simulated now; {each:.2} s each\nreport: {}\n\n",
        anabranch_report::unsaid_table(&done.figure),
        done.runs,
        done.simulated,
        done.folder.join("report.html").display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_change_one_entry_or_any() {
        assert_eq!(one_at_a_time(&[2, 1, 3]), [[0, 0, 0], [1, 0, 0], [0, 0, 1], [0, 0, 2]]);
        let all = combinations(&[2, 1, 3], 6).unwrap();
        assert_eq!(all, [[0, 0, 0], [0, 0, 1], [0, 0, 2], [1, 0, 0], [1, 0, 1], [1, 0, 2]]);
        assert_eq!(combinations(&[2, 1, 3], 5), None);
        assert_eq!(combinations(&[usize::MAX, 3], 6), None);
    }
}
