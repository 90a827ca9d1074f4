//! `anabranch find`: the smallest or largest value of a parameter for which a condition still holds.

mod answers;
mod measured;
mod notes;
mod search;
mod words;

use crate::args::FindArgs;
use crate::execute::{Outcome, pass_on_interrupts};
use crate::failure::Failure;
use crate::made_by::MadeBy;
use crate::output::{aligned, print, print_json};
use crate::question::{self, Condition};
use crate::source::{self, Folder, Prepared, ScenarioText, input};
use crate::store::Store;
use crate::{clock, interrupt};
use anabranch_base::Bytes;
use anabranch_results::digest::text_digest;
use anabranch_results::{ResultSet, SearchAnswer};
use anabranch_sim::Control;
use anabranch_sim::scenario::{DerivedChange, Find, Overrides, read_find};
use answers::{SchemeAnswer, answers, hardest, table};
use measured::compared;
use notes::{followers_note, headroom_note, not_asked_note, overrides_to_hold};
use rayon::prelude::*;
use search::{Lane, Run, Searches, split};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;

/// The path of the parameter that sets the buffer of a switch ends with this text.
const BUFFER_OF_SWITCH: &str = ".fabric.pfc.buffer";

/// Carries out one search for each combination of a seed and a scheme that the parameter affects.
///
/// # Errors
/// Bad input, output that cannot be written, a run that failed, Ctrl-C.
pub fn find(args: &FindArgs) -> Result<(), Failure> {
    interrupt::catch()?;
    let begin = clock::now();
    let Question { written, find, holds, prepared } = read(args)?;
    let moved = prepared.scenario.moved(&prepared.facts);
    let headroom = headroom(&prepared, &find)?;
    let not_asked = prepared.scenario.unaffected_schemes();
    let searched = searched(&prepared, &not_asked);

    let store = Store::at(&args.output.folder);
    let stored = if args.output.fresh { None } else { store.stored(&prepared.item) };
    let (folder, before) = stored.map_or((None, Vec::new()), |(folder, set)| (Some(folder), split(set)));
    let pending = store.begin(&prepared.item)?;
    let kept = store.run_cache(&prepared.item, args.output.fresh);
    let spool = pending.spool();
    let searches = Searches {
        find: &find,
        holds: &holds,
        folder: &written.folder,
        before: Mutex::new(before),
        kept: &kept,
        spool: &spool,
        simulated: AtomicUsize::new(0),
        max_time_us: prepared.scenario.limits.max_time.as_us(),
    };
    let lanes = run_searches(&searches, &searched, args.output.threads.map_or(0, usize::from))?;
    let simulated = searches.simulated.into_inner();
    let (lanes, mut runs, failure) = ended(lanes);
    if let Some(failure) = failure {
        runs.iter_mut().for_each(|run| kept.keep(run.index, &mut run.ran));
        return Err(failure);
    }
    // Runs are sorted by value, scheme and seed. Lanes are already sorted by scheme and seed.
    runs.sort_by(|a, b| a.place.total_cmp(&b.place));
    let count = runs.len();
    let changes = Changes { moved: &moved, headroom: &headroom, not_asked: &not_asked };
    let answers = answers(&find, &lanes);
    let answer = SearchAnswer {
        question: words::question(&find),
        table: table(&find, &answers),
        notes: changes.notes(&find, &holds, &written.folder, &answers),
        measured: compared(&holds, &lanes),
    };
    let folder = match folder.filter(|_| simulated == 0) {
        Some(folder) => folder,
        None => {
            let results = results(&prepared, &answer, runs);
            let page = anabranch_report::html(&results, &MadeBy::this().provenance());
            let folder = pending.finish(&results, &page, true)?;
            kept.clear();
            folder
        }
    };
    let wall_s = begin.elapsed().as_secs_f64();
    if args.output.json {
        let mut document = changes.json(&prepared, &find, &folder);
        document["answers"] = answers.iter().map(|answer| answer.json(&find)).collect();
        document["runs"] = count.into();
        document["runs_simulated"] = simulated.into();
        document["wall_s"] = wall_s.into();
        return print_json(&document);
    }
    let before = count - simulated;
    let reused = if before > 0 { format!(", {before} of them simulated before") } else { String::new() };
    print(&format!(
        "{}\n\n{count} runs{reused}; {wall_s:.1} s\nreport: {}\n",
        format!("{}\n\n{}", prepared.scenario.title, in_words(&answer)).trim_end(),
        folder.join("report.html").display()
    ))
}

/// A search, and the scenario at the two ends of its range.
struct Question {
    written: ScenarioText,
    find: Find,
    holds: Condition,
    prepared: Prepared,
}

fn read(args: &FindArgs) -> Result<Question, Failure> {
    let (schemes, seeds) = (args.schemes.clone(), args.seeds.clone());
    let over = Overrides { schemes, seeds, usual_seeds: Overrides::USUAL_SEEDS.into() };
    let written = source::open(&args.scenario)?;
    let find = read_find(&written.shown, &written.text, &over).map_err(input)?;
    let holds = question::measure(&find)?;
    let ends = find.scenario(&find.ends(), &written.folder).map_err(input)?;
    let mut prepared = source::prepare(format!("{}-find", written.name), written.titled(ends))?;
    prepared.item.digest = text_digest(&format!("{}\n{}", prepared.item.digest, find.text()));
    Ok(Question { written, find, holds, prepared })
}

