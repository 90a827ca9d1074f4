//! A simulation in which messages are posted during the run, since another simulator decides to post them when earlier
//! messages arrive.
//!
//! The fabric is simulated once ([`crate::engine`]). While messages are in flight, the engine pauses at each arrival,
//! at each acknowledgement whose message has a callback for the sender, at the acknowledgement of the last message in
//! flight, and at each known event outside of the fabric, such as a scheduled callback. While messages are in flight,
//! all callbacks and posts during a pause have the time of the pause.

use crate::engine::{Answer, Engine, Instant};
use crate::error::OnlineError;
use crate::opened::{Opened, open};
use crate::ranks::{Ranks, Way};
use anabranch_base::{Duration, HostId, Problem, Rate, Time};
use anabranch_sim::results::RunRow;
use anabranch_sim::workload::Done;
use anabranch_sim::{InjectedMessage, QueuePair};
use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;

/// A fabric on which messages are posted during the run. `C` is the type of callbacks.
pub struct Online<C> {
    ranks: Ranks,
    warnings: Vec<String>,
    max_time: Duration,
    now: Time,
    engine: Engine,
    engine_at: Time,
    /// Whether no message is in flight at `engine_at`. The engine then stays at that time, while scheduled callbacks
    /// advance the current time.
    is_idle: bool,
    /// The posts of the current instant that the engine has not received yet. The flag tells whether the engine must
    /// pause when the message is acknowledged.
    posts: Vec<(InjectedMessage, bool)>,
    /// All messages, in the order of posting.
    states: Vec<State<C>>,
    /// The positions in `states` of the messages that the engine carries, in the order of posting.
    carried: Vec<usize>,
    /// The known events that are not handled yet, in their order.
    due: BTreeMap<Due, Option<C>>,
    scheduled: u64,
    /// The receives without a message and the messages without a receive, for each sender, receiver and tag.
    matches: BTreeMap<(u32, u32, u64), Match<C>>,
}

struct State<C> {
    bytes: u64,
    on_sent: Option<C>,
    /// The callback of the receive that matches this message, if the receive is posted before the message arrives.
    on_received: Option<C>,
    has_arrived: bool,
}

/// An event. Events are handled in ascending order: by time, then by kind, then by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    at: Time,
    event: Event,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Delivered(usize),
    Acknowledged(usize),
    Scheduled(u64),
}

/// The unmatched receives and messages with one sender, receiver and tag, in the order of posting. The n-th receive
/// gets the n-th message, as in MPI (version 4.1, section 3.5, Order), whichever message arrives first. A receive and
/// a message are matched as soon as both are posted, so that one of the two queues is always empty.
struct Match<C> {
    receives: VecDeque<(u64, C)>,
    /// The positions of the unmatched messages in `states`.
    messages: VecDeque<usize>,
}

impl<C> Online<C> {
    /// A fabric without messages. The scenario has no `[workload]`, one scheme, and at most one seed (default 1). The
    /// files that the scenario names are in `folder`.
    ///
    /// # Errors
    /// The scenario is wrong, or the run fails before its first pause.
    pub fn new(scenario: &str, folder: Option<PathBuf>) -> Result<Self, OnlineError> {
        let Opened { point, warnings } = open(scenario, folder)?;
        let max_time = point.limits.max_time;
        let (engine, Instant { at, is_idle, .. }) = Engine::start(point)?;
        Ok(Online {
            ranks: Ranks::of(&engine.fabric().topology),
            warnings,
            max_time,
            now: Time::ZERO,
            engine,
            engine_at: at,
            is_idle,
            posts: Vec::new(),
            states: Vec::new(),
            carried: Vec::new(),
            due: BTreeMap::new(),
            scheduled: 0,
            matches: BTreeMap::new(),
        })
    }

    /// The number of ranks, which are the GPUs of the servers, or the hosts if there are no GPUs.
    pub fn ranks(&self) -> u32 {
        self.ranks.count()
    }

    /// The number of hosts.
    pub fn hosts(&self) -> u32 {
        self.engine.fabric().topology.hosts
    }

