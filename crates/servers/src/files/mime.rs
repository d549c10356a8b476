//! What a file probably holds, by its name and first bytes.

use std::path::Path;

/// How many bytes at the start of a file are looked at.
pub(super) const SNIFFED: usize = 8 * 1024;

/// Whether a file that starts with `head` is taken for binary: it has a NUL byte there.
pub(super) fn is_binary(head: &[u8]) -> bool {
    head[..head.len().min(SNIFFED)].contains(&0)
}

/// The MIME type of a file called `path`, by its extension; else by whether it is text.
pub(super) fn guess(path: &Path, text: bool) -> &'static str {
    by_name(path).unwrap_or(if text { "text/plain" } else { "application/octet-stream" })
}

/// The MIME type of a file called `path`, if its extension is known.
pub(super) fn by_name(path: &Path) -> Option<&'static str> {
    let wanted = path.extension()?.to_string_lossy().to_lowercase();
    TYPES.iter().find(|(endings, _)| endings.split(' ').any(|e| e == wanted)).map(|t| t.1)
}

/// Extensions, separated by spaces, and what they stand for.
const TYPES: &[(&str, &str)] = &[
    ("7z", "application/x-7z-compressed"),
    ("aac", "audio/aac"),
    ("avif", "image/avif"),
    ("bmp", "image/bmp"),
    ("bz2", "application/x-bzip2"),
    ("c h", "text/x-c"),
    ("cc cpp cxx hh hpp hxx", "text/x-c++"),
    ("css", "text/css"),
    ("csv", "text/csv"),
    ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ("epub", "application/epub+zip"),
    ("flac", "audio/flac"),
    ("gif", "image/gif"),
    ("go", "text/x-go"),
    ("gz tgz", "application/gzip"),
    ("heic", "image/heic"),
    ("htm html", "text/html"),
    ("ico", "image/vnd.microsoft.icon"),
    ("ics", "text/calendar"),
    ("java", "text/x-java"),
    ("jpeg jpg", "image/jpeg"),
    ("js mjs cjs", "text/javascript"),
    ("json ipynb", "application/json"),
    ("jsonl ndjson", "application/jsonl"),
    ("m4a", "audio/mp4"),
    ("markdown md", "text/markdown"),
    ("mkv", "video/matroska"),
    ("mov", "video/quicktime"),
    ("mp3", "audio/mpeg"),
    ("mp4", "video/mp4"),
    ("odt", "application/vnd.oasis.opendocument.text"),
    ("oga ogg opus", "audio/ogg"),
    ("otf", "font/otf"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    ("py pyi", "text/x-python"),
    ("rb", "text/x-ruby"),
    ("rs", "text/x-rust"),
    ("rtf", "application/rtf"),
    ("sh bash", "application/x-sh"),
    ("sql", "application/sql"),
    ("sqlite sqlite3", "application/vnd.sqlite3"),
    ("svg", "image/svg+xml"),
    ("tar", "application/x-tar"),
    ("tif tiff", "image/tiff"),
    ("toml", "application/toml"),
    ("tsv", "text/tab-separated-values"),
    ("ttf", "font/ttf"),
    ("txt log text", "text/plain"),
    ("wasm", "application/wasm"),
    ("wav", "audio/wav"),
    ("webm", "video/webm"),
    ("webp", "image/webp"),
    ("woff", "font/woff"),
    ("woff2", "font/woff2"),
    ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    ("xml", "application/xml"),
    ("yaml yml", "application/yaml"),
    ("zip", "application/zip"),
    ("zst", "application/zstd"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_come_from_names_and_else_from_contents() {
        assert_eq!(guess(Path::new("a/Photo.JPG"), false), "image/jpeg");
        assert_eq!(guess(Path::new("notes.md"), true), "text/markdown");
        assert_eq!(guess(Path::new("Makefile"), true), "text/plain");
        assert_eq!(guess(Path::new("core"), false), "application/octet-stream");
        assert_eq!(guess(Path::new(".gz"), true), "text/plain");
    }

    #[test]
    fn a_nul_byte_makes_a_file_binary_only_near_its_start() {
        assert!(is_binary(b"ELF\0"));
        assert!(!is_binary("überall 字".as_bytes()));
        let mut late = vec![b'a'; SNIFFED];
        late.push(0);
        assert!(!is_binary(&late));
    }
}
