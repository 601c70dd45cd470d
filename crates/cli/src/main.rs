//! The binary: takes the command line, does what it says, and ends with one of the documented exit codes.

mod args;
mod autostart;
mod client;
mod cmd;
mod exit;
mod print;
mod setting;

fn main() -> std::process::ExitCode {
    cmd::run()
}
