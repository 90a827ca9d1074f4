//! What the senders that acknowledge messages in order and pace have in common: everything but how they find losses
//! and what they send again.

use super::interface::{Ends, Framing, SenderCounters};
use super::messages::{Messages, Part};
use super::pacer::Pacer;
use crate::cc::{Acked, AnyCc};
use crate::lb::AnyLb;
use crate::packet::{Packet, Repr};
use anabranch_base::{Duration, HostId, QpId, Time};

/// The messages of a queue pair, what may be sent of them, and who is told.
// Fields stay in this order: what every packet touches comes first, so that it shares few cache lines.
#[repr(C)]
pub(in crate::transport) struct Flow {
    /// Every PSN below is acknowledged.
    pub unacked: u32,
    /// The PSN to send next in order: where the sender never goes back, the first that was never sent.
    pub next: u32,
    /// The congestion control gives a rate: `pacer` has a say in what is sent.
    pub paces: bool,
    /// A marked ACK stands for a CNP.
    marks_are_cnps: bool,
    qp: QpId,
    dst: HostId,
    /// Below this rate every packet asks for an ACK: see [`Flow::asks`].
    slow: u64,
    pub messages: Messages,
    pub pacer: Pacer,
    pub cc: AnyCc,
    pub lb: AnyLb,
    pub counters: SenderCounters,
}

/// What decides which packets ask for an ACK at once.
pub(in crate::transport) struct Asking {
    /// The receiver acknowledges every n packets.
    pub ack_every: u32,
    /// The shortest timeout.
    pub rto: Duration,
    /// The time between two CNPs.
    pub cnp_interval: Duration,
}

impl Flow {
    /// The flow of a new queue pair between `ends`.
    pub fn new(framing: &Framing, asking: &Asking, ends: Ends, cc: AnyCc, lb: AnyLb) -> Self {
        let messages = Messages::new(framing);
        let bits_between_acks = u64::from(asking.ack_every.max(1)) * u64::from(messages.packet_bytes()) * 8;
        Flow {
            unacked: 0,
            next: 0,
            paces: cc.paces(),
            marks_are_cnps: asking.cnp_interval == Duration::ZERO,
            qp: ends.qp,
            dst: ends.dst,
            slow: (2.0 * bits_between_acks as f64 / (asking.rto.0.max(1) as f64 / 1e12)) as u64,
            messages,
            pacer: Pacer::new(),
            cc,
            lb,
            counters: SenderCounters::default(),
        }
    }

    /// Whether a packet may go out as far as the congestion control's window goes, with so many bytes in flight: while those
    /// are below the window, as the ns-3 RDMA simulators have it (HPCC's, ConWeave's: a queue pair is bound when the bytes
    /// on the fly reach the window). At least one packet may always be in flight, so that a small window cannot stop the
    /// queue pair.
    #[inline]
    pub fn window_allows(&self, in_flight: u64) -> bool {
        in_flight == 0 || in_flight < self.cc.window()
    }

    /// Whether a packet of `bytes` bytes may go out as far as the rate goes. If so it counts as sent.
    #[inline]
    pub fn pace(&mut self, now: Time, bytes: u16) -> bool {
        !self.paces || self.pacer.send(now, bytes, &mut self.cc)
    }

    /// The packet with this PSN, to be sent now; `goes_on` when another may follow it before an ACK comes.
    #[inline]
    pub fn packet(&mut self, now: Time, psn: u32, part: Part, goes_on: bool) -> Packet {
        let ev = self.lb.next_ev(now, self.cc.window());
        let repr = Repr::data(psn)
            .with_message(part.message, part.message_packets)
            .with_sent_at(now)
            .with_ack_now(self.asks(now, goes_on));
        Packet::new(self.qp, self.dst, repr).with_bytes(part.bytes).with_ev(ev)
    }

    /// What the balancer and the congestion control learn from any ACK.
    #[inline]
    pub fn hear(&mut self, now: Time, ev: u16, marked: bool, rtt: Duration) {
        self.lb.handle_ack(now, ev, marked, rtt);
        if marked && self.marks_are_cnps {
            self.cc.handle_cnp(now);
        }
    }

    /// Everything below `cumulative`, which is above `unacked`, has arrived. Returns its bytes on the wire.
    #[inline]
    pub fn advance(&mut self, cumulative: u32) -> u64 {
        let bytes = self.messages.acknowledge(self.unacked, cumulative);
        self.unacked = cumulative;
        bytes
    }

    /// Tells the congestion control of what is acknowledged for the first time.
    #[inline]
    pub fn tell(&mut self, now: Time, packets: u32, bytes: u64, marked: bool, rtt: Duration) {
        self.cc.handle_ack(&Acked { now, packets, bytes, probe: false, marked, rtt });
    }

    /// Whether a packet requests an immediate ACK: when the sender can send nothing more without one, or when at this
    /// rate the receiver's coalescing would delay the ACK by more than half an RTO. Otherwise the RTO would fire.
    #[inline]
    fn asks(&mut self, now: Time, goes_on: bool) -> bool {
        !goes_on || (self.paces && self.cc.rate(now).is_some_and(|rate| rate.0 < self.slow))
    }
}
