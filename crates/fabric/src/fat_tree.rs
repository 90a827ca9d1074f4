//! Fat trees (folded Clos networks) of 2 and 3 tiers.

use super::assemble::{Cable, MAX_LINKS, MAX_PORTS, MAX_ROUTES, assemble};
use super::error::TopologyError;
use super::near::{near_divisors, near_multiples};
use super::{Switch, Topology};
use crate::TierSpec;
use anabranch_base::{Duration, NodeId, Problem, Rate};

pub(super) fn build(hosts: u32, tier: &[TierSpec], pod_hosts: u32) -> Result<Topology, TopologyError> {
    let shape = Shape::check(hosts, tier, pod_hosts)
        .map_err(|e| TopologyError::shape(&e.scenario_key(), e.problem))?;
    Ok(shape.assemble(hosts, tier))
}

/// The tiers and the pod size of a regular fat tree of `hosts` hosts with equal links.
///
/// A ToR has h = `hosts_per_tor` hosts. The default of h is the smallest power of two with 2*h*h >= `hosts` (2 tiers)
/// or 2*h*h*h >= `hosts` (3 tiers). With 3 tiers, a pod has h ToRs. A ToR has h / `oversubscription` ports up. The
/// tiers above are not oversubscribed.
///
/// # Errors
/// A number of tiers other than 2 or 3, an impossible number of hosts or of hosts per ToR, a number of hosts that
/// does not fill the ToRs or the pods, or a quotient h / `oversubscription` that is not a whole number of ports.
pub fn fat_tree_defaults(
    hosts: u32,
    tiers: u32,
    oversubscription: impl Into<f64>,
    hosts_per_tor: Option<u32>,
    link: Rate,
    link_latency: Duration,
    switch_latency: Duration,
) -> Result<(Vec<TierSpec>, u32), TopologyError> {
    let shape = |key, problem: Problem| TopologyError::shape(key, problem);
    if tiers != 2 && tiers != 3 {
        return Err(shape("tiers", format!("a fat tree has 2 or 3 tiers, not {tiers}").into()));
    }
    check_hosts(hosts).map_err(|problem| shape("hosts", problem))?;
    let h = hosts_per_tor.unwrap_or_else(|| default_hosts_per_tor(hosts, tiers));
    if h == 0 || h > hosts {
        return Err(shape(
            "hosts_per_tor",
            Problem::with_text(
                format!("{h} hosts a ToR do not fit {hosts} hosts"),
                format_args!("1 to {hosts}"),
            ),
        ));
    }
    let oversubscription = oversubscription.into();
    let up = f64::from(h) / oversubscription;
    // A ratio such as 4:3 is not exact in binary, so a small deviation is permitted.
    if !(up.is_finite() && up >= 0.5 && (up - up.round()).abs() < 1e-6) {
        return Err(shape(
            "oversubscription",
            Problem::with_text(
                format!(
                    "a ToR with {h} hosts has {h} / {oversubscription} ports up, which is no whole number"
                ),
                format_args!(
                    "{}, or another hosts_per_tor",
                    near_divisors(h, (oversubscription.round() as u32).max(1), 0)
                ),
            ),
        ));
    }
    // With 3 tiers, a pod has h ToRs with h hosts each. With 2 tiers, the hosts only have to fill the ToRs.
    let pod = if tiers == 2 { h } else { h.saturating_mul(h) };
    if !hosts.is_multiple_of(pod) {
        let filled = if tiers == 2 { format!("ToRs of {h}") } else { format!("pods of {h} ToRs of {h}") };
        let others: Vec<u32> = (1..=h.saturating_mul(2)).filter(|n| fills(hosts, *n, tiers)).collect();
        let nearest = others.iter().rev().take(3).map(u32::to_string).collect::<Vec<_>>().join(" or ");
        return Err(shape(
            "hosts",
            Problem::with_text(
                format!("{hosts} hosts do not fill {filled}"),
                format_args!("{}, or hosts_per_tor = {nearest}", near_multiples(hosts, pod)),
            ),
        ));
    }
    let up = up.round() as u32;
    let tier = |radix_down, radix_up| TierSpec {
        link,
        link_latency,
        switch_latency,
        radix_down,
        radix_up,
        bundle: 1,
    };
    Ok(if tiers == 2 {
        (vec![tier(h, up), tier(hosts / h, 0)], hosts)
    } else {
        (vec![tier(h, up), tier(h, h), tier(hosts / pod, 0)], pod)
    })
}

