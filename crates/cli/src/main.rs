//! The binary: takes the command line, does what it says, and ends with one of the documented exit codes.

mod args;
mod autostart;
mod client;
mod cmd;
mod exit;
mod print;
mod setting;

fn main() -> std::process::ExitCode {
    // Before anything else: a launcher has one thread and no descriptors of its own.
    if covenant_runner::launcher::is_wanted() {
        return covenant_runner::launcher::run();
    }
    if covenant_tools::script::child::is_wanted() {
        return covenant_tools::script::child::run();
    }
    cmd::run()
}
