//! Parameters of the Proactive Notification Point.

use crate::Span;
use anabranch_base::parameters;
use serde::{Deserialize, Serialize};

parameters! {
    /// Parameters of the Proactive Notification Point.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct PnpConfig {
        /// Minimum time between two CNPs of a flow (cnp_interval). With 0, there is one CNP per marked packet (figure
        /// 16).
        #[param(any; example = "5us"; source = "Themis-longhaul, section IV: as at the hosts")]
        pub cnp_interval: Span,
        /// Whether the mark is cleared (CE is rewritten to ECT, which RFC 3168 forbids to routers). If the mark is
        /// kept, the receiver sends CNPs for marked packets as well (figure 16).
        #[param(any; example = true; source = "Themis-longhaul, section IV")]
        pub clear_marks: bool,
        /// Whether only queue pairs whose TCP handshake passed the switch have an entry. If false, all queue pairs
        /// have an entry (figure 17).
        #[param(any; example = true; source = "Themis-longhaul, section IV")]
        pub monitor: bool,
        /// Whether entries are removed when their queue pair is destroyed. Otherwise they never are (figure 17).
        #[param(any; example = true; source = "Themis-longhaul, section IV")]
        pub expire: bool,
        /// Time from a queue pair's TCP handshake and INIT to its first message.
        #[param(any; example = "3ms";
            source = "unspecified; a handshake of 1.5 round trips, the INIT, and the time to a first message")]
        pub setup: Span,
        /// Delay from the host to the control plane.
        #[param(any; example = "20us"; source = "unspecified; within a data centre")]
        pub daemon_delay: Span,
        /// Delay from the control plane to the table.
        #[param(any; example = "1ms"; source = "Themis-longhaul, section VII-C")]
        pub install_delay: Span,
        /// Whether the external switch of the receivers' data centre also sends CNPs, even for packets that it has
        /// marked itself. Daemons then report to the switches of both data centres.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        #[param(any; example = true;
            source = "unspecified; section III has the notification point on the senders' side, the simulation published with \
                      Themis-longhaul on both";
            default = false)]
        pub both_ends: bool,
        /// Size of the table (section VI: 1024 entries).
        #[param(1..=u32::MAX; example = 1024; source = "Themis-longhaul, section VI")]
        pub entries: u32,
    }
}
