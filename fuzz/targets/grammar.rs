//! libFuzzer's way into `support::checks::grammar`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| support::checks::grammar::check(input));
