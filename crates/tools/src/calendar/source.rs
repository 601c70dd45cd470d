//! Where a calendar comes from: a file, or an address that is asked at most once a minute, and then only for what changed.
//! Addresses of calendars are often secrets; no sentence shows more of one than its host.

use std::io::Read as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use covenant_gate::{Clock, Veil};
use covenant_model::time::Timestamp;
use http::header::{ACCEPT, CONTENT_TYPE, ETAG, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED, LOCATION};
use http::{HeaderMap, HeaderName, HeaderValue};
use url::Url;

use super::{Calendar, Listing, MOST_BYTES, Window};
use crate::ports::{Request, Response, Web};
use crate::settings::{self, CalendarSource};

/// How long an answer is good without asking again.
const FRESH: Duration = Duration::from_mins(1);

/// How many redirects are followed.
const REDIRECTS: u8 = 3;

/// A calendar of the configuration.
pub struct Source {
    name: String,
    place: CalendarSource,
    kept: Mutex<Option<Kept>>,
}

/// What an address answered last, or why there is nothing: one that fails is not asked more often than others.
#[derive(Clone)]
struct Kept {
    body: Result<Bytes, String>,
    asked: Timestamp,
    /// What to send so that only a change is answered.
    conditions: HeaderMap,
}

impl Source {
    /// One of the configuration.
    pub fn new(calendar: &settings::Calendar) -> Self {
        Self { name: calendar.name.clone(), place: calendar.source.clone(), kept: Mutex::default() }
    }

    /// What people call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What happens in it on those days, without secrets; otherwise a clause says why nobody knows.
    pub async fn within(
        &self,
        window: Window,
        veil: Veil,
        web: &dyn Web,
        clock: &dyn Clock,
    ) -> Result<Listing, String> {
        let (verb, bytes) = match &self.place {
            CalendarSource::Address(url) => ("fetch", self.fetched(url, web, clock).await),
            CalendarSource::File(path) => {
                let path = path.clone();
                ("read", apart(move || file(&path)).await.flatten().map(Bytes::from))
            }
        };
        let told = |reason: String| format!("failed to {verb} the calendar `{}`: {reason}", self.name);
        let bytes = bytes.map_err(told)?;
        let read = apart(move || {
            let calendar = Calendar::read(&bytes, &veil).map_err(|error| error.to_string())?;
            Ok(calendar.within(&window))
        });
        let read = read.await.flatten();
        if read.is_err() {
            self.forget_conditions();
        }
        read.map_err(told)
    }

    fn keep(&self, answer: Kept) {
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
    }

    /// What is no calendar is asked for anew, whether or not it changed; but not before its minute is over.
    fn forget_conditions(&self) {
        if let Some(kept) = self.kept.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            kept.conditions.clear();
        }
    }

    async fn fetched(&self, url: &Url, web: &dyn Web, clock: &dyn Clock) -> Result<Bytes, String> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let now = clock.now();
        if let Some(kept) = &kept
            && now
                .millis()
                .checked_sub(kept.asked.millis())
                .is_some_and(|age| u128::from(age) < FRESH.as_millis())
        {
            return kept.body.clone();
        }
        let mut request = Request { redirects: REDIRECTS, most: MOST_BYTES, ..Request::get(url.clone()) };
        request.headers.extend(kept.as_ref().map(|kept| kept.conditions.clone()).unwrap_or_default());
        request.headers.insert(ACCEPT, HeaderValue::from_static("text/calendar, */*;q=0.5"));
        let fresh = match web.send(request).await {
            Err(reason) => Kept { body: Err(reason), asked: now, conditions: HeaderMap::new() },
            Ok(answer) => match kept {
                Some(kept) if answer.status == 304 => Kept { asked: now, ..kept },
                _ => {
                    let conditions = conditions(&answer.headers);
                    match body(url, answer) {
                        Ok(body) => Kept { body: Ok(body), asked: now, conditions },
                        Err(reason) => Kept { body: Err(reason), asked: now, conditions: HeaderMap::new() },
                    }
                }
            },
        };
        let body = fresh.body.clone();
        self.keep(fresh);
        body
    }
}

