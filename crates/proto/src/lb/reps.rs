//! Recycled entropies (REPS, sections 3.1 and 3.2, Algorithms 1 and 2, Appendix A).

use super::interface::{Environment, LoadBalancer};
use crate::{Span, StateField};
use anabranch_base::{AboveZero, Duration, Stream, Time, parameter_choices, parameters};
use serde::{Deserialize, Serialize};

parameters! {
    /// Parameters of REPS.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct RepsConfig {
        /// Number of entropy values (EVS_SIZE).
        #[param(1..=65_536; example = 65_536; source = "REPS, section 2.2 and Table 1")]
        pub evs: u32,
        /// Entries of the circular buffer (REPS_BUFFER_SIZE).
        #[param(1..=MAX_BUFFER as u32; example = 8; source = "REPS, Table 1")]
        pub buffer: u32,
        /// Whether the sender freezes on failures (Appendix C.4 evaluates REPS without it).
        #[param(any; example = true; source = "REPS, section 3.2")]
        pub freezing: bool,
        /// How long freezing lasts (FREEZING_TIMEOUT).
        #[param(AboveZero; example = "10ms"; source = "unsaid; the simulator published with REPS")]
        pub freezing_timeout: Span,
        /// How a sender leaves freezing: it keeps its buffer, and every `buffer`-th of `explore_packets` packets explores
        /// (`keep`), or it empties the buffer, and each of them does (`reset`).
        #[serde(default, skip_serializing_if = "AfterFreezing::is_keep")]
        #[param(any; example = "reset"; source = "keep: REPS, Algorithms 1 and 2; reset: the simulator published with it";
            default = "keep")]
        pub after_freezing: AfterFreezing,
        /// At what a sender looks whether freezing is over: at ACKs (`ack`), or at timeouts as well (`timeout`). One whose
        /// cached entropies are all dead gets no ACK, and by `ack` stays frozen for good.
        #[serde(default, skip_serializing_if = "FreezingEnds::is_ack")]
        #[param(any; example = "timeout"; source = "ack: REPS, Algorithm 1; timeout: section 3.2, after a fixed time, and the public UET simulator";
            default = "ack")]
        pub freezing_ends: FreezingEnds,
        /// Packets after freezing of which every `buffer`-th explores (NUM_PKTS_CWND: Algorithm 1 may mean the window at that
        /// time; here it is a number).
        #[param(0..=255; example = 132; source = "unsaid; REPS, Table 1, has eight bits for it. 1.5 BDP on two tiers")]
        pub explore_packets: u32,
        /// A timeout counts as a failure, not congestion, if the highest RTT measured in the last one to two RTO
        /// periods was below this many base RTTs (Appendix A, without trimming).
        #[param(0.0..; example = 1.65;
            source = "REPS, Appendix A; the number is that of the simulator published with it")]
        pub failure_rtt: f64,
        /// Packets that a cached entropy is used for ("ACK+Reuse EVs": as many as packets per ACK). While frozen
        /// without a valid entropy, the buffer is cycled as usual.
        #[serde(default = "once", skip_serializing_if = "is_once")]
        #[param(1..=64; example = 8; source = "REPS, section 4.5.1"; default = 1)]
        pub reuse: u32,
        /// With `reuse` above 1: the oldest entropy is used up before the next (`in-a-row`), or each in its turn until all
        /// are used up (`in-turn`).
        #[serde(default, skip_serializing_if = "ReuseOrder::is_in_a_row")]
        #[param(any; example = "in-turn"; source = "unsaid; in-a-row: the oldest good one first, REPS, Algorithm 2, line 4";
            default = "in-a-row")]
        pub reuse_order: ReuseOrder,
        /// When a sender freezes although nothing failed: with the first ACK at this time of the run or later, once, for
        /// `freezing_timeout`. Without it: at failures alone.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[param(AboveZero; example = "50us"; source = "REPS, Appendix A and figure 19")]
        pub freeze_at: Option<Span>,
    }
}

/// What becomes of the buffer when freezing ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AfterFreezing {
    /// It stays.
    #[default]
    Keep,
    /// It is emptied.
    Reset,
}

