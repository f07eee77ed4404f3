//! No text makes the reader panic, hang or run out of stack; and how fast it is.

use support::folders;
use support::yaml;

use std::time::Instant;

use folders::processor_seconds;
use num_bigint::BigInt;
use reclass_yaml::compose::compose;
use reclass_yaml::parse_value;

fn code(text: &str) -> &'static str {
    let start = processor_seconds();
    let code = match parse_value(text) {
        Ok(_) => "ok",
        Err(error) => error.first().code(),
    };
    // Other tests of this process count too.
    let seconds = processor_seconds() - start;
    assert!(seconds < 60.0, "{seconds} s for {text:.60}");
    code
}

#[test]
fn depth_is_limited() {
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    assert_eq!(code(&nested(1000)), "ok");
    assert_eq!(code(&nested(1001)), "yaml-limit");
    assert_eq!(code(&"[".repeat(1_000_000)), "yaml-limit");
    assert_eq!(code(&"- ".repeat(100_000)), "yaml-limit");
    assert_eq!(code(&"{a: ".repeat(1_000_000)), "yaml-limit");
    let chain: String = (1..3000).map(|number| format!("- &a{number} [*a{}]\n", number - 1)).collect();
    assert_eq!(code(&format!("- &a0 x\n{chain}")), "yaml-limit");
}

#[test]
fn expansion_is_limited() {
    let laughs =
        |wrap: fn(usize, usize) -> String| (1..20).map(|level| wrap(level, level - 1)).collect::<String>();
    let lists =
        laughs(|level, below| format!("- &a{level} [{}]\n", vec![format!("*a{below}"); 10].join(", ")));
    assert_eq!(code(&format!("- &a0 x\n{lists}")), "yaml-limit");
    let merges = laughs(|level, below| {
        format!("- &a{level} {{<<: [{}]}}\n", vec![format!("*a{below}"); 10].join(", "))
    });
    assert_eq!(code(&format!("- &a0 {{x: y}}\n{merges}")), "yaml-limit");
}

#[test]
fn large_scalars_are_read() {
    assert_eq!(code(&"1".repeat(5000)), "yaml-limit");
    assert_eq!(code(&format!("0x{}", "f".repeat(1_000_000))), "yaml-limit");
    assert_eq!(code(&format!("1{}", ":1".repeat(1_000_000))), "yaml-limit");
    assert_eq!(code(&format!("1{}.5", ":1".repeat(5000))), "yaml-syntax");
    assert_eq!(code(&format!("a: {}", "b ".repeat(1_000_000))), "ok");
}

#[test]
fn integers_have_at_most_4300_decimal_digits_in_every_notation() {
    let most: BigInt = BigInt::from(10).pow(4300) - 1;
    for sign in ["", "-"] {
        for (number, expected) in [(most.clone(), "ok"), (&most + 1, "yaml-limit")] {
            let written = [
                format!("{number}"),
                format!("0x{number:x}"),
                format!("0b{number:b}"),
                format!("0{number:o}"),
            ];
            for text in written {
                assert_eq!(code(&format!("{sign}{text}")), expected, "{}", &text[..8]);
            }
        }
    }
    assert_eq!(code(&format!("0x{}1", "0".repeat(1_000_000))), "ok");
    assert_eq!(code(&format!("1{}", ":1".repeat(9_000))), "yaml-limit");
}

#[test]
fn texts_without_an_end_do_not_panic() {
    let text = "a: &x !!str 'b'\n? [c, {d: \"e\\n\"}]\n: |+\n  f\n\n  \n- %\n--- !<tag:a> *b # c\n...\n";
    for (start, _) in text.char_indices() {
        for (end, _) in text.char_indices().filter(|(end, _)| *end >= start) {
            let _ = code(&text[start..end]);
        }
    }
}

#[test]
#[ignore = "a measurement: cargo test --release --test limits speed_of_compose -- --ignored --nocapture"]
fn speed_of_compose() {
    let texts: Vec<Vec<u8>> = yaml::oracle::corpus()
        .into_iter()
        .filter(|(path, _)| path.components().any(|part| part.as_os_str() == "real"))
        .map(|(_, text)| text)
        .collect();
    let bytes: usize = texts.iter().map(Vec::len).sum();
    let best = (0..5).map(|_| {
        let start = Instant::now();
        let read = texts.iter().filter(|text| compose(text).is_ok()).count();
        (start.elapsed(), read)
    });
    let (time, read) = best.min().expect("five runs");
    #[expect(clippy::cast_precision_loss, reason = "a measurement")]
    let speed = bytes as f64 / 1e6 / time.as_secs_f64();
    println!("{read} of {} files, {bytes} bytes in {time:?}: {speed:.1} MB/s", texts.len());
}
