//! The tokens of developers: made for one of their agents, shown once, listed without themselves, ended by id.

use covenant_model::api::{NewToken, TokenEntry, TokenMade};
use covenant_model::audit::Kind;
use covenant_model::id::TokenId;
use covenant_model::principal::{AgentType, Kind as PrincipalKind, Principal};
use covenant_model::team::{Developer, Handle, Label};
use covenant_model::token;

use super::PeopleError;
use crate::gate::Gate;
use crate::ports::people::TokenKept;
use crate::ports::{Badge, TokenRecord};
use crate::random;
use crate::refusal::Fault;
use crate::steward::Steward;

/// How many valid tokens one developer holds at most.
const MOST: u64 = 100;

/// How often a label is looked for that is free: others may be quicker.
const ATTEMPTS: usize = 8;

/// A token that was revoked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// Whose it was.
    pub principal: Principal,
    /// Whether they hold others that are valid.
    pub others: bool,
}

impl Gate {
    /// Makes a token, for themselves or for somebody they may act for. This is the only time it is shown.
    pub async fn create_token(&self, steward: &Steward, new: NewToken) -> Result<TokenMade, PeopleError> {
        self.may_change(steward)?;
        let developer = match (&new.developer, steward.own()) {
            (Some(handle), _) => self.holder(steward, handle).await?,
            (None, Some(own)) => own.clone(),
            (None, None) => self.developer(steward, Handle::local().as_str()).await?,
        };
        let wanted = new.label.map(Label::try_from).transpose()?;
        let token = token::from_random(random::bytes()?);
        let Some(hash) = token::hash(token.reveal()) else {
            return Err(Fault::new("a token could not be made", "its shape is wrong").into());
        };
        let mut record = TokenRecord {
            id: TokenId::from_random(random::bytes()?),
            hash,
            principal: developer.principal(),
            label: String::new(),
            badge: Badge { agent_type: new.agent_type, may_approve: false },
            created_at: self.clock.now(),
            revoked_at: None,
        };
        record.label = self.keep_token(&developer, &record, wanted).await?;
        let (id, label) = (record.id, record.label);
        let kind = new.agent_type.map_or_else(String::new, |agent| format!(", for {agent}"));
        let reason = format!("`{label}` of {}{kind}", developer.handle);
        if let Err(fault) =
            self.record_by(&steward.actor, Kind::TokenCreated, id.as_str(), Some(&reason)).await
        {
            self.store.revoke_token(id, self.clock.now()).await?;
            return Err(fault.into());
        }
        self.load_tokens().await?;
        Ok(TokenMade { id, token: token.reveal().to_owned(), developer: developer.handle.into(), label })
    }

    /// The developer whose tokens are meant. Of those they may know of and not act for it is said that they may not; the
    /// others are not there.
    async fn holder(&self, steward: &Steward, handle: &str) -> Result<Developer, PeopleError> {
        let missing = match self.developer(steward, handle).await {
            Err(missing @ PeopleError::NoDeveloper(_)) => missing,
            found => return found,
        };
        let Ok(handle) = handle.parse::<Handle>() else { return Err(missing) };
        match self.store.developer(handle).await? {
            Some(known) if steward.is_near(&known) && !known.private => {
                Err(self.may_not_act_for(steward, &known).into())
            }
            _ => Err(missing),
        }
    }

    /// Stores a token under that label, or under one that is free; which one it was.
    async fn keep_token(
        &self,
        developer: &Developer,
        record: &TokenRecord,
        wanted: Option<Label>,
    ) -> Result<String, PeopleError> {
        let stem = record.badge.agent_type.map_or("token", AgentType::as_str);
        for _ in 0..ATTEMPTS {
            let label = match &wanted {
                Some(label) => label.clone(),
                None => self.free_label(&record.principal, stem).await?,
            };
            let record = TokenRecord { label: label.to_string(), ..record.clone() };
            let handle = || developer.handle.clone();
            match self.store.add_token_of(developer.id.clone(), record, MOST).await? {
                TokenKept::Done => return Ok(label.into()),
                TokenKept::LabelTaken if wanted.is_none() => {}
                TokenKept::LabelTaken => {
                    return Err(PeopleError::LabelTaken { handle: handle(), label: label.into() });
                }
                TokenKept::Full => return Err(PeopleError::Full { handle: handle(), limit: MOST }),
                TokenKept::NoDeveloper => return Err(PeopleError::NoDeveloper(handle().into())),
            }
        }
        Err(Fault::new("no label could be found that is free; name one", "others were quicker each time")
            .into())
    }

    async fn free_label(&self, principal: &Principal, stem: &str) -> Result<Label, Fault> {
        let tokens = self.store.tokens().await?;
        let valid: Vec<&str> = tokens
            .iter()
            .filter(|token| token.principal == *principal && token.revoked_at.is_none())
            .map(|token| token.label.as_str())
            .collect();
        Ok(Label::free(stem, |label| valid.contains(&label)))
    }

    /// The tokens they may know of, of one developer or of all, oldest first, revoked ones included.
    pub async fn developer_tokens(
        &self,
        steward: &Steward,
        handle: Option<&str>,
    ) -> Result<Vec<TokenEntry>, PeopleError> {
        let known = match handle {
            Some(handle) => vec![self.holder(steward, handle).await?],
            None => self.store.developers().await?,
        };
        let theirs: Vec<Principal> =
            known.iter().filter(|it| steward.oversees(it)).map(Developer::principal).collect();
        // Those of developers who are gone are the operator's to see.
        let gone = |principal: &Principal| {
            handle.is_none() && steward.own().is_none() && principal.kind() == PrincipalKind::Developer
        };
        let tokens = self.store.tokens().await?.into_iter();
        let seen = tokens.filter(|token| theirs.contains(&token.principal) || gone(&token.principal));
        Ok(seen
            .map(|token| TokenEntry {
                id: token.id,
                label: token.label,
                developer: token.principal.name().to_owned(),
                agent_type: token.badge.agent_type,
                created_at: token.created_at,
                revoked_at: token.revoked_at,
            })
            .collect())
    }

    /// Ends a token of a developer they may act for; none if there is no such token that is valid.
    pub async fn revoke_token(&self, steward: &Steward, id: &TokenId) -> Result<Option<Ended>, PeopleError> {
        self.may_change(steward)?;
        let tokens = self.store.tokens().await?;
        let Some(token) = tokens.iter().find(|token| token.id == *id && token.revoked_at.is_none()) else {
            return Ok(None);
        };
        if token.principal.kind() != PrincipalKind::Developer {
            return Ok(None);
        }
        match self.developer(steward, token.principal.name()).await {
            Ok(_) => {}
            Err(PeopleError::NoDeveloper(_)) => return Ok(None),
            Err(error) => return Err(error),
        }
        if !self.store.revoke_token(id.clone(), self.clock.now()).await? {
            return Ok(None);
        }
        self.load_tokens().await?;
        // Whoever listens is asked anew who it is.
        self.announce();
        let reason = format!("`{}` of {}", token.label, token.principal.name());
        self.record_by(&steward.actor, Kind::TokenRevoked, id.as_str(), Some(&reason)).await?;
        let others = tokens
            .iter()
            .any(|other| other.id != *id && other.principal == token.principal && other.revoked_at.is_none());
        Ok(Some(Ended { principal: token.principal.clone(), others }))
    }
}
