//! GitHub, or an Enterprise server: which repository is meant, what is asked, and what is answered.
//!
//! What an issue looks like is in `issue`, how lists go on in `paging`, and what each error means in `refusal`.

mod issue;
mod paging;
mod refusal;

use covenant_gate::Veil;
use http::{HeaderName, HeaderValue, Method, header};
use serde_json::{Value, json};

use self::issue::Entry;
pub(crate) use self::issue::{Issue, Page};
use self::refusal::{Doing, refusal};
use crate::native::Parts;
use crate::ports::{Request, Response};
use crate::service::{Place, Service, json as body, text};
use crate::settings::Outside;

/// How many entries are asked for at once.
const AT_ONCE: usize = 100;

/// How many requests one list may take.
const REQUESTS: usize = 30;

/// The most bytes of one answer: a hundred issues can have long texts.
const MOST: usize = 32 << 20;

/// Why there is no GitHub.
pub(crate) const UNCONFIGURED: &str = "GitHub not configured: token required; write `token = \"${secret:GITHUB_TOKEN}\"` in the section [github] of \
     config.toml, and store the token with `covenant secrets set GITHUB_TOKEN`";

/// GitHub, as we are known there.
pub(crate) struct GitHub {
    service: Service,
}

/// A repository. Its two names cannot lead anywhere else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Repository<'a> {
    owner: &'a str,
    name: &'a str,
}

/// Which issues are wanted.
pub(crate) struct Wanted<'a> {
    /// `open`, `closed` or `all`.
    pub(crate) state: &'a str,
    /// All of these.
    pub(crate) labels: Vec<&'a str>,
    /// Which page, from 1.
    pub(crate) page: usize,
    /// How many on each.
    pub(crate) per_page: usize,
}

/// An issue to be.
pub(crate) struct Draft<'a> {
    /// What it is about.
    pub(crate) title: &'a str,
    /// What it says.
    pub(crate) body: Option<&'a str>,
    /// How it is marked.
    pub(crate) labels: Vec<&'a str>,
}

/// What the schema says of an owner's name.
pub(crate) const OWNER: &str = "^[A-Za-z0-9][A-Za-z0-9_-]*$";

/// What the schema says of a repository's name: at least one character is no dot.
pub(crate) const NAME: &str = "^[.]*[A-Za-z0-9_-][A-Za-z0-9._-]*$";

impl<'a> Repository<'a> {
    /// The repository of those names, if there can be one.
    pub(crate) fn of(owner: &'a str, name: &'a str) -> Result<Self, String> {
        let sound = |text: &str, more: &[u8]| {
            (1..=100).contains(&text.len())
                && text.bytes().all(|b| b.is_ascii_alphanumeric() || more.contains(&b))
                && text.bytes().any(|b| b != b'.')
        };
        if sound(owner, b"_-") && sound(name, b"._-") {
            return Ok(Self { owner, name });
        }
        Err("`owner` and `repo` are names of letters, digits, `-`, `_` and `.`, such as `octocat` and `hello-world`".to_owned())
    }
}

impl std::fmt::Display for Repository<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.owner, self.name)
    }
}

impl GitHub {
    /// What the configuration names; otherwise what must be written there.
    pub(crate) fn of(parts: &Parts) -> Result<Self, String> {
        let settings = &parts.settings;
        let missing = || settings.why_not(Outside::GitHub, UNCONFIGURED);
        let github = settings.github.as_ref().ok_or_else(missing)?;
        let place = Place {
            name: "GitHub",
            section: "github".to_owned(),
            base: github.base_url.clone(),
            hidden: github.hidden.clone(),
            web: parts.web.clone(),
            clock: parts.clock.clone(),
        };
        let service = Service::new(place, Some(&github.token)).authorized("Bearer", &github.token)?;
        Ok(Self { service })
    }

    /// The same for a call that must not show what that hides.
    pub(crate) fn veiled(&self, veil: Veil) -> Self {
        Self { service: self.service.veiled(veil) }
    }

