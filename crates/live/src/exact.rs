//! All nodes of a run in one thread, with exact times: the nodes act on every frame at its simulated time of arrival.

use crate::codec::is_pause;
use crate::error::LiveError;
use crate::node::{Frame, LiveNode};
use anabranch_base::{NodeId, Time};
use anabranch_sim::scenario::RunPoint;
use anabranch_sim::topology::Topology;
use anabranch_sim::{Built, DrivenNode, DrivenRun, NodeTotals, RunResult, Signal, SignalKind};
use std::collections::BTreeMap;

/// The results of a run.
#[derive(Debug)]
pub struct ExactOutcome {
    /// The rows of the run.
    pub result: RunResult,
    /// The totals of all nodes.
    pub totals: NodeTotals,
    /// Number of messages whose bytes were checked at their receivers.
    pub checked: u64,
    /// The times of posting, delivery and acknowledgement of each message.
    pub times: Vec<[Option<Time>; 3]>,
}

/// The frames on links, in the order in which nodes handle their arrivals.
type InFlight = BTreeMap<Arrival, Vec<u8>>;

/// The position of an arrival among all arrivals.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Arrival {
    time: Time,
    node: NodeId,
    is_packet: bool,
    rank: u64,
    port: u16,
    /// The number of the frame in the order of sending, by which frames on the same link differ.
    frame: u64,
}

/// A frame on its way from one node to the next.
pub struct FrameOnLink<'f> {
    /// The node that sent the frame.
    pub from: NodeId,
    /// The node that receives the frame.
    pub to: NodeId,
    /// The time at which the receiving node acts on the frame.
    pub acts: Time,
    /// The bytes of the frame.
    pub bytes: &'f [u8],
}

/// Runs a point with exact times.
///
/// # Errors
/// The point cannot be built or uses a feature that only the simulator has, a frame cannot be read or written, a
/// message was damaged, an invariant is broken, the run exceeds `limits.max_time`, or no event is left before all
/// messages are finished.
pub fn exact(point: &RunPoint, built: &Built) -> Result<ExactOutcome, LiveError> {
    exact_observed(point, built, &mut |_| {})
}

/// Runs a point with exact times, and calls `observe` with each frame.
///
/// # Errors
/// See [`exact`].
pub fn exact_observed(
    point: &RunPoint,
    built: &Built,
    observe: &mut dyn FnMut(FrameOnLink<'_>),
) -> Result<ExactOutcome, LiveError> {
    let run = DrivenRun::new(point, built)?;
    let mut exact = Exact {
        run: &run,
        topology: &built.topology,
        nodes: LiveNode::all(&run, &built.topology)?,
        in_flight: BTreeMap::new(),
        frames: 0,
        observe,
    };
    let last = Time::ZERO + point.limits.max_time;
    let end = run.counts().into_iter().map(u64::from).sum::<u64>();
    let mut stop = Time::NEVER;
    while let Some(now) = exact.next().filter(|now| *now < stop) {
        if now > last {
            return Err(LiveError::Limit(format!("limits.max_time ({}) is over", point.limits.max_time)));
        }
        exact.instant(now)?;
        if stop == Time::NEVER && exact.nodes.iter().map(|node| node.driven().ended()).sum::<u64>() >= end {
            stop = run.last_end() + run.linger();
        }
    }
    if stop == Time::NEVER {
        return Err(LiveError::Limit("messages are unfinished, and no event is left".to_owned()));
    }
    let driven: Vec<&DrivenNode<'_>> = exact.nodes.iter().map(LiveNode::driven).collect();
    let totals = DrivenNode::totals(&driven);
    let [messages, _] = run.counts();
    Ok(ExactOutcome {
        result: run.result(&totals),
        totals,
        checked: exact.nodes.iter().map(LiveNode::checked_messages).sum(),
        times: (0..messages).map(|message| run.message_times(anabranch_base::MessageId(message))).collect(),
    })
}

struct Exact<'r, 'o> {
    run: &'r DrivenRun<'r>,
    topology: &'r Topology,
    nodes: Vec<LiveNode<'r>>,
    in_flight: InFlight,
    frames: u64,
    observe: &'o mut dyn FnMut(FrameOnLink<'_>),
}

impl Exact<'_, '_> {
    fn next(&self) -> Option<Time> {
        let own = self.nodes.iter().map(|node| node.driven().next_time()).min();
        let arrival = self.in_flight.first_key_value().map(|(arrival, _)| arrival.time);
        own.into_iter().chain(arrival).min().filter(|time| *time < Time::NEVER)
    }

    fn instant(&mut self, now: Time) -> Result<(), LiveError> {
        for index in 0..self.nodes.len() {
            self.nodes[index].run_tasks(now)?;
            self.pass_on(index)?;
        }
        while let Some(entry) = self.in_flight.first_entry().filter(|entry| entry.key().time == now) {
            let (Arrival { node, port, .. }, bytes) = entry.remove_entry();
            self.nodes[node.index()].receive(now, port, &bytes)?;
            self.pass_on(node.index())?;
        }
        for index in 0..self.nodes.len() {
            if self.nodes[index].driven().next_time() <= now {
                self.nodes[index].run_until(now)?;
                self.pass_on(index)?;
            }
        }
        Ok(())
    }

    fn pass_on(&mut self, index: usize) -> Result<(), LiveError> {
        self.send(index)?;
        let mut signals: Vec<Signal> = self.nodes[index].take_signals().collect();
        while !signals.is_empty() {
            let mut more = Vec::new();
            for signal in signals {
                self.deliver(&signal, &mut more)?;
            }
            signals = more;
        }
        Ok(())
    }

    fn send(&mut self, index: usize) -> Result<(), LiveError> {
        let (node, run, topology) = (self.nodes[index].node(), self.run, self.topology);
        let (in_flight, frames, observe) = (&mut self.in_flight, &mut self.frames, &mut self.observe);
        self.nodes[index].take_frames(|Frame { acts, port, bytes, .. }| {
            let to = &topology.ports[topology.link(node, port).index()];
            *frames += 1;
            observe(FrameOnLink { from: node, to: to.peer, acts, bytes: &bytes });
            let arrival = Arrival {
                time: acts,
                node: to.peer,
                is_packet: !is_pause(&bytes),
                rank: run.arrival_rank(to.peer, acts, to.peer_port),
                port: to.peer_port,
                frame: *frames,
            };
            in_flight.insert(arrival, bytes);
        })
    }

    fn deliver(&mut self, signal: &Signal, more: &mut Vec<Signal>) -> Result<(), LiveError> {
        let (hosts, notifies) = (self.topology.hosts, self.run.notifies_switches());
        for index in 0..self.nodes.len() {
            let is_switch = self.nodes[index].node().0 >= hosts;
            if is_switch && !notifies && matches!(signal.kind, SignalKind::Qp { .. }) {
                continue;
            }
            self.nodes[index].handle(signal)?;
            if !matches!(signal.kind, SignalKind::Qp { .. }) {
                more.extend(self.nodes[index].take_signals());
                self.send(index)?;
            }
        }
        Ok(())
    }
}
