//! Whether an order can be carried out by anybody: its paths are absolute, its texts fit into what the system passes on.

use std::path::Path;

use crate::control::{Assignment, LINE_LIMIT};
use crate::launch::StartError;
use crate::order::Order;

/// The longest argument or variable, its end included, that Linux passes to a program.
const TEXT_LIMIT: usize = 128 * 1024;

/// The most paths that are named.
const NAMED: usize = 128;

/// The most memory or disk, in MiB: a tebibyte.
const MEGABYTES: u64 = 1024 * 1024;

/// The line for the launcher, if the order is fit to be sent.
pub(crate) fn assignment(run: &str, order: &Order) -> Result<Vec<u8>, StartError> {
    check(order).map_err(StartError::Order)?;
    let assignment = Assignment { run: run.to_owned(), order: order.clone() };
    let mut line =
        serde_json::to_vec(&assignment).map_err(|_| StartError::Order("a path in it is not UTF-8".into()))?;
    line.push(b'\n');
    if line.len() > LINE_LIMIT {
        let sentence = format!(
            "its arguments and environment are too large: {} bytes, where {LINE_LIMIT} are allowed",
            line.len()
        );
        return Err(StartError::Order(sentence));
    }
    Ok(line)
}

fn check(order: &Order) -> Result<(), String> {
    for argument in &order.arguments {
        text(argument.len(), argument, || format!("its argument \"{}\"", beginning(argument)))?;
    }
    for (name, value) in &order.environment {
        variable(name, value)?;
    }
    for path in [&order.program, &order.directory] {
        absolute(path)?;
    }
    let Some(sandbox) = &order.sandbox else { return Ok(()) };
    let count = sandbox.read.len() + sandbox.write.len();
    if count > NAMED {
        return Err(format!(
            "it names {count} paths, where {NAMED} are allowed: name the directories that hold them"
        ));
    }
    if sandbox.disk_mb > MEGABYTES || sandbox.memory_mb > MEGABYTES {
        return Err(format!("no sandbox has more than {MEGABYTES} MiB of memory or disk"));
    }
    let named = sandbox.read.iter().chain(&sandbox.write).chain(&sandbox.hidden);
    named.chain([&sandbox.scratch]).try_for_each(|path| absolute(path))
}

fn variable(name: &str, value: &str) -> Result<(), String> {
    if name.is_empty() || name.contains(['=', '\0']) {
        return Err(format!(
            "\"{}\" cannot be the name of a variable",
            beginning(&name.replace('\0', "\\0"))
        ));
    }
    // The value may be a secret, so it is not shown.
    text(name.len() + 1 + value.len(), value, || format!("the variable {}", beginning(name)))
}

fn text(length: usize, text: &str, what: impl Fn() -> String) -> Result<(), String> {
    if text.contains('\0') {
        return Err(format!(
            "{} holds a zero byte, which ends a text for the system",
            what().replace('\0', "\\0")
        ));
    }
    if length >= TEXT_LIMIT {
        return Err(format!(
            "{} is too long: {length} bytes, where less than {TEXT_LIMIT} are allowed",
            what()
        ));
    }
    Ok(())
}

fn absolute(path: &Path) -> Result<(), String> {
    let Some(text) = path.to_str() else {
        return Err(format!("the path {} is not UTF-8", path.display()));
    };
    if text.contains('\0') {
        return Err(format!("the path \"{}\" holds a zero byte", beginning(&text.replace('\0', "\\0"))));
    }
    if !path.is_absolute() {
        return Err(format!("the path \"{}\" is not absolute: begin it with /", beginning(text)));
    }
    Ok(())
}

/// Enough of a text to know it by.
fn beginning(text: &str) -> String {
    let mut shown: String = text.chars().take(60).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::Sandbox;

    fn order() -> Order {
        Order {
            name: "test".into(),
            program: "/bin/true".into(),
            arguments: vec!["one".into(), String::new(), "with\nlines".into()],
            environment: vec![("NAME".into(), String::new())],
            directory: "/".into(),
            sandbox: Some(Sandbox::new("/tmp".into())),
        }
    }

    fn refused(change: impl FnOnce(&mut Order)) -> String {
        let mut order = order();
        change(&mut order);
        assignment("run", &order).unwrap_err().to_string()
    }

    #[test]
    fn an_ordinary_order_is_one_line() {
        let line = assignment("run", &order()).unwrap();
        assert!(line.strip_suffix(b"\n").is_some_and(|line| !line.contains(&b'\n')));
    }

    #[test]
    fn what_the_system_cannot_pass_on_is_refused_with_its_name_and_without_its_value() {
        assert!(refused(|order| order.arguments.push("a\0b".into())).contains("\"a\\0b\" holds a zero byte"));
        let secret = |order: &mut Order| order.environment.push(("KEY".into(), "hush\0hush".into()));
        assert_eq!(refused(secret), "the variable KEY holds a zero byte, which ends a text for the system");
        for name in ["", "A=B", "A\0"] {
            let sentence = refused(|order| order.environment.push((name.into(), "hush".into())));
            assert!(sentence.ends_with("cannot be the name of a variable"), "{sentence}");
        }
        let long = refused(|order| order.arguments.push("x".repeat(TEXT_LIMIT)));
        assert!(long.contains("is too long") && long.len() < 200, "{long}");
        let long = refused(|order| order.environment.push(("KEY".into(), "x".repeat(TEXT_LIMIT - 4))));
        assert!(long.contains("the variable KEY is too long"), "{long}");
    }

    #[test]
    fn an_order_that_is_too_large_in_all_is_refused() {
        let sentence = refused(|order| order.arguments = vec!["x".repeat(100_000); 11]);
        assert!(sentence.contains("too large: 1100"), "{sentence}");
    }

    #[test]
    fn paths_are_absolute() {
        assert!(refused(|order| order.program = "true".into()).contains("\"true\" is not absolute"));
        assert!(refused(|order| order.directory = "".into()).contains("not absolute"));
        let read = |order: &mut Order| order.sandbox.as_mut().unwrap().read.push("../x".into());
        assert!(refused(read).contains("\"../x\" is not absolute"));
    }
}
