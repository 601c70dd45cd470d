//! People who sign in in a browser: by a link, an invite or what they know, into a session that a cookie stands for. Each of
//! these is a row.
//!
//! Whether a password, a passkey or the word of a provider is good, the daemon finds out; who may be signed in, and for how long,
//! is decided here.

mod everywhere;
mod passkey;
mod term;
mod visitor;

pub use passkey::{Keyring, beginning};
pub use term::Ground;
pub use visitor::Visitor;
pub(crate) use visitor::Visitors;

use std::time::Duration;

use covenant_model::api::Member;
use covenant_model::audit::{Decision, Event, Kind};
use covenant_model::principal::Principal;
use covenant_model::secret::Secret;
use covenant_model::team::{Developer, Handle, WorkspaceName};
use covenant_model::time::Timestamp;
use covenant_model::token::{self, TokenHash};

use self::term::{LONG, Term};
use crate::gate::Gate;
use crate::limit::elapsed;
use crate::operator::Operator;
use crate::people::PeopleError;
use crate::ports::signin::{
    Beginning, Chosen, CodeKind, CodeState, Identity, NewCode, Opening, Proof, Redeeming,
};
use crate::random;
use crate::refusal::Fault;
use crate::steward::Steward;

/// How long the operator's own link is good: as long as it takes to open it.
const LINK: Duration = Duration::from_mins(1);

/// How long an invite is good.
const INVITE: Duration = Duration::from_hours(7 * 24);

/// A code that was made. This is the only time it is shown.
#[derive(Debug)]
pub struct Code {
    /// What stands in the link. It has the shape of a token, by which it is redacted wherever it should not be.
    pub code: Secret,
    /// Until when it is good.
    pub expires_at: Timestamp,
}

/// A session that has begun.
#[derive(Debug)]
pub struct Begun {
    /// Who is signed in.
    pub principal: Principal,
    /// What the browser shows from now on, shown this once.
    pub cookie: Secret,
    /// How long it lasts.
    pub lasts: Duration,
}

/// What became of using a code.
#[derive(Debug)]
pub enum Redeemed {
    /// They are signed in.
    Done(Begun),
    /// Somebody has used it.
    Used,
    /// It was not used in time.
    Expired,
    /// There is no such code, or none any more.
    Unknown,
    /// What was chosen with it is somebody else's. It is good still.
    Taken,
}

/// What became of signing somebody in who has shown who they are.
#[derive(Debug)]
pub enum SignedIn {
    /// They are.
    Done(Begun),
    /// They are gone, or what they showed is good no more.
    Gone,
    /// Their passkey counts back: there are two of it.
    CountedBack,
}

impl Gate {
    /// A link for the operator, who asks for it where they are known already.
    pub async fn link(&self, _: &Operator) -> Result<Code, Fault> {
        let (code, _) = self.keep_code(CodeKind::Link, Principal::operator(), LINK).await?;
        Ok(code)
    }

    /// Another invite for somebody who was invited: the earlier ones end, and with it they choose anew how they sign in.
    pub async fn invite_again(&self, steward: &Steward, handle: &str) -> Result<(Member, Code), PeopleError> {
        self.may_administer(steward)?;
        let developer = self.developer(steward, handle).await?;
        if developer.handle == Handle::local() {
            return Err(PeopleError::Unfit);
        }
        let principal = developer.principal();
        // Whoever has the link can be that one: it is written down before there is any.
        self.record_by(&steward.actor, Kind::DeveloperInvited, principal.as_str(), Some("again")).await?;
        let code = self.invite_code(&developer).await?;
        let place = self.whereabouts(&principal).await?;
        let (developer, workspace) = place.ok_or_else(|| PeopleError::NoDeveloper(handle.to_owned()))?;
        Ok((Member::of(developer, workspace), code))
    }

    /// The invite of somebody who was just taken in.
    pub(crate) async fn invite_code(&self, developer: &Developer) -> Result<Code, PeopleError> {
        match self.keep_code(CodeKind::Invite, developer.principal(), INVITE).await? {
            (code, true) => Ok(code),
            (_, false) => Err(PeopleError::NoDeveloper(developer.handle.to_string())),
        }
    }

