//! Messages that are posted while the run goes on: what another simulator decides when it hears that others arrived.
//!
//! The fabric is simulated once ([`crate::engine`]). It stands still at each instant at which a message arrives, or its sender
//! knows so, or something was scheduled; all that is heard of there and all that is posted has that time.

use crate::engine::{Answer, Engine, Instant};
use crate::error::OnlineError;
use anabranch_base::{Duration, HostId, Refused, Time};
use anabranch_sim::InjectedMessage;
use anabranch_sim::scenario::{NoFiles, Overrides, Registry, read_with};
use anabranch_sim::workload::{Done, Start};
use std::collections::{BTreeMap, VecDeque};

/// A fabric on which messages are posted as time goes on. `C` is what the caller wants to hear of again.
pub struct Online<C> {
    hosts: u32,
    max_time: Duration,
    now: Time,
    engine: Engine,
    /// Where the engine stands.
    engine_at: Time,
    /// Whether it has nothing under way there. Then it stays, while time goes on with what was scheduled.
    is_idle: bool,
    /// What it does not know of yet, with whether the acknowledgement is heard of: all posted now.
    posts: Vec<(InjectedMessage, bool)>,
    /// All messages, in the order of posting.
    states: Vec<State<C>>,
    /// What is to come, in its order, as far as it is known.
    due: BTreeMap<Due, Option<C>>,
    scheduled: u64,
    /// By sender, receiver and tag: receives without a message, and messages without a receive.
    matches: BTreeMap<(u32, u32, u64), Match<C>>,
}

/// A message.
struct State<C> {
    bytes: u64,
    on_sent: Option<C>,
    /// The caller's value for its receive, when that is posted before it arrives.
    on_received: Option<C>,
    has_arrived: bool,
}

/// What comes due, in this order at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    at: Time,
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Delivered(usize),
    Acknowledged(usize),
    Scheduled(u64),
}

/// The receives and the messages of one sender, receiver and tag that have no partner, each in the order of posting. The
/// n-th receive takes the n-th message, as in MPI (version 4.1, section 3.5, Order), whichever arrives first: schemes that
/// spread packets over paths let a short message overtake a long one. So one of the two is always empty.
struct Match<C> {
    receives: VecDeque<(u64, C)>,
    /// By their numbers.
    messages: VecDeque<usize>,
}

impl<C> Online<C> {
    /// A fabric without messages, from a scenario that has no `[workload]`, one scheme, and one seed (or none: 1).
    ///
    /// # Errors
    /// What is wrong with the scenario.
    pub fn new(scenario: &str) -> Result<Self, OnlineError> {
        let wrong = |what: String| OnlineError::Scenario(what);
        let table: toml::Table =
            toml::from_str(scenario).map_err(|error| wrong(format!("the scenario: {error}")))?;
        if table.contains_key("workload") {
            return Err(wrong(
                "the scenario has a [workload]; leave it out: messages come by anabranch_send".to_owned(),
            ));
        }
        // Whoever reads a scenario wants a workload with a message. The run has none of it.
        let registry = Registry::new().workload("posted", [], |workload, _, _, _| -> Result<(), Refused> {
            let qp = workload.add_qp(HostId(0), HostId(1));
            workload.add_message(qp, 1, Start::At(Time::ZERO));
            Ok(())
        });
        // Behind the rest, so that lines keep their numbers.
        let whole = format!("{scenario}\n[workload]\nkind = \"posted\"\n");
        let scenario = read_with(&registry, "scenario.toml", &whole, &NoFiles, &Overrides::default())
            .map_err(|error| wrong(error.to_string()))?;
        let mut points = scenario.points().map_err(|error| wrong(error.to_string()))?;
        let runs = points.len();
        let (Some(point), 1) = (points.pop(), runs) else {
            return Err(wrong(format!(
                "the scenario has {runs} runs; name one scheme, one seed and no sweep: schemes = [\"reps\"], seeds = [1]"
            )));
        };
        let hosts = anabranch_sim::build(&point).map_err(|error| wrong(error.to_string()))?.topology.hosts;
        let max_time = point.limits.max_time;
        let mut engine = Engine::start(point)?;
        let Instant { at, is_idle, .. } = engine.wait()?;
        Ok(Online {
            hosts,
            max_time,
            now: Time::ZERO,
            engine,
            engine_at: at,
            is_idle,
            posts: Vec::new(),
            states: Vec::new(),
            due: BTreeMap::new(),
            scheduled: 0,
            matches: BTreeMap::new(),
        })
    }

