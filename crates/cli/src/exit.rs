//! What a command ends with: one of five exit codes, and for the failed ones a sentence and what to do next. The one
//! place that knows which answer of the daemon is which code.

use std::borrow::Cow;
use std::io::Write as _;
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use covenant_model::api::{ApiError, ErrorBody};
use http::StatusCode;

use crate::print::{escape_block, escape_json};
use crate::setting::Output;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// It is done.
    Done,
    /// The thing failed: a tool's error, damage found by `verify`.
    Failed,
    /// Wrong usage, or input that cannot be used.
    Usage,
    /// The gate said no: not granted, too many requests, a person must decide.
    Refused,
    /// No daemon runs and none could be started.
    NoDaemon,
}

impl Exit {
    /// The documented number.
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Refused => 3,
            Self::NoDaemon => 4,
        }
    }

    /// The word for programs, where the daemon gave none.
    fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Usage => "usage",
            Self::Refused => "refused",
            Self::NoDaemon => "no_daemon",
        }
    }

    /// For an error of the daemon: by its word, or by its status where the word is a new one.
    pub(crate) fn of(code: &str, status: StatusCode) -> Self {
        match code {
            "unauthenticated" | "rate_limited" | "not_granted" | "not_operator" | "not_admin"
            | "pending_approval" | "approvals_full" | "approval_rejected" | "too_deep"
            | "not_in_manifest" | "over_budget" | "queue_full" => Self::Refused,
            "unknown_tool" | "invalid_arguments" => Self::Usage,
            "timed_out" | "cancelled" => Self::Failed,
            _ => match status.as_u16() {
                401 | 403 | 429 => Self::Refused,
                400..=499 => Self::Usage,
                _ => Self::Failed,
            },
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.number())
    }
}

/// Why a command did not do what it was asked to, and what to do about it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    exit: Exit,
    code: Cow<'static, str>,
    message: String,
    help: String,
}

impl Failure {
    /// A failure; an empty `help` says nothing.
    pub(crate) fn new(exit: Exit, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { exit, code: exit.word().into(), message: message.into(), help: help.into() }
    }

    /// The thing failed.
    pub(crate) fn failed(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::new(Exit::Failed, message, help)
    }

