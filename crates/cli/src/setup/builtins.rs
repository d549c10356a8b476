//! The built-in servers, by name.

use carrick::Server;
use carrick_servers::FilesOptions;
use std::ffi::OsString;
use std::path::PathBuf;

/// The server of this name; for `files` the arguments are its folders.
pub(crate) fn builtin(name: &str, arguments: &[OsString]) -> Result<Server, String> {
    match name {
        "time" => Ok(carrick_servers::time()),
        "files" => {
            let folders = arguments.iter().map(PathBuf::from);
            carrick_servers::files(FilesOptions::new(folders)).map_err(|error| error.to_string())
        }
        _ => Err(format!("there is no built-in server {name:?}; there are: files, time")),
    }
}
