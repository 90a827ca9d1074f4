//! The common part of senders whose messages are acknowledged in order and whose packets are paced. Loss detection and
//! retransmission are not part of it, because they differ between transports.

use super::interface::{Ends, Framing, SenderCounters};
use super::messages::{Messages, PacketInfo};
use super::pacer::Pacer;
use crate::cc::{AckReport, AnyCc, LossCause, LossReport};
use crate::lb::AnyLb;
use crate::packet::{Packet, Repr};
use anabranch_base::{Duration, HostId, QpId, Time};

/// The messages of a queue pair, with its congestion control, load balancer and pacer.
// The order of the fields matters: fields that every packet touches come first, so that they share few cache lines.
#[repr(C)]
pub(in crate::transport) struct Flow {
    /// The lowest unacknowledged PSN.
    pub unacked: u32,
    /// The PSN to send next in order. For a sender that never goes back, it is the first PSN that was never sent.
    pub next: u32,
    /// Whether the congestion control sets a rate, which `pacer` enforces.
    pub paces: bool,
    marks_are_cnps: bool,
    qp: QpId,
    dst: HostId,
    /// The rate below which every packet requests an ACK, in bits per second. See [`Flow::requests_ack`].
    slow_rate: u64,
    pub messages: Messages,
    pub pacer: Pacer,
    pub cc: AnyCc,
    pub lb: AnyLb,
    pub counters: SenderCounters,
}

pub(in crate::transport) struct Acked {
    pub now: Time,
    pub packets: u32,
    /// The bytes on the wire of the acknowledged packets.
    pub bytes: u64,
    /// Bytes in flight after the ACK.
    pub in_flight: u64,
}

/// The values that decide which packets request an immediate ACK.
pub(in crate::transport) struct AckRequests {
    /// The number of packets per ACK of the receiver.
    pub ack_every: u32,
    /// The shortest retransmission timeout.
    pub rto: Duration,
    /// The shortest time between two CNPs. It is 0 if marked ACKs take the place of CNPs.
    pub cnp_interval: Duration,
}

impl Flow {
    pub fn new(framing: &Framing, ack_requests: &AckRequests, ends: Ends, cc: AnyCc, lb: AnyLb) -> Self {
        let messages = Messages::new(framing);
        let bits_between_acks =
            u64::from(ack_requests.ack_every.max(1)) * u64::from(messages.packet_bytes()) * 8;
        Flow {
            unacked: 0,
            next: 0,
            paces: cc.paces(),
            marks_are_cnps: ack_requests.cnp_interval == Duration::ZERO,
            qp: ends.qp,
            dst: ends.dst,
            slow_rate: (2.0 * bits_between_acks as f64 / (ack_requests.rto.0.max(1) as f64 / 1e12)) as u64,
            messages,
            pacer: Pacer::new(),
            cc,
            lb,
            counters: SenderCounters::default(),
        }
    }

    /// Whether the congestion control's window admits another packet when `in_flight` bytes are in flight.
    ///
    /// A packet is admitted while the bytes in flight are below the window, as in the ns-3 RDMA simulators of HPCC and
    /// ConWeave. One packet may always be in flight, so that a small window cannot stop the queue pair.
    #[inline]
    pub fn window_allows(&self, in_flight: u64) -> bool {
        in_flight == 0 || in_flight < self.cc.window()
    }

    /// Whether the rate admits a packet of `bytes` bytes now. If it does, the packet counts as sent.
    #[inline]
    pub fn pace(&mut self, now: Time, bytes: u16) -> bool {
        !self.paces || self.pacer.send(now, bytes, &mut self.cc)
    }

    /// Builds the packet with this PSN, which is sent now. `goes_on` tells whether another packet may follow before an
    /// ACK arrives.
    #[inline]
    pub fn packet(&mut self, now: Time, psn: u32, part: PacketInfo, goes_on: bool) -> Packet {
        let ev = self.lb.next_ev(now, self.cc.window());
        let repr = Repr::data(psn)
            .with_message(part.message, part.message_packets)
            .with_sent_at(now)
            .with_ack_now(self.requests_ack(now, goes_on));
        Packet::new(self.qp, self.dst, repr).with_bytes(part.bytes).with_ev(ev)
    }

