//! Network files of ASTRA-sim's analytical backends, in YAML or JSON. All links of a dimension are equal.
//!
//! Each of the lists `topology`, `npus_count`, `bandwidth` and `latency` has an entry per dimension. Dimension 0
//! varies fastest: with the dimensions `[8, 4]`, NPU `r` is at `(r mod 8, r div 8)`. A gigabyte is 2^30 bytes. The
//! latency is the latency of one link. In a dimension of kind `Switch`, the path between two NPUs has two links.

#[cfg(test)]
mod tests;

use super::assemble::{Cable, MAX_LINKS, MAX_PORTS, MAX_ROUTES, assemble};
use super::error::TopologyError;
use super::yaml::{YamlDocument, YamlNode};
use super::{Switch, Topology};
use anabranch_base::{Duration, NodeId, Problem, Rate};

/// The network that a file describes.
#[derive(Clone, Debug, PartialEq)]
pub struct AstraNetwork {
    /// The dimensions, beginning with the one that varies fastest.
    pub dims: Vec<AstraDimension>,
}

/// A dimension of a network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AstraDimension {
    /// The links among the NPUs that differ in this dimension alone.
    pub shape: AstraShape,
    /// The number of NPUs that differ in this dimension alone.
    pub npus: u32,
    /// The rate of a link per direction.
    pub link: Rate,
    /// The latency of a link.
    pub latency: Duration,
}

/// The links of a dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AstraShape {
    /// A link from each NPU to the next one, and from the last one to the first. A ring of two NPUs has one link.
    Ring,
    /// A link between every two NPUs.
    FullyConnected,
    /// A link from each NPU to a switch.
    Switch,
}

