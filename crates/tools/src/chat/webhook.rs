//! A webhook: the message as JSON, posted to the address in the configuration, which is itself a credential.

use http::Method;
use serde_json::json;

use super::Message;
use super::exchange::{Reply, Step, by_status, exchange, within};
use crate::ports::Response;
use crate::service::Service;

/// As much as the tool takes at all.
pub(super) const LIMIT: usize = 100_000;

pub(super) async fn send(service: &Service, message: &Message<'_>) -> Result<(), String> {
    within(service, message.text.chars().count(), LIMIT, "characters")?;
    // Many receivers know the text by this name, some by that.
    let content = json!({"target": message.written, "message": message.text, "text": message.text});
    let request = service.put(Method::POST, service.base.clone(), &content);
    exchange(service, Step::Message, request, |response| read(service, response)).await
}

fn read(service: &Service, response: &Response) -> Reply<()> {
    if let Some(reply) = by_status(service, response) {
        return reply;
    }
    let reason = service.shown(&String::from_utf8_lossy(&response.body));
    let reason = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    match response.status {
        200..=299 => Reply::Done(()),
        status @ (401 | 403) => Reply::Refused(format!(
            "the webhook at {} does not let us in (HTTP {status}): check `url` and `token` in [{}]",
            service.host(),
            service.section
        )),
        status @ (404 | 410) => Reply::Refused(format!(
            "there is no webhook at the address of [{}], at {} (HTTP {status}): make a new one and store its address",
            service.section,
            service.host()
        )),
        status => Reply::Refused(format!(
            "the webhook at {} did not take the message (HTTP {status}){reason}",
            service.host()
        )),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::tests::{HOOK, try_with};
    use super::*;
    use crate::service::tests::answer;
    use crate::settings::Provider;

    #[tokio::test]
    async fn a_message_is_posted_to_the_address_as_it_is() {
        for status in [200, 201, 202, 204] {
            let done = try_with(Provider::Webhook, "channel:ops", "hi", [answer(status, &[], "")]).await;
            assert_eq!(done.result.unwrap(), "Message sent via team to channel:ops");
            let [request] = done.sent.as_slice() else { panic!("{:?}", done.sent) };
            assert_eq!((request.method.as_str(), request.url.as_str()), ("POST", HOOK));
            assert_eq!(request.headers["authorization"], "Bearer token-of-the-team");
            let content: Value = serde_json::from_slice(&request.body).unwrap();
            assert_eq!(content, json!({"target": "channel:ops", "message": "hi", "text": "hi"}));
        }
    }

    #[tokio::test]
    async fn every_failure_is_a_sentence_without_the_address() {
        for (status, headers, said, sentence) in [
            (
                400,
                &[][..],
                "bad hook-segment-0001 in\n/in/hook-segment-0001?key=hook-key-0002",
                "the webhook at hooks.example did not take the message (HTTP 400): bad [REDACTED:url] in \
                 [REDACTED:url]?[REDACTED:url]",
            ),
            (
                401,
                &[],
                "",
                "the webhook at hooks.example does not let us in (HTTP 401): check `url` and `token` in [chat.team]",
            ),
            (
                404,
                &[],
                "",
                "there is no webhook at the address of [chat.team], at hooks.example (HTTP 404): make a new one and \
                 store its address",
            ),
            (
                429,
                &["retry-after: 9"],
                "",
                "the webhook takes no more messages from us for now; this one was not sent: try again in 9 seconds",
            ),
            (
                500,
                &[],
                "",
                "the webhook failed (HTTP 500); whether the message arrived is not known: look there before it is sent \
                 again",
            ),
            (
                301,
                &["location: https://hooks.example/else"],
                "",
                "hooks.example redirects elsewhere (HTTP 301), and that is not followed: write the address it leads to \
                 in [chat.team]",
            ),
        ] {
            let outcome = try_with(Provider::Webhook, "ops", "hi", [answer(status, headers, said)]).await;
            assert_eq!(outcome.result.unwrap_err(), sentence);
        }
    }
}
