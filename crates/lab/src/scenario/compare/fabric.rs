//! The switches and cables of a scenario's fabric by plane and tier, for readers of its results.

use crate::scenario::expand::resolved::Scenario;
use anabranch_base::{LinkId, NodeId};
use anabranch_engine::FaultSpec;
use anabranch_fabric::Topology;
use anabranch_results::{FabricFacts, PlaneFacts, TierFacts};
use std::collections::BTreeSet;

impl Scenario {
    /// The fabric at the first point of the sweep. It is empty if it cannot be built.
    pub(super) fn first_fabric(&self) -> FabricFacts {
        let steps = self.steps();
        let Some(first) = steps.first() else { return FabricFacts::default() };
        let text = first.topology.file().and_then(|file| self.files.get(file)).map(String::as_str);
        let seed = self.seeds.first().copied().unwrap_or(1);
        anabranch_fabric::build(first.topology, text)
            .map_or_else(|_| FabricFacts::default(), |built| fabric_facts(&built, first.faults, seed))
    }
}

fn fabric_facts(on: &Topology, faults: &[FaultSpec], seed: u64) -> FabricFacts {
    let (switches, cables) = faulty(on, faults, seed);
    let tiers =
        || (1..=on.top_tier()).map(|tier| TierFacts { word: on.tier_word(tier), ..TierFacts::default() });
    let mut planes = vec![PlaneFacts { tiers: tiers().collect() }; usize::from(on.plane_count())];
    let all = || (on.hosts..on.hosts + on.switches.len() as u32).map(NodeId);
    let place = |node: NodeId| on.switch(node).map(|switch| (on.plane_of(node).unwrap_or(0), switch.tier));
    // The number of each node among the hosts, or among the switches of its tier and plane.
    let mut numbers: Vec<u32> = (0..on.hosts).collect();
    for node in all() {
        let Some((plane, tier)) = place(node) else { continue };
        let facts = &mut planes[usize::from(plane)].tiers[usize::from(tier) - 1];
        numbers.push(facts.switches);
        facts.switches += 1;
    }
    let counts: Vec<Vec<u32>> = planes
        .iter()
        .map(|plane| [on.hosts].into_iter().chain(plane.tiers.iter().map(|tier| tier.switches)).collect())
        .collect();
    let group = |node: NodeId, plane: u16, tier: u8| {
        TierFacts::group(numbers[node.index()], counts[usize::from(plane)][usize::from(tier)])
    };
    for node in all() {
        let Some((plane, tier)) = place(node) else { continue };
        let own_group = group(node, plane, tier);
        let facts = &mut planes[usize::from(plane)].tiers[usize::from(tier) - 1];
        if switches.contains(&node) {
            facts.faulty_switches += 1;
            facts.faulty_groups.push(own_group);
        }
        for link in on.links_of(node).map(LinkId) {
            let port = &on.ports[link.index()];
            let peer = on.switch(port.peer).map_or(0, |peer| peer.tier);
            // A cable within a tier is counted at one of its ends.
            if peer > tier || (peer == tier && link > on.reverse(link)) {
                continue;
            }
            let is_faulty = cables.contains(&link.min(on.reverse(link)));
            if peer + 1 == tier {
                let pair = [own_group, group(port.peer, plane, peer)];
                facts.joined.push(pair);
                facts.faulty_joined.extend(is_faulty.then_some(pair));
            }
            let [all, faulty] = match peer == tier {
                true => [&mut facts.level_cables, &mut facts.faulty_level_cables],
                false => [&mut facts.cables, &mut facts.faulty_cables],
            };
            *all += 1;
            *faulty += u32::from(is_faulty);
            facts.bps = facts.bps.max(port.rate.0);
        }
        [&mut facts.joined, &mut facts.faulty_joined].into_iter().for_each(|pairs| {
            pairs.sort_unstable();
            pairs.dedup();
        });
        facts.faulty_groups.dedup();
    }
    FabricFacts { hosts: on.hosts, servers: on.servers.as_ref().map(|servers| servers.count()), planes }
}

