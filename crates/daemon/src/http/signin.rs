//! People signing in: which page they see, what a form of theirs does, and the cookie they leave with.

mod form;
mod page;

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequestParts, State};
use axum::response::Response;
use covenant_gate::Fault;
use covenant_gate::ports::signin::{CodeState, Proof};
use covenant_gate::signin::{Begun, Redeemed, Visitor, Way};
use covenant_model::team::Handle;
use covenant_model::token;
use http::header::{HeaderValue, LOCATION, RETRY_AFTER, SET_COOKIE};
use http::request::Parts;
use http::{HeaderMap, StatusCode};
use serde::Deserialize;

use self::form::Form;
use self::page::{Field, Page};
use super::document::{Asked, Segment};
use super::reply::Failure;
use super::via::{Port, Via};
use super::{auth, cookie};
use crate::daemon::Daemon;
use crate::signin::password::{NotLooked, Password};

/// What is said of a name and a password that do not belong together, whichever of them is wrong.
const WRONG: &str = "That handle and that password do not belong together.";

/// What is said of an invite that leads nowhere.
const ASK: &str = "Ask whoever invited you for another: covenant team invite HANDLE --again";

/// The port a browser came by. People do not sign in by the socket: whoever reaches that is known.
pub(crate) struct Door(Port);

/// What is asked of the page to sign in on.
#[derive(Deserialize)]
pub(crate) struct Wanted {
    code: Option<String>,
}

impl FromRequestParts<Arc<Daemon>> for Door {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<Daemon>) -> Result<Self, Failure> {
        match parts.extensions.get::<Via>() {
            Some(Via::Tcp(port)) => Ok(Self(*port)),
            _ => Err(auth::unmeant("people sign in in a browser, by the port and not by the socket")),
        }
    }
}

/// The page to sign in on, or the one that says who is signed in. A link is used by its button and not by being looked at:
/// programs that look at links for people would use it up.
pub(crate) async fn page(
    State(daemon): State<Arc<Daemon>>,
    Door(port): Door,
    headers: HeaderMap,
    Asked(wanted): Asked<Wanted>,
) -> Result<Response, Failure> {
    if let Some(code) = wanted.code {
        if token::hash(&code).is_none() {
            return Ok(bad_link("This is not a whole link.", StatusCode::NOT_FOUND));
        }
        let page = Page::new("Sign in").says("You are about to sign in as the operator of this home.");
        return Ok(page.form("/auth/link", &[("code", &code)], &[], "Sign in").answer(StatusCode::OK));
    }
    Ok(match visitor(&daemon, &headers, port).await? {
        Some(visitor) => {
            let principal = visitor.caller().principal();
            let page = Page::new("Signed in").says(&format!("You are signed in as {principal}."));
            page.form("/signout", &[("csrf", visitor.csrf())], &[], "Sign out").answer(StatusCode::OK)
        }
        None => password_page("", None, StatusCode::OK),
    })
}

/// Signs somebody in who knows their password.
pub(crate) async fn sign_in(
    State(daemon): State<Arc<Daemon>>,
    Door(port): Door,
    form: Form,
) -> Result<Response, Failure> {
    let typed = form.field("handle").trim();
    let typed = typed.strip_prefix('@').unwrap_or(typed);
    let handle = typed.parse::<Handle>().ok();
    // Only what could be a handle is repeated: people type their password there.
    let shown = handle.as_ref().map_or("", Handle::as_str);
    if let Err(wait) = daemon.signin.attempts.begin(handle.as_ref(), daemon.clock.now()) {
        daemon.gate.record_no_sign_in(None, "too many tries");
        return Ok(too_often(shown, wait));
    }
    let known = daemon.gate.password_of(typed).await?;
    let kept = known.as_ref().map(|(_, kept)| kept.clone());
    let password = Password::typed(form.field("password")).ok();
    let fits = match daemon.signin.passwords.fits(password, kept).await {
        Ok(fits) => fits,
        Err(NotLooked::Busy) => return Ok(too_often(shown, Duration::from_secs(5))),
        Err(NotLooked::Fault(fault)) => return Err(fault.into()),
    };
    let begun = match known.as_ref() {
        Some((handle, kept)) if fits => {
            daemon.gate.sign_in(handle, Way::Password, Proof::Password(kept.clone())).await?
        }
        _ => None,
    };
    let Some(begun) = begun else {
        daemon.gate.record_no_sign_in(known.as_ref().map(|(handle, _)| handle), "wrong password");
        return Ok(password_page(shown, Some(WRONG), StatusCode::FORBIDDEN));
    };
    if let Some(handle) = &handle {
        daemon.signin.attempts.succeeded(handle);
    }
    Ok(signed_in(&daemon, port, &begun)?)
}

/// Signs the operator in by their own link.
pub(crate) async fn by_link(
    State(daemon): State<Arc<Daemon>>,
    Door(port): Door,
    form: Form,
) -> Result<Response, Failure> {
    Ok(match daemon.gate.redeem_link(form.field("code")).await? {
        Redeemed::Done(begun) => signed_in(&daemon, port, &begun)?,
        Redeemed::Used => bad_link("This link was used already.", StatusCode::CONFLICT),
        Redeemed::Expired => bad_link("This link was good for a minute, which is over.", StatusCode::GONE),
        Redeemed::Unknown => bad_link("There is no such link.", StatusCode::NOT_FOUND),
    })
}

