//! Gives the scalars at a place of a text other values of the same type, so that a comparison shows what
//! depends on them.
//!
//! The text stays YAML of the same form: mappings and lists keep their entries. Entries of `applications` are
//! taken out. A merge key and an alias are left as they are: they count where the anchor is.

use std::ops::Range;

use reclass::parts::model::Prefixes;
use reclass_base::pattern::{PathPattern, Progress};
use reclass_base::settings::Settings;
use reclass_base::stack::grow;
use reclass_base::value::{Key, Value};
use reclass_yaml::outline::{NodeForm, Outline, OutlineNode};
use reclass_yaml::parse_value;

/// The values to replace.
#[derive(Clone, Copy)]
pub enum MarkedValues<'s> {
    /// All values of parameters and exports, and all applications.
    All,
    /// What stands in this line, from one, and what is below a key in it.
    Line(u32),
    /// The parameters that match, and what is below them.
    Parameter(&'s PathPattern),
}

/// The suffix of a text, which no value has.
const SUFFIX: &str = "_ẋ";

struct Marker<'m> {
    text: &'m str,
    selection: MarkedValues<'m>,
    prefixes: Prefixes,
    edits: Vec<(Range<usize>, String)>,
}

/// The text with other values; `None` if the selection chooses none, or if the text is no YAML.
pub fn marked(text: &str, selection: &MarkedValues<'_>, settings: &Settings) -> Option<String> {
    let outline = Outline::read(text.as_bytes()).ok()?;
    let prefixes = Prefixes::new(settings);
    let mut marker = Marker { text, selection: *selection, prefixes, edits: Vec::new() };
    for section in outline.root.as_ref()?.entries() {
        let in_line = marker.is_in_line(&section.key);
        match (section.name.text().as_deref(), selection) {
            (Some("parameters"), MarkedValues::Parameter(pattern)) => {
                marker.values(&section.value, false, Some(&pattern.start()));
            }
            (_, MarkedValues::Parameter(_)) => {}
            (Some("parameters" | "exports"), _) => {
                marker.values(&section.value, in_line || matches!(selection, MarkedValues::All), None);
            }
            (Some("applications"), _) => marker.entries_of_list(&section.value, in_line),
            (Some("environment"), MarkedValues::Line(_)) => marker.values(&section.value, in_line, None),
            _ => {}
        }
    }
    marker.edits.sort_by_key(|(range, _)| range.start);
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for (range, new) in &marker.edits {
        out.push_str(text.get(at..range.start)?);
        out.push_str(new);
        at = range.end;
    }
    out.push_str(text.get(at..)?);
    (!marker.edits.is_empty()).then_some(out)
}

