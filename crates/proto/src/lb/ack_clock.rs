//! A packet takes the entropy value of the ACK that clocks it out. This is the load balancer of MPRDMA over another
//! transport.
//!
//! The baseline "MPRDMA" of REPS (section 4.1) is MP-RDMA's choice of paths over the transport and congestion control
//! that all balancers of that paper use. The transport `mp-rdma` reports to its balancer (`lb.kind = "mp-rdma"`) how
//! many packets an ACK clocks out. The transport `sack` reports every ACK, even if the ACK clocks out no packet. This
//! balancer therefore keeps the entropy value of the newest ACK, for one packet. If the link is free, an ACK clocks
//! out its packet before the next ACK arrives. If an ACK clocks out no packet, the next ACK overwrites its value. If
//! an ACK clocks out two packets, the first packet takes its value and the second packet takes a random value.

use super::AnyLb;
use super::interface::{Environment, LbProperties, LoadBalancer};
use crate::StateField;
use anabranch_base::{Duration, Stream, Time, parameters};
use serde::{Deserialize, Serialize};

parameters! {
    /// Parameters of the balancer `ack-clock`.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct AckClockConfig {
        /// Number of entropy values from which a packet draws at random if no ACK clocks it out.
        #[param(1..=65_536; example = 65_536; source = "REPS, section 2.2")]
        pub evs: u32,
    }
}

/// A sender clocked by ACKs.
#[derive(Clone, Debug)]
pub struct AckClock {
    /// The entropy value of the newest ACK. None once a packet has used it.
    newest: Option<u16>,
    evs: u32,
    random: Stream,
}

impl AckClock {
    /// A sender before its first ACK.
    pub fn new(config: &AckClockConfig, random: Stream) -> Self {
        AckClock { newest: None, evs: config.evs, random }
    }

    pub(super) fn state() -> Vec<StateField> {
        vec![StateField::new("entropy value of the newest ACK", 16, 1), StateField::new("is there", 1, 1)]
    }
}

impl LbProperties for AckClockConfig {
    fn build(&self, _environment: &Environment, random: Stream) -> AnyLb {
        AnyLb::AckClock(AckClock::new(self, random))
    }

    fn state(&self) -> Vec<StateField> {
        AckClock::state()
    }

    fn reacts_to_ecn(&self) -> bool {
        false
    }

    /// A path that returns no ACKs clocks out no packets.
    fn leaves_lossy_paths(&self) -> bool {
        true
    }
}

impl LoadBalancer for AckClock {
    #[inline]
    fn next_ev(&mut self, _now: Time, _window: u64) -> u16 {
        self.newest.take().unwrap_or_else(|| self.random.below(self.evs) as u16)
    }

    /// Marks are ignored: a mark shrinks the window, so that fewer ACKs clock out a packet.
    #[inline]
    fn handle_ack(&mut self, _now: Time, ev: u16, _marked: bool, _rtt: Duration) {
        self.newest = Some(ev);
    }

    /// No ACK clocks out the packet that follows a timeout.
    fn handle_timeout(&mut self, _now: Time, _ev: Option<u16>) {
        self.newest = None;
    }

    /// No ACK clocks out the packet that follows a trim.
    fn handle_trim(&mut self, _now: Time, _ev: u16) {
        self.newest = None;
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{at, random};
    use super::*;

    fn sender() -> AckClock {
        AckClock::new(&AckClockConfig { evs: 65_536 }, random())
    }

    fn ack(lb: &mut AckClock, ev: u16, marked: bool) {
        lb.handle_ack(at(1), ev, marked, Duration::from_us(8));
    }

    #[test]
    fn each_ack_clocks_a_packet_onto_its_path() {
        let mut lb = sender();
        for ev in [7, 8, 7, 9] {
            ack(&mut lb, ev, ev == 9);
            assert_eq!(lb.next_ev(at(1), 0), ev);
        }
    }

    #[test]
    fn packets_that_no_ack_lets_go_are_random() {
        let mut expected = random();
        let mut draw = || expected.below(65_536) as u16;
        let mut lb = sender();
        assert_eq!([lb.next_ev(at(0), 0), lb.next_ev(at(0), 0)], [draw(), draw()]);
        ack(&mut lb, 7, false);
        ack(&mut lb, 8, true);
        ack(&mut lb, 9, false);
        assert_eq!([lb.next_ev(at(1), 0), lb.next_ev(at(1), 0)], [9, draw()], "7 and 8 let no packet go");
        ack(&mut lb, 7, false);
        lb.handle_timeout(at(2), None);
        assert_eq!(lb.next_ev(at(2), 0), draw());
        ack(&mut lb, 7, false);
        lb.handle_trim(at(2), 5);
        assert_eq!(lb.next_ev(at(2), 0), draw());
    }

    #[test]
    fn a_path_without_answers_is_left() {
        assert!(AckClockConfig { evs: 65_536 }.leaves_lossy_paths());
    }

    #[test]
    fn state_is_as_listed() {
        assert_eq!(AckClock::state().iter().map(|field| field.bits * field.count).sum::<u32>(), 17);
    }
}
