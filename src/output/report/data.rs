//! Findings as data: JSON, annotations of GitHub, and SARIF 2.1.0.

use std::fmt::Write as _;

use super::finding::{Finding, Level};
use super::remarks;
use crate::base::error::{Fault, Link, inert, short};
use crate::base::source::Site;
use crate::base::value::{Map, Text, Value};

fn map(entries: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    Value::map(entries.into_iter().map(|(key, value)| (key.into(), value)).collect::<Map>())
}

fn list(items: impl IntoIterator<Item = Value>) -> Value {
    Value::list(items.into_iter().collect())
}

fn number(number: impl TryInto<i64>) -> Value {
    Value::Int(number.try_into().unwrap_or(i64::MAX))
}

/// A place in a file: `{file, line, column}`, each from one; line and column are 0 for a whole file.
pub fn site_value(site: &Site) -> Value {
    map([
        ("file", Value::text(&*site.path)),
        ("line", Value::Int(site.line.into())),
        ("column", Value::Int(site.column.into())),
    ])
}

/// A step of a chain: `{includer, class, site}`.
pub fn link_value(link: &Link) -> Value {
    map([
        ("includer", Value::text(link.includer.as_str())),
        ("class", Value::Str(link.class.clone())),
        ("site", link.site.as_ref().map_or(Value::Null, site_value)),
    ])
}

/// Findings as a list of mappings.
pub fn findings_value(findings: &[Finding]) -> Value {
    list(findings.iter().map(|finding| fault_value(&finding.fault, Some((finding.level, &finding.nodes)))))
}

fn fault_value(fault: &Fault, about: Option<(Level, &[Text])>) -> Value {
    let note = |note: &crate::base::error::Note| {
        map([
            ("message", Value::text(&*short(&note.text))),
            ("site", note.site.as_ref().map_or(Value::Null, site_value)),
        ])
    };
    let text = |text: Option<String>| text.map_or(Value::Null, Value::text);
    let mut entries = vec![
        ("code", Value::text(fault.code())),
        ("message", Value::text(fault.kind.to_string())),
        ("site", fault.site.as_ref().map_or(Value::Null, site_value)),
        ("path", text(fault.path.as_deref().map(|path| short(path).into_owned()))),
        ("export", Value::Bool(fault.export)),
        ("chain", list(fault.chain.iter().map(link_value))),
        ("notes", list(fault.notes.iter().map(note))),
        ("help", text(fault.kind.help())),
    ];
    if let Some((level, nodes)) = about {
        entries.insert(1, ("level", Value::text(level.name())));
        entries.push(("nodes", list(nodes.iter().cloned().map(Value::Str))));
    }
    entries.push(("causes", list(fault.causes.iter().map(|cause| fault_value(cause, None)))));
    map(entries)
}

/// The path as it is below a folder, for programs that know where they are.
fn below<'p>(path: &'p str, folder: &str) -> &'p str {
    let rest = path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/'));
    rest.unwrap_or(path)
}

/// Workflow commands of GitHub, one a line: paths are below `folder` where they can be.
pub fn github(findings: &[Finding], folder: &str) -> String {
    let mut lines = Vec::new();
    for finding in findings {
        let fault = &finding.fault;
        let kind = match finding.level {
            Level::Error => "error",
            Level::Warning => "warning",
            Level::Info | Level::Off => "notice",
        };
        let mut line = format!("::{kind} ");
        if let Some(site) = &fault.site {
            let _ = write!(line, "file={},", property(&inert(below(&site.path, folder))));
            if site.line > 0 {
                let _ = write!(line, "line={},col={},", site.line, site.column);
            }
        }
        let _ = write!(line, "title={}::{}", property(fault.code()), message(&sentence(finding)));
        lines.push(line);
    }
    lines.join("\n")
}

/// What went wrong, the way out, and where else.
fn sentence(finding: &Finding) -> String {
    let fault = &finding.fault;
    let mut text = inert(&fault.kind.to_string());
    for note in remarks(fault) {
        let place = note.site.as_ref().map_or_else(String::new, |site| format!(" at {site}"));
        let _ = write!(text, "\n{}", inert(&format!("{}{place}", note.text)));
    }
    if let Some(help) = fault.kind.help() {
        let _ = write!(text, "\n{}", inert(&help));
    }
    text
}

/// The data of a workflow command.
fn message(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A property of a workflow command.
fn property(text: &str) -> String {
    message(text).replace(':', "%3A").replace(',', "%2C")
}

/// A log of the Static Analysis Results Interchange Format. `rules` are codes with their
/// descriptions; paths are below `folder` where they can be.
pub fn sarif(findings: &[Finding], rules: &[(&str, &str)], folder: &str) -> Value {
    let text = |text: &str| map([("text", Value::text(text))]);
    let rule =
        |(id, about): &(&str, &str)| map([("id", Value::text(*id)), ("shortDescription", text(about))]);
    let driver = map([
        ("name", Value::text("reclass")),
        ("version", Value::text(env!("CARGO_PKG_VERSION"))),
        ("rules", list(rules.iter().map(rule))),
    ]);
    let result = |finding: &Finding| {
        let level = match finding.level {
            Level::Error => "error",
            Level::Warning => "warning",
            Level::Info | Level::Off => "note",
        };
        let locations = finding.fault.site.iter().map(|site| location(site, folder));
        map([
            ("ruleId", Value::text(finding.fault.code())),
            ("level", Value::text(level)),
            ("message", text(&sentence(finding))),
            ("locations", list(locations)),
        ])
    };
    let run = map([
        ("tool", map([("driver", driver)])),
        ("columnKind", Value::text("unicodeCodePoints")),
        ("results", list(findings.iter().map(result))),
    ]);
    map([
        ("$schema", Value::text("https://json.schemastore.org/sarif-2.1.0.json")),
        ("version", Value::text("2.1.0")),
        ("runs", list([run])),
    ])
}

fn location(site: &Site, folder: &str) -> Value {
    let path = below(&site.path, folder);
    let uri = if path.starts_with('/') { format!("file://{}", escaped(path)) } else { escaped(path) };
    let mut physical = vec![("artifactLocation", map([("uri", Value::text(uri))]))];
    if site.line > 0 {
        let mut region = vec![("startLine", number(site.line)), ("startColumn", number(site.column))];
        if site.length > 0 {
            region.push(("endColumn", number(site.column.saturating_add(site.length))));
        }
        physical.push(("region", map(region)));
    }
    map([("physicalLocation", map(physical))])
}

/// A path as part of a URI.
fn escaped(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                out.push(char::from(byte));
            }
            other => {
                let _ = write!(out, "%{other:02X}");
            }
        }
    }
    out
}
