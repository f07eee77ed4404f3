//! Source turns the text of a file into the same with stars where secrets stand, one for a character,
//! so that columns hold.
//!
//! What stands behind a secret key is known from the text as YAML has it, in whatever style. Lines
//! are looked at beside it: comments among secrets are secret too, and of a text that is not YAML
//! there is nothing else.

use std::ops::Range;

use rustc_hash::FxHashSet;

use super::known::Known;
use super::{Secrets, deeper};
use crate::value::Value;
use crate::yaml::compose::{Data, Document, Node, compose};
use crate::yaml::outline::{Form, Outline, Piece};

/// Of longer texts, in bytes, nothing is shown: to tell what is secret in them takes memory.
const LARGEST: usize = 1 << 20;

impl Secrets {
    /// The text of a YAML file with what stands behind secret keys as stars; nothing of
    /// one that is too long.
    pub fn source(&self, text: &str) -> String {
        if self.keys.is_empty() {
            return text.to_owned();
        }
        if text.len() > LARGEST {
            return String::new();
        }
        // An outline is only there for what can be composed.
        let document = compose(text.as_bytes()).ok();
        let outline = document.as_ref().and_then(|_| Outline::read(text.as_bytes()).ok());
        let stars = |word: &str| word.chars().map(star).collect();
        let shown = |text: &str, known| self.lines(&self.defaults(&self.queries(text, stars), stars), known);
        let Some(root) = outline.as_ref().and_then(|outline| outline.root.as_ref()) else {
            return shown(text, false);
        };
        let mut found = Found { text, ranges: Vec::new(), aliases: FxHashSet::default() };
        self.find(root, &mut found);
        if let Some(document) = document.as_ref().filter(|_| text.contains('\\')) {
            let root = document.root.iter();
            root.for_each(|node| self.escaped(node, document, &mut found));
        }
        if !found.aliases.is_empty() {
            let aliases = std::mem::take(&mut found.aliases);
            found.anchored(root, &aliases);
        }
        let starred = found.starred();
        let known = document.as_ref().map_or_else(Known::default, |document| self.known_in(document));
        shown(&found.copied(&starred, known), true)
    }

    /// Scalars in which escapes hide from the text what names a secret.
    fn escaped(&self, node: &Node, document: &Document, found: &mut Found<'_>) {
        let mut scalar = |value: &Value, index: u32| {
            let (Value::Str(value), Some(span)) = (value, document.spans.get(index as usize)) else { return };
            let range = span.start as usize..span.end as usize;
            let written = found.text.get(range.clone()).unwrap_or_default();
            let mask = |_: &str| String::new();
            let tells = || self.queries(value, mask) != **value || self.defaults(value, mask) != **value;
            if written.contains('"') && written.contains('\\') && tells() {
                found.ranges.push(range);
            }
        };
        match &node.data {
            Data::Value(value) => scalar(value, node.index),
            Data::List(items) => {
                items.iter().for_each(|item| deeper(|| self.escaped(item, document, found)));
            }
            Data::Map(entries) => {
                for entry in entries.iter() {
                    scalar(&entry.key.0, entry.key_index);
                }
                for entry in entries.iter() {
                    deeper(|| self.escaped(&entry.value, document, found));
                }
            }
        }
    }

    fn find(&self, piece: &Piece, found: &mut Found<'_>) {
        deeper(|| match &piece.form {
            Form::FlowMapping(pairs) | Form::BlockMapping(pairs) => {
                for pair in pairs {
                    let name = pair.name.text().unwrap_or_default();
                    if self.is_secret_name(name.trim_start_matches(['~', '='])) {
                        found.secret(&pair.value);
                    } else {
                        self.find(&pair.key, found);
                        self.find(&pair.value, found);
                    }
                }
            }
            Form::FlowSequence(items) | Form::BlockSequence(items) => {
                for item in items {
                    self.find(item, found);
                }
            }
            _ => {}
        });
    }

