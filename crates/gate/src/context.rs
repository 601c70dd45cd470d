//! What a running tool may know and do beside its arguments: its deadline, cancellation, progress, log messages.

use std::sync::Arc;
use std::time::Duration;

use covenant_model::id::CallId;
use covenant_model::redact::Redactor;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

pub use crate::trace::Trace;

/// How far a tool has got.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// How much is done; grows with each report.
    pub progress: f64,
    /// How much there is, if known.
    pub total: Option<f64>,
    /// What is being done.
    pub message: Option<String>,
}

/// How much a log message matters, least first, in the protocol's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names are the protocol's own")]
pub enum Level {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

/// A message for the caller's log.
#[derive(Debug, Clone, PartialEq)]
pub struct LogMessage {
    /// How much it matters.
    pub level: Level,
    /// Which part of the tool speaks.
    pub logger: Option<String>,
    /// What it says.
    pub data: Value,
}

/// Where a face delivers what a tool says while it runs. Texts arrive redacted.
pub trait Listener: Send + Sync {
    /// The tool got further.
    fn progress(&self, progress: Progress);
    /// The tool said something for the log.
    fn log(&self, message: LogMessage);
}

/// What a running tool is given beside its arguments.
pub struct Context {
    pub(crate) call: Option<CallId>,
    pub(crate) cancel: CancellationToken,
    pub(crate) limit: Duration,
    pub(crate) listener: Option<Arc<dyn Listener>>,
    pub(crate) redactor: Option<Arc<Redactor>>,
    pub(crate) trace: Option<Trace>,
}

impl Context {
    /// A context nobody listens to, cancelled by that token.
    pub fn new(cancel: CancellationToken) -> Self {
        Self {
            call: None,
            cancel,
            limit: Duration::from_mins(10),
            listener: None,
            redactor: None,
            trace: None,
        }
    }

    /// Delivers progress and log messages there.
    pub fn heard_by(mut self, listener: Arc<dyn Listener>) -> Self {
        self.listener = Some(listener);
        self
    }

    /// Belongs to that trace.
    pub fn traced(mut self, trace: Option<Trace>) -> Self {
        self.trace = trace;
        self
    }

    /// Gives up after that long, if it would not have earlier.
    pub fn within(mut self, limit: Duration) -> Self {
        self.limit = self.limit.min(limit);
        self
    }

    /// The context of that call, which says nothing that was not redacted.
    pub(crate) fn inside(mut self, call: &CallId, redactor: Arc<Redactor>) -> Self {
        self.call = Some(call.clone());
        self.redactor = Some(redactor);
        self
    }

    /// Cancelled when the caller takes the call back, or its time is up.
    pub fn cancelled(&self) -> &CancellationToken {
        &self.cancel
    }

    /// Which call this is.
    pub fn call_id(&self) -> Option<&CallId> {
        self.call.as_ref()
    }

    /// Reports how far the tool has got.
    pub fn progress(&self, mut progress: Progress) {
        if let Some(listener) = &self.listener {
            progress.message = progress.message.map(|text| self.redacted(text));
            listener.progress(progress);
        }
    }

    /// Says something for the caller's log.
    pub fn log(&self, mut message: LogMessage) {
        if let Some(listener) = &self.listener {
            if let Some(redactor) = &self.redactor {
                redactor.redact_value(&mut message.data);
            }
            message.logger = message.logger.map(|text| self.redacted(text));
            listener.log(message);
        }
    }

    fn redacted(&self, text: String) -> String {
        match &self.redactor {
            Some(redactor) => redactor.redact(&text).into_owned(),
            None => text,
        }
    }
}
