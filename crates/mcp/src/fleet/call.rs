//! The way of one call to its server: a turn, a connection, the call, and once more where that is safe. Whatever goes
//! wrong is a result that names the server and says what to do.

use std::sync::Arc;
use std::time::Duration;

use covenant_gate::{Context, RawOutput};
use covenant_model::principal::Principal;
use covenant_model::server::ServerState;
use covenant_model::tool::ToolCallResult;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::time::{Instant, timeout};

use super::line::{Busy, Line, Spent};
use super::server::{Server, settle};
use super::tool::ExternalTool;
use crate::upstream::link::{LinkError, ToolCall};
use crate::upstream::wire::WireError;

/// The most characters of a server's own words in an error.
const SHOWN: usize = 4000;

impl Server {
    /// Calls a tool of it.
    pub(super) async fn call(
        self: &Arc<Self>,
        tool: &ExternalTool,
        principal: &Principal,
        arguments: &Map<String, Value>,
        context: &Context,
    ) -> RawOutput {
        let answer = self.answer(tool, principal, arguments, context);
        match answer.await {
            Ok(result) => RawOutput::raw(result),
            Err(reason) => ToolCallResult::external_error(reason).into(),
        }
    }

    /// The answer of its server; otherwise a sentence that says why there is none.
    pub(super) async fn answer(
        self: &Arc<Self>,
        tool: &ExternalTool,
        principal: &Principal,
        arguments: &Map<String, Value>,
        context: &Context,
    ) -> Result<Box<RawValue>, String> {
        let named = |clause: String| format!("the server `{}` {clause}", self.name);
        let turn = self.slots.enter(self.plan.call_timeout);
        let _turn = unless_cancelled(context, turn).await?.map_err(|error| named(error.to_string()))?;
        let (mut spent, mut began) = (None, None);
        loop {
            let line =
                unless_cancelled(context, self.line(principal, context, spent)).await?.map_err(named)?;
            let began = began.get_or_insert_with(Instant::now);
            let total = self.plan.call_total.saturating_sub(began.elapsed());
            let call = ToolCall {
                tool: &tool.own,
                arguments,
                headers: &tool.headers,
                context,
                idle: self.plan.call_timeout,
                total,
            };
            let error = match line.peer.call(call).await {
                Ok(result) => return Ok(result),
                Err(error) => error,
            };
            let again = Self::noticed(&error, &line, tool);
            if again && spent.is_none() {
                spent = Some(line.id);
                continue;
            }
            return Err(self.told(error, &line).await);
        }
    }

    /// Notes what a failed call says of its connection. Whether the call may be made once more.
    fn noticed(error: &LinkError, line: &Line, tool: &ExternalTool) -> bool {
        match error {
            LinkError::Wire(WireError::SessionLost) => {
                line.spend(Spent::Session);
                true
            }
            LinkError::Wire(WireError::Lost(_)) => tool.repeatable,
            // Over a pipe one letter can fail alone; elsewhere nobody may be there any more.
            LinkError::Wire(WireError::Failed { status: None, reason })
                if line.peer.transport() != "stdio" =>
            {
                line.spend(Spent::Trouble(reason.as_str().into()));
                tool.repeatable
            }
            _ => false,
        }
    }

    /// What a caller is told of a call that failed.
    async fn told(&self, error: LinkError, line: &Line) -> String {
        let name = &self.name;
        let seconds = |span: Duration| span.as_secs_f64();
        let text = match error {
            LinkError::Rpc(failure) => {
                format!("{} (code {}, from the server `{name}`)", failure.message, failure.code)
            }
            LinkError::Idle(_) => format!(
                "the server `{name}` said nothing for {} s, so the call was given up (`call_timeout_secs`)",
                seconds(self.plan.call_timeout)
            ),
            LinkError::Total(_) => format!(
                "the server `{name}` did not finish within {} s, so the call was given up (`call_total_secs`)",
                seconds(self.plan.call_total)
            ),
            LinkError::Wire(WireError::Lost(reason)) => {
                settle().await;
                format!("the server `{name}` {reason}{}", line.tail.told())
            }
            error => format!("the server `{name}` {error}"),
        };
        self.shared.scrub.shown(&text, SHOWN)
    }

    /// A connection for a call, other than that one; otherwise a clause that can follow the server's name.
    async fn line(
        self: &Arc<Self>,
        principal: &Principal,
        context: &Context,
        not: Option<u64>,
    ) -> Result<Busy, String> {
        match self.whose(principal, context) {
            Some(whose) => self.own_line(&whose, principal, context, not).await,
            None => match self.ready(not) {
                Some(busy) => Ok(busy),
                None => self.awaited(not).await,
            },
        }
    }

    /// The connection that all share, where there is one. It cannot be let go between this look and the call.
    fn ready(&self, not: Option<u64>) -> Option<Busy> {
        let moment = self.moment.borrow();
        let line = moment.line.as_ref().filter(|line| Some(line.id) != not && line.serves());
        line.map(Line::enter)
    }

    /// Waits until there is one, and wakes a server that rests.
    pub(super) async fn awaited(&self, not: Option<u64>) -> Result<Busy, String> {
        // It is ready when its tools were listed.
        let within = self.plan.start_timeout.saturating_add(self.plan.list_timeout);
        if let Ok(came) = timeout(within, self.comes(not)).await {
            return came;
        }
        let error = self.moment.borrow().error.clone();
        let last = error.map(|error| format!("; the last that went wrong: it {error}")).unwrap_or_default();
        let seconds = within.as_secs_f64();
        Err(format!("did not answer within {seconds} s (`start_timeout_secs` and `list_timeout_secs`){last}"))
    }

    /// Whether anything may be started for a call; otherwise a clause that can follow the server's name.
    pub(super) fn is_to_run(&self) -> Result<(), String> {
        if self.gone.is_cancelled() {
            return Err("was changed or removed while the call began: call again".to_owned());
        }
        if self.moment.borrow().state == ServerState::Disabled {
            let name = &self.name;
            return Err(format!("is not to run now: `covenant mcp restart {name}` starts it"));
        }
        Ok(())
    }

    async fn comes(&self, not: Option<u64>) -> Result<Busy, String> {
        let mut moments = self.moment.subscribe();
        let mut woken = None;
        loop {
            if let Some(busy) = self.ready(not) {
                return Ok(busy);
            }
            let moment = moments.borrow_and_update().clone();
            let rests = !moment.trying && moment.state != ServerState::Ready;
            self.is_to_run()?;
            if rests && woken.is_none() {
                woken = Some(moment.attempts);
                self.wake();
            } else if rests && moment.state != ServerState::Restarting && woken < Some(moment.attempts) {
                let error = moment.error.as_deref().unwrap_or("did not start");
                return Err(format!(
                    "{error} (it is {} and starts again when it is called)",
                    moment.state.as_str()
                ));
            }
            tokio::select! {
                changed = moments.changed() => changed.map_err(|_| "is gone".to_owned())?,
                () = self.gone.cancelled() => {}
            }
        }
    }
}

/// The outcome, unless the caller takes the call back first.
async fn unless_cancelled<T>(context: &Context, work: impl Future<Output = T>) -> Result<T, String> {
    tokio::select! {
        biased;
        outcome = work => Ok(outcome),
        () = context.cancelled().cancelled() => Err("the call was taken back".to_owned()),
    }
}
