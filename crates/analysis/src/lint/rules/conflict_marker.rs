use crate::lint::prelude::*;

pub const RULE: Rule = Rule {
    id: "conflict-marker",
    level: Level::Warning,
    about: "A text has the markers of a conflict of git.",
    text: "In most places the markers are an error. Inside of quotes or of a text behind `|` they become part of the value. The rule reports a text with `<<<<<<<`, `=======` and `>>>>>>>` at the beginning of its lines, in this order.

```yaml
# Bad: nodes/web.yml
parameters:
  motd: |
    <<<<<<< HEAD
    Welcome
    =======
    Hello
    >>>>>>> greeting
# Good: nodes/web.yml
parameters:
  motd: |
    Hello
```",
    checks: &[Check::File(check)],
};

fn check(written: &FileText<'_>, found: &mut Vec<Fault>) {
    for scalar in &written.scalars {
        let Some(span) = written.span(scalar.index) else { continue };
        let text = written.text.get(span.start as usize..span.end as usize).unwrap_or_default();
        let Some(at) = conflict(text) else { continue };
        let line = span.line + u32::try_from(text[..at].matches('\n').count()).unwrap_or(0);
        let indent = text[..at].bytes().rev().take_while(|byte| *byte == b' ').count();
        let column = u32::try_from(indent).unwrap_or(0);
        let start = span.start + u32::try_from(at).unwrap_or(0);
        let message = "this marker of a conflict of git is part of the text".to_owned();
        let help = Some("resolve the conflict, and remove the markers".to_owned());
        found.push(written.fault(RULE.id, message, help, Span { start, line, column, ..span }));
    }
}

/// The offset of the first marker of a text, if the others follow.
fn conflict(text: &str) -> Option<usize> {
    let mut offsets = text.split_inclusive('\n').scan(0, |offset, line| {
        let begin = *offset + line.len() - line.trim_start_matches(' ').len();
        *offset += line.len();
        Some((begin, line.trim()))
    });
    let (first, _) = offsets.find(|(_, line)| line.starts_with("<<<<<<< "))?;
    offsets.find(|(_, line)| *line == "=======")?;
    offsets.find(|(_, line)| line.starts_with(">>>>>>> "))?;
    Some(first)
}
