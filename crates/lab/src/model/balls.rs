//! Balls into bins: the queues at the ports of one switch (REPS, section 5.1).
//!
//! A bin is an output port, a ball is a packet, and a round is the time in which a port sends one packet. A game has n
//! bins, b colours per bin (`colors_per_port`) and a threshold tau. In each round, every bin that is not empty loses
//! its oldest ball, and then up to n balls are thrown into the bins.
//!
//! `recycled` follows the process as the paper prints it, with b n colours that take turns. This process does not
//! behave as Theorem 5.1 states. The proof (Appendix B) assumes that a ball that leaves a bin with at most tau balls
//! comes back to the bin in the same round. By the printed rules, the ball comes back when its colour's turn comes, up
//! to b rounds later. A bin that more than b colours remember therefore grows to the threshold, and a bin that fewer
//! colours remember runs empty. At full load, each empty bin adds a ball to the game, until there are about tau balls
//! for each bin. The queues stay bounded.
//!
//! `returned` is the process of the proof. A ball that leaves a bin with at most tau balls comes back to the bin in the
//! same round. All other balls of the round are thrown at random. This process has no colours.
//!
//! With `recycle_every` = r, a ball that leaves a bin is recycled with probability 1/r. The colours of all other balls
//! forget their bins, because one packet uses up a cached entropy (section 4.5.1, Appendix C.1). In `kept` these
//! colours do not forget their bins.
//!
//! Each game adds these values to its run's `extra`: `mean_longest_queue` (the longest queue after each round, averaged
//! over the rounds), `longest_queue` (over the whole game), `last_longest_queue` (after the last round),
//! `balls_thrown`, `balls_removed`, `balls_left` and `threshold`. The games `recycled` and `kept` also add
//! `colors_without_bin` (after the last round) and `last_change_round`, the last round in which a colour remembered or
//! forgot a bin (0 without such a round).

use super::ModelError;
use crate::scenario::{BallsVariant, ModelSpec};
use anabranch_base::{Purpose, Stream, stream};
use anabranch_engine::{Control, RunResult};
use anabranch_results::{RunRow, SeriesRow, Value};
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::Ordering;

/// The largest number of balls of one game.
pub const MAX_BALLS: u64 = 10_000_000_000;
/// The largest number of colours of one game.
pub const MAX_COLORS: u64 = 100_000_000;
/// The largest number of bins with a curve for each bin. Games with more bins have only a curve of the longest queue,
/// because a curve for each bin would fill the picture and the files.
pub const MAX_BIN_CURVES: u32 = 8;
/// The length of a round in curves, in picoseconds. Rounds have no duration, but curves need times.
const ROUND_PS: u64 = 1_000_000;

pub(super) fn run(spec: &ModelSpec, control: &Control) -> Result<Vec<RunResult>, ModelError> {
    let ModelSpec::BallsIntoBins {
        ports,
        rounds,
        load,
        variants,
        threshold,
        colors_per_port,
        recycle_every,
        seeds,
    } = spec
    else {
        return Ok(Vec::new());
    };
    let mut results = Vec::new();
    for &variant in variants {
        for &bins in ports {
            check_size(bins, *rounds, *colors_per_port)?;
            for &every in recycle_every {
                for &seed in seeds {
                    let rules = Rules {
                        variant,
                        bins,
                        load: *load,
                        threshold: *threshold,
                        colors_per_port: *colors_per_port,
                        recycle_every: every,
                    };
                    let mut result = play(&rules, *rounds, seed, control)?;
                    if recycle_every.len() > 1 {
                        result.run.sweep.insert("recycle_every".to_owned(), Value::Integer(i64::from(every)));
                    }
                    results.push(result);
                }
            }
        }
    }
    Ok(results)
}

fn check_size(bins: u32, rounds: u32, colors_per_port: u32) -> Result<(), ModelError> {
    let too_large = |what, count, most, keys| Err(ModelError::TooLarge { what, count, most, keys });
    let (balls, colors) = (u64::from(bins) * u64::from(rounds), u64::from(bins) * u64::from(colors_per_port));
    if balls > MAX_BALLS {
        return too_large("balls to throw", balls, MAX_BALLS, "ports or rounds");
    }
    if colors > MAX_COLORS {
        return too_large("colors", colors, MAX_COLORS, "ports or colors_per_port");
    }
    Ok(())
}

