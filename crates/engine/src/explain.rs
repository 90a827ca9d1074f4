//! Explanations of stalled runs by their faults, with remedies.

use crate::fault_spec::{FaultKind, FaultSpec};
use crate::spec::Limits;
use anabranch_base::{Bytes, Duration, HostId, Time};
use anabranch_fabric::Topology;
use anabranch_proto::{LbConfig, PathFacts, TransportConfig};
use std::collections::BTreeSet;
use std::path::Path;

const SHORTER: &str = "give the fault a shorter duration";

/// The chance that a round succeeds above which the default stall is long enough.
const FREQUENT: f64 = 0.9;
/// The chance that a round succeeds under losses that a run outlasts easily.
const EVEN: f64 = 0.5;
/// The accepted chance that so many rounds in a row fail that a stall ends the run.
const UNLIKELY: f64 = 1e-6;

/// A stalled run.
pub(crate) struct Stalled<'a> {
    /// The transport of its messages.
    pub transport: &'a TransportConfig,
    /// The initial window in bytes.
    pub window: u64,
    /// The number of queue pairs per connection.
    pub qps: u32,
    /// The load balancer.
    pub balancer: &'a LbConfig,
    /// The hosts of an unacknowledged message between which no path is left, and the number of such messages.
    pub cut_off: Option<([HostId; 2], usize)>,
    /// The delay after which routing follows a failure; none if it never does.
    pub routing_delay: Option<Duration>,
    /// The faults of the run.
    pub faults: &'a [FaultSpec],
    /// The fabric.
    pub topology: &'a Topology,
    /// The file of the fabric, where it has one.
    pub file: Option<&'a str>,
    /// The limits of the run.
    pub limits: &'a Limits,
    /// Facts of the fabric's longest path.
    pub facts: &'a PathFacts,
    /// The time at which it stalled.
    pub at: Time,
    /// The bytes of the longest unacknowledged message.
    pub longest: u64,
}

