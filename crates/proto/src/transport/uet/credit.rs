//! RCCC, the credit of receivers (UET 1.0.3, section 3.6.14). The rules come from implementers' summaries and from
//! uet-htsim, not from the text of the specification.
//!
//! A source sends data while it has credit, and every data packet spends credit. A source starts with a window of
//! speculative credit. The first answer cancels the rest of the speculative credit. Data packets carry a target, which
//! is the number of the last pull for which the source has data. A source without credit sends its target in a
//! request. The destination's host paces the pulls of all its sources, round robin. Pulls and targets are cumulative,
//! so that a later packet compensates for the loss of an earlier one.
//!
//! Not built: credit for idle sources, and the division of a source's demand by the number of destinations of its host.

use crate::packet::{Packet, Repr};
use crate::transport::PullPacer;
use crate::transport::common::{Answers, Ends, Pull};
use crate::transport::eqds::PULL_EVS;
use crate::{Pace, PathFacts, Size, Span};
use anabranch_base::{AboveZero, Bytes, Duration, Time, parameters};
use serde::{Deserialize, Serialize};

parameters! {
    /// Credit of receivers (RCCC) in the `uet` transport.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct CreditConfig {
        /// One size with three uses: the speculative credit of a new source, the upper limit of its credit, and the
        /// upper limit of the backlog that counts as its demand (MaxWnd).
        #[param(AboveZero; example = "1.5bdp"; source = "uet-htsim; UET 1.0.3: up to a BDP at the start")]
        pub window: Size,
        /// Rate of the data that the pulls of a host request together.
        #[param(AboveZero; example = "0.99line"; source = "uet-htsim; UET 1.0.3: just below the link's rate")]
        pub rate: Pace,
        /// Upper limit of the credit that one pull grants, rounded down to units of 256 B.
        #[param(AboveZero; example = "4packets"; source = "uet-htsim: 4 MSS")]
        pub grant: Size,
        /// Whether the pull rate is adapted to ECN marks and to trims before the last hop. The rate is adapted about
        /// every 1.5 base RTTs, and the length of each period is drawn anew. Adaptation is meant for oversubscribed
        /// fabrics, where the link of the receiver is not the bottleneck.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        #[param(any; example = true; source = "uet-htsim, with oversubscription"; default = false)]
        pub follows_fabric: bool,
        /// Least share of `rate` that `follows_fabric` leaves. uet-htsim has 0.9 divided by the fabric's
        /// oversubscription.
        #[serde(default = "hundredth", skip_serializing_if = "is_hundredth")]
        #[param(0.01..=1.0; example = 0.225; source = "uet-htsim: 0.9 over the oversubscription, at least 0.01"; default = 0.01)]
        pub least_share: f64,
    }
}

fn hundredth() -> f64 {
    0.01
}

fn is_hundredth(share: &f64) -> bool {
    *share == hundredth()
}

impl CreditConfig {
    pub(super) fn pacer(&self, facts: &PathFacts) -> PullPacer {
        let pacer = PullPacer::at_rate(self.rate.on(facts));
        if self.follows_fabric { pacer.adapting(Span::Rtt(1.5).on(facts), self.least_share) } else { pacer }
    }
}

/// The unit of credit in bytes.
const UNIT: u64 = 256;

/// Bytes that a queue pair may send once. Pulls have numbers for twice as many, since retransmissions are pulled too.
pub(super) const PULLED_BYTES: u64 = (u32::MAX as u64 / 2) * UNIT;

fn units(bytes: u64) -> u32 {
    u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX)
}

pub(super) struct Credit {
    /// Bytes that may be sent. The last packet may overdraw them, so that they may be negative.
    bytes: i64,
    /// Bytes of the packets that were never sent, or were declared lost and not yet retransmitted.
    pub waiting: u64,
    is_speculative: bool,
    /// The highest number of a pull that has arrived. Pulls are numbered by the units of credit that they have
    /// granted in total.
    pulled: u32,
    window: u64,
    /// The last target that was sent to the destination, or 0 if a request is to repeat it.
    announced: u32,
    /// The start of the timer after which a request is repeated: the last announcement, answer or repetition.
    waiting_since: Time,
    rto: Duration,
}

