//! The settings of the lossless class.

use super::LEAST_SHARE;
use anabranch_base::{AboveZero, Bytes, Duration, Rate, parameter_choices, parameters};
use anabranch_proto::Size;
use serde::{Deserialize, Serialize};

parameters! {
    /// Priority flow control over a buffer that all ports of a switch share.
    ///
    /// Queued data is charged to its ingress port: up to a threshold to the shared buffer, and beyond the threshold to
    /// the port's headroom. When data goes into the headroom, the sender is paused. The sender may resume when the
    /// headroom is empty and the port's share of the shared buffer is `resume` or more below the threshold. The sender
    /// may also resume when the port holds no data.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct PfcSpec {
        /// Packet buffer of a switch. It includes the headroom unless `headroom_apart` is set.
        #[param(AboveZero; example = "256MB"; source = "STrack, section 4.1")]
        pub buffer: Bytes,
        /// Headroom is reserved in addition to `buffer` instead of inside it. Links with a large BDP require this: a
        /// link of 1.6 Tb/s with a latency of 500 us each way needs 200 MB of headroom.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        #[param(any; example = true; source = "unspecified"; default = false)]
        pub headroom_apart: bool,
        /// `buffer` is the buffer of a switch whose port rates add up to this rate, and is scaled for other switches
        /// (STrack, section 4.1). Without `buffer_rate`, `buffer` is not scaled. A scheme or scenario that sets only
        /// `buffer` removes `buffer_rate`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[param(AboveZero; example = "51.2Tbps"; source = "STrack, section 4.1")]
        pub buffer_rate: Option<Rate>,
        /// Dynamic threshold (alpha): an ingress port may hold this many times the free part of the shared buffer
        /// before it sends XOFF.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[param(LEAST_SHARE..=65_536.0; example = 0.125; source = "the simulator published with HPCC")]
        pub alpha: Option<f64>,
        /// Other values of `alpha` for faster links, sorted by increasing rate.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[param(table)]
        pub alpha_from: Vec<AlphaStep>,
        /// Switch classes whose buffer differs from `buffer`. If a class is listed twice, the last entry applies.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[param(table)]
        pub at: Vec<PfcClass>,
        /// Static XOFF threshold of each ingress port, instead of the dynamic threshold `alpha`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[param(AboveZero; example = "1bdp"; source = "unspecified; in the place of alpha")]
        pub threshold: Option<Size>,
        /// XON is sent when the ingress port's share of the buffer has fallen this far below the XOFF threshold and its
        /// headroom is empty, or when the port holds no data.
        #[param(AboveZero; example = "2packets"; source = "unspecified; 3 KB in the ns-3 RDMA simulators")]
        pub resume: Size,
        /// Headroom of each ingress port. If left out, each port has the headroom that its link needs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[param(AboveZero; example = "120KB"; source = "unspecified; what the link needs")]
        pub headroom: Option<Size>,
        /// The PFC watchdog of switches, which ends a storm of pauses at a port. At each poll, a port counts as stormed
        /// if data waits there, none was sent since the last poll, and the port was paused for more than 99 % of that
        /// time. After `watchdog_detection`, the watchdog acts until the storm is over. With `drop`, the port drops its
        /// waiting and arriving data. With `forward`, the port sends in spite of pauses. Without a watchdog, ports obey
        /// every pause.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[param(any; example = "drop"; source = "SONiC (sonic-utilities, pfcwd), whose default action is drop")]
        pub watchdog: Option<WatchdogAction>,
        /// The time from one poll of the watchdog to the next. All switches poll at multiples of this time.
        #[serde(default = "watchdog_time", skip_serializing_if = "is_watchdog_time")]
        #[param(SHORTEST_POLL..=LONGEST_POLL; example = "100ms"; source = "SONiC (sonic-utilities, pfcwd): 200 ms; Juniper and \
            Cisco Nexus: 100 ms"; default = "200ms")]
        pub watchdog_poll: Duration,
        /// The time for which a port must have been stormed, poll by poll, until the watchdog acts.
        #[serde(default = "watchdog_time", skip_serializing_if = "is_watchdog_time")]
        #[param(SHORTEST_POLL..=LONGEST_POLL; example = "400ms"; source = "SONiC (sonic-utilities, pfcwd): 200 ms, 100 ms to 5 s; \
            Juniper: two polls"; default = "200ms")]
        pub watchdog_detection: Duration,
        /// The time without any pause, poll by poll, until the watchdog restores the port.
        #[serde(default = "watchdog_time", skip_serializing_if = "is_watchdog_time")]
        #[param(SHORTEST_POLL..=LONGEST_POLL; example = "400ms"; source = "SONiC (sonic-utilities, pfcwd) and Juniper: 200 ms";
            default = "200ms")]
        pub watchdog_restoration: Duration,
    }
}

/// The smallest poll, detection and restoration time of a PFC watchdog.
const SHORTEST_POLL: Duration = Duration::from_us(1);
/// The largest poll, detection and restoration time of a PFC watchdog.
const LONGEST_POLL: Duration = Duration::from_us(10_000_000);

/// The default of the poll, detection and restoration times, as in SONiC's PFC watchdog.
fn watchdog_time() -> Duration {
    Duration::from_us(200_000)
}

fn is_watchdog_time(time: &Duration) -> bool {
    *time == watchdog_time()
}

/// The reaction of the PFC watchdog to a storm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WatchdogAction {
    /// The port drops its data until the storm is over.
    Drop,
    /// The port ignores pauses until the storm is over.
    Forward,
}

parameter_choices!(WatchdogAction: "drop" = Drop, "forward" = Forward);

parameters! {
    /// The dynamic threshold for ports from a given rate on.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct AlphaStep {
        /// This alpha applies to ports of this rate and above, up to the rate of the next entry.
        #[param(AboveZero; example = "400Gbps"; source = "the simulators published with HPCC and Themis-longhaul")]
        pub rate: Rate,
        /// Dynamic threshold of these ports, as `pfc.alpha`.
        #[param(LEAST_SHARE..=65_536.0; example = 0.5; source = "the simulators published with HPCC and Themis-longhaul")]
        pub alpha: f64,
    }
}

parameters! {
    /// The settings of the lossless class for one class of switches.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct PfcClass {
        /// The class of switches: `tor`, `leaf`, `esw` ...
        #[param(any; example = "esw"; source = "Themis-longhaul, section VII: deep buffers at the edge")]
        pub switches: String,
        /// Packet buffer of such a switch. It has the meaning of `buffer` in `pfc`, but is never scaled.
        #[param(AboveZero; example = "128MB"; source = "unspecified")]
        pub buffer: Bytes,
        /// Dynamic threshold of all ports of these switches, with the meaning of `pfc.alpha`. Without it, these
        /// switches use the threshold of all other switches. With 65536 and a buffer that never fills, these switches
        /// never send XOFF.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[param(LEAST_SHARE..=65_536.0; example = 0.125; source = "unspecified")]
        pub alpha: Option<f64>,
    }
}