impl AstraShape {
    const ALL: [(&'static str, AstraShape); 3] = [
        ("Ring", AstraShape::Ring),
        ("FullyConnected", AstraShape::FullyConnected),
        ("Switch", AstraShape::Switch),
    ];
}

/// The number of bits per second in one GB/s of ASTRA-sim.
const GIGABYTE: f64 = (8_u64 << 30) as f64;

const MOST_NPUS: u64 = 1 << 17;

/// Whether a file of this name is read as a network of ASTRA-sim.
pub fn is_astra_network(file: &str) -> bool {
    [".yml", ".yaml", ".json"].iter().any(|end| file.ends_with(end))
}

/// Reads a network file.
///
/// # Errors
/// The text is another kind of file or lacks a list. A list does not have the length of `topology`. A topology is
/// unknown, a number is out of range, or the number of NPUs is too small or too large. The error has the file and the
/// line.
pub fn parse_astra(file: &str, text: &str) -> Result<AstraNetwork, TopologyError> {
    let document = YamlDocument::read(file, text)?;
    if let Some(dims) = document.get("logical-dims") {
        let problem = Problem::with_text(
            "these are the logical dimensions of collectives, without links",
            "the file of its physical topology in its place",
        );
        return Err(document.at(dims.line, problem));
    }
    if let Some(node) = ["devices", "infrastructure", "instances"].iter().find_map(|key| document.get(key)) {
        let problem = Problem::with_text(
            "this is an infrastructure of InfraGraph, which is not read: its present form is another than that of its published \
             examples",
            "kind = \"rails\" into the scenario, with the numbers of this file",
        );
        return Err(document.at(node.line, problem));
    }
    let shapes = document.list("topology", "[ Ring ]")?;
    let count = shapes.len();
    let of = |key: &str, example: &str| -> Result<Vec<YamlNode>, TopologyError> {
        let list = document.list(key, example)?;
        if list.len() == count {
            return Ok(list);
        }
        let message =
            format!("{key} has {} entries, and topology has {count}: one for each dimension", list.len());
        Err(document.at(document.get(key).map_or(1, |node| node.line), message))
    };
    let npus = of("npus_count", "[ 8 ]")?;
    let bandwidths = of("bandwidth", "[ 50.0 ]")?;
    let latencies = of("latency", "[ 500.0 ]")?;
    let mut dims = Vec::with_capacity(count);
    for (((shape, npus), bandwidth), latency) in shapes.iter().zip(&npus).zip(&bandwidths).zip(&latencies) {
        let bits = document.number(bandwidth, "bandwidth", "GB/s")? * GIGABYTE;
        let ps = document.number(latency, "latency", "ns")? * 1e3;
        if bits < 1.0 || bits > u64::MAX as f64 {
            let problem =
                format!("a link with the bandwidth {} GB/s carries nothing or too much", bandwidth.text);
            return Err(document.at(bandwidth.line, problem));
        }
        dims.push(AstraDimension {
            shape: shape_of(&document, shape)?,
            npus: npus_of(&document, npus)?,
            link: Rate(bits.round() as u64),
            latency: Duration(ps.round() as u64),
        });
    }
    let network = AstraNetwork { dims };
    let all = network.dims.iter().fold(1_u64, |all, dim| all.saturating_mul(u64::from(dim.npus)));
    if !(2..=MOST_NPUS).contains(&all) {
        let message = format!("{all} NPUs are not simulated: 2 to {MOST_NPUS}");
        return Err(document.at(npus[0].line, message));
    }
    Ok(network)
}

/// Reads the logical dimensions of ASTRA-sim's ns-3 backend: `{"logical-dims": ["8", "2"]}`.
///
/// # Errors
/// The text is another kind of file, lacks the list, or has a dimension that is not a whole number from 1. The error
/// has the file and the line.
pub fn parse_logical_dims(file: &str, text: &str) -> Result<Vec<u32>, TopologyError> {
    let document = YamlDocument::read(file, text)?;
    let dims = document.list("logical-dims", "[\"8\", \"2\"]")?;
    dims.iter().map(|dim| npus_of(&document, dim)).collect()
}

fn shape_of(document: &YamlDocument<'_>, node: &YamlNode) -> Result<AstraShape, TopologyError> {
    let known = AstraShape::ALL.iter().find(|(name, _)| *name == node.text);
    known.map(|(_, shape)| *shape).ok_or_else(|| {
        let near = AstraShape::ALL.iter().find(|(name, _)| name.eq_ignore_ascii_case(&node.text));
        let message = format!("{:?} is no topology of ASTRA-sim: Ring, FullyConnected or Switch", node.text);
        let problem = match near {
            Some((name, _)) => Problem::with_value(message, name),
            None => message.into(),
        };
        document.at(node.line, problem)
    })
}

fn npus_of(document: &YamlDocument<'_>, node: &YamlNode) -> Result<u32, TopologyError> {
    node.text.parse().ok().filter(|npus| *npus > 0).ok_or_else(|| {
        let message = format!("{:?} is no number of NPUs, a whole number from 1", node.text);
        document.at(node.line, message)
    })
}

impl AstraNetwork {
    /// The number of NPUs.
    pub fn npus(&self) -> u32 {
        self.dims.iter().map(|dim| dim.npus).product()
    }

    /// The coordinates of an NPU, one in each dimension.
    pub fn place(&self, npu: u32) -> Vec<u32> {
        let mut rest = npu;
        let place = |dim: &AstraDimension| {
            let place = rest % dim.npus;
            rest /= dim.npus;
            place
        };
        self.dims.iter().map(place).collect()
    }

