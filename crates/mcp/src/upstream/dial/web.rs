//! A server behind a URL: which places and transports are tried, in which order, and what is told when none does.

use std::sync::Arc;

use covenant_model::server::{EraChoice, Web, WebTransport};
use tokio::time::Instant;
use url::Url;

use super::{Deadline, Dial, HANDSHAKE, NotDialed, Passed, START};
use crate::upstream::http::HttpWire;
use crate::upstream::link::{Failure, Link, LinkEar, NotOpened};
use crate::upstream::ports::Courier;
use crate::upstream::sse::SseWire;
use crate::upstream::wire::{Wire as _, WireError};

/// Statuses that say who may speak there, and nothing of how.
const ABOUT_US: [u16; 4] = [401, 403, 407, 429];

/// Reaches a server behind a URL.
pub(super) async fn call(
    dial: &Dial<'_>,
    web: &Web,
    deadline: Deadline,
    passed: Passed<'_>,
) -> Result<Link, NotDialed> {
    let began = Instant::now();
    let courier = deadline.keep(dial.couriers.open(web.url.reveal())).await?;
    let reached = Reached { dial, web, courier, deadline };
    if web.transport == WebTransport::Sse {
        return reached.by_stream(began, passed).await;
    }
    let (found, began) = (began.elapsed(), Instant::now());
    let opened = reached.by_posts().await;
    // Whether anybody is there is known only now.
    if !opened.as_ref().is_err_and(|not| not.kind == Failure::Unreached) {
        passed(START, found);
    }
    let refused = match opened {
        Ok(link) => {
            passed(HANDSHAKE, began.elapsed());
            return Ok(link);
        }
        Err(refused) => refused,
    };
    let status = refused.status;
    let of_posts = deadline.told(refused);
    let other = status.is_some_and(|status| is_refusal(status) && !ABOUT_US.contains(&status));
    if !other || dial.era == EraChoice::Modern {
        return Err(of_posts);
    }
    // Where that fails too, what was said first is nearer to what the entry means.
    reached
        .by_stream(began, &mut |phase, took| {
            if phase == HANDSHAKE {
                passed(phase, took);
            }
        })
        .await
        .map_err(|_| of_posts)
}

/// A server to which a way was found.
struct Reached<'a> {
    dial: &'a Dial<'a>,
    web: &'a Web,
    courier: Arc<dyn Courier>,
    deadline: Deadline,
}

impl Reached<'_> {
    /// By Streamable HTTP, at each place in turn.
    async fn by_posts(&self) -> Result<Link, NotOpened> {
        let url = self.web.url.reveal();
        let first = match self.post_at(url.to_owned()).await {
            Ok(link) => return Ok(link),
            Err(first) => first,
        };
        let Some(next) = first.status.and_then(|_| with_path(url)) else { return Err(first) };
        match self.post_at(next).await {
            Err(second) if nothing_there(&second) && !nothing_there(&first) => Err(first),
            opened => opened,
        }
    }

    async fn post_at(&self, url: String) -> Result<Link, NotOpened> {
        let ear = LinkEar::new(self.dial.scrub.clone());
        let wire =
            HttpWire::new(Arc::clone(&self.courier), self.web, url, Arc::clone(&ear) as _, self.dial.limit);
        let opened = Link::open(Arc::clone(&wire) as _, ear, self.dial.era, self.deadline.left()).await;
        if opened.is_err() {
            // It may have begun a session all the same. Nobody waits for its end.
            tokio::spawn(async move { wire.close().await });
        }
        opened
    }

    /// By the transport of the first revision, which knows one era.
    async fn by_stream(&self, began: Instant, passed: Passed<'_>) -> Result<Link, NotDialed> {
        let ear = LinkEar::new(self.dial.scrub.clone());
        let url = self.web.url.reveal().to_owned();
        let (courier, heard) = (Arc::clone(&self.courier), Arc::clone(&ear) as _);
        let opened =
            SseWire::open(courier, self.web, url, heard, self.dial.limit, self.deadline.left()).await;
        let wire = opened.map_err(|error: WireError| {
            let late = self.deadline.left().is_zero();
            NotDialed::in_start(if late {
                self.deadline.late("named no place for messages")
            } else {
                error.to_string()
            })
        })?;
        passed(START, began.elapsed());
        let began = Instant::now();
        let link = Link::open(wire, ear, EraChoice::Legacy, self.deadline.left()).await;
        // Its stream is open, so it was reached.
        let link = link.map_err(|not| NotDialed { phase: HANDSHAKE, ..self.deadline.told(not) })?;
        passed(HANDSHAKE, began.elapsed());
        Ok(link)
    }
}

fn is_refusal(status: u16) -> bool {
    (400..500).contains(&status)
}

/// Whether it says that there is nothing at that place.
fn nothing_there(not: &NotOpened) -> bool {
    not.status.is_some_and(|status| matches!(status, 404 | 405))
}

/// The usual place on a server, where the URL names none.
fn with_path(url: &str) -> Option<String> {
    let mut url = Url::parse(url).ok().filter(|url| matches!(url.path(), "" | "/"))?;
    url.set_path("/mcp");
    Some(url.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_url_without_a_path_gets_the_usual_one() {
        for (url, next) in [
            ("http://a:1", Some("http://a:1/mcp")),
            ("http://a:1/", Some("http://a:1/mcp")),
            ("http://ada:pw@a:1?key=1", Some("http://ada:pw@a:1/mcp?key=1")),
            ("http://a:1/x", None),
            ("http://a:1/mcp", None),
            ("nonsense", None),
        ] {
            assert_eq!(with_path(url).as_deref(), next, "{url}");
        }
    }
}
