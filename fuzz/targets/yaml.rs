//! libFuzzer's way into `support::checks::yaml`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| support::checks::yaml::check(input));