parameter_choices!(AfterFreezing: "keep" = Keep, "reset" = Reset);

impl AfterFreezing {
    fn is_keep(&self) -> bool {
        *self == AfterFreezing::Keep
    }
}

/// At what a sender looks whether freezing is over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FreezingEnds {
    /// At an ACK.
    #[default]
    Ack,
    /// At a timeout too.
    Timeout,
}

parameter_choices!(FreezingEnds: "ack" = Ack, "timeout" = Timeout);

impl FreezingEnds {
    fn is_ack(&self) -> bool {
        *self == FreezingEnds::Ack
    }
}

/// In which order entropies with a lifespan are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReuseOrder {
    /// The oldest is used up before the next.
    #[default]
    InARow,
    /// One that was used goes behind the others.
    InTurn,
}

parameter_choices!(ReuseOrder: "in-a-row" = InARow, "in-turn" = InTurn);

impl ReuseOrder {
    fn is_in_a_row(&self) -> bool {
        *self == ReuseOrder::InARow
    }
}

/// REPS, Algorithm 2: an entropy is used once.
fn once() -> u32 {
    1
}

fn is_once(reuse: &u32) -> bool {
    *reuse == once()
}

/// Most entries that a buffer may have: what fits the validity bits.
pub const MAX_BUFFER: usize = 32;

/// A REPS sender's state. Names follow the paper's pseudocode.
#[derive(Clone, Debug)]
pub struct Reps {
    /// `cachedEV` of each entry.
    cached: [u16; MAX_BUFFER],
    /// `isValid` of each entry, a bit each.
    valid: u32,
    head: u8,
    /// REPS_BUFFER_SIZE.
    size: u8,
    /// Entries that were ever written; 0 is `isEmpty()`.
    filled: u8,
    number_of_valid: u8,
    explore_counter: u8,
    is_freezing: bool,
    /// Packets that an entry is used for (`lifespan`), and how many the oldest valid entry has been used for (`used`).
    lifespan: u8,
    used: u8,
    exit_freezing: Time,
    /// When freezing is forced; never, once it was.
    freeze_at: Time,
    rtts: RecentRtt,
    limits: Limits,
    /// Entropies are used in turn.
    turns: Option<Box<Turns>>,
    random: Stream,
}

/// What using entropies in turn needs.
#[derive(Clone, Debug)]
struct Turns {
    reuse: u8,
    /// Packets for which each entry is good.
    left: [u8; MAX_BUFFER],
}

/// What does not change during a queue pair's life.
#[derive(Clone, Debug)]
struct Limits {
    evs: u32,
    freezing: bool,
    freezing_timeout: Duration,
    explore_packets: u8,
    /// Whether the buffer is emptied when freezing ends.
    resets: bool,
    /// Whether freezing may end at a timeout.
    ends_at_timeout: bool,
    /// The RTT from which a timeout tells of congestion and not of a failure; one that there is not where the fabric
    /// trims, since a packet that times out there was not lost to congestion (Appendix A, 1).
    failure_rtt: Duration,
}

impl Reps {
    /// A sender that knows no path yet.
    pub fn new(config: &RepsConfig, environment: &Environment, random: Stream) -> Self {
        let facts = &environment.facts;
        let failure_rtt = match environment.trimming {
            true => Duration(u64::MAX),
            false => Duration((config.failure_rtt * facts.base_rtt.0 as f64) as u64),
        };
        let turns = config.reuse > 1 && config.reuse_order == ReuseOrder::InTurn;
        Reps {
            cached: [0; MAX_BUFFER],
            valid: 0,
            head: 0,
            size: config.buffer as u8,
            filled: 0,
            number_of_valid: 0,
            explore_counter: 0,
            is_freezing: false,
            lifespan: if turns { 1 } else { config.reuse as u8 },
            used: 0,
            exit_freezing: Time::ZERO,
            freeze_at: config.freeze_at.map_or(Time::NEVER, |after| Time::ZERO + after.on(facts)),
            rtts: RecentRtt::new(environment.rto),
            limits: Limits {
                evs: config.evs,
                freezing: config.freezing,
                freezing_timeout: config.freezing_timeout.on(facts),
                explore_packets: config.explore_packets as u8,
                resets: !config.after_freezing.is_keep(),
                ends_at_timeout: !config.freezing_ends.is_ack(),
                failure_rtt,
            },
            turns: turns.then(|| Box::new(Turns { reuse: config.reuse as u8, left: [0; MAX_BUFFER] })),
            random,
        }
    }

