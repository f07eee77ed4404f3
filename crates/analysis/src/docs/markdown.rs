//! Writes the documentation of classes as Markdown: a page for each class and an index, or all in one text.
//!
//! A text of an inventory is shown as it is written: its characters never become markup.

use std::fmt::Write as _;

use indexmap::IndexMap;

use super::data::{ClassDocs, DocsPlace, DocsPlaces, Documentation, Names, ParameterDocs};
use reclass::brief::brief;
use reclass::parts::storage::fs::percent_encoded;
use reclass_base::error::inert;
use reclass_base::value::Text;

/// Where the name of a class leads.
#[derive(Clone, Copy)]
enum Links {
    /// From the index to a page.
    Index,
    /// From one page to another.
    Page,
    /// Within one text.
    Anchor,
}

/// The files to write into a folder, each with its name and its text: the index, and a page for each class.
pub fn pages(docs: &Documentation) -> Vec<(String, String)> {
    let mut all = vec![("index.md".to_owned(), index(docs, Links::Index))];
    let mut by_name: IndexMap<&str, Vec<String>> = IndexMap::new();
    for class in &docs.classes {
        by_name.entry(&class.name).or_default().push(page(class, 1, Links::Page));
    }
    all.extend(by_name.into_iter().map(|(name, texts)| (format!("classes/{name}.md"), texts.join("\n"))));
    all
}

/// The documentation as one text.
pub fn stream(docs: &Documentation) -> String {
    let classes = docs.classes.iter().map(|class| format!("\n{}", page(class, 2, Links::Anchor)));
    index(docs, Links::Anchor) + &classes.collect::<String>()
}

fn index(docs: &Documentation, links: Links) -> String {
    let row = |class: &ClassDocs| {
        let first = class.comment.split("\n\n").next().unwrap_or_default();
        vec![class_link(&class.name, links), class.nodes.count().to_string(), cell(first)]
    };
    let rows: Vec<_> = docs.classes.iter().map(row).collect();
    format!("# Classes\n\n{}", table(&["Class", "Nodes", "Purpose"], &rows))
}

fn page(class: &ClassDocs, level: usize, links: Links) -> String {
    let heading = "#".repeat(level);
    let mut text = String::new();
    if let Links::Anchor = links {
        let _ = writeln!(text, "<a id=\"{}\"></a>\n", anchor(&class.name));
    }
    let _ = writeln!(text, "{heading} {}\n", escaped(&class.name));
    if !class.comment.is_empty() {
        let _ = writeln!(text, "{}\n", paragraphs(&class.comment));
    }
    let _ = writeln!(text, "- File: {}", code(&class.file));
    if !class.is_readable {
        text.push_str("- The file cannot be read: `reclass lint` shows why\n");
    }
    let classes = |names: &[Text]| names.iter().map(|name| class_link(name, links)).collect::<Vec<_>>();
    let texts = |names: &[Text]| names.iter().map(|name| code(name)).collect::<Vec<_>>();
    let nodes = |names: &Names| and_more(texts(&names.first), names.more);
    let mut fact = |name: &str, parts: Vec<String>| {
        if !parts.is_empty() {
            let _ = writeln!(text, "- {name}: {}", parts.join(", "));
        }
    };
    fact("Applications", texts(&class.applications));
    fact("Includes", classes(&class.includes));
    fact("Included by", classes(&class.included_by));
    fact("Listed by", nodes(&class.listed_by));
    fact("Class mappings", texts(&class.mappings));
    fact(&format!("Nodes ({})", class.nodes.count()), nodes(&class.nodes));
    if class.nodes.count() == 0 {
        text.push_str("- Nodes: none\n");
    }
    for (name, rows) in [("Parameters", &class.parameters), ("Exports", &class.exports)] {
        if !rows.is_empty() {
            let _ = write!(text, "\n{heading}# {name}\n\n{}", parameters(rows, links));
        }
    }
    if !class.expects.is_empty() {
        let rows = class.expects.iter().map(|one| {
            let set_by = match (one.set_by.first.is_empty(), one.has_default) {
                (true, true) => "nobody; it has a default".to_owned(),
                (true, false) => "**nobody**".to_owned(),
                _ => places(&one.set_by, links),
            };
            vec![
                code_cell(&one.path),
                one.used_by.iter().map(|path| code_cell(path)).collect::<Vec<_>>().join(", "),
                set_by,
            ]
        });
        let rows = table(&["Parameter", "Used by", "Set by"], &rows.collect::<Vec<_>>());
        let _ = write!(text, "\n{heading}# Expects\n\n{rows}");
    }
    text
}

