//! Recycled entropies (REPS, sections 3.1 and 3.2, Algorithms 1 and 2, Appendix A).

use super::AnyLb;
use super::interface::{Environment, LbProperties, LoadBalancer, NicPorts};
use crate::{Conflict, Span, StateField};
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
        /// Duration of freezing (FREEZING_TIMEOUT).
        #[param(AboveZero; example = "10ms"; source = "unspecified; the simulator published with REPS")]
        pub freezing_timeout: Span,
        /// Behaviour at the end of freezing. With `keep`, the sender keeps its buffer, and every `buffer`-th of the
        /// next `explore_packets` packets explores. With `reset`, it empties the buffer, and each of these packets
        /// explores.
        #[serde(default, skip_serializing_if = "AfterFreezing::is_keep")]
        #[param(any; example = "reset"; source = "keep: REPS, Algorithms 1 and 2; reset: the simulator published with it";
            default = "keep")]
        pub after_freezing: AfterFreezing,
        /// Events at which a sender checks whether freezing is over: unmarked ACKs (`ack`), or timeouts as well
        /// (`timeout`). A sender whose cached entropies all fail gets no ACK, and with `ack` it stays frozen for
        /// ever.
        #[serde(default, skip_serializing_if = "FreezingEnds::is_ack")]
        #[param(any; example = "timeout"; source = "ack: REPS, Algorithm 1; timeout: section 3.2, after a fixed time, and the public UET simulator";
            default = "ack")]
        pub freezing_ends: FreezingEnds,
        /// Number of packets after freezing of which some or all explore, according to `after_freezing`
        /// (NUM_PKTS_CWND). Algorithm 1 may mean the window at that time; here it is a fixed number.
        #[param(0..=255; example = 132; source = "unspecified; REPS, Table 1, has eight bits for it. 1.5 BDP on two tiers")]
        pub explore_packets: u32,
        /// Number of base RTTs that separates failures from congestion. A timeout counts as a failure if the highest
        /// RTT measured in the last one to three RTOs was below this many base RTTs (Appendix A, without trimming).
        #[param(0.0..; example = 1.65;
            source = "REPS, Appendix A; the number is that of the simulator published with it")]
        pub failure_rtt: f64,
        /// Number of packets for which a cached entropy is used ("ACK+Reuse EVs": the number of packets per ACK). A
        /// frozen sender without a valid entropy still uses each entry of the buffer once per cycle.
        #[serde(default = "once", skip_serializing_if = "is_once")]
        #[param(1..=64; example = 8; source = "REPS, section 4.5.1"; default = 1)]
        pub reuse: u32,
        /// Order in which entropies are used if `reuse` is above 1. With `in-a-row`, the oldest entropy is used up
        /// before the next. With `in-turn`, the entropies take turns until all are used up.
        #[serde(default, skip_serializing_if = "ReuseOrder::is_in_a_row")]
        #[param(any; example = "in-turn"; source = "unspecified; in-a-row: the oldest good one first, REPS, Algorithm 2, line 4";
            default = "in-a-row")]
        pub reuse_order: ReuseOrder,
        /// Time of the run at which a sender freezes once without a failure, for `freezing_timeout`. It freezes with
        /// the first ACK at or after this time. Without this parameter, only failures cause freezing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[param(AboveZero; example = "50us"; source = "REPS, Appendix A and figure 19")]
        pub freeze_at: Option<Span>,
    }
}

/// The treatment of the buffer when freezing ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AfterFreezing {
    /// The buffer is kept.
    #[default]
    Keep,
    /// The buffer is emptied.
    Reset,
}

parameter_choices!(AfterFreezing: "keep" = Keep, "reset" = Reset);

impl AfterFreezing {
    fn is_keep(&self) -> bool {
        *self == AfterFreezing::Keep
    }
}

/// The events at which a sender checks whether freezing is over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FreezingEnds {
    /// Only when an unmarked ACK arrives.
    #[default]
    Ack,
    /// When an unmarked ACK arrives or a packet times out.
    Timeout,
}

