//! Clusters: nodes whose events are merged and run in the full order (time, node, kind, port).

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
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Nodes sorted by number, whose events are merged.
pub struct Cluster {
    pub positions: Vec<NodeIndex>,
    inboxes: Vec<Inbox>,
    /// The injection of messages, if there is one. The cluster then begins with all hosts.
    pub injection: Option<Injection>,
    /// The instant at which the injector was not ready, if the cluster has paused within a synchronisation window. It
    /// comes with the turns that remain in the window.
    paused: Option<(Time, TurnQueue)>,
}

/// The nodes of a cluster with an event in a synchronisation window: the time of the event and the node's position. An
/// entry is stale if the node has run since it was added, so a node may be in the queue twice.
type TurnQueue = BinaryHeap<Reverse<(Time, u32)>>;

/// The next turn in a cluster that has an injection.
enum Turn {
    /// The injector was called.
    Called,
    /// The injector is not ready, so the run pauses.
    Paused,
    /// It is the turn of a node, if one is left.
    OfNode,
}

impl Cluster {
    /// A cluster before its first event.
    pub fn new(positions: Vec<NodeIndex>, injection: Option<Injection>) -> Self {
        let inboxes = positions.iter().map(|_| Inbox::default()).collect();
        Cluster { positions, inboxes, injection, paused: None }
    }

    /// Whether the cluster waits within a synchronisation window until its injector is ready.
    pub fn is_paused(&self) -> bool {
        self.paused.is_some()
    }

    /// Runs the nodes through a synchronisation window, one instant of one node after the other. If the cluster has
    /// paused in it, the rest of the window is run.
    pub fn run<O: Observer>(
        &mut self,
        (hosts, switches): (&mut [Host], &mut [Switch]),
        position_of: &NodeLocations,
        (sources, far_calendar, start): (&Sources<'_>, &FarCalendar, Time),
        bound: Order,
        at: &mut Context<'_, O>,
    ) {
        let mut queue = match self.paused.take() {
            Some((instant, queue)) => {
                at.now = instant;
                queue
            }
            None => self.open((hosts, switches), (sources, far_calendar, start), bound),
        };
        loop {
            match self.inject_next(&mut queue, hosts, bound, at) {
                Turn::Called => continue,
                Turn::Paused => {
                    self.paused = Some((at.now, queue));
                    return;
                }
                Turn::OfNode => {}
            }
            let Some(Reverse((time, within))) = queue.pop() else { break };
            let inbox = &mut self.inboxes[within as usize];
            let own = match self.positions[within as usize] {
                NodeIndex::Host(index) => hosts[index as usize].next(),
                NodeIndex::Switch(index) => switches[index as usize].next(),
            };
            if own.min(inbox.next()).time() != time {
                // The entry is stale: the node has run since, after another node had posted a message at this node.
                continue;
            }
            let until = Order::before(Time(time.0 + 1));
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
            let next = own.min(inbox.next());
            if next < bound {
                queue.push(Reverse((next.time(), within)));
            }
            start_remote_work(&mut queue, hosts, position_of, bound, at);
        }
    }

    /// Sorts the arrivals of a synchronisation window. Returns the nodes that have an event in it.
    fn open(
        &mut self,
        (hosts, switches): (&[Host], &[Switch]),
        (sources, far_calendar, start): (&Sources<'_>, &FarCalendar, Time),
        bound: Order,
    ) -> TurnQueue {
        let mut queue = TurnQueue::new();
        for (within, position) in self.positions.iter().enumerate() {
            let (node, own) = match position {
                NodeIndex::Host(index) => (hosts[*index as usize].node(), hosts[*index as usize].next()),
                NodeIndex::Switch(index) => {
                    (switches[*index as usize].node(), switches[*index as usize].next())
                }
            };
            self.inboxes[within].open(sources, node, start, far_calendar.due_at(node), |_| {});
            let first = own.min(self.inboxes[within].next());
            if first < bound {
                queue.push(Reverse((first.time(), within as u32)));
            }
        }
        queue
    }

    /// Calls the injector if there is one, if its next call is before the event of any node in `queue`, and if it is
    /// ready.
    fn inject_next<O: Observer>(
        &mut self,
        queue: &mut TurnQueue,
        hosts: &mut [Host],
        bound: Order,
        at: &mut Context<'_, O>,
    ) -> Turn {
        let Some(injection) = &mut self.injection else { return Turn::OfNode };
        let instant = if at.effects.injected_ends.is_empty() { injection.due() } else { at.now };
        let others_are_later = queue.peek().is_none_or(|Reverse((time, _))| *time > instant);
        if instant >= bound.time() || !others_are_later {
            return Turn::OfNode;
        }
        at.now = instant;
        if !injection.is_ready(at) {
            return Turn::Paused;
        }
        injection.call(hosts, at, |host| {
            let next = host.next();
            if next < bound {
                // The cluster begins with all hosts, so the position of a host is its number.
                queue.push(Reverse((next.time(), host.node().0)));
            }
        });
        Turn::Called
    }
}

/// Posts messages and begins steps at other hosts of a node's cluster, which the node made ready. This happens at the
/// same instant.
fn start_remote_work<O: Observer>(
    queue: &mut TurnQueue,
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
            let next = hosts[index as usize].next();
            if next < bound {
                queue.push(Reverse((next.time(), within)));
            }
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
