//! How people sign in, on either database: what is used once is used once, and what ends somebody ends all of theirs.

mod redeem;

use covenant_gate::ports::Answer;
use covenant_gate::ports::signin::{
    Beginning, CodeKind, CodeState, Identity, NewCode, Opening, Proof, Redeeming, SignIns, WebSession,
};
use covenant_gate::refusal::Fault;
use covenant_model::id::DeveloperId;
use covenant_model::principal::{Kind, Principal};
use covenant_model::team::Handle;
use covenant_model::time::Timestamp;
use covenant_model::token::TokenHash;

use crate::db::{DbError, Record, Row, Tx};
use crate::open::Store;
use crate::passkeys;

/// How many sessions one of them has at most; beyond that, the one idle longest goes.
const SESSIONS: i64 = 50;

/// How long a code is kept after its end, so that whoever comes late is told so.
const MEMORY: std::time::Duration = std::time::Duration::from_hours(24);

const PRESENT: &str = "SELECT id FROM developers WHERE handle = $1 AND removed_at IS NULL";

const ADD_CODE: &str = "INSERT INTO signin_codes (hash, kind, principal, created_at, expires_at, used_at) \
                        VALUES ($1, $2, $3, $4, $5, NULL)";

const FORGET_CODES: &str = "DELETE FROM signin_codes WHERE expires_at < $1";

const END_CODES: &str = "DELETE FROM signin_codes WHERE principal = $1 AND kind = $2 AND used_at IS NULL";

const CODE: &str =
    "SELECT hash, principal, expires_at, used_at FROM signin_codes WHERE hash = $1 AND kind = $2";

const PASSWORD: &str = "SELECT developer_id, phc FROM passwords WHERE developer_id = $1";

const PERSON: &str = "SELECT d.id, d.handle FROM oidc_subjects s JOIN developers d ON d.id = s.developer_id \
                      WHERE s.issuer = $1 AND s.subject = $2 AND d.removed_at IS NULL";

/// Every way somebody may have to sign in.
const WAYS: [&str; 3] = [
    "DELETE FROM passwords WHERE developer_id = $1",
    "DELETE FROM passkeys WHERE developer_id = $1",
    "DELETE FROM oidc_subjects WHERE developer_id = $1",
];

const BEGIN: &str = "INSERT INTO web_sessions (hash, principal, created_at, used_at, expires_at, ended_at) \
                     VALUES ($1, $2, $3, $3, $4, NULL)";

const FORGET_SESSIONS: &str = "DELETE FROM web_sessions WHERE expires_at < $1";

/// What has ended takes nobody's place, and need not be kept.
const TRIM: &str = "DELETE FROM web_sessions WHERE principal = $1 AND hash NOT IN \
                    (SELECT hash FROM web_sessions WHERE principal = $1 AND ended_at IS NULL \
                     ORDER BY used_at DESC, hash LIMIT $2)";

const SESSION: &str = "SELECT hash, principal, created_at, used_at, expires_at FROM web_sessions \
                       WHERE hash = $1 AND ended_at IS NULL AND expires_at > $2 AND used_at > $3";

const TOUCH: &str = "UPDATE web_sessions SET used_at = $2 WHERE hash = $1 AND used_at < $2";

const END: &str = "UPDATE web_sessions SET ended_at = $2 WHERE hash = $1 AND ended_at IS NULL";

const END_ALL: &str = "UPDATE web_sessions SET ended_at = $2 WHERE principal = $1 AND ended_at IS NULL";

/// Every session, and every code that nobody has used.
const EVERYBODY: [&str; 2] = ["DELETE FROM web_sessions", "DELETE FROM signin_codes WHERE used_at IS NULL"];

impl Store {
    /// Ends every session of a browser and every link that nobody has used, whoever's they are. Whoever does this is alone with
    /// the database.
    pub async fn sign_everybody_out(&self) -> Result<(), Fault> {
        let ended = self.db.write(|tx| {
            Box::pin(async move {
                for sql in EVERYBODY {
                    tx.execute(sql, Vec::new()).await?;
                }
                Ok(())
            })
        });
        Ok(ended.await?)
    }
}

