//! `anabranch campaign`: the runs of a scenario, each in a folder of its own.

use crate::args::CampaignArgs;
use crate::execute::{timed, watched};
use crate::failure::{Failure, reason, unwritable};
use crate::made_by::MadeBy;
use crate::output::{note, print, print_json};
use crate::progress::Progress;
use crate::{interrupt, question, source};
use anabranch_results::{Dataset, DatasetError};
use anabranch_sim::scenario::{Diagnostic, Overrides, read};
use anabranch_sim::{Control, RunError, RunResult, Session, sample, threads_of};
use rayon::prelude::*;
use serde_json::json;
use std::path::Path;

/// The outcome of a run; none where it was stopped.
type RunStatus = Option<Result<(), String>>;

/// Carries out the runs of a scenario that are not in a folder yet, each into a folder of its own.
///
/// # Errors
/// Bad input, a folder of another campaign, runs that failed, Ctrl-C. What is finished stays, and the same command goes on.
pub fn campaign(args: &CampaignArgs) -> Result<(), Failure> {
    let (number, of) = args.share;
    let session = session(&args.plan)?;
    if args.folder.to_string_lossy().contains("://") {
        let (plan, place) = (args.plan.display(), args.folder.display());
        return Err(Failure::Input(format!(
            "{place}: the command writes to folders, the Python package to object storage too\n  help: write: \
             python -m anabranch.campaign {plan} --out {place}"
        )));
    }
    if let Some(tasks) = args.slurm {
        if args.plan == Path::new("-") {
            let why = "a job script needs a plan that its tasks can read\n  help: name its file, not standard input";
            return Err(Failure::Input(why.to_owned()));
        }
        return print(&slurm_script(args, tasks)?);
    }
    session.warnings().iter().for_each(|warning: &Diagnostic| note(&format!("warning: {warning}")));
    if args.status && !args.folder.exists() {
        return Err(Failure::Input(format!(
            "{}: no such folder\n  help: without --status the runs are carried out into it",
            args.folder.display()
        )));
    }
    let dataset = claimed(&args.folder, &session)?;
    let asked = match args.sample {
        Some(count) => sample(session.actual(), count, args.sample_seed),
        None => (0..session.actual()).collect(),
    };
    let here = |run: &&usize| **run % of == number && !dataset.has(**run);
    let runs: Vec<usize> =
        if args.status { Vec::new() } else { asked.iter().filter(here).copied().collect() };
    interrupt::catch()?;
    let ends = carry_out(&session, &runs, args.threads, |run, end| {
        let results = session.result_of(run, end);
        if let Some(missing) = results.missing.first() {
            return Err(missing.cause.as_ref().map(ToString::to_string).unwrap_or_default());
        }
        let page = anabranch_report::html(&results, &MadeBy::this().provenance());
        dataset.put(run, &results, session.files(), &page).map_err(|error| error.to_string())
    })?;
    let there = asked.iter().filter(|run| dataset.has(**run)).count();
    let failed: Vec<(String, String)> = runs
        .iter()
        .zip(&ends)
        .filter_map(|(run, end)| Some((session.name(*run), end.as_ref()?.as_ref().err()?.clone())))
        .collect();
    failed.iter().for_each(|(name, why)| note(&format!("{name}: {why}")));
    let folder = args.folder.display();
    if args.json {
        let failed: Vec<_> = failed.iter().map(|(name, why)| json!({ "run": name, "error": why })).collect();
        print_json(&json!({ "folder": args.folder, "runs": asked.len(), "there": there, "failed": failed }))?;
    } else {
        print(&format!("{there} of {} runs in {folder}\n", asked.len()))?;
    }
    if !failed.is_empty() {
        return Err(Failure::Run(format!(
            "{} of {} runs failed; the others are there",
            failed.len(),
            runs.len()
        )));
    }
    if ends.iter().any(Option::is_none) {
        let why = "interrupted; what was finished stays, and the same command goes on".to_owned();
        return Err(Failure::Interrupted(why));
    }
    Ok(())
}

