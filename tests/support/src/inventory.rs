//! Inventories as trees that can be generated, made smaller, written to a folder and shown.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io;
use std::path::Path;

use serde_json::Value as Json;

/// A node of a YAML document.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Node {
    /// A scalar or an alias as written in the file.
    Raw(String),
    /// A string, quoted where it has to be.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// A mapping; keys are scalars.
    Map(Vec<(Node, Node)>),
    /// A node with an anchor.
    Anchored(String, Box<Node>),
}

/// Files and settings.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Inventory {
    /// Documents by path; the paths begin with `nodes/` or `classes/`.
    pub files: BTreeMap<String, Node>,
    /// The settings that are not as by default.
    pub settings: BTreeMap<String, Json>,
}

/// An empty folder, in memory where there is such a place. It is gone with the value.
pub fn folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    folder.expect("a temporary folder can be made")
}

impl Inventory {
    /// Writes it into an empty folder.
    pub fn write(&self, root: &Path) -> io::Result<()> {
        for folder in ["nodes", "classes"] {
            std::fs::create_dir_all(root.join(folder))?;
        }
        for (name, document) in &self.files {
            let path = root.join(name);
            if let Some(folder) = path.parent() {
                std::fs::create_dir_all(folder)?;
            }
            std::fs::write(path, document.document())?;
        }
        Ok(())
    }

    /// Its files and settings as one text.
    pub fn show(&self) -> String {
        let mut text = String::new();
        for (name, document) in &self.files {
            let _ = writeln!(text, "--- {name}\n{}", document.document().trim_end());
        }
        if !self.settings.is_empty() {
            let settings = Json::Object(self.settings.clone().into_iter().collect());
            let _ = writeln!(text, "--- settings\n{settings}");
        }
        text
    }
}

impl Node {
    /// A string.
    pub fn text(text: impl Into<String>) -> Node {
        Node::Text(text.into())
    }
    /// A mapping with string keys.
    pub fn map<'k>(entries: impl IntoIterator<Item = (&'k str, Node)>) -> Node {
        Node::Map(entries.into_iter().map(|(key, value)| (Node::text(key), value)).collect())
    }
    /// A list of strings.
    pub fn texts(items: impl IntoIterator<Item = String>) -> Node {
        Node::List(items.into_iter().map(Node::Text).collect())
    }
    /// The text of the document.
    pub fn document(&self) -> String {
        let mut text = String::new();
        self.emit(0, &mut text);
        let text = text.trim_start_matches('\n').trim_start_matches(' ');
        format!("{text}\n")
    }

    /// Writes what follows a key, a dash, or the start of the document.
    fn emit(&self, indent: usize, out: &mut String) {
        let margin = " ".repeat(indent);
        match self {
            Node::Raw(text) => {
                let _ = write!(out, " {text}");
            }
            Node::Text(text) => {
                let _ = write!(out, " {}", scalar(text, indent));
            }
            Node::List(items) if items.is_empty() => out.push_str(" []"),
            Node::Map(entries) if entries.is_empty() => out.push_str(" {}"),
            Node::List(items) => {
                for item in items {
                    let _ = write!(out, "\n{margin}-");
                    item.emit(indent + 2, out);
                }
            }
            Node::Map(entries) => {
                for (key, value) in entries {
                    let key = match key {
                        Node::Text(text) => quoted(text),
                        Node::Raw(text) => text.clone(),
                        _ => "?".into(),
                    };
                    let _ = write!(out, "\n{margin}{key}:");
                    value.emit(indent + 2, out);
                }
            }
            Node::Anchored(name, node) => {
                let _ = write!(out, " &{name}");
                node.emit(indent, out);
            }
        }
    }
}

/// A string value; some of several lines become literal blocks.
fn scalar(text: &str, indent: usize) -> String {
    let lines: Vec<&str> = text.trim_end_matches('\n').split('\n').collect();
    let block = text.contains('\n')
        && !text.ends_with("\n\n")
        && lines.iter().all(|line| !line.is_empty() && !line.starts_with([' ', '\t']))
        && text.chars().all(|c| c == '\n' || c == '\t' || (' '..='~').contains(&c));
    if block {
        let margin = " ".repeat(indent.max(1));
        let mark = if text.ends_with('\n') { "|" } else { "|-" };
        let lines: Vec<String> = lines.iter().map(|line| format!("\n{margin}{line}")).collect();
        return format!("{mark}{}", lines.concat());
    }
    quoted(text)
}

/// A string in one line: plain where that is safe, else in one of the two sorts of quotes.
fn quoted(text: &str) -> String {
    const WORDS: [&str; 12] =
        ["yes", "no", "on", "off", "true", "false", "null", "y", "n", "none", "nan", "inf"];
    let word = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '$' || c == '_')
        && !text.ends_with([' ', ':'])
        && !text.contains(": ")
        && !text.contains(" #")
        && text.chars().all(|c| (' '..='~').contains(&c))
        && !WORDS.contains(&text.to_ascii_lowercase().as_str());
    if word {
        return text.to_owned();
    }
    let plain = text.chars().all(|c| (' '..='~').contains(&c) || ('\u{a1}'..='\u{ff}').contains(&c));
    if plain && text.len() % 2 == 0 {
        return format!("'{}'", text.replace('\'', "''"));
    }
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if (' '..='~').contains(&c) || c > '\u{a0}' => out.push(c),
            c => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
        }
    }
    out.push('"');
    out
}
