//! What the configuration says to tools and this machine does not bear out: one sentence each, with what to do.

use crate::files::Root;
use crate::script::shelf::Shelf;
use crate::settings::{NO_VAULT, Settings};
use crate::vault;

/// All of it: what is left out, a workspace, a vault or scripts that cannot be used. This blocks.
pub fn unfit(settings: &Settings) -> Vec<String> {
    let left_out = settings.left_out.iter().map(|left_out| left_out.reason.clone());
    let workspace = settings.workspace.as_ref().err().cloned();
    let vault = match &settings.vault {
        Ok(written) => Root::open(&written.path, "vault")
            .err()
            .map(|error| vault::place::unfit(&written.path, error.why).unwrap_or_else(|| error.to_string())),
        Err(reason) => Some(reason.clone()).filter(|reason| reason != NO_VAULT),
    };
    let scripts = Shelf::new(&settings.scripts.path).check().err();
    let scripts = scripts.map(|reason| format!("no script can be used: {reason}"));
    left_out.chain(workspace).chain(vault).chain(scripts).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::native::tests::parts;
    use crate::settings::{LeftOut, Outside, Vault};

    #[test]
    fn what_cannot_be_used_is_said_with_what_to_do() {
        let root = tempfile::tempdir().unwrap();
        let mut settings = (*parts(root.path()).settings).clone();
        assert_eq!(unfit(&settings), Vec::<String>::new());
        settings.left_out =
            vec![LeftOut { service: Outside::Chat, reason: "[chat.x] is not used".to_owned() }];
        settings.workspace = Err("[workspace] path is not used".to_owned());
        settings.vault = Ok(Vault { path: root.path().join("vault"), git_sync: false });
        fs::create_dir(&settings.scripts.path).unwrap();
        fs::set_permissions(&settings.scripts.path, fs::Permissions::from_mode(0o777)).unwrap();
        let said = unfit(&settings);
        let places = [
            "[chat.x] is not used".to_owned(),
            "[workspace] path is not used".to_owned(),
            format!("the vault {} is not there; make", root.path().join("vault").display()),
            format!("no script can be used: {} can be written by others;", settings.scripts.path.display()),
        ];
        assert_eq!(said.len(), places.len(), "{said:?}");
        for (said, begins) in said.iter().zip(places) {
            assert!(said.starts_with(&begins), "{said}");
        }
    }
}
