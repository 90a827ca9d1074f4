//! Topology files of NCCL (`NCCL_TOPO_DUMP_FILE`): the GPUs, NICs and NVLinks of one server.
//!
//! The elements are `system > cpu > pci > gpu > nvlink` and `... > nic > net`. A `net` is a port. Ports with the same
//! `rail` belong to one NIC. Without `rail`, the ports of one `nic` element belong to one NIC. The ports of a NIC are
//! ordered by `plane`, or else by their number `dev`. NICs are ordered by `rail`, or else by the smallest `dev` of
//! their ports. A GPU uses the NIC with which it shares the longest path of elements. If several GPUs have the same
//! nearest NICs, these NICs are assigned to these GPUs in rotation.

#[cfg(test)]
mod tests;

use super::MOST_HOST_PORTS;
use super::error::TopologyError;
use anabranch_base::{Problem, Rate};
use roxmltree::{Document, Node};
use std::collections::BTreeMap;

/// A server as an NCCL file describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NcclServer {
    /// The number of GPUs.
    pub gpus: u32,
    /// The number of NICs.
    pub nics: u32,
    /// The number of ports of each NIC.
    pub ports: u32,
    /// The rate of each port.
    pub link: Rate,
    /// The NIC of each GPU.
    pub gpu_nics: Vec<u32>,
    /// The total rate of a GPU's links to NVSwitches, as NCCL computes it; `None` without such links.
    pub nvlink: Option<Rate>,
}

/// The device class that NCCL gives for an NVSwitch at the other end of an NVLink.
const TO_NVSWITCH: &str = "0x068000";

/// The rate that NCCL assumes for an NVLink, in megabits per second, by compute capability (`src/graph/topo.h`).
fn nvlink_mbps(sm: u64) -> u64 {
    match sm {
        86 => 96_000,
        60..70 => 144_000,
        90..100 => 164_800,
        100.. => 320_800,
        _ => 160_000,
    }
}

struct Nic<'a> {
    /// The value of `rail`, or else the smallest `dev` of the ports.
    order: u64,
    /// The ports, by `plane`, or else by `dev`.
    ports: Vec<(u64, Node<'a, 'a>)>,
}

/// Reads an NCCL file.
///
/// # Errors
/// The file is not XML, has another root than `<system>`, or lacks GPUs or NICs; an attribute is missing or wrong; a
/// GPU, or a plane of a NIC, occurs twice; NICs or GPUs differ from each other, or a NIC has too many ports; or
/// NVLinks connect GPUs directly. The error has the file and the line.
pub fn parse_nccl(file: &str, text: &str) -> Result<NcclServer, TopologyError> {
    let document = Document::parse(text).map_err(|error| {
        let line = error.pos().row as usize;
        TopologyError::file(file, line, format!("this is no XML: {error}"))
    })?;
    let reader = Reader { file, document: &document };
    let root = document.root_element();
    match root.tag_name().name() {
        "system" => {}
        "graphs" => {
            let problem = Problem::with_text(
                "this is a graph of NCCL (NCCL_GRAPH_DUMP_FILE), which has channels and no topology",
                "the file of NCCL_TOPO_DUMP_FILE in its place",
            );
            return Err(reader.at(root, problem));
        }
        other => {
            let problem = format!("a topology of NCCL begins with <system>, and this file with <{other}>");
            return Err(reader.at(root, problem));
        }
    }
    let gpus = reader.gpus(root)?;
    let nics = reader.nics(root)?;
    if gpus.is_empty() || nics.is_empty() {
        let missing = match (gpus.is_empty(), nics.is_empty()) {
            (true, true) => "gpu nor nic",
            (true, false) => "gpu",
            _ => "net",
        };
        let neither = if missing.contains("nor") { "neither" } else { "no" };
        let problem = Problem::with_text(
            format!(
                "this is a hint for NCCL (NCCL_TOPO_FILE), with {neither} {missing} elements, which NCCL adds when it runs"
            ),
            "the file that NCCL_TOPO_DUMP_FILE=server.xml makes there in its place, or gpus, nics and link without server",
        );
        return Err(reader.at(root, problem));
    }
    let (ports, link) = reader.ports_and_rate(&nics)?;
    Ok(NcclServer {
        gpus: gpus.len() as u32,
        nics: nics.len() as u32,
        ports,
        link,
        gpu_nics: gpu_nics(&gpus, &nics),
        nvlink: reader.nvlink(&gpus)?,
    })
}

struct Reader<'a> {
    file: &'a str,
    document: &'a Document<'a>,
}

impl<'a> Reader<'a> {
    fn line(&self, node: Node) -> usize {
        self.document.text_pos_at(node.range().start).row as usize
    }

    fn at(&self, node: Node, problem: impl Into<Problem>) -> TopologyError {
        TopologyError::file(self.file, self.line(node), problem)
    }

