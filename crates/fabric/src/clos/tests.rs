//! Clusters with published numbers of switches and cables, and the paths in them.

use super::*;
use crate::{Routing, TopologySpec, build};
use anabranch_base::HostId;

const LINK: Rate = Rate::from_gbps(400);

fn input(servers: u32) -> ClosInput {
    ClosInput::new(servers, LINK, Duration::from_ns(500), Duration::ZERO)
}

fn built(kind: ClosKind, input: ClosInput) -> Topology {
    let spec = clos_defaults(kind, &input).unwrap();
    let topology = super::build(kind, &spec).unwrap();
    assert!(topology.is_connected());
    topology
}

fn tiers(t: &Topology) -> [usize; 3] {
    [1, 2, 3].map(|tier| t.tier_range(tier).len())
}

/// The numbers of cables that lead up from the hosts, from the leaves and from the spines.
fn cables(t: &Topology) -> [usize; 3] {
    let up = |tier: u8| {
        let nodes = t.tier_range(tier).map(|i| NodeId(t.hosts + i as u32));
        nodes.map(|node| t.links_of(node).len() - usize::from(t.down_ports(node))).sum()
    };
    [t.port_base[t.hosts as usize] as usize, up(1), up(2)]
}

fn ports(t: &Topology) -> [usize; 3] {
    let of = |tier: u8| {
        t.tier_range(tier).map(|i| t.links_of(NodeId(t.hosts + i as u32)).len()).max().unwrap_or(0)
    };
    [1, 2, 3].map(of)
}

/// The number of links of the shortest paths between two hosts, and the number of these paths over all ports of both;
/// `None` if no port of the source reaches the destination.
fn paths(t: &Topology, src: u32, dst: u32) -> Option<(usize, usize)> {
    crate::shortest_paths::between(t, HostId(src), HostId(dst))
}

#[test]
fn a_superpod_of_four_units_has_its_switches_and_cables() {
    // DGX SuperPOD B200: 1,024 GPUs, 32 leaves and 16 spines with 64 ports each, and 1,024 cables in each of the two
    // tiers.
    let t = built(ClosKind::Rails, ClosInput { radix: Some(64), ..input(128) });
    assert_eq!(
        (t.hosts, tiers(&t), cables(&t), ports(&t)),
        (1024, [32, 16, 0], [1024, 1024, 0], [64, 64, 0])
    );
    let servers = t.servers.as_ref().unwrap();
    assert_eq!((servers.count(), servers.gpus(), servers.rails()), (128, 1024, 8));
    assert_eq!(t.rail_of_tor(NodeId(t.hosts + 11)), Some(3));
    // Two hosts of one unit and one rail have one switch between them. Other pairs have three, and 16 x 2 x 2 paths:
    // over 16 spines, with two cables from each leaf to each spine.
    assert_eq!(paths(&t, 3, 31 * 8 + 3), Some((2, 1)));
    assert_eq!(paths(&t, 3, 32 * 8 + 3), Some((4, 64)));
    assert_eq!(paths(&t, 3, 4), Some((4, 64)));
}

#[test]
fn a_superpod_of_sixteen_units_has_cores() {
    let three = ClosInput { radix: Some(64), tiers: Some(3), ..input(512) };
    let t = built(ClosKind::Rails, three.clone());
    assert_eq!((t.hosts, tiers(&t)), (4096, [128, 128, 64]));
    assert_eq!((cables(&t), ports(&t)), ([4096; 3], [64, 64, 64]));
    assert_eq!(paths(&t, 0, 8 * 32), Some((4, 64)), "a rail shares 16 spines, by two cables each");
    assert_eq!(paths(&t, 0, 1).unwrap().0, 6, "another rail lies behind the cores");
    let by_pod = ClosInput { spine_group: Some(SpineGroup::Pod), pod: Some(1), ..three };
    let t = built(ClosKind::Rails, by_pod);
    assert_eq!((tiers(&t), cables(&t), ports(&t)), ([128, 128, 64], [4096; 3], [64, 64, 64]));
    assert_eq!(paths(&t, 0, 1).unwrap().0, 4, "rails meet in the spines of the pod");
}

