//! Finds what people wrote about a class and its parameters: the first comment of a file, and the comments above
//! keys.

use rustc_hash::FxHashMap;

use reclass::parts::model::Prefixes;
use reclass::redact::Redaction;
use reclass_base::path::join_path;
use reclass_base::stack::grow;
use reclass_base::value::Key;
use reclass_yaml::outline::{NodeForm, Outline, OutlineNode};

/// The comments above the keys of a section, by path.
pub type KeyComments = FxHashMap<String, String>;

/// The comments that silence lint say nothing about a value.
const SILENCE: &str = "reclass: ignore";

/// The comment at the beginning of a file; empty without one.
pub fn first_comment(text: &str) -> String {
    let lines = text.lines().skip_while(|line| line.trim().is_empty() || *line == "---");
    joined(lines.map_while(comment_of_line))
}

/// The comments above the keys of `parameters` and of `exports`. The text must be one that a layer was read from.
/// Secrets in comments are hidden like those in values. Without `prefixes`, the paths have the keys as they are written.
pub fn key_comments(
    text: &str,
    prefixes: Option<&Prefixes>,
    delimiter: &str,
    redaction: &Redaction,
) -> [KeyComments; 2] {
    let mut found = [KeyComments::default(), KeyComments::default()];
    let outline = Outline::read(text.as_bytes());
    let Ok(Outline { root: Some(OutlineNode { form: NodeForm::BlockMapping(sections), .. }), .. }) = outline
    else {
        return found;
    };
    let mut walk = CommentWalk {
        text,
        prefixes,
        delimiter,
        redaction,
        end: 0,
        path: Vec::new(),
        found: KeyComments::default(),
    };
    for section in &sections {
        walk.end = walk.end.max(section.key.end);
        walk.below(&section.value);
        let comments = std::mem::take(&mut walk.found);
        match section.name.text().as_deref() {
            Some("parameters") => found[0] = comments,
            Some("exports") => found[1] = comments,
            _ => {}
        }
    }
    found
}

struct CommentWalk<'a> {
    text: &'a str,
    prefixes: Option<&'a Prefixes>,
    delimiter: &'a str,
    redaction: &'a Redaction,
    /// The end of the scalars so far: a `#` before it may be part of one.
    end: usize,
    path: Vec<Key>,
    found: KeyComments,
}

impl CommentWalk<'_> {
    fn below(&mut self, node: &OutlineNode) {
        grow(|| match &node.form {
            NodeForm::BlockMapping(entries) => {
                for entry in entries {
                    let comment = self.above(entry.key.start);
                    let name = entry.name.text().unwrap_or_default();
                    let bare = self.prefixes.map_or(&*name, |prefixes| prefixes.name(&name));
                    self.path.push(Key::from(bare));
                    if !comment.is_empty() {
                        let path = join_path(&self.path, self.delimiter);
                        self.found.insert(path, self.redaction.masked(&comment));
                    }
                    self.end = self.end.max(entry.key.end);
                    self.below(&entry.value);
                    self.path.pop();
                }
            }
            // Mappings in lists are no parameters of their own.
            _ => self.end = self.end.max(node.end_of_all()),
        });
    }

    /// The comment in the lines above a key, if it begins in the column of the key: another one belongs to the block
    /// before. One with a line across is the heading of what follows.
    fn above(&self, key: usize) -> String {
        let Some(between) = self.text.get(self.end..key) else { return String::new() };
        let column = self.text.get(..key).map_or(0, |before| key - before.rfind('\n').map_or(0, |at| at + 1));
        // The first of these lines is the rest of the line of the scalar before.
        let mut lines: Vec<&str> = between.split('\n').collect();
        lines.pop();
        let is_whole = self.end == 0;
        let lines = lines.into_iter().skip(usize::from(!is_whole)).rev();
        let is_beside = |line: &&str| line.find('#') == Some(column) && comment_of_line(line).is_some();
        let mut lines: Vec<&str> = lines.take_while(is_beside).collect();
        lines.reverse();
        if lines.iter().any(|line| is_ruler(line)) {
            return String::new();
        }
        joined(lines.into_iter().filter_map(comment_of_line))
    }
}

/// Whether a line is a ruler: `# -----`, `#####`.
fn is_ruler(line: &str) -> bool {
    let line = line.trim();
    line.len() > 3 && !line.contains(char::is_alphanumeric)
}

/// The text of a line that is a comment.
fn comment_of_line(line: &str) -> Option<&str> {
    Some(line.trim().strip_prefix('#')?.trim_start_matches('#').trim())
}

fn joined<'l>(lines: impl Iterator<Item = &'l str>) -> String {
    let lines: Vec<&str> = lines.filter(|line| !line.starts_with(SILENCE)).collect();
    lines.join("\n").trim_matches('\n').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use reclass_base::settings::Settings;
    use reclass_base::value::Map;

    #[test]
    fn a_comment_belongs_to_the_key_below() {
        let text = "\
# The file.
parameters:
  # Number of
  # processes.
  workers: 2  # not this
  # reclass: ignore[tab]
  a:
    # Inner.
    ~b: |
      # text
  c: 1

  # Far away.

  d: [1,
  # within
  2]
  # password: fisher22
  e:
    - x: 1
      # in a list
      y: 2
  f: {
    # flow
    g: 1}
    # k: 1
  i: 1
  # ---------
  # Section
  # ---------
  j: 1
  ########
  # Another
  ########
  k: 1
  # Last.
  h:
exports:
  # Out.
  i: 1
";
        let settings = Settings::from_options(&Map::default()).expect("the defaults are right").0;
        let [parameters, exports] =
            key_comments(text, Some(&Prefixes::new(&settings)), ":", &Redaction::of(&settings));
        let mut found: Vec<_> = parameters.iter().map(|(path, text)| format!("{path}={text}")).collect();
        found.sort_unstable();
        assert_eq!(found, ["a:b=Inner.", "e=password: ***", "h=Last.", "workers=Number of\nprocesses."]);
        assert_eq!(exports.get("i").map(String::as_str), Some("Out."));
        assert_eq!(first_comment(text), "The file.");
        assert_eq!(first_comment("---\n\n# One.\n#\n# Two.\nx: 1\n"), "One.\n\nTwo.");
    }
}
