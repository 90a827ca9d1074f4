//! Statistics per entropy value: a round robin that skips entropy values with a penalty.
//!
//! REPS (section 4.1) compares "a bitmap approach where we keep per EV statistics similarly to STrack", without
//! further details. The scheme `bitmap` takes the penalties, their cap and the number of entropy values from the
//! simulator published with REPS. With [`Decay::First`], penalties decay by STrack's rule (Algorithm 3, lines 20-27),
//! with a counter in place of STrack's bit.
//!
//! Under most transports a timeout does not tell which entropy value lost the packet (see
//! [`LoadBalancer::handle_timeout`]). For these transports this balancer records each entropy value that it chose,
//! with the time of the choice. It assumes that a packet that times out now was sent an RTO ago. The assumption holds
//! under `sack` and `eqds`, where each packet has its own timeout, if the timers of hosts are exact. If a timeout
//! occurs at another time, no record matches and no entropy value is penalised.

use super::AnyLb;
use super::interface::{Environment, LbProperties, LoadBalancer};
use crate::StateField;
use anabranch_base::{Duration, Stream, Time, parameter_choices, parameters};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

parameters! {
    /// Parameters of the bitmap balancer.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct BitmapConfig {
        /// Number of entropy values.
        #[param(1..=4_096; example = 256; source = "unspecified; the simulator published with REPS; STrack, section 4.1")]
        pub evs: u32,
        /// Penalty that the ACK of a marked packet adds to its entropy value.
        #[param(0..=255; example = 1; source = "unspecified; the simulator published with REPS")]
        pub ecn_penalty: u32,
        /// Penalty that a trimmed packet adds.
        #[param(0..=255; example = 4; source = "unspecified; the simulator published with REPS, of a NACK")]
        pub trim_penalty: u32,
        /// Penalty that a timeout adds.
        #[param(0..=255; example = 15; source = "unspecified; the simulator published with REPS")]
        pub timeout_penalty: u32,
        /// The highest penalty.
        #[param(1..=255; example = 15; source = "unspecified; the simulator published with REPS")]
        pub max_penalty: u32,
        /// Number of sent packets whose entropy values are recorded for timeouts. With 0, timeouts add no penalty,
        /// except under `uet` and `mrc`, which report the entropy value of the lost packet.
        #[param(0..=65_536; example = 1024;
            source = "unspecified; an RTO of 70 us (REPS, section 4.1) is 843 packets of 4150 B at 400 Gb/s")]
        pub remembered: u32,
        /// Share of the entropy values. While more than this share have a penalty, no entropy value is skipped.
        #[serde(default = "always", skip_serializing_if = "is_always")]
        #[param(0.0..=1.0; example = 0.5; source = "UET 1.0.3, section 3.6.16, example: a half; STrack and uet-htsim: 1"; default = 1.0)]
        pub skip_limit: f64,
        /// Penalties that a packet reduces by one: of the `first` entropy value that it skips, or of `each`.
        #[serde(default, skip_serializing_if = "Decay::is_first")]
        #[param(any; example = "each"; source = "first: STrack, Algorithm 3, and uet-htsim; each: UET 1.0.3, section 3.6.16, example";
            default = "first")]
        pub decay: Decay,
    }
}

/// The penalties that a packet reduces by one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decay {
    /// The penalty of the first entropy value that the packet skips.
    #[default]
    First,
    /// The penalties of all entropy values that the packet skips.
    Each,
}

parameter_choices!(Decay: "first" = First, "each" = Each);

impl Decay {
    fn is_first(&self) -> bool {
        *self == Decay::First
    }
}

fn always() -> f64 {
    1.0
}

fn is_always(limit: &f64) -> bool {
    *limit == always()
}

/// A sender with a penalty for each entropy value.
#[derive(Clone, Debug)]
pub struct Bitmap {
    penalties: Box<[u8]>,
    /// Number of entropy values with a penalty.
    penalised: u32,
    at: u32,
    /// The distance from `at` to the entropy value of the next turn in the round.
    stride: u32,
    /// The number of turns left in the round.
    turns: u32,
    /// The times and entropy values of the packets that were sent in the last RTO, at most `remembered` packets.
    sent: VecDeque<(Time, u16)>,
    rto: Duration,
    config: BitmapConfig,
    random: Stream,
}

impl Bitmap {
    /// A sender without penalties.
    pub fn new(config: &BitmapConfig, environment: &Environment, random: Stream) -> Self {
        Bitmap {
            penalties: vec![0; config.evs as usize].into(),
            penalised: 0,
            at: 0,
            stride: 1,
            turns: 0,
            sent: VecDeque::new(),
            rto: environment.rto,
            config: config.clone(),
            random,
        }
    }

