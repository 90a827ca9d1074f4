//! A builder of fabrics from switches, their hosts, and the links between switches.

use super::assemble::{Cable, MAX_LINKS, MAX_PORTS, MAX_ROUTES, assemble};
use super::error::TopologyError;
use super::{MOST_HOST_PORTS, Servers, Switch, Topology, planes};
use anabranch_base::{Duration, HostId, NodeId, Rate};

/// Collects switches, hosts and links, in the order of the calls.
///
/// Hosts are numbered in the order in which they are added. The switches of each tier are numbered in that order too.
/// In selectors and results of a fabric without planes, the first switch of tier 1 is `tor:0`. The second switch of
/// tier 2 is `spine:1` if tier 2 is the top tier, otherwise `agg:1`. Higher tiers are `core`, `tier4` and so on. A
/// switch has its ports to lower tiers first, then its other ports. Both groups are in the order of the nodes at the
/// other end. All shortest paths are routes.
#[derive(Clone, Debug, Default)]
pub struct TopologyBuilder {
    /// Tier and latency of each switch, in the order of the calls.
    switches: Vec<(u8, Duration)>,
    hosts: u32,
    ports: Vec<HostPort>,
    links: Vec<Link>,
    servers: Option<Servers>,
}

#[derive(Clone, Debug)]
struct HostPort {
    host: HostId,
    on: SwitchNumber,
    rate: Rate,
    latency: Duration,
}

/// A switch of a [`TopologyBuilder`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchNumber(u32);

#[derive(Clone, Debug)]
struct Link {
    ends: [SwitchNumber; 2],
    rate: Rate,
    latency: Duration,
}

impl TopologyBuilder {
    /// An empty builder.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a switch of a tier from 1 to 255. Only switches of tier 1 can have hosts. `latency` is the time between
    /// the arrival of a packet's last bit and its earliest departure.
    pub fn switch(&mut self, tier: u8, latency: Duration) -> SwitchNumber {
        self.switches.push((tier, latency));
        SwitchNumber(self.switches.len() as u32 - 1)
    }

    /// Adds a host and the cable that connects it to a switch of tier 1.
    pub fn host(&mut self, on: SwitchNumber, rate: Rate, latency: Duration) -> HostId {
        let host = HostId(self.hosts);
        self.hosts += 1;
        self.port(host, on, rate, latency);
        host
    }

    /// Adds a further port to a host, and the cable that connects it to a switch of tier 1. A fabric has planes if all
    /// ports with the same number lead to one network, and ports with different numbers lead to networks that are not
    /// connected.
    pub fn port(&mut self, host: HostId, on: SwitchNumber, rate: Rate, latency: Duration) {
        self.ports.push(HostPort { host, on, rate, latency });
    }

    /// Sets the servers. The hosts are their NICs.
    pub fn servers(&mut self, servers: Servers) {
        self.servers = Some(servers);
    }

    /// Adds a cable between two switches, which is a link in each direction. Parallel cables are allowed.
    pub fn link(&mut self, a: SwitchNumber, b: SwitchNumber, rate: Rate, latency: Duration) {
        self.links.push(Link { ends: [a, b], rate, latency });
    }

