//! The files without a name (any more) that a tree of processes holds open or has mapped, a few thousand at a time.
//!
//! They are in no directory, and memory files are in no process's share of memory until they are mapped and touched; so
//! they are looked for with those who have them. One that is on its way through a socket is not seen. A mapped one
//! that nobody holds open does not tell its size: it counts as large as the part that is mapped.

use std::collections::{HashMap, HashSet};
use std::fs::{self, DirEntry, File, ReadDir};
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::os::unix::fs::PermissionsExt as _;

use rustix::fs::{AtFlags, CWD, FileType, StatxFlags, makedev, statx};
use rustix::process::Pid;

use super::{Member, Slice};
use crate::linux::tree::{read, threads};

/// The longest line of a list of mappings: it ends with a path.
const LINE: u64 = 16 * 1024;

/// Where such files can be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Devices {
    /// The device of memory files, as far as the kernel has them.
    pub(super) memory: Option<u64>,
    /// The device of the scratch directory, where it is watched.
    pub(super) scratch: Option<u64>,
}

/// What a round found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Nameless {
    /// Bytes in memory files.
    pub(super) memory: u64,
    /// Bytes in deleted files on the device of the scratch directory.
    pub(super) scratch: u64,
    /// Whether a process does not show what it holds open.
    pub(super) concealed: bool,
}

/// One round over all of them.
#[derive(Debug)]
pub(super) struct Round {
    devices: Devices,
    /// The most memory; beyond it there is no need to go on.
    most: u64,
    waiting: Vec<Source>,
    reading: Option<Reading>,
    known: HashSet<u64>,
    held: HashMap<u64, Held>,
    found: Nameless,
}

/// Where files show.
#[derive(Debug)]
enum Source {
    /// With a process, as one look saw it.
    Process(Member),
    /// In what a thread holds open. Threads of one process need not hold the same.
    Descriptors(Pid, Pid),
}

/// A list that is being read.
#[derive(Debug)]
enum Reading {
    Descriptors(Pid, Pid, ReadDir),
    Mappings(BufReader<File>),
}

/// A memory file.
#[derive(Debug, Clone, Copy)]
struct Held {
    /// Its bytes, if someone holds it open.
    bytes: Option<u64>,
    /// From where to where it is mapped, and how much that is if nothing is mapped twice.
    from: u64,
    to: u64,
    mapped: u64,
}

impl Held {
    const NOTHING: Self = Self { bytes: None, from: u64::MAX, to: 0, mapped: 0 };

    fn size(&self) -> u64 {
        self.bytes.unwrap_or_else(|| self.mapped.min(self.to.saturating_sub(self.from)))
    }
}

impl Round {
    pub(super) fn new(members: &[Member], devices: Devices, most: u64) -> Self {
        let living = members.iter().filter(|member| !member.stat.ended);
        Self {
            devices,
            most,
            waiting: living.copied().map(Source::Process).collect(),
            reading: None,
            known: HashSet::new(),
            held: HashMap::new(),
            found: Nameless::default(),
        }
    }

    /// Goes on for a while; says what there is once everything was seen, or enough.
    pub(super) fn go_on(&mut self, slice: &mut Slice) -> Option<Nameless> {
        loop {
            if !self.step() || self.found.concealed || self.found.memory > self.most {
                return Some(self.found);
            }
            if slice.is_over() {
                return None;
            }
        }
    }

    /// Takes in one entry of a list, or opens the next list; false after the last one.
    fn step(&mut self) -> bool {
        match self.reading.take() {
            Some(Reading::Descriptors(process, thread, mut entries)) => {
                if let Some(Ok(entry)) = entries.next() {
                    self.open_file(process, thread, &entry);
                    self.reading = Some(Reading::Descriptors(process, thread, entries));
                }
            }
            Some(Reading::Mappings(mut list)) => {
                let mut line = Vec::new();
                if list.by_ref().take(LINE).read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
                    self.mapping(&line);
                    self.reading = Some(Reading::Mappings(list));
                }
            }
            None => match self.waiting.pop() {
                None => return false,
                Some(Source::Process(member)) => self.process(member),
                Some(Source::Descriptors(process, thread)) => self.descriptors(process, thread),
            },
        }
        true
    }

    fn process(&mut self, Member { pid, stat }: Member) {
        let threads = if stat.threads > 1 { threads(pid) } else { vec![pid] };
        // A first thread that has ended has no memory any more; the others have.
        let remembers = threads.iter().find(|&&thread| thread != pid || !stat.headless);
        let list = remembers.and_then(|thread| File::open(format!("/proc/{pid}/task/{thread}/maps")).ok());
        self.reading = list.map(|list| Reading::Mappings(BufReader::new(list)));
        self.waiting.extend(threads.into_iter().map(|thread| Source::Descriptors(pid, thread)));
    }

    fn descriptors(&mut self, process: Pid, thread: Pid) {
        match fs::read_dir(directory(process, thread)) {
            Ok(entries) => self.reading = Some(Reading::Descriptors(process, thread, entries)),
            Err(error) if is_denied(&error) => self.conceals(process, thread),
            // It has ended.
            Err(_) => {}
        }
    }

    /// Without asking the file system anew: a server that does not answer must not hold us up.
    fn open_file(&mut self, process: Pid, thread: Pid, entry: &DirEntry) {
        let file = match statx(CWD, entry.path(), AtFlags::STATX_DONT_SYNC, StatxFlags::BASIC_STATS) {
            Ok(file) => file,
            Err(rustix::io::Errno::ACCESS | rustix::io::Errno::PERM) => {
                return self.conceals(process, thread);
            }
            Err(_) => return,
        };
        let regular = FileType::from_raw_mode(file.stx_mode.into()) == FileType::RegularFile;
        if !regular || file.stx_nlink > 0 {
            return;
        }
        let device = Some(makedev(file.stx_dev_major, file.stx_dev_minor));
        let bytes = file.stx_blocks.saturating_mul(512);
        if device == self.devices.memory {
            self.hold(file.stx_ino, |held| held.bytes = Some(bytes));
        } else if device == self.devices.scratch && is_written(entry) && self.known.insert(file.stx_ino) {
            self.found.scratch = self.found.scratch.saturating_add(bytes);
        }
    }

    /// A line such as `7f09c2000000-7f09c2021000 rw-s 00000000 00:01 1027  /memfd:a (deleted)`.
    fn mapping(&mut self, line: &[u8]) {
        if let Some((inode, from, to)) = parse(line, self.devices.memory) {
            self.hold(inode, |held| {
                held.from = held.from.min(from);
                held.to = held.to.max(to);
                held.mapped = held.mapped.saturating_add(to.saturating_sub(from));
            });
        }
    }

    fn hold(&mut self, inode: u64, change: impl FnOnce(&mut Held)) {
        let held = self.held.entry(inode).or_insert(Held::NOTHING);
        let others = self.found.memory.saturating_sub(held.size());
        change(held);
        self.found.memory = others.saturating_add(held.size());
    }

    /// What does not show its files may hold anything. But not what is about to end, which has no memory any more.
    fn conceals(&mut self, process: Pid, thread: Pid) {
        if self.devices.scratch.is_none() {
            return;
        }
        let status = read(&format!("/proc/{process}/task/{thread}/status"), LINE).unwrap_or_default();
        let remembers = status.windows(8).any(|part| part == b"\nRssAnon");
        self.found.concealed |= remembers && is_closed(process, thread);
    }
}