    /// The fabric, whose hosts are the NPUs. If the only dimension is a `Switch`, all NPUs are on that switch. In other
    /// networks the NPUs forward packets, which hosts never do. Each host therefore gets a switch of its own without
    /// latency. The link between a host and its own switch has no latency either, and its rate is the sum of the rates
    /// of the switch's other links.
    ///
    /// # Errors
    /// The network has more links, more routes, or more ports of a switch than can be simulated.
    pub(super) fn topology(&self, file: &str, switch_latency: Duration) -> Result<Topology, TopologyError> {
        let hosts = self.npus();
        let switch = |tier: u8, index: u32, latency| Switch { tier, index, latency, file_id: None };
        if let [dim] = &self.dims[..]
            && dim.shape == AstraShape::Switch
        {
            let cables: Vec<Cable> = (0..hosts).map(|host| dim.cable(host, hosts)).collect();
            self.check_size(file, &cables, 1)?;
            let topology = assemble(hosts, vec![switch(1, 0, switch_latency)], &cables, Vec::new());
            return Ok(Topology { dims: self.sizes(), ..topology });
        }
        let (mut cables, next_switch) = self.links(hosts);
        let mut rates = vec![0_u64; hosts as usize];
        for end in cables.iter().flat_map(|cable| cable.ends.map(|end| (end, cable.rate))) {
            if let Some(rate) = rates.get_mut((end.0.0 - hosts) as usize) {
                *rate = rate.saturating_add(end.1.0);
            }
        }
        let to_hosts = (0..hosts).zip(rates).map(|(host, rate)| Cable {
            ends: [NodeId(host), NodeId(hosts + host)],
            rate: Rate(rate),
            latency: Duration::ZERO,
            loss: 0.0,
        });
        cables.extend(to_hosts);
        let own = (0..hosts).map(|index| switch(1, index, Duration::ZERO));
        let switches = own.chain((0..next_switch - 2 * hosts).map(|index| switch(2, index, switch_latency)));
        self.check_size(file, &cables, next_switch - hosts)?;
        let topology = assemble(hosts, switches.collect(), &cables, Vec::new());
        Ok(Topology { dims: self.sizes(), ..topology })
    }

    fn sizes(&self) -> Vec<u32> {
        self.dims.iter().map(|dim| dim.npus).collect()
    }

    /// The links of all dimensions, and the number of nodes. The nodes are numbered in this order: the hosts, the
    /// hosts' own switches, and the switches of dimensions.
    fn links(&self, hosts: u32) -> (Vec<Cable>, u32) {
        let mut cables = Vec::new();
        let mut next_switch = 2 * hosts;
        let mut stride = 1;
        for dim in &self.dims {
            for first in (0..hosts).filter(|npu| npu / stride % dim.npus == 0) {
                let own = |place: u32| hosts + first + place * stride;
                match dim.shape {
                    _ if dim.npus == 1 => {}
                    AstraShape::Switch => {
                        cables.extend((0..dim.npus).map(|place| dim.cable(own(place), next_switch)));
                        next_switch += 1;
                    }
                    AstraShape::Ring => {
                        let links = if dim.npus == 2 { 1 } else { dim.npus };
                        cables.extend(
                            (0..links).map(|place| dim.cable(own(place), own((place + 1) % dim.npus))),
                        );
                    }
                    AstraShape::FullyConnected => {
                        let pairs = (0..dim.npus).flat_map(|a| (a + 1..dim.npus).map(move |b| (a, b)));
                        cables.extend(pairs.map(|(a, b)| dim.cable(own(a), own(b))));
                    }
                }
            }
            stride *= dim.npus;
        }
        (cables, next_switch)
    }

    fn check_size(&self, file: &str, cables: &[Cable], switches: u32) -> Result<(), TopologyError> {
        let pairs = u64::from(switches) * u64::from(self.npus().min(switches));
        let most = self.dims.iter().map(|dim| u64::from(dim.npus)).max().unwrap_or(0) + 1;
        if cables.len() as u64 * 2 <= MAX_LINKS && pairs <= MAX_ROUTES && most <= MAX_PORTS {
            return Ok(());
        }
        let message = format!(
            "{} NPUs with {} links are more than can be simulated: at most {} links, {MAX_ROUTES} pairs of switches and \
             {MAX_PORTS} ports of a switch",
            self.npus(),
            cables.len(),
            MAX_LINKS / 2
        );
        Err(TopologyError::file(file, 1, message))
    }
}

impl AstraDimension {
    fn cable(&self, a: u32, b: u32) -> Cable {
        Cable { ends: [NodeId(a), NodeId(b)], rate: self.link, latency: self.latency, loss: 0.0 }
    }
}
