//! Checks the text of one file: misleading scalars, plain-text secrets, tabs, duplicate entries.

use rustc_hash::FxHashMap;

use super::{Linter, lint_fault};
use crate::analysis::survey::SurveyedFile;
use crate::base::error::{Fault, article};
use crate::base::secrets::Cover;
use crate::base::source::{FileId, Origin, Site, Span};
use crate::base::stack::grow;
use crate::base::value::{Key, Value};
use crate::engine::files::duplicate_keys;
use crate::model::layer::{keys_with_same_text, unknown_sections};
use crate::model::merge_options::enabled;
use crate::model::slot::KeyPrefix;
use crate::yaml::compose::{Data, Document, Entry, Node, compose};

pub(super) fn check(linter: &Linter<'_>, file: &SurveyedFile, found: &mut Vec<Fault>) {
    let Some(text) = linter.context.inputs.files.text(&file.path) else { return };
    let Some((document, text)) = document(&text) else { return };
    let mut reader = Reader {
        linter,
        file,
        text,
        document: &document,
        key: Key::from(""),
        secret: Cover::Open,
        in_list: false,
        is_item: false,
        found,
    };
    reader.tabs();
    if file.layer.is_err() {
        reader.noticed();
    }
    let Some(Node { data: Data::Map(entries), .. }) = &document.root else { return };
    for entry in entries.iter() {
        match entry.key.as_str() {
            Some(name @ ("classes" | "applications")) => reader.twice(name, &entry.value),
            Some("parameters" | "exports") => reader.node(&entry.value),
            Some("environment") => reader.environment(&entry.value),
            _ => {}
        }
    }
}

/// The document of a file and its text. A second document is an error; then this is the first one.
fn document(text: &str) -> Option<(Document, &str)> {
    let error = match compose(text.as_bytes()) {
        Ok(document) => return Some((document, text)),
        Err(error) => error,
    };
    let line = error.first().site.as_ref()?.line as usize;
    let end: usize = text.split_inclusive('\n').take(line.checked_sub(1)?).map(str::len).sum();
    let (first, rest) = text.split_at_checked(end)?;
    rest.starts_with("---").then_some(())?;
    Some((compose(first.as_bytes()).ok()?, first))
}

/// Start of a message about a key.
const KEY: &str = "the key ";

struct Reader<'a, 'f> {
    linter: &'a Linter<'a>,
    file: &'a SurveyedFile,
    text: &'a str,
    document: &'a Document,
    /// The innermost key.
    key: Key,
    /// The values that the enclosing keys hide.
    secret: Cover,
    /// Whether the position is inside a list. Lists do not merge, and prefixes are text there (M7).
    in_list: bool,
    /// Whether the value is itself a list item.
    is_item: bool,
    found: &'f mut Vec<Fault>,
}

