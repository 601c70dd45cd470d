//! How a batch reaches the collector: posted, tried again while that may help, and said once when it does not.

use std::time::Duration;

use http::header::CONTENT_TYPE;
use http::{HeaderMap, StatusCode};
use reqwest::Client;
use tokio::time::sleep;

use crate::outbound::{self, Address};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often one batch is sent at most.
const ATTEMPTS: u32 = 4;

const WAITS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(4));

/// The way to one collector.
pub(super) struct Post {
    address: Address,
    headers: HeaderMap,
    client: Option<Client>,
    standing: Standing,
    /// How long to wait after the first failure, and at most.
    waits: (Duration, Duration),
}

/// How it went so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Untried,
    Taken,
    Failing,
}

/// Why a batch was not taken.
enum Refused {
    /// The next attempt may succeed.
    ForNow(String),
    /// It will be refused each time.
    ForGood(String),
}

/// A collector that is not reached may be later. One that took too long may have it already.
fn refused(error: reqwest::Error) -> Refused {
    if error.is_timeout() && !error.is_connect() {
        return Refused::ForGood(format!("it did not answer within {} s", PATIENCE.as_secs()));
    }
    Refused::ForNow(outbound::told(error))
}

impl Post {
    pub(super) fn new(address: Address, headers: HeaderMap) -> Self {
        Self { address, headers, client: None, standing: Standing::Untried, waits: WAITS }
    }

    #[cfg(test)]
    pub(super) fn hurry(&mut self) {
        self.waits = (Duration::from_millis(2), Duration::from_millis(4));
    }

    /// Posts it; whether it was taken.
    pub(super) async fn deliver(&mut self, body: String) -> bool {
        let mut failures = 0;
        loop {
            let cause = match self.attempt(body.clone()).await {
                Ok(()) => {
                    self.note(Standing::Taken, "");
                    return true;
                }
                Err(Refused::ForNow(cause)) if failures + 1 < ATTEMPTS => {
                    self.note(Standing::Failing, &cause);
                    // The next client reads certificates and proxies anew: perhaps it is those that are wrong.
                    self.client = None;
                    sleep(outbound::backoff(self.waits.0, self.waits.1, failures)).await;
                    failures += 1;
                    continue;
                }
                Err(Refused::ForNow(cause) | Refused::ForGood(cause)) => cause,
            };
            self.note(Standing::Failing, &cause);
            return false;
        }
    }

    async fn attempt(&mut self, body: String) -> Result<(), Refused> {
        let client = match &self.client {
            Some(client) => client,
            None => self.client.insert(self.address.clone().open().await.map_err(Refused::ForNow)?),
        };
        let request = client
            .post(self.address.url())
            .headers(self.headers.clone())
            .header(CONTENT_TYPE, "application/json")
            .body(body)
            .timeout(PATIENCE);
        let answered = request.send().await.map_err(refused)?;
        let status = answered.status();
        let told = format!("it answered {status}");
        match status {
            status if status.is_success() => Ok(()),
            StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT => Err(Refused::ForNow(told)),
            _ => Err(Refused::ForGood(told)),
        }
    }

    /// Says when it begins to fail and when it works, and nothing between.
    fn note(&mut self, next: Standing, cause: &str) {
        let before = std::mem::replace(&mut self.standing, next);
        let to = self.address.origin();
        match next {
            _ if before == next => tracing::debug!(target: "covenant", to, cause, "spans: as before"),
            Standing::Failing => tracing::warn!(
                target: "covenant", to, cause,
                "spans are not taken; calls go on, and spans that are not taken in the end are lost"
            ),
            _ => tracing::info!(target: "covenant", to, "spans are taken"),
        }
    }
}