    /// Builds the fabric.
    ///
    /// # Errors
    /// Fewer than two hosts; a switch of tier 0; a host on a switch above tier 1; a host with more than
    /// [`MOST_HOST_PORTS`] ports; a port of a host that was not added; servers for another number of hosts; a link of
    /// rate 0, or from a switch to itself; more cables, ports or routes than can be simulated; or hosts that cannot
    /// reach each other.
    pub fn build(self) -> Result<Topology, TopologyError> {
        let invalid = |problem: String| Err(TopologyError::shape("kind", problem));
        let hosts = self.hosts;
        if hosts < 2 {
            return invalid(format!("the graph has {hosts} hosts, and there must be at least 2"));
        }
        self.check_size()?;
        let (switches, nodes) = self.ordered_switches()?;
        let cables = self.cables(&nodes)?;
        if cables.iter().any(|cable| cable.rate.0 == 0) {
            return invalid("a link with rate 0 carries nothing".to_owned());
        }
        let mut ports = vec![0u64; hosts as usize + switches.len()];
        for end in cables.iter().flat_map(|cable| cable.ends) {
            ports[end.index()] += 1;
        }
        let (of_hosts, of_switches) = ports.split_at(hosts as usize);
        if let Some((host, ports)) =
            (0..).zip(of_hosts).find(|(_, ports)| **ports > u64::from(MOST_HOST_PORTS))
        {
            return invalid(format!("host {host} has {ports} ports, and the most is {MOST_HOST_PORTS}"));
        }
        if let Some(most) = of_switches.iter().max().filter(|most| **most > MAX_PORTS) {
            return invalid(format!("a switch has {most} ports, and the most is {MAX_PORTS}"));
        }
        let mut topology = assemble(hosts, switches, &cables, Vec::new());
        topology.planes = planes::find(&topology);
        topology.servers = self.servers;
        match topology.unreachable_host() {
            None => Ok(topology),
            Some(host) => invalid(format!("host {host} cannot be reached from host 0")),
        }
    }

    fn check_size(&self) -> Result<(), TopologyError> {
        let invalid = |problem: String| Err(TopologyError::shape("kind", problem));
        let cables = self.ports.len() + self.links.len();
        if cables as u64 * 2 > MAX_LINKS {
            return invalid(format!("the graph has {cables} cables, and the most is {}", MAX_LINKS / 2));
        }
        let tors = self.switches.iter().filter(|(tier, _)| *tier == 1).count() as u64;
        if tors * self.switches.len() as u64 > MAX_ROUTES {
            let switches = self.switches.len();
            return invalid(format!(
                "{switches} switches, {tors} of them with hosts, take more routes than {MAX_ROUTES}"
            ));
        }
        if let Some(port) = self.ports.iter().find(|port| port.host.0 >= self.hosts) {
            return invalid(format!("a port is added to host {}, which does not exist", port.host));
        }
        match &self.servers {
            Some(servers) if servers.hosts() != self.hosts => {
                invalid(format!("the servers are of {} hosts, and there are {}", servers.hosts(), self.hosts))
            }
            _ => Ok(()),
        }
    }

    /// The switches, ordered by tier and within a tier by the calls, and the list of their nodes in the order of the
    /// calls.
    fn ordered_switches(&self) -> Result<(Vec<Switch>, Vec<NodeId>), TopologyError> {
        let mut order: Vec<usize> = (0..self.switches.len()).collect();
        order.sort_by_key(|number| self.switches[*number].0);
        let mut nodes = vec![NodeId(0); self.switches.len()];
        let mut switches: Vec<Switch> = Vec::with_capacity(order.len());
        for number in order {
            let (tier, latency) = self.switches[number];
            nodes[number] = NodeId(self.hosts + switches.len() as u32);
            let index = match switches.last() {
                Some(before) if before.tier == tier => before.index + 1,
                _ => 0,
            };
            switches.push(Switch { tier, index, latency, file_id: None });
        }
        match switches.first().filter(|switch| switch.tier == 0) {
            None => Ok((switches, nodes)),
            Some(Switch { index, .. }) => {
                let problem = format!("switch {index} is of tier 0, and the lowest is 1");
                Err(TopologyError::shape("kind", problem))
            }
        }
    }