impl<'a> Reader<'a, '_> {
    fn span(&self, index: u32) -> Option<Span> {
        self.document.spans.get(index as usize).copied()
    }

    fn say(&mut self, rule: &'static str, message: String, help: Option<String>, span: Span) {
        // Only the first line of a longer span is shown.
        let written = self.text.get(span.start as usize..span.end as usize).unwrap_or_default();
        let length = written.lines().next().map_or(0, |line| line.chars().count());
        let length = u32::try_from(length).unwrap_or(0);
        let site =
            Site { path: self.file.path.clone(), line: span.line + 1, column: span.column + 1, length };
        self.found.push(lint_fault(rule, message, help).at_site(site));
    }

    /// The text of a plain scalar without its anchor; `None` for a quoted or tagged one.
    fn plain(&self, index: u32) -> Option<&'a str> {
        let span = self.span(index)?;
        let mut text = self.text.get(span.start as usize..span.end as usize)?;
        while text.starts_with('&') {
            text = text.split_once(char::is_whitespace)?.1.trim_start();
        }
        (!text.starts_with(['"', '\'', '!', '|', '>', '*', '{', '['])).then_some(text)
    }

    fn node(&mut self, node: &Node) {
        match &node.data {
            Data::Value(value) => self.scalar(value, node.index),
            Data::List(items) => {
                let before = (self.in_list, self.secret);
                (self.in_list, self.secret) = (true, self.secret.item());
                for item in items.iter() {
                    self.is_item = true;
                    grow(|| self.node(item));
                }
                self.is_item = false;
                (self.in_list, self.secret) = before;
            }
            Data::Map(entries) => {
                for entry in entries.iter() {
                    self.entry(entry);
                }
            }
        }
    }

    fn entry(&mut self, entry: &Entry) {
        let name = crate::base::pystr::str(&entry.key.0);
        // Prefixes are not part of the name.
        let key = Key::from(self.linter.prefixes.name(&name));
        let secret = self.linter.secrets.below(self.secret, &key);
        self.misread(&entry.key.0, entry.key_index, KEY);
        self.literal(&entry.key.0, entry.key_index);
        self.is_item = false;
        let (key, secret) =
            (std::mem::replace(&mut self.key, key), std::mem::replace(&mut self.secret, secret));
        grow(|| self.node(&entry.value));
        (self.key, self.secret) = (key, secret);
    }

    /// A prefix inside a list is part of the key.
    fn literal(&mut self, key: &Value, index: u32) {
        let Value::Str(key) = key else { return };
        // Items that merge by keys are ordinary mappings.
        if !self.in_list || self.linter.has_keyed_lists {
            return;
        }
        let (name, mark) = (self.linter.prefixes.bare(key), KeyPrefix { overrides: true, constant: false });
        let mark = self.linter.prefixes.text(mark);
        // `~/.bashrc` is a path.
        let is_name = name.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        if name.len() == key.len() || !key.starts_with(&mark) || !is_name {
            return;
        }
        let message =
            format!("the {mark} in front of '{name}' is a part of the key: mappings of a list do not merge");
        if let Some(span) = self.span(index) {
            self.say("override-without-effect", message, None, span);
        }
    }

    fn scalar(&mut self, value: &Value, index: u32) {
        if self.secret == Cover::Open {
            self.misread(value, index, "");
        } else {
            self.plain_secret(value, index);
        }
    }

    fn misread(&mut self, value: &Value, index: u32, what: &str) {
        let Some(written) = self.plain(index).map(str::trim_end) else { return };
        let (Some(read), Some(span)) = (misreading(value, written), self.span(index)) else { return };
        // For the key `001` the number is the expected reading.
        if what == KEY && written.trim_start_matches('0') == read {
            return;
        }
        let message = format!("{what}'{written}' is read as {read}");
        let help = match value {
            Value::Str(_) => format!("write \"{written}\" if it is meant as text"),
            _ => format!("write \"{written}\" for the text, or {read} for what it is"),
        };
        let rule = if self.is_meant(value, what) { "scalar-implicit" } else { "scalar-misread" };
        self.say(rule, message, Some(help), span);
    }

    /// Whether the YAML 1.1 reading of a value is probably intended: such a word as the value of a key is
    /// mostly a boolean, and a file mode mostly an octal number.
    fn is_meant(&self, value: &Value, what: &str) -> bool {
        let key = self.key.as_str().unwrap_or_default().to_lowercase();
        what.is_empty()
            && !self.is_item
            && match value {
                Value::Bool(_) => true,
                Value::Int(_) => ["mode", "mask", "perm"].iter().any(|word| key.contains(word)),
                _ => false,
            }
    }

    /// The environment is a name, even if it looks like another type.
    fn environment(&mut self, node: &Node) {
        let Data::Value(value) = &node.data else { return };
        let before = self.found.len();
        self.misread(value, node.index, "the environment ");
        let (Value::Bool(_) | Value::Int(_) | Value::BigInt(_) | Value::Float(_), true) =
            (value, self.found.len() == before)
        else {
            return;
        };
        let (Some(written), Some(span)) = (self.plain(node.index), self.span(node.index)) else { return };
        let written = written.trim_end().to_owned();
        let message =
            format!("the environment '{written}' is read as {}, not as a name", article(value.type_name()));
        let help = format!("write \"{written}\" for the name");
        self.say("scalar-misread", message, Some(help), span);
    }

    /// The warnings that reading the file would have reported if it had no errors.
    fn noticed(&mut self) {
        let unknown = unknown_sections(self.document, enabled(self.linter.context.settings)).into_iter();
        let unknown =
            unknown.map(|(kind, key)| Fault::new(kind).at(Origin { file: FileId::NONE, node: key }));
        let twice = duplicate_keys(self.document, FileId::NONE).into_iter();
        let same = keys_with_same_text(self.document, FileId::NONE).into_iter();
        for mut fault in unknown.chain(twice).chain(same) {
            let span = fault.origin.take().and_then(|origin| self.span(origin.node));
            fault.site = span.map(|span| Site {
                path: self.file.path.clone(),
                line: span.line + 1,
                column: span.column + 1,
                length: 0,
            });
            self.found.push(fault);
        }
    }

    fn plain_secret(&mut self, value: &Value, index: u32) {
        let key = crate::base::pystr::str(&self.key.0);
        let Some(what) = self.linter.plain.find(value, &key, self.linter.context.settings) else {
            return;
        };
        if let Some(span) = self.span(index) {
            let help = "encrypt it, or refer to it".to_owned();
            // The excerpt marks the place, but shows only asterisks.
            self.say("secret-plain", format!("{what} as plain text, under '{key}'"), Some(help), span);
        }
    }

    /// Entries that occur in the same list before.
    fn twice(&mut self, section: &str, node: &Node) {
        let Data::List(items) = &node.data else { return };
        let mut seen: FxHashMap<(bool, &str), u32> = FxHashMap::default();
        for item in items.iter() {
            let Data::Value(Value::Str(name)) = &item.data else { continue };
            let taken = name.strip_prefix('~').filter(|_| section == "applications");
            let (removes, bare) = (taken.is_some(), taken.unwrap_or(name));
            // A removed application may be added and removed again (S8).
            seen.remove(&(!removes, bare));
            match seen.get(&(removes, bare)) {
                None => drop(seen.insert((removes, bare), item.index)),
                Some(first) => {
                    let line = self.span(*first).map_or(0, |span| span.line + 1);
                    let message = format!("'{name}' is in these {section} already, at line {line}");
                    if let Some(span) = self.span(item.index) {
                        self.say("listed-twice", message, None, span);
                    }
                }
            }
        }
    }

    /// Tabs outside scalars and comments.
    fn tabs(&mut self) {
        if !self.text.contains('\t') {
            return;
        }
        let mut offset = 0;
        let mut places = Vec::new();
        for (number, line) in (0u32..).zip(self.text.split_inclusive('\n')) {
            let comment =
                line.find(" #").or_else(|| line.starts_with('#').then_some(0)).unwrap_or(line.len());
            if let Some(at) = line[..comment].trim_end().find('\t') {
                let column = u32::try_from(line[..at].chars().count()).unwrap_or(0);
                places.push((offset + at, number, column));
            }
            offset += line.len();
        }
        let mut scalars = Vec::new();
        if let Some(root) = &self.document.root {
            collect_scalars(root, &mut scalars);
        }
        let mut scalars: Vec<Span> = scalars.iter().filter_map(|index| self.span(*index)).collect();
        scalars.retain(|span| span.end > span.start);
        scalars.sort_unstable_by_key(|span| span.start);
        for (at, line, column) in places {
            // Scalars do not overlap.
            let behind = scalars.partition_point(|span| span.start as usize <= at);
            let before = behind.checked_sub(1).and_then(|last| scalars.get(last));
            if before.is_none_or(|span| span.end as usize <= at) {
                let start = u32::try_from(at).unwrap_or(u32::MAX - 1);
                let span = Span { start, end: start + 1, line, column };
                self.say("tab", "there is a tab between tokens".into(), Some("use spaces".into()), span);
            }
        }
    }
}

