//! The memory of processes.

use std::error::Error;

/// Resident memory of a process, in KiB (Linux).
pub(super) fn resident_kib(process: u32) -> Result<u64, Box<dyn Error + Send + Sync>> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.trim().strip_suffix(" kB"));
    Ok(number.ok_or("no VmRSS")?.trim().parse()?)
}