fn default_hosts_per_tor(hosts: u32, tiers: u32) -> u32 {
    let enough = |h: &u32| 2 * u128::from(*h).pow(tiers) >= u128::from(hosts);
    (0..u32::BITS).map(|bit| 1 << bit).find(enough).unwrap_or(1 << 31)
}

fn fills(hosts: u32, hosts_per_tor: u32, tiers: u32) -> bool {
    let pod = if tiers == 2 { Some(hosts_per_tor) } else { hosts_per_tor.checked_mul(hosts_per_tor) };
    pod.is_some_and(|pod| hosts.is_multiple_of(pod))
}

/// The key of the scenario or file to which a [`ShapeError`] belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ShapeKey {
    Hosts,
    PodHosts,
    Tiers,
    Link,
    RadixDown,
    RadixUp,
    Bundle,
}

#[derive(Debug)]
pub(super) struct ShapeError {
    /// The tier, from 0, if the key belongs to a tier.
    pub tier: usize,
    pub key: ShapeKey,
    pub problem: Problem,
}

impl ShapeError {
    fn scenario_key(&self) -> String {
        let of_tier = |name: &str| format!("tier[{}].{name}", self.tier);
        match self.key {
            ShapeKey::Hosts => "hosts".into(),
            ShapeKey::PodHosts => "pod_hosts".into(),
            ShapeKey::Tiers => "tier".into(),
            ShapeKey::Link => of_tier("link"),
            ShapeKey::RadixDown => of_tier("radix_down"),
            ShapeKey::RadixUp => of_tier("radix_up"),
            ShapeKey::Bundle => of_tier("bundle"),
        }
    }
}

#[derive(Debug)]
pub(super) struct Shape {
    pods: u32,
    tors_in_pod: u32,
    /// With 2 tiers, the number of spines.
    aggs_in_pod: u32,
    /// 0 with 2 tiers.
    cores: u32,
}

impl Shape {
    /// Checks that every port of every switch has a peer, and that the tree is not too large.
    pub(super) fn check(hosts: u32, tier: &[TierSpec], pod_hosts: u32) -> Result<Shape, ShapeError> {
        let fail = |tier, key, problem: Problem| Err(ShapeError { tier, key, problem });
        check_hosts(hosts).map_err(|problem| ShapeError { tier: 0, key: ShapeKey::Hosts, problem })?;
        if tier.len() != 2 && tier.len() != 3 {
            return fail(
                0,
                ShapeKey::Tiers,
                format!("a fat tree has 2 or 3 tiers, not {}", tier.len()).into(),
            );
        }
        for (t, spec) in tier.iter().enumerate() {
            check_tier(t, spec, t + 1 == tier.len())?;
        }
        if tier.len() == 2 && pod_hosts != hosts {
            let problem = Problem::with_value(
                format!("with 2 tiers one pod holds all hosts, but it has {pod_hosts}"),
                hosts,
            );
            return fail(0, ShapeKey::PodHosts, problem);
        }
        if pod_hosts == 0 || !hosts.is_multiple_of(pod_hosts) {
            let fit = near_divisors(hosts, pod_hosts, 0);
            let message = format!("{hosts} hosts do not fill pods of {pod_hosts}");
            let problem = Problem { message, fix: Some(fit) };
            return fail(0, ShapeKey::PodHosts, problem);
        }
        let down = tier[0].radix_down;
        if !pod_hosts.is_multiple_of(down) {
            let fit = near_divisors(pod_hosts, down, 0);
            let place = if tier.len() == 2 { "" } else { " of a pod" };
            let message = format!("the {pod_hosts} hosts{place} do not fill ToRs with {down} ports down");
            let problem = Problem { message, fix: Some(fit) };
            return fail(0, ShapeKey::RadixDown, problem);
        }
        let pods = hosts / pod_hosts;
        let tors_in_pod = pod_hosts / down;
        check_down(1, &tier[1], tors_in_pod, "ToRs below it")?;
        check_up(0, &tier[0], tier[1].bundle)?;
        let aggs_in_pod = tier[0].radix_up / tier[1].bundle;
        let mut cores = 0;
        if let Some(top) = tier.get(2) {
            check_down(2, top, pods, "pods")?;
            check_up(1, &tier[1], top.bundle)?;
            // If this product saturates, `check_size` refuses the tree anyway, because the number of its links above
            // the aggregation switches is at least as large.
            cores = aggs_in_pod.saturating_mul(tier[1].radix_up / top.bundle);
        }
        let shape = Shape { pods, tors_in_pod, aggs_in_pod, cores };
        shape.check_size(hosts, tier)?;
        Ok(shape)
    }