fn collect_scalars(node: &Node, out: &mut Vec<u32>) {
    match &node.data {
        Data::Value(_) => out.push(node.index),
        Data::List(items) => {
            items.iter().for_each(|item| grow(|| collect_scalars(item, out)));
        }
        Data::Map(entries) => entries.iter().for_each(|entry| {
            out.push(entry.key_index);
            grow(|| collect_scalars(&entry.value, out));
        }),
    }
}

/// Whether a number looks like a version and loses its last digit, as `1.10` does.
fn is_version(written: &str) -> bool {
    written.split_once('.').is_some_and(|(major, minor)| {
        let is_major = !major.starts_with('0') && major.bytes().all(|b| b.is_ascii_digit());
        is_major && !major.is_empty() && matches!(minor.as_bytes(), [b'1'..=b'9', b'0'])
    })
}

/// The value of a scalar, if it differs from its appearance (ruling Y1).
fn misreading(value: &Value, written: &str) -> Option<String> {
    let digits = written.trim_start_matches(['+', '-']);
    let begins_with_digit = digits.starts_with(|c: char| c.is_ascii_digit());
    match value {
        Value::Bool(flag) if !matches!(written.to_ascii_lowercase().as_str(), "true" | "false") => {
            Some(flag.to_string())
        }
        Value::Int(_) | Value::BigInt(_) | Value::Float(_) => {
            let octal =
                digits.len() > 1 && digits.starts_with('0') && digits.bytes().all(|b| b.is_ascii_digit());
            (octal || written.contains('_') || written.contains(':') || is_version(written))
                .then(|| crate::base::pystr::str(value))
        }
        Value::Str(_) if begins_with_digit => {
            let octal = digits.len() > 1
                && digits.starts_with('0')
                && (digits.bytes().all(|b| b.is_ascii_digit())
                    || digits
                        .strip_prefix("0o")
                        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit())));
            let exponent = digits.split_once(['e', 'E']).is_some_and(|(mantissa, exponent)| {
                let number =
                    |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
                number(mantissa) && number(exponent.trim_start_matches(['+', '-']))
            });
            (octal || exponent).then(|| format!("the text \"{written}\""))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::misreading;
    use crate::yaml::parse_value;

    #[test]
    fn scalars_that_are_not_what_they_look_like() {
        for (written, read) in [
            ("no", Some("false")),
            ("On", Some("true")),
            ("012", Some("10")),
            ("1_000", Some("1000")),
            ("12:30", Some("750")),
            ("1e3", Some("the text \"1e3\"")),
            ("08", Some("the text \"08\"")),
            ("0o17", Some("the text \"0o17\"")),
            ("true", None),
            ("10.0.0.1", None),
            ("0x1f", None),
            ("0", None),
            ("1.5", None),
            ("1.10", Some("1.1")),
            ("22.40", Some("22.4")),
            ("1.0", None),
            ("2.00", None),
            ("0.50", None),
            ("1.500", None),
            ("-1.10", None),
            ("2001-01-01", None),
            ("e", None),
            ("1.0e+3", None),
        ] {
            let value = parse_value(written).expect("yaml");
            assert_eq!(misreading(&value, written).as_deref(), read, "{written}");
        }
    }
}
