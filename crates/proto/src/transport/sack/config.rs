//! What can be set.

use crate::Span;
use anabranch_base::{AboveZero, Bytes, parameters};
use serde::{Deserialize, Serialize};

parameters! {
    /// Parameters of the `sack` transport.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct SackConfig {
        /// Payload of a full packet.
        #[is(Bytes(1)..=Bytes(65_535); example = "4086B";
            source = "the simulator published with REPS: packets of 4150 B for an MTU of 4 KiB")]
        pub payload: Bytes,
        /// Headers of a data packet, and the size of a trimmed one.
        #[is(Bytes(1)..=Bytes(65_534); example = "64B"; source = "the simulator published with REPS")]
        pub header: Bytes,
        /// Size of an ACK or NACK.
        #[is(Bytes(1)..=Bytes(65_535); example = "64B"; source = "the simulator published with REPS")]
        pub ack: Bytes,
        /// An ACK for every n-th packet (and for the last one of a message, a marked one and a duplicate).
        #[is(1..=65_535; example = 1; source = "REPS, section 3.3")]
        pub ack_every: u32,
        /// An ACK brings the entropy values of all packets that it answers and that were not marked, 2 B each beyond the
        /// first: a balancer hears of each of them ("ACK+Carry EVs"). Packets 48 PSNs apart get an ACK each.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        #[is(any; example = true; source = "REPS, section 4.5.1; the bytes are unsaid"; default = false)]
        pub carry_evs: bool,
        /// A packet that is not acknowledged this long after it was sent is sent again.
        #[is(AboveZero; example = "70us"; source = "REPS, section 4.1")]
        pub rto: Span,
    }
}
