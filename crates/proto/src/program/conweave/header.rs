//! The fields that ToRs exchange: in the tag and stamps of data packets, and in control packets.

use anabranch_base::{Duration, HostId, Time};

/// The most ports that a tag can name. A ToR with more equal-cost ports uses the first 256.
pub(super) const MAX_PORTS: u16 = 1 << 8;

const EPOCHS: u8 = 1 << 4;

/// The largest number of epochs by which a packet may be ahead of the destination ToR's epoch. The source ToR starts
/// an epoch only after a reply or CLEAR of the previous epoch, or after an idle time. A packet is therefore more than
/// one epoch ahead only if all packets of an epoch were lost.
const MOST_AHEAD: u8 = 4;

/// The content of a data packet's tag, written by the source ToR: 16 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub epoch: Epoch,
    /// Whether the packet takes the new path, after the TAIL.
    pub rerouted: bool,
    /// Whether the packet is the first of its epoch, which requests a reply.
    pub init: bool,
    /// Whether the packet is the last one on the old path.
    pub tail: bool,
    /// The path, given by the number of the source ToR's port.
    pub port: u8,
}

/// An epoch of a queue pair, modulo 16.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Epoch(u8);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Age {
    Earlier,
    Same,
    Later,
}

impl Epoch {
    pub fn next(self) -> Epoch {
        Epoch((self.0 + 1) % EPOCHS)
    }

    pub fn age(self, known: Epoch) -> Age {
        match self.0.wrapping_sub(known.0) % EPOCHS {
            0 => Age::Same,
            1..=MOST_AHEAD => Age::Later,
            _ => Age::Earlier,
        }
    }
}

/// Layout of the tag. Bit 15 shows that the tag is ConWeave's. Bits 14 to 11 hold the epoch, bit 10 the phase, bit 9
/// INIT, bit 8 TAIL, and bits 7 to 0 the port.
impl Header {
    pub fn tag(self) -> u16 {
        1 << 15
            | u16::from(self.epoch.0) << 11
            | u16::from(self.rerouted) << 10
            | u16::from(self.init) << 9
            | u16::from(self.tail) << 8
            | u16::from(self.port)
    }

    pub fn of_tag(tag: u16) -> Option<Header> {
        let bit = |slot: u32| tag >> slot & 1 != 0;
        bit(15).then_some(Header {
            epoch: Epoch((tag >> 11) as u8 % EPOCHS),
            rerouted: bit(10),
            init: bit(9),
            tail: bit(8),
            port: tag as u8,
        })
    }
}

/// A time in 16 bits, as carried by packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stamp(u16);

impl Stamp {
    /// The unit is 8.192 ns, which is a shift in hardware. Stamps wrap after 65,536 units, or 537 us. This is more
    /// than the published expiry of 300 us. An idle time longer than the expiry begins a new epoch, and stamps of
    /// different epochs are never compared.
    const UNIT_SHIFT: u32 = 13;

    pub fn of(now: Time) -> Stamp {
        Stamp((now.0 >> Self::UNIT_SHIFT) as u16)
    }

    /// The result has an error of up to one unit.
    pub fn since(self, earlier: Stamp) -> Duration {
        Duration(u64::from(self.0.wrapping_sub(earlier.0)) << Self::UNIT_SHIFT)
    }
}

/// Encodes a data packet's `stamps`. The lower 16 bits are the time at which the packet passed the source ToR. In a
/// rerouted packet, the upper 16 bits are the time at which the TAIL passed the source ToR.
pub(super) fn stamps(passed: Stamp, tail: Stamp) -> u32 {
    u32::from(tail.0) << 16 | u32::from(passed.0)
}

/// Decodes a data packet's `stamps` into the times at which the packet and the TAIL passed the source ToR.
pub(super) fn of_stamps(stamps: u32) -> (Stamp, Stamp) {
    (Stamp(stamps as u16), Stamp((stamps >> 16) as u16))
}

/// The content of a control packet from the destination ToR to the source ToR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Word {
    pub kind: WordKind,
    /// The name of the destination ToR, which hardware reads from the IP header.
    pub tor: HostId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WordKind {
    /// The INIT of this epoch has arrived.
    Reply(Epoch),
    /// The destination ToR no longer holds packets for the reroute of this epoch.
    Clear(Epoch),
    /// A packet on the path of this port was marked.
    Notify(u8),
}

/// Layout of the word. Bits 63 to 56 show that the word is ConWeave's. Bits 47 to 16 hold the ToR, bits 15 to 8 the
/// kind, and bits 7 to 0 the epoch or port.
impl Word {
    const OWN: u64 = 0xc5 << 56;

    pub fn bits(self) -> u64 {
        let (kind, value) = match self.kind {
            WordKind::Reply(epoch) => (0, epoch.0),
            WordKind::Clear(epoch) => (1, epoch.0),
            WordKind::Notify(port) => (2, port),
        };
        Self::OWN | u64::from(self.tor.0) << 16 | kind << 8 | u64::from(value)
    }

    pub fn of_bits(bits: u64) -> Option<Word> {
        let value = bits as u8;
        let kind = match bits >> 8 & 0xff {
            0 => WordKind::Reply(Epoch(value % EPOCHS)),
            1 => WordKind::Clear(Epoch(value % EPOCHS)),
            2 => WordKind::Notify(value),
            _ => return None,
        };
        (bits >> 56 << 56 == Self::OWN).then_some(Word { kind, tor: HostId((bits >> 16) as u32) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tag_of_ours_reads_back_and_no_other_is_ours() {
        for tag in 0..=u16::MAX {
            match Header::of_tag(tag) {
                Some(header) => assert_eq!(header.tag(), tag),
                None => assert!(tag < 1 << 15, "{tag:#x}"),
            }
        }
    }

    #[test]
    fn words_read_back_and_others_are_not_ours() {
        let tor = HostId(u32::MAX - 1);
        for kind in [WordKind::Reply(Epoch(15)), WordKind::Clear(Epoch(3)), WordKind::Notify(255)] {
            let word = Word { kind, tor };
            assert_eq!(Word::of_bits(word.bits()), Some(word));
            assert_eq!(Word::of_bits(word.bits() ^ 1 << 60), None, "another program's");
        }
    }

    #[test]
    fn an_epoch_is_ahead_by_at_most_four() {
        for known in 0..EPOCHS {
            let ages: Vec<Age> =
                (0..EPOCHS).map(|ahead| Epoch((known + ahead) % EPOCHS).age(Epoch(known))).collect();
            assert_eq!(ages[0], Age::Same);
            assert_eq!(ages[1..=4], [Age::Later; 4]);
            assert_eq!(ages[5..], [Age::Earlier; 11]);
        }
    }

    #[test]
    fn stamps_wrap() {
        let (early, late) = (Time(536_800_000), Time(536_800_000 + 300_000_000));
        let span = Stamp::of(late).since(Stamp::of(early));
        assert!(span.0.abs_diff(300_000_000) <= 8_192, "{span}");
        assert_eq!(of_stamps(stamps(Stamp(7), Stamp(65_535))), (Stamp(7), Stamp(65_535)));
    }
}
