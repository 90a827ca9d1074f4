//! Flowlets at the host: after an idle gap between two packets, the second packet may take another path.
//!
//! LetFlow (NSDI 2017) uses flowlets in switches, with random paths. REPS (section 4.1) evaluates flowlets at the
//! sender, as "Flowlet Switching" with "an aggressive flowlet timeout at half of the RTT".

use super::AnyLb;
use super::interface::{Environment, LbProperties, LoadBalancer};
use crate::{Span, StateField};
use anabranch_base::{AboveZero, Duration, Stream, Time, parameter_choices, parameters};
use serde::{Deserialize, Serialize};

parameters! {
    /// Parameters of flowlets at the host.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct FlowletConfig {
        /// Number of entropy values among which each flowlet draws one.
        #[param(1..=65_536; example = 65_536; source = "REPS, section 2.2")]
        pub evs: u32,
        /// An idle gap longer than this ends a flowlet.
        #[param(AboveZero; example = "0.5rtt"; source = "REPS, section 4.1")]
        pub gap: Span,
        /// Start of the idle gap. With `sent`, it is the time at which the previous packet was sent. With `ack`, it is the
        /// arrival of the last ACK.
        #[param(any; example = "sent"; source = "sent: LetFlow (NSDI 2017), section 3; ack: the simulator published with REPS")]
        pub since: PauseSince,
    }
}

/// The start of an idle gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PauseSince {
    /// The time at which the previous packet was sent.
    Sent,
    /// The arrival of the last ACK. Before the first ACK, it is the time at which the previous packet was sent.
    Ack,
}

parameter_choices!(PauseSince: "sent" = Sent, "ack" = Ack);

/// A sender of flowlets.
#[derive(Clone, Debug)]
pub struct Flowlet {
    ev: u16,
    since: PauseSince,
    acked: bool,
    evs: u32,
    /// The start of the idle gap.
    last: Time,
    gap: Duration,
    random: Stream,
}

impl Flowlet {
    /// A sender before its first flowlet.
    pub fn new(config: &FlowletConfig, environment: &Environment, mut random: Stream) -> Self {
        Flowlet {
            ev: random.below(config.evs) as u16,
            since: config.since,
            acked: false,
            evs: config.evs,
            last: Time::ZERO,
            gap: config.gap.on(&environment.facts),
            random,
        }
    }

    /// The widths of the fields are assumptions, since no paper gives them.
    pub(super) fn state() -> Vec<StateField> {
        vec![StateField::new("entropy value", 16, 1), StateField::new("start of the idle gap", 32, 1)]
    }
}

/// Marks, losses and timeouts are ignored, since flowlets become shorter on slow paths by themselves (LetFlow, section
/// 3).
impl LbProperties for FlowletConfig {
    fn build(&self, environment: &Environment, random: Stream) -> AnyLb {
        AnyLb::Flowlet(Flowlet::new(self, environment, random))
    }

    fn state(&self) -> Vec<StateField> {
        Flowlet::state()
    }

    fn spreads_packets(&self) -> bool {
        false
    }

    fn reacts_to_ecn(&self) -> bool {
        false
    }
}

impl LoadBalancer for Flowlet {
    #[inline]
    fn next_ev(&mut self, now: Time, _window: u64) -> u16 {
        if now.since(self.last) > self.gap {
            self.ev = self.random.below(self.evs) as u16;
        }
        if self.since == PauseSince::Sent || !self.acked {
            self.last = now;
        }
        self.ev
    }

    #[inline]
    fn handle_ack(&mut self, now: Time, _ev: u16, _marked: bool, _rtt: Duration) {
        if self.since == PauseSince::Ack {
            self.last = now;
            self.acked = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{at, environment, random};
    use super::*;

    fn sender(since: PauseSince) -> Flowlet {
        let config = FlowletConfig { evs: 65_536, gap: Span::Rtt(0.5), since };
        Flowlet::new(&config, &environment(false), random())
    }

    /// The gap is half of an RTT of 8 us.
    #[test]
    fn a_pause_of_more_than_half_an_rtt_ends_a_flowlet() {
        let mut lb = sender(PauseSince::Sent);
        let first = lb.next_ev(at(1), 0);
        assert_eq!(lb.next_ev(at(5), 0), first);
        assert_eq!(lb.next_ev(at(9), 0), first);
        lb.handle_ack(at(12), first, true, Duration::from_us(8));
        lb.handle_timeout(at(12), None);
        assert_eq!(lb.next_ev(at(13), 0), first, "ACKs and timeouts do not matter");
        let second = lb.next_ev(at(17) + Duration(1), 0);
        assert_ne!(second, first);
        assert_eq!(lb.next_ev(at(20), 0), second);
    }

    #[test]
    fn the_pause_may_count_from_the_last_ack() {
        let mut lb = sender(PauseSince::Ack);
        let first = lb.next_ev(at(1), 0);
        assert_eq!(lb.next_ev(at(5), 0), first, "no ACK yet");
        lb.handle_ack(at(9), first, false, Duration::from_us(8));
        assert_eq!(lb.next_ev(at(12), 0), first);
        assert_eq!(lb.next_ev(at(13), 0), first);
        let second = lb.next_ev(at(13) + Duration(1), 0);
        assert_ne!(second, first, "4 us after the ACK");
        assert_ne!(lb.next_ev(at(14), 0), second, "and again, for as long as no ACK comes");
    }

    #[test]
    fn state_is_as_listed() {
        assert_eq!(Flowlet::state().iter().map(|field| field.bits * field.count).sum::<u32>(), 48);
    }
}
