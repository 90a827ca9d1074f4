//! `anabranch campaign`: the runs of a scenario, each in its own folder.

use crate::args::CampaignArgs;
use crate::execute::{timed, watched};
use crate::failure::{Failure, reason, unwritable};
use crate::made_by::MadeBy;
use crate::output::{note, print, print_json};
use crate::progress::Progress;
use crate::{interrupt, json, question, source};
use anabranch_results::{Dataset, DatasetError, ResultSet, RunFailure};
use anabranch_sim::scenario::{Diagnostic, Overrides, read};
use anabranch_sim::{Control, RunError, RunResult, Session, sample, threads_of};
use rayon::prelude::*;
use serde_json::{Value, json};
use std::path::Path;

/// The outcome of a run, or `None` if Ctrl-C ended or prevented the run.
type RunStatus = Option<Result<(), RunFailure>>;

/// Carries out the requested runs that the campaign's folder does not contain yet. Each run is stored in its own
/// subfolder. With `--status` or `--slurm`, no run is carried out.
///
/// # Errors
/// Bad input, a folder of another campaign, output that cannot be written, runs that failed, or Ctrl-C. Finished runs
/// stay stored, and the same command continues with the rest.
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
        if let Some(cause) = results.missing.first().and_then(|run| run.cause.clone()) {
            return Err(cause);
        }
        let page = anabranch_report::html(&results, &MadeBy::this().provenance());
        let put = dataset.put(run, &results, session.files(), &page);
        put.map_err(|error| RunFailure::Other { message: error.to_string() })
    })?;
    let there: Vec<usize> = asked.iter().copied().filter(|run| dataset.has(*run)).collect();
    let failed: Vec<(String, RunFailure)> = runs
        .iter()
        .zip(&ends)
        .filter_map(|(run, end)| Some((session.name(*run), end.as_ref()?.as_ref().err()?.clone())))
        .collect();
    failed.iter().for_each(|(name, cause)| note(&format!("{name}: {cause}")));
    match args.json {
        true => {
            print_json(&document(args, &session, &warned(&session, &dataset, &there)?, asked.len(), &failed))?
        }
        false => print(&format!("{} of {} runs in {}\n", there.len(), asked.len(), args.folder.display()))?,
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

/// The document of `anabranch campaign --json`. `there` holds the rows of the runs that are present.
fn document(
    args: &CampaignArgs,
    session: &Session,
    there: &ResultSet,
    asked: usize,
    failed: &[(String, RunFailure)],
) -> Value {
    json!({
        "folder": args.folder,
        "runs": asked,
        "there": there.runs.len(),
        "failed": failed.iter().map(|(name, cause)| json::failed_run(name, cause)).collect::<Vec<_>>(),
        "warnings": there.all_warnings(),
        "run_warnings": there.run_warnings(),
        "diagnostics": session.warnings(),
    })
}

fn warned(session: &Session, dataset: &Dataset, there: &[usize]) -> Result<ResultSet, Failure> {
    let mut set = ResultSet {
        warnings: session.warnings().iter().map(Diagnostic::in_a_line).collect(),
        ..ResultSet::default()
    };
    for run in there {
        set.runs.extend(ResultSet::open_runs(&dataset.task(*run)).map_err(source::input)?);
    }
    Ok(set)
}

fn session(plan: &Path) -> Result<Session, Failure> {
    let written = source::open(plan)?;
    let over = Overrides { usual_seeds: Overrides::USUAL_SEEDS.into(), ..Overrides::default() };
    question::check(&written, &over)?;
    let scenario = read(&written.shown, &written.text, &written.folder, &over)?;
    let scenario = written.titled(scenario);
    // The warnings come from the original scenario, so that they refer to the user's files and not to the copies below
    // `inputs/`.
    let warnings = scenario.examine()?.warnings;
    let mut session = Session::of(source::self_contained(&scenario)?).map_err(source::input)?;
    session.set_warnings(warnings);
    Ok(session)
}

/// The folder of this session's campaign. A folder that holds another campaign is refused.
fn claimed(folder: &Path, session: &Session) -> Result<Dataset, Failure> {
    Dataset::claim(folder, session.resolved(), session.files()).map_err(|error| match error {
        DatasetError::Unwritable { folder, source } => {
            unwritable(&folder, &source, "folder that can be written with --out DIR")
        }
        error @ DatasetError::OtherCampaign { .. } => Failure::Input(error.to_string()),
    })
}

/// Carries out `runs` on `threads` threads (`None` means one thread per core). `ended` receives the result or the
/// error of each run that neither panicked nor was interrupted.
fn carry_out(
    session: &Session,
    runs: &[usize],
    threads: Option<u16>,
    ended: impl Fn(usize, Result<RunResult, RunError>) -> Result<(), RunFailure> + Sync,
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
            Err(message) => Some(Err(RunFailure::Other { message })),
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

/// A job script for `sbatch`: an array of `tasks` tasks, each of which carries out its share of the runs.
fn slurm_script(args: &CampaignArgs, tasks: usize) -> Result<String, Failure> {
    let program = std::env::current_exe()
        .map_err(|error| Failure::Run(format!("this program cannot be found: {}", reason(&error))))?;
    let absolute = |path: &Path| {
        std::path::absolute(path)
            .map_err(|error| Failure::Input(format!("{:?}: {}", path.display(), reason(&error))))
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

fn quoted(path: &Path) -> String {
    format!("'{}'", path.to_string_lossy().replace('\'', "'\\''"))
}
