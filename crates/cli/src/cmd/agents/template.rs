//! What new agents are made of: one set of files for each runtime.

use covenant_model::manifest::Runtime;

/// The files of a new agent, by their places in its directory, and how its program is built.
#[derive(Clone, Copy)]
pub(super) struct Template {
    pub(super) files: &'static [(&'static str, &'static str)],
    pub(super) build: Option<&'static str>,
}

const PYTHON: Template = Template {
    files: &[
        ("agent.toml", include_str!("templates/python3/agent.toml")),
        ("main.py", include_str!("templates/python3/main.py")),
    ],
    build: None,
};

const NODE: Template = Template {
    files: &[
        ("agent.toml", include_str!("templates/node/agent.toml")),
        ("main.mjs", include_str!("templates/node/main.mjs")),
    ],
    build: None,
};

const RUST: Template = Template {
    files: &[
        ("agent.toml", include_str!("templates/rust-bin/agent.toml")),
        ("Cargo.toml", include_str!("templates/rust-bin/Cargo.toml.in")),
        ("src/main.rs", include_str!("templates/rust-bin/main.rs")),
    ],
    build: Some("cargo build --release"),
};

/// The one for that runtime.
pub(super) fn of(runtime: Runtime) -> Template {
    match runtime {
        Runtime::RustBin => RUST,
        Runtime::Python3 => PYTHON,
        Runtime::Node => NODE,
    }
}

/// A file with the agent's name in its places.
pub(super) fn filled(text: &str, name: &str) -> String {
    text.replace("AGENT_NAME", name)
}
