//! Pseudo-random numbers for generators.

/// Pseudo-random numbers, the same in every run (splitmix64).
pub struct Random(pub u64);

impl Random {
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        number ^ (number >> 31)
    }
    /// A number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.draw() >> 16).expect("64 bits") % limit.max(1)
    }
    /// True once in `times`.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
    /// One of them.
    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
    /// A word of one letter or more.
    pub fn letters(&mut self, alphabet: &str, most: usize) -> String {
        let alphabet: Vec<char> = alphabet.chars().collect();
        (0..=self.below(most)).map(|_| self.pick(&alphabet)).collect()
    }
}
