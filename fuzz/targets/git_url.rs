//! libFuzzer's way into `support::checks::git_url`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| support::checks::git_url::check(input));
