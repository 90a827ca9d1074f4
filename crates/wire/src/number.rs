//! Fields that are shorter than the numbers of the protocol cores, and their expansion to full numbers.
//!
//! A PSN has 24 bits on the wire. The reader chooses the full PSN that is nearest to a reference. Every PSN that
//! differs by less than 2^23 from the reference is therefore restored exactly, over any number of wraps. A time has 16
//! or 32 bits of ticks. The reader chooses the latest time that is not in the future. A time is therefore restored
//! exactly to the tick if it is less than 2^16 or 2^32 ticks old.

use anabranch_base::{Duration, HostId, Time};

/// The mask of the bits that a field of 24 bits holds.
pub(crate) const LOW_24: u32 = 0xff_ffff;

/// The values from which the reader of a packet restores the bits that the bytes leave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The host to which the packet is addressed.
    pub dst: HostId,
    /// Whether the host `dst` is the receiver of the queue pair. A trimmed packet of DCP has no field that tells
    /// whether it is on its way back to the sender.
    pub at_receiver: bool,
    /// A PSN that differs by less than 2^23 from the PSNs of the packet. Examples are the PSN of the queue pair's
    /// latest packet, the ePSN of the receiver, and the lowest PSN for which the sender has no acknowledgement.
    pub psn: u32,
    /// The time of arrival.
    pub now: Time,
}

/// The PSN with these low 24 bits that is nearest to `reference`.
pub fn nearest_psn(low: u32, reference: u32) -> u32 {
    const ROUND: i64 = 1 << 24;
    let same_round = i64::from(reference) / ROUND * ROUND + i64::from(low);
    let candidates = [same_round - ROUND, same_round, same_round + ROUND];
    let within = candidates.into_iter().filter_map(|psn| u32::try_from(psn).ok());
    within.min_by_key(|&psn| psn.abs_diff(reference)).unwrap_or(low)
}

/// The number of whole ticks until `time`.
pub fn ticks(time: Time, tick: Duration) -> u64 {
    time.0 / tick.0.max(1)
}

/// The start of the latest tick that is not after `now` and whose number ends with the `bits` bits of `low`; 0 if there
/// is none.
pub fn latest_time(low: u32, bits: u32, now: Time, tick: Duration) -> Time {
    let now_ticks = ticks(now, tick);
    let ago = now_ticks.wrapping_sub(u64::from(low)) & ((1 << bits) - 1);
    Time(now_ticks.saturating_sub(ago) * tick.0.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_psn_is_restored_within_half_a_round_of_the_reference() {
        const HALF: u32 = 1 << 23;
        for reference in [0, 1, HALF, (1 << 24) - 1, 1 << 24, (5 << 24) + 3, u32::MAX - HALF, u32::MAX] {
            for distance in [0, 1, 1_000, HALF - 1] {
                for psn in [reference.checked_add(distance), reference.checked_sub(distance)] {
                    let Some(psn) = psn else { continue };
                    assert_eq!(nearest_psn(psn & 0xff_ffff, reference), psn, "{reference} {distance}");
                }
            }
        }
        // Another PSN with the same low bits is nearer to the reference.
        assert_eq!(nearest_psn((3 << 24 | (HALF + 1)) & 0xff_ffff, 3 << 24), (2 << 24) + HALF + 1);
    }

    #[test]
    fn a_time_is_restored_to_the_tick_until_its_field_wraps() {
        let tick = Duration::from_ns(64);
        let sent = Time(tick.0 * 0x1_2345 + 7);
        let at = |later: u64| Time(tick.0 * (0x1_2345 + later));
        assert_eq!(latest_time(0x2345, 16, at(0xffff), tick), Time(tick.0 * 0x1_2345));
        assert_eq!(latest_time(0x2345, 16, at(0x1_0000), tick), Time(tick.0 * 0x2_2345), "wrapped");
        assert_eq!(latest_time(ticks(sent, tick) as u32, 32, at(0xffff_ffff), tick), Time(tick.0 * 0x1_2345));
        assert_eq!(latest_time(9, 16, Time::ZERO, tick), Time::ZERO);
    }
}
