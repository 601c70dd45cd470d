//! Start child processes safely. Nothing else in the product calls `Command::new`.
//!
//! For now that is one kind of child: the daemon in the background.

pub mod daemon;
pub mod environment;
mod spawn;
