//! libFuzzer's way into `checks::settings`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| checks::settings::check(input));
