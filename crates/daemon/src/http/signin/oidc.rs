//! Signing in by a provider of identities: on the way there, and back. Whatever goes wrong is a page and a row, and nothing else.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use covenant_gate::Fault;
use covenant_gate::ports::signin::{Chosen, Identity, Proof};
use covenant_gate::signin::{Begun, Redeemed, SignedIn};
use http::header::RETRY_AFTER;
use http::{HeaderMap, HeaderValue, StatusCode};
use reqwest::Url;
use serde::Deserialize;
use subtle::ConstantTimeEq as _;

use super::super::cookie;
use super::super::document::Asked;
use super::super::reply::Failure;
use super::super::via::Port;
use super::form::Form;
use super::page::Page;
use super::pages::bad_invite;
use super::{BUSY, Door, invited, leads_to, place, with_cookie};
use crate::daemon::Daemon;
use crate::signin::oidc::{Client, Flow, Trouble, word};

/// Where the provider sends people back to.
const CALLBACK: &str = "/auth/oidc/callback";

/// How many seconds a browser keeps what is under way; the daemon looks as well.
const KEPT: u64 = 600;

/// The most bytes of a code.
const LONGEST: usize = 4096;

/// What a provider sends somebody back with.
#[derive(Deserialize)]
pub(crate) struct Returned {
    code: Option<String>,
    state: Option<String>,
    error: Option<String>,
    iss: Option<String>,
}

/// Who came back, and what became of them.
enum Arrival {
    In(Begun),
    Stranger,
    Not(Redeemed),
}

/// Sends somebody to the provider. Nothing happens by that: who comes back is who they are there.
pub(crate) async fn begin(
    State(daemon): State<Arc<Daemon>>,
    Door(port): Door,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    match way(&daemon, port, &headers, None).await? {
        Ok((url, cookie)) => match HeaderValue::try_from(url.as_str()) {
            Ok(url) => Ok(with_cookie(leads_to(url), cookie)?),
            Err(_) => Ok(not_signed_in(&daemon, &Trouble::NotSetUp)),
        },
        Err(trouble) => Ok(not_signed_in(&daemon, &trouble)),
    }
}

/// Sends somebody to the provider who was invited. By a form of our own page: nobody else can send a browser off with an invite
/// of theirs, and bind to it whoever sits before that browser.
pub(crate) async fn bind(
    State(daemon): State<Arc<Daemon>>,
    Door(port): Door,
    headers: HeaderMap,
    form: Form,
) -> Result<Response, Failure> {
    let code = form.field("invite");
    if let Err(page) = invited(&daemon, code).await? {
        return Ok(page);
    }
    let (url, cookie) = match way(&daemon, port, &headers, Some(code.to_owned())).await? {
        Ok(way) => way,
        Err(trouble) => return Ok(not_signed_in(&daemon, &trouble)),
    };
    // A page and no redirect: browsers hold the redirects of a form against the policy of its page.
    let host = url.host_str().unwrap_or_default();
    let page = Page::new("One moment").onward(url.as_str(), &format!("Go on to {host}"));
    Ok(with_cookie(page.answer(StatusCode::OK), cookie)?)
}

/// Signs in whoever the provider sends back, if they are somebody here.
pub(crate) async fn callback(
    State(daemon): State<Arc<Daemon>>,
    Door(port): Door,
    headers: HeaderMap,
    returned: Result<Asked<Returned>, Failure>,
) -> Result<Response, Failure> {
    let returned = returned.ok().map(|Asked(returned)| returned);
    let response = match arrival(&daemon, port, &headers, returned).await? {
        Ok(Arrival::In(begun)) => signed_in(&daemon, port, &begun)?,
        Ok(Arrival::Stranger) => stranger(&daemon),
        Ok(Arrival::Not(redeemed)) => bad_invite(&redeemed),
        Err(trouble) => not_signed_in(&daemon, &trouble),
    };
    // Whatever became of it, it is over.
    Ok(with_cookie(response, cookie::set_flow(port, &daemon.config().http, "", 0))?)
}

type Way = (Url, Option<HeaderValue>);

/// Where somebody is sent, and the cookie that knows them when they come back.
async fn way(
    daemon: &Daemon,
    port: Port,
    headers: &HeaderMap,
    invite: Option<String>,
) -> Result<Result<Way, Trouble>, Fault> {
    let http = &daemon.config().http;
    let client = match client(daemon) {
        Ok(client) => client,
        Err(trouble) => return Ok(Err(trouble)),
    };
    let Some(origin) = place::origin(headers, port, http) else { return Ok(Err(Trouble::NoPlace)) };
    let flow = Flow::new(format!("{origin}{CALLBACK}"), invite)?;
    let url = match daemon.signin.provider.way(&client, &flow).await {
        Ok(url) => url,
        Err(trouble) => return Ok(Err(trouble)),
    };
    let secret = daemon.signin.provider.flows.begin(flow, daemon.clock.now())?;
    Ok(Ok((url, cookie::set_flow(port, http, secret.reveal(), KEPT))))
}

