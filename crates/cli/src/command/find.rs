//! `anabranch find`: the smallest or largest value of a parameter for which something still holds.

use crate::args::FindArgs;
use crate::execute::{End, Outcome, one_alone, pass_on_interrupts};
use crate::failure::Failure;
use crate::kept::Kept;
use crate::made_by::MadeBy;
use crate::output::{aligned, print, print_json};
use crate::question::{self, Condition, SCHEME};
use crate::ran::Ran;
use crate::source::{self, Folder, input};
use crate::spool::Spool;
use crate::store::Store;
use crate::{clock, interrupt};
use anabranch_base::Bytes;
use anabranch_report::Measure;
use anabranch_results::digest::text_digest;
use anabranch_results::{ClaimValue, ResultSet, RunRow, SearchAnswer, SearchMeasure, Trial};
use anabranch_sim::scenario::{Answer, Find, Moved, Overrides, RunPoint, Search, Wanted, read_find};
use anabranch_sim::{Control, RunResult};
use rayon::prelude::*;
use serde_json::{Value, json};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// More values than any search tries: runs are kept by the number of their search and their place in it.
const MOST_TRIED: usize = 1000;

/// The parameter of which an answer is without the headroom, where that is apart.
const BUFFER_OF_SWITCH: &str = ".fabric.pfc.buffer";

/// Thresholds of marking, which go together.
const THRESHOLDS: [&str; 2] = ["fabric.ecn_kmin", "fabric.ecn_kmax"];

/// Seeds of which it is said what was measured at the ends.
const MOST_SEEDS_SAID: usize = 5;

