//! The division of a buffer into blocks.

/// A buffer that is divided into blocks. They differ by at most one byte, and the longer ones come first.
#[derive(Clone, Copy)]
pub(super) struct Blocks {
    first_byte: u64,
    bytes: u64,
    count: u32,
}

impl Blocks {
    /// A buffer of `bytes` bytes in `count` blocks, with `count` at least 1.
    pub fn of(bytes: u64, count: u32) -> Self {
        Blocks { first_byte: 0, bytes, count }
    }

    /// A range of a buffer in `count` blocks. `from` is its first byte, and `to` is the byte after its last one.
    pub fn within((from, to): (u64, u64), count: u32) -> Self {
        Blocks { first_byte: from, bytes: to - from, count }
    }

    pub fn count(self) -> u32 {
        self.count
    }

    /// The byte range of `count` blocks that start with block `first`.
    pub fn range(self, first: u32, count: u32) -> (u64, u64) {
        (self.start(first), self.start(first + count))
    }

    /// The two sizes of blocks, each with the number of blocks of this size.
    pub fn sizes(self) -> [(u64, u64); 2] {
        let (size, longer) = (self.bytes / u64::from(self.count), self.bytes % u64::from(self.count));
        [(size.saturating_add(1), longer), (size, u64::from(self.count) - longer)]
    }

    /// The number of chunks of at most `chunk` bytes in all blocks.
    pub fn chunks(self, chunk: u64) -> u64 {
        let [longer, shorter] =
            self.sizes().map(|(size, blocks)| blocks.saturating_mul(size.div_ceil(chunk)));
        longer.saturating_add(shorter)
    }

    fn start(self, block: u32) -> u64 {
        let (block, count) = (u64::from(block), u64::from(self.count));
        self.first_byte + block * (self.bytes / count) + block.min(self.bytes % count)
    }
}
