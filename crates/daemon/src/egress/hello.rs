//! Whether a program begins as TLS does: with a hello of a client, in a record of its own.

use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;

/// How many bytes tell: the record's header, the message's, and the version behind it.
const TELLING: usize = 11;

/// The most bytes of a record, and the fewest and most of a hello.
const RECORD: usize = 16 * 1024;
const SHORTEST: u32 = 41;
const LONGEST: u32 = 128 * 1024;

/// What the first bytes of a connection are.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Hello,
    Unclear,
    Other,
}

/// Everything that was read once it is clear that a hello begins it, `start` first; none where it is something else.
pub(super) async fn read(stream: &mut TcpStream, start: Vec<u8>) -> Option<Vec<u8>> {
    let mut bytes = start;
    loop {
        match judge(&bytes) {
            Verdict::Hello => return Some(bytes),
            Verdict::Other => return None,
            Verdict::Unclear => {}
        }
        if stream.read_buf(&mut bytes).await.unwrap_or(0) == 0 {
            return None;
        }
    }
}

fn judge(bytes: &[u8]) -> Verdict {
    match *bytes {
        [0x16, 3, 0..=4, high, low, 1, a, b, c, 3, 1..=4, ..] => {
            let record = usize::from(u16::from_be_bytes([high, low]));
            let hello = u32::from_be_bytes([0, a, b, c]);
            let sound = (TELLING - 5..=RECORD).contains(&record) && (SHORTEST..=LONGEST).contains(&hello);
            if sound { Verdict::Hello } else { Verdict::Other }
        }
        [] | [0x16] | [0x16, 3, ..] if bytes.len() < TELLING => Verdict::Unclear,
        _ => Verdict::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELLO: [u8; TELLING] = [0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3];

    #[test]
    fn a_hello_is_known_when_its_header_is_there() {
        for length in 0..TELLING {
            assert_eq!(judge(&HELLO[..length]), Verdict::Unclear, "{length} bytes");
        }
        assert_eq!(judge(&HELLO), Verdict::Hello);
        assert_eq!(judge(&[&HELLO[..], b"anything"].concat()), Verdict::Hello);
    }

    #[test]
    fn other_protocols_are_known_by_their_first_bytes() {
        for other in [
            &b"G"[..],
            b"GET / HTTP/1.1\r\n",
            b"SSH-2.0-x\r\n",
            b"PRI * HTTP/2.0",
            b"\x80\x2e\x01",
            b"\x17\x03",
            b"\x16\x02",
        ] {
            assert_eq!(judge(other), Verdict::Other, "{other:?}");
        }
    }

    #[test]
    fn a_hello_that_cannot_be_one_is_none() {
        for (place, byte) in [(2, 9), (3, 0x7f), (5, 2), (6, 0xff), (9, 2), (10, 0)] {
            let mut bytes = HELLO;
            bytes[place] = byte;
            assert_eq!(judge(&bytes), Verdict::Other, "byte {place} is {byte}");
        }
        let mut short = HELLO;
        (short[3], short[4]) = (0, 5);
        assert_eq!(judge(&short), Verdict::Other, "a record that ends before it tells");
        let mut empty = HELLO;
        (empty[7], empty[8]) = (0, 40);
        assert_eq!(judge(&empty), Verdict::Other, "a hello without a cipher");
    }
}