/// Searches, for each scheme and seed.
///
/// # Errors
/// Bad input, a folder that cannot be written, a run that broke, Ctrl-C.
pub fn find(args: &FindArgs) -> Result<(), Failure> {
    interrupt::catch()?;
    let begin = clock::now();
    let (schemes, seeds) = (args.schemes.clone(), args.seeds.clone());
    let over = Overrides { schemes, seeds, usual_seeds: Overrides::USUAL_SEEDS.into() };
    let written = source::written(&args.scenario)?;
    let find = read_find(&written.shown, &written.text, &over).map_err(input)?;
    let holds = question::measure(&find)?;
    let ends = find.scenario(&find.ends(), &written.folder).map_err(input)?;
    let mut prepared = source::prepare(format!("{}-find", written.name), written.titled(ends))?;
    let moved = prepared.scenario.moved(&prepared.facts);
    let headroom = match find.parameter.ends_with(BUFFER_OF_SWITCH) {
        true => prepared.scenario.headroom_apart(&prepared.facts).map_err(input)?,
        false => Vec::new(),
    };
    let question = find.text();
    prepared.item.digest = text_digest(&format!("{}\n{question}", prepared.item.digest));
    let not_asked = prepared.scenario.untouched();
    let mut asked: Vec<(&str, u64)> = Vec::new();
    for point in &prepared.points {
        let one = (point.scheme.name.as_str(), point.seed);
        if !asked.contains(&one) && !not_asked.contains(&one.0) {
            asked.push(one);
        }
    }

    let store = Store::at(&args.output.folder);
    let stored = if args.output.fresh { None } else { store.stored(&prepared.item) };
    let (folder, before) = stored.map_or((None, Vec::new()), |(folder, set)| (Some(folder), split(set)));
    let pending = store.begin(&prepared.item)?;
    let kept = store.kept(&prepared.item, args.output.fresh);
    let spool = pending.spool();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(args.output.threads.map_or(0, usize::from))
        .build()
        .map_err(|error| Failure::Run(format!("threads cannot be started: {error}")))?;
    let threads = (pool.current_num_threads() / asked.len().max(1)).max(1);
    let control = || Control { threads, ..Control::default() };
    let controls: Vec<Control> = asked.iter().map(|_| control()).collect();
    let searching = Searching {
        find: &find,
        holds: &holds,
        folder: &written.folder,
        before: Mutex::new(before),
        kept: &kept,
        spool: &spool,
        simulated: AtomicUsize::new(0),
        max_time_us: prepared.scenario.limits.max_time.as_us(),
    };
    let lanes: Vec<Lane> = pass_on_interrupts(&controls, || {
        pool.install(|| {
            let all = asked.par_iter().zip(&controls).enumerate().with_max_len(1);
            let mut lanes: Vec<Lane> = all
                .map(|(number, ((scheme, seed), control))| searching.lane(number, scheme, *seed, control))
                .collect();
            // What the hardest seed asks for is the answer of all only if it holds with each.
            let hardest: Vec<Option<f64>> = lanes
                .iter()
                .map(|lane| hardest(&find, lanes.iter().filter(|o| o.scheme == lane.scheme)))
                .collect();
            let all = lanes.par_iter_mut().zip(&controls).zip(hardest).enumerate().with_max_len(1);
            all.for_each(|(number, ((lane, control), hardest))| {
                if let Some(place) = hardest.filter(|_| lane.ended.is_none()) {
                    lane.search.try_also(place);
                    lane.ended = searching.go_on(number, lane, control).err();
                }
            });
            lanes
        })
    });
    let simulated = searching.simulated.into_inner();
    let (mut done, mut runs, mut failure) = (Vec::new(), Vec::new(), None);
    for mut lane in lanes {
        let ended = lane.ended.take();
        failure = failure.or(ended);
        runs.append(&mut lane.runs);
        done.push(lane);
    }
    if let Some(failure) = failure {
        runs.iter_mut().for_each(|run| kept.keep(run.index, &mut run.ran));
        return Err(failure);
    }

    // By value, scheme and seed, as a sweep over the values has them: lanes are by scheme and seed.
    runs.sort_by(|a, b| a.place.total_cmp(&b.place));
    let count = runs.len();
    let answers = answers(&find, &done);
    let answered = SearchAnswer {
        question: asked_in_words(&find),
        table: table(&find, &answers),
        notes: answers
            .iter()
            .flat_map(|answer| answer.notes(&find, &holds, &written.folder))
            .chain(followers(&find, &moved, held_still(&find, &moved, &answers, &written.folder)))
            .chain(on_top(&find, &headroom))
            .chain(not_asked_in_words(&find, &not_asked))
            .collect(),
        measured: compared(&holds, &done),
    };
    let folder = match folder.filter(|_| simulated == 0) {
        Some(folder) => folder,
        None => {
            let outcome = Outcome::of(runs.into_iter().map(|run| run.ran));
            let results = ResultSet {
                warnings: prepared.item.warnings.clone(),
                answer: Some(answered.clone()),
                ..outcome.into_results(prepared.scenario.title.clone(), prepared.item.toml.clone())
            };
            let folder = pending.finish(
                &results,
                &anabranch_report::html(&results, &MadeBy::this().provenance()),
                true,
            )?;
            kept.clear();
            folder
        }
    };
    if args.output.json {
        let answers: Vec<Value> = answers.iter().map(|answer| answer.json(&find)).collect();
        return print_json(&json!({
            "scenario": prepared.scenario.title,
            "digest": prepared.item.digest,
            "folder": folder.to_string_lossy(),
            "parameter": find.parameter,
            "wanted": find.key(),
            "where": find.holds,
            "resolution": find.resolution,
            "range": find.ends(),
            "moved": moved,
            "headroom_on_top": headroom
                .iter()
                .map(|(scheme, bytes)| json!({ "scheme": scheme, "bytes_per_switch": bytes.0 }))
                .collect::<Vec<_>>(),
            "not_asked": not_asked,
            "answers": answers,
            "runs": count,
            "runs_simulated": simulated,
            "wall_s": begin.elapsed().as_secs_f64(),
        }));
    }
    let text = format!("{}\n\n{}", prepared.scenario.title, in_words(&answered));
    let before = count - simulated;
    let reused = if before > 0 { format!(", {before} of them simulated before") } else { String::new() };
    let wall_s = begin.elapsed().as_secs_f64();
    print(&format!(
        "{}\n\n{count} runs{reused}; {wall_s:.1} s\nreport: {}\n",
        text.trim_end(),
        folder.join("report.html").display()
    ))
}

/// A question and its answer for people without a page.
pub fn in_words(answered: &SearchAnswer) -> String {
    let notes: String = answered.notes.iter().map(|note| format!("\n{note}")).collect();
    format!("{}\n\n{}{notes}", answered.question, aligned(&answered.table))
}

/// Results as runs of their own.
fn split(set: ResultSet) -> Vec<Ran> {
    let ResultSet { runs, flows, jobs, parts, filed, .. } = set;
    let mut rans: Vec<Ran> = runs
        .into_iter()
        .map(|run| Ran {
            result: RunResult {
                run,
                flows: Vec::new(),
                jobs: Vec::new(),
                parts: Vec::new(),
                series: Vec::new(),
                spans: Vec::new(),
            },
            filed: None,
        })
        .collect();
    flows.into_iter().for_each(|flow| rans[flow.run as usize].result.flows.push(flow));
    jobs.into_iter().for_each(|job| rans[job.run as usize].result.jobs.push(job));
    parts.into_iter().for_each(|part| rans[part.run as usize].result.parts.push(part));
    filed.into_iter().for_each(|filed| {
        let run = filed.run as usize;
        rans[run].filed = Some(filed);
    });
    rans
}

