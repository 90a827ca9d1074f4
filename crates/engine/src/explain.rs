//! Why a run stalled, where its faults say so, and what it would have taken.

use crate::fault_spec::{FaultKind, FaultSpec, Several};
use anabranch_base::{Bytes, Duration, HostId, Time};
use anabranch_proto::{LbConfig, PathFacts, TransportConfig};

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
        let lines = self.faults.iter().filter_map(|fault| self.of_fault(fault, holding(fault)?));
        let mut lines: Vec<String> = lines.collect();
        if lines.is_empty() {
            let rto = self.transport.rto().on(self.facts);
            let faults = match self.faults.iter().any(|fault| holding(fault).is_some()) {
                true => "",
                false => "no fault holds at this time; ",
            };
            lines.push(format!(
                "{faults}transport.rto is {}: with a longer stall below [limits], such as \"{}\", it shows whether these \
                 flows end",
                rto.about(),
                (rto * 20).rounded_up(2)
            ));
        }
        lines.iter().map(|line| format!("\n  help: {line}")).collect()
    }

    fn of_fault(&self, fault: &FaultSpec, at: Duration) -> Option<String> {
        let until = match fault.duration {
            Some(duration) => format!("until {}", Time::ZERO + at + duration),
            None => "for good".to_owned(),
        };
        let since = format!("from {at} on {until}");
        let named = |names: &Several<String>| format!("{:?}", names.to_string());
        match &fault.kind {
            FaultKind::PacketLoss { links, probability: 1.0, .. } => {
                Some(format!("every packet on {} is lost {since}; write a probability below 1", named(links)))
            }
            FaultKind::PacketLoss { links, probability, .. } => self
                .of_rounds(*probability, &format!("packet-loss = {probability} on {} {since}", named(links))),
            FaultKind::BitErrors { links, probability, .. } => {
                let bits = 8.0 * self.facts.packet.0 as f64;
                let lost = 1.0 - libm::pow(1.0 - probability, bits);
                let fault = format!(
                    "bit-errors = {probability} on {} {since}, {lost:.2e} a full packet,",
                    named(links)
                );
                self.of_rounds(lost, &fault)
            }
            FaultKind::LinkDown { links, .. } => Some(self.of_dead(&named(links), &since, fault.duration)),
            FaultKind::SwitchDown { switches } => {
                Some(self.of_dead(&named(switches), &since, fault.duration))
            }
            FaultKind::LinkFlap { links, period, down_for, .. } => {
                let flaps = format!("for {down_for} of each {period} {since}");
                Some(self.of_dead(&named(links), &flaps, fault.duration))
            }
            FaultKind::Rate { links, rate, .. } => Some(format!(
                "{} runs at {rate} {since}, at which a full packet takes {}; give the fault a shorter duration, or write a \
                 longer stall below [limits]",
                named(links),
                rate.time_for(self.facts.packet.0).about()
            )),
            FaultKind::SwitchLoss { .. } => None,
        }
    }

    /// DCP counts packets (section 4.5). What a link loses without a trace is not asked for: only the coarse timeout
    /// mends it, which begins the whole request anew, and packets of an earlier round no longer count.
    fn of_rounds(&self, lost: f64, fault: &str) -> Option<String> {
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
             all of them take such a link, and more where only some do. {shorter}or give the fault a shorter duration, or \
             write a longer stall below [limits]"
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
                 it in time; {shorter}write a longer stall below [limits]{balancer}"
            ),
        }
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
        let facts = &PathFacts {
            base_rtt: Duration::from_us(8),
            bdp: Bytes(400_000),
            packet: Bytes(1057),
            line_rate: Rate::from_gbps(400),
            queue: Bytes(1_000_000),
        };
        let faults = &[FaultSpec { kind, at: Duration::from_us(1).into(), duration }];
        let at = Time::ZERO + Duration::from_us(20_000);
        Stalled {
            transport,
            window: u64::MAX,
            qps: 1,
            balancer: &LbConfig::Ecmp {},
            cut_off,
            routing_delay: None,
            faults,
            facts,
            at,
            longest: 1_000_000,
        }
        .explain()
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
            over.starts_with(
                "\n  help: no fault holds at this time; transport.rto is 4 ms: with a longer stall"
            ),
            "{over}"
        );
        let others = explained(&sack(), loss(), None);
        assert!(
            others.starts_with("\n  help: transport.rto is 70 us: ") && others.contains("\"1400us\""),
            "{others}"
        );
        let all =
            FaultKind::PacketLoss { probability: 1.0, links: "all".to_owned().into(), both_directions: None };
        assert!(
            explained(&dcp(), all, None).contains("every packet on \"all\" is lost from 1us on for good")
        );
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
