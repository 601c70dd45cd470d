//! The daemon: assembles the parts, listens, serves the API, and stops. Read `start.rs` first.

mod anchor;
pub mod atomic;
pub mod config;
mod daemon;
mod egress;
mod first;
mod follower;
pub mod home;
mod http;
pub mod identity;
mod lapse;
mod listen;
pub mod lock;
pub mod logging;
mod metrics;
mod neighbours;
mod otlp;
mod outbound;
mod peer;
mod reload;
mod running;
pub mod runs;
pub mod secrets;
mod servers;
mod shutdown;
mod start;
mod thrift;
mod tls;
pub mod trust;

pub use covenant_store::{Inspection, inspect, newest_schema};
pub use daemon::Environment;
pub use home::Home;
pub use listen::ListenError;
pub use running::{Running, runtime};
pub use start::{Extra, Options, StartError, start};
pub use tls::{CertificateError, Shown as ShownCertificate, inspect_certificate};
