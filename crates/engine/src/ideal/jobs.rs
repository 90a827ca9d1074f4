//! What a job takes at least: a bound from its messages' order, their bytes and the links.

use super::{Ideal, ack_return};
use anabranch_base::{Duration, HostId, MessageId, NodeId, QpId, Rate};
use anabranch_workload::{Activation, Done, Job, Opens, Start, Workload};
use std::collections::BTreeMap;

/// What bounds a message that is alone in the network, from its posting.
#[derive(Clone, Copy)]
struct Alone {
    /// Its bytes on the wire, headers included.
    wire: u64,
    /// When its last byte is at the receiver, and when the sender knows.
    arrival: u64,
    acknowledged: u64,
    /// From posting until its first bit can be on the first, second, last but one and last link.
    leads: [u64; 4],
    /// From its last bit's leaving those links until the sender knows of the delivery.
    tails: [u64; 4],
    /// Whether it leaves its ToR.
    crosses: bool,
}

/// One thing that messages pass one after the other: none is there before `lead`, and none is done before `tail` after
/// it has passed.
#[derive(Clone, Copy)]
struct Bottleneck {
    busy_until: u64,
    lead: u64,
    tail: u64,
}

/// The four places that a message passes, in the order of [`Alone::leads`]: the sender's NIC, the uplinks of its ToR
/// together, the downlinks to the receiver's ToR together, and the link to the receiver.
const SENDER: usize = 0;
const UPLINKS: usize = 1;
const DOWNLINKS: usize = 2;
const RECEIVER: usize = 3;

impl Bottleneck {
    const FREE: Bottleneck = Bottleneck { busy_until: 0, lead: u64::MAX, tail: u64::MAX };

    /// A message that cannot start before `start`, which is no earlier than that of the one before.
    fn pass(&mut self, start: u64, time: u64, lead: u64, tail: u64) {
        self.busy_until = self.busy_until.max(start).saturating_add(time);
        (self.lead, self.tail) = (self.lead.min(lead), self.tail.min(tail));
    }

    fn done(&self) -> u64 {
        self.busy_until.saturating_add(self.lead).saturating_add(self.tail)
    }
}

impl Ideal<'_> {
    /// By job, the least CCT that its messages allow, from its first posting to its last acknowledgement, whatever
    /// transport and balancer carry it. No run is below it, as long as no fault makes a link faster; it is the largest of
    ///
    /// - the chain: a message is not posted before those that it waits for could have been delivered, one after the
    ///   other, each alone in the network ([`Ideal::fct`]);
    /// - for each host what it sends, and what it receives, at the rate of its link, each message from the time on at
    ///   which the chain lets it be posted, then the rest of the shortest path and back;
    /// - for each ToR what its hosts send to other ToRs, or receive from them, at the rates of its links to switches
    ///   together, likewise: this is what counts in an oversubscribed fabric.
    ///
    /// - for each processor, and each host's link within its server, its steps, one after the other.
    ///
    /// Jobs are bounded each by itself. Gates that other jobs open, and those that open for a message at a time (an
    /// all-to-all with few connections), count as open.
    pub fn ccts(&self, workload: &Workload) -> Vec<Duration> {
        let mut activators = vec![0_u32; workload.gates.len()];
        workload.activations.iter().for_each(|activation| activators[activation.gate.index()] += 1);
        workload.jobs.iter().map(|job| self.cct(workload, job, &activators)).collect()
    }

    /// `activators` has the number of activations of each gate, by all messages.
    fn cct(&self, workload: &Workload, job: &Job, activators: &[u32]) -> Duration {
        let mut known: BTreeMap<(QpId, u64), Alone> = BTreeMap::new();
        let mut alone = |message: u32| {
            let message = &workload.messages[message as usize];
            let key = (message.qp, message.bytes);
            *known.entry(key).or_insert_with(|| {
                let ends = workload.qps[message.qp.index()];
                self.alone(ends.src, ends.dst, message.bytes)
            })
        };
        let (starts, chain) = starts(workload, job, activators, &mut alone);
        let mut order: Vec<u32> = (0..starts.len() as u32).collect();
        order.sort_by_key(|&message| starts[message as usize]);
        // By host: what it sends and what it receives; by ToR: what it sends up and what comes down.
        let mut places: BTreeMap<(usize, NodeId), Bottleneck> = BTreeMap::new();
        for message in order {
            let (start, of) = (starts[message as usize], alone(job.messages.start + message));
            let ends = workload.qps[workload.messages[(job.messages.start + message) as usize].qp.index()];
            let nodes = [
                ends.src.into(),
                self.topology.tor_of(ends.src),
                self.topology.tor_of(ends.dst),
                ends.dst.into(),
            ];
            for place in [SENDER, UPLINKS, DOWNLINKS, RECEIVER] {
                if !of.crosses && (place == UPLINKS || place == DOWNLINKS) {
                    continue;
                }
                let time = u128::from(of.wire) * 8_000_000_000_000 / self.rate_at(place, nodes[place]).max(1);
                places.entry((place, nodes[place])).or_insert(Bottleneck::FREE).pass(
                    start,
                    u64::try_from(time).unwrap_or(u64::MAX),
                    of.leads[place],
                    of.tails[place],
                );
            }
        }
        let computing = busiest_processor(workload, job);
        Duration(places.values().map(Bottleneck::done).fold(chain.max(computing), u64::max))
    }

    /// Bits a second that pass a place at `node`.
    fn rate_at(&self, place: usize, node: NodeId) -> u128 {
        let links = self.topology.links_of(node);
        let ports = links.map(|link| &self.topology.ports[link as usize]);
        let hosts = self.topology.hosts;
        let rate = |rate: Rate| u128::from(rate.0);
        match place {
            SENDER => ports.map(|port| rate(port.rate)).sum(),
            UPLINKS => ports.filter(|port| port.peer.0 >= hosts).map(|port| rate(port.rate)).sum(),
            _ => {
                let towards = self.topology.links_of(node).map(|link| {
                    let port = &self.topology.ports[link as usize];
                    let back = self.topology.reverse(anabranch_base::LinkId(link));
                    (port.peer, rate(self.topology.ports[back.index()].rate))
                });
                towards.filter(|(peer, _)| place == RECEIVER || peer.0 >= hosts).map(|(_, rate)| rate).sum()
            }
        }
    }

    fn alone(&self, src: HostId, dst: HostId, bytes: u64) -> Alone {
        let tiers = self.tiers(src, dst);
        let acknowledged = self.fct(src, dst, bytes).0;
        let ack = ack_return(&tiers).0;
        // Nothing on the wire is shorter, and the way to a place is that of the shortest packet.
        let shortest = self.parts(bytes).iter().map(|parts| parts.last).min().unwrap_or(0);
        let (mut leads, mut tails) = ([0; 4], [0; 4]);
        let last = tiers.len().saturating_sub(1);
        for (place, link) in [0, 1, last.saturating_sub(1), last].into_iter().enumerate() {
            let to = |links: &[super::Tier]| -> u64 {
                links.iter().map(|tier| tier.rate.time_for(shortest).0 + tier.onward.0).sum()
            };
            leads[place] = to(tiers.get(..link).unwrap_or(&[]));
            let onward = tiers.get(link).map_or(0, |tier| tier.onward.0);
            tails[place] = onward + to(tiers.get(link + 1..).unwrap_or(&[])) + ack;
        }
        Alone {
            wire: bytes.saturating_add(bytes.div_ceil(self.framing.payload.0) * self.framing.header.0),
            arrival: acknowledged - ack,
            acknowledged,
            leads,
            tails,
            crosses: tiers.len() > 2,
        }
    }
}

