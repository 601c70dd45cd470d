//! Decide, record and run one call. Read [`call`] first: it is the whole path, one line per step.
//!
//! The chain `Credential → Caller → Admitted → Permit → RawOutput → Redacted` is sealed: each type has private
//! fields and one constructor, in the module that does that step, so a step that is skipped does not compile.
//!
//! # The seal, tried
//!
//! Each pair differs only in the step that is skipped. A call needs someone who was counted, not merely known:
//!
//! ```
//! # use covenant_gate::*;
//! fn call(gate: &Gate, admitted: Admitted, request: CallRequest, context: Context) {
//!     drop(gate.call(admitted, request, context));
//! }
//! ```
//! ```compile_fail
//! # use covenant_gate::*;
//! fn call(gate: &Gate, admitted: Caller, request: CallRequest, context: Context) {
//!     drop(gate.call(admitted, request, context));
//! }
//! ```
//!
//! A tool needs a permit, which nobody outside can make, and which is gone once it was used:
//!
//! ```
//! # use covenant_gate::{arguments::Arguments, *};
//! fn run(tool: &dyn Tool, permit: Permit, arguments: Arguments, context: &Context) {
//!     drop(tool.run(permit, arguments, context));
//! }
//! ```
//! ```compile_fail
//! # use covenant_gate::{arguments::Arguments, *};
//! # use covenant_model::{id::CallId, principal::Principal};
//! fn run(tool: &dyn Tool, arguments: Arguments, context: &Context) {
//!     let permit = Permit { principal: Principal::operator(), badge: Default::default(), call: CallId::from_random([0; 10]) };
//!     drop(tool.run(permit, arguments, context));
//! }
//! ```
//! ```compile_fail
//! # use covenant_gate::{arguments::Arguments, *};
//! fn run(tool: &dyn Tool, permit: Permit, arguments: Arguments, more: Arguments, context: &Context) {
//!     drop(tool.run(permit, arguments, context));
//!     drop(tool.run(permit, more, context));
//! }
//! ```
//!
//! Only what was redacted can be written out:
//!
//! ```
//! # use covenant_gate::*;
//! fn reply(result: &Redacted) -> String {
//!     result.json().get().to_owned()
//! }
//! ```
//! ```compile_fail
//! # use covenant_gate::*;
//! fn reply(result: &RawOutput) -> String {
//!     result.json().get().to_owned()
//! }
//! ```
//!
//! The catalogue and every administrative act need the operator's proof, which only the gate hands out:
//!
//! ```
//! # use covenant_gate::*;
//! fn administer(gate: &Gate, operator: &Operator) {
//!     drop(gate.grants(operator));
//! }
//! ```
//! ```compile_fail
//! # use covenant_gate::*;
//! fn administer(gate: &Gate, operator: &Caller) {
//!     drop(gate.grants(operator));
//! }
//! ```

pub mod answering;
pub mod approval;
pub mod arguments;
pub mod arrivals;
pub mod audit;
pub mod authenticate;
pub mod call;
pub mod capability;
pub mod clock;
pub mod config;
pub mod context;
pub mod gate;
pub mod inquiry;
pub mod limit;
pub mod mandate;
pub mod meter;
pub mod observe;
mod offer;
pub mod operator;
pub mod output;
pub mod people;
pub mod ports;
pub mod provider;
pub mod random;
pub mod refusal;
pub mod registry;
mod seal;
pub mod signin;
pub mod steward;
pub mod tool;
mod trace;
mod veil;

pub use approval::{Content, Standing};
pub use authenticate::{Caller, Credential};
pub use call::CallRequest;
pub use capability::Permit;
pub use clock::{Clock, SystemClock};
pub use context::Context;
pub use gate::{Gate, Parts};
pub use limit::Admitted;
pub use offer::Offers;
pub use operator::{Operator, Peer};
pub use output::{RawOutput, Redacted};
pub use refusal::{CallError, Fault, Refusal};
pub use registry::{Prepared, ToolRegistry};
pub use steward::Steward;
pub use tool::Tool;
pub use veil::Veil;
