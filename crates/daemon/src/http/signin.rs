//! People signing in: which page they see, what a form of theirs does, and the cookie they leave with.

mod form;
pub(crate) mod oidc;
mod page;
mod pages;
pub(crate) mod passkey;
mod place;

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequestParts, State};
use axum::response::Response;
use covenant_gate::Fault;
use covenant_gate::ports::signin::{Chosen, CodeState, Proof};
use covenant_gate::signin::{Begun, Redeemed, SignedIn, Visitor};
use covenant_model::principal::Principal;
use covenant_model::team::Handle;
use covenant_model::token;
use http::header::{HeaderValue, LOCATION, SET_COOKIE};
use http::request::Parts;
use http::{HeaderMap, StatusCode};
use serde::Deserialize;

use self::form::Form;
use self::page::Page;
use self::pages::{Offer, bad_invite, bad_link};
use super::document::{Asked, Segment};
use super::reply::Failure;
use super::via::{Port, Via};
use super::{auth, cookie};
use crate::daemon::Daemon;
use crate::signin::password::{NotLooked, Password};

/// What is said of a name and a password that do not belong together, whichever of them is wrong.
const WRONG: &str = "That handle and that password do not belong together.";

/// How long to wait where too many are looked at at a time.
const BUSY: Duration = Duration::from_secs(5);

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
            let keyring = daemon.gate.keyring(&visitor).await?;
            Offer::of(&daemon, port, &headers).signed_in(&visitor, keyring.as_ref())
        }
        None => Offer::of(&daemon, port, &headers).sign_in("", None, StatusCode::OK),
    })
}

