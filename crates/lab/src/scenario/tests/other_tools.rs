//! Files of SimAI, ASTRA-sim, NCCL, InfraGraph and htsim, from the folder in the environment variable
//! ANABRANCH_PEERS. Each input file is read, or is rejected for a reason that is listed here.

use crate::scenario::tests::Disk;
use crate::scenario::*;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The use of a file in a scenario.
#[derive(Clone, Copy)]
enum Use {
    /// The value of `file` in `[topology]`.
    Topology,
    /// The value of `server` in `[topology]`.
    Server,
    /// The value of `setup`.
    Setup,
    /// The value of `file` in `[workload]` with `format = "simai"`, on 16 hosts. Layers 1 to 12 are run.
    Layers,
    /// The value of `system` in `[workload]`, with these `dims`.
    System(&'static [u32]),
    /// The value of `dims` in `[workload]`, on this number of ranks.
    Dims(u32),
    /// The value of `comm_groups` in `[workload]`, on 16 ranks.
    Groups,
    /// A folder with a Chakra file for each rank: the name of the files without the rank, and the number of ranks.
    Ranks(&'static str, u32),
    /// A file that is not simulator input, with the reason.
    None(&'static str),
}

/// Each entry has a file, its use, and the beginning of the error if the file is rejected. The beginning is empty for a
/// file that is read.
const FILES: &[(&str, Use, &str)] = &[
    ("astra-sim/network/HGX-H100-validated.yml", Use::Topology, ""),
    ("astra-sim/network/Ring_16npus.yml", Use::Topology, ""),
    ("astra-sim/network/Ring_4npus.yml", Use::Topology, ""),
    ("astra-sim/network/Ring_8npus.yml", Use::Topology, ""),
    (
        "astra-sim/network/dgx_v100_8gpu.yml",
        Use::Topology,
        "astra-sim/network/dgx_v100_8gpu.yml:11: \"tbd\" is no bandwidth, a number of GB/s from 0",
    ),
    ("astra-sim/network/hgx_h100_16gpu.yml", Use::Topology, ""),
    ("astra-sim/network/hgx_h100_32gpu.yml", Use::Topology, ""),
    ("astra-sim/network/hgx_h100_8gpu.yml", Use::Topology, ""),
    ("astra-sim/network/tpu_v3_32_2dtorus.yml", Use::Topology, ""),
    ("astra-sim/network/tpu_v3_8.yml", Use::Topology, ""),
    ("astra-sim/ns3/128_nodes_16_switch_topology.txt", Use::Topology, ""),
    ("astra-sim/ns3/8_nodes_1_switch_topology.txt", Use::Topology, ""),
    ("astra-sim/ns3/8nodes_ring_topology.txt", Use::Topology, ""),
    ("astra-sim/ns3/config.txt", Use::None("settings of ns-3, in the form of SimAI.conf"), ""),
    ("astra-sim/ns3/config_doc.txt", Use::None("the documentation of settings of ns-3"), ""),
    ("astra-sim/ns3/sample_16nodes_1D.json", Use::Dims(16), ""),
    ("astra-sim/ns3/sample_16nodes_2D.json", Use::Dims(16), ""),
    ("astra-sim/ns3/sample_4nodes_1D.json", Use::Dims(4), ""),
    ("astra-sim/ns3/sample_8nodes_1D.json", Use::Dims(8), ""),
    ("astra-sim/system/HGX-H100-validated.json", Use::System(&[8]), ""),
    ("astra-sim/system/Ring_4chunks.json", Use::System(&[16]), ""),
    ("astra-sim/system/comm_group_sample.json", Use::Groups, ""),
    (
        "astra-sim/system/custom_collective.json",
        Use::System(&[8]),
        "astra-sim/system/custom_collective.json:4: all-reduce-implementation-custom takes a collective from files of Chakra",
    ),
    ("astra-sim/system/dgx_v100_8gpu.json", Use::System(&[2, 2, 2]), ""),
    ("astra-sim/system/hgx_h100_16gpu.json", Use::System(&[8, 2]), ""),
    ("astra-sim/system/hgx_h100_32gpu.json", Use::System(&[8, 4]), ""),
    ("astra-sim/system/hgx_h100_8gpu.json", Use::System(&[8]), ""),
    (
        "astra-sim/system/no_memory_expansion.json",
        Use::System(&[8]),
        "astra-sim/system/no_memory_expansion.json:2: this file describes a remote memory, which is not simulated",
    ),
    ("astra-sim/system/tpu_v3_32_2dtorus.json", Use::System(&[4, 8]), ""),
    ("astra-sim/system/tpu_v3_8.json", Use::System(&[8]), ""),
    ("astra-sim/workload/all_gather_16npus_1MB", Use::Ranks("all_gather", 16), ""),
    ("astra-sim/workload/all_reduce_16npus_1MB", Use::Ranks("all_reduce", 16), ""),
    ("astra-sim/workload/all_reduce_4npus_1MB", Use::Ranks("all_reduce", 4), ""),
    ("astra-sim/workload/all_to_all_16npus_1MB", Use::Ranks("all_to_all", 16), ""),
    ("astra-sim/workload/all_to_all_4npus_1MB", Use::Ranks("all_to_all", 4), ""),
    ("astra-sim/workload/all_to_all_8npus_1MB", Use::Ranks("all_to_all", 8), ""),
    ("astra-sim/workload/reduce_scatter_16npus_1MB", Use::Ranks("reduce_scatter", 16), ""),
    ("astra-sim/workload/reduce_scatter_4npus_1MB", Use::Ranks("reduce_scatter", 4), ""),
    ("htsim/astra-sim-8nodes.topo", Use::Topology, ""),
    (
        "infragraph/dgxa100.yaml",
        Use::Topology,
        "infragraph/dgxa100.yaml:2: this is an infrastructure of InfraGraph",
    ),
    (
        "infragraph/scaleup-scaleout.yaml",
        Use::Topology,
        "infragraph/scaleup-scaleout.yaml:2: this is an infrastructure of InfraGraph",
    ),
    (
        "infragraph/two-tier-clos-fabric-infrastructure.yaml",
        Use::Topology,
        "infragraph/two-tier-clos-fabric-infrastructure.yaml:2: this is an infrastructure of InfraGraph",
    ),
    (
        "infragraph/two-tier-clos-fabric-server.yaml",
        Use::Topology,
        "infragraph/two-tier-clos-fabric-server.yaml:2: this is an infrastructure of InfraGraph",
    ),
    (
        "infragraph/two-tier-clos-fabric-switch.yaml",
        Use::Topology,
        "infragraph/two-tier-clos-fabric-switch.yaml:2: this is an infrastructure of InfraGraph",
    ),
    ("nccl/allreduce_2x8xH100_EFA3200.csv", Use::None("a table of measurements"), ""),
    ("nccl/azure-ncv4-graph.xml", Use::Server, "nccl/azure-ncv4-graph.xml:1: this is a graph of NCCL"),
    ("nccl/azure-ncv4-topo.xml", Use::Server, "nccl/azure-ncv4-topo.xml:5: this NVLink leads to another GPU"),
    ("nccl/azure-ndv4-topo.xml", Use::Server, "nccl/azure-ndv4-topo.xml:1: this is a hint for NCCL"),
    ("nccl/azure-ndv5-topo.xml", Use::Server, "nccl/azure-ndv5-topo.xml:1: this is a hint for NCCL"),
    ("nccl/ibmcloud-h100-8gpu-topo.xml", Use::Server, ""),
    ("simai/AlibabaHPN_16g_8gps_DualToR_DualPlane_200Gbps_H100.topo", Use::Topology, ""),
    ("simai/AlibabaHPN_16g_8gps_DualToR_SinglePlane_200Gbps_H100.topo", Use::Topology, ""),
    ("simai/DCNpDualToR_16g_8gps_200Gbps_H100.topo", Use::Topology, ""),
    ("simai/DCNpSingleToR_16g_8gps_400Gbps_H100.topo", Use::Topology, ""),
    ("simai/Rail_Opti_SingleToR_16g_4gps_200Gbps_H100.topo", Use::Topology, ""),
    ("simai/Rail_Opti_SingleToR_16g_8gps_200Gbps_H20.topo", Use::Topology, ""),
    ("simai/SimAI.conf", Use::Setup, ""),
    ("simai/Spectrum-X_16g_8gps_400Gbps_H100.topo", Use::Topology, ""),
    ("simai/ata_ratio.csv", Use::None("measured ratios of SimAI's analytical mode"), ""),
    ("simai/busbw.yaml", Use::None("bandwidths of SimAI's analytical mode"), ""),
    ("simai/nic_ratio.csv", Use::None("measured ratios of SimAI's analytical mode"), ""),
    ("simai/nvlink_ratio.csv", Use::None("measured ratios of SimAI's analytical mode"), ""),
    ("simai/workload_G13B-M1-C01_GPT13B_megatron_tp8_pp1_mbs1_A100.txt", Use::Layers, ""),
    ("simai/workload_G175B-M1-C03_GPT175B_megatron_tp8_pp1_mbs1_A100.txt", Use::Layers, ""),
    ("simai/workload_L65B_D1_C08_Llama65B_deepspeed_zero3_A100.txt", Use::Layers, ""),
    ("simai/workload_all_gather.txt", Use::Layers, ""),
    ("simai/workload_all_reduce.txt", Use::Layers, ""),
    ("simai/workload_all_to_all.txt", Use::Layers, ""),
    ("simai/workload_muti_all_reduce.txt", Use::Layers, ""),
];

fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("ANABRANCH_PEERS").map(PathBuf::from);
    if folder.is_none() {
        println!("skipped: ANABRANCH_PEERS is not set");
    }
    folder.map(|folder| folder.join("data/clusters"))
}

/// The files of the folder, and a Chakra trace `job` in which `ranks` ranks do an AllReduce.
struct WithJob {
    disk: Disk,
    ranks: u32,
}

impl WithJob {
    fn bytes(&self, name: &str) -> Result<Vec<u8>, String> {
        std::fs::read(self.disk.0.join(name)).map_err(|error| error.to_string())
    }
}

impl Files for WithJob {
    fn read(&self, name: &str) -> Result<String, String> {
        self.disk.read(name)
    }

    fn read_bytes(&self, name: &str) -> Result<Vec<u8>, String> {
        let rank = name.strip_prefix("job.").and_then(|name| name.strip_suffix(".et")?.parse::<u32>().ok());
        match rank {
            Some(rank) if rank < self.ranks => {
                let of_rank = format!("astra-sim/workload/all_reduce_16npus_1MB/all_reduce.{}.et", rank % 16);
                self.bytes(&of_rank)
            }
            Some(_) => Err("no such rank".to_owned()),
            None => self.bytes(name),
        }
    }
}

const ANY_TRAFFIC: &str = "kind = \"permutation\"\nbytes = \"1KB\"";

/// The topology and the workload with which a file is tested, and the number of ranks of the trace `job` (0 if the
/// workload does not use it). None for a file that is not simulator input.
fn scenario(name: &str, its: Use) -> Option<(String, String, u32)> {
    let switch = |hosts: u32| format!("kind = \"single-switch\"\nhosts = {hosts}\nlink = \"100Gbps\"");
    let trace = |keys: &str| format!("kind = \"trace\"\nformat = \"chakra\"\nfile = \"job\"\n{keys}");
    let ring_system = "system = \"astra-sim/system/Ring_4chunks.json\"";
    Some(match its {
        Use::Topology => (format!("file = \"{name}\""), ANY_TRAFFIC.to_owned(), 0),
        Use::Server => {
            (format!("kind = \"rails\"\nservers = 4\nserver = \"{name}\""), ANY_TRAFFIC.to_owned(), 0)
        }
        Use::Setup => {
            let topology = "file = \"simai/Spectrum-X_16g_8gps_400Gbps_H100.topo\"\nkind = \"graph\"";
            (topology.to_owned(), ANY_TRAFFIC.to_owned(), 0)
        }
        Use::Layers => {
            let keys = "chunk = \"1GB\"\nlayers = [1, 12]";
            let workload = format!("kind = \"trace\"\nformat = \"simai\"\nfile = \"{name}\"\n{keys}");
            (switch(16), workload, 0)
        }
        Use::System(dims) => {
            let ranks = dims.iter().product();
            (switch(ranks), trace(&format!("system = \"{name}\"\ndims = {dims:?}")), ranks)
        }
        Use::Dims(ranks) => {
            let system = match name.contains("2D") {
                true => "system = \"astra-sim/system/hgx_h100_16gpu.json\"",
                false => ring_system,
            };
            (switch(ranks), trace(&format!("{system}\ndims = \"{name}\"")), ranks)
        }
        Use::Groups => (switch(16), trace(&format!("comm_groups = \"{name}\"")), 16),
        Use::Ranks(file, ranks) => {
            let network = format!("file = \"astra-sim/network/Ring_{ranks}npus.yml\"");
            let keys =
                format!("kind = \"trace\"\nformat = \"chakra\"\nfile = \"{name}/{file}\"\n{ring_system}");
            (network, keys, 0)
        }
        Use::None(why) => {
            println!("no input: {name}, {why}");
            return None;
        }
    })
}

#[test]
fn every_file_is_read_or_refused_for_its_reason() {
    let Some(folder) = folder() else { return };
    for &(name, its, refused) in FILES {
        let Some((topology, workload, ranks)) = scenario(name, its) else { continue };
        let scheme = match its {
            Use::Setup => format!("schemes = [\"dcqcn\"]\nsetup = \"{name}\""),
            _ => "schemes = [\"reps\"]".to_owned(),
        };
        let text = format!("{scheme}\nseeds = [1]\n[topology]\n{topology}\n[workload]\n{workload}\n");
        let files = WithJob { disk: Disk(folder.clone()), ranks };
        let checked =
            read("s.toml", &text, &files, &Overrides::default()).and_then(|scenario| scenario.check());
        match checked {
            Ok(_) => assert!(refused.is_empty(), "{name} is read"),
            Err(error) => {
                let error = error.to_string();
                assert!(!refused.is_empty() && error.starts_with(refused), "{name}: {error}");
            }
        }
    }
}

#[test]
fn every_file_of_the_folder_is_in_the_list() {
    let Some(folder) = folder() else { return };
    let listed: BTreeSet<&str> = FILES.iter().map(|(name, ..)| *name).collect();
    let mut there = BTreeSet::new();
    for tool in ["astra-sim/network", "astra-sim/ns3", "astra-sim/system", "astra-sim/workload", "htsim"]
        .into_iter()
        .chain(["infragraph", "nccl", "simai"])
    {
        for file in std::fs::read_dir(folder.join(tool)).unwrap() {
            let name = file.unwrap().file_name().into_string().unwrap();
            there.insert(format!("{tool}/{name}"));
        }
    }
    let there: BTreeSet<&str> = there.iter().map(String::as_str).collect();
    assert_eq!(there, listed);
}

#[test]
fn a_server_of_nccl_gives_its_gpus_nics_and_nvlink() {
    let Some(folder) = folder() else { return };
    let text = |keys: &str| {
        format!(
            "schemes = [\"reps\"]\nseeds = [1]\n[topology]\nkind = \"rails\"\nservers = 4\n\
             server = \"nccl/ibmcloud-h100-8gpu-topo.xml\"\n{keys}\n[workload]\n{ANY_TRAFFIC}\n"
        )
    };
    let built = |keys: &str| resolved_topology(&folder, &text(keys));
    let resolved = built("");
    for says in [
        "gpus = 8\n",
        "nics = 8\n",
        "ports = 1\n",
        "gpu_nics = [7, 6, 5, 4, 3, 2, 1, 0]",
        "link = \"200Gbps\"",
        "nvlink = \"2966400Mbps\"",
        "nvlink_domain = 1",
    ] {
        assert!(resolved.contains(says), "{says}: {resolved}");
    }
    assert!(built("link = \"400Gbps\"").contains("link = \"400Gbps\""));
    assert!(!built("nics = 4\ngpus = 4").contains("gpu_nics"));
}

fn resolved_topology(folder: &Path, text: &str) -> String {
    let scenario = read("s.toml", text, &Disk(folder.to_path_buf()), &Overrides::default()).unwrap();
    scenario.to_toml()
}

#[test]
fn a_configuration_of_simai_is_a_setup() {
    let Some(folder) = folder() else { return };
    let text = format!(
        "schemes = [\"dcqcn\"]\nseeds = [1]\nsetup = \"simai/SimAI.conf\"\n[topology]\n\
         file = \"simai/Spectrum-X_16g_8gps_400Gbps_H100.topo\"\n[workload]\n{ANY_TRAFFIC}\n"
    );
    let disk = Disk(folder);
    let scenario = read("s.toml", &text, &disk, &Overrides::default()).unwrap();
    let resolved = scenario.to_toml();
    // The ECN thresholds are those for 400 Gb/s: 800 and 3,200 kilobytes of 1,000 bytes. 3,200,000 B are 3125 KiB.
    for says in [
        "payload = \"9KB\"",
        "ecn_kmin = \"800KB\"",
        "ecn_kmax = \"3125KiB\"",
        "ecn_pmax = 0.2",
        "buffer = \"32MiB\"",
        "name = \"simai/SimAI.conf\"",
    ] {
        assert!(resolved.contains(says), "{says}: {resolved}");
    }
    let warnings: Vec<String> =
        scenario.check().unwrap().iter().map(|warning| warning.message.clone()).collect();
    for says in ["CC_MODE 1 of simai/SimAI.conf is DCQCN", "GLOBAL_T of simai/SimAI.conf has no effect"] {
        assert!(warnings.iter().any(|warning| warning.contains(says)), "{says}: {warnings:?}");
    }
    let again = read("r.toml", &resolved, &disk, &Overrides::default()).unwrap();
    assert_eq!(again.to_toml(), resolved);
}
