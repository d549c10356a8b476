//! `load-http [--option value…] NAME=COMMAND…`: load on servers over Streamable HTTP.

fn main() -> std::process::ExitCode {
    load::run(load::http::generate)
}
