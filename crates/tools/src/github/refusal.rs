//! What GitHub's errors mean, told so that it is clear who must do what.

use covenant_model::time::Timestamp;
use serde_json::Value;

use super::{Repository, said, strange, unsure};
use crate::ports::Response;
use crate::service::{Service, header, seconds, text};

/// What was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doing {
    Listing,
    Creating,
}

/// The sentence for an answer that is not what was asked for.
pub(super) fn refusal(
    service: &Service,
    repository: Repository<'_>,
    doing: Doing,
    response: &Response,
) -> String {
    let (said, message) = said(response);
    let message = service.shown(&message);
    if let Some(limited) = limited(service, &message, response) {
        return limited;
    }
    match response.status {
        300..=399 => {
            format!("{repository} has moved (HTTP {}): find its new name and use that", response.status)
        }
        500.. if doing == Doing::Creating => {
            unsure(repository, &format!("it failed (HTTP {})", response.status))
        }
        500.. => format!("GitHub failed (HTTP {}): try again later", response.status),
        _ if message.is_empty() => strange(service, response),
        401 => service.unaccepted(&message),
        403 => forbidden(service, repository, doing, &message, response),
        404 => format!(
            "GitHub knows no repository {repository}, or the token of [github] may not see it ({message}): check the \
             name, or give the token access to it"
        ),
        410 => format!("issues are turned off for {repository} ({message}): turn them on in its settings"),
        422 => format!(
            "GitHub did not accept what was sent for {repository}: {}",
            invalid(service, &said, &message)
        ),
        status => format!("GitHub refused (HTTP {status}) for {repository}: {message}"),
    }
}

/// The sentence for too many requests, of either kind.
fn limited(service: &Service, message: &str, response: &Response) -> Option<String> {
    if ![403, 429].contains(&response.status) {
        return None;
    }
    if header(response, "x-ratelimit-remaining") == Some("0") {
        let reset = header(response, "x-ratelimit-reset").and_then(|reset| reset.parse::<u64>().ok());
        let when = reset.map_or_else(|| "in an hour".to_owned(), |reset| at(service.now(), reset));
        return Some(format!("the requests that GitHub allows this token are used up: try again {when}"));
    }
    let secondary = message.contains("secondary rate limit") || message.contains("abuse detection");
    let wait = service.wait(response);
    if wait.is_none() && !secondary && response.status != 429 {
        return None;
    }
    // Without a header, GitHub asks for a minute.
    let wait = wait.map_or_else(|| "60 seconds".to_owned(), seconds);
    Some(format!("GitHub wants fewer requests for now (secondary rate limit): try again in {wait}"))
}

/// A moment, and how far it is.
fn at(now: Timestamp, reset: u64) -> String {
    let reset = Timestamp::from_millis(reset.saturating_mul(1000));
    format!("in {}, at {reset}", seconds(reset.since(now)))
}

fn forbidden(
    service: &Service,
    repository: Repository<'_>,
    doing: Doing,
    message: &str,
    response: &Response,
) -> String {
    // The rest of that header is an address with a credential.
    if header(response, "x-github-sso").is_some_and(|sso| sso.starts_with("required")) {
        return format!(
            "the organization of {repository} wants single sign-on ({message}): authorize the token of [github] for it, \
             in GitHub's settings of the token"
        );
    }
    let named = header(response, "x-accepted-github-permissions").filter(|named| !named.is_empty());
    let needed = named.map_or_else(
        || if doing == Doing::Creating { "issues=write" } else { "issues=read" }.to_owned(),
        |named| service.shown(named),
    );
    format!(
        "the token of [github] may not do that in {repository} ({message}): it needs the permission `{needed}` (a \
         classic token: the scope `repo`)"
    )
}

