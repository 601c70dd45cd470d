//! The pages on which people sign in: plain forms, one script of our own where passkeys are, and nothing from elsewhere.

use std::fmt::Write as _;
use std::sync::LazyLock;

use axum::body::Body;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::StatusCode;
use http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, REFERRER_POLICY};
use sha2::{Digest as _, Sha256};

use crate::signin::password::{LONGEST, SHORTEST};

/// The pages' own style; their policy knows it by its hash.
const STYLE: &str = "\
:root { color-scheme: light dark; }
body { margin: 3rem auto; padding: 0 1rem; max-width: 28rem; font: 1rem/1.6 system-ui, sans-serif; overflow-wrap: break-word; }
label { display: block; margin-top: 1rem; }
input, button { box-sizing: border-box; width: 100%; padding: .5rem .75rem; border: 1px solid; border-radius: .4rem; font: inherit; }
button { margin-top: 1.5rem; cursor: pointer; }
.told { padding: .5rem .75rem; border: 1px solid; border-radius: .4rem; }
";

/// What a page may do: show its own style, and send its forms here.
static POLICY: LazyLock<HeaderValue> = LazyLock::new(|| policy(""));

/// The same with a script, which may be nothing but a file of ours and asks nobody but us.
static SCRIPTED: LazyLock<HeaderValue> =
    LazyLock::new(|| policy("; script-src 'self'; connect-src 'self'; require-trusted-types-for 'script'"));

fn policy(more: &str) -> HeaderValue {
    let style = STANDARD.encode(Sha256::digest(STYLE));
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{style}'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'{more}"
    );
    HeaderValue::try_from(policy).unwrap_or_else(|_| HeaderValue::from_static("default-src 'none'"))
}

/// A page that is being written.
pub(super) struct Page {
    title: &'static str,
    head: String,
    body: String,
    scripted: bool,
}

impl Page {
    pub(super) fn new(title: &'static str) -> Self {
        Self { title, head: String::new(), body: String::new(), scripted: false }
    }

    /// A sentence.
    pub(super) fn says(mut self, sentence: &str) -> Self {
        let _ = writeln!(self.body, "<p>{}</p>", escape(sentence));
        self
    }

    /// A sentence on what went wrong, where something did. It is read out where pages are.
    pub(super) fn warns(mut self, sentence: Option<&str>) -> Self {
        if let Some(sentence) = sentence {
            let _ = writeln!(self.body, "<p class=\"told\" role=\"alert\">{}</p>", escape(sentence));
        }
        self
    }

    /// A way to somewhere else.
    pub(super) fn link(mut self, address: &str, text: &str) -> Self {
        let _ = writeln!(self.body, "<p><a href=\"{}\">{}</a></p>", escape(address), escape(text));
        self
    }

    /// The same, gone at once and by the page itself. Unlike a redirect it begins here: cookies come along that are for our own
    /// pages alone, and the policy on where forms lead has no say in it.
    pub(super) fn onward(mut self, address: &str, text: &str) -> Self {
        let _ = writeln!(self.head, "<meta http-equiv=\"refresh\" content=\"0; url={}\">", escape(address));
        self.link(address, text)
    }

    /// A form that the script fills in with a passkey. Without the script it is not seen.
    pub(super) fn passkey(mut self, path: &str, hidden: &[(&str, &str)], button: &str) -> Self {
        if !self.scripted {
            self.scripted = true;
            self.head.push_str("<script src=\"/auth/passkey/script.js\" defer></script>\n");
        }
        self.open(path, " data-passkey hidden", hidden);
        self.close(button)
    }

    /// A form that is sent to that path: hidden fields, those to be filled in, and its button.
    pub(super) fn form(
        mut self,
        path: &str,
        hidden: &[(&str, &str)],
        fields: &[Field<'_>],
        button: &str,
    ) -> Self {
        self.open(path, "", hidden);
        for field in fields {
            self.body.push_str(&field.written());
        }
        self.close(button)
    }

    fn open(&mut self, path: &str, more: &str, hidden: &[(&str, &str)]) {
        let _ = writeln!(self.body, "<form method=\"post\" action=\"{}\"{more}>", escape(path));
        for (name, value) in hidden {
            let (name, value) = (escape(name), escape(value));
            let _ = writeln!(self.body, "<input type=\"hidden\" name=\"{name}\" value=\"{value}\">");
        }
    }

    fn close(mut self, button: &str) -> Self {
        let _ = writeln!(self.body, "<button type=\"submit\">{}</button>\n</form>", escape(button));
        self
    }

    /// The page as an answer.
    pub(super) fn answer(self, status: StatusCode) -> Response {
        let (title, head, body) = (escape(self.title), self.head, self.body);
        let page = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title} · Covenant</title>\n\
             <style>{STYLE}</style>\n{head}</head>\n<body>\n<main>\n<h1>{title}</h1>\n{body}</main>\n</body>\n</html>\n"
        );
        let mut response = Response::new(Body::from(page));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
        let policy = if self.scripted { &*SCRIPTED } else { &*POLICY };
        headers.insert(CONTENT_SECURITY_POLICY, policy.clone());
        // Not `no-referrer`: with that, browsers send our own forms without their origin.
        headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
        response
    }
}

/// What is to be filled in.
pub(super) enum Field<'a> {
    /// Who it is; what was typed before.
    Handle(&'a str),
    /// A password that is known.
    Password,
    /// A password that is chosen.
    NewPassword,
}

impl Field<'_> {
    fn written(&self) -> String {
        match self {
            Self::Handle(typed) => format!(
                "<label for=\"handle\">Handle</label>\n<input id=\"handle\" name=\"handle\" value=\"{}\" required \
                 maxlength=\"40\" autocomplete=\"username\" autocapitalize=\"none\" spellcheck=\"false\">\n",
                escape(typed)
            ),
            Self::Password => format!(
                "<label for=\"password\">Password</label>\n<input id=\"password\" name=\"password\" type=\"password\" \
                 required maxlength=\"{LONGEST}\" autocomplete=\"current-password\">\n"
            ),
            Self::NewPassword => format!(
                "<label for=\"password\">New password, at least {SHORTEST} characters</label>\n\
                 <input id=\"password\" name=\"password\" type=\"password\" required minlength=\"{SHORTEST}\" \
                 maxlength=\"{LONGEST}\" autocomplete=\"new-password\">\n"
            ),
        }
    }
}

/// Text as it may stand in HTML, between tags as in a quoted value.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    #[tokio::test]
    async fn whatever_is_shown_stays_text() {
        let odd = "\"><script>'&";
        let page = Page::new("Sign in").says(odd).warns(Some(odd));
        let page = page.form("/x\"", &[("code", odd)], &[Field::Handle(odd), Field::Password], odd);
        let (parts, body) = page.answer(StatusCode::OK).into_parts();
        let text = String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap();
        assert!(!text.contains("<script") && !text.contains(odd), "{text}");
        assert_eq!(text.matches("&quot;&gt;&lt;script&gt;&#39;&amp;").count(), 5);
        let (_, style) = text.split_once("<style>").unwrap();
        let (style, _) = style.split_once("</style>").unwrap();
        let policy = parts.headers[CONTENT_SECURITY_POLICY].to_str().unwrap().to_owned();
        assert!(policy.contains(&STANDARD.encode(Sha256::digest(style))), "{policy}");
        assert!(!policy.contains("unsafe") && policy.contains("form-action 'self'"), "{policy}");
    }
}
