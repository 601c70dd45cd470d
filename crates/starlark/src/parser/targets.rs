//! What stands left of `=`, or between `for` and `in`.

use super::Parser;
use crate::fault::{Fault, Outcome};
use crate::syntax::{Expr, Kind, StepKind, Target, TargetKind};

impl Parser {
    /// The variables of a loop: one or several operands, without operators, because `in` follows.
    pub(super) fn loop_target(&mut self) -> Outcome<Target> {
        let first = self.deeper(Self::operand)?;
        if !self.is_sign(",") {
            return target(first);
        }
        let span = first.span;
        let mut several = vec![target(first)?];
        while self.takes_sign(",") {
            if self.is_word("in") {
                break;
            }
            several.push(target(self.deeper(Self::operand)?)?);
        }
        Ok(Target { span, kind: TargetKind::Several(several) })
    }
}

/// An expression read as something to assign to.
pub(super) fn target(expression: Expr) -> Outcome<Target> {
    let span = expression.span;
    let kind = match expression.kind {
        Kind::Name(name) => TargetKind::Name(name),
        Kind::List(items) | Kind::Tuple(items) => {
            if items.is_empty() {
                return Err(Fault::at("nothing cannot be assigned to", span));
            }
            TargetKind::Several(items.into_iter().map(target).collect::<Outcome<_>>()?)
        }
        Kind::Path { base, mut steps } => match steps.pop().map(|step| step.kind) {
            Some(StepKind::Index(index)) => {
                let object = if steps.is_empty() {
                    base
                } else {
                    Box::new(Expr { span, kind: Kind::Path { base, steps } })
                };
                TargetKind::Index(object, Box::new(index))
            }
            Some(StepKind::Attribute(name)) => {
                return Err(Fault::at(format!("the attribute `{name}` cannot be assigned to"), span));
            }
            Some(StepKind::Slice(_)) => return Err(Fault::at("a slice cannot be assigned to", span)),
            _ => return Err(Fault::at("a call cannot be assigned to", span)),
        },
        _ => return Err(Fault::at("this cannot be assigned to", span)),
    };
    Ok(Target { span, kind })
}