/// The memory file of a line, and which part of it is mapped.
fn parse(line: &[u8], device: Option<u64>) -> Option<(u64, u64, u64)> {
    let line = String::from_utf8_lossy(line);
    let mut fields = line.split_ascii_whitespace();
    let hexadecimal = |number: &str| u64::from_str_radix(number, 16).ok();
    let (begin, end) = fields.next()?.split_once('-')?;
    let offset = hexadecimal(fields.nth(1)?)?;
    let (major, minor) = fields.next()?.split_once(':')?;
    let number = |text| u32::from_str_radix(text, 16).ok();
    let inode = fields.next()?.parse().ok().filter(|&inode| inode != 0)?;
    let length = hexadecimal(end)?.checked_sub(hexadecimal(begin)?)?;
    let ours = Some(makedev(number(major)?, number(minor)?)) == device;
    ours.then_some((inode, offset, offset.saturating_add(length)))
}

/// Where the open files of a thread are listed.
fn directory(process: Pid, thread: Pid) -> String {
    format!("/proc/{process}/task/{thread}/fd")
}

/// Whether the open files of a thread are there and not for us to see.
fn is_closed(process: Pid, thread: Pid) -> bool {
    match fs::read_dir(directory(process, thread)) {
        Err(error) => is_denied(&error),
        Ok(entries) => {
            let shown = entries.map_while(Result::ok).map(|entry| fs::read_link(entry.path()));
            shown.filter_map(Result::err).any(|error| is_denied(&error))
        }
    }
}

fn is_denied(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
}

/// Whether the file is open for writing: others were deleted by someone else.
fn is_written(descriptor: &DirEntry) -> bool {
    descriptor.metadata().is_ok_and(|link| link.permissions().mode() & 0o200 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_mappings_of_memory_files_are_taken_from_a_list() {
        let shm = Some(makedev(0, 1));
        let line = b"7f09c2000000-7f09c2021000 rw-s 00003000 00:01 1027   /dev/zero (deleted)\n";
        assert_eq!(parse(line, shm), Some((1027, 0x3000, 0x24000)));
        assert_eq!(parse(line, Some(makedev(0, 2))), None);
        let others: [&[u8]; 5] = [
            b"7f09c2000000-7f09c2021000 rw-p 00000000 00:00 0 [heap]",
            b"00400000-00401000 r--p 00000000 00:1b 1027 /memfd:a (deleted)",
            b"00400000-00401000 r--p 00000000 00:01",
            b"",
            b"\xff\xff-\xff - - - -",
        ];
        assert_eq!(others.iter().filter_map(|line| parse(line, shm)).count(), 0);
    }

    #[test]
    fn a_file_counts_as_large_as_it_is_or_else_as_the_part_that_is_mapped() {
        let devices = Devices { memory: Some(makedev(0, 1)), scratch: None };
        let mut round = Round::new(&[], devices, u64::MAX);
        let same = b"10000-30000 rw-s 00000000 00:01 7 /dev/zero (deleted)";
        (0..5).for_each(|_| round.mapping(same));
        assert_eq!(round.found.memory, 0x20000, "however many have it");
        round.mapping(b"10000-20000 rw-s 00090000 00:01 7 /dev/zero (deleted)");
        assert_eq!(round.found.memory, 0xa0000, "the parts may all be different ones");
        round.mapping(b"10000-20000 rw-s 00000000 00:01 8 /dev/zero (deleted)");
        round.hold(7, |held| held.bytes = Some(0x1000));
        round.mapping(same);
        assert_eq!(round.found.memory, 0x11000);
    }
}
