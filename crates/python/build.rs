//! Asks the compiler for its version, which `saltext.reclass.reclass_rs.buildinfo` answers with.
#![allow(clippy::disallowed_methods, clippy::expect_used, reason = "Cargo speaks through the environment")]

use std::process::Command;

fn main() {
    let compiler = std::env::var_os("RUSTC").expect("Cargo names the compiler");
    let version = Command::new(compiler).arg("--version").output().expect("the compiler runs");
    println!("cargo::rustc-env=RUSTC_VERSION={}", String::from_utf8_lossy(&version.stdout).trim());
    println!("cargo::rerun-if-changed=build.rs");
}