/// Signs somebody in who knows their password.
pub(crate) async fn sign_in(
    State(daemon): State<Arc<Daemon>>,
    Door(port): Door,
    headers: HeaderMap,
    form: Form,
) -> Result<Response, Failure> {
    let offer = Offer::of(&daemon, port, &headers);
    let typed = form.field("handle").trim();
    let typed = typed.strip_prefix('@').unwrap_or(typed);
    let handle = typed.parse::<Handle>().ok();
    // Only what could be a handle is repeated: people type their password there.
    let shown = handle.as_ref().map_or("", Handle::as_str);
    let now = daemon.clock.now();
    if let Err(wait) = daemon.signin.attempts.begin(handle.as_ref(), now) {
        daemon.gate.record_no_sign_in(None, "too many tries");
        return Ok(offer.too_often(shown, wait));
    }
    let known = daemon.gate.password_of(typed).await?;
    let kept = known.as_ref().map(|(_, kept)| kept.clone());
    let password = Password::typed(form.field("password")).ok();
    let fits = match daemon.signin.passwords.fits(password, kept).await {
        Ok(fits) => fits,
        Err(NotLooked::Busy) => {
            // It counts: a password that was wrong is told so too.
            daemon.gate.record_no_sign_in(None, "too many tries");
            return Ok(offer.too_often(shown, BUSY));
        }
        Err(NotLooked::Fault(fault)) => return Err(fault.into()),
    };
    let begun = match known.as_ref() {
        Some((handle, kept)) if fits => daemon.gate.sign_in(handle, Proof::Password(kept.clone())).await?,
        _ => SignedIn::Gone,
    };
    let SignedIn::Done(begun) = begun else {
        daemon.gate.record_no_sign_in(known.as_ref().map(|(handle, _)| handle), "wrong password");
        return Ok(offer.sign_in(shown, Some(WRONG), StatusCode::FORBIDDEN));
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
    let ground = cookie::ground(port, &daemon.config().http);
    Ok(match daemon.gate.redeem_link(form.field("code"), ground).await? {
        Redeemed::Done(begun) => signed_in(&daemon, port, &begun)?,
        Redeemed::Used => bad_link("This link was used already.", StatusCode::CONFLICT),
        Redeemed::Expired => bad_link("This link was good for a minute, which is over.", StatusCode::GONE),
        Redeemed::Unknown | Redeemed::Taken => bad_link("There is no such link.", StatusCode::NOT_FOUND),
    })
}

/// The page on which whoever was invited chooses how they sign in.
pub(crate) async fn invite(
    State(daemon): State<Arc<Daemon>>,
    Door(port): Door,
    headers: HeaderMap,
    Segment(code): Segment,
) -> Result<Response, Failure> {
    Ok(match invited(&daemon, &code).await? {
        Ok(who) => Offer::of(&daemon, port, &headers).invite(&code, &who, None, StatusCode::OK),
        Err(page) => page,
    })
}

/// Takes the password of whoever was invited. Of two who have one invite, one is in time.
pub(crate) async fn accept(
    State(daemon): State<Arc<Daemon>>,
    Door(port): Door,
    headers: HeaderMap,
    Segment(code): Segment,
    form: Form,
) -> Result<Response, Failure> {
    // A code that is no good costs nothing more than a look.
    let who = match invited(&daemon, &code).await? {
        Ok(who) => who,
        Err(page) => return Ok(page),
    };
    let offer = Offer::of(&daemon, port, &headers);
    let password = match Password::typed(form.field("password")) {
        Ok(password) => password,
        Err(unfit) => {
            let told = unfit.to_string();
            return Ok(offer.invite(&code, &who, Some(&told), StatusCode::UNPROCESSABLE_ENTITY));
        }
    };
    let kept = match daemon.signin.passwords.keep(password).await {
        Ok(kept) => kept,
        Err(NotLooked::Busy) => return Ok(offer.too_often("", BUSY)),
        Err(NotLooked::Fault(fault)) => return Err(fault.into()),
    };
    Ok(match daemon.gate.redeem_invite(&code, Chosen::Password(kept)).await? {
        Redeemed::Done(begun) => {
            // Whoever forgot their password tried it first: what was typed then counts no more.
            if let Ok(handle) = who.name().parse() {
                daemon.signin.attempts.succeeded(&handle);
            }
            signed_in(&daemon, port, &begun)?
        }
        other => bad_invite(&other),
    })
}

/// Who was invited by that code; otherwise the page that says why nobody is.
async fn invited(daemon: &Daemon, code: &str) -> Result<Result<Principal, Response>, Fault> {
    Ok(match daemon.gate.look_at_invite(code).await? {
        CodeState::Good(principal) => Ok(principal),
        CodeState::Used => Err(bad_invite(&Redeemed::Used)),
        CodeState::Expired => Err(bad_invite(&Redeemed::Expired)),
        CodeState::Unknown | CodeState::Taken => Err(bad_invite(&Redeemed::Unknown)),
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
    let http = &daemon.config().http;
    match cookie::shown(headers, port, http) {
        Some(shown) => daemon.gate.visitor(shown, cookie::ground(port, http)).await,
        None => Ok(None),
    }
}

fn signed_in(daemon: &Daemon, port: Port, begun: &Begun) -> Result<Response, Fault> {
    onward(cookie::set(port, &daemon.config().http, begun.cookie.reveal(), begun.lasts.as_secs()))
}

/// Sends a browser to the page that says who is signed in, with that cookie.
fn onward(cookie: Option<HeaderValue>) -> Result<Response, Fault> {
    with_cookie(leads_to(HeaderValue::from_static("/signin")), cookie)
}

/// Sends a browser there.
fn leads_to(place: HeaderValue) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SEE_OTHER;
    response.headers_mut().insert(LOCATION, place);
    response
}

fn with_cookie(mut response: Response, cookie: Option<HeaderValue>) -> Result<Response, Fault> {
    let cookie = cookie.ok_or_else(|| Fault::new("the cookie could not be written", "its shape is wrong"))?;
    response.headers_mut().append(SET_COOKIE, cookie);
    Ok(response)
}
