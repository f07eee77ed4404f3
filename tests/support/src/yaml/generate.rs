//! Generated documents: scalars of all looks, structures, and mutations of texts.
#![allow(clippy::single_match_else, reason = "one arm of several kinds")]

use std::fmt::Write;

pub use crate::random::Random;

const WORDS: [&str; 66] = [
    "yes",
    "No",
    "ON",
    "off",
    "true",
    "False",
    "y",
    "n",
    "yEs",
    "~",
    "null",
    "Null",
    "nULL",
    "NULL",
    "",
    "=",
    "<<",
    "<",
    ".inf",
    "-.INF",
    "+.Inf",
    ".nan",
    ".NaN",
    "-.nan",
    "0",
    "-0",
    "+0",
    "00",
    "0_",
    "0b",
    "0b_",
    "0b101",
    "0x",
    "0x_",
    "0xFf_1",
    "-0x1A",
    "017",
    "018",
    "0o17",
    "1_000",
    "_1",
    "1_",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "-9223372036854775809",
    "123456789012345678901234567890",
    "190:20:30",
    "190:20:30.15",
    "-1:00",
    "1:60",
    "1:5:59",
    "0:10",
    "0:0.5",
    "1e3",
    "1.e+3",
    "1.5e3",
    "1.5E-300",
    ".5",
    "-.5",
    "1.",
    "1_0._5",
    "6.8523015e+5",
    "685_230.15",
    "1.7976931348623157e+309",
    "a b",
];

const TEXTS: [&str; 24] = [
    "foo",
    "foo bar",
    "it's",
    "say \"hi\"",
    "a: b",
    "a #b",
    "#c",
    "- x",
    "-",
    "?",
    "? a",
    "k:",
    ":",
    "@x",
    "%d",
    "!t",
    "*a",
    "&a",
    "[x]",
    "{y}",
    "a, b",
    "---",
    "ünï — ☃ 😀",
    "a long text that goes on and on, well beyond the eighty columns, to be folded  twice or so, with 'quotes'",
];

/// A timestamp, or nearly one.
fn timestamp(random: &mut Random) -> String {
    let mut text = format!(
        "{:04}-{:02}-{:02}",
        random.pick(&[0, 1, 1999, 2000, 2023, 2024, 9999]),
        random.below(14),
        random.below(33)
    );
    if random.once_in(4) {
        text = text.replacen("-0", "-", 1 + random.below(2));
    }
    if random.once_in(3) {
        return text;
    }
    text.push_str(random.pick(&["T", "t", " ", "  ", " \t", "", "_"]));
    let _ = match random.below(3) {
        0 => write!(text, "{}:{:02}:{:02}", random.below(26), random.below(62), random.below(62)),
        _ => write!(text, "{:02}:{:02}:{:02}", random.below(24), random.below(60), random.below(60)),
    };
    if random.once_in(2) {
        text.push('.');
        text.push_str(&random.letters("0123456789", 8));
    }
    text.push_str(random.pick(&[
        "", "", "Z", " Z", "z", "+1", "-05:30", " +23:59", "-24:00", "+00:00", "-0", "+100", "+1:5",
    ]));
    text
}

/// The text of a scalar.
pub fn scalar(random: &mut Random) -> String {
    match random.below(12) {
        0..=2 => random.pick(&WORDS).into(),
        3 => random.letters("0123456789", 24),
        4 => random.letters("0123456789+-._:eExXb", 9),
        5 => random.letters("01._:-+", 7),
        6 => timestamp(random),
        7 => random.pick(&TEXTS).into(),
        8 => {
            let (first, second) = (random.pick(&TEXTS), random.pick(&WORDS));
            format!("{first}{}{second}", random.pick(&[" ", "  ", "", ": ", "_", "-"]))
        }
        9 => random.letters("AaZz09+/= ", 12),
        10 => {
            let number = f64::from_bits(random.draw());
            if number.is_finite() {
                format!("{number:?}").replace("e-", "e_").replace('e', "e+").replace("e+_", "e-")
            } else {
                ".inf".into()
            }
        }
        _ => {
            random.letters("abc XYZ'\"\\#:,-?!&*[]{}|>%@`~\t\u{e9}\u{2028}\u{85}\u{1F600}\u{200b}\u{661}", 12)
        }
    }
}

