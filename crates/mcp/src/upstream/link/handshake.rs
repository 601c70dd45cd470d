//! Which era a server speaks, and what that era begins with: `server/discover`, or `initialize` and `initialized`.

use std::time::Duration;

use covenant_model::server::EraChoice;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::time::{Instant, timeout_at};

use super::ear::LinkEar;
use super::{Failure, NotOpened, letters, shown};
use crate::era::{Era, MODERN, SUPPORTED};
use crate::reply::{HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION};
use crate::trace::{SHOWN, Shown};
use crate::upstream::scrub::Scrub;
use crate::upstream::wire::{Answer, Ear as _, Letter, RpcFailure, Wire, WireError};

/// The longest that a server is asked for its era: some answer no question that they do not know.
const PROBE: Duration = Duration::from_secs(5);

/// What was agreed.
pub(super) struct Agreed {
    pub(super) era: Era,
    pub(super) revision: String,
    /// Whether it says that it has tools.
    pub(super) has_tools: bool,
    /// Whether it says when they change.
    pub(super) announces: bool,
}

/// What a probe found.
enum Found {
    Modern(Agreed),
    Legacy,
    /// Nothing, because nobody was there.
    Nobody,
}

/// Agrees with a server on how to speak.
pub(super) async fn agree(
    wire: &dyn Wire,
    ear: &LinkEar,
    era: EraChoice,
    within: Duration,
) -> Result<Agreed, NotOpened> {
    let deadline = Deadline { at: Instant::now() + within, within };
    match era {
        EraChoice::Legacy => initialize(wire, ear, deadline).await,
        EraChoice::Modern => discover(wire, ear, deadline).await,
        EraChoice::Auto => match probe(wire, ear, within).await? {
            Found::Modern(agreed) => Ok(agreed),
            Found::Nobody => initialize(wire, ear, deadline).await,
            // Somebody was there a moment ago.
            Found::Legacy => initialize(wire, ear, deadline).await.map_err(NotOpened::was_reached),
        },
    }
}

/// Until when, and how long that was.
#[derive(Clone, Copy)]
struct Deadline {
    at: Instant,
    within: Duration,
}

impl Deadline {
    async fn ask(self, wire: &dyn Wire, letter: &Letter) -> Result<Answer, NotOpened> {
        match timeout_at(self.at, wire.ask(letter)).await {
            Ok(answer) => answer.map_err(|error| not_opened(&error)),
            Err(_) => Err(self.late(letter)),
        }
    }

    fn late(self, letter: &Letter) -> NotOpened {
        let reason = format!("did not answer `{}` within {}", letter.method, shown(self.within));
        NotOpened { kind: Failure::Late(letter.method), ..refused(reason) }
    }
}

/// Asks in the words of the modern era. A server that does not understand them is legacy.
async fn probe(wire: &dyn Wire, ear: &LinkEar, within: Duration) -> Result<Found, NotOpened> {
    wire.agreed(MODERN, true);
    let letter = letters::discover(ear.id());
    let asked = tokio::time::timeout(PROBE.min(within / 3), wire.ask(&letter)).await;
    match asked {
        Ok(Ok(Answer::Result(raw))) => Ok(discovered(&raw).map_or(Found::Legacy, Found::Modern)),
        Ok(Ok(Answer::Error(failure))) if is_modern(&failure) => Ok(Found::Modern(unknown())),
        Ok(Err(error @ WireError::Lost(_))) => {
            Err(NotOpened { kind: Failure::Lost { probing: true }, ..not_opened(&error) })
        }
        Ok(Err(WireError::Failed { status: None, .. })) => Ok(Found::Nobody),
        _ => Ok(Found::Legacy),
    }
}

/// Begins in the modern era, because the entry says so.
async fn discover(wire: &dyn Wire, ear: &LinkEar, deadline: Deadline) -> Result<Agreed, NotOpened> {
    wire.agreed(MODERN, true);
    match deadline.ask(wire, &letters::discover(ear.id())).await? {
        Answer::Result(raw) => discovered(&raw)
            .ok_or_else(|| refused(format!("does not speak revision {MODERN}; set `era = \"legacy\"`"))),
        Answer::Error(failure) if is_modern(&failure) => Ok(unknown()),
        Answer::Error(failure) => Err(refused(format!("does not speak revision {MODERN}: it {failure}"))),
    }
}

