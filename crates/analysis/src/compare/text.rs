//! Writes a comparison as text: the differences below their causes, those without a cause first.

use std::fmt::Write as _;

use super::{ExplainedDifference, ProgramComparison};
use crate::diff::{NAMED, PROGRAMS, blocks, summary_lines};
use reclass::style::{Paint, Style};
use reclass_base::error::inert;
use reclass_base::words::{count, listed};
use reclass_yaml::emit::{EmitOptions, emit};

/// The text of a comparison. `named` is the number of names above a block.
pub fn text(comparison: &ProgramComparison, named: usize, paint: Paint) -> String {
    written(comparison, paint, |cause| blocks(&cause.difference, &PROGRAMS, named, paint))
}

/// A summary: the number of nodes of each path, below the causes.
pub fn summary(comparison: &ProgramComparison, named: usize, paint: Paint) -> String {
    written(comparison, paint, |cause| summary_lines(&cause.difference, &PROGRAMS, named) + "\n")
}

fn written(
    comparison: &ProgramComparison,
    paint: Paint,
    blocks: impl Fn(&ExplainedDifference) -> String,
) -> String {
    let mut out = String::new();
    for cause in &comparison.causes {
        out.push_str(&heading(cause, paint));
        out.push('\n');
        out.push_str(&blocks(cause));
    }
    if !comparison.unanswered.is_empty() {
        let named = listed(&comparison.unanswered, NAMED);
        let number = count(comparison.unanswered.len(), "node");
        let verb = if comparison.unanswered.len() == 1 { "is" } else { "are" };
        let _ = writeln!(out, "{number} {verb} not compared, without an old answer: {named}");
    }
    out.push_str(&counted(comparison));
    out.push_str(&settings(comparison));
    out.push_str(&remedy(comparison));
    out
}

/// `unexplained`, or the rulings with their sentences and settings.
fn heading(cause: &ExplainedDifference, paint: Paint) -> String {
    if cause.rulings.is_empty() {
        return paint.of(Style::Error, "unexplained: see 'reclass explain NODE PATH'") + "\n";
    }
    let mut out = String::new();
    for ruling in &cause.rulings {
        let name = paint.of(Style::Heading, ruling.ruling);
        let _ = writeln!(out, "{name}: {}", ruling.sentence);
        if let Some(setting) = &ruling.setting {
            let line = emit(setting, &EmitOptions { pretty: false, no_refs: true });
            let _ = writeln!(out, "  the old value: {}", line.trim_end().trim_matches(['{', '}']));
        }
    }
    out
}

fn counted(comparison: &ProgramComparison) -> String {
    let nodes = count(comparison.nodes, "node");
    if comparison.is_empty() {
        return format!("nothing differs in {nodes}");
    }
    let changes: usize = comparison.causes.iter().map(|cause| cause.difference.count()).sum();
    let verb = if comparison.touched == 1 { "differs" } else { "differ" };
    let changes = count(changes, "difference");
    format!("{} of {nodes} {verb}: {changes}, {} unexplained", comparison.touched, comparison.unexplained)
}

/// The settings of both sides: other ones make differences too.
fn settings(comparison: &ProgramComparison) -> String {
    if comparison.is_empty() {
        return String::new();
    }
    let here =
        comparison.new_settings.as_ref().map_or("those of the call, no file".into(), |file| inert(file));
    format!("\nsettings here: {here}; of the old answers: {}", comparison.old_settings)
}

/// The settings that give old values back.
fn remedy(comparison: &ProgramComparison) -> String {
    let Some(settings) = &comparison.settings else { return String::new() };
    let settings = emit(settings, &EmitOptions { pretty: true, no_refs: true });
    let rest = match comparison.remaining {
        0 => "no node differs",
        1 => "1 node still differs",
        _ => &format!("{} nodes still differ", comparison.remaining),
    };
    format!("\n\nWith these settings {rest}:\n\n{}", settings.trim_end())
}