    fn cables(&self, nodes: &[NodeId]) -> Result<Vec<Cable>, TopologyError> {
        let invalid = |problem: String| Err(TopologyError::shape("kind", problem));
        let mut cables = Vec::with_capacity(self.ports.len() + self.links.len());
        for HostPort { host, on, rate, latency } in &self.ports {
            let tier = self.switches[on.0 as usize].0;
            if tier != 1 {
                return invalid(format!(
                    "host {host} hangs on a switch of tier {tier}, and hosts hang on tier 1"
                ));
            }
            let ends = [(*host).into(), nodes[on.0 as usize]];
            cables.push(Cable { ends, rate: *rate, latency: *latency, loss: 0.0 });
        }
        for Link { ends, rate, latency } in &self.links {
            if ends[0] == ends[1] {
                return invalid(format!("a link leads from switch {} to itself", ends[0].0));
            }
            let ends = ends.map(|end| nodes[end.0 as usize]);
            cables.push(Cable { ends, rate: *rate, latency: *latency, loss: 0.0 });
        }
        Ok(cables)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_base::LinkId;

    const LINK: Rate = Rate::from_gbps(100);
    const NS: Duration = Duration::from_ns(1);

    /// Two ToRs with two hosts each, below a spine that was added before them.
    fn tree() -> (TopologyBuilder, [SwitchNumber; 3]) {
        let mut graph = TopologyBuilder::new();
        let spine = graph.switch(2, NS * 3);
        let tors = [graph.switch(1, NS), graph.switch(1, NS * 2)];
        for host in 0..4 {
            graph.host(tors[host % 2], LINK, NS);
        }
        for tor in tors {
            graph.link(tor, spine, LINK, NS * 7);
        }
        (graph, [spine, tors[0], tors[1]])
    }

    #[test]
    fn names_follow_tiers_and_the_order_of_the_calls() {
        let t = tree().0.build().unwrap();
        assert_eq!((t.hosts, t.nodes(), t.links(), t.tors()), (4, 7, 12, 2));
        let names: Vec<String> = (4..7).map(|node| t.node_name(NodeId(node))).collect();
        assert_eq!(names, ["tor:0", "tor:1", "spine:0"]);
        assert_eq!(t.switches.iter().map(|switch| switch.latency).collect::<Vec<_>>(), [NS, NS * 2, NS * 3]);
        assert_eq!((t.tor_of(HostId(1), 0), t.tor_of(HostId(2), 0)), (NodeId(5), NodeId(4)));
        let up = t.link(NodeId(4), 2);
        assert_eq!((t.link_name(up).as_str(), t.ports[up.index()].latency), ("tor:0/up:0", NS * 7));
        assert_eq!(t.source(LinkId(up.0)), NodeId(4));
    }

    #[test]
    fn what_is_no_fabric_is_refused() {
        let refused = |change: &dyn Fn(&mut TopologyBuilder, [SwitchNumber; 3])| {
            let (mut graph, switches) = tree();
            change(&mut graph, switches);
            graph.build().unwrap_err().to_string()
        };
        let error = refused(&|graph, [spine, ..]| {
            graph.host(spine, LINK, NS);
        });
        assert_eq!(error, "topology.kind: host 4 hangs on a switch of tier 2, and hosts hang on tier 1");
        let error = refused(&|graph, [spine, ..]| graph.link(spine, spine, LINK, NS));
        assert!(error.contains("to itself"), "{error}");
        let error = refused(&|graph, [spine, tor, _]| graph.link(spine, tor, Rate(0), NS));
        assert!(error.contains("rate 0"), "{error}");
        let error = refused(&|graph, _| {
            let apart = graph.switch(1, NS);
            graph.host(apart, LINK, NS);
        });
        assert!(error.contains("host 4 cannot be reached"), "{error}");
        let error = refused(&|graph, _| {
            graph.switch(0, NS);
        });
        assert!(error.contains("tier 0"), "{error}");
        assert!(TopologyBuilder::new().build().unwrap_err().to_string().contains("0 hosts"));
    }

    #[test]
    fn hosts_may_have_ports_in_planes_and_be_nics_of_servers() {
        let mut graph = TopologyBuilder::new();
        let tors = [graph.switch(1, NS), graph.switch(1, NS)];
        for _ in 0..4 {
            let host = graph.host(tors[0], LINK, NS);
            graph.port(host, tors[1], LINK, NS);
        }
        graph.servers(Servers::uniform(2, 2, 2, 1));
        let t = graph.clone().build().unwrap();
        assert_eq!((t.planes.as_slice(), t.host_ports(HostId(3))), (&[0, 1][..], 2));
        assert_eq!(t.link_name(t.link(NodeId(3), 1)), "server:1/nic:1/port:1");
        for _ in 0..15 {
            graph.port(HostId(1), tors[1], LINK, NS);
        }
        let error = graph.build().unwrap_err().to_string();
        assert!(error.contains("host 1 has 17 ports, and the most is 16"), "{error}");
    }
}