fn conditions(answered: &HeaderMap) -> HeaderMap {
    let pairs: [(HeaderName, HeaderName); 2] = [(IF_NONE_MATCH, ETAG), (IF_MODIFIED_SINCE, LAST_MODIFIED)];
    let known = pairs.into_iter().filter_map(|(ask, said)| Some((ask, answered.get(said)?.clone())));
    known.collect()
}

/// The body of an answer that holds a calendar, or may.
fn body(asked: &Url, answer: Response) -> Result<Bytes, String> {
    let host = asked.host_str().unwrap_or("the server");
    if answer.status != 200 {
        return Err(refused(asked, host, &answer));
    }
    if answer.cut {
        return Err(format!("{host} sent more than {} MiB", MOST_BYTES >> 20));
    }
    if is_page(&answer) {
        return Err(format!(
            "{host} sent a web page (HTML) and no calendar; in `url` write the address of its iCalendar feed, which often \
             ends in .ics"
        ));
    }
    Ok(answer.body)
}

/// Why there is no calendar, by the status of the answer.
fn refused(asked: &Url, host: &str, answer: &Response) -> String {
    match answer.status {
        401 => format!(
            "{host} wants to know who asks (401); give its `url` a user and password, or a secret address"
        ),
        403 => format!(
            "{host} does not allow it (403); the calendar is not shared, or its secret address was changed"
        ),
        404 | 410 => format!("{host} has no calendar there ({}); check its `url`", answer.status),
        429 => format!("{host} was asked too often (429); try again later"),
        301..=303 | 307 | 308 => {
            let place = answer.headers.get(LOCATION).and_then(|place| place.to_str().ok());
            let elsewhere = place.and_then(|place| asked.join(place).ok());
            let there = elsewhere.as_ref().and_then(Url::host_str).unwrap_or("another place");
            format!(
                "{host} redirects to {there} ({}), which is not followed; write its address there as `url`",
                answer.status
            )
        }
        500..=599 => format!("{host} has trouble of its own ({}); try again later", answer.status),
        status => format!("{host} answered with status {status}"),
    }
}

fn is_page(answer: &Response) -> bool {
    let kind = answer.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let begins = |text: &[u8]| {
        let body = answer.body.trim_ascii_start();
        body.get(..text.len()).is_some_and(|start| start.eq_ignore_ascii_case(text))
    };
    // Some servers say that everything is a page, so a calendar is believed.
    !begins(b"BEGIN:VCALENDAR")
        && (kind.to_ascii_lowercase().starts_with("text/html")
            || begins(b"<!doctype html")
            || begins(b"<html"))
}

/// A file's bytes, if it is a file and not too large.
fn file(path: &Path) -> Result<Vec<u8>, String> {
    let told = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => "its file is not there; check its `path`".to_owned(),
        std::io::ErrorKind::PermissionDenied => "its file may not be read; check who may read it".to_owned(),
        _ => format!("its file cannot be read: {error}"),
    };
    if !std::fs::metadata(path).map_err(told)?.is_file() {
        return Err("its `path` leads to something that is no file".to_owned());
    }
    let limit = u64::try_from(MOST_BYTES).unwrap_or(u64::MAX);
    let mut bytes = Vec::new();
    let opened = std::fs::File::open(path).map_err(told)?;
    opened.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(told)?;
    if bytes.len() > MOST_BYTES {
        return Err(format!("its file has more than {} MiB", MOST_BYTES >> 20));
    }
    Ok(bytes)
}

/// Does what blocks, where nobody waits for it.
async fn apart<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, String> {
    tokio::task::spawn_blocking(work).await.map_err(|_| "reading it broke off; try again".to_owned())
}

#[cfg(test)]
mod tests;
