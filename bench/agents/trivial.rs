//! The least an agent can do: it reads the line, repeats the id of the intent, and ends.

use std::io::{self, Write as _};

fn main() -> io::Result<()> {
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    let id = line.split('"').nth(3).unwrap_or_default();
    writeln!(io::stdout(), r#"{{"intent_id":"{id}","status":"ok","text":"done"}}"#)
}
