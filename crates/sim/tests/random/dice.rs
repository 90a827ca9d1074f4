//! Draws of a case, from its seed alone.

/// SplitMix64. Not the streams of the simulator, which are what is tested.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        // Mixed once, or the draws of a seed would be those of the one before, a place further on.
        Dice(Dice(seed).next())
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From `least` to `most`, both included.
    pub fn within(&mut self, least: u64, most: u64) -> u64 {
        least + self.next() % (most - least + 1)
    }

    /// The same with every order of magnitude as likely as the next.
    pub fn scaled(&mut self, least: u64, most: u64) -> u64 {
        let bits = self.within(u64::from(least.max(1).ilog2()), u64::from(most.ilog2()));
        self.within(1 << bits, (2 << bits) - 1).clamp(least, most)
    }

    /// With a chance of `percent` in a hundred.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.next() % 100 < percent
    }

    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[(self.next() % of.len() as u64) as usize]
    }

    /// Two hosts of `hosts`, not the same.
    pub fn pair(&mut self, hosts: u32) -> (u32, u32) {
        let from = self.within(0, u64::from(hosts) - 1) as u32;
        let to = (from + self.within(1, u64::from(hosts) - 1) as u32) % hosts;
        (from, to)
    }
}
