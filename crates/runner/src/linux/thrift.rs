//! Which parts of the address space hold nothing but what a file holds, so that they can be let go at any time.

use std::ops::Range;

/// The mappings of files that nobody can write and no page of which was ever changed, by what the system says of them in
/// `/proc/self/smaps`: code and constants of the program and its libraries. What the loader has adjusted is not among them.
pub(super) fn unchanged(smaps: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut open = None;
    for line in smaps.lines() {
        if let Some(fields) = line.strip_prefix("Anonymous:") {
            // Pages of its own are pages that are not the file's.
            found.extend(open.take().filter(|_| fields.trim() == "0 kB"));
        } else if let Some(mapping) = mapping(line) {
            open = mapping;
        }
    }
    found
}

/// The range of a mapping that is of a file and cannot be written, or none; nothing at all where the line begins no
/// mapping.
#[expect(clippy::option_option, reason = "a line that begins a mapping of another kind ends the one before")]
fn mapping(line: &str) -> Option<Option<Range<usize>>> {
    let mut words = line.split_ascii_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let (start, end) = (usize::from_str_radix(start, 16).ok()?, usize::from_str_radix(end, 16).ok()?);
    let kind = words.next()?;
    let of_file = words.nth(3).is_some_and(|file| file.starts_with('/'));
    Some((of_file && start < end && matches!(kind, "r-xp" | "r--p")).then_some(start..end))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMAPS: &str = "\
1000-4000 r--p 00000000 fe:00 42  /opt/covenant
Rss:                   8 kB
Anonymous:             0 kB
4000-9000 r-xp 003ff000 fe:00 42  /opt/covenant
Anonymous:             0 kB
9000-a000 r--p 00fff000 fe:00 42  /opt/covenant
Anonymous:             4 kB
a000-b000 rw-p 00fff000 fe:00 42  /opt/covenant
Anonymous:             0 kB
c000-d000 r-xp 00000000 00:00 0
Anonymous:             0 kB
e000-f000 r--s 00000000 fe:00 7   /opt/shared
Anonymous:             0 kB
10000-11000 r-xp 00000000 00:00 0 [vdso]
Anonymous:             0 kB
";

    #[test]
    fn only_what_is_as_its_file_has_it_is_found() {
        assert_eq!(unchanged(SMAPS), [0x1000..0x4000, 0x4000..0x9000]);
        assert_eq!(unchanged(""), []);
        assert_eq!(unchanged("garbage\n1-2\nz-y r-xp 0 0 0 /x\n5-1 r-xp 0 0 0 /x\nAnonymous: 0 kB\n"), []);
        assert_eq!(unchanged("1-2 r-xp 0 0 0 /x\n"), [], "nothing is known of it");
    }

    #[test]
    fn a_program_goes_on_after_it_has_let_go_of_its_code() {
        let resident = || {
            let status = std::fs::read_to_string("/proc/self/status").unwrap();
            let line = status.lines().find_map(|line| line.strip_prefix("RssFile:")).unwrap();
            line.trim_end_matches("kB").trim().parse::<u64>().unwrap()
        };
        let before = resident();
        super::super::give_back();
        let after = resident();
        assert!(after < before, "{after} of {before} kB of files are resident");
        assert_eq!(format!("{:?}", (1..4).map(|n| n * n).collect::<Vec<_>>()), "[1, 4, 9]");
    }
}
