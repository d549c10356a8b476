//! The servers built into Carrick: [`files`](files()) and [`time`](time()).
//!
//! Each is a core that knows nothing of the protocol, [`files::Files`] and [`time::Time`], and a
//! thin layer that offers it through the SDK.

pub mod files;
mod render;
mod text;
pub mod time;

#[cfg(test)]
mod tests;

pub use files::{FilesError, FilesOptions};

use carrick::Server;
use std::sync::Arc;

/// The server `time`, with the clock and the zone of this machine.
///
/// For another clock or zone see [`time::server`].
pub fn time() -> Server {
    time::server(time::Time::new(time::SystemClock).with_system_home())
}

/// The server `files` for the folders in `options`.
///
/// A folder that cannot be used is left out with a warning in the log; to tell it to a person, see
/// [`files::Files::missing`] and [`files::server`].
///
/// # Errors
///
/// [`FilesError::NoRoots`] if none of the folders can be used.
pub fn files(options: FilesOptions) -> Result<Server, FilesError> {
    let files = files::Files::open(options);
    for missing in files.missing() {
        tracing::warn!("{missing}");
    }
    if files.roots().next().is_none() {
        return Err(FilesError::NoRoots);
    }
    Ok(files::server(Arc::new(files)))
}
