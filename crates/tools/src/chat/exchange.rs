//! One message is sent once: what an answer means, when it is tried again, and what is said when nobody can know.

use std::time::Duration;

use crate::ports::{Request, Response};
use crate::service::{Service, seconds};

/// The longest wait that is waited here; for a longer one the caller is told.
const PATIENCE: Duration = Duration::from_secs(5);

/// What an answer means.
#[derive(Debug, PartialEq)]
pub(super) enum Reply<T> {
    /// It was done.
    Done(T),
    /// Not now; perhaps it said when.
    Busy(Option<Duration>),
    /// It was not done, and will not be: a sentence.
    Refused(String),
    /// It may have been done or not: a clause.
    Unsure(String),
}

impl<T> Reply<T> {
    /// The same of something else, where it was done.
    pub(super) fn map<U>(self, done: impl FnOnce(T) -> U) -> Reply<U> {
        match self {
            Self::Done(value) => Reply::Done(done(value)),
            Self::Busy(wait) => Reply::Busy(wait),
            Self::Refused(why) => Reply::Refused(why),
            Self::Unsure(why) => Reply::Unsure(why),
        }
    }
}

/// What a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// To find out where the message goes.
    Before,
    /// The message itself.
    Message,
}

/// Asks, and asks once more after a short wait if that is what the service wants. What may have been done is never done
/// again.
pub(super) async fn exchange<T>(
    service: &Service,
    step: Step,
    request: Request,
    read: impl Fn(&Response) -> Reply<T>,
) -> Result<T, String> {
    let mut waited = false;
    loop {
        let response =
            service.send(request.clone()).await.map_err(|why| unsure(step, &format!("no answer: {why}")))?;
        match read(&response) {
            Reply::Done(value) => return Ok(value),
            Reply::Refused(why) => return Err(why),
            Reply::Unsure(why) => return Err(unsure(step, &why)),
            Reply::Busy(Some(wait)) if wait <= PATIENCE && !waited => {
                waited = true;
                tokio::time::sleep(wait).await;
            }
            Reply::Busy(wait) => return Err(busy(service, wait)),
        }
    }
}

fn unsure(step: Step, why: &str) -> String {
    match step {
        Step::Before => format!("{why}; nothing was sent: try again later"),
        Step::Message => {
            format!("{why}; whether the message arrived is not known: look there before it is sent again")
        }
    }
}

fn busy(service: &Service, wait: Option<Duration>) -> String {
    let when = wait.map_or_else(|| "later".to_owned(), |wait| format!("in {}", seconds(wait)));
    format!(
        "{} takes no more messages from us for now; this one was not sent: try again {when}",
        service.name
    )
}

/// What a status means whatever the service: none where the body decides.
pub(super) fn by_status<T>(service: &Service, response: &Response) -> Option<Reply<T>> {
    let (name, status) = (service.name, response.status);
    match status {
        429 => Some(Reply::Busy(service.wait(response))),
        300..=399 => Some(Reply::Refused(format!(
            "{} redirects elsewhere (HTTP {status}), and that is not followed: write the address it leads to in [{}]",
            service.host(),
            service.section
        ))),
        500.. => Some(Reply::Unsure(format!("{name} failed (HTTP {status})"))),
        _ => None,
    }
}

/// Whether a message is within what a service takes.
pub(super) fn within(service: &Service, length: usize, limit: usize, unit: &str) -> Result<(), String> {
    if length <= limit {
        return Ok(());
    }
    Err(format!(
        "the message has {length} {unit} and {} takes at most {limit}: shorten it or send it in parts",
        service.name
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::tests::{Script, answer, service};

    fn read(service: &Service) -> impl Fn(&Response) -> Reply<u16> + '_ {
        |response| by_status(service, response).unwrap_or(Reply::Done(response.status))
    }

    async fn run(script: &std::sync::Arc<Script>, step: Step) -> Result<u16, String> {
        let service = service("https://host.example/", script.clone());
        let request = service.get(service.address(&["x"]));
        exchange(&service, step, request, read(&service)).await
    }

    #[tokio::test]
    async fn a_short_wait_is_waited_once() {
        let script = Script::new([answer(429, &["retry-after: 0"], ""), answer(200, &[], "")]);
        assert_eq!(run(&script, Step::Message).await, Ok(200));
        assert_eq!(script.sent().len(), 2);
        let twice = Script::new([
            answer(429, &["retry-after: 0"], ""),
            answer(429, &["retry-after: 3"], ""),
            answer(200, &[], ""),
        ]);
        assert_eq!(
            run(&twice, Step::Message).await.unwrap_err(),
            "Example takes no more messages from us for now; this one was not sent: try again in 3 seconds"
        );
        assert_eq!(twice.sent().len(), 2);
    }

    #[tokio::test]
    async fn a_long_wait_is_told_and_not_waited() {
        for (headers, when) in [(&["retry-after: 6"][..], "in 6 seconds"), (&[], "later")] {
            let script = Script::new([answer(429, headers, "")]);
            let said = run(&script, Step::Message).await.unwrap_err();
            assert!(said.ends_with(&format!("try again {when}")), "{said}");
            assert_eq!(script.sent().len(), 1);
        }
    }

    #[tokio::test]
    async fn what_may_have_arrived_is_not_sent_again() {
        let failed = || Err("host.example did not answer within 30 seconds.".to_owned());
        for (first, said) in [
            (answer(500, &[], ""), "Example failed (HTTP 500)"),
            (answer(503, &["retry-after: 0"], ""), "Example failed (HTTP 503)"),
            (failed(), "no answer: host.example did not answer within 30 seconds"),
        ] {
            let script = Script::new([first, answer(200, &[], "")]);
            assert_eq!(
                run(&script, Step::Message).await.unwrap_err(),
                format!(
                    "{said}; whether the message arrived is not known: look there before it is sent again"
                )
            );
            assert_eq!(script.sent().len(), 1);
        }
        let script = Script::new([failed()]);
        let said = run(&script, Step::Before).await.unwrap_err();
        assert!(said.ends_with("; nothing was sent: try again later"), "{said}");
    }

    #[tokio::test]
    async fn a_redirect_is_not_followed() {
        let script = Script::new([answer(302, &["location: https://elsewhere.example/"], "")]);
        assert_eq!(
            run(&script, Step::Message).await.unwrap_err(),
            "host.example redirects elsewhere (HTTP 302), and that is not followed: write the address it leads to in \
             [chat.team]"
        );
    }
}
