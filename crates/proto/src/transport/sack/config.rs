//! The parameters of the `sack` transport, which a scheme sets under `transport`.

use crate::Span;
use anabranch_base::{AboveZero, Bytes, parameter_choices, parameters};
use serde::{Deserialize, Serialize};

parameters! {
    /// Parameters of the `sack` transport.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct SackConfig {
        /// Number of bytes of payload in a full packet.
        #[param(Bytes(1)..=Bytes(65_535); example = "4086B";
            source = "the simulator published with REPS: packets of 4150 B for an MTU of 4 KiB")]
        pub payload: Bytes,
        /// Size of the headers of a data packet, which is also the size of a trimmed packet.
        #[param(Bytes(1)..=Bytes(65_534); example = "64B"; source = "the simulator published with REPS")]
        pub header: Bytes,
        /// Size of an ACK or NACK.
        #[param(Bytes(1)..=Bytes(65_535); example = "64B"; source = "the simulator published with REPS")]
        pub ack: Bytes,
        /// Number of packets per ACK. A packet that completes a message, requests an ACK, is marked or is a duplicate
        /// is acknowledged in any case.
        #[param(1..=65_535; example = 1; source = "REPS, section 3.3")]
        pub ack_every: u32,
        /// Whether a coalesced ACK echoes the entropy value of every unmarked packet that it acknowledges (REPS,
        /// "ACK+Carry EVs"). Each value after the first takes 2 B. One ACK then covers at most 48 PSNs.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        #[param(any; example = true; source = "REPS, section 4.5.1; the bytes are unspecified"; default = false)]
        pub carry_evs: bool,
        /// Retransmission timeout of each packet.
        #[param(AboveZero; example = "70us"; source = "REPS, section 4.1")]
        pub rto: Span,
        /// State that a new connection takes over from the last finished connection between the same two hosts. With
        /// `nothing`, it takes over no state. With `window`, it takes over the congestion window. With
        /// `window-and-entropies`, it takes over the congestion window and the cached entropies of REPS.
        #[serde(default, skip_serializing_if = "Inherits::is_nothing")]
        #[param(any; example = "window";
            source = "unspecified (REPS, section 3.1: a new or idle connection explores); the authors' run scripts have window-and-entropies";
            default = "nothing")]
        pub inherits: Inherits,
    }
}

/// The state that a connection takes over from the last finished one between its two hosts, in the same direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Inherits {
    /// No state.
    #[default]
    Nothing,
    /// The congestion window.
    Window,
    /// The congestion window, and the entropies in the buffer of REPS. Other balancers have no such entropies.
    WindowAndEntropies,
}

parameter_choices!(Inherits: "nothing" = Nothing, "window" = Window, "window-and-entropies" = WindowAndEntropies);

impl Inherits {
    fn is_nothing(&self) -> bool {
        *self == Inherits::Nothing
    }
}