impl SignIns for Store {
    fn add_code(&self, code: NewCode) -> Answer<'_, bool> {
        Box::pin(async move {
            let added = self.db.write(move |tx| {
                let code = code.clone();
                Box::pin(async move { add_code(tx, &code).await })
            });
            Ok(added.await?)
        })
    }

    fn code(&self, hash: TokenHash, kind: CodeKind, now: Timestamp) -> Answer<'_, CodeState> {
        Box::pin(async move {
            let rows = self.db.query(CODE, vec![hash.0.into(), kind.as_str().into()]).await?;
            Ok(rows.first().map_or(Ok(CodeState::Unknown), |row| state(row, now))?)
        })
    }

    fn redeem(&self, hash: TokenHash, using: Redeeming, session: Beginning) -> Answer<'_, CodeState> {
        Box::pin(async move {
            let redeemed = self.db.write(move |tx| {
                let (using, session) = (using.clone(), session.clone());
                Box::pin(async move { redeem::redeem(tx, hash, &using, &session).await })
            });
            Ok(redeemed.await?)
        })
    }

    fn password(&self, developer: DeveloperId) -> Answer<'_, Option<String>> {
        Box::pin(async move {
            let rows = self.db.query(PASSWORD, vec![developer.as_str().into()]).await?;
            let kept = rows.first().map(|row| Record::of("passwords", row).text("phc").map(str::to_owned));
            Ok(kept.transpose()?)
        })
    }

    fn person(&self, identity: Identity) -> Answer<'_, Option<Handle>> {
        Box::pin(async move {
            let rows = self.db.query(PERSON, vec![identity.issuer.into(), identity.subject.into()]).await?;
            Ok(rows.first().map(|row| Record::of("developers", row).parse("handle")).transpose()?)
        })
    }

    fn begin_session(&self, principal: Principal, proof: Proof, session: Beginning) -> Answer<'_, Opening> {
        Box::pin(async move {
            let begun = self.db.write(move |tx| {
                let (principal, proof, session) = (principal.clone(), proof.clone(), session.clone());
                Box::pin(async move {
                    // The operator shows nothing here: their link does it.
                    let Some(Some(developer)) = present(tx, &principal).await? else {
                        return Ok(Opening::Gone);
                    };
                    let opening = holds(tx, &developer, &proof, session.at).await?;
                    if opening == Opening::Done {
                        begin(tx, &principal, &session).await?;
                    }
                    Ok(opening)
                })
            });
            Ok(begun.await?)
        })
    }

    fn web_session(
        &self,
        hash: TokenHash,
        now: Timestamp,
        idle_since: Timestamp,
    ) -> Answer<'_, Option<WebSession>> {
        Box::pin(async move {
            let rows = self.db.query(SESSION, vec![hash.0.into(), now.into(), idle_since.into()]).await?;
            Ok(rows.first().map(session_of).transpose()?)
        })
    }

    fn touch_web_session(&self, hash: TokenHash, at: Timestamp) -> Answer<'_, ()> {
        Box::pin(async move {
            let touched = self.db.write(move |tx| {
                Box::pin(async move { tx.execute(TOUCH, vec![hash.0.into(), at.into()]).await.map(drop) })
            });
            Ok(touched.await?)
        })
    }

    fn end_web_session(&self, hash: TokenHash, at: Timestamp) -> Answer<'_, bool> {
        Box::pin(async move {
            let ended = self.db.write(move |tx| {
                Box::pin(async move { Ok(tx.execute(END, vec![hash.0.into(), at.into()]).await? > 0) })
            });
            Ok(ended.await?)
        })
    }

    fn end_web_sessions(&self, principal: Principal, at: Timestamp) -> Answer<'_, u64> {
        Box::pin(async move {
            let ended = self.db.write(move |tx| {
                let principal = principal.clone();
                Box::pin(async move { end_all(tx, &principal, at).await })
            });
            Ok(ended.await?)
        })
    }
}

/// Takes from somebody who is removed every way to sign in, and ends their sessions.
pub(crate) async fn forget(
    tx: &mut Tx,
    developer: &DeveloperId,
    principal: &Principal,
    at: Timestamp,
) -> Result<(), DbError> {
    forget_ways(tx, developer).await?;
    end_all(tx, principal, at).await.map(drop)
}

