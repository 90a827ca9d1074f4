//! Checks of the whole state at the end of a run.

use super::{Engine, deliver_far, totals};
use crate::context::{Counters, Failure};
use crate::host::Host;
use crate::mail::MAX_WINDOWS_AHEAD;
use crate::observer::Observer;
use crate::shard::Window;
use crate::switch::Switch;
use std::sync::PoisonError;

impl<O: Observer> Engine<'_, O> {
    /// Checks the invariants that are cheap enough to check at the end of every run.
    pub(super) fn check(&mut self) -> Result<(), Failure> {
        let Window { number, stop, .. } = *self.window.get_mut().unwrap_or_else(PoisonError::into_inner);
        let slots = self.mail.iter().flatten();
        let filed: u64 = slots
            .map(|slot| {
                let slot = slot.read().unwrap_or_else(PoisonError::into_inner);
                let later: u64 =
                    (1..=MAX_WINDOWS_AHEAD as u64).map(|ahead| slot.packets(number + ahead)).sum();
                later + slot.packets_from(number, stop)
            })
            .sum();
        let mut shards = self.locked();
        deliver_far(&mut shards);
        let wrong = |what: String| Err(Failure::Invariant(what));
        if let Some(message) = self.network.board.too_early() {
            return wrong(format!("message {message} was acknowledged before it was delivered"));
        }
        let Counters { drops, link_losses, injected, consumed, .. } = totals(&shards);
        let hosts = || shards.iter().flat_map(|shard| shard.hosts());
        let switches = || shards.iter().flat_map(|shard| shard.switches());
        let on_links = filed + shards.iter().map(|shard| shard.packets_far_away()).sum::<u64>();
        let queued = hosts().map(|host| host.egress().pool.used()).sum::<u64>()
            + switches().map(|switch| switch.egress().pool.used()).sum::<u64>();
        let held = switches().map(Switch::held).sum::<u64>() + hosts().map(Host::not_taken).sum::<u64>();
        if injected != consumed + drops + link_losses + queued + on_links + held {
            return wrong(format!(
                "of {injected} packets sent, {consumed} arrived, {drops} were dropped, {link_losses} lost, {queued} wait, {held} are held and {on_links} are on links"
            ));
        }
        for switch in switches() {
            if let Some((counted, waits)) = switch.counted_bytes().filter(|(counted, waits)| counted != waits)
            {
                return wrong(format!("a switch counts {counted} B where {waits} B wait"));
            }
            if let Some(telemetry) = &switch.egress().telemetry {
                let queued = switch.egress().each_queued().filter(|frame| frame.telemetry > 0).count() as u64;
                let (kept, here) = telemetry.records.counts();
                if here != queued || kept > switch.held() {
                    return wrong(format!(
                        "{here} records of telemetry for {queued} packets that wait, {kept} held"
                    ));
                }
            }
        }
        for host in hosts() {
            if let Some(telemetry) = &host.egress().telemetry {
                let queued = host.egress().each_queued().filter(|frame| frame.telemetry > 0).count() as u64;
                let (_, here) = telemetry.records.counts();
                if here != queued + host.waiting_telemetry() {
                    return wrong(format!(
                        "{here} records of telemetry at a host where {queued} packets wait"
                    ));
                }
            }
        }
        Ok(())
    }
}
