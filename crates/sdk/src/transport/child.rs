//! A server as a supervised child process.
