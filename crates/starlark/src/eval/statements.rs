//! Statements and the way blocks end.

use super::{Flow, Machine};
use crate::fault::Outcome;
use crate::syntax::{Expr, Statement, StatementKind, Target};
use crate::value::walk::Walk;

impl Machine<'_> {
    pub(crate) fn block(&mut self, body: &[Statement]) -> Outcome<Flow> {
        for statement in body {
            let flow = self.statement(statement).map_err(|fault| fault.passing(statement.span))?;
            if !matches!(flow, Flow::Next) {
                return Ok(flow);
            }
        }
        Ok(Flow::Next)
    }

    fn statement(&mut self, statement: &Statement) -> Outcome<Flow> {
        self.meter.step()?;
        match &statement.kind {
            StatementKind::Expr(value) => {
                self.eval(value)?;
            }
            StatementKind::Assign(target, value) => {
                let value = self.eval(value)?;
                self.assign(target, value)?;
            }
            StatementKind::Augment(target, operator, value) => self.augment(target, *operator, value)?,
            StatementKind::Return(None) => return Ok(Flow::Return(crate::value::Value::None)),
            StatementKind::Return(Some(value)) => return Ok(Flow::Return(self.eval(value)?)),
            StatementKind::Break => return Ok(Flow::Break),
            StatementKind::Continue => return Ok(Flow::Continue),
            StatementKind::Pass => {}
            StatementKind::If { branches, otherwise } => return self.choose(branches, otherwise),
            StatementKind::For { target, over, body } => return self.repeat(target, over, body),
            StatementKind::Def(name, function) => {
                let function = self.closure(function)?;
                self.write(name, function)?;
            }
        }
        Ok(Flow::Next)
    }

    fn choose(&mut self, branches: &[(Expr, Vec<Statement>)], otherwise: &[Statement]) -> Outcome<Flow> {
        self.meter.descend()?;
        for (condition, body) in branches {
            if self.eval(condition)?.truth() {
                return self.block(body);
            }
        }
        self.block(otherwise)
    }

    fn repeat(&mut self, target: &Target, over: &Expr, body: &[Statement]) -> Outcome<Flow> {
        self.meter.descend()?;
        let span = over.span;
        let over = self.eval(over)?;
        let mut walk = Walk::over(&over).map_err(|fault| fault.passing(span))?;
        drop(over);
        while let Some(item) = walk.next() {
            self.meter.step()?;
            self.assign(target, item)?;
            match self.block(body)? {
                Flow::Next | Flow::Continue => {}
                Flow::Break => break,
                Flow::Return(value) => return Ok(Flow::Return(value)),
            }
        }
        Ok(Flow::Next)
    }
}
