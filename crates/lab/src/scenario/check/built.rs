//! The fabrics that checks look at.

use anabranch_base::{Purpose, Stream, stream};
use anabranch_engine::{Ideal, Scheme};
use anabranch_fabric::{Routing, Topology, TopologySpec};
use anabranch_proto::transport::Framing;
use anabranch_proto::{PathFacts, TransportConfig};

/// The fabric of a point of the sweep, and what was found of it so far.
pub(in crate::scenario) struct BuiltFabric<'a> {
    pub spec: &'a TopologySpec,
    pub topology: Topology,
    pub routing: Routing,
    /// The facts of the longest path, by framing and use of ports, kept since finding it takes long on a large fabric.
    facts: Vec<((Framing, bool), PathFacts)>,
}

impl<'a> BuiltFabric<'a> {
    pub(in crate::scenario) fn new(spec: &'a TopologySpec, topology: Topology) -> Self {
        let routing = Routing::new(&topology, &|_| true);
        BuiltFabric { spec, topology, routing, facts: Vec::new() }
    }

    /// Its closed forms for packets of `transport`.
    pub(in crate::scenario) fn ideal(&self, transport: &TransportConfig) -> Ideal<'_> {
        Ideal::new(&self.topology, self.routing.clone(), transport)
    }

    /// The facts of the longest path, for the packets and queues of `scheme`.
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

/// A stream for selectors that draw: which links it picks does not matter to a check.
pub(in crate::scenario) fn selector_stream(seed: u64) -> Stream {
    stream(seed, 0, Purpose::FaultSelection)
}
