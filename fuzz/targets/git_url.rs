//! libFuzzer's way into `checks::git_url`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| checks::git_url::check(input));
