//! What happens to one intent, as it happens: how it stands first, then everything until it is over. As lines of JSON, or as
//! server-sent events for whoever asks for those.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use covenant_gate::Credential;
use covenant_tools::agent::desk::News;
use futures_util::stream;
use http::HeaderMap;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};

use super::super::super::auth::{Who, shown};
use super::super::super::document::Segment;
use super::super::super::reply::Failure;
use super::super::super::via::Via;
use super::{found, read};
use crate::daemon::Daemon;

/// What happens to it.
pub(crate) async fn events(
    State(daemon): State<Arc<Daemon>>,
    Who(caller): Who,
    Segment(id): Segment,
    via: Option<Extension<Via>>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    daemon.gate.admit(&caller)?;
    let id = read(id)?;
    // Asked for before it is looked up, so that nothing happens in between.
    let news = daemon.agents.house.desk.follow(&id).map(|(_, news)| news);
    let record = found(&daemon, &caller, id).await?;
    let accepts = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let form = if accepts.contains("text/event-stream") { Form::Events } else { Form::Lines };
    let news = news.filter(|_| !record.status.is_over());
    let credential = shown(&headers, via.as_ref().map(|Extension(via)| via));
    let changes = daemon.gate.changed();
    let following = Following { daemon, form, first: Some(News::of(&record)), news, credential, changes };
    let body = stream::unfold(Some(following), async |following| following?.next().await);
    let mut response = Response::new(Body::from_stream(body));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(form.media()));
    Ok(response)
}

/// How events are written.
#[derive(Clone, Copy)]
enum Form {
    Lines,
    Events,
}

impl Form {
    fn media(self) -> &'static str {
        match self {
            Self::Lines => "application/x-ndjson",
            Self::Events => "text/event-stream",
        }
    }

    fn write(self, daemon: &Daemon, news: &News) -> Bytes {
        let line = serde_json::to_string(news).unwrap_or_default();
        let line = daemon.gate.redactor().redact_json(&line).into_owned();
        Bytes::from(match self {
            Self::Lines => format!("{line}\n"),
            Self::Events => format!("event: {}\ndata: {line}\n\n", news.event),
        })
    }
}

struct Following {
    daemon: Arc<Daemon>,
    form: Form,
    first: Option<News>,
    news: Option<broadcast::Receiver<Arc<News>>>,
    /// What was shown, and what changes when that may no longer be worth anything.
    credential: Credential,
    changes: watch::Receiver<u64>,
}

impl Following {
    async fn next(mut self) -> Option<(Result<Bytes, Infallible>, Option<Self>)> {
        if let Some(first) = self.first.take() {
            let bytes = self.form.write(&self.daemon, &first);
            return Some((Ok(bytes), self.news.is_some().then_some(self)));
        }
        loop {
            let news = tokio::select! {
                news = self.news.as_mut()?.recv() => news,
                () = self.daemon.stop.closing.cancelled() => return None,
                changed = self.changes.changed() => {
                    changed.ok()?;
                    self.daemon.gate.authenticate(&self.credential).ok()?;
                    continue;
                }
            };
            match news {
                Ok(news) => return Some((Ok(self.form.write(&self.daemon, &news)), Some(self))),
                // It spoke faster than it was read; the end is never among what was missed.
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return None,
            }
        }
    }
}
