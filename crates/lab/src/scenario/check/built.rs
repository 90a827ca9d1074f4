//! The fabrics that checks look at.

use anabranch_base::{LinkId, Purpose, Stream, stream};
use anabranch_engine::{Ideal, Scheme};
use anabranch_fabric::{Routing, Topology, TopologySpec};
use anabranch_proto::transport::Framing;
use anabranch_proto::{PathFacts, TransportConfig};

/// The fabric of a point of the sweep, and what was found of it so far.
pub(in crate::scenario) struct BuiltFabric<'a> {
    pub spec: &'a TopologySpec,
    pub topology: Topology,
    pub routing: Routing,
    /// It takes long to find the longest path of a large fabric.
    facts: Vec<(Framing, PathFacts)>,
    /// The first circle of links that wait for each other, once it was looked for.
    circle: Option<Option<Vec<LinkId>>>,
}

impl<'a> BuiltFabric<'a> {
    pub(in crate::scenario) fn new(spec: &'a TopologySpec, topology: Topology) -> Self {
        let routing = Routing::new(&topology, &|_| true);
        BuiltFabric { spec, topology, routing, facts: Vec::new(), circle: None }
    }

    /// Its closed forms for packets of `transport`.
    pub(in crate::scenario) fn ideal(&self, transport: &TransportConfig) -> Ideal<'_> {
        Ideal::new(&self.topology, self.routing.clone(), transport)
    }

    /// Links that wait for each other in a circle once the buffers behind them are full.
    pub(in crate::scenario) fn circle(&mut self) -> Option<&[LinkId]> {
        let found = || self.topology.cyclic_buffers(&self.routing);
        self.circle.get_or_insert_with(found).as_deref()
    }

    /// The longest path's, for the packets and the queues of `scheme`.
    pub(in crate::scenario) fn facts(&mut self, scheme: &Scheme) -> PathFacts {
        let framing = scheme.transport.framing();
        let facts = match self.facts.iter().find(|(known, _)| *known == framing) {
            Some((_, facts)) => *facts,
            None => {
                let facts = self.ideal(&scheme.transport).path_facts();
                self.facts.push((framing, facts));
                facts
            }
        };
        scheme.fabric.facts(facts)
    }
}

/// A stream for selectors that draw: which links it picks does not matter to a check.
pub(in crate::scenario) fn selector_stream(seed: u64) -> Stream {
    stream(seed, 0, Purpose::FaultSelection)
}
