//! Why a run stalled, where its faults say so, and what it would have taken.

use crate::fault_spec::{FaultKind, FaultSpec};
use crate::spec::Limits;
use anabranch_base::{Bytes, Duration, HostId, Time};
use anabranch_fabric::Topology;
use anabranch_proto::{LbConfig, PathFacts, TransportConfig};
use std::path::Path;

/// The help for a fault that lets too little through.
const SHORTER: &str = "give the fault a shorter duration";

/// What is known of a run that stalled.
pub(crate) struct Stalled<'a> {
    /// What carried its messages.
    pub transport: &'a TransportConfig,
    /// Their first window, in bytes.
    pub window: u64,
    /// On how many queue pairs each.
    pub qps: u32,
    /// What chose their paths.
    pub balancer: &'a LbConfig,
    /// The hosts of a message that is not acknowledged, between which no path is left, and how many such messages there
    /// are.
    pub cut_off: Option<([HostId; 2], usize)>,
    /// How long after a link went down routing followed, if ever.
    pub routing_delay: Option<Duration>,
    /// What was to break.
    pub faults: &'a [FaultSpec],
    /// Where.
    pub on: &'a Topology,
    /// The file that the fabric is from.
    pub file: Option<&'a str>,
    /// Where the run was to end.
    pub limits: &'a Limits,
    /// The fabric's longest path.
    pub facts: &'a PathFacts,
    /// When it stalled.
    pub at: Time,
    /// Bytes of the longest message that is not acknowledged.
    pub longest: u64,
}

