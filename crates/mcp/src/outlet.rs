//! Where a running request's notifications go: to whoever carries its answer.

/// A way back to the client for messages that may be lost when it does not keep up: progress and log messages.
pub trait Outlet: Send + Sync {
    /// Takes one whole message, without a line end.
    fn notify(&self, message: &[u8]);

    /// Takes one whole request to the client, without a line end; `false` if it cannot get there.
    fn request(&self, _message: &[u8]) -> bool {
        false
    }

    /// Whether the client can be asked anything on this way.
    fn reaches(&self) -> bool {
        false
    }
}

/// An outlet for clients that hear nothing but answers.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unheard;

impl Outlet for Unheard {
    fn notify(&self, _message: &[u8]) {}
}
