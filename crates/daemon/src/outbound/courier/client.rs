//! Requests by reqwest: encrypted, by a proxy, or with a user in the URL.

use covenant_mcp::upstream::ports::{Courier, Later, Reply, ReplyBody, Sent};
use reqwest::Url;

use super::{elsewhere, headers, method, received, same_place};
use crate::outbound::{keeping_client, told, unreached};

/// A client to one server.
pub(super) struct Client {
    url: Url,
    client: reqwest::Client,
}

/// A body, as it comes.
struct Body(reqwest::Response);

impl Client {
    pub(super) async fn open(url: Url) -> Result<Self, String> {
        let to = url.clone();
        // It reads the system's certificates, and waiting for files must block no one.
        let made = tokio::task::spawn_blocking(move || keeping_client(&to)).await;
        let client = made.map_err(|error| error.to_string())?.map_err(told)?;
        Ok(Self { url, client })
    }

    async fn carry(&self, sent: Sent<'_>) -> Result<Reply, String> {
        let url = Url::parse(sent.url).map_err(|_| elsewhere())?;
        if !same_place(&self.url, &url) {
            return Err(elsewhere());
        }
        let headers = headers(sent.headers)?;
        let request = self.client.request(method(sent.method), url).headers(headers).body(sent.body);
        let failed = |error| format!("could not be reached: {}", unreached(&told(error)));
        let answer = request.send().await.map_err(failed)?;
        Ok(Reply {
            status: answer.status().as_u16(),
            headers: received(answer.headers()),
            body: Box::new(Body(answer)),
        })
    }
}

impl Courier for Client {
    fn send<'a>(&'a self, request: Sent<'a>) -> Later<'a, Result<Reply, String>> {
        Box::pin(self.carry(request))
    }
}

impl ReplyBody for Body {
    fn next(&mut self) -> Later<'_, Option<Result<Vec<u8>, String>>> {
        Box::pin(async {
            let piece = self.0.chunk().await.transpose()?;
            Some(piece.map(Into::into).map_err(|error| format!("broke off its answer: {}", told(error))))
        })
    }
}
