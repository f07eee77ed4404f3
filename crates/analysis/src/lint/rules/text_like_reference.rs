use std::borrow::Cow;

use crate::lint::prelude::*;
use reclass_base::secrets::Cover;

pub const RULE: Rule = Rule {
    id: "text-like-reference",
    level: Level::Warning,
    about: "A text looks like a reference to a parameter, and is none.",
    text: "The rule reports `$(a:b)`, `$(a.b)`, `$a:b`, `{a:b}` and `$ {a:b}` where some file of the inventory sets the parameter `a:b`. Without quotes, `{a:b}` is a mapping with the key `a:b`.

```yaml
# Bad: nodes/web.yml
parameters: {network: {address: 10.0.0.1}, listen: '$(network:address):80'}
# Good: nodes/web.yml
parameters: {network: {address: 10.0.0.1}, listen: '${network:address}:80'}
```",
    checks: &[Check::File(check)],
};

fn check(written: &FileText<'_>, found: &mut Vec<Fault>) {
    let linter = written.linter;
    let delimiter = &*linter.context.settings.delimiter;
    for scalar in written.scalars.iter().filter(|scalar| scalar.secret == Cover::Open) {
        let (Value::Str(text), Some(span)) = (scalar.value, written.span(scalar.index)) else { continue };
        let before = &written.text[..span.start as usize];
        let in_braces = scalar.role == ScalarRole::Key && before.ends_with('{') && !before.ends_with("{{");
        let path =
            if in_braces { Some(Cow::Borrowed(&**text)) } else { looks_like_reference(text, delimiter) };
        let Some(path) = path.filter(|path| path.contains(delimiter) && linter.sets(path)) else { continue };
        let (open, close) = &linter.context.settings.reference_sentinels;
        let message = format!("this is no reference to '{path}'");
        let help = Some(format!("write '{open}{path}{close}'"));
        found.push(written.fault(RULE.id, message, help, span));
    }
}

/// The path in a text that nearly is a reference.
fn looks_like_reference<'t>(text: &'t str, delimiter: &str) -> Option<Cow<'t, str>> {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    text.match_indices(is_name).find_map(|(at, _)| {
        let before = &text[..at];
        let dotted = before.ends_with("$(");
        let is_path = |c: char| is_name(c) || delimiter.contains(c) || dotted && c == '.';
        let close = match before.char_indices().next_back()? {
            (_, '$') => "",
            (_, '(') if before.ends_with("$(") => ")",
            (dollar, '{') if !before[..dollar].ends_with(['$', '{', '%', '#']) => "}",
            _ => return None,
        };
        let rest = &text[at..];
        let end = rest.find(|c| !is_path(c)).unwrap_or(rest.len());
        let path = rest[..end].trim_end_matches(delimiter);
        let is_closed = rest[path.len()..].starts_with(close);
        let path = if dotted { path.replace('.', delimiter).into() } else { Cow::Borrowed(path) };
        (is_closed && path.contains(delimiter)).then_some(path)
    })
}
