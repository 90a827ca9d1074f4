//! Counts of a fabric: switches and ports of each tier, cables, bisection.

use super::Topology;
use anabranch_base::{HostId, LinkId, NodeId, Rate};
use std::ops::RangeInclusive;

/// The numbers of switches, ports and cables of a fabric.
#[derive(Clone, Debug, PartialEq)]
pub struct FabricSummary {
    /// The smallest and the largest number of ports of a host.
    pub host_ports: RangeInclusive<u16>,
    /// The number of cables between hosts and ToRs.
    pub host_cables: u32,
    /// The tiers of switches, from the ToRs up.
    pub tiers: Vec<TierSummary>,
    /// The rate at which one half of the hosts can send to the other half; `None` if the tiers do not determine this
    /// rate.
    pub bisection: Option<Rate>,
}

/// A tier of switches.
#[derive(Clone, Debug, PartialEq)]
pub struct TierSummary {
    /// The name of the tier, such as `tor`.
    pub word: String,
    /// The number of switches.
    pub switches: u32,
    /// The smallest and the largest number of ports to hosts or to lower tiers.
    pub down: RangeInclusive<u16>,
    /// The smallest and the largest number of ports to higher tiers.
    pub up: RangeInclusive<u16>,
    /// The smallest and the largest number of ports to switches of the same tier.
    pub level: RangeInclusive<u16>,
    /// The rate of the links to higher tiers; `None` if there are none, or if their rates differ.
    pub up_rate: Option<Rate>,
    /// The number of cables to higher tiers.
    pub up_cables: u32,
    /// The number of cables within the tier.
    pub level_cables: u32,
    /// The total rate of all links down divided by the total rate of all links up; `None` without links up.
    pub oversubscription: Option<f64>,
}

/// The total rates of the links down and up of a tier, in bits per second.
#[derive(Clone, Copy, Default)]
struct Rates {
    down: u128,
    up: u128,
}

impl Topology {
    /// The numbers of switches, ports and cables of the fabric.
    pub fn summary(&self) -> FabricSummary {
        let ports = (0..self.hosts).map(|host| self.host_ports(HostId(host)));
        let (tiers, rates): (Vec<TierSummary>, Vec<Rates>) =
            (1..=self.top_tier()).map(|tier| self.tier_summary(tier)).unzip();
        FabricSummary {
            host_ports: range(ports),
            host_cables: self.port_base[self.hosts as usize],
            bisection: self.bisection(&tiers, &rates),
            tiers,
        }
    }

    fn tier_summary(&self, tier: u8) -> (TierSummary, Rates) {
        let (mut rates, mut up_rates) = (Rates::default(), std::collections::BTreeSet::new());
        // For each switch, the numbers of its ports down, to switches of the same tier, and up.
        let mut counts: [Vec<u16>; 3] = Default::default();
        for node in self.tier_range(tier).map(|i| NodeId(self.hosts + i as u32)) {
            let mut of_switch = [0; 3];
            for link in self.links_of(node) {
                let port = &self.ports[link as usize];
                let peer = self.switch(port.peer).map_or(0, |peer| peer.tier);
                of_switch[match peer.cmp(&tier) {
                    std::cmp::Ordering::Less => 0,
                    std::cmp::Ordering::Equal => 1,
                    std::cmp::Ordering::Greater => 2,
                }] += 1;
                if peer > tier {
                    up_rates.insert(port.rate.0);
                }
                if peer != tier {
                    let rate = if peer < tier { &mut rates.down } else { &mut rates.up };
                    *rate += u128::from(port.rate.0);
                }
            }
            counts.iter_mut().zip(of_switch).for_each(|(counts, count)| counts.push(count));
        }
        let [down, level, up] = counts;
        let all = |counts: &[u16]| counts.iter().map(|count| u32::from(*count)).sum::<u32>();
        let summary = TierSummary {
            word: self.tier_word(tier),
            switches: self.tier_range(tier).len() as u32,
            up_rate: up_rates.first().filter(|_| up_rates.len() == 1).map(|rate| Rate(*rate)),
            up_cables: all(&up),
            level_cables: all(&level) / 2,
            down: range(down.into_iter()),
            up: range(up.into_iter()),
            level: range(level.into_iter()),
            oversubscription: (rates.up > 0).then(|| rates.down as f64 / rates.up as f64),
        };
        (summary, rates)
    }

