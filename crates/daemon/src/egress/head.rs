//! The head of a request to the proxy: read within its limits, and taken apart.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;

use super::denial::Denial;

/// The most bytes, and the most headers, a head may have.
const LIMIT: usize = 8 * 1024;
const HEADERS: usize = 64;

/// What ends a head.
const END: &[u8] = b"\r\n\r\n";

/// A request, as far as the proxy is concerned.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) method: String,
    pub(super) target: String,
    /// What `Proxy-Authorization` shows.
    pub(super) token: Option<String>,
    /// What came behind the head already.
    pub(super) rest: Vec<u8>,
}

impl Head {
    /// Reads one. It takes as long as the program does.
    pub(super) async fn read(stream: &mut TcpStream) -> Result<Self, Denial> {
        let mut bytes = Vec::with_capacity(1024);
        loop {
            let count = (&mut *stream).take(1024).read_buf(&mut bytes).await.map_err(|_| Denial::Gone)?;
            if let Some(end) = bytes.windows(END.len()).position(|window| window == END) {
                let rest = bytes.split_off(end + END.len());
                return if end > LIMIT { Err(Denial::TooLarge) } else { parse(&bytes, rest) };
            }
            match bytes.first() {
                _ if count == 0 => return Err(Denial::Gone),
                _ if bytes.len() > LIMIT => return Err(Denial::TooLarge),
                // What is no text needs no end to be seen as such.
                Some(first) if !first.is_ascii_uppercase() => return Err(Denial::Malformed),
                _ => {}
            }
        }
    }
}

fn parse(bytes: &[u8], rest: Vec<u8>) -> Result<Head, Denial> {
    let text = std::str::from_utf8(bytes).map_err(|_| Denial::Malformed)?;
    let mut lines = text.trim_end_matches("\r\n").split("\r\n");
    let (method, target) = lines.next().and_then(request).ok_or(Denial::Malformed)?;
    let mut token = None;
    for (count, line) in lines.enumerate() {
        if count == HEADERS {
            return Err(Denial::TooLarge);
        }
        let (name, value) = header(line).ok_or(Denial::Malformed)?;
        if name.eq_ignore_ascii_case("proxy-authorization") {
            token = shown(value);
        }
    }
    Ok(Head { method: method.to_owned(), target: target.to_owned(), token, rest })
}

/// Method and target of a first line.
fn request(line: &str) -> Option<(&str, &str)> {
    let mut words = line.split(' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    let sound = words.next().is_none()
        && !method.is_empty()
        && method.bytes().all(|byte| byte.is_ascii_uppercase())
        && target.bytes().all(|byte| byte.is_ascii_graphic())
        && matches!(version, "HTTP/1.1" | "HTTP/1.0");
    sound.then_some((method, target))
}

/// Name and value of a header.
fn header(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once(':')?;
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let sound = !name.is_empty()
        && name.bytes().all(token)
        && !value.bytes().any(|byte| byte.is_ascii_control() && byte != b'\t');
    sound.then_some((name, value.trim_matches([' ', '\t'])))
}

/// The token of `Bearer TOKEN`, or of `Basic`, where it is the password; who the user is does not matter.
fn shown(value: &str) -> Option<String> {
    let (scheme, rest) = value.split_once(' ')?;
    let rest = rest.trim_start();
    if scheme.eq_ignore_ascii_case("bearer") {
        return Some(rest.to_owned());
    }
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let pair = String::from_utf8(STANDARD.decode(rest).ok()?).ok()?;
    pair.split_once(':').map(|(_, password)| password.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Head, Denial> {
        parse(format!("{text}\r\n\r\n").as_bytes(), Vec::new())
    }

    #[test]
    fn a_token_is_read_from_either_scheme() {
        let basic = STANDARD.encode("run:cv_x");
        for value in [format!("Basic {basic}"), format!("basic  {basic}"), "BEARER cv_x".to_owned()] {
            let head =
                read(&format!("CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\nproxy-authorization: {value}"));
            let head = head.unwrap();
            assert_eq!((head.method.as_str(), head.target.as_str()), ("CONNECT", "a:443"));
            assert_eq!(head.token.as_deref(), Some("cv_x"), "{value}");
        }
        for value in ["Basic", "Basic !", "Basic cnVu", "Digest cv_x", "cv_x", ""] {
            let head = read(&format!("CONNECT a:443 HTTP/1.1\r\nProxy-Authorization: {value}")).unwrap();
            assert_eq!(head.token, None, "{value}");
        }
    }

    #[test]
    fn what_is_no_request_is_refused() {
        for text in [
            "",
            "CONNECT",
            "CONNECT a:443",
            "CONNECT  a:443 HTTP/1.1",
            "CONNECT a:443 HTTP/2",
            "CONNECT a:443 HTTP/1.1 ",
            "connect a:443 HTTP/1.1",
            "CONNECT a:\u{fc} HTTP/1.1",
            "CONNECT a:443 HTTP/1.1\r\nno colon",
            "CONNECT a:443 HTTP/1.1\r\n: x",
            "CONNECT a:443 HTTP/1.1\r\na : x",
            "CONNECT a:443 HTTP/1.1\r\nA: x\r\n folded",
            "CONNECT a:443 HTTP/1.1\nA: x",
            "CONNECT a:443 HTTP/1.1\r\nA: x\ny",
            "CONNECT a:443 HTTP/1.1\r\nA: \0",
        ] {
            assert!(matches!(read(text), Err(Denial::Malformed)), "{text:?}");
        }
    }

    #[test]
    fn headers_are_counted() {
        let with = |count: usize| read(&format!("CONNECT a:443 HTTP/1.1{}", "\r\nA: x".repeat(count)));
        assert!(with(HEADERS).is_ok());
        assert!(matches!(with(HEADERS + 1), Err(Denial::TooLarge)));
    }
}
