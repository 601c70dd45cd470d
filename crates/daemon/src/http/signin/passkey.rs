//! Passkeys in a browser: the challenge it is given, a passkey made by an invite or added, one used to sign in, one removed.
//!
//! A script gets the challenge and fills in the form; the form is sent like any other, and whatever comes of it is a page.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use covenant_gate::ports::passkeys::{Added, NewPasskey, Removed};
use covenant_gate::ports::signin::{Chosen, CodeState, Proof};
use covenant_gate::signin::{Keyring, Redeemed, SignedIn, Visitor};
use covenant_model::principal::Principal;
use covenant_model::team::Handle;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use http::{HeaderMap, StatusCode};
use serde::Serialize;

use super::super::auth;
use super::super::reply::{self, Failure};
use super::super::via::Port;
use super::form::Form;
use super::page::Page;
use super::pages::{Offer, bad_invite};
use super::{BUSY, Door, leads_to, place, signed_in, visitor};
use crate::daemon::Daemon;
use crate::signin::passkey::{Made, PATIENCE, Purpose, Site, Used, Wrong};

/// The script of the pages.
const SCRIPT: &str = include_str!("passkey.js");

/// What is said where passkeys cannot be used.
const NOWHERE: &str =
    "passkeys cannot be used at this address: they need a name, such as localhost or that of `public_url`";

/// What a browser is asked.
#[derive(Serialize)]
struct Asked {
    challenge: String,
    rp_id: String,
    origin: String,
    timeout_ms: u64,
    /// Who makes a passkey; nobody where one is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<User>,
    /// The passkeys they have, which are not to be made again.
    known: Vec<String>,
}

#[derive(Serialize)]
struct User {
    id: String,
    name: String,
}