/// Ends their sessions and the codes that nobody has used; how many sessions those were.
async fn end_all(tx: &mut Tx, principal: &Principal, at: Timestamp) -> Result<u64, DbError> {
    for kind in [CodeKind::Invite, CodeKind::Link] {
        tx.execute(END_CODES, vec![principal.as_str().into(), kind.as_str().into()]).await?;
    }
    tx.execute(END_ALL, vec![principal.as_str().into(), at.into()]).await
}

async fn forget_ways(tx: &mut Tx, developer: &DeveloperId) -> Result<u64, DbError> {
    let mut forgotten = 0;
    for sql in WAYS {
        forgotten += tx.execute(sql, vec![developer.as_str().into()]).await?;
    }
    Ok(forgotten)
}

/// Whether that one is here; and which developer, where it is one.
async fn present(tx: &mut Tx, principal: &Principal) -> Result<Option<Option<DeveloperId>>, DbError> {
    match principal.kind() {
        Kind::Operator => Ok(Some(None)),
        Kind::Developer => {
            let rows = tx.query(PRESENT, vec![principal.name().into()]).await?;
            rows.first().map(|row| Record::of("developers", row).parse("id").map(Some)).transpose()
        }
        // Neither opens a browser.
        Kind::Client | Kind::Agent => Ok(None),
    }
}

/// Whether that is theirs still.
async fn holds(
    tx: &mut Tx,
    developer: &DeveloperId,
    proof: &Proof,
    at: Timestamp,
) -> Result<Opening, DbError> {
    let theirs = match proof {
        Proof::Password(shown) => {
            let rows = tx.query(PASSWORD, vec![developer.as_str().into()]).await?;
            let kept = rows.first().map(|row| Record::of("passwords", row).text("phc")).transpose()?;
            kept == Some(shown.as_str())
        }
        Proof::Identity(identity) => is_whose(tx, identity).await?.as_ref() == Some(developer),
        Proof::Passkey { id, counter } => return passkeys::count(tx, developer, id, *counter, at).await,
    };
    Ok(if theirs { Opening::Done } else { Opening::Gone })
}

async fn is_whose(tx: &mut Tx, identity: &Identity) -> Result<Option<DeveloperId>, DbError> {
    let rows =
        tx.query(PERSON, vec![identity.issuer.as_str().into(), identity.subject.as_str().into()]).await?;
    rows.first().map(|row| Record::of("developers", row).parse("id")).transpose()
}

async fn add_code(tx: &mut Tx, code: &NewCode) -> Result<bool, DbError> {
    if present(tx, &code.principal).await?.is_none() {
        return Ok(false);
    }
    tx.execute(FORGET_CODES, vec![code.created_at.minus(MEMORY).into()]).await?;
    if code.kind == CodeKind::Invite {
        tx.execute(END_CODES, vec![code.principal.as_str().into(), code.kind.as_str().into()]).await?;
    }
    let values = vec![
        code.hash.0.into(),
        code.kind.as_str().into(),
        code.principal.as_str().into(),
        code.created_at.into(),
        code.expires_at.into(),
    ];
    tx.execute(ADD_CODE, values).await?;
    Ok(true)
}

async fn begin(tx: &mut Tx, principal: &Principal, session: &Beginning) -> Result<(), DbError> {
    tx.execute(FORGET_SESSIONS, vec![session.at.into()]).await?;
    tx.execute(TRIM, vec![principal.as_str().into(), (SESSIONS - 1).into()]).await?;
    let values =
        vec![session.hash.0.into(), principal.as_str().into(), session.at.into(), session.expires_at.into()];
    tx.execute(BEGIN, values).await.map(drop)
}

fn state(row: &Row, now: Timestamp) -> Result<CodeState, DbError> {
    let record = Record::of("signin_codes", row);
    Ok(match (record.moment_or_none("used_at")?, record.moment("expires_at")?) {
        (Some(_), _) => CodeState::Used,
        (None, end) if end <= now => CodeState::Expired,
        (None, _) => CodeState::Good(record.parse("principal")?),
    })
}

fn session_of(row: &Row) -> Result<WebSession, DbError> {
    let record = Record::of("web_sessions", row);
    Ok(WebSession {
        hash: TokenHash(record.bytes("hash")?),
        principal: record.parse("principal")?,
        created_at: record.moment("created_at")?,
        used_at: record.moment("used_at")?,
        expires_at: record.moment("expires_at")?,
    })
}
