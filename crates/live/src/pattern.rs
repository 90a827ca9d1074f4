//! The contents of messages: bytes that follow from the number of the message, so that every process knows them.

use anabranch_base::MessageId;

/// The eight bytes of `message` from byte `8 * index` on (SplitMix64).
fn word(message: MessageId, index: u64) -> [u8; 8] {
    let mut bits = (u64::from(message.0) << 40 ^ index).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (bits ^ bits >> 31).to_le_bytes()
}

/// Fills `out` with the bytes of `message` from `offset` on.
pub fn fill(message: MessageId, offset: u64, out: &mut [u8]) {
    let skipped = (offset % 8) as usize;
    let (head, rest) = out.split_at_mut(out.len().min((8 - skipped) % 8));
    head.copy_from_slice(&word(message, offset / 8)[skipped..skipped + head.len()]);
    for (index, part) in (offset.div_ceil(8)..).zip(rest.chunks_mut(8)) {
        part.copy_from_slice(&word(message, index)[..part.len()]);
    }
}

/// The hash of the first `bytes` bytes of `message`.
pub fn hash(message: MessageId, bytes: u64) -> blake3::Hash {
    let (mut hasher, mut buffer) = (blake3::Hasher::new(), [0; 1 << 14]);
    let mut offset = 0;
    while offset < bytes {
        let part = &mut buffer[..(bytes - offset).min(1 << 14) as usize];
        fill(message, offset, part);
        hasher.update(part);
        offset += part.len() as u64;
    }
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_part_of_a_message_is_that_of_the_whole() {
        let mut whole = [0; 100];
        fill(MessageId(7), 0, &mut whole);
        for from in 0..30 {
            for length in 0..40 {
                let mut part = vec![0; length];
                fill(MessageId(7), from as u64, &mut part);
                assert_eq!(part, whole[from..from + length], "{from} {length}");
            }
        }
        assert_eq!(hash(MessageId(7), 100), blake3::hash(&whole));
    }
}
