//! The text of one file, and the scalars of its parameters and exports, collected once for all rules.

use super::linter::{Linter, lint_fault};
use crate::survey::SurveyedFile;
use reclass::parts::engine::files::duplicate_keys;
use reclass::parts::model::layer::{keys_with_same_text, unknown_sections};
use reclass::parts::model::merge_options::enabled;
use reclass_base::error::Fault;
use reclass_base::secrets::Cover;
use reclass_base::source::{FileId, Origin, Site, Span};
use reclass_base::stack::grow;
use reclass_base::value::{Key, Value};
use reclass_yaml::compose::{Data, Document, Node, compose};

/// The text of one file.
pub struct FileText<'a> {
    pub linter: &'a Linter<'a>,
    file: &'a SurveyedFile,
    pub text: &'a str,
    pub document: &'a Document,
    /// The scalars of parameters and exports.
    pub scalars: Vec<WrittenScalar<'a>>,
}

/// A scalar in parameters or exports.
pub struct WrittenScalar<'v> {
    pub value: &'v Value,
    pub index: u32,
    pub role: ScalarRole,
    /// The innermost key above it, without prefixes.
    pub key: Key,
    /// What the keys above it hide.
    pub secret: Cover,
    /// Whether it is inside a list. Lists do not merge, and prefixes are text there (M7).
    pub in_list: bool,
}

/// What a scalar is.
#[derive(Clone, Copy, PartialEq)]
pub enum ScalarRole {
    Key,
    Item,
    Value,
}

/// The document of a file and its text. A second document is an error; then this is the first one.
fn document(text: &str) -> Option<(Document, &str)> {
    let error = match compose(text.as_bytes()) {
        Ok(document) => return Some((document, text)),
        Err(error) => error,
    };
    let line = error.first().site.as_ref()?.line as usize;
    let end: usize = text.split_inclusive('\n').take(line.checked_sub(1)?).map(str::len).sum();
    let (first, rest) = text.split_at_checked(end)?;
    rest.starts_with("---").then_some(())?;
    Some((compose(first.as_bytes()).ok()?, first))
}

impl<'a> FileText<'a> {
    /// Hands the text of a file to a function, if it is YAML.
    pub fn read(linter: &Linter<'_>, file: &SurveyedFile, check: &mut dyn FnMut(&FileText<'_>)) {
        let Some(text) = linter.context.inputs.files.text(&file.path) else { return };
        let Some((document, text)) = document(&text) else { return };
        let mut written = FileText { linter, file, text, document: &document, scalars: Vec::new() };
        for (_, node) in written.sections().filter(|(name, _)| ["parameters", "exports"].contains(name)) {
            written.collect(node, ScalarRole::Value, (&Key::from(""), Cover::Open, false));
        }
        check(&written);
    }

    pub fn is_class(&self) -> bool {
        self.file.is_class
    }

    /// The sections of the file with their names.
    pub fn sections(&self) -> impl Iterator<Item = (&'a str, &'a Node)> + use<'a> {
        let entries = match &self.document.root {
            Some(Node { data: Data::Map(entries), .. }) => &entries[..],
            _ => &[],
        };
        entries.iter().filter_map(|entry| Some((entry.key.as_str()?, &entry.value)))
    }

    fn collect(&mut self, node: &'a Node, role: ScalarRole, (key, secret, in_list): (&Key, Cover, bool)) {
        let scalar =
            |value, index, role| WrittenScalar { value, index, role, key: key.clone(), secret, in_list };
        match &node.data {
            Data::Value(value) => self.scalars.push(scalar(value, node.index, role)),
            Data::List(items) => items.iter().for_each(|item| {
                grow(|| self.collect(item, ScalarRole::Item, (key, secret.item(), true)));
            }),
            Data::Map(entries) => {
                for entry in entries.iter() {
                    let value = &entry.key.0;
                    self.scalars.push(scalar(value, entry.key_index, ScalarRole::Key));
                    // Prefixes are not part of the name.
                    let name = reclass_base::pystr::str(value);
                    let below = Key::from(self.linter.prefixes.name(&name));
                    let hidden = self.linter.secrets.below(secret, &below);
                    grow(|| self.collect(&entry.value, ScalarRole::Value, (&below, hidden, in_list)));
                }
            }
        }
    }

    pub fn span(&self, index: u32) -> Option<Span> {
        self.document.spans.get(index as usize).copied()
    }

    /// A finding about a part of the text.
    pub fn fault(&self, rule: &'static str, message: String, help: Option<String>, span: Span) -> Fault {
        // Only the first line of a longer span is shown.
        let written = self.text.get(span.start as usize..span.end as usize).unwrap_or_default();
        let length = written.lines().next().map_or(0, |line| line.chars().count());
        lint_fault(rule, message, help).at_site(self.site(span, u32::try_from(length).unwrap_or(0)))
    }

    fn site(&self, span: Span, length: u32) -> Site {
        Site { path: self.file.path.clone(), line: span.line + 1, column: span.column + 1, length }
    }

    /// The text of a plain scalar without its anchor; `None` for a quoted or tagged one.
    pub fn plain(&self, index: u32) -> Option<&'a str> {
        let span = self.span(index)?;
        let mut text = self.text.get(span.start as usize..span.end as usize)?;
        while text.starts_with('&') {
            text = text.split_once(char::is_whitespace)?.1.trim_start();
        }
        (!text.starts_with(['"', '\'', '!', '|', '>', '*', '{', '['])).then_some(text)
    }

    /// The warnings that reading the file reports if it has no errors.
    pub fn noticed(&self) -> Vec<Fault> {
        let unknown = unknown_sections(self.document, enabled(self.linter.context.settings)).into_iter();
        let unknown =
            unknown.map(|(kind, key)| Fault::new(kind).at(Origin { file: FileId::NONE, node: key }));
        let twice = duplicate_keys(self.document, FileId::NONE).into_iter();
        let same = keys_with_same_text(self.document, FileId::NONE).into_iter();
        let placed = |mut fault: Fault| {
            let span = fault.origin.take().and_then(|origin| self.span(origin.node));
            fault.site = span.map(|span| self.site(span, 0));
            fault
        };
        unknown.chain(twice).chain(same).map(placed).collect()
    }
}