parameter_choices!(FreezingEnds: "ack" = Ack, "timeout" = Timeout);

impl FreezingEnds {
    fn is_ack(&self) -> bool {
        *self == FreezingEnds::Ack
    }
}

/// The order in which entropies are used if `reuse` is above 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReuseOrder {
    /// The oldest entropy is used up before the next one.
    #[default]
    InARow,
    /// A used entropy moves behind the others.
    InTurn,
}

parameter_choices!(ReuseOrder: "in-a-row" = InARow, "in-turn" = InTurn);

impl ReuseOrder {
    fn is_in_a_row(&self) -> bool {
        *self == ReuseOrder::InARow
    }
}

fn once() -> u32 {
    1
}

fn is_once(reuse: &u32) -> bool {
    *reuse == once()
}

/// The largest number of entries of a buffer: the number of validity bits.
pub const MAX_BUFFER: usize = 32;

/// A REPS sender's state. Names follow the paper's pseudocode.
#[derive(Clone, Debug)]
pub struct Reps {
    /// The cached entropies (`cachedEV`).
    cached: [u16; MAX_BUFFER],
    /// `isValid` of each entry, one bit per entry.
    valid: u32,
    head: u8,
    /// The number of slots of the buffer (REPS_BUFFER_SIZE).
    size: u8,
    /// Number of slots written since the buffer was last emptied. If it is 0, the paper's `isEmpty()` is true.
    filled: u8,
    number_of_valid: u8,
    explore_counter: u8,
    is_freezing: bool,
    /// The number of packets in a row for which an entry is used. It is 1 if entropies are used in turn.
    lifespan: u8,
    /// The number of packets that have used the oldest valid entry so far.
    used: u8,
    exit_freezing: Time,
    /// The time at which freezing is forced. It is [`Time::NEVER`] without the parameter `freeze_at`, and after the
    /// forced freezing.
    freeze_at: Time,
    rtts: RecentRtt,
    limits: Limits,
    /// None if entropies are not used in turn.
    turns: Option<Box<Turns>>,
    random: Stream,
    ports: NicPorts,
}

#[derive(Clone, Debug)]
struct Turns {
    reuse: u8,
    /// The number of packets left for each entry.
    left: [u8; MAX_BUFFER],
}

#[derive(Clone, Debug)]
struct Limits {
    evs: u32,
    freezing: bool,
    freezing_timeout: Duration,
    explore_packets: u8,
    resets: bool,
    ends_at_timeout: bool,
    /// The RTT from which a timeout indicates congestion and not a failure. It is infinite if the fabric trims, since a
    /// packet that times out there was not lost to congestion (Appendix A, 1).
    failure_rtt: Duration,
}

impl Reps {
    /// A sender without cached entropies.
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
            ports: NicPorts::ONE,
        }
    }

    /// Takes over the cached entropies of another sender to the same host. The freezing state and the RTTs of that
    /// sender are outdated, and are not taken over.
    pub fn inherit(&mut self, other: &Reps) {
        self.cached = other.cached;
        self.valid = other.valid;
        self.head = other.head;
        self.filled = other.filled;
        self.number_of_valid = other.number_of_valid;
        self.used = other.used;
        self.turns.clone_from(&other.turns);
    }

    /// Whether the sender is frozen.
    pub fn is_freezing(&self) -> bool {
        self.is_freezing
    }

    /// The fields of REPS, Table 1. The table omits the fields for the RTT test of Appendix A (two RTTs and a time). A
    /// `reuse` above 1 needs one more counter, or one counter for each entry if entropies are used in turn.
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

impl LbProperties for RepsConfig {
    fn build(&self, environment: &Environment, random: Stream) -> AnyLb {
        AnyLb::Reps(Reps::new(self, environment, random))
    }

    fn state(&self) -> Vec<StateField> {
        Reps::state(self)
    }

    fn reacts_to_ecn(&self) -> bool {
        true
    }

