//! Links the programs at a fixed address where the C library is glibc. A program that can be anywhere has 100 pages
//! of addresses that the loader must write before it begins, a third of the page faults of `reclass --version`.
#![expect(clippy::disallowed_methods, reason = "Cargo tells a build script its target by the environment")]

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|libc| libc == "gnu") {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
