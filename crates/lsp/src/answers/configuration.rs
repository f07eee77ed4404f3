//! Completion and hover in a settings file: the settings, what they mean, and their words.

use lsp_types::{
    CompletionItem, CompletionItemKind, CompletionTextEdit, Hover, HoverContents, MarkupContent, MarkupKind,
    Position, Range, TextEdit,
};
use reclass::settings::{FILE_NAMES, SettingRow, Shape, TABLE};

use crate::answers::completion::documentation;
use crate::text::Encoding;

/// Whether a path is that of a settings file.
pub fn is_settings_file(path: &std::path::Path) -> bool {
    path.file_name().is_some_and(|name| FILE_NAMES.iter().any(|known| name == *known))
}

/// The settings at the beginning of a line, and the words of a setting behind its colon.
pub fn completion(text: &str, position: Position, encoding: Encoding) -> Vec<CompletionItem> {
    let offset = encoding.offset(text, position);
    let begin = text[..offset].rfind('\n').map_or(0, |at| at + 1);
    let line = &text[begin..offset];
    let item = |start: usize, label: &str, new_text: String, kind: CompletionItemKind| CompletionItem {
        label: label.to_owned(),
        kind: Some(kind),
        text_edit: Some(CompletionTextEdit::Edit(TextEdit {
            range: encoding.range(text, &(start..offset)),
            new_text,
        })),
        ..CompletionItem::default()
    };
    let Some((name, written)) = line.split_once(':') else {
        if !line.chars().all(|c| c.is_alphanumeric() || c == '_') {
            return Vec::new();
        }
        let is_set = |row: &&SettingRow| {
            text.lines().any(|line| of_line(line).is_some_and(|set| set.name == row.name))
        };
        let setting = |row: &SettingRow| CompletionItem {
            detail: Some(format!("default: {}", row.default)),
            documentation: Some(documentation(row.doc.trim().to_owned())),
            ..item(begin, row.name, format!("{}: ", row.name), CompletionItemKind::PROPERTY)
        };
        return TABLE.iter().filter(|row| !is_set(row)).map(setting).collect();
    };
    let Some(row) = row(name) else { return Vec::new() };
    let start = offset - written.trim_start().len();
    let words = match row.shape {
        Shape::Flag => &["true", "false"][..],
        Shape::OneOf(words) => words,
        _ => &[],
    };
    let space = if written.is_empty() { " " } else { "" };
    let word = |word: &&str| {
        let item = item(start, word, format!("{space}{word}"), CompletionItemKind::ENUM_MEMBER);
        let is_default = row.default.trim_matches('\'') == *word;
        CompletionItem { detail: is_default.then(|| "the default".to_owned()), ..item }
    };
    words.iter().map(word).collect()
}

/// What the setting of a line means.
pub fn hover(text: &str, position: Position) -> Option<Hover> {
    let line = text.split('\n').nth(position.line as usize)?;
    let row = of_line(line)?;
    let value = format!("**{}**\n\n{}\n\nDefault: `{}`", row.name, row.doc.trim(), row.default);
    let width = u32::try_from(line.split(':').next()?.len()).ok()?;
    let contents = HoverContents::Markup(MarkupContent { kind: MarkupKind::Markdown, value });
    let range = Range::new(Position::new(position.line, 0), Position::new(position.line, width));
    Some(Hover { contents, range: Some(range) })
}

fn of_line(line: &str) -> Option<&'static SettingRow> {
    row(line.split_once(':')?.0)
}

fn row(name: &str) -> Option<&'static SettingRow> {
    TABLE.iter().find(|row| row.name == name || row.aliases.contains(&name))
}