/// What the searches have in common.
struct Searching<'a> {
    find: &'a Find,
    holds: &'a Condition,
    folder: &'a Folder,
    /// Runs that were stored, until they are asked for.
    before: Mutex<Vec<Ran>>,
    kept: &'a Kept,
    spool: &'a Spool,
    simulated: AtomicUsize,
    /// When runs are cut off, in microseconds.
    max_time_us: f64,
}

/// A run of a search.
struct Run {
    index: usize,
    place: f64,
    ran: Ran,
}

/// What was measured of a run.
struct Looked {
    place: f64,
    value: toml::Value,
    finished: bool,
    /// It ended at the limit of simulated time.
    cut_off: bool,
    /// As [`Trial`] has them.
    measured: Option<f64>,
    bound: Option<f64>,
}

/// `where` with what was measured at the ends.
struct Holds {
    whole: Measure,
    bound: Option<Measure>,
}

/// The search for one scheme and seed.
struct Lane<'a> {
    scheme: String,
    seed: u64,
    search: Search<'a>,
    runs: Vec<Run>,
    /// Runs of the ends, until the search comes there.
    ahead: Vec<Run>,
    /// What was measured at each value: what people look at.
    looked: Vec<Looked>,
    /// What has to hold; none before what it asks of the ends is known, and where an end did not finish.
    holds: Option<Holds>,
    /// Runs that were asked for.
    started: usize,
    /// Why it ended too early.
    ended: Option<Failure>,
}

impl<'a> Searching<'a> {
    fn lane(&self, number: usize, scheme: &str, seed: u64, control: &Control) -> Lane<'a> {
        let mut lane = Lane {
            scheme: scheme.to_owned(),
            seed,
            search: Search::new(self.find),
            runs: Vec::new(),
            ahead: Vec::new(),
            looked: Vec::new(),
            holds: None,
            started: 0,
            ended: None,
        };
        lane.ended = self
            .look_at_ends(number, &mut lane, control)
            .and_then(|()| self.go_on(number, &mut lane, control))
            .err();
        let mut ahead = std::mem::take(&mut lane.ahead);
        lane.runs.append(&mut ahead);
        lane
    }

    /// The next run of a lane, at a value.
    fn next_run(
        &self,
        number: usize,
        lane: &mut Lane<'a>,
        value: &toml::Value,
        control: &Control,
    ) -> Result<(usize, Ran), Failure> {
        let index = number * MOST_TRIED + lane.started;
        lane.started += 1;
        Ok((index, self.run(index, &lane.scheme, lane.seed, value, control)?))
    }

    /// What is asked of an end is known before the search, which comes there anyway.
    fn look_at_ends(&self, number: usize, lane: &mut Lane<'a>, control: &Control) -> Result<(), Failure> {
        let mut numbers = vec![Some(0.0); self.holds.count()];
        for largest in self.holds.ends() {
            let (place, value) = self.find.least_and_most()[usize::from(largest)].clone();
            let (index, mut ran) = self.next_run(number, lane, &value, control)?;
            for (which, measure) in self.holds.at(largest) {
                numbers[which] = lent(&mut ran, |set| self.number(measure, set)).transpose()?;
            }
            lane.ahead.push(Run { index, place, ran });
        }
        // Against what did not finish nothing holds.
        lane.holds = match numbers.into_iter().collect::<Option<Vec<f64>>>() {
            Some(numbers) => Some(Holds {
                whole: self.holds.with(&numbers).map_err(Failure::Input)?,
                bound: self.holds.bound(&numbers),
            }),
            None => None,
        };
        Ok(())
    }

    /// Tries what the search wants tried, until it wants no more.
    fn go_on(&self, number: usize, lane: &mut Lane<'a>, control: &Control) -> Result<(), Failure> {
        while let Some((place, value)) = lane.search.next() {
            let known = lane.ahead.iter().position(|run| run.place == place);
            let mut tried = match known {
                Some(known) => lane.ahead.swap_remove(known),
                None => {
                    let (index, ran) = self.next_run(number, lane, &value, control)?;
                    Run { index, place, ran }
                }
            };
            let asked = lent(&mut tried.ran, |set| {
                let bound = lane.holds.as_ref().and_then(|holds| question::value(holds.bound.as_ref()?, set));
                let held = lane.holds.as_ref().map(|holds| self.number(&holds.whole, set));
                (held, self.holds.measured(set), bound)
            });
            let finished = asked.is_some();
            let cut_off = !finished && tried.ran.result.run.sim_time_us >= self.max_time_us;
            let (held, measured, bound) = asked.unwrap_or_default();
            lane.looked.push(Looked { place, value, finished, cut_off, measured, bound });
            lane.runs.push(tried);
            lane.search.tell(self.is_true(held.transpose()?)?);
        }
        Ok(())
    }

    /// The run of a scheme and a seed at a value: a stored one, a kept one, or a new one.
    fn run(
        &self,
        index: usize,
        scheme: &str,
        seed: u64,
        value: &toml::Value,
        control: &Control,
    ) -> Result<Ran, Failure> {
        let scenario = self.find.scenario(std::slice::from_ref(value), self.folder).map_err(input)?;
        let points = scenario.points().map_err(input)?;
        let is_it = |point: &RunPoint| point.scheme.name == scheme && point.seed == seed;
        let Some(point) = points.into_iter().find(is_it) else {
            return Err(Failure::Run(format!("internal error: no run of {scheme} with seed {seed}")));
        };
        let mut before = self.before.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let is_of = |run: &RunRow| run.scheme == scheme && run.seed == seed && run.sweep == point.sweep;
        if let Some(known) = before.iter().position(|ran| is_of(&ran.result.run)) {
            return Ok(before.swap_remove(known));
        }
        drop(before);
        if let Some(ran) = self.kept.take(index, &point, false, self.spool) {
            return Ok(ran);
        }
        self.simulated.fetch_add(1, Ordering::Relaxed);
        let named = || format!("{scheme}, seed {seed}, {} = {value}", self.find.parameter);
        match one_alone(index, &point, control, self.kept, self.spool) {
            End::Done(ran) => Ok(*ran),
            End::Failed { partial: Some(ran), .. } => Ok(*ran),
            End::Failed { error, partial: None } => Err(Failure::Run(format!("run {}: {error}", named()))),
            End::Stopped => Err(Failure::Interrupted(
                "interrupted; the runs that finished are kept for the next time".to_owned(),
            )),
        }
    }

    fn number(&self, measure: &Measure, set: &ResultSet) -> Result<f64, Failure> {
        match measure.evaluate(set).map_err(|error| Failure::Input(format!("[find] where: {error}")))? {
            ClaimValue::Number(number) => Ok(number),
            other => Err(Failure::Input(format!(
                "[find] where: {:?} is {other:?}, which is no number",
                self.find.holds
            ))),
        }
    }

    /// Whether it holds of a run, by what `where` came to. Nothing does of one in which something did not finish.
    fn is_true(&self, number: Option<f64>) -> Result<bool, Failure> {
        match number {
            None | Some(0.0) => Ok(false),
            Some(1.0) => Ok(true),
            Some(other) => Err(input(self.find.wrong(
                format!("[find] where: {:?} is {other}, which is neither true nor false", self.find.holds),
                "a comparison, such as where = \"slowdown_p99(scheme) < 3\"",
            ))),
        }
    }
}

