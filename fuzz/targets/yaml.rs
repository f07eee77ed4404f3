//! libFuzzer's way into `checks::yaml`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| checks::yaml::check(input));
