//! Nodes that a driver runs one by one. The driver replaces the engine's synchronisation windows by a clock, and the
//! engine's mail by links.
//!
//! A driver hands each node its arrivals, and calls the node when its next event is due. The node returns the frames
//! that it sends, each with the time at which the next node may act on the frame. It also returns [`Signal`]s: effects
//! on other nodes without a frame. If all times are exact, messages and packets have the same times as in
//! [`run()`](crate::run()).

mod cores;

use crate::backlog::Backlogs;
use crate::collect::{RunResult, rows};
use crate::context::{Context, Counters, Effects, Failure, Notice};
use crate::engine::clusters;
use crate::fault_spec::{FaultKind, FaultSpec};
use crate::faults::Task;
use crate::frame::{Frame, FrameKind, Order, event_kind};
use crate::host::Host;
use crate::mail::{Blocks, FarArrival, LinkMail, Outbox, drawn_rank};
use crate::network::Network;
use crate::node::Node;
use crate::node_totals::NodeTotals;
use crate::observer::NoObserver;
use crate::run::{Built, check_scheme, engine_inputs, ideal, switch_plan};
use crate::run_error::RunError;
use crate::spec::RunPoint;
use crate::switch::Switch;
use anabranch_base::{HostId, LinkId, MessageId, NodeId, QpId, Time};
use anabranch_fabric::Routing;
use anabranch_proto::Packet;
use anabranch_proto::transport::PayloadRange;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::sync::Arc;

/// A run whose nodes are driven from outside.
pub struct DrivenRun<'a> {
    point: &'a RunPoint,
    fabric: &'a Built,
    network: Network<'a>,
    link_kind_of: Vec<u16>,
    /// Whether programs in switches get notices of queue pairs.
    notifies: bool,
}

impl<'a> DrivenRun<'a> {
    /// A run of `point` on its `fabric`. Neither measures nor observers of the point have an effect.
    ///
    /// # Errors
    /// A part of the point cannot be built.
    pub fn new(point: &'a RunPoint, fabric: &'a Built) -> Result<Self, RunError> {
        check_scheme(point)?;
        let ideal = ideal(point, fabric);
        let mut inputs = engine_inputs(point, fabric, &point.limits, &ideal, true)?;
        let (network, link_kind_of) = inputs.network()?;
        let notifies = inputs.switches.program.as_ref().is_some_and(|program| program.wants_qps());
        Ok(DrivenRun { point, fabric, network, link_kind_of, notifies })
    }