fn play(rules: &Rules, rounds: u32, seed: u64, control: &Control) -> Result<RunResult, ModelError> {
    let mut game = Game::new(rules, seed);
    let mut series = Vec::new();
    let (mut sum, mut most, mut last) = (0u64, 0, 0);
    for round in 1..=u64::from(rounds) {
        if control.cancel.load(Ordering::Relaxed) {
            return Err(ModelError::Cancelled);
        }
        game.round();
        last = game.longest();
        most = most.max(last);
        sum += last;
        let point = |series: &str, entity: String, balls: usize| SeriesRow {
            run: 0,
            series: series.to_owned(),
            entity,
            time_ps: round * ROUND_PS,
            value: balls as f64,
        };
        series.push(point("longest_queue_balls", "bins".to_owned(), last as usize));
        if rules.bins <= MAX_BIN_CURVES {
            let bins = game.bins.iter().enumerate();
            series.extend(bins.map(|(i, bin)| point("queue_length_balls", format!("bin:{i}"), bin.len())));
        }
    }
    let mut extra: BTreeMap<String, f64> = [
        ("mean_longest_queue", sum as f64 / f64::from(rounds)),
        ("longest_queue", most as f64),
        ("last_longest_queue", last as f64),
        ("balls_thrown", game.thrown as f64),
        ("balls_removed", game.removed as f64),
        ("balls_left", game.left() as f64),
        ("threshold", f64::from(rules.threshold)),
    ]
    .map(|(name, number)| (name.to_owned(), number))
    .into();
    if matches!(rules.variant, BallsVariant::Recycled | BallsVariant::Kept) {
        let without = game.memory.iter().filter(|bin| bin.is_none()).count();
        extra.insert("colors_without_bin".to_owned(), without as f64);
        extra.insert("last_change_round".to_owned(), game.last_change as f64);
    }
    let run = RunRow {
        scheme: rules.variant.name().to_owned(),
        seed,
        sweep: BTreeMap::from([("ports".to_owned(), Value::Integer(i64::from(rules.bins)))]),
        sim_time_us: f64::from(rounds),
        extra,
        ..RunRow::default()
    };
    Ok(RunResult::new(run, Vec::new(), Vec::new(), series))
}

#[derive(Clone, Debug)]
struct Rules {
    variant: BallsVariant,
    /// The number of bins, called n in the paper.
    bins: u32,
    /// The load, called lambda in the paper: the probability with which each of the n balls of a round is thrown.
    load: f64,
    /// The threshold, called tau in the paper.
    threshold: u32,
    /// The number of colours per bin, called b in the paper.
    colors_per_port: u32,
    /// The interval of recycling, called r in the paper: a ball is recycled with probability 1/r.
    recycle_every: u32,
}

struct Game<'a> {
    rules: &'a Rules,
    /// The colours of the balls in each bin, the oldest first.
    bins: Vec<VecDeque<u32>>,
    /// The bin that each colour remembers.
    memory: Vec<Option<u32>>,
    next_color: u32,
    rounds: u64,
    last_change: u64,
    thrown: u64,
    removed: u64,
    random: Stream,
}

impl<'a> Game<'a> {
    fn new(rules: &'a Rules, seed: u64) -> Self {
        Game {
            rules,
            bins: vec![VecDeque::new(); rules.bins as usize],
            memory: vec![None; rules.bins as usize * rules.colors_per_port as usize],
            next_color: 0,
            rounds: 0,
            last_change: 0,
            thrown: 0,
            removed: 0,
            random: stream(seed, u64::from(rules.bins), Purpose::Model),
        }
    }

    /// REPS, section 5.1: every bin that is not empty loses a ball, then a batch of colours is thrown.
    fn round(&mut self) {
        self.rounds += 1;
        if self.rules.variant == BallsVariant::Returned {
            return self.round_of_the_proof();
        }
        for bin in 0..self.rules.bins {
            // The load counts the ball that leaves. In the paper's proof (Appendix B), the ball that leaves a bin with
            // tau + 1 balls is thrown at random, and the ball that leaves a bin with tau balls comes back.
            let load = self.bins[bin as usize].len() as u64;
            if let Some(color) = self.bins[bin as usize].pop_front() {
                self.removed += 1;
                self.learn(color, bin, load);
            }
        }
        for _ in 0..self.rules.bins {
            let color = self.next_color;
            self.next_color = (color + 1) % self.memory.len() as u32;
            if self.arrives() {
                self.throw(color);
            }
        }
    }

