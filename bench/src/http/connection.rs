//! One connection of the load client: requests out as they are, and answers read whole, in one piece or in chunks.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

/// How long an answer may take before the server is taken to be stuck.
const PATIENCE: Duration = Duration::from_secs(20);

/// One answer, whole.
pub(super) struct Answer<'c> {
    pub(super) status: u16,
    pub(super) head: &'c str,
    pub(super) body: &'c str,
}

impl Answer<'_> {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        header(self.head, name)
    }
}

/// A connection that is used again and again.
pub(super) struct Connection {
    pub(super) stream: TcpStream,
    pub(super) buffer: Vec<u8>,
    body: Vec<u8>,
}

impl Connection {
    pub(super) fn open(port: u16) -> io::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self { stream, buffer: Vec::with_capacity(16 * 1024), body: Vec::new() })
    }

    /// Sends a request, and reads the answer to its end.
    pub(super) fn exchange(&mut self, request: &[u8]) -> io::Result<Answer<'_>> {
        self.stream.write_all(request)?;
        self.receive()
    }

    /// Reads one answer. Nothing may follow it: we ask again only when we have read it.
    pub(super) fn receive(&mut self) -> io::Result<Answer<'_>> {
        let end = self.receive_head()?;
        let head = utf8(self.buffer.get(..end))?;
        let length = header(head, "content-length").and_then(|length| length.parse::<usize>().ok());
        let chunked =
            header(head, "transfer-encoding").is_some_and(|coding| coding.eq_ignore_ascii_case("chunked"));
        self.body.clear();
        if chunked {
            let mut at = end;
            while let size @ 1.. = self.chunk_size(&mut at)? {
                self.receive_up_to(at + size + 2)?;
                self.body.extend_from_slice(self.buffer.get(at..at + size).unwrap_or_default());
                at += size + 2;
            }
            self.receive_up_to(at + 2)?;
        } else {
            let length = length.unwrap_or(0);
            self.receive_up_to(end + length)?;
            self.body.extend_from_slice(self.buffer.get(end..).unwrap_or_default());
        }
        let head = utf8(self.buffer.get(..end))?;
        Ok(Answer { status: status(head)?, head, body: utf8(Some(&self.body))? })
    }

    /// Reads until the head is whole, and says where it ends.
    pub(super) fn receive_head(&mut self) -> io::Result<usize> {
        self.buffer.clear();
        loop {
            if let Some(at) = self.buffer.windows(4).position(|four| four == b"\r\n\r\n") {
                return Ok(at + 4);
            }
            self.receive_more()?;
        }
    }

    /// The size of the chunk whose line begins there; then `at` is where its bytes begin.
    fn chunk_size(&mut self, at: &mut usize) -> io::Result<usize> {
        loop {
            let rest = self.buffer.get(*at..).unwrap_or_default();
            if let Some(end) = rest.windows(2).position(|two| two == b"\r\n") {
                *at += end + 2;
                let size = utf8(rest.get(..end))?;
                return usize::from_str_radix(size, 16).map_err(io::Error::other);
            }
            self.receive_more()?;
        }
    }

    fn receive_up_to(&mut self, end: usize) -> io::Result<()> {
        while self.buffer.len() < end {
            self.receive_more()?;
        }
        Ok(())
    }

    fn receive_more(&mut self) -> io::Result<()> {
        let mut block = [0; 4096];
        let count = self.stream.read(&mut block)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.buffer.extend_from_slice(block.get(..count).unwrap_or_default());
        Ok(())
    }
}

pub(super) fn utf8(bytes: Option<&[u8]>) -> io::Result<&str> {
    std::str::from_utf8(bytes.unwrap_or_default()).map_err(io::Error::other)
}

pub(super) fn status(head: &str) -> io::Result<u16> {
    let status = head.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok());
    status.ok_or_else(|| io::Error::other(format!("this is no answer of HTTP/1.1: {head}")))
}

pub(super) fn header<'h>(head: &'h str, name: &str) -> Option<&'h str> {
    let mut fields = head.split("\r\n").skip(1).filter_map(|line| line.split_once(':'));
    fields.find_map(|(field, value)| field.eq_ignore_ascii_case(name).then(|| value.trim()))
}
