//! A program that was read, and how it is run.

use crate::convert::{self, Outgoing};
use crate::eval::{self, Arguments, Machine, Names};
use crate::fault::{Fault, Outcome};
use crate::meter::Meter;
use crate::resolve::{self, Code};
use crate::value::Value;
use crate::{Error, Host, Limits, lexer, parser};
use std::rc::Rc;

/// The most bytes of a program's text.
pub const MAX_SOURCE: usize = 256 * 1024;

/// A program that was read and whose names are resolved. It can be run any number of times.
#[derive(Debug)]
pub struct Program {
    file: String,
    code: Code,
}

/// What a run is asked for.
#[derive(Debug, Clone, Copy)]
pub enum Entry<'a> {
    /// `main()` if it is defined, else the value of `result`, else all public globals as an object.
    Default,
    /// That function with those arguments; one of [`Program::functions`].
    Function {
        /// Its name.
        name: &'a str,
        /// What it is called with, by position.
        arguments: &'a [serde_json::Value],
    },
}

/// Reads a program. `file` is the name that errors give.
pub fn parse(file: &str, text: &str) -> Result<Program, Error> {
    let code = read(text).map_err(|fault| fault.into_error(file))?;
    Ok(Program { file: file.to_owned(), code })
}

fn read(text: &str) -> Outcome<Code> {
    if text.len() > MAX_SOURCE {
        return Err(Fault::new(format!("the script has {} bytes; {MAX_SOURCE} are allowed", text.len())));
    }
    if text.contains('\0') {
        return Err(Fault::new("the script has a NUL, which nobody who reads it can see; take it out"));
    }
    resolve::resolve(parser::parse(lexer::tokens(text)?)?)
}

impl Program {
    /// The names of its functions that can be called from outside, in the order they are defined.
    pub fn functions(&self) -> Vec<&str> {
        let defined = self.code.body.iter().filter_map(|statement| match &statement.kind {
            crate::syntax::StatementKind::Def(name, _) => Some(&*name.text),
            _ => None,
        });
        defined.filter(|name| !name.starts_with('_')).collect()
    }

    /// Looks whether every name means something to a host with those functions, without running anything.
    pub fn check(&self, functions: &[&'static str]) -> Result<(), Error> {
        let names = Names::new(functions);
        for (name, span) in &self.code.outside {
            if eval::outside_value(&names, name).is_none() {
                return Err(eval::undefined(name, *span).into_error(&self.file));
            }
        }
        Ok(())
    }

    /// Runs it and gives the value that was asked for.
    pub fn run(
        &self,
        host: &mut dyn Host,
        limits: Limits,
        entry: Entry<'_>,
    ) -> Result<serde_json::Value, Error> {
        self.metered(host, &Meter::new(limits), entry)
    }

    /// Runs it on an account that the caller can look at.
    pub(crate) fn metered(
        &self,
        host: &mut dyn Host,
        meter: &Rc<Meter>,
        entry: Entry<'_>,
    ) -> Result<serde_json::Value, Error> {
        let result = self.outcome(host, meter, entry);
        meter.dissolve();
        result.map_err(|fault| fault.into_error(&self.file))
    }

    fn outcome(
        &self,
        host: &mut dyn Host,
        meter: &Rc<Meter>,
        entry: Entry<'_>,
    ) -> Outcome<serde_json::Value> {
        let mut machine = Machine::new(&self.code, host, meter)?;
        machine.module(&self.code)?;
        match entry {
            Entry::Default => self.default(&mut machine),
            Entry::Function { name, arguments } => {
                // What is not listed is the script's own, and what it was approved for is not what a caller makes of it.
                let public = self.functions().contains(&name);
                let Some(function @ Value::Function(_)) = self.global(&machine, name).filter(|_| public)
                else {
                    return Err(Fault::new(format!("the script has no function `{name}`")));
                };
                let mut given = Arguments::new(meter)?;
                for argument in arguments {
                    given.positional.push(convert::incoming(meter, argument)?)?;
                }
                let value = machine.call(&function, given)?;
                shown(&machine, &value, &format!("what {name}() returns"))
            }
        }
    }

    fn global(&self, machine: &Machine<'_>, name: &str) -> Option<Value> {
        let number = self.code.globals.iter().position(|known| &**known == name)?;
        machine.global(number).cloned()
    }

    fn default(&self, machine: &mut Machine<'_>) -> Outcome<serde_json::Value> {
        if let Some(Value::Function(main)) = self.global(machine, "main")
            && main.code.parameters.names.iter().all(|parameter| parameter.default.is_some())
        {
            let none = Arguments::new(&machine.meter)?;
            let value = machine.call(&Value::Function(main), none)?;
            return shown(machine, &value, "what main() returns");
        }
        if let Some(value) = self.global(machine, "result") {
            return shown(machine, &value, "`result`");
        }
        let mut object = serde_json::Map::new();
        let mut outgoing = Outgoing::new(&machine.meter, &machine.names)?;
        for (number, name) in self.code.globals.iter().enumerate() {
            let Some(value) = machine.global(number) else { continue };
            if name.starts_with('_') || is_callable(value) {
                continue;
            }
            let value = outgoing.value(value).map_err(|fault| fault.within(&format!("`{name}`")))?;
            object.insert(name.to_string(), value);
        }
        Ok(serde_json::Value::Object(object))
    }
}

fn is_callable(value: &Value) -> bool {
    matches!(
        value,
        Value::Function(_) | Value::Builtin(_) | Value::Method(_) | Value::Host(_) | Value::Namespace(_)
    )
}

fn shown(machine: &Machine<'_>, value: &Value, what: &str) -> Outcome<serde_json::Value> {
    let mut outgoing = Outgoing::new(&machine.meter, &machine.names)?;
    outgoing.value(value).map_err(|fault| fault.within(what))
}