    /// REPS, Appendix B: a ball that leaves a bin at or below tau returns to it immediately.
    fn round_of_the_proof(&mut self) {
        let mut fresh = 0;
        for bin in &mut self.bins {
            let load = bin.len() as u64;
            let left = bin.pop_front().is_some();
            self.removed += u64::from(left);
            let is_recycled =
                self.rules.recycle_every == 1 || self.random.below(self.rules.recycle_every) == 0;
            if left && load <= u64::from(self.rules.threshold) && is_recycled {
                bin.push_back(0);
                self.thrown += 1;
            } else {
                fresh += 1;
            }
        }
        for _ in 0..fresh {
            if self.arrives() {
                let bin = self.random.below(self.rules.bins);
                self.bins[bin as usize].push_back(0);
                self.thrown += 1;
            }
        }
    }

    /// Updates the memory of `color` after its ball left `bin`, in which it was one of `load` balls.
    fn learn(&mut self, color: u32, bin: u32, load: u64) {
        if self.rules.variant == BallsVariant::Ops {
            return;
        }
        let is_recycled = self.rules.recycle_every == 1 || self.random.below(self.rules.recycle_every) == 0;
        if !is_recycled && self.rules.variant == BallsVariant::Kept {
            return;
        }
        let known = &mut self.memory[color as usize];
        let after = match load > u64::from(self.rules.threshold) || !is_recycled {
            true => None,
            false => known.or(Some(bin)),
        };
        if *known != after {
            *known = after;
            self.last_change = self.rounds;
        }
    }

    /// Whether one of the n balls of a round arrives. Below full load, each ball arrives with probability lambda,
    /// independently.
    fn arrives(&mut self) -> bool {
        self.rules.load >= 1.0 || self.random.unit() < self.rules.load
    }

    fn throw(&mut self, color: u32) {
        let bin = match self.memory[color as usize] {
            Some(bin) => bin,
            None => self.random.below(self.rules.bins),
        };
        self.bins[bin as usize].push_back(color);
        self.thrown += 1;
    }

    fn longest(&self) -> u64 {
        self.bins.iter().map(VecDeque::len).max().unwrap_or(0) as u64
    }

