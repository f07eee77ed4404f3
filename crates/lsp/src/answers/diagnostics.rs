//! Findings of lint as diagnostics. Texts and levels are those of `reclass lint`.

use std::collections::BTreeMap;

use lsp_types::{
    Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, Location, NumberOrString, Range,
};
use reclass::Finding;
use reclass::report::Level;
use reclass::source::Site;

use crate::text::{Encoding, uri_of};

/// The diagnostics of each file, by its path. Findings without a place have no file to be shown in.
pub fn by_file(
    findings: &[Finding],
    text: &dyn Fn(&str) -> Option<String>,
    encoding: Encoding,
) -> BTreeMap<String, Vec<Diagnostic>> {
    let mut texts: BTreeMap<String, Option<String>> = BTreeMap::new();
    // Many findings are in one file.
    let mut range_of = |site: &Site| {
        let text = texts.entry(site.path.to_string()).or_insert_with(|| text(&site.path));
        encoding.site(text.as_deref().unwrap_or_default(), site)
    };
    let mut files: BTreeMap<String, Vec<Diagnostic>> = BTreeMap::new();
    for finding in findings {
        let Some(site) = &finding.fault.site else { continue };
        let range = range_of(site);
        let severity = match finding.level {
            Level::Error => DiagnosticSeverity::ERROR,
            Level::Warning => DiagnosticSeverity::WARNING,
            Level::Info | Level::Off => DiagnosticSeverity::INFORMATION,
        };
        files.entry(site.path.to_string()).or_default().push(Diagnostic {
            range,
            severity: Some(severity),
            code: Some(NumberOrString::String(finding.fault.code().to_owned())),
            source: Some("reclass".into()),
            message: message(finding),
            related_information: related(finding, &mut range_of),
            ..Diagnostic::default()
        });
    }
    files
}

/// The message with the node, the notes without a place, and the help.
pub fn message(finding: &Finding) -> String {
    let fault = &finding.fault;
    let mut message = fault.kind.to_string();
    // A note names the others.
    if let Some(first) = finding.nodes.first() {
        message = format!("{message} (node {first})");
    }
    for note in fault.notes.iter().filter(|note| note.site.is_none()) {
        message = format!("{message}\n{}", note.text);
    }
    match fault.kind.help() {
        Some(help) => format!("{message}\nhelp: {help}"),
        None => message,
    }
}

/// The include chain and the notes with a place.
fn related(
    finding: &Finding,
    range_of: &mut impl FnMut(&Site) -> Range,
) -> Option<Vec<DiagnosticRelatedInformation>> {
    let fault = &finding.fault;
    let mut at = |site: &Site, message: String| {
        let location = Location::new(uri_of(&*site.path)?, range_of(site));
        Some(DiagnosticRelatedInformation { location, message })
    };
    let mut related = Vec::new();
    for note in &fault.notes {
        related.extend(note.site.as_ref().and_then(|site| at(site, note.text.clone())));
    }
    for link in &fault.chain {
        let message = format!("{} includes class '{}'", link.includer, link.class);
        related.extend(link.site.as_ref().and_then(|site| at(site, message)));
    }
    (!related.is_empty()).then_some(related)
}
