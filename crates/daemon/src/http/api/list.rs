//! Lists: at most a thousand things at a time, and in `Link` where the next part begins.

use axum::response::Response;
use covenant_gate::Fault;
use covenant_model::redact::Redactor;
use http::Uri;
use http::header::{HeaderValue, LINK};
use serde::{Deserialize, Serialize};

use super::super::reply::{self, Failure};

/// The most things one answer holds.
const MOST: usize = 1000;

/// The most characters of a place in a list.
const LONGEST: usize = 256;

/// Which part of a list is wanted.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Part {
    #[serde(default = "most")]
    pub(crate) limit: usize,
    pub(crate) after: Option<String>,
}

/// How many there are in a part, where nobody says.
pub(crate) fn most() -> usize {
    MOST
}

/// How many there are in a part, if that many may be.
pub(crate) fn bounded(limit: usize) -> Result<usize, Failure> {
    if (1..=MOST).contains(&limit) {
        return Ok(limit);
    }
    Err(Failure::invalid(format!("`limit` is {limit}: it is 1 to {MOST}")))
}

/// A part of a list, and the place of its last thing if there is more.
#[derive(Debug)]
pub(crate) struct Cut<T> {
    pub(crate) items: Vec<T>,
    pub(crate) next: Option<String>,
}

impl Part {
    /// The part of those things, in the order of their places: a place is found again also when its thing has gone.
    pub(crate) fn of<T>(&self, items: Vec<T>, place: impl Fn(&T) -> String) -> Result<Cut<T>, Failure> {
        bounded(self.limit)?;
        let after = self.after.as_deref().unwrap_or_default();
        if after.len() > LONGEST {
            return Err(Failure::invalid(
                "`after` is no place in this list: take it from the `Link` of an answer",
            ));
        }
        let mut placed: Vec<(String, T)> = items.into_iter().map(|item| (place(&item), item)).collect();
        placed.retain(|(place, _)| place.as_str() > after);
        placed.sort_by(|a, b| a.0.cmp(&b.0));
        let more = placed.len() > self.limit;
        placed.truncate(self.limit);
        let next = placed.last().filter(|_| more).map(|(place, _)| place.clone());
        Ok(Cut { items: placed.into_iter().map(|(_, item)| item).collect(), next })
    }
}

impl<T> Cut<T> {
    /// The answer to a request for `uri`.
    pub(crate) fn answer(
        &self,
        redactor: &Redactor,
        uri: &Uri,
        body: &impl Serialize,
    ) -> Result<Response, Failure> {
        let mut response = reply::json(redactor, body)?;
        if let Some(next) = &self.next {
            let after = format!("after={next}");
            let kept = uri.query().unwrap_or_default().split('&');
            let kept = kept.filter(|part| !part.is_empty() && !part.starts_with("after="));
            let query: Vec<&str> = kept.chain([after.as_str()]).collect();
            let target = format!("{}?{}", uri.path(), query.join("&"));
            let link = HeaderValue::try_from(format!("<{}>; rel=\"next\"", redactor.redact(&target)))
                .map_err(|error| Fault::new("the rest of the list could not be named", error))?;
            response.headers_mut().insert(LINK, link);
        }
        Ok(response)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(limit: usize, after: Option<&str>) -> Part {
        Part { limit, after: after.map(str::to_owned) }
    }

    fn letters() -> Vec<char> {
        vec!['d', 'a', 'c', 'b']
    }

    #[test]
    fn parts_put_together_are_the_list_in_order() {
        let first = part(3, None).of(letters(), ToString::to_string).unwrap();
        assert_eq!((first.items, first.next.as_deref()), (vec!['a', 'b', 'c'], Some("c")));
        let second = part(3, Some("c")).of(letters(), ToString::to_string).unwrap();
        assert_eq!((second.items, second.next), (vec!['d'], None));
        let whole = part(4, None).of(letters(), ToString::to_string).unwrap();
        assert_eq!(whole.next, None, "a list that fits has no next part");
        let gone = part(3, Some("bb")).of(letters(), ToString::to_string).unwrap();
        assert_eq!(gone.items, ['c', 'd'], "what stood there may have gone");
    }

    #[test]
    fn a_limit_that_makes_no_sense_is_refused() {
        for limit in [0, MOST + 1] {
            assert!(part(limit, None).of(letters(), ToString::to_string).is_err());
        }
        assert!(part(1, Some(&"x".repeat(257))).of(letters(), ToString::to_string).is_err());
    }

    #[test]
    fn the_next_part_is_asked_for_with_the_same_question() {
        let cut = Cut { items: vec![1], next: Some("b".to_owned()) };
        let uri = "/api/v1/tools?q=x&after=a&limit=1".parse().unwrap();
        let answer = cut.answer(&Redactor::none(), &uri, &cut.items).unwrap();
        assert_eq!(answer.headers()[LINK], "</api/v1/tools?q=x&limit=1&after=b>; rel=\"next\"");
    }
}
