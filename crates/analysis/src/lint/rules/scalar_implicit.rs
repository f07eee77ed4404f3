use crate::lint::prelude::*;

// The check of misread scalars reports it.
pub const RULE: Rule = Rule {
    id: "scalar-implicit",
    level: Level::Info,
    about: "A word such as yes is read as a boolean, or a file mode such as 0644 as an octal number.",
    text: "Such a word is mostly meant as YAML 1.1 reads it: `enabled: yes`, and `0644` under a key that contains `mode`, `mask` or `perm`.

```yaml
# Bad: nodes/web.yml
parameters: {enabled: yes}
# Good: nodes/web.yml
parameters: {enabled: true}
```",
    checks: &[],
};

/// Whether the YAML 1.1 reading of a value is probably intended: such a word as the value of a key is mostly a
/// boolean, and a file mode mostly an octal number.
pub fn is_meant(scalar: &WrittenScalar<'_>) -> bool {
    let key = scalar.key.as_str().unwrap_or_default().to_lowercase();
    scalar.role == ScalarRole::Value
        && match scalar.value {
            Value::Bool(_) => true,
            Value::Int(_) => ["mode", "mask", "perm"].iter().any(|word| key.contains(word)),
            _ => false,
        }
}
