//! Whether a project's config may run anything.

use crate::args::Arguments;
use crate::environment;
use crate::exit::{Code, Failure};
use crate::frontend::question;
use crate::print;
use carrick_host::config::{ConfigFile, ContentHash, taken_places};
use carrick_host::permission::visible;
use carrick_host::trust::{Review, TrustStatus, TrustStore};

/// The approvals of this user.
pub(crate) fn store() -> Result<TrustStore, Failure> {
    let Some(folder) = environment::state_folder() else {
        return Err(Failure::failed("no home folder: there is no place to keep approvals")
            .hint("set HOME or XDG_STATE_HOME"));
    };
    TrustStore::open(folder.join("trust.json")).map_err(Failure::failed)
}

/// Sees to it that every project file is approved, by the flag or by asking.
/// Gives the approvals, unless no file needs any.
pub(crate) async fn trust(
    arguments: &Arguments,
    files: &[ConfigFile],
) -> Result<Option<TrustStore>, Failure> {
    if !files.iter().any(ConfigFile::needs_approval) {
        return Ok(None);
    }
    let mut store = store()?;
    for file in files.iter().filter(|file| file.needs_approval()) {
        let status = store.status(file);
        if status == TrustStatus::Trusted {
            // It counts all the same; only when it is forgotten depends on it.
            if let Err(error) = store.used(file) {
                tracing::warn!(%error, "the use of an approval is not taken down");
            }
            continue;
        }
        if by_flag(arguments, file)? {
            store.approve(file).map_err(Failure::failed)?;
            continue;
        }
        let text = review(file, files, &status);
        match question::confirmed(text.clone(), "Approve exactly this?").await {
            Some(true) => store.approve(file).map_err(Failure::failed)?,
            Some(false) => return Err(refused(file)),
            None => {
                print::say(&text);
                return Err(refused(file));
            }
        }
    }
    Ok(Some(store))
}

/// The same without asking: what is not approved already is an error.
pub(crate) fn trusted(files: &[ConfigFile]) -> Result<Option<TrustStore>, Failure> {
    let mut own = files.iter().filter(|file| file.needs_approval()).peekable();
    if own.peek().is_none() {
        return Ok(None);
    }
    let store = store()?;
    match own.find(|file| !store.is_trusted(file)) {
        Some(file) => Err(refused(file)),
        None => Ok(Some(store)),
    }
}

/// What a person must see before they approve one of these files.
pub(crate) fn review(file: &ConfigFile, files: &[ConfigFile], status: &TrustStatus) -> String {
    let place = visible(&file.path().to_string_lossy());
    let mut text = format!("{place} says:\n{}", Review::of(file));
    for line in taken_places(file, files) {
        text.push_str(&line);
        text.push('\n');
    }
    text.push_str(&format!("\n{}", file.hash()));
    if let TrustStatus::Changed(change) = status {
        text.push_str("\nIt was approved before and has changed since:");
        for line in &change.gone {
            text.push_str(&format!("\n  - {line}"));
        }
        for line in &change.come {
            text.push_str(&format!("\n  + {line}"));
        }
    }
    text
}

fn by_flag(arguments: &Arguments, file: &ConfigFile) -> Result<bool, Failure> {
    match &arguments.trust {
        None => Ok(false),
        Some(None) => Ok(true),
        Some(Some(hash)) => {
            let hash: ContentHash =
                hash.parse().map_err(|error| Failure::usage(format!("--trust={hash}: {error}")))?;
            Ok(hash == file.hash())
        }
    }
}

fn refused(file: &ConfigFile) -> Failure {
    let place = file.path().display();
    Failure::new(Code::Permission, format!("the project's config {place} has not been approved"))
        .hint("nothing in it has been run")
        .hint("`carrick trust` shows and approves it; --trust approves it for scripts")
}
