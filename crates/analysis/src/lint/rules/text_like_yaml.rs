use crate::lint::prelude::*;
use reclass_yaml::compose::Data;

pub const RULE: Rule = Rule {
    id: "text-like-yaml",
    level: Level::Warning,
    about: "A text looks like a list or a mapping in which a space, a `:` or an indentation is wrong.",
    text: "The rule reports texts without quotes:

- lines that begin with `- ` and are a part of the text above them, because they are indented more: `a - b` is one entry, also on one line of `applications`,
- a text below its key that is `-a`, `~a` or `a:1`, and `-10.0.0.2` anywhere,
- several lines that are `a:1`, `-10.0.0.2` or `10.0.0.2`,
- `{a:1}` and `{a b}`, whose keys have no value,
- `[a b]`, which is one item, and `10.0.0.2 10.0.0.3` in any list between brackets,
- a number, an address or a word such as `true` with a comma behind it: `4,`.

It accepts `- a:1`, which may be an image, an address or a port, and `[A b]`, which may be a name. Where the text is meant, write it in quotes.

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
            match text {
                _ if !has_none || is_path => None,
                text if is_pair(text) => Some(("the ':' is a part of this key, which has no value", PAIR)),
                text => {
                    text.contains(char::is_whitespace).then_some(("this is one key without a value", COMMA))
                }
            }
        } else {
            let begins_line = before.trim_end_matches(' ').ends_with('\n');
            let (before, behind) = (before.trim_end(), behind.trim_start());
            let is_only = before.ends_with('[') && behind.starts_with(']');
            let in_flow = is_only || before.ends_with(['[', ',']) && behind.starts_with([']', ',']);
            joined_items(text, in_flow, is_only)
                .or_else(|| slip(text, begins_line && scalar.role == ScalarRole::Value))
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
const COMMA: &str = "write ',' between the entries";
const PAIR: &str = "write ': ' with a space behind the key";

/// The message and the help for a text that is several items, or one with the comma behind it.
fn joined_items(text: &str, in_flow: bool, is_only: bool) -> Option<(&'static str, &'static str)> {
    let words = || text.split_whitespace();
    let is_word = |word: &str| {
        let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._".contains(c);
        word.starts_with(|c: char| c.is_ascii_lowercase()) && word.chars().all(is_part)
    };
    let are_items = words().all(is_address) || is_only && (words().all(is_word) || words().all(is_number));
    if in_flow && words().nth(1).is_some() && are_items {
        return Some(("this is one item, not several", COMMA));
    }
    let item = text.strip_suffix(',').filter(|item| !item.contains(','))?;
    let is_literal = matches!(item, "true" | "false" | "null") || is_number(item) || is_address(item);
    is_literal.then_some(("the ',' makes a text of this value", "remove the ','"))
}

fn is_number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit()) && word.chars().all(|c| c.is_ascii_digit() || c == '.')
}

/// Whether a word is an address of four numbers, which may have a mask or a port.
fn is_address(word: &str) -> bool {
    let numbers = word.split(['/', ':']).next().unwrap_or_default();
    let is_byte = |part: &str| part.parse::<u8>().is_ok();
    numbers.split('.').count() == 4 && numbers.split('.').all(is_byte)
}

/// The message and the help for a value or an item; `below` is whether it stands below its key.
fn slip(text: &str, below: bool) -> Option<(&'static str, &'static str)> {
    let lines = || text.lines().map(str::trim);
    let several = text.contains('\n');
    if lines().skip(1).any(|line| line.starts_with("- ")) {
        Some(JOINED)
    } else if below && lines().all(|line| is_word(line, '-'))
        || !text.is_empty() && lines().all(|line| line.strip_prefix('-').is_some_and(is_address))
    {
        Some(("this is a text, not a list", "write '- ' with a space"))
    } else if several && lines().all(is_address) {
        Some(("this is a text, not a list", "write '- ' before each entry"))
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
