//! Holds texts, lists and paths to their bounds. Whoever calls us may have passed no schema.

use super::{Invalid, SessionInput, TeamInput, WorkInput, bounds};
use crate::title;
use crate::work::Brief;

/// A text that must be there.
pub(crate) fn required(field: &str, text: Option<&String>, most: usize) -> Result<String, Invalid> {
    optional(field, text, most)?.ok_or_else(|| missing(field))
}

/// It must be there.
pub(crate) fn missing(field: &str) -> Invalid {
    Invalid::new(field, "is required and may not be empty")
}

/// A text that may be there; blank ones are not.
pub(crate) fn optional(field: &str, text: Option<&String>, most: usize) -> Result<Option<String>, Invalid> {
    let Some(text) = text else { return Ok(None) };
    sound(field, text, most)?;
    let text = text.trim();
    Ok((!text.is_empty()).then(|| text.to_owned()))
}

/// A name that rows are found by, held to its bound in bytes too: `PostgreSQL` takes no long key into an index, and both databases
/// behave alike.
pub(crate) fn sought(field: &str, text: Option<&String>, most: usize) -> Result<Option<String>, Invalid> {
    let text = optional(field, text, most)?;
    if text.as_ref().is_some_and(|text| text.len() > most) {
        return Err(Invalid::new(field, format!("is longer than {most} bytes, in UTF-8")));
    }
    Ok(text)
}

fn sound(field: &str, text: &str, most: usize) -> Result<(), Invalid> {
    if text.contains('\0') {
        return Err(Invalid::new(field, "has a NUL character, which no text may have"));
    }
    // What is too long in bytes is not counted.
    if text.len() > most.saturating_mul(4) || text.chars().count() > most {
        return Err(Invalid::new(field, format!("is longer than {most} characters")));
    }
    Ok(())
}

/// A list of texts, each of some length, none empty.
pub(crate) fn list(
    field: &str,
    items: Option<&Vec<String>>,
    count: usize,
    most: usize,
) -> Result<Vec<String>, Invalid> {
    each(field, items, count, |name, item| {
        sound(name, item, most)?;
        let item = item.trim();
        if item.is_empty() {
            return Err(Invalid::new(name, "may not be empty"));
        }
        Ok(item.to_owned())
    })
}

/// A list of paths relative to a repository, each once.
pub(crate) fn paths(field: &str, items: Option<&Vec<String>>, count: usize) -> Result<Vec<String>, Invalid> {
    let mut paths = each(field, items, count, |name, item| {
        relative(item).map_err(|reason| Invalid::new(name, reason))?;
        Ok(item.clone())
    })?;
    let mut seen = std::collections::HashSet::new();
    paths.retain(|path| seen.insert(path.clone()));
    Ok(paths)
}

fn each(
    field: &str,
    items: Option<&Vec<String>>,
    count: usize,
    read: impl Fn(&str, &String) -> Result<String, Invalid>,
) -> Result<Vec<String>, Invalid> {
    let Some(items) = items else { return Ok(Vec::new()) };
    if items.len() > count {
        return Err(Invalid::new(field, format!("has {} items, and at most {count} are taken", items.len())));
    }
    items.iter().enumerate().map(|(at, item)| read(&format!("{field}[{at}]"), item)).collect()
}

/// Whether that is a path relative to a repository, written in the one way there is; else what is wrong with it.
pub(crate) fn relative(path: &str) -> Result<(), String> {
    let most = bounds::PATH;
    if path.is_empty() {
        return Err("may not be empty".to_owned());
    }
    if path.len() > most.saturating_mul(4) || path.chars().count() > most {
        return Err(format!("is longer than {most} characters"));
    }
    let start = path.as_bytes().first_chunk::<2>();
    let drive = start.is_some_and(|[letter, colon]| letter.is_ascii_alphabetic() && *colon == b':');
    let wrong = if path.starts_with('/') || path.starts_with('~') || drive {
        "is absolute: write it relative to the root of the repository"
    } else if path.contains('\\') {
        "has a backslash: separate folders by `/`"
    } else if path.chars().any(char::is_control) {
        "has a control character"
    } else if path.split('/').any(|part| part == "..") {
        "has `..`: write it relative to the root of the repository"
    } else if path.split('/').any(|part| part.is_empty() || part == ".") {
        "is not normalised: leave out `.`, `//` and a `/` at the end"
    } else {
        return Ok(());
    };
    Err(wrong.to_owned())
}

