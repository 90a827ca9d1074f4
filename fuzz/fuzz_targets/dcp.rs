//! Packets of DCP: a valid packet is equal after encoding and decoding, and can be trimmed and returned.
#![no_main]

use anabranch_proto::wire::dcp::{Frame, HEADER_ONLY_BYTES, decode, trim, turn_round};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    check(bytes);
    if let Some(bytes) = with_valid_ip_header(bytes) {
        check(&bytes);
    }
});

fn check(bytes: &[u8]) {
    let frame = decode(bytes);
    if let Ok(frame) = frame {
        let again = frame.encode().expect("what was read fits its fields");
        assert_eq!(decode(&again), Ok(frame));
    }
    if let (Ok(Frame::Data(data, _)), Ok(mut left)) = (frame, trim(bytes)) {
        let route = data.route;
        assert_eq!(decode(&left), Ok(Frame::HeaderOnly { route, psn: data.psn, msn: data.msn }));
        turn_round(&mut left, 7).expect("it is a header-only packet");
        let Ok(Frame::HeaderOnly { route: back, psn, msn }) = decode(&left) else { panic!("{left:?}") };
        assert_eq!((back.from, back.to, back.qpn, psn, msn), (route.to, route.from, 7, data.psn, data.msn));
    }
}

/// The packet with a correct IP length and checksum, which random bytes hardly have.
fn with_valid_ip_header(bytes: &[u8]) -> Option<Vec<u8>> {
    const IP: usize = 14;
    if bytes.len() < HEADER_ONLY_BYTES {
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
    Some(valid)
}
