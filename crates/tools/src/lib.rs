//! Everything callable that runs in our own process. What a call may do is decided in `gate`, never here.

pub mod native;

pub use native::native;
