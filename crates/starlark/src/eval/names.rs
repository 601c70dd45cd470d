//! The names that the host gives: functions, and namespaces before their dots.

use crate::builtins;
use crate::value::Value;

pub(crate) struct Names {
    functions: Vec<&'static str>,
    namespaces: Vec<String>,
}

impl Names {
    pub(crate) fn new(functions: &[&'static str]) -> Self {
        let mut namespaces = vec![builtins::JSON.to_owned()];
        for function in functions {
            for (dot, _) in function.match_indices('.') {
                let namespace = function.get(..dot).unwrap_or_default();
                if !namespaces.iter().any(|known| known == namespace) {
                    namespaces.push(namespace.to_owned());
                }
            }
        }
        Self { functions: functions.to_vec(), namespaces }
    }

    pub(crate) fn function(&self, number: usize) -> &'static str {
        self.functions.get(number).copied().unwrap_or_default()
    }

    pub(crate) fn namespace(&self, number: usize) -> &str {
        self.namespaces.get(number).map_or("", String::as_str)
    }

    /// What a name of the host means by itself.
    pub(crate) fn outside(&self, name: &str) -> Option<Value> {
        let function = self.functions.iter().position(|known| *known == name).map(Value::Host);
        function.or_else(|| self.namespaces.iter().position(|known| known == name).map(Value::Namespace))
    }

    /// What a name means within a namespace.
    pub(crate) fn member(&self, namespace: usize, name: &str) -> Option<Value> {
        let namespace = self.namespace(namespace);
        let whole = format!("{namespace}.{name}");
        builtins::member(&whole).map(Value::Builtin).or_else(|| self.outside(&whole))
    }

    /// The names within a namespace, sorted.
    pub(crate) fn members(&self, namespace: usize) -> Vec<&str> {
        let prefix = format!("{}.", self.namespace(namespace));
        let known = builtins::members().chain(self.functions.iter().copied());
        let members = known.filter_map(|name| name.strip_prefix(&prefix));
        let mut members: Vec<_> = members.filter_map(|name| name.split('.').next()).collect();
        members.sort_unstable();
        members.dedup();
        members
    }
}
