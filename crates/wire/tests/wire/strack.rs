//! Tests of STrack's figure 7, byte for byte.

use anabranch_base::{Duration, HostId, Time};
use anabranch_proto::{Repr, SackCause};
use anabranch_wire::strack::{SACK_BYTES, SackFields, TICK};
use anabranch_wire::{Fault, Reference, WireError};
use proptest::prelude::*;

fn sack() -> Repr {
    Repr::sack(0x00ab_cdef)
        .with_received(0x00ab_ce2f, 0x0123_4567_89ab_cdef)
        .with_counts(0xdead_beef, 0xa5c, SackCause::new(true, true))
        .with_sent_at(Time(TICK.0 * 0x1234))
}

fn reference(psn: u32, now: Time) -> Reference {
    Reference { dst: HostId(0), at_receiver: false, psn, now }
}

fn encode(repr: &Repr, ev: u16, tick: Duration) -> Result<Vec<u8>, WireError> {
    let mut bytes = Vec::new();
    SackFields::of(repr).expect("a SACK").put(ev, tick, &mut bytes)?;
    Ok(bytes)
}

const PRINTED: [u8; SACK_BYTES] = [
    0x77, 0x88, 0x12, 0x34, // echo_entropy, echo_timestamp
    0xde, 0xad, 0xbe, 0xef, // recv_bytes
    0xab, 0xcd, 0xef, 0x5c, // Expected PSN, OOO[0:7]
    0xa3, 0xab, 0xce, 0x2f, // OOO[8:11], flags, SACK base PSN
    0x89, 0xab, 0xcd, 0xef, // SACK bitmap[0:31]
    0x01, 0x23, 0x45, 0x67, // SACK bitmap[32:63]
];

#[test]
fn bytes_stand_as_printed() {
    assert_eq!(encode(&sack(), 0x7788, TICK), Ok(PRINTED.to_vec()));
    let near = reference(0x00ab_0000, Time(TICK.0 * 0x1300));
    let (fields, ev) = SackFields::read(&PRINTED, 0, &near, TICK).unwrap();
    assert_eq!((fields.repr(), ev), (sack(), 0x7788));
}

#[test]
fn what_is_no_sack_is_an_error() {
    let near = reference(0, Time::ZERO);
    let read = |bytes: &[u8]| SackFields::read(bytes, 0, &near, TICK).map(drop);
    let short = Fault::Short { have: 7, need: 8 };
    assert_eq!(read(&PRINTED[..23]), Err(WireError { field: "SACK bitmap", at: 16, fault: short }));
    for bit in [4, 8] {
        let mut bytes = PRINTED;
        bytes[12] |= bit;
        let fault = Fault::Reserved { found: bytes[12], reserved: 0b1100 };
        assert_eq!(read(&bytes), Err(WireError { field: "OOO and flags", at: 12, fault }));
    }
    assert_eq!(SackFields::of(&Repr::Cnp), None);
    let full = sack().with_counts(0, 4096, SackCause::default());
    let fault = Fault::TooLarge { value: 4096, bits: 12 };
    assert_eq!(encode(&full, 1, TICK), Err(WireError { field: "OOO", at: 11, fault }));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Decoding restores everything if the packet's PSNs are near enough to the reader's reference.
    #[test]
    fn round_trip(
        expected in prop_oneof![0..1u32 << 25, any::<u32>()],
        ahead in 0..1u32 << 16,
        behind in 0..1u32 << 22,
        received: u64,
        bytes_received: u32,
        out_of_order in 0..4096u16,
        marked: bool,
        probe: bool,
        ticks in 0..1u64 << 40,
        later in 0..1u64 << 16,
        tick in prop_oneof![Just(TICK), Just(Duration::from_ns(1)), Just(Duration::from_us(1))],
        ev: u16,
    ) {
        let base = expected.saturating_add(ahead);
        let cause = SackCause::new(marked, probe);
        let sent_at = Time(ticks * tick.0);
        let repr = Repr::sack(expected).with_received(base, received).with_counts(bytes_received, out_of_order, cause).with_sent_at(sent_at);
        let near = reference(expected.saturating_sub(behind), Time((ticks + later) * tick.0));
        let bytes = encode(&repr, ev, tick).unwrap();
        let (fields, echoed) = SackFields::read(&bytes, 0, &near, tick).unwrap();
        prop_assert_eq!((fields.repr(), echoed), (repr, ev));
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..30), psn: u32, now: u64) {
        let _ = SackFields::read(&bytes, 0, &reference(psn, Time(now)), TICK);
    }
}