    /// The time of what came due last.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Posts a message, now. `on_sent` comes due when the sender knows that it has arrived.
    ///
    /// # Errors
    /// Hosts that are not there or the same, no bytes, and a receive that wants another length.
    pub fn send(
        &mut self,
        from: u32,
        to: u32,
        bytes: u64,
        tag: u64,
        on_sent: Option<C>,
    ) -> Result<(), OnlineError> {
        self.check("send", from, to, bytes)?;
        if self.now > Time::ZERO + self.max_time {
            return Err(OnlineError::Call(format!(
                "send from {from} to {to}: the run ends after {}; write [limits] with a larger max_time into the scenario",
                self.max_time
            )));
        }
        let key = (from, to, tag);
        let its = self.matches.entry(key).or_insert_with(Match::empty);
        if let Some((wanted, _)) = its.receives.front() {
            fits(key, bytes, *wanted)?;
        }
        let on_received = its.receives.pop_front().map(|(_, on_received)| on_received);
        if on_received.is_none() {
            its.messages.push_back(self.states.len());
        }
        let post = InjectedMessage { src: HostId(from), dst: HostId(to), bytes };
        self.posts.push((post, on_sent.is_some()));
        self.states.push(State { bytes, on_sent, on_received, has_arrived: false });
        Ok(())
    }

    /// `on_received` comes due when the message that it gets has arrived, which it may have already: of this sender,
    /// receiver and tag, the first posted that no receive before this one has got.
    ///
    /// # Errors
    /// Hosts that are not there or the same, no bytes, and a message of another length.
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
        let its = self.matches.entry(key).or_insert_with(Match::empty);
        let Some(&message) = its.messages.front() else {
            its.receives.push_back((bytes, on_received));
            return Ok(());
        };
        let state = &mut self.states[message];
        fits(key, state.bytes, bytes)?;
        its.messages.pop_front();
        match state.has_arrived {
            true => self.schedule(Duration::ZERO, on_received),
            false => state.on_received = Some(on_received),
        }
        Ok(())
    }

    /// `callback` comes due after `delay`.
    pub fn schedule(&mut self, delay: Duration, callback: C) {
        let at = Time(self.now.0.saturating_add(delay.0));
        self.due.insert(Due { at, what: What::Scheduled(self.scheduled) }, Some(callback));
        self.scheduled += 1;
    }

    /// Goes on to what comes due next; none when nothing is left.
    ///
    /// # Errors
    /// A run that fails, and receives that are left when nothing is.
    pub fn go_on(&mut self) -> Result<Option<C>, OnlineError> {
        loop {
            let next = self.due.first_key_value().map(|(due, _)| due.at);
            let engine_stays = self.is_idle && self.posts.is_empty();
            if !engine_stays && next.is_none_or(|at| at > self.engine_at) {
                self.simulate(next)?;
                continue;
            }
            let Some((due, callback)) = self.due.pop_first() else {
                let left = self.matches.iter().find(|(_, its)| !its.receives.is_empty());
                return match left {
                    None => Ok(None),
                    Some(((from, to, tag), _)) => Err(OnlineError::Call(format!(
                        "nothing is left that could happen, and host {to} waits for a message of host {from} with tag {tag}: nobody sent it"
                    ))),
                };
            };
            self.now = due.at;
            let heard = match due.what {
                What::Scheduled(_) => callback,
                What::Delivered(message) => {
                    let state = &mut self.states[message];
                    state.has_arrived = true;
                    state.on_received.take()
                }
                What::Acknowledged(message) => self.states[message].on_sent.take(),
            };
            if heard.is_some() {
                return Ok(heard);
            }
        }
    }

    /// Lets the engine go on, to `next` at most, and takes what comes due where it stands then.
    fn simulate(&mut self, next: Option<Time>) -> Result<(), OnlineError> {
        let answer = match self.engine_at < self.now {
            // It stood while time went on. What is posted now is for the instant to which it goes.
            true => Answer { posts: Vec::new(), due: Some(self.now) },
            false => {
                self.is_idle &= self.posts.is_empty();
                Answer { posts: std::mem::take(&mut self.posts), due: next }
            }
        };
        self.engine.go_on(answer);
        let Instant { at, ends, is_idle } = self.engine.wait()?;
        (self.engine_at, self.is_idle) = (at, is_idle);
        for end in ends {
            let message = end.message.index();
            let what = match end.on {
                Done::Delivered => What::Delivered(message),
                Done::Acknowledged => What::Acknowledged(message),
            };
            self.due.insert(Due { at, what }, None);
        }
        Ok(())
    }

    fn check(&self, call: &str, from: u32, to: u32, bytes: u64) -> Result<(), OnlineError> {
        let wrong = |what: String| Err(OnlineError::Call(format!("{call} from {from} to {to}: {what}")));
        let last = self.hosts - 1;
        match () {
            () if from > last || to > last => wrong(format!("the fabric has the hosts 0 to {last}")),
            () if from == to => wrong("a message goes to another host".to_owned()),
            () if bytes == 0 => wrong("a message has a byte at least".to_owned()),
            () => Ok(()),
        }
    }
}

impl<C> Match<C> {
    fn empty() -> Self {
        Match { receives: VecDeque::new(), messages: VecDeque::new() }
    }
}

fn fits((from, to, tag): (u32, u32, u64), sent: u64, wanted: u64) -> Result<(), OnlineError> {
    if sent == wanted {
        return Ok(());
    }
    Err(OnlineError::Call(format!(
        "host {to} waits for {wanted} B of host {from} with tag {tag}, and what was sent has {sent} B; send and receive the same, in the same order"
    )))
}

#[cfg(test)]
#[path = "online_tests.rs"]
mod tests;