    fn left(&self) -> u64 {
        self.bins.iter().map(|bin| bin.len() as u64).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(variant: BallsVariant, bins: u32, load: f64) -> Rules {
        Rules { variant, bins, load, threshold: 5, colors_per_port: 4, recycle_every: 1 }
    }

    fn after(game: &mut Game<'_>, rounds: u32) -> u64 {
        (0..rounds).for_each(|_| game.round());
        game.longest()
    }

    #[test]
    fn no_ball_is_lost_or_made() {
        for variant in [BallsVariant::Ops, BallsVariant::Recycled] {
            for load in [0.5, 0.99, 1.0] {
                let rules = rules(variant, 8, load);
                let mut game = Game::new(&rules, 1);
                for _ in 0..500 {
                    game.round();
                    assert_eq!(game.thrown, game.removed + game.left());
                }
            }
        }
    }

    #[test]
    fn a_round_takes_one_ball_of_each_bin_before_it_throws() {
        let rules = rules(BallsVariant::Ops, 3, 1.0);
        let mut game = Game::new(&rules, 1);
        game.bins = vec![VecDeque::from([7, 8]), VecDeque::new(), VecDeque::from([9])];
        game.round();
        assert_eq!(game.removed, 2);
        assert_eq!(game.thrown, 3);
        assert_eq!(game.bins[0][0], 8);
        assert!(!game.bins.iter().flatten().any(|color| *color == 7 || *color == 9));
    }

    #[test]
    fn colors_take_turns_in_batches_of_n() {
        let rules = rules(BallsVariant::Recycled, 5, 1.0);
        let mut game = Game::new(&rules, 1);
        for batch in [0..5, 5..10, 10..15, 15..20, 0..5] {
            game.bins.iter_mut().for_each(VecDeque::clear);
            game.round();
            let mut thrown: Vec<u32> = game.bins.iter().flatten().copied().collect();
            thrown.sort_unstable();
            assert_eq!(thrown, batch.collect::<Vec<u32>>());
        }
    }

    /// When a ball leaves a bin with at most tau balls, its colour remembers this bin, unless the colour already
    /// remembers a bin. When the bin has more than tau balls, the colour forgets its bin.
    #[test]
    fn a_color_learns_from_the_bin_it_leaves() {
        let rules = rules(BallsVariant::Recycled, 8, 1.0);
        let mut game = Game::new(&rules, 1);
        game.learn(3, 6, 5);
        assert_eq!(game.memory[3], Some(6));
        game.learn(3, 2, 1);
        assert_eq!(game.memory[3], Some(6), "it keeps the bin that it knows");
        game.learn(3, 2, 6);
        assert_eq!(game.memory[3], None);
        game.learn(3, 2, 1);
        assert_eq!(game.memory[3], Some(2));
    }

    #[test]
    fn a_color_that_remembers_goes_back() {
        let rules = rules(BallsVariant::Recycled, 6, 1.0);
        let mut game = Game::new(&rules, 1);
        game.memory.fill(Some(4));
        game.round();
        assert_eq!(game.bins[4].len(), 6);
        assert_eq!(game.left(), 6);
    }

    #[test]
    fn ops_never_learns() {
        let rules = rules(BallsVariant::Ops, 8, 1.0);
        let mut game = Game::new(&rules, 1);
        after(&mut game, 200);
        assert!(game.memory.iter().all(Option::is_none));
    }

    #[test]
    fn memories_that_fit_last_for_good() {
        let rules = rules(BallsVariant::Recycled, 6, 1.0);
        let mut game = Game::new(&rules, 1);
        // Each batch of 6 colours has one colour for each bin.
        (0..24).for_each(|color| game.memory[color] = Some(color as u32 % 6));
        for _ in 0..1000 {
            game.round();
            assert!(game.bins.iter().all(|bin| bin.len() == 1));
        }
        assert_eq!(game.last_change, 0);
    }

    /// Below the threshold no mechanism balances the bins.
    #[test]
    fn memories_that_do_not_fit_pull_bins_apart() {
        let rules = Rules {
            variant: BallsVariant::Recycled,
            bins: 2,
            load: 1.0,
            threshold: 100,
            colors_per_port: 2,
            recycle_every: 1,
        };
        let mut game = Game::new(&rules, 1);
        game.memory = vec![Some(0), Some(0), Some(0), Some(1)];
        for cycle in 1..=50 {
            game.round();
            game.round();
            assert_eq!(game.bins.iter().map(VecDeque::len).collect::<Vec<_>>(), [cycle + 1, 1]);
        }
        assert_eq!(game.last_change, 0);
    }

    /// At full load, a round adds as many balls as there are empty bins, so the number of balls never decreases.
    #[test]
    fn empty_bins_make_balls_more() {
        for variant in [BallsVariant::Ops, BallsVariant::Recycled] {
            let rules = rules(variant, 16, 1.0);
            let mut game = Game::new(&rules, 2);
            for _ in 0..1000 {
                let (empty, before) =
                    (game.bins.iter().filter(|bin| bin.is_empty()).count() as u64, game.left());
                game.round();
                assert_eq!(game.left(), before + empty);
            }
        }
    }

    /// With the smallest tau and b of Theorem 5.1 (4 ln n and 2.4 ln n, rounded up), no queue exceeds 3 tau. With
    /// random throws, the longest queue after 8,000 rounds is more than twice as long as the longest with recycling.
    #[test]
    fn recycling_bounds_the_queues() {
        for bins in [16, 32, 64] {
            let ln = libm::log(f64::from(bins));
            let (threshold, colors_per_port) = (libm::ceil(4.0 * ln) as u32, libm::ceil(2.4 * ln) as u32);
            let rules =
                |variant| Rules { variant, bins, load: 1.0, threshold, colors_per_port, recycle_every: 1 };
            let (recycled, ops) = (rules(BallsVariant::Recycled), rules(BallsVariant::Ops));
            for seed in 1..=5 {
                let mut game = Game::new(&recycled, seed);
                let most = (0..8000).map(|_| after(&mut game, 1)).max().unwrap_or(0);
                let random = after(&mut Game::new(&ops, seed), 8000);
                assert!(most <= 3 * u64::from(threshold), "n = {bins}, seed {seed}: {most}");
                assert!(random > 2 * most, "n = {bins}, seed {seed}: {random} against {most}");
            }
        }
    }

    /// With random throws, the longest queue is unbounded at full load and bounded below full load.
    #[test]
    fn random_throws_grow_only_at_full_load() {
        let mean = |load: f64, rounds: u32| -> f64 {
            let total: u64 = (1..=20)
                .map(|seed| after(&mut Game::new(&rules(BallsVariant::Ops, 16, load), seed), rounds))
                .sum();
            total as f64 / 20.0
        };
        let (early, late) = (mean(1.0, 250), mean(1.0, 4000));
        assert!(late > 2.0 * early, "{early} after 250 rounds, {late} after 4000");
        let (early, late) = (mean(0.5, 250), mean(0.5, 4000));
        assert!(late < 1.5 * early, "{early} after 250 rounds, {late} after 4000");
    }

    #[test]
    fn the_load_is_the_mean_number_of_balls() {
        let rules = rules(BallsVariant::Ops, 32, 0.9);
        let mut game = Game::new(&rules, 3);
        after(&mut game, 10_000);
        let (expected, sigma) = (0.9 * 320_000.0, libm::sqrt(320_000.0 * 0.9 * 0.1));
        assert!(libm::fabs(game.thrown as f64 - expected) < 5.0 * sigma, "{}", game.thrown);
    }

    fn spec(ports: Vec<u32>, rounds: u32) -> ModelSpec {
        ModelSpec::BallsIntoBins {
            ports,
            rounds,
            load: 1.0,
            variants: vec![BallsVariant::Ops, BallsVariant::Recycled],
            threshold: 5,
            colors_per_port: 4,
            recycle_every: vec![1],
            seeds: vec![1, 2],
        }
    }

    #[test]
    fn rows_are_in_order_and_curves_belong_to_them() {
        let results = run(&spec(vec![4, 16], 50), &Control::default()).unwrap();
        let keys: Vec<(String, String, u64)> = results
            .iter()
            .map(|result| (result.run.scheme.clone(), result.run.sweep["ports"].to_string(), result.run.seed))
            .collect();
        let expected = [("ops", "4", 1), ("ops", "4", 2), ("ops", "16", 1), ("ops", "16", 2)];
        for (key, (scheme, ports, seed)) in keys.iter().zip(expected) {
            assert_eq!((key.0.as_str(), key.1.as_str(), key.2), (scheme, ports, seed));
        }
        assert!(keys[4..].iter().all(|key| key.0 == "recycled"));
        // Both games have a curve of the longest queue, and the small game has one for each bin too.
        assert_eq!(results[0].series.len(), 50 * 5);
        assert_eq!(results[2].series.len(), 50);
        let longest: Vec<f64> = results[2].series.iter().map(|row| row.value).collect();
        let extra = &results[2].run.extra;
        assert_eq!(extra["mean_longest_queue"], longest.iter().sum::<f64>() / 50.0);
        assert_eq!(extra["last_longest_queue"], longest[49]);
        assert_eq!(extra["balls_thrown"], extra["balls_removed"] + extra["balls_left"]);
        assert_eq!(results[0].series.last().unwrap().time_ps, 50 * ROUND_PS);
    }

    /// Theorem 5.1 for 16 bins and the smallest tau, which is 4 ln 16 = 11.1 rounded up: every bin settles at or
    /// below 12 balls and stays there.
    #[test]
    fn what_comes_back_at_once_settles_below_the_threshold() {
        let rules = Rules { threshold: 12, ..rules(BallsVariant::Returned, 16, 1.0) };
        for seed in 1..=10 {
            let mut game = Game::new(&rules, seed);
            after(&mut game, 200);
            let balls = game.left();
            for _ in 0..200 {
                assert!(after(&mut game, 1) <= 12, "seed {seed}");
            }
            assert_eq!(game.left(), balls, "nothing runs dry any more");
            assert_eq!(game.thrown, game.removed + game.left());
        }
    }

    #[test]
    fn the_less_is_recycled_the_longer_the_queues() {
        for variant in [BallsVariant::Recycled, BallsVariant::Kept, BallsVariant::Returned] {
            let longest = |recycle_every: u32| -> u64 {
                let rules = Rules { recycle_every, ..rules(variant, 32, 1.0) };
                (1..=10).map(|seed| after(&mut Game::new(&rules, seed), 500)).sum()
            };
            assert!(longest(1) < longest(4) && longest(4) < longest(64), "{variant:?}");
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_game_and_another_one_another() {
        let results = run(&spec(vec![8], 100), &Control::default()).unwrap();
        assert_eq!(results, run(&spec(vec![8], 100), &Control::default()).unwrap());
        assert_ne!(results[0].series, results[1].series);
    }

    #[test]
    fn a_game_that_is_too_large_is_refused() {
        let error = run(&spec(vec![4_000_000_000], 1000), &Control::default()).unwrap_err();
        assert!(error.to_string().contains("lower ports or rounds"), "{error}");
    }

    #[test]
    fn a_stopped_game_says_so() {
        let control = Control::default();
        control.cancel.store(true, Ordering::Relaxed);
        assert_eq!(run(&spec(vec![4], 10), &control), Err(ModelError::Cancelled));
    }
}