#[test]
fn the_last_segment_may_have_fewer_servers() {
    // A DGX SuperPOD has 31 servers in one unit, and 127 in four units, since UFM takes the ports of one server.
    let pod = ClosInput { radix: Some(64), ..input(127) };
    let t = built(ClosKind::Rails, pod.clone());
    assert_eq!(
        (t.hosts, tiers(&t), cables(&t), ports(&t)),
        (1016, [32, 16, 0], [1016, 1024, 0], [64, 64, 0])
    );
    let down = |leaf: u32| t.down_ports(NodeId(t.hosts + leaf));
    assert_eq!([0, 23, 24, 31].map(down), [32, 32, 31, 31]);
    assert_eq!((t.rail_of_tor(NodeId(t.hosts + 27)), t.servers.as_ref().unwrap().count()), (Some(3), 127));
    assert_eq!((paths(&t, 0, 126 * 8), paths(&t, 96 * 8, 126 * 8)), (Some((4, 64)), Some((2, 1))));
    let unit = built(ClosKind::Rails, ClosInput { segment: Some(32), servers: 31, ..pod.clone() });
    assert_eq!((tiers(&unit), cables(&unit)), ([8, 4, 0], [248, 256, 0]));
    let segment = |kind, servers: u32, radix: Option<u32>| {
        clos_defaults(kind, &ClosInput { radix, ..input(servers) }).unwrap().segment
    };
    // Equal segments are preferred if this does not increase the number of segments.
    assert_eq!(
        [31, 48, 100, 127, 33].map(|servers| segment(ClosKind::Rails, servers, None)),
        [31, 24, 25, 32, 32]
    );
    assert_eq!([127, 128].map(|servers| segment(ClosKind::MultiPlane, servers, None)), [4, 4]);
    assert_eq!(segment(ClosKind::DcnPlus, 17, None), 16);
    let large = ClosInput { servers: 511, tiers: Some(3), ..pod };
    assert_eq!((tiers(&built(ClosKind::Rails, large.clone())), large.radix), ([128, 128, 64], Some(64)));
    let planes = built(ClosKind::MultiPlane, input(10));
    assert_eq!((tiers(&planes), planes.plane_count(), planes.host_ports(HostId(79))), ([12, 128, 0], 4, 4));
    let last = planes.tor_of(HostId(79), 3);
    assert_eq!((planes.plane_of(last), planes.down_ports(last)), (Some(3), 16));
}

#[test]
fn spines_with_few_ports_in_use_are_warned_of() {
    let of = |change: &dyn Fn(&mut ClosInput)| {
        let mut changed = ClosInput { radix: Some(64), ..input(31) };
        change(&mut changed);
        let spec = clos_defaults(ClosKind::Rails, &changed).unwrap();
        spec.sparse_spines(ClosKind::Rails).map(|problem| problem.to_string())
    };
    assert_eq!(
        of(&|_| {}).unwrap(),
        "each of 31 spines has 8 of its 64 ports in use; write: uplinks = 32 and spines = 4 below [topology]"
    );
    let fit: &[&dyn Fn(&mut ClosInput)] = &[
        &|i| (i.uplinks, i.spines) = (Some(32), Some(4)),
        &|i| i.segment = Some(32),
        &|i| i.servers = 127,
        &|i| i.servers = 4,
        &|i| i.radix = None,
    ];
    fit.iter().for_each(|change| assert_eq!(of(change), None));
}