    /// Takes over the entropies that another sender to the same host has cached. Not its freezing, nor its round trips:
    /// those are of its time.
    pub fn inherit(&mut self, other: &Reps) {
        self.cached = other.cached;
        self.valid = other.valid;
        self.head = other.head;
        self.filled = other.filled;
        self.number_of_valid = other.number_of_valid;
        self.used = other.used;
        self.turns.clone_from(&other.turns);
    }

    /// Whether it avoids new entropies now.
    pub fn is_freezing(&self) -> bool {
        self.is_freezing
    }

    /// REPS, Table 1. The table leaves out what the RTT test of Appendix A needs (two RTTs and a time). A lifespan above
    /// one takes a counter more, or in turn one for each entry.
    pub(super) fn state(config: &RepsConfig) -> Vec<StateField> {
        let mut state = vec![
            StateField::new("cachedEV", 16, config.buffer),
            StateField::new("isValid", 1, config.buffer),
            StateField::new("head", 8, 1),
            StateField::new("numberOfValidEVs", 8, 1),
            StateField::new("exitFreezingMode", 32, 1),
            StateField::new("isFreezingMode", 1, 1),
            StateField::new("exploreCounter", 8, 1),
        ];
        match config.reuse_order {
            _ if config.reuse == 1 => {}
            ReuseOrder::InARow => state.push(StateField::new("packets of the oldest entry", 8, 1)),
            ReuseOrder::InTurn => state.push(StateField::new("packets of an entry", 8, config.buffer)),
        }
        state
    }
}

impl LoadBalancer for Reps {
    /// REPS, Algorithm 1, `onAck`.
    #[inline]
    fn handle_ack(&mut self, now: Time, ev: u16, marked: bool, rtt: Duration) {
        self.rtts.add(now, rtt);
        if now >= self.freeze_at {
            self.force_freezing(now);
        }
        // Lines 6-8: a marked path is not worth keeping.
        if marked {
            return;
        }
        // Lines 9-14.
        let bit = 1 << self.head;
        if self.valid & bit == 0 {
            self.number_of_valid += 1;
        } else {
            // All are valid, and the oldest one is overwritten: another is now the oldest.
            self.used = 0;
        }
        if let Some(turns) = &mut self.turns {
            turns.left[usize::from(self.head)] = turns.reuse;
        }
        self.cached[usize::from(self.head)] = ev;
        self.valid |= bit;
        self.filled = self.filled.max(self.head + 1);
        self.head = self.after(self.head);
        // Lines 15-18.
        self.leave_freezing(now);
    }

    /// A packet timed out: a failure, unless recent round trips tell of congestion (Appendix A, 2).
    fn handle_timeout(&mut self, now: Time) {
        if self.limits.ends_at_timeout {
            self.leave_freezing(now);
        }
        if self.rtts.highest(now) < self.limits.failure_rtt {
            self.handle_failure(now);
        }
    }

    /// REPS, Algorithm 2, `onSend`, lines 14-24.
    #[inline]
    fn next_ev(&mut self, _now: Time, _window: u64) -> u16 {
        if self.explore_counter > 0 {
            // Lines 15-18. The paper leaves the packets between the random ones without an entropy; they take the
            // cached ones, as every packet out of a frozen buffer does.
            self.explore_counter -= 1;
            if self.limits.resets || self.explore_counter.is_multiple_of(self.size) {
                return self.explore();
            }
            return self.cached_ev();
        }
        // Line 19.
        if self.filled == 0 || (self.number_of_valid == 0 && !self.is_freezing) {
            return self.explore();
        }
        self.cached_ev()
    }

    /// Only good paths are kept: a trimmed packet's entropy simply does not come back.
    fn handle_trim(&mut self, _now: Time, _ev: u16) {}
}

