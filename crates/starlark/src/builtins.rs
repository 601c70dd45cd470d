//! The functions that are always there, and the methods of values, in sorted tables.

use crate::eval::{Arguments, Machine};
use crate::fault::Outcome;
use crate::value::Value;

mod attributes;
mod conversions;
mod dict_methods;
mod iteration;
mod list_methods;
mod numbers;
mod printing;
mod set_methods;
mod sorting;
mod string_case;
mod string_methods;
mod string_search;
mod string_split;

/// The namespace that is always there.
pub(crate) const JSON: &str = "json";

pub(crate) struct Builtin {
    pub(crate) name: &'static str,
    pub(crate) run: fn(&mut Machine<'_>, Arguments) -> Outcome<Value>,
}

pub(crate) struct Method {
    pub(crate) name: &'static str,
    pub(crate) run: fn(&mut Machine<'_>, &Value, Arguments) -> Outcome<Value>,
}

const fn builtin(name: &'static str, run: fn(&mut Machine<'_>, Arguments) -> Outcome<Value>) -> Builtin {
    Builtin { name, run }
}

const fn method(
    name: &'static str,
    run: fn(&mut Machine<'_>, &Value, Arguments) -> Outcome<Value>,
) -> Method {
    Method { name, run }
}

static GLOBALS: &[Builtin] = &[
    builtin("abs", numbers::abs),
    builtin("all", iteration::all),
    builtin("any", iteration::any),
    builtin("bool", conversions::bool),
    builtin("chr", conversions::chr),
    builtin("dict", conversions::dict),
    builtin("dir", attributes::dir),
    builtin("enumerate", iteration::enumerate),
    builtin("fail", printing::fail),
    builtin("float", numbers::float),
    builtin("format", printing::format),
    builtin("getattr", attributes::getattr),
    builtin("hasattr", attributes::hasattr),
    builtin("hash", attributes::hash),
    builtin("int", numbers::int),
    builtin("len", iteration::len),
    builtin("list", conversions::list),
    builtin("max", sorting::max),
    builtin("min", sorting::min),
    builtin("ord", conversions::ord),
    builtin("print", printing::print),
    builtin("range", iteration::range),
    builtin("repr", printing::repr),
    builtin("reversed", iteration::reversed),
    builtin("set", conversions::set),
    builtin("sorted", sorting::sorted),
    builtin("str", printing::str),
    builtin("tuple", conversions::tuple),
    builtin("type", attributes::type_of),
    builtin("zip", iteration::zip),
];

static MEMBERS: &[Builtin] = &[
    builtin("json.decode", crate::json::decode),
    builtin("json.encode", crate::json::encode),
    builtin("json.indent", crate::json::indent),
];

/// A function that every program knows.
pub(crate) fn global(name: &str) -> Option<&'static Builtin> {
    find(GLOBALS, name, |builtin| builtin.name)
}

/// A function of a namespace that is always there, by its whole name.
pub(crate) fn member(name: &str) -> Option<&'static Builtin> {
    find(MEMBERS, name, |builtin| builtin.name)
}

/// The whole names of all of these.
pub(crate) fn members() -> impl Iterator<Item = &'static str> {
    MEMBERS.iter().map(|builtin| builtin.name)
}

/// The methods of a value, sorted by name.
pub(crate) fn methods(value: &Value) -> &'static [Method] {
    match value {
        Value::Text(_) => string_methods::METHODS,
        Value::List(_) => list_methods::METHODS,
        Value::Dict(_) => dict_methods::METHODS,
        Value::Set(_) => set_methods::METHODS,
        _ => &[],
    }
}

/// The method of that name.
pub(crate) fn method_of(value: &Value, name: &str) -> Option<&'static Method> {
    find(methods(value), name, |method| method.name)
}

fn find<T>(sorted: &'static [T], name: &str, key: fn(&T) -> &str) -> Option<&'static T> {
    sorted.binary_search_by(|item| key(item).cmp(name)).ok().and_then(|at| sorted.get(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sorted_so_that_searches_find() {
        let tables =
            [string_methods::METHODS, list_methods::METHODS, dict_methods::METHODS, set_methods::METHODS];
        assert!(GLOBALS.is_sorted_by_key(|builtin| builtin.name));
        assert!(MEMBERS.is_sorted_by_key(|builtin| builtin.name));
        for table in tables {
            assert!(table.is_sorted_by_key(|method| method.name));
        }
    }
}
