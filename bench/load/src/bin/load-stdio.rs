//! `load-stdio [--option value…] NAME=COMMAND…`: load on servers over stdio.

fn main() -> std::process::ExitCode {
    load::run(load::stdio::generate)
}
