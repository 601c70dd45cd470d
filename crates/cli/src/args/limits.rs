//! How the limits of a grant are read from `--where`. Each mistake is told in the words of the option, not of a parser.

use covenant_model::constraint::Constraints;
use serde_json::{Map, Value};

use super::members;

/// What is shown beside a mistake: something that could be typed.
const SAMPLE: &str = "such as --where '{\"arguments\": {\"path\": {\"path\": \"notes/**\"}}, \"max_calls\": 20, \"rate\": 0.5}'";

const KINDS: &str = "`equals`, `one_of`, `range`, `glob` or `path`";

/// Reads the limits of a grant.
pub(crate) fn constraints(text: &str) -> Result<Constraints, String> {
    // By way of an object: serde would take a list for a struct as well.
    let members = members(text, &format!("write one JSON object, {SAMPLE}"))?;
    explain(&members).map_err(|error| format!("{error}; {SAMPLE}"))?;
    let limits: Constraints =
        serde_json::from_value(Value::Object(members)).map_err(|error| format!("{error}; {SAMPLE}"))?;
    limits.check().map_err(|error| error.to_string())?;
    Ok(limits)
}

/// What people get wrong, found before the parser finds it.
fn explain(members: &Map<String, Value>) -> Result<(), String> {
    for (name, value) in members {
        match (name.as_str(), value) {
            ("arguments", Value::Object(rules)) => {
                rules.iter().try_for_each(|(property, rule)| explain_rule(property, rule))?;
            }
            ("arguments", _) => return Err("`arguments` is an object: a rule for each property".to_owned()),
            ("max_calls", value) if value.as_u64().is_none() => {
                return Err("`max_calls` is a whole number, at least 1".to_owned());
            }
            ("rate", value) if !value.is_number() => {
                return Err("`rate` is a number of calls per second".to_owned());
            }
            ("max_calls" | "rate", _) => {}
            (unknown, _) => {
                return Err(format!(
                    "there is no limit called `{unknown}`: there are `arguments`, `max_calls` and `rate`"
                ));
            }
        }
    }
    Ok(())
}

fn explain_rule(property: &str, rule: &Value) -> Result<(), String> {
    let shape = || format!("the rule for `{property}` is an object with one member: {KINDS}");
    let rule = rule.as_object().filter(|rule| rule.len() == 1).ok_or_else(shape)?;
    for (kind, value) in rule {
        let wrong = |wanted: &str| Err(format!("`{kind}` for `{property}` takes {wanted}"));
        match kind.as_str() {
            "one_of" if !value.is_array() => return wrong("a list of values, such as [\"a\", \"b\"]"),
            "glob" | "path" if !value.is_string() => return wrong("a text in which `*` stands for anything"),
            "range" if !value.is_object() && !value.is_array() => {
                return wrong("{\"min\": 1, \"max\": 9}; either may be left out");
            }
            "equals" | "one_of" | "glob" | "path" | "range" => {}
            unknown => return Err(format!("there is no rule called `{unknown}`: there are {KINDS}")),
        }
    }
    Ok(())
}
