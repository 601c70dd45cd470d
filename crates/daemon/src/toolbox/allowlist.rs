//! Which names of `scripts.allowlist` count. A name without a hash lets any text run, so it counts for nothing where tools
//! write the scripts: an agent would approve its own.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// What `allowlist` has that counts for scripts at `path`; `written` are the places that tools write to, by what they
/// are called. One sentence for each name that does not count.
pub(super) fn counting<'p>(
    allowlist: &BTreeMap<String, Option<String>>,
    path: &Path,
    written: impl Iterator<Item = (&'static str, &'p Path)>,
    left_out: &mut Vec<String>,
) -> BTreeMap<String, Option<String>> {
    let scripts = real(path);
    let mut around = written.filter(|(_, place)| scripts.starts_with(real(place)));
    let Some((place, _)) = around.next() else { return allowlist.clone() };
    let (pinned, bare): (BTreeMap<_, _>, BTreeMap<_, _>) =
        allowlist.clone().into_iter().partition(|(_, hash)| hash.is_some());
    left_out.extend(bare.into_keys().map(|name| {
        format!(
            "the script `{name}` in `scripts.allowlist` does not count: it has no hash, and `scripts.path` lies in the \
             {place}, where tools write; write the hash that `covenant scripts show {name}` has, or keep scripts elsewhere"
        )
    }));
    pinned
}

/// Where a path leads, also where the end of it is not there yet.
fn real(path: &Path) -> PathBuf {
    let there = path.ancestors().find_map(|part| Some((part, part.canonicalize().ok()?)));
    let Some((part, real)) = there else { return path.to_owned() };
    let rest = path.strip_prefix(part).unwrap_or(Path::new("")).components();
    rest.fold(real, |place, part| match part {
        Component::ParentDir => place.parent().map_or_else(|| place.clone(), Path::to_owned),
        part => place.join(part),
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_bare_name_counts_only_where_no_tool_writes() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        std::fs::create_dir_all(at("workspace/deep")).unwrap();
        std::fs::create_dir_all(at("vault")).unwrap();
        symlink(at("workspace/deep"), at("link")).unwrap();
        let hash = Some(format!("sha256:{}", "0".repeat(64)));
        let allowlist = BTreeMap::from([("bare".to_owned(), None), ("pinned".to_owned(), hash)]);
        for (path, place) in [
            ("scripts", None),
            ("workspace-scripts", None),
            ("workspace", Some("workspace")),
            ("workspace/scripts", Some("workspace")),
            ("none/../workspace/deep", Some("workspace")),
            ("workspace/none/../scripts", Some("workspace")),
            ("link", Some("workspace")),
            ("link/none", Some("workspace")),
            ("vault/scripts", Some("vault")),
        ] {
            let mut told = Vec::new();
            let (work, vault) = (at("workspace"), at("vault"));
            let written = [("workspace", work.as_path()), ("vault", vault.as_path())].into_iter();
            let counts = counting(&allowlist, &at(path), written, &mut told);
            assert_eq!(counts.contains_key("bare"), place.is_none(), "{path}");
            assert!(counts.contains_key("pinned"), "{path}");
            let named = place.map(|place| format!("lies in the {place}, where tools write"));
            assert!(named.is_none_or(|named| told[0].contains(&named)), "{path}: {told:?}");
        }
    }
}