    /// All nodes, sorted by number. No node has handled an event yet.
    ///
    /// # Errors
    /// A part of the switches cannot be built, such as a program or a buffer.
    pub fn nodes(&self) -> Result<Vec<DrivenNode<'_>>, RunError> {
        let network = &self.network;
        let kind = |link: LinkId| self.link_kind_of[link.index()];
        let mut plan = switch_plan(self.point, self.fabric, &network.facts, true)?;
        let hosts = Host::all(network, kind).into_iter().map(|host| AnyNode::Host(Box::new(host)));
        let switches = (0..network.topology.switches.len() as u32)
            .map(|index| AnyNode::Switch(Box::new(Switch::new(network, &mut plan, index, kind))));
        let routing = Arc::new(network.healthy.clone());
        Ok(hosts.chain(switches).map(|node| DrivenNode::new(network, routing.clone(), node)).collect())
    }

    /// Groups of hosts that start messages or steps of one another without delay. Each group has more than one host and
    /// is sorted by number. One process must drive a whole group, since its hosts share the progress of messages.
    pub fn clusters(&self) -> Vec<Vec<NodeId>> {
        clusters(&self.network, &NoObserver, false)
    }

    /// Whether programs in switches get a [`SignalKind::Qp`] for each queue pair that is opened or done.
    pub fn notifies_switches(&self) -> bool {
        self.notifies
    }

    /// The description of a part of the run that [`DrivenNode`] does not support, if there is such a part.
    pub fn left_out(&self) -> Option<&'static str> {
        let of_host = |fault: &FaultSpec| {
            matches!(fault.kind, FaultKind::SlowReceiver { .. } | FaultKind::PauseStorm { .. })
        };
        if self.network.scheme.cc.wants_telemetry() {
            Some(
                "the congestion control reads telemetry of switches (INT), for which frames have no header\n  help: every \
                 other scheme runs on real packets, such as strack or dcp; `anabranch run` simulates this one",
            )
        } else if !self.point.classes.is_empty() {
            Some("the scenario has several traffic classes ([[class]]), and frames have the first one only")
        } else if self.point.faults.iter().any(of_host) {
            Some("the faults slow-receiver and pause-storm are simulated only")
        } else {
            None
        }
    }

    /// The sort key of an arrival among the arrivals of the same kind at the same node and time. Arrivals with equal
    /// keys are ordered by port.
    pub fn arrival_rank(&self, node: NodeId, time: Time, port: u16) -> u64 {
        self.network.drawn_order().map_or(0, |seed| drawn_rank(seed, node, time.0, port.into()))
    }

    /// The time for which a run continues after its last acknowledgement or the last end of a step.
    pub fn linger(&self) -> anabranch_base::Duration {
        self.network.linger
    }

    /// The round-trip time of the longest path if all queues are empty.
    pub fn base_rtt(&self) -> anabranch_base::Duration {
        self.network.facts.base_rtt
    }

    /// The size of a full packet in bytes.
    pub fn packet_bytes(&self) -> u64 {
        self.network.facts.packet.0
    }

    /// The two hosts of a queue pair of the engine: the source and the destination.
    pub fn ends(&self, qp: QpId) -> [HostId; 2] {
        let ends = self.network.ends(qp);
        [ends.src, ends.dst]
    }

    /// The number of queue pairs of the engine for each connection.
    pub fn split(&self) -> u32 {
        self.network.scheme.qps
    }

    /// The number of messages and the number of steps.
    pub fn counts(&self) -> [u32; 2] {
        [self.network.board.messages(), self.network.workload.steps.len() as u32]
    }

    /// The length of a message in bytes.
    pub fn message_bytes(&self, message: MessageId) -> u64 {
        self.network.message(message).bytes
    }

    /// The times of posting, delivery and acknowledgement of a message, as far as this process knows them.
    pub fn message_times(&self, message: MessageId) -> [Option<Time>; 3] {
        self.network.board.times(message)
    }

    /// The times of the start and end of a step, as far as this process knows them.
    pub fn step_times(&self, step: u32) -> [Option<Time>; 2] {
        self.network.board.step_times(step)
    }

    /// Records the times of a message as another process has reported them.
    pub fn record_message(&self, message: MessageId, times: [Option<Time>; 3]) {
        self.network.board.record(message, times);
    }

    /// Records the times of a step as another process has reported them.
    pub fn record_step(&self, step: u32, times: [Option<Time>; 2]) {
        self.network.board.record_step(step, times);
    }

    /// The time of the last acknowledgement, or of the last end of a step, so far.
    pub fn last_end(&self) -> Time {
        self.network.board.last_end()
    }

    /// The rows of the run once it has ended, without faults and warnings. Rows of flows have no statistics of their
    /// queue pairs, since these are in the processes of the senders.
    pub fn result(&self, totals: &NodeTotals) -> RunResult {
        let ideal = ideal(self.point, self.fabric);
        rows(&self.network, (totals, self.last_end()), self.point, &ideal, None).with_digest()
    }
}

/// The content of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameContent {
    /// A packet.
    Packet(Packet),
    /// A pause frame: XOFF if `stop` is set, otherwise XON.
    Pause {
        /// Whether the frame pauses the data class. Otherwise it resumes the class.
        stop: bool,
    },
}

/// A frame that a node sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// The link on which the frame is sent.
    pub link: LinkId,
    /// The time at which the next node may act on the frame.
    pub acts: Time,
    /// The packet or the pause frame.
    pub content: FrameContent,
}

/// An effect of one node on another without a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signal {
    /// The time of the cause. A switch's program gets the notice of a queue pair later.
    pub time: Time,
    /// The kind of the effect.
    pub kind: SignalKind,
}

/// The kind of a [`Signal`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SignalKind {
    /// A queue pair was opened by its source, or is done. If [`DrivenRun::notifies_switches`] is true, all switches
    /// get this signal. The destination gets it when the queue pair is done.
    Qp {
        /// The queue pair of the engine.
        qp: u32,
        /// Whether the queue pair was opened. Otherwise it is done.
        opens: bool,
    },
    /// A message of this host can be posted.
    Post {
        /// The number of the message.
        message: u32,
        /// The number of the host.
        host: u32,
    },
    /// A step of this host can begin.
    Begin {
        /// The number of the step.
        step: u32,
        /// The number of the host.
        host: u32,
    },
    /// The pause of a port's data class was determined anew, because its link went down or came up. A class is paused
    /// only while the link is up in both directions and the other end wants a pause.
    Pause {
        /// The number of the node.
        node: u32,
        /// The port of that node.
        port: u16,
        /// Whether the data class is paused.
        stop: bool,
    },
}

