//! The streams of a program in the foreground: bytes from our standard input to its own, and from its output to ours, or
//! into a document.

use covenant_runner::pipes::{Input, Output};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// The most of its output that a document holds.
const KEPT: usize = 1024 * 1024;

/// What becomes of its output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Show {
    /// It goes to our own, as it comes.
    Through,
    /// Its beginning is kept.
    Kept,
}

/// The beginning of an output.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    bytes: Vec<u8>,
    is_cut: bool,
}

/// An output that has been read to its end.
#[derive(Debug, Default)]
pub(super) struct Drained {
    /// Its beginning.
    pub(super) kept: Kept,
    /// Why not all of it could be passed on.
    pub(super) lost: Option<std::io::Error>,
}

impl Kept {
    /// As text; what is no UTF-8 is replaced.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    /// Whether there was more.
    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut
    }

    fn add(&mut self, bytes: &[u8]) {
        let room = KEPT - self.bytes.len();
        self.is_cut |= bytes.len() > room;
        self.bytes.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
    }
}

/// Gives the program what comes on our standard input, and closes its own at the end of that.
pub(super) async fn feed(mut input: Input) {
    // A program that reads no further is no failure of anybody's.
    let _ = tokio::io::copy(&mut tokio::io::stdin(), &mut input).await;
}

/// Reads the program's output to its end. If ours takes no more, the program's is closed.
pub(super) async fn drain(output: Option<Output>, show: Show) -> Drained {
    let mut drained = Drained::default();
    let Some(mut output) = output else { return drained };
    let mut out = tokio::io::stdout();
    let mut chunk = vec![0; 64 * 1024];
    loop {
        let count = match output.read(&mut chunk).await {
            Ok(0) | Err(_) => return drained,
            Ok(count) => count,
        };
        let bytes = chunk.get(..count).unwrap_or_default();
        match show {
            Show::Kept => drained.kept.add(bytes),
            Show::Through => {
                if let Err(error) = pass_on(&mut out, bytes).await {
                    drained.lost = Some(error);
                    return drained;
                }
            }
        }
    }
}

async fn pass_on(out: &mut tokio::io::Stdout, bytes: &[u8]) -> Result<(), std::io::Error> {
    out.write_all(bytes).await?;
    out.flush().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_is_kept_and_the_rest_is_counted_as_missing() {
        let mut kept = Kept::default();
        kept.add(&vec![b'x'; KEPT - 1]);
        assert!(!kept.is_cut());
        kept.add(b"\xff");
        assert!(!kept.is_cut() && kept.text().ends_with("x\u{fffd}"));
        kept.add(b"yz");
        assert!(kept.is_cut() && kept.text().ends_with('\u{fffd}'));
    }
}