fn double_quoted(text: &str, random: &mut Random) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            ' ' if random.once_in(20) => quoted.push_str("\\\n   \\ "),
            _ if random.once_in(30) => {
                let _ = write!(quoted, "\\U{:08x}", u32::from(character));
            }
            _ => quoted.push(character),
        }
        if random.once_in(25) {
            quoted.push_str(random.pick(&[
                "\\n",
                "\\t",
                "\\0",
                "\\e",
                "\\r",
                "\\N",
                "\\_",
                "\\L",
                "\\P",
                "\\a",
                "\\x7f",
                "\\ud800",
                "\\q",
                "\\/",
                "\\'",
                "\n\n ",
                "\\uFEFF",
                "\\v\\b\\f",
            ]));
        }
    }
    quoted + "\""
}

/// A scalar as it is written, on one line or with lines indented by `indent`.
fn written_scalar(random: &mut Random, indent: usize, flow: bool) -> String {
    let text = scalar(random);
    let tag = match random.below(12) {
        0 => random.pick(&[
            "!!str ",
            "!!int ",
            "!!float ",
            "!!bool ",
            "!!null ",
            "!!binary ",
            "!!timestamp ",
            "! ",
            "!!value ",
            "!!merge ",
            "!x ",
            "!!foo ",
            "!<tag:yaml.org,2002:int> ",
        ]),
        _ => "",
    };
    let anchor = if random.once_in(15) {
        format!("&{} ", random.pick(&["a", "b", "c", "d-1", "e_2"]))
    } else {
        String::new()
    };
    if random.once_in(25) {
        return format!("*{}", random.pick(&["a", "b", "c", "d-1", "e_2", "f"]));
    }
    let body = match random.below(10) {
        0 | 1 => format!("'{}'", text.replace('\'', "''")),
        2 | 3 => double_quoted(&text, random),
        4 if !flow => {
            let pad = " ".repeat(indent + 1 + random.below(3));
            let mut block = String::from(random.pick(&["|", ">", "|-", ">-", "|+", ">+", "|2", "|1-"]));
            for _ in 0..random.below(5) {
                let _ = match random.below(6) {
                    0 => writeln!(block),
                    1 => write!(block, "\n{pad}  "),
                    2 => write!(block, "\n{pad}  {text}"),
                    _ => write!(block, "\n{pad}{text}"),
                };
            }
            block
        }
        5 => {
            let pad = " ".repeat(indent + 1);
            format!("{text}\n{pad}{}", scalar(random))
        }
        _ => text,
    };
    format!("{anchor}{tag}{body}")
}

fn flow(random: &mut Random, depth: usize) -> String {
    if depth == 0 || random.once_in(2) {
        return written_scalar(random, 1, true);
    }
    let comma = random.pick(&[", ", ",", " , ", ",\n  "]);
    let items: Vec<String> = (0..random.below(4))
        .map(|_| match random.below(12) {
            0 => format!("{}: {}", written_scalar(random, 1, true), flow(random, depth - 1)),
            1 => format!("? {} : {}", flow(random, depth - 1), flow(random, depth - 1)),
            2 => "<<: *a".into(),
            _ => flow(random, depth - 1),
        })
        .collect();
    match random.below(3) {
        0 => format!("[{}]", items.join(comma)),
        _ => {
            let tag = random.pick(&["", "", "", "", "", "!!set ", "!!map ", "!!omap ", "&a ", "&b "]);
            let pairs = items.iter().map(|item| {
                format!("{}: {item}", random.pick(&["a", "b", "'c'", "1", "yes", "2001-01-01", "<<", "d"]))
            });
            format!("{tag}{{{}}}", pairs.collect::<Vec<_>>().join(comma))
        }
    }
}

fn block(random: &mut Random, indent: usize, depth: usize, out: &mut String) {
    let pad = " ".repeat(indent);
    let sequence = random.once_in(3);
    for number in 0..=random.below(4) {
        let start = if number == 0 && random.once_in(2) && out.ends_with("- ") { "" } else { &pad };
        if !start.is_empty() && !out.is_empty() && !out.ends_with('\n') {
            out.push('\n');
        }
        out.push_str(start);
        if sequence {
            out.push_str("- ");
        } else {
            let key = match random.below(8) {
                0 => written_scalar(random, indent, true),
                1 => format!("? {}\n{pad}", written_scalar(random, indent, false)),
                2 => "<<".into(),
                _ => random.pick(&["a", "b", "c", "'d'", "\"e f\"", "1", "1.0", "yes", "~x", "=k"]).into(),
            };
            let _ = write!(out, "{key}: ");
        }
        match random.below(8) {
            0..=2 if depth > 0 => {
                if !sequence || random.once_in(2) {
                    out.push_str(random.pick(&[
                        "", "", "", "&a", "&b", "&c", "!!omap", "!!pairs", "!!set", "!!map", "!!seq",
                        " # note",
                    ]));
                    out.push('\n');
                }
                let deeper = indent + 1 + random.below(3);
                block(random, deeper, depth - 1, out);
            }
            3 => out.push_str(&flow(random, 2)),
            _ => out.push_str(&written_scalar(random, indent, false)),
        }
        if !out.ends_with('\n') {
            out.push_str(
                random.pick(&["\n", "\n", "\n", "\n", " # c\n", "\n\n", "  \n", "\n#c\n", "\r\n", "\t\n"]),
            );
        }
    }
}