enum AnyNode {
    Host(Box<Host>),
    Switch(Box<Switch>),
}

/// A host or a switch, with all data that its event handlers need.
pub struct DrivenNode<'n> {
    network: &'n Network<'n>,
    routing: Arc<Routing>,
    node: AnyNode,
    now: Time,
    /// The time up to which the tasks of the fault plan are done.
    agenda_done: Option<Time>,
    /// The notice that the switch's program gets next, if `has_notice` is set. Later ones wait in `notices`.
    notice: [Notice; 1],
    notices: VecDeque<Notice>,
    /// Whether the switch has yet to handle `notice`.
    has_notice: bool,
    counters: Counters,
    backlogs: Backlogs,
    effects: Effects,
    sent: Vec<FarArrival>,
    blocks: Blocks,
    link: LinkMail,
    signals: Vec<Signal>,
}

impl<'n> DrivenNode<'n> {
    fn new(network: &'n Network<'n>, routing: Arc<Routing>, node: AnyNode) -> Self {
        DrivenNode {
            network,
            routing,
            node,
            now: Time::ZERO,
            agenda_done: None,
            notice: [Notice { time: Time::NEVER, src: HostId(0), qp: QpId(0), opens: true }],
            notices: VecDeque::new(),
            has_notice: false,
            counters: Counters::default(),
            backlogs: Backlogs::default(),
            effects: Effects::default(),
            sent: Vec::new(),
            blocks: Blocks::default(),
            link: LinkMail::default(),
            signals: Vec::new(),
        }
    }

    /// The number of the node.
    pub fn node(&self) -> NodeId {
        match &self.node {
            AnyNode::Host(host) => host.node(),
            AnyNode::Switch(switch) => switch.node(),
        }
    }

    /// The time of the node's latest event or of the latest task of a fault, whichever is later.
    pub fn now(&self) -> Time {
        self.now
    }

    /// The time of the node's next event or of the next task of a fault at any node, whichever is earlier.
    pub fn next_time(&self) -> Time {
        self.next().time().min(self.network.faults.next_due(self.agenda_done))
    }

    fn next(&self) -> Order {
        match &self.node {
            AnyNode::Host(host) => host.next(),
            AnyNode::Switch(switch) => switch.next(),
        }
    }

    /// Handles a frame that arrives at `port`. Events of the node that come before it are handled first.
    ///
    /// # Errors
    /// An invariant is broken, a lossless class has no room for a packet, or a queue pair has more packets than PSNs.
    pub fn arrive(&mut self, time: Time, port: u16, content: &FrameContent) -> Result<(), String> {
        let (frame, kind) = match content {
            FrameContent::Packet(packet) => (Frame::new(*packet, port), event_kind::ARRIVAL),
            FrameContent::Pause { stop } => (Frame::pause(port, 0, *stop), event_kind::PAUSE),
        };
        let time = time.max(self.now);
        self.run_before(Order::new(time, kind), time)?;
        self.now = time;
        self.counters.events += 1;
        self.with(|node, at| match node {
            AnyNode::Host(host) => host.arrive(&frame, None, at),
            AnyNode::Switch(switch) => switch.arrive(&frame, None, at),
        });
        self.check()
    }

    /// Handles the node's events up to `time`, which is included.
    ///
    /// # Errors
    /// The errors of [`DrivenNode::arrive`].
    pub fn run_until(&mut self, time: Time) -> Result<(), String> {
        self.run_before(Order::before(Time(time.0 + 1)), time)
    }

    /// Handles the node's events before `time`, and its fault tasks up to `time`, which is included.
    ///
    /// # Errors
    /// The errors of [`DrivenNode::arrive`].
    pub fn run_tasks(&mut self, time: Time) -> Result<(), String> {
        self.run_before(Order::before(time), time)
    }

    fn run_before(&mut self, bound: Order, last_task: Time) -> Result<(), String> {
        loop {
            let (own, due) = (self.next(), self.network.faults.next_due(self.agenda_done));
            if due <= own.time() && due < Time::NEVER && due <= last_task {
                self.do_tasks(due);
            } else if own < bound {
                self.run_next(own);
            } else {
                return self.check();
            }
        }
    }

    fn run_next(&mut self, own: Order) {
        self.now = own.time();
        self.counters.events += 1;
        let is_notice = self.has_notice && own.kind() == event_kind::NOTICE;
        self.with(|node, at| match node {
            AnyNode::Host(host) => host.run_next(at),
            AnyNode::Switch(switch) => switch.run_next(at),
        });
        if is_notice {
            self.has_notice = false;
            self.expect_notice();
        }
    }