/// What `ask` reads off a run whose scheme is called as `where` calls it; none of one in which something did not finish.
fn lent<T>(ran: &mut Ran, ask: impl FnOnce(&ResultSet) -> T) -> Option<T> {
    let row = &ran.result.run;
    if row.flows_finished < row.flows || row.jobs_finished < row.jobs {
        return None;
    }
    // Rows are lent: a second copy of them may be more than memory holds.
    let mut set = ResultSet {
        runs: vec![RunRow { scheme: SCHEME.to_owned(), ..row.clone() }],
        flows: std::mem::take(&mut ran.result.flows),
        jobs: std::mem::take(&mut ran.result.jobs),
        series: std::mem::take(&mut ran.result.series),
        filed: ran.filed.iter().cloned().collect(),
        ..ResultSet::default()
    };
    set.flows.iter_mut().for_each(|flow| flow.run = 0);
    set.jobs.iter_mut().for_each(|job| job.run = 0);
    set.filed.iter_mut().for_each(|filed| filed.run = 0);
    let asked = ask(&set);
    let ResultSet { flows, jobs, series, .. } = set;
    (ran.result.flows, ran.result.jobs, ran.result.series) = (flows, jobs, series);
    Some(asked)
}

/// Four digits that count.
fn significant(number: f64) -> String {
    let whole = format!("{:.0}", number.abs().trunc()).len();
    let text = format!("{number:.places$}", places = 4_usize.saturating_sub(whole));
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// What is known of a scheme.
struct OfScheme<'a> {
    scheme: &'a str,
    lanes: Vec<&'a Lane<'a>>,
}