#[test]
fn a_last_segment_of_few_servers_is_warned_of() {
    let of = |servers: u32, segment: u32| {
        let input = ClosInput { segment: Some(segment), ..input(servers) };
        let spec = clos_defaults(ClosKind::Rails, &input).unwrap();
        spec.sparse_spines(ClosKind::Rails).map(|problem| problem.to_string())
    };
    assert_eq!(
        of(16, 5).unwrap(),
        "the last of 4 segments has 1 server, where the others have 5, and leaves of its own; write: segment = 4 below \
         [topology], for equal segments, or servers = 15"
    );
    assert!(
        of(34, 16)
            .unwrap()
            .contains("segment = 12 below [topology], for nearly equal segments, or servers = 32")
    );
    for (servers, segment) in [(16, 4), (16, 6), (31, 8), (127, 32), (4, 16), (5, 3)] {
        assert_eq!(of(servers, segment), None, "{servers} {segment}");
    }
}

#[test]
fn a_b300_unit_fills_switches_of_144_ports() {
    let t = built(ClosKind::Rails, ClosInput { radix: Some(144), link: Rate::from_gbps(800), ..input(72) });
    assert_eq!((t.hosts, tiers(&t), cables(&t)), (576, [8, 4, 0], [576, 576, 0]));
}

#[test]
fn hpn_has_sixteen_tors_a_segment_and_sixty_aggs_a_plane() {
    let spec =
        clos_defaults(ClosKind::Hpn, &ClosInput { link: Rate::from_gbps(200), ..input(1920) }).unwrap();
    assert_eq!((spec.uplink, spec.uplinks, spec.tiers, spec.pod), (LINK, 60, 2, 15));
    let t = super::build(ClosKind::Hpn, &spec).unwrap();
    assert_eq!((t.hosts, tiers(&t), cables(&t)), (15_360, [240, 120, 0], [30_720, 14_400, 0]));
    assert_eq!(ports(&t), [188, 120, 0]);
    assert_eq!(
        (t.plane_count(), t.plane_of(NodeId(t.hosts + 119)), t.plane_of(NodeId(t.hosts + 120))),
        (2, Some(0), Some(1))
    );
    // Two pods, with an oversubscription of 15:1 towards the cores. A spine has a link to each of the 15 x 8 leaves
    // of its pod and plane, so it has 120 / 15 = 8 uplinks. Each of the 60 x 8 uplinks of a pod in a plane has its
    // own core.
    let spec =
        clos_defaults(ClosKind::Hpn, &ClosInput { link: Rate::from_gbps(200), ..input(3840) }).unwrap();
    assert_eq!((spec.tiers, spec.core_uplinks, spec.cores), (3, 8, 480));
}

#[test]
fn hpn_planes_do_not_meet() {
    let small = ClosInput { nics: Some(2), segment: Some(4), link: Rate::from_gbps(200), ..input(8) };
    let t = built(ClosKind::Hpn, small);
    assert_eq!((tiers(&t), cables(&t)), ([8, 4, 0], [32, 16, 0]));
    assert_eq!(paths(&t, 0, 2), Some((2, 2)));
    assert_eq!(paths(&t, 0, 8), Some((4, 4)));
    assert_eq!(paths(&t, 0, 3), Some((4, 4)));
    let routing = Routing::new(&t, &|_| true);
    for port in 0..2 {
        assert_eq!(routing.best_ports(&t, (HostId(0), port), HostId(8), u16::MAX), 1 << port);
        assert_eq!(routing.best_ports(&t, (HostId(0), port), HostId(8), !(1 << port)), 0);
    }
    let tors = [0, 1].map(|port| routing.tor_index(HostId(0), port));
    assert!(routing.is_empty(tors[0] as usize, tors[1]) && routing.distance(&t, tors[0], tors[1]).is_none());
}

