//! What a certificate says of itself: its names, and until when it is good. No more is read of it than that, and what
//! cannot be read is left out: whether it can be used is not decided here.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;

use covenant_model::time::Timestamp;

use super::{Certificate, CertificateError};
use crate::config::http::Http;
use crate::home::Home;

/// Tags of DER, where a certificate has them.
mod tag {
    pub(super) const UTC_TIME: u8 = 0x17;
    pub(super) const LONG_TIME: u8 = 0x18;
    pub(super) const VERSION: u8 = 0xa0;
    pub(super) const EXTENSIONS: u8 = 0xa3;
    pub(super) const DNS_NAME: u8 = 0x82;
    pub(super) const ADDRESS: u8 = 0x87;
}

/// The extension with the names a certificate is for: 2.5.29.17.
const NAMES: &[u8] = &[0x55, 0x1d, 0x11];

/// What is shown to those who connect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// The file it stands in.
    pub path: PathBuf,
    /// The names and addresses it is for.
    pub names: Vec<String>,
    /// Until when it is good.
    pub until: Option<Timestamp>,
}

/// Looks at the certificate the configuration names, as a start would; `None` if it names none.
pub fn inspect_certificate(home: &Home, http: &Http) -> Result<Option<Shown>, CertificateError> {
    let Some(certificate) = Certificate::load(home, http)? else { return Ok(None) };
    let leaf = certificate.leaf();
    let path = home.root().join(&http.tls_cert);
    Ok(Some(Shown { path, names: names(leaf).unwrap_or_default(), until: until(leaf) }))
}

/// The elements of a DER value, one after the other, each with its tag.
struct Elements<'a>(&'a [u8]);

impl<'a> Iterator for Elements<'a> {
    type Item = (u8, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (&tag, rest) = self.0.split_first()?;
        let (&short, rest) = rest.split_first()?;
        let (length, rest) = match usize::from(short) {
            length @ 0..=0x7f => (length, rest),
            // Three bytes of length are sixteen megabytes.
            long @ 0x81..=0x83 => {
                let (bytes, rest) = rest.split_at_checked(long - 0x80)?;
                (bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
            }
            _ => return None,
        };
        let (content, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((tag, content))
    }
}

/// What is signed: serial number, algorithm, issuer, validity, subject, key, and what follows.
fn signed(certificate: &[u8]) -> Option<impl Iterator<Item = (u8, &[u8])>> {
    let (_, whole) = Elements(certificate).next()?;
    let (_, signed) = Elements(whole).next()?;
    Some(Elements(signed).filter(|(tag, _)| *tag != tag::VERSION))
}

fn until(certificate: &[u8]) -> Option<Timestamp> {
    let (_, validity) = signed(certificate)?.nth(3)?;
    let (tag, time) = Elements(validity).nth(1)?;
    let digits = std::str::from_utf8(time).ok()?.strip_suffix('Z')?;
    let digits = match tag {
        // Two digits of a year: the standard says from 1950 to 2049.
        tag::UTC_TIME if digits < "50" => format!("20{digits}"),
        tag::UTC_TIME => format!("19{digits}"),
        tag::LONG_TIME => digits.to_owned(),
        _ => return None,
    };
    let part = |from: usize, to: usize| digits.get(from..to);
    let (year, month, day) = (part(0, 4)?, part(4, 6)?, part(6, 8)?);
    let (hour, minute, second) = (part(8, 10)?, part(10, 12)?, part(12, 14)?);
    format!("{year}-{month}-{day}T{hour}:{minute}:{second}Z").parse().ok()
}

fn names(certificate: &[u8]) -> Option<Vec<String>> {
    let (_, extensions) = signed(certificate)?.find(|(tag, _)| *tag == tag::EXTENSIONS)?;
    let (_, extensions) = Elements(extensions).next()?;
    let found = Elements(extensions).find_map(|(_, extension)| {
        let named = Elements(extension).next().is_some_and(|(_, id)| id == NAMES);
        Elements(extension).last().filter(|_| named)
    });
    let (_, names) = Elements(found?.1).next()?;
    Some(Elements(names).filter_map(|(tag, name)| written(tag, name)).collect())
}

fn written(tag: u8, name: &[u8]) -> Option<String> {
    match tag {
        tag::DNS_NAME => String::from_utf8(name.to_vec()).ok(),
        tag::ADDRESS => {
            let v4 = <[u8; 4]>::try_from(name).map(|bytes| IpAddr::V4(Ipv4Addr::from(bytes)));
            let v6 = <[u8; 16]>::try_from(name).map(|bytes| IpAddr::V6(Ipv6Addr::from(bytes)));
            v4.or(v6).ok().map(|address| address.to_string())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair, date_time_ymd};

    use super::*;

    fn made(names: &[&str], year: i32) -> Vec<u8> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.not_after = date_time_ymd(year, 3, 9);
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().to_vec()
    }

    #[test]
    fn names_and_the_end_are_read_in_both_ways_of_writing_a_year() {
        for year in [2031, 2049, 2050, 2999] {
            let der = made(&["localhost", "covenant.example.org", "127.0.0.1", "::1"], year);
            assert_eq!(
                names(&der).unwrap(),
                ["localhost", "covenant.example.org", "127.0.0.1", "::1"],
                "{year}"
            );
            assert_eq!(until(&der).unwrap().to_string(), format!("{year}-03-09T00:00:00.000Z"));
        }
    }

    #[test]
    fn a_certificate_without_names_has_an_end_all_the_same() {
        let der = made(&[], 2031);
        assert_eq!(names(&der).unwrap_or_default(), Vec::<String>::new());
        assert!(until(&der).is_some());
    }

    #[test]
    fn what_is_cut_or_changed_never_panics() {
        let der = made(&["localhost"], 2031);
        for at in 0..der.len() {
            let _ = (until(&der[..at]), names(&der[..at]));
            for byte in [0, 0x7f, 0x80, 0x84, 0xff] {
                let mut changed = der.clone();
                changed[at] = byte;
                let _ = (until(&changed), names(&changed));
            }
        }
        assert_eq!(until(&der[..64]), None);
    }
}
