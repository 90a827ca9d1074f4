//! The interface between load balancers and transports.

use super::{AnyLb, LbConfig, each_config, each_lb};
use crate::interface::interface;
use crate::{Conflict, PathFacts, StateField};
use anabranch_base::{Duration, Stream, Time};

/// The facts about fabric and transport from which a load balancer is built.
#[derive(Clone, Copy, Debug)]
pub struct Environment {
    /// The facts about the fabric's longest path.
    pub facts: PathFacts,
    /// The transport's retransmission timeout.
    pub rto: Duration,
    /// Whether switches trim packets instead of dropping them.
    pub trimming: bool,
}

/// The ports of the NIC of a queue pair. Unless the NIC chooses ports by another rule, or avoids ports that are down,
/// the port by which a packet leaves is its entropy value modulo the number of ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NicPorts {
    /// The number of ports.
    pub count: u16,
    /// Mask of the ports that can send now. Bit `p` belongs to port `p`.
    pub free: u16,
    /// Mask of the ports whose links are up, as far as the NIC knows.
    pub up: u16,
}

impl NicPorts {
    /// A NIC with one port.
    pub const ONE: NicPorts = NicPorts { count: 1, free: 1, up: 1 };

    /// Returns `ev` if its port is free, and otherwise a nearby entropy value below `evs` whose port is free. If the
    /// NIC has one port, if no port is free, or if no nearby value is found, the result is `ev`. This is for load
    /// balancers to which all values below `evs` are equally good.
    #[inline]
    pub fn steer(self, ev: u16, evs: u32) -> u16 {
        if self.count < 2 || self.free == 0 || self.free >> (ev % self.count) & 1 == 1 {
            return ev;
        }
        let (row, number) = (ev / self.count, u32::from(ev / self.count) % self.free.count_ones());
        let free = (0..self.count).filter(|port| self.free >> port & 1 == 1);
        let port = free.into_iter().nth(number as usize).unwrap_or(0);
        let other = u32::from(row) * u32::from(self.count) + u32::from(port);
        match other < evs {
            true => other as u16,
            false => other.checked_sub(u32::from(self.count)).map_or(ev, |other| other as u16),
        }
    }
}

