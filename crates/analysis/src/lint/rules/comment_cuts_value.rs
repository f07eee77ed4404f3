use crate::lint::prelude::*;
use reclass_base::secrets::Cover;

pub const RULE: Rule = Rule {
    id: "comment-cuts-value",
    level: Level::Warning,
    about: "A `#` after a space begins a comment, and the value ends there.",
    text: "The rule reports a `#` with one word right behind it, in place of a value or after the value of a secret: `color: #fff` is null. It accepts comments of several words, and those with a space behind the `#`.

```yaml
# Bad: nodes/web.yml
parameters:
  color: #fff
  db_password: abc #def
# Good: nodes/web.yml
parameters:
  color: \"#fff\"
  db_password: \"abc #def\"
```",
    checks: &[Check::File(check)],
};

fn check(written: &FileText<'_>, found: &mut Vec<Fault>) {
    for scalar in written.scalars.iter().filter(|scalar| scalar.role != ScalarRole::Key) {
        let Some(span) = written.span(scalar.index) else { continue };
        let is_empty = span.start == span.end;
        let hidden = scalar.secret != Cover::Open;
        if !is_empty && (!hidden || written.plain(scalar.index).is_none()) {
            continue;
        }
        let rest = written.text.get(span.end as usize..).unwrap_or_default();
        let line = rest.lines().next().unwrap_or_default();
        let Some(comment) = line.trim().strip_prefix('#') else { continue };
        if !comment.starts_with(char::is_alphanumeric) || comment.contains(char::is_whitespace) {
            continue;
        }
        let message = match (is_empty, hidden || written.linter.context.settings.mask_excerpts) {
            (true, false) => format!("the value is empty, because '#{comment}' is a comment"),
            (true, true) => "the value is empty, because a comment begins at the '#'".to_owned(),
            (false, _) => "the value ends before the '#', because a comment begins there".to_owned(),
        };
        let help = "quote the value if the '#' belongs to it; otherwise write a space behind the '#'";
        found.push(written.fault(RULE.id, message, Some(help.to_owned()), span));
    }
}
