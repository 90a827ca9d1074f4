//! The fabrics on which the checks are made.

use anabranch_base::{LinkId, Purpose, Stream, stream};
use anabranch_engine::{Ideal, Scheme};
use anabranch_fabric::{Routing, Topology, TopologySpec};
use anabranch_proto::transport::Framing;
use anabranch_proto::{PathFacts, TransportConfig};
use anabranch_workload::Workload;
use std::collections::{BTreeMap, BTreeSet};

/// The fabric of a point of the sweep, with the facts about it that have been computed so far.
pub(in crate::scenario) struct BuiltFabric<'a> {
    pub spec: &'a TopologySpec,
    pub topology: Topology,
    pub routing: Routing,
    /// The facts about the longest path, by framing and use of ports. They are kept because finding the path takes
    /// long on a large fabric.
    facts: Vec<((Framing, bool), PathFacts)>,
    /// The result of [`Topology::turns_down_for_good`]; `None` until a check needs it.
    turns_down: Option<bool>,
}

impl<'a> BuiltFabric<'a> {
    pub(in crate::scenario) fn new(spec: &'a TopologySpec, topology: Topology) -> Self {
        let routing = Routing::new(&topology, &|_| true);
        BuiltFabric { spec, topology, routing, facts: Vec::new(), turns_down: None }
    }

    /// The closed-form times on this fabric for packets of `transport`.
    pub(in crate::scenario) fn ideal(&self, transport: &TransportConfig) -> Ideal<'_> {
        Ideal::new(&self.topology, self.routing.clone(), transport)
    }

    /// Links that wait for each other in a cycle once the buffers at their receiving ends are full, given the routes of
    /// `workload`. `None` if the routes have no such cycle.
    pub(in crate::scenario) fn circle(&mut self, workload: &Workload) -> Option<Vec<LinkId>> {
        let (topology, routing) = (&self.topology, &self.routing);
        if *self.turns_down.get_or_insert_with(|| topology.turns_down_for_good(routing)) {
            return None;
        }
        let mut senders: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for qp in &workload.qps {
            for port in 0..topology.host_ports(qp.src) {
                let best = routing.best_ports(topology, (qp.src, port), qp.dst, u16::MAX);
                for dst_port in (0..topology.host_ports(qp.dst)).filter(|port| best >> port & 1 == 1) {
                    let sender = routing.tor_index(qp.src, port);
                    senders.entry(routing.tor_index(qp.dst, dst_port)).or_default().insert(sender);
                }
            }
        }
        topology.cyclic_buffers(routing, &senders)
    }

    /// The facts about the longest path, for the packets and queues of `scheme`.
    pub(in crate::scenario) fn facts(&mut self, scheme: &Scheme) -> PathFacts {
        let kind = (scheme.transport.framing(), scheme.uses_all_ports());
        let facts = match self.facts.iter().find(|(known, _)| *known == kind) {
            Some((_, facts)) => *facts,
            None => {
                let facts = self.ideal(&scheme.transport).carried_by(scheme).path_facts();
                self.facts.push((kind, facts));
                facts
            }
        };
        scheme.fabric.facts(facts)
    }
}

/// The random stream for selectors that draw links. The drawn links do not matter to a check.
pub(in crate::scenario) fn selector_stream(seed: u64) -> Stream {
    stream(seed, 0, Purpose::FaultSelection)
}
