//! Where the reader of ordinary files answers, it answers what the full reader does: nodes,
//! numbers, spans and warnings.
#![allow(clippy::disallowed_methods, reason = "a test reads files and its environment")]
#![allow(dead_code, clippy::print_stdout, reason = "tests say what they skip and measure")]

mod yaml;

use reclass::internals::yaml::compose::{compose_any, compose_ordinary};
use yaml::generate::{Random, document, mutate};
use yaml::oracle::corpus;

/// Whether the text is ordinary.
fn check(text: &[u8]) -> bool {
    let Some(ordinary) = compose_ordinary(text) else { return false };
    let shown = String::from_utf8_lossy(text);
    match compose_any(text, &|text| text.into()) {
        Ok(any) => assert_eq!(format!("{ordinary:?}"), format!("{any:?}"), "{shown}"),
        Err(error) => panic!("read {ordinary:?}, but there is an error: {error:?}\n{shown}"),
    }
    true
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn both_readers_agree_on_real_files() {
    let (mut files, mut bytes, mut all_bytes) = (0, 0, 0);
    let paths = corpus();
    for path in &paths {
        let Ok(text) = std::fs::read(path) else { continue };
        all_bytes += text.len();
        if check(&text) {
            files += 1;
            bytes += text.len();
        }
    }
    println!("{files} of {} files, {bytes} of {all_bytes} bytes are ordinary", paths.len());
    assert!(bytes * 10 >= all_bytes * 9);
}

#[test]
fn both_readers_agree_on_generated_documents() {
    let real: Vec<Vec<u8>> = corpus()
        .iter()
        .filter_map(|path| std::fs::read(path).ok())
        .filter(|text| text.len() < 1000)
        .collect();
    let mut random = Random(number("RECLASS_YAML_SEED", 2));
    let documents = number("RECLASS_YAML_DOCS", 10_000);
    let mut ordinary = 0;
    for _ in 0..documents {
        let text = match random.below(6) {
            0 => document(&mut random),
            1 if !real.is_empty() => {
                let place = random.below(real.len());
                mutate(&mut random, &real[place])
            }
            2 => {
                let text = document(&mut random);
                mutate(&mut random, &text)
            }
            3 => lines(&mut random),
            _ => {
                let text = lines(&mut random);
                mutate(&mut random, &text)
            }
        };
        ordinary += u64::from(check(&text));
    }
    println!("{ordinary} of {documents} documents are ordinary");
    assert!(ordinary * 10 > documents);
}

/// Lines that look ordinary, at indents that often are none.
fn lines(random: &mut Random) -> Vec<u8> {
    const HEADS: [&str; 22] = [
        "a:",
        "b:",
        "c:",
        "'d':",
        "\"e\\n\":",
        "1:",
        "1.0:",
        "~x:",
        "-",
        "- -",
        "- a:",
        "-  b:",
        "a :",
        "<<:",
        "=:",
        "ü x:",
        "a: b",
        "x",
        "#",
        "",
        "- |",
        "",
    ];
    const TAILS: [&str; 40] = [
        "",
        "",
        "",
        "",
        "",
        " # c",
        " 1",
        " yes",
        " ~",
        " a b",
        " 'c''d '",
        " \" e \\\" f\"",
        " [a, 'b' ,1]",
        " []",
        " {}",
        " {a: 1, \"b\":c, a: [x]}",
        " {a: }",
        " [a,]",
        " [,]",
        " |",
        " >",
        " |-",
        " >+",
        " | # c",
        " >-",
        " ${x:y}",
        " a:b",
        " a#b",
        " a # b",
        " 'a'#b",
        " -1",
        " - x",
        " ?x",
        " :x",
        " é 'f'",
        " [é, f]",
        " 2001-01-01",
        " [a: b]",
        " {a}",
        "  ",
    ];
    let mut text = String::new();
    let mut indent = 0;
    for _ in 0..=random.below(8) {
        indent = match random.below(8) {
            0 => 0,
            1 => random.below(6),
            2 | 3 => indent + 2,
            4 => indent.saturating_sub(2),
            _ => indent,
        };
        text.extend(std::iter::repeat_n(' ', indent));
        text.push_str(random.pick(&HEADS));
        text.push_str(random.pick(&TAILS));
        text.push('\n');
    }
    if random.once_in(6) {
        text.pop();
    }
    text.into_bytes()
}
