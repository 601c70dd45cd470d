//! Files that make a certificate, and files that do not: each with its sentence.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use rcgen::{CertifiedKey, KeyPair, generate_simple_self_signed};

use super::*;

/// A home, and what stands in its two files.
struct Desk {
    dir: tempfile::TempDir,
}

impl Desk {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn put(&self, certificate: &str, key: &str) -> &Self {
        for (name, text, mode) in [("c.pem", certificate, 0o644), ("k.pem", key, 0o600)] {
            let path = self.dir.path().join(name);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        }
        self
    }

    fn load(&self) -> Result<Certificate, String> {
        let home = Home::at(self.dir.path()).unwrap();
        let http = Http { tls_cert: "c.pem".to_owned(), tls_key: "k.pem".to_owned(), ..Http::default() };
        let loaded = Certificate::load(&home, &http).map_err(|error| error.to_string())?;
        Ok(loaded.expect("both files are named"))
    }

    #[track_caller]
    fn refuses(&self, parts: &[&str]) {
        let refused = self.load().err().expect("it is refused");
        for part in parts {
            assert!(refused.contains(part), "`{part}` is not in: {refused}");
        }
    }
}

fn pair() -> (String, String) {
    let CertifiedKey { cert, key_pair } = generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    (cert.pem(), key_pair.serialize_pem())
}

#[test]
fn a_certificate_with_its_key_is_taken_and_a_renewed_one_is_another() {
    let desk = Desk::new();
    let ((certificate, key), other) = (pair(), pair());
    let first = desk.put(&certificate, &key).load().unwrap();
    assert_eq!(first.config.alpn_protocols, [b"http/1.1".to_vec()]);
    assert!(first == desk.load().unwrap());
    let tls = super::super::Tls::new(first);
    let second = desk.put(&other.0, &other.1).load().unwrap();
    assert!(tls.differs(&second));
    let shown = tls.config();
    tls.renew(second);
    assert!(!Arc::ptr_eq(&shown, &tls.config()));
    assert!(!tls.differs(&desk.load().unwrap()));
}

#[test]
fn without_files_there_is_no_tls() {
    let home = Home::at(Desk::new().dir.path()).unwrap();
    assert!(Certificate::load(&home, &Http::default()).unwrap().is_none());
}

#[test]
fn a_chain_is_kept_whole_and_words_around_it_do_not_matter() {
    let desk = Desk::new();
    let ((leaf, key), (between, _)) = (pair(), pair());
    let loaded =
        desk.put(&format!("made today\n{leaf}\n{between}"), &format!("my key\n{key}")).load().unwrap();
    assert_eq!(loaded.chain.len(), 2);
}

#[test]
fn a_key_in_the_older_form_for_curves_is_taken() {
    use rustls::pki_types::PrivatePkcs8KeyDer;
    let key = KeyPair::generate().unwrap();
    let certificate =
        rcgen::CertificateParams::new(["localhost".to_owned()]).unwrap().self_signed(&key).unwrap();
    let der = PrivatePkcs8KeyDer::from(key.serialize_der());
    // PKCS#8 wraps it: an octet string that holds a sequence whose version is 1.
    let bytes = der.secret_pkcs8_der();
    let at = bytes.windows(3).rposition(|window| window == [2, 1, 1]).unwrap() - 2;
    let text = base64(&bytes[at..]);
    let older = format!("-----BEGIN EC PRIVATE KEY-----\n{text}\n-----END EC PRIVATE KEY-----\n");
    assert!(Desk::new().put(&certificate.pem(), &older).load().is_ok());
}

#[test]
fn what_is_missing_empty_or_broken_is_named_with_its_file() {
    let desk = Desk::new();
    desk.refuses(&["http.tls_cert", "c.pem", "is not there"]);
    let ((certificate, key), other) = (pair(), pair());
    desk.put(&certificate, &key);
    fs::remove_file(desk.dir.path().join("k.pem")).unwrap();
    desk.refuses(&["http.tls_key", "k.pem", "is not there"]);
    desk.put("", &key).refuses(&["c.pem", "holds no certificate"]);
    desk.put(&key, &key).refuses(&["c.pem", "holds no certificate"]);
    desk.put(&certificate, "").refuses(&["k.pem", "holds no private key"]);
    desk.put(&certificate, &key.replace("PRIVATE", "ENCRYPTED PRIVATE")).refuses(&["k.pem", "not encrypted"]);
    desk.put(&certificate.replace("-----END", "====="), &key).refuses(&[
        "http.tls_cert",
        "c.pem",
        "no sound PEM",
    ]);
    desk.put(&certificate, &other.1).refuses(&["k.pem", "c.pem", "belong together"]);
    let rubbish = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    desk.put(rubbish, &key).refuses(&["c.pem", "cannot be used"]);
}

#[test]
fn a_broken_key_is_not_quoted() {
    let (certificate, key) = pair();
    let secret = key.lines().nth(1).unwrap();
    for broken in
        [key.replace("-----END", "====="), key.replace(secret, &format!("{secret}!!")), key.replace('-', "=")]
    {
        let refused = Desk::new().put(&certificate, &broken).load().err().unwrap();
        assert!(refused.contains("k.pem") && !refused.contains(&secret[..16]), "{refused}");
    }
}

#[test]
fn a_key_that_others_may_read_is_refused_with_the_way_out() {
    let (certificate, key) = pair();
    let desk = Desk::new();
    desk.put(&certificate, &key);
    let path = desk.dir.path().join("k.pem");
    fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    desk.refuses(&["http.tls_key", "k.pem", "can be read by other users", "chmod 600"]);
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    fs::set_permissions(desk.dir.path().join("c.pem"), Permissions::from_mode(0o666)).unwrap();
    desk.refuses(&["http.tls_cert", "c.pem", "can be written by other users"]);
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let number = three.iter().fold(0_usize, |number, byte| number << 8 | usize::from(*byte))
            << (8 * (3 - three.len()));
        for place in 0..4 {
            let letter = if place <= three.len() { LETTERS[number >> (18 - 6 * place) & 63] } else { b'=' };
            text.push(char::from(letter));
        }
    }
    text
}
