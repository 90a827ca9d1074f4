//! What a message takes alone in the network, in closed form.

use anabranch_base::{Bytes, Duration, HostId, LinkId};
use anabranch_fabric::{Routing, Topology};
use anabranch_proto::transport::Framing;
use anabranch_proto::{PathFacts, TransportConfig};

/// Computes ideal completion times on a fabric.
pub struct Ideal<'a> {
    topology: &'a Topology,
    routing: Routing,
    framing: Framing,
}

impl<'a> Ideal<'a> {
    /// For messages carried by `transport`.
    pub fn new(topology: &'a Topology, routing: Routing, transport: &TransportConfig) -> Self {
        Ideal { topology, routing, framing: transport.framing() }
    }

    /// The longest path's round trip for one full packet and its ACK, and what fits into it at line rate.
    pub fn path_facts(&self) -> PathFacts {
        self.facts_on(&self.topology.longest_path(&self.routing))
    }

    /// The same for the path between two hosts, on which every switch takes the first port of its group.
    pub fn path_facts_of(&self, src: HostId, dst: HostId) -> PathFacts {
        self.facts_on(&self.topology.ideal_path(&self.routing, src, dst))
    }

    fn facts_on(&self, path: &[LinkId]) -> PathFacts {
        let packet = Bytes(self.framing.payload.0 + self.framing.header.0);
        let base_rtt = self.last_arrival(path, 1, packet.0) + self.ack_return(path);
        let rate = self.topology.ports[0].rate;
        PathFacts { base_rtt, bdp: Bytes(rate.bytes_in(base_rtt)), packet, line_rate: rate }
    }

    /// The bytes of a message that a full packet carries.
    pub fn payload(&self) -> u64 {
        self.framing.payload.0
    }

    /// The FCT at the sender, from posting to the ACK of the last packet, when nothing else is in the network
    /// and the window never closes. On links of different rates it can be a little too low: the ACK of a short
    /// last packet may then wait behind the one before it.
    pub fn fct(&self, src: HostId, dst: HostId, bytes: u64) -> Duration {
        let path = self.topology.ideal_path(&self.routing, src, dst);
        let packets = bytes.div_ceil(self.framing.payload.0).max(1);
        let last = bytes - (packets - 1) * self.framing.payload.0 + self.framing.header.0;
        self.last_arrival(&path, packets, last) + self.ack_return(&path)
    }

    /// When the last of `packets` packets is in, store and forward: all but it are full, it has `last` bytes.
    fn last_arrival(&self, path: &[LinkId], packets: u64, last: u64) -> Duration {
        let full = self.framing.payload.0 + self.framing.header.0;
        // When the last full packet and the last packet leave the current link; the slowest link so far paces
        // the full ones.
        let (mut full_out, mut last_out, mut slowest) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
        for &link in path {
            let port = &self.topology.ports[link.index()];
            let (full_time, last_time) = (port.rate.time_for(full), port.rate.time_for(last));
            if packets > 1 {
                // The first packet passes; the other full ones follow at the pace of the slowest link.
                let paced = Duration(full_time.0.saturating_sub(slowest.0) * (packets - 2));
                full_out = full_out + full_time + paced;
                slowest = slowest.max(full_time);
                last_out = last_out.max(full_out) + last_time;
            } else {
                last_out = last_out + last_time;
            }
            let onward = port.latency + self.topology.switch(port.peer).map_or(Duration::ZERO, |s| s.latency);
            full_out = full_out + onward;
            last_out = last_out + onward;
        }
        last_out
    }

    fn ack_return(&self, path: &[LinkId]) -> Duration {
        path.iter().fold(Duration::ZERO, |sum, &link| {
            let back = self.topology.reverse(link);
            let port = &self.topology.ports[back.index()];
            let switch = self.topology.switch(port.peer).map_or(Duration::ZERO, |s| s.latency);
            sum + port.rate.time_for(self.framing.ack.0) + port.latency + switch
        })
    }
}