/// Begins in the legacy era.
async fn initialize(wire: &dyn Wire, ear: &LinkEar, deadline: Deadline) -> Result<Agreed, NotOpened> {
    let raw = match deadline.ask(wire, &letters::initialize(ear.id())).await? {
        Answer::Result(raw) => raw,
        Answer::Error(failure) => return Err(refused(format!("refused `initialize`: it {failure}"))),
    };
    let agreed = initialized(&raw, ear.scrub())?;
    wire.agreed(&agreed.revision, agreed.era == Era::Modern);
    let letter = letters::initialized();
    match timeout_at(deadline.at, wire.tell(&letter)).await {
        Err(_) => return Err(deadline.late(&letter)),
        Ok(Err(error @ (WireError::Lost(_) | WireError::SessionLost))) => return Err(not_opened(&error)),
        // A server that does not like to be told may answer all the same: the list will show.
        Ok(_) => {}
    }
    wire.listen();
    Ok(agreed)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Discovered<'a> {
    #[serde(borrow)]
    supported_versions: &'a RawValue,
    #[serde(borrow, default)]
    capabilities: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Initialized<'a> {
    protocol_version: String,
    #[serde(borrow, default)]
    capabilities: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
struct Capabilities {
    #[serde(default)]
    tools: Option<Tools>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct Tools {
    #[serde(default)]
    list_changed: Option<bool>,
}

/// What a server that speaks the modern revision said; none if it does not.
fn discovered(raw: &RawValue) -> Option<Agreed> {
    let said: Discovered<'_> = serde_json::from_str(raw.get()).ok()?;
    // An array of dates: what stands in quotes there is one of them.
    let speaks = said.supported_versions.get().contains(&format!("\"{MODERN}\""));
    speaks.then(|| Agreed::new(MODERN.to_owned(), said.capabilities))
}

fn initialized(raw: &RawValue, scrub: &Scrub) -> Result<Agreed, NotOpened> {
    let said: Initialized<'_> = serde_json::from_str(raw.get())
        .map_err(|error| refused(format!("answered `initialize` with something else: {error}")))?;
    if !SUPPORTED.contains(&said.protocol_version.as_str()) {
        let known = SUPPORTED.join(", ");
        let theirs = scrub.shown(&said.protocol_version, SHOWN);
        let theirs = Shown(&theirs);
        return Err(refused(format!("speaks revision {theirs} of the protocol, and we speak {known}")));
    }
    Ok(Agreed::new(said.protocol_version, said.capabilities))
}

impl Agreed {
    fn new(revision: String, capabilities: Option<&RawValue>) -> Self {
        let capabilities: Capabilities =
            capabilities.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
        let era = if revision == MODERN { Era::Modern } else { Era::Legacy };
        let announces = capabilities.tools.as_ref().is_some_and(|tools| tools.list_changed == Some(true));
        Self { era, revision, has_tools: capabilities.tools.is_some(), announces }
    }
}

/// A modern server that did not say what it can.
fn unknown() -> Agreed {
    Agreed::new(MODERN.to_owned(), None)
}

/// Whether only a server of the modern era would fail like that, and it speaks our revision.
fn is_modern(failure: &RpcFailure) -> bool {
    let code = |code: i32| failure.code == i64::from(code);
    if code(UNSUPPORTED_VERSION) {
        let supported =
            failure.data.as_ref().and_then(|data| data.get("supported")).and_then(Value::as_array);
        return supported.is_some_and(|versions| versions.iter().any(|version| version == MODERN));
    }
    code(HEADER_MISMATCH) || code(MISSING_CAPABILITY)
}

fn refused(reason: String) -> NotOpened {
    NotOpened { reason, status: None, kind: Failure::Refused }
}

fn not_opened(error: &WireError) -> NotOpened {
    let (status, kind) = match error {
        WireError::Failed { status: None, .. } => (None, Failure::Unreached),
        WireError::Failed { status, .. } => (*status, Failure::Refused),
        WireError::Lost(_) => (None, Failure::Lost { probing: false }),
        WireError::SessionLost | WireError::TooLarge(_) => (None, Failure::Refused),
    };
    NotOpened { status, kind, ..refused(error.to_string()) }
}

impl NotOpened {
    fn was_reached(self) -> Self {
        let kind = if self.kind == Failure::Unreached { Failure::Refused } else { self.kind };
        Self { kind, ..self }
    }
}
