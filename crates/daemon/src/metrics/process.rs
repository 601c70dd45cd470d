//! What the system knows of our own process. Where it does not say, nothing is claimed.

use std::fs;

/// The memory in use.
pub(super) fn resident_bytes() -> Option<u64> {
    resident(&fs::read_to_string("/proc/self/status").ok()?)
}

fn resident(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim_end().parse::<u64>().ok()?.checked_mul(1024)
}

/// How many files are open.
pub(crate) fn open_files() -> Option<usize> {
    // The directory that is read is one of them.
    fs::read_dir("/proc/self/fd").ok().map(|files| files.count().saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_in_bytes() {
        assert_eq!(resident("VmPeak:\t  9 kB\nVmRSS:\t   18720 kB\nThreads:\t1\n"), Some(19_169_280));
        for odd in ["", "VmRSS:", "VmRSS: x kB", "VmRSS: 12 MB"] {
            assert_eq!(resident(odd), None, "{odd}");
        }
    }

    #[test]
    fn this_process_has_memory_and_files() {
        assert!(resident_bytes().unwrap() > 100_000);
        let before = open_files().unwrap();
        let more: Vec<fs::File> = (0..50).map(|_| fs::File::open("/proc/self/status").unwrap()).collect();
        assert!(open_files().unwrap() >= before.max(50), "{}", more.len());
    }
}