/// What was wrong with which field.
fn invalid(service: &Service, said: &Value, message: &str) -> String {
    let errors = said.get("errors").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let one = |error: &Value| match (text(error, "field"), text(error, "code"), text(error, "message")) {
        ("", "", "") => error.as_str().map(str::to_owned),
        (field, code, "") => Some(format!("`{field}` {code}")),
        ("", _, message) => Some(message.to_owned()),
        (field, _, message) => Some(format!("`{field}`: {message}")),
    };
    let fields: Vec<String> = errors.iter().filter_map(one).take(10).collect();
    if fields.is_empty() {
        message.to_owned()
    } else {
        service.shown(&format!("{message}: {}", fields.join("; ")))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::service::tests::{Script, answer, service};

    fn told(doing: Doing, status: u16, headers: &[&str], body: &str) -> String {
        let service = service("https://api.github.com", Script::new([]));
        let repository = Repository::of("octo", "hello").unwrap();
        refusal(&service, repository, doing, &answer(status, headers, body).unwrap())
    }

    fn message(text: &str) -> String {
        json!({"message": text, "documentation_url": "https://docs.github.com/rest"}).to_string()
    }

    #[test]
    fn a_limit_says_when_it_is_over() {
        for (status, headers, body, said) in [
            (
                403,
                &["x-ratelimit-remaining: 0", "x-ratelimit-reset: 1794831000"][..],
                message("API rate limit exceeded for user ID 1."),
                "the requests that GitHub allows this token are used up: try again in 600 seconds, at \
                 2026-11-16T12:10:00.000Z",
            ),
            (
                429,
                &["x-ratelimit-remaining: 0"],
                message("API rate limit exceeded"),
                "the requests that GitHub allows this token are used up: try again in an hour",
            ),
            (
                403,
                &["x-ratelimit-remaining: 0", "x-ratelimit-reset: 18446744073709551615"],
                message("API rate limit exceeded"),
                "the requests that GitHub allows this token are used up: try again in 251607470400 seconds, at \
                 9999-12-31T23:59:59.999Z",
            ),
            (
                403,
                &["retry-after: 45", "x-ratelimit-remaining: 4000"],
                message("You have exceeded a secondary rate limit."),
                "GitHub wants fewer requests for now (secondary rate limit): try again in 45 seconds",
            ),
            (
                403,
                &[],
                message("You have exceeded a secondary rate limit. Please wait"),
                "GitHub wants fewer requests for now (secondary rate limit): try again in 60 seconds",
            ),
            (
                429,
                &[],
                String::new(),
                "GitHub wants fewer requests for now (secondary rate limit): try again in 60 seconds",
            ),
        ] {
            assert_eq!(told(Doing::Listing, status, headers, &body), said);
        }
    }

    #[test]
    fn every_documented_error_is_a_sentence() {
        for (doing, status, headers, body, said) in [
            (
                Doing::Listing,
                403,
                &["x-accepted-github-permissions: issues=read; metadata=read"][..],
                message("Resource not accessible by personal access token"),
                "the token of [github] may not do that in octo/hello (Resource not accessible by personal access \
                 token): it needs the permission `issues=read; metadata=read` (a classic token: the scope `repo`)",
            ),
            (
                Doing::Creating,
                403,
                &["x-ratelimit-remaining: 4999"],
                message("Must have push access"),
                "the token of [github] may not do that in octo/hello (Must have push access): it needs the permission \
                 `issues=write` (a classic token: the scope `repo`)",
            ),
            (
                Doing::Listing,
                403,
                &["x-github-sso: required; url=https://github.com/orgs/o/sso?authorization_request=abc"],
                message("Resource protected by organization SAML enforcement."),
                "the organization of octo/hello wants single sign-on (Resource protected by organization SAML \
                 enforcement.): authorize the token of [github] for it, in GitHub's settings of the token",
            ),
            (
                Doing::Listing,
                401,
                &[],
                message("Bad credentials"),
                "GitHub does not accept the token of [github] (Bad credentials): it is wrong, expired or revoked; get a \
                 new one and store it with `covenant secrets set NAME`, NAME being the secret that `token` in [github] \
                 takes",
            ),
            (
                Doing::Listing,
                404,
                &[],
                message("Not Found"),
                "GitHub knows no repository octo/hello, or the token of [github] may not see it (Not Found): check the \
                 name, or give the token access to it",
            ),
            (
                Doing::Creating,
                410,
                &[],
                message("Issues has been disabled in this repository."),
                "issues are turned off for octo/hello (Issues has been disabled in this repository.): turn them on in \
                 its settings",
            ),
            (
                Doing::Creating,
                422,
                &[],
                json!({"message": "Validation Failed", "errors": [
                    {"resource": "Issue", "field": "title", "code": "missing_field"},
                    {"resource": "Label", "field": "name", "code": "custom", "message": "is odd"},
                    "and more",
                    5,
                ]})
                .to_string(),
                "GitHub did not accept what was sent for octo/hello: Validation Failed: `title` missing_field; `name`: \
                 is odd; and more",
            ),
            (Doing::Listing, 502, &[], "<html>".to_owned(), "GitHub failed (HTTP 502): try again later"),
            (
                Doing::Creating,
                503,
                &[],
                message("Service unavailable"),
                "no sound answer from GitHub: it failed (HTTP 503); whether the issue was created is not known: look at \
                 octo/hello before it is created again",
            ),
            (
                Doing::Creating,
                307,
                &["location: https://api.github.com/repositories/1/issues"],
                message("Temporary Redirect"),
                "octo/hello has moved (HTTP 307): find its new name and use that",
            ),
            (
                Doing::Listing,
                404,
                &["content-type: text/html"],
                "<html>".to_owned(),
                "api.github.com did not answer as the API of GitHub does (HTTP 404, text/html): check the address in \
                 [github] (an Enterprise server has its API at https://HOST/api/v3)",
            ),
            (
                Doing::Listing,
                451,
                &[],
                message("Repository access blocked: Bearer token-of-the-team"),
                "GitHub refused (HTTP 451) for octo/hello: Repository access blocked: Bearer [REDACTED:token]",
            ),
        ] {
            // The section of the service of the tests is another.
            let told = told(doing, status, headers, &body).replace("[chat.team]", "[github]");
            assert_eq!(told.replace("Example", "GitHub"), said);
        }
    }
}
