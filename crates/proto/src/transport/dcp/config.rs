//! The parameters of the `dcp` transport.

use crate::{Span, StateField};
use anabranch_base::{AboveZero, Bytes, parameters};
use serde::{Deserialize, Serialize};

/// The next timeout takes one RTO if there were at most this many timeouts since the eMSN last advanced. Each later
/// timeout takes twice as long as the previous one, until the timeout has doubled [`MAX_DOUBLINGS`] times.
pub(super) const PLAIN_ROUNDS: u32 = 7;

pub(super) const MAX_DOUBLINGS: u32 = 16;

parameters! {
    /// Parameters of the `dcp` transport, with DCQCN's notification point in its receiver.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct DcpConfig {
        /// Number of bytes of payload in a full packet.
        #[param(Bytes(1)..=Bytes(65_535); example = "1000B"; source = "DCP, footnotes 9 to 11")]
        pub payload: Bytes,
        /// Size of the headers of a data packet, which is also the size of a trimmed packet.
        #[param(Bytes(1)..=Bytes(65_534); example = "57B"; source = "DCP, section 4.2")]
        pub header: Bytes,
        /// Size of an ACK or CNP.
        #[param(Bytes(1)..=Bytes(65_535); example = "60B"; source = "the ns-3 RDMA simulators")]
        pub ack: Bytes,
        /// Bits of the packet counter of a message. A message with more packets than the counter can count is split
        /// into several requests.
        #[param(1..=31; example = 14; source = "DCP, section 4.5")]
        pub counter_bits: u32,
        /// Number of requests that the receiver tracks, from the oldest unacknowledged one on (section 4.5). It is also
        /// the largest number of WQEs that a queue pair serves per scheduling turn (n, section 4.3).
        #[param(1..=65_535; example = 8; source = "DCP, sections 4.3 and 4.5")]
        pub tracked_messages: u32,
        /// Payload that a queue pair may send per scheduling turn.
        #[param(AboveZero; example = "16KB"; source = "DCP, section 4.3")]
        pub round_quota: Bytes,
        /// Largest number of retransmissions fetched from host memory per batch.
        #[param(1..=65_535; example = 16; source = "DCP, section 4.3")]
        pub batch: u32,
        /// Time of a round trip over PCIe. A fetch of packets to send again takes two round trips. With 0, a fetch
        /// takes no time.
        #[param(any; example = "1us"; source = "DCP, footnote 9; the simulations of section 6.3 leave it out")]
        pub pcie: Span,
        /// Least time between two CNPs for a queue pair. With 0, every marked packet causes a CNP. With 0 and
        /// `trims_as_marks`, every trimmed packet also causes a CNP.
        #[param(any; example = "50us"; source = "DCQCN (SIGCOMM 2015), section 3.1: at most one CNP in 50 us")]
        pub cnp_interval: Span,
        /// Whether a trimmed packet causes a CNP, as a marked packet does. If not, a sender whose packets are all
        /// trimmed gets no CNP.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        #[param(any; example = true; source = "unspecified; DCP, section 4.3: header-only packets go to the RetransQ";
            default = false)]
        pub trims_as_marks: bool,
        /// Coarse timeout of the oldest unacknowledged message.
        #[param(AboveZero; example = "4ms"; source = "unspecified; DCP, section 4.5: coarse")]
        pub rto: Span,
    }
}

/// The division of messages into requests, for a given initial window in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::transport) struct Requests {
    /// The largest number of packets that the receiver's counter can count.
    counted: u32,
    /// The window in packets, divided by the number of requests that the receiver tracks. A quotient between one and
    /// two is rounded up to two. A larger quotient is rounded down. The share is at least one packet and at most
    /// `counted`.
    share: u32,
}

impl Requests {
    pub fn new(config: &DcpConfig, window: u64) -> Self {
        let counted = (1 << config.counter_bits) - 1;
        let in_window = window / (config.payload.0 + config.header.0).max(1);
        let tracked = u64::from(config.tracked_messages).max(1);
        let share = match in_window / tracked {
            // If the window has nearly two packets for each tracked request, requests of one packet would fill little
            // more than half of the window.
            1 if in_window > tracked => 2,
            share => share,
        };
        let share = share.clamp(1, counted);
        Requests { counted: counted as u32, share: share as u32 }
    }

    /// Length, in packets, of the requests into which a message of `message` packets is split. The last request may be
    /// shorter.
    ///
    /// There is one ACK per request, and the packets of a request count as in flight until this ACK arrives. Requests
    /// must therefore be short. But if they were shorter than one share, the tracked requests would not fill the
    /// window. Each request of a split message, except the last one, has at least one share and less than two shares.
    /// No request has more packets than the receiver's counter can count. A message of less than two shares is split
    /// only if it has more packets than the counter can count.
    #[inline]
    pub fn packets(&self, message: u64) -> u32 {
        let parts = (message / u64::from(self.share)).max(1);
        message.div_ceil(parts).min(self.counted.into()) as u32
    }

    /// The least number of packets of a request that is not the last of its message.
    pub fn least(&self) -> u32 {
        self.share
    }
}

impl DcpConfig {
    /// The time that `rounds` timeouts in a row take, including the doublings. The unit is the first timeout.
    pub fn timeouts(rounds: f64) -> f64 {
        let plain = rounds.min(f64::from(PLAIN_ROUNDS) + 1.0);
        let doubled = (rounds - plain).min(f64::from(MAX_DOUBLINGS));
        let longest = f64::from(1_u32 << MAX_DOUBLINGS);
        plain + f64::from(1_u32 << (doubled as u32 + 1)) - 2.0 + (rounds - plain - doubled) * longest
    }

    /// The state that hardware keeps for a queue pair, field by field.
    ///
    /// By section 4.5, a counter of 14 bits and two flags take 2 B per message. This is 16 B for 8 messages. Table 3
    /// gives 32 B per queue pair. The text names four more fields. Their widths are chosen here (the width of the
    /// packet's MSN, or a byte), so that the fields have 24 B in all. The paper does not specify the other 8 B, which
    /// may include the length of the RetransQ (section 4.3) and the start of the timer.
    ///
    /// These are the paper's fields, for messages that are not split. If a message is split into requests, each
    /// tracked request has its own rRetryNo, which takes 7 B more for 8 requests. The sRetryNo of each request is in
    /// its WQE, in host memory.
    pub fn state(&self) -> Vec<StateField> {
        vec![
            StateField::new("packet counter", self.counter_bits, self.tracked_messages),
            StateField::new("mcf", 1, self.tracked_messages),
            StateField::new("Cf", 1, self.tracked_messages),
            StateField::new("eMSN", 24, 1),
            StateField::new("rRetryNo", 8, 1),
            StateField::new("unaMSN", 24, 1),
            StateField::new("sRetryNo", 8, 1),
        ]
    }
}
