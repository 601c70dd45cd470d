//! The members of `params` and `_meta` that we look at, as the text they came in. Each method decodes its own.

use std::borrow::Cow;

use covenant_gate::context::{Level, Trace};
use covenant_gate::inquiry::{Kinds, Round};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::message::{Id, Request, present, text};
use crate::reply::RpcError;

/// The members of any request's or notification's `params`.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Params<'a> {
    #[serde(borrow, default, rename = "_meta", deserialize_with = "present")]
    meta: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(crate) name: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(crate) arguments: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(crate) cursor: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(crate) uri: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(crate) level: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(crate) protocol_version: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(crate) notifications: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(crate) request_id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(crate) capabilities: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    input_responses: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    request_state: Option<&'a RawValue>,
}

/// A request whose parameters were found, or why they could not be.
#[derive(Debug)]
pub struct Ask<'a> {
    /// The request.
    pub request: Request<'a>,
    /// What it brings.
    pub found: Result<Found<'a>, RpcError>,
}

/// What a request brings.
#[derive(Debug)]
pub struct Found<'a> {
    /// Its parameters.
    pub params: Params<'a>,
    /// What it says of itself.
    pub meta: Meta<'a>,
}

impl<'a> Ask<'a> {
    /// Finds the parameters, once for everyone who looks at them.
    pub fn read(request: Request<'a>) -> Self {
        let found =
            Params::read(request.params).and_then(|params| params.meta().map(|meta| Found { params, meta }));
        Self { request, found }
    }

    /// What it is about: the `name` of a tool or prompt, the `uri` of a resource.
    pub fn subject(&self) -> Option<Cow<'a, str>> {
        let params = &self.found.as_ref().ok()?.params;
        match self.request.method.as_ref() {
            "tools/call" | "prompts/get" => params.name.and_then(text),
            "resources/read" => params.uri.and_then(text),
            _ => None,
        }
    }

    /// The tool it calls, if it is a call that names one, whatever else is wrong with it.
    pub(crate) fn tool(&self) -> Option<Cow<'a, str>> {
        let params = match &self.found {
            _ if self.request.method != "tools/call" => return None,
            Ok(found) => found.params,
            Err(_) => Params::read(self.request.params).ok()?,
        };
        params.name.and_then(text)
    }
}

impl<'a> Params<'a> {
    /// Finds the members; no `params` has none.
    pub fn read(raw: Option<&'a RawValue>) -> Result<Self, RpcError> {
        raw.map_or_else(
            || Ok(Self::default()),
            |raw| serde_json::from_str(raw.get()).map_err(RpcError::invalid_params),
        )
    }

    /// What stands under `_meta`.
    pub fn meta(&self) -> Result<Meta<'a>, RpcError> {
        Meta::read(self.meta)
    }

    /// `arguments`: an object; none is an empty one.
    pub(crate) fn arguments(&self) -> Result<Map<String, Value>, RpcError> {
        match self.arguments.map(RawValue::get) {
            None | Some("null") => Ok(Map::new()),
            Some(raw) if raw.starts_with('{') => serde_json::from_str(raw).map_err(RpcError::invalid_params),
            Some(_) => Err(RpcError::invalid_params("`arguments` must be an object")),
        }
    }

    /// What a stateless client brings back: the answers, and what we gave it to carry.
    pub(crate) fn round(&self, kinds: Kinds) -> Result<Round, RpcError> {
        let bad = || RpcError::invalid_params("`inputResponses` must be an object of answers");
        let responses = match self.input_responses {
            None => Map::new(),
            Some(raw) if raw.get().starts_with('{') => serde_json::from_str(raw.get()).map_err(|_| bad())?,
            Some(_) => return Err(bad()),
        };
        let state = match self.request_state {
            None => None,
            Some(raw) => Some(required("requestState", Some(raw))?.into_owned()),
        };
        Ok(Round { kinds, responses, state })
    }

    /// Our lists have one page, so we have given out no cursor.
    pub(crate) fn first_page(&self) -> Result<(), RpcError> {
        match self.cursor.map(RawValue::get) {
            None | Some("null") => Ok(()),
            Some(_) => Err(RpcError::invalid_params("unknown `cursor`: ask for the list without one")),
        }
    }
}

/// A member that must be a string.
pub(crate) fn required<'a>(member: &str, raw: Option<&'a RawValue>) -> Result<Cow<'a, str>, RpcError> {
    raw.and_then(text).ok_or_else(|| RpcError::invalid_params(format_args!("`{member}` must be a string")))
}

/// A member that names a log level.
pub(crate) fn level(member: &str, raw: &RawValue) -> Result<Level, RpcError> {
    serde_json::from_str(raw.get()).map_err(|_| {
        RpcError::invalid_params(format_args!(
            "`{member}` must be one of debug, info, notice, warning, error, critical, alert, emergency"
        ))
    })
}

/// What a client that declares those capabilities can be asked for.
pub(crate) fn kinds(capabilities: Option<&RawValue>) -> Kinds {
    match capabilities.map(RawValue::get) {
        None | Some("{}") => Kinds::default(),
        Some(text) => serde_json::from_str(text).map(|members| Kinds::of(&members)).unwrap_or_default(),
    }
}

/// What a request says about itself.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
pub struct Meta<'a> {
    #[serde(
        borrow,
        default,
        rename = "io.modelcontextprotocol/protocolVersion",
        deserialize_with = "present"
    )]
    pub(crate) version: Option<&'a RawValue>,
    #[serde(
        borrow,
        default,
        rename = "io.modelcontextprotocol/clientCapabilities",
        deserialize_with = "present"
    )]
    pub(crate) capabilities: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "io.modelcontextprotocol/logLevel", deserialize_with = "present")]
    level: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "progressToken", deserialize_with = "present")]
    progress_token: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    traceparent: Option<&'a RawValue>,
}

impl<'a> Meta<'a> {
    /// Finds the members; no `_meta` has none.
    pub fn read(raw: Option<&'a RawValue>) -> Result<Self, RpcError> {
        match raw.map(RawValue::get) {
            None => Ok(Self::default()),
            Some(text) if text.starts_with('{') => {
                serde_json::from_str(text).map_err(RpcError::invalid_params)
            }
            Some(_) => Err(RpcError::invalid_params("`_meta` must be an object")),
        }
    }

    /// The least log level wanted for this request, in the modern era.
    pub(crate) fn level(&self) -> Result<Option<Level>, RpcError> {
        self.level.map(|raw| level("io.modelcontextprotocol/logLevel", raw)).transpose()
    }

    /// The token under which progress is reported.
    pub(crate) fn progress_token(&self) -> Result<Option<Id>, RpcError> {
        let Some(raw) = self.progress_token else { return Ok(None) };
        let token = Id::of(raw.get());
        token
            .map(Some)
            .ok_or_else(|| RpcError::invalid_params("`progressToken` must be a string or an integer"))
    }

    /// The trace the request belongs to; a broken `traceparent` is none.
    pub(crate) fn trace(&self) -> Option<Trace> {
        Trace::from_traceparent(&text(self.traceparent?)?)
    }
}
