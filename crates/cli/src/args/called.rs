//! The name the program was called by: as `covibe-mcp` it is `covenant --mcp`, for whoever links that name to it.

use std::ffi::OsString;
use std::path::Path;

/// The name of the bridge.
const BRIDGE: &str = "covibe-mcp";

/// What was typed, as if the program had its own name. A command behind another name is still that command: a copy of the
/// program under such a name starts itself as a daemon.
pub(crate) fn typed(words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = words.into_iter().collect();
    let bridge =
        words.first().and_then(|name| Path::new(name).file_name()).is_some_and(|name| name == BRIDGE);
    let command = words.get(1).is_some_and(|word| !word.to_string_lossy().starts_with('-'));
    if bridge && !command {
        words.insert(1, "--mcp".into());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Vec<String> {
        let words = typed(words.iter().map(OsString::from));
        words.into_iter().map(|word| word.into_string().unwrap()).collect()
    }

    #[test]
    fn the_bridges_name_is_the_bridge() {
        assert_eq!(read(&["covibe-mcp"]), ["covibe-mcp", "--mcp"]);
        assert_eq!(read(&["/a/b/covibe-mcp", "--url", "x"]), ["/a/b/covibe-mcp", "--mcp", "--url", "x"]);
        for other in [&["covenant", "--mcp"][..], &["covibe-mcp", "up"], &["covibe-mcp.old"], &[]] {
            assert_eq!(read(other), other);
        }
    }
}
