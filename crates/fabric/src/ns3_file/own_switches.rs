//! Hosts with several links: NICs with several ports, and hosts with a cable to another host.

use super::super::MOST_HOST_PORTS;
use super::super::error::TopologyError;
use super::lines::{File, Link};
use anabranch_base::{Duration, Rate};

impl File<'_> {
    /// Adds a switch for each host that has a cable to another host, because hosts do not forward packets. The switch
    /// takes over all links of the host, and its number follows the file's nodes. The link between host and switch has
    /// no latency, and its rate is the sum of the rates of the host's links.
    ///
    /// # Errors
    /// A host has a cable to itself. A host without a switch of its own has more links than a NIC can have ports. The
    /// file probably does not list all of its switches.
    pub(super) fn with_own_switches(
        &self,
        is_switch: &mut Vec<bool>,
        links: &mut Vec<Link>,
    ) -> Result<(), TopologyError> {
        self.check_hosts(is_switch, links)?;
        let mut own: Vec<Option<(u32, Rate, usize)>> = vec![None; is_switch.len()];
        for link in links.iter().filter(|link| joins_hosts(link, is_switch)) {
            for end in link.ends {
                own[end as usize] = Some((0, Rate(0), link.line));
            }
        }
        for (number, own) in (is_switch.len() as u32..).zip(own.iter_mut().flatten()) {
            own.0 = number;
        }
        for link in links.iter_mut() {
            for end in &mut link.ends {
                if let Some((switch, rate, _)) = own.get_mut(*end as usize).and_then(Option::as_mut) {
                    *rate = Rate(rate.0.saturating_add(link.rate.0));
                    *end = *switch;
                }
            }
        }
        for (host, (switch, rate, line)) in
            (0..).zip(own).filter_map(|(host, own)| Some((host, own?))).collect::<Vec<(u32, _)>>()
        {
            is_switch.push(true);
            links.push(Link { line, ends: [host, switch], rate, latency: Duration::ZERO, loss: 0.0 });
        }
        Ok(())
    }

    fn check_hosts(&self, is_switch: &[bool], links: &[Link]) -> Result<(), TopologyError> {
        let mut of_host = vec![0_u32; is_switch.len()];
        let mut direct = vec![false; is_switch.len()];
        let mut several = false;
        for link in links {
            let to_host = joins_hosts(link, is_switch);
            for end in link.ends.map(|end| end as usize).into_iter().filter(|end| !is_switch[*end]) {
                of_host[end] += 1;
                direct[end] |= to_host;
                several |= of_host[end] > 1;
            }
        }
        if !several && !direct.contains(&true) {
            return Ok(());
        }
        if let Some(error) = self.other_switches(is_switch, links) {
            return Err(error);
        }
        let to_itself = |link: &&Link| joins_hosts(link, is_switch) && link.ends[0] == link.ends[1];
        if let Some(link) = links.iter().find(to_itself) {
            return Err(self.at(link.line, format!("host {} is joined to itself", link.ends[0])));
        }
        let most = u32::from(MOST_HOST_PORTS);
        match (0..).zip(of_host).find(|(host, count)| *count > most && !direct[*host as usize]) {
            Some((host, count)) => Err(self.in_header(format!(
                "host {host} has {count} links, and a NIC has at most {most} ports; a node with more is a switch"
            ))),
            None => Ok(()),
        }
    }
}

fn joins_hosts(link: &Link, is_switch: &[bool]) -> bool {
    link.ends.iter().all(|end| !is_switch[*end as usize])
}
