//! External servers as this daemon has them: written down in `config.toml`, in `secrets.toml` and in plugins, or added by
//! the operator; and told to the fleet.
//!
//! An entry that is wrong disables one server and says why; a file that is no TOML stops the start, as it does for every
//! other section. `read` gathers, `written` knows the formats, `entry` the keys, `edit` changes files. `desk` knows what is
//! wanted in all, `change` is what the operator does to that, `watch` sees files change. What the fleet needs of the
//! system, `outfit` puts together: `programs` and `notes` are parts of it.

mod borrows;
pub(crate) mod change;
mod credentials;
mod desk;
mod edit;
mod entry;
mod known;
mod lookout;
mod notes;
mod outfit;
mod plugins;
mod programs;
mod read;
mod reading;
pub(crate) mod watch;
mod written;

pub(crate) use borrows::borrows;
pub(crate) use desk::Desk;
pub(crate) use known::Known;
pub(crate) use outfit::Outfit;
pub(crate) use read::read;
pub(crate) use reading::Reading;

#[cfg(test)]
mod tests;
