//! Hides the secrets in the text of a file. In excerpts, an asterisk stands for each character, so that columns
//! stay the same. In a whole text, each line of a secret becomes three asterisks, whatever its length is.
//!
//! In YAML, secrets are the values under secret keys. In a text that is not YAML, they are the rest of the
//! line after a secret key, and the block below it.

use std::ops::Range;

use super::Redaction;
use crate::base::secrets::{Cover, MASK};
use crate::base::stack::grow;
use crate::yaml::compose::compose;
use crate::yaml::outline::{KeyName, NodeForm, Outline, OutlineNode};

/// Maximum length of a text in bytes; nothing of a longer one is shown. The outline takes many times the
/// memory of the text.
const LARGEST: usize = 1 << 20;

/// The bytes of a name that are looked at in a text that is not YAML.
const LONGEST_NAME: usize = 128;

impl Redaction {
    /// The text of a file for excerpts; empty if the text is too long.
    pub fn source(&self, text: &str) -> String {
        self.hide_in(text, starred)
    }

    /// The text of a file that tells nothing of the length of its secrets, with as many lines; empty if the text
    /// is too long.
    pub fn masked(&self, text: &str) -> String {
        self.hide_in(text, masked)
    }

    fn hide_in(&self, text: &str, hidden: fn(&str) -> String) -> String {
        if self.secrets.is_none() {
            return text.to_owned();
        }
        if text.len() > LARGEST {
            return String::new();
        }
        // An outline requires a text that can be composed.
        let outline = compose(text.as_bytes()).and_then(|_| Outline::read(text.as_bytes()));
        let Ok(outline) = outline else { return self.lines(text, hidden) };
        let mut secrets = Vec::new();
        if let Some(root) = &outline.root {
            self.find(text, root, Cover::Open, &mut secrets);
        }
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        for range in secrets {
            out.push_str(&text[at..range.start]);
            out.push_str(&hidden(&text[range.clone()]));
            at = range.end;
        }
        out + &text[at..]
    }

    /// Collects the secret scalars in order, each with the comment after it.
    fn find(&self, text: &str, piece: &OutlineNode, cover: Cover, found: &mut Vec<Range<usize>>) {
        grow(|| match &piece.form {
            NodeForm::FlowMapping(pairs) | NodeForm::BlockMapping(pairs) => {
                for pair in pairs {
                    let below = match &pair.name {
                        KeyName::Key(key) => self.secrets.below(cover, key),
                        KeyName::Merge | KeyName::Other => cover,
                    };
                    self.find(text, &pair.key, Cover::Open, found);
                    self.find(text, &pair.value, below, found);
                }
            }
            NodeForm::FlowSequence(items) | NodeForm::BlockSequence(items) => {
                for item in items {
                    self.find(text, item, cover.item(), found);
                }
            }
            NodeForm::Alias | NodeForm::Empty => {}
            NodeForm::Plain | NodeForm::SingleQuoted | NodeForm::DoubleQuoted | NodeForm::BlockScalar => {
                let written = &text[piece.content..piece.end];
                if cover != Cover::Open && !self.is_reference(unquoted(written)) {
                    let behind = &text[piece.end..];
                    let blank = behind.trim_start_matches(|c: char| c.is_whitespace() && c != '\n');
                    let comment =
                        if blank.starts_with('#') { behind.find('\n').unwrap_or(behind.len()) } else { 0 };
                    found.push(piece.content..piece.end + comment);
                }
            }
        });
    }

    /// Replaces secrets line by line.
    fn lines(&self, text: &str, hidden: fn(&str) -> String) -> String {
        let mut out = String::with_capacity(text.len());
        // The indentation of the secret key that the current block belongs to.
        let mut block: Option<usize> = None;
        for line in text.split_inclusive('\n') {
            let content = line.trim_start_matches(' ');
            let indent = line.len() - content.len();
            let below =
                |key| content.trim().is_empty() || indent > key || indent == key && content.starts_with("- ");
            block = block.filter(|key| below(*key));
            let secret = match block {
                Some(_) => Some(0),
                None => self.secret_in(line),
            };
            let Some(at) = secret else {
                out.push_str(line);
                continue;
            };
            out.push_str(&line[..at]);
            out.push_str(&hidden(&line[at..]));
            block = block.or_else(|| Some(line.len() - line.trim_start_matches([' ', '-']).len()));
        }
        out
    }

    /// The start of the value of the first secret key in a line.
    fn secret_in(&self, line: &str) -> Option<usize> {
        let secret = |(at, _): &(usize, &str)| {
            let (before, behind) = (&line[..*at], &line[at + 1..]);
            // After a quoted key, the value may follow without a blank.
            let ends = before.ends_with(['"', '\'']) || behind.chars().next().is_none_or(char::is_whitespace);
            if !ends {
                return false;
            }
            let before = before.trim_end();
            // A line may have as many colons as characters. The end of a long name decides.
            let from = before.len().saturating_sub(LONGEST_NAME);
            let before = (from..).find_map(|from| before.get(from..)).unwrap_or_default();
            let name = before.rsplit([' ', '\t', '{', '[', ',']).next().unwrap_or_default();
            let name = name.trim_matches(['"', '\'']);
            self.secrets.cover(name) != Cover::Open && !self.is_reference(unquoted(behind.trim()))
        };
        line.match_indices(':').find(secret).map(|(at, _)| at + 1)
    }
}