/// The switches with a fault, and one direction of each cable that a link fault or a host fault affects.
fn faulty(on: &Topology, faults: &[FaultSpec], seed: u64) -> (BTreeSet<NodeId>, BTreeSet<LinkId>) {
    let (mut switches, mut cables) = (BTreeSet::new(), BTreeSet::new());
    for targets in (0..).zip(faults).filter_map(|(number, fault)| fault.targets(number, on, seed).ok()) {
        if targets.switches.is_empty() {
            cables.extend(targets.links.iter().map(|&link| link.min(on.reverse(link))));
        }
        switches.extend(targets.switches);
    }
    (switches, cables)
}

#[cfg(test)]
mod tests {
    use crate::scenario::expand::scenario::read;
    use crate::scenario::input::{NoFiles, Overrides};
    use anabranch_results::FabricFacts;

    fn fabric(topology: &str, fault: &str) -> FabricFacts {
        let text = format!(
            "schemes = [\"reps\"]\nseeds = [1]\n[topology]\n{topology}\nlink = \"400Gbps\"\n[workload]\nkind = \
             \"permutation\"\nbytes = \"1MB\"\n{fault}"
        );
        read("s.toml", &text, &NoFiles, &Overrides::default()).unwrap().first_fabric()
    }

    #[test]
    fn planes_and_tiers_have_their_switches_cables_and_faults() {
        let facts = fabric(
            "kind = \"rails\"\nservers = 4\nnics = 4\nsegment = 2\nports = 2",
            "[[fault]]\nkind = \"link-down\"\nlinks = \"plane:1/tor:0/up:0\"\n[[fault]]\nkind = \"switch-down\"\nswitches = \"plane:0/spine:1\"\n",
        );
        assert_eq!((facts.hosts, facts.servers, facts.planes.len()), (16, Some(4), 2));
        let [tor, spine] = &facts.planes[1].tiers[..] else { panic!() };
        assert_eq!((&*tor.word, tor.switches, tor.cables, tor.bps), ("tor", 8, 16, 400_000_000_000));
        assert_eq!((&*spine.word, spine.switches, spine.cables), ("spine", 2, 16));
        let faulty = |plane: usize| {
            facts.planes[plane].tiers.iter().map(|t| (t.faulty_switches, t.faulty_cables)).collect::<Vec<_>>()
        };
        assert_eq!((faulty(0), faulty(1)), (vec![(0, 0), (1, 0)], vec![(0, 0), (0, 1)]));
        assert_eq!(
            (&facts.planes[0].tiers[1].faulty_groups, &spine.faulty_joined),
            (&vec![1], &vec![[0, 0]])
        );
        let torus = fabric(
            "kind = \"torus\"\ndims = [4, 4]",
            "[[fault]]\nkind = \"link-down\"\nlinks = \"tor:0/up:0\"\n",
        );
        let tier = &torus.planes[0].tiers[0];
        assert_eq!((tier.faulty_cables, tier.faulty_level_cables), (0, 1));
        assert_eq!((torus.planes[0].tiers[0].level_cables, torus.servers), (32, None));
        // Each leaf of a rail has a cable to each of three servers, whose NICs are three hosts apart.
        let rails = fabric(
            "kind = \"rails\"\nservers = 3\nnics = 3",
            "[[fault]]\nkind = \"link-down\"\nlinks = \"server:1/nic:2\"\n",
        );
        let tor = &rails.planes[0].tiers[0];
        assert_eq!(tor.joined, [[0, 0], [0, 3], [0, 6], [1, 1], [1, 4], [1, 7], [2, 2], [2, 5], [2, 8]]);
        assert_eq!((&tor.faulty_joined, tor.switches), (&vec![[2, 5]], 3));
    }
}
