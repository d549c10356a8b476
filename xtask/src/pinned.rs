//! Packages that are installed once for each state of the files that pin them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Result;

/// Runs `install`, unless it ended well with the very same `pins` before; `folder` keeps
/// note of that.
pub(crate) fn once(
    pins: &[PathBuf],
    folder: &Path,
    install: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let wanted = pins.iter().map(|path| read(path)).collect::<Result<String>>()?;
    let note = folder.join("installed");
    if fs::read_to_string(&note).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    // What fails halfway must not pass for what was there before.
    let _ = fs::remove_file(&note);
    install()?;
    fs::write(&note, wanted).map_err(|error| format!("cannot write {}: {error}", note.display()))
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn the_same_pins_are_installed_once() {
        let folder = tempfile::tempdir().unwrap();
        let pins = [folder.path().join("a"), folder.path().join("b")];
        pins.iter().for_each(|pin| fs::write(pin, "1").unwrap());
        let count = Cell::new(0);
        let install = |outcome: Result<()>| {
            once(&pins, folder.path(), || {
                count.set(count.get() + 1);
                outcome
            })
        };
        install(Ok(())).unwrap();
        install(Ok(())).unwrap();
        assert_eq!(count.get(), 1);
        fs::write(&pins[1], "2").unwrap();
        install(Err("offline".to_owned())).unwrap_err();
        fs::write(&pins[1], "1").unwrap();
        install(Ok(())).unwrap();
        assert_eq!(count.get(), 3, "a failure leaves nothing that can be relied on");
    }

    #[test]
    fn missing_pins_are_an_error() {
        let folder = tempfile::tempdir().unwrap();
        assert!(once(&[folder.path().join("none")], folder.path(), || Ok(())).is_err());
    }
}
