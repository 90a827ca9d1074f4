//! Explanations of stalled runs by their faults, with remedies.

use crate::fault_spec::{FaultKind, FaultSpec};
use crate::spec::Limits;
use anabranch_base::{Bytes, Duration, HostId, LinkId, NodeId, Time};
use anabranch_fabric::Topology;
use anabranch_proto::{LbConfig, PathFacts, TransportConfig};
use anabranch_results::LongerLimits;
use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

const SHORTER: &str = "give the fault a shorter duration";
const LEAVES: &str = "take a balancer that leaves a path that loses (reps)";

/// A round is a packet or a request, with its ACK. If a round succeeds with at least this probability, the limits of
/// [`Stalled::longer_stall`] are long enough.
const FREQUENT: f64 = 0.9;
/// The probability with which a round succeeds at the loss rate that the advice proposes.
const EVEN: f64 = 0.5;
/// The accepted probability that failed rounds in a row are taken for a stall.
const UNLIKELY: f64 = 1e-6;

pub(crate) struct Stalled<'a> {
    /// The transport of the first traffic class.
    pub transport: &'a TransportConfig,
    /// The initial congestion window in bytes.
    pub window: u64,
    /// The number of queue pairs per connection.
    pub qps: u32,
    pub balancer: &'a LbConfig,
    /// The hosts of an unacknowledged message that has no path left, and the number of such messages.
    pub cut_off: Option<([HostId; 2], usize)>,
    /// The delay after which routing follows a failure. None if routing never follows.
    pub routing_delay: Option<Duration>,
    /// Whether entropy values name fixed routes.
    pub source_routed: bool,
    pub faults: &'a [FaultSpec],
    pub topology: &'a Topology,
    pub file: Option<&'a str>,
    pub limits: &'a Limits,
    pub facts: &'a PathFacts,
    /// The time at which the run stalled.
    pub at: Time,
    /// The bytes of the longest unacknowledged message.
    pub longest: u64,
}

/// Longer limits for a run, which leave room for several consecutive timeouts.
#[derive(Clone, Copy)]
struct Longer {
    stall: Duration,
    /// None if the scenario's `max_time` is long enough.
    max_time: Option<Duration>,
}

impl fmt::Display for Longer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a longer stall below [limits], such as stall = \"{}\"", self.stall)?;
        self.max_time.map_or(Ok(()), |max_time| write!(f, " and max_time = \"{max_time}\""))
    }
}

/// A line of help, and the longer limits that suffice without any other change of the scenario, if there are such
/// limits.
type Help = (String, Option<Longer>);

