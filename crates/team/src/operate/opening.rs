//! How a start is opened: a recent look, another one now, and a word on whatever has to be decided. The second look is taken in
//! the turn in which the work begins, so of any number who saw nothing, one begins.

use serde_json::{Map, Value, json};

use super::look::{self, Look, Wanted};
use super::{check, details, warning};
use crate::input::{Invalid, WorkInput, bounds, texts};
use crate::perform::Seat;
use crate::perform::outcome::{Outcome, Stop};
use crate::port::{Check, TeamTx};
use crate::rules::verdict::{self, Opening, Ruling, Said, Start, Why};
use crate::warning::{Judgement, Settled, Verdict, Warning};
use crate::work::{Kind, Work};

/// What is said of work that may be the same as other work.
pub(super) const DUPLICATE: &str = "Possible duplicate work found.";

/// What is to be done about it.
const ASK: &str = "Ask the developer for confirmation and a reason before starting.";

/// A start that may go on.
pub(super) struct Opened {
    check: Check,
    look: Look,
    warning: Option<Warning>,
    opening: Opening,
    verdicts: Vec<Verdict>,
    reason: Option<String>,
}

/// Whether that work may start, and if not what its agent is told.
pub(super) async fn open(
    tx: &mut impl TeamTx,
    seat: &Seat,
    wanted: &Wanted<'_>,
    input: &WorkInput,
) -> Result<Result<Opened, Outcome>, Stop> {
    let reason = texts::optional("confirmation_reason", input.confirmation_reason.as_ref(), bounds::REASON)?;
    let verdicts = verdicts(input)?;
    let about = wanted.itself.filter(|_| wanted.kind == Kind::Task);
    let check = match check::cleared(tx, seat, wanted.kind, wanted.brief, about).await? {
        Ok(check) => check,
        Err(blocked) => return Ok(Err(blocked)),
    };
    let mut look = look::look(tx, seat, wanted).await?;
    let warning = warning::of(tx, &check).await?;
    if let Some(warning) = &warning {
        look.hold_to(tx, seat, wanted, warning).await?;
    }
    let then: Vec<&str> = warning.iter().flat_map(Warning::escalated).collect();
    let said = Said {
        check_id: input.check_id.as_ref(),
        warning_id: input.warning_id.as_ref(),
        verdicts: verdicts.as_deref(),
        reason: reason.as_deref(),
    };
    let start = Start {
        check: &check.id,
        warning: check.warning.as_ref(),
        then: &then,
        now: &look.escalated(),
        said,
    };
    match verdict::rule(&start)? {
        Ruling::Start(opening) => {
            let verdicts = verdicts.unwrap_or_default();
            Ok(Ok(Opened { check, look, warning, opening, verdicts, reason }))
        }
        Ruling::Blocked(why) => Ok(Err(blocked(tx, seat, wanted, (check, warning), &look, &why).await?)),
    }
}

/// The verdicts of a call, within their bounds.
fn verdicts(input: &WorkInput) -> Result<Option<Vec<Verdict>>, Invalid> {
    let Some(verdicts) = &input.scope_verdict else { return Ok(None) };
    if verdicts.len() > bounds::VERDICTS {
        let most = bounds::VERDICTS;
        let reason = format!("has {} items, and at most {most} are taken", verdicts.len());
        return Err(Invalid::new("scope_verdict", reason));
    }
    let within = |(at, verdict): (usize, &Verdict)| {
        let field = |name: &str| format!("scope_verdict[{at}].{name}");
        let candidate_id = texts::required(&field("candidate_id"), Some(&verdict.candidate_id), bounds::KEY)?;
        // That it is the same is confirmed with a reason of its own.
        let reason = if verdict.same_scope {
            texts::optional(&field("reason"), Some(&verdict.reason), bounds::REASON)?.unwrap_or_default()
        } else {
            texts::required(&field("reason"), Some(&verdict.reason), bounds::REASON)?
        };
        Ok(Verdict { candidate_id, reason, ..verdict.clone() })
    };
    verdicts.iter().enumerate().map(within).collect::<Result<_, Invalid>>().map(Some)
}

