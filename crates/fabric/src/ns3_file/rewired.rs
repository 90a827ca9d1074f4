//! Hosts that have several links or are joined to each other, which fabrics here do not have: what to write instead.

use super::super::error::TopologyError;
use super::lines::{Dialect, File, Link};
use anabranch_base::Rate;

impl File<'_> {
    /// That no host has several links or a link to another host.
    ///
    /// # Errors
    /// At the first line of such a link, with what all of them take instead: a switch for each such host, which has its
    /// links, and a link between both of all their rates together.
    pub(super) fn check_hosts(&self, is_switch: &[bool], links: &[Link]) -> Result<(), TopologyError> {
        let mut of_host: Vec<(u32, Rate)> = vec![(0, Rate(0)); is_switch.len()];
        let mut apart = vec![false; is_switch.len()];
        let mut first = None;
        for link in links {
            let to_host = link.ends.iter().all(|end| !is_switch[*end as usize]);
            for end in link.ends.map(|end| end as usize).into_iter().filter(|end| !is_switch[*end]) {
                let (count, rate) = &mut of_host[end];
                *count += 1;
                *rate = Rate(rate.0.saturating_add(link.rate.0));
                apart[end] |= to_host || *count > 1;
                if apart[end] {
                    first.get_or_insert((link, end));
                }
            }
        }
        let Some((link, host)) = first else { return Ok(()) };
        let apart: Vec<u32> = (0..is_switch.len() as u32).filter(|node| apart[*node as usize]).collect();
        let problem = self.several_links(link, (host, of_host[host].0), &apart, is_switch);
        let instead = self.with_switches(&apart, links, of_host[apart[0] as usize].1);
        Err(match self.header.dialect {
            // Switches of their own would carry what passes within a server over NICs as well, and other servers' traffic.
            Dialect::SimAi => self.in_header(format!(
                "{problem}; write a fat tree by keys into the scenario, with [workload.server] for the NVLink of a trace"
            )),
            _ => self.at(link.line, format!("{problem}; write {instead}")),
        })
    }

    fn several_links(
        &self,
        link: &Link,
        (host, count): (usize, u32),
        apart: &[u32],
        is_switch: &[bool],
    ) -> String {
        let [a, b] = link.ends;
        let this = match [a, b].iter().all(|end| !is_switch[*end as usize]) {
            true => format!("host {a} is joined to host {b}"),
            false => format!("host {host} has {count} links"),
        };
        let hosts = is_switch.iter().filter(|is_switch| !**is_switch).count();
        let such = match apart.len() {
            1 => "it is the only such host".to_owned(),
            such => format!("{such} of the {hosts} hosts have several links or one to another host"),
        };
        let (whose, instead) = match self.header.dialect {
            Dialect::SimAi => ("this is a topology of SimAI, with NVSwitches or NICs of several ports: ", ""),
            _ => ("", "; give each of them a switch of its own"),
        };
        format!("{whose}{this}, but a host here has one link, to a switch ({such}){instead}")
    }

    /// The file in which each host of `apart` has a switch: its first lines, and what becomes of the links.
    fn with_switches(&self, apart: &[u32], links: &[Link], rate: Rate) -> String {
        let (nodes, more) = (self.header.nodes, apart.len() as u32);
        let header = self.header_of(
            (nodes + more) as usize,
            (self.header.switches + more) as usize,
            links.len() + apart.len(),
        );
        let line = self.header.line;
        let (first, last) = (apart[0], apart[apart.len() - 1]);
        let of_hosts = match last - first + 1 == more && more > 1 {
            true => format!("{nodes} to {} for hosts {first} to {last}", nodes + more - 1),
            false => {
                let each =
                    apart.iter().zip(nodes..).take(4).map(|(host, node)| format!("{node} for host {host}"));
                let each: Vec<String> = each.collect();
                let rest = if apart.len() > 4 { " and so on" } else { "" };
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