    /// Stars by lines. `known`: what stands in brackets is done already.
    fn lines(&self, text: &str, known: bool) -> String {
        let mut out = String::with_capacity(text.len());
        // The indentation of the secret key that the lines below belong to.
        let mut inside: Option<usize> = None;
        // Whether the value of a secret key must begin in the next line.
        let mut next = false;
        let starred = if known { starred_around } else { starred };
        // Whether a line ended with a secret key, whose colon may come in the next one.
        let mut key = false;
        for line in text.split_inclusive('\n') {
            let indent = line.len() - line.trim_start_matches(' ').len();
            let blank = line.trim().is_empty();
            if inside.is_some_and(|outer| !blank && indent <= outer) {
                inside = None;
            }
            if inside.is_some() {
                out.push_str(&starred(line));
                next &= blank;
                continue;
            }
            let colon = indent + usize::from(line[indent..].starts_with(':'));
            if key && !known && colon > indent {
                out.push_str(&line[..colon]);
                out.push_str(&starred(&line[colon..]));
                inside = Some(indent);
                next = line[colon..].trim().is_empty();
                key = false;
                continue;
            }
            let last = line.trim_end().rsplit(['{', ',', ' ', '\t']).next().unwrap_or_default();
            key = key && blank
                || self.is_secret_name(last.trim_matches(['"', '\'']).trim_start_matches(['~', '=']));
            match self.secret_key(line, known) {
                Some(at) if !(known && line[..at].contains('{')) => {
                    out.push_str(&line[..at]);
                    out.push_str(&starred(&line[at..]));
                    inside = Some(line.len() - line.trim_start_matches([' ', '-']).len());
                    next = !known && line[at..].trim().is_empty();
                }
                _ if next && !blank => {
                    // In brackets, what is not YAML may go on anywhere.
                    out.push_str(&starred(line));
                    next = false;
                }
                _ => out.push_str(line),
            }
        }
        out
    }

    /// Where the value of the first secret key of a line begins.
    /// `known`: escapes in keys were read.
    fn secret_key(&self, line: &str, known: bool) -> Option<usize> {
        let mut from = 0;
        while let Some(colon) = line[from..].find(':').map(|at| from + at) {
            from = colon + 1;
            // Behind a key in quotes, a value may follow at once.
            let quoted = line[..colon].ends_with(['"', '\'']);
            let ends = quoted || line[colon + 1..].chars().next().is_none_or(char::is_whitespace);
            if !ends {
                continue;
            }
            let before = line[..colon].trim_end();
            let start = before.rfind([' ', '{', ',', '\t']).map_or(0, |at| at + 1);
            let name = before[start..].trim_matches(['"', '\'']).trim_start_matches(['~', '=']);
            if self.is_secret_name(name) || quoted && !known && name.contains('\\') {
                return Some(from);
            }
        }
        None
    }
}

/// What is secret in a text.
struct Found<'a> {
    text: &'a str,
    /// Stretches of it, in bytes.
    ranges: Vec<Range<usize>>,
    /// Anchors that stand for secrets.
    aliases: FxHashSet<&'a str>,
}

impl Found<'_> {
    /// All scalars of a value.
    fn secret(&mut self, piece: &Piece) {
        deeper(|| match &piece.form {
            Form::Alias => {
                self.aliases.insert(self.text[piece.start..piece.end].trim_start_matches('*'));
            }
            Form::Empty => {}
            Form::Plain | Form::SingleQuoted | Form::DoubleQuoted | Form::BlockScalar => {
                self.ranges.push(piece.content..piece.end);
            }
            Form::FlowSequence(items) | Form::BlockSequence(items) => {
                for item in items {
                    self.secret(item);
                }
            }
            Form::FlowMapping(pairs) | Form::BlockMapping(pairs) => {
                for pair in pairs {
                    self.secret(&pair.value);
                }
            }
        });
    }

    /// The values of anchors.
    fn anchored(&mut self, piece: &Piece, names: &FxHashSet<&str>) {
        if piece.anchor.as_deref().is_some_and(|anchor| names.contains(anchor)) {
            self.secret(piece);
        }
        deeper(|| match &piece.form {
            Form::FlowSequence(items) | Form::BlockSequence(items) => {
                for item in items {
                    self.anchored(item, names);
                }
            }
            Form::FlowMapping(pairs) | Form::BlockMapping(pairs) => {
                for pair in pairs {
                    self.anchored(&pair.value, names);
                }
            }
            _ => {}
        });
    }

    fn starred(&mut self) -> String {
        self.ranges.sort_by_key(|range| (range.start, range.end));
        let mut out = String::with_capacity(self.text.len());
        let mut at = 0;
        for range in &self.ranges {
            let start = range.start.max(at);
            if start < range.end {
                out.push_str(&self.text[at..start]);
                out.push_str(&starred(&self.text[start..range.end]));
                at = range.end;
            }
        }
        out.push_str(&self.text[at..]);
        out
    }

    /// Stars too where somebody wrote a secret of this text out once more.
    fn copied(&self, text: &str, mut known: Known) -> String {
        let secret = |range: &Range<usize>| {
            let written = &self.text[range.clone()];
            let quoted = |quote| written.strip_prefix(quote).and_then(|rest: &str| rest.strip_suffix(quote));
            quoted('"').or_else(|| quoted('\'')).unwrap_or(written)
        };
        for word in self.ranges.iter().map(secret).filter(|word| !word.contains('\n')) {
            known.learn(word);
        }
        known.replaced(text, |word, out| out.extend(word.chars().map(star)))
    }
}

