//! `anabranch reproduce`: the figures of papers, with the outcomes of their claims.

use super::reproduce_live::OnRealPackets;
use super::simulate::Job;
use crate::args::{ReproduceArgs, ScaleArg};
use crate::command::check::counted;
use crate::cost::{Cost, TimeLeft};
use crate::execute::execute;
use crate::failure::Failure;
use crate::output::{note, print, print_json, width};
use crate::simulated::Simulated;
use crate::{figures, interrupt, json, model, sizes, source};
use anabranch_report::GalleryEntry;
use anabranch_results::{self as results, ClaimResult, ClaimRow, Outcome};
use anabranch_sim::scenario::{Figure, Scale};
use serde_json::json;

/// Runs figures and prints the outcomes of their claims. A claim that does not hold is not an error.
///
/// # Errors
/// The arguments select no figure, a figure is unknown, the input is otherwise bad, output cannot be written, a run
/// failed, or Ctrl-C.
pub fn reproduce(args: &ReproduceArgs) -> Result<(), Failure> {
    let scale = match args.scale {
        ScaleArg::Quick => Scale::Quick,
        ScaleArg::Paper => Scale::Paper,
    };
    if !args.all && args.figures.is_empty() && args.figures_dir.is_none() {
        return Err(Failure::Input(which(&figures::all(args.figures_dir.as_deref())?)));
    }
    if args.unsaid {
        return super::sensitivity::vary(args, scale);
    }
    let chosen = figures::choose(figures::all(args.figures_dir.as_deref())?, args.selection())?;
    // All figures are read before the first one runs, so that an error is reported immediately.
    let chosen: Vec<Figure> = chosen.iter().map(|file| file.read(scale)).collect::<Result<_, _>>()?;
    if args.live { interrupt::catch_once() } else { interrupt::catch() }?;
    let mut claims = Vec::new();
    let (mut done_json, mut claims_json) = (Vec::new(), Vec::new());
    let mut failed = Vec::new();
    let mut interrupted = None;
    let mut exhibits = Vec::new();
    let mut left = TimeLeft::new(&chosen, cost, args.output.threads)?;
    for (place, figure) in chosen.iter().enumerate() {
        let named = format!("{} at {} scale", figure.id, figures::scale_name(scale));
        note(&left.begin(&named, place));
        let (digest, done) = one(figure, scale, args)?;
        left.end(place, done.stored);
        let live = args.live.then(|| OnRealPackets::run(figure, args)).transpose()?;
        let judged = done.results.figure.as_ref().map_or(&[][..], |figure| &figure.claims);
        if args.output.json {
            let mut document = json::figure(&figure.id, &digest, &done);
            if let Some(live) = &live {
                document["live"] = live.document();
            }
            done_json.push(document);
            claims_json
                .extend(judged.iter().map(|row| json::claim(&figure.id, figures::scale_name(scale), row)));
        } else {
            print(&(text(figure, &done) + &live.as_ref().map_or(String::new(), OnRealPackets::text)))?;
        }
        claims.extend_from_slice(judged);
        exhibits.extend(gallery_entry(&done));
        match done.verdict().and(live.map_or(Ok(()), OnRealPackets::verdict)) {
            Ok(()) => {}
            Err(Failure::Interrupted(why)) => {
                interrupted = Some(format!("{}: {why}", figure.id));
                break;
            }
            Err(why) => {
                note(&format!("error: {}: {why}", figure.id));
                failed.push(figure.id.as_str());
            }
        }
    }
    let index = match exhibits.len() {
        0 | 1 => None,
        _ => Some(figures::write_index(&exhibits, scale, &args.output.folder)?),
    };
    if args.output.json {
        print_json(&json!({ "claims": claims_json, "figures": done_json, "index": index }))?;
    } else {
        let index = index.map_or(String::new(), |path| format!("\nindex: {}\n", path.display()));
        print(&format!("{}\n{index}", summary(&claims, scale)))?;
    }
    match interrupted {
        Some(why) => Err(Failure::Interrupted(why)),
        None if failed.is_empty() => Ok(()),
        None => Err(Failure::Run(format!("runs failed in {}", failed.join(", ")))),
    }
}

fn gallery_entry(done: &Simulated) -> Option<GalleryEntry> {
    let folder = done.folder.as_ref().and_then(|folder| folder.file_name());
    let page = folder.map(|name| format!("{}/report.html", name.to_string_lossy()));
    done.results.figure.clone().map(|figure| GalleryEntry { figure, page })
}

