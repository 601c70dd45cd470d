//! Whether a text can be a script at all: it can be read, and every name in it means something. Nothing is run.

use covenant_starlark::{Program, parse};
use serde::Serialize;

use super::functions::FUNCTIONS;
use super::header::{Header, Slip};

/// What a script that can be read says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Checked {
    /// The comments at its top.
    pub header: Header,
    /// Its functions that can be called from outside.
    pub functions: Vec<String>,
    /// What a person should know about those comments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// What is wrong with a text, and where: lines and columns count from 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{file}:{line}:{column}: {message}")]
#[expect(missing_docs, reason = "the sentence says what each part is")]
pub struct Flaw {
    pub file: String,
    pub line: u32,
    pub column: u32,
    pub message: String,
}

/// Reads a text; `file` is what a flaw calls it.
pub fn check(file: &str, text: &str) -> Result<Checked, Flaw> {
    let program = program(file, text)?;
    let functions = program.functions().into_iter().map(str::to_owned).collect();
    let mut warnings = Vec::new();
    for Slip { line, column, message, grave } in Header::slips(text) {
        let flaw = Flaw { file: file.to_owned(), line, column, message };
        if grave {
            return Err(flaw);
        }
        warnings.push(flaw.to_string());
    }
    Ok(Checked { header: Header::of(text), functions, warnings })
}

/// The program that a text is, whatever its comments say.
pub(crate) fn program(file: &str, text: &str) -> Result<Program, Flaw> {
    let flaw = |error: covenant_starlark::Error| Flaw {
        file: error.file,
        line: error.line,
        column: error.column,
        message: error.message,
    };
    let program = parse(file, text).map_err(flaw)?;
    program.check(FUNCTIONS).map_err(flaw)?;
    Ok(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sound_script_says_what_it_has() {
        let text =
            "# @description: Adds.\ndef add(a, b):\n    return a + b\n\ndef _own():\n    return time.now()\n";
        let checked = check("sum.star", text).unwrap();
        assert_eq!(checked.header.description, "Adds.");
        assert_eq!(checked.functions, ["add"]);
        assert_eq!(checked.warnings, Vec::<String>::new());
        let odd = check("sum.star", "# @descripton: Adds.\nx = 1\n").unwrap();
        assert!(odd.warnings[0].starts_with("sum.star:1:4: `@descripton` says nothing"), "{odd:?}");
    }

    #[test]
    fn a_flaw_has_its_place() {
        for (text, place) in [
            ("x = 1\ny = (\n", "a.star:2:5: "),
            ("x = 1\ny = nobody(x)\n", "a.star:2:5: "),
            ("def f():\n    return open(\"x\")\n", "a.star:2:12: "),
            ("load(\"other.star\", \"f\")\n", "a.star:1:1: "),
            ("import os\n", "a.star:1:"),
            ("# @secrets: lower, B C\nx = 1\n", "a.star:1:13: `lower` cannot name a secret"),
        ] {
            let flaw = check("a.star", text).unwrap_err().to_string();
            assert!(flaw.starts_with(place), "{flaw}");
        }
    }
}
