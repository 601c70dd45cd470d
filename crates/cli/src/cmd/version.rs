//! What `--version` says: the program's version, and that of the tables it keeps.

use std::sync::LazyLock;

/// The version, as `--version` prints it behind the name.
pub(crate) fn text() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        format!("{} (schema {})", covenant_model::VERSION, covenant_daemon::newest_schema())
    });
    &TEXT
}
