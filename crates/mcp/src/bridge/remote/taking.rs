//! What becomes of one line of the client: we answer it, the origin is asked, or the origin is told.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::value::RawValue;
use tokio::task::JoinHandle;

use super::exchange::Asked;
use super::front::{Flight, Front};
use super::room::Load;
use super::trouble::Trouble;
use super::{FLIGHTS, telling};
use crate::era::{self, Era};
use crate::http::Said;
use crate::message::{Id, Incoming, Notification};
use crate::params::{Ask, Params, required};
use crate::reply::{RpcError, encode_error};

impl<R, W> Front<R, W> {
    pub(super) fn refuse(&mut self, id: Option<&Id>, error: &RpcError) {
        self.to_client.line(|out| encode_error(id, error, out));
    }

    pub(super) fn take(&mut self, line: &[u8]) {
        match Said::read(line) {
            Err(malformed) => self.refuse(malformed.id.as_ref(), &malformed.error),
            Ok(Said::Request(ask)) => {
                if let Err(error) = self.request(&ask, line) {
                    self.refuse(Some(&ask.request.id), &error);
                }
            }
            Ok(Said::Other(Incoming::Notification(notification))) => self.notification(&notification, line),
            Ok(Said::Other(_)) => self.aside(line),
        }
    }

    fn request(&mut self, ask: &Ask<'_>, line: &[u8]) -> Result<(), RpcError> {
        let (id, method) = (&ask.request.id, ask.request.method.as_ref());
        let found = ask.found.as_ref().map_err(Clone::clone)?;
        let era = era::of(method, &found.meta)?;
        if self.flights.contains_key(id) {
            return Err(RpcError::invalid_request(format_args!(
                "the id {id} is in use: give each request its own"
            )));
        }
        match (method, era) {
            ("initialize", Era::Legacy) => {
                let wanted = required("protocolVersion", found.params.protocol_version)?.into_owned();
                let opening = owned(ask.request.params);
                let task = tokio::spawn(Arc::clone(&self.desk).greet(id.clone(), wanted, opening));
                self.begin(id, &task, era, false);
                return Ok(());
            }
            ("ping", Era::Legacy) => {
                let pong = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
                self.to_client.line(|out| out.extend_from_slice(pong.as_bytes()));
                return Ok(());
            }
            ("logging/setLevel", Era::Legacy) => {
                let (desk, level) = (Arc::clone(&self.desk), owned(ask.request.params));
                tokio::spawn(async move { desk.sessions.set_level(level).await });
            }
            _ => {}
        }
        let mut held = self.desk.road.room.hold();
        // The line, and the copy of it that is sent.
        let fits = self.flights.len() < FLIGHTS && held.grow(line.len() * 2);
        let asked = Asked {
            id: id.clone(),
            method: method.to_owned(),
            era,
            subject: ask.subject().map(Cow::into_owned),
            line: if fits { line.to_vec() } else { Vec::new() },
            _held: held,
        };
        if !fits {
            let told = telling::answer(&asked, &Trouble::Crowded, &self.desk.road);
            self.to_client.line(|out| out.extend_from_slice(&told));
            return Ok(());
        }
        let lasting = asked.is_lasting();
        let task = tokio::spawn(Arc::clone(&self.desk).see_through(asked));
        self.begin(id, &task, era, lasting);
        Ok(())
    }

    fn begin(&mut self, id: &Id, task: &JoinHandle<()>, era: Era, lasting: bool) {
        self.flights.insert(id.clone(), Flight { task: task.abort_handle(), era, lasting });
    }

    fn notification(&mut self, notification: &Notification<'_>, line: &[u8]) {
        match notification.method.as_ref() {
            // We said so ourselves when the session was opened.
            "notifications/initialized" => {}
            "notifications/cancelled" => {
                let raw = Params::read(notification.params).ok().and_then(|params| params.request_id);
                let flight = raw.and_then(|raw| Id::of(raw.get())).and_then(|id| self.flights.remove(&id));
                if let Some(flight) = flight {
                    flight.task.abort();
                    if flight.era == Era::Legacy {
                        self.aside(line);
                    }
                }
            }
            _ => self.aside(line),
        }
    }

    fn aside(&mut self, line: &[u8]) {
        let mut held = self.desk.road.room.hold();
        // The line, and the copy of it that is sent.
        if held.grow(line.len() * 2) {
            drop(self.asides.try_send(Load::held(line.to_vec(), held)));
        }
    }
}

fn owned(params: Option<&RawValue>) -> Box<RawValue> {
    params.map_or_else(|| RawValue::NULL.to_owned(), RawValue::to_owned)
}