impl Stalled<'_> {
    /// A help line for each fault that still held, with its effect on the messages under this transport; if no fault explains
    /// the stall, a line about how to learn more.
    pub(crate) fn explain(&self) -> Vec<String> {
        let holding: Vec<(&FaultSpec, Duration)> =
            self.faults.iter().filter_map(|fault| Some((fault, self.holds_since(fault)?))).collect();
        let lines = holding.iter().filter_map(|(fault, at)| self.explain_fault(fault, *at));
        let mut lines: Vec<String> = lines.collect();
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
                Some(longer) => {
                    format!("{faults}; transport.rto is {rto}: {longer}, shows whether these flows end")
                }
                None => format!(
                    "{faults}; transport.rto is {rto}: a packet and its ACK get through with a chance of {chance:.1e} a \
                     timeout, so that these flows hardly end in any run; {}, lets them end",
                    self.even_loss(1, self.packets())
                ),
            });
        }
        lines
    }

    /// Settings for a longer stall than the one that ended the run, with room for several consecutive timeouts.
    fn longer_stall(&self) -> String {
        let rto = self.transport.rto().on(self.facts);
        let stall = (rto * 20).max(self.limits.stall * 10).rounded_up(2);
        let over = self.at + stall + stall;
        let longer = match over <= Time::ZERO + self.limits.max_time {
            true => String::new(),
            false => {
                format!(" and max_time = \"{}\"", over.since(Time::ZERO).rounded_up(2).min(Limits::MAX_TIME))
            }
        };
        format!("a longer stall below [limits], such as stall = \"{stall}\"{longer}")
    }

    /// The limits for a run in which a round (a packet or a request, with its ACK) succeeds with this chance: a stall that
    /// outlasts the silence, and the end after `parts` further rounds, one per timeout at worst. None where that is longer than
    /// [`Limits::MAX_TIME`].
    fn stall_for(&self, chance: f64, parts: u64) -> Option<String> {
        if chance >= FREQUENT {
            return Some(self.longer_stall());
        }
        let rto = self.transport.rto().on(self.facts);
        let take = |rounds| self.transport.timeouts_of_rounds(rounds);
        let time = |timeouts: f64| {
            let time = rto.0 as f64 * timeouts;
            (time < Limits::MAX_TIME.0 as f64).then_some(Duration(time as u64))
        };
        // The silence lasts for so many timeouts that all of them fail with the chance `UNLIKELY`.
        let silence = time(take(libm::log(UNLIKELY) / libm::log(1.0 - chance)))?;
        let stall = silence.max(rto * 20).max(self.limits.stall * 10).rounded_up(2);
        let rest = time(parts as f64 * take(1.0 / chance))?;
        let over = (self.at + stall + stall + rest).since(Time::ZERO).rounded_up(2);
        (over <= Limits::MAX_TIME).then(|| {
            let longer = match over <= self.limits.max_time {
                true => String::new(),
                false => format!(" and max_time = \"{over}\""),
            };
            format!("a longer stall below [limits], such as stall = \"{stall}\"{longer}")
        })
    }

    /// The replacement where no run is long enough: a loss at which every other round of `packets` packets succeeds, and a
    /// stall for it.
    fn even_loss(&self, packets: u64, rounds: u64) -> String {
        let crossings = self.losses().map(|(_, crossings)| crossings).sum::<f64>().max(1.0);
        let crossings = crossings * self.round_trips() * (packets + 1) as f64 / 2.0;
        let probability = 1.0 - libm::pow(EVEN, 1.0 / crossings);
        // Two digits, rounded down.
        let unit = libm::pow(10.0, libm::floor(libm::log10(probability)) - 1.0);
        let probability = libm::floor(probability / unit) * unit;
        let digits = (1.0 - libm::floor(libm::log10(probability))) as usize;
        let stall = self.stall_for(EVEN, rounds).unwrap_or_else(|| self.longer_stall());
        format!("a loss of {probability:.digits$} or less a link, with {stall}")
    }

    /// The number of full packets in the longest message.
    fn packets(&self) -> u64 {
        self.longest.div_ceil(self.facts.packet.0.max(1))
    }

    /// The chance that a packet and its ACK get through on the longest path.
    fn round_chance(&self) -> f64 {
        let once: f64 = self.losses().map(|(lost, crossings)| libm::pow(1.0 - lost, crossings)).product();
        libm::pow(once, self.round_trips())
    }

    fn round_trips(&self) -> f64 {
        self.transport.round_trips().into()
    }

    /// The losses that still hold: the probability for a full packet, and the number of such links that a packet and its
    /// ACK cross, one per tier and direction.
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
            // A selector with a share draws links; their tiers do not depend on the draw.
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

    /// The start of a fault that still holds.
    fn holds_since(&self, fault: &FaultSpec) -> Option<Duration> {
        fault.at.0.iter().copied().find(|&at| {
            let from = Time::ZERO + at;
            from <= self.at && fault.duration.is_none_or(|duration| from + duration > self.at)
        })
    }

    /// The links or switches of a fault by their name in the scenario, with the place in the topology's file if the fault is an
    /// error rate of that file.
    fn quoted_names(&self, fault: &FaultSpec) -> String {
        let names = format!("{:?}", fault.kind.names().0.to_string());
        let file = self.file.and_then(|file| Path::new(file).file_name()).map(|file| file.to_string_lossy());
        match (fault.error_rate(self.topology), file) {
            (Some(rate), Some(file)) => format!("{names} ({})", rate.place(&file)),
            _ => names,
        }
    }

    fn explain_fault(&self, fault: &FaultSpec, at: Duration) -> Option<String> {
        let (since, quoted_names) = (since(fault, at), self.quoted_names(fault));
        match &fault.kind {
            FaultKind::PacketLoss { probability: 1.0, .. } => {
                let below = match fault.error_rate(self.topology) {
                    Some(_) => "an error rate below 1 there",
                    None => "a probability below 1",
                };
                Some(format!("every packet on {quoted_names} is lost {since}; take {below}"))
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
                Some(self.explain_dead_link(&quoted_names, &since, fault.duration))
            }
            FaultKind::LinkFlap { period, down_for, .. } => {
                let flaps = format!("for {down_for} of each {period} {since}");
                Some(self.explain_dead_link(&quoted_names, &flaps, fault.duration))
            }
            FaultKind::Rate { rate, .. } => Some(format!(
                "{quoted_names} runs at {rate} {since}, at which a full packet takes {}; give the fault a shorter duration, or write \
                 {}",
                rate.time_for(self.facts.packet.0).about(),
                self.longer_stall()
            )),
            FaultKind::SwitchLoss { .. } => None,
        }
    }

    /// The effect of losses on DCP, whose receiver counts packets (section 4.5). A packet that a link loses is not requested
    /// again. Only the coarse timeout repairs the loss: it restarts the whole request, and packets of an earlier round no
    /// longer count.
    fn explain_dcp_rounds(&self, lost: f64, fault: &str, milder: &str) -> Option<String> {
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
        let longer = longer.unwrap_or_else(|| self.even_loss(packets, requests));
        Some(format!(
            "under the transport dcp all {packets} packets of a request must get through in one round: a receiver only counts \
             them, and a timeout ({rto}) begins anew with all of them. With {fault} the chance is {chance:.1e} a round where \
             all of them take such a link, and more where only some do. {shorter}{milder}, or \
             write {longer}"
        ))
    }

    fn explain_dead_link(&self, what: &str, since: &str, duration: Option<Duration>) -> String {
        // With a duration, the watchdog did not end the run: no event was left that would try again.
        let shorter = if duration.is_none() { "give the fault a duration, or " } else { "" };
        if let Some(([from, to], flows)) = self.cut_off {
            let others = match flows - 1 {
                0 => String::new(),
                others => format!(", nor for {others} more flows"),
            };
            return format!(
                "{what} is down {since}, and no path is left between host {from} and host {to}{others}: no balancer finds \
                 one; {shorter}leave a path around it"
            );
        }
        let balancer = if self.balancer.leaves_lossy_paths() {
            ""
        } else {
            ", or take a balancer that leaves a path that loses (reps)"
        };
        match self.routing_delay {
            None => format!(
                "{what} is down {since}, and no fabric.routing_delay is set, so that switches go on sending there, though a \
                 path is left; {shorter}set fabric.routing_delay{balancer}"
            ),
            Some(delay) => format!(
                "{what} is down {since}; routing learnt of it {delay} later, and a path is left, but the flows have not found \
                 it in time; {shorter}write {}{balancer}",
                self.longer_stall()
            ),
        }
    }
}

