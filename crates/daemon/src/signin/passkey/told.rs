//! What a device tells with a passkey: the bytes it has signed, taken apart, and the key in them.

use super::super::signature::PublicKey;
use super::cbor::{Reader, Unreadable, Value};

/// How long the part is that is always there.
const FIXED: usize = 37;

/// The most bytes of a credential's id, as the specification has it.
const LONGEST_ID: usize = 1023;

/// Somebody touched the device.
const PRESENT: u8 = 1;
/// Somebody has shown to the device who they are: by a finger, a face or a number.
const VERIFIED: u8 = 1 << 2;
/// A new key comes along.
const ATTESTED: u8 = 1 << 6;
/// Extensions come along.
const EXTENDED: u8 = 1 << 7;

/// What COSE calls the parts of a key, its kinds, algorithms and curves.
mod cose {
    pub(super) const KIND: i64 = 1;
    pub(super) const ALGORITHM: i64 = 3;
    pub(super) const OKP: i64 = 1;
    pub(super) const EC2: i64 = 2;
    pub(super) const RSA: i64 = 3;
    pub(super) const P256: i64 = 1;
    pub(super) const ED25519: i64 = 6;
    pub(super) const ES256: i64 = -7;
    pub(super) const EDDSA: i64 = -8;
    pub(super) const RS256: i64 = -257;
}

/// What was signed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Told<'a> {
    /// For whom the key is, as a hash.
    pub(super) rp_id_hash: &'a [u8],
    flags: u8,
    /// How often it was used.
    pub(super) counter: u32,
    /// A new key: its id, and the key as COSE writes it.
    pub(super) new: Option<(&'a [u8], &'a [u8])>,
}

impl<'a> Told<'a> {
    /// Takes those bytes apart; nothing may be left over.
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, Unreadable> {
        let (fixed, rest) = bytes.split_at_checked(FIXED).ok_or(Unreadable::Cut)?;
        let (rp_id_hash, fixed) = fixed.split_at_checked(32).ok_or(Unreadable::Cut)?;
        let (flags, counter) = fixed.split_first().ok_or(Unreadable::Cut)?;
        let counter = counter.try_into().map(u32::from_be_bytes).map_err(|_| Unreadable::Cut)?;
        let (new, rest) = if flags & ATTESTED == 0 { (None, rest) } else { new(rest)? };
        let mut rest = Reader::new(rest);
        if flags & EXTENDED != 0 {
            rest.skip()?;
        }
        if !rest.rest().is_empty() {
            return Err(Unreadable::Foreign);
        }
        Ok(Self { rp_id_hash, flags: *flags, counter, new })
    }

    pub(super) fn is_present(&self) -> bool {
        self.flags & PRESENT != 0
    }

    pub(super) fn is_verified(&self) -> bool {
        self.flags & VERIFIED != 0
    }
}

type New<'a> = (Option<(&'a [u8], &'a [u8])>, &'a [u8]);

/// A new key, and what comes behind it.
fn new(bytes: &[u8]) -> Result<New<'_>, Unreadable> {
    // Which make the device is of is not looked at.
    let (_, rest) = bytes.split_at_checked(16).ok_or(Unreadable::Cut)?;
    let (length, rest) = rest.split_at_checked(2).ok_or(Unreadable::Cut)?;
    let length = length.iter().fold(0, |number, byte| number << 8 | usize::from(*byte));
    if !(1..=LONGEST_ID).contains(&length) {
        return Err(Unreadable::Foreign);
    }
    let (id, rest) = rest.split_at_checked(length).ok_or(Unreadable::Cut)?;
    let mut reader = Reader::new(rest);
    reader.skip()?;
    let behind = reader.rest();
    let (key, _) = rest.split_at_checked(rest.len() - behind.len()).ok_or(Unreadable::Cut)?;
    Ok((Some((id, key)), behind))
}

/// The bytes that were signed, in what a device says of a new key. Who made the device is not asked, so whatever it says of that
/// is passed over.
pub(super) fn attested(object: &[u8]) -> Result<&[u8], Unreadable> {
    let mut reader = Reader::new(object);
    let mut found = None;
    for _ in 0..reader.map()? {
        match (reader.next()?, &found) {
            (Value::Text("authData"), None) => match reader.next()? {
                Value::Bytes(bytes) => found = Some(bytes),
                _ => return Err(Unreadable::Foreign),
            },
            (Value::Text("fmt" | "attStmt"), _) => reader.skip()?,
            _ => return Err(Unreadable::Foreign),
        }
    }
    if !reader.rest().is_empty() {
        return Err(Unreadable::Foreign);
    }
    found.ok_or(Unreadable::Foreign)
}

/// The public key that COSE writes so, if it is of a kind that is taken.
pub(super) fn public_key(key: &[u8]) -> Option<PublicKey> {
    let mut reader = Reader::new(key);
    let (mut kind, mut algorithm, mut curve) = (None, None, None);
    // RSA has its modulus and exponent where curves have their name and the point.
    let (mut modulus, mut second, mut third) = (None, None, None);
    for _ in 0..reader.map().ok()? {
        match (reader.next().ok()?, reader.next().ok()?) {
            (Value::Int(cose::KIND), Value::Int(number)) => kind = Some(number),
            (Value::Int(cose::ALGORITHM), Value::Int(number)) => algorithm = Some(number),
            (Value::Int(-1), Value::Int(number)) => curve = Some(number),
            (Value::Int(-1), Value::Bytes(bytes)) => modulus = Some(bytes),
            (Value::Int(-2), Value::Bytes(bytes)) => second = Some(bytes),
            (Value::Int(-3), Value::Bytes(bytes)) => third = Some(bytes),
            _ => return None,
        }
    }
    match (kind?, algorithm?, curve) {
        (cose::EC2, cose::ES256, Some(cose::P256)) => PublicKey::p256(second?, third?),
        (cose::OKP, cose::EDDSA, Some(cose::ED25519)) => PublicKey::ed25519(second?),
        (cose::RSA, cose::RS256, None) => PublicKey::rsa(modulus?.to_vec(), second?.to_vec()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(content: &[u8]) -> Vec<u8> {
        let length = u16::try_from(content.len()).unwrap().to_be_bytes();
        [&[0x59][..], &length, content].concat()
    }

    #[test]
    fn keys_of_three_kinds_are_taken_as_cose_writes_them() {
        let (x, y, modulus) = ([1; 32], [2; 32], [3; 256]);
        let p256 = [&[0xa5, 1, 2, 3, 0x26, 0x20, 1, 0x21][..], &run(&x), &[0x22], &run(&y)].concat();
        assert_eq!(public_key(&p256), PublicKey::p256(&x, &y));
        let ed25519 = [&[0xa4, 1, 1, 3, 0x27, 0x20, 6, 0x21][..], &run(&x)].concat();
        assert_eq!(public_key(&ed25519), PublicKey::ed25519(&x));
        let rsa = [&[0xa4, 1, 3, 3, 0x39, 1, 0, 0x20][..], &run(&modulus), &[0x21, 0x43, 1, 0, 1]].concat();
        assert_eq!(public_key(&rsa), PublicKey::rsa(modulus.to_vec(), vec![1, 0, 1]));
        for key in [&p256, &ed25519, &rsa] {
            assert!(public_key(key).is_some());
            for length in 0..key.len() {
                assert_eq!(public_key(&key[..length]), None, "{length}");
            }
        }
        for (at, other) in [(2, 1), (4, 0x27), (6, 2)] {
            let mut odd = p256.clone();
            odd[at] = other;
            assert_eq!(public_key(&odd), None, "of another kind, algorithm or curve");
        }
    }
}
