use crate::lint::prelude::*;
use reclass_base::pystr;
use reclass_base::secrets::{Cover, has_private_key};

pub const RULE: Rule = Rule {
    id: "secret-plain",
    level: Level::Warning,
    about: "A secret is in the file as plain text.",
    text: "The setting `secret_keys` names the keys. A value looks like a secret if it has at least eight characters, no blank, and two kinds of characters: small letters, capitals, digits, and other signs than those of names and paths. Digits alone look like a secret too. If the secret key is further up, or ends with another word (`secrets: {db: …}`, `password_file`), three kinds are needed. So the rule does not find a password that is one plain word.

The rule accepts:

- names of the inventory: classes, nodes, keys of parameters, and values of `_param` that are no secrets,
- paths, addresses with `://`, templates, references and queries,
- hashes as in `/etc/shadow`,
- text that begins like something encrypted: PGP, age, `ENC[`, `NACL[`, `?{`, Ansible Vault, Fernet, `sdb://`,
- text beside references, which is mostly a separator or a scheme, as in `Bearer ${token}`.

It reports a private key under any key, and a default without references, as in `password: ${x::hunter22}`. [Excerpts](explain.md#secrets) end with `***` where a secret begins.

```yaml
# Bad: nodes/web.yml
parameters: {password: hunter22}
# Good: nodes/web.yml
parameters: {password: 'ENC[GPG,hQEMA7]'}
```",
    checks: &[Check::File(check)],
};

fn check(written: &FileText<'_>, found: &mut Vec<Fault>) {
    let linter = written.linter;
    for scalar in &written.scalars {
        let key = pystr::str(&scalar.key.0);
        let what = match scalar.value {
            _ if scalar.role == ScalarRole::Key => None,
            // A key of capitals alone is an example.
            Value::Str(text) if has_private_key(text) && text.contains(|c: char| c.is_ascii_lowercase()) => {
                Some("a secret is written here")
            }
            _ if scalar.secret == Cover::Open => None,
            value => linter.plain.find(value, &key, linter.context.settings),
        };
        if let (Some(what), Some(span)) = (what, written.span(scalar.index)) {
            let help = Some("encrypt it, or refer to it".to_owned());
            // The excerpt marks the place, but shows only the mask.
            let message = format!("{what} as plain text, under '{key}'");
            found.push(written.fault(RULE.id, message, help, span));
        }
    }
}
