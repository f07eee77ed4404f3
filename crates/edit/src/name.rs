//! Checks names, because they come from command lines, states and events of minions, and become keys
//! and paths.
//!
//! A name consists of ASCII letters and digits, `_`, `-` and `.`, and does not begin with `-` or `.`.

use reclass_analysis::errors::NAME_REFUSED;
use reclass_base::error::{Error, Result};

/// Maximum characters of a name: a file name, with space for the affixes of temporary files.
const LONGEST: usize = 200;

/// Checks the name of a soft parameter. It may have a prefix `~` or `=` (M4, M5).
pub fn parameter(name: &str) -> Result<()> {
    let bare = name.strip_prefix(['~', '=']).unwrap_or(name);
    check("parameter", name, bare, &[])
}

/// Checks the name of a node.
pub fn node(name: &str) -> Result<()> {
    check("node", name, name, &[])
}

/// Checks the name of a class. It may begin with `.` (a relative class); with `interpolate`, it may
/// contain references.
pub fn class(name: &str, interpolate: bool) -> Result<()> {
    let bare = name.trim_start_matches('.');
    check("class", name, bare, if interpolate { &['$', '{', '}', ':'] } else { &[] })
}

/// Checks a cluster, a folder or a file: names separated by `/`.
pub fn path(what: &'static str, path: &str) -> Result<()> {
    if path.starts_with('/') {
        return Err(refused(what, path, "it is an absolute path"));
    }
    if !path.is_empty() && path.split('/').any(str::is_empty) {
        return Err(refused(what, path, "there is no name before or after a '/'"));
    }
    path.split('/').try_for_each(|name| check(what, path, name, &[]))
}

fn check(what: &'static str, whole: &str, name: &str, also: &[char]) -> Result<()> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.') || also.contains(&c);
    let reason = if name.is_empty() {
        "it is empty"
    } else if name.starts_with(['-', '.']) {
        "it begins with '-' or '.'"
    } else if name.chars().count() > LONGEST {
        "it is too long"
    } else if !name.chars().all(allowed) {
        "only letters, digits, '_', '-' and '.' are allowed"
    } else {
        return Ok(());
    };
    Err(refused(what, whole, reason))
}

fn refused(what: &'static str, name: &str, reason: &'static str) -> Error {
    NAME_REFUSED.fault(format!("'{name}' cannot be the name of a {what}: {reason}"), None).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_a_name() {
        for name in ["a", "web1.example.com", "_x", "a-b", "1"] {
            assert!(parameter(name).is_ok() && node(name).is_ok() && path("cluster", name).is_ok(), "{name}");
        }
        let refused = ["", ".", "..", ".x", "-x", "a b", "a:b", "a\n", "a\0", "${x}", "é", "a\\b"];
        for name in refused {
            assert!(
                parameter(name).is_err() && node(name).is_err() && path("file", name).is_err(),
                "{name:?}"
            );
        }
        assert!(node(&"x".repeat(201)).is_err());
        assert!(parameter("=x").is_ok() && parameter("~x").is_ok() && parameter("~").is_err());
        assert!(node("~x").is_err() && node("a/b").is_err());
        assert!(
            class(".a.b", false).is_ok()
                && class("a.${b:c}", true).is_ok()
                && class("a.${b}", false).is_err()
        );
        for (refused, reason) in [
            ("", "it is empty"),
            ("/", "it is an absolute path"),
            ("/a", "it is an absolute path"),
            ("//a", "it is an absolute path"),
            ("a/", "there is no name before or after a '/'"),
            ("a//b", "there is no name before or after a '/'"),
            ("a/../b", "it begins with '-' or '.'"),
            ("../a", "it begins with '-' or '.'"),
            ("./a", "it begins with '-' or '.'"),
            ("a/.b", "it begins with '-' or '.'"),
        ] {
            let error = path("file", refused).expect_err(refused).to_string();
            assert!(
                error.contains(&format!("'{refused}' cannot be the name of a file: {reason} (")),
                "{error}"
            );
        }
    }
}