/// The text for a command that names no figure. The built-in figures take a long time, so all of them are run only
/// with `--all`.
fn which(all: &[figures::FigureFile]) -> String {
    let mut papers: Vec<(&str, usize)> = Vec::new();
    for file in all {
        let paper = file.paper();
        match papers.iter_mut().find(|(known, _)| *known == paper) {
            Some((_, count)) => *count += 1,
            None => papers.push((paper, 1)),
        }
    }
    let each: Vec<String> = papers.iter().map(|(paper, count)| format!("{paper} ({count})")).collect();
    let first = all.first().map_or("reps", |file| file.paper());
    format!(
        "which of the {} figures? There are {}\n  write: anabranch reproduce {first} for those of one paper, \
         anabranch reproduce --all for every one (`anabranch list figures` names them)",
        all.len(),
        each.join(", ")
    )
}

/// The cost of the runs of a figure. The cost of a model is negligible and is 0 here.
fn cost(figure: &Figure) -> Result<Cost, Failure> {
    match &figure.scenario {
        Some(scenario) => Cost::estimate(&scenario.points()?, None),
        None => Ok(Cost::default()),
    }
}

fn one(figure: &Figure, scale: Scale, args: &ReproduceArgs) -> Result<(String, Simulated), Failure> {
    let name = format!("{}-{}", figure.id.replace('/', "-"), figures::scale_name(scale));
    if let Some(scenario) = &figure.scenario {
        let prepared = source::prepare(name, scenario.clone())?;
        let sizes = sizes::describe(&prepared.points);
        let judge = |set: &_| {
            let judged = figures::judge(figure, scale, set)?;
            Ok(Some(results::Figure { sizes: sizes.clone(), ..judged }))
        };
        let job = Job {
            item: &prepared.item,
            title: &figure.title,
            runs: prepared.points.len(),
            baselines: 0,
            simulate: &|kept, spool| execute(&prepared.points, args.output.threads, kept, spool),
            figure: &judge,
        };
        return Ok((prepared.item.digest.clone(), job.perform(&args.output)?));
    }
    let Some(spec) = &figure.model else {
        return Err(Failure::Input(format!("figure {}: it has neither a scenario nor a model", figure.id)));
    };
    let item = model::item(name, spec)?;
    let job = Job {
        item: &item,
        title: &figure.title,
        runs: 1,
        baselines: 0,
        simulate: &|_, _| Ok(model::compute(spec)),
        figure: &|set| figures::judge(figure, scale, set).map(Some),
    };
    Ok((item.digest.clone(), job.perform(&args.output)?))
}

fn text(figure: &Figure, done: &Simulated) -> String {
    let mut text = format!("{}, {}: {}\n", figure.id, figure.figure, figure.title);
    let judged = done.results.figure.as_ref();
    if let Some(judged) = judged.filter(|judged| !judged.sizes.is_empty()) {
        text.push_str(&format!("{} scale: {}\n", judged.scale, judged.sizes));
    }
    if figure.scenario.is_some() && !done.results.runs.is_empty() {
        text.push_str(&format!("\n{}\n", anabranch_report::table(&done.results, width()).trim_end()));
    }
    if let Some(judged) = judged.filter(|judged| !judged.claims.is_empty()) {
        text.push_str(&format!("\n{}\n", anabranch_report::claims_table(judged).trim_end()));
    }
    if let Some(folder) = &done.folder {
        text.push_str(&format!("\nreport: {}\n", folder.join("report.html").display()));
    }
    text + "\n"
}

/// A summary of the outcomes: `7 claims: 5 hold, 1 direction-only, 1 differ`. At the quick scale, it has only the
/// number of claims and the number of claims that could not be evaluated, because outcomes at that scale do not count.
fn summary(claims: &[ClaimRow], scale: Scale) -> String {
    let failed = claims.iter().filter(|row| matches!(row.result, ClaimResult::Failed { .. })).count();
    let failed = if failed == 0 { String::new() } else { format!(", {failed} could not be evaluated") };
    let all = counted(claims.len(), "claim");
    if scale == Scale::Quick {
        return format!("{all} shown{failed}. The quick scale judges none: `--scale paper` does.");
    }
    let count = |wanted: Outcome| {
        let is = |row: &&ClaimRow| matches!(row.result, ClaimResult::Evaluated { outcome, .. } if outcome == wanted);
        claims.iter().filter(is).count()
    };
    format!(
        "{all}: {} hold, {} direction-only, {} differ{failed}",
        count(Outcome::Holds),
        count(Outcome::DirectionOnly),
        count(Outcome::Differs),
    )
}