interface! {
    /// A load balancer, built-in or user-defined. There is one for each queue pair.
    ///
    /// A user-defined load balancer declares its parameters at its registration, and its factory reads them by
    /// [`Parameters::get`](anabranch_base::Parameters::get). A parameter is a `bool`, `u16`, `u32`, `u64`, `i64`,
    /// `f64`, `String`, [`Bytes`](anabranch_base::Bytes), [`Duration`] or [`Rate`](anabranch_base::Rate), or a
    /// quantity that may depend on the fabric: a [`Size`](crate::Size) (`"0.5bdp"`, `"8packets"`, `"64KB"`), a
    /// [`Span`](crate::Span) (`"5rtt"`, `"70us"`) or a [`Pace`](crate::Pace) (`"0.05line"`, `"10Gbps"`). The method
    /// `on` of these three types gives bytes, a time or a rate, from the facts that the factory gets:
    /// `parameters.get::<Span>("patience").on(&environment.facts)`. A `Duration` does not accept `"5rtt"`.
    pub trait LoadBalancer: Send for each of AnyLb by each_lb {
        /// The entropy value of the packet that is sent now. This is called once for each of these packets:
        /// - a data packet, with no distinction between a first transmission and a retransmission
        /// - a probe that the transport itself triggers
        /// - under `uet`, a request for credit
        /// - under `mrc`, a response of the sender to a request
        ///
        /// `window` is the current window of the congestion control, in bytes with headers, even if the window is not
        /// used up. Divided by the size of a packet, it gives the packets per round trip. A congestion control that
        /// controls only a rate may have a window that never limits.
        fn next_ev(&mut self, now: Time, window: u64) -> u16;
        /// Passes the ports of the NIC to the load balancer, before [`next_ev`](Self::next_ev). This is called only
        /// if the NIC has several ports.
        fn see_ports(&mut self, ports: NicPorts) {
            let _ = ports;
        }
        /// Handles an ACK (or SACK). `ev` is the entropy value of the packet that caused the ACK, `marked` tells
        /// whether switches marked that packet (ECN), and `rtt` is the time since it was sent.
        ///
        /// This is called for every ACK, even one that acknowledges nothing new, with these exceptions:
        /// - Under `uet` and `mrc`, there is no call for the ACK of a probe.
        /// - Under `mrc`, there is no call if the sender no longer has the entropy value of the packet, for example
        ///   because it has retransmitted the packet since.
        /// - The transport `mp-rdma` instead calls this once for each packet that an ACK or NACK clocks out.
        ///
        /// With `ack_every` above 1, a call describes only the last packet that the ACK covers, which caused the ACK.
        /// Under `sack` a marked packet is acknowledged immediately. With `carry_evs` there are further calls for the
        /// other packets that the ACK covers. These calls come first, and have the `rtt` of the packet that caused the
        /// ACK. There are no calls for CNPs. A NACK causes calls only under `mp-rdma`, as stated above, and under
        /// `uet` and `mrc` for a trim at the last hop.
        fn handle_ack(&mut self, now: Time, ev: u16, marked: bool, rtt: Duration) {
            let _ = (now, ev, marked, rtt);
        }
        /// Handles a packet that was lost without a notice: the packet timed out, or under `uet` and `mrc` its loss
        /// was inferred. Under `sack`, `eqds`, `uet` and `mrc` there is one call for each packet. Under the other
        /// transports a queue pair has one timeout, and one call may be for several lost packets.
        ///
        /// `ev` is the entropy value of the lost packet under `uet` and `mrc`. Under the other transports it is None:
        /// like the hardware of the papers, their senders store the transmission time of each PSN but not its entropy
        /// value. A load balancer that has to know which path lost a packet must record the values that it chose.
        fn handle_timeout(&mut self, now: Time, ev: Option<u16>) {
            let _ = (now, ev);
        }
        /// Handles the receiver's notice that a switch trimmed a packet with this entropy value (`fabric.trim`). Under
        /// `uet` and `mrc`, a trim at the last hop causes a call of [`handle_ack`](Self::handle_ack) instead, since
        /// such a trim says nothing about the path.
        fn handle_trim(&mut self, now: Time, ev: u16) {
            let _ = (now, ev);
        }
        /// The time at which the load balancer has a probe to send. Only the transport `mrc` sends these probes, and
        /// only while data is in flight.
        fn next_probe(&self) -> Option<Time> {
            None
        }
        /// The entropy value of a probe that is due. None if no probe is due.
        fn poll_probe(&mut self, now: Time) -> Option<u16> {
            let _ = now;
            None
        }
        /// Handles the response to a probe with this entropy value. `marked` tells whether a switch marked the probe.
        fn handle_probe_response(&mut self, now: Time, ev: u16, marked: bool) {
            let _ = (now, ev, marked);
        }
        /// Handles a report about the ports of the receiver's NIC. `up` is the mask of the ports that are up.
        fn handle_peer_ports(&mut self, now: Time, up: u16) {
            let _ = (now, up);
        }
    }
}

interface! {
    /// The properties of a load balancer that follow from its configuration.
    pub trait LbProperties for each of LbConfig by each_config {
        /// The load balancer of a new queue pair. It draws its random numbers from `random`.
        fn build(&self, environment: &Environment, random: Stream) -> AnyLb;
        /// The hardware state of a queue pair, field by field. It is always empty for user-defined load balancers.
        fn state(&self) -> Vec<StateField>;
        /// Whether ECN marks change the choices of the load balancer.
        fn reacts_to_ecn(&self) -> bool;
        /// Whether the load balancer uses more than one path.
        fn chooses_paths(&self) -> bool {
            true
        }
        /// Whether packets that are in flight at the same time take several paths.
        fn spreads_packets(&self) -> bool {
            self.chooses_paths()
        }
        /// Whether the load balancer leaves a path on which packets are lost.
        fn leaves_lossy_paths(&self) -> bool {
            false
        }
        /// Checks parameters that depend on each other. `part` is the path of the table that contains them, such as
        /// `lb` or `mix.lb`.
        ///
        /// # Errors
        /// The first conflict.
        fn check_together(&self, part: &str) -> Result<(), Conflict> {
            let _ = part;
            Ok(())
        }
    }
}