/// What is told to whoever may not start yet. Where the second look found what the first did not, it counts as a look of its own.
async fn blocked(
    tx: &mut impl TeamTx,
    seat: &Seat,
    wanted: &Wanted<'_>,
    (check, warning): (Check, Option<Warning>),
    look: &Look,
    why: &Why,
) -> Result<Outcome, Stop> {
    let (check, warning) = match why {
        Why::New => {
            check::keep(tx, seat, wanted.kind, wanted.brief.clone(), wanted.itself.cloned(), look).await?
        }
        _ => (check, warning),
    };
    let all = || look.escalated().into_iter().map(str::to_owned).collect();
    let (action, missing) = match why {
        Why::Unjudged | Why::New => (ASK.to_owned(), all()),
        Why::NoReason => (ASK.to_owned(), Vec::new()),
        Why::OtherCheck => (
            format!(
                "Send scope_verdict with the check_id of the newest check for this title, `{}`.",
                check.id
            ),
            all(),
        ),
        Why::OtherWarning => (
            "Confirm the warning_id of the newest check for this title, or judge its candidates.".to_owned(),
            all(),
        ),
        Why::Missing(ids) => {
            (format!("Judge every candidate in scope_verdict; missing: {}.", ids.join(", ")), ids.clone())
        }
    };
    let mut payload = activation(&check, wanted, look);
    payload.insert("blocked".to_owned(), true.into());
    let subject = wanted.itself.map_or_else(|| check.id.to_string(), ToString::to_string);
    Ok(Outcome::blocked(DUPLICATE, action)
        .with("title", wanted.brief.title.as_str())
        .with("check_id", check.id.as_str())
        .with("warning_id", warning::id(warning.as_ref()))
        .with("missing_verdicts", missing)
        .with("how_to_start", how(wanted.kind))
        .disclosing(look)
        .changed(check::checked(wanted.kind), &subject, "blocked", payload)
        .about(&subject))
}

fn how(kind: Kind) -> String {
    format!(
        "Call covibe_{kind} again with check_id and scope_verdict [{{candidate_id, same_scope, reason}}] for every candidate; \
         with confirmation_reason too if one is the same work."
    )
}

/// The details of a look that was taken as work begins.
fn activation(check: &Check, wanted: &Wanted<'_>, look: &Look) -> Map<String, Value> {
    let mut payload = look.brief();
    payload.extend(details(json!({
        "check_id": check.id.as_str(), "activation": true, "title": wanted.brief.title,
    })));
    payload
}

impl Opened {
    /// Writes down by what the start of that work was opened, and tells it.
    pub(super) async fn begin(
        mut self,
        tx: &mut impl TeamTx,
        seat: &Seat,
        wanted: &Wanted<'_>,
        work: &Work,
        outcome: Outcome,
    ) -> Result<Outcome, Stop> {
        let payload = activation(&self.check, wanted, &self.look);
        let outcome = outcome
            .changed(check::checked(work.kind()), &work.id, "ok", payload)
            .with("check_id", self.check.id.as_str())
            .disclosing(&self.look)
            .with("requires_verdict", false);
        if self.warning.is_none() {
            // What came up since the look is told as well.
            let about = (work.kind(), work.brief.title.as_str());
            self.warning = warning::give(tx, seat, about, Some(&self.check.id), &self.look).await?;
        }
        let outcome = outcome.with("warning_id", warning::id(self.warning.as_ref()));
        match self.opening {
            Opening::Clear => self.settle(tx, seat, work, Settled::Disclosed, outcome).await,
            Opening::Lapsed => self.settle(tx, seat, work, Settled::Dismissed, outcome).await,
            Opening::Judged { duplicate } => self.judged(tx, seat, work, duplicate, outcome).await,
            Opening::Confirmed => self.settle(tx, seat, work, Settled::Confirmed, outcome).await,
        }
    }

    async fn settle(
        mut self,
        tx: &mut impl TeamTx,
        seat: &Seat,
        work: &Work,
        settled: Settled,
        outcome: Outcome,
    ) -> Result<Outcome, Stop> {
        let Some(warning) = &mut self.warning else { return Ok(outcome) };
        let lapsed = "everything it warned of is over";
        let reason = if settled == Settled::Dismissed { Some(lapsed) } else { self.reason.as_deref() };
        if !warning::settle(tx, seat, warning, settled, Some(work), reason).await? {
            return Ok(outcome);
        }
        let details = |automatic: bool| {
            details(json!({
                "work_id": work.id.as_str(), "reason": reason, "automatic": automatic, "title": work.brief.title,
            }))
        };
        Ok(match settled {
            Settled::Dismissed => {
                outcome.changed("warning.dismissed", &warning.id, "dismissed", details(true))
            }
            Settled::Confirmed => {
                outcome.changed("warning.confirmed", &warning.id, "confirmed", details(false))
            }
            _ => outcome,
        })
    }

    async fn judged(
        self,
        tx: &mut impl TeamTx,
        seat: &Seat,
        work: &Work,
        duplicate: bool,
        outcome: Outcome,
    ) -> Result<Outcome, Stop> {
        let judgement = Judgement {
            workspace: seat.member.workspace.clone(),
            developer: seat.member.id.clone(),
            check: self.check.id.clone(),
            work: work.id.clone(),
            verdicts: self.verdicts.clone(),
            at: seat.now,
        };
        tx.add_judgement(&judgement).await?;
        let payload = details(json!({
            "duplicate": duplicate,
            "check_id": self.check.id.as_str(),
            "warning_id": self.warning.as_ref().map(|warning| warning.id.as_str()),
            "confirmation_reason": self.reason,
            "verdicts": self.verdicts,
        }));
        let outcome = self.settle(tx, seat, work, Settled::Judged, outcome).await?;
        Ok(outcome.changed(
            "scope.judged",
            &work.id,
            if duplicate { "duplicate" } else { "distinct" },
            payload,
        ))
    }
}
