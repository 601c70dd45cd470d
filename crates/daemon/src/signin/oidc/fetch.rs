//! What a provider is asked: one document of JSON, of a bounded size, in a bounded time, from where it says and nowhere else.

use std::time::Duration;

use bytes::Bytes;
use covenant_model::json;
use covenant_tools::ports::{Request, Response, Web};
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method};
use serde::de::DeserializeOwned;

use super::trouble::Trouble;
use crate::outbound::Address;

/// The most bytes of a document.
const MOST: usize = 256 * 1024;

/// How long one may take.
const WITHIN: Duration = Duration::from_secs(10);

/// The most characters that are told of what is wrong with one.
const TOLD: usize = 160;

/// The media type of what we say.
const FORM: HeaderValue = HeaderValue::from_static("application/x-www-form-urlencoded");

/// Reads the document at that address.
pub(super) async fn get<T: DeserializeOwned>(
    web: &dyn Web,
    what: &'static str,
    address: &Address,
) -> Result<T, Trouble> {
    let answer = send(web, what, Request::get(address.url())).await?;
    if answer.status != 200 {
        return Err(Trouble::Unfit {
            what,
            why: format!("it was answered with the status {}", answer.status),
        });
    }
    read(what, &answer)
}

/// Sends a form, and gives back the answer, whatever its status.
pub(super) async fn post(
    web: &dyn Web,
    what: &'static str,
    address: &Address,
    mut headers: HeaderMap,
    form: String,
) -> Result<Response, Trouble> {
    headers.insert(CONTENT_TYPE, FORM);
    let request =
        Request { method: Method::POST, headers, body: Bytes::from(form), ..Request::get(address.url()) };
    send(web, what, request).await
}

async fn send(web: &dyn Web, what: &'static str, request: Request) -> Result<Response, Trouble> {
    let mut request = Request { most: MOST, within: WITHIN, ..request };
    request.headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    let answer = web.send(request).await.map_err(Trouble::Unreachable)?;
    if answer.cut {
        return Err(Trouble::Unfit { what, why: format!("it has more than {MOST} bytes") });
    }
    Ok(answer)
}

/// The document in an answer.
pub(super) fn read<T: DeserializeOwned>(what: &'static str, answer: &Response) -> Result<T, Trouble> {
    let unfit = |why: String| Trouble::Unfit { what, why };
    json::check(&answer.body).map_err(|refused| unfit(format!("its JSON is refused: {refused}")))?;
    serde_json::from_slice(&answer.body).map_err(|error| match error.classify() {
        // It may repeat what stands there, however long that is.
        serde_json::error::Category::Data => {
            let why: String = error.to_string().chars().take(TOLD).collect();
            unfit(format!("its JSON does not fit: {why}"))
        }
        _ => unfit("it is not JSON".to_owned()),
    })
}
