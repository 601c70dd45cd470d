//! What the pages say on which people sign in, choose how they will, and are told that they cannot.

use std::time::Duration;

use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use covenant_gate::signin::{Keyring, Redeemed, Visitor, beginning};
use covenant_model::principal::Principal;
use covenant_model::time::Timestamp;
use http::header::{HeaderValue, RETRY_AFTER};
use http::{HeaderMap, StatusCode};

use super::super::via::Port;
use super::page::{Field, Page};
use super::place;
use crate::daemon::Daemon;
use crate::signin::passkey::Site;

/// What is said of an invite that leads nowhere.
const ASK: &str = "Ask whoever invited you for another: covenant team invite HANDLE --again";

/// The ways to sign in that are offered beside a password.
pub(super) struct Offer {
    /// The host of the provider of identities.
    provider: Option<String>,
    passkeys: Passkeys,
}

/// Whether passkeys can be used.
enum Passkeys {
    /// By this page.
    Here,
    /// At that origin, which is this machine by its name.
    At(String),
    Nowhere,
}

impl Offer {
    /// Those of a daemon as it is set up now, to a browser that asks so.
    pub(super) fn of(daemon: &Daemon, port: Port, headers: &HeaderMap) -> Self {
        let config = daemon.config();
        let origin = place::origin(headers, port, &config.http);
        let passkeys = match origin {
            Some(origin) if Site::at(&origin).is_some() => Passkeys::Here,
            Some(_) if config.http.public_url.is_empty() => {
                Passkeys::At(format!("{}://localhost:{}", port.scheme, port.number))
            }
            _ => Passkeys::Nowhere,
        };
        Self { provider: config.oidc.as_ref().map(crate::config::oidc::Oidc::host), passkeys }
    }

    /// A form for passkeys, or where there is one.
    fn passkey(&self, page: Page, own: &str, path: &str, hidden: &[(&str, &str)], button: &str) -> Page {
        match &self.passkeys {
            Passkeys::Here => page.passkey(path, hidden, button),
            Passkeys::At(origin) => page.says(&format!(
                "Passkeys need a name and not a number in the address: to use one, open {origin}{own}"
            )),
            Passkeys::Nowhere => page,
        }
    }

    /// The page that says who is signed in, and has their passkeys.
    pub(super) fn signed_in(&self, visitor: &Visitor, keyring: Option<&Keyring>) -> Response {
        let csrf = ("csrf", visitor.csrf());
        let mut page =
            Page::new("Signed in").says(&format!("You are signed in as {}.", visitor.caller().principal()));
        for kept in keyring.iter().flat_map(|keyring| &keyring.passkeys) {
            let used =
                kept.used_at.map_or_else(|| "never used".to_owned(), |at| format!("last used {}", day(at)));
            let told = format!("Passkey {}, added {}, {used}.", beginning(&kept.id), day(kept.created_at));
            let id = URL_SAFE_NO_PAD.encode(&kept.id);
            page = page.says(&told).form(
                "/auth/passkey/remove",
                &[csrf, ("id", &id)],
                &[],
                "Remove this passkey",
            );
        }
        if keyring.is_some() {
            page = self.passkey(page, "/signin", "/auth/passkey/new", &[csrf], "Add a passkey");
        }
        page.form("/signout", &[csrf], &[], "Sign out").answer(StatusCode::OK)
    }

    /// The page to sign in on: the handle that was typed before, and what went wrong.
    pub(super) fn sign_in(&self, handle: &str, told: Option<&str>, status: StatusCode) -> Response {
        let page = Page::new("Sign in").warns(told);
        let page = page.form("/signin", &[], &[Field::Handle(handle), Field::Password], "Sign in");
        let page = match &self.provider {
            Some(host) => page.link("/auth/oidc", &format!("Continue with {host}")),
            None => page,
        };
        let page = self.passkey(page, "/signin", "/auth/passkey", &[], "Sign in with a passkey");
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
        let own = format!("/invite/{code}");
        let hidden = [("invite", code)];
        self.passkey(page, &own, "/auth/passkey/new", &hidden, "Use a passkey instead").answer(status)
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

/// The day of a moment.
fn day(at: Timestamp) -> String {
    at.to_string().chars().take(10).collect()
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
