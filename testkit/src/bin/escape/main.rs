//! A hostile program: it tries to get out of wherever it was put, and says how far it came.
//!
//! Every word of its command line is an attack, `name` or `name=aim`; every attack is answered by one line of JSON:
//! `{"attack": "read-file=/etc/shadow", "escaped": false, "detail": "EACCES"}`. `tests/sandbox` has the same program in
//! Python and in Node. Three first words make it something else: `host` makes a poorer host of this one, `terminal`
//! makes a terminal, and `stay` waits to be killed.

#[cfg(target_os = "linux")]
mod answer;
#[cfg(target_os = "linux")]
mod calls;
#[cfg(target_os = "linux")]
mod files;
#[cfg(target_os = "linux")]
mod host;
#[cfg(target_os = "linux")]
mod kernel;
#[cfg(target_os = "linux")]
mod memory;
#[cfg(target_os = "linux")]
mod network;
#[cfg(target_os = "linux")]
mod privileges;
#[cfg(target_os = "linux")]
mod processes;
#[cfg(target_os = "linux")]
mod staying;
#[cfg(target_os = "linux")]
mod storage;
#[cfg(target_os = "linux")]
mod terminal;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["host", lacks, "--", program, arguments @ ..] => host::lacking(lacks, program, arguments),
        ["terminal", "--", program, arguments @ ..] => terminal::of(program, arguments),
        ["stay", mark] => staying::stay(mark),
        attacks => answer::each(attacks),
    }
}

#[cfg(not(target_os = "linux"))]
fn main() -> std::process::ExitCode {
    std::process::ExitCode::FAILURE
}