    /// The rate between two halves of the hosts. In a tree it is half of the rate that the narrowest tier carries
    /// upwards, where the hosts count as a tier. In a fabric of one tier whose switches are connected directly, it is
    /// the rate of the links from the first half of the switches to the other half. `None` for other fabrics with links
    /// within a tier.
    fn bisection(&self, tiers: &[TierSummary], rates: &[Rates]) -> Option<Rate> {
        let is_direct = tiers.len() == 1 && tiers[0].level_cables > 0;
        let rate = if is_direct {
            let half = self.hosts + self.switches.len() as u32 / 2;
            let across = (self.port_base[self.hosts as usize]..self.port_base[half as usize])
                .map(|link| &self.ports[link as usize])
                .filter(|port| port.peer.0 >= half);
            across.map(|port| u128::from(port.rate.0)).sum()
        } else if tiers.iter().all(|tier| tier.level_cables == 0) {
            let up = rates.iter().map(|rates| rates.up).filter(|up| *up > 0);
            rates.iter().take(1).map(|tors| tors.down).chain(up).min()? / 2
        } else {
            return None;
        };
        u64::try_from(rate).ok().map(Rate)
    }

    /// The network of each switch, numbered from 0. Two switches are in one network if a path over switches connects
    /// them.
    pub fn networks(&self) -> Vec<u32> {
        self.networks_over(|_| true)
    }

    /// The [`Topology::networks`] that remain if paths use only the links for which `is_up` is true.
    pub fn networks_over(&self, is_up: impl Fn(LinkId) -> bool) -> Vec<u32> {
        let mut network = vec![u32::MAX; self.switches.len()];
        let mut count = 0;
        for start in 0..self.switches.len() as u32 {
            if network[start as usize] != u32::MAX {
                continue;
            }
            let mut open = vec![start];
            network[start as usize] = count;
            while let Some(switch) = open.pop() {
                for link in self.links_of(NodeId(self.hosts + switch)) {
                    let peer = self.ports[link as usize].peer.0.checked_sub(self.hosts);
                    let is_new = |peer: &u32| network[*peer as usize] == u32::MAX && is_up(LinkId(link));
                    let Some(peer) = peer.filter(is_new) else { continue };
                    network[peer as usize] = count;
                    open.push(peer);
                }
            }
            count += 1;
        }
        network
    }
}

fn range(counts: impl Iterator<Item = u16>) -> RangeInclusive<u16> {
    let (least, most) =
        counts.fold((u16::MAX, 0), |(least, most), count| (least.min(count), most.max(count)));
    least.min(most)..=most
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ClosInput, ClosKind, TopologySpec, TorusSpec, build, clos_defaults};
    use anabranch_base::Duration;

    const LINK: Rate = Rate::from_gbps(400);
    const NS: Duration = Duration::from_ns(1);

    fn rails(change: impl Fn(&mut ClosInput)) -> FabricSummary {
        let mut input = ClosInput { radix: Some(64), ..ClosInput::new(128, LINK, NS, NS) };
        change(&mut input);
        build(&TopologySpec::Rails(clos_defaults(ClosKind::Rails, &input).unwrap()), None).unwrap().summary()
    }

    #[test]
    fn a_superpod_in_numbers() {
        let of = rails(|_| {});
        assert_eq!((of.host_ports, of.host_cables), (1..=1, 1024));
        let [tor, spine] = &of.tiers[..] else { panic!() };
        assert_eq!(
            (tor.word.as_str(), tor.switches, &tor.down, &tor.up),
            ("tor", 32, &(32..=32), &(32..=32))
        );
        assert_eq!((tor.up_cables, tor.oversubscription, tor.up_rate), (1024, Some(1.0), Some(LINK)));
        assert_eq!((spine.switches, &spine.down, &spine.up), (16, &(64..=64), &(0..=0)));
        assert_eq!(of.bisection, Some(Rate(512 * LINK.0)));
    }

    #[test]
    fn the_narrowest_tier_decides_the_bisection() {
        let of = rails(|input| (input.oversubscription, input.segment) = (Some(2.0), Some(32)));
        assert_eq!((of.tiers[0].oversubscription, of.bisection), (Some(2.0), Some(Rate(256 * LINK.0))));
        let of = rails(|input| (input.tiers, input.core_oversubscription) = (Some(3), Some(4.0)));
        assert_eq!((of.tiers[1].oversubscription, of.bisection), (Some(4.0), Some(Rate(128 * LINK.0))));
        let alone = rails(|input| (input.tiers, input.radix) = (Some(1), None));
        assert_eq!((alone.tiers[0].oversubscription, alone.bisection), (None, Some(Rate(512 * LINK.0))));
    }

    #[test]
    fn of_a_torus_the_links_between_its_halves_are_counted() {
        let spec = TorusSpec {
            dims: vec![4, 4],
            link: LINK,
            link_latency: NS,
            host_link: LINK,
            host_link_latency: NS,
            switch_latency: NS,
            radix: None,
        };
        let of = build(&TopologySpec::Torus(spec), None).unwrap().summary();
        assert_eq!((of.tiers[0].level_cables, &of.tiers[0].level), (32, &(4..=4)));
        assert_eq!(of.bisection, Some(Rate(8 * LINK.0)));
    }
}