impl Stalled<'_> {
    /// A help line for each fault that was still in effect and explains the stall under this transport. If there is no
    /// such fault, one line proposes longer limits or a smaller loss. The second value has the longest of those limits
    /// that suffice without any other change.
    pub(crate) fn explain(&self) -> (Vec<String>, Option<LongerLimits>) {
        let (lines, longer): (Vec<String>, Vec<Option<Longer>>) = self.lines().into_iter().unzip();
        let stall = longer.iter().flatten().map(|longer| longer.stall).max();
        let max_time = longer.iter().flatten().filter_map(|longer| longer.max_time).max();
        let text = |time: Duration| time.to_string();
        (lines, stall.map(|stall| LongerLimits { stall: text(stall), max_time: max_time.map(text) }))
    }

    fn lines(&self) -> Vec<Help> {
        let holding: Vec<(&FaultSpec, Duration)> =
            self.faults.iter().filter_map(|fault| Some((fault, self.holds_since(fault)?))).collect();
        let numbered = (0..).zip(self.faults);
        let holds = numbered.filter_map(|(number, fault)| Some((number, fault, self.holds_since(fault)?)));
        let lines = holds.filter_map(|(number, fault, at)| self.explain_fault(number, fault, at));
        let mut lines: Vec<Help> = lines.collect();
        if lines.is_empty() {
            let quoted_names = holding.iter().map(|(fault, at)| {
                format!("{} on {} holds {}", strength(fault), self.quoted_names(fault), since(fault, *at))
            });
            let faults = match holding.is_empty() {
                true => "no fault holds at this time".to_owned(),
                false => quoted_names.collect::<Vec<_>>().join("; "),
            };
            let rto = self.transport.rto().on(self.facts).about();
            let chance = self.round_chance();
            lines.push(match self.stall_for(chance, self.packets()) {
                Some(longer) => (
                    format!("{faults}; transport.rto is {rto}: {longer}, shows whether these flows end"),
                    Some(longer),
                ),
                None => (
                    format!(
                        "{faults}; transport.rto is {rto}: a packet and its ACK get through with a chance of {chance:.1e} a \
                         timeout, so that these flows hardly end in any run; {}, lets them end",
                        self.even_loss(1, self.packets())
                    ),
                    None,
                ),
            });
        }
        lines
    }

    /// A stall limit that is longer than the one that ended the run, with room for several consecutive timeouts.
    fn longer_stall(&self) -> Longer {
        let rto = self.transport.rto().on(self.facts);
        let stall = (rto * 20).max(self.limits.stall * 10).rounded_up(2);
        let over = (self.at + stall + stall).since(Time::ZERO);
        let is_over = over > self.limits.max_time;
        Longer { stall, max_time: is_over.then(|| over.rounded_up(2).min(Limits::MAX_TIME)) }
    }

    /// The limits for a run in which a round succeeds with probability `chance`. The stall limit exceeds the longest
    /// likely series of failed rounds, and the end time leaves room until `parts` further rounds have succeeded. None
    /// if that end lies beyond [`Limits::MAX_TIME`].
    fn stall_for(&self, chance: f64, parts: u64) -> Option<Longer> {
        if chance >= FREQUENT {
            return Some(self.longer_stall());
        }
        let rto = self.transport.rto().on(self.facts);
        let take = |rounds| self.transport.timeouts_of_rounds(rounds);
        let time = |timeouts: f64| {
            let time = rto.0 as f64 * timeouts;
            (time < Limits::MAX_TIME.0 as f64).then_some(Duration(time as u64))
        };
        // The time of so many rounds that all of them fail with a probability of only `UNLIKELY`.
        let silence = time(take(libm::log(UNLIKELY) / libm::log(1.0 - chance)))?;
        let stall = silence.max(rto * 20).max(self.limits.stall * 10).rounded_up(2);
        let rest = time(parts as f64 * take(1.0 / chance))?;
        let over = (self.at + stall + stall + rest).since(Time::ZERO).rounded_up(2);
        let max_time = (over > self.limits.max_time).then_some(over);
        (over <= Limits::MAX_TIME).then_some(Longer { stall, max_time })
    }

    /// The advice if even the longest permitted limits are too short: a loss probability at which half of the rounds of
    /// `packets` packets succeed, and a stall limit that suits this probability.
    fn even_loss(&self, packets: u64, rounds: u64) -> String {
        let crossings = self.losses().map(|(_, crossings)| crossings).sum::<f64>().max(1.0);
        let crossings = crossings * self.round_trips() * (packets + 1) as f64 / 2.0;
        let probability = 1.0 - libm::pow(EVEN, 1.0 / crossings);
        // The probability is rounded down to two digits.
        let unit = libm::pow(10.0, libm::floor(libm::log10(probability)) - 1.0);
        let probability = libm::floor(probability / unit) * unit;
        let digits = (1.0 - libm::floor(libm::log10(probability))) as usize;
        let stall = self.stall_for(EVEN, rounds).unwrap_or_else(|| self.longer_stall());
        format!("a loss of {probability:.digits$} or less a link, with {stall}")
    }

    fn packets(&self) -> u64 {
        self.longest.div_ceil(self.transport.framing().payload.0.max(1))
    }

    /// The probability that no packet and no ACK is lost in the round trips that a packet may need on the longest path.
    fn round_chance(&self) -> f64 {
        let once: f64 = self.losses().map(|(lost, crossings)| libm::pow(1.0 - lost, crossings)).product();
        libm::pow(once, self.round_trips())
    }

    fn round_trips(&self) -> f64 {
        self.transport.round_trips().into()
    }

    /// For each fault with packet loss or bit errors that is still in effect, the probability that it loses a full
    /// packet, and the number of lossy links that a packet and its ACK cross together. A packet crosses one lossy
    /// link for each affected tier and direction, and a fault of a single link counts once.
    fn losses(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        (0..).zip(self.faults).filter_map(|(number, fault)| {
            self.holds_since(fault)?;
            let lost = match &fault.kind {
                FaultKind::PacketLoss { probability, .. } => *probability,
                FaultKind::BitErrors { probability, .. } => {
                    1.0 - libm::pow(1.0 - probability, 8.0 * self.facts.packet.0 as f64)
                }
                _ => return None,
            };
            // A selector with a share selects random links, but usually links of the same tiers with every seed.
            let links = fault.targets(number, self.topology, 1).ok()?.links;
            let tier = |node| self.topology.switch(node).map_or(0, |switch| switch.tier);
            let levels: BTreeSet<(u8, u8)> = links
                .iter()
                .map(|link| (tier(self.topology.source(*link)), tier(self.topology.ports[link.index()].peer)))
                .collect();
            let ways = if links.len() == 1 { 1 } else { 2 };
            Some((lost, (ways * levels.len()) as f64))
        })
    }

    /// The time at which the fault began, if it is still in effect.
    fn holds_since(&self, fault: &FaultSpec) -> Option<Duration> {
        fault.at.0.iter().copied().find(|&at| {
            let from = Time::ZERO + at;
            let is_over = |duration| fault.per_hour.is_none() && from + duration <= self.at;
            from <= self.at && !fault.duration.is_some_and(is_over)
        })
    }

    /// The links, switches or hosts of a fault by their names in the scenario. If the fault is an error rate in the
    /// topology's file, its place in that file follows.
    fn quoted_names(&self, fault: &FaultSpec) -> String {
        let names = format!("{:?}", fault.kind.names().0.to_string());
        let file = self.file.and_then(|file| Path::new(file).file_name()).map(|file| file.to_string_lossy());
        match (fault.error_rate(self.topology), file) {
            (Some(rate), Some(file)) => format!("{names} ({})", rate.place(&file)),
            _ => names,
        }
    }

    fn explain_fault(&self, number: usize, fault: &FaultSpec, at: Duration) -> Option<Help> {
        let (since, quoted_names) = (since(fault, at), self.quoted_names(fault));
        match &fault.kind {
            FaultKind::PacketLoss { probability: 1.0, .. } => {
                let below = match fault.error_rate(self.topology) {
                    Some(_) => "an error rate below 1 there",
                    None => "a probability below 1",
                };
                Some((format!("every packet on {quoted_names} is lost {since}; take {below}"), None))
            }
            FaultKind::PacketLoss { probability, .. } => {
                let milder = match fault.error_rate(self.topology) {
                    Some(_) => "take a smaller error rate there",
                    None => SHORTER,
                };
                self.explain_dcp_rounds(
                    *probability,
                    &format!("{} on {quoted_names} {since}", strength(fault)),
                    milder,
                )
            }
            FaultKind::BitErrors { probability, .. } => {
                let bits = 8.0 * self.facts.packet.0 as f64;
                let lost = 1.0 - libm::pow(1.0 - probability, bits);
                let fault =
                    format!("{} on {quoted_names} {since}, {lost:.2e} a full packet,", strength(fault));
                self.explain_dcp_rounds(lost, &fault, SHORTER)
            }
            FaultKind::LinkDown { .. } | FaultKind::SwitchDown { .. } => {
                let of_fault = (number, fault);
                Some(self.explain_dead_link(of_fault, &quoted_names, &since))
            }
            FaultKind::LinkFlap { period, down_for, .. } => {
                let flaps = format!("for {down_for} of each {period} {since}");
                Some(self.explain_dead_link((number, fault), &quoted_names, &flaps))
            }
            FaultKind::Rate { rate, .. } => {
                let (takes, longer) = (rate.time_for(self.facts.packet.0).about(), self.longer_stall());
                let text = format!(
                    "{quoted_names} runs at {rate} {since}, at which a full packet takes {takes}; {SHORTER}, or take {longer}"
                );
                Some((text, Some(longer)))
            }
            FaultKind::SlowReceiver { rate, .. } => {
                let (takes, longer) = (rate.time_for(self.facts.packet.0).about(), self.longer_stall());
                let text = format!(
                    "{quoted_names} takes data at {rate} only {since}, a full packet in {takes}; {SHORTER}, or take {longer}"
                );
                Some((text, Some(longer)))
            }
            FaultKind::PauseStorm { .. } => {
                let text = format!(
                    "{quoted_names} pauses its links {since}, and so holds up every flow whose packets share a buffer with its \
                     own; {SHORTER}, or let switches end the storm: fabric.pfc.watchdog = \"drop\""
                );
                Some((text, None))
            }
            FaultKind::SwitchLoss { .. } => None,
        }
    }

    /// The effect of losses on DCP, whose receiver counts packets (section 4.5). A packet that a link loses is not
    /// requested again. Only the coarse timeout repairs the loss: it restarts the whole request, and packets of the
    /// earlier round no longer count. None without losses and for other transports.
    fn explain_dcp_rounds(&self, lost: f64, fault: &str, milder: &str) -> Option<Help> {
        if lost <= 0.0 {
            return None;
        }
        let payload = self.transport.framing().payload.0;
        let part = self.longest.div_ceil(self.longest.clamp(1, u64::from(self.qps)));
        let packets = self.transport.request_packets(self.window, part.div_ceil(payload).max(1))?;
        let chance = libm::pow(1.0 - lost, packets as f64);
        let rto = self.transport.rto().on(self.facts).about();
        let even = (libm::log(0.5) / libm::log(1.0 - lost)) as u64;
        let shorter = match even {
            0 => String::new(),
            even => format!("messages of {} or less have an even chance a round; or ", Bytes(even * payload)),
        };
        let request_chance = libm::pow(self.round_chance(), (packets + 1) as f64 / 2.0);
        let requests = self.longest.div_ceil(payload * packets);
        let longer = self.stall_for(request_chance, requests);
        let or = longer.map_or_else(|| self.even_loss(packets, requests), |longer| longer.to_string());
        let text = format!(
            "under the transport dcp all {packets} packets of a request must get through in one round: a receiver only counts \
             them, and a timeout ({rto}) begins anew with all of them. With {fault} the chance is {chance:.1e} a round where \
             all of them take such a link, and more where only some do. {shorter}{milder}, or take {or}"
        );
        Some((text, longer))
    }

    /// Whether a fault affects links of hosts in a fabric with several planes. In the plane of such a link, no route
    /// then leads to the host, and senders know only the state of their own ports.
    fn takes_ports_of_planes(&self, number: usize, fault: &FaultSpec) -> bool {
        let is_host = |node: NodeId| node.0 < self.topology.hosts;
        let is_of_host = |link: &LinkId| {
            is_host(self.topology.source(*link)) || is_host(self.topology.ports[link.index()].peer)
        };
        self.topology.plane_count() > 1
            && fault.targets(number, self.topology, 1).is_ok_and(|of| of.links.iter().any(is_of_host))
    }

    fn explain_dead_link(&self, (number, fault): (usize, &FaultSpec), what: &str, since: &str) -> Help {
        let duration = fault.duration;
        let shorter = if duration.is_none() { "give the fault a duration, or " } else { "" };
        if let Some(([from, to], flows)) = self.cut_off {
            let others = match flows - 1 {
                0 => String::new(),
                others => format!(", nor for {others} more flows"),
            };
            let text = format!(
                "{what} is down {since}, and no path is left between host {from} and host {to}{others}: no balancer finds \
                 one; {shorter}leave a path around it"
            );
            return (text, None);
        }
        let balancer = match self.balancer.leaves_lossy_paths() {
            true => String::new(),
            false => format!(", or {LEAVES}"),
        };
        match self.routing_delay {
            _ if self.takes_ports_of_planes(number, fault) => {
                let remedies =
                    [(duration.is_none(), "give the fault a duration"), (!balancer.is_empty(), LEAVES)];
                let remedies: Vec<&str> =
                    remedies.into_iter().filter_map(|(helps, remedy)| helps.then_some(remedy)).collect();
                let remedies = match &remedies[..] {
                    [] => String::new(),
                    [..] => format!("; {}", remedies.join(", or ")),
                };
                let text = format!(
                    "{what} is down {since}, and with it ports of hosts in one plane: a NIC sees that its own port is dead, but \
                     not that one of the receiver is, and no fabric.routing_delay leads from one plane to another{remedies}"
                );
                (text, None)
            }
            _ if self.source_routed => {
                let text = format!(
                    "{what} is down {since}, and source routes never change, though a path is left: the flows have \
                     not left theirs in time; {shorter}set fabric.routing = \"ecmp\"{balancer}"
                );
                (text, None)
            }
            None => {
                let text = format!(
                    "{what} is down {since}, and no fabric.routing_delay is set, so that switches go on sending there, though a \
                 path is left; {shorter}set fabric.routing_delay{balancer}"
                );
                (text, None)
            }
            Some(delay) => {
                let longer = self.longer_stall();
                let text = format!(
                    "{what} is down {since}; routing learnt of it {delay} later, and a path is left, but the flows have not \
                     found it in time; {shorter}take {longer}{balancer}"
                );
                (text, Some(longer))
            }
        }
    }
}

/// The kind of a fault, with its probability if it has one: `packet-loss = 0.01`.
fn strength(fault: &FaultSpec) -> String {
    match fault.kind.probability() {
        Some(probability) => format!("{} = {probability}", fault.kind.word()),
        None => fault.kind.word().to_owned(),
    }
}

/// The period of a fault that began at `at`, in words.
fn since(fault: &FaultSpec, at: Duration) -> String {
    let from = if at == Duration::ZERO { "from the start".to_owned() } else { format!("from {at} on") };
    match (fault.per_hour, fault.duration) {
        (Some(per_hour), Some(duration)) => format!("{from}, {per_hour} times an hour for {duration}"),
        (Some(per_hour), None) => format!("{from}, at a rate of {per_hour} an hour, for good"),
        (None, Some(duration)) => format!("{from} until {}", at + duration),
        (None, None) => format!("{from} for good"),
    }
}

#[cfg(test)]
mod tests;
