//! The times at which a fault begins, and the switches and links that it affects from then on.

use crate::fault_spec::{FaultSpec, FaultTargets};
use anabranch_base::{Duration, LinkId, Purpose, Time, stream};
use anabranch_fabric::Topology;
use std::collections::BTreeMap;

/// An hour in picoseconds.
const HOUR: f64 = 3_600e12;

/// The times at which a fault begins. Without a failure rate, they are the fault's times in the scenario. With a
/// failure rate, each cable or switch fails by itself before `max_time`, after exponentially distributed times. The
/// first such time counts from the start of the fault, and each later one from the end of the previous failure.
/// Without a duration, each cable or switch fails at most once.
pub(super) fn begins(
    spec: &FaultSpec,
    fault: u16,
    targets: FaultTargets,
    topology: &Topology,
    (seed, max_time): (u64, Duration),
) -> Vec<(Time, FaultTargets)> {
    let Some(per_hour) = spec.per_hour else {
        return spec.at.0.iter().map(|at| (Time::ZERO + *at, targets.clone())).collect();
    };
    let first = spec.at.0.first().copied().unwrap_or_default();
    let end = Time::ZERO + max_time;
    let mut begins = Vec::new();
    for (part, taken) in parts(&targets, topology) {
        let mut random = stream(seed, u64::from(fault) << 32 | u64::from(part), Purpose::FaultTimes);
        let mut from = Time::ZERO + first;
        loop {
            let wait = -libm::log(1.0 - random.unit()) * HOUR / per_hour;
            if from >= end || wait >= end.since(from).0 as f64 {
                break;
            }
            from += Duration(wait as u64);
            begins.push((from, taken.clone()));
            let Some(duration) = spec.duration else { break };
            from += duration;
        }
    }
    begins
}

/// The cables or switches that fail independently, each with its own number. A switch fails with all its links, and a
/// cable with its selected directions.
fn parts(targets: &FaultTargets, topology: &Topology) -> BTreeMap<u32, FaultTargets> {
    if !targets.switches.is_empty() {
        let of_switch = |&node| {
            let links = topology.links_of(node).map(LinkId);
            let links = links.flat_map(|link| [link, topology.reverse(link)]).collect();
            (node.0, FaultTargets { switches: vec![node], links })
        };
        return targets.switches.iter().map(of_switch).collect();
    }
    let mut cables: BTreeMap<u32, FaultTargets> = BTreeMap::new();
    for &link in &targets.links {
        cables.entry(link.0.min(topology.reverse(link).0)).or_default().links.push(link);
    }
    cables
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault_spec::FaultKind;
    use anabranch_base::Rate;
    use anabranch_fabric::{TopologySpec, build, fat_tree_defaults};

    fn tree() -> Topology {
        let rate = Rate::from_gbps(100);
        let (tier, pod_hosts) =
            fat_tree_defaults(16, 2, 1, None, rate, Duration::ZERO, Duration::ZERO).unwrap();
        build(&TopologySpec::FatTree { hosts: 16, tier, pod_hosts }, None).unwrap()
    }

    fn drawn(kind: FaultKind, duration: Option<Duration>, seed: u64) -> Vec<(Time, FaultTargets)> {
        let topology = tree();
        // The rate is ten failures per millisecond, on average.
        let spec =
            FaultSpec { kind, at: Duration::from_us(100).into(), duration, per_hour: Some(10.0 * 3_600e3) };
        let targets = spec.targets(0, &topology, seed).unwrap();
        begins(&spec, 0, targets, &topology, (seed, Duration::from_us(10_100)))
    }

    fn cables() -> FaultKind {
        FaultKind::LinkDown { links: "tor-uplinks".into(), both_directions: None }
    }

    #[test]
    fn each_cable_fails_by_itself_as_often_as_its_rate_says() {
        let topology = tree();
        let uplinks = cables().targets(&topology, &mut stream(1, 0, Purpose::FaultSelection)).unwrap().links;
        let number = uplinks.len() / 2;
        let all = drawn(cables(), Some(Duration(1)), 1);
        let mut of_cable: BTreeMap<u32, Vec<Time>> = BTreeMap::new();
        for (from, taken) in &all {
            let [one, other] = taken.links[..] else { panic!("{taken:?} is one cable") };
            assert_eq!(topology.reverse(one), other);
            assert!((Time(100_000_000)..Time(10_100_000_000)).contains(from));
            of_cable.entry(one.0).or_default().push(*from);
        }
        assert_eq!(of_cable.len(), number);
        // Each cable has 100 failures on average, and 50 is five standard deviations. The mean over all cables deviates
        // less.
        assert!(of_cable.values().all(|times| (50..=150).contains(&times.len())));
        let mean = all.len() as f64 / number as f64;
        assert!((mean - 100.0).abs() < 50.0 / libm::sqrt(number as f64), "{mean}");
        let times: Vec<&Vec<Time>> = of_cable.values().collect();
        assert_ne!(times[0], times[1]);
        assert_ne!(drawn(cables(), Some(Duration(1)), 2), all);
    }

    #[test]
    fn a_failure_ends_before_the_next_one_of_its_cable() {
        let mut until: BTreeMap<u32, Time> = BTreeMap::new();
        for (from, taken) in drawn(cables(), Some(Duration::from_us(50)), 3) {
            let end = until.entry(taken.links[0].0).or_default();
            assert!(*end <= from);
            *end = from + Duration::from_us(50);
        }
    }

    #[test]
    fn without_a_duration_a_switch_fails_once_with_all_its_links() {
        let kind = FaultKind::SwitchDown { switches: "spine:100%".into() };
        let topology = tree();
        let spines = topology.switches.iter().filter(|switch| switch.tier == 2).count();
        let all = drawn(kind, None, 1);
        assert_eq!(all.len(), spines);
        for (_, taken) in all {
            let [switch] = taken.switches[..] else { panic!("{taken:?} is one switch") };
            assert_eq!(taken.links.len(), 2 * topology.links_of(switch).len());
        }
    }
}