    /// Reports an ACK to the load balancer. If marked ACKs take the place of CNPs, a mark is also reported to the
    /// congestion control.
    #[inline]
    pub fn handle_feedback(&mut self, now: Time, ev: u16, marked: bool, rtt: Duration) {
        self.lb.handle_ack(now, ev, marked, rtt);
        if marked && self.marks_are_cnps {
            self.cc.handle_cnp(now);
        }
    }

    /// Acknowledges every PSN below `cumulative`, which must be above `unacked`. Returns the acknowledged bytes on the
    /// wire.
    #[inline]
    pub fn advance(&mut self, cumulative: u32) -> u64 {
        let bytes = self.messages.acknowledge(self.unacked, cumulative);
        self.unacked = cumulative;
        bytes
    }

    #[inline]
    pub fn report_acked(&mut self, acked: Acked, marked: bool, rtt: Duration) {
        let Acked { now, packets, bytes, in_flight } = acked;
        let report =
            AckReport { now, packets, bytes, probe: false, marked, rtt, rtt_is_valid: true, in_flight };
        self.cc.handle_ack(&report);
    }

    /// The report of a loss. A transport that has a [`Flow`] makes one report per timeout or detection of losses,
    /// whatever the number of lost packets.
    pub fn loss(&self, now: Time, cause: LossCause, in_flight: u64) -> LossReport {
        let bytes = self.messages.packet_bytes().into();
        LossReport { now, bytes, cause, rtt: None, in_flight }
    }

    pub fn report_timeout(&mut self, now: Time, in_flight: u64) {
        self.counters.timeouts += 1;
        self.lb.handle_timeout(now, None);
        self.cc.handle_loss(&self.loss(now, LossCause::Timeout, in_flight));
    }

    #[inline]
    pub fn next_pacing(&self) -> Option<Time> {
        self.pacer.next_timeout()
    }

    pub fn handle_pacing(&mut self, now: Time) {
        self.pacer.handle_timeout(now);
    }

    /// Whether a packet requests an immediate ACK. There are two reasons: the sender can send nothing more without an
    /// ACK, or the rate is so low that the receiver's coalescing would delay the ACK by more than half an RTO.
    #[inline]
    fn requests_ack(&mut self, now: Time, goes_on: bool) -> bool {
        !goes_on || (self.paces && self.cc.rate(now).is_some_and(|rate| rate.0 < self.slow_rate))
    }
}

/// The methods of [`Sender`](super::interface::Sender) that a sender passes to its `flow` unchanged. With `messages`,
/// these are the methods on messages, the load balancer and the counters. With `pacing`, the methods on pacing are
/// added, for senders in which only the pacer delays packets.
macro_rules! forward_to_flow {
    (messages, pacing) => {
        forward_to_flow!(messages);

        fn next_pacing(&self) -> Option<Time> {
            self.flow.next_pacing()
        }

        fn handle_pacing(&mut self, now: Time) {
            self.flow.handle_pacing(now);
        }

        #[inline]
        fn paces(&self) -> bool {
            self.flow.paces
        }
    };
    (messages) => {
        fn load_balancer(&mut self) -> Option<&mut crate::lb::AnyLb> {
            Some(&mut self.flow.lb)
        }

        fn post(&mut self, id: MessageId, bytes: u64) -> Result<(), OutOfPsns> {
            self.flow.messages.post(id, bytes)
        }

        fn payload_range(&self, psn: u32) -> Option<crate::transport::PayloadRange> {
            self.flow.messages.payload_range(psn)
        }

        #[inline]
        fn poll_acknowledged(&mut self) -> Option<MessageId> {
            self.flow.messages.poll_acknowledged()
        }

        fn counters(&self) -> SenderCounters {
            self.flow.counters
        }
    };
}
pub(in crate::transport) use forward_to_flow;
