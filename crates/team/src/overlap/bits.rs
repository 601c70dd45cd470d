//! Numbers that are the same on every machine: hashes of words, and logarithms in whole numbers.

/// A word as a number. Two words have the same one once in four thousand million pairs.
pub(super) type Hash = u32;

/// FNV-1a over a text and what it is used as, folded once.
pub(super) fn hash(used_as: char, text: &str) -> Hash {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut take = |byte: u8| hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    used_as.encode_utf8(&mut [0; 4]).bytes().chain(text.bytes()).for_each(&mut take);
    Hash::try_from((hash ^ (hash >> 32)) & u64::from(Hash::MAX)).unwrap_or(0)
}

/// The logarithm to base two, in parts of 256; of nothing it is nothing.
pub(super) fn log2(number: u64) -> u32 {
    let Some(whole) = number.checked_ilog2() else { return 0 };
    // The mantissa as a number from 2³¹ to 2³², squared once for every further digit.
    let mut mantissa = (number << (63 - whole)) >> 32;
    let mut digits = 0;
    for _ in 0..8 {
        mantissa = (mantissa * mantissa) >> 31;
        digits <<= 1;
        if mantissa >= 1 << 32 {
            mantissa >>= 1;
            digits |= 1;
        }
    }
    whole * 256 + digits
}

/// How common a term is, as a logarithm in parts of 256: what the team's texts say, and for a small team rather what is known
/// of texts in general, as if it had written [`PRIOR`] of these.
pub(super) fn commonness(prior: u8, with_it: usize) -> u16 {
    let with_it = u64::try_from(with_it).unwrap_or(MOST).min(MOST);
    u16::try_from(log2(with_it * SCALE + PRIOR * (SCALE >> prior.min(13)))).unwrap_or(u16::MAX)
}

/// How common a term would be that every text has.
pub(super) fn size(all: usize) -> u16 {
    commonness(0, all)
}

/// How rare a term is among texts of that size, in parts of 256 bits.
pub(super) fn rarity(size: u16, commonness: u16) -> u64 {
    // What is in every text still says a little.
    u64::from(size.saturating_sub(commonness).max(64))
}

/// The part of a text that is counted.
const SCALE: u64 = 1 << 13;

/// So many texts that their logarithm is no other than that of more.
const MOST: u64 = u64::MAX >> 20;

/// How many texts the table of words is worth.
const PRIOR: u64 = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_right_to_a_part_in_256() {
        for number in [1_u64, 2, 3, 10, 1000, 4097, 123_456_789, u64::MAX] {
            #[expect(clippy::cast_precision_loss, reason = "a test within a tolerance")]
            let expected = (number as f64).log2() * 256.0;
            assert!(
                (f64::from(log2(number)) - expected).abs() <= 1.5,
                "{number}: {} {expected}",
                log2(number)
            );
        }
        assert_eq!(log2(0), 0);
    }

    #[test]
    fn a_new_team_has_the_table_and_a_large_one_its_own_texts() {
        let rarity = |prior, with_it, all| rarity(size(all), commonness(prior, with_it));
        assert_eq!(rarity(12, 0, 0), 12 * 256);
        assert_eq!(rarity(2, 0, 0), 2 * 256);
        assert!(rarity(12, 5_000, 10_000) < 2 * 256);
        assert!(rarity(2, 0, 1_000_000) > 8 * 256);
        assert!(rarity(0, usize::MAX, usize::MAX) >= 64);
    }

    #[test]
    fn the_same_word_used_otherwise_is_another_number() {
        assert_ne!(hash('w', "retr"), hash('p', "retr"));
        assert_eq!(hash('w', "retry"), hash('w', "retry"));
    }
}