#[test]
fn planes_multiply_the_paths() {
    let small = ClosInput { nics: Some(1), segment: Some(4), link: Rate::from_gbps(100), ..input(8) };
    let t = built(ClosKind::MultiPlane, small);
    assert_eq!((tiers(&t), cables(&t)), ([8, 16, 0], [32, 32, 0]));
    assert_eq!((paths(&t, 0, 1), paths(&t, 0, 4)), (Some((2, 4)), Some((4, 16))));
    assert_eq!(t.host_rate(HostId(0)), LINK);
    // A network of 131,072 NICs with 8 ports each, on switches of 512 ports, has 16,384 servers. The first
    // specification has 64 servers, which fill 2 segments.
    let big = ClosInput { ports: Some(8), radix: Some(512), link: Rate::from_gbps(100), ..input(64) };
    let spec = clos_defaults(ClosKind::MultiPlane, &big).unwrap();
    assert_eq!((spec.segment, spec.uplinks, spec.spines), (32, 256, 1));
    let all = clos_defaults(ClosKind::MultiPlane, &ClosInput { servers: 16_384, ..big }).unwrap();
    assert_eq!((all.hosts(), all.segment, all.uplinks, all.spines), (131_072, 32, 256, 256));
}

#[test]
fn rails_without_common_spines_are_networks_of_their_own() {
    // DeepSeek's network has 16,384 endpoints and 768 switches of 64 ports.
    let mpft = ClosInput { radix: Some(64), spine_group: Some(SpineGroup::Rail), ..input(2048) };
    let t = built(ClosKind::Rails, mpft.clone());
    assert_eq!((t.hosts, t.switches.len()), (16_384, 768));
    let small = ClosInput { nics: Some(4), segment: Some(2), radix: None, ..mpft };
    let t = built(ClosKind::Rails, ClosInput { servers: 4, ..small });
    assert_eq!((tiers(&t), cables(&t)), ([8, 8, 0], [16, 16, 0]));
    assert_eq!((paths(&t, 0, 4), paths(&t, 0, 8), paths(&t, 0, 9)), (Some((2, 1)), Some((4, 2)), None));
    let alone = built(ClosKind::Rails, ClosInput { tiers: Some(1), ..input(16) });
    assert_eq!((tiers(&alone), paths(&alone, 0, 8), paths(&alone, 0, 9)), ([8, 0, 0], Some((2, 1)), None));
}

#[test]
fn the_rate_of_all_links_is_that_of_the_tiers_that_there_are() {
    let link = |kind: ClosKind, tiers: u32| {
        let spec =
            clos_defaults(kind, &ClosInput { tiers: Some(tiers), segment: Some(16), ..input(16) }).unwrap();
        let spec = if kind == ClosKind::Hpn { TopologySpec::Hpn(spec) } else { TopologySpec::Rails(spec) };
        spec.link()
    };
    assert_eq!(link(ClosKind::Hpn, 1), Some(Rate::from_gbps(400)));
    assert_eq!(link(ClosKind::Hpn, 2), None, "uplinks have twice the rate");
    assert_eq!(link(ClosKind::Rails, 2), Some(Rate::from_gbps(400)));
}

#[test]
fn dcn_plus_joins_its_tors() {
    let t = built(
        ClosKind::DcnPlus,
        ClosInput { segment: Some(2), pod: Some(2), nics: Some(2), link: Rate::from_gbps(200), ..input(8) },
    );
    assert_eq!((tiers(&t), t.plane_count()), ([8, 8, 16], 1));
    // Each port of the source has a ToR, and every NIC of the segment has a port on that ToR.
    assert_eq!(paths(&t, 0, 2), Some((2, 2)));
    assert_eq!(paths(&t, 0, 4), Some((4, 2 * 4 * 2)), "two ports, four aggs, two ports there");
    assert_eq!(paths(&t, 0, 8).unwrap().0, 6);
    let routing = Routing::new(&t, &|_| true);
    let best = |src, dst| routing.best_ports(&t, (HostId(src), 1), HostId(dst), u16::MAX);
    assert_eq!((best(0, 2), best(0, 4), best(0, 8)), (0b10, 0b11, 0b11));
    let without = routing.best_ports(&t, (HostId(0), 1), HostId(2), 0b01);
    assert_eq!(without, 0b01, "the farther port, where the sender knows that the other one is dead");
}

