//! Compares fabrics with the link tables, hop counts and path counts of small clusters. These tables are in a folder
//! below the one that the environment variable ANABRANCH_PEERS names.

use super::*;
use crate::shortest_paths::between;
use std::collections::BTreeMap;
use std::path::PathBuf;

const NS: Duration = Duration::from_ns(500);

fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("ANABRANCH_PEERS").map(PathBuf::from);
    if folder.is_none() {
        println!("skipped: ANABRANCH_PEERS is not set");
    }
    folder.map(|folder| folder.join("data/clusters/instances"))
}

fn rows(file: &str) -> Option<Vec<Vec<String>>> {
    let text = std::fs::read_to_string(folder()?.join(file)).unwrap();
    Some(text.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect())
}

fn clos(kind: ClosKind, change: impl Fn(&mut ClosInput), gbps: u64, servers: u32) -> Topology {
    let mut input = ClosInput::new(servers, Rate::from_gbps(gbps), NS, Duration::ZERO);
    change(&mut input);
    let spec = clos_defaults(kind, &input).unwrap();
    let spec = match kind {
        ClosKind::Rails => TopologySpec::Rails(spec),
        ClosKind::MultiPlane => TopologySpec::MultiPlane(spec),
        ClosKind::Hpn => TopologySpec::Hpn(spec),
        ClosKind::DcnPlus => TopologySpec::DcnPlus(spec),
    };
    build(&spec, None).unwrap()
}

fn dragonfly(p: u32, a: u32, h: u32) -> Topology {
    let rate = Rate::from_gbps(400);
    let spec = DragonflySpec {
        hosts_per_router: p,
        routers: a,
        global_links: h,
        router_groups: DragonflySpec::most_groups(a, h),
        link: rate,
        link_latency: NS,
        global_link: rate,
        global_link_latency: Duration::from_ns(2500),
        switch_latency: Duration::ZERO,
        radix: None,
    };
    build(&TopologySpec::Dragonfly(spec), None).unwrap()
}

/// `None` for instances that have only NVLink.
fn instance(name: &str) -> Option<Topology> {
    let link = Rate::from_gbps(400);
    Some(match name {
        "rail_2srv_4gpu" => clos(ClosKind::Rails, |i| i.nics = Some(4), 400, 2),
        "hpn_dual_plane_2seg" => clos(ClosKind::Hpn, |i| (i.nics, i.segment) = (Some(2), Some(4)), 200, 8),
        "multiplane_4x100_8nic" => {
            clos(ClosKind::MultiPlane, |i| (i.nics, i.segment) = (Some(1), Some(4)), 100, 8)
        }
        "mpft_4srv_4gpu" => {
            let apart = Some(SpineGroup::Rail);
            clos(ClosKind::Rails, |i| (i.nics, i.segment, i.spine_group) = (Some(4), Some(2), apart), 400, 4)
        }
        "dragonfly_p1a2h1" => dragonfly(1, 2, 1),
        "dragonfly_p2a4h2" => dragonfly(2, 4, 2),
        "torus_4x4" => {
            let spec = TorusSpec {
                dims: vec![4, 4],
                link,
                link_latency: NS,
                host_link: Rate(4 * link.0),
                host_link_latency: Duration::ZERO,
                switch_latency: Duration::ZERO,
                radix: None,
            };
            build(&TopologySpec::Torus(spec), None).unwrap()
        }
        "fullmesh_8" => {
            let spec = FullMeshSpec {
                tors: 8,
                hosts_per_tor: 1,
                link,
                link_latency: NS,
                host_link: Rate(7 * link.0),
                host_link_latency: Duration::ZERO,
                switch_latency: Duration::ZERO,
                radix: None,
            };
            build(&TopologySpec::FullMesh(spec), None).unwrap()
        }
        "h100_nvlink_8gpu" | "nvl72" => return None,
        _ => panic!("an instance without a topology: {name}"),
    })
}

