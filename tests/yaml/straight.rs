//! The straight path of the reader and its general path make the same documents and the same errors.

use reclass_yaml::compose::{DocumentLimits, compose_generally, compose_within};
use support::is_long;
use support::yaml::generate::{Random, document, mutate};
use support::yaml::oracle::corpus;

fn check(text: &[u8], limits: DocumentLimits) {
    let (straight, general) = (compose_within(text, limits), compose_generally(text, limits));
    assert_eq!(format!("{straight:?}"), format!("{general:?}"), "{}", String::from_utf8_lossy(text));
}

/// Lines of the straight path between others, with indents that fit and indents that do not.
fn lines(random: &mut Random) -> Vec<u8> {
    let mut text = String::new();
    for _ in 0..=random.below(12) {
        text.push_str(&" ".repeat(random.pick(&[0, 0, 1, 2, 2, 2, 3, 4, 4, 6])));
        text.push_str(random.pick(&[
            "", "", "", "", "- ", "- ", "- - ", "-  ", "-\t", "? ", ": ", "&a ", "!t ", "a: ", "a:  b: ",
            "--- ",
        ]));
        text.push_str(random.pick(&[
            "a:",
            "b:",
            "c d:",
            "e: f",
            "g: h i",
            "j: 1",
            "k",
            "-",
            "l: 'm'",
            "n: [o,",
            "p]",
            "q: |",
            "r: # s",
            "t: u # v",
            "# w",
            "",
            "x::y: z",
            "a :",
            "b: ",
            "<<: *a",
            "c: &a",
            "d: é",
            "e:\tf",
            "- g",
            "...",
            "---",
            "h: i: j",
            "k#: #",
            "l:#",
            "\"m\": n",
            "{o: p}: q",
            "r: \\",
            "\t",
            "*a",
            "\u{feff}s: t",
            "u: -1",
            "v: ?w",
        ]));
        text.push_str(
            random.pick(&["\n", "\n", "\n", "\n", "\n", "\n\n", " \n", "\r\n", "\n \n", "\u{85}", ""]),
        );
    }
    text.into_bytes()
}

#[test]
fn both_paths_read_the_same() {
    let mut random = Random(5);
    let times = if is_long() { 40 } else { 1 };
    for (_, text) in corpus() {
        check(&text, DocumentLimits::HIGHEST);
        (0..2 * times).for_each(|_| check(&mutate(&mut random, &text), DocumentLimits::HIGHEST));
    }
    for _ in 0..20_000 * times {
        let text = if random.once_in(4) { document(&mut random) } else { lines(&mut random) };
        check(&text, DocumentLimits::HIGHEST);
        // An error of a limit and one of the syntax: the first in the text is the one that is said.
        let narrow = DocumentLimits {
            depth: 1 + random.below(4),
            nodes: 1 + random.below(12),
            yaml12: random.once_in(4),
        };
        check(&text, narrow);
    }
}

#[test]
fn a_key_may_be_as_long_on_both_paths() {
    for length in [1023, 1024, 1025] {
        let text = format!("a: b\n{}: c\nd: e\n", "k".repeat(length));
        check(text.as_bytes(), DocumentLimits::HIGHEST);
    }
}
