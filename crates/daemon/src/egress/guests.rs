//! Who comes in at a listener of a run: so many at a time, each served in a task of its own that ends with the listener.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// How long to wait where nothing can be accepted: the process may be out of files, which passes.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves up to `most` connections at a time, and hands up to as many more to `surplus`; the rest is closed at once. It
/// never ends by itself. When it is dropped, so are all of them.
pub(crate) async fn each<One, Surplus>(
    listener: TcpListener,
    most: usize,
    one: impl Fn(TcpStream) -> One,
    surplus: impl Fn(TcpStream) -> Surplus,
) where
    One: Future<Output = ()> + Send + 'static,
    Surplus: Future<Output = ()> + Send + 'static,
{
    let seats = Arc::new(Semaphore::new(most));
    let mut guests = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = guests.join_next() => continue,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(target: "covenant::egress", "a connection of a run could not be accepted: {error}");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let _ = stream.set_nodelay(true);
        match Arc::clone(&seats).try_acquire_owned() {
            Ok(seat) => {
                let served = one(stream);
                guests.spawn(async move {
                    served.await;
                    drop(seat);
                });
            }
            Err(_) if guests.len() < most.saturating_mul(2) => {
                guests.spawn(surplus(stream));
            }
            Err(_) => drop(stream),
        }
    }
}
