//! Random draws for a case, which depend only on its seed.

/// The SplitMix64 generator. The random streams of the simulator are not used, because they are under test.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        // The seed is mixed once, so that consecutive seeds begin with unrelated states.
        Dice(Dice(seed).next())
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from `least` to `most`, inclusive.
    pub fn within(&mut self, least: u64, most: u64) -> u64 {
        least + self.next() % (most - least + 1)
    }

    /// A number from `least` to `most`, inclusive. All lengths in bits are equally likely.
    pub fn scaled(&mut self, least: u64, most: u64) -> u64 {
        let bits = self.within(u64::from(least.max(1).ilog2()), u64::from(most.ilog2()));
        self.within(1 << bits, (2 << bits) - 1).clamp(least, most)
    }

    pub fn chance(&mut self, percent: u64) -> bool {
        self.next() % 100 < percent
    }

    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[(self.next() % of.len() as u64) as usize]
    }

    /// Two different hosts out of `hosts`.
    pub fn pair(&mut self, hosts: u32) -> (u32, u32) {
        let from = self.within(0, u64::from(hosts) - 1) as u32;
        let to = (from + self.within(1, u64::from(hosts) - 1) as u32) % hosts;
        (from, to)
    }
}
