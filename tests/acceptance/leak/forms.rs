//! Secrets, the forms they are sent in, and the forms they are looked for in.

use std::path::Path;

/// A secret of the test.
#[derive(Clone)]
pub(super) struct Known {
    pub(super) name: String,
    pub(super) value: String,
}

impl Known {
    /// The forms that a tool is given.
    pub(super) fn sent(&self) -> Vec<String> {
        let value = &self.value;
        let shifted = ["", "x", "xy"].map(|before| base64(&format!("{before}{value}")));
        [value.clone(), hex(value), percent(value)].into_iter().chain(shifted).collect()
    }

    /// The forms that must be nowhere.
    fn sought(&self) -> Vec<String> {
        let value = &self.value;
        let quoted = serde_json::Value::from(value.as_str()).to_string();
        let mut sought = vec![value.clone(), quoted.trim_matches('"').to_owned(), hex(value), percent(value)];
        // What stands before and after a secret changes the digits at the ends.
        for (before, beginning) in [("", 0), ("x", 2), ("xy", 3)] {
            let written = base64(&format!("{before}{value}"));
            sought.push(written[beginning..written.len() - 2].to_owned());
        }
        sought
    }
}

/// Insists that none of them stands in that text.
#[track_caller]
pub(super) fn without(what: &str, text: &str, secrets: &[Known]) {
    for secret in secrets {
        for form in secret.sought() {
            assert!(!text.contains(&form), "{} in {what}: {}", secret.name, around(text, &form));
        }
    }
}

/// The same of every file below a directory, but for those that these are the beginning of, which hold what they were given.
#[track_caller]
pub(super) fn files_without(directory: &Path, given: &[&str], secrets: &[Known]) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if given.iter().any(|beginning| name.starts_with(beginning)) {
            continue;
        }
        if path.is_dir() {
            files_without(&path, &[], secrets);
        } else if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            without(&path.display().to_string(), &String::from_utf8_lossy(&bytes), secrets);
        }
    }
}

pub(super) fn around(text: &str, form: &str) -> String {
    let at = text.find(form).unwrap();
    let from = (at.saturating_sub(300)..=at).find(|from| text.is_char_boundary(*from)).unwrap();
    text[from..].chars().take(600).collect()
}

pub(super) fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

fn percent(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    text.bytes().map(byte).collect()
}

pub(super) fn base64(text: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in text.as_bytes().chunks(3) {
        let bits =
            chunk.iter().fold(0_u32, |bits, byte| (bits << 8) | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..=chunk.len() {
            out.push(char::from(DIGITS[usize::try_from((bits >> (18 - 6 * place)) & 63).unwrap()]));
        }
    }
    out
}
