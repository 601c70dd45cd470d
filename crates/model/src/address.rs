//! Which IP addresses are the public Internet's: globally reachable unicast, and nothing else.
//!
//! Whoever connects on behalf of a program or a caller asks here, so that a public name cannot be made to lead to this
//! machine, its network, or the metadata service of a cloud. The ranges are those of IANA's special-purpose registries.
//!
//! Some IPv6 addresses hold an IPv4 address. A mapped one (`::ffff:0:0/96`) and one of the well-known NAT64 prefix
//! (`64:ff9b::/96`) are judged by it: the system connects a mapped address to exactly that, and on a network with IPv6
//! alone NAT64 is how IPv4 servers are reached. All others are refused whatever they hold: where the local NAT64 prefix
//! (`64:ff9b:1::/48`) keeps the IPv4 address differs by site, the relays of 6to4 and Teredo are gone from the Internet,
//! so that only a local gateway would still take such packets, and compatible addresses were abandoned.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The addresses that begin with the same bits as `start`, and what they are.
struct Range<A> {
    start: A,
    bits: u32,
    what: &'static str,
}

/// What of IPv4 is not public.
const V4: &[Range<Ipv4Addr>] = &[
    v4([0, 0, 0, 0], 8, "an address of this network"),
    v4([10, 0, 0, 0], 8, "a private address"),
    v4([100, 64, 0, 0], 10, "an address shared behind a carrier"),
    v4([127, 0, 0, 0], 8, "a loopback address"),
    // Azure's platform answers there, on the machine's own link, though the range is a public one.
    v4([168, 63, 129, 16], 32, "the address of a cloud's platform"),
    v4([169, 254, 0, 0], 16, "a link-local address"),
    v4([172, 16, 0, 0], 12, "a private address"),
    v4([192, 0, 0, 0], 24, "an address of protocols"),
    v4([192, 0, 2, 0], 24, "an address for documentation"),
    v4([192, 88, 99, 0], 24, "an address of 6to4 relays"),
    v4([192, 168, 0, 0], 16, "a private address"),
    v4([198, 18, 0, 0], 15, "an address for benchmarks"),
    v4([198, 51, 100, 0], 24, "an address for documentation"),
    v4([203, 0, 113, 0], 24, "an address for documentation"),
    v4([224, 0, 0, 0], 4, "a multicast address"),
    v4([255, 255, 255, 255], 32, "the broadcast address"),
    v4([240, 0, 0, 0], 4, "a reserved address"),
];

/// What of `2000::/3` is not public; and what is known of the rest, of which nothing is given to servers.
const V6: &[Range<Ipv6Addr>] = &[
    Range { start: Ipv6Addr::UNSPECIFIED, bits: 128, what: "the unspecified address" },
    Range { start: Ipv6Addr::LOCALHOST, bits: 128, what: "a loopback address" },
    v6([0x64, 0xff9b, 1], 48, "an address of a local translation to IPv4"),
    v6([0x100, 0, 0], 64, "an address to discard to"),
    v6([0x5f00, 0, 0], 16, "an address of segment routing"),
    v6([0xfc00, 0, 0], 7, "a private address"),
    v6([0xfe80, 0, 0], 10, "a link-local address"),
    v6([0xfec0, 0, 0], 10, "a site-local address"),
    v6([0xff00, 0, 0], 8, "a multicast address"),
    v6([0x2001, 0, 0], 32, "an address of Teredo"),
    v6([0x2001, 0x10, 0], 28, "an identifier and no address"),
    v6([0x2001, 0x20, 0], 28, "an identifier and no address"),
    v6([0x2001, 0, 0], 23, "an address of protocols"),
    v6([0x2001, 0xdb8, 0], 32, "an address for documentation"),
    v6([0x3fff, 0, 0], 20, "an address for documentation"),
    v6([0x2002, 0, 0], 16, "an address of 6to4"),
];

const fn v4([a, b, c, d]: [u8; 4], bits: u32, what: &'static str) -> Range<Ipv4Addr> {
    Range { start: Ipv4Addr::new(a, b, c, d), bits, what }
}

const fn v6([a, b, c]: [u16; 3], bits: u32, what: &'static str) -> Range<Ipv6Addr> {
    Range { start: Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0), bits, what }
}

/// Whether it is a public address.
pub fn is_public(address: IpAddr) -> bool {
    special(address).is_none()
}

/// What it is where it is not public, such as "a loopback address".
pub fn special(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => special_v4(address),
        IpAddr::V6(address) => match held(address) {
            Some(held) => special_v4(held),
            None => special_v6(address),
        },
    }
}

fn special_v4(address: Ipv4Addr) -> Option<&'static str> {
    let within = |range: &&Range<Ipv4Addr>| {
        let differ = address.to_bits() ^ range.start.to_bits();
        differ.leading_zeros() >= range.bits
    };
    V4.iter().find(within).map(|range| range.what)
}