fn unquoted(text: &str) -> &str {
    let inside = |quote| text.strip_prefix(quote).and_then(|rest: &str| rest.strip_suffix(quote));
    inside('"').or_else(|| inside('\'')).unwrap_or(text)
}

fn starred(text: &str) -> String {
    text.chars().map(|c| if c.is_whitespace() { c } else { '*' }).collect()
}

fn masked(text: &str) -> String {
    let line = |line: &str| {
        let begin = line.len() - line.trim_start().len();
        let end = line.trim_end().len().max(begin);
        let mask = if begin < end { MASK } else { "" };
        let ending = &line[line.trim_end_matches(['\r', '\n']).len()..];
        format!("{}{mask}{ending}", &line[..begin.min(line.len() - ending.len())])
    };
    text.split_inclusive('\n').map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::settings::Settings;
    use crate::base::value::Map;

    #[test]
    fn the_value_of_a_secret_key_is_stars_and_nothing_else() {
        let settings = Settings::from_options(&Map::default()).expect("the defaults are right").0;
        let redaction = Redaction::of(&settings);
        for (text, shown) in [
            ("a: b\npassword: 'S3 x'\n", "a: b\npassword: *** **\n"),
            ("password: a!b#c'd # e: f\nopen: g\n", "password: ******* * ** *\nopen: g\n"),
            ("token: |\n  abc\n  def\nopen: g\n", "token: *\n  ***\n  ***\nopen: g\n"),
            ("api_key: \"ab\n  cd\"\nopen: g\n", "api_key: ***\n  ***\nopen: g\n"),
            ("c: {user: u, passwd: p, d: p}\n", "c: {user: u, passwd: *, d: p}\n"),
            ("l:\n- secret: x\n  d: x\n", "l:\n- secret: *\n  d: x\n"),
            ("passwords:\n- x\n- {a: y}\nopen: x\n", "passwords:\n- *\n- {a: *}\nopen: x\n"),
            ("password: {a: [x, y]}\nopen: g\n", "password: {a: [*, *]}\nopen: g\n"),
            ("tokens: {engine: e, list: [a]}\n", "tokens: {engine: e, list: [a]}\n"),
            ("tokens: [a, {name: b}]\nopen: [{name: b}]\n", "tokens: [*, {name: *}]\nopen: [{name: b}]\n"),
            ("\"pass\\x77ord\": x\n", "\"pass\\x77ord\": *\n"),
            ("~password: x\n=token: y\n", "~password: *\n=token: *\n"),
            ("? password\n: x\n", "? password\n: *\n"),
            ("a: &pw x\npassword: *pw\ntoken: &t y\n", "a: &pw x\npassword: *pw\ntoken: &t *\n"),
            ("password: ${_param:x}\ntoken: '${a:${b}}'\n", "password: ${_param:x}\ntoken: '${a:${b}}'\n"),
            ("password: ${a::x}\ntoken: a${b}\n", "password: *******\ntoken: *****\n"),
            ("url: pg://${db:password::x}@h\n", "url: pg://${db:password::x}@h\n"),
            // Not YAML.
            ("b: [1\npassword: 'a!b'\nopen: g\n", "b: [1\npassword: *****\nopen: g\n"),
            ("password: ab: c\nopen: g\n", "password: *** *\nopen: g\n"),
            ("password:\n  ab\n\n  c\nopen: [\n", "password:\n  **\n\n  *\nopen: [\n"),
            ("l:\n  - password: ab\n    open: g\n  - [\n", "l:\n  - password: **\n    open: g\n  - [\n"),
            ("passwords:\n- a\n- b\nopen: [\n", "passwords:\n* *\n* *\nopen: [\n"),
            ("a: {\"token\":x, b: y}\nopen: [\n", "a: {\"token\":** ** **\nopen: [\n"),
            ("password: ${a}\nopen: [\n", "password: ${a}\nopen: [\n"),
        ] {
            assert_eq!(redaction.source(text), shown);
            assert_eq!(shown.chars().count(), text.chars().count(), "{text}");
        }
    }

    #[test]
    fn a_masked_text_tells_nothing_of_the_length_of_a_secret() {
        let settings = Settings::from_options(&Map::default()).expect("the defaults are right").0;
        let redaction = Redaction::of(&settings);
        for (text, shown) in [
            ("a: b\npassword: 'S3 x'  # y z\n", "a: b\npassword: ***\n"),
            ("token: |\r\n  abc\r\n\r\n  d f\r\nopen: g", "token: ***\r\n  ***\r\n\r\n  ***\r\nopen: g"),
            ("passwords: [x, {a: yy}]\n", "passwords: [***, {a: ***}]\n"),
            ("password: ''\n", "password: ***\n"),
            ("b: [1\npassword: 'a!b'\nopen: g\n", "b: [1\npassword: ***\nopen: g\n"),
        ] {
            assert_eq!(redaction.masked(text), shown);
        }
    }
}
