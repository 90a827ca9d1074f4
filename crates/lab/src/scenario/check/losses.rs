//! Warnings about faults that lose packets so rarely that many runs lose none, and about bit errors that lose nearly all.

use crate::scenario::read::source_map::Origin;
use crate::scenario::read::table::fault;
use anabranch_base::{Diagnostic, Fix, HostId, NodeId, Span};
use anabranch_engine::{FaultKind, FaultSpec, FaultTargets};
use anabranch_fabric::{Routing, Topology, TopologySpec};
use anabranch_workload::{Message, Workload};
use std::collections::BTreeMap;

/// The expected number of lost data packets below which a run often loses none. With 3 expected losses, one run in
/// twenty loses none.
const FEWEST: f64 = 3.0;
/// The expected number of losses at which a run without any loss is practically excluded (one in 20,000).
const PLENTY: f64 = 10.0;
/// The probability that a full packet has no bit error, below which nearly all packets are lost.
const HARDLY: f64 = 0.1;
/// A probability of bit errors with which few packets are lost: 0.3 % of those of 4 KiB.
const USUAL_BIT_ERRORS: &str = "1e-7";
/// The largest number of pairs of ToRs whose paths are examined. Workloads with more pairs get no warning.
const MOST_PAIRS: usize = 20_000;

#[derive(Default)]
pub(in crate::scenario) struct RareLoss {
    /// By the number of the fault: the rarest loss, and the number of points at which the loss is too rare.
    rarest: BTreeMap<usize, (Rare, usize)>,
    points: usize,
    /// By the number of the fault: bit errors that lose nearly all packets, with the probability that they lose one.
    wrecked: BTreeMap<usize, (String, f64)>,
}

struct Rare {
    probability: f64,
    /// The number of data packets that cross the fault's links in a run.
    packets: f64,
    kind: String,
    /// The topology file and the line that give the loss rate, if a file does.
    in_file: Option<(String, usize)>,
}

impl RareLoss {
    /// Examines the faults at another point, each with the links that it affects. `payload` is the payload of a
    /// packet, in bytes.
    pub(in crate::scenario) fn look(
        &mut self,
        faults: &[(&FaultSpec, FaultTargets)],
        workload: &Workload,
        (topology, fabric): (&Topology, &TopologySpec),
        routing: &Routing,
        payload: u64,
    ) {
        self.points += 1;
        self.look_at_bit_errors(faults, payload);
        let losses = faults.iter().enumerate().filter_map(|(number, (spec, taken))| match spec.kind {
            FaultKind::PacketLoss { probability, .. } | FaultKind::SwitchLoss { probability, .. } => {
                (probability > 0.0).then_some((number, *spec, taken, probability))
            }
            _ => None,
        });
        let mut losses = losses.peekable();
        if losses.peek().is_none() {
            return;
        }
        // The load is computed once for all faults, because a topology file may give each of its links a different
        // error rate.
        let Some(load) = link_load(workload, topology, routing, payload) else { return };
        for (number, spec, taken, probability) in losses {
            let packets = taken.links.iter().fold(0.0, |packets, link| packets + load[link.index()]);
            // Fewer losses than this product are expected if the fault is present only during a part of the run.
            if packets * probability >= FEWEST {
                continue;
            }
            let line = spec.error_rate(topology).map(|rate| rate.lines[0]);
            let in_file = fabric.file().map(str::to_owned).zip(line);
            let rare = Rare { probability, packets, kind: spec.kind.to_string(), in_file };
            match self.rarest.get_mut(&number) {
                Some((known, points)) => {
                    *points += 1;
                    if packets * probability < known.packets * known.probability {
                        *known = rare;
                    }
                }
                None => drop(self.rarest.insert(number, (rare, 1))),
            }
        }
    }

    fn look_at_bit_errors(&mut self, faults: &[(&FaultSpec, FaultTargets)], payload: u64) {
        for (number, (spec, _)) in faults.iter().enumerate() {
            let FaultKind::BitErrors { probability, .. } = spec.kind else { continue };
            let whole = libm::pow(1.0 - probability, payload as f64 * 8.0);
            if whole < HARDLY {
                self.wrecked.entry(number).or_insert_with(|| (spec.kind.to_string(), 1.0 - whole));
            }
        }
    }