fn special_v6(address: Ipv6Addr) -> Option<&'static str> {
    let within = |range: &&Range<Ipv6Addr>| {
        let differ = address.to_bits() ^ range.start.to_bits();
        differ.leading_zeros() >= range.bits
    };
    let elsewhere = address.to_bits() >> 125 != 1;
    let named = V6.iter().find(within).map(|range| range.what);
    named.or_else(|| elsewhere.then_some("an address of no public network"))
}

/// The IPv4 address that packets to this one go to.
fn held(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let translated = match address.octets() {
        [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0, a, b, c, d] => Some(Ipv4Addr::new(a, b, c, d)),
        _ => None,
    };
    translated.or_else(|| address.to_ipv4_mapped())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<&'static str> {
        special(text.parse().unwrap_or_else(|error| panic!("{text}: {error}")))
    }

    #[test]
    fn servers_of_the_internet_are_public() {
        for public in [
            "1.1.1.1",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.0",
            "93.184.215.14",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "168.63.129.15",
            "168.63.129.17",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.0.3.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2001:200::1",
            "2001:4860:4860::8888",
            "2003::1",
            "2606:4700:4700::1111",
            "2620:fe::fe",
            "2a00:1450:4001:82a::200e",
            "3fff:1000::1",
            "::ffff:8.8.8.8",
            "64:ff9b::8.8.8.8",
        ] {
            assert_eq!(of(public), None, "{public}");
        }
    }

    #[test]
    fn what_is_not_the_internet_is_named() {
        for (special, what) in [
            ("0.0.0.0", "this network"),
            ("0.255.255.255", "this network"),
            ("10.0.0.1", "private"),
            ("10.255.255.255", "private"),
            ("100.64.0.0", "carrier"),
            ("100.100.100.200", "carrier"),
            ("100.127.255.255", "carrier"),
            ("127.0.0.1", "loopback"),
            ("127.255.255.254", "loopback"),
            ("168.63.129.16", "platform"),
            ("169.254.169.254", "link-local"),
            ("169.254.170.2", "link-local"),
            ("172.16.0.1", "private"),
            ("172.31.255.255", "private"),
            ("192.0.0.8", "protocols"),
            ("192.0.0.192", "protocols"),
            ("192.0.2.1", "documentation"),
            ("192.88.99.1", "6to4"),
            ("192.168.0.1", "private"),
            ("198.18.0.1", "benchmarks"),
            ("198.19.255.255", "benchmarks"),
            ("198.51.100.1", "documentation"),
            ("203.0.113.1", "documentation"),
            ("224.0.0.1", "multicast"),
            ("239.255.255.255", "multicast"),
            ("240.0.0.1", "reserved"),
            ("255.255.255.254", "reserved"),
            ("255.255.255.255", "broadcast"),
            ("::", "unspecified"),
            ("::1", "loopback"),
            ("::2", "no public network"),
            ("100::1", "discard"),
            ("100:0:0:1::1", "no public network"),
            ("2001::1", "Teredo"),
            ("2001:1::1", "protocols"),
            ("2001:2::1", "protocols"),
            ("2001:10::1", "identifier"),
            ("2001:2f:ffff::1", "identifier"),
            ("2001:1ff:ffff::1", "protocols"),
            ("2001:db8::1", "documentation"),
            ("3fff:fff::1", "documentation"),
            ("4000::1", "no public network"),
            ("5f00::1", "segment routing"),
            ("fc00::1", "private"),
            ("fd00:ec2::254", "private"),
            ("fd20:ce::254", "private"),
            ("fe80::1", "link-local"),
            ("febf::1", "link-local"),
            ("fec0::1", "site-local"),
            ("ff02::1", "multicast"),
        ] {
            assert!(of(special).is_some_and(|found| found.contains(what)), "{special}: {:?}", of(special));
            assert!(!is_public(special.parse().unwrap()), "{special}");
        }
    }

    #[test]
    fn an_address_inside_an_address_opens_nothing() {
        for (holder, what) in [
            ("::ffff:127.0.0.1", "loopback"),
            ("::ffff:169.254.169.254", "link-local"),
            ("::ffff:10.0.0.1", "private"),
            ("64:ff9b::127.0.0.1", "loopback"),
            ("64:ff9b::169.254.169.254", "link-local"),
            ("64:ff9b::192.168.1.1", "private"),
            // Refused whatever they hold.
            ("64:ff9b:1::8.8.8.8", "local translation"),
            ("64:ff9b::1:808:808", "no public network"),
            ("::127.0.0.1", "no public network"),
            ("::8.8.8.8", "no public network"),
            ("::ffff:0:8.8.8.8", "no public network"),
            ("2002:7f00:1::", "6to4"),
            ("2002:808:808::", "6to4"),
            ("2001:0:808:808::", "Teredo"),
        ] {
            assert!(of(holder).is_some_and(|found| found.contains(what)), "{holder}: {:?}", of(holder));
        }
    }
}
