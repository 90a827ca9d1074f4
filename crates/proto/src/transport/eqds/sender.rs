//! The sending end.

use super::config::EqdsConfig;
use crate::PathFacts;
use crate::cc::AnyCc;
use crate::lb::AnyLb;
use crate::packet::{Msn, Packet, Repr};
use crate::transport::common::{Ends, OutOfPsns, Sender, SenderCounters};
use crate::transport::sack::SackSender;
use anabranch_base::{Duration, MessageId, Time};

/// The sending end of a queue pair: that of `sack`, which sends for credit alone.
pub struct EqdsSender {
    sack: SackSender,
    /// Packets that pulls allow and that were not sent.
    credit: u32,
    /// Packets that a new sender may send without a pull.
    speculative: u32,
    /// The highest pull.
    pulled: u32,
    /// The most packets of demand beyond what was granted.
    window: u32,
    /// The last target that the receiver was told.
    told: u32,
    /// When it was, or when an answer came since: a sender without credit waits an RTO from here.
    waits_from: Time,
    rto: Duration,
    ends: Ends,
    /// Size of an RTS.
    rts_bytes: u16,
}

impl EqdsSender {
    /// The sending end of a queue pair between `ends`.
    pub fn new(config: &EqdsConfig, facts: &PathFacts, ends: Ends, cc: AnyCc, lb: AnyLb) -> Self {
        // htsim, `spendCredit`: a packet goes while any credit is left, which it may overdraw.
        let window = config.pull_window.on(facts).0.div_ceil((config.payload.0 + config.header.0).max(1));
        let window = u32::try_from(window).unwrap_or(u32::MAX).clamp(1, MOST_WINDOW);
        EqdsSender {
            sack: SackSender::new(&config.sack(), facts, ends, cc, lb),
            credit: 0,
            speculative: window,
            pulled: 0,
            window,
            told: 0,
            waits_from: Time::ZERO,
            rto: config.rto.on(facts),
            ends,
            rts_bytes: config.ack.0 as u16,
        }
    }

    /// Packets that it may send now.
    pub fn credit(&self) -> u32 {
        self.credit + self.speculative
    }

    /// The pull up to which there is demand (htsim, `computePullTarget`).
    #[inline]
    fn target(&self) -> u32 {
        let demand = self.sack.backlog().min(self.window);
        self.pulled + demand.saturating_sub(self.credit())
    }

    /// It has packets and no credit.
    fn waits(&self) -> bool {
        self.credit() == 0 && self.sack.has_backlog()
    }

    #[inline]
    fn tell(&mut self, now: Time, target: u32) {
        self.told = target;
        self.waits_from = now;
    }
}

/// No larger window fits what a packet says of a target.
const MOST_WINDOW: u32 = 1 << 20;

impl Sender for EqdsSender {
    fn post(&mut self, id: MessageId, bytes: u64) -> Result<(), OutOfPsns> {
        self.sack.post(id, bytes)
    }

    /// The next data packet, for credit, or an RTS that says what it waits for.
    #[inline]
    fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        if self.credit() == 0 {
            let target = self.target();
            if target <= self.told || !self.sack.has_backlog() {
                return None;
            }
            self.tell(now, target);
            let rts = Packet::new(self.ends.qp, self.ends.dst, Repr::Rts { target });
            return Some(rts.with_bytes(self.rts_bytes));
        }
        let mut packet = self.sack.poll_transmit(now)?;
        // Pulled credit first (htsim, `spendCredit`).
        match self.credit {
            0 => self.speculative -= 1,
            _ => self.credit -= 1,
        }
        let target = self.target();
        self.tell(now, target);
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
                // The first answer: a window is in flight, and pulls clock the rest (htsim, `clearSpeculativeCredit`).
                self.speculative = 0;
                self.sack.handle_packet(now, packet);
            }
        }
        self.waits_from = now;
    }

    #[inline]
    fn next_timeout(&mut self) -> Option<Time> {
        let sack = self.sack.next_timeout();
        if !self.waits() {
            return sack;
        }
        let ask = self.waits_from + self.rto;
        Some(sack.map_or(ask, |sack| sack.min(ask)))
    }

    fn handle_timeout(&mut self, now: Time) {
        self.sack.handle_timeout(now);
        if self.waits() && self.waits_from + self.rto <= now {
            // Asked for again, as if never told.
            self.told = 0;
            self.waits_from = now;
        }
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