    /// The rate of all ports of a host together. None if there is no such host.
    pub fn host_rate(&self, host: u32) -> Option<Rate> {
        (host < self.hosts()).then(|| self.engine.fabric().topology.host_rate(HostId(host)))
    }

    /// Warnings about the scenario.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The totals until now, or until the run failed. None if the run failed without results.
    pub fn totals(&self) -> Option<RunRow> {
        self.engine.totals()
    }

    /// The current time of the simulation, which is that of the last event.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Posts a message now, on the shared queue pair with the number 0.
    ///
    /// # Errors
    /// As for [`send_on`](Self::send_on).
    pub fn send(
        &mut self,
        from: u32,
        to: u32,
        bytes: u64,
        tag: u64,
        on_sent: Option<C>,
    ) -> Result<(), OnlineError> {
        self.send_on(QueuePair::Shared(0), (from, to), bytes, tag, on_sent)
    }

    /// Posts a message now. `on_sent` is due when the sender receives the message's last acknowledgement, or, over
    /// NVLink, when the last byte has left.
    ///
    /// # Errors
    /// A rank does not exist, the ranks are equal or cannot reach each other, the message has no bytes, the run ends
    /// before this time, or the matching receive has another length.
    pub fn send_on(
        &mut self,
        queue_pair: QueuePair,
        (from, to): (u32, u32),
        bytes: u64,
        tag: u64,
        on_sent: Option<C>,
    ) -> Result<(), OnlineError> {
        let way = self.check("send", from, to, bytes)?;
        if self.now > Time::ZERO + self.max_time {
            let problem = Problem::with_text(
                format!("send from {from} to {to}: the run ends after {}", self.max_time),
                "a larger max_time below [limits] of the scenario",
            );
            return Err(OnlineError::Call(problem.to_string()));
        }
        let key = (from, to, tag);
        let unmatched = self.matches.entry(key).or_insert_with(Match::empty);
        if let Some((expected, _)) = unmatched.receives.front() {
            check_length(self.ranks.word(), key, bytes, *expected)?;
        }
        let on_received = unmatched.receives.pop_front().map(|(_, on_received)| on_received);
        if on_received.is_none() {
            unmatched.messages.push_back(self.states.len());
        } else if unmatched.is_empty() {
            self.matches.remove(&key);
        }
        let number = self.states.len();
        match way {
            Way::Network(src, dst) => {
                self.posts.push((InjectedMessage { src, dst, queue_pair, bytes }, on_sent.is_some()));
                self.carried.push(number);
            }
            Way::NvLink(nvlink) => {
                let [sent, arrived] = self.ranks.send_by_nvlink(nvlink, (from, to), bytes, self.now);
                self.due.insert(Due { at: sent, event: Event::Acknowledged(number) }, None);
                self.due.insert(Due { at: arrived, event: Event::Delivered(number) }, None);
            }
        }
        self.states.push(State { bytes, on_sent, on_received, has_arrived: false });
        Ok(())
    }

    /// Posts a receive for the first message of this sender, receiver and tag that no earlier receive gets.
    /// `on_received` is due when that message arrives, or now if it has already arrived.
    ///
    /// # Errors
    /// A rank does not exist, the ranks are equal or cannot reach each other, the receive has no bytes, or the matching
    /// message has another length.
    pub fn receive(
        &mut self,
        from: u32,
        to: u32,
        bytes: u64,
        tag: u64,
        on_received: C,
    ) -> Result<(), OnlineError> {
        self.check("receive", from, to, bytes)?;
        let key = (from, to, tag);
        let unmatched = self.matches.entry(key).or_insert_with(Match::empty);
        let Some(&message) = unmatched.messages.front() else {
            unmatched.receives.push_back((bytes, on_received));
            return Ok(());
        };
        let state = &mut self.states[message];
        check_length(self.ranks.word(), key, state.bytes, bytes)?;
        unmatched.messages.pop_front();
        if unmatched.is_empty() {
            self.matches.remove(&key);
        }
        match state.has_arrived {
            true => self.schedule(Duration::ZERO, on_received),
            false => state.on_received = Some(on_received),
        }
        Ok(())
    }

