//! Memory: each principal has a directory of its own, in which nobody else reads or writes.
//!
//! Its name is the kind, a dash and the name (`client:claude` has `client-claude`); the operator's is `user@local`. Small
//! letters, digits and `_ - . @` stand for themselves; anything else is `=` and two hexadecimal digits (`client:Ada` has
//! `client-=41da`, `agent:a/b` has `agent-a=2fb`), so that no two share one, also on disks that do not tell `A` from `a`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use covenant_model::intent::IntentId;
use covenant_model::principal::{Kind, Principal};
use covenant_model::time::Timestamp;
use jiff::tz::TimeZone;

use crate::files::{Care, FileError, Root, plain};
use crate::native::Parts;

/// The most bytes of one file.
pub(crate) const LARGEST: u64 = 1 << 20;

/// The file that is meant where none is named.
pub(crate) const USUAL: &str = "MEMORY.md";

/// Where an agent's answers lie in its directory. No file that callers name lies there.
const INTENTS: &str = "intents";

/// The longest name of a file.
const LONGEST: usize = 128;

/// Where the directories of all principals lie.
#[derive(Debug, Clone)]
pub(crate) struct Memory(PathBuf);

impl Memory {
    /// The one the configuration names.
    pub(crate) fn of(parts: &Parts) -> Self {
        Self(parts.settings.memory.clone())
    }

    /// The one at that path.
    pub(crate) fn at(path: &Path) -> Self {
        Self(path.to_owned())
    }

    /// What that one remembers: a root of its own, so that nothing in it leads to another's.
    pub(crate) fn root(&self, whose: &Principal) -> Result<Root, FileError> {
        let Self(place) = self;
        let place: &Path = &place.join(directory(whose));
        Root::made(place, "memory", Care::Private)
    }
}

/// The name of a principal's directory.
pub fn directory(whose: &Principal) -> String {
    let kind = match whose.kind() {
        Kind::Operator => return whose.as_str().to_owned(),
        Kind::Client => "client",
        Kind::Agent => "agent",
        Kind::Developer => "dev",
    };
    let mut name = format!("{kind}-");
    for byte in whose.name().bytes() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'.' | b'@' => name.push(char::from(byte)),
            other => {
                let _ = write!(name, "={other:02x}");
            }
        }
    }
    name
}

/// Whose directory that is; nobody's, if it is none of ours.
pub fn owner(directory: &str) -> Option<Principal> {
    if let Ok(operator) = directory.parse::<Principal>()
        && operator.kind() == Kind::Operator
    {
        return Some(operator);
    }
    let (kind, written) = directory.split_once('-')?;
    let mut name = Vec::new();
    let mut bytes = written.bytes();
    while let Some(byte) = bytes.next() {
        name.push(match byte {
            b'=' => {
                u8::from_str_radix(std::str::from_utf8(&[bytes.next()?, bytes.next()?]).ok()?, 16).ok()?
            }
            other => other,
        });
    }
    let whose: Principal = format!("{kind}:{}", String::from_utf8(name).ok()?).parse().ok()?;
    (self::directory(&whose) == directory).then_some(whose)
}

/// What people call the one who remembers: agents by their id, which is what their manifests say.
pub(crate) fn called(whose: &Principal) -> &str {
    match whose.kind() {
        Kind::Agent => whose.name(),
        Kind::Operator | Kind::Client | Kind::Developer => whose.as_str(),
    }
}

/// Where an agent's answer to that intent lies in its directory.
pub(crate) fn answer(intent: &IntentId) -> String {
    format!("{INTENTS}/{intent}.md")
}

/// The intent whose answer that file in an agent's directory is.
pub(crate) fn answered(file: &str) -> Option<IntentId> {
    let name = file.strip_prefix(INTENTS)?.strip_prefix('/')?;
    name.strip_suffix(".md")?.parse().ok()
}

/// The file that a caller names: `MEMORY.md`, a dated note, `today`, or another plain name.
pub(crate) fn file(name: &str, now: Timestamp, zone: TimeZone) -> Result<String, String> {
    if name == "today" {
        return today(now, zone);
    }
    let letters = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '_' | '-' | '.');
    let sound = name.len() <= LONGEST
        && name.strip_suffix(".md").is_some_and(|stem| !stem.is_empty())
        && name.starts_with(char::is_alphanumeric)
        && name.chars().all(letters);
    if sound {
        return Ok(name.to_owned());
    }
    Err(format!(
        "`{}` is no memory file: use MEMORY.md, today, a date like 2026-02-28.md, or a plain name like ideas.md",
        plain(name)
    ))
}