/// The page on which whoever was invited chooses a password.
pub(crate) async fn invite(
    State(daemon): State<Arc<Daemon>>,
    Door(_): Door,
    Segment(code): Segment,
) -> Result<Response, Failure> {
    let looked = daemon.gate.look_at_invite(&code).await?;
    Ok(match looked {
        CodeState::Good(principal) => invite_page(&code, Some(principal.name()), None, StatusCode::OK),
        CodeState::Used => bad_invite(&Redeemed::Used),
        CodeState::Expired => bad_invite(&Redeemed::Expired),
        CodeState::Unknown => bad_invite(&Redeemed::Unknown),
    })
}

/// Takes the password of whoever was invited. Of two who have one invite, one is in time.
pub(crate) async fn accept(
    State(daemon): State<Arc<Daemon>>,
    Door(port): Door,
    Segment(code): Segment,
    form: Form,
) -> Result<Response, Failure> {
    // A code that is no good costs nothing more than a look.
    let who = match daemon.gate.look_at_invite(&code).await? {
        CodeState::Good(principal) => principal,
        CodeState::Used => return Ok(bad_invite(&Redeemed::Used)),
        CodeState::Expired => return Ok(bad_invite(&Redeemed::Expired)),
        CodeState::Unknown => return Ok(bad_invite(&Redeemed::Unknown)),
    };
    let password = match Password::typed(form.field("password")) {
        Ok(password) => password,
        Err(unfit) => {
            let told = unfit.to_string();
            return Ok(invite_page(&code, Some(who.name()), Some(&told), StatusCode::UNPROCESSABLE_ENTITY));
        }
    };
    let kept = match daemon.signin.passwords.keep(password).await {
        Ok(kept) => kept,
        Err(NotLooked::Busy) => return Ok(too_often("", Duration::from_secs(5))),
        Err(NotLooked::Fault(fault)) => return Err(fault.into()),
    };
    Ok(match daemon.gate.redeem_invite(&code, kept).await? {
        Redeemed::Done(begun) => signed_in(&daemon, port, &begun)?,
        other => bad_invite(&other),
    })
}

/// Signs out whoever sends the form of their own page.
pub(crate) async fn sign_out(
    State(daemon): State<Arc<Daemon>>,
    Door(port): Door,
    headers: HeaderMap,
    form: Form,
) -> Result<Response, Failure> {
    if let Some(visitor) = visitor(&daemon, &headers, port).await? {
        if !visitor.is_word(form.field("csrf")) {
            return Err(auth::unmeant("this form was not sent by a page of this session"));
        }
        daemon.gate.sign_out(&visitor).await?;
    }
    Ok(onward(cookie::set(port, &daemon.config().http, "", 0))?)
}

async fn visitor(daemon: &Daemon, headers: &HeaderMap, port: Port) -> Result<Option<Visitor>, Fault> {
    match cookie::shown(headers, port) {
        Some(shown) => daemon.gate.visitor(shown).await,
        None => Ok(None),
    }
}

fn signed_in(daemon: &Daemon, port: Port, begun: &Begun) -> Result<Response, Fault> {
    onward(cookie::set(port, &daemon.config().http, begun.cookie.reveal(), begun.lasts.as_secs()))
}

/// Sends a browser to the page that says who is signed in, with that cookie.
fn onward(cookie: Option<HeaderValue>) -> Result<Response, Fault> {
    let cookie = cookie.ok_or_else(|| Fault::new("the cookie could not be written", "its shape is wrong"))?;
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SEE_OTHER;
    response.headers_mut().insert(LOCATION, HeaderValue::from_static("/signin"));
    response.headers_mut().insert(SET_COOKIE, cookie);
    Ok(response)
}

fn password_page(handle: &str, told: Option<&str>, status: StatusCode) -> Response {
    let page = Page::new("Sign in").warns(told);
    let page = page.form("/signin", &[], &[Field::Handle(handle), Field::Password], "Sign in");
    page.says("The operator of this home signs in with: covenant dashboard").answer(status)
}

fn invite_page(code: &str, handle: Option<&str>, told: Option<&str>, status: StatusCode) -> Response {
    let welcome =
        format!("You were invited as {}. Choose a password to sign in with.", handle.unwrap_or_default());
    let page = Page::new("Welcome").says(&welcome).warns(told);
    page.form(&format!("/invite/{code}"), &[], &[Field::NewPassword], "Set the password").answer(status)
}

fn bad_invite(redeemed: &Redeemed) -> Response {
    let (told, status) = match redeemed {
        Redeemed::Used => ("Somebody has used this invite already.", StatusCode::CONFLICT),
        Redeemed::Expired => ("This invite was good for seven days, which are over.", StatusCode::GONE),
        Redeemed::Done(_) | Redeemed::Unknown => {
            ("There is no such invite, or a newer one took its place.", StatusCode::NOT_FOUND)
        }
    };
    Page::new("This invite is no good").warns(Some(told)).says(ASK).answer(status)
}

fn bad_link(told: &str, status: StatusCode) -> Response {
    let page = Page::new("This link is no good").warns(Some(told));
    page.says("Ask for another where Covenant runs: covenant dashboard").answer(status)
}

fn too_often(handle: &str, wait: Duration) -> Response {
    let seconds = wait.as_secs().max(1);
    let told = match seconds {
        ..120 => format!("This was tried too often. Try again in {seconds} seconds."),
        _ => format!("This was tried too often. Try again in {} minutes.", seconds.div_ceil(60)),
    };
    let mut response = password_page(handle, Some(&told), StatusCode::TOO_MANY_REQUESTS);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    response
}
