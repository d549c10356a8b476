//! What the beginnings and names of Windows paths really mean.

use super::PathFault;

/// Names that are devices in every folder, whatever extension follows.
const DEVICES: &[&str] = &["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$", "CLOCK$"];

/// Splits off where a path starts: `Some(Some(drive))` for an absolute one, `None` for a relative
/// one. A bare drive is the top of that drive.
pub(super) fn volume(text: &str) -> Result<(Option<Option<char>>, &str), PathFault> {
    let is_separator = |byte: Option<&u8>| matches!(byte, Some(b'/' | b'\\'));
    let bytes = text.as_bytes();
    if is_separator(bytes.first()) {
        // `\\?\` and `\\.\` reach devices and switch all checks off; `\??\` is the kernel's form.
        let third = bytes.get(2);
        let device = match bytes.get(1) {
            Some(b'?') => true,
            second => is_separator(second) && matches!(third, Some(b'?' | b'.')),
        };
        return Err(match device {
            true => PathFault::Device,
            false if is_separator(bytes.get(1)) => PathFault::OtherMachine,
            false => PathFault::DriveRelative,
        });
    }
    let Some((letter, rest)) = drive(text) else { return Ok((None, text)) };
    if rest.is_empty() || is_separator(rest.as_bytes().first()) {
        return Ok((Some(Some(letter)), rest));
    }
    Err(PathFault::DriveRelative)
}

/// Splits off a drive, `C:`, and gives its letter in upper case.
pub(super) fn drive(text: &str) -> Option<(char, &str)> {
    match text.as_bytes() {
        [letter, b':', ..] if letter.is_ascii_alphabetic() => {
            Some((char::from(letter.to_ascii_uppercase()), &text[2..]))
        }
        _ => None,
    }
}

/// Refuses names that do not mean a file of just that name.
pub(super) fn check_name(name: &str) -> Result<(), PathFault> {
    if name.contains(':') {
        return Err(PathFault::Stream);
    }
    if name.chars().any(|c| c.is_ascii_control() || r#"<>"|?*\/"#.contains(c)) {
        return Err(PathFault::Character);
    }
    if name.ends_with(['.', ' ']) {
        return Err(PathFault::TrailingDot);
    }
    // `NUL.txt` and `NUL .txt` are the device too.
    let stem = name.split('.').next().unwrap_or(name).trim_end_matches(' ');
    let stem = stem.to_uppercase();
    if DEVICES.contains(&stem.as_str()) || is_port(&stem) {
        return Err(PathFault::Device);
    }
    Ok(())
}

/// `COM0` to `COM9` and `LPT0` to `LPT9`; superscript digits count as digits.
fn is_port(stem: &str) -> bool {
    let number = stem.strip_prefix("COM").or_else(|| stem.strip_prefix("LPT"));
    let mut digits = number.unwrap_or_default().chars();
    matches!((digits.next(), digits.next()), (Some('0'..='9' | '¹' | '²' | '³'), None))
}
