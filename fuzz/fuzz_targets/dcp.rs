//! Data packets of DCP: a valid packet is equal after encoding and decoding, and can be trimmed and returned.
#![no_main]

use anabranch_wire::dcp::{HEADER_ONLY_BYTES, decode_data, encode_data, trim, turn_round};
use anabranch_wire::{Addresses, ETHERNET_BYTES, Entropy, ICRC_BYTES, RoceFrame, icrc};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    check(bytes);
    if let Some(bytes) = with_valid_checksums(bytes) {
        check(&bytes);
    }
});

fn check(bytes: &[u8]) {
    let Ok(frame) = RoceFrame::decode(bytes, Entropy::Port) else { return };
    let Ok((headers, _, payload)) = decode_data(&frame) else { return };
    let bth = headers.bth(42, frame.bth.qpn, frame.bth.psn, frame.bth.ack_request).expect("its opcode is known");
    let mut again = Vec::new();
    encode_data(frame.link, Entropy::Port, bth, &headers, payload, &mut again).expect("what was read fits its fields");
    let same = RoceFrame::decode(&again, Entropy::Port).expect("what was written is a frame");
    let (found, extension, bytes) = decode_data(&same).expect("what was written is data");
    assert!(extension.is_empty());
    assert_eq!((found, bytes, same.link), (headers, payload, frame.link));
    trim(&mut again).expect("it is data");
    if matches!(frame.link.route.ip, Addresses::V4 { .. }) {
        assert_eq!(again.len(), HEADER_ONLY_BYTES);
    }
    turn_round(&mut again, 7).expect("it is a header-only packet");
    let back = RoceFrame::decode(&again, Entropy::Port).expect("a header-only packet");
    assert_eq!((back.bth.qpn, back.bth.psn, back.link.route.to_mac), (7, frame.bth.psn, frame.link.route.from_mac));
}

/// The frame with a correct IPv4 length, checksum and ICRC, which random bytes rarely have.
fn with_valid_checksums(bytes: &[u8]) -> Option<Vec<u8>> {
    const IP: usize = ETHERNET_BYTES;
    if bytes.len() < HEADER_ONLY_BYTES + ICRC_BYTES {
        return None;
    }
    let mut valid = bytes.to_vec();
    valid[IP + 2..IP + 4].copy_from_slice(&u16::try_from(bytes.len() - IP).ok()?.to_be_bytes());
    valid[IP + 10..IP + 12].fill(0);
    let words = valid[IP..IP + 20].chunks_exact(2);
    let sum: u32 = words.map(|word| u32::from(word[0]) << 8 | u32::from(word[1])).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    let checksum = !((folded & 0xffff) + (folded >> 16)) as u16;
    valid[IP + 10..IP + 12].copy_from_slice(&checksum.to_be_bytes());
    let at = valid.len() - ICRC_BYTES;
    let crc = icrc(&valid[IP..at]);
    valid[at..].copy_from_slice(&crc.to_le_bytes());
    Some(valid)
}
