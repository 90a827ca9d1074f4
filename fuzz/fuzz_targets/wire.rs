//! Pause frames, and frames of all formats with a BTH except MRC's. Random bytes give a packet, or an error with the
//! error's place. If the headers can carry the offset of a payload, the packet is equal after encoding and decoding. If
//! this packet is data, it can be trimmed.
#![no_main]

use anabranch_base::{Duration, HostId, Time};
use anabranch_proto::Repr;
use anabranch_proto::transport::{Headers, PayloadRange};
use anabranch_wire::{
    ETHERNET_BYTES, Entropy, Format, ICRC_BYTES, Memory, Payload, PauseFrame, Reference, RoceFrame, TRIMMED_CLASS,
    decode, encode, icrc, trim,
};
use libfuzzer_sys::fuzz_target;

const ALL_HEADERS: [Headers; 6] =
    [Headers::InOrder, Headers::Direct, Headers::Extended, Headers::Irn, Headers::Strack, Headers::Dcp];
const TICKS: [Duration; 3] = [Duration::from_ns(1), Duration::from_ns(64), Duration::from_us(1)];

fuzz_target!(|bytes: &[u8]| {
    if let Ok(pause) = PauseFrame::decode(bytes) {
        let mut again = Vec::new();
        pause.encode(&mut again);
        assert_eq!(PauseFrame::decode(&again), Ok(pause));
    }
    let Some((&[kind, psn, now], frame)) = bytes.split_first_chunk() else { return };
    let format = Format {
        headers: ALL_HEADERS[usize::from(kind) % ALL_HEADERS.len()],
        entropy: if kind & 0x80 == 0 { Entropy::DynamicPort } else { Entropy::Port },
        tick: TICKS[usize::from(kind >> 4) % TICKS.len()],
    };
    let reference = Reference {
        dst: HostId(7),
        at_receiver: kind & 0x40 == 0,
        psn: u32::from(psn) << 24 | 0x80_0000,
        now: Time(u64::from(now) << 48),
    };
    check(&format, &reference, frame);
    if let Some(frame) = with_valid_checksums(&format, frame) {
        check(&format, &reference, &frame);
    }
});

fn check(format: &Format, reference: &Reference, bytes: &[u8]) {
    if let Ok(frame) = RoceFrame::decode(bytes, format.entropy) {
        let _ = frame.content();
    }
    let read = match decode(format, reference, bytes) {
        Ok(read) => read,
        Err(error) => {
            assert!(error.at <= bytes.len() && !error.to_string().is_empty(), "{error}");
            return;
        }
    };
    let is_data = matches!(read.packet.repr, Repr::Data { .. });
    assert!(read.payload.is_empty() || is_data);
    // Headers of RoCEv2 alone do not contain the offset of a payload in its message.
    if matches!(format.headers, Headers::InOrder | Headers::Direct) {
        return;
    }
    let offset = u64::from(read.offset.unwrap_or(0));
    let length = read.payload.len() as u64;
    let range = PayloadRange {
        offset,
        bytes: length as u16,
        message_bytes: offset + length,
        request_bytes: length,
        ..PayloadRange::default()
    };
    let payload = Payload { range, memory: Memory::default(), bytes: read.payload };
    let mut again = Vec::new();
    encode(format, &read.route, &read.packet, &payload, &mut again).expect("what was read fits its fields");
    let same = decode(format, reference, &again).expect("what was written is a packet");
    let wire_bytes = same.packet.wire_bytes;
    assert_eq!(same.packet, anabranch_proto::Packet { wire_bytes, ..read.packet });
    assert_eq!((same.payload, same.route), (read.payload, read.route));
    let trimmed = trim(format, &mut again);
    assert_eq!(trimmed.is_ok(), is_data);
    if is_data {
        let left = decode(format, reference, &again).expect("a trimmed packet");
        assert!(!matches!(left.packet.repr, Repr::Data { .. }) && left.payload.is_empty());
    }
}

/// The frame with a correct IPv4 length and checksum, and with a correct ICRC if it is not trimmed. Random bytes
/// rarely have correct values.
fn with_valid_checksums(format: &Format, bytes: &[u8]) -> Option<Vec<u8>> {
    const IP: usize = ETHERNET_BYTES;
    if bytes.len() < IP + 20 + 8 + 12 + ICRC_BYTES || bytes[IP] != 0x45 {
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
    let dscp = valid[IP + 1] >> 2;
    let is_cut = if format.headers == Headers::Dcp { dscp & 0b11 == 0b11 } else { dscp == TRIMMED_CLASS };
    if !is_cut {
        let at = valid.len() - ICRC_BYTES;
        let crc = icrc(&valid[IP..at]);
        valid[at..].copy_from_slice(&crc.to_le_bytes());
    }
    Some(valid)
}
