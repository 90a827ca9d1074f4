//! The sender of the `eqds` transport.

use super::config::EqdsConfig;
use super::pacer::PULL_EVS;
use crate::PathFacts;
use crate::cc::AnyCc;
use crate::lb::AnyLb;
use crate::packet::{Msn, Packet, Repr};
use crate::transport::common::{Ends, OutOfPsns, PayloadRange, Sender, SenderCounters};
use crate::transport::sack::SackSender;
use anabranch_base::{Duration, MessageId, Time};

/// The sender of a queue pair: the sender of `sack`, where every packet needs credit.
pub struct EqdsSender {
    sack: SackSender,
    /// Number of packets that pulls allow and that are not yet sent.
    credit: u32,
    /// Number of packets that a new sender may still send without a pull.
    speculative: u32,
    /// The highest number of a pull that has arrived.
    pulled: u32,
    /// The largest number of packets by which a target exceeds `pulled`.
    window: u32,
    /// The last target that was sent to the receiver, or 0 if an RTS is to repeat it.
    announced: u32,
    /// The time of the last announcement, answer, or timeout without credit. A sender without credit waits an RTO from
    /// this time.
    waiting_since: Time,
    rto: Duration,
    ends: Ends,
    rts_bytes: u16,
    rts_ev: u16,
}

impl EqdsSender {
    /// The sender of a queue pair between `ends`.
    pub fn new(config: &EqdsConfig, facts: &PathFacts, ends: Ends, cc: AnyCc, lb: AnyLb) -> Self {
        // The window is rounded up to whole packets. As in htsim's `spendCredit`, a packet is sent while any credit is
        // left, even if the packet is larger than this credit.
        let window = config.pull_window.on(facts).0.div_ceil((config.payload.0 + config.header.0).max(1));
        let window = u32::try_from(window).unwrap_or(u32::MAX).clamp(1, MAX_WINDOW);
        EqdsSender {
            sack: SackSender::new(&config.sack_config(), facts, ends, cc, lb),
            credit: 0,
            speculative: window,
            pulled: 0,
            window,
            announced: 0,
            waiting_since: Time::ZERO,
            rto: config.rto.on(facts),
            ends,
            rts_bytes: config.ack.0 as u16,
            rts_ev: 0,
        }
    }

    /// Number of packets for which there is credit.
    pub fn credit(&self) -> u32 {
        self.credit + self.speculative
    }

    /// The number of the last pull for which the sender has data. It exceeds `pulled` by at most `window` (htsim,
    /// `computePullTarget`).
    #[inline]
    fn target(&self) -> u32 {
        let demand = self.sack.backlog().min(self.window);
        self.pulled + demand.saturating_sub(self.credit())
    }

    fn lacks_credit(&self) -> bool {
        self.credit() == 0 && self.sack.has_backlog()
    }

    #[inline]
    fn announce(&mut self, now: Time, target: u32) {
        self.announced = target;
        self.waiting_since = now;
    }
}

const MAX_WINDOW: u32 = 1 << 20;

impl Sender for EqdsSender {
    fn load_balancer(&mut self) -> Option<&mut AnyLb> {
        self.sack.load_balancer()
    }

    fn post(&mut self, id: MessageId, bytes: u64) -> Result<(), OutOfPsns> {
        self.sack.post(id, bytes)
    }

    fn payload_range(&self, psn: u32) -> Option<PayloadRange> {
        self.sack.payload_range(psn)
    }

    #[inline]
    fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        if self.credit() == 0 {
            let target = self.target();
            if target <= self.announced || !self.sack.has_backlog() {
                return None;
            }
            self.announce(now, target);
            let rts = Packet::new(self.ends.qp, self.ends.dst, Repr::Rts { target });
            return Some(rts.with_bytes(self.rts_bytes).with_ev(self.rts_ev));
        }
        let mut packet = self.sack.poll_transmit(now)?;
        // Pulled credit is used first (htsim, `spendCredit`).
        match self.credit {
            0 => self.speculative -= 1,
            _ => self.credit -= 1,
        }
        let target = self.target();
        self.announce(now, target);
        packet.repr = packet.repr.with_msn(Msn::of_pull_target(target));
        Some(packet)
    }

    #[inline]
    fn handle_packet(&mut self, now: Time, packet: &Packet) {
        match packet.repr {
            Repr::Pull { number } => {
                if number > self.pulled {
                    self.credit += number - self.pulled;
                    self.pulled = number;
                }
            }
            _ => {
                // The first ACK or NACK cancels the speculative credit (htsim, `clearSpeculativeCredit`).
                self.speculative = 0;
                self.sack.handle_packet(now, packet);
            }
        }
        self.waiting_since = now;
    }

    #[inline]
    fn next_timeout(&mut self) -> Option<Time> {
        let sack = self.sack.next_timeout();
        if !self.lacks_credit() {
            return sack;
        }
        let repeat = self.waiting_since + self.rto;
        Some(sack.map_or(repeat, |sack| sack.min(repeat)))
    }

    fn handle_timeout(&mut self, now: Time) {
        self.sack.handle_timeout(now);
        if self.lacks_credit() && self.waiting_since + self.rto <= now {
            // The demand counts as not announced, so the next RTS repeats it, on another path.
            self.announced = 0;
            self.rts_ev = (self.rts_ev + 1) % PULL_EVS;
            self.waiting_since = now;
        }
    }

    fn next_pacing(&self) -> Option<Time> {
        self.sack.next_pacing()
    }

    fn handle_pacing(&mut self, now: Time) {
        self.sack.handle_pacing(now);
    }

    #[inline]
    fn paces(&self) -> bool {
        self.sack.paces()
    }

    #[inline]
    fn poll_acknowledged(&mut self) -> Option<MessageId> {
        self.sack.poll_acknowledged()
    }

    fn counters(&self) -> SenderCounters {
        self.sack.counters()
    }
}
