//! Hides the secrets in the text of a file. In an excerpt, each line ends where a secret begins. In a whole text, each
//! line of a secret becomes three asterisks. Neither tells the length of a secret.
//!
//! In YAML, secrets are the values under secret keys. In a text that is not YAML, they are the rest of the
//! line after a secret key, and the lines below it up to the next key that is not deeper.

use std::ops::Range;

use super::Redaction;
use reclass_base::secrets::{Cover, MASK, has_private_key};
use reclass_base::stack::grow;
use reclass_base::value::Value;
use reclass_yaml::compose::compose;
use reclass_yaml::outline::{KeyName, NodeForm, Outline, OutlineNode};
use reclass_yaml::parse_value;

/// Maximum length of a text in bytes; nothing of a longer one is shown. The outline takes many times the
/// memory of the text.
const LARGEST: usize = 1 << 20;

/// A plain scalar, and a part of one, in the place of a secret.
const HIDDEN: &str = "reclass-hidden";

/// The bytes of a name that are looked at in a text that is not YAML.
const LONGEST_NAME: usize = 128;

impl Redaction {
    /// The text of a file for excerpts, with as many lines: each ends with the mask where a secret begins. Empty if
    /// the text is too long.
    pub fn source(&self, text: &str) -> String {
        let cover = if self.hides_excerpts { Cover::All } else { Cover::Open };
        let Some(secrets) = self.secrets_in(text, cover) else { return String::new() };
        let mut secrets = secrets.into_iter().peekable();
        let mut out = String::with_capacity(text.len());
        let mut end = 0;
        for line in text.split_inclusive('\n') {
            let begin = end;
            end += line.len();
            while secrets.next_if(|secret| secret.end <= begin).is_some() {}
            let shown = line.trim_end_matches(['\r', '\n']);
            let start = |secret: &Range<usize>| {
                let hidden = shown.get(secret.start.saturating_sub(begin)..)?.trim_start();
                (!hidden.is_empty()).then(|| shown.len() - hidden.len())
            };
            match secrets.peek().and_then(start) {
                Some(cut) => out.extend([&line[..cut], MASK, &line[shown.len()..]]),
                None => out.push_str(line),
            }
        }
        out
    }

    /// The text of a file with as many lines, in which each line of a secret is the mask; empty if the text is too
    /// long.
    pub fn masked(&self, text: &str) -> String {
        self.secrets_in(text, Cover::Open).map_or_else(String::new, |secrets| replaced(text, secrets, masked))
    }

    /// Redacts the data of a text: also what aliases bring from secret keys to other keys.
    pub fn data(&self, text: &str, data: &Value) -> Value {
        let shown = self.written(&[], data);
        // Without an alias, each value is where it is written.
        let secrets = text.contains('*').then(|| self.secrets_in(text, Cover::Open));
        let Some(secrets) = secrets.flatten() else { return shown };
        let hidden = |secret: &str| format!("{HIDDEN}{}", if secret.ends_with('\n') { "\n" } else { "" });
        let without = parse_value(&replaced(text, secrets, hidden)).ok();
        self.written_unchanged(&shown, without.as_ref())
    }