    /// The value of a numeric attribute, decimal or hexadecimal; `None` if the attribute is missing.
    fn number(&self, node: Node, name: &str) -> Result<Option<u64>, TopologyError> {
        let Some(word) = node.attribute(name) else { return Ok(None) };
        let number = match word.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => word.parse().ok(),
        };
        number.map(Some).ok_or_else(|| self.at(node, format!("{name} is a whole number, not {word:?}")))
    }

    fn needed(&self, node: Node, name: &str) -> Result<u64, TopologyError> {
        let tag = node.tag_name().name();
        self.number(node, name)?.ok_or_else(|| self.at(node, format!("{name} of this {tag} is missing")))
    }

    fn gpus(&self, root: Node<'a, 'a>) -> Result<Vec<Node<'a, 'a>>, TopologyError> {
        let mut gpus = BTreeMap::new();
        for gpu in root.descendants().filter(|node| node.has_tag_name("gpu")) {
            let dev = self.needed(gpu, "dev")?;
            if gpus.insert(dev, gpu).is_some() {
                return Err(self.at(gpu, format!("GPU {dev} is there for the second time")));
            }
        }
        Ok(gpus.into_values().collect())
    }

    fn nics(&self, root: Node<'a, 'a>) -> Result<Vec<Nic<'a>>, TopologyError> {
        // The key of a NIC is its rail, or else its `nic` element.
        let mut nics: BTreeMap<(bool, u64), Nic<'a>> = BTreeMap::new();
        for (element, nic) in (0..).zip(root.descendants().filter(|node| node.has_tag_name("nic"))) {
            for net in nic.children().filter(|node| node.has_tag_name("net")) {
                let (dev, rail) = (self.needed(net, "dev")?, self.number(net, "rail")?);
                let key = rail.map_or((true, element), |rail| (false, rail));
                let nic = nics.entry(key).or_insert(Nic { order: rail.unwrap_or(dev), ports: Vec::new() });
                nic.order = nic.order.min(rail.unwrap_or(dev));
                let plane = self.number(net, "plane")?.unwrap_or(dev);
                if nic.ports.iter().any(|(other, _)| *other == plane) {
                    return Err(self.at(net, format!("another port of this NIC is in plane {plane} too")));
                }
                nic.ports.push((plane, net));
            }
        }
        let mut nics: Vec<Nic> = nics.into_values().collect();
        nics.iter_mut().for_each(|nic| nic.ports.sort_by_key(|(plane, _)| *plane));
        nics.sort_by_key(|nic| nic.order);
        Ok(nics)
    }

    /// The number of ports of a NIC and the rate of a port, which must be equal for all NICs.
    fn ports_and_rate(&self, nics: &[Nic<'a>]) -> Result<(u32, Rate), TopologyError> {
        let first = nics[0].ports[0].1;
        let (ports, mbps) = (nics[0].ports.len(), self.needed(first, "speed")?);
        let first_line = self.line(first);
        for nic in nics {
            if nic.ports.len() != ports {
                let problem = format!(
                    "this NIC has {} ports, and that of line {first_line} {ports}; NICs of a server must be equal",
                    nic.ports.len()
                );
                return Err(self.at(nic.ports[0].1, problem));
            }
            for (_, net) in &nic.ports {
                let other = self.needed(*net, "speed")?;
                if other != mbps || other == 0 {
                    let problem = format!(
                        "this port has {other} Mb/s, and that of line {first_line} {mbps}; ports must have equal rates above 0"
                    );
                    return Err(self.at(*net, problem));
                }
            }
        }
        if ports > usize::from(MOST_HOST_PORTS) {
            let problem = format!("a NIC has at most {MOST_HOST_PORTS} ports, not {ports}");
            return Err(self.at(first, problem));
        }
        Ok((ports as u32, Rate(mbps.saturating_mul(1_000_000))))
    }

    fn nvlink(&self, gpus: &[Node<'a, 'a>]) -> Result<Option<Rate>, TopologyError> {
        let mut first: Option<(u64, usize)> = None;
        for &gpu in gpus {
            let mut count = 0_u64;
            for nvlink in gpu.children().filter(|node| node.has_tag_name("nvlink")) {
                if nvlink.attribute("tclass").unwrap_or(TO_NVSWITCH) != TO_NVSWITCH {
                    let problem = Problem::with_text(
                        "this NVLink leads to another GPU, and NVLinks are simulated through NVSwitches alone, between which \
                         every GPU reaches every other at its full rate",
                        "gpus, nics and link into [topology] in place of server",
                    );
                    return Err(self.at(nvlink, problem));
                }
                count = count.saturating_add(self.needed(nvlink, "count")?);
            }
            let mbps = count.saturating_mul(nvlink_mbps(self.number(gpu, "sm")?.unwrap_or(0)));
            let (expected, line) = *first.get_or_insert((mbps, self.line(gpu)));
            if mbps != expected {
                let problem = format!(
                    "the NVLinks of this GPU carry {mbps} Mb/s, and those of the GPU of line {line} {expected}; GPUs of a server \
                     must be equal"
                );
                return Err(self.at(gpu, problem));
            }
        }
        Ok(first.filter(|(mbps, _)| *mbps > 0).map(|(mbps, _)| Rate(mbps.saturating_mul(1_000_000))))
    }
}

/// The number of elements that contain both the GPU and the port.
fn shared_depth(gpu: Node, net: Node) -> usize {
    let of_gpu: Vec<usize> = gpu.ancestors().map(|node| node.range().start).collect();
    net.ancestors().skip(1).filter(|node| of_gpu.contains(&node.range().start)).count()
}

fn gpu_nics(gpus: &[Node], nics: &[Nic]) -> Vec<u32> {
    let nearest = |gpu: &Node| -> Vec<u32> {
        let depths: Vec<usize> = nics.iter().map(|nic| shared_depth(*gpu, nic.ports[0].1)).collect();
        let most = depths.iter().max().copied().unwrap_or(0);
        (0..).zip(&depths).filter(|(_, depth)| **depth == most).map(|(nic, _)| nic).collect()
    };
    let mut taken: BTreeMap<Vec<u32>, usize> = BTreeMap::new();
    let choose = |gpu: &Node| {
        let near = nearest(gpu);
        let turn = taken.entry(near.clone()).or_insert(0);
        *turn += 1;
        near[(*turn - 1) % near.len()]
    };
    gpus.iter().map(choose).collect()
}
