//! The checks of `fuzz/` on the stable compiler: every seed, and changes of seeds by chance.
//!
//! `make fuzz` runs the same checks for hours, led by coverage. `RECLASS_FUZZ_RUNS=100000 cargo test
//! --test limits fuzz::` changes more seeds, `RECLASS_FUZZ_SEED=7` others.

use support::checks;
use support::random;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;

use random::Random;

/// Runs a check with every seed of a target, then with as many changes of them; in the short form with a
/// fifth.
fn fuzz(target: &str, runs: usize, check: fn(&[u8])) {
    let _busy = crate::busy();
    let root = Path::new(support::ROOT).join("fuzz");
    let seeds = words(&root.join(format!("seeds/{target}.txt")));
    assert!(!seeds.is_empty(), "no seeds of {target}");
    for (number, seed) in seeds.iter().enumerate() {
        run(&format!("seed {number}"), seed, check);
    }
    let words = words(&root.join(format!("dictionaries/{target}.dict")));
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let usual = if support::is_long() { runs } else { runs / 5 };
    let runs = number("RECLASS_FUZZ_RUNS").unwrap_or(usual);
    let mut random = Random(number("RECLASS_FUZZ_SEED").unwrap_or(1) as u64);
    for count in 0..runs {
        let input = changed(&mut random, &seeds, &words);
        run(&format!("change {count}"), &input, check);
    }
    println!("{target}: {} seeds, {runs} changes of them", seeds.len());
}

/// Says which input it was, so that it can become a seed.
fn run(name: &str, input: &[u8], check: fn(&[u8])) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| check(input))) {
        println!("{name}: {:?}", input.escape_ascii().to_string());
        resume_unwind(panic);
    }
}

/// Texts as libFuzzer writes them in dictionaries: one a line, in quotes, `\xNN` for a byte.
fn words(path: &Path) -> Vec<Vec<u8>> {
    let text = fs::read_to_string(path).expect("a file");
    text.lines().filter_map(|line| line.strip_prefix('"')?.strip_suffix('"').map(word)).collect()
}

fn word(written: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = written;
    while let Some(first) = rest.chars().next() {
        let (byte, after) = match rest.strip_prefix('\\') {
            Some(code) if code.starts_with('x') => {
                (u8::from_str_radix(&code[1..3], 16).expect("two digits"), &code[3..])
            }
            Some(quoted) => (quoted.as_bytes()[0], &quoted[1..]),
            None => (u8::try_from(first).expect("ASCII"), &rest[1..]),
        };
        out.push(byte);
        rest = after;
    }
    out
}

/// A seed with a few things changed.
fn changed(random: &mut Random, seeds: &[Vec<u8>], words: &[Vec<u8>]) -> Vec<u8> {
    let mut input = seeds[random.below(seeds.len())].clone();
    for _ in 0..=random.below(4) {
        let at = random.below(input.len() + 1);
        let most = random.below(40);
        let end = (at + random.below(most)).min(input.len());
        match random.below(5) {
            0 => drop(input.drain(at..end)),
            1 => drop(input.splice(at..end, words[random.below(words.len())].iter().copied())),
            2 => {
                let copy = input[at..end].to_vec();
                let to = random.below(input.len() + 1);
                drop(input.splice(to..to, copy));
            }
            3 => {
                let other = &seeds[random.below(seeds.len())];
                let from = random.below(other.len() + 1);
                let to = (from + random.below(200)).min(other.len());
                drop(input.splice(at..end, other[from..to].iter().copied()));
            }
            _ => drop(input.splice(at..end, [random.draw().to_le_bytes()[0]])),
        }
    }
    input
}

#[test]
fn yaml() {
    fuzz("yaml", 50_000, checks::yaml::check);
}

#[test]
fn grammar() {
    fuzz("grammar", 50_000, checks::grammar::check);
}

#[test]
fn inventory() {
    fuzz("inventory", 1_500, checks::inventory::check);
}

#[test]
fn edit() {
    fuzz("edit", 30_000, checks::edit::check);
}

#[test]
fn git_url() {
    fuzz("git_url", 500_000, checks::git_url::check);
}

#[test]
fn settings() {
    fuzz("settings", 20_000, checks::settings::check);
}