/// The longest that a processor, or a step that needs none, is busy with a job.
fn busiest_processor(workload: &Workload, job: &Job) -> u64 {
    let mut busy: BTreeMap<(HostId, u32), u64> = BTreeMap::new();
    let mut longest = 0;
    for step in &workload.steps[job.steps.start as usize..job.steps.end as usize] {
        longest = longest.max(step.takes.0);
        if step.is_serial() {
            *busy.entry((step.host, step.processor)).or_default() += step.takes.0;
        }
    }
    busy.into_values().fold(longest, u64::max)
}

/// For each message of the job the earliest posting, from that of the job's first message, and when the chain of those
/// that wait for each other is over.
fn starts(
    workload: &Workload,
    job: &Job,
    activators: &[u32],
    alone: &mut impl FnMut(u32) -> Alone,
) -> (Vec<u64>, u64) {
    let first = job.messages.start;
    let activations = |message: u32| -> &[Activation] {
        let message = &workload.messages[message as usize];
        let from = message.activations_from as usize;
        &workload.activations[from..from + message.activations_len as usize]
    };
    // Of each gate that messages of this job activate: how many have yet to, and the earliest and latest that did.
    let mut gates: BTreeMap<u32, (u32, u64, u64)> = BTreeMap::new();
    for message in job.messages.clone() {
        for activation in activations(message) {
            gates.entry(activation.gate.0).or_insert((0, u64::MAX, 0)).0 += 1;
        }
    }
    let inside: BTreeMap<u32, u32> = gates.iter().map(|(&gate, &(count, ..))| (gate, count)).collect();
    let mut starts = vec![0; job.messages.len()];
    let started_by = |gate: u32| {
        let gate = &workload.gates[gate as usize];
        let from = gate.starts_from as usize;
        workload.gate_starts[from..from + gate.starts_len as usize].iter()
    };
    let waits = |gate: u32| matches!(workload.gates[gate as usize].opens, Opens::After(_));
    let mut held = vec![false; job.messages.len()];
    for &gate in inside.keys().filter(|gate| waits(**gate)) {
        for message in started_by(gate).filter(|message| job.messages.contains(&message.0)) {
            held[(message.0 - first) as usize] =
                matches!(workload.messages[message.index()].start, Start::ByGate);
        }
    }
    let mut ready: Vec<u32> =
        job.messages.clone().filter(|message| !held[(message - first) as usize]).collect();
    let mut chain = 0;
    while let Some(message) = ready.pop() {
        let (start, of) = (starts[(message - first) as usize], alone(message));
        chain = chain.max(start + of.acknowledged);
        for activation in activations(message) {
            let end = start + if activation.on == Done::Delivered { of.arrival } else { of.acknowledged };
            let gate = activation.gate.0;
            let Some((left, earliest, latest)) = gates.get_mut(&gate) else { continue };
            *left -= 1;
            (*earliest, *latest) = ((*earliest).min(end), (*latest).max(end));
            if *left > 0 || !waits(gate) {
                continue;
            }
            // It opens at the last of its activations, or at some one: no earlier than the first.
            let (needs, all) = match workload.gates[gate as usize].opens {
                Opens::After(needs) => (needs, activators[gate as usize]),
                Opens::Each | Opens::Step(_) => continue,
            };
            let opens = match needs {
                _ if needs >= all => *latest,
                _ if all == inside[&gate] => *earliest,
                _ => 0,
            };
            for &MessageId(started) in started_by(gate).filter(|message| job.messages.contains(&message.0)) {
                starts[(started - first) as usize] = opens;
                ready.push(started);
            }
        }
    }
    (starts, chain)
}
