//! Clusters: nodes whose events are merged and run in the full order (time, node, kind, port).

use super::tournament::Tournament;
use super::{NodeIndex, NodeLocations, count_victims};
use crate::context::Context;
use crate::far_calendar::FarCalendar;
use crate::frame::Order;
use crate::host::Host;
use crate::injection::Injection;
use crate::mail::{Inbox, Sources};
use crate::node::{self, Node};
use crate::observer::Observer;
use crate::switch::Switch;
use anabranch_base::{HostId, Time};

/// Nodes sorted by number, whose events are merged.
pub struct Cluster {
    pub positions: Vec<NodeIndex>,
    inboxes: Vec<Inbox>,
    /// The injection of messages, if there is one. `positions` then starts with all hosts in order, so that a host's
    /// position is its number.
    pub injection: Option<Injection>,
    /// For each node, the time of its next event in the present synchronisation window. [`Time::NEVER`] if it has none.
    turns: Tournament,
    /// The instant at which the injector was not ready, if the cluster has paused within a synchronisation window.
    paused: Option<Time>,
}

enum Turn {
    /// The injector was called.
    Called,
    /// The injector is not ready, so the run pauses.
    Paused,
    /// A node runs its events of one instant, if any node has an event left.
    OfNode,
}

impl Cluster {
    pub fn new(positions: Vec<NodeIndex>, injection: Option<Injection>) -> Self {
        let inboxes = positions.iter().map(|_| Inbox::default()).collect();
        Cluster { positions, inboxes, injection, turns: Tournament::default(), paused: None }
    }

    /// Whether the cluster waits within a synchronisation window until its injector is ready.
    pub fn is_paused(&self) -> bool {
        self.paused.is_some()
    }

    /// Runs the nodes through a synchronisation window in turns, each of which runs one node at one instant. A cluster
    /// that has paused in the window runs only the rest of the window.
    pub fn run<O: Observer>(
        &mut self,
        (hosts, switches): (&mut [Host], &mut [Switch]),
        position_of: &NodeLocations,
        (sources, far_calendar, start): (&Sources<'_>, &FarCalendar, Time),
        bound: Order,
        at: &mut Context<'_, O>,
    ) {
        match self.paused.take() {
            Some(instant) => at.now = instant,
            None => self.open((hosts, switches), (sources, far_calendar, start), bound),
        }
        loop {
            match self.inject_next(hosts, bound, at) {
                Turn::Called => continue,
                Turn::Paused => {
                    self.paused = Some(at.now);
                    return;
                }
                Turn::OfNode => {}
            }
            let (time, within) = self.turns.first();
            if time == Time::NEVER {
                break;
            }
            let until = Order::before(Time(time.0 + 1));
            let inbox = &mut self.inboxes[within as usize];
            let own = match self.positions[within as usize] {
                NodeIndex::Host(index) => {
                    let host = &mut hosts[index as usize];
                    node::run(host, inbox, (sources, far_calendar.due_at(host.node())), until, at);
                    host.next()
                }
                NodeIndex::Switch(index) => {
                    let switch = &mut switches[index as usize];
                    node::run(switch, inbox, (sources, far_calendar.due_at(switch.node())), until, at);
                    let own = switch.next();
                    count_victims(switches, position_of, index, at);
                    own
                }
            };
            self.schedule(within, own, bound);
            self.start_remote_work(hosts, position_of, bound, at);
        }
    }

    fn open(
        &mut self,
        (hosts, switches): (&[Host], &[Switch]),
        (sources, far_calendar, start): (&Sources<'_>, &FarCalendar, Time),
        bound: Order,
    ) {
        self.turns.refill(self.positions.iter().zip(&mut self.inboxes).map(|(position, inbox)| {
            let (node, own) = match position {
                NodeIndex::Host(index) => (hosts[*index as usize].node(), hosts[*index as usize].next()),
                NodeIndex::Switch(index) => {
                    (switches[*index as usize].node(), switches[*index as usize].next())
                }
            };
            inbox.open(sources, node, start, far_calendar.due_at(node), |_| {});
            time_before(own.min(inbox.next()), bound)
        }));
    }

    #[inline]
    fn schedule(&mut self, within: u32, own: Order, bound: Order) {
        let next = own.min(self.inboxes[within as usize].next());
        self.turns.set(within, time_before(next, bound));
    }

    /// Calls the injector if its next call comes before the next event of a node. At one instant, the events of all
    /// nodes come before the call.
    fn inject_next<O: Observer>(
        &mut self,
        hosts: &mut [Host],
        bound: Order,
        at: &mut Context<'_, O>,
    ) -> Turn {
        let Some(injection) = &mut self.injection else { return Turn::OfNode };
        let instant = if at.effects.injected_ends.is_empty() { injection.due() } else { at.now };
        let others_are_later = self.turns.first().0 > instant;
        if instant >= bound.time() || !others_are_later {
            return Turn::OfNode;
        }
        at.now = instant;
        if !injection.is_ready(at) {
            return Turn::Paused;
        }
        let (turns, inboxes) = (&mut self.turns, &self.inboxes);
        injection.call(hosts, at, |host| {
            let within = host.node().0;
            let next = host.next().min(inboxes[within as usize].next());
            turns.set(within, time_before(next, bound));
        });
        Turn::Called
    }

    /// Posts messages and begins steps at hosts of the cluster at the present instant, if an event of another host has
    /// just made them ready.
    fn start_remote_work<O: Observer>(
        &mut self,
        hosts: &mut [Host],
        position_of: &NodeLocations,
        bound: Order,
        at: &mut Context<'_, O>,
    ) {
        let time = at.now;
        let mut visit =
            |host: HostId, at: &mut Context<'_, O>, visit: &dyn Fn(&mut Host, &mut Context<'_, O>)| {
                let Some((NodeIndex::Host(index), _, within)) = position_of[host.index()] else {
                    unreachable!("a gate opens something of a host outside of its cluster")
                };
                at.now = time;
                visit(&mut hosts[index as usize], at);
                self.schedule(within, hosts[index as usize].next(), bound);
            };
        let mut messages = std::mem::take(&mut at.effects.remote_messages);
        let mut steps = std::mem::take(&mut at.effects.remote_steps);
        // Work that begins at one host may make more work ready at other hosts.
        while !messages.is_empty() || !steps.is_empty() {
            let workload = at.network.workload;
            for message in messages.drain(..) {
                let src = workload.qps[workload.messages[message.index()].qp.index()].src;
                visit(src, at, &|host, at| host.post(message, at));
            }
            for step in steps.drain(..) {
                visit(workload.steps[step as usize].host, at, &|host, at| host.begin_remote_step(step, at));
            }
            std::mem::swap(&mut messages, &mut at.effects.remote_messages);
            std::mem::swap(&mut steps, &mut at.effects.remote_steps);
        }
        (at.effects.remote_messages, at.effects.remote_steps) = (messages, steps);
    }
}

#[inline]
fn time_before(next: Order, bound: Order) -> Time {
    if next < bound { next.time() } else { Time::NEVER }
}
