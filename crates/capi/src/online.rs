//! Messages that are posted while the run goes on: what another simulator decides when it hears that others arrived.
//!
//! The engine wants all messages before it starts. But a run is decided by its scenario and seed, and what is posted
//! at a time changes nothing before it: queue pairs are numbered in the order in which they are first used, random
//! streams go by those numbers, and each queue pair is kept open by a message behind the end of the run. So the run is
//! simulated again, from its beginning, when more was posted, and goes on where it was: a link's latency after the first
//! of what is new, so that what is posted together is simulated once. That the past is the same each time is checked
//! ([`OnlineError::Past`]).
//!
//! Simulating `n` times from the beginning costs as much as about `n / 2` whole runs. To do without, the
//! engine would have to take messages within an event: what hears of an arrival at a host posts there at that instant,
//! and windows have run beyond it when they end. Messages, queue pairs and what the hosts keep of them would have to
//! grow behind shared references, and all hosts be one cluster, so that one may post at another.

use anabranch_base::{Duration, HostId, QpId, Refused, Time};
use anabranch_sim::scenario::{NoFiles, Overrides, Registry, RunPoint, read_with};
use anabranch_sim::workload::{Start, WorkloadBuilder};
use anabranch_sim::{Control, RunError, run};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

/// What cannot be done, and what to write instead.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum OnlineError {
    /// The scenario is at fault, or the run failed.
    #[error("{0}")]
    Scenario(String),
    /// A call is.
    #[error("{0}")]
    Call(String),
    /// What was posted later changed what had happened before.
    #[error("internal error, a defect of anabranch: message {message} had ended at {was}, and now does not")]
    Past {
        /// The message, by its number in the order of posting.
        message: usize,
        /// When, in picoseconds.
        was: u64,
    },
}

/// A fabric on which messages are posted as time goes on. `C` is what the caller wants to hear of again.
pub struct Online<C> {
    point: RunPoint,
    hosts: u32,
    now: Time,
    posted: Arc<Mutex<Posted>>,
    states: Vec<State<C>>,
    /// When the first message was posted that no simulation knows.
    stale_since: Option<Time>,
    /// The least that passes before what one host does can be seen at another: the shortest latency of a link.
    lookahead: Duration,
    /// What is to come, in its order.
    due: BTreeMap<Due, Option<C>>,
    scheduled: u64,
    /// By sender, receiver and tag: what waits for messages, and messages that wait.
    matches: BTreeMap<(u32, u32, u64), Match<C>>,
}

/// The messages so far, which the workload of each simulation is made of.
#[derive(Default)]
struct Posted {
    messages: Vec<(HostId, HostId, u64, Time)>,
    /// After the end of the run.
    never: Time,
}

impl Posted {
    fn fill(&self, workload: &mut WorkloadBuilder) {
        let mut qps: BTreeMap<(HostId, HostId), QpId> = BTreeMap::new();
        for &(from, to, bytes, at) in &self.messages {
            let qp = *qps.entry((from, to)).or_insert_with(|| workload.add_qp(from, to));
            workload.add_message(qp, bytes, Start::At(at));
        }
        if qps.is_empty() {
            // A workload has a message.
            qps.insert((HostId(0), HostId(1)), workload.add_qp(HostId(0), HostId(1)));
        }
        // More may come on each.
        for qp in qps.into_values() {
            workload.add_message(qp, 1, Start::At(self.never));
        }
    }
}

