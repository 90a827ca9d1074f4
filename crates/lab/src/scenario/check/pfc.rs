//! Checks of the thresholds of a lossless class on a fabric.

use anabranch_base::{Bytes, LinkId, NodeId};
use anabranch_engine::{PfcClass, PfcSpec};
use anabranch_fabric::Topology;
use anabranch_proto::PathFacts;

/// A threshold that cannot have its intended effect.
pub(in crate::scenario) struct WrongThreshold {
    /// The parameter to change, as a path.
    pub parameter: &'static str,
    /// The parameters that the threshold contradicts.
    pub blamed: &'static [&'static str],
    pub problem: String,
    /// A value that is valid, as TOML.
    pub instead: String,
}

/// Checks the thresholds for pausing (XOFF) and resuming (XON) against each other and against the smallest buffer.
/// The check covers the settings for all switches and those for a class of switches (`at`).
pub(in crate::scenario) fn thresholds(
    pfc: &PfcSpec,
    topology: &Topology,
    facts: &PathFacts,
) -> Option<WrongThreshold> {
    let all: Vec<Buffer> = (topology.hosts..topology.nodes())
        .filter_map(|node| Buffer::of(pfc, topology, NodeId(node), facts))
        .collect();
    let smallest = |is_static: bool| {
        let buffers = all.iter().filter(|buffer| buffer.threshold.is_some() == is_static);
        buffers.min_by_key(|buffer| (buffer.size, buffer.node.0))
    };
    smallest(false)
        .and_then(|buffer| buffer.dynamic(pfc, topology, facts))
        .or_else(|| smallest(true).and_then(|buffer| buffer.fixed(pfc, topology, facts)))
}

struct Buffer<'a> {
    node: NodeId,
    size: Bytes,
    /// The entry of `at` that applies to the switch; `None` if none does.
    class: Option<&'a PfcClass>,
    /// The static threshold of the switch's ports; `None` if the threshold is dynamic.
    threshold: Option<Bytes>,
}

impl<'a> Buffer<'a> {
    fn of(pfc: &'a PfcSpec, topology: &Topology, node: NodeId, facts: &PathFacts) -> Option<Self> {
        let word = topology.tier_word(topology.switch(node)?.tier);
        let class = pfc.at.iter().rfind(|entry| entry.switches == word);
        let scaled = || {
            let links = topology.links_of(node).map(LinkId);
            let rate: u64 = links.map(|link| topology.ports[link.index()].rate.0).sum();
            let of = |whole: u64| u128::from(pfc.buffer.0) * u128::from(rate) / u128::from(whole.max(1));
            pfc.buffer_rate.map_or(pfc.buffer, |whole| Bytes(of(whole.0).try_into().unwrap_or(u64::MAX)))
        };
        let is_dynamic = class.is_some_and(|class| class.alpha.is_some());
        let threshold = pfc.threshold.filter(|_| !is_dynamic).map(|threshold| threshold.on(&facts.of_port()));
        Some(Buffer { node, size: class.map_or_else(scaled, |class| class.buffer), class, threshold })
    }

    fn dynamic(&self, pfc: &PfcSpec, topology: &Topology, facts: &PathFacts) -> Option<WrongThreshold> {
        let resume = pfc.resume.on(&facts.of_port());
        if resume <= self.size {
            return None;
        }
        let problem = format!(
            "XON would be sent when an ingress port's share is {resume} below its threshold, but the whole buffer of \
             {} is only {}",
            topology.node_name(self.node),
            self.size
        );
        let two_packets = Bytes(2 * facts.packet.0);
        if two_packets <= self.size {
            return Some(self.wrong("fabric.pfc.resume", problem, format!("\"{two_packets}\"")));
        }
        // Two packets, the usual suggestion for `resume`, do not fit into the buffer. A larger buffer is suggested.
        let enough = round_up(Bytes(resume.0.max(ENOUGH_PACKETS * facts.packet.0)));
        Some(match self.class {
            Some(PfcClass { switches, .. }) => self.wrong(
                "fabric.pfc.at",
                problem,
                format!("[{{ switches = \"{switches}\", buffer = \"{enough}\" }}]"),
            ),
            None => self.wrong("fabric.pfc.buffer", problem, format!("\"{enough}\"")),
        })
    }

    fn fixed(&self, pfc: &PfcSpec, topology: &Topology, facts: &PathFacts) -> Option<WrongThreshold> {
        let (resume, threshold) = (pfc.resume.on(&facts.of_port()), self.threshold?);
        if threshold > self.size {
            let problem = format!(
                "XOFF would be sent when an ingress port holds {threshold}, but the whole buffer of {} is only {}",
                topology.node_name(self.node),
                self.size
            );
            let ports = topology.links_of(self.node).len().max(1) as u64;
            let share = round_down(Bytes(self.size.0 / ports));
            return Some(self.wrong("fabric.pfc.threshold", problem, format!("\"{share}\"")));
        }
        (resume >= threshold).then(|| WrongThreshold {
            parameter: "fabric.pfc.resume",
            blamed: &["fabric.pfc.threshold"],
            problem: format!(
                "XON would be sent when an ingress port's share is {resume} below its threshold, but \
                 fabric.pfc.threshold is only {threshold}"
            ),
            instead: format!("\"{}\"", round_down(Bytes(threshold.0 / 2))),
        })
    }

    fn wrong(&self, parameter: &'static str, problem: String, instead: String) -> WrongThreshold {
        let blamed: &[&str] = if self.class.is_some() { &["fabric.pfc.at"] } else { &["fabric.pfc.buffer"] };
        WrongThreshold { parameter, blamed, problem, instead }
    }
}

/// The smallest buffer that is suggested, in packets.
const ENOUGH_PACKETS: u64 = 100;

pub(in crate::scenario) fn round_up(size: Bytes) -> Bytes {
    let unit = unit(size);
    Bytes(size.0.div_ceil(unit).saturating_mul(unit))
}

pub(in crate::scenario) fn round_down(size: Bytes) -> Bytes {
    let unit = unit(size);
    Bytes((size.0 / unit * unit).max(1))
}

/// The unit to which a size is rounded: B, KB, MB or GB. A size from 100 KB on has at least three digits in its unit.
fn unit(size: Bytes) -> u64 {
    match size.0 {
        0..1_000 => 1,
        1_000..100_000_000 => 1_000,
        100_000_000..100_000_000_000 => 1_000_000,
        _ => 1_000_000_000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_rounded_to_what_people_write() {
        for (exact, up, down) in [
            (999, "999B", "999B"),
            (1_001, "2KB", "1KB"),
            (112_515, "113KB", "112KB"),
            (113_000, "113KB", "113KB"),
            (8_000_000, "8MB", "8MB"),
            (25_600_000_017, "25601MB", "25600MB"),
            (u64::MAX, "18446744073709551615B", "18446744073GB"),
        ] {
            let (exact, up, down): (Bytes, Bytes, Bytes) =
                (Bytes(exact), up.parse().unwrap(), down.parse().unwrap());
            assert_eq!((round_up(exact), round_down(exact)), (up, down));
        }
    }
}
