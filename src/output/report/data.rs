//! Findings as data: JSON, GitHub annotations, and SARIF 2.1.0.

use std::fmt::Write as _;

use serde::{Serialize, Serializer};
use serde_json::json;

use super::finding::{Finding, Level};
use super::remarks;
use crate::storage::fs::percent_encoded;
use reclass_base::error::{Fault, Link, Note, inert, short};
use reclass_base::source::Site;
use reclass_base::value::Text;

/// An error or a finding.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
struct DiagnosticData<'f> {
    /// The stable code of the error or rule.
    code: &'f str,
    /// The level of a finding; absent for its causes.
    #[serde(skip_serializing_if = "Option::is_none")]
    level: Option<Level>,
    /// The message.
    message: String,
    /// The place.
    site: Option<&'f Site>,
    /// The path of the parameter or export that contains it.
    path: Option<String>,
    /// Whether the path is one of the exports.
    export: bool,
    /// The include chain from the node to the file.
    chain: &'f [Link],
    /// Notes on other places.
    notes: Vec<NoteData<'f>>,
    /// How to repair the cause.
    help: Option<String>,
    /// The nodes that have a finding; absent for its causes.
    #[serde(skip_serializing_if = "Option::is_none")]
    nodes: Option<&'f [Text]>,
    /// The errors that caused it.
    causes: Vec<DiagnosticData<'f>>,
}

/// A note.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
struct NoteData<'f> {
    /// The message.
    message: String,
    /// The place.
    site: Option<&'f Site>,
}

impl<'f> DiagnosticData<'f> {
    fn of(fault: &'f Fault) -> DiagnosticData<'f> {
        let data = |note: &'f Note| NoteData { message: short(&note.text).into(), site: note.site.as_ref() };
        DiagnosticData {
            code: fault.code(),
            level: None,
            message: fault.kind.to_string(),
            site: fault.site.as_ref(),
            path: fault.path.as_deref().map(|path| short(path).into()),
            export: fault.export,
            chain: &fault.chain,
            notes: fault.notes.iter().map(data).collect(),
            help: fault.kind.help(),
            nodes: None,
            causes: fault.causes.iter().map(DiagnosticData::of).collect(),
        }
    }
}

impl Serialize for Finding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (level, nodes) = (Some(self.level), Some(self.nodes.as_slice()));
        DiagnosticData { level, nodes, ..DiagnosticData::of(&self.fault) }.serialize(serializer)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Finding {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        DiagnosticData::schema_name()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        DiagnosticData::json_schema(generator)
    }
}

/// Data as JSON that every reader accepts (RFC 8259). All characters except printable ASCII are escaped, so
/// no answer sends a control character to a terminal.
#[expect(clippy::missing_panics_doc, reason = "keys are strings, and nothing else fails")]
pub fn to_json(data: &impl Serialize) -> String {
    ascii(&serde_json::to_string_pretty(data).expect("keys are strings, and nothing else fails"))
}

/// The same on one line.
#[expect(clippy::missing_panics_doc, reason = "keys are strings, and nothing else fails")]
pub fn to_json_line(data: &impl Serialize) -> String {
    ascii(&serde_json::to_string(data).expect("keys are strings, and nothing else fails"))
}

fn ascii(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '\n' | ' '..='~' => out.push(c),
            _ => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
    out
}

/// The path relative to a folder, for programs that know their folder.
pub fn below<'p>(path: &'p str, folder: &str) -> &'p str {
    let rest = path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/'));
    rest.unwrap_or(path)
}

/// GitHub workflow commands, one per line. Paths are relative to `folder` if they are below it.
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

/// The message, the help, and the other places.
fn sentence(finding: &Finding) -> String {
    let fault = &finding.fault;
    // The lines of a message stay lines: an error in the result of a test has several.
    let mut text = fault.kind.to_string().lines().map(inert).collect::<Vec<_>>().join("\n");
    for note in remarks(fault) {
        let place = note.site.as_ref().map_or_else(String::new, |site| format!(" at {site}"));
        let _ = write!(text, "\n{}", inert(&format!("{}{place}", note.text)));
    }
    if let Some(help) = fault.kind.help() {
        let _ = write!(text, "\n{}", inert(&help));
    }
    text
}

/// Escapes the data of a workflow command.
fn message(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes a property of a workflow command.
fn property(text: &str) -> String {
    message(text).replace(':', "%3A").replace(',', "%2C")
}

/// A log in the Static Analysis Results Interchange Format. `rules` are codes with their descriptions; paths
/// are relative to `folder` if they are below it.
pub fn sarif(findings: &[Finding], rules: &[(&str, &str)], folder: &str) -> serde_json::Value {
    let rule = |(id, about): &(&str, &str)| json!({"id": id, "shortDescription": {"text": about}});
    let result = |finding: &Finding| {
        let level = match finding.level {
            Level::Error => "error",
            Level::Warning => "warning",
            Level::Info | Level::Off => "note",
        };
        json!({
            "ruleId": finding.fault.code(),
            "level": level,
            "message": {"text": sentence(finding)},
            "locations": finding.fault.site.iter().map(|site| location(site, folder)).collect::<Vec<_>>(),
        })
    };
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "reclass",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules.iter().map(rule).collect::<Vec<_>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "results": findings.iter().map(result).collect::<Vec<_>>(),
        }],
    })
}

fn location(site: &Site, folder: &str) -> serde_json::Value {
    let path = below(&site.path, folder);
    let scheme = if path.starts_with('/') { "file://" } else { "" };
    let uri = format!("{scheme}{}", percent_encoded(path));
    let mut physical = json!({"artifactLocation": {"uri": uri}});
    if site.line > 0 {
        physical["region"] = json!({"startLine": site.line, "startColumn": site.column});
        if site.length > 0 {
            physical["region"]["endColumn"] = site.column.saturating_add(site.length).into();
        }
    }
    json!({"physicalLocation": physical})
}