#[test]
fn impossible_numbers_are_refused_with_what_would_fit() {
    let refused = |kind, change: &dyn Fn(&mut ClosInput)| {
        let mut changed = input(128);
        change(&mut changed);
        clos_defaults(kind, &changed).unwrap_err().to_string()
    };
    for (kind, change, expected) in [
        (
            ClosKind::Rails,
            &(|i: &mut ClosInput| (i.segment, i.spines) = (Some(32), Some(12))) as &dyn Fn(&mut ClosInput),
            "topology.spines: 32 uplinks of a leaf do not spread evenly over spines, of which a group has 12; write: 8 or 16, or uplinks = 36",
        ),
        (
            ClosKind::Rails,
            &|i| (i.tiers, i.core_link) = (Some(2), Some(Rate::from_gbps(800))),
            "topology.core_link: with 2 tiers there are no cores; write: tiers = 3, which has cores",
        ),
        (
            ClosKind::Hpn,
            &|i| (i.tiers, i.core_link) = (Some(1), Some(Rate::from_gbps(400))),
            "topology.core_link: with 1 tier there are no cores; write: tiers = 3, which has cores",
        ),
        (
            ClosKind::Rails,
            &|i| (i.tiers, i.uplink) = (Some(1), Some(Rate::from_gbps(800))),
            "topology.uplink: with 1 tier nothing leads up from a leaf; write: tiers = 2, which has spines",
        ),
        (
            ClosKind::Rails,
            &|i| (i.segment, i.oversubscription) = (Some(32), Some(3.0)),
            "topology.oversubscription: a leaf with 32 links of 400Gbps down has 10.667 of 400Gbps up at an oversubscription \
             of 3, which is no whole number; write: uplinks = 11 in its place",
        ),
        (
            ClosKind::Rails,
            &|i| (i.radix, i.segment) = (Some(64), Some(64)),
            "topology.radix: a leaf would have 64 ports down and 64 up, and a switch has 64; write: segment = 32, or radix = 128",
        ),
        (
            ClosKind::Rails,
            &|i| (i.servers, i.radix, i.segment) = (127, Some(64), Some(1)),
            "topology.radix: a spine would have 1016 ports down and 0 up, and a switch has 64; write: segment = 32",
        ),
        (
            ClosKind::Rails,
            &|i| (i.servers, i.radix) = (300, Some(64)),
            "topology.radix: a spine would have 80 ports down and 0 up, and a switch has 64; write: tiers = 3, or radix = 72, or servers = 256",
        ),
        (
            ClosKind::Rails,
            &|i| i.ports = Some(17),
            "topology.ports: a NIC has at most 16 ports, not 17; write: 16",
        ),
        (ClosKind::Rails, &|i| i.tiers = Some(4), "topology.tiers: there are 1 to 3 tiers, not 4; write: 3"),
        (
            ClosKind::Rails,
            &|i| (i.tiers, i.segment) = (Some(1), Some(32)),
            "topology.tiers: with 1 tier nothing joins the leaves of 4 segments; write: tiers = 2, or segment = 128",
        ),
        (
            ClosKind::Rails,
            &|i| (i.tiers, i.segment, i.pod) = (Some(2), Some(32), Some(2)),
            "topology.pod: with 2 tiers nothing joins 2 pods; write: pod = 4, or tiers = 3",
        ),
        (
            ClosKind::Rails,
            &|i| i.cores = Some(3),
            "topology.cores: with 2 tiers there are no cores; write: tiers = 3, which has cores",
        ),
        (
            ClosKind::Rails,
            &|i| (i.tiers, i.cores) = (Some(3), Some(48)),
            "topology.cores: the 4 links up of a spine, of which a group has 32, do not spread evenly over 48 cores; write: \
             32 or 64",
        ),
        (
            ClosKind::MultiPlane,
            &|i| i.spine_group = Some(SpineGroup::Rail),
            "topology.spine_group: the leaves of multi-plane have the NICs of all rails, so no spine has one rail; write: \
             \"pod\"",
        ),
        (
            ClosKind::Rails,
            &|i| (i.uplinks, i.oversubscription) = (Some(8), Some(4.0)),
            "topology.oversubscription: 8 links up are given already, and the oversubscription follows from them; write: \
             nothing: leave oversubscription out",
        ),
        (ClosKind::DcnPlus, &|i| i.nics = Some(0), "topology.nics: nics cannot be 0; write: 1 or more"),
        (
            ClosKind::Rails,
            &|i| (i.servers, i.segment) = (8_000_000, Some(1)),
            "topology.servers: 8000000 servers of 8 NICs have 64000000 NICs in all; write: numbers for 2 to 8388608 NICs",
        ),
    ] {
        assert_eq!(refused(kind, change), expected);
    }
}

