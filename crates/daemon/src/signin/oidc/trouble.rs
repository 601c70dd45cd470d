//! Why nobody was signed in by a provider, in the sentence that they read and that the row has.

use http::StatusCode;

use super::id_token::Untrue;

/// Why nobody was signed in.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Trouble {
    #[error("Signing in by a provider of identities is not set up here.")]
    NotSetUp,
    /// Which secret is missing is the operator's business; the log has it.
    #[error(
        "Signing in by the provider is not set up whole: the operator finds out more with `covenant doctor`."
    )]
    NoSecret,
    #[error("This address is not one that people sign in at.")]
    NoPlace,
    #[error("Too many people are signing in at this moment. Try again in a few seconds.")]
    Busy,
    /// A sentence's clause that names the provider's host.
    #[error("The provider could not be asked: {0}.")]
    Unreachable(String),
    #[error("The provider's {what} cannot be used: {why}.")]
    Unfit { what: &'static str, why: String },
    #[error("The provider did not take what it was shown: {0}.")]
    Refused(String),
    #[error("The provider says that this did not work: {0}.")]
    Declined(String),
    #[error(
        "This browser has no such sign-in under way: it was used already, took longer than ten minutes, or began in another \
         browser."
    )]
    Stray,
    #[error("What the provider says of you cannot be trusted: {0}.")]
    Untrue(#[from] Untrue),
}

impl Trouble {
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::NotSetUp | Self::NoPlace => StatusCode::NOT_FOUND,
            Self::NoSecret => StatusCode::SERVICE_UNAVAILABLE,
            Self::Busy => StatusCode::TOO_MANY_REQUESTS,
            Self::Unreachable(_) | Self::Unfit { .. } => StatusCode::BAD_GATEWAY,
            Self::Refused(_) | Self::Declined(_) | Self::Untrue(_) => StatusCode::FORBIDDEN,
            Self::Stray => StatusCode::BAD_REQUEST,
        }
    }
}
