//! How people prove who they are: what is kept of a password, and how often one may be tried.

pub(crate) mod attempts;
pub(crate) mod password;

use self::attempts::Attempts;
use self::password::Passwords;

/// What is needed to sign people in.
#[derive(Default)]
pub(crate) struct SignIn {
    pub(crate) passwords: Passwords,
    pub(crate) attempts: Attempts,
}
