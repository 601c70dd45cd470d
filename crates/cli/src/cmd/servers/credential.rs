//! Which typed values look like credentials that should have been secrets, and what is said then. A guess: it warns
//! and refuses nothing.

use covenant_daemon::secrets::literal::{self, is_named_so};

/// How credentials of well-known services begin.
const BEGINNINGS: [&str; 12] =
    ["ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "sk-", "xoxb-", "xoxp-", "AKIA", "AIza", "npm_", "cv_"];

/// Words before a credential in a header.
const SCHEMES: [&str; 3] = ["bearer", "basic", "token"];

/// What to say of a value that was typed for that option and key, where there is something to say.
pub(super) fn remark(option: &str, key: &str, value: &str) -> Option<String> {
    let bare = without_scheme(value);
    if bare.is_empty() {
        return Some(format!(
            "the value of `{key}` is empty; a shell makes `${{secret:NAME}}` empty unless it stands in single quotes: \
             {option} '{key}={}${{secret:NAME}}'",
            scheme(value)
        ));
    }
    let shaped = BEGINNINGS.iter().any(|beginning| bare.starts_with(beginning)) && bare.len() >= 16;
    if value.contains('$') || !(is_named_so(key) || shaped) {
        return None;
    }
    let name = secret_name(key);
    Some(format!(
        "the value of `{key}` looks like a credential: it is in the shell's history now, and stands wherever the entry does; better: \
         covenant secrets set {name}, and {option} '{key}={}${{secret:{name}}}'",
        scheme(value)
    ))
}

/// What to say of a URL with a user and password in it.
pub(super) fn remark_url(url: &str) -> Option<String> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let (user, _) = authority.rsplit_once('@')?;
    (!user.contains('$')).then(|| {
        "the URL holds a user or password, which is in the shell's history now, and stands wherever the entry does; better: \
         covenant secrets set NAME, and 'https://${secret:NAME}@…', or --header 'Authorization=Bearer ${secret:NAME}'"
            .to_owned()
    })
}

/// The word before a credential, with its space.
fn scheme(value: &str) -> &str {
    let value = value.trim_start();
    let word = value.find(' ').and_then(|space| value.get(..=space)).unwrap_or_default();
    if SCHEMES.contains(&word.trim_end().to_ascii_lowercase().as_str()) { word } else { "" }
}

fn without_scheme(value: &str) -> &str {
    value.trim_start().strip_prefix(scheme(value)).unwrap_or(value).trim()
}

/// A name that a secret may have, made from a key.
fn secret_name(key: &str) -> String {
    let name = literal::name(key);
    let begins_well = name.starts_with(|first: char| first.is_ascii_uppercase());
    if begins_well { name } else { format!("SECRET_{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_literal_credential_is_noticed_by_its_key_or_its_shape() {
        for (key, value) in [
            ("GITHUB_TOKEN", "abc123"),
            ("Authorization", "Bearer abc123"),
            ("X-Api-Key", "abc123"),
            ("DB_PASSWORD", "hunter2"),
            ("THING", "ghp_0123456789abcdefghij"),
            ("X-Thing", "Bearer sk-0123456789abcdef"),
        ] {
            let said = remark("--env", key, value).unwrap_or_default();
            assert!(said.contains("covenant secrets set ") && !said.contains(value), "{key}: {said}");
        }
    }

    #[test]
    fn what_is_no_credential_or_refers_to_one_is_left_alone() {
        for (key, value) in [
            ("LOG_LEVEL", "info"),
            ("TOKEN", "${secret:GITHUB_TOKEN}"),
            ("Authorization", "Bearer ${secret:GITHUB_TOKEN}"),
            ("TOKEN", "$GITHUB_TOKEN"),
            ("MODE", "sk-short"),
        ] {
            assert_eq!(remark("--env", key, value), None, "{key}={value}");
        }
    }

    #[test]
    fn a_reference_that_the_shell_ate_is_noticed() {
        let said = remark("--header", "Authorization", "Bearer ").unwrap_or_default();
        assert!(said.contains("--header 'Authorization=Bearer ${secret:NAME}'"), "{said}");
        assert!(remark("--env", "TOKEN", "").is_some());
    }

    #[test]
    fn the_advice_can_be_followed_as_it_stands() {
        let said = remark("--header", "X-Api-Key", "abc123").unwrap_or_default();
        assert!(
            said.contains("secrets set X_API_KEY, and --header 'X-Api-Key=${secret:X_API_KEY}'"),
            "{said}"
        );
        assert!(covenant_model::secret::check_name(&secret_name("2fa token")).is_ok());
    }

    #[test]
    fn a_password_in_a_url_is_noticed() {
        assert!(remark_url("https://me:pw@example.com/mcp").is_some());
        for url in
            ["https://example.com/mcp", "https://${secret:A}@example.com", "https://example.com/@me", "x"]
        {
            assert_eq!(remark_url(url), None, "{url}");
        }
    }
}