fn results(prepared: &Prepared, answer: &SearchAnswer, runs: Vec<Run>) -> ResultSet {
    let outcome = Outcome::finished(runs.into_iter().map(|run| run.ran));
    ResultSet {
        warnings: prepared.item.warnings.clone(),
        answer: Some(answer.clone()),
        ..outcome.into_results(prepared.scenario.title.clone(), &prepared.item)
    }
}

/// The headroom of each scheme's switches, if the searched buffer does not include the headroom.
fn headroom<'a>(prepared: &'a Prepared, find: &Find) -> Result<Vec<(&'a str, Bytes)>, Failure> {
    match find.parameter.ends_with(BUFFER_OF_SWITCH) {
        true => prepared.scenario.headroom_apart(&prepared.facts).map_err(input),
        false => Ok(Vec::new()),
    }
}

/// The schemes and seeds of the searches. Schemes that the parameter does not affect are left out.
fn searched<'a>(prepared: &'a Prepared, not_asked: &[&str]) -> Vec<(&'a str, u64)> {
    let mut searched: Vec<(&str, u64)> = Vec::new();
    for point in &prepared.points {
        let one = (point.scheme.name.as_str(), point.seed);
        if !searched.contains(&one) && !not_asked.contains(&one.0) {
            searched.push(one);
        }
    }
    searched
}

/// Carries out the searches on `threads` threads. With 0, there is one thread per core.
fn run_searches<'a>(
    searches: &Searches<'a>,
    searched: &[(&str, u64)],
    threads: usize,
) -> Result<Vec<Lane<'a>>, Failure> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|error| Failure::Run(format!("threads cannot be started: {error}")))?;
    let threads = (pool.current_num_threads() / searched.len().max(1)).max(1);
    let controls: Vec<Control> = searched.iter().map(|_| Control { threads, ..Control::default() }).collect();
    Ok(pass_on_interrupts(&controls, || {
        pool.install(|| {
            let all = searched.par_iter().zip(&controls).enumerate().with_max_len(1);
            let mut lanes: Vec<Lane> = all
                .map(|(number, ((scheme, seed), control))| searches.lane(number, scheme, *seed, control))
                .collect();
            // The value that the most demanding seed needs is the answer for all seeds only if the condition holds with
            // every seed. The other seeds are therefore also run at that value.
            let hardest: Vec<Option<f64>> = lanes
                .iter()
                .map(|lane| hardest(searches.find, lanes.iter().filter(|o| o.scheme == lane.scheme)))
                .collect();
            let all = lanes.par_iter_mut().zip(&controls).zip(hardest).enumerate().with_max_len(1);
            all.for_each(|(number, ((lane, control), hardest))| {
                if let Some(place) = hardest.filter(|_| lane.ended.is_none()) {
                    lane.search.try_also(place);
                    lane.ended = searches.run_search(number, lane, control).err();
                }
            });
            lanes
        })
    }))
}

fn ended(lanes: Vec<Lane<'_>>) -> (Vec<Lane<'_>>, Vec<Run>, Option<Failure>) {
    let (mut done, mut runs, mut failure) = (Vec::new(), Vec::new(), None);
    for mut lane in lanes {
        let ended = lane.ended.take();
        failure = failure.or(ended);
        runs.append(&mut lane.runs);
        done.push(lane);
    }
    (done, runs, failure)
}

struct Changes<'a> {
    /// The parameters that change with the searched one.
    moved: &'a [DerivedChange],
    /// The headroom of each scheme's switches, which is in addition to the buffer.
    headroom: &'a [(&'a str, Bytes)],
    /// The schemes that the parameter does not affect.
    not_asked: &'a [&'a str],
}

impl Changes<'_> {
    fn notes(
        &self,
        find: &Find,
        holds: &Condition,
        folder: &Folder,
        answers: &[SchemeAnswer<'_>],
    ) -> Vec<String> {
        let overrides = overrides_to_hold(find, self.moved, answers, folder);
        answers
            .iter()
            .flat_map(|answer| answer.notes(find, holds, folder))
            .chain(followers_note(find, self.moved, overrides))
            .chain(headroom_note(find, self.headroom))
            .chain(not_asked_note(find, self.not_asked))
            .collect()
    }

    fn json(&self, prepared: &Prepared, find: &Find, folder: &Path) -> Value {
        let headroom = self.headroom.iter();
        json!({
            "scenario": prepared.scenario.title,
            "digest": prepared.item.digest,
            "folder": folder.to_string_lossy(),
            "parameter": find.parameter,
            "wanted": find.key(),
            "where": find.holds,
            "resolution": find.resolution,
            "range": find.ends(),
            "moved": self.moved,
            "headroom_on_top": headroom
                .map(|(scheme, bytes)| json!({ "scheme": scheme, "bytes_per_switch": bytes.0 }))
                .collect::<Vec<_>>(),
            "not_asked": self.not_asked,
        })
    }
}

/// A search and its answer as text.
pub fn in_words(answered: &SearchAnswer) -> String {
    let notes: String = answered.notes.iter().map(|note| format!("\n{note}")).collect();
    format!("{}\n\n{}{notes}", answered.question, aligned(&answered.table))
}