    fn check_size(&self, hosts: u32, tier: &[TierSpec]) -> Result<(), ShapeError> {
        let tors = u128::from(self.pods) * u128::from(self.tors_in_pod);
        let aggs = u128::from(self.pods) * u128::from(self.aggs_in_pod);
        let links = 2
            * (u128::from(hosts) + tors * u128::from(tier[0].radix_up) + aggs * u128::from(tier[1].radix_up));
        let routes = (tors + aggs + u128::from(self.cores)) * tors;
        let problem = if links > u128::from(MAX_LINKS) {
            format!("this tree has {links} directed links; the most that is simulated is {MAX_LINKS}")
        } else if routes > u128::from(MAX_ROUTES) {
            format!(
                "this tree has {tors} ToRs and {routes} routes (switches times ToRs); the most that is \
                 simulated is {MAX_ROUTES}: give a ToR more hosts"
            )
        } else {
            return Ok(());
        };
        Err(ShapeError { tier: 0, key: ShapeKey::Hosts, problem: problem.into() })
    }

    fn assemble(&self, hosts: u32, tier: &[TierSpec]) -> Topology {
        let tors = self.pods * self.tors_in_pod;
        let aggs = self.pods * self.aggs_in_pod;
        let mut switches = Vec::with_capacity((tors + aggs + self.cores) as usize);
        for ((number, spec), count) in (1u8..).zip(tier).zip([tors, aggs, self.cores]) {
            switches.extend((0..count).map(|index| Switch {
                tier: number,
                index,
                latency: spec.switch_latency,
                file_id: None,
            }));
        }

        let mut cables = Vec::new();
        let mut join = |below: u32, above: u32, spec: &TierSpec| {
            for _ in 0..spec.bundle {
                let ends = [NodeId(below), NodeId(above)];
                cables.push(Cable { ends, rate: spec.link, latency: spec.link_latency, loss: 0.0 });
            }
        };
        for host in 0..hosts {
            join(host, hosts + host / tier[0].radix_down, &tier[0]);
        }
        let (first_tor, first_agg) = (hosts, hosts + tors);
        for tor in 0..tors {
            let pod = tor / self.tors_in_pod;
            for position in 0..self.aggs_in_pod {
                join(first_tor + tor, first_agg + pod * self.aggs_in_pod + position, &tier[1]);
            }
        }
        let first_core = first_agg + aggs;
        for core in 0..self.cores {
            for pod in 0..self.pods {
                let position = core % self.aggs_in_pod;
                join(first_agg + pod * self.aggs_in_pod + position, first_core + core, &tier[2]);
            }
        }
        assemble(hosts, switches, &cables, Vec::new())
    }
}

fn check_hosts(hosts: u32) -> Result<(), Problem> {
    if hosts < 2 || u64::from(hosts) > MAX_LINKS / 2 {
        return Err(Problem::with_text(
            format!("{hosts} hosts are not possible"),
            format_args!("2 to {}", MAX_LINKS / 2),
        ));
    }
    Ok(())
}

