//! Credentials that people wrote straight into a server entry: which keys look like one, and what of it is secret.

use covenant_model::secret::{SHORTEST, Secret};
use toml_edit::{Item, Table, TableLike};

/// Words that make a key look like a credential, in capitals.
const WORDS: &[&str] =
    &["TOKEN", "KEY", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "AUTH", "COOKIE", "BEARER"];

/// How long a value is that nobody would type by hand.
const TOKEN: usize = 16;

/// Every literal credential in the server entries of a file, under the key it stands at, in capitals.
pub(super) fn credentials(root: &Table) -> Vec<(String, Secret)> {
    let mcp = root.get("mcp").and_then(Item::as_table_like);
    let entries = ["server", "servers"].into_iter().filter_map(|name| mcp?.get(name)).flat_map(tables);
    let mut found = Vec::new();
    for entry in entries {
        for part in ["env", "headers", "header"] {
            let Some(table) = entry.get(part).and_then(Item::as_table_like) else { continue };
            for (key, item) in table.iter() {
                if let Some(value) = item.as_str()
                    && is_named_so(key)
                {
                    found.extend(forms(&name(key), value));
                }
            }
        }
    }
    found
}

/// Whether a parameter of a URL is likely to be a credential. Ordinary words must not be: they would be hidden in every
/// result.
pub(super) fn is_likely(key: &str, value: &str) -> bool {
    is_named_so(key) || value.chars().count() >= TOKEN
}

fn is_named_so(key: &str) -> bool {
    let name = name(key);
    WORDS.iter().any(|word| name.contains(word))
}

/// The value, and what stands behind a scheme such as `Bearer`; nothing of what is taken from elsewhere or too short.
pub(super) fn forms(name: &str, value: &str) -> Vec<(String, Secret)> {
    if value.contains("${") || value.starts_with('$') {
        return Vec::new();
    }
    let behind = value.split_once(' ').map(|(_, rest)| rest.trim_start());
    let long = |text: &&str| text.chars().count() >= SHORTEST;
    let forms = std::iter::once(value).chain(behind).filter(long);
    forms.map(|text| (name.to_owned(), Secret::new(text.to_owned()))).collect()
}

fn tables(item: &Item) -> Vec<&dyn TableLike> {
    if let Some(tables) = item.as_array_of_tables() {
        return tables.iter().map(|table| table as &dyn TableLike).collect();
    }
    let inline = item.as_array().into_iter().flat_map(toml_edit::Array::iter);
    inline.filter_map(|value| value.as_inline_table().map(|table| table as &dyn TableLike)).collect()
}

/// A key as a secret's name: capitals, digits and `_`.
fn name(key: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    key.chars().take(64).map(plain).collect()
}
