//! Whether the thresholds of a lossless class make sense on a fabric.

use super::PfcSpec;
use anabranch_base::{Bytes, LinkId, NodeId};
use anabranch_fabric::Topology;
use anabranch_proto::PathFacts;

/// A threshold that cannot do its work.
pub(super) struct WrongThreshold {
    /// The parameter to change, as a path.
    pub parameter: &'static str,
    /// The parameters that it does not go with.
    pub blamed: &'static [&'static str],
    pub problem: String,
    /// What would do.
    pub instead: Bytes,
}

/// Checks the thresholds for pausing (XOFF) and going on (XON) against each other and the smallest buffer.
pub(super) fn thresholds(pfc: &PfcSpec, topology: &Topology, facts: &PathFacts) -> Option<WrongThreshold> {
    let (buffer, node) = smallest_buffer(pfc, topology)?;
    let switch = topology.node_name(node);
    let resume = pfc.resume.on(facts);
    match pfc.threshold.map(|threshold| threshold.on(facts)) {
        None if resume > buffer => Some(WrongThreshold {
            parameter: "fabric.pfc.resume",
            blamed: &["fabric.pfc.buffer"],
            problem: format!(
                "a port sends XON once its share is {resume} below the threshold, and the whole buffer of {switch} \
                 is {buffer}"
            ),
            instead: Bytes(2 * facts.packet.0),
        }),
        Some(threshold) if threshold > buffer => Some(WrongThreshold {
            parameter: "fabric.pfc.threshold",
            blamed: &["fabric.pfc.buffer"],
            problem: format!(
                "a port sends XOFF once it holds {threshold}, and the whole buffer of {switch} is {buffer}"
            ),
            instead: round_down(Bytes(buffer.0 / topology.links_of(node).len().max(1) as u64)),
        }),
        Some(threshold) if resume >= threshold => Some(WrongThreshold {
            parameter: "fabric.pfc.resume",
            blamed: &["fabric.pfc.threshold"],
            problem: format!(
                "a port sends XON once its share is {resume} below the threshold, and fabric.pfc.threshold is \
                 {threshold}"
            ),
            instead: round_down(Bytes(threshold.0 / 2)),
        }),
        _ => None,
    }
}

/// The smallest packet buffer of a switch, and whose it is.
fn smallest_buffer(pfc: &PfcSpec, topology: &Topology) -> Option<(Bytes, NodeId)> {
    let switches = (topology.hosts..topology.nodes()).map(NodeId);
    let buffer = |node: NodeId| {
        let links = topology.links_of(node).map(LinkId);
        let rate: u64 = links.map(|link| topology.ports[link.index()].rate.0).sum();
        let scaled = |of: u64| u128::from(pfc.buffer.0) * u128::from(rate) / u128::from(of.max(1));
        pfc.buffer_rate.map_or(pfc.buffer, |of| Bytes(scaled(of.0).try_into().unwrap_or(u64::MAX)))
    };
    switches.map(|node| (buffer(node), node)).min_by_key(|(buffer, node)| (*buffer, node.0))
}

/// A size of three digits or more, as people write it, and no smaller.
pub(super) fn round_up(size: Bytes) -> Bytes {
    let unit = unit(size);
    Bytes(size.0.div_ceil(unit).saturating_mul(unit))
}

/// A size of three digits or more, as people write it, and no larger.
pub(super) fn round_down(size: Bytes) -> Bytes {
    let unit = unit(size);
    Bytes((size.0 / unit * unit).max(1))
}

/// The unit in which a size has three digits, and at least KB.
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
