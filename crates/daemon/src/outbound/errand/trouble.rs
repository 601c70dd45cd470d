//! Why a request of a tool has no answer, in the sentence its caller reads.
//!
//! It names the host and nothing else of an address, which may hold credentials; and it says what kind of address a name
//! leads to, never which: what is in the operator's network is not the caller's business.

use std::time::Duration;

use reqwest::Url;

/// Why there is no answer.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Trouble {
    #[error("only addresses that begin with http:// or https:// can be asked for")]
    Scheme,
    #[error("the address of {host} holds a user name or a password; write it without")]
    User { host: String },
    #[error("the address has no host that could be looked up; check how it is spelt")]
    NoHost,
    #[error(
        "{host} leads to {what}, and only the public Internet is reached; to let it through, add \"{host}\" to allow_hosts \
         in [web] of config.toml"
    )]
    Private { host: String, what: &'static str },
    #[error(
        "{host} is {what}, and only the public Internet is reached; names can be let through by allow_hosts in [web] of \
         config.toml, addresses cannot"
    )]
    PrivateAddress { host: String, what: &'static str },
    #[error(
        "{host} is a name of a private network, and only the public Internet is reached; to let it through, add \"{host}\" to \
         allow_hosts in [web] of config.toml"
    )]
    Inner { host: String },
    /// What a look-up failed with, which is a sentence.
    #[error("{0}")]
    LookUp(String),
    #[error("{from} redirects elsewhere, and that was refused: {why}")]
    After { from: String, why: Box<Self> },
    #[error(
        "{from} redirects from https:// to http://, where whoever is on the way can read and change the answer; it was not \
         followed"
    )]
    Downgrade { from: String },
    #[error("{from} redirects to something that is no address")]
    NoPlace { from: String },
    #[error("{host} redirects more than {most} times")]
    Wandering { host: String, most: u8 },
    #[error("{host} could not be reached: {reason}")]
    Unreachable { host: String, reason: String },
    #[error("{host} sent its answer compressed although it was asked for it as it is")]
    Encoded { host: String },
    #[error("{host} broke off its answer: {reason}")]
    BrokenOff { host: String, reason: String },
    #[error("{host} did not answer within {} seconds", .within.as_secs_f32())]
    Late { host: String, within: Duration },
}

impl Trouble {
    /// The same, met after a redirect from there.
    pub(super) fn after(self, from: Option<String>) -> Self {
        match from {
            Some(from) => Self::After { from, why: Box::new(self) },
            None => self,
        }
    }
}

/// The host of an address: all of it that is shown.
pub(super) fn shown(url: &Url) -> String {
    url.host_str().unwrap_or("the server").to_owned()
}
