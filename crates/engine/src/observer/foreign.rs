//! Observers that other programs provide. A panic of an observer is attributed to it.

use super::Observer;
use anabranch_base::{Duration, LinkId, NodeId, QpId, Time, foreign};
use anabranch_fabric::Topology;
use anabranch_proto::Packet;
use anabranch_workload::Workload;
use std::sync::Arc;

/// An observer that another program provides. It is forked for each node at the node's first event, and the forks are
/// joined in the order of nodes. Its result therefore does not depend on how nodes are spread over threads.
pub struct PerNode<O> {
    part: Arc<str>,
    hook_nodes: Arc<HookNodes>,
    /// The observer that is forked for nodes. It has seen no events.
    blank: O,
    /// The observer of each node. Observers are boxed, since a thread has observers of its own nodes only.
    seen: Vec<Option<Box<O>>>,
}

/// The node at which each hook is called.
pub struct HookNodes {
    nodes: usize,
    /// The sending node and the receiving node of each link.
    link_ends: Vec<[NodeId; 2]>,
    ends: Vec<[NodeId; 2]>,
    /// The number of the engine's queue pairs for each queue pair of the workload.
    split: u32,
}

impl HookNodes {
    /// The nodes for a fabric and a workload. The engine splits each queue pair of the workload into `split` queue
    /// pairs.
    pub fn of(topology: &Topology, workload: &Workload, split: u32) -> Arc<HookNodes> {
        Arc::new(HookNodes {
            nodes: topology.nodes() as usize,
            link_ends: (0..topology.ports.len() as u32)
                .map(|link| [LinkId(link), topology.reverse(LinkId(link))].map(|link| topology.source(link)))
                .collect(),
            ends: workload.qps.iter().map(|ends| [ends.src.into(), ends.dst.into()]).collect(),
            split,
        })
    }

    fn source(&self, link: LinkId) -> NodeId {
        self.link_ends[link.index()][0]
    }

    fn ends(&self, qp: QpId) -> [NodeId; 2] {
        self.ends[(qp.0 / self.split) as usize]
    }
}

impl<O: Observer> PerNode<O> {
    /// An observer whose forks come from `blank`, which has seen no events. Messages about panics name `part`.
    pub fn new(part: &str, blank: O, hook_nodes: Arc<HookNodes>) -> Self {
        let seen = (0..hook_nodes.nodes).map(|_| None).collect();
        PerNode { part: part.into(), hook_nodes, blank, seen }
    }

    pub fn part(&self) -> Arc<str> {
        self.part.clone()
    }

    pub fn join_into(self, observer: &mut O) {
        join_all(&self.part, self.seen, observer);
    }

    pub fn joined(self) -> O {
        let PerNode { part, mut blank, seen, .. } = self;
        join_all(&part, seen, &mut blank);
        blank
    }

    #[inline]
    fn call(&mut self, node: NodeId, hook: impl FnOnce(&mut O)) {
        let PerNode { part, blank, seen, .. } = self;
        let its = &mut seen[node.index()];
        foreign(part, || hook(its.get_or_insert_with(|| Box::new(blank.fork()))));
    }
}

fn join_all<O: Observer>(part: &str, seen: Vec<Option<Box<O>>>, into: &mut O) {
    for seen in seen.into_iter().flatten() {
        foreign(part, || into.join(*seen));
    }
}

impl<O: Observer> Observer for PerNode<O> {
    fn fork(&self) -> Self {
        PerNode::new(&self.part, foreign(&self.part, || self.blank.fork()), self.hook_nodes.clone())
    }

    fn join(&mut self, other: Self) {
        for (mine, its) in self.seen.iter_mut().zip(other.seen).filter(|(_, its)| its.is_some()) {
            debug_assert!(mine.is_none(), "a node in two threads");
            *mine = its;
        }
    }

    fn wants_node_order(&self) -> bool {
        foreign(&self.part, || self.blank.wants_node_order())
    }

    #[inline]
    fn transmitted(&mut self, link: LinkId, from: Time, until: Time, bytes: u16) {
        self.call(self.hook_nodes.source(link), |its| its.transmitted(link, from, until, bytes));
    }

    #[inline]
    fn sent(&mut self, link: LinkId, from: Time, until: Time, packet: &Packet) {
        self.call(self.hook_nodes.source(link), |its| its.sent(link, from, until, packet));
    }

    fn sent_pause(&mut self, link: LinkId, from: Time, until: Time, stop: bool) {
        self.call(self.hook_nodes.source(link), |its| its.sent_pause(link, from, until, stop));
    }

    #[inline]
    fn queued(&mut self, link: LinkId, now: Time, bytes: u32) {
        self.call(self.hook_nodes.source(link), |its| its.queued(link, now, bytes));
    }

    #[inline]
    fn offered(&mut self, link: LinkId, now: Time, bytes: u16) {
        self.call(self.hook_nodes.source(link), |its| its.offered(link, now, bytes));
    }

    #[inline]
    fn dropped(&mut self, link: LinkId, now: Time) {
        self.call(self.hook_nodes.source(link), |its| its.dropped(link, now));
    }

    fn refused_by_host(&mut self, link: LinkId, now: Time) {
        let [_, receiver] = self.hook_nodes.link_ends[link.index()];
        self.call(receiver, |its| its.refused_by_host(link, now));
    }

    fn paused(&mut self, link: LinkId, class: u8, now: Time, on: bool) {
        self.call(self.hook_nodes.source(link), |its| its.paused(link, class, now, on));
    }

    fn held_up(&mut self, link: LinkId, now: Time, victims: u32) {
        self.call(self.hook_nodes.source(link), |its| its.held_up(link, now, victims));
    }

    fn wants_victims(&self, link: LinkId) -> bool {
        foreign(&self.part, || self.blank.wants_victims(link))
    }

    #[inline]
    fn kept(&mut self, node: NodeId, now: Time, aside: u32, entries: u32) {
        self.call(node, |its| its.kept(node, now, aside, entries));
    }

    #[inline]
    fn delivered(&mut self, qp: QpId, now: Time, packet: &Packet) {
        let [_, dst] = self.hook_nodes.ends(qp);
        self.call(dst, |its| its.delivered(qp, now, packet));
    }

    #[inline]
    fn acknowledged(&mut self, qp: QpId, now: Time, rtt: Duration, marked: bool) {
        let [src, _] = self.hook_nodes.ends(qp);
        self.call(src, |its| its.acknowledged(qp, now, rtt, marked));
    }

    fn recorded(&self) -> u64 {
        foreign(&self.part, || self.seen.iter().flatten().map(|seen| seen.recorded()).sum())
    }
}