/// The script, which is the same for everybody.
pub(crate) async fn script() -> Response {
    let mut response = Response::new(Body::from(SCRIPT));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/javascript; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

/// A challenge: to sign in, or to make a passkey by an invite or for who is signed in.
pub(crate) async fn challenge(
    State(daemon): State<Arc<Daemon>>,
    Door(port): Door,
    headers: HeaderMap,
    form: Form,
) -> Result<Response, Failure> {
    let Some(site) = site(&daemon, port, &headers) else { return Err(Failure::invalid(NOWHERE)) };
    let (purpose, user, known) = match (form.field("invite"), form.field("csrf")) {
        ("", "") => (Purpose::SignIn, None, Vec::new()),
        (code, "") => {
            let CodeState::Good(who) = daemon.gate.look_at_invite(code).await? else {
                return Err(Failure::invalid(
                    "this invite is no good any more; open its link again to see why",
                ));
            };
            let user = user(&daemon, &who).await?;
            (Purpose::Invite(code.to_owned()), Some(user), Vec::new())
        }
        (_, word) => {
            let (visitor, keyring) = owner(&daemon, &headers, port, word).await?;
            let known = keyring.passkeys.iter().map(|kept| URL_SAFE_NO_PAD.encode(&kept.id)).collect();
            let who = visitor.caller().principal().clone();
            let user = user(&daemon, &who).await?;
            (Purpose::Add(who), Some(user), known)
        }
    };
    let challenge = daemon.signin.challenges.begin(purpose, daemon.clock.now())?;
    let Site { origin, name } = site;
    let timeout_ms = u64::try_from(PATIENCE.as_millis()).unwrap_or(u64::MAX);
    reply::json_with_token(StatusCode::OK, &Asked { challenge, rp_id: name, origin, timeout_ms, user, known })
}

/// Signs somebody in by their passkey.
pub(crate) async fn sign_in(
    State(daemon): State<Arc<Daemon>>,
    Door(port): Door,
    headers: HeaderMap,
    form: Form,
) -> Result<Response, Failure> {
    let offer = Offer::of(&daemon, port, &headers);
    let Some(site) = site(&daemon, port, &headers) else { return Err(Failure::invalid(NOWHERE)) };
    let id = bytes(&form, "id");
    let known = daemon.gate.passkey(id.clone()).await?;
    let handle = known.as_ref().map(|(handle, ..)| handle);
    let [client_data, told, signature, user] =
        ["client_data", "authenticator_data", "signature", "user"].map(|name| bytes(&form, name));
    let answer = Used { client_data: &client_data, told: &told, signature: &signature, user: &user };
    let theirs = known.as_ref().map(|(_, owner, passkey)| (owner, passkey));
    let judged = daemon.signin.challenges.used(&answer, theirs, &site, daemon.clock.now());
    let done = match (judged, handle) {
        (Ok(counter), Some(handle)) => daemon.gate.sign_in(handle, Proof::Passkey { id, counter }).await?,
        (Ok(_), None) => SignedIn::Gone,
        (Err(Wrong::TooOften), _) => return Ok(offer.too_often("", BUSY)),
        (Err(wrong), _) => return Ok(not_signed_in(&daemon, &offer, handle, wrong)),
    };
    Ok(match done {
        SignedIn::Done(begun) => signed_in(&daemon, port, &begun)?,
        SignedIn::Gone => not_signed_in(&daemon, &offer, handle, Wrong::Unknown),
        SignedIn::CountedBack => not_signed_in(&daemon, &offer, handle, Wrong::CountedBack),
    })
}

/// Takes a passkey that was made: by an invite, or for who is signed in.
pub(crate) async fn make(
    State(daemon): State<Arc<Daemon>>,
    Door(port): Door,
    headers: HeaderMap,
    form: Form,
) -> Result<Response, Failure> {
    let Some(site) = site(&daemon, port, &headers) else { return Err(Failure::invalid(NOWHERE)) };
    let code = form.field("invite");
    if code.is_empty() {
        return add(&daemon, port, &headers, &site, &form).await;
    }
    let made = match made(&daemon, &site, &form, &Purpose::Invite(code.to_owned())) {
        Ok(made) => made,
        Err(wrong) => {
            daemon.gate.record_no_sign_in(None, "a passkey that is not taken");
            return Ok(not_made(&wrong.to_string(), &format!("/invite/{code}")));
        }
    };
    Ok(match daemon.gate.redeem_invite(code, Chosen::Passkey(made)).await? {
        Redeemed::Done(begun) => signed_in(&daemon, port, &begun)?,
        other => bad_invite(&other),
    })
}

async fn add(
    daemon: &Daemon,
    port: Port,
    headers: &HeaderMap,
    site: &Site,
    form: &Form,
) -> Result<Response, Failure> {
    let (visitor, _) = owner(daemon, headers, port, form.field("csrf")).await?;
    let purpose = Purpose::Add(visitor.caller().principal().clone());
    let told = match made(daemon, site, form, &purpose) {
        Ok(made) => match daemon.gate.add_passkey(&visitor, made).await? {
            Added::Done => return Ok(leads_to(HeaderValue::from_static("/signin"))),
            Added::Taken => "This passkey is known here already.".to_owned(),
            Added::Full => {
                "You have twenty passkeys, which is as many as one may have: remove one first.".to_owned()
            }
            Added::Gone => "You do not belong to this home any more.".to_owned(),
        },
        Err(wrong) => wrong.to_string(),
    };
    Ok(not_made(&told, "/signin"))
}

/// Removes a passkey of who is signed in.
pub(crate) async fn remove(
    State(daemon): State<Arc<Daemon>>,
    Door(port): Door,
    headers: HeaderMap,
    form: Form,
) -> Result<Response, Failure> {
    let (visitor, _) = owner(&daemon, &headers, port, form.field("csrf")).await?;
    let (told, status) = match daemon.gate.remove_passkey(&visitor, bytes(&form, "id")).await? {
        Removed::Done => return Ok(leads_to(HeaderValue::from_static("/signin"))),
        Removed::Unknown => ("You have no such passkey, or not any more.", StatusCode::NOT_FOUND),
        Removed::Last => {
            let told =
                "This is your only way to sign in: add another passkey first, and then remove this one.";
            (told, StatusCode::CONFLICT)
        }
    };
    Ok(Page::new("Nothing was removed").warns(Some(told)).link("/signin", "Back").answer(status))
}

/// Where passkeys are bound to, as this browser asks; none where there is no name.
fn site(daemon: &Daemon, port: Port, headers: &HeaderMap) -> Option<Site> {
    Site::at(&place::origin(headers, port, &daemon.config().http)?)
}

/// Who is signed in and may have passkeys, if their own page asks.
async fn owner(
    daemon: &Daemon,
    headers: &HeaderMap,
    port: Port,
    word: &str,
) -> Result<(Visitor, Keyring), Failure> {
    let visitor = visitor(daemon, headers, port).await?.filter(|visitor| visitor.is_word(word));
    let visitor = visitor.ok_or_else(|| auth::unmeant("this form was not sent by a page of this session"))?;
    match daemon.gate.keyring(&visitor).await? {
        Some(keyring) => Ok((visitor, keyring)),
        None => Err(Failure::invalid("the operator has no passkeys: they sign in with `covenant dashboard`")),
    }
}

/// What a device calls whoever makes a passkey.
async fn user(daemon: &Daemon, who: &Principal) -> Result<User, Failure> {
    let Some((developer, _)) = daemon.gate.whereabouts(who).await? else {
        return Err(Failure::invalid("whoever this is for does not belong to this home any more"));
    };
    Ok(User { id: URL_SAFE_NO_PAD.encode(developer.id.as_str()), name: developer.handle.to_string() })
}

fn made(daemon: &Daemon, site: &Site, form: &Form, purpose: &Purpose) -> Result<NewPasskey, Wrong> {
    let [client_data, attestation] = ["client_data", "attestation"].map(|name| bytes(form, name));
    let made = Made { client_data: &client_data, attestation: &attestation };
    daemon.signin.challenges.made(&made, purpose, site, daemon.clock.now())
}

/// A field that the script filled in. What is no such thing is nothing, which nobody takes.
fn bytes(form: &Form, name: &str) -> Vec<u8> {
    URL_SAFE_NO_PAD.decode(form.field(name)).unwrap_or_default()
}

fn not_signed_in(daemon: &Daemon, offer: &Offer, handle: Option<&Handle>, wrong: Wrong) -> Response {
    // The gate has written down that one counted back.
    if wrong != Wrong::CountedBack {
        daemon.gate.record_no_sign_in(handle, "a passkey that is not taken");
    }
    offer.sign_in("", Some(&wrong.to_string()), StatusCode::FORBIDDEN)
}

fn not_made(told: &str, back: &str) -> Response {
    let page = Page::new("There is no new passkey").warns(Some(told));
    page.link(back, "Back").answer(StatusCode::UNPROCESSABLE_ENTITY)
}