impl Reps {
    /// REPS, Algorithm 1, lines 15-18: once the time is over.
    #[inline]
    fn leave_freezing(&mut self, now: Time) {
        if self.is_freezing && now > self.exit_freezing {
            self.is_freezing = false;
            self.explore_counter = self.limits.explore_packets;
            if self.limits.resets {
                (self.valid, self.number_of_valid, self.filled, self.head, self.used) = (0, 0, 0, 0, 0);
            }
        }
    }

    /// REPS, Algorithm 1, `onFailureDetection`, lines 21-26.
    fn handle_failure(&mut self, now: Time) {
        if self.limits.freezing && !self.is_freezing && self.explore_counter == 0 {
            self.is_freezing = true;
            self.exit_freezing = now + self.limits.freezing_timeout;
        }
    }

    /// REPS, Appendix A and figure 19: as after a failure, and whether it explores or not.
    #[cold]
    fn force_freezing(&mut self, now: Time) {
        self.freeze_at = Time::NEVER;
        self.explore_counter = 0;
        self.handle_failure(now);
    }

    #[inline]
    fn explore(&mut self) -> u16 {
        self.random.below(self.limits.evs) as u16
    }

    /// REPS, Algorithm 2, `getNextEV`, lines 2-12.
    #[inline]
    fn cached_ev(&mut self) -> u16 {
        let offset = if self.number_of_valid > 0 {
            // Line 4: the oldest valid entry.
            let back = self.head + self.size - self.number_of_valid;
            let offset = if back >= self.size { back - self.size } else { back };
            // Section 4.5.1: a lifespan of so many packets. That of Algorithm 2 is one.
            self.used += 1;
            if self.used == self.lifespan {
                self.used = 0;
                self.valid &= !(1 << offset);
                self.number_of_valid -= 1;
                if self.turns.is_some() {
                    self.put_behind(offset);
                }
            }
            offset
        } else {
            // Lines 8-9: frozen (or exploring): go round the buffer. A buffer that never filled has fewer
            // entries than slots; the unwritten ones hold no path.
            let offset = if self.head < self.filled { self.head } else { 0 };
            self.head = self.after(offset);
            offset
        };
        self.cached[usize::from(offset)]
    }

    /// Puts the entry that was taken from `offset` behind the others, if it is good for more packets. There is room: it
    /// was valid until now.
    #[inline(never)]
    fn put_behind(&mut self, offset: u8) {
        let Some(turns) = &mut self.turns else { return };
        let left = turns.left[usize::from(offset)] - 1;
        if left > 0 {
            turns.left[usize::from(self.head)] = left;
            self.cached[usize::from(self.head)] = self.cached[usize::from(offset)];
            self.valid |= 1 << self.head;
            self.number_of_valid += 1;
            self.filled = self.filled.max(self.head + 1);
            self.head = self.after(self.head);
        }
    }

    #[inline]
    fn after(&self, slot: u8) -> u8 {
        if slot + 1 == self.size { 0 } else { slot + 1 }
    }
}

/// The highest RTT over the current and the previous period of one RTO.
///
/// The paper asks for "a period preceding the timeout" without a length; a packet that times out now was
/// queued one RTO ago, so the period before the current one counts too. No RTT at all in that time means that
/// nothing came back, which indicates a failure.
#[derive(Clone, Debug)]
struct RecentRtt {
    period: Duration,
    ends: Time,
    current: Duration,
    previous: Duration,
}

impl RecentRtt {
    fn new(period: Duration) -> Self {
        RecentRtt { period, ends: Time::ZERO + period, current: Duration::ZERO, previous: Duration::ZERO }
    }

    #[inline]
    fn add(&mut self, now: Time, rtt: Duration) {
        if now >= self.ends {
            self.turn(now);
        }
        self.current = self.current.max(rtt);
    }

    fn highest(&mut self, now: Time) -> Duration {
        if now >= self.ends {
            self.turn(now);
        }
        self.current.max(self.previous)
    }

    #[cold]
    fn turn(&mut self, now: Time) {
        let fresh = now < self.ends + self.period;
        self.previous = if fresh { self.current } else { Duration::ZERO };
        self.current = Duration::ZERO;
        self.ends = now + self.period;
    }
}

#[cfg(test)]
mod tests;