fn answers<'a>(find: &Find, lanes: &'a [Lane<'a>]) -> Vec<OfScheme<'a>> {
    let mut answers: Vec<OfScheme> = Vec::new();
    for lane in lanes {
        match answers.iter_mut().find(|answer| answer.scheme == lane.scheme) {
            Some(answer) => answer.lanes.push(lane),
            None => answers.push(OfScheme { scheme: &lane.scheme, lanes: vec![lane] }),
        }
    }
    // From the seed that is easiest to please to the one that is hardest.
    let sign = if find.wanted == Wanted::Smallest { 1.0 } else { -1.0 };
    for answer in &mut answers {
        answer.lanes.sort_by(|a, b| (sign * a.search.place()).total_cmp(&(sign * b.search.place())));
    }
    answers
}

/// Of a scheme's seeds, the place of what the hardest to please asks for; none where a seed has no answer. One for which it
/// holds at both ends asks for nothing.
fn hardest<'l, 's: 'l>(find: &Find, lanes: impl Iterator<Item = &'l Lane<'s>>) -> Option<f64> {
    let mut places = Vec::new();
    for lane in lanes {
        match lane.search.answer()? {
            Answer::Found { .. } => places.push(lane.search.place()),
            Answer::Everywhere => {}
            Answer::Nowhere | Answer::Backwards => return None,
        }
    }
    match find.wanted {
        Wanted::Smallest => places.into_iter().max_by(f64::total_cmp),
        Wanted::Largest => places.into_iter().min_by(f64::total_cmp),
    }
}

impl<'a> OfScheme<'a> {
    /// The values that were found, by seed, the easiest first; without seeds that have none.
    fn found(&self) -> Vec<(&'a Lane<'a>, toml::Value, toml::Value)> {
        let of = |lane: &&'a Lane<'a>| match lane.search.answer()? {
            Answer::Found { value, fails } => Some((*lane, value, fails)),
            _ => None,
        };
        self.lanes.iter().filter_map(of).collect()
    }

    /// The value that was found for the hardest seed and holds with every one, and the next one, which does not.
    fn in_every_seed(&self, find: &Find) -> Option<(toml::Value, toml::Value)> {
        let place = hardest(find, self.lanes.iter().copied())?;
        let holds = self.lanes.iter().all(|lane| lane.search.held(place) == Some(true));
        let mut found = self.found().into_iter().filter(|_| holds);
        found.find(|(lane, ..)| lane.search.place() == place).map(|(_, value, fails)| (value, fails))
    }

    /// From the least to the largest value that a seed asks for; none where a seed has no answer.
    fn over_seeds(&self, find: &Find) -> Option<String> {
        hardest(find, self.lanes.iter().copied())?;
        let found: Vec<String> = self.found().iter().map(|(_, value, _)| plain(value)).collect();
        let hardest = found.last()?.clone();
        let [first, last] = find.ends();
        let easiest = match (found.len() == self.lanes.len(), find.wanted) {
            (true, _) => found[0].clone(),
            (false, Wanted::Smallest) => format!("{} or less", plain(&first)),
            (false, Wanted::Largest) => format!("{} or more", plain(&last)),
        };
        Some(match find.wanted {
            Wanted::Smallest => format!("{easiest} to {hardest}"),
            Wanted::Largest => format!("{hardest} to {easiest}"),
        })
    }

    /// What the seeds have each, where no value is the answer of all.
    fn by_seed(&self, find: &Find) -> Option<String> {
        if self.lanes.len() < 2 || self.in_every_seed(find).is_some() {
            return None;
        }
        let found = self.found();
        let each = found.iter().map(|(lane, value, fails)| {
            format!("{} with seed {} (fails at {})", plain(value), lane.seed, plain(fails))
        });
        let each: Vec<String> = each.collect();
        let against = hardest(find, self.lanes.iter().copied()).map(|place| {
            let fails = self.lanes.iter().filter(|lane| lane.search.held(place) == Some(false));
            let seeds: Vec<String> = fails.map(|lane| lane.seed.to_string()).collect();
            let asks = found.iter().find(|(lane, ..)| lane.search.place() == place);
            let asked = asks.map_or_else(String::new, |(_, value, _)| plain(value));
            format!("; {asked} does not hold with seed {}", seeds.join(", "))
        });
        (!each.is_empty()).then(|| {
            format!(
                "{}: no value was found that is the answer of every seed: {}{}",
                self.scheme,
                each.join(", "),
                against.unwrap_or_default()
            )
        })
    }

    fn runs(&self) -> usize {
        self.lanes.iter().map(|lane| lane.search.tried().count()).sum()
    }