    pub(in crate::scenario) fn warnings(self, origin: &Origin) -> Vec<Diagnostic> {
        let all = self.points;
        let wrecked = self.wrecked.into_iter().map(|(number, (kind, lost))| {
            let message = format!(
                "fault.{number} ({kind}) loses a full packet with probability {}: probability is that of each bit, and one wrong \
                 bit loses the packet",
                (lost * 1e4).floor() / 1e4
            );
            let fix = Fix::text(format!("probability = {USUAL_BIT_ERRORS}, or kind = \"packet-loss\" with that of a packet"));
            fault(&origin.file, origin.place(&format!("fault.{number}.probability")), message, Some(fix))
        });
        let warning = |(number, (rare, points)): (usize, (Rare, usize))| {
            let Rare { probability, packets, kind, in_file } = rare;
            let at = if all > 1 { format!(" at {points} of {all} points") } else { String::new() };
            let message = format!(
                "fault.{number} ({kind}) is expected to hit {} data packets in a run{at}: about {packets:.0} cross its \
                 links, each with probability {probability}; a run without a hit says nothing about the fault",
                few(packets * probability)
            );
            let enough = PLENTY / packets.max(1.0);
            let higher = match enough < 0.5 {
                true => format!("probability = {}, ", rounded_up(enough)),
                false => String::new(),
            };
            let times = PLENTY / (packets * probability).max(1e-9);
            let longer = if times < 1e3 {
                format!("messages {times:.0} times as long")
            } else {
                "much longer messages".to_owned()
            };
            let help = format!("{higher}more links (such as \"tor-uplinks:10%\"), {longer}, or more seeds");
            if let Some((file, line)) = in_file.filter(|_| !origin.has_fault(number)) {
                let help = Some(help.replace("probability = ", "an error rate of "));
                let span = Span { file, line: Some(line), column: None };
                return Diagnostic::warning(span, message, help.map(Fix::from));
            }
            let place = origin.place(&format!("fault.{number}.probability"));
            fault(&origin.file, place, message, Some(help.into()))
        };
        wrecked.chain(self.rarest.into_iter().map(warning)).collect()
    }
}

fn few(number: f64) -> String {
    match number {
        0.0 => "no".to_owned(),
        little if little < 0.001 => "below 0.001".to_owned(),
        _ => format!("{}", (number * 1000.0).round() / 1000.0),
    }
}

/// The number rounded up to one significant digit.
fn rounded_up(number: f64) -> f64 {
    let unit = libm::pow(10.0, libm::floor(libm::log10(number)));
    // The formatting removes digits that exist only because of the binary representation.
    let text = format!("{:.12}", (number / unit).ceil() * unit);
    text.parse().unwrap_or(number)
}

/// The number of data packets of a workload that cross each link, if every switch spreads packets evenly over its
/// equal-cost ports and every host over its ports; `None` if this takes too long to compute.
fn link_load(workload: &Workload, topology: &Topology, routing: &Routing, payload: u64) -> Option<Vec<f64>> {
    let of_message = |message: &Message| {
        let qp = &workload.qps[message.qp.index()];
        ([qp.src, qp.dst], message.bytes.div_ceil(payload.max(1)).max(1) as f64)
    };
    spread(workload.messages.iter().map(of_message), topology, routing)
}

/// The load of each link if every sender sends a number of packets to a receiver, spread like those of [`link_load`].
pub(super) fn spread(
    sent: impl Iterator<Item = ([HostId; 2], f64)>,
    topology: &Topology,
    routing: &Routing,
) -> Option<Vec<f64>> {
    let mut load = vec![0.0; topology.links() as usize];
    let mut of_pairs: BTreeMap<(u32, u32), f64> = BTreeMap::new();
    for ([src, dst], packets) in sent {
        if src == dst {
            continue;
        }
        let ways = joined_ports(topology, routing, [src, dst]);
        let packets = packets / ways.len().max(1) as f64;
        for [from, to] in ways {
            *of_pairs.entry((routing.tor_index(src, from), routing.tor_index(dst, to))).or_default() +=
                packets;
            load[topology.link(src.into(), from).index()] += packets;
            load[topology.reverse(topology.link(dst.into(), to)).index()] += packets;
        }
        if of_pairs.len() > MOST_PAIRS {
            return None;
        }
    }
    for (pair, packets) in of_pairs {
        add_between_tors(&mut load, topology, routing, pair, packets);
    }
    Some(load)
}

/// The ports of `src` and `dst` between which packets travel: each port of `src` with the ports of `dst` that are
/// nearest to it.
fn joined_ports(topology: &Topology, routing: &Routing, [src, dst]: [HostId; 2]) -> Vec<[u16; 2]> {
    let mut joined = Vec::new();
    for from in 0..topology.host_ports(src) {
        let nearest = routing.best_ports(topology, (src, from), dst, u16::MAX);
        joined.extend((0..topology.host_ports(dst)).filter(|to| nearest >> to & 1 == 1).map(|to| [from, to]));
    }
    joined
}

/// Adds `packets` from one ToR to another to the load of the links between them, spread evenly over the equal-cost
/// ports of every switch.
fn add_between_tors(
    load: &mut [f64],
    topology: &Topology,
    routing: &Routing,
    (from, to): (u32, u32),
    packets: f64,
) {
    let mut here = BTreeMap::from([(from, 1.0)]);
    // A shortest path has at most as many hops as there are switches.
    for _ in 0..topology.switches.len() {
        let mut next: BTreeMap<u32, f64> = BTreeMap::new();
        for (switch, share) in here.into_iter().filter(|(switch, _)| *switch != to) {
            let ports = routing.group(switch as usize, to);
            let each = share / ports.len().max(1) as f64;
            for &port in ports {
                let link = topology.link(NodeId(topology.hosts + switch), port);
                load[link.index()] += packets * each;
                *next.entry(topology.ports[link.index()].peer.0 - topology.hosts).or_default() += each;
            }
        }
        if next.is_empty() {
            break;
        }
        here = next;
    }
}

