//! Work that blocks, done on a thread of its own, and told to end when its call ends.

use covenant_gate::{Context, RawOutput};
use covenant_model::tool::ToolCallResult;
use tokio_util::sync::CancellationToken;

/// Does the work beside the calls, and makes its failure a result. The token is cancelled when the call is: long work looks
/// at it.
pub(crate) async fn apart<E: std::fmt::Display>(
    context: &Context,
    work: impl FnOnce(&CancellationToken) -> Result<ToolCallResult, E> + Send + 'static,
) -> RawOutput {
    let ended = context.cancelled().child_token();
    // Also where the call is dropped without being cancelled.
    let _guard = ended.clone().drop_guard();
    let done = tokio::task::spawn_blocking(move || work(&ended).unwrap_or_else(ToolCallResult::error)).await;
    let broken =
        |_| ToolCallResult::error("the work broke off inside the daemon; try again, and tell the operator");
    done.unwrap_or_else(broken).into()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn written(output: &RawOutput) -> String {
        format!("{output:?}")
    }

    #[tokio::test]
    async fn a_failure_and_a_panic_are_results() {
        let context = Context::new(CancellationToken::new());
        let failed = apart(&context, |_| Err::<ToolCallResult, _>("it failed")).await;
        assert!(written(&failed).contains("Error: it failed"));
        let broken = apart(&context, |_| -> Result<ToolCallResult, String> { panic!("broken") }).await;
        assert!(written(&broken).contains("Error: the work broke off"));
    }

    #[tokio::test]
    async fn work_hears_when_nobody_waits_for_it() {
        let (told, heard) = mpsc::channel();
        let context = Context::new(CancellationToken::new());
        let (started, begun) = tokio::sync::oneshot::channel();
        let work = apart(&context, move |ended| {
            started.send(()).unwrap();
            while !ended.is_cancelled() {
                std::thread::yield_now();
            }
            told.send(()).unwrap();
            Err::<ToolCallResult, _>("late")
        });
        tokio::select! {
            _ = work => panic!("it never ends by itself"),
            begun = begun => begun.unwrap(),
        }
        heard.recv().unwrap();
    }
}
