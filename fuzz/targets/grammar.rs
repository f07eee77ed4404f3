//! libFuzzer's way into `checks::grammar`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| checks::grammar::check(input));