impl Marker<'_> {
    /// Whether a node stands in the chosen line.
    fn is_in_line(&self, node: &OutlineNode) -> bool {
        let MarkedValues::Line(line) = self.selection else { return false };
        let line_of = |offset: usize| {
            let before = self.text.get(..offset).unwrap_or_default();
            u32::try_from(before.matches('\n').count() + 1).unwrap_or(u32::MAX)
        };
        let last = node.end.saturating_sub(1).max(node.content);
        (line_of(node.content)..=line_of(last)).contains(&line)
    }

    /// Replaces the chosen values of a node. `progress` is that of the pattern of a parameter.
    fn values(&mut self, node: &OutlineNode, is_chosen: bool, progress: Option<&Progress>) {
        let pattern =
            if let MarkedValues::Parameter(pattern) = self.selection { Some(pattern) } else { None };
        let pattern = pattern.zip(progress);
        let chooses = |next: &Option<Progress>| {
            pattern.zip(next.as_ref()).is_some_and(|((pattern, _), next)| pattern.is_match(next))
        };
        match &node.form {
            NodeForm::BlockMapping(pairs) | NodeForm::FlowMapping(pairs) => {
                for pair in pairs {
                    let Some(name) = pair.name.text() else { continue };
                    let key = Key::from(self.prefixes.name(&name));
                    let next = pattern.map(|(pattern, progress)| pattern.step(progress, &key));
                    let is_chosen = is_chosen || chooses(&next) || self.is_in_line(&pair.key);
                    grow(|| self.values(&pair.value, is_chosen, next.as_ref()));
                }
                if pairs.is_empty() && is_chosen {
                    self.edits.push((node.content..node.end, format!("{{{SUFFIX}: 0}}")));
                }
            }
            NodeForm::BlockSequence(items) | NodeForm::FlowSequence(items) => {
                for (at, item) in items.iter().enumerate() {
                    let next =
                        pattern.map(|(pattern, progress)| pattern.step_item(progress, at, items.len()));
                    grow(|| self.values(item, is_chosen || chooses(&next), next.as_ref()));
                }
                if items.is_empty() && is_chosen {
                    self.edits.push((node.content..node.end, format!("[{SUFFIX}]")));
                }
            }
            NodeForm::Alias => {}
            _ if is_chosen || self.is_in_line(node) => self.scalar(node),
            _ => {}
        }
    }

    /// Replaces a scalar by another one of its type; null by a text.
    fn scalar(&mut self, node: &OutlineNode) {
        let range = node.content..node.end;
        let written = self.text.get(range.clone()).unwrap_or_default();
        let edit = match &node.form {
            NodeForm::Plain => match parse_value(written) {
                Ok(Value::Bool(is)) => (range, (!is).to_string()),
                Ok(Value::Int(number)) => (range, number.wrapping_add(1).to_string()),
                Ok(Value::Float(number)) => (range, if number > 1.0 { "0.5" } else { "1.5" }.to_owned()),
                Ok(Value::Null) => (range, SUFFIX.to_owned()),
                _ => (range.end..range.end, SUFFIX.to_owned()),
            },
            NodeForm::SingleQuoted | NodeForm::DoubleQuoted => {
                let end = range.end.saturating_sub(1);
                (end..end, SUFFIX.to_owned())
            }
            NodeForm::BlockScalar => {
                let header = written.find('\n').unwrap_or(written.len());
                let end = range.start + written.trim_end().len().max(header);
                // Without a line there is no indentation to follow.
                if end == range.start + header {
                    return;
                }
                (end..end, SUFFIX.to_owned())
            }
            NodeForm::Empty => (range.start..range.start, format!(" {SUFFIX}")),
            _ => return,
        };
        self.edits.push(edit);
    }

    /// Takes the chosen entries out of a list of names.
    fn entries_of_list(&mut self, node: &OutlineNode, all: bool) {
        let (NodeForm::BlockSequence(items) | NodeForm::FlowSequence(items)) = &node.form else { return };
        let all = all || matches!(self.selection, MarkedValues::All);
        let chosen = items.iter().filter(|item| all || self.is_in_line(item));
        // An application of this name removes one that nobody has.
        let edits: Vec<_> = chosen.map(|item| (item.start..item.end, format!("'~{SUFFIX}'"))).collect();
        self.edits.extend(edits);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reclass_base::value::Map;

    fn mark(text: &str, selection: &MarkedValues<'_>) -> Option<String> {
        let settings = Settings::from_options(&Map::default()).expect("the defaults are right").0;
        marked(text, selection, &settings).map(|text| text.replace(SUFFIX, "#"))
    }

    #[test]
    fn a_line_has_other_values_of_the_same_types() {
        let text = "applications:\n- a\n- b\nparameters:\n  x: 1 # one\n  y: {a: yes, b: 'c', d: [e, 1.5]}\n  z: |\n    f\n\n  ~w: \"g\"\n  n:\n  m: {}\n";
        for (line, from, to) in [
            (2, "- a", "- '~#'"),
            (5, "x: 1", "x: 2"),
            (6, "{a: yes, b: 'c', d: [e, 1.5]}", "{a: false, b: 'c#', d: [e#, 0.5]}"),
            (7, "    f", "    f#"),
            (8, "    f", "    f#"),
            (10, "\"g\"", "\"g#\""),
            (11, "n:", "n: #"),
            (12, "{}", "{#: 0}"),
        ] {
            assert_eq!(mark(text, &MarkedValues::Line(line)), Some(text.replace(from, to)), "line {line}");
        }
        assert_eq!(mark(text, &MarkedValues::Line(40)), None);
    }

    #[test]
    fn a_parameter_has_other_values_below_it() {
        let text = "parameters:\n  ~a: {b: 1, c: 1}\n  d: [{e: 1}, {e: 1}]\nexports: {a: 1}\n";
        for (path, from, to) in [
            ("a", "{b: 1, c: 1}", "{b: 2, c: 2}"),
            ("a:b", "b: 1", "b: 2"),
            ("d:-1:e", ", {e: 1}", ", {e: 2}"),
        ] {
            let pattern = PathPattern::new(path, ":");
            assert_eq!(
                mark(text, &MarkedValues::Parameter(&pattern)),
                Some(text.replace(from, to)),
                "{path}"
            );
        }
    }
}
