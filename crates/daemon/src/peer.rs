//! Who is at the other end of a connection, as far as the kernel says: for the rows of what the operator does.

use covenant_gate::operator::Peer;

/// What is known of that process.
pub(crate) fn of(pid: Option<u32>) -> Peer {
    let Some(pid) = pid else { return Peer::default() };
    let program = std::fs::read_link(format!("/proc/{pid}/exe")).ok();
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok();
    Peer {
        pid: Some(pid),
        program: program.map(|path| path.to_string_lossy().into_owned()),
        terminal: stat.and_then(|stat| terminal(&stat)),
    }
}

/// The controlling terminal in a line of `/proc/PID/stat`. The program's name before it may hold anything but its
/// closing bracket is the last one of the line.
fn terminal(stat: &str) -> Option<String> {
    let (_, fields) = stat.rsplit_once(") ")?;
    let device: u32 = fields.split(' ').nth(4)?.parse::<i32>().ok()?.cast_unsigned();
    let (major, minor) = ((device >> 8) & 0xfff, (device & 0xff) | ((device >> 12) & 0xf_ff00));
    match major {
        0 => None,
        4 if minor < 64 => Some(format!("tty{minor}")),
        4 => Some(format!("ttyS{}", minor - 64)),
        136..=143 => Some(format!("pts/{}", (major - 136) * 256 + minor)),
        _ => Some(format!("terminal {major}:{minor}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminals_are_named_as_people_know_them() {
        let stat = |tty: i32| format!("12 (evil) name)) S 1 12 12 {tty} 12 4194560 100");
        for (tty, name) in [
            (0, None),
            (34816, Some("pts/0")),
            (34819, Some("pts/3")),
            (1025, Some("tty1")),
            (1088, Some("ttyS0")),
        ] {
            assert_eq!(terminal(&stat(tty)).as_deref(), name);
        }
        assert_eq!(terminal(""), None);
        assert_eq!(terminal("1 (x) S"), None);
    }

    #[test]
    fn this_process_is_known_and_a_missing_one_is_not() {
        let own = of(Some(std::process::id()));
        assert!(own.program.is_some_and(|program| program.contains("covenant_daemon")));
        assert_eq!(of(Some(u32::MAX)).program, None);
        assert_eq!(of(None), Peer::default());
    }
}