fn check_tier(t: usize, spec: &TierSpec, top: bool) -> Result<(), ShapeError> {
    let fail = |key, problem: Problem| Err(ShapeError { tier: t, key, problem });
    if spec.link.0 == 0 {
        let problem = Problem::with_text(
            format!("the links below tier {t} have rate 0 and carry nothing"),
            "one above 0",
        );
        return fail(ShapeKey::Link, problem);
    }
    if spec.radix_down == 0 {
        return fail(ShapeKey::RadixDown, format!("a switch of tier {t} needs at least 1 port down").into());
    }
    if top && spec.radix_up != 0 {
        let up = spec.radix_up;
        let problem =
            Problem::with_value(format!("tier {t} is the top: its {up} ports up would lead nowhere"), 0);
        return fail(ShapeKey::RadixUp, problem);
    }
    if !top && spec.radix_up == 0 {
        return fail(ShapeKey::RadixUp, format!("a switch of tier {t} needs at least 1 port up").into());
    }
    if spec.bundle == 0 || (t == 0 && spec.bundle != 1) {
        let message = format!("{} parallel cables are not possible", spec.bundle);
        let problem = match t {
            0 => Problem::with_value(format!("{message}: a host has one cable"), 1),
            _ => Problem::with_text(message, "1 or more"),
        };
        return fail(ShapeKey::Bundle, problem);
    }
    let ports = u64::from(spec.radix_down) + u64::from(spec.radix_up);
    if ports > MAX_PORTS {
        let problem = format!("a switch of tier {t} would have {ports} ports; the most is {MAX_PORTS}");
        return fail(ShapeKey::RadixDown, problem.into());
    }
    Ok(())
}

fn check_down(t: usize, spec: &TierSpec, below: u32, of_what: &str) -> Result<(), ShapeError> {
    let needed = u64::from(below) * u64::from(spec.bundle);
    let have = u64::from(spec.radix_down);
    if have == needed {
        return Ok(());
    }
    let consequence = if have < needed {
        format!("{} cables find no port", needed - have)
    } else {
        format!("{} ports would stay unconnected", have - needed)
    };
    let problem = Problem::with_value(
        format!(
            "a switch of tier {t} joins {below} {of_what} by {} cable(s) each, but has {have} ports down: {consequence}",
            spec.bundle
        ),
        needed,
    );
    Err(ShapeError { tier: t, key: ShapeKey::RadixDown, problem })
}

