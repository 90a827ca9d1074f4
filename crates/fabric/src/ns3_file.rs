//! ns-3 topology files (HPCC, ConWeave): any graph, one line per cable.

use super::assemble::{Cable, MAX_LINKS, MAX_PORTS, MAX_ROUTES, assemble};
use super::error::TopologyError;
use super::error_rate::ErrorRate;
use super::{Switch, Topology};
use anabranch_base::{Duration, NodeId, Rate};

/// Reads an ns-3 topology file: `nodes switches links`, then a line with the switches' numbers, then a line a
/// cable: `node node rate latency error-rate`, such as `0 128 100Gbps 1000ns 0`. What follows the last cable
/// is prose and is ignored.
///
/// Nodes are numbered from 0 in any order. Hosts become hosts 0, 1 ... in the order of their numbers, which
/// stay in [`Topology::host_file_ids`] and [`Switch::file_id`]. A switch with hosts is a ToR (tier 1),
/// another one is one tier above its lowest neighbour. The error rate becomes
/// [`Port::loss`](super::Port::loss) of both directions. `switch_latency` is the latency of every switch,
/// which the file does not say.
///
/// # Errors
/// With file and line: counts that do not match, a node that does not exist, a host that does not hang on
/// exactly one switch, a rate of 0, a graph that is not connected.
pub fn parse_ns3(file_name: &str, text: &str, switch_latency: Duration) -> Result<Topology, TopologyError> {
    let file = File { name: file_name };
    let mut lines = text
        .trim_start_matches('\u{feff}')
        .lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.split_whitespace().collect::<Vec<&str>>()))
        .filter(|(_, words)| !words.is_empty());

    let (header, nodes, switch_count, link_count) = match lines.next() {
        Some((line, words)) => {
            let [nodes, switches, links] = file.columns(line, &words, "nodes switches links")?;
            let number = |word, name| file.number(line, word, name);
            (
                line,
                number(nodes, "the number of nodes")?,
                number(switches, "the number of switches")?,
                number(links, "the number of links")?,
            )
        }
        None => return Err(file.at(1, "the file is empty; line 1 is \"nodes switches links\"".into())),
    };
    file.check_counts(header, nodes, switch_count, link_count)?;
    let is_switch = file.switches(header, lines.next(), nodes, switch_count)?;

    let mut links = Vec::new();
    for _ in 0..link_count {
        let Some((line, words)) = lines.next() else {
            let found = links.len();
            let problem = format!(
                "the file announces {link_count} links, but has {found}; write {found}, or add the others"
            );
            return Err(file.at(header, problem));
        };
        links.push(file.link(line, &words, &is_switch)?);
    }
    let graph = Graph { file, header, is_switch, links };
    let tiers = graph.tiers()?;
    let topology = graph.topology(&tiers, switch_latency);
    match topology.unreachable_host() {
        None => Ok(topology),
        Some(host) => {
            let ids = &topology.host_file_ids;
            let problem = format!(
                "the graph is not connected: host {} cannot reach host {}; join the parts by a link",
                ids[0],
                ids[host.index()]
            );
            Err(graph.file.at(graph.header, problem))
        }
    }
}

/// Errors about a file.
struct File<'a> {
    name: &'a str,
}

/// A line of the file: a cable between two nodes, by the file's numbers.
struct Link {
    line: usize,
    ends: [u32; 2],
    rate: Rate,
    latency: Duration,
    loss: f64,
}

