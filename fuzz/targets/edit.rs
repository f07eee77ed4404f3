//! libFuzzer's way into `checks::edit`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| checks::edit::check(input));
