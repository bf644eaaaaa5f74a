//! How much memory a run may take.

use crate::Error;
use skyhop_base::Bytes;
use std::fs::read_to_string;

/// The environment variable that sets the limit: "4 GB", or "none".
pub const MEMORY_VARIABLE: &str = "SKYHOP_MEMORY";

/// Where the system does not say how much it has.
const UNKNOWN_BYTES: u64 = 8_000_000_000;

/// Memory in bytes that a run may take unless its options say otherwise: what the environment variable `SKYHOP_MEMORY`
/// says, else half of what the machine, its control group or the process may have, whichever is least.
///
/// # Errors
/// [`Error::MemoryVariable`] if the variable holds neither a size nor "none".
pub fn memory_limit() -> Result<u64, Error> {
    match std::env::var(MEMORY_VARIABLE) {
        Err(_) => Ok(default_limit()),
        Ok(text) => limit_of(&text).ok_or(Error::MemoryVariable { text }),
    }
}

/// "none" is more than there is.
fn limit_of(text: &str) -> Option<u64> {
    match text.trim() {
        "none" => Some(u64::MAX),
        size => size.parse().ok().map(|Bytes(bytes)| bytes).filter(|&bytes| bytes > 0),
    }
}

fn default_limit() -> u64 {
    let read = |path: &str| read_to_string(path).unwrap_or_default();
    let group = |path: &str| read(path).trim().parse::<u64>().ok();
    let told = [
        in_meminfo(&read("/proc/meminfo")),
        group("/sys/fs/cgroup/memory.max"),
        group("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
        in_limits(&read("/proc/self/limits")),
    ];
    told.into_iter().flatten().min().unwrap_or(UNKNOWN_BYTES) / 2
}

/// `MemTotal:  16303932 kB`, whose kB are 1024 B.
fn in_meminfo(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// `Max address space  unlimited  unlimited  bytes`: the first value holds.
fn in_limits(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// A size as messages write it.
pub(crate) fn size(bytes: u64) -> String {
    match bytes as f64 {
        bytes if bytes >= 1e9 => format!("{:.1} GB", bytes / 1e9),
        bytes => format!("{:.0} MB", (bytes / 1e6).max(1.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_sizes_or_none() {
        assert_eq!(limit_of("4 GB"), Some(4_000_000_000));
        assert_eq!(limit_of(" none "), Some(u64::MAX));
        assert_eq!([limit_of("4"), limit_of("0 B"), limit_of("much"), limit_of("")], [None; 4]);
    }

    #[test]
    fn the_system_s_own_files_are_understood() {
        assert_eq!(in_meminfo("MemTotal:       16303932 kB\nMemFree: 1 kB\n"), Some(16_303_932 * 1024));
        let limits =
            |soft: &str| format!("Limit  Soft  Hard  Units\nMax address space         {soft}  unlimited  bytes\n");
        assert_eq!(in_limits(&limits("4000000000")), Some(4_000_000_000));
        assert_eq!(in_limits(&limits("unlimited")), None);
        assert!(default_limit() > 1_000_000);
    }
}