    fn leaves_lossy_paths(&self) -> bool {
        true
    }

    fn check_together(&self, part: &str) -> Result<(), Conflict> {
        if self.freeze_at.is_none() || self.freezing {
            return Ok(());
        }
        let message = format!("{part}.freeze_at forces a freezing that {part}.freezing = false rules out");
        Err(Conflict::value(format!("{part}.freezing"), message, true).involving(format!("{part}.freeze_at")))
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
        // Lines 6-8.
        if marked {
            return;
        }
        // Lines 9-14.
        let bit = 1 << self.head;
        if self.valid & bit == 0 {
            self.number_of_valid += 1;
        } else {
            // All entries are valid and the oldest one is overwritten, so that another entry becomes the oldest.
            self.used = 0;
        }
        if let Some(turns) = &mut self.turns {
            turns.left[usize::from(self.head)] = turns.reuse;
        }
        self.cached[usize::from(self.head)] = ev;
        self.valid |= bit;
        self.filled = self.filled.max(self.head + 1);
        self.head = self.after(self.head);
        self.leave_freezing(now);
    }

    /// A timeout counts as a failure, unless recent RTTs indicate congestion (Appendix A, 2).
    fn handle_timeout(&mut self, now: Time, _ev: Option<u16>) {
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
            // Lines 15-18. The paper specifies no entropy for the packets between the exploring packets. Here they
            // take cached entropies, as packets of a frozen sender do.
            self.explore_counter -= 1;
            if self.limits.resets || self.filled == 0 || self.explore_counter.is_multiple_of(self.size) {
                return self.explore();
            }
            return self.cached_ev();
        }
        // Line 19: a random entropy if the buffer is empty, or has no valid entry and the sender is not frozen.
        if self.filled == 0 || (self.number_of_valid == 0 && !self.is_freezing) {
            return self.explore();
        }
        self.cached_ev()
    }

    fn see_ports(&mut self, ports: NicPorts) {
        self.ports = ports;
    }

    /// The entropy of a trimmed packet is not cached.
    fn handle_trim(&mut self, _now: Time, _ev: u16) {}
}

impl Reps {
    /// Ends freezing when its time is over (REPS, Algorithm 1, lines 15-18).
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

    /// Freezes as after a failure, even if the sender is exploring (REPS, Appendix A and figure 19).
    #[cold]
    fn force_freezing(&mut self, now: Time) {
        self.freeze_at = Time::NEVER;
        self.explore_counter = 0;
        self.handle_failure(now);
    }

    #[inline]
    fn explore(&mut self) -> u16 {
        self.ports.steer(self.random.below(self.limits.evs) as u16, self.limits.evs)
    }

    /// REPS, Algorithm 2, `getNextEV`, lines 2-12.
    #[inline]
    fn cached_ev(&mut self) -> u16 {
        let offset = if self.number_of_valid > 0 {
            // Line 4: the oldest valid entry.
            let back = self.head + self.size - self.number_of_valid;
            let offset = if back >= self.size { back - self.size } else { back };
            // Section 4.5.1: entries have a lifespan in packets. In Algorithm 2 it is one packet.
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
            // Lines 8-9: a frozen (or exploring) sender cycles through the buffer. Slots that were not written since
            // the buffer was last emptied are skipped.
            let offset = if self.head < self.filled { self.head } else { 0 };
            self.head = self.after(offset);
            offset
        };
        self.cached[usize::from(offset)]
    }

    /// Moves the entry that was taken from `offset` behind the other entries, if further packets may use it. There is
    /// room, since the entry was valid until now.
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

/// The highest RTT in the current and the previous period. A period lasts at least one RTO, and ends with the first
/// ACK or timeout thereafter.
///
/// The paper has "a period preceding the timeout" of unspecified length. A packet that times out now was queued one RTO
/// ago, so the period before the current one counts too. If no ACK arrived in that time, there is no RTT, which
/// indicates a failure.
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
