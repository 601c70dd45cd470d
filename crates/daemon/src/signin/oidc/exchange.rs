//! A code taken to the provider, which gives its tokens for it once, to whoever asked for the code and nobody else.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue};
use serde::Deserialize;

use super::discovery::{Metadata, Shown};
use super::trouble::Trouble;
use super::{Client, Flow, fetch, word};

/// What the answer is called.
const WHAT: &str = "answer to the code";

/// What a provider answers to a code.
#[derive(Deserialize)]
pub(super) struct Exchanged {
    pub(super) id_token: String,
    pub(super) access_token: Option<String>,
}

/// What it answers where it does not take one.
#[derive(Deserialize)]
struct NotTaken {
    error: String,
}

/// Takes a code to the provider, and shows that it was us who asked for it.
pub(super) async fn ask(
    client: &Client,
    metadata: &Metadata,
    flow: &Flow,
    code: &str,
) -> Result<Exchanged, Trouble> {
    let mut form = vec![
        ("grant_type", "authorization_code"),
        ("code", code),
        ("redirect_uri", &flow.redirect_uri),
        ("code_verifier", &flow.verifier),
    ];
    let mut headers = HeaderMap::new();
    match metadata.shown {
        Shown::Header => {
            headers.insert(AUTHORIZATION, basic(client)?);
        }
        Shown::Form => {
            form.extend([("client_id", client.id.as_str()), ("client_secret", client.secret.reveal())]);
        }
    }
    let form = form.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect::<Vec<_>>();
    let answer = fetch::post(&*client.web, WHAT, &metadata.token, headers, form.join("&")).await?;
    match answer.status {
        200 => fetch::read(WHAT, &answer),
        400 | 401 => {
            let told: NotTaken = fetch::read(WHAT, &answer)?;
            Err(Trouble::Refused(word(&told.error)))
        }
        status => Err(Trouble::Unfit { what: WHAT, why: format!("it has the status {status}") }),
    }
}

/// Our name and secret, each written as in a form before they are joined.
fn basic(client: &Client) -> Result<HeaderValue, Trouble> {
    let joined = format!("{}:{}", encoded(&client.id), encoded(client.secret.reveal()));
    let mut value =
        HeaderValue::try_from(format!("Basic {}", STANDARD.encode(joined))).map_err(|_| Trouble::NoSecret)?;
    value.set_sensitive(true);
    Ok(value)
}

fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_a_form_means_itself() {
        assert_eq!(encoded("a b&c=d:\u{f6}~-._"), "a%20b%26c%3Dd%3A%C3%B6%7E-._");
    }
}
