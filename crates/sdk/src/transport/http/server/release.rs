//! Giving memory back to the system.

/// So many sessions that end at a time leave enough behind.
pub(super) const WORTH: usize = 256;

/// Hands free memory back, which the C library's allocator would keep for itself
/// for good: what ten thousand sessions had is worth having back. Takes
/// milliseconds, so it is for a thread that may block.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "a function of the C library")]
pub(super) fn release() {
    // SAFETY: it may be called at any time, by any thread, whichever allocator the
    // program uses; of another one it frees nothing.
    unsafe { nix::libc::malloc_trim(0) };
}

/// Other allocators do this by themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(super) fn release() {}