    /// Hardware would keep the entropy values of packets in flight by PSN, each with as many bits as the largest value
    /// needs.
    pub(super) fn state(config: &BitmapConfig) -> Vec<StateField> {
        let bits = |values: u32| u32::BITS - (values - 1).leading_zeros();
        let ev = bits(config.evs).max(1);
        let mut state = vec![
            StateField::new("penalty", bits(config.max_penalty + 1), config.evs),
            StateField::new("turn: last, distance, left", ev, 3),
        ];
        if config.remembered > 0 {
            state.push(StateField::new("entropy value of a packet sent", ev, config.remembered));
        }
        state
    }
}

impl LbProperties for BitmapConfig {
    fn build(&self, environment: &Environment, random: Stream) -> AnyLb {
        AnyLb::Bitmap(Box::new(Bitmap::new(self, environment, random)))
    }

    fn state(&self) -> Vec<StateField> {
        Bitmap::state(self)
    }

    fn reacts_to_ecn(&self) -> bool {
        self.ecn_penalty > 0
    }

    fn leaves_lossy_paths(&self) -> bool {
        self.timeout_penalty > 0
    }
}

impl LoadBalancer for Bitmap {
    /// Returns the next entropy value in turn without a penalty. The first skipped value, or each skipped value, loses
    /// one point of its penalty (see [`Decay`]). If the share of values with a penalty is above `skip_limit`, or if the
    /// values of the next `evs` turns all have a penalty, the value of the first of these turns is used. The penalty of
    /// that value also falls by one.
    fn next_ev(&mut self, now: Time, _window: u64) -> u16 {
        let skips = f64::from(self.penalised) <= self.config.skip_limit * f64::from(self.config.evs);
        let first = self.turn();
        let mut ev = first;
        if self.decay(first) {
            let mut others = if skips { 1..self.config.evs } else { 0..0 };
            ev = loop {
                if others.next().is_none() {
                    break first;
                }
                let other = self.turn();
                if self.penalties[usize::from(other)] == 0 {
                    break other;
                }
                if self.config.decay == Decay::Each {
                    self.decay(other);
                }
            };
        }
        self.remember(now, ev);
        ev
    }

    fn handle_ack(&mut self, _now: Time, ev: u16, marked: bool, _rtt: Duration) {
        // As in the published simulator, an unmarked ACK does not reduce the penalty. The paper is silent on this
        // point. In STrack, an unmarked ACK clears the bit.
        if marked {
            self.penalise(ev, self.config.ecn_penalty);
        }
    }

    fn handle_timeout(&mut self, now: Time, ev: Option<u16>) {
        let slot = self.sent.partition_point(|&(sent, _)| sent + self.rto < now);
        let recorded = self.sent.get(slot).filter(|&&(sent, _)| sent + self.rto == now).map(|&(_, ev)| ev);
        if let Some(ev) = ev.or(recorded) {
            self.penalise(ev, self.config.timeout_penalty);
        }
    }

    fn handle_trim(&mut self, _now: Time, ev: u16) {
        self.penalise(ev, self.config.trim_penalty);
    }
}

impl Bitmap {
    /// The next entropy value in turn. Each value has one turn per round, and the order is drawn anew for each round
    /// ("with a shuffle" in the published simulator). The order results from steps of a constant length that is
    /// coprime to the number of entropy values.
    fn turn(&mut self) -> u16 {
        let evs = self.config.evs;
        if self.turns == 0 {
            self.turns = evs;
            self.at = self.random.below(evs);
            self.stride = loop {
                let stride = 1 + self.random.below(evs);
                if common_divisor(stride, evs) == 1 {
                    break stride;
                }
            };
        }
        self.turns -= 1;
        self.at = (self.at + self.stride) % evs;
        self.at as u16
    }

    /// Reduces the penalty of `ev` by one. Returns false if `ev` has no penalty.
    fn decay(&mut self, ev: u16) -> bool {
        let penalty = &mut self.penalties[usize::from(ev)];
        let Some(less) = penalty.checked_sub(1) else { return false };
        *penalty = less;
        self.penalised -= u32::from(less == 0);
        true
    }

    fn penalise(&mut self, ev: u16, by: u32) {
        if let Some(penalty) = self.penalties.get_mut(usize::from(ev)) {
            let before =
                std::mem::replace(penalty, (u32::from(*penalty) + by).min(self.config.max_penalty) as u8);
            self.penalised += u32::from(before == 0 && *penalty > 0);
        }
    }