#[cfg(test)]
mod tests {
    use super::USUAL_BIT_ERRORS;
    use crate::scenario::expand::scenario::read;
    use crate::scenario::input::{NoFiles, Overrides};

    fn warned(bytes: &str, links: &str, probability: &str) -> Vec<String> {
        let text = format!(
            "schemes = [\"reps\", \"ops\"]\n[topology]\nkind = \"fat-tree\"\nhosts = 32\nhosts_per_tor = 4\nlink = \
             \"400Gbps\"\n[workload]\nkind = \"incast\"\ntarget = 0\ndegree = 28\nbytes = {bytes:?}\n[[fault]]\nkind = \
             \"packet-loss\"\nlinks = {links:?}\nprobability = {probability}\n"
        );
        let scenario = read("s.toml", &text, &NoFiles, &Overrides::default()).unwrap();
        scenario.check().unwrap().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_loss_that_hardly_hits_is_said_with_what_to_write() {
        // 28 senders each send 100 packets of 4096 B to host 0, all over the host's link.
        let said = warned("409600B", "tor:0/down:0", "0.001");
        let said = said.iter().find(|said| said.contains("is expected to hit"));
        assert_eq!(
            said.map(String::as_str),
            Some(
                "s.toml:15:1: fault.0 (packet-loss tor:0/down:0) is expected to hit 2.8 data packets in a run: about 2800 cross its \
                 links, each with probability 0.001; a run without a hit says nothing about the fault\n  write: \
                 probability = 0.004, more links (such as \"tor-uplinks:10%\"), messages 4 times as long, or more seeds"
            )
        );
        let is_rare = |said: Vec<String>| said.iter().any(|said| said.contains("is expected to hit"));
        assert!(!is_rare(warned("409600B", "tor:0/down:0", "0.002")));
        // Each of the 4 senders of ToR 1 sends 25 of its 100 packets over each uplink, so 100 packets cross each uplink.
        let said = warned("409600B", "tor:1/up:0", "0.01");
        assert!(
            said.iter().any(|said| said.contains("hit 1 data packets") && said.contains("about 100 cross")),
            "{said:?}"
        );
        assert!(!is_rare(warned("409600B", "tor-uplinks:100%", "0.01")));
    }

    #[test]
    fn bit_errors_that_lose_nearly_all_are_warned_of() {
        let warned = |probability: &str| {
            let text = format!(
                "schemes = [\"reps\"]\n[topology]\nkind = \"fat-tree\"\nhosts = 32\nlink = \"400Gbps\"\n[workload]\nkind = \
                 \"permutation\"\nbytes = \"1MB\"\n[[fault]]\nkind = \"bit-errors\"\nlinks = \"tor-uplinks\"\nprobability = {probability}\n"
            );
            let scenario = read("s.toml", &text, &NoFiles, &Overrides::default()).unwrap();
            scenario.check().unwrap().iter().map(ToString::to_string).collect::<Vec<String>>()
        };
        assert_eq!(
            warned("0.0001"),
            [
                "s.toml:12:1: fault.0 (bit-errors tor-uplinks) loses a full packet with probability 0.9622: probability is that of \
              each bit, and one wrong bit loses the packet\n  write: probability = 1e-7, or kind = \"packet-loss\" with that of a \
              packet"
            ]
        );
        assert_eq!(warned(USUAL_BIT_ERRORS), [""; 0]);
    }

    /// 28 senders each send 100 packets to host 0, half of them in each of the two planes.
    #[test]
    fn the_ports_of_a_host_share_its_packets() {
        for plane in [0, 1] {
            let text = format!(
                "schemes = [\"reps\"]\n[topology]\nkind = \"multi-plane\"\nservers = 4\nports = 2\nlink = \
                 \"200Gbps\"\n[workload]\nkind = \"incast\"\ntarget = 0\ndegree = 28\nbytes = \"409600B\"\n[[fault]]\nkind = \
                 \"packet-loss\"\nlinks = \"plane:{plane}/tor:0/down:0\"\nprobability = 0.001\n"
            );
            let scenario = read("s.toml", &text, &NoFiles, &Overrides::default()).unwrap();
            let warned: Vec<String> = scenario.check().unwrap().iter().map(ToString::to_string).collect();
            assert!(
                warned.iter().any(|text| text.contains("about 1400 cross its links")),
                "{plane}: {warned:?}"
            );
        }
    }
}
