//! An ordinary program, linked statically: uses what ordinary programs use, says of each whether it worked, and ends with
//! the code it was told. Built by the test that runs it.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, ExitCode};
use std::sync::mpsc;

fn threads() -> Option<bool> {
    let (sender, receiver) = mpsc::channel();
    for number in 0..16_u32 {
        let sender = sender.clone();
        std::thread::Builder::new().spawn(move || sender.send(number)).ok()?;
    }
    drop(sender);
    Some(receiver.iter().sum::<u32>() == 120)
}

fn programs() -> Option<bool> {
    let ran = Command::new("/bin/sh").args(["-c", "echo out; exit 3"]).output().ok()?;
    Some(ran.stdout == b"out\n" && ran.status.code() == Some(3))
}

fn files() -> Option<bool> {
    let directory = std::env::temp_dir().join("plain");
    std::fs::create_dir_all(&directory).ok()?;
    std::fs::write(directory.join("a"), "text").ok()?;
    std::fs::rename(directory.join("a"), directory.join("b")).ok()?;
    Some(std::fs::read_to_string(directory.join("b")).ok()? == "text")
}

fn home() -> Option<bool> {
    let here = std::env::current_dir().ok()?;
    Some(here == std::path::Path::new(&std::env::var_os("HOME")?).canonicalize().ok()?)
}

fn web() -> Option<bool> {
    let listener = TcpListener::bind("127.0.0.1:0").ok()?;
    let address = listener.local_addr().ok()?;
    let server = std::thread::spawn(move || listener.accept().ok()?.0.write_all(b"hello").ok());
    let mut said = String::new();
    TcpStream::connect(address).ok()?.read_to_string(&mut said).ok()?;
    server.join().ok()??;
    Some(said == "hello")
}

fn memory() -> Option<bool> {
    Some(vec![1_u8; 100 * 1024 * 1024].iter().step_by(4096).all(|byte| *byte == 1))
}

fn environment() -> Option<bool> {
    Some(std::env::var("MODE").ok()? == "test" && std::env::var_os("COVENANT_CANARY").is_none())
}

fn input() -> Option<bool> {
    let mut said = String::new();
    std::io::stdin().read_to_string(&mut said).ok()?;
    Some(said == "hello")
}

fn main() -> ExitCode {
    let features: [(&str, fn() -> Option<bool>); 8] = [
        ("input", input),
        ("threads", threads),
        ("programs", programs),
        ("files", files),
        ("home", home),
        ("web", web),
        ("memory", memory),
        ("environment", environment),
    ];
    eprintln!("on stderr");
    let word = |worked| if worked == Some(true) { "ok" } else { "wrong" };
    let answers: Vec<String> =
        features.iter().map(|(name, feature)| format!("\"{name}\":\"{}\"", word(feature()))).collect();
    println!("{{{}}}", answers.join(","));
    ExitCode::from(std::env::args().nth(1).and_then(|code| code.parse().ok()).unwrap_or(99))
}
