//! Scenarios drawn at random, as a user could write them, and what must hold of each.
//!
//! `ANABRANCH_CASE=17` runs the case of seed 17 alone and prints it; `ANABRANCH_CASES=1000..2000` runs those;
//! `ANABRANCH_SHOW=1` says which were refused or ended early, and why.

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
use std::time::{Duration, Instant};

/// A run that takes longer has hung: its limits would have ended it.
const HUNG: Duration = Duration::from_secs(600);

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

#[test]
fn what_a_user_could_write_runs_as_it_must() {
    if let Ok(seed) = std::env::var("ANABRANCH_CASE") {
        let case = draw::case(seed.parse().expect("ANABRANCH_CASE is the number of a case"));
        println!("{}", show(&case));
        println!("{:?}", check(&case).unwrap_or_else(|wrong| panic!("{wrong}")));
        return;
    }
    let cases = cases();
    let next = AtomicU64::new(cases.start);
    let failed = Mutex::new(Vec::new());
    let ends: Mutex<BTreeMap<String, u64>> = Mutex::new(BTreeMap::new());
    let refusals = Mutex::new(Vec::new());
    let early = Mutex::new(Vec::new());
    let workers = std::thread::available_parallelism().map_or(2, usize::from);
    // By worker: what it runs, and since when.
    let running: Vec<Mutex<Option<(u64, Instant)>>> = (0..workers).map(|_| Mutex::new(None)).collect();
    let left = AtomicU64::new(workers as u64);
    // Panics are told with their case.
    std::panic::set_hook(Box::new(|_| {}));
    std::thread::scope(|scope| {
        for mine in &running {
            let (next, cases, failed, ends) = (&next, &cases, &failed, &ends);
            let (refusals, early, left) = (&refusals, &early, &left);
            scope.spawn(move || {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= cases.end {
                        break;
                    }
                    *mine.lock().unwrap() = Some((seed, Instant::now()));
                    let case = draw::case(seed);
                    match check(&case) {
                        Ok(Outcome::Refused(why)) => refusals.lock().unwrap().push((seed, why)),
                        Ok(Outcome::Ran(runs)) => {
                            if runs.iter().any(|end| *end != "finished") {
                                early.lock().unwrap().push((seed, runs.clone()));
                            }
                            let mut ends = ends.lock().unwrap();
                            runs.iter().for_each(|end| *ends.entry((*end).to_owned()).or_default() += 1);
                        }
                        Err(wrong) => failed.lock().unwrap().push((seed, wrong, show(&case))),
                    }
                }
                left.fetch_sub(1, Ordering::Relaxed);
            });
        }
        while left.load(Ordering::Relaxed) > 0 {
            std::thread::sleep(Duration::from_millis(20));
            for slot in &running {
                if let Some((seed, since)) = *slot.lock().unwrap()
                    && left.load(Ordering::Relaxed) > 0
                    && next.load(Ordering::Relaxed) < cases.end + workers as u64
                    && since.elapsed() > HUNG
                {
                    eprintln!("case {seed} hangs\n{}", show(&draw::case(seed)));
                    std::process::abort();
                }
            }
        }
    });
    drop(std::panic::take_hook());
    let (failed, refusals) = (failed.into_inner().unwrap(), refusals.into_inner().unwrap());
    let count = cases.end - cases.start;
    println!("{count} cases: {} refused, runs {:?}", refusals.len(), ends.into_inner().unwrap());
    if std::env::var_os("ANABRANCH_SHOW").is_some() {
        early.into_inner().unwrap().iter().for_each(|(seed, ends)| println!("{seed} ended early: {ends:?}"));
        refusals.iter().for_each(|(seed, why)| println!("{seed} refused: {why}"));
        failed.iter().for_each(|(seed, wrong, _)| println!("{seed} wrong: {:.400}", wrong));
    }
    if let Some((seed, wrong, text)) = failed.iter().min() {
        let seeds: Vec<u64> = failed.iter().map(|(seed, ..)| *seed).collect();
        panic!("{} cases are wrong, {seeds:?}; case {seed}: {wrong}\n{text}", failed.len());
    }
    assert!(refusals.len() as u64 * 10 <= count, "{} of {count} cases are refused", refusals.len());
}
