//! libFuzzer's way into `checks::inventory`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| checks::inventory::check(input));