/// Stars for all of a secret but white space, and the quotes around it or the sign that it begins with:
/// a text that looks like a reference may be a secret too.
fn starred(text: &str) -> String {
    let inner = text.trim();
    let first = inner.chars().next().filter(|first| matches!(first, '\'' | '"' | '|' | '>' | '#' | '['));
    let quote = first.filter(|first| matches!(first, '\'' | '"') && inner.len() > 1);
    let start = text.len() - text.trim_start().len();
    let end = start + inner.len();
    let kept =
        |at: usize, c: char| at == start && first.is_some() || at + c.len_utf8() == end && quote == Some(c);
    text.char_indices().map(|(at, c)| if kept(at, c) { c } else { star(c) }).collect()
}

/// Stars for what stands around secrets that are stars already: the signs of YAML stay, but for those
/// in a comment.
fn starred_around(text: &str) -> String {
    let mut comment = false;
    let mut before = ' ';
    let mut shown = |c: char| {
        let begins = c == '#' && !comment && before.is_whitespace();
        let keeps = begins || !comment && matches!(c, '\'' | '"' | '|' | '>' | '&' | '!' | '[' | ']');
        comment |= begins;
        before = c;
        if keeps { c } else { star(c) }
    };
    text.chars().map(&mut shown).collect()
}