    fn with(&mut self, action: impl FnOnce(&mut AnyNode, &mut Context<'_, NoObserver>)) {
        action(
            &mut self.node,
            &mut Context {
                now: self.now,
                network: self.network,
                routing: &self.routing,
                program_notices: &self.notice,
                // There are no mailboxes for later windows, so all frames go to `sent`.
                out: Outbox::new(&[Time::ZERO], SmallVec::new(), (&mut self.sent, &mut self.blocks)),
                link: &mut self.link,
                observer: &mut NoObserver,
                counters: &mut self.counters,
                backlogs: &mut self.backlogs,
                effects: &mut self.effects,
            },
        );
        self.gather_signals();
    }

    fn gather_signals(&mut self) {
        let (time, effects, workload) = (self.now, &mut self.effects, self.network.workload);
        let opened = effects.notices.drain(..).map(|notice| {
            let Notice { time, qp, opens, .. } = notice;
            Signal { time, kind: SignalKind::Qp { qp: qp.0, opens } }
        });
        self.signals.extend(opened);
        for message in effects.remote_messages.drain(..) {
            let host = self.network.ends_of_message(message).src.0;
            self.signals.push(Signal { time, kind: SignalKind::Post { message: message.0, host } });
        }
        for step in effects.remote_steps.drain(..) {
            let host = workload.steps[step as usize].host.0;
            self.signals.push(Signal { time, kind: SignalKind::Begin { step, host } });
        }
    }

    fn do_tasks(&mut self, due: Time) {
        self.agenda_done = Some(due);
        self.now = self.now.max(due);
        let Network { faults, topology, scheme, .. } = self.network;
        let (settled, others): (Vec<Task>, Vec<Task>) =
            faults.tasks_at(due).into_iter().partition(|task| matches!(task, Task::SettlePause(_)));
        // A purge of a switch sends no XON if the pauses of its links are settled before.
        for task in settled.into_iter().chain(others) {
            match task {
                Task::Purge(node, fault) if node == self.node() => self.with(|node, at| {
                    if let AnyNode::Switch(switch) = node {
                        switch.purge(fault, at);
                    }
                }),
                // The node that receives on a link decides whether the link is paused.
                Task::SettlePause(link) if topology.ports[link.index()].peer == self.node() => {
                    if scheme.fabric.pfc.is_some() {
                        self.settle_pause(link, due);
                    }
                }
                Task::Reroute(as_of) => {
                    self.routing = Arc::new(Routing::new(topology, &|link| faults.is_up(link, as_of)));
                }
                Task::Purge(..) | Task::SettlePause(_) => {}
            }
        }
    }

    fn settle_pause(&mut self, link: LinkId, time: Time) {
        let Network { faults, topology, .. } = self.network;
        let back = topology.reverse(link);
        let up = faults.is_up(link, time) && faults.is_up(back, time);
        let stop = match &mut self.node {
            AnyNode::Switch(switch) => switch.settle_pause(topology.ports[link.index()].peer_port, 0, up),
            AnyNode::Host(_) => false,
        };
        let (node, port) = (topology.source(link).0, topology.ports[back.index()].peer_port);
        self.signals.push(Signal { time, kind: SignalKind::Pause { node, port, stop } });
    }

    /// Handles a signal, if it concerns this node.
    ///
    /// # Errors
    /// The errors of [`DrivenNode::arrive`].
    pub fn handle(&mut self, signal: &Signal) -> Result<(), String> {
        let here = self.node().0;
        match signal.kind {
            SignalKind::Qp { qp, opens } => self.handle_qp(signal.time, QpId(qp), opens),
            SignalKind::Post { message, host } if host == here => {
                self.at_host(signal.time, |host, at| host.post(MessageId(message), at))?;
            }
            SignalKind::Begin { step, host } if host == here => {
                self.at_host(signal.time, |host, at| host.begin_remote_step(step, at))?;
            }
            SignalKind::Pause { node, port, stop } if node == here => {
                // Faults come before all other events of their time.
                self.advance(signal.time, Order::before)?;
                self.with(|node, at| match node {
                    AnyNode::Host(host) => host.handle_pause(port, 0, stop, at),
                    AnyNode::Switch(switch) => switch.handle_pause(port, 0, stop, at),
                });
            }
            SignalKind::Post { .. } | SignalKind::Begin { .. } | SignalKind::Pause { .. } => {}
        }
        self.check()
    }

    fn at_host(
        &mut self,
        time: Time,
        action: impl FnOnce(&mut Host, &mut Context<'_, NoObserver>),
    ) -> Result<(), String> {
        self.advance(time, |time| Order::new(time, event_kind::INJECTOR))?;
        self.with(|node, at| {
            if let AnyNode::Host(host) = node {
                action(host, at);
            }
        });
        Ok(())
    }

    /// Runs the events before `bound(time)`, and moves the present to `time`. A past `time` counts as the present.
    fn advance(&mut self, time: Time, bound: impl FnOnce(Time) -> Order) -> Result<(), String> {
        let time = time.max(self.now);
        self.run_before(bound(time), time)?;
        self.now = time;
        Ok(())
    }

    fn handle_qp(&mut self, time: Time, qp: QpId, opens: bool) {
        let [src, dst] = [self.network.ends(qp).src, self.network.ends(qp).dst];
        match &mut self.node {
            AnyNode::Host(host) if !opens && dst == HostId(host.node().0) => {
                host.end_receiver(self.network.slots(qp)[1], time + self.network.linger);
            }
            AnyNode::Host(_) => {}
            AnyNode::Switch(_) => {
                let time = (time + self.network.window).max(self.now);
                self.notices.push_back(Notice { time, src, qp, opens });
                self.expect_notice();
            }
        }
    }

    /// Passes the first waiting notice to the switch, once the switch has handled the previous one.
    fn expect_notice(&mut self) {
        let AnyNode::Switch(switch) = &mut self.node else { return };
        if !self.has_notice
            && let Some(notice) = self.notices.pop_front()
        {
            self.notice = [Notice { time: notice.time.max(self.now), ..notice }];
            self.has_notice = true;
            switch.expect_notices(&self.notice);
        }
    }

    /// Removes and returns the frames that the node has sent.
    pub fn take_frames(&mut self) -> impl Iterator<Item = Outgoing> + '_ {
        let topology = self.network.topology;
        self.sent.drain(..).map(|FarArrival { node, arrival, .. }| Outgoing {
            link: topology.reverse(topology.link(node, arrival.frame.port)),
            acts: arrival.time,
            content: match arrival.frame.kind {
                FrameKind::Packet => FrameContent::Packet(arrival.frame.packet),
                FrameKind::Pause => FrameContent::Pause { stop: true },
                FrameKind::Resume => FrameContent::Pause { stop: false },
            },
        })
    }

    /// Removes and returns the signals for other nodes.
    pub fn take_signals(&mut self) -> impl Iterator<Item = Signal> + '_ {
        self.signals.drain(..)
    }

