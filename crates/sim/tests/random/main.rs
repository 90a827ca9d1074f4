//! Random scenarios as users could write them, and properties that hold for each.
//!
//! `ANABRANCH_CASE=17` runs only the case of seed 17 and prints it. `ANABRANCH_CASES=1000..2000` runs the cases of
//! these seeds. `ANABRANCH_SHOW=1` prints the cases that are refused, end early or are wrong, with the reason.

mod check;
mod dice;
mod draw;
mod fabrics;
mod settings;
mod workloads;

use check::{Outcome, check};
use draw::Case;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A case that still runs after this number of polls hangs. Otherwise its limits would have ended it within seconds.
const HUNG_POLLS: u32 = 30_000;

/// The value that a worker stores in place of a seed when no case is left for it.
const NONE: u64 = u64::MAX;

fn show(case: &Case) -> String {
    let files = case.files.iter().map(|(name, text)| format!("# file {name:?}\n{text}"));
    format!("# ANABRANCH_CASE={}\n{}{}", case.seed, case.text, files.collect::<String>())
}

fn cases() -> Range<u64> {
    if let Ok(cases) = std::env::var("ANABRANCH_CASES") {
        let bounds = cases.split_once("..").map(|(from, to)| (from.parse(), to.parse()));
        let Some((Ok(from), Ok(to))) = bounds else { panic!("ANABRANCH_CASES={cases} is not like 0..500") };
        return from..to;
    }
    if std::env::var_os("ANABRANCH_LONG").is_some() { 0..20_000 } else { 0..500 }
}

#[derive(Default)]
struct Tally {
    ends: BTreeMap<&'static str, u64>,
    early: Vec<(u64, Vec<&'static str>)>,
    refused: Vec<(u64, String)>,
    wrong: Vec<(u64, String)>,
}

impl Tally {
    fn add(&mut self, seed: u64, outcome: Result<Outcome, String>) {
        match outcome {
            Ok(Outcome::Refused(why)) => self.refused.push((seed, why)),
            Ok(Outcome::Ran(ends)) => {
                ends.iter().for_each(|end| *self.ends.entry(end).or_default() += 1);
                if ends.iter().any(|end| *end != "finished") {
                    self.early.push((seed, ends));
                }
            }
            Err(wrong) => self.wrong.push((seed, wrong)),
        }
    }
}

/// Runs the cases, with one at a time on each core.
fn run(cases: &Range<u64>) -> Tally {
    let next = AtomicU64::new(cases.start);
    let tally = Mutex::new(Tally::default());
    let workers = std::thread::available_parallelism().map_or(2, usize::from);
    let running: Vec<AtomicU64> = (0..workers).map(|_| AtomicU64::new(cases.start)).collect();
    std::thread::scope(|scope| {
        for mine in &running {
            let (next, tally) = (&next, &tally);
            scope.spawn(move || {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= cases.end {
                        break;
                    }
                    mine.store(seed, Ordering::Relaxed);
                    let outcome = check(&draw::case(seed));
                    tally.lock().unwrap().add(seed, outcome);
                }
                mine.store(NONE, Ordering::Relaxed);
            });
        }
        let mut looks = vec![(NONE, 0); workers];
        while running.iter().any(|seed| seed.load(Ordering::Relaxed) != NONE) {
            std::thread::sleep(POLL_INTERVAL);
            for (look, seed) in looks.iter_mut().zip(&running) {
                let seed = seed.load(Ordering::Relaxed);
                *look = if look.0 == seed { (seed, look.1 + 1) } else { (seed, 0) };
                if seed != NONE && look.1 > HUNG_POLLS {
                    eprintln!("case {seed} hangs\n{}", show(&draw::case(seed)));
                    std::process::abort();
                }
            }
        }
    });
    tally.into_inner().unwrap()
}

#[test]
fn what_a_user_could_write_runs_as_it_must() {
    if let Ok(seed) = std::env::var("ANABRANCH_CASE") {
        let case = draw::case(seed.parse().expect("ANABRANCH_CASE is the number of a case"));
        println!("{}", show(&case));
        println!("{:?}", check(&case).unwrap_or_else(|wrong| panic!("{wrong}")));
        return;
    }
    let cases = cases();
    // The default message of a panic is suppressed, because panics are reported with their case.
    std::panic::set_hook(Box::new(|_| {}));
    let Tally { ends, early, refused, wrong } = run(&cases);
    drop(std::panic::take_hook());
    let count = cases.end - cases.start;
    println!("{count} cases: {} refused, runs {ends:?}", refused.len());
    if std::env::var_os("ANABRANCH_SHOW").is_some() {
        early.iter().for_each(|(seed, ends)| println!("{seed} ended early: {ends:?}"));
        refused.iter().for_each(|(seed, why)| println!("{seed} refused: {why}"));
        wrong.iter().for_each(|(seed, wrong)| println!("{seed} wrong: {wrong:.400}"));
    }
    if let Some((seed, what)) = wrong.iter().min() {
        let seeds: Vec<u64> = wrong.iter().map(|(seed, _)| *seed).collect();
        panic!(
            "{} cases are wrong, {seeds:?}; case {seed}: {what}\n{}",
            wrong.len(),
            show(&draw::case(*seed))
        );
    }
    assert!(refused.len() as u64 * 10 <= count, "{} of {count} cases are refused", refused.len());
}
