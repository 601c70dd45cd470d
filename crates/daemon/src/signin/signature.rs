//! Public keys of others, and whether a signature is of one: of providers of identities, and of passkeys.

use ring::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm,
};

/// The lengths of an RSA modulus in bytes that are looked at: 2048 to 8192 bits.
const MODULUS: std::ops::RangeInclusive<usize> = 256..=1024;

/// The most bytes of an RSA exponent; others would be slow and are not used.
const EXPONENT: usize = 4;

/// A public key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PublicKey {
    /// RSA with PKCS #1 v1.5 and SHA-256: `RS256`.
    Rsa { modulus: Vec<u8>, exponent: Vec<u8> },
    /// ECDSA on P-256 with SHA-256: `ES256`. The point, uncompressed.
    P256(Vec<u8>),
    /// Ed25519: `EdDSA`.
    Ed25519(Vec<u8>),
}

/// How an ECDSA signature is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Two numbers of 32 bytes, as in tokens.
    Fixed,
    /// DER, as passkeys write it.
    Der,
}

impl PublicKey {
    /// An RSA key of a size that is looked at.
    pub(crate) fn rsa(modulus: Vec<u8>, exponent: Vec<u8>) -> Option<Self> {
        // Some write a zero before the number, which says that it is positive.
        let modulus = strip(modulus);
        let exponent = strip(exponent);
        let sound = MODULUS.contains(&modulus.len()) && (1..=EXPONENT).contains(&exponent.len());
        sound.then_some(Self::Rsa { modulus, exponent })
    }

    /// A point on P-256. Whether it is on the curve, the check of a signature finds out.
    pub(crate) fn p256(x: &[u8], y: &[u8]) -> Option<Self> {
        (x.len() == 32 && y.len() == 32).then(|| Self::P256([&[4], x, y].concat()))
    }

    /// A key of Ed25519.
    pub(crate) fn ed25519(x: &[u8]) -> Option<Self> {
        (x.len() == 32).then(|| Self::Ed25519(x.to_vec()))
    }

    /// Whether that is a signature of this key under that message.
    pub(crate) fn verifies(&self, form: Form, message: &[u8], signature: &[u8]) -> bool {
        let with = |algorithm: &'static dyn VerificationAlgorithm, key: &[u8]| {
            UnparsedPublicKey::new(algorithm, key).verify(message, signature).is_ok()
        };
        match (self, form) {
            (Self::Rsa { modulus, exponent }, _) => {
                let key = RsaPublicKeyComponents { n: modulus, e: exponent };
                key.verify(&RSA_PKCS1_2048_8192_SHA256, message, signature).is_ok()
            }
            (Self::P256(point), Form::Fixed) => with(&ECDSA_P256_SHA256_FIXED, point),
            (Self::P256(point), Form::Der) => with(&ECDSA_P256_SHA256_ASN1, point),
            (Self::Ed25519(key), _) => with(&ED25519, key),
        }
    }
}

fn strip(number: Vec<u8>) -> Vec<u8> {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    number.into_iter().skip(zeros).collect()
}

#[cfg(test)]
mod tests {
    use ring::rand::SystemRandom;
    use ring::signature::{
        ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair,
        KeyPair as _,
    };

    use super::*;

    #[test]
    fn a_signature_is_of_its_key_its_message_and_its_form() {
        let random = SystemRandom::new();
        for (form, signing) in
            [(Form::Fixed, &ECDSA_P256_SHA256_FIXED_SIGNING), (Form::Der, &ECDSA_P256_SHA256_ASN1_SIGNING)]
        {
            let make = || {
                let document = EcdsaKeyPair::generate_pkcs8(signing, &random).unwrap();
                EcdsaKeyPair::from_pkcs8(signing, document.as_ref(), &random).unwrap()
            };
            let (own, other) = (make(), make());
            let public = |pair: &EcdsaKeyPair| {
                let point = pair.public_key().as_ref();
                PublicKey::p256(&point[1..33], &point[33..]).unwrap()
            };
            let signature = own.sign(&random, b"said").unwrap();
            assert!(public(&own).verifies(form, b"said", signature.as_ref()));
            assert!(!public(&own).verifies(form, b"else", signature.as_ref()));
            assert!(!public(&other).verifies(form, b"said", signature.as_ref()));
            assert!(!public(&own).verifies(form, b"said", &[]));
            let another = if form == Form::Der { Form::Fixed } else { Form::Der };
            assert!(!public(&own).verifies(another, b"said", signature.as_ref()));
        }
        let document = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
        let own = Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap();
        let public = PublicKey::ed25519(own.public_key().as_ref()).unwrap();
        assert!(public.verifies(Form::Der, b"said", own.sign(b"said").as_ref()));
        assert!(!public.verifies(Form::Der, b"else", own.sign(b"said").as_ref()));
    }

    #[test]
    fn keys_of_other_sizes_are_none() {
        assert!(PublicKey::rsa(vec![1; 256], vec![1, 0, 1]).is_some());
        assert_eq!(
            PublicKey::rsa([vec![0], vec![1; 256]].concat(), vec![3]),
            PublicKey::rsa(vec![1; 256], vec![3])
        );
        for (modulus, exponent) in [(128, 3), (255, 3), (1025, 3), (256, 5), (256, 0), (0, 0)] {
            assert!(PublicKey::rsa(vec![1; modulus], vec![1; exponent]).is_none(), "{modulus} {exponent}");
        }
        assert!(PublicKey::p256(&[1; 31], &[1; 32]).is_none() && PublicKey::ed25519(&[1; 33]).is_none());
        let nowhere = PublicKey::p256(&[1; 32], &[1; 32]).unwrap();
        assert!(!nowhere.verifies(Form::Fixed, b"said", &[1; 64]), "not on the curve");
    }
}