    /// Schedules `callback` after `delay`.
    pub fn schedule(&mut self, delay: Duration, callback: C) {
        let at = Time(self.now.0.saturating_add(delay.0));
        self.due.insert(Due { at, event: Event::Scheduled(self.scheduled) }, Some(callback));
        self.scheduled += 1;
    }

    /// Advances the time to the next callback and returns it; `None` if there is none.
    ///
    /// # Errors
    /// The run failed, or some receives have no message when nothing else can happen.
    pub fn advance(&mut self) -> Result<Option<C>, OnlineError> {
        loop {
            let next = self.due.first_key_value().map(|(due, _)| due.at);
            let engine_stays = self.is_idle && self.posts.is_empty();
            if !engine_stays && next.is_none_or(|at| at > self.engine_at) {
                self.simulate(next)?;
                continue;
            }
            let Some((due, callback)) = self.due.pop_first() else {
                let left = self.matches.iter().find(|(_, unmatched)| !unmatched.receives.is_empty());
                let word = self.ranks.word();
                return match left {
                    None => Ok(None),
                    Some(((from, to, tag), _)) => Err(OnlineError::Call(format!(
                        "nothing is left that could happen, and {word} {to} waits for a message of {word} {from} with tag {tag}: nobody sent it"
                    ))),
                };
            };
            self.now = due.at;
            let callback = match due.event {
                Event::Scheduled(_) => callback,
                Event::Delivered(message) => {
                    let state = &mut self.states[message];
                    state.has_arrived = true;
                    state.on_received.take()
                }
                Event::Acknowledged(message) => self.states[message].on_sent.take(),
            };
            if callback.is_some() {
                return Ok(callback);
            }
        }
    }

    /// Resumes the engine until its next pause, and adds the events at that instant to `due`.
    fn simulate(&mut self, next: Option<Time>) -> Result<(), OnlineError> {
        let answer = match self.engine_at < self.now {
            // The posts must wait until the engine has advanced to the current time.
            true => Answer { posts: Vec::new(), due: Some(self.now) },
            false => {
                self.is_idle &= self.posts.is_empty();
                Answer { posts: std::mem::take(&mut self.posts), due: next }
            }
        };
        let Instant { at, ends, is_idle } = self.engine.resume(answer)?;
        (self.engine_at, self.is_idle) = (at, is_idle);
        for end in ends {
            let message = self.carried[end.message.index()];
            let event = match end.on {
                Done::Delivered => Event::Delivered(message),
                Done::Acknowledged => Event::Acknowledged(message),
            };
            self.due.insert(Due { at, event }, None);
        }
        Ok(())
    }

    fn check(&self, call: &str, from: u32, to: u32, bytes: u64) -> Result<Way, OnlineError> {
        let wrong = |problem: Problem| {
            OnlineError::Call(problem.prefixed(format_args!("{call} from {from} to {to}: ")).to_string())
        };
        let way = self.ranks.way(from, to, self.engine.fabric()).map_err(wrong)?;
        match bytes {
            0 => Err(wrong("a message has a byte at least".into())),
            _ => Ok(way),
        }
    }
}

impl<C> Match<C> {
    fn empty() -> Self {
        Match { receives: VecDeque::new(), messages: VecDeque::new() }
    }

    fn is_empty(&self) -> bool {
        self.receives.is_empty() && self.messages.is_empty()
    }
}

/// `word` is `host` or `GPU`.
fn check_length(
    word: &str,
    (from, to, tag): (u32, u32, u64),
    sent: u64,
    expected: u64,
) -> Result<(), OnlineError> {
    if sent == expected {
        return Ok(());
    }
    Err(OnlineError::Call(format!(
        "{word} {to} waits for {expected} B of {word} {from} with tag {tag}, and what was sent has {sent} B; send and receive the same, in the same order"
    )))
}

#[cfg(test)]
mod cluster_tests;
#[cfg(test)]
mod tests;
