//! Comments in a file can suppress findings.
//!
//! `# reclass: ignore` at the end of a line, or alone on the line above it, suppresses all findings on that
//! line; `# reclass: ignore[tab, secret-plain]` suppresses these rules only. `# reclass:
//! ignore-file[odd-name]` suppresses these rules in the whole file, including findings about the file itself.
//! A comment in another form, or with an unknown rule, suppresses nothing. Errors cannot be suppressed,
//! because no node renders with them.

use rustc_hash::{FxHashMap, FxHashSet};

use reclass::Inventory;
use reclass_base::error::Fault;
use reclass_base::stack::grow;
use reclass_yaml::compose::compose;
use reclass_yaml::outline::{NodeForm, Outline, OutlineNode};

use super::OptionsFile;
use super::rules::rule;

/// The comments of the files seen so far.
pub(super) struct Silence<'a> {
    inventory: &'a Inventory,
    options: &'a dyn OptionsFile,
    files: FxHashMap<String, FileSilence>,
}

/// What the comments of one file suppress.
#[derive(Default)]
struct FileSilence {
    /// The rules that are suppressed in the whole file.
    codes: FxHashSet<String>,
    /// The rules that are suppressed in a line, by the comment in it and the one above; no rule for all.
    lines: FxHashMap<u32, Vec<Vec<String>>>,
}

impl FileSilence {
    fn of(comments: Vec<Comment>) -> FileSilence {
        let mut silence = FileSilence::default();
        for Comment { line, codes } in comments {
            match line {
                Some(line) => silence.lines.entry(line).or_default().push(codes),
                None => silence.codes.extend(codes),
            }
        }
        silence
    }

    fn covers(&self, line: u32, code: &str) -> bool {
        let here = self.lines.get(&line).into_iter().flatten();
        self.codes.contains(code)
            || here.into_iter().any(|codes| codes.is_empty() || codes.iter().any(|known| known == code))
    }
}

struct Comment {
    /// The line; `None` for the whole file.
    line: Option<u32>,
    /// The rules; empty for all rules.
    codes: Vec<String>,
}

impl<'a> Silence<'a> {
    pub(super) fn new(inventory: &'a Inventory, options: &'a dyn OptionsFile) -> Silence<'a> {
        Silence { inventory, options, files: FxHashMap::default() }
    }

    /// Whether a comment suppresses this finding.
    pub(super) fn covers(&mut self, fault: &Fault) -> bool {
        let Some(site) = fault.site.as_ref().filter(|_| rule(fault.code()).is_some()) else { return false };
        let (inventory, options) = (self.inventory, self.options);
        let text = || inventory.text(&site.path).or_else(|| options.text(&site.path));
        let entry = self.files.entry(site.path.to_string());
        let silence = entry.or_insert_with(|| {
            text().map_or_else(FileSilence::default, |text| FileSilence::of(comments(&text)))
        });
        silence.covers(site.line, fault.code())
    }
}

/// The suppressing comments of a text.
fn comments(text: &str) -> Vec<Comment> {
    const MARK: &str = "# reclass: ignore";
    if !text.contains(MARK) {
        return Vec::new();
    }
    let data = scalars(text);
    let mut found = Vec::new();
    let mut offset = 0;
    for (number, line) in (1u32..).zip(text.split_inclusive('\n')) {
        let start = offset;
        offset += line.len();
        let mut marks = line.match_indices(MARK).map(|(at, _)| at);
        // The scalars are in order, and do not overlap.
        let inside = |at: usize| {
            let behind = data.partition_point(|(from, _)| *from <= start + at);
            behind.checked_sub(1).and_then(|last| data.get(last)).is_some_and(|(_, to)| start + at < *to)
        };
        let Some(at) = marks.find(|at| !inside(*at)) else { continue };
        let (before, after) = (&line[..at], &line[at + MARK.len()..]);
        let (after, file) = after.strip_prefix("-file").map_or((after, false), |after| (after, true));
        let Some(codes) = codes(after, file) else { continue };
        let own_line = before.trim().is_empty();
        let line = (!file).then_some(if own_line { number + 1 } else { number });
        found.push(Comment { line, codes });
    }
    found
}

/// The rules that a comment names after the marker; empty for all rules. `None` if the comment has another
/// form. For a whole file the codes are required.
fn codes(after: &str, file: bool) -> Option<Vec<String>> {
    let blank = after.trim_start_matches([' ', '\t']);
    if let Some(rest) = blank.strip_prefix('[') {
        let (codes, _) = rest.split_once(']')?;
        return Some(codes.split(',').map(|code| code.trim().to_owned()).collect());
    }
    // A second comment may give the reason.
    let ends = blank.trim().is_empty() || blank.len() < after.len() && blank.starts_with('#');
    (ends && !file).then(Vec::new)
}

/// Byte ranges of the scalars in a text: a `#` inside a scalar is data. For a text that is not YAML only its
/// errors are reported.
fn scalars(text: &str) -> Vec<(usize, usize)> {
    fn collect(piece: &OutlineNode, text: &str, out: &mut Vec<(usize, usize)>) {
        grow(|| match &piece.form {
            NodeForm::Alias | NodeForm::Empty => {}
            NodeForm::BlockScalar => {
                // A comment may follow the header of a block scalar.
                let head =
                    text[piece.content..piece.end].find('\n').map_or(piece.end, |at| piece.content + at);
                out.push((head, piece.end));
            }
            NodeForm::Plain | NodeForm::SingleQuoted | NodeForm::DoubleQuoted => {
                out.push((piece.content, piece.end));
            }
            NodeForm::FlowSequence(items) | NodeForm::BlockSequence(items) => {
                for item in items {
                    collect(item, text, out);
                }
            }
            NodeForm::FlowMapping(pairs) | NodeForm::BlockMapping(pairs) => {
                for pair in pairs {
                    collect(&pair.key, text, out);
                    collect(&pair.value, text, out);
                }
            }
        });
    }
    let mut found = Vec::new();
    let outline = compose(text.as_bytes()).and_then(|_| Outline::read(text.as_bytes()));
    if let Ok(Outline { root: Some(root), .. }) = &outline {
        collect(root, text, &mut found);
    }
    found
}
