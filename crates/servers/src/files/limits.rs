//! How much one request may cost.

/// Bounds on what one request reads, writes and returns.
///
/// Every bound that is met is told in the result, or in the error, by the name of its field.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Limits {
    /// The most text that `read_file` returns at once, in bytes. Default: 1 MiB.
    pub read_bytes: usize,
    /// How far into a file `read_file` looks for the line it was asked for, in bytes. Default:
    /// 256 MiB.
    pub scan_bytes: u64,
    /// The largest file that is returned whole as a resource, in bytes. Default: 8 MiB.
    pub resource_bytes: u64,
    /// The largest file that `write_file` makes, in bytes. Default: 8 MiB.
    pub write_bytes: usize,
    /// How many entries of a folder `list_files` returns at once. Default: 1000.
    pub list_entries: usize,
    /// How many entries of folders are looked at for one request. Default: 200 000.
    pub visited_entries: usize,
    /// How many folders deep a search goes. Default: 64.
    pub depth: usize,
    /// How much `search_files` reads in all, in bytes. Default: 256 MiB.
    pub search_bytes: u64,
    /// How many files `search_files` returns. Default: 200.
    pub search_files: usize,
    /// How many lines `search_files` returns in all. Default: 200.
    pub search_lines: usize,
    /// How many lines of one file `search_files` returns. Default: 10.
    pub search_lines_per_file: usize,
    /// How many resources are listed on one page. Default: 200.
    pub resource_page: usize,
    /// How many resources are listed on all pages. Default: 2000.
    pub resources: usize,
}

impl Default for Limits {
    fn default() -> Self {
        const MIB: u64 = 1024 * 1024;
        Self {
            read_bytes: 1024 * 1024,
            scan_bytes: 256 * MIB,
            resource_bytes: 8 * MIB,
            write_bytes: 8 * 1024 * 1024,
            list_entries: 1000,
            visited_entries: 200_000,
            depth: 64,
            search_bytes: 256 * MIB,
            search_files: 200,
            search_lines: 200,
            search_lines_per_file: 10,
            resource_page: 200,
            resources: 2000,
        }
    }
}