impl Credit {
    pub fn new(config: &CreditConfig, facts: &PathFacts, rto: Duration) -> Self {
        let window = config.window.on(facts).0.clamp(1, u64::from(u32::MAX));
        Credit {
            bytes: window as i64,
            waiting: 0,
            is_speculative: true,
            pulled: 0,
            window,
            announced: 0,
            waiting_since: Time::ZERO,
            rto,
        }
    }

    #[inline]
    pub fn allows(&self) -> bool {
        self.bytes > 0
    }

    #[inline]
    pub fn spend(&mut self, bytes: u16) {
        self.bytes -= i64::from(bytes);
    }

    /// The number of the last pull for which the source has data, if `backlog` bytes wait. As in uet-htsim, a source
    /// with speculative credit announces at least a packet, since the first answer cancels that credit.
    #[inline]
    pub fn target(&self, backlog: u64, packet: u64) -> u32 {
        let demand = backlog.min(self.window) as i64 - self.bytes;
        let least = if self.is_speculative && backlog > 0 { packet as i64 } else { 0 };
        self.pulled.saturating_add(units(demand.max(least) as u64))
    }

    #[inline]
    pub fn announce(&mut self, now: Time, target: u32) {
        self.announced = target;
        self.waiting_since = now;
    }

    pub fn must_request(&self, target: u32) -> bool {
        !self.allows() && target > self.announced
    }

    /// Ends speculation at the first answer: the remaining speculative credit is cancelled, and only pulls grant
    /// further credit.
    #[inline]
    pub fn handle_answer(&mut self, now: Time) {
        if self.is_speculative {
            self.is_speculative = false;
            self.bytes = self.bytes.min(0);
        }
        self.waiting_since = now;
    }

    pub fn handle_pull(&mut self, now: Time, number: u32) {
        self.handle_answer(now);
        if number > self.pulled {
            let more = u64::from(number - self.pulled) * UNIT;
            self.bytes = (self.bytes + more as i64).min(self.window as i64);
            self.pulled = number;
        }
    }

    /// The time at which a source without credit repeats its request. None for a source with credit.
    #[inline]
    pub fn next_request(&self) -> Option<Time> {
        (!self.allows()).then(|| self.waiting_since + self.rto)
    }

    /// Allows a repetition of the request when its time has come.
    pub fn handle_timeout(&mut self, now: Time) {
        if self.next_request().is_some_and(|due| due <= now) {
            self.announced = 0;
            self.waiting_since = now;
        }
    }
}

pub(super) struct Grants {
    /// The number of the last pull for which the source has data.
    target: u32,
    granted: u32,
    is_queued: bool,
    repeats: bool,
    most: u32,
    /// Bytes by which the units for trimmed packets exceed these packets. They are fewer than a unit.
    spare: u32,
    ev: u16,
    answers: Answers,
}

impl Grants {
    pub fn new(config: &CreditConfig, facts: &PathFacts, ends: Ends, control: Bytes) -> Self {
        Grants {
            target: 0,
            granted: 0,
            is_queued: false,
            repeats: false,
            most: u32::try_from(config.grant.on(facts).0 / UNIT).unwrap_or(u32::MAX).max(1),
            spare: 0,
            ev: 0,
            answers: Answers::new(ends, control),
        }
    }

    #[inline]
    pub fn handle_target(&mut self, target: u32) {
        self.target = self.target.max(target);
    }

    /// Handles a trimmed packet of `bytes` bytes, which must be pulled once more. The units for all trimmed packets
    /// together are rounded up, not those for each.
    pub fn handle_trim(&mut self, target: u32, bytes: u16) {
        let missing = u32::from(bytes).saturating_sub(self.spare);
        self.spare = self.spare + missing.next_multiple_of(UNIT as u32) - u32::from(bytes);
        self.target = self.target.max(target).saturating_add(missing.div_ceil(UNIT as u32));
    }

