//! `reclass explain-error` prints the documentation of an error, a warning or a lint rule.
//!
//! The text is that of `docs/errors.md` and `docs/lint.md`. The program contains both pages, so it needs
//! neither the network nor the wheel.

use std::fmt::Write as _;

use clap::{Arg, ArgMatches};
use reclass::error::Result;
use reclass_analysis::lint::{codes, rule, similar_code};

use crate::commands::tool::Tool;
use crate::commands::verb::usage;
use crate::manual_page::{Manual, address};

/// The pages, and the headings of their sections.
const PAGES: [(&str, &str, &str); 2] = [
    ("errors", "## ", include_str!("../../../../docs/errors.md")),
    ("lint", "### ", include_str!("../../../../docs/lint.md")),
];

/// The `explain-error` tool.
pub const TOOL: Tool = Tool {
    name: "explain-error",
    about: "Explain an error, a warning or a rule of lint",
    manual: Manual {
        page: "errors",
        description: "Prints the section of the documentation about a code: the meaning and, where there is one, an example with the files, the command and its output. Without a code it lists all codes, each with its meaning in one sentence. It needs neither a network nor settings.",
        examples: &[
            ("The meaning of error[reference-not-found]:", "reclass explain-error reference-not-found"),
            ("The meaning of a finding of lint:", "reclass explain-error duplicate-key"),
            ("All codes:", "reclass explain-error"),
        ],
        exits: &[("2", "No error, no warning and no rule has the code, or the command line is invalid.")],
    },
    arguments: |command| {
        command.arg(
            Arg::new("code")
                .value_name("CODE")
                .help("The code in brackets: reference-not-found for error[reference-not-found]. Without it, all codes are listed"),
        )
    },
    run,
};

fn run(matches: &ArgMatches) -> Result<String> {
    let Some(code) = matches.get_one::<String>("code") else { return Ok(list()) };
    if !codes().any(|known| known == code) {
        let way = similar_code(code).map_or_else(
            || "'reclass explain-error' lists all codes".to_owned(),
            |similar| format!("'{similar}' is similar"),
        );
        let message = format!("no error, no warning and no rule of lint has the code '{code}'; {way}");
        return Err(usage(message));
    }
    let mut text = code.clone();
    for (page, mark, content) in PAGES {
        if let Some(section) = section(content, mark, code) {
            let section = plain(section);
            // The example is printed with the other section.
            let section = section.trim_end_matches("\n\nThe page on lint has an example.");
            let section = section.trim_end_matches("\n\nThe page on errors has an example.");
            let _ = write!(text, "\n\n{section}\n\nDocumentation: {}#{code}", address(page));
        }
    }
    Ok(text)
}

/// All codes by name, each with its meaning in one sentence.
fn list() -> String {
    let mut codes: Vec<_> = codes().collect();
    codes.sort_unstable();
    let width = codes.iter().map(|code| code.len()).max().unwrap_or_default();
    let lines = codes.iter().map(|code| {
        let meaning = match rule(code) {
            Some(rule) => rule.about.to_owned(),
            None => first_sentence(code),
        };
        format!("{code:width$}  {meaning}")
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The first sentence of the section about an error.
fn first_sentence(code: &str) -> String {
    let [(_, mark, page), _] = PAGES;
    let section = plain(section(page, mark, code).unwrap_or_default());
    let line = without_ruling(section.lines().next().unwrap_or_default());
    match line.split_once(". ") {
        Some((sentence, _)) => format!("{sentence}."),
        None => line,
    }
}

/// A sentence without the number of its ruling, as ` (S7)`.
fn without_ruling(line: &str) -> String {
    let is_ruling = |inside: &str| {
        let digits = inside.strip_prefix(|c: char| c.is_ascii_uppercase());
        digits.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
    };
    let ruling = line.match_indices(" (").find_map(|(at, _)| {
        let inside = line[at + 2..].split(')').next()?;
        is_ruling(inside).then_some(at..at + inside.len() + 3)
    });
    match ruling {
        Some(range) => [&line[..range.start], &line[range.end..]].concat(),
        None => line.to_owned(),
    }
}

/// The paragraphs about an error, without its example.
pub fn meaning(code: &str) -> Option<&'static str> {
    let [(_, mark, page), _] = PAGES;
    let section = section(page, mark, code)?;
    let example = ["\n\n`", "\n\nThe page on "].iter().filter_map(|start| section.find(start)).min();
    Some(&section[..example.unwrap_or(section.len())])
}

/// The text below a heading, up to the next one.
fn section<'t>(page: &'t str, mark: &str, code: &str) -> Option<&'t str> {
    let (_, rest) = page.split_once(&format!("\n{mark}`{code}`\n"))?;
    let end = rest.find(&format!("\n{mark}")).into_iter().chain(rest.find("\n## ")).min();
    Some(rest[..end.unwrap_or(rest.len())].trim())
}

/// Markdown for a terminal: examples are indented, and links are their texts.
fn plain(section: &str) -> String {
    let mut example = false;
    let mut lines = Vec::new();
    for line in section.lines() {
        if line.starts_with("```") {
            example = !example;
        } else if example {
            lines.push(format!("    {line}").trim_end().to_owned());
        } else {
            lines.push(unlinked(line));
        }
    }
    lines.join("\n")
}

/// `[text](address)` becomes `text`.
fn unlinked(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("](") {
        let parts = before.rsplit_once('[').zip(after.split_once(')'));
        let Some(((before, text), (_, after))) = parts else { break };
        out.push_str(before);
        out.push_str(text);
        rest = after;
    }
    out + rest
}
