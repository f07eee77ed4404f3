//! Writes the graph in the languages of Graphviz and Mermaid. An arrow leads from a file to a class that it
//! lists.

use std::fmt::Write as _;

use indexmap::{IndexMap, IndexSet};

use reclass_analysis::inclusions::{FileKind, Graph};
use reclass_base::error::inert;

type Name<'g> = (FileKind, &'g str);

/// Numbers of all vertices, and the arrows between them, each once.
fn numbered(graph: &Graph) -> (IndexMap<Name<'_>, usize>, IndexSet<(usize, usize)>) {
    let names = graph.files.iter().map(|vertex| (vertex.kind, &*vertex.name));
    let numbers: IndexMap<Name<'_>, usize> = names.zip(0..).collect();
    let mut arrows = IndexSet::new();
    let mut add = |from: Name<'_>, to: &str| {
        if let (Some(from), Some(to)) = (numbers.get(&from), numbers.get(&(FileKind::Class, to))) {
            arrows.insert((*from, *to));
        }
    };
    for vertex in &graph.files {
        for (class, _) in &vertex.lists {
            add((vertex.kind, &vertex.name), class);
        }
    }
    for vertex in &graph.files {
        for (_, class) in &vertex.mapped {
            add((vertex.kind, &vertex.name), class);
        }
    }
    (numbers, arrows)
}

/// The graph for Graphviz: nodes are boxes, classes are rounded, missing classes dashed.
pub fn dot(graph: &Graph) -> String {
    let quoted = |text: &str| format!("\"{}\"", inert(text).replace('\\', "\\\\").replace('"', "\\\""));
    let (numbers, arrows) = numbered(graph);
    let mut out = String::from("digraph reclass {\n  rankdir=LR;\n  node [fontname=\"sans-serif\"];\n");
    for (vertex, number) in graph.files.iter().zip(numbers.values()) {
        let style = match (vertex.kind, &vertex.file) {
            (FileKind::Node, _) => "shape=box, style=bold",
            (FileKind::Class, Some(_)) => "shape=box, style=rounded",
            (FileKind::Class, None) => "shape=box, style=dashed",
        };
        let tip = vertex.file.as_ref().map_or_else(String::new, |file| format!(", tooltip={}", quoted(file)));
        let _ = writeln!(out, "  v{number} [label={}, {style}{tip}];", quoted(&vertex.name));
    }
    for (from, to) in arrows {
        let _ = writeln!(out, "  v{from} -> v{to};");
    }
    out.push('}');
    out
}

/// The graph for Mermaid.
pub fn mermaid(graph: &Graph) -> String {
    // Mermaid writes special characters as entities between `#` and `;`.
    let quoted = |text: &str| format!("\"{}\"", inert(text).replace('#', "#35;").replace('"', "#quot;"));
    let (numbers, arrows) = numbered(graph);
    let mut out = String::from("flowchart LR\n");
    for (vertex, number) in graph.files.iter().zip(numbers.values()) {
        let name = quoted(&vertex.name);
        let shape = if vertex.kind == FileKind::Class { format!("({name})") } else { format!("[{name}]") };
        let _ = writeln!(out, "  v{number}{shape}");
    }
    for (from, to) in arrows {
        let _ = writeln!(out, "  v{from} --> v{to}");
    }
    out.truncate(out.trim_end().len());
    out
}