/// The note of the day, where the daemon is.
fn today(now: Timestamp, zone: TimeZone) -> Result<String, String> {
    let moment = i64::try_from(now.millis()).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    let moment = moment.ok_or("what day it is cannot be told: name a date like 2026-02-28.md")?;
    Ok(format!("{}.md", moment.to_zoned(zone).date()))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use jiff::tz::offset;

    use super::*;

    #[test]
    fn each_principal_has_a_directory_that_says_whose_it_is() {
        for (whose, name) in [
            ("user@local", "user@local"),
            ("client:claude", "client-claude"),
            ("agent:notes@local", "agent-notes@local"),
            ("dev:ada", "dev-ada"),
            ("client:Ada", "client-=41da"),
            ("agent:a/b", "agent-a=2fb"),
            ("agent:../../etc", "agent-..=2f..=2fetc"),
        ] {
            assert_eq!(directory(&whose.parse().unwrap()), name);
        }
    }

    #[test]
    fn no_two_share_one_whatever_the_disk_makes_of_letters() {
        let mut names = HashSet::new();
        let mut whose = vec!["user@local".to_owned()];
        for kind in ["client", "agent", "dev"] {
            for name in ["a", "A", "aa", "aA", "a.a", "a-a", "a_a", "41", "-a", "client-a"] {
                whose.push(format!("{kind}:{name}"));
            }
        }
        whose.extend(["agent:a/a", "agent:a@a", "agent:2f"].map(str::to_owned));
        for one in &whose {
            let name = directory(&one.parse().unwrap());
            assert_eq!(owner(&name).map(|whose| whose.to_string()).as_ref(), Some(one));
            assert!(name.len() <= 255 && !name.contains('/'), "{name}");
            assert!(names.insert(name.to_lowercase()), "{one}");
        }
    }

    #[test]
    fn a_directory_of_another_kind_is_nobodys() {
        for name in [
            "",
            "x",
            "client-",
            "client-Ada",
            "client-=4",
            "client-=zz",
            "client-=61",
            "root@local",
            "..",
            "lost+found",
        ] {
            assert_eq!(owner(name), None, "{name}");
        }
    }

    #[test]
    fn an_agent_is_called_by_its_id_and_everybody_else_by_what_they_are() {
        for (whose, name) in [
            ("user@local", "user@local"),
            ("client:claude", "client:claude"),
            ("dev:ada", "dev:ada"),
            ("agent:research@local", "research@local"),
        ] {
            assert_eq!(called(&whose.parse().unwrap()), name);
        }
    }

    #[test]
    fn an_answer_says_which_intent_it_is_to_and_no_caller_can_name_its_file() {
        let intent = IntentId::from_random([7; 16]);
        assert_eq!(answered(&answer(&intent)), Some(intent.clone()));
        assert!(file(&answer(&intent), Timestamp::from_millis(0), TimeZone::UTC).is_err());
        for other in [
            format!("{intent}.md"),
            format!("intents/{intent}"),
            format!("intents/{intent}.MD"),
            format!("intents/deep/{intent}.md"),
            format!("intents{intent}.md"),
            format!("Intents/{intent}.md"),
            "intents/MEMORY.md".to_owned(),
        ] {
            assert_eq!(answered(&other), None, "{other}");
        }
    }

    #[test]
    fn a_file_is_a_plain_name_in_that_directory() {
        let read = |name: &str| file(name, Timestamp::from_millis(0), TimeZone::UTC);
        for name in ["MEMORY.md", "2026-02-28.md", "ideas.md", "für später.md", "a.b-c_d.md"] {
            assert_eq!(read(name).as_deref(), Ok(name));
        }
        let long = format!("{}.md", "x".repeat(126));
        for name in [
            "",
            ".md",
            "..md",
            "../MEMORY.md",
            "/MEMORY.md",
            "a/b.md",
            "..",
            ".hidden.md",
            "MEMORY.txt",
            "MEMORY.md ",
            "MEMORY.md\0",
            "a\n.md",
            "a\\b.md",
            "-x.md",
            "today.txt",
            "Today",
            &long,
        ] {
            let refused = read(name).unwrap_err();
            assert!(refused.ends_with("is no memory file: use MEMORY.md, today, a date like 2026-02-28.md, or a plain name like ideas.md"), "{refused}");
        }
    }

    #[test]
    fn today_is_the_day_where_the_daemon_is() {
        let evening = Timestamp::from_millis(1_763_251_200_000 - 1); // 2025-11-15T23:59:59.999Z
        assert_eq!(file("today", evening, TimeZone::UTC).as_deref(), Ok("2025-11-15.md"));
        assert_eq!(file("today", evening, TimeZone::fixed(offset(1))).as_deref(), Ok("2025-11-16.md"));
        assert!(file("today", Timestamp::from_millis(u64::MAX), TimeZone::UTC).is_err());
    }
}
