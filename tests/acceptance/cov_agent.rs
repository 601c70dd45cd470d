//! The second founding document, "Agent manifest": manifests, the contract of a run, and what agents may do.

mod apart;
mod bad;
mod breaches;
mod contract;
mod dispatch;
mod ended;
mod example;
mod hosts;
mod kept;
mod manifests;
mod nested;
mod new;
mod places;
mod queue;
mod rest;
mod secrets;
pub(crate) mod stage;
mod tokens;
mod tools;