    /// The secrets in a text in order, if all of it has a cover; `None` if the text is too long.
    fn secrets_in(&self, text: &str, cover: Cover) -> Option<Vec<Range<usize>>> {
        let mut found = Vec::new();
        if self.secrets.is_none() && cover == Cover::Open {
            return Some(found);
        }
        if text.len() > LARGEST {
            return None;
        }
        // An outline requires a text that can be composed.
        match compose(text.as_bytes()).and_then(|_| Outline::read(text.as_bytes())) {
            Ok(outline) => {
                if let Some(root) = &outline.root {
                    self.find(text, root, cover, &mut found);
                }
            }
            Err(_) => self.find_in_lines(text, cover, &mut found),
        }
        Some(found)
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
            // `password: #abc`: a password that is not quoted.
            NodeForm::Empty if cover != Cover::Open => {
                found.extend(comment_behind(text, piece.end));
            }
            NodeForm::Alias | NodeForm::Empty => {}
            NodeForm::Plain | NodeForm::SingleQuoted | NodeForm::DoubleQuoted | NodeForm::BlockScalar => {
                let written = &text[piece.content..piece.end];
                let is_hidden = cover != Cover::Open && !self.is_reference(unquoted(written));
                if is_hidden || has_private_key(written) {
                    let end = comment_behind(text, piece.end).map_or(piece.end, |comment| comment.end);
                    found.push(piece.content..end);
                } else if matches!(piece.form, NodeForm::Plain) {
                    self.find_mistyped(text, piece.content, written, found);
                }
            }
        });
    }

    /// Collects what is behind secret names at the beginning of the lines of a plain text: `password:x` is no key.
    fn find_mistyped(&self, text: &str, content: usize, written: &str, found: &mut Vec<Range<usize>>) {
        let before = text[..content].rsplit('\n').next().unwrap_or_default();
        let mut begins_line = before.trim_start_matches(INDENT).is_empty();
        let mut end = content;
        for line in written.split_inclusive('\n') {
            let begin = end;
            end += line.len();
            let at = self.mistyped(line).filter(|at| begins_line || line[..*at].ends_with([':', '=']));
            found.extend(at.filter(|at| *at < line.len()).map(|at| begin + at..end));
            begins_line = true;
        }
    }

    /// Collects the secrets of a text that is not YAML, line by line.
    fn find_in_lines(&self, text: &str, cover: Cover, found: &mut Vec<Range<usize>>) {
        // The indentation of the secret key that the current block belongs to.
        let mut block: Option<usize> = None;
        let mut in_pem = false;
        let mut end = 0;
        for line in text.split_inclusive('\n') {
            let begin = end;
            end += line.len();
            block = block.filter(|key| !ends_block(line, *key));
            let pem = if in_pem { Some(0) } else { line.find("-----BEGIN ") };
            in_pem = pem.is_some() && !line.contains("-----END ");
            let named = self.secret_in(line);
            let secret = if block.is_some() { Some(0) } else { named };
            if named.is_some() {
                // In a block, a secret key that is less deep has no colon: its own block goes on.
                let indent = line.len() - line.trim_start_matches(INDENT).len();
                block = Some(block.map_or(indent, |key| key.min(indent)));
            }
            let all = (cover != Cover::Open).then(|| key_in(line).unwrap_or(0));
            let first = [pem, secret, all].into_iter().flatten().min();
            found.extend(first.filter(|at| *at < line.len()).map(|at| begin + at..end));
        }
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
        let key = line.match_indices(':').find(secret).map(|(at, _)| at + 1);
        self.mistyped(line).into_iter().chain(key).min()
    }

    /// The start of what is behind a secret name at the beginning of a line, with a colon or without.
    fn mistyped(&self, line: &str) -> Option<usize> {
        let begun =
            line.trim_start_matches(INDENT).trim_start_matches(['"', '\'', '~', '=', '?', '{', '[', ' ']);
        let end = begun.find(|c: char| !c.is_alphanumeric() && !"_-.".contains(c)).unwrap_or(begun.len());
        let name = begun.get(..end.min(LONGEST_NAME))?;
        if self.secrets.cover(name) == Cover::Open {
            return None;
        }
        let behind = begun[end..].trim_start_matches(['"', '\'']);
        let value = match behind.strip_prefix(':') {
            Some(value) if self.is_reference(unquoted(value.trim())) => return None,
            Some(value) => value,
            // A list of names is none of keys.
            None if behind.trim().is_empty() && line.trim_start().starts_with('-') => return None,
            None if behind.is_empty() || behind.starts_with(char::is_whitespace) => behind,
            None => behind.strip_prefix('=')?,
        };
        Some(line.len() - value.len())
    }
}

/// The comment behind a value that ends there, on the same line.
fn comment_behind(text: &str, end: usize) -> Option<Range<usize>> {
    let line = text[end..].split('\n').next()?;
    let comment = line.trim_start();
    comment.starts_with('#').then(|| end + line.len() - comment.len()..end + line.len())
}

/// What may be before the key of a line.
const INDENT: [char; 3] = [' ', '\t', '-'];

/// The end of the key that a line begins with, its colon included.
fn key_in(line: &str) -> Option<usize> {
    let name = line.trim_start_matches(INDENT);
    let colon =
        name.match_indices(':').find(|(at, _)| name[at + 1..].chars().next().is_none_or(char::is_whitespace));
    let colon = colon.map(|(at, _)| at).filter(|at| *at > 0)?;
    let is_word = !name[..colon].contains(char::is_whitespace) && !name.starts_with('#');
    let is_quoted = name.starts_with(['"', '\'']) && name[..colon].ends_with(['"', '\'']);
    (is_word || is_quoted).then_some(line.len() - name.len() + colon + 1)
}

/// Whether a line belongs no longer to the block below a key with an indentation: it is another key that is not deeper.
/// A text that was pasted without indentation is a part of the block.
fn ends_block(line: &str, key: usize) -> bool {
    let content = line.trim_start_matches(' ');
    let indent = line.len() - content.len();
    let is_item = indent == key && content.starts_with("- ");
    indent <= key && !is_item && !content.starts_with('\t') && key_in(line).is_some()
}