    /// What a reader has to know beside the table.
    fn notes(&self, find: &Find, holds: &Condition, folder: &Folder) -> Vec<String> {
        let mut notes: Vec<String> = self.by_seed(find).into_iter().collect();
        for answer in [Answer::Everywhere, Answer::Nowhere, Answer::Backwards] {
            let seeds: Vec<String> = self
                .lanes
                .iter()
                .filter(|lane| lane.search.answer().as_ref() == Some(&answer))
                .map(|lane| lane.seed.to_string())
                .collect();
            if seeds.is_empty() {
                continue;
            }
            let lanes = self.lanes.iter().filter(|lane| lane.search.answer().as_ref() == Some(&answer));
            let lanes: Vec<&Lane> = lanes.copied().collect();
            notes.push(format!(
                "{} with seed {}: {}{}",
                self.scheme,
                seeds.join(", "),
                unanswered(find, &answer, &lanes[0].search, folder),
                measured_at_ends(find, holds, &lanes),
            ));
        }
        for lane in &self.lanes {
            let wrong: Vec<String> = lane
                .search
                .contradictions()
                .into_iter()
                .map(|(value, holds)| {
                    format!("{value} ({})", if holds { "it holds" } else { "it does not hold" })
                })
                .collect();
            if !wrong.is_empty() {
                let so = match (lane.search.fails_at_both_ends(), lane.search.answer()) {
                    (true, Some(Answer::Found { value, .. })) => only_between(find, &value),
                    _ => ", so there are several answers".to_owned(),
                };
                notes.push(format!(
                    "{} with seed {}: not monotone: beyond the answer it is the other way round at {}{so}",
                    self.scheme,
                    lane.seed,
                    wrong.join(", ")
                ));
            }
        }
        notes
    }

    fn json(&self, find: &Find) -> Value {
        let found = self.found();
        // Null where a seed has none.
        let all = found.len() == self.lanes.len();
        let values: Vec<toml::Value> = found.into_iter().filter(|_| all).map(|(_, value, _)| value).collect();
        let (easiest, hardest) = (values.first().cloned(), values.last().cloned());
        let (lowest, highest) = match find.wanted {
            Wanted::Smallest => (easiest, hardest),
            Wanted::Largest => (hardest, easiest),
        };
        let seeds = self.lanes.iter().map(|lane| {
            let (outcome, value, fails) = match lane.search.answer() {
                Some(Answer::Found { value, fails }) => ("found", Some(value), Some(fails)),
                Some(Answer::Everywhere) => ("holds at both ends", None, None),
                Some(Answer::Nowhere) => ("holds at neither end", None, None),
                Some(Answer::Backwards) => ("holds at the other end", None, None),
                None => ("unknown", None, None),
            };
            let told = |(value, holds): (toml::Value, bool)| json!({ "value": value, "holds": holds });
            json!({
                "seed": lane.seed,
                "outcome": outcome,
                "value": value,
                "fails_at": fails,
                "tried": lane.search.tried().map(|(_, value, holds)| told((value, holds))).collect::<Vec<_>>(),
                "contradictions": lane.search.contradictions().into_iter().map(told).collect::<Vec<_>>(),
            })
        });
        json!({
            "scheme": self.scheme,
            "value": self.in_every_seed(find).map(|(value, _)| value),
            "lowest": lowest,
            "highest": highest,
            "seeds": seeds.collect::<Vec<_>>(),
            "runs": self.runs(),
        })
    }
}

/// `. At "10KB" fct_max(scheme) is 81.3 (seed 1), ...`: what was measured where the ends gave no answer.
fn measured_at_ends(find: &Find, holds: &Condition, lanes: &[&Lane]) -> String {
    let mut text = String::new();
    let Some([words, _]) = holds.words() else { return text };
    for (place, value) in find.least_and_most() {
        let of = |lane: &&Lane| {
            let looked = lane.looked.iter().find(|looked| looked.place == place)?;
            let said = match (looked.finished, looked.cut_off) {
                (true, _) => format!("{words} is {}", significant(looked.measured?)),
                (false, true) => "not all finished by max_time".to_owned(),
                (false, false) => "not all finished".to_owned(),
            };
            Some(if lanes.len() > 1 { format!("{said} (seed {})", lane.seed) } else { said })
        };
        let said: Vec<String> = lanes.iter().filter_map(of).take(MOST_SEEDS_SAID).collect();
        if !said.is_empty() {
            text.push_str(&format!(". At {value} {}", said.join(", ")));
        }
    }
    text
}

