use super::scalar_implicit;
use crate::lint::prelude::*;
use reclass_base::error::article;
use reclass_base::secrets::Cover;
use reclass_yaml::compose::Data;

pub const RULE: Rule = Rule {
    id: "scalar-misread",
    level: Level::Warning,
    about: "YAML 1.1 reads the scalar as something else than it looks like.",
    text: r#"The rule reports:

- `yes`, `no`, `on` and `off` as keys and as items of lists,
- numbers with leading zeros, underscores and colons,
- versions that lose a digit: `1.10` is the number 1.1. It accepts `0.50`, which is a share, and `1.0`,
- text that looks like a number: `1e3`, `08`, `0o17`,
- an environment that is not a text.

It accepts a key such as `001`, which is the number that it looks like.

```yaml
# Bad: nodes/web.yml
parameters: {version: 1.10}
# Good: nodes/web.yml
parameters: {version: "1.10"}
```"#,
    checks: &[Check::File(check)],
};

fn check(written: &FileText<'_>, found: &mut Vec<Fault>) {
    for scalar in &written.scalars {
        if scalar.role == ScalarRole::Key {
            found.extend(misread(written, scalar, "the key "));
        } else if scalar.secret == Cover::Open {
            found.extend(misread(written, scalar, ""));
        }
    }
    // The environment is a name, even if it looks like another type.
    for (_, node) in written.sections().filter(|(name, _)| *name == "environment") {
        let Data::Value(value) = &node.data else { continue };
        let (key, role) = (Key::from(""), ScalarRole::Item);
        let scalar =
            WrittenScalar { value, index: node.index, role, key, secret: Cover::Open, in_list: false };
        found.extend(misread(written, &scalar, "the environment ").or_else(|| unnamed(written, &scalar)));
    }
}

fn misread(written: &FileText<'_>, scalar: &WrittenScalar<'_>, what: &str) -> Option<Fault> {
    let (value, text) = (scalar.value, written.plain(scalar.index)?.trim_end());
    let (read, span) = (misreading(value, text)?, written.span(scalar.index)?);
    // For the key `001` the number is the expected reading.
    if scalar.role == ScalarRole::Key && text.trim_start_matches('0') == read {
        return None;
    }
    let message = format!("{what}'{text}' is read as {read}");
    let help = match value {
        Value::Str(_) => format!("write \"{text}\" if it is meant as text"),
        _ => format!("write \"{text}\" for the text, or {read} for what it is"),
    };
    let rule = if scalar_implicit::is_meant(scalar) { &scalar_implicit::RULE } else { &RULE };
    Some(written.fault(rule.id, message, Some(help), span))
}

/// An environment that is no text.
fn unnamed(written: &FileText<'_>, scalar: &WrittenScalar<'_>) -> Option<Fault> {
    let value = scalar.value;
    let is_other = matches!(value, Value::Bool(_) | Value::Int(_) | Value::BigInt(_) | Value::Float(_));
    let text = written.plain(scalar.index).filter(|_| is_other)?.trim_end();
    let message =
        format!("the environment '{text}' is read as {}, not as a name", article(value.type_name()));
    let help = Some(format!("write \"{text}\" for the name"));
    Some(written.fault(RULE.id, message, help, written.span(scalar.index)?))
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
                .then(|| reclass_base::pystr::str(value))
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