#[test]
fn a_resolved_network_is_its_own_default() {
    for kind in [ClosKind::Rails, ClosKind::MultiPlane, ClosKind::Hpn, ClosKind::DcnPlus] {
        for tiers in [1, 2, 3] {
            let Ok(spec) = clos_defaults(kind, &ClosInput { tiers: Some(tiers), ..input(256) }) else {
                continue;
            };
            let again = ClosInput {
                gpus: Some(spec.gpus),
                nics: Some(spec.nics),
                ports: Some(spec.ports),
                gpu_nics: spec.gpu_nics.clone(),
                nvlink_domain: Some(spec.nvlink_domain),
                nvlink: spec.nvlink,
                nvlink_latency: spec.nvlink_latency,
                segment: Some(spec.segment),
                pod: Some(spec.pod),
                tiers: Some(spec.tiers),
                spine_group: spec.spine_group,
                uplinks: Some(spec.uplinks),
                spines: Some(spec.spines),
                core_uplinks: Some(spec.core_uplinks),
                cores: Some(spec.cores),
                uplink: Some(spec.uplink),
                core_link: Some(spec.core_link),
                ..input(spec.servers)
            };
            assert_eq!(clos_defaults(kind, &again).unwrap(), spec, "{kind:?}, {tiers} tiers");
        }
    }
}

#[test]
fn a_specification_is_built_by_its_kind() {
    let spec = clos_defaults(ClosKind::Rails, &input(4)).unwrap();
    let t = build(&TopologySpec::Rails(spec.clone()), None).unwrap();
    assert_eq!((t.hosts, TopologySpec::Rails(spec).hosts()), (32, Some(32)));
}

/// `input` with the keys of a fix, such as `uplinks = 20 and spines = 5`.
fn followed(input: &ClosInput, fix: &str) -> ClosInput {
    let mut other = input.clone();
    let fix = fix.split(" below [topology]").next().unwrap();
    for line in fix.split(", ").flat_map(|part| part.split(" and ")) {
        let (key, value) = line.split_once(" = ").unwrap_or_else(|| panic!("{line}"));
        if key == "spine_group" {
            other.spine_group = Some(SpineGroup::Pod);
            continue;
        }
        let number: u32 = value.parse().unwrap_or_else(|_| panic!("{line}"));
        match key {
            "servers" => other.servers = number,
            "tiers" => other.tiers = Some(number),
            "radix" => other.radix = Some(number),
            "segment" => other.segment = Some(number),
            "pod" => other.pod = Some(number),
            "uplinks" => other.uplinks = Some(number),
            "spines" => other.spines = Some(number),
            "core_uplinks" => other.core_uplinks = Some(number),
            "cores" => other.cores = Some(number),
            _ => panic!("{line}"),
        }
    }
    other
}

