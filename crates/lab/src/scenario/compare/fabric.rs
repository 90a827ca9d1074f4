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
    for node in (on.hosts..on.hosts + on.switches.len() as u32).map(NodeId) {
        let Some(switch) = on.switch(node) else { continue };
        let plane = usize::from(on.plane_of(node).unwrap_or(0));
        let facts = &mut planes[plane].tiers[usize::from(switch.tier) - 1];
        facts.switches += 1;
        facts.faulty_switches += u32::from(switches.contains(&node));
        for link in on.links_of(node).map(LinkId) {
            let port = &on.ports[link.index()];
            let peer = on.switch(port.peer).map_or(0, |peer| peer.tier);
            // A cable within a tier is counted at one of its ends.
            let counts = peer < switch.tier || (peer == switch.tier && link < on.reverse(link));
            if !counts {
                continue;
            }
            let [all, faulty] = match peer == switch.tier {
                true => [&mut facts.level_cables, &mut facts.faulty_level_cables],
                false => [&mut facts.cables, &mut facts.faulty_cables],
            };
            *all += 1;
            *faulty += u32::from(cables.contains(&link.min(on.reverse(link))));
            facts.bps = facts.bps.max(port.rate.0);
        }
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
        let torus = fabric(
            "kind = \"torus\"\ndims = [4, 4]",
            "[[fault]]\nkind = \"link-down\"\nlinks = \"tor:0/up:0\"\n",
        );
        let tier = &torus.planes[0].tiers[0];
        assert_eq!((tier.faulty_cables, tier.faulty_level_cables), (0, 1));
        assert_eq!((torus.planes[0].tiers[0].level_cables, torus.servers), (32, None));
    }
}