impl File<'_> {
    fn check_counts(&self, line: usize, nodes: u32, switches: u32, links: u32) -> Result<(), TopologyError> {
        let hosts = nodes.saturating_sub(switches);
        let problem = if switches == 0 || switches > nodes {
            format!("{switches} switches among {nodes} nodes are not possible; write 1 to {nodes}")
        } else if hosts < 2 {
            format!("{nodes} nodes less {switches} switches leave {hosts} hosts; there must be at least 2")
        } else if links < hosts {
            format!(
                "{links} links are too few for {hosts} hosts (nodes less switches), each of which has one"
            )
        } else if u64::from(links) * 2 > MAX_LINKS {
            format!("{links} links are too many; the most that is simulated is {}", MAX_LINKS / 2)
        } else if u64::from(links) + 1 < u64::from(nodes) {
            format!("{links} links are too few to join {nodes} nodes; at least {} are needed", nodes - 1)
        } else {
            return Ok(());
        };
        Err(self.at(line, problem))
    }

    /// By node: whether it is a switch.
    fn switches(
        &self,
        header: usize,
        line: Option<(usize, Vec<&str>)>,
        nodes: u32,
        count: u32,
    ) -> Result<Vec<bool>, TopologyError> {
        let Some((line, words)) = line else {
            return Err(self.at(header, format!("the next line must give the {count} switches' numbers")));
        };
        if words.len() != count as usize {
            let problem = format!(
                "line {header} announces {count} switches, but this line gives {}; it must give every \
                 switch's number",
                words.len()
            );
            return Err(self.at(line, problem));
        }
        let mut is_switch = vec![false; nodes as usize];
        for word in words {
            let id = self.node(line, word, nodes)?;
            if std::mem::replace(&mut is_switch[id as usize], true) {
                return Err(self.at(line, format!("switch {id} is given twice")));
            }
        }
        Ok(is_switch)
    }

    fn link(&self, line: usize, words: &[&str], is_switch: &[bool]) -> Result<Link, TopologyError> {
        let nodes = is_switch.len() as u32;
        let [a, b, rate, latency, loss] = self.columns(line, words, "node node rate latency error-rate")?;
        let ends = [self.node(line, a, nodes)?, self.node(line, b, nodes)?];
        if let [false, false] = ends.map(|end| is_switch[end as usize]) {
            let [a, b] = ends;
            let problem = format!("host {a} is joined to host {b}; a host has exactly one link, to a switch");
            return Err(self.at(line, problem));
        }
        let rate: Rate = rate.parse().map_err(|e| self.at(line, format!("{e}")))?;
        if rate.0 == 0 {
            return Err(self.at(line, "a link with rate 0 carries nothing; write one such as 100Gbps".into()));
        }
        let latency: Duration = latency.parse().map_err(|e| self.at(line, format!("{e}")))?;
        let loss = loss.parse().ok().filter(|p| (0.0..=1.0).contains(p)).ok_or_else(|| {
            self.at(line, format!("the error rate {loss:?} is no probability; write a number from 0 to 1"))
        })?;
        Ok(Link { line, ends, rate, latency, loss })
    }

    fn node(&self, line: usize, word: &str, nodes: u32) -> Result<u32, TopologyError> {
        let id = self.number(line, word, "a node's number")?;
        if id < nodes {
            return Ok(id);
        }
        Err(self.at(line, format!("there is no node {id}; the nodes are 0 to {}", nodes - 1)))
    }

    fn number(&self, line: usize, word: &str, what: &str) -> Result<u32, TopologyError> {
        word.parse().map_err(|_| self.at(line, format!("{word:?} is not {what}, a whole number from 0")))
    }

    fn columns<'w, const N: usize>(
        &self,
        line: usize,
        words: &[&'w str],
        names: &str,
    ) -> Result<[&'w str; N], TopologyError> {
        words.try_into().map_err(|_| {
            self.at(line, format!("this line has {} columns; it must have {N}: {names}", words.len()))
        })
    }

    fn at(&self, line: usize, problem: String) -> TopologyError {
        TopologyError::file(self.name, line, problem)
    }
}

/// The file's content, by the file's numbers.
struct Graph<'a> {
    file: File<'a>,
    header: usize,
    is_switch: Vec<bool>,
    links: Vec<Link>,
}