fn star(c: char) -> char {
    if c.is_whitespace() { c } else { '*' }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;
    use crate::value::Map;

    fn secrets() -> Secrets {
        Secrets::of(&Settings::from_options(&Map::default()).expect("the defaults are right").0)
    }

    #[test]
    fn what_stands_for_a_secret_elsewhere_in_the_file_is_stars() {
        for (text, shown) in [
            (
                "parameters:\n  vault: {db: HIDDEN1, flag: no}\n  db: {password: '${vault:db}'}\n",
                "parameters:\n  vault: {db: *******, flag: no}\n  db: {password: '***********'}\n",
            ),
            (
                "parameters:\n  a: {~b: '${c}'}\n  c: HIDDEN1\n  token: ${a:b}\n  x: [no, y HIDDEN1]\n",
                "parameters:\n  a: {~b: '${c}'}\n  c: *******\n  token: ******\n  x: [no, y *******]\n",
            ),
            (
                "parameters:\n  url: pg://${db:password::HIDDEN1}@h\n  copy: [HIDDEN1, no]\n",
                "parameters:\n  url: pg://${db:password::*******}@h\n  copy: [*******, no]\n",
            ),
            (
                "parameters:\n  host: SHOWN\n  token_url: https://${host}/x\n",
                "parameters:\n  host: SHOWN\n  token_url: *****************\n",
            ),
        ] {
            assert_eq!(secrets().source(text), shown);
        }
    }

    #[test]
    fn files_keep_their_columns() {
        let text = "a: b\npassword: 'S3 CRET${x:y}z'\ntoken: |\n  abc\n  def\nc: {user: u, passwd: p, d: 1}\nl:\n  - secret: x\n    d: y\n";
        let shown = secrets().source(text);
        assert_eq!(
            shown,
            "a: b\npassword: '** ***********'\ntoken: |\n  ***\n  ***\nc: {user: u, passwd: *, d: 1}\nl:\n  - secret: *\n    d: y\n"
        );
        assert_eq!(shown.chars().count(), text.chars().count());
    }

    #[test]
    fn signs_in_a_secret_are_stars_too() {
        for (text, shown) in [
            ("password: a!b#c'd\"e&f|g>h[i]\n", "password: ******************\n"),
            ("password: 'a!b''[c]' # !x: #y\n", "password: '********' # *** **\n"),
            ("password: |\n  a!b\"c\n  'd'\n", "password: |\n  *****\n  ***\n"),
            ("b: [1\npassword: 'a!b\"c'\n", "b: [1\npassword: '*****'\n"),
            ("b: [1\npassword: a!b\"c'\n", "b: [1\npassword: ******\n"),
            ("b: [1\npassword:\n  \"a!b\n", "b: [1\npassword:\n  \"***\n"),
        ] {
            assert_eq!(secrets().source(text), shown);
        }
    }

    #[test]
    fn no_style_hides_a_secret_from_the_stars() {
        for text in [
            "password: hunter2 # before: hunter2\nopen: seen\n",
            "a: {password: \"hunter2,hunter2\", open: seen}\n",
            "a: {passwords: [hunter2, hunter2], open: seen}\n",
            "a: {token:\n   hunter2, open: seen}\n",
            "a: {\"password\":\"hunter2\", open: seen}\n",
            "\"password\":   hunter2\nopen: seen\n",
            "password :   hunter2\nopen: seen\n",
            "? password\n: hunter2\n? open\n: seen\n",
            "open: seen\napi_key: \"hunter2\n  hunter2 \\\n  hunter2\"\n",
            "password: {a: {b: [hunter2]}, c: hunter2}\nopen: seen\n",
            "passwords:\n- hunter2\n-   x: hunter2\nopen: seen\n",
            "passwords:\n  # hunter2, before\n  x: hunter2\nopen: seen\n",
            "=password: hunter2\n~token: hunter2\nopen: seen\n",
            "x: &pw hunter2\npassword: *pw\nopen: seen\n",
            "x: &pw {a: hunter2}\npassword: [*pw]\nopen: seen\n",
            "password: !!str hunter2\ntoken: &a hunter2\nopen: seen\n",
            "password: ${a::hunter2}\nopen: seen\n",
            "password: ${hunter2}\nopen: seen\n",
            "passwords: [{a: \"${hunter2}\"}]\nopen: seen\n",
            "passwords:\n- {a: {b: \"${hunter2}\"}}\n- b${hunter2}\nopen: seen\n",
            "password: >-\n  hunter2\n\n  hunter2\nopen: seen\n",
            "l:\n  - password: hunter2\n    open: seen\n",
            "open: seen\nurl: 'pg://hunter2@${nothing}'\npassword: 'hunter2' # hunter2\n",
            "a: {password: hunter2, url: x-hunter2, open: seen}\n",
            "q: \"$[ exports:a if exports:pass\\x77ord == hunter2 ]\"\nopen: seen\n",
            "q: \"$[ if exports:pass\\\n  word == hunter2 ]\"\nopen: seen\n",
            "q: [\"${db:pass\\x77ord::hunter2}\"]\nopen: seen\n",
            "\"pass\\x77ord\": hunter2\nopen: seen\n",
            "url: pg://${db:password::hunter2}@h\nopen: seen\n",
            "url: pg://${db:password::hunter2\n  hunter2}@h\nopen: seen\n",
            // What is not YAML.
            "\"pass\\x77ord\": hunter2\nopen: seen\nb: [1\n",
            "a: {password:\nhunter2\n, open: seen\n",
            "open: seen\npassword: 'hunter2\n",
            "open: seen\na: {password: hunter2, b: [hunter2\n",
            "open: seen\nb: [1\npassword:\n   hunter2\n",
            "open: seen\n? password\n: !foo hunter2\n",
            "open: seen\n? password\n: !foo\n  hunter2\n",
            "open: seen\na:\n  ? password\n    : hunter2\n",
            "open: seen\npassword\n  : hunter2\n",
            "open: seen\n? password\n: hunter2: x: y\n",
            "open: seen\na: {\"password\"\n  :hunter2, b: [}\n",
        ] {
            let shown = secrets().source(text);
            assert!(!shown.contains("hunter2") && shown.contains("seen"), "{text}\n{shown}");
            assert_eq!(shown.chars().count(), text.chars().count(), "{text}");
        }
    }
}