    /// One page of the issues of a repository. GitHub lists pull requests among them, so that the page is counted out
    /// from the beginning of its list, as far as [`REQUESTS`] reach.
    pub(crate) async fn issues(
        &self,
        repository: Repository<'_>,
        wanted: &Wanted<'_>,
    ) -> Result<Page, String> {
        let mut page = Page::new(wanted.page, wanted.per_page);
        let mut next = Some(self.first(repository, wanted));
        for _ in 0..REQUESTS {
            let Some(url) = next.take() else { break };
            let (entries, more) = self.entries(repository, url).await?;
            page.take(entries);
            if page.is_full() {
                return Ok(page);
            }
            next = more;
        }
        page.cut = next.is_some();
        Ok(page)
    }

    fn first(&self, repository: Repository<'_>, wanted: &Wanted<'_>) -> url::Url {
        let mut url = self.service.address(&["repos", repository.owner, repository.name, "issues"]);
        url.query_pairs_mut()
            .append_pair("state", wanted.state)
            .append_pair("per_page", &AT_ONCE.to_string());
        if !wanted.labels.is_empty() {
            url.query_pairs_mut().append_pair("labels", &wanted.labels.join(","));
        }
        url
    }

    /// The entries at an address, and the address of those after them.
    async fn entries(
        &self,
        repository: Repository<'_>,
        url: url::Url,
    ) -> Result<(Vec<Entry>, Option<url::Url>), String> {
        let mut request = asking(self.service.get(url));
        request.redirects = 3;
        request.most = MOST;
        let response =
            self.service.send(request).await.map_err(|why| format!("no answer from GitHub: {why}"))?;
        if response.status != 200 {
            return Err(refusal(&self.service, repository, Doing::Listing, &response));
        }
        if response.cut {
            return Err(format!(
                "GitHub's list of the issues of {repository} is too long to be read: ask for fewer by `labels` or `state`"
            ));
        }
        let strange = || strange(&self.service, &response);
        let mut entries: Vec<Entry> = serde_json::from_slice(&response.body).map_err(|_| strange())?;
        for entry in &mut entries {
            entry.hide(self.service.veil());
        }
        Ok((entries, paging::next(&self.service, &response)?))
    }

    /// Makes an issue.
    pub(crate) async fn create(
        &self,
        repository: Repository<'_>,
        draft: &Draft<'_>,
    ) -> Result<Issue, String> {
        let mut content = json!({"title": draft.title});
        if let Some(content) = content.as_object_mut() {
            content.extend(draft.body.map(|body| ("body".to_owned(), json!(body))));
            if !draft.labels.is_empty() {
                content.insert("labels".to_owned(), json!(draft.labels));
            }
        }
        let url = self.service.address(&["repos", repository.owner, repository.name, "issues"]);
        let request = asking(self.service.put(Method::POST, url, &content));
        let response = self.service.send(request).await.map_err(|why| unsure(repository, &why))?;
        let made = match response.status {
            201 => serde_json::from_slice::<Entry>(&response.body).ok(),
            200..=299 => None,
            _ => return Err(refusal(&self.service, repository, Doing::Creating, &response)),
        };
        let made = made.map(|mut entry| {
            entry.hide(self.service.veil());
            Issue::from(entry)
        });
        made.ok_or_else(|| unsure(repository, &strange(&self.service, &response)))
    }
}

/// With the headers that GitHub asks for.
fn asking(mut request: Request) -> Request {
    let kind = HeaderValue::from_static("application/vnd.github+json");
    request.headers.insert(header::ACCEPT, kind);
    let version = HeaderName::from_static("x-github-api-version");
    request.headers.insert(version, HeaderValue::from_static("2022-11-28"));
    request
}

/// The sentence for an issue that may be there or not.
fn unsure(repository: Repository<'_>, why: &str) -> String {
    format!(
        "no sound answer from GitHub: {why}; whether the issue was created is not known: look at {repository} before it \
         is created again"
    )
}

/// The sentence for an answer that GitHub would not give: mostly another address was meant.
fn strange(service: &Service, response: &Response) -> String {
    format!("{} (an Enterprise server has its API at https://HOST/api/v3)", service.strange(response))
}

/// What GitHub says of an error.
fn said(response: &Response) -> (Value, String) {
    let said = body(response).filter(Value::is_object).unwrap_or_default();
    let message = text(&said, "message").to_owned();
    (said, message)
}

#[cfg(test)]
mod tests;
