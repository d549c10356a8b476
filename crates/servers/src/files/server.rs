//! The tools and resources of the server `files`.

mod resources;

use super::{FileText, Files, FilesError, Listing, Search, SearchResult, Written};
use crate::render::Rendered;
use carrick::{Args, Server, State, ToolError, tool, tools};
use resources::FileResources;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// Lists the files and folders in a folder, with sizes and times.
///
/// Answers "What files are here?" and "What is in the folder src?". Shows one folder, not what is
/// in the folders below it; to find files by name anywhere, use search_files.
#[tool(read_only, title = "List a folder")]
async fn list_files(
    files: State<Arc<Files>>,
    /// The folder to list, relative to the default folder or absolute. Left out: the default
    /// folder
    path: Option<String>,
    /// To go on with a long listing: the `next` of the answer before
    after: Option<String>,
) -> Result<Rendered<Listing>, ToolError> {
    blocking(&files, move |files, _| files.list(path.as_deref(), after.as_deref())).await
}

/// Reads the text of a file.
///
/// Answers "What does README.md say?" and "Show me src/main.rs". Long files come in parts: go on
/// with the `next_offset` of the answer. To find out which file has something, use search_files.
#[tool(read_only, title = "Read a file")]
async fn read_file(
    files: State<Arc<Files>>,
    /// The file to read, relative to the default folder or absolute
    path: String,
    /// The line to begin at, counted from 1. Left out: the first
    offset: Option<u64>,
    /// How many lines to read. Left out: as many as fit in one answer
    limit: Option<u64>,
) -> Result<Rendered<FileText>, ToolError> {
    blocking(&files, move |files, _| files.read(&path, offset, limit)).await
}

/// Finds files that contain or mention a text, or whose names have it, in a folder and all
/// folders below it.
///
/// Use it to find which files mention something, where a word is used, or, with an empty query and
/// a glob such as *.rs, all files of a kind. Shows the lines with their numbers. Folders named .git,
/// node_modules and target are skipped.
#[tool(read_only, title = "Search files")]
async fn search_files(
    files: State<Arc<Files>>,
    search: Args<Search>,
) -> Result<Rendered<SearchResult>, ToolError> {
    blocking(&files, move |files, cancelled| files.search(&search.0, cancelled)).await
}

/// Writes a text to a file: creates the file, with the folders it needs, or replaces all of it.
///
/// The old text of the file is lost. To change a part, read the file first and write all of it.
#[tool(destructive, idempotent, title = "Write a file")]
async fn write_file(
    files: State<Arc<Files>>,
    /// The file to write, relative to the default folder or absolute
    path: String,
    /// The whole new text of the file
    content: String,
) -> Result<Rendered<Written>, ToolError> {
    blocking(&files, move |files, _| files.write(&path, &content)).await
}

/// The server `files` on this core. It offers writing unless the core is for reading only.
pub fn server(files: Arc<Files>) -> Server {
    let mut builder = Server::builder("files", env!("CARGO_PKG_VERSION"))
        .instructions(instructions(&files))
        .state(files.clone())
        .tools(tools![list_files, read_file, search_files]);
    if !files.is_read_only() {
        builder = builder.tools(tools![write_file]);
    }
    builder.resources(FileResources(files)).build()
}

fn instructions(files: &Files) -> String {
    let mut folders = files.roots.shown().into_iter();
    let mut text = match folders.next() {
        Some(default) => {
            format!("Works on files in the folder {default}, to which relative paths are relative")
        }
        None => "No folder can be used".to_owned(),
    };
    for (i, folder) in folders.enumerate() {
        text.push_str(if i == 0 { ", and, by absolute paths, in " } else { ", " });
        text.push_str(&folder);
    }
    text.push_str(if files.is_read_only() { ". Files can only be read." } else { "." });
    let most = files.limits.resources;
    text.push_str(&format!(
        " Every file is a resource too, by its file URI; the first {most} are listed."
    ));
    text
}

/// Does `work` on a thread where it may block. When nobody waits for it any more it is told to
/// stop.
async fn blocking<T: Send + 'static>(
    files: &State<Arc<Files>>,
    work: impl FnOnce(&Files, &AtomicBool) -> Result<T, FilesError> + Send + 'static,
) -> Result<Rendered<T>, ToolError> {
    let (files, stop) = (Arc::clone(&files.0), StopOnDrop::default());
    let cancelled = Arc::clone(&stop.0);
    let done = tokio::task::spawn_blocking(move || work(&files, &cancelled)).await;
    Ok(Rendered(done??))
}

/// Sets a flag when it is dropped.
#[derive(Default)]
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