/// A document in a random layout.
pub fn document(random: &mut Random) -> Vec<u8> {
    let mut text = String::new();
    match random.below(9) {
        0 | 1 => {
            for _ in 0..=random.below(4) {
                let _ = writeln!(text, "- {}", scalar(random));
            }
        }
        2 => text = written_scalar(random, 0, false),
        3 => text = flow(random, 4),
        4 => {
            let _ = write!(
                text,
                "base: &a {}\nother: &b {}\nmore:\n  <<: {}\n  a: 1\n  <<: {}\n  x: 2\n  a: 3\n",
                flow(random, 1),
                random.pick(&[
                    "{a: 1, b: 2}",
                    "{<<: *a, c: 3}",
                    "{c: 4, <<: [*a, {d: 5}]}",
                    "[*a, {e: 1}]",
                    "x"
                ]),
                random.pick(&["*b", "[*a, *b]", "[*b, {z: 1, a: 9}]", "{q: 1, b: 7}", "*c", "~"]),
                random.pick(&["*b", "[{a: 5}, *b]", "[*b, [x]]"]),
            );
        }
        _ => block(random, 0, 3, &mut text),
    }
    if random.once_in(12) {
        let start = random.pick(&[
            "---\n",
            "--- ",
            "\u{feff}",
            "%YAML 1.1\n---\n",
            "%TAG !e! tag:yaml.org,2002:\n---\n",
            "%YAML 1.2\n---\n",
            "# c\n",
            "\n\n",
            "%YAML 2.0\n---\n",
            "...\n",
            "%FOO\n---\n",
        ]);
        text.insert_str(0, start);
    }
    if random.once_in(12) {
        text.push_str(random.pick(&[
            "...\n",
            "---\n",
            "\n---\nb\n",
            "...\n...\n",
            "\n...",
            "\n---",
            "# end",
            " ",
            "\t",
            "\\",
            "\"",
            "'",
        ]));
    }
    if random.once_in(5) {
        text = text.trim_end_matches('\n').into();
    }
    text.into_bytes()
}

/// A text with a few bytes or lines changed.
pub fn mutate(random: &mut Random, text: &[u8]) -> Vec<u8> {
    let mut text = text.to_vec();
    for _ in 0..=random.below(3) {
        let place = random.below(text.len() + 1);
        match random.below(8) {
            0 if place < text.len() => {
                text.remove(place);
            }
            1 => {
                let end = (place + random.below(12)).min(text.len());
                text.drain(place..end);
            }
            2 => {
                let end = (place + random.below(20)).min(text.len());
                let piece = text[place..end].to_vec();
                text.splice(place..place, piece);
            }
            3 => {
                let mut lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
                if !lines.is_empty() {
                    let line = lines.remove(random.below(lines.len()));
                    if random.once_in(2) {
                        let place = random.below(lines.len() + 1);
                        lines.insert(place, line);
                    }
                    text = lines.concat();
                }
            }
            4 => text.truncate(place),
            5 => text.insert(place, random.pick(b" \t\n\r:-?#,[]{}&*!|>'\"%@`\\~=<0a_.\x00\x1b\xff\xc3")),
            6 => {
                let piece = random.pick(&[
                    "\n", "\r\n", "\u{feff}", "\u{2028}", "\u{85}", "é", "<<: ", "- ", ": ", "? ", "&a ",
                    "*a", "!!str ", "!x ", "---\n", "...\n", "\n\n", "  ", "|\n", ">-\n", "'", "\"",
                    "\u{200b}", "\u{ffff}",
                ]);
                text.splice(place..place, piece.bytes());
            }
            _ => {
                if let Some(byte) = text.get_mut(place) {
                    *byte = random.pick(b" \t\n:-?#,[]{}&*!|>'\"%01ab");
                }
            }
        }
    }
    text
}
