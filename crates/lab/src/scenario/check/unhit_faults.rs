//! A warning about faults of links and switches that no packet of the workload crosses.

use super::losses::spread;
use crate::scenario::expand::resolved::Step;
use crate::scenario::read::source_map::Origin;
use crate::scenario::read::table::fault;
use anabranch_base::{Diagnostic, HostId, LinkId, NodeId};
use anabranch_engine::{FaultKind, FaultSpec, FaultTargets};
use anabranch_fabric::{ClosKind, Routing, SpineGroup, Topology, TopologySpec};
use anabranch_workload::collective::{Algorithm, CollectiveSpec, Members};
use anabranch_workload::{Workload, WorkloadSpec};
use std::collections::{BTreeMap, BTreeSet};

/// For each fault, the message and the hint if no packet crosses what it is about. `None` if packets do at some point
/// of the sweep, or may do so.
#[derive(Default)]
pub(in crate::scenario) struct UnhitFaults(BTreeMap<usize, Option<(String, String)>>);

impl UnhitFaults {
    /// Examines the faults of a point. `workload` is that of the first seed. `others` makes those of the other seeds, and
    /// is called only if the first one crosses nothing of a fault.
    pub(in crate::scenario) fn look(
        &mut self,
        step: &Step<'_>,
        faults: &[(&FaultSpec, FaultTargets)],
        workload: &Workload,
        (on, routing): (&Topology, &Routing),
        others: impl FnOnce() -> Vec<(u64, Workload)>,
    ) {
        let mut unhit: BTreeSet<usize> = match has_shortest_paths(step, faults) {
            true => (0..faults.len()).filter(|number| is_of_paths(&faults[*number].0.kind)).collect(),
            false => BTreeSet::new(),
        };
        let mut all_loads: Option<Vec<f64>> = None;
        let mut narrow = |unhit: &mut BTreeSet<usize>, workload: &Workload, seed: Option<u64>| {
            let Some(load) = crossed(workload, on, routing) else { return unhit.clear() };
            unhit.retain(|number| {
                let (spec, first) = &faults[*number];
                // Another seed may draw other links.
                let drawn = seed.and_then(|seed| spec.targets(*number, on, seed).ok());
                drawn.as_ref().unwrap_or(first).links.iter().all(|link| is_free(&load, *link, on))
            });
            let known = all_loads.get_or_insert_with(|| vec![0.0; load.len()]);
            known.iter_mut().zip(&load).for_each(|(known, load)| *known += load);
        };
        if !unhit.is_empty() {
            narrow(&mut unhit, workload, None);
        }
        if !unhit.is_empty() {
            others().iter().for_each(|(seed, workload)| narrow(&mut unhit, workload, Some(*seed)));
        }
        for (number, (spec, targets)) in faults.iter().enumerate() {
            let found = all_loads.as_deref().filter(|_| unhit.contains(&number)).map(|load| {
                let finding = Finding { step, spec, targets, workload, on, load };
                (finding.message(number), finding.help())
            });
            self.0
                .entry(number)
                .and_modify(|known| *known = known.take().and(found.clone()))
                .or_insert(found);
        }
    }

    pub(in crate::scenario) fn warnings(self, origin: &Origin) -> Vec<Diagnostic> {
        let found = self.0.into_iter().filter_map(|(number, found)| Some((number, found?)));
        let found = found.filter(|(number, _)| origin.has_fault(*number));
        found
            .map(|(number, (message, help))| {
                fault(&origin.file, origin.place(&format!("fault.{number}")), message, Some(help.into()))
            })
            .collect()
    }
}

/// Whether packets take the shortest paths of the fabric without faults, and no class adds other packets.
fn has_shortest_paths(step: &Step<'_>, faults: &[(&FaultSpec, FaultTargets)]) -> bool {
    let is_clos = step.topology.clos().is_some() || matches!(step.topology, TopologySpec::FatTree { .. });
    let moves = step.schemes.iter().any(|scheme| scheme.fabric.routing_delay.is_some());
    is_clos && (faults.len() == 1 || !moves) && step.classes.iter().all(|class| class.traffic.is_none())
}

/// Whether a fault is about packets on links, and has no probability.
fn is_of_paths(kind: &FaultKind) -> bool {
    use FaultKind::{LinkDown, LinkFlap, Rate, SwitchDown};
    matches!(kind, LinkDown { .. } | LinkFlap { .. } | Rate { .. } | SwitchDown { .. })
}

