//! Protective load balancing: a queue pair stays on one path until a number of consecutive round trips were congested
//! or a timeout occurs, and then moves to a random path.
//!
//! PLB (SIGCOMM 2022) and FlowBender (CoNEXT 2014) have the same rule with different numbers. In Linux, a round is
//! congested if half of its packets are marked. PLB then moves an idle flow after 3 consecutive congested rounds, and
//! a busy flow after 12. FlowBender moves when more than 5 % are marked in a single round. REPS (section 4.1) compares
//! PLB with "more aggressive parameters similarly to FlowBender". The simulator published with REPS stores its
//! threshold of a quarter in an integer, so that any mark makes a round congested (`threshold = 0`). In this simulator,
//! a flow moves after 2 congested rounds.
//!
//! Two rules of PLB are left out: PLB waits for an idle moment before it moves, and does not move for a minute after a
//! timeout.

use super::AnyLb;
use super::interface::{Environment, LbProperties, LoadBalancer};
use crate::StateField;
use anabranch_base::{Duration, Stream, Time, parameters};
use serde::{Deserialize, Serialize};

parameters! {
    /// Parameters of PLB.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct PlbConfig {
        /// Number of entropy values among which a new path is drawn.
        #[param(1..=65_536; example = 65_536; source = "REPS, section 2.2")]
        pub evs: u32,
        /// Share of marked packets above which a round is congested. The share is taken among the packets whose ACKs
        /// arrive in the round. With 0, any mark makes the round congested.
        #[param(0.0..=1.0; example = 0.05; source = "FlowBender (CoNEXT 2014), T; PLB's own is 0.5")]
        pub threshold: f64,
        /// Number of consecutive congested rounds after which the queue pair moves.
        #[param(1..=255; example = 1; source = "FlowBender (CoNEXT 2014), N; PLB's own are 3 and 12")]
        pub rounds: u32,
    }
}

/// A sender on one path at a time.
#[derive(Clone, Debug)]
pub struct Plb {
    ev: u16,
    congested: u8,
    /// Number of ACKs and trims in this round.
    acks: u32,
    /// Number of trims and of ACKs with a mark in this round.
    marks: u32,
    /// Arrival of the first ACK or trim of this round.
    round_start: Time,
    /// The time of the last move.
    since: Time,
    evs: u32,
    threshold: f64,
    rounds: u8,
    rto: Duration,
    random: Stream,
}

impl Plb {
    /// A sender on its first path.
    pub fn new(config: &PlbConfig, environment: &Environment, mut random: Stream) -> Self {
        Plb {
            ev: random.below(config.evs) as u16,
            congested: 0,
            acks: 0,
            marks: 0,
            round_start: Time::ZERO,
            since: Time::ZERO,
            evs: config.evs,
            threshold: config.threshold,
            rounds: config.rounds as u8,
            rto: environment.rto,
            random,
        }
    }

    /// Linux keeps the number of rounds in 8 bits and takes the counts from its DCTCP. Here the counts have 16 bits
    /// each, which is enough for a round of 65,535 packets.
    pub(super) fn state() -> Vec<StateField> {
        vec![
            StateField::new("entropy value", 16, 1),
            StateField::new("ACKs and marks of the round", 16, 2),
            StateField::new("start of the round", 32, 1),
            StateField::new("congested rounds", 8, 1),
            StateField::new("time of the last move", 32, 1),
        ]
    }
}

impl LbProperties for PlbConfig {
    fn build(&self, environment: &Environment, random: Stream) -> AnyLb {
        AnyLb::Plb(Plb::new(self, environment, random))
    }

    fn state(&self) -> Vec<StateField> {
        Plb::state()
    }

    fn spreads_packets(&self) -> bool {
        false
    }

    fn reacts_to_ecn(&self) -> bool {
        true
    }

    fn leaves_lossy_paths(&self) -> bool {
        true
    }
}

impl LoadBalancer for Plb {
    #[inline]
    fn next_ev(&mut self, _now: Time, _window: u64) -> u16 {
        self.ev
    }

    /// A round is a round trip. It lasts from its first ACK or trim until the ACK of a packet that was sent at that
    /// time or later.
    fn handle_ack(&mut self, now: Time, ev: u16, marked: bool, rtt: Duration) {
        // ACKs from the previous path are ignored, which the papers do not specify. Marks of the previous path would
        // make the first round of the new path congested, and one congested round could then move a sender twice.
        if ev != self.ev {
            return;
        }
        if self.acks > 0 && self.round_start + rtt <= now {
            self.end_round(now);
            if ev != self.ev {
                return;
            }
        }
        if self.acks == 0 {
            self.round_start = now;
        }
        self.acks += 1;
        self.marks += u32::from(marked);
    }

    /// By both papers, the sender moves at a timeout. If each packet has its own timeout, the timeouts of packets that
    /// were sent before the move are ignored.
    fn handle_timeout(&mut self, now: Time, _ev: Option<u16>) {
        if self.since + self.rto <= now {
            self.repath(now);
        }
    }

