//! The `dcp` transport: reliability over a lossy data plane and a lossless control plane (DCP, sections 4.3 to 4.5).
//!
//! Switches trim packets that do not fit into a queue, and the headers reach the receiver. The receiver returns each
//! header, and the sender retransmits exactly that packet. If no header is lost, each packet therefore arrives
//! exactly once, so that the receiver counts the packets of a message instead of recording which arrived. A timeout
//! is the fallback for lost headers. It begins a new round of the oldest unacknowledged message, and retry numbers
//! distinguish the rounds.
//!
//! In section 4.5, a queue pair has a single timer, for its oldest unacknowledged message. A higher eMSN restarts it.
//! When it expires, all packets of that message are retransmitted. Here these are the packets of all requests into
//! which the message is split (see `Requests`), as far as they were sent and are not acknowledged. With a timeout for
//! each request, a message whose packets were lost together would take as many timeouts in sequence as it has requests
//! in flight. Messages that were posted separately take one timeout each, as in the paper.
//!
//! Choices where the paper is silent, and differences from it:
//! - **A header-only packet carries the retry number.** In the paper, it has only the MSN. With only the MSN, a late
//!   header-only packet of an earlier round would trigger a second copy of a packet that the new round sends anyway,
//!   and the receiver would count the packet twice. The number fits into reserved bits of the BTH, so that the packet
//!   stays at 57 B.
//! - **The retry number belongs to the request**, at both hosts, and packets of later messages carry 0. The paper's
//!   "for each QP" could mean one number for the queue pair. But then the packets of a later message would change
//!   their number half way, and the receiver would discard the count so far.
//! - **The timer waits for packets that are still to be sent.** It restarts with each packet of the oldest request and
//!   of a new round. It does not expire before the last of these packets is sent, nor while a packet of the oldest
//!   request waits for retransmission. Without this rule, a message that takes longer than the timeout at its rate
//!   would restart for ever.
//! - **After eight retries without a higher eMSN, each further timeout is twice as long as the previous one**, up to
//!   2^16 times the first timeout. InfiniBand's retry count would end the queue pair there. The retry number has only 8
//!   bits, so that a receiver that missed 127 rounds would take the next round for an earlier round. Without the
//!   doubling, a timeout below the spread of path delays would abandon each round while its packets still arrive.
//! - **A new round is subject to the rate but not to the window.** It replaces lost packets that the window admitted
//!   before. A window that has shrunk since then limits only new data.
//! - **A packet of a request below the eMSN is answered with an ACK**, since the ACK of the request may be lost.
//! - **A header-only packet takes its data packet out of flight**, until that packet is retransmitted. Section 4.3,
//!   step 6, only says that *awin* is adjusted.
//! - **A new packet is sent if it fits into the window**, or belongs to the oldest request. Section 4.3 bounds a turn
//!   by min(round_quota, awin) bytes. It does not specify whether the last packet may exceed *awin*.

mod config;
mod receiver;
pub mod reception;
mod sender;

use crate::cc::AnyCc;
use crate::lb::AnyLb;
use crate::packet::Msn;
use crate::transport::{
    AnyReceiver, AnySender, Ends, Headers, NumberSpace, SenderCounter, TransportProperties, framing_and_rto,
    whole_packets,
};
use crate::{PathFacts, StateField};

pub use config::DcpConfig;
use config::Requests;
pub use receiver::DcpReceiver;
pub use sender::DcpSender;

impl TransportProperties for DcpConfig {
    fn build_sender(&self, ends: Ends, facts: &PathFacts, cc: AnyCc, lb: AnyLb) -> AnySender {
        AnySender::Dcp(DcpSender::new(self, facts, ends, cc, lb))
    }

    fn build_receiver(&self, ends: Ends, facts: &PathFacts) -> AnyReceiver {
        AnyReceiver::Dcp(DcpReceiver::new(self, facts, ends))
    }

    framing_and_rto!();

    fn headers(&self) -> Headers {
        Headers::Dcp
    }

    fn tracking(&self, _packets: u32) -> Vec<StateField> {
        self.state()
    }

    fn tracked_messages(&self) -> Option<u32> {
        Some(self.tracked_messages)
    }

    fn number_space(&self, window: u64) -> NumberSpace {
        let least = Requests::new(self, window).least();
        let requests = Some((u64::from(Msn::LIMIT), least.into()));
        NumberSpace { requests, ..NumberSpace::of_packets(u64::from(u32::MAX)) }
    }

    fn request_packets(&self, window: u64, message: u64) -> Option<u64> {
        Some(Requests::new(self, window).packets(message).into())
    }

    fn packets_in_window(&self, window: u64, packet: u64) -> u64 {
        whole_packets(window, packet)
    }

    /// The window that keeps a path busy exceeds one BDP, because a packet counts as in flight until its whole
    /// request is acknowledged.
    fn busy_window_bdps(&self) -> f64 {
        1.5
    }

    fn timeouts_of_rounds(&self, rounds: f64) -> f64 {
        // The number of rounds is rounded up. Beyond 2^53 all floating-point numbers are whole.
        let whole = if rounds < (1_u64 << 53) as f64 { rounds as u64 as f64 } else { rounds };
        DcpConfig::timeouts(if whole < rounds { whole + 1.0 } else { whole })
    }

    fn counters(&self) -> &'static [SenderCounter] {
        &[SenderCounter::Fetches]
    }
}
