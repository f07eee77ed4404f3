//! `reclass-salt` turns into `reclass` under its own name: see `start`.

#[path = "start.rs"]
mod start;

fn main() -> std::process::ExitCode {
    start::as_program("reclass-salt")
}
