use crate::lint::prelude::*;
use reclass_base::error::help::{SMART_QUOTES, SMART_QUOTES_HELP, is_in_smart_quotes};

pub const RULE: Rule = Rule {
    id: "smart-quotes",
    level: Level::Warning,
    about: "A text is in quotes of a word processor, which are letters for YAML.",
    text: "The rule reports keys and values in `“…”`, `„…“`, `‘…’` or `‚…‘`, or that begin with such a quote and end at a comment or a comma. Where the text needs these quotes, write YAML's around them: `'“Hello”'`.

```yaml
# Bad: nodes/web.yml
parameters: {greeting: “Hello”}
# Good: nodes/web.yml
parameters: {greeting: \"Hello\"}
```",
    checks: &[Check::File(check)],
};

fn check(written: &FileText<'_>, found: &mut Vec<Fault>) {
    for scalar in &written.scalars {
        let (Some(text), Some(span)) = (written.plain(scalar.index), written.span(scalar.index)) else {
            continue;
        };
        let text = text.trim_end();
        let is_cut = text.matches(SMART_QUOTES).count() == 1
            && text.starts_with(SMART_QUOTES)
            && written.text[span.end as usize..].trim_start_matches(' ').starts_with(['#', ',']);
        if is_in_smart_quotes(text) || is_cut {
            let message = "the quotes are a part of the text".to_owned();
            found.push(written.fault(RULE.id, message, Some(SMART_QUOTES_HELP.to_owned()), span));
        }
    }
}
