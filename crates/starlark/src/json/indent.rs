//! `json.indent`: JSON text, laid out over lines.

use super::read;
use crate::eval::arguments::absent;
use crate::eval::{Arguments, Machine};
use crate::fault::{Fault, Outcome};
use crate::value::{Text, Value, Writer};

pub(crate) fn indent(machine: &mut Machine<'_>, mut arguments: Arguments) -> Outcome<Value> {
    let prefix = arguments.take_named("prefix");
    let unit = arguments.take_named("indent");
    let value = arguments.one("json.indent")?;
    let (tab, none) = (machine.meter.text("\t")?, machine.meter.text("")?);
    let (prefix, unit) = (prefix.unwrap_or(none), unit.unwrap_or(tab));
    let (Some(text), Some(prefix), Some(unit)) = (value.text(), prefix.text(), unit.text()) else {
        return Err(Fault::new("json.indent() needs strings"));
    };
    if let Err(wrong) = read::whole(&machine.meter, text)? {
        return Err(Fault::new(format!("json.indent: {wrong}")));
    }
    let mut writer = machine.meter.writer()?;
    Layout { writer: &mut writer, prefix, unit, depth: 0 }.all(text)?;
    Ok(writer.finish())
}

struct Layout<'a> {
    writer: &'a mut Writer,
    prefix: &'a Text,
    unit: &'a Text,
    depth: usize,
}

impl Layout<'_> {
    /// Goes over text that is known to be JSON.
    fn all(&mut self, text: &str) -> Outcome<()> {
        let (mut quoted, mut escaped) = (false, false);
        let mut rest = text.chars().peekable();
        while let Some(c) = rest.next() {
            if quoted {
                self.writer.push_char(c)?;
                quoted = escaped || c != '"';
                escaped = !escaped && c == '\\';
                continue;
            }
            match c {
                ' ' | '\t' | '\n' | '\r' => {}
                '{' | '[' => {
                    self.writer.push_char(c)?;
                    while rest.next_if(|c| matches!(c, ' ' | '\t' | '\n' | '\r')).is_some() {}
                    if let Some(close) = rest.next_if(|c| matches!(c, '}' | ']')) {
                        self.writer.push_char(close)?;
                    } else {
                        self.depth += 1;
                        self.line()?;
                    }
                }
                '}' | ']' => {
                    self.depth = self.depth.checked_sub(1).ok_or_else(absent)?;
                    self.line()?;
                    self.writer.push_char(c)?;
                }
                ',' => {
                    self.writer.push(",")?;
                    self.line()?;
                }
                ':' => self.writer.push(": ")?,
                _ => {
                    quoted = c == '"';
                    self.writer.push_char(c)?;
                }
            }
        }
        Ok(())
    }

    fn line(&mut self) -> Outcome<()> {
        self.writer.push("\n")?;
        self.writer.push(self.prefix)?;
        self.writer.repeat(self.unit, self.depth)
    }
}
