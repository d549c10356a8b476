//! Paths as callers write them, taken apart before any file system is asked.
//!
//! Everything here is a pure function over text, for both path styles, so that the rules for
//! Windows are tested everywhere.

mod spelling;
mod windows;

#[cfg(test)]
mod tests;

pub(super) use spelling::Spelling;

use std::ffi::OsString;

/// Longer paths are refused: no operating system takes them.
const LONGEST: usize = 32 * 1024;

/// How paths are written on an operating system.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Style {
    /// `/` separates; every other character may be part of a name.
    Unix,
    /// `/` and `\` separate; a drive may come first; some names are not files.
    Windows,
}

impl Style {
    /// The style of the machine that this runs on.
    pub(super) const NATIVE: Self = if cfg!(windows) { Self::Windows } else { Self::Unix };
}

/// Why a text is never used as a path.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PathFault {
    /// It has a NUL byte.
    #[error("it contains a NUL character")]
    Nul,
    /// It is longer than any operating system takes.
    #[error("it is too long")]
    TooLong,
    /// It climbs above the folder that it starts in.
    #[error("it leads above the folder that it starts in")]
    Above,
    /// It is not text of the encoding that file names have here.
    #[error("it is not valid UTF-8")]
    Encoding,
    /// It is relative to the current folder of a drive, or to the current drive.
    #[error("it depends on the current drive; start with a drive and a separator, as in C:\\")]
    DriveRelative,
    /// It names another machine.
    #[error("it names another machine")]
    OtherMachine,
    /// It names a device.
    #[error("it names a device")]
    Device,
    /// It names a stream inside of a file.
    #[error("it names a stream of a file")]
    Stream,
    /// It has a character that file names cannot have.
    #[error("it has a character that file names cannot have")]
    Character,
    /// A name in it ends in a dot or a space, which Windows drops.
    #[error("a name in it ends in a dot or a space")]
    TrailingDot,
    /// It is not a `file:` URI of this machine.
    #[error("it is not a file URI")]
    NotFileUri,
    /// An escape in a URI hides a separator, or is none.
    #[error("it has an escape that is broken or stands for a separator")]
    Escape,
}

/// Where a caller points, without `.`, `..` and empty parts.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Target {
    /// Below the first folder.
    Relative(Vec<OsString>),
    /// Anywhere.
    Absolute(Spelling),
}

/// Takes apart a path as somebody wrote it.
pub(super) fn parse(text: &str, style: Style) -> Result<Target, PathFault> {
    if text.len() > LONGEST {
        return Err(PathFault::TooLong);
    }
    let (start, rest) = match style {
        Style::Unix => (text.starts_with('/').then_some(None), text),
        Style::Windows => windows::volume(text)?,
    };
    let mut names = Names::new(style, start.is_some());
    let is_separator = |c| c == '/' || (style == Style::Windows && c == '\\');
    for name in rest.split(is_separator) {
        names.push(&super::name::from_text(name))?;
    }
    Ok(match start {
        Some(drive) => Target::Absolute(Spelling { drive, parts: names.parts }),
        None => Target::Relative(names.parts),
    })
}

/// Takes apart a `file:` URI (RFC 8089).
///
/// Escapes are decoded once. What they may not hide: a separator of either kind, or NUL. A `%`
/// that is left after that is an ordinary character of a name.
pub(super) fn parse_uri(uri: &str, style: Style) -> Result<Spelling, PathFault> {
    if uri.len() > 3 * LONGEST {
        return Err(PathFault::TooLong);
    }
    let scheme = uri.get(..5).filter(|start| start.eq_ignore_ascii_case("file:"));
    let rest = scheme.and(uri.get(5..)).ok_or(PathFault::NotFileUri)?;
    let path = match rest.strip_prefix("//") {
        None => rest,
        Some(rest) => {
            let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            if !host.is_empty() && !host.eq_ignore_ascii_case("localhost") {
                return Err(PathFault::OtherMachine);
            }
            path
        }
    };
    // A backslash is no character of a URI; a query or fragment means nothing for files.
    if !path.starts_with('/') || path.contains(['?', '#', '\\']) {
        return Err(PathFault::NotFileUri);
    }
    let mut path = path;
    let mut drive = None;
    if style == Style::Windows {
        let (letter, rest) = windows::drive(&path[1..]).ok_or(PathFault::DriveRelative)?;
        if !rest.is_empty() && !rest.starts_with('/') {
            return Err(PathFault::DriveRelative);
        }
        (drive, path) = (Some(letter), rest);
    }
    let mut names = Names::new(style, true);
    for segment in path.split('/') {
        names.push(&decoded(segment)?)?;
    }
    Ok(Spelling { drive, parts: names.parts })
}

/// One segment of a URI, its escapes decoded.
fn decoded(segment: &str) -> Result<Vec<u8>, PathFault> {
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || rest.next().and_then(|digit| char::from(digit).to_digit(16));
        let (Some(high), Some(low)) = (digit(), digit()) else { return Err(PathFault::Escape) };
        match u8::try_from(high * 16 + low) {
            Ok(b'/' | b'\\') | Err(_) => return Err(PathFault::Escape),
            Ok(byte) => bytes.push(byte),
        }
    }
    Ok(bytes)
}

/// The names of a path, with `.` and `..` worked out as they come.
struct Names {
    style: Style,
    absolute: bool,
    parts: Vec<OsString>,
}

impl Names {
    fn new(style: Style, absolute: bool) -> Self {
        Self { style, absolute, parts: Vec::new() }
    }

    fn push(&mut self, name: &[u8]) -> Result<(), PathFault> {
        match name {
            b"" | b"." => return Ok(()),
            // Above the top is the top, as on every system; it is outside of all folders anyway.
            b".." => {
                return match self.parts.pop() {
                    None if !self.absolute => Err(PathFault::Above),
                    _ => Ok(()),
                };
            }
            _ => {}
        }
        if name.contains(&0) {
            return Err(PathFault::Nul);
        }
        if self.style == Style::Windows {
            windows::check_name(std::str::from_utf8(name).map_err(|_| PathFault::Encoding)?)?;
        }
        self.parts.push(os_string(name)?);
        Ok(())
    }
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "elsewhere not all bytes are a name")]
fn os_string(bytes: &[u8]) -> Result<OsString, PathFault> {
    use std::os::unix::ffi::OsStringExt;
    Ok(OsString::from_vec(bytes.to_owned()))
}

#[cfg(not(unix))]
fn os_string(bytes: &[u8]) -> Result<OsString, PathFault> {
    std::str::from_utf8(bytes).map(OsString::from).map_err(|_| PathFault::Encoding)
}
