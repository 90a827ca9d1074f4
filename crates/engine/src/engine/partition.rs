//! The division of nodes into clusters, whose nodes affect each other without delay, and the spread of nodes over
//! threads.

use crate::network::Network;
use crate::observer::Observer;
use anabranch_base::{GateId, HostId, LinkId, NodeId};
use anabranch_fabric::Topology;
use anabranch_workload::Done;

pub struct ThreadNodes {
    /// The nodes, sorted by number.
    pub nodes: Vec<NodeId>,
}

impl ThreadNodes {
    pub fn contains(&self, node: &NodeId) -> bool {
        self.nodes.binary_search(node).is_ok()
    }
}

/// Disjoint sets of nodes (union-find).
struct Sets(Vec<u32>);

impl Sets {
    fn find(&mut self, node: u32) -> u32 {
        let mut root = node;
        while self.0[root as usize] != root {
            root = self.0[root as usize];
        }
        let mut at = node;
        while self.0[at as usize] != root {
            at = std::mem::replace(&mut self.0[at as usize], root);
        }
        root
    }

    fn join(&mut self, a: NodeId, b: NodeId) {
        let (a, b) = (self.find(a.0), self.find(b.0));
        // The lowest number represents the set.
        self.0[a.max(b) as usize] = a.min(b);
    }
}

/// The clusters of more than one node, each sorted by number. All hosts at which a gate is opened, and all hosts whose
/// messages or steps wait for that gate, are in one cluster. Two switches are in one cluster if the observer counts the
/// victims of pauses on a link between them. If messages are `injected` while the run goes on, all hosts form one
/// cluster.
pub fn clusters<O: Observer>(network: &Network<'_>, observer: &O, injected: bool) -> Vec<Vec<NodeId>> {
    let nodes = network.topology.nodes();
    let mut sets = Sets((0..nodes).collect());
    if injected {
        (1..network.topology.hosts).for_each(|host| sets.join(NodeId(0), NodeId(host)));
    }
    let workload = network.workload;
    // For each gate, the first host that activates it or whose work it starts.
    let mut gate_at: Vec<Option<HostId>> = vec![None; workload.gates.len()];
    let mut attach = |gate: GateId, host: HostId, sets: &mut Sets| match gate_at[gate.index()] {
        Some(other) if other != host => sets.join(other.into(), host.into()),
        Some(_) => {}
        None => gate_at[gate.index()] = Some(host),
    };
    for message in &workload.messages {
        let ends = workload.qps[message.qp.index()];
        let from = message.activations_from as usize;
        for activation in &workload.activations[from..from + message.activations_len as usize] {
            let host = if activation.on == Done::Delivered { ends.dst } else { ends.src };
            attach(activation.gate, host, &mut sets);
        }
    }
    for step in &workload.steps {
        attach(step.gate, step.host, &mut sets);
        workload.gates_of(step).iter().for_each(|gate| attach(*gate, step.host, &mut sets));
    }
    for (number, gate) in workload.gates.iter().enumerate() {
        let from = gate.starts_from as usize;
        for start in &workload.gate_starts[from..from + gate.starts_len as usize] {
            let host = workload.qps[workload.messages[start.index()].qp.index()].src;
            attach(GateId(number as u32), host, &mut sets);
        }
    }
    for link in (0..network.topology.ports.len() as u32).map(LinkId) {
        let (source, peer) = (network.topology.source(link), network.topology.ports[link.index()].peer);
        if observer.wants_victims(link) && !network.is_host(source) && !network.is_host(peer) {
            sets.join(source, peer);
        }
    }
    let mut members: Vec<Vec<NodeId>> = vec![Vec::new(); nodes as usize];
    for node in 0..nodes {
        members[sets.find(node) as usize].push(NodeId(node));
    }
    members.retain(|members| members.len() > 1);
    members
}

/// Spreads the nodes over at most `threads` threads, each with about the same number of ports. The nodes of a cluster
/// stay together. A host also stays together with the ToR of its first port, unless there are fewer ToRs than
/// threads.
pub fn parts(topology: &Topology, clusters: &[Vec<NodeId>], threads: usize) -> Vec<ThreadNodes> {
    let nodes = topology.nodes();
    let mut sets = Sets((0..nodes).collect());
    if topology.tors() as usize >= threads {
        for host in (0..topology.hosts).map(HostId) {
            sets.join(host.into(), topology.tor_of(host, 0));
        }
    }
    for cluster in clusters {
        cluster.windows(2).for_each(|pair| sets.join(pair[0], pair[1]));
    }
    let mut groups: Vec<(u32, Vec<NodeId>)> = vec![(0, Vec::new()); nodes as usize];
    for node in 0..nodes {
        let group = &mut groups[sets.find(node) as usize];
        group.0 += topology.links_of(NodeId(node)).len() as u32;
        group.1.push(NodeId(node));
    }
    groups.retain(|(_, members)| !members.is_empty());
    // The largest group is assigned first, and each group goes to the thread with the fewest ports. Groups of equal
    // size are assigned in the order of their nodes.
    groups.sort_by_key(|(ports, members)| (std::cmp::Reverse(*ports), members[0]));
    let mut parts: Vec<(u32, Vec<NodeId>)> = vec![(0, Vec::new()); threads.min(groups.len()).max(1)];
    for (ports, members) in groups {
        if let Some(least) = parts.iter_mut().min_by_key(|(ports, _)| *ports) {
            least.0 += ports;
            least.1.extend(members);
        }
    }
    let sorted = |(_, mut nodes): (u32, Vec<NodeId>)| {
        nodes.sort_unstable();
        ThreadNodes { nodes }
    };
    parts.into_iter().filter(|(_, nodes)| !nodes.is_empty()).map(sorted).collect()
}
