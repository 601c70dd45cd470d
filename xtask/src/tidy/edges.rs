//! Which crate may know which, and that no manifest says more than its code uses.

use super::Breach::{self, Wrong};
use super::code::code;
use crate::tree::Source;

/// A crate and the crates of ours it may depend on.
const EDGES: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("starlark", &[]),
    ("team", &["model"]),
    ("gate", &["model"]),
    ("runner", &["model"]),
    ("store", &["gate", "model", "team"]),
    ("tools", &["gate", "model", "runner", "starlark", "team"]),
    ("mcp", &["gate", "model", "runner"]),
    ("daemon", &["gate", "mcp", "model", "runner", "store", "team", "tools"]),
    // Of `gate` only the clock, of `tools` only how scripts are read and evaluated: the CLI decides nothing.
    ("cli", &["daemon", "gate", "mcp", "model", "runner", "tools"]),
];

/// A manifest of ours.
struct Manifest<'s> {
    source: &'s Source,
    folder: &'s str,
    table: toml::Table,
}

impl Manifest<'_> {
    /// The keys of `[dependencies]` or `[dev-dependencies]`.
    fn dependencies(&self, table: &str) -> impl Iterator<Item = &str> {
        self.table
            .get(table)
            .and_then(toml::Value::as_table)
            .into_iter()
            .flatten()
            .map(|(name, _)| name.as_str())
    }

    /// The folders of its code: its own, and those of `[[test]]` entries that lie at the root of the repository.
    fn folders(&self) -> Vec<&str> {
        let tests = self.table.get("test").and_then(toml::Value::as_array).into_iter().flatten();
        let outside =
            tests.filter_map(|test| test.get("path")?.as_str()?.strip_prefix("../../")?.rsplit_once('/'));
        outside.map(|(folder, _)| folder).chain([self.folder]).collect()
    }
}

/// Every manifest but the workspace's; one that is not TOML would not have built us.
fn manifests(sources: &[Source]) -> impl Iterator<Item = Manifest<'_>> {
    sources.iter().filter_map(|source| {
        let folder = source.path.strip_suffix("/Cargo.toml")?;
        Some(Manifest { source, folder, table: source.text.parse().ok()? })
    })
}

/// Crates depend on each other as ARCHITECTURE.md draws it.
pub(super) fn edges(sources: &[Source]) -> Vec<Breach> {
    let mut found = Vec::new();
    for manifest in manifests(sources) {
        let Some(name) = manifest.folder.strip_prefix("crates/") else {
            let ours = manifest.dependencies("dependencies").find(|name| name.starts_with("covenant-"));
            if let Some(ours) = ours.filter(|_| manifest.folder == "xtask") {
                found.push(Wrong(format!(
                    "xtask depends on {ours}: what needs our code is a testkit program"
                )));
            }
            continue;
        };
        let Some((_, allowed)) = EDGES.iter().find(|(known, _)| *known == name) else {
            found.push(Wrong(format!("crates/{name} has no row in xtask/src/tidy/edges.rs")));
            continue;
        };
        for other in manifest.dependencies("dependencies").filter_map(|name| name.strip_prefix("covenant-")) {
            if !allowed.contains(&other) {
                found.push(Wrong(format!("{} may not depend on {other}", manifest.folder)));
            }
        }
    }
    found
}

/// Every dependency is named by the code that asked for it.
pub(super) fn dependencies(sources: &[Source]) -> Vec<Breach> {
    let mut found = Vec::new();
    for manifest in manifests(sources) {
        let folders = manifest.folders();
        let in_them = |source: &&Source| folders.iter().any(|folder| source.is_in(folder));
        let own = sources.iter().filter(|source| source.ends("rs")).filter(in_them);
        let own: Vec<String> = own.map(|source| code(&source.text)).collect();
        for table in ["dependencies", "dev-dependencies"] {
            for name in manifest.dependencies(table) {
                let word = name.replace('-', "_");
                if !own.iter().any(|text| text.contains(&word)) {
                    found
                        .push(Wrong(format!("{} names `{name}`, and no code uses it", manifest.source.path)));
                }
            }
        }
    }
    found
}

/// Every crate takes the lints of the workspace.
pub(super) fn lints(sources: &[Source]) -> Vec<Breach> {
    let takes = |manifest: &Manifest<'_>| {
        let lints = manifest.table.get("lints").and_then(|lints| lints.get("workspace"));
        lints.and_then(toml::Value::as_bool) == Some(true)
    };
    let without = manifests(sources).filter(|manifest| !takes(manifest));
    without
        .map(|manifest| Wrong(format!("{} lacks `[lints] workspace = true`", manifest.source.path)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(folder: &str, dependencies: &str) -> Source {
        let text = format!("[dependencies]\n{dependencies}\n[lints]\nworkspace = true\n");
        Source { path: format!("{folder}/Cargo.toml"), text }
    }

    #[test]
    fn an_edge_that_was_not_drawn_is_found() {
        assert_eq!(edges(&[manifest("crates/gate", "covenant-store.workspace = true")]).len(), 1);
        assert_eq!(edges(&[manifest("crates/gate", "covenant-model.workspace = true")]), []);
        assert_eq!(edges(&[manifest("crates/novel", "")]).len(), 1);
        assert_eq!(edges(&[manifest("xtask", "covenant-model.workspace = true")]).len(), 1);
    }

    #[test]
    fn a_dependency_nobody_uses_is_found() {
        let manifest = manifest("crates/gate", "http-body.workspace = true");
        let used = Source { path: "crates/gate/src/lib.rs".into(), text: "use http_body::Body;".into() };
        assert_eq!(dependencies(std::slice::from_ref(&manifest)).len(), 1);
        assert_eq!(dependencies(&[manifest, used]), []);
    }

    #[test]
    fn a_dependency_may_be_used_by_a_test_that_lies_outside() {
        let text = "[dev-dependencies]\ntempfile = \"3\"\n[[test]]\nname = \"a\"\npath = \"../../tests/a/main.rs\"\n";
        let manifest = Source { path: "crates/cli/Cargo.toml".into(), text: text.into() };
        let used = Source { path: "tests/a/main.rs".into(), text: "use tempfile::tempdir;".into() };
        assert_eq!(dependencies(std::slice::from_ref(&manifest)).len(), 1);
        assert_eq!(dependencies(&[manifest, used]), []);
    }

    #[test]
    fn a_crate_without_the_lints_is_found() {
        let bare = Source { path: "crates/gate/Cargo.toml".into(), text: "[package]\nname = \"x\"\n".into() };
        assert_eq!(lints(&[bare]).len(), 1);
        assert_eq!(lints(&[manifest("crates/gate", "")]), []);
    }
}
