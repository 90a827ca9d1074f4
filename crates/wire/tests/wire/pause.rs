//! Tests of the pause frames of 802.1Qbb.

use anabranch_wire::{Fault, PauseFrame, WireError};
use proptest::prelude::*;

const PORT: [u8; 6] = [6, 0, 1, 2, 3, 4];

fn bytes_of(frame: &PauseFrame) -> Vec<u8> {
    let mut bytes = vec![9; 80];
    frame.encode(&mut bytes);
    bytes
}

#[test]
fn the_bytes_of_a_pause() {
    let frame = PauseFrame::of_priority(PORT, 3, 0xabcd);
    let mut expected = vec![0x01, 0x80, 0xc2, 0, 0, 1, 6, 0, 1, 2, 3, 4, 0x88, 0x08, 0x01, 0x01, 0, 0b1000];
    expected.extend([0, 0, 0, 0, 0, 0, 0xab, 0xcd, 0, 0, 0, 0, 0, 0, 0, 0]);
    expected.resize(60, 0);
    assert_eq!(bytes_of(&frame), expected);
    assert_eq!(PauseFrame::decode(&expected), Ok(frame));
    assert_eq!(PauseFrame::decode(&expected[..34]), Ok(frame), "without what fills it up");
}

#[test]
fn what_is_no_pause() {
    let bytes = bytes_of(&PauseFrame::of_priority(PORT, 3, 1));
    let with = |at: usize, byte: u8| {
        let mut bytes = bytes.clone();
        bytes[at] = byte;
        PauseFrame::decode(&bytes).map_err(|error| (error.field, error.at)).unwrap_err()
    };
    assert_eq!(with(0, 2), ("destination", 0));
    assert_eq!(with(13, 0), ("EtherType", 12));
    assert_eq!(with(15, 2), ("opcode", 14));
    assert_eq!(with(16, 1), ("priorities", 16));
    let fault = Fault::Short { have: 1, need: 2 };
    assert_eq!(PauseFrame::decode(&bytes[..33]), Err(WireError { field: "time", at: 32, fault }));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn round_trip(from_mac: [u8; 6], quanta: [Option<u16>; 8]) {
        let frame = PauseFrame { from_mac, quanta };
        prop_assert_eq!(PauseFrame::decode(&bytes_of(&frame)), Ok(frame));
    }
}
