//! A code that is used: by one of many, for what it was made for, and whole or not at all.

use covenant_gate::ports::signin::{Beginning, Chosen, CodeKind, CodeState, Identity, Redeeming};
use covenant_model::id::DeveloperId;
use covenant_model::time::Timestamp;
use covenant_model::token::TokenHash;

use super::{CODE, END_ALL, begin, forget_ways, is_whose, present, state};
use crate::db::{DbError, Tx};
use crate::passkeys;
use crate::people::end_own_tokens;

const USE: &str = "UPDATE signin_codes SET used_at = $2 WHERE hash = $1 AND used_at IS NULL";

const SET_PASSWORD: &str = "INSERT INTO passwords (developer_id, phc, set_at) VALUES ($1, $2, $3) \
                            ON CONFLICT (developer_id) DO UPDATE SET phc = excluded.phc, set_at = excluded.set_at";

const LINK: &str =
    "INSERT INTO oidc_subjects (issuer, subject, developer_id, created_at) VALUES ($1, $2, $3, $4)";

/// Uses a code.
pub(super) async fn redeem(
    tx: &mut Tx,
    hash: TokenHash,
    using: &Redeeming,
    session: &Beginning,
) -> Result<CodeState, DbError> {
    let kind = match using {
        Redeeming::Link => CodeKind::Link,
        Redeeming::Invite(_) => CodeKind::Invite,
    };
    let rows = tx.query(CODE, vec![hash.0.into(), kind.as_str().into()]).await?;
    let found = rows.first().map_or(Ok(CodeState::Unknown), |row| state(row, session.at))?;
    let CodeState::Good(principal) = &found else { return Ok(found) };
    let chosen = match (using, present(tx, principal).await?) {
        (Redeeming::Link, Some(_)) => None,
        (Redeeming::Invite(chosen), Some(Some(developer))) => Some((developer, chosen)),
        // They are gone; or it is the operator, who chooses nothing: whoever reaches the socket needs no way in.
        (_, None) | (Redeeming::Invite(_), Some(None)) => return Ok(CodeState::Unknown),
    };
    if let Some((developer, chosen)) = &chosen
        && is_of_another(tx, developer, chosen).await?
    {
        return Ok(CodeState::Taken);
    }
    if tx.execute(USE, vec![hash.0.into(), session.at.into()]).await? == 0 {
        return Ok(CodeState::Used);
    }
    if let Some((developer, chosen)) = &chosen {
        let had_a_way_in = forget_ways(tx, developer).await? > 0;
        choose(tx, developer, chosen, session.at).await?;
        tx.execute(END_ALL, vec![principal.as_str().into(), session.at.into()]).await?;
        if had_a_way_in {
            // Whoever had it could have made some.
            end_own_tokens(tx, principal, session.at).await?;
        }
    }
    begin(tx, principal, session).await?;
    Ok(found)
}

/// Whether what somebody chose is somebody else's already.
async fn is_of_another(tx: &mut Tx, developer: &DeveloperId, chosen: &Chosen) -> Result<bool, DbError> {
    let owner = match chosen {
        Chosen::Password(_) => None,
        Chosen::Identity(identity) => is_whose(tx, identity).await?,
        Chosen::Passkey(made) => passkeys::owner(tx, &made.id).await?,
    };
    Ok(owner.is_some_and(|owner| owner != *developer))
}

async fn choose(tx: &mut Tx, developer: &DeveloperId, chosen: &Chosen, at: Timestamp) -> Result<(), DbError> {
    let own = developer.as_str();
    match chosen {
        Chosen::Password(phc) => {
            tx.execute(SET_PASSWORD, vec![own.into(), phc.as_str().into(), at.into()]).await.map(drop)
        }
        Chosen::Identity(Identity { issuer, subject }) => {
            let values = vec![issuer.as_str().into(), subject.as_str().into(), own.into(), at.into()];
            tx.execute(LINK, values).await.map(drop)
        }
        Chosen::Passkey(made) => passkeys::keep(tx, developer, made, at).await,
    }
}
