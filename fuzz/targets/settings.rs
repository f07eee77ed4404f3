//! libFuzzer's way into `support::checks::settings`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| support::checks::settings::check(input));
