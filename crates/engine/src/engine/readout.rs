//! Results of a run, read from the state of an engine that has stopped or paused.

use super::{Engine, fresh_packets, hits_of, latest, lock, totals};
use crate::backlog::Backlogs;
#[cfg(test)]
use crate::context::Counters;
use crate::faults::Hits;
use crate::host::{Host, QpStats};
use crate::network::Network;
use crate::node::Node;
use crate::node_totals::NodeTotals;
use crate::observer::Observer;
use crate::switch::Switch;
use anabranch_base::{HostId, MessageId, QpId, Time};
use anabranch_fabric::Routing;
use anabranch_results::SeriesRow;
use std::sync::PoisonError;

impl<'a, O: Observer> Engine<'a, O> {
    #[cfg(test)]
    pub fn counters(&self) -> Counters {
        totals(&self.locked())
    }

    pub fn fault_hits(&self) -> Hits {
        hits_of(&self.locked())
    }

    /// The time at which the fault with this number first begins. None if it never begins.
    pub fn fault_begin(&self, fault: u16) -> Option<Time> {
        self.network.faults.first_begin(fault)
    }

    pub fn node_totals(&self) -> NodeTotals {
        let latest = self.now();
        let shards = self.locked();
        let mut backlogs = Backlogs::default();
        shards.iter().for_each(|shard| backlogs += &shard.backlogs);
        let hosts: Vec<&Host> = shards.iter().flat_map(|shard| shard.hosts()).collect();
        let mut switches: Vec<&Switch> = shards.iter().flat_map(|shard| shard.switches()).collect();
        switches.sort_by_key(|switch| switch.node());
        NodeTotals::of((&hosts, &switches), self.network.topology, (totals(&shards), backlogs, latest))
    }

    /// The curve of goodput until now, if it is recorded. A second call returns no rows.
    pub fn goodput(&self) -> Vec<SeriesRow> {
        let goodput = lock(&self.state).goodput.take();
        let payload = self.network.scheme.transport.framing().payload;
        goodput.map_or_else(Vec::new, |goodput| {
            goodput.into_rows(self.now(), fresh_packets(&self.locked()), payload)
        })
    }

    /// The statistics of each connection, summed over its queue pairs.
    pub fn qp_stats(&self) -> Vec<QpStats> {
        let shards = self.locked();
        let of_connection = |connection: u32| {
            let network = &self.network;
            let src = network.ends_of(QpId(connection)).src;
            let host = shards.iter().find_map(|shard| shard.host(src.into()));
            let split = network.scheme.qps;
            (0..split).fold(QpStats::default(), |sum, part| {
                let qp = QpId(connection * split + part);
                let lost = shards.iter().filter_map(|shard| shard.effects.lost.get(qp.index())).sum();
                let sender = host.map_or(QpStats::default(), |host| host.qp_stats(network.slots(qp)[0]));
                sum.and(QpStats { lost, ..sender })
            })
        };
        (0..self.network.connections()).map(of_connection).collect()
    }

    pub fn network(&self) -> &Network<'a> {
        &self.network
    }

    /// The messages that are not acknowledged, each with the time at which it was posted.
    pub fn unfinished_messages(&self) -> impl Iterator<Item = (MessageId, Option<Time>)> + '_ {
        (0..self.network.board.messages()).map(MessageId).filter_map(|message| {
            let [posted, _, acknowledged] = self.network.board.times(message);
            acknowledged.is_none().then_some((message, posted))
        })
    }

    /// The source and destination of the first unacknowledged message without a path that works in both directions now,
    /// and the number of these messages.
    pub fn cut_off(&self) -> Option<([HostId; 2], usize)> {
        let (topology, now) = (self.network.topology, self.now());
        let alive = |link| self.network.faults.is_up(link, now);
        let routing = Routing::new(topology, &alive);
        let tors = |host: HostId| {
            let both_ways = |port: &u16| {
                let link = topology.link(host.into(), *port);
                alive(link) && alive(topology.reverse(link))
            };
            let ports = (0..topology.host_ports(host)).filter(both_ways);
            ports.map(|port| routing.tor_index(host, port)).collect::<Vec<u32>>()
        };
        let leads = |from: u32, to: u32| from == to || !routing.is_empty(from as usize, to);
        let mut messages = self.unfinished_messages().filter_map(|(message, _)| {
            let qp = self.network.ends_of_message(message);
            let [from, to] = [qp.src, qp.dst].map(tors);
            let path = from.iter().any(|from| to.iter().any(|to| leads(*from, *to) && leads(*to, *from)));
            (!path).then_some([qp.src, qp.dst])
        });
        let first = messages.next()?;
        Some((first, 1 + messages.count()))
    }

    /// The time of the latest event so far, or of the failure of a node that ended the run.
    pub fn now(&self) -> Time {
        let failed_at = lock(&self.state).failed_at;
        failed_at.unwrap_or_else(|| latest(&self.locked()))
    }

    /// The joined observers of all shards. None if there are no shards.
    pub fn into_observer(self) -> Option<O> {
        let shards =
            self.shards.into_iter().map(|shard| shard.into_inner().unwrap_or_else(PoisonError::into_inner));
        shards.map(|shard| shard.observer).reduce(|mut all, other| {
            all.join(other);
            all
        })
    }
}
