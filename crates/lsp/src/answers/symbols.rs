//! Symbols: the keys and classes of a file, and the nodes and classes of an inventory.

use crate::editor::{Symbol, outline};
use lsp_types::{DocumentSymbol, Location, Range, SymbolKind, WorkspaceSymbol};

use crate::text::{Encoding, Lines, uri_of};
use crate::workspace::Workspace;

/// The most results for a search.
const MOST: usize = 200;

/// The outline of a file, which has names and no values.
pub fn of_document(text: &str, encoding: Encoding) -> Vec<DocumentSymbol> {
    let lines = Lines::new(text, encoding);
    outline(text).iter().map(|symbol| document_symbol(symbol, &lines, None)).collect()
}

fn document_symbol(symbol: &Symbol, lines: &Lines<'_>, section: Option<&str>) -> DocumentSymbol {
    let kind = match section {
        None => SymbolKind::NAMESPACE,
        Some("classes") => SymbolKind::CLASS,
        Some("applications") => SymbolKind::FUNCTION,
        Some(_) if symbol.is_container => SymbolKind::OBJECT,
        Some(_) => SymbolKind::FIELD,
    };
    let section = section.unwrap_or(&symbol.name);
    let inner = symbol.inner.iter().map(|inner| document_symbol(inner, lines, Some(section)));
    #[expect(deprecated, reason = "the type has an old field")]
    DocumentSymbol {
        name: if symbol.name.is_empty() { "''".into() } else { symbol.name.clone() },
        detail: None,
        kind,
        tags: None,
        deprecated: None,
        range: lines.range(&symbol.range),
        selection_range: lines.range(&symbol.key),
        children: Some(inner.collect()),
    }
}

/// The nodes and classes whose name contains every word of a search.
pub fn of_workspace(workspace: &Workspace, query: &str) -> Vec<WorkspaceSymbol> {
    let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
    let mut found: Vec<WorkspaceSymbol> = workspace
        .names
        .files
        .iter()
        .filter(|(_, file)| {
            let name = file.name.to_lowercase();
            words.iter().all(|word| name.contains(word.as_str()))
        })
        .filter_map(|(path, file)| {
            let location = Location::new(uri_of(&**path)?, Range::default());
            Some(WorkspaceSymbol {
                name: file.name.to_string(),
                kind: if file.is_class { SymbolKind::CLASS } else { SymbolKind::OBJECT },
                tags: None,
                container_name: None,
                location: lsp_types::OneOf::Left(location),
                data: None,
            })
        })
        .collect();
    found.sort_by(|one, other| (one.name.len(), &one.name).cmp(&(other.name.len(), &other.name)));
    found.truncate(MOST);
    found
}