/// What was measured of every run that the searches looked at.
fn compared(holds: &Condition, lanes: &[Lane]) -> Option<SearchMeasure> {
    let [measured, bound] = holds.words()?.map(str::to_owned);
    let (mut places, mut tried): (Vec<&Looked>, Vec<Trial>) = (Vec::new(), Vec::new());
    for lane in lanes {
        let mut looked: Vec<&Looked> = lane.looked.iter().collect();
        looked.sort_by(|a, b| a.place.total_cmp(&b.place));
        tried.extend(looked.iter().map(|looked| Trial {
            scheme: lane.scheme.clone(),
            seed: lane.seed,
            value: plain(&looked.value),
            measured: looked.measured,
            bound: looked.bound,
        }));
        places.append(&mut looked);
    }
    places.sort_by(|a, b| a.place.total_cmp(&b.place));
    let mut values: Vec<String> = places.into_iter().map(|looked| plain(&looked.value)).collect();
    values.dedup();
    Some(SearchMeasure { measured, bound, values, tried })
}

/// What else moved with the parameter, as the ground makes it follow: the answer is one for all of these together.
fn followers(find: &Find, moved: &[Moved], held: Option<(toml::Value, Vec<String>)>) -> Option<String> {
    let mut by_change: Vec<(String, Vec<&str>)> = Vec::new();
    let schemes = moved.chunk_by(|one, next| one.scheme == next.scheme);
    for of_scheme in schemes {
        let each =
            of_scheme.iter().map(|moved| format!("{} {} to {}", moved.parameter, moved.from, moved.to));
        let changes = each.collect::<Vec<String>>().join(", ");
        match by_change.iter_mut().find(|(known, _)| *known == changes) {
            Some((_, names)) => names.push(of_scheme[0].scheme.as_str()),
            None => by_change.push((changes, vec![of_scheme[0].scheme.as_str()])),
        }
    }
    let changes = by_change.iter().map(|(changes, names)| format!("{}: {changes}", names.join(", ")));
    let changes = changes.collect::<Vec<String>>().join("; ");
    if moved.is_empty() {
        return None;
    }
    let hold = match held {
        Some((at, held)) => {
            format!(
                "To hold some still, write below [set] what they are at {}: {}",
                plain(&at),
                held.join(" and ")
            )
        }
        // What they would be at a value that is no answer is nothing to hold them at.
        None => "A parameter that is set below [set] does not move".to_owned(),
    };
    Some(format!("Over the whole range these follow {} and move with it: {changes}. {hold}.", find.parameter))
}

/// What holds some of what moved still, as `[set]` has it, and the value of the parameter at which it is so: where it was
/// found for the first scheme, so that the answer stays; none where nothing was found.
fn held_still(
    find: &Find,
    moved: &[Moved],
    answers: &[OfScheme],
    folder: &Folder,
) -> Option<(toml::Value, Vec<String>)> {
    let scheme = &moved.first()?.scheme;
    let of_it = answers.iter().find(|answer| answer.scheme == scheme);
    let (at, _) = of_it?.in_every_seed(find)?;
    let of_scheme: Vec<&Moved> = moved.iter().filter(|moved| moved.scheme == *scheme).collect();
    // These two make sense together only.
    let both: Vec<&Moved> =
        of_scheme.iter().copied().filter(|moved| THRESHOLDS.contains(&&*moved.parameter)).collect();
    let chosen = if both.is_empty() { &of_scheme[..1] } else { &both[..] };
    let [first, _] = find.ends();
    let until = || {
        let scenario = find.scenario(&[first.clone(), at.clone()], folder).ok()?;
        Some(scenario.moved(&scenario.examine().ok()?.facts))
    };
    let until = if at == first { Vec::new() } else { until()? };
    let named = find.parameter.split('.').next().filter(|name| name == scheme).unwrap_or("*");
    let held = chosen.iter().map(|moved| {
        let known = until.iter().find(|row| row.scheme == *scheme && row.parameter == moved.parameter);
        let value = known.map_or(&moved.from, |row| &row.to);
        format!("\"{named}.{}\" = \"{}\"", moved.parameter, value.replace(' ', ""))
    });
    Some((at, held.collect()))
}

/// The headroom that switches have beside the buffer that was asked for.
fn on_top(find: &Find, headroom: &[(&str, Bytes)]) -> Option<String> {
    let each = headroom.iter().map(|(scheme, bytes)| format!("{} ({scheme})", bytes.about()));
    let each: Vec<String> = each.collect();
    (!each.is_empty()).then(|| {
        format!(
            "The headroom of each switch comes on top of {} (fabric.pfc.headroom_apart = true), at most {}.",
            find.parameter,
            each.join(", ")
        )
    })
}

fn not_asked_in_words(find: &Find, not_asked: &[&str]) -> Option<String> {
    (!not_asked.is_empty())
        .then(|| format!("Not asked, as {} changes nothing of it: {}.", find.parameter, not_asked.join(", ")))
}