fn parameters(rows: &[ParameterDocs], links: Links) -> String {
    let row = |row: &ParameterDocs| {
        vec![
            code_cell(&row.path),
            row.kind.to_owned(),
            row.default.as_ref().map(|value| code_cell(&brief(value))).unwrap_or_default(),
            [
                cell(&row.comment),
                row.schema.as_ref().map(|schema| cell(&schema.to_string())).unwrap_or_default(),
            ]
            .into_iter()
            .filter(|text| !text.is_empty())
            .collect::<Vec<_>>()
            .join("<br>Schema: "),
            places(&row.set_again, links),
        ]
    };
    table(
        &["Parameter", "Type", "Default", "Description", "Set again by"],
        &rows.iter().map(row).collect::<Vec<_>>(),
    )
}

/// A table without the columns in which nothing stands.
fn table(heads: &[&str], rows: &[Vec<String>]) -> String {
    let used: Vec<usize> = (0..heads.len())
        .filter(|at| rows.iter().any(|row| row.get(*at).is_some_and(|cell| !cell.is_empty())))
        .collect();
    let line = |cells: Vec<&str>| format!("| {} |\n", cells.join(" | "));
    let mut text = line(used.iter().map(|at| heads[*at]).collect());
    text += "|";
    text += &"---|".repeat(used.len());
    text += "\n";
    for row in rows {
        text.push_str(&line(used.iter().map(|at| &*row[*at]).collect()));
    }
    text
}

fn places(places: &DocsPlaces, links: Links) -> String {
    let place = |place: &DocsPlace| {
        let name = if place.is_class { class_link(&place.name, links) } else { code_cell(&place.name) };
        format!("{name} ({})", code_cell(&format!("{}:{}", place.site.path, place.site.line)))
    };
    and_more(places.first.iter().map(place).collect(), places.more).join(", ")
}

fn and_more(mut parts: Vec<String>, more: usize) -> Vec<String> {
    if more > 0
        && let Some(last) = parts.last_mut()
    {
        let _ = write!(last, " and {more} more");
    }
    parts
}

fn class_link(name: &str, links: Links) -> String {
    let target = match links {
        Links::Index => format!("classes/{}.md", percent_encoded(name)),
        Links::Page => format!("{}.md", percent_encoded(name)),
        Links::Anchor => format!("#{}", anchor(name)),
    };
    format!("[{}]({target})", escaped(name))
}

/// The anchor of a class, which is valid in HTML and in a link.
fn anchor(name: &str) -> String {
    format!("class-{}", percent_encoded(name).replace(['%', '/', '~'], "_"))
}

/// A text in a line, as it is: no character is markup.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in inert(text).chars() {
        if r"\`*_[]<>&|~$#{}^".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// A text as code. The fence is longer than any in the text.
fn code(text: &str) -> String {
    let text = inert(text);
    let (mut run, mut longest) = (0, 0);
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat(longest + 1);
    let space = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{space}{text}{space}{fence}")
}

/// A text as code in a table, where a `|` ends the cell even in code.
fn code_cell(text: &str) -> String {
    code(text).replace('|', r"\|")
}

/// A comment in a table.
fn cell(comment: &str) -> String {
    escaped(&comment.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// A comment as paragraphs and items of lists, whose marks are the only ones that count.
fn paragraphs(comment: &str) -> String {
    let line = |line: &str| {
        if let Some(item) = line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")) {
            return format!("- {}", escaped(item));
        }
        let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        match line.as_bytes().get(digits) {
            // Other lines that would begin an item, or underline a heading.
            Some(b'.' | b')') if digits > 0 => format!("{}\\{}", &line[..digits], escaped(&line[digits..])),
            Some(b'-' | b'+' | b'=' | b':') if digits == 0 => format!("\\{}", escaped(line)),
            _ => escaped(line),
        }
    };
    comment.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_no_markup() {
        for (text, line, cell) in [
            ("a|b", r"a\|b", r"`a\|b`"),
            ("<b>&amp;", r"\<b\>\&amp;", "`<b>&amp;`"),
            ("`x` and ``y", r"\`x\` and \`\`y", "``` `x` and ``y ```"),
            ("${a}", r"\$\{a\}", "`${a}`"),
            ("a\u{1b}[31m", r"a\\u\{1b\}\[31m", r"`a\u{1b}[31m`"),
        ] {
            assert_eq!((&*escaped(text), &*code_cell(text)), (line, cell));
        }
    }

    #[test]
    fn paragraphs_and_lists_of_a_comment_stay() {
        let comment = "One *thing*.\n\n- a\n* b\n---\n1. c\n=";
        assert_eq!(paragraphs(comment), "One \\*thing\\*.\n\n- a\n- b\n\\---\n1\\. c\n\\=");
    }
}
