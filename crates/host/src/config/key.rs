//! Bytes and paths as text, for keys of stores.

use std::path::Path;

/// The key under which a place is kept: its path; if that is no text, its
/// bytes. A path begins with a root, so the two never meet.
pub(crate) fn path_key(path: &Path) -> String {
    match path.to_str() {
        Some(text) => text.to_owned(),
        None => format!("bytes:{}", hex(path.as_os_str().as_encoded_bytes())),
    }
}

/// Two lower-case hexadecimal digits a byte.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn paths_that_are_no_text_stay_apart() {
        use std::os::unix::ffi::OsStrExt;
        let path = |bytes| path_key(Path::new(std::ffi::OsStr::from_bytes(bytes)));
        assert_eq!(path(b"/a"), "/a");
        assert_eq!(path(b"/a\xff"), "bytes:2f61ff");
        assert_ne!(path(b"/a\xff"), path(b"/a\xfe"));
    }
}
