//! The daemon's log: lines for people or machines, redacted, into `logs/` and, in the foreground, to standard error.
//!
//! Our own layer instead of the stock one, because each value is redacted and its control characters are escaped
//! before it becomes part of a line: no caller can write a line of its own.

mod file;
mod line;

use std::cell::RefCell;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

use covenant_gate::Clock;
use covenant_model::redact::Redactor;
use parking_lot::{Mutex, RwLock};
use tracing::level_filters::LevelFilter;
use tracing::subscriber::Interest;
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt as _};

use crate::config::logging::{Format, Level, Logging};

/// Where lines go beside the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Echo {
    /// To standard error as well.
    Stderr,
    /// Nowhere else.
    Nowhere,
}

/// A handle on the log: its level, form and redactor can change while it is written. Cheap to clone.
#[derive(Clone)]
pub struct Logs(Arc<Inner>);

struct Inner {
    settings: RwLock<Settings>,
    file: Mutex<file::Rotating>,
    echo: Echo,
    clock: Arc<dyn Clock>,
}

#[derive(Clone)]
struct Settings {
    level: LevelFilter,
    format: Format,
    redactor: Arc<Redactor>,
}

impl Logs {
    /// A log in that file. Nothing is written to it before [`Logs::install`].
    pub fn open(path: &Path, logging: Logging, echo: Echo, clock: Arc<dyn Clock>) -> io::Result<Self> {
        let settings = Settings {
            level: filter(logging.level),
            format: logging.format,
            redactor: Arc::new(Redactor::none()),
        };
        let file = Mutex::new(file::Rotating::open(path)?);
        Ok(Self(Arc::new(Inner { settings: RwLock::new(settings), file, echo, clock })))
    }

    /// Makes it the log of this process. `false` if the process has another one already.
    pub fn install(&self) -> bool {
        tracing::subscriber::set_global_default(self.subscriber()).is_ok()
    }

    fn subscriber(&self) -> impl Subscriber + Send + Sync + 'static {
        tracing_subscriber::registry().with(Lines(Arc::clone(&self.0)))
    }

    /// Takes another level and form.
    pub fn set(&self, logging: Logging) {
        {
            let mut settings = self.0.settings.write();
            settings.level = filter(logging.level);
            settings.format = logging.format;
        }
        tracing::callsite::rebuild_interest_cache();
    }

    /// Hides other secrets from now on.
    pub fn set_redactor(&self, redactor: Arc<Redactor>) {
        self.0.settings.write().redactor = redactor;
    }
}

/// Sends panics to the log instead of standard error: their messages may quote what a caller sent.
pub fn log_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let message = panic.payload_as_str().unwrap_or("without a message");
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(target: "panic", place, "{message}");
    }));
}

fn filter(level: Level) -> LevelFilter {
    match level {
        Level::Error => LevelFilter::ERROR,
        Level::Warn => LevelFilter::WARN,
        Level::Info => LevelFilter::INFO,
        Level::Debug => LevelFilter::DEBUG,
        Level::Trace => LevelFilter::TRACE,
    }
}

struct Lines(Arc<Inner>);

impl Lines {
    /// Other people's libraries are heard from when they warn: their chatter is not about our callers.
    fn wants(&self, metadata: &Metadata<'_>) -> bool {
        let ours =
            ["covenant", "mcp", "child", "panic"].iter().any(|name| metadata.target().starts_with(name));
        let level = self.0.settings.read().level;
        *metadata.level() <= if ours { level } else { level.min(LevelFilter::WARN) }
    }
}

impl<S: Subscriber> Layer<S> for Lines {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if self.wants(metadata) { Interest::always() } else { Interest::never() }
    }

    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        self.wants(metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.0.settings.read().level)
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        thread_local!(static LINE: RefCell<String> = const { RefCell::new(String::new()) });
        let settings = self.0.settings.read().clone();
        LINE.with(|line| {
            // Formatting a value could log in turn; such a line is dropped rather than this one.
            let Ok(mut line) = line.try_borrow_mut() else { return };
            line.clear();
            let now = self.0.clock.now();
            match settings.format {
                Format::Text => line::text(&mut line, event, now, &settings.redactor),
                Format::Json => line::json(&mut line, event, now, &settings.redactor),
            }
            self.0.file.lock().write(line.as_bytes());
            if self.0.echo == Echo::Stderr {
                let _ = io::stderr().lock().write_all(line.as_bytes());
            }
        });
    }
}

#[cfg(test)]
mod tests;
