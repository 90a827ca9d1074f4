//! The parameters.

use crate::{Span, StateField};
use anabranch_base::{AboveZero, Bytes, parameters};
use serde::{Deserialize, Serialize};

/// Number of retries of the oldest request after which each timeout is twice as long as the previous one.
pub(super) const PLAIN_ROUNDS: u32 = 7;

/// The most doublings of the timeout.
pub(super) const MAX_DOUBLINGS: u32 = 16;

parameters! {
    /// Parameters of the `dcp` transport, with DCQCN's notification point in its receiver.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct DcpConfig {
        /// Payload of a full packet.
        #[param(Bytes(1)..=Bytes(65_535); example = "1000B"; source = "DCP, footnotes 9 to 11")]
        pub payload: Bytes,
        /// Headers of a data packet, and the size of a trimmed one.
        #[param(Bytes(1)..=Bytes(65_534); example = "57B"; source = "DCP, section 4.2")]
        pub header: Bytes,
        /// Size of an ACK or CNP.
        #[param(Bytes(1)..=Bytes(65_535); example = "60B"; source = "the ns-3 RDMA simulators")]
        pub ack: Bytes,
        /// Bits of the packet counter of a message. A longer message is split into several requests.
        #[param(1..=31; example = 14; source = "DCP, section 4.5")]
        pub counter_bits: u32,
        /// Number of requests that the receiver tracks, from the oldest unacknowledged one on (section 4.5); also the
        /// most WQEs that a queue pair serves per scheduling turn (n, section 4.3).
        #[param(1..=65_535; example = 8; source = "DCP, sections 4.3 and 4.5")]
        pub tracked_messages: u32,
        /// Payload that a queue pair may send in a turn.
        #[param(AboveZero; example = "16KB"; source = "DCP, section 4.3")]
        pub round_quota: Bytes,
        /// Number of retransmissions fetched from host memory per batch.
        #[param(1..=65_535; example = 16; source = "DCP, section 4.3")]
        pub batch: u32,
        /// One round trip over PCIe; a fetch of packets to send again takes two. 0: none.
        #[param(any; example = "1us"; source = "DCP, footnote 9; the simulations of section 6.3 leave it out")]
        pub pcie: Span,
        /// At most one CNP per queue pair in this time; 0: one for every marked packet, and with `trims_as_marks` for
        /// every trimmed one.
        #[param(any; example = "50us"; source = "DCQCN (SIGCOMM 2015), section 3.1: at most one CNP in 50 us")]
        pub cnp_interval: Span,
        /// A trimmed packet causes a CNP, as a marked one does. Otherwise a sender whose packets are all trimmed gets
        /// no congestion signal.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        #[param(any; example = true; source = "unspecified; DCP, section 4.3: header-only packets go to the RetransQ";
            default = false)]
        pub trims_as_marks: bool,
        /// Coarse timeout of the oldest unacknowledged message.
        #[param(AboveZero; example = "4ms"; source = "unspecified; DCP, section 4.5: coarse")]
        pub rto: Span,
    }
}

/// The division of messages into requests, under an initial window of this many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::transport) struct Requests {
    /// The most packets that the receiver's counter can count.
    counted: u32,
    /// The window divided by the requests that the receiver tracks, in packets; rounded up between one and two.
    share: u32,
}

impl Requests {
    pub fn new(config: &DcpConfig, window: u64) -> Self {
        let counted = (1 << config.counter_bits) - 1;
        let in_window = window / (config.payload.0 + config.header.0).max(1);
        let tracked = u64::from(config.tracked_messages).max(1);
        let share = match in_window / tracked {
            // With one packet each, the tracked requests would fill little more than half of a window of nearly two
            // each.
            1 if in_window > tracked => 2,
            share => share,
        };
        let share = share.clamp(1, counted);
        Requests { counted: counted as u32, share: share as u32 }
    }

    /// Length, in packets, of the requests into which a message of this many packets is split; the last may be shorter.
    ///
    /// There is one ACK per request, and the packets of a request count as in flight until its last one has arrived. So
    /// requests must be short; but below one share, the tracked requests would not fill the window. The length is
    /// between one share and two, and at most the range of the receiver's counter.
    #[inline]
    pub fn packets(&self, message: u64) -> u32 {
        let parts = (message / u64::from(self.share)).max(1);
        message.div_ceil(parts).min(self.counted.into()) as u32
    }

    /// Packets of the shortest whole request.
    pub fn least(&self) -> u32 {
        self.share
    }
}

impl DcpConfig {
    /// The time that `rounds` timeouts in a row take, in units of the first one: the doublings included.
    pub fn timeouts(rounds: f64) -> f64 {
        let plain = rounds.min(f64::from(PLAIN_ROUNDS) + 1.0);
        let doubled = (rounds - plain).min(f64::from(MAX_DOUBLINGS));
        let longest = f64::from(1_u32 << MAX_DOUBLINGS);
        plain + f64::from(1_u32 << (doubled as u32 + 1)) - 2.0 + (rounds - plain - doubled) * longest
    }

    /// The state that hardware keeps for a queue pair, field by field.
    ///
    /// Section 4.5: a counter of 14 bits and two flags take 2 B per message, and 16 B for 8 messages. Table 3 has 32 B
    /// per queue pair. The text names four more fields, whose widths are chosen here (that of the packet's MSN, and a
    /// byte): 24 B in all. The other 8 B are unspecified in the paper; they may include the length of the RetransQ
    /// (section 4.3) and the start of the timer.
    ///
    /// These are the paper's fields, for messages that are not split. If a message is split into requests, each tracked
    /// request has its own rRetryNo: 7 B more for 8. Their sRetryNo is in the WQEs, in host memory.
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