/// The runs of a plan.
fn session(plan: &Path) -> Result<Session, Failure> {
    let written = source::open(plan)?;
    let over = Overrides { usual_seeds: Overrides::USUAL_SEEDS.into(), ..Overrides::default() };
    question::check(&written, &over)?;
    let scenario = read(&written.shown, &written.text, &written.folder, &over)?;
    let scenario = written.titled(scenario);
    // An error in a file that the plan names cites the user's file, not its copy below `inputs/`.
    Session::of(source::self_contained(&scenario)?)
        .map_err(|of_a_copy| source::input(scenario.examine().err().unwrap_or(of_a_copy)))
}

/// The folder of a campaign, which is this session's or new.
fn claimed(folder: &Path, session: &Session) -> Result<Dataset, Failure> {
    Dataset::claim(folder, session.resolved(), session.files()).map_err(|error| match error {
        DatasetError::Unwritable { folder, source } => {
            unwritable(&folder, &source, "folder that can be written with --out DIR")
        }
        error @ DatasetError::OtherCampaign { .. } => Failure::Input(error.to_string()),
    })
}

/// Carries out `runs` on all threads and hands each to `ended`, which keeps it.
fn carry_out(
    session: &Session,
    runs: &[usize],
    threads: Option<u16>,
    ended: impl Fn(usize, Result<RunResult, RunError>) -> Result<(), String> + Sync,
) -> Result<Vec<RunStatus>, Failure> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads.map_or(0, usize::from))
        .build()
        .map_err(|error| Failure::Run(format!("threads cannot be started: {error}")))?;
    let points = session.points();
    let all = pool.current_num_threads();
    let controls: Vec<Control> = runs
        .iter()
        .map(|run| Control { threads: threads_of(&points[*run], all, runs.len()), ..session.control(*run) })
        .collect();
    let progress = Progress::new(runs.len());
    let one = |slot: usize, index: usize, control: &Control| -> RunStatus {
        if interrupt::asked_to_stop() {
            return None;
        }
        let (mut end, wall_s) = timed(slot, &session.name(index), &points[index], control, &progress);
        if let Ok(Ok(result)) = &mut end {
            result.run.wall_s = wall_s;
        }
        match end {
            Ok(Err(RunError::Cancelled)) => None,
            Ok(end) => Some(ended(index, end)),
            Err(panic) => Some(Err(panic)),
        }
    };
    let ends = watched(
        &controls,
        || progress.draw(&controls),
        || {
            pool.install(|| {
                let each = runs.par_iter().zip(&controls).enumerate().with_max_len(1);
                each.map(|(slot, (run, control))| one(slot, *run, control)).collect()
            })
        },
    );
    progress.clear();
    Ok(ends)
}

/// A job script for `sbatch`: an array of `tasks` tasks, each of which does its share.
fn slurm_script(args: &CampaignArgs, tasks: usize) -> Result<String, Failure> {
    let program = std::env::current_exe()
        .map_err(|error| Failure::Run(format!("this program cannot be found: {}", reason(&error))))?;
    let absolute = |path: &Path| {
        let path = std::path::absolute(path);
        path.map_err(|error| Failure::Input(format!("{}: {}", args.plan.display(), reason(&error))))
    };
    let mut words = vec![
        quoted(&program),
        "campaign".to_owned(),
        quoted(&absolute(&args.plan)?),
        "--out".to_owned(),
        quoted(&absolute(&args.folder)?),
    ];
    if let Some(count) = args.sample {
        words.push(format!("--sample {count} --sample-seed {}", args.sample_seed));
    }
    let mut script = format!(
        "#!/bin/bash\n#SBATCH --job-name=anabranch\n#SBATCH --array=0-{}\n#SBATCH --ntasks=1\n",
        tasks - 1
    );
    args.sbatch.iter().for_each(|option| script.push_str(&format!("#SBATCH {option}\n")));
    script.push_str(&format!(
        "exec {} --threads \"${{SLURM_CPUS_PER_TASK:-1}}\" --share \"$SLURM_ARRAY_TASK_ID/{tasks}\"\n",
        words.join(" ")
    ));
    Ok(script)
}

/// A path as one word of a shell.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.to_string_lossy().replace('\'', "'\\''"))
}