    /// Neither paper specifies this, since neither has trimming switches. A trimmed packet found a full queue, so it
    /// counts as marked.
    fn handle_trim(&mut self, now: Time, ev: u16) {
        if ev == self.ev {
            if self.acks == 0 {
                self.round_start = now;
            }
            self.acks += 1;
            self.marks += 1;
        }
    }
}

impl Plb {
    fn end_round(&mut self, now: Time) {
        let congested = f64::from(self.marks) > self.threshold * f64::from(self.acks);
        self.congested = if congested { self.congested + 1 } else { 0 };
        self.acks = 0;
        self.marks = 0;
        if self.congested >= self.rounds {
            self.repath(now);
        }
    }

    fn repath(&mut self, now: Time) {
        self.ev = self.random.below(self.evs) as u16;
        self.since = now;
        self.congested = 0;
        self.acks = 0;
        self.marks = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{RTO, at, environment, random};
    use super::*;

    const RTT: Duration = Duration::from_us(8);

    fn sender(threshold: f64, rounds: u32) -> Plb {
        Plb::new(&PlbConfig { evs: 65_536, threshold, rounds }, &environment(false), random())
    }

    fn next(plb: &mut Plb) -> u16 {
        plb.next_ev(Time::ZERO, 0)
    }

    /// Plays a round that starts at microsecond `us` and has `acks` ACKs, the first `marks` of which are marked.
    /// Returns whether the sender moved after the ACK that ends the round.
    fn moves_after(plb: &mut Plb, us: u64, acks: u64, marks: u64) -> bool {
        let path = next(plb);
        for n in 0..acks {
            plb.handle_ack(at(us), path, n < marks, RTT);
        }
        plb.handle_ack(at(us + 8), path, false, RTT);
        next(plb) != path
    }

    #[test]
    fn moves_when_more_than_the_threshold_was_marked() {
        assert!(!moves_after(&mut sender(0.05, 1), 10, 20, 1), "5 % is not more than 5 %");
        assert!(moves_after(&mut sender(0.05, 1), 10, 20, 2));
        assert!(moves_after(&mut sender(0.0, 1), 10, 1_000, 1), "any mark");
        assert!(!moves_after(&mut sender(0.0, 1), 10, 1_000, 0));
    }

    #[test]
    fn rounds_between_start_the_count_anew() {
        let mut plb = sender(0.5, 2);
        assert!(!moves_after(&mut plb, 10, 4, 4));
        // The ACK that ended the round is the first of the next round, so that half of that round's ACKs are marked.
        assert!(!moves_after(&mut plb, 20, 1, 1), "half is not more than half");
        assert!(!moves_after(&mut plb, 40, 4, 4));
        assert!(moves_after(&mut plb, 50, 4, 4));
    }

    #[test]
    fn a_round_ends_with_what_was_sent_after_it_began() {
        let mut plb = sender(0.0, 1);
        let path = next(&mut plb);
        plb.handle_ack(at(10), path, true, RTT);
        plb.handle_ack(at(17), path, false, RTT);
        plb.handle_ack(at(19), path, false, Duration::from_us(10));
        assert_eq!(next(&mut plb), path, "sent at 9 us, before the round began");
        plb.handle_ack(at(20), path, false, RTT);
        assert_ne!(next(&mut plb), path);
    }

    #[test]
    fn a_path_that_was_left_says_nothing_of_the_next() {
        let mut plb = sender(0.0, 1);
        let old = next(&mut plb);
        assert!(moves_after(&mut plb, 10, 4, 4));
        let new = next(&mut plb);
        for us in 20..60 {
            plb.handle_ack(at(us), old, true, RTT);
            plb.handle_trim(at(us), old);
        }
        assert!(!moves_after(&mut plb, 60, 4, 0));
        assert_eq!(next(&mut plb), new);
    }

    #[test]
    fn a_timeout_moves_once_for_all_that_the_path_lost() {
        let mut plb = sender(0.05, 1);
        let first = next(&mut plb);
        plb.handle_timeout(at(100), None);
        let second = next(&mut plb);
        assert_ne!(first, second);
        for us in 101..170 {
            plb.handle_timeout(at(us), None);
            assert_eq!(next(&mut plb), second, "sent before the move: the RTO is {RTO}");
        }
        plb.handle_timeout(at(170), None);
        assert_ne!(next(&mut plb), second);
    }

    #[test]
    fn a_trimmed_packet_counts_as_marked() {
        let mut plb = sender(0.5, 1);
        let path = next(&mut plb);
        plb.handle_trim(at(10), path);
        assert!(moves_after(&mut plb, 11, 1, 1));
    }

    #[test]
    fn state_is_as_listed() {
        assert_eq!(Plb::state().iter().map(|field| field.bits * field.count).sum::<u32>(), 120);
    }
}