fn unquoted(text: &str) -> &str {
    let inside = |quote| text.strip_prefix(quote).and_then(|rest: &str| rest.strip_suffix(quote));
    inside('"').or_else(|| inside('\'')).unwrap_or(text)
}

/// The text with other texts in the place of these parts of it.
fn replaced(text: &str, parts: Vec<Range<usize>>, with: impl Fn(&str) -> String) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for part in parts {
        out.push_str(&text[at..part.start]);
        at = part.end;
        out.push_str(&with(&text[part]));
    }
    out + &text[at..]
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
    use reclass_base::settings::Settings;
    use reclass_base::value::Map;

    /// The line of an excerpt ends where a secret begins, so it does not tell how long the secret is.
    #[test]
    fn the_value_of_a_secret_key_is_stars_and_nothing_else() {
        let settings = Settings::from_options(&Map::default()).expect("the defaults are right").0;
        let redaction = Redaction::of(&settings);
        for (text, shown) in [
            ("a: b\npassword: 'S3 x'\n", "a: b\npassword: ***\n"),
            ("password: a!b#c'd # e: f\nopen: g\n", "password: ***\nopen: g\n"),
            ("token: |\n  abc\n\n  def\nopen: g\n", "token: ***\n  ***\n\n  ***\nopen: g\n"),
            ("api_key: \"ab\r\n  cd\"\nopen: g", "api_key: ***\r\n  ***\nopen: g"),
            ("c: {user: u, passwd: p, d: p}\n", "c: {user: u, passwd: ***\n"),
            ("l:\n- secret: x\n  d: x\n", "l:\n- secret: ***\n  d: x\n"),
            ("passwords:\n- x\n- {a: y}\nopen: x\n", "passwords:\n- ***\n- {a: ***\nopen: x\n"),
            ("password: {a: [x, y]}\nopen: g\n", "password: {a: [***\nopen: g\n"),
            ("tokens: {engine: e, list: [a]}\n", "tokens: {engine: e, list: [a]}\n"),
            ("tokens: [a, {name: b}]\nopen: [{name: b}]\n", "tokens: [***\nopen: [{name: b}]\n"),
            ("\"pass\\x77ord\": x\n", "\"pass\\x77ord\": ***\n"),
            ("~password: x\n=token: y\n", "~password: ***\n=token: ***\n"),
            // A comment that is the secret, and comments that are none.
            ("password: #abc\nopen: #g\n", "password: ***\nopen: #g\n"),
            (
                "secrets: # of all\n  a: #b\n  c: [x, #y\n    z]\n",
                "secrets: # of all\n  a: ***\n  c: [***\n    ***\n",
            ),
            (
                "passwords:\n- #a\n- {b: } # c\n# d\npassword:\n# e\n",
                "passwords:\n- ***\n- {b: } # c\n# d\npassword:\n# e\n",
            ),
            ("? password\n: x\n", "? password\n: ***\n"),
            ("a: &pw x\npassword: *pw\ntoken: &t y\n", "a: &pw x\npassword: *pw\ntoken: &t ***\n"),
            ("password: ${_param:x}\ntoken: '${a:${b}}'\n", "password: ${_param:x}\ntoken: '${a:${b}}'\n"),
            ("password: ${a::x}\ntoken: a${b}\n", "password: ***\ntoken: ***\n"),
            ("url: pg://${db:password::x}@h\n", "url: pg://${db:password::x}@h\n"),
            // A key that YAML reads as text.
            ("p:\n  password:x y\n  open:y\n", "p:\n  password:***\n  open:y\n"),
            ("p:\n  password x\nq: password x\n", "p:\n  password ***\nq: password x\n"),
            ("p: [password:x]\nq: ${db:password}\n", "p: [password:***\nq: ${db:password}\n"),
        ] {
            assert_eq!(redaction.source(text), shown);
        }
    }

    #[test]
    fn the_block_below_a_secret_key_is_hidden_in_broken_yaml() {
        let settings = Settings::from_options(&Map::default()).expect("the defaults are right").0;
        let redaction = Redaction::of(&settings);
        for (text, shown) in [
            ("b: [1\npassword: 'a!b'\nopen: g\n", "b: [1\npassword: ***\nopen: g\n"),
            ("password: ab: c\nopen: g\n", "password: ***\nopen: g\n"),
            ("password:\n  ab\n\n  c\nopen: [\n", "password:\n  ***\n\n  ***\nopen: [\n"),
            ("l:\n  - password: ab\n    open: g\n  - [\n", "l:\n  - password: ***\n    open: g\n  - [\n"),
            ("passwords:\n- a\n- b\nopen: [\n", "passwords:\n***\n***\nopen: [\n"),
            ("a: {\"token\":x, b: y}\nopen: [\n", "a: {\"token\":***\nopen: [\n"),
            ("password: ${a}\nopen: [\n", "password: ${a}\nopen: [\n"),
            // Not indented, or less than the block, or by a tab.
            ("private_key: |\n-----BEGIN KEY-----\nab c\nopen: [\n", "private_key: ***\n***\n***\n***\n"),
            ("  password: |\nab\nopen: [\n", "  password: ***\n***\nopen: [\n"),
            ("p:\n  password: |\n    a\n ab\n  open: [\n", "p:\n  password: ***\n    ***\n ***\n  open: [\n"),
            ("  password: |\n\t  ab\n  open: [\n", "  password: ***\n\t  ***\n  open: [\n"),
            ("  secrets:\n    a: x\n\tb: y\n  open: [\n", "  secrets:\n    ***\n\t***\n  open: [\n"),
            ("\tpassword: x\nopen: [\n", "\tpassword: ***\nopen: [\n"),
            // A key without its colon, or without the blank behind it.
            ("secrets\n  a: x\nopen: [\n", "secrets\n  ***\nopen: [\n"),
            ("a: b\npassword x y\nopen: [\n", "a: b\npassword ***\nopen: [\n"),
            ("a: b\n'password':x\nopen: [\n", "a: b\n'password':***\nopen: [\n"),
            ("a: b\n=password:x\nopen: [\n", "a: b\n=password:***\nopen: [\n"),
            ("a: b\n-token=y\nopen: [\n", "a: b\n-token=***\nopen: [\n"),
            ("- secrets\n- a\nopen: [\n", "- secrets\n- a\nopen: [\n"),
            // The same below a secret that is deeper.
            (
                "db:\n    password: x\n  secrets\n    a: y\n  open: [\n",
                "db:\n    password: ***\n  ***\n    ***\n  open: [\n",
            ),
            (
                "l:\n- token: |\n    x\npasswords\n  a: y\nopen: [\n",
                "l:\n- token: ***\n    ***\n***\n  ***\nopen: [\n",
            ),
            // A private key is hidden below any key.
            (
                "tls: |\n-----BEGIN KEY-----\nA: b\n-----END KEY-----\nopen: [\n",
                "tls: |\n***\n***\n***\nopen: [\n",
            ),
        ] {
            assert_eq!(redaction.source(text), shown, "{text}");
        }
    }

    /// An alias brings a secret to another key; an equal value elsewhere is none.
    #[test]
    fn the_data_of_a_text_hide_what_aliases_bring() {
        let settings = Settings::from_options(&Map::default()).expect("the defaults are right").0;
        let redaction = Redaction::of(&settings);
        for (text, shown) in [
            (
                "password: x\nuser: x\nport: 1\ntoken: 1\n",
                "{password: '***', user: x, port: 1, token: '***'}",
            ),
            ("password: &p x\nurl: *p\nuser: x\n", "{password: '***', url: '***', user: x}"),
            ("password: &p |\n  x\n  y\nurls: [*p, z]\n", "{password: '***', urls: ['***', z]}"),
            (
                "passwords: &p [x, {q: y}]\nopen: *p\n",
                "{passwords: ['***', {q: '***'}], open: ['***', {q: '***'}]}",
            ),
            (
                "secrets: &s {a: x}\nmerged: {<<: *s, b: 1}\n",
                "{secrets: {a: '***'}, merged: {a: '***', b: 1}}",
            ),
            ("password: &p '${a}'\nurl: *p\nall: '*'\n", "{password: '${a}', url: '${a}', all: '*'}"),
            ("p:\n  password:x y\nall: '*'\n", "{p: '***', all: '*'}"),
        ] {
            let data = parse_value(text).expect(text);
            assert_eq!(redaction.data(text, &data), parse_value(shown).expect(shown), "{text}");
        }
    }

    #[test]
    fn all_values_of_excerpts_are_hidden_by_a_setting() {
        let mut options = Map::default();
        options.insert("mask_excerpts".into(), reclass_base::value::Value::Bool(true));
        let redaction = Redaction::of(&Settings::from_options(&options).expect("a setting").0);
        for (text, shown) in [
            ("classes: [a]\np: {q: 1}\n", "classes: [***\np: {q: ***\n"),
            ("a:\n- b: c # d\n  e: ${f}\n", "a:\n- b: ***\n  e: ${f}\n"),
            ("a: [\n- b: c\nd e\n", "a: ***\n- b: ***\n***\n"),
        ] {
            assert_eq!(redaction.source(text), shown);
            assert_eq!(redaction.masked(text), text);
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
