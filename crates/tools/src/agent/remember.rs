//! What an agent answered is remembered: a note for each intent, in a directory of its own, where no tool reads or writes.
//!
//! Everything here blocks: call it from `tokio::task::spawn_blocking`.

use std::path::Path;

use covenant_model::intent::IntentId;
use covenant_model::principal::Principal;

use crate::files::Unsettled;
use crate::memory::{LARGEST, Memory, answer};

/// Writes down what that agent answered to that intent, whole or not at all, in its directory of that memory. The text has
/// lost its secrets before; of a long one the beginning is kept. Nobody waits for the disk with an answer: the database, which
/// has it too, does not either.
pub fn remember(
    memory: &Path,
    agent: &Principal,
    intent: &IntentId,
    text: &str,
) -> Result<Unsettled, String> {
    let failed = |error| format!("the answer of {agent} to intent {intent} cannot be remembered: {error}");
    let root = Memory::at(memory).root(agent).map_err(failed)?;
    root.write_soon(&answer(intent), beginning(text).as_bytes()).map_err(failed)
}

/// As much of it as a note may hold.
fn beginning(text: &str) -> &str {
    let most = usize::try_from(LARGEST).unwrap_or(usize::MAX);
    text.get(..text.floor_char_boundary(most)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use tempfile::TempDir;

    use super::*;

    struct World {
        memory: TempDir,
        agent: Principal,
        intent: IntentId,
    }

    impl World {
        fn new() -> Self {
            let agent = "agent:research@local".parse().unwrap();
            Self { memory: TempDir::new().unwrap(), agent, intent: IntentId::from_random([7; 16]) }
        }

        fn remember(&self, text: &str) -> Result<(), String> {
            let kept = remember(&self.memory.path().join("memory"), &self.agent, &self.intent, text)?;
            kept.settle().map_err(|error| error.to_string())
        }

        fn path(&self, beneath: &str) -> std::path::PathBuf {
            self.memory.path().join("memory/agent-research@local").join(beneath)
        }

        fn note(&self) -> std::path::PathBuf {
            self.path(&format!("intents/{}.md", self.intent))
        }
    }

    #[test]
    fn an_answer_lies_in_its_agents_own_directory_and_is_private() {
        let world = World::new();
        world.remember("It is 42 — ü.").unwrap();
        assert_eq!(fs::read_to_string(world.note()).unwrap(), "It is 42 — ü.");
        world.remember("again").unwrap();
        assert_eq!(fs::read_to_string(world.note()).unwrap(), "again");
        let names = fs::read_dir(world.path("intents")).unwrap().count();
        assert_eq!(names, 1, "no draft is left behind");
        for (path, mode) in [(world.note(), 0o600), (world.path("intents"), 0o700), (world.path(""), 0o700)] {
            let found = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
            assert_eq!(found, mode, "{}", path.display());
        }
    }

    #[test]
    fn of_a_long_answer_whole_letters_are_kept_as_many_as_a_note_may_have() {
        let world = World::new();
        let most = usize::try_from(LARGEST).unwrap();
        let text = "€".repeat(most);
        world.remember(&text).unwrap();
        let kept = fs::read_to_string(world.note()).unwrap();
        assert_eq!(kept.len(), most / 3 * 3);
        assert!(text.starts_with(&kept));
        world.remember(&"x".repeat(most)).unwrap();
        assert_eq!(fs::metadata(world.note()).unwrap().len(), LARGEST);
    }

    #[test]
    fn a_link_to_anothers_memory_is_not_written_through() {
        let world = World::new();
        let other = world.memory.path().join("memory/client-bob");
        fs::create_dir_all(&other).unwrap();
        fs::create_dir_all(world.path("")).unwrap();
        symlink("../client-bob", world.path("intents")).unwrap();
        let refused = world.remember("mine").unwrap_err();
        let begins =
            format!("the answer of agent:research@local to intent {} cannot be remembered: ", world.intent);
        assert!(refused.starts_with(&begins), "{refused}");
        assert_eq!(fs::read_dir(&other).unwrap().count(), 0);

        fs::remove_file(world.path("intents")).unwrap();
        fs::create_dir(world.path("intents")).unwrap();
        fs::write(other.join("MEMORY.md"), "bob").unwrap();
        symlink("../../client-bob/MEMORY.md", world.note()).unwrap();
        assert!(world.remember("mine").unwrap_err().contains("symbolic link"));
        assert_eq!(fs::read_to_string(other.join("MEMORY.md")).unwrap(), "bob");
    }
}