impl Stalled<'_> {
    /// What the faults that still held mean for these messages under this transport, a line each; when they say nothing, how
    /// to learn more.
    pub(crate) fn explain(&self) -> String {
        let holding = |fault: &FaultSpec| {
            fault.at.0.iter().copied().find(|&at| {
                let from = Time::ZERO + at;
                from <= self.at && fault.duration.is_none_or(|duration| from + duration > self.at)
            })
        };
        let holding: Vec<(&FaultSpec, Duration)> =
            self.faults.iter().filter_map(|fault| Some((fault, holding(fault)?))).collect();
        let lines = holding.iter().filter_map(|(fault, at)| self.of_fault(fault, *at));
        let mut lines: Vec<String> = lines.collect();
        if lines.is_empty() {
            let named = holding.iter().map(|(fault, at)| {
                format!("{} on {} holds {}", strength(fault), self.named(fault), since(fault, *at))
            });
            let faults = match holding.is_empty() {
                true => "no fault holds at this time".to_owned(),
                false => named.collect::<Vec<_>>().join("; "),
            };
            let rto = self.transport.rto().on(self.facts).about();
            let longer = self.longer_stall();
            lines.push(format!("{faults}; transport.rto is {rto}: {longer}, shows whether these flows end"));
        }
        lines.iter().map(|line| format!("\n  help: {line}")).collect()
    }

    /// A stall that is longer than the one which ended the run, and in which timeouts come one after the other.
    fn longer_stall(&self) -> String {
        let rto = self.transport.rto().on(self.facts);
        let stall = (rto * 20).max(self.limits.stall * 10).rounded_up(2);
        let over = self.at + stall + stall;
        let longer = match over <= Time::ZERO + self.limits.max_time {
            true => String::new(),
            false => {
                format!(" and max_time = \"{}\"", over.since(Time::ZERO).rounded_up(2).min(Limits::MOST_TIME))
            }
        };
        format!("a longer stall below [limits], such as stall = \"{stall}\"{longer}")
    }

    /// The links or switches of a fault by their name in the scenario, with the place in the topology's file
    /// where the fault is an error rate of that file.
    fn named(&self, fault: &FaultSpec) -> String {
        let names = format!("{:?}", fault.kind.names().0.to_string());
        let file = self.file.and_then(|file| Path::new(file).file_name()).map(|file| file.to_string_lossy());
        match (fault.error_rate(self.on), file) {
            (Some(rate), Some(file)) => format!("{names} ({})", rate.place(&file)),
            _ => names,
        }
    }

    fn of_fault(&self, fault: &FaultSpec, at: Duration) -> Option<String> {
        let (since, named) = (since(fault, at), self.named(fault));
        match &fault.kind {
            FaultKind::PacketLoss { probability: 1.0, .. } => {
                let below = match fault.error_rate(self.on) {
                    Some(_) => "an error rate below 1 there",
                    None => "a probability below 1",
                };
                Some(format!("every packet on {named} is lost {since}; write {below}"))
            }
            FaultKind::PacketLoss { probability, .. } => {
                let milder = match fault.error_rate(self.on) {
                    Some(_) => "take a smaller error rate there",
                    None => SHORTER,
                };
                self.of_rounds(*probability, &format!("{} on {named} {since}", strength(fault)), milder)
            }
            FaultKind::BitErrors { probability, .. } => {
                let bits = 8.0 * self.facts.packet.0 as f64;
                let lost = 1.0 - libm::pow(1.0 - probability, bits);
                let fault = format!("{} on {named} {since}, {lost:.2e} a full packet,", strength(fault));
                self.of_rounds(lost, &fault, SHORTER)
            }
            FaultKind::LinkDown { .. } | FaultKind::SwitchDown { .. } => {
                Some(self.of_dead(&named, &since, fault.duration))
            }
            FaultKind::LinkFlap { period, down_for, .. } => {
                let flaps = format!("for {down_for} of each {period} {since}");
                Some(self.of_dead(&named, &flaps, fault.duration))
            }
            FaultKind::Rate { rate, .. } => Some(format!(
                "{named} runs at {rate} {since}, at which a full packet takes {}; give the fault a shorter duration, or write \
                 {}",
                rate.time_for(self.facts.packet.0).about(),
                self.longer_stall()
            )),
            FaultKind::SwitchLoss { .. } => None,
        }
    }

    /// DCP counts packets (section 4.5). What a link loses without a trace is not asked for: only the coarse timeout
    /// mends it, which begins the whole request anew, and packets of an earlier round no longer count.
    fn of_rounds(&self, lost: f64, fault: &str, milder: &str) -> Option<String> {
        let TransportConfig::Dcp(config) = self.transport else { return None };
        if lost <= 0.0 {
            return None;
        }
        let payload = config.payload.0;
        let part = self.longest.div_ceil(self.longest.clamp(1, u64::from(self.qps)));
        let packets = self.transport.request_packets(self.window, part.div_ceil(payload).max(1))?;
        let chance = libm::pow(1.0 - lost, packets as f64);
        let rto = config.rto.on(self.facts).about();
        let even = (libm::log(0.5) / libm::log(1.0 - lost)) as u64;
        let shorter = match even {
            0 => String::new(),
            even => format!("messages of {} or less have an even chance a round; ", Bytes(even * payload)),
        };
        Some(format!(
            "under the transport dcp all {packets} packets of a request must get through in one round: a receiver only counts \
             them, and a timeout ({rto}) begins anew with all of them. With {fault} the chance is {chance:.1e} a round where \
             all of them take such a link, and more where only some do. {shorter}or {milder}, or \
             write {}",
            self.longer_stall()
        ))
    }

    fn of_dead(&self, what: &str, since: &str, duration: Option<Duration>) -> String {
        // With one, it was no time-out of the watchdog that ended the run: nothing was left that would try again.
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
        let leaves = matches!(self.balancer, LbConfig::Reps(_) | LbConfig::Strack(_));
        let balancer = if leaves { "" } else { ", or take a balancer that leaves a path that loses (reps)" };
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

/// From when to when a fault holds that began `at`.
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
            on,
            file: Some(FILE),
            limits,
            facts,
            at: Time::ZERO + Duration::from_us(20_000),
            longest: 1_000_000,
        }
        .explain()
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
            "\n  help: every packet on \"error-rate:P\" (lines 3 to 4 of pair.txt) is lost from the start for good; write \
             an error rate below P there"
        );
    }

    /// The stall that the help proposes is longer than the one that is set, and fits into the run.
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
        for (stall, max_time, said) in [
            (10_000, 1_000_000, "such as stall = \"100ms\", shows"),
            (10, 1_000_000, "such as stall = \"1400us\", shows"),
            (200_000, 100_000_000, "such as stall = \"2s\", shows"),
            (200_000, 1_000_000, "such as stall = \"2s\" and max_time = \"4100ms\", shows"),
        ] {
            assert!(hint(stall, max_time).contains(said), "{}", hint(stall, max_time));
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