impl WorkInput {
    /// What the work is about.
    pub(crate) fn brief(&self) -> Result<Brief, Invalid> {
        Ok(Brief {
            title: self.named()?,
            description: optional("description", self.description.as_ref(), bounds::TEXT)?
                .unwrap_or_default(),
            scope: optional("scope", self.scope.as_ref(), bounds::TEXT)?.unwrap_or_default(),
            action: self.action,
            component: optional("component", self.component.as_ref(), bounds::COMPONENT)?,
            target_files: paths("target_files", self.target_files.as_ref(), bounds::TARGET_FILES)?,
        })
    }

    /// What the work is called. Titles of which nothing can be seen would all be the same one.
    pub(crate) fn named(&self) -> Result<String, Invalid> {
        let title = required("title", self.title.as_ref(), bounds::TITLE)?;
        if title::key(&title).is_empty() {
            return Err(Invalid::new("title", "has nothing that can be seen"));
        }
        Ok(title)
    }

    /// What the caller knows the call by.
    pub(crate) fn key(&self) -> Result<Option<String>, Invalid> {
        optional("idempotency_key", self.idempotency_key.as_ref(), bounds::KEY)
    }

    /// Why.
    pub(crate) fn why(&self) -> Result<String, Invalid> {
        required("reason", self.reason.as_ref(), bounds::REASON)
    }
}

impl TeamInput {
    /// How many rows are wanted; so many where nothing is said.
    pub(crate) fn most(&self, usual: u32) -> Result<u32, Invalid> {
        let limit = self.limit.unwrap_or(u64::from(usual));
        let most = u32::try_from(limit).ok().filter(|_| (1..=bounds::FEEDBACK).contains(&limit));
        most.ok_or_else(|| Invalid::new("limit", format!("is a whole number from 1 to {}", bounds::FEEDBACK)))
    }
}

impl SessionInput {
    /// The repository, or nothing.
    pub(crate) fn repo(&self) -> Result<Option<String>, Invalid> {
        sought("repo", self.repo.as_ref(), bounds::PATH)
    }

    /// The branch, or nothing.
    pub(crate) fn branch(&self) -> Result<Option<String>, Invalid> {
        sought("branch", self.branch.as_ref(), bounds::BRANCH)
    }

    /// The worktree, or nothing.
    pub(crate) fn worktree(&self) -> Result<Option<String>, Invalid> {
        sought("worktree", self.worktree.as_ref(), bounds::PATH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_has_something_that_can_be_seen() {
        for (title, sound) in
            [("x", true), ("…", true), ("-", true), ("\u{200b}", false), ("\u{ad} \u{2060}", false)]
        {
            let input: WorkInput =
                serde_json::from_value(serde_json::json!({"operation": "check", "title": title})).unwrap();
            assert_eq!(input.named().is_ok(), sound, "{title:?}");
        }
    }

    #[test]
    fn only_paths_beneath_the_repository_written_plainly_are_paths() {
        for good in ["a", "src/lib.rs", "a/..b/c", ".github/workflows/ci.yml", "ä/ö", "a b"] {
            assert_eq!(relative(good), Ok(()), "{good}");
        }
        let long = "x".repeat(bounds::PATH + 1);
        for bad in [
            "",
            "/etc/passwd",
            "~/x",
            "C:/x",
            "c:x",
            "a\\b",
            "../a",
            "a/../b",
            "a/..",
            "./a",
            "a//b",
            "a/",
            "a\nb",
            &long,
        ] {
            assert!(relative(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_is_too_long_too_many_or_blank_is_told_by_its_field() {
        let long = "ä".repeat(11);
        assert_eq!(optional("scope", Some(&long), 10).unwrap_err().field, "scope");
        assert_eq!(optional("scope", Some(&"ä".repeat(10)), 10).unwrap().unwrap().chars().count(), 10);
        assert_eq!(optional("scope", Some(&"  ".to_owned()), 10), Ok(None));
        let sought = |text: String| sought("repo", Some(&text), 10).map_err(|invalid| invalid.field);
        assert_eq!(sought("ä".repeat(5)).unwrap().unwrap().len(), 10);
        assert_eq!(sought("ä".repeat(6)), Err("repo".to_owned()), "its bytes count");
        assert!(required("title", Some(&" \t".to_owned()), 10).is_err());
        assert!(required("title", None, 10).is_err());
        let many = vec!["a".to_owned(); 51];
        assert_eq!(paths("target_files", Some(&many), 50).unwrap_err().field, "target_files");
        let odd = vec!["a".to_owned(), "../b".to_owned()];
        assert_eq!(paths("target_files", Some(&odd), 50).unwrap_err().field, "target_files[1]");
        assert_eq!(paths("target_files", Some(&many[..50].to_vec()), 50).unwrap(), ["a"]);
    }
}