/// Where a message stands.
struct State<C> {
    from: u32,
    to: u32,
    bytes: u64,
    tag: u64,
    on_sent: Option<C>,
    /// When it was delivered and acknowledged, as far as that has been told.
    told: [Option<Time>; 2],
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

struct Match<C> {
    receives: VecDeque<(u64, C)>,
    arrived: VecDeque<u64>,
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
        let posted = Arc::new(Mutex::new(Posted::default()));
        let of_workload = posted.clone();
        let registry =
            Registry::new().workload("posted", [], move |workload, _, _, _| -> Result<(), Refused> {
                of_workload.lock().unwrap_or_else(PoisonError::into_inner).fill(workload);
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
        let built = anabranch_sim::build(&point).map_err(|error| wrong(error.to_string()))?;
        let latencies = built.topology.ports.iter().map(|port| port.latency);
        posted.lock().unwrap_or_else(PoisonError::into_inner).never =
            Time::ZERO + point.limits.max_time + Duration(1);
        Ok(Online {
            hosts: built.topology.hosts,
            point,
            now: Time::ZERO,
            posted,
            states: Vec::new(),
            stale_since: None,
            lookahead: latencies.min().unwrap_or_default().max(Duration(1)),
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
    /// Hosts that are not there or the same, and no bytes.
    pub fn send(
        &mut self,
        from: u32,
        to: u32,
        bytes: u64,
        tag: u64,
        on_sent: Option<C>,
    ) -> Result<(), OnlineError> {
        self.check("send", from, to, bytes)?;
        let limit = self.point.limits.max_time;
        if self.now > Time::ZERO + limit {
            return Err(OnlineError::Call(format!(
                "send from {from} to {to}: the run ends after {limit}; write [limits] with a larger max_time into the scenario"
            )));
        }
        let mut posted = self.posted.lock().unwrap_or_else(PoisonError::into_inner);
        posted.messages.push((HostId(from), HostId(to), bytes, self.now));
        self.states.push(State { from, to, bytes, tag, on_sent, told: [None; 2] });
        self.stale_since.get_or_insert(self.now);
        Ok(())
    }

    /// `on_received` comes due when the next message of this sender, receiver and tag has arrived; it may have already.
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
        let its = self.matches.entry((from, to, tag)).or_insert_with(Match::empty);
        match its.arrived.pop_front() {
            Some(sent) => {
                fits((from, to, tag), sent, bytes)?;
                self.schedule(Duration::ZERO, on_received);
            }
            None => its.receives.push_back((bytes, on_received)),
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
    /// A run that fails, messages that are shorter or longer than those who receive them say, and receives that are
    /// left when nothing is.
    pub fn go_on(&mut self) -> Result<Option<C>, OnlineError> {
        loop {
            let first = self.due.first_key_value().map(|(due, _)| due.at);
            // What was posted shows nowhere else within a link's latency, and at its own host in nothing that comes in: until
            // then the times of the last simulation hold, and more may be posted before the next.
            let holds = |since: Time| first.is_some_and(|at| at < since + self.lookahead);
            if self.stale_since.is_some_and(|since| !holds(since)) {
                self.simulate()?;
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
                    self.states[message].told[0] = Some(due.at);
                    self.deliver(message)?
                }
                What::Acknowledged(message) => {
                    self.states[message].told[1] = Some(due.at);
                    self.states[message].on_sent.take()
                }
            };
            if heard.is_some() {
                return Ok(heard);
            }
        }
    }

    /// A message has arrived: what waited for it.
    fn deliver(&mut self, message: usize) -> Result<Option<C>, OnlineError> {
        let State { from, to, bytes, tag, .. } = self.states[message];
        let key = (from, to, tag);
        let its = self.matches.entry(key).or_insert_with(Match::empty);
        match its.receives.pop_front() {
            Some((wanted, callback)) => fits(key, bytes, wanted).map(|()| Some(callback)),
            None => {
                its.arrived.push_back(bytes);
                Ok(None)
            }
        }
    }

    /// Runs all messages so far from the beginning, and looks up what comes after now.
    fn simulate(&mut self) -> Result<(), OnlineError> {
        let result = match run(&self.point, &Control::default()) {
            // What keeps queue pairs open is left, and nothing else.
            Err(RunError::Limit { limit: "max_time", partial, .. })
                if partial.flows.iter().zip(&self.states).all(|(row, _)| row.fct_ps.is_some()) =>
            {
                *partial
            }
            Ok(result) => result,
            Err(error) => return Err(OnlineError::Scenario(error.to_string())),
        };
        self.due.retain(|due, _| matches!(due.what, What::Scheduled(_)));
        for (message, (row, state)) in result.flows.iter().zip(&self.states).enumerate() {
            let after = |time: Option<u64>| Some(Time(row.start_ps? + time?));
            let ends = [after(row.delivery_ps), after(row.fct_ps)];
            let what = [What::Delivered(message), What::Acknowledged(message)];
            for ((at, told), what) in ends.into_iter().zip(state.told).zip(what) {
                match (at, told) {
                    (Some(at), None) if at >= self.now => drop(self.due.insert(Due { at, what }, None)),
                    (at, told) if at == told => {}
                    (at, told) => {
                        let was = told.or(at).unwrap_or(Time::ZERO).0;
                        return Err(OnlineError::Past { message, was });
                    }
                }
            }
        }
        self.stale_since = None;
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
        Match { receives: VecDeque::new(), arrived: VecDeque::new() }
    }
}

fn fits((from, to, tag): (u32, u32, u64), sent: u64, wanted: u64) -> Result<(), OnlineError> {
    if sent == wanted {
        return Ok(());
    }
    Err(OnlineError::Call(format!(
        "host {to} waits for {wanted} B of host {from} with tag {tag}, and what comes has {sent} B; send and receive the same"
    )))
}

#[cfg(test)]
#[path = "online_tests.rs"]
mod tests;
