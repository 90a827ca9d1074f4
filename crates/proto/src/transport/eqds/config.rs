//! The parameters of the `eqds` transport.

use crate::transport::sack::SackConfig;
use crate::{Pace, Size, Span};
use anabranch_base::{AboveZero, Bytes, parameters};
use serde::{Deserialize, Serialize};

parameters! {
    /// Parameters of the `eqds` transport.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct EqdsConfig {
        /// Number of bytes of payload in a full packet.
        #[param(Bytes(1)..=Bytes(65_535); example = "4086B"; source = "the simulator published with REPS")]
        pub payload: Bytes,
        /// Size of the headers of a data packet, which is also the size of a trimmed packet.
        #[param(Bytes(1)..=Bytes(65_534); example = "64B"; source = "htsim: headers of 64 B")]
        pub header: Bytes,
        /// Size of an ACK, a NACK, a pull and an RTS.
        #[param(Bytes(1)..=Bytes(65_535); example = "64B"; source = "htsim: headers of 64 B")]
        pub ack: Bytes,
        /// Retransmission timeout of each packet. It is also the time after which a sender that waits for a pull
        /// repeats its RTS.
        #[param(AboveZero; example = "70us"; source = "REPS, section 4.1")]
        pub rto: Span,
        /// One size with two uses: the speculative credit of a new sender, and the upper limit of the backlog that
        /// counts as its demand.
        #[param(AboveZero; example = "1bdp"; source = "EQDS (NSDI 2022): a BDP; htsim: 50 packets by default")]
        pub pull_window: Size,
        /// Rate of the data that the pulls of a host request, over all queue pairs on which it receives.
        #[param(AboveZero; example = "0.99line"; source = "htsim: just below the line rate")]
        pub pull_rate: Pace,
    }
}

impl EqdsConfig {
    pub(super) fn sack_config(&self) -> SackConfig {
        let EqdsConfig { payload, header, ack, rto, .. } = *self;
        SackConfig { payload, header, ack, ack_every: 1, carry_evs: false, rto, inherits: Default::default() }
    }
}
