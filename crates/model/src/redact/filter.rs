//! Tells quickly that no form of a secret begins in a stretch of text.
//!
//! Almost every text is clean, so this is what the time goes into: windows of [`GRAM`] bytes are hashed into a bitmap
//! that knows windows of all forms. If the shortest form has `n` bytes, one window in `n - GRAM + 1` is enough, for
//! each form is known by that many.

use super::forms::{CASE, Form};

/// The bytes of a window; no form is shorter.
const GRAM: usize = crate::secret::SHORTEST;

/// The most windows of one form the filter knows.
const STRIDE: usize = 12;

/// The words of the filter: 2 million bits, so that the windows of some hundred secrets leave it almost empty.
const WORDS: usize = 1 << 15;

/// How many windows are looked at before the first decision.
const BLOCK: usize = 8;

/// Spreads a window over all bits; odd, so that no two windows become one.
pub(super) const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

/// [`CASE`] of eight bytes.
pub(super) const CASES: u64 = u64::from_le_bytes([CASE; 8]);

/// Which windows may be part of a form.
pub(super) struct Filter {
    bits: Box<[u64]>,
    /// How far apart windows are looked at.
    pub(super) stride: usize,
}

impl Filter {
    pub(super) fn new(forms: &[(Form, usize)]) -> Self {
        let shortest = forms.iter().map(|(form, _)| form.bytes.len()).min().unwrap_or(GRAM);
        let stride = (shortest + 1).saturating_sub(GRAM).clamp(1, STRIDE);
        let mut filter = Self { bits: vec![0; WORDS].into_boxed_slice(), stride };
        for (form, _) in forms {
            for gram in form.bytes.windows(GRAM).take(stride).filter_map(gram) {
                let (word, bit) = place(gram);
                if let Some(word) = filter.bits.get_mut(word) {
                    *word |= 1 << bit;
                }
            }
        }
        filter
    }

    /// How many bytes at the start of `rest` surely begin no form; 0 if the next `stride` bytes must be compared.
    #[inline]
    pub(super) fn quiet(&self, rest: &[u8]) -> usize {
        let sampled = rest.get(self.stride - 1..).unwrap_or_default();
        let Some(bits) = self.bits.first_chunk() else { return 0 };
        let held = |held: u64, window: &[u8; 8]| held | holds(bits, *window);
        // Several windows, one decision. A stride of 1 apart, for which the compiler then makes better code.
        let held = sampled.get(..self.stride * (BLOCK - 1) + 8).map(|block| match self.stride {
            1 => block.array_windows().fold(0, held),
            stride => block.array_windows().step_by(stride).fold(0, held),
        });
        match (held, sampled.first_chunk()) {
            (Some(0), _) => self.stride * BLOCK,
            (_, Some(first)) if holds(bits, *first) == 0 => self.stride,
            _ => 0,
        }
    }

    pub(super) fn memory(&self) -> usize {
        size_of_val(&*self.bits)
    }
}

/// The word and the bit of a window in the filter.
#[inline]
fn place(gram: u64) -> (usize, u64) {
    const BITS: u32 = WORDS.ilog2();
    let hash = gram.wrapping_mul(SPREAD);
    (usize::try_from(hash >> (64 - BITS)).unwrap_or_default(), hash >> (64 - BITS - 6) & 63)
}

/// Not 0 if the window may be part of a form. An array of known size needs no check of the index.
#[inline]
fn holds(bits: &[u64; WORDS], window: [u8; 8]) -> u64 {
    let (word, bit) = place(fold(window));
    bits.get(word).map_or(0, |word| word >> bit & 1)
}

/// The first window of some bytes, case ignored.
pub(super) fn gram(bytes: &[u8]) -> Option<u64> {
    let mut window = [0; 8];
    let first = bytes.first_chunk::<GRAM>()?;
    for (to, from) in window.iter_mut().zip(first) {
        *to = *from;
    }
    Some(fold(window))
}

fn fold(window: [u8; 8]) -> u64 {
    const KEPT: u64 = (1 << (GRAM * 8)) - 1;
    (u64::from_le_bytes(window) | CASES) & KEPT
}
