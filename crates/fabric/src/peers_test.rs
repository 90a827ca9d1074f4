//! Reads the published topology files from the folder that the environment variable ANABRANCH_PEERS names.

use super::*;
use crate::{TierSpec, TopologySpec};
use std::path::PathBuf;

fn data() -> Option<PathBuf> {
    let folder = std::env::var_os("ANABRANCH_PEERS").map(|folder| PathBuf::from(folder).join("data"));
    if folder.is_none() {
        println!("skipped: ANABRANCH_PEERS is not set");
    }
    folder
}

/// File name, hosts, tiers, oversubscription, hosts per ToR if not the default, rate in Gb/s, and the number of
/// switches of each tier.
type Row = (&'static str, u32, u32, u32, Option<u32>, u64, [usize; 3]);

const FILES: &[Row] = &[
    ("leaf_spine_tiny", 32, 2, 4, Some(8), 100, [4, 2, 0]),
    ("fat_tree_128_1os_2t_400g", 128, 2, 1, None, 400, [16, 8, 0]),
    ("fat_tree_1024_1os_2t_400g", 1024, 2, 1, None, 400, [32, 32, 0]),
    ("leaf_spine_1024", 1024, 2, 1, None, 100, [32, 32, 0]),
    ("leaf_spine_1024_oversub", 1024, 2, 4, None, 100, [32, 8, 0]),
    ("leaf_spine_8192_400g", 8192, 2, 1, None, 400, [128, 64, 0]),
    ("leaf_spine_8192_400g_4_to_1", 8192, 2, 4, None, 400, [128, 16, 0]),
    ("fat_tree_128_1os", 128, 3, 1, None, 100, [32, 32, 16]),
    ("fat_tree_128_1os_3t_400g", 128, 3, 1, None, 400, [32, 32, 16]),
    ("fat_tree_1024_1os", 1024, 3, 1, None, 200, [128, 128, 64]),
];

#[test]
fn htsim_files_have_their_exact_shapes_which_are_the_default_ones() {
    let Some(data) = data() else { return };
    for &(name, hosts, tiers, oversubscription, hosts_per_tor, gbps, counts) in FILES {
        let file = data.join("htsim").join(format!("{name}.topo"));
        let spec = parse_topo(name, &std::fs::read_to_string(file).unwrap()).unwrap();

        let (link, us) = (Rate::from_gbps(gbps), Duration::from_us(1));
        let (tier, pod_hosts): (Vec<TierSpec>, u32) =
            fat_tree_defaults(hosts, tiers, oversubscription, hosts_per_tor, link, us, Duration::ZERO)
                .unwrap();
        assert_eq!(spec, TopologySpec::FatTree { hosts, tier, pod_hosts }, "{name}");

        let t = build(&spec, None).unwrap();
        assert_eq!([1, 2, 3].map(|tier| t.tier_range(tier).len()), counts, "{name}");
        assert!(t.is_connected(), "{name}");
        let path = t.longest_path(&Routing::new(&t, &|_| true));
        assert_eq!(path.len(), 2 * tiers as usize, "{name}");
    }
    let there = std::fs::read_dir(data.join("htsim")).unwrap();
    let topos = there.filter(|f| f.as_ref().unwrap().path().extension().is_some_and(|e| e == "topo")).count();
    assert_eq!(topos, FILES.len(), "a file is not held against its shape");
}

#[test]
fn the_ns3_file_is_a_leaf_spine() {
    let Some(data) = data() else { return };
    let name = "leaf_spine_128_100G_OS2.txt";
    let text = std::fs::read_to_string(data.join("ns3").join(name)).unwrap();
    let spec = TopologySpec::Graph { file: name.into(), switch_latency: Duration::from_ns(1) };
    let t = build(&spec, Some(&text)).unwrap();
    assert_eq!((t.hosts, t.links()), (128, 2 * 192));
    assert_eq!([1, 2].map(|tier| t.tier_range(tier).len()), [8, 8]);
    assert_eq!(t.top_tier(), 2);
    assert_eq!(t.tor_of(HostId(127), 0), NodeId(128 + 7));
    let routing = Routing::new(&t, &|_| true);
    assert_eq!(routing.group(0, 7).len(), 8);
    assert_eq!(t.longest_path(&routing).len(), 4);
}

/// File name, header, cables, rate of NVLink in Gb/s, planes, and the numbers of links and of equal paths from GPU 0
/// to GPUs 8 and 9 over the fabric.
type SimAiRow = (&'static str, &'static str, u32, Option<u64>, u16, [(usize, usize); 2]);

const SIMAI: &[SimAiRow] = &[
    ("Spectrum-X_16g_8gps_400Gbps_H100", "30 8 2 12 64", 48, Some(2880), 1, [(2, 1), (4, 4)]),
    (
        "AlibabaHPN_16g_8gps_DualToR_DualPlane_200Gbps_H100",
        "38 8 2 20 80",
        64,
        Some(2880),
        2,
        [(2, 2), (4, 4)],
    ),
    (
        "AlibabaHPN_16g_8gps_DualToR_SinglePlane_200Gbps_H100",
        "38 8 2 20 112",
        96,
        Some(2880),
        1,
        [(2, 2), (4, 16)],
    ),
    ("DCNpDualToR_16g_8gps_200Gbps_H100", "24 8 2 6 56", 40, Some(2880), 1, [(4, 8), (4, 8)]),
    ("DCNpSingleToR_16g_8gps_400Gbps_H100", "22 8 2 4 36", 20, Some(2880), 1, [(4, 2), (4, 2)]),
    ("Rail_Opti_SingleToR_16g_8gps_200Gbps_H20", "34 8 2 16 96", 80, Some(900), 1, [(2, 1), (4, 8)]),
    ("Rail_Opti_SingleToR_16g_4gps_200Gbps_H100", "22 4 0 6 24", 24, None, 1, [(2, 1), (4, 2)]),
];

#[test]
fn topologies_of_simai_have_their_counts_and_paths() {
    let Some(data) = data() else { return };
    let folder = data.join("clusters/simai");
    for &(name, header, cables, nvlink, planes, paths) in SIMAI {
        let text = std::fs::read_to_string(folder.join(format!("{name}.topo"))).unwrap();
        assert!(text.starts_with(header), "{name}");
        let of_server = header.split(' ').nth(1).unwrap().parse::<u32>().unwrap();
        let spec = TopologySpec::Graph { file: name.into(), switch_latency: Duration::ZERO };
        let t = build(&spec, Some(&text)).unwrap();
        assert_eq!((t.hosts, t.links(), t.plane_count()), (16, 2 * cables, planes), "{name}");
        let servers = t.servers.as_ref().unwrap();
        assert_eq!((servers.count(), servers.gpus()), (16 / of_server, 16), "{name}");
        let latency = Duration::from_ns(50);
        let nvlink = nvlink.map(|gbps| NvLink { rate: Rate::from_gbps(gbps), latency });
        assert_eq!(servers.nvlink, nvlink, "{name}");
        let domains = [0, 7, 8].map(|gpu| servers.domain_of(servers.server_of_gpu(gpu)));
        assert_eq!((domains[0] == domains[1], domains[0] == domains[2]), (of_server == 8, false), "{name}");
        let between = [8, 9].map(|gpu| crate::shortest_paths::between(&t, HostId(0), HostId(gpu)));
        assert_eq!(between, paths.map(Some), "{name}");
        // The two ToRs of a NIC reach each other unless they are in different planes.
        if t.host_ports(HostId(0)) == 2 {
            let tors = [0, 1].map(|port| t.tor_of(HostId(0), port).0 - t.hosts);
            let routing = Routing::new(&t, &|_| true);
            assert_eq!(routing.distance(&t, tors[0], tors[1]).is_some(), planes == 1, "{name}");
        }
    }
    let there = std::fs::read_dir(folder).unwrap();
    let topos = there.filter(|f| f.as_ref().unwrap().path().extension().is_some_and(|e| e == "topo")).count();
    assert_eq!(topos, SIMAI.len(), "a file is not held against its counts");
}
