//! libFuzzer's way into `support::checks::inventory`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| support::checks::inventory::check(input));