    async fn keep_code(
        &self,
        kind: CodeKind,
        principal: Principal,
        lasts: Duration,
    ) -> Result<(Code, bool), Fault> {
        let (code, hash) = secret()?;
        let created_at = self.clock.now();
        let expires_at = created_at.plus(lasts);
        let kept = self.store.add_code(NewCode { hash, kind, principal, created_at, expires_at }).await?;
        Ok((Code { code, expires_at }, kept))
    }

    /// How an invite stands; nothing is used up.
    pub async fn look_at_invite(&self, code: &str) -> Result<CodeState, Fault> {
        match token::hash(code) {
            Some(hash) => self.store.code(hash, CodeKind::Invite, self.clock.now()).await,
            None => Ok(CodeState::Unknown),
        }
    }

    /// Signs the operator in by a link of theirs, once.
    pub async fn redeem_link(&self, code: &str, ground: Ground) -> Result<Redeemed, Fault> {
        let term = Term::of(&Principal::operator(), ground);
        self.redeem(code, Redeeming::Link, term, "by a link").await
    }

    /// Takes how whoever was invited wants to sign in from now on, and signs them in, once.
    pub async fn redeem_invite(&self, code: &str, chosen: Chosen) -> Result<Redeemed, Fault> {
        let (kind, what) = match &chosen {
            Chosen::Password(_) => (Kind::PasswordSet, None),
            Chosen::Identity(identity) => (Kind::IdentityLinked, Some(identity.issuer.clone())),
            Chosen::Passkey(made) => (Kind::PasskeyAdded, Some(passkey::beginning(&made.id))),
        };
        let redeemed = self.redeem(code, Redeeming::Invite(chosen), LONG, "by an invite").await?;
        if let Redeemed::Done(begun) = &redeemed {
            // Their own tokens ended with it. Whoever listens is asked anew who it is.
            self.load_tokens().await?;
            self.announce();
            self.record_own_way(&begun.principal, kind, what.as_deref()).await?;
        }
        Ok(redeemed)
    }

    /// Writes down what somebody did to how they sign in.
    async fn record_own_way(&self, who: &Principal, kind: Kind, what: Option<&str>) -> Result<(), Fault> {
        let mut event = Event::new(who.as_str(), who.as_str(), kind, Decision::Done);
        event.reason = what;
        self.audit().append(std::slice::from_ref(&event), &self.redactor()).await.map(drop)
    }

    async fn redeem(&self, code: &str, using: Redeeming, term: Term, how: &str) -> Result<Redeemed, Fault> {
        let Some(hash) = token::hash(code) else { return Ok(self.no_code("unknown", Redeemed::Unknown)) };
        let (cookie, session) = self.beginning(term)?;
        let own = session.clone();
        Ok(match self.store.redeem(hash, using, session).await? {
            CodeState::Good(principal) => Redeemed::Done(self.begun(principal, cookie, own, how).await?),
            CodeState::Used => self.no_code("used", Redeemed::Used),
            CodeState::Expired => self.no_code("expired", Redeemed::Expired),
            CodeState::Unknown => self.no_code("unknown", Redeemed::Unknown),
            CodeState::Taken => self.no_code("somebody else's", Redeemed::Taken),
        })
    }

    fn no_code(&self, why: &str, redeemed: Redeemed) -> Redeemed {
        self.record_no_sign_in(None, why);
        redeemed
    }

    /// Who has that handle, and what is kept of their password, if they have one.
    pub async fn password_of(&self, handle: &str) -> Result<Option<(Handle, String)>, Fault> {
        let Ok(handle) = handle.parse::<Handle>() else { return Ok(None) };
        let Some(developer) = self.store.developer(handle.clone()).await? else { return Ok(None) };
        let kept = self.store.password(developer.id).await?;
        Ok(kept.map(|password| (handle, password)))
    }

    /// Who somebody is whom a provider calls that; none of strangers and of who was removed.
    pub async fn person(&self, identity: Identity) -> Result<Option<Handle>, Fault> {
        self.store.person(identity).await
    }

