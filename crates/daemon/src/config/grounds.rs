//! Which directories tools are let into: the workspace and the vault, unless one of them leads to what the daemon keeps for
//! itself, or they lead into each other. Real paths are compared, so that no link gives a place a second name.

use std::path::{Component, Path, PathBuf};

use super::Config;
use crate::home::Home;

/// The directories, or a sentence of why each is not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grounds {
    /// `[workspace]`.
    pub workspace: Result<PathBuf, String>,
    /// `[vault]`, where it is written.
    pub vault: Option<Result<PathBuf, String>>,
}

impl Grounds {
    /// What that configuration names in that home.
    pub fn of(config: &Config, home: &Home, environment: &dyn Fn(&str) -> Option<String>) -> Self {
        let closed: Vec<PathBuf> = home.own().iter().map(|path| real(path)).collect();
        let fit = |section: &str, place: PathBuf| {
            let there = real(&place);
            if closed.iter().any(|own| overlap(own, &there)) {
                Err(format!(
                    "[{section}] path {} holds what the daemon keeps for itself, or lies in it; write a directory of its own, \
                     like \"{section}\"",
                    place.display()
                ))
            } else {
                Ok(place)
            }
        };
        let workspace = fit("workspace", config.workspace.place(home, environment));
        let vault = config.vault.as_ref().map(|vault| {
            let place = fit("vault", vault.place(home, environment))?;
            match &workspace {
                // Whoever may write files there could write what git and Obsidian run, and pass by what the vault keeps closed.
                Ok(work) if overlap(&real(work), &real(&place)) => Err(format!(
                    "[vault] path {} and [workspace] path {} lie in each other; write directories beside each other",
                    place.display(),
                    work.display()
                )),
                _ => Ok(place),
            }
        });
        Self { workspace, vault }
    }

    /// A sentence for each that is not used.
    pub fn remarks(&self) -> Vec<String> {
        let refused =
            [self.workspace.as_ref().err(), self.vault.as_ref().and_then(|vault| vault.as_ref().err())];
        refused.into_iter().flatten().cloned().collect()
    }
}

/// Whether one is the other, or holds it.
fn overlap(one: &Path, other: &Path) -> bool {
    one.starts_with(other) || other.starts_with(one)
}

/// Where a path leads, as far as it is there; what is not there yet is taken as it will be made.
fn real(path: &Path) -> PathBuf {
    for above in path.ancestors() {
        if let (Ok(mut found), Ok(rest)) = (above.canonicalize(), path.strip_prefix(above)) {
            for part in rest.components() {
                match part {
                    Component::ParentDir => drop(found.pop()),
                    Component::Normal(name) => found.push(name),
                    Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
                }
            }
            return found;
        }
    }
    path.to_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::config::vault::Vault;

    /// A home in the user's directory, with links to and in it.
    fn world() -> (tempfile::TempDir, Home) {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("user/.covenant");
        for directory in ["identity", "workspace", "vault", "notes"] {
            fs::create_dir_all(root.join(directory)).unwrap();
        }
        fs::create_dir_all(place.path().join("disk/log")).unwrap();
        symlink(place.path().join("user"), place.path().join("link")).unwrap();
        symlink("identity", root.join("innocent")).unwrap();
        symlink(place.path().join("disk/log"), root.join("audit")).unwrap();
        let home = Home::at(&root).unwrap();
        (place, home)
    }

    fn grounds(home: &Home, workspace: &str, vault: Option<&str>) -> Grounds {
        let mut config = Config::default();
        workspace.clone_into(&mut config.workspace.path);
        config.vault = vault.map(|path| Vault { path: path.to_owned(), git_sync: true });
        let user = home.root().parent().unwrap().display().to_string();
        Grounds::of(&config, home, &move |name| (name == "HOME").then(|| user.clone()))
    }

    #[test]
    fn no_tool_is_let_into_what_the_daemon_keeps_for_itself() {
        let (place, home) = world();
        let at = |path: &str| place.path().join(path).display().to_string();
        let mut refused: Vec<String> = home
            .own()
            .iter()
            .flat_map(|own| [own.clone(), own.join("deep/down")])
            .map(|own| own.display().to_string())
            .collect();
        refused.extend(
            [".", "..", "/", "~", "~/.covenant", "identity", "identity/x", "memory/client-ada", "run/notes"]
                .map(str::to_owned),
        );
        refused.extend(
            ["innocent", "innocent/x", "none/../identity", "vault/../.", "notes/../secrets.toml"]
                .map(str::to_owned),
        );
        refused.extend(
            ["user", "link", "link/.covenant", "link/.covenant/identity", "disk", "disk/log", "disk/log/x"]
                .map(at),
        );
        for path in refused {
            let tried = grounds(&home, &path, Some("vault"));
            let reason = tried.workspace.as_ref().unwrap_err();
            assert!(
                reason.starts_with("[workspace] path ") && reason.contains("for itself"),
                "{path}: {reason}"
            );
            assert!(
                tried.vault.as_ref().is_some_and(Result::is_ok),
                "{path}: the other is used all the same"
            );
            assert_eq!(tried.remarks().len(), 1);
            let tried = grounds(&home, "workspace", Some(&path));
            let reason = tried.vault.as_ref().unwrap().as_ref().unwrap_err();
            assert!(reason.starts_with("[vault] path "), "{path}: {reason}");
            assert!(tried.workspace.is_ok(), "{path}");
        }
        let mut taken =
            ["vault", "notes/mine", "not/yet", "~/notes", "~/.covenant-notes", "identity-of-mine"]
                .map(str::to_owned)
                .to_vec();
        taken.extend(["disk/logs", "link/notes", "elsewhere"].map(at));
        for path in taken {
            assert_eq!(grounds(&home, "workspace", Some(&path)).remarks(), Vec::<String>::new(), "{path}");
            assert_eq!(grounds(&home, &path, None).remarks(), Vec::<String>::new(), "{path}");
        }
    }

    #[test]
    fn vault_and_workspace_lie_beside_each_other() {
        let (place, home) = world();
        symlink(home.root().join("workspace"), place.path().join("second")).unwrap();
        let second = place.path().join("second/notes").display().to_string();
        for (workspace, vault) in [
            ("workspace", "workspace"),
            ("workspace", "workspace/notes"),
            ("notes/work", "notes"),
            ("workspace", &*second),
        ] {
            let tried = grounds(&home, workspace, Some(vault));
            assert!(tried.workspace.is_ok());
            let reason = tried.vault.unwrap().unwrap_err();
            assert!(reason.contains("lie in each other"), "{vault}: {reason}");
        }
    }
}
