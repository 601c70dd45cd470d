//! What the pages say on which people sign in, choose how they will, and are told that they cannot.

use std::time::Duration;

use axum::response::Response;
use covenant_gate::signin::Redeemed;
use covenant_model::principal::Principal;
use http::StatusCode;
use http::header::{HeaderValue, RETRY_AFTER};

use super::page::{Field, Page};
use crate::daemon::Daemon;

/// What is said of an invite that leads nowhere.
const ASK: &str = "Ask whoever invited you for another: covenant team invite HANDLE --again";

/// The ways to sign in that are offered beside a password.
pub(super) struct Offer {
    /// The host of the provider of identities.
    provider: Option<String>,
}

impl Offer {
    /// Those of a daemon as it is set up now.
    pub(super) fn of(daemon: &Daemon) -> Self {
        Self { provider: daemon.config().oidc.as_ref().map(crate::config::oidc::Oidc::host) }
    }

    /// The page to sign in on: the handle that was typed before, and what went wrong.
    pub(super) fn sign_in(&self, handle: &str, told: Option<&str>, status: StatusCode) -> Response {
        let page = Page::new("Sign in").warns(told);
        let page = page.form("/signin", &[], &[Field::Handle(handle), Field::Password], "Sign in");
        let page = match &self.provider {
            Some(host) => page.link("/auth/oidc", &format!("Continue with {host}")),
            None => page,
        };
        page.says("The operator of this home signs in with: covenant dashboard").answer(status)
    }

    /// The page on which whoever was invited chooses how they sign in.
    pub(super) fn invite(
        &self,
        code: &str,
        who: &Principal,
        told: Option<&str>,
        status: StatusCode,
    ) -> Response {
        let welcome = format!("You were invited as {}. Choose a password to sign in with.", who.name());
        let page = Page::new("Welcome").says(&welcome).warns(told);
        let page = page.form(&format!("/invite/{code}"), &[], &[Field::NewPassword], "Set the password");
        let page = match &self.provider {
            Some(host) => page.says("Or sign in without a password of its own:").form(
                "/auth/oidc",
                &[("invite", code)],
                &[],
                &format!("Continue with {host}"),
            ),
            None => page,
        };
        page.answer(status)
    }

    /// What is said to who must wait.
    pub(super) fn too_often(&self, handle: &str, wait: Duration) -> Response {
        let seconds = wait.as_secs().max(1);
        let told = match seconds {
            ..120 => format!("This was tried too often. Try again in {seconds} seconds."),
            _ => format!("This was tried too often. Try again in {} minutes.", seconds.div_ceil(60)),
        };
        let mut response = self.sign_in(handle, Some(&told), StatusCode::TOO_MANY_REQUESTS);
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
        response
    }
}

/// What is said of an invite that cannot be used.
pub(super) fn bad_invite(redeemed: &Redeemed) -> Response {
    let (told, status) = match redeemed {
        Redeemed::Used => ("Somebody has used this invite already.", StatusCode::CONFLICT),
        Redeemed::Expired => ("This invite was good for seven days, which are over.", StatusCode::GONE),
        Redeemed::Done(_) | Redeemed::Unknown => {
            ("There is no such invite, or a newer one took its place.", StatusCode::NOT_FOUND)
        }
        Redeemed::Taken => {
            let told = "What you chose belongs to somebody else here. Nothing was changed, and the invite is good still: open its \
                        link again, and choose as who you are meant to be.";
            return Page::new("You are not signed in").warns(Some(told)).answer(StatusCode::CONFLICT);
        }
    };
    Page::new("This invite is no good").warns(Some(told)).says(ASK).answer(status)
}

/// What is said of a link of the operator's that cannot be used.
pub(super) fn bad_link(told: &str, status: StatusCode) -> Response {
    let page = Page::new("This link is no good").warns(Some(told));
    page.says("Ask for another where Covenant runs: covenant dashboard").answer(status)
}
