//! Bytes in base58, as ed25519 keys are written: no 0, O, I or l, which people misread.

const ALPHABET: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/// Those bytes as text.
pub(super) fn text(bytes: &[u8]) -> String {
    let mut digits: Vec<u8> = Vec::new();
    for byte in bytes {
        let mut carry = u32::from(*byte);
        for digit in &mut digits {
            carry += u32::from(*digit) << 8;
            *digit = u8::try_from(carry % 58).unwrap_or_default();
            carry /= 58;
        }
        while carry > 0 {
            digits.push(u8::try_from(carry % 58).unwrap_or_default());
            carry /= 58;
        }
    }
    let zeros = bytes.iter().take_while(|byte| **byte == 0).map(|_| 0);
    let letter = |digit: u8| ALPHABET.get(usize::from(digit)).copied().map_or('1', char::from);
    zeros.chain(digits.into_iter().rev()).map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn known_texts_are_written_as_everyone_writes_them() {
        for (bytes, expected) in [
            (&b""[..], ""),
            (b"\0", "1"),
            (b"Hello World!", "2NEpo7TZRRrLZSi2U"),
            (
                b"The quick brown fox jumps over the lazy dog.",
                "USm3fpXnKG5EUBx2ndxBDMPVciP5hGey2Jh4NDv6gmeo1LkMeiKrLJUUBk6Z",
            ),
            (b"\0\0\x28\x7f\xb4\xcd", "11233QC4"),
        ] {
            assert_eq!(text(bytes), expected);
        }
    }
}