fn check_up(t: usize, spec: &TierSpec, bundle: u32) -> Result<(), ShapeError> {
    if spec.radix_up.is_multiple_of(bundle) {
        return Ok(());
    }
    let message = format!(
        "the {} ports up of a switch of tier {t} do not make whole bundles of {bundle} cables",
        spec.radix_up
    );
    let problem = Problem { message, fix: Some(near_multiples(spec.radix_up, bundle)) };
    Err(ShapeError { tier: t, key: ShapeKey::RadixUp, problem })
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_base::{HostId, LinkId};

    const LINK: Rate = Rate::from_gbps(400);
    const NS: Duration = Duration::from_ns(1);

    fn spec(radix_down: u32, radix_up: u32, bundle: u32) -> TierSpec {
        TierSpec { link: LINK, link_latency: NS, switch_latency: NS * 2, radix_down, radix_up, bundle }
    }

    fn defaults(hosts: u32, tiers: u32, over: u32, tor: Option<u32>) -> Result<(Vec<TierSpec>, u32), String> {
        fat_tree_defaults(hosts, tiers, over, tor, LINK, NS, NS * 2).map_err(|e| e.to_string())
    }

    fn radixes(tier: &[TierSpec]) -> Vec<(u32, u32)> {
        tier.iter().map(|t| (t.radix_down, t.radix_up)).collect()
    }

    fn problem(hosts: u32, tier: &[TierSpec], pod: u32) -> String {
        build(hosts, tier, pod).unwrap_err().to_string()
    }

    #[test]
    fn default_shapes() {
        let shape = |hosts, tiers, over, tor| {
            let (tier, pod) = defaults(hosts, tiers, over, tor).unwrap();
            build(hosts, &tier, pod).unwrap();
            (radixes(&tier), pod)
        };
        assert_eq!(shape(128, 2, 1, None), (vec![(8, 8), (16, 0)], 128));
        assert_eq!(shape(1024, 2, 4, None), (vec![(32, 8), (32, 0)], 1024));
        assert_eq!(shape(8192, 2, 1, None), (vec![(64, 64), (128, 0)], 8192));
        assert_eq!(shape(32, 2, 4, Some(8)), (vec![(8, 2), (4, 0)], 32));
        assert_eq!(shape(128, 3, 1, None), (vec![(4, 4), (4, 4), (8, 0)], 16));
        assert_eq!(shape(1024, 3, 2, None), (vec![(8, 4), (8, 8), (16, 0)], 64));
        assert_eq!(shape(2, 2, 1, None), (vec![(1, 1), (2, 0)], 2));
    }

    #[test]
    fn default_shapes_that_do_not_fit_say_what_would() {
        assert_eq!(
            defaults(100, 2, 1, None).unwrap_err(),
            "topology.hosts: 100 hosts do not fill ToRs of 8; write: 96 or 104, \
             or hosts_per_tor = 10 or 5 or 4"
        );
        assert!(defaults(100, 3, 1, None).unwrap_err().contains("pods of 4 ToRs of 4; write: 96 or 112, or"));
        assert_eq!(
            defaults(128, 2, 3, None).unwrap_err(),
            "topology.oversubscription: a ToR with 8 hosts has 8 / 3 ports up, which is no whole number; \
             write: 2 or 4, or another hosts_per_tor"
        );
        assert!(defaults(128, 2, 0, None).unwrap_err().contains("write: 1"));
        assert!(defaults(128, 4, 1, None).unwrap_err().contains("2 or 3 tiers, not 4"));
        assert!(defaults(1, 2, 1, None).unwrap_err().contains("1 hosts are not possible"));
        assert!(defaults(u32::MAX, 3, 1, None).unwrap_err().contains("not possible"));
        assert!(defaults(128, 2, 1, Some(0)).unwrap_err().contains("write: 1 to 128"));
    }

    #[test]
    fn numbers_that_disagree_are_named_with_the_one_that_fits() {
        let two = |radix_up, top| vec![spec(8, radix_up, 1), top];
        let three = |radix_up, top| vec![spec(4, 4, 1), spec(4, radix_up, 1), spec(top, 0, 1)];
        let stopped = TierSpec { link: Rate(0), ..spec(16, 0, 1) };
        let million = 1_000_000;
        let cases = [
            (
                (128, two(8, spec(8, 0, 1)), 128),
                "topology.tier[1].radix_down: a switch of tier 1 joins 16 ToRs below it by 1 cable(s) each, \
                 but has 8 ports down: 8 cables find no port; write: 16",
            ),
            ((128, two(8, spec(20, 0, 1)), 128), "4 ports would stay unconnected; write: 16"),
            (
                (100, two(8, spec(16, 0, 1)), 100),
                "tier[0].radix_down: the 100 hosts do not fill ToRs with 8 ports down; write: 5 or 10",
            ),
            (
                (128, two(8, spec(16, 0, 1)), 64),
                "pod_hosts: with 2 tiers one pod holds all hosts, but it has 64; write: 128",
            ),
            (
                (128, two(7, spec(32, 0, 2)), 128),
                "tier[0].radix_up: the 7 ports up of a switch of tier 0 do not make whole bundles of 2 \
                 cables; write: 6 or 8",
            ),
            (
                (128, three(4, 6), 16),
                "joins 8 pods by 1 cable(s) each, but has 6 ports down: 2 cables find no port; write: 8",
            ),
            ((128, three(4, 8), 12), "pod_hosts: 128 hosts do not fill pods of 12; write: 8 or 16"),
            ((128, three(0, 8), 16), "tier[1].radix_up: a switch of tier 1 needs at least 1 port up"),
            ((128, two(8, spec(16, 3, 1)), 128), "tier[1].radix_up: tier 1 is the top"),
            ((128, vec![spec(8, 8, 2), spec(16, 0, 1)], 128), "a host has one cable; write: 1"),
            ((128, vec![spec(8, 8, 1)], 128), "a fat tree has 2 or 3 tiers, not 1"),
            ((128, two(8, stopped), 128), "tier[1].link: the links below tier 1 have rate 0"),
            ((128, two(70_000, spec(16, 0, 1)), 128), "70008 ports; the most is 65535"),
            ((8 * million, two(8, spec(million, 0, 1)), 8 * million), "1000000 ports; the most is 65535"),
            ((9 * million, two(8, spec(16, 0, 1)), 9 * million), "9000000 hosts are not possible"),
            (
                (60_000, vec![spec(1, 60_000, 1), spec(60_000, 0, 1)], 60_000),
                "7200120000 directed links; the most that is simulated is 16777216",
            ),
            (
                (60_000, vec![spec(1, 1, 1), spec(60_000, 0, 1)], 60_000),
                "60000 ToRs and 3600060000 routes (switches times ToRs)",
            ),
        ];
        for ((hosts, tier, pod_hosts), expected) in cases {
            let got = problem(hosts, &tier, pod_hosts);
            assert!(got.contains(expected), "{expected}: {got}");
        }
    }

    #[test]
    fn cores_join_the_aggregation_switch_at_their_number_modulo_the_aggregation_switches() {
        let t = build(128, &[spec(4, 4, 1), spec(4, 4, 1), spec(8, 0, 1)], 16).unwrap();
        assert_eq!((t.tors(), t.tier_range(2).len(), t.tier_range(3).len()), (32, 32, 16));
        for core in 0..16u32 {
            let node = NodeId(128 + 64 + core);
            for pod in 0..8u32 {
                let peer = t.ports[t.link(node, pod as u16).index()].peer;
                assert_eq!(peer, NodeId(128 + 32 + pod * 4 + core % 4));
            }
        }
        // Aggregation switch 6 is the third of pod 1, with ToRs 4 to 7 below and cores 2, 6, 10, 14 above.
        let peers = |n: u32| t.links_of(NodeId(n)).map(|l| t.ports[l as usize].peer.0).collect::<Vec<_>>();
        assert_eq!(peers(160 + 6), [132, 133, 134, 135, 194, 198, 202, 206]);
        assert_eq!(peers(128 + 1), [4, 5, 6, 7, 160, 161, 162, 163]);
        assert_eq!(t.down_ports(NodeId(160 + 6)), 4);
    }

    #[test]
    fn bundles_are_parallel_cables() {
        let t = build(16, &[spec(4, 4, 1), spec(8, 0, 2)], 16).unwrap();
        assert_eq!((t.tors(), t.tier_range(2).len()), (4, 2));
        let spine = NodeId(16 + 4);
        let peers: Vec<u32> = t.links_of(spine).map(|l| t.ports[l as usize].peer.0).collect();
        assert_eq!(peers, [16, 16, 17, 17, 18, 18, 19, 19]);
        for link in (0..t.links()).map(LinkId) {
            assert_eq!(t.reverse(t.reverse(link)), link);
        }
    }

    #[test]
    fn tiers_keep_their_own_rates_and_latencies() {
        let fast = TierSpec { link: Rate::from_gbps(800), link_latency: NS * 7, ..spec(4, 0, 1) };
        let t = build(16, &[spec(4, 4, 1), fast], 16).unwrap();
        let up = t.ports[t.link(NodeId(16), 4).index()];
        assert_eq!((up.rate, up.latency), (Rate::from_gbps(800), NS * 7));
        let down = t.ports[t.reverse(t.link(NodeId(16), 4)).index()];
        assert_eq!((down.rate, down.latency), (up.rate, up.latency));
        assert_eq!(t.ports[t.link(HostId(3).into(), 0).index()].rate, LINK);
    }
}