#[test]
fn numbers_that_fit_are_accepted() {
    let of = |servers: u32, radix: u32, tiers: Option<u32>| ClosInput {
        radix: Some(radix),
        tiers,
        ..input(servers)
    };
    for (input, fixes) in [
        (ClosInput { nics: Some(72), ..of(8, 64, None) }, "radix = 72"),
        (ClosInput { nics: Some(72), ..of(8, 64, Some(3)) }, "radix = 72"),
        (of(15_000, 64, None), "radix = 492, or radix = 246 and tiers = 3"),
        (of(15_000, 64, Some(3)), "radix = 246"),
        (of(32, 8, None), "radix = 24, or radix = 12 and tiers = 3"),
        (of(32, 8, Some(3)), "radix = 12, or servers = 16"),
        (of(65, 64, Some(1)), "tiers = 2, or radix = 65, or servers = 64"),
        (ClosInput { segment: Some(65), ..of(65, 64, Some(1)) }, "radix = 65"),
        (ClosInput { segment: Some(16), ..of(65, 64, Some(1)) }, "tiers = 2"),
        (ClosInput { spines: Some(1), ..of(64, 64, None) }, "spines = 8, or radix = 512"),
    ] {
        let error = clos_defaults(ClosKind::Rails, &input).unwrap_err().to_string();
        let (_, found) = error.split_once("; write: ").unwrap();
        assert_eq!(found, fixes, "{error}");
        for fix in found.split(", or ") {
            let followed = clos_defaults(ClosKind::Rails, &followed(&input, fix));
            followed.unwrap_or_else(|again| panic!("{error}: {again}"));
        }
    }
}

#[test]
fn better_numbers_are_accepted_and_not_warned_of() {
    let of = |servers: u32, tiers: u32| ClosInput { radix: Some(64), tiers: Some(tiers), ..input(servers) };
    for (input, said) in [
        (
            of(130, 3),
            "each of 104 spines has 20 of its 64 ports in use, and each of 130 cores 8; write: uplinks = 30, spines = 5, \
             core_uplinks = 30 and cores = 30 below [topology]",
        ),
        (
            ClosInput { segment: Some(32), ..of(130, 3) },
            "the last of 5 segments has 2 servers, where the others have 32, and leaves of its own; write: segment = 26, \
             uplinks = 30, spines = 5, core_uplinks = 30 and cores = 30 below [topology], for equal segments, or servers = \
             128",
        ),
        (
            of(1000, 3),
            "the last of 32 segments has 8 servers, where the others have 32, and leaves of its own; write: servers = 992",
        ),
        (
            ClosInput { segment: Some(32), ..of(1000, 3) },
            "the last of 32 segments has 8 servers, where the others have 32, and leaves of its own; write: servers = 992",
        ),
        (
            of(994, 3),
            "the last of 32 segments has 2 servers, where the others have 32, and leaves of its own; write: servers = 992",
        ),
        (
            ClosInput { uplinks: Some(11), ..of(32, 2) },
            "each of 11 spines has 8 of its 64 ports in use; write: uplinks = 12 and spines = 2 below [topology]",
        ),
        (
            ClosInput { segment: Some(17), ..of(33, 2) },
            "each of 17 spines has 16 of its 64 ports in use; write: uplinks = 20 and spines = 5 below [topology]",
        ),
    ] {
        let spec = clos_defaults(ClosKind::Rails, &input).unwrap();
        let warning = spec.sparse_spines(ClosKind::Rails).expect("a warning").to_string();
        let (_, fixes) = warning.split_once("; write: ").unwrap();
        assert_eq!(warning, said);
        for fix in fixes.split(", or ") {
            let spec = clos_defaults(ClosKind::Rails, &followed(&input, fix)).unwrap();
            assert_eq!(spec.sparse_spines(ClosKind::Rails).map(|again| again.to_string()), None, "{warning}");
        }
    }
}