    fn remember(&mut self, now: Time, ev: u16) {
        let is_old = |&(sent, _): &(Time, u16)| sent + self.rto < now;
        while self.sent.front().is_some_and(is_old) {
            self.sent.pop_front();
        }
        if self.config.remembered == 0 {
            return;
        }
        if self.sent.len() == self.config.remembered as usize {
            self.sent.pop_front();
        }
        self.sent.push_back((now, ev));
    }
}

pub(super) fn common_divisor(mut a: u32, mut b: u32) -> u32 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::super::testing::{at, environment, random};
    use super::*;

    const CONFIG: BitmapConfig = BitmapConfig {
        evs: 8,
        ecn_penalty: 1,
        trim_penalty: 4,
        timeout_penalty: 15,
        max_penalty: 15,
        remembered: 1_024,
        skip_limit: 1.0,
        decay: Decay::First,
    };

    fn sender(config: &BitmapConfig) -> Bitmap {
        Bitmap::new(config, &environment(true), random())
    }

    fn ack(lb: &mut Bitmap, ev: u16, marked: bool) {
        lb.handle_ack(at(1), ev, marked, Duration::from_us(8));
    }

    fn round(lb: &mut Bitmap) -> Vec<u16> {
        (0..lb.config.evs).map(|_| lb.next_ev(at(1), 0)).collect()
    }

    #[test]
    fn each_has_one_turn_in_a_round_and_each_round_another_order() {
        for evs in [1, 2, 6, 8, 255, 256] {
            let mut lb = sender(&BitmapConfig { evs, ..CONFIG });
            let rounds: Vec<_> = (0..8).map(|_| round(&mut lb)).collect();
            for round in &rounds {
                let mut sorted = round.clone();
                sorted.sort_unstable();
                assert_eq!(sorted, (0..evs as u16).collect::<Vec<_>>());
            }
            assert!(evs < 6 || rounds.iter().any(|round| *round != rounds[0]));
        }
    }

    /// The number of turns in which an entropy value is skipped before it is used.
    fn skipped(lb: &mut Bitmap, ev: u16) -> u32 {
        let mut skips = 0;
        while lb.penalties[usize::from(ev)] > 0 {
            let before = lb.penalties[usize::from(ev)];
            let taken = lb.next_ev(at(1), 0);
            assert!(taken != ev || lb.penalties[usize::from(ev)] == 0, "taken with a penalty");
            skips += u32::from(lb.penalties[usize::from(ev)] < before);
        }
        skips
    }

    #[test]
    fn penalties_are_turns_that_are_skipped() {
        let mut lb = sender(&CONFIG);
        ack(&mut lb, 3, false);
        assert_eq!(skipped(&mut lb, 3), 0);
        ack(&mut lb, 3, true);
        assert_eq!(skipped(&mut lb, 3), 1);
        lb.handle_trim(at(1), 3);
        ack(&mut lb, 3, true);
        assert_eq!(skipped(&mut lb, 3), 5);
        (0..40).for_each(|_| ack(&mut lb, 3, true));
        assert_eq!(skipped(&mut lb, 3), 15, "the cap");
        ack(&mut lb, 3, true);
        ack(&mut lb, 3, false);
        assert_eq!(skipped(&mut lb, 3), 1, "an unmarked ACK takes nothing off");
        ack(&mut lb, 200, true);
    }

    #[test]
    fn one_penalty_ebbs_a_packet() {
        let mut lb = sender(&CONFIG);
        (0..8).for_each(|ev| lb.handle_trim(at(1), ev));
        let sum = |lb: &Bitmap| lb.penalties.iter().map(|&p| u32::from(p)).sum::<u32>();
        let mut before = sum(&lb);
        while before > 0 {
            let none_is_free = !lb.penalties.contains(&0);
            assert!(lb.next_ev(at(1), 0) < 8);
            let after = sum(&lb);
            assert!(after + 1 == before || (after == before && !none_is_free));
            before = after;
        }
    }

    /// The RTO is 70 us. The packet that times out at 73 us was therefore sent at 3 us.
    #[test]
    fn a_timeout_penalises_the_entropy_value_that_lost_the_packet() {
        let mut lb = sender(&CONFIG);
        let evs: Vec<_> = (1..=8).map(|us| lb.next_ev(at(us), 0)).collect();
        let later = lb.next_ev(at(60), 0);
        lb.handle_timeout(at(73), None);
        let penalties: Vec<_> = evs.iter().map(|&ev| lb.penalties[usize::from(ev)]).collect();
        assert_eq!(penalties, [0, 0, 15, 0, 0, 0, 0, 0]);
        lb.handle_timeout(at(73) + Duration(1), None);
        assert_eq!(lb.penalties.iter().filter(|&&p| p > 0).count(), 1, "nothing was sent an RTO before");
        assert!(later < 8);
    }

    #[test]
    fn it_remembers_an_rto_and_no_more_than_it_may() {
        let mut lb = sender(&CONFIG);
        for us in 0..1_000 {
            lb.next_ev(at(us), 0);
        }
        assert_eq!(lb.sent.len(), 71, "from 929 to 999 us");
        let mut lb = sender(&BitmapConfig { remembered: 4, ..CONFIG });
        for us in 0..1_000 {
            lb.next_ev(at(us), 0);
        }
        assert_eq!(lb.sent.len(), 4);
        let mut lb = sender(&BitmapConfig { remembered: 0, ..CONFIG });
        lb.next_ev(at(1), 0);
        lb.handle_timeout(at(71), None);
        assert!(lb.penalties.iter().all(|&p| p == 0));
    }

    /// UET's example: a mark costs an entropy value one turn. While more than half of the values are marked, no value
    /// is skipped.
    #[test]
    fn nothing_is_skipped_beyond_the_limit() {
        let mut lb = sender(&BitmapConfig { max_penalty: 1, skip_limit: 0.5, ..CONFIG });
        (0..4).for_each(|ev| ack(&mut lb, ev, true));
        let mut unmarked: Vec<u16> = (0..4).map(|_| lb.next_ev(at(1), 0)).collect();
        unmarked.sort_unstable();
        assert_eq!(unmarked, [4, 5, 6, 7], "half are skipped");
        let mut lb = sender(&BitmapConfig { max_penalty: 1, skip_limit: 0.5, ..CONFIG });
        (0..6).for_each(|ev| ack(&mut lb, ev, true));
        let taken = lb.next_ev(at(1), 0);
        assert_eq!(lb.penalties[usize::from(taken)], 0, "used, and cleared");
        assert_eq!(lb.penalised, lb.penalties.iter().filter(|&&penalty| penalty > 0).count() as u32);
    }

    /// UET's example: a mark costs one turn, even if several marked values follow each other.
    #[test]
    fn each_value_that_is_skipped_loses_its_mark() {
        let mut plan = sender(&CONFIG);
        let (a, b) = (plan.turn(), plan.turn());
        for (decay, left) in [(Decay::Each, 0), (Decay::First, 1)] {
            let mut lb = sender(&BitmapConfig { max_penalty: 1, skip_limit: 0.5, decay, ..CONFIG });
            ack(&mut lb, a, true);
            ack(&mut lb, b, true);
            assert!(![a, b].contains(&lb.next_ev(at(1), 0)));
            assert_eq!(lb.penalised, left, "{decay:?}");
        }
        // 5 of 8 values are marked. The limit is checked before the mark of the used value is cleared.
        let mut lb = sender(&BitmapConfig { max_penalty: 1, skip_limit: 0.5, decay: Decay::Each, ..CONFIG });
        [a, b]
            .iter()
            .chain((0..8).filter(|ev| ![a, b].contains(ev)).take(3).collect::<Vec<_>>().iter())
            .for_each(|&ev| ack(&mut lb, ev, true));
        assert_eq!((lb.next_ev(at(1), 0), lb.penalised), (a, 4));
    }

    #[test]
    fn without_penalties_it_is_oblivious() {
        let config = BitmapConfig { ecn_penalty: 0, trim_penalty: 0, timeout_penalty: 0, ..CONFIG };
        let (mut lb, mut other) = (sender(&config), sender(&config));
        (0..8).for_each(|ev| {
            ack(&mut lb, ev, true);
            lb.handle_trim(at(1), ev);
            lb.handle_timeout(at(1), Some(ev));
        });
        assert_eq!(round(&mut lb), round(&mut other));
        assert!(!config.reacts_to_ecn() && CONFIG.reacts_to_ecn());
    }

    #[test]
    fn state_is_as_listed() {
        let bits =
            |config: &BitmapConfig| Bitmap::state(config).iter().map(|f| f.bits * f.count).sum::<u32>();
        let config = BitmapConfig { evs: 256, remembered: 0, ..CONFIG };
        assert_eq!(bits(&config), 256 * 4 + 3 * 8);
        assert_eq!(bits(&BitmapConfig { remembered: 1_024, ..config }), 256 * 4 + 3 * 8 + 8 * 1_024);
        assert_eq!(bits(&BitmapConfig { evs: 1, remembered: 0, ..CONFIG }), 4 + 3);
    }
}
