//! What every load balancer is to the transports, and what it is told.

use crate::PathFacts;
use anabranch_base::{Duration, Time};

/// What a load balancer is told of its surroundings.
#[derive(Clone, Copy, Debug)]
pub struct Environment {
    /// The fabric's longest path.
    pub facts: PathFacts,
    /// The transport's retransmission timeout.
    pub rto: Duration,
    /// Switches trim instead of dropping.
    pub trimming: bool,
}

/// What every load balancer implements, and one of your own. There is one for each queue pair.
///
/// Its parameters are declared at the registration and read in the factory by
/// [`Parameters::get`](anabranch_base::Parameters::get). A parameter is a `bool`, `u16`, `u32`, `u64`, `i64`, `f64`,
/// `String`, [`Bytes`](anabranch_base::Bytes), [`Duration`], [`Rate`](anabranch_base::Rate), or one that follows the
/// fabric: a [`Size`](crate::Size) (`"0.5bdp"`, `"8packets"`, `"64KB"`), a [`Span`](crate::Span) (`"5rtt"`, `"70us"`) or
/// a [`Pace`](crate::Pace) (`"0.05line"`, `"10Gbps"`). Those become bytes, a time and a rate by `on`, with the facts that
/// the factory is given: `parameters.get::<Span>("patience").on(&environment.facts)`. A `Duration` alone does not take
/// `"5rtt"`.
pub trait LoadBalancer: Send {
    /// The entropy value of the data packet that is sent now: asked for once for every one, those that are sent again
    /// included, and for probes. Each packet that is sent again is a new choice; nothing says which it is.
    ///
    /// `window` is what the congestion control allows in flight now, in bytes with headers, whether it is used or not:
    /// over the size of a packet it says how many packets a round trip has. A congestion control with a rate alone may
    /// have a window that never binds.
    fn next_ev(&mut self, now: Time, window: u64) -> u16;
    /// An ACK (or SACK) arrived: `ev` is the entropy value of the data packet that caused it, `marked` whether switches
    /// marked that packet (ECN), `rtt` the time from its sending until now.
    ///
    /// Every ACK that arrives is told, also one that acknowledges nothing new. Where `ack_every` is above 1 there are
    /// fewer ACKs than packets, and each says only this of the packet that caused it, the last one of those that it
    /// answers; under `sack` a marked packet is answered at once, and with `carry_evs` the others of an ACK are told
    /// before, with the cause's `rtt`. NACKs and CNPs are not told, except those that a trimmed
    /// packet caused ([`handle_trim`](Self::handle_trim)). The transport `mp-rdma` tells of an ACK once for each packet
    /// that it lets go, and of others not at all.
    fn handle_ack(&mut self, now: Time, ev: u16, marked: bool, rtt: Duration) {
        let _ = (now, ev, marked, rtt);
    }
    /// A retransmission timeout expired. Under `sack`, each packet has its own, and each that expires is told; under the
    /// other transports a queue pair has one, and several packets may be given up by one call.
    ///
    /// There is no entropy value: senders keep the time of sending by PSN and not the entropy value, as the hardware of
    /// the papers does, and a balancer that wants to know which of its paths lost a packet has to remember what it
    /// handed out and what came back. What it can know here is that something did not come back for the timeout
    /// ([`Environment::rto`]).
    fn handle_timeout(&mut self, now: Time) {
        let _ = now;
    }
    /// A packet with this entropy value was cut to its header by a switch (`fabric.trim`), and the receiver has said so.
    fn handle_trim(&mut self, now: Time, ev: u16) {
        let _ = (now, ev);
    }
}