    /// What was typed cannot be used.
    pub(crate) fn usage(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message, help)
    }

    /// No daemon.
    pub(crate) fn no_daemon(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::new(Exit::NoDaemon, message, help)
    }

    /// An error whose sentence ends with the remedy, behind a semicolon.
    pub(crate) fn told(exit: Exit, error: &impl std::fmt::Display) -> Self {
        let text = error.to_string();
        match text.split_once("; ") {
            Some((message, help)) => Self::new(exit, message, help),
            None => Self::new(exit, text, ""),
        }
    }

    /// The same, with that to do next where it said nothing.
    pub(crate) fn or_help(self, help: &str) -> Self {
        if self.help.is_empty() { Self { help: help.to_owned(), ..self } } else { self }
    }

    /// The same, with that to do next where the daemon's word is `code`: it speaks to whoever sent the request.
    pub(crate) fn help_for(self, code: &str, help: &str) -> Self {
        if self.code == code { Self { help: help.to_owned(), ..self } } else { self }
    }

    /// The same for a command that only needed a daemon: that there is none is what it ends with.
    pub(crate) fn without_daemon(self) -> Self {
        Self { exit: Exit::NoDaemon, code: Exit::NoDaemon.word().into(), ..self }
    }

    /// What the daemon answered instead of the thing.
    pub(crate) fn answered(status: StatusCode, body: &[u8]) -> Self {
        match serde_json::from_slice::<ErrorBody>(body) {
            Ok(ErrorBody { error: ApiError { code, message, action } }) => {
                let exit = Exit::of(&code, status);
                // A model reads the message alone, so that ends with the action as well; people read it once.
                let told = match message.rsplit_once("; ") {
                    Some((front, remedy)) if remedy.contains(&action) => Self::new(exit, front, remedy),
                    _ => Self::new(exit, message, action),
                };
                Self { code: code.into(), ..told }
            }
            Err(_) => Self::new(
                Exit::of("", status),
                format!("the daemon answered {status} without saying why"),
                "look at its log: covenant logs",
            ),
        }
    }

    /// A refusal that was told in a tool's own words.
    pub(crate) fn refusal(code: String, message: String, help: String) -> Self {
        let exit = Exit::of(&code, StatusCode::INTERNAL_SERVER_ERROR);
        Self { code: code.into(), ..Self::new(exit, message, help) }
    }

    /// Standard output could not be written. A reader that has gone away (`| head`) is no failure.
    pub(crate) fn output(error: &std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            return Self::new(Exit::Done, "", "");
        }
        Self::failed(format!("standard output could not be written: {error}"), "")
    }

    /// Both in one sentence.
    #[cfg(test)]
    pub(crate) fn sentence(&self) -> String {
        if self.help.is_empty() { self.message.clone() } else { format!("{}; {}", self.message, self.help) }
    }

    /// The exit code.
    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }

    /// The sentence.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// What to do next.
    pub(crate) fn help(&self) -> &str {
        &self.help
    }

    /// Says it on standard error: in words, or as the document that the REST API answers errors with, in one line.
    pub(crate) fn report(&self, output: Output) {
        if self.message.is_empty() {
            return;
        }
        let mut err = anstream::stderr().lock();
        // Nowhere is left to say that standard error is closed.
        let _ = match output {
            Output::Machines => writeln!(err, "{}", escape_json(&self.document())),
            Output::People => write!(err, "{}", self.words()),
        };
    }

    fn words(&self) -> String {
        let red = Style::new().bold().fg_color(Some(AnsiColor::Red.into()));
        let cyan = Style::new().bold().fg_color(Some(AnsiColor::Cyan.into()));
        let error = format!("{red}error:{red:#} {}\n", escape_block(&self.message));
        if self.help.is_empty() {
            return error;
        }
        format!("{error}{cyan}help:{cyan:#} {}\n", escape_block(&self.help))
    }

    fn document(&self) -> String {
        let (code, message, action) =
            (self.code.clone().into_owned(), self.message.clone(), self.help.clone());
        serde_json::to_string(&ErrorBody { error: ApiError { code, message, action } }).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_of_the_gate_are_told_from_bad_input_and_from_failures() {
        for (code, status, number) in [
            ("not_granted", 403, 3),
            ("rate_limited", 429, 3),
            ("pending_approval", 409, 3),
            ("approvals_full", 429, 3),
            ("too_deep", 409, 3),
            ("not_in_manifest", 403, 3),
            ("over_budget", 429, 3),
            ("queue_full", 429, 3),
            ("unauthenticated", 401, 3),
            ("not_operator", 403, 3),
            ("not_admin", 403, 3),
            ("unknown_tool", 404, 2),
            ("invalid_arguments", 422, 2),
            ("not_found", 404, 2),
            ("taken", 409, 2),
            ("too_large", 413, 2),
            ("timed_out", 504, 1),
            ("fault", 500, 1),
            ("not_ready", 503, 1),
        ] {
            assert_eq!(Exit::of(code, StatusCode::from_u16(status).unwrap()).number(), number, "{code}");
        }
    }

    #[test]
    fn an_error_body_becomes_a_sentence_and_its_help() {
        let body = br#"{"error":{"code":"not_granted","message":"no","action":"grant it"}}"#;
        let failure = Failure::answered(StatusCode::FORBIDDEN, body);
        assert_eq!((failure.exit(), failure.message(), failure.help()), (Exit::Refused, "no", "grant it"));
    }

    #[test]
    fn a_program_gets_the_daemons_own_words_in_one_line() {
        let body = br#"{"error":{"code":"not_granted","message":"no\ntwo","action":"grant it"}}"#;
        let failure = Failure::answered(StatusCode::FORBIDDEN, body);
        assert_eq!(failure.document().as_bytes(), body);
        let own = Failure::no_daemon("none", "").document();
        assert_eq!(own, r#"{"error":{"code":"no_daemon","message":"none","action":""}}"#);
    }

    #[test]
    fn a_start_that_nobody_asked_for_ends_as_no_daemon() {
        let failure = Failure::usage("config.toml is malformed", "correct it").without_daemon();
        assert_eq!(failure, Failure::no_daemon("config.toml is malformed", "correct it"));
    }

    #[test]
    fn a_remedy_that_stands_in_the_message_too_is_told_once() {
        let body = br#"{"error":{"code":"not_granted","message":"no; grant it with: do x","action":"do x"}}"#;
        let failure = Failure::answered(StatusCode::FORBIDDEN, body);
        assert_eq!((failure.message(), failure.help()), ("no", "grant it with: do x"));
    }

    #[test]
    fn an_answer_that_is_no_error_body_is_still_a_failure() {
        let failure = Failure::answered(StatusCode::BAD_GATEWAY, b"<html>");
        assert_eq!(failure.exit(), Exit::Failed);
        assert!(failure.message().contains("502"), "{failure:?}");
    }

    #[test]
    fn a_reader_that_has_gone_away_is_no_failure() {
        let closed = std::io::Error::from(std::io::ErrorKind::BrokenPipe);
        assert_eq!(Failure::output(&closed).exit(), Exit::Done);
        let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
        assert_eq!(Failure::output(&full).exit(), Exit::Failed);
    }
}
