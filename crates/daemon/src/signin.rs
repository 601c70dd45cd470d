//! How people prove who they are: by a password, a passkey or the word of a provider, and how often that may be tried.

pub(crate) mod attempts;
pub(crate) mod oidc;
pub(crate) mod pace;
pub(crate) mod passkey;
pub(crate) mod password;
pub(crate) mod pending;
pub(crate) mod signature;

use self::attempts::Attempts;
use self::oidc::Provider;
use self::passkey::Challenges;
use self::password::Passwords;

/// What is needed to sign people in.
#[derive(Default)]
pub(crate) struct SignIn {
    pub(crate) passwords: Passwords,
    pub(crate) attempts: Attempts,
    pub(crate) provider: Provider,
    pub(crate) challenges: Challenges,
}