impl Graph<'_> {
    /// By node: 0 for a host, 1 for a ToR, and so on. Checks that each host has one cable, and that each
    /// switch has a path to a host and not too many ports.
    fn tiers(&self) -> Result<Vec<u8>, TopologyError> {
        let mut neighbours = vec![Vec::new(); self.is_switch.len()];
        for link in &self.links {
            let [a, b] = link.ends;
            neighbours[a as usize].push((b, link.line));
            neighbours[b as usize].push((a, link.line));
        }
        self.check_degrees(&neighbours)?;
        let mut tier: Vec<Option<u8>> = vec![None; self.is_switch.len()];
        let mut open = Vec::new();
        for (id, joined) in neighbours.iter().enumerate().filter(|(id, _)| !self.is_switch[*id]) {
            tier[id] = Some(0);
            let tor = joined[0].0;
            if tier[tor as usize].replace(1).is_none() {
                open.push(tor);
            }
        }
        while !open.is_empty() {
            let mut above = Vec::new();
            for &id in &open {
                let next = tier[id as usize].and_then(|t| t.checked_add(1));
                for &(peer, _) in neighbours[id as usize].iter().filter(|(p, _)| self.is_switch[*p as usize])
                {
                    if tier[peer as usize].is_some() {
                        continue;
                    }
                    if next.is_none() {
                        let problem =
                            format!("switch {peer} is more than 254 links away from any switch with hosts");
                        return Err(self.file.at(self.header, problem));
                    }
                    tier[peer as usize] = next;
                    above.push(peer);
                }
            }
            open = above;
        }
        let lost = |id: usize| {
            self.file
                .at(self.header, format!("switch {id} has no path to any host; add a link, or remove it"))
        };
        let tier = tier
            .iter()
            .enumerate()
            .map(|(id, t)| t.ok_or_else(|| lost(id)))
            .collect::<Result<Vec<u8>, _>>()?;
        self.check_routes(&tier)?;
        Ok(tier)
    }

    fn check_degrees(&self, neighbours: &[Vec<(u32, usize)>]) -> Result<(), TopologyError> {
        let of =
            |switch: bool| neighbours.iter().enumerate().filter(move |(id, _)| self.is_switch[*id] == switch);
        if let Some((id, joined)) = of(true).find(|(_, joined)| joined.len() as u64 > MAX_PORTS) {
            let problem = format!("switch {id} has {} links; the most is {MAX_PORTS}", joined.len());
            return Err(self.file.at(self.header, problem));
        }
        if let Some((id, joined)) = of(false).find(|(_, joined)| joined.len() > 1) {
            let problem = format!(
                "host {id} has a second link (the first is in line {}); a host has exactly one link, to a switch",
                joined[0].1
            );
            return Err(self.file.at(joined[1].1, problem));
        }
        if let Some((id, _)) = of(false).find(|(_, joined)| joined.is_empty()) {
            let problem = format!("host {id} has no link; a host has exactly one link, to a switch");
            return Err(self.file.at(self.header, problem));
        }
        Ok(())
    }

    fn check_routes(&self, tier: &[u8]) -> Result<(), TopologyError> {
        let count = |wanted: &dyn Fn(u8) -> bool| tier.iter().filter(|t| wanted(**t)).count() as u64;
        let (tors, switches) = (count(&|t| t == 1), count(&|t| t > 0));
        if tors * switches <= MAX_ROUTES {
            return Ok(());
        }
        let problem = format!(
            "{switches} switches times {tors} switches with hosts are too many routes; the most that is \
             simulated is {MAX_ROUTES}"
        );
        Err(self.file.at(self.header, problem))
    }

    fn topology(&self, tier: &[u8], latency: Duration) -> Topology {
        // Hosts first, then the switches by tier; by the file's number within.
        let mut order: Vec<u32> = (0..tier.len() as u32).collect();
        order.sort_by_key(|&id| tier[id as usize]);
        let mut node_of = vec![NodeId(0); tier.len()];
        for (node, &id) in order.iter().enumerate() {
            node_of[id as usize] = NodeId(node as u32);
        }
        let hosts = order.partition_point(|&id| tier[id as usize] == 0);
        let mut switches: Vec<Switch> = Vec::new();
        for &id in &order[hosts..] {
            let tier = tier[id as usize];
            let index = switches.last().filter(|s| s.tier == tier).map_or(0, |s| s.index + 1);
            switches.push(Switch { tier, index, latency, file_id: Some(id) });
        }
        let cables: Vec<Cable> = self
            .links
            .iter()
            .map(|link| Cable {
                ends: link.ends.map(|id| node_of[id as usize]),
                rate: link.rate,
                latency: link.latency,
                loss: link.loss,
            })
            .collect();
        let error_rates = ErrorRate::all(self.links.iter().map(|link| (link.loss, link.line)));
        Topology { error_rates, ..assemble(hosts as u32, switches, &cables, order[..hosts].to_vec()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_base::HostId;
    use proptest::prelude::*;

    /// Two ToRs (0 and 6) and a spine (3) with a self-link; hosts 1, 2, 4 and 5; two cables from 6 to 3.
    const GOOD: &str = "7 3 8\n0 6 3\n1 0 100Gbps 1000ns 0\n2 0 100Gbps 0.001ms 0.25\n\n5 6 25Gbps 2us 0\n\
        4 6 100Gbps 1000ns 0\n3 0 400Gbps 1us 0\n6 3 400Gbps 1us 0\n6 3 200Gbps 1us 0\n3 3 1600Gbps 100ns 0\n\
        First line: node count, switch count, link count\nsrc dst rate delay error\n";

    fn read(text: &str) -> Result<Topology, String> {
        parse_ns3("g.txt", text, Duration::from_ns(500)).map_err(|e| e.to_string())
    }

    #[test]
    fn nodes_are_renumbered_and_keep_their_numbers() {
        let t = read(GOOD).unwrap();
        assert_eq!((t.hosts, t.nodes(), t.links()), (4, 7, 16));
        assert_eq!(t.host_file_ids, [1, 2, 4, 5]);
        let switches: Vec<_> = t.switches.iter().map(|s| (s.tier, s.index, s.file_id)).collect();
        assert_eq!(switches, [(1, 0, Some(0)), (1, 1, Some(6)), (2, 0, Some(3))]);
        assert_eq!((t.host_by_file_id(4), t.host_by_file_id(3)), (Some(HostId(2)), None));
        assert_eq!(t.switches[0].latency, Duration::from_ns(500));
        let peers = |n| t.links_of(NodeId(n)).map(|l| t.ports[l as usize].peer.0).collect::<Vec<_>>();
        assert_eq!((peers(4), peers(5), peers(6)), (vec![0, 1, 6], vec![2, 3, 6, 6], vec![4, 5, 5, 6, 6]));
        assert_eq!((t.down_ports(NodeId(5)), t.down_ports(NodeId(6))), (2, 3));
        let lossy = t.ports[t.link(NodeId(4), 1).index()];
        assert_eq!((lossy.loss, lossy.latency), (0.25, Duration::from_us(1)));
        assert_eq!(t.ports[1].loss, 0.25);
        assert_eq!(t.error_rates, ErrorRate::all([(0.25, 4)].into_iter()));
        let own = t.link(NodeId(6), 3);
        assert_eq!(t.reverse(own), t.link(NodeId(6), 4));
        assert_eq!(t.reverse(t.link(NodeId(5), 3)), t.link(NodeId(6), 2));
    }

    #[test]
    fn tiers_follow_the_distance_to_the_nearest_tor() {
        let t = read(
            "6 4 5\n2 3 4 5\n0 2 1Gbps 1ns 0\n1 5 1Gbps 1ns 0\n\
             2 3 1Gbps 1ns 0\n3 4 1Gbps 1ns 0\n4 5 1Gbps 1ns 0\n",
        );
        let tiers: Vec<u8> = t.unwrap().switches.iter().map(|s| s.tier).collect();
        assert_eq!(tiers, [1, 1, 2, 2]);
        let chain = |switches: u32| {
            let ids: Vec<String> = (2..switches + 2).map(|s| s.to_string()).collect();
            let mut text = format!(
                "{} {switches} {}\n{}\n0 2 1Gbps 1ns 0\n1 2 1Gbps 1ns 0\n",
                switches + 2,
                switches + 1,
                ids.join(" ")
            );
            for s in 2..switches + 1 {
                text += &format!("{s} {} 1Gbps 1ns 0\n", s + 1);
            }
            read(&text)
        };
        assert_eq!(chain(255).unwrap().top_tier(), 255);
        assert!(chain(256).unwrap_err().contains("switch 257 is more than 254 links away"));
    }

    #[test]
    fn errors_say_the_line_and_what_was_expected() {
        let cases = [
            ("7 3 8", "7 3", "g.txt:1: this line has 2 columns; it must have 3: nodes switches links"),
            ("7 3 8", "7 x 8", "g.txt:1: \"x\" is not the number of switches"),
            ("7 3 8", "7 0 8", "g.txt:1: 0 switches among 7 nodes"),
            ("7 3 8", "7 6 8", "g.txt:1: 7 nodes less 6 switches leave 1 hosts"),
            ("7 3 8", "20 3 8", "g.txt:1: 8 links are too few for 17 hosts"),
            ("7 3 8", "10 3 8", "g.txt:1: 8 links are too few to join 10 nodes; at least 9"),
            ("7 3 8", "7 3 4294967295", "g.txt:1: 4294967295 links are too many"),
            ("7 3 8", "7 3 9", "g.txt:12: this line has 8 columns; it must have 5"),
            ("0 6 3\n", "0 6\n", "g.txt:2: line 1 announces 3 switches, but this line gives 2"),
            ("0 6 3\n", "0 6 6\n", "g.txt:2: switch 6 is given twice"),
            ("0 6 3\n", "0 6 7\n", "g.txt:2: there is no node 7; the nodes are 0 to 6"),
            ("1 0 100", "1 9 100", "g.txt:3: there is no node 9"),
            (
                "1 0 100",
                "1 2 100",
                "g.txt:3: host 1 is joined to host 2; a host has exactly one link, to a switch",
            ),
            ("1 0 100", "2 0 100", "g.txt:4: host 2 has a second link (the first is in line 3)"),
            ("1 0 100", "6 0 100", "g.txt:1: host 1 has no link"),
            ("25Gbps", "0Gbps", "g.txt:6: a link with rate 0"),
            ("25Gbps", "25", "g.txt:6: \"25\" is not a rate"),
            ("2us", "2", "g.txt:6: \"2\" is not a time"),
            ("0.25", "1.5", "g.txt:4: the error rate \"1.5\" is no probability"),
            ("0.25", "NaN", "g.txt:4: the error rate \"NaN\""),
            ("3 0 400", "6 6 400", "g.txt:1: the graph is not connected: host 1 cannot reach host 4"),
        ];
        for (from, to, expected) in cases {
            let text = GOOD.replacen(from, to, 1);
            assert_ne!(text, GOOD, "{from}");
            let got = read(&text).unwrap_err();
            assert!(got.starts_with(expected), "{to:?}: {got}");
        }
        assert!(read("\n").unwrap_err().starts_with("g.txt:1: the file is empty"));
        assert!(read("7 3 8\n").unwrap_err().contains("the 3 switches' numbers"));
        let cut = &GOOD[..GOOD.find("3 3 1600").unwrap()];
        assert!(read(cut).unwrap_err().contains("announces 8 links, but has 7; write 7"));
        let lost = "4 2 3\n2 3\n0 2 1Gbps 1ns 0\n1 2 1Gbps 1ns 0\n3 3 1Gbps 1ns 0\n";
        assert!(read(lost).unwrap_err().contains("switch 3 has no path to any host"));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC*") {
            let _ = read(&text);
        }

        #[test]
        fn no_numbers_make_it_panic(
            header in prop::array::uniform3(0u32..12),
            switches in prop::collection::vec(0u32..12, 0..6),
            links in prop::collection::vec((0u32..10, 0u32..10, 0u32..3), 0..12),
        ) {
            let switches: Vec<String> = switches.iter().map(u32::to_string).collect();
            let [n, _, _] = header;
            let mut text = format!("{n} {} {}\n{}\n", switches.len(), links.len(), switches.join(" "));
            for (a, b, rate) in links {
                text += &format!("{a} {b} {rate}Gbps 1ns 0\n");
            }
            if let Ok(t) = read(&text) {
                prop_assert!(t.is_connected());
            }
        }
    }
}
