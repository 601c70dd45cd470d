//! Bytes as lower-case hexadecimal and back. Upper case is not read: one value has one text.

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// The digit of a value under 16.
fn digit(value: u8) -> u8 {
    DIGITS.get(usize::from(value & 15)).copied().unwrap_or(b'0')
}

/// The 64 characters of a 32-byte value.
pub(super) fn of_32(bytes: &[u8; 32]) -> [u8; 64] {
    let mut text = [0; 64];
    for (pair, byte) in text.chunks_exact_mut(2).zip(bytes) {
        pair.copy_from_slice(&[digit(byte >> 4), digit(*byte)]);
    }
    text
}

/// Any bytes as text.
pub(super) fn text(bytes: &[u8]) -> String {
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(*byte)]).map(char::from).collect()
}

/// The value of one digit.
fn value(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

/// Whether every byte is a digit.
pub(super) fn is_hex(text: &[u8]) -> bool {
    text.iter().all(|byte| value(*byte).is_some())
}

/// The bytes of a text of exactly twice their number.
pub(super) fn read<const N: usize>(text: &str) -> Option<[u8; N]> {
    if text.len() != N * 2 {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        let [high, low] = pair else { return None };
        *byte = (value(*high)? << 4) | value(*low)?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_survive_their_text_and_upper_case_is_refused() {
        let bytes: [u8; 32] = std::array::from_fn(|at| u8::try_from(at * 8).unwrap());
        let written = text(&bytes);
        assert_eq!(of_32(&bytes), written.as_bytes());
        assert_eq!(read::<32>(&written), Some(bytes));
        assert_eq!(read::<32>(&written.to_uppercase()), None);
        assert_eq!(read::<31>(&written), None);
    }
}
