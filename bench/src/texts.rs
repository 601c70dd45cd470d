//! Texts of work that nobody wrote, alike as those of a team are; the same in every run.

use covenant_team::work::Brief;

const LETTERS: [&str; 16] =
    ["ba", "co", "di", "fu", "ge", "ha", "lo", "mi", "nu", "pe", "ra", "so", "ti", "vu", "we", "za"];

/// A small generator of numbers that look random.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// Dice that fall the same way for the same number.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below that.
    pub fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 20).unwrap_or(0) % sides.max(1)
    }

    /// A word of a vocabulary in which some are in every text and most in a few: the product of two rolls is small more often.
    fn word(&mut self) -> String {
        let mut rest = self.roll(200) * self.roll(200) / 2 + 16;
        let mut word = String::new();
        while rest > 0 {
            word.push_str(LETTERS.get(rest % 16).copied().unwrap_or("x"));
            rest /= 16;
        }
        word
    }

    /// So many words.
    pub fn words(&mut self, count: usize) -> String {
        (0..count).map(|_| self.word()).collect::<Vec<_>>().join(" ")
    }

    /// Work as agents write it: a title of eight words, a name, a version, and sixty words beside it.
    pub fn brief(&mut self) -> Brief {
        let (name, number) = (self.roll(20_000), self.roll(90));
        Brief {
            title: format!("{} handleThing{name} to {number}.{}", self.words(8), self.roll(9)),
            description: format!("{} in src/part{}/file{}.rs", self.words(60), self.roll(40), self.roll(500)),
            target_files: vec![format!("src/file{name}.rs")],
            ..Brief::default()
        }
    }
}
