//! Hosts with several links or with a link to another host, which fabrics cannot have, and the file that replaces them.

use super::super::error::TopologyError;
use super::lines::{Dialect, File, Link};
use anabranch_base::{Problem, Rate};

impl File<'_> {
    /// Checks that no host has several links or a link to another host.
    ///
    /// # Errors
    /// The first line of such a link, with a replacement for all of them: a switch for each such host, which takes over the
    /// host's links, and one link between host and switch with the sum of their rates.
    pub(super) fn check_hosts(&self, is_switch: &[bool], links: &[Link]) -> Result<(), TopologyError> {
        let mut of_host: Vec<(u32, Rate)> = vec![(0, Rate(0)); is_switch.len()];
        let mut multihomed = vec![false; is_switch.len()];
        let mut first = None;
        for link in links {
            let to_host = link.ends.iter().all(|end| !is_switch[*end as usize]);
            for end in link.ends.map(|end| end as usize).into_iter().filter(|end| !is_switch[*end]) {
                let (count, rate) = &mut of_host[end];
                *count += 1;
                *rate = Rate(rate.0.saturating_add(link.rate.0));
                multihomed[end] |= to_host || *count > 1;
                if multihomed[end] {
                    first.get_or_insert((link, end));
                }
            }
        }
        let Some((link, host)) = first else { return Ok(()) };
        if let Some(error) = self.other_switches(is_switch, links) {
            return Err(error);
        }
        let multihomed: Vec<u32> =
            (0..is_switch.len() as u32).filter(|node| multihomed[*node as usize]).collect();
        let problem = self.several_links(link, (host, of_host[host].0), &multihomed, is_switch);
        let instead = self.with_switches(&multihomed, links, of_host[multihomed[0] as usize].1);
        Err(match self.header.dialect {
            // With a switch per host, NVLink traffic would pass over NICs as well, and other servers' traffic over NVLink.
            Dialect::SimAi => self.in_header(Problem::with_text(
                problem,
                "a fat tree by keys into the scenario, with [workload.server] for the NVLink of a trace",
            )),
            _ => self.at(link.line, Problem::with_text(problem, instead)),
        })
    }

    fn several_links(
        &self,
        link: &Link,
        (host, count): (usize, u32),
        multihomed: &[u32],
        is_switch: &[bool],
    ) -> String {
        let [a, b] = link.ends;
        let this = match [a, b].iter().all(|end| !is_switch[*end as usize]) {
            true => format!("host {a} is joined to host {b}"),
            false => format!("host {host} has {count} links"),
        };
        let hosts = is_switch.iter().filter(|is_switch| !**is_switch).count();
        let such = match multihomed.len() {
            1 => "it is the only such host".to_owned(),
            such => format!("{such} of the {hosts} hosts have several links or one to another host"),
        };
        let (whose, instead) = match self.header.dialect {
            Dialect::SimAi => ("this is a topology of SimAI, with NVSwitches or NICs of several ports: ", ""),
            _ => ("", "; give each of them a switch of its own"),
        };
        format!("{whose}{this}, but a host here has one link, to a switch ({such}){instead}")
    }

    /// Instructions for a file in which each host of `multihomed` has a switch of its own: the first lines, and the changed links.
    fn with_switches(&self, multihomed: &[u32], links: &[Link], rate: Rate) -> String {
        let (nodes, more) = (self.header.nodes, multihomed.len() as u32);
        let header = self.header_of(
            (nodes + more) as usize,
            (self.header.switches + more) as usize,
            links.len() + multihomed.len(),
        );
        let line = self.header.line;
        let (first, last) = (multihomed[0], multihomed[multihomed.len() - 1]);
        let of_hosts = match last - first + 1 == more && more > 1 {
            true => format!("{nodes} to {} for hosts {first} to {last}", nodes + more - 1),
            false => {
                let each = multihomed
                    .iter()
                    .zip(nodes..)
                    .take(4)
                    .map(|(host, node)| format!("{node} for host {host}"));
                let each: Vec<String> = each.collect();
                let rest = if multihomed.len() > 4 { " and so on" } else { "" };
                format!("{}{rest}", each.join(", "))
            }
        };
        let latency = match self.header.switches {
            0 => ", and switch_latency = \"0ns\" in [topology]",
            _ => "",
        };
        format!(
            "`{header}` as line {line}, `{}` below it, in the links {of_hosts}, and a further link from each such host to its \
             switch, with the rates of its links together, such as `{first} {nodes} {rate} 0ns 0`{latency}",
            self.switches_and(nodes..nodes + more)
        )
    }
}