/// The name in this simulator of a node that the tables call `name`.
fn own_name(instance: &str, name: &str) -> String {
    let numbers: Vec<u32> =
        name.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect();
    match (instance, &numbers[..]) {
        (_, [server, nic])
            if name.starts_with('s') && !name.starts_with("seg") && !name.starts_with("spine") =>
        {
            format!("server:{server}/nic:{nic}")
        }
        ("torus_4x4" | "fullmesh_8", [host]) => format!("tor:{host}"),
        ("multiplane_4x100_8nic", [host]) => format!("server:{host}/nic:0"),
        (_, [host]) if name.starts_with('h') => format!("host:{host}"),
        ("rail_2srv_4gpu", [leaf]) if name.starts_with("leaf") => format!("tor:{leaf}"),
        ("rail_2srv_4gpu", [spine]) => format!("spine:{spine}"),
        ("hpn_dual_plane_2seg", [segment, rail, plane]) => {
            format!("plane:{plane}/tor:{}", segment * 2 + rail)
        }
        ("hpn_dual_plane_2seg", [plane, agg]) => format!("plane:{plane}/spine:{agg}"),
        ("multiplane_4x100_8nic", [plane, leaf]) if name.contains("leaf") => {
            format!("plane:{plane}/tor:{leaf}")
        }
        ("multiplane_4x100_8nic", [plane, spine]) => format!("plane:{plane}/spine:{spine}"),
        ("mpft_4srv_4gpu", [plane, leaf]) if name.contains("leaf") => format!("tor:{}", leaf * 4 + plane),
        ("mpft_4srv_4gpu", [plane, spine]) => format!("spine:{}", plane * 2 + spine),
        ("dragonfly_p1a2h1", [group, router]) => format!("tor:{}", group * 2 + router),
        ("dragonfly_p2a4h2", [group, router]) => format!("tor:{}", group * 4 + router),
        _ => panic!("no name for {name} of {instance}"),
    }
}

/// The number of parallel cables, by their ends, their rate and their latency.
type Cables = BTreeMap<([String; 2], u64, Duration), u32>;

fn add(cables: &mut Cables, mut ends: [String; 2], gbps: u64, latency: Duration, count: u32) {
    ends.sort();
    *cables.entry((ends, gbps, latency)).or_default() += count;
}

#[test]
fn every_instance_has_its_cables() {
    let Some(folder) = folder() else { return };
    let files =
        std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    for name in files.filter_map(|file| file.strip_suffix(".csv").map(str::to_owned)) {
        if name == "expected_paths" {
            continue;
        }
        let Some(t) = instance(&name) else {
            println!("left to NVLink: {name}");
            continue;
        };
        let (mut theirs, mut ours) = (Cables::new(), Cables::new());
        for row in rows(&format!("{name}.csv")).unwrap().iter().filter(|row| row[6] != "nvlink") {
            let number = |column: usize| row[column].parse::<u64>().unwrap();
            let ends = [0, 1].map(|end| own_name(&name, &row[end]));
            add(&mut theirs, ends, number(2), Duration::from_ns(number(3)), number(4) as u32);
        }
        let direct = name == "torus_4x4" || name == "fullmesh_8";
        for link in (0..t.links()).map(LinkId).filter(|&link| link < t.reverse(link)) {
            let (node, port) = (t.source(link), &t.ports[link.index()]);
            // An NPU that forwards packets is represented by a host and the host's own switch. The link between them
            // is not in the table.
            if !direct || node.0 >= t.hosts {
                let ends = [node, port.peer].map(|node| t.node_name(node));
                add(&mut ours, ends, port.rate.0 / 1_000_000_000, port.latency, 1);
            }
        }
        assert_eq!(ours, theirs, "{name}");
    }
}

#[test]
fn every_instance_has_its_hops_and_paths() {
    let Some(rows) = rows("expected_paths.csv") else { return };
    for row in rows {
        let [name, from, to, over, links, paths] = &row[..] else { panic!("{row:?}") };
        let Some(t) = instance(name) else {
            println!("left to NVLink: {row:?}");
            continue;
        };
        let node = |theirs: &str| {
            let name = match name.as_str() {
                "torus_4x4" | "fullmesh_8" => theirs.replace('h', "host:"),
                _ => own_name(name, theirs),
            };
            let found = (0..t.nodes()).map(NodeId).find(|node| t.node_name(*node) == name);
            found.unwrap_or_else(|| panic!("no {name}"))
        };
        let (from, to) = (node(from), node(to));
        let expected = links.parse().ok().map(|links: usize| (links, paths.parse::<usize>().unwrap()));
        match over.as_str() {
            "nvlink" => println!("left to NVLink: {row:?}"),
            "fabric" => assert_eq!(between(&t, HostId(from.0), HostId(to.0)), expected, "{row:?}"),
            "hosts forward" => {
                // The table does not count the links between the two hosts and their own switches.
                let own = between(&t, HostId(from.0), HostId(to.0)).map(|(links, paths)| (links - 2, paths));
                assert_eq!(own, expected, "{row:?}");
            }
            _ => {
                let routing = Routing::new(&t, &|_| true);
                let distance = routing.distance(&t, from.0 - t.hosts, to.0 - t.hosts);
                assert_eq!((distance, expected), (None, None), "{row:?}");
            }
        }
    }
}