    /// If the requested demand was granted already, the last pull is repeated, since it may have been lost.
    pub fn handle_request(&mut self, target: u32) {
        self.target = self.target.max(target);
        self.repeats = self.granted >= target;
    }

    pub fn poll_repeat(&mut self) -> Option<Packet> {
        std::mem::take(&mut self.repeats).then(|| self.packet())
    }

    pub fn requests_pull(&mut self) -> bool {
        let requests = !self.is_queued && self.granted < self.target;
        self.is_queued |= requests;
        requests
    }

    pub fn pull(&mut self) -> Option<Pull> {
        self.is_queued = false;
        let more = self.target.saturating_sub(self.granted).min(self.most);
        if more == 0 {
            return None;
        }
        self.granted += more;
        Some(Pull { packet: self.packet(), bytes: u64::from(more) * UNIT })
    }

    fn packet(&mut self) -> Packet {
        let ev = self.ev;
        self.ev = (ev + 1) % PULL_EVS;
        self.answers.packet(ev, Repr::Pull { number: self.granted })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_base::{HostId, QpId, Rate};

    const CONFIG: CreditConfig = CreditConfig {
        window: Size::Packets(62.0),
        rate: Pace::Line(0.99),
        grant: Size::Packets(4.0),
        follows_fabric: false,
        least_share: 0.01,
    };

    fn facts(packet: u64) -> PathFacts {
        let rate = Rate::from_gbps(100);
        PathFacts {
            base_rtt: Duration::from_us(14),
            bdp: Bytes(175_000),
            packet: Bytes(packet),
            line_rate: rate,
            port_rate: rate,
            queue: Bytes(0),
        }
    }

    fn grants(packet: u64) -> Grants {
        let ends = Ends { qp: QpId(0), src: HostId(0), dst: HostId(1) };
        Grants::new(&CONFIG, &facts(packet), ends, Bytes(64))
    }

    /// A trimmed packet of 564 B takes three units of 256 B, and a packet of 4150 B takes 16.2: five of them take 82, not
    /// five times 17. A trimmed packet that the spare bytes of the others cover takes none.
    #[test]
    fn trimmed_packets_add_their_bytes_to_the_demand() {
        let mut short = grants(4_150);
        short.handle_trim(0, 564);
        assert_eq!(short.target, 3);
        let mut long = grants(4_150);
        (0..5).for_each(|_| long.handle_trim(0, 4_150));
        assert_eq!(long.target, units(5 * 4_150));
        long.handle_trim(0, 242);
        assert_eq!((long.target, units(5 * 4_150 + 242)), (82, 82));
        long.handle_trim(100, 1);
        assert_eq!(long.target, 101);
    }

    /// A message of ten packets, which the speculative credit of 62 packets covers. The first answer cancels that
    /// credit, so that the source announces at least one packet as long as it has data (uet-htsim).
    #[test]
    fn a_short_message_announces_a_packet_while_it_speculates() {
        let packet = 4_150;
        let mut credit = Credit::new(&CONFIG, &facts(packet), Duration::from_us(100));
        credit.spend(packet as u16);
        assert_eq!(credit.target(9 * packet, packet), units(packet), "with credit left");
        assert_eq!(credit.target(0, packet), 0, "nothing waits");
        (0..61).for_each(|_| credit.spend(packet as u16));
        assert_eq!(credit.target(0, packet), 0, "nothing waits, and no credit is left");
        credit.handle_answer(Time::ZERO);
        assert_eq!(credit.target(9 * packet, packet), units(9 * packet));
        let mut grants = grants(packet);
        grants.handle_target(1_000);
        assert_eq!(grants.pull().map(|pull| pull.bytes), Some(64 * 256), "four packets, rounded down");
    }
}
