use crate::lint::prelude::*;
use reclass_yaml::compose::Data;

pub const RULE: Rule = Rule {
    id: "text-like-yaml",
    level: Level::Warning,
    about: "A text looks like a list or a mapping in which a space, a `:` or an indentation is wrong.",
    text: "The rule reports texts without quotes:

- lines that begin with `- ` and are a part of the text above them, because they are indented more: `a - b` is one entry, also on one line of `applications`,
- a text below its key that is `-a`, `~a` or `a:1`,
- several lines that are `a:1`,
- `{a:1}`, which has the key `a:1` and no value.

It accepts `- a:1`, which may be an image, an address or a port. Where the text is meant, write it in quotes.

```yaml
# Bad: nodes/web.yml
parameters:
  packages:
    - nginx
      - vim
# Good: nodes/web.yml
parameters:
  packages:
    - nginx
    - vim
```",
    checks: &[Check::File(check)],
};

fn check(written: &FileText<'_>, found: &mut Vec<Fault>) {
    for (at, scalar) in written.scalars.iter().enumerate() {
        let (Some(text), Some(span)) = (written.plain(scalar.index), written.span(scalar.index)) else {
            continue;
        };
        let (before, behind) = (&written.text[..span.start as usize], &written.text[span.end as usize..]);
        let slip = if scalar.role == ScalarRole::Key {
            // The next scalar is its value.
            let next = written.scalars.get(at + 1).and_then(|value| written.span(value.index));
            let has_none =
                behind.trim_start().starts_with(['}', ',']) && next.is_some_and(|it| it.start == it.end);
            // Of the path of a parameter, the rule `text-like-reference` says more.
            let is_path = scalar.value.as_str().is_some_and(|path| written.linter.sets(path));
            (has_none && is_pair(text) && !is_path)
                .then_some(("the ':' is a part of this key, which has no value", PAIR))
        } else {
            let begins_line = before.trim_end_matches(' ').ends_with('\n');
            slip(text, begins_line && scalar.role == ScalarRole::Value)
        };
        found.extend(slip.map(|slip| fault(written, slip, span)));
    }
    for (_, node) in written.sections().filter(|(name, _)| *name == "applications") {
        let Data::List(items) = &node.data else { continue };
        for index in items.iter().map(|item| item.index) {
            let joined =
                written.plain(index).is_some_and(|text| text.split_whitespace().any(|word| word == "-"));
            found.extend(written.span(index).filter(|_| joined).map(|span| fault(written, JOINED, span)));
        }
    }
}

fn fault(written: &FileText<'_>, (message, help): (&str, &str), span: Span) -> Fault {
    let help = format!("{help}; quote the text if it is meant");
    written.fault(RULE.id, message.to_owned(), Some(help), span)
}

/// A message and its help.
const JOINED: (&str, &str) =
    ("the entries of this list are one text", "each '- ' of a list needs the same column");
const PAIR: &str = "write ': ' with a space behind the key";

/// The message and the help for a value or an item; `below` is whether it stands below its key.
fn slip(text: &str, below: bool) -> Option<(&'static str, &'static str)> {
    let lines = || text.lines().map(str::trim);
    let several = text.contains('\n');
    if lines().skip(1).any(|line| line.starts_with("- ")) {
        Some(JOINED)
    } else if below && lines().all(|line| is_word(line, '-')) {
        Some(("this is a text, not a list", "write '- ' with a space"))
    } else if below && is_word(text, '~') {
        Some(("this is a text, not a key", "a key has ': ' or ':' behind it"))
    } else {
        let is_mapping = (several || below) && text.split_whitespace().all(is_pair);
        is_mapping.then_some(("this is a text, not a mapping", PAIR))
    }
}

/// Whether a line is a mark and a name, as `-nginx`. `-x` and `-Xmx` are options of programs.
fn is_word(line: &str, mark: char) -> bool {
    let is_letter = |c: char| c.is_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '_' | '-');
    let word = line.strip_prefix(mark).filter(|word| word.starts_with(char::is_lowercase));
    word.is_some_and(|word| word.len() > 1 && word.chars().all(is_letter))
}

/// Whether a word is a key and a value, as `a:1`. Addresses and paths of parameters are none.
fn is_pair(word: &str) -> bool {
    let Some((key, value)) = word.split_once(':') else { return false };
    let is_key =
        key.starts_with(char::is_alphabetic) && key.chars().all(|c| c.is_alphanumeric() || "_-".contains(c));
    is_key && !value.is_empty() && !value.contains([':', '/', '$', ' '])
}
