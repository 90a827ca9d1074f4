//! The `mrc` transport: multipath reliable connection (MRC, OCP 1.0). The specification was read in digests, and in a
//! client that implements it.
//!
//! Packets are delivered as in Ultra Ethernet's mode RUD (see `uet`): selective acknowledgements with the bytes
//! received, NACKs of trimmed packets, and a timeout for each packet. MRC adds a set of entropy values with states (the
//! balancer `mrc`), probes of paths, separate paths for answers, and the status of a NIC's ports.
//!
//! Some parts of MRC are left out: the exchange of capabilities, changes of the MPR, NACKs for other reasons than
//! trimming, the receiver's penalty, one congestion control for all queue pairs to a destination, and PSNs of 24 bits.

mod config;

use crate::cc::AnyCc;
use crate::lb::AnyLb;
use crate::transport::common::MAX_SPAN;
use crate::transport::uet::{Backoff, Endpoint, EvOrder, LEAST_COUNTED, ReverseEvs, tracking};
use crate::transport::{
    AckInterval, AnyReceiver, AnySender, Ends, Headers, NumberSpace, SenderCounter, TransportProperties,
    UetReceiver, UetSender, framing_and_rto,
};
use crate::{PathFacts, Span, StateField};
use anabranch_base::{Bytes, Purpose, stream};
use std::collections::VecDeque;

pub use config::MrcConfig;

impl TransportProperties for MrcConfig {
    fn build_sender(&self, ends: Ends, facts: &PathFacts, cc: AnyCc, lb: AnyLb) -> AnySender {
        let backoff =
            Backoff { linear: self.rto_linear, doublings: self.rto_doublings, counts_timeouts: true };
        let endpoint = Endpoint {
            request_bytes: self.request.0 as u16,
            response_bytes: self.ack.0 as u16,
            due: VecDeque::new(),
            order: self.loss_by_path.then(EvOrder::default),
        };
        AnySender::Uet(UetSender::of_mrc(&self.delivery(), (backoff, endpoint), facts, ends, (cc, lb)))
    }

    fn build_receiver(&self, ends: Ends, facts: &PathFacts) -> AnyReceiver {
        self.build_receiver_with_seed(ends, facts, 0)
    }

    /// The entropy values of answers are random.
    fn build_receiver_with_seed(&self, ends: Ends, facts: &PathFacts, seed: u64) -> AnyReceiver {
        let random = stream(seed, 2 * u64::from(ends.qp.0) + 1, Purpose::Transport);
        let reverse = ReverseEvs::new(facts, ends, (self.request, self.ack), random);
        AnyReceiver::Uet(UetReceiver::of_mrc(&self.delivery(), reverse, facts, ends))
    }

    framing_and_rto!();

    fn headers(&self) -> Headers {
        Headers::Mrc
    }

    fn trimmed_bytes(&self) -> Bytes {
        self.control
    }

    fn shortest_packet(&self) -> Bytes {
        self.request.min(self.control)
    }

    /// The state of `uet`. In addition, the receiver has an entropy value with its state for each of at most 8
    /// planes, and the sender has a bitmap of the receiver's ports that are up (MRC, OCP 1.0).
    fn tracking(&self, packets: u32) -> Vec<StateField> {
        let mut fields = tracking(self.mpr, packets);
        fields.push(StateField::new("entropy value of answers", 32, 8));
        fields.push(StateField::new("ports that are up, of the peer", 32, 1));
        fields
    }

    fn counters(&self) -> &'static [SenderCounter] {
        &[SenderCounter::Nacks]
    }

    fn timeouts(&self) -> Vec<(&'static str, Span)> {
        let mut timeouts = vec![("transport.rto", self.rto)];
        timeouts.extend(self.probe_after.map(|after| ("transport.probe_after", after)));
        timeouts
    }

    /// More than `MAX_SPAN` PSNs below 2^32 stay unused, so that the PSNs in flight never wrap.
    fn number_space(&self, _window: u64) -> NumberSpace {
        NumberSpace::of_packets(u64::from(u32::MAX) - u64::from(MAX_SPAN) - 1)
    }

    /// A SACK is sent when more than `sack_bytes` of payload have arrived.
    fn ack_interval(&self, window: u64) -> AckInterval {
        if window < self.sack_bytes.0 {
            return AckInterval::EVERY_PACKET;
        }
        let counted = self.payload.0.max(LEAST_COUNTED);
        let packets = u32::try_from(self.sack_bytes.0 / counted + 1).unwrap_or(u32::MAX);
        AckInterval { packets, parameter: "transport.sack_bytes", every_packet: "\"1B\"" }
    }

    /// SACKs count received bytes in whole units, as in `uet`.
    fn packets_in_window(&self, window: u64, packet: u64) -> u64 {
        self.delivery().packets_in_window(window, packet)
    }

    /// Each of the first `rto_linear` rounds takes one RTO. The rounds after them take as long as the same number of
    /// rounds in `uet`.
    fn timeouts_of_rounds(&self, rounds: f64) -> f64 {
        let linear = f64::from(self.rto_linear);
        if rounds <= linear { rounds } else { linear + self.delivery().timeouts_of_rounds(rounds - linear) }
    }
}
