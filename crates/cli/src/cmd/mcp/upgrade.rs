//! The handshake with the daemon: one HTTP request that turns the connection into a stream of JSON-RPC lines.
//! Written by hand: it is the first thing an MCP client waits for, and needs nothing that HTTP is large for.

use std::io::Cursor;
use std::time::Duration;

use covenant_model::secret::Secret;
use http::StatusCode;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::time::timeout;

use crate::client::bad_token;
use crate::exit::Failure;

/// How long the daemon may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// The most bytes of an answer that is no upgrade.
const HEAD_LIMIT: usize = 64 * 1024;

/// Turns a fresh connection into a stream of MCP, as whoever the token names.
pub(super) async fn upgrade(
    stream: UnixStream,
    token: Option<&Secret>,
) -> Result<impl AsyncRead + AsyncWrite + Unpin + Send + use<>, Failure> {
    timeout(PATIENCE, exchange(stream, token)).await.unwrap_or_else(|_| {
        Err(Failure::failed(
            format!("the daemon did not answer within {} s", PATIENCE.as_secs()),
            "see what it is doing: covenant logs",
        ))
    })
}

async fn exchange(
    mut stream: UnixStream,
    token: Option<&Secret>,
) -> Result<impl AsyncRead + AsyncWrite + Unpin + Send + use<>, Failure> {
    let broke = |error: std::io::Error| {
        Failure::failed(format!("the connection to the daemon broke: {error}"), "see why: covenant logs")
    };
    stream.write_all(request(token)?.reveal().as_bytes()).await.map_err(broke)?;
    let mut bytes = Vec::with_capacity(1024);
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        if bytes.len() > HEAD_LIMIT {
            return Err(Failure::failed("the daemon's answer has no end", ""));
        }
        if stream.read_buf(&mut bytes).await.map_err(broke)? == 0 {
            return Err(broke(std::io::ErrorKind::UnexpectedEof.into()));
        }
    };
    let mut rest = bytes.split_off(end);
    let status = status(&bytes)?;
    if status == StatusCode::UNAUTHORIZED && token.is_some() {
        return Err(bad_token());
    }
    if status != StatusCode::SWITCHING_PROTOCOLS {
        let limit = u64::try_from(HEAD_LIMIT).unwrap_or(u64::MAX);
        stream.take(limit).read_to_end(&mut rest).await.map_err(broke)?;
        return Err(Failure::answered(status, body(&rest)));
    }
    let (reader, writer) = stream.into_split();
    Ok(tokio::io::join(Cursor::new(rest).chain(reader), writer))
}

fn request(token: Option<&Secret>) -> Result<Secret, Failure> {
    let authorization = match token {
        None => String::new(),
        Some(token) if token.reveal().bytes().all(|byte| byte.is_ascii_graphic()) => {
            format!("Authorization: Bearer {}\r\n", token.reveal())
        }
        Some(_) => {
            return Err(Failure::usage(
                "COVENANT_TOKEN holds characters that no token has",
                "set it to the token as it was printed",
            ));
        }
    };
    // Where it is no upgrade, the daemon is to say why and close: the answer is then read to its end.
    Ok(Secret::new(format!(
        "GET /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, close\r\nUpgrade: mcp\r\n{authorization}\r\n"
    )))
}

fn status(head: &[u8]) -> Result<StatusCode, Failure> {
    let line = head.split(|&byte| byte == b'\r').next().unwrap_or_default();
    let code = line.strip_prefix(b"HTTP/1.1 ").and_then(|rest| rest.get(..3));
    code.and_then(|code| StatusCode::from_bytes(code).ok()).ok_or_else(|| {
        Failure::failed("what listens on the daemon's socket does not speak HTTP", "covenant doctor")
    })
}

/// The JSON object in an answer's body, whether or not it came in chunks.
fn body(rest: &[u8]) -> &[u8] {
    let start = rest.iter().position(|&byte| byte == b'{');
    let end = rest.iter().rposition(|&byte| byte == b'}');
    match (start, end) {
        (Some(start), Some(end)) => rest.get(start..=end).unwrap_or_default(),
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Exit;

    /// The handshake against a peer that sends those bytes, and what the peer was sent.
    async fn against(answer: &[u8], token: Option<&str>) -> (Result<String, Failure>, String) {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let token = token.map(|token| Secret::new(token.to_owned()));
        let answer = answer.to_vec();
        let peer = tokio::spawn(async move {
            let mut sent = Vec::new();
            while !sent.ends_with(b"\r\n\r\n") && theirs.read_buf(&mut sent).await.unwrap() > 0 {}
            theirs.write_all(&answer).await.unwrap();
            String::from_utf8(sent).unwrap()
        });
        let result = match upgrade(ours, token.as_ref()).await {
            Ok(mut stream) => {
                let mut text = String::new();
                stream.read_to_string(&mut text).await.unwrap();
                Ok(text)
            }
            Err(failure) => Err(failure),
        };
        (result, peer.await.unwrap())
    }

    #[tokio::test]
    async fn what_follows_the_head_belongs_to_the_stream() {
        let (text, sent) =
            against(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: mcp\r\n\r\n{\"a\":1}\n", None).await;
        assert_eq!(text.unwrap(), "{\"a\":1}\n");
        assert!(sent.starts_with("GET /mcp HTTP/1.1\r\n") && sent.contains("Upgrade: mcp\r\n"), "{sent}");
        assert!(!sent.contains("Authorization"), "{sent}");
    }

    #[tokio::test]
    async fn the_token_is_sent() {
        let (_, sent) = against(b"HTTP/1.1 101 x\r\n\r\n", Some("cv_abc")).await;
        assert!(sent.contains("Authorization: Bearer cv_abc\r\n"), "{sent}");
    }

    #[tokio::test]
    async fn a_refusal_is_told_in_the_daemons_words() {
        let answer = b"HTTP/1.1 403 Forbidden\r\ntransfer-encoding: chunked\r\n\r\n48\r\n\
            {\"error\":{\"code\":\"not_granted\",\"message\":\"no\",\"action\":\"add it\"}}\r\n0\r\n\r\n";
        let (failure, _) = against(answer, None).await;
        let failure = failure.unwrap_err();
        assert_eq!((failure.exit(), failure.message(), failure.help()), (Exit::Refused, "no", "add it"));
        let (failure, _) = against(b"HTTP/1.1 401 Unauthorized\r\n\r\n", Some("cv_old")).await;
        assert!(failure.unwrap_err().message().contains("COVENANT_TOKEN"));
    }

    #[tokio::test]
    async fn something_else_on_the_socket_is_a_failure() {
        for answer in [&b"SSH-2.0-x\r\n\r\n"[..], b"HTTP/1.1 2", b""] {
            let (failure, _) = against(answer, None).await;
            assert_eq!(failure.unwrap_err().exit(), Exit::Failed);
        }
    }

    #[test]
    fn a_token_cannot_carry_a_header_of_its_own() {
        let token = Secret::new("cv_x\r\nHost: evil".to_owned());
        assert_eq!(request(Some(&token)).unwrap_err().exit(), Exit::Usage);
    }
}