/// The load of each link by packets and by those that answer them. `None` if this takes too long to compute.
fn crossed(workload: &Workload, on: &Topology, routing: &Routing) -> Option<Vec<f64>> {
    let ends = workload.qps.iter().flat_map(|qp| [([qp.src, qp.dst], 1.0), ([qp.dst, qp.src], 1.0)]);
    spread(ends, on, routing)
}

fn is_free(load: &[f64], link: LinkId, on: &Topology) -> bool {
    load[link.index()] == 0.0 && load[on.reverse(link).index()] == 0.0
}

struct Finding<'a> {
    step: &'a Step<'a>,
    spec: &'a FaultSpec,
    targets: &'a FaultTargets,
    workload: &'a Workload,
    on: &'a Topology,
    /// The load of each link, over all seeds.
    load: &'a [f64],
}

impl Finding<'_> {
    fn tier(&self, node: NodeId) -> u8 {
        self.on.switch(node).map_or(0, |switch| switch.tier)
    }

    fn tiers(&self, link: LinkId) -> (u8, u8) {
        let ends = [self.on.source(link), self.on.ports[link.index()].peer].map(|node| self.tier(node));
        (ends[0].min(ends[1]), ends[0].max(ends[1]))
    }

    fn loaded(&self) -> impl Iterator<Item = LinkId> {
        (0..self.on.links()).map(LinkId).filter(|link| self.load[link.index()] > 0.0)
    }

    fn is_below_tors(&self) -> bool {
        self.loaded().all(|link| self.tiers(link).0 == 0)
    }

    fn message(&self, number: usize) -> String {
        let begin = format!("fault.{number} ({}) hits nothing:", self.spec.kind);
        match &self.on.summary().tiers[..] {
            [tor, above, ..] if self.is_below_tors() => {
                format!(
                    "{begin} every message stays below one {}, and no packet crosses a {}",
                    tor.word, above.word
                )
            }
            _ => format!("{begin} no packet of this workload gets there"),
        }
    }

    fn help(&self) -> String {
        let mut help: Vec<String> = self.other_part().into_iter().collect();
        if self.is_below_tors() {
            help.extend(self.smaller_segment());
            help.extend(self.without_pxn());
            help.extend(self.random_placement());
        }
        match help.is_empty() {
            true => "a workload whose packets get there, or no such fault".to_owned(),
            false => help.join("; or "),
        }
    }

    /// A switch or a link of the same tier that packets cross. For links, one of another tier is as good.
    fn other_part(&self) -> Option<String> {
        if let [first, ..] = self.targets.switches[..] {
            let tier = self.tier(first);
            let ends = self.loaded().map(|link| self.on.ports[link.index()].peer);
            let switch = ends.filter(|node| self.tier(*node) == tier).min()?;
            return Some(format!("switches = \"{}\", which packets cross", self.on.node_name(switch)));
        }
        let tiers = self.tiers(*self.targets.links.first()?);
        let link = self.loaded().find(|link| self.tiers(*link) == tiers).or_else(|| self.loaded().next())?;
        Some(format!("links = \"{}\", which packets cross", self.on.link_name(link)))
    }

    /// Segments of half of the servers among which messages are sent.
    fn smaller_segment(&self) -> Option<String> {
        let (_, clos) = self.step.topology.clos()?;
        let hosts = self.workload.qps.iter().flat_map(|qp| [qp.src, qp.dst]);
        let servers: BTreeSet<u32> = hosts.filter_map(|host: HostId| self.on.server_of(host)).collect();
        let half = (servers.len() as u32).div_ceil(2);
        let is_smaller = clos.tiers > 1 && half > 0 && half < clos.segment && servers.len() > 1;
        is_smaller.then(|| format!("segment = {half} below [topology], so that messages cross segments"))
    }

    fn without_pxn(&self) -> Option<String> {
        let (kind, clos) = self.step.topology.clos()?;
        let WorkloadSpec::Collective(job) = self.step.workload else { return None };
        let joins_rails = kind == ClosKind::Rails && clos.tiers > 1 && clos.spine_group() == SpineGroup::Pod;
        let relays = job.algorithm == Algorithm::Alltoall && job.server?.pxn == Some(true);
        (relays && joins_rails)
            .then(|| "pxn = false in [workload.server], so that messages change the rail".to_owned())
    }

    fn random_placement(&self) -> Option<String> {
        let TopologySpec::FatTree { .. } = self.step.topology else { return None };
        let WorkloadSpec::Collective(CollectiveSpec { members: Members::Placed { .. }, .. }) =
            self.step.workload
        else {
            return None;
        };
        Some("placement = \"random\" below [workload], so that ranks are below several ToRs".to_owned())
    }
}