    /// The part of a message that a data packet of this host carries. None at a switch, or if the packet belongs to no
    /// message that is being sent.
    pub fn payload_range(&self, qp: QpId, psn: u32) -> Option<PayloadRange> {
        match &self.node {
            AnyNode::Host(host) => host.payload_range(self.network.slots(qp)[0], psn),
            AnyNode::Switch(_) => None,
        }
    }

    /// The number of acknowledged messages plus the number of ended steps at this node.
    pub fn ended(&self) -> u64 {
        self.counters.acknowledged + self.counters.steps
    }

    /// The totals of several nodes, which are sorted by number.
    pub fn totals(nodes: &[&DrivenNode<'_>]) -> NodeTotals {
        let Some(first) = nodes.first() else { return NodeTotals::default() };
        let (mut hosts, mut switches) = (Vec::new(), Vec::new());
        let (mut counters, mut backlogs) = (Counters::default(), Backlogs::default());
        for node in nodes {
            match &node.node {
                AnyNode::Host(host) => hosts.push(&**host),
                AnyNode::Switch(switch) => switches.push(&**switch),
            }
            counters += node.counters;
            backlogs += &node.backlogs;
        }
        let latest = nodes.iter().map(|node| node.now).max().unwrap_or(Time::ZERO);
        NodeTotals::of((&hosts, &switches), first.network.topology, (counters, backlogs, latest))
    }

    /// Returns the failure of the run as an error, if the node has caused one.
    fn check(&mut self) -> Result<(), String> {
        let Some((time, node, failure)) = self.effects.failure.take() else { return Ok(()) };
        let what = match failure {
            Failure::LosslessDrop(what) | Failure::Invariant(what) => what,
            Failure::OutOfPsns(qp) => format!("queue pair {qp} has more packets than PSNs"),
            other => format!("{other:?}"),
        };
        Err(format!("{} at {time}: {what}", self.network.topology.node_name(node)))
    }
}