    /// Signs somebody in who has shown that they are who has that handle: whoever calls this has looked.
    pub async fn sign_in(&self, handle: &Handle, proof: Proof) -> Result<SignedIn, Fault> {
        let (cookie, session) = self.beginning(LONG)?;
        let (own, principal, how) = (session.clone(), Principal::from(handle), how(&proof));
        Ok(match self.store.begin_session(principal.clone(), proof, session).await? {
            Opening::Done => SignedIn::Done(self.begun(principal, cookie, own, how).await?),
            Opening::Gone => SignedIn::Gone,
            Opening::CountedBack => {
                self.record_counted_back(&principal).await?;
                SignedIn::CountedBack
            }
        })
    }

    fn beginning(&self, term: Term) -> Result<(Secret, Beginning), Fault> {
        let (cookie, hash) = secret()?;
        let at = self.clock.now();
        Ok((cookie, Beginning { hash, at, expires_at: at.plus(term.whole) }))
    }

    /// Writes down that a session has begun; without a row there is none.
    async fn begun(
        &self,
        principal: Principal,
        cookie: Secret,
        session: Beginning,
        how: &str,
    ) -> Result<Begun, Fault> {
        let mut event = Event::new(principal.as_str(), principal.as_str(), Kind::SignedIn, Decision::Done);
        event.reason = Some(how);
        let written = self.audit().append(std::slice::from_ref(&event), &self.redactor()).await;
        if let Err(fault) = written {
            self.store.end_web_session(session.hash, self.clock.now()).await?;
            return Err(fault);
        }
        Ok(Begun { principal, cookie, lasts: session.expires_at.since(session.at) })
    }

    /// Writes down that somebody was not signed in; of a flood, one a minute. Only a handle that is somebody's is named: people
    /// type their password where their name should be.
    pub fn record_no_sign_in(&self, handle: Option<&Handle>, why: &str) {
        if self.visitors.refused.worth_reporting(elapsed(self.opened)) {
            let subject = handle.map_or_else(|| "nobody".to_owned(), |it| Principal::from(it).to_string());
            let mut event = Event::new("stranger", &subject, Kind::SignInRefused, Decision::Refused);
            event.reason = Some(why);
            self.audit().owe(event, &self.redactor());
        }
    }

    /// Writes down that there are two of a passkey, however much else is refused: it was signed for, so nobody can make a flood of it.
    async fn record_counted_back(&self, whose: &Principal) -> Result<(), Fault> {
        let mut event = Event::new("stranger", whose.as_str(), Kind::SignInRefused, Decision::Refused);
        event.reason = Some("a passkey counted back");
        self.audit().append(std::slice::from_ref(&event), &self.redactor()).await.map(drop)
    }

    /// Ends that session.
    pub async fn sign_out(&self, visitor: &Visitor) -> Result<(), Fault> {
        if self.store.end_web_session(visitor.session(), self.clock.now()).await? {
            let principal = visitor.caller().principal().as_str();
            let event = Event::new(principal, principal, Kind::SignedOut, Decision::Done);
            self.audit().append(std::slice::from_ref(&event), &self.redactor()).await?;
        }
        Ok(())
    }

    /// Which developer that principal is, and the name of their workspace; none of clients and of runs of agents.
    pub async fn whereabouts(
        &self,
        principal: &Principal,
    ) -> Result<Option<(Developer, WorkspaceName)>, Fault> {
        use covenant_model::principal::Kind as PrincipalKind;
        let developer = match principal.kind() {
            PrincipalKind::Operator => self.store.developer(Handle::local()).await?,
            PrincipalKind::Developer => self.developer_of(principal).await?,
            PrincipalKind::Client | PrincipalKind::Agent => None,
        };
        let Some(developer) = developer else { return Ok(None) };
        let workspaces = self.store.workspaces().await?;
        let name = workspaces.into_iter().find(|it| it.id == developer.workspace).map(|it| it.name);
        Ok(name.map(|name| (developer, name)))
    }
}

/// What somebody was signed in by, as the row says it.
fn how(proof: &Proof) -> &'static str {
    match proof {
        Proof::Password(_) => "by a password",
        Proof::Passkey { .. } => "by a passkey",
        Proof::Identity(_) => "by a provider of identities",
    }
}

/// 256 random bits in the shape of a token, and what they are recognised by.
fn secret() -> Result<(Secret, TokenHash), Fault> {
    let secret = token::from_random(random::bytes()?);
    match token::hash(secret.reveal()) {
        Some(hash) => Ok((secret, hash)),
        None => Err(Fault::new("a code could not be made", "its shape is wrong")),
    }
}