/// What to say of a value that was found between two ends at which it does not hold.
fn only_between(find: &Find, value: &toml::Value) -> String {
    let [first, last] = find.ends();
    let (key, range) = match find.wanted {
        Wanted::Smallest => ("largest", [value, &last]),
        Wanted::Largest => ("smallest", [&first, value]),
    };
    let other = match find.is_list() {
        true => String::new(),
        false => format!("; {key} = [{}, {}] asks for the other limit", range[0], range[1]),
    };
    format!(", so that it holds at neither end ({first} and {last}), but between them{other}")
}

/// `smallest *.fabric.queue from 16KB to 8MB where drops(scheme) == 0, to 2 % at each of these seeds`.
fn asked_in_words(find: &Find) -> String {
    let [first, last] = find.ends().map(|end| plain(&end));
    let near = if find.is_list() {
        String::new()
    } else {
        format!(", to {} % at each of these seeds", find.resolution * 100.0)
    };
    format!("{} {} from {first} to {last} where {}{near}", find.key(), find.parameter, find.holds)
}

fn plain(value: &toml::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn unanswered(find: &Find, answer: &Answer, search: &Search, folder: &Folder) -> String {
    let [first, last] = find.ends();
    let smallest = find.wanted == Wanted::Smallest;
    let try_instead = |beyond_last: bool| match beyond(find, beyond_last, folder) {
        Some(Ok([low, high])) => format!(
            "; try {} = [{low}, {high}], and where that changes nothing, {} does not decide it",
            find.key(),
            find.parameter
        ),
        Some(Err(why)) => format!("; {why}"),
        None => format!("; add values {} the list", if beyond_last { "behind" } else { "before" }),
    };
    match answer {
        Answer::Everywhere => format!("it holds at both ends ({first} and {last}){}", try_instead(!smallest)),
        Answer::Nowhere => {
            let mut inside: Vec<(f64, toml::Value)> =
                search.tried().skip(2).map(|(place, value, _)| (place, value)).collect();
            inside.sort_by(|(a, _), (b, _)| a.total_cmp(b));
            let inside: Vec<String> = inside.into_iter().map(|(_, value)| value.to_string()).collect();
            let inside = match inside.is_empty() {
                true => String::new(),
                false => format!(", nor between them at {}", inside.join(", ")),
            };
            format!("it holds at neither end ({first} and {last}){inside}{}", try_instead(smallest))
        }
        Answer::Backwards => {
            let (holds, not) = if smallest { (&first, &last) } else { (&last, &first) };
            let other = if smallest { "largest" } else { "smallest" };
            format!("it holds at {holds} and not at {not}; ask for the {other} instead")
        }
        Answer::Found { .. } => String::new(),
    }
}

/// A range beyond the last or the first end, the widest whose values the parameter may have; why there is none; or nothing of
/// a list.
fn beyond(find: &Find, last: bool, folder: &Folder) -> Option<Result<[toml::Value; 2], String>> {
    let mut refused = None;
    // What is measured at an end that stays is to stay what it is.
    let [lowest, highest] = find.ends();
    let stays = |mut range: [toml::Value; 2]| {
        if !last && find.holds.contains("at_largest") {
            range[1] = highest.clone();
        } else if last && find.holds.contains("at_smallest") {
            range[0] = lowest.clone();
        }
        range
    };
    for range in find.wider(last).into_iter().map(stays) {
        match find.scenario(&range, folder).and_then(|scenario| scenario.check()) {
            Ok(_) => return Some(Ok(range)),
            Err(error) => refused = Some((range, error.message)),
        }
    }
    let ([low, high], message) = refused?;
    Some(Err(match last {
        true => format!("a larger value, such as {high}, is refused: {message}"),
        false => format!("a smaller value, such as {low}, is refused: {message}"),
    }))
}

fn table(find: &Find, answers: &[OfScheme]) -> Vec<Vec<String>> {
    let seeds = answers.iter().map(|answer| answer.lanes.len()).max().unwrap_or(0);
    let mut rows = vec![vec!["scheme".to_owned(), find.key().to_owned(), "fails at".to_owned()]];
    if seeds > 1 {
        rows[0][1] = format!("{} in every seed", find.key());
        rows[0].push("over seeds".to_owned());
    }
    rows[0].push("runs".to_owned());
    for answer in answers {
        let mut row = vec![answer.scheme.to_owned()];
        let none = || "-".to_owned();
        let in_every_seed = answer.in_every_seed(find);
        let (value, fails) =
            in_every_seed.map_or_else(|| (none(), none()), |(value, fails)| (plain(&value), plain(&fails)));
        row.extend([value, fails]);
        if seeds > 1 {
            row.push(answer.over_seeds(find).unwrap_or_else(none));
        }
        row.push(answer.runs().to_string());
        rows.push(row);
    }
    rows
}
