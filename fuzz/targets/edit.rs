//! libFuzzer's way into `support::checks::edit`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| support::checks::edit::check(input));