/// The kind of a fault, with its probability where it has one: `packet-loss = 0.01`.
fn strength(fault: &FaultSpec) -> String {
    match fault.kind.probability() {
        Some(probability) => format!("{} = {probability}", fault.kind.word()),
        None => fault.kind.word().to_owned(),
    }
}

/// The interval of a fault that began at `at`.
fn since(fault: &FaultSpec, at: Duration) -> String {
    let from = if at == Duration::ZERO { "from the start".to_owned() } else { format!("from {at} on") };
    match fault.duration {
        Some(duration) => format!("{from} until {}", at + duration),
        None => format!("{from} for good"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_base::Rate;
    use anabranch_proto::Span;
    use anabranch_proto::transport::{DcpConfig, SackConfig};

    fn dcp() -> TransportConfig {
        TransportConfig::Dcp(DcpConfig {
            payload: Bytes(1000),
            header: Bytes(57),
            ack: Bytes(60),
            counter_bits: 14,
            tracked_messages: 8,
            round_quota: Bytes(16_000),
            batch: 16,
            pcie: Span::Time(Duration::ZERO),
            cnp_interval: Span::Time(Duration::from_us(4)),
            trims_as_marks: false,
            rto: Span::Time(Duration::from_us(4_000)),
        })
    }

    fn sack() -> TransportConfig {
        let rto = Span::Time(Duration::from_us(70));
        TransportConfig::Sack(SackConfig {
            payload: Bytes(4086),
            header: Bytes(64),
            ack: Bytes(64),
            ack_every: 1,
            carry_evs: false,
            rto,
            inherits: Default::default(),
        })
    }

    fn explained(transport: &TransportConfig, kind: FaultKind, duration: Option<Duration>) -> String {
        explained_cut_off(transport, kind, duration, None)
    }

    fn explained_cut_off(
        transport: &TransportConfig,
        kind: FaultKind,
        duration: Option<Duration>,
        cut_off: Option<([HostId; 2], usize)>,
    ) -> String {
        let faults = &[FaultSpec { kind, at: Duration::from_us(1).into(), duration }];
        stalled_cut_off(transport, faults, &lossy(0.25), &Limits::default(), cut_off)
    }

    fn stalled(transport: &TransportConfig, faults: &[FaultSpec], on: &Topology, limits: &Limits) -> String {
        stalled_cut_off(transport, faults, on, limits, None)
    }

    fn stalled_cut_off(
        transport: &TransportConfig,
        faults: &[FaultSpec],
        on: &Topology,
        limits: &Limits,
        cut_off: Option<([HostId; 2], usize)>,
    ) -> String {
        let facts = &PathFacts {
            base_rtt: Duration::from_us(8),
            bdp: Bytes(400_000),
            packet: Bytes(1057),
            line_rate: Rate::from_gbps(400),
            queue: Bytes(1_000_000),
        };
        Stalled {
            transport,
            window: u64::MAX,
            qps: 1,
            balancer: &LbConfig::Ecmp {},
            cut_off,
            routing_delay: None,
            faults,
            topology: on,
            file: Some(FILE),
            limits,
            facts,
            at: Time::ZERO + Duration::from_us(20_000),
            longest: 1_000_000,
        }
        .explain()
        .iter()
        .map(|line| format!("\n  help: {line}"))
        .collect()
    }

    const FILE: &str = "inputs/pair.txt";

    /// A pair of hosts whose links have this error rate.
    fn lossy(rate: f64) -> Topology {
        let text = format!("3 1 2\n2\n0 2 400Gbps 1us {rate}\n1 2 400Gbps 1us {rate}\n");
        anabranch_fabric::parse_ns3(FILE, &text, Duration::ZERO).unwrap()
    }

    fn loss() -> FaultKind {
        FaultKind::PacketLoss { links: "host:0".into(), both_directions: Some(false), probability: 0.01 }
    }

    #[test]
    fn dcp_must_get_a_whole_request_through_at_once() {
        let text = explained(&dcp(), loss(), None);
        for part in [
            "all 1000 packets",
            "(4 ms)",
            "0.01 on \"host:0\" from 1us on for good",
            "4.3e-5 a round",
            "of 68KB or less",
        ] {
            assert!(text.contains(part), "no {part:?} in {text}");
        }
    }

    #[test]
    fn where_faults_say_nothing_it_is_said_how_to_learn_more() {
        let over = explained(&dcp(), loss(), Some(Duration::from_us(5)));
        assert!(
            over.starts_with("\n  help: no fault holds at this time; transport.rto is 4 ms: a longer stall"),
            "{over}"
        );
        let others = explained(&sack(), loss(), None);
        assert!(
            others.starts_with("\n  help: packet-loss = 0.01 on \"host:0\" holds from 1us on for good; transport.rto is 70 us: ")
                && others.contains("stall = \"100ms\", shows"),
            "{others}"
        );
        let all =
            FaultKind::PacketLoss { probability: 1.0, links: "all".to_owned().into(), both_directions: None };
        assert!(
            explained(&dcp(), all, None).contains("every packet on \"all\" is lost from 1us on for good")
        );
    }

    /// Losses on both directions of both hosts' links: a packet crosses two of them, and its ACK too.
    #[test]
    fn a_stall_outlasts_the_losses_that_hold() {
        let text = |probability| {
            let all =
                FaultKind::PacketLoss { probability, links: "all".to_owned().into(), both_directions: None };
            explained(&sack(), all, None)
        };
        // 215 timeouts of 70 us are shorter than ten times the stall; 947 packets take 16 each.
        let half = text(0.5);
        assert!(half.contains("such as stall = \"100ms\" and max_time = \"1300ms\", shows"), "{half}");
        // 13,809 of them: some 970 ms, and 66 s for the packets.
        let most = text(0.822);
        assert!(most.contains("such as stall = \"970ms\" and max_time = \"68s\", shows"), "{most}");
        // Of 10,000 timeouts one sends a packet that is acknowledged: 663 s, which no run has.
        let nearly_all = text(0.9);
        for part in [
            "a chance of 1.0e-4 a timeout",
            "a loss of 0.15 or less a link, with ",
            "stall = \"100ms\", lets",
        ] {
            assert!(nearly_all.contains(part), "no {part:?} in {nearly_all}");
        }
    }

    #[test]
    fn an_error_rate_of_the_topology_is_named_with_its_lines() {
        let of_file = |probability: f64| {
            let topology = lossy(probability);
            let fault = FaultSpec::of_error_rate(topology.error_rates.iter().next().unwrap());
            let text = stalled(&sack(), &[fault], &topology, &Limits::default());
            text.replace(&format!("{probability}"), "P")
        };
        assert!(
            of_file(0.1).starts_with(
                "\n  help: packet-loss = P on \"error-rate:P\" (lines 3 to 4 of pair.txt) holds from the start for good;"
            ),
            "{}",
            of_file(0.1)
        );
        assert_eq!(
            of_file(1.0),
            "\n  help: every packet on \"error-rate:P\" (lines 3 to 4 of pair.txt) is lost from the start for good; take \
             an error rate below P there"
        );
    }

    /// The proposed stall is longer than the configured one and fits into the run.
    #[test]
    fn a_longer_stall_is_longer() {
        let topology = lossy(0.1);
        let hint = |stall: u64, max_time: u64| {
            let limits = Limits {
                stall: Duration::from_us(stall),
                max_time: Duration::from_us(max_time),
                ..Limits::default()
            };
            stalled(&sack(), &[], &topology, &limits)
        };
        for (stall, max_time, expected) in [
            (10_000, 1_000_000, "such as stall = \"100ms\", shows"),
            (10, 1_000_000, "such as stall = \"1400us\", shows"),
            (200_000, 100_000_000, "such as stall = \"2s\", shows"),
            (200_000, 1_000_000, "such as stall = \"2s\" and max_time = \"4100ms\", shows"),
        ] {
            assert!(hint(stall, max_time).contains(expected), "{}", hint(stall, max_time));
        }
    }

    #[test]
    fn a_dead_link_is_named() {
        let down = FaultKind::LinkDown { links: "tor:0/up:1".into(), both_directions: Some(true) };
        let text = explained(&sack(), down, None);
        assert!(text.contains("\"tor:0/up:1\" is down from 1us on for good"), "{text}");
        assert!(text.contains("set fabric.routing_delay, or take a balancer that leaves"), "{text}");
    }

    #[test]
    fn where_no_path_is_left_no_balancer_is_proposed() {
        let down = FaultKind::LinkDown { links: "host:3".into(), both_directions: Some(true) };
        let text = explained_cut_off(&sack(), down, None, Some(([HostId(3), HostId(5)], 2)));
        assert!(text.contains("no path is left between host 3 and host 5, nor for 1 more flows"), "{text}");
        assert!(!text.contains("reps"), "{text}");
    }
}
