//! Threads that serve one queue of jobs, and how they are ended: a lane without senders runs dry and stops.

use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use rusqlite::Connection;

use super::super::DbError;

/// A queue and the threads behind it.
pub(super) struct Lane<J> {
    sender: Mutex<Option<Sender<J>>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// The end of the queue that a thread takes from.
pub(super) struct Jobs<J>(Arc<Mutex<Receiver<J>>>);

impl<J> Jobs<J> {
    /// Waits for the next job; `None` once the lane is stopped and the queue empty.
    pub(super) fn next(&self) -> Option<J> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
    }
}

impl<J: Send + 'static> Lane<J> {
    /// One thread per connection, all serving the same queue.
    pub(super) fn start(
        name: &str,
        connections: Vec<Connection>,
        serve: fn(Connection, &Jobs<J>),
    ) -> Result<Self, DbError> {
        let (sender, receiver) = mpsc::channel();
        let receiver = Arc::new(Mutex::new(receiver));
        let mut threads = Vec::with_capacity(connections.len());
        for connection in connections {
            let jobs = Jobs(Arc::clone(&receiver));
            let thread = std::thread::Builder::new().name(name.to_owned());
            let thread = thread.spawn(move || serve(connection, &jobs));
            threads.push(thread.map_err(|error| DbError::Failed(format!("no thread for {name}: {error}")))?);
        }
        Ok(Self { sender: Mutex::new(Some(sender)), threads: Mutex::new(threads) })
    }

    /// Puts a job into the queue.
    pub(super) fn send(&self, job: J) -> Result<(), DbError> {
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        sender.as_ref().and_then(|sender| sender.send(job).ok()).ok_or(DbError::Closed)
    }

    /// Takes no more jobs, and waits until those in the queue are done.
    pub(super) async fn stop(&self) {
        drop(self.sender.lock().unwrap_or_else(PoisonError::into_inner).take());
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        let joined = tokio::task::spawn_blocking(move || {
            threads.into_iter().filter_map(|thread| thread.join().err()).count()
        });
        if joined.await.unwrap_or(1) > 0 {
            tracing::error!("a thread of the store ended badly");
        }
    }
}
