//! The pull pacer of a host.

use super::config::EqdsConfig;
use crate::PathFacts;
use crate::packet::{Packet, Repr};
use anabranch_base::{Duration, Rate, Stream, Time};
use std::collections::VecDeque;

/// Number of entropy values over which pulls rotate, so that a dead path does not hold up all pulls (uet-htsim). RTSs
/// of `eqds` rotate over these values too.
pub(in crate::transport) const PULL_EVS: u16 = 128;

/// The pull pacer of a receiving host. It sends pulls at a given rate, round robin over the receivers with demand.
///
/// To drive it, call [`observe`](Self::observe) for each packet to a receiver, and [`join`](Self::join) for a receiver
/// that requests a pull. At [`next_timeout`](Self::next_timeout), call [`take_turn`](Self::take_turn) until the
/// receiver that it returns grants a pull, and then call [`pulled`](Self::pulled).
#[derive(Clone, Debug)]
pub struct PullPacer {
    rate: Rate,
    adaptation: Option<Adaptation>,
    /// The earliest time of the next pull.
    free_at: Time,
    /// Receivers with demand, in the order of their turns. The driver chooses their numbers.
    waiting: VecDeque<u32>,
}

/// The adaptation of the pull rate to congestion in an oversubscribed fabric (RCCC, as in uet-htsim).
#[derive(Clone, Debug)]
struct Adaptation {
    /// The pull rate, as a fraction of the full rate.
    share: f64,
    least_share: f64,
    /// The moving average of the fraction of untrimmed packets that are marked.
    marked: f64,
    /// Number of consecutive periods without a decrease, at most [`MOST_DOUBLINGS`].
    calm: u32,
    period: Duration,
    /// None if all periods have the same length.
    random: Option<Stream>,
    ends: Time,
    /// Numbers of packets in the current period: all packets, untrimmed packets, marked untrimmed packets, and packets
    /// trimmed before the last hop.
    counts: [u32; 4],
}

impl PullPacer {
    /// A pacer without waiting receivers.
    pub fn new(config: &EqdsConfig, facts: &PathFacts) -> Self {
        PullPacer::at_rate(config.pull_rate.on(facts))
    }

    /// A pacer with this rate.
    pub fn at_rate(rate: Rate) -> Self {
        PullPacer { rate, adaptation: None, free_at: Time::ZERO, waiting: VecDeque::new() }
    }

    /// Adapts the rate to congestion, once per `period`. Signs of congestion are marked packets and packets that were
    /// trimmed before the last hop. The rate is at least `least_share` of the full rate.
    #[must_use]
    pub fn adapting(self, period: Duration, least_share: f64) -> Self {
        let (share, ends) = (1.0, Time::ZERO + period);
        let (marked, calm, counts) = (0.0, 0, [0; 4]);
        let adaptation = Adaptation { share, least_share, marked, calm, period, random: None, ends, counts };
        PullPacer { adaptation: Some(adaptation), ..self }
    }

    /// Draws the length of each period, from 0.75 to 1.25 times the mean (uet-htsim). With periods of equal length, all
    /// hosts would raise and lower their rates at the same times, and would leave the fabric idle together.
    pub fn draw_periods(&mut self, random: Stream) {
        if let Some(adaptation) = &mut self.adaptation {
            adaptation.random = Some(random);
            adaptation.ends = Time::ZERO + adaptation.next_period();
        }
    }

    /// Counts a packet that arrives for one of the receivers.
    #[inline]
    pub fn observe(&mut self, now: Time, packet: &Packet) {
        if let Some(adaptation) = &mut self.adaptation {
            adaptation.observe(now, packet);
        }
    }

    /// Appends a receiver to the queue.
    #[inline]
    pub fn join(&mut self, receiver: u32) {
        self.waiting.push_back(receiver);
    }

    /// The time at which the next pull may be sent. None if no receiver waits.
    #[inline]
    pub fn next_timeout(&self) -> Option<Time> {
        (!self.waiting.is_empty()).then_some(self.free_at)
    }

    /// Removes and returns the first receiver of the queue, if a pull may be sent now.
    #[inline]
    pub fn take_turn(&mut self, now: Time) -> Option<u32> {
        if now < self.free_at { None } else { self.waiting.pop_front() }
    }

    /// Records that a pull was sent that grants `bytes` bytes.
    #[inline]
    pub fn pulled(&mut self, now: Time, bytes: u64) {
        let rate = match &mut self.adaptation {
            Some(adaptation) => {
                adaptation.advance(now);
                Rate((self.rate.0 as f64 * adaptation.share) as u64)
            }
            None => self.rate,
        };
        self.free_at = now + rate.time_for(bytes);
    }
}

impl Adaptation {
    fn observe(&mut self, now: Time, packet: &Packet) {
        self.advance(now);
        let is_whole = !matches!(packet.repr, Repr::Trimmed { .. });
        let is_trimmed = matches!(packet.repr, Repr::Trimmed { last_hop: false, .. });
        self.counts[0] += 1;
        self.counts[1] += u32::from(is_whole);
        self.counts[2] += u32::from(is_whole && packet.marked);
        self.counts[3] += u32::from(is_trimmed);
    }

    /// Handles the ends of periods up to `now`. After [`ENOUGH_PERIODS`] of them the share is 1, so that further
    /// periods are skipped.
    fn advance(&mut self, now: Time) {
        let mut periods = 0;
        while now >= self.ends && periods < ENOUGH_PERIODS {
            self.adapt();
            let period = self.next_period();
            self.ends += period;
            periods += 1;
        }
        if now >= self.ends {
            self.ends = now + self.next_period();
        }
    }

    fn next_period(&mut self) -> Duration {
        let most = self.period.0 / 2;
        self.random
            .as_mut()
            .map_or(self.period, |random| Duration(self.period.0 - most / 2 + random.up_to(most)))
    }

    /// The rule of uet-htsim. The share falls by the fraction of packets that were trimmed before the last hop. If the
    /// average `marked` is above 0.3, the share is also multiplied by a factor, which is smaller for a higher average.
    /// In a period without a decrease, the share rises by 0.01. If no untrimmed packet of the period is marked, the
    /// rise is doubled for each earlier period since the last decrease, at most [`MOST_DOUBLINGS`] times.
    fn adapt(&mut self) {
        let [all, whole, marked, trimmed] = self.counts.map(f64::from);
        self.marked = 0.5 * self.marked + 0.5 * marked / whole.max(1.0);
        let is_marked = self.marked > 0.3;
        self.share -= trimmed / all.max(1.0);
        if is_marked {
            self.share *= 1.0 - (self.marked - 0.3) / 2.0;
        }
        if is_marked || trimmed > 0.0 {
            self.calm = 0;
        } else {
            let doublings = if marked > 0.0 { 0 } else { self.calm };
            self.share += 0.01 * f64::from(1u32 << doublings);
            self.calm = (self.calm + 1).min(MOST_DOUBLINGS);
        }
        self.share = self.share.clamp(self.least_share, 1.0);
        self.counts = [0; 4];
    }
}

/// The number of doublings after which a rise brings the share to 1 in any case.
const MOST_DOUBLINGS: u32 = 7;
/// The share is 1 after this number of periods if only the first of them has packets. At most two of the periods lower
/// the share, and the later ones raise it.
const ENOUGH_PERIODS: u32 = MOST_DOUBLINGS + 3;
