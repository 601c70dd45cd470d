//! Where a list goes on: the `Link` header, followed only where we are known.

use http::header::LINK;
use url::Url;

use crate::ports::Response;
use crate::service::Service;

/// The next page, if there is one.
pub(super) fn next(service: &Service, response: &Response) -> Result<Option<Url>, String> {
    let headers = response.headers.get_all(LINK).iter().filter_map(|value| value.to_str().ok());
    let Some(written) = headers.flat_map(links).find(|(_, about)| is_next(about)).map(|(target, _)| target)
    else {
        return Ok(None);
    };
    let base = &service.base;
    match base.join(written) {
        Ok(url) if url.origin() == base.origin() => Ok(Some(url)),
        Ok(_) | Err(_) => Err(format!(
            "GitHub's list goes on at another address than {}, and the token is not sent there: write the base_url that \
             it names in [github]",
            service.host()
        )),
    }
}

/// The links of a header: what is between `<` and `>`, and what is said of it.
fn links(value: &str) -> impl Iterator<Item = (&str, &str)> {
    value.split('<').skip(1).filter_map(|link| link.split_once('>'))
}

fn is_next(about: &str) -> bool {
    about.split([';', ',']).filter_map(|parameter| parameter.split_once('=')).any(|(name, value)| {
        let relations = value.trim().trim_matches('"');
        name.trim().eq_ignore_ascii_case("rel")
            && relations.split_ascii_whitespace().any(|relation| relation.eq_ignore_ascii_case("next"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::tests::{Script, answer, service};

    fn at(base: &str, links: &[&str]) -> Result<Option<String>, String> {
        let headers: Vec<String> = links.iter().map(|link| format!("link: {link}")).collect();
        let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
        let response = answer(200, &headers, "").unwrap();
        next(&service(base, Script::new([])), &response).map(|url| url.map(String::from))
    }

    #[test]
    fn the_next_page_is_found_among_the_links() {
        let base = "https://git.example/api/v3";
        let there = "https://git.example/api/v3/repositories/1/issues?page=2&after=a%2Cb";
        for links in [
            &[format!("<{there}>; rel=\"next\", <https://git.example/api/v3/x?page=9>; rel=\"last\"")][..],
            &[format!("<https://git.example/api/v3/x?page=1>; rel=\"prev\", <{there}>; rel=\"next\"")],
            &["<https://git.example/first>; rel=first".to_owned(), format!("<{there}>; rel=next")],
            &[format!("<{there}>; title=\"a\"; REL=\"last Next\"")],
        ] {
            let links: Vec<&str> = links.iter().map(String::as_str).collect();
            assert_eq!(at(base, &links), Ok(Some(there.to_owned())), "{links:?}");
        }
        for links in
            [&[][..], &["<https://git.example/x>; rel=\"last\""], &["nonsense, <"], &["<x>; title=next"]]
        {
            assert_eq!(at(base, links), Ok(None), "{links:?}");
        }
    }

    #[test]
    fn a_list_that_goes_on_elsewhere_is_not_followed() {
        for elsewhere in [
            "https://evil.example/api/v3/issues?page=2",
            "http://git.example/api/v3/issues?page=2",
            "https://git.example:8443/api/v3/issues?page=2",
            "//evil.example/issues",
            "https://git.example@evil.example/issues",
            "https://[",
        ] {
            let said =
                at("https://git.example/api/v3", &[&format!("<{elsewhere}>; rel=\"next\"")]).unwrap_err();
            assert_eq!(
                said,
                "GitHub's list goes on at another address than git.example, and the token is not sent there: write the \
                 base_url that it names in [github]"
            );
        }
    }
}
