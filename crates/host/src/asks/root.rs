//! Folders as roots.

use carrick::types::Root;
use std::fmt::Write;
use std::path::Path;

/// A folder as a root: its `file://` address, and its last step as the name for
/// people. None for a path that is not absolute or no UTF-8.
pub fn folder(path: &Path) -> Option<Root> {
    let text = path.to_str()?;
    if !path.is_absolute() {
        return None;
    }
    let mut uri = String::from("file://");
    // Where paths begin with a drive, the address has a root before it.
    if !text.starts_with('/') {
        uri.push('/');
    }
    for byte in text.bytes() {
        match byte {
            b'\\' if cfg!(windows) => uri.push('/'),
            b'/' | b':' | b'-' | b'.' | b'_' | b'~' | b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => {
                uri.push(char::from(byte));
            }
            _ => {
                // Writing to a string cannot fail.
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    let mut root = Root::new(uri);
    root.name = path.file_name().and_then(|name| name.to_str()).map(Into::into);
    Some(root)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_an_address_and_a_name() {
        let root = folder(Path::new("/home/ö/my project/a#b")).unwrap();
        assert_eq!(root.uri, "file:///home/%C3%B6/my%20project/a%23b");
        assert_eq!(root.name.as_deref(), Some("a#b"));
        assert_eq!(folder(Path::new("/")).unwrap().name, None);
        assert!(folder(Path::new("here")).is_none());
    }
}