/// What we are to the provider, as it is set up now.
fn client(daemon: &Daemon) -> Result<Client, Trouble> {
    let config = daemon.config();
    let oidc = config.oidc.as_ref().ok_or(Trouble::NotSetUp)?;
    let secret = oidc.secret(&daemon.secrets()).map_err(|_| Trouble::NoSecret)?;
    Ok(Client {
        issuer: oidc.issuer.clone(),
        id: oidc.client_id.clone(),
        secret,
        web: daemon.toolbox.web(),
        now: daemon.clock.now(),
    })
}

async fn arrival(
    daemon: &Daemon,
    port: Port,
    headers: &HeaderMap,
    returned: Option<Returned>,
) -> Result<Result<Arrival, Trouble>, Fault> {
    let shown = cookie::shown_flow(headers, port, &daemon.config().http);
    let flow = shown.and_then(|shown| daemon.signin.provider.flows.take(shown, daemon.clock.now()));
    let (Some(flow), Some(returned)) = (flow, returned) else { return Ok(Err(Trouble::Stray)) };
    let identity = match identity(daemon, &flow, &returned).await {
        Ok(identity) => identity,
        Err(trouble) => return Ok(Err(trouble)),
    };
    let Some(invite) = &flow.invite else { return Ok(Ok(known(daemon, identity).await?)) };
    Ok(Ok(match daemon.gate.redeem_invite(invite, Chosen::Identity(identity)).await? {
        Redeemed::Done(begun) => Arrival::In(begun),
        other => Arrival::Not(other),
    }))
}

/// Who the provider says that it is.
async fn identity(daemon: &Daemon, flow: &Flow, returned: &Returned) -> Result<Identity, Trouble> {
    let state = returned.state.as_deref().unwrap_or_default();
    if !bool::from(state.as_bytes().ct_eq(flow.state.as_bytes())) {
        return Err(Trouble::Stray);
    }
    if let Some(error) = &returned.error {
        return Err(Trouble::Declined(word(error)));
    }
    let client = client(daemon)?;
    if returned.iss.as_ref().is_some_and(|issuer| *issuer != client.issuer) {
        return Err(Trouble::Stray);
    }
    let code = returned.code.as_deref().filter(|code| (1..=LONGEST).contains(&code.len()));
    daemon.signin.provider.identity(&client, flow, code.ok_or(Trouble::Stray)?).await
}

/// Signs somebody in who is known already.
async fn known(daemon: &Daemon, identity: Identity) -> Result<Arrival, Fault> {
    let Some(handle) = daemon.gate.person(identity.clone()).await? else { return Ok(Arrival::Stranger) };
    Ok(match daemon.gate.sign_in(&handle, Proof::Identity(identity)).await? {
        SignedIn::Done(begun) => Arrival::In(begun),
        SignedIn::Gone | SignedIn::CountedBack => Arrival::Stranger,
    })
}

/// Signed in, by a page and no redirect: a redirect would still come from the provider's site, and the cookie of a session is for
/// pages of our own alone.
fn signed_in(daemon: &Daemon, port: Port, begun: &Begun) -> Result<Response, Fault> {
    let page = Page::new("Signed in").onward("/signin", "Go on").answer(StatusCode::OK);
    let lasts = begun.lasts.as_secs();
    with_cookie(page, cookie::set(port, &daemon.config().http, begun.cookie.reveal(), lasts))
}

fn stranger(daemon: &Daemon) -> Response {
    daemon.gate.record_no_sign_in(None, "nobody's identity");
    let host = daemon.config().oidc.as_ref().map(crate::config::oidc::Oidc::host).unwrap_or_default();
    let told = format!("{host} knows you, and nobody here is who it says you are.");
    let page = Page::new("You are not signed in").warns(Some(&told));
    page.says(&format!(
        "You need an invite: ask for one, open its link, and choose there to continue with {host}. From then on you sign in so."
    ))
    .link("/signin", "Back")
    .answer(StatusCode::FORBIDDEN)
}

fn not_signed_in(daemon: &Daemon, trouble: &Trouble) -> Response {
    let told = trouble.to_string();
    daemon.gate.record_no_sign_in(None, &told);
    let page = Page::new("You are not signed in").warns(Some(&told));
    let page = page
        .says("Nothing was changed. Whoever came by an invite opens its link again; everybody else begins anew.")
        .link("/signin", "Begin anew");
    let mut response = page.answer(trouble.status());
    if *trouble == Trouble::Busy {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(BUSY.as_secs()));
    }
    response
}
